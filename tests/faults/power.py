#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The loss of power while stoker packs, merges, repairs or appends.

The fault layer (fault_layer.c) kills the command at its n-th pwrite, fsync or rename and keeps a copy of every file as
it was when it was last synced. Then what was not synced is lost, as a disk may lose it: each page written since is
kept, is as it was at the last fsync, or is zeros, by a seeded choice; files that were never synced are cut anywhere.
After that a published DST must be whole, and running the same command again must end with the bytes of an undisturbed
run.

usage: power.py --stoker BIN --layer LIB [--quick] [--seed N]
"""
import argparse
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent.parent / "examples" / "data" / "clothing"
PAGE = 4096


class Trial:
    """One command line in a folder of its own."""

    def __init__(self, args, scratch, name, setup, command, output):
        self.args, self.scratch, self.name = args, scratch, name
        self.setup, self.command, self.output = setup, command, output

    def stoker(self, *words, env=None, cwd):
        return subprocess.run([str(self.args.stoker), *words], cwd=cwd, env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300)

    def prepare(self):
        work = self.scratch / "work"
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(self.scratch / f"base-{self.name}", work, symlinks=True)
        return work


def tree_bytes(path):
    """What a data set consists of, by name; None when it is not there."""
    if path.is_dir():
        return {p.name: p.read_bytes() for p in sorted(path.iterdir())}
    return path.read_bytes() if path.exists() else None


def lose(work, synced, rng):
    """Takes from each file what was not synced."""
    for path in sorted(p for p in work.rglob("*") if p.is_file() and not p.is_symlink()):
        if "src" in path.relative_to(work).parts or path.stat().st_mtime_ns < lose.before:
            continue
        copy = synced / str(path.stat().st_ino)
        now = path.read_bytes()
        if copy.exists():
            old = copy.read_bytes()
            if old == now:
                continue
            size = rng.choice([len(old), len(now)])
        else:
            old = b""
            size = rng.choice([0, len(now), rng.randrange(len(now) + 1)])
        pages = []
        for at in range(0, size, PAGE):
            choices = [now[at:at + PAGE], b""] if at >= len(old) else [now[at:at + PAGE], old[at:at + PAGE]]
            page = rng.choice(choices)[:size - at]
            pages.append(page + bytes(min(PAGE, size - at) - len(page)))
        path.write_bytes(b"".join(pages))


def run_with_kill(trial, work, synced, kind, n):
    """True when the command was killed."""
    shutil.rmtree(synced, ignore_errors=True)
    synced.mkdir()
    lose.before = max(p.stat().st_mtime_ns for p in work.rglob("*")) + 1
    env = dict(os.environ, LD_PRELOAD=str(trial.args.layer), FAULT=f"{kind}:{n}:kill", FAULT_SYNCED=str(synced))
    done = trial.stoker(*trial.command, env=env, cwd=work)
    if done.returncode == -9:
        return True
    if done.returncode not in (0, 2):
        sys.exit(f"{trial.name}: without a kill: {done.stderr.decode()}")
    return False


def check(trial, work, want, was, where):
    """What is wrong after the loss of power and one more run, or None."""
    output = work / trial.output
    found = tree_bytes(output)
    if found is not None and found != was:
        done = trial.stoker("verify", trial.output, cwd=work)
        if done.returncode not in (0, 2):
            return f"{where}: what was published is not whole: {done.stderr.decode()}"
    done = trial.stoker(*trial.command, cwd=work)
    if done.returncode == 1 and b"already" in done.stderr and found == want:
        return None  # published before the power went
    if done.returncode not in (0, 2):
        return f"{where}: the next run fails: {done.stderr.decode()}"
    if tree_bytes(output) != want:
        return f"{where}: the next run gives other bytes"
    left = [p.name for p in work.iterdir() if ".tmp." in p.name]
    return f"{where}: left behind: {left}" if left else None


def run_trial(trial, quick, seed):
    """(kills, complaints)"""
    synced = trial.scratch / "synced"
    base = trial.scratch / f"base-{trial.name}"
    shutil.rmtree(base, ignore_errors=True)
    base.mkdir()
    trial.setup(trial, base)
    was = tree_bytes(base / trial.output)
    work = trial.prepare()
    done = trial.stoker(*trial.command, cwd=work)
    if done.returncode not in (0, 2):
        sys.exit(f"{trial.name}: {done.stderr.decode()}")
    want = tree_bytes(work / trial.output)
    kills, bad = 0, []
    for kind in ("pwrite", "fsync", "rename"):
        n = 1
        while len(bad) < 10:
            rng = random.Random(f"{seed} {trial.name} {kind} {n}")
            work = trial.prepare()
            if not run_with_kill(trial, work, synced, kind, n):
                break
            lose(work, synced, rng)
            kills += 1
            wrong = check(trial, work, want, was, f"{trial.name}, killed at {kind} {n}")
            if wrong:
                bad.append(wrong)
                print(wrong, flush=True)
            n += 1 if not quick or n < 4 else 1 + n // 2
    return kills, bad


def copy_classes(to, *names):
    for name in names:
        shutil.copytree(DATA / name, to / name)


def setup_pack(_, base):
    copy_classes(base / "src", "hat", "dress")


def setup_replace(trial, base):
    setup_pack(trial, base)
    copy_classes(base / "few", "hat")
    trial.stoker("pack", "-q", "few", "out/", cwd=base)


def setup_append(trial, base):
    setup_replace(trial, base)


def setup_merge(trial, base):
    setup_pack(trial, base)
    for part in "12":
        trial.stoker("pack", "-q", "--part", f"{part}/2", "src", f"{part}.stk", cwd=base)


def setup_repair(trial, base):
    setup_pack(trial, base)
    trial.stoker("pack", "-q", "src", "out.stk", cwd=base)
    data = bytearray((base / "out.stk").read_bytes())
    for at in range(5000, len(data) * 9 // 10, 40000):
        data[at] ^= 1
    (base / "out.stk").write_bytes(data)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True, type=pathlib.Path)
    parser.add_argument("--layer", required=True, type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    args.stoker, args.layer = args.stoker.resolve(), args.layer.resolve()
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="stoker-power-", dir=base))
    trials = [
        ("pack", setup_pack, ["pack", "-q", "src", "out.stk"], "out.stk"),
        ("pack-folder", setup_pack, ["pack", "-q", "--shard-size", "1MiB", "--encode", "raw", "src", "out/"], "out"),
        ("pack-replace", setup_replace, ["pack", "-q", "--force", "src", "out/"], "out"),
        ("append", setup_append, ["pack", "-q", "--append", "src", "out/"], "out"),
        ("merge", setup_merge, ["merge", "--force", "1.stk", "2.stk", "out.stk"], "out.stk"),
        ("repair", setup_repair, ["repair", "--from", "src", "out.stk"], "out.stk"),
    ]
    total, failed = 0, 0
    try:
        for name, setup, command, output in trials:
            if args.names and name not in args.names:
                continue
            kills, bad = run_trial(Trial(args, scratch, name, setup, command, output), args.quick, args.seed)
            total, failed = total + kills, failed + len(bad)
            print(f"{'FAIL' if bad else 'ok  '} {name}: power lost {kills} times", flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{total} losses of power, {failed} not survived")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
