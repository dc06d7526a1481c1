/* SPDX-License-Identifier: Apache-2.0
 *
 * What the CPU part of stoker runs on. */
#ifndef STOKER_CPU_H
#define STOKER_CPU_H

#include <stoker/status.h>

STK_BEGIN_DECLS

/* The kernel family in use: "scalar", "avx2", "avx512" (or "neon"). The best that the CPU has, unless the
 * environment variable STOKER_CPU names one. *name points to static text. STK_ERR_ARGUMENT when STOKER_CPU
 * names an unknown family or one that this CPU lacks. Thread-safe. */
STK_API STK_NODISCARD stk_status stk_cpu_family(const char **name, stk_error *error);

/* Threads that this process may really use: min(affinity mask, cgroup v1/v2 quota rounded down, at least
 * 1). Never the machine's core count when a quota is smaller. Thread-safe; reads /proc and /sys. */
STK_API int stk_cpu_usable_threads(void);

STK_END_DECLS

#endif
