# SPDX-License-Identifier: Apache-2.0
"""One model on two devices: its first half on one, the second on the other. For models too large for one GPU.

    python model_parallel.py train.stk [--devices cuda:0 cuda:1] [--micro-batches 4] [--steps 100]

A batch is cut into micro-batches, so that the first device works on the next one while the second device works
on the one before: on GPUs the kernels of the two run side by side, since none of these calls waits for them. Where
the model fits on one GPU, train_imagenet.py under torchrun uses two GPUs better. Prints the loss and where it was
computed. Without two GPUs both halves run on the CPU.
"""

import argparse
import itertools

import stoker
import torch
import torchvision
from torch import nn


class TwoHalves(nn.Module):
    """A ResNet cut after its second stage."""

    def __init__(self, name, n_classes, devices):
        super().__init__()
        r = torchvision.models.get_model(name, num_classes=n_classes)
        self.first = nn.Sequential(r.conv1, r.bn1, r.relu, r.maxpool, r.layer1, r.layer2).to(devices[0])
        self.second = nn.Sequential(r.layer3, r.layer4, r.avgpool, nn.Flatten(), r.fc).to(devices[1])
        self.devices = devices

    def forward(self, images):
        return self.second(self.first(images.to(self.devices[0])).to(self.devices[1]))


def training_step(model, optimizer, images, labels, n_micro):
    """One update from one batch; gradients of the micro-batches add up. Returns the mean loss, a tensor."""
    total = 0.0
    parts = list(zip(images.chunk(n_micro), labels.chunk(n_micro)))
    for some_images, some_labels in parts:
        scores = model(some_images)
        share = len(some_images) / len(images)
        loss = nn.functional.cross_entropy(scores, some_labels.to(scores.device)) * share
        loss.backward()
        total = total + loss.detach()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    two_gpus = torch.cuda.is_available() and torch.cuda.device_count() > 1
    parser.add_argument("data")
    parser.add_argument("--model", default="resnet50", help="a ResNet of torchvision")
    parser.add_argument("--devices", nargs=2, default=["cuda:0", "cuda:1"] if two_gpus else ["cpu", "cpu"])
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--micro-batches", type=int, default=4)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    devices = [torch.device(name) for name in args.devices]
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    loader = stoker.Loader(
        stoker.open(args.data), args.batch_size, transform=stoker.Train(args.size), dtype="float32", last="drop",
        channels_last=True, device=devices[0],
    )  # fmt: skip
    model = TwoHalves(args.model, len(loader.dataset.classes) or 1000, devices)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    epochs = itertools.chain.from_iterable(itertools.repeat(loader))
    for step, (images, labels) in enumerate(itertools.islice(epochs, args.steps), 1):
        loss = training_step(model, optimizer, images, labels, args.micro_batches)
        if step % 20 == 0 or step == args.steps:
            print(f"step {step:4}  loss {loss.item():.4f} on {loss.device}, first half on {devices[0]}")


if __name__ == "__main__":
    main()
