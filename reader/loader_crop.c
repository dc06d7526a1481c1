/* SPDX-License-Identifier: Apache-2.0
 *
 * The geometry of a delivered entry, for whoever carries boxes or points along with the image. */
#include <stoker/loader.h>

#include "common/fail.h"
#include "reader/dataset_internal.h"
#include "reader/geometry.h"

stk_status stk_loader_crop(const stk_dataset *dataset, const stk_loader_options *options, uint64_t epoch,
                           uint64_t sample_id, uint32_t occurrence, uint32_t view, stk_crop *out, stk_error *error)
{
    stk_row row;
    stk_geometry g;
    stk_geometry_rule rule;
    STK_TRY(stk_dataset_image_row(dataset, sample_id, &row, error));
    if (row.encoding == STK_ENCODING_ARRAY)
        return stk_fail(error, STK_ERR_UNSUPPORTED, "record %llu is an array, not an image",
                        (unsigned long long)sample_id);
    STK_TRY(stk_geometry_rule_init(&rule, &options->transform, options->seed, error));
    STK_TRY(stk_geometry_for(&rule, epoch, sample_id, occurrence, view, row.width, row.height, &g, error));
    *out = (stk_crop){.box = g.box,
                      .full_width = g.full_width,
                      .full_height = g.full_height,
                      .window_x = g.window_x,
                      .window_y = g.window_y,
                      .out_width = g.out_width,
                      .out_height = g.out_height,
                      .flip = g.flip};
    return STK_OK;
}
