# SPDX-License-Identifier: Apache-2.0
"""What goes along with an image's crop: masks, which are data sets of their own read in step, and boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional

from stoker._batch import BatchInfo
from stoker._errors import ArgumentError, InternalError, call
from stoker._memory import Memory
from stoker._native import ffi, lib
from stoker._numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stoker._dataset import Dataset

Convert = Callable[[Any], tuple[Any, BatchInfo]]


class MaskConverter:
    """Adds masks to what the images' converter gives: uint8 of shape (n, height, width), or (..., 3)."""

    def __init__(self, convert: Convert, to_device: Callable[[NDArray[np.uint8]], Any], n_views: int) -> None:
        self._convert, self._to_device, self._n_views = convert, to_device, n_views

    def __call__(self, slots: Any) -> tuple[Any, BatchInfo]:
        images, mask_slots = slots
        arrays = {name: _array(slot) for name, slot in mask_slots.items()}
        masks = {name: lib.stk_py_slot_batch(slot) for name, slot in mask_slots.items()}
        numbers = {(mask.epoch, mask.index) for mask in masks.values()}
        ids = [ffi.buffer(mask.ids, mask.n * 8)[:] for mask in masks.values()]
        out, info = self._convert(images)
        if numbers != {(info.epoch, info.number)} or any(other != info.ids.tobytes() for other in ids):
            raise InternalError("masks and images came out of step")
        for name, array in arrays.items():
            out[name] = by_view(self._to_device(array), self._n_views)
        return out, info


def _array(slot: Any) -> NDArray[np.uint8]:
    mask = lib.stk_py_slot_batch(slot)
    shape = (mask.n, mask.height, mask.width) + ((3,) if mask.channels == 3 else ())
    array: NDArray[np.uint8] = np.asarray(Memory(slot, int(ffi.cast("uintptr_t", mask.data)), shape, "|u1"))
    return array


class BoxConverter:
    """Moves boxes (x1, y1, x2, y2 in pixels) to where they lie in the delivered crops, clipped to them. What has
    less than a pixel a side left is dropped; NAME_kept tells the rows that stay."""

    def __init__(
        self, convert: Convert, dataset_c: Any, options: tuple[Any, Any], names: list[str], n_views: int
    ) -> None:
        """options: the stk_loader_options, and what they point to."""
        self._convert, self._dataset_c, self._options = convert, dataset_c, options
        self._names, self._n_views = names, n_views

    def __call__(self, slot: Any) -> tuple[Any, BatchInfo]:
        out, info = self._convert(slot)
        crops = self._crops(info)
        for name in self._names:
            pairs = [_follow(flat, crop) for flat, crop in zip(out[name], crops)]
            out[name] = by_view([boxes for boxes, _ in pairs], self._n_views)
            out[f"{name}_kept"] = by_view([kept for _, kept in pairs], self._n_views)
        return out, info

    def _crops(self, info: BatchInfo) -> Any:
        n = len(info.ids)
        crops = ffi.new("stk_crop[]", max(1, n))
        call(
            lib.stk_py_crops,
            self._dataset_c,
            self._options[0],
            info.epoch,
            ffi.from_buffer("uint64_t[]", info.ids),
            ffi.from_buffer("uint32_t[]", info.occurrences),
            n,
            self._n_views,
            crops,
        )
        return crops


def _follow(flat: Optional[NDArray[Any]], crop: Any) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    if flat is None:
        return np.zeros((0, 4), np.float32), np.zeros(0, np.int64)
    boxes = np.asarray(flat, np.float64).reshape(-1, 4)
    x = (boxes[:, 0::2] - crop.box.x) * (crop.full_width / crop.box.width) - crop.window_x
    y = (boxes[:, 1::2] - crop.box.y) * (crop.full_height / crop.box.height) - crop.window_y
    if crop.flip:
        x = crop.out_width - x[:, ::-1]
    x, y = np.clip(x, 0, crop.out_width), np.clip(y, 0, crop.out_height)
    kept = np.flatnonzero((x[:, 1] - x[:, 0] >= 1) & (y[:, 1] - y[:, 0] >= 1))
    moved = np.stack([x[:, 0], y[:, 0], x[:, 1], y[:, 1]], axis=1)[kept]
    return moved.astype(np.float32), kept


def by_view(rows: Any, n_views: int) -> Any:
    """A tuple with the rows of each view; the rows themselves when there is one view."""
    return rows if n_views == 1 else tuple(rows[v::n_views] for v in range(n_views))


def check(dataset: Dataset, masks: list[str], order: str, on_bad: str) -> None:
    """Masks must come in the images' own order, row by row."""
    if not masks:
        return
    if order == "page":
        raise ArgumentError(
            f'masks ({masks[0]!r}) do not go with order="page", whose pages are of bytes; use "shuffle"'
        )
    if on_bad != "error":
        raise ArgumentError(f'masks ({masks[0]!r}) go with on_bad="error" only')
    sizes = dataset.sizes
    for name in masks:
        if not np.array_equal(sizes, dataset.masks[name].sizes):
            wrong = int(np.flatnonzero((sizes != dataset.masks[name].sizes).any(axis=1))[0])
            raise ArgumentError(
                f"{dataset.filename}: mask {name!r} of record {wrong} has another size than its image"
            )
