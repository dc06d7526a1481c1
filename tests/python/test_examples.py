# SPDX-License-Identifier: Apache-2.0
"""The examples run on a small data set on the CPU. Skipped where torch, torchvision, JAX or nbclient are not
installed; tests/docs/run.sh runs them where they are."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import stoker

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"


def run(name: str, *arguments: object) -> str:
    command = [sys.executable, EXAMPLES / name, *map(str, arguments)]
    # On a busy machine torch's threads wait for each other most of the time.
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def load(name: str) -> ModuleType:
    """An example as a module, to call its functions."""
    spec = importlib.util.spec_from_file_location(Path(name).stem, EXAMPLES / name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    (tmp_path / "fast").mkdir()
    common += ["--stage", tmp_path / "fast"]
    run("train_imagenet.py", *common, "--max-steps", 3)
    saved = torch.load(checkpoint, weights_only=False)
    assert saved["step"] == 4 and saved["loader"]["epoch"] == 0  # not between two updates
    json.dumps(saved["loader"])
    out = run("train_imagenet.py", *common, "--resume", checkpoint)
    assert [int(n) for n in re.findall(r"^epoch +(\d+)", out, flags=re.MULTILINE)] == [1, 2]
    assert torch.load(checkpoint, weights_only=False)["step"] == 8


def test_find_batch_size(torchvision: None) -> None:
    arguments = ["--model", "resnet18", "--size", 64, "--device", "cpu"]
    out = run("find_batch_size.py", *arguments, "--limit", 2)
    one, two = (int(n) for n in re.findall(r"estimated (\d+) MiB, fits", out))
    weights = 3 * 11_689_512 * 4 / 2**20  # resnet18's parameters, their gradients and momentum
    assert weights < one < weights + 60 and one <= two and "largest batch size: 2" in out
    # As much memory as two images need, and a little: the answer must be two or a few more.
    out = run("find_batch_size.py", *arguments, "--limit-bytes", (two + 1) * 2**20)
    assert "too large" in out and 2 <= int(out.split()[-1]) <= 8


def test_find_bisects() -> None:
    pytest.importorskip("torchvision")
    find = load("find_batch_size.py").find
    for fits in (0, 1, 2, 3, 31, 32, 33, 100, 1000):
        tried: list[int] = []

        def attempt(n: int, fits: int = fits, tried: list[int] = tried) -> object:
            tried.append(n)
            return True if n <= fits else None

        best = find(attempt, 512)
        assert min(fits, 512) * 0.96 <= best <= min(fits, 512) and len(tried) < 20


def test_find_batch_size_shows_other_errors(torchvision: None) -> None:
    command = [sys.executable, EXAMPLES / "find_batch_size.py", "--model", "resnet18"]
    command += ["--size", "1", "--device", "cpu"]
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


def test_model_parallel(torchvision: None, photos: Path) -> None:
    common = [photos, "--model", "resnet18", "--size", 32, "--batch-size", 8, "--steps", 2]
    out = run("model_parallel.py", *common, "--devices", "cpu", "cpu")
    assert re.search(r"step    2  loss \d+\.\d+ on cpu, first half on cpu", out)


def test_model_parallel_step(torchvision: None) -> None:
    """Micro-batches add up to the gradient of the whole batch (batch norm in eval mode: images do not mix)."""
    import torch

    example = load("model_parallel.py")
    images, labels = torch.rand(6, 3, 32, 32), torch.tensor([0, 1, 2, 0, 1, 2])
    cpu, after = torch.device("cpu"), []
    for n_micro in (1, 4):  # 4 micro-batches of 6 images: 2, 2, 2
        torch.manual_seed(0)
        model = example.TwoHalves("resnet18", 3, [cpu, cpu]).eval()
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        loss = example.training_step(model, optimizer, images, labels, n_micro)
        after.append((loss, model.second[-1].weight.detach().clone()))
    assert torch.allclose(after[0][0], after[1][0], atol=1e-5)
    assert torch.allclose(after[0][1], after[1][1], atol=1e-5)


def test_distributed_training(torchvision: None, photos: Path, tmp_path: Path) -> None:
    """Two ranks under torchrun, with gradients added up over batches; then one process goes on from there."""
    torch = pytest.importorskip("torch")
    checkpoint = tmp_path / "checkpoint.pt"
    common = [photos, photos, "--model", "resnet18", "--size", 32, "--batch-size", 3, "--epochs", 1, "--warmup", 1]
    common += ["--checkpoint", checkpoint, "--device", "cpu", "--accumulate", 2, "--precision", "fp32"]
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2]
    command += [EXAMPLES / "train_imagenet.py", *common, "--max-steps", 2]
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=900, env=environment)
    assert done.returncode == 0, done.stderr
    saved = torch.load(checkpoint, weights_only=False)
    assert saved["step"] == 2
    out = run("train_imagenet.py", *common, "--resume", checkpoint)
    # 23 samples: the two ranks took 2 * 2 * 3 of them, which leaves 11, and 3 whole batches for one rank.
    assert "top-1" in out and torch.load(checkpoint, weights_only=False)["step"] == 2 + 3


def test_notebook(tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("torch")
    notebook = nbformat.read(EXAMPLES / "quickstart.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in cells), "strip the notebook's outputs"
    nbformat.validate(notebook)
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(EXAMPLES)}})
    client.execute()  # raises where a cell does
    text = "".join(o.get("text", "") for cell in cells for o in cell.outputs)
    assert "80 records" in text and "epoch 2: loss" in text
    assert sum("image/png" in o.get("data", {}) for cell in cells for o in cell.outputs) == 2


def test_environment() -> None:
    """The conda environment parses, and names what the examples import."""
    yaml = pytest.importorskip("yaml")
    environment = yaml.safe_load((EXAMPLES / "environment.yml").read_text())
    assert environment["name"] == "stoker" and "python=3.9" in environment["dependencies"]
    names = {re.match(r"[\w-]+", line)[0] for line in environment["dependencies"][-1]["pip"]}  # type: ignore[index]
    assert {"numpy", "torch", "torchvision", "stoker"} <= names
