/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a copy goes: made-up machines (mountinfo, meminfo, cgroups v1 and v2, sizes of disks) as AutoDL's and others
 * have them, and what is decided and said there. */
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mounts.h"
#include "staging/stage_choice.h"
#include "staging/stage_place.h"
#include "support/check.h"
#include "support/temporary.h"

#define GB ((uint64_t)1000000000)
static char root[PATH_MAX / 2];

/* What statfs says of the made-up places, by the ending of their path. */
typedef struct disk {
    const char *path;
    uint64_t size, free;
} disk;
static const disk *disks;
static size_t n_disks;

static int made_up_statfs(const char *path, struct statfs *out)
{
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < n_disks; i++) {
        if (strcmp(path + strlen(root), disks[i].path) != 0) continue;
        out->f_bsize = 4096;
        out->f_blocks = disks[i].size / 4096;
        out->f_bavail = disks[i].free / 4096;
        return 0;
    }
    errno = ENOENT;
    return -1;
}

static stk_stage_seams seams(void)
{
    return (stk_stage_seams){.root = root, .statfs = made_up_statfs, .block_bytes = 1 << 20};
}

static void make_folders(char *path)
{
    for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        CHECK(mkdir(path, 0755) == 0 || errno == EEXIST);
        *p = '/';
    }
}

static void put(const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s%s", root, name);
    make_folders(path);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    if (file == NULL) return;
    fputs(text, file);
    fclose(file);
}

static void new_machine(const char *name, const char *mountinfo, const char *meminfo, const char *cgroup)
{
    char real[PATH_MAX];
    snprintf(root, sizeof root, "%s", temporary(name));
    mkdir(root, 0755);
    if (realpath(root, real) != NULL) snprintf(root, sizeof root, "%.*s", (int)sizeof root - 1, real);
    put("/proc/self/mountinfo", mountinfo);
    put("/proc/meminfo", meminfo);
    put("/proc/self/cgroup", cgroup);
    put("/dev/shm/.keep", "");
    put("/tmp/.keep", "");
    put("/root/autodl-tmp/.keep", "");
    put("/data/.keep", "");
}

/* ---- AutoDL: overlay root, /dev/shm half of the memory, the data disk, cgroup v2. */

static const char autodl_mounts[] =
    "1 0 0:50 / / rw - overlay overlay rw,lowerdir=/x\n"
    "2 1 0:51 / /proc rw - proc proc rw\n"
    "3 1 0:52 / /dev rw - tmpfs tmpfs rw,size=65536k\n"
    "4 3 0:53 / /dev/shm rw - tmpfs shm rw,size=47185920k\n"
    "5 1 9:0 /q/1 /root/autodl-tmp rw - xfs /dev/md0 rw\n"
    "6 1 0:60 / /autodl-pub rw - fuse.AutoFS AutoFS:fs1 rw\n"
    "7 1 0:61 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
    "8 1 0:62 / /data\\040disk rw - nfs4 server:/x rw\n";
static const disk autodl_disks[] = {{"/dev/shm", 48 * GB, 38 * GB},
                                    {"/tmp", 30 * GB, 8 * GB},
                                    {"/root/autodl-tmp", 50 * GB, 49 * GB},
                                    {"/data", 1000 * GB, 500 * GB}};

static void autodl(const char *current)
{
    new_machine("autodl", autodl_mounts, "MemTotal: 790000000 kB\nMemAvailable:   700000000 kB\n", "0::/\n");
    disks = autodl_disks;
    n_disks = 4;
    put("/sys/fs/cgroup/memory.max", "90000000000\n");
    put("/sys/fs/cgroup/memory.high", "86000000000\n");
    put("/sys/fs/cgroup/memory.current", current);
    put("/sys/fs/cgroup/memory.stat", "anon 1\nactive_file 10000000000\ninactive_file 20000000000\nshmem 5\n");
}

static int choose(uint64_t n_bytes, stk_place_kind source, const char *named, char reason[STK_STAGE_TEXT])
{
    static const char *const usual[] = {"/dev/shm", "/root/autodl-tmp", "/tmp"};
    stk_place places[STK_PLACES];
    stk_stage_seams s = seams();
    int n = named != NULL ? 1 : 3;
    for (int i = 0; i < n; i++)
        stk_place_look(&s, named != NULL ? named : usual[i], STK_STAGE_KEEP_DEFAULT, &places[i]);
    /* All lie on one disk here, and on several there. */
    for (int i = 0; i < n; i++) places[i].device = (uint64_t)i + 1;
    stk_stage_wish wish = {.source = "/autodl-fs/data/train.stk",
                           .n_bytes = n_bytes,
                           .source_device = 99,
                           .source_kind = source,
                           .named = named != NULL};
    bool needless;
    return stk_stage_choose(places, n, &wish, &needless, reason);
}

static void kinds(void)
{
    static const struct {
        const char *type;
        stk_place_kind kind;
    } cases[] = {{"tmpfs", STK_PLACE_MEMORY},      {"ext4", STK_PLACE_DISK},     {"xfs", STK_PLACE_DISK},
                 {"overlay", STK_PLACE_OVERLAY},   {"nfs", STK_PLACE_NETWORK},   {"nfs4", STK_PLACE_NETWORK},
                 {"fuse.sshfs", STK_PLACE_NETWORK}, {"fuse", STK_PLACE_NETWORK}, {"cifs", STK_PLACE_NETWORK},
                 {"9p", STK_PLACE_NETWORK},        {"newfs", STK_PLACE_UNKNOWN}, {"", STK_PLACE_UNKNOWN}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_EQ(stk_place_kind_of(cases[i].type), cases[i].kind);
}

static void mount_lines(void)
{
    char good[] = "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 propagate_from:2 - ext3 /dev/root rw,errors=continue\n";
    stk_mount m;
    CHECK(stk_mount_parse(good, &m));
    CHECK(strcmp(m.root, "/mnt1") == 0 && strcmp(m.point, "/mnt 2") == 0 && strcmp(m.type, "ext3") == 0);
    CHECK(strcmp(m.source, "/dev/root") == 0 && strcmp(m.super, "rw,errors=continue") == 0);
    static const char *const bad[] = {"", "\n", "36 35 98:0 / /x rw", "1 2 3 - ext4 a b", " - ", "a b c d e f - "};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char line[128];
        snprintf(line, sizeof line, "%s", bad[i]);
        CHECK(!stk_mount_parse(line, &m));
    }
    CHECK(stk_mount_holds("/", "/a") && stk_mount_holds("/a", "/a") && stk_mount_holds("/a", "/a/b"));
    CHECK(!stk_mount_holds("/a", "/ab") && !stk_mount_holds("/a/b", "/a"));
}

/* What the brief of this feature promises, word for word but for the figures. */
static void tmp_is_not_memory(void)
{
    char reason[STK_STAGE_TEXT];
    autodl("31000000000\n");
    CHECK_EQ(choose(11200000000, STK_PLACE_NETWORK, NULL, reason), 0);
    printf("     %s\n", reason);
    CHECK(strcmp(reason, "/tmp is on the 30 GB system disk here, not in memory: using /dev/shm (11.2 of 38.0 GB)") == 0);
}

/* Page cache of files does not count as used, all else does; memory.high is the limit. */
static void memory_by_cgroup(void)
{
    stk_place p;
    autodl("80000000000\n"); /* 50 in use without the cache: 36 left, 16 GiB of them for the trainer */
    stk_stage_seams s = seams();
    stk_place_look(&s, "/dev/shm", STK_STAGE_KEEP_DEFAULT, &p);
    CHECK(p.usable);
    CHECK_EQ(p.kind, STK_PLACE_MEMORY);
    CHECK_EQ(p.free_bytes, 36 * GB);
    CHECK_EQ(p.room_bytes, 36 * GB - ((uint64_t)16 << 30));
    stk_place_look(&s, "/dev/shm", 30 * GB, &p);
    CHECK_EQ(p.room_bytes, 6 * GB);
    stk_place_look(&s, "/dev/shm", 40 * GB, &p);
    CHECK_EQ(p.room_bytes, 0);
}

static void disk_when_memory_is_short(void)
{
    char reason[STK_STAGE_TEXT];
    autodl("80000000000\n");
    CHECK_EQ(choose(30 * GB, STK_PLACE_NETWORK, NULL, reason), 1);
    printf("     %s\n", reason);
    CHECK(strstr(reason, "/dev/shm has room for 18.8 of 30.0 GB") != NULL);
    CHECK(strstr(reason, "using /root/autodl-tmp (30.0 of 49.0 GB, on a disk)") != NULL);
    /* Nowhere whole: the roomiest, and it is said that the rest is read from the source. */
    CHECK_EQ(choose(400 * GB, STK_PLACE_NETWORK, NULL, reason), 1);
    printf("     %s\n", reason);
    CHECK(strstr(reason, "the rest is read from the source") != NULL);
}

static void named_place(void)
{
    char reason[STK_STAGE_TEXT];
    autodl("31000000000\n");
    CHECK_EQ(choose(2 * GB, STK_PLACE_NETWORK, "/tmp", reason), 0);
    printf("     %s\n", reason);
    CHECK(strstr(reason, "/tmp is on the 30 GB system disk here, not in memory: using /tmp") != NULL);
    CHECK_EQ(choose(2 * GB, STK_PLACE_NETWORK, "/nowhere", reason), -1);
    CHECK(strstr(reason, "/nowhere is not there") != NULL);
    CHECK_EQ(choose(2 * GB, STK_PLACE_MEMORY, "/data", reason), 0); /* as asked, though nothing is gained */
}

static void sources(void)
{
    char reason[STK_STAGE_TEXT];
    autodl("31000000000\n");
    CHECK_EQ(choose(2 * GB, STK_PLACE_MEMORY, NULL, reason), -1);
    CHECK(strstr(reason, "no place here is faster") != NULL);
    CHECK_EQ(choose(2 * GB, STK_PLACE_DISK, NULL, reason), 0);
    /* From one local disk only memory is faster, so what memory has no room for stays, or goes in part. */
    autodl("89000000000\n");
    CHECK_EQ(choose(400 * GB, STK_PLACE_DISK, NULL, reason), 0);
    CHECK(strstr(reason, "for 9.8 GB of it") != NULL);
}

/* cgroup v1, and no limit at all: the machine's memory. */
static void other_machines(void)
{
    static const char v1[] = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
                             "2 1 0:53 / /dev/shm rw - tmpfs tmpfs rw\n"
                             "3 1 0:54 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    stk_place p;
    new_machine("v1", v1, "MemAvailable: 100000000 kB\n", "4:memory:/\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "20000000000\n");
    put("/sys/fs/cgroup/memory/memory.usage_in_bytes", "12000000000\n");
    put("/sys/fs/cgroup/memory/memory.stat", "active_file 1\ntotal_active_file 1000000000\ntotal_inactive_file 2000000000\n");
    stk_stage_seams s = seams();
    stk_place_look(&s, "/dev/shm", 0, &p);
    CHECK_EQ(p.free_bytes, 11 * GB);
    stk_place_look(&s, "/tmp", STK_STAGE_KEEP_DEFAULT, &p);
    CHECK_EQ(p.kind, STK_PLACE_DISK);
    CHECK_EQ(p.room_bytes, 8 * GB - ((uint64_t)1 << 30));

    new_machine("plain", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:53 / /dev/shm rw - tmpfs tmpfs rw\n",
                "MemTotal: 30000000 kB\nMemAvailable: 20000000 kB\n", "0::/\n");
    stk_place_look(&s, "/dev/shm", 0, &p);
    CHECK_EQ(p.free_bytes, (uint64_t)20000000 * 1024);

    /* The later mount at the same point is the one that is seen. */
    new_machine("twice",
                "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:1 / /data rw - tmpfs a rw\n3 1 0:2 / /data rw - nfs4 s:/ rw\n",
                "", "");
    stk_place_look(&s, "/data", 0, &p);
    CHECK_EQ(p.kind, STK_PLACE_NETWORK);
    CHECK(strcmp(p.type, "nfs4") == 0);

    /* Nothing to read: statfs alone. */
    new_machine("bare", "", "", "");
    stk_place_look(&s, "/tmp", 0, &p);
    CHECK(p.usable);
    CHECK_EQ(p.kind, STK_PLACE_UNKNOWN);
    CHECK(strcmp(p.type, "?") == 0);
}

int main(void)
{
    RUN(kinds);
    RUN(mount_lines);
    RUN(tmp_is_not_memory);
    RUN(memory_by_cgroup);
    RUN(disk_when_memory_is_short);
    RUN(named_place);
    RUN(sources);
    RUN(other_machines);
    return check_exit();
}
