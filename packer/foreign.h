/* SPDX-License-Identifier: Apache-2.0
 *
 * What files are that no codec here knows: which of them are worth a word, and which word. */
#ifndef STK_PACKER_FOREIGN_H
#define STK_PACKER_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum stk_foreign {
    STK_FOREIGN_UNKNOWN = 0, /* complain only when it is named like an image */
    STK_FOREIGN_LITTER,      /* what systems leave in folders (.DS_Store, ._x.jpg, Thumbs.db): never a word */
    STK_FOREIGN_IMAGE        /* an image in a format that stoker does not read: always named */
} stk_foreign;

/* By content. *what becomes a clause ("a HEIC image", "an HTML page") or NULL; static text. */
stk_foreign stk_foreign_of(const uint8_t *data, size_t n_bytes, const char **what);

#endif
