# SPDX-License-Identifier: Apache-2.0
"""Batches in device memory: device="dummy" runs the GPU's arithmetic in host memory, device="cuda" where there
is a GPU and the CUDA part."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker


@pytest.fixture(scope="session")
def tiles(photos_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """photos_folder as tiles, where the images are large enough."""
    path = tmp_path_factory.mktemp("packed") / "tiles.stk"
    stoker.pack(photos_folder, path, encode="tiles")
    return path


def host(array: stoker.DeviceArray) -> np.ndarray:
    return np.from_dlpack(array)  # type: ignore[arg-type, unused-ignore]


@pytest.mark.parametrize("decode", ["auto", "cpu", "gpu"])
@pytest.mark.parametrize("dtype", ["uint8", "float32", "float16"])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_same_bytes_as_on_the_host(tiles: Path, decode: str, dtype: Any, layout: Any) -> None:
    if (dtype, layout) == ("uint8", "NCHW"):
        layout = None
    ds = stoker.open(tiles)
    options: Any = {"transform": stoker.Train(32), "dtype": dtype, "seed": 3}
    plain = stoker.Loader(ds, 8, layout="NHWC", **options)
    device = stoker.Loader(ds, 8, layout=layout, device="dummy", decode=decode, **options)
    assert len(plain) == len(device) == 3
    for _ in range(2):
        n = 0
        for (want, want_labels), (images, labels) in zip(plain, device):
            assert isinstance(images, stoker.DeviceArray) and images.device == "cpu" and images.dtype == dtype
            got = host(images)
            if layout != "NHWC":
                assert images.shape[1] == 3
                got = got.transpose(0, 2, 3, 1)
            assert np.array_equal(got, want)
            assert host(labels).tolist() == want_labels.tolist()
            assert plain.batch is not None and device.batch is not None
            assert device.batch.ids.tolist() == plain.batch.ids.tolist()
            n += 1
        assert n == 3
    stats = device.stats()
    assert stats["batches"] >= 6
    for name in ("gather_s", "decode_s", "upload_s", "upload_gb_per_s", "pageable_bytes", "consumer_wait_s"):
        assert name in stats
    assert stats["decoder"] == stats["decode"] and plain.stats()["decode"] == plain.stats()["decoder"]
    assert str(plain.stats()["decode"]).startswith("cpu: ")
    side, _, why = str(stats["decode"]).partition(": ")
    assert side in ("cpu", "gpu") and (why == "asked for" if decode != "auto" else " us on the CPU" in why)
    assert decode == "auto" or side == decode


# One of each kind: colours; movements; what follows from the whole picture; blur; boxes; another image.
AUGMENTED: dict[str, dict[str, Any]] = {
    "ra": {"auto_augment": "ra", "erasing": 1.0},
    "ta": {"auto_augment": "ta", "color_jitter": (0.4, 0.4, 0.4, 0.1), "grayscale": 0.2},
    "timm": {"auto_augment": "rand-m9-mstd0.5-inc1", "erasing": stoker.RandomErasing(p=0.5, value="random")},
    "simclr": {"color_jitter": (0.8, 0.8, 0.8, 0.2), "grayscale": 0.2, "blur": 0.5},
    "mixed": {"auto_augment": "imagenet", "mixup": 0.8, "cutmix": 1.0},
}


def assert_same_rows(device: Any, plain: Any, read: Any) -> None:
    """Images and labels, soft ones too; those of the device are laid out as the host's."""
    n = 0
    for (images, labels), (want, want_labels) in zip(device, plain):
        assert np.array_equal(read(images), want)
        assert np.array_equal(labels if isinstance(labels, np.ndarray) else read(labels), want_labels)
        n += 1
    assert n == len(plain) > 1


@pytest.mark.parametrize("recipe", AUGMENTED)
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
@pytest.mark.parametrize("resident", ["off", "on"])
def test_steps_on_the_device(tiles: Path, recipe: str, dtype: Any, resident: Any) -> None:
    ds = stoker.open(tiles)
    options: Any = {
        "transform": stoker.Train(40, **AUGMENTED[recipe]),
        "dtype": dtype,
        "seed": 3,
        "layout": "NHWC",
    }
    device = stoker.Loader(ds, 8, device="dummy", decode="gpu", resident=resident, **options)
    assert_same_rows(device, stoker.Loader(ds, 8, **options), host)
    assert device.stats()["decode"] == "gpu: asked for"


def test_steps_are_the_cpus_unless_asked_for(tiles: Path) -> None:
    loader = stoker.Loader(stoker.open(tiles), 8, device="dummy", transform=stoker.Train(32, auto_augment="ra"))
    assert str(loader.stats()["decode"]).startswith("cpu: steps on the GPU are asked for by decode=gpu")


def test_resident(tiles: Path) -> None:
    ds = stoker.open(tiles)
    options: Any = {"transform": stoker.Train(16), "seed": 1}
    loader = stoker.Loader(ds, 23, device="dummy", resident="on", resident_bytes=1 << 30, **options)
    plain = stoker.Loader(ds, 23, **options)
    for (images, _), (want, _) in zip(loader, plain):
        assert np.array_equal(host(images).transpose(0, 2, 3, 1), want)
    assert loader.stats()["resident_records"] == 23


def test_kept_batches_are_never_overwritten(tiny: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), 16, transform=stoker.PadCrop(), device="dummy")
    kept = [(host(images), host(images).copy(), images) for images, _ in loader]
    loader.close()
    del loader
    gc.collect()
    assert all(np.array_equal(array, copy) for array, copy, _ in kept)
    arrays = [array for array, _, _ in kept]
    copies = [copy for _, copy, _ in kept]
    del kept  # the arrays made from a batch keep it, not the batch's own object only
    gc.collect()
    assert all(np.array_equal(array, copy) for array, copy in zip(arrays, copies))


def test_resume_epochs_and_columns(table: Path) -> None:
    ds = stoker.open(table)
    loader = stoker.Loader(ds, 6, device="dummy", columns=["age", "zip"], shuffle=True)
    iterator = iter(loader)
    batch = next(iterator)
    assert host(batch["age"]).tolist() == batch["id"].tolist()
    assert batch["zip"] == [f"{i:05}" for i in batch["id"].tolist()]
    seen = batch["id"].tolist()
    other = stoker.Loader(ds, 7, shuffle=True)  # a state moves between device and host
    other.load_state_dict(loader.state_dict())
    for _ in other:
        assert other.batch is not None
        seen += other.batch.ids.tolist()
    assert sorted(seen) == list(range(20))
    loader.set_epoch(4)
    assert [loader.batch.epoch for _ in loader if loader.batch] == [4] * 4


def test_views(tiles: Path) -> None:
    ds = stoker.open(tiles)
    options: Any = {"transform": stoker.Train(16), "n_views": 2}
    device = stoker.Loader(ds, 10, device="dummy", layout="NHWC", **options)
    for ((a, b), labels), ((x, y), want) in zip(device, stoker.Loader(ds, 10, **options)):
        assert np.array_equal(host(a), x) and np.array_equal(host(b), y)
        assert host(labels).tolist() == want.tolist()


SKIPPED: dict[str, dict[str, Any]] = {
    "plain": {"transform": stoker.Resize(24)},
    "views": {"transform": stoker.Train(24), "n_views": 2},
    "sizes": {"views": [stoker.Train(24)] * 2 + [stoker.Train(16)]},
    "mixing": {"transform": stoker.Train(24, mixup=0.8, cutmix=1.0)},
    "mixing views": {"transform": stoker.Train(24, mixup=0.8), "n_views": 2},
    "padding": {"transform": stoker.Resize(24), "last": "pad"},
    "NCHW": {"transform": stoker.Resize(24), "layout": "NCHW", "dtype": "float16"},
}


@pytest.fixture(scope="session")
def damaged(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """table with two records that do not match their checksums."""
    data = bytearray(table.read_bytes())
    for record in (3, 11):
        offset = stoker.open(table).info(record).offset
        assert offset is not None
        data[offset + 50] ^= 0xFF
    path = tmp_path_factory.mktemp("packed") / "damaged.stk"
    path.write_bytes(data)
    return path


def as_numpy(value: Any) -> Any:
    """What a batch is made of, as lists and NumPy arrays."""
    if isinstance(value, dict):
        return {name: as_numpy(v) for name, v in value.items()}
    if isinstance(value, tuple):
        return [as_numpy(v) for v in value]
    return host(value) if isinstance(value, stoker.DeviceArray) else value


@pytest.mark.parametrize("case", SKIPPED)
@pytest.mark.parametrize("decode", ["cpu", "gpu"])
@pytest.mark.parametrize("resident", ["off", "on"])
@pytest.mark.filterwarnings("ignore:.*left out")
def test_bad_rows_are_left_out_as_on_the_host(damaged: Path, case: str, decode: str, resident: str) -> None:
    """Images, labels, columns, ids, the number of real rows and what was mixed."""
    ds = stoker.open(damaged)
    options: Any = {"layout": "NHWC", "shuffle": True, "seed": 1, "on_bad": "skip", **SKIPPED[case]}
    options["columns"] = ["age", "note"]
    device = stoker.Loader(ds, 7, device="dummy", decode=decode, resident=resident, **options)
    plain = stoker.Loader(ds, 7, **options)
    for _ in range(2):
        rows = 0
        for got, want in zip(device, plain):
            np.testing.assert_equal(as_numpy(got), as_numpy(want))
            assert device.batch is not None and plain.batch is not None
            np.testing.assert_equal(as_numpy(device.batch._asdict()), as_numpy(plain.batch._asdict()))
            assert not np.isin([3, 11], got["id"]).any() and len(got["label"]) == len(got["note"])
            rows += len(got["label"])
        assert rows == (19 if case == "padding" else 18)


@pytest.mark.filterwarnings("ignore:.*left out")
def test_rows_that_stay_belong_to_nobody_else(damaged: Path) -> None:
    """What is left of a batch with bad rows: kept without its loader, sliced, permuted, of any type."""
    ds = stoker.open(damaged)
    for dtype in ("uint8", "float16", "float32"):
        options: Any = {"transform": stoker.Resize(8), "on_bad": "skip", "dtype": dtype, "layout": "NHWC"}
        (want, _), (images, labels) = (
            next(iter(stoker.Loader(ds, 8, device=d, **options))) for d in (None, "dummy")
        )
        gc.collect()
        assert images.shape == (7, 8, 8, 3) and images.dtype == dtype and len(labels) == 7
        assert np.array_equal(host(images.permute(0, 3, 1, 2)[1:6:2]), want[1:6:2].transpose(0, 3, 1, 2))


@pytest.mark.filterwarnings("ignore:.*left out")
def test_bad_rows_that_cannot_be_left_out(damaged: Path) -> None:
    """What a GPU without torch gives, played by the dummy: rows stay, are told once, and statuses find them."""
    loader = stoker.Loader(stoker.open(damaged), 10, device="dummy", on_bad="skip", transform=stoker.Resize(8))
    loader._convert._device_type = 2  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match=r'^on_bad="skip": .*loader\.batch\.statuses') as told:
        for images, labels in loader:
            assert loader.batch is not None and len(images) == len(labels) == len(loader.batch.ids) == 10
            bad = np.isin(loader.batch.ids, [3, 11])
            assert bad.sum() == 1 and ((loader.batch.statuses != 0) == bad).all()
    told_of_rows = [warning for warning in told if "DeviceArray" in str(warning.message)]
    assert len(told_of_rows) == 1 and told_of_rows[0].filename == __file__


@pytest.mark.filterwarnings("ignore:.*left out")
def test_bad_rows_of_bfloat16(damaged: Path) -> None:
    torch = pytest.importorskip("torch")
    options: Any = {"transform": stoker.Resize(8), "on_bad": "skip", "dtype": "bfloat16"}
    ds = stoker.open(damaged)
    (want, _), (images, _) = (next(iter(stoker.Loader(ds, 8, device=d, **options))) for d in ("cpu", "dummy"))
    got = torch.from_dlpack(images)
    assert got.dtype == torch.bfloat16 and torch.equal(got, want)


def test_on_batch(tiny: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), 50, device="dummy", on_batch=lambda batch: host(batch[0]).sum())
    want = [images.sum() for images, _ in stoker.Loader(stoker.open(tiny), 50)]
    assert list(loader) == want


def test_device_arrays(tiny: Path) -> None:
    images, labels = next(iter(stoker.Loader(stoker.open(tiny), 20, device="dummy", layout="NHWC")))
    assert len(images) == 20 and images.shape == (20, 32, 32, 3) and images.strides == (3072, 96, 3, 1)
    assert "uint8 (20, 32, 32, 3) on cpu" in repr(images) and images.pointer % 64 == 0
    array = host(images)
    assert np.array_equal(host(images[3:9:2]), array[3:9:2])
    assert np.array_equal(host(images.permute(0, 3, 1, 2)), array.transpose(0, 3, 1, 2))
    assert labels.dtype == "int64"
    for use in (
        np.asarray,
        np.array,
        list,
        np.sum,
        lambda a: a[0],
        lambda a: a[None],
        lambda a: a[0, 1],
        lambda a: a["x"],
    ):
        with pytest.raises(TypeError, match=r"torch\.from_dlpack.*numpy\.from_dlpack"):
            use(images)
    capsule = images.__dlpack__()
    del capsule  # not consumed: freed all the same
    gc.collect()


def test_wrong_options(tiny: Path) -> None:
    for options in ({"decode": "fpga"}, {"resident": "always"}):
        with pytest.raises(stoker.ArgumentError):
            stoker.Loader(stoker.open(tiny), device="dummy", **options)


def test_without_a_gpu(tiny: Path) -> None:
    """Where there is no CUDA part, decode="gpu" says so in one sentence."""
    if has_gpu():
        pytest.skip("there is a GPU")
    with pytest.raises((stoker.UnsupportedError, stoker.DeviceError)) as error:
        stoker.Loader(stoker.open(tiny), device="cuda", decode="gpu")
    assert len(str(error.value)) < 600


def has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


@pytest.fixture
def cuda() -> Any:
    if not has_gpu():
        pytest.skip("no GPU")
    import torch

    return torch


@pytest.mark.parametrize("dtype", ["uint8", "float16", "bfloat16", "float32"])
@pytest.mark.parametrize("channels_last", [False, True])
def test_cuda_tensors(cuda: Any, tiles: Path, dtype: Any, channels_last: bool) -> None:
    ds = stoker.open(tiles)
    options: Any = {"transform": stoker.Train(32), "dtype": dtype, "channels_last": channels_last, "seed": 8}
    if dtype == "uint8":
        options["channels_last"] = True
    kept = []
    for _ in range(2):
        device = stoker.Loader(ds, 8, device="cuda", decode="gpu", **options)
        for (images, labels), (want, want_labels) in zip(device, stoker.Loader(ds, 8, device="cpu", **options)):
            assert images.is_cuda and labels.is_cuda and images.dtype == want.dtype
            assert images.stride() == want.stride()
            kept.append((images, labels, want, want_labels))
    for images, labels, want, want_labels in kept:
        assert cuda.equal(images.cpu(), want) and cuda.equal(labels.cpu(), want_labels)


@pytest.mark.parametrize("recipe", AUGMENTED)
@pytest.mark.parametrize("dtype", ["uint8", "bfloat16"])
def test_cuda_steps(cuda: Any, tiles: Path, recipe: str, dtype: Any) -> None:
    ds = stoker.open(tiles)
    options: Any = {
        "transform": stoker.Train(40, **AUGMENTED[recipe]),
        "dtype": dtype,
        "channels_last": True,
        "seed": 8,
    }
    device = stoker.Loader(ds, 8, device="cuda", decode="gpu", **options)
    for (images, labels), (want, want_labels) in zip(device, stoker.Loader(ds, 8, device="cpu", **options)):
        assert cuda.equal(images.cpu(), want) and cuda.equal(
            cuda.as_tensor(labels).cpu(), cuda.as_tensor(want_labels)
        )
    assert device.stats()["decode"] == "gpu: asked for"


def test_cuda_streams(cuda: Any, tiny: Path) -> None:
    """Reading on the stream that was current when a batch came, while later batches arrive."""
    ds = stoker.open(tiny)
    want = [int(images.astype(np.int64).sum()) for images, _ in stoker.Loader(ds, 16)]
    loader = stoker.Loader(ds, 16, device="cuda")
    stream = cuda.cuda.Stream()
    sums = []
    with cuda.cuda.stream(stream):
        for images, _ in loader:
            cuda.cuda._sleep(1_000_000)
            sums.append(images.long().sum())
            del images
    stream.synchronize()
    assert [int(value) for value in sums] == want
