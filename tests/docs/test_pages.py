# SPDX-License-Identifier: Apache-2.0
"""What the pages show is run; what they print is what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pages
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    page
    for page in sorted((ROOT / "docs").rglob("*.md"))
    if page.parent.name in ("howto", "zh") or page.name in ("tutorial.md", "autodl.md")
]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT / "docs")) for page in PAGES])
def test_page(page: Path) -> None:
    """In a process of its own: a page may import what it likes and change the environment."""
    command = [sys.executable, Path(pages.__file__), page]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr


def test_readme(tmp_path: Path) -> None:
    """README's Python lines on a user's own folder, and its first commands."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (python,) = re.findall(r"^```python\n.*?^```$", text, flags=re.MULTILINE | re.DOTALL)
    pack, bench = re.findall(r"^    (stoker (?:pack|bench) [^#\n]*)#", text, flags=re.MULTILINE)[:2]
    page = tmp_path / "readme.md"
    commands = f"$ {pack}\n...\n$ {bench.replace('bench', 'bench --seconds 0.5')}\n...\n$ rm train.stk*\n"
    page.write_text(f"```console\n{commands}```\n{python}\n")
    command = [sys.executable, Path(pages.__file__), page]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_page_fails(tmp_path: Path) -> None:
    """The runner notices a wrong output, a failing command, a Python error and a page without anything to run."""
    wrong = {
        "output.md": "```console\n$ echo one\ntwo\n```\n",
        "more.md": "```console\n$ printf 'one\\ntwo\\n'\none\n```\n",
        "code.md": "```console\n$ exit 1\n```\n",
        "python.md": "```python\nassert 1 == 2\n```\n",
        "print.md": '```python\nprint("one")\n```\n```text\ntwo\n```\n',
        "nothing.md": "text\n",
    }
    right = "```console\n$ echo 17 MB in 0.3 s; echo any; echo end\n18 MB in 1.2 s\n...\nend\n```\n"
    (tmp_path / "right.md").write_text(right)
    for name, text in wrong.items():
        (tmp_path / name).write_text(text)
    for name in ["right.md", *wrong]:
        command = [sys.executable, pages.__file__, str(tmp_path / name)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        assert (done.returncode == 0) == (name == "right.md"), name + done.stdout


def test_chinese_readme_has_the_same_commands() -> None:
    """Code blocks, command names and links of README.zh-CN.md are README.md's."""

    def code(path: Path) -> list[str]:
        text = path.read_text(encoding="utf-8")
        fenced = re.findall(r"^```(?:c|python)$\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
        rest = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
        indented = re.findall(r"^    \S.*$", rest, flags=re.MULTILINE)
        # Remarks are translated.
        lines = "\n".join([*fenced, *indented]).splitlines()
        stripped = [re.sub(r"\s+(#|//|/\*) .*$|/\*.*?\*/", "", line) for line in lines]
        return [line for line in stripped if line.strip() and not line.strip().startswith("#include <stdio")]

    english, chinese = code(ROOT / "README.md"), code(ROOT / "README.zh-CN.md")
    assert english == chinese
    for name in ("README.md", "README.zh-CN.md"):
        for target in re.findall(r"\]\(([^):#]+)", (ROOT / name).read_text(encoding="utf-8")):
            assert (ROOT / target).exists(), f"{name}: {target}"


def test_chinese_autodl_has_the_same_commands() -> None:
    def commands(name: str) -> list[str]:
        _, steps = pages.parse((ROOT / "docs" / name).read_text(encoding="utf-8"))
        return [re.sub(r"#.*", "", step.text) for step in steps]

    assert commands("autodl.md") == commands("zh/autodl.md")


def test_reliability_names_what_exists() -> None:
    """Each test that the page names is there, and each fuzz target is on the page."""
    text = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    there = {path.stem for path in (ROOT / "tests").rglob("*.[cp]*")} | {
        path.name for path in (ROOT / "tests" / "cli").iterdir()
    }
    there |= set(
        re.findall(r"add_test\(NAME (\w+)", (ROOT / "tests" / "CMakeLists.txt").read_text(encoding="utf-8"))
    )
    named = set(re.findall(r"\b(?:test|fuzz|faults)_\w+", text))
    for case in re.findall(r"tests/cli/run\.py ([\w ]+)`", text):
        named |= set(case.split())
    assert len(named) > 20 and not named - there
    for path in re.findall(r"tests/[\w/]+\.(?:py|c)\b", text):
        assert (ROOT / path).exists(), path
    targets = {path.stem for path in (ROOT / "tests" / "fuzz").glob("fuzz_*.c")}
    assert not targets - named


def test_environment_has_the_command() -> None:
    assert os.access(Path(sys.executable).parent / "stoker", os.X_OK)
