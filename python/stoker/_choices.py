# SPDX-License-Identifier: Apache-2.0
"""A Loader's options that depend on each other, checked and decided."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional

from stoker._dataset import Dataset
from stoker._enums import DTYPES, LAYOUTS, ORDERS, constant
from stoker._errors import ArgumentError
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
    if options["last"] == "drop" and size > n:
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
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        number = 0
    if number != value or not 1 <= number < 2**32:
        raise ArgumentError(f"{option}={value!r}: give a whole number, 1 or more")
    return number


def three(option: str, values: Sequence[float]) -> list[float]:
    numbers = [float(v) for v in values]
    if len(numbers) == 1:
        numbers *= 3
    if len(numbers) != 3 or not all(np.isfinite(numbers)) or (option == "std" and min(numbers) <= 0):
        raise ArgumentError(
            f"{option}={values!r}: give one number a channel" + (", above 0" if option == "std" else "")
        )
    return numbers


def weights(weights: Any, dataset: Dataset) -> Any:
    if isinstance(weights, str):
        if weights != "balanced":
            raise ArgumentError(f'weights={weights!r}: give one number a record, or "balanced"')
        labels = dataset.labels
        if labels is None or (labels < 0).any():
            raise ArgumentError('weights="balanced": not every record has a label')
        counts = np.bincount(labels)
        return 1.0 / counts[labels].astype(np.float64)
    array = np.ascontiguousarray(weights, np.float64)
    if array.shape != (len(dataset),):
        raise ArgumentError(f"weights: shape {array.shape}, but there are {len(dataset)} records")
    return array
