/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of /proc/self/mountinfo. */
#ifndef STK_COMMON_MOUNTS_H
#define STK_COMMON_MOUNTS_H

#include <stdbool.h>

/* The fields that matter; they point into the line. */
typedef struct stk_mount {
    char *root;   /* the folder of its file system that is mounted */
    char *point;  /* where */
    char *type;   /* "ext4", "tmpfs", "overlay", "nfs4", "fuse.sshfs" ... */
    char *source; /* "/dev/md0", "server:/export", "shm" ... */
    char *super;  /* options of the file system; for cgroup v1 its controllers */
} stk_mount;

/* Parses one line, which is changed. False for what is no such line. */
bool stk_mount_parse(char *line, stk_mount *out);

/* Whether an absolute path lies at or below a mount point. */
bool stk_mount_holds(const char *point, const char *path);

#endif
