/* SPDX-License-Identifier: Apache-2.0
 *
 * A network disk to measure with: shows a folder's files through FUSE, read-only, each read answered after a delay, and
 * all reads together at no more than a rate. For bench/staging/measure.sh:
 *
 *   cc -O2 slow_fs.c $(pkg-config --cflags --libs fuse3) -o slow_fs
 *   SLOW_ROOT=/data SLOW_MS=5 SLOW_MB_S=0 ./slow_fs -f MOUNTPOINT        (0 = no limit of the rate) */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *root;
static double delay_s, bytes_per_s, busy_until;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The delay runs beside those of other reads, the line is shared. */
static void be_slow(size_t n)
{
    double until = now() + delay_s;
    pthread_mutex_lock(&lock);
    if (bytes_per_s > 0) {
        if (busy_until < now()) busy_until = now();
        busy_until += (double)n / bytes_per_s;
        if (busy_until > until) until = busy_until;
    }
    pthread_mutex_unlock(&lock);
    struct timespec t = {.tv_sec = (time_t)until, .tv_nsec = (long)((until - (double)(time_t)until) * 1e9)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR) {}
}

static const char *real(const char *path, char out[4096])
{
    snprintf(out, 4096, "%s%s", root, path);
    return out;
}

static int slow_getattr(const char *path, struct stat *st, struct fuse_file_info *info)
{
    char full[4096];
    (void)info;
    return lstat(real(path, full), st) == 0 ? 0 : -errno;
}

static int slow_readdir(const char *path, void *buffer, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *info,
                        enum fuse_readdir_flags flags)
{
    char full[4096];
    (void)offset, (void)info, (void)flags;
    DIR *stream = opendir(real(path, full));
    if (stream == NULL) return -errno;
    for (struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream))
        fill(buffer, entry->d_name, NULL, 0, 0);
    closedir(stream);
    return 0;
}

static int slow_open(const char *path, struct fuse_file_info *info)
{
    char full[4096];
    int fd = open(real(path, full), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -errno;
    info->fh = (uint64_t)fd;
    return 0;
}

static int slow_read(const char *path, char *data, size_t n, off_t offset, struct fuse_file_info *info)
{
    (void)path;
    ssize_t got = pread((int)info->fh, data, n, offset);
    if (got > 0) be_slow((size_t)got);
    return got < 0 ? -errno : (int)got;
}

static int slow_release(const char *path, struct fuse_file_info *info)
{
    (void)path;
    return close((int)info->fh);
}

/* As many requests on the way as a network disk has; the default is 12. */
static void *slow_init(struct fuse_conn_info *connection, struct fuse_config *config)
{
    (void)config;
    connection->max_background = 128;
    connection->congestion_threshold = 128;
    return NULL;
}

static double number(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? atof(text) : 0;
}

int main(int argc, char **argv)
{
    static const struct fuse_operations operations = {.init = slow_init,
                                                      .getattr = slow_getattr,
                                                      .readdir = slow_readdir,
                                                      .open = slow_open,
                                                      .read = slow_read,
                                                      .release = slow_release};
    root = getenv("SLOW_ROOT");
    delay_s = number("SLOW_MS") / 1e3;
    bytes_per_s = number("SLOW_MB_S") * 1e6;
    if (root == NULL) {
        fprintf(stderr, "SLOW_ROOT names the folder to show\n");
        return 1;
    }
    return fuse_main(argc, argv, &operations, NULL);
}
