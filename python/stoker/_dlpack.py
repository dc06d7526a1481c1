# SPDX-License-Identifier: Apache-2.0
"""Arrays in device memory for whoever speaks DLPack: torch, JAX, CuPy."""

from __future__ import annotations

import ctypes
from typing import Any, NoReturn, Optional

from stoker._errors import ArgumentError, OutOfMemoryError
from stoker._memory import view
from stoker._native import ffi, lib
from stoker._numpy import np

CPU, CUDA = 1, 2
# (DLPack type code, bits)
_TYPES = {"uint8": (1, 8), "float16": (2, 16), "bfloat16": (4, 16), "float32": (2, 32)}
_TAKEN_BY = (
    "torch.from_dlpack(array) or jax.numpy.from_dlpack(array) take it without a copy, and "
    'numpy.from_dlpack(array) where it lies in host memory (device="dummy")'
)
_KINDS = {"int": 0, "uint": 1, "float": 2, "bool": 6}

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_TYPE_CODE_AT = 20  # in a DLTensor: behind its pointer, device (two int32) and number of axes (int32)
_destructor = int(ffi.cast("uintptr_t", ffi.addressof(lib, "stk_py_dlpack_capsule_free")))


class DeviceArray:
    """An array in device memory that belongs to a batch; the memory lives as long as the array or what was made
    from it. ``torch.from_dlpack(array)``, ``jax.numpy.from_dlpack(array)`` and the like take it without a copy.

    ``shape``; ``dtype``, a name such as "float16"; ``strides`` in elements; ``device``, "cuda:0" say.
    """

    def __init__(
        self,
        slot: Any,
        pointer: Any,
        shape: tuple[int, ...],
        dtype: str,
        device: tuple[int, int],
        stream: int = 0,
        strides: Optional[tuple[int, ...]] = None,
    ) -> None:
        self._slot = slot
        self._pointer = pointer
        self._device = device
        self._stream = stream
        self.shape = shape
        self.dtype = dtype
        self.strides = strides if strides is not None else contiguous(shape)

    @property
    def device(self) -> str:
        """Where it lies: "cpu", "cuda:0" ..."""
        return "cpu" if self._device[0] == CPU else f"cuda:{self._device[1]}"

    @property
    def pointer(self) -> int:
        """The address of the first element in device memory."""
        return int(ffi.cast("uintptr_t", self._pointer))

    def __len__(self) -> int:
        return self.shape[0]

    def permute(self, *axes: int) -> DeviceArray:
        """The same memory with its axes in another order."""
        shape, strides = tuple(self.shape[a] for a in axes), tuple(self.strides[a] for a in axes)
        return DeviceArray(self._slot, self._pointer, shape, self.dtype, self._device, self._stream, strides)

    def __getitem__(self, rows: slice) -> DeviceArray:
        """Some of the rows, the same memory: a slice of the first axis."""
        if not isinstance(rows, slice):
            raise TypeError(f"DeviceArray[{rows!r}]: only slices of rows, array[2:5] say; {_TAKEN_BY}")
        start, stop, step = rows.indices(self.shape[0])
        n = len(range(start, stop, step))
        if step < 1:
            raise ArgumentError("a DeviceArray is sliced forwards only")
        _, bits = _type(self.dtype)
        pointer = ffi.cast("char *", self._pointer) + start * self.strides[0] * (bits // 8)
        shape, strides = (n, *self.shape[1:]), (self.strides[0] * step, *self.strides[1:])
        pointer = ffi.cast("void *", pointer)
        return DeviceArray(self._slot, pointer, shape, self.dtype, self._device, self._stream, strides)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        """NumPy would make an object of it, or copy from a GPU unasked."""
        raise TypeError(f"a DeviceArray is no NumPy array: {_TAKEN_BY}")

    def __iter__(self) -> NoReturn:
        """Iterating by rows is what the consumer's arrays do."""
        raise TypeError(f"a DeviceArray is not iterated over: {_TAKEN_BY}")

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        """A DLPack capsule. The batch's work comes before everything that the stream current at delivery is
        given; for a consumer on another stream the host waits until that work is done."""
        if self._device[0] == CUDA and stream not in (None, -1) and _number(stream) != self._stream:
            lib.stk_py_slot_wait(self._slot)
        code, bits = _type(self.dtype)
        if isinstance(self._slot, np.ndarray):
            return self._capsule_of_numpy(code, bits)
        tensor = lib.stk_py_slot_dlpack(
            self._slot, self._pointer, self._device[0], len(self.shape), self.shape, self.strides, code, bits
        )
        if not tensor:
            raise OutOfMemoryError("not enough memory for a tensor's description")
        return _new_capsule(int(ffi.cast("uintptr_t", tensor)), b"dltensor", _destructor)

    def _capsule_of_numpy(self, code: int, bits: int) -> Any:
        """NumPy's own capsule, which keeps its array. The type is written into it, since NumPy has no bfloat16."""
        base = self._slot
        strides = tuple(stride * (bits // 8) for stride in self.strides)
        rows: Any = np.ndarray(self.shape, base.dtype, base, self.pointer - base.ctypes.data, strides)
        capsule = rows.__dlpack__()
        tensor = _capsule_pointer(capsule, b"dltensor")
        ctypes.c_uint8.from_address(tensor + _TYPE_CODE_AT).value = code
        return capsule

    def __repr__(self) -> str:
        return f"<stoker.DeviceArray {self.dtype} {self.shape} on {self.device}>"


def host_rows(array: DeviceArray, keep: Any) -> DeviceArray:
    """A copy of these rows of an array that lies in host memory."""
    _, bits = _type(array.dtype)
    size = bits // 8
    flat = (array.shape[0], array.strides[0])  # rows are without gaps, whatever the order of their axes
    rows = view(array._slot, array._pointer, flat, f"<u{size}" if size > 1 else "|u1")[keep]
    shape = (len(keep), *array.shape[1:])
    return DeviceArray(rows, ffi.cast("void *", rows.ctypes.data), shape, array.dtype, (CPU, 0), 0, array.strides)


def _type(dtype: str) -> tuple[int, int]:
    known = _TYPES.get(dtype)
    if known is not None:
        return known
    kind = dtype.rstrip("0123456789")
    return _KINDS[kind], int(dtype[len(kind) :] or "8")


def _number(stream: Any) -> int:
    """A CUDA stream as DLPack passes it: 1 is the legacy default stream, which CUDA itself calls 0."""
    return 0 if stream in (0, 1) else int(stream)


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of an array without gaps."""
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    return tuple(strides)
