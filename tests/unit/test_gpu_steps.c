/* SPDX-License-Identifier: Apache-2.0
 *
 * A transform's steps and mixing on the GPU's path, with the dummy back end: every kind of step, operation and policy
 * against the plain loader's bytes, over dtypes, layouts, views, and records that are streamed, resident and drawn
 * directly. What decode=auto says of such transforms. */
#include <stoker/gpu_upload.h>

#include "support/damage.h"
#include "support/image_shard.h"
#include "support/loader_run.h"
#include "support/temporary.h"

enum { N = 20, WIDTH = 23, HEIGHT = 19, BATCH = 10, MOST = 3 };

static stk_error error;
static stk_dataset *color, *grey;

typedef struct form {
    stk_transform_kind kind;
    uint32_t width, height, n_views;
    stk_dtype dtype;
    stk_layout layout;
    stk_color color;
    stk_mode mode;
    stk_resident resident;
} form;

/* Streamed and resident pictures, resampled and cropped; PAD_CROP with resident ones is drawn directly. */
static const form FORMS[] = {
    {STK_TRANSFORM_RANDOM_RESIZED_CROP, 20, 20, 1, STK_DTYPE_U8, STK_LAYOUT_NHWC, STK_COLOR_RGB, STK_MODE_RGB, STK_RESIDENT_OFF},
    {STK_TRANSFORM_RANDOM_RESIZED_CROP, 17, 22, 2, STK_DTYPE_F16, STK_LAYOUT_NCHW, STK_COLOR_BGR, STK_MODE_RGB, STK_RESIDENT_ON},
    {STK_TRANSFORM_PAD_CROP, 24, 16, 2, STK_DTYPE_BF16, STK_LAYOUT_NHWC, STK_COLOR_RGB, STK_MODE_RGB, STK_RESIDENT_ON},
    {STK_TRANSFORM_PAD_CROP, 16, 16, 1, STK_DTYPE_F32, STK_LAYOUT_NCHW, STK_COLOR_BGR, STK_MODE_RGB, STK_RESIDENT_ON},
    {STK_TRANSFORM_PAD_CROP, 21, 13, 1, STK_DTYPE_U8, STK_LAYOUT_NCHW, STK_COLOR_BGR, STK_MODE_RGB, STK_RESIDENT_OFF},
    {STK_TRANSFORM_NONE, WIDTH, HEIGHT, 1, STK_DTYPE_F32, STK_LAYOUT_NHWC, STK_COLOR_RGB, STK_MODE_RGB, STK_RESIDENT_ON},
    {STK_TRANSFORM_RANDOM_RESIZED_CROP, 20, 12, 1, STK_DTYPE_F32, STK_LAYOUT_NHWC, STK_COLOR_RGB, STK_MODE_L, STK_RESIDENT_OFF},
    {STK_TRANSFORM_PAD_CROP, 20, 12, 2, STK_DTYPE_BF16, STK_LAYOUT_NCHW, STK_COLOR_RGB, STK_MODE_L, STK_RESIDENT_ON},
    {STK_TRANSFORM_RESIZE, 2, 2, 1, STK_DTYPE_F16, STK_LAYOUT_NHWC, STK_COLOR_RGB, STK_MODE_RGB, STK_RESIDENT_OFF},
    {STK_TRANSFORM_RESIZE, 1, 5, 1, STK_DTYPE_U8, STK_LAYOUT_NHWC, STK_COLOR_RGB, STK_MODE_RGB, STK_RESIDENT_OFF},
};
enum { N_FORMS = sizeof FORMS / sizeof FORMS[0] };

static void set_options(const form *f, stk_loader_options *o, stk_uploader_options *u)
{
    stk_loader_options_init(o);
    stk_transform_init(&o->transform, f->kind);
    o->transform.out_width = f->width;
    o->transform.out_height = f->height;
    o->transform.color = f->color;
    o->transform.mode = f->mode;
    o->batch_size = BATCH;
    o->n_threads = 2;
    o->n_views = f->n_views;
    o->first_view = f->n_views - 1; /* two begin with the second */
    o->seed = 77;
    o->dtype = f->dtype;
    o->layout = f->layout;
    o->on_bad = STK_ON_BAD_SKIP;
    stk_uploader_options_init(u);
    u->backend = "dummy";
    u->decode = STK_DECODE_GPU;
    u->resident = f->resident;
}

static void compare_batch(const char *name, uint32_t number, const stk_batch *a, const stk_device_batch *b)
{
    static uint8_t got[BATCH * 2 * 32 * 32 * 3 * 4];
    size_t n_bytes = a->sample_bytes * a->n;
    CHECK(n_bytes <= sizeof got && b->n == a->n);
    CHECK_OK(stk_device_batch_read(b, b->data, got, n_bytes, &error));
    for (uint32_t e = 0; e < a->n; e++)
        if (memcmp(got + e * a->sample_bytes, (const uint8_t *)a->data + e * a->sample_bytes, a->sample_bytes) != 0) {
            fprintf(stderr, "%s, form %u: record %llu, entry %u differs\n", name, number, (unsigned long long)a->ids[e], e);
            CHECK(false);
            break;
        }
    CHECK(memcmp(b->ids, a->ids, a->n * sizeof *a->ids) == 0 && memcmp(b->statuses, a->statuses, a->n * sizeof *a->statuses) == 0);
    CHECK(memcmp(b->host_labels, a->labels, a->n * sizeof *a->labels) == 0);
    CHECK((a->labels2 == NULL) == (b->host_labels2 == NULL));
    if (a->labels2 == NULL) return;
    CHECK(memcmp(b->host_labels2, a->labels2, a->n * sizeof *a->labels2) == 0);
    CHECK(memcmp(b->host_shares, a->shares, a->n * sizeof *a->shares) == 0);
}

/* Both sides' batches of an epoch and a bit; the caller's steps are gone by then. */
static void compare(const char *name, const stk_dataset *d, uint32_t number, const stk_step *steps, uint32_t n_steps, stk_mix mix)
{
    stk_loader_options o;
    stk_uploader_options uo;
    stk_loader *loader = NULL;
    stk_uploader *u = NULL;
    stk_uploader_stats stats;
    stk_step copy[MOST];
    for (uint32_t k = 0; k < n_steps; k++) copy[k] = steps[k];
    set_options(&FORMS[number], &o, &uo);
    o.transform.steps = copy;
    o.transform.n_steps = n_steps;
    o.transform.mix = mix;
    CHECK_OK(stk_loader_open(d, &o, &loader, &error));
    CHECK_OK(stk_uploader_open(d, &o, &uo, &u, &error));
    memset(copy, 0xff, sizeof copy);
    for (int i = 0; i < N / BATCH + 2; i++) {
        stk_batch *a = NULL;
        stk_device_batch *b = NULL;
        stk_status want = stk_loader_next(loader, -1, &a, &error);
        CHECK_EQ(stk_uploader_next(u, NULL, -1, &b, &error), want);
        if (want != STK_OK) continue;
        compare_batch(name, number, a, b);
        stk_batch_release(a);
        stk_device_batch_release(b, NULL);
    }
    stk_uploader_get_stats(u, &stats);
    CHECK(strncmp(stats.decode, "gpu: ", 5) == 0);
    stk_uploader_close(&u);
    stk_loader_close(&loader);
}

static const stk_mix NO_MIX = {0};

static void compare_everywhere(const char *name, const stk_step *steps, uint32_t n_steps, stk_mix mix)
{
    for (uint32_t f = 0; f < N_FORMS; f++)
        compare(name, FORMS[f].mode == STK_MODE_L ? grey : color, f, steps, n_steps, mix);
    compare(name, grey, 1, steps, n_steps, mix); /* grey records as RGB */
}

/* ---- Operations. */

static const struct {
    const char *name;
    stk_op_kind op;
    double low, high;
} OPS[] = {
    {"identity", STK_OP_IDENTITY, 0, 0},
    {"shear x", STK_OP_SHEAR_X, -0.9, 0.9},
    {"shear y", STK_OP_SHEAR_Y, -0.9, 0.9},
    {"absurd shear", STK_OP_SHEAR_X, -90000, 90000},
    {"shear by 0", STK_OP_SHEAR_Y, 0, 0},
    {"translate x", STK_OP_TRANSLATE_X, -12, 12},
    {"translate y", STK_OP_TRANSLATE_Y, -40, 40},
    {"translate by 3", STK_OP_TRANSLATE_X, 3, 3},
    {"translate by a column less and less", STK_OP_TRANSLATE_X, -3.4999999999999996, -3.4999999999999996},
    {"rotate", STK_OP_ROTATE, -200, 400},
    {"rotate by 0", STK_OP_ROTATE, 360, 360},
    {"rotate by 90", STK_OP_ROTATE, 90, 90},
    {"rotate by 180", STK_OP_ROTATE, 180, 180},
    {"rotate by 270", STK_OP_ROTATE, -90, -90},
    {"brightness", STK_OP_BRIGHTNESS, 0, 2.5},
    {"saturation", STK_OP_SATURATION, 0, 2.5},
    {"contrast", STK_OP_CONTRAST, 0, 2.5},
    {"sharpness", STK_OP_SHARPNESS, 0, 2.5},
    {"posterize", STK_OP_POSTERIZE, 0, 8},
    {"solarize", STK_OP_SOLARIZE, -20, 300},
    {"autocontrast", STK_OP_AUTOCONTRAST, 0, 0},
    {"equalize", STK_OP_EQUALIZE, 0, 0},
    {"invert", STK_OP_INVERT, 0, 0},
    {"hue", STK_OP_HUE, -0.5, 0.5},
    {"grayscale", STK_OP_GRAYSCALE, 0, 0},
    {"solarize add", STK_OP_SOLARIZE_ADD, 0, 255},
    {"flip vertical", STK_OP_FLIP_VERTICAL, 0, 0},
    {"box blur", STK_OP_BOX_BLUR, 0, 12},
    {"box blur by 0", STK_OP_BOX_BLUR, 0, 0},
};

/* Before it one that leaves narrow histograms, behind it one that reads where it wrote. */
static void every_operation(void)
{
    static const stk_filter filters[3] = {STK_FILTER_NEAREST, STK_FILTER_BILINEAR, STK_FILTER_BICUBIC};
    for (size_t k = 0; k < sizeof OPS / sizeof OPS[0]; k++) {
        const bool moves = OPS[k].op >= STK_OP_SHEAR_X && OPS[k].op <= STK_OP_ROTATE;
        for (int i = 0; i < (moves ? 3 : 1); i++) {
            stk_step s[3];
            stk_step_init(&s[0], STK_STEP_OP);
            s[0].op = STK_OP_CONTRAST;
            s[0].value[0] = 0.1;
            s[0].value[1] = 0.7;
            stk_step_init(&s[1], STK_STEP_OP);
            s[1].op = OPS[k].op;
            s[1].value[0] = OPS[k].low;
            s[1].value[1] = OPS[k].high;
            s[1].filter = filters[i];
            s[1].fill[0] = 200;
            s[1].fill[1] = 100;
            stk_step_init(&s[2], STK_STEP_OP);
            s[2].op = STK_OP_SHARPNESS;
            s[2].value[0] = s[2].value[1] = 1.8;
            s[2].probability = 0.5;
            compare_everywhere(OPS[k].name, s, 3, NO_MIX);
        }
    }
}

/* ---- Steps. */

/* By each filter: turned and sheared, only scaled, only shifted, so large that 16.16 does not hold it. */
static void every_affine(void)
{
    static const double cases[][4] = {{-180, 0.5, 2, 20}, {0, 0.4, 1.7, 0}, {0, 1, 1, 0}, {30, 0.001, 0.002, 89}};
    static const stk_filter filters[3] = {STK_FILTER_NEAREST, STK_FILTER_BILINEAR, STK_FILTER_BICUBIC};
    for (size_t k = 0; k < 12; k++) {
        const double *c = cases[k / 3];
        stk_step s;
        stk_step_init(&s, STK_STEP_AFFINE);
        s.value[0] = c[0];
        s.value[1] = c[0] == 0 ? 0 : 180;
        s.scale[0] = c[1];
        s.scale[1] = c[2];
        s.shear_x[1] = s.shear_y[1] = c[3];
        s.translate[0] = s.translate[1] = 0.4;
        s.filter = filters[k % 3];
        s.fill[1] = 77;
        compare_everywhere("affine", &s, 1, NO_MIX);
    }
}

static void every_blur(void)
{
    static const uint32_t sides[][2] = {{1, 1}, {3, 5}, {23, 23}, {255, 41}};
    for (int i = 0; i < 4; i++) {
        stk_step s[2];
        for (int k = 0; k < 2; k++) {
            stk_step_init(&s[k], STK_STEP_BLUR);
            s[k].kernel_width = sides[i][0];
            s[k].kernel_height = sides[i][1];
            s[k].probability = 0.7;
        }
        compare_everywhere("blur", s, 2, NO_MIX);
    }
}

static void set_jitter(stk_step *s)
{
    stk_step_init(s, STK_STEP_COLOR_JITTER);
    for (int i = 0; i < 2; i++) {
        s->brightness[i] = s->contrast[i] = s->saturation[i] = i == 0 ? 0.3 : 1.7;
        s->hue[i] = i == 0 ? -0.4 : 0.4;
    }
}

static void every_policy(void)
{
    stk_step s;
    set_jitter(&s);
    compare_everywhere("color jitter", &s, 1, NO_MIX);
    stk_step_init(&s, STK_STEP_RAND_AUGMENT);
    s.n_ops = 5;
    compare_everywhere("RandAugment", &s, 1, NO_MIX);
    stk_step_init(&s, STK_STEP_TRIVIAL_AUGMENT);
    s.filter = STK_FILTER_BILINEAR;
    compare_everywhere("TrivialAugment", &s, 1, NO_MIX);
    for (int p = 0; p <= STK_POLICY_TIMM_3A; p++) {
        stk_step_init(&s, STK_STEP_AUTO_AUGMENT);
        s.policy = (stk_policy)p;
        s.mixed_filters = p % 2 == 1;
        s.magnitude_std = p >= STK_POLICY_TIMM_V0 ? 0.5 : 0;
        compare_everywhere("AutoAugment", &s, 1, NO_MIX);
    }
    stk_step_init(&s, STK_STEP_TIMM_RAND);
    s.n_ops = 3;
    s.increasing = s.mixed_filters = true;
    s.magnitude_std = 0.5;
    compare_everywhere("timm's RandAugment", &s, 1, NO_MIX);
}

static void set_erase(stk_step *s, stk_erase_value value, uint32_t n_boxes)
{
    static const float constants[3] = {0.25f, 200, -70000};
    stk_step_init(s, STK_STEP_ERASE);
    s->erase_value = value;
    s->probability = 0.8;
    s->area[1] = 0.6;
    s->n_boxes_max = n_boxes;
    memcpy(s->erase_constant, constants, sizeof constants);
}

static void every_way_to_erase(void)
{
    for (int v = STK_ERASE_CONSTANT; v <= STK_ERASE_COLOR; v++)
        for (uint32_t n = 1; n <= 9; n += 8) {
            stk_step s;
            set_erase(&s, (stk_erase_value)v, n);
            compare_everywhere("erase", &s, 1, NO_MIX);
        }
}

static void every_way_to_mix(void)
{
    const stk_mix mixes[] = {
        {.mixup_alpha = 0.8, .probability = 1, .switch_probability = 0.5},
        {.cutmix_alpha = 1, .probability = 1, .switch_probability = 0.5},
        {.mixup_alpha = 1, .cutmix_alpha = 1, .probability = 0.7, .switch_probability = 0.5},
    };
    for (size_t i = 0; i < 3 * sizeof mixes / sizeof mixes[0]; i++) {
        stk_step s[3];
        stk_mix mix = mixes[i / 3];
        mix.mode = (stk_mix_mode)(i % 3);
        compare_everywhere("mix alone", NULL, 0, mix);
        set_jitter(&s[0]);
        s[0].views = 5; /* the first and the third */
        stk_step_init(&s[1], STK_STEP_TRIVIAL_AUGMENT);
        for (int v = STK_ERASE_CONSTANT; v <= STK_ERASE_COLOR && mix.mode == STK_MIX_BATCH; v++) {
            set_erase(&s[2], (stk_erase_value)v, 3);
            if (v == STK_ERASE_CONSTANT) s[2].erase_constant[2] = 3; /* what is mixed must be finite */
            compare_everywhere("mix behind steps", s, 3, mix);
        }
    }
}

/* ---- Bad samples: zero whatever is asked for, and mixed with none. */

static void bad_records_stay_zero(void)
{
    const char *path = temporary("bad.stk");
    stk_step s[2];
    image_shard(path, N, WIDTH, HEIGHT, 3);
    stk_dataset *bad = run_open(path);
    for (uint64_t i = 3; i < N; i += 7) damage_record(path, bad, i);
    stk_step_init(&s[0], STK_STEP_OP);
    s[0].op = STK_OP_INVERT;
    set_erase(&s[1], STK_ERASE_PIXEL, 2);
    const stk_mix both = {.mixup_alpha = 1, .cutmix_alpha = 1, .probability = 1, .switch_probability = 0.5};
    for (uint32_t f = 0; f < 5; f++)
        for (int mode = STK_MIX_BATCH; mode <= STK_MIX_PAIR; mode++) {
            stk_mix mix = both;
            mix.mode = (stk_mix_mode)mode;
            compare("bad records", bad, f, s, 2, mix);
        }
    stk_dataset_close(&bad);
}

/* ---- Devices that fail in the midst of it: a status, and nothing left behind. */

/* Opens an uploader on such a device and takes some batches; the first status that is not STK_OK. */
static stk_status run_on(const char *backend, uint32_t number, bool *opened)
{
    stk_loader_options o;
    stk_uploader_options uo;
    stk_uploader *u = NULL;
    stk_step s[3];
    set_options(&FORMS[number], &o, &uo);
    uo.backend = backend;
    set_jitter(&s[0]);
    stk_step_init(&s[1], STK_STEP_BLUR);
    set_erase(&s[2], STK_ERASE_PIXEL, 2);
    o.transform.steps = s;
    o.transform.n_steps = 3;
    o.transform.mix.mixup_alpha = 1;
    stk_status status = stk_uploader_open(color, &o, &uo, &u, &error);
    *opened = status == STK_OK;
    for (int i = 0; i < 3 && status == STK_OK; i++) {
        stk_device_batch *b = NULL;
        status = stk_uploader_next(u, NULL, -1, &b, &error);
        if (status == STK_END) status = STK_OK;
        stk_device_batch_release(b, NULL);
    }
    stk_uploader_close(&u);
    return status;
}

static void a_full_device(void)
{
    for (uint32_t f = 0; f < 4; f++) {
        int failed_later = 0;
        bool fits = false, opened;
        for (uint64_t memory = 1 << 12; memory < 1 << 24 && !fits; memory += memory / 4) {
            char backend[64];
            snprintf(backend, sizeof backend, "dummy:memory=%llu", (unsigned long long)memory);
            stk_status status = run_on(backend, f, &opened);
            CHECK(status == STK_OK || status == STK_ERR_MEMORY);
            failed_later += opened && status != STK_OK;
            fits = status == STK_OK;
        }
        CHECK(fits && failed_later > 0);
    }
}

static void a_lost_device(void)
{
    for (uint32_t f = 0; f < 4; f++)
        for (int n = 1; n <= 4; n++) { /* two batches, of stages and of steps */
            char backend[64];
            bool opened;
            snprintf(backend, sizeof backend, "dummy:lost=%d", n);
            CHECK_EQ(run_on(backend, f, &opened), STK_ERR_DEVICE);
        }
}

/* ---- What is said of it. */

static void expect(stk_decode decode, const stk_step *step, stk_mix mix, const char *text)
{
    stk_loader_options o;
    stk_uploader_options uo;
    stk_uploader *u = NULL;
    stk_uploader_stats stats;
    set_options(&FORMS[0], &o, &uo);
    uo.decode = decode;
    o.transform.steps = step;
    o.transform.n_steps = step != NULL;
    o.transform.mix = mix;
    CHECK_OK(stk_uploader_open(color, &o, &uo, &u, &error));
    stk_uploader_get_stats(u, &stats);
    CHECK(strncmp(stats.decode, text, strlen(text)) == 0);
    stk_uploader_close(&u);
}

static void auto_leaves_steps_to_the_cpu(void)
{
    const stk_mix mix = {.mixup_alpha = 1, .probability = 1};
    const char *unasked = "cpu: steps on the GPU are asked for by decode=gpu";
    stk_step s;
    stk_step_init(&s, STK_STEP_RAND_AUGMENT);
    expect(STK_DECODE_AUTO, &s, NO_MIX, unasked);
    expect(STK_DECODE_AUTO, NULL, mix, unasked);
    expect(STK_DECODE_CPU, &s, NO_MIX, "cpu: asked for");
    expect(STK_DECODE_GPU, &s, mix, "gpu: asked for");
}

int main(void)
{
    const char *path = temporary("color.stk"), *other = temporary("grey.stk");
    image_shard(path, N, WIDTH, HEIGHT, 3);
    image_shard(other, N, WIDTH, HEIGHT, 1);
    color = run_open(path);
    grey = run_open(other);
    RUN(every_operation);
    RUN(every_affine);
    RUN(every_blur);
    RUN(every_policy);
    RUN(every_way_to_erase);
    RUN(every_way_to_mix);
    RUN(bad_records_stay_zero);
    RUN(a_full_device);
    RUN(a_lost_device);
    RUN(auto_leaves_steps_to_the_cpu);
    stk_dataset_close(&color);
    stk_dataset_close(&grey);
    return check_exit();
}
