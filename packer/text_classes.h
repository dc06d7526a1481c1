/* SPDX-License-Identifier: Apache-2.0
 *
 * Classes that are told as text: a class's number is its name's place in byte order. */
#ifndef STK_PACKER_TEXT_CLASSES_H
#define STK_PACKER_TEXT_CLASSES_H

#include "packer/sources.h"
#include "packer/string_set.h"

/* labels[n_rows] are numbers of the set (-1: none), in the order of first insertion: they become those of the sorted names,
 * which go to out->class_names. On failure what out holds by then is freed with it. */
stk_status stk_text_classes(stk_string_set *set, int64_t *labels, uint64_t n_rows, stk_sources *out, stk_error *error);

#endif
