/* SPDX-License-Identifier: Apache-2.0
 *
 * stoker verify: is a data set whole? */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <stoker/dataset.h>
#include <stoker/verify.h>

#include "commands.h"
#include "json_out.h"
#include "progress.h"

typedef struct verify_args {
    stk_verify_options verify;
    bool json;
    int progress;
} verify_args;

typedef struct verify_run {
    progress line;
    uint64_t bad;
    uint64_t bad_records; /* of them, those that are records */
} verify_run;

#define AT(member) .offset = offsetof(verify_args, member)
static const cli_option options[] = {
    {.kind = CLI_FLAG, .name = "deep", AT(verify.deep), .help = "Decode each image too."},
    {.letter = 'j',
     .kind = CLI_U32,
     .name = "threads",
     .argument = "N",
     AT(verify.n_threads),
     .min = 1,
     .max = 1024,
     .help = "Threads. By default as many as this process may really use."},
    OPTION_PROGRESS(verify_args, progress),
    OPTION_JSON(verify_args, json, "Print the report as one JSON object on stdout."),
    OPTION_END};

static int run(int argc, char **argv);
const cli_command command_verify = {
    .name = "verify",
    .summary = "check that a data set is whole",
    .synopsis = "[OPTION]... DST",
    .description =
        "Checks header, index, the checksum of every record, and the data set's id. Each finding is named "
        "on stderr with its record, source path, file and offset.",
    .options = options,
    .exit_status = "0 all is well\n"
                   "1 damage was found, or an error\n"
                   "2 all is as the data set says, but it has records that 'stoker repair' marked dead\n"
                   "64 wrong command line",
    .examples = "stoker verify --deep train.stk",
    .min_operands = 1,
    .max_operands = 1,
    .run = run};

static void on_issue(void *user, const stk_verify_issue *issue)
{
    verify_run *r = user;
    r->bad++;
    r->bad_records += issue->record != UINT64_MAX;
    progress_clear(&r->line);
    if (issue->record == UINT64_MAX)
        cli_note(&command_verify, "%s: offset %" PRIu64 ": %s", issue->file, issue->offset, issue->reason);
    else
        cli_note(&command_verify, "%s: offset %" PRIu64 ": record %" PRIu64 "%s%s%s: %s", issue->file,
                 issue->offset, issue->record, issue->path[0] != '\0' ? " (" : "", issue->path,
                 issue->path[0] != '\0' ? ")" : "", issue->reason);
}

static bool on_progress(void *user, uint64_t done, uint64_t total, uint64_t bytes_done)
{
    verify_run *r = user;
    progress_state state = {.phase = "verify",
                            .done = done,
                            .total = total,
                            .bytes_done = bytes_done,
                            .bad = r->bad,
                            .unit = "records"};
    progress_update(&r->line, &state);
    return true;
}

static void print_json(const stk_verify_report *report, bool ok)
{
    json_out json = {.file = stdout};
    json_begin(&json, NULL, '{');
    json_bool(&json, "ok", ok);
    json_u64(&json, "records", report->records);
    json_u64(&json, "bad", report->bad);
    json_u64(&json, "dead", report->dead);
    json_u64(&json, "bytes", report->bytes);
    json_real(&json, "seconds", report->seconds, 3);
    json_end(&json, '}');
    fputc('\n', stdout);
}

static void print_text(const char *path, const stk_verify_report *report, bool deep)
{
    double s = report->seconds > 0 ? report->seconds : 1e-9;
    printf("%s: %" PRIu64 " records %s, %" PRIu64 " bad, ", path, report->records,
           deep ? "checked and decoded" : "checked", report->bad);
    if (report->dead > 0) printf("%" PRIu64 " dead, ", report->dead);
    printf("%.1f MB/s\n", (double)report->bytes / s / 1e6);
}

/* A file that does not even open may hold whole records all the same. */
static void note_salvage(const char *path)
{
    stk_dataset_options how;
    stk_dataset *dataset = NULL;
    stk_dataset_options_init(&how);
    how.salvage = true;
    if (stk_dataset_open(path, &how, &dataset, NULL) != STK_OK) return;
    if (stk_dataset_len(dataset) > 0)
        cli_note(&command_verify,
                 "%s: %" PRIu64 " records can be read; where no good copy is left, 'stoker export --salvage %s OUT.tar' takes "
                 "them out, with their labels", path, stk_dataset_len(dataset), path);
    stk_dataset_close(&dataset);
}

/* Records, unlike what is around them, can be made anew. */
static void note_repair(const char *path)
{
    stk_dataset *dataset = NULL;
    if (stk_dataset_open(path, NULL, &dataset, NULL) != STK_OK) return;
    if (strcmp(stk_dataset_container(dataset), "hdf5") != 0)
        cli_note(&command_verify, "'stoker repair --from SRC %s' rebuilds such records, byte for byte, where their source files "
                 "are left as they were", path);
    stk_dataset_close(&dataset);
}

static int run(int argc, char **argv)
{
    verify_args args = {.progress = -1};
    verify_run r = {.bad = 0};
    cli_operands operands;
    stk_error error = {0};
    stk_verify_report report = {0};
    stk_verify_options_init(&args.verify);
    int code = cli_parse(&command_verify, argc, argv, &args, &operands);
    if (code != CLI_GO) return code;
    args.verify.issue = on_issue;
    args.verify.progress = on_progress;
    args.verify.user = &r;
    progress_start(&r.line, args.progress);
    stk_status status = stk_verify(operands.items[0], &args.verify, &report, &error);
    progress_clear(&r.line);
    bool whole_report = status == STK_OK || status == STK_ERR_CHECKSUM;
    if (whole_report && args.json)
        print_json(&report, status == STK_OK);
    else if (whole_report)
        print_text(operands.items[0], &report, args.verify.deep);
    if (status != STK_OK) (void)cli_fail(&command_verify, status, &error);
    if (whole_report && r.bad_records > 0) note_repair(operands.items[0]);
    if (status == STK_ERR_CORRUPT) note_salvage(operands.items[0]);
    if (status != STK_OK) return CLI_ERROR;
    return report.dead > 0 ? CLI_SKIPPED : CLI_OK;
}
