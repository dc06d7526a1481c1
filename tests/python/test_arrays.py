# SPDX-License-Identifier: Apache-2.0
"""Arrays of any numeric type and rank, from HDF5 and from .npy, as batches: what h5py and NumPy say they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker

h5py = pytest.importorskip("h5py")

N = 37
TYPES = ["<f4", ">f4", "|u1", "|i1", "<i8", ">i2", "<f2", "|b1", "<u4", ">f8", "<u2", ">u8"]
SHAPES: dict[str, tuple[int, ...]] = {
    "picture": (3, 8, 9),
    "vector": (5,),
    "number": (),
    "deep": (2, 1, 3, 2),
    "empty": (2, 0),
}


def made(kind: str, shape: tuple[int, ...]) -> np.ndarray:
    return (np.random.default_rng(4).normal(size=(N, *shape)) * 50).astype(kind)


def gather(loader: stoker.Loader, want: np.ndarray) -> np.ndarray:
    """All records of an epoch at their places, type and shape compared on the way."""
    native = want.dtype.newbyteorder("=")
    out = np.zeros(want.shape, native)
    for batch, labels in loader:
        array = (
            batch.numpy()
            if hasattr(batch, "numpy")
            else np.from_dlpack(batch)
            if hasattr(batch, "pointer")
            else batch
        )
        assert loader.batch is not None
        ids = loader.batch.ids.astype(int)
        assert array.dtype == native and array.shape == (len(ids), *want.shape[1:])
        assert labels is None or np.array_equal(np.from_dlpack(labels), ids)
        out[ids] = array
    return out


def command(*args: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "stoker", *map(str, args)], capture_output=True, text=True)


EACH = [(kind, "picture") for kind in TYPES] + [
    (k, s) for k in ("<f4", ">i2", "|b1") for s in SHAPES if s != "picture"
]


@pytest.mark.parametrize(("kind", "shape"), EACH)
def test_types_and_shapes(tmp_path: Path, kind: str, shape: str) -> None:
    """From HDF5 (as it lies, in packed chunks, in chunks that cut arrays) and from the .stk that is packed of it."""
    want = made(kind, SHAPES[shape])
    layouts: list[dict[str, Any]] = [{}]
    if want.size > 0:
        whole, cut = want.shape[1:], tuple(max(1, n // 2) for n in want.shape[1:])
        layouts += [{"chunks": (4, *whole)}, {"chunks": (4, *whole), "compression": "gzip", "shuffle": True}]
        layouts += [{"chunks": (5, *cut), "compression": "lzf"}]
    for layout in layouts:
        with h5py.File(tmp_path / "x.h5", "w") as f:
            f.create_dataset("group/values", data=want, **layout)
            f["labels"] = np.arange(N)
        ds = stoker.open(tmp_path / "x.h5", hdf5_images="group/values", arrays=True)
        loader = stoker.Loader(ds, batch_size=8, shuffle=True, seed=3, num_threads=3)
        assert np.array_equal(gather(loader, want), want)
        assert ds.info(0).encoding == "array"
        for array in (ds[3].image, ds.image(3), ds.array(3)):
            assert array.dtype == want.dtype.newbyteorder("=") and np.array_equal(array, want[3])
    stoker.pack(tmp_path / "x.h5", tmp_path / "x.stk", hdf5_images="group/values", arrays=True)
    ds = stoker.open(tmp_path / "x.stk")
    assert ds.container == "stk" and np.array_equal(ds.array(N - 1), want[N - 1])
    assert np.array_equal(gather(stoker.Loader(ds, batch_size=8, shuffle=True), want), want)


@pytest.mark.parametrize("kind", [t for t in TYPES if t != "|b1"])  # NumPy takes no bool by DLPack before 2.0
def test_on_a_device(tmp_path: Path, kind: str) -> None:
    want = made(kind, (3, 4))
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["values"] = want
        f["labels"] = np.arange(N)
    loader = stoker.Loader(
        stoker.open(tmp_path / "x.h5", hdf5_images="values"), batch_size=8, shuffle=True, device="dummy"
    )
    assert np.array_equal(gather(loader, want), want)
    assert loader.stats()["decode"] == "none: arrays are copied as they are"


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("device", ["cpu"])
def test_torch(tmp_path: Path, kind: str, device: str) -> None:
    torch = pytest.importorskip("torch")
    want = made(kind, (3, 8, 9))
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["values"] = want
        f["labels"] = np.arange(N)
    ds = stoker.open(tmp_path / "x.h5", arrays=True)
    loader = stoker.Loader(ds, batch_size=8, shuffle=True, device=device)
    assert np.array_equal(gather(loader, want), want)
    first, labels = next(iter(loader))
    assert isinstance(first, torch.Tensor) and isinstance(labels, torch.Tensor)


def test_masks_are_images_unless_said_otherwise(tmp_path: Path) -> None:
    masks = np.random.default_rng(1).integers(0, 5, (N, 12, 10), np.uint8)
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["masks"] = masks
    batch, _ = next(iter(stoker.Loader(stoker.open(tmp_path / "x.h5"), batch_size=4, shuffle=False)))
    assert batch.shape == (4, 12, 10, 3)
    batch, _ = next(iter(stoker.Loader(stoker.open(tmp_path / "x.h5", arrays=True), batch_size=4, shuffle=False)))
    assert np.array_equal(batch, masks[:4])


def folder_of_npy(folder: Path, arrays: list[np.ndarray]) -> Path:
    for i, array in enumerate(arrays):
        place = folder / f"class{i % 3}"
        place.mkdir(parents=True, exist_ok=True)
        np.save(place / f"{i:04}.npy", array)
    return folder


def test_folder_of_npy(tmp_path: Path) -> None:
    """As ImageFolder would list them: classes by folder, and every way in which images are served."""
    want = [np.random.default_rng(i).normal(size=(4, 6)).astype(np.float32) for i in range(30)]
    stoker.pack(folder_of_npy(tmp_path / "src", want), tmp_path / "x.stk")
    ds = stoker.open(tmp_path / "x.stk")
    assert ds.classes == ["class0", "class1", "class2"]
    by_path = {ds.path(i): i for i in range(30)}
    order = [by_path[f"class{i % 3}/{i:04}.npy"] for i in range(30)]
    for options in (
        {"shuffle": True, "seed": 9},
        {"order": "page"},
        {"shuffle": False},
        {"weights": "balanced"},
        {"shuffle": True, "n_views": 2},
        {"shuffle": True, "last": "pad", "columns": ["path"]},
    ):
        loader = stoker.Loader(ds, batch_size=7, num_threads=2, **options)  # type: ignore[arg-type]
        for batch in loader:
            x = batch["image"] if isinstance(batch, dict) else batch[0]
            assert loader.batch is not None
            views = x if isinstance(x, tuple) else (x,)
            ids = loader.batch.ids
            for view in views:
                assert all(np.array_equal(view[k], want[order.index(int(i))]) for k, i in enumerate(ids))
    one = stoker.Loader(ds, batch_size=7, shuffle=True, seed=2)
    first = [x for x, _ in one]
    state = stoker.Loader(ds, batch_size=7, shuffle=True, seed=2)
    iterator = iter(state)
    next(iterator), next(iterator)
    again = stoker.Loader(ds, batch_size=7, shuffle=True, seed=2)
    again.load_state_dict(state.state_dict())
    assert all(np.array_equal(a, b) for a, (b, _) in zip(first[2:], again))
    ranks = [stoker.Loader(ds, batch_size=5, shuffle=True, rank=r, world=3) for r in range(3)]
    seen = sorted(int(i) for loader in ranks for _ in loader for i in loader.batch.ids[: loader.batch.n_valid])
    assert seen == list(range(30))


def test_shapes_that_differ(tmp_path: Path) -> None:
    arrays = [np.full((3, 4), i, np.float32) for i in range(12)]
    arrays[5] = np.zeros((3, 5), np.float32)
    arrays[7] = np.zeros((3, 4), np.float64)
    stoker.pack(folder_of_npy(tmp_path / "src", arrays), tmp_path / "x.stk")
    ds = stoker.open(tmp_path / "x.stk")
    text = r"record 6 \(class1/0007.npy\): is float64 \[3, 4\], but record 0, the first one, is float32 \[3, 4\]"
    with pytest.raises(stoker.ArgumentError, match=text):
        for _ in stoker.Loader(ds, batch_size=12, shuffle=False):
            pass
    loader = stoker.Loader(ds, batch_size=12, shuffle=False, on_bad="skip")
    with pytest.warns(UserWarning, match=r"float32 \[3, 5\]"):
        ((batch, _),) = loader
    assert batch.shape == (10, 3, 4) and loader.stats()["bad_samples"] >= 2  # of epochs prepared ahead too
    info = command("info", tmp_path / "x.stk").stdout
    assert "arrays      float32 [3, 4], served as they are; others differ in size" in info


@pytest.mark.parametrize(
    "options",
    [
        {"transform": stoker.Train(8)},
        {"dtype": "float32"},
        {"layout": "NCHW"},
        {"mean": (0, 0, 0)},
        {"channels_last": True},
    ],
    ids=str,
)
def test_what_cannot_be_asked_for(tmp_path: Path, options: dict[str, Any]) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["values"] = np.zeros((N, 3, 4), np.float32)
    ds = stoker.open(tmp_path / "x.h5")
    with pytest.raises(stoker.ArgumentError, match="the records are arrays.*leave .*out"):
        stoker.Loader(ds, **options)
    with pytest.raises(stoker.ArgumentError, match="record 2 is an array"):
        ds.image(2, size=(8, 8))


def test_numbers_that_are_not_what_they_look_like(tmp_path: Path) -> None:
    """bfloat16 has two bytes as float16 has, and 12-bit integers two as int16: never taken for them. Of what is not
    read, too many dimensions too, the error speaks by name."""
    with h5py.File(tmp_path / "x.h5", "w") as f:
        space = h5py.h5s.create_simple((N, 6))
        brain = h5py.h5t.IEEE_F32LE.copy()
        brain.set_fields(15, 7, 8, 0, 7)
        brain.set_size(2)
        brain.set_ebias(127)
        narrow = h5py.h5t.STD_I16LE.copy()
        narrow.set_precision(12)
        for name, kind in ((b"brain", brain), (b"narrow", narrow)):
            h5py.h5d.create(f.id, name, kind, space)
        f["complex"] = np.zeros((N, 6), np.complex64)
        f["deep"] = np.zeros((N, 1, 1, 1, 1, 1, 1, 1, 2), np.float32)
        f["fine"] = np.zeros((N, 6), np.float16)
    for name in ("brain", "narrow", "complex", "deep"):
        with pytest.raises(stoker.UnsupportedError, match=f"'{name}' holds neither images nor arrays"):
            stoker.open(tmp_path / "x.h5", hdf5_images=name)
    assert stoker.open(tmp_path / "x.h5").array(0).dtype == np.float16


def test_info_and_bench(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "x.h5", "w") as f:
        f["values"] = np.zeros((N, 3, 4), np.float32)
    info = command("info", tmp_path / "x.h5")
    assert "arrays      float32 [3, 4], served as they are\n" in info.stdout and "pixels" not in info.stdout
    assert "values  float32 [37, 3, 4], contiguous: arrays (read as arrays)" in info.stdout
    for device in ("cpu", "dummy"):
        bench = command("bench", "--seconds", "0.1", "--batch", "8", "--device", device, tmp_path / "x.h5")
        assert bench.returncode == 0, bench.stderr
        assert "arrays of float32 [3, 4], batch 8" in bench.stdout and "arrays/s" in bench.stdout
    refused = command("bench", "--transform", "train", tmp_path / "x.h5")
    assert refused.returncode == 1 and "leave the transform out" in refused.stderr


def test_the_road_that_info_names(tmp_path: Path) -> None:
    for kind, road in (("<f4", ("mmap", "pread")), (">f4", ("pread, bytes swapped",))):
        with h5py.File(tmp_path / "x.h5", "w") as f:
            f["values"] = made(kind, (3, 4))
        assert stoker.open(tmp_path / "x.h5").road in road
