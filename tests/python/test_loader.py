# SPDX-License-Identifier: Apache-2.0
"""stoker.Loader: order, epochs, options, pixels."""

from __future__ import annotations

import pickle
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker
from PIL import Image

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)


def numbers(images: np.ndarray) -> list[int]:
    """Which of the tiny images these are (pixel (0, 0) tells, unless flipped or cropped)."""
    return images[:, 0, 0, 0].tolist()


def test_defaults(tiny: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), batch_size=50)
    assert len(loader) == 5
    batches = list(loader)
    assert [images.shape for images, _ in batches] == [(50, 32, 32, 3)] * 4 + [(11, 32, 32, 3)]
    assert all(images.dtype == np.uint8 and type(images) is np.ndarray for images, _ in batches)
    assert all(labels.dtype == np.int64 for _, labels in batches)
    assert [n for images, _ in batches for n in numbers(images)] == list(range(211))  # in order: nothing random
    labels = np.concatenate([labels for _, labels in batches])
    assert labels.tolist() == [i * 10 // 211 for i in range(211)]


def test_pixels_are_those_of_the_reference(tiny: Path, photos: Path) -> None:
    ds = stoker.open(photos)
    for transform in (stoker.Resize(20), stoker.Resize((31, 17), filter="bicubic", color="bgr")):
        images, _ = next(iter(stoker.Loader(ds, batch_size=23, transform=transform)))
        for i in range(23):
            want = ds.image(i, size=transform.size, filter=transform.filter, color=transform.color)
            assert np.array_equal(images[i], want)


def test_eval_is_resize_and_center_crop(photos: Path, photos_folder: Path) -> None:
    """torchvision's Resize(37) and CenterCrop(32) on Pillow images, written out."""
    from test_pillow import PIXELS

    ds = stoker.open(photos)
    images, _ = next(iter(stoker.Loader(ds, 23, transform=stoker.Eval(32, resize=37, pixels=PIXELS))))
    for i in range(23):
        with Image.open(photos_folder / ds.path(i)) as image:
            w, h = image.size
            size = (37, int(37 * h / w)) if w <= h else (int(37 * w / h), 37)
            resized = image.resize(size, Image.Resampling.BILINEAR)
            left, top = round((size[0] - 32) / 2.0), round((size[1] - 32) / 2.0)
            want = np.asarray(resized.crop((left, top, left + 32, top + 32)))
        assert np.array_equal(images[i], want), i


def test_eval_sizes() -> None:
    assert stoker.Eval(224).size == (224, 224)
    assert stoker.Eval(224) == stoker.Eval(224, crop_pct=0.875) != stoker.Eval(224, resize=256)


def test_boxes(photos: Path) -> None:
    ds = stoker.open(photos)
    rng = np.random.default_rng(1)
    boxes = np.concatenate([rng.integers(0, 20, (23, 2)), rng.integers(1, 40, (23, 2))], axis=1)
    for images, _ in stoker.Loader(ds, 23, transform=stoker.Boxes((24, 18), boxes)):
        for i in range(23):
            assert np.array_equal(images[i], ds.image(i, box=tuple(boxes[i]), size=(24, 18)))
    with pytest.raises(stoker.ArgumentError, match="22 rows"):
        stoker.Loader(ds, 4, transform=stoker.Boxes(8, boxes[:22]))


def test_pad_crop(tiny: Path) -> None:
    """Each image is one of the 9 x 9 windows of the padded original, mirrored or not, and they differ."""
    ds = stoker.open(tiny)
    found = set()
    loader = stoker.Loader(ds, 211, transform=stoker.PadCrop(32, 4), seed=4)
    images, labels = next(iter(loader))
    assert loader.batch is not None
    for row, i in enumerate(loader.batch.ids.tolist()[:60]):
        padded = np.pad(ds.image(i), ((4, 4), (4, 4), (0, 0)))
        places = [
            (y, x, flip)
            for y in range(9)
            for x in range(9)
            for flip in (False, True)
            if np.array_equal(images[row], padded[y : y + 32, x : x + 32][:, :: -1 if flip else 1])
        ]
        assert len(places) == 1, places
        found.add(places[0])
    assert len(found) > 30
    assert ds.labels is not None and np.array_equal(labels, ds.labels[loader.batch.ids])


def test_shuffle_is_a_permutation_that_changes(tiny: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), 64, shuffle=True, seed=9)
    epochs = [[n for images, _ in loader for n in numbers(images)] for _ in range(3)]
    assert all(sorted(epoch) == list(range(211)) for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    assert epochs[0] != list(range(211))
    again = stoker.Loader(stoker.open(tiny), 50, shuffle=True, seed=9, num_threads=3)
    assert [[n for images, _ in again for n in numbers(images)] for _ in range(3)] == epochs
    other = stoker.Loader(stoker.open(tiny), 64, shuffle=True, seed=10)
    assert [n for images, _ in other for n in numbers(images)] != epochs[0]


def test_set_epoch(tiny: Path) -> None:
    def epoch(loader: stoker.Loader) -> list[int]:
        return [n for images, _ in loader for n in numbers(images)]

    loader = stoker.Loader(stoker.open(tiny), 64, shuffle=True)
    epochs = [epoch(loader) for _ in range(3)]
    assert loader.epoch == 3
    loader.set_epoch(1)
    assert epoch(loader) == epochs[1]
    assert epoch(loader) == epochs[2]
    loader.set_epoch(0)
    loader.set_epoch(0)
    assert epoch(loader) == epochs[0]
    with pytest.raises(stoker.ArgumentError):
        loader.set_epoch(-1)


def test_an_abandoned_epoch_is_left(tiny: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), 64, shuffle=True)
    first = [numbers(images) for images, _ in loader]
    second = [numbers(images) for images, _ in loader]
    loader.set_epoch(0)
    iterator = iter(loader)
    assert numbers(next(iterator)[0]) == first[0]
    newer = iter(loader)
    assert numbers(next(newer)[0]) == second[0]
    with pytest.raises(stoker.StateError, match="newer"):
        next(iterator)
    assert [numbers(images) for images, _ in newer] == second[1:]
    with pytest.raises(StopIteration):
        next(newer)


def test_trainers_that_count_batches(tiny: Path) -> None:
    """Whoever stops after len(loader) batches, without asking for one more, gets the next epoch all the same."""
    loader = stoker.Loader(stoker.open(tiny), 64, shuffle=True)
    epochs = []
    for _ in range(3):
        iterator = iter(loader)
        epochs.append([n for _ in range(len(loader)) for n in numbers(next(iterator)[0])])
    whole = stoker.Loader(stoker.open(tiny), 64, shuffle=True)
    assert epochs == [[n for images, _ in whole for n in numbers(images)] for _ in range(3)]
    assert loader.stats()["batches"] == 12  # nothing was prepared in vain


def test_float(tiny: Path) -> None:
    ds = stoker.open(tiny)
    pixels = np.stack([ds.image(i) for i in range(40)])
    want = (pixels.astype(np.float32) / np.float32(255) - MEAN) / STD
    images, _ = next(iter(stoker.Loader(ds, 40, dtype="float32")))
    assert images.dtype == np.float32 and images.shape == (40, 32, 32, 3)
    assert np.array_equal(images, want)
    images, _ = next(iter(stoker.Loader(ds, 40, dtype="float32", layout="NCHW")))
    assert np.array_equal(images, want.transpose(0, 3, 1, 2))
    images, _ = next(iter(stoker.Loader(ds, 40, dtype="float16")))
    assert images.dtype == np.float16 and np.array_equal(images, want.astype(np.float16))
    images, _ = next(iter(stoker.Loader(ds, 40, dtype="float32", mean=[0.5], std=(1, 2, 4))))
    mean, std = np.float32(0.5), np.array([1, 2, 4], np.float32)
    assert np.array_equal(images, (pixels.astype(np.float32) / np.float32(255) - mean) / std)


@pytest.mark.parametrize(("last", "sizes"), [("keep", [100, 100, 11]), ("drop", [100, 100]), ("pad", [100] * 3)])
def test_last(tiny: Path, last: Any, sizes: list[int]) -> None:
    loader = stoker.Loader(stoker.open(tiny), 100, last=last, shuffle=True)
    assert len(loader) == len(sizes)
    valid = []
    for size, (images, labels) in zip(sizes, loader):
        assert len(images) == len(labels) == size
        assert loader.batch is not None
        valid.append(loader.batch.n_valid)
    assert valid == ([100, 100, 11] if last != "drop" else sizes)


def test_batch_info(tiny: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), 100, shuffle=True)
    assert loader.batch is None
    for _ in range(2):
        for number, (images, _labels) in enumerate(loader):
            assert loader.batch is not None
            assert loader.batch.number == number
            assert loader.batch.ids.tolist() == numbers(images)
            assert not loader.batch.statuses.any() and not loader.batch.occurrences.any()
    assert loader.batch is not None and loader.batch.epoch == 1


def test_selection(tiny: Path) -> None:
    ds = stoker.open(tiny)
    part = ds.filter(label=["class3", "class7"])
    loader = stoker.Loader(part, 16, shuffle=True)
    seen = [n for images, _ in loader for n in numbers(images)]
    assert sorted(seen) == part.ids.tolist() and seen != part.ids.tolist()


def test_same_crop_in_a_selection(photos: Path) -> None:
    """A sample's random choices depend on its place in the whole data set, not in the selection."""
    ds = stoker.open(photos)
    train = stoker.Train(24)
    whole, _ = next(iter(stoker.Loader(ds, 23, shuffle=False, transform=train)))
    part, _ = next(iter(stoker.Loader(ds.select([20, 3]), 2, shuffle=False, transform=train)))
    assert np.array_equal(part, whole[[20, 3]])
    assert len({whole[i].tobytes() for i in range(23)}) == 23


def test_train_shuffles_unless_told(photos: Path) -> None:
    ds = stoker.open(photos)
    loader = stoker.Loader(ds, 23, transform=stoker.Train(8))
    next(iter(loader))
    assert loader.batch is not None and loader.batch.ids.tolist() != list(range(23))
    loader = stoker.Loader(ds, 23, transform=stoker.Train(8), shuffle=False)
    next(iter(loader))
    assert loader.batch is not None and loader.batch.ids.tolist() == list(range(23))


def test_weights(tiny: Path) -> None:
    ds = stoker.open(tiny)
    weights = np.zeros(211)
    weights[[5, 6]] = 1, 3
    loader = stoker.Loader(ds, 100, weights=weights, n_draws=1000)
    seen = [n for images, _ in loader for n in numbers(images)]
    assert len(seen) == 1000 and set(seen) == {5, 6}
    assert 650 < seen.count(6) < 850
    part = ds.select(list(range(30)))
    assert part.labels is not None and np.bincount(part.labels).tolist() == [22, 8]
    loader = stoker.Loader(part, 30, weights="balanced", n_draws=2000)
    labels = np.concatenate([labels for _, labels in loader])
    assert 850 < (labels == 0).sum() < 1150
    with pytest.raises(stoker.ArgumentError, match="weights"):
        stoker.Loader(ds, 10, weights=[1.0])


def test_repeats_and_views(tiny: Path, photos: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), 100, repeats=3, shuffle=True)
    seen = [n for images, _ in loader for n in numbers(images)]
    assert sorted(seen) == sorted(list(range(211)) * 3)
    loader = stoker.Loader(stoker.open(photos), 10, n_views=2, transform=stoker.Train(16))
    for (first, second), labels in loader:
        assert first.shape == second.shape == (len(labels), 16, 16, 3)
        assert not np.array_equal(first, second)
    assert loader.batch is not None and len(loader.batch.ids) == len(set(loader.batch.ids)) == len(labels)


def test_columns(table: Path) -> None:
    ds = stoker.open(table)
    loader = stoker.Loader(ds, 8, columns=["age", "zip", "note", "score"], shuffle=True)
    seen = []
    for batch in loader:
        assert set(batch) == {"image", "label", "id", "n_valid", "age", "zip", "note", "score"}
        assert batch["age"].tolist() == batch["id"].tolist()
        assert batch["score"].tolist() == [i / 4 for i in batch["id"].tolist()]
        assert batch["zip"] == [f"{i:05}" for i in batch["id"].tolist()]
        assert isinstance(batch["note"], list) and len(batch["image"]) == len(batch["label"])
        seen += batch["id"].tolist()
    assert sorted(seen) == list(range(20))
    with pytest.raises(stoker.NotFoundError):
        stoker.Loader(ds, 8, columns=["size"])


def test_no_labels(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for i in range(5):
        Image.fromarray(np.full((8, 8, 3), i, np.uint8)).save(tmp_path / "in" / f"{i}.png")
    stoker.pack(tmp_path / "in", tmp_path / "x.stk")
    ds = stoker.open(tmp_path / "x.stk")
    assert ds.labels is None and ds.classes == [] and ds[0].label is None
    images, labels = next(iter(stoker.Loader(ds, 5)))
    assert labels is None and images.shape == (5, 8, 8, 3)


def test_new_size(photos: Path) -> None:
    loader = stoker.Loader(stoker.open(photos), 10, transform=stoker.Train(16))
    assert {images.shape[1:3] for images, _ in loader} == {(16, 16)}
    loader.size = 24
    assert loader.size == (24, 24)
    sizes = []
    ids: list[int] = []
    for images, _ in loader:
        sizes.append(images.shape[1:3])
        assert loader.batch is not None and loader.batch.epoch == 1
        ids += loader.batch.ids.tolist()
        loader.size = (8, 12)  # from the next epoch on
    assert set(sizes) == {(24, 24)} and sorted(ids) == list(range(23))
    assert {images.shape[1:3] for images, _ in loader} == {(8, 12)}
    assert loader.epoch == 3
    plain = stoker.Loader(stoker.open(photos), 4, transform=stoker.Resize(8))
    with pytest.raises(stoker.ArgumentError):
        plain.size = 0


def broken_copy(source: Path, path: Path, record: int) -> stoker.Dataset:
    data = bytearray(source.read_bytes())
    offset = stoker.open(source).info(record).offset
    assert offset is not None
    data[offset + 50] ^= 0xFF
    path.write_bytes(data)
    return stoker.open(path)


def test_bad_record(tiny: Path, tmp_path: Path) -> None:
    ds = broken_copy(tiny, tmp_path / "x.stk", 107)
    loader = stoker.Loader(ds, 50, transform=stoker.Resize(32))
    iterator = iter(loader)
    good = [len(next(iterator)[0]), len(next(iterator)[0])]
    with pytest.raises(stoker.ChecksumError, match="107"):
        next(iterator)
    good += [len(images) for images, _ in iterator]
    assert good == [50, 50, 50, 11]
    assert loader.stats()["bad_samples"] >= 1

    loader = stoker.Loader(ds, 50, on_bad="skip", transform=stoker.Resize(32))
    with pytest.warns(UserWarning, match=r"0107\.png.*left out"):
        seen = [n for images, _ in loader for n in numbers(images)]
    assert seen == [n for n in range(211) if n != 107]
    assert loader.stats()["bad_samples"] >= 1  # the epoch being prepared counts too

    loader = stoker.Loader(ds, 50, on_bad="substitute", transform=stoker.Resize(32))
    with pytest.warns(UserWarning, match="107"):
        seen = [n for images, _ in loader for n in numbers(images)]
    assert len(seen) == 211 and 107 not in seen
    assert loader.stats()["substituted"] >= 1


def test_stats(tiny: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), 50)
    list(loader)
    stats = loader.stats()
    assert stats["samples"] >= 211 and stats["batches"] >= 5 and stats["bad_samples"] == 0
    assert stats["n_threads"] >= 1
    assert {"read_s", "decode_s", "consumer_wait_s", "worker_wait_s"} <= set(stats)
    assert stats["bytes_read"] >= 211 * 32 * 32 * 3


def test_two_loaders_at_once(tiny: Path, photos: Path) -> None:
    train = stoker.Loader(stoker.open(tiny), 32, shuffle=True)
    val = stoker.Loader(stoker.open(photos), 8, transform=stoker.Eval(16))
    for _ in range(2):
        seen = []
        for images, _ in train:
            seen += numbers(images)
            assert sum(len(labels) for _, labels in val) == 23
        assert sorted(seen) == list(range(211))


def test_page_order(tiny: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), 64, order="page")
    assert sorted(n for images, _ in loader for n in numbers(images)) == list(range(211))


@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 0},
        {"batch_size": 2.5},
        {"dtype": "int8"},
        {"layout": "CHWN"},
        {"last": "first"},
        {"on_bad": "cry"},
        {"order": "weighted"},
        {"order": "alphabetical"},
        {"order": "page", "shuffle": False},
        {"seed": -1},
        {"n_draws": 5},
        {"rank": 0},
        {"rank": 2, "world": 2},
        {"num_threads": 0},
        {"std": [0, 1, 1], "dtype": "float32"},
        {"mean": [1, 2], "dtype": "float32"},
        {"norm": "v3"},
        {"repeats": 0},
        {"prefetch": 0},
        {"transform": 224},
        {"layout": "NCHW", "channels_last": True},
        {"batch_size": 500, "last": "drop"},
        {"collate_fn": len},
        {"batch_sampler": [[0]]},
        {"sampler": iter([1])},
        {"generator": 3},
    ],
)
def test_wrong_options(tiny: Path, options: dict[str, Any]) -> None:
    with pytest.raises(stoker.ArgumentError):
        stoker.Loader(stoker.open(tiny), **options)


def test_unknown_option(tiny: Path) -> None:
    with pytest.raises(TypeError, match="batchsize"):
        stoker.Loader(stoker.open(tiny), batchsize=3)


def test_nothing_to_load(tiny: Path) -> None:
    with pytest.raises(stoker.ArgumentError, match="nothing"):
        stoker.Loader(stoker.open(tiny).select([]))


def test_timeout_says_what_the_threads_do(photos: Path) -> None:
    # Thousands of photographs a batch: more than a tenth of a second whatever the machine.
    loader = stoker.Loader(
        stoker.open(photos), 3000, transform=stoker.Train(96), repeats=300, timeout=0.05, num_threads=1
    )
    with pytest.raises(TimeoutError, match=r"no batch within 0.05 s: of 1 threads [01] read and [01] decode"):
        next(iter(loader))


def test_torch_names(tiny: Path) -> None:
    ds = stoker.open(tiny)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = stoker.Loader(
            ds, batch_size=50, shuffle=True, num_workers=2, pin_memory=True, prefetch_factor=2,
            persistent_workers=True, drop_last=True, collate_fn=None, worker_init_fn=None, sampler=None, timeout=0,
        )  # fmt: skip
    assert loader.drop_last and len(loader) == 4 and loader.batch_size == 50
    assert loader.dataset is ds and len(loader.sampler) == 211
    deadline = time.monotonic() + 10
    while loader.stats()["n_threads"] < min(2, stoker.usable_threads()) and time.monotonic() < deadline:
        time.sleep(0.01)  # threads count once they run
    assert loader.stats()["n_threads"] == min(2, stoker.usable_threads())
    loader.sampler.set_epoch(5)
    assert loader.epoch == 5
    with pytest.warns(UserWarning, match="worker_init_fn"):
        stoker.Loader(ds, worker_init_fn=print)
    loader = stoker.Loader(ds, 3, sampler=[9, 4, 4, 7])
    assert [n for images, _ in loader for n in numbers(images)] == [9, 4, 4, 7]
    with pytest.raises(stoker.ArgumentError, match="on_batch"):
        stoker.Loader(ds, collate_fn=len)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shuffle": "False"}, "shuffle='False': give True or False"),
        ({"shuffle": 2}, "shuffle=2"),
        ({"drop_last": "False"}, "drop_last='False': give True or False"),
        ({"drop_last": True, "last": "keep"}, "drop_last=True contradicts last='keep'"),
        ({"drop_last": True, "last": "pad"}, "drop_last=True contradicts last='pad'"),
        ({"drop_last": False, "last": "drop"}, "drop_last=False contradicts last='drop'"),
        ({"shuffle": True, "sampler": [1, 2]}, "shuffle=True goes with no sampler="),
        ({"num_workers": -1}, "num_workers=-1: give a whole number"),
        ({"num_workers": "four"}, "num_workers='four': give a whole number"),
        ({"num_workers": -1, "num_threads": 2}, "num_workers=-1: give a whole number"),
        ({"batch_size": "x"}, "batch_size='x': give a whole number"),
        ({"last": "kep"}, "last='kep'"),
    ],
)
def test_contradictions_are_refused(tiny: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(stoker.ArgumentError, match=words):
        stoker.Loader(stoker.open(tiny), **options)


def test_last_and_drop_last_that_agree(tiny: Path) -> None:
    ds = stoker.open(tiny)
    for options, batches in (
        ({"drop_last": True, "last": "drop"}, 4),
        ({"drop_last": False, "last": "pad"}, 5),
        ({"drop_last": False}, 5),
        ({"drop_last": None}, 5),
        ({"shuffle": np.True_}, 5),
        ({"shuffle": 0}, 5),
        ({"shuffle": False, "sampler": range(211)}, 5),
        ({"drop_last": True, "sampler": range(211)}, 4),
    ):
        assert len(stoker.Loader(ds, 50, **options)) == batches  # type: ignore[arg-type]


def test_what_is_no_data_set(tiny: Path) -> None:
    for path in (str(tiny), tiny, str(tiny).encode()):
        with pytest.raises(
            stoker.ArgumentError, match=r"tiny\.stk: open it first: stoker\.Loader\(stoker\.open\('"
        ):
            stoker.Loader(path, 4)  # type: ignore[arg-type]
    for other in (None, [1, 2], 7):
        with pytest.raises(stoker.ArgumentError, match=r"dataset=.*give what stoker\.open\(\) returns"):
            stoker.Loader(other)  # type: ignore[arg-type]


def test_a_batch_larger_than_the_data_set(photos: Path) -> None:
    loader = stoker.Loader(stoker.open(photos), 256, transform=stoker.Resize(4))
    assert [len(labels) for _, labels in loader] == [23] and len(loader) == 1


def test_no_pickle(tiny: Path) -> None:
    with pytest.raises(TypeError, match="threads"):
        pickle.dumps(stoker.Loader(stoker.open(tiny)))


def test_transforms_are_values() -> None:
    assert stoker.Train(224) == stoker.Train((224, 224)) != stoker.Train(225)
    assert hash(stoker.PadCrop(32, 4)) == hash(stoker.PadCrop())
    assert repr(stoker.Resize((3, 4))).startswith("stoker.Resize(size=(3, 4), flip=0.0")
    assert pickle.loads(pickle.dumps(stoker.Train(9, scale=(0.5, 1)))) == stoker.Train(9, scale=(0.5, 1))
    for make in (
        lambda: stoker.Train(0),
        lambda: stoker.Train(8, scale=(0.5, 0.2)),
        lambda: stoker.Train(8, ratio=(0, 1)),
        lambda: stoker.Train(8, flip=1.5),
        lambda: stoker.Train((1, 2, 3)),
        lambda: stoker.Eval(8, crop_pct=0),
        lambda: stoker.PadCrop(8, -1),
        lambda: stoker.PadCrop(8, fill=300),
        lambda: stoker.Boxes(8, [[0.5, 1, 2, 3]]),
        lambda: stoker.Boxes(8, [1, 2, 3, 4]),
        lambda: stoker.Resize(8, filter="nicest"),
    ):
        with pytest.raises(stoker.ArgumentError):
            make()
