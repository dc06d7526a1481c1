/* SPDX-License-Identifier: Apache-2.0
 *
 * stoker export: a data set for other software. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include <stoker/convert.h>

#include "commands.h"
#include "interrupt.h"
#include "json_out.h"
#include "progress.h"

enum { TO_HDF5 = 1, TO_TAR = 2, TO_FOLDER = 3 };
static const cli_choice to_words[] = {{"hdf5", TO_HDF5}, {"tar", TO_TAR}, {"folder", TO_FOLDER}, {NULL, 0}};

static const cli_choice bad_words[] = {{"error", STK_EXPORT_BAD_FAIL}, {"skip", STK_EXPORT_BAD_SKIP}, {NULL, 0}};

/* Left-out records named on stderr one by one; all of them stand in the JSON report. */
enum { NAMED_ISSUES = 1000 };

typedef struct export_args {
    stk_dataset_options dataset;
    stk_export_options export;
    int to, progress;
    bool json;
} export_args;

/* A record that was left out. */
typedef struct left_out {
    uint64_t record;
    char *reason;
} left_out;

typedef struct export_run {
    const char *out;
    progress line;
    double started_s;
    left_out *left_out;
    size_t n_left_out, room;
    bool no_memory; /* for all of them */
} export_run;

#define AT(member) .offset = offsetof(export_args, member)
static const cli_option options[] = {
    {.kind = CLI_CHOICE,
     .name = "to",
     .argument = "NAME",
     AT(to),
     .choices = to_words,
     .help = "hdf5, tar (grouped as WebDataset does) or folder (image files below class folders). By default what the "
             "name says: .h5 and .hdf5, .tar, else folder."},
    {.letter = 'f',
     .kind = CLI_FLAG,
     .name = "force",
     AT(export.force),
     .help = "Replace what is there, if it is a data set or empty (for a tar: or a tar). In a folder: files of the same "
             "names with other content, which are an error otherwise."},
    {.kind = CLI_CHOICE,
     .name = "on-bad",
     .argument = "HOW",
     AT(export.on_bad),
     .choices = bad_words,
     .help = "Records that cannot be read, being damaged or dead: error (default) exports nothing, skip leaves them out, "
             "names them, and ends with 2."},
    OPTION_CHUNK_IMAGES(export_args, export.chunk_images),
    {.kind = CLI_STRING,
     .name = "hdf5-filter",
     .argument = "NAME",
     AT(export.hdf5_filter),
     .help = "HDF5: none (default), gzip, gzip:LEVEL or lzf; raw images of one size only."},
    OPTION_PROGRESS(export_args, progress),
    OPTION_JSON(export_args, json, "Print the report as one JSON object on stdout."),
    OPTIONS_OPEN(export_args, dataset),
    OPTION_END};

static int run(int argc, char **argv);
const cli_command command_export = {
    .name = "export",
    .summary = "write a data set for other software",
    .synopsis = "[OPTION]... DST OUT",
    .description =
        "Writes the records of the data set DST with labels and columns to OUT: an HDF5 file, a tar for WebDataset, or "
        "a folder of image files. HDF5 keeps each record as it is: raw images, arrays and image files (pack --encode "
        "raw, keep) are for any h5py user, but tiles are stoker's own encoding, which other software cannot decode. In "
        "tar and folder tiles become ordinary JPEG files with the same pixels. OUT appears whole or not at all (a "
        "folder that is there already: file by file).",
    .options = options,
    .exit_status = "0 every record was exported\n"
                   "1 error\n"
                   "2 done, but some records were left out; each is named\n"
                   "64 wrong command line",
    .examples = "stoker export train.stk train.h5\nstoker export train.stk train.tar",
    .min_operands = 2,
    .max_operands = 2,
    .run = run};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

static int kind_of(const export_args *args, const char *out)
{
    if (args->to != 0) return args->to;
    if (ends_with(out, ".h5") || ends_with(out, ".hdf5")) return TO_HDF5;
    return ends_with(out, ".tar") ? TO_TAR : TO_FOLDER;
}

/* The end of a name that says a format which export does not write, as pack refuses them; NULL. */
static const char *other_format(const char *out)
{
    static const char *const ENDS[] = {".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".gz", ".zip", ".csv", ".tsv",
                                       ".jsonl", ".json", ".npy", ".npz", ".parquet", ".jpg", ".jpeg", ".png"};
    size_t n = strlen(out);
    for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++) {
        size_t m = strlen(ENDS[i]);
        if (n > m && strcasecmp(out + n - m, ENDS[i]) == 0) return ENDS[i];
    }
    return NULL;
}

/* What cannot be meant. */
static int check_out(const export_args *args, int kind, const char *src, const char *out)
{
    struct stat from, to;
    if (kind != TO_HDF5 && (args->export.hdf5_filter != NULL || args->export.chunk_images != 0))
        return cli_error(&command_export, "%s: --%s is for HDF5 output (OUT.h5)", out,
                         args->export.hdf5_filter != NULL ? "hdf5-filter" : "chunk-images");
    if (stat(src, &from) == 0 && stat(out, &to) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino)
        return cli_error(&command_export, "%s: is the data set itself; give another name for OUT", out);
    const char *other = args->to == 0 && kind == TO_FOLDER ? other_format(out) : NULL;
    if (other != NULL)
        return cli_error(&command_export, "%s: a name that ends with %s is none for an output: OUT.h5, OUT.tar or a folder can "
                         "be written (--to hdf5, --to tar or --to folder insists)", out, other);
    if (kind == TO_FOLDER && ends_with(out, ".stk"))
        return cli_error(&command_export,
                         "%s: export writes an .h5, a .tar or a folder; a .stk is made by stoker pack", out);
    return CLI_OK;
}

static bool on_progress(void *user, uint64_t done, uint64_t total)
{
    export_run *r = user;
    progress_state state = {
        .phase = "write", .done = done, .total = total, .bad = r->n_left_out, .unit = "records"};
    progress_update(&r->line, &state);
    return !interrupted();
}

static void keep(export_run *r, uint64_t record, const char *reason)
{
    if (r->n_left_out == r->room) {
        size_t room = r->room == 0 ? 64 : 2 * r->room;
        left_out *more = realloc(r->left_out, room * sizeof *more);
        r->no_memory |= more == NULL;
        if (more == NULL) return;
        r->left_out = more;
        r->room = room;
    }
    char *copy = strdup(reason);
    r->no_memory |= copy == NULL;
    if (copy != NULL) r->left_out[r->n_left_out++] = (left_out){record, copy};
}

static void on_skipped(void *user, uint64_t record, const char *reason)
{
    export_run *r = user;
    progress_clear(&r->line);
    if (r->n_left_out < NAMED_ISSUES) cli_note(&command_export, "%s", reason);
    keep(r, record, reason);
}

static void on_issue(void *user, const stk_export_issue *issue)
{
    on_skipped(user, issue->record, issue->reason);
}

static void print_json(const export_run *r, const stk_export_report *report)
{
    json_out json = {.file = stdout};
    json_begin(&json, NULL, '{');
    json_u64(&json, "records", report->records);
    json_u64(&json, "skipped", report->skipped);
    json_u64(&json, "bytes", report->bytes);
    json_real(&json, "seconds", progress_now_s() - r->started_s, 3);
    json_begin(&json, "left_out", '[');
    for (size_t i = 0; i < r->n_left_out; i++) {
        json_begin(&json, NULL, '{');
        json_u64(&json, "record", r->left_out[i].record);
        json_text(&json, "reason", r->left_out[i].reason);
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_end(&json, '}');
    fputc('\n', stdout);
}

static int finish(const export_run *r, const export_args *args, const stk_export_report *report)
{
    if (report->skipped > NAMED_ISSUES)
        cli_note(&command_export, "%" PRIu64 " more are not named here", report->skipped - NAMED_ISSUES);
    if (report->skipped > 0)
        cli_note(&command_export, "%" PRIu64 " of %" PRIu64 " records were left out of %s", report->skipped,
                 report->records + report->skipped, r->out);
    if (args->json && r->no_memory) return cli_error(&command_export, "out of memory for the report; %s is whole", r->out);
    if (args->json) print_json(r, report);
    return report->skipped > 0 ? CLI_SKIPPED : CLI_OK;
}

static void note_on_bad(void)
{
    cli_note(&command_export, "--on-bad skip leaves such records out");
}

static int run_folder(export_run *r, const export_args *args, const stk_dataset *dataset, stk_export_report *report)
{
    extract_counts counts = {0};
    extract_request request = {.command = &command_export,
                               .dataset = dataset,
                               .force = args->export.force,
                               .stop_at_conflict = true,
                               .stop_at_bad = args->export.on_bad == STK_EXPORT_BAD_FAIL,
                               .progress = args->progress,
                               .skipped = on_skipped,
                               .user = r};
    int code = export_to_folder(&request, r->out, &counts);
    if (counts.stopped) note_on_bad();
    *report = (stk_export_report){counts.written + counts.same, counts.skipped, counts.bytes + counts.same_bytes};
    return code == CLI_SKIPPED ? CLI_OK : code;
}

static int run_file(export_run *r, export_args *args, const stk_dataset *dataset, stk_export_report *report)
{
    stk_error error = {0};
    args->export.progress = on_progress;
    args->export.issue = on_issue;
    args->export.user = r;
    args->export.report = report;
    progress_start(&r->line, args->progress);
    stk_status status = stk_export(dataset, r->out, &args->export, &error);
    progress_clear(&r->line);
    if (status == STK_ERR_CANCELLED)
        return cli_error(&command_export, "interrupted; %s is as it was before", r->out);
    if (status != STK_OK) {
        int code = cli_fail(&command_export, status, &error);
        if (args->export.on_bad == STK_EXPORT_BAD_FAIL && strncmp(error.text, "record ", 7) == 0) note_on_bad();
        return code;
    }
    if (args->export.to == STK_EXPORT_HDF5) note_tiles(&command_export, dataset, r->out);
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    export_args args = {.progress = -1};
    cli_operands operands;
    stk_error error = {0};
    stk_export_report report = {0};
    stk_dataset *dataset = NULL;
    stk_dataset_options_init(&args.dataset);
    stk_export_options_init(&args.export);
    int code = cli_parse(&command_export, argc, argv, &args, &operands);
    if (code != CLI_GO) return code;
    export_run r = {.out = operands.items[1], .started_s = progress_now_s()};
    int kind = kind_of(&args, r.out);
    code = check_out(&args, kind, operands.items[0], r.out);
    if (code != CLI_OK) return code;
    catch_interrupts();
    args.export.to = kind == TO_TAR ? STK_EXPORT_TAR : STK_EXPORT_HDF5;
    stk_status status = open_dataset(&command_export, operands.items[0], &args.dataset, &dataset, &error);
    if (status != STK_OK) return cli_fail(&command_export, status, &error);
    code = kind == TO_FOLDER ? run_folder(&r, &args, dataset, &report) : run_file(&r, &args, dataset, &report);
    if (code == CLI_OK) code = finish(&r, &args, &report);
    stk_dataset_close(&dataset);
    for (size_t i = 0; i < r.n_left_out; i++) free(r.left_out[i].reason);
    free(r.left_out);
    return code;
}
