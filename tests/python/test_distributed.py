# SPDX-License-Identifier: Apache-2.0
"""Rank and world without arguments."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
import stoker


def test_environment(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    loader = stoker.Loader(stoker.open(tiny), 10)
    assert (loader.rank, loader.world) == (1, 3) and "rank 1 of 3" in repr(loader)
    assert len(loader) == 8  # ceil(211 / 30)
    next(iter(loader))
    assert loader.batch is not None and loader.batch.ids.tolist() == list(range(10, 20))
    assert loader.stats()["n_threads"] == max(1, stoker.usable_threads() // 3 - 1)
    explicit = stoker.Loader(stoker.open(tiny), 10, rank=0, world=1)
    assert len(explicit) == 22
    monkeypatch.setenv("RANK", "one")
    with pytest.raises(stoker.ArgumentError, match="RANK"):
        stoker.Loader(stoker.open(tiny), 10)


def test_half_an_environment_is_none(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.setenv("WORLD_SIZE", "3")
    assert stoker.Loader(stoker.open(tiny), 10).world == 1


def test_torch_distributed_comes_first(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    distributed = types.SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: True, get_rank=lambda: 4, get_world_size=lambda: 5
    )
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(distributed=distributed))
    loader = stoker.Loader(stoker.open(tiny), 10)
    assert (loader.rank, loader.world) == (4, 5)
    distributed.is_initialized = lambda: False
    assert stoker.Loader(stoker.open(tiny), 10).world == 3
