# SPDX-License-Identifier: Apache-2.0
"""The words that options take, and the C constants they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from stoker._errors import ArgumentError
from stoker._native import lib

Filter = Literal["bilinear", "bicubic", "box", "hamming", "lanczos", "nearest"]
Pixels = Literal["pillow13", "pillow12"]
Color = Literal["rgb", "bgr"]
Mode = Literal["RGB", "L"]
DType = Literal["uint8", "float16", "bfloat16", "float32"]
Layout = Literal["NHWC", "NCHW"]
Last = Literal["keep", "drop", "pad"]
OnBad = Literal["error", "skip", "substitute"]
Order = Literal["shuffle", "sequential", "page", "weighted"]


class TypeObject(Protocol):
    """A numpy.dtype or a torch.dtype; no str."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""


FILTERS: Mapping[str, int] = {
    "bilinear": lib.STK_FILTER_BILINEAR,
    "bicubic": lib.STK_FILTER_BICUBIC,
    "box": lib.STK_FILTER_BOX,
    "hamming": lib.STK_FILTER_HAMMING,
    "lanczos": lib.STK_FILTER_LANCZOS,
    "nearest": lib.STK_FILTER_NEAREST,
}
PIXELS: Mapping[str, int] = {"pillow13": lib.STK_PIXELS_PILLOW13, "pillow12": lib.STK_PIXELS_PILLOW12}
COLORS: Mapping[str, int] = {"rgb": lib.STK_COLOR_RGB, "bgr": lib.STK_COLOR_BGR}
MODES: Mapping[str, int] = {"RGB": lib.STK_MODE_RGB, "L": lib.STK_MODE_L}
DTYPES: Mapping[str, int] = {
    "uint8": lib.STK_DTYPE_U8,
    "float16": lib.STK_DTYPE_F16,
    "bfloat16": lib.STK_DTYPE_BF16,
    "float32": lib.STK_DTYPE_F32,
}
LAYOUTS: Mapping[str, int] = {"NHWC": lib.STK_LAYOUT_NHWC, "NCHW": lib.STK_LAYOUT_NCHW}
LASTS: Mapping[str, int] = {
    "keep": lib.STK_LAST_KEEP,
    "drop": lib.STK_LAST_DROP,
    "pad": lib.STK_LAST_PAD,
}
ON_BADS: Mapping[str, int] = {
    "error": lib.STK_ON_BAD_ERROR,
    "skip": lib.STK_ON_BAD_SKIP,
    "substitute": lib.STK_ON_BAD_SUBSTITUTE,
}
ORDERS: Mapping[str, int] = {
    "shuffle": lib.STK_ORDER_SHUFFLE,
    "sequential": lib.STK_ORDER_SEQUENTIAL,
    "page": lib.STK_ORDER_PAGE,
    "weighted": lib.STK_ORDER_WEIGHTED,
}
MIX_MODES: Mapping[str, int] = {
    "batch": lib.STK_MIX_BATCH,
    "elem": lib.STK_MIX_ELEMENT,
    "pair": lib.STK_MIX_PAIR,
}
IOS: Mapping[str, int] = {"auto": lib.STK_IO_AUTO, "mmap": lib.STK_IO_MMAP, "pread": lib.STK_IO_PREAD}
VERIFIES: Mapping[str, int] = {
    "first": lib.STK_VERIFY_FIRST,
    "always": lib.STK_VERIFY_ALWAYS,
    "off": lib.STK_VERIFY_OFF,
}
ENCODES: Mapping[str, int] = {
    "auto": lib.STK_ENCODE_AUTO,
    "keep": lib.STK_ENCODE_KEEP,
    "raw": lib.STK_ENCODE_RAW,
    "tiles": lib.STK_ENCODE_TILES,
}
CHECKS: Mapping[str, int] = {"decode": lib.STK_CHECK_DECODE, "header": lib.STK_CHECK_HEADER}
EXIFS: Mapping[str, int] = {"apply": lib.STK_EXIF_APPLY, "ignore": lib.STK_EXIF_IGNORE}
DECODES: Mapping[str, int] = {
    "auto": lib.STK_DECODE_AUTO,
    "cpu": lib.STK_DECODE_CPU,
    "gpu": lib.STK_DECODE_GPU,
}
RESIDENTS: Mapping[str, int] = {
    "auto": lib.STK_RESIDENT_AUTO,
    "on": lib.STK_RESIDENT_ON,
    "off": lib.STK_RESIDENT_OFF,
}


def constant(table: Mapping[str, int], option: str, value: object) -> int:
    """The C constant for a word; ArgumentError names the option and the words it takes."""
    found = table.get(value) if isinstance(value, str) else None
    if found is None:
        words = ", ".join(repr(word) for word in table)
        raise ArgumentError(f"{option}={value!r}: use one of {words}")
    return found
