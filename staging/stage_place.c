/* SPDX-License-Identifier: Apache-2.0
 *
 * The kind comes from mountinfo, whose names are the same on every kernel; statfs' magic numbers decide only where
 * mountinfo cannot be read. Memory is not what `free` shows: in a container that is the host's. */
#include "staging/stage_place.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cgroup.h"
#include "common/mounts.h"

const stk_stage_seams stk_stage_real = {.root = "", .statfs = statfs, .block_bytes = 64 << 20};

static const uint64_t mib = 1 << 20, gib = 1 << 30;

int stk_stage_candidates(const char *folders[STK_PLACES])
{
    static const char *const usual[] = {"/dev/shm", "/root/autodl-tmp", "/tmp"};
    int n = 0;
    const char *own = getenv("STOKER_STAGE_DIR");
    if (own != NULL && own[0] == '/') folders[n++] = own;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        if (own == NULL || strcmp(own, usual[i]) != 0) folders[n++] = usual[i];
    return n;
}

stk_place_kind stk_place_kind_of(const char *type)
{
    static const struct {
        const char *type;
        stk_place_kind kind;
    } known[] = {
        {"tmpfs", STK_PLACE_MEMORY},    {"ramfs", STK_PLACE_MEMORY},   {"ext2", STK_PLACE_DISK},
        {"ext3", STK_PLACE_DISK},       {"ext4", STK_PLACE_DISK},      {"xfs", STK_PLACE_DISK},
        {"btrfs", STK_PLACE_DISK},      {"f2fs", STK_PLACE_DISK},      {"zfs", STK_PLACE_DISK},
        {"bcachefs", STK_PLACE_DISK},   {"jfs", STK_PLACE_DISK},       {"overlay", STK_PLACE_OVERLAY},
        {"aufs", STK_PLACE_OVERLAY},    {"nfs", STK_PLACE_NETWORK},    {"nfs4", STK_PLACE_NETWORK},
        {"cifs", STK_PLACE_NETWORK},    {"smb3", STK_PLACE_NETWORK},   {"ceph", STK_PLACE_NETWORK},
        {"lustre", STK_PLACE_NETWORK},  {"gpfs", STK_PLACE_NETWORK},   {"beegfs", STK_PLACE_NETWORK},
        {"afs", STK_PLACE_NETWORK},     {"9p", STK_PLACE_NETWORK},     {"virtiofs", STK_PLACE_NETWORK},
        {"ocfs2", STK_PLACE_NETWORK},   {"gfs2", STK_PLACE_NETWORK},   {"glusterfs", STK_PLACE_NETWORK},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(type, known[i].type) == 0) return known[i].kind;
    /* fuse.sshfs, fuse.juicefs, fuse.s3fs ...: somebody's server nearly always. */
    return strncmp(type, "fuse", 4) == 0 ? STK_PLACE_NETWORK : STK_PLACE_UNKNOWN;
}

const char *stk_place_kind_text(stk_place_kind kind)
{
    switch (kind) {
    case STK_PLACE_MEMORY: return "in memory";
    case STK_PLACE_DISK: return "on a local disk";
    case STK_PLACE_OVERLAY: return "on the system disk";
    case STK_PLACE_NETWORK: return "on a network disk";
    case STK_PLACE_UNKNOWN: break;
    }
    return "on a disk of unknown kind";
}

/* The last of the longest mount points that hold the folder: what was mounted later lies on top. */
static void find_mount(const char *root, const char *folder, stk_place *p)
{
    char path[PATH_MAX], *line = NULL;
    size_t capacity = 0, longest = 0;
    snprintf(p->type, sizeof p->type, "?");
    snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
    FILE *file = fopen(path, "re");
    if (file == NULL) return;
    while (getline(&line, &capacity, file) > 0) {
        stk_mount m;
        if (!stk_mount_parse(line, &m) || !stk_mount_holds(m.point, folder)) continue;
        size_t n = strlen(m.point);
        if (n < longest) continue;
        longest = n;
        snprintf(p->type, sizeof p->type, "%s", m.type);
        snprintf(p->mount, sizeof p->mount, "%s", m.point);
    }
    free(line);
    fclose(file);
}

/* A line of /proc/meminfo, in bytes; 0 = not there. */
static uint64_t meminfo(const char *root, const char *name)
{
    char path[PATH_MAX], line[256];
    unsigned long long kib = 0;
    size_t n = strlen(name);
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    FILE *file = fopen(path, "re");
    if (file == NULL) return 0;
    while (kib == 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, name, n) == 0 && line[n] == ':') kib = strtoull(line + n + 1, NULL, 10);
    fclose(file);
    return kib * 1024;
}

static uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }
static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Files in memory count against the container's limit as if a program held them, so what they may take is the
 * smallest of three: the file system's own room, the machine's memory, the cgroup's. The trainer needs some of the
 * memory too, but not of the file system. */
static void memory_room(const char *root, uint64_t keep_free, stk_place *p)
{
    uint64_t room, memory = UINT64_MAX, all = meminfo(root, "MemTotal"), available = meminfo(root, "MemAvailable");
    if (available > 0) memory = available;
    if (stk_cgroup_memory_room(root, &room)) memory = smaller(memory, room);
    if (stk_cgroup_memory_limit(root, &room) && (all == 0 || room < all)) all = room;
    uint64_t reserve = smaller(all / 4 < 512 * mib ? 512 * mib : all / 4, 16 * gib), in_files = p->free_bytes;
    p->free_bytes = smaller(in_files, memory);
    if (keep_free != STK_STAGE_KEEP_DEFAULT)
        p->room_bytes = less(p->free_bytes, keep_free);
    else
        p->room_bytes = smaller(in_files, memory == UINT64_MAX ? in_files : less(memory, reserve));
}

static void look_at(const stk_stage_seams *seams, uint64_t keep_free, const char *full, stk_place *p)
{
    struct stat st;
    struct statfs fs;
    char real[PATH_MAX];
    if (stat(full, &st) != 0 || realpath(full, real) == NULL) {
        snprintf(p->why_not, sizeof p->why_not, errno == ENOENT ? "is not there" : "cannot be looked at");
        return;
    }
    if (!S_ISDIR(st.st_mode)) {
        snprintf(p->why_not, sizeof p->why_not, "is not a folder");
        return;
    }
    if (seams->statfs(full, &fs) != 0) {
        snprintf(p->why_not, sizeof p->why_not, "cannot be looked at");
        return;
    }
    size_t n = strlen(seams->root);
    find_mount(seams->root, strncmp(real, seams->root, n) == 0 ? real + n : real, p);
    p->kind = stk_place_kind_of(p->type);
    if (strcmp(p->type, "?") == 0 && (uint32_t)fs.f_type == 0x01021994) p->kind = STK_PLACE_MEMORY;
    p->device = (uint64_t)st.st_dev;
    p->size_bytes = (uint64_t)fs.f_blocks * (uint64_t)fs.f_bsize;
    p->free_bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
    if (p->kind == STK_PLACE_MEMORY) {
        memory_room(seams->root, keep_free, p);
    } else {
        uint64_t keep = keep_free == STK_STAGE_KEEP_DEFAULT ? gib : keep_free;
        p->room_bytes = less(p->free_bytes, keep);
    }
    p->usable = access(full, W_OK | X_OK) == 0;
    if (!p->usable) snprintf(p->why_not, sizeof p->why_not, "cannot be written to by this user");
}

void stk_place_look(const stk_stage_seams *seams, const char *folder, uint64_t keep_free, stk_place *out)
{
    char full[PATH_MAX];
    *out = (stk_place){.kind = STK_PLACE_UNKNOWN};
    int n = snprintf(full, sizeof full, "%s%s", seams->root, folder);
    int m = snprintf(out->folder, sizeof out->folder, "%s", folder);
    /* A key, a name and an ending come behind. */
    if (n < 0 || m < 0 || (size_t)n >= sizeof full - 600) {
        snprintf(out->why_not, sizeof out->why_not, "is too long a path");
        return;
    }
    look_at(seams, keep_free, full, out);
}
