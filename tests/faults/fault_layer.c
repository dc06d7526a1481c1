/* SPDX-License-Identifier: Apache-2.0 */
#include "faults/fault_layer.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- The system itself, past the C library's names for it. */

static long raw(long n, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static long answer(long result)
{
    if (result >= 0 || result < -4095) return result;
    errno = (int)-result;
    return -1;
}
#define CALL(n, a, b, c, d, e, f) answer(raw(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f)))

/* ---- What is to fail. */

static const char *const names[FAULT_KINDS] = {"read",   "pread",  "write", "pwrite",   "fsync",  "open",
                                               "rename", "unlink", "mkdir", "truncate", "stat",   "mmap",
                                               "malloc", "thread", "close"};

static _Atomic int armed = FAULT_KINDS; /* which kind; FAULT_KINDS: none */
static _Atomic long nth, seen, hits, live;
static _Atomic int how; /* an errno; 0: a short transfer; -1: kill the process */
static _Atomic bool sticky;

const char *fault_name(fault_kind kind)
{
    return kind < FAULT_KINDS ? names[kind] : "none";
}

void fault_arm(fault_kind kind, long n, int what, bool from_then_on)
{
    atomic_store(&armed, FAULT_KINDS);
    atomic_store(&nth, n);
    atomic_store(&seen, 0);
    atomic_store(&hits, 0);
    atomic_store(&how, what);
    atomic_store(&sticky, from_then_on);
    atomic_store(&armed, (int)kind);
}

long fault_disarm(void)
{
    atomic_store(&armed, FAULT_KINDS);
    return atomic_load(&hits);
}

long fault_seen(void) { return atomic_load(&seen); }
long fault_live_blocks(void) { return atomic_load(&live); }

/* ---- Who is asking? Some libraries cannot do without memory: OpenMP's runtime and libarchive end the process,
 * jansson 2.14 writes behind a block (its lexer overlooks that a token could not be stored), libhdf5's bookkeeping
 * breaks; and nobody could catch the dynamic loader's errors. What they ask for is given. */

enum { MAX_RANGES = 16 };
static struct {
    uintptr_t begin, end;
} spared[MAX_RANGES];
static int n_spared;

static uintptr_t libc_begin, libc_end; /* the C library itself */

static int note_module(struct dl_phdr_info *info, size_t size, void *user)
{
    (void)size, (void)user;
    static const char *const MODULES[] = {"libgomp", "libomp", "libarchive", "libjansson", "libhdf5", "ld-linux"};
    size_t k = 0;
    for (int i = 0; strstr(info->dlpi_name, "libc.so") != NULL && i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (libc_begin == 0) libc_begin = begin;
        libc_end = begin + info->dlpi_phdr[i].p_memsz;
    }
    while (k < sizeof MODULES / sizeof *MODULES && strstr(info->dlpi_name, MODULES[k]) == NULL) k++;
    if (k == sizeof MODULES / sizeof *MODULES) return 0;
    for (int i = 0; i < info->dlpi_phnum && n_spared < MAX_RANGES; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        spared[n_spared].begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        spared[n_spared].end = spared[n_spared].begin + info->dlpi_phdr[i].p_memsz;
        n_spared++;
    }
    return 0;
}

/* libhdf5 asks through the C library too. */
static _Atomic bool spare_libc;

void fault_spare_libc(bool spare) { atomic_store(&spare_libc, spare); }

/* The C library asks for memory on behalf of OpenMP's runtime too, which ends the process without it. */
static __thread bool starts_thread_for_runtime;

static bool is_spared(const void *caller)
{
    if (starts_thread_for_runtime) return true;
    if (atomic_load_explicit(&spare_libc, memory_order_relaxed) && (uintptr_t)caller >= libc_begin &&
        (uintptr_t)caller < libc_end)
        return true;
    for (int i = 0; i < n_spared; i++)
        if ((uintptr_t)caller >= spared[i].begin && (uintptr_t)caller < spared[i].end) return true;
    return false;
}

/* Does this call fail? Sets errno then. */
static bool fails(fault_kind kind, const void *caller)
{
    if (atomic_load_explicit(&armed, memory_order_relaxed) != (int)kind || is_spared(caller)) return false;
    long n = atomic_fetch_add(&seen, 1) + 1, want = atomic_load(&nth);
    if (n != want && !(atomic_load(&sticky) && n > want)) return false;
    atomic_fetch_add(&hits, 1);
    int what = atomic_load(&how);
    if (what == FAULT_KILL) (void)raw(SYS_kill, raw(SYS_getpid, 0, 0, 0, 0, 0, 0), SIGKILL, 0, 0, 0, 0);
    errno = what;
    return true;
}

static bool is_short(void) { return atomic_load(&how) == FAULT_SHORT; }
#define CALLER __builtin_return_address(0)

/* ---- Transfers. A short one moves half, at least one byte. */

static size_t less(size_t n) { return n > 1 ? n / 2 : n; }

ssize_t read(int fd, void *data, size_t n)
{
    if (fails(FAULT_READ, CALLER)) {
        if (!is_short()) return -1;
        n = less(n);
    }
    return CALL(SYS_read, fd, data, n, 0, 0, 0);
}

ssize_t pread64(int fd, void *data, size_t n, off_t at)
{
    if (fails(FAULT_PREAD, CALLER)) {
        if (!is_short()) return -1;
        n = less(n);
    }
    return CALL(SYS_pread64, fd, data, n, at, 0, 0);
}

ssize_t pread(int fd, void *data, size_t n, off_t at)
{
    if (fails(FAULT_PREAD, CALLER)) {
        if (!is_short()) return -1;
        n = less(n);
    }
    return CALL(SYS_pread64, fd, data, n, at, 0, 0);
}

/* The program's own output is not what is tried. */
ssize_t write(int fd, const void *data, size_t n)
{
    if (fd > 2 && fails(FAULT_WRITE, CALLER)) {
        if (!is_short()) return -1;
        n = less(n);
    }
    return CALL(SYS_write, fd, data, n, 0, 0, 0);
}

static ssize_t put(int fd, const void *data, size_t n, off_t at, const void *caller)
{
    if (fails(FAULT_PWRITE, caller)) {
        if (!is_short()) return -1;
        n = less(n);
    }
    return CALL(SYS_pwrite64, fd, data, n, at, 0, 0);
}

ssize_t pwrite(int fd, const void *data, size_t n, off_t at) { return put(fd, data, n, at, CALLER); }
ssize_t pwrite64(int fd, const void *data, size_t n, off_t at) { return put(fd, data, n, at, CALLER); }

ssize_t pwritev(int fd, const struct iovec *pieces, int n, off_t at)
{
    if (fails(FAULT_PWRITE, CALLER) && !is_short()) return -1;
    return CALL(SYS_pwritev, fd, pieces, n, at, 0, 0);
}

/* ---- Names. */

static int open_at(int at, const char *path, int flags, mode_t mode, const void *caller)
{
    if (fails(FAULT_OPEN, caller) && !is_short()) return -1;
    return (int)CALL(SYS_openat, at, path, flags, mode, 0, 0);
}

#define MODE_OF(flags, mode)                             \
    do {                                                 \
        if (((flags) & (O_CREAT | O_TMPFILE)) != 0) {    \
            va_list args;                                \
            va_start(args, flags);                       \
            mode = va_arg(args, mode_t);                 \
            va_end(args);                                \
        }                                                \
    } while (0)

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    MODE_OF(flags, mode);
    return open_at(AT_FDCWD, path, flags, mode, CALLER);
}

int open64(const char *path, int flags, ...)
{
    mode_t mode = 0;
    MODE_OF(flags, mode);
    return open_at(AT_FDCWD, path, flags, mode, CALLER);
}

int openat(int at, const char *path, int flags, ...)
{
    mode_t mode = 0;
    MODE_OF(flags, mode);
    return open_at(at, path, flags, mode, CALLER);
}

int openat64(int at, const char *path, int flags, ...)
{
    mode_t mode = 0;
    MODE_OF(flags, mode);
    return open_at(at, path, flags, mode, CALLER);
}

int rename(const char *from, const char *to)
{
    if (fails(FAULT_RENAME, CALLER) && !is_short()) return -1;
    return (int)CALL(SYS_rename, from, to, 0, 0, 0, 0);
}

int unlink(const char *path)
{
    if (fails(FAULT_UNLINK, CALLER) && !is_short()) return -1;
    return (int)CALL(SYS_unlink, path, 0, 0, 0, 0, 0);
}

int unlinkat(int at, const char *path, int flags)
{
    if (fails(FAULT_UNLINK, CALLER) && !is_short()) return -1;
    return (int)CALL(SYS_unlinkat, at, path, flags, 0, 0, 0);
}

int mkdir(const char *path, mode_t mode)
{
    if (fails(FAULT_MKDIR, CALLER) && !is_short()) return -1;
    return (int)CALL(SYS_mkdir, path, mode, 0, 0, 0, 0);
}

static int cut(int fd, off_t size, const void *caller)
{
    if (fails(FAULT_TRUNCATE, caller) && !is_short()) return -1;
    return (int)CALL(SYS_ftruncate, fd, size, 0, 0, 0, 0);
}

int ftruncate(int fd, off_t size) { return cut(fd, size, CALLER); }
int ftruncate64(int fd, off_t size) { return cut(fd, size, CALLER); }

/* renameat2 and openat2 have no name of their own in older C libraries. */
long syscall(long number, ...)
{
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(args, long);
    va_end(args);
    fault_kind kind = number == SYS_renameat2 ? FAULT_RENAME : number == 437 ? FAULT_OPEN : FAULT_KINDS;
    if (kind != FAULT_KINDS && fails(kind, CALLER) && !is_short()) return -1;
    return CALL(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- Files. */

/* For the loss of power: what was synced is kept beside, by inode (power.py). */
static void keep_synced(int fd)
{
    const char *folder = getenv("FAULT_SYNCED");
    struct stat st;
    char path[4096], piece[65536];
    if (folder == NULL || raw(SYS_fstat, fd, (long)&st, 0, 0, 0, 0) != 0 || !S_ISREG(st.st_mode)) return;
    snprintf(path, sizeof path, "%s/%llu", folder, (unsigned long long)st.st_ino);
    long out = raw(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_CREAT | O_TRUNC, 0666, 0, 0);
    if (out < 0) return;
    for (off_t at = 0;;) {
        long n = raw(SYS_pread64, fd, (long)piece, sizeof piece, at, 0, 0);
        if (n <= 0 || raw(SYS_write, out, (long)piece, n, 0, 0, 0) != n) break;
        at += n;
    }
    (void)raw(SYS_close, out, 0, 0, 0, 0, 0);
}

int fsync(int fd)
{
    if (fails(FAULT_FSYNC, CALLER) && !is_short()) return -1;
    int rc = (int)CALL(SYS_fsync, fd, 0, 0, 0, 0, 0);
    if (rc == 0) keep_synced(fd);
    return rc;
}

int fdatasync(int fd)
{
    if (fails(FAULT_FSYNC, CALLER) && !is_short()) return -1;
    int rc = (int)CALL(SYS_fdatasync, fd, 0, 0, 0, 0, 0);
    if (rc == 0) keep_synced(fd);
    return rc;
}

int fstat(int fd, struct stat *st)
{
    if (fails(FAULT_STAT, CALLER) && !is_short()) return -1;
    return (int)CALL(SYS_fstat, fd, st, 0, 0, 0, 0);
}

int stat(const char *path, struct stat *st)
{
    if (fails(FAULT_STAT, CALLER) && !is_short()) return -1;
    return (int)CALL(SYS_stat, path, st, 0, 0, 0, 0);
}

int lstat(const char *path, struct stat *st)
{
    if (fails(FAULT_STAT, CALLER) && !is_short()) return -1;
    return (int)CALL(SYS_lstat, path, st, 0, 0, 0, 0);
}

/* The descriptor is gone all the same, as on Linux. */
int close(int fd)
{
    bool failing = fd > 2 && fails(FAULT_CLOSE, CALLER) && !is_short();
    int why = errno;
    int rc = (int)CALL(SYS_close, fd, 0, 0, 0, 0, 0);
    if (!failing) return rc;
    errno = why;
    return -1;
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    if (fails(FAULT_MMAP, CALLER) && !is_short()) return MAP_FAILED;
    return (void *)CALL(SYS_mmap, at, n, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    if (fails(FAULT_MMAP, CALLER) && !is_short()) return MAP_FAILED;
    return (void *)CALL(SYS_mmap, at, n, protection, flags, fd, offset);
}

/* ---- Memory, with a count of the blocks that live. */

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *block, size_t n);
extern void *__libc_memalign(size_t alignment, size_t n);
extern void __libc_free(void *block);

static void *counted(void *block)
{
    if (block != NULL) atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return block;
}

void *malloc(size_t n)
{
    if (fails(FAULT_MALLOC, CALLER) && !is_short()) return NULL;
    return counted(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
    if (fails(FAULT_MALLOC, CALLER) && !is_short()) return NULL;
    return counted(__libc_calloc(n, size));
}

void *realloc(void *block, size_t n)
{
    if (fails(FAULT_MALLOC, CALLER) && !is_short()) return NULL;
    void *moved = __libc_realloc(block, n);
    if (block == NULL) return counted(moved);
    if (n == 0 && moved == NULL) atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    return moved;
}

void *aligned_alloc(size_t alignment, size_t n)
{
    if (fails(FAULT_MALLOC, CALLER) && !is_short()) return NULL;
    return counted(__libc_memalign(alignment, n));
}

int posix_memalign(void **out, size_t alignment, size_t n)
{
    if (fails(FAULT_MALLOC, CALLER) && !is_short()) return ENOMEM;
    *out = counted(__libc_memalign(alignment, n));
    return *out == NULL ? ENOMEM : 0;
}

void free(void *block)
{
    if (block != NULL) atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    __libc_free(block);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *user)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (fails(FAULT_THREAD, CALLER) && !is_short()) return EAGAIN;
    if (next == NULL) {
        void *found = dlsym(RTLD_NEXT, "pthread_create");
        memcpy(&next, &found, sizeof next);
    }
    starts_thread_for_runtime = is_spared(CALLER);
    int rc = next(thread, attributes, start, user);
    starts_thread_for_runtime = false;
    return rc;
}

/* ---- As LD_PRELOAD: FAULT=kind:n:how[:on], how an errno's number, "short" or "kill"; "on": all later ones too. */

__attribute__((constructor)) static void begin(void)
{
    dl_iterate_phdr(note_module, NULL);
    /* A thread of OpenMP's runtime ends by pthread_exit, for which the C library loads libgcc_s; where that cannot be
     * loaded it aborts. Loaded here, by what uses the same loading. */
    void *frame;
    (void)backtrace(&frame, 1);
    const char *text = getenv("FAULT");
    char kind[16], what[16], rest[8] = "";
    long n;
    if (text == NULL || sscanf(text, "%15[a-z]:%ld:%15[a-z0-9]:%7s", kind, &n, what, rest) < 3) return;
    for (int k = 0; k < FAULT_KINDS; k++) {
        if (strcmp(kind, names[k]) != 0) continue;
        int value = strcmp(what, "short") == 0 ? FAULT_SHORT : strcmp(what, "kill") == 0 ? FAULT_KILL : atoi(what);
        fault_arm((fault_kind)k, n, value, strcmp(rest, "on") == 0);
    }
}

/* FAULT_LOG: a file that says at the end how many such calls there were and how many failed. */
__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAULT_LOG");
    char line[64];
    long count = atomic_load(&seen), failed = fault_disarm();
    if (path == NULL) return;
    int n = snprintf(line, sizeof line, "%ld %ld\n", count, failed);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd < 0) return;
    (void)!write(fd, line, (size_t)n);
    close(fd);
}
