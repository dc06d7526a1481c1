# SPDX-License-Identifier: Apache-2.0
"""Lets a torchvision whose compiled operators were built for CUDA be imported beside a torch built without it.

A registry may have a small torch without CUDA, but torchvision only for the large one; its Python part then fails
to import, since it describes two operators that its compiled part would have declared. Models, transforms and
ImageFolder, all that the pages and examples use, are Python over torch. tests/docs/run.sh puts this module into
the environment, where every interpreter imports it at start; it does nothing until torchvision is imported.
"""

import importlib.machinery
import pathlib
import sys

_keep = []


class _BeforeTorchvision:
    def find_spec(self, name, path=None, target=None):
        if name == "torchvision":
            sys.meta_path.remove(self)
            _declare(importlib.machinery.PathFinder.find_spec(name))
        return None


def _declare(spec):
    import torch

    if spec is None or torch.version.cuda is not None:
        return
    compiled = list(pathlib.Path(spec.origin).parent.glob("_C*.so"))
    if any(b"libc10_cuda" in file.read_bytes() for file in compiled):
        library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            library.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _keep.append(library)


sys.meta_path.insert(0, _BeforeTorchvision())
