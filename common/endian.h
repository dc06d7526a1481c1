/* SPDX-License-Identifier: Apache-2.0
 *
 * Little-endian loads and stores at any alignment; the file format is little-endian only. */
#ifndef STK_COMMON_ENDIAN_H
#define STK_COMMON_ENDIAN_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "stoker's containers are little-endian; big-endian machines are not supported"
#endif

static inline uint16_t stk_load16(const void *p) { uint16_t v; memcpy(&v, p, sizeof v); return v; }
static inline uint32_t stk_load32(const void *p) { uint32_t v; memcpy(&v, p, sizeof v); return v; }
static inline uint64_t stk_load64(const void *p) { uint64_t v; memcpy(&v, p, sizeof v); return v; }
static inline void stk_store16(void *p, uint16_t v) { memcpy(p, &v, sizeof v); }
static inline void stk_store32(void *p, uint32_t v) { memcpy(p, &v, sizeof v); }
static inline void stk_store64(void *p, uint64_t v) { memcpy(p, &v, sizeof v); }

#endif
