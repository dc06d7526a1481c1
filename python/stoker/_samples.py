# SPDX-License-Identifier: Apache-2.0
"""Samples as a Writer takes them: dicts out of what data sets give, images as C items, bytes for a cache."""

from __future__ import annotations

import io
import json
import os
import struct
import sys
import zlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from stoker._column_spec import type_number
from stoker._errors import ArgumentError
from stoker._native import lib
from stoker._numpy import np
from stoker._unread import read_file

if TYPE_CHECKING:
    from numpy.typing import NDArray


def each(samples: Any) -> Iterator[Any]:
    """The samples of an iterable, or of a torch Dataset, which has len() and [i] but no iteration of its own."""
    if hasattr(samples, "__iter__"):
        yield from samples
    elif hasattr(samples, "__len__") and hasattr(samples, "__getitem__"):
        for i in range(len(samples)):
            yield samples[i]
    else:
        raise ArgumentError(f"extend({samples!r:.60}): give an iterable or something with len() and [i]")


def as_dict(sample: Any) -> dict[str, Any]:
    """A sample with its parts by name: a dict as it is, (image,), (image, label), (image, label, columns) or a
    bare image."""
    if isinstance(sample, Mapping):
        if "image" not in sample:
            raise ArgumentError(f'a sample without "image": {sorted(map(str, sample))}')
        return dict(sample)
    if not isinstance(sample, (tuple, list)):
        return {"image": sample}
    if not 1 <= len(sample) <= 3 or (len(sample) == 3 and not isinstance(sample[2], Mapping)):
        raise ArgumentError(
            f"a sample of {len(sample)} parts: give (image, label), or a dict with image, label and columns"
        )
    more = {k: v for k, v in sample[2].items() if k != "path"} if len(sample) == 3 else {}
    return {"image": sample[0], "label": sample[1] if len(sample) > 1 else None, **more}


class Item(NamedTuple):
    """An image, or an array, as stk_item has it."""

    kind: int
    data: bytes
    shape: tuple[int, ...] = ()
    dtype: int = 0


def item(image: Any, *, as_array: bool = False) -> Item:
    """Any kind of image: bytes of a file, a path, PIL, NumPy HWC or HW, torch CHW; other arrays as they are."""
    if isinstance(image, (bytes, bytearray, memoryview)):
        return Item(lib.STK_ITEM_FILE, bytes(image))
    if isinstance(image, (str, os.PathLike)):
        return Item(lib.STK_ITEM_FILE, read_file(image))
    if is_pil(image):
        return _pixels(np.asarray(image.convert(_pil_mode(image.mode))))
    array = as_numpy(image)
    if not as_array and array.dtype == np.uint8:
        if hasattr(image, "detach") and array.ndim == 3 and array.shape[0] in (1, 3):
            return _pixels(np.moveaxis(array, 0, 2))
        if not hasattr(image, "detach") and (array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (1, 3))):
            return _pixels(array)
    number = type_number(array.dtype)
    if number is None:
        raise ArgumentError(
            f"an array of type {array.dtype} cannot be stored: give bool, integers or floats up to 64 bits"
        )
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return Item(lib.STK_ITEM_ARRAY, little.tobytes(), array.shape, number)


def _pixels(array: NDArray[np.uint8]) -> Item:
    if 0 in array.shape:
        raise ArgumentError(f"an image of shape {array.shape} has no pixels")
    shape = array.shape if array.ndim == 3 else (*array.shape, 1)
    return Item(lib.STK_ITEM_PIXELS, array.tobytes(), shape)


def is_pil(image: Any) -> bool:
    """Whether it is a PIL image; Pillow is not imported for this."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(image, module.Image)


def _pil_mode(mode: str) -> str:
    return "L" if mode in ("1", "L") else "RGB"


def as_numpy(value: Any) -> NDArray[Any]:
    """Arrays, torch tensors (from any device) and what NumPy can convert."""
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    array = np.asarray(value)
    if array.dtype == object:
        raise ArgumentError(
            f"an image given as {type(value).__name__}: give bytes, a path, an array, a torch tensor or a PIL "
            f"image"
        )
    return array


def mask_file(name: str, mask: Any) -> bytes:
    """A mask as a PNG. Palette images keep their indices, which is what a mask in a palette means."""
    if isinstance(mask, (str, os.PathLike)):
        mask = read_file(mask)
    if isinstance(mask, (bytes, bytearray, memoryview)):
        if bytes(mask[:8]) != _PNG or mask[25:26] != b"\x03":
            return bytes(mask)
        mask = _palette_indices(name, bytes(mask))
    array = as_numpy(mask)
    if hasattr(mask, "detach") and array.ndim == 3 and array.shape[0] in (1, 3):
        array = np.moveaxis(array, 0, 2)
    if array.dtype == bool:
        array = array.astype(np.uint8)
    if array.ndim == 3 and array.shape[2] == 1:
        array = array[:, :, 0]
    if (
        array.dtype != np.uint8
        or not (array.ndim == 2 or (array.ndim == 3 and array.shape[2] == 3))
        or not array.size
    ):
        raise ArgumentError(
            f"mask {name!r} of type {array.dtype} and shape {array.shape}: give uint8 (or bool) of shape (height, "
            "width), or with 3 channels; split wider numbers over channels"
        )
    return png(array)


_PNG = b"\x89PNG\r\n\x1a\n"


def _palette_indices(name: str, data: bytes) -> NDArray[np.uint8]:
    try:
        from PIL import Image
    except ImportError:
        raise ArgumentError(
            f"mask {name!r}: the indices of a PNG with a palette are read by Pillow (pip install pillow), or "
            f"give an array"
        ) from None
    return np.asarray(Image.open(io.BytesIO(data)))


def png(array: NDArray[np.uint8]) -> bytes:
    """A PNG of HW or HW3 uint8, as zlib's level 6 makes it of unfiltered rows."""
    height, width = array.shape[:2]
    rows = np.zeros((height, 1 + array[0].size), np.uint8)
    rows[:, 1:] = array.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 0 if array.ndim == 2 else 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), 6)), (b"IEND", b""))
    return _PNG + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


# Samples as bytes: what a cache of map= results keeps, and what its keys are made of.


def dump(sample: Mapping[str, Any], *, follow_paths: bool = False) -> bytes:
    """A sample as bytes: a JSON head with numbers and text, then the bytes of images and arrays. follow_paths:
    an image given as a path counts by its file's content."""
    blobs: list[bytes] = []
    head = {name: _dump(name, value, blobs, follow_paths) for name, value in sample.items()}
    text = json.dumps(head, sort_keys=True).encode()
    sizes = struct.pack(f"<{len(blobs) + 2}Q", len(text), len(blobs), *map(len, blobs))
    return b"".join([sizes, text, *blobs])


def _dump(name: str, value: Any, blobs: list[bytes], follow_paths: bool) -> Any:
    if value is None or isinstance(value, (bool, int, float)) or (isinstance(value, str) and name != "image"):
        return value
    if isinstance(value, (list, tuple)):
        return {"list": [_dump("", v, blobs, follow_paths) for v in value]}
    if isinstance(value, (str, os.PathLike)):
        if not follow_paths:
            return {"path": os.fspath(value)}
        value = read_file(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        blobs.append(bytes(value))
        return {"bytes": len(blobs) - 1}
    tensor = hasattr(value, "detach")
    array = (
        np.asarray(value.convert(_pil_mode(value.mode))) if is_pil(value) and name == "image" else as_numpy(value)
    )
    blobs.append(array.tobytes())
    return {"array": len(blobs) - 1, "dtype": array.dtype.str, "shape": list(array.shape), "tensor": tensor}


def load(data: bytes) -> dict[str, Any]:
    """The sample that dump() made bytes of; tensors come back as arrays of the same layout, marked by Tensor."""
    n_text, n_blobs = struct.unpack_from("<2Q", data)
    sizes = struct.unpack_from(f"<{n_blobs}Q", data, 16)
    at = 16 + 8 * n_blobs
    head = json.loads(data[at : at + n_text])
    at += n_text
    blobs = []
    for size in sizes:
        blobs.append(data[at : at + size])
        at += size
    return {name: _load(value, blobs) for name, value in head.items()}


class Tensor:
    """An array that was a torch tensor, so that images in it are CHW."""

    def __init__(self, array: NDArray[Any]) -> None:
        self._array = array

    def detach(self) -> Tensor:
        return self

    cpu = detach

    def numpy(self) -> NDArray[Any]:
        return self._array


def _load(value: Any, blobs: list[bytes]) -> Any:
    if not isinstance(value, dict):
        return value
    if "list" in value:
        return [_load(v, blobs) for v in value["list"]]
    if "path" in value:
        return value["path"]
    if "bytes" in value:
        return blobs[value["bytes"]]
    array = np.frombuffer(blobs[value["array"]], np.dtype(value["dtype"])).reshape(value["shape"])
    return Tensor(array) if value["tensor"] else array


def default_path(image: Any, path: Optional[Any]) -> Optional[bytes]:
    """The path to note for a sample: the one given; for an image given as a relative path that one, as an
    absolute one its last part, since a data set holds nothing of the machine that made it."""
    if path is None:
        if not isinstance(image, (str, os.PathLike)):
            return None
        path = os.path.basename(image) if os.path.isabs(image) else image
    data = os.fsencode(path)
    if not data or b"\0" in data:
        raise ArgumentError(f"path={path!r}: no name for a sample")
    return data
