# SPDX-License-Identifier: Apache-2.0
"""Numbers that users give, checked before anything is cut off or converted; errors name the argument."""

from __future__ import annotations

import math
import operator
from typing import Any

from stoker._errors import ArgumentError


def whole(option: str, value: Any, lowest: float, highest: float, give: str) -> int:
    """A whole number within lowest ... highest, 224.0 too; ArgumentError says to ``give`` one."""
    try:
        number = operator.index(value)
    except TypeError:
        real = _float(value)
        if not real.is_integer():
            raise ArgumentError(f"{option}={value!r}: {give}") from None
        number = int(real)
    if not lowest <= number <= highest:
        raise ArgumentError(f"{option}={value!r}: {give}")
    return number


def real(option: str, value: Any, lowest: float, highest: float, give: str) -> float:
    """A number within lowest ... highest."""
    number = _float(value)
    if not lowest <= number <= highest:
        raise ArgumentError(f"{option}={value!r}: {give}")
    return number


def reals(option: str, values: Any, give: str) -> tuple[float, ...]:
    """Finite numbers, as many as there are in a list, tuple or array."""
    try:
        numbers = () if isinstance(values, (str, bytes)) else tuple(_float(v) for v in values)
    except TypeError:  # nothing to iterate over
        numbers = ()
    if not numbers or not all(map(math.isfinite, numbers)):
        raise ArgumentError(f"{option}={values!r}: {give}")
    return numbers


def single(value: Any) -> bool:
    """Whether value is one number rather than several, of Python's, NumPy's or torch's."""
    return not math.isnan(_float(value))


def _float(value: Any) -> float:
    """NaN for what is no number; a string is none, whatever it says."""
    if isinstance(value, (str, bytes)):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
