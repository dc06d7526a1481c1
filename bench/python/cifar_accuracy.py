#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same training with stoker's batches and with torchvision's: accuracy and wall time, several seeds.

    python bench/python/cifar_accuracy.py cifar10.stk [--epochs 30] [--seeds 3] [--workers 16]

cifar10.stk holds verbatim JPEGs or raw images; torchvision reads them from a folder made of it. Prints one JSON
object.
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import stoker
import torch
import torchvision
from PIL import Image

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "python"))
import train_cifar


class Folder(torch.utils.data.Dataset):
    """Image files and labels, decoded by Pillow: ImageFolder without its scan."""

    def __init__(self, root: Path, dataset: stoker.Dataset, transform: object) -> None:
        self.paths = []
        assert dataset.labels is not None
        self.labels = dataset.labels.tolist()
        self.transform = transform
        for i in range(len(dataset)):
            data, extension = dataset.file(i)
            path = root / f"{dataset.ids[i]}.{extension}"
            path.write_bytes(data)
            self.paths.append(path)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, i: int) -> tuple[object, int]:
        image = Image.open(io.BytesIO(self.paths[i].read_bytes())).convert("RGB")
        return self.transform(image), self.labels[i]  # type: ignore[operator]


def quiet(*_: object, **__: object) -> None:
    """Says nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    train_cifar.arguments(parser)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--pipelines", nargs="+", default=["stoker", "torchvision"])
    args = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    dataset = stoker.open(args.data)
    training, held_out = train_cifar.split(dataset, args.hold_out)
    val = stoker.Loader(held_out, 1000, transform=stoker.Resize(32), device=args.device)
    t = torchvision.transforms
    compose = t.Compose([t.RandomCrop(32, padding=4), t.RandomHorizontalFlip(), t.PILToTensor()])
    results: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for pipeline in args.pipelines:
            accuracies, seconds = [], []
            files = Folder(Path(folder), training, compose) if pipeline == "torchvision" else None
            for seed in range(args.seeds):
                torch.manual_seed(seed)
                if files is not None:
                    loader = torch.utils.data.DataLoader(
                        files, args.batch_size, shuffle=True, num_workers=args.workers, pin_memory=True,
                        drop_last=True, persistent_workers=True,
                    )  # fmt: skip
                else:
                    loader = stoker.Loader(
                        training, args.batch_size, transform=stoker.PadCrop(32, 4), seed=seed, last="drop",
                        device=args.device,
                    )  # fmt: skip
                model = train_cifar.resnet18(len(dataset.classes), args.width)
                start = time.perf_counter()
                accuracies.append(
                    train_cifar.train(model, loader, val, len(held_out), args, say=lambda *_, **__: None)
                )
                seconds.append(time.perf_counter() - start)
                print(
                    f"{pipeline} seed {seed}: {accuracies[-1]:.4f} in {seconds[-1]:.1f} s",
                    file=sys.stderr,
                    flush=True,
                )
            results[pipeline] = {
                "accuracy": accuracies,
                "mean_accuracy": statistics.mean(accuracies),
                "seconds": seconds,
            }
    print(json.dumps(results))


if __name__ == "__main__":
    main()
