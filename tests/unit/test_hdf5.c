/* SPDX-License-Identifier: Apache-2.0
 *
 * Our own HDF5 files, written and read back through the storage; foreign files are tested from Python, where h5py
 * makes them (tests/python/test_hdf5.py). */
#include "stoker_features.h"

#include "support/check.h"

#if STOKER_HAVE_HDF5
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/hash.h"
#include "format/hdf5/hdf5_filters.h"
#include "format/hdf5/hdf5_writer.h"
#include "format/hdf5/squeeze.h"
#include "format/storage.h"

enum { N = 100, W = 40, H = 30, PIXELS = W * H * 3 };
static stk_error error;
static const char *PATH = "test_hdf5.h5";

static const stk_column COLUMNS[5] = {{"path", STK_TYPE_BYTES, 1, false, false},
                                      {"score", STK_TYPE_F32, 1, true, false},
                                      {"boxes", STK_TYPE_F32, 0, false, false},
                                      {"width", STK_TYPE_U16, 1, false, false}, /* the name of one of our own */
                                      {"note", STK_TYPE_STRING, 1, false, false}};
static uint8_t pixels[PIXELS];
static char path_text[32], long_text[4096];
static float score, boxes[8];
static uint16_t width_value;

static size_t make_record(int i, bool uniform, stk_record *r, stk_cell *cells)
{
    size_t n = uniform ? PIXELS : 100 + (size_t)i;
    for (size_t k = 0; k < n; k++) pixels[k] = (uint8_t)(i * 7 + (int)k / 5);
    snprintf(path_text, sizeof path_text, "a/%d.jpg", i);
    score = (float)i * 0.5f;
    width_value = (uint16_t)(1000 + i);
    for (int k = 0; k < 8; k++) boxes[k] = (float)(i + k);
    /* One very long string among short ones: must not be stored padded. */
    memset(long_text, 'x', sizeof long_text);
    size_t n_note = i == 50 ? sizeof long_text : 3;
    cells[0] = (stk_cell){false, path_text, strlen(path_text)};
    cells[1] = (stk_cell){i % 10 == 0, &score, 1};
    cells[2] = (stk_cell){false, boxes, (size_t)(i % 3) * 4};
    cells[3] = (stk_cell){false, &width_value, 1};
    cells[4] = (stk_cell){false, long_text, n_note};
    *r = (stk_record){.payload = pixels, .n_bytes = n, .xxh3 = stk_hash64(pixels, n), .label = i % 5 - 1,
                      .width = W, .height = H, .encoding = uniform ? STK_ENCODING_RAW : STK_ENCODING_JPEG,
                      .orientation = (uint8_t)(uniform ? 1 : 1 + i % 8), .channels = 3, .cells = cells};
    return n;
}

static void write_file(bool uniform, const char *filter, uint32_t chunk)
{
    static const uint8_t set[3] = {7, 8, 9};
    const uint8_t *sets[1] = {set};
    const size_t sizes[1] = {sizeof set};
    stk_hdf5_writer_options o = {.columns = COLUMNS, .n_columns = 5, .max_records = N, .filter = filter,
                                 .n_threads = 2};
    if (uniform) {
        o.width = W;
        o.height = H;
        o.channels = 3;
        o.chunk_images = chunk;
    } else {
        o.table_sets = sets;
        o.table_set_bytes = sizes;
        o.n_table_sets = 1;
    }
    stk_hdf5_writer *w = NULL;
    unlink(PATH);
    CHECK_OK(stk_hdf5_writer_open(PATH, &o, &w, &error));
    if (w == NULL) return;
    for (int i = 0; i < N; i++) {
        stk_record r;
        stk_cell cells[5];
        make_record(i, uniform, &r, cells);
        CHECK_OK(stk_hdf5_writer_add(w, &r, &error));
    }
    const char *names[2] = {"cat", "dog"};
    char id[33];
    CHECK_OK(stk_hdf5_writer_finish(w, "{\"classes\":[\"cat\",\"dog\"]}", names, 2, id, &error));
    stk_hdf5_writer_close(&w);
}

static stk_status payload(stk_storage *s, uint64_t i, stk_row *row, uint8_t *out)
{
    STK_TRY(s->ops->row(s, i, row, &error));
    if (row->offset == UINT64_MAX) return s->ops->fetch(s, i, row, out, &error);
    stk_file file;
    uint64_t size;
    STK_TRY(s->ops->file(s, row->file, &file, &size, &error));
    return stk_file_read_at(&file, out, row->n_bytes, row->offset, &error);
}

static const void *value_of(stk_storage *s, const char *name, uint64_t i, stk_value *v)
{
    static uint8_t buffer[8192];
    for (uint32_t c = 0; c < s->n_columns; c++) {
        if (strcmp(s->columns[c].name, name) != 0) continue;
        CHECK_OK(s->ops->value(s, c, i, buffer, sizeof buffer, v, &error));
        return v->data;
    }
    CHECK(false && "column is missing");
    return NULL;
}

static void check_columns(stk_storage *s, int i, const stk_cell *cells)
{
    static const char *const names[5] = {"path", "score", "boxes", "width", "note"};
    for (int c = 0; c < 5; c++) {
        stk_value v = {0};
        const void *data = value_of(s, names[c], (uint64_t)i, &v);
        CHECK_EQ(v.is_null, cells[c].is_null);
        if (cells[c].is_null) continue;
        CHECK_EQ(v.n_items, cells[c].n_items);
        CHECK(v.n_bytes == 0 || (data != NULL && memcmp(data, cells[c].data, v.n_bytes) == 0));
    }
}

static void check_file(bool uniform)
{
    stk_storage *s = NULL;
    static uint8_t got[PIXELS];
    CHECK_OK(stk_storage_open(PATH, NULL, &s, &error));
    if (s == NULL) return;
    CHECK_EQ(s->n_rows, N);
    CHECK_EQ(s->n_classes, 2);
    CHECK_EQ(s->n_columns, 5);
    CHECK_EQ(strlen(s->id), 32);
    for (int i = N - 1; i >= 0; i--) {
        stk_record r;
        stk_cell cells[5];
        stk_row row;
        size_t n = make_record(i, uniform, &r, cells);
        CHECK_OK(payload(s, (uint64_t)i, &row, got));
        CHECK_EQ(row.n_bytes, n);
        CHECK_EQ(row.label, r.label);
        CHECK_EQ(row.orientation, r.orientation);
        CHECK_EQ(row.encoding, r.encoding);
        CHECK(row.has_xxh3 && row.xxh3 == r.xxh3);
        CHECK(memcmp(got, pixels, n) == 0);
        check_columns(s, i, cells);
    }
    if (!uniform) {
        const uint8_t *blob = NULL;
        size_t n = 0;
        CHECK_EQ(s->n_table_sets, 1);
        CHECK_OK(s->ops->tables(s, 0, &blob, &n, &error));
        CHECK(n == 3 && blob[2] == 9);
    }
    stk_storage_close(&s);
}

static void uniform_plain(void)
{
    /* A writer must close no descriptor that is not its own, 0 least of all. */
    bool has_stdin = fcntl(0, F_GETFD) != -1;
    for (uint32_t chunk = 1; chunk <= 128; chunk *= 8) {
        write_file(true, NULL, chunk);
        check_file(true);
    }
    CHECK_EQ(fcntl(0, F_GETFD) != -1, has_stdin);
}

static void uniform_gzip(void)
{
    write_file(true, "gzip:1", 7);
    check_file(true);
}

static void uniform_lzf(void)
{
    if (!stk_squeeze_has_lzf()) return;
    write_file(true, "lzf", 7);
    check_file(true);
}

static void blobs(void)
{
    write_file(false, NULL, 0);
    check_file(false);
}

static void refusals(void)
{
    stk_hdf5_writer *w = NULL;
    stk_hdf5_writer_options o = {.max_records = 1, .filter = "zstd"};
    CHECK_STATUS(stk_hdf5_writer_open("no.h5", &o, &w, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "zstd") != NULL);
    o.filter = "gzip";
    CHECK_STATUS(stk_hdf5_writer_open("no.h5", &o, &w, &error), STK_ERR_ARGUMENT);
    CHECK(access("no.h5", F_OK) != 0);
    o = (stk_hdf5_writer_options){.max_records = 1, .width = 2, .height = 2, .channels = 3};
    CHECK_OK(stk_hdf5_writer_open("no.h5", &o, &w, &error));
    stk_record r = {.payload = pixels, .n_bytes = 27, .width = 3, .height = 3, .channels = 3,
                    .encoding = STK_ENCODING_RAW, .orientation = 1};
    CHECK_STATUS(stk_hdf5_writer_add(w, &r, &error), STK_ERR_ARGUMENT);
    stk_hdf5_writer_close(&w);
    CHECK(access("no.h5", F_OK) != 0); /* nothing half-written stays */
    CHECK(access("no.h5.meta", F_OK) != 0);
}

/* Truncations and flips: an error or right data, never a crash of this process. */
static void hostile(void)
{
    static uint8_t bytes[1 << 20], got[PIXELS];
    write_file(true, "gzip:1", 16);
    FILE *f = fopen(PATH, "rb");
    size_t n = f != NULL ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f != NULL) fclose(f);
    CHECK(n > 2048);
    for (int k = 0; k < 160; k++) {
        size_t at = k < 120 ? (size_t)k * 17 : (size_t)(k - 119) * (n / 41);
        uint8_t old = bytes[at];
        bytes[at] = (uint8_t)(old ^ (1u << (k % 8)));
        size_t keep = k % 4 == 3 ? at : n;
        f = fopen("test_hdf5_bad.h5", "wb");
        if (f != NULL) {
            fwrite(bytes, 1, keep, f);
            fclose(f);
        }
        bytes[at] = old;
        stk_storage *s = NULL;
        if (stk_storage_open("test_hdf5_bad.h5", NULL, &s, &error) != STK_OK) continue;
        for (uint64_t i = 0; i < s->n_rows && i < N; i += 13) {
            stk_row row;
            if (s->ops->row(s, i, &row, &error) == STK_OK && row.n_bytes <= PIXELS && row.offset == UINT64_MAX)
                if (s->ops->fetch(s, i, &row, got, &error) != STK_OK) CHECK(error.text[0] != '\0');
        }
        stk_storage_close(&s);
    }
    unlink("test_hdf5_bad.h5");
}

/* ---- More chunks than older versions of libhdf5 can list: a child process reads them one by one. Newer ones list them
 * all, and these tests hold without. */

enum { MANY = 8200, SMALL = 2 * 2 * 3 };

static void write_some(const stk_hdf5_writer_options *o, int n)
{
    stk_hdf5_writer *w = NULL;
    uint8_t small[SMALL];
    char id[33];
    unlink(PATH);
    CHECK_OK(stk_hdf5_writer_open(PATH, o, &w, &error));
    for (int i = 0; i < n; i++) {
        memset(small, i % 251, sizeof small);
        stk_record r = {.payload = small, .n_bytes = SMALL, .xxh3 = stk_hash64(small, SMALL), .label = -1, .width = 2,
                        .height = 2, .encoding = STK_ENCODING_RAW, .orientation = 1, .channels = 3};
        CHECK_OK(stk_hdf5_writer_add(w, &r, &error));
    }
    CHECK_OK(stk_hdf5_writer_finish(w, "{}", NULL, 0, id, &error));
    stk_hdf5_writer_close(&w);
}

static void write_many(void)
{
    stk_hdf5_writer_options o = {.max_records = MANY, .filter = "gzip:1", .n_threads = 2, .width = 2, .height = 2,
                                 .channels = 3, .chunk_images = 1};
    write_some(&o, MANY);
}

static void *open_storage(void *out)
{
    CHECK_OK(stk_storage_open(PATH, NULL, out, &error));
    return NULL;
}

/* Records from..to hold what was written. */
static bool right(stk_storage *s, uint64_t from, uint64_t to)
{
    stk_row row;
    uint8_t got[SMALL], want[SMALL];
    for (uint64_t i = from; i < to; i++) {
        memset(want, (int)(i % 251), sizeof want);
        if (payload(s, i, &row, got) != STK_OK || memcmp(got, want, SMALL) != 0) return false;
    }
    return true;
}

/* The child process stays when the thread ends that opened the file. */
static void opened_by_a_thread(void)
{
    stk_storage *s = NULL;
    pthread_t thread;
    write_many();
    pthread_create(&thread, NULL, open_storage, &s);
    pthread_join(thread, NULL);
    if (s == NULL) return;
    usleep(20000); /* for its death, which should not be */
    CHECK(right(s, 0, 500));
    stk_storage_close(&s);
}

/* After fork() both read at once, and closing in one leaves the other's child alone. */
static void read_on_both_sides_of_fork(void)
{
    stk_storage *s = NULL;
    int status = -1;
    open_storage(&s);
    if (s == NULL) return;
    CHECK(right(s, 0, 10));
    pid_t pid = fork();
    if (pid == 0) {
        bool good = right(s, 3000, 6000);
        stk_storage_close(&s);
        _exit(good ? 0 : 1);
    }
    CHECK(right(s, 0, 3000));
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(right(s, 6000, MANY));
    stk_storage_close(&s);
}

#if !defined(__SANITIZE_ADDRESS__)
static atomic_bool stop_reading;

static void *read_for_ever(void *storage)
{
    while (!atomic_load(&stop_reading)) CHECK(right(storage, 0, 64));
    return NULL;
}

/* A child after fork() finds no chunk locked or half decoded, whatever the threads were at. */
static void forked_while_others_decode(void)
{
    enum { THREADS = 3, FORKS = 40 };
    stk_storage *s = NULL;
    pthread_t threads[THREADS];
    stk_hdf5_writer_options o = {.max_records = MANY, .filter = "gzip:1", .n_threads = 2, .width = 2, .height = 2,
                                 .channels = 3, .chunk_images = 16};
    write_some(&o, 64);
    open_storage(&s);
    if (s == NULL) return;
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, read_for_ever, s);
    for (int i = 0; i < FORKS; i++) {
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
            alarm(20); /* it would wait for ever */
            _exit(right(s, 0, 64) ? 0 : 1);
        }
        CHECK_EQ(waitpid(pid, &status, 0), pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        if (!WIFEXITED(status)) break;
    }
    atomic_store(&stop_reading, true);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    stk_storage_close(&s);
}
#endif

int main(void)
{
    RUN(opened_by_a_thread);
    RUN(read_on_both_sides_of_fork);
#if !defined(__SANITIZE_ADDRESS__) /* gcc's forks with its allocator's locks held by whoever held them */
    RUN(forked_while_others_decode);
#endif
    RUN(uniform_plain);
    RUN(uniform_gzip);
    RUN(uniform_lzf);
    RUN(blobs);
    RUN(refusals);
    RUN(hostile);
    unlink(PATH);
    return check_exit();
}
#else
int main(void)
{
    puts("skipped: this build has no HDF5");
    return 77;
}
#endif
