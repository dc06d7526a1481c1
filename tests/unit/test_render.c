/* SPDX-License-Identifier: Apache-2.0
 *
 * Every kernel family against the scalar reference, on raw records: random boxes, sizes, filters, orientations,
 * windows, channels. (The reference itself is compared with Pillow by tests/python/test_pixels_pillow.py.) Inputs
 * and outputs are separate allocations of their exact sizes, so that a sanitizer sees any byte too far. */
#include "codec/render.h"

#include "common/rng.h"
#include "support/check.h"
#include "support/families.h"

static uint32_t draw(stk_rng *rng, uint32_t low, uint32_t high)
{
    return low + (uint32_t)stk_rng_below(rng, high - low + 1);
}

static uint32_t some_size(stk_rng *rng, uint32_t limit)
{
    switch (stk_rng_below(rng, 4)) {
    case 0: return draw(rng, 1, 4);
    case 1: return draw(rng, 1, 40);
    default: return draw(rng, 1, limit);
    }
}

static stk_render_job random_job(stk_rng *rng)
{
    stk_render_job job = {.encoding = STK_ENCODING_RAW, .channels = stk_rng_below(rng, 3) == 0 ? 1 : 3,
                          .orientation = (uint8_t)draw(rng, 0, 8)};
    job.width = some_size(rng, 500);
    job.height = some_size(rng, 500);
    uint32_t w = draw(rng, 1, job.width), h = draw(rng, 1, job.height);
    if (stk_rng_below(rng, 3) == 0) w = job.width, h = job.height;
    job.box = (stk_box){(int32_t)draw(rng, 0, job.width - w), (int32_t)draw(rng, 0, job.height - h), (int32_t)w,
                        (int32_t)h};
    job.full_width = stk_rng_below(rng, 4) == 0 ? w : some_size(rng, 300);
    job.full_height = stk_rng_below(rng, 4) == 0 ? h : some_size(rng, 300);
    job.filter = (stk_filter)stk_rng_below(rng, 6);
    job.pixels = (stk_pixels)stk_rng_below(rng, 2);
    job.out_width = job.full_width;
    job.out_height = job.full_height;
    if (stk_rng_below(rng, 2) == 0) {
        job.window_x = (int32_t)draw(rng, 0, job.full_width + 7) - 7;
        job.window_y = (int32_t)draw(rng, 0, job.full_height + 7) - 7;
        job.out_width = draw(rng, 1, job.full_width + 9);
        job.out_height = draw(rng, 1, job.full_height + 9);
    }
    for (int c = 0; c < 3; c++) job.fill[c] = (uint8_t)stk_rng_u64(rng);
    job.flip = stk_rng_below(rng, 2);
    job.color = (stk_color)stk_rng_below(rng, 2);
    job.out_channels = stk_rng_below(rng, 3) == 0 ? 1 : 3;
    job.out_stride = (size_t)job.out_width * job.out_channels + stk_rng_below(rng, 2) * 5;
    return job;
}

static void fill_random(stk_rng *rng, uint8_t *data, size_t n)
{
    bool extreme = stk_rng_below(rng, 4) == 0; /* 0 and 255 only: overshoot and clipping */
    for (size_t i = 0; i < n; i++) {
        uint8_t v = (uint8_t)(stk_rng_u64(rng) >> 24);
        data[i] = extreme ? (v & 1 ? 255 : 0) : v;
    }
}

static bool equal_rows(const stk_render_job *job, const uint8_t *a, const uint8_t *b)
{
    for (uint32_t y = 0; y < job->out_height; y++)
        if (memcmp(a + y * job->out_stride, b + y * job->out_stride, (size_t)job->out_width * job->out_channels) !=
            0)
            return false;
    return true;
}

static families f;

static void families_equal(void)
{
    stk_rng rng = stk_rng_for(11, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    stk_error error;
    for (int i = 0; i < 3000; i++) {
        stk_render_job job = random_job(&rng);
        job.n_bytes = (size_t)job.width * job.height * job.channels;
        size_t out_bytes = job.out_stride * (job.out_height - 1) + (size_t)job.out_width * job.out_channels;
        uint8_t *data = malloc(job.n_bytes), *want = malloc(out_bytes), *got = malloc(out_bytes);
        fill_random(&rng, data, job.n_bytes);
        job.data = data;
        job.out = want;
        CHECK_OK(stk_render(f.ctx[0], &job, NULL, &error));
        for (int k = 1; k < f.n; k++) {
            memset(got, 0xa5, out_bytes);
            job.out = got;
            CHECK_OK(stk_render(f.ctx[k], &job, NULL, &error));
            if (equal_rows(&job, want, got)) continue;
            CHECK(false && "family differs from scalar");
            fprintf(stderr, "case %d %s: %ux%ux%u orientation %u box %d,%d %dx%d -> %ux%u filter %d\n", i,
                    f.name[k], job.width, job.height, job.channels, job.orientation, job.box.x, job.box.y,
                    job.box.width, job.box.height, job.full_width, job.full_height, (int)job.filter);
        }
        free(data);
        free(want);
        free(got);
    }
}

/* The bytes between rows belong to someone else. */
static void padding_is_left_alone(void)
{
    static uint8_t data[50 * 50 * 3], out[60 * 200];
    stk_error error;
    for (int k = 0; k < f.n; k++) {
        for (uint32_t width = 1; width <= 50; width++) {
            for (int variant = 0; variant < 8; variant++) {
                stk_render_job job = {.data = data,
                                      .n_bytes = sizeof data,
                                      .encoding = STK_ENCODING_RAW,
                                      .width = 50,
                                      .height = 50,
                                      .channels = 3,
                                      .orientation = variant & 1 ? 6 : 1,
                                      .box = {0, 0, 50, 50},
                                      .full_width = variant & 2 ? 50 : 57,
                                      .full_height = variant & 2 ? 50 : 57,
                                      .out_width = width,
                                      .out_height = 50,
                                      .flip = (variant & 4) != 0,
                                      .out_channels = 3,
                                      .out = out,
                                      .out_stride = 200};
                memset(out, 0xa5, sizeof out);
                CHECK_OK(stk_render(f.ctx[k], &job, NULL, &error));
                int touched = 0;
                for (uint32_t y = 0; y < 50; y++)
                    for (uint32_t x = 3 * width; x < 200; x++) touched += out[200 * y + x] != 0xa5;
                CHECK_EQ(touched, 0);
            }
        }
    }
}

static void wrong_jobs(void)
{
    static uint8_t data[12], out[300];
    stk_error error;
    stk_render_job good = {.data = data, .n_bytes = 12, .encoding = STK_ENCODING_RAW, .width = 2, .height = 2,
                           .channels = 3, .orientation = 1, .box = {0, 0, 2, 2}, .full_width = 2, .full_height = 2,
                           .out_width = 2, .out_height = 2, .out_channels = 3, .out = out, .out_stride = 6}, job;
    for (int k = 0; k < f.n; k++) {
        CHECK_OK(stk_render(f.ctx[k], &good, NULL, &error));
        job = good, job.box.width = 3;
        CHECK_STATUS(stk_render(f.ctx[k], &job, NULL, &error), STK_ERR_ARGUMENT);
        job = good, job.box.y = -1;
        CHECK_STATUS(stk_render(f.ctx[k], &job, NULL, &error), STK_ERR_ARGUMENT);
        job = good, job.full_width = 0;
        CHECK_STATUS(stk_render(f.ctx[k], &job, NULL, &error), STK_ERR_ARGUMENT);
        job = good, job.out_channels = 4;
        CHECK_STATUS(stk_render(f.ctx[k], &job, NULL, &error), STK_ERR_ARGUMENT);
        job = good, job.n_bytes = 11;
        CHECK_STATUS(stk_render(f.ctx[k], &job, NULL, &error), STK_ERR_CORRUPT);
        job = good, job.encoding = STK_ENCODING_ARRAY;
        CHECK_STATUS(stk_render(f.ctx[k], &job, NULL, &error), STK_ERR_UNSUPPORTED);
        /* A window that misses the picture is all fill, whatever the record. */
        job = good, job.window_x = 2, job.fill[0] = 7, job.encoding = STK_ENCODING_ARRAY;
        CHECK_OK(stk_render(f.ctx[k], &job, NULL, &error));
        CHECK_EQ(out[0], 7);
    }
}

int main(void)
{
    f = families_open();
    RUN(families_equal);
    RUN(padding_is_left_alone);
    RUN(wrong_jobs);
    families_close(&f);
    return check_exit();
}
