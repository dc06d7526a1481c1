/* SPDX-License-Identifier: Apache-2.0
 *
 * Records as files that other software opens. */
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "reader/dataset_internal.h"
#include "reader/npy.h"
#include "reader/sample_array.h"
#include "reader/sample_render.h"

static const char *extension_of(uint8_t encoding)
{
    switch ((stk_encoding)encoding) {
    case STK_ENCODING_JPEG:
    case STK_ENCODING_TILES: return "jpg";
    case STK_ENCODING_PNG:
    case STK_ENCODING_RAW: return "png";
    case STK_ENCODING_WEBP: return "webp";
    case STK_ENCODING_TIFF: return "tif";
    case STK_ENCODING_BMP: return "bmp";
    case STK_ENCODING_PNM: return "pnm";
    case STK_ENCODING_GIF: return "gif";
    case STK_ENCODING_ARRAY: return "npy";
    case STK_ENCODING_UNKNOWN: break;
    }
    return "bin";
}

/* Raw rows become a PNG as they are shown: a PNG's own orientation tag is read by few. */
static stk_status raw_to_png(const stk_dataset *d, stk_workbench *bench, const stk_row *row, const uint8_t *data,
                             stk_buffer *out, stk_error *error)
{
    stk_render_job job;
    STK_TRY(stk_job_from_row(d, row, data, &job, error));
    job.box = (stk_box){.width = (int32_t)row->width, .height = (int32_t)row->height};
    job.full_width = job.out_width = row->width;
    job.full_height = job.out_height = row->height;
    job.out_channels = row->channels;
    job.out_stride = (size_t)row->width * row->channels;
    bench->pixels.n_bytes = 0;
    STK_TRY(stk_buffer_resize(&bench->pixels, job.out_stride * row->height, error));
    job.out = bench->pixels.data;
    STK_TRY(stk_job_run(bench->codec, &job, d->accepted_damage, error));
    stk_image image = {.pixels = job.out, .stride = job.out_stride, .width = row->width, .height = row->height,
                       .channels = row->channels};
    return stk_codec_encode_png(bench->codec, &image, out, error);
}

static stk_status extract(const stk_dataset *d, stk_workbench *bench, uint64_t i, stk_row *row, stk_buffer *out,
                          stk_error *error)
{
    const uint8_t *data;
    stk_payload_begin_round(&bench->payload);
    STK_TRY(stk_payload_get(d->payload, &bench->payload, i, row, &data, error));
    if (row->encoding == STK_ENCODING_UNKNOWN)
        row->encoding = (uint8_t)stk_codec_sniff(data, (size_t)row->n_bytes);
    if (row->encoding == STK_ENCODING_RAW) return raw_to_png(d, bench, row, data, out, error);
    if (row->encoding == STK_ENCODING_TILES) {
        const stk_tile_tables *tables;
        STK_TRY(stk_dataset_tables(d, row, &tables, error));
        return stk_tiles_to_jpeg(bench->codec, data, (size_t)row->n_bytes, tables, row->orientation, out, error);
    }
    if (row->encoding == STK_ENCODING_ARRAY) {
        stk_array array;
        STK_TRY(stk_array_of_row(row, data, &array, error));
        return stk_npy_from_array(&array, out, error);
    }
    STK_TRY(stk_buffer_resize(out, (size_t)row->n_bytes, error));
    if (row->n_bytes > 0) memcpy(out->data, data, (size_t)row->n_bytes);
    return STK_OK;
}

stk_status stk_dataset_extract(const stk_dataset *d, uint64_t i, stk_buffer *out, const char **extension,
                               stk_error *error)
{
    stk_row row;
    out->n_bytes = 0;
    STK_TRY(stk_dataset_row(d, i, &row, error));
    stk_workbench *bench;
    STK_TRY(stk_dataset_take_bench(d, &bench, error));
    stk_status status = extract(d, bench, i, &row, out, error);
    stk_dataset_give_bench(d, bench);
    if (status != STK_OK) {
        out->n_bytes = 0;
        stk_dataset_name_record(d, i, error);
        return status;
    }
    if (extension != NULL) *extension = extension_of(row.encoding);
    return STK_OK;
}
