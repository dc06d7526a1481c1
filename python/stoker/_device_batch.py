# SPDX-License-Identifier: Apache-2.0
"""A batch in device memory: torch tensors, or arrays for others by DLPack, without a copy."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from stoker import _columns
from stoker._batch import BatchInfo, Form, _copy, array_type, drop_bad, hand_out, image_shape, read_mixed
from stoker._dlpack import CPU, CUDA, DeviceArray, host_rows
from stoker._native import ffi, lib
from stoker._numpy import np

if TYPE_CHECKING:
    from stoker._core import DeviceCore


class DeviceConverter:
    """Turns an stk_device_batch into what the loop asked for. torch: the module, None for DLPack arrays."""

    def __init__(self, core: DeviceCore, form: Form, torch: Any, *, on_host: bool) -> None:
        self._core = core
        self._form = form
        self._torch = torch
        self._device_type = CPU if on_host else CUDA
        self._said = False

    def __call__(self, slot: Any) -> tuple[Any, BatchInfo]:
        """The batch goes back to the uploader when slot and the tensors made here are gone."""
        batch, stream = lib.stk_py_slot_device_batch(slot), lib.stk_py_slot_stream(slot)
        form, n = self._form, batch.n
        place = (self._device_type, batch.device)
        stream_number = int(ffi.cast("uintptr_t", stream))

        def array(pointer: Any, shape: tuple[int, ...], dtype: str) -> Any:
            made = DeviceArray(slot, pointer, shape, dtype, place, stream_number)
            if self._torch is None:
                return made
            return self._torch.utils.dlpack.from_dlpack(made.__dlpack__())

        info = BatchInfo(
            batch.epoch,
            batch.index,
            batch.n_valid,
            _copy(batch.ids, n, np.uint64),
            np.zeros(n, np.uint32),
            _copy(batch.statuses, n, np.int32),
            read_mixed(batch.host_labels, batch.host_labels2, batch.host_shares, n),
        )
        dtype = array_type(batch.array) if batch.array else form.dtype
        images = array(batch.data, image_shape(form, batch), dtype)
        if form.permute:
            images = images.permute(0, 3, 1, 2)
        labels = array(ffi.cast("void *", batch.labels), (n,), "int64") if form.has_labels else None
        if form.mix_classes and info.mixed is not None:
            labels = info.mixed.soft(form.mix_classes)
            if self._torch is not None:
                labels = self._torch.from_numpy(labels).to(images.device, non_blocking=True)
        columns: dict[str, Any] = {}
        for i, column in enumerate(form.numeric):
            shape = (n,) if column.n_items == 1 else (n, column.n_items)
            columns[column.name] = array(ffi.cast("void *", batch.columns[i]), shape, column.type)
        for column in form.others:
            columns[column.name] = _columns.read(self._core.dataset_c, column, info.ids, n)
        if form.skip_bad and info.statuses.any():
            if self._torch is not None or self._device_type == CPU:
                images, labels, columns, info = drop_bad(images, labels, columns, info, self._rows)
            else:
                self._say_that_bad_rows_stay()
        return hand_out(form, images, labels, columns, info), info

    def _rows(self, array: Any, keep: Any) -> Any:
        if isinstance(array, np.ndarray):  # soft labels without torch
            return array[keep]
        if isinstance(array, DeviceArray):
            return host_rows(array, keep)
        return array[self._torch.from_numpy(keep).to(array.device)]

    def _say_that_bad_rows_stay(self) -> None:
        if not self._said:
            warnings.warn(
                'on_bad="skip": without torch no rows can be taken out of a DeviceArray on a GPU, so bad images '
                "stay in their batch, black and under their labels; loader.batch.statuses is not 0 for these rows",
                stacklevel=5,
            )
        self._said = True
