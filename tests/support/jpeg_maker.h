/* SPDX-License-Identifier: Apache-2.0
 *
 * JPEGs of every kind that libjpeg-turbo can write, and the raw planes that it decodes from them: what tiles
 * are compared with. Errors end the program: the input is our own. */
#ifndef STK_TESTS_JPEG_MAKER_H
#define STK_TESTS_JPEG_MAKER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "common/rng.h"

typedef struct jpeg_kind {
    int channels;         /* 1, 3, or 4 (CMYK) */
    J_COLOR_SPACE stored; /* JCS_YCbCr, JCS_RGB, JCS_GRAYSCALE, JCS_CMYK, JCS_YCCK */
    int h[4], v[4];       /* sampling factors; 0 = 1 */
    int quality;
    bool progressive, arithmetic, separate_scans;
    int restart_mcus;
    int quant_scale; /* 0, or percent by which the standard tables are scaled, up to 16 bits */
} jpeg_kind;

typedef struct jpeg_bytes {
    unsigned char *data;
    unsigned long n_bytes;
} jpeg_bytes;

/* Content with edges, gradients and noise from a seed. */
static inline unsigned char jpeg_sample(uint32_t x, uint32_t y, uint32_t c, stk_rng *rng)
{
    uint32_t smooth = x * (3 + c) + y * (5 - c), edge = ((x >> 3) ^ (y >> 2)) & 1 ? 90 : 0;
    return (unsigned char)((smooth + edge + stk_rng_below(rng, 40)) & 255);
}

static inline void jpeg_separate_scans(struct jpeg_compress_struct *c, jpeg_scan_info *scans)
{
    for (int i = 0; i < c->num_components; i++) {
        memset(&scans[i], 0, sizeof scans[i]);
        scans[i].comps_in_scan = 1;
        scans[i].component_index[0] = i;
        scans[i].Se = 63;
    }
    c->scan_info = scans;
    c->num_scans = c->num_components;
}

static inline jpeg_bytes jpeg_make(const jpeg_kind *kind, uint32_t width, uint32_t height, uint64_t seed)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr errors;
    jpeg_scan_info scans[4];
    jpeg_bytes out = {NULL, 0};
    stk_rng rng = stk_rng_for(seed, width, height, 0, 0, STK_PURPOSE_AUGMENT);
    unsigned char *row = malloc((size_t)width * 4);
    c.err = jpeg_std_error(&errors);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &out.data, &out.n_bytes);
    c.image_width = width;
    c.image_height = height;
    c.input_components = kind->channels;
    c.in_color_space = kind->channels == 1 ? JCS_GRAYSCALE : kind->channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&c);
    jpeg_set_colorspace(&c, kind->stored);
    if (kind->quant_scale != 0) {
        jpeg_set_linear_quality(&c, kind->quant_scale, FALSE);
    } else {
        jpeg_set_quality(&c, kind->quality, TRUE);
    }
    for (int i = 0; i < c.num_components; i++) {
        c.comp_info[i].h_samp_factor = kind->h[i] != 0 ? kind->h[i] : 1;
        c.comp_info[i].v_samp_factor = kind->v[i] != 0 ? kind->v[i] : 1;
    }
    c.dct_method = JDCT_ISLOW;
    c.restart_interval = (unsigned)kind->restart_mcus;
    c.arith_code = kind->arithmetic;
    c.optimize_coding = !kind->arithmetic;
    if (kind->progressive) jpeg_simple_progression(&c);
    if (kind->separate_scans) jpeg_separate_scans(&c, scans);
    jpeg_start_compress(&c, TRUE);
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++)
            for (uint32_t i = 0; i < (uint32_t)kind->channels; i++)
                row[x * (uint32_t)kind->channels + i] = jpeg_sample(x, y, i, &rng);
        (void)jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    free(row);
    return out;
}

/* Raw planes as libjpeg-turbo decodes them (ISLOW). */
typedef struct jpeg_planes {
    int n;
    uint32_t image_width, image_height;
    uint32_t wide[3], high[3]; /* samples that belong to the image */
    size_t stride[3];
    unsigned char *data[3];
} jpeg_planes;

static inline jpeg_planes jpeg_decode_planes(const unsigned char *data, size_t n_bytes)
{
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    jpeg_planes p;
    memset(&p, 0, sizeof p);
    c.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, data, (unsigned long)n_bytes);
    (void)jpeg_read_header(&c, TRUE);
    c.raw_data_out = TRUE;
    c.dct_method = JDCT_ISLOW;
    c.out_color_space = c.jpeg_color_space;
    (void)jpeg_start_decompress(&c);
    p.n = c.num_components;
    p.image_width = c.image_width;
    p.image_height = c.image_height;
    JSAMPROW rows[3][4 * DCTSIZE];
    JSAMPARRAY arrays[3] = {rows[0], rows[1], rows[2]};
    for (int i = 0; i < p.n; i++) {
        jpeg_component_info *info = &c.comp_info[i];
        p.wide[i] = info->downsampled_width;
        p.high[i] = info->downsampled_height;
        p.stride[i] = (size_t)info->width_in_blocks * DCTSIZE;
        p.data[i] = calloc(p.stride[i], (size_t)(info->height_in_blocks + 4) * DCTSIZE);
    }
    for (uint32_t y = 0; c.output_scanline < c.output_height; y++) {
        for (int i = 0; i < p.n; i++) {
            uint32_t n = (uint32_t)c.comp_info[i].v_samp_factor * DCTSIZE;
            for (uint32_t j = 0; j < n; j++)
                rows[i][j] = p.data[i] + (size_t)(y * n + j) * p.stride[i];
        }
        (void)jpeg_read_raw_data(&c, arrays, (JDIMENSION)c.max_v_samp_factor * DCTSIZE);
    }
    jpeg_destroy_decompress(&c);
    return p;
}

static inline void jpeg_planes_free(jpeg_planes *p)
{
    for (int i = 0; i < p->n; i++)
        free(p->data[i]);
    memset(p, 0, sizeof *p);
}

#endif
