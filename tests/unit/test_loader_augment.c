/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps and mixing through the C interface: the same bytes for any number of threads, the caller's steps not needed
 * after opening, labels and shares of mixed batches, every kind of step on tiny images, what is refused. */
#include <math.h>

#include "support/image_shard.h"
#include "support/loader_run.h"
#include "support/temporary.h"

enum { N = 101, SIDE = 24, MOST = 8 };

static stk_error error;
static stk_dataset *dataset;

static void every_kind(stk_step *steps)
{
    static const stk_step_kind kinds[MOST] = {STK_STEP_COLOR_JITTER,    STK_STEP_BLUR,         STK_STEP_RAND_AUGMENT,
                                              STK_STEP_TRIVIAL_AUGMENT, STK_STEP_AUTO_AUGMENT, STK_STEP_AFFINE,
                                              STK_STEP_AUTO_AUGMENT,    STK_STEP_ERASE};
    for (int k = 0; k < MOST; k++) stk_step_init(&steps[k], kinds[k]);
    for (int i = 0; i < 2; i++) {
        steps[0].brightness[i] = steps[0].contrast[i] = steps[0].saturation[i] = i == 0 ? 0.5 : 1.5;
        steps[0].hue[i] = i == 0 ? -0.1 : 0.1;
    }
    steps[1].kernel_width = 5;
    steps[3].filter = STK_FILTER_BILINEAR;
    steps[4].mixed_filters = true;
    for (int i = 0; i < 2; i++) {
        steps[5].value[i] = steps[5].shear_y[i] = i == 0 ? -20 : 30;
        steps[5].translate[i] = 0.3;
        steps[5].scale[i] = 0.5 + i;
    }
    steps[6].policy = STK_POLICY_TIMM_3A;
    steps[7].erase_value = STK_ERASE_PIXEL;
}

static stk_loader_options options_for(uint32_t threads, uint32_t side)
{
    stk_loader_options o;
    stk_loader_options_init(&o);
    stk_transform_init(&o.transform, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    o.transform.out_width = side;
    o.transform.out_height = side + 1;
    o.batch_size = 16;
    o.n_threads = threads;
    o.seed = 5;
    o.n_views = 2;
    o.dtype = STK_DTYPE_F16;
    return o;
}

/* The options' steps are gone before the first batch is asked for. */
static stk_loader *open_forgetting(const stk_loader_options *options)
{
    stk_step steps[MOST];
    stk_loader_options o = *options;
    every_kind(steps);
    o.transform.steps = steps;
    o.transform.n_steps = MOST;
    stk_loader *l = run_loader(dataset, &o);
    memset(steps, 0xff, sizeof steps);
    return l;
}

enum { ALONE = 3 }; /* beside stk_mix_mode: nothing is mixed */

static uint64_t hash_of(uint32_t threads, uint32_t side, int mode)
{
    stk_loader_options o = options_for(threads, side);
    if (mode != ALONE) {
        o.transform.mix.mixup_alpha = o.transform.mix.cutmix_alpha = 0.8;
        o.transform.mix.mode = (stk_mix_mode)mode;
    }
    stk_loader *l = open_forgetting(&o);
    run_log log = {0};
    CHECK(run_batches(l, &log, UINT64_MAX));
    CHECK_EQ(log.n, 2 * N);
    uint64_t hash = 0;
    for (size_t i = 0; i < log.n; i++) hash = hash * 31 + log.entries[i].pixels;
    run_free(&log);
    stk_loader_close(&l);
    return hash;
}

static void same_for_any_number_of_threads(void)
{
    static const uint32_t sides[] = {1, 2, 3, 31};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        for (int mode = STK_MIX_BATCH; mode <= ALONE; mode++) {
            uint64_t one = hash_of(1, sides[i], mode);
            CHECK(hash_of(2, sides[i], mode) == one);
            CHECK(hash_of(4, sides[i], mode) == one);
        }
    for (int mode = STK_MIX_BATCH; mode < ALONE; mode++)
        for (int other = mode + 1; other <= ALONE; other++) CHECK(hash_of(1, 31, mode) != hash_of(1, 31, other));
}

/* Every entry's partner is a label of the batch, and all are somebody's partner once. */
static void labels_and_shares(void)
{
    stk_loader_options o = options_for(2, 12);
    stk_batch *b;
    o.transform.mix = (stk_mix){.mixup_alpha = 0.4, .probability = 1, .switch_probability = 0.5};
    stk_loader *l = run_loader(dataset, &o);
    while (stk_loader_next(l, -1, &b, &error) == STK_OK) {
        int64_t sum = 0, sum2 = 0;
        for (uint32_t e = 0; e < b->n; e++) {
            sum += b->labels[e];
            sum2 += b->labels2[e];
            CHECK(b->shares[e] >= 0 && b->shares[e] <= 1);
            CHECK(b->shares[e] == b->shares[0]);
            if (e % 2 == 1) CHECK_EQ(b->labels2[e], b->labels2[e - 1]); /* views of one sample */
        }
        CHECK_EQ(sum, sum2);
        stk_batch_release(b);
    }
    stk_loader_close(&l);
    o.transform.mix.mixup_alpha = 0;
    l = run_loader(dataset, &o);
    CHECK_OK(stk_loader_next(l, -1, &b, &error));
    CHECK(b->labels2 == NULL && b->shares == NULL);
    stk_batch_release(b);
    stk_loader_close(&l);
}

/* Batches of an even and of an odd number of samples: who is whose partner, and whether shares are their own. */
static void elements_and_pairs(void)
{
    for (uint32_t size = 4; size <= 5; size++)
        for (int mode = STK_MIX_ELEMENT; mode <= STK_MIX_PAIR; mode++) {
            stk_loader_options o = options_for(2, 12);
            stk_batch *b;
            uint32_t unequal = 0;
            o.batch_size = size;
            o.last = STK_LAST_DROP;
            o.transform.mix = (stk_mix){
                .mode = (stk_mix_mode)mode, .mixup_alpha = 0.4, .probability = 1, .switch_probability = 0.5};
            stk_loader *l = run_loader(dataset, &o);
            while (stk_loader_next(l, -1, &b, &error) == STK_OK) {
                uint32_t alone = 0, n = b->n / o.n_views;
                for (uint32_t i = 0; i < n; i++) {
                    uint32_t e = i * o.n_views, pairs = 0;
                    CHECK(b->labels2[e] == b->labels2[e + 1] && b->shares[e] == b->shares[e + 1]);
                    for (uint32_t k = 0; k < n; k++)
                        pairs += k != i && b->labels[k * 2] == b->labels2[e] && b->labels2[k * 2] == b->labels[e] &&
                                 b->shares[k * 2] == b->shares[e];
                    if (b->shares[e] == 1 && b->labels2[e] == b->labels[e]) alone++;
                    else if (mode == STK_MIX_PAIR) CHECK(pairs >= 1);
                    unequal += b->shares[e] != b->shares[0];
                }
                CHECK(mode != STK_MIX_PAIR || alone == n % 2);
                for (uint32_t i = 0; i < n; i++) {
                    const stk_mixing *x = &b->mixings[i];
                    CHECK(b->labels2[i * 2] == b->labels[x->partner * 2] && b->shares[i * 2] == (float)x->share);
                    CHECK(mode != STK_MIX_PAIR || b->mixings[x->partner].partner == i);
                }
                stk_batch_release(b);
            }
            CHECK(unequal > N / 4);
            stk_loader_close(&l);
        }
}

static void refuse(const stk_loader_options *o, const char *text)
{
    stk_loader *l = NULL;
    CHECK_STATUS(stk_loader_open(dataset, o, &l, &error), STK_ERR_ARGUMENT);
    CHECK(l == NULL);
    CHECK(strstr(error.text, text) != NULL);
    stk_loader_close(&l);
}

static void refused(void)
{
    stk_loader_options o = options_for(1, 8);
    stk_step s[STK_STEPS_MAX + 1];
    for (int k = 0; k <= STK_STEPS_MAX; k++) {
        stk_step_init(&s[k], STK_STEP_OP);
        s[k].op = STK_OP_INVERT;
    }
    o.transform.steps = s;
    o.transform.n_steps = STK_STEPS_MAX + 1;
    refuse(&o, "at most 16");
    o.transform.n_steps = 2;
    stk_step_init(&s[0], STK_STEP_ERASE);
    refuse(&o, "step 1 of the transform: erasing must be the last");
    stk_step_init(&s[0], STK_STEP_BLUR);
    s[0].kernel_height = 4;
    refuse(&o, "must be odd");
    stk_step_init(&s[0], STK_STEP_RAND_AUGMENT);
    s[0].magnitude = 31;
    refuse(&o, "magnitude must be 0 .. bins - 1");
    stk_step_init(&s[0], STK_STEP_COLOR_JITTER);
    s[0].hue[1] = 0.7;
    refuse(&o, "hue");
    stk_step_init(&s[0], STK_STEP_NONE);
    refuse(&o, "unknown");
    stk_step_init(&s[0], STK_STEP_TIMM_RAND);
    s[0].filter = STK_FILTER_LANCZOS;
    refuse(&o, "nearest, bilinear or bicubic");
    stk_step_init(&s[0], STK_STEP_OP);
    s[0].op = STK_OP_POSTERIZE;
    s[0].value[1] = 9;
    refuse(&o, "its value is out of range");
    s[0].value[0] = s[0].value[1] = (double)NAN;
    refuse(&o, "its value is out of range");
    stk_step_init(&s[0], STK_STEP_OP);
    s[0].op = STK_OP_AFFINE; /* has no value: a step of its own makes it */
    refuse(&o, "its operation is unknown");
    stk_step_init(&s[0], STK_STEP_AFFINE);
    s[0].scale[0] = 0;
    refuse(&o, "scale must be");
    s[0].scale[0] = 1;
    s[0].shear_x[1] = 90;
    refuse(&o, "shear must be");
    s[0].shear_x[1] = 0;
    s[0].translate[1] = (double)NAN;
    refuse(&o, "translate must be");
    stk_step_init(&s[0], STK_STEP_AFFINE);
    s[0].value[0] = 1;
    refuse(&o, "degrees must be");
    o.transform.n_steps = 0;
    o.transform.mix.cutmix_alpha = -1;
    refuse(&o, "alpha -1");
    o.transform.mix = (stk_mix){.mixup_alpha = 1, .probability = 2};
    refuse(&o, "probability");
    o.transform.mix = (stk_mix){.mixup_alpha = 1, .mode = (stk_mix_mode)3};
    refuse(&o, "mode 3");
}

/* ---- Batches for a consumer that takes the steps by itself. */

static void compare_mixings(const stk_batch *a, const stk_batch *b, uint32_t n_views)
{
    CHECK(memcmp(a->labels2, b->labels2, a->n * sizeof *a->labels2) == 0);
    CHECK(memcmp(a->shares, b->shares, a->n * sizeof *a->shares) == 0);
    for (uint32_t e = 0; e < b->n; e++) {
        const stk_mixing *x = &a->mixings[e / n_views], *y = &b->mixings[e / n_views];
        CHECK(x->partner == y->partner && x->cut == y->cut && x->share == y->share && x->box.width == y->box.width);
        CHECK(b->labels2[e] == b->labels[y->partner * n_views] && b->shares[e] == (float)y->share);
        CHECK(y->partner != e / n_views || y->share == 1);
    }
}

static void gathered_batches_say_how_they_are_mixed(void)
{
    stk_step s[MOST];
    for (uint32_t k = 0; k < 6; k++) {
        stk_loader_options o = options_for(2, 8);
        stk_loader *pixels = NULL, *gathered = NULL;
        o.n_views = 1 + k % 2;
        o.transform.steps = s;
        o.transform.n_steps = 1;
        stk_step_init(&s[0], STK_STEP_TRIVIAL_AUGMENT);
        o.transform.mix = (stk_mix){.mode = (stk_mix_mode)(k / 2), .mixup_alpha = 1, .cutmix_alpha = 1, .probability = 0.9,
                                    .switch_probability = 0.5};
        CHECK_OK(stk_loader_open(dataset, &o, &pixels, &error));
        o.gather = true;
        CHECK_OK(stk_loader_open(dataset, &o, &gathered, &error));
        for (uint64_t i = 0; i < stk_loader_len(pixels); i++) {
            stk_batch *a = NULL, *b = NULL;
            CHECK_OK(stk_loader_next(pixels, -1, &a, &error));
            CHECK_OK(stk_loader_next(gathered, -1, &b, &error));
            compare_mixings(a, b, o.n_views);
            stk_batch_release(a);
            stk_batch_release(b);
        }
        stk_loader_close(&pixels);
        stk_loader_close(&gathered);
    }
}

static void drawers_draw_by_identity(void)
{
    stk_step s[2];
    static stk_drawn_steps a, b;
    stk_drawer *one = NULL, *two = NULL;
    stk_transform t;
    stk_transform_init(&t, STK_TRANSFORM_PAD_CROP);
    stk_step_init(&s[0], STK_STEP_RAND_AUGMENT);
    stk_step_init(&s[1], STK_STEP_ERASE);
    t.steps = s;
    t.n_steps = 2;
    CHECK_OK(stk_drawer_open(&t, 3, &one, &error));
    s[1].probability = 2;
    CHECK_EQ(stk_drawer_open(&t, 3, &two, &error), STK_ERR_ARGUMENT);
    CHECK(two == NULL && strstr(error.text, "step 2") != NULL);
    s[1].probability = 0.5; /* the first one has its own copy */
    CHECK_OK(stk_drawer_open(&t, 3, &two, &error));
    uint32_t n_ops = 0, n_boxes = 0;
    for (uint64_t id = 0; id < 100; id++) {
        stk_drawer_draw(one, 1, id, 0, 0, 32, 24, &a);
        stk_drawer_draw(two, 1, id, 0, 0, 32, 24, &b);
        CHECK_EQ(a.n_ops, b.n_ops);
        for (uint32_t k = 0; k < a.n_ops; k++) CHECK(a.ops[k].kind == b.ops[k].kind && a.ops[k].value == b.ops[k].value);
        CHECK(a.n_boxes == b.n_boxes && memcmp(a.boxes, b.boxes, a.n_boxes * sizeof *a.boxes) == 0);
        n_ops += a.n_ops;
        n_boxes += a.n_boxes;
    }
    CHECK(n_ops > 150 && n_boxes > 25 && n_boxes < 75);
    stk_drawer_close(&one);
    stk_drawer_close(&two);
    CHECK(one == NULL);
}

int main(void)
{
    const char *path = temporary("images.stk");
    image_shard(path, N, SIDE, SIDE, 3);
    dataset = run_open(path);
    RUN(same_for_any_number_of_threads);
    RUN(labels_and_shares);
    RUN(elements_and_pairs);
    RUN(refused);
    RUN(gathered_batches_say_how_they_are_mixed);
    RUN(drawers_draw_by_identity);
    stk_dataset_close(&dataset);
    return check_exit();
}
