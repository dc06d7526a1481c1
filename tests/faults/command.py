#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each command of stoker with a system call that fails: exit code 0, 1 or 2, never a signal or a hang; with 1 a line
on stderr that begins with the command's name; and the inputs are what they were.

The fault layer (fault_layer.c) is preloaded. Of each kind the calls number 1, 2, 3, 5, 8 ... fail, until a run meets
no fault; --all takes every one.

usage: command.py --stoker BIN --layer LIB [--all]
"""
import argparse
import errno
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "data" / "clothing"
FAULTS = [("read", errno.EIO), ("pread", errno.EIO), ("pread", "short"), ("write", errno.ENOSPC),
          ("pwrite", errno.ENOSPC), ("fsync", errno.EIO), ("open", errno.EMFILE), ("rename", errno.EIO),
          ("mkdir", errno.ENOSPC), ("truncate", errno.EIO), ("stat", errno.EIO), ("mmap", errno.ENOMEM),
          ("malloc", errno.ENOMEM), ("thread", errno.EAGAIN), ("close", errno.EIO)]
COMMANDS = [
    ["pack", "-q", "src", "out.stk"],
    ["pack", "-q", "--append", "src", "shards/"],
    ["pack", "-q", "--cache", "cache", "src", "cached.stk"],
    ["info", "--json", "a.stk"],
    ["ls", "a.stk"],
    ["verify", "--deep", "a.stk"],
    ["repair", "--from", "src", "a.stk"],
    ["extract", "--force", "a.stk", "files"],
    ["export", "--force", "--to", "tar", "a.stk", "a.tar"],
    ["merge", "--force", "1.stk", "2.stk", "whole.stk"],
    ["stage", "--to", "place", "a.stk"],
    ["bench", "--seconds", "0.2", "--batch", "4", "--size", "32", "-j", "2", "a.stk"],
]


def digests(folder, names):
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def make(folder, stoker):
    for name in ("hat", "dress"):
        shutil.copytree(DATA / name, folder / "src" / name)
    (folder / "place").mkdir()
    for words in (["pack", "-q", "src", "a.stk"], ["pack", "-q", "src", "shards/"],
                  ["pack", "-q", "--part", "1/2", "src", "1.stk"], ["pack", "-q", "--part", "2/2", "src", "2.stk"]):
        subprocess.run([str(stoker), *words], cwd=folder, check=True)


def look(command, done, log):
    """What is wrong, or None."""
    name = "stoker " + command[0]
    if done.returncode < 0:
        return f"killed by signal {-done.returncode}"
    if done.returncode not in (0, 1, 2):
        return f"exit code {done.returncode}"
    # OpenMP's runtime has words of its own when it cannot start a thread.
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    if done.returncode == 1 and not any(line.startswith(name + ": ") and len(line) > len(name) + 8 for line in lines):
        return f"exit code 1 without a word: {lines[:3]}"
    if not log.exists():
        return "ended without the layer's word"
    return None


def try_command(args, base, command, kind, how):
    """(faults, complaints)"""
    n, faults, bad = 1, 0, []
    work = base.parent / "work"
    while len(bad) < 3:
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(base, work)
        before = digests(work, ["a.stk", "1.stk", "2.stk"])
        log = base.parent / "log"
        log.unlink(missing_ok=True)
        env = dict(os.environ, LD_PRELOAD=str(args.layer), FAULT=f"{kind}:{n}:{how}", FAULT_LOG=str(log))
        where = f"{' '.join(command)}: {kind} number {n} {how}"
        try:
            done = subprocess.run([str(args.stoker), *command], cwd=work, env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=60)
            wrong = look(command, done, log)
        except subprocess.TimeoutExpired:
            wrong = "hangs"
        if wrong is None and digests(work, before) != before:
            wrong = "an input has changed"
        if wrong:
            bad.append(f"{where}: {wrong}")
        elif log.read_text(encoding="ascii").split()[1] == "0":
            break
        faults += 1
        n += 1 if args.all or n < 3 else max(1, n * 2 // 3)
    return faults, bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True, type=pathlib.Path)
    parser.add_argument("--layer", required=True, type=pathlib.Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    args.stoker, args.layer = args.stoker.resolve(), args.layer.resolve()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="stoker-command-",
                                            dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    total, failed = 0, 0
    try:
        base = scratch / "base"
        base.mkdir()
        make(base, args.stoker)
        for command in COMMANDS:
            if args.names and command[0] not in args.names:
                continue
            count, complaints = 0, []
            for kind, how in FAULTS:
                faults, bad = try_command(args, base, command, kind, how)
                count += faults
                complaints += bad
            for line in complaints:
                print(line)
            print(f"{'FAIL' if complaints else 'ok  '} {' '.join(command)}: {count} faults", flush=True)
            total, failed = total + count, failed + len(complaints)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{total} faults, {failed} not met well")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
