#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images a second of one loader in one process; called by run.sh, which pins it to a core.

    measure.py {stoker|ffcv|torchvision|pil} FOLDER WORK [--threads N] [--seconds S] [--stretches N]

RandomResizedCrop(224) + horizontal flip -> uint8 batches of 64, decoded images never cached. FOLDER: class folders of
JPEGs. WORK: where the packed copies go. Prints one JSON line: best and all stretches."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

BATCH = 64
SIZE = 224


def forever(make: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    while True:
        yield from make()


def stoker_batches(folder: Path, work: Path, threads: int) -> Iterator[Any]:
    import stoker

    path = work / "peer.stk"
    if not path.exists():
        stoker.pack(folder, path, encode="tiles")
    loader = stoker.Loader(
        stoker.open(path), batch_size=BATCH, transform=stoker.Train(SIZE), shuffle=True, num_threads=threads, last="drop"
    )
    return forever(lambda: iter(loader))


def ffcv_batches(folder: Path, work: Path, threads: int) -> Iterator[Any]:
    """FFCV's ImageNet recipe; its writer re-encodes every JPEG (quality 90), so its input is easier than the others'."""
    from ffcv.fields import IntField, RGBImageField
    from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import RandomHorizontalFlip, ToTensor
    from ffcv.writer import DatasetWriter
    from torchvision.datasets import ImageFolder

    path = work / "peer.beton"
    if not path.exists():
        fields = {"image": RGBImageField(write_mode="jpg", max_resolution=None, jpeg_quality=90), "label": IntField()}
        DatasetWriter(str(path), fields, num_workers=2).from_indexed_dataset(ImageFolder(str(folder)))
    pipelines = {
        "image": [RandomResizedCropRGBImageDecoder((SIZE, SIZE)), RandomHorizontalFlip(), ToTensor()],
        "label": [IntDecoder(), ToTensor()],
    }
    loader = Loader(
        str(path), batch_size=BATCH, num_workers=threads, order=OrderOption.RANDOM, os_cache=True, pipelines=pipelines, drop_last=True
    )
    return forever(lambda: iter(loader))


def torch_batches(folder: Path, threads: int, pil: bool) -> Iterator[Any]:
    import torch
    from torchvision.datasets import ImageFolder
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    steps = [v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip()]
    if pil:
        data = ImageFolder(str(folder), v2.Compose([*steps, v2.ToImage()]))
    else:
        data = ImageFolder(str(folder), v2.Compose(steps), loader=lambda p: decode_jpeg(read_file(p), ImageReadMode.RGB))
    # One worker costs more than it brings on one core (it shares it with the consumer): 0 there, else one a core.
    workers = 0 if threads == 1 else threads
    loader = torch.utils.data.DataLoader(
        data, BATCH, shuffle=True, num_workers=workers, drop_last=True, persistent_workers=workers > 0
    )
    return forever(lambda: iter(loader))


def main() -> None:
    p = argparse.ArgumentParser()
    p.add_argument("peer", choices=["stoker", "ffcv", "torchvision", "pil"])
    p.add_argument("folder", type=Path)
    p.add_argument("work", type=Path)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--seconds", type=float, default=6)
    p.add_argument("--stretches", type=int, default=3)
    a = p.parse_args()
    if a.peer == "stoker":
        batches = stoker_batches(a.folder, a.work, a.threads)
    elif a.peer == "ffcv":
        batches = ffcv_batches(a.folder, a.work, a.threads)
    else:
        batches = torch_batches(a.folder, a.threads, a.peer == "pil")
    begin = time.monotonic()
    while time.monotonic() - begin < 2:
        next(batches)
    rates = []
    for _ in range(a.stretches):
        n, begin = 0, time.monotonic()
        while time.monotonic() - begin < a.seconds:
            n += len(next(batches)[0])
        rates.append(round(n / (time.monotonic() - begin)))
    print(json.dumps({"peer": a.peer, "threads": a.threads, "best": max(rates), "stretches": rates}))
    sys.stdout.flush()
    os._exit(0)  # some peers do not end by themselves


main()
