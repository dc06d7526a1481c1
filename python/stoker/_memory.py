# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays over memory that C owns, without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stoker._native import ffi, lib
from stoker._numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Memory:
    """Keeps a C object alive for the arrays made over it: NumPy holds this object as their base."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: Any, address: int, shape: tuple[int, ...], typestr: str) -> None:
        self.owner = owner
        self.__array_interface__ = {"version": 3, "data": (address, False), "shape": shape, "typestr": typestr}


def view(owner: Any, pointer: Any, shape: tuple[int, ...], typestr: str) -> NDArray[Any]:
    """A writable array over pointer; owner lives as long as the array or any view of it."""
    return np.asarray(Memory(owner, int(ffi.cast("uintptr_t", pointer)), shape, typestr))


def new_buffer() -> Any:
    """An ``stk_buffer *`` that is freed with the Python object."""
    return ffi.gc(ffi.new("stk_buffer *"), lib.stk_buffer_free)


def buffer_bytes(buffer: Any) -> bytes:
    """A copy of the buffer's content."""
    return bytes(ffi.buffer(buffer.data, buffer.n_bytes)) if buffer.n_bytes else b""
