/* SPDX-License-Identifier: Apache-2.0
 *
 * CPU quotas and memory limits on made-up cgroup trees: v1 and v2, with and without a namespace, nested groups,
 * fractions and garbage. */
#include "common/cgroup.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stoker/cpu.h>

#include "support/check.h"

static char tree[PATH_MAX / 2];

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st, (void)kind, (void)walk;
    return remove(path);
}

static void new_tree(void)
{
    if (tree[0] != '\0') nftw(tree, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    snprintf(tree, sizeof tree, "/tmp/stoker-cgroup-XXXXXX");
    CHECK(mkdtemp(tree) != NULL);
}

/* Writes tree + path, making folders as needed. */
static void put(const char *path, const char *text)
{
    char full[PATH_MAX];
    snprintf(full, sizeof full, "%s%s", tree, path);
    for (char *p = full + strlen(tree) + 1; (p = strchr(p, '/')) != NULL; p++) {
        *p = '\0';
        CHECK(mkdir(full, 0755) == 0 || errno == EEXIST);
        *p = '/';
    }
    FILE *file = fopen(full, "w");
    CHECK(file != NULL);
    if (file == NULL) return;
    fputs(text, file);
    fclose(file);
}

static const char v2_mount[] = "22 1 0:20 / / rw - ext4 /dev/x rw\n"
                               "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";

static void v2(const char *group, const char *cpu_max)
{
    char path[PATH_MAX], line[PATH_MAX];
    new_tree();
    put("/proc/self/mountinfo", v2_mount);
    snprintf(line, sizeof line, "0::%s\n", group);
    put("/proc/self/cgroup", line);
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", strcmp(group, "/") == 0 ? "" : group);
    put(path, cpu_max);
}

static void v2_values(void)
{
    static const struct {
        const char *cpu_max;
        int threads;
    } cases[] = {
        {"max 100000\n", 64}, {"50000 100000\n", 1},  {"765000 100000\n", 7}, {"800000 100000\n", 8},
        {"1 100000\n", 1},    {"9900000 100000\n", 64}, {"garbage\n", 64},      {"", 64},
        {"100000\n", 64},     {"100000 0\n", 64},     {"-1 100000\n", 64},    {"400000 100000 junk", 4},
        {"12x 100000\n", 64}, {"300000 50000\n", 6},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        v2("/", cases[i].cpu_max);
        CHECK_EQ(stk_usable_threads_of(tree, 64), cases[i].threads);
        v2("/kubepods/pod 1/box", cases[i].cpu_max);
        CHECK_EQ(stk_usable_threads_of(tree, 64), cases[i].threads);
    }
}

static void v2_nested(void)
{
    double cpus;
    v2("/a/b/c", "max 100000\n");
    CHECK(!stk_cgroup_cpu_quota(tree, &cpus));
    put("/sys/fs/cgroup/a/cpu.max", "350000 100000\n");
    CHECK(stk_cgroup_cpu_quota(tree, &cpus));
    CHECK(cpus == 3.5);
    put("/sys/fs/cgroup/a/b/cpu.max", "1200000 100000\n");
    CHECK(stk_cgroup_cpu_quota(tree, &cpus) && cpus == 3.5);
    put("/sys/fs/cgroup/a/b/c/cpu.max", "765000 1000000\n");
    CHECK(stk_cgroup_cpu_quota(tree, &cpus) && cpus == 0.765);
    CHECK_EQ(stk_usable_threads_of(tree, 12), 1);
    /* A group of another tree beside it does not count. */
    put("/sys/fs/cgroup/a/z/cpu.max", "100 100000\n");
    CHECK(stk_cgroup_cpu_quota(tree, &cpus) && cpus == 0.765);
}

/* The shape of this kind of container: v1, mount root = the process's own group. */
static void v1_container(void)
{
    double cpus;
    uint64_t n_bytes;
    new_tree();
    put("/proc/self/mountinfo",
        "31 1 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n"
        "32 31 0:27 /docker/12ab /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n"
        "33 31 0:28 /docker/12ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
    put("/proc/self/cgroup", "5:memory:/docker/12ab\n4:cpuacct,cpu:/docker/12ab\n1:name=systemd:/x\n");
    CHECK(!stk_cgroup_cpu_quota(tree, &cpus));
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "765000\n");
    CHECK(!stk_cgroup_cpu_quota(tree, &cpus)); /* no period */
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    CHECK(stk_cgroup_cpu_quota(tree, &cpus) && cpus == 7.65);
    CHECK_EQ(stk_usable_threads_of(tree, 64), 7);
    CHECK_EQ(stk_usable_threads_of(tree, 4), 4);
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    CHECK(!stk_cgroup_cpu_quota(tree, &cpus));
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
    CHECK_EQ(stk_usable_threads_of(tree, 64), 1);
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "\xff\xfe!\n");
    CHECK(!stk_cgroup_cpu_quota(tree, &cpus));

    CHECK(!stk_cgroup_memory_limit(tree, &n_bytes));
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n");
    CHECK(stk_cgroup_memory_limit(tree, &n_bytes));
    CHECK_EQ(n_bytes, 2147483648);
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    CHECK(!stk_cgroup_memory_limit(tree, &n_bytes));
}

/* v1 with the host's view: group paths below a mount of the whole hierarchy; and a bind mount that shows
 * another group than the process's. */
static void v1_host(void)
{
    double cpus;
    new_tree();
    put("/proc/self/mountinfo", "32 31 0:27 / /sys/fs/cgroup/c\\040pu rw - cgroup cgroup rw,cpu\n");
    put("/proc/self/cgroup", "4:cpu:/slurm/job_7/step_0\n");
    put("/sys/fs/cgroup/c pu/slurm/job_7/cpu.cfs_quota_us", "200000\n");
    put("/sys/fs/cgroup/c pu/slurm/job_7/cpu.cfs_period_us", "100000\n");
    CHECK(stk_cgroup_cpu_quota(tree, &cpus) && cpus == 2.0);
    put("/proc/self/mountinfo", "32 31 0:27 /other /mnt rw - cgroup cgroup rw,cpu\n");
    put("/mnt/cpu.cfs_quota_us", "300000\n");
    put("/mnt/cpu.cfs_period_us", "100000\n");
    CHECK(stk_cgroup_cpu_quota(tree, &cpus) && cpus == 3.0);
}

static void v2_memory(void)
{
    uint64_t n_bytes;
    v2("/x", "max 100000\n");
    put("/sys/fs/cgroup/x/memory.max", "max\n");
    put("/sys/fs/cgroup/x/memory.high", "max\n");
    CHECK(!stk_cgroup_memory_limit(tree, &n_bytes));
    put("/sys/fs/cgroup/x/memory.max", "96636764160\n");
    CHECK(stk_cgroup_memory_limit(tree, &n_bytes));
    CHECK_EQ(n_bytes, 96636764160);
    put("/sys/fs/cgroup/x/memory.high", "92341796864\n");
    CHECK(stk_cgroup_memory_limit(tree, &n_bytes));
    CHECK_EQ(n_bytes, 92341796864);
}

static void broken_trees(void)
{
    double cpus;
    new_tree();
    CHECK(!stk_cgroup_cpu_quota(tree, &cpus));
    put("/proc/self/cgroup", "no colons here\n::::\n0:\n");
    CHECK(!stk_cgroup_cpu_quota(tree, &cpus));
    put("/proc/self/cgroup", "0::/../../etc\n");
    put("/proc/self/mountinfo", "short\n1 2 3 - cgroup2\n30 22 0:26 / /sys/fs/cgroup rw - cgroup2 x rw\n");
    put("/sys/fs/cgroup/cpu.max", "200000 100000\n");
    CHECK(stk_cgroup_cpu_quota(tree, &cpus) && cpus == 2.0); /* never leaves the mount */
    CHECK_EQ(stk_usable_threads_of(tree, 0), 1);
}

static void this_process(void)
{
    int n = stk_cpu_usable_threads();
    CHECK(n >= 1);
    cpu_set_t one;
    CPU_ZERO(&one);
    cpu_set_t old;
    CHECK(sched_getaffinity(0, sizeof old, &old) == 0);
    for (size_t i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET(i, &old)) continue;
        CPU_SET(i, &one);
        break;
    }
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK_EQ(stk_cpu_usable_threads(), 1);
    CHECK(sched_setaffinity(0, sizeof old, &old) == 0);
    CHECK_EQ(stk_cpu_usable_threads(), n);
    CHECK(stk_memory_allowed() > 0);
}

int main(void)
{
    RUN(v2_values);
    RUN(v2_nested);
    RUN(v1_container);
    RUN(v1_host);
    RUN(v2_memory);
    RUN(broken_trees);
    RUN(this_process);
    if (tree[0] != '\0') nftw(tree, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return check_exit();
}
