# SPDX-License-Identifier: Apache-2.0
"""Interpreter exit, Ctrl-C, fork: each case in a process of its own that must end soon."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# What goes wrong at exit does so once in hundreds of runs; tests/run.sh slow asks for that many.
RUNS = int(os.environ.get("STOKER_EXIT_RUNS", "1"))

HEAD = """
import gc, os, signal, sys, threading, time
import numpy as np
import stoker
# A shell starts background jobs with SIGINT ignored, and Python then leaves it so.
signal.signal(signal.SIGINT, signal.default_int_handler)
path = sys.argv[1]
ds = stoker.open(path)
"""


def start(code: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HEAD + code, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONFAULTHANDLER": "1", "MALLOC_PERTURB_": "85"},
    )


def run(code: str, path: Path) -> tuple[int, str, str]:
    process = start(code, path)
    try:
        out, err = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("the process hangs") from None
    return process.returncode, out, err


@pytest.mark.parametrize(
    "code",
    [
        "loader = stoker.Loader(ds, 16)",
        "loader = stoker.Loader(ds, 16); iterator = iter(loader); next(iterator)",
        "import warnings; warnings.simplefilter('ignore'); batches = list(stoker.Loader(ds, 16))",
        "loader = stoker.Loader(ds, 16); next(iter(loader)); del loader",
        "loader = stoker.Loader(ds, 16); images = next(iter(loader))[0]; loader.close()",
        "loader = stoker.Loader(ds, 16); loader.me = loader; next(iter(loader)); del loader; gc.collect()",
        "loader = stoker.Loader(ds, 16, on_batch=lambda b: b); next(iter(loader))",
        "loader = stoker.Loader(ds, 16, on_batch=lambda b: (time.sleep(0.01), b)[1]); it = iter(loader); next(it)",
        "loaders = [stoker.Loader(ds, 16, shuffle=True) for _ in range(5)]; [next(iter(l)) for l in loaders]",
        """
loader = stoker.Loader(ds, 16)
def forever():
    while True:
        for images, labels in loader:
            pass
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.2)
""",
        """
def in_a_thread():
    for images, labels in stoker.Loader(ds, 16, shuffle=True):
        break
thread = threading.Thread(target=in_a_thread)
thread.start()
thread.join()
""",
    ],
)
def test_clean_exit(tiny: Path, code: str) -> None:
    for _ in range(RUNS):
        assert run(code, tiny) == (0, "", "")


USES = {
    "on_batch": "it = iter(stoker.Loader(ds, 8, on_batch=lambda b: b, **more)); next(it)",
    "four at once": """
loaders = [stoker.Loader(ds, 8, on_batch=lambda b: b, **more) for _ in range(4)]
its = [iter(loader) for loader in loaders]
for it in its: next(it)
""",
    "a new size": """
loader = stoker.Loader(ds, 8, on_batch=lambda b: b, **more)
for size in (8, 12):
    loader.size = size
    it = iter(loader)
    next(it)
""",
    "epochs and states": """
loader = stoker.Loader(ds, 8, on_batch=lambda b: b, **more)
for epoch in range(3):
    it = iter(loader)
    next(it)
    loader.set_epoch(epoch * 2)
    next(iter(loader))
    loader.load_state_dict(loader.state_dict())
it = iter(loader)
next(it)
""",
    "kept and closed": """
loader = stoker.Loader(ds, 8, **more)
it = iter(loader)
batches = [next(it) for _ in range(2)]
loader.close()
del loader, it, ds
""",
    "threads that ask": """
loader = stoker.Loader(ds, 8, on_batch=lambda b: b, **more)
it = iter(loader)
def forever():
    while True:
        loader.stats(), loader.state_dict(), len(loader)
for _ in range(2): threading.Thread(target=forever, daemon=True).start()
next(it)
""",
    "a cycle": """
loader = stoker.Loader(ds, 8, on_batch=lambda b: b, **more)
loader.me = loader
it = iter(loader)
next(it)
del loader, it
""",
    "atexit": """
import atexit
loader = stoker.Loader(ds, 8, on_batch=lambda b: b, **more)
it = iter(loader)
next(it)
atexit.register(lambda: (next(it), loader.stats()))
""",
    "masks": """
with stoker.Writer(folder + "/x.stk", force=True, masks=["mask"], encode="raw") as writer:
    for i in range(40): writer.add(np.full((20, 20, 3), i, np.uint8), mask=np.full((20, 20), i, np.uint8))
it = iter(stoker.Loader(stoker.open(folder + "/x.stk"), 4, columns=["mask"], on_batch=lambda b: b, **more))
next(it)
""",
    "a staged copy": """
it = iter(stoker.Loader(stoker.open(path, stage=folder), 8, on_batch=lambda b: b, **more))
next(it)
""",
}
MORE = {
    "samples": "it = iter(stoker.Loader(ds, 8, sample_transform=lambda x: x, num_threads=2)); next(it)",
    "resident": 'it = iter(stoker.Loader(ds, 8, device="dummy", resident="on", num_threads=2)); x = next(it)',
    "a capsule": """
it = iter(stoker.Loader(ds, 8, device="dummy", num_threads=2))
images, labels = next(it)
capsule = images.__dlpack__()
del images
""",
    "images": """
def forever():
    while True: ds.image(3), ds.payload(7)
for _ in range(3): threading.Thread(target=forever, daemon=True).start()
""",
    "a callback at work": """
writer = stoker.Writer(folder + "/x.stk", threads=2, progress=lambda _: time.sleep(0.001))
def forever():
    while True: writer.add(np.zeros((40, 40, 3), np.uint8))
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.2)
""",
    "a Writer at work": """
writer = stoker.Writer(folder + "/x.stk", threads=2)
def forever():
    while True: writer.add(np.zeros((40, 40, 3), np.uint8))
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.2)
""",
}


@pytest.mark.parametrize("device", ["host", "dummy"])
@pytest.mark.parametrize("use", USES)
def test_exit_in_the_midst_of(tiny: Path, tmp_path: Path, use: str, device: str) -> None:
    more = {"num_threads": 2, **({"device": "dummy"} if device == "dummy" else {})}
    head = f"folder = {str(tmp_path)!r}; more = dict(transform=stoker.Resize(16), **{more})"
    for i in range(RUNS):
        assert run(f"{head}\n{USES[use]}\ntime.sleep({i % 7 * 0.003})", tiny) == (0, "", "")


@pytest.mark.parametrize("use", MORE)
def test_exit_in_the_midst_of_more(tiny: Path, tmp_path: Path, use: str) -> None:
    head = f"folder = {str(tmp_path)!r}"
    for i in range(RUNS):
        assert run(f"{head}\n{MORE[use]}\ntime.sleep({i % 7 * 0.003})", tiny) == (0, "", "")


def test_sys_exit_in_the_loop(tiny: Path) -> None:
    assert run("for images, labels in stoker.Loader(ds, 16): sys.exit(7)", tiny) == (7, "", "")


def test_exception_in_the_loop(tiny: Path) -> None:
    code, _, err = run("for images, labels in stoker.Loader(ds, 16): raise RuntimeError('mine')", tiny)
    assert code == 1 and err.rstrip().endswith("RuntimeError: mine") and err.count("Traceback") == 1


def test_exit_from_atexit_and_del(tiny: Path) -> None:
    code = """
import atexit
loader = stoker.Loader(ds, 16)
iterator = iter(loader)
def late():
    print(len(next(iterator)[1]))
atexit.register(late)
class Late:
    def __del__(self):
        try:
            next(iterator)
        except Exception as error:
            sys.stdout.write(type(error).__name__)
late_object = Late()
"""
    status, out, err = run(code, tiny)
    assert status == 0 and out.startswith("16\n") and "hang" not in err


def test_ctrl_c_in_the_loop(tiny: Path) -> None:
    code = """
loader = stoker.Loader(ds, 16, shuffle=True)
print("ready", flush=True)
while True:
    for images, labels in loader:
        pass
"""
    interrupt(code, tiny)


def test_ctrl_c_while_waiting_for_a_hook(tiny: Path) -> None:
    code = """
loader = stoker.Loader(ds, 16, on_batch=lambda batch: time.sleep(0.5))
print("ready", flush=True)
while True:
    for batch in loader:
        pass
"""
    interrupt(code, tiny)


def interrupt(code: str, path: Path) -> None:
    process = start(code, path)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    before = time.monotonic()
    try:
        _, err = process.communicate(timeout=20)
    finally:
        process.kill()
    assert time.monotonic() - before < 2.0
    assert process.returncode == -signal.SIGINT and "KeyboardInterrupt" in err


def test_ctrl_c_while_packing(tiny: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.stk"
    code = f"""
print("ready", flush=True)
stoker.pack({str(corpus / "photos")!r}, {str(out)!r}, encode="raw", threads=1)
print("finished", flush=True)
"""
    interrupt(code, tiny)
    assert not out.exists()


FORK = """
loader = stoker.Loader(ds, 16)
kept = next(iter(loader))
child = os.fork()
if child == 0:
    try:
        {use}
    except stoker.StateError as error:
        print("StateError:", error, flush=True)
    del kept
    gc.collect()
    sys.exit(3)
_, status = os.waitpid(child, 0)
print("child", os.waitstatus_to_exitcode(status))
print(sum(len(labels) for _, labels in loader))
"""


@pytest.mark.parametrize(
    "use", ["next(iter(loader))", "len(loader)", "loader.state_dict()", "loader.set_epoch(3)"]
)
def test_fork(tiny: Path, use: str) -> None:
    status, out, err = run(FORK.format(use=use), tiny)
    assert status == 0, err
    lines = out.splitlines()
    assert lines[0].startswith("StateError: ") and "fork" in lines[0]
    assert lines[1:] == ["child 3", "211"]


def test_a_forked_child_meets_no_end(tiny: Path) -> None:
    """Of an epoch that a thread of the parent's prepares."""
    code = """
iterator = iter(stoker.Loader(ds, 16, on_batch=lambda batch: batch))
next(iterator)
child = os.fork()
try:
    print(sum(1 for _ in iterator), flush=True)
except stoker.StateError:
    print("StateError", flush=True)
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""
    status, out, err = run(code, tiny)
    assert (status, sorted(out.split()), err) == (0, ["13", "StateError"], "")


def test_a_forked_child_reads_records(tiny: Path) -> None:
    status, out, err = run(FORK.format(use="print(ds.image(5).shape, flush=True)"), tiny)
    assert status == 0 and out.splitlines() == ["(32, 32, 3)", "child 3", "211"], err


def test_a_forked_child_makes_its_own_loader(tiny: Path) -> None:
    code = """
child = os.fork()
if child == 0:
    print(sum(len(labels) for _, labels in stoker.Loader(ds, 16)), flush=True)
    sys.exit(0)
_, status = os.waitpid(child, 0)
print("child", os.waitstatus_to_exitcode(status))
"""
    assert run(code, tiny) == (0, "211\nchild 0\n", "")


def test_multiprocessing(tiny: Path, tmp_path: Path) -> None:
    """A Dataset travels to spawned and forked workers."""
    script = tmp_path / "script.py"
    script.write_text(
        """
import multiprocessing, sys
import stoker

def work(args):
    ds, i = args
    return int(ds.image(i)[0, 0, 0])

if __name__ == "__main__":
    ds = stoker.open(sys.argv[1])
    for method in ("spawn", "fork"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(pool.map(work, [(ds, i) for i in (3, 100, 210)]))
"""
    )
    done = subprocess.run([sys.executable, script, tiny], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[3, 100, 210]\n" * 2


def test_import_needs_only_numpy_and_cffi(tiny: Path) -> None:
    code = """
heavy = {"torch", "PIL", "h5py", "cv2", "jax", "ctypes", "multiprocessing", "asyncio"} & set(sys.modules)
print(sorted(heavy - {"ctypes"}))
"""
    assert run(code, tiny) == (0, "[]\n", "")
