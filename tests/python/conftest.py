# SPDX-License-Identifier: Apache-2.0
"""Fixtures: small data sets made here, and the corpus of real files where STOKER_CORPUS names it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import stoker
from PIL import Image


def noise(height: int, width: int, seed: int, channels: int = 3) -> np.ndarray:
    """Smooth random pixels, so that JPEG keeps something of them."""
    rng = np.random.default_rng(seed)
    small = rng.integers(0, 256, (height // 8 + 2, width // 8 + 2, channels), np.uint8)
    squeezed = small[:, :, 0] if channels == 1 else small
    return np.asarray(Image.fromarray(squeezed).resize((width, height), Image.Resampling.BICUBIC))


@pytest.fixture(scope="session")
def photos_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three classes of JPEGs of differing sizes: 5 + 7 + 11 files."""
    root = tmp_path_factory.mktemp("photos")
    number = 0
    for name, count in (("ant", 5), ("bee", 7), ("cat", 11)):
        (root / name).mkdir()
        for i in range(count):
            pixels = noise(60 + 7 * i, 80 + 5 * number, number)
            Image.fromarray(pixels).save(root / name / f"{i:03}.jpg", quality=90)
            number += 1
    return root


@pytest.fixture(scope="session")
def photos(photos_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """photos_folder packed, JPEGs kept."""
    path = tmp_path_factory.mktemp("packed") / "photos.stk"
    report = stoker.pack(photos_folder, path, encode="keep")
    assert (report.records, report.skipped) == (23, 0)
    return path


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """211 PNGs of 32x32 in 10 classes; pixel (0, 0) of image i is (i, 0, 0)."""
    root = tmp_path_factory.mktemp("tiny")
    for i in range(211):
        folder = root / f"class{i * 10 // 211}"
        folder.mkdir(exist_ok=True)
        pixels = noise(32, 32, i).copy()
        pixels[0, 0] = (i, 0, 0)
        Image.fromarray(pixels).save(folder / f"{i:04}.png")
    return root


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """tiny_folder packed as raw records."""
    path = tmp_path_factory.mktemp("packed") / "tiny.stk"
    report = stoker.pack(tiny_folder, path, encode="raw")
    assert (report.records, report.skipped) == (211, 0)
    return path


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV manifest with columns of several types, packed: 20 records."""
    root = tmp_path_factory.mktemp("table")
    lines = ["image,label,age,score,zip,note,adult"]
    for i in range(20):
        Image.fromarray(noise(20, 24, i)).save(root / f"{i}.png")
        note = "" if i % 5 == 0 else f"note {i} é"
        label, adult = "odd" if i % 2 else "even", "True" if i > 9 else "False"
        lines.append(f"{i}.png,{label},{i},{i / 4},{i:05},{note},{adult}")
    (root / "table.csv").write_text("\n".join(lines) + "\n")
    path = root / "table.stk"
    report = stoker.pack(root / "table.csv", path, encode="raw")
    assert (report.records, report.missing) == (20, 0)
    return path


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The corpus of real files."""
    folder = os.environ.get("STOKER_CORPUS")
    if not folder:
        pytest.skip("STOKER_CORPUS is not set")
    return Path(folder)


# A script with its own runner that compares the renderer's internals through a C bridge.
collect_ignore = ["test_codec_pillow.py", "test_pixels_pillow.py"]
