# SPDX-License-Identifier: Apache-2.0
"""What happens to an image between decode and batch. Each class is plain data; the work is done in C."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from stoker._enums import COLORS, FILTERS, MODES, PIXELS, constant
from stoker._errors import ArgumentError
from stoker._mix import Mix
from stoker._native import ffi, lib
from stoker._numbers import real, reals, single, whole
from stoker._numpy import np
from stoker._steps import ColorJitter, GaussianBlur, RandomErasing, Step, probability, training_steps

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from stoker._enums import Color, Filter, Mode, Pixels

Size = Union[int, tuple[int, int]]  # (height, width), or one number for both


class Transform:
    """Base of the transforms: a value that can be compared, printed, pickled, and given to a Loader.

    All take filter: "bilinear", "bicubic", "box", "hamming", "lanczos" or "nearest", as Pillow's; pixels: the
    Pillow whose bytes these are, "pillow13", or "pillow12" for 12.3 and older; color: "rgb" or "bgr"; mode:
    "RGB" (3 channels, grey images widened) or "L" (1), by default what the data set was packed with.
    """

    _kind: int
    flip: float
    size: Optional[tuple[int, int]]
    filter: str
    pixels: str
    color: str
    mode: Optional[str]
    steps: tuple[Step, ...] = ()
    mix: Optional[Mix] = None

    def _common(self, filter: str, pixels: str, color: str, mode: Optional[str]) -> None:
        constant(FILTERS, "filter", filter)
        constant(PIXELS, "pixels", pixels)
        constant(COLORS, "color", color)
        if mode is not None:
            constant(MODES, "mode", mode)
        self.filter, self.pixels, self.color, self.mode = filter, pixels, color, mode

    @property
    def shuffles(self) -> bool:
        """True for transforms made for training: a Loader shuffles under them unless told otherwise."""
        return False

    def _fill(self, raw: Any, default_mode: str) -> tuple[Any, ...]:
        """Writes this transform into an stk_transform; returns what must stay alive as long as it is used."""
        lib.stk_transform_init(raw, self._kind)
        if self.size is not None:
            raw.out_height, raw.out_width = self.size
        raw.filter = FILTERS[self.filter]
        raw.pixels = PIXELS[self.pixels]
        raw.color = COLORS[self.color]
        raw.mode = MODES[self.mode or default_mode]
        if self.mix is not None:
            self.mix._fill(ffi.addressof(raw, "mix"))
        if not self.steps:
            return ()
        steps = ffi.new("stk_step[]", len(self.steps))
        for number, step in enumerate(self.steps):
            step._fill(ffi.addressof(steps, number))
        raw.steps, raw.n_steps = steps, len(self.steps)
        return (steps,)

    def with_steps(self, *steps: Step) -> Transform:
        """A copy that takes these steps, in this order, on each image after its crop and flip."""
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.steps = training_steps(None, None, 0.0, None, steps, None)
        return copy

    def with_mix(self, mix: Mix) -> Transform:
        """A copy that mixes the images of each batch."""
        if not isinstance(mix, Mix):
            raise ArgumentError(f"with_mix({mix!r}): give a stoker.Mix, stoker.Mix(mixup=0.2) say")
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.mix = mix
        return copy

    def with_size(self, size: Size) -> Transform:
        """A copy with another output size (progressive resizing)."""
        if self.size is None:
            raise ArgumentError("AsStored() delivers images as they are: it has no output size to change")
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.size = _pair("size", size)
        return copy

    def __repr__(self) -> str:
        fields = ", ".join(f"{k}={v!r}" for k, v in self.__dict__.items() if not k.startswith("_"))
        return f"stoker.{type(self).__name__}({fields})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


class Train(Transform):
    """torchvision's RandomResizedCrop followed by RandomHorizontalFlip and, where asked for, further steps.

    size: output, pixels. scale: range of the crop's share of the image's area. ratio: range of its width /
    height. flip: probability of a flip from left to right.

    Steps on the pixels, taken in this order. auto_augment: "ra" (RandAugment), "ta" (TrivialAugmentWide),
    "imagenet", "cifar10" or "svhn" (AutoAugment), timm's strings as "rand-m9-mstd0.5-inc1", or a step such as
    :class:`RandAugment`. color_jitter: a strength for brightness, contrast and saturation, three, four with hue,
    or :class:`ColorJitter`. grayscale: a probability. blur: a probability, or :class:`GaussianBlur`. steps: any
    further ones. erasing: a probability, or :class:`RandomErasing`; on the normalised pixels.
    mixup, cutmix: alpha; batches are then mixed and their labels soft, see :class:`Mix`.
    """

    def __init__(
        self,
        size: Size = 224,
        *,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        flip: float = 0.5,
        auto_augment: Union[str, Step, None] = None,
        color_jitter: Union[float, Sequence[float], ColorJitter, None] = None,
        grayscale: float = 0.0,
        blur: Union[float, GaussianBlur, None] = None,
        steps: Sequence[Step] = (),
        erasing: Union[float, RandomErasing, None] = None,
        mixup: float = 0.0,
        cutmix: float = 0.0,
        filter: Filter = "bilinear",
        pixels: Pixels = "pillow13",
        color: Color = "rgb",
        mode: Optional[Mode] = None,
    ) -> None:
        self._kind = lib.STK_TRANSFORM_RANDOM_RESIZED_CROP
        self.size = _pair("size", size)
        self.scale = _range("scale", scale)
        self.ratio = _range("ratio", ratio)
        self.flip = probability("flip", flip)
        self._common(filter, pixels, color, mode)
        _set_steps(
            self, training_steps(auto_augment, color_jitter, grayscale, blur, steps, erasing), mixup, cutmix
        )

    @property
    def shuffles(self) -> bool:
        return True

    def _fill(self, raw: Any, default_mode: str) -> tuple[Any, ...]:
        keep = super()._fill(raw, default_mode)
        raw.scale_min, raw.scale_max = self.scale
        raw.ratio_min, raw.ratio_max = self.ratio
        raw.flip_probability = self.flip
        return keep


class Eval(Transform):
    """torchvision's Resize of the short side followed by CenterCrop.

    size: output, pixels. resize: the short side before the crop; None: floor(size / crop_pct) of the
    smaller output side, 256 for 224 (timm's rule).
    """

    def __init__(
        self,
        size: Size = 224,
        *,
        resize: Optional[int] = None,
        crop_pct: float = 0.875,
        flip: float = 0.0,
        filter: Filter = "bilinear",
        pixels: Pixels = "pillow13",
        color: Color = "rgb",
        mode: Optional[Mode] = None,
    ) -> None:
        self._kind = lib.STK_TRANSFORM_RESIZE_CENTER_CROP
        self.size = _pair("size", size)
        give = "give a share of the resized image, above 0, at most 1"
        self.crop_pct = real("crop_pct", crop_pct, sys.float_info.min, 1.0, give)
        self.resize = None if resize is None else _side("resize", resize)
        self.flip = probability("flip", flip)
        self._common(filter, pixels, color, mode)

    def _fill(self, raw: Any, default_mode: str) -> tuple[Any, ...]:
        keep = super()._fill(raw, default_mode)
        assert self.size is not None
        raw.resize_short = self.resize or math.floor(min(self.size) / self.crop_pct)
        raw.flip_probability = self.flip
        return keep


class PadCrop(Transform):
    """torchvision's RandomCrop(size, padding=pad) followed by RandomHorizontalFlip: the CIFAR recipe.

    size: output, pixels. pad: pixels added on each side, 0 for a plain random crop. fill: their colour, a
    number or one a channel. auto_augment, color_jitter, grayscale, blur, steps, erasing, mixup,
    cutmix: as :class:`Train`'s.
    """

    def __init__(
        self,
        size: Size = 32,
        pad: int = 4,
        *,
        flip: float = 0.5,
        fill: Union[int, tuple[int, ...]] = 0,
        auto_augment: Union[str, Step, None] = None,
        color_jitter: Union[float, Sequence[float], ColorJitter, None] = None,
        grayscale: float = 0.0,
        blur: Union[float, GaussianBlur, None] = None,
        steps: Sequence[Step] = (),
        erasing: Union[float, RandomErasing, None] = None,
        mixup: float = 0.0,
        cutmix: float = 0.0,
        color: Color = "rgb",
        mode: Optional[Mode] = None,
    ) -> None:
        self._kind = lib.STK_TRANSFORM_PAD_CROP
        self.size = _pair("size", size)
        self.pad = whole("pad", pad, 0, 65535, "give a whole number of pixels, 0 ... 65535")
        self.flip = probability("flip", flip)
        give = "give 0 ... 255, one number or one a channel"
        levels = (fill,) * 3 if single(fill) else reals("fill", fill, give)
        self.fill = tuple(whole("fill", level, 0, 255, give) for level in levels)
        if len(self.fill) > 4:
            raise ArgumentError(f"fill={fill!r}: {give}")
        self._common("bilinear", "pillow13", color, mode)
        _set_steps(
            self, training_steps(auto_augment, color_jitter, grayscale, blur, steps, erasing), mixup, cutmix
        )

    @property
    def shuffles(self) -> bool:
        return True

    def _fill(self, raw: Any, default_mode: str) -> tuple[Any, ...]:
        keep = super()._fill(raw, default_mode)
        raw.pad = self.pad
        raw.flip_probability = self.flip
        for channel, value in enumerate(self.fill):
            raw.fill[channel] = int(value)
        return keep


class Resize(Transform):
    """The whole image resized to size, squashing: torchvision's Resize((height, width))."""

    def __init__(
        self,
        size: Size,
        *,
        flip: float = 0.0,
        filter: Filter = "bilinear",
        pixels: Pixels = "pillow13",
        color: Color = "rgb",
        mode: Optional[Mode] = None,
    ) -> None:
        self._kind = lib.STK_TRANSFORM_RESIZE
        self.size = _pair("size", size)
        self.flip = probability("flip", flip)
        self._common(filter, pixels, color, mode)

    def _fill(self, raw: Any, default_mode: str) -> tuple[Any, ...]:
        keep = super()._fill(raw, default_mode)
        raw.flip_probability = self.flip
        return keep


class Boxes(Transform):
    """A box of your own for each record, resized to size.

    boxes: integers of shape (records of the whole data set, 4): x, y, width, height in pixels.
    """

    def __init__(
        self,
        size: Size,
        boxes: ArrayLike,
        *,
        flip: float = 0.0,
        filter: Filter = "bilinear",
        pixels: Pixels = "pillow13",
        color: Color = "rgb",
        mode: Optional[Mode] = None,
    ) -> None:
        self._kind = lib.STK_TRANSFORM_BOXES
        self.size = _pair("size", size)
        array = np.asarray(boxes)
        if array.ndim != 2 or array.shape[1] != 4 or not np.issubdtype(array.dtype, np.integer):
            raise ArgumentError("boxes: give integers of shape (records, 4): x, y, width, height")
        self.boxes: NDArray[np.int32] = np.ascontiguousarray(array, np.int32)
        if not np.array_equal(self.boxes, array):
            raise ArgumentError("boxes: numbers beyond 32 bits")
        self.flip = probability("flip", flip)
        self._common(filter, pixels, color, mode)

    def _fill(self, raw: Any, default_mode: str) -> tuple[Any, ...]:
        keep = super()._fill(raw, default_mode)
        raw.flip_probability = self.flip
        raw.boxes = ffi.cast("stk_box *", ffi.from_buffer(self.boxes))
        return (*keep, self.boxes)

    def __eq__(self, other: object) -> bool:
        """By all boxes, of which repr shows some."""
        return super().__eq__(other) and isinstance(other, Boxes) and np.array_equal(self.boxes, other.boxes)

    __hash__ = Transform.__hash__

    def _check(self, n_records: int) -> None:
        if len(self.boxes) != n_records:
            raise ArgumentError(
                f"boxes: {len(self.boxes)} rows for a data set of {n_records} records; give one each"
            )


class AsStored(Transform):
    """Images as they are stored; all images of a batch must have one size."""

    def __init__(self, *, flip: float = 0.0, color: Color = "rgb", mode: Optional[Mode] = None) -> None:
        self._kind = lib.STK_TRANSFORM_NONE
        self.size = None
        self.flip = probability("flip", flip)
        self._common("bilinear", "pillow13", color, mode)

    def _fill(self, raw: Any, default_mode: str) -> tuple[Any, ...]:
        keep = super()._fill(raw, default_mode)
        raw.flip_probability = self.flip
        return keep


def _set_steps(transform: Transform, steps: tuple[Step, ...], mixup: float, cutmix: float) -> None:
    if steps:  # a transform without steps prints none
        transform.steps = steps
    if not (single(mixup) and mixup == 0 and single(cutmix) and cutmix == 0):
        transform.mix = Mix(mixup, cutmix)


def _side(option: str, value: Any) -> int:
    return whole(option, value, 1, 65535, "give a whole number of pixels, 1 ... 65535")


def _pair(option: str, size: Any) -> tuple[int, int]:
    if isinstance(size, (tuple, list)):
        if len(size) != 2:
            raise ArgumentError(f"{option}={size!r}: give one number or (height, width)")
        return _side(option, size[0]), _side(option, size[1])
    return _side(option, size), _side(option, size)


def _range(option: str, value: Any) -> tuple[float, float]:
    give = "give (low, high) with 0 < low <= high"
    both = reals(option, value, give)
    if len(both) != 2 or not 0.0 < both[0] <= both[1]:
        raise ArgumentError(f"{option}={value!r}: {give}")
    return both[0], both[1]
