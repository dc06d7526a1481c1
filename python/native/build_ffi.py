# SPDX-License-Identifier: Apache-2.0
"""Writes the C source of the extension module ``stoker._native`` (cffi, API mode, limited API).

The declarations come out of the public headers themselves, so they cannot fall behind: this script strips
what cffi's parser does not read (comments, preprocessor lines, our attribute macros) and hands the rest to
cffi, whose generated code the C compiler then checks against the real headers.

Usage: build_ffi.py OUTPUT.c INCLUDE_DIR SHIM_HEADER
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# Callbacks that py_callbacks.c calls, on the thread that called C; none runs on a worker thread.
CALLBACKS = """
extern "Python+C" {
    bool stk_py_call_pack_progress(void *user, const stk_pack_progress *progress);
    void stk_py_call_pack_issue(void *user, const stk_pack_issue *issue);
    bool stk_py_call_verify_progress(void *user, uint64_t records_done, uint64_t records_total,
                                     uint64_t bytes_done);
    bool stk_py_call_stage_progress(void *user, const stk_stage_progress *progress);
    void stk_py_call_verify_issue(void *user, const stk_verify_issue *issue);
}
"""


def declarations(text: str) -> str:
    """The declarations of one of our headers, without what is only for the C compiler."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    constants = re.findall(r"^#define (STK_[A-Z_]+) (\d+)\s*$", text, flags=re.MULTILINE)
    text = re.sub(r"^#.*?(?<!\\)$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\bSTK_(API|NODISCARD|BEGIN_DECLS|END_DECLS)\b", "", text)
    text = re.sub(r"\bSTK_PRINTF\([^)]*\)", "", text)
    return "\n".join(f"#define {name} {value}" for name, value in constants) + text


def headers(include_dir: Path, name: str = "stoker.h", seen: dict[str, str] | None = None) -> dict[str, str]:
    """The texts of a public header and of all that it includes, each after those that it needs."""
    seen = {} if seen is None else seen
    path = include_dir / "stoker" / name
    text = (path if path.exists() else path.with_suffix(".h.in")).read_text()
    for included in re.findall(r"^#include <stoker/([a-z_]+\.h)>$", text, flags=re.MULTILINE):
        if included not in seen:
            headers(include_dir, included, seen)
    seen[name] = text
    return seen


def cdef(include_dir: Path, shim_header: Path) -> str:
    """Everything that Python sees of C."""
    texts = [*headers(include_dir).values(), shim_header.read_text()]
    return "\n".join(declarations(text) for text in texts) + CALLBACKS


def main(argv: list[str]) -> int:
    if len(argv) != 4:
        sys.exit(f"usage: {argv[0]} OUTPUT.c INCLUDE_DIR SHIM_HEADER")
    output, include_dir, shim_header = Path(argv[1]), Path(argv[2]), Path(argv[3])
    try:
        import cffi
    except ImportError:
        sys.exit("stoker's Python module is built with cffi: pip install cffi")
    ffi = cffi.FFI()
    ffi.cdef(cdef(include_dir, shim_header))
    ffi.set_source("stoker._native", f'#include <stoker/stoker.h>\n#include "{shim_header.name}"\n')
    ffi.emit_c_code(str(output))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
