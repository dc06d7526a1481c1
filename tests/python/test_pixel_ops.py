# SPDX-License-Identifier: Apache-2.0
"""Each pixel operation compared with the installed Pillow, byte for byte: random values, filters, fills and sizes.

usage: test_pixel_ops.py BRIDGE.so [--cases N] [--seed S] [--family FAMILY]

What is called on Pillow is what torchvision's transforms (_functional_pil.py, functional.py) and timm's call there,
written out, so that neither need be installed. Pictures: photos of $STOKER_CORPUS, random pixels, flat and nearly
flat ones; RGB and grey; 1x1, 1xN, odd sizes. Blur is tested by tests/python/test_augment_torch.py. Exit code 1 at any
difference, 77 without Pillow, with one older than 12, or without a CPU for the family.
"""

import argparse
import collections
import ctypes
import math
import os
import pathlib
import random
import struct
import sys

from op_kinds import KINDS

try:
    import PIL
    from PIL import Image, ImageEnhance, ImageFilter, ImageOps
except ImportError:
    print("skipped: no Pillow")
    sys.exit(77)

FAMILIES = {"scalar": 0, "avx2": 1, "avx512": 2}
FLAGS = {"scalar": [], "avx2": ["avx2", "bmi2"], "avx512": ["avx512vbmi", "avx512_vnni", "avx512bw", "avx512dq"]}
FILTERS = {"bilinear": 0, "bicubic": 1, "nearest": 5}
AFFINE = ("affine", "shear_x", "shear_y", "translate_x", "translate_y", "rotate")


def float32(value):
    """torchvision's magnitudes are float32."""
    return struct.unpack("f", struct.pack("f", value))[0]


def inverse_matrix(center, translate, shear):
    """torchvision's _get_inverse_affine_matrix with angle 0 and scale 1."""
    sx, sy = math.radians(shear[0]), math.radians(shear[1])
    a = math.cos(-sy) / math.cos(sy)
    b = -math.cos(-sy) * math.tan(sx) / math.cos(sy) - math.sin(0.0)
    c = math.sin(-sy) / math.cos(sy)
    d = -math.sin(-sy) * math.tan(sx) / math.cos(sy) + math.cos(0.0)
    m = [d, -b, 0.0, -c, a, 0.0]
    m[2] += m[0] * (-center[0] - translate[0]) + m[1] * (-center[1] - translate[1])
    m[5] += m[3] * (-center[0] - translate[0]) + m[4] * (-center[1] - translate[1])
    m[2] += center[0]
    m[5] += center[1]
    return m


def affine(image, kind, value, name, fill):
    resample = Image.Resampling[name.upper()]
    fillcolor = fill if image.mode == "RGB" else fill[0]
    if kind == "affine":
        return image.transform(image.size, Image.Transform.AFFINE, value, resample, fillcolor=fillcolor)
    if kind == "rotate":
        return image.rotate(value, resample, False, None, fillcolor=fillcolor)
    slope = math.degrees(math.atan(value))
    if kind.startswith("shear") and value != float32(value):  # timm's, which are doubles
        matrix = (1, value, 0, 0, 1, 0) if kind == "shear_x" else (1, 0, 0, value, 1, 0)
    elif kind == "shear_x":
        matrix = inverse_matrix((0, 0), (0, 0), (slope, 0.0))
    elif kind == "shear_y":
        matrix = inverse_matrix((0, 0), (0, 0), (0.0, slope))
    elif value == int(value):
        center = [image.width * 0.5, image.height * 0.5]
        matrix = inverse_matrix(center, (value, 0) if kind == "translate_x" else (0, value), (0.0, 0.0))
    else:  # timm's, whose pixels need not be whole
        matrix = (1, 0, -value, 0, 1, 0) if kind == "translate_x" else (1, 0, 0, 0, 1, -value)
    return image.transform(image.size, Image.Transform.AFFINE, matrix, resample, fillcolor=fillcolor)


def shift_hue(image, value):
    if image.mode == "L":
        return image
    shift = int(value * 255) % 256
    h, s, v = image.convert("HSV").split()
    return Image.merge("HSV", (h.point([(i + shift) % 256 for i in range(256)]), s, v)).convert("RGB")


def grayscale(image, _):
    grey = image.convert("L")
    return grey if image.mode == "L" else Image.merge("RGB", (grey, grey, grey))


def solarize_add(image, value):
    table = [min(255, i + value) if i < 128 else i for i in range(256)]
    return image.point(table * len(image.getbands()))


def posterize(image, bits):
    mask = ~(2 ** (8 - bits) - 1)  # ImageOps.posterize, which since Pillow 13 refuses 0 bits
    return image.point([i & mask for i in range(256)] * len(image.getbands()))


OPS = {
    "identity": lambda image, v: image,
    "brightness": lambda image, v: ImageEnhance.Brightness(image).enhance(v),
    "saturation": lambda image, v: ImageEnhance.Color(image).enhance(v),
    "contrast": lambda image, v: ImageEnhance.Contrast(image).enhance(v),
    "sharpness": lambda image, v: ImageEnhance.Sharpness(image).enhance(v),
    "posterize": posterize,
    "solarize": lambda image, v: ImageOps.solarize(image, v),
    "solarize_add": solarize_add,
    "autocontrast": lambda image, v: ImageOps.autocontrast(image),
    "equalize": lambda image, v: ImageOps.equalize(image),
    "invert": lambda image, v: ImageOps.invert(image),
    "hue": shift_hue,
    "grayscale": grayscale,
    "flip_vertical": lambda image, v: image.transpose(Image.Transpose.FLIP_TOP_BOTTOM),
    "box_blur": lambda image, v: image.filter(ImageFilter.GaussianBlur(v)),
}


def draw_matrix(rng, image):
    """Scales alone (also of one axis), shifts, turns, and any numbers."""
    scale = rng.choice([1.0, rng.uniform(0.3, 3), 1 / rng.uniform(0.3, 3), -1.0])
    other = rng.choice([scale, 1.0, rng.uniform(0.3, 3)])
    shift = [rng.choice([0.0, rng.uniform(-1, 1) * size]) for size in image.size]
    if rng.random() < 0.4:
        return (scale, rng.choice([0.0, -0.0]), shift[0], rng.choice([0.0, -0.0]), other, shift[1])
    c, s = math.cos(2 * rng.random()), math.sin(2 * rng.random())
    return (c * scale, s * scale, shift[0], -s * other, c * other, shift[1])


def draw_value(rng, kind, image):
    if kind in ("shear_x", "shear_y"):
        value = rng.choice([-1, 1]) * rng.choice([0.99, 0.3]) * rng.randrange(31) / 30
        return value if rng.random() < 0.3 else float32(value)
    if kind.startswith("translate"):
        whole = rng.randrange(-image.width - 2, image.width + 3)
        if rng.random() < 0.2:  # where sums of positions are rounded to whole numbers
            return math.nextafter(whole + 0.5, rng.choice([-math.inf, math.inf]))
        return float(whole) if rng.random() < 0.6 else rng.uniform(-0.5, 0.5) * image.width
    if kind == "rotate":
        return rng.choice([rng.randrange(-30, 31) * 4.5, rng.uniform(-400, 400), 90.0, 180.0, 270.0, -90.0, 0.0])
    if kind in ("brightness", "saturation", "contrast", "sharpness"):
        return rng.choice([0.0, 1.0, rng.random(), 1 + rng.random(), 3 * rng.random(), rng.randrange(40) / 20])
    if kind == "posterize":
        return rng.randrange(9)
    if kind == "solarize":
        return rng.choice([rng.randrange(257), 255 - 8.5 * rng.randrange(31), rng.uniform(-1, 257)])
    if kind == "solarize_add":
        return rng.randrange(129)
    if kind == "hue":
        return rng.choice([rng.uniform(-0.5, 0.5), -0.5, 0.5, rng.randrange(-127, 128) / 255])
    if kind == "affine":
        return draw_matrix(rng, image)
    if kind == "box_blur":
        return rng.choice([rng.uniform(0.1, 2.0), rng.uniform(0, 30), rng.randrange(101), 0.0])
    return 0


def photos():
    corpus = os.environ.get("STOKER_CORPUS")
    if not corpus:
        return []
    return sorted(p for p in pathlib.Path(corpus, "photos").rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))


def random_picture(rng, files):
    width, height = rng.choice(
        [
            (1, 1),
            (1, rng.randrange(1, 40)),
            (rng.randrange(1, 40), 1),
            (2, 3),
            (3, 3),
            (32, 32),
            (rng.randrange(1, 90), rng.randrange(1, 90)),
            (224, 224),
            (129, 67),
        ]
    )
    kind = (
        rng.choice(["photo", "photo", "noise", "flat", "few", "dark"])
        if files
        else rng.choice(["noise", "flat", "few"])
    )
    if kind == "photo":
        with Image.open(rng.choice(files)) as source:
            picture = source.convert("RGB").resize((width, height))
    elif kind == "flat":
        picture = Image.new("RGB", (width, height), tuple(rng.randrange(256) for _ in range(3)))
    else:
        few = [rng.randrange(256) for _ in range(2)]
        draw = (
            (lambda: rng.choice(few)) if kind == "few" else (lambda: rng.randrange(60 if kind == "dark" else 256))
        )
        picture = Image.frombytes("RGB", (width, height), bytes(draw() for _ in range(width * height * 3)))
    return picture.convert("L") if rng.random() < 0.2 else picture


class Bridge:
    def __init__(self, path, family):
        self.call = ctypes.CDLL(path).bridge_pixel_op
        self.family = FAMILIES[family]

    def __call__(self, image, kind, value, name="nearest", fill=(0, 0, 0), kernel=(0, 0)):
        matrix = value if kind == "affine" else (0,) * 6
        value = 0 if kind == "affine" else value
        data = image.tobytes()
        pixels = ctypes.create_string_buffer(data + b"\xa5" * 64, len(data) + 64)
        shape = (ctypes.c_uint32 * 3)(*image.size, len(image.getbands()))
        more = struct.pack("6I6d", FILTERS[name], *fill, *kernel, *matrix)
        if self.call(self.family, pixels, shape, KINDS.index(kind), ctypes.c_double(value), more, None) != 0:
            sys.exit("the bridge failed")
        if pixels.raw[len(data) :] != b"\xa5" * 64:
            sys.exit(f"{kind} wrote past the picture")
        return pixels.raw[: len(data)]


def all_colors(bridge):
    """The two operations with several inputs a byte, on every colour of a 64-level cube, and hue on every hue byte."""
    cube = bytes(
        v for r in range(0, 256, 4) for g in range(0, 256, 4) for b in range(1, 256, 4) for v in (r, g, b)
    )
    image = Image.frombytes("RGB", (512, 512), cube)
    wrong = 0
    for value in [0.0, -0.5, 0.5, 0.1, -0.03, 0.37]:
        wrong += bridge(image, "hue", value) != shift_hue(image, value).tobytes()
        wrong += bridge(image, "saturation", value + 1) != OPS["saturation"](image, value + 1).tobytes()
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bridge")
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", default="scalar", choices=FAMILIES)
    args = parser.parse_args()
    if int(PIL.__version__.split(".")[0]) < 12:
        print("skipped: Pillow", PIL.__version__, "is older than 12")
        return 77
    flags = pathlib.Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n")[0].split()
    if not set(FLAGS[args.family]) <= set(flags):
        print("skipped: no CPU for", args.family)
        return 77
    rng = random.Random(args.seed)
    files = photos()
    bridge = Bridge(args.bridge, args.family)
    done, wrong = collections.Counter(), collections.Counter()
    names = [k for k in KINDS if k != "blur"]
    for i in range(args.cases):
        kind = names[i % len(names)]
        image = random_picture(rng, files)
        value = draw_value(rng, kind, image)
        name, fill = rng.choice(list(FILTERS)), tuple(rng.randrange(256) for _ in range(3))
        expected = affine(image, kind, value, name, fill) if kind in AFFINE else OPS[kind](image, value)
        got = bridge(image, kind, value, name, fill)
        done[kind] += 1
        if got != expected.tobytes():
            wrong[kind] += 1
            if sum(wrong.values()) <= 10:
                n = sum(a != b for a, b in zip(got, expected.tobytes()))
                print(f"{kind} value {value!r} {name} fill {fill} {image.mode} {image.size}: {n} bytes differ")
    n_cube = all_colors(bridge)
    print(
        f"{args.family}, Pillow {PIL.__version__}, {len(files)} photos: {sum(done.values())} cases, "
        f"{sum(wrong.values())} differ {dict(wrong)}; colour cube: {n_cube} of 12 differ"
    )
    return 1 if wrong or n_cube else 0


if __name__ == "__main__":
    sys.exit(main())
