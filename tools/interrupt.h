/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C and SIGTERM as a flag that long work looks at, so that it can end cleanly. */
#ifndef STK_TOOLS_INTERRUPT_H
#define STK_TOOLS_INTERRUPT_H

#include <stdbool.h>

void catch_interrupts(void);
bool interrupted(void);

#endif
