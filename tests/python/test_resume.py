# SPDX-License-Identifier: Apache-2.0
"""Ranks and resuming: whatever is stopped and restarted, each sample comes exactly once an epoch.

STOKER_HYPOTHESIS_EXAMPLES sets the number of random sequences (default 60)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import stoker
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

EXAMPLES = int(os.environ.get("STOKER_HYPOTHESIS_EXAMPLES", "60"))
ANY = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def ids(loader: stoker.Loader) -> list[int]:
    """Sample ids of the batch just delivered, without padding."""
    assert loader.batch is not None
    return [int(i) for i in loader.batch.ids[: loader.batch.n_valid]]


def open_ranks(ds: stoker.Dataset, world: int, batch_size: int, **options: Any) -> list[stoker.Loader]:
    return [stoker.Loader(ds, batch_size, rank=r, world=world, num_threads=1, **options) for r in range(world)]


@pytest.mark.parametrize("last", ["keep", "drop", "pad"])
@pytest.mark.parametrize("world", [1, 2, 3, 8])
def test_ranks_are_disjoint_complete_and_equally_long(tiny: Path, world: int, last: Any) -> None:
    ranks = open_ranks(stoker.open(tiny), world, 10, last=last, shuffle=True, seed=3)
    assert len({len(loader) for loader in ranks}) == 1
    for _ in range(2):
        seen: list[int] = []
        steps = []
        for loader in ranks:
            n = 0
            for _batch in loader:
                seen += ids(loader)
                n += 1
            steps.append(n)
        assert steps == [len(ranks[0])] * world
        assert len(seen) == len(set(seen))
        if last == "drop":
            assert len(seen) == 211 // (10 * world) * 10 * world
        else:
            assert sorted(seen) == list(range(211))


def test_one_sequence_for_any_world(tiny: Path) -> None:
    """Step by step, the ranks together take the same samples as one rank with a larger batch."""
    ds = stoker.open(tiny)
    alone = stoker.Loader(ds, 30, rank=0, world=1, shuffle=True)
    ranks = open_ranks(ds, 3, 10, shuffle=True)
    iterators = [iter(loader) for loader in ranks]
    for _ in alone:
        together: list[int] = []
        for loader, iterator in zip(ranks, iterators):
            next(iterator)
            together += ids(loader)
        assert together == ids(alone)


def test_state_is_plain_json(tiny: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), 10, shuffle=True, seed=2**64 - 1)
    next(iter(loader))
    state = loader.state_dict()
    assert json.loads(json.dumps(state)) == state
    assert state["epoch"] == 0 and state["seed"] == 2**64 - 1


def test_four_ranks_stop_and_three_go_on(tiny: Path) -> None:
    ds = stoker.open(tiny)
    ranks = open_ranks(ds, 4, 8, shuffle=True, seed=5)
    seen: list[int] = []
    for loader in ranks:
        iterator = iter(loader)
        for _ in range(3):
            next(iterator)
            seen += ids(loader)
    states = [loader.state_dict() for loader in ranks]
    assert all(state == states[0] for state in states)
    again = open_ranks(ds, 3, 16, shuffle=True, seed=5)
    for loader in again:
        loader.load_state_dict(json.loads(json.dumps(states[0])))
        loader.set_epoch(0)  # what a training loop does at the top: keeps the place
        for _batch in loader:
            seen += ids(loader)
    assert sorted(seen) == list(range(211))
    seen = []  # and the epoch after it is whole
    for loader in again:
        for _batch in loader:
            seen += ids(loader)
    assert sorted(seen) == list(range(211))


def test_pixels_go_on_too(photos: Path) -> None:
    ds = stoker.open(photos)
    options: Any = {"transform": stoker.Train(16), "seed": 3}
    loader = stoker.Loader(ds, 5, **options)
    list(loader)
    whole = np.concatenate([images for images, _ in loader])
    loader.set_epoch(1)
    iterator = iter(loader)
    first = [next(iterator)[0], next(iterator)[0]]
    other = stoker.Loader(ds, 7, **options)
    other.load_state_dict(loader.state_dict())
    assert np.array_equal(np.concatenate([*first, *(images for images, _ in other)]), whole)


def test_states_of_something_else(tiny: Path, photos: Path) -> None:
    state = stoker.Loader(stoker.open(tiny), 10, shuffle=True).state_dict()
    others = [
        stoker.Loader(stoker.open(photos), 10, shuffle=True),
        stoker.Loader(stoker.open(tiny), 10, shuffle=True, seed=1),
        stoker.Loader(stoker.open(tiny), 10, shuffle=False),
        stoker.Loader(stoker.open(tiny).select(range(100)), 10, shuffle=True),
    ]
    for loader in others:
        with pytest.raises(stoker.ArgumentError):
            loader.load_state_dict(state)
    good = stoker.Loader(stoker.open(tiny), 10, shuffle=True)
    for bad in ({}, {"version": 1}, {**state, "cursor": -1}, {**state, "version": 99}, {**state, "epoch": "x"}):
        with pytest.raises(stoker.Error):
            good.load_state_dict(bad)
    assert len(list(good)) == 22


def test_state_at_the_ends_of_an_epoch(tiny: Path) -> None:
    ds = stoker.open(tiny)
    loader = stoker.Loader(ds, 100, shuffle=True)
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    at_last_batch = loader.state_dict()
    with pytest.raises(StopIteration):
        next(iterator)
    after_end = loader.state_dict()
    for state, rest in ((at_last_batch, 0), (after_end, 3)):
        other = stoker.Loader(ds, 100, shuffle=True)
        other.load_state_dict(state)
        epoch = int(state["epoch"])
        assert other.epoch == epoch
        assert len(list(other)) == rest
        assert other.epoch == epoch + 1
        list(other)
        assert other.batch is not None and other.batch.epoch == epoch + 1


stops = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 40), st.integers(0, 5)),  # world, batch size, steps
    max_size=5,
)


@ANY
@given(
    n=st.integers(1, 211),
    order=st.sampled_from(["shuffle", "sequential", "page"]),
    seed=st.integers(0, 2**64 - 1),
    runs=stops,
    final=st.tuples(st.integers(1, 4), st.integers(1, 40)),
    last=st.sampled_from(["keep", "pad"]),
)
def test_any_sequence_of_stops(
    tiny: Path, n: int, order: Any, seed: int, runs: list[tuple[int, int, int]], final: tuple[int, int], last: Any
) -> None:
    """Runs of any world and batch size, each stopped after some steps; the last one runs to the end."""
    ds = stoker.open(tiny).select(np.arange(n)) if n < 211 else stoker.open(tiny)
    state = None
    seen: list[int] = []
    for world, batch_size, steps in [*runs, (*final, -1)]:
        ranks = open_ranks(ds, world, batch_size, order=order, seed=seed, last=last)
        new_state = None
        for loader in ranks:
            if state is not None:
                loader.load_state_dict(state)
            iterator = iter(loader)
            taken = 0
            while taken != steps:
                if next(iterator, None) is None:
                    break
                seen += ids(loader)
                taken += 1
            if taken == steps:  # stopped within the epoch
                assert new_state in (None, loader.state_dict())
                new_state = loader.state_dict()
            loader.close()
        if new_state is None:
            break  # this run came to the end
        state = new_state
    assert sorted(seen) == list(range(n))
