# SPDX-License-Identifier: Apache-2.0
"""Columns that a Writer is told: their types in words, and Python values as C cells."""

from __future__ import annotations

import re
from typing import Any, NamedTuple, Optional

from stoker._errors import ArgumentError
from stoker._native import ffi, lib
from stoker._numpy import np

_TYPES: dict[str, int] = {
    "bool": lib.STK_TYPE_BOOL,
    "int8": lib.STK_TYPE_I8,
    "uint8": lib.STK_TYPE_U8,
    "int16": lib.STK_TYPE_I16,
    "uint16": lib.STK_TYPE_U16,
    "int32": lib.STK_TYPE_I32,
    "uint32": lib.STK_TYPE_U32,
    "int64": lib.STK_TYPE_I64,
    "uint64": lib.STK_TYPE_U64,
    "float16": lib.STK_TYPE_F16,
    "float32": lib.STK_TYPE_F32,
    "float64": lib.STK_TYPE_F64,
    "string": lib.STK_TYPE_STRING,
    "bytes": lib.STK_TYPE_BYTES,
}


def type_number(dtype: np.dtype[Any]) -> Optional[int]:
    """The C number of a NumPy type; None for what cannot be stored."""
    return None if dtype.name in ("string", "bytes") else _TYPES.get(dtype.name)


class ColumnSpec(NamedTuple):
    """One column: ``n_items`` elements a row, 0 when rows differ in length."""

    name: str
    type: str
    n_items: int
    nullable: bool
    boxes: bool

    def fill(self, raw: Any, keep: list[Any]) -> None:
        """Writes this into an stk_column."""
        name = ffi.new("char[]", self.name.encode())
        keep.append(name)
        raw.name, raw.type, raw.n_items, raw.nullable = name, _TYPES[self.type], self.n_items, self.nullable

    def cell(self, value: Any) -> Optional[tuple[int, bytes]]:
        """(elements, or bytes of text; bytes) of a value, None for a null."""
        if value is None:
            if not self.nullable:
                raise ArgumentError(
                    f'column {self.name!r}: no value; declare it "{self.type}?" where some have none'
                )
            return None
        if self.type in ("string", "bytes"):
            return self._text(value)
        array = self._exact(value)
        if self.boxes and (array.ndim != 2 or array.shape[1] != 4) and array.size:
            raise ArgumentError(f"column {self.name!r}: boxes have the shape (n, 4), not {array.shape}")
        if self.n_items > 0 and array.size != self.n_items:
            raise ArgumentError(f"column {self.name!r}: {array.size} elements, where every row has {self.n_items}")
        return int(array.size), array.tobytes()

    def _text(self, value: Any) -> tuple[int, bytes]:
        kind = str if self.type == "string" else (bytes, bytearray, memoryview)
        if not isinstance(value, kind):
            raise ArgumentError(f"column {self.name!r} of type {self.type}: got a {type(value).__name__}")
        data = value.encode() if isinstance(value, str) else bytes(value)
        return len(data), data

    def _exact(self, value: Any) -> np.ndarray[Any, np.dtype[Any]]:
        """The value in the column's type; numbers that would change are refused, but for the rounding of
        floats."""
        if hasattr(value, "detach"):
            value = value.detach().cpu().numpy()
        array = np.asarray(value)
        dtype = np.dtype(self.type)
        if array.size == 0:
            return np.zeros(array.shape, dtype)
        if array.dtype.kind not in "biuf" or (array.dtype.kind == "f" and dtype.kind != "f"):
            raise ArgumentError(f"column {self.name!r} of type {self.type}: cannot hold {value!r:.60}")
        with np.errstate(over="ignore", invalid="ignore"):
            out = np.ascontiguousarray(array.astype(dtype)).reshape(array.shape)
            lossless = dtype.kind == "f" or np.array_equal(out, array)
        if not lossless:
            raise ArgumentError(f"column {self.name!r} of type {self.type}: cannot hold {value!r:.60}")
        return out


def parse(name: str, text: str) -> ColumnSpec:
    """ "int32", "float32[4]", "float32[]", "string", "bytes" or "boxes" (float32[] of x1, y1, x2, y2), with "?"
    behind where some rows have no value."""
    match = re.fullmatch(r"(\w+)(\[(\d*)\])?(\?)?", text) if isinstance(text, str) else None
    kind = match[1] if match else ""
    boxes = kind == "boxes"
    if (
        match is None
        or (kind not in _TYPES and not boxes)
        or (match[2] and (boxes or kind in ("string", "bytes")))
    ):
        known = ", ".join(_TYPES)
        raise ArgumentError(
            f'columns: {name!r} of type {text!r}: give one of {known} or boxes; numbers also as "float32[4]" (4 a '
            'row) or "float32[]" (any number); "?" behind allows None'
        )
    n_items = 0 if boxes else 1 if match[2] is None else int(match[3] or 0)
    if match[3] == "0":
        raise ArgumentError(f"columns: {name!r} of type {text!r}: 1 or more elements a row, or []")
    return ColumnSpec(name, "float32" if boxes else kind, n_items, match[4] is not None, boxes)
