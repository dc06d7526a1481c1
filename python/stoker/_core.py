# SPDX-License-Identifier: Apache-2.0
"""The C loader, or the C uploader to a GPU, behind one face."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Callable, Optional, Union

from stoker._errors import OutOfMemoryError, StateError, call, from_status, raise_status
from stoker._native import ffi, lib
from stoker._option_names import for_python

# How long one wait in C may last before Python looks for Ctrl-C, in milliseconds.
_WAIT_MS = 100

_FORKED = (
    "this Loader was made in another process: its threads do not exist after fork(). Make the Loader in the "
    "process that uses it (a Dataset may be shared or pickled)"
)


def _freeze_at_exit() -> None:
    """Stops a daemon thread that is left over when the interpreter ends: it has nothing to do any more, and an
    exception in it would only print a traceback over a clean exit."""
    here, main = threading.current_thread(), threading.main_thread()
    while here is not main and here.daemon and not main.is_alive():
        time.sleep(60)


class Core:
    """The C handle with what must live as long as it does. Closed once: by close(), by the garbage collector,
    or at interpreter exit; never in a forked child. Calls into C count themselves there (py_core.c), so that
    any thread may close it at any moment."""

    def __init__(self, dataset_c: Any, options: Any, keep: tuple[Any, ...], device_options: Any = None) -> None:
        c = lib.stk_py_core_new()
        if not c:
            raise MemoryError
        # The first attribute, so the first to go where nobody called close(): before the data set that C reads.
        self._c = ffi.gc(c, lib.stk_py_core_free)
        self.dataset_c = dataset_c
        self._keep = keep
        self.pid = os.getpid()
        self.closing = False
        self._kept: list[Any] = []  # slots that were made, and maybe filled, when an exception came
        call(lib.stk_py_core_open, self._c, dataset_c, options, device_options or ffi.NULL)

    # What a kind of core does in its own way.

    timeout_s = 0.0  # how long next() waits before TimeoutError; 0: without end

    def _current_stream(self) -> Any:
        """What the consumer's device work is ordered by."""
        return ffi.NULL

    def stats(self) -> dict[str, Union[int, float, str, bool]]:
        """Counters since the handle was opened."""
        raw = ffi.new("stk_loader_stats *")
        self._call(lib.stk_py_core_stats, raw, ffi.NULL)
        return _plain(raw, "stk_loader_stats")

    # What all share.

    def close(self) -> None:
        """Returns when the threads have ended. What another thread waits for ends with StateError."""
        self.closing = True
        lib.stk_py_core_close(self._c)

    def check(self) -> None:
        """Raises StateError where there is no Loader any more."""
        if os.getpid() != self.pid:
            raise StateError(_FORKED)
        if self.closing:
            _freeze_at_exit()
            raise StateError("this Loader was closed")

    def _call(self, function: Callable[..., int], *args: Any) -> None:
        self.check()
        error = ffi.new("stk_error *")
        status = function(self._c, *args, error)
        if status != lib.STK_OK:
            self.check()  # closed meanwhile?
            raise_status(status, error)

    def next(self) -> Any:
        """The slot with the next batch; None at the end of an epoch."""
        return result(self.take())

    def take(self) -> Any:
        """Whatever comes next, in its slot. Waits in slices so that Ctrl-C works at once; what came together with
        Ctrl-C, or with any exception, is kept for the next call, and state() does not count it."""
        slot = self._kept.pop() if self._kept else _new_slot()
        try:
            self._fill(slot)
        except BaseException:
            self._kept.append(slot)
            raise
        return slot

    def keep(self, slot: Any) -> None:
        """Undoes take()."""
        self._kept.append(slot)

    def _fill(self, slot: Any) -> None:
        start = time.monotonic() if self.timeout_s > 0 else 0.0
        while True:
            self.check()
            status = lib.stk_py_core_next(self._c, slot, self._current_stream(), self._wait_ms())
            if status == lib.STK_ERR_STATE and self.closing:
                continue
            if status != lib.STK_AGAIN:
                return
            if self.timeout_s > 0 and time.monotonic() - start > self.timeout_s:
                raise TimeoutError(f"no batch within {self.timeout_s:g} s: {_text(slot).partition(': ')[2]}")

    def _wait_ms(self) -> int:
        """How long one wait in C may last: no longer than the timeout, or a shorter one would go unnoticed."""
        return _WAIT_MS if self.timeout_s <= 0 else max(1, min(_WAIT_MS, round(self.timeout_s * 1000)))

    def __len__(self) -> int:
        n = ffi.new("uint64_t *")
        self._call(lib.stk_py_core_len, n)
        return int(n[0])

    def set_epoch(self, epoch: int) -> None:
        self._call(lib.stk_py_core_set_epoch, epoch)
        self._kept.clear()

    def state(self, taken: Any = None) -> str:
        """The position after the last batch that was handed over, as JSON text. taken: what take() gave and the
        loop has not got."""
        text = ffi.new("char[]", lib.STK_STATE_BYTES)
        kept = taken or (self._kept[-1] if self._kept else ffi.NULL)
        self._call(lib.stk_py_core_state, kept, text)
        return str(ffi.string(text).decode())

    def restore(self, state: str) -> None:
        self._call(lib.stk_py_core_restore, state.encode())
        self._kept.clear()

    def log_waiting(self) -> bool:
        return bool(lib.stk_py_core_log_waiting(self._c))

    def log_lines(self) -> list[str]:
        lines: list[str] = []
        text = ffi.new("char[1024]")
        while lib.stk_py_core_log_take(self._c, text, 1024):
            lines.append(for_python(ffi.string(text).decode("utf-8", "replace")))
        return lines


def _new_slot() -> Any:
    slot = lib.stk_py_slot_new()
    if not slot:
        raise OutOfMemoryError("not enough memory for a batch")
    return ffi.gc(slot, lib.stk_py_slot_unref)


def _text(slot: Any) -> str:
    return str(ffi.string(lib.stk_py_slot_error(slot)).decode("utf-8", "replace"))


def result(slot: Any) -> Any:
    """The slot itself when it holds a batch, None at the end of an epoch. Raises an error that came."""
    status = lib.stk_py_slot_status(slot)
    if status not in (lib.STK_OK, lib.STK_END):
        raise from_status(status, _text(slot))
    return slot if status == lib.STK_OK else None


def _plain(struct: Any, kind: str, skip: tuple[str, ...] = ()) -> dict[str, Union[int, float, str, bool]]:
    """A C struct of counters as a dict; nanoseconds and milliseconds become seconds."""
    out: dict[str, Union[int, float, str, bool]] = {}
    for name, field in ffi.typeof(kind).fields:
        if name in skip:
            continue
        value = getattr(struct, name)
        if field.type.kind in ("array", "pointer"):
            out[name] = "" if value == ffi.NULL else ffi.string(value).decode("utf-8", "replace")
        elif name.endswith("_ns"):
            out[name[:-3] + "_s"] = value / 1e9
        elif name.endswith("_ms"):
            out[name[:-3] + "_s"] = value / 1e3
        else:
            out[name] = value
    return out


class HostCore(Core):
    """Batches in host memory."""


class DeviceCore(Core):
    """Batches in a GPU's memory. stream tells the consumer's CUDA stream as an integer, 0 for the default."""

    def __init__(
        self,
        dataset_c: Any,
        options: Any,
        keep: tuple[Any, ...],
        device_options: Any,
        stream: Callable[[], int],
        torch: Any,
    ) -> None:
        super().__init__(dataset_c, options, keep, device_options)
        self.torch = torch
        self._stream = stream

    def _current_stream(self) -> Any:
        return ffi.cast("void *", self._stream())

    def stats(self) -> dict[str, Union[int, float, str, bool]]:
        raw = ffi.new("stk_uploader_stats *")
        self._call(lib.stk_py_core_stats, ffi.NULL, raw)
        stats = _plain(raw.loader, "stk_loader_stats")
        own = _plain(raw, "stk_uploader_stats", skip=("loader",))
        return {**stats, "gather_s": stats["decode_s"], **own, "decoder": own["decode"]}


def new_device_options(
    *, backend: Optional[str], device: int, decode: int, resident: int, resident_bytes: int, n_ahead: int
) -> tuple[Any, tuple[Any, ...]]:
    """An stk_uploader_options, and what it points to."""
    options = ffi.new("stk_uploader_options *")
    lib.stk_uploader_options_init(options)
    keep: tuple[Any, ...] = ()
    if backend is not None:
        name = ffi.new("char[]", backend.encode())
        keep = (name,)
        options.backend = name
    options.device = device
    options.decode = decode
    options.resident = resident
    options.resident_bytes = resident_bytes
    options.n_ahead = n_ahead
    return options, keep
