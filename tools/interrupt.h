/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C, SIGTERM and SIGHUP as a flag that long work looks at, so that it can end cleanly. Asked a second time, two seconds
 * later, the process ends at once. */
#ifndef STK_TOOLS_INTERRUPT_H
#define STK_TOOLS_INTERRUPT_H

#include <stdbool.h>

void catch_interrupts(void);
bool interrupted(void);

#endif
