/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening DST as the command line says. Options of another kind of data set are refused: whoever gives them takes DST for
 * what it is not. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "commands.h"

static stk_status refuse(stk_error *error, const char *path, const char *option, const char *what)
{
    error->status = STK_ERR_ARGUMENT;
    snprintf(error->text, sizeof error->text, "%s: --%s is for %s", path, option, what);
    return error->status;
}

static const char *hdf5_option(const stk_dataset_options *o)
{
    if (o->hdf5_images != NULL) return "dataset";
    if (o->hdf5_labels != NULL) return "labels";
    if (o->hdf5_arrays) return "arrays";
    return o->range_min != 0 || o->range_max != 0 ? "range" : NULL;
}

/* What salvage did not find is said, as far as it is known (stk_dataset_metadata of such a data set). */
static void note_salvage(const cli_command *command, const char *path, const stk_dataset *dataset)
{
    unsigned long long missing = 0;
    char end[6] = "";
    if (sscanf(stk_dataset_metadata(dataset), "{\"salvaged\":true,\"missing\":%llu,\"end\":%5[a-z]", &missing, end) != 2)
        return; /* the file is whole */
    bool to_the_end = strcmp(end, "true") == 0;
    if (missing == 0 && to_the_end) return;
    char lost[64] = "";
    if (missing > 0) snprintf(lost, sizeof lost, "; %llu %s lost", missing, missing == 1 ? "other is" : "others are");
    cli_note(command, "%s: %" PRIu64 " whole records were found%s%s", path, stk_dataset_len(dataset), lost,
             to_the_end ? "" : "; any that came behind the last one are lost");
}

uint64_t note_tiles(const cli_command *command, const stk_dataset *dataset, const char *path)
{
    uint64_t n = stk_dataset_len(dataset), tiles = 0;
    stk_record_info info;
    for (uint64_t i = 0; i < n; i++)
        tiles += stk_dataset_record(dataset, i, &info, NULL) == STK_OK && info.encoding == STK_ENCODING_TILES;
    if (tiles > 0)
        cli_note(command, "%s: %" PRIu64 " records are tiles, which only stoker decodes; for other software pack with --encode "
                 "keep or raw, or export to a tar or a folder", path, tiles);
    return tiles;
}

stk_status open_dataset(const cli_command *command, const char *path, const stk_dataset_options *options,
                        stk_dataset **out, stk_error *error)
{
    struct stat st;
    *out = NULL;
    if (options->salvage && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return refuse(error, path, "salvage", "a single .stk file; give the damaged shard of the folder");
    stk_status status = stk_dataset_open(path, options, out, error);
    if (status != STK_OK) return status;
    bool hdf5 = strcmp(stk_dataset_container(*out), "hdf5") == 0;
    const char *option = hdf5_option(options);
    if (hdf5 && options->salvage)
        status = refuse(error, path, "salvage", "a .stk file; this is HDF5");
    else if (!hdf5 && option != NULL)
        status = refuse(error, path, option, "an HDF5 file; this is none");
    if (status != STK_OK) stk_dataset_close(out);
    if (status == STK_OK && options->salvage) note_salvage(command, path, *out);
    return status;
}
