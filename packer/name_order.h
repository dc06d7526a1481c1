/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of file names. torchvision's ImageFolder sorts Python strings, that is by code points, where
 * bytes that are no UTF-8 count as U+DC80 .. U+DCFF (os.fsdecode's "surrogateescape"). Label numbers and
 * sample numbers depend on this order, so it is reproduced for every sequence of bytes. */
#ifndef STK_PACKER_NAME_ORDER_H
#define STK_PACKER_NAME_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/status.h>

/* As strcmp: < 0, 0, > 0. */
int stk_name_compare(const char *a, const char *b);

/* Decodes one code point at *p (Python's strict UTF-8; any byte that fits in no sequence gives 0xdc00 + byte)
 * and advances *p. At the terminating zero it returns 0 and does not advance. */
uint32_t stk_name_next(const unsigned char **p);

/* Sorts n offsets of zero-terminated names within base. */
stk_status stk_names_sort(const char *base, uint32_t *offsets, size_t n, stk_error *error);

#endif
