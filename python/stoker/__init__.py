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

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stoker._batch import BatchInfo
    from stoker._columns import Column
    from stoker._cpu import cpu, usable_threads
    from stoker._dataset import Dataset, RecordInfo, Sample, Staged, concat, open
    from stoker._dlpack import DeviceArray
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
    from stoker._from_torchvision import from_torchvision, timm
    from stoker._loader import Loader, LoaderIterator
    from stoker._mix import Mix, Mixed
    from stoker._pack import PackIssue, PackProgress, PackReport, pack
    from stoker._per_sample import SampleContext, current_sample
    from stoker._stage import StageProgress, StageReport, evict, stage
    from stoker._steps import (
        AutoAugment,
        ColorJitter,
        GaussianBlur,
        RandAugment,
        RandomAdjustSharpness,
        RandomAffine,
        RandomAutocontrast,
        RandomEqualize,
        RandomErasing,
        RandomGrayscale,
        RandomInvert,
        RandomPosterize,
        RandomRotation,
        RandomSolarize,
        RandomVerticalFlip,
        Step,
        ThreeAugment,
        TimmAugment,
        TrivialAugmentWide,
    )
    from stoker._transforms import AsStored, Boxes, Eval, PadCrop, Resize, Train, Transform
    from stoker._translated import Translated
    from stoker._verify import VerifyIssue, VerifyProgress, VerifyReport, verify
    from stoker._writer import Writer

    __version__: str

# Where each name lives. Modules are loaded when a name is first used, so that `import stoker` and the command
# take a few milliseconds: the larger part of an import is NumPy's.
_NAMES = {
    "_batch": "BatchInfo",
    "_columns": "Column",
    "_cpu": "cpu usable_threads",
    "_dataset": "Dataset RecordInfo Sample Staged concat open",
    "_dlpack": "DeviceArray",
    "_errors": (
        "ArgumentError BusyError CancelledError ChecksumError CorruptError DamagedError DeviceError "
        "Error ExistsError ImageError InternalError IOError LimitError NoSpaceError NotFoundError "
        "OutOfMemoryError StateError ThreadError UnsupportedError VersionError"
    ),
    "_from_torchvision": "from_torchvision timm",
    "_loader": "Loader LoaderIterator",
    "_mix": "Mix Mixed",
    "_per_sample": "SampleContext current_sample",
    "_pack": "PackIssue PackProgress PackReport pack",
    "_stage": "StageProgress StageReport evict stage",
    "_steps": (
        "AutoAugment ColorJitter GaussianBlur RandAugment RandomAdjustSharpness RandomAffine RandomAutocontrast "
        "RandomEqualize RandomErasing RandomGrayscale RandomInvert RandomPosterize RandomRotation RandomSolarize "
        "RandomVerticalFlip Step ThreeAugment TimmAugment TrivialAugmentWide"
    ),
    "_transforms": "AsStored Boxes Eval PadCrop Resize Train Transform",
    "_translated": "Translated",
    "_verify": "VerifyIssue VerifyProgress VerifyReport verify",
    "_writer": "Writer",
}
_HOME = {name: f"stoker.{module}" for module, names in _NAMES.items() for name in names.split()}


if not TYPE_CHECKING:  # a type checker would believe that every name is there

    def __getattr__(name: str) -> Any:
        import importlib

        if name == "__version__":
            native = importlib.import_module("stoker._native")
            value: Any = native.ffi.string(native.lib.stk_version()).decode()
        elif name in _HOME:
            value = getattr(importlib.import_module(_HOME[name]), name)
        else:
            raise AttributeError(f"module 'stoker' has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, "__version__"})


__all__ = [
    "ArgumentError",
    "AsStored",
    "AutoAugment",
    "BatchInfo",
    "Boxes",
    "BusyError",
    "CancelledError",
    "ChecksumError",
    "ColorJitter",
    "Column",
    "CorruptError",
    "DamagedError",
    "Dataset",
    "DeviceArray",
    "DeviceError",
    "Error",
    "Eval",
    "ExistsError",
    "GaussianBlur",
    "IOError",
    "ImageError",
    "InternalError",
    "LimitError",
    "Loader",
    "LoaderIterator",
    "Mix",
    "Mixed",
    "NoSpaceError",
    "NotFoundError",
    "OutOfMemoryError",
    "PackIssue",
    "PackProgress",
    "PackReport",
    "PadCrop",
    "RandAugment",
    "RandomAdjustSharpness",
    "RandomAffine",
    "RandomAutocontrast",
    "RandomEqualize",
    "RandomErasing",
    "RandomGrayscale",
    "RandomInvert",
    "RandomPosterize",
    "RandomRotation",
    "RandomSolarize",
    "RandomVerticalFlip",
    "RecordInfo",
    "Resize",
    "Sample",
    "StageProgress",
    "StageReport",
    "Staged",
    "SampleContext",
    "StateError",
    "Step",
    "ThreadError",
    "ThreeAugment",
    "TimmAugment",
    "Train",
    "Transform",
    "Translated",
    "TrivialAugmentWide",
    "UnsupportedError",
    "VerifyIssue",
    "VerifyProgress",
    "VerifyReport",
    "VersionError",
    "Writer",
    "concat",
    "cpu",
    "evict",
    "current_sample",
    "from_torchvision",
    "open",
    "pack",
    "stage",
    "timm",
    "usable_threads",
    "verify",
]
