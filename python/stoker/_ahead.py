# SPDX-License-Identifier: Apache-2.0
"""A worker thread that runs the user's callable on whole batches while the training loop is busy."""

from __future__ import annotations

import queue
import threading
import weakref
from typing import Any, Callable, NamedTuple, Optional

from stoker._errors import StateError

# Finished batches that wait for the loop; one more is being worked on.
_DEPTH = 2
_POLL_SECONDS = 0.1


class Item(NamedTuple):
    """What the thread hands over: a batch, an exception, or, with neither, the end of the epoch."""

    value: Any = None
    state: Optional[str] = None
    exception: Optional[BaseException] = None
    end: bool = False


class Ahead:
    """Calls produce() in a thread until it gives an Item that is the end of the epoch.

    produce must not hold the owner: once this object is gone the thread stops by itself.
    """

    def __init__(self, produce: Callable[[], Item]) -> None:
        self._queue: queue.Queue[Item] = queue.Queue(_DEPTH)
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=_run, args=(produce, self._queue, self._stop), name="stoker-on-batch", daemon=True
        )
        weakref.finalize(self, self._stop.set)
        self._thread.start()

    def get(self) -> Item:
        """The next item; waits in slices, so that Ctrl-C works at once."""
        while True:
            try:
                return self._queue.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                if not self._thread.is_alive() and self._queue.empty():
                    # It has not said that the epoch is over, so this is no end of one.
                    return Item(exception=StateError("the thread of on_batch= ended in the midst of an epoch"))

    def stop(self) -> None:
        """Ends the thread; batches that wait are dropped. Returns when it has ended."""
        self._stop.set()
        self._thread.join()


def _run(produce: Callable[[], Item], out: queue.Queue[Item], stop: threading.Event) -> None:
    while not stop.is_set():
        item = _item(produce)
        while not stop.is_set():
            try:
                out.put(item, timeout=_POLL_SECONDS)
                break
            except queue.Full:
                continue
        if item.end:
            return


def _item(produce: Callable[[], Item]) -> Item:
    """What produce() gives. An exception never ends the thread, which would look like the end of the epoch;
    StopIteration, which ends a for loop silently, becomes RuntimeError, as in a generator."""
    try:
        item = produce()
    except BaseException as exception:
        item = Item(exception=exception)
    if not isinstance(item.exception, StopIteration):
        return item
    error = RuntimeError("a callable of this Loader (on_batch=, sample_transform= ...) raised StopIteration")
    error.__cause__ = item.exception
    return item._replace(exception=error)
