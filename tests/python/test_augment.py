# SPDX-License-Identifier: Apache-2.0
"""Steps on the pixels: through the loader, against Pillow, the same for every thread count and kernel family."""

from __future__ import annotations

import hashlib
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import stoker
from PIL import Image, ImageEnhance, ImageOps

needs_pillow13 = pytest.mark.skipif(
    int(Image.__version__.split(".")[0]) < 13, reason="Pillow before 13 has other pixels"
)


def batch(path: Path, transform: stoker.Transform, **options: Any) -> np.ndarray:
    options = {"seed": 3, "shuffle": False, "num_threads": 2, **options}
    with stoker.Loader(stoker.open(path), 23, transform=transform, **options) as loader:
        images, _ = next(iter(loader))
    return images if isinstance(images, np.ndarray) else np.stack(images)


RECIPES = {
    "ra": stoker.Train(64, auto_augment="ra"),
    "ta": stoker.Train(64, auto_augment="ta"),
    "imagenet": stoker.Train(64, auto_augment="imagenet"),
    "timm": stoker.Train(
        64, auto_augment="rand-m9-mstd0.5-inc1", erasing=stoker.RandomErasing(0.5, value="random")
    ),
    "simclr": stoker.Train(64, color_jitter=(0.8, 0.8, 0.8, 0.2), grayscale=0.2, blur=0.5),
    "cifar": stoker.PadCrop(48, 4, auto_augment="cifar10", erasing=0.5),
}

ONE_FAMILY = """
import hashlib, sys, pickle, stoker
path, recipes = sys.argv[1], pickle.loads(bytes.fromhex(sys.argv[2]))
for name, transform in recipes.items():
    for dtype in ("uint8", "float16"):
        loader = stoker.Loader(stoker.open(path), 23, transform=transform, seed=3, shuffle=False, dtype=dtype,
                               num_threads=int(sys.argv[3]))
        print(name, dtype, hashlib.sha256(next(iter(loader))[0].tobytes()).hexdigest())
"""


def test_same_everywhere(photos: Path) -> None:
    """Each kernel family and thread count gives the same bytes; families that this CPU lacks are left out."""
    outputs = {}
    for family in ("scalar", "avx2", "avx512"):
        for threads in (1, 2, 8):
            done = subprocess.run(
                [sys.executable, "-c", ONE_FAMILY, photos, pickle.dumps(RECIPES).hex(), str(threads)],
                env={**os.environ, "STOKER_CPU": family}, capture_output=True, text=True, timeout=300,
            )  # fmt: skip
            if done.returncode != 0 and family != "scalar" and "STOKER_CPU" in done.stderr:
                continue
            assert done.returncode == 0, done.stderr
            outputs[family, threads] = done.stdout
    assert len(set(outputs.values())) == 1
    assert len(outputs) >= 3
    assert len(set(next(iter(outputs.values())).split()[2::3])) == 2 * len(RECIPES)


def jitter(**ranges: float) -> stoker.ColorJitter:
    return stoker.ColorJitter(**{name: (v, v) for name, v in ranges.items()})


CASES: list[tuple[stoker.Step, Callable[[Image.Image], Image.Image]]] = [
    (jitter(brightness=1.3), lambda image: ImageEnhance.Brightness(image).enhance(np.float32(1.3).item())),
    (jitter(contrast=0.4), lambda image: ImageEnhance.Contrast(image).enhance(np.float32(0.4).item())),
    (jitter(saturation=1.9), lambda image: ImageEnhance.Color(image).enhance(np.float32(1.9).item())),
    (stoker.RandomGrayscale(1), lambda image: image.convert("L").convert("RGB")),
    (stoker.RandomSolarize(100, 1), lambda image: ImageOps.solarize(image, 100)),
    (stoker.RandomPosterize(3, 1), lambda image: ImageOps.posterize(image, 3)),
    (stoker.RandomEqualize(1), ImageOps.equalize),
    (stoker.RandomAutocontrast(1), ImageOps.autocontrast),
    (stoker.RandomInvert(1), ImageOps.invert),
    (stoker.RandomAdjustSharpness(1.7, 1), lambda image: ImageEnhance.Sharpness(image).enhance(1.7)),
    (stoker.RandomVerticalFlip(1), ImageOps.flip),
    (stoker.RandomRotation((30, 30), fill=(1, 2, 3)), lambda image: image.rotate(30, fillcolor=(1, 2, 3))),
    (
        stoker.RandomRotation((-71, -71), "bicubic"),
        lambda image: image.rotate(-71, Image.Resampling.BICUBIC, fillcolor=(0, 0, 0)),
    ),
]


@needs_pillow13
@pytest.mark.parametrize(("step", "operation"), CASES)
def test_against_pillow(photos: Path, step: stoker.Step, operation: Callable[[Image.Image], Image.Image]) -> None:
    """A step with one possible choice, after the very crop and flip that come without it."""
    plain, done = batch(photos, stoker.Train(72)), batch(photos, stoker.Train(72, steps=[step]))
    for before, after in zip(plain, done):
        assert np.array_equal(np.asarray(operation(Image.fromarray(before))), after), step
    swapped = batch(photos, stoker.Train(72, steps=[step], color="bgr"))
    assert np.array_equal(swapped[..., ::-1], done)


def test_steps_follow_each_other(photos: Path) -> None:
    steps = [stoker.RandomSolarize(100, 1), stoker.RandomGrayscale(1)]
    grey_first = batch(photos, stoker.Train(40, steps=steps[::-1]))
    last = batch(photos, stoker.Train(40, steps=steps))
    assert not np.array_equal(grey_first, last)
    plain = batch(photos, stoker.Train(40))
    solarized = np.where(plain < 100, plain, 255 - plain)
    expected = [np.asarray(Image.fromarray(image).convert("L").convert("RGB")) for image in solarized]
    assert np.array_equal(last, expected)
    assert np.array_equal(last, batch(photos, stoker.Train(40).with_steps(*steps)))


def test_choices_are_the_samples_own(photos: Path) -> None:
    """Another seed, epoch or view is another choice; a step more or less elsewhere is none."""
    transform = RECIPES["simclr"]
    first = batch(photos, transform)
    assert np.array_equal(first, batch(photos, transform))
    assert not np.array_equal(first, batch(photos, transform, seed=4))
    views = batch(photos, transform, n_views=2)
    assert np.array_equal(views[0], first)
    assert not np.array_equal(views[0], views[1])
    loader = stoker.Loader(stoker.open(photos), 23, transform=transform, seed=3, shuffle=False)
    assert not np.array_equal(next(iter(loader))[0], next(iter(loader))[0])
    later = batch(photos, stoker.Train(40, steps=[stoker.RandomInvert(0), stoker.RandomSolarize(90)]))
    assert np.array_equal(
        later, batch(photos, stoker.Train(40, steps=[stoker.RandomEqualize(0), stoker.RandomSolarize(90)]))
    )


def test_steps_of_one_view(photos: Path) -> None:
    plain = batch(photos, stoker.Train(40), n_views=3)
    steps = [stoker.RandomInvert(1).for_views(0, 2), stoker.RandomSolarize(0, 1).for_views(1, 2)]
    first, second, third = batch(photos, stoker.Train(40, steps=steps), n_views=3)
    assert np.array_equal(first, 255 - plain[0])
    assert np.array_equal(second, 255 - plain[1])
    assert np.array_equal(third, plain[2])
    assert steps[0] != stoker.RandomInvert(1)
    assert repr(steps[0]) == "stoker.RandomInvert(p=1.0).for_views(0, 2)"
    for wrong in ((), (32,), (-1,), (0.5,)):
        with pytest.raises(stoker.ArgumentError):
            stoker.RandomInvert().for_views(*wrong)  # type: ignore[arg-type]


def test_shares(tiny: Path) -> None:
    """p= is how often a step is taken: of 211 images and 20 epochs."""
    loader = stoker.Loader(
        stoker.open(tiny), 211, transform=stoker.AsStored().with_steps(stoker.RandomInvert(0.3))
    )
    plain = next(iter(stoker.Loader(stoker.open(tiny), 211)))[0]
    taken = sum(int((next(iter(loader))[0] != plain).any((1, 2, 3)).sum()) for _ in range(20))
    assert abs(taken / (20 * 211) - 0.3) < 0.04


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_erasing(photos: Path, layout: str, dtype: str) -> None:
    """One rectangle of each image is the value, all else is as without; the rectangle is the same in each form."""
    options = {"layout": layout, "dtype": dtype}
    value = (7.0, 100.0, 200.0) if dtype == "uint8" else (0.5, -1.0, 2.0)
    plain = batch(photos, stoker.Train(50), **options).astype(np.float32)
    erased = batch(photos, stoker.Train(50, erasing=stoker.RandomErasing(1, value=value)), **options).astype(
        np.float32
    )
    boxes = (
        batch(photos, stoker.Train(50, erasing=stoker.RandomErasing(1, value=-9)), dtype="float32")[..., 0] == -9
    )
    if layout == "NCHW":
        plain, erased = (a.transpose(0, 2, 3, 1) for a in (plain, erased))
    assert np.array_equal(erased[~boxes], plain[~boxes])
    assert np.array_equal(erased[boxes], np.broadcast_to(np.float32(value), erased[boxes].shape))
    for box in boxes:
        rows, columns = np.flatnonzero(box.any(1)), np.flatnonzero(box.any(0))
        assert (
            box.sum() == len(rows) * len(columns) == box[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].size
        )
        assert 0.015 < box.mean() < 0.34


def test_erasing_with_noise(photos: Path) -> None:
    """Values from the standard normal distribution, in uint8 the levels that are normalised to them."""
    size = 224
    constant = batch(photos, stoker.Train(size, erasing=stoker.RandomErasing(1, value=-9)), dtype="float32")
    noise = batch(photos, stoker.Train(size, erasing=stoker.RandomErasing(1, value="random")), dtype="float32")
    boxes = constant[..., 0] == -9
    values = np.sort(noise[boxes].ravel())
    n = len(values)
    assert n > 200_000
    from math import erf, sqrt

    normal = np.array([0.5 * (1 + erf(v / sqrt(2))) for v in values[:: n // 2000]])
    assert np.abs(normal - np.arange(0, n, n // 2000) / n).max() < 2.5 / np.sqrt(n) * 1.5
    assert abs(values.mean()) < 5 / np.sqrt(n)
    assert abs(values.std() - 1) < 0.01
    levels = batch(photos, stoker.Train(size, erasing=stoker.RandomErasing(1, value="random")))
    mean, std = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
    assert np.array_equal(levels[boxes], np.clip(np.rint(255 * (mean + std * noise)), 0, 255)[boxes])
    colors = batch(photos, stoker.Train(size, erasing=stoker.RandomErasing(1, value="color")), dtype="float32")
    for image, box in zip(colors, boxes):
        assert (image[box] == image[box][0]).all()
        assert len(set(image[box][0].tolist())) == 3


def test_grey(tmp_path: Path) -> None:
    """mode="L": operations on one channel are Pillow's on images of mode L."""
    (tmp_path / "in" / "a").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for i in range(5):
        Image.fromarray(rng.integers(0, 256, (40, 40), np.uint8)).save(tmp_path / "in" / "a" / f"{i}.png")
    stoker.pack(tmp_path / "in", tmp_path / "x.stk", mode="L")
    ds = stoker.open(tmp_path / "x.stk")
    plain = next(iter(stoker.Loader(ds, 5)))[0]
    for step, operation in CASES:
        if not isinstance(step, (stoker.RandomRotation, stoker.RandomGrayscale)):
            done = next(iter(stoker.Loader(ds, 5, transform=stoker.AsStored().with_steps(step))))[0]
            for before, after in zip(plain, done):
                expected = np.asarray(operation(Image.fromarray(before[..., 0])))
                assert np.array_equal(after[..., 0], expected), step
    for recipe in RECIPES.values():
        steps = stoker.AsStored().with_steps(*recipe.steps)
        assert next(iter(stoker.Loader(ds, 5, transform=steps)))[0].shape == plain.shape


def test_on_a_device(tiny: Path) -> None:
    """Batches come the same from either side; the statistics say which it was."""
    transform = stoker.AsStored().with_steps(stoker.RandomSolarize(90), stoker.RandomErasing(p=1))
    host = next(iter(stoker.Loader(stoker.open(tiny), 50, transform=transform, shuffle=False)))[0]
    for decode, side in (("auto", "cpu: "), ("cpu", "cpu: "), ("gpu", "gpu: ")):
        loader = stoker.Loader(
            stoker.open(tiny), 50, transform=transform, device="dummy", shuffle=False, decode=decode
        )
        images, _ = next(iter(loader))
        assert str(loader.stats()["decode"]).startswith(side)
        assert np.array_equal(np.from_dlpack(images).transpose(0, 2, 3, 1), host)


def mixed_batch(path: Path, transform: stoker.Transform, **options: Any) -> tuple[Any, Any, Any]:
    with stoker.Loader(stoker.open(path), 30, transform=transform, seed=3, shuffle=True, **options) as loader:
        images, labels = next(iter(loader))
        return images, labels, loader.batch


def partner_of(
    mixed: np.ndarray, plain: np.ndarray, expected: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> int:
    """The distance of the partners: the one that explains the batch."""
    found = [k for k in range(1, len(plain)) if np.array_equal(mixed, expected(plain, np.roll(plain, -k, 0)))]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "bfloat16", "float32"])
def test_mixup(tiny: Path, layout: str, dtype: str) -> None:
    """v2.MixUp's sums: y * (1 - share) + x * share in float32, rounded to the dtype."""
    pytest.importorskip("ml_dtypes") if dtype == "bfloat16" else None
    options = {"layout": layout, "dtype": dtype}
    plain, labels, _ = mixed_batch(tiny, stoker.Train(24), **options)
    mixed, soft, info = mixed_batch(tiny, stoker.Train(24, mixup=0.8), **options)
    share = info.mixed.shares[0]
    assert (info.mixed.shares == share).all()
    assert 0 < share < 1

    def expected(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        other = np.float32(1.0 - float(share))
        sums = y.astype(np.float32) * other + x.astype(np.float32) * share
        return np.floor(sums + np.float32(0.5)).astype(np.uint8) if dtype == "uint8" else sums.astype(x.dtype)

    k = partner_of(mixed, plain, expected)
    assert np.array_equal(info.mixed.labels, labels)
    assert np.array_equal(info.mixed.partners, np.roll(labels, -k))
    hot = np.eye(10, dtype=np.float32)
    assert soft.dtype == np.float32
    assert np.array_equal(soft, hot[np.roll(labels, -k)] * np.float32(1 - float(share)) + hot[labels] * share)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32"])
def test_cutmix(tiny: Path, layout: str, dtype: str) -> None:
    options = {"layout": layout, "dtype": dtype}
    transform = stoker.Train(24, flip=0.0)
    plain, labels, _ = mixed_batch(tiny, transform, **options)
    mixed, soft, info = mixed_batch(tiny, transform.with_mix(stoker.Mix(cutmix=1.0)), **options)
    if layout == "NCHW":
        plain, mixed = plain.transpose(0, 2, 3, 1), mixed.transpose(0, 2, 3, 1)
    changed = (plain != mixed).any((0, 3))  # the box, but for a row where all are equal
    rows, columns = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
    box = (slice(None), slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1))
    assert np.isclose(info.mixed.shares, 1 - len(rows) * len(columns) / 24 / 24).all()

    def expected(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = x.copy()
        out[box] = y[box]
        return out

    k = partner_of(mixed, plain, expected)
    assert np.array_equal(info.mixed.partners, np.roll(labels, -k))
    assert np.allclose(soft.sum(1), 1, atol=1e-6)


def test_mixing_is_the_batchs_own(tiny: Path) -> None:
    """The same for any number of threads, resumed or not; another for another batch, epoch and rank."""
    transform = stoker.Train(24, auto_augment="ta", mixup=0.8, cutmix=1.0)
    ds = stoker.open(tiny)
    runs = []
    for threads in (1, 2, 8):
        loader = stoker.Loader(ds, 30, transform=transform, seed=3, num_threads=threads, last="drop")
        runs.append([(x.copy(), y, loader.batch.mixed) for x, y in loader])  # type: ignore[union-attr]
    for run in runs[1:]:
        for (x, y, _), (x0, y0, _) in zip(run, runs[0]):
            assert np.array_equal(x, x0)
            assert np.array_equal(y, y0)
    assert len({float(m.shares[0]) for _, _, m in runs[0]}) == len(runs[0])
    loader = stoker.Loader(ds, 30, transform=transform, seed=3, last="drop")
    for _ in zip(range(3), loader):
        pass
    other = stoker.Loader(ds, 30, transform=transform, seed=3, last="drop")
    other.load_state_dict(loader.state_dict())
    images, labels = next(iter(other))
    assert np.array_equal(images, runs[0][3][0])
    assert np.array_equal(labels, runs[0][3][1])
    ranks = [stoker.Loader(ds, 15, transform=transform, seed=3, rank=r, world=2) for r in range(2)]
    shares = []
    for rank in ranks:
        next(iter(rank))
        assert rank.batch is not None and rank.batch.mixed is not None
        shares.append(float(rank.batch.mixed.shares[0]))
    assert shares[0] != shares[1]


@pytest.mark.parametrize("mode", ["elem", "pair"])
def test_mixing_by_element_and_pair(tiny: Path, mode: str) -> None:
    """The same for any number of threads, resumed, in any layout and on a device; labels follow the pixels."""
    transform = stoker.Train(24).with_mix(stoker.Mix(0.8, 1.0, p=0.8, mode=mode))
    ds = stoker.open(tiny)
    runs = []
    for threads in (1, 2, 8):  # batches of 31: 6 whole ones, and 25
        loader = stoker.Loader(ds, 31, transform=transform, seed=3, num_threads=threads)
        runs.append([(x.copy(), y, loader.batch.mixed) for x, y in loader])  # type: ignore[union-attr]
    for run in runs[1:]:
        for (x, y, _), (x0, y0, _) in zip(run, runs[0]):
            assert np.array_equal(x, x0) and np.array_equal(y, y0)
    for (mixed, soft, info), (plain, _) in zip(runs[0], stoker.Loader(ds, 31, transform=stoker.Train(24), seed=3)):
        assert soft.shape == (len(plain), 10) and np.allclose(soft.sum(1), 1, atol=1e-6)
        assert len(np.unique(info.shares)) > len(plain) // 4
        alone = info.shares == 1
        assert alone.any() and np.array_equal(mixed[alone], plain[alone])
        changed = (mixed != plain).any((1, 2, 3))
        assert changed.sum() > len(plain) // 3 and not changed[alone].any()
    loader = stoker.Loader(ds, 31, transform=transform, seed=3)
    for _ in zip(range(3), loader):
        pass
    other = stoker.Loader(ds, 31, transform=transform, seed=3)
    other.load_state_dict(loader.state_dict())
    assert np.array_equal(next(iter(other))[0], runs[0][3][0])
    planar = stoker.Loader(ds, 31, transform=transform, seed=3, layout="NCHW")
    assert np.array_equal(next(iter(planar))[0].transpose(0, 2, 3, 1), runs[0][0][0])
    device = stoker.Loader(ds, 31, transform=transform, seed=3, device="dummy", layout="NHWC")
    images, soft = next(iter(device))
    assert np.array_equal(np.from_dlpack(images), runs[0][0][0]) and np.array_equal(soft, runs[0][0][1])
    assert str(device.stats()["decode"]).startswith("cpu: ")
    device = stoker.Loader(ds, 31, transform=transform, seed=3, device="dummy", decode="gpu", layout="NHWC")
    images, soft = next(iter(device))
    assert np.array_equal(np.from_dlpack(images), runs[0][0][0]) and np.array_equal(soft, runs[0][0][1])
    assert str(device.stats()["decode"]).startswith("gpu: ")
    two, _, info = mixed_batch(tiny, transform, n_views=2)
    plain_two, _, _ = mixed_batch(tiny, stoker.Train(24), n_views=2)
    alone = info.mixed.shares == 1
    assert 0 < alone.sum() < 30  # both views of a sample, or none
    for view, plain in zip(two, plain_two):
        same = np.array([np.array_equal(a, b) for a, b in zip(view, plain)])
        assert np.array_equal(same, alone)


def test_mixing_views_columns_and_devices(tiny: Path) -> None:
    transform = stoker.Train(24, mixup=0.8)
    plain, _, _ = mixed_batch(tiny, stoker.Train(24), n_views=2)
    mixed, soft, info = mixed_batch(tiny, transform, n_views=2)
    share = info.mixed.shares[0]
    assert soft.shape == (30, 10)

    def expected(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        sums = y.astype(np.float32) * np.float32(1.0 - float(share)) + x.astype(np.float32) * share
        return np.floor(sums + np.float32(0.5)).astype(np.uint8)

    assert partner_of(mixed[0], plain[0], expected) == partner_of(mixed[1], plain[1], expected)
    loader = stoker.Loader(stoker.open(tiny), 30, transform=transform, seed=3, columns=[])
    batch = next(iter(loader))
    host, host_soft, host_info = mixed_batch(tiny, transform)
    assert np.array_equal(batch["label"], host_soft)
    device, device_soft, device_info = mixed_batch(tiny, transform, device="dummy")
    assert np.array_equal(np.from_dlpack(device).transpose(0, 2, 3, 1), host)
    assert np.array_equal(device_soft, host_soft)
    assert np.array_equal(device_info.mixed.partners, host_info.mixed.partners)


def test_bad_images_mix_with_none(tmp_path: Path) -> None:
    (tmp_path / "in" / "a").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for i in range(9):
        Image.fromarray(rng.integers(0, 256, (64, 64, 3), np.uint8)).save(
            tmp_path / "in" / "a" / f"{i}.jpg", quality=95
        )
    stoker.pack(tmp_path / "in", tmp_path / "x.stk", encode="keep")
    data = bytearray((tmp_path / "x.stk").read_bytes())
    at = stoker.open(tmp_path / "x.stk").jpeg(4)
    where = data.find(at) + len(at) // 2
    data[where : where + 40] = bytes(40)
    (tmp_path / "x.stk").write_bytes(data)
    ds = stoker.open(tmp_path / "x.stk")
    mix = stoker.Mix(0.8, num_classes=3)
    options: dict[str, Any] = {"on_bad": "skip", "shuffle": False, "seed": 1}
    with pytest.warns(UserWarning, match=r"4\.jpg"):
        loader = stoker.Loader(ds, 9, transform=stoker.AsStored().with_mix(mix), **options)
        mixed, soft = next(iter(loader))
    with pytest.warns(UserWarning, match=r"4\.jpg"):
        plain, _ = next(iter(stoker.Loader(ds, 9, transform=stoker.AsStored(), **options)))
    assert len(mixed) == len(plain) == 8
    assert loader.batch is not None and loader.batch.mixed is not None
    alone = np.flatnonzero(loader.batch.mixed.shares == 1)
    assert len(alone) == 1  # the one whose partner is missing
    assert np.array_equal(mixed[alone], plain[alone])
    assert soft.shape == (8, 3)


def test_mixing_needs_labels(tmp_path: Path, tiny: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a.png", "b.png"):
        Image.new("RGB", (8, 8)).save(tmp_path / "in" / name)
    stoker.pack(tmp_path / "in", tmp_path / "x.stk")
    with pytest.raises(stoker.ArgumentError, match="labels"):
        stoker.Loader(stoker.open(tmp_path / "x.stk"), 2, transform=stoker.Train(8, mixup=1.0))
    loader = stoker.Loader(
        stoker.open(tiny), 30, transform=stoker.Train(8).with_mix(stoker.Mix(1.0, num_classes=4))
    )
    with pytest.raises(stoker.ArgumentError, match="num_classes"):
        next(iter(loader))
    for wrong in ({"mixup": -1}, {"cutmix": 0.001}, {"mixup": 1, "p": 2}, {"mixup": 1, "num_classes": 0}):
        with pytest.raises(stoker.ArgumentError):
            stoker.Mix(**wrong)
    assert stoker.Train(8, mixup=0.2).mix == stoker.Mix(0.2)
    assert pickle.loads(pickle.dumps(stoker.Train(8, cutmix=1.0))) == stoker.Train(8, cutmix=1.0)


def test_values() -> None:
    """Steps and transforms are values."""
    for transform in RECIPES.values():
        again = pickle.loads(pickle.dumps(transform))
        assert again == transform
        assert repr(again) == repr(transform)
        assert hash(again) == hash(transform)
    assert stoker.RandAugment() != stoker.RandAugment(3)
    assert stoker.ColorJitter(0.4, 0.4, 0.4) == stoker.Train(8, color_jitter=0.4).steps[0]
    assert [
        type(s).__name__ for s in stoker.Train(8, auto_augment="ta", color_jitter=1, blur=1, erasing=1).steps
    ] == [
        "TrivialAugmentWide",
        "ColorJitter",
        "GaussianBlur",
        "RandomErasing",
    ]
    assert "steps" not in repr(stoker.Train(8))


@pytest.mark.parametrize(
    "make",
    [
        lambda: stoker.ColorJitter(-1),
        lambda: stoker.ColorJitter(hue=0.6),
        lambda: stoker.ColorJitter((2, 1)),
        lambda: stoker.GaussianBlur(4),
        lambda: stoker.GaussianBlur(3, 0),
        lambda: stoker.RandAugment(magnitude=31),
        lambda: stoker.RandAugment(17),
        lambda: stoker.RandAugment(interpolation="lanczos"),
        lambda: stoker.RandAugment(fill=300),
        lambda: stoker.TrivialAugmentWide(1),
        lambda: stoker.AutoAugment("imagenet22k"),
        lambda: stoker.TimmAugment("augmix-m3"),
        lambda: stoker.TimmAugment("rand-m9-w0"),
        lambda: stoker.TimmAugment("rand-tweights"),
        lambda: stoker.Train(8, auto_augment="augmix"),
        lambda: stoker.RandomErasing(2),
        lambda: stoker.RandomErasing(scale=(0.5, 0.2)),
        lambda: stoker.RandomErasing(value="noise"),
        lambda: stoker.RandomErasing(value=(1, 2)),
        lambda: stoker.RandomErasing(count=0),
        lambda: stoker.Train(8, steps=[stoker.RandomErasing()], erasing=0.5),
        lambda: stoker.Train(8, steps=[0.5]),
        lambda: stoker.Train(8, steps=[stoker.RandomInvert()] * 17),
        lambda: stoker.Train(8, color_jitter=(1, 2)),
        lambda: stoker.RandomPosterize(9),
    ],
)
def test_refused(make: Callable[[], Any]) -> None:
    with pytest.raises((stoker.ArgumentError, stoker.UnsupportedError)):
        make()


def test_hash_is_pinned(tiny: Path) -> None:
    """The choices are part of the contract: another result here is another version of the pixels."""
    digest = hashlib.sha256()
    for recipe in RECIPES.values():
        transform = stoker.AsStored().with_steps(*recipe.steps)
        digest.update(batch(tiny, transform).tobytes())
    assert digest.hexdigest() == "b2c3636b70b680acd11450fc45c33868495db4fd4cd7c8d78e67471b13cff2ab"
