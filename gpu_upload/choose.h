/* SPDX-License-Identifier: Apache-2.0
 *
 * decode=auto: which side decodes, and why. */
#ifndef STK_GPU_CHOOSE_H
#define STK_GPU_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>

#include <stoker/transform.h>

#include "gpu_upload/backend.h"

struct stk_uploader;

/* True: the GPU. The side on which an image takes least, counting a CPU thread's time by the number of threads, uploads
 * and kernels in full; the GPU where they are about equal. The reason goes to text. */
bool stk_choose_side(const stk_gpu_costs *costs, char *text, size_t text_size);

/* Whether there is more to do than crop, resize, flip and normalise. */
bool stk_transform_has_steps(const stk_transform *transform);

/* What the data set and the options alone say: sets u->gather, u->decode_text and u->measures. */
void stk_choose_by_records(struct stk_uploader *u);

/* Makes a few of the coming images on either side, and chooses. Before the loader is opened. What goes wrong meanwhile
 * leaves the choice as it was: it will be met again, and reported, by the loader. */
void stk_choose_by_measuring(struct stk_uploader *u);

#endif
