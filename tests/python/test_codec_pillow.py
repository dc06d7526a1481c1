#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decoded pixels equal Pillow's convert('RGB') and convert('L'), byte for byte: a zoo of generated files of every
format, and the photos of the corpus ($STOKER_CORPUS) when they are there.

    test_codec_pillow.py CODEC_DUMP       (CODEC_DUMP: the program of tests/corpus/codec_dump.c)

Exit code 77 (skipped) without Pillow or numpy.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

try:
    import numpy as np
    import PIL
    from PIL import Image
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

from image_zoo import zoo

warnings.simplefilter("ignore")
Image.MAX_IMAGE_PIXELS = None
# What Pillow reads wrongly or not at all before version 13.
NEW_IN_13 = ("bmp_rle4", "tiff_1_8_2_0_", "pil_ycbcr_raw")
UNTURNED = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # orientation -> Image.Transpose that undoes it


def decoded(program: str, paths: list[Path], mode: str) -> Iterator[tuple[Path, dict]]:
    """stoker's result for each path."""
    with subprocess.Popen([program, mode.lower()], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        for path in paths:
            process.stdin.write(os.fsencode(path) + b"\n")
            process.stdin.flush()
            head, _, text = process.stdout.readline().decode("utf-8", "replace").rstrip("\n").partition("\t")
            status, kinds, encoding, width, height, channels, turn, _probed = head.split(" ")
            shape = int(height), int(width), int(channels)
            result = {"status": status, "kinds": int(kinds), "encoding": encoding, "turn": int(turn), "text": text}
            if status == "ok":
                data = process.stdout.read(shape[0] * shape[1] * shape[2])
                result["pixels"] = np.frombuffer(data, np.uint8).reshape(shape)
            yield path, result
        process.stdin.close()


def scaled_grey(image: Image.Image, path: Path) -> np.ndarray | None:
    """Grey of more than 8 bits by stoker's rule (docs/pixels.md); Pillow would clip it. None for other images."""
    if image.mode not in ("I", "I;16", "I;16B"):
        return None
    samples = np.asarray(image).astype(np.int64)
    if path.suffix == ".ppm":  # Pillow has scaled them to 65535; the maxval is in the name
        maxval = int(path.stem.split("_")[2])
        return np.rint(np.rint(samples / 65535 * maxval) / maxval * 255).astype(np.uint8)
    return (samples >> (4 if "tiff_12" in path.name else 8)).astype(np.uint8)


def expected(path: Path, mode: str) -> tuple[np.ndarray, int]:
    with Image.open(path) as image:
        turn = image.getexif().get(0x0112, 1)
        turn = turn if turn in range(1, 9) else 1
        grey = scaled_grey(image, path)
        if grey is not None:
            return grey[:, :, None] if mode == "L" else np.repeat(grey[:, :, None], 3, axis=2), turn
        image.load()
        if image.format == "TIFF" and turn != 1:  # Pillow turns TIFFs by itself, and only those
            image = image.transpose(Image.Transpose(UNTURNED[turn]))
        pixels = np.asarray(image.convert(mode))
        return pixels if pixels.ndim == 3 else pixels[:, :, None], turn


def compare(program: str, paths: list[Path]) -> tuple[int, int]:
    compared = failed = 0
    for mode in ("RGB", "L"):
        for path, result in decoded(program, paths, mode):
            try:
                want, turn = expected(path, mode)
            except Exception as error:
                print(f"{path.name} {mode}: Pillow {type(error).__name__}: {error}; stoker {result['status']}")
                failed += 1
                continue
            compared += 1
            if result["status"] != "ok" or result["kinds"] != 0:
                print(f"{path.name} {mode}: {result['status']} {result['kinds']} {result['text']}")
                failed += 1
            elif not np.array_equal(want, result["pixels"]) or turn != result["turn"]:
                got = result["pixels"]
                how = (
                    f"{want.shape} {got.shape}"
                    if want.shape != got.shape
                    else f"{(want != got).any(axis=2).sum()} pixels"
                )
                print(f"{path.name} {mode}: differs ({how}; orientation {turn} {result['turn']})")
                failed += 1
    return compared, failed


def main() -> int:
    program = sys.argv[1]
    total = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        files = list(zoo(Path(folder)))
        if int(PIL.__version__.split(".")[0]) < 13:
            files = [path for path in files if not path.name.startswith(NEW_IN_13)]
        compared, failed = compare(program, files)
    print(f"Pillow {PIL.__version__}, generated files: {compared} comparisons, {failed} failed")
    total, bad = total + compared, bad + failed
    corpus = os.environ.get("STOKER_CORPUS")
    if corpus:
        photos = (
            sorted(Path(corpus, "photos").rglob("*.JPEG"))[::4]
            + sorted(Path(corpus, "clothing").rglob("*.jpg"))[::10]
        )
        compared, failed = compare(program, photos)
        print(f"photos: {compared} comparisons, {failed} failed")
        total, bad = total + compared, bad + failed
    return 1 if bad or total < 500 else 0


if __name__ == "__main__":
    sys.exit(main())
