# SPDX-License-Identifier: Apache-2.0
"""A packed data set, opened for reading."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Union, overload

from stoker import _columns
from stoker._columns import Column
from stoker._enums import COLORS, FILTERS, IOS, PIXELS, VERIFIES, constant
from stoker._errors import ArgumentError, Error, NotFoundError, StateError, UnsupportedError, call
from stoker._loose import is_loose, open_files
from stoker._memory import buffer_bytes, new_buffer, view
from stoker._native import ffi, lib
from stoker._numbers import reals, single, whole
from stoker._numpy import np
from stoker._option_names import for_python

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from stoker._enums import Color, Filter, Pixels

    if sys.version_info >= (3, 11):
        from typing import Self
    else:
        from typing_extensions import Self

PathLike = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class Sample(NamedTuple):
    """One record: ``image`` is HWC uint8 (an array as it is where the record is one), ``label`` None where there
    is none, ``columns`` by name."""

    image: NDArray[Any]
    label: Optional[int]
    columns: dict[str, Any]


class RecordInfo(NamedTuple):
    """What is known of a record without touching its payload.

    ``width`` and ``height`` are in pixels after turning by ``orientation`` (EXIF 1 ... 8); ``n_bytes`` and
    ``offset`` tell where the payload lies in file number ``shard`` (offset None: nowhere in one piece);
    ``xxh3`` is the payload's XXH3-64.
    """

    label: Optional[int]
    width: int
    height: int
    channels: int
    orientation: int
    encoding: str
    n_bytes: int
    offset: Optional[int]
    xxh3: int
    shard: int


class Staged(NamedTuple):
    """How reading from a staged copy stands.

    ``state``: "off" (not asked for), "copying" (the source is read meanwhile), "whole", "subset" (the rest is
    read from the source), "needless" (no place is faster), "failed". ``bytes``: that the copy in use holds.
    ``text``: its folder, or why there is none.
    """

    state: str
    bytes: int
    text: str


class Dataset:
    """A packed data set: a ``.stk`` file, a folder of shards, or an HDF5 file. Made by :func:`stoker.open`.

    Immutable, and safe to use from any number of threads. Pickling stores the path and opens again. What
    :meth:`select`, :meth:`filter` and slices give is a Dataset too: the same open file, fewer records.
    """

    def __init__(
        self,
        path: PathLike,
        options: Mapping[str, Any],
        handle: Any,
        ids: Optional[NDArray[np.uint64]],
        parts: tuple[Dataset, ...] = (),
    ) -> None:
        self._path = os.fsdecode(path)
        self._options = dict(options)
        self._handle: Any = handle
        self._ids = ids
        self._parts = parts  # of a concatenation
        self._labels: Optional[NDArray[np.int64]] = None
        self._column_table: Optional[dict[str, Column]] = None
        self._class_names: Optional[list[str]] = None
        self._mode: Optional[str] = None
        self._mask_sets: Optional[dict[str, Dataset]] = None
        self._staging_told = False
        self._special: Optional[dict[str, list[str]]] = None  # names in the metadata
        self._n = int(lib.stk_dataset_len(handle)) if ids is None else len(ids)

    # What it is

    def __len__(self) -> int:
        """Number of records."""
        return self._n

    @property
    def filename(self) -> str:
        """The path given to :func:`stoker.open`."""
        return self._path

    @property
    def id(self) -> str:
        """Content identity of the whole data set: 32 hexadecimal digits."""
        return str(ffi.string(lib.stk_dataset_id(self._c())).decode())

    @property
    def ids(self) -> NDArray[np.uint64]:
        """The sample id of each record: its position in the whole data set, before any selection."""
        return np.arange(self._n, dtype=np.uint64) if self._ids is None else self._ids

    @property
    def classes(self) -> list[str]:
        """Class names in label order; empty when labels are plain numbers or absent."""
        if self._class_names is None:
            c = self._c()
            self._class_names = [
                ffi.string(lib.stk_dataset_class_name(c, i)).decode("utf-8", "surrogateescape")
                for i in range(lib.stk_dataset_classes(c))
            ]
        return list(self._class_names)

    @property
    def labels(self) -> Optional[NDArray[np.int64]]:
        """Each record's label, shape (len,), -1 where there is none; None for a data set without labels."""
        if not self.has_labels:
            return None
        if self._labels is None:
            labels = np.empty(self._n, np.int64)
            call(lib.stk_py_labels, self._c(), self._id_pointer(), self._n, ffi.from_buffer("int64_t[]", labels))
            labels.flags.writeable = False
            self._labels = labels
        return self._labels

    @property
    def has_labels(self) -> bool:
        """True when records carry labels."""
        return bool(lib.stk_dataset_has_labels(self._c()))

    @property
    def sizes(self) -> NDArray[np.uint32]:
        """(height, width) of each image in pixels, shape (len, 2)."""
        sizes = np.empty((self._n, 2), np.uint32)
        flat = ffi.from_buffer("uint32_t[]", sizes.reshape(-1))
        call(lib.stk_py_sizes, self._c(), self._id_pointer(), self._n, flat)
        return sizes

    @property
    def columns(self) -> Mapping[str, Column]:
        """Descriptions of the columns by name; ``list(ds.columns)`` are the names. Values: :meth:`column`."""
        if self._column_table is None:
            self._column_table = _columns.describe(self._c())
        return dict(self._column_table)

    @property
    def metadata(self) -> dict[str, Any]:
        """How the data set was made: "version", "encoding", "transform", "exif", "check" ..."""
        text = ffi.string(lib.stk_dataset_metadata(self._c())).decode("utf-8", "surrogateescape")
        metadata = json.loads(text)
        assert isinstance(metadata, dict)
        return metadata

    @property
    def mode(self) -> str:
        """ "RGB", or "L" when packed with mode="L": how many channels images have when nothing else is said."""
        if self._mode is None:
            grey = (
                all(part.mode == "L" for part in self._parts) if self._parts else self.metadata.get("mode") == "L"
            )
            self._mode = "L" if grey else "RGB"
        return self._mode

    @property
    def masks(self) -> Mapping[str, Dataset]:
        """Data sets of the images that go with each record (segmentation masks), by name: see
        :class:`stoker.Writer`. Record i of one belongs to record i here. Raises NotFoundError when one is not
        beside this one any more."""
        if self._mask_sets is None:
            from stoker._writer import open_mask

            records = int(lib.stk_dataset_len(self._c()))
            reopen = {"io": self._options.get("io", "auto"), "verify": self._options.get("verify", "first")}
            whole = {
                name: (
                    concat([part.masks[name] for part in self._parts])
                    if self._parts
                    else open_mask(self._path, name, records, lambda path: open(path, **reopen))
                )
                for name in self._names_in_metadata("masks")
            }
            self._mask_sets = whole if self._ids is None else {k: m._with(self._ids) for k, m in whole.items()}
        return dict(self._mask_sets)

    @property
    def boxes(self) -> list[str]:
        """Names of the columns that hold boxes (x1, y1, x2, y2), which follow the crop of a Loader."""
        return [name for name in self._names_in_metadata("boxes") if name in self.columns]

    def _names_in_metadata(self, key: str) -> list[str]:
        if self._special is None and self._parts:
            masks = [part._names_in_metadata("masks") for part in self._parts]
            boxes = [part._names_in_metadata("boxes") for part in self._parts]
            self._special = {
                "masks": [name for name in masks[0] if all(name in names for names in masks)],
                "boxes": list(dict.fromkeys(name for names in boxes for name in names)),
            }
        if self._special is None:
            metadata = self.metadata
            lists = {k: metadata.get(k) for k in ("masks", "boxes")}
            self._special = {
                k: [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
                for k, names in lists.items()
            }
        return self._special[key]

    @property
    def container(self) -> str:
        """ "stk", "stk-folder", "hdf5" ..."""
        return str(ffi.string(lib.stk_dataset_container(self._c())).decode())

    @property
    def road(self) -> str:
        """The road that payload bytes take, in words: "mmap", "pread" ..."""
        return str(ffi.string(lib.stk_dataset_road(self._c())).decode())

    @property
    def staged(self) -> Staged:
        """Whether a staged copy is read (``stoker.open(..., stage=)``), and where it lies."""
        info = ffi.new("stk_dataset_stage_info *")
        lib.stk_dataset_stage(self._c(), info)
        text = os.fsdecode(bytes(ffi.string(info.text)))
        return Staged(ffi.string(info.state).decode(), info.bytes, for_python(text))

    def _tell_staging(self, stacklevel: int) -> None:
        """Warns, once for this object, when no copy could be made: all is read from the source then."""
        if self._options.get("stage") is None or self._staging_told:
            return
        staged = self.staged
        if staged.state == "failed":
            self._staging_told = True
            warnings.warn(
                f"{self._path}: stage={os.fsdecode(self._options['stage'])!r} made no copy, the source is read: "
                f"{staged.text}",
                stacklevel=stacklevel + 1,
            )

    @property
    def nbytes(self) -> int:
        """Total size of the data set's files in bytes."""
        return int(lib.stk_dataset_bytes(self._c()))

    def __repr__(self) -> str:
        part = "" if self._ids is None else " (selection)"
        return f"<stoker.Dataset {self._path!r}: {self._n:,} records{part}>"

    # Records

    @overload
    def __getitem__(self, i: int) -> Sample: ...
    @overload
    def __getitem__(self, i: slice) -> Dataset: ...
    def __getitem__(self, i: Union[int, slice]) -> Union[Sample, Dataset]:
        """Record i as (image, label, columns), from the end for negative i; a slice gives a Dataset.

        Raises IndexError past the end; DamagedError, ImageError or ChecksumError for a bad record.
        """
        if isinstance(i, slice):
            return self.select(np.arange(self._n, dtype=np.int64)[i])
        info = self.info(i)
        columns = self._columns_of(i)
        for name, masks in self.masks.items():
            mask = masks.image(i)
            columns[name] = mask[:, :, 0] if masks.info(i).channels == 1 else mask
        return Sample(self.image(i), info.label, columns)

    def _columns_of(self, i: int) -> dict[str, Any]:
        """The values of record i, boxes of shape (n, 4); without masks."""
        columns = {name: self._value(column, i) for name, column in self.columns.items()}
        for name in self.boxes:
            if columns[name] is not None:
                columns[name] = columns[name].reshape(-1, 4)
        return columns

    def __iter__(self) -> Iterator[Sample]:
        """The records in order, one after the other (to train, use :class:`stoker.Loader`)."""
        return (self[i] for i in range(self._n))

    def info(self, i: int) -> RecordInfo:
        """What is known of record i without touching its payload. Raises IndexError."""
        raw = ffi.new("stk_record_info *")
        call(lib.stk_dataset_record, self._c(), self._id(i), raw)
        return RecordInfo(
            label=None if raw.label < 0 else raw.label,
            width=raw.width,
            height=raw.height,
            channels=raw.channels,
            orientation=raw.orientation,
            encoding=ffi.string(lib.stk_encoding_name(raw.encoding)).decode(),
            n_bytes=raw.n_bytes,
            offset=None if raw.offset == 2**64 - 1 else raw.offset,
            xxh3=raw.xxh3,
            shard=raw.shard,
        )

    def image(
        self,
        i: int,
        box: Optional[tuple[int, int, int, int]] = None,
        size: Union[int, tuple[int, int], None] = None,
        filter: Filter = "bilinear",
        flip: bool = False,
        *,
        pixels: Pixels = "pillow13",
        color: Color = "rgb",
        ignore_damage: bool = False,
    ) -> NDArray[Any]:
        """Record i decoded, turned, cut to box, resampled to size, flipped: the reference path.

        box: (x, y, width, height) in pixels of the turned image, None for all of it; must lie inside.
        size: (height, width) of the result, one number for both, None for the box's own. filter: "bilinear",
        "bicubic", "box", "hamming", "lanczos" or "nearest", as Pillow's. flip: left to right, after resampling.
        pixels: the Pillow whose bytes these are: "pillow13", or "pillow12" for 12.3 and older. color: "rgb" or
        "bgr". ignore_damage: deliver what the decoder gave although it complained.

        Returns uint8 of shape (height, width, channels): 3 channels, or 1 when packed with mode="L". A record
        that is an array is given as it is (:meth:`array`); nothing can be asked for then. Raises IndexError;
        ArgumentError for a box outside; DamagedError, ImageError, ChecksumError.
        """
        request = ffi.new("stk_image_request *")
        lib.stk_image_request_init(request)
        if box is not None:
            request.box.x, request.box.y, request.box.width, request.box.height = _box(box)
        if size is not None:
            request.out_height, request.out_width = _size(size)
        request.filter = constant(FILTERS, "filter", filter)
        request.pixels = constant(PIXELS, "pixels", pixels)
        request.color = constant(COLORS, "color", color)
        request.flip_horizontal = bool(flip)
        request.ignore_damage = bool(ignore_damage)
        buffer = new_buffer()
        shape = ffi.new("uint32_t[3]")
        try:
            call(lib.stk_dataset_image, self._c(), self._id(i), request, buffer, shape, shape + 1, shape + 2)
        except UnsupportedError:
            if self.info(i).encoding != "array":
                raise
            if box is not None or size is not None or flip or color != "rgb":
                raise ArgumentError(
                    f"record {i} is an array, given as it is: leave box, size, flip and color out"
                ) from None
            return self.array(i)
        width, height, channels = shape
        image: NDArray[np.uint8] = view(buffer, buffer.data, (height, width, channels), "|u1")
        return np.repeat(image, 3, axis=2) if channels == 1 and self.mode == "RGB" else image

    def array(self, i: int) -> NDArray[Any]:
        """Record i of a data set of arrays: its own type and shape, writable, yours.

        Raises IndexError; UnsupportedError for an image; CorruptError, ChecksumError.
        """
        buffer = new_buffer()
        described = ffi.new("stk_array *")
        call(lib.stk_dataset_array, self._c(), self._id(i), buffer, described)
        shape = tuple(described.shape[0 : described.n_dims])
        dtype = np.dtype(ffi.string(lib.stk_type_name(described.type)).decode())
        if described.n_bytes == 0:
            return np.empty(shape, dtype)
        return view(buffer, buffer.data, shape, dtype.str)

    def jpeg(self, i: int) -> bytes:
        """Record i as a JPEG file: the source's bytes, or, for tiles, a baseline JPEG of the same pixels.

        Raises UnsupportedError for a record that was not made from a JPEG: see :meth:`file`.
        """
        data, extension = self.file(i)
        if extension != "jpg":
            raise UnsupportedError(
                f"{self._path}: record {i} is no JPEG but .{extension}; ds.file({i}) gives it as it is"
            )
        return data

    def file(self, i: int) -> tuple[bytes, str]:
        """Record i as a file that other software opens, and its extension ("jpg", "png", "npy" ...)."""
        buffer = new_buffer()
        extension = ffi.new("const char **")
        call(lib.stk_dataset_extract, self._c(), self._id(i), buffer, extension)
        return buffer_bytes(buffer), ffi.string(extension[0]).decode()

    def payload(self, i: int) -> bytes:
        """The stored bytes of record i, checksum compared as ``verify=`` says."""
        buffer = new_buffer()
        call(lib.stk_dataset_payload, self._c(), self._id(i), buffer)
        return buffer_bytes(buffer)

    def path(self, i: int) -> str:
        """The source's path relative to the packed folder, as ``os.listdir`` would spell it.

        Raises NotFoundError when the data set was packed without paths.
        """
        path = self._value(self._column("path"), i)
        if path is None:
            raise NotFoundError(f"{self._path}: record {i} has no source path")
        return str(path)

    def column(self, name: str) -> Any:
        """All values of a column.

        Numbers: an array of shape (len,) or (len, n_items), masked where rows are null; strings, bytes and
        arrays of variable length: a list, None where null. Raises NotFoundError.
        """
        return _columns.read(self._c(), self._column(name), self._ids, self._n)

    # Selections

    def select(self, which: ArrayLike) -> Self:
        """The records at the given positions (repeats and any order allowed) or where a mask is true."""
        chosen = np.asarray(which)
        if chosen.dtype == bool:
            if chosen.shape != (self._n,):
                raise ArgumentError(f"select: a mask must have shape ({self._n},), not {chosen.shape}")
            chosen = np.flatnonzero(chosen)
        if chosen.size == 0:
            chosen = chosen.astype(np.int64)
        if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
            raise ArgumentError("select: give a one-dimensional array of positions or a mask of bool")
        positions = chosen.astype(np.int64)
        positions = np.where(positions < 0, positions + self._n, positions)
        if positions.size and (positions.min() < 0 or positions.max() >= self._n):
            raise ArgumentError(f"select: positions must lie within 0 ... {self._n - 1}")
        ids = positions.astype(np.uint64) if self._ids is None else self._ids[positions]
        ids.flags.writeable = False
        return self._with(ids)

    def _with(self, ids: NDArray[np.uint64]) -> Self:
        """The same open file, other records."""
        return type(self)(self._path, self._options, self._c(), ids, self._parts)

    def _whole(self) -> Dataset:
        """All records of what this is a selection of."""
        return Dataset(self._path, self._options, self._c(), None, self._parts)

    def __add__(self, other: object) -> Dataset:
        """:func:`stoker.concat` of both."""
        return concat([self, other]) if isinstance(other, Dataset) else NotImplemented

    def filter(self, conditions: Optional[Mapping[str, Any]] = None, **more: Any) -> Self:
        """The records whose columns meet all conditions.

        A condition is a value (equal), a list, set or array (one of them) or a callable that takes the
        column's values (an array) and returns a mask. "label" (numbers or class names), "width" and
        "height" work where no column has that name:
        ``ds.filter(label=["cat", "dog"], width=lambda w: w >= 256)``. Raises NotFoundError.
        """
        if conditions is not None and not isinstance(conditions, Mapping):
            raise ArgumentError(f'filter: {conditions!r:.60}: give a dict of conditions, or filter(label="cat")')
        mask = np.ones(self._n, bool)
        for name, condition in {**(conditions or {}), **more}.items():
            mask &= _matches(name, self._filter_values(name), self._filter_condition(name, condition))
        return self.select(mask)

    def _filter_values(self, name: str) -> NDArray[Any]:
        if name not in self.columns:
            if name == "label" and self.labels is not None:
                return self.labels
            if name in ("width", "height"):
                return self.sizes[:, 1 if name == "width" else 0]
        values = self.column(name)
        if isinstance(values, list):
            array = np.empty(len(values), object)
            array[:] = values
            return array
        return np.asanyarray(values)

    def _filter_condition(self, name: str, condition: Any) -> Any:
        if name != "label" or name in self.columns or callable(condition):
            return condition
        single = isinstance(condition, (str, int, np.integer))
        numbers = [
            self.class_index(c) if isinstance(c, str) else c for c in ([condition] if single else condition)
        ]
        return numbers

    def class_index(self, name: str) -> int:
        """The label of a class. Raises NotFoundError."""
        try:
            return self.classes.index(name)
        except ValueError:
            raise NotFoundError(f"{self._path}: no class is called {name!r}") from None

    # Life

    def close(self) -> None:
        """Lets go of the file; it closes when the last loader and selection over it are gone too."""
        self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[..., Dataset], tuple[Any, ...]]:
        if self._parts:
            return _rejoin, (self._parts, self._ids)
        return _reopen, (os.path.abspath(self._path), self._options, self._ids, self.id)

    def _c(self) -> Any:
        if self._handle is None:
            raise StateError(f"{self._path}: this Dataset was closed; open it again with stoker.open()")
        return self._handle

    def _id(self, i: int) -> int:
        position = whole("record", i, -math.inf, math.inf, "give a whole number, or a slice for several")
        if position < 0:
            position += self._n
        if not 0 <= position < self._n:
            raise IndexError(f"record {i} of {self._n}")
        return position if self._ids is None else int(self._ids[position])

    def _begins_with_array(self) -> bool:
        """Whether a Loader gives arrays: the first record that can be looked at tells, as in C."""
        for i in range(min(self._n, 64)):
            with contextlib.suppress(Error):
                return self.info(i).encoding == "array"
        return False

    def _id_pointer(self) -> Any:
        return ffi.NULL if self._ids is None else ffi.from_buffer("uint64_t[]", self._ids)

    def _column(self, name: str) -> Column:
        if self._column_table is None:
            self._column_table = _columns.describe(self._c())
        column = self._column_table.get(name) if isinstance(name, str) else None
        if column is None:
            known = ", ".join(repr(c) for c in self._column_table) or "none"
            raise NotFoundError(f"{self._path}: no column {name!r}; there are: {known}")
        return column

    def _value(self, column: Column, i: int) -> Any:
        """One row: a Python scalar, an array, str, bytes or None."""
        ids = np.array([self._id(i)], np.uint64)
        value = _columns.read(self._c(), column, ids, 1)[0]
        if value is np.ma.masked or (np.ma.isMaskedArray(value) and value.mask.all()):
            return None
        return value.item() if isinstance(value, np.generic) else value


def _file_name(option: str, value: Any) -> None:
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise ArgumentError(f"{option}={value!r:.60}: give the path of a file or folder")


def _flag(option: str, value: Any) -> bool:
    if not isinstance(value, int) and type(value).__name__ not in ("bool", "bool_"):  # NumPy's, not imported yet
        raise ArgumentError(f"{option}={value!r:.60}: give True or False")
    return bool(value)


def _box(box: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    give = "give (x, y, width, height) with x, y >= 0 and a size of 1 or more, whole numbers"
    sides = reals("box", box, give)
    if len(sides) != 4:
        raise ArgumentError(f"box={box!r}: {give}")
    x, y = (whole("box", v, 0, 2**31 - 1, give) for v in sides[:2])
    width, height = (whole("box", v, 1, 2**31 - 1, give) for v in sides[2:])
    return x, y, width, height


def _size(size: Union[int, tuple[int, int]]) -> tuple[int, int]:
    give = "give one number or (height, width), each 1 ... 65535"
    sides = (size, size) if single(size) else reals("size", size, give)
    if len(sides) != 2:
        raise ArgumentError(f"size={size!r}: {give}")
    return whole("size", sides[0], 1, 65535, give), whole("size", sides[1], 1, 65535, give)


def _matches(name: str, values: NDArray[Any], condition: Any) -> NDArray[np.bool_]:
    if callable(condition):
        mask = np.asarray(condition(values))
        if mask.shape != (len(values),) or mask.dtype != bool:
            raise ArgumentError(f"filter: the callable for {name!r} must return a mask of {len(values)} bool")
        return mask
    if isinstance(condition, (list, tuple, set, frozenset, np.ndarray)):
        allowed = set(condition.tolist() if isinstance(condition, np.ndarray) else condition)
        mask = np.fromiter((v in allowed for v in values.tolist()), bool, len(values))
    else:
        mask = np.fromiter((v == condition for v in values.tolist()), bool, len(values))
    return mask


def open(
    path: PathLike,
    *,
    io: str = "auto",
    verify: str = "first",
    salvage: bool = False,
    hdf5_images: Optional[str] = None,
    hdf5_labels: Optional[str] = None,
    value_range: Optional[tuple[float, float]] = None,
    max_pixels: Optional[int] = None,
    max_record_bytes: Optional[int] = None,
    arrays: bool = False,
    stage: Optional[PathLike] = None,
) -> Dataset:
    """Opens a packed data set: constant time and memory for any number of records.

    path: a ``.stk`` file, a folder of shards, or an HDF5 file; or a folder of image files, laid out for
    ImageFolder, which are then read one by one, with a warning: that is for trying things out. io: how bytes are
    fetched, "auto" (by the file system), "mmap" or "pread". verify: when a record's checksum is compared, "first"
    (the first time this process touches it), "always" or "off". salvage: open a file without its end by scanning
    its records; ``ds.metadata["missing"]`` counts those that were lost, and ``["end"]`` is False where more may
    have come behind the last one. hdf5_images, hdf5_labels: paths within an HDF5 file, found by themselves when
    None. value_range: (min, max) of images that are not uint8, mapped to 0 ... 255. max_pixels, max_record_bytes:
    larger records are refused. arrays: serve an HDF5 data set as arrays, as it is, also where it looks like
    images: masks of shape (n, height, width) and uint8, say. stage: "auto" or a folder, to read from a copy on a
    faster disk or in memory (as :func:`stoker.stage` makes it): one that is there is used at once, else it is made
    by a thread while the source is read, and reading changes over when it is ready; :attr:`Dataset.staged` tells.

    Raises NotFoundError, CorruptError (with the offset), VersionError, IOError.
    """
    _file_name("path", path)
    if stage is not None:
        _file_name("stage", stage)
    settings: dict[str, Any] = {
        "io": io,
        "verify": verify,
        "salvage": salvage,
        "hdf5_images": hdf5_images,
        "hdf5_labels": hdf5_labels,
        "value_range": value_range,
        "max_pixels": max_pixels,
        "max_record_bytes": max_record_bytes,
        "arrays": arrays,
        "stage": stage,
    }
    options = ffi.new("stk_dataset_options *")
    lib.stk_dataset_options_init(options)
    options.io = constant(IOS, "io", io)
    options.verify = constant(VERIFIES, "verify", verify)
    options.salvage = _flag("salvage", salvage)
    options.hdf5_arrays = _flag("arrays", arrays)
    for name in ("hdf5_images", "hdf5_labels"):
        if not isinstance(settings[name], (str, type(None))):
            raise ArgumentError(f"{name}={settings[name]!r:.60}: give the path of a data set within the file")
    texts = [
        ffi.new("char[]", text.encode()) if text is not None else ffi.NULL for text in (hdf5_images, hdf5_labels)
    ]
    options.hdf5_images, options.hdf5_labels = texts
    if value_range is not None:
        ends = reals("value_range", value_range, "give (min, max)")
        if len(ends) != 2:
            raise ArgumentError(f"value_range={value_range!r}: give (min, max)")
        options.range_min, options.range_max = ends
    for name in ("max_pixels", "max_record_bytes"):
        if settings[name] is not None:
            give = "give a whole number, 0 or more"
            setattr(options, name, whole(name, settings[name], 0, 2**63 - 1, give))
    folder = ffi.NULL if stage is None else ffi.new("char[]", os.fsencode(stage))
    options.stage = folder
    place = os.fsdecode(path)
    if is_loose(place):
        files = Dataset(place, settings, open_files(place, options), None)
        warnings.warn(
            f"{place}: {len(files):,} files that are not packed, each opened when it is read. Pack them once, and "
            f'loading is faster and checked: stoker.pack({place!r}, "{place.rstrip("/")}.stk")',
            stacklevel=2,
        )
        return files
    out = ffi.new("stk_dataset **")
    call(lib.stk_dataset_open, os.fsencode(path), options, out)
    opened = Dataset(path, settings, ffi.gc(out[0], lib.stk_py_close_dataset), None)
    if "hdf5" not in opened.container:
        for name in ("hdf5_images", "hdf5_labels", "value_range", "arrays"):
            if settings[name] not in (None, False):
                raise ArgumentError(f"{name}={settings[name]!r}: {place} is no HDF5 file; leave {name} out")
    opened._tell_staging(2)
    return opened


def concat(datasets: Iterable[Dataset]) -> Dataset:
    """Several data sets as one: the records of the first, then those of the second ... ``a + b`` does it too.

    Classes are joined by name, in the order in which they first appear, so that the labels of the first stay as
    they are; columns by name: where a data set has no such column, its records have no value (masked, None). A
    sample's id is its place in the whole, so that shuffling, crops and a Loader's state are those of one data set.
    Selections may be joined. Pickles as its parts.

    Raises ArgumentError for data sets that do not go together: a column of two types, class names in one and plain
    numbers in another.
    """
    given = list(datasets) if isinstance(datasets, Iterable) else []
    if not given or not all(isinstance(part, Dataset) for part in given):
        raise ArgumentError("concat: give one or more of what stoker.open() returns")
    whole = [d._whole() for d in given]
    handles = [d._c() for d in whole]
    out = ffi.new("stk_dataset **")
    call(lib.stk_dataset_concat, ffi.new("stk_dataset *[]", handles), len(handles), out)
    close = lib.stk_py_close_dataset

    def close_keeping(handle: Any, parts: list[Any] = handles) -> None:
        """The joined one before its parts, which this function holds."""
        close(handle)

    joined = ffi.gc(out[0], close_keeping)
    path = " + ".join(d._path for d in whole)
    ids: Optional[NDArray[np.uint64]] = None
    if any(d._ids is not None for d in given):
        starts = np.concatenate([[0], np.cumsum([len(d) for d in whole])]).astype(np.uint64)
        ids = np.concatenate([d.ids + start for d, start in zip(given, starts)])
        ids.flags.writeable = False
    return Dataset(path, whole[0]._options, joined, ids, tuple(whole))


def _rejoin(parts: tuple[Dataset, ...], ids: Optional[NDArray[np.uint64]]) -> Dataset:
    """Unpickles a concatenation; its parts have opened themselves, and compared their contents."""
    whole = concat(parts)
    return whole if ids is None else whole._with(ids)


def _reopen(path: str, options: Mapping[str, Any], ids: Optional[NDArray[np.uint64]], expected: str) -> Dataset:
    """Unpickles a Dataset: another content under the same path is an error, not another data set."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*files that are not packed")  # it was told where it was opened
        whole = open(path, **options)
    if whole.id != expected:
        raise StateError(
            f"{path}: its content changed since this Dataset was pickled ({expected}, now {whole.id})"
        )
    return whole if ids is None else Dataset(path, options, whole._c(), ids)
