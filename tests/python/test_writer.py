# SPDX-License-Identifier: Apache-2.0
"""stoker.Writer: the same bytes as packing a folder, every kind of image and column, nothing half-written."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker
from conftest import noise
from PIL import Image


def jpeg(seed: int, size: tuple[int, int] = (60, 80)) -> bytes:
    out = io.BytesIO()
    Image.fromarray(noise(*size, seed)).save(out, "JPEG", quality=90)
    return out.getvalue()


@pytest.mark.parametrize("encode", ["auto", "keep", "raw", "tiles"])
def test_same_bytes_as_pack(photos_folder: Path, tmp_path: Path, encode: str) -> None:
    stoker.pack(photos_folder, tmp_path / "a.stk", encode=encode, on_damaged="fail")
    ds = stoker.open(tmp_path / "a.stk")
    with stoker.Writer(tmp_path / "b.stk", classes=ds.classes, encode=encode) as writer:
        for i in range(len(ds)):
            writer.add(photos_folder / ds.path(i), ds.classes[ds.labels[i]], path=ds.path(i))
        assert len(writer) == 23
    assert (tmp_path / "a.stk").read_bytes() == (tmp_path / "b.stk").read_bytes()
    assert writer.report.records == 23
    assert writer.report.dataset_id == ds.id


def test_kinds_of_images(tmp_path: Path) -> None:
    torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
    rgb, grey = noise(70, 90, 1), noise(70, 90, 2, channels=1)
    (tmp_path / "file.jpg").write_bytes(jpeg(3))
    given: list[tuple[object, np.ndarray]] = [
        (rgb, rgb),
        (grey, np.repeat(grey[:, :, None], 3, axis=2)),
        (grey[:, :, None], np.repeat(grey[:, :, None], 3, axis=2)),
        (rgb[::-1, ::2], rgb[::-1, ::2]),  # strides
        (Image.fromarray(rgb), rgb),
        (Image.fromarray(rgb).quantize(16), np.asarray(Image.fromarray(rgb).quantize(16).convert("RGB"))),
        (jpeg(4), np.asarray(Image.open(io.BytesIO(jpeg(4))))),
        (memoryview(jpeg(4)), np.asarray(Image.open(io.BytesIO(jpeg(4))))),
        (tmp_path / "file.jpg", np.asarray(Image.open(tmp_path / "file.jpg"))),
    ]
    if torch is not None:
        given.append((torch.from_numpy(np.moveaxis(rgb, 2, 0).copy()), rgb))
    with stoker.Writer(tmp_path / "x.stk") as writer:
        for image, _ in given:
            writer.add(image)
    ds = stoker.open(tmp_path / "x.stk")
    assert ds.labels is None
    assert ds.path(8) == "file.jpg"
    assert ds.path(2) == "00000002"
    for i, (_, want) in enumerate(given):
        np.testing.assert_array_equal(ds.image(i), want, err_msg=str(i))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24, dtype=np.float32).reshape(2, 3, 4),
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=np.int64).reshape(2, 3)),
        np.float16(3.5),
        np.zeros((0, 4), np.uint16),
        np.array([True, False]),
        np.arange(16, dtype=np.uint8).reshape(2, 2, 4),  # four channels: no picture
    ],
)
def test_arrays(tmp_path: Path, array: np.ndarray) -> None:
    with stoker.Writer(tmp_path / "x.stk") as writer:
        writer.add(array, 3)
    ds = stoker.open(tmp_path / "x.stk")
    data, extension = ds.file(0)
    assert extension == "npy"
    got = np.load(io.BytesIO(data))
    assert got.dtype == np.asarray(array).dtype.newbyteorder("<")
    np.testing.assert_array_equal(got, array)


def test_as_array(tmp_path: Path) -> None:
    with stoker.Writer(tmp_path / "x.stk", as_array=True) as writer:
        writer.add(np.zeros((4, 5, 3), np.uint8))
    assert stoker.open(tmp_path / "x.stk").info(0).encoding == "array"


def test_columns(tmp_path: Path) -> None:
    columns = {
        "i": "int32",
        "flag": "bool",
        "pair": "float32[2]",
        "some": "uint16[]",
        "text": "string?",
        "raw": "bytes",
        "maybe": "float64?",
    }
    with stoker.Writer(tmp_path / "x.stk", columns) as writer:
        for i in range(30):
            writer.add(
                noise(8, 8, i),
                i=i,
                flag=i % 2 == 0,
                pair=(i, 0.25),
                some=range(i % 4),
                text=None if i % 3 == 0 else f"é{i}",
                raw=bytes([i, 0, 255]),
                maybe=None if i == 7 else i / 3,
            )
    ds = stoker.open(tmp_path / "x.stk")
    assert list(ds.columns) == ["path", *columns]
    assert ds.column("i").dtype == np.int32
    np.testing.assert_array_equal(ds.column("i"), np.arange(30))
    np.testing.assert_array_equal(ds.column("flag"), np.arange(30) % 2 == 0)
    np.testing.assert_array_equal(ds.column("pair"), [(i, 0.25) for i in range(30)])
    assert [list(v) for v in ds.column("some")] == [list(range(i % 4)) for i in range(30)]
    assert ds.column("text")[:4] == [None, "é1", "é2", None]
    assert ds.column("raw")[5] == bytes([5, 0, 255])
    assert ds.column("maybe").mask.tolist() == [i == 7 for i in range(30)]
    assert ds.column("maybe")[8] == 8 / 3


@pytest.mark.parametrize(
    ("columns", "sample", "words"),
    [
        ({"n": "int8"}, {"n": 200}, "cannot hold"),
        ({"n": "int32"}, {"n": 1.5}, "cannot hold"),
        ({"n": "int32"}, {"n": "7"}, "cannot hold"),
        ({"n": "uint8"}, {"n": -1}, "cannot hold"),
        ({"n": "int32"}, {}, "no value"),
        ({"n": "float32[3]"}, {"n": [1, 2]}, "2 elements"),
        ({"n": "string"}, {"n": 7}, "got a int"),
        ({"n": "bytes"}, {"n": "x"}, "got a str"),
        ({"n": "boxes"}, {"n": [1, 2, 3]}, "shape"),
        ({}, {"n": 3}, "no column 'n'"),
        ({}, {"label": "cat"}, "classes"),
        ({}, {"label": -1}, "number from 0"),
        ({}, {"label": 1.5}, "number from 0"),
        ({}, {"path": ""}, "no name"),
        ({}, {"image": object()}, "an image given as object"),
        ({}, {"image": np.zeros((0, 4), np.uint8)}, "no pixels"),
        ({}, {"image": np.zeros(3, np.complex64)}, "complex64"),
    ],
)
def test_refused_samples_leave_the_writer_usable(
    tmp_path: Path, columns: dict[str, str], sample: dict[str, object], words: str
) -> None:
    kind = columns.get("n", "").rstrip("?")
    good = {"string": "a", "bytes": b"a", "boxes": np.zeros((0, 4)), "float32[3]": [1, 2, 3]}.get(kind, 1)
    with stoker.Writer(tmp_path / "x.stk", columns) as writer:
        with pytest.raises(stoker.ArgumentError, match=words):
            writer.add(**{"image": noise(8, 8, 1), **sample})
        writer.add(noise(8, 8, 1), **({"n": good} if columns else {}))
    assert len(stoker.open(tmp_path / "x.stk")) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": {"n": "int31"}}, "int31"),
        ({"columns": {"n": "string[2]"}}, "string"),
        ({"columns": {"n": "int32[0]"}}, "1 or more"),
        ({"columns": {"label": "int32"}}, "taken"),
        ({"classes": ["a", "a"]}, "twice"),
        ({"version": "1"}, "map="),
        ({"map": dict, "map_cache": "x"}, "version"),
        ({"masks": "mask"}, "list"),
        ({"masks": ["a/b"]}, "file names"),
        ({"masks": ["m"], "on_bad": "skip"}, "shift"),
        ({"masks": ["m"], "resize": "short=8"}, "resize"),
        ({"metadata": {"classes": []}}, "classes"),
        ({"encode": "best"}, "encode"),
    ],
)
def test_refused_options_leave_nothing(tmp_path: Path, options: dict[str, object], words: str) -> None:
    with pytest.raises(stoker.ArgumentError, match=words):
        stoker.Writer(tmp_path / "x.stk", **options)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_nothing_after_an_exception(tmp_path: Path) -> None:
    writer = stoker.Writer(tmp_path / "x.stk", masks=["mask"])
    with pytest.raises(RuntimeError, match="mine"), writer:
        writer.add(noise(8, 8, 1), mask=np.zeros((8, 8), np.uint8))
        raise RuntimeError("mine")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(stoker.StateError):
        writer.add(noise(8, 8, 1))


def test_bad_sample_is_named_and_nothing_stays(tmp_path: Path) -> None:
    cut = jpeg(1)[:-200]
    for bad in (b"no image at all", b"", cut):
        with (
            pytest.raises((stoker.ImageError, stoker.DamagedError), match=r"third\.jpg"),
            stoker.Writer(tmp_path / "x.stk") as writer,
        ):
            writer.extend([jpeg(2), jpeg(3)])
            writer.add(bad, path="third.jpg")
            writer.add(jpeg(4))
        assert list(tmp_path.iterdir()) == []


def test_skipped_when_asked(tmp_path: Path) -> None:
    with stoker.Writer(tmp_path / "x.stk", on_bad="skip") as writer:
        writer.extend([jpeg(1), b"no image", jpeg(2)])
    assert (writer.report.records, writer.report.skipped) == (2, 1)
    assert writer.report.issues[0].path == "00000001"


@pytest.mark.parametrize("version", [None, "1"])
def test_files_that_cannot_be_read(tmp_path: Path, version: str | None) -> None:
    """A path without a file is a bad sample: left out and counted, or an error that names it."""
    (tmp_path / "good.jpg").write_bytes(jpeg(1))
    (tmp_path / "folder").mkdir()
    names = ["good.jpg", "gone.jpg", "folder", "good.jpg/x.jpg"]
    options = {"map": lambda sample: sample, "version": version} if version else {}
    told: list[str] = []
    with stoker.Writer(
        tmp_path / "x.stk", on_bad="skip", on_issue=lambda issue: told.append(issue.path), **options
    ) as writer:
        for name in names:
            writer.add(tmp_path / name, 3, path=name)
        writer.add(b"no image", path="no image")
    report = writer.report
    assert (report.files, report.records, report.missing, report.skipped) == (5, 1, 2, 2)
    assert told == [*names[1:], "no image"] == [issue.path for issue in report.issues]
    *lines, last = (tmp_path / "x.stk.report.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["path"] for line in lines) == sorted(told)
    summary = json.loads(last)["summary"]
    assert (summary["files"], summary["missing"], summary["skipped"]) == (5, 2, 2)

    with stoker.Writer(tmp_path / "y.stk", **options) as writer:
        with pytest.raises(stoker.NotFoundError, match=r"gone\.jpg.*No such file"):
            writer.add(tmp_path / "gone.jpg")
        with pytest.raises(stoker.IOError, match="folder: Is a directory"):
            writer.add(tmp_path / "folder")
        writer.add(tmp_path / "good.jpg")
    assert writer.report.records == 1


def test_exists_and_force(tmp_path: Path) -> None:
    path = tmp_path / "x.stk"
    path.write_bytes(b"mine")
    with pytest.raises(stoker.ExistsError):
        stoker.Writer(path)
    with pytest.raises(stoker.ExistsError, match="holds no stoker data set"):
        stoker.Writer(path, force=True)
    assert path.read_bytes() == b"mine"
    old = b"\x89STK\r\n\x1a\nmine"
    path.write_bytes(old)
    with stoker.Writer(path, force=True) as writer:
        assert path.read_bytes() == old
        writer.add(jpeg(1))
    assert len(stoker.open(path)) == 1


def test_empty_is_no_output(tmp_path: Path) -> None:
    with pytest.raises(stoker.NotFoundError), stoker.Writer(tmp_path / "x.stk"):
        pass
    assert list(tmp_path.iterdir()) == []


class Pairs:
    """A torch Dataset in all but name: len() and [i], and no IndexError to stop a for loop."""

    def __len__(self) -> int:
        return 3000

    def __getitem__(self, i: int) -> tuple[Image.Image, int]:
        assert i < 3000
        return Image.fromarray(np.full((4, 4, 3), i % 251, np.uint8)), i % 7


def test_extend_a_torch_dataset_over_several_batches(tmp_path: Path) -> None:
    with stoker.Writer(f"{tmp_path}/shards/", shard_size=1 << 16) as writer:
        writer.extend(Pairs())
    ds = stoker.open(tmp_path / "shards")
    assert ds.container == "stk-folder"
    np.testing.assert_array_equal(ds.labels, np.arange(3000) % 7)
    for i in (0, 1023, 1024, 2999):
        assert (ds.image(i) == i % 251).all()


def test_extend_from_a_stoker_dataset(table: Path, tmp_path: Path) -> None:
    old = stoker.open(table)
    columns = {"age": "int64", "score": "float64", "zip": "string", "note": "string?", "adult": "bool"}
    with stoker.Writer(tmp_path / "x.stk", columns, classes=old.classes) as writer:
        writer.extend(old)
    new = stoker.open(tmp_path / "x.stk")
    assert new.column("zip") == old.column("zip")
    assert (new.labels == old.labels).all()
    for i in range(20):
        np.testing.assert_array_equal(new.image(i), old.image(i))


def test_extend_refuses_what_is_no_sample(tmp_path: Path) -> None:
    with stoker.Writer(tmp_path / "x.stk") as writer:
        for bad, words in ((7, "iterable"), ([{"img": b""}], "image"), ([(1, 2, 3, 4)], "4 parts")):
            with pytest.raises(stoker.ArgumentError, match=words):
                writer.extend(bad)  # type: ignore[arg-type]
        writer.add(jpeg(1))


def test_hdf5(tmp_path: Path) -> None:
    with stoker.Writer(tmp_path / "x.h5", {"n": "int32"}) as writer:
        for i in range(10):
            writer.add(np.full((6, 5, 3), i, np.uint8), i, n=i * i)
    ds = stoker.open(tmp_path / "x.h5")
    assert ds.container == "hdf5"
    assert (ds.image(7) == 7).all()
    assert ds.column("n")[7] == 49


def test_map_and_its_cache(tmp_path: Path) -> None:
    calls: list[int] = []

    def squeeze(sample: dict[str, object]) -> dict[str, object]:
        calls.append(1)
        small = Image.open(io.BytesIO(sample["image"])).resize((10, 12))  # type: ignore[arg-type]
        return {**sample, "image": small, "n": 2 * sample["n"]}  # type: ignore[operator]

    def write(name: str, version: str | None, images: range, cache: str = "cache") -> stoker.Writer:
        more = {} if version is None else {"version": version, "map_cache": tmp_path / cache}
        with stoker.Writer(tmp_path / name, {"n": "int32"}, map=squeeze, **more) as writer:
            writer.extend({"image": jpeg(i), "label": i, "n": i} for i in images)
        return writer

    write("plain.stk", None, range(8))
    assert len(calls) == 8
    assert write("a.stk", "1", range(8)).map_hits == 0
    assert write("b.stk", "1", range(6, 10)).map_hits == 2
    assert write("c.stk", "2", range(8)).map_hits == 0
    assert write("d.stk", "1", range(8)).map_hits == 8
    assert len(calls) == 8 + 8 + 2 + 8
    plain = (tmp_path / "plain.stk").read_bytes()
    assert all((tmp_path / f"{name}.stk").read_bytes() == plain for name in "acd")
    ds = stoker.open(tmp_path / "d.stk")
    assert ds.image(3).shape == (12, 10, 3)
    assert ds.column("n")[3] == 6

    (tmp_path / "broken").write_bytes(b"no data base" * 1000)
    with pytest.warns(UserWarning, match="broken"):
        write("e.stk", "1", range(8), "broken")
    assert (tmp_path / "e.stk").read_bytes() == plain


def test_the_cache_of_a_map_is_trimmed(tmp_path: Path) -> None:
    """At the end of each Writer it keeps to its size: what was not used for longest goes, and the file shrinks."""
    cache = tmp_path / "cache"

    def enlarge(sample: dict[str, Any]) -> dict[str, Any]:
        return {**sample, "image": noise(100, 100, sample["label"])}

    def hits(images: range, size: int | str) -> int:
        with stoker.Writer(
            tmp_path / "x.stk", map=enlarge, version="1", map_cache=cache, map_cache_max=size, force=True
        ) as writer:
            writer.extend({"image": jpeg(i), "label": i} for i in images)
        return writer.map_hits

    assert hits(range(100), "1GiB") == 0  # 100 results of 30 kB
    assert cache.stat().st_size > 3_000_000
    assert hits(range(20), "1GiB") == 20  # used again, so these stay
    assert hits(range(200, 210), 1_500_000) == 0
    assert cache.stat().st_size < 1_600_000
    assert hits(range(200, 210), "1GiB") == 10
    assert hits(range(20), "1GiB") == 20
    assert 0 < hits(range(20, 100), "1GiB") < 30
    assert hits(range(100), 1) == 100
    assert cache.stat().st_size < 100_000
    for size in (0, -1, "much", "0.5"):
        with pytest.raises(stoker.ArgumentError, match="map_cache_max"):
            hits(range(1), size)


def test_a_cache_of_an_older_writer_is_read(tmp_path: Path) -> None:
    """One that has no notes of uses yet: its results are found, and are the first to go."""
    for _ in range(2):
        with stoker.Writer(tmp_path / "x.stk", map=dict, version="1", force=True) as writer:
            writer.extend({"image": jpeg(i)} for i in range(4))
        with sqlite3.connect(tmp_path / "x.stk.mapcache") as db:
            db.execute("DROP TABLE uses")
        db.close()
    assert writer.map_hits == 4


def test_the_cache_of_a_map_in_another_thread(tmp_path: Path) -> None:
    """A Writer is used by one thread at a time; which one does not matter."""
    for hits in (0, 4):
        writer = stoker.Writer(tmp_path / "x.stk", map=dict, version="1", force=True)
        samples = [{"image": jpeg(i)} for i in range(4)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            thread = threading.Thread(target=writer.extend, args=(samples,))
            thread.start()
            thread.join()
            writer.finish()
        assert writer.map_hits == hits


def test_exception_in_map_ends_nothing(tmp_path: Path) -> None:
    def picky(sample: dict[str, object]) -> dict[str, object]:
        if sample["label"] == 1:
            raise ValueError("not this one")
        return sample

    with stoker.Writer(tmp_path / "x.stk", map=picky) as writer:
        writer.add(jpeg(1), 0)
        with pytest.raises(ValueError, match="not this one"):
            writer.add(jpeg(2), 1)
    assert len(stoker.open(tmp_path / "x.stk")) == 1


def test_keyboard_interrupt(tmp_path: Path) -> None:
    """Ctrl-C while C encodes: the exception comes, and nothing stays."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    big = jpeg(1, (1500, 2000))
    try:
        with pytest.raises(KeyboardInterrupt), stoker.Writer(tmp_path / "x.stk") as writer:
            writer.extend([big] * 120)
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            writer.extend([big] * 10_000)
    finally:
        signal.signal(signal.SIGINT, before)
    assert list(tmp_path.iterdir()) == []


def test_forked_child_leaves_the_writer_alone(tmp_path: Path) -> None:
    script = """
import os, sys, gc, numpy as np, stoker
writer = stoker.Writer(sys.argv[1])
writer.add(np.zeros((8, 8, 3), np.uint8))
pid = os.fork()
if pid == 0:
    try:
        writer.add(np.zeros((8, 8, 3), np.uint8))
    except stoker.StateError as error:
        os.write(1, str(error).encode().rpartition(b": ")[2][:43] + b"\\n")
    writer.close()
    del writer
    gc.collect()
    os._exit(0)
os.waitpid(pid, 0)
writer.add(np.zeros((8, 8, 3), np.uint8))
print(writer.finish().records)
"""
    out = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "x.stk")], capture_output=True, text=True, timeout=60
    )
    told = "this Writer was made in another process; ma\n"
    assert (out.returncode, out.stdout, out.stderr) == (0, told + "2\n", "")


@pytest.mark.parametrize("use", ["close", "finish", "add"])
def test_callbacks_do_not_use_the_writer(tmp_path: Path, use: str) -> None:
    """It is in the midst of something."""

    def progress(_: object) -> None:
        if use == "add":
            writer.add(jpeg(2))
        else:
            getattr(writer, use)()

    writer = stoker.Writer(tmp_path / "x.stk", progress=progress)
    writer.add(jpeg(1))
    with pytest.raises(stoker.StateError, match="at work"):
        writer.finish()
    writer.close()
    assert list(tmp_path.iterdir()) == []


def test_a_forked_child_packs(tmp_path: Path) -> None:
    """With threads, as its parent did before: those that OpenMP kept for the next time are not in the child."""
    script = """
import os, sys, numpy as np, stoker
def pack(name):
    with stoker.Writer(os.path.join(sys.argv[1], name), threads=3) as writer:
        for i in range(20):
            writer.add(np.full((8, 8, 3), i, np.uint8))
pack("a.stk")
pid = os.fork()
pack("child.stk" if pid == 0 else "parent.stk")
if pid == 0:
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    out = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert (out.returncode, out.stdout, out.stderr) == (0, "7\n", "")
    assert len({(tmp_path / name).read_bytes() for name in ("a.stk", "child.stk", "parent.stk")}) == 1


def test_a_forked_child_holds_no_cache(tmp_path: Path) -> None:
    """What was forked while a Writer used a cache and lives on, a worker say, does not keep it from the next one."""
    script = """
import os, signal, sys, time, numpy as np, stoker
os.chdir(sys.argv[1])
pixels = np.zeros((64, 64, 3), np.uint8)
first = stoker.Writer("a.stk", cache="cache")
first.add(pixels)
worker = os.fork()
if worker == 0:
    time.sleep(60)
    os._exit(0)
first.finish()
with stoker.Writer("b.stk", cache="cache") as second:
    second.add(pixels)
os.kill(worker, signal.SIGKILL)
print(second.report.records)
"""
    out = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60)
    if "UnsupportedError" in out.stderr:
        pytest.skip("this build has no LMDB")
    assert (out.returncode, out.stdout, out.stderr) == (0, "1\n", "")


def test_pickled_paths_and_repr(tmp_path: Path) -> None:
    writer = stoker.Writer(tmp_path / "x.stk")
    assert "0 samples" in repr(writer)
    with pytest.raises(stoker.StateError):
        _ = writer.report
    writer.add(jpeg(1), path="a/b.jpg")
    assert writer.finish().records == 1
    assert "finished" in repr(writer)
    with pytest.raises(stoker.StateError):
        writer.finish()
    assert stoker.open(tmp_path / "x.stk").path(0) == "a/b.jpg"


@pytest.mark.parametrize("encode", ["keep", "auto", "raw"])
def test_extend_takes_a_data_set_as_it_is(photos_folder: Path, tmp_path: Path, encode: str) -> None:
    """Without classes= nothing differs from the data set: labels, names, paths, stored bytes."""
    stoker.pack(photos_folder, tmp_path / "a.stk", encode=encode)
    old = stoker.open(tmp_path / "a.stk")
    with stoker.Writer(tmp_path / "b.stk", encode=encode) as writer:
        writer.extend(old)
    new = stoker.open(tmp_path / "b.stk")
    assert new.classes == old.classes == ["ant", "bee", "cat"]
    np.testing.assert_array_equal(new.labels, old.labels)
    for i in range(len(old)):
        assert (new.path(i), new.info(i).encoding) == (old.path(i), old.info(i).encoding)
        assert new.payload(i) == old.payload(i)


def test_extend_maps_classes_by_name(photos: Path, tmp_path: Path) -> None:
    old = stoker.open(photos)
    with stoker.Writer(tmp_path / "x.stk", classes=["dog", "cat", "bee", "ant"]) as writer:
        writer.extend(old.filter(label="cat"))
        writer.extend(old.filter(label=["ant", "bee"]))
    new = stoker.open(tmp_path / "x.stk")
    assert new.classes == ["dog", "cat", "bee", "ant"]
    assert [new.path(i).split("/")[0] for i in range(23)] == [new.classes[k] for k in new.labels]
    with stoker.Writer(tmp_path / "y.stk", classes=["ant"]) as writer:
        writer.add(jpeg(1), "ant")
        with pytest.raises(stoker.ArgumentError, match=r"record 5 .*'bee'.*'ant'"):
            writer.extend(old)
    with stoker.Writer(tmp_path / "z.stk") as writer:
        writer.add(jpeg(1), 4)
        with pytest.raises(stoker.ArgumentError, match="give the Writer classes="):
            writer.extend(old)
        assert len(writer) == 1


def test_extend_joins_data_sets(photos: Path, table: Path, tmp_path: Path) -> None:
    """Of a joined data set, and of one in another order of classes, each sample keeps its class."""
    with stoker.Writer(tmp_path / "a.stk", classes=["cat", "ant"]) as writer:
        writer.add(jpeg(1), "cat", path="mine.jpg")
    both = stoker.open(tmp_path / "a.stk") + stoker.open(photos)
    with stoker.Writer(tmp_path / "b.stk") as writer:
        writer.extend(both)
    new = stoker.open(tmp_path / "b.stk")
    assert new.classes == both.classes == ["cat", "ant", "bee"]
    np.testing.assert_array_equal(new.labels, both.labels)
    assert [new.path(i) for i in range(24)] == [both.path(i) for i in range(24)]

    with stoker.Writer(tmp_path / "c.stk") as writer:
        words = r'"age": "int64\??", "score": "float64\??"'
        with pytest.raises(stoker.ArgumentError, match=words):
            writer.extend(stoker.open(table))
        writer.add(jpeg(1))


def test_extend_keeps_what_images_look_like(tmp_path: Path) -> None:
    """Turned, grey, of arrays and of mode L: what the new data set gives is what the old one gave."""
    out = io.BytesIO()
    exif = Image.Exif()
    exif[274] = 6
    Image.fromarray(noise(40, 64, 1)).save(out, "JPEG", quality=90, exif=exif)
    images = [out.getvalue(), noise(30, 20, 2, channels=1), noise(30, 20, 3)]
    for name, options in {"turned": {}, "ignored": {"exif": "ignore"}, "grey": {"mode": "L"}}.items():
        for encode in ("auto", "keep", "raw"):
            with stoker.Writer(tmp_path / "a.stk", encode=encode, force=True, **options) as writer:
                writer.extend(images if name != "grey" else images[:2])
            old = stoker.open(tmp_path / "a.stk")
            with stoker.Writer(tmp_path / f"{name}.{encode}.stk", encode=encode) as writer:
                writer.extend(old)
            new = stoker.open(tmp_path / f"{name}.{encode}.stk")
            for i in range(len(old)):
                np.testing.assert_array_equal(new.image(i)[:, :, :1], old.image(i)[:, :, :1], err_msg=name)
                assert new.info(i).channels == old.info(i).channels
    with stoker.Writer(tmp_path / "arrays.stk", as_array=True) as writer:
        writer.add(images[2])
    with stoker.Writer(tmp_path / "again.stk") as writer:
        writer.extend(stoker.open(tmp_path / "arrays.stk"))
    assert stoker.open(tmp_path / "again.stk").info(0).encoding == "array"


def test_extend_with_a_map_gets_pixels(photos: Path, tmp_path: Path) -> None:
    old = stoker.open(photos)

    def half(sample: dict[str, object]) -> dict[str, object]:
        return {**sample, "image": sample["image"][::2, ::2].copy()}  # type: ignore[index]

    with stoker.Writer(tmp_path / "x.stk", map=half) as writer:
        writer.extend(old)
    new = stoker.open(tmp_path / "x.stk")
    np.testing.assert_array_equal(new.image(9), old.image(9)[::2, ::2])
    assert (new.classes, new.path(9)) == (old.classes, old.path(9))


def test_extend_takes_masks_and_boxes(tmp_path: Path) -> None:
    declared = {"masks": ["mask"], "columns": {"box": "boxes"}}
    with stoker.Writer(tmp_path / "a.stk", **declared) as writer:
        for i in range(3):
            mask = np.full((60, 80), i, np.uint8)
            writer.add(jpeg(i), mask=mask, box=[[1, 2, 3, 4]] * i)
    old = stoker.open(tmp_path / "a.stk")
    with stoker.Writer(tmp_path / "b.stk", **declared) as writer:
        writer.extend(old)
    for kind in ("b.stk", "b.mask.stk"):
        assert (tmp_path / kind).read_bytes() == (tmp_path / f"a{kind[1:]}").read_bytes()
    with stoker.Writer(tmp_path / "c.stk", {"box": "boxes"}) as writer:
        with pytest.raises(stoker.ArgumentError, match=r"masks=\['mask'\]"):
            writer.extend(old)
        writer.add(jpeg(1), box=[])
