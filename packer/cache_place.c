/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/cache_place.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/vfs.h>

/* f_type of file systems whose files other machines may change (linux/magic.h and the projects' own headers).
 */
static const struct {
    uint32_t type;
    const char *name;
} NETWORK[] = {
    {0x6969, "nfs"},        {0x517b, "smb"},       {0xfe534d42, "smb"},    {0xff534d42, "cifs"},
    {0x65735546, "fuse"},   {0x00c36400, "ceph"},  {0x0bd00bd0, "lustre"}, {0x47504653, "gpfs"},
    {0x01021997, "9p"},     {0x5346414f, "afs"},   {0x6b414653, "afs"},    {0x73757245, "coda"},
    {0x7461636f, "ocfs2"},  {0x01161970, "gfs2"},  {0x19830326, "beegfs"}, {0x7c7c6673, "prl_fs"},
    {0x786f4256, "vboxsf"}, {0xaad7aaea, "panfs"}, {0x013111a8, "ibrix"},  {0x20030528, "orangefs"},
};

const char *stk_network_disk(const char *folder)
{
    struct statfs fs;
    if (statfs(folder, &fs) != 0) return NULL;
    for (size_t i = 0; i < sizeof NETWORK / sizeof *NETWORK; i++)
        if ((uint32_t)fs.f_type == NETWORK[i].type) return NETWORK[i].name;
    return NULL;
}
