# SPDX-License-Identifier: Apache-2.0
"""What each augmentation costs an image of 224x224, beside torchvision on Pillow images; one thread, in turns.

usage: augmentations.py FOLDER [--rounds N]

FOLDER: photographs. 256 of them are cropped to 224x224 and packed as raw records. Ours is the CPU time of the
whole process an image, with the step, less that without; theirs is the CPU time of the transform's call. Of all
rounds the lowest counts: the machine may be busy. Values are drawn as in training.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, Callable

import numpy as np
import stoker
import torch
from PIL import Image
from torchvision import transforms as tv
from torchvision.transforms import functional as tf

N = 256
Call = Callable[[Image.Image], Any]


def cases() -> list[tuple[str, stoker.Step, Call]]:
    """Name, our step, their call."""

    def jitter(**one: float) -> tuple[stoker.Step, Call]:
        return stoker.ColorJitter(**one), tv.ColorJitter(**one)

    def op(step: stoker.Step, call: Call) -> tuple[stoker.Step, Call]:
        return step, call

    pairs: dict[str, tuple[stoker.Step, Call]] = {
        "brightness": jitter(brightness=0.4),
        "contrast": jitter(contrast=0.4),
        "saturation": jitter(saturation=0.4),
        "hue": jitter(hue=0.1),
        "ColorJitter(0.4, 0.4, 0.4, 0.1)": (
            stoker.ColorJitter(0.4, 0.4, 0.4, 0.1),
            tv.ColorJitter(0.4, 0.4, 0.4, 0.1),
        ),
        "grayscale": op(stoker.RandomGrayscale(1), lambda i: tf.rgb_to_grayscale(i, 3)),
        "posterize": op(stoker.RandomPosterize(4, 1), lambda i: tf.posterize(i, 4)),
        "solarize": op(stoker.RandomSolarize(128, 1), lambda i: tf.solarize(i, 128)),
        "invert": op(stoker.RandomInvert(1), tf.invert),
        "autocontrast": op(stoker.RandomAutocontrast(1), tf.autocontrast),
        "equalize": op(stoker.RandomEqualize(1), tf.equalize),
        "sharpness": op(stoker.RandomAdjustSharpness(1.27, 1), lambda i: tf.adjust_sharpness(i, 1.27)),
        "rotate, nearest": op(stoker.RandomRotation((9, 9)), lambda i: tf.rotate(i, 9.0)),
        "rotate, bilinear": op(
            stoker.RandomRotation((9, 9), "bilinear"), lambda i: tf.rotate(i, 9.0, tv.InterpolationMode.BILINEAR)
        ),
        "rotate, bicubic": op(
            stoker.RandomRotation((9, 9), "bicubic"), lambda i: tf.rotate(i, 9.0, tv.InterpolationMode.BICUBIC)
        ),
        "GaussianBlur(5)": (stoker.GaussianBlur(5), tv.GaussianBlur(5)),
        "GaussianBlur(23)": (stoker.GaussianBlur(23), tv.GaussianBlur(23)),
        "RandAugment()": (stoker.RandAugment(), tv.RandAugment()),
        "TrivialAugmentWide()": (stoker.TrivialAugmentWide(), tv.TrivialAugmentWide()),
        "AutoAugment()": (stoker.AutoAugment(), tv.AutoAugment()),
    }
    return [(name, step, call) for name, (step, call) in pairs.items()]


def pack(folder: Path, scratch: Path) -> tuple[stoker.Dataset, list[Image.Image]]:
    stoker.pack(folder, scratch / "photos.stk", encode="keep", on_bad="skip")
    ds = stoker.open(scratch / "photos.stk")
    crops = next(iter(stoker.Loader(ds, N, transform=stoker.Eval(224), shuffle=False)))[0]
    (scratch / "crops").mkdir()
    images = [Image.fromarray(pixels) for pixels in crops]
    for i, image in enumerate(images):
        image.save(scratch / "crops" / f"{i:03}.png", compress_level=1)
    stoker.pack(scratch / "crops", scratch / "crops.stk", encode="raw")
    return stoker.open(scratch / "crops.stk"), images


def ours(
    ds: stoker.Dataset, steps: list[stoker.Step], dtype: Any = "uint8", mix: stoker.Mix | None = None
) -> float:
    """Microseconds of CPU time an image."""
    transform = stoker.AsStored().with_steps(*steps)
    with stoker.Loader(ds, 64, transform=transform, shuffle=False, num_threads=1, dtype=dtype) as loader:
        for _ in loader:
            pass
        begun = time.process_time()
        for _ in range(2):
            for _ in loader:
                pass
        return (time.process_time() - begun) / (2 * N) * 1e6


def theirs(images: list[Any], call: Call) -> float:
    begun = time.process_time()
    for image in images:
        call(image)
    return (time.process_time() - begun) / len(images) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as scratch:
        ds, images = pack(args.folder, Path(scratch))
        rows = cases()
        best = np.full((len(rows) + 1, 2), np.inf)
        plain = np.inf
        tensors = [tv.functional.to_tensor(image) for image in images]
        erasing = tv.RandomErasing(1, value="random")
        float_plain = np.inf
        for _ in range(args.rounds):
            plain = min(plain, ours(ds, []))
            float_plain = min(float_plain, ours(ds, [], "float32"))
            for i, (_, step, call) in enumerate(rows):
                best[i] = np.minimum(best[i], (ours(ds, [step]), theirs(images, call)))
            noise = ours(ds, [stoker.RandomErasing(1, value="random")], "float32")
            best[-1] = np.minimum(best[-1], (noise, theirs(tensors, erasing)))
        print(f"{stoker.cpu()}; torch {torch.__version__}; a raw image without steps: {plain:.1f} us")
        print("| step | stoker, us | torchvision, us | |\n|---|---|---|---|")
        names = [name for name, _, _ in rows] + ["RandomErasing(value='random'), float32"]
        for i, name in enumerate(names):
            mine = best[i, 0] - (float_plain if i == len(rows) else plain)
            print(f"| {name} | {mine:.0f} | {best[i, 1]:.0f} | {best[i, 1] / mine:.1f} times |")


if __name__ == "__main__":
    main()
