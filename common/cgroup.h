/* SPDX-License-Identifier: Apache-2.0
 *
 * What a container allows this process: CPU quota and memory limit of cgroup v1 and v2, found through
 * /proc/self/cgroup and /proc/self/mountinfo. `root` is put before every path that is read: "" for the real
 * system, a folder with a made-up tree for tests. Thread-safe; nothing is cached. Files that are missing or do
 * not parse count as "no limit": a strange kernel must not keep a loader from starting. */
#ifndef STK_COMMON_CGROUP_H
#define STK_COMMON_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* The smallest quota of this process's cgroup and the groups above it, in CPUs (0.5, 7.65 ...). False when
 * there is none. */
bool stk_cgroup_cpu_quota(const char *root, double *cpus);

/* The smallest memory limit likewise, in bytes (v2: the lower of memory.max and memory.high, since a process
 * above memory.high is slowed down to a crawl). False when there is none. */
bool stk_cgroup_memory_limit(const char *root, uint64_t *n_bytes);

/* What is left of that limit, in bytes: the smallest limit - used of all groups up to the mount point, where page
 * cache that can be dropped does not count as used and tmpfs does. False when there is no limit. */
bool stk_cgroup_memory_room(const char *root, uint64_t *n_bytes);

/* Threads for n_affine CPUs in the affinity mask under the quota found below root: the quota is rounded down
 * (a thread more would be throttled, and a throttled one holds up its batch), and the result is at least 1. */
int stk_usable_threads_of(const char *root, int n_affine);

/* Memory that this process may count on: the smaller of the machine's and the cgroup's limit. */
uint64_t stk_memory_allowed(void);

#endif
