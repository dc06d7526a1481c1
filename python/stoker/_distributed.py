# SPDX-License-Identifier: Apache-2.0
"""Which part of the data this process reads: torch.distributed's rank, or the launcher's environment."""

from __future__ import annotations

import os
import sys
from typing import Optional

from stoker._errors import ArgumentError
from stoker._native import lib
from stoker._numbers import whole


def rank_and_world(rank: Optional[int], world: Optional[int]) -> tuple[int, int]:
    """What was asked for; else torch.distributed's where it is initialised; else RANK and WORLD_SIZE as
    torchrun sets them; else (0, 1). torch is not imported for this."""
    if (rank is None) != (world is None):
        raise ArgumentError("give rank= and world= together, or neither")
    if rank is None or world is None:
        rank, world = _from_torch() or _from_environment() or (0, 1)
    give = "give whole numbers, rank 0 ... world - 1"
    rank, world = whole("rank", rank, 0, 2**32 - 1, give), whole("world", world, 1, 2**32 - 1, give)
    if rank >= world:
        raise ArgumentError(f"rank={rank} of world={world}: ranks are 0 ... world - 1")
    return rank, world


def _from_torch() -> Optional[tuple[int, int]]:
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return int(distributed.get_rank()), int(distributed.get_world_size())


def _from_environment() -> Optional[tuple[int, int]]:
    values = os.environ.get("RANK"), os.environ.get("WORLD_SIZE")
    if values[0] is None or values[1] is None:
        return None
    try:
        return int(values[0]), int(values[1])
    except ValueError:
        raise ArgumentError(
            f"RANK={values[0]!r}, WORLD_SIZE={values[1]!r} in the environment: not numbers"
        ) from None


def default_threads(world: int) -> int:
    """Worker threads when none are asked for: this process's share of the usable CPUs, less one for the
    training thread. Ranks on one machine (LOCAL_WORLD_SIZE) share its CPUs. 0 lets C decide."""
    if world == 1:
        return 0
    try:
        local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    except ValueError:
        local = 1
    if local <= 1:
        return 0
    usable = int(lib.stk_cpu_usable_threads())
    return max(1, usable // local - 1)
