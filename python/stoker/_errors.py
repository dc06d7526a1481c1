# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one class for each ``stk_status`` of the C library, under :class:`Error`."""

from __future__ import annotations

from typing import Any, Callable

from stoker._native import ffi, lib
from stoker._option_names import for_python


class Error(Exception):
    """Base of all of stoker's exceptions.

    ``status`` is the C library's name of the failure ("checksum", "io", ...); ``str(error)`` names the file
    or option, says what is wrong and what to do.
    """

    status: str = "error"


class ArgumentError(Error, ValueError):
    """An argument that cannot be; the text names it."""


class UnsupportedError(Error):
    """Valid, but this build or version of stoker cannot do it."""


class StateError(Error, RuntimeError):
    """The call does not fit the object's state (used after ``close()`` or in a forked process, say)."""


class IOError(Error, OSError):
    """The operating system reported an error on a file."""


class NotFoundError(Error, FileNotFoundError, LookupError):
    """A file, column or record that does not exist."""


class ExistsError(Error, FileExistsError):
    """The output exists already; ``force=True`` replaces it."""


class NoSpaceError(Error, OSError):
    """Disk or quota full."""


class BusyError(Error):
    """Another living process holds the output."""


class CorruptError(Error):
    """A data set's structure is broken: bad magic, bounds, index checksum."""


class ChecksumError(Error):
    """A record's payload does not match its checksum."""


class ImageError(Error):
    """Bytes that no decoder accepts as an image."""


class DamagedError(Error):
    """Pixels came out, but the decoder complained."""


class VersionError(Error):
    """Written by a newer stoker; the text names the feature."""


class LimitError(Error):
    """A limit on untrusted input was exceeded; the text names the option that lifts it."""


class OutOfMemoryError(Error, MemoryError):
    """Out of memory."""


class CancelledError(Error):
    """A callback asked to stop."""


class ThreadError(Error):
    """A thread could not be started."""


class DeviceError(Error):
    """The GPU or its driver reported an error."""


class InternalError(Error):
    """stoker broke one of its own rules: please report it."""


_CLASSES: dict[int, type[Error]] = {
    lib.STK_ERR_ARGUMENT: ArgumentError,
    lib.STK_ERR_UNSUPPORTED: UnsupportedError,
    lib.STK_ERR_STATE: StateError,
    lib.STK_ERR_IO: IOError,
    lib.STK_ERR_NOT_FOUND: NotFoundError,
    lib.STK_ERR_EXISTS: ExistsError,
    lib.STK_ERR_NO_SPACE: NoSpaceError,
    lib.STK_ERR_BUSY: BusyError,
    lib.STK_ERR_CORRUPT: CorruptError,
    lib.STK_ERR_CHECKSUM: ChecksumError,
    lib.STK_ERR_IMAGE: ImageError,
    lib.STK_ERR_DAMAGED: DamagedError,
    lib.STK_ERR_VERSION: VersionError,
    lib.STK_ERR_LIMIT: LimitError,
    lib.STK_ERR_MEMORY: OutOfMemoryError,
    lib.STK_ERR_CANCELLED: CancelledError,
    lib.STK_ERR_THREAD: ThreadError,
    lib.STK_ERR_DEVICE: DeviceError,
    lib.STK_ERR_INTERNAL: InternalError,
}

for _class in (Error, *_CLASSES.values()):
    _class.__module__ = "stoker"  # where users find them; tracebacks say so too


def status_name(status: int) -> str:
    """The C library's name of a status, "ok" for 0."""
    return str(ffi.string(lib.stk_status_name(status)).decode())


def from_status(status: int, text: str) -> Error:
    """The exception for a status and its text."""
    error = _CLASSES.get(status, Error)(for_python(text))
    error.status = status_name(status)
    return error


def call(function: Callable[..., int], *args: Any) -> None:
    """Calls a C function whose last parameter is an ``stk_error *``; raises unless it returns STK_OK."""
    error = ffi.new("stk_error *")
    status = function(*args, error)
    if status != lib.STK_OK:
        raise_status(status, error)


def raise_status(status: int, error: Any) -> None:
    """Raises what a C function reported through its ``stk_error *``."""
    text = ffi.string(error.text).decode("utf-8", "replace")
    raise from_status(status, text or f"stoker reports '{status_name(status)}'")
