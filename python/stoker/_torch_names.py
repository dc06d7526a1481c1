# SPDX-License-Identifier: Apache-2.0
"""torch.utils.data.DataLoader's argument names, mapped to ours so that scripts change two lines only."""

from __future__ import annotations

import warnings
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any, Optional

from stoker import _choices
from stoker._errors import ArgumentError
from stoker._native import lib
from stoker._numbers import real
from stoker._numpy import np

if TYPE_CHECKING:
    from stoker._dataset import Dataset

# Names that are accepted and need nothing done.
_NOT_NEEDED = ("pin_memory", "persistent_workers", "multiprocessing_context", "pin_memory_device", "in_order")

_REFUSED = {
    "collate_fn": "batches are put together in C, without a Python object per sample; use on_batch= for a "
    "callable on whole batches",
    "batch_sampler": "use batch_size=, shuffle= or order=, and ds.select() for a subset",
    "generator": "random choices depend on seed= alone, so that they can be repeated and resumed; use seed=",
}


def translate(names: MutableMapping[str, Any], dataset: Dataset, ours: MutableMapping[str, Any]) -> Dataset:
    """Writes what torch's names ask for into our options; returns the data set (a sampler may select).

    Raises ArgumentError, with the reason, for what cannot be had, TypeError for names that nobody knows.
    """
    if names.get("sampler") is not None and ours["shuffle"]:
        raise ArgumentError("shuffle=True goes with no sampler=, as in torch: the sampler says the order")
    last = ours["last"]
    for name in sorted(names, key=lambda name: name != "sampler"):  # what is said of the last batch overrides it
        value = names[name]
        if name in _NOT_NEEDED:
            continue
        if name in _REFUSED:
            if value is not None:
                raise ArgumentError(f"{name}=: {_REFUSED[name]}")
        elif name == "worker_init_fn":
            if value is not None:
                warnings.warn(
                    "worker_init_fn is not called: there are no worker processes to set up", stacklevel=3
                )
        elif name == "timeout":
            give = "give seconds, 0 for no limit"
            ours["timeout"] = 0.0 if value is None else real("timeout", value, 0, 1e9, give)
        elif name == "num_workers":
            _num_workers(value, ours)
        elif name == "prefetch_factor":
            if value is not None:
                ours["prefetch"] = _choices.positive("prefetch_factor", value)
        elif name == "drop_last":
            _drop_last(_choices.flag("drop_last", value), last, ours)
        elif name == "collate":
            if value is not None and ours["on_batch"] is not None:
                raise ArgumentError("collate= is another name of on_batch=; give one of them")
            ours["on_batch"] = value or ours["on_batch"]
        elif name == "sampler":
            if value is not None:
                dataset = _sampler(value, dataset, ours)
        else:
            raise TypeError(f"Loader() got an unexpected keyword argument {name!r}")
    if ours["last"] is None:
        ours["last"] = "keep"
    return dataset


def _drop_last(drop: Optional[bool], last: Optional[str], ours: MutableMapping[str, Any]) -> None:
    """last is what the caller gave as last=, which must not say the opposite."""
    if drop is not None and last is not None and drop != (last == "drop"):
        raise ArgumentError(f"drop_last={drop} contradicts last={last!r}; give one of them")
    if drop:
        ours["last"] = "drop"


def _num_workers(value: Any, ours: MutableMapping[str, Any]) -> None:
    """Workers become threads, never more than there are CPUs to use: more would only wait for each other.
    0 (torch: load in the training process) leaves the number to us."""
    if not value:
        return
    workers = _choices.positive("num_workers", value)
    if ours["num_threads"] is None:
        ours["num_threads"] = min(workers, int(lib.stk_cpu_usable_threads()))


def _sampler(sampler: Any, dataset: Dataset, ours: MutableMapping[str, Any]) -> Dataset:
    """torch's own samplers by class name (torch is not imported), or a fixed list of positions."""
    kind = type(sampler).__name__
    if kind == "SequentialSampler":
        ours["shuffle"] = False
    elif kind == "RandomSampler" and not sampler.replacement and sampler._num_samples is None:
        ours["shuffle"] = True
    elif kind == "SubsetRandomSampler":
        dataset = dataset.select(np.asarray(list(sampler.indices), np.int64))
        ours["shuffle"] = True
    elif kind == "WeightedRandomSampler" and sampler.replacement:
        ours["weights"] = np.asarray(sampler.weights, np.float64)
        ours["n_draws"] = int(sampler.num_samples)
    elif kind == "DistributedSampler":
        ours["rank"], ours["world"] = int(sampler.rank), int(sampler.num_replicas)
        ours["shuffle"], ours["seed"] = bool(sampler.shuffle), int(sampler.seed)
        ours["last"] = "drop" if sampler.drop_last else "pad"
    elif isinstance(sampler, (list, tuple, range, np.ndarray)):
        dataset = dataset.select(np.asarray(sampler, np.int64))
        ours["shuffle"] = False
    else:
        raise ArgumentError(
            f"sampler={kind}: samples are ordered in C; use shuffle=, order=, weights= or ds.select(positions)"
        )
    return dataset
