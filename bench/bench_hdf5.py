#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HDF5 side by side: stoker over .h5 and .stk, h5py in the ways that people use it. All in one process tree, taken
in turns, warm page cache; the best of the rounds counts, since other work on the machine only ever slows.

    bench_hdf5.py FOLDER [--images 8192] [--rounds 5] [--seconds 2] [--only TEXT] [--json]

FOLDER is for the files made (about 3.5 GB with 8192 images). Needs numpy, h5py, stoker, and torch for the
DataLoader. Pixels are smooth noise, so that gzip finds about what it finds in photographs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import h5py
import numpy as np
import stoker

SIDE, BATCH = 224, 256
WORKERS = os.cpu_count() or 1


def make(folder: Path, n: int) -> dict[str, Path]:
    """The same pixels four times: by stoker .stk and .h5, by h5py gzip with guessed and with sensible chunks."""
    paths = {k: folder / f"{k}-{n}" for k in ("images", "raw.stk", "raw.h5", "guessed.h5", "gzip.h5")}
    if not paths["gzip.h5"].exists():
        rng = np.random.default_rng(0)
        base = rng.integers(0, 256, (64, SIDE // 8, SIDE // 8, 3), np.uint8)
        big = np.repeat(np.repeat(base, 8, axis=1), 8, axis=2)
        source = paths["images"] / "a"
        source.mkdir(parents=True, exist_ok=True)
        header = b"P6 %d %d 255\n" % (SIDE, SIDE)
        for i in range(n):
            picture = big[i % 64] + rng.integers(0, 8, big[0].shape, np.uint8)
            (source / f"{i:06}.ppm").write_bytes(header + picture.tobytes())
        for kind in ("raw.stk", "raw.h5"):
            start = time.perf_counter()
            stoker.pack(
                paths["images"], paths[kind], encode="raw", format=kind[4:].replace("h5", "hdf5"), force=True
            )
            print(f"pack {kind}: {n / (time.perf_counter() - start):.0f} images/s", flush=True)
        with h5py.File(paths["raw.h5"]) as f:
            few = min(n, 4096)
            for kind, chunks in (("guessed.h5", True), ("gzip.h5", (8, SIDE, SIDE, 3))):
                with h5py.File(paths[kind], "w") as g:
                    g.create_dataset(
                        "images", data=f["images"][:few], chunks=chunks, compression="gzip", compression_opts=4
                    )
                    g["labels"] = np.arange(few) % 10
    return paths


def stoker_batches(path: Path, order: str) -> Iterator[int]:
    loader = stoker.Loader(stoker.open(path), batch_size=BATCH, order=order, seed=1, num_workers=os.cpu_count())
    while True:
        for images, _ in loader:
            yield len(images)


def h5py_sorted(path: Path) -> Iterator[int]:
    with h5py.File(path) as f:
        d, rng = f["images"], np.random.default_rng(0)
        while True:
            order = rng.permutation(len(d))
            for i in range(0, len(order) - BATCH + 1, BATCH):
                yield len(d[np.sort(order[i : i + BATCH])])


def torch_loader(path: Path, batch: int = BATCH) -> Iterator[int]:
    import torch.utils.data

    class Images(torch.utils.data.Dataset):  # the textbook recipe: opened in the worker, one index at a time
        def __init__(self) -> None:
            self.file = None
            with h5py.File(path) as f:
                self.n = len(f["images"])

        def __len__(self) -> int:
            return self.n

        def __getitem__(self, i: int) -> np.ndarray:
            if self.file is None:
                self.file = h5py.File(path)["images"]
            return self.file[i]

    loader = torch.utils.data.DataLoader(
        Images(), batch_size=batch, shuffle=True, num_workers=WORKERS, prefetch_factor=2, persistent_workers=True
    )
    while True:
        for images in loader:
            yield len(images)


def h5py_two_threads(path: Path) -> Iterator[int]:
    """Two threads, as stoker has here, each with a file handle of its own, reading slices in order."""
    with h5py.File(path) as f:
        n = len(f["images"])
    lock, done, at = threading.Condition(), [0], [0]
    stop = threading.Event()

    def work() -> None:
        with h5py.File(path) as f:
            d = f["images"]
            while not stop.is_set():
                with lock:
                    i = at[0]
                    at[0] = (i + 64) % (n - n % 64)
                got = len(d[i : i + 64])
                with lock:
                    done[0] += got
                    lock.notify()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
    for t in threads:
        t.start()
    try:
        while True:
            with lock:
                while done[0] == 0:
                    lock.wait()
                got, done[0] = done[0], 0
            yield got
    finally:
        stop.set()
        for t in threads:
            t.join()


def rate(make_batches: Callable[[], Iterator[int]], seconds: float) -> float:
    """Images a second. What was made ahead before the clock started is taken first, and whole turns of a
    DataLoader's workers are counted, since these end their batches together."""
    batches = make_batches()
    for _ in range(2 * WORKERS + 1):
        next(batches)
    n = count = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds or count % WORKERS != 0:
        n += next(batches)
        count += 1
    speed = n / (time.perf_counter() - start)
    batches.close()  # type: ignore[attr-defined]
    return speed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--only", action="append", help="rows whose name holds this text; may be repeated")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    paths = make(args.folder, args.images)
    rows: dict[str, Callable[[], Iterator[int]]] = {
        "random: stoker .stk raw": lambda: stoker_batches(paths["raw.stk"], "shuffle"),
        "random: stoker .h5": lambda: stoker_batches(paths["raw.h5"], "shuffle"),
        "random: h5py sorted fancy indexing": lambda: h5py_sorted(paths["raw.h5"]),
        "random: h5py + torch DataLoader": lambda: torch_loader(paths["raw.h5"]),
        "gzip, in order: stoker": lambda: stoker_batches(paths["gzip.h5"], "sequential"),
        "gzip, in order: h5py two threads": lambda: h5py_two_threads(paths["gzip.h5"]),
        "gzip, page order: stoker": lambda: stoker_batches(paths["gzip.h5"], "page"),
        "gzip, random: stoker": lambda: stoker_batches(paths["gzip.h5"], "shuffle"),
        "gzip, random: h5py sorted fancy indexing": lambda: h5py_sorted(paths["gzip.h5"]),
        "gzip guessed chunks, random: stoker": lambda: stoker_batches(paths["guessed.h5"], "shuffle"),
        "gzip guessed chunks, random: h5py + torch DataLoader": lambda: torch_loader(paths["guessed.h5"], 16),
    }
    if args.only:
        rows = {name: row for name, row in rows.items() if any(text in name for text in args.only)}
    best: dict[str, float] = {}
    for _ in range(args.rounds):
        for name, batches in rows.items():
            speed = rate(batches, args.seconds)
            best[name] = max(best.get(name, 0), speed)
            print(f"{speed:9.0f}  {name}", file=sys.stderr, flush=True)
    if args.json:
        print(json.dumps({"images_per_s": best, "cpus": os.cpu_count(), "h5py": h5py.version.version}))
        return
    for name, speed in best.items():
        print(f"{speed:9.0f} images/s  {name}")


main()
