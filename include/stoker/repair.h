/* SPDX-License-Identifier: Apache-2.0
 *
 * Mending a packed data set whose records a disk has spoilt. */
#ifndef STOKER_REPAIR_H
#define STOKER_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/status.h>

STK_BEGIN_DECLS

/* One record that is not as it was written. Strings are valid during the callback. */
typedef struct stk_repair_issue {
    uint64_t record;    /* number in the data set */
    const char *file;   /* path of its file */
    const char *path;   /* the record's source, relative to the packed folder; "" when DST.sources does not tell */
    const char *action; /* "rebuilt" (again what was written) or "dead" (given up) */
    const char *reason; /* dead: why it could not be rebuilt; rebuilt: what was wrong */
} stk_repair_issue;

typedef struct stk_repair_options {
    size_t struct_size; /* filled by stk_repair_options_init */
    const char *from;   /* NULL; where the sources lie now: the folder that paths are relative to, or the .tar or .h5 */
    bool dry_run;       /* false; true: find and try, change nothing */
    bool prune;         /* false; true: remove shards of a folder that an earlier repair has replaced */
    /* In record order, on the calling thread. May be NULL. */
    void (*issue)(void *user, const stk_repair_issue *issue);
    /* Now and then while records are checked, on the calling thread; false cancels (STK_ERR_CANCELLED). May be
     * NULL. */
    bool (*progress)(void *user, uint64_t records_done, uint64_t records_total, uint64_t bytes_done);
    void *user;
} stk_repair_options;
STK_API void stk_repair_options_init(stk_repair_options *options);

typedef struct stk_repair_report {
    uint64_t records; /* of the data set */
    uint64_t bad;     /* found damaged or dead */
    uint64_t rebuilt; /* of these: as they were written again */
    uint64_t dead;    /* of these: given up now or earlier */
    uint64_t bytes;   /* of payloads looked at */
    double seconds;
    char dataset_id[40]; /* afterwards; it is another when records were marked dead */
} stk_repair_report;

/* Repairs the data set at dst, a .stk file or a folder of shards whose index is sound. Every record's checksum is
 * compared. A damaged one is made anew from its source, where DST.sources names it, it lies below `from` with the
 * same content, and gives the very bytes that the index tells of. Any other is marked dead: it keeps its number,
 * label and columns, and readers report it as lost; a later repair that finds the source brings it back.
 *
 * A file that changes is copied, mended, checked whole, and put in place by rename, so readers that have dst open
 * keep what they see; of a folder, shards with dead records get new names and dataset.json is replaced, the old
 * shards stay until a repair with `prune`. dst is as it was after any error. Not to be called twice at once for one
 * dst, nor while it is packed to (STK_ERR_BUSY). report may be NULL.
 *
 * STK_OK also when records are dead (report->dead). Errors: STK_ERR_NOT_FOUND (dst or from), STK_ERR_CORRUPT (header,
 * index or trailer are damaged: pack again, or export with salvage), STK_ERR_UNSUPPORTED (HDF5), STK_ERR_NO_SPACE (a
 * copy of the largest damaged file is needed), STK_ERR_IO, STK_ERR_MEMORY, STK_ERR_BUSY, STK_ERR_CANCELLED. */
STK_API STK_NODISCARD stk_status stk_repair(const char *dst, const stk_repair_options *options,
                                            stk_repair_report *report, stk_error *error);

STK_END_DECLS

#endif
