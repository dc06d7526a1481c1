# SPDX-License-Identifier: Apache-2.0
"""stoker.pack."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import stoker
from PIL import Image


def test_report(photos_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    shutil.copytree(photos_folder, folder)
    (folder / "ant" / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 this is no picture")
    (folder / "ant" / "notes.txt").write_text("not an image")
    seen: list[stoker.PackIssue] = []
    report = stoker.pack(folder, tmp_path / "x.stk", on_issue=seen.append)
    assert report.records == 23 and report.skipped == 1
    assert report.dataset_id == stoker.open(tmp_path / "x.stk").id
    assert report.bytes == (tmp_path / "x.stk").stat().st_size
    assert [issue.path for issue in report.issues] == ["ant/broken.jpg"] == [issue.path for issue in seen]
    assert report.issues[0].action == "skipped" and report.issues[0].reason
    lines = (tmp_path / "x.stk.report.jsonl").read_text().splitlines()
    assert any("broken.jpg" in json.dumps(json.loads(line)) for line in lines)


def test_same_bytes_for_any_number_of_threads(photos_folder: Path, tmp_path: Path) -> None:
    contents = set()
    for threads in (1, 2, 5):
        stoker.pack(photos_folder, tmp_path / f"{threads}.stk", threads=threads)
        contents.add((tmp_path / f"{threads}.stk").read_bytes())
    assert len(contents) == 1


def test_resize(photos_folder: Path, tmp_path: Path) -> None:
    stoker.pack(photos_folder, tmp_path / "a.stk", resize="short=40")
    assert set(stoker.open(tmp_path / "a.stk").sizes.min(axis=1).tolist()) == {40}
    stoker.pack(photos_folder, tmp_path / "b.stk", resize="long=50")
    assert set(stoker.open(tmp_path / "b.stk").sizes.max(axis=1).tolist()) == {50}
    report = stoker.pack(photos_folder, tmp_path / "c.stk", resize="exact=64x48")
    assert {tuple(size) for size in stoker.open(tmp_path / "c.stk").sizes.tolist()} == {(48, 64)}
    assert (report.reencoded, report.resampled) == (0, 23)  # of 3,072 pixels: raw
    again = stoker.pack(photos_folder, tmp_path / "c.stk", resize="exact=64x48", force=True)
    assert (again.reused, again.reencoded, again.resampled) == (23, 0, 23)
    report = stoker.pack(photos_folder, tmp_path / "d.stk", resize="exact=90x64")
    assert (report.reencoded, report.resampled) == (23, 0)


def test_raw(photos_folder: Path, tmp_path: Path) -> None:
    stoker.pack(photos_folder, tmp_path / "x.stk", encode="raw")
    ds = stoker.open(tmp_path / "x.stk")
    assert ds.info(0).encoding == "raw"
    with Image.open(photos_folder / ds.path(0)) as image:
        assert np.array_equal(ds.image(0), np.asarray(image))


def test_shuffled(photos_folder: Path, photos: Path, tmp_path: Path) -> None:
    stoker.pack(photos_folder, tmp_path / "x.stk", shuffle=3)
    paths = stoker.open(tmp_path / "x.stk").column("path")
    in_order = stoker.open(photos).column("path")
    assert paths != in_order and sorted(paths) == sorted(in_order)


def test_existing_output(photos_folder: Path, tmp_path: Path) -> None:
    stoker.pack(photos_folder, tmp_path / "x.stk")
    with pytest.raises(stoker.ExistsError):
        stoker.pack(photos_folder, tmp_path / "x.stk")
    assert stoker.pack(photos_folder, tmp_path / "x.stk", force=True).records == 23


def test_on_bad_fail(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jpg").write_bytes(b"\xff\xd8\xff\xe0 broken")
    with pytest.raises(stoker.Error, match=r"a\.jpg"):
        stoker.pack(tmp_path / "in", tmp_path / "x.stk", on_bad="fail")
    assert not (tmp_path / "x.stk").exists()


def test_no_images(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(stoker.Error, match="image"):
        stoker.pack(tmp_path / "in", tmp_path / "x.stk")
    with pytest.raises(FileNotFoundError):
        stoker.pack(tmp_path / "nowhere", tmp_path / "x.stk")


@pytest.mark.parametrize(
    "options",
    [
        {"encode": "best"},
        {"resize": "short"},
        {"resize": "exact=5"},
        {"resize": "short=0"},
        {"resize": "long=70000"},
        {"quality": 0},
        {"quality": 101},
        {"on_damaged": "skip=truncated"},
        {"on_damaged": "keep=rust"},
        {"on_bad": "quarantine"},
        {"on_bad": "skip=x"},
        {"part": "3/2"},
        {"part": "x"},
        {"part": (0, 2)},
        {"shard_size": "big"},
        {"shard_size": 0},
        {"exif": "maybe"},
        {"check": "no"},
        {"mode": "CMYK"},
        {"chroma": "411"},
        {"shuffle": -1},
        {"threads": 0},
    ],
)
def test_wrong_options(photos_folder: Path, tmp_path: Path, options: dict[str, object]) -> None:
    with pytest.raises(stoker.ArgumentError, match=next(iter(options))):
        stoker.pack(photos_folder, tmp_path / "x.stk", **options)
    assert not (tmp_path / "x.stk").exists()


def test_progress(photos_folder: Path, tmp_path: Path) -> None:
    seen: list[stoker.PackProgress] = []
    stoker.pack(photos_folder, tmp_path / "x.stk", progress=seen.append)
    assert seen and all(p.phase for p in seen)
    assert max(p.files_done for p in seen) == 23


def test_cancel(photos_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(stoker.CancelledError):
        stoker.pack(photos_folder, tmp_path / "x.stk", progress=lambda p: False)
    assert not (tmp_path / "x.stk").exists()


def test_exception_in_a_callback(photos_folder: Path, tmp_path: Path) -> None:
    def progress(_: stoker.PackProgress) -> None:
        raise RuntimeError("from the callback")

    with pytest.raises(RuntimeError, match="from the callback"):
        stoker.pack(photos_folder, tmp_path / "x.stk", progress=progress)
    assert not (tmp_path / "x.stk").exists()


def test_progress_line(photos_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stoker.pack(photos_folder, tmp_path / "x.stk", progress=True)
    captured = capsys.readouterr()
    assert "files" in captured.err and captured.err.endswith("\x1b[K") and captured.out == ""


def test_messy_csv(corpus: Path, tmp_path: Path) -> None:
    report = stoker.pack(
        corpus / "clothing_messy.csv", tmp_path / "x.stk", root=corpus / "clothing", encode="keep", check="header"
    )
    ds = stoker.open(tmp_path / "x.stk")
    assert report.records == len(ds) > 0
    assert report.missing > 0
    assert {"sender_id", "kids"} <= set(ds.columns)
    assert set(ds.column("kids").tolist()) <= {True, False}
