# SPDX-License-Identifier: Apache-2.0
"""Where the time of a training step goes: torch.profiler with the stages named.

    python profile_step.py train.stk [--model resnet18] [--trace trace.json]

Writes a trace for Perfetto (ui.perfetto.dev) or chrome://tracing and prints the share of each stage. When "data"
takes more than a few percent the loader is the limit, else the GPU is.
"""

import argparse

import stoker
import torch
import torchvision
from torch.profiler import ProfilerActivity, profile, record_function, schedule


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--trace", default="trace.json")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    args = parser.parse_args()
    device = torch.device(args.device)
    loader = stoker.Loader(
        stoker.open(args.data), args.batch_size, transform=stoker.Train(args.size), dtype="float32",
        channels_last=True, device="cpu",
    )  # fmt: skip
    n_classes = len(loader.dataset.classes) or 1000
    model = torchvision.models.get_model(args.model, num_classes=n_classes).to(
        device, memory_format=torch.channels_last
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device.type == "cuda" else [])

    def batches():
        while True:
            yield from loader

    steps = 5
    iterator = batches()
    with profile(activities=activities, schedule=schedule(wait=1, warmup=1, active=steps - 2)) as profiler:
        for _ in range(steps):
            with record_function("data"):
                images, labels = next(iterator)
            with record_function("upload"):
                images, labels = images.to(device), labels.to(device)
            with record_function("forward"):
                loss = torch.nn.functional.cross_entropy(model(images), labels)
            with record_function("backward"):
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
            with record_function("optimizer"):
                optimizer.step()
            profiler.step()
    profiler.export_chrome_trace(args.trace)
    stages = {e.key: e.cpu_time_total for e in profiler.key_averages()}
    stages = {k: stages[k] for k in ("data", "upload", "forward", "backward", "optimizer")}
    whole = sum(stages.values())
    for name, microseconds in stages.items():
        print(f"{name:10} {microseconds / 1000 / (steps - 2):8.2f} ms a step  {100 * microseconds / whole:5.1f} %")
    print(f"trace: {args.trace}")


if __name__ == "__main__":
    main()
