/* SPDX-License-Identifier: Apache-2.0
 *
 * stoker cache: looking after a preprocessing cache. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <stoker/cache.h>

#include "cli_value.h"
#include "commands.h"
#include "json_out.h"

typedef struct cache_args {
    uint64_t max_bytes;
    bool json;
} cache_args;

#define AT(member) .offset = offsetof(cache_args, member)
static const cli_option options[] = {
    {.kind = CLI_BYTES,
     .name = "max",
     .argument = "SIZE",
     AT(max_bytes),
     .min = 1,
     .max = 1e18,
     .help = "trim: the new limit. Without it the present one stays."},
    OPTION_JSON(cache_args, json, "Print the result as one JSON object on stdout."),
    OPTION_END};

static int run(int argc, char **argv);
const cli_command command_cache = {
    .name = "cache",
    .summary = "look after a preprocessing cache",
    .synopsis = "[OPTION]... stat|verify|trim|clear DIR",
    .description =
        "DIR is a folder that 'stoker pack --cache DIR' filled: finished records, found by the content of "
        "their source.\n\n"
        "stat shows entries and sizes. verify checks every entry and removes damaged ones. trim sets the "
        "size limit and removes what is above it, longest unused first. clear empties the cache. All of "
        "them may run while packs use it.",
    .options = options,
    .exit_status = "0 done\n1 error\n2 verify: damaged entries were found and removed\n64 wrong command line",
    .examples = "stoker cache trim --max 20GiB cache",
    .min_operands = 2,
    .max_operands = 2,
    .run = run};

static int stat_cache(const char *folder, bool as_json)
{
    stk_error error = {0};
    stk_cache_info info;
    char size[CLI_BYTES_TEXT], limit[CLI_BYTES_TEXT], file[CLI_BYTES_TEXT];
    stk_status status = stk_cache_stat(folder, &info, &error);
    if (status != STK_OK) return cli_fail(&command_cache, status, &error);
    if (!as_json) {
        printf("entries     %" PRIu64 "\nbytes       %s of at most %s\nfile        %s\n", info.entries,
               cli_bytes_text(info.bytes, size), cli_bytes_text(info.max_bytes, limit),
               cli_bytes_text(info.file_bytes, file));
        return CLI_OK;
    }
    json_out json = {.file = stdout};
    json_begin(&json, NULL, '{');
    json_u64(&json, "entries", info.entries);
    json_u64(&json, "bytes", info.bytes);
    json_u64(&json, "max_bytes", info.max_bytes);
    json_u64(&json, "file_bytes", info.file_bytes);
    json_end(&json, '}');
    fputc('\n', stdout);
    return CLI_OK;
}

static void print_counts_json(const char *first, uint64_t a, const char *second, uint64_t b)
{
    json_out json = {.file = stdout};
    json_begin(&json, NULL, '{');
    json_u64(&json, first, a);
    if (second != NULL) json_u64(&json, second, b);
    json_end(&json, '}');
    fputc('\n', stdout);
}

static int verify_cache(const char *folder, bool as_json)
{
    stk_error error = {0};
    uint64_t checked = 0, bad = 0;
    stk_status status = stk_cache_verify(folder, &checked, &bad, &error);
    if (status != STK_OK) return cli_fail(&command_cache, status, &error);
    if (as_json)
        print_counts_json("checked", checked, "bad", bad);
    else
        printf("checked %" PRIu64 " entries, removed %" PRIu64 " damaged ones\n", checked, bad);
    return bad > 0 ? CLI_SKIPPED : CLI_OK;
}

static int trim_cache(const char *folder, uint64_t max_bytes, bool as_json)
{
    stk_error error = {0};
    stk_cache_info info;
    uint64_t removed = 0;
    stk_status status = STK_OK;
    if (max_bytes == 0) {
        status = stk_cache_stat(folder, &info, &error);
        max_bytes = status == STK_OK ? info.max_bytes : 0;
    }
    if (status == STK_OK) status = stk_cache_trim(folder, max_bytes, &removed, &error);
    if (status != STK_OK) return cli_fail(&command_cache, status, &error);
    if (as_json)
        print_counts_json("removed", removed, NULL, 0);
    else
        printf("removed %" PRIu64 " entries\n", removed);
    return CLI_OK;
}

static int clear_cache(const char *folder, bool as_json)
{
    stk_error error = {0};
    stk_status status = stk_cache_clear(folder, &error);
    if (status != STK_OK) return cli_fail(&command_cache, status, &error);
    if (as_json) puts("{\"cleared\": true}");
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    cache_args args = {0};
    cli_operands operands;
    int code = cli_parse(&command_cache, argc, argv, &args, &operands);
    if (code != CLI_GO) return code;
    const char *action = operands.items[0], *folder = operands.items[1];
    if (args.max_bytes != 0 && strcmp(action, "trim") != 0)
        return cli_misuse(&command_cache, "--max goes with trim");
    if (strcmp(action, "stat") == 0) return stat_cache(folder, args.json);
    if (strcmp(action, "verify") == 0) return verify_cache(folder, args.json);
    if (strcmp(action, "trim") == 0) return trim_cache(folder, args.max_bytes, args.json);
    if (strcmp(action, "clear") == 0) return clear_cache(folder, args.json);
    return cli_misuse(&command_cache, "'%s' is none of stat verify trim clear", action);
}
