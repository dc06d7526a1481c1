/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdio.h>
#include <string.h>

#include "cli_help.h"
#include "cli_value.h"
#include "safe_text.h"

/* Longer than any stk_error with a few words around it. */
enum { LONGEST = 4096 };

static void say(const cli_command *command, const char *format, va_list list)
{
    if (command != NULL)
        fprintf(stderr, "stoker %s: ", command->name);
    else
        fputs("stoker: ", stderr);
    char text[LONGEST];
    int n = vsnprintf(text, sizeof text, format, list);
    if (n > 0) safe_text(stderr, text, strnlen(text, sizeof text));
}

void cli_note(const cli_command *command, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(command, format, list);
    va_end(list);
    fputc('\n', stderr);
}

int cli_error(const cli_command *command, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(command, format, list);
    va_end(list);
    fputc('\n', stderr);
    return CLI_ERROR;
}

int cli_fail(const cli_command *command, stk_status status, const stk_error *error)
{
    if (error->text[0] != '\0') return cli_error(command, "%s", error->text);
    return cli_error(command, "%s", stk_status_name(status));
}

int cli_misuse(const cli_command *command, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(command, format, list);
    va_end(list);
    if (command != NULL)
        fprintf(stderr, "; see 'stoker %s --help'\n", command->name);
    else
        fputs("; see 'stoker --help'\n", stderr);
    return CLI_MISUSE;
}

const char *cli_choice_name(const cli_choice *choices, int value)
{
    for (; choices->name != NULL; choices++)
        if (choices->value == value) return choices->name;
    return "?";
}

static bool is_end(const cli_option *option)
{
    return option->name == NULL && option->help == NULL;
}

/* Finds a long option by the text before '='; *negated tells --no-NAME of a switch. */
static const cli_option *find_long(const cli_command *command, const char *text, size_t length, bool *negated)
{
    for (const cli_option *option = command->options; !is_end(option); option++) {
        if (option->kind == CLI_HEADING) continue;
        *negated = option->kind == CLI_SWITCH && length > 3 && strncmp(text, "no-", 3) == 0 &&
                   strlen(option->name) == length - 3 && strncmp(text + 3, option->name, length - 3) == 0;
        if (*negated || (strlen(option->name) == length && strncmp(text, option->name, length) == 0))
            return option;
    }
    return NULL;
}

static const cli_option *find_short(const cli_command *command, char letter)
{
    for (const cli_option *option = command->options; !is_end(option); option++)
        if (option->kind != CLI_HEADING && option->letter == letter) return option;
    return NULL;
}

static bool takes_value(const cli_option *option)
{
    return option->kind != CLI_FLAG && option->kind != CLI_SWITCH;
}

/* Sets a flag or switch. */
static void set_plain(const cli_option *option, void *args, bool on)
{
    char *member = (char *)args + option->offset;
    if (option->kind == CLI_FLAG)
        memcpy(member, &on, sizeof on);
    else
        memcpy(member, &(int){on ? 1 : 0}, sizeof(int));
}

static int set_value(const cli_command *command, const cli_option *option, void *args, const char *value)
{
    char problem[200];
    if (!cli_value_set(option, args, value, problem, sizeof problem))
        return cli_misuse(command, "--%s: '%s' %s", option->name, value, problem);
    return CLI_GO;
}

/* --name, --name=value, --name value. Advances *i past a value taken from the next argument. */
static int parse_long(const cli_command *command, int argc, char **argv, int *i, void *args)
{
    const char *text = argv[*i] + 2;
    const char *equals = strchr(text, '=');
    size_t length = equals != NULL ? (size_t)(equals - text) : strlen(text);
    bool negated = false;
    if (strcmp(text, "help") == 0) {
        cli_help_print(command, stdout);
        return CLI_OK;
    }
    const cli_option *option = find_long(command, text, length, &negated);
    if (option == NULL) return cli_misuse(command, "unknown option --%.*s", (int)length, text);
    if (!takes_value(option)) {
        if (equals != NULL) return cli_misuse(command, "--%.*s takes no value", (int)length, text);
        set_plain(option, args, !negated);
        return CLI_GO;
    }
    if (equals != NULL) return set_value(command, option, args, equals + 1);
    if (*i + 1 >= argc) return cli_misuse(command, "--%s needs a value: %s", option->name, option->argument);
    return set_value(command, option, args, argv[++*i]);
}

/* -x, -xVALUE, -x VALUE, and flags together: -xyz. */
static int parse_short(const cli_command *command, int argc, char **argv, int *i, void *args)
{
    for (const char *at = argv[*i] + 1; *at != '\0'; at++) {
        if (*at == 'h') {
            cli_help_print(command, stdout);
            return CLI_OK;
        }
        const cli_option *option = find_short(command, *at);
        if (option == NULL) return cli_misuse(command, "unknown option -%c", *at);
        if (!takes_value(option)) {
            set_plain(option, args, true);
            continue;
        }
        if (at[1] != '\0') return set_value(command, option, args, at + 1);
        if (*i + 1 >= argc) return cli_misuse(command, "-%c needs a value: %s", *at, option->argument);
        return set_value(command, option, args, argv[++*i]);
    }
    return CLI_GO;
}

static int check_operands(const cli_command *command, const cli_operands *operands)
{
    if (operands->n < command->min_operands)
        return cli_misuse(command, "too few operands: stoker %s %s", command->name, command->synopsis);
    if (command->max_operands >= 0 && operands->n > command->max_operands)
        return cli_misuse(command, "one operand too many: '%s'", operands->items[command->max_operands]);
    for (int i = 0; i < operands->n; i++)
        if (operands->items[i][0] == '\0')
            return cli_misuse(command, "operand %d is empty; is it a variable that is not set?", i + 1);
    return CLI_GO;
}

int cli_parse(const cli_command *command, int argc, char **argv, void *args, cli_operands *operands)
{
    /* Operands are moved to the front of argv; that never overtakes the argument being read. */
    bool options_over = false;
    operands->items = argv;
    operands->n = 0;
    for (int i = 1; i < argc; i++) {
        int result = CLI_GO;
        if (options_over || argv[i][0] != '-' || argv[i][1] == '\0')
            operands->items[operands->n++] = argv[i];
        else if (strcmp(argv[i], "--") == 0)
            options_over = true;
        else if (argv[i][1] == '-')
            result = parse_long(command, argc, argv, &i, args);
        else
            result = parse_short(command, argc, argv, &i, args);
        if (result != CLI_GO) return result;
    }
    return check_operands(command, operands);
}
