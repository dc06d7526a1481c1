# SPDX-License-Identifier: Apache-2.0
"""Anybody's HDF5 files, made by h5py in every layout that people use, read without libhdf5's lock."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import stoker

h5py = pytest.importorskip("h5py")
pil = pytest.importorskip("PIL.Image")

N, H, W = 23, 20, 30


def pictures(channels: int = 3) -> np.ndarray:
    rng = np.random.default_rng(3)
    shape = (N, H, W, channels) if channels else (N, H, W)
    return rng.integers(0, 256, shape, dtype=np.uint8)


def check(path: Path, images: np.ndarray, labels: np.ndarray | None = None, **options: object) -> stoker.Dataset:
    ds = stoker.open(path, **options)  # type: ignore[arg-type]
    assert len(ds) == len(images)
    for i in range(len(ds)):
        want = images[i] if images[i].ndim == 3 else np.repeat(images[i][:, :, None], 3, axis=2)  # grey is widened
        assert np.array_equal(ds.image(i), want), i
    if labels is not None:
        assert np.array_equal(ds.labels, labels)
    return ds


def linked_hdf5(folder: Path) -> tuple[int, ...]:
    """The version of the HDF5 library that stoker parses with."""
    with h5py.File(folder / "version.h5", "w") as f:
        f["images"] = pictures()
    text = stoker.open(folder / "version.h5").metadata["hdf5_library"]
    return tuple(int(part) for part in text.split("."))


LAYOUTS = {
    "contiguous": {},
    "one image a chunk": {"chunks": (1, H, W, 3)},
    "seven images a chunk": {"chunks": (7, H, W, 3)},
    "chunks inside images": {"chunks": (5, 8, 16, 1)},
    "chunks of some lines": {"chunks": (4, 7, W, 3)},
    "chunks of some columns": {"chunks": (4, H, 11, 3)},
    "chunks of one channel": {"chunks": (3, H, W, 1)},
    "chunks of two channels": {"chunks": (3, 9, W, 2)},
    "gzip": {"chunks": (4, H, W, 3), "compression": "gzip"},
    "gzip shuffle": {"chunks": (4, H, W, 3), "compression": "gzip", "shuffle": True},
    "fletcher32": {"chunks": (4, H, W, 3), "fletcher32": True},
    "gzip fletcher32": {"chunks": (4, H, W, 3), "compression": "gzip", "fletcher32": True},
    "guessed gzip": {"compression": "gzip"},
    "lzf": {"chunks": (4, H, W, 3), "compression": "lzf"},
    "resizable": {"chunks": (4, H, W, 3), "maxshape": (None, H, W, 3)},
}


@pytest.mark.parametrize("libver", ["earliest", "latest", ("v110", "v110")])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(tmp_path: Path, layout: str, libver: object) -> None:
    images, labels = pictures(), np.arange(N) % 5
    with h5py.File(tmp_path / "x.h5", "w", libver=libver) as f:
        f.create_dataset("images", data=images, **LAYOUTS[layout])
        f["labels"] = labels
    try:
        check(tmp_path / "x.h5", images, labels)
    except stoker.UnsupportedError as error:
        # "latest" is the format of h5py's own HDF5, which an older library cannot read; it must say so.
        assert libver == "latest" and "newer HDF5" in str(error) and linked_hdf5(tmp_path) < h5py.version.hdf5_version_tuple


def test_names_groups_and_options(tmp_path: Path) -> None:
    images, labels = pictures(), np.arange(N, dtype=np.int16)
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["train/X"] = images
        f["train/y"] = labels
        f["val/pics"] = images[:5]
        f["val/what"] = labels[:5]
    check(tmp_path / "x.h5", images, labels)
    check(tmp_path / "x.h5", images[:5], labels[:5], hdf5_images="/val/pics", hdf5_labels="val/what")
    with pytest.raises(stoker.NotFoundError, match="train/X"):
        stoker.open(tmp_path / "x.h5", hdf5_images="nothing")
    with pytest.raises(stoker.Error, match="one for each"):
        stoker.open(tmp_path / "x.h5", hdf5_images="train/X", hdf5_labels="val/what")


def test_grey_and_planar(tmp_path: Path) -> None:
    grey, color = pictures(0), pictures()
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["grey"] = grey
        f["planar"] = color.transpose(0, 3, 1, 2)
    check(tmp_path / "x.h5", grey, hdf5_images="grey")
    check(tmp_path / "x.h5", color, hdf5_images="planar")


def test_other_types_by_range(tmp_path: Path) -> None:
    images = pictures()
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["f32"] = images.astype(np.float32) / 255
        f["u16"] = images.astype(">u2") * 257
        f["f64"] = images.transpose(0, 3, 1, 2).astype(np.float64) / 127.5 - 1
    check(tmp_path / "x.h5", images, hdf5_images="f32", value_range=(0.0, 1.0))
    check(tmp_path / "x.h5", images, hdf5_images="u16", value_range=(0.0, 65535.0))
    check(tmp_path / "x.h5", images, hdf5_images="f64", value_range=(-1.0, 1.0))


def test_user_block(tmp_path: Path) -> None:
    images = pictures()
    for options in ({}, {"chunks": (4, H, W, 3)}, {"chunks": (4, H, W, 3), "compression": "gzip"}):
        with h5py.File(tmp_path / "x.h5", "w", userblock_size=1024) as f:
            f.create_dataset("images", data=images, **options)
        check(tmp_path / "x.h5", images)


def test_never_written_chunks_and_fill_value(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        d = f.create_dataset("images", (N, H, W, 3), "u1", chunks=(4, H, W, 3), fillvalue=7)
        d[4:8] = pictures()[4:8]
        want = d[...]
    check(tmp_path / "x.h5", want)


def test_filter_mask_of_single_chunks(tmp_path: Path) -> None:
    images = pictures()
    with h5py.File(tmp_path / "x.h5", "w") as f:
        d = f.create_dataset("images", data=images, chunks=(4, H, W, 3), compression="gzip")
        d.id.write_direct_chunk((4, 0, 0, 0), images[4:8].tobytes(), filter_mask=1)
    check(tmp_path / "x.h5", images)


def jpegs() -> list[bytes]:
    out = []
    for picture in pictures():
        data = io.BytesIO()
        pil.fromarray(picture).save(data, "JPEG", quality=90)
        out.append(data.getvalue())
    return out


def test_encoded_images(tmp_path: Path) -> None:
    blobs = jpegs()
    want = np.stack([np.asarray(pil.open(io.BytesIO(b)).convert("RGB")) for b in blobs])
    with h5py.File(tmp_path / "x.h5", "w") as f:
        d = f.create_dataset("vlen", (N,), dtype=h5py.vlen_dtype(np.uint8))
        for i, b in enumerate(blobs):
            d[i] = np.frombuffer(b, np.uint8)
        f["labels"] = np.arange(N)
        size = max(map(len, blobs))
        f["opaque"] = np.array([np.void(b.ljust(size, b"\0")) for b in blobs])
    ds = check(tmp_path / "x.h5", want, np.arange(N), hdf5_images="vlen")
    loader = stoker.Loader(ds, batch_size=8, transform=stoker.Eval(16, resize=18), shuffle=False)
    assert sum(len(x) for x, _ in loader) == N
    check(tmp_path / "x.h5", want, hdf5_images="opaque")


def test_columns(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["images"] = pictures()
        f["name"] = [f"picture {i}" for i in range(N)]
        f["score"] = np.arange(N, dtype=np.float32) / 2
        f["box"] = np.arange(N * 4).reshape(N, 4)
        f["flag"] = np.arange(N) % 2 == 0
        f["unrelated"] = np.arange(3)
    ds = stoker.open(tmp_path / "x.h5")
    assert sorted(ds.columns) == ["box", "flag", "name", "score"]
    _, _, row = ds[3]
    assert row["name"] == "picture 3" and row["score"] == 1.5 and row["flag"] == False  # noqa: E712
    assert np.array_equal(row["box"], [12, 13, 14, 15])


def test_refusals(tmp_path: Path) -> None:
    images = pictures()
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("images", (N, H, W, 3), "u1", external=[(str(tmp_path / "raw"), 0, h5py.h5f.UNLIMITED)])
        f["labels"] = np.arange(N)
    with pytest.raises(stoker.Error, match="external or virtual"):
        stoker.open(tmp_path / "x.h5", hdf5_images="images")
    with h5py.File(tmp_path / "szip.h5", "w") as f:
        f.create_dataset("images", data=images, chunks=(1, H, W, 3), scaleoffset=0)
    with pytest.raises(stoker.Error, match="filter"):
        stoker.open(tmp_path / "szip.h5")
    (tmp_path / "short.h5").write_bytes((tmp_path / "x.h5").read_bytes()[:700])
    with pytest.raises(stoker.CorruptError):
        stoker.open(tmp_path / "short.h5")
    with h5py.File(tmp_path / "virtual.h5", "w") as f:
        layout = h5py.VirtualLayout(shape=images.shape, dtype="u1")
        layout[:] = h5py.VirtualSource("x.h5", "images", shape=images.shape)
        f.create_virtual_dataset("pics", layout)
    with pytest.raises(stoker.Error, match="'pics' keeps its data in other files"):
        stoker.open(tmp_path / "virtual.h5")


def test_compact_layout(tmp_path: Path) -> None:
    """Small data sets that lie in the file's header."""
    want = pictures()[:, :8, :8], np.arange(N * 6, dtype=np.float32).reshape(N, 2, 3)
    with h5py.File(tmp_path / "x.h5", "w") as f:
        for name, data in zip((b"images", b"arrays"), want):
            compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            compact.set_layout(h5py.h5d.COMPACT)
            kind, space = h5py.h5t.py_create(data.dtype), h5py.h5s.create_simple(data.shape)
            h5py.h5d.create(f.id, name, kind, space, compact).write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(data))
    check(tmp_path / "x.h5", want[0])
    ds = stoker.open(tmp_path / "x.h5", hdf5_images="arrays")
    assert all(np.array_equal(ds.array(i), want[1][i]) for i in range(N)) and ds.road.startswith("memory")


def test_open_while_a_writer_holds_it(tmp_path: Path) -> None:
    """HDF5's own lock would refuse this, and fails outright on some network disks."""
    images = pictures()
    path = tmp_path / "x.h5"
    with h5py.File(path, "w") as f:
        f["images"] = images
        f.flush()
        check(path, images)
    # The library looks at the environment once, so a process that has written HDF5 itself is another case.
    stoker.pack(path, tmp_path / "own.h5")
    with h5py.File(path, "r+") as f:
        check(path, images)


def test_no_hdf5_call_after_open(tmp_path: Path) -> None:
    """The process that reads has never loaded a data set through libhdf5: parsing happens in a child."""
    images = pictures()
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("images", data=images, chunks=(4, H, W, 3), compression="gzip")
    code = (
        "import stoker, sys\n"
        "ds = stoker.open(sys.argv[1])\n"
        "for i in range(len(ds)): ds.image(i)\n"
        "fds = [__import__('os').readlink(f'/proc/self/fd/{n}') for n in __import__('os').listdir('/proc/self/fd') "
        "if __import__('os').path.exists(f'/proc/self/fd/{n}')]\n"
        "assert sum(f.endswith('x.h5') for f in fds) == 1, fds\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "x.h5")], check=True)


@pytest.fixture(scope="session")
def many_an_image_a_chunk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """300 compressed chunks of 512 images, most of them never written: more than a cache holds, made in no time."""
    path = tmp_path_factory.mktemp("slow") / "slow.h5"
    with h5py.File(path, "w") as f:
        d = f.create_dataset("train/X", (300 * 512, 64, 64, 3), "u1", chunks=(512, 64, 64, 3), compression="gzip")
        d[:3] = 7
        f["train/y"] = np.arange(300 * 512) % 10
        f["val/masks"] = np.zeros((4, 9, 9), np.uint8)
    return path


def test_slow_pattern_is_named(many_an_image_a_chunk: Path) -> None:
    ds = stoker.open(many_an_image_a_chunk)
    with pytest.warns(UserWarning, match="each chunk holds 512 images.*page order"):
        next(iter(stoker.Loader(ds, batch_size=4, shuffle=True)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        next(iter(stoker.Loader(ds, batch_size=4, shuffle=False)))


def test_page_order_keeps_to_chunks(many_an_image_a_chunk: Path) -> None:
    loader = stoker.Loader(stoker.open(many_an_image_a_chunk), batch_size=256, order="page", seed=1)
    ids: list[int] = []
    for _ in loader:
        ids += [int(i) for i in loader.batch.ids]
        if len(ids) >= 5120:
            break
    chunks = {i // 512 for i in ids}
    assert len(ids) == len(set(ids)) and 60 <= len(chunks) <= 128  # one window: what is decoded is used


def test_info_lists_what_is_there(many_an_image_a_chunk: Path) -> None:
    run = subprocess.run([sys.executable, "-m", "stoker", "info", many_an_image_a_chunk], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "train/X  uint8 [153600, 64, 64, 3], chunked [512, 64, 64, 3] gzip" in run.stdout
    assert "(read as images)" in run.stdout and "(read as labels)" in run.stdout
    assert "val/masks" in run.stdout and "each chunk holds 512 images" in run.stdout
    other = [sys.executable, "-m", "stoker", "info", "--dataset", "val/masks", many_an_image_a_chunk]
    assert "records     4\n" in subprocess.run(other, capture_output=True, text=True).stdout


def test_libhdf5_is_called_in_the_child_only(tmp_path: Path) -> None:
    """The dynamic linker tells which process calls which function of libhdf5 (each is bound at its first call): the
    reading process none at all, neither at open nor after it. Skipped where libhdf5 is linked in statically or
    bound at start."""
    images = pictures()
    for name, options in (("plain", {}), ("gzip", {"chunks": (4, H, W, 3), "compression": "gzip"})):
        with h5py.File(tmp_path / f"{name}.h5", "w") as f:
            f.create_dataset("images", data=images, **options)
            f["labels"] = np.arange(N)
    with h5py.File(tmp_path / "arrays.h5", "w") as f:
        f["values"] = np.zeros((N, 5), ">f4")
    stoker.pack(tmp_path / "plain.h5", tmp_path / "own.h5")
    code = (
        "import sys, os\n"
        "sys.setdlopenflags(os.RTLD_LAZY)\n"
        "import stoker\n"
        "for path in sys.argv[1:]:\n"
        "    ds = stoker.open(path)\n"
        "    for _ in range(3): sum(len(x) for x, _ in stoker.Loader(ds, batch_size=4, shuffle=True))\n"
        "    ds.image(3), ds[2], ds.labels\n"
        "print(os.getpid())\n"
    )
    env = {**os.environ, "LD_DEBUG": "bindings"}  # to stderr: the child may write to no file
    run = subprocess.run(
        [sys.executable, "-c", code, *(tmp_path / f"{name}.h5" for name in ("plain", "gzip", "arrays", "own"))],
        env=env,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    calls: dict[int, set[str]] = {}
    # Two processes write here, and the end of a line comes by itself: what belongs together has no gap.
    pattern = r"(\d+):\tbinding file \S*_native\S* \[\d+\] to \S+ \[\d+\]: normal symbol `(H5\w+)'"
    for found in re.finditer(pattern, run.stderr):
        if not found[2].endswith("_g"):
            calls.setdefault(int(found[1]), set()).add(found[2])
    parent = int(run.stdout)
    print(parent, {pid: len(names) for pid, names in calls.items()})
    if not calls:
        pytest.skip("libhdf5 is not a shared library here, or the platform has no LD_DEBUG")
    if "H5Dwrite_chunk" in calls.get(parent, ()):
        pytest.skip("functions are bound at start here, called or not")
    assert parent not in calls
    assert any("H5Fopen" in names for names in calls.values())


def test_any_number_of_threads(tmp_path: Path, photos_folder: Path) -> None:
    """Every road, one thread to eight: the same bytes in the same batches, which with one thread are the right ones."""
    arrays = np.random.default_rng(8).normal(size=(N, 5, 7)).astype(">f8")
    with h5py.File(tmp_path / "x.h5", "w") as f:
        for layout, options in LAYOUTS.items():
            f.create_dataset(f"pixels/{layout}", data=pictures(), **options)
        f["arrays/plain"] = arrays.astype("<f8")
        f["arrays/swapped"] = arrays
        f.create_dataset("arrays/lzf", data=arrays, chunks=(4, 3, 7), compression="lzf", shuffle=True)
        d = f.create_dataset("blobs", (N,), dtype=h5py.vlen_dtype(np.uint8))
        for i, blob in enumerate(jpegs()):
            d[i] = np.frombuffer(blob, np.uint8)
    stoker.pack(photos_folder, tmp_path / "own.h5")
    names = [f"pixels/{layout}" for layout in LAYOUTS] + ["arrays/plain", "arrays/swapped", "arrays/lzf", "blobs", None]
    for name in names:
        ds = stoker.open(tmp_path / ("own.h5" if name is None else "x.h5"), hdf5_images=name)
        transform = stoker.Train(16) if name is None else None
        want: list[np.ndarray] = []
        for threads in range(1, 9):
            loader = stoker.Loader(ds, batch_size=3, shuffle=True, seed=1, transform=transform, num_threads=threads)
            got = [np.array(batch) for _ in range(2) for batch, _ in loader]
            if threads == 1:
                want = got
            assert len(got) == len(want) and all(np.array_equal(a, b) for a, b in zip(got, want)), (name, threads)
        if name is not None and name.startswith("arrays/"):
            assert np.array_equal(ds.array(4), arrays[4])
            assert sorted(x.tobytes() for b in want[: len(want) // 2] for x in b) == sorted(
                x.tobytes() for x in arrays.astype("<f8")
            )


def test_truncated_and_flipped_files(tmp_path: Path) -> None:
    """An error or pixels, but no crash and no hang, wherever a byte is wrong or the end is missing."""
    images = pictures()
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f.create_dataset("images", data=images, chunks=(4, H, W, 3), compression="gzip", shuffle=True, fletcher32=True)
        f["labels"] = np.arange(N)
        f["names"] = [f"name {i}" for i in range(N)]
        d = f.create_dataset("vlen", (N,), dtype=h5py.vlen_dtype(np.uint8))
        for i, blob in enumerate(jpegs()):
            d[i] = np.frombuffer(blob, np.uint8)
    whole = (tmp_path / "x.h5").read_bytes()
    rng = np.random.default_rng(11)
    with h5py.File(tmp_path / "x.h5") as f:  # flips belong where structure lies: outside of what gzip packed
        spans = [(c.byte_offset, c.size) for c in map(f["images"].id.get_chunk_info, range(f["images"].id.get_num_chunks()))]
    inside = np.zeros(len(whole), bool)
    for start, size in spans:
        inside[start : start + size] = True
    outside = np.flatnonzero(~inside)
    places = [whole[: int(n)] for n in rng.integers(0, len(whole), 12)]
    for i in range(48):
        at = int(rng.choice(outside)) if i % 5 else int(rng.integers(len(whole)))
        broken = bytearray(whole)
        broken[at] ^= int(rng.integers(1, 256))
        places.append(bytes(broken))
    outcomes = {"read": 0, "refused": 0}
    for i, content in enumerate(places):
        (tmp_path / "y.h5").write_bytes(content)
        try:
            ds = stoker.open(tmp_path / "y.h5", hdf5_images="vlen" if i % 3 == 0 else "images")
            for k in range(len(ds) if len(ds) < 100 else 100):
                ds.image(k)
                ds[k]
            outcomes["read"] += 1
        except stoker.Error:
            outcomes["refused"] += 1
    assert min(outcomes.values()) > 5, outcomes
