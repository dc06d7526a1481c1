# SPDX-License-Identifier: Apache-2.0
"""The site builds without a warning, and its reference is complete."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import stoker

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; warnings are errors."""
    folder = Path(os.environ.get("STOKER_SITE_DIR") or tmp_path_factory.mktemp("site"))
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "--site-dir", folder]
    environment = dict(os.environ, NO_MKDOCS_2_WARNING="1")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def ids(page: Path) -> set[str]:
    return set(re.findall(r'id="([^"]+)"', page.read_text(encoding="utf-8")))


def test_python_reference_is_complete(site: Path) -> None:
    """Each name of the package stands there, and each public method and property of its classes."""
    anchors = ids(site / "reference" / "python.html")
    wanted = {f"stoker.{name}" for name in stoker.__all__}
    for name in stoker.__all__:
        thing = getattr(stoker, name)
        if inspect.isclass(thing) and not issubclass(thing, (tuple, Exception)):
            methods = {m: value for m, value in vars(thing).items() if m[0] != "_" and inspect.isroutine(value)}
            # One without a docstring has its base's, and stands there.
            wanted |= {f"stoker.{name}.{m}" for m, value in methods.items() if value.__doc__}
    missing = sorted(name for name in wanted if not any(a == name or a.endswith(name[6:]) for a in anchors))
    assert not missing


def test_everything_public_is_described() -> None:
    undescribed = [name for name in stoker.__all__ if not (getattr(stoker, name).__doc__ or "").strip()]
    assert not undescribed


def test_command_reference_is_complete(site: Path) -> None:
    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for page in (ROOT / "docs" / "man").glob("*.1"):
        assert f'id="{page.stem}"' in text, page.stem
        for option in re.findall(r"\\-\\-((?:[a-z0-9]|\\-)+)", page.read_text(encoding="utf-8")):
            assert "--" + option.replace("\\", "") in text, option


def test_c_reference_is_complete(site: Path) -> None:
    text = (site / "reference" / "c.html").read_text(encoding="utf-8")
    for header in (ROOT / "include" / "stoker").glob("*.h"):
        for name in re.findall(r"\b(stk_\w+)\(", header.read_text(encoding="utf-8")):
            if re.search(rf"^STK_API\b[^;]*\b{name}\(", header.read_text(encoding="utf-8"), flags=re.MULTILINE):
                assert f"<code>{name}</code>" in text, name


def test_pages_need_nothing_from_elsewhere(site: Path) -> None:
    """No page loads a script, style or font from another host."""
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?://[^"]+)"', text)
        assert not [url for url in loaded if "canonical" not in url], page
