# SPDX-License-Identifier: Apache-2.0
"""A Loader's options that depend on each other, checked and decided."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional

from stoker._dataset import Dataset
from stoker._enums import DECODES, DTYPES, LASTS, LAYOUTS, ORDERS, RESIDENTS, constant
from stoker._errors import ArgumentError
from stoker._numbers import reals, whole
from stoker._numpy import np

if TYPE_CHECKING:
    from stoker._transforms import Transform


def opened(dataset: object) -> None:
    """Refuses what is no Dataset, saying how to get one."""
    if isinstance(dataset, Dataset):
        return
    if isinstance(dataset, (str, bytes, os.PathLike)):
        path = os.fsdecode(dataset)
        raise ArgumentError(f"{path}: open it first: stoker.Loader(stoker.open({path!r}), ...)")
    raise ArgumentError(
        f"dataset={dataset!r:.60}: give what stoker.open() returns; other data sets are packed first, by "
        "stoker.pack or stoker.Writer(...).extend()"
    )


def flag(option: str, value: Any) -> Optional[bool]:
    """True, False or None; "False", which Python takes for true, is refused."""
    if value is None or isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1)):
        return None if value is None else bool(value)
    raise ArgumentError(f"{option}={value!r}: give True or False")


def order(options: Mapping[str, Any], order: Optional[str], transform: Transform) -> str:
    """One order out of shuffle=, order= and weights=, which must not contradict each other."""
    shuffle = options["shuffle"]
    if options["weights"] is not None:
        if order not in (None, "weighted") or shuffle is False:
            raise ArgumentError(
                "weights= draws samples at random; it goes with neither shuffle=False nor another order="
            )
        return "weighted"
    if options["n_draws"] is not None:
        raise ArgumentError("n_draws= goes with weights= only")
    if order is not None:
        constant(ORDERS, "order", order)
        if order == "weighted":
            raise ArgumentError('order="weighted" needs weights=')
        if shuffle is not None and shuffle != (order != "sequential"):
            raise ArgumentError(f"shuffle={shuffle} contradicts order={order!r}; give one of them")
        return order
    if shuffle is None:
        shuffle = transform.shuffles
    return "shuffle" if shuffle else "sequential"


def batch_size(batch_size: Any, dataset: Dataset, options: Mapping[str, Any], repeats: int) -> int:
    """As torch does, a batch larger than the data set is one batch of all of it."""
    size = positive("batch_size", batch_size)
    n = len(dataset) * positive("repeats", repeats)
    if options["weights"] is not None and options["n_draws"] is not None:
        n = positive("n_draws", options["n_draws"])
    if n == 0:
        raise ArgumentError(f"{dataset!r}: nothing to load")
    if constant(LASTS, "last", options["last"]) == LASTS["drop"] and size > n:
        raise ArgumentError(f'batch_size={size} with last="drop": {n} samples do not fill one batch')
    return min(size, n)


def refuse_for_arrays(**options: Any) -> None:
    """Arrays are delivered as they are, in their own type."""
    for name, value in options.items():
        if value is not None:
            raise ArgumentError(
                f"{name}={value!r}: the records are arrays, which keep type and shape; leave {name} out"
            )


def layout(
    layout: Optional[str], channels_last: Optional[bool], device: Optional[str], dtype: str
) -> tuple[str, bool]:
    """(layout in memory, whether NHWC memory is shown with shape NCHW)."""
    if layout is not None:
        constant(LAYOUTS, "layout", layout)
    constant(DTYPES, "dtype", dtype)
    if device is None:
        if channels_last is not None:
            named = "NHWC" if channels_last else "NCHW"
            if layout not in (None, named):
                raise ArgumentError(
                    f"channels_last={channels_last} contradicts layout={layout!r} for NumPy arrays"
                )
            return named, False
        return layout or "NHWC", False
    if layout == "NHWC":
        return "NHWC", False
    if channels_last is None:
        channels_last = dtype == "uint8"  # as decoded: another order would cost a pass
    return ("NHWC", True) if channels_last else ("NCHW", False)


def positive(option: str, value: Any) -> int:
    return whole(option, value, 1, 2**32 - 1, "give a whole number, 1 or more")


def seed(value: Any) -> int:
    return whole("seed", value, 0, 2**64 - 1, "give a whole number, 0 ... 2**64 - 1")


def three(option: str, values: Sequence[float]) -> list[float]:
    give = "give one number a channel, in a list" + (", above 0" if option == "std" else "")
    numbers = list(reals(option, values, give))
    if len(numbers) == 1:
        numbers *= 3
    if len(numbers) != 3 or (option == "std" and min(numbers) <= 0):
        raise ArgumentError(f"{option}={values!r}: {give}")
    return numbers


def normalisation(mean: Any, std: Any, dtype: str) -> None:
    """What the caller gave as mean= and std=. Levels are divided by 255 first; other loaders take 0 ... 255."""
    for option, values in (("mean", mean), ("std", std)):
        if values is None:
            continue
        if dtype == "uint8":
            raise ArgumentError(
                f'{option}= is for float types and has no effect on uint8; give dtype="float32" say'
            )
        if max(three(option, values)) > 1 and option == "mean":
            raise ArgumentError(
                f"mean={values!r}: give what pixels of 0 ... 1 have, as torchvision's Normalize; these are levels "
                "of 0 ... 255: divide mean and std by 255"
            )


def dtype(value: Any) -> Optional[str]:
    """A type by its name; torch.float16 and numpy.float16 stand for theirs."""
    if value is None or isinstance(value, str):
        return value
    name = str(value)
    if name.startswith("torch."):
        return name[len("torch.") :]
    try:
        return str(np.dtype(value).name)
    except TypeError:
        constant(DTYPES, "dtype", value)  # refuses it
        raise


def device(value: Any) -> Optional[str]:
    """The name of a device: a string, a torch.device, or, as torch takes it, the number of a GPU."""
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return f"cuda:{value}"
    name = str(value)
    if re.fullmatch(r"cpu(:\d+)?", name):
        return "cpu"
    if re.fullmatch(r"dummy|(cuda|mps|npu|xpu|hpu)(:\d+)?", name):  # others of torch's get copies by torch
        return name
    raise ArgumentError(
        f'device={value!r}: give "cpu", "cuda", "cuda:N" (GPU number N), or "dummy" (a GPU played in host memory)'
    )


def for_a_device(device: Optional[str], decode: str, resident: str, resident_bytes: Any) -> int:
    """Refuses what has an effect on a GPU only; returns resident_bytes, 0 for the default."""
    constant(DECODES, "decode", decode)
    constant(RESIDENTS, "resident", resident)
    n_bytes = 0
    if resident_bytes is not None:
        n_bytes = whole("resident_bytes", resident_bytes, 0, 2**63 - 1, "give a number of bytes, 0 or more")
    if device is not None and device.split(":")[0] in ("cuda", "dummy"):
        return n_bytes
    for text in (
        'decode="gpu"' if decode == "gpu" else "",
        'resident="on"' if resident == "on" else "",
        f"resident_bytes={resident_bytes!r}" if resident_bytes is not None else "",
    ):
        if text:
            raise ArgumentError(f'{text} needs a GPU: give device="cuda" too, or leave it out')
    return n_bytes


def function(option: str, value: Any) -> None:
    if value is not None and not callable(value):
        raise ArgumentError(f"{option}={value!r}: give a function, or leave it out")


def columns(value: Any) -> Optional[list[str]]:
    if isinstance(value, (str, bytes)):
        raise ArgumentError(f"columns={value!r}: give a list, columns=[{value!r}]")
    try:
        return None if value is None else list(value)
    except TypeError:
        raise ArgumentError(f"columns={value!r}: give a list of names") from None


def weights(weights: Any, dataset: Dataset) -> Any:
    if isinstance(weights, str):
        if weights != "balanced":
            raise ArgumentError(f'weights={weights!r}: give one number a record, or "balanced"')
        labels = dataset.labels
        if labels is None or (labels < 0).any():
            raise ArgumentError('weights="balanced": not every record has a label')
        counts = np.bincount(labels)
        return 1.0 / counts[labels].astype(np.float64)
    try:
        array = np.ascontiguousarray(weights, np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(f'weights={weights!r:.60}: give one number a record, or "balanced"') from None
    if array.shape != (len(dataset),):
        raise ArgumentError(f"weights: shape {array.shape}, but there are {len(dataset)} records")
    return array
