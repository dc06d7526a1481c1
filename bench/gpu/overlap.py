#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of stoker's work on the GPU lies beside the training's, from a trace of torch.profiler.

    overlap.py TRACE.json        a trace as torch.profiler's export_chrome_trace writes it

train_resnet.py --trace FILE makes such a trace. One JSON object: time of stoker's kernels and copies, the share
of it in which a kernel of another stream ran as well, and the share of the whole in which any kernel ran.
"""
import json
import sys

OURS = ("stk::",)


def merged(spans):
    out = []
    for begin, end in sorted(spans):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return out


def length(spans):
    return sum(end - begin for begin, end in spans)


def common(a, b):
    total = i = k = 0
    while i < len(a) and k < len(b):
        total += max(0, min(a[i][1], b[k][1]) - max(a[i][0], b[k][0]))
        if a[i][1] < b[k][1]:
            i += 1
        else:
            k += 1
    return total


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    kernels = [e for e in events if e.get("cat") == "kernel"]
    copies = [e for e in events if e.get("cat") == "gpu_memcpy" and "HtoD" in e.get("name", "")]
    span = lambda e: (e["ts"], e["ts"] + e["dur"])  # noqa: E731
    ours = merged(span(e) for e in kernels if any(word in e["name"] for word in OURS))
    others = merged(span(e) for e in kernels if not any(word in e["name"] for word in OURS))
    upload = merged(span(e) for e in copies)
    every = merged([*map(tuple, ours), *map(tuple, others)])
    whole = every[-1][1] - every[0][0] if every else 0
    print(json.dumps({
        "stoker_kernels_ms": round(length(ours) / 1e3, 3),
        "beside_others": round(common(ours, others) / length(ours), 4) if ours else None,
        "uploads_ms": round(length(upload) / 1e3, 3),
        "uploads_beside_kernels": round(common(upload, every) / length(upload), 4) if upload else None,
        "gpu_busy": round(length(every) / whole, 4) if whole else None,
        "streams": sorted({str(e["args"].get("stream")) for e in kernels}),
    }))


if __name__ == "__main__":
    main()
