# SPDX-License-Identifier: Apache-2.0
"""stoker.open() of a folder that is not packed: what the packed one gives, read file by file."""

from __future__ import annotations

import os
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest
import stoker
from conftest import noise
from PIL import Image

pytestmark = pytest.mark.filterwarnings("ignore:.*not packed")


@pytest.fixture
def folder(photos_folder: Path, tmp_path: Path) -> Path:
    """photos_folder with all that a folder may hold beside images."""
    root = tmp_path / "photos"
    shutil.copytree(photos_folder, root)
    (root / "ant" / "notes.txt").write_text("no image")
    (root / "bee" / "inner").mkdir()
    Image.fromarray(noise(20, 30, 1)).save(root / "bee" / "inner" / "x.PNG")
    (root / "bee-2").mkdir()
    Image.fromarray(noise(20, 30, 2)).save(root / "bee-2" / "y.webp", lossless=True)
    (root / "cat" / "link").symlink_to(root / "ant")
    (root / "cat" / "loop").symlink_to(root / "cat")
    (root / ".git").mkdir()
    (root / "beside.jpg").write_bytes((root / "ant" / "000.jpg").read_bytes())
    turned = Image.fromarray(noise(20, 30, 3))
    exif = turned.getexif()
    exif[0x0112] = 6
    turned.save(root / "ant" / "turned.jpg", exif=exif)
    return root


def test_same_as_packed(folder: Path, tmp_path: Path) -> None:
    stoker.pack(folder, tmp_path / "x.stk", encode="keep")
    packed, loose = stoker.open(tmp_path / "x.stk"), stoker.open(folder)
    assert loose.container == "files"
    assert loose.classes == packed.classes
    assert loose.column("path") == packed.column("path")
    np.testing.assert_array_equal(loose.labels, packed.labels)
    np.testing.assert_array_equal(loose.sizes, packed.sizes)
    for i in range(len(packed)):
        np.testing.assert_array_equal(loose.image(i), packed.image(i))
        assert loose.payload(i) == packed.payload(i)
        assert loose.info(i).encoding == packed.info(i).encoding
    for device in (None, "dummy"):
        options = {"transform": stoker.Train(24), "seed": 3, "device": device}
        for (a, x), (b, y) in zip(stoker.Loader(loose, 8, **options), stoker.Loader(packed, 8, **options)):
            np.testing.assert_array_equal(np.from_dlpack(a), np.from_dlpack(b))
            np.testing.assert_array_equal(np.from_dlpack(x), np.from_dlpack(y))


def test_same_as_image_folder(photos_folder: Path) -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    want = datasets.ImageFolder(photos_folder)
    loose = stoker.open(photos_folder)
    assert loose.classes == want.classes
    assert [(str(photos_folder / p), label) for p, label in zip(loose.column("path"), loose.labels)] == [
        (os.fsdecode(p), label) for p, label in want.samples
    ]


def test_flat_folder(tmp_path: Path) -> None:
    for i in range(3):
        Image.fromarray(noise(8, 9, i)).save(tmp_path / f"{2 - i}.png")
    ds = stoker.open(tmp_path)
    assert ds.labels is None
    assert ds.column("path") == ["0.png", "1.png", "2.png"]
    np.testing.assert_array_equal(ds.image(0), noise(8, 9, 2))
    assert sorted(os.listdir(tmp_path)) == ["0.png", "1.png", "2.png"]


def test_hint_to_pack(folder: Path) -> None:
    with pytest.warns(UserWarning, match=r"not packed.*stoker\.pack\(") as record:
        ds = stoker.open(folder)
    assert record[0].filename == __file__
    half = pickle.loads(pickle.dumps(ds[::2]))
    assert half.column("path") == ds.column("path")[::2]


def test_changes_beneath(folder: Path) -> None:
    """A file that goes, or was never an image, is an error of its own record."""
    ds = stoker.open(folder)
    gone, broken = 2, 4
    (folder / ds.path(gone)).unlink()
    (folder / ds.path(broken)).write_bytes(b"no image any more")
    with pytest.raises(stoker.NotFoundError, match=r"002\.jpg"):
        ds.image(gone)
    with pytest.raises(stoker.ImageError, match=r"004\.jpg"):
        ds.image(broken)
    loader = stoker.Loader(ds, 4, transform=stoker.Resize(16), on_bad="skip")
    assert sum(len(images) for images, _ in loader) == len(ds) - 4  # ant is also linked to from cat
    with pytest.raises(stoker.StateError, match="changed"):
        pickle.loads(pickle.dumps(ds))


def test_no_images(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(stoker.NotFoundError, match=r"dataset\.json"):
        stoker.open(tmp_path)


def test_joined_with_a_packed_set(folder: Path, tmp_path: Path) -> None:
    stoker.pack(folder, tmp_path / "x.stk")
    loose, packed = stoker.open(folder), stoker.open(tmp_path / "x.stk")
    whole = loose + packed
    np.testing.assert_array_equal(whole.image(3), whole.image(3 + len(loose)))
    batches = list(stoker.Loader(whole, 16, transform=stoker.Train(16)))
    assert sum(len(images) for images, _ in batches) == len(loose) + len(packed)
