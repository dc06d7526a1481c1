/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/hdf5_child.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fail.h"

enum {
    CHILD_SECONDS = 60,   /* of CPU time for parsing, and of waiting for it */
    CHUNK_SECONDS = 60,
    MAX_CHUNK = 1 << 30
};
#define CHILD_MEMORY ((rlim_t)4 << 30) /* address space beyond what the process has already */

struct stk_h5_child {
    const char *path;
    pid_t pid; /* 0 = gone */
    int socket;
    void *plan;
    size_t plan_bytes;
    pthread_mutex_t lock;
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
    limit_child();
    size_t n = 0;
    stk_h5_open_file *keep = NULL;
    stk_h5_plan *plan = stk_h5_parse(path, &n, &keep);
    uint64_t size = plan != NULL ? n : 0, serves = keep != NULL;
    uint64_t head[2] = {size, serves};
    if (write_all(fd, head, sizeof head) && plan != NULL && write_all(fd, plan, n) && keep != NULL)
        serve_chunks(fd, keep);
    _exit(0);
}

static stk_status start_child(stk_h5_child *c, stk_error *error)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return stk_fail_errno(error, errno, "%s: no socket for the HDF5 process", c->path);
    /* fork without exec: the child runs libhdf5 and malloc only, both of which are ready for it (glibc makes
     * malloc safe across fork); no thread of ours uses libhdf5 for reading, so no lock of it can be held. */
    pid_t pid = fork();
    if (pid < 0) {
        int e = errno;
        close(pair[0]);
        close(pair[1]);
        return stk_fail_errno(error, e, "%s: cannot start a process to parse HDF5", c->path);
    }
    if (pid == 0) {
        close(pair[0]);
        child_main(c->path, pair[1]);
    }
    close(pair[1]);
    c->pid = pid;
    c->socket = pair[0];
    return STK_OK;
}

static int reap(stk_h5_child *c, bool force)
{
    int how = 0;
    if (c->pid == 0) return 0;
    if (force) kill(c->pid, SIGKILL);
    while (waitpid(c->pid, &how, 0) < 0 && errno == EINTR) {}
    c->pid = 0;
    return how;
}

static stk_status child_died(stk_h5_child *c, stk_error *error)
{
    int how = reap(c, true);
    if (WIFSIGNALED(how) && WTERMSIG(how) != SIGKILL)
        return stk_fail(error, STK_ERR_CORRUPT,
                        "%s: the HDF5 library crashed on it (signal %d); the file is broken or hostile", c->path,
                        WTERMSIG(how));
    return stk_fail(error, STK_ERR_CORRUPT,
                    "%s: the HDF5 library did not get through it within %d s and its memory limit; the file is broken "
                    "or hostile",
                    c->path, CHILD_SECONDS);
}

static stk_status receive_plan(stk_h5_child *c, bool *serves, stk_error *error)
{
    uint64_t head[2] = {0, 0};
    if (!read_all(c->socket, head, sizeof head, CHILD_SECONDS * 1000)) return child_died(c, error);
    if (head[0] == 0 || head[0] > ((uint64_t)4 << 30)) return stk_fail_memory(error, "an HDF5 file's description");
    c->plan = malloc((size_t)head[0]);
    if (c->plan == NULL) return stk_fail_memory(error, "an HDF5 file's description");
    c->plan_bytes = (size_t)head[0];
    if (!read_all(c->socket, c->plan, c->plan_bytes, CHILD_SECONDS * 1000)) return child_died(c, error);
    *serves = head[1] != 0;
    return STK_OK;
}

stk_status stk_h5_child_open(const char *path, uint64_t file_bytes, stk_h5_child **out, const stk_h5_plan **plan,
                             stk_error *error)
{
    stk_h5_child *c = calloc(1, sizeof *c);
    *out = NULL;
    if (c == NULL) return stk_fail_memory(error, "an HDF5 reader");
    stk_status status;
    bool serves = false;
    c->path = path;
    c->socket = -1;
    pthread_mutex_init(&c->lock, NULL);
    STK_GOTO(start_child(c, error));
    STK_GOTO(receive_plan(c, &serves, error));
    if (!serves) reap(c, false);
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
    if (c->socket >= 0) close(c->socket);
    reap(c, true);
    pthread_mutex_destroy(&c->lock);
    free(c->plan);
    free(c);
    *child = NULL;
}

bool stk_h5_child_serves(const stk_h5_child *c)
{
    return c->pid != 0;
}

static stk_status ask_chunk(stk_h5_child *c, request q, stk_buffer *out, uint32_t *mask, stk_error *error)
{
    reply r = {0};
    if (c->pid == 0) return stk_fail(error, STK_ERR_IO, "%s: the HDF5 process has ended", c->path);
    if (!write_all(c->socket, &q, sizeof q) || !read_all(c->socket, &r, sizeof r, CHUNK_SECONDS * 1000))
        return child_died(c, error);
    if (r.n_bytes > MAX_CHUNK) return child_died(c, error);
    STK_TRY(stk_buffer_resize(out, r.n_bytes, error));
    if (r.n_bytes > 0 && !read_all(c->socket, out->data, r.n_bytes, CHUNK_SECONDS * 1000)) return child_died(c, error);
    *mask = r.filter_mask;
    if (r.ok) return STK_OK;
    return stk_fail(error, STK_ERR_CORRUPT, "%s: HDF5 cannot read chunk %llu", c->path, (unsigned long long)q.chunk);
}

stk_status stk_h5_child_chunk(stk_h5_child *c, uint32_t dataset, uint64_t chunk, stk_buffer *out,
                              uint32_t *filter_mask, stk_error *error)
{
    request q = {.chunk = chunk, .dataset = dataset};
    pthread_mutex_lock(&c->lock);
    stk_status status = ask_chunk(c, q, out, filter_mask, error);
    pthread_mutex_unlock(&c->lock);
    return status;
}
