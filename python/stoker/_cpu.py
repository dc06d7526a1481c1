# SPDX-License-Identifier: Apache-2.0
"""What the CPU part of stoker runs on."""

from __future__ import annotations

from stoker._errors import call
from stoker._native import ffi, lib


def cpu() -> str:
    """The kernel family in use: "scalar", "avx2" or "avx512" (the best the CPU has, or STOKER_CPU).

    Raises ArgumentError when STOKER_CPU names an unknown family or one that this CPU lacks.
    """
    name = ffi.new("const char **")
    call(lib.stk_cpu_family, name)
    return str(ffi.string(name[0]).decode())


def usable_threads() -> int:
    """Threads that this process may really use: affinity and cgroup quota considered, at least 1."""
    return int(lib.stk_cpu_usable_threads())
