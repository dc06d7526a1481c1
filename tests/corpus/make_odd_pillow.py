#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes odd_pillow13.tsv: what Pillow makes of the odd files that must decode, as XXH3-64 of the pixels.

    python make_odd_pillow.py CORPUS/odd > odd_pillow13.tsv      (needs Pillow 13, numpy, xxhash)

test_codec_odd.c holds stoker's decoders against it. Where docs/pixels.md departs from Pillow (grey of more than 8
bits is scaled, not clipped), the same rule is applied here to Pillow's own samples.
"""

import csv
import io
import sys
import warnings
from pathlib import Path

import numpy as np
import PIL
import xxhash
from PIL import Image

warnings.simplefilter("ignore")


def deep_grey(image, data):
    """uint8 grey of an image of 16 bits (mode I;16 or I), by stoker's rule; None for other modes."""
    if image.mode.startswith("I;16"):
        return (np.asarray(image).astype(np.uint32) >> 8).astype(np.uint8)
    if image.mode == "I" and data[:1] == b"P":
        if not np.array_equal(np.asarray(image) % 257, np.zeros(1)) and b"65535" not in data[:40]:
            raise ValueError("only maxval 65535 is handled here")
        return np.rint(np.asarray(image) / 65535 * 255).astype(np.uint8)
    return None


def pixels(data, mode):
    image = Image.open(io.BytesIO(data))
    grey = deep_grey(image, data)
    if grey is None:
        return np.asarray(image.convert(mode))
    return grey if mode == "L" else np.repeat(grey[:, :, None], 3, axis=2)


def orientation(data):
    value = Image.open(io.BytesIO(data)).getexif().get(0x0112, 1)
    return value if value in range(1, 9) else 1


def main():
    folder = Path(sys.argv[1])
    print(f"# Pillow {PIL.__version__}: file, width, height, orientation, XXH3-64 of RGB, XXH3-64 of L")
    with open(folder / "MANIFEST.tsv", newline="", encoding="utf-8") as manifest:
        rows = list(csv.DictReader(manifest, delimiter="\t"))
    for row in rows:
        if row["expect"] not in ("decode", "rare-valid"):
            continue
        data = (folder / row["file"]).read_bytes()
        try:
            rgb, grey, turn = pixels(data, "RGB"), pixels(data, "L"), orientation(data)
        except Exception as error:
            print(f"{row['file']}: {type(error).__name__}: {error}", file=sys.stderr)
            continue
        height, width = grey.shape
        hashes = "\t".join(xxhash.xxh3_64_hexdigest(np.ascontiguousarray(a).tobytes()) for a in (rgb, grey))
        print(f"{row['file']}\t{width}\t{height}\t{turn}\t{hashes}")


if __name__ == "__main__":
    main()
