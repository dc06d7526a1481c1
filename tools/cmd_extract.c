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
#include "interrupt.h"
#include "json_out.h"
#include "name_set.h"
#include "progress.h"
#include "record_path.h"
#include "safe_write.h"

typedef struct extract_args {
    stk_dataset_options dataset;
    bool force, json;
    int progress;
} extract_args;

typedef struct extract_run {
    const extract_request *request;
    extract_counts *counts;
    stk_buffer file, path;
    name_set names; /* that this run wrote to */
    progress line;
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
        "is left alone; another one is not overwritten without --force. Of records that share a path, the second "
        "and later ones get their number into the name.",
    .options = options,
    .exit_status = "0 every record was written\n"
                   "1 error\n"
                   "2 done, but some records could not be written; each is named\n"
                   "64 wrong command line",
    .examples = "stoker extract train.stk out\nstoker extract train.stk out 17 4711",
    .min_operands = 2,
    .max_operands = -1,
    .run = run};

/* Tells why a record is not written, and returns how the run goes on. */
static int skip(extract_run *r, uint64_t number, const char *name, const char *reason)
{
    const extract_request *q = r->request;
    char text[PATH_MAX + 1200];
    if (name != NULL)
        snprintf(text, sizeof text, "%s/%s: record %" PRIu64 ": %s", q->folder, name, number, reason);
    else if (strncmp(reason, "record ", 7) == 0) /* an error's text that names it already */
        snprintf(text, sizeof text, "%s", reason);
    else
        snprintf(text, sizeof text, "record %" PRIu64 ": %s", number, reason);
    progress_clear(&r->line);
    r->counts->stopped = q->stop_at_bad;
    if (q->stop_at_bad) return cli_error(q->command, "%s", text);
    r->counts->skipped++;
    if (q->skipped != NULL)
        q->skipped(q->user, number, text);
    else
        cli_note(q->command, "%s", text);
    return CLI_OK;
}

/* What meets every record alike ends the run: the disk is full, say. */
static bool ends_all(int error)
{
    static const int all[] = {ENOSPC, EDQUOT, EFBIG, EROFS, EIO, EMFILE, ENFILE, ENOMEM};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (error == all[i]) return true;
    return false;
}

/* Two records of one path (a file that was appended twice, "a" and "a.png" as PNG files): both are written, the second
 * under a name with its number, also with --force. */
static safe_result write_file(extract_run *r, uint64_t number, char *name, size_t capacity)
{
    const extract_request *q = r->request;
    bool ours = name_set_has(&r->names, name);
    safe_result result = safe_write(q->folder_fd, name, r->file.data, r->file.n_bytes, q->force && !ours);
    if (result == SAFE_EXISTS && ours) {
        if (!record_path_second(name, capacity, number)) return SAFE_EXISTS;
        result = safe_write(q->folder_fd, name, r->file.data, r->file.n_bytes, q->force);
    }
    if (result == SAFE_FAILED || result == SAFE_EXISTS) return result;
    if (name_set_add(&r->names, name)) return result;
    errno = ENOMEM;
    return SAFE_FAILED;
}

static int conflict(extract_run *r, uint64_t number, const char *name)
{
    const extract_request *q = r->request;
    if (!q->stop_at_conflict) return skip(r, number, name, "another file of that name exists; --force overwrites it");
    progress_clear(&r->line);
    return cli_error(q->command, "%s/%s: record %" PRIu64 ": another file of that name exists; --force overwrites such files, "
                     "or give a new folder", q->folder, name, number);
}

/* Writes one record. Only what stops the whole run (the disk is full, say) is an error here. */
static int extract_one(extract_run *r, uint64_t number)
{
    const extract_request *q = r->request;
    char name[PATH_MAX];
    const char *kind = "bin";
    stk_error error = {0};
    stk_value path;
    stk_status status = stk_dataset_extract(q->dataset, number, &r->file, &kind, &error);
    if (status == STK_OK) status = record_path(q->dataset, number, &r->path, &path, &error);
    if (status == STK_ERR_MEMORY) return cli_fail(q->command, status, &error);
    if (status != STK_OK) return skip(r, number, NULL, error.text);
    if (!record_path_safe(path.data, path.n_bytes, number, kind, name, sizeof name))
        return skip(r, number, NULL, "its path is too long for this system");
    switch (write_file(r, number, name, sizeof name)) {
    case SAFE_WRITTEN:
        r->counts->written++;
        r->counts->bytes += r->file.n_bytes;
        return CLI_OK;
    case SAFE_SAME:
        r->counts->same++;
        r->counts->same_bytes += r->file.n_bytes;
        return CLI_OK;
    case SAFE_EXISTS: return conflict(r, number, name);
    default: break;
    }
    if (ends_all(errno)) return cli_error(q->command, "%s/%s: %s", q->folder, name, strerror(errno));
    return skip(r, number, name, strerror(errno));
}

static int extract_all(extract_run *r, char **numbers, int n_numbers)
{
    const extract_request *q = r->request;
    uint64_t n = stk_dataset_len(q->dataset);
    uint64_t total = n_numbers > 0 ? (uint64_t)n_numbers : n;
    for (uint64_t i = 0; i < total; i++) {
        uint64_t number = i;
        if (n_numbers > 0) (void)cli_to_u64(numbers[i], &number); /* checked before */
        int code = extract_one(r, number);
        if (code != CLI_OK) return code;
        progress_state state = {.phase = "write",
                                .done = i + 1,
                                .total = total,
                                .bytes_done = r->counts->bytes,
                                .bad = r->counts->skipped,
                                .unit = "records"};
        progress_update(&r->line, &state);
        r->counts->interrupted = interrupted();
        if (r->counts->interrupted) return CLI_ERROR;
    }
    return r->counts->skipped > 0 ? CLI_SKIPPED : CLI_OK;
}

/* All of them before the first is written. */
static int check_numbers(const extract_request *q, char **numbers, int n_numbers)
{
    uint64_t n = stk_dataset_len(q->dataset), number;
    for (int i = 0; i < n_numbers; i++) {
        if (!cli_to_u64(numbers[i], &number))
            return cli_misuse(q->command, "'%s' is not a record number", numbers[i]);
        if (number >= n)
            return cli_error(q->command, "record %" PRIu64 ": there are only %" PRIu64 " records", number, n);
    }
    return CLI_OK;
}

int extract_records(const extract_request *request, char **numbers, int n_numbers, extract_counts *counts)
{
    extract_run r = {.request = request, .counts = counts};
    int code = check_numbers(request, numbers, n_numbers);
    if (code != CLI_OK) return code;
    progress_start(&r.line, request->progress);
    code = extract_all(&r, numbers, n_numbers);
    progress_clear(&r.line);
    stk_buffer_free(&r.file);
    record_path_free(&r.path);
    name_set_free(&r.names);
    return code;
}

static void print_report(const char *folder, const extract_counts *n, bool as_json, double seconds)
{
    char size[CLI_BYTES_TEXT];
    if (!as_json) {
        printf("%s: %" PRIu64 " files written, %s; %" PRIu64 " were there already; %" PRIu64 " skipped\n", folder,
               n->written, cli_bytes_text(n->bytes, size), n->same, n->skipped);
        return;
    }
    json_out json = {.file = stdout};
    json_begin(&json, NULL, '{');
    json_u64(&json, "written", n->written);
    json_u64(&json, "same", n->same);
    json_u64(&json, "skipped", n->skipped);
    json_u64(&json, "bytes", n->bytes);
    json_real(&json, "seconds", seconds, 3);
    json_end(&json, '}');
    fputc('\n', stdout);
}

static int open_folder(extract_request *q)
{
    if (mkdir(q->folder, 0777) != 0 && errno != EEXIST)
        return cli_error(q->command, "%s: cannot make the folder: %s", q->folder, strerror(errno));
    q->folder_fd = open(q->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (q->folder_fd < 0) return cli_error(q->command, "%s: %s", q->folder, strerror(errno));
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    extract_args args = {.progress = -1};
    cli_operands operands;
    stk_error error = {0};
    stk_dataset *dataset = NULL;
    extract_counts counts = {0};
    stk_dataset_options_init(&args.dataset);
    int code = cli_parse(&command_extract, argc, argv, &args, &operands);
    if (code != CLI_GO) return code;
    double started = progress_now_s();
    stk_status status = open_dataset(&command_extract, operands.items[0], &args.dataset, &dataset, &error);
    if (status != STK_OK) return cli_fail(&command_extract, status, &error);
    extract_request request = {.command = &command_extract, .dataset = dataset, .folder = operands.items[1],
                               .folder_fd = -1, .force = args.force, .progress = args.progress};
    catch_interrupts();
    code = open_folder(&request);
    if (code == CLI_OK) code = extract_records(&request, operands.items + 2, operands.n - 2, &counts);
    if (counts.interrupted)
        cli_note(&command_extract, "interrupted; %" PRIu64 " files were written to %s, each of them whole; the same "
                 "command goes on from here", counts.written, request.folder);
    if (code == CLI_OK || code == CLI_SKIPPED)
        print_report(request.folder, &counts, args.json, progress_now_s() - started);
    if (request.folder_fd >= 0) close(request.folder_fd);
    stk_dataset_close(&dataset);
    return code;
}
