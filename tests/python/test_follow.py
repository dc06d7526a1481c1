# SPDX-License-Identifier: Apache-2.0
"""Masks and boxes that follow the crop of their image, against Pillow and torchvision."""

from __future__ import annotations

import io
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker
from conftest import noise
from PIL import Image, ImageOps
from stoker import _image_size

N = 37


def position_image(height: int, width: int) -> np.ndarray:
    """Pixels that tell where they are: red = x, green = y."""
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([x, y, np.zeros_like(x)], axis=2).astype(np.uint8)


def write(path: Path, **options: object) -> Path:
    with stoker.Writer(
        path,
        {"boxes": "boxes", "kinds": "int64[]", "n": "int32"},
        masks=["mask", "parts"],
        encode="raw",
        **options,
    ) as writer:  # type: ignore[arg-type]
        for i in range(N):
            height, width = 40 + i % 5, 50 + i % 7
            image = position_image(height, width)
            boxes = [[j, j + 1, j + 15 + i % 3, j + 20] for j in range(i % 4)]
            writer.add(
                image,
                i % 3,
                mask=image[:, :, 0] // 4 + image[:, :, 1],
                parts=Image.fromarray(image),
                boxes=boxes,
                kinds=range(len(boxes)),
                n=i,
            )
    return path


@pytest.fixture(scope="module")
def boxed(tmp_path_factory: pytest.TempPathFactory) -> stoker.Dataset:
    return stoker.open(write(tmp_path_factory.mktemp("masks") / "seg.stk"))


def expect_mask(image: np.ndarray) -> np.ndarray:
    return image[..., 0] // 4 + image[..., 1]


def test_files_and_access(boxed: stoker.Dataset) -> None:
    folder = Path(boxed.filename).parent
    assert sorted(p.name for p in folder.glob("*.stk")) == ["seg.mask.stk", "seg.parts.stk", "seg.stk"]
    assert list(boxed.masks) == ["mask", "parts"]
    assert boxed.boxes == ["boxes"]
    sample = boxed[7]
    assert sample.columns["boxes"].shape == (3, 4)
    np.testing.assert_array_equal(sample.columns["mask"], expect_mask(sample.image))
    np.testing.assert_array_equal(sample.columns["parts"], sample.image)
    half = boxed[::2]
    np.testing.assert_array_equal(half[5].columns["mask"], expect_mask(half[5].image))
    again = pickle.loads(pickle.dumps(half))
    np.testing.assert_array_equal(again[5].columns["mask"], half[5].columns["mask"])


@pytest.mark.parametrize(
    "transform",
    [
        stoker.Train(24, filter="nearest"),
        stoker.Eval(24, filter="nearest", flip=0.5),
        stoker.PadCrop(24, 0),
        stoker.Resize((20, 30), flip=0.5, filter="nearest"),
    ],
    ids=["train", "eval", "padcrop", "resize"],
)
@pytest.mark.parametrize("n_views", [1, 2])
def test_masks_are_where_the_pixels_are(boxed: stoker.Dataset, transform: stoker.Transform, n_views: int) -> None:
    """With the nearest filter for the images too, each pixel tells what its mask must be."""
    loader = stoker.Loader(
        boxed,
        8,
        transform=transform,
        columns=["mask", "parts", "n"],
        n_views=n_views,
        shuffle=True,
        repeats=2,
        seed=3,
    )
    seen = 0
    for _ in range(2):
        for batch in loader:
            views = (
                [batch] if n_views == 1 else [{k: batch[k][v] for k in ("image", "mask", "parts")} for v in (0, 1)]
            )
            for view in views:
                np.testing.assert_array_equal(view["mask"], expect_mask(view["image"]))
                np.testing.assert_array_equal(view["parts"], view["image"])
                seen += len(view["image"])
    assert seen == 2 * 2 * N * n_views


def test_masks_against_pillow(boxed: stoker.Dataset) -> None:
    """An ordinary filter for the images; masks as Pillow's crop, resize(NEAREST) and flip make them."""
    boxes = np.stack([np.array([i % 5, i % 3, 30 + i % 4, 33]) for i in range(N)])
    loader = stoker.Loader(boxed, 5, transform=stoker.Boxes((21, 17), boxes), columns=["mask"])
    for batch in loader:
        for row, i in enumerate(batch["id"].tolist()):
            x, y, width, height = boxes[i].tolist()
            mask = Image.fromarray(boxed.masks["mask"].image(i)[:, :, 0]).crop((x, y, x + width, y + height))
            want = np.asarray(mask.resize((17, 21), Image.Resampling.NEAREST))
            np.testing.assert_array_equal(batch["mask"][row], want)
            image = Image.fromarray(boxed.image(i)).crop((x, y, x + width, y + height))
            np.testing.assert_array_equal(batch["image"][row], image.resize((17, 21), Image.Resampling.BILINEAR))


def test_boxes_lie_on_the_same_pixels(boxed: stoker.Dataset) -> None:
    """The image's pixels tell their position in the source, so that a box's corners can be read off the crop."""
    loader = stoker.Loader(
        boxed, 8, transform=stoker.Train(200, filter="nearest"), columns=["boxes", "kinds"], shuffle=True, seed=1
    )
    n_boxes = n_dropped = 0
    for batch in loader:
        for row, i in enumerate(batch["id"].tolist()):
            source = boxed[i].columns["boxes"]
            kept = batch["boxes_kept"][row]
            n_dropped += len(source) - len(kept)
            image = batch["image"][row].astype(np.int64)
            x0, x1 = image[0, 0, 0], image[0, -1, 0]
            low_x, high_x = min(x0, x1), max(x0, x1) + 1
            low_y, high_y = image[0, 0, 1], image[-1, 0, 1] + 1
            scale_x, scale_y = 200 / (high_x - low_x), 200 / (high_y - low_y)
            for k, box in zip(kept, batch["boxes"][row]):
                assert batch["kinds"][row][k] == k
                want_x = np.clip((source[k, [0, 2]] - low_x) * scale_x, 0, 200)
                if x0 > x1:
                    want_x = 200 - want_x[::-1]
                want_y = np.clip((source[k, [1, 3]] - low_y) * scale_y, 0, 200)
                np.testing.assert_allclose(box[[0, 2]], want_x, atol=1e-3)
                np.testing.assert_allclose(box[[1, 3]], want_y, atol=1e-3)
                n_boxes += 1
    assert n_boxes > 20
    assert n_dropped > 0


def test_boxes_against_torchvision(boxed: stoker.Dataset) -> None:
    tv_tensors = pytest.importorskip("torchvision.tv_tensors")
    torch = pytest.importorskip("torch")
    from torchvision.transforms import v2

    crops = np.stack([np.array([3 + i % 5, 4, 20 + i % 9, 21]) for i in range(N)])
    loader = stoker.Loader(boxed, 5, transform=stoker.Boxes((50, 60), crops), columns=["boxes"])
    for batch in loader:
        for row, i in enumerate(batch["id"].tolist()):
            x, y, width, height = crops[i].tolist()
            source = torch.from_numpy(boxed[i].columns["boxes"])
            canvas = boxed.image(i).shape[:2]
            boxes = tv_tensors.BoundingBoxes(source, format="XYXY", canvas_size=canvas)
            moved = v2.functional.resized_crop(boxes, y, x, height, width, [50, 60])
            moved = v2.ClampBoundingBoxes()(moved)
            clean = v2.SanitizeBoundingBoxes(labels_getter=None)(moved)
            np.testing.assert_allclose(batch["boxes"][row], clean.numpy(), atol=1e-3)


def test_views_of_boxes(boxed: stoker.Dataset) -> None:
    """Boxes of view v are those that belong to view v's crop."""
    loader = stoker.Loader(
        boxed, 6, transform=stoker.Train(64, filter="nearest"), columns=["boxes", "mask"], n_views=2, shuffle=True
    )
    batch = next(iter(loader))
    assert [len(v) for v in batch["boxes"]] == [6, 6]
    for view in range(2):
        for image, mask, boxes in zip(batch["image"][view], batch["mask"][view], batch["boxes"][view]):
            np.testing.assert_array_equal(mask, expect_mask(image))
            assert (boxes >= 0).all()
            assert (boxes <= 64).all()


def test_state_and_ranks(boxed: stoker.Dataset) -> None:
    """Masks stay in step over a restored state, another world and set_epoch."""

    def make(rank: int, world: int) -> stoker.Loader:
        return stoker.Loader(
            boxed,
            4,
            transform=stoker.Train(16, filter="nearest"),
            columns=["mask", "n"],
            shuffle=True,
            rank=rank,
            world=world,
        )

    def check(batch: dict[str, np.ndarray]) -> list[int]:
        np.testing.assert_array_equal(batch["mask"], expect_mask(batch["image"]))
        return list(batch["n"])

    first = make(0, 1)
    seen: list[int] = []
    for _, batch in zip(range(3), first):
        seen += check(batch)
    state = first.state_dict()
    for rank in range(2):
        loader = make(rank, 2)
        loader.load_state_dict(state)
        for batch in loader:
            seen += check(batch)[: batch["n_valid"]]
    assert sorted(seen) == list(range(N))
    first.set_epoch(5)
    assert len([check(batch) for batch in first]) == len(first)
    first.size = 12
    assert {batch["mask"].shape[1:] for batch in first} == {(12, 12)}


def test_on_batch_and_torch(boxed: stoker.Dataset) -> None:
    loader = stoker.Loader(
        boxed,
        8,
        transform=stoker.Train(16, filter="nearest"),
        columns=["mask"],
        on_batch=lambda b: (b["image"], b["mask"]),
    )
    for image, mask in loader:
        np.testing.assert_array_equal(mask, expect_mask(image))
    torch = pytest.importorskip("torch")
    for device in ("cpu", "dummy"):
        batch = next(
            iter(stoker.Loader(boxed, 8, transform=stoker.Train(16), columns=["mask", "boxes"], device=device))
        )
        if device == "cpu":
            assert isinstance(batch["mask"], torch.Tensor)
        assert tuple(batch["mask"].shape) == (8, 16, 16)


def test_kept_batches_are_not_overwritten(boxed: stoker.Dataset) -> None:
    loader = stoker.Loader(boxed, 4, transform=stoker.Train(16, filter="nearest"), columns=["mask"], prefetch=1)
    for batch in list(loader):
        np.testing.assert_array_equal(batch["mask"], expect_mask(batch["image"]))


def test_bad_image_keeps_the_masks_in_step(tmp_path: Path) -> None:
    """A damaged record ends its batch; the next batch has its own masks."""
    path = write(tmp_path / "seg.stk")
    info = stoker.open(path).info(9)
    data = bytearray(path.read_bytes())
    assert info.offset is not None
    data[info.offset + 100] ^= 1
    path.write_bytes(bytes(data))
    loader = stoker.Loader(
        stoker.open(path), 4, transform=stoker.Resize(16, filter="nearest"), columns=["mask"], shuffle=False
    )
    iterator = iter(loader)
    n_failed = n_good = 0
    while True:
        try:
            batch = next(iterator)
        except StopIteration:
            break
        except stoker.ChecksumError:
            n_failed += 1
            continue
        np.testing.assert_array_equal(batch["mask"], expect_mask(batch["image"]))
        n_good += 1
    assert (n_failed, n_good) == (1, 9)


def test_timeout_keeps_the_masks_in_step(boxed: stoker.Dataset) -> None:
    loader = stoker.Loader(
        boxed,
        8000,  # takes a thread a hundred times as long as the timeout
        transform=stoker.Train(64, filter="nearest"),
        columns=["mask"],
        repeats=500,
        shuffle=True,
        num_threads=1,
        timeout=0.001,
    )
    iterator = iter(loader)
    n_batches = n_timeouts = 0
    while n_batches < 2:
        try:
            batch = next(iterator)
        except TimeoutError:
            n_timeouts += 1
            continue
        np.testing.assert_array_equal(batch["mask"], expect_mask(batch["image"]))
        n_batches += 1
    assert n_timeouts > 0


def test_clear_errors(boxed: stoker.Dataset, tmp_path: Path) -> None:
    for options, words in (
        ({"order": "page"}, "page"),
        ({"on_bad": "skip"}, "on_bad"),
        ({"on_bad": "substitute"}, "on_bad"),
    ):
        with pytest.raises(stoker.ArgumentError, match=words):
            stoker.Loader(boxed, 4, transform=stoker.Train(16), columns=["mask"], **options)  # type: ignore[arg-type]
    with pytest.raises(stoker.ArgumentError, match="CPU"):
        stoker.Loader(boxed, 4, transform=stoker.Train(16), columns=["boxes"], repeats=2, device="dummy")

    path = write(tmp_path / "seg.stk")
    (tmp_path / "seg.parts.stk").unlink()
    ds = stoker.open(path)
    assert ds.image(0).shape == (40, 50, 3)
    with pytest.raises(stoker.NotFoundError, match=r"seg\.parts\.stk.*copy both"):
        stoker.Loader(ds, 4, transform=stoker.Train(16), columns=["mask"])
    with stoker.Writer(tmp_path / "seg.parts.stk") as writer:
        writer.add(noise(8, 8, 1))
    with pytest.raises(stoker.StateError, match="belong together"):
        _ = stoker.open(path).masks

    with stoker.Writer(tmp_path / "odd.stk", masks=["mask"]) as writer:
        unclear, exif = io.BytesIO(), Image.Exif()  # EXIF data that may turn it: only a decoder tells
        exif[274] = 1
        Image.fromarray(noise(8, 9, 1)).save(unclear, "JPEG", exif=exif)
        writer.add(unclear.getvalue(), mask=np.zeros((9, 8), np.uint8))
        with pytest.raises(stoker.ArgumentError, match="missing"):
            writer.add(noise(8, 8, 1))
        for bad in (np.zeros((8, 8), np.uint16), np.zeros((8, 8, 4), np.uint8), np.zeros((0, 8), np.uint8)):
            with pytest.raises(stoker.ArgumentError, match="mask"):
                writer.add(noise(8, 8, 1), mask=bad)
    with pytest.raises(stoker.ArgumentError, match="another size"):
        stoker.Loader(stoker.open(tmp_path / "odd.stk"), 1, transform=stoker.Resize(8), columns=["mask"])


@pytest.mark.parametrize("shape", [(20, 30), (1, 1), (300, 7), (3, 513)])
def test_sizes_without_a_decoder(shape: tuple[int, int]) -> None:
    """What a file's head says is what Pillow shows, in every form that Pillow writes; a cut head is no error."""
    pixels = noise(*shape, 1)
    forms: list[tuple[str, str, dict[str, Any]]] = [
        ("JPEG", "RGB", {}), ("JPEG", "L", {"progressive": True}), ("PNG", "RGB", {}), ("PNG", "P", {}),
        ("GIF", "P", {}), ("WEBP", "RGB", {}), ("WEBP", "RGB", {"lossless": True}), ("WEBP", "RGBA", {}),
        ("WEBP", "RGB", {"exif": turned()}), ("TIFF", "RGB", {}), ("TIFF", "L", {"compression": "tiff_lzw"}),
        ("TIFF", "RGB", {"big_tiff": True}), ("BMP", "RGB", {}), ("BMP", "L", {}), ("BMP", "1", {}),
        ("PPM", "RGB", {}), ("PPM", "L", {}), ("PPM", "1", {}),
    ]  # fmt: skip
    for kind, mode, options in forms:
        out = io.BytesIO()
        Image.fromarray(pixels).convert(mode).save(out, kind, **options)
        data = out.getvalue()
        seen = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).size[::-1]
        assert seen in _image_size.sizes(data, may_turn=True), (kind, mode, options)
        assert _image_size.sizes(data, may_turn=False) == (shape,), (kind, mode, options)
        for n in range(0, min(len(data), 120) if kind != "PPM" else 0):  # "30 2" of "30 20" is a number, too
            assert set(_image_size.sizes(data[:n], may_turn=False)) <= {shape}
    comments = b"P6\n# a\n # b 7\n30 # c\n20\n255\n" + bytes(1800)
    assert _image_size.sizes(comments, may_turn=True) == (Image.open(io.BytesIO(comments)).size[::-1],)
    head = struct.pack("<2sIHHIIiiHHIIIIII", b"BM", 0, 0, 0, 54, 40, 30, -20, 1, 24, 0, 0, 0, 0, 0, 0)
    top_down = head + bytes(2000)
    assert _image_size.sizes(top_down, may_turn=True) == (Image.open(io.BytesIO(top_down)).size[::-1],)


def turned() -> Image.Exif:
    exif = Image.Exif()
    exif[274] = 6
    return exif


def test_masks_of_another_size_are_refused(tmp_path: Path) -> None:
    """Whatever the image is given as; turned photographs have the size that is seen."""
    image = Image.fromarray(noise(20, 30, 1))
    files: dict[str, bytes] = {}
    for kind in ("JPEG", "PNG", "GIF", "WEBP", "TIFF", "BMP", "PPM"):
        out = io.BytesIO()
        image.save(out, kind)
        files[kind] = out.getvalue()
    (tmp_path / "photo.jpg").write_bytes(files["JPEG"])
    turned, exif = io.BytesIO(), Image.Exif()
    exif[274] = 6
    image.save(turned, "JPEG", exif=exif)
    good, bad = np.zeros((20, 30), np.uint8), np.zeros((30, 20), np.uint8)
    png = io.BytesIO()
    Image.fromarray(bad).save(png, "PNG")
    with stoker.Writer(tmp_path / "x.stk", masks=["mask"]) as writer:
        for given in (image, np.asarray(image), *files.values(), tmp_path / "photo.jpg"):
            for mask in (bad, Image.fromarray(bad), png.getvalue()):
                with pytest.raises(stoker.ArgumentError, match=r"mask 'mask' is 20x30, its image 30x20"):
                    writer.add(given, mask=mask)
            writer.add(given, mask=good)
        writer.add(turned.getvalue(), mask=bad)
        with pytest.raises(stoker.ArgumentError, match="31x20"):
            writer.add(turned.getvalue(), mask=np.zeros((20, 31), np.uint8))
    ds = stoker.open(tmp_path / "x.stk")
    assert len(ds) == len(files) + 4
    np.testing.assert_array_equal(ds.masks["mask"].sizes, ds.sizes)


def test_palette_masks_keep_their_indices(tmp_path: Path) -> None:
    """PASCAL VOC's masks: the index is the class, the palette is for people."""
    index = np.arange(64, dtype=np.uint8).reshape(8, 8)
    mask = Image.fromarray(index, "L").convert("P")
    mask.putpalette([v for i in range(256) for v in (255 - i, i // 2, 7)])
    data = io.BytesIO()
    mask.save(data, "PNG")
    (tmp_path / "mask.png").write_bytes(data.getvalue())
    with stoker.Writer(tmp_path / "x.stk", masks=["mask"]) as writer:
        for given in (Image.open(io.BytesIO(data.getvalue())), data.getvalue(), tmp_path / "mask.png"):
            writer.add(noise(8, 8, 1), mask=given)
    ds = stoker.open(tmp_path / "x.stk")
    for i in range(3):
        np.testing.assert_array_equal(ds[i].columns["mask"], np.asarray(mask))


def test_steps(boxed: stoker.Dataset) -> None:
    """Steps that change colours leave masks and boxes as they are; what moves pixels, or mixes, is refused."""
    options = {"columns": ["mask", "boxes"], "seed": 2}
    plain = next(iter(stoker.Loader(boxed, N, transform=stoker.Train(24), **options)))  # type: ignore[arg-type]
    steps = stoker.Train(24, color_jitter=0.8, steps=[stoker.RandomInvert(1)], erasing=1)
    done = next(iter(stoker.Loader(boxed, N, transform=steps, **options)))  # type: ignore[arg-type]
    assert not np.array_equal(done["image"], plain["image"])
    np.testing.assert_array_equal(done["mask"], plain["mask"])
    for moved, boxes in zip(done["boxes"], plain["boxes"]):
        np.testing.assert_array_equal(moved, boxes)
    for step in (stoker.RandAugment(), stoker.RandomRotation(3), stoker.RandomVerticalFlip()):
        with pytest.raises(stoker.ArgumentError, match="cannot follow"):
            stoker.Loader(boxed, N, transform=stoker.Train(24, steps=[step]), columns=["mask"])
        with pytest.raises(stoker.ArgumentError, match="cannot follow"):
            stoker.Loader(boxed, N, transform=stoker.Train(24, steps=[step]), columns=["boxes"])
    with pytest.raises(stoker.ArgumentError, match="cannot follow"):
        mixing = stoker.Train(24).with_mix(stoker.Mix(1.0, num_classes=3))
        stoker.Loader(boxed, N, transform=mixing, columns=["mask"])
