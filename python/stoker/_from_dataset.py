# SPDX-License-Identifier: Apache-2.0
"""The records of an open data set as a Writer's samples: labels by class name, images as they are stored."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Optional

from stoker._errors import ArgumentError, NotFoundError

if TYPE_CHECKING:
    from stoker._dataset import Dataset


def samples(
    dataset: Dataset,
    classes: Mapping[str, int],
    *,
    columns: Optional[Collection[str]],
    mode: str,
    exif: str,
) -> Iterator[dict[str, Any]]:
    """Dicts as ``Writer.add`` takes them, for a Writer with these classes (empty: plain numbers).

    columns: those that the Writer takes, masks among them. None: images come decoded and nothing is refused, for
    a map= that makes something else of what ``ds[i]`` gives.
    """
    if columns is not None:
        _refuse_undeclared(dataset, columns)
    names = dataset.classes
    stored = columns is not None and (not _turned_off(dataset) or exif == "ignore")
    stored = stored and (dataset.mode == "RGB" or mode == "L")
    for i in range(len(dataset)):
        info = dataset.info(i)
        label: Any = info.label
        if label is not None and classes and label < len(names):
            label = _translated(dataset, i, names[label], classes)
        sample = {"label": label, "path": _path(dataset, i), **dataset._columns_of(i)}
        for name, masks in dataset.masks.items():
            sample[name] = masks.image(i) if columns is None else masks.file(i)[0]
        if stored and info.encoding != "raw":
            sample["image"] = dataset.file(i)[0]
        else:
            image = dataset.image(i)
            grey = columns is not None and info.encoding != "array" and info.channels == 1
            sample["image"] = image[:, :, :1] if grey else image
        yield sample


def _refuse_undeclared(dataset: Dataset, columns: Collection[str]) -> None:
    """Nothing is left out without a word."""
    missing = [c for name, c in dataset.columns.items() if name != "path" and name not in columns]
    if missing:
        text = ", ".join(f'"{c.name}": "{_type(dataset, c)}"' for c in missing)
        raise ArgumentError(
            f"extend({dataset.filename!r}): the Writer has no column {missing[0].name!r}; declare what the data "
            f"set holds, columns={{{text}}}, or add its records one by one without it"
        )
    masks = [name for name in dataset.masks if name not in columns]
    if masks:
        raise ArgumentError(f"extend({dataset.filename!r}): the data set has masks; declare them: masks={masks}")


def _type(dataset: Dataset, column: Any) -> str:
    """A column's type as ``Writer(columns=)`` spells it."""
    if column.name in dataset.boxes:
        kind = "boxes"
    elif column.dtype is None or column.n_items == 1:
        kind = column.type
    else:
        kind = f"{column.type}[{column.n_items or ''}]"
    return kind + ("?" if column.nullable else "")


def _turned_off(dataset: Dataset) -> bool:
    """Whether EXIF orientation was left alone when it was packed: its files would be turned if packed again."""
    if dataset._parts:
        return any(_turned_off(part) for part in dataset._parts)
    return dataset.metadata.get("exif") == "ignore"


def _translated(dataset: Dataset, i: int, name: str, classes: Mapping[str, int]) -> int:
    if name not in classes:
        known = ", ".join(map(repr, list(classes)[:8]))
        raise ArgumentError(
            f"extend({dataset.filename!r}): record {i} is of the class {name!r}; the Writer's classes are {known}"
        )
    return classes[name]


def _path(dataset: Dataset, i: int) -> Optional[str]:
    with contextlib.suppress(NotFoundError):
        return dataset.path(i)
    return None
