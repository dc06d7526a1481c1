# SPDX-License-Identifier: Apache-2.0
"""Folders packed to HDF5: what comes back through stoker is what comes back from a .stk, and h5py reads it all."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker
from PIL import Image

h5py = pytest.importorskip("h5py")
HERE = Path(__file__).parent


def pythons() -> list[str]:
    """Interpreters with an h5py: this one, and STOKER_OTHER_H5PY or the system's where that has one too (Debian's
    is built with HDF5 1.10, wheels come with 2.0)."""
    out = [sys.executable]
    for other in (os.environ.get("STOKER_OTHER_H5PY"), "/usr/bin/python3"):
        if other and other not in out and Path(other).exists():
            if subprocess.run([other, "-c", "import h5py"], capture_output=True).returncode == 0:
                out.append(other)
    return out


def digest(data: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(data).tobytes()).hexdigest()


def by_h5py(path: Path) -> dict[str, Any]:
    """What h5py finds, the same under every version of it."""
    seen = []
    for python in pythons():
        run = subprocess.run([python, HERE / "h5py_digest.py", path], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        found = json.loads(run.stdout)
        print("h5py", found.pop("h5py"), "HDF5", found.pop("hdf5"))
        seen.append(found)
    assert all(found == seen[0] for found in seen)
    return seen[0]


def same_everywhere(h5: Path, stk: Path, every: int = 1) -> None:
    """Pixels, labels, classes and columns of two data sets; then a shuffled epoch of batches."""
    a, b = stoker.open(h5), stoker.open(stk)
    assert len(a) == len(b) and a.classes == b.classes and sorted(a.columns) == sorted(b.columns)
    assert (a.labels is None) == (b.labels is None)
    if b.labels is not None:
        assert np.array_equal(a.labels, b.labels)
    for i in range(0, len(a), every):
        assert np.array_equal(a.image(i), b.image(i)), i
        assert {k: str(v) for k, v in a[i][2].items()} == {k: str(v) for k, v in b[i][2].items()}
    sizes = [{"size": 24}, {"size": 33, "flip": False}]
    for options in sizes:
        batches = [
            stoker.Loader(d[::every], batch_size=7, transform=stoker.Train(**options), seed=3) for d in (a, b)
        ]
        for (x, xl), (y, yl) in zip(*batches):
            assert np.array_equal(x, y)
            assert (xl is None and yl is None) or np.array_equal(xl, yl)


def test_uniform(tiny_folder: Path, tmp_path: Path) -> None:
    report = stoker.pack(tiny_folder, tmp_path / "x.h5")
    assert (report.records, report.skipped) == (211, 0)
    stoker.pack(tiny_folder, tmp_path / "x.stk", encode="raw")
    same_everywhere(tmp_path / "x.h5", tmp_path / "x.stk")
    found = by_h5py(tmp_path / "x.h5")
    ds = stoker.open(tmp_path / "x.h5")
    assert found["shape"] == [211, 32, 32, 3] and found["chunks"] == [211, 32, 32, 3]
    assert found["records"] == [digest(ds.image(i)) for i in range(len(ds))]
    assert found["labels"] == ds.labels.tolist() and found["classes"] == list(ds.classes)
    assert found["columns"]["path"][0] == "class0/0000.png"
    assert found["compression"] is None


@pytest.mark.parametrize("chunk", [1, 7, 64, 500])
@pytest.mark.parametrize("filter", [None, "gzip", "gzip:9", "lzf"])
def test_chunks_and_filters(tiny_folder: Path, tmp_path: Path, chunk: int, filter: str | None) -> None:
    options = {} if filter is None else {"hdf5_filter": filter}
    try:
        stoker.pack(tiny_folder, tmp_path / "x.h5", chunk_images=chunk, **options)
    except stoker.UnsupportedError:
        assert filter == "lzf"  # a build without liblzf
        return
    ds = stoker.open(tmp_path / "x.h5")
    found = by_h5py(tmp_path / "x.h5")
    assert found["chunks"][0] == min(chunk, 211)
    assert found["compression"] == (filter.split(":")[0] if filter else None)
    assert found["records"] == [digest(ds.image(i)) for i in range(len(ds))]
    pixels = [np.asarray(Image.open(tiny_folder / p)) for p in found["columns"]["path"]]
    assert found["records"] == [digest(p) for p in pixels]


def test_same_bytes_for_any_number_of_threads(tiny_folder: Path, tmp_path: Path) -> None:
    for filter in ("none", "gzip"):
        files = []
        for threads in (1, 3):
            path = tmp_path / f"{filter}{threads}.h5"
            stoker.pack(tiny_folder, path, threads=threads, hdf5_filter=filter)
            files.append(path.read_bytes())
        assert files[0] == files[1]


@pytest.mark.parametrize("encode", ["auto", "keep", "tiles", "raw"])
def test_sizes_that_differ(photos_folder: Path, tmp_path: Path, encode: str) -> None:
    stoker.pack(photos_folder, tmp_path / "x.h5", encode=encode)
    stoker.pack(photos_folder, tmp_path / "x.stk", encode=encode)
    same_everywhere(tmp_path / "x.h5", tmp_path / "x.stk")
    found = by_h5py(tmp_path / "x.h5")
    ds = stoker.open(tmp_path / "x.h5")
    assert found["contiguous"]
    assert found["records"] == [digest(np.frombuffer(ds.payload(i), np.uint8)) for i in range(len(ds))]
    if encode == "keep":
        assert found["records"] == [
            digest(np.frombuffer((photos_folder / p).read_bytes(), np.uint8)) for p in found["columns"]["path"]
        ]


def test_resized_to_one_size(photos_folder: Path, tmp_path: Path) -> None:
    stoker.pack(photos_folder, tmp_path / "x.h5", resize="exact=40x30")
    stoker.pack(photos_folder, tmp_path / "x.stk", resize="exact=40x30", encode="raw")
    same_everywhere(tmp_path / "x.h5", tmp_path / "x.stk")
    assert by_h5py(tmp_path / "x.h5")["shape"] == [23, 30, 40, 3]
    with pytest.raises(stoker.Error, match='resize="exact'):
        stoker.pack(photos_folder, tmp_path / "y.h5", hdf5_filter="gzip")
    assert not list(tmp_path.glob("y.h5*"))


def test_grey_among_colour(tmp_path: Path) -> None:
    """[N, H, W, C] has one C: grey pictures are widened where colour ones are among them, else kept."""
    rng = np.random.default_rng(0)
    for folder, shapes in (("grey", [(9, 8), (9, 8)]), ("mixed", [(9, 8), (9, 8, 3), (9, 8)])):
        (tmp_path / folder / "a").mkdir(parents=True)
        for i, shape in enumerate(shapes):
            Image.fromarray(rng.integers(0, 256, shape, np.uint8)).save(tmp_path / folder / "a" / f"{i}.png")
        stoker.pack(tmp_path / folder, tmp_path / f"{folder}.h5")
        found = by_h5py(tmp_path / f"{folder}.h5")
        channels = 1 if folder == "grey" else 3
        assert found["shape"] == [len(shapes), 9, 8, channels]
        ds = stoker.open(tmp_path / f"{folder}.h5")
        for i in range(len(ds)):
            want = np.asarray(Image.open(tmp_path / folder / "a" / f"{i}.png").convert("RGB"))
            assert np.array_equal(ds.image(i), want)
    stoker.pack(tmp_path / "mixed", tmp_path / "l.h5", mode="L")
    assert by_h5py(tmp_path / "l.h5")["shape"] == [3, 9, 8, 1]


def write_many(folder: Path, odd: dict[int, bytes], n: int = 400, grey: bool = False) -> None:
    """n pictures of 8x6 in one class, but for those named by number. The pack looks at 32 of 400 before it begins:
    at 0..3, 50..53, 100..103 and so on."""
    (folder / "a").mkdir(parents=True)
    rng = np.random.default_rng(1)
    head = b"P5 8 6 255\n" if grey else b"P6 8 6 255\n"
    for i in range(n):
        pixels = rng.integers(0, 256, 8 * 6 * (1 if grey else 3), np.uint8).tobytes()
        (folder / "a" / f"{i:04}.ppm").write_bytes(odd.get(i, head + pixels))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("place", [1, 199, 399])
def test_one_differs_late(tmp_path: Path, place: int, threads: int) -> None:
    """One picture of another size, found before or during the pack, makes records of their own sizes of all; what
    was begun leaves nothing, and nothing is told twice."""
    broken = b"P6 8 6 255\nshort"
    write_many(tmp_path / "x", {place: b"P6 5 7 255\n" + bytes(5 * 7 * 3), 7: broken, 390: broken})
    told: list[str] = []
    report = stoker.pack(
        tmp_path / "x", tmp_path / "x.h5", threads=threads, on_issue=lambda issue: told.append(issue.path)
    )
    assert (report.records, report.skipped, report.files) == (398, 2, 400)
    assert told == ["a/0007.ppm", "a/0390.ppm"]
    assert len((tmp_path / "x.h5.report.jsonl").read_text().splitlines()) == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x", "x.h5", "x.h5.report.jsonl", "x.h5.sources"]
    stoker.pack(tmp_path / "x", tmp_path / "y.stk")
    same_everywhere(tmp_path / "x.h5", tmp_path / "y.stk", every=7)
    assert by_h5py(tmp_path / "x.h5")["contiguous"]
    with pytest.raises(stoker.Error, match="only for images of one size"):
        stoker.pack(tmp_path / "x", tmp_path / "z.h5", threads=threads, hdf5_filter="gzip")
    assert not list(tmp_path.glob("z.h5*"))


@pytest.mark.parametrize("place", [1, 199, 399])
def test_one_in_colour_late(tmp_path: Path, place: int) -> None:
    write_many(tmp_path / "x", {place: b"P6 8 6 255\n" + bytes(range(144))}, grey=True)
    stoker.pack(tmp_path / "x", tmp_path / "x.h5")
    assert by_h5py(tmp_path / "x.h5")["shape"] == [400, 6, 8, 3]
    ds = stoker.open(tmp_path / "x.h5")
    for i in (0, 1, 199, 399):
        want = np.asarray(Image.open(tmp_path / "x" / "a" / f"{i:04}.ppm").convert("RGB"))
        assert np.array_equal(ds.image(i), want)


@pytest.mark.parametrize("place", [1, 199])
def test_what_is_left_out_has_no_size(tmp_path: Path, place: int) -> None:
    """A picture of another size that is damaged, and so left out, does not keep the others from being uniform."""
    write_many(tmp_path / "x", {place: b"P6 50 70 255\n" + bytes(60)})
    assert stoker.pack(tmp_path / "x", tmp_path / "x.h5").skipped == 1
    assert by_h5py(tmp_path / "x.h5")["shape"] == [399, 6, 8, 3]


def test_nothing_readable_in_the_sample(tmp_path: Path) -> None:
    write_many(tmp_path / "x", {i: b"P6 8 6 255\n" for i in range(400) if i % 50 < 40})
    assert stoker.pack(tmp_path / "x", tmp_path / "x.h5").records == 80
    assert by_h5py(tmp_path / "x.h5")["shape"] == [80, 6, 8, 3]


def test_manifest_columns(tmp_path: Path, table: Path) -> None:
    source = table.parent / "table.csv"
    stoker.pack(source, tmp_path / "x.h5")
    same_everywhere(tmp_path / "x.h5", table)
    found = by_h5py(tmp_path / "x.h5")["columns"]
    assert found["age"] == list(range(20)) and found["score"][3] == 0.75
    assert found["zip"][7] == "00007" and found["note"][1] == "note 1 é"


def test_many_classes(tmp_path: Path) -> None:
    """Class names beyond the 64 KiB that an attribute may take in old files."""
    for i in range(1500):
        folder = tmp_path / "many" / (f"{i:05}" + "n" * 70)
        folder.mkdir(parents=True)
        (folder / "x.ppm").write_bytes(b"P6 2 1 255\n" + bytes([i % 256] * 6))
    stoker.pack(tmp_path / "many", tmp_path / "x.h5")
    found = by_h5py(tmp_path / "x.h5")
    assert len(found["classes"]) == 1500 and found["labels"] == list(range(1500))
    assert list(stoker.open(tmp_path / "x.h5").classes) == found["classes"]


def test_bad_files_and_existing_output(tmp_path: Path) -> None:
    folder = tmp_path / "src" / "a"
    folder.mkdir(parents=True)
    for i in range(5):
        Image.fromarray(np.full((9, 8, 3), i, np.uint8)).save(folder / f"{i}.png")
    (folder / "2.png").write_bytes((folder / "2.png").read_bytes()[:40])
    report = stoker.pack(tmp_path / "src", tmp_path / "x.h5")
    assert (report.records, report.skipped) == (4, 1)
    assert [stoker.open(tmp_path / "x.h5").image(i)[0, 0, 0] for i in range(4)] == [0, 1, 3, 4]
    with pytest.raises(stoker.ExistsError):
        stoker.pack(tmp_path / "src", tmp_path / "x.h5")
    stoker.pack(tmp_path / "src", tmp_path / "x.h5", force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["src", "x.h5", "x.h5.report.jsonl", "x.h5.sources"]


def test_misuse(tiny_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(stoker.Error, match="is for HDF5"):
        stoker.pack(tiny_folder, tmp_path / "x.stk", hdf5_filter="gzip")
    with pytest.raises(stoker.Error, match="zstd"):
        stoker.pack(tiny_folder, tmp_path / "x.h5", hdf5_filter="zstd")
    with pytest.raises(stoker.Error, match="one file"):
        stoker.pack(tiny_folder, f"{tmp_path}/x/", format="hdf5")
    stoker.pack(tiny_folder, tmp_path / "odd.name", format="hdf5")
    assert h5py.is_hdf5(tmp_path / "odd.name")


@pytest.mark.parametrize("name", ["photos", "clothing", "cifar10"])
def test_corpus(corpus: Path, tmp_path: Path, name: str) -> None:
    folder = corpus / name
    if name == "cifar10":
        archive = corpus / "cifar10_jpeg.tar.zst"
        run = subprocess.run(["tar", "--zstd", "-xf", archive, "-C", tmp_path], capture_output=True, text=True)
        if run.returncode != 0:
            pytest.skip(f"tar cannot unpack {archive.name}: {run.stderr}")
        folder = tmp_path
        for entry in list(tmp_path.iterdir()):
            if not entry.is_dir():
                entry.unlink()
    out = tmp_path.parent / f"{tmp_path.name}-{name}"
    h5, stk = Path(f"{out}.h5"), Path(f"{out}.stk")
    stoker.pack(folder, h5)
    stoker.pack(folder, stk)
    same_everywhere(h5, stk, every=97 if name == "cifar10" else 5)
    found = by_h5py(h5)
    assert ("shape" in found) == (name == "cifar10")
    if name == "cifar10":
        assert found["shape"] == [len(found["labels"]), 32, 32, 3]
        ds = stoker.open(h5)
        for i in range(0, len(ds), 501):
            want = digest(np.asarray(Image.open(folder / found["columns"]["path"][i]).convert("RGB")))
            assert found["records"][i] == want and digest(ds.image(i)) == want


def foreign(path: Path, **datasets: Any) -> Path:
    """A file of 50 small images and what else is given, as h5py writes it."""
    rng = np.random.default_rng(5)
    datasets.setdefault("images", rng.integers(0, 256, (50, 16, 12, 3), dtype=np.uint8))
    with h5py.File(path, "w") as f:
        for name, values in datasets.items():
            if values is not None:
                f[name] = values
    return path


@pytest.mark.parametrize(
    "datasets, words",
    [
        ({"labels": np.arange(40)}, "'labels' has 40 rows for 50 images"),
        ({"labels": np.eye(5, dtype=np.int64)[np.arange(50) % 5]}, "one-hot"),
        ({"y": np.zeros(50, np.float32)}, "'y' holds float32"),
        ({"target": np.int64(3)}, "'target' is a single value"),
        ({"labels": np.arange(40), "kind": np.arange(50)}, "hdf5_labels=\"kind\""),
        ({"kind": np.arange(50)}, "no data set has a label's name.*hdf5_labels=\"kind\""),
    ],
)
def test_labels_that_are_not_read_are_named(tmp_path: Path, datasets: dict[str, Any], words: str) -> None:
    report = stoker.pack(foreign(tmp_path / "d.h5", **datasets), tmp_path / "x.stk")
    assert [issue.kind for issue in report.issues] == ["label"]
    assert re.search(words, report.issues[0].reason), report.issues[0].reason
    assert stoker.open(tmp_path / "x.stk").labels is None
    if "kind" in datasets:
        stoker.pack(tmp_path / "d.h5", tmp_path / "y.stk", hdf5_labels="kind")
        assert stoker.open(tmp_path / "y.stk").labels.tolist() == list(range(50))
    assert not stoker.pack(tmp_path / "d.h5", tmp_path / "z.stk", hdf5_labels="").issues


@pytest.mark.parametrize("fixed", [True, False])
def test_text_labels_are_classes(tmp_path: Path, fixed: bool) -> None:
    names = ["dog", "", "cat", "a\u00e4"] * 12 + ["dog", "emu"]
    values: Any = np.array([name.encode() for name in names]) if fixed else names
    report = stoker.pack(foreign(tmp_path / "d.h5", labels=values), tmp_path / "x.stk")
    ds = stoker.open(tmp_path / "x.stk")
    assert report.issues == () and "labels" not in ds.columns
    assert list(ds.classes) == ["a\u00e4", "cat", "dog", "emu"]
    assert ds.labels.tolist() == [-1 if not name else ds.classes.index(name) for name in names]
    with h5py.File(tmp_path / "d.h5") as f:
        assert np.array_equal(ds.image(7), f["images"][7])


def test_two_image_data_sets(tmp_path: Path) -> None:
    a = np.full((50, 16, 12, 3), 1, np.uint8)
    source = foreign(tmp_path / "d.h5", images=None, a=a, b=a[:20] + 1, labels=np.arange(50))
    report = stoker.pack(source, tmp_path / "x.stk")
    assert [issue.kind for issue in report.issues] == ["images"]
    assert "'a' is what was read; 'b' would do as well, and hdf5_images=\"b\" takes it" in report.issues[0].reason
    assert len(stoker.open(tmp_path / "x.stk")) == 50
