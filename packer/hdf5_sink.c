/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/hdf5_sink.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/fail.h"
#include "stoker_features.h"
#if STOKER_HAVE_HDF5
#include "format/hdf5/hdf5_writer.h"
#endif

static bool named_hdf5(const char *dst)
{
    size_t n = strlen(dst);
    return (n > 3 && strcasecmp(dst + n - 3, ".h5") == 0) || (n > 5 && strcasecmp(dst + n - 5, ".hdf5") == 0);
}

/* A name that says another format: whoever gives it expects a tar, say, or has SRC and DST the wrong way round. */
static stk_status refuse_name(const char *dst, stk_error *error)
{
    static const char *const ENDS[] = {".tar", ".tar.gz", ".tgz", ".zip", ".csv", ".tsv", ".jsonl", ".json", ".npy", ".npz",
                                       ".jpg", ".jpeg", ".png"};
    size_t n = strlen(dst);
    for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++) {
        size_t m = strlen(ENDS[i]);
        if (n > m && strcasecmp(dst + n - m, ENDS[i]) == 0)
            return stk_fail(error, STK_ERR_ARGUMENT,
                            "%s: a name that ends with %s is none for an output: x.stk, a folder x/ or x.h5 can be written "
                            "(--format stk insists; a tar is made by stoker export)", dst, ENDS[i]);
    }
    return STK_OK;
}

stk_status stk_merge_name(const char *dst, stk_error *error)
{
    if (named_hdf5(dst))
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "%s: parts become a .stk file or a folder of shards; merge them, then export to HDF5", dst);
    return refuse_name(dst, error);
}

stk_status stk_hdf5_wanted(const char *dst, const stk_pack_options *o, bool *wanted, stk_error *error)
{
    *wanted = o->format != NULL ? strcmp(o->format, "hdf5") == 0 : named_hdf5(dst);
    if (o->format != NULL && !*wanted && strcmp(o->format, "stk") != 0)
        return stk_fail(error, STK_ERR_ARGUMENT, "format '%s': use stk or hdf5", o->format);
    if (!*wanted && (o->hdf5_filter != NULL || o->chunk_images != 0))
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: --%s is for HDF5 output (DST.h5)", dst,
                        o->hdf5_filter != NULL ? "hdf5-filter" : "chunk-images");
    if (!*wanted) return o->format != NULL ? STK_OK : refuse_name(dst, error);
    if (!STOKER_HAVE_HDF5)
        return stk_fail(error, STK_ERR_UNSUPPORTED, "%s: this build has no HDF5; write a .stk file", dst);
    if (dst[strlen(dst) - 1] == '/')
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: HDF5 output is one file, not a folder of shards", dst);
    if (o->n_parts > 1)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "%s: --part writes .stk files; merge them, then export to HDF5", dst);
    return STK_OK;
}

#if STOKER_HAVE_HDF5

struct stk_hdf5_sink {
    stk_hdf5_sink_options options;
    stk_hdf5_writer *writer;
};

stk_status stk_hdf5_sink_open(const stk_hdf5_sink_options *o, stk_hdf5_sink **out, stk_error *error)
{
    stk_hdf5_writer_options options = {
        .columns = o->columns.columns,
        .n_columns = o->columns.n_columns,
        .table_sets = o->columns.table_sets,
        .table_set_bytes = o->columns.table_set_bytes,
        .n_table_sets = o->columns.n_table_sets,
        .max_records = o->max_records,
        .width = o->size.width,
        .height = o->size.height,
        .channels = o->size.channels,
        .array = o->size.arrays ? &o->size.array : NULL,
        .chunk_images = o->chunk_images,
        .filter = o->filter,
        .n_threads = o->n_threads,
    };
    stk_hdf5_sink *sink = calloc(1, sizeof *sink);
    *out = NULL;
    if (sink == NULL) return stk_fail_memory(error, "an HDF5 output");
    sink->options = *o;
    stk_status status = stk_hdf5_writer_open(o->path, &options, &sink->writer, error);
    if (status != STK_OK) stk_hdf5_sink_close(&sink);
    *out = sink;
    return status;
}

stk_status stk_hdf5_sink_add(stk_hdf5_sink *sink, const stk_record *record, stk_error *error)
{
    return stk_hdf5_writer_add(sink->writer, record, error);
}

stk_status stk_hdf5_sink_finish(stk_hdf5_sink *sink, char *id, stk_error *error)
{
    const stk_hdf5_sink_options *o = &sink->options;
    return stk_hdf5_writer_finish(sink->writer, o->metadata, o->class_names, o->n_classes, id, error);
}

void stk_hdf5_sink_close(stk_hdf5_sink **sink)
{
    if (*sink == NULL) return;
    stk_hdf5_writer_close(&(*sink)->writer);
    free(*sink);
    *sink = NULL;
}

#else /* stk_hdf5_wanted refuses before any of these is reached. */

static stk_status refuse(stk_error *error)
{
    return stk_fail(error, STK_ERR_UNSUPPORTED, "this build has no HDF5");
}

stk_status stk_hdf5_sink_open(const stk_hdf5_sink_options *o, stk_hdf5_sink **out, stk_error *error)
{
    (void)o;
    *out = NULL;
    return refuse(error);
}

stk_status stk_hdf5_sink_add(stk_hdf5_sink *sink, const stk_record *record, stk_error *error)
{
    (void)sink;
    (void)record;
    return refuse(error);
}

stk_status stk_hdf5_sink_finish(stk_hdf5_sink *sink, char *id, stk_error *error)
{
    (void)sink;
    (void)id;
    return refuse(error);
}

void stk_hdf5_sink_close(stk_hdf5_sink **sink)
{
    *sink = NULL;
}

#endif
