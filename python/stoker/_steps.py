# SPDX-License-Identifier: Apache-2.0
"""Steps on the pixels of each image after its crop and flip. Each class is plain data; the work is done in C."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any, Optional, Union

from stoker._enums import FILTERS, constant
from stoker._errors import ArgumentError, UnsupportedError
from stoker._native import lib
from stoker._numbers import real, reals, single, whole

Range = Union[float, tuple[float, float]]  # a strength, or (lowest, highest)
Fill = Union[int, Sequence[int]]  # one level, or one a channel

_POLICIES = {
    "imagenet": lib.STK_POLICY_IMAGENET,
    "cifar10": lib.STK_POLICY_CIFAR10,
    "svhn": lib.STK_POLICY_SVHN,
}
_TIMM_POLICIES = {
    "v0": lib.STK_POLICY_TIMM_V0,
    "v0r": lib.STK_POLICY_TIMM_V0R,
    "original": lib.STK_POLICY_TIMM_ORIGINAL,
    "originalr": lib.STK_POLICY_TIMM_ORIGINALR,
}


class Step:
    """Base of the steps: a value that can be compared, printed, pickled, and given to a transform.

    A step's random choices depend on (seed, epoch, sample, view) and on its place among the steps alone. They
    have the distribution that torchvision's have; what is done to the pixels is what torchvision does to a
    Pillow image, byte for byte, unless the class says otherwise.
    """

    _kind: int
    _moves = False  # whether pixels change places or are lost
    p: float
    views: tuple[int, ...] = ()  # empty: all

    def _fill(self, raw: Any) -> None:
        """Writes this step into an stk_step."""
        lib.stk_step_init(raw, self._kind)
        raw.probability = self.p
        raw.views = sum(1 << view for view in set(self.views))

    def for_views(self, *views: int) -> Step:
        """A copy that is taken on these views only (``n_views=``): 0 is the first. BYOL's two views differ so."""
        if not views or not all(isinstance(v, int) and 0 <= v < 32 for v in views):
            raise ArgumentError(f"for_views{views!r}: give numbers of views, 0 ... 31")
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.views = tuple(sorted(set(views)))
        return copy

    def __repr__(self) -> str:
        fields = ", ".join(
            f"{k}={v!r}" for k, v in self.__dict__.items() if not k.startswith("_") and k != "views"
        )
        chosen = f".for_views({', '.join(map(str, self.views))})" if self.views else ""
        return f"stoker.{type(self).__name__}({fields}){chosen}"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == getattr(other, "__dict__", None)

    def __hash__(self) -> int:
        return hash(repr(self))


class ColorJitter(Step):
    """torchvision's ColorJitter: brightness, contrast, saturation and hue changed, in a random order.

    brightness, contrast, saturation: a strength s for factors from max(0, 1 - s) to 1 + s, or (lowest,
    highest). hue: a strength up to 0.5 for shifts from -hue to hue, or (lowest, highest). p: how often.
    """

    def __init__(
        self, brightness: Range = 0, contrast: Range = 0, saturation: Range = 0, hue: Range = 0, *, p: float = 1.0
    ) -> None:
        self._kind = lib.STK_STEP_COLOR_JITTER
        self.brightness = _jitter("brightness", brightness, 1.0, (0.0, math.inf))
        self.contrast = _jitter("contrast", contrast, 1.0, (0.0, math.inf))
        self.saturation = _jitter("saturation", saturation, 1.0, (0.0, math.inf))
        self.hue = _jitter("hue", hue, 0.0, (-0.5, 0.5))
        self.p = probability("p", p)

    def _fill(self, raw: Any) -> None:
        super()._fill(raw)
        raw.brightness, raw.contrast, raw.saturation = self.brightness, self.contrast, self.saturation
        raw.hue = self.hue


class GaussianBlur(Step):
    """torchvision's GaussianBlur, within one level of it.

    kernel_size: an odd number, or (width, height). sigma: (lowest, highest), or one number. p: how often.
    """

    def __init__(
        self, kernel_size: Union[int, tuple[int, int]] = 23, sigma: Range = (0.1, 2.0), *, p: float = 1.0
    ) -> None:
        self._kind = lib.STK_STEP_BLUR
        give = "give an odd number, 1 ... 255, or two"
        given = (kernel_size,) if single(kernel_size) else reals("kernel_size", kernel_size, give)
        sides = [whole("kernel_size", side, 1, 255, give) for side in given]
        self.kernel_size = (sides[0], sides[-1])
        if len(sides) > 2 or not all(side % 2 for side in sides):
            raise ArgumentError(f"kernel_size={kernel_size!r}: {give}")
        self.sigma = _pair_of("sigma", sigma)
        if self.sigma[0] <= 0:
            raise ArgumentError(f"sigma={sigma!r}: must be above 0")
        self.p = probability("p", p)

    def _fill(self, raw: Any) -> None:
        super()._fill(raw)
        raw.kernel_width, raw.kernel_height = self.kernel_size
        raw.value = self.sigma


class _Moving(Step):
    """A step whose operations may move pixels: with which filter, and what comes in from outside."""

    _moves = True
    interpolation: str
    fill: Fill

    def _moving(self, interpolation: str, fill: Any) -> None:
        if interpolation not in ("nearest", "bilinear", "bicubic", "random"):
            raise ArgumentError(
                f"interpolation={interpolation!r}: use 'nearest', 'bilinear', 'bicubic' or 'random'"
            )
        self.interpolation = interpolation
        self.fill = fill_color(fill)

    def _fill(self, raw: Any) -> None:
        super()._fill(raw)
        raw.mixed_filters = self.interpolation == "random"
        raw.filter = FILTERS["bilinear" if raw.mixed_filters else self.interpolation]
        for channel, level in enumerate((self.fill,) * 3 if isinstance(self.fill, int) else self.fill):
            raw.fill[channel] = level


class RandAugment(_Moving):
    """torchvision's RandAugment: num_ops of 14 operations, one after the other, at one magnitude.

    magnitude: 0 ... num_magnitude_bins - 1. interpolation: how pixels are moved. fill: the colour of what comes
    in from outside, one number or one a channel.
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: str = "nearest",
        fill: Optional[Fill] = None,
        *,
        p: float = 1.0,
    ) -> None:
        self._kind = lib.STK_STEP_RAND_AUGMENT
        self.num_ops = whole("num_ops", num_ops, 0, 16, "give a whole number, 0 ... 16")
        self.num_magnitude_bins = _bins(num_magnitude_bins)
        highest = self.num_magnitude_bins - 1
        self.magnitude = whole("magnitude", magnitude, 0, highest, f"give a whole number, 0 ... {highest}")
        self._moving(interpolation, fill)
        self.p = probability("p", p)

    def _fill(self, raw: Any) -> None:
        super()._fill(raw)
        raw.n_ops, raw.magnitude, raw.n_bins = self.num_ops, self.magnitude, self.num_magnitude_bins


class TrivialAugmentWide(_Moving):
    """torchvision's TrivialAugmentWide: one of 14 operations at a random magnitude. Arguments as RandAugment's."""

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: str = "nearest",
        fill: Optional[Fill] = None,
        *,
        p: float = 1.0,
    ) -> None:
        self._kind = lib.STK_STEP_TRIVIAL_AUGMENT
        self.num_magnitude_bins = _bins(num_magnitude_bins)
        self._moving(interpolation, fill)
        self.p = probability("p", p)

    def _fill(self, raw: Any) -> None:
        super()._fill(raw)
        raw.n_bins = self.num_magnitude_bins


class AutoAugment(_Moving):
    """torchvision's AutoAugment: one of the 25 learnt pairs of operations of a policy.

    policy: "imagenet", "cifar10" or "svhn". Other arguments as RandAugment's.
    """

    def __init__(
        self,
        policy: str = "imagenet",
        interpolation: str = "nearest",
        fill: Optional[Fill] = None,
        *,
        p: float = 1.0,
    ) -> None:
        self._kind = lib.STK_STEP_AUTO_AUGMENT
        constant(_POLICIES, "policy", policy)
        self.policy = policy
        self._moving(interpolation, fill)
        self.p = probability("p", p)

    def _fill(self, raw: Any) -> None:
        super()._fill(raw)
        raw.policy = _POLICIES[self.policy]


class TimmAugment(_Moving):
    """timm's RandAugment and AutoAugment by its configuration strings.

    config: "rand-m9-mstd0.5-inc1" and its like (m: magnitude, n: operations, p: how often each is taken, mstd:
    noise on the magnitude, mmax: its bound, inc: whether all grow stronger with it), or "v0", "v0r", "original",
    "originalr", each also with -mstd. interpolation: "random" as in timm, or a filter. fill: timm's is the mean
    colour, ImageNet's here. Raises UnsupportedError for what is not done: augmix, weighted choice. "3a"
    is :class:`ThreeAugment`.
    """

    def __init__(
        self,
        config: str = "rand-m9-mstd0.5-inc1",
        interpolation: str = "random",
        fill: Optional[Fill] = (124, 116, 104),
        *,
        p: float = 1.0,
    ) -> None:
        self.config = config
        name, *sections = str(config).split("-")
        if name != "rand" and name not in _TIMM_POLICIES:
            raise UnsupportedError(f"auto_augment={config!r}: {name!r} cannot be done; there are {_AUTO}")
        known = ("m", "n", "p", "mstd", "mmax", "inc") if name == "rand" else ("mstd",)
        self._values = _timm_sections(config, sections, known)
        self._policy = _TIMM_POLICIES.get(name)
        self._kind = lib.STK_STEP_TIMM_RAND if name == "rand" else lib.STK_STEP_AUTO_AUGMENT
        self._moving(interpolation, fill)
        self.p = probability("p", p)

    def _fill(self, raw: Any) -> None:
        super()._fill(raw)
        values = self._values
        if self._policy is not None:
            raw.policy = self._policy
        raw.n_ops = int(values.get("n", 2))
        raw.magnitude = int(values.get("m", 10))
        raw.magnitude_std = min(values.get("mstd", 0.0), 1e6)
        raw.magnitude_max = int(values.get("mmax", 0)) or 10
        raw.op_probability = values.get("p", 0.5)
        raw.increasing = bool(int(values.get("inc", 0)))


class ThreeAugment(Step):
    """DeiT III's, timm's "3a": one of solarize (from 128 on), grayscale and Gaussian blur (a radius of 0.1 ... 2).

    The blur is Pillow's ImageFilter.GaussianBlur, byte for byte. p: how often.
    """

    def __init__(self, *, p: float = 1.0) -> None:
        self._kind = lib.STK_STEP_AUTO_AUGMENT
        self.p = probability("p", p)

    def _fill(self, raw: Any) -> None:
        super()._fill(raw)
        raw.policy = lib.STK_POLICY_TIMM_3A


class RandomErasing(Step):
    """torchvision's RandomErasing, and timm's: boxes of the finished, normalised image are overwritten.

    Must be the last step. scale: the erased share of the area. ratio: height / width. value: a number, one a
    channel, "random" (each value from the standard normal distribution) or "color" (one such colour a box; timm's
    "rand"). count: boxes an image, or (lowest, highest); they share the area. In uint8 batches numbers are
    levels, and random values the levels that would be normalised to them.
    """

    def __init__(
        self,
        p: float = 0.5,
        scale: tuple[float, float] = (0.02, 0.33),
        ratio: tuple[float, float] = (0.3, 3.3),
        value: Union[float, Sequence[float], str] = 0,
        *,
        count: Union[int, tuple[int, int]] = 1,
    ) -> None:
        self._kind = lib.STK_STEP_ERASE
        self.p = probability("p", p)
        self.scale, self.ratio = _pair_of("scale", scale), _pair_of("ratio", ratio)
        if not 0 <= self.scale[0] <= self.scale[1] <= 1:
            raise ArgumentError(f"scale={scale!r}: give shares of the area, 0 ... 1")
        if self.ratio[0] <= 0:
            raise ArgumentError(f"ratio={ratio!r}: must be above 0")
        self.value: Union[str, tuple[float, ...]]
        if isinstance(value, str):
            if value not in ("random", "color"):
                raise ArgumentError(f"value={value!r}: give a number, one a channel, 'random' or 'color'")
            self.value = value
        else:
            give = "give one number, or three, 'random' or 'color'"
            self.value = reals("value", (value,) if single(value) else value, give)
            if len(self.value) not in (1, 3):
                raise ArgumentError(f"value={value!r}: {give}")
        give = "give 1 ... 16 boxes, or (lowest, highest)"
        counts = [whole("count", n, 1, 16, give) for n in _pair_of("count", count)]
        self.count = (counts[0], counts[1])

    def _fill(self, raw: Any) -> None:
        super()._fill(raw)
        raw.area, raw.aspect = self.scale, self.ratio
        raw.n_boxes_min, raw.n_boxes_max = self.count
        if self.value == "random":
            raw.erase_value = lib.STK_ERASE_PIXEL
        elif self.value == "color":
            raw.erase_value = lib.STK_ERASE_COLOR
        else:
            raw.erase_constant = self.value * 3 if len(self.value) == 1 else self.value


# One operation each


class _Op(Step):
    _op: int
    _range: tuple[float, float] = (0.0, 0.0)

    def __init__(self, p: float = 0.5) -> None:
        self._kind = lib.STK_STEP_OP
        self.p = probability("p", p)

    def _fill(self, raw: Any) -> None:
        super()._fill(raw)
        raw.op, raw.value = self._op, self._range


class RandomGrayscale(_Op):
    """torchvision's RandomGrayscale: convert("L"), on all channels, with probability p."""

    _op = lib.STK_OP_GRAYSCALE

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)


class RandomAutocontrast(_Op):
    """torchvision's RandomAutocontrast: ImageOps.autocontrast with probability p."""

    _op = lib.STK_OP_AUTOCONTRAST


class RandomEqualize(_Op):
    """torchvision's RandomEqualize: ImageOps.equalize with probability p."""

    _op = lib.STK_OP_EQUALIZE


class RandomInvert(_Op):
    """torchvision's RandomInvert, with probability p."""

    _op = lib.STK_OP_INVERT


class RandomVerticalFlip(_Op):
    """torchvision's RandomVerticalFlip: upside down with probability p."""

    _op = lib.STK_OP_FLIP_VERTICAL
    _moves = True


class RandomSolarize(_Op):
    """torchvision's RandomSolarize: levels from threshold on are inverted, with probability p."""

    _op = lib.STK_OP_SOLARIZE

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = real("threshold", threshold, -math.inf, math.inf, "give a level, 0 ... 255")
        self._range = (self.threshold, self.threshold)


class RandomPosterize(_Op):
    """torchvision's RandomPosterize: bits (0 ... 8) of each level are kept, with probability p."""

    _op = lib.STK_OP_POSTERIZE

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = whole("bits", bits, 0, 8, "give a whole number, 0 ... 8")
        self._range = (self.bits, self.bits)


class RandomAdjustSharpness(_Op):
    """torchvision's RandomAdjustSharpness: ImageEnhance.Sharpness by a factor, with probability p."""

    _op = lib.STK_OP_SHARPNESS

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        give = "give a number, 0 or more"
        self.sharpness_factor = real("sharpness_factor", sharpness_factor, 0, 1e6, give)
        self._range = (self.sharpness_factor, self.sharpness_factor)


class RandomRotation(_Moving):
    """torchvision's RandomRotation about the centre, the size kept: by an angle between -degrees and degrees, or
    between two numbers, counter-clockwise. Other arguments as RandAugment's."""

    def __init__(
        self, degrees: Range, interpolation: str = "nearest", fill: Optional[Fill] = None, *, p: float = 1.0
    ) -> None:
        self._kind = lib.STK_STEP_OP
        both: Any = (-degrees, degrees) if isinstance(degrees, (int, float)) else degrees
        self.degrees = _pair_of("degrees", both)
        self._moving(interpolation, fill)
        self.p = probability("p", p)

    def _fill(self, raw: Any) -> None:
        super()._fill(raw)
        raw.op, raw.value = lib.STK_OP_ROTATE, self.degrees


class RandomAffine(_Moving):
    """torchvision's RandomAffine about the centre, the size kept.

    degrees: as :class:`RandomRotation`'s, but clockwise, as there. translate: the largest shift as a share of the
    width and of the height. scale: (lowest, highest) factor. shear: degrees along x, a strength or (lowest,
    highest), or four numbers, two along x and two along y. Other arguments as RandAugment's.
    """

    def __init__(
        self,
        degrees: Range,
        translate: Optional[tuple[float, float]] = None,
        scale: Optional[tuple[float, float]] = None,
        shear: Union[float, Sequence[float], None] = None,
        interpolation: str = "nearest",
        fill: Optional[Fill] = 0,
        *,
        p: float = 1.0,
    ) -> None:
        self._kind = lib.STK_STEP_AFFINE
        both: Any = (-degrees, degrees) if isinstance(degrees, (int, float)) else degrees
        self.degrees = _pair_of("degrees", both)
        give = "give shares of the width and of the height, 0 ... 1"
        shares = (0.0, 0.0) if translate is None else reals("translate", translate, give)
        if len(shares) != 2 or not all(0 <= v <= 1 for v in shares):
            raise ArgumentError(f"translate={translate!r}: {give}")
        self.translate = (shares[0], shares[1])
        self.scale = (1.0, 1.0) if scale is None else _pair_of("scale", scale)
        if not 1e-3 <= self.scale[0] <= self.scale[1] <= 1e3:
            raise ArgumentError(f"scale={scale!r}: give (lowest, highest), within 0.001 ... 1000")
        self.shear = _shear(shear)
        self._moving(interpolation, fill)
        self.p = probability("p", p)

    def _fill(self, raw: Any) -> None:
        super()._fill(raw)
        raw.value, raw.translate, raw.scale = self.degrees, self.translate, self.scale
        raw.shear_x, raw.shear_y = self.shear[:2], self.shear[2:]


def _shear(shear: Union[float, Sequence[float], None]) -> tuple[float, float, float, float]:
    give = "give one angle, two, or four (x, then y), within -89 ... 89 degrees"
    if shear is None:
        angles: tuple[float, ...] = (0.0, 0.0)
    else:
        angles = (-shear, shear) if isinstance(shear, (int, float)) else reals("shear", shear, give)
    whole = angles if len(angles) == 4 else (*angles, 0.0, 0.0)
    if len(whole) != 4 or whole[0] > whole[1] or whole[2] > whole[3] or not all(-89 <= v <= 89 for v in whole):
        raise ArgumentError(f"shear={shear!r}: {give}")
    return float(whole[0]), float(whole[1]), float(whole[2]), float(whole[3])


# What transforms take for short

_AUTO = '"ra", "ta", "3a", "imagenet", "cifar10", "svhn", or timm\'s "rand-m9-mstd0.5-inc1", "v0", "original" ...'


def auto_augment(value: Union[str, Step, None]) -> tuple[Step, ...]:
    """The step for an ``auto_augment=``: a step, torchvision's "ra", "ta", "imagenet" ..., or timm's strings."""
    if value is None or value == "":
        return ()
    if isinstance(value, Step):
        return (value,)
    if not isinstance(value, str):
        raise ArgumentError(f"auto_augment={value!r}: give {_AUTO}, or a step, stoker.RandAugment() say")
    if value == "ra":
        return (RandAugment(),)
    if value in ("ta", "ta_wide"):
        return (TrivialAugmentWide(),)
    if value in _POLICIES:
        return (AutoAugment(value),)
    if value == "3a":
        return (ThreeAugment(),)
    if value == "augmix":
        raise UnsupportedError("auto_augment='augmix' cannot be done; use 'ra', 'ta' or 'imagenet'")
    return (TimmAugment(value),)


def color_jitter(value: Union[float, Sequence[float], ColorJitter, None]) -> tuple[Step, ...]:
    """The step for a ``color_jitter=``: one strength for brightness, contrast and saturation, or three or four."""
    if value is None or (isinstance(value, (int, float)) and value == 0):
        return ()
    if isinstance(value, ColorJitter):
        return (value,)
    if isinstance(value, (int, float)):
        return (ColorJitter(value, value, value),)
    give = "give one strength, or brightness, contrast, saturation and maybe hue, or a stoker.ColorJitter"
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)) or len(value) not in (3, 4):
        raise ArgumentError(f"color_jitter={value!r}: {give}")
    strengths = tuple(value)
    return (ColorJitter(*strengths),)


def training_steps(
    auto: Union[str, Step, None],
    jitter: Union[float, Sequence[float], ColorJitter, None],
    grayscale: float,
    blur: Union[float, GaussianBlur, None],
    steps: Sequence[Step],
    erasing: Union[float, RandomErasing, None],
) -> tuple[Step, ...]:
    """All steps in the order in which torchvision's and timm's recipes have them."""
    chain = [*auto_augment(auto), *color_jitter(jitter)]
    if probability("grayscale", grayscale):
        chain.append(RandomGrayscale(grayscale))
    if isinstance(blur, GaussianBlur):
        chain.append(blur)
    elif blur is not None and probability("blur", blur):
        chain.append(GaussianBlur(p=blur))
    if isinstance(steps, (Step, str)) or not isinstance(steps, Iterable):
        raise ArgumentError(f"steps={steps!r}: give a list of steps, [stoker.GaussianBlur()] say")
    for step in steps:
        if not isinstance(step, Step):
            raise ArgumentError(f"steps: {step!r} is no step; give stoker.ColorJitter(...) and its like")
        chain.append(step)
    if isinstance(erasing, RandomErasing):
        chain.append(erasing)
    elif erasing is not None and probability("erasing", erasing):
        chain.append(RandomErasing(erasing))
    if len(chain) > lib.STK_STEPS_MAX:
        raise ArgumentError(f"steps: {len(chain)} of them; at most {lib.STK_STEPS_MAX} are done")
    for step in chain[:-1]:
        if isinstance(step, RandomErasing):
            raise ArgumentError("RandomErasing must be the last step: it works on the finished pixels")
    return tuple(chain)


def probability(option: str, value: Any) -> float:
    return real(option, value, 0, 1, "give a probability, 0 ... 1")


def fill_color(fill: Any) -> Fill:
    """One level, or three."""
    if fill is None:
        return 0
    give = "give 0 ... 255, one number or one a channel"
    levels = reals("fill", (fill,) if single(fill) else fill, give)
    if len(levels) not in (1, 3) or not all(0 <= int(v) <= 255 for v in levels):
        raise ArgumentError(f"fill={fill!r}: {give}")
    return int(levels[0]) if len(levels) == 1 else tuple(int(v) for v in levels)


def _bins(value: Any) -> int:
    return whole("num_magnitude_bins", value, 2, 10000, "give a whole number, 2 ... 10000")


def _pair_of(option: str, value: Any) -> tuple[float, float]:
    give = "give (lowest, highest)"
    both = reals(option, (value, value) if single(value) else value, give)
    if len(both) != 2 or both[0] > both[1]:
        raise ArgumentError(f"{option}={value!r}: {give}")
    return both[0], both[1]


def _jitter(option: str, value: Any, centre: float, bound: tuple[float, float]) -> tuple[float, float]:
    """torchvision's rule: a strength lies around the neutral value, factors stop at 0."""
    if single(value):
        if value < 0:
            raise ArgumentError(f"{option}={value!r}: must not be below 0")
        low = centre - float(value)
        both = (max(low, 0.0) if centre else low, centre + float(value))
    else:
        both = _pair_of(option, value)
    if not bound[0] <= both[0] <= both[1] <= bound[1] or both[1] > 1e6:
        raise ArgumentError(f"{option}={value!r}: must lie within {bound[0]} ... {bound[1]}")
    return both


def _timm_sections(config: str, sections: Sequence[str], known: Sequence[str]) -> dict[str, float]:
    values: dict[str, float] = {}
    for section in sections:
        match = re.fullmatch(r"([a-z]+)(\d+(?:\.\d+)?|inf)", section)
        if match is None or match[1] not in known:
            raise UnsupportedError(
                f"auto_augment={config!r}: {section!r} cannot be done; there are {', '.join(known)} with a number"
            )
        values.setdefault(match[1], float(match[2]))
    if not 0 <= values.get("p", 0.5) <= 1 or values.get("n", 2) > 16:
        raise ArgumentError(f"auto_augment={config!r}: p must be 0 ... 1 and n at most 16")
    return values
