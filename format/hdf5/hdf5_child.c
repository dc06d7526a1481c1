/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/hdf5_child.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fail.h"

enum {
    CHILD_SECONDS = 60,   /* of CPU time for parsing, and of waiting for it */
    CHUNK_SECONDS = 60,
    MAX_CHUNK = 1 << 30,
    MOST_FILES = 65536 /* descriptors that are closed one by one where the kernel has no call for all of them */
};
#define CHILD_MEMORY ((rlim_t)4 << 30) /* address space beyond what the process has already */

/* A child and the way to it. They belong to the process that forked it: in a fork() of that one, two would talk to the
 * child at once, each with its own copy of the lock, and the first to end would kill it. */
typedef struct line line;
struct line {
    pid_t owner, pid; /* pid 0 = gone */
    int socket;
    pthread_mutex_t lock;
    line *older; /* of the process that this one was forked from */
};

struct stk_h5_child {
    const char *path;
    void *plan;
    size_t plan_bytes;
    bool serves;
    _Atomic(line *) line; /* changed without a lock, as fork() may leave one held */
};

typedef struct request {
    uint64_t chunk;
    uint32_t dataset, reserved;
} request;

typedef struct reply {
    int32_t ok;
    uint32_t n_bytes, filter_mask, reserved;
} reply;

static bool write_all(int fd, const void *data, size_t n)
{
    const uint8_t *p = data;
    while (n > 0) {
        ssize_t put = send(fd, p, n, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return false;
        p += put;
        n -= (size_t)put;
    }
    return true;
}

/* Reads n bytes, each piece within the deadline (milliseconds); -1 waits for ever. */
static bool read_all(int fd, void *data, size_t n, int timeout_ms)
{
    uint8_t *p = data;
    while (n > 0) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int rc = poll(&ready, 1, timeout_ms);
        if (rc < 0 && errno == EINTR) continue;
        if (rc <= 0) return false;
        ssize_t got = recv(fd, p, n, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

static rlim_t address_space_now(void)
{
    unsigned long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (f != NULL) {
        if (fscanf(f, "%lu", &pages) != 1) pages = 0;
        fclose(f);
    }
    return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

static void limit_child(void)
{
    rlim_t memory = address_space_now() + CHILD_MEMORY;
    struct rlimit space = {memory, memory}, cpu = {CHILD_SECONDS, CHILD_SECONDS}, core = {0, 0}, none = {0, 0};
    setrlimit(RLIMIT_AS, &space);
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &core);
    setrlimit(RLIMIT_FSIZE, &none); /* it has nothing to write */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int s = SIGHUP; s <= SIGTERM; s++) signal(s, SIG_DFL);
    /* Read-only, and another process may hold the file open for writing (training beside a growing file): locks
     * of HDF5 would refuse that, and do not work on many network disks. */
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
}

/* What the process had open is none of the child's business: it would hold its locks and sockets for as long as it
 * lives. */
static void close_all_but(int fd)
{
#ifdef SYS_close_range
    if ((fd <= 3 || syscall(SYS_close_range, 3u, (unsigned)fd - 1, 0u) == 0) &&
        syscall(SYS_close_range, (unsigned)fd + 1, ~0u, 0u) == 0)
        return;
#endif
    for (int i = 3; i < MOST_FILES; i++)
        if (i != fd) close(i);
}

static void serve_chunks(int fd, stk_h5_open_file *file)
{
    /* Time now counts per chunk, on the parent's side; CPU time of a long training run must not end it. */
    struct rlimit cpu = {RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_CPU, &cpu);
    request q;
    while (read_all(fd, &q, sizeof q, -1)) {
        reply r = {0};
        uint8_t *data = stk_h5_read_chunk(file, q.dataset, q.chunk, &r.n_bytes, &r.filter_mask);
        r.ok = data != NULL;
        if (data == NULL) r.n_bytes = 0;
        bool sent = write_all(fd, &r, sizeof r) && write_all(fd, data, r.n_bytes);
        free(data);
        if (!sent) break;
    }
}

static void child_main(const char *path, int fd)
{
    close_all_but(fd);
    limit_child();
    size_t n = 0;
    stk_h5_open_file *keep = NULL;
    stk_h5_plan *plan = stk_h5_parse(path, &n, &keep);
    uint64_t size = plan != NULL ? n : 0, serves = keep != NULL;
    uint64_t head[2] = {size, serves};
    /* The signal of the parent's death comes when the thread dies that forked, maybe as soon as it has the plan. The
     * process ends the socket when it ends. */
    if (serves != 0) prctl(PR_SET_PDEATHSIG, 0);
    if (write_all(fd, head, sizeof head) && plan != NULL && write_all(fd, plan, n) && keep != NULL)
        serve_chunks(fd, keep);
    _exit(0);
}

static stk_status line_start(const char *path, line **out, stk_error *error)
{
    int pair[2];
    line *l = calloc(1, sizeof *l);
    *out = NULL;
    if (l == NULL) return stk_fail_memory(error, "an HDF5 reader");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        free(l);
        return stk_fail_errno(error, errno, "%s: no socket for the HDF5 process", path);
    }
    /* fork without exec: the child runs libhdf5 and malloc only, both of which are ready for it (glibc makes
     * malloc safe across fork); no thread of ours uses libhdf5 for reading, so no lock of it can be held. */
    pid_t pid = fork();
    if (pid < 0) {
        int e = errno;
        close(pair[0]);
        close(pair[1]);
        free(l);
        return stk_fail_errno(error, e, "%s: cannot start a process to parse HDF5", path);
    }
    if (pid == 0) child_main(path, pair[1]);
    close(pair[1]);
    l->owner = getpid();
    l->pid = pid;
    l->socket = pair[0];
    pthread_mutex_init(&l->lock, NULL);
    *out = l;
    return STK_OK;
}

static int reap(line *l, bool force)
{
    int how = 0;
    if (l->pid == 0) return 0;
    if (force) kill(l->pid, SIGKILL);
    while (waitpid(l->pid, &how, 0) < 0 && errno == EINTR) {}
    l->pid = 0;
    return how;
}

/* Of another process: its descriptor here goes, nothing else. */
static void line_close(line *l)
{
    if (l->socket >= 0) close(l->socket);
    if (l->owner == getpid()) {
        reap(l, true);
        pthread_mutex_destroy(&l->lock);
    }
    free(l);
}

static stk_status child_died(const char *path, line *l, stk_error *error)
{
    int how = reap(l, true);
    if (WIFSIGNALED(how) && WTERMSIG(how) != SIGKILL)
        return stk_fail(error, STK_ERR_CORRUPT,
                        "%s: the HDF5 library crashed on it (signal %d); the file is broken or hostile", path,
                        WTERMSIG(how));
    return stk_fail(error, STK_ERR_CORRUPT,
                    "%s: the HDF5 library did not get through it within %d s and its memory limit; the file is broken "
                    "or hostile",
                    path, CHILD_SECONDS);
}

static stk_status receive_plan(const char *path, line *l, void **plan, size_t *n_bytes, bool *serves, stk_error *error)
{
    uint64_t head[2] = {0, 0};
    *plan = NULL;
    if (!read_all(l->socket, head, sizeof head, CHILD_SECONDS * 1000)) return child_died(path, l, error);
    if (head[0] == 0 || head[0] > ((uint64_t)4 << 30)) return stk_fail_memory(error, "an HDF5 file's description");
    *plan = malloc((size_t)head[0]);
    if (*plan == NULL) return stk_fail_memory(error, "an HDF5 file's description");
    *n_bytes = (size_t)head[0];
    *serves = head[1] != 0;
    return read_all(l->socket, *plan, *n_bytes, CHILD_SECONDS * 1000) ? STK_OK : child_died(path, l, error);
}

stk_status stk_h5_child_open(const char *path, uint64_t file_bytes, stk_h5_child **out, const stk_h5_plan **plan,
                             stk_error *error)
{
    stk_h5_child *c = calloc(1, sizeof *c);
    *out = NULL;
    if (c == NULL) return stk_fail_memory(error, "an HDF5 reader");
    stk_status status;
    line *l = NULL;
    c->path = path;
    STK_GOTO(line_start(path, &l, error));
    atomic_store(&c->line, l);
    STK_GOTO(receive_plan(path, l, &c->plan, &c->plan_bytes, &c->serves, error));
    if (!c->serves) reap(l, false);
    STK_GOTO(stk_h5_plan_check(c->plan, c->plan_bytes, file_bytes, path, error));
    *plan = c->plan;
cleanup:
    if (status != STK_OK) stk_h5_child_close(&c);
    *out = c;
    return status;
}

void stk_h5_child_close(stk_h5_child **child)
{
    stk_h5_child *c = *child;
    if (c == NULL) return;
    for (line *l = atomic_load(&c->line), *older; l != NULL; l = older) {
        older = l->older;
        line_close(l);
    }
    free(c->plan);
    free(c);
    *child = NULL;
}

bool stk_h5_child_serves(const stk_h5_child *c)
{
    return c->serves;
}

/* This process's own child, started when it is first needed here. */
static stk_status own_line(stk_h5_child *c, line **out, stk_error *error)
{
    line *old = atomic_load(&c->line), *mine = NULL;
    *out = old;
    if (old->owner == getpid()) return STK_OK;
    void *plan = NULL;
    size_t n_bytes = 0;
    bool serves = false;
    STK_TRY(line_start(c->path, &mine, error));
    stk_status status = receive_plan(c->path, mine, &plan, &n_bytes, &serves, error);
    if (status == STK_OK && (n_bytes != c->plan_bytes || memcmp(plan, c->plan, n_bytes) != 0))
        status = stk_fail(error, STK_ERR_CORRUPT, "%s: was changed since it was opened", c->path);
    free(plan);
    mine->older = old;
    if (status == STK_OK && atomic_compare_exchange_strong(&c->line, &old, mine)) {
        *out = mine;
        return STK_OK;
    }
    line_close(mine);
    *out = old; /* of another thread that was faster */
    return status;
}

static stk_status ask_chunk(const char *path, line *l, request q, stk_buffer *out, uint32_t *mask, stk_error *error)
{
    reply r = {0};
    if (l->pid == 0) return stk_fail(error, STK_ERR_IO, "%s: the HDF5 process has ended", path);
    if (!write_all(l->socket, &q, sizeof q) || !read_all(l->socket, &r, sizeof r, CHUNK_SECONDS * 1000))
        return child_died(path, l, error);
    if (r.n_bytes > MAX_CHUNK) return child_died(path, l, error);
    stk_status status = stk_buffer_resize(out, r.n_bytes, error);
    if (status != STK_OK) {
        reap(l, true); /* what it sent is still on the way, and would be taken for the next answer */
        return status;
    }
    if (r.n_bytes > 0 && !read_all(l->socket, out->data, r.n_bytes, CHUNK_SECONDS * 1000))
        return child_died(path, l, error);
    *mask = r.filter_mask;
    if (r.ok) return STK_OK;
    return stk_fail(error, STK_ERR_CORRUPT, "%s: HDF5 cannot read chunk %llu", path, (unsigned long long)q.chunk);
}

stk_status stk_h5_child_chunk(stk_h5_child *c, uint32_t dataset, uint64_t chunk, stk_buffer *out,
                              uint32_t *filter_mask, stk_error *error)
{
    request q = {.chunk = chunk, .dataset = dataset};
    line *l;
    STK_TRY(own_line(c, &l, error));
    pthread_mutex_lock(&l->lock);
    stk_status status = ask_chunk(c->path, l, q, out, filter_mask, error);
    pthread_mutex_unlock(&l->lock);
    return status;
}
