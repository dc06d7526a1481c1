# SPDX-License-Identifier: Apache-2.0
"""Under torchrun, Lightning and accelerate. Each is skipped where it is not installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import stoker

torch = pytest.importorskip("torch")

TORCHRUN = """
import sys
import torch
import stoker

torch.distributed.init_process_group("gloo")
loader = stoker.Loader(stoker.open(sys.argv[1]), 10, device="cpu", transform=stoker.PadCrop(), seed=2)
seen = [int(i) for _ in loader for i in loader.batch.ids]
everyone = [None] * loader.world
torch.distributed.all_gather_object(everyone, (len(loader), seen))
if loader.rank == 0:
    lengths = {n for n, _ in everyone}
    together = sorted(i for _, ids in everyone for i in ids)
    print(loader.world, lengths == {len(loader)}, together == list(range(211)), flush=True)
torch.distributed.destroy_process_group()
"""


def test_torchrun(tiny: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(TORCHRUN)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(script), str(tiny)], capture_output=True, text=True, timeout=120, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "2 True True"


def test_lightning(tiny: Path, tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning.pytorch")

    class Model(lightning.LightningModule):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3 * 32 * 32, 10)
            self.seen: list[int] = []

        def training_step(self, batch, number):  # type: ignore[no-untyped-def]
            images, labels = batch
            self.seen.append(len(images))
            return torch.nn.functional.cross_entropy(self.layer(images.flatten(1)), labels)

        def validation_step(self, batch, number):  # type: ignore[no-untyped-def]
            images, labels = batch
            self.log("right", (self.layer(images.flatten(1)).argmax(1) == labels).float().mean())

        def configure_optimizers(self):  # type: ignore[no-untyped-def]
            return torch.optim.SGD(self.parameters(), 0.01)

    ds = stoker.open(tiny)
    train = stoker.Loader(ds, 50, transform=stoker.PadCrop(), dtype="float32", device="cpu")
    val = stoker.Loader(ds, 50, dtype="float32", device="cpu")
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", devices=1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
    )  # fmt: skip
    model = Model()
    trainer.fit(model, train, val)
    assert model.seen == [50, 50, 50, 50, 11] * 2
    assert train.batch is not None and train.batch.epoch == 1


def test_accelerate(tiny: Path) -> None:
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    model = torch.nn.Linear(3 * 32 * 32, 10)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    loader = stoker.Loader(
        stoker.open(tiny), 50, transform=stoker.PadCrop(), dtype="float32", device=accelerator.device
    )
    model, optimizer, prepared = accelerator.prepare(model, optimizer, loader)
    n = 0
    for images, labels in prepared:
        loss = torch.nn.functional.cross_entropy(model(images.flatten(1)), labels)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        n += len(labels)
    assert n == 211
