#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what a page of the documents shows, in its order, in a scratch folder with photos/train and photos/val.

    ```console               `$ command` lines are run with bash; what they print is compared with the lines below
    ```python                is run; all of a page's share their names, and what they print is compared with a
    ```text                  block that follows at once
    ```python title="x.py"   is written to that file
    <!-- not run: why -->    in the line before a block: it is shown only
    <!-- any output: why --> likewise: it is run, but what it prints differs from machine to machine
    <!-- run: command -->    a preparation that the page does not show

The scratch folder shows as /root. Numbers, sizes and hashes in output are compared by kind, not by value; a line
of three dots stands for any lines. Blocks of other languages are not run.

usage: pages.py [--update] PAGE...     --update writes what was printed into the page
"""

import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]+)\")?\s*$")


class Step:
    """What to do at one place of a page. expected: None, or the printed lines that the page shows, which stand in
    lines[first:last] of it; with any_output they are an example."""

    def __init__(self, kind, line, text, expected=None, first=0, last=0, any_output=False):
        self.kind, self.line, self.text, self.any_output = kind, line, text, any_output
        self.expected, self.first, self.last = expected, first, last


def console_steps(lines, start, end, any_output):
    """A console block's commands, each with the output below it. A command goes on after a backslash."""
    steps, i = [], start
    while i < end:
        if not lines[i].startswith("$ "):
            raise ValueError(f"line {i + 1}: a console block begins with a command, '$ ...'")
        command, at = lines[i][2:], i + 1
        while lines[i].endswith("\\"):
            i += 1
            command += "\n" + lines[i]
        i += 1
        first = i
        while i < end and not lines[i].startswith("$ "):
            i += 1
        steps.append(Step("shell", at, command, lines[first:i], first, i, any_output))
    return steps


def parse(text):
    lines, steps, i, skip, any_output = text.splitlines(), [], 0, False, False
    while i < len(lines):
        hidden = re.match(r"^<!-- run: (.*) -->$", lines[i])
        match = FENCE.match(lines[i])
        if hidden:
            steps.append(Step("shell", i + 1, hidden[1]))
        elif re.match(r"^<!-- not run: .+ -->$", lines[i]):
            skip = True
        elif re.match(r"^<!-- any output: .+ -->$", lines[i]):
            any_output = True
        elif match:
            end = next(n for n in range(i + 1, len(lines)) if lines[n] == "```")
            language, title = match.groups()
            body = "\n".join(lines[i + 1 : end]) + "\n"
            if skip:
                skip = False
            elif title:
                steps.append(Step("file", i + 1, f"{title}\0{body}"))
            elif language == "python":
                steps.append(Step("python", i + 1, body))
            elif language == "console":
                steps += console_steps(lines, i + 1, end, any_output)
                any_output = False
            elif language == "text" and steps and steps[-1].kind == "python" and steps[-1].expected is None:
                steps[-1].expected, steps[-1].first, steps[-1].last = lines[i + 1 : end], i + 1, end
            i = end
        i += 1
    return lines, steps


def loosened(line):
    """A line without what differs from run to run or machine to machine: numbers, units of size, hashes, the
    kernels and the way to the bytes, runs of spaces."""
    line = re.sub(r"\b[0-9a-f]{16,}\b", "<hash>", line)
    line = re.sub(r"\d+(?:[.,]\d+)*", "<n>", line)
    line = re.sub(r"<n> ?(?:bytes|[kKMGT]i?B)\b", "<size>", line)
    line = re.sub(r"\b(?:avx512|avx2|scalar)\b", "<kernels>", re.sub(r"\b(?:mmap|pread)\b", "<road>", line))
    return re.sub(r"\s+", " ", line).strip()


def fits(want, got):
    if not want:
        return not got
    if want[0].strip() == "...":
        return any(fits(want[1:], got[n:]) for n in range(len(got) + 1))
    return bool(got) and loosened(want[0]) == loosened(got[0]) and fits(want[1:], got[1:])


def run_step(step, page, names):
    """What the step printed, as lines. Raises where it failed."""
    return [line.replace(os.getcwd(), "/root") for line in printed_by(step, page, names)]


def printed_by(step, page, names):
    if step.kind == "file":
        name, _, body = step.text.partition("\0")
        pathlib.Path(name).write_text(body, encoding="utf-8")
        return []
    if step.kind == "shell":
        # Without pipefail: "| head" ends what it reads from.
        done = subprocess.run(
            ["bash", "-eu", "-c", step.text],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        if done.returncode not in (0, 2):  # 2: finished, files were skipped, as many pages show
            raise AssertionError(f"exit code {done.returncode}\n{done.stdout}")
        return done.stdout.splitlines()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * step.line + step.text, str(page), "exec"), names)
    return printed.getvalue().splitlines()


def run_page(page, update=False):
    """None, or what is wrong with the page. Runs in the current folder."""
    lines, steps = parse(page.read_text(encoding="utf-8"))
    if not steps:
        return "nothing on this page is run"
    names, changes = {"__name__": "__main__"}, []
    for step in steps:
        try:
            got = run_step(step, page, names)
        except Exception:
            return f"{page.name}, line {step.line}: failed\n{traceback.format_exc()}"
        if step.expected is None or fits(step.expected, got):
            continue
        if not update and not step.any_output:
            return "\n".join([f"{page.name}, line {step.line}: shows", *step.expected, "--- but printed", *got])
        changes += [(step.first, step.last, got)] if update else []
    for first, last, got in reversed(changes):
        lines[first:last] = got
    if changes:
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return None


def make_photos(folder):
    """photos/train and photos/val: six and two of each class of the sample photos."""
    for source in sorted((ROOT / "examples" / "data" / "clothing").glob("*/*.jpg")):
        index = sorted(source.parent.glob("*.jpg")).index(source)
        target = folder / "photos" / ("train" if index < 6 else "val") / source.parent.name
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def main():
    update = "--update" in sys.argv
    wrong = False
    # The wheel's command stands beside the interpreter.
    os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"
    # One thread for torch: on a busy machine its threads wait for each other most of the time.
    os.environ.update(COLUMNS="100", PYTHONWARNINGS="ignore", OMP_NUM_THREADS="1")
    for page in [pathlib.Path(name).resolve() for name in sys.argv[1:] if name != "--update"]:
        with tempfile.TemporaryDirectory(prefix="stoker-page-") as scratch:
            make_photos(pathlib.Path(scratch))
            os.chdir(scratch)
            os.environ["HOME"] = scratch
            found = run_page(page, update)
            # Copies in memory would outlive a page that failed before it removed them.
            if "stoker stage" in page.read_text(encoding="utf-8"):
                for file in pathlib.Path(scratch).rglob("*.stk"):
                    subprocess.run(["stoker", "stage", "--evict", file], stdout=subprocess.DEVNULL)
            os.chdir("/")
        print(found if found else f"{page.name}: fine")
        wrong = wrong or found is not None
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
