# SPDX-License-Identifier: Apache-2.0
"""The same loop with torch's DataLoader over a folder, and with stoker: two lines change.

    python from_dataloader.py photos/ [--seconds 10] [--batch-size 64]

Packs photos/ (class folders) into photos.stk beside it on first use, then prints the images/s of both.
"""

import argparse
import time
from pathlib import Path

import stoker
import torch
import torchvision


def transform():
    t = torchvision.transforms
    return t.Compose(
        [
            t.RandomResizedCrop(224),
            t.RandomHorizontalFlip(),
            t.ToTensor(),
            t.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        ]
    )


def before(folder, batch_size):
    dataset = torchvision.datasets.ImageFolder(folder, transform())
    return torch.utils.data.DataLoader(
        dataset, batch_size=batch_size, shuffle=True, num_workers=stoker.usable_threads()
    )


def after(folder, batch_size):
    dataset = stoker.open(f"{folder}.stk")
    return stoker.Loader(
        dataset, batch_size=batch_size, shuffle=True, transform=stoker.from_torchvision(transform())
    )


def images_per_second(loader, seconds):
    """Whole epochs until the time is up; the first batch, which starts the workers, does not count."""
    iterator = iter(loader)
    next(iterator, None)
    start, n = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        for images, _labels in iterator:
            n += len(images)
            if time.perf_counter() - start >= seconds:
                break
        else:
            iterator = iter(loader)
    return n / (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--batch-size", type=int, default=64)
    args = parser.parse_args()
    packed = Path(f"{args.folder}.stk")
    if not packed.exists():
        report = stoker.pack(args.folder, packed)
        print(f"packed {report.records} images, {report.skipped} skipped")
    for name, make in (("DataLoader", before), ("stoker", after)):
        rate = images_per_second(make(args.folder, args.batch_size), args.seconds)
        print(f"{name:12} {rate:10,.0f} images/s")


if __name__ == "__main__":
    main()
