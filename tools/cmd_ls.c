/* SPDX-License-Identifier: Apache-2.0
 *
 * stoker ls: one line a record. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include <stoker/dataset.h>

#include "commands.h"
#include "json_out.h"
#include "record_path.h"
#include "safe_text.h"

typedef struct ls_args {
    stk_dataset_options dataset;
    bool json, nul;
} ls_args;

#define AT(member) .offset = offsetof(ls_args, member)
static const cli_option options[] = {
    {.letter = '0',
     .kind = CLI_FLAG,
     .name = "null",
     AT(nul),
     .help = "End lines with a NUL byte, for paths that hold newlines."},
    OPTION_JSON(
        ls_args, json,
        "Print one JSON object a line. Bytes of a path that are not UTF-8 become \\udc80 to \\udcff, as "
        "Python's surrogateescape writes them."),
    OPTIONS_OPEN(ls_args, dataset),
    OPTION_END};

static int run(int argc, char **argv);
const cli_command command_ls = {
    .name = "ls",
    .summary = "list the records",
    .synopsis = "[OPTION]... DST",
    .description =
        "Prints one line a record, tab-separated: number, label, width, height, encoding, bytes, and the "
        "source's path relative to SRC as raw bytes (on a terminal with '?' for control characters). A record without a label has -1.",
    .options = options,
    .exit_status = "0 done\n1 error\n64 wrong command line",
    .examples = "stoker ls train.stk | awk -F'\\t' '$3 < 64' # records narrower than 64 pixels",
    .min_operands = 1,
    .max_operands = 1,
    .run = run};

static void print_line(uint64_t i, const stk_record_info *record, const stk_value *path, bool nul)
{
    printf("%" PRIu64 "\t%" PRId64 "\t%" PRIu32 "\t%" PRIu32 "\t%s\t%" PRIu64 "\t", i, record->label,
           record->width, record->height, stk_encoding_name(record->encoding), record->n_bytes);
    if (isatty(STDOUT_FILENO) && !nul)
        safe_text(stdout, (const char *)path->data, path->n_bytes);
    else
        fwrite(path->data, 1, path->n_bytes, stdout);
    fputc(nul ? '\0' : '\n', stdout);
}

static void print_json(const stk_dataset *dataset, uint64_t i, const stk_record_info *record,
                       const stk_value *path, bool nul)
{
    json_out json = {.file = stdout};
    json_begin(&json, NULL, '{');
    json_u64(&json, "number", i);
    if (record->label >= 0)
        json_i64(&json, "label", record->label);
    else
        json_null(&json, "label");
    if (record->label >= 0 && record->label < (int64_t)stk_dataset_classes(dataset))
        json_text(&json, "class", stk_dataset_class_name(dataset, (uint32_t)record->label));
    json_u64(&json, "width", record->width);
    json_u64(&json, "height", record->height);
    json_text(&json, "encoding", stk_encoding_name(record->encoding));
    json_u64(&json, "bytes", record->n_bytes);
    json_bytes(&json, "path", path->data, path->n_bytes);
    json_u64(&json, "orientation", record->orientation);
    json_end(&json, '}');
    fputc(nul ? '\0' : '\n', stdout);
}

static stk_status list(const stk_dataset *dataset, const ls_args *args, stk_error *error)
{
    stk_buffer buffer = {0};
    stk_status status = STK_OK;
    uint64_t n = stk_dataset_len(dataset);
    for (uint64_t i = 0; i < n && status == STK_OK && !ferror(stdout); i++) {
        stk_record_info record;
        stk_value path;
        status = stk_dataset_record(dataset, i, &record, error);
        if (status == STK_OK) status = record_path(dataset, i, &buffer, &path, error);
        if (status != STK_OK) break;
        if (args->json)
            print_json(dataset, i, &record, &path, args->nul);
        else
            print_line(i, &record, &path, args->nul);
    }
    record_path_free(&buffer);
    return status;
}

static int run(int argc, char **argv)
{
    ls_args args = {0};
    cli_operands operands;
    stk_error error = {0};
    stk_dataset *dataset = NULL;
    stk_dataset_options_init(&args.dataset);
    int code = cli_parse(&command_ls, argc, argv, &args, &operands);
    if (code != CLI_GO) return code;
    stk_status status = open_dataset(&command_ls, operands.items[0], &args.dataset, &dataset, &error);
    if (status == STK_OK) status = list(dataset, &args, &error);
    stk_dataset_close(&dataset);
    return status == STK_OK ? CLI_OK : cli_fail(&command_ls, status, &error);
}
