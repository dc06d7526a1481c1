/* SPDX-License-Identifier: Apache-2.0
 *
 * decode=auto: which side decodes, from given costs; and that an uploader asks for them, follows them, says so and
 * delivers the same bytes on either side. No time is measured that a result depends on: the dummy says what it costs. */
#include <stoker/gpu_upload.h>

#include "gpu_upload/choose.h"
#include "support/image_shard.h"
#include "support/loader_run.h"
#include "support/temporary.h"

enum { N = 60, SIDE = 48, BATCH = 8, IMAGE = SIDE * SIDE * 3 };

static stk_error error;
static stk_dataset *dataset;
static stk_dtype dtype = STK_DTYPE_U8;

static void the_cheaper_side_is_chosen(void)
{
    const struct {
        stk_gpu_costs costs;
        bool gpu;
    } cases[] = {
        /* an H200 beside 16 threads; a slow GPU beside many, and beside few */
        {{.cpu_ns = 245000, .cpu_upload_ns = 6000, .gather_ns = 8000, .gather_upload_ns = 1000, .gpu_ns = 1400, .n_threads = 16}, true},
        {{.cpu_ns = 245000, .cpu_upload_ns = 6000, .gather_ns = 8000, .gather_upload_ns = 1000, .gpu_ns = 30000, .n_threads = 32}, false},
        {{.cpu_ns = 245000, .cpu_upload_ns = 6000, .gather_ns = 8000, .gather_upload_ns = 1000, .gpu_ns = 30000, .n_threads = 2}, true},
        /* about equal, and nothing known: the GPU */
        {{.cpu_ns = 900, .gather_ns = 500, .gpu_ns = 500, .n_threads = 1}, true},
        {{.cpu_ns = 700, .gather_ns = 500, .gpu_ns = 500, .n_threads = 1}, false},
        {{.n_threads = 0}, true},
        /* an upload that takes longer than decoding there */
        {{.cpu_ns = 1000, .cpu_upload_ns = 9000, .gather_ns = 1000, .gather_upload_ns = 1000, .gpu_ns = 2000, .n_threads = 4}, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[224];
        CHECK_EQ(stk_choose_side(&cases[i].costs, text, sizeof text), cases[i].gpu);
        CHECK(strncmp(text, cases[i].gpu ? "gpu: " : "cpu: ", 5) == 0 && strstr(text, "us") != NULL);
        CHECK(strlen(text) < sizeof text - 1);
    }
}

static stk_uploader *open_with(const char *backend, stk_decode decode, stk_resident resident)
{
    static const uint32_t columns[] = {IMAGE_COLUMN_NUMBER};
    stk_loader_options o;
    stk_uploader_options u;
    stk_uploader *out = NULL;
    stk_loader_options_init(&o);
    stk_transform_init(&o.transform, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    o.transform.out_width = o.transform.out_height = SIDE;
    o.batch_size = BATCH;
    o.n_threads = 2;
    o.dtype = dtype;
    o.columns = columns;
    o.n_columns = 1;
    stk_uploader_options_init(&u);
    u.backend = backend;
    u.decode = decode;
    u.resident = resident;
    CHECK_OK(stk_uploader_open(dataset, &o, &u, &out, &error));
    return out;
}

static void expect(const char *backend, stk_decode decode, stk_resident resident, const char *begins, const char *contains)
{
    stk_uploader_stats stats;
    stk_uploader *u = open_with(backend, decode, resident), *want = open_with("dummy", STK_DECODE_GPU, STK_RESIDENT_OFF);
    stk_uploader_get_stats(u, &stats);
    CHECK(strncmp(stats.decode, begins, strlen(begins)) == 0 && strstr(stats.decode, contains) != NULL);
    for (int i = 0; i < N / BATCH; i++) {
        static uint8_t x[BATCH * IMAGE], y[BATCH * IMAGE];
        stk_device_batch *a = NULL, *b = NULL;
        CHECK_OK(stk_uploader_next(u, NULL, -1, &a, &error));
        CHECK_OK(stk_uploader_next(want, NULL, -1, &b, &error));
        CHECK_OK(stk_device_batch_read(a, a->data, x, sizeof x, &error));
        CHECK_OK(stk_device_batch_read(b, b->data, y, sizeof y, &error));
        CHECK(a->n_columns == 1 && b->n_columns == 1);
        CHECK(memcmp(x, y, sizeof x) == 0 && memcmp(a->ids, b->ids, BATCH * sizeof *a->ids) == 0);
        stk_device_batch_release(a, NULL);
        stk_device_batch_release(b, NULL);
    }
    stk_uploader_close(&u);
    stk_uploader_close(&want);
}

static void an_uploader_follows_what_it_measured(void)
{
    expect("dummy:cpu_ns=400000,gather_ns=8000,gpu_ns=1500", STK_DECODE_AUTO, STK_RESIDENT_OFF, "gpu: ", "5.50 us");
    expect("dummy:cpu_ns=400000,gather_ns=8000,gpu_ns=900000", STK_DECODE_AUTO, STK_RESIDENT_OFF, "cpu: ", "200.00 us");
    expect("dummy:cpu_ns=1,gather_ns=8000,gpu_ns=900000", STK_DECODE_GPU, STK_RESIDENT_OFF, "gpu: ", "asked for");
    expect("dummy:cpu_ns=1,gather_ns=8000,gpu_ns=900000", STK_DECODE_AUTO, STK_RESIDENT_ON, "gpu: ", "resident");
    expect("dummy:cpu_ns=400000,gather_ns=8000,gpu_ns=1", STK_DECODE_CPU, STK_RESIDENT_OFF, "cpu: ", "asked for");
    expect("dummy", STK_DECODE_AUTO, STK_RESIDENT_OFF, "", " us on the CPU"); /* whichever it really is */
}

/* Memory that only measuring needed is not kept. */
static void measuring_leaves_no_memory_behind(void)
{
    stk_uploader_stats measured, asked;
    dtype = STK_DTYPE_F32; /* finished images are much larger than records then */
    stk_uploader *u = open_with("dummy:cpu_ns=400000,gather_ns=8000,gpu_ns=1500", STK_DECODE_AUTO, STK_RESIDENT_OFF);
    stk_uploader *v = open_with("dummy", STK_DECODE_GPU, STK_RESIDENT_OFF);
    stk_device_batch *b = NULL;
    for (int i = 0; i < N / BATCH; i++) {
        CHECK_OK(stk_uploader_next(u, NULL, -1, &b, &error));
        stk_device_batch_release(b, NULL);
        CHECK_OK(stk_uploader_next(v, NULL, -1, &b, &error));
        stk_device_batch_release(b, NULL);
    }
    stk_uploader_get_stats(u, &measured);
    stk_uploader_get_stats(v, &asked);
    CHECK(measured.pinned_bytes <= asked.pinned_bytes * 3 / 2);
    stk_uploader_close(&u);
    stk_uploader_close(&v);
    dtype = STK_DTYPE_U8;
}

static void a_device_that_fails_while_measured(void)
{
    stk_uploader_stats stats;
    stk_device_batch *b = NULL;
    stk_uploader *u = open_with("dummy:lost=1", STK_DECODE_AUTO, STK_RESIDENT_OFF);
    stk_uploader_get_stats(u, &stats);
    CHECK(strstr(stats.decode, "measuring failed") != NULL && strstr(stats.decode, "lost") != NULL);
    CHECK_EQ(stk_uploader_next(u, NULL, -1, &b, &error), STK_ERR_DEVICE);
    stk_uploader_close(&u);
}

int main(void)
{
    const char *path = temporary("images.stk");
    image_shard(path, N, 40, 30, 3);
    dataset = run_open(path);
    RUN(the_cheaper_side_is_chosen);
    RUN(an_uploader_follows_what_it_measured);
    RUN(measuring_leaves_no_memory_behind);
    RUN(a_device_that_fails_while_measured);
    stk_dataset_close(&dataset);
    return check_exit();
}
