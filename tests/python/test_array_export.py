# SPDX-License-Identifier: Apache-2.0
"""Arrays on their way to HDF5, tar and folders, and back; stoker's own HDF5 files as sources of a pack."""

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

h5py = pytest.importorskip("h5py")

N = 23
FORMS = [("<f4", (3, 8, 9)), ("<f2", (5,)), ("|b1", (2, 3)), ("<i8", ()), ("|u1", (6, 7)), ("<f8", (2, 1, 3, 2, 1))]


def command(*args: Any, code: int = 0) -> subprocess.CompletedProcess[str]:
    run = subprocess.run([sys.executable, "-m", "stoker", *map(str, args)], capture_output=True, text=True)
    assert run.returncode == code, run.stderr
    return run


def folder_of_npy(folder: Path, arrays: list[np.ndarray]) -> Path:
    for i, array in enumerate(arrays):
        place = folder / f"class{i % 3}"
        place.mkdir(parents=True, exist_ok=True)
        np.save(place / f"{i:04}.npy", array)
    return folder


def records(ds: stoker.Dataset) -> list[tuple[bytes, Any, str]]:
    return [(ds.payload(i), ds[i].label, ds.path(i)) for i in range(len(ds))]


def made(kind: str, shape: tuple[int, ...]) -> list[np.ndarray]:
    return list((np.random.default_rng(2).normal(size=(N, *shape)) * 40).astype(kind))


@pytest.mark.parametrize(("kind", "shape"), FORMS)
def test_typed_arrays_everywhere(tmp_path: Path, kind: str, shape: tuple[int, ...]) -> None:
    """.npy -> .stk -> .h5, .tar, folder; each read by h5py or NumPy, and packed again to the very same records."""
    arrays = made(kind, shape)
    stoker.pack(folder_of_npy(tmp_path / "src", arrays), tmp_path / "x.stk")
    ds = stoker.open(tmp_path / "x.stk")
    want = np.stack([ds.array(i) for i in range(N)])
    assert want.dtype == np.dtype(kind)
    command("export", tmp_path / "x.stk", tmp_path / "x.h5")
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["data"].dtype == np.dtype(kind) and f["data"].shape == (N, *shape)
        assert np.array_equal(f["data"][...], want) and np.array_equal(f["labels"][...], ds.labels)
        assert f.attrs["stoker_layout"] == b"arrays" and [c.decode() for c in f.attrs["class_names"]] == ds.classes
    back = stoker.open(tmp_path / "x.h5")
    assert records(back) == records(ds) and back.classes == ds.classes
    assert stoker.verify(tmp_path / "x.h5", deep=True).ok
    loader = stoker.Loader(back, batch_size=7, shuffle=True, num_threads=2)
    for batch, _ in loader:
        assert loader.batch is not None and batch.dtype == np.dtype(kind)
        assert np.array_equal(batch, want[loader.batch.ids.astype(int)])

    stoker.pack(tmp_path / "src", tmp_path / "direct.h5")
    with h5py.File(tmp_path / "direct.h5") as f:
        assert f["data"].dtype == np.dtype(kind) and np.array_equal(f["data"][...], want)
    stoker.pack(tmp_path / "src", tmp_path / "direct.h5", force=True)  # over an older one
    assert records(stoker.open(tmp_path / "direct.h5")) == records(ds)

    command("pack", tmp_path / "x.h5", tmp_path / "again.stk")
    assert records(stoker.open(tmp_path / "again.stk")) == records(ds)

    command("export", tmp_path / "x.h5", tmp_path / "x.tar")
    with tarfile.open(tmp_path / "x.tar") as tar:
        for i in range(N):
            member = tar.extractfile(f"{i:09}.npy")
            assert member is not None
            array = np.load(io.BytesIO(member.read()))
            assert array.dtype == np.dtype(kind) and np.array_equal(array, want[i])
            assert int(tar.extractfile(f"{i:09}.cls").read()) == ds[i].label  # type: ignore[union-attr]
    for source in ("x.stk", "x.h5"):
        command("export", "--to", "folder", tmp_path / source, tmp_path / f"out-{source}.d")
        for i in range(N):
            assert np.array_equal(np.load(tmp_path / f"out-{source}.d" / ds.path(i)), want[i])


@pytest.mark.parametrize("odd", ["shape", "type", "empty", "deep"])
def test_arrays_that_cannot_be_one_data_set(tmp_path: Path, odd: str) -> None:
    """As many bytes but another shape or type, no bytes at all, more dimensions than are read: kept all the same."""
    arrays = made("<f4", (4, 6))
    if odd == "shape":
        arrays[17] = arrays[17].reshape(6, 4)
    elif odd == "type":
        arrays[17] = arrays[17].view(np.int32)
    elif odd == "empty":
        arrays = [a[:0] for a in arrays]
    else:
        arrays = [a.reshape(2, 2, 1, 2, 1, 3, 1, 1) for a in arrays]
    stoker.pack(folder_of_npy(tmp_path / "src", arrays), tmp_path / "x.stk")
    ds = stoker.open(tmp_path / "x.stk")
    command("export", tmp_path / "x.stk", tmp_path / "x.h5")
    stoker.pack(tmp_path / "src", tmp_path / "direct.h5")
    for name in ("x.h5", "direct.h5"):
        assert records(stoker.open(tmp_path / name)) == records(ds)
        with h5py.File(tmp_path / name) as f:
            assert f.attrs["stoker_layout"] == b"data"
    assert not list(tmp_path.glob("*.tmp.*"))


def test_a_filter_for_arrays_is_refused(tmp_path: Path) -> None:
    stoker.pack(folder_of_npy(tmp_path / "src", made("<f4", (3,))), tmp_path / "x.stk")
    run = command("export", "--hdf5-filter", "gzip", tmp_path / "x.stk", tmp_path / "x.h5", code=1)
    assert "--hdf5-filter gzip: only for images" in run.stderr and not list(tmp_path.glob("x.h5*"))


def test_joined_arrays(tmp_path: Path) -> None:
    """A .stk, whose arrays have headers, and HDF5, whose have none, as one data set."""
    arrays = made("<f4", (3, 4))
    stoker.pack(folder_of_npy(tmp_path / "src", arrays), tmp_path / "x.stk")
    with h5py.File(tmp_path / "y.h5", "w") as f:
        f["values"] = np.stack(arrays)
    ds = stoker.concat([stoker.open(tmp_path / "y.h5"), stoker.open(tmp_path / "x.stk")])
    want = np.stack([*arrays, *(stoker.open(tmp_path / "x.stk").array(i) for i in range(N))])
    loader = stoker.Loader(ds, batch_size=9, shuffle=True)
    for batch, _ in loader:
        assert loader.batch is not None
        assert np.array_equal(batch, want[loader.batch.ids.astype(int)])


@pytest.mark.parametrize("encode", ["auto", "keep", "raw"])
def test_own_hdf5_is_a_source(photos_folder: Path, tiny_folder: Path, tmp_path: Path, encode: str) -> None:
    """Tiles (with tables of their own and shared ones), files and pixels: the records of a direct pack."""
    small = tmp_path / "small"
    small.mkdir()
    for i in range(40):  # small enough for shared tables; every third one turned by its EXIF tag
        exif = Image.Exif()
        exif[0x0112] = 6 if i % 3 == 0 else 1
        pixels = np.random.default_rng(i).normal(128, 9, (72, 80, 3)).clip(0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(small / f"{i:03}.jpg", quality=85, exif=exif)
    for name, folder in (("photos", photos_folder), ("tiny", tiny_folder), ("small", small)):
        stoker.pack(folder, tmp_path / f"{name}.stk", encode=encode)
        command("export", tmp_path / f"{name}.stk", tmp_path / f"{name}.h5")
        stoker.pack(tmp_path / f"{name}.h5", tmp_path / f"{name}-again.stk", encode=encode)
        ds, again = stoker.open(tmp_path / f"{name}.stk"), stoker.open(tmp_path / f"{name}-again.stk")
        assert encode != "auto" or ds.info(0).encoding == ("raw" if name == "tiny" else "tiles")
        assert records(again) == records(ds) and again.classes == ds.classes
        assert all(np.array_equal(again.image(i), ds.image(i)) for i in range(0, len(ds), 7))


def test_damage_is_not_packed_as_good(photos_folder: Path, tmp_path: Path) -> None:
    """A bit that flipped in a record of our own HDF5: the record is left out and named, not given a new checksum."""
    for encode in ("auto", "raw"):
        stoker.pack(photos_folder, tmp_path / f"{encode}.h5", encode=encode)
        info = stoker.open(tmp_path / f"{encode}.h5").info(3)
        content = bytearray((tmp_path / f"{encode}.h5").read_bytes())
        assert info.offset is not None
        content[info.offset + info.n_bytes // 2] ^= 16
        (tmp_path / f"{encode}.h5").write_bytes(content)
        report = stoker.pack(tmp_path / f"{encode}.h5", tmp_path / f"{encode}.stk", encode=encode)
        assert report.skipped == 1 and len(report.issues) == 1
        assert report.issues[0].path == stoker.open(tmp_path / f"{encode}.h5").path(3)


def test_export_names_itself_and_refuses_itself(tmp_path: Path) -> None:
    stoker.pack(folder_of_npy(tmp_path / "src", made("<f4", (3,))), tmp_path / "x.stk")
    command("export", tmp_path / "x.stk", tmp_path / "x.h5")
    for path in ("x.stk", "x.h5"):
        run = command("export", "--force", tmp_path / path, tmp_path / path, code=1)
        assert run.stderr.startswith("stoker export: ") and "is the data set itself" in run.stderr
    run = command("export", tmp_path / "x.stk", tmp_path / "y.stk", code=1)
    assert run.stderr.startswith("stoker export: ") and "stoker pack" in run.stderr and not (tmp_path / "y.stk").exists()
    (tmp_path / "file").write_text("")
    run = command("export", tmp_path / "x.stk", tmp_path / "file", code=1)
    assert run.stderr.startswith("stoker export: ")
    with h5py.File(tmp_path / "two.h5", "w") as f:
        f["a"], f["b"] = np.zeros((4, 2, 3), np.float32), np.ones((4, 2, 3), np.float32)
    command("export", "--dataset", "b", tmp_path / "two.h5", tmp_path / "two")  # options reach the folder too
    assert all(np.load(p).max() == 1 for p in (tmp_path / "two").iterdir())


@pytest.mark.parametrize("bad", [[0], [4, 5], [N - 1]])
@pytest.mark.parametrize("kind", ["images", "arrays", "shapes"])
def test_export_leaves_out_what_is_damaged(tmp_path: Path, kind: str, bad: list[int]) -> None:
    """Layout, rows and columns are those of the records that are left; h5py and tarfile see these."""
    rng = np.random.default_rng(5)
    for i in range(N):
        (tmp_path / "src" / f"c{i % 2}").mkdir(parents=True, exist_ok=True)
        place = tmp_path / "src" / f"c{i % 2}" / f"{i:03}"
        if kind == "images":
            Image.fromarray(rng.integers(0, 256, (20, 30, 3), dtype=np.uint8)).save(place.with_suffix(".png"))
        else:
            shape = (5, 4) if kind == "arrays" or i % 3 else (4, 5)
            np.save(place.with_suffix(".npy"), rng.normal(size=shape).astype(np.float32))
    stoker.pack(tmp_path / "src", tmp_path / "x.stk", encode="raw" if kind == "images" else "auto")
    good = stoker.open(tmp_path / "x.stk")
    left = [i for i in range(N) if i not in bad]
    want = {good.path(i): good.payload(i) for i in left}
    labels = [good[i].label for i in left]
    content = bytearray((tmp_path / "x.stk").read_bytes())
    for i in bad:
        offset = good.info(i).offset
        assert offset is not None
        content[offset + good.info(i).n_bytes - 1] ^= 1
    (tmp_path / "x.stk").write_bytes(content)
    for out in ("x.h5", "x.tar", "folder"):
        run = command("export", "--on-bad", "error", tmp_path / "x.stk", tmp_path / out, code=1)
        assert f"record {bad[0]} " in run.stderr and not (tmp_path / out).exists()
        run = command("export", "--on-bad", "skip", "--json", tmp_path / "x.stk", tmp_path / out, code=2)
        report = json.loads(run.stdout)
        assert (report["records"], report["skipped"]) == (N - len(bad), len(bad))
        assert [entry["record"] for entry in report["left_out"]] == bad
        assert all(f"stoker export: {entry['reason']}\n" in run.stderr for entry in report["left_out"])
    back = stoker.open(tmp_path / "x.h5")
    assert {back.path(i): back.payload(i) for i in range(len(back))} == want
    with h5py.File(tmp_path / "x.h5") as f:
        assert f["labels"][...].tolist() == labels
        if kind == "images":
            assert f["images"].shape == (len(left), 20, 30, 3)
        if kind == "arrays":
            assert f["data"].shape == (len(left), 5, 4)
    with tarfile.open(tmp_path / "x.tar") as tar:
        assert sorted({int(name.split(".")[0]) for name in tar.getnames()}) == left
    assert len([p for p in (tmp_path / "folder").rglob("*") if p.is_file()]) == len(left)
