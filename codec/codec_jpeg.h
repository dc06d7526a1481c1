/* SPDX-License-Identifier: Apache-2.0
 *
 * One libjpeg decompression under guard of setjmp. The codec_jpeg*.c files, and no others,
 * include this header, for it brings jpeglib.h along. */
#ifndef STK_CODEC_CODEC_JPEG_H
#define STK_CODEC_CODEC_JPEG_H

#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs it */

#include <jpeglib.h>

#include "codec/codec_internal.h"

/* A decompression in progress. Lives in the context's slot, so that nothing that a longjmp could clobber lies
 * on the stack. */
typedef struct stk_jpeg {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf escape;
    stk_codec_ctx *ctx;
    stk_damage_report *damage;
    int max_scans;
    stk_status failure;           /* set before escape is taken */
    char reason[JMSG_LENGTH_MAX]; /* why */
    uint8_t exif_orientation;     /* 0 = none seen */
    uint8_t xmp_orientation;
} stk_jpeg;

/* What to do once the header is read and the size found to be within limits. May call any libjpeg function on
 * jpeg->cinfo: a libjpeg error ends it by longjmp, so it must not hold memory or locks of its own (libjpeg's
 * pools and the context's scratch are fine). */
typedef stk_status (*stk_jpeg_body)(stk_jpeg *jpeg, void *arg, stk_error *error);

/* Creates a decompressor over the bytes, reads the header, runs body and destroys the decompressor. Warnings of
 * libjpeg go to damage; a libjpeg error becomes STK_ERR_IMAGE (or UNSUPPORTED, LIMIT, MEMORY) with its text.
 * A new libjpeg object each time (1 us): a kept one would carry tables from one image into the next. */
stk_status stk_jpeg_run(stk_codec_ctx *ctx, const uint8_t *data, size_t n_bytes, stk_damage_report *damage,
                        stk_jpeg_body body, void *arg, stk_error *error);

/* Sets out_color_space and the exact-pixel parameters (ISLOW, fancy upsampling). UNSUPPORTED for component
 * counts that have no meaning as colour. */
stk_status stk_jpeg_set_output(stk_jpeg *jpeg, stk_error *error);

/* True when the coefficients can become tiles: 8 bit, DCT, grey or YCbCr, integral sampling. */
bool stk_jpeg_tileable(const stk_jpeg *jpeg);

/* After jpeg_start_decompress and before any row: true when the one scan of a baseline file is whole, ends with
 * EOI and holds nothing that libjpeg would complain of. False says nothing: ask libjpeg. Changes no state of
 * *cinfo. */
bool stk_jpeg_scan_is_whole(struct jpeg_decompress_struct *cinfo);

#endif
