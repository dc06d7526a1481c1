# SPDX-License-Identifier: Apache-2.0
"""Data sets made from HDF5, tar and .npy."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker
from PIL import Image

RNG = np.random.default_rng(5)


def jpeg(picture: np.ndarray) -> bytes:
    data = io.BytesIO()
    Image.fromarray(picture).save(data, "JPEG", quality=95)
    return data.getvalue()


def command(*args: Any) -> subprocess.CompletedProcess[str]:
    run = subprocess.run([sys.executable, "-m", "stoker", *map(str, args)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run


def write_tar(path: Path, members: list[tuple[str, bytes]], mode: str = "w") -> None:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def test_pixels_of_foreign_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    images = RNG.integers(0, 256, (30, 70, 80, 3), np.uint8)
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("a/pics", data=images, chunks=(7, 70, 80, 3), compression="gzip")
        f["a/kind"] = np.arange(30) % 4
        f["score"] = np.arange(30, dtype=np.float32) / 3
        f["name"] = [f"n{i}" for i in range(30)]
        f["floats"] = images.transpose(0, 3, 1, 2).astype(np.float32) / 255
    chosen = ("--dataset", "a/pics", "--labels", "a/kind")
    command("pack", *chosen, tmp_path / "x.h5", tmp_path / "x.stk")
    ds = stoker.open(tmp_path / "x.stk")
    assert len(ds) == 30 and ds.info(3).encoding == "raw"
    assert all(np.array_equal(ds.image(i), images[i]) for i in range(30))
    assert np.array_equal(ds.labels, np.arange(30) % 4)
    assert ds[3][2]["name"] == "n3" and ds[3][2]["score"] == np.float32(1)
    command("pack", "--resize", "exact=20x10", "--encode", "raw", *chosen, tmp_path / "x.h5", tmp_path / "small.stk")
    want = Image.fromarray(images[5]).resize((20, 10), Image.Resampling.BICUBIC)
    assert np.array_equal(stoker.open(tmp_path / "small.stk").image(5), np.asarray(want))
    command("pack", "--dataset", "floats", "--range", "0:1", tmp_path / "x.h5", tmp_path / "f.stk")
    assert np.array_equal(stoker.open(tmp_path / "f.stk").image(7), images[7])
    stoker.pack(tmp_path / "x.h5", tmp_path / "p.stk", hdf5_images="floats", hdf5_labels="a/kind", value_range=(0, 1))
    ds = stoker.open(tmp_path / "p.stk")
    assert np.array_equal(ds.image(7), images[7]) and np.array_equal(ds.labels, np.arange(30) % 4)
    command("pack", "--arrays", "--dataset", "a/pics", tmp_path / "x.h5", tmp_path / "arrays.stk")
    assert np.array_equal(stoker.open(tmp_path / "arrays.stk").array(7), images[7])


def test_encoded_images_of_foreign_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    blobs = [jpeg(RNG.integers(0, 256, (60 + i, 90, 3), np.uint8)) for i in range(9)]
    with h5py.File(tmp_path / "x.h5", "w") as f:
        d = f.create_dataset("jpegs", (9,), dtype=h5py.vlen_dtype(np.uint8))
        for i, b in enumerate(blobs):
            d[i] = np.frombuffer(b, np.uint8)
    for encode, name in (("auto", "tiles"), ("keep", "jpeg")):
        stoker.pack(tmp_path / "x.h5", tmp_path / f"{name}.stk", encode=encode)
        ds = stoker.open(tmp_path / f"{name}.stk")
        for i, b in enumerate(blobs):
            assert ds.info(i).encoding == name
            assert np.array_equal(ds.image(i), np.asarray(Image.open(io.BytesIO(b)).convert("RGB")))


def test_arrays(tmp_path: Path) -> None:
    """Arrays of HDF5 and of .npy files keep type, shape and values."""
    h5py = pytest.importorskip("h5py")
    data = RNG.normal(size=(12, 5, 7, 2)).astype(np.float64)
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["embeddings"] = data
        f["y"] = np.arange(12)
    stoker.pack(tmp_path / "x.h5", tmp_path / "x.stk")
    folder = tmp_path / "npy" / "a"
    folder.mkdir(parents=True)
    kinds = ["<f4", ">f4", "|u1", "<i8", ">i2", "<f2", "|b1", "<u4"]
    for k, kind in enumerate(kinds):
        np.save(folder / f"{k}.npy", (data[k] * 50).astype(kind))
    stoker.pack(tmp_path / "npy", tmp_path / "npy.stk")
    ds = stoker.open(tmp_path / "x.stk")
    for i in range(12):
        content, extension = ds.file(i)
        assert extension == "npy" and np.array_equal(np.load(io.BytesIO(content)), data[i])
    assert np.array_equal(ds.labels, np.arange(12))
    ds = stoker.open(tmp_path / "npy.stk")
    for k, kind in enumerate(kinds):
        got = np.load(io.BytesIO(ds.file(k)[0]))
        assert got.dtype == np.dtype(kind).newbyteorder("<") and np.array_equal(got, (data[k] * 50).astype(kind))
    np.save(folder / "9.npy", np.asfortranarray(data[0]))
    (folder / "91.npy").write_bytes((folder / "0.npy").read_bytes()[:-3])
    report = stoker.pack(tmp_path / "npy", tmp_path / "npy2.stk")
    assert (report.records, report.skipped) == (len(kinds), 2)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz"])
def test_webdataset(tmp_path: Path, mode: str) -> None:
    blobs = [jpeg(RNG.integers(0, 256, (40, 50 + i, 3), np.uint8)) for i in range(7)]
    members: list[tuple[str, bytes]] = []
    for i, b in enumerate(blobs):
        members += [(f"d/{i:04}.cls", str(i % 3).encode()), (f"d/{i:04}.jpg", b)]
        if i != 2:
            members.append((f"d/{i:04}.json", json.dumps({"n": i}).encode()))
    path = tmp_path / ("x.tar" + mode[1:].replace(":", "."))
    write_tar(path, members, mode)
    try:
        stoker.pack(path, tmp_path / "x.stk", encode="keep")
    except stoker.UnsupportedError as error:
        assert "libarchive" in str(error)
        return
    ds = stoker.open(tmp_path / "x.stk")
    assert [ds.payload(i) for i in range(len(ds))] == blobs
    assert np.array_equal(ds.labels, [i % 3 for i in range(7)])
    assert ds.path(3) == "d/0003.jpg"
    assert json.loads(ds[3][2]["json"]) == {"n": 3} and ds[2][2]["json"] is None


def test_tar_of_folders_and_hostile_ones(tmp_path: Path) -> None:
    picture = jpeg(RNG.integers(0, 256, (30, 30, 3), np.uint8))
    write_tar(tmp_path / "x.tar", [("b/1.jpg", picture), ("a/1.jpg", picture), ("./b/2.jpg", picture)])
    with tarfile.open(tmp_path / "x.tar", "a") as tar:
        for kind, target in ((tarfile.SYMTYPE, "/etc/passwd"), (tarfile.LNKTYPE, "b/1.jpg"), (tarfile.FIFOTYPE, "")):
            info = tarfile.TarInfo(f"b/link{kind!r}.jpg")
            info.type, info.linkname = kind, target
            tar.addfile(info)
    try:
        report = stoker.pack(tmp_path / "x.tar", tmp_path / "x.stk")
    except stoker.UnsupportedError as error:
        assert "libarchive" in str(error)
        return
    assert (report.records, report.ignored) == (3, 3)
    ds = stoker.open(tmp_path / "x.stk")
    assert list(ds.classes) == ["a", "b"] and ds.labels.tolist() == [1, 0, 1]
    write_tar(tmp_path / "up.tar", [("../../up.jpg", picture), ("/abs.jpg", picture)])
    stoker.pack(tmp_path / "up.tar", tmp_path / "up.stk")  # names only: nothing is written to them
    assert not (tmp_path.parent.parent / "up.jpg").exists()
    whole = (tmp_path / "x.tar").read_bytes()
    (tmp_path / "short.tar").write_bytes(whole[:700])
    with pytest.raises(stoker.Error, match="short.tar"):
        stoker.pack(tmp_path / "short.tar", tmp_path / "y.stk")
    (tmp_path / "none.tar").write_bytes(b"nothing of the kind" * 100)
    with pytest.raises(stoker.Error, match="none.tar"):
        stoker.pack(tmp_path / "none.tar", tmp_path / "y.stk")
    assert not list(tmp_path.glob("y.stk*"))


@pytest.mark.parametrize("encode", ["auto", "keep", "raw"])
def test_export(photos_folder: Path, tmp_path: Path, encode: str) -> None:
    """.stk -> .h5, .tar, folder: pixels, labels, classes and columns stay."""
    pytest.importorskip("h5py")
    stoker.pack(photos_folder, tmp_path / "x.stk", encode=encode)
    ds = stoker.open(tmp_path / "x.stk")
    command("export", tmp_path / "x.stk", tmp_path / "x.h5")
    back = stoker.open(tmp_path / "x.h5")
    assert back.container == "hdf5" and list(back.classes) == list(ds.classes)
    command("export", "--to", "tar", tmp_path / "x.stk", tmp_path / "x.tar")
    command("export", tmp_path / "x.stk", tmp_path / "out")
    with tarfile.open(tmp_path / "x.tar") as tar:
        members = {m.name: tar.extractfile(m).read() for m in tar.getmembers()}  # type: ignore[union-attr]
    assert np.array_equal(back.labels, ds.labels)
    for i in range(len(ds)):
        assert back.payload(i) == ds.payload(i) and np.array_equal(back.image(i), ds.image(i))
        content, extension = ds.file(i)
        assert members[f"{i:09}.{extension}"] == content
        assert int(members[f"{i:09}.cls"]) == ds.labels[i]
        assert json.loads(members[f"{i:09}.json"])["path"] == ds.path(i)
    assert sum(p.is_file() for p in (tmp_path / "out").rglob("*")) == len(ds)
    again = subprocess.run(
        [sys.executable, "-m", "stoker", "export", tmp_path / "x.stk", tmp_path / "x.h5"], capture_output=True, text=True
    )
    assert again.returncode == 1 and "exists" in again.stderr
    assert not list(tmp_path.glob("*.tmp.*"))


def test_export_of_one_size_and_typed_columns(table: Path, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    ds = stoker.open(table)
    command("export", "--chunk-images", "7", "--hdf5-filter", "gzip", table, tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["images"].shape == (20, 20, 24, 3) and f["images"].chunks[0] == 7 and f["images"].compression == "gzip"
        assert all(np.array_equal(f["images"][i], ds.image(i)) for i in range(20))
        assert np.array_equal(f["age"][:], np.arange(20))
    command("export", table, tmp_path / "x.tar")
    with tarfile.open(tmp_path / "x.tar") as tar:
        row = json.load(tar.extractfile("000000007.json"))  # type: ignore[arg-type]
    assert row["age"] == 7 and row["score"] == 1.75 and row["zip"] == "00007" and row["adult"] is False
    assert row["note"] == "note 7 é"
