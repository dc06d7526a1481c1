# SPDX-License-Identifier: Apache-2.0
"""The user's columns of a data set: descriptions and values."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from stoker._errors import call
from stoker._memory import new_buffer
from stoker._native import ffi, lib
from stoker._numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Column(NamedTuple):
    """What is known of a column without reading a value.

    ``type``: "bool", "int8" ... "float64", "string" or "bytes". ``n_items``: elements a row, 0 when rows
    differ in length. ``nullable``: some rows may have no value.
    """

    name: str
    type: str
    n_items: int
    nullable: bool
    number: int

    @property
    def dtype(self) -> Optional[np.dtype[Any]]:
        """The NumPy type of one element; None for strings and bytes."""
        return None if self.type in ("string", "bytes") else np.dtype(self.type)


def describe(dataset: Any) -> dict[str, Column]:
    """The columns of a C data set by name, in stored order."""
    columns: dict[str, Column] = {}
    raw = ffi.new("stk_column *")
    for number in range(lib.stk_dataset_columns(dataset)):
        call(lib.stk_dataset_column, dataset, number, raw)
        name = ffi.string(raw.name).decode("utf-8", "surrogateescape")
        kind = ffi.string(lib.stk_type_name(raw.type)).decode()
        columns[name] = Column(name, kind, raw.n_items, bool(raw.nullable), number)
    return columns


def read(dataset: Any, column: Column, ids: Optional[NDArray[np.uint64]], n: int) -> Any:
    """Values of rows ids (None: rows 0 .. n-1): an array, a masked array when nullable, or a list."""
    pointer = ffi.NULL if ids is None else ffi.from_buffer("uint64_t[]", ids)
    nulls = np.zeros(n, np.uint8)
    if column.dtype is None or column.n_items == 0:
        return _read_variable(dataset, column, pointer, n, nulls)
    shape = (n,) if column.n_items == 1 else (n, column.n_items)
    values = np.zeros(shape, column.dtype)
    row_bytes = column.dtype.itemsize * column.n_items
    call(
        lib.stk_py_fixed_column,
        dataset,
        column.number,
        pointer,
        n,
        row_bytes,
        ffi.from_buffer("uint8_t[]", values.view(np.uint8).reshape(-1)),
        ffi.from_buffer("uint8_t[]", nulls),
    )
    if not column.nullable:
        return values
    mask = nulls.astype(bool)
    if column.n_items != 1:
        mask = np.repeat(mask[:, None], column.n_items, axis=1)
    return np.ma.MaskedArray(values, mask)  # type: ignore[no-untyped-call, unused-ignore]


def _read_variable(dataset: Any, column: Column, pointer: Any, n: int, nulls: NDArray[np.uint8]) -> list[Any]:
    offsets = np.zeros(n + 1, np.uint64)
    buffer = new_buffer()
    call(
        lib.stk_py_variable_column,
        dataset,
        column.number,
        pointer,
        n,
        ffi.from_buffer("uint64_t[]", offsets),
        ffi.from_buffer("uint8_t[]", nulls),
        buffer,
    )
    data = ffi.buffer(buffer.data, buffer.n_bytes) if buffer.n_bytes else b""
    ends = offsets.tolist()
    return [None if nulls[i] else _element(column, bytes(data[ends[i] : ends[i + 1]])) for i in range(n)]


def _element(column: Column, value: bytes) -> Any:
    """One row of strings, bytes or a variable array. Paths become str as ``os.listdir`` gives them."""
    if column.name == "path":
        return os.fsdecode(value)
    if column.type == "string":
        return value.decode("utf-8", "surrogateescape")
    if column.dtype is None:
        return value
    return np.frombuffer(value, column.dtype).copy()
