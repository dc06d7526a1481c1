/* SPDX-License-Identifier: Apache-2.0
 *
 * A JPEG's quantised coefficients, out of libjpeg-turbo, for the tile coder; and its raw planes to compare
 * with. */
#include <string.h>

#include "codec/codec_jpeg.h"
#include "codec/planes.h"
#include "codec/tiles_internal.h"
#include "common/buffer.h"
#include "common/fail.h"

static stk_status unsupported(stk_error *error, const char *why)
{
    return stk_fail(error, STK_ERR_UNSUPPORTED, "this JPEG cannot become tiles: %s", why);
}

static int greatest_common_divisor(int a, int b)
{
    while (b != 0) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Sampling factors as libjpeg uses them: only their ratios matter to the picture, so common factors go, and a
 * lone component has none at all. */
static void set_sampling(const struct jpeg_decompress_struct *c, stk_tile_geometry *g)
{
    int h = 0, v = 0;
    for (int i = 0; i < c->num_components; i++) {
        h = greatest_common_divisor(h, c->comp_info[i].h_samp_factor);
        v = greatest_common_divisor(v, c->comp_info[i].v_samp_factor);
    }
    for (int i = 0; i < c->num_components; i++) {
        bool lone = c->num_components == 1;
        g->h[i] = (uint8_t)(lone ? 1 : c->comp_info[i].h_samp_factor / h);
        g->v[i] = (uint8_t)(lone ? 1 : c->comp_info[i].v_samp_factor / v);
    }
    g->width = c->image_width;
    g->height = c->image_height;
    g->n_components = (uint8_t)c->num_components;
}

/* Where a progressive file leaves low-frequency coefficients incomplete, libjpeg smooths the picture instead
 * of transforming what is there. libjpeg-turbo looks at the first ten of a component. */
static bool would_be_smoothed(const struct jpeg_decompress_struct *c)
{
    if (c->coef_bits == NULL) return false;
    for (int i = 0; i < c->num_components; i++) {
        for (int k = 0; k < 10; k++) {
            if (c->coef_bits[i][k] != 0) return true;
        }
    }
    return false;
}

static stk_status set_quant(const struct jpeg_decompress_struct *c, stk_coefs *coefs, stk_error *error)
{
    for (int i = 0; i < c->num_components; i++) {
        const JQUANT_TBL *table = c->comp_info[i].quant_table;
        if (table == NULL) return unsupported(error, "a component has no scan");
        for (int k = 0; k < 64; k++)
            coefs->quant[i][k] = table->quantval[STK_ZIGZAG[k]];
    }
    return STK_OK;
}

/* Pointers to all block rows. libjpeg-turbo's memory manager has no backing store: what it allocated stays
 * where it is until the decompressor is destroyed. */
static stk_status set_rows(stk_jpeg *jpeg, jvirt_barray_ptr *arrays, stk_tile_state *state, stk_coefs *coefs,
                           stk_error *error)
{
    struct jpeg_decompress_struct *c = &jpeg->cinfo;
    size_t n_rows = 0;
    for (int i = 0; i < c->num_components; i++)
        n_rows += c->comp_info[i].height_in_blocks;
    STK_TRY(stk_buffer_resize(&state->rows, n_rows * sizeof(const int16_t *), error));
    const int16_t **row = (const int16_t **)(void *)state->rows.data;
    for (int i = 0; i < c->num_components; i++) {
        coefs->rows[i] = row;
        coefs->block_cols[i] = c->comp_info[i].width_in_blocks;
        coefs->block_rows[i] = c->comp_info[i].height_in_blocks;
        for (JDIMENSION y = 0; y < c->comp_info[i].height_in_blocks; y++) {
            JBLOCKARRAY blocks = (*c->mem->access_virt_barray)((j_common_ptr)c, arrays[i], y, 1, FALSE);
            *row++ = (*blocks)[0];
        }
    }
    return STK_OK;
}

typedef struct read_job {
    stk_coefs_body body;
    void *arg;
} read_job;

static stk_status read_body(stk_jpeg *jpeg, void *arg, stk_error *error)
{
    const read_job *job = arg;
    struct jpeg_decompress_struct *c = &jpeg->cinfo;
    stk_tile_state *state;
    stk_coefs coefs;
    memset(&coefs, 0, sizeof coefs);
    if (!stk_jpeg_tileable(jpeg)) {
        return unsupported(error, "it is not an 8-bit grey or YCbCr one with whole sampling ratios");
    }
    STK_TRY(stk_tile_state_of(jpeg->ctx, &state, error));
    stk_tile_state_trim(state);
    jvirt_barray_ptr *arrays = jpeg_read_coefficients(c);
    if (jpeg->damage->kinds != 0) return unsupported(error, jpeg->damage->text);
    if (would_be_smoothed(c)) return unsupported(error, "it is an incomplete progressive one");
    set_sampling(c, &coefs.g);
    STK_TRY(set_quant(c, &coefs, error));
    STK_TRY(set_rows(jpeg, arrays, state, &coefs, error));
    return job->body(jpeg->ctx, &coefs, job->arg, error);
}

stk_status stk_jpeg_coefs_read(stk_codec_ctx *ctx, const uint8_t *jpeg, size_t n_bytes, stk_coefs_body body,
                               void *arg, stk_error *error)
{
    stk_damage_report damage = {0};
    read_job job = {.body = body, .arg = arg};
    return stk_jpeg_run(ctx, jpeg, n_bytes, &damage, read_body, &job, error);
}

typedef struct compare_job {
    const stk_planes *planes;
    bool *equal;
} compare_job;

/* Rows that libjpeg writes one MCU row of a component to. */
static stk_status set_raw_rows(stk_jpeg *jpeg, JSAMPROW rows[3][4 * DCTSIZE], stk_error *error)
{
    struct jpeg_decompress_struct *c = &jpeg->cinfo;
    size_t n_bytes = 0;
    for (int i = 0; i < c->num_components; i++) {
        n_bytes += (size_t)c->comp_info[i].width_in_blocks * 8 * 4 * DCTSIZE;
    }
    uint8_t *memory;
    STK_TRY(stk_codec_scratch(jpeg->ctx, STK_SCRATCH_PIXELS, n_bytes, &memory, error));
    for (int i = 0; i < c->num_components; i++) {
        for (int y = 0; y < 4 * DCTSIZE; y++) {
            rows[i][y] = memory;
            memory += (size_t)c->comp_info[i].width_in_blocks * 8;
        }
    }
    return STK_OK;
}

/* Compares rows that begin at row `at` of the component. */
static bool rows_equal(const stk_planes *planes, uint32_t component, JSAMPROW *rows, uint32_t n_rows,
                       uint32_t at)
{
    uint32_t h = planes->h_factor[component], v = planes->v_factor[component];
    uint32_t wide = (planes->image_width * h + planes->h_max - 1u) / planes->h_max;
    uint32_t high = (planes->image_height * v + planes->v_max - 1u) / planes->v_max;
    for (uint32_t y = 0; y < n_rows && at + y < high; y++) {
        const uint8_t *own = planes->data[component] + (size_t)(at + y) * planes->stride[component];
        if (memcmp(own, rows[y], wide) != 0) return false;
    }
    return true;
}

static stk_status compare_body(stk_jpeg *jpeg, void *arg, stk_error *error)
{
    const compare_job *job = arg;
    struct jpeg_decompress_struct *c = &jpeg->cinfo;
    JSAMPROW rows[3][4 * DCTSIZE];
    JSAMPARRAY arrays[3] = {rows[0], rows[1], rows[2]};
    if ((uint32_t)c->num_components != job->planes->n_components) {
        return stk_fail(error, STK_ERR_INTERNAL, "a tiles record with other components than its source");
    }
    c->raw_data_out = TRUE;
    c->dct_method = JDCT_ISLOW;
    c->out_color_space = c->jpeg_color_space;
    (void)jpeg_start_decompress(c);
    STK_TRY(set_raw_rows(jpeg, rows, error));
    *job->equal = true;
    for (uint32_t mcu_row = 0; c->output_scanline < c->output_height; mcu_row++) {
        (void)jpeg_read_raw_data(c, arrays, (JDIMENSION)c->max_v_samp_factor * DCTSIZE);
        for (int i = 0; i < c->num_components; i++) {
            uint32_t n = (uint32_t)c->comp_info[i].v_samp_factor * DCTSIZE;
            if (!rows_equal(job->planes, (uint32_t)i, rows[i], n, mcu_row * n)) *job->equal = false;
        }
    }
    return STK_OK;
}

stk_status stk_jpeg_planes_equal(stk_codec_ctx *ctx, const uint8_t *jpeg, size_t n_bytes,
                                 const stk_planes *planes, bool *equal, stk_error *error)
{
    stk_damage_report damage = {0};
    compare_job job = {.planes = planes, .equal = equal};
    return stk_jpeg_run(ctx, jpeg, n_bytes, &damage, compare_body, &job, error);
}
