/* SPDX-License-Identifier: Apache-2.0
 *
 * From JPEG planes to pixels: the colour and upsampling kernels' arithmetic, and every kernel family against the
 * scalar reference for all samplings, sizes from 1 x 1 on and crops at every edge. The planes are allocated with
 * exactly the padding that planes.h promises, so that a sanitizer sees any byte too far. */
#include "codec/planes.h"

#include "codec/color.h"
#include "codec/kernels.h"
#include "codec/render_plan.h"
#include "codec/tail.h"
#include "codec/upsample.h"
#include "common/rng.h"
#include "support/check.h"
#include "support/families.h"

static families f;

static uint32_t draw(stk_rng *rng, uint32_t low, uint32_t high)
{
    return low + (uint32_t)stk_rng_below(rng, high - low + 1);
}

/* The vector families' vpmulhrsw and byte-digit forms of libjpeg's tables, for every input. */
static void color_identities(void)
{
    for (int c = -128; c < 128; c++) {
        CHECK_EQ((2 * c * 22970 + 16384) >> 15, (91881 * c + 32768) >> 16);
        CHECK_EQ((2 * c * 29033 + 16384) >> 15, (116130 * c + 32768) >> 16);
    }
    int bad = 0;
    for (int b = -128; b < 128; b++) {
        for (int r = -128; r < 128; r++) {
            int low = 13 * b + 105 * r, high = 44 * b + 91 * r, green = high + ((low + 255) >> 8);
            bad += ((64 - green) >> 7) != ((-22554 * b - 46802 * r + 32768) >> 16);
        }
    }
    CHECK_EQ(bad, 0);
}

/* The kernels themselves, for all 2^24 triples. */
static void color_kernels(void)
{
    static uint8_t y[256 + 128], cb[256 + 128], cr[256 + 128], lines[3 * 320], want[768];
    for (int i = 0; i < 256; i++) y[i] = (uint8_t)i;
    for (int k = 0; k < f.n; k++) {
        const stk_tail_ops *ops = stk_codec_kernels(f.ctx[k])->tail;
        if (ops == NULL) continue;
        int bad = 0;
        for (int b = 0; b < 256; b++) {
            for (int r = 0; r < 256; r++) {
                memset(cb, b, sizeof cb);
                memset(cr, r, sizeof cr);
                stk_ycc_row row = {.y = y, .cb_near = cb, .cb_far = cb, .cr_near = cr, .cr_far = cr};
                ops->ycc_row(&row, STK_UPSAMPLE_NONE, 256, lines, 320);
                stk_ycc_to_rgb_row(y, cb, cr, 256, want);
                for (int i = 0; i < 768; i++) bad += lines[i % 3 * 320 + i / 3] != want[i];
            }
        }
        CHECK_EQ(bad, 0);
    }
}

typedef struct sampling {
    uint8_t h[3], v[3];
} sampling;

static const sampling SAMPLINGS[] = {
    {{1}, {1}},             {{1, 1, 1}, {1, 1, 1}}, {{2, 1, 1}, {1, 1, 1}}, {{2, 1, 1}, {2, 1, 1}},
    {{1, 1, 1}, {2, 1, 1}}, {{4, 1, 1}, {1, 1, 1}}, {{4, 1, 1}, {2, 1, 1}}, {{1, 1, 1}, {4, 1, 1}},
    {{4, 2, 2}, {1, 1, 1}}, {{2, 2, 1}, {2, 1, 2}}, {{1, 2, 2}, {1, 2, 2}}, {{3, 1, 1}, {1, 1, 1}},
    {{2, 2, 2}, {2, 1, 1}}, {{2, 1, 2}, {1, 1, 1}}, {{4, 4, 2}, {4, 2, 2}}, {{2}, {2}}};
enum { N_SAMPLINGS = sizeof SAMPLINGS / sizeof SAMPLINGS[0] };

/* Planes of whole MCUs that hold `part`, filled at random; free memory[]. */
static void make_planes(stk_rng *rng, const sampling *s, uint32_t width, uint32_t height, stk_box part,
                        stk_planes *p, uint8_t *memory[3])
{
    *p = (stk_planes){.n_components = s->h[1] == 0 ? 1 : 3, .image_width = width, .image_height = height};
    for (uint32_t c = 0; c < p->n_components; c++) {
        p->h_factor[c] = s->h[c];
        p->v_factor[c] = s->v[c];
        if (s->h[c] > p->h_max) p->h_max = s->h[c];
        if (s->v[c] > p->v_max) p->v_max = s->v[c];
    }
    /* MCUs that touch the part and one pixel more on each side. */
    uint32_t mw = 8u * p->h_max, mh = 8u * p->v_max, x0 = (uint32_t)part.x, y0 = (uint32_t)part.y;
    uint32_t x1 = x0 + (uint32_t)part.width, y1 = y0 + (uint32_t)part.height;
    x0 = (x0 > 0 ? x0 - 1 : 0) / mw, y0 = (y0 > 0 ? y0 - 1 : 0) / mh;
    x1 = ((x1 < width ? x1 + 1 : width) + mw - 1) / mw, y1 = ((y1 < height ? y1 + 1 : height) + mh - 1) / mh;
    for (uint32_t c = 0; c < p->n_components; c++) {
        p->x0[c] = x0 * 8 * s->h[c], p->width[c] = (x1 - x0) * 8 * s->h[c];
        p->y0[c] = y0 * 8 * s->v[c], p->height[c] = (y1 - y0) * 8 * s->v[c];
        p->stride[c] = p->width[c] + 64;
        size_t n = 64 + p->stride[c] * p->height[c];
        memory[c] = malloc(n);
        bool smooth = stk_rng_below(rng, 3) == 0;
        for (size_t i = 0; i < n; i++)
            memory[c][i] = smooth ? (uint8_t)(i / 3) : (uint8_t)(stk_rng_u64(rng) >> 20);
        p->data[c] = memory[c] + 64;
    }
}

static stk_render_job random_job(stk_rng *rng, uint32_t width, uint32_t height, uint32_t channels)
{
    stk_render_job job = {.encoding = STK_ENCODING_TILES, .width = width, .height = height,
                          .channels = (uint8_t)channels, .orientation = (uint8_t)draw(rng, 1, 8),
                          .filter = (stk_filter)stk_rng_below(rng, 6), .pixels = (stk_pixels)stk_rng_below(rng, 2),
                          .flip = stk_rng_below(rng, 2), .color = (stk_color)stk_rng_below(rng, 2),
                          .out_channels = stk_rng_below(rng, 4) == 0 ? 1 : 3};
    if (job.orientation >= 5) job.width = height, job.height = width;
    uint32_t w = draw(rng, 1, job.width), h = draw(rng, 1, job.height);
    if (stk_rng_below(rng, 3) == 0) w = job.width, h = job.height;
    uint32_t room_x = job.width - w, room_y = job.height - h;
    job.box =
        (stk_box){(int32_t)(stk_rng_below(rng, 3) == 0 ? room_x : draw(rng, 0, room_x)),
                  (int32_t)(stk_rng_below(rng, 3) == 0 ? room_y : draw(rng, 0, room_y)), (int32_t)w, (int32_t)h};
    job.full_width = stk_rng_below(rng, 3) == 0 ? w : draw(rng, 1, 90);
    job.full_height = stk_rng_below(rng, 3) == 0 ? h : draw(rng, 1, 90);
    job.out_width = draw(rng, 1, job.full_width);
    job.out_height = draw(rng, 1, job.full_height);
    job.window_x = (int32_t)draw(rng, 0, job.full_width - job.out_width);
    job.window_y = (int32_t)draw(rng, 0, job.full_height - job.out_height);
    job.out_stride = (size_t)job.out_width * job.out_channels;
    return job;
}

static void one_case(stk_rng *rng, const sampling *s, uint32_t width, uint32_t height)
{
    stk_error error;
    stk_render_job job = random_job(rng, width, height, s->h[1] == 0 ? 1 : 3);
    stk_render_plan plan;
    stk_render_plan_make(&job, &plan);
    stk_planes planes;
    uint8_t *memory[3] = {NULL, NULL, NULL};
    make_planes(rng, s, width, height, plan.part, &planes, memory);
    size_t n = job.out_stride * job.out_height;
    uint8_t *want = malloc(n), *got = malloc(n);
    job.out = want;
    CHECK_OK(stk_planes_render(f.ctx[0], &planes, &job, &error));
    for (int k = 1; k < f.n; k++) {
        memset(got, 0xa5, n);
        job.out = got;
        CHECK_OK(stk_planes_render(f.ctx[k], &planes, &job, &error));
        if (memcmp(want, got, n) == 0) continue;
        CHECK(false && "family differs from scalar");
        fprintf(stderr, "%s: %ux%u, sampling %ux%u,%ux%u,%ux%u, box %d,%d %dx%d orientation %u\n", f.name[k],
                width, height, s->h[0], s->v[0], s->h[1], s->v[1], s->h[2], s->v[2], job.box.x, job.box.y,
                job.box.width, job.box.height, job.orientation);
    }
    free(want);
    free(got);
    for (int c = 0; c < 3; c++) free(memory[c]);
}

static void families_equal(void)
{
    stk_rng rng = stk_rng_for(12, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    for (size_t s = 0; s < N_SAMPLINGS; s++) {
        for (uint32_t size = 1; size <= 40; size++) {
            one_case(&rng, &SAMPLINGS[s], size, draw(&rng, 1, 40));
            one_case(&rng, &SAMPLINGS[s], draw(&rng, 1, 40), size);
            one_case(&rng, &SAMPLINGS[s], size, size);
        }
        for (int i = 0; i < 30; i++) one_case(&rng, &SAMPLINGS[s], draw(&rng, 1, 400), draw(&rng, 1, 400));
    }
}

/* libjpeg-turbo's triangle filter on numbers small enough to check by hand: 4 wide chroma of one row 0 40 80 120.
 */
static void fancy_by_hand(void)
{
    static uint8_t luma[64 + 8 * 72], chroma[2][64 + 8 * 72];
    uint8_t row[8];
    static const uint8_t wide[8] = {0, 10, 30, 50, 70, 90, 110, 120};
    stk_planes p = {.n_components = 3, .h_factor = {2, 1, 1}, .v_factor = {1, 1, 1}, .h_max = 2, .v_max = 1,
                    .image_width = 8, .image_height = 1};
    for (int c = 0; c < 3; c++) {
        p.data[c] = (c == 0 ? luma : chroma[c - 1]) + 64;
        p.stride[c] = 72;
        p.width[c] = 8;
        p.height[c] = 8;
    }
    for (int i = 0; i < 8; i++) p.data[1][i] = (uint8_t)(40 * i); /* beyond 3: block padding, not to be used */
    stk_upsample_row(&p, 1, 0, 0, 8, row);
    CHECK(memcmp(row, wide, 8) == 0);
    /* Two columns of chroma or less: repeated. */
    p.image_width = 4;
    stk_upsample_row(&p, 1, 0, 0, 4, row);
    CHECK(row[0] == 0 && row[1] == 0 && row[2] == 40 && row[3] == 40);
}

static void refusals(void)
{
    stk_rng rng = stk_rng_for(13, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    uint8_t *memory[3];
    stk_planes p;
    stk_image image;
    stk_error error;
    make_planes(&rng, &SAMPLINGS[3], 40, 40, (stk_box){20, 20, 4, 4}, &p, memory);
    CHECK_OK(stk_planes_to_image(f.ctx[0], &p, (stk_box){20, 20, 4, 4}, &image, &error));
    CHECK_STATUS(stk_planes_to_image(f.ctx[0], &p, (stk_box){0, 20, 4, 4}, &image, &error), STK_ERR_INTERNAL);
    CHECK_STATUS(stk_planes_to_image(f.ctx[0], &p, (stk_box){20, 20, 40, 4}, &image, &error), STK_ERR_CORRUPT);
    p.h_factor[1] = 0;
    CHECK_STATUS(stk_planes_to_image(f.ctx[0], &p, (stk_box){20, 20, 4, 4}, &image, &error), STK_ERR_UNSUPPORTED);
    for (int c = 0; c < 3; c++) free(memory[c]);
}

int main(void)
{
    f = families_open();
    RUN(color_identities);
    RUN(color_kernels);
    RUN(fancy_by_hand);
    RUN(families_equal);
    RUN(refusals);
    families_close(&f);
    return check_exit();
}
