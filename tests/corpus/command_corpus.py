#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command over the corpus of real files, as a user would go through them: pack, list, verify, extract, bench.

What is expected is worked out here from the files themselves (their order as torchvision's ImageFolder has it, the
messy CSV line by line), not taken from stoker. STOKER_CORPUS names the corpus; without it all is skipped.

usage: command_corpus.py --stoker BIN --scratch DIR [--junit FILE]
"""
import argparse
import csv
import filecmp
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import traceback
import xml.sax.saxutils as sax

IMAGE_EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")


class Command:
    def __init__(self, stoker, scratch):
        self.stoker, self.scratch = stoker, scratch

    def run(self, *args, exit_code=0):
        done = subprocess.run([self.stoker, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == exit_code, \
            f"stoker {' '.join(map(str, args))}: exit code {done.returncode}\n{done.stderr.decode(errors='replace')}"
        return done.stdout.decode("utf-8", "surrogateescape")

    def pack(self, source, name, *options, exit_code=0):
        """(path, report)."""
        path = self.scratch / name
        sources = [source] if source is not None else []
        return path, json.loads(self.run("pack", "--force", "--json", *options, *sources, path, exit_code=exit_code))

    def rows(self, path):
        """Lines of ls: [number, label, width, height, encoding, bytes, path]."""
        return [line.split("\t") for line in self.run("ls", "-0", path).split("\0")[:-1]]

    def images_per_s(self, path, *options):
        return json.loads(self.run("bench", "--json", "--seconds", 1, *options, path))["images_per_s"]


def image_folder(root):
    """(label, path) in the order of torchvision.datasets.ImageFolder."""
    samples = []
    for label, name in enumerate(sorted(entry.name for entry in os.scandir(root) if entry.is_dir())):
        for folder, _, files in sorted(os.walk(root / name, followlinks=True)):
            samples += [(label, os.path.relpath(os.path.join(folder, f), root)) for f in sorted(files)
                        if f.lower().endswith(IMAGE_EXTENSIONS)]
    return samples


def unpack(archive, scratch):
    """A .tar.zst of the corpus as a folder, unpacked once."""
    folder = scratch / archive.name.split(".")[0]
    if not (folder / "done").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        subprocess.run(["tar", "--zstd", "-xf", archive, "-C", folder], check=True)
        (folder / "done").touch()
    return folder


def check_order(command, corpus, name):
    path, report = command.pack(corpus / name, f"{name}.stk")
    want = image_folder(corpus / name)
    got = [(int(row[1]), row[6]) for row in command.rows(path)]
    assert got == want, f"{len(got)} records, {len(want)} files; first difference: " \
        f"{next((pair for pair in zip(got, want) if pair[0] != pair[1]), None)}"
    assert report["records"] == len(want) and report["skipped"] == 0, report
    assert f"{len(want)} records checked and decoded, 0 bad" in command.run("verify", "--deep", path)
    return path


def case_photos(command, corpus):
    """500 photos, one a class: tiles, at most 1.5 % larger than the files."""
    path = check_order(command, corpus, "photos")
    info = json.loads(command.run("info", "--json", path))
    assert info["classes"] == 500, info["classes"]
    source = sum(f.stat().st_size for f in (corpus / "photos").rglob("*") if f.is_file())
    assert info["bytes"] <= 1.015 * source, (info["bytes"], source)
    assert command.images_per_s(path, "--batch", 64) > 0


def case_clothing(command, corpus):
    """Ten unbalanced classes; keep gives the files back."""
    check_order(command, corpus, "clothing")
    path, _ = command.pack(corpus / "clothing", "clothing_keep.stk", "--encode", "keep", "--threads", 2)
    out = command.scratch / "clothing_out"
    shutil.rmtree(out, ignore_errors=True)
    command.run("extract", path, out)
    for _, name in image_folder(corpus / "clothing"):
        assert filecmp.cmp(out / name, corpus / "clothing" / name, shallow=False), name
    page = json.loads(command.run("bench", "--json", "--seconds", 1, "--order", "page", "--batch", 64, path))
    assert page["classes_per_batch"] > 5 and page["classes_per_batch_exact"] > 5, page


def case_clothing_messy(command, corpus):
    """A real CSV: names without folder and extension, files missing on either side."""
    files = {f.stem: f.relative_to(corpus / "clothing") for f in (corpus / "clothing").rglob("*.jpg")}
    with open(corpus / "clothing_messy.csv", newline="", encoding="utf-8") as lines:
        table = list(csv.DictReader(lines))
    want = [(row["label"], str(files[row["image"]])) for row in table if row["image"] in files]
    missing = sum(row["image"] not in files for row in table)
    path, report = command.pack(None, "messy.stk", "--manifest", corpus / "clothing_messy.csv", "--root",
                                corpus / "clothing", exit_code=2 if missing else 0)
    info = json.loads(command.run("info", "--json", path))
    got = [(info["class_names"][int(row[1])], row[6]) for row in command.rows(path)]
    assert got == want, (len(got), len(want))
    assert report["missing"] == missing and report["records"] == len(want), report
    assert {"sender_id", "kids"} <= {column["name"] for column in info["columns"]}, info["columns"]
    with open(f"{path}.report.jsonl", encoding="utf-8") as lines:
        named = [row for row in map(json.loads, lines) if row.get("kind") == "missing"]
    assert len(named) == missing, (len(named), missing)


def case_tiny_nested(command, corpus):
    """class/images/*.JPEG with stray files between."""
    check_order(command, corpus, "tiny_nested")


def case_cifar10(command, corpus):
    """50,000 JPEGs of 32x32."""
    folder = unpack(corpus / "cifar10_jpeg.tar.zst", command.scratch)
    root = next(f.parent.parent for f in sorted(folder.rglob("*.jpg"))) if any(folder.rglob("*.jpg")) else folder
    want = image_folder(root)
    path, report = command.pack(root, "cifar10.stk", "--encode", "raw")
    assert report["records"] == len(want) == 50000 and report["skipped"] == 0, (report, len(want))
    assert [(int(r[1]), r[6]) for r in command.rows(path)] == want
    assert command.images_per_s(path, "--transform", "pad-crop", "--size", 32) > 0


def case_mnist(command, corpus):
    """10,000 grey PNGs, stored grey, delivered grey."""
    folder = unpack(corpus / "mnist_png.tar.zst", command.scratch)
    path, report = command.pack(folder, "mnist.stk", "--mode", "L")
    assert report["records"] == 10000 and report["skipped"] == 0, report
    rows = command.rows(path)
    assert {(row[2], row[3], row[4], row[5]) for row in rows} == {("28", "28", "raw", "784")}, rows[0]


def case_odd(command, corpus):
    """194 odd files: each becomes a record or a line in the report; nothing disappears."""
    path, report = command.pack(corpus / "odd", "odd.stk", exit_code=2)
    with open(corpus / "odd" / "MANIFEST.tsv", newline="", encoding="utf-8") as lines:
        expect = {row["file"]: row["expect"] for row in csv.DictReader(lines, delimiter="\t",
                                                                       quoting=csv.QUOTE_NONE)}
    with open(f"{path}.report.jsonl", encoding="utf-8") as lines:
        named = {row["path"]: row for row in map(json.loads, lines) if "path" in row}
    packed = {row[6] for row in command.rows(path)}
    wrong = [f"{name}: expected {what}, got {named.get(name, 'a record' if name in packed else 'nothing')}"
             for name, what in expect.items()
             if (what == "decode" and name not in packed) or (what in ("reject", "damaged") and name in packed)
             or (what != "skip" and name not in packed and name not in named)]
    assert not wrong, "\n".join(wrong)
    assert report["records"] == len(packed)
    command.run("verify", "--deep", path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    parser.add_argument("--scratch", required=True, type=pathlib.Path)
    parser.add_argument("--junit")
    args = parser.parse_args()
    cases = {name[5:]: function for name, function in globals().items() if name.startswith("case_")}
    corpus = os.environ.get("STOKER_CORPUS")
    args.scratch.mkdir(parents=True, exist_ok=True)
    command = Command(os.path.abspath(args.stoker), args.scratch.resolve())
    rows, failed = [], False
    for name, function in cases.items():
        start, verdict, text = time.monotonic(), "pass", ""
        if not corpus:
            verdict, text = "skip", "skipped: STOKER_CORPUS is not set"
        else:
            try:
                function(command, pathlib.Path(corpus))
            except Exception:
                verdict, text, failed = "fail", traceback.format_exc(), True
        print(f"{verdict} {name} ({time.monotonic() - start:.1f} s) {text}", flush=True)
        rows.append((name, verdict, text))
    if args.junit:
        with open(args.junit, "w", encoding="utf-8", errors="replace") as out:
            out.write("<testsuite name='corpus'>\n")
            for name, verdict, text in rows:
                tag = {"pass": "", "fail": "<failure>{}</failure>", "skip": "<skipped>{}</skipped>"}[verdict]
                out.write(f"<testcase name='{name}'>{tag.format(sax.escape(text))}</testcase>\n")
            out.write("</testsuite>\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
