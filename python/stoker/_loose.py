# SPDX-License-Identifier: Apache-2.0
"""A folder of image files that nobody has packed, listed as ImageFolder lists it."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from stoker._errors import NotFoundError, call
from stoker._native import ffi, lib

# Of the formats that are read. Only the name counts here: a packed set goes by the content.
_EXTENSIONS = frozenset(
    {".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".png", ".apng", ".webp", ".tif", ".tiff", ".bmp", ".dib", ".gif"}
    | {".ppm", ".pgm", ".pbm", ".pnm"}
)


class Listing(NamedTuple):
    """Paths relative to the folder, their labels (empty without class folders), and class names."""

    paths: list[str]
    labels: list[int]
    classes: list[str]


def is_loose(folder: str) -> bool:
    """Whether the path is a folder, but none of shards."""
    return os.path.isdir(folder) and not os.path.exists(os.path.join(folder, "dataset.json"))


def list_images(folder: str) -> Listing:
    """The images below folder, in the order of torchvision's ImageFolder, which is also that of a packed set. A
    folder without folders in it gives its own files, without labels."""
    names = sorted(os.listdir(folder))
    folders = [name for name in names if os.path.isdir(os.path.join(folder, name))]
    listing = Listing([], [], [])
    for name in folders:
        found = _walk(folder, name)
        if name.startswith(".") and not found:
            continue  # .git and its like are no class
        listing.paths.extend(found)
        listing.labels.extend([len(listing.classes)] * len(found))
        listing.classes.append(name)
    if not listing.classes:
        listing.paths.extend(name for name in names if _is_image(name) and name not in folders)
    return listing


def _walk(root: str, top: str) -> list[str]:
    """Images below root/top: folders sorted by their whole path, in each the files by name. Links are followed,
    except into a folder that holds them."""
    folders: list[str] = []

    def visit(path: str, above: tuple[str, ...]) -> None:
        real = os.path.realpath(os.path.join(root, path))
        if real in above:
            return
        folders.append(path)
        with os.scandir(os.path.join(root, path)) as entries:
            inner = [entry.name for entry in entries if entry.is_dir()]
        for name in inner:
            visit(os.path.join(path, name), (*above, real))

    visit(top, (os.path.realpath(root),))
    found: list[str] = []
    for path in sorted(folders):
        with os.scandir(os.path.join(root, path)) as entries:
            names = sorted(entry.name for entry in entries if _is_image(entry.name) and not entry.is_dir())
        found.extend(os.path.join(path, name) for name in names)
    return found


def _is_image(name: str) -> bool:
    return os.path.splitext(name)[1].lower() in _EXTENSIONS


def open_files(folder: str, options: Any) -> Any:
    """The C data set over the folder's images. NotFoundError when there are none."""
    listing = list_images(folder)
    if not listing.paths:
        raise NotFoundError(
            f"{folder}: neither a packed data set (there is no dataset.json) nor a folder with images in it"
        )
    keep: list[Any] = []

    def string(text: str) -> Any:
        keep.append(ffi.new("char[]", os.fsencode(text)))
        return keep[-1]

    raw = ffi.new("stk_file_list *")
    raw.root, raw.n, raw.n_classes = string(folder), len(listing.paths), len(listing.classes)
    paths = ffi.new("char *[]", [string(path) for path in listing.paths])
    classes = ffi.new("char *[]", [string(name) for name in listing.classes])
    labels = ffi.new("int64_t[]", listing.labels)
    raw.paths, raw.class_names = paths, classes
    raw.labels = labels if listing.classes else ffi.NULL
    out = ffi.new("stk_dataset **")
    call(lib.stk_dataset_open_files, raw, options, out)
    return ffi.gc(out[0], lib.stk_py_close_dataset)
