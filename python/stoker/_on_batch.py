# SPDX-License-Identifier: Apache-2.0
"""on_batch=: what its thread calls for each batch."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Callable, Optional

from stoker._ahead import Item
from stoker._batch import BatchInfo
from stoker._core import Core, DeviceCore
from stoker._in_step import CoresInStep


class Producer:
    """Makes batches for the on_batch thread. Knows the C loader, not the Loader, which may be let go."""

    def __init__(
        self, core: Core, convert: Callable[[Any], tuple[Any, BatchInfo]], on_batch: Callable[[Any], Any]
    ) -> None:
        self._core, self._convert, self._on_batch = core, convert, on_batch
        self._context = _stream_context(core)

    def __call__(self) -> Item:
        with self._context():
            return self._produce()

    def _produce(self) -> Item:
        state = None
        try:
            slot = self._core.next()
            if slot is None:
                return Item(end=True)
            state = self._core.state()
            out, info = self._convert(slot)
            return Item(value=(self._on_batch(out), info), state=state)
        except BaseException as exception:  # the user's SystemExit too: it is for the loop, not for this thread
            if self._core.closing:
                return Item(end=True)  # the Loader was let go, at interpreter exit say
            return Item(exception=exception, state=state or self._core.state())


def _stream_context(core: Core) -> Callable[[], Any]:
    """Makes the on_batch thread use the CUDA stream that is current here, where the loop runs."""
    if isinstance(core, CoresInStep):
        core = core.images
    if not isinstance(core, DeviceCore) or core.torch is None:
        return contextlib.nullcontext
    torch = core.torch
    stream = torch.cuda.current_stream()
    return lambda: torch.cuda.stream(stream)


def as_it_is(batch: Any) -> Any:
    """For a Loader that needs the thread alone."""
    return batch


def run_after(
    rest: Sequence[Callable[[Any], Any]], on_batch: Optional[Callable[[Any], Any]]
) -> Callable[[Any], Any]:
    """torchvision's untranslated steps on the images of a batch, then the user's own callable."""

    def run(batch: Any) -> Any:
        images = batch["image"] if isinstance(batch, dict) else batch[0]
        for step in rest:
            images = step(images)
        batch = {**batch, "image": images} if isinstance(batch, dict) else (images, *batch[1:])
        return batch if on_batch is None else on_batch(batch)

    return run
