# SPDX-License-Identifier: Apache-2.0
"""torchvision's transforms, translated to ours. torchvision is not imported: steps are known by their names."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Optional

from stoker._errors import ArgumentError, UnsupportedError
from stoker._mix import Mix
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
    auto_augment,
    color_jitter,
    fill_color,
    training_steps,
)
from stoker._transforms import AsStored, Eval, PadCrop, Resize, Train, Transform
from stoker._translated import Translated

_FILTERS = ("bilinear", "bicubic", "box", "hamming", "lanczos", "nearest")
# Steps that decide the size of the image: without them a batch cannot be put together.
_GEOMETRY = ("RandomResizedCrop", "Resize", "CenterCrop", "RandomCrop")
_TO_FLOAT = ("ToTensor", "ConvertImageDtype", "ToDtype")
# RandomErasing may come after them.
_MOST_STEPS = 15
_TO_TENSOR = ("PILToTensor", "ToImage", "ToImageTensor", "ToPureTensor")


class _Reading:
    """What has been understood so far."""

    def __init__(self) -> None:
        self.transform: Optional[Transform] = None
        self.short: Optional[tuple[int, Any]] = None  # Resize(int) that waits for its CenterCrop
        self.flip: Optional[float] = None
        self.is_float = False
        self.norm = "v1"
        self.mean: Optional[list[float]] = None
        self.std: Optional[list[float]] = None
        self.steps: list[Step] = []

    def take(self, step: Any) -> bool:
        """Takes one step in; False when it cannot be translated here."""
        name = type(step).__name__
        if name in _STEPS:
            return self._add(_STEPS[name], step)
        reader = getattr(self, "_" + name, None)
        if reader is not None:
            return bool(reader(step))
        if name in _TO_FLOAT:
            return self._to_float(step, name)
        return name in _TO_TENSOR or name == "Identity"

    def _to_float(self, step: Any, name: str) -> bool:
        if self.mean is not None or (name != "ToTensor" and not _is_float32(step)):
            return False
        v2 = ".v2" in type(step).__module__
        if name == "ToDtype" and not getattr(step, "scale", False):
            return False
        self.is_float, self.norm = True, "v2" if v2 and name != "ToTensor" else "v1"
        return True

    def _RandomResizedCrop(self, step: Any) -> bool:  # noqa: N802 - torchvision's name
        name = _filter(step)
        if self._busy() or name is None:
            return False
        self.transform = Train(
            _size(step.size), scale=tuple(step.scale), ratio=tuple(step.ratio), flip=0.0, filter=name
        )
        return True

    def _Resize(self, step: Any) -> bool:  # noqa: N802
        name = _filter(step)
        if self._busy() or name is None or getattr(step, "max_size", None) is not None:
            return False
        size = step.size
        if isinstance(size, int) or len(size) == 1:
            self.short = (size if isinstance(size, int) else size[0], name)
        else:
            self.transform = Resize(_size(size), filter=name)
        return True

    def _CenterCrop(self, step: Any) -> bool:  # noqa: N802
        if self.short is None or self.transform is not None:
            return False
        resize, name = self.short
        if resize < max(_size(step.size)):
            return False  # torchvision pads here
        self.transform, self.short = Eval(_size(step.size), resize=resize, filter=name), None
        return True

    def _RandomCrop(self, step: Any) -> bool:  # noqa: N802
        padding = step.padding
        if isinstance(padding, (list, tuple)) and len(set(padding)) == 1:
            padding = padding[0]
        plain = getattr(step, "padding_mode", "constant") == "constant" and not step.pad_if_needed
        fill = getattr(step, "fill", 0)
        if self._busy() or not plain or not isinstance(padding, (int, type(None))):
            return False
        if not isinstance(fill, (int, tuple, list)):
            return False
        self.transform = PadCrop(
            _size(step.size), padding or 0, flip=0.0, fill=fill if isinstance(fill, int) else tuple(fill)
        )
        return True

    def _RandomHorizontalFlip(self, step: Any) -> bool:  # noqa: N802
        """Before or after the crop: where a crop lies is as likely as where its mirror image lies."""
        if self.flip is not None or self._erases():
            return False
        self.flip = float(step.p)
        return True

    def _Normalize(self, step: Any) -> bool:  # noqa: N802
        if not self.is_float or self.mean is not None or self._erases():
            return False
        self.mean, self.std = [float(v) for v in step.mean], [float(v) for v in step.std]
        return True

    # Steps on the pixels. Those on Pillow images come before ToTensor, erasing after it.

    def _add(self, make: Callable[[Any], Optional[Step]], step: Any) -> bool:
        if self.is_float or self.short is not None or len(self.steps) >= _MOST_STEPS:
            return False
        try:
            made = make(step)
        except ArgumentError:
            return False
        if made is not None:
            self.steps.append(made)
        return made is not None

    def _RandomApply(self, step: Any) -> bool:  # noqa: N802
        inner = _flatten(list(step.transforms))
        make = _STEPS.get(type(inner[0]).__name__) if len(inner) == 1 else None
        if make is None or not self._add(make, inner[0]):
            return False
        self.steps[-1].p *= float(step.p)
        return True

    def _RandomErasing(self, step: Any) -> bool:  # noqa: N802
        value = "random" if step.value is None else step.value
        if not self.is_float or any(isinstance(s, RandomErasing) for s in self.steps):
            return False
        try:
            self.steps.append(RandomErasing(float(step.p), tuple(step.scale), tuple(step.ratio), value))
        except ArgumentError:
            return False
        return len(self.steps) <= _MOST_STEPS

    def _erases(self) -> bool:
        return bool(self.steps) and isinstance(self.steps[-1], RandomErasing)

    def _busy(self) -> bool:
        return self.transform is not None or self.short is not None or self.is_float or bool(self.steps)

    def result(self, rest: tuple[Callable[[Any], Any], ...]) -> Translated:
        transform = self.transform or AsStored()
        if self.flip is not None:
            transform.flip = self.flip
        if self.steps:
            transform.steps = tuple(self.steps)
        return Translated(
            transform,
            dtype="float32" if self.is_float else "uint8",
            norm=self.norm,
            mean=self.mean if self.mean is not None else [0.0, 0.0, 0.0],
            std=self.std if self.std is not None else [1.0, 1.0, 1.0],
            rest=rest,
        )


def from_torchvision(compose: Any, *, strict: bool = False) -> Translated:
    """Translates a torchvision Compose (v1 or v2) for ``Loader(transform=...)``.

    Done in C: RandomResizedCrop, Resize with CenterCrop, Resize((h, w)), RandomCrop with padding,
    RandomHorizontalFlip; after these, before ToTensor: ColorJitter, RandomGrayscale, GaussianBlur, RandAugment,
    TrivialAugmentWide, AutoAugment, RandomRotation, RandomAffine, RandomVerticalFlip, RandomAutocontrast,
    RandomEqualize, RandomInvert, RandomPosterize, RandomSolarize, RandomAdjustSharpness, and RandomApply of one;
    ToTensor / PILToTensor / ToImage / ToDtype / ConvertImageDtype, Normalize; after these RandomErasing. From the
    first other step on, steps are called on the torch tensors of whole batches, and a warning names it;
    strict=True makes that an error. RandomPerspective is such a step: its matrix comes from LAPACK, whose last
    bits are its own. Raises UnsupportedError, naming the step, where the images of a batch would differ in size or
    the step cannot take tensors.
    """
    steps = _flatten(compose)
    reading = _Reading()
    for number, step in enumerate(steps):
        if reading.take(step):
            continue
        name = type(step).__name__
        where = f"step {number + 1} of the Compose, {step!r},"
        if name in _GEOMETRY or reading.short is not None:
            raise UnsupportedError(f"{where} cannot be done: it would leave images of differing sizes in a batch")
        if _wants_images(step, reading.is_float):
            raise UnsupportedError(f"{where} cannot be translated, nor called on a batch of tensors")
        if strict:
            raise UnsupportedError(f"{where} cannot be translated")
        warnings.warn(
            f"{where} is not done in C: it and what follows are called on whole batches of tensors, "
            "with the same random choice for all images of a batch",
            stacklevel=2,
        )
        return reading.result(tuple(_on_tensors(s) for s in steps[number:]))
    if reading.short is not None:
        raise UnsupportedError(
            f"Resize({reading.short[0]}) of the short side alone leaves images of differing sizes; "
            "follow it with CenterCrop, or give Resize((height, width))"
        )
    return reading.result(())


def timm(config: Any, *, train: bool = False) -> Translated:
    """timm's preprocessing for a model, for ``Loader(transform=...)``.

    config: what ``timm.data.resolve_data_config`` gives, a model's ``pretrained_cfg``, or a dict with
    "input_size", "interpolation", "mean", "std", "crop_pct" and "crop_mode". train: RandomResizedCrop and flip
    instead of the evaluation crop, and what the config has, by timm's names, of "scale", "ratio", "hflip",
    "vflip", "auto_augment", "color_jitter", "color_jitter_prob", "force_color_jitter", "grayscale_prob",
    "gaussian_blur_prob", "re_prob", "re_mode", "re_count" (also "aa", "reprob", "remode", "recount"), "mixup",
    "cutmix", "mixup_prob", "mixup_switch_prob", "mixup_mode" and "num_classes"; as in timm, auto_augment switches
    color_jitter off unless forced or "3a". Batches are float32, normalised. Raises UnsupportedError for what has
    no counterpart here.
    """
    if not isinstance(config, dict) and not hasattr(config, "__dict__"):
        raise ArgumentError(
            f"timm: config={config!r}: give what timm.data.resolve_data_config({{}}, model=model) returns, or the "
            "model's pretrained_cfg"
        )
    values = config if isinstance(config, dict) else vars(config)
    size = _size(tuple(values.get("input_size", (3, 224, 224)))[-2:])
    name: Any = values.get("interpolation") or "bicubic"
    crop_mode = values.get("crop_mode") or "center"
    crop_pct = values.get("crop_pct") or 0.875
    if name not in _FILTERS:
        raise UnsupportedError(f"timm: interpolation {name!r} cannot be done; use one of {', '.join(_FILTERS)}")
    transform: Transform
    if train:
        transform = _timm_train(values, size, name)
    elif crop_mode == "squash" and crop_pct == 1.0:
        transform = Resize(size, filter=name)
    elif crop_mode == "center" and size[0] == size[1]:
        transform = Eval(size, crop_pct=crop_pct, filter=name)
    else:
        raise UnsupportedError(
            f"timm: crop_mode {crop_mode!r} with size {size} and crop_pct {crop_pct} cannot be done"
        )
    mean = [float(v) for v in values.get("mean", (0.485, 0.456, 0.406))]
    std = [float(v) for v in values.get("std", (0.229, 0.224, 0.225))]
    return Translated(transform, dtype="float32", norm="v1", mean=mean, std=std, rest=())


def _timm_train(values: Any, size: tuple[int, int], name: Any) -> Train:
    """What transforms_imagenet_train of timm/data/transforms_factory.py makes of these settings."""

    def get(*names: str, default: Any = None) -> Any:
        return next((values[n] for n in names if values.get(n) is not None), default)

    auto = auto_augment(get("auto_augment", "aa"))
    for step in auto:
        if isinstance(step, TimmAugment):
            mean = values.get("mean", (0.485, 0.456, 0.406))
            step.fill = tuple(min(255, round(255 * x)) for x in mean)
            step.interpolation = name if name in ("nearest", "bilinear", "bicubic") else "random"
    jitter = color_jitter(get("color_jitter"))
    if auto and not get("force_color_jitter") and not isinstance(auto[0], ThreeAugment):
        jitter = ()
    for step in jitter:
        step.p = float(get("color_jitter_prob", default=1.0))
    mode = get("re_mode", "remode", default="const")
    erasing = None
    if get("re_prob", "reprob"):
        kinds: dict[str, Any] = {"const": 0, "rand": "color", "pixel": "random"}
        if mode not in kinds:
            raise UnsupportedError(f"timm: re_mode {mode!r} cannot be done; use one of {', '.join(kinds)}")
        boxes = (1, int(get("re_count", "recount", default=1)))
        p = float(get("re_prob", "reprob"))
        erasing = RandomErasing(p, (0.02, 1 / 3), (0.3, 1 / 0.3), kinds[mode], count=boxes)
    vflip = float(get("vflip", default=0.0))
    transform = Train(
        size,
        scale=tuple(get("scale", default=(0.08, 1.0))),
        ratio=tuple(get("ratio", default=(3 / 4, 4 / 3))),
        flip=float(get("hflip", default=0.5)),
        filter=name,
    )
    if get("cutmix_minmax"):
        raise UnsupportedError(f"timm: cutmix_minmax={get('cutmix_minmax')!r} cannot be done; use cutmix")
    mix = Mix(
        float(get("mixup", default=0.0)),
        float(get("cutmix", default=0.0)),
        p=float(get("mixup_prob", default=1.0)),
        switch=float(get("mixup_switch_prob", default=0.5)),
        num_classes=get("num_classes"),
        mode=get("mixup_mode", default="batch"),
        correct_lam=bool(get("correct_lam", default=True)),
    )
    if mix:
        transform.mix = mix
    steps = training_steps(
        None,
        None,
        0.0,
        None,
        [
            *([RandomVerticalFlip(vflip)] if vflip else []),
            *auto,
            *jitter,
            *([RandomGrayscale(get("grayscale_prob"))] if get("grayscale_prob") else []),
            *([GaussianBlur(23, p=get("gaussian_blur_prob"))] if get("gaussian_blur_prob") else []),
        ],
        erasing,
    )
    if steps:
        transform.steps = steps
    return transform


def _wants_images(step: Any, is_float: bool) -> bool:
    """True for callables that were written for Pillow images: they cannot be given tensors instead."""
    if type(step).__name__ == "Lambda" and not is_float:
        return True
    return "torchvision" not in type(step).__module__ and not hasattr(step, "forward")


def _flatten(step: Any) -> list[Any]:
    name = type(step).__name__
    if name == "Compose":
        return [s for inner in step.transforms for s in _flatten(inner)]
    if name == "Sequential":
        return [s for inner in step for s in _flatten(inner)]
    if isinstance(step, (list, tuple)):
        return [s for inner in step for s in _flatten(inner)]
    if not callable(step):
        raise ArgumentError(f"from_torchvision: {step!r} is no transform")
    return [step]


def _on_tensors(step: Any) -> Callable[[Any], Any]:
    """A step as it is called on a batch of uint8 or float tensors: ToTensor takes no tensors itself."""
    if type(step).__name__ == "ToTensor":
        return _to_float_tensor
    if type(step).__name__ in _TO_TENSOR:
        return _unchanged
    call: Callable[[Any], Any] = step
    return call


def _to_float_tensor(images: Any) -> Any:
    return images if images.is_floating_point() else images.float().div(255)


def _unchanged(images: Any) -> Any:
    return images


def _size(size: Any) -> tuple[int, int]:
    if isinstance(size, int):
        return size, size
    return (int(size[0]), int(size[-1]))


def _filter(step: Any) -> Any:
    interpolation = getattr(step, "interpolation", "bilinear")
    value = getattr(interpolation, "value", interpolation)
    return value if value in _FILTERS else None


def _interpolation(step: Any) -> str:
    name = _filter(step) or "nearest"
    return str(name)


def _color_jitter(step: Any) -> Step:
    ranges = [getattr(step, name) for name in ("brightness", "contrast", "saturation", "hue")]
    neutral = (1.0, 1.0, 1.0, 0.0)
    return ColorJitter(*((n, n) if r is None else tuple(r) for r, n in zip(ranges, neutral)))


def _auto_augment(step: Any) -> Step:
    return AutoAugment(str(step.policy.value), _interpolation(step), fill_color(step.fill))


def _rotation(step: Any) -> Optional[Step]:
    if step.expand or step.center is not None:
        return None
    return RandomRotation(tuple(step.degrees), _interpolation(step), fill_color(step.fill))


def _affine(step: Any) -> Optional[Step]:
    if getattr(step, "center", None) is not None:
        return None
    translate, scale = step.translate, step.scale
    return RandomAffine(
        tuple(step.degrees),
        None if translate is None else tuple(translate),
        None if scale is None else tuple(scale),
        None if step.shear is None else tuple(step.shear),
        _interpolation(step),
        fill_color(step.fill),
    )


# torchvision's class -> our step, or None where it cannot be.
_STEPS: dict[str, Callable[[Any], Optional[Step]]] = {
    "ColorJitter": _color_jitter,
    "RandomGrayscale": lambda s: RandomGrayscale(s.p),
    "GaussianBlur": lambda s: GaussianBlur(tuple(s.kernel_size), tuple(s.sigma)),
    "RandAugment": lambda s: RandAugment(
        s.num_ops, s.magnitude, s.num_magnitude_bins, _interpolation(s), fill_color(s.fill)
    ),
    "TrivialAugmentWide": lambda s: TrivialAugmentWide(
        s.num_magnitude_bins, _interpolation(s), fill_color(s.fill)
    ),
    "AutoAugment": _auto_augment,
    "RandomRotation": _rotation,
    "RandomAffine": _affine,
    "RandomVerticalFlip": lambda s: RandomVerticalFlip(s.p),
    "RandomAutocontrast": lambda s: RandomAutocontrast(s.p),
    "RandomEqualize": lambda s: RandomEqualize(s.p),
    "RandomInvert": lambda s: RandomInvert(s.p),
    "RandomPosterize": lambda s: RandomPosterize(s.bits, s.p),
    "RandomSolarize": lambda s: RandomSolarize(s.threshold, s.p),
    "RandomAdjustSharpness": lambda s: RandomAdjustSharpness(s.sharpness_factor, s.p),
}


def _is_float32(step: Any) -> bool:
    dtype = getattr(step, "dtype", None)
    return str(dtype) == "torch.float32"
