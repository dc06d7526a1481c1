/* SPDX-License-Identifier: Apache-2.0
 *
 * Constant tables of shuffle indices from a formula: STK_BYTES_64(F, a) is F(a, 0), F(a, 1), ... F(a, 63). */
#ifndef STK_CODEC_BYTE_TABLES_H
#define STK_CODEC_BYTE_TABLES_H

#define STK_BYTES_4(f, a, i) f(a, (i)), f(a, (i) + 1), f(a, (i) + 2), f(a, (i) + 3)
#define STK_BYTES_16_AT(f, a, i) \
    STK_BYTES_4(f, a, (i)), STK_BYTES_4(f, a, (i) + 4), STK_BYTES_4(f, a, (i) + 8), STK_BYTES_4(f, a, (i) + 12)
#define STK_BYTES_16(f, a) STK_BYTES_16_AT(f, a, 0)
#define STK_BYTES_64(f, a)                                                                                \
    STK_BYTES_16_AT(f, a, 0), STK_BYTES_16_AT(f, a, 16), STK_BYTES_16_AT(f, a, 32), STK_BYTES_16_AT(f, a, 48)

#endif
