#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Command-line cases: each folder here with a cmd.sh is one.

A case's cmd.sh runs with bash in an empty scratch folder. Beside it may lie
  exit           the expected exit code (default 0)
  stdout.exact   the whole expected output; stdout.glob: line by line with * ? [..], where a line of three dots
                 stands for any number of lines; stdout.ignore: anything. Without one of them: nothing may come.
  stderr.*       the same for the other stream
The script finds the command as `stoker`, and in the environment DATA (examples/data), FILES (tests/cli/files)
and CASE (its own folder). Exit code 77 means skipped; the last line of stdout says why.

usage: run.py --stoker BIN [--junit FILE] [--update] [CASE...]
"""
import argparse
import fnmatch
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import xml.sax.saxutils as sax

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def glob_match(pattern, lines):
    """Whether lines fit the pattern's lines; '...' fits any number of them."""
    if not pattern:
        return not lines
    if pattern[0] == "...":
        return any(glob_match(pattern[1:], lines[i:]) for i in range(len(lines) + 1))
    return bool(lines) and fnmatch.fnmatchcase(lines[0], pattern[0]) and glob_match(pattern[1:], lines[1:])


def expected(case, stream):
    for kind in ("exact", "glob", "ignore"):
        path = case / f"{stream}.{kind}"
        if path.exists():
            return kind, path.read_text(encoding="utf-8", errors="surrogateescape")
    return "exact", ""


def compare(case, stream, got):
    """None, or what is wrong with a stream."""
    kind, want = expected(case, stream)
    if kind == "ignore" or (kind == "exact" and got == want):
        return None
    if kind == "glob" and glob_match(want.splitlines(), got.splitlines()):
        return None
    return f"{stream} differs\n--- expected ({kind})\n{want}--- got\n{got}"


def run_case(case, stoker, update):
    """(verdict, text): 'pass', 'fail' or 'skip'."""
    scratch = pathlib.Path(tempfile.mkdtemp(prefix=f"stoker-cli-{case.name}-"))
    env = dict(os.environ, DATA=str(ROOT / "examples" / "data"), FILES=str(HERE / "files"), CASE=str(case),
               PATH=f"{stoker.parent}{os.pathsep}{os.environ['PATH']}", LC_ALL="C.UTF-8")
    try:
        done = subprocess.run(["bash", str(case / "cmd.sh")], cwd=scratch, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
    except subprocess.TimeoutExpired:
        return "fail", "ran longer than 300 s"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    out = done.stdout.decode("utf-8", "surrogateescape")
    err = done.stderr.decode("utf-8", "surrogateescape")
    if done.returncode == 77:
        return "skip", (out.splitlines() or ["no reason given"])[-1]
    if update:
        for stream, text in (("stdout", out), ("stderr", err)):
            if expected(case, stream)[0] == "exact" and text:
                (case / f"{stream}.exact").write_text(text, encoding="utf-8", errors="surrogateescape")
    want_exit = int((case / "exit").read_text()) if (case / "exit").exists() else 0
    wrong = [f"exit code {done.returncode}, expected {want_exit}"] if done.returncode != want_exit else []
    wrong += [text for text in (compare(case, "stdout", out), compare(case, "stderr", err)) if text]
    if wrong and done.returncode != want_exit:
        wrong.append(f"--- stdout\n{out}--- stderr\n{err}")
    return ("fail", "\n".join(wrong)) if wrong else ("pass", "")


def junit(path, rows):
    def clean(text):
        return sax.escape("".join(c if c.isprintable() or c == "\n" else "?" for c in text))
    with open(path, "w", encoding="utf-8", errors="replace") as out:
        out.write('<testsuite name="cli">\n')
        for name, verdict, text, seconds in rows:
            out.write(f'<testcase name="{name}" time="{seconds:.2f}">')
            if verdict == "fail":
                out.write(f"<failure>{clean(text)}</failure>")
            if verdict == "skip":
                out.write(f"<skipped>{clean(text)}</skipped>")
            out.write("</testcase>\n")
        out.write("</testsuite>\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True, type=pathlib.Path)
    parser.add_argument("--junit")
    parser.add_argument("--update", action="store_true", help="write exact outputs that a case has no file for")
    parser.add_argument("cases", nargs="*")
    args = parser.parse_args()
    cases = sorted(path.parent for path in HERE.glob("*/cmd.sh"))
    if args.cases:
        cases = [case for case in cases if case.name in args.cases]
    if not cases:
        sys.exit("no such cases")
    rows = []
    for case in cases:
        start = time.monotonic()
        verdict, text = run_case(case, args.stoker.resolve(), args.update)
        rows.append((case.name, verdict, text, time.monotonic() - start))
        print(f"{verdict:4} {case.name}" + (f": {text}" if text else ""), flush=True)
    if args.junit:
        junit(args.junit, rows)
    return 1 if any(row[1] == "fail" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
