/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins a row of the container with the codecs: row + payload -> the record part of a render job. */
#ifndef STK_READER_SAMPLE_RENDER_H
#define STK_READER_SAMPLE_RENDER_H

#include "codec/render.h"
#include "reader/dataset_internal.h"

/* Fills the fields of job that the record decides (data, n_bytes, encoding, sizes, orientation, tables). Refuses
 * arrays. */
stk_status stk_job_from_row(const stk_dataset *dataset, const stk_row *row, const uint8_t *data,
                            stk_render_job *job, stk_error *error);

/* Rows of foreign containers may tell no encoding: then everything about the image comes from its own header. */
stk_status stk_row_resolve(stk_codec_ctx *codec, const uint8_t *data, stk_row *row, stk_error *error);

/* Runs the job. Complaints of the decoder are STK_ERR_DAMAGED unless all their kinds are in accepted_damage
 * (stk_dataset.accepted_damage; UINT32_MAX: whatever came out). */
stk_status stk_job_run(stk_codec_ctx *codec, const stk_render_job *job, uint32_t accepted_damage, stk_error *error);

#endif
