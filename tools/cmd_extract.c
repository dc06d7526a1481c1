/* SPDX-License-Identifier: Apache-2.0
 *
 * stoker extract: records back to files. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stoker/dataset.h>

#include "cli_value.h"
#include "commands.h"
#include "json_out.h"
#include "progress.h"
#include "record_path.h"
#include "safe_write.h"

typedef struct extract_args {
    stk_dataset_options dataset;
    bool force, json;
    int progress;
} extract_args;

typedef struct extract_run {
    const cli_command *command; /* in whose name is spoken */
    const extract_args *args;
    const stk_dataset *dataset;
    const char *folder;
    int folder_fd;
    stk_buffer file, path;
    progress line;
    uint64_t written, same, skipped, bytes;
} extract_run;

#define AT(member) .offset = offsetof(extract_args, member)
static const cli_option options[] = {
    {.letter = 'f', .kind = CLI_FLAG, .name = "force", AT(force), .help = "Overwrite existing files."},
    OPTION_PROGRESS(extract_args, progress),
    OPTION_JSON(extract_args, json, "Print the report as one JSON object on stdout."),
    OPTIONS_OPEN(extract_args, dataset),
    OPTION_END};

static int run(int argc, char **argv);
const cli_command command_extract = {
    .name = "extract",
    .summary = "write records back to files",
    .synopsis = "[OPTION]... DST OUTDIR [NUMBER]...",
    .description =
        "Writes all records, or those with the numbers given, into the folder OUTDIR under their source "
        "paths. A record stored as it was gives the source's bytes; tiles give a JPEG file with the same "
        "pixels, raw records a PNG file, arrays a .npy file. When the name's extension does not fit the "
        "content, the fitting one is appended.\n\n"
        "Nothing is written outside OUTDIR, whatever the paths say. An existing file with the same content "
        "is left alone; another one is not overwritten without --force.",
    .options = options,
    .exit_status = "0 every record was written\n"
                   "1 error\n"
                   "2 done, but some records could not be written; each is named\n"
                   "64 wrong command line",
    .examples = "stoker extract train.stk out\nstoker extract train.stk out 17 4711",
    .min_operands = 2,
    .max_operands = -1,
    .run = run};

static void skip(extract_run *r, uint64_t number, const char *name, const char *reason)
{
    r->skipped++;
    progress_clear(&r->line);
    if (name != NULL)
        cli_note(r->command, "%s/%s: record %" PRIu64 ": %s", r->folder, name, number, reason);
    else if (strncmp(reason, "record ", 7) == 0) /* an error's text that names it already */
        cli_note(r->command, "%s", reason);
    else
        cli_note(r->command, "record %" PRIu64 ": %s", number, reason);
}

/* Writes one record. Only what stops the whole run (the disk is full, say) is an error here. */
static int extract_one(extract_run *r, uint64_t number)
{
    char name[PATH_MAX];
    const char *kind = "bin";
    stk_error error = {0};
    stk_value path;
    stk_status status = stk_dataset_extract(r->dataset, number, &r->file, &kind, &error);
    if (status == STK_OK) status = record_path(r->dataset, number, &r->path, &path, &error);
    if (status == STK_ERR_MEMORY || status == STK_ERR_IO) return cli_fail(r->command, status, &error);
    if (status != STK_OK) {
        skip(r, number, NULL, error.text);
        return CLI_OK;
    }
    if (!record_path_safe(path.data, path.n_bytes, number, kind, name, sizeof name)) {
        skip(r, number, NULL, "its path is too long for this system");
        return CLI_OK;
    }
    switch (safe_write(r->folder_fd, name, r->file.data, r->file.n_bytes, r->args->force)) {
    case SAFE_WRITTEN:
        r->written++;
        r->bytes += r->file.n_bytes;
        return CLI_OK;
    case SAFE_SAME: r->same++; return CLI_OK;
    case SAFE_EXISTS:
        skip(r, number, name, "another file of that name exists; --force overwrites it");
        return CLI_OK;
    default: break;
    }
    if (errno == ENOSPC || errno == EDQUOT || errno == EROFS || errno == EIO)
        return cli_error(r->command, "%s/%s: %s", r->folder, name, strerror(errno));
    skip(r, number, name, strerror(errno));
    return CLI_OK;
}

static int extract_all(extract_run *r, char **numbers, int n_numbers)
{
    uint64_t n = stk_dataset_len(r->dataset);
    uint64_t total = n_numbers > 0 ? (uint64_t)n_numbers : n;
    for (uint64_t i = 0; i < total; i++) {
        uint64_t number = i;
        if (n_numbers > 0 && !cli_to_u64(numbers[i], &number))
            return cli_misuse(r->command, "'%s' is not a record number", numbers[i]);
        if (number >= n)
            return cli_error(r->command, "record %" PRIu64 ": there are only %" PRIu64 " records",
                             number, n);
        int code = extract_one(r, number);
        if (code != CLI_OK) return code;
        progress_state state = {.phase = "write",
                                .done = i + 1,
                                .total = total,
                                .bytes_done = r->bytes,
                                .bad = r->skipped,
                                .unit = "records"};
        progress_update(&r->line, &state);
    }
    return r->skipped > 0 ? CLI_SKIPPED : CLI_OK;
}

static void print_report(const extract_run *r, double seconds)
{
    char size[CLI_BYTES_TEXT];
    if (!r->args->json) {
        printf("%s: %" PRIu64 " files written, %s; %" PRIu64 " were there already; %" PRIu64 " skipped\n",
               r->folder, r->written, cli_bytes_text(r->bytes, size), r->same, r->skipped);
        return;
    }
    json_out json = {.file = stdout};
    json_begin(&json, NULL, '{');
    json_u64(&json, "written", r->written);
    json_u64(&json, "same", r->same);
    json_u64(&json, "skipped", r->skipped);
    json_u64(&json, "bytes", r->bytes);
    json_real(&json, "seconds", seconds, 3);
    json_end(&json, '}');
    fputc('\n', stdout);
}

static int open_folder(extract_run *r)
{
    if (mkdir(r->folder, 0777) != 0 && errno != EEXIST)
        return cli_error(r->command, "%s: cannot make the folder: %s", r->folder, strerror(errno));
    r->folder_fd = open(r->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (r->folder_fd < 0) return cli_error(r->command, "%s: %s", r->folder, strerror(errno));
    return CLI_OK;
}

static int extract(const cli_command *command, const extract_args *args, char **items, int n_items)
{
    extract_run r = {.command = command, .args = args, .folder = items[1], .folder_fd = -1};
    stk_error error = {0};
    stk_dataset *dataset = NULL;
    stk_status status = stk_dataset_open(items[0], &args->dataset, &dataset, &error);
    if (status != STK_OK) return cli_fail(command, status, &error);
    r.dataset = dataset;
    progress_start(&r.line, args->progress);
    int code = open_folder(&r);
    if (code == CLI_OK) code = extract_all(&r, items + 2, n_items - 2);
    progress_clear(&r.line);
    if (code == CLI_OK || code == CLI_SKIPPED) print_report(&r, progress_now_s() - r.line.started_s);
    if (r.folder_fd >= 0) close(r.folder_fd);
    stk_buffer_free(&r.file);
    record_path_free(&r.path);
    stk_dataset_close(&dataset);
    return code;
}

int extract_to_folder(const cli_command *command, const stk_dataset_options *dataset, char *path, char *folder,
                      bool force)
{
    extract_args args = {.dataset = *dataset, .force = force, .progress = -1};
    char *items[2] = {path, folder};
    return extract(command, &args, items, 2);
}

static int run(int argc, char **argv)
{
    extract_args args = {.progress = -1};
    cli_operands operands;
    stk_dataset_options_init(&args.dataset);
    int code = cli_parse(&command_extract, argc, argv, &args, &operands);
    if (code != CLI_GO) return code;
    return extract(&command_extract, &args, operands.items, operands.n);
}
