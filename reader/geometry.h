/* SPDX-License-Identifier: Apache-2.0
 *
 * From a transform and a sample's identity to integers: which box is cut out, to what size it is resampled, which
 * window of that is delivered, and whether it is mirrored. The algorithms are torchvision's
 * (torchvision/transforms/transforms.py and functional.py), the random numbers ours (common/rng.h). */
#ifndef STK_READER_GEOMETRY_H
#define STK_READER_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/status.h>
#include <stoker/transform.h>

typedef struct stk_geometry {
    stk_box box; /* turned coordinates, inside the image */
    uint32_t full_width, full_height;
    int32_t window_x, window_y; /* may be negative: padding */
    uint32_t out_width, out_height;
    bool flip;
} stk_geometry;

/* A transform, checked, with what can be computed once. Immutable: any number of threads. */
typedef struct stk_geometry_rule {
    stk_transform transform;
    uint64_t seed;
    double log_ratio_min, log_ratio_max;
} stk_geometry_rule;

/* Checks the transform. Errors: STK_ERR_ARGUMENT names the field. */
stk_status stk_geometry_rule_init(stk_geometry_rule *rule, const stk_transform *transform, uint64_t seed,
                                  stk_error *error);

/* For one view of one sample whose record is width x height. Errors: STK_ERR_ARGUMENT (a window larger than the
 * padded image, a box that sticks out). */
stk_status stk_geometry_for(const stk_geometry_rule *rule, uint64_t epoch, uint64_t sample_id, uint32_t occurrence,
                            uint32_t view, uint32_t width, uint32_t height, stk_geometry *out, stk_error *error);

#endif
