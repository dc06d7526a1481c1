/* SPDX-License-Identifier: Apache-2.0
 *
 * Versions of the image libraries, each told by the file that knows its library; "" when the build is without it. */
#ifndef STK_CODEC_VERSIONS_H
#define STK_CODEC_VERSIONS_H

typedef struct stk_version_text {
    char text[32];
} stk_version_text;

stk_version_text stk_jpeg_version(void);
stk_version_text stk_png_version(void);
stk_version_text stk_webp_version(void);
stk_version_text stk_tiff_version(void);

#endif
