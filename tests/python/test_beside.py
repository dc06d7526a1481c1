# SPDX-License-Identifier: Apache-2.0
"""Beside packages that bring their own libjpeg, libpng, HDF5 and OpenMP, imported before and after stoker."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

USE = {
    "torch": "assert torch.ones(300, 300).mm(torch.ones(300, 300)).sum() == 300.0 ** 3",
    "torchvision": "assert len(torchvision.io.decode_jpeg(torch.frombuffer(bytearray(jpeg), dtype=torch.uint8)))",
    "h5py": "h5py.File(folder + '/x.h5', 'w')['a'] = [1, 2]; assert h5py.File(folder + '/x.h5')['a'][1] == 2",
    "cv2": "assert cv2.imdecode(numpy.frombuffer(jpeg, 'u1'), 1).shape[2] == 3",
    "PIL": "assert PIL.Image.open(io.BytesIO(jpeg)).convert('RGB').size",
}
STOKER = """
stoker.pack(source, folder + "/x.stk", force=True)
ds = stoker.open(folder + "/x.stk")
jpeg = ds.jpeg(3)
assert sum(len(labels) for _, labels in stoker.Loader(ds, 4, transform=stoker.Train(32))) == 23
stoker.pack(source, folder + "/h.h5", encode="raw", resize="exact=32x32", force=True)
assert len(stoker.open(folder + "/h.h5")) == 23
"""


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("name", sorted(USE))
def test_beside(photos_folder: Path, tmp_path: Path, name: str, first: bool) -> None:
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    other = {"PIL": "import PIL.Image", "torchvision": "import torch, torchvision, torchvision.io"}
    imports = ["import stoker; stoker.open, stoker.Loader", other.get(name, f"import {name}")]
    lines = ["import io, sys, numpy", "source, folder = sys.argv[1:]", *(imports if first else imports[::-1])]
    lines += [STOKER, USE[name], STOKER, USE[name]]
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", "\n".join(lines), photos_folder, tmp_path],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
