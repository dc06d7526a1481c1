# SPDX-License-Identifier: Apache-2.0
"""A delivered batch: NumPy arrays or torch tensors over the memory that C filled, without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Optional

import numpy as np

from stoker import _columns
from stoker._columns import Column
from stoker._errors import ArgumentError, OutOfMemoryError
from stoker._memory import Memory
from stoker._native import ffi, lib

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TYPESTRS = {"uint8": "|u1", "float16": "<f2", "bfloat16": "<u2", "float32": "<f4"}


class BatchInfo(NamedTuple):
    """The last delivered batch beside its images and labels.

    ``number``: of the batch within the epoch, on this rank. ``n_valid``: rows that are real samples; fewer
    than ``len(ids)`` only under ``last="pad"``. ``ids``: sample ids (positions in the data set).
    ``occurrences``: repeat numbers. ``statuses``: 0 for good rows.
    """

    epoch: int
    number: int
    n_valid: int
    ids: NDArray[np.uint64]
    occurrences: NDArray[np.uint32]
    statuses: NDArray[np.int32]


def _copy(pointer: Any, n: int, dtype: Any) -> NDArray[Any]:
    """Small arrays are copied, so that a label that the user keeps does not keep a batch of images."""
    array: NDArray[Any] = np.frombuffer(ffi.buffer(pointer, n * np.dtype(dtype).itemsize), dtype)
    return array.copy()


class Converter:
    """Turns an stk_batch into what the loop asked for."""

    def __init__(
        self,
        dataset_c: Any,
        *,
        dtype: str,
        layout: str,
        permute: bool,
        device: Optional[str],
        pid: int,
        has_labels: bool,
        as_dict: bool,
        numeric: list[Column],
        others: list[Column],
        skip_bad: bool,
        n_views: int,
    ) -> None:
        self._dataset_c = dataset_c
        self._typestr = _TYPESTRS[dtype]
        self._nchw = layout == "NCHW"
        self._permute = permute
        self._device = device
        self._pid = pid
        self._has_labels = has_labels
        self._as_dict = as_dict
        self._numeric = numeric
        self._others = others
        self._skip_bad = skip_bad
        self._n_views = n_views
        self._bfloat16: Any = None
        self._torch: Any = None
        if device is not None:
            self._torch = _import_torch(device)
        elif dtype == "bfloat16":
            self._bfloat16 = _import_bfloat16()
        self._torch_bfloat16 = self._torch.bfloat16 if self._torch and dtype == "bfloat16" else None

    def __call__(self, batch: Any) -> tuple[Any, BatchInfo]:
        """Takes the batch over; it goes back to the loader when the arrays made here are gone."""
        slot = lib.stk_py_slot_new(batch, self._pid)
        if not slot:
            lib.stk_batch_release(batch)
            raise OutOfMemoryError("not enough memory for a batch")
        owner = ffi.gc(slot, lib.stk_py_slot_free)
        n = batch.n
        height, width, channels = batch.height, batch.width, batch.channels
        shape = (n, channels, height, width) if self._nchw else (n, height, width, channels)
        images: Any = np.asarray(Memory(owner, int(ffi.cast("uintptr_t", batch.data)), shape, self._typestr))
        info = BatchInfo(
            batch.epoch,
            batch.index,
            batch.n_valid,
            _copy(batch.ids, n, np.uint64),
            _copy(batch.occurrences, n, np.uint32),
            _copy(batch.statuses, n, np.int32),
        )
        labels = _copy(batch.labels, n, np.int64) if self._has_labels else None
        columns = self._columns(batch, n, info) if self._as_dict else {}
        if self._skip_bad and info.statuses.any():
            images, labels, columns, info = _drop_bad(images, labels, columns, info)
        return self._hand_out(images, labels, columns, info), info

    def _columns(self, batch: Any, n: int, info: BatchInfo) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        for i, column in enumerate(self._numeric):
            dtype = column.dtype
            assert dtype is not None
            flat = _copy(batch.columns[i], n * column.n_items, dtype)
            columns[column.name] = flat if column.n_items == 1 else flat.reshape(n, column.n_items)
        for column in self._others:
            columns[column.name] = _columns.read(self._dataset_c, column, info.ids, n)
        return columns

    def _hand_out(self, images: Any, labels: Any, columns: dict[str, Any], info: BatchInfo) -> Any:
        if self._torch is not None:
            images = self._to_torch(images)
            labels = self._move(self._torch.from_numpy(labels)) if labels is not None else None
        elif self._bfloat16 is not None:
            images = images.view(self._bfloat16)
        if self._n_views > 1:
            images = tuple(images[v :: self._n_views] for v in range(self._n_views))
            labels = labels[:: self._n_views] if labels is not None else None
        if not self._as_dict:
            return images, labels
        if self._torch is not None:
            columns = {k: self._column_to_torch(v) for k, v in columns.items()}
        return {"image": images, "label": labels, "id": info.ids, "n_valid": info.n_valid, **columns}

    def _to_torch(self, images: NDArray[Any]) -> Any:
        if self._torch_bfloat16 is not None:
            tensor = self._torch.from_numpy(images.view(np.int16)).view(self._torch_bfloat16)
        else:
            tensor = self._torch.from_numpy(images)
        tensor = self._move(tensor)
        return tensor.permute(0, 3, 1, 2) if self._permute else tensor

    def _column_to_torch(self, value: Any) -> Any:
        if isinstance(value, list):
            return value
        if value.dtype.kind == "u" and value.dtype.itemsize > 1:
            value = value.astype(np.int64)  # torch's unsigned types beyond uint8 lack most operations
        return self._move(self._torch.from_numpy(np.ascontiguousarray(value)))

    def _move(self, tensor: Any) -> Any:
        return tensor if self._device == "cpu" else tensor.to(self._device)


def _drop_bad(
    images: NDArray[Any], labels: Optional[NDArray[Any]], columns: dict[str, Any], info: BatchInfo
) -> tuple[NDArray[Any], Optional[NDArray[Any]], dict[str, Any], BatchInfo]:
    """The batch without its bad rows, so that black images never train under real labels."""
    good = info.statuses == 0
    keep = np.flatnonzero(good)
    columns = {k: [v[i] for i in keep] if isinstance(v, list) else v[keep] for k, v in columns.items()}
    info = BatchInfo(
        info.epoch,
        info.number,
        int(good[: info.n_valid].sum()),
        info.ids[keep],
        info.occurrences[keep],
        info.statuses[keep],
    )
    return images[keep], labels[keep] if labels is not None else None, columns, info


def _import_torch(device: str) -> Any:
    try:
        import torch
    except ImportError as error:
        raise ArgumentError(
            f'device="{device}" hands out torch tensors, but torch cannot be imported ({error}); '
            "leave device out for NumPy arrays"
        ) from error
    return torch


def _import_bfloat16() -> Any:
    try:
        import ml_dtypes  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise ArgumentError(
            'dtype="bfloat16" as NumPy arrays needs the package ml_dtypes (pip install ml_dtypes); '
            'or ask for torch tensors with device="cpu"'
        ) from error
    return np.dtype(ml_dtypes.bfloat16)
