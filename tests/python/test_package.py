# SPDX-License-Identifier: Apache-2.0
"""The package as a package: names, types, style, the command, the extension's symbols."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import stoker

ROOT = Path(__file__).resolve().parents[2]
INSTALLED = Path(stoker.__file__).parent


def test_all_names_are_there() -> None:
    assert set(stoker.__all__) == set(stoker._HOME)
    for name in stoker.__all__:
        value = getattr(stoker, name)
        assert name in dir(stoker)
        assert inspect.getdoc(value), f"stoker.{name} has no docstring"
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = stoker.nothing_like_it
    namespace: dict[str, object] = {}
    exec("from stoker import *", namespace)
    assert set(stoker.__all__) <= set(namespace)


# What stays unloaded: name by name, for a module that creeps in costs everybody's start.
SLOW = ("numpy", "torch", "json", "hashlib", "sqlite3", "concurrent.futures", "logging", "inspect", "ctypes")


def loaded_by(code: str) -> set[str]:
    """The modules that are loaded in a new interpreter after code."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sys.modules, sep='\\n', file=sys.stderr)"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_import_loads_nothing_that_is_not_needed() -> None:
    bare = loaded_by("import __future__, typing")
    assert loaded_by("import stoker") - bare == {"stoker"}
    for code in (
        "import stoker; stoker.__version__",
        "import stoker; stoker.pack, stoker.stage, stoker.verify",
        "import runpy; sys.argv = ['stoker', '--version']\ntry: runpy.run_module('stoker', run_name='__main__')\n"
        "except SystemExit: pass",
    ):
        loaded = loaded_by(code)
        assert "stoker._native" in loaded
        assert not loaded.intersection(SLOW), code
        assert "stoker._loader" not in loaded and "stoker._dataset" not in loaded


def test_opening_a_data_set_loads_no_numpy(photos: Path) -> None:
    """Nor do the classes of a training loop; the first array brings it."""
    begin = f"import stoker; ds = stoker.open({str(photos)!r}); len(ds), ds.classes, ds.id, ds.metadata; "
    loaded = loaded_by(begin + "stoker.Loader, stoker.Train(224, mixup=0.2), stoker.AutoAugment()")
    assert not loaded.intersection(set(SLOW) - {"json"})
    assert "numpy" in loaded_by(begin + "ds.labels")


def test_without_numpy_the_error_says_so(photos: Path) -> None:
    code = f"""
import sys
sys.modules["numpy"] = None
import stoker
ds = stoker.open({str(photos)!r})
print(len(ds))
try:
    ds.image(0)
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"\d+\nstoker needs NumPy for this, which cannot be imported: .*numpy.*\n", done.stdout)


def test_threads_may_need_numpy_at_once(photos: Path) -> None:
    code = f"""
import sys, threading, stoker
ds = stoker.open({str(photos)!r})
assert "numpy" not in sys.modules
gate, got = threading.Barrier(8), []
def run():
    gate.wait()
    got.append(int(ds.image(0).sum()))
threads = [threading.Thread(target=run) for _ in range(8)]
for t in threads: t.start()
for t in threads: t.join()
assert len(got) == 8 and len(set(got)) == 1, got
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_public_methods_have_docstrings() -> None:
    for name in stoker.__all__:
        value = getattr(stoker, name)
        if not inspect.isclass(value):
            continue
        for member, method in vars(value).items():
            if not member.startswith("_") and (inspect.isfunction(method) or isinstance(method, property)):
                assert inspect.getdoc(method), f"stoker.{name}.{member} has no docstring"


def test_every_status_has_an_exception() -> None:
    native = importlib.import_module("stoker._native")
    errors = importlib.import_module("stoker._errors")
    statuses = [name for name in dir(native.lib) if name.startswith("STK_ERR_")]
    assert len(statuses) > 15
    for name in statuses:
        kind = errors._CLASSES[getattr(native.lib, name)]
        assert issubclass(kind, stoker.Error) and getattr(stoker, kind.__name__) is kind
        raised = errors.from_status(getattr(native.lib, name), "the text")
        assert (str(raised) == "the text" and raised.status == name[8:].lower().replace("_", "-")) or raised.status
    assert str(errors.from_status(999, "x")) == "x"


def test_enumerations_are_complete() -> None:
    """A word for each constant of the headers: none was forgotten when the headers grew."""
    native = importlib.import_module("stoker._native")
    enums = importlib.import_module("stoker._enums")
    tables = {
        "STK_FILTER_": enums.FILTERS,
        "STK_PIXELS_": enums.PIXELS,
        "STK_COLOR_": enums.COLORS,
        "STK_MODE_": enums.MODES,
        "STK_DTYPE_": enums.DTYPES,
        "STK_LAYOUT_": enums.LAYOUTS,
        "STK_LAST_": enums.LASTS,
        "STK_ON_BAD_": enums.ON_BADS,
        "STK_ORDER_": enums.ORDERS,
        "STK_IO_": enums.IOS,
        "STK_MIX_": enums.MIX_MODES,
        "STK_ENCODE_": enums.ENCODES,
        "STK_CHECK_": enums.CHECKS,
        "STK_EXIF_": enums.EXIFS,
    }
    for prefix, table in tables.items():
        constants = {getattr(native.lib, name) for name in dir(native.lib) if name.startswith(prefix)}
        assert set(table.values()) == constants, prefix


def test_the_command() -> None:
    script = shutil.which("stoker", path=str(Path(sys.executable).parent))
    commands = [[sys.executable, "-m", "stoker"]] + ([[script]] if script else [])
    for command in commands:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"stoker {stoker.__version__}\n", "")
        done = subprocess.run([*command, "no-such-command"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 64 and "no-such-command" in done.stderr


def test_the_command_packs(photos_folder: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "stoker", "pack", photos_folder, tmp_path / "x.stk", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert '"records": 23' in done.stdout.replace('":23', '": 23')
    assert len(stoker.open(tmp_path / "x.stk")) == 23


@pytest.mark.skipif(not shutil.which("nm"), reason="no nm")
def test_the_extension_exports_nothing_else() -> None:
    (library,) = INSTALLED.glob("_native*.so")
    table = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in table.stdout.splitlines()] == ["PyInit__native"]
    assert ".abi3." in library.name


def test_typed() -> None:
    pytest.importorskip("mypy")
    assert (INSTALLED / "py.typed").exists()
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-incremental",
        "--config-file",
        ROOT / "pyproject.toml",
    ]
    done = subprocess.run([*command, ROOT / "python" / "stoker"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout


def test_types_are_those_at_run_time() -> None:
    """mypy.stubtest: every name that a type checker sees is there, with the same parameters."""
    pytest.importorskip("mypy")
    allowed = ROOT / "tests" / "python" / "stubtest-allow.txt"
    command = [sys.executable, "-m", "mypy.stubtest", "stoker", "--concise", "--allowlist", allowed]
    command += ["--mypy-config-file", ROOT / "pyproject.toml"]
    environment = dict(os.environ)
    if INSTALLED.parent.name != "site-packages":  # mypy finds that by itself, and refuses to be told of it
        environment["MYPYPATH"] = str(INSTALLED.parent)
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_users_code_is_checked(tmp_path: Path) -> None:
    """mypy sees the package's types from outside: right use passes, wrong use does not."""
    pytest.importorskip("mypy")
    (tmp_path / "right.py").write_text(
        """
import stoker
ds = stoker.open("x.stk")
loader = stoker.Loader(ds, batch_size=4, transform=stoker.Train(224), shuffle=True, dtype="float16")
image, label, columns = ds[0]
n: int = image.shape[0] + len(loader) + (label or 0)
part: stoker.Dataset = ds[3:5].select([1])
report: stoker.PackReport = stoker.pack("a", "b", resize="short=256")
try:
    pass
except stoker.DamagedError as error:
    text: str = error.status
"""
    )
    (tmp_path / "wrong.py").write_text(
        """
import stoker
ds = stoker.open(3)
ds.image("x")
stoker.Loader(ds, dtype="float17")
stoker.nothing
"""
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--config-file", ""]
    right = subprocess.run([*command, tmp_path / "right.py"], capture_output=True, text=True, cwd=tmp_path)
    assert right.returncode == 0, right.stdout
    wrong = subprocess.run([*command, tmp_path / "wrong.py"], capture_output=True, text=True, cwd=tmp_path)
    assert [int(line) for line in re.findall(r"wrong\.py:(\d+): error", wrong.stdout)] == [3, 4, 5, 6]


def test_style() -> None:
    pytest.importorskip("ruff")
    folders = [ROOT / "python", ROOT / "examples" / "python", ROOT / "bench" / "python"]
    folders = [folder for folder in folders if folder.exists()]
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", "--no-cache"], ["format", "--check", "--no-cache"]):
        done = subprocess.run([*ruff, *command, *folders], capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == 0, done.stdout


def test_the_declarations_are_those_of_the_headers() -> None:
    """Every function of the public headers can be called from Python, and nothing was declared by hand."""
    native = importlib.import_module("stoker._native")
    for header in sorted((ROOT / "include" / "stoker").glob("*.h")):
        text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.DOTALL)
        for name in re.findall(r"STK_API[^;{]*?\b(stk_\w+)\(", text):
            assert hasattr(native.lib, name), f"{name} of {header.name}"
