/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_upload/steps_plan.h"

#include <string.h>

#include "common/fail.h"
#include "common/op_values.h"

/* Planes of floats are four pictures large: blurs of a round take turns when they would need more than this. */
enum { ALIGN = 256, PLANES_BYTES = 128 << 20 };

/* A Gaussian blur of Pillow's is several operations here, one a pass. */
enum { PASSES = 2 * STK_BOX_PASSES, MOST_ROUNDS = STK_DRAWN_OPS_MAX * PASSES };

/* The round and class of a drawn operation: what it is sorted by. */
typedef uint32_t place;

static uint64_t align(uint64_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

void stk_steps_plan_free(stk_steps_plan *p)
{
    stk_buffer *all[] = {&p->drawn, &p->places, &p->ops, &p->rounds, &p->boxes, &p->weights, &p->entries, &p->block};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) stk_buffer_free(all[i]);
}

stk_gpu_output stk_steps_picture(const stk_gpu_output *output)
{
    stk_gpu_output o = *output;
    o.dtype = STK_DTYPE_U8;
    o.layout = STK_LAYOUT_NHWC;
    o.bgr = 0;
    o.image_bytes = (uint64_t)o.width * o.height * o.channels;
    return o;
}

/* ---- Operations that move pixels. */

/* Nearest neighbour with steps of one pixel along an axis: Pillow adds positions up. True when output j shows input
 * j + *offset wherever that is inside, and nothing elsewhere. */
static bool is_shift(double at, uint32_t size, int64_t *offset)
{
    uint32_t first = 0, end = 0;
    *offset = (int64_t)size; /* all outside */
    for (uint32_t j = 0; j < size; j++, at += 1.0) {
        const int64_t from = stk_op_coordinate(at);
        if (from < 0 || from >= (int64_t)size) continue;
        if (end == 0) {
            first = j;
            *offset = from - (int64_t)j;
        } else if (end != j || from - (int64_t)j != *offset) {
            return false;
        }
        end = j + 1;
    }
    if (end == 0) return true;
    return (first == 0 || (int64_t)first + *offset == 0) && (end == size || (int64_t)end + *offset == (int64_t)size);
}

static void set_fixed(stk_gpu_op *op, const int64_t f[6])
{
    op->kind = STK_GPU_OP_FIXED;
    memcpy(op->map.fixed, f, sizeof op->map.fixed);
}

/* Where the pixels along an axis come from, positions added up as Pillow does. */
static stk_status list_places(stk_steps_plan *p, double at, double step, uint32_t size, stk_error *error)
{
    const size_t begin = p->weights.n_bytes;
    STK_TRY(stk_buffer_resize(&p->weights, begin + size * sizeof(float), error));
    float *places = (float *)(void *)(p->weights.data + begin);
    for (uint32_t j = 0; j < size; j++, at += step) places[j] = at < 0.0 || at >= (double)size ? -1 : (float)(uint32_t)at;
    return STK_OK;
}

/* As pixel_ops_affine.c chooses. */
static stk_status choose_nearest(stk_steps_plan *p, stk_gpu_op *op, const double m[6], stk_error *error)
{
    const uint32_t width = p->output.width, height = p->output.height;
    int64_t f[6], dx, dy;
    op->kind = STK_GPU_OP_WALK;
    memcpy(op->map.m, m, sizeof op->map.m);
    if (m[1] == 0 && m[3] == 0) {
        if (m[0] == 1 && m[4] == 1 && is_shift(m[2] + 0.5, width, &dx) && is_shift(m[5] + 0.5, height, &dy)) {
            set_fixed(op, (const int64_t[6]){65536, 0, dx * 65536, 0, 65536, dy * 65536});
            return STK_OK;
        }
        op->kind = STK_GPU_OP_PLACES;
        op->weights = (uint32_t)(p->weights.n_bytes / sizeof(float));
        STK_TRY(list_places(p, m[2] + m[0] * 0.5, m[0], width, error));
        STK_TRY(list_places(p, m[5] + m[4] * 0.5, m[4], height, error));
    } else if (stk_op_fits_fixed(m, width, height)) {
        stk_op_fixed(m, f);
        set_fixed(op, f);
    }
    return STK_OK;
}

/* Pixel (x, y) comes from (w - 1 - x, h - 1 - y), or of a square picture from (w - 1 - y, x) or (y, h - 1 - x). */
static bool choose_quarters(stk_gpu_op *op, double angle, uint32_t width, uint32_t height)
{
    const int64_t one = 65536, right = ((int64_t)width - 1) * one, bottom = ((int64_t)height - 1) * one;
    if (angle == 180.0) set_fixed(op, (const int64_t[6]){-one, 0, right, 0, -one, bottom});
    else if (angle == 90.0 && width == height) set_fixed(op, (const int64_t[6]){0, -one, right, one, 0, 0});
    else if (angle == 270.0 && width == height) set_fixed(op, (const int64_t[6]){0, one, 0, -one, 0, bottom});
    else return false;
    return true;
}

/* *on is false when nothing is to be done. */
static stk_status choose_affine(stk_steps_plan *p, stk_gpu_op *op, const stk_pixel_op *drawn, bool *on, stk_error *error)
{
    const uint32_t width = p->output.width, height = p->output.height;
    const double angle = drawn->kind == STK_OP_ROTATE ? stk_op_degrees(drawn->value) : 0;
    double m[6] = {1, 0, 0, 0, 1, 0};
    memcpy(op->fill, drawn->fill, sizeof op->fill);
    switch ((int)drawn->kind) {
    case STK_OP_SHEAR_X: m[1] = drawn->value; break;
    case STK_OP_SHEAR_Y: m[3] = drawn->value; break;
    case STK_OP_TRANSLATE_X: m[2] = -drawn->value; break;
    case STK_OP_TRANSLATE_Y: m[5] = -drawn->value; break;
    case STK_OP_AFFINE: memcpy(m, drawn->matrix, sizeof m); break;
    default:
        *on = angle != 0;
        if (!*on || choose_quarters(op, angle, width, height)) return STK_OK;
        stk_op_rotation(width, height, angle, m);
    }
    if (drawn->filter == STK_FILTER_BILINEAR || drawn->filter == STK_FILTER_BICUBIC) {
        op->kind = drawn->filter == STK_FILTER_BILINEAR ? STK_GPU_OP_BILINEAR : STK_GPU_OP_BICUBIC;
        memcpy(op->map.m, m, sizeof op->map.m);
        return STK_OK;
    }
    return choose_nearest(p, op, m, error);
}

/* ---- One operation. */

static stk_status choose_blur(stk_steps_plan *p, stk_gpu_op *op, const stk_pixel_op *drawn, stk_error *error)
{
    float across[STK_BLUR_MAX], down[STK_BLUR_MAX];
    op->kind = STK_GPU_OP_BLUR;
    op->kernel_width = drawn->kernel_width;
    op->kernel_height = drawn->kernel_height;
    op->weights = (uint32_t)(p->weights.n_bytes / sizeof(float));
    stk_op_gaussian(op->kernel_width, drawn->value, across);
    stk_op_gaussian(op->kernel_height, drawn->value, down);
    STK_TRY(stk_buffer_append(&p->weights, across, op->kernel_width * sizeof *across, error));
    return stk_buffer_append(&p->weights, down, op->kernel_height * sizeof *down, error);
}

/* The first of its passes. */
static bool choose_box(stk_gpu_op *op, const stk_pixel_op *drawn)
{
    stk_box_weights w;
    if (!stk_op_box((float)drawn->value, &w)) return false;
    op->kind = STK_GPU_OP_BOX;
    op->map.box.radius = w.radius;
    op->map.box.whole = w.whole;
    op->map.box.part = w.part;
    return true;
}

static void set(stk_gpu_op *op, uint32_t kind, uint32_t whole)
{
    op->kind = kind;
    op->whole = whole;
}

/* Fills *op; *on is false where the operation changes nothing. */
static stk_status choose_op(stk_steps_plan *p, const stk_pixel_op *drawn, stk_gpu_op *op, bool *on, stk_error *error)
{
    const stk_gpu_output *o = &p->output;
    const int64_t height = o->height;
    op->alpha = (float)drawn->value;
    *on = true;
    switch (drawn->kind) {
    case STK_OP_IDENTITY: *on = false; break;
    case STK_OP_SHEAR_X:
    case STK_OP_SHEAR_Y:
    case STK_OP_TRANSLATE_X:
    case STK_OP_TRANSLATE_Y:
    case STK_OP_ROTATE:
    case STK_OP_AFFINE: return choose_affine(p, op, drawn, on, error);
    case STK_OP_BRIGHTNESS: op->kind = STK_GPU_OP_BRIGHTNESS; break;
    case STK_OP_CONTRAST: op->kind = STK_GPU_OP_CONTRAST; break;
    case STK_OP_SATURATION:
    case STK_OP_GRAYSCALE:
        op->kind = drawn->kind == STK_OP_SATURATION ? STK_GPU_OP_SATURATION : STK_GPU_OP_GRAYSCALE;
        *on = o->channels == 3;
        break;
    case STK_OP_HUE:
        set(op, STK_GPU_OP_HUE, (uint8_t)(int32_t)(drawn->value * 255.0));
        *on = o->channels == 3;
        break;
    case STK_OP_SHARPNESS:
        op->kind = STK_GPU_OP_SHARPNESS;
        *on = o->width >= 3 && o->height >= 3;
        break;
    case STK_OP_POSTERIZE:
        set(op, STK_GPU_OP_MASK, (uint8_t)(drawn->value >= 8 ? 255u : 255u << (8 - (uint32_t)drawn->value)));
        break;
    case STK_OP_SOLARIZE: set(op, STK_GPU_OP_SOLARIZE, (uint32_t)stk_op_threshold(drawn->value)); break;
    case STK_OP_INVERT: set(op, STK_GPU_OP_SOLARIZE, 0); break;
    case STK_OP_SOLARIZE_ADD: set(op, STK_GPU_OP_SOLARIZE_ADD, (uint32_t)drawn->value); break;
    case STK_OP_AUTOCONTRAST: op->kind = STK_GPU_OP_AUTOCONTRAST; break;
    case STK_OP_EQUALIZE: op->kind = STK_GPU_OP_EQUALIZE; break;
    case STK_OP_FLIP_VERTICAL: set_fixed(op, (const int64_t[6]){65536, 0, 0, 0, -65536, (height - 1) * 65536}); break;
    case STK_OP_BLUR: return choose_blur(p, op, drawn, error);
    case STK_OP_BOX_BLUR: *on = choose_box(op, drawn); break;
    }
    return STK_OK;
}

static uint32_t class_of(uint32_t kind)
{
    return kind <= STK_GPU_OP_EQUALIZE    ? STK_GPU_CLASS_COUNTED
           : kind <= STK_GPU_OP_HUE       ? STK_GPU_CLASS_POINT
           : kind <= STK_GPU_OP_BOX       ? STK_GPU_CLASS_MOVED
                                          : STK_GPU_CLASS_BLURRED;
}

/* ---- Entries. */

void stk_steps_plan_begin(stk_steps_plan *p, uint32_t n, const stk_gpu_output *output, stk_erase_value erased)
{
    stk_buffer *all[] = {&p->drawn, &p->places, &p->ops, &p->rounds, &p->boxes, &p->weights, &p->entries, &p->block};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) all[i]->n_bytes = 0;
    p->output = *output;
    p->erased = erased;
    p->image_bytes = stk_steps_picture(output).image_bytes;
    p->n = n;
    p->n_added = p->n_counted = p->n_blurs = 0;
    p->moves = false;
}

/* The entry's picture on its way: in which of its two places, and how many rounds it has behind it. */
typedef struct picture {
    uint64_t places[2];
    uint32_t at, round;
} picture;

static stk_status add_op(stk_steps_plan *p, stk_gpu_op *op, picture *where, stk_error *error)
{
    const uint32_t class = class_of(op->kind);
    const place sorted = where->round++ * STK_GPU_CLASSES + class;
    op->from = where->places[where->at];
    if (class == STK_GPU_CLASS_MOVED) where->at ^= 1;
    op->to = where->places[where->at];
    p->moves |= class == STK_GPU_CLASS_MOVED;
    STK_TRY(stk_buffer_append(&p->places, &sorted, sizeof sorted, error));
    return stk_buffer_append(&p->drawn, op, sizeof *op, error);
}

static stk_status add_ops(stk_steps_plan *p, const stk_drawn_steps *drawn, stk_gpu_entry *entry, stk_error *error)
{
    picture where = {.places = {p->n_added * p->image_bytes, ((uint64_t)p->n + p->n_added) * p->image_bytes}};
    for (uint32_t k = 0; k < drawn->n_ops; k++) {
        stk_gpu_op op = {.kind = 0};
        bool on;
        STK_TRY(choose_op(p, &drawn->ops[k], &op, &on, error));
        const uint32_t times = !on ? 0 : op.kind == STK_GPU_OP_BOX ? PASSES : 1;
        for (uint32_t i = 0; i < times; i++) {
            if (op.kind == STK_GPU_OP_BOX) op.map.box.down = i >= STK_BOX_PASSES; /* rows come first */
            STK_TRY(add_op(p, &op, &where, error));
        }
    }
    entry->picture = where.places[where.at];
    return STK_OK;
}

static stk_status add_boxes(stk_steps_plan *p, const stk_drawn_steps *drawn, stk_gpu_entry *entry, stk_error *error)
{
    uint64_t first = 0;
    entry->first_box = (uint32_t)(p->boxes.n_bytes / sizeof(stk_gpu_erased));
    entry->n_boxes = drawn->n_boxes;
    for (uint32_t b = 0; b < drawn->n_boxes; b++) {
        const stk_box *box = &drawn->boxes[b];
        const stk_gpu_erased erased = {box->x, box->y, box->width, box->height, first};
        const uint64_t values = p->erased == STK_ERASE_COLOR ? 1 : (uint64_t)box->width * (uint64_t)box->height;
        first += values * p->output.channels;
        STK_TRY(stk_buffer_append(&p->boxes, &erased, sizeof erased, error));
    }
    return STK_OK;
}

stk_status stk_steps_plan_add(stk_steps_plan *p, const stk_drawn_steps *drawn, uint64_t stream, stk_error *error)
{
    stk_gpu_entry entry = {.picture = p->n_added * p->image_bytes, .stream = stream, .bad = drawn == NULL, .partner = p->n_added};
    if (drawn != NULL) {
        STK_TRY(add_ops(p, drawn, &entry, error));
        STK_TRY(add_boxes(p, drawn, &entry, error));
    }
    p->n_added++;
    return stk_buffer_append(&p->entries, &entry, sizeof entry, error);
}

/* ---- Rounds. */

static uint32_t more(uint32_t a, uint32_t b) { return a > b ? a : b; }

static uint32_t planes_at_once(const stk_steps_plan *p)
{
    const uint64_t plane = p->image_bytes * sizeof(float), fit = plane > 0 ? PLANES_BYTES / plane : 0;
    return fit == 0 ? 1 : fit < p->n_blurs ? (uint32_t)fit : more(p->n_blurs, 1);
}

/* The rounds' extents by class; starts[]: where each place's operations go. */
static stk_status count_rounds(stk_steps_plan *p, uint32_t *starts, uint32_t *n_rounds, stk_error *error)
{
    const place *places = (const place *)(const void *)p->places.data;
    const size_t n = p->places.n_bytes / sizeof *places;
    *n_rounds = 0;
    for (size_t i = 0; i < n; i++) {
        starts[places[i]]++;
        *n_rounds = more(*n_rounds, places[i] / STK_GPU_CLASSES + 1);
    }
    for (uint32_t r = 0, first = 0; r < *n_rounds; r++) {
        stk_gpu_round round = {.first = first};
        for (uint32_t c = 0; c < STK_GPU_CLASSES; c++) {
            round.n[c] = starts[r * STK_GPU_CLASSES + c];
            starts[r * STK_GPU_CLASSES + c] = first;
            first += round.n[c];
        }
        p->n_counted = more(p->n_counted, round.n[STK_GPU_CLASS_COUNTED]);
        p->n_blurs = more(p->n_blurs, round.n[STK_GPU_CLASS_BLURRED]);
        STK_TRY(stk_buffer_append(&p->rounds, &round, sizeof round, error));
    }
    return STK_OK;
}

static stk_status sort_ops(stk_steps_plan *p, stk_error *error)
{
    uint32_t starts[MOST_ROUNDS * STK_GPU_CLASSES] = {0}, n_rounds;
    const place *places = (const place *)(const void *)p->places.data;
    const stk_gpu_op *drawn = (const stk_gpu_op *)(const void *)p->drawn.data;
    const size_t n = p->places.n_bytes / sizeof *places;
    STK_TRY(count_rounds(p, starts, &n_rounds, error));
    STK_TRY(stk_buffer_resize(&p->ops, n * sizeof *drawn, error));
    const stk_gpu_round *rounds = (const stk_gpu_round *)(const void *)p->rounds.data;
    const uint32_t at_once = planes_at_once(p);
    for (size_t i = 0; i < n; i++) {
        const stk_gpu_round *r = &rounds[places[i] / STK_GPU_CLASSES];
        const uint32_t class = places[i] % STK_GPU_CLASSES, at = starts[places[i]]++;
        stk_gpu_op *op = (stk_gpu_op *)(void *)p->ops.data + at;
        *op = drawn[i];
        if (class == STK_GPU_CLASS_COUNTED) op->slot = at - r->first;
        if (class == STK_GPU_CLASS_BLURRED)
            op->slot = (at - r->first - r->n[STK_GPU_CLASS_COUNTED] - r->n[STK_GPU_CLASS_POINT] - r->n[STK_GPU_CLASS_MOVED]) % at_once;
    }
    return STK_OK;
}

static stk_status append_part(stk_buffer *block, const stk_buffer *part, uint64_t *at, stk_error *error)
{
    STK_TRY(stk_buffer_resize(block, (size_t)align(block->n_bytes), error));
    *at = block->n_bytes;
    return stk_buffer_append(block, part->data, part->n_bytes, error);
}

static void set_mixing(stk_gpu_entry *e, uint32_t n_views, uint32_t view, const stk_mixing *m)
{
    e->partner = m->partner * n_views + view;
    e->cut = m->cut;
    e->box_x = m->box.x;
    e->box_y = m->box.y;
    e->box_width = m->box.width;
    e->box_height = m->box.height;
    e->share = (float)m->share;
    e->other = (float)(1.0 - m->share);
}

stk_status stk_steps_plan_end(stk_steps_plan *p, uint32_t n_views, const stk_mixing *mixings, stk_error *error)
{
    stk_gpu_entry *entries = (stk_gpu_entry *)(void *)p->entries.data;
    for (uint32_t e = 0; e < p->n && mixings != NULL; e++) set_mixing(&entries[e], n_views, e % n_views, &mixings[e / n_views]);
    STK_TRY(sort_ops(p, error));
    STK_TRY(append_part(&p->block, &p->ops, &p->ops_at, error));
    STK_TRY(append_part(&p->block, &p->entries, &p->entries_at, error));
    STK_TRY(append_part(&p->block, &p->boxes, &p->boxes_at, error));
    return append_part(&p->block, &p->weights, &p->weights_at, error);
}

stk_steps_room stk_steps_plan_room(const stk_steps_plan *p)
{
    stk_steps_room room = {.planes_at_once = p->n_blurs > 0 ? planes_at_once(p) : 0};
    room.counted_at = align(p->n * p->image_bytes * (p->moves ? 2 : 1));
    room.planes_at = room.counted_at + align((uint64_t)p->n_counted * sizeof(stk_gpu_counted));
    room.n_bytes = room.planes_at + room.planes_at_once * p->image_bytes * sizeof(float);
    return room;
}

void stk_steps_fill(const stk_steps_plan *p, const uint8_t *block, uint8_t *room, stk_gpu_steps *out)
{
    const stk_steps_room r = stk_steps_plan_room(p);
    *out = (stk_gpu_steps){
        .ops = (const stk_gpu_op *)(const void *)(block + p->ops_at),
        .entries = (const stk_gpu_entry *)(const void *)(block + p->entries_at),
        .boxes = (const stk_gpu_erased *)(const void *)(block + p->boxes_at),
        .weights = (const float *)(const void *)(block + p->weights_at),
        .pictures = room,
        .counted = (stk_gpu_counted *)(void *)(room + r.counted_at),
        .planes = (float *)(void *)(room + r.planes_at),
        .planes_at_once = r.planes_at_once,
        .n = p->n,
        .output = p->output,
        .rounds = (const stk_gpu_round *)(const void *)p->rounds.data,
        .n_rounds = (uint32_t)(p->rounds.n_bytes / sizeof(stk_gpu_round)),
    };
}
