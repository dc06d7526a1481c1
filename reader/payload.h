/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a record, by one of two roads:
 *
 *   pread   the kernel copies them into the thread's scratch. A file that was cut short or a disk that fails is
 *           a status.
 *   mmap    the first touch of a record goes by pread too (it is hashed then, so it must be read anyway); later
 *           ones are handed out from a mapping of the file, with no copy and no system call.
 *
 * On either, a loader with io=auto copies a data set of small records into memory (mirror.h) when it fits in an
 * eighth of what this process may use.
 *
 * Measured (Zen 5, records of 110 KB in the page cache of ext4): pread 4.4 us, MADV_POPULATE_READ alone 4.7 us. So
 * populating pages before a first touch would cost more than reading them, and it needs Linux 5.14.
 *
 * No SIGBUS: under mmap the file's size is asked for once a round (stk_payload_begin_round; the loader's
 * rounds take some 0.1 ms) before its mapping is used, so a file that shrank is an error of the samples in it.
 * What is left: a file cut short in the very round that reads it, and a disk error on a page that was read
 * before and evicted since. To keep the latter rare, io=auto maps files on disk only when the data set fits in
 * half of the memory this process may use. io=pread rules both out. */
#ifndef STK_READER_PAYLOAD_H
#define STK_READER_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/dataset.h>
#include <stoker/status.h>

#include "format/storage.h"

/* Thread-safe after open. */
typedef struct stk_payload_source stk_payload_source;

/* The storage must outlive the source. */
stk_status stk_payload_open(stk_storage *storage, const stk_dataset_options *options, stk_payload_source **out,
                            stk_error *error);
void stk_payload_close(stk_payload_source **source);

/* From now on, what the copy (staged_storage.h; taken over, also on failure) holds is read from it. A record whose bytes
 * there are not right, or cannot be read, comes from the source as before. Once a source; any thread, at any time. */
stk_status stk_payload_adopt(stk_payload_source *source, stk_storage *copy, const stk_dataset_options *options,
                             stk_error *error);

/* A source over joined storages (format/concat.h), in the order of `parts`, which are the joined ones' own sources and must
 * outlive it: what their copies hold is read from there, from whenever they have some. Before anything is read. */
stk_status stk_payload_join(stk_payload_source *source, const stk_payload_source *const *parts, uint32_t n_parts,
                            stk_error *error);

/* "mmap", "pread", or the storage's own words. */
const char *stk_payload_road(const stk_payload_source *source);

/* A mapped file's size as last looked at. */
typedef struct stk_file_check {
    uint64_t n_bytes;
    uint32_t round;
} stk_file_check;

/* For tests, before anything was read: treats all files as if they lay on a file system that heeds no advice, with
 * nothing in memory. */
void stk_payload_pretend_remote(stk_payload_source *source);

/* Small records, small set, io=auto: makes room for a copy of the files in memory. Does nothing when that does not
 * pay or there is no memory for it. Any thread. */
void stk_payload_mirror(stk_payload_source *source);

/* Where copying has got to; start with {0}. */
typedef struct stk_payload_copying {
    uint64_t offset;
    uint32_t file;
} stk_payload_copying;
/* Copies some 16 MiB more. False when there is nothing left to copy. */
bool stk_payload_copy_some(const stk_payload_source *source, stk_payload_copying *progress);

/* What a thread keeps between records. */
typedef struct stk_payload_ctx {
    stk_buffer scratch;
    stk_file_check *checks; /* [2 * n_files]: of the source's, and of a staged copy's */
    uint32_t first_check;   /* where those of the files in hand begin */
    uint32_t round;
} stk_payload_ctx;

stk_status stk_payload_ctx_init(stk_payload_ctx *ctx, const stk_payload_source *source, stk_error *error);
void stk_payload_ctx_free(stk_payload_ctx *ctx);

/* To be called before each stretch of records that is worked on without a pause. */
void stk_payload_begin_round(stk_payload_ctx *ctx);

/* The payload of record i, whose row the caller has looked up; checksum compared as the options say. *data is
 * valid until the next call with ctx. Errors: STK_ERR_CHECKSUM, STK_ERR_CORRUPT (file too short), STK_ERR_IO,
 * STK_ERR_LIMIT. */
stk_status stk_payload_get(const stk_payload_source *source, stk_payload_ctx *ctx, uint64_t i, const stk_row *row,
                           const uint8_t **data, stk_error *error);

/* Brings the cache lines of a small record near, when it can be had without a system call. Never fails. */
void stk_payload_prefetch(const stk_payload_source *source, uint64_t i, const stk_row *row);

/* The same for a payload that was read elsewhere (haul.h). Checks it as the options say. */
stk_status stk_payload_accept(const stk_payload_source *source, uint64_t i, const stk_row *row,
                              const uint8_t *data, stk_error *error);

/* Whether the record's last byte is in memory. Where the file system does not say (RWF_NOWAIT), the byte is read,
 * and a read that took long was no hit: the call then waits for a disk. */
bool stk_payload_resident(const stk_payload_source *source, const stk_row *row);

/* Asks the system to bring a range of a file into its cache; returns without waiting for it. False, with nothing
 * done, where the file system is not known to heed that: read the range instead. */
bool stk_payload_ask(const stk_payload_source *source, uint32_t file, uint64_t offset, uint64_t n_bytes);

/* Reads a range of a file; false when that fails. */
bool stk_payload_read_range(const stk_payload_source *source, uint32_t file, uint64_t offset, uint64_t n_bytes,
                            uint8_t *data);

#endif
