# SPDX-License-Identifier: Apache-2.0
"""stoker.open and Dataset."""

from __future__ import annotations

import io
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest
import stoker
from PIL import Image


def test_length_classes_labels(photos: Path) -> None:
    ds = stoker.open(photos)
    assert len(ds) == 23
    assert ds.classes == ["ant", "bee", "cat"]
    assert ds.has_labels
    assert ds.labels is not None and ds.labels.dtype == np.int64
    assert ds.labels.tolist() == [0] * 5 + [1] * 7 + [2] * 11
    assert not ds.labels.flags.writeable
    assert len(ds.id) == 32
    assert ds.container == "stk"
    assert ds.nbytes == photos.stat().st_size
    assert ds.filename == str(photos)
    assert "23 records" in repr(ds)
    assert isinstance(ds.metadata, dict)


def test_opens_any_kind_of_path(photos: Path) -> None:
    for path in (photos, str(photos), bytes(photos)):
        assert len(stoker.open(path)) == 23


def test_record(photos: Path, photos_folder: Path) -> None:
    ds = stoker.open(photos)
    sample = ds[6]
    assert sample.label == 1
    assert sample.image.shape == (60 + 7, 80 + 5 * 6, 3) and sample.image.dtype == np.uint8
    assert sample.columns["path"] == "bee/001.jpg" == ds.path(6)
    assert np.array_equal(ds[-1].image, ds[22].image)
    info = ds.info(6)
    assert (info.width, info.height, info.channels, info.encoding, info.label) == (110, 67, 3, "jpeg", 1)
    source = (photos_folder / "bee/001.jpg").read_bytes()
    assert ds.jpeg(6) == source == ds.payload(6)
    assert ds.file(6) == (source, "jpg")
    assert info.n_bytes == len(source)
    assert info.offset is not None
    assert photos.read_bytes()[info.offset : info.offset + info.n_bytes] == source
    assert ds.sizes[6].tolist() == [67, 110]
    assert ds.sizes.shape == (23, 2)


def test_iterates_over_samples(photos: Path) -> None:
    assert [sample.label for sample in stoker.open(photos)] == [0] * 5 + [1] * 7 + [2] * 11


@pytest.mark.parametrize("i", [23, -24, 10**30])
def test_out_of_range(photos: Path, i: int) -> None:
    ds = stoker.open(photos)
    with pytest.raises(IndexError):
        ds[i]
    with pytest.raises(IndexError):
        ds.image(i)


def test_image_arguments(photos: Path) -> None:
    ds = stoker.open(photos)
    for bad in (
        {"box": (0, 0, 10000, 5)},
        {"box": (-1, 0, 5, 5)},
        {"box": (0, 0, 0, 5)},
        {"size": (0, 5)},
        {"size": (70000, 5)},
        {"filter": "nicest"},
        {"pixels": "pillow14"},
        {"color": "grb"},
    ):
        with pytest.raises(stoker.ArgumentError):
            ds.image(0, **bad)
    with pytest.raises(stoker.ArgumentError, match="bilinear"):
        ds.image(0, filter="nicest")  # type: ignore[arg-type]
    with pytest.raises(ValueError):  # ArgumentError is one
        ds.image(0, filter="nicest")  # type: ignore[arg-type]


def test_image_is_writable_and_outlives_the_dataset(photos: Path) -> None:
    ds = stoker.open(photos)
    image = ds.image(0)
    want = image.copy()
    view = image[3:, 4:]
    del image, ds
    assert np.array_equal(view, want[3:, 4:])
    view[0, 0] = 7
    assert view[0, 0].tolist() == [7, 7, 7]


def test_raw_record_as_file(tiny: Path) -> None:
    ds = stoker.open(tiny)
    data, extension = ds.file(17)
    assert extension == "png"
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(data))), ds.image(17))
    with pytest.raises(stoker.UnsupportedError, match="png"):
        ds.jpeg(17)


def test_columns(table: Path) -> None:
    ds = stoker.open(table)
    columns = ds.columns
    assert {"age", "score", "zip", "note", "adult", "path"} <= set(columns)
    assert list(ds.columns) == list(columns)
    assert columns["zip"].type == "string" and columns["zip"].dtype is None
    age = ds.column("age")
    assert age.tolist() == list(range(20)) and np.issubdtype(age.dtype, np.integer)
    assert ds.column("score").tolist() == [i / 4 for i in range(20)]
    assert ds.column("zip") == [f"{i:05}" for i in range(20)]
    assert ds.column("adult").tolist() == [i > 9 for i in range(20)]
    notes = ds.column("note")
    assert notes[1] == "note 1 é" and notes[5] in (None, "")
    row = ds[7].columns
    assert row["age"] == 7 and type(row["age"]) is int
    assert row["zip"] == "00007" and row["adult"] is False and row["note"] == "note 7 é"
    with pytest.raises(stoker.NotFoundError, match="age"):
        ds.column("size")


def test_select(photos: Path) -> None:
    ds = stoker.open(photos)
    assert ds.labels is not None
    part = ds.select([22, 0, 0, -2])
    assert len(part) == 4 and part.ids.tolist() == [22, 0, 0, 21]
    assert part.labels is not None and part.labels.tolist() == [2, 0, 0, 2]
    assert part[0].columns["path"] == ds[22].columns["path"]
    assert part.column("path") == [ds.path(i) for i in (22, 0, 0, 21)]
    bees = ds.select(ds.labels == 1)
    assert bees.ids.tolist() == list(range(5, 12))
    assert bees.select([-1, 1]).ids.tolist() == [11, 6]
    assert bees[1:4].ids.tolist() == [6, 7, 8]
    assert ds[::-5].ids.tolist() == list(range(23))[::-5]
    assert len(ds.select([])) == 0
    with pytest.raises(IndexError):
        bees[7]
    for bad in ([23], [-24], [0.5], [[1]], np.zeros(5, bool)):
        with pytest.raises(stoker.ArgumentError):
            ds.select(bad)


def test_filter(table: Path) -> None:
    ds = stoker.open(table)
    assert ds.filter(age=[3, 5, 99]).ids.tolist() == [3, 5]
    assert ds.filter(age=lambda a: a > 15, adult=True).ids.tolist() == [16, 17, 18, 19]
    assert ds.filter({"zip": "00004"}).ids.tolist() == [4]
    assert ds.filter(label="odd").ids.tolist() == list(range(1, 20, 2))
    assert ds.filter(label=["odd", "even"], width=24, height={20}).ids.tolist() == list(range(20))
    assert len(ds.filter(width=23)) == 0
    assert ds.filter(age=[3, 5]).filter(age=5).ids.tolist() == [5]
    with pytest.raises(stoker.NotFoundError):
        ds.filter(colour=3)
    with pytest.raises(stoker.NotFoundError):
        ds.filter(label="strange")
    with pytest.raises(stoker.ArgumentError):
        ds.filter(age=lambda a: 3)


def test_pickle(photos: Path) -> None:
    ds = stoker.open(photos, io="pread")
    again = pickle.loads(pickle.dumps(ds))
    assert len(again) == 23 and again.id == ds.id
    part = pickle.loads(pickle.dumps(ds.select([4, 2])))
    assert part.ids.tolist() == [4, 2]
    assert np.array_equal(part.image(1), ds.image(2))


def test_pickle_of_changed_content(tmp_path: Path, photos: Path, tiny: Path) -> None:
    path = tmp_path / "x.stk"
    path.write_bytes(photos.read_bytes())
    data = pickle.dumps(stoker.open(path))
    path.unlink()
    path.write_bytes(tiny.read_bytes())
    with pytest.raises(stoker.StateError, match="changed"):
        pickle.loads(data)


def test_close(photos: Path) -> None:
    with stoker.open(photos) as ds:
        part = ds.select([1])
        loader = stoker.Loader(ds, batch_size=4, transform=stoker.Resize(8))
    with pytest.raises(stoker.StateError, match="closed"):
        len(ds.classes)
    assert part[0].label == 0  # the file stays open for those who use it
    assert sum(len(labels) for _, labels in loader) == 23


def test_errors(tmp_path: Path, photos: Path) -> None:
    with pytest.raises(FileNotFoundError) as not_found:
        stoker.open(tmp_path / "none.stk")
    assert isinstance(not_found.value, stoker.NotFoundError) and "none.stk" in str(not_found.value)
    assert not_found.value.status == stoker.NotFoundError.__name__[:-5].lower() or not_found.value.status
    data = bytearray(photos.read_bytes())
    (tmp_path / "short.stk").write_bytes(data[: len(data) // 2])
    with pytest.raises(stoker.CorruptError):
        stoker.open(tmp_path / "short.stk")
    info = stoker.open(photos).info(3)
    assert info.offset is not None
    data[info.offset + 100] ^= 0x40
    (tmp_path / "flipped.stk").write_bytes(data)
    broken = stoker.open(tmp_path / "flipped.stk")
    with pytest.raises(stoker.ChecksumError):
        broken.image(3)
    assert broken.image(4).shape[2] == 3
    report = stoker.verify(tmp_path / "flipped.stk")
    assert not report and report.bad == 1
    assert [issue.record for issue in report.issues] == [3]
    assert report.issues[0].path == "ant/003.jpg"
    for bad in ({"io": "carrier pigeon"}, {"verify": "maybe"}):
        with pytest.raises(stoker.ArgumentError):
            stoker.open(photos, **bad)


def test_verify(photos: Path) -> None:
    seen = []
    report = stoker.verify(photos, deep=True, progress=seen.append)
    assert report.ok and report.records == 23 and report.bad == 0 and report.issues == ()


def test_salvage_says_what_is_missing(photos: Path, tmp_path: Path) -> None:
    ds = stoker.open(photos)
    content = bytearray(photos.read_bytes())
    for i in (3, 4, 11):
        info = ds.info(i)
        assert info.offset is not None
        content[info.offset + info.n_bytes // 2] ^= 1
    info = ds.info(22)
    assert info.offset is not None
    for name, data, end in (("end", content, True), ("cut", content[: info.offset + info.n_bytes], False)):
        data = data[:-300] + bytes(100) + data[-200:] if end else data  # the metadata: it does not open otherwise
        (tmp_path / name).write_bytes(data)
        found = stoker.open(tmp_path / name, salvage=True)
        assert len(found) == 20 and found.metadata["missing"] == 3 and found.metadata["end"] is end
        assert found.column("record").tolist() == [i for i in range(23) if i not in (3, 4, 11)]


def test_many_threads(photos: Path) -> None:
    ds = stoker.open(photos)
    want = [ds.image(i, size=(16, 16)) for i in range(23)]
    failures: list[int] = []

    def work(offset: int) -> None:
        for k in range(46):
            i = (k + offset) % 23
            if not np.array_equal(ds.image(i, size=(16, 16)), want[i]):
                failures.append(i)

    threads = [threading.Thread(target=work, args=(k * 5,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    assert stoker.cpu() in ("scalar", "avx2", "avx512", "neon")
    assert stoker.usable_threads() >= 1
    assert stoker.__version__.count(".") == 2
