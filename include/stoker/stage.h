/* SPDX-License-Identifier: Apache-2.0
 *
 * Staging: a data set that lies on a slow disk is copied to a fast one, once a machine, and read from there.
 *
 * A copy lies in FOLDER/stoker-UID (mode 0700), under a name made of the data set's content and of its files'
 * sizes and times: another content is another name, so an old copy is never taken for a new data set. It appears
 * by a rename when all of it is there, with a checksum of each block of 64 MiB made from the source's bytes as they were
 * copied; until then it is a .part, which the next call goes on with after comparing those checksums. Any process may be
 * killed at any moment. */
#ifndef STOKER_STAGE_H
#define STOKER_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/status.h>

STK_BEGIN_DECLS

#define STK_STAGE_PATH 4096
#define STK_STAGE_TEXT 512

/* How things stand with a data set's copy. */
typedef enum stk_stage_state {
    STK_STAGE_NONE = 0,    /* there is no copy */
    STK_STAGE_COPYING = 1, /* another process is making it now */
    STK_STAGE_PART = 2,    /* some blocks are there from a run that ended early; not read, to be gone on with */
    STK_STAGE_SUBSET = 3,  /* published, but for want of space some blocks only; the others are read from the source */
    STK_STAGE_WHOLE = 4,   /* published, all of it */
    STK_STAGE_NEEDLESS = 5 /* the data set lies where no place is faster */
} stk_stage_state;
/* "none", "copying", "part", "subset", "whole", "needless". Never NULL. */
STK_API const char *stk_stage_state_name(stk_stage_state state);

/* Called ten times a second on the calling thread; false cancels (STK_ERR_CANCELLED; what was copied is kept for the
 * next call). phase: "look", "wait" (another process is copying), "check", "copy", "verify". */
typedef struct stk_stage_progress {
    const char *phase;
    uint64_t bytes_done, bytes_total; /* of this phase */
    double seconds;
} stk_stage_progress;
typedef bool (*stk_stage_progress_fn)(void *user, const stk_stage_progress *progress);

#define STK_STAGE_KEEP_DEFAULT UINT64_MAX

typedef struct stk_stage_options {
    size_t struct_size; /* filled by stk_stage_options_init */
    const char *to;     /* NULL or "auto": decided by what the machine offers ($STOKER_STAGE_DIR, /dev/shm,
                           /root/autodl-tmp, /tmp); else a folder that exists */
    bool verify;        /* false; true: compare every block of the copy with its checksum and mend bad ones from the
                           source */
    bool dry_run;       /* false; true: look and decide, write nothing */
    bool wait;          /* true; false: STK_ERR_BUSY while another process makes the copy */
    uint64_t keep_free; /* bytes to be left free on the target. By default a quarter of the memory that this
                           container may use (512 MiB to 16 GiB) in memory, 1 GiB on a disk */
    uint64_t max_bytes; /* 0 = no limit; larger data sets are staged in part */
    uint32_t n_threads; /* 0 = 16 for sources that answer slowly, else as many as there are CPUs, 2 to 4 */
    stk_stage_progress_fn progress;
    void *user;
} stk_stage_options;
STK_API void stk_stage_options_init(stk_stage_options *options);

typedef struct stk_stage_report {
    stk_stage_state state;
    uint64_t bytes;         /* of the data set */
    uint64_t bytes_staged;  /* of them in the copy */
    uint64_t bytes_copied;  /* by this call */
    uint64_t bytes_resumed; /* found from an earlier call that was killed, and right */
    uint64_t blocks_checked, blocks_mended; /* blocks of 64 MiB: compared with their checksums; found bad and copied
                                               again */
    double seconds;
    double source_mb_s, target_mb_s;  /* measured briefly (10^6 bytes a second); 0 = not measured */
    char content_id[40];              /* what the copy is named by: 32 hex digits */
    char folder[STK_STAGE_PATH];      /* the place chosen, "/dev/shm"; "" = none */
    char path[STK_STAGE_PATH];        /* STK_STAGE_WHOLE: the copy, which any program may open; else "" */
    char reason[STK_STAGE_TEXT];      /* why this place: one line for people */
    char last_failure[STK_STAGE_TEXT]; /* of an earlier run that failed and was not made good since; else "" */
} stk_stage_report;

/* Stages the data set at path: a .stk file, a folder with dataset.json, or an HDF5 file. With a copy in place that
 * fits the source (sizes, times, and some bytes of both compared) this is quick and copies nothing. One process a
 * machine copies; others wait for it. When the place has no room for all, a fixed part is staged: whole shards of a
 * folder, else the first blocks of 64 MiB. A part grows in a
 * later call that finds more room, unless somebody reads it then. Copies of the same path with an older content are removed when nobody
 * reads them. report may be NULL; it is filled as far as things got also on failure. Any number of processes and
 * threads may call this at once.
 *
 * Errors: STK_ERR_ARGUMENT (to), STK_ERR_NOT_FOUND, STK_ERR_UNSUPPORTED (no data set; a folder that others may write
 * to), STK_ERR_NO_SPACE (no room for any of it, or the disk ran full: what this call wrote is removed
 * then; a part that was staged before and was to grow is there as before, which is no error, and report says so),
 * STK_ERR_BUSY, STK_ERR_CANCELLED, STK_ERR_STATE (the source changed meanwhile), STK_ERR_CHECKSUM (what was written
 * reads back otherwise), STK_ERR_IO. The source is never changed, and can be read whatever happens. */
STK_API STK_NODISCARD stk_status stk_stage(const char *path, const stk_stage_options *options,
                                           stk_stage_report *report, stk_error *error);

/* One staged copy. */
typedef struct stk_stage_copy {
    const char *folder; /* where it lies; the copy's own folder */
    const char *source; /* what it is a copy of */
    stk_stage_state state;
    uint64_t bytes;     /* of the data set */
    uint64_t disk_bytes; /* that the copy takes */
    double idle_seconds; /* since it was last used */
    bool in_use;         /* a process reads or writes it now */
} stk_stage_copy;
typedef bool (*stk_stage_copy_fn)(void *user, const stk_stage_copy *copy);

/* Calls fn for each copy of this user in the place `to` (NULL or "auto": all places that stk_stage would look at),
 * those used longest ago first, until it returns false. Texts live during the call. A place `to` that does not exist is
 * STK_ERR_NOT_FOUND. */
STK_API STK_NODISCARD stk_status stk_stage_list(const char *to, stk_stage_copy_fn fn, void *user, stk_error *error);

/* Removes copies. path: those of this data set (in use or not: programs that read them keep what they have opened, and
 * the space is free when they end); it need not exist any more. path NULL: of all data sets, copies that nobody uses,
 * those used longest ago first, until the place has keep_free bytes free (STK_STAGE_KEEP_DEFAULT: all of them). to as in
 * stk_stage_list. *n_copies and *n_bytes say what was removed; each may be NULL. Sources are never touched.
 * Errors: STK_ERR_BUSY when a process is copying this data set now; STK_ERR_IO. */
STK_API STK_NODISCARD stk_status stk_stage_evict(const char *path, const char *to, uint64_t keep_free,
                                                 uint64_t *n_copies, uint64_t *n_bytes, stk_error *error);

STK_END_DECLS

#endif
