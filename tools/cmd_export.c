/* SPDX-License-Identifier: Apache-2.0
 *
 * stoker export: a data set for other software. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <stoker/convert.h>

#include "commands.h"
#include "interrupt.h"

enum { TO_HDF5 = 1, TO_TAR = 2, TO_FOLDER = 3 };
static const cli_choice to_words[] = {{"hdf5", TO_HDF5}, {"tar", TO_TAR}, {"folder", TO_FOLDER}, {NULL, 0}};

typedef struct export_args {
    stk_dataset_options dataset;
    stk_export_options export;
    int to;
} export_args;

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
             "names."},
    OPTION_CHUNK_IMAGES(export_args, export.chunk_images),
    {.kind = CLI_STRING,
     .name = "hdf5-filter",
     .argument = "NAME",
     AT(export.hdf5_filter),
     .help = "HDF5: none (default), gzip, gzip:LEVEL or lzf; raw images of one size only."},
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
        "folder: file by file).",
    .options = options,
    .exit_status = "0 done\n1 error\n64 wrong command line",
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

/* What cannot be meant. */
static int check_out(int kind, const char *src, const char *out)
{
    struct stat from, to;
    if (stat(src, &from) == 0 && stat(out, &to) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino)
        return cli_error(&command_export, "%s: is the data set itself; give another name for OUT", out);
    if (kind == TO_FOLDER && ends_with(out, ".stk"))
        return cli_error(&command_export,
                         "%s: export writes an .h5, a .tar or a folder; a .stk is made by stoker pack", out);
    return CLI_OK;
}

/* Other software opens such an HDF5 file and cannot decode what is in it. */
static void note_tiles(const stk_dataset *dataset, const char *out)
{
    uint64_t n = stk_dataset_len(dataset), tiles = 0;
    stk_record_info info;
    for (uint64_t i = 0; i < n; i++)
        tiles += stk_dataset_record(dataset, i, &info, NULL) == STK_OK && info.encoding == STK_ENCODING_TILES;
    if (tiles > 0)
        cli_note(&command_export,
                 "%s: %" PRIu64 " records are tiles, which only stoker decodes; for other software pack with --encode "
                 "keep or raw, or export to a tar or a folder", out, tiles);
}

static bool on_progress(void *user, uint64_t done, uint64_t total)
{
    (void)user, (void)done, (void)total;
    return !interrupted();
}

static int run(int argc, char **argv)
{
    export_args args = {0};
    cli_operands operands;
    stk_error error = {0};
    stk_dataset *dataset = NULL;
    stk_dataset_options_init(&args.dataset);
    stk_export_options_init(&args.export);
    int code = cli_parse(&command_export, argc, argv, &args, &operands);
    if (code != CLI_GO) return code;
    int kind = kind_of(&args, operands.items[1]);
    code = check_out(kind, operands.items[0], operands.items[1]);
    if (code != CLI_OK) return code;
    if (kind == TO_FOLDER)
        return extract_to_folder(&command_export, &args.dataset, operands.items[0], operands.items[1], args.export.force);
    args.export.progress = on_progress;
    catch_interrupts();
    args.export.to = kind == TO_TAR ? STK_EXPORT_TAR : STK_EXPORT_HDF5;
    stk_status status = stk_dataset_open(operands.items[0], &args.dataset, &dataset, &error);
    if (status == STK_OK) status = stk_export(dataset, operands.items[1], &args.export, &error);
    if (status == STK_OK && kind == TO_HDF5) note_tiles(dataset, operands.items[1]);
    stk_dataset_close(&dataset);
    if (status == STK_ERR_CANCELLED)
        return cli_error(&command_export, "interrupted; %s is as it was before", operands.items[1]);
    return status == STK_OK ? CLI_OK : cli_fail(&command_export, status, &error);
}
