# SPDX-License-Identifier: Apache-2.0
"""ResNet-18 on CIFAR-10 or any other data set of small images.

    python train_cifar.py cifar10.stk [--epochs 30] [--hold-out 5000] [--device cuda] [--seed 0]

Crop with 4 pixels of padding and flip, SGD with Nesterov momentum, one-cycle learning rate, label smoothing,
channels_last, mixed precision on CUDA. Prints one line an epoch; the last one is the result.
"""

import argparse
import time

import numpy as np
import stoker
import torch
from torch import nn

MEAN, STD = [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]


class Block(nn.Module):
    def __init__(self, n_in, n_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(n_out)
        self.short = nn.Sequential()
        if stride != 1 or n_in != n_out:
            self.short = nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), nn.BatchNorm2d(n_out))

    def forward(self, x):
        y = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        return (y + self.short(x)).relu()


def resnet18(n_classes, width=64):
    layers = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)]
    n_in = width
    for n_out, stride in ((width, 1), (2 * width, 2), (4 * width, 2), (8 * width, 2)):
        layers += [Block(n_in, n_out, stride), Block(n_out, n_out, 1)]
        n_in = n_out
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(n_in, n_classes))


def split(dataset, hold_out, seed=0):
    """(training, held-out) selections; the same for every run of the same data set."""
    order = np.random.default_rng(seed).permutation(len(dataset))
    return dataset.select(np.sort(order[hold_out:])), dataset.select(np.sort(order[:hold_out]))


def normalised(images, device):
    """uint8 -> float on the device: a quarter of the bytes travel."""
    mean = torch.tensor(MEAN, device=device)[:, None, None] * 255
    std = torch.tensor(STD, device=device)[:, None, None] * 255
    return ((images.to(device).float() - mean) / std).contiguous(memory_format=torch.channels_last)


def accuracy(model, loader, n_images, device):
    model.eval()
    right = 0
    with torch.no_grad():
        for images, labels in loader:
            right += int((model(normalised(images, device)).argmax(1) == labels.to(device)).sum())
    return right / n_images


def train(model, loader, val, n_val, args, say=print):
    """Trains model in place; loader and val give (uint8 images NCHW, labels). Returns the last accuracy."""
    device = torch.device(args.device)
    model = model.to(device, memory_format=torch.channels_last)
    decay = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.SGD(
        [{"params": decay, "weight_decay": 5e-4}, {"params": rest}], lr=args.lr, momentum=0.9, nesterov=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epochs * len(loader))
    loss_function = nn.CrossEntropyLoss(label_smoothing=0.1)
    mixed = device.type == "cuda"
    scaler = torch.amp.GradScaler(device.type, enabled=mixed)
    result = 0.0
    start = time.perf_counter()
    for epoch in range(args.epochs):
        model.train()
        for images, labels in loader:
            with torch.autocast(device.type, dtype=torch.float16 if mixed else torch.bfloat16, enabled=mixed):
                loss = loss_function(model(normalised(images, device)), labels.to(device))
            optimizer.zero_grad(set_to_none=True)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
        result = accuracy(model, val, n_val, device)
        rate = (epoch + 1) * len(loader) * args.batch_size / (time.perf_counter() - start)
        say(f"epoch {epoch + 1:3}  {rate:9,.0f} images/s  held-out accuracy {result:.4f}", flush=True)
    return result


def arguments(parser):
    parser.add_argument("data")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--lr", type=float, default=0.4)
    parser.add_argument("--hold-out", type=int, default=5000)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return parser


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments(parser).add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.backends.cudnn.benchmark = True
    dataset = stoker.open(args.data)
    training, held_out = split(dataset, args.hold_out)
    loader = stoker.Loader(
        training, args.batch_size, transform=stoker.PadCrop(32, 4), seed=args.seed, last="drop", device=args.device
    )
    val = stoker.Loader(held_out, 1000, transform=stoker.Resize(32), device=args.device)
    n_classes = len(dataset.classes) or int(dataset.labels.max()) + 1
    train(resnet18(n_classes, args.width), loader, val, len(held_out), args)


if __name__ == "__main__":
    main()
