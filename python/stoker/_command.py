# SPDX-License-Identifier: Apache-2.0
"""The stoker command, as ``pip install`` puts it on the PATH: the C program, run in this process."""

from __future__ import annotations

import os
import signal
import sys

from stoker._native import ffi, lib


def main() -> int:
    """Runs the command line and returns its exit code."""
    # Python's own handlers only take note of a signal; the command wants it to end the process, or its own.
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    arguments = [ffi.new("char[]", os.fsencode(a)) for a in ["stoker", *sys.argv[1:]]]
    sys.stdout.flush()
    return int(lib.stk_py_command(len(arguments), ffi.new("char *[]", [*arguments, ffi.NULL])))
