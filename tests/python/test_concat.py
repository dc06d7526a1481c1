# SPDX-License-Identifier: Apache-2.0
"""Several data sets as one, against NumPy's and torch's idea of concatenation."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path

import numpy as np
import pytest
import stoker
from conftest import noise


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[stoker.Dataset]:
    """Four data sets: classes and columns that overlap in part; files, and a folder of shards."""
    root = tmp_path_factory.mktemp("parts")
    plans: list[tuple[str, list[str], dict[str, str], int]] = [
        ("a.stk", ["ant", "bee"], {"n": "int32", "note": "string"}, 11),
        ("b/", ["bee", "cat"], {"n": "int32"}, 40),
        ("c.stk", ["cat", "ant"], {"n": "int32", "extra": "float32[2]"}, 7),
        ("d.stk", ["ant", "bee"], {"n": "int32", "note": "string"}, 1),
    ]
    for k, (name, classes, columns, n) in enumerate(plans):
        with stoker.Writer(f"{root}/{name}", columns, classes=classes, shard_size=1 << 16) as writer:
            for i in range(n):
                more = {"note": f"{k}-{i}", "extra": (k, i)}
                image = noise(30 + i % 3, 40, 100 * k + i)
                writer.add(image, i % 2, n=1000 * k + i, **{c: more[c] for c in columns if c != "n"})
    return [stoker.open(root / name.rstrip("/")) for name, *_ in plans]


def test_records_labels_columns(parts: list[stoker.Dataset]) -> None:
    whole = stoker.concat(parts)
    assert parts[1].container == "stk-folder"
    assert (len(whole), whole.container) == (59, "concat")
    assert whole.classes == ["ant", "bee", "cat"]
    names = [d.classes[label] for d in parts for label in d.labels]
    assert [whole.classes[label] for label in whole.labels] == names
    np.testing.assert_array_equal(whole.column("n"), np.concatenate([d.column("n") for d in parts]))
    np.testing.assert_array_equal(whole.sizes, np.concatenate([d.sizes for d in parts]))
    assert whole.column("note") == [*parts[0].column("note"), *[None] * 47, *parts[3].column("note")]
    extra = whole.column("extra")
    assert extra.mask[:, 0].tolist() == [True] * 51 + [False] * 7 + [True]
    np.testing.assert_array_equal(extra[51:58], parts[2].column("extra"))
    assert not whole.columns["n"].nullable
    assert whole.columns["note"].nullable
    at = 0
    for part in parts:
        for i in (0, len(part) - 1):
            np.testing.assert_array_equal(whole.image(at + i), part.image(i))
            assert whole.path(at + i) == part.path(i)
            assert whole.payload(at + i) == part.payload(i)
        at += len(part)
    assert whole[50].columns["note"] is None


def test_identity(parts: list[stoker.Dataset]) -> None:
    a, b = parts[:2]
    assert (a + b).id == stoker.concat([a, b]).id
    assert len({(a + b).id, (b + a).id, (a + a).id, a.id}) == 4
    assert repr(a + b).count("+") == 1
    with pytest.raises(TypeError):
        a + 3  # type: ignore[operator]


def test_selections_and_nesting(parts: list[stoker.Dataset]) -> None:
    a, b, c, d = parts
    some = a[::2] + b.select([5, 5, 1]) + c
    np.testing.assert_array_equal(some.column("n"), [*range(0, 11, 2), 1005, 1005, 1001, *range(2000, 2007)])
    assert some.ids.tolist()[6:9] == [16, 16, 12]
    nested = (a + b) + (c + d)
    flat = stoker.concat(parts)
    assert nested.column("note") == flat.column("note")
    assert nested.classes == flat.classes
    np.testing.assert_array_equal(nested.labels, flat.labels)
    np.testing.assert_array_equal(nested[20:30].image(3), b.image(12))
    assert len(flat.filter(label="cat", n=lambda n: n < 2000)) == 20


def test_loader_is_that_of_one_data_set(parts: list[stoker.Dataset]) -> None:
    whole = stoker.concat(parts)

    def make() -> stoker.Loader:
        return stoker.Loader(whole, 8, transform=stoker.Train(16), columns=["n", "note"], shuffle=True, seed=5)

    want = {int(n): i for i, n in enumerate(whole.column("n"))}
    batches = list(make())
    assert sorted(int(n) for b in batches for n in b["n"]) == sorted(want)
    for batch in batches:
        assert [want[int(n)] for n in batch["n"]] == batch["id"].tolist()
        assert [whole.labels[i] for i in batch["id"].tolist()] == batch["label"].tolist()
        assert batch["note"] == [whole[int(i)].columns["note"] for i in batch["id"]]

    loader = make()
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    state = loader.state_dict()
    rest = make()
    rest.load_state_dict(state)
    for got, batch in zip(rest, batches[3:]):
        np.testing.assert_array_equal(got["image"], batch["image"])
        np.testing.assert_array_equal(got["id"], batch["id"])
    other = stoker.Loader(stoker.concat(parts[::-1]), 8, transform=stoker.Train(16), shuffle=True, seed=5)
    with pytest.raises(stoker.ArgumentError, match="another data set"):
        other.load_state_dict(state)


@pytest.mark.parametrize("order", ["sequential", "page"])
def test_orders(parts: list[stoker.Dataset], order: str) -> None:
    loader = stoker.Loader(stoker.concat(parts), 8, transform=stoker.Resize(8), order=order)  # type: ignore[arg-type]
    seen = []
    for _ in loader:
        assert loader.batch is not None
        seen += loader.batch.ids.tolist()
    assert sorted(seen) == list(range(59))


def test_shared_tables_of_each_part(photos_folder: Path, tmp_path: Path) -> None:
    """Small tiles whose Huffman tables lie in their own shard."""
    for name in ("a", "b"):
        with stoker.Writer(tmp_path / f"{name}.stk", encode="tiles") as writer:
            for i in range(30):
                writer.add(noise(64, 64, i + (500 if name == "b" else 0)))
    a, b = stoker.open(tmp_path / "a.stk"), stoker.open(tmp_path / "b.stk")
    whole = a + b + a
    for i in (0, 29):
        np.testing.assert_array_equal(whole.image(i), a.image(i))
        np.testing.assert_array_equal(whole.image(30 + i), b.image(i))
        np.testing.assert_array_equal(whole.image(60 + i), a.image(i))


def test_life(parts: list[stoker.Dataset]) -> None:
    """The joined one lives on when its parts are closed, pickles, and goes in any order."""
    a, b = (stoker.open(part.filename) for part in parts[:2])
    whole = a + b
    a.close()
    del a, b
    gc.collect()
    np.testing.assert_array_equal(whole.image(12), parts[1].image(1))
    again = pickle.loads(pickle.dumps(whole[5:20]))
    assert again.column("n").tolist() == whole[5:20].column("n").tolist()
    assert again.id == whole.id
    loader = stoker.Loader(whole, 8, transform=stoker.Resize(8))
    del whole
    gc.collect()
    assert len(list(loader)) == 7


def test_masks_and_boxes(tmp_path: Path) -> None:
    for k in range(2):
        with stoker.Writer(tmp_path / f"{k}.stk", {"boxes": "boxes"}, masks=["mask"]) as writer:
            for i in range(6):
                image = noise(20, 24, 10 * k + i)
                writer.add(image, mask=image[:, :, 0], boxes=[[1, 2, 20, 19]])
    whole = stoker.open(tmp_path / "0.stk") + stoker.open(tmp_path / "1.stk")
    assert whole.boxes == ["boxes"]
    loader = stoker.Loader(
        whole, 5, transform=stoker.Train(12, filter="nearest"), columns=["mask", "boxes"], shuffle=True
    )
    n = 0
    for batch in loader:
        np.testing.assert_array_equal(batch["mask"], batch["image"][..., 0])
        n += len(batch["boxes"])
    assert n == 12


def test_what_does_not_go_together(parts: list[stoker.Dataset], tmp_path: Path) -> None:
    with stoker.Writer(tmp_path / "numbers.stk", {"n": "int64"}) as writer:
        writer.add(noise(8, 8, 1), 3, n=1)
    with stoker.Writer(tmp_path / "plain.stk", {"n": "int64"}) as writer:
        writer.add(noise(8, 8, 1), n=1)
    with pytest.raises(stoker.ArgumentError, match="named classes"):
        parts[0] + stoker.open(tmp_path / "numbers.stk")
    with pytest.raises(stoker.ArgumentError, match=r"column 'n' is int32.*int64"):
        parts[0] + stoker.open(tmp_path / "plain.stk")
    for bad in ([], [parts[0], "b.stk"]):
        with pytest.raises(stoker.ArgumentError, match="concat"):
            stoker.concat(bad)  # type: ignore[arg-type]


def test_without_labels_beside_labels(parts: list[stoker.Dataset], tmp_path: Path) -> None:
    with stoker.Writer(tmp_path / "x.stk") as writer:
        writer.add(noise(8, 8, 1))
    whole = parts[3] + stoker.open(tmp_path / "x.stk")
    assert whole.labels is not None
    assert whole.labels.tolist() == [0, -1]
