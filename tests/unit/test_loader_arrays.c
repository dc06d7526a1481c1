/* SPDX-License-Identifier: Apache-2.0
 *
 * Records that are arrays: the loader and the uploader deliver them as they are, for any number of threads; what
 * differs from the first, or is no array, is a bad sample. */
#include <string.h>

#include "common/buffer.h"
#include "format/array_layout.h"
#include "support/damage.h"
#include "support/image_shard.h"
#include "support/loader_run.h"
#include "support/temporary.h"

enum { N = 130, ROWS = 3, COLUMNS = 5, ITEMS = ROWS * COLUMNS, BATCH = 16, THREADS = 8 };

static stk_error error;
static const uint64_t SHAPE[2] = {ROWS, COLUMNS};

static float element(uint64_t i, uint64_t k) { return (float)i + (float)k / 64; }

static void add_array(stk_shard_writer *writer, uint64_t i, stk_type type, uint32_t n_dims, const uint64_t *shape,
                      size_t n_bytes)
{
    stk_buffer b = {0};
    CHECK_OK(stk_array_put_header(type, n_dims, shape, &b, &error));
    for (uint64_t k = 0; k < n_bytes / 4; k++) {
        float v = element(i, k);
        CHECK_OK(stk_buffer_append(&b, &v, sizeof v, &error));
    }
    image_add(writer, i, 0, 0, 0, STK_ENCODING_ARRAY, b.data, b.n_bytes);
    stk_buffer_free(&b);
}

static void arrays_shard(const char *path)
{
    stk_shard_writer *writer = image_shard_begin(path);
    for (uint64_t i = 0; i < N; i++) add_array(writer, i, STK_TYPE_F32, 2, SHAPE, ITEMS * 4);
    image_shard_end(writer);
}

static stk_loader_options options_for(stk_order order, uint32_t threads)
{
    stk_loader_options o;
    stk_loader_options_init(&o);
    stk_transform_init(&o.transform, STK_TRANSFORM_NONE);
    o.batch_size = BATCH;
    o.n_threads = threads;
    o.order = order;
    o.seed = 5;
    return o;
}

static void check_array(const stk_array *a)
{
    CHECK(a != NULL);
    if (a == NULL) exit(1);
    CHECK(a->type == STK_TYPE_F32 && a->n_dims == 2 && a->shape[0] == ROWS && a->shape[1] == COLUMNS);
    CHECK_EQ(a->n_bytes, ITEMS * 4);
    CHECK(a->data == NULL);
}

static void check_elements(const stk_batch *b)
{
    check_array(b->array);
    CHECK_EQ(b->sample_bytes, ITEMS * 4);
    CHECK_EQ(b->data_bytes, b->n * b->sample_bytes);
    CHECK(b->width == 0 && b->height == 0 && b->channels == 0);
    for (uint32_t e = 0; e < b->n; e++)
        for (uint64_t k = 0; k < ITEMS; k++)
            CHECK_EQ(((const float *)b->data)[e * ITEMS + k] == element(b->ids[e], k), true);
}

/* Every order, one thread to eight: the same entries with the same bytes. */
static void any_threads(const stk_dataset *d)
{
    for (int order = STK_ORDER_SHUFFLE; order <= STK_ORDER_PAGE; order++) {
        run_log first = {0};
        for (uint32_t threads = 1; threads <= THREADS; threads++) {
            stk_loader_options o = options_for((stk_order)order, threads);
            o.n_views = 2;
            stk_loader *l = run_loader(d, &o);
            run_log log = {0};
            for (;;) {
                stk_batch *b = NULL;
                stk_status status = stk_loader_next(l, 60000, &b, &error);
                if (status == STK_END) break;
                CHECK_OK(status);
                if (status != STK_OK) exit(1);
                check_elements(b);
                run_append(&log, b);
                stk_batch_release(b);
            }
            stk_loader_close(&l);
            CHECK_EQ(log.n, 2 * N);
            if (threads == 1) first = log;
            for (size_t e = 0; e < log.n; e++)
                CHECK(log.entries[e].id == first.entries[e].id && log.entries[e].pixels == first.entries[e].pixels);
            if (threads > 1) run_free(&log);
        }
        run_free(&first);
    }
}

/* Ranks together deliver every record once, and a state goes on at the next one. */
static void ranks_and_state(const stk_dataset *d)
{
    bool seen[N] = {false};
    for (uint32_t rank = 0; rank < 3; rank++) {
        stk_loader_options o = options_for(STK_ORDER_SHUFFLE, 2);
        o.rank = rank;
        o.world = 3;
        stk_loader *l = run_loader(d, &o), *again = NULL;
        run_log log = {0}, rest = {0};
        char state[STK_STATE_BYTES];
        CHECK(!run_batches(l, &log, 1));
        CHECK_OK(stk_loader_state(l, state, &error));
        again = run_loader(d, &o);
        CHECK_OK(stk_loader_restore(again, state, &error));
        CHECK(run_batches(l, &log, UINT64_MAX) && run_batches(again, &rest, UINT64_MAX));
        CHECK_EQ(rest.n, log.n - BATCH);
        for (size_t e = 0; e < rest.n; e++) CHECK_EQ(rest.entries[e].pixels, log.entries[BATCH + e].pixels);
        for (size_t e = 0; e < log.n; e++) {
            if (!log.entries[e].valid) continue;
            CHECK(!seen[log.entries[e].id]);
            seen[log.entries[e].id] = true;
        }
        run_free(&log);
        run_free(&rest);
        stk_loader_close(&l);
        stk_loader_close(&again);
    }
    for (int i = 0; i < N; i++) CHECK(seen[i]);
}

static void on_a_device(const stk_dataset *d)
{
    stk_loader_options o = options_for(STK_ORDER_SHUFFLE, 2);
    stk_uploader_options up;
    stk_uploader_options_init(&up);
    up.backend = "dummy";
    up.resident = STK_RESIDENT_ON;
    stk_uploader *u = NULL;
    CHECK_OK(stk_uploader_open(d, &o, &up, &u, &error));
    if (u == NULL) exit(1);
    stk_loader *l = run_loader(d, &o);
    for (stk_status status = STK_OK; status == STK_OK;) {
        stk_device_batch *b = NULL;
        stk_batch *want = NULL;
        float got[BATCH * ITEMS];
        status = stk_uploader_next(u, NULL, 60000, &b, &error);
        CHECK_EQ(stk_loader_next(l, 60000, &want, &error), status);
        if (status != STK_OK) break;
        check_array(b->array);
        CHECK_OK(stk_device_batch_read(b, b->data, got, b->n * (size_t)ITEMS * 4, &error));
        CHECK(b->n == want->n && memcmp(got, want->data, want->data_bytes) == 0);
        stk_device_batch_release(b, NULL);
        stk_batch_release(want);
    }
    stk_loader_close(&l);
    stk_uploader_close(&u);
}

static void refuse(const stk_dataset *d, const stk_loader_options *o, const char *word)
{
    stk_loader *l = NULL;
    CHECK_STATUS(stk_loader_open(d, o, &l, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, word) != NULL && strstr(error.text, "float32 [3, 5]") != NULL);
}

static void what_cannot_be_asked_for(const stk_dataset *d)
{
    stk_loader_options o;
    stk_loader_options_init(&o); /* whose transform crops */
    o.batch_size = BATCH;
    refuse(d, &o, "transform");
    o = options_for(STK_ORDER_SHUFFLE, 1);
    o.transform.flip_probability = 0.5;
    refuse(d, &o, "transform");
    o = options_for(STK_ORDER_SHUFFLE, 1);
    o.dtype = STK_DTYPE_F16;
    refuse(d, &o, "dtype");
    o = options_for(STK_ORDER_SHUFFLE, 1);
    o.layout = STK_LAYOUT_NCHW;
    refuse(d, &o, "layout");
    o = options_for(STK_ORDER_SHUFFLE, 1);
    o.gather = true;
    refuse(d, &o, "gather");
}

/* Record 40 has another type, 41 another shape, 42 fewer dimensions, 43 is an image. */
static const char *const OTHERS[4] = {"int32 [3, 5]", "float32 [5, 3]", "float32 [15]", "is an image"};

static void odd_shard(const char *path)
{
    static const uint64_t turned[2] = {COLUMNS, ROWS}, flat[1] = {ITEMS};
    uint8_t pixels[ITEMS * 3] = {0};
    stk_shard_writer *writer = image_shard_begin(path);
    for (uint64_t i = 0; i < N; i++) {
        if (i == 40) add_array(writer, i, STK_TYPE_I32, 2, SHAPE, ITEMS * 4);
        else if (i == 41) add_array(writer, i, STK_TYPE_F32, 2, turned, ITEMS * 4);
        else if (i == 42) add_array(writer, i, STK_TYPE_F32, 1, flat, ITEMS * 4);
        else if (i == 43) image_add(writer, i, COLUMNS, ROWS, 3, STK_ENCODING_RAW, pixels, sizeof pixels);
        else add_array(writer, i, STK_TYPE_F32, 2, SHAPE, ITEMS * 4);
    }
    image_shard_end(writer);
}

static void what_differs(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s", temporary("odd.stk"));
    odd_shard(path);
    stk_dataset *d = run_open(path);
    for (uint64_t odd = 40; odd < 44; odd++) {
        uint64_t ids[2] = {3, odd};
        stk_loader_options o = options_for(STK_ORDER_SEQUENTIAL, 2);
        o.indices = ids;
        o.n_indices = o.batch_size = 2;
        stk_loader *l = run_loader(d, &o);
        stk_batch *b = NULL;
        CHECK_STATUS(stk_loader_next(l, 60000, &b, &error), STK_ERR_ARGUMENT);
        char name[64];
        snprintf(name, sizeof name, "record %llu (class", (unsigned long long)odd);
        CHECK(strstr(error.text, name) != NULL && strstr(error.text, OTHERS[odd - 40]) != NULL);
        CHECK(strstr(error.text, "record 3") != NULL && (odd == 43 || strstr(error.text, "float32 [3, 5]") != NULL));
        stk_loader_close(&l);
    }
    for (int k = 0; k < 2; k++) {
        stk_loader_options o = options_for(STK_ORDER_SHUFFLE, 3);
        o.on_bad = k == 0 ? STK_ON_BAD_SKIP : STK_ON_BAD_SUBSTITUTE;
        stk_loader *l = run_loader(d, &o);
        run_log log = {0};
        stk_loader_stats stats;
        CHECK(run_batches(l, &log, UINT64_MAX));
        stk_loader_get_stats(l, &stats);
        CHECK(stats.bad_samples >= 4 && (stats.substituted >= 4) == (k == 1)); /* of epochs prepared ahead too */
        for (size_t e = 0; e < log.n; e++) {
            bool odd = log.entries[e].id >= 40 && log.entries[e].id < 44;
            CHECK_EQ(log.entries[e].status != STK_OK, odd);
            CHECK(!odd || k == 0);
        }
        run_free(&log);
        stk_loader_close(&l);
    }
    /* The other way round: an array among images. */
    uint64_t ids[2] = {43, 3};
    stk_loader_options o = options_for(STK_ORDER_SEQUENTIAL, 1);
    o.indices = ids;
    o.n_indices = o.batch_size = 2;
    stk_loader *l = run_loader(d, &o);
    stk_batch *b = NULL;
    CHECK_STATUS(stk_loader_next(l, 60000, &b, &error), STK_ERR_UNSUPPORTED);
    CHECK(strstr(error.text, "record 3") != NULL && strstr(error.text, "array") != NULL);
    stk_loader_close(&l);
    stk_dataset_close(&d);
}

/* The first record is damaged: the next one says what arrays are like, and the damaged one fails in its turn. */
static void damaged_first(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s", temporary("first.stk"));
    arrays_shard(path);
    stk_dataset *d = run_open(path);
    damage_record(path, d, 0);
    stk_loader_options o = options_for(STK_ORDER_SEQUENTIAL, 2);
    o.on_bad = STK_ON_BAD_SKIP;
    stk_loader *l = run_loader(d, &o);
    run_log log = {0};
    CHECK(run_batches(l, &log, UINT64_MAX));
    for (size_t e = 0; e < log.n; e++) CHECK_EQ(log.entries[e].status, e == 0 ? STK_ERR_CHECKSUM : STK_OK);
    run_free(&log);
    stk_loader_close(&l);
    for (uint64_t i = 1; i < 64; i++) damage_record(path, d, i);
    stk_dataset_close(&d);
    d = run_open(path); /* this one has touched none of them */
    CHECK_STATUS(stk_loader_open(d, &o, &l, &error), STK_ERR_CHECKSUM);
    CHECK(strstr(error.text, "record 0") != NULL);
    stk_dataset_close(&d);
}

static void one_by_one(const stk_dataset *d)
{
    stk_buffer buffer = {0};
    stk_array a;
    CHECK_OK(stk_dataset_array(d, 7, &buffer, &a, &error));
    CHECK(a.type == STK_TYPE_F32 && a.n_dims == 2 && a.n_bytes == ITEMS * 4 && a.data == buffer.data);
    CHECK(((const float *)a.data)[9] == element(7, 9));
    CHECK_STATUS(stk_dataset_array(d, N, &buffer, &a, &error), STK_ERR_ARGUMENT);
    char text[16];
    CHECK(strcmp(stk_array_text(&(stk_array){.type = STK_TYPE_U8}, text, sizeof text), "uint8 []") == 0);
    CHECK(strcmp(stk_array_text(&(stk_array){.type = STK_TYPE_U8, .n_dims = 9}, text, sizeof text), "uint8 [0, 0, 0,") == 0);
    stk_buffer_free(&buffer);
}

static stk_dataset *open_arrays(void)
{
    char path[512];
    snprintf(path, sizeof path, "%s", temporary("arrays.stk"));
    arrays_shard(path);
    return run_open(path);
}

static void whole_arrays(void)
{
    stk_dataset *d = open_arrays();
    any_threads(d);
    ranks_and_state(d);
    on_a_device(d);
    what_cannot_be_asked_for(d);
    one_by_one(d);
    stk_dataset_close(&d);
}

int main(void)
{
    RUN(whole_arrays);
    RUN(what_differs);
    RUN(damaged_first);
    return check_exit();
}
