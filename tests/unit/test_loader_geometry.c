/* SPDX-License-Identifier: Apache-2.0
 *
 * Crops and windows against torchvision's rules, written down here a second time from its Python text. */
#include "reader/geometry.h"

#include <math.h>

#include "common/rng.h"
#include "support/check.h"

static stk_error error;

static stk_geometry_rule rule_of(const stk_transform *t, uint64_t seed)
{
    stk_geometry_rule rule;
    CHECK_OK(stk_geometry_rule_init(&rule, t, seed, &error));
    return rule;
}

static stk_geometry geometry(const stk_geometry_rule *rule, uint64_t id, uint32_t view, uint32_t w, uint32_t h)
{
    stk_geometry g = {0};
    CHECK_OK(stk_geometry_for(rule, 4, id, 0, view, w, h, &g, &error));
    return g;
}

/* RandomResizedCrop.get_params with libm's functions and the same random numbers. */
static stk_box reference_crop(const stk_transform *t, uint64_t seed, uint64_t id, uint32_t width, uint32_t height)
{
    stk_rng rng = stk_rng_for(seed, 4, id, 0, 0, STK_PURPOSE_CROP);
    double area = (double)height * width;
    for (int k = 0; k < 10; k++) {
        double target_area = area * (t->scale_min + (t->scale_max - t->scale_min) * stk_rng_double(&rng));
        double low = log(t->ratio_min), high = log(t->ratio_max);
        double aspect_ratio = exp(low + (high - low) * stk_rng_double(&rng));
        long w = lrint(sqrt(target_area * aspect_ratio)), h = lrint(sqrt(target_area / aspect_ratio));
        if (0 < w && w <= (long)width && 0 < h && h <= (long)height) {
            long i = (long)stk_rng_below(&rng, (uint64_t)((long)height - h + 1));
            long j = (long)stk_rng_below(&rng, (uint64_t)((long)width - w + 1));
            return (stk_box){(int32_t)j, (int32_t)i, (int32_t)w, (int32_t)h};
        }
    }
    double in_ratio = (double)width / height;
    long w = width, h = height;
    if (in_ratio < t->ratio_min)
        h = lrint((double)w / t->ratio_min);
    else if (in_ratio > t->ratio_max)
        w = lrint((double)h * t->ratio_max);
    return (stk_box){(int32_t)(((long)width - w) / 2), (int32_t)(((long)height - h) / 2), (int32_t)w, (int32_t)h};
}

/* A million crops: libm may differ in its last bit, which moves a rounding once in a great while. */
static void random_resized_crop(void)
{
    stk_transform t;
    stk_transform_init(&t, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    stk_geometry_rule rule = rule_of(&t, 9);
    uint64_t hash = 0, differ = 0, flips = 0, n_ordinary = 0;
    double area = 0;
    for (uint64_t id = 0; id < 1000000; id++) {
        uint32_t w = 1 + (uint32_t)(id * 7919 % 800), h = 1 + (uint32_t)(id * 104729 % 600);
        stk_geometry g;
        CHECK_OK(stk_geometry_for(&rule, 4, id, 0, 0, w, h, &g, &error));
        stk_box b = g.box, want = reference_crop(&t, 9, id, w, h);
        CHECK(b.x >= 0 && b.y >= 0 && b.width >= 1 && b.height >= 1);
        CHECK(b.x + b.width <= (int32_t)w && b.y + b.height <= (int32_t)h);
        differ += memcmp(&b, &want, sizeof b) != 0;
        flips += g.flip;
        bool ordinary = 3 * w <= 4 * h && 3 * h <= 4 * w; /* long thin pictures mostly get the fallback */
        n_ordinary += ordinary;
        if (ordinary) area += (double)b.width * b.height / ((double)w * h);
        hash = hash * 6364136223846793005u + (uint64_t)b.x;
        hash = hash * 6364136223846793005u + (uint64_t)b.y;
        hash = hash * 6364136223846793005u + (uint64_t)b.width;
        hash = hash * 6364136223846793005u + (uint64_t)b.height * 2 + g.flip;
    }
    CHECK(differ <= 10);
    CHECK(flips > 498000 && flips < 502000);
    CHECK(area > 0.45 * (double)n_ordinary && area < 0.56 * (double)n_ordinary);
    /* The pixel contract: the same crops on every machine, for ever. */
    if (hash != 7802304215388513810u) fprintf(stderr, "crops: hash %llu\n", (unsigned long long)hash);
    CHECK(hash == 7802304215388513810u);
}

static void fallback(void)
{
    stk_transform t;
    stk_transform_init(&t, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    t.scale_min = t.scale_max = 1; /* no try fits a picture this long */
    stk_geometry_rule rule = rule_of(&t, 0);
    stk_geometry g = geometry(&rule, 1, 0, 1000, 100);
    CHECK_EQ(g.box.height, 100);
    CHECK_EQ(g.box.width, 133);
    CHECK_EQ(g.box.x, 433);
    CHECK_EQ(g.box.y, 0);
    g = geometry(&rule, 1, 0, 100, 1001);
    CHECK_EQ(g.box.width, 100);
    CHECK_EQ(g.box.height, 133);
    CHECK_EQ(g.box.y, 434);
    g = geometry(&rule, 1, 0, 1, 1);
    CHECK_EQ(g.box.width, 1);
}

static void views_and_occurrences_differ(void)
{
    stk_transform t;
    stk_transform_init(&t, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    stk_geometry_rule rule = rule_of(&t, 3), other = rule_of(&t, 4);
    int same = 0;
    for (uint64_t id = 0; id < 200; id++) {
        stk_geometry a = geometry(&rule, id, 0, 500, 400), b = geometry(&rule, id, 1, 500, 400), c, d;
        CHECK_OK(stk_geometry_for(&rule, 4, id, 1, 0, 500, 400, &c, &error));
        CHECK_OK(stk_geometry_for(&rule, 5, id, 0, 0, 500, 400, &d, &error));
        stk_geometry e = geometry(&other, id, 0, 500, 400), again = geometry(&rule, id, 0, 500, 400);
        CHECK(memcmp(&a.box, &again.box, sizeof a.box) == 0 && a.flip == again.flip);
        same += !memcmp(&a.box, &b.box, sizeof a.box) + !memcmp(&a.box, &c.box, sizeof a.box) +
                !memcmp(&a.box, &d.box, sizeof a.box) + !memcmp(&a.box, &e.box, sizeof a.box);
    }
    CHECK_EQ(same, 0);
}

/* Python: new_long = int(size * long / short); crop_top = int(round((height - crop) / 2.0)); smaller ones padded
 * by (crop - size) // 2 on the left and top. */
static void resize_and_centre(void)
{
    stk_transform t;
    stk_transform_init(&t, STK_TRANSFORM_RESIZE_CENTER_CROP);
    stk_geometry_rule rule = rule_of(&t, 0);
    static const struct {
        uint32_t w, h, full_w, full_h;
        int32_t x, y;
    } cases[] = {
        {500, 375, 341, 256, 58, 16}, {375, 500, 256, 341, 16, 58}, {256, 256, 256, 256, 16, 16},
        {257, 256, 257, 256, 16, 16}, {259, 256, 259, 256, 18, 16}, {1, 1, 256, 256, 16, 16},
        {100, 33, 775, 256, 276, 16},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        stk_geometry g = geometry(&rule, 0, 0, cases[k].w, cases[k].h);
        CHECK_EQ(g.full_width, cases[k].full_w);
        CHECK_EQ(g.full_height, cases[k].full_h);
        CHECK_EQ(g.window_x, cases[k].x);
        CHECK_EQ(g.window_y, cases[k].y);
        CHECK_EQ(g.box.width, cases[k].w);
        CHECK_EQ(g.box.height, cases[k].h);
        CHECK(!g.flip);
    }
    t.resize_short = 101; /* smaller than the crop of 224: padded */
    rule = rule_of(&t, 0);
    stk_geometry g = geometry(&rule, 0, 0, 300, 100);
    CHECK_EQ(g.full_height, 101);
    CHECK_EQ(g.full_width, 303);
    CHECK_EQ(g.window_y, -61);
    CHECK_EQ(g.window_x, 40); /* 39.5 to even */
    t.resize_short = 1 << 20;
    rule = rule_of(&t, 0);
    CHECK_STATUS(stk_geometry_for(&rule, 0, 0, 0, 0, 1 << 15, 1, &g, &error), STK_ERR_LIMIT);
}

static void pad_and_crop(void)
{
    stk_transform t;
    stk_transform_init(&t, STK_TRANSFORM_PAD_CROP);
    t.out_width = t.out_height = 32;
    stk_geometry_rule rule = rule_of(&t, 0);
    uint32_t seen_x[9] = {0}, seen_y[9] = {0};
    for (uint64_t id = 0; id < 9000; id++) {
        stk_geometry g = geometry(&rule, id, 0, 32, 32);
        CHECK(g.window_x >= -4 && g.window_x <= 4 && g.window_y >= -4 && g.window_y <= 4);
        CHECK_EQ(g.full_width, 32);
        seen_x[g.window_x + 4]++;
        seen_y[g.window_y + 4]++;
    }
    for (int k = 0; k < 9; k++) CHECK(seen_x[k] > 800 && seen_x[k] < 1200 && seen_y[k] > 800 && seen_y[k] < 1200);
    t.pad = 0;
    rule = rule_of(&t, 0);
    stk_geometry g = geometry(&rule, 5, 0, 32, 32);
    CHECK_EQ(g.window_x, 0);
    CHECK_EQ(g.window_y, 0);
    CHECK_STATUS(stk_geometry_for(&rule, 0, 0, 0, 0, 31, 32, &g, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "31x32") != NULL);
}

static void record_box(void *user, uint64_t epoch, uint64_t id, uint32_t occurrence, uint32_t w, uint32_t h,
                       stk_box *box, bool *flip)
{
    (void)epoch, (void)occurrence;
    *box = (stk_box){(int32_t)id, 1, (int32_t)(w - id), (int32_t)h - *(int *)user};
    *flip = true;
}

static void boxes(void)
{
    static const stk_box given[] = {{0, 0, 10, 10}, {5, 5, 5, 5}, {5, 5, 6, 5}, {-1, 0, 5, 5}, {0, 0, 0, 1}};
    stk_transform t;
    stk_transform_init(&t, STK_TRANSFORM_BOXES);
    stk_geometry_rule rule;
    CHECK_STATUS(stk_geometry_rule_init(&rule, &t, 0, &error), STK_ERR_ARGUMENT);
    t.boxes = given;
    rule = rule_of(&t, 0);
    stk_geometry g = geometry(&rule, 1, 0, 10, 10);
    CHECK(memcmp(&g.box, &given[1], sizeof g.box) == 0);
    for (uint64_t id = 2; id < 5; id++)
        CHECK_STATUS(stk_geometry_for(&rule, 0, id, 0, 0, 10, 10, &g, &error), STK_ERR_ARGUMENT);
    t.boxes = NULL;
    t.box_fn = record_box;
    int shorter = 1;
    t.box_user = &shorter;
    rule = rule_of(&t, 0);
    g = geometry(&rule, 3, 0, 10, 10);
    CHECK_EQ(g.box.x, 3);
    CHECK_EQ(g.box.width, 7);
    CHECK_EQ(g.box.height, 9);
    CHECK(g.flip);
}

static void refusals(void)
{
    stk_geometry_rule rule;
    stk_transform t;
    stk_transform_init(&t, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    t.scale_min = 0;
    CHECK_STATUS(stk_geometry_rule_init(&rule, &t, 0, &error), STK_ERR_ARGUMENT);
    stk_transform_init(&t, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    t.ratio_max = 0.5;
    CHECK_STATUS(stk_geometry_rule_init(&rule, &t, 0, &error), STK_ERR_ARGUMENT);
    stk_transform_init(&t, STK_TRANSFORM_RESIZE);
    t.out_width = 0;
    CHECK_STATUS(stk_geometry_rule_init(&rule, &t, 0, &error), STK_ERR_ARGUMENT);
    stk_transform_init(&t, STK_TRANSFORM_RESIZE);
    t.flip_probability = NAN;
    CHECK_STATUS(stk_geometry_rule_init(&rule, &t, 0, &error), STK_ERR_ARGUMENT);
    stk_transform_init(&t, STK_TRANSFORM_RESIZE);
    t.struct_size--;
    CHECK_STATUS(stk_geometry_rule_init(&rule, &t, 0, &error), STK_ERR_ARGUMENT);
}

int main(void)
{
    RUN(random_resized_crop);
    RUN(fallback);
    RUN(views_and_occurrences_differ);
    RUN(resize_and_centre);
    RUN(pad_and_crop);
    RUN(boxes);
    RUN(refusals);
    return check_exit();
}
