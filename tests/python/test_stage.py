# SPDX-License-Identifier: Apache-2.0
"""Staging from Python and by the command: copies, change-overs, kills, damage, changed sources."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import stoker
from conftest import noise

MIB = 1 << 20


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "fast"
    folder.mkdir()
    return folder


@pytest.fixture
def copy_of_tiny(tiny: Path, tmp_path: Path) -> Path:
    path = tmp_path / "tiny.stk"
    path.write_bytes(tiny.read_bytes())
    return path


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 200 MB that passes for HDF5: three blocks of 64 MiB, the last not full."""
    path = tmp_path_factory.mktemp("big") / "big.h5"
    content = np.random.default_rng(1).integers(0, 256, 200_000_003, np.uint8)
    content[:8] = np.frombuffer(b"\x89HDF\r\n\x1a\n", np.uint8)
    path.write_bytes(content.tobytes())
    return path


def wait_for(ds: stoker.Dataset, state: str) -> None:
    for _ in range(600):
        if ds.staged.state != "copying":
            break
        time.sleep(0.1)
    assert ds.staged.state == state, ds.staged


def test_stage_and_again(tiny: Path, place: Path) -> None:
    report = stoker.stage(tiny, to=place, keep_free=0)
    assert report.state == "whole" and report.bytes_copied == report.bytes == tiny.stat().st_size
    assert report.path is not None and Path(report.path).read_bytes() == tiny.read_bytes()
    assert report.content_id == stoker.open(tiny).id == stoker.open(report.path).id
    assert str(place) in report.reason and report.folder == str(place)
    again = stoker.stage(tiny, to=place)
    assert (again.state, again.bytes_copied, again.path) == ("whole", 0, report.path)
    checked = stoker.stage(tiny, to=place, verify=True)
    assert checked.blocks_checked == 1 and checked.blocks_mended == 0
    assert oct(Path(report.path).parents[1].stat().st_mode & 0o777) == "0o700"
    assert stoker.evict(tiny, to=place)[0] == 1
    assert stoker.stage(tiny, to=place, dry_run=True).state == "none"


def test_progress_cancels_and_errors(big: Path, place: Path, tmp_path: Path) -> None:
    with pytest.raises(stoker.NotFoundError, match="nothing"):
        stoker.stage(tmp_path / "nothing.stk", to=place)
    with pytest.raises(stoker.ArgumentError, match="is not there"):
        stoker.stage(big, to=tmp_path / "missing")
    with pytest.raises(stoker.NoSpaceError, match="no place"):
        stoker.stage(big, to=place, keep_free="900TiB")

    def boom(progress: stoker.StageProgress) -> None:
        raise ValueError(progress.phase)

    # An exception ends the call, if it was not over before anybody was asked.
    try:
        stoker.stage(big, to=place, threads=1, progress=boom)
    except ValueError as error:
        assert str(error) in ("copy", "check", "wait")


def test_open_reads_the_copy(copy_of_tiny: Path, tiny: Path, place: Path) -> None:
    stoker.stage(copy_of_tiny, to=place)
    with stoker.open(copy_of_tiny, stage=place) as ds, stoker.open(tiny) as plain:
        assert ds.staged.state == "whole" and ds.staged.bytes == tiny.stat().st_size
        assert plain.staged.state == "off"
        assert ds.id == plain.id and ds.filename == str(copy_of_tiny)
        # Whoever reads the copy does not see that the source's pixels are gone.
        times = copy_of_tiny.stat()
        with open(copy_of_tiny, "r+b") as file:
            file.seek(4096)
            file.write(bytes(200_000))
        os.utime(copy_of_tiny, ns=(times.st_atime_ns, times.st_mtime_ns))
        for i in (0, 1, 50, 210):
            assert np.array_equal(ds.image(i), plain.image(i))
        assert ds[7].label == plain[7].label


def test_change_over_gives_the_same_bytes(tiny: Path, place: Path) -> None:
    def epoch(ds: stoker.Dataset, wait_after: int | None = None) -> list[bytes]:
        out = []
        loader = stoker.Loader(ds, batch_size=8, transform=stoker.Train(24), shuffle=True, seed=5)
        for k, (images, labels) in enumerate(loader):
            out.append(images.tobytes() + np.asarray(labels).tobytes())
            if k == wait_after:
                wait_for(ds, "whole")
        loader.close()
        return out

    want = epoch(stoker.open(tiny))
    ds = stoker.open(tiny, stage=place)
    assert epoch(ds, wait_after=3) == want
    assert ds.staged.state == "whole" and ds.staged.text.startswith(str(place))
    assert epoch(stoker.open(tiny, stage=str(place))) == want


def test_changed_source_is_not_read_from_the_copy(
    copy_of_tiny: Path, photos: Path, place: Path, tiny: Path
) -> None:
    stoker.stage(copy_of_tiny, to=place)
    copy_of_tiny.write_bytes(photos.read_bytes())
    with stoker.open(copy_of_tiny, stage=place) as ds:
        assert len(ds) == 23 and ds.staged.state == "copying"
        wait_for(ds, "whole")
        assert np.array_equal(ds.image(3), stoker.open(photos).image(3))
    assert len(list(place.glob("stoker-*/*-*/tiny.stk"))) == 1  # the old copy went


def test_hdf5_reads_through_the_copy(tiny_folder: Path, tmp_path: Path, place: Path) -> None:
    """Chunks with a filter have no place of their own: they are fetched from the copy's file."""
    path = tmp_path / "tiny.h5"
    stoker.pack(tiny_folder, path, hdf5_filter="gzip")
    stoker.stage(path, to=place)
    with stoker.open(path, stage=place) as ds, stoker.open(path) as plain:
        assert ds.staged.state == "whole"
        for i in (0, 100, 210):
            assert np.array_equal(ds.image(i), plain.image(i))


def test_subset(big: Path, place: Path) -> None:
    report = stoker.stage(big, to=place, max_bytes="140MiB")
    assert report.state == "subset" and report.path is None and report.bytes_staged == 128 * MIB
    whole = stoker.stage(big, to=place)
    assert whole.state == "whole" and whole.bytes_resumed == 128 * MIB
    assert whole.path is not None and Path(whole.path).read_bytes() == big.read_bytes()


def test_shards_in_part(tiny_folder: Path, tmp_path: Path, place: Path) -> None:
    """A folder with too little room: whole shards, the others are read from the source."""
    folder = tmp_path / "shards"
    stoker.pack(tiny_folder, f"{folder}/", resize="exact=200x200", encode="raw", shard_size="4MiB")
    shards = sorted(folder.glob("*.stk"))
    assert len(shards) > 3
    report = stoker.stage(folder, to=place, max_bytes=sum(f.stat().st_size for f in shards[:2]) + 1000)
    assert report.state == "subset"
    assert report.bytes_staged == sum(f.stat().st_size for f in shards[:2])
    assert [f.name for f in sorted(place.glob("stoker-*/*/shards.partial/*"))] == [f.name for f in shards[:2]]
    plain = stoker.open(folder)
    want = [plain.image(i).tobytes() for i in range(len(plain))]
    with stoker.open(folder, stage=place) as ds:
        assert [ds.image(i).tobytes() for i in range(len(ds))] == want


def test_two_at_once(big: Path, place: Path) -> None:
    """Threads and processes: one copies, all get the copy."""
    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda _: stoker.stage(big, to=place), range(4)))
    assert sum(r.bytes_copied for r in reports) == big.stat().st_size
    assert {r.state for r in reports} == {"whole"}
    with pytest.raises(stoker.ArgumentError):
        stoker.stage(big, to="")


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "stoker", "stage", *arguments]


def test_killed_command_goes_on(big: Path, place: Path) -> None:
    """kill -9 at 30 random moments of the real command; then it ends with the right bytes."""
    rng = random.Random(time.time_ns())
    began = time.monotonic()
    subprocess.run(command("--to", str(place), str(big)), check=True, stdout=subprocess.DEVNULL)
    usual = time.monotonic() - began
    stoker.evict(big, to=place)
    published = 0
    for _ in range(30):
        with subprocess.Popen(
            command("--to", str(place), str(big)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            time.sleep(rng.random() * usual * 1.2)
            process.send_signal(signal.SIGKILL)
        report = stoker.stage(big, to=place, dry_run=True)
        assert report.state in ("none", "part", "whole")
        if report.state == "whole":
            published += 1
            assert report.path is not None and Path(report.path).read_bytes() == big.read_bytes()
            stoker.evict(big, to=place)
    report = stoker.stage(big, to=place)
    assert report.path is not None and Path(report.path).read_bytes() == big.read_bytes()
    print(f"{published} of 30 had published their copy")


def test_flipped_byte_is_mended_by_the_command(big: Path, place: Path) -> None:
    path = stoker.stage(big, to=place).path
    assert path is not None
    with open(path, "r+b") as file:
        file.seek(150_000_000)
        byte = file.read(1)
        file.seek(150_000_000)
        file.write(bytes([byte[0] ^ 1]))
    done = subprocess.run(
        command("--to", str(place), "--verify", str(big)), check=True, capture_output=True, text=True
    )
    assert "3 blocks compared with their checksums, 1 mended" in done.stdout
    assert Path(path).read_bytes() == big.read_bytes()


# Joined data sets read from the copies of their parts.


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    """A file, a folder of shards and HDF5, whose records are alike."""
    paths = [tmp_path / "a.stk", tmp_path / "b", tmp_path / "c.h5"]
    for k, (path, n) in enumerate(zip(paths, (9, 40, 12))):
        target = f"{path}/" if path.suffix == "" else path
        with stoker.Writer(target, classes=["x", "y"], shard_size=1 << 16, encode="raw") as writer:
            for i in range(n):
                writer.add(noise(32, 32, 100 * k + i), i % 2)
    return paths


def spoil(path: Path) -> None:
    """All payload bytes of the records, without a trace in sizes or indexes."""
    with stoker.open(path, verify="off") as ds:
        places = [(ds.info(i).shard, ds.info(i).offset, ds.info(i).n_bytes) for i in range(len(ds))]
    files = sorted(path.glob("*.stk")) if path.is_dir() else [path]
    for shard, offset, n in places:
        with open(files[shard], "r+b") as file:
            assert offset is not None
            file.seek(offset)
            file.write(b"\x55" * n)


def pixels(ds: stoker.Dataset) -> list[bytes]:
    return [ds.image(i).tobytes() for i in range(len(ds))]


@pytest.mark.parametrize("ready", [True, False])
def test_joined_data_sets_read_the_copies(three: list[Path], place: Path, ready: bool) -> None:
    """The sources are spoilt once the copies are there: what comes right comes from them."""
    want = [image for path in three for image in pixels(stoker.open(path))]
    if ready:
        for path in three:
            stoker.stage(path, to=place)
    parts = [stoker.open(path, stage=place) for path in three]
    whole = stoker.concat(parts)
    nested = (parts[0] + parts[1]) + parts[2]
    for ds in (whole, nested):
        wait_for(ds, "whole")
        assert ds.staged.bytes == sum(part.staged.bytes for part in parts) > 0
        assert ds.staged.text.startswith(str(place))
    del parts
    loaders = [stoker.Loader(ds, 7, shuffle=True, seed=2, num_threads=3) for ds in (whole, nested)]
    for path in three:
        spoil(path)
    with pytest.raises(stoker.ChecksumError):
        stoker.open(three[0]).image(0)
    assert pixels(whole) == pixels(nested) == want
    for loader in loaders:
        for _ in range(2):
            seen = {}
            for images, labels in loader:
                assert loader.batch is not None
                for image, label, sample in zip(images, labels, loader.batch.ids.tolist()):
                    seen[sample] = image.tobytes()
                    assert label == whole.labels[sample]  # type: ignore[index]
            assert [seen[i] for i in range(61)] == want


def test_a_joined_data_set_falls_back_on_the_source(three: list[Path], place: Path) -> None:
    """A copy that is damaged, and a part that has none."""
    want = [image for path in three[:2] for image in pixels(stoker.open(path))]
    report = stoker.stage(three[0], to=place)
    whole = stoker.open(three[0], stage=place) + stoker.open(three[1])
    assert whole.staged.state == "subset" and report.path is not None
    assert pixels(whole) == want
    again = stoker.open(three[0], stage=place) + stoker.open(three[1])
    spoil(Path(report.path))
    assert pixels(again) == want
    assert stoker.concat([stoker.open(path) for path in three]).staged.state == "off"
