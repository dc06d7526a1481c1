/* SPDX-License-Identifier: Apache-2.0
 *
 * A transform's steps and mixing on a device: plain data that travels there as it is. Made by steps_plan.c; kernels
 * trust it.
 *
 * The stages of gpu_batch.h leave a batch's pictures as uint8 channels last, red first; these change them:
 *   rounds   every image's first operation, then every image's second ... An operation reads the picture at `from` and
 *            writes the one at `to`, the same or the other one of the image's two places.
 *   finish   pictures -> table, erased boxes, mixing with another entry, layout -> the tensor
 * Within a round the operations are in the order of enum stk_gpu_op_class; each class is run by kernels of its own. */
#ifndef STK_GPU_STEPS_H
#define STK_GPU_STEPS_H

#include <stdint.h>

#include "gpu_upload/gpu_batch.h"

enum {
    /* A table of each channel that follows from the whole picture, then a look-up. */
    STK_GPU_OP_CONTRAST, /* alpha */
    STK_GPU_OP_AUTOCONTRAST,
    STK_GPU_OP_EQUALIZE,
    /* Pixels by themselves. */
    STK_GPU_OP_BRIGHTNESS,   /* alpha */
    STK_GPU_OP_SOLARIZE,     /* whole: bytes from this one on are inverted */
    STK_GPU_OP_MASK,         /* whole: the bits that are kept */
    STK_GPU_OP_SOLARIZE_ADD, /* whole: what is added */
    STK_GPU_OP_SATURATION,   /* alpha; this and the next two: pictures of three channels */
    STK_GPU_OP_GRAYSCALE,
    STK_GPU_OP_HUE, /* whole: what is added to the hue's byte */
    /* Pixels out of others: `to` is not `from`. */
    STK_GPU_OP_FIXED,    /* nearest neighbour by `fixed`, stk_op_fixed's numbers */
    STK_GPU_OP_PLACES,   /* nearest neighbour: the column of each column and the row of each row from `weights` on; -1: none */
    STK_GPU_OP_WALK,     /* nearest neighbour by `m`, positions added up pixel by pixel */
    STK_GPU_OP_BILINEAR, /* `m` */
    STK_GPU_OP_BICUBIC,
    STK_GPU_OP_SHARPNESS, /* alpha */
    STK_GPU_OP_BOX,       /* `box`: one pass of Pillow's Gaussian blur */
    /* Through a plane of floats. */
    STK_GPU_OP_BLUR
};

enum stk_gpu_op_class {
    STK_GPU_CLASS_COUNTED, /* looks at the whole picture first */
    STK_GPU_CLASS_POINT,
    STK_GPU_CLASS_MOVED,
    STK_GPU_CLASS_BLURRED,
    STK_GPU_CLASSES
};

typedef struct stk_gpu_op {
    uint32_t kind;
    uint32_t slot;     /* COUNTED: which stk_gpu_counted; BLURRED: which plane */
    uint64_t from, to; /* first bytes in `pictures` */
    float alpha;
    uint32_t whole;
    uint32_t kernel_width, kernel_height; /* BLUR */
    uint32_t weights; /* BLUR: the first of kernel_width and then kernel_height in `weights`; PLACES: of width and height */
    uint8_t fill[4];
    union {
        double m[6];
        int64_t fixed[6];
        struct {
            uint32_t radius, whole, part, down; /* down: 1: along the columns */
        } box;
    } map;
} stk_gpu_op;

/* What a picture holds. */
typedef struct stk_gpu_counted {
    uint32_t counts[3][256];
    unsigned long long luma; /* the sum of its luma */
    uint8_t table[3][256];   /* what becomes of each byte */
} stk_gpu_counted;

typedef struct stk_gpu_erased {
    int32_t x, y, width, height;
    uint64_t first; /* number of its first random value */
} stk_gpu_erased;

/* How one entry is finished. */
typedef struct stk_gpu_entry {
    uint64_t picture; /* its first byte in `pictures` */
    uint64_t stream;  /* key of the random values in its boxes */
    uint32_t first_box, n_boxes;
    uint32_t bad;     /* 1: zero */
    uint32_t partner; /* the entry that it is mixed with; its own number: none */
    uint32_t cut;     /* 1: the box comes from the partner; 0: everything, by shares */
    int32_t box_x, box_y, box_width, box_height;
    float share, other; /* of the entry itself, of its partner */
} stk_gpu_entry;

/* What the host must know to launch: operations [first, first + n[0] + n[1] + ...) by class. */
typedef struct stk_gpu_round {
    uint32_t first, n[STK_GPU_CLASSES];
} stk_gpu_round;

enum { STK_GPU_PIXELS_PER_BLOCK = 4096 };

typedef struct stk_gpu_steps {
    const stk_gpu_op *ops;
    const stk_gpu_entry *entries; /* [n] */
    const stk_gpu_erased *boxes;
    const float *weights;
    const float *normal;         /* stk_normal_fill's; NULL where nothing is random */
    const stk_gpu_image *images; /* [n] of the plan, whose `bad` the decode stage may have set; NULL: no plan */
    uint8_t *pictures;
    stk_gpu_counted *counted;
    float *planes;           /* [planes_at_once] of a picture's bytes each */
    uint32_t planes_at_once; /* blurs of a round that run together */
    uint32_t n;
    const void *norm; /* [3][256] elements of the dtype; unused for uint8 */
    uint8_t *out;
    stk_gpu_output output; /* of the tensor */
    /* Erasing. */
    uint32_t erase_value;  /* stk_erase_value */
    uint32_t constants[3]; /* an element's bits, one a channel */
    float mean[3], std[3]; /* of uint8 batches: what level a random value is */
    /* On the host. */
    const stk_gpu_round *rounds;
    uint32_t n_rounds;
} stk_gpu_steps;

#endif
