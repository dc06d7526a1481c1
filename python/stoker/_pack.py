# SPDX-License-Identifier: Apache-2.0
"""Packing: many small image files into a data set."""

from __future__ import annotations

import atexit
import os
import re
import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Union

from stoker._enums import CHECKS, ENCODES, EXIFS, FILTERS, MODES, constant
from stoker._errors import ArgumentError, call
from stoker._native import ffi, lib
from stoker._option_names import for_python

if TYPE_CHECKING:
    from stoker._dataset import PathLike

# Callbacks that a daemon thread is in when the interpreter ends are waited for, so long at most.
_END_MS = 5000
atexit.register(lib.stk_py_end_callbacks, _END_MS)
os.register_at_fork(after_in_child=lib.stk_py_callbacks_forked)

_MAX_ISSUES = 1000
_DAMAGES = ("extraneous", "truncated", "entropy", "checksum", "header", "overflow", "other")


class PackIssue(NamedTuple):
    """A file that was left out, or kept with damage.

    ``path`` is relative to the source; ``action``: "skipped", "kept", "quarantined" or "missing"; ``kind``:
    the kind of damage, "unreadable", "not-an-image" ...; ``reason``: one sentence.
    """

    path: str
    action: str
    kind: str
    reason: str


class PackProgress(NamedTuple):
    """How far packing is. ``phase``: "scan", "check", "pack", "write"; totals are 0 while not known."""

    phase: str
    files_done: int
    files_total: int
    bytes_done: int
    bytes_total: int
    n_bad: int
    seconds: float


class PackReport(NamedTuple):
    """What packing did: counts of files and images, sizes in bytes, and the first 1,000 issues.

    ``reencoded``: records that became a new JPEG or new tiles; ``resampled``: raw ones whose pixels ``resize=``
    changed.
    ``DST.report.jsonl`` beside the output names every file that was left out.
    """

    files: int
    records: int
    skipped: int
    damaged: int
    missing: int
    ignored: int
    reused: int
    resumed: int
    reencoded: int
    verbatim: int
    source_bytes: int
    bytes: int
    seconds: float
    dataset_id: str
    issues: tuple[PackIssue, ...]
    resampled: int = 0


class Callbacks:
    """The Python side of a running C call: C reaches it through the handle that it passes along.

    An exception in a callback (KeyboardInterrupt too) is kept, ends the C call, and is raised after it.
    """

    def __init__(
        self,
        progress: Optional[Callable[[Any], Any]] = None,
        issue: Optional[Callable[[Any], Any]] = None,
    ) -> None:
        self.progress = progress
        self.issue = issue
        self.exception: Optional[BaseException] = None
        self.handle = ffi.new_handle(self)

    def raise_kept(self) -> None:
        """Raises what a callback raised."""
        if self.exception is not None:
            raise self.exception

    def on_progress(self, make: Callable[[], Any]) -> bool:
        """False tells C to stop."""
        if self.exception is not None:
            return False
        return self.progress is None or self.progress(make()) is not False

    def on_issue(self, make: Callable[[], Any]) -> None:
        """Hands one finding on."""
        if self.issue is not None and self.exception is None:
            self.issue(make())


def _keep_exception(kind: Any, value: BaseException, traceback: Any) -> Any:
    """cffi calls this when a callback raised, in the callback's frame: the kept error ends the C call."""
    callbacks = None
    while traceback is not None and callbacks is None:
        user = traceback.tb_frame.f_locals.get("user")
        if user is not None:
            callbacks = ffi.from_handle(user)
        traceback = traceback.tb_next
    if callbacks is not None and callbacks.exception is None:
        callbacks.exception = value
    return False


@ffi.def_extern(onerror=_keep_exception)  # type: ignore[untyped-decorator, unused-ignore]
def stk_py_call_pack_progress(user: Any, progress: Any) -> bool:
    callbacks: Callbacks = ffi.from_handle(user)
    return callbacks.on_progress(
        lambda: PackProgress(
            ffi.string(progress.phase).decode() if progress.phase else "",
            progress.files_done,
            progress.files_total,
            progress.bytes_done,
            progress.bytes_total,
            progress.n_bad,
            progress.seconds,
        )
    )


@ffi.def_extern(onerror=_keep_exception)  # type: ignore[untyped-decorator, unused-ignore]
def stk_py_call_pack_issue(user: Any, issue: Any) -> None:
    callbacks: Callbacks = ffi.from_handle(user)
    callbacks.on_issue(
        lambda: PackIssue(
            os.fsdecode(text(issue.path)),
            text(issue.action).decode(),
            text(issue.kind).decode(),
            for_python(text(issue.reason).decode("utf-8", "replace")),
        )
    )


def text(pointer: Any) -> bytes:
    """A C string's bytes; empty for NULL."""
    return bytes(ffi.string(pointer)) if pointer else b""


def pack(
    src: Optional[PathLike],
    dst: PathLike,
    *,
    manifest: Optional[PathLike] = None,
    path_column: Optional[str] = None,
    label_column: Optional[str] = None,
    root: Optional[PathLike] = None,
    columns: Optional[Mapping[str, str]] = None,
    format: Optional[str] = None,
    encode: str = "auto",
    check: str = "decode",
    exif: str = "apply",
    mode: str = "RGB",
    resize: Optional[str] = None,
    resample: str = "bicubic",
    quality: int = 90,
    chroma: str = "420",
    tile: int = 32,
    shuffle: Optional[int] = None,
    on_damaged: str = "skip",
    on_bad: str = "skip",
    force: bool = False,
    resume: bool = True,
    rehash: bool = False,
    cache: Optional[PathLike] = None,
    part: Union[str, tuple[int, int], None] = None,
    shard_size: Union[int, str, None] = None,
    chunk_images: Optional[int] = None,
    hdf5_filter: Optional[str] = None,
    max_pixels: Optional[int] = None,
    max_file_bytes: Optional[int] = None,
    threads: Optional[int] = None,
    progress: Union[bool, Callable[[PackProgress], Any], None] = None,
    on_issue: Optional[Callable[[PackIssue], Any]] = None,
    append: bool = False,
    hdf5_images: Optional[str] = None,
    hdf5_labels: Optional[str] = None,
    value_range: Optional[tuple[float, float]] = None,
    arrays: bool = False,
) -> PackReport:
    """Packs the images of src into dst; the options are those of ``stoker pack``.

    src: a folder (class folders as torchvision's ImageFolder reads them, or flat), a .csv or .jsonl
    manifest, a .tar, a .h5. dst: ``x.stk``, ``folder/`` (shards) or ``x.h5``; it appears whole or not at
    all. resize: "short=N", "long=N" or "exact=WxH" (pixels). columns: types by name, e.g.
    ``{"zip": "string"}``. shuffle: a seed to store records in random order. on_damaged: "skip", "keep",
    "keep=KIND,..." or "fail". on_bad: "skip", "fail" or "quarantine=FOLDER". part: "K/N" or (K, N).
    shard_size: bytes, or "512MiB", "4GiB". progress: True for a line on stderr, or a callable that takes a
    :class:`PackProgress` and may return False to cancel. on_issue: called with each :class:`PackIssue`.
    append: add the images to the folder of shards at dst; who has it open goes on with what he opened.
    hdf5_images, hdf5_labels, value_range, arrays: which parts of an HDF5 src, and how, as for
    :func:`stoker.open`.

    Returns a :class:`PackReport`; look at ``report.skipped``. Raises ExistsError, NotFoundError, ImageError
    or DamagedError (as on_bad and on_damaged say), NoSpaceError, CancelledError.
    """
    options, keep = new_options(
        format=format,
        encode=encode,
        check=check,
        exif=exif,
        mode=mode,
        resize=resize,
        resample=resample,
        quality=quality,
        chroma=chroma,
        tile=tile,
        on_damaged=on_damaged,
        on_bad=on_bad,
        force=force,
        cache=cache,
        shard_size=shard_size,
        chunk_images=chunk_images,
        hdf5_filter=hdf5_filter,
        max_pixels=max_pixels,
        max_file_bytes=max_file_bytes,
        threads=threads,
    )
    options.manifest = keep.path(manifest)
    options.path_column = keep.string(path_column)
    options.label_column = keep.string(label_column)
    options.root = keep.path(root)
    if columns:
        types = keep.add(ffi.new("char *[]", [keep.string(f"{name}:{kind}") for name, kind in columns.items()]))
        options.column_types = types
        options.n_column_types = len(columns)
    source = keep.add(ffi.new("stk_dataset_options *"))
    lib.stk_dataset_options_init(source)
    source.hdf5_images, source.hdf5_labels = keep.string(hdf5_images), keep.string(hdf5_labels)
    source.hdf5_arrays = bool(arrays)
    if value_range is not None:
        source.range_min, source.range_max = value_range
    options.source = source
    if shuffle is not None:
        options.shuffle = True
        options.shuffle_seed = _integer("shuffle", shuffle, 0, 2**64 - 1)
    options.resume, options.rehash, options.append = bool(resume), bool(rehash), bool(append)
    options.part, options.n_parts = _part(part)
    issues, callbacks, line = watch(options, progress, on_issue)
    report = ffi.new("stk_pack_report *")
    try:
        call(lib.stk_pack, keep.path(src), keep.path(dst), options, report)
    except Exception:
        callbacks.raise_kept()
        raise
    finally:
        if line is not None:
            line.close()
    callbacks.raise_kept()
    return make_report(report, issues)


class Keep:
    """What C reads while it works, kept alive as long as this object."""

    def __init__(self) -> None:
        self._kept: list[Any] = []

    def add(self, thing: Any) -> Any:
        """Keeps a cffi object and returns it."""
        self._kept.append(thing)
        return thing

    def string(self, value: Union[str, bytes, None]) -> Any:
        """A ``char *``, NULL for None."""
        if value is None:
            return ffi.NULL
        return self.add(ffi.new("char[]", value if isinstance(value, bytes) else value.encode()))

    def path(self, value: Optional[PathLike]) -> Any:
        """A path as a ``char *``, NULL for None."""
        return self.string(None if value is None else os.fsencode(value))


def new_options(
    *,
    format: Optional[str],
    encode: str,
    check: str,
    exif: str,
    mode: str,
    resize: Optional[str],
    resample: str,
    quality: int,
    chroma: str,
    tile: int,
    on_damaged: str,
    on_bad: str,
    force: bool,
    cache: Optional[PathLike],
    shard_size: Union[int, str, None],
    chunk_images: Optional[int],
    hdf5_filter: Optional[str],
    max_pixels: Optional[int],
    max_file_bytes: Optional[int],
    threads: Optional[int],
) -> tuple[Any, Keep]:
    """An ``stk_pack_options`` with what :func:`pack` and :class:`stoker.Writer` share, and what it points to."""
    options = ffi.new("stk_pack_options *")
    lib.stk_pack_options_init(options)
    keep = Keep()
    options.format = keep.string(format)
    options.encode = constant(ENCODES, "encode", encode)
    options.check = constant(CHECKS, "check", check)
    options.exif = constant(EXIFS, "exif", exif)
    options.mode = constant(MODES, "mode", mode)
    options.resize, options.resize_width, options.resize_height = _resize(resize)
    options.resample = constant(FILTERS, "resample", resample)
    options.quality = _integer("quality", quality, 1, 100)
    options.chroma_444 = constant({"420": 0, "444": 1}, "chroma", str(chroma)) == 1
    options.tile_pixels = _integer("tile", tile, 16, 64)
    options.on_damaged, options.keep_damage = _on_damaged(on_damaged)
    options.on_bad, quarantine = _on_bad(on_bad)
    options.quarantine = keep.path(quarantine)
    options.force = bool(force)
    options.cache = keep.path(cache)
    if shard_size is not None:
        options.shard_bytes = _bytes("shard_size", shard_size)
    if chunk_images is not None:
        options.chunk_images = _integer("chunk_images", chunk_images, 1, 2**32 - 1)
    options.hdf5_filter = keep.string(hdf5_filter)
    if max_pixels is not None:
        options.max_pixels = _integer("max_pixels", max_pixels, 1, 2**63)
    if max_file_bytes is not None:
        options.max_file_bytes = _integer("max_file_bytes", max_file_bytes, 1, 2**32 - 1)
    options.n_threads = 0 if threads is None else _integer("threads", threads, 1, 65535)
    return options, keep


def watch(
    options: Any,
    progress: Union[bool, Callable[[PackProgress], Any], None],
    on_issue: Optional[Callable[[PackIssue], Any]],
) -> tuple[list[PackIssue], Callbacks, Optional[_ProgressLine]]:
    """Connects the callbacks: the list that issues will be in, the callbacks, which must live as long as options
    are used, and the line on stderr where progress is True."""
    issues: list[PackIssue] = []

    def collect(issue: PackIssue) -> None:
        if len(issues) < _MAX_ISSUES:
            issues.append(issue)
        if on_issue is not None:
            on_issue(issue)

    line = _ProgressLine() if progress is True else None
    callbacks = Callbacks(line or (progress if callable(progress) else None), collect)
    options.progress = ffi.addressof(lib, "stk_py_pack_progress")
    options.issue = ffi.addressof(lib, "stk_py_pack_issue")
    options.user = callbacks.handle
    return issues, callbacks, line


def make_report(report: Any, issues: list[PackIssue]) -> PackReport:
    """An ``stk_pack_report`` as a :class:`PackReport`."""
    fields = {name: getattr(report, name) for name in PackReport._fields if name not in ("dataset_id", "issues")}
    return PackReport(**fields, dataset_id=ffi.string(report.dataset_id).decode(), issues=tuple(issues))


class _ProgressLine:
    """One line on stderr, rewritten four times a second."""

    def __init__(self) -> None:
        self.last = 0.0

    def __call__(self, p: PackProgress) -> None:
        now = time.monotonic()
        if now - self.last < 0.25:
            return
        self.last = now
        total = f"/{p.files_total:,}" if p.files_total else ""
        rate = p.bytes_done / p.seconds / 1e6 if p.seconds > 0 else 0.0
        sys.stderr.write(f"\r\x1b[K{p.phase}: {p.files_done:,}{total} files, {rate:.0f} MB/s, {p.n_bad} bad")
        sys.stderr.flush()

    def close(self) -> None:
        if self.last:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _integer(option: str, value: Any, low: int, high: int) -> int:
    number = int(value)
    if number != value or not low <= number <= high:
        raise ArgumentError(f"{option}={value!r}: give a whole number, {low} ... {high}")
    return number


def _resize(resize: Optional[str]) -> tuple[int, int, int]:
    if resize is None:
        return lib.STK_RESIZE_NONE, 0, 0
    match = re.fullmatch(r"(short|long)=(\d+)|exact=(\d+)x(\d+)", resize) if isinstance(resize, str) else None
    if match is None:
        raise ArgumentError(f'resize={resize!r}: give "short=N", "long=N" or "exact=WxH"')
    if match[1] is None:
        return lib.STK_RESIZE_EXACT, _side(resize, match[3]), _side(resize, match[4])
    kind = lib.STK_RESIZE_SHORT if match[1] == "short" else lib.STK_RESIZE_LONG
    return kind, _side(resize, match[2]), 0


def _side(resize: str, digits: str) -> int:
    if not 1 <= int(digits) <= 65535:
        raise ArgumentError(f"resize={resize!r}: sides lie within 1 ... 65535 pixels")
    return int(digits)


def _on_damaged(value: str) -> tuple[int, int]:
    word, _, kinds = value.partition("=")
    table = {"skip": lib.STK_DAMAGED_SKIP, "keep": lib.STK_DAMAGED_KEEP, "fail": lib.STK_DAMAGED_FAIL}
    if word != "keep" and kinds:
        raise ArgumentError(f"on_damaged={value!r}: only keep takes kinds")
    bits = 0
    for kind in filter(None, kinds.split(",")):
        if kind not in _DAMAGES:
            raise ArgumentError(f"on_damaged={value!r}: kinds of damage are {', '.join(_DAMAGES)}")
        bits |= getattr(lib, f"STK_DAMAGE_{kind.upper()}")
    return constant(table, "on_damaged", word), bits


def _on_bad(value: str) -> tuple[int, Optional[str]]:
    word, _, folder = value.partition("=")
    table = {"skip": lib.STK_BAD_SKIP, "fail": lib.STK_BAD_FAIL, "quarantine": lib.STK_BAD_QUARANTINE}
    if (word == "quarantine") != bool(folder):
        raise ArgumentError(f'on_bad={value!r}: give "skip", "fail" or "quarantine=FOLDER"')
    return constant(table, "on_bad", word), folder or None


def _part(part: Union[str, tuple[int, int], None]) -> tuple[int, int]:
    if part is None:
        return 0, 0
    numbers = part.split("/") if isinstance(part, str) else part
    try:
        k, n = (int(v) for v in numbers)
    except ValueError:
        k, n = 0, 0
    if not 1 <= k <= n < 2**32:
        raise ArgumentError(f'part={part!r}: give "K/N" or (K, N) with 1 <= K <= N')
    return k, n


def _bytes(option: str, value: Union[int, str]) -> int:
    if isinstance(value, str):
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(|[kKMGT]i?B?|B)", value)
        if match is None:
            raise ArgumentError(f'{option}={value!r}: give bytes, or a size such as "512MiB" or "4GiB"')
        unit = match[2].rstrip("B").lower()
        base = 1024 if unit.endswith("i") or len(unit) == 1 else 1000
        power = "kmgt".find(unit[:1]) + 1 if unit else 0
        value = int(float(match[1]) * base**power)
    return _integer(option, value, 1, 2**63)
