/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands, one cmd_<name>.c each. */
#ifndef STK_TOOLS_COMMANDS_H
#define STK_TOOLS_COMMANDS_H

#include "cli.h"

extern const cli_command command_pack;
extern const cli_command command_info;
extern const cli_command command_ls;
extern const cli_command command_extract;
extern const cli_command command_verify;
extern const cli_command command_bench;

/* Options that several commands share, for their tables. T is the argument struct's type. */
#define OPTION_JSON(T, member, what)                                                                         \
    {                                                                                                        \
        .kind = CLI_FLAG, .name = "json", .offset = offsetof(T, member), .help = what                        \
    }
#define OPTION_PROGRESS(T, member)                                                                           \
    {                                                                                                        \
        .kind = CLI_SWITCH, .name = "progress", .offset = offsetof(T, member),                               \
        .help = "Show a progress line on stderr. By default only when stderr is a terminal."                 \
    }
#define OPTION_HEADING(text)                                                                                 \
    {                                                                                                        \
        .kind = CLI_HEADING, .help = text                                                                    \
    }
#define OPTION_END                                                                                           \
    {                                                                                                        \
        .kind = CLI_HEADING                                                                                  \
    }

#endif
