# SPDX-License-Identifier: Apache-2.0
"""Against timm's own code: Mixup by element and by pair, ThreeAugment."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import stoker
from PIL import Image

timm_mixup = pytest.importorskip("timm.data.mixup")
timm_auto = pytest.importorskip("timm.data.auto_augment")
torch = pytest.importorskip("torch")
N, SIDE = 30, 24


def batches(path: Path, mix: stoker.Mix, n: int = N, **options: Any) -> tuple[np.ndarray, np.ndarray, Any, Any]:
    """A batch as it is, the same mixed, its soft labels, and what was mixed."""
    made = []
    for transform in (stoker.Train(SIDE), stoker.Train(SIDE).with_mix(mix)):
        loader = stoker.Loader(stoker.open(path), n, transform=transform, seed=3, dtype="float32", **options)
        images, labels = next(iter(loader))
        made.append((images, labels, loader.batch))
    info = made[1][2]
    assert info is not None and np.array_equal(info.ids, made[0][2].ids)
    return made[0][0], made[1][0], made[1][1], info.mixed


def partner_of(i: int, plain: np.ndarray, mixed: np.ndarray, expected: Any) -> int:
    """Whose pixels are in row i."""
    found = [j for j in range(len(plain)) if j != i and np.array_equal(mixed[i], expected(plain[i], plain[j]))]
    assert len(found) == 1, (i, found)
    return found[0]


def changed_box(a: np.ndarray, b: np.ndarray) -> tuple[int, int, int, int]:
    """timm's order: yl, yh, xl, xh."""
    changed = (a != b).any(-1)
    rows, columns = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
    return rows[0], rows[-1] + 1, columns[0], columns[-1] + 1


@pytest.mark.parametrize("mode", ["elem", "pair"])
def test_mixup(tiny: Path, mode: str) -> None:
    plain, mixed, soft, info = batches(tiny, stoker.Mix(0.8, mode=mode))
    assert len(np.unique(info.shares)) == (N if mode == "elem" else N // 2)
    partners = np.empty(N, int)
    for i in range(N):
        share = info.shares[i]

        def expected(x: np.ndarray, y: np.ndarray, share: np.float32 = share) -> np.ndarray:
            return x * share + y * np.float32(1.0 - float(share))

        partners[i] = partner_of(i, plain, mixed, expected)
    assert sorted(partners) == list(range(N))
    assert np.array_equal(info.partners, info.labels[partners])
    assert (partners[partners] == np.arange(N)).all() == (mode == "pair")
    # timm's own Mixup on the same batch, put so that its partners (the batch upside down) are ours.
    order = in_timms_order(partners) if mode == "pair" else None
    if order is not None:
        lam = info.shares[order[: N // 2]].copy()
        theirs = timm_mixup.Mixup(0.8, mode="pair", num_classes=10, label_smoothing=0.0)
        x = torch.from_numpy(plain[order].transpose(0, 3, 1, 2).copy())
        with mock.patch.object(theirs, "_params_per_elem", lambda n: (lam, np.zeros(n, bool))):
            got, target = theirs(x, torch.from_numpy(info.labels[order]))
        assert np.allclose(got.numpy().transpose(0, 2, 3, 1), mixed[order], atol=1e-6)
        assert np.allclose(target.numpy(), soft[order], atol=1e-6)


def in_timms_order(partners: np.ndarray) -> np.ndarray:
    first = [i for i in range(len(partners)) if i < partners[i]]
    return np.array([*first, *(partners[i] for i in reversed(first))])


@pytest.mark.parametrize("mode", ["elem", "pair"])
@pytest.mark.parametrize("size", [24, 23])
def test_cutmix(tiny: Path, mode: str, size: int) -> None:
    """Each box is timm's for the drawn share and some centre; and so is the share after clipping."""
    with mock.patch(f"{__name__}.SIDE", size):
        plain, drawn, _, info = batches(tiny, stoker.Mix(cutmix=1.0, mode=mode, correct_lam=False))
        _, clipped, _, corrected = batches(tiny, stoker.Mix(cutmix=1.0, mode=mode))
    assert np.array_equal(drawn, clipped)  # the same boxes
    checked = 0
    for i in range(N):
        lam = float(info.shares[i])
        if np.array_equal(plain[i], drawn[i]):
            assert lam > 0.99
            continue
        box = changed_box(plain[i], drawn[i])
        found = set()
        for cy in range(size):
            for cx in range(size):
                with mock.patch("numpy.random.randint", side_effect=[cy, cx]):
                    (yl, yh, xl, xh), share = timm_mixup.cutmix_bbox_and_lam((3, size, size), lam)
                if (yl, yh, xl, xh) == box:
                    found.add(np.float32(share))
        assert found == {corrected.shares[i]}, (i, box, lam)
        rows, columns = slice(box[0], box[1]), slice(box[2], box[3])
        others = [j for j in range(N) if j != i and np.array_equal(drawn[i][rows, columns], plain[j][rows, columns])]
        assert any(info.labels[j] == info.partners[i] for j in others)
        checked += 1
    assert checked > N // 2


@pytest.mark.parametrize("mode", ["elem", "pair"])
def test_shares_have_timms_distribution(tiny: Path, mode: str) -> None:
    """How many are mixed, how many of them cut, and how the shares are spread, against timm's own draws."""
    mix = stoker.Mix(0.4, 1.0, p=0.7, switch=0.3, mode=mode, correct_lam=False)
    loader = stoker.Loader(stoker.open(tiny), 30, transform=stoker.Resize(4).with_mix(mix), seed=1, shuffle=True)
    ours = []
    for _ in range(30):
        for _ in loader:
            assert loader.batch is not None and loader.batch.mixed is not None
            ours.append(loader.batch.mixed.shares)
    shares = np.concatenate(ours)
    np.random.seed(0)
    theirs = timm_mixup.Mixup(0.4, 1.0, prob=0.7, switch_prob=0.3, mode=mode)
    want, _ = theirs._params_per_elem(200_000)
    assert abs((shares == 1).mean() - (want == 1).mean()) < 0.03
    grid = np.linspace(0.001, 0.999, 200)
    a, b = shares[shares < 1], want[want < 1]
    distance = max(abs((a < g).mean() - (b < g).mean()) for g in grid)
    assert distance < (0.03 if mode == "elem" else 0.045), distance  # Kolmogorov and Smirnov; pairs: half as many


def test_the_configuration() -> None:
    config = {
        "input_size": (3, 32, 32),
        "mixup": 0.8,
        "cutmix": 1.0,
        "mixup_mode": "elem",
        "mixup_prob": 0.9,
        "mixup_switch_prob": 0.4,
        "num_classes": 10,
    }
    want = stoker.Mix(0.8, 1.0, p=0.9, switch=0.4, num_classes=10, mode="elem")
    assert stoker.timm(config, train=True).transform.mix == want
    with pytest.raises(stoker.UnsupportedError, match="cutmix_minmax"):
        stoker.timm({**config, "cutmix_minmax": (0.2, 0.8)}, train=True)
    with pytest.raises(stoker.ArgumentError, match="mode"):
        stoker.Mix(0.8, mode="half")


def test_three_augment(photos: Path) -> None:
    """Each image is what one of timm's three operations makes of it, and each of them is taken a third of the time."""
    ds = stoker.open(photos)
    options: dict[str, Any] = {"repeats": 12, "seed": 2}
    plain = stoker.Loader(ds, 23, transform=stoker.Train(SIDE), **options)
    stepped = stoker.Loader(ds, 23, transform=stoker.Train(SIDE, auto_augment="3a"), **options)
    solarize, grey, blur = (policy[0] for policy in timm_auto.auto_augment_policy("3a"))
    assert (solarize.name, grey.name, blur.name) == ("Solarize", "Desaturate", "GaussianBlurRand")
    counts, radii = [0, 0, 0], []
    for (images, _), (others, _) in zip(plain, stepped):
        for image, other in zip(images, others):
            pil = Image.fromarray(image)
            if np.array_equal(np.asarray(solarize(pil)), other):
                counts[0] += 1
            elif np.array_equal(np.asarray(grey(pil)), other):
                counts[1] += 1
            else:
                radius = radius_of(blur, pil, other)
                counts[2] += 1
                radii.append(radius)
    assert sum(counts) == 23 * 12 and min(counts) > 60, counts
    assert min(radii) < 0.35 and max(radii) > 1.8 and 0.9 < np.mean(radii) < 1.2


def radius_of(blur: Any, image: Image.Image, blurred: np.ndarray) -> float:
    """A radius with which timm's operation gives these pixels: looked for more and more closely where it differs
    least."""
    low, high = 0.1, 2.0
    for _ in range(6):
        differences = []
        for radius in np.linspace(low, high, 60):
            with mock.patch("random.uniform", return_value=float(radius)):
                got = np.asarray(blur(image)).astype(int)
            differences.append((int(np.abs(got - blurred).sum()), float(radius)))
        least = min(differences)[0]
        nearest = [radius for difference, radius in differences if difference == least]
        if least == 0:
            return nearest[0]
        step = (high - low) / 59
        low, high = max(0.1, nearest[0] - step), min(2.0, nearest[-1] + step)
    raise AssertionError(f"no radius gives these pixels; the nearest ones, {nearest}, differ by {least}")


def test_three_augments_configuration(tiny: Path) -> None:
    config = {"input_size": (3, 24, 24), "auto_augment": "3a", "color_jitter": 0.3}
    steps = stoker.timm(config, train=True).transform.steps
    assert steps == (stoker.ThreeAugment(), stoker.ColorJitter(0.3, 0.3, 0.3))  # as timm, which keeps the jitter
    assert stoker.Train(24, auto_augment="3a") == stoker.Train(24, steps=[stoker.ThreeAugment()])
    options: dict[str, Any] = {"transform": stoker.Train(24, auto_augment="3a"), "layout": "NHWC", "seed": 1}
    device = stoker.Loader(stoker.open(tiny), 50, device="dummy", decode="gpu", **options)
    for (a, _), (b, _) in zip(device, stoker.Loader(stoker.open(tiny), 50, **options)):
        assert np.array_equal(np.from_dlpack(a), b)
