/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of gpu_upload/cuda/steps.cuh themselves (their indices, grids, reductions and order of launches), compiled
 * as C and run by threads: against the dummy back end on the same descriptors, and both against codec/pixel_ops.h. */
#include "support/emulated_cuda.h"

#include "gpu_upload/cuda/steps.cuh"

#include "codec/pixel_ops.h"
#include "common/rng.h"
#include "gpu_upload/dummy_steps.h"
#include "gpu_upload/steps_plan.h"

static stk_error error;

/* A batch, and memory for one side's run of it. */
typedef struct shape {
    uint32_t width, height, channels, n, n_views;
    stk_dtype dtype;
    stk_layout layout;
    uint32_t bgr;
} shape;

static const shape SHAPES[] = {
    {224, 130, 3, 3, 1, STK_DTYPE_F16, STK_LAYOUT_NHWC, 0},  /* several blocks a picture */
    {31, 33, 3, 14, 2, STK_DTYPE_U8, STK_LAYOUT_NCHW, 1},
    {64, 64, 3, 4, 1, STK_DTYPE_F32, STK_LAYOUT_NCHW, 0}, /* a picture is a block to the pixel */
    {65, 63, 1, 5, 1, STK_DTYPE_BF16, STK_LAYOUT_NHWC, 0},
    {1, 1, 3, 2, 2, STK_DTYPE_F16, STK_LAYOUT_NCHW, 0},
    {4097, 1, 3, 2, 1, STK_DTYPE_BF16, STK_LAYOUT_NHWC, 1},
    {3, 2, 1, 6, 3, STK_DTYPE_U8, STK_LAYOUT_NHWC, 0},
};

static stk_gpu_output output_of(const shape *s)
{
    stk_gpu_output o = {.width = s->width, .height = s->height, .channels = s->channels, .dtype = s->dtype,
                        .layout = s->layout, .bgr = s->bgr};
    o.image_bytes = (uint64_t)s->width * s->height * s->channels * (s->dtype == STK_DTYPE_U8 ? 1 : s->dtype == STK_DTYPE_F32 ? 4 : 2);
    return o;
}

/* ---- Random pictures and operations. */

static void paint(const shape *s, uint32_t entry, uint8_t *pixels)
{
    stk_rng rng = stk_rng_for(1, s->width, entry, 0, 0, STK_PURPOSE_CROP);
    const size_t n = (size_t)s->width * s->height * s->channels;
    const uint64_t span = entry % 3 == 0 ? 256 : entry % 3 == 1 ? 40 : 1; /* of all values, of some, of one */
    const uint8_t low = (uint8_t)stk_rng_below(&rng, 257 - span);
    for (size_t i = 0; i < n; i++) pixels[i] = (uint8_t)(low + stk_rng_below(&rng, span));
}

static double between(stk_rng *rng, double low, double high) { return low + (high - low) * stk_rng_double(rng); }

static void draw_op(stk_rng *rng, stk_op_kind kind, stk_pixel_op *op)
{
    static const stk_filter filters[3] = {STK_FILTER_NEAREST, STK_FILTER_BILINEAR, STK_FILTER_BICUBIC};
    static const double ranges[STK_OP_AFFINE + 1][2] = {
        [STK_OP_SHEAR_X] = {-2, 2},     [STK_OP_SHEAR_Y] = {-2, 2},      [STK_OP_TRANSLATE_X] = {-40, 40},
        [STK_OP_TRANSLATE_Y] = {-40, 40}, [STK_OP_ROTATE] = {-300, 400},   [STK_OP_BRIGHTNESS] = {0, 3},
        [STK_OP_SATURATION] = {0, 3},   [STK_OP_CONTRAST] = {0, 3},      [STK_OP_SHARPNESS] = {0, 3},
        [STK_OP_POSTERIZE] = {0, 8.9},  [STK_OP_SOLARIZE] = {-10, 270},  [STK_OP_HUE] = {-0.5, 0.5},
        [STK_OP_BLUR] = {0.2, 4},       [STK_OP_SOLARIZE_ADD] = {0, 255}, [STK_OP_BOX_BLUR] = {0, 9},
    };
    *op = (stk_pixel_op){.kind = kind, .value = between(rng, ranges[kind][0], ranges[kind][1]),
                         .filter = filters[stk_rng_below(rng, 3)], .fill = {7, 77, 177}, .kernel_width = 5, .kernel_height = 9};
    if (kind == STK_OP_ROTATE && stk_rng_below(rng, 2) == 0) op->value = 90.0 * (double)stk_rng_below(rng, 5);
    if (kind == STK_OP_TRANSLATE_X && stk_rng_below(rng, 2) == 0) op->value = (double)stk_rng_below(rng, 9);
    if (kind == STK_OP_SHEAR_Y && stk_rng_below(rng, 4) == 0) op->value *= 1e5;
    const bool upright = stk_rng_below(rng, 2) == 0; /* scaled and shifted, no more */
    for (int i = 0; i < 6; i++)
        op->matrix[i] = i % 3 == 2 ? between(rng, -9, 9) : i % 4 == 0 ? between(rng, 0.5, 2) : upright ? 0 : between(rng, -1, 1);
}

/* kind IDENTITY: several operations of any kind. */
static void draw_steps(const shape *s, uint32_t entry, stk_op_kind kind, uint32_t n_boxes, stk_drawn_steps *out)
{
    stk_rng rng = stk_rng_for(2, (uint64_t)kind, entry, s->width, 0, STK_PURPOSE_CROP);
    out->n_ops = kind == STK_OP_IDENTITY ? (uint32_t)stk_rng_below(&rng, 9) : 1;
    for (uint32_t k = 0; k < out->n_ops; k++)
        draw_op(&rng, kind == STK_OP_IDENTITY ? (stk_op_kind)(1 + stk_rng_below(&rng, STK_OP_AFFINE)) : kind, &out->ops[k]);
    out->n_boxes = n_boxes;
    for (uint32_t b = 0; b < n_boxes; b++) {
        stk_box *box = &out->boxes[b];
        box->width = (int32_t)stk_rng_below(&rng, s->width + 1);
        box->height = (int32_t)stk_rng_below(&rng, s->height + 1);
        box->x = (int32_t)stk_rng_below(&rng, s->width - (uint64_t)box->width + 1);
        box->y = (int32_t)stk_rng_below(&rng, s->height - (uint64_t)box->height + 1);
    }
}

/* ---- The two sides. */

typedef struct side {
    uint8_t *room, *out;
} side;

static side new_side(const shape *s, const stk_steps_plan *p, const stk_gpu_output *o)
{
    const size_t room = (size_t)stk_steps_plan_room(p).n_bytes, out = (size_t)(o->image_bytes * s->n);
    side made = {malloc(room + 1), malloc(out)};
    if (made.room == NULL || made.out == NULL) exit(1);
    memset(made.room, 0xa5, room);
    memset(made.out, 0x5a, out);
    for (uint32_t e = 0; e < s->n; e++) paint(s, e, made.room + e * p->image_bytes);
    return made;
}

static void free_side(side *s)
{
    free(s->room);
    free(s->out);
}

static float normal[STK_NORMAL_BINS + 1];
static uint32_t norm[3 * 256]; /* of any bits, but finite ones */

static void fill(const stk_steps_plan *p, stk_erase_value erased, const stk_gpu_image *images, const side *mine, stk_gpu_steps *out)
{
    stk_steps_fill(p, p->block.data, mine->room, out);
    out->normal = normal;
    out->norm = norm;
    out->out = mine->out;
    out->images = images;
    out->erase_value = erased;
    for (int c = 0; c < 3; c++) {
        out->constants[c] = 17u + (uint32_t)c;
        out->mean[c] = 0.4f + 0.1f * (float)c;
        out->std[c] = 0.2f;
    }
}

/* The pictures as the CPU's code makes them. */
static void compare_pictures(const shape *s, const stk_steps_plan *p, stk_op_kind kind, const side *made)
{
    static stk_drawn_steps drawn;
    stk_buffer scratch = {0};
    const stk_gpu_entry *entries = (const stk_gpu_entry *)(const void *)p->entries.data;
    uint8_t *pixels = malloc((size_t)p->image_bytes + 64);
    if (pixels == NULL) exit(1);
    for (uint32_t e = 0; e < s->n; e++) {
        if (entries[e].bad) continue;
        paint(s, e, pixels);
        draw_steps(s, e, kind, 0, &drawn);
        const stk_picture picture = {pixels, s->width, s->height, s->channels};
        CHECK_OK(stk_pixel_ops_run(STK_FAMILY_SCALAR, &picture, drawn.ops, drawn.n_ops, &scratch, &error));
        CHECK(memcmp(pixels, made->room + entries[e].picture, (size_t)p->image_bytes) == 0);
    }
    free(pixels);
    stk_buffer_free(&scratch);
}

/* mixings: of the samples, or NULL. */
static void compare(const shape *s, stk_op_kind kind, uint32_t n_boxes, stk_erase_value erased, const stk_mixing *mixings)
{
    static stk_drawn_steps drawn;
    const stk_gpu_output o = output_of(s);
    stk_steps_plan p = {0};
    stk_gpu_image *images = calloc(s->n, sizeof *images);
    stk_gpu_steps steps;
    if (images == NULL) exit(1);
    images[s->n - 1].bad = mixings != NULL && mixings[0].cut; /* bits that the device finds bad */
    stk_steps_plan_begin(&p, s->n, &o, erased);
    for (uint32_t e = 0; e < s->n; e++) {
        draw_steps(s, e, kind, n_boxes, &drawn);
        CHECK_OK(stk_steps_plan_add(&p, e == 1 && n_boxes == 2 ? NULL : &drawn, stk_mix64(e), &error));
    }
    CHECK_OK(stk_steps_plan_end(&p, s->n_views, mixings, &error));
    side dummy = new_side(s, &p, &o), kernels = new_side(s, &p, &o);
    fill(&p, erased, images, &dummy, &steps);
    stk_dummy_steps(&steps);
    fill(&p, erased, images, &kernels, &steps);
    launch_steps(&steps);
    compare_pictures(s, &p, kind, &kernels);
    CHECK(memcmp(dummy.out, kernels.out, (size_t)(o.image_bytes * s->n)) == 0);
    CHECK(memcmp(dummy.room, kernels.room, (size_t)(p.image_bytes * s->n)) == 0);
    free_side(&dummy);
    free_side(&kernels);
    stk_steps_plan_free(&p);
    free(images);
}

enum { N_SHAPES = sizeof SHAPES / sizeof SHAPES[0] };
static const stk_mixing *const NOT = NULL;

static void every_operation(void)
{
    for (int k = STK_OP_SHEAR_X; k <= STK_OP_AFFINE; k++)
        for (int i = 0; i < N_SHAPES; i++) compare(&SHAPES[i], (stk_op_kind)k, 0, STK_ERASE_CONSTANT, NOT);
}

static void many_operations(void)
{
    for (int i = 0; i < N_SHAPES; i++) compare(&SHAPES[i], STK_OP_IDENTITY, 0, STK_ERASE_CONSTANT, NOT);
}

/* Each sample with the one before it, by shares; with the next one but one, by boxes; or any of both, and some not. */
static void choose_mixing(const shape *s, int way, stk_mixing *out)
{
    const uint32_t n = s->n / s->n_views;
    for (uint32_t i = 0; i < n; i++) {
        stk_rng rng = stk_rng_for(3, i, s->width, (uint32_t)way, 0, STK_PURPOSE_CROP);
        const bool cut = way == 1 || (way == 2 && stk_rng_below(&rng, 2) == 0);
        const int32_t width = (int32_t)stk_rng_below(&rng, s->width + 1), height = (int32_t)stk_rng_below(&rng, s->height + 1);
        out[i] = (stk_mixing){.partner = way == 0 ? (i + n - 1) % n : way == 1 ? (i + 2) % n : (uint32_t)stk_rng_below(&rng, n),
                              .cut = cut, .share = (double)(float)stk_rng_double(&rng)};
        out[i].box = (stk_box){(int32_t)stk_rng_below(&rng, s->width - (uint64_t)width + 1),
                               (int32_t)stk_rng_below(&rng, s->height - (uint64_t)height + 1), width, height};
    }
}

static void finishing(void)
{
    for (int i = 0; i < N_SHAPES; i++)
        for (int v = STK_ERASE_CONSTANT; v <= STK_ERASE_COLOR; v++)
            for (uint32_t boxes = 0; boxes <= 2; boxes++)
                for (int way = 0; way < 3; way++) {
                    stk_mixing mixings[16];
                    choose_mixing(&SHAPES[i], way, mixings);
                    compare(&SHAPES[i], STK_OP_INVERT, boxes, (stk_erase_value)v, mixings);
                }
}

/* Blocks of another size, and planes that blurs must take turns with. */
static void other_geometries(void)
{
    const shape wide = {900, 700, 3, 20, 1, STK_DTYPE_U8, STK_LAYOUT_NHWC, 0}; /* 17 planes fit */
    emulated_threads = 32;
    compare(&wide, STK_OP_BLUR, 0, STK_ERASE_CONSTANT, NOT);
    many_operations();
    emulated_threads = 1;
    compare(&SHAPES[1], STK_OP_EQUALIZE, 1, STK_ERASE_PIXEL, NOT);
    emulated_threads = 13;
}

int main(void)
{
    stk_normal_fill(normal);
    for (uint32_t i = 0; i < 3 * 256; i++) norm[i] = (i % 2 ? 0x3c003f80u : 0xbc00bf80u) + i * 3 / 2 * 0x00010001u;
    RUN(every_operation);
    RUN(many_operations);
    RUN(finishing);
    RUN(other_geometries);
    return check_exit();
}
