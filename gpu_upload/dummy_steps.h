/* SPDX-License-Identifier: Apache-2.0
 *
 * A transform's steps and mixing on the dummy device, in plain loops over hd_steps.h. */
#ifndef STK_GPU_DUMMY_STEPS_H
#define STK_GPU_DUMMY_STEPS_H

#include "gpu_upload/gpu_steps.h"

void stk_dummy_steps(const stk_gpu_steps *steps);

#endif
