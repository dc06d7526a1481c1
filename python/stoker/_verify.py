# SPDX-License-Identifier: Apache-2.0
"""Checking a packed data set."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

from stoker._errors import from_status
from stoker._native import ffi, lib
from stoker._option_names import for_python
from stoker._pack import Callbacks, _integer, _keep_exception, text

if TYPE_CHECKING:
    from stoker._dataset import PathLike

_MAX_ISSUES = 1000


class VerifyIssue(NamedTuple):
    """One finding. ``record``: None for damage outside records; ``offset``: its place in ``file``."""

    record: Optional[int]
    offset: int
    file: str
    path: str
    reason: str


class VerifyReport(NamedTuple):
    """What :func:`stoker.verify` found. ``ok``: nothing wrong. ``dead``: records that ``stoker repair``
    gave up, which are not counted as ``bad``. ``issues``: the first 1,000 findings."""

    ok: bool
    records: int
    bad: int
    bytes: int
    seconds: float
    issues: tuple[VerifyIssue, ...]
    dead: int = 0

    def __bool__(self) -> bool:
        return self.ok


class VerifyProgress(NamedTuple):
    """How far checking is."""

    records_done: int
    records_total: int
    bytes_done: int


@ffi.def_extern(onerror=_keep_exception)  # type: ignore[untyped-decorator, unused-ignore]
def stk_py_call_verify_progress(user: Any, records_done: int, records_total: int, bytes_done: int) -> bool:
    callbacks: Callbacks = ffi.from_handle(user)
    return callbacks.on_progress(lambda: VerifyProgress(records_done, records_total, bytes_done))


@ffi.def_extern(onerror=_keep_exception)  # type: ignore[untyped-decorator, unused-ignore]
def stk_py_call_verify_issue(user: Any, issue: Any) -> None:
    callbacks: Callbacks = ffi.from_handle(user)
    callbacks.on_issue(
        lambda: VerifyIssue(
            None if issue.record == 2**64 - 1 else issue.record,
            issue.offset,
            os.fsdecode(text(issue.file)),
            os.fsdecode(text(issue.path)),
            for_python(text(issue.reason).decode("utf-8", "replace")),
        )
    )


def verify(
    path: PathLike,
    *,
    deep: bool = False,
    threads: Optional[int] = None,
    progress: Optional[Callable[[VerifyProgress], Any]] = None,
    on_issue: Optional[Callable[[VerifyIssue], Any]] = None,
) -> VerifyReport:
    """Checks header, index, each payload's checksum and the data set id; deep decodes each image too.

    Damage is reported, not raised: ``if not stoker.verify(path): ...``. progress may return False to cancel.
    Raises NotFoundError, IOError, CancelledError, and CorruptError where there is no structure to check.
    """
    options = ffi.new("stk_verify_options *")
    lib.stk_verify_options_init(options)
    options.deep = bool(deep)
    options.n_threads = 0 if threads is None else _integer("threads", threads, 1, 65535)
    issues: list[VerifyIssue] = []

    def collect(issue: VerifyIssue) -> None:
        if len(issues) < _MAX_ISSUES:
            issues.append(issue)
        if on_issue is not None:
            on_issue(issue)

    callbacks = Callbacks(progress, collect)
    options.issue = ffi.addressof(lib, "stk_py_verify_issue")
    options.progress = ffi.addressof(lib, "stk_py_verify_progress")
    options.user = callbacks.handle
    report, error = ffi.new("stk_verify_report *"), ffi.new("stk_error *")
    status = lib.stk_verify(os.fsencode(path), options, report, error)
    callbacks.raise_kept()
    if status not in (lib.STK_OK, lib.STK_ERR_CHECKSUM):
        raise from_status(status, ffi.string(error.text).decode("utf-8", "replace"))
    return VerifyReport(
        status == lib.STK_OK, report.records, report.bad, report.bytes, report.seconds, tuple(issues), report.dead
    )
