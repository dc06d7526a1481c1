# SPDX-License-Identifier: Apache-2.0
"""Several C loaders over the same sequence of samples, read in step as if they were one."""

from __future__ import annotations

import json
from typing import Any

from stoker._core import Core, result


class CoresInStep(Core):
    """A core with others beside it: one a mask, or one a size of view. All have the same order and seed, and what
    is drawn for a sample is a function of (seed, epoch, sample id, view), so that batch i of one belongs to batch
    i of the others."""

    def __init__(self, images: Core, others: dict[str, Core], dataset_ids: dict[str, str]) -> None:
        """dataset_ids: of those of the others that read another data set."""
        # Not Core's own __init__: this one opens nothing itself.
        self.pid, self.dataset_c = images.pid, images.dataset_c
        self._images, self._others, self._dataset_ids = images, others, dataset_ids
        self._taken: Any = None  # of the images, while others are still to come
        self._got: dict[str, Any] = {}  # by name, of the others

    @property
    def closing(self) -> bool:  # type: ignore[override]
        return self._images.closing

    def close(self) -> None:
        for core in (self._images, *self._others.values()):
            core.close()

    def check(self) -> None:
        self._images.check()

    def next(self) -> Any:
        """(the images' slot, the others' slots by name), None at the end of an epoch. What was there before a
        TimeoutError, or Ctrl-C, is kept for the next call, so that all stay in step."""
        if self._taken is None:
            self._taken = self._images.take()
        for name, core in self._others.items():
            if name not in self._got:
                self._got[name] = core.take()
        taken, got = self._taken, self._got
        self._forget()
        images = result(taken)  # what belongs to a bad one goes with it, whichever it is
        others = {name: result(slot) for name, slot in got.items()}
        return None if images is None else (images, others)

    def keep(self, slots: Any) -> None:
        self._taken, self._got = slots

    def _forget(self) -> None:
        self._taken, self._got = None, {}

    @property
    def timeout_s(self) -> float:
        return self._images.timeout_s

    @timeout_s.setter
    def timeout_s(self, seconds: float) -> None:
        for core in (self._images, *self._others.values()):
            core.timeout_s = seconds

    def __len__(self) -> int:
        return len(self._images)

    def set_epoch(self, epoch: int) -> None:
        self._forget()
        for core in (self._images, *self._others.values()):
            core.set_epoch(epoch)

    def state(self, taken: Any = None) -> str:
        return self._images.state(taken or self._taken)

    def restore(self, state: str) -> None:
        self._forget()
        self._images.restore(state)
        for name, core in self._others.items():
            own = {"dataset": self._dataset_ids[name]} if name in self._dataset_ids else {}
            core.restore(json.dumps({**json.loads(state), **own}))

    def stats(self) -> dict[str, Any]:
        """The images' own."""
        return self._images.stats()

    def log_waiting(self) -> bool:
        return any(core.log_waiting() for core in (self._images, *self._others.values()))

    def log_lines(self) -> list[str]:
        cores = (self._images, *self._others.values())
        return list(dict.fromkeys(line for core in cores for line in core.log_lines()))

    @property
    def images(self) -> Core:
        """The core that the images come from."""
        return self._images
