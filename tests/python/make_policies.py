# SPDX-License-Identifier: Apache-2.0
"""Writes policies.json: what torchvision's and timm's automatic augmentations choose from, read out of them.

usage: ATEN_CPU_CAPABILITY=default make_policies.py > policies.json

Needs torch, torchvision and timm. torch.linspace rounds its last bit by the CPU's vectors; the variable asks for the
scalar code, which is what our tables follow.
"""

import json
import sys

import torch

# A torchvision whose compiled part does not fit this torch is good enough: only its Python is used.
library = torch.library.Library("torchvision", "FRAGMENT")
for name in ("nms", "qnms"):
    try:
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    except RuntimeError:
        pass

import timm  # noqa: E402
import torchvision  # noqa: E402
from timm.data import auto_augment as ta  # noqa: E402
from torchvision.transforms import autoaugment as tv  # noqa: E402

NAMES = {
    "ShearX": "shear_x",
    "ShearY": "shear_y",
    "TranslateX": "translate_x",
    "TranslateY": "translate_y",
    "Rotate": "rotate",
    "Brightness": "brightness",
    "Color": "saturation",
    "Contrast": "contrast",
    "Sharpness": "sharpness",
    "Posterize": "posterize",
    "Solarize": "solarize",
    "AutoContrast": "autocontrast",
    "Equalize": "equalize",
    "Invert": "invert",
    "Identity": "identity",
}


def value(name, magnitude):
    """_apply_op's use of a magnitude."""
    if name.startswith("Translate"):
        return float(int(magnitude))
    if name in ("Brightness", "Color", "Contrast", "Sharpness"):
        return 1.0 + magnitude
    return float(magnitude)


def space(meta):
    """Operation -> [has a sign, values of each bin, values of each bin with the sign turned]."""
    out = {}
    for name, (magnitudes, signed) in meta.items():
        numbers = [float(m) for m in magnitudes] if magnitudes.ndim else [0.0]
        out[NAMES[name]] = [signed, [value(name, m) for m in numbers], [value(name, m * -1.0) for m in numbers]]
    return out


SIZE = (200, 331)
policies = {
    p.value: [[[NAMES[n], q, b] for n, q, b in pair] for pair in tv.AutoAugment(p).policies]
    for p in tv.AutoAugmentPolicy
}

levels = [0.0, 1.0, 2.5, 5.0, 7.0, 9.0, 10.0]
timm_args = {}
for op, function in ta.LEVEL_TO_ARG.items():
    if function is None or op in ("Desaturate", "GaussianBlur", "GaussianBlurRand", "TranslateX", "TranslateY"):
        continue
    both = []
    for draw in (0.0, 1.0):  # random.random() > 0.5 turns the sign
        ta.random.random = lambda draw=draw: draw
        both.append([function(level, dict(ta._HPARAMS_DEFAULT))[0] for level in levels])
    timm_args[op] = both
hparams = dict(ta._HPARAMS_DEFAULT)
timm_policies = {
    name: [[[op.name, op.prob, op.magnitude] for op in pair] for pair in ta.auto_augment_policy(name, hparams)]
    for name in ("v0", "v0r", "original", "originalr")
}

json.dump(
    {
        "torchvision": torchvision.__version__,
        "timm": timm.__version__,
        "size": SIZE,
        "rand": space(tv.RandAugment()._augmentation_space(31, SIZE)),
        "trivial": space(tv.TrivialAugmentWide()._augmentation_space(31)),
        "auto": space(tv.AutoAugment()._augmentation_space(10, SIZE)),
        "policies": policies,
        "timm_levels": levels,
        "timm_args": timm_args,
        "timm_rand": [ta._RAND_TRANSFORMS, ta._RAND_INCREASING_TRANSFORMS],
        "timm_policies": timm_policies,
    },
    sys.stdout,
    indent=None,
    separators=(", ", ": "),
)
print()
