# SPDX-License-Identifier: Apache-2.0
"""The C loader, or the C uploader to a GPU, behind one face."""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Callable, Optional, Union

from stoker._errors import StateError, call, raise_status
from stoker._native import ffi, lib

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
    or at interpreter exit; never in a forked child."""

    def __init__(self, dataset_c: Any, options: Any, keep: tuple[Any, ...]) -> None:
        self.pid = os.getpid()
        self.dataset_c = dataset_c
        self.keep = keep
        self.closing = False
        self.lock = threading.Lock()
        self.holder = 0  # the thread that is in next() with the lock
        self.close_later = False
        self.error = ffi.new("stk_error *")
        log = lib.stk_py_log_new()
        if not log:
            raise MemoryError
        self.log = ffi.gc(log, lib.stk_py_log_free)  # later than close(): another thread may just be looking at it
        lib.stk_py_log_attach(self.log, options)
        self.c: Any = self._open(options)

    # What a kind of core does in its own way.

    def _open(self, options: Any) -> Any:
        raise NotImplementedError

    def _close(self, c: Any) -> None:
        raise NotImplementedError

    def _try_next(self, c: Any) -> int:
        """Waits up to _wait_ms(); the batch is then in self.out[0]."""
        raise NotImplementedError

    out: Any
    timeout_s = 0.0  # how long next() waits before TimeoutError; 0: without end
    _len: Callable[[Any], int]
    _set_epoch: Callable[..., int]
    _state: Callable[..., int]
    _restore: Callable[..., int]

    def stats(self) -> dict[str, Union[int, float, str, bool]]:
        """Counters since the handle was opened."""
        raise NotImplementedError

    # What all share.

    def close(self) -> None:
        if os.getpid() != self.pid:
            return
        self.closing = True  # a thread that waits in next() would take the lock again and again
        if self.holder == threading.get_ident():
            self.close_later = True  # the garbage collector ran in the midst of next(), which holds the lock
            return
        with self.lock:
            if self.c is not None:
                self._close(self.c)
                self.c = None

    def handle(self) -> Any:
        if os.getpid() != self.pid:
            raise StateError(_FORKED)
        if self.closing:
            _freeze_at_exit()
            raise StateError("this Loader was closed")
        return self.c

    def next(self) -> Any:
        """The next C batch; None at the end of an epoch. Waits in slices so that Ctrl-C works at once."""
        start = time.monotonic() if self.timeout_s > 0 else 0.0
        while True:
            c = self.handle()
            with self.lock:
                if self.closing:
                    continue
                self.holder = threading.get_ident()
                try:
                    status = self._try_next(c)
                    raw = self.out[0]
                finally:
                    self.holder = 0
            if self.close_later:
                self.close()
            if status == lib.STK_OK:
                return raw
            if status == lib.STK_END:
                return None
            if status != lib.STK_AGAIN:
                raise_status(status, self.error)
            if self.timeout_s > 0 and time.monotonic() - start > self.timeout_s:
                doing = ffi.string(self.error.text).decode("utf-8", "replace").partition(": ")[2]
                raise TimeoutError(f"no batch within {self.timeout_s:g} s: {doing}")

    def _wait_ms(self) -> int:
        """How long one wait in C may last: no longer than the timeout, or a shorter one would go unnoticed."""
        return _WAIT_MS if self.timeout_s <= 0 else max(1, min(_WAIT_MS, round(self.timeout_s * 1000)))

    def __len__(self) -> int:
        return int(self._len(self.handle()))

    def set_epoch(self, epoch: int) -> None:
        call(self._set_epoch, self.handle(), epoch)

    def state(self) -> str:
        """The position after the last batch that C handed over, as JSON text."""
        text = ffi.new("char[]", lib.STK_STATE_BYTES)
        call(self._state, self.handle(), text)
        return str(ffi.string(text).decode())

    def restore(self, state: str) -> None:
        call(self._restore, self.handle(), state.encode())

    def log_waiting(self) -> bool:
        return bool(lib.stk_py_log_waiting(self.log))

    def log_lines(self) -> list[str]:
        lines: list[str] = []
        text = ffi.new("char[1024]")
        with self.lock:
            while self.c is not None and lib.stk_py_log_take(self.log, text, 1024):
                lines.append(ffi.string(text).decode("utf-8", "replace"))
        return lines


def _plain(struct: Any, kind: str, skip: tuple[str, ...] = ()) -> dict[str, Union[int, float, str, bool]]:
    """A C struct of counters as a dict; nanoseconds and milliseconds become seconds."""
    out: dict[str, Union[int, float, str, bool]] = {}
    for name, field in ffi.typeof(kind).fields:
        if name in skip:
            continue
        value = getattr(struct, name)
        if field.type.kind == "array":
            out[name] = ffi.string(value).decode("utf-8", "replace")
        elif name.endswith("_ns"):
            out[name[:-3] + "_s"] = value / 1e9
        elif name.endswith("_ms"):
            out[name[:-3] + "_s"] = value / 1e3
        else:
            out[name] = value
    return out


class HostCore(Core):
    """Batches in host memory."""

    _len = staticmethod(lib.stk_loader_len)
    _set_epoch = staticmethod(lib.stk_loader_set_epoch)
    _state = staticmethod(lib.stk_loader_state)
    _restore = staticmethod(lib.stk_loader_restore)

    def _open(self, options: Any) -> Any:
        self.out = ffi.new("stk_batch **")
        loader = ffi.new("stk_loader **")
        call(lib.stk_loader_open, self.dataset_c, options, loader)
        return loader[0]

    def _close(self, c: Any) -> None:
        lib.stk_py_close_loader(c, self.pid)

    def _try_next(self, c: Any) -> int:
        return int(lib.stk_loader_next(c, self._wait_ms(), self.out, self.error))

    def stats(self) -> dict[str, Union[int, float, str, bool]]:
        raw = ffi.new("stk_loader_stats *")
        lib.stk_loader_get_stats(self.handle(), raw)
        return _plain(raw, "stk_loader_stats")


class DeviceCore(Core):
    """Batches in a GPU's memory. stream tells the consumer's CUDA stream as an integer, 0 for the default."""

    _len = staticmethod(lib.stk_uploader_len)
    _set_epoch = staticmethod(lib.stk_uploader_set_epoch)
    _state = staticmethod(lib.stk_uploader_state)
    _restore = staticmethod(lib.stk_uploader_restore)

    def __init__(
        self,
        dataset_c: Any,
        options: Any,
        keep: tuple[Any, ...],
        device_options: Any,
        stream: Callable[[], int],
        torch: Any,
    ) -> None:
        self.torch = torch
        self._device_options = device_options
        self._stream = stream
        self.stream: Any = ffi.NULL  # of the batch just delivered
        super().__init__(dataset_c, options, keep)

    def _open(self, options: Any) -> Any:
        self.out = ffi.new("stk_device_batch **")
        uploader = ffi.new("stk_uploader **")
        call(lib.stk_uploader_open, self.dataset_c, options, self._device_options, uploader)
        return uploader[0]

    def _close(self, c: Any) -> None:
        lib.stk_py_close_uploader(c, self.pid)

    def _try_next(self, c: Any) -> int:
        self.stream = ffi.cast("void *", self._stream())
        return int(lib.stk_uploader_next(c, self.stream, self._wait_ms(), self.out, self.error))

    def stats(self) -> dict[str, Union[int, float, str, bool]]:
        raw = ffi.new("stk_uploader_stats *")
        lib.stk_uploader_get_stats(self.handle(), raw)
        stats = _plain(raw.loader, "stk_loader_stats")
        own = _plain(raw, "stk_uploader_stats", skip=("loader",))
        return {**stats, "gather_s": stats["decode_s"], **own}


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
