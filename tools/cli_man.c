/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include <stoker/version.h>

#include "cli_help.h"

/* Text for roff: backslashes and hyphens escaped, lines never begin with a control character. */
static void roff(const char *text, size_t length, FILE *out)
{
    bool line_start = true;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (line_start && (c == '.' || c == '\'')) fputs("\\&", out);
        line_start = c == '\n';
        if (c == '\\')
            fputs("\\e", out);
        else if (c == '-')
            fputs("\\-", out);
        else
            fputc(c, out);
    }
}

static void roff_text(const char *text, FILE *out)
{
    roff(text, strlen(text), out);
}

/* Paragraphs: an empty line becomes .PP. */
static void roff_paragraphs(const char *text, FILE *out)
{
    while (*text != '\0') {
        const char *gap = strstr(text, "\n\n");
        size_t length = gap != NULL ? (size_t)(gap - text) : strlen(text);
        roff(text, length, out);
        fputc('\n', out);
        text += length;
        if (gap != NULL) {
            fputs(".PP\n", out);
            text += strspn(text, "\n");
        }
    }
}

static void title(const char *name, FILE *out)
{
    fputs(".\\\" Written by 'stoker \\-\\-man'; do not edit (CONTRIBUTING.md says how).\n.TH ", out);
    for (const char *at = name; *at != '\0'; at++)
        fputc(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at, out);
    fprintf(out, " 1 \"\" \"stoker %s\" \"User Commands\"\n", stk_version());
}

static void man_option(const cli_option *option, FILE *out)
{
    if (option->kind == CLI_HEADING) {
        fputs(".SS ", out);
        roff_text(option->help, out);
        fputc('\n', out);
        return;
    }
    fputs(".TP\n", out);
    if (option->letter != 0) fprintf(out, "\\fB\\-%c\\fR, ", option->letter);
    fputs("\\fB\\-\\-", out);
    roff_text(option->kind == CLI_SWITCH ? "[no-]" : "", out);
    roff_text(option->name, out);
    fputs("\\fR", out);
    if (option->argument != NULL) {
        fputs("=\\fI", out);
        roff_text(option->argument, out);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    roff_text(option->help, out);
    fputc('\n', out);
}

/* "0 all is well" lines become tagged paragraphs. */
static void man_exit_status(const char *text, FILE *out)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        size_t code = strcspn(text, " ");
        fprintf(out, ".TP\n\\fB%.*s\\fR\n", (int)code, text);
        size_t gap = strspn(text + code, " ");
        roff(text + code + gap, length - code - gap, out);
        fputc('\n', out);
        text += length;
        text += *text == '\n';
    }
}

static void man_see_also(const char *self, const cli_command *const *commands, FILE *out)
{
    fputs(".SH SEE ALSO\n", out);
    if (strcmp(self, "") != 0) fputs(".BR stoker (1)", out);
    for (bool first = strcmp(self, "") == 0; *commands != NULL; commands++) {
        if (strcmp((*commands)->name, self) == 0) continue;
        fprintf(out, "%s.BR stoker\\-%s (1)", first ? "" : ",\n", (*commands)->name);
        first = false;
    }
    fputc('\n', out);
}

void cli_man_print(const cli_command *command, const cli_command *const *commands, FILE *out)
{
    char name[64];
    snprintf(name, sizeof name, "stoker-%s", command->name);
    title(name, out);
    fputs(".SH NAME\n", out);
    roff_text(name, out);
    fputs(" \\- ", out);
    roff_text(command->summary, out);
    fprintf(out, "\n.SH SYNOPSIS\n.B stoker %s\n", command->name);
    roff_text(command->synopsis, out);
    fputs("\n.SH DESCRIPTION\n", out);
    roff_paragraphs(command->description, out);
    fputs(".SH OPTIONS\n", out);
    for (const cli_option *option = command->options; option->name != NULL || option->help != NULL; option++)
        man_option(option, out);
    fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nShow a summary of the options.\n.SH EXIT STATUS\n", out);
    man_exit_status(command->exit_status, out);
    if (command->examples != NULL) {
        fputs(".SH EXAMPLES\n.nf\n", out);
        roff_text(command->examples, out);
        fputs("\n.fi\n", out);
    }
    man_see_also(command->name, commands, out);
}

void cli_man_print_main(const char *description, const cli_command *const *commands, FILE *out)
{
    title("stoker", out);
    fputs(".SH NAME\nstoker \\- keeps a GPU fed with images\n.SH SYNOPSIS\n.B stoker\n\\fICOMMAND\\fR "
          "[\\fIOPTION\\fR]... [\\fIOPERAND\\fR]...\n.SH DESCRIPTION\n",
          out);
    roff_paragraphs(description, out);
    fputs(".SH COMMANDS\n", out);
    for (const cli_command *const *command = commands; *command != NULL; command++) {
        fprintf(out, ".TP\n\\fB%s\\fR\n", (*command)->name);
        roff_text((*command)->summary, out);
        fputc('\n', out);
    }
    fputs(".SH ENVIRONMENT\n.TP\n\\fBSTOKER_CPU\\fR\n", out);
    roff_text(
        "scalar, avx2 or avx512 makes stoker use that family of kernels instead of the best one that the "
        "CPU has. The results are the same, bit for bit.\n",
        out);
    fputs(".SH EXIT STATUS\n", out);
    man_exit_status(
        "0 done\n1 error; the reason is on stderr\n2 finished, but files or records were skipped or "
        "found bad; each is named\n64 wrong command line",
        out);
    man_see_also("", commands, out);
}
