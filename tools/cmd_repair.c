/* SPDX-License-Identifier: Apache-2.0
 *
 * stoker repair: rebuild what a disk has spoilt, or give it up by name. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <stoker/repair.h>

#include "cli_value.h"
#include "commands.h"
#include "interrupt.h"
#include "json_out.h"
#include "progress.h"

typedef struct repair_args {
    stk_repair_options repair;
    int progress;
    bool json;
} repair_args;

#define AT(member) .offset = offsetof(repair_args, member)
static const cli_option options[] = {
    {.kind = CLI_STRING,
     .name = "from",
     .argument = "SRC",
     AT(repair.from),
     .help = "Where the sources lie now: the folder that the packed paths are relative to (of a manifest: its --root), "
             "or the .tar or HDF5 file. Without it nothing can be rebuilt."},
    {.letter = 'n',
     .kind = CLI_FLAG,
     .name = "dry-run",
     AT(repair.dry_run),
     .help = "Find what is damaged and try to rebuild it, but change nothing."},
    {.kind = CLI_FLAG,
     .name = "prune",
     AT(repair.prune),
     .help = "Remove shards that an earlier repair has replaced. They are kept for programs that had DST open then."},
    OPTION_PROGRESS(repair_args, progress),
    OPTION_JSON(repair_args, json, "Print the report as one JSON object on stdout."),
    OPTION_END};

static int run(int argc, char **argv);
const cli_command command_repair = {
    .name = "repair",
    .summary = "rebuild damaged records from their sources",
    .synopsis = "[OPTION]... DST",
    .description =
        "Compares every record's checksum. A damaged record is made anew from its source, where DST.sources names "
        "it, the source still has the same content, and it gives the very bytes that were written: a data set whose "
        "records could all be rebuilt is, byte for byte, the one that was packed. A record that cannot be rebuilt is "
        "marked dead: it keeps its number, label and columns, and whatever reads it reports it as lost. A later "
        "repair that finds its source brings it back. Each record is named on stderr.\n\n"
        "What changes is copied, mended, checked and put in place by rename: programs that have DST open go on with "
        "what they opened. Marking records dead gives the data set another id. Only records can be repaired: when "
        "header, index or trailer are damaged, pack again.",
    .options = options,
    .exit_status = "0 every record is as it was written\n"
                   "1 error\n"
                   "2 finished, but records are dead\n"
                   "64 wrong command line",
    .examples = "stoker repair --dry-run --from photos/train train.stk\n"
                "stoker repair --from photos/train train.stk",
    .min_operands = 1,
    .max_operands = 1,
    .run = run};

typedef struct repair_run {
    progress line;
    bool dry_run;
} repair_run;

static const char *action_words(const repair_run *r, const char *action)
{
    if (!r->dry_run) return action;
    return strcmp(action, "dead") == 0 ? "cannot be rebuilt" : "can be rebuilt";
}

static void on_issue(void *user, const stk_repair_issue *issue)
{
    repair_run *r = user;
    progress_clear(&r->line);
    const char *open = issue->path[0] != '\0' ? " (" : "", *close = issue->path[0] != '\0' ? ")" : "";
    cli_note(&command_repair, "%s: record %" PRIu64 "%s%s%s: %s: %s", issue->file, issue->record, open, issue->path,
             close, action_words(r, issue->action), issue->reason);
}

static bool on_progress(void *user, uint64_t done, uint64_t total, uint64_t bytes_done)
{
    progress_state state = {
        .phase = "check", .done = done, .total = total, .bytes_done = bytes_done, .unit = "records"};
    progress_update(&((repair_run *)user)->line, &state);
    return !interrupted();
}

static void print_json(const stk_repair_report *report, bool dry_run)
{
    json_out json = {.file = stdout};
    json_begin(&json, NULL, '{');
    json_u64(&json, "records", report->records);
    json_u64(&json, "bad", report->bad);
    json_u64(&json, "rebuilt", report->rebuilt);
    json_u64(&json, "dead", report->dead);
    json_u64(&json, "bytes", report->bytes);
    json_real(&json, "seconds", report->seconds, 3);
    json_bool(&json, "dry_run", dry_run);
    json_text(&json, "dataset_id", report->dataset_id);
    json_end(&json, '}');
    fputc('\n', stdout);
}

static void print_text(const char *path, const stk_repair_report *report, bool dry_run)
{
    printf("%s: %" PRIu64 " records, %" PRIu64 " bad: %" PRIu64 " %s, %" PRIu64 " dead%s\n", path, report->records,
           report->bad, report->rebuilt, dry_run ? "can be rebuilt" : "rebuilt", report->dead,
           dry_run ? " or lost; nothing was changed" : "");
}

static int run(int argc, char **argv)
{
    repair_args args = {.progress = -1};
    repair_run r = {.dry_run = false};
    cli_operands operands;
    stk_error error = {0};
    stk_repair_report report;
    stk_repair_options_init(&args.repair);
    int code = cli_parse(&command_repair, argc, argv, &args, &operands);
    if (code != CLI_GO) return code;
    r.dry_run = args.repair.dry_run;
    if (args.repair.dry_run && args.repair.prune)
        return cli_misuse(&command_repair, "--prune removes shards, --dry-run changes nothing; give one of them");
    progress_start(&r.line, args.progress);
    args.repair.issue = on_issue;
    args.repair.progress = on_progress;
    args.repair.user = &r;
    catch_interrupts();
    stk_status status = stk_repair(operands.items[0], &args.repair, &report, &error);
    progress_clear(&r.line);
    if (status == STK_ERR_CANCELLED) return cli_error(&command_repair, "interrupted");
    if (status != STK_OK) return cli_fail(&command_repair, status, &error);
    if (args.json)
        print_json(&report, args.repair.dry_run);
    else
        print_text(operands.items[0], &report, args.repair.dry_run);
    return report.dead > 0 ? CLI_SKIPPED : CLI_OK;
}
