# SPDX-License-Identifier: Apache-2.0
"""stoker keeps a GPU fed with images.

Pack a folder of image files into one big file once, then load training batches out of it::

    import stoker

    stoker.pack("photos/", "photos.stk")
    ds = stoker.open("photos.stk")
    loader = stoker.Loader(ds, batch_size=256, transform=stoker.Train(224), shuffle=True)
    for images, labels in loader:  # uint8 NHWC NumPy arrays; device="cpu" gives torch tensors
        ...
"""

from __future__ import annotations

from stoker._batch import BatchInfo
from stoker._columns import Column
from stoker._cpu import cpu, usable_threads
from stoker._dataset import Dataset, RecordInfo, Sample, open
from stoker._errors import (
    ArgumentError,
    BusyError,
    CancelledError,
    ChecksumError,
    CorruptError,
    DamagedError,
    DeviceError,
    Error,
    ExistsError,
    ImageError,
    InternalError,
    IOError,
    LimitError,
    NoSpaceError,
    NotFoundError,
    OutOfMemoryError,
    StateError,
    ThreadError,
    UnsupportedError,
    VersionError,
)
from stoker._from_torchvision import Translated, from_torchvision
from stoker._loader import Loader, LoaderIterator
from stoker._native import ffi as _ffi
from stoker._native import lib as _lib
from stoker._pack import PackIssue, PackProgress, PackReport, pack
from stoker._transforms import AsStored, Boxes, Eval, PadCrop, Resize, Train, Transform
from stoker._verify import VerifyIssue, VerifyProgress, VerifyReport, verify

__version__: str = _ffi.string(_lib.stk_version()).decode()

__all__ = [
    "ArgumentError",
    "AsStored",
    "BatchInfo",
    "Boxes",
    "BusyError",
    "CancelledError",
    "ChecksumError",
    "Column",
    "CorruptError",
    "DamagedError",
    "Dataset",
    "DeviceError",
    "Error",
    "Eval",
    "ExistsError",
    "IOError",
    "ImageError",
    "InternalError",
    "LimitError",
    "Loader",
    "LoaderIterator",
    "NoSpaceError",
    "NotFoundError",
    "OutOfMemoryError",
    "PackIssue",
    "PackProgress",
    "PackReport",
    "PadCrop",
    "RecordInfo",
    "Resize",
    "Sample",
    "StateError",
    "ThreadError",
    "Train",
    "Transform",
    "Translated",
    "UnsupportedError",
    "VerifyIssue",
    "VerifyProgress",
    "VerifyReport",
    "VersionError",
    "cpu",
    "from_torchvision",
    "open",
    "pack",
    "usable_threads",
    "verify",
]
