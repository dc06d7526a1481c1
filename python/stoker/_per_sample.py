# SPDX-License-Identifier: Apache-2.0
"""sample_transform=: the user's callable on each sample, on Python threads, and its cost."""

from __future__ import annotations

import hashlib
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Union

from stoker._batch import BatchInfo, Converter, _copy, hand_out, import_torch, read_info
from stoker._errors import ArgumentError, Error, StateError, call
from stoker._follow import by_view
from stoker._native import ffi, lib
from stoker._numpy import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from stoker._dataset import Dataset
    from stoker._transforms import Transform

Convert = Callable[[Any], tuple[Any, BatchInfo]]

_here = threading.local()


class SampleContext(NamedTuple):
    """The sample that a sample_transform= is called for. ``seed`` depends on the Loader's seed and on all of
    these, and on nothing else: ``numpy.random.default_rng(stoker.current_sample().seed)`` draws alike for any
    number of threads and ranks, and after a resume."""

    id: int
    label: Optional[int]
    epoch: int
    occurrence: int
    view: int
    seed: int


def current_sample() -> SampleContext:
    """The sample in hand, within a sample_transform=. Raises StateError anywhere else."""
    context = getattr(_here, "context", None)
    if not isinstance(context, SampleContext):
        raise StateError("current_sample() answers within a sample_transform= only")
    return context


class Stats:
    """What the callable has cost so far."""

    def __init__(self, threads: int) -> None:
        self.threads, self.samples, self.seconds, self.bad = threads, 0, 0.0, 0
        self._lock = threading.Lock()

    def add(self, seconds: float) -> None:
        with self._lock:
            self.samples += 1
            self.seconds += seconds

    def as_dict(self) -> dict[str, Union[int, float]]:
        return {
            "sample_transform_samples": self.samples,
            "sample_transform_s": self.seconds,
            "sample_transform_threads": self.threads,
        }


class PicksConverter(Converter):
    """Which samples a batch is made of, with labels and columns; images are for the threads to fetch."""

    def __call__(self, slot: Any) -> tuple[Any, BatchInfo]:
        batch = lib.stk_py_slot_batch(slot)
        form, n = self._form, batch.n
        info = read_info(batch, n)
        labels = _copy(batch.labels, n, np.int64) if form.has_labels else None
        columns = self._columns(batch, n, info) if form.as_dict else {}
        return hand_out(form, np.zeros(n, np.uint8), labels, columns, info), info


class PerSample:
    """Wraps a converter: images go through the callable, one by one, on a pool of threads.

    whole: with the data set, the transform and the C options where the callable gets images as they are stored,
    of any sizes; None where it gets what the transform made."""

    def __init__(
        self,
        convert: Convert,
        fn: Callable[[Any], Any],
        *,
        seed: int,
        threads: int,
        n_views: int,
        device: Optional[str],
        on_bad: str,
        whole: Optional[tuple[Dataset, Transform, Any]],
    ) -> None:
        self._convert, self._fn, self._seed, self._n_views = convert, fn, seed, n_views
        self._device, self._on_bad, self._whole = device, on_bad, whole
        self._torch = import_torch(device) if device is not None else None
        self.stats = Stats(threads)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="stoker-sample")

    def close(self) -> None:
        """Ends the threads; what they are at is finished. Not for finalizers: the garbage collector may run in
        the midst of the pool's own work, with its lock held. A pool that is let go ends its threads by itself.
        """
        self._pool.shutdown(wait=False)

    def __call__(self, slot: Any) -> tuple[Any, BatchInfo]:
        out, info = self._convert(slot)
        named = isinstance(out, dict)
        images, labels = (out["image"], out["label"]) if named else out
        rows = self._rows(images, info)
        results = list(self._pool.map(lambda i: self._one(i, rows, labels, info), range(len(info.ids))))
        if any(isinstance(result, _Bad) for result in results):
            good = np.array([not isinstance(result, _Bad) for result in results])
            self.stats.bad += int((~good).sum())
            keep = np.flatnonzero(good)
            results = [results[i] for i in keep]
            labels = labels[keep] if labels is not None else None
            out = {k: _pick(v, keep) for k, v in out.items()} if named else out
            info = info._replace(
                n_valid=int(good[: info.n_valid].sum()),
                ids=info.ids[keep],
                occurrences=info.occurrences[keep],
                statuses=info.statuses[keep],
            )
        views = by_view(results, self._n_views)
        made = tuple(map(self._stack, views)) if self._n_views > 1 else self._stack(views)
        labels = self._move(labels)
        if not named:
            return (made, labels), info
        more = {k: self._move(v) for k, v in out.items() if k not in ("id", "n_valid", "image", "label")}
        return {"image": made, "label": labels, "id": info.ids, "n_valid": info.n_valid, **more}, info

    def _rows(self, images: Any, info: BatchInfo) -> Any:
        """What the callable gets, by entry; with self._whole the images are still to be fetched."""
        if self._whole is not None:
            return self._flips(info)
        if self._n_views == 1:
            return images
        return [images[i % self._n_views][i // self._n_views] for i in range(len(info.ids))]

    def _flips(self, info: BatchInfo) -> list[bool]:
        assert self._whole is not None
        dataset, transform, options = self._whole
        n = len(info.ids)
        if transform.flip == 0:
            return [False] * n
        crops = ffi.new("stk_crop[]", max(1, n))
        ids = ffi.from_buffer("uint64_t[]", info.ids)
        occurrences = ffi.from_buffer("uint32_t[]", info.occurrences)
        call(lib.stk_py_crops, dataset._c(), options, info.epoch, ids, occurrences, n, self._n_views, crops)
        return [bool(crops[i].flip) for i in range(n)]

    def _one(self, i: int, rows: Any, labels: Any, info: BatchInfo) -> Any:
        sample_id, occurrence = int(info.ids[i]), int(info.occurrences[i])
        view, label = i % self._n_views, None if labels is None else int(labels[i // self._n_views])
        key = struct.pack("<5Q", self._seed, info.epoch, sample_id, occurrence, view)
        seed = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "little")
        try:
            image = rows[i] if self._whole is None else self._fetch(sample_id, rows[i])
        except Error as error:
            if self._on_bad == "error":
                raise
            return _Bad(error)
        _here.context = SampleContext(sample_id, label, info.epoch, occurrence, view, seed)
        start = time.perf_counter()
        try:
            return self._fn(image)
        except Exception as error:
            if hasattr(error, "add_note"):
                error.add_note(f"in sample_transform= for sample {sample_id}")
            raise
        finally:
            self.stats.add(time.perf_counter() - start)
            _here.context = None

    def _fetch(self, sample_id: int, flip: bool) -> NDArray[Any]:
        assert self._whole is not None
        dataset, transform, _ = self._whole
        if dataset._begins_with_array():
            return dataset.array(sample_id)
        image = dataset.image(sample_id, flip=flip, color=transform.color)  # type: ignore[arg-type]
        channels = 1 if (transform.mode or dataset.mode) == "L" else 3
        if channels == 1 and image.shape[2] == 3:
            raise ArgumentError(f"record {sample_id} has three channels, but mode L was asked for")
        return np.repeat(image, 3, axis=2) if channels == 3 and image.shape[2] == 1 else image

    def _stack(self, results: list[Any]) -> Any:
        """Arrays, or tensors, as one; anything else as the list that it is."""
        if results and all(hasattr(r, "detach") and hasattr(r, "shape") for r in results):
            self._same_shape(results)
            import torch

            return self._move(torch.stack(results))
        if results and all(isinstance(r, (np.ndarray, np.generic)) for r in results):
            self._same_shape(results)
            return self._move(np.stack(results))
        return results

    def _same_shape(self, results: list[Any]) -> None:
        shapes = {tuple(r.shape) for r in results}
        if len(shapes) > 1:
            some = ", ".join(map(str, sorted(shapes)[:3]))
            raise ArgumentError(
                f"sample_transform= returned shapes {some}: what makes one batch must have one shape; return "
                "something else than an array, or a tensor, to get a list"
            )

    def _move(self, value: Any) -> Any:
        """To the device that was asked for."""
        if self._torch is None or value is None or isinstance(value, list):
            return value
        if isinstance(value, tuple):
            return tuple(map(self._move, value))
        if isinstance(value, np.ndarray):
            value = self._torch.from_numpy(np.ascontiguousarray(value))
        return value if self._device == "cpu" else value.to(self._device)


class _Bad(NamedTuple):
    """In the place of a sample that could not be read."""

    error: Error


def _pick(value: Any, keep: NDArray[np.int64]) -> Any:
    if isinstance(value, list):
        return [value[i] for i in keep]
    return value[keep] if isinstance(value, np.ndarray) else value


def check(
    transform: Transform, *, masks: list[str], on_bad: str, n_views: int, dtype: str, decode: str, resident: str
) -> None:
    """What does not go with a callable per sample."""
    from stoker._transforms import AsStored
    from stoker._translated import Translated

    stored = isinstance(transform, AsStored)
    if dtype != "uint8":
        raise ArgumentError(
            f"sample_transform= gets uint8, so dtype={dtype!r} has no meaning: return what you need"
        )
    if decode == "gpu":
        raise ArgumentError('sample_transform= runs on the CPU; decode="gpu" cannot be had with it')
    if resident == "on":
        raise ArgumentError('sample_transform= runs on the CPU; resident="on" has no effect with it')
    mixing = (transform.transform if isinstance(transform, Translated) else transform).mix
    if mixing:
        raise ArgumentError(f"sample_transform= gets single images, which cannot be mixed: leave {mixing!r} out")
    if stored and (masks or transform.steps):
        raise ArgumentError("sample_transform= on images as they are stored goes with neither masks nor steps")
    if stored and on_bad == "substitute":
        raise ArgumentError('sample_transform= on images as they are stored: on_bad is "error" or "skip"')
    if stored and on_bad == "skip" and n_views > 1:
        raise ArgumentError('sample_transform= on images as they are stored: n_views= goes with on_bad="error"')
