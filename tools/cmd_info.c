/* SPDX-License-Identifier: Apache-2.0
 *
 * stoker info: what a data set holds. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <stoker/cpu.h>
#include <stoker/dataset.h>
#include <stoker/libraries.h>

#include "cli_value.h"
#include "commands.h"
#include "json_out.h"
#include "safe_text.h"

/* One for each number, and one for all dead records. */
enum { N_ENCODINGS = STK_ENCODING_DEAD + 1 };

typedef struct info_args {
    stk_dataset_options dataset;
    bool json, classes;
} info_args;

typedef struct info {
    const stk_dataset *dataset;
    uint64_t encodings[N_ENCODINGS];
    uint64_t payload_bytes;
    uint32_t min_width, min_height, max_width, max_height;
    bool has_array;  /* array is that of the first array record */
    stk_array array;
    bool differ;     /* other arrays have other sizes */
    const char *cpu;
} info;

#define AT(member) .offset = offsetof(info_args, member)
static const cli_option options[] = {
    {.kind = CLI_FLAG, .name = "classes", AT(classes), .help = "List the classes with their numbers too."},
    OPTION_JSON(info_args, json, "Print one JSON object on stdout."),
    OPTIONS_OPEN(info_args, dataset),
    OPTION_END};

static int run(int argc, char **argv);
const cli_command command_info = {
    .name = "info",
    .summary = "show what a data set holds",
    .synopsis = "[OPTION]... DST",
    .description =
        "Shows the number of records and classes, how the records are encoded, sizes, the data set's id "
        "(the same content has the same id), columns, and which CPU kernels this machine uses. Reads the "
        "index, not the images.",
    .options = options,
    .exit_status = "0 done\n1 error\n64 wrong command line",
    .min_operands = 1,
    .max_operands = 1,
    .run = run};

static void widen(info *in, const stk_record_info *record)
{
    if (record->width < in->min_width) in->min_width = record->width;
    if (record->height < in->min_height) in->min_height = record->height;
    if (record->width > in->max_width) in->max_width = record->width;
    if (record->height > in->max_height) in->max_height = record->height;
}

/* What a loader serves of arrays: the first one's type and shape. One that is damaged is verify's business. */
static void look_at_array(info *in, uint64_t i, const stk_record_info *record, uint64_t *n_bytes)
{
    stk_buffer buffer = {0};
    if (record->encoding != STK_ENCODING_ARRAY) return;
    if (in->has_array && record->n_bytes != *n_bytes) in->differ = true;
    if (in->has_array) return;
    *n_bytes = record->n_bytes;
    in->has_array = stk_dataset_array(in->dataset, i, &buffer, &in->array, NULL) == STK_OK;
    stk_buffer_free(&buffer);
}

/* One pass over the index. */
static stk_status count(info *in, stk_error *error)
{
    uint64_t n = stk_dataset_len(in->dataset), array_bytes = 0;
    in->min_width = in->min_height = UINT32_MAX;
    for (uint64_t i = 0; i < n; i++) {
        stk_record_info record;
        stk_status status = stk_dataset_record(in->dataset, i, &record, error);
        if (status != STK_OK) return status;
        uint32_t encoding = (uint32_t)record.encoding;
        in->encodings[encoding < STK_ENCODING_DEAD ? encoding : STK_ENCODING_DEAD]++;
        in->payload_bytes += record.n_bytes;
        if (record.encoding != STK_ENCODING_ARRAY) widen(in, &record);
        look_at_array(in, i, &record, &array_bytes);
    }
    if (in->min_width == UINT32_MAX) in->min_width = in->min_height = 0;
    return STK_OK;
}

/* The one encoding's name, "mixed", or "none". */
static const char *encoding_word(const info *in)
{
    const char *word = "none";
    for (int e = 0; e < N_ENCODINGS; e++)
        if (in->encodings[e] > 0)
            word = strcmp(word, "none") == 0 ? stk_encoding_name((stk_encoding)e) : "mixed";
    return word;
}

/* Does the data set have records, or is it a file, that this library reads? */
static bool is_used(const info *in, const stk_library *library)
{
    if (strcmp(library->reads, stk_dataset_container(in->dataset)) == 0) return true;
    for (int e = 0; e < N_ENCODINGS; e++)
        if (in->encodings[e] > 0 && strcmp(stk_encoding_name((stk_encoding)e), library->reads) == 0) return true;
    return false;
}

static void json_libraries(json_out *json)
{
    stk_library library;
    json_begin(json, "libraries", '[');
    for (uint32_t i = 0; stk_library_at(i, &library); i++) {
        json_begin(json, NULL, '{');
        json_text(json, "name", library.name);
        json_text(json, "version", library.version);
        json_bool(json, "suspect", library.suspect);
        if (library.closed_from != NULL) json_text(json, "closed_from", library.closed_from);
        json_end(json, '}');
    }
    json_end(json, ']');
}

/* A word where this data set meets a library with known holes. */
static void print_libraries(const info *in)
{
    stk_library library;
    for (uint32_t i = 0; stk_library_at(i, &library); i++)
        if (library.suspect && is_used(in, &library))
            printf("note        %s %s reads this: versions before %s have known holes (%s), unless your distribution "
                   "closed them; docs/security.md\n",
                   library.name, library.version, library.closed_from, library.hole);
}

static void json_columns(json_out *json, const stk_dataset *dataset)
{
    json_begin(json, "columns", '[');
    for (uint32_t c = 0; c < stk_dataset_columns(dataset); c++) {
        stk_column column;
        if (stk_dataset_column(dataset, c, &column, NULL) != STK_OK) continue;
        json_begin(json, NULL, '{');
        json_text(json, "name", column.name);
        json_text(json, "type", stk_type_name(column.type));
        json_u64(json, "items", column.n_items);
        json_bool(json, "nullable", column.nullable);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void json_array(json_out *json, const info *in)
{
    json_text(json, "array_type", stk_type_name(in->array.type));
    json_begin(json, "array_shape", '[');
    for (uint32_t d = 0; d < in->array.n_dims; d++) json_u64(json, NULL, in->array.shape[d]);
    json_end(json, ']');
    json_bool(json, "array_sizes_differ", in->differ);
}

static void print_json(const info *in)
{
    const stk_dataset *dataset = in->dataset;
    json_out json = {.file = stdout};
    json_begin(&json, NULL, '{');
    json_u64(&json, "records", stk_dataset_len(dataset));
    json_u64(&json, "classes", stk_dataset_classes(dataset));
    json_text(&json, "encoding", encoding_word(in));
    json_u64(&json, "bytes", stk_dataset_bytes(dataset));
    json_text(&json, "dataset_id", stk_dataset_id(dataset));
    json_text(&json, "cpu", in->cpu);
    json_begin(&json, "encodings", '{');
    for (int e = 0; e < N_ENCODINGS; e++)
        if (in->encodings[e] > 0) json_u64(&json, stk_encoding_name((stk_encoding)e), in->encodings[e]);
    json_end(&json, '}');
    json_u64(&json, "payload_bytes", in->payload_bytes);
    json_begin(&json, "class_names", '[');
    for (uint32_t c = 0; c < stk_dataset_classes(dataset); c++)
        json_text(&json, NULL, stk_dataset_class_name(dataset, c));
    json_end(&json, ']');
    json_bool(&json, "labels", stk_dataset_has_labels(dataset));
    json_text(&json, "container", stk_dataset_container(dataset));
    json_text(&json, "road", stk_dataset_road(dataset));
    if (stk_dataset_slow_pattern(dataset) != NULL)
        json_text(&json, "slow_pattern", stk_dataset_slow_pattern(dataset));
    if (in->has_array) json_array(&json, in);
    json_u64(&json, "min_width", in->min_width);
    json_u64(&json, "min_height", in->min_height);
    json_u64(&json, "max_width", in->max_width);
    json_u64(&json, "max_height", in->max_height);
    json_i64(&json, "threads", stk_cpu_usable_threads());
    json_columns(&json, dataset);
    json_libraries(&json);
    if (stk_dataset_contents(dataset) != NULL) json_text(&json, "contents", stk_dataset_contents(dataset));
    json_raw(&json, "metadata", stk_dataset_metadata(dataset));
    json_end(&json, '}');
    fputc('\n', stdout);
}

static void print_columns(const stk_dataset *dataset)
{
    for (uint32_t c = 0; c < stk_dataset_columns(dataset); c++) {
        stk_column column;
        if (stk_dataset_column(dataset, c, &column, NULL) != STK_OK) continue;
        fputs(c == 0 ? "columns     " : ", ", stdout);
        safe_text(stdout, column.name, strlen(column.name));
        printf(" (%s", stk_type_name(column.type));
        if (column.n_items != 1)
            column.n_items == 0 ? fputs("[]", stdout) : printf("[%" PRIu32 "]", column.n_items);
        fputc(')', stdout);
    }
    if (stk_dataset_columns(dataset) > 0) fputc('\n', stdout);
}

/* Lines of a foreign file's contents, each behind the same word. */
static void print_lines(const char *lines)
{
    while (lines != NULL && *lines != '\0') {
        size_t n = strcspn(lines, "\n");
        fputs("in file     ", stdout);
        safe_text(stdout, lines, n);
        fputc('\n', stdout);
        lines += n + (lines[n] != '\0');
    }
}

static void print_array(const info *in)
{
    char text[200];
    printf("arrays      %s, served as they are%s\n", stk_array_text(&in->array, text, sizeof text),
           in->differ ? "; others differ in size, and a batch takes only those like its loader's first" : "");
}

static void print_text(const info *in, bool classes)
{
    const stk_dataset *dataset = in->dataset;
    char size[CLI_BYTES_TEXT];
    uint64_t n = stk_dataset_len(dataset);
    printf("container   %s, read by %s\n", stk_dataset_container(dataset), stk_dataset_road(dataset));
    printf("records     %" PRIu64 "\n", n);
    if (stk_dataset_classes(dataset) > 0)
        printf("classes     %" PRIu32 "\n", stk_dataset_classes(dataset));
    else
        printf("classes     none%s\n",
               stk_dataset_has_labels(dataset) ? ", labels are numbers" : " (no labels)");
    for (int e = 0; e < N_ENCODINGS; e++)
        if (in->encodings[e] > 0)
            printf("encoding    %s: %" PRIu64 "\n", stk_encoding_name((stk_encoding)e), in->encodings[e]);
    if (in->has_array) print_array(in);
    if (in->max_width > 0 || !in->has_array)
        printf("pixels      %" PRIu32 "x%" PRIu32 " to %" PRIu32 "x%" PRIu32 "\n", in->min_width, in->min_height,
               in->max_width, in->max_height);
    printf("bytes       %" PRIu64 " (%s)\n", stk_dataset_bytes(dataset),
           cli_bytes_text(stk_dataset_bytes(dataset), size));
    printf("dataset id  %s\n", stk_dataset_id(dataset));
    print_columns(dataset);
    printf("cpu         %s kernels, %d threads usable\n", in->cpu, stk_cpu_usable_threads());
    print_lines(stk_dataset_contents(dataset));
    if (stk_dataset_slow_pattern(dataset) != NULL)
        printf("note        %s\n", stk_dataset_slow_pattern(dataset));
    print_libraries(in);
    for (uint32_t c = 0; classes && c < stk_dataset_classes(dataset); c++) {
        const char *name = stk_dataset_class_name(dataset, c);
        printf("class %-5" PRIu32 " ", c);
        safe_text(stdout, name, strlen(name));
        fputc('\n', stdout);
    }
}

static int run(int argc, char **argv)
{
    info_args args = {0};
    info in = {0};
    cli_operands operands;
    stk_error error = {0};
    stk_dataset *dataset = NULL;
    stk_dataset_options_init(&args.dataset);
    int code = cli_parse(&command_info, argc, argv, &args, &operands);
    if (code != CLI_GO) return code;
    stk_status status = stk_cpu_family(&in.cpu, &error);
    if (status == STK_OK) status = open_dataset(&command_info, operands.items[0], &args.dataset, &dataset, &error);
    in.dataset = dataset;
    if (status == STK_OK) status = count(&in, &error);
    if (status != STK_OK)
        code = cli_fail(&command_info, status, &error);
    else {
        code = CLI_OK;
        if (args.json)
            print_json(&in);
        else
            print_text(&in, args.classes);
    }
    stk_dataset_close(&dataset);
    return code;
}
