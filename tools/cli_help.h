/* SPDX-License-Identifier: Apache-2.0
 *
 * The two faces of a command's description: --help for a terminal, and a man page. */
#ifndef STK_TOOLS_CLI_HELP_H
#define STK_TOOLS_CLI_HELP_H

#include <stdio.h>

#include "cli.h"

/* The command's help, wrapped at 79 columns. */
void cli_help_print(const cli_command *command, FILE *out);

/* The command's man page in roff (section 1). commands: the list that SEE ALSO names, NULL-terminated. */
void cli_man_print(const cli_command *command, const cli_command *const *commands, FILE *out);

/* stoker(1) itself: the overview. */
void cli_man_print_main(const char *description, const cli_command *const *commands, FILE *out);

/* Prints text wrapped, each line after `indent` spaces; `column` is where the first line already stands.
 * Empty lines separate paragraphs. */
void cli_wrap(const char *text, int indent, int column, FILE *out);

#endif
