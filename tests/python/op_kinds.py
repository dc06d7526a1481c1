# SPDX-License-Identifier: Apache-2.0
"""The operations on pixels, in the order of stk_op_kind (include/stoker/transform.h)."""

KINDS = [
    "identity",
    "shear_x",
    "shear_y",
    "translate_x",
    "translate_y",
    "rotate",
    "brightness",
    "saturation",
    "contrast",
    "sharpness",
    "posterize",
    "solarize",
    "autocontrast",
    "equalize",
    "invert",
    "hue",
    "grayscale",
    "blur",
    "solarize_add",
    "flip_vertical",
    "box_blur",
    "affine",
]
