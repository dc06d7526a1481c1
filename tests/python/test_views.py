# SPDX-License-Identifier: Apache-2.0
"""views=: a transform for each view, of different sizes (multi-crop), as one loader."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker
from conftest import noise
from PIL import Image

# DINO's recipe in small: global crops, the second of which is solarized, and local ones.
GLOBAL = stoker.Train(48, scale=(0.4, 1.0), filter="bicubic")
SECOND = stoker.Train(48, scale=(0.4, 1.0), filter="bicubic", steps=[stoker.RandomSolarize(128, p=0.5)])
LOCAL = stoker.Train(24, scale=(0.05, 0.4), filter="bicubic")
VIEWS = [GLOBAL, SECOND, LOCAL, LOCAL, LOCAL, LOCAL]


def epoch(loader: stoker.Loader) -> dict[int, list[np.ndarray]]:
    """The views of each sample, by its id; the loader's labels must be its own."""
    seen: dict[int, list[np.ndarray]] = {}
    labels = loader.dataset.labels
    for images, got in loader:
        assert loader.batch is not None and labels is not None
        assert len(loader.batch.ids) == len(got) == len(images[0])
        assert got.tolist() == labels[loader.batch.ids.astype(int)].tolist()
        for row, sample in enumerate(loader.batch.ids.tolist()):
            assert sample not in seen
            seen[sample] = [view[row].copy() for view in images]
    return seen


def same(a: dict[int, list[np.ndarray]], b: dict[int, list[np.ndarray]]) -> bool:
    return a.keys() == b.keys() and all(
        len(a[k]) == len(b[k]) and all(np.array_equal(x, y) for x, y in zip(a[k], b[k])) for k in a
    )


def test_each_view_is_what_pillow_makes_of_its_crop(photos: Path) -> None:
    native = importlib.import_module("stoker._native")
    ffi, lib = native.ffi, native.lib
    ds = stoker.open(photos)
    views = [GLOBAL, LOCAL, LOCAL, stoker.Eval(40, filter="bilinear")]
    loader = stoker.Loader(ds, 7, views=views, seed=5)
    seen = epoch(loader)
    assert len(seen) == 23
    for number, view in enumerate(views):
        options = ffi.new("stk_loader_options *")
        lib.stk_loader_options_init(options)
        keep = view._fill(ffi.addressof(options, "transform"), "RGB")
        options.seed = 5
        crop, error = ffi.new("stk_crop *"), ffi.new("stk_error *")
        resample = Image.Resampling.BILINEAR if number == 3 else Image.Resampling.BICUBIC
        boxes = set()
        for sample, images in seen.items():
            assert lib.stk_loader_crop(ds._c(), options, 0, sample, 0, number, crop, error) == 0
            box = crop.box
            picture = Image.fromarray(ds.image(sample))
            if number < 3:
                picture = picture.crop((box.x, box.y, box.x + box.width, box.y + box.height))
                picture = picture.resize((crop.out_width, crop.out_height), resample)
            else:
                picture = picture.resize((crop.full_width, crop.full_height), resample)
                x, y = crop.window_x, crop.window_y
                picture = picture.crop((x, y, x + 40, y + 40))
            if crop.flip:
                picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            assert np.array_equal(np.asarray(picture), images[number]), (number, sample)
            boxes.add((box.x, box.y, box.width, box.height))
        assert number == 3 or len(boxes) > 15
        del keep


def test_grouping_is_not_seen(photos: Path) -> None:
    """View v is view v, whether one C loader makes all, or one for each."""
    ds = stoker.open(photos)
    mixed = epoch(stoker.Loader(ds, 7, views=[GLOBAL, GLOBAL, LOCAL, GLOBAL], seed=3))
    large = epoch(stoker.Loader(ds, 7, transform=GLOBAL, n_views=4, seed=3))
    small = epoch(stoker.Loader(ds, 7, transform=LOCAL, n_views=4, seed=3))
    assert mixed.keys() == large.keys()
    for sample, (first, second, third, fourth) in mixed.items():
        assert np.array_equal(first, large[sample][0]) and np.array_equal(second, large[sample][1])
        assert np.array_equal(third, small[sample][2]) and np.array_equal(fourth, large[sample][3])
        assert not np.array_equal(first, second)
    one = epoch(stoker.Loader(ds, 7, views=[GLOBAL] * 4, seed=3))
    assert same(one, large)
    steps = [stoker.RandomInvert(p=1.0).for_views(2)]
    inverted = epoch(
        stoker.Loader(ds, 7, views=[GLOBAL, LOCAL.with_steps(*steps), LOCAL.with_steps(*steps)], seed=3)
    )
    for sample, (_, second, third) in inverted.items():
        assert np.array_equal(second, small[sample][1]) and np.array_equal(third, 255 - small[sample][2])


def test_the_same_for_any_threads_batches_and_ranks(photos: Path) -> None:
    ds = stoker.open(photos)
    want = epoch(stoker.Loader(ds, 23, views=VIEWS, seed=1, num_threads=1))
    assert len(want) == 23 and [v.shape for v in want[0]] == [(48, 48, 3)] * 2 + [(24, 24, 3)] * 4
    assert same(epoch(stoker.Loader(ds, 4, views=VIEWS, seed=1, num_threads=5, prefetch=1)), want)
    ranks: dict[int, list[np.ndarray]] = {}
    for rank in range(3):
        ranks.update(epoch(stoker.Loader(ds, 2, views=VIEWS, seed=1, rank=rank, world=3)))
    assert same(ranks, want)


def test_a_state_goes_on_at_the_sample(photos: Path) -> None:
    ds = stoker.open(photos)
    want = epoch(stoker.Loader(ds, 23, views=VIEWS, seed=1))
    first = stoker.Loader(ds, 4, views=VIEWS, seed=1)
    seen: dict[int, list[np.ndarray]] = {}
    for images, _ in first:
        assert first.batch is not None
        for row, sample in enumerate(first.batch.ids.tolist()):
            seen[sample] = [view[row].copy() for view in images]
        if first.batch.number == 2:
            break
    state = json.loads(json.dumps(first.state_dict()))
    for rank in range(2):  # goes on on two ranks
        loader = stoker.Loader(ds, 3, views=VIEWS, seed=1, rank=rank, world=2)
        loader.load_state_dict(state)
        seen.update(epoch(loader))
    assert same(seen, want)
    assert not same(epoch(first), want)  # the next epoch


def test_columns_and_on_batch(table: Path) -> None:
    views = [stoker.Train(16), stoker.Train(8), stoker.Train(8)]
    loader = stoker.Loader(
        stoker.open(table), 8, views=views, columns=["age", "zip"], on_batch=lambda batch: batch
    )
    rows = 0
    for batch in loader:
        n = len(batch["id"])
        assert batch["n_valid"] == n and [len(view) for view in batch["image"]] == [n] * 3
        assert batch["age"].tolist() == batch["id"].tolist() and len(batch["label"]) == n
        assert batch["zip"] == [f"{i:05}" for i in batch["id"].tolist()]
        rows += n
    assert rows == 20
    stats = loader.stats()
    assert stats["samples"] >= 20 and isinstance(json.dumps(stats), str)


@pytest.mark.parametrize("device", [None, "dummy"])
@pytest.mark.parametrize("last", ["keep", "pad"])
@pytest.mark.parametrize("views", [{"n_views": 3, "transform": LOCAL}, {"views": [LOCAL, LOCAL, GLOBAL]}])
def test_one_row_a_sample(table: Path, device: Any, last: Any, views: Any) -> None:
    """Beside the images everything counts samples, so images[v][:n_valid] are the real ones."""
    loader = stoker.Loader(
        stoker.open(table),
        7,
        columns=["age", "zip"],
        last=last,
        device=device,
        layout="NHWC",
        shuffle=True,
        **views,
    )
    seen: list[int] = []
    for batch in loader:
        assert loader.batch is not None
        ids, n, n_valid = batch["id"].tolist(), len(batch["id"]), batch["n_valid"]
        read = np.asarray if device is None else np.from_dlpack
        assert [len(view) for view in batch["image"]] == [n] * 3 and len(batch["label"]) == n
        assert read(batch["age"]).tolist() == ids and batch["zip"] == [f"{i:05}" for i in ids]
        info = loader.batch
        assert info.n_valid == n_valid and info.ids.tolist() == ids
        assert len(info.occurrences) == len(info.statuses) == n
        assert n_valid == n or last == "pad"
        seen += ids[:n_valid]
    assert sorted(seen) == list(range(20))


def test_on_a_device(photos: Path) -> None:
    ds = stoker.open(photos)
    views = [GLOBAL, LOCAL, LOCAL]
    device = stoker.Loader(ds, 10, views=views, device="dummy", layout="NHWC")
    host = stoker.Loader(ds, 10, views=views)
    batches = 0
    for (images, labels), (want, want_labels) in zip(device, host):
        assert all(np.array_equal(np.from_dlpack(a), b) for a, b in zip(images, want))
        assert np.from_dlpack(labels).tolist() == want_labels.tolist()
        batches += 1
    assert batches == 3


def test_a_bad_image_is_bad_in_all_views(tmp_path: Path) -> None:
    """Damage that only one of the views meets: the loaders stay in step, and no view of the sample is delivered."""
    folder = tmp_path / "photos" / "a"
    folder.mkdir(parents=True)
    for i in range(9):
        Image.fromarray(noise(128, 160, i)).save(folder / f"{i}.jpg", quality=95)
    stoker.pack(tmp_path / "photos", tmp_path / "x.stk", encode="tiles")
    info = stoker.open(tmp_path / "x.stk").info(4)
    assert info.offset is not None
    with open(tmp_path / "x.stk", "r+b") as file:  # the segments of the last rows
        file.seek(info.offset + info.n_bytes - 600)
        file.write(b"\xff" * 600)
    ds = stoker.open(tmp_path / "x.stk", verify="off")
    top, whole = np.tile([0, 0, 32, 32], (9, 1)), np.tile([0, 0, 160, 128], (9, 1))
    good, bad = stoker.Boxes(32, top), stoker.Boxes(24, whole)
    assert good != stoker.Boxes(32, whole)
    assert len(list(stoker.Loader(ds, 1, transform=good))) == 9
    for views in ([good, good, bad], [bad, good]):
        seen, failed = [], 0
        loader = stoker.Loader(ds, 1, views=views)
        iterator = iter(loader)
        while True:
            try:
                images, _ = next(iterator)
            except StopIteration:
                break
            except stoker.Error as error:
                assert "4.jpg" in str(error)
                failed += 1
                continue
            assert loader.batch is not None
            seen += loader.batch.ids.tolist()
            assert np.array_equal(
                images[-1 if views[-1] is good else 0][0], ds.image(seen[-1], box=(0, 0, 32, 32))
            )
        assert failed == 1 and seen == [0, 1, 2, 3, 5, 6, 7, 8]
        loader = stoker.Loader(ds, 3, views=views, on_bad="skip")
        with pytest.warns(UserWarning, match=r"4\.jpg"):
            assert sorted(epoch(loader)) == [0, 1, 2, 3, 5, 6, 7, 8]


def test_from_torchvisions_kind(photos: Path) -> None:
    """Translated transforms bring their dtype and normalisation, which must be one."""
    a = stoker.timm({"input_size": (3, 32, 32)}, train=True)
    b = stoker.timm({"input_size": (3, 16, 16)}, train=True)
    images, _ = next(iter(stoker.Loader(stoker.open(photos), 4, views=[a, b], device="dummy", shuffle=False)))
    assert [(i.shape, i.dtype) for i in images] == [((4, 3, 32, 32), "float32"), ((4, 3, 16, 16), "float32")]
    other = stoker.timm({"input_size": (3, 16, 16), "mean": (0.5, 0.5, 0.5)}, train=True)
    for views in ([a, other], [a, stoker.Train(16)]):
        with pytest.raises(stoker.ArgumentError, match="normalisation"):
            stoker.Loader(stoker.open(photos), 4, views=views)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"views": []}, "views="),
        ({"views": [48]}, "views="),
        ({"views": stoker.Train(48)}, "views="),
        ({"views": VIEWS, "transform": GLOBAL}, "leave transform out"),
        ({"views": VIEWS, "n_views": 2}, "leave n_views out"),
        ({"views": VIEWS, "on_bad": "substitute"}, "on_bad"),
        ({"views": VIEWS, "sample_transform": lambda image: image}, "sample_transform"),
        ({"views": [GLOBAL, stoker.Train(48, mixup=0.2)]}, "mixed"),
    ],
)
def test_what_does_not_go_together(photos: Path, options: dict[str, Any], text: str) -> None:
    with pytest.raises(stoker.ArgumentError, match=text):
        stoker.Loader(stoker.open(photos), 4, **options)


def test_what_it_says_of_itself(photos: Path) -> None:
    loader = stoker.Loader(stoker.open(photos), 4, views=VIEWS)
    assert loader.views == tuple(VIEWS) and loader.transform == GLOBAL
    assert stoker.Loader(stoker.open(photos), 4, transform=GLOBAL).views == ()
    with pytest.raises(stoker.ArgumentError, match="views="):
        loader.size = 32
