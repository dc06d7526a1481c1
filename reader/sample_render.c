/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/sample_render.h"

#include "common/fail.h"

stk_status stk_job_from_row(const stk_dataset *dataset, const stk_row *row, const uint8_t *data,
                            stk_render_job *job, stk_error *error)
{
    if (row->encoding == STK_ENCODING_ARRAY || row->channels == 0)
        return stk_fail(error, STK_ERR_UNSUPPORTED, "is an array, not an image; load arrays apart, with a selection of their own");
    *job = (stk_render_job){
        .data = data,
        .n_bytes = (size_t)row->n_bytes,
        .encoding = (stk_encoding)row->encoding,
        .width = row->width,
        .height = row->height,
        .channels = row->channels,
        .orientation = row->orientation,
    };
    return row->tables == 0 ? STK_OK : stk_dataset_tables(dataset, row, &job->tables, error);
}

stk_status stk_row_resolve(stk_codec_ctx *codec, const uint8_t *data, stk_row *row, stk_error *error)
{
    stk_image_info info;
    if (row->encoding != STK_ENCODING_UNKNOWN) return STK_OK;
    STK_TRY(stk_codec_probe(codec, data, (size_t)row->n_bytes, &info, error));
    bool turned = info.orientation >= 5;
    row->encoding = (uint8_t)info.encoding;
    row->width = turned ? info.height : info.width;
    row->height = turned ? info.width : info.height;
    row->orientation = info.orientation;
    row->channels = info.channels;
    return STK_OK;
}

stk_status stk_job_run(stk_codec_ctx *codec, const stk_render_job *job, uint32_t accepted_damage, stk_error *error)
{
    stk_damage_report damage;
    STK_TRY(stk_render(codec, job, &damage, error));
    if ((damage.kinds & ~accepted_damage) == 0) return STK_OK;
    return stk_fail(error, STK_ERR_DAMAGED, "damaged: %s", damage.text);
}
