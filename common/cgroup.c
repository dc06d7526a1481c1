/* SPDX-License-Identifier: Apache-2.0
 *
 * Mount roots matter: in a container without its own cgroup namespace /proc/self/cgroup says
 * "/docker/1234", while the mount at /sys/fs/cgroup shows that very group as its root. mountinfo's fourth field
 * names the mount's root, which is taken off the group's path. Quotas nest, so every group from the
 * process's own up to the mount point is looked at, and the smallest counts. */
#include "common/cgroup.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <stoker/cpu.h>

#include "common/mounts.h"

/* A mounted hierarchy and this process's place in it. */
typedef struct hierarchy {
    bool v2;
    char mount[PATH_MAX]; /* where it is mounted, below root */
    char group[PATH_MAX]; /* folder of the process's group, mount included */
} hierarchy;

/* Reads a small text file; false when it cannot be read. */
static bool read_text(const char *root, const char *path, char *text, size_t capacity)
{
    char full[PATH_MAX];
    int n = snprintf(full, sizeof full, "%s%s", root, path);
    if (n < 0 || (size_t)n >= sizeof full) return false;
    FILE *file = fopen(full, "re");
    if (file == NULL) return false;
    size_t got = fread(text, 1, capacity - 1, file);
    text[got] = '\0';
    bool good = ferror(file) == 0;
    fclose(file);
    return good;
}

/* True when the comma-separated list holds the word. */
static bool list_has(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; p != NULL; p = strchr(p, ',')) {
        if (*p == ',') p++;
        if (strncmp(p, word, n) == 0 && (p[n] == ',' || p[n] == '\0' || p[n] == '\n')) return true;
    }
    return false;
}

/* The group's path from /proc/self/cgroup, of "0::" for v2 or of the line with the controller for v1. */
static bool own_group(const char *root, const char *controller, bool v2, char *group, size_t capacity)
{
    char text[16384];
    if (!read_text(root, "/proc/self/cgroup", text, sizeof text)) return false;
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        char *first = strchr(line, ':');
        char *second = first == NULL ? NULL : strchr(first + 1, ':');
        if (second == NULL) continue;
        *second = '\0';
        bool mine = v2 ? strncmp(line, "0:", 2) == 0 && first[1] == '\0' : list_has(first + 1, controller);
        if (!mine) continue;
        int n = snprintf(group, capacity, "%s", second + 1);
        return n >= 0 && (size_t)n < capacity;
    }
    return false;
}

/* The group's folder below the mount: its path without the mount's root; the mount point itself when the two
 * have nothing in common (a bind mount of another group). */
static bool place_group(hierarchy *h, const char *mount_root, const char *group)
{
    size_t n = strlen(mount_root);
    if (n == 1 && mount_root[0] == '/') n = 0;
    const char *below = "";
    if (strncmp(group, mount_root, n) == 0 && (group[n] == '/' || group[n] == '\0')) below = group + n;
    if (strcmp(below, "/") == 0 || strstr(below, "..") != NULL) below = "";
    int k = snprintf(h->group, sizeof h->group, "%s%s", h->mount, below);
    return k >= 0 && (size_t)k < sizeof h->group;
}

static bool find_hierarchy(const char *root, const char *controller, bool v2, hierarchy *h)
{
    char group[PATH_MAX];
    if (!own_group(root, controller, v2, group, sizeof group)) return false;
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
    if (n < 0 || (size_t)n >= sizeof path) return false;
    FILE *file = fopen(path, "re");
    if (file == NULL) return false;
    char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    while (!found && getline(&line, &capacity, file) > 0) {
        stk_mount m;
        if (!stk_mount_parse(line, &m)) continue;
        if (v2 ? strcmp(m.type, "cgroup2") != 0 : strcmp(m.type, "cgroup") != 0 || !list_has(m.super, controller))
            continue;
        h->v2 = v2;
        n = snprintf(h->mount, sizeof h->mount, "%s", m.point);
        found = n >= 0 && (size_t)n < sizeof h->mount && place_group(h, m.root, group);
    }
    free(line);
    fclose(file);
    return found;
}

/* Calls look for the group's folder and each one above it up to the mount point. */
static void walk_up(const char *root, const hierarchy *h, void (*look)(const char *, const char *, void *),
                    void *user)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", h->group);
    size_t end = strlen(h->mount);
    for (;;) {
        look(root, folder, user);
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= end || slash == NULL || (size_t)(slash - folder) < end) break;
        *slash = '\0';
    }
}

static bool read_value(const char *root, const char *folder, const char *name, char *text, size_t capacity)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    return n >= 0 && (size_t)n < sizeof path && read_text(root, path, text, capacity);
}

/* A decimal number > 0 that ends at a space, newline or the text's end. */
static bool parse_positive(const char *text, const char **end, uint64_t *value)
{
    if (*text < '0' || *text > '9') return false;
    char *stop;
    unsigned long long v = strtoull(text, &stop, 10);
    if (v == 0 || (*stop != ' ' && *stop != '\n' && *stop != '\0')) return false;
    if (end != NULL) *end = stop;
    *value = v;
    return true;
}

typedef struct quota {
    bool found;
    double cpus;
} quota;

static void take_quota(quota *q, uint64_t microseconds, uint64_t period)
{
    double cpus = (double)microseconds / (double)period;
    if (!q->found || cpus < q->cpus) q->cpus = cpus;
    q->found = true;
}

/* cpu.max: "max 100000" or "QUOTA PERIOD". */
static void look_cpu_v2(const char *root, const char *folder, void *user)
{
    char text[128];
    const char *rest;
    uint64_t quota_us, period_us;
    if (!read_value(root, folder, "cpu.max", text, sizeof text)) return;
    if (!parse_positive(text, &rest, &quota_us) || *rest != ' ' || !parse_positive(rest + 1, NULL, &period_us))
        return;
    take_quota(user, quota_us, period_us);
}

/* cpu.cfs_quota_us (-1: none) and cpu.cfs_period_us. */
static void look_cpu_v1(const char *root, const char *folder, void *user)
{
    char text[128];
    uint64_t quota_us, period_us;
    if (!read_value(root, folder, "cpu.cfs_quota_us", text, sizeof text)) return;
    if (!parse_positive(text, NULL, &quota_us)) return;
    if (!read_value(root, folder, "cpu.cfs_period_us", text, sizeof text)) return;
    if (!parse_positive(text, NULL, &period_us)) return;
    take_quota(user, quota_us, period_us);
}

typedef struct limit {
    bool found;
    uint64_t n_bytes;
} limit;

/* "max" and v1's default of nearly 2^63 mean no limit. */
static void take_limit(const char *root, const char *folder, const char *name, limit *l)
{
    char text[128];
    uint64_t n_bytes;
    if (!read_value(root, folder, name, text, sizeof text) || !parse_positive(text, NULL, &n_bytes)) return;
    if (n_bytes >= (uint64_t)1 << 60) return;
    if (!l->found || n_bytes < l->n_bytes) l->n_bytes = n_bytes;
    l->found = true;
}

static void look_memory_v2(const char *root, const char *folder, void *user)
{
    take_limit(root, folder, "memory.max", user);
    take_limit(root, folder, "memory.high", user);
}

static void look_memory_v1(const char *root, const char *folder, void *user)
{
    take_limit(root, folder, "memory.limit_in_bytes", user);
}

/* What the group has in use and could not give back: page cache of files is dropped on demand, tmpfs is not (both
 * versions list tmpfs pages with the anonymous ones, not in active_file and inactive_file). */
static bool memory_in_use(const char *root, const char *folder, const char *name, const char *prefix, uint64_t *used)
{
    char text[16384], word[64];
    uint64_t total = 0, cache = 0;
    if (!read_value(root, folder, name, text, sizeof text)) return false;
    if (!parse_positive(text, NULL, &total) && text[0] != '0') return false;
    if (read_value(root, folder, "memory.stat", text, sizeof text)) {
        static const char *const lists[] = {"active_file", "inactive_file"};
        char *save = NULL;
        for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
            for (int i = 0; i < 2; i++) {
                uint64_t value;
                snprintf(word, sizeof word, "%s%s ", prefix, lists[i]);
                if (strncmp(line, word, strlen(word)) == 0 && parse_positive(line + strlen(word), NULL, &value))
                    cache += value;
            }
        }
    }
    *used = total > cache ? total - cache : 0;
    return true;
}

/* The smallest room of all levels. */
static void take_room(limit *room, const limit *l, uint64_t used)
{
    uint64_t free_bytes = l->n_bytes > used ? l->n_bytes - used : 0;
    if (!room->found || free_bytes < room->n_bytes) room->n_bytes = free_bytes;
    room->found = true;
}

static void look_room_v2(const char *root, const char *folder, void *user)
{
    limit l = {0};
    uint64_t used;
    take_limit(root, folder, "memory.max", &l);
    take_limit(root, folder, "memory.high", &l);
    if (l.found && memory_in_use(root, folder, "memory.current", "", &used)) take_room(user, &l, used);
}

static void look_room_v1(const char *root, const char *folder, void *user)
{
    limit l = {0};
    uint64_t used;
    take_limit(root, folder, "memory.limit_in_bytes", &l);
    if (l.found && memory_in_use(root, folder, "memory.usage_in_bytes", "total_", &used)) take_room(user, &l, used);
}

bool stk_cgroup_memory_room(const char *root, uint64_t *n_bytes)
{
    limit room = {0};
    hierarchy h;
    if (find_hierarchy(root, "memory", false, &h)) walk_up(root, &h, look_room_v1, &room);
    if (find_hierarchy(root, "memory", true, &h)) walk_up(root, &h, look_room_v2, &room);
    *n_bytes = room.n_bytes;
    return room.found;
}

bool stk_cgroup_cpu_quota(const char *root, double *cpus)
{
    quota q = {0};
    hierarchy h;
    if (find_hierarchy(root, "cpu", false, &h)) walk_up(root, &h, look_cpu_v1, &q);
    if (find_hierarchy(root, "cpu", true, &h)) walk_up(root, &h, look_cpu_v2, &q);
    *cpus = q.cpus;
    return q.found;
}

bool stk_cgroup_memory_limit(const char *root, uint64_t *n_bytes)
{
    limit l = {0};
    hierarchy h;
    if (find_hierarchy(root, "memory", false, &h)) walk_up(root, &h, look_memory_v1, &l);
    if (find_hierarchy(root, "memory", true, &h)) walk_up(root, &h, look_memory_v2, &l);
    *n_bytes = l.n_bytes;
    return l.found;
}

int stk_usable_threads_of(const char *root, int n_affine)
{
    double cpus;
    int n = n_affine;
    if (stk_cgroup_cpu_quota(root, &cpus) && cpus < (double)n) n = (int)cpus;
    return n > 1 ? n : 1;
}

/* CPUs in the affinity mask, also on machines with more than the 1,024 that a cpu_set_t holds. */
static int count_affine(void)
{
    for (size_t n = 1024; n <= (size_t)1 << 20; n *= 4) {
        cpu_set_t *set = CPU_ALLOC(n);
        if (set == NULL) break;
        size_t n_bytes = CPU_ALLOC_SIZE(n);
        int rc = sched_getaffinity(0, n_bytes, set);
        int count = rc == 0 ? CPU_COUNT_S(n_bytes, set) : 0;
        CPU_FREE(set);
        if (rc == 0) return count > 0 ? count : 1;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < INT_MAX ? (int)online : 1;
}

int stk_cpu_usable_threads(void) { return stk_usable_threads_of("", count_affine()); }

uint64_t stk_memory_allowed(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t machine = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : (uint64_t)1 << 31;
    uint64_t limited;
    if (stk_cgroup_memory_limit("", &limited) && limited < machine) return limited;
    return machine;
}
