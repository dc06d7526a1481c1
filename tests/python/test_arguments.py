# SPDX-License-Identifier: Apache-2.0
"""Arguments that are wrong, cut off, or without effect: each is refused by its name, nothing is guessed."""

from __future__ import annotations

import inspect
import time
import warnings
from pathlib import Path
from typing import Any, Callable

import numpy as np
import pytest
import stoker

T = stoker.Train

# What is said of each: the argument's name comes first.
LOADER: list[tuple[str, dict[str, Any]]] = [
    *[("n_views", {"n_views": v}) for v in (2.9, "2", 0, -1, None, [2])],
    *[("seed", {"seed": v}) for v in (1.9, "3", "a", None, -1, 2**64)],
    *[("timeout", {"timeout": v}) for v in (-1, "a", float("nan"))],
    *[("prefetch_factor", {"prefetch_factor": v}) for v in (1.5, "a", 0)],
    ("repeats", {"repeats": 1.5}),
    ("channels_last", {"channels_last": "a"}),
    *[
        ("mean", {"mean": v, "dtype": "float32"})
        for v in (0.5, "abc", [1, 2], [0.1, "a", 0.1], [float("nan")] * 3)
    ],
    *[("std", {"std": v, "dtype": "float32"}) for v in (0.5, [0.2, 0, 0.2])],
    *[("resident_bytes", {"resident_bytes": v, "device": "dummy"}) for v in (-1, "a", 1.5)],
    *[("on_batch", {"on_batch": v}) for v in (3, "a")],
    ("on_batch", {"collate": 3}),
    ("sample_transform", {"sample_transform": 3}),
    ("columns", {"columns": "path"}),
    ("columns", {"columns": 3}),
    *[
        ("device", {"device": v})
        for v in ("dumy", "gpu", "CUDA", "cuda:x", "cuda:-1", "dummy:memory=9", -1, True, [], 1.0)
    ],
    *[("dtype", {"dtype": v}) for v in (np.int8, 3, "torch.float16", "half")],
    # Without effect
    ("decode", {"decode": "gpu"}),
    ("decode", {"decode": "gpu", "device": "cpu"}),
    ("resident", {"resident": "on"}),
    ("resident_bytes", {"resident_bytes": 1 << 30}),
    ("sample_transform", {"resident": "on", "device": "dummy", "sample_transform": lambda image: image}),
    ("mean", {"mean": [0.5] * 3}),
    ("std", {"std": [0.5] * 3, "dtype": "uint8"}),
    ("mean", {"mean": [123.675, 116.28, 103.53], "std": [58.395, 57.12, 57.375], "dtype": "float16"}),
    ("page_window", {"page_window": 4}),
    ("page_window", {"page_window": 4, "order": "shuffle"}),
    ("GaussianBlur", {"transform": T(8, steps=[stoker.GaussianBlur().for_views(3)])}),
    ("GaussianBlur", {"transform": T(8, steps=[stoker.GaussianBlur().for_views(2, 3)]), "n_views": 2}),
    ("GaussianBlur", {"views": [T(8), T(9, steps=[stoker.GaussianBlur().for_views(0)])]}),
    # What does not go together
    ("sample_transform", {"sample_transform": lambda image: image, "transform": T(8, mixup=0.2)}),
    ("sample_transform", {"sample_transform": lambda image: image, "transform": T(8, cutmix=1.0), "n_views": 2}),
]


@pytest.mark.parametrize(("name", "options"), LOADER, ids=str)
def test_of_a_loader(tiny: Path, name: str, options: dict[str, Any]) -> None:
    with pytest.raises(stoker.ArgumentError, match=rf"^(stoker\.)?{name}\b"):
        stoker.Loader(stoker.open(tiny), 8, **options)


WORDS: tuple[Any, ...] = ("a", "1", [], object(), None)
TRANSFORMS: list[tuple[str, Callable[[Any], Any], tuple[Any, ...]]] = [
    ("size", lambda v: T(v), (*WORDS, 224.9, 0, (1, 2, 3), ("a", 2))),
    ("size", lambda v: stoker.Resize((8, v)), (*WORDS, 1.5)),
    ("resize", lambda v: stoker.Eval(8, resize=v), ("a", 1.5, [8])),
    ("crop_pct", lambda v: stoker.Eval(8, crop_pct=v), (*WORDS, 0, 1.5)),
    ("pad", lambda v: stoker.PadCrop(8, v), (*WORDS, -1, 1.5)),
    ("fill", lambda v: stoker.PadCrop(8, fill=v), (*WORDS, 1.5, 256, ("a",) * 3)),
    ("scale", lambda v: T(8, scale=v), (*WORDS, 0.5, (0.1, "a"), (0.5, 0.1), (0.1, 0.2, 0.3))),
    ("ratio", lambda v: T(8, ratio=v), (*WORDS, 1.0)),
    ("flip", lambda v: T(8, flip=v), (*WORDS, 1.5, float("nan"))),
    ("mixup", lambda v: T(8, mixup=v), (*WORDS, -1, 0.001)),
    ("cutmix", lambda v: T(8, cutmix=v), (*WORDS,)),
    ("num_classes", lambda v: stoker.Mix(0.2, num_classes=v), ("a", 1.5, 0)),
    ("steps", lambda v: T(8, steps=v), (stoker.GaussianBlur(), "a", 3, None, ["a"])),
    ("with_mix", lambda v: T(8).with_mix(v), (0.2, "a", None)),
    ("auto_augment", lambda v: T(8, auto_augment=v), (3, ["ra"], object())),
    ("color_jitter", lambda v: T(8, color_jitter=v), ("a", "abc", [0.1, 0.2], object())),
    ("brightness", lambda v: stoker.ColorJitter(v), (*WORDS, -1)),
    ("grayscale", lambda v: T(8, grayscale=v), (*WORDS, 1.5)),
    ("blur", lambda v: T(8, blur=v), ("a", 1.5, [0.5])),
    ("erasing", lambda v: T(8, erasing=v), ("a", 1.5, [0.5])),
    ("kernel_size", lambda v: stoker.GaussianBlur(v), (*WORDS, 2, 3.5, (3, 3, 3))),
    ("sigma", lambda v: stoker.GaussianBlur(3, v), (*WORDS, 0, (2, 1))),
    ("num_ops", lambda v: stoker.RandAugment(v), (*WORDS, 1.5)),
    ("magnitude", lambda v: stoker.RandAugment(2, v), (*WORDS, 31, 1.5)),
    ("num_magnitude_bins", lambda v: stoker.TrivialAugmentWide(v), (*WORDS, 1)),
    ("fill", lambda v: stoker.RandAugment(fill=v), ("a", [], 256, (1, 2))),
    ("value", lambda v: stoker.RandomErasing(value=v), ("a", [], None, (1, 2))),
    ("count", lambda v: stoker.RandomErasing(count=v), (*WORDS, 0, 1.5, 17)),
    ("threshold", lambda v: stoker.RandomSolarize(v), WORDS),
    ("bits", lambda v: stoker.RandomPosterize(v), (*WORDS, 9, 1.5)),
    ("sharpness_factor", lambda v: stoker.RandomAdjustSharpness(v), (*WORDS, -1)),
    ("degrees", lambda v: stoker.RandomRotation(v), WORDS),
    ("translate", lambda v: stoker.RandomAffine(0, v), ("a", 0.5, (0.1,), ("a", "b"))),
    ("shear", lambda v: stoker.RandomAffine(0, shear=v), ("a", [], (1, 2, 3), object())),
    ("timm", lambda v: stoker.timm(v), ("resnet50", 3, None)),
]


@pytest.mark.parametrize(("name", "make", "values"), TRANSFORMS, ids=[name for name, *_ in TRANSFORMS])
def test_of_transforms_and_steps(name: str, make: Callable[[Any], Any], values: tuple[Any, ...]) -> None:
    for value in values:
        with pytest.raises(stoker.ArgumentError, match=rf"^{name}\b"):
            print(repr(make(value)), "was made of", repr(value))


def test_of_methods(tiny: Path, tmp_path: Path) -> None:
    ds = stoker.open(tiny)
    loader = stoker.Loader(ds, 8, transform=T(8))
    calls: list[tuple[str, Callable[[], Any]]] = [
        *[("record", lambda v=v: ds[v]) for v in ("a", 1.5, None, "1")],  # type: ignore[misc]
        *[("record", lambda v=v: ds.info(v)) for v in ("a", 1.5)],  # type: ignore[misc]
        *[("size", lambda v=v: ds.image(0, size=v)) for v in ("a", 1.5, (1, 2, 3), 0, [])],  # type: ignore[misc]
        *[("box", lambda v=v: ds.image(0, box=v)) for v in ("a", 3, (0, 0, 0, 1), (0, 0, 1.5, 1))],  # type: ignore[misc]
        *[("epoch", lambda v=v: loader.set_epoch(v)) for v in ("a", 1.5, -1, None)],  # type: ignore[misc]
        *[("state", lambda v=v: loader.load_state_dict(v)) for v in (None, "a", {}, [])],  # type: ignore[misc]
        *[("size", lambda v=v: setattr(loader, "size", v)) for v in (1.5, "a", None)],  # type: ignore[misc]
        *[
            ("resize", lambda v=v: stoker.pack(tmp_path, tmp_path / "x.stk", resize=v))
            for v in (256, "256", (2, 2))
        ],  # type: ignore[misc]
        *[
            (name, lambda n=name, v=v: stoker.open(tiny, **{n: v}))  # type: ignore[misc]
            for name, v in (("hdf5_images", "x"), ("hdf5_labels", "y"), ("value_range", (0, 1)), ("arrays", True))
        ],
    ]
    for name, call in calls:
        with pytest.raises(stoker.ArgumentError, match=rf"^{name}\b"):
            call()
    assert len(list(loader)) == len(loader)  # nothing of it was half done


JUNK: tuple[Any, ...] = ("a", -1, 1.5, [], {}, object(), (1, 2, 3), float("nan"), np.arange(3), b"x", True)


def test_every_argument_with_anything(tiny: Path) -> None:
    """Whatever is given: it is taken, or it is a stoker.Error."""
    ds = stoker.open(tiny)
    calls: list[Callable[[Any], Any]] = [
        *(
            lambda v, n=n: stoker.open(tiny, **{n: v})
            for n in inspect.signature(stoker.open).parameters
            if n != "path"
        ),
        *(
            lambda v, n=n: stoker.Loader(**{"dataset": ds, "batch_size": 8, n: v}).close()
            for n in inspect.signature(stoker.Loader).parameters
            if n not in ("rank", "world", "torch_names")
        ),
        lambda v: stoker.Loader(ds, 8, rank=v, world=2),
        lambda v: stoker.Loader(ds, 8, rank=0, world=v),
        *(
            stoker.open,
            stoker.concat,
            stoker.from_torchvision,
            stoker.timm,
            stoker.AutoAugment,
            stoker.TimmAugment,
        ),
        *(ds.select, ds.filter, ds.column, ds.class_index, ds.image, ds.path, ds.file),
        *(T, T(8).with_steps, T(8).with_mix, T(8).with_size, stoker.GaussianBlur().for_views),
        lambda v: stoker.Boxes(8, v),
    ]
    for number, call in enumerate(calls):
        for value in JUNK:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    call(value)
                except (stoker.Error, IndexError):
                    pass
                except Exception as error:
                    raise AssertionError(f"call {number} of {value!r}") from error


def test_what_is_taken(tiny: Path) -> None:
    """Other spellings of what is meant."""
    ds = stoker.open(tiny)
    assert np.array_equal(ds.image(0, size=16), ds.image(0, size=(16, 16)))
    assert np.array_equal(ds[np.int64(3)].image, ds[3].image)
    assert T(np.int32(16)) == T(16.0) == T(16)
    for dtype in ("float16", np.float16, np.dtype("float16")):
        images, _ = next(iter(stoker.Loader(ds, 8, transform=T(8), dtype=dtype)))
        assert images.dtype == np.float16
    for step in (stoker.RandomInvert(1.0).for_views(1), stoker.RandomInvert(1.0).for_views(0, 7)):
        stoker.Loader(ds, 8, transform=T(8, steps=[step]), n_views=2)
    other = T(8, steps=[stoker.RandomInvert().for_views(0)])
    stoker.Loader(ds, 8, views=[other, T(9), other])  # the same transform once more
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # images are copied by torch where there is no GPU
        with pytest.raises(stoker.Error) as error:
            stoker.Loader(ds, 8, device=7, decode="gpu")  # torch's way to say cuda:7
    assert not isinstance(error.value, stoker.ArgumentError)


def test_torch_spellings(tiny: Path) -> None:
    torch = pytest.importorskip("torch")
    loader = stoker.Loader(stoker.open(tiny), 8, transform=T(8), dtype=torch.float16, device=torch.device("cpu"))
    images, _ = next(iter(loader))
    assert images.dtype == torch.float16
    with pytest.raises(stoker.ArgumentError, match=r"^dtype"):
        stoker.Loader(stoker.open(tiny), 8, dtype=torch.float64)


def test_a_copy_that_could_not_be_made(tiny: Path, tmp_path: Path) -> None:
    """stage= to a folder that is not there: said once, by open() or where the loop begins, and all is read."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ds = stoker.open(tiny, stage=tmp_path / "nowhere")
        loader = stoker.Loader(ds, 50)
        while ds.staged.state == "copying":
            time.sleep(0.01)
        for _ in range(3):
            assert sum(len(labels) for _, labels in loader) == 211
    told = [warning for warning in told if "stage=" in str(warning.message)]
    assert len(told) == 1 and "nowhere" in str(told[0].message) and ds.staged.text in str(told[0].message)
    assert told[0].filename == __file__
