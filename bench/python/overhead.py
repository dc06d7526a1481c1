#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Python adds: CPU time of the consuming thread a batch, the gap between epochs, the time of an import.

    python bench/python/overhead.py [--batches 2000] [--json]

Makes its own data (20,000 raw images of 8x8), so that the pixels' work is as small as it gets. Times are the
consuming thread's CPU time (waiting for workers does not count) unless they are called wall times.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import stoker


def make_data(folder: Path) -> Path:
    """20,000 records out of 200 files: the manifest names each one a hundred times."""
    for i in range(200):
        pixels = bytes((i * 7 + k * 13) % 256 for k in range(192))
        (folder / f"{i}.ppm").write_bytes(b"P6 8 8 255\n" + pixels)
    lines = ["image,label"] + [f"{i % 200}.ppm,{i % 10}" for i in range(20000)]
    (folder / "images.csv").write_text("\n".join(lines) + "\n")
    report = stoker.pack(folder / "images.csv", folder / "data.stk", encode="raw", check="header")
    assert report.records == 20000, report
    return folder / "data.stk"


def per_batch(path: Path, batches: int, **options: object) -> float:
    """Microseconds of the consuming thread's CPU time a batch, median of 5 runs."""
    loader = stoker.Loader(stoker.open(path), 32, shuffle=True, **options)
    runs = []
    for _ in range(5):
        done = 0
        start = time.thread_time_ns()
        while done < batches:
            for _batch in loader:
                done += 1
                if done == batches:
                    break
        runs.append((time.thread_time_ns() - start) / batches / 1000)
    return statistics.median(runs)


def epoch_gap(path: Path) -> float:
    """Milliseconds of wall time from an epoch's end to the next one's first batch, median of 20."""
    loader = stoker.Loader(stoker.open(path), 256, shuffle=True)
    gaps = []
    for _ in range(20):
        for _batch in loader:
            pass
        start = time.perf_counter()
        next(iter(loader))
        gaps.append((time.perf_counter() - start) * 1000)
    return statistics.median(gaps)


IMPORTS = {
    "import_numpy_cpu_ms": "import numpy",
    "import_stoker_cpu_ms": "import stoker",
    "import_and_use_cpu_ms": "import stoker; stoker.open; stoker.Loader; stoker.Train",
    "import_use_and_numpy_cpu_ms": "import stoker, numpy; stoker.open; stoker.Loader; stoker.Train",
}


def process_milliseconds(code: str) -> float:
    """CPU milliseconds of a process, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def imports(rounds: int = 15) -> dict[str, float]:
    """What each of IMPORTS takes beyond a bare Python: lowest, median and highest of rounds in which all run in
    turn, so that the machine's other work meets all alike."""
    times: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for _ in range(rounds):
        bare = process_milliseconds("pass")
        for name, code in IMPORTS.items():
            times[name].append(process_milliseconds(code) - bare)
    results: dict[str, float] = {}
    for name, values in times.items():
        results[name] = statistics.median(values)
        results[f"{name}_low"], results[f"{name}_high"] = min(values), max(values)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=2000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    results: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = make_data(Path(folder))
        results["numpy_us_a_batch"] = per_batch(path, args.batches)
        results["dict_us_a_batch"] = per_batch(path, args.batches, columns=[])
        try:
            import torch  # noqa: F401

            results["torch_us_a_batch"] = per_batch(path, args.batches, device="cpu")
        except ImportError:
            pass
        results["epoch_gap_ms"] = epoch_gap(path)
    results.update(imports())
    if args.json:
        print(json.dumps(results))
    else:
        for name, value in results.items():
            print(f"{name:32} {value:8.2f}")


if __name__ == "__main__":
    main()
