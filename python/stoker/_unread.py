# SPDX-License-Identifier: Apache-2.0
"""Image files that a Writer is given by path and cannot read."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from stoker._errors import Error, IOError, from_status
from stoker._native import lib
from stoker._pack import PackIssue, PackReport


class Unread(Exception):
    """A file that is not there, or may not be read: what on_bad= is about. Other failures (too many open files, a
    disk that reports errors) say nothing of the sample, and are raised as they are."""

    def __init__(self, path: str, cause: OSError) -> None:
        super().__init__(path)
        self.path, self._cause = path, cause
        self.missing = isinstance(cause, (FileNotFoundError, NotADirectoryError))

    def error(self) -> Error:
        """As what on_bad="fail" raises."""
        status = lib.STK_ERR_NOT_FOUND if self.missing else lib.STK_ERR_IO
        return from_status(status, f"{self.path}: {self._cause.strerror}; the sample was not added")

    def issue(self, path: str) -> PackIssue:
        """As what on_bad="skip" reports."""
        action, kind = ("missing", "missing") if self.missing else ("skipped", "unreadable")
        return PackIssue(path, action, kind, str(self._cause.strerror))


def read_file(path: Any) -> bytes:
    """A file's bytes. Raises Unread, or IOError."""
    name = os.fsdecode(path)
    try:
        return Path(name).read_bytes()
    except (FileNotFoundError, NotADirectoryError, PermissionError, IsADirectoryError) as error:
        raise Unread(name, error) from error
    except OSError as error:
        raise IOError(f"{name}: {error.strerror}") from error


def add_to_report(report: PackReport, unread: Sequence[PackIssue], path: str) -> PackReport:
    """Counts files left out before C saw them, and writes them into DST.report.jsonl, in front of its summary."""
    if not unread:
        return report
    n_missing = sum(issue.action == "missing" for issue in unread)
    more = {"files": len(unread), "missing": n_missing, "skipped": len(unread) - n_missing}
    place = Path(path.rstrip("/") + ".report.jsonl")
    *lines, last = place.read_bytes().splitlines()
    summary = json.loads(last)
    for name, count in more.items():
        summary["summary"][name] += count
    for line in (*(issue._asdict() for issue in unread), summary):
        lines.append(json.dumps(line, separators=(",", ":")).encode())
    beside = place.with_name(place.name + ".new")
    beside.write_bytes(b"\n".join(lines) + b"\n")
    beside.replace(place)
    return report._replace(**{name: getattr(report, name) + count for name, count in more.items()})
