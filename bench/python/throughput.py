#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images a second out of a packed data set, from Python.

    python bench/python/throughput.py DATA.stk [--transform train|padcrop|eval] [--size 224] [--batch-size 256]
                                      [--threads N] [--seconds 5] [--device none|cpu] [--dtype uint8] [--json]

Whole epochs, the first one not counted; the median of the epochs is printed, and the time to the first batch
from the process's start and from the opening.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

PROCESS_START = time.perf_counter()

import stoker  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--transform", choices=["train", "padcrop", "eval"], default="train")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--device", choices=["none", "cpu"], default="none")
    parser.add_argument("--dtype", default="uint8")
    parser.add_argument("--verify", default="first")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    make = {"train": stoker.Train, "padcrop": stoker.PadCrop, "eval": stoker.Eval}[args.transform]
    opening = time.perf_counter()
    dataset = stoker.open(args.data, verify=args.verify)
    loader = stoker.Loader(
        dataset,
        args.batch_size,
        shuffle=True,
        transform=make(args.size),
        num_threads=args.threads,
        device=None if args.device == "none" else args.device,
        dtype=args.dtype,
    )
    next(iter(loader))
    first = time.perf_counter()
    for _batch in loader:  # every record's checksum has been compared after this
        del _batch  # a batch held through the measurement would make the loader take more memory
    rates = []
    start = time.perf_counter()
    while not rates or time.perf_counter() - start < args.seconds:
        begin, n = time.perf_counter(), 0
        for images, _labels in loader:
            n += len(images)
        rates.append(n / (time.perf_counter() - begin))
    results = {
        "images_per_s": statistics.median(rates),
        "epochs": len(rates),
        "threads": loader.stats()["n_threads"],
        "cpu": stoker.cpu(),
        "first_batch_ms": (first - opening) * 1000,
        "first_batch_with_import_ms": (first - PROCESS_START) * 1000,
    }
    if args.json:
        print(json.dumps(results))
    else:
        print(f"{results['images_per_s']:,.0f} images/s, {results['threads']} threads, {results['cpu']}")
        first_ms, all_ms = results["first_batch_ms"], results["first_batch_with_import_ms"]
        print(f"first batch {first_ms:.0f} ms, import included {all_ms:.0f} ms")


if __name__ == "__main__":
    main()
