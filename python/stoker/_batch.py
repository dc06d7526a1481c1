# SPDX-License-Identifier: Apache-2.0
"""A delivered batch: NumPy arrays or torch tensors over the memory that C filled, without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional

from stoker import _columns
from stoker._columns import Column
from stoker._errors import ArgumentError, UnsupportedError
from stoker._memory import Memory
from stoker._mix import Mixed
from stoker._native import ffi, lib
from stoker._numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TYPESTRS = {"uint8": "|u1", "float16": "<f2", "bfloat16": "<u2", "float32": "<f4"}


class BatchInfo(NamedTuple):
    """The last delivered batch beside its images and labels. One row a sample, however many views it has.

    ``number``: of the batch within the epoch, on this rank. ``n_valid``: rows that are real samples; fewer
    than ``len(ids)`` only under ``last="pad"``. ``ids``: sample ids (positions in the data set).
    ``occurrences``: repeat numbers. ``statuses``: 0 for good rows. ``mixed``: under :class:`Mix`, what was mixed.
    """

    epoch: int
    number: int
    n_valid: int
    ids: NDArray[np.uint64]
    occurrences: NDArray[np.uint32]
    statuses: NDArray[np.int32]
    mixed: Optional[Mixed] = None


def _copy(pointer: Any, n: int, dtype: Any) -> NDArray[Any]:
    """Small arrays are copied, so that a label that the user keeps does not keep a batch of images."""
    array: NDArray[Any] = np.frombuffer(ffi.buffer(pointer, n * np.dtype(dtype).itemsize), dtype)
    return array.copy()


class Form(NamedTuple):
    """What the loop asked for."""

    dtype: str
    layout: str  # in memory
    permute: bool  # NHWC memory is shown with shape NCHW
    device: Optional[str]
    has_labels: bool
    as_dict: bool
    numeric: tuple[Column, ...]
    others: tuple[Column, ...]
    skip_bad: bool
    n_views: int
    mix_classes: int = 0  # columns of soft labels; 0: labels are as they are


class Converter:
    """Turns an stk_batch into what the loop asked for."""

    def __init__(self, dataset_c: Any, form: Form) -> None:
        self._dataset_c = dataset_c
        self._form = form
        self._typestr = _TYPESTRS[form.dtype]
        self._bfloat16: Any = None
        self._torch: Any = None
        if form.device is not None:
            self._torch = import_torch(form.device)
        elif form.dtype == "bfloat16":
            self._bfloat16 = _import_bfloat16()

    def __call__(self, slot: Any) -> tuple[Any, BatchInfo]:
        """The batch goes back to the loader when slot and the arrays made here are gone."""
        batch = lib.stk_py_slot_batch(slot)
        form, n = self._form, batch.n
        address = int(ffi.cast("uintptr_t", batch.data))
        typestr = np.dtype(array_type(batch.array)).str if batch.array else self._typestr
        images: Any = np.asarray(Memory(slot, address, image_shape(form, batch), typestr))
        info = read_info(batch, n)
        labels = _copy(batch.labels, n, np.int64) if form.has_labels else None
        if form.mix_classes and info.mixed is not None:
            labels = info.mixed.soft(form.mix_classes)
        columns = self._columns(batch, n, info) if form.as_dict else {}
        if form.skip_bad and info.statuses.any():
            images, labels, columns, info = drop_bad(images, labels, columns, info, _rows)
        if self._torch is not None:
            images = self._array_to_torch(images) if batch.array else self._to_torch(images)
            labels = self._move(self._torch.from_numpy(labels)) if labels is not None else None
            columns = {k: self._column_to_torch(v) for k, v in columns.items()}
        elif self._bfloat16 is not None:
            images = images.view(self._bfloat16)
        return hand_out(form, images, labels, columns, info), info

    def _columns(self, batch: Any, n: int, info: BatchInfo) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        for i, column in enumerate(self._form.numeric):
            assert column.dtype is not None
            flat = _copy(batch.columns[i], n * column.n_items, column.dtype)
            columns[column.name] = flat if column.n_items == 1 else flat.reshape(n, column.n_items)
        for column in self._form.others:
            columns[column.name] = _columns.read(self._dataset_c, column, info.ids, n)
        return columns

    def _to_torch(self, images: NDArray[Any]) -> Any:
        if self._form.dtype == "bfloat16":
            tensor = self._torch.from_numpy(images.view(np.int16)).view(self._torch.bfloat16)
        else:
            tensor = self._torch.from_numpy(images)
        tensor = self._move(tensor)
        return tensor.permute(0, 3, 1, 2) if self._form.permute else tensor

    def _array_to_torch(self, arrays: NDArray[Any]) -> Any:
        """Arrays keep their type; older versions of torch lack the wider unsigned ones."""
        try:
            return self._move(self._torch.from_numpy(arrays))
        except TypeError as error:
            raise UnsupportedError(
                f"the records are arrays of {arrays.dtype}, a type that torch {self._torch.__version__} does not "
                "have; leave device out for NumPy arrays"
            ) from error

    def _column_to_torch(self, value: Any) -> Any:
        if isinstance(value, list):
            return value
        if value.dtype.kind == "u" and value.dtype.itemsize > 1:
            value = value.astype(np.int64)  # torch's unsigned types beyond uint8 lack most operations
        return self._move(self._torch.from_numpy(np.ascontiguousarray(value)))

    def _move(self, tensor: Any) -> Any:
        return tensor if self._form.device == "cpu" else tensor.to(self._form.device)


def array_type(array: Any) -> str:
    """The element type of an stk_array: "float32", say."""
    return str(ffi.string(lib.stk_type_name(array.type)).decode())


def array_shape(array: Any) -> tuple[int, ...]:
    """The shape of an stk_array."""
    return tuple(array.shape[0 : array.n_dims])


def image_shape(form: Form, batch: Any) -> tuple[int, ...]:
    """The shape of a batch as it lies in memory."""
    if batch.array:
        return batch.n, *array_shape(batch.array)
    if form.layout == "NCHW":
        return batch.n, batch.channels, batch.height, batch.width
    return batch.n, batch.height, batch.width, batch.channels


def read_mixed(labels: Any, partners: Any, shares: Any, n: int) -> Optional[Mixed]:
    if partners == ffi.NULL:
        return None
    return Mixed(_copy(labels, n, np.int64), _copy(partners, n, np.int64), _copy(shares, n, np.float32))


def read_info(batch: Any, n: int) -> BatchInfo:
    """What an stk_batch of n entries is made of."""
    return BatchInfo(
        batch.epoch,
        batch.index,
        batch.n_valid,
        _copy(batch.ids, n, np.uint64),
        _copy(batch.occurrences, n, np.uint32),
        _copy(batch.statuses, n, np.int32),
        read_mixed(batch.labels, batch.labels2, batch.shares, n),
    )


def keep_rows(mixed: Optional[Mixed], rows: Any) -> Optional[Mixed]:
    return None if mixed is None else Mixed(*(array[rows] for array in mixed))


def hand_out(form: Form, images: Any, labels: Any, columns: dict[str, Any], info: BatchInfo) -> Any:
    """The tuple or dict that the loop gets."""
    if form.n_views > 1:
        images = tuple(images[v :: form.n_views] for v in range(form.n_views))
        labels = labels[:: form.n_views] if labels is not None else None
    if not form.as_dict:
        return images, labels
    return {"image": images, "label": labels, "id": info.ids, "n_valid": info.n_valid, **columns}


def drop_bad(
    images: Any,
    labels: Any,
    columns: dict[str, Any],
    info: BatchInfo,
    rows: Callable[[Any, NDArray[np.int64]], Any],
) -> tuple[Any, Any, dict[str, Any], BatchInfo]:
    """The batch without its bad rows, so that black images never train under real labels. rows: picks rows out
    of an array of whatever kind they come in."""
    good = info.statuses == 0
    keep = np.flatnonzero(good)
    columns = {k: [v[i] for i in keep] if isinstance(v, list) else rows(v, keep) for k, v in columns.items()}
    info = BatchInfo(
        info.epoch,
        info.number,
        int(good[: info.n_valid].sum()),
        info.ids[keep],
        info.occurrences[keep],
        info.statuses[keep],
        keep_rows(info.mixed, keep),
    )
    return rows(images, keep), rows(labels, keep) if labels is not None else None, columns, info


def _rows(array: NDArray[Any], keep: NDArray[np.int64]) -> NDArray[Any]:
    return array[keep]


def import_torch(device: str) -> Any:
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
