/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading DST.sources back (source_log.h says what is in it). */
#ifndef STK_PACKER_SOURCE_HISTORY_H
#define STK_PACKER_SOURCE_HISTORY_H

#include <stoker/dataset.h>

#include "packer/product.h"

/* What was noted of one file. Strings are zero-terminated and live in the caller's scratch until its next
 * use. */
typedef struct stk_history_entry {
    uint64_t size;
    int64_t mtime_ns; /* 0: not to be trusted, the content decides */
    uint64_t xxh3;
    bool has_xxh3;
    stk_fate fate;
    uint64_t record; /* number in the output */
    uint32_t flags;  /* STK_LOG_... */
    const char *path;
    const char *action, *kind, *reason; /* action NULL: none */
} stk_history_entry;

/* Parses a line without its end. False when it is no such line. */
bool stk_history_parse(const char *line, size_t n_bytes, stk_buffer *scratch, stk_history_entry *out);

/* An action's or kind's word as static text, which outlives where it was read from; NULL: no such word. */
const char *stk_history_word(const char *word);

/* The entry as a product without a payload. */
void stk_history_product(const stk_history_entry *entry, stk_product *out);

typedef struct stk_history {
    stk_buffer text;
    const char *recipe; /* zero-terminated, in text */
    const char *dataset_id;
    size_t first_line; /* offset of the first file line */
    uint64_t n_lines;
    uint64_t *slots; /* of a hash table: offset of a line, and 24 bits of its path's hash on top; 0 empty */
    size_t n_slots;
    size_t longest; /* line */
} stk_history;

/* Reads a whole, undamaged file; anything else is STK_ERR_CORRUPT, STK_ERR_NOT_FOUND ... */
stk_status stk_history_open(const char *path, stk_history *out, stk_error *error);
void stk_history_close(stk_history *history);

/* The first line of that path (a manifest may name a file twice: both lines say the same of it). Thread-safe.
 */
bool stk_history_find(const stk_history *history, const char *path, stk_buffer *scratch,
                      stk_history_entry *out);

/* Room for any line: with it, that stk_history_next or _find ends is never for want of memory. */
stk_status stk_history_room(const stk_history *history, stk_buffer *scratch, stk_error *error);

/* The line at offset *at (start with first_line), which moves behind it; false at the end. */
bool stk_history_next(const stk_history *history, size_t *at, stk_buffer *scratch, stk_history_entry *out);

#endif
