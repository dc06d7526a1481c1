/* SPDX-License-Identifier: Apache-2.0
 *
 * The shard writer's state, shared by writing (shard_writer.c) and going on after a kill (shard_adopt.c). */
#ifndef STK_FORMAT_SHARD_WRITER_INTERNAL_H
#define STK_FORMAT_SHARD_WRITER_INTERNAL_H

#include "common/file.h"
#include "format/index_builder.h"
#include "format/layout.h"
#include "format/shard_writer.h"

/* Small payloads are gathered in a buffer; large ones go to the file as they are. */
enum { STK_GATHER_BYTES = 1 << 20, STK_DIRECT_BYTES = 256 << 10 };

struct stk_shard_writer {
    char *path;
    stk_file file;
    stk_buffer gather; /* bytes that belong at file offset `written` */
    uint64_t written;
    stk_index_builder *index;
    stk_buffer directory; /* of the table sets */
    stk_shard_header header;
    uint64_t n_records;
    uint64_t payload_bytes;
    bool has_labels;
    bool failed; /* an earlier write failed: what lies in the file is not whole */
    bool finished;
    bool adopting;     /* reopened: behind `written` may lie records of the writer before */
    bool keep;         /* an unfinished file stays */
    stk_buffer window; /* while adopting: file bytes from window_start */
    uint64_t window_start;
};

/* A writer without an open file. */
stk_status stk_shard_writer_alloc(const char *path, const stk_shard_writer_options *options,
                                  stk_shard_writer **out, stk_error *error);
/* Fills header and directory. */
stk_status stk_shard_writer_plan_head(stk_shard_writer *w, const stk_shard_writer_options *options,
                                      stk_error *error);
/* Writes what is gathered. */
stk_status stk_shard_writer_flush(stk_shard_writer *w, stk_error *error);
/* Whether the record may stand next in the file. */
stk_status stk_shard_writer_check(const stk_shard_writer *w, const stk_record *r, stk_error *error);
/* Notes a record whose bytes are in place; its cells have been checked. */
stk_status stk_shard_writer_count(stk_shard_writer *w, const stk_core_row *row, const stk_cell *cells,
                                  stk_error *error);
/* Cuts off what was not adopted; nothing to do for a writer that was not reopened. */
stk_status stk_shard_writer_end_adoption(stk_shard_writer *w, stk_error *error);

#endif
