/* SPDX-License-Identifier: Apache-2.0
 *
 * The roads to payload bytes: which one is taken, when checksums are compared, truncation and limits. */
#include "reader/payload.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "common/file_system.h"
#include "reader/dataset_internal.h"
#include "support/damage.h"
#include "support/image_shard.h"
#include "support/temporary.h"

enum { N = 300, SIDE = 16, BYTES = SIDE * SIDE * 3 };

static stk_error error;

static stk_dataset *open_with(const char *path, stk_io io, stk_verify_mode verify)
{
    stk_dataset_options o;
    stk_dataset_options_init(&o);
    o.io = io;
    o.verify = verify;
    stk_dataset *d = NULL;
    CHECK_OK(stk_dataset_open(path, &o, &d, &error));
    if (d == NULL) exit(1);
    return d;
}

static bool right_bytes(uint64_t i, const stk_buffer *got)
{
    uint8_t want[BYTES];
    image_fill(i, SIDE, SIDE, 3, want);
    return got->n_bytes == BYTES && memcmp(got->data, want, BYTES) == 0;
}

static void both_roads(void)
{
    const char *path = temporary("roads.stk");
    image_shard(path, N, SIDE, SIDE, 3);
    static const stk_io roads[] = {STK_IO_MMAP, STK_IO_PREAD};
    for (int k = 0; k < 2; k++) {
        stk_dataset *d = open_with(path, roads[k], STK_VERIFY_FIRST);
        CHECK(strcmp(stk_dataset_road(d), k == 0 ? "mmap" : "pread") == 0);
        stk_buffer bytes = {0};
        for (int round = 0; round < 3; round++) {
            for (uint64_t i = 0; i < N; i++) {
                CHECK_OK(stk_dataset_payload(d, i, &bytes, &error));
                CHECK(right_bytes(i, &bytes));
            }
        }
        CHECK_STATUS(stk_dataset_payload(d, N, &bytes, &error), STK_ERR_ARGUMENT);
        stk_buffer_free(&bytes);
        stk_dataset_close(&d);
    }
}

/* First: damage is found at the first touch and at no later one; always: at each; off: never. */
static void verify_modes(void)
{
    static const stk_io roads[] = {STK_IO_MMAP, STK_IO_PREAD};
    for (int k = 0; k < 2; k++) {
        for (int mode = STK_VERIFY_FIRST; mode <= STK_VERIFY_OFF; mode++) {
            char path[512];
            snprintf(path, sizeof path, "%s", temporary("verify.stk"));
            image_shard(path, N, SIDE, SIDE, 3);
            stk_dataset *d = open_with(path, roads[k], (stk_verify_mode)mode);
            stk_buffer bytes = {0};
            CHECK_OK(stk_dataset_payload(d, 3, &bytes, &error));
            damage_record(path, d, 3);
            damage_record(path, d, 4);
            stk_status touched = stk_dataset_payload(d, 3, &bytes, &error);
            CHECK_EQ(touched, mode == STK_VERIFY_ALWAYS ? STK_ERR_CHECKSUM : STK_OK);
            for (int again = 0; again < 2; again++) {
                stk_status fresh = stk_dataset_payload(d, 4, &bytes, &error);
                CHECK_EQ(fresh, mode == STK_VERIFY_OFF ? STK_OK : STK_ERR_CHECKSUM);
                if (fresh != STK_OK) CHECK(strstr(error.text, "record 4 (class4/image4.png)") != NULL);
            }
            stk_buffer_free(&bytes);
            stk_dataset_close(&d);
        }
    }
}

static void truncation(void)
{
    static const stk_io roads[] = {STK_IO_MMAP, STK_IO_PREAD};
    for (int k = 0; k < 2; k++) {
        char path[512];
        snprintf(path, sizeof path, "%s", temporary("short.stk"));
        image_shard(path, N, SIDE, SIDE, 3);
        stk_dataset *d = open_with(path, roads[k], STK_VERIFY_FIRST);
        stk_buffer bytes = {0};
        for (uint64_t i = 0; i < N; i += 2) CHECK_OK(stk_dataset_payload(d, i, &bytes, &error));
        stk_record_info info;
        CHECK_OK(stk_dataset_record(d, 100, &info, &error));
        CHECK_EQ(truncate(path, (off_t)info.offset), 0);
        for (uint64_t i = 0; i < N; i++) {
            stk_status status = stk_dataset_payload(d, i, &bytes, &error);
            CHECK_EQ(status, i < 100 ? STK_OK : STK_ERR_CORRUPT);
            if (i < 100) CHECK(right_bytes(i, &bytes));
            if (i >= 100) CHECK(strstr(error.text, path) != NULL);
        }
        stk_buffer_free(&bytes);
        stk_dataset_close(&d);
    }
}

static void limits(void)
{
    const char *path = temporary("limits.stk");
    image_shard(path, 3, SIDE, SIDE, 3);
    stk_dataset_options o;
    stk_dataset_options_init(&o);
    o.max_record_bytes = BYTES - 1;
    stk_dataset *d = NULL;
    stk_buffer bytes = {0};
    CHECK_OK(stk_dataset_open(path, &o, &d, &error));
    CHECK_STATUS(stk_dataset_payload(d, 0, &bytes, &error), STK_ERR_LIMIT);
    CHECK(strstr(error.text, "max_record_bytes") != NULL);
    stk_dataset_close(&d);
    stk_buffer_free(&bytes);
}

/* Many threads meet at files not opened and records not touched yet. */
typedef struct reading {
    const stk_dataset *dataset;
    uint64_t first;
    int wrong;
} reading;

static void *read_all(void *argument)
{
    reading *r = argument;
    stk_buffer bytes = {0};
    for (uint64_t k = 0; k < N; k++) {
        uint64_t i = (r->first + k * 7) % N;
        if (stk_dataset_payload(r->dataset, i, &bytes, NULL) != STK_OK || !right_bytes(i, &bytes)) r->wrong++;
    }
    stk_buffer_free(&bytes);
    return NULL;
}

static void many_threads(void)
{
    const char *path = temporary("threads.stk");
    image_shard(path, N, SIDE, SIDE, 3);
    for (int k = 0; k < 10; k++) {
        stk_dataset *d = open_with(path, k % 2 == 0 ? STK_IO_MMAP : STK_IO_PREAD, STK_VERIFY_FIRST);
        pthread_t threads[4];
        reading work[4];
        for (int t = 0; t < 4; t++) {
            work[t] = (reading){.dataset = d, .first = (uint64_t)t * 60};
            CHECK_EQ(pthread_create(&threads[t], NULL, read_all, &work[t]), 0);
        }
        for (int t = 0; t < 4; t++) {
            pthread_join(threads[t], NULL);
            CHECK_EQ(work[t].wrong, 0);
        }
        stk_dataset_close(&d);
    }
}

static void kinds_of_file_systems(void)
{
    int fd = open("/dev/shm", O_RDONLY | O_DIRECTORY);
    if (fd >= 0) {
        CHECK_EQ(stk_fs_kind_of(fd), STK_FS_MEMORY);
        close(fd);
    }
    fd = open("/proc", O_RDONLY | O_DIRECTORY);
    CHECK(fd >= 0);
    CHECK_EQ(stk_fs_kind_of(fd), STK_FS_OTHER);
    close(fd);
    CHECK_EQ(stk_fs_kind_of(-1), STK_FS_OTHER);
}

/* Residency: known after reading, and after the page cache was told to forget. */
static void residency(void)
{
    const char *path = temporary("resident.stk");
    image_shard(path, N, SIDE, SIDE, 3);
    stk_dataset *d = open_with(path, STK_IO_PREAD, STK_VERIFY_FIRST);
    stk_row row;
    stk_buffer bytes = {0};
    CHECK_OK(stk_dataset_row(d, 200, &row, &error));
    CHECK_OK(stk_dataset_payload(d, 200, &bytes, &error));
    CHECK(stk_payload_resident(d->payload, &row));
    int fd = open(path, O_RDONLY);
    CHECK_EQ(fsync(fd), 0);
    CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    if (stk_fs_kind_of(fd) == STK_FS_LOCAL) {
        CHECK(!stk_payload_resident(d->payload, &row));
        CHECK(stk_payload_ask(d->payload, row.file, row.offset, row.n_bytes));
        for (int k = 0; k < 2000 && !stk_payload_resident(d->payload, &row); k++) usleep(1000);
        CHECK(stk_payload_resident(d->payload, &row));
    }
    close(fd);
    stk_buffer_free(&bytes);
    stk_dataset_close(&d);
}

int main(void)
{
    RUN(both_roads);
    RUN(verify_modes);
    RUN(truncation);
    RUN(limits);
    RUN(many_threads);
    RUN(kinds_of_file_systems);
    RUN(residency);
    return check_exit();
}
