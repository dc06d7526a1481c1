# SPDX-License-Identifier: Apache-2.0
"""The examples run on a small data set on the CPU. Skipped where torch, torchvision or JAX are not installed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import stoker

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


def run(name: str, *arguments: object) -> str:
    command = [sys.executable, EXAMPLES / name, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def torchvision() -> None:
    pytest.importorskip("torchvision")


def test_from_dataloader(torchvision: None, photos_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "photos"
    folder.symlink_to(photos_folder)
    out = run("from_dataloader.py", folder, "--seconds", 0.5, "--batch-size", 8)
    rates = dict(re.findall(r"(\w+) +([\d,]+) images/s", out))
    assert set(rates) == {"DataLoader", "stoker"} and len(stoker.open(f"{folder}.stk")) == 23


def test_train_cifar(torchvision: None, tiny: Path) -> None:
    out = run("train_cifar.py", tiny, "--epochs", 2, "--batch-size", 32, "--hold-out", 50, "--width", 8)
    assert re.search(r"epoch   2 .* held-out accuracy [01]\.\d{4}", out)


def test_train_imagenet_goes_on(torchvision: None, photos: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    checkpoint = tmp_path / "checkpoint.pt"
    common = [photos, photos, "--model", "resnet18", "--size", 32, "--batch-size", 5, "--epochs", 2, "--warmup", 1]
    common += ["--checkpoint", checkpoint, "--device", "cpu", "--ema", 0.9, "--accumulate", 2]
    run("train_imagenet.py", *common, "--max-steps", 3)
    saved = torch.load(checkpoint, weights_only=False)
    assert saved["step"] == 3 and saved["loader"]["epoch"] == 0
    json.dumps(saved["loader"])
    out = run("train_imagenet.py", *common, "--resume", checkpoint)
    assert [int(n) for n in re.findall(r"^epoch +(\d+)", out, flags=re.MULTILINE)] == [1, 2]
    assert torch.load(checkpoint, weights_only=False)["step"] == 8


def test_find_batch_size(torchvision: None) -> None:
    out = run("find_batch_size.py", "--model", "resnet18", "--size", 64, "--limit-bytes", 12_000_000)
    assert "too large" in out and re.search(r"largest batch size: 24$", out.strip())


def test_find_batch_size_shows_other_errors(torchvision: None) -> None:
    command = [sys.executable, EXAMPLES / "find_batch_size.py", "--model", "resnet18", "--size", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0 and "largest" not in done.stdout


def test_profile_step(torchvision: None, photos: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    out = run("profile_step.py", photos, "--batch-size", 4, "--size", 32, "--trace", trace, "--device", "cpu")
    stages = re.findall(r"^(\w+) +[\d.]+ ms a step", out, flags=re.MULTILINE)
    assert stages == ["data", "upload", "forward", "backward", "optimizer"]
    names = {event.get("name") for event in json.loads(trace.read_text())["traceEvents"]}
    assert set(stages) <= names


def test_jax_minimal(photos: Path) -> None:
    pytest.importorskip("jax")
    out = run("jax_minimal.py", photos, "--steps", 3)
    assert re.search(r"step    3  loss \d", out)
