# SPDX-License-Identifier: Apache-2.0
"""Trains a torchvision model on a packed data set, on one GPU or many, and goes on where it was stopped.

    python train_imagenet.py train.stk val.stk --model resnet50
    torchrun --nproc-per-node 4 train_imagenet.py train.stk val.stk --resume checkpoint.pt

What a good recipe has, each part a few lines: mixed precision (bf16, or fp16 with a GradScaler), channels_last,
gradient accumulation, an averaged model (EMA), cosine learning rate with warm-up, label smoothing, checkpoints
that hold the loader's position, DistributedDataParallel. The rank is found by itself. Needs torch 2.3 or newer.
On a GPU the images are decoded there; they come as uint8 and are normalised by the model's first layer.
"""

import argparse
import contextlib
import os
import time

import stoker
import torch
import torchvision
from torch import nn


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train")
    parser.add_argument("val")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch-size", type=int, default=256, help="images a step and GPU")
    parser.add_argument("--accumulate", type=int, default=1, help="batches whose gradients are added up")
    parser.add_argument("--lr", type=float, default=0.5)
    parser.add_argument("--weight-decay", type=float, default=5e-5)
    parser.add_argument("--warmup", type=int, default=5, help="epochs")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--precision", choices=["bf16", "fp16", "fp32"], default="bf16")
    parser.add_argument("--ema", type=float, default=0.0, help="decay of the averaged model; 0: none")
    parser.add_argument("--checkpoint", default="checkpoint.pt")
    parser.add_argument("--checkpoint-steps", type=int, default=1000)
    parser.add_argument("--resume", default="", help="a checkpoint to go on from")
    parser.add_argument("--max-steps", type=int, default=0, help="stop after this many batches; 0: never")
    parser.add_argument(
        "--stage", default=None, help="auto or a folder: read from a copy on a fast disk or in memory"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return parser.parse_args()


def start_distributed(args):
    """(device, rank, world); torchrun sets the environment."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    device = torch.device(args.device)
    if world > 1:
        torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
        if device.type == "cuda":
            device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
            torch.cuda.set_device(device)
    return device, int(os.environ.get("RANK", "0")), world


class Normalise(nn.Module):
    """uint8 -> float on the device, as the first layer: a quarter of the bytes travel."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", 255 * torch.tensor([0.485, 0.456, 0.406])[:, None, None])
        self.register_buffer("std", 255 * torch.tensor([0.229, 0.224, 0.225])[:, None, None])

    def forward(self, images):
        return ((images.float() - self.mean) / self.std).contiguous(memory_format=torch.channels_last)


def learning_rate(args, step, steps_an_epoch):
    """Linear warm-up, then half a cosine."""
    epoch = step / steps_an_epoch
    if epoch < args.warmup:
        return args.lr * (epoch + 1e-3) / args.warmup
    share = (epoch - args.warmup) / max(1, args.epochs - args.warmup)
    return args.lr * 0.5 * (1 + torch.cos(torch.tensor(min(share, 1.0) * torch.pi)).item())


def evaluate(model, loader, device, autocast):
    """Top-1 accuracy over all ranks."""
    model.eval()
    count = torch.zeros(2, device=device)
    with torch.no_grad(), autocast():
        for images, labels in loader:
            n = loader.batch.n_valid
            right = model(images.to(device))[:n].argmax(1) == labels[:n].to(device)
            count += torch.tensor([int(right.sum()), n], device=device)
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.all_reduce(count)
    model.train()
    return (count[0] / count[1]).item()


def main():
    args = arguments()
    device, rank, world = start_distributed(args)
    torch.manual_seed(args.seed)
    torch.backends.cudnn.benchmark = True  # every batch has the same shape: last="drop"
    torch.set_float32_matmul_precision("high")

    train_set, val_set = stoker.open(args.train, stage=args.stage), stoker.open(args.val, stage=args.stage)
    train = stoker.Loader(
        train_set, args.batch_size, transform=stoker.Train(args.size), seed=args.seed, last="drop", device=device
    )
    val = stoker.Loader(val_set, args.batch_size, transform=stoker.Eval(args.size), last="pad", device=device)
    n_classes = len(train.dataset.classes) or int(train.dataset.labels.max()) + 1
    network = torchvision.models.get_model(args.model, num_classes=n_classes)
    bare = nn.Sequential(Normalise(), network).to(device, memory_format=torch.channels_last)
    model = bare  # checkpoints hold bare's state, which fits any number of GPUs
    if world > 1:
        model = nn.parallel.DistributedDataParallel(
            bare, device_ids=[device.index] if device.index is not None else None
        )
    averaged = None
    if args.ema:
        averaged = torch.optim.swa_utils.AveragedModel(
            bare, avg_fn=lambda old, new, _n: args.ema * old + (1 - args.ema) * new, use_buffers=True
        )
    optimizer = torch.optim.SGD(
        model.parameters(), args.lr, momentum=0.9, nesterov=True, weight_decay=args.weight_decay
    )
    scaler = torch.amp.GradScaler(device.type, enabled=args.precision == "fp16")
    loss_function = nn.CrossEntropyLoss(label_smoothing=0.1)
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": None}[args.precision]

    def autocast():
        return torch.autocast(device.type, dtype) if dtype is not None else contextlib.nullcontext()

    def without_sync(update):
        """DDP averages gradients over the ranks once an update, not once a batch."""
        return model.no_sync() if world > 1 and not update else contextlib.nullcontext()

    step = 0
    if args.resume:
        saved = torch.load(args.resume, map_location="cpu")
        bare.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        scaler.load_state_dict(saved["scaler"])
        if averaged is not None and saved["averaged"] is not None:
            averaged.load_state_dict(saved["averaged"])
        train.load_state_dict(saved["loader"])  # also on another number of GPUs
        step = saved["step"]

    def save():
        if rank == 0:
            state = {
                "model": bare.state_dict(), "optimizer": optimizer.state_dict(), "scaler": scaler.state_dict(),
                "averaged": averaged.state_dict() if averaged is not None else None,
                "loader": train.state_dict(), "step": step,
            }  # fmt: skip
            torch.save(state, args.checkpoint + ".new")
            os.replace(args.checkpoint + ".new", args.checkpoint)

    model.train()
    start, first, saved_at = time.perf_counter(), step, step
    for epoch in range(train.epoch, args.epochs):
        train.set_epoch(epoch)  # keeps the position that a checkpoint brought
        for images, labels in train:
            n_done = train.batch.number + 1  # of this epoch, also after resuming in the middle of it
            update = n_done % args.accumulate == 0 or n_done == len(train)
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(args, step, len(train))
            with without_sync(update):
                with autocast():
                    loss = loss_function(model(images.to(device)), labels.to(device)) / args.accumulate
                scaler.scale(loss).backward()
            step += 1
            if not update:
                continue
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad(set_to_none=True)
            if averaged is not None:
                averaged.update_parameters(bare)
            # A checkpoint between two updates would lose the gradients added up so far.
            last = args.max_steps and step - first >= args.max_steps
            if last or step // args.checkpoint_steps > saved_at // args.checkpoint_steps:
                save()
                saved_at = step
            if last:
                return
        rate = (step - first) * args.batch_size * world / (time.perf_counter() - start)
        accuracy = evaluate(averaged if averaged is not None else model, val, device, autocast)
        save()
        if rank == 0:
            waited = train.stats()["consumer_wait_s"]
            print(
                f"epoch {epoch + 1:3}  {rate:9,.0f} images/s  waited {waited:.1f} s  top-1 {accuracy:.4f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
