/* SPDX-License-Identifier: Apache-2.0
 *
 * The output that a pack will replace, as a supply of finished records: a source that has not changed since,
 * under the same parameters, gives the same record. */
#ifndef STK_PACKER_PREVIOUS_H
#define STK_PACKER_PREVIOUS_H

#include <stoker/pack.h>

#include "format/storage.h"
#include "packer/source_file.h"
#include "packer/source_history.h"

typedef struct stk_previous {
    const stk_pack_options *options;
    stk_history history;
    stk_storage *storage; /* NULL: nothing to be had */
    bool same_tables;     /* its shared Huffman tables are those of this pack */
} stk_previous;

/* Opens the data set at dst with its DST.sources. When they are not there, damaged, do not belong together or
 * were made with other parameters, there is nothing to be had, and that is no error. */
stk_status stk_previous_open(const char *dst, const char *recipe, const stk_pack_options *options,
                             stk_previous *out, stk_error *error);
void stk_previous_close(stk_previous *previous);

/* Its shared tables, when the files that they are made of (the list's first n) have not changed; else
 * *n_bytes 0. */
stk_status stk_previous_tables(const stk_previous *previous, const stk_sources *sources, uint64_t n,
                               const uint8_t **blob, size_t *n_bytes, stk_error *error);
/* Tells which tables this pack has (n_bytes 0: none). */
stk_status stk_previous_compare_tables(stk_previous *previous, const uint8_t *blob, size_t n_bytes,
                                       stk_error *error);

/* Makes the product of an entry from what there is; *made says whether that could be. The payload is put into
 * `payload`. Thread-safe; reader and buffers are the thread's own. */
stk_status stk_previous_make(const stk_previous *previous, stk_source_reader *reader,
                             const stk_source *source, stk_buffer *payload, stk_buffer *scratch,
                             stk_product *out, bool *made, stk_error *error);

/* Has the file still the size and time that were noted, or (where the time does not tell, or rehash) the same
 * content? *mtime_ns becomes its time now. */
stk_status stk_source_unchanged(stk_source_reader *reader, const stk_source *source,
                                const stk_history_entry *entry, const stk_pack_options *options,
                                bool *unchanged, int64_t *mtime_ns, stk_error *error);

#endif
