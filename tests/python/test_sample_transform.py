# SPDX-License-Identifier: Apache-2.0
"""sample_transform=: a Python callable on each sample."""

from __future__ import annotations

import contextlib
import gc
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import stoker
from PIL import Image


def test_after_the_transform(photos: Path) -> None:
    """The callable gets what the loop would have got, once a sample."""
    ds = stoker.open(photos)
    options = {"transform": stoker.Train(16), "seed": 3}
    plain = list(stoker.Loader(ds, 4, **options))
    seen: list[tuple[int, ...]] = []

    def invert(image: np.ndarray) -> np.ndarray:
        seen.append(image.shape)
        return 255 - image

    loader = stoker.Loader(ds, 4, sample_transform=invert, **options)
    for (images, labels), (want, want_labels) in zip(loader, plain):
        np.testing.assert_array_equal(images, 255 - want)
        np.testing.assert_array_equal(labels, want_labels)
    assert seen == [(16, 16, 3)] * 23
    stats = loader.stats()
    assert stats["sample_transform_samples"] == 23
    assert stats["sample_transform_threads"] >= 1
    assert stats["sample_transform_s"] > 0


@pytest.mark.parametrize("columns", [None, ["path"]])
def test_images_as_stored(photos: Path, columns: list[str] | None) -> None:
    """Without a transform the callable gets whole images of their own sizes; Pillow does the rest."""
    ds = stoker.open(photos)

    def small(image: np.ndarray) -> np.ndarray:
        return np.asarray(Image.fromarray(image).resize((9, 7))).astype(np.float32) / 255

    loader = stoker.Loader(ds, 5, sample_transform=small, shuffle=True, columns=columns)
    ids = []
    for batch in loader:
        images, labels = (batch["image"], batch["label"]) if isinstance(batch, dict) else batch
        assert images.dtype == np.float32
        assert loader.batch is not None
        for image, label, i in zip(images, labels, loader.batch.ids.tolist()):
            np.testing.assert_array_equal(image, small(ds.image(i)))
            assert label == ds.labels[i]
            ids.append(i)
    assert sorted(ids) == list(range(23))


def test_selection_and_views(photos: Path) -> None:
    ds = stoker.open(photos)[::3]
    sizes = {tuple(ds.image(i).shape) for i in range(len(ds))}
    loader = stoker.Loader(ds, 3, sample_transform=lambda image: [image.shape], n_views=2, shuffle=False)
    got: list[tuple[int, ...]] = []
    for (first, second), labels in loader:
        assert first == second
        assert len(first) == len(labels)
        got += [shape for (shape,) in first]
    assert set(got) == sizes
    loader = stoker.Loader(ds, 3, transform=stoker.Train(8), sample_transform=lambda i: i, n_views=2, seed=1)
    plain = stoker.Loader(ds, 3, transform=stoker.Train(8), n_views=2, seed=1)
    for (views, _), (want, _) in zip(loader, plain):
        for a, b in zip(views, want):
            np.testing.assert_array_equal(a, b)


def test_current_sample_draws_alike(photos: Path) -> None:
    ds = stoker.open(photos)

    def noise(image: np.ndarray) -> np.ndarray:
        sample = stoker.current_sample()
        assert sample.label == ds.labels[sample.id]
        return np.random.default_rng(sample.seed).integers(0, 255, 4)

    def run(threads: int, seed: int = 0, skip: int = 0) -> list[np.ndarray]:
        loader = stoker.Loader(
            ds, 4, transform=stoker.Train(8), sample_transform=noise, num_threads=threads, seed=seed
        )
        if skip:
            for _, _ in zip(range(skip), loader):
                pass
            state = loader.state_dict()
            loader = stoker.Loader(ds, 4, transform=stoker.Train(8), sample_transform=noise, seed=seed)
            loader.load_state_dict(state)
        return [images for images, _ in loader]

    one = run(1)
    np.testing.assert_array_equal(np.concatenate(one), np.concatenate(run(4)))
    np.testing.assert_array_equal(np.concatenate(one[2:]), np.concatenate(run(2, skip=2)))
    assert not np.array_equal(np.concatenate(one), np.concatenate(run(1, seed=1)))
    with pytest.raises(stoker.StateError):
        stoker.current_sample()


def test_runs_on_several_threads_ahead_of_the_loop(photos: Path) -> None:
    names = set()
    barrier, met = threading.Barrier(3), threading.Event()

    def meet(image: np.ndarray) -> np.ndarray:
        names.add(threading.current_thread().name)
        if not met.is_set():
            with contextlib.suppress(threading.BrokenBarrierError):
                barrier.wait(20)  # only three threads at once get past this
                met.set()
        return image

    loader = stoker.Loader(stoker.open(photos), 6, transform=stoker.Train(8), sample_transform=meet, num_threads=3)
    assert len(list(loader)) == 4
    assert met.is_set()
    assert len(names) == 3
    assert threading.main_thread().name not in names


def test_an_exception_ends_its_batch_only(photos: Path) -> None:
    def picky(image: np.ndarray) -> np.ndarray:
        if stoker.current_sample().id == 6:
            raise ValueError("not this one")
        return image

    loader = stoker.Loader(stoker.open(photos), 4, transform=stoker.Eval(8), sample_transform=picky)
    iterator = iter(loader)
    n_good = n_failed = 0
    while True:
        try:
            next(iterator)
            n_good += 1
        except StopIteration:
            break
        except ValueError as error:
            assert str(error) == "not this one"
            assert "sample 6" in str(getattr(error, "__notes__", ["sample 6"]))
            n_failed += 1
    assert (n_good, n_failed) == (5, 1)


def test_bad_records(photos: Path, tmp_path: Path) -> None:
    path = tmp_path / "bad.stk"
    data = bytearray(photos.read_bytes())
    info = stoker.open(photos).info(6)
    assert info.offset is not None
    data[info.offset + 50] ^= 1
    path.write_bytes(bytes(data))
    options = {"sample_transform": lambda image: image[:8, :8], "columns": ["path"], "shuffle": False}
    loader = stoker.Loader(stoker.open(path), 4, on_bad="skip", **options)
    ids = [i for batch in loader for i in batch["id"].tolist()]
    assert ids == [i for i in range(23) if i != 6]
    assert loader.stats()["bad_samples"] == 1
    loader = stoker.Loader(stoker.open(path), 4, **options)
    iterator = iter(loader)
    next(iterator)
    with pytest.raises(stoker.ChecksumError, match="record 6"):
        next(iterator)
    assert len(next(iterator)["id"]) == 4


def test_flip_of_stored_images(photos: Path) -> None:
    ds = stoker.open(photos)
    loader = stoker.Loader(
        ds, 4, transform=stoker.AsStored(flip=0.5), sample_transform=lambda i: [i], shuffle=False, seed=2
    )
    flips = []
    for images, _ in loader:
        assert loader.batch is not None
        for (image,), i in zip(images, loader.batch.ids.tolist()):
            flips.append(np.array_equal(image, ds.image(i, flip=True)))
            assert flips[-1] or np.array_equal(image, ds.image(i))
    assert 0 < sum(flips) < 23


def test_torch_tensors(photos: Path) -> None:
    torch = pytest.importorskip("torch")
    loader = stoker.Loader(
        stoker.open(photos),
        4,
        sample_transform=lambda i: torch.from_numpy(i[:8, :8].copy()).permute(2, 0, 1).float() / 255,
        device="cpu",
    )
    images, labels = next(iter(loader))
    assert images.shape == (4, 3, 8, 8)
    assert images.dtype == torch.float32
    assert isinstance(labels, torch.Tensor)


def test_size_and_on_batch(photos: Path) -> None:
    loader = stoker.Loader(
        stoker.open(photos),
        8,
        transform=stoker.Train(16),
        sample_transform=lambda i: i[..., 0],
        on_batch=lambda batch: batch[0].shape,
    )
    assert next(iter(loader)) == (8, 16, 16)
    loader.size = 12
    assert list(loader) == [(8, 12, 12), (8, 12, 12), (7, 12, 12)]
    assert loader.stats()["sample_transform_samples"] >= 31


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dtype": "float32"}, "uint8"),
        ({"decode": "gpu", "device": "dummy"}, "CPU"),
        ({"on_bad": "substitute"}, "on_bad"),
        ({"on_bad": "skip", "n_views": 2}, "n_views"),
    ],
)
def test_refused(photos: Path, options: dict[str, object], words: str) -> None:
    with pytest.raises(stoker.ArgumentError, match=words):
        stoker.Loader(stoker.open(photos), 4, sample_transform=lambda i: i, **options)  # type: ignore[arg-type]


def test_shapes_that_do_not_stack(photos: Path) -> None:
    loader = stoker.Loader(stoker.open(photos), 4, sample_transform=lambda i: i)
    with pytest.raises(stoker.ArgumentError, match="one shape"):
        next(iter(loader))


def test_threads_end(photos: Path) -> None:
    ds = stoker.open(photos)
    before = threading.active_count()
    for i in range(20):
        loader = stoker.Loader(ds, 4, transform=stoker.Train(8), sample_transform=lambda i: i, num_threads=2)
        next(iter(loader))
        if i % 2:
            loader.close()
    del loader
    gc.collect()
    deadline = time.monotonic() + 10
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() <= before


def test_arrays(tmp_path: Path) -> None:
    arrays = [np.arange(i, i + 5 + i % 3, dtype=np.float32) for i in range(10)]
    with stoker.Writer(tmp_path / "x.stk") as writer:
        writer.extend(arrays)
    loader = stoker.Loader(stoker.open(tmp_path / "x.stk"), 4, sample_transform=lambda a: a[:5], shuffle=False)
    got = np.concatenate([images for images, _ in loader])
    np.testing.assert_array_equal(got, np.stack([a[:5] for a in arrays]))


@pytest.mark.parametrize("where", ["on_batch", "collate", "sample_transform"])
@pytest.mark.parametrize("kind", [StopIteration, SystemExit, KeyboardInterrupt, GeneratorExit, ValueError])
def test_no_exception_ends_an_epoch_silently(tiny: Path, where: str, kind: type[BaseException]) -> None:
    """Whatever the user's callable raises comes out of the loop; StopIteration as in a generator."""
    calls = 0

    def picky(given: object) -> object:
        nonlocal calls
        calls += 1
        if calls == 30:
            raise kind("mine")
        return given

    options = {where: picky, "num_threads": 2}
    size = 50 if where == "sample_transform" else 5
    with stoker.Loader(stoker.open(tiny), size, **options) as loader:
        with pytest.raises(RuntimeError if kind is StopIteration else kind) as caught:
            for _ in loader:
                pass
        if kind is StopIteration:
            assert isinstance(caught.value.__cause__, StopIteration)
        else:
            assert str(caught.value) == "mine"
        assert len(list(loader)) == len(loader)
