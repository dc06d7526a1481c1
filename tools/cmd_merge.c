/* SPDX-License-Identifier: Apache-2.0
 *
 * stoker merge: parts that several machines packed, joined. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <stoker/merge.h>

#include "cli_value.h"
#include "commands.h"
#include "interrupt.h"
#include "json_out.h"
#include "progress.h"

typedef struct merge_args {
    stk_merge_options merge;
    int progress;
    bool json;
} merge_args;

#define AT(member) .offset = offsetof(merge_args, member)
static const cli_option options[] = {
    {.letter = 'f',
     .kind = CLI_FLAG,
     .name = "force",
     AT(merge.force),
     .help = "Replace DST if it exists and is a data set or empty. The old one stays until the new one is whole."},
    {.kind = CLI_BYTES,
     .name = "shard-size",
     .argument = "SIZE",
     AT(merge.shard_bytes),
     .min = 1048576,
     .max = 1e15,
     .help = "Size of the files when DST is a folder (ends with '/'). Default 4GiB."},
    OPTION_PROGRESS(merge_args, progress),
    OPTION_JSON(merge_args, json, "Print the report as one JSON object on stdout."),
    OPTION_END};

static int run(int argc, char **argv);
const cli_command command_merge = {
    .name = "merge",
    .summary = "join the parts that 'pack --part' made",
    .synopsis = "[OPTION]... PART... DST",
    .description =
        "Joins parts into DST, which equals byte for byte what one pack of the whole would have written. "
        "The parts may be given in any order and stay as they are. Every record's checksum is compared on "
        "the way. Missing parts, parts given twice, and parts of different packs are refused with a list.",
    .options = options,
    .exit_status = "0 done\n1 error; DST is as it was before\n64 wrong command line",
    .examples = "stoker pack --part 1/2 photos p1.stk\n"
                "stoker pack --part 2/2 photos p2.stk\n"
                "stoker merge p1.stk p2.stk train.stk",
    .min_operands = 2,
    .max_operands = -1,
    .run = run};

static bool on_progress(void *user, uint64_t done, uint64_t total, uint64_t bytes_done)
{
    progress_state state = {
        .phase = "merge", .done = done, .total = total, .bytes_done = bytes_done, .unit = "records"};
    progress_update(user, &state);
    return !interrupted();
}

static void print_report(const char *dst, const stk_merge_report *report, bool as_json)
{
    char size[CLI_BYTES_TEXT];
    if (!as_json) {
        printf("%s: %" PRIu64 " records, %s\n", dst, report->records, cli_bytes_text(report->bytes, size));
        return;
    }
    json_out json = {.file = stdout};
    json_begin(&json, NULL, '{');
    json_u64(&json, "records", report->records);
    json_u64(&json, "bytes", report->bytes);
    json_real(&json, "seconds", report->seconds, 3);
    json_text(&json, "dataset_id", report->dataset_id);
    json_end(&json, '}');
    fputc('\n', stdout);
}

/* What later commands will miss is said now. */
static void note_sources(const char *dst)
{
    char path[PATH_MAX];
    size_t n = strlen(dst);
    while (n > 1 && dst[n - 1] == '/')
        n--;
    int length = snprintf(path, sizeof path, "%.*s.sources", (int)n, dst);
    if (length > 0 && (size_t)length < sizeof path && access(path, F_OK) != 0)
        cli_note(&command_merge,
                 "%s is not there, since a part's .sources is missing: repair will find no sources, and a later pack with "
                 "--force takes nothing over", path);
}

static int run(int argc, char **argv)
{
    merge_args args = {.progress = -1};
    progress line;
    cli_operands operands;
    stk_error error = {0};
    stk_merge_report report;
    stk_merge_options_init(&args.merge);
    const uint64_t shard_bytes = args.merge.shard_bytes;
    args.merge.shard_bytes = 0; /* not said */
    int code = cli_parse(&command_merge, argc, argv, &args, &operands);
    if (code != CLI_GO) return code;
    const char *dst = operands.items[operands.n - 1];
    if (args.merge.shard_bytes != 0 && dst[strlen(dst) - 1] != '/')
        cli_note(&command_merge, "--shard-size has no effect here: %s is one file; write %s/ for a folder of shards", dst, dst);
    if (args.merge.shard_bytes == 0) args.merge.shard_bytes = shard_bytes;
    progress_start(&line, args.progress);
    args.merge.progress = on_progress;
    args.merge.user = &line;
    catch_interrupts();
    stk_status status = stk_merge((const char *const *)operands.items, (uint32_t)(operands.n - 1), dst,
                                  &args.merge, &report, &error);
    progress_clear(&line);
    if (status == STK_ERR_CANCELLED)
        return cli_error(&command_merge, "interrupted; %s is as it was before", dst);
    if (status != STK_OK) return cli_fail(&command_merge, status, &error);
    note_sources(dst);
    print_report(dst, &report, args.json);
    return CLI_OK;
}
