# SPDX-License-Identifier: Apache-2.0
"""Errors speak of the keyword arguments that a program gave, not of the command's options."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
names = importlib.import_module("stoker._option_names")
# What these folders say reaches Python; tools/ is the command itself.
FOLDERS = ("common", "format", "codec", "packer", "reader", "staging", "gpu_upload")
# Options of commands that are no functions in Python, where no command's name stands before them.
OF_THE_SHELL = {
    "high": "h5repack's",
    "from": "of stoker repair, whose texts do not come to Python",
}


def string_literals(source: str) -> list[str]:
    """The C strings of a file, neighbouring ones joined."""
    source = re.sub(r"/\*.*?\*/", " ", source, flags=re.DOTALL)
    pieces = re.findall(r'((?:"(?:[^"\\\n]|\\.)*"\s*)+)', source)
    return ["".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', piece)) for piece in pieces]


def texts_with_options() -> list[tuple[str, str]]:
    found = []
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.c")):
            found += [(path.name, text) for text in string_literals(path.read_text()) if re.search(r"--[a-z]", text)]
    return found


def test_every_text_in_c_is_understood() -> None:
    texts = texts_with_options()
    assert len(texts) > 30
    for file, text in texts:
        # As it would come: numbers and words in the places of what is filled in.
        text = re.sub(r"%[.*\d]*l*u", "7", text).replace("%.*s", "word")
        text = re.sub(r"%(?:\.\d+)?s", "word", text)
        told = names.for_python(text)
        left = [name for name in re.findall(r"--([a-z][a-z0-9-]*)", re.sub(r"(?:stoker|h5repack) [^,;)']*", "", told))]
        assert all(name in OF_THE_SHELL for name in left), f"{file}: {text!r} tells Python of {left}: {told!r}"


def test_the_keywords_are_there() -> None:
    functions = (stoker.pack, stoker.Writer.__init__, stoker.open, stoker.stage, stoker.verify, stoker.Loader.__init__)
    keywords = {name for function in functions for name in inspect.signature(function).parameters}
    assert {keyword for keyword, _ in names._OPTIONS.values()} <= keywords


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("exists already; use --force to replace it", "exists already; use force=True to replace it"),
        ("add --resize exact=5x6, or write a .stk", 'add resize="exact=5x6", or write a .stk'),
        ("use --column 'a b:bytes'", 'use columns={"a b": "bytes"}'),
        ("--labels y: must be integers", 'hdf5_labels="y": must be integers'),
        ("images with --range MIN:MAX, else arrays", "images with value_range=(MIN, MAX), else arrays"),
        ("--append and --shuffle: no", "append=True and shuffle=: no"),
        ("as stoker pack --resize exact=WxH --encode raw makes them", 'as stoker.pack(resize="exact=WxH", encode="raw") makes them'),
        ("out of it: stoker export --salvage FILE OUT.tar", "out of it: stoker export --salvage FILE OUT.tar"),
        ("again (--force), or stoker repair --from SRC PART", "again (force=True), or stoker repair --from SRC PART"),
        ("larger than --max-file (in Python max_file_bytes) allows", "larger than max_file_bytes= allows"),
        ("/data/--force/x--part: broken", "/data/--force/x--part: broken"),
        ("nothing to say", "nothing to say"),
    ],
)
def test_what_becomes_of_a_text(text: str, told: str) -> None:
    assert names.for_python(text) == told


def raised(call: Any, *args: Any, **keywords: Any) -> str:
    with pytest.raises(stoker.Error) as caught:
        call(*args, **keywords)
    return str(caught.value)


def test_errors_of_pack(photos_folder: Path, tiny_folder: Path, tmp_path: Path) -> None:
    """Every text with an option that can be provoked with the arguments of pack and Writer."""
    out, shards, h5 = tmp_path / "x.stk", f"{tmp_path}/shards/", tmp_path / "y.h5"
    stoker.pack(tiny_folder, out, encode="raw")
    stoker.pack(tiny_folder, shards, encode="raw")
    stoker.pack(tiny_folder, shards, encode="raw", append=True)
    (tmp_path / "a.csv").write_text("image,label\nx.png,0.5\n")
    Image.new("RGB", (8, 8)).save(tmp_path / "x.png")
    pairs = {"manifest": tmp_path / "a.csv", "root": tiny_folder}
    raw = 'stoker.pack(resize="exact=WxH", encode="raw")'
    cases: list[tuple[Any, Any, dict[str, Any], str]] = [
        (tiny_folder, out, {}, "use force=True"),
        (tiny_folder, out, {"append": True}, "append=True adds"),
        (tiny_folder, shards, {"append": True, "shuffle": 1}, "append=True and shuffle=:"),
        (tiny_folder, shards, {"append": True, "part": "1/2"}, "append=True and part=:"),
        (photos_folder, shards, {"append": True, "encode": "keep"}, "append=True: "),
        (tiny_folder, shards, {"append": True, "encode": "raw"}, "force=True adds"),
        (tiny_folder, h5, {"append": True}, "append=True adds"),
        (tiny_folder, h5, {"part": "1/2"}, "part= writes"),
        (tiny_folder, h5, {"hdf5_filter": "zip"}, 'hdf5_filter="zip": '),
        (photos_folder, h5, {"hdf5_filter": "gzip"}, raw),
        (photos_folder, h5, {"chunk_images": 4}, "chunk_images=4: "),
        (photos_folder, tmp_path / "z.stk", {"chunk_images": 4}, "chunk_images= is for"),
        (tmp_path, tmp_path.parent / "z.stk", pairs, "root= and SRC"),
        (tmp_path / "a.csv", tmp_path / "z.stk", {"label_column": "nope"}, "label_column="),
    ]
    for source, target, keywords, part in cases:
        text = raised(stoker.pack, source, target, **keywords)
        assert part in text and "--" not in re.sub(r"stoker [^,;)']*", "", text), text
    report = stoker.pack(tmp_path / "a.csv", tmp_path / "z.stk")
    assert [issue.reason for issue in report.issues if "(label_column= names another one" in issue.reason]
    for path, more, part in ((out, {}, "use force=True"), (h5, {"hdf5_filter": "zip"}, 'hdf5_filter="zip": ')):

        def write(path: Path = path, more: Any = more) -> None:
            with stoker.Writer(path, **more) as writer:
                writer.add(np.zeros((8, 8, 3), np.uint8))

        text = raised(write)
        assert part in text and "--" not in text, text


def test_errors_of_opening_and_staging(tmp_path: Path) -> None:
    path = tmp_path / "m.h5"
    with stoker.Writer(path) as writer:
        for i in range(4):
            writer.add(np.full((4, 4, 3), i, np.uint8), i)
    stoker.pack(path, tmp_path / "m.stk")
    quarantine = {"on_bad": f"quarantine={tmp_path}/q"}
    for call, args, keywords, part in (
        (stoker.open, [path], {"hdf5_images": "none"}, "for hdf5_images="),
        (stoker.open, [path], {"hdf5_images": "images", "hdf5_labels": "none"}, "for hdf5_labels="),
        (stoker.open, [path], {"hdf5_images": "images", "hdf5_labels": "images"}, 'hdf5_labels="images": '),
        (stoker.open, [path], {"value_range": (0.0, 1.0)}, "value_range= is for"),
        (stoker.pack, [path, tmp_path / "q.stk"], quarantine, 'on_bad="skip"'),
        (stoker.stage, [tmp_path / "m.stk"], {"keep_free": "900TiB"}, "give to= or keep_free="),
    ):
        text = raised(call, *args, **keywords)
        assert part in text and "--" not in text, text
