/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_upload/dummy_steps.h"

#include <string.h>

#include "gpu_upload/hd_steps.h"

static void count(const stk_gpu_steps *s, const stk_gpu_op *op, stk_gpu_counted *counted)
{
    const uint32_t channels = s->output.channels;
    const uint8_t *pixel = s->pictures + op->from;
    memset(counted, 0, sizeof *counted);
    for (uint32_t i = 0; i < stk_hd_pixels(&s->output); i++, pixel += channels) {
        for (uint32_t c = 0; c < channels; c++) counted->counts[c][pixel[c]]++;
        counted->luma += channels == 3 ? stk_px_luma(pixel[0], pixel[1], pixel[2]) : pixel[0];
    }
    for (uint32_t c = 0; c < channels; c++) stk_hd_counted_table(op, &s->output, counted, c);
}

static void move(const stk_gpu_steps *s, const stk_gpu_op *op)
{
    const stk_gpu_output *o = &s->output;
    uint8_t *to = s->pictures + op->to;
    for (uint32_t y = 0; y < o->height; y++)
        for (uint32_t x = 0; x < o->width; x++, to += o->channels) stk_hd_moved(op, s->weights, s->pictures + op->from, o, x, y, to);
}

static void blur(const stk_gpu_steps *s, const stk_gpu_op *op)
{
    const uint32_t n = stk_hd_pixels(&s->output) * s->output.channels;
    float *plane = s->planes + (uint64_t)op->slot * n;
    for (uint32_t i = 0; i < n; i++) plane[i] = stk_hd_blur_across(op, s->weights, s->pictures + op->from, &s->output, i);
    for (uint32_t i = 0; i < n; i++) s->pictures[op->to + i] = stk_hd_blur_down(op, s->weights, plane, &s->output, i);
}

static void run_op(const stk_gpu_steps *s, const stk_gpu_op *op)
{
    const uint32_t channels = s->output.channels;
    stk_gpu_counted *counted = op->kind <= STK_GPU_OP_EQUALIZE ? &s->counted[op->slot] : NULL;
    if (op->kind == STK_GPU_OP_BLUR) {
        blur(s, op);
    } else if (op->kind >= STK_GPU_OP_FIXED) {
        move(s, op);
    } else {
        if (counted != NULL) count(s, op, counted);
        for (uint32_t i = 0; i < stk_hd_pixels(&s->output); i++)
            stk_hd_point(op, counted, channels, s->pictures + op->from + (uint64_t)i * channels);
    }
}

void stk_dummy_steps(const stk_gpu_steps *s)
{
    for (uint32_t r = 0; r < s->n_rounds; r++) {
        uint32_t n = 0;
        for (uint32_t c = 0; c < STK_GPU_CLASSES; c++) n += s->rounds[r].n[c];
        for (uint32_t k = 0; k < n; k++) run_op(s, &s->ops[s->rounds[r].first + k]);
    }
    for (uint32_t e = 0; e < s->n; e++) {
        const bool bad = stk_hd_entry_bad(s, e), mixes = stk_hd_entry_mixes(s, e);
        for (uint32_t y = 0; y < s->output.height; y++)
            for (uint32_t x = 0; x < s->output.width; x++) stk_hd_finish_mixed(s, e, bad, mixes, x, y);
    }
}
