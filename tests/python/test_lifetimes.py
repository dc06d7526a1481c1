# SPDX-License-Identifier: Apache-2.0
"""Who owns a batch's memory, and for how long."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest
import stoker


def checksums(loader: stoker.Loader) -> list[int]:
    return [int(images.astype(np.uint64).sum()) for images, _ in loader]


def test_kept_batches_are_never_overwritten(tiny: Path) -> None:
    ds = stoker.open(tiny)
    kept = [(images, images.copy()) for images, _ in stoker.Loader(ds, 16, transform=stoker.PadCrop(), seed=1)]
    gc.collect()
    assert len(kept) == 14
    assert all(np.array_equal(images, copy) for images, copy in kept)
    addresses = {images.__array_interface__["data"][0] for images, _ in kept}
    assert len(addresses) == 14 and all(address % 64 == 0 for address in addresses)


def test_without_a_copy_and_writable(tiny: Path) -> None:
    images, _ = next(iter(stoker.Loader(stoker.open(tiny), 16)))
    assert not images.flags.owndata and images.flags.writeable and images.flags.c_contiguous
    images[:] = 3
    assert int(images.sum()) == 3 * images.size


def test_a_view_keeps_the_memory(tiny: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), 16, transform=stoker.PadCrop(), shuffle=True)
    iterator = iter(loader)
    images, _ = next(iterator)
    view, copy = images[3:5, ::2], images[3:5, ::2].copy()
    del images
    for _ in range(3):
        list(loader)
    assert np.array_equal(view, copy)


def test_slots_are_used_again(tiny: Path) -> None:
    """A loop that keeps nothing uses the same few slots for ever."""
    loader = stoker.Loader(stoker.open(tiny), 16)
    addresses = set()
    for _ in range(5):
        for images, labels in loader:
            addresses.add(images.__array_interface__["data"][0])
            del images, labels
    assert len(addresses) <= 8
    assert loader.stats()["surplus_slots"] == 0


def test_labels_do_not_keep_images(tiny: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), 16)
    kept = []
    for _ in range(3):
        for images, labels in loader:
            kept.append((labels, loader.batch))
            del images
    assert loader.stats()["surplus_slots"] == 0
    assert len(kept) == 42


def test_batches_outlive_loader_and_dataset(tiny: Path) -> None:
    ds = stoker.open(tiny)
    loader = stoker.Loader(ds, 16)
    images, _ = next(iter(loader))
    copy = images.copy()
    loader.close()
    del loader, ds
    gc.collect()
    assert np.array_equal(images, copy)
    images[0] = 1


def test_closed(tiny: Path) -> None:
    with stoker.Loader(stoker.open(tiny), 16) as loader:
        iterator = iter(loader)
        next(iterator)
    loader.close()
    uses = [lambda: next(iterator), lambda: len(loader), lambda: iter(loader), loader.stats, loader.state_dict]
    for use in uses:
        with pytest.raises(stoker.StateError, match="closed"):
            use()


def n_tasks() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


def wait_for_tasks(at_most: int) -> None:
    deadline = time.monotonic() + 10
    while n_tasks() > at_most and time.monotonic() < deadline:
        time.sleep(0.02)
    assert n_tasks() <= at_most, "threads of a loader that nobody has are still there"


def test_many_loaders_come_and_go(tiny: Path) -> None:
    ds = stoker.open(tiny)
    # What the tests before this one left (numpy's and torch's threads among it) is no matter of these loaders.
    before, tasks_before = threading.active_count(), n_tasks()
    for i in range(60):
        loader = stoker.Loader(ds, 16, num_threads=2, on_batch=(lambda batch: batch) if i % 2 else None)
        iterator = iter(loader)
        for _ in range(i % 4):
            next(iterator)
    del loader, iterator
    gc.collect()
    # A thread that runs on_batch looks every 100 ms whether its loader was let go, so some are still ending.
    deadline = time.monotonic() + 10
    while (threading.active_count() > before or n_tasks() > tasks_before) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() == before
    assert n_tasks() <= tasks_before, "threads of loaders that were let go are still there"


def test_an_exception_in_the_loop(tiny: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), 16)
    with pytest.raises(ZeroDivisionError):
        for images, _ in loader:
            images.sum() / 0 if False else 1 // 0
    assert len(list(loader)) == 14


def test_dlpack(tiny: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), 16, transform=stoker.PadCrop(), shuffle=True)
    images, _ = next(iter(loader))
    copy, address = images.copy(), images.__array_interface__["data"][0]
    other = np.from_dlpack(images)
    del images
    for _ in range(3):
        list(loader)
    assert other.__array_interface__["data"][0] == address
    assert np.array_equal(other, copy)


def test_memory_does_not_grow(tiny: Path) -> None:
    """Many epochs and images later the process is no larger."""

    def rss() -> int:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
        raise AssertionError

    ds = stoker.open(tiny)
    loader = stoker.Loader(ds, 16, transform=stoker.PadCrop())

    def work(n: int) -> None:
        for _ in range(n):
            checksums(loader)
            for i in range(50):
                ds.image(i, size=(40, 40))
                ds.payload(i)

    work(10)
    gc.collect()
    before = rss()
    work(60)
    gc.collect()
    assert rss() - before < 8 << 20


def test_on_batch(tiny: Path) -> None:
    ds = stoker.open(tiny)
    threads = set()

    def on_batch(batch: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray, str]:
        threads.add(threading.current_thread().name)
        images, labels = batch
        return images + 1, labels * 2, "more"

    loader = stoker.Loader(ds, 50, on_batch=on_batch)
    for epoch in range(2):
        plain = list(stoker.Loader(ds, 50))
        hooked = list(loader)
        assert len(hooked) == 5 and loader.epoch == epoch + 1
        for (images, labels), (images1, labels1, text) in zip(plain, hooked):
            assert np.array_equal(images + 1, images1) and np.array_equal(labels * 2, labels1) and text == "more"
    assert threads == {"stoker-on-batch"}


def test_on_batch_raises(tiny: Path) -> None:
    def on_batch(batch: tuple[np.ndarray, np.ndarray]) -> int:
        if batch[0][0, 0, 0, 0] == 50:
            raise RuntimeError("cannot do this one")
        return len(batch[0])

    iterator = iter(stoker.Loader(stoker.open(tiny), 50, on_batch=on_batch))
    assert next(iterator) == 50
    with pytest.raises(RuntimeError, match="this one"):
        next(iterator)
    assert list(iterator) == [50, 50, 11]


def test_on_batch_state_counts_delivered_batches(tiny: Path) -> None:
    def first_pixels(batch: tuple[np.ndarray, np.ndarray]) -> list[int]:
        return batch[0][:, 0, 0, 0].tolist()

    loader = stoker.Loader(stoker.open(tiny), 10, on_batch=first_pixels, shuffle=True)
    whole = [n for batch in loader for n in batch]
    again = stoker.Loader(stoker.open(tiny), 10, on_batch=first_pixels, shuffle=True)
    start = again.state_dict()
    iterator = iter(again)
    assert again.state_dict() == start
    seen = next(iterator) + next(iterator)
    third = stoker.Loader(stoker.open(tiny), 7, shuffle=True)
    third.load_state_dict(again.state_dict())
    seen += [n for images, _ in third for n in images[:, 0, 0, 0].tolist()]
    assert seen == whole


def test_the_garbage_collector_may_run_anywhere(tiny: Path) -> None:
    """Loaders in reference cycles are collected by whichever thread allocates next, also one of their own in the
    midst of its work: no lock may be waited for there."""
    script = """
import gc, sys
import stoker

ds = stoker.open(sys.argv[1])
gc.set_threshold(1, 1, 1)
for i in range(60):
    mine = {"on_batch": lambda batch: batch} if i % 3 == 0 else {}
    mine = {"sample_transform": lambda image: image} if i % 3 == 1 else mine
    loader = stoker.Loader(ds, 4, transform=stoker.Resize(8), num_threads=2, **mine)
    loader.cycle = loader
    next(iter(loader))
    del loader
print("ok")
"""
    done = subprocess.run([sys.executable, "-c", script, str(tiny)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.parametrize("more", [{}, {"device": "dummy"}, {"columns": []}])
def test_closed_by_another_thread(tiny: Path, more: dict[str, object]) -> None:
    """While a thread uses a Loader in every way, another one closes it: the first gets StateError."""
    ds = stoker.open(tiny)
    for i in range(40):
        loader = stoker.Loader(ds, 16, num_threads=2, **more)  # type: ignore[arg-type]
        uses = [loader.stats, loader.state_dict, loader.__len__, lambda loader=loader: list(iter(loader))]
        use, ended = uses[i % len(uses)], []

        def forever(use: object = use, ended: list[bool] = ended) -> None:
            with pytest.raises(stoker.StateError, match="closed"):
                while True:
                    use()  # type: ignore[operator]
            ended.append(True)

        thread = threading.Thread(target=forever)
        thread.start()
        time.sleep(0.002 * (i % 5))
        loader.close()
        thread.join()
        assert ended


class InterruptedLib:
    """C, but Ctrl-C comes during every second wait for a batch, and Python raises it when the wait is over."""

    def __init__(self) -> None:
        self.calls = 0

    def __getattr__(self, name: str) -> object:
        return getattr(stoker._native.lib, name)

    def stk_py_core_next(self, *args: object) -> int:
        status = stoker._native.lib.stk_py_core_next(*args)
        self.calls += 1
        if self.calls % 2 == 1:
            raise KeyboardInterrupt
        return int(status)


@pytest.mark.parametrize("more", [{}, {"device": "dummy"}, {"columns": []}])
def test_a_batch_that_comes_with_ctrl_c(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, object]
) -> None:
    """The loop gets it next, the state does not count it, and set_epoch() forgets it; so does the epoch's end."""
    loader = stoker.Loader(stoker.open(tiny), 50, shuffle=True, **more)  # type: ignore[arg-type]
    want = []
    for epoch in range(2):
        loader.set_epoch(epoch)
        for _ in loader:
            assert loader.batch is not None
            want.append(loader.batch.ids.tolist())
    loader.set_epoch(1)
    iterator, got, state, interrupted = iter(loader), [], loader.state_dict(), 0
    monkeypatch.setattr("stoker._core.lib", InterruptedLib())
    with pytest.raises(KeyboardInterrupt):
        next(iterator)
    assert loader.state_dict() == state
    loader.set_epoch(0)
    for _ in range(2):
        iterator, state, ended = iter(loader), loader.state_dict(), False
        while not ended:
            try:
                next(iterator)
                assert loader.batch is not None
                got.append(loader.batch.ids.tolist())
            except KeyboardInterrupt:
                interrupted += 1
                assert loader.state_dict() == state
            except StopIteration:
                ended = True
            state = loader.state_dict()
    assert got == want
    assert interrupted >= len(want)


def test_a_batch_that_met_an_exception_goes_back(tiny: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), 8)

    def fail(slot: object) -> None:
        raise RuntimeError("on the way")

    iterator = iter(loader)
    next(iterator)
    convert, loader._convert = loader._convert, fail  # type: ignore[assignment]
    for _ in range(20):
        with pytest.raises(RuntimeError, match="on the way"):
            next(iterator)
    loader._convert = convert
    assert sum(1 for _ in iterator) == 6
    assert loader.stats()["surplus_slots"] == 0


@pytest.mark.parametrize("more", [{}, {"device": "dummy"}])
def test_an_exception_in_the_making(tiny: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, object]) -> None:
    """Ctrl-C as soon as the C side is open: its threads end, before the data set that they read does."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    ds = stoker.open(tiny)
    list(stoker.Loader(ds, 16, num_threads=2, **more))  # type: ignore[arg-type]
    gc.collect()
    before = n_tasks()
    monkeypatch.setattr("stoker._loader.weakref.finalize", interrupt)
    for _ in range(5):
        with pytest.raises(KeyboardInterrupt):
            stoker.Loader(ds, 16, num_threads=2, **more)  # type: ignore[arg-type]
        gc.collect()
    monkeypatch.undo()
    del ds
    gc.collect()
    wait_for_tasks(before)


def test_a_new_size_lets_go_of_the_old_loader(tiny: Path) -> None:
    loader = stoker.Loader(stoker.open(tiny), 16, transform=stoker.Resize(8))
    next(iter(loader))
    old = weakref.ref(loader._core)
    loader.size = 12
    assert next(iter(loader))[0].shape == (16, 12, 12, 3)
    gc.collect()
    assert old() is None
