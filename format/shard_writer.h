/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing a .stk shard front to back under a temporary name; the caller publishes it (packer/commit.c).
 * Same calls, same bytes: nothing of time, host, threads or paths outside the records gets in. */
#ifndef STK_FORMAT_SHARD_WRITER_H
#define STK_FORMAT_SHARD_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/columns.h>
#include <stoker/status.h>
#include <stoker/types.h>

typedef struct stk_shard_writer stk_shard_writer;

/* A column's value for one record. */
typedef struct stk_cell {
    bool is_null;
    const void *data; /* elements (or the string's bytes) */
    size_t n_items;   /* elements; bytes for strings and bytes */
} stk_cell;

typedef struct stk_record {
    const uint8_t *payload;
    size_t n_bytes;
    uint64_t xxh3; /* of the payload: computed by the worker that made it */
    int64_t label;
    uint32_t width, height; /* turned */
    uint32_t tables;        /* shared table set + 1; 0 = none */
    stk_encoding encoding;
    uint8_t orientation;
    uint8_t channels;
    const stk_cell *cells; /* one a column */
} stk_record;

typedef struct stk_shard_writer_options {
    const stk_column *columns; /* copied */
    uint32_t n_columns;
    const uint8_t *const *table_sets; /* shared table sets, copied into the shard */
    const size_t *table_set_bytes;
    uint32_t n_table_sets;
    uint64_t first_record; /* number of the shard's first record in the data set */
} stk_shard_writer_options;

/* Creates path (O_EXCL). On failure nothing stays. */
stk_status stk_shard_writer_open(const char *path, const stk_shard_writer_options *options,
                                 stk_shard_writer **out, stk_error *error);

/* Appends one record; bytes are copied or written before it returns. From one thread at a time. Returns the
 * file offset of the payload in *offset when not NULL. */
stk_status stk_shard_writer_add(stk_shard_writer *writer, const stk_record *record, uint64_t *offset,
                                stk_error *error);

/* Where the next record's header will lie: for writers that place payloads themselves. */
uint64_t stk_shard_writer_bytes(const stk_shard_writer *writer);

/* Writes index, strings, metadata (JSON text) and trailer, fsyncs, closes the file. id gets 33 bytes. */
stk_status stk_shard_writer_finish(stk_shard_writer *writer, const char *metadata, char *id,
                                   stk_error *error);

/* ---- Going on with a shard whose writer was killed. */

/* Opens an unfinished shard (or a finished one, which is then taken up again). Its head must be the one that
 * these options give: else STK_ERR_CORRUPT, and the file is left as it is. Its records count only once they
 * are adopted. */
stk_status stk_shard_writer_reopen(const char *path, const stk_shard_writer_options *options,
                                   stk_shard_writer **out, stk_error *error);

/* Takes over the next record that lies in the file, if it is whole: a sound header with the right number and
 * this label, and a payload that its checksum fits (it is read). The cells come from the caller. When
 * *adopted is false nothing changes. The first record that is added instead cuts off what lies there. */
stk_status stk_shard_writer_adopt(stk_shard_writer *writer, int64_t label, const stk_cell *cells,
                                  bool *adopted, stk_error *error);

/* Writes what is gathered and makes close leave an unfinished file where it is, to be reopened. */
stk_status stk_shard_writer_keep(stk_shard_writer *writer, stk_error *error);

/* Frees; when not finished the file is removed. Sets *writer to NULL. */
void stk_shard_writer_close(stk_shard_writer **writer);

#endif
