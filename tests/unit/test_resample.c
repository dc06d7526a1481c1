/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/resample.h"

#include <math.h>

#include "codec/tail.h"
#include "codec/vector_axis.h"
#include "common/hash.h"
#include "common/rng.h"
#include "support/check.h"
#include "support/families.h"

static const stk_filter FILTERS[] = {STK_FILTER_BILINEAR, STK_FILTER_BICUBIC, STK_FILTER_BOX,
                                     STK_FILTER_HAMMING, STK_FILTER_LANCZOS, STK_FILTER_NEAREST};
enum { N_FILTERS = sizeof FILTERS / sizeof FILTERS[0] };

static uint32_t draw(stk_rng *rng, uint32_t low, uint32_t high)
{
    return low + (uint32_t)stk_rng_below(rng, high - low + 1);
}

/* Pillow's filters with libm's sine, which may differ from ours in the last bit of a double; 22-bit coefficients
 * do not. */
static double plain_sinc(double x)
{
    return x == 0.0 ? 1.0 : sin(x * 3.14159265358979323846) / (x * 3.14159265358979323846);
}

static double plain_filter(stk_filter filter, double x)
{
    double a = fabs(x), p = a * 3.14159265358979323846;
    if (filter == STK_FILTER_LANCZOS) return x >= -3.0 && x < 3.0 ? plain_sinc(x) * plain_sinc(x / 3) : 0.0;
    return a == 0.0 ? 1.0 : a >= 1.0 ? 0.0 : sin(p) / p * ((double)0.54f + (double)0.46f * cos(p));
}

static int compare_with_libm(uint32_t in, uint32_t out, stk_filter filter)
{
    void *memory = malloc(stk_axis_bytes(in, out, out, filter));
    stk_axis axis;
    stk_axis_compute(&axis, memory, in, out, 0, out, filter);
    double scale = (double)in / out, fs = scale < 1 ? 1 : scale, inverse = 1.0 / fs;
    int bad = 0;
    for (uint32_t i = 0; i < out; i++) {
        double w[4096], sum = 0, center = (i + 0.5) * scale;
        for (int32_t k = 0; k < axis.count[i]; k++)
            sum += w[k] = plain_filter(filter, (k + axis.start[i] - center + 0.5) * inverse);
        for (int32_t k = 0; k < axis.count[i]; k++) {
            double v = w[k] / sum * (1 << 22);
            bad += axis.weights[(size_t)i * axis.n_taps + (size_t)k] != (int32_t)(v < 0 ? v - 0.5 : v + 0.5);
        }
    }
    free(memory);
    return bad;
}

static void sine_filters_as_with_libm(void)
{
    stk_rng rng = stk_rng_for(3, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    for (int i = 0; i < 400; i++) {
        uint32_t in = draw(&rng, 1, 1500), out = draw(&rng, 1, 400);
        if (in > 600 * out) continue;
        CHECK_EQ(compare_with_libm(in, out, STK_FILTER_LANCZOS), 0);
        CHECK_EQ(compare_with_libm(in, out, STK_FILTER_HAMMING), 0);
    }
}

/* All outputs at once and a part of them give the same rows; spans are what the rows use. */
static void windows_and_spans(void)
{
    stk_rng rng = stk_rng_for(4, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    for (int i = 0; i < 600; i++) {
        uint32_t in = draw(&rng, 1, 700), out = draw(&rng, 1, 300), first = draw(&rng, 0, out - 1),
                 n = draw(&rng, 1, out - first), low, high;
        stk_filter filter = FILTERS[i % N_FILTERS];
        void *m1 = malloc(stk_axis_bytes(in, out, out, filter)), *m2 = malloc(stk_axis_bytes(in, out, n, filter));
        stk_axis all, part;
        stk_axis_compute(&all, m1, in, out, 0, out, filter);
        stk_axis_compute(&part, m2, in, out, first, n, filter);
        stk_axis_span(in, out, first, n, filter, &low, &high);
        int bad = 0;
        for (uint32_t o = 0; o < n; o++) {
            bad += all.start[first + o] != part.start[o] || all.count[first + o] != part.count[o];
            bad += memcmp(all.weights + (size_t)(first + o) * all.n_taps, part.weights + (size_t)o * part.n_taps,
                          part.n_taps * sizeof(int32_t)) != 0;
            if (in == out) continue;
            bad += part.start[o] < (int32_t)low || part.start[o] + part.count[o] > (int32_t)high;
            if (o > 0) bad += part.start[o] < part.start[o - 1];
        }
        if (in != out && filter != STK_FILTER_NEAREST)
            bad += part.start[0] != (int32_t)low || part.start[n - 1] + part.count[n - 1] != (int32_t)high;
        if (high > in || low >= high) bad++;
        CHECK_EQ(bad, 0);
        free(m1);
        free(m2);
    }
}

/* Rows of weights sum to one, give or take the rounding of each tap. */
static void weights_sum_to_one(void)
{
    for (uint32_t in = 1; in < 700; in += 13) {
        for (int f = 0; f < N_FILTERS; f++) {
            void *memory = malloc(stk_axis_bytes(in, 224, 224, FILTERS[f]));
            stk_axis axis;
            stk_axis_compute(&axis, memory, in, 224, 0, 224, FILTERS[f]);
            for (uint32_t o = 0; o < 224; o++) {
                int64_t sum = 0;
                for (uint32_t k = 0; k < axis.n_taps; k++) sum += axis.weights[o * axis.n_taps + k];
                CHECK(llabs(sum - (1 << 22)) <= axis.count[o]);
            }
            free(memory);
        }
    }
}

static void pass_order(void)
{
    /* in_w, in_h, out_w, out_h; pillow13, pillow12 */
    static const uint32_t cases[][6] = {
        {224, 224, 224, 224, 0, 0}, {300, 500, 224, 224, 1, 0}, {300, 376, 224, 224, 0, 0},
        {300, 377, 224, 224, 1, 0}, {100, 300, 224, 224, 1, 0}, {100, 200, 224, 224, 0, 0},
        {4, 409, 224, 224, 1, 1},   {4, 400, 224, 224, 1, 0},   {4, 409, 224, 409, 0, 0},
        {1, 101, 5, 100, 1, 1},     {500, 225, 500, 224, 1, 0}, {500, 300, 100, 224, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint32_t *c = cases[i];
        CHECK_EQ(stk_vertical_first(STK_PIXELS_PILLOW13, c[0], c[1], c[2], c[3]), c[4]);
        CHECK_EQ(stk_vertical_first(STK_PIXELS_PILLOW12, c[0], c[1], c[2], c[3]), c[5]);
    }
}

/* 10^6 and more coefficients of every filter: any machine or compiler that rounds one differently gives other
 * pixels. */
static void golden(void)
{
    stk_hasher *hasher = stk_hasher_open();
    uint64_t n = 0;
    for (uint32_t in = 1; in <= 1500; in += 1 + in / 40) {
        for (int f = 0; f < N_FILTERS; f++) {
            void *memory = malloc(stk_axis_bytes(in, 224, 224, FILTERS[f]));
            stk_axis axis;
            stk_axis_compute(&axis, memory, in, 224, 0, 224, FILTERS[f]);
            stk_hasher_add(hasher, axis.start, 224 * sizeof(int32_t));
            stk_hasher_add(hasher, axis.count, 224 * sizeof(int32_t));
            stk_hasher_add(hasher, axis.weights, 224 * axis.n_taps * sizeof(int32_t));
            n += 224 * axis.n_taps;
            free(memory);
        }
    }
    CHECK(n > 1000000);
    uint64_t hash = stk_hasher_result64(hasher);
    CHECK(hash == 0x1fe06625c8b5987au);
    stk_hasher_close(&hasher);
}

/* A vector family's axis, output by output, against the scalar one; mirrored, the other way round. */
static int compare_axis(const stk_vector_axis *v, const stk_axis_request *r, const stk_axis *s)
{
    int bad = 0;
    for (uint32_t i = 0; i < r->n_out; i++) {
        uint32_t o = r->mirror ? r->n_out - 1 - i : i, n = (uint32_t)s->count[o];
        int32_t start = r->mirror ? (int32_t)(r->origin + r->n_in) - s->start[o] - s->count[o]
                                  : s->start[o] - (int32_t)r->origin;
        bad += v->start[i] != start || v->count[i] != s->count[o];
        for (uint32_t k = 0; k < v->n_rows; k++) {
            int32_t want = k >= n ? 0 : s->weights[(size_t)o * s->n_taps + (r->mirror ? n - 1 - k : k)];
            bad += v->weights[(size_t)k * v->pitch + i] != want;
        }
    }
    return bad;
}

static void vector_axes(void)
{
    stk_rng rng = stk_rng_for(7, 0, 0, 0, 0, STK_PURPOSE_AUGMENT);
    families f = families_open();
    for (int i = 0; i < 1500; i++) {
        stk_axis_request r = {.in_size = draw(&rng, 1, 900), .out_size = draw(&rng, 1, 300),
                              .filter = FILTERS[i % N_FILTERS], .mirror = stk_rng_below(&rng, 2)};
        uint32_t low, high;
        r.first = draw(&rng, 0, r.out_size - 1);
        r.n_out = draw(&rng, 1, r.out_size - r.first);
        stk_axis_span(r.in_size, r.out_size, r.first, r.n_out, r.filter, &low, &high);
        r.origin = low;
        r.n_in = high - low;
        if (r.in_size == r.out_size) continue;
        void *m = malloc(stk_axis_bytes(r.in_size, r.out_size, r.n_out, r.filter));
        uint8_t *memory = aligned_alloc(64, (stk_vector_axis_bytes(&r) + 63) & ~(size_t)63);
        stk_axis scalar;
        stk_axis_compute(&scalar, m, r.in_size, r.out_size, r.first, r.n_out, r.filter);
        for (int k = 0; k < f.n; k++) {
            const stk_tail_ops *ops = stk_codec_kernels(f.ctx[k])->tail;
            if (ops == NULL) continue;
            stk_vector_axis axis;
            stk_vector_axis_place(&axis, &r, memory);
            ops->prepare_axis(&axis, &r);
            CHECK_EQ(compare_axis(&axis, &r, &scalar), 0);
        }
        free(m);
        free(memory);
    }
    families_close(&f);
}

/* A picture whose every row (or column) is one colour keeps it: catches rows or columns that mix. */
static void families_keep_constants(void)
{
    families f = families_open();
    uint8_t *in = malloc(300 * 40 * 3), *out = malloc(224 * 30 * 3);
    for (int y = 0; y < 40; y++)
        for (int i = 0; i < 900; i++) in[900 * y + i] = (uint8_t)(40 + i % 3 * 50);
    for (int k = 0; k < f.n; k++) {
        for (int filter = 0; filter < N_FILTERS; filter++) {
            stk_image image = {.pixels = in, .stride = 900, .width = 300, .height = 40, .channels = 3};
            stk_error error;
            memset(out, 0, 224 * 30 * 3);
            CHECK_OK(stk_resample(f.ctx[k], &image, 224, 30, FILTERS[filter], STK_PIXELS_PILLOW13, 0, 0, 224, 30,
                                  out, 672, &error));
            int bad = 0;
            for (int i = 0; i < 224 * 30 * 3; i++) bad += out[i] != 40 + i % 3 * 50;
            CHECK_EQ(bad, 0);
        }
    }
    free(in);
    free(out);
    families_close(&f);
}

int main(void)
{
    RUN(sine_filters_as_with_libm);
    RUN(windows_and_spans);
    RUN(weights_sum_to_one);
    RUN(pass_order);
    RUN(golden);
    RUN(vector_axes);
    RUN(families_keep_constants);
    return check_exit();
}
