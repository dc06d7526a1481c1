# SPDX-License-Identifier: Apache-2.0
"""Packing sample by sample, out of any iterable."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from stoker import _column_spec, _from_dataset, _image_size, _samples, _unread
from stoker._dataset import Dataset
from stoker._errors import ArgumentError, NotFoundError, StateError, call
from stoker._map_cache import MapCache
from stoker._native import ffi, lib
from stoker._pack import PackIssue, PackProgress, PackReport, _bytes, make_report, new_options, watch

if TYPE_CHECKING:
    import sys

    from stoker._dataset import PathLike

    if sys.version_info >= (3, 11):
        from typing import Self
    else:
        from typing_extensions import Self

_RESERVED = ("image", "label", "path", "id", "n_valid")


class Writer:
    """Packs samples from memory, a database, a generator or a torch Dataset into a data set.

    ::

        with stoker.Writer("out.stk", classes=["cat", "dog"], columns={"age": "int32"}) as writer:
            for jpeg, name, age in rows:
                writer.add(jpeg, name, age=age)
        print(writer.report)

    The output appears, whole, at the end of the ``with`` block; after an exception in it nothing is left. Of the
    same image files in the same order the bytes are those of :func:`stoker.pack`. One thread at a time may use a
    Writer; encoding runs on many.

    Args:
        path: ``x.stk``, ``folder/`` (shards) or ``x.h5``.
        columns: types by name: "bool", "int8" ... "float64", "string", "bytes", "float32[4]" (4 numbers a row),
            "float32[]" (any number), "boxes" (n x 4 float32: x1, y1, x2, y2 in pixels, which follow the crop when
            a Loader is asked for them); with "?" behind, None is allowed.
        classes: class names in label order; labels may then be names.
        masks: names of images beside the image, of the same size, that follow its crop with the nearest filter
            (segmentation). Each is a data set of its own beside path: ``x.NAME.stk``.
        as_array: store uint8 arrays of image shape as arrays too, not as pictures.
        map: called with each sample, a dict; what it returns is packed.
        version: of map, any text: results are kept in map_cache and found again, by the sample's content and this
            text, by the next Writer. Change it when map changes. None: nothing is kept.
        map_cache: that file (SQLite); default: path with ".mapcache" behind.
        map_cache_max: its size in bytes, or "20GiB"; at the end results go that were not used for longest.
        metadata: JSON data that joins ``ds.metadata``.
        on_bad, on_damaged: as in :func:`stoker.pack`, but "fail" by default: every sample added is in the output.

    The rest as in :func:`stoker.pack`.

    Raises ExistsError, ArgumentError; ImageError or DamagedError for a sample that cannot be stored: samples are
    encoded some hundreds at a time, so this may come from a later add() or the end of the block. The text names
    it.
    """

    def __init__(
        self,
        path: PathLike,
        columns: Optional[Mapping[str, str]] = None,
        *,
        classes: Optional[Sequence[str]] = None,
        masks: Sequence[str] = (),
        as_array: bool = False,
        map: Optional[Callable[[dict[str, Any]], Any]] = None,
        version: Optional[str] = None,
        map_cache: Optional[PathLike] = None,
        map_cache_max: Union[int, str] = "32GiB",
        metadata: Optional[Mapping[str, Any]] = None,
        format: Optional[str] = None,
        encode: str = "auto",
        check: str = "decode",
        exif: str = "apply",
        mode: str = "RGB",
        resize: Optional[str] = None,
        resample: str = "bicubic",
        quality: int = 90,
        chroma: str = "420",
        tile: int = 32,
        on_damaged: str = "fail",
        on_bad: str = "fail",
        force: bool = False,
        cache: Optional[PathLike] = None,
        shard_size: Union[int, str, None] = None,
        chunk_images: Optional[int] = None,
        hdf5_filter: Optional[str] = None,
        max_pixels: Optional[int] = None,
        max_file_bytes: Optional[int] = None,
        threads: Optional[int] = None,
        progress: Union[bool, Callable[[PackProgress], Any], None] = None,
        on_issue: Optional[Callable[[PackIssue], Any]] = None,
    ) -> None:
        self._path = os.fsdecode(path)
        self._specs = [_column_spec.parse(name, text) for name, text in (columns or {}).items()]
        self._classes = {str(name): i for i, name in enumerate(classes or ())}
        self._as_array = as_array
        self._report: Optional[PackReport] = None
        self._closed = False
        self._pid = os.getpid()
        self._at_work = False  # C is
        self._c: Any = None
        self._check_names(masks, classes)
        _check_masks(masks, self._specs, resize=resize, on_bad=on_bad, on_damaged=on_damaged, as_array=as_array)
        self._map = _mapping(map, version, map_cache, map_cache_max, self._path)
        more: dict[str, Any] = dict(metadata or {})
        if masks:
            more["masks"] = list(masks)
        if any(spec.boxes for spec in self._specs):
            more["boxes"] = [spec.name for spec in self._specs if spec.boxes]
        options, self._keep = new_options(
            format=format,
            encode=encode,
            check=check,
            exif=exif,
            mode=mode,
            resize=resize,
            resample=resample,
            quality=quality,
            chroma=chroma,
            tile=tile,
            on_damaged=on_damaged,
            on_bad=on_bad,
            force=force,
            cache=cache,
            shard_size=shard_size,
            chunk_images=chunk_images,
            hdf5_filter=hdf5_filter,
            max_pixels=max_pixels,
            max_file_bytes=max_file_bytes,
            threads=threads,
        )
        self._issues, self._callbacks, self._line = watch(options, progress, on_issue)
        self._options, self._metadata = options, more
        self._mode, self._exif, self._on_bad = mode, exif, on_bad
        self._unread: list[PackIssue] = []
        self._open(list(classes or ()))
        self._masks: dict[str, Writer] = {}
        try:
            for name in masks:
                self._masks[name] = Writer(
                    mask_path(self._path, name), encode="keep", force=force, shard_size=shard_size, threads=threads
                )
        except BaseException:
            self.close()
            raise

    def _check_names(self, masks: Sequence[str], classes: Optional[Sequence[str]]) -> None:
        names = [spec.name for spec in self._specs] + list(masks)
        for name in names:
            if name in _RESERVED or names.count(name) > 1:
                taken = "is taken" if name in _RESERVED else "is given twice"
                raise ArgumentError(f"columns, masks: the name {name!r} {taken}")
        if len(self._classes) != len(classes or ()):
            raise ArgumentError("classes: a name is given twice")

    def _open(self, classes: list[str]) -> None:
        keep: list[Any] = []
        metadata = self._metadata
        options = ffi.new("stk_writer_options *")
        lib.stk_writer_options_init(options)
        options.pack = self._options
        raw = ffi.new("stk_column[]", max(1, len(self._specs)))
        for i, spec in enumerate(self._specs):
            spec.fill(raw[i], keep)
        options.columns, options.n_columns = raw, len(self._specs)
        names = [ffi.new("char[]", name.encode("utf-8", "surrogateescape")) for name in classes]
        pointers = ffi.new("char *[]", names)
        options.class_names, options.n_classes = pointers, len(names)
        text = ffi.new("char[]", json.dumps(metadata, sort_keys=True).encode()) if metadata else ffi.NULL
        options.metadata = text
        out = ffi.new("stk_writer **")
        call(lib.stk_writer_open, os.fsencode(self._path), options, out)
        close, pid = lib.stk_py_close_writer, os.getpid()  # module globals are gone at interpreter exit
        self._c = ffi.gc(out[0], lambda c: close(c, pid))

    # Adding

    def add(self, image: Any, label: Any = None, *, path: Any = None, **columns: Any) -> None:
        """Adds one sample.

        image: a file's bytes (JPEG, PNG ...), a path to one, a PIL image, a uint8 array of shape (height, width),
        or with 1 or 3 channels behind (torch tensors: before); arrays of other types and shapes are stored as
        arrays. label: a number from 0, a class name, or None. path: a name for the sample, ``ds.path(i)``; its
        number by default. columns: one value a column, and one image a mask.

        Raises ArgumentError for a sample that does not fit, NotFoundError or IOError for a path that cannot be
        read (on_bad="skip": it is left out); the Writer can go on with the next one.
        """
        self._check_open()
        sample = {"image": image, "label": label, "path": path, **columns}
        try:
            if self._map is not None:
                sample = _samples.as_dict(
                    self._map({k: v for k, v in sample.items() if v is not None or k == "image"})
                )
            self._add(sample)
        except _unread.Unread as unread:
            self._leave_out(unread, path)

    def extend(self, samples: Iterable[Any]) -> None:
        """Adds all samples of an iterable or of a torch Dataset: (image, label) pairs, dicts with "image",
        "label", "path" and columns by name, or bare images.

        Of a :class:`stoker.Dataset` (or a selection) it takes labels by class name, paths, columns and masks,
        and of each image the file that is stored, or raw pixels; with map= decoded pixels. Without classes= and
        samples the Writer takes its classes too. Raises ArgumentError for a class that the Writer has not, and
        for columns that are not declared. What iterating over a Dataset gives are samples whose labels are
        numbers."""
        if isinstance(samples, Dataset):
            self._check_open()
            self._take_classes(samples)
            columns = None if self._map is not None else [*(spec.name for spec in self._specs), *self._masks]
            samples = _from_dataset.samples(
                samples, self._classes, columns=columns, mode=self._mode, exif=self._exif
            )
        for sample in _samples.each(samples):
            parts = _samples.as_dict(sample)
            self.add(parts.pop("image"), parts.pop("label", None), path=parts.pop("path", None), **parts)

    def _leave_out(self, unread: _unread.Unread, path: Any) -> None:
        if self._on_bad != "skip":
            raise unread.error() from None
        name = _samples.default_path(unread.path, path)
        issue = unread.issue(os.fsdecode(name or b""))
        self._unread.append(issue)
        self._callbacks.on_issue(lambda: issue)

    def _take_classes(self, dataset: Dataset) -> None:
        """Begins anew with the data set's classes, where none were given."""
        names = dataset.classes
        if not names or self._classes:
            return
        if len(self) > 0:
            raise ArgumentError(
                f"extend({dataset.filename!r}): the classes of a data set are taken over before the first sample "
                "only; give the Writer classes="
            )
        try:
            ffi.release(self._c)
            self._c = None
            self._open(names)
        except BaseException:
            self.close()
            raise
        self._classes = {name: i for i, name in enumerate(names)}

    def _add(self, sample: dict[str, Any]) -> None:
        image = sample.pop("image")
        label = self._label(sample.pop("label", None))
        path = _samples.default_path(image, sample.pop("path", None))
        masks = {}
        for name in self._masks:
            if sample.get(name) is None:
                raise ArgumentError(f"sample {len(self)}: mask {name!r} is missing")
            masks[name] = _samples.mask_file(name, sample.pop(name))
        item = _samples.item(image, as_array=self._as_array)
        for name, mask in masks.items():
            self._check_mask(item, name, mask)
        values = self._values(sample)
        self._add_item(item, label, path, values)
        for name, mask in masks.items():
            self._masks[name]._add_item(_samples.Item(lib.STK_ITEM_FILE, mask), -1, path, [])

    def _check_mask(self, image: _samples.Item, name: str, mask: bytes) -> None:
        """A mask covers its image pixel by pixel. Formats whose head is not looked at pass."""
        turns = self._exif != "ignore"
        if image.kind == lib.STK_ITEM_PIXELS:
            allowed: tuple[_image_size.Size, ...] = ((image.shape[0], image.shape[1]),)
        else:
            allowed = _image_size.sizes(image.data, may_turn=turns) if image.kind == lib.STK_ITEM_FILE else ()
        has = _image_size.sizes(mask, may_turn=True)
        if allowed and has and set(allowed).isdisjoint(has):
            (height, width), (mask_height, mask_width) = allowed[0], has[0]
            raise ArgumentError(
                f"sample {len(self)}: mask {name!r} is {mask_width}x{mask_height}, its image {width}x{height} "
                "(width x height); they must have one size"
            )

    def _label(self, label: Any) -> int:
        if label is None:
            return -1
        if isinstance(label, str):
            if label not in self._classes:
                known = ", ".join(map(repr, list(self._classes)[:8])) or "none; give classes="
                raise ArgumentError(f"label={label!r}: classes are {known}")
            return self._classes[label]
        try:
            number = int(label)
        except (TypeError, ValueError):
            number = -1
        if number != label or number < 0:
            raise ArgumentError(f"label={label!r}: give a number from 0, a class name, or None")
        return number

    def _values(self, sample: dict[str, Any]) -> list[Optional[tuple[int, bytes]]]:
        values = [spec.cell(sample.pop(spec.name, None)) for spec in self._specs]
        if sample:
            unknown = ", ".join(map(repr, sample))
            raise ArgumentError(f'no column {unknown}; declare it: columns={{{unknown}: "float32"}}, say')
        return values

    def _add_item(
        self, item: _samples.Item, label: int, path: Optional[bytes], values: list[Optional[tuple[int, bytes]]]
    ) -> None:
        keep: list[Any] = [ffi.from_buffer(item.data)]
        raw = ffi.new("stk_item *")
        raw.kind, raw.data, raw.n_bytes, raw.label = item.kind, keep[0], len(item.data), label
        if item.kind == lib.STK_ITEM_PIXELS:
            raw.height, raw.width, raw.channels = item.shape
        elif item.kind == lib.STK_ITEM_ARRAY:
            keep.append(ffi.new("uint64_t[]", list(item.shape) or 1))
            raw.dtype, raw.n_dims, raw.shape = item.dtype, len(item.shape), keep[-1]
        if path is not None:
            keep.append(ffi.new("char[]", path))
            raw.path = keep[-1]
        cells = ffi.new("stk_value[]", max(1, len(values)))
        for cell, value in zip(cells, values):
            cell.is_null = value is None
            if value is not None:
                keep.append(ffi.from_buffer(value[1]))
                cell.n_items, cell.data = value[0], keep[-1]
        raw.values = cells
        self._call(lib.stk_writer_add, raw)

    def _call(self, function: Callable[..., int], *args: Any) -> None:
        self._check_idle()
        try:
            self._at_work = True
            call(function, self._c, *args)
        except Exception:
            self._callbacks.raise_kept()
            raise
        finally:
            self._at_work = False
        self._callbacks.raise_kept()

    def _check_idle(self) -> None:
        """C is not to be entered, or closed, while it is at work: by another thread, or below a callback."""
        if self._at_work:
            raise StateError(
                f"{self._path}: this Writer is at work in another thread, or calls you; a callback returns False "
                "to cancel"
            )

    # The end

    def __len__(self) -> int:
        """Samples added so far."""
        self._check_open()
        return int(lib.stk_writer_len(self._c))

    @property
    def report(self) -> PackReport:
        """What was written, once the Writer has finished."""
        if self._report is None:
            raise StateError(f"{self._path}: nothing is written before the end of the with block, or finish()")
        return self._report

    @property
    def map_hits(self) -> int:
        """Samples whose map= result was found in the cache."""
        return self._map.hits if isinstance(self._map, MapCache) else 0

    def finish(self) -> PackReport:
        """Encodes what waits and puts the output in place. The end of the ``with`` block does it."""
        self._check_open()
        placed: list[Writer] = []
        try:
            for mask in self._masks.values():
                mask.finish()
                placed.append(mask)
            raw = ffi.new("stk_pack_report *")
            self._call(lib.stk_writer_finish, raw)
        except BaseException:
            for mask in placed:
                _remove(mask._path)
            self.close()
            raise
        self._report = make_report(raw, self._issues)
        self.close()
        self._report = _unread.add_to_report(self._report, self._unread, self._path)
        return self._report

    def close(self) -> None:
        """Ends the Writer; what has not finished is dropped and leaves no trace."""
        if self._closed:
            return
        self._check_idle()
        self._closed = True
        if self._line is not None:
            self._line.close()
        if isinstance(self._map, MapCache):
            self._map.close()
        for mask in self._masks.values():
            mask.close()
        if self._c is not None:
            ffi.release(self._c)
            self._c = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], *exc: object) -> None:
        if kind is None and not self._closed:
            self.finish()
        self.close()

    def __repr__(self) -> str:
        state = "finished" if self._report else "closed" if self._closed else f"{len(self):,} samples so far"
        return f"<stoker.Writer {self._path!r}: {state}>"

    def _check_open(self) -> None:
        if os.getpid() != self._pid:
            raise StateError(
                f"{self._path}: this Writer was made in another process; make one in each, then merge"
            )
        if self._closed:
            raise StateError(f"{self._path}: this Writer has {'finished' if self._report else 'ended'}")


def mask_path(path: str, name: str) -> str:
    """Where the masks called name of the data set at path lie: ``x.stk`` -> ``x.NAME.stk``."""
    if path.endswith("/"):
        return f"{path.rstrip('/')}.{name}/"
    stem, extension = os.path.splitext(path)
    return f"{stem if extension in ('.stk', '.h5', '.hdf5') else path}.{name}.stk"


def _check_masks(
    masks: Sequence[str],
    specs: Sequence[_column_spec.ColumnSpec],
    *,
    resize: Optional[str],
    on_bad: str,
    on_damaged: str,
    as_array: bool,
) -> None:
    """Masks and boxes lie in the image's own pixels, and row i of them belongs to record i."""
    if resize is not None and (masks or any(spec.boxes for spec in specs)):
        raise ArgumentError("resize= would leave masks and boxes at the old size: resize all of them before add()")
    if not masks:
        return
    if isinstance(masks, str):
        raise ArgumentError(f"masks={masks!r}: give a list of names")
    if any("/" in name or not name for name in masks):
        raise ArgumentError(f"masks={masks!r}: names become part of file names")
    if on_bad != "fail" or on_damaged.startswith("skip"):
        raise ArgumentError('masks= goes with on_bad="fail": a sample left out would shift the masks behind it')
    if as_array:
        raise ArgumentError("masks= follow the crops of images; as_array=True stores none")


def _mapping(
    fn: Optional[Callable[[dict[str, Any]], Any]],
    version: Optional[str],
    cache: Optional[PathLike],
    max_size: Union[int, str],
    path: str,
) -> Optional[Callable[[dict[str, Any]], Any]]:
    if fn is None:
        if version is not None or cache is not None:
            raise ArgumentError("version= and map_cache= go with map=")
        return None
    if version is None:
        if cache is not None:
            raise ArgumentError("map_cache= needs version=: results of another map must not be found")
        return fn
    name = os.fsdecode(cache) if cache is not None else path.rstrip("/") + ".mapcache"
    return MapCache(fn, str(version), name, _bytes("map_cache_max", max_size))


def _remove(path: str) -> None:
    """Takes a mask's output away again."""
    for name in (path.rstrip("/"), path.rstrip("/") + ".report.jsonl"):
        if os.path.isdir(name):
            shutil.rmtree(name, ignore_errors=True)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name)


def open_mask(path: str, name: str, records: int, open_dataset: Callable[[str], Any]) -> Any:
    """The data set of the masks called name beside path. NotFoundError; StateError when it is of another size."""
    place = mask_path(path, name)
    try:
        masks = open_dataset(place)
    except NotFoundError as error:
        raise NotFoundError(f"{path}: its masks {name!r} are to lie at {place}; copy both ({error})") from None
    if len(masks) != records:
        raise StateError(
            f"{place}: {len(masks)} masks for the {records} records of {path}; they do not belong together"
        )
    return masks
