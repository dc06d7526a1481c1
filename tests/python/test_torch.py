# SPDX-License-Identifier: Apache-2.0
"""torch tensors, torch's samplers, torchvision's transforms. Skipped where torch is not installed."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker
from PIL import Image

torch = pytest.importorskip("torch")


def test_tensors_without_a_copy(tiny: Path) -> None:
    ds = stoker.open(tiny)
    plain = list(stoker.Loader(ds, 50))
    loader = stoker.Loader(ds, 50, device="cpu")
    kept = [(images, labels) for images, labels in loader]
    gc.collect()
    for (images, labels), (array, numbers) in zip(kept, plain):
        assert images.dtype == torch.uint8 and labels.dtype == torch.int64
        assert images.shape == (len(array), 3, 32, 32)
        assert images.is_contiguous(memory_format=torch.channels_last)
        assert np.array_equal(images.permute(0, 2, 3, 1).numpy(), array)
        assert labels.tolist() == numbers.tolist()
        assert images.data_ptr() % 64 == 0


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("channels_last", [False, True])
def test_float_tensors(tiny: Path, name: Any, channels_last: bool) -> None:
    ds = stoker.open(tiny)
    options: Any = {"dtype": name, "device": torch.device("cpu"), "channels_last": channels_last}
    images, _ = next(iter(stoker.Loader(ds, 20, **options)))
    assert images.shape == (20, 3, 32, 32) and images.dtype == getattr(torch, name)
    memory = torch.channels_last if channels_last else torch.contiguous_format
    assert images.is_contiguous(memory_format=memory)
    mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    pixels = torch.from_numpy(np.stack([ds.image(i) for i in range(20)])).permute(0, 3, 1, 2)
    want = pixels.float().div(255).sub(mean[:, None, None]).div(std[:, None, None]).to(images.dtype)
    assert torch.equal(images, want)
    nhwc, _ = next(iter(stoker.Loader(ds, 20, dtype=name, device="cpu", layout="NHWC")))
    assert torch.equal(nhwc, want.permute(0, 2, 3, 1))


def test_dict_batches(table: Path) -> None:
    loader = stoker.Loader(stoker.open(table), 8, columns=["age", "score", "zip"], device="cpu")
    batch = next(iter(loader))
    assert isinstance(batch["age"], torch.Tensor) and batch["age"].tolist() == list(range(8))
    assert isinstance(batch["zip"], list) and isinstance(batch["image"], torch.Tensor)


def test_from_dlpack(tiny: Path) -> None:
    images, _ = next(iter(stoker.Loader(stoker.open(tiny), 20)))
    tensor = torch.from_dlpack(images)
    assert tensor.data_ptr() == images.__array_interface__["data"][0]


def test_samplers(tiny: Path) -> None:
    ds = stoker.open(tiny)
    data = torch.utils.data

    def seen(**options: Any) -> list[int]:
        loader = stoker.Loader(ds, 50, **options)
        return [n for images, _ in loader for n in images[:, 0, 0, 0].tolist()]

    everything = list(range(211))
    assert seen(sampler=data.SequentialSampler(everything)) == everything
    random = seen(sampler=data.RandomSampler(everything))
    assert random != everything and sorted(random) == everything
    assert sorted(seen(sampler=data.SubsetRandomSampler([5, 9, 100]))) == [5, 9, 100]
    weights = [0.0] * 210 + [1.0]
    assert seen(sampler=data.WeightedRandomSampler(weights, 7)) == [210] * 7
    sampler = data.DistributedSampler(everything, num_replicas=2, rank=1, shuffle=False)
    loader = stoker.Loader(ds, 50, sampler=sampler)
    assert (loader.rank, loader.world) == (1, 2) and len(loader) == 3
    with pytest.raises(stoker.ArgumentError, match="shuffle="):
        stoker.Loader(ds, sampler=data.RandomSampler(everything, replacement=True))


def test_a_dataset_in_a_torch_dataloader(tiny: Path) -> None:
    """Slow, but it works: a Dataset is map-style."""
    ds = stoker.open(tiny)

    def collate(samples: list[stoker.Sample]) -> list[int]:
        return [int(sample.image[0, 0, 0]) for sample in samples]

    loader = torch.utils.data.DataLoader(ds, batch_size=50, num_workers=2, collate_fn=collate)
    assert [n for batch in loader for n in batch] == list(range(211))


@pytest.fixture
def transforms() -> Any:
    return pytest.importorskip("torchvision.transforms")


def test_from_torchvision_imagenet(photos: Path, photos_folder: Path, transforms: Any) -> None:
    """The evaluation recipe gives torchvision's own tensors, bit for bit."""
    from PIL import Image
    from test_pillow import PIXELS

    compose = transforms.Compose(
        [
            transforms.Resize(40),
            transforms.CenterCrop(32),
            transforms.ToTensor(),
            transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )
    ds = stoker.open(photos)
    translated = stoker.from_torchvision(compose, strict=True)
    translated.transform.pixels = PIXELS
    images, _ = next(iter(stoker.Loader(ds, 23, transform=translated)))
    assert images.dtype == torch.float32 and images.shape == (23, 3, 32, 32)
    for i in range(23):
        with Image.open(photos_folder / ds.path(i)) as image:
            assert torch.equal(images[i], compose(image.convert("RGB"))), i


def test_from_torchvision_v2(tiny: Path, tiny_folder: Path) -> None:
    from PIL import Image

    v2 = pytest.importorskip("torchvision.transforms.v2")
    compose = v2.Compose(
        [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])]
    )
    ds = stoker.open(tiny)
    images, _ = next(iter(stoker.Loader(ds, 30, transform=stoker.from_torchvision(compose))))
    for i in range(30):
        with Image.open(tiny_folder / ds.path(i)) as image:
            assert torch.equal(images[i], compose(image)), i


def test_from_torchvision_steps(transforms: Any) -> None:
    t = transforms
    train = stoker.from_torchvision(
        t.Compose(
            [
                t.RandomResizedCrop(160, scale=(0.35, 1.0), interpolation=t.InterpolationMode.BICUBIC),
                t.RandomHorizontalFlip(0.25),
                t.PILToTensor(),
            ]
        )
    )
    assert train.transform == stoker.Train(160, scale=(0.35, 1.0), flip=0.25, filter="bicubic")
    assert train.dtype == "uint8" and train.rest == () and train.shuffles
    steps = [t.RandomCrop(32, padding=4), t.RandomHorizontalFlip(), t.ToTensor(), t.Normalize((0.5,), (0.2,))]
    cifar = stoker.from_torchvision(t.Compose(steps))
    assert cifar.transform == stoker.PadCrop(32, 4) and (cifar.mean, cifar.std) == ([0.5], [0.2])
    assert stoker.from_torchvision(t.Resize((30, 20))).transform == stoker.Resize((30, 20))
    for wrong in (
        t.Compose([t.Resize(256), t.ToTensor()]),
        t.Compose([t.Resize(256), t.RandomCrop(224), t.ToTensor()]),
        t.CenterCrop(224),
        t.RandomCrop(32, padding=4, padding_mode="reflect"),
        t.Compose([t.Lambda(lambda image: image), t.ToTensor()]),
        t.Compose([t.Resize((8, 8)), len]),
    ):
        with pytest.raises(stoker.UnsupportedError):
            stoker.from_torchvision(wrong)


def test_from_torchvision_augmentations(transforms: Any) -> None:
    t = transforms
    nearest, bilinear = t.InterpolationMode.NEAREST, t.InterpolationMode.BILINEAR
    crop, to_float = [t.RandomResizedCrop(32), t.RandomHorizontalFlip()], [t.ToTensor(), t.Normalize([0.5] * 3, [0.5] * 3)]
    pairs = [
        (t.ColorJitter(0.4, (0.5, 2.0), 0, 0.1), stoker.ColorJitter(0.4, (0.5, 2.0), 0, 0.1)),
        (t.RandomGrayscale(0.2), stoker.RandomGrayscale(0.2)),
        (t.GaussianBlur(5, 1.5), stoker.GaussianBlur(5, 1.5)),
        (t.GaussianBlur((5, 9)), stoker.GaussianBlur((5, 9))),
        (t.RandAugment(3, 7, interpolation=bilinear), stoker.RandAugment(3, 7, interpolation="bilinear")),
        (t.TrivialAugmentWide(fill=[1, 2, 3]), stoker.TrivialAugmentWide(fill=(1, 2, 3))),
        (t.AutoAugment(), stoker.AutoAugment()),
        (t.AutoAugment(t.AutoAugmentPolicy.SVHN, fill=9), stoker.AutoAugment("svhn", fill=9)),
        (t.RandomRotation(15, nearest), stoker.RandomRotation(15)),
        (t.RandomVerticalFlip(0.3), stoker.RandomVerticalFlip(0.3)),
        (t.RandomAffine(15), stoker.RandomAffine(15)),
        (
            t.RandomAffine((-5, 9), (0.1, 0.3), (0.5, 2), (1, 2, -3, 4), nearest, [9, 8, 7]),
            stoker.RandomAffine((-5, 9), (0.1, 0.3), (0.5, 2), (1, 2, -3, 4), "nearest", (9, 8, 7)),
        ),
        (t.RandomAffine(0, shear=8, interpolation=bilinear), stoker.RandomAffine(0, None, None, 8, "bilinear")),
        (t.RandomAutocontrast(), stoker.RandomAutocontrast()),
        (t.RandomEqualize(), stoker.RandomEqualize()),
        (t.RandomInvert(), stoker.RandomInvert()),
        (t.RandomPosterize(4), stoker.RandomPosterize(4)),
        (t.RandomSolarize(120), stoker.RandomSolarize(120)),
        (t.RandomAdjustSharpness(2), stoker.RandomAdjustSharpness(2)),
        (t.RandomApply([t.ColorJitter(0.8)], p=0.8), stoker.ColorJitter(0.8, p=0.8)),
        (t.RandomApply(torch.nn.ModuleList([t.RandomGrayscale(0.5)]), p=0.5), stoker.RandomGrayscale(0.25)),
    ]
    for theirs, ours in pairs:
        got = stoker.from_torchvision(t.Compose([*crop, theirs, *to_float]), strict=True)
        assert got.transform == stoker.Train(32, steps=[ours]), theirs
    got = stoker.from_torchvision(t.Compose([*crop, *[theirs for theirs, _ in pairs[:15]], *to_float]), strict=True)
    assert got.transform.steps == tuple(ours for _, ours in pairs[:15])
    for other in (t.RandomAffine(9, center=(1, 2)), t.RandomPerspective()):
        with pytest.raises(stoker.UnsupportedError, match="Random(Affine|Perspective)"):
            stoker.from_torchvision(t.Compose([*crop, other, *to_float]), strict=True)
    for value, same in ((0, 0), ("random", "random"), ((1, 2, 3), (1, 2, 3)), (0.5, 0.5)):
        erasing = t.RandomErasing(0.3, (0.1, 0.2), (0.5, 2.0), value=value)
        got = stoker.from_torchvision(t.Compose([*crop, t.TrivialAugmentWide(), *to_float, erasing]), strict=True)
        last = stoker.RandomErasing(0.3, (0.1, 0.2), (0.5, 2.0), same)
        assert got.transform == stoker.Train(32, auto_augment="ta", erasing=last)
    left = [
        [*crop, *to_float, t.ColorJitter(0.4)],
        [*crop, t.ToTensor(), t.RandomErasing(), t.Normalize([0.5] * 3, [0.5] * 3)],
        [*crop, t.RandomRotation(15, expand=True), *to_float],
        [*crop, t.RandomApply([t.RandomInvert(), t.RandomEqualize()]), *to_float],
        [*crop, *to_float, t.RandomErasing(), t.RandomErasing()],
    ]
    for steps in left:
        with pytest.raises(stoker.UnsupportedError):
            stoker.from_torchvision(t.Compose(steps), strict=True)
    with pytest.raises(stoker.UnsupportedError, match="RandomResizedCrop"):  # it would see other pixels
        stoker.from_torchvision(t.Compose([t.ColorJitter(0.4), *crop, *to_float]))


def test_from_torchvision_v2_augmentations(tiny: Path) -> None:
    v2 = pytest.importorskip("torchvision.transforms.v2")
    compose = v2.Compose(
        [
            v2.RandomResizedCrop(32),
            v2.ColorJitter(0.4, 0.4, 0.4, 0.1),
            v2.RandomApply([v2.GaussianBlur(5)], p=0.5),
            v2.TrivialAugmentWide(),
            v2.ToImage(),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize([0.5] * 3, [0.5] * 3),
            v2.RandomErasing(0.1),
        ]
    )
    translated = stoker.from_torchvision(compose, strict=True)
    jitter, blur = stoker.ColorJitter(0.4, 0.4, 0.4, 0.1), stoker.GaussianBlur(5, p=0.5)
    assert translated.transform.steps == (jitter, blur, stoker.TrivialAugmentWide(), stoker.RandomErasing(0.1))
    images, _ = next(iter(stoker.Loader(stoker.open(tiny), 30, transform=translated)))
    assert images.shape == (30, 3, 32, 32)


@pytest.mark.parametrize("name", ["nearest", "bilinear", "bicubic"])
def test_affine_is_torchvisions(photos: Path, transforms: Any, name: Any) -> None:
    """Angle, scale and shear given, so that nothing is drawn: the bytes of torchvision's affine() on Pillow images."""
    affine = pytest.importorskip("torchvision.transforms.functional").affine
    ds, rng = stoker.open(photos), np.random.default_rng(3)
    interpolation = getattr(transforms.InterpolationMode, name.upper())
    for case in range(60):
        angle = float(np.float32(rng.choice([0.0, 90.0, -30.0, rng.uniform(-180, 180)])))
        scale = float(np.float32(rng.choice([1.0, rng.uniform(0.3, 3)])))
        shear = [float(np.float32(v)) for v in (rng.uniform(-40, 40, 2) if case % 3 else (0.0, 0.0))]
        fill = tuple(int(v) for v in rng.integers(0, 256, 3))
        angles = (shear[0], shear[0], shear[1], shear[1])
        step = stoker.RandomAffine((angle, angle), None, (scale, scale), angles, name, fill)
        height, width = (int(v) for v in rng.integers(8, 70, 2))
        box = stoker.Resize((height, width))
        plain, _ = next(iter(stoker.Loader(ds, 3, transform=box)))
        got, _ = next(iter(stoker.Loader(ds, 3, transform=box.with_steps(step))))
        for a, b in zip(plain, got):
            want = affine(Image.fromarray(a), angle, [0, 0], scale, shear, interpolation, list(fill))
            assert np.array_equal(np.asarray(want), b), (angle, scale, shear, name, fill, height, width)


def test_affine_draws_as_torchvision(tiny: Path, transforms: Any) -> None:
    """Shifts are whole pixels, spread as torchvision's up to their share of the width and the height."""
    affine = pytest.importorskip("torchvision.transforms.functional").affine
    step = stoker.RandomAffine(0, translate=(0.25, 0.125))
    ds, options = stoker.open(tiny), {"repeats": 4, "shuffle": True}
    plain = stoker.Loader(ds, 211, transform=stoker.AsStored(), **options)
    moved = stoker.Loader(ds, 211, transform=stoker.AsStored().with_steps(step), **options)
    found: list[tuple[int, int]] = []
    shifts = [(x, y) for x in range(-8, 9) for y in range(-4, 5)]
    for (images, _), (others, _) in zip(plain, moved):
        for a, b in list(zip(images, others))[::2]:
            image = Image.fromarray(a)
            fits = [s for s in shifts if np.array_equal(np.asarray(affine(image, 0.0, list(s), 1.0, [0.0, 0.0])), b)]
            assert len(fits) == 1
            found += fits
    theirs = transforms.RandomAffine(0, translate=(0.25, 0.125))
    torch.manual_seed(1)
    want = [theirs.get_params([0.0, 0.0], theirs.translate, None, None, [32, 32])[1] for _ in range(20000)]
    for axis, most in ((0, 8), (1, 4)):
        ours = np.bincount([s[axis] + most for s in found], minlength=2 * most + 1) / len(found)
        expected = np.bincount([s[axis] + most for s in want], minlength=2 * most + 1) / len(want)
        assert np.abs(ours - expected).max() < 0.06


@pytest.mark.parametrize("kernel", [1, 3, 5, (9, 23), 23])
@pytest.mark.parametrize("sigma", [0.1, 0.7, 2.0, 6.0])
def test_blur_within_a_level(photos: Path, transforms: Any, kernel: Any, sigma: float) -> None:
    """At most one level from torchvision's, and nearly everywhere none."""
    ds = stoker.open(photos)
    t = stoker.Train(61, pixels="pillow13")
    plain, _ = next(iter(stoker.Loader(ds, 23, transform=t, shuffle=False, device="cpu")))
    step = stoker.GaussianBlur(kernel, sigma)
    done, _ = next(iter(stoker.Loader(ds, 23, transform=t.with_steps(step), shuffle=False, device="cpu")))
    size = list(kernel) if isinstance(kernel, tuple) else kernel
    want = torch.stack([transforms.functional.gaussian_blur(image.contiguous(), size, sigma) for image in plain])
    difference = (done.int() - want.int()).abs()
    assert difference.max() <= 1
    assert (difference > 0).float().mean() < 1e-4


def test_timm_train(photos: Path) -> None:
    config = {"input_size": (3, 64, 64), "interpolation": "bicubic", "mean": (0.5, 0.5, 0.5), "std": (0.5, 0.5, 0.5)}
    plain = stoker.timm({**config, "color_jitter": 0.4, "hflip": 0.3, "scale": (0.3, 1.0)}, train=True)
    assert plain.transform == stoker.Train(64, scale=(0.3, 1.0), flip=0.3, color_jitter=0.4, filter="bicubic")
    rand = {**config, "aa": "rand-m9-mstd0.5-inc1", "color_jitter": 0.4, "reprob": 0.25, "remode": "pixel", "recount": 2}
    augment = stoker.TimmAugment("rand-m9-mstd0.5-inc1", "bicubic", (128, 128, 128))
    erasing = stoker.RandomErasing(0.25, (0.02, 1 / 3), (0.3, 1 / 0.3), "random", count=(1, 2))
    want = stoker.Train(64, auto_augment=augment, erasing=erasing, filter="bicubic")
    assert stoker.timm(rand, train=True).transform == want
    assert stoker.timm(config, train=True).transform == stoker.Train(64, filter="bicubic")
    images, _ = next(iter(stoker.Loader(stoker.open(photos), 23, transform=stoker.timm(rand, train=True))))
    assert images.shape == (23, 3, 64, 64)
    mixing = stoker.timm({**config, "mixup": 0.8, "cutmix": 1.0, "mixup_prob": 0.9, "num_classes": 5}, train=True)
    assert mixing.transform.mix == stoker.Mix(0.8, 1.0, p=0.9, num_classes=5)
    images, labels = next(iter(stoker.Loader(stoker.open(photos), 23, transform=mixing)))
    loss = torch.nn.functional.cross_entropy(torch.zeros(23, 5), labels)
    assert labels.dtype == torch.float32 and labels.shape == (23, 5) and abs(loss - np.log(5)) < 1e-5
    for wrong in ({"aa": "augmix"}, {"aa": "rand-tweights"}, {"re_prob": 0.1, "re_mode": "noise"}):
        with pytest.raises(stoker.UnsupportedError):
            stoker.timm({**config, **wrong}, train=True)


def test_from_torchvision_rest(tiny: Path, transforms: Any) -> None:
    t = transforms
    compose = t.Compose([t.Resize((16, 16)), t.Grayscale(3), t.ToTensor(), t.Normalize([0.5] * 3, [0.5] * 3)])
    with pytest.raises(stoker.UnsupportedError, match="Grayscale"):
        stoker.from_torchvision(compose, strict=True)
    with pytest.warns(UserWarning, match="step 2 .*Grayscale"):
        translated = stoker.from_torchvision(compose)
    ds = stoker.open(tiny)
    images, labels = next(iter(stoker.Loader(ds, 20, transform=translated)))
    assert images.dtype == torch.float32 and images.shape == (20, 3, 16, 16) and len(labels) == 20
    small = torch.from_numpy(np.stack([ds.image(i, size=(16, 16)) for i in range(20)])).permute(0, 3, 1, 2)
    want = t.functional.rgb_to_grayscale(small, 3).float().div(255).sub(0.5).div(0.5)
    assert torch.equal(images, want)


def test_timm_config(photos: Path, photos_folder: Path) -> None:
    """timm's evaluation transform, written out: Resize(floor(size / crop_pct)), CenterCrop, float, Normalize."""
    from PIL import Image
    from test_pillow import PIXELS

    t = pytest.importorskip("torchvision.transforms")
    config = {
        "input_size": (3, 40, 40), "interpolation": "bicubic", "mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4),
        "crop_pct": 0.9, "crop_mode": "center",
    }  # fmt: skip
    want = t.Compose(
        [
            t.Resize(44, t.InterpolationMode.BICUBIC),
            t.CenterCrop(40),
            t.ToTensor(),
            t.Normalize(config["mean"], config["std"]),
        ]
    )
    translated = stoker.timm(config)
    assert translated.transform == stoker.Eval(40, crop_pct=0.9, filter="bicubic")
    translated.transform.pixels = PIXELS
    ds = stoker.open(photos)
    images, _ = next(iter(stoker.Loader(ds, 23, transform=translated)))
    for i in range(23):
        with Image.open(photos_folder / ds.path(i)) as image:
            assert torch.equal(images[i], want(image)), i
    assert stoker.timm(config, train=True).transform == stoker.Train(40, filter="bicubic")
    for wrong in ({"crop_mode": "border"}, {"interpolation": "random"}, {"input_size": (3, 40, 50)}):
        with pytest.raises(stoker.UnsupportedError):
            stoker.timm({**config, **wrong})


def test_device_without_torch(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(stoker.ArgumentError, match="torch"):
        stoker.Loader(stoker.open(tiny), 10, device="cpu")


def test_bfloat16_arrays(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    ml_dtypes = pytest.importorskip("ml_dtypes")
    images, _ = next(iter(stoker.Loader(stoker.open(tiny), 10, dtype="bfloat16")))
    assert images.dtype == ml_dtypes.bfloat16
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    with pytest.raises(stoker.ArgumentError, match="ml_dtypes"):
        stoker.Loader(stoker.open(tiny), 10, dtype="bfloat16")


def test_jax(tiny: Path) -> None:
    jax = pytest.importorskip("jax")
    images, _ = next(iter(stoker.Loader(stoker.open(tiny), 20)))
    array = jax.numpy.from_dlpack(images)
    assert array.shape == (20, 32, 32, 3) and np.array_equal(np.asarray(array), images)
