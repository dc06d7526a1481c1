/* SPDX-License-Identifier: Apache-2.0
 *
 * stoker: the command table. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <stoker/version.h>

#include "cli_help.h"
#include "commands.h"

static const cli_command *const commands[] = {&command_pack,    &command_info,   &command_ls,
                                              &command_extract, &command_export, &command_verify,
                                              &command_repair,  &command_bench,  &command_merge,
                                              &command_cache,   &command_stage,  NULL};

static const char description[] =
    "stoker packs folders of small image files into a few big files, once, and feeds training batches out of "
    "them. The pixels of a batch are those that Pillow and torchvision give for the same crop.";

static void print_help(FILE *out)
{
    fputs("Usage: stoker COMMAND [OPTION]... [OPERAND]...\n\n", out);
    cli_wrap(description, 0, 0, out);
    fputs("\nCommands:\n", out);
    for (const cli_command *const *command = commands; *command != NULL; command++) {
        fprintf(out, "  %s", (*command)->name);
        cli_wrap((*command)->summary, 12, 2 + (int)strlen((*command)->name), out);
    }
    fputs("\n'stoker COMMAND --help' shows a command's options; 'stoker --version' the version.\n"
          "Exit status: 0 done, 1 error, 2 finished but files were skipped, 64 wrong command line.\n",
          out);
}

static const cli_command *find(const char *name)
{
    for (const cli_command *const *command = commands; *command != NULL; command++)
        if (strcmp((*command)->name, name) == 0) return *command;
    return NULL;
}

/* --man [COMMAND]: the man pages' source. Not in --help: it serves the build, not the user. */
static int print_man(int argc, char **argv)
{
    if (argc < 3) {
        cli_man_print_main(description, commands, stdout);
        return CLI_OK;
    }
    const cli_command *command = find(argv[2]);
    if (command == NULL) return cli_misuse(NULL, "no command '%s'", argv[2]);
    cli_man_print(command, commands, stdout);
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    if (argc < 2) return cli_misuse(NULL, "no command given");
    const char *first = argv[1];
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0) {
        const cli_command *topic = argc > 2 ? find(argv[2]) : NULL;
        if (topic != NULL)
            cli_help_print(topic, stdout);
        else
            print_help(stdout);
        return CLI_OK;
    }
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0) {
        printf("stoker %s\n", stk_version());
        return CLI_OK;
    }
    if (strcmp(first, "--man") == 0) return print_man(argc, argv);
    const cli_command *command = find(first);
    if (command == NULL) return cli_misuse(NULL, "no command '%s'", first);
    return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error of write(), which is told and cleared up */
    int code = run(argc, argv);
    /* Output that could not be written (a full disk behind a redirection) is an error like any other. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "stoker: standard output: %s\n", strerror(errno));
        return code == CLI_OK ? CLI_ERROR : code;
    }
    return code;
}
