#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A torch training loop fed by stoker, against the same loop on one batch that stays on the device.

    train_resnet.py DATA.stk --feed libstoker_feed.so [--arch resnet18] [--size 224] [--batch 256] [--steps 60]
                    [--rounds 3] [--resident] [--streams 0] [--decode gpu] [--before-torch]

One JSON object: images/s of both, each round's ratio and the median. Run it under `taskset -c 0` to see what one core
does. --before-torch opens the feed before torch has touched the device, to see whether the order of streams matters.
"""
import argparse
import ctypes
import json
import os
import statistics
import time

parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
parser.add_argument("data")
parser.add_argument("--feed", required=True)
parser.add_argument("--arch", default="resnet18")
parser.add_argument("--size", type=int, default=224)
parser.add_argument("--batch", type=int, default=256)
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--resident", action="store_true")
parser.add_argument("--streams", type=int, default=0)
parser.add_argument("--ahead", type=int, default=0)
parser.add_argument("--decode", default="gpu", choices=("auto", "cpu", "gpu"))
parser.add_argument("--trace", help="write torch.profiler's trace of 20 fed steps there (see overlap.py)")
parser.add_argument("--before-torch", action="store_true")
args = parser.parse_args()

lib = ctypes.CDLL(args.feed)
lib.feed_open.restype = ctypes.c_void_p
lib.feed_open.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_int), ctypes.c_char_p, ctypes.c_size_t]
lib.feed_next.restype = ctypes.c_void_p
lib.feed_next.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
lib.feed_close.argtypes = [ctypes.c_void_p, ctypes.c_void_p]


def open_feed():
    decode = ("auto", "cpu", "gpu").index(args.decode)
    keys = (ctypes.c_int * 9)(
        0, args.batch, args.size, args.threads, args.resident, args.streams, args.ahead, 0, decode
    )
    text = ctypes.create_string_buffer(400)
    feed = lib.feed_open(os.fsencode(args.data), keys, text, len(text))
    if not feed:
        raise SystemExit(text.value.decode())
    return feed


early = open_feed() if args.before_torch else None

import torch  # noqa: E402
import torchvision  # noqa: E402

torch.backends.cudnn.benchmark = True
device = torch.device("cuda")


class Memory:
    """Device memory as torch takes it."""

    def __init__(self, pointer, shape, kind):
        self.__cuda_array_interface__ = {"data": (pointer, False), "shape": shape, "typestr": kind, "version": 3}


def next_batch(feed):
    labels = ctypes.c_void_p()
    stream = torch.cuda.current_stream().cuda_stream
    pointer = lib.feed_next(feed, stream, ctypes.byref(labels))
    if not pointer:
        raise SystemExit("the feed failed")
    shape = (args.batch, args.size, args.size, 3)
    images = torch.as_tensor(Memory(pointer, shape, "<i2"), device=device).view(torch.bfloat16).permute(0, 3, 1, 2)
    return images, torch.as_tensor(Memory(labels.value, (args.batch,), "<i8"), device=device)


model = getattr(torchvision.models, args.arch)().to(device, torch.bfloat16, memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
loss_of = torch.nn.CrossEntropyLoss()


def step(images, labels):
    optimizer.zero_grad(set_to_none=True)
    loss_of(model(images), labels).backward()
    optimizer.step()


def rate(batches, steps):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    begin.record()
    for _ in range(steps):
        step(*next(batches))
    end.record()
    end.synchronize()
    return args.batch * steps / begin.elapsed_time(end) * 1e3


def forever(images, labels):
    while True:
        yield images, labels


def fed(feed):
    while True:
        yield next_batch(feed)


feed = early or open_feed()
images, labels = next_batch(feed)
still = forever(images.clone(memory_format=torch.preserve_format), labels.clone())
rate(still, 15)
moving = fed(feed)
rate(moving, 15)
resident, streamed, cores = [], [], []
for _ in range(args.rounds):
    resident.append(rate(still, args.steps))
    cpu, wall = time.process_time(), time.time()
    streamed.append(rate(moving, args.steps))
    cores.append((time.process_time() - cpu) / (time.time() - wall))
    resident.append(rate(still, args.steps))
if args.trace:
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        rate(moving, 20)
    profile.export_chrome_trace(args.trace)
middle = statistics.median(resident)
print(json.dumps({
    "arch": args.arch, "size": args.size, "batch": args.batch, "cores": len(os.sched_getaffinity(0)),
    "decode": args.decode, "threads": args.threads, "resident_feed": args.resident, "streams": args.streams, "before_torch": args.before_torch,
    "connections": os.environ.get("CUDA_DEVICE_MAX_CONNECTIONS"),
    "on_one_batch": round(middle), "fed": [round(r) for r in streamed],
    "ratios": [round(r / middle, 4) for r in streamed], "ratio": round(statistics.median(streamed) / middle, 4),
    "cpu_cores": round(statistics.median(cores), 2)}), flush=True)
lib.feed_close(feed, torch.cuda.current_stream().cuda_stream)
