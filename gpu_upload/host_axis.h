/* SPDX-License-Identifier: Apache-2.0
 *
 * Axis tables that the host makes: filters that need sines, and nearest, whose steps depend on each other. */
#ifndef STK_GPU_HOST_AXIS_H
#define STK_GPU_HOST_AXIS_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/status.h>

#include "gpu_upload/hd_resample.h"

bool stk_host_axis_needed(int filter);
/* Fills the axis's table as stk_hd_axis_output does. */
stk_status stk_host_axis_fill(const stk_hd_axis *axis, int32_t *table, stk_error *error);
/* Inputs [low, high) that the axis's outputs read. */
void stk_host_axis_span(const stk_hd_axis *axis, uint32_t *low, uint32_t *high);

#endif
