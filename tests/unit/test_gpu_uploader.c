/* SPDX-License-Identifier: Apache-2.0
 *
 * The uploader's life, with the dummy back end: batches that outlive it, closing with batches in flight, fork, state,
 * raw records streamed and resident. What the pixels are is gpu_compare's. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stoker/gpu_upload.h>

#include "support/image_shard.h"
#include "support/loader_run.h"
#include "support/temporary.h"

enum { N = 60, SIDE = 16, BATCH = 8 };

static stk_error error;
static stk_dataset *dataset;

static stk_uploader *open_backend(const char *backend, stk_resident resident)
{
    stk_loader_options o;
    stk_uploader_options u;
    stk_uploader *out = NULL;
    stk_loader_options_init(&o);
    stk_transform_init(&o.transform, STK_TRANSFORM_PAD_CROP);
    o.transform.out_width = o.transform.out_height = SIDE;
    o.batch_size = BATCH;
    o.n_threads = 2;
    stk_uploader_options_init(&u);
    u.backend = backend;
    u.decode = STK_DECODE_GPU;
    u.resident = resident;
    CHECK_OK(stk_uploader_open(dataset, &o, &u, &out, &error));
    return out;
}

static stk_uploader *open_dummy(stk_resident resident) { return open_backend("dummy", resident); }

static stk_device_batch *take(stk_uploader *u)
{
    stk_device_batch *b = NULL;
    CHECK_OK(stk_uploader_next(u, NULL, -1, &b, &error));
    return b;
}

static void read_image(const stk_device_batch *b, uint8_t *out)
{
    CHECK_OK(stk_device_batch_read(b, b->data, out, SIDE * SIDE * 3, &error));
}

static void batches_outlive_their_uploader(void)
{
    uint8_t before[SIDE * SIDE * 3], after[SIDE * SIDE * 3];
    stk_uploader *u = open_dummy(STK_RESIDENT_OFF);
    stk_device_batch *kept = take(u), *other = take(u);
    read_image(kept, before);
    stk_device_batch_release(other, NULL);
    for (int i = 0; i < 3; i++) stk_device_batch_release(take(u), NULL);
    stk_uploader_close(&u);
    CHECK(u == NULL);
    read_image(kept, after);
    CHECK(memcmp(before, after, sizeof before) == 0);
    stk_device_batch_release(kept, NULL);
}

static void close_at_any_moment(void)
{
    for (int taken = 0; taken < 4; taken++) {
        stk_uploader *u = open_dummy(taken % 2 ? STK_RESIDENT_ON : STK_RESIDENT_OFF);
        for (int i = 0; i < taken; i++) stk_device_batch_release(take(u), NULL);
        stk_uploader_close(&u);
    }
}

static void *release_one(void *batch)
{
    stk_device_batch_release(batch, NULL);
    return NULL;
}

/* With memory that takes a while to free, threads meet within the freeing; the first to end must not take the pool and
 * the device away from the others. */
static void batches_come_back_from_everywhere(bool during_close)
{
    enum { HELD = 4 };
    for (int round = 0; round < 6; round++) {
        stk_uploader *u = open_backend("dummy:free_us=2000", round % 2 ? STK_RESIDENT_ON : STK_RESIDENT_OFF);
        pthread_t threads[HELD];
        stk_device_batch *held[HELD];
        for (int i = 0; i < HELD; i++) held[i] = take(u);
        if (!during_close) stk_uploader_close(&u);
        for (int i = 0; i < HELD; i++) CHECK_EQ(pthread_create(&threads[i], NULL, release_one, held[i]), 0);
        stk_uploader_close(&u);
        for (int i = 0; i < HELD; i++) pthread_join(threads[i], NULL);
    }
}

static void batches_come_back_during_close(void) { batches_come_back_from_everywhere(true); }
static void batches_come_back_after_close(void) { batches_come_back_from_everywhere(false); }

static void a_child_is_refused(void)
{
    stk_uploader *u = open_dummy(STK_RESIDENT_OFF);
    pid_t child = fork();
    if (child == 0) {
        stk_device_batch *b = NULL;
        _exit(stk_uploader_next(u, NULL, 0, &b, NULL) == STK_ERR_STATE ? 0 : 1);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    stk_device_batch_release(take(u), NULL); /* the parent goes on */
    stk_uploader_close(&u);
}

static void resident_batches_are_the_same(void)
{
    stk_uploader *a = open_dummy(STK_RESIDENT_OFF), *b = open_dummy(STK_RESIDENT_ON);
    stk_uploader_stats stats;
    stk_uploader_get_stats(b, &stats);
    CHECK_EQ(stats.resident_records, N);
    for (int i = 0; i < N / BATCH; i++) {
        uint8_t x[SIDE * SIDE * 3], y[SIDE * SIDE * 3];
        stk_device_batch *p = take(a), *q = take(b);
        read_image(p, x);
        read_image(q, y);
        CHECK(p->ids[0] == q->ids[0] && memcmp(x, y, sizeof x) == 0);
        stk_device_batch_release(p, NULL);
        stk_device_batch_release(q, NULL);
    }
    stk_uploader_close(&a);
    stk_uploader_close(&b);
}

static void state_counts_delivered_batches(void)
{
    char state[STK_STATE_BYTES];
    stk_uploader *u = open_dummy(STK_RESIDENT_OFF);
    stk_device_batch_release(take(u), NULL);
    CHECK_OK(stk_uploader_state(u, state, &error));
    stk_device_batch *second = take(u);
    uint64_t id = second->ids[0];
    stk_device_batch_release(second, NULL);
    stk_device_batch_release(take(u), NULL);
    CHECK_OK(stk_uploader_restore(u, state, &error));
    second = take(u);
    CHECK_EQ(second->ids[0], id);
    stk_device_batch_release(second, NULL);
    stk_uploader_close(&u);
}

/* ---- Batches that need no plan (hd_direct.h): every kind of them against the plain loader's. */

typedef struct direct_case {
    stk_transform_kind kind;
    uint32_t side, pad, channels; /* of the output; of the records */
    stk_dtype dtype;
    stk_layout layout;
    stk_color color;
    stk_mode mode;
    uint32_t n_views;
    double flip;
} direct_case;

static void set_direct(const direct_case *c, stk_loader_options *o)
{
    stk_loader_options_init(o);
    stk_transform_init(&o->transform, c->kind);
    o->transform.out_width = c->side;
    o->transform.out_height = c->kind == STK_TRANSFORM_PAD_CROP ? c->side - 3 : c->side;
    o->transform.pad = c->pad;
    o->transform.flip_probability = c->flip;
    o->transform.color = c->color;
    o->transform.mode = c->mode;
    for (int i = 0; i < 3; i++) o->transform.fill[i] = (uint8_t)(50 + 70 * i);
    o->batch_size = BATCH;
    o->n_threads = 2;
    o->n_views = c->n_views;
    o->first_view = c->n_views + 1;
    o->repeats = 2;
    o->seed = 11;
    o->dtype = c->dtype;
    o->layout = c->layout;
}

static void compare_direct(const stk_dataset *d, const direct_case *c)
{
    stk_loader_options o;
    stk_uploader_options uo;
    stk_loader *loader = NULL;
    stk_uploader *u = NULL;
    stk_uploader_stats stats;
    set_direct(c, &o);
    stk_uploader_options_init(&uo);
    uo.backend = "dummy";
    uo.decode = STK_DECODE_GPU;
    uo.resident = STK_RESIDENT_ON;
    CHECK_OK(stk_loader_open(d, &o, &loader, &error));
    CHECK_OK(stk_uploader_open(d, &o, &uo, &u, &error));
    for (int i = 0; i < 2 * N / BATCH + 4; i++) { /* into the next epoch */
        static uint8_t got[BATCH * 2 * 64 * 64 * 3 * 4];
        stk_batch *a = NULL;
        stk_device_batch *b = NULL;
        stk_status want = stk_loader_next(loader, -1, &a, &error);
        CHECK_EQ(stk_uploader_next(u, NULL, -1, &b, &error), want);
        if (want != STK_OK) continue;
        size_t n_bytes = a->sample_bytes * a->n;
        CHECK(n_bytes <= sizeof got);
        CHECK_OK(stk_device_batch_read(b, b->data, got, n_bytes, &error));
        CHECK(b->n == a->n && memcmp(got, a->data, n_bytes) == 0);
        CHECK(memcmp(b->ids, a->ids, a->n * sizeof *a->ids) == 0);
        CHECK(memcmp(b->host_labels, a->labels, a->n * sizeof *a->labels) == 0);
        stk_batch_release(a);
        stk_device_batch_release(b, NULL);
    }
    stk_uploader_get_stats(u, &stats);
    CHECK(stats.uploaded_bytes < stats.batches * 4096); /* who comes, not what: no descriptors, no pixels */
    CHECK_EQ(stats.loader.bytes_read, 0);
    stk_uploader_close(&u);
    stk_loader_close(&loader);
}

static void small_images_are_drawn_on_the_device(void)
{
    const direct_case cases[] = {
        {STK_TRANSFORM_PAD_CROP, SIDE, 4, 3, STK_DTYPE_U8, STK_LAYOUT_NHWC, STK_COLOR_RGB, STK_MODE_RGB, 1, 0.5},
        {STK_TRANSFORM_PAD_CROP, SIDE, 4, 3, STK_DTYPE_BF16, STK_LAYOUT_NHWC, STK_COLOR_RGB, STK_MODE_RGB, 2, 0.5},
        {STK_TRANSFORM_PAD_CROP, SIDE + 9, 60, 3, STK_DTYPE_F32, STK_LAYOUT_NCHW, STK_COLOR_BGR, STK_MODE_RGB, 1, 0.1},
        {STK_TRANSFORM_PAD_CROP, SIDE - 5, 0, 3, STK_DTYPE_F16, STK_LAYOUT_NCHW, STK_COLOR_RGB, STK_MODE_RGB, 1, 1},
        {STK_TRANSFORM_PAD_CROP, SIDE, 2, 1, STK_DTYPE_F16, STK_LAYOUT_NHWC, STK_COLOR_RGB, STK_MODE_RGB, 1, 0.5},
        {STK_TRANSFORM_PAD_CROP, SIDE, 2, 1, STK_DTYPE_BF16, STK_LAYOUT_NHWC, STK_COLOR_RGB, STK_MODE_L, 1, 0.5},
        {STK_TRANSFORM_NONE, SIDE, 0, 3, STK_DTYPE_F32, STK_LAYOUT_NHWC, STK_COLOR_RGB, STK_MODE_RGB, 1, 0},
        {STK_TRANSFORM_RESIZE, SIDE, 0, 3, STK_DTYPE_U8, STK_LAYOUT_NCHW, STK_COLOR_BGR, STK_MODE_RGB, 1, 0.5},
    };
    const char *path = temporary("grey.stk");
    image_shard(path, N, SIDE, SIDE, 1);
    stk_dataset *grey = run_open(path);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        compare_direct(cases[i].channels == 1 ? grey : dataset, &cases[i]);
    stk_dataset_close(&grey);
}

int main(void)
{
    const char *path = temporary("images.stk");
    image_shard(path, N, SIDE, SIDE, 3);
    dataset = run_open(path);
    RUN(batches_outlive_their_uploader);
    RUN(close_at_any_moment);
    RUN(batches_come_back_during_close);
    RUN(batches_come_back_after_close);
    RUN(a_child_is_refused);
    RUN(resident_batches_are_the_same);
    RUN(state_counts_delivered_batches);
    RUN(small_images_are_drawn_on_the_device);
    stk_dataset_close(&dataset);
    return check_exit();
}
