# SPDX-License-Identifier: Apache-2.0
"""The loader: batches out of a data set, on C threads."""

from __future__ import annotations

import json
import warnings
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, NoReturn, Optional, Union

from stoker import _choices, _distributed, _follow, _torch_names, _views
from stoker._ahead import Ahead
from stoker._batch import BatchInfo, Converter, Form, import_torch
from stoker._core import Core, DeviceCore, HostCore, new_device_options
from stoker._enums import DECODES, DTYPES, LASTS, LAYOUTS, ON_BADS, ORDERS, RESIDENTS, constant
from stoker._errors import ArgumentError, StateError, UnsupportedError
from stoker._in_step import CoresInStep
from stoker._native import ffi, lib
from stoker._numbers import whole
from stoker._on_batch import Producer, as_it_is, run_after
from stoker._transforms import AsStored, Boxes, Size, Transform
from stoker._translated import Translated

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from stoker._dataset import Dataset
    from stoker._enums import DType, Last, Layout, OnBad, Order, TypeObject
    from stoker._per_sample import PerSample

# How C's remark begins that more batches are held than it has slots: with on_batch= it is we who hold them.
_HOLDS_ALL = "the program holds all"


class Loader:
    """Batches of a data set, prepared ahead by threads in C: ``for images, labels in loader``.

    Each ``iter()`` goes on to the next epoch; :meth:`set_epoch` overrides. An epoch is one global sequence
    of samples, the same for any number of threads and ranks; random choices depend on (seed, epoch, sample)
    alone. Batches that you keep keep their memory and are never overwritten. One thread at a time may use a
    Loader; several Loaders live side by side. After fork() use raises StateError.

    Args:
        dataset: from :func:`stoker.open`, or a selection of one.
        batch_size: samples a batch on this rank.
        transform: :class:`Train`, :class:`Eval`, :class:`PadCrop`, :class:`Resize`, :class:`Boxes`,
            :class:`AsStored` (default), or what :func:`from_torchvision` gives.
        shuffle: True or False; None: as the transform suggests, True for Train and PadCrop.
        seed: of the order and of all random choices, 0 ... 2**64 - 1.
        dtype: "uint8", "float16", "bfloat16" or "float32" (torch.float16 ... too); the float types are normalised:
            (x / 255 - mean) / std, as torchvision's ToTensor and Normalize compute it.
        layout: "NHWC" or "NCHW", the shape of images. Default: NHWC for NumPy, NCHW for torch.
        channels_last: torch: memory in channels_last order whatever the shape. NumPy: same as layout="NHWC".
        device: None: NumPy arrays; "cpu": torch tensors over the same memory, without a copy; "cuda",
            "cuda:1" ...: torch tensors there (:class:`DeviceArray` without torch), decoded on the GPU where
            the records allow it. Use them on the stream that is current when the batch comes.
        decode: with device="cuda": "auto" (the side on which an image costs least, measured when the Loader is
            made; the CPU for transforms with steps or mixing), "cpu" or "gpu" (an error where the GPU part is
            missing).
        resident: with device="cuda": "on" keeps as many records as fit into resident_bytes (None: half of
            the free memory) on the GPU, "auto" does so when all of them fit into a quarter of it, "off".
        mean, std: per channel, of pixels of 0 ... 1, ImageNet's by default; only for float types.
        norm: "v1": ToTensor + Normalize's rounding; "v2": transforms.v2's.
        order: "shuffle" (exact), "sequential", "page" (windows of pages, for slow disks), "weighted".
        last: "keep" a smaller last batch (the default), "drop" it, or "pad" it with samples from the epoch's start
            (``loader.batch.n_valid`` tells how many rows are real).
        on_bad: "error" raises at the batch of a bad image and goes on with the next one, "skip" leaves its
            row out, "substitute" puts a good sample in its place. All are counted in :meth:`stats`.
        columns: names of columns; batches are then dicts with "image", "label", "id", "n_valid" and these. Masks
            (``ds.masks``) come as uint8 (n, height, width), cropped and flipped as their images, with the nearest
            filter; columns of boxes (``ds.boxes``) as a list of float32 (k, 4), moved along and clipped, and
            "NAME_kept", the rows that are still in the picture.
        sample_transform: a callable that takes one image (uint8, height x width x channels, after the transform;
            as it is stored, of any size, without one) and returns what the batch is stacked from: an array, a
            tensor, or anything else, which comes as a list. Runs on num_threads Python threads, ahead of the
            loop; its time is in :meth:`stats`. :func:`stoker.current_sample` tells it which sample it has, with
            a seed of its own.
        on_batch: a callable that takes what the loop would have got (a tuple or dict) and returns what it
            gets; runs in a thread of its own, one batch after the other, ahead of the loop.
        weights: one number a record, or "balanced" (each class equally often): drawn with replacement.
        n_draws: samples an epoch with weights; None: as many as there are.
        repeats: repeated augmentation: each sample this many times an epoch.
        n_views: views of each sample; images is then a tuple of this many batches, as are masks and boxes. Labels,
            ids, columns and ``loader.batch`` have one row a sample.
        views: instead of transform and n_views: a transform for each view, of different sizes say
            (``[Train(224)] * 2 + [Train(96)] * 6``, multi-crop). images is a tuple of one batch a view; labels,
            ids and columns have one row a sample. Views next to each other with equal transforms are made by one C
            loader, each with num_threads threads, batches prepared ahead and resident records of its own.
        rank, world: default: torch.distributed's, or RANK and WORLD_SIZE as torchrun sets them.
        num_threads: None: the CPUs that this process may really use (cgroup quota, affinity), less one.
        prefetch: batches prepared ahead; None: 3.
        page_window: pages mixed at a time under order="page".
        read_ahead_bytes: budget of bytes asked for ahead of the decoders.

    A data set of arrays (from HDF5 or .npy) gives batches of arrays: their own type, shape (batch, ...), nothing
    done to them; transform, dtype and layout are to be left out. All must have the type and shape of the first;
    one that differs is a bad record, handled as on_bad says.

    torch's DataLoader arguments work too: num_workers, pin_memory, prefetch_factor, persistent_workers,
    drop_last, sampler; timeout (seconds after which TimeoutError says whether the threads wait for the disk
    or decode); collate_fn is refused with the reason.
    """

    def __init__(
        self,
        dataset: Dataset,
        batch_size: int = 256,
        shuffle: Optional[bool] = None,
        *,
        transform: Optional[Transform] = None,
        seed: int = 0,
        dtype: Union[DType, TypeObject, type[Any], None] = None,
        layout: Optional[Layout] = None,
        channels_last: Optional[bool] = None,
        device: Any = None,
        mean: Optional[Sequence[float]] = None,
        std: Optional[Sequence[float]] = None,
        norm: str = "v1",
        order: Optional[Order] = None,
        last: Optional[Last] = None,
        on_bad: OnBad = "error",
        columns: Optional[Sequence[str]] = None,
        sample_transform: Optional[Callable[[Any], Any]] = None,
        on_batch: Optional[Callable[[Any], Any]] = None,
        weights: Union[str, ArrayLike, None] = None,
        n_draws: Optional[int] = None,
        repeats: int = 1,
        n_views: int = 1,
        views: Optional[Sequence[Transform]] = None,
        rank: Optional[int] = None,
        world: Optional[int] = None,
        decode: str = "auto",
        resident: str = "off",
        resident_bytes: Optional[int] = None,
        num_threads: Optional[int] = None,
        prefetch: Optional[int] = None,
        page_window: Optional[int] = None,
        read_ahead_bytes: Optional[int] = None,
        **torch_names: Any,
    ) -> None:
        _choices.opened(dataset)
        options: dict[str, Any] = {
            "shuffle": _choices.flag("shuffle", shuffle),
            "seed": _choices.seed(seed),
            "last": last,
            "weights": weights,
            "n_draws": n_draws,
            "rank": rank,
            "world": world,
            "num_threads": num_threads,
            "prefetch": prefetch,
            "timeout": 0.0,
            "on_batch": on_batch,
        }
        dataset = _torch_names.translate(torch_names, dataset, options)
        on_batch = options["on_batch"]
        _choices.function("on_batch", on_batch)
        _choices.function("sample_transform", sample_transform)
        device, type_name = _choices.device(device), _choices.dtype(dtype)
        n_views, given = _choices.positive("n_views", n_views), (mean, std)
        self._dataset = dataset
        self._views: tuple[Transform, ...] = ()
        if views is not None:
            whole = sample_transform is not None
            _views.check(views, transform=transform, n_views=n_views, on_bad=on_bad, per_sample=whole)
            self._views, transform = tuple(views), views[0]
        self._transform = transform if transform is not None else AsStored()
        if not isinstance(self._transform, Transform):
            raise ArgumentError(
                f"transform={transform!r}: give stoker.Train(224), Eval, PadCrop, Resize, Boxes or AsStored; "
                "stoker.from_torchvision(compose) translates torchvision's"
            )
        for shown in self._views or (self._transform,):
            if isinstance(shown, Boxes):
                shown._check(int(lib.stk_dataset_len(dataset._c())))
        if isinstance(self._transform, Translated):
            t = self._transform
            device = "cpu" if device is None else device
            type_name, norm = type_name or t.dtype, t.norm
            mean, std = mean if mean is not None else t.mean, std if std is not None else t.std
            options["on_batch"] = run_after(t.rest, on_batch) if t.rest else on_batch
        self._options = options
        self._order = _choices.order(options, order, self._transform)
        self._batch_size = _choices.batch_size(batch_size, dataset, options, repeats)
        self._rank, self._world = _distributed.rank_and_world(options["rank"], options["world"])
        self._device = device
        resident_bytes = _choices.for_a_device(device, decode, resident, resident_bytes)
        self._gpu: dict[str, Any] = {"decode": decode, "resident": resident, "resident_bytes": resident_bytes}
        if page_window is not None and self._order != "page":
            raise ArgumentError(f'page_window={page_window!r} has an effect under order="page" only')
        if dataset._begins_with_array():
            _choices.refuse_for_arrays(
                dtype=type_name, layout=layout, channels_last=channels_last, mean=mean, std=std
            )
            self._dtype, self._layout, self._permute = "uint8", "NHWC", False  # as they are, says that to C
        else:
            self._dtype = type_name or "uint8"
            channels_last = _choices.flag("channels_last", channels_last)
            self._layout, self._permute = _choices.layout(layout, channels_last, self._device, self._dtype)
            _choices.normalisation(*given, self._dtype)
        self._mean, self._std = mean, std
        self._norm_v2 = constant({"v1": 0, "v2": 1}, "norm", norm) == 1
        self._on_bad = on_bad
        self._columns = _choices.columns(columns)
        self._repeats, self._n_views = int(repeats), n_views
        _views.check_steps(self._views or (self._transform,) * n_views)
        self._page_window, self._read_ahead_bytes = page_window, read_ahead_bytes
        self._resized = False
        self._generation = 0
        self._batch: Optional[BatchInfo] = None
        self._on_batch: Optional[Callable[[Any], Any]] = options["on_batch"]
        self._sample_transform = sample_transform
        self._per_sample: Optional[PerSample] = None
        if sample_transform is not None:
            self._check_sample_transform()
        self._ahead: Optional[Ahead] = None
        self._ahead_state: Optional[str] = None  # after the last batch that the loop got
        self._open()
        self._epoch = 0
        self._begun = False  # True between an epoch's first batch and its end

    # The loop

    def __iter__(self) -> LoaderIterator:
        """The next epoch; after :meth:`load_state_dict`, the rest of the epoch that was saved."""
        self._core.check()
        self._dataset._tell_staging(2)
        self._stop_ahead()
        if self._resized:
            self._reopen(self._epoch + 1 if self._begun else self._epoch)
        elif self._begun and not self._take_end():
            self._set_epoch(self._epoch + 1)
        self._core.timeout_s = float(self._options["timeout"])
        self._generation += 1
        if self._on_batch is not None:
            self._ahead_state = self._core.state()
            self._ahead = Ahead(Producer(self._core, self._convert, self._on_batch))
        return LoaderIterator(self, self._generation)

    def __len__(self) -> int:
        """Batches an epoch on this rank."""
        return len(self._core)

    def _next(self) -> Any:
        if self._ahead is not None:
            return self._next_ahead(self._ahead)
        slot = self._core.next()
        if slot is None:
            self._end_epoch()
        self._begun = True
        try:
            out, self._batch = self._convert(slot)
            self._warn(4)
        except Exception:
            raise
        except BaseException:  # Ctrl-C: the loop has not got the batch
            self._core.keep(slot)
            raise
        return out

    def _take_end(self) -> bool:
        """For trainers that count batches and never ask for the one after the last: takes the epoch's end, so
        that what was prepared of the next epoch stays."""
        if self._on_batch is not None or self._batch is None or self._batch.number + 1 != len(self):
            return False
        if self._core.next() is not None:
            raise AssertionError("a batch after the last one of an epoch")
        self._epoch, self._begun = self._epoch + 1, False
        return True

    def _next_ahead(self, ahead: Ahead) -> Any:
        self._core.check()
        item = ahead.get()
        self._warn(5)
        if item.end:
            self._stop_ahead()
            self._end_epoch()
        self._begun = True
        self._ahead_state = item.state
        if item.exception is not None:
            raise item.exception
        out, self._batch = item.value
        return out

    def _end_epoch(self) -> NoReturn:
        self._epoch += 1
        self._begun = False
        raise StopIteration

    def _stop_ahead(self) -> None:
        if self._ahead is not None:
            self._ahead.stop()
            self._ahead = self._ahead_state = None

    def _warn(self, stacklevel: int) -> None:
        """Passes on what C had to say, as warnings."""
        if self._core.log_waiting():
            for line in self._core.log_lines():
                if self._ahead is None or not line.startswith(_HOLDS_ALL):
                    warnings.warn(line, stacklevel=stacklevel)

    # Epochs and state

    @property
    def epoch(self) -> int:
        """The epoch of the last delivered batch, or the one that the next ``iter()`` gives."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Makes the next ``iter()`` give this epoch from its beginning.

        Nothing happens when that epoch is next anyway, also not to a state just loaded: the usual
        ``loader.set_epoch(epoch)`` at the top of a training loop keeps a resumed position.
        """
        epoch = whole("epoch", epoch, 0, 2**64 - 1, "give a whole number, 0 or more")
        self._core.check()
        if self._begun or epoch != self._epoch:
            self._set_epoch(epoch)

    def _set_epoch(self, epoch: int) -> None:
        self._stop_ahead()
        self._core.set_epoch(epoch)
        self._generation += 1
        self._epoch, self._begun = epoch, False

    def state_dict(self) -> dict[str, Any]:
        """The position after the last delivered batch, as plain JSON data; a few hundred bytes."""
        state = json.loads(self._ahead_state or self._core.state())
        assert isinstance(state, dict)
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues at a saved position, also one saved with another number of ranks or batch size.

        The next ``iter()`` gives the rest of the saved epoch (nothing, when it had been delivered whole but
        for its end). Raises ArgumentError for a state of another data set, order or seed.
        """
        if not isinstance(state, Mapping) or "epoch" not in state:
            raise ArgumentError(f"state={state!r:.60}: give what Loader.state_dict() returned")
        self._stop_ahead()
        self._core.restore(json.dumps(dict(state)))
        self._generation += 1
        self._epoch, self._begun = int(state["epoch"]), False

    def stats(self) -> dict[str, Union[int, float, str, bool]]:
        """Counters since the Loader was made. Times in seconds: ``read_s``, ``decode_s`` and
        ``worker_wait_s`` are sums over threads, ``consumer_wait_s`` is what your loop waited. ``decode``: which
        side decodes, and why. On a GPU also what was uploaded and resident. With sample_transform=
        ``sample_transform_s``, a sum over its threads."""
        stats = self._core.stats()
        stats.setdefault("decode", stats["decoder"])
        if self._per_sample is not None:
            stats.update(self._per_sample.stats.as_dict())
            stats["bad_samples"] = int(stats["bad_samples"]) + self._per_sample.stats.bad
        return stats

    # What it is made of

    @property
    def dataset(self) -> Dataset:
        """The data set."""
        return self._dataset

    @property
    def batch_size(self) -> int:
        """Samples a batch on this rank."""
        return self._batch_size

    @property
    def drop_last(self) -> bool:
        """True under last="drop"."""
        return bool(self._options["last"] == "drop")

    @property
    def sampler(self) -> Sampler:
        """Something with ``set_epoch`` and ``len``, for trainers that look for a sampler."""
        return Sampler(self)

    @property
    def batch_sampler(self) -> None:
        """None: batches are made in C. Lightning looks for it beside ``sampler``."""
        return None

    @property
    def transform(self) -> Transform:
        """The transform in use; under views= the first one."""
        return self._transform

    @property
    def views(self) -> tuple[Transform, ...]:
        """The transforms given as views=; empty without."""
        return self._views

    @property
    def rank(self) -> int:
        """This process's rank."""
        return self._rank

    @property
    def world(self) -> int:
        """Number of ranks."""
        return self._world

    @property
    def batch(self) -> Optional[BatchInfo]:
        """Ids, statuses and the number of real rows of the last delivered batch."""
        return self._batch

    @property
    def size(self) -> Optional[tuple[int, int]]:
        """Output (height, width). Assigning one (or one number) takes effect at the next ``iter()``."""
        return self._transform.size

    @size.setter
    def size(self, size: Size) -> None:
        if self._views:
            raise ArgumentError("views= have sizes of their own: make another Loader for others")
        transform = self._transform.with_size(size)
        self._resized = self._resized or transform.size != self._transform.size
        self._transform = transform

    def __repr__(self) -> str:
        part = f", rank {self._rank} of {self._world}" if self._world > 1 else ""
        return f"<stoker.Loader over {self._dataset!r}: batches of {self._batch_size}{part}>"

    # Life

    def close(self) -> None:
        """Stops the threads. Batches that you keep stay valid. Happens by itself at the end."""
        self._stop_ahead()
        if self._per_sample is not None:
            self._per_sample.close()
        self._core.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Loader has threads and cannot be pickled or copied; make it where it is used")

    def _open(self) -> None:
        groups = _views.groups(self._views) if self._views else (_views.Group(self._transform, 0, self._n_views),)
        masks = self._mask_names()
        _follow.check(self._dataset, masks, self._order, self._on_bad)
        self._core: Core
        self._convert: Callable[[Any], tuple[Any, BatchInfo]]
        self._finalizers: list[Any] = []
        try:
            opened = [self._open_group(group) for group in groups]
            self._core, self._convert, raw, keep = opened[0]
            if self._views:
                self._core = _views.ViewsCore([core for core, *_ in opened])
                converts, sizes = [convert for _, convert, *_ in opened], [group.n for group in groups]
                self._convert = _views.ViewsConverter(converts, sizes, self._on_bad == "skip")
            self._follow(raw, keep, masks)
            if self._sample_transform is not None:
                self._add_per_sample(raw)
            if self._n_views > 1:
                self._convert = _views.OneRowASample(self._convert, self._n_views)
        except BaseException:
            self._finalize()
            raise

    def _open_group(
        self, group: _views.Group
    ) -> tuple[Core, Callable[[Any], tuple[Any, BatchInfo]], Any, tuple[Any, ...]]:
        """The core of some views, what converts its batches, its C options and what they point to."""
        raw = ffi.new("stk_loader_options *")
        lib.stk_loader_options_init(raw)
        keep = self._fill(raw, group)
        dataset_c = self._dataset._c()
        first = group.first == 0  # the others bring images only
        described = self._described() if first else []
        form = Form(
            dtype=self._dtype,
            layout=self._layout,
            permute=self._permute,
            device=self._device,
            has_labels=first and self._dataset.has_labels,
            as_dict=first and self._columns is not None,
            numeric=tuple(c for c in described if c.dtype is not None and c.n_items > 0),
            others=tuple(c for c in described if c.dtype is None or c.n_items == 0),
            skip_bad=self._on_bad == "skip",
            n_views=group.n,
            mix_classes=self._mix_classes(),
        )
        core: Core
        convert: Callable[[Any], tuple[Any, BatchInfo]]
        opened = self._open_device(dataset_c, raw, keep, form) if self._on_device() else None
        if opened is not None:
            core, convert = opened
        else:
            kind = _picks_converter() if self._gets_whole_images() else Converter
            raw.gather_picks = self._gets_whole_images()
            if self._sample_transform is not None:  # it gets NumPy arrays, height x width x channels
                form = form._replace(device=None, layout="NHWC", permute=False)
                raw.layout = LAYOUTS["NHWC"]
            convert = kind(dataset_c, form)
            core = HostCore(dataset_c, raw, keep)
        self._finalizers.append(weakref.finalize(self, core.close))
        return core, convert, raw, keep

    def _finalize(self) -> None:
        """Closes what _open() opened, whether or not all of it became one core. What it holds may go then."""
        for finalizer in self._finalizers:
            finalizer()

    def _on_device(self) -> bool:
        on_device = self._device is not None and self._device.split(":")[0] in ("cuda", "dummy")
        return on_device and self._sample_transform is None

    def _open_device(
        self, dataset_c: Any, raw: Any, keep: tuple[Any, ...], form: Form
    ) -> Optional[tuple[Core, Callable[[Any], tuple[Any, BatchInfo]]]]:
        """An uploader to the GPU; None, with a warning, where torch must copy instead."""
        from stoker._device_batch import DeviceConverter

        assert self._device is not None
        kind, _, number = self._device.partition(":")
        torch = _torch_or_none() if kind == "cuda" else None
        index = int(number) if number else (torch.cuda.current_device() if torch is not None else 0)
        gpu = self._gpu
        options, more = new_device_options(
            backend="dummy" if kind == "dummy" else None,
            device=index,
            decode=constant(DECODES, "decode", gpu["decode"]),
            resident=constant(RESIDENTS, "resident", gpu["resident"]),
            resident_bytes=gpu["resident_bytes"],
            n_ahead=int(self._options["prefetch"] or 0),
        )

        def stream() -> int:
            return int(torch.cuda.current_stream(index).cuda_stream) if torch is not None else 0

        try:
            core = DeviceCore(dataset_c, raw, (*keep, options, *more), options, stream, torch)
        except UnsupportedError as error:
            if gpu["decode"] == "gpu" or torch is None:
                raise
            warnings.warn(f"{error}; images are decoded on the CPU and copied by torch", stacklevel=4)
            return None
        return core, DeviceConverter(core, form, torch, on_host=kind == "dummy")

    def _reopen(self, epoch: int) -> None:
        """A new C loader with the present transform, at the beginning of epoch."""
        self._finalize()
        self._open()
        self._resized = False
        self._set_epoch(epoch)

    def _check_sample_transform(self) -> None:
        from stoker import _per_sample

        _per_sample.check(
            self._transform,
            masks=self._mask_names(),
            on_bad=self._on_bad,
            n_views=self._n_views,
            dtype=self._dtype,
            decode=str(self._gpu["decode"]),
            resident=str(self._gpu["resident"]),
        )
        if self._on_batch is None:
            self._on_batch = as_it_is  # makes a thread work ahead of the loop

    def _gets_whole_images(self) -> bool:
        return self._sample_transform is not None and isinstance(self._transform, AsStored)

    def _add_per_sample(self, raw: Any) -> None:
        """Sends images through the user's callable."""
        from stoker._per_sample import PerSample

        assert self._sample_transform is not None
        d = self._dataset
        whole = (d._whole(), self._transform, raw) if self._gets_whole_images() else None
        threads = self._options["num_threads"] or int(lib.stk_cpu_usable_threads())
        per_sample = PerSample(
            self._convert,
            self._sample_transform,
            seed=_choices.seed(self._options["seed"]),
            threads=threads,
            n_views=self._n_views,
            device=self._device,
            on_bad=self._on_bad,
            whole=whole,
        )
        if self._per_sample is not None:  # opened anew for another size
            per_sample.stats = self._per_sample.stats
            self._per_sample.close()
        self._per_sample = self._convert = per_sample

    def _described(self) -> list[Any]:
        masks = self._mask_names()
        return [self._dataset._column(name) for name in self._columns or () if name not in masks]

    def _mask_names(self) -> list[str]:
        if self._columns is None:
            return []
        names = self._dataset._names_in_metadata("masks")
        return [name for name in self._columns if name in names]

    def _follow(self, raw: Any, keep: tuple[Any, ...], masks: list[str]) -> None:
        """Lets masks and boxes go along with the images."""
        boxes = [name for name in self._columns or () if name in self._dataset.boxes]
        if self._views and (masks or boxes):
            raise ArgumentError(f"{(*masks, *boxes)[0]!r} follows one crop: it does not go with views=")
        for name in (*masks, *boxes):
            self._refuse_moved(name)
        if boxes and isinstance(self._core, DeviceCore) and (self._repeats > 1 or self._order == "weighted"):
            raise ArgumentError(f"boxes ({boxes[0]!r}) with repeats= or weights= need batches made on the CPU")
        if masks:
            cores: dict[str, Core] = {name: self._mask_core(raw, keep, name) for name in masks}
            ids = {name: self._dataset.masks[name].id for name in masks}
            self._core = CoresInStep(self._core, cores, ids)
            self._convert = _follow.MaskConverter(self._convert, self._mask_to_device, self._n_views)
        if boxes:
            self._convert = _follow.BoxConverter(
                self._convert, self._dataset._c(), (raw, keep), boxes, self._n_views
            )

    def _mix_classes(self) -> int:
        """Columns of the soft labels that a mixing transform needs; 0 for one that does not mix."""
        mix = _plain_transform(self._transform).mix
        if not mix:
            return 0
        if not self._dataset.has_labels:
            raise ArgumentError(f"{mix!r}: {self._dataset.filename} has no labels to mix")
        classes = mix.num_classes or len(self._dataset.classes or ())
        if classes == 0:
            raise ArgumentError(
                "mixing needs the number of classes, which the data set does not tell: give num_classes="
            )
        return classes

    def _refuse_moved(self, name: str) -> None:
        """Masks and boxes go along with crop and flip only."""
        transform = _plain_transform(self._transform)
        step = next((s for s in transform.steps if s._moves), None)
        if step is not None or transform.mix:
            raise ArgumentError(
                f"{name!r} follows the crop and flip of its image, but cannot follow {step or transform.mix!r}"
            )

    def _mask_core(self, images: Any, keep: tuple[Any, ...], name: str) -> HostCore:
        """A core for one mask: the images' options but for the filter and what pixels become."""
        masks = self._dataset.masks[name]
        raw = ffi.new("stk_loader_options *")
        ffi.memmove(raw, images, ffi.sizeof("stk_loader_options"))
        raw.transform.filter, raw.transform.color = lib.STK_FILTER_NEAREST, lib.STK_COLOR_RGB
        raw.transform.mode = lib.STK_MODE_L if masks.info(0).channels == 1 else lib.STK_MODE_RGB
        raw.dtype, raw.layout = DTYPES["uint8"], LAYOUTS["NHWC"]
        raw.columns, raw.n_columns = ffi.NULL, 0
        raw.transform.n_steps = 0  # colours are the images' alone
        core = HostCore(masks._c(), raw, keep)
        self._finalizers.append(weakref.finalize(self, core.close))
        return core

    def _mask_to_device(self, array: Any) -> Any:
        if self._device is None or (self._on_device() and _torch_or_none() is None):
            return array
        tensor = import_torch(self._device).from_numpy(array)
        return tensor if self._device == "cpu" or self._device.startswith("dummy") else tensor.to(self._device)

    def _fill(self, raw: Any, group: _views.Group) -> tuple[Any, ...]:
        """Writes our options for some views into an stk_loader_options; returns what C reads later."""
        options = self._options
        raw.batch_size = self._batch_size
        threads = options["num_threads"]
        raw.n_threads = (
            _distributed.default_threads(self._world)
            if threads is None
            else _choices.positive("num_threads", threads)
        )
        keep = group.transform._fill(ffi.addressof(raw, "transform"), self._dataset.mode)
        raw.dtype = constant(DTYPES, "dtype", self._dtype)
        raw.layout = LAYOUTS[self._layout]
        for name, values in (("mean", self._mean), ("std", self._std)):
            if values is not None:
                setattr(raw, name, _choices.three(name, values))
        raw.norm_v2 = self._norm_v2
        raw.order = ORDERS[self._order]
        raw.seed = _choices.seed(options["seed"])  # a sampler may have brought another
        raw.rank, raw.world = self._rank, self._world
        raw.last = constant(LASTS, "last", options["last"])
        raw.on_bad = constant(ON_BADS, "on_bad", self._on_bad)
        ids = self._dataset._ids
        if ids is not None:
            keep += (ids,)
            raw.indices, raw.n_indices = ffi.from_buffer("uint64_t[]", ids), len(ids)
        if self._order == "weighted":
            weights = _choices.weights(options["weights"], self._dataset)
            keep += (weights,)
            raw.weights = ffi.from_buffer("double[]", weights)
            raw.n_draws = int(options["n_draws"] or 0)
        raw.repeats = _choices.positive("repeats", self._repeats)
        raw.n_views, raw.first_view = _choices.positive("n_views", group.n), group.first
        if self._page_window is not None:
            raw.page_window = _choices.positive("page_window", self._page_window)
        if options["prefetch"] is not None:
            raw.n_ahead = _choices.positive("prefetch", options["prefetch"])
        if self._read_ahead_bytes is not None:
            raw.read_ahead_bytes = _choices.positive("read_ahead_bytes", self._read_ahead_bytes)
        numeric = [c.number for c in self._described() if c.dtype is not None and c.n_items > 0]
        if numeric and group.first == 0:
            numbers = ffi.new("uint32_t[]", numeric)
            keep += (numbers,)
            raw.columns, raw.n_columns = numbers, len(numeric)
        return keep


class LoaderIterator:
    """One epoch of a :class:`Loader`. A newer ``iter()`` of the same Loader ends it."""

    def __init__(self, loader: Loader, generation: int) -> None:
        self._loader = loader
        self._generation = generation
        self._done = False

    def __iter__(self) -> LoaderIterator:
        return self

    def __next__(self) -> Any:
        if self._done:
            raise StopIteration
        if self._generation != self._loader._generation:
            raise StateError(
                "this iterator is no longer current: its Loader was given a newer iter(), set_epoch() or state"
            )
        try:
            return self._loader._next()
        except StopIteration:
            self._done = True
            raise

    def __len__(self) -> int:
        return len(self._loader)


class Sampler:
    """Stands where a torch sampler stood: ``set_epoch`` and ``len`` of its Loader."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def set_epoch(self, epoch: int) -> None:
        """:meth:`Loader.set_epoch`."""
        self._loader.set_epoch(epoch)

    def __len__(self) -> int:
        """Samples in the data set or selection."""
        return len(self._loader.dataset)


def _plain_transform(transform: Transform) -> Transform:
    return transform.transform if isinstance(transform, Translated) else transform


def _picks_converter() -> type[Converter]:
    from stoker._per_sample import PicksConverter

    return PicksConverter


def _torch_or_none() -> Any:
    """torch where it can use a GPU."""
    try:
        torch = import_torch("cuda")
    except ArgumentError:
        return None
    return torch if torch.cuda.is_available() else None
