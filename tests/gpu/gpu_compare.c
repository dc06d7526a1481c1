/* SPDX-License-Identifier: Apache-2.0
 *
 * gpu_compare DATASET [BACKEND [BATCH [PART]]]: batches of the uploader against those of the plain loader, byte by byte,
 * over transforms, filters, pass orders, dtypes, layouts, resident and streamed, and over every kind of step and mixing.
 * BACKEND: dummy (default) or cuda. PART: stages or steps, to go through these cases alone. Uses the public API only. Ends
 * with "N passed, N failed". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <stoker/stoker.h>

typedef struct test_case {
    const char *name;
    stk_transform_kind kind;
    stk_filter filter;
    stk_pixels pixels;
    stk_dtype dtype;
    stk_layout layout;
    uint32_t size;
    stk_color color;
    stk_resident resident;
    uint64_t scratch;
    stk_decode decode;
} test_case;

/* How a case's batches are changed. */
typedef struct change {
    const char *steps; /* a recipe's name, or NULL */
    uint32_t n_views;
} change;

static const test_case CASES[] = {
    {"rrc bilinear u8", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 224, 0, STK_RESIDENT_OFF, 0, 0},
    {"rrc bilinear bf16 channels_last", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_BF16, STK_LAYOUT_NHWC, 224, 0, STK_RESIDENT_OFF, 0, 0},
    {"rrc bilinear f16 nchw", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_F16, STK_LAYOUT_NCHW, 224, 0, STK_RESIDENT_OFF, 0, 0},
    {"rrc bilinear f32 nchw", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_F32, STK_LAYOUT_NCHW, 160, 0, STK_RESIDENT_OFF, 0, 0},
    {"rrc bicubic pillow12", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BICUBIC, STK_PIXELS_PILLOW12, STK_DTYPE_U8, STK_LAYOUT_NHWC, 96, 0, STK_RESIDENT_OFF, 0, 0},
    {"rrc lanczos bgr", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_LANCZOS, 0, STK_DTYPE_U8, STK_LAYOUT_NCHW, 64, STK_COLOR_BGR, STK_RESIDENT_OFF, 0, 0},
    {"rrc hamming", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_HAMMING, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 50, 0, STK_RESIDENT_OFF, 0, 0},
    {"rrc box", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BOX, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 225, 0, STK_RESIDENT_OFF, 0, 0},
    {"rrc nearest", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_NEAREST, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 100, 0, STK_RESIDENT_OFF, 0, 0},
    {"eval 224", STK_TRANSFORM_RESIZE_CENTER_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 224, 0, STK_RESIDENT_OFF, 0, 0},
    {"resize 17 (20x and more down)", STK_TRANSFORM_RESIZE, STK_FILTER_BILINEAR, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 17, 0, STK_RESIDENT_OFF, 0, 0},
    {"resize 600 (up)", STK_TRANSFORM_RESIZE, STK_FILTER_BICUBIC, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 600, 0, STK_RESIDENT_OFF, 0, 0},
    {"pad crop 48", STK_TRANSFORM_PAD_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_F32, STK_LAYOUT_NHWC, 48, 0, STK_RESIDENT_OFF, 0, 0},
    {"pad crop 40 resident", STK_TRANSFORM_PAD_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_BF16, STK_LAYOUT_NHWC, 40, 0, STK_RESIDENT_ON, 0, 0},
    {"pad crop 33 resident u8 bgr", STK_TRANSFORM_PAD_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_U8, STK_LAYOUT_NCHW, 33, STK_COLOR_BGR, STK_RESIDENT_ON, 0, 0},
    {"rrc resident", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_BF16, STK_LAYOUT_NHWC, 224, 0, STK_RESIDENT_ON, 0, 0},
    {"rrc small scratch (many groups)", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 224, 0, STK_RESIDENT_OFF, 4 << 20, 0},
    {"rrc decode=cpu", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_F16, STK_LAYOUT_NHWC, 128, 0, STK_RESIDENT_OFF, 0, STK_DECODE_CPU},
};

/* ---- Steps. */

enum { MOST_STEPS = STK_STEPS_MAX };

typedef struct recipe {
    stk_step steps[MOST_STEPS];
    uint32_t n;
    stk_mix mix;
} recipe;

static stk_step *add_step(recipe *r, stk_step_kind kind, double probability)
{
    stk_step *s = &r->steps[r->n++];
    stk_step_init(s, kind);
    s->probability = probability;
    return s;
}

static stk_step *add_op(recipe *r, stk_op_kind op, double low, double high)
{
    stk_step *s = add_step(r, STK_STEP_OP, 0.5);
    s->op = op;
    s->value[0] = low;
    s->value[1] = high;
    s->fill[0] = 40;
    s->fill[2] = 200;
    return s;
}

static void add_points(recipe *r)
{
    add_op(r, STK_OP_BRIGHTNESS, 0.2, 2);
    add_op(r, STK_OP_CONTRAST, 0.2, 2);
    add_op(r, STK_OP_SATURATION, 0, 3);
    add_op(r, STK_OP_HUE, -0.5, 0.5);
    add_op(r, STK_OP_POSTERIZE, 2, 8);
    add_op(r, STK_OP_AUTOCONTRAST, 0, 0);
    add_op(r, STK_OP_SOLARIZE, 0, 256);
    add_op(r, STK_OP_EQUALIZE, 0, 0);
    add_op(r, STK_OP_SOLARIZE_ADD, 0, 110);
    add_op(r, STK_OP_INVERT, 0, 0);
    add_op(r, STK_OP_SHARPNESS, 0, 3);
    add_op(r, STK_OP_FLIP_VERTICAL, 0, 0);
    add_op(r, STK_OP_GRAYSCALE, 0, 0)->probability = 0.1;
    add_op(r, STK_OP_BOX_BLUR, 0.1, 5)->probability = 0.3;
}

static void add_moves(recipe *r, stk_filter filter)
{
    add_op(r, STK_OP_SHEAR_X, -0.5, 0.5)->filter = filter;
    add_op(r, STK_OP_TRANSLATE_Y, -30, 30)->filter = filter;
    add_op(r, STK_OP_ROTATE, -180, 180)->filter = filter;
    add_op(r, STK_OP_SHEAR_Y, -0.5, 0.5)->filter = filter;
    add_op(r, STK_OP_TRANSLATE_X, -30, 30)->filter = filter;
    add_op(r, STK_OP_ROTATE, 90, 90)->filter = filter;
    add_op(r, STK_OP_SHEAR_X, 300, 400)->probability = 0.05; /* Pillow's way without fixed point */
}

/* Scaled and moved alone, which has a way of its own, and all of it. */
static void add_affine(recipe *r)
{
    for (int i = 0; i < 2; i++) {
        stk_step *s = add_step(r, STK_STEP_AFFINE, 0.6);
        s->scale[0] = 0.6;
        s->scale[1] = 1.5;
        s->translate[0] = s->translate[1] = 0.1;
        s->value[0] = -20 * i;
        s->value[1] = 20 * i;
        s->shear_x[1] = 10 * i;
        s->filter = i == 0 ? STK_FILTER_NEAREST : STK_FILTER_BILINEAR;
    }
}

static void add_jitter(recipe *r)
{
    stk_step *s = add_step(r, STK_STEP_COLOR_JITTER, 0.8);
    s->brightness[0] = s->contrast[0] = s->saturation[0] = 0.6;
    s->brightness[1] = s->contrast[1] = s->saturation[1] = 1.4;
    s->hue[0] = -0.1;
    s->hue[1] = 0.1;
}

static void add_erase(recipe *r, stk_erase_value value)
{
    stk_step *s = add_step(r, STK_STEP_ERASE, 0.7);
    s->erase_value = value;
    s->n_boxes_max = 3;
    s->erase_constant[0] = 0.5f;
    s->erase_constant[1] = 100;
}

static const stk_mix MIXUP = {.mixup_alpha = 0.8, .probability = 1, .switch_probability = 0.5};
static const stk_mix CUTMIX = {.cutmix_alpha = 1, .probability = 1, .switch_probability = 0.5};
static const stk_mix BOTH = {.mixup_alpha = 0.8, .cutmix_alpha = 1, .probability = 0.9, .switch_probability = 0.5};

static bool is(const char *name, const char *what) { return strncmp(name, what, strlen(what)) == 0; }

/* By the beginning of the name; "policy N": an AutoAugment. */
static void make_recipe(const char *name, recipe *r)
{
    memset(r, 0, sizeof *r);
    r->mix.probability = 1;
    if (name == NULL) return;
    if (is(name, "points")) add_points(r);
    if (is(name, "moves")) add_moves(r, STK_FILTER_NEAREST);
    if (is(name, "bilinear moves")) add_moves(r, STK_FILTER_BILINEAR);
    if (is(name, "bicubic moves")) add_moves(r, STK_FILTER_BICUBIC);
    if (is(name, "affine")) add_affine(r);
    if (is(name, "color jitter") || is(name, "everything")) add_jitter(r);
    if (is(name, "blur") || is(name, "everything")) add_step(r, STK_STEP_BLUR, 0.5);
    if (is(name, "blur 255 wide")) r->steps[0].kernel_width = 255;
    if (is(name, "RandAugment")) add_step(r, STK_STEP_RAND_AUGMENT, 1)->n_ops = 4;
    if (is(name, "TrivialAugment") || is(name, "everything")) add_step(r, STK_STEP_TRIVIAL_AUGMENT, 1);
    if (is(name, "policy")) add_step(r, STK_STEP_AUTO_AUGMENT, 1)->policy = (stk_policy)(name[7] - '0');
    if (is(name, "timm rand")) add_step(r, STK_STEP_TIMM_RAND, 1)->mixed_filters = true;
    if (is(name, "erase constants") || is(name, "mixup")) add_erase(r, STK_ERASE_CONSTANT);
    if (is(name, "erase pixels") || is(name, "everything")) add_erase(r, STK_ERASE_PIXEL);
    if (is(name, "erase colors") || is(name, "cutmix")) add_erase(r, STK_ERASE_COLOR);
    if (is(name, "mix by element") || is(name, "mix by pair")) r->mix = BOTH;
    r->mix = is(name, "mixup") ? MIXUP : is(name, "cutmix") ? CUTMIX : is(name, "everything") ? BOTH : r->mix;
    if (is(name, "mix by element")) r->mix.mode = STK_MIX_ELEMENT;
    if (is(name, "mix by pair")) r->mix.mode = STK_MIX_PAIR;
}

static const char *const RECIPES[] = {
    "points", "moves", "bilinear moves", "bicubic moves", "affine", "color jitter", "blur", "blur 255 wide", "RandAugment", "TrivialAugment",
    "policy 0", "policy 1", "policy 2", "policy 3", "policy 4", "policy 5", "policy 6", "policy 7", "timm rand", "erase constants",
    "erase pixels", "erase colors", "mixup", "cutmix", "mix by element", "mix by pair", "everything",
};

/* What recipes are tried on: records that are streamed, resident, drawn directly where they are raw; all dtypes. */
static const test_case FORMS[] = {
    {"rrc 160 u8", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_U8, STK_LAYOUT_NHWC, 160, 0, STK_RESIDENT_OFF, 0, 0},
    {"rrc 75 bf16 nchw bgr resident", STK_TRANSFORM_RANDOM_RESIZED_CROP, STK_FILTER_BICUBIC, 0, STK_DTYPE_BF16, STK_LAYOUT_NCHW, 75, STK_COLOR_BGR, STK_RESIDENT_ON, 0, 0},
    {"pad crop 40 f32 nchw two views", STK_TRANSFORM_PAD_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_F32, STK_LAYOUT_NCHW, 40, 0, STK_RESIDENT_ON, 0, 0},
    {"eval 96 f16 small scratch", STK_TRANSFORM_RESIZE_CENTER_CROP, STK_FILTER_BILINEAR, 0, STK_DTYPE_F16, STK_LAYOUT_NHWC, 96, 0, STK_RESIDENT_OFF, 4 << 20, 0},
};

static size_t element_bytes(stk_dtype d)
{
    return d == STK_DTYPE_U8 ? 1 : d == STK_DTYPE_F32 ? 4 : 2;
}

static void set_options(const test_case *t, const recipe *r, uint32_t n_views, stk_loader_options *o, stk_uploader_options *u,
                        uint32_t batch, const char *backend)
{
    stk_loader_options_init(o);
    stk_transform_init(&o->transform, t->kind);
    o->transform.out_width = o->transform.out_height = t->size;
    if (t->kind == STK_TRANSFORM_PAD_CROP) o->transform.pad = 400; /* more than some pictures have */
    o->transform.filter = t->filter;
    o->transform.pixels = t->pixels;
    o->transform.color = t->color;
    o->transform.fill[0] = 9;
    o->transform.fill[1] = 99;
    o->transform.steps = r->steps;
    o->transform.n_steps = r->n;
    o->transform.mix = r->mix;
    o->n_views = n_views;
    o->batch_size = batch;
    o->dtype = t->dtype;
    o->layout = t->layout;
    o->seed = 5;
    o->on_bad = STK_ON_BAD_SKIP;
    stk_uploader_options_init(u);
    u->backend = backend;
    u->resident = t->resident;
    u->decode = t->decode == STK_DECODE_CPU ? STK_DECODE_CPU : STK_DECODE_GPU; /* what is compared must not be measured */
    if (t->scratch != 0) u->scratch_bytes = t->scratch;
}

static long compare_batch(const stk_batch *a, const stk_device_batch *b, const test_case *t, stk_error *error)
{
    size_t image = (size_t)a->width * a->height * a->channels * element_bytes(t->dtype), n = image * a->n;
    uint8_t *got = malloc(n);
    int64_t *labels = malloc(a->n * sizeof *labels);
    long bad = 0;
    if (got == NULL || labels == NULL || b->n != a->n || b->width != a->width || b->height != a->height) bad = 1;
    if (bad == 0 && (stk_device_batch_read(b, b->data, got, n, error) != STK_OK ||
                     stk_device_batch_read(b, b->labels, labels, a->n * sizeof *labels, error) != STK_OK)) {
        printf("   %s\n", error->text);
        bad = 1;
    }
    if (bad == 0) {
        for (uint32_t i = 0; i < a->n; i++)
            if (memcmp(got + i * image, (const uint8_t *)a->data + i * image, image) != 0) {
                if (bad == 0) printf("   first: record %llu\n", (unsigned long long)a->ids[i]);
                bad++;
            }
        if (memcmp(labels, a->labels, a->n * sizeof *labels) != 0) bad++;
        if (memcmp(b->ids, a->ids, a->n * sizeof *a->ids) != 0) bad++;
        if (a->labels2 != NULL && (memcmp(b->host_labels2, a->labels2, a->n * sizeof *a->labels2) != 0 ||
                                   memcmp(b->host_shares, a->shares, a->n * sizeof *a->shares) != 0))
            bad++;
    }
    free(got);
    free(labels);
    return bad;
}

static long run_case(const stk_dataset *d, const test_case *t, const change *c, const char *backend, uint32_t batch, long *images)
{
    stk_loader_options o;
    stk_uploader_options uo;
    stk_loader *loader = NULL;
    stk_uploader *uploader = NULL;
    stk_error error = {0};
    recipe steps;
    long bad = 0;
    make_recipe(c->steps, &steps);
    set_options(t, &steps, c->n_views, &o, &uo, batch, backend);
    if (stk_loader_open(d, &o, &loader, &error) != STK_OK || stk_uploader_open(d, &o, &uo, &uploader, &error) != STK_OK) {
        printf("   %s\n", error.text);
        bad = 1;
    }
    for (uint64_t i = 0; bad == 0 && i < stk_loader_len(loader) + 1; i++) {
        stk_batch *a = NULL;
        stk_device_batch *b = NULL;
        stk_status s = stk_loader_next(loader, -1, &a, &error), r = stk_uploader_next(uploader, NULL, -1, &b, &error);
        if (s != r) {
            printf("   loader says %s, uploader %s: %s\n", stk_status_name(s), stk_status_name(r), error.text);
            bad++;
        } else if (s == STK_OK) {
            bad += compare_batch(a, b, t, &error);
            *images += a->n;
        }
        stk_batch_release(a);
        stk_device_batch_release(b, NULL);
    }
    stk_uploader_close(&uploader);
    stk_loader_close(&loader);
    return bad;
}

/* Counts of cases that passed, and that did not. */
typedef struct tally {
    int passed, failed;
} tally;

static void count_case(const stk_dataset *d, const test_case *t, const change *c, const char *backend, uint32_t batch, tally *n)
{
    long images = 0, bad = run_case(d, t, c, backend, batch, &images);
    printf("%s %-34s %s%s%ld images, %ld differ\n", bad == 0 ? "ok  " : "FAIL", t->name, c->steps != NULL ? c->steps : "",
           c->steps != NULL ? ": " : "", images, bad);
    fflush(stdout);
    if (bad == 0) n->passed++;
    else n->failed++;
}

int main(int argc, char **argv)
{
    const char *backend = argc > 2 ? argv[2] : "dummy";
    const char *part = argc > 4 ? argv[4] : "";
    uint32_t batch = argc > 3 ? (uint32_t)atoi(argv[3]) : 32;
    stk_dataset *d = NULL;
    stk_error error = {0};
    tally n = {0, 0};
    if (argc < 2 || stk_dataset_open(argv[1], NULL, &d, &error) != STK_OK) {
        fprintf(stderr, "gpu_compare: %s\n", argc < 2 ? "usage: gpu_compare DATASET [dummy|cuda [BATCH [stages|steps]]]" : error.text);
        return 64;
    }
    if (batch > stk_dataset_len(d)) batch = (uint32_t)stk_dataset_len(d);
    for (size_t i = 0; strcmp(part, "steps") != 0 && i < sizeof CASES / sizeof CASES[0]; i++)
        count_case(d, &CASES[i], &(change){NULL, 1}, backend, batch, &n);
    for (size_t i = 0; strcmp(part, "stages") != 0 && i < sizeof RECIPES / sizeof RECIPES[0]; i++)
        for (size_t f = 0; f < sizeof FORMS / sizeof FORMS[0]; f++)
            count_case(d, &FORMS[f], &(change){RECIPES[i], f == 2 ? 2 : 1}, backend, batch, &n);
    stk_dataset_close(&d);
    printf("%d passed, %d failed\n", n.passed, n.failed);
    return n.failed != 0;
}
