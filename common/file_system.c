/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of what may be mapped, not of what may not: rented machines mount file systems nobody has heard of, and
 * a page fault that meets a network error there kills the process. */
#include "common/file_system.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/vfs.h>

/* linux/magic.h lacks half of these. */
static const struct {
    uint32_t magic;
    stk_fs_kind kind;
} known[] = {
    {0x01021994, STK_FS_MEMORY}, /* tmpfs */
    {0x858458f6, STK_FS_MEMORY}, /* ramfs */
    {0x958458f6, STK_FS_MEMORY}, /* hugetlbfs */
    {0x0000ef53, STK_FS_LOCAL},  /* ext2, ext3, ext4 */
    {0x58465342, STK_FS_LOCAL},  /* xfs */
    {0x9123683e, STK_FS_LOCAL},  /* btrfs */
    {0xf2f52010, STK_FS_LOCAL},  /* f2fs */
    {0x2fc12fc1, STK_FS_LOCAL},  /* zfs */
    {0xca451a4e, STK_FS_LOCAL},  /* bcachefs */
};

stk_fs_kind stk_fs_kind_of(int fd)
{
    struct statfs st;
    if (fstatfs(fd, &st) != 0) return STK_FS_OTHER;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if ((uint32_t)st.f_type == known[i].magic) return known[i].kind;
    return STK_FS_OTHER;
}
