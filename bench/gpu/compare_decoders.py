#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What else decodes JPEGs for a GPU, on the same files in the same run (docs/performance.md).

    compare_decoders.py FOLDER [--batch 256] [--workers 16] [--seconds 8] [--only NAME,...]

FOLDER holds JPEG files (`stoker extract DATA.stk FOLDER` writes those of tiles). One JSON object a line:

    nvjpeg      libnvjpeg's batched decoder, hardware back end and GPU_HYBRID: full decode to RGB, nothing else
    torchvision torchvision.io.decode_jpeg(device="cuda"): full decode, nothing else
    dataloader  torch DataLoader + PIL: decode, RandomResizedCrop 224, flip, ToTensor, Normalize, copy to the GPU
    training    a bf16 ResNet-18 fed by that DataLoader, and the share of time in which the GPU was busy

What the machine lacks is said in a line of its own and left out.
"""
import argparse
import ctypes
import glob
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
parser.add_argument("folder", type=Path)
parser.add_argument("--batch", type=int, default=256)
parser.add_argument("--workers", type=int, default=16)
parser.add_argument("--seconds", type=float, default=8)
parser.add_argument("--only", default="nvjpeg,torchvision,dataloader,training")


def say(name, **values):
    print(json.dumps({"what": name, **values}), flush=True)


def files_of(folder):
    return sorted(p for p in folder.rglob("*") if p.suffix.lower() in (".jpg", ".jpeg"))


def rates(run, n_images, rounds=7):
    """Images a second of each round but the first two."""
    import torch

    out = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        run()
        torch.cuda.synchronize()
        out.append(n_images / (time.perf_counter() - begin))
    return {"images_per_s": round(statistics.median(out[2:])), "best": round(max(out[2:]))}


# nvJPEG, through its C interface (nvjpeg.h): handles are pointers, statuses 0 when good.


class NvImage(ctypes.Structure):
    _fields_ = [("channel", ctypes.c_void_p * 4), ("pitch", ctypes.c_size_t * 4)]


def find_nvjpeg():
    names = ["libnvjpeg.so.13", "libnvjpeg.so.12", "libnvjpeg.so"]
    for place in [*sys.path, "/usr/local/cuda/lib64", "/usr/lib/x86_64-linux-gnu"]:
        names += glob.glob(f"{place}/**/libnvjpeg.so*", recursive=True) if place else []
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    return None


def supported(lib, handle, data):
    """Those that the back end takes in batches."""
    stream, good = ctypes.c_void_p(), []
    if lib.nvjpegJpegStreamCreate(handle, ctypes.byref(stream)) != 0:
        return data
    for blob in data:
        no = ctypes.c_int(-1)
        if lib.nvjpegJpegStreamParseHeader(handle, blob, ctypes.c_size_t(len(blob)), stream) == 0:
            lib.nvjpegDecodeBatchedSupported(handle, stream, ctypes.byref(no))
            if no.value == 0:
                good.append(blob)
    return good


def nvjpeg_batch(lib, handle, blobs):
    """A callable that decodes the batch, and what must stay alive meanwhile."""
    import torch

    n = len(blobs)
    state = ctypes.c_void_p()
    lib.nvjpegJpegStateCreate(handle, ctypes.byref(state))
    images, keep = (NvImage * n)(), []
    for i, blob in enumerate(blobs):
        components, sampling = ctypes.c_int(), ctypes.c_int()
        widths, heights = (ctypes.c_int * 4)(), (ctypes.c_int * 4)()
        lib.nvjpegGetImageInfo(
            handle,
            blob,
            ctypes.c_size_t(len(blob)),
            ctypes.byref(components),
            ctypes.byref(sampling),
            widths,
            heights,
        )
        out = torch.empty(widths[0] * heights[0] * 3, dtype=torch.uint8, device="cuda")
        keep.append(out)
        images[i].channel[0], images[i].pitch[0] = out.data_ptr(), widths[0] * 3
    pointers = (ctypes.c_char_p * n)(*blobs)
    lengths = (ctypes.c_size_t * n)(*[len(b) for b in blobs])
    rgb_interleaved = 5
    status = lib.nvjpegDecodeBatchedInitialize(handle, state, n, 1, rgb_interleaved)
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    def run():
        failed = lib.nvjpegDecodeBatched(handle, state, pointers, lengths, images, stream)
        if failed:
            raise RuntimeError(f"nvjpegDecodeBatched: status {failed}")

    if status:
        raise RuntimeError(f"nvjpegDecodeBatchedInitialize: status {status}")
    return run, keep


def nvjpeg(args, data):
    lib = find_nvjpeg()
    if lib is None:
        say("nvjpeg", skipped="there is no libnvjpeg here")
        return
    for name, backend in (("hardware", 3), ("gpu_hybrid", 2)):
        handle = ctypes.c_void_p()
        status = lib.nvjpegCreateEx(backend, None, None, 0, ctypes.byref(handle))
        if status:
            say(f"nvjpeg {name}", skipped=f"nvjpegCreateEx gave status {status}")
            continue
        good = supported(lib, handle, data)
        if not good:
            say(f"nvjpeg {name}", skipped="it takes none of these files")
            continue
        blobs = [good[i % len(good)] for i in range(args.batch)]
        try:
            run, keep = nvjpeg_batch(lib, handle, blobs)
            say(f"nvjpeg {name}", supported=len(good), files=len(data), batch=args.batch, **rates(run, args.batch))
            del keep
        except RuntimeError as error:
            say(f"nvjpeg {name}", skipped=str(error))


def torchvision_cuda(args, data):
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg

    blobs = [torch.frombuffer(bytearray(data[i % len(data)]), dtype=torch.uint8) for i in range(args.batch)]
    try:
        say(
            "torchvision decode_jpeg(cuda)",
            batch=args.batch,
            **rates(lambda: decode_jpeg(blobs, mode=ImageReadMode.RGB, device="cuda"), args.batch),
        )
    except RuntimeError as error:
        say("torchvision decode_jpeg(cuda)", skipped=str(error).split("\n", maxsplit=1)[0])


# torch's own way.


class Files:
    """The files again and again, as long as an epoch of ImageNet would last."""

    def __init__(self, paths, transform):
        self.paths, self.transform = paths, transform

    def __len__(self):
        return 1 << 22

    def __getitem__(self, i):
        from PIL import Image

        with Image.open(self.paths[i % len(self.paths)]) as image:
            return self.transform(image.convert("RGB")), i % 1000


def data_loader(args, paths):
    import torch
    from torchvision import transforms as t

    transform = t.Compose(
        [
            t.RandomResizedCrop(224),
            t.RandomHorizontalFlip(),
            t.ToTensor(),
            t.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )
    return torch.utils.data.DataLoader(
        Files(paths, transform),
        batch_size=args.batch,
        num_workers=args.workers,
        pin_memory=True,
        persistent_workers=True,
        prefetch_factor=4,
    )


def timed(args, batches, use):
    """Images a second over args.seconds, after what the workers had ready."""
    import torch

    for _ in range(args.workers * 4 // 8 + 2):
        use(*next(batches))
    torch.cuda.synchronize()
    begin, n = time.perf_counter(), 0
    while time.perf_counter() - begin < args.seconds:
        images, labels = next(batches)
        use(images, labels)
        n += len(labels)
    torch.cuda.synchronize()
    return n / (time.perf_counter() - begin)


def busy_gpu(stop, out):
    while not stop.is_set():
        text = subprocess.run(
            ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"],
            capture_output=True, text=True, check=False,
        ).stdout.split()
        if text and text[0].isdigit():
            out.append(int(text[0]))
        stop.wait(0.2)


def dataloader(args, paths, train):
    import torch
    import torchvision

    model = torchvision.models.resnet18().to("cuda", torch.bfloat16, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def use(images, labels):
        images = images.to("cuda", torch.bfloat16, non_blocking=True, memory_format=torch.channels_last)
        labels = labels.to("cuda", non_blocking=True)
        if train:
            optimizer.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()

    batches, shares, stop = iter(data_loader(args, paths)), [], threading.Event()
    watcher = threading.Thread(target=busy_gpu, args=(stop, shares))
    watcher.start()
    rate = timed(args, batches, use)
    stop.set()
    watcher.join()
    say(
        "training fed by DataLoader + PIL" if train else "DataLoader + PIL",
        workers=args.workers, batch=args.batch, cores=len(os.sched_getaffinity(0)), images_per_s=round(rate),
        gpu_util=round(statistics.mean(shares), 1) if shares else None,
    )


def main():
    args = parser.parse_args()
    only = args.only.split(",")
    paths = files_of(args.folder)
    if not paths:
        raise SystemExit(f"{args.folder}: no JPEG files")
    data = [p.read_bytes() for p in paths]
    say("files", n=len(data), mean_bytes=round(statistics.mean(map(len, data))))
    if "nvjpeg" in only:
        nvjpeg(args, data)
    if "torchvision" in only:
        torchvision_cuda(args, data)
    for name in ("dataloader", "training"):
        if name in only:
            dataloader(args, paths, name == "training")


if __name__ == "__main__":
    main()
