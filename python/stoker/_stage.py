# SPDX-License-Identifier: Apache-2.0
"""Staging: copies of data sets on a faster disk, or in memory."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Union

from stoker._errors import call, from_status
from stoker._native import ffi, lib
from stoker._option_names import for_python
from stoker._pack import Callbacks, _bytes, _integer, _keep_exception, text

if TYPE_CHECKING:
    from stoker._dataset import PathLike

# In the order of the C constants.
_STATES = ("none", "copying", "part", "subset", "whole", "needless")
_KEEP_DEFAULT = 2**64 - 1


class StageReport(NamedTuple):
    """What :func:`stoker.stage` found and did.

    ``state``: "whole" (``path`` is then the copy, which any program may open), "subset" (some of it is staged,
    the rest is read from the source), "needless" (no place is faster); with ``dry_run`` also "none", "part"
    (left by a run that was killed) and "copying" (another process is at it). ``reason``: why this place, one
    line. Sizes in bytes, speeds in 10^6 bytes a second. ``blocks_checked`` and ``blocks_mended`` count blocks
    of 64 MiB. ``last_failure``: of an earlier run in the background, "" for none.
    """

    state: str
    folder: str
    path: Optional[str]
    reason: str
    bytes: int
    bytes_staged: int
    bytes_copied: int
    bytes_resumed: int
    blocks_checked: int
    blocks_mended: int
    seconds: float
    source_mb_s: float
    target_mb_s: float
    content_id: str
    last_failure: str


class StageProgress(NamedTuple):
    """How far staging is. ``phase``: "wait" (another process copies), "check", "copy" or "verify"."""

    phase: str
    bytes_done: int
    bytes_total: int
    seconds: float


@ffi.def_extern(onerror=_keep_exception)  # type: ignore[untyped-decorator, unused-ignore]
def stk_py_call_stage_progress(user: Any, progress: Any) -> bool:
    callbacks: Callbacks = ffi.from_handle(user)
    return callbacks.on_progress(
        lambda: StageProgress(
            text(progress.phase).decode(), progress.bytes_done, progress.bytes_total, progress.seconds
        )
    )


def stage(
    path: PathLike,
    *,
    to: Optional[PathLike] = None,
    verify: bool = False,
    dry_run: bool = False,
    wait: bool = True,
    keep_free: Union[int, str, None] = None,
    max_bytes: Union[int, str, None] = None,
    threads: Optional[int] = None,
    progress: Optional[Callable[[StageProgress], Any]] = None,
) -> StageReport:
    """Copies a data set to a faster disk or to memory, as ``stoker stage`` does; quick when a copy is there.

    to: a folder, or None to decide by what the machine offers. verify: compare every block of the copy with its
    checksum and mend bad ones. dry_run: look and decide, write nothing. wait=False: BusyError while another
    process copies. keep_free: bytes, or "4GiB", to be left free there. max_bytes: stage no more than this.
    progress: called ten times a second; it may return False to cancel, and what was copied is kept for the
    next call.

    To read from the copy, open the data set with ``stoker.open(path, stage="auto")``. Raises NotFoundError,
    NoSpaceError, BusyError, CancelledError, StateError (the source changed meanwhile), ArgumentError.
    """
    options = ffi.new("stk_stage_options *")
    lib.stk_stage_options_init(options)
    folder = ffi.NULL if to is None else ffi.new("char[]", os.fsencode(to))
    options.to = folder
    options.verify = bool(verify)
    options.dry_run = bool(dry_run)
    options.wait = bool(wait)
    if keep_free is not None:
        options.keep_free = 0 if keep_free == 0 else _bytes("keep_free", keep_free)
    if max_bytes is not None:
        options.max_bytes = _bytes("max_bytes", max_bytes)
    options.n_threads = 0 if threads is None else _integer("threads", threads, 1, 64)
    callbacks = Callbacks(progress)
    options.progress = ffi.addressof(lib, "stk_py_stage_progress")
    options.user = callbacks.handle
    report, error = ffi.new("stk_stage_report *"), ffi.new("stk_error *")
    status = lib.stk_stage(os.fsencode(path), options, report, error)
    callbacks.raise_kept()
    if status != lib.STK_OK:
        raise from_status(status, ffi.string(error.text).decode("utf-8", "replace"))
    return _report(report)


def _report(report: Any) -> StageReport:
    def string(field: Any) -> str:
        return os.fsdecode(bytes(ffi.string(field)))

    return StageReport(
        _STATES[report.state],
        string(report.folder),
        string(report.path) or None,
        for_python(string(report.reason)),
        report.bytes,
        report.bytes_staged,
        report.bytes_copied,
        report.bytes_resumed,
        report.blocks_checked,
        report.blocks_mended,
        report.seconds,
        report.source_mb_s,
        report.target_mb_s,
        string(report.content_id),
        for_python(string(report.last_failure)),
    )


def evict(
    path: Optional[PathLike] = None,
    *,
    to: Optional[PathLike] = None,
    keep_free: Union[int, str, None] = None,
) -> tuple[int, int]:
    """Removes staged copies; returns how many, and their bytes. Sources are never touched.

    path: those of this data set. None: copies of all data sets that nobody uses; with keep_free, those used
    longest ago, until so much is free. to: only in this folder. Raises BusyError while a process copies path.
    """
    source = ffi.NULL if path is None else ffi.new("char[]", os.fsencode(path))
    folder = ffi.NULL if to is None else ffi.new("char[]", os.fsencode(to))
    keep = _KEEP_DEFAULT if keep_free is None else 0 if keep_free == 0 else _bytes("keep_free", keep_free)
    copies, n_bytes = ffi.new("uint64_t *"), ffi.new("uint64_t *")
    call(lib.stk_stage_evict, source, folder, keep, copies, n_bytes)
    return copies[0], n_bytes[0]
