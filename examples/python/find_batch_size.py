# SPDX-License-Identifier: Apache-2.0
"""The largest batch that fits: doubles until memory runs out, then bisects. A few training steps a try.

    python find_batch_size.py --model resnet50 --size 224 [--device cuda] [--limit 4096]

Only running out of memory counts as "too large"; any other error is shown as it is. Prints, for each try, the
memory measured and an estimate: weights, gradients and momentum, and what autograd keeps for the backward pass,
counted at batch sizes 1 and 2. Ends with the answer rounded down to a multiple of 8. On the CPU nothing is
measured, and --limit-bytes, compared with the estimate, stands in for a smaller GPU.
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


def training_step(model, optimizer, batch_size, size, device):
    images = torch.rand(batch_size, 3, size, size, device=device).contiguous(memory_format=torch.channels_last)
    labels = torch.zeros(batch_size, dtype=torch.long, device=device)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def new_optimizer(model):
    return torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)


def kept_bytes(model, batch_size, size, device):
    """What autograd keeps of one forward pass for the backward pass; memory shared by several tensors once."""
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = (storage.nbytes(), tensor)  # the tensor, so that its address stays taken
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        training_step(model, new_optimizer(model), batch_size, size, device)
    own = {p.untyped_storage().data_ptr() for p in model.parameters()}
    return sum(n_bytes for address, (n_bytes, _) in kept.items() if address not in own)


def estimator(make_model, size, device):
    """A function from batch size to estimated bytes."""
    model = make_model().to(device, memory_format=torch.channels_last)
    weights = sum(p.nbytes for p in model.parameters())
    one, two = (kept_bytes(model, n, size, device) for n in (1, 2))
    return lambda n: 3 * weights + one + (n - 1) * (two - one)


def try_batch(make_model, batch_size, size, device, steps=3):
    """Peak bytes of a few training steps (0 on the CPU, where nobody counts); None when memory ran out."""
    model = optimizer = None
    try:
        if device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(device)
        model = make_model().to(device, memory_format=torch.channels_last)
        optimizer = new_optimizer(model)
        for _ in range(steps):
            training_step(model, optimizer, batch_size, size, device)
        return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else 0
    except (RuntimeError, MemoryError) as error:
        if not isinstance(error, MemoryError) and not out_of_memory(error):
            raise
        return None
    finally:
        del model, optimizer
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()


def find(attempt, limit):
    """The largest n <= limit for which attempt(n) is not None, to 3 %: doubling, then bisecting."""
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

    def make_model():
        return torchvision.models.get_model(args.model)

    estimate = estimator(make_model, args.size, device)

    def attempt(n):
        expected = estimate(n)
        fits = args.limit_bytes is None or expected <= args.limit_bytes
        peak = try_batch(make_model, n, args.size, device) if fits else None
        measured = "too large" if peak is None else f"measured {peak / 2**20:,.0f} MiB" if peak else "fits"
        print(f"  batch {n:5}: estimated {expected / 2**20:,.0f} MiB, {measured}", flush=True)
        return peak

    best = find(attempt, args.limit)
    if best == 0:
        raise SystemExit("not even one image fits")
    print(f"largest batch size: {best // 8 * 8 if best >= 8 else best}")


if __name__ == "__main__":
    main()
