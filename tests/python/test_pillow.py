# SPDX-License-Identifier: Apache-2.0
"""Pixels equal Pillow's, byte for byte: whole images, and random boxes, sizes, filters and flips, over all
photos of the corpus. Run under Pillow 13 it tests pixels="pillow13", under 12.3 pixels="pillow12"."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import stoker
from PIL import Image, ImageOps, __version__

PIXELS = "pillow13" if int(__version__.split(".")[0]) >= 13 else "pillow12"
FILTERS = {
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "box": Image.Resampling.BOX,
    "hamming": Image.Resampling.HAMMING,
    "lanczos": Image.Resampling.LANCZOS,
    "nearest": Image.Resampling.NEAREST,
}


Request = tuple[tuple[int, ...], tuple[int, int], str, bool]  # box, size, filter, flip


def random_request(rng: random.Random, width: int, height: int) -> Request:
    """Crops as training makes them, and now and then something extreme."""
    kind = rng.random()
    if kind < 0.1:  # a strip or a pixel
        w, h = rng.choice([(1, 1), (1, height), (width, 1), (rng.randint(1, min(3, width)), height)])
    elif kind < 0.2:
        w, h = width, height
    else:
        w, h = rng.randint(1, width), rng.randint(1, height)
    box = (rng.randint(0, width - w), rng.randint(0, height - h), w, h)
    any_size = rng.randint(1, 320), rng.randint(1, 320)
    size = rng.choice([(224, 224), (224, 224), any_size, (32, 32), (h, w), (1, 1)])
    return box, size, rng.choice(list(FILTERS)), rng.random() < 0.5


def expected(image: Image.Image, box: tuple[int, ...], size: tuple[int, int], name: str, flip: bool) -> np.ndarray:
    x, y, w, h = box
    out = image.crop((x, y, x + w, y + h)).resize((size[1], size[0]), FILTERS[name])
    if flip:
        out = out.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    array = np.asarray(out)
    return array[:, :, None] if array.ndim == 2 else array


def compare(path: Path, folder: Path, crops: int) -> int:
    """Compares every record of a packed folder; returns the number of images compared."""
    ds = stoker.open(path)
    rng = random.Random(20240)
    compared = 0
    for i in range(len(ds)):
        with Image.open(folder / ds.path(i)) as opened:
            image = ImageOps.exif_transpose(opened).convert("RGB")
        whole = ds.image(i, pixels=PIXELS)
        assert np.array_equal(whole, np.asarray(image)), f"whole image of {ds.path(i)}"
        for _ in range(crops):
            box, size, name, flip = random_request(rng, image.width, image.height)
            got = ds.image(i, box=box, size=size, filter=name, flip=flip, pixels=PIXELS)
            want = expected(image, box, size, name, flip)
            assert np.array_equal(got, want), f"{ds.path(i)}: box={box} size={size} filter={name} flip={flip}"
            compared += 1
        compared += 1
    return compared


@pytest.mark.parametrize("name", ["photos", "clothing"])
@pytest.mark.parametrize("encode", ["keep", "auto"])
def test_corpus(corpus: Path, tmp_path: Path, name: str, encode: str) -> None:
    report = stoker.pack(corpus / name, tmp_path / "x.stk", encode=encode, check="header")
    assert report.records >= 500 and report.skipped == 0, report.issues
    assert compare(tmp_path / "x.stk", corpus / name, crops=4) == report.records * 5


def test_small_files(photos_folder: Path, photos: Path) -> None:
    assert compare(photos, photos_folder, crops=40) == 23 * 41


def test_every_filter_up_and_down(photos_folder: Path, photos: Path) -> None:
    ds = stoker.open(photos)
    with Image.open(photos_folder / ds.path(20)) as image:
        for name in FILTERS:
            for size in [(7, 5), (200, 300), (17, 300), (300, 17), (1, 1)]:
                box = (3, 2, image.width - 9, image.height - 5)
                got = ds.image(20, box=box, size=size, filter=name, pixels=PIXELS)
                assert np.array_equal(got, expected(image, box, size, name, False)), (name, size)


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("exif", ["apply", "ignore"])
def test_orientation(tmp_path: Path, orientation: int, exif: str) -> None:
    (tmp_path / "in").mkdir()
    rng = np.random.default_rng(5)
    tag = Image.Exif()
    tag[274] = orientation
    Image.fromarray(rng.integers(0, 256, (45, 67, 3), np.uint8)).save(
        tmp_path / "in" / "a.jpg", exif=tag, quality=80, subsampling=2
    )
    stoker.pack(tmp_path / "in", tmp_path / "x.stk", exif=exif, encode="keep")
    ds = stoker.open(tmp_path / "x.stk")
    with Image.open(tmp_path / "in" / "a.jpg") as opened:
        image = ImageOps.exif_transpose(opened) if exif == "apply" else opened.copy()
    assert ds.info(0).width, ds.info(0).height == image.size
    assert np.array_equal(ds.image(0, pixels=PIXELS), np.asarray(image))
    box = (5, 9, 31, 22)
    got = ds.image(0, box=box, size=(40, 13), filter="bicubic", flip=True, pixels=PIXELS)
    assert np.array_equal(got, expected(image, box, (40, 13), "bicubic", True))


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "LA", "1", "CMYK", "YCbCr"])
def test_modes_become_rgb(tmp_path: Path, mode: str) -> None:
    """Whatever the file's mode is, pixels are those of convert('RGB')."""
    (tmp_path / "in").mkdir()
    base = Image.fromarray(np.random.default_rng(6).integers(0, 256, (33, 29, 3), np.uint8))
    image = base.quantize(64) if mode == "P" else base.convert(mode)
    name = "a.jpg" if mode in ("CMYK", "YCbCr") else "a.png"
    image.save(tmp_path / "in" / name)
    stoker.pack(tmp_path / "in", tmp_path / "x.stk", encode="keep")
    with Image.open(tmp_path / "in" / name) as opened:
        want = np.asarray(opened.convert("RGB"))
    assert np.array_equal(stoker.open(tmp_path / "x.stk").image(0), want)


def test_grey_stays_grey(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    grey = np.random.default_rng(8).integers(0, 256, (40, 50), np.uint8)
    Image.fromarray(grey).save(tmp_path / "in" / "a.png")
    stoker.pack(tmp_path / "in", tmp_path / "x.stk", mode="L")
    ds = stoker.open(tmp_path / "x.stk")
    image = ds.image(0, box=(1, 2, 30, 31), size=(17, 19), filter="lanczos", pixels=PIXELS)
    want = expected(Image.fromarray(grey), (1, 2, 30, 31), (17, 19), "lanczos", False)
    assert np.array_equal(image, want)
    loader = stoker.Loader(ds, 1, transform=stoker.Resize((17, 19)))
    assert next(iter(loader))[0].shape == (1, 17, 19, 1)
    loader = stoker.Loader(ds, 1, transform=stoker.Resize((17, 19), mode="RGB"))
    assert next(iter(loader))[0].shape == (1, 17, 19, 3)


def test_bgr(photos: Path) -> None:
    ds = stoker.open(photos)
    assert np.array_equal(ds.image(3, color="bgr"), ds.image(3)[:, :, ::-1])
