/* SPDX-License-Identifier: Apache-2.0
 *
 * Command lines from tables. A command is described once (name, options, texts); parsing, --help and the
 * man page all come from that one description, so they cannot disagree. */
#ifndef STK_TOOLS_CLI_H
#define STK_TOOLS_CLI_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/status.h>

/* Exit codes, part of the contract. */
enum { CLI_OK = 0, CLI_ERROR = 1, CLI_SKIPPED = 2, CLI_MISUSE = 64 };

/* What cli_parse returns when the command should run; every other value is an exit code. */
enum { CLI_GO = -1 };

/* The type of the argument-struct member that an option sets. */
typedef enum cli_kind {
    CLI_HEADING = 0, /* no option: a heading of the list, text in help */
    CLI_FLAG,        /* bool: --name sets it */
    CLI_SWITCH,      /* int: --name sets 1, --no-name sets 0; the initial value (-1) means "not given" */
    CLI_STRING,      /* const char * */
    CLI_STRINGS,     /* cli_strings: may be given several times */
    CLI_U32,
    CLI_U64,
    CLI_BYTES,  /* uint64_t: a number with an optional KiB, MiB, GiB, TiB (or K, M, G, T; 1024 each) */
    CLI_REAL,   /* double */
    CLI_CHOICE, /* an enum or int: one of `choices` */
    CLI_CUSTOM  /* parsed by `parse` */
} cli_kind;

#define CLI_MAX_STRINGS 64
typedef struct cli_strings {
    const char *items[CLI_MAX_STRINGS];
    size_t n;
} cli_strings;

/* A choice's words; ends with a NULL name. */
typedef struct cli_choice {
    const char *name;
    int value;
} cli_choice;

/* Sets what the option means. target: the argument struct plus the option's offset. Returns NULL, or what is
 * wrong with the value: the end of a sentence that begins with "'VALUE' ". */
typedef const char *(*cli_parse_fn)(void *target, const char *value);

typedef struct cli_option {
    char letter; /* 0 = long name only */
    cli_kind kind;
    const char *name;     /* without dashes */
    const char *argument; /* what the help calls it; NULL for flags and switches */
    size_t offset;        /* of the member in the command's argument struct */
    const char *help;     /* sentences; the defaults are named here */
    const cli_choice *choices;
    cli_parse_fn parse;
    double min, max; /* inclusive; both 0 = any value that the type holds */
} cli_option;

typedef struct cli_command {
    const char *name;
    const char *summary;            /* a few words, for the list of commands and the man page's NAME */
    const char *synopsis;           /* what follows the name: "[OPTION]... SRC DST" */
    const char *description;        /* paragraphs separated by empty lines */
    const cli_option *options;      /* ends with an entry without name and help */
    const char *exit_status;        /* what the exit codes 0, 1, 2 mean here; one a line, "CODE text" */
    const char *examples;           /* command lines, one a line, each optionally followed by "# text" */
    int min_operands, max_operands; /* max -1 = any number */
    int (*run)(int argc, char **argv);
} cli_command;

/* Operands in the order given; points into argv. */
typedef struct cli_operands {
    char **items;
    int n;
} cli_operands;

/* Parses argv (argv[0] = the command's name) into args. Options and operands come in any order; "--" ends
 * the options. Returns CLI_GO, or an exit code after printing help (stdout) or the mistake (stderr). */
int cli_parse(const cli_command *command, int argc, char **argv, void *args, cli_operands *operands);

/* Prints "stoker COMMAND: text" to stderr and returns CLI_ERROR. */
int cli_error(const cli_command *command, const char *format, ...) STK_PRINTF(2, 3);
/* The same for a library call's error. */
int cli_fail(const cli_command *command, stk_status status, const stk_error *error);
/* The same for a wrong command line; points to --help and returns CLI_MISUSE. */
int cli_misuse(const cli_command *command, const char *format, ...) STK_PRINTF(2, 3);

/* Prints a hint or warning, "stoker COMMAND: text", to stderr. */
void cli_note(const cli_command *command, const char *format, ...) STK_PRINTF(2, 3);

/* The word of a choice's value, or "?". */
const char *cli_choice_name(const cli_choice *choices, int value);

#endif
