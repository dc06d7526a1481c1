/* SPDX-License-Identifier: Apache-2.0
 *
 * Places where a copy could lie: what kind of file system it is, and how much room there is really. */
#ifndef STK_STAGING_STAGE_PLACE_H
#define STK_STAGING_STAGE_PLACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/vfs.h>

#include <stoker/stage.h>

/* How the machine is looked at; tests put made-up trees here. */
typedef struct stk_stage_seams {
    const char *root;                              /* before /proc/..., and before the places; "" */
    int (*statfs)(const char *, struct statfs *);  /* of a path with root before it */
    uint64_t block_bytes;                          /* of a copy: 64 MiB */
} stk_stage_seams;
extern const stk_stage_seams stk_stage_real;

typedef enum stk_place_kind {
    STK_PLACE_MEMORY,  /* tmpfs, ramfs */
    STK_PLACE_DISK,    /* a disk file system of this machine */
    STK_PLACE_OVERLAY, /* a container's own layer: the system disk */
    STK_PLACE_NETWORK,
    STK_PLACE_UNKNOWN  /* taken for slow */
} stk_place_kind;

enum { STK_PLACE_TEXT = 200 };

typedef struct stk_place {
    char folder[STK_STAGE_PATH]; /* as the user knows it */
    stk_place_kind kind;
    char type[32];        /* "tmpfs", "ext4", "nfs4" ...; "?" when mountinfo does not say */
    char mount[256];      /* mount point */
    uint64_t device;      /* st_dev */
    uint64_t size_bytes;  /* of the file system */
    uint64_t free_bytes;  /* of the file system; in memory, what the machine and the cgroup leave of that */
    uint64_t room_bytes;  /* free_bytes less what is to be kept free */
    bool usable;
    char why_not[STK_PLACE_TEXT]; /* usable false: the end of a sentence that begins with the folder */
} stk_place;

enum { STK_PLACES = 4 };
/* The folders that are looked at when the user names none, the best first: $STOKER_STAGE_DIR (usually absent),
 * /dev/shm, /root/autodl-tmp, /tmp. Returns how many. */
int stk_stage_candidates(const char *folders[STK_PLACES]);

/* Looks at a folder; writes nothing. keep_free as in stk_stage_options. */
void stk_place_look(const stk_stage_seams *seams, const char *folder, uint64_t keep_free, stk_place *out);

/* "in memory", "on a local disk", "on the system disk", "on a network disk" ... */
const char *stk_place_kind_text(stk_place_kind kind);

/* The kind that a file system's type name stands for. */
stk_place_kind stk_place_kind_of(const char *type);

#endif
