# SPDX-License-Identifier: Apache-2.0
"""A batch in device memory: torch tensors, or arrays for others by DLPack, without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stoker import _columns
from stoker._batch import BatchInfo, Form, array_type, hand_out, image_shape, keep_rows, read_mixed
from stoker._dlpack import CPU, CUDA, DeviceArray
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
            _host(batch.ids, n, np.uint64),
            np.zeros(n, np.uint32),
            _host(batch.statuses, n, np.int32),
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
        if form.skip_bad and self._torch is not None and info.statuses.any():
            images, labels, columns, info = self._drop_bad(images, labels, columns, info)
        return hand_out(form, images, labels, columns, info), info

    def _drop_bad(
        self, images: Any, labels: Any, columns: dict[str, Any], info: BatchInfo
    ) -> tuple[Any, Any, dict[str, Any], BatchInfo]:
        """The batch without its bad rows, so that black images never train under real labels."""
        good = info.statuses == 0
        keep = np.flatnonzero(good)
        index = self._torch.from_numpy(keep).to(images.device)
        columns = {k: [v[i] for i in keep] if isinstance(v, list) else v[index] for k, v in columns.items()}
        info = BatchInfo(
            info.epoch,
            info.number,
            int(good[: info.n_valid].sum()),
            info.ids[keep],
            info.occurrences[keep],
            info.statuses[keep],
            keep_rows(info.mixed, keep),
        )
        return images[index], labels[index] if labels is not None else None, columns, info


def _host(pointer: Any, n: int, dtype: Any) -> Any:
    return np.frombuffer(ffi.buffer(pointer, n * np.dtype(dtype).itemsize), dtype).copy()
