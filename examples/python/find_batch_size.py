# SPDX-License-Identifier: Apache-2.0
"""The largest batch that fits: doubles until memory runs out, then bisects. A few training steps a try.

    python find_batch_size.py --model resnet50 --size 224 [--device cuda] [--limit 4096]

Only running out of memory counts as "too large"; any other error is shown as it is. Prints what each try used,
an estimate from a straight line through the first two, and the answer rounded down to a multiple of 8.
"""

import argparse
import gc

import torch
import torchvision
from torch import nn


def out_of_memory(error):
    """torch.cuda.OutOfMemoryError, or what older versions and the CPU allocator raise instead."""
    kind = getattr(torch.cuda, "OutOfMemoryError", ())
    text = str(error)
    return (kind and isinstance(error, kind)) or "out of memory" in text or "can't allocate memory" in text


def try_batch(make_model, batch_size, size, device, steps=3, limit_bytes=None):
    """Peak bytes of a few training steps; None when memory ran out. limit_bytes stands in for a smaller GPU."""
    model = optimizer = images = loss = None
    try:
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        if limit_bytes is not None and 3 * 4 * batch_size * size * size * 10 > limit_bytes:
            raise RuntimeError("out of memory (limit set by --limit-bytes)")
        model = make_model().to(device, memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        for _ in range(steps):
            images = torch.rand(batch_size, 3, size, size, device=device).contiguous(
                memory_format=torch.channels_last
            )
            with torch.autocast(device.type, dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(
                    model(images), torch.zeros(batch_size, dtype=torch.long, device=device)
                )
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0
    except (RuntimeError, MemoryError) as error:
        if not isinstance(error, MemoryError) and not out_of_memory(error):
            raise
        return None
    finally:
        del model, optimizer, images, loss
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()


def find(attempt, limit):
    """The largest n <= limit for which attempt(n) is not None: doubling, then bisecting."""
    good, bad, n = 0, limit + 1, 1
    while n <= limit:
        if attempt(n) is None:
            bad = n
            break
        good, n = n, n * 2
    while bad - good > max(1, good // 32):
        middle = (good + bad) // 2
        if attempt(middle) is None:
            bad = middle
        else:
            good = middle
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--limit", type=int, default=4096)
    parser.add_argument("--limit-bytes", type=int, default=None, help="pretend that the device has only this much")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    device = torch.device(args.device)
    used = {}

    def attempt(n):
        peak = try_batch(
            lambda: torchvision.models.get_model(args.model), n, args.size, device, limit_bytes=args.limit_bytes
        )
        print(f"  batch {n:5}: " + ("too large" if peak is None else f"{peak / 2**30:.2f} GiB"), flush=True)
        if peak is not None:
            used[n] = peak
        return peak

    best = find(attempt, args.limit)
    if device.type == "cuda" and len(used) >= 2:
        (a, x), (b, y) = sorted(used.items())[:2]
        slope = max(1.0, (y - x) / (b - a))
        total = torch.cuda.get_device_properties(device).total_memory
        print(f"estimate from the first two tries: {int((total - x) / slope) + a}")
    print(f"largest batch size: {best // 8 * 8 if best >= 8 else best}")


if __name__ == "__main__":
    main()
