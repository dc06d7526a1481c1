/* SPDX-License-Identifier: Apache-2.0
 *
 * What kind of file system a file lies on, as far as reading it is concerned. */
#ifndef STK_COMMON_FILE_SYSTEM_H
#define STK_COMMON_FILE_SYSTEM_H

typedef enum stk_fs_kind {
    STK_FS_MEMORY, /* tmpfs, ramfs, hugetlbfs: always resident */
    STK_FS_LOCAL,  /* a disk file system of this machine that is known to map files well */
    STK_FS_OTHER   /* network, FUSE, overlay, and whatever is not known */
} stk_fs_kind;

/* The kind of the open file's file system; STK_FS_OTHER when the system does not say. */
stk_fs_kind stk_fs_kind_of(int fd);

#endif
