/* SPDX-License-Identifier: Apache-2.0 */
#include "cli_help.h"

#include <string.h>

enum { WIDTH = 79, OPTION_COLUMN = 28 };

static void spaces(int n, FILE *out)
{
    for (int i = 0; i < n; i++)
        fputc(' ', out);
}

void cli_wrap(const char *text, int indent, int column, FILE *out)
{
    if (column < indent) {
        spaces(indent - column, out);
        column = indent;
    }
    bool first = true;
    while (*text != '\0') {
        size_t newlines = strspn(text, "\n");
        if (newlines > 0) {
            fputs(newlines > 1 ? "\n\n" : "\n", out);
            spaces(indent, out);
            column = indent;
            first = true;
            text += newlines;
            continue;
        }
        size_t length = strcspn(text, " \n");
        if (!first && column + 1 + (int)length > WIDTH) {
            fputc('\n', out);
            spaces(indent, out);
            column = indent;
            first = true;
        }
        if (!first) {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, length, out);
        column += (int)length;
        first = false;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static bool is_end(const cli_option *option)
{
    return option->name == NULL && option->help == NULL;
}

/* "-j, --threads=N" */
static void option_title(const cli_option *option, char *text, size_t capacity)
{
    const char *negate = option->kind == CLI_SWITCH ? "[no-]" : "";
    const char *equals = option->argument != NULL ? "=" : "";
    const char *argument = option->argument != NULL ? option->argument : "";
    if (option->letter != 0)
        snprintf(text, capacity, "-%c, --%s%s%s%s", option->letter, negate, option->name, equals, argument);
    else
        snprintf(text, capacity, "--%s%s%s%s", negate, option->name, equals, argument);
}

static void print_option(const cli_option *option, FILE *out)
{
    char title[120];
    option_title(option, title, sizeof title);
    int indent = option->letter != 0 ? 2 : 6;
    spaces(indent, out);
    fputs(title, out);
    int column = indent + (int)strlen(title);
    if (column + 2 > OPTION_COLUMN) {
        fputc('\n', out);
        column = 0;
    }
    cli_wrap(option->help, OPTION_COLUMN, column, out);
}

/* Calls line(start, length) for each line of text. */
static void each_line(const char *text, void (*line)(const char *, size_t, FILE *), FILE *out)
{
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, "\n");
        line(text, length, out);
        text += length;
        text += *text == '\n';
    }
}

static void print_indented(const char *line, size_t length, FILE *out)
{
    fprintf(out, "  %.*s\n", (int)length, line);
}

void cli_help_print(const cli_command *command, FILE *out)
{
    fprintf(out, "Usage: stoker %s %s\n\n", command->name, command->synopsis);
    cli_wrap(command->description, 0, 0, out);
    if (command->options[0].kind != CLI_HEADING || is_end(command->options)) fputs("\nOptions:\n", out);
    for (const cli_option *option = command->options; !is_end(option); option++) {
        if (option->kind == CLI_HEADING)
            fprintf(out, "\n%s:\n", option->help);
        else
            print_option(option, out);
    }
    print_option(&(cli_option){.letter = 'h', .kind = CLI_FLAG, .name = "help", .help = "Show this help."},
                 out);
    fputs("\nExit status:\n", out);
    each_line(command->exit_status, print_indented, out);
    if (command->examples != NULL) {
        fputs("\nExamples:\n", out);
        each_line(command->examples, print_indented, out);
    }
}
