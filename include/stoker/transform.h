/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens to an image between decode and batch. */
#ifndef STOKER_TRANSFORM_H
#define STOKER_TRANSFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/types.h>

STK_BEGIN_DECLS

typedef enum stk_transform_kind {
    STK_TRANSFORM_NONE = 0,                /* as stored; all images of a batch must have one size */
    STK_TRANSFORM_RANDOM_RESIZED_CROP = 1, /* torchvision's RandomResizedCrop: 10 tries, then centred */
    STK_TRANSFORM_RESIZE_CENTER_CROP = 2,  /* short side to resize_short, then the centre out_h x out_w */
    STK_TRANSFORM_RESIZE = 3,              /* to out_h x out_w, squashing */
    STK_TRANSFORM_PAD_CROP = 4,            /* pad by `pad` with fill, random out_h x out_w window */
    STK_TRANSFORM_BOXES = 5                /* boxes given by the caller, resized to out_h x out_w */
} stk_transform_kind;

/* Called for STK_TRANSFORM_BOXES when `boxes` is NULL: sets *box and *flip for one sample. Runs on worker
 * threads, several at once; must not block. */
typedef void (*stk_box_fn)(void *user, uint64_t epoch, uint64_t sample_id, uint32_t occurrence, uint32_t width,
                           uint32_t height, stk_box *box, bool *flip);

/* One operation on the pixels of an image, with one value. All are Pillow 13's, as torchvision calls it on Pillow
 * images, byte for byte; BLUR is torchvision's on uint8 tensors, within one level. Grey images stay grey. */
typedef enum stk_op_kind {
    STK_OP_IDENTITY = 0,
    STK_OP_SHEAR_X = 1,       /* pixel (x, y) comes from (x + value * y, y) */
    STK_OP_SHEAR_Y = 2,       /* ... from (x, y + value * x) */
    STK_OP_TRANSLATE_X = 3,   /* to the right by value pixels */
    STK_OP_TRANSLATE_Y = 4,   /* downwards */
    STK_OP_ROTATE = 5,        /* counter-clockwise by value degrees about the centre */
    STK_OP_BRIGHTNESS = 6,    /* ImageEnhance.Brightness: factor, 1 = unchanged, not below 0 */
    STK_OP_SATURATION = 7,    /* ImageEnhance.Color */
    STK_OP_CONTRAST = 8,      /* ImageEnhance.Contrast */
    STK_OP_SHARPNESS = 9,     /* ImageEnhance.Sharpness */
    STK_OP_POSTERIZE = 10,    /* ImageOps.posterize: bits kept, 0 .. 8 */
    STK_OP_SOLARIZE = 11,     /* ImageOps.solarize: bytes from value on are inverted */
    STK_OP_AUTOCONTRAST = 12, /* ImageOps.autocontrast; no value */
    STK_OP_EQUALIZE = 13,     /* ImageOps.equalize; no value */
    STK_OP_INVERT = 14,       /* no value */
    STK_OP_HUE = 15,          /* torchvision's adjust_hue: -0.5 .. 0.5 turns */
    STK_OP_GRAYSCALE = 16,    /* convert("L"), on all channels; no value */
    STK_OP_BLUR = 17,         /* Gaussian: sigma in pixels */
    STK_OP_SOLARIZE_ADD = 18, /* timm's: value is added to bytes below 128 */
    STK_OP_FLIP_VERTICAL = 19, /* upside down; no value */
    STK_OP_BOX_BLUR = 20,      /* ImageFilter.GaussianBlur, which is three box blurs: radius in pixels, 0 .. 100 */
    STK_OP_AFFINE = 21         /* Image.transform(AFFINE) by a matrix; a step makes it (STK_STEP_AFFINE) */
} stk_op_kind;

/* One operation that a step came to, with its value (stk_op_kind tells what it means). */
typedef struct stk_pixel_op {
    stk_op_kind kind;
    double value;
    stk_filter filter; /* kinds that move pixels: NEAREST, BILINEAR or BICUBIC */
    uint8_t fill[4];   /* likewise: colour of what comes from outside */
    uint32_t kernel_width, kernel_height; /* BLUR: odd */
    double matrix[6]; /* AFFINE: pixel centre (x, y) comes from (m[0] x + m[1] y + m[2], m[3] x + m[4] y + m[5]) */
} stk_pixel_op;

/* A step that is taken on each image after resampling and flipping, in the order given, before normalisation. What it
 * does to one image depends on (seed, epoch, sample, occurrence, view) and its place among the steps alone. */
typedef enum stk_step_kind {
    STK_STEP_NONE = 0,
    STK_STEP_OP = 1,             /* one operation, its value drawn evenly from value[0] .. value[1] */
    STK_STEP_COLOR_JITTER = 2,   /* torchvision's ColorJitter: the four in a random order */
    STK_STEP_BLUR = 3,           /* torchvision's GaussianBlur: sigma drawn from value[0] .. value[1] */
    STK_STEP_RAND_AUGMENT = 4,   /* torchvision's RandAugment: n_ops of 14 operations at `magnitude` of n_bins */
    STK_STEP_TRIVIAL_AUGMENT = 5, /* torchvision's TrivialAugmentWide: one operation, any of n_bins magnitudes */
    STK_STEP_AUTO_AUGMENT = 6,   /* torchvision's AutoAugment, and timm's: one of 25 pairs of operations */
    STK_STEP_TIMM_RAND = 7,      /* timm's RandAugment ("rand-m9-mstd0.5-inc1") */
    STK_STEP_ERASE = 8,          /* torchvision's and timm's RandomErasing: on the finished, normalised pixels; last */
    STK_STEP_AFFINE = 9          /* torchvision's RandomAffine about the centre, the size kept */
} stk_step_kind;

/* AutoAugment's learnt policies: torchvision's three, and timm's for ImageNet. */
typedef enum stk_policy {
    STK_POLICY_IMAGENET = 0,
    STK_POLICY_CIFAR10 = 1,
    STK_POLICY_SVHN = 2,
    STK_POLICY_TIMM_V0 = 3,
    STK_POLICY_TIMM_V0R = 4,
    STK_POLICY_TIMM_ORIGINAL = 5,
    STK_POLICY_TIMM_ORIGINALR = 6,
    STK_POLICY_TIMM_3A = 7 /* DeiT III's ThreeAugment: solarize, grayscale or BOX_BLUR, one of them */
} stk_policy;

/* What an erased box holds. */
typedef enum stk_erase_value {
    STK_ERASE_CONSTANT = 0, /* erase_constant, one a channel */
    STK_ERASE_PIXEL = 1,    /* each element from the standard normal distribution */
    STK_ERASE_COLOR = 2     /* one such colour a box */
} stk_erase_value;

typedef struct stk_step {
    stk_step_kind kind;
    double probability; /* 1; how often the step is taken at all (RandomApply), 0.5 for ERASE */
    stk_op_kind op;     /* OP */
    double value[2];    /* OP: 0, 0; BLUR: 0.1, 2; AFFINE: degrees, 0, 0 */
    double brightness[2], contrast[2], saturation[2]; /* COLOR_JITTER: factors, 1, 1 (none) */
    double hue[2];                                    /* COLOR_JITTER: turns, 0, 0 (none), within -0.5 .. 0.5 */
    uint32_t kernel_width, kernel_height;             /* BLUR: 23, 23; odd, at most 255 */
    stk_policy policy;       /* AUTO_AUGMENT */
    uint32_t n_ops;          /* RAND_AUGMENT, TIMM_RAND: 2; at most 16 */
    uint32_t n_bins;         /* RAND_AUGMENT, TRIVIAL_AUGMENT: 31; at least 2 */
    double magnitude;        /* RAND_AUGMENT: 9, a whole number below n_bins; TIMM_RAND: 10 */
    double magnitude_std;    /* timm: 0; noise on the magnitude, above 100: drawn evenly from 0 .. magnitude */
    double magnitude_max;    /* timm: 10 */
    double op_probability;   /* TIMM_RAND: 0.5; how often each of the n_ops is taken */
    bool increasing;         /* TIMM_RAND: false; timm's "inc1" */
    stk_filter filter;       /* operations that move pixels: NEAREST (torchvision's default), BILINEAR, BICUBIC */
    bool mixed_filters;      /* false; true: BILINEAR or BICUBIC, drawn each time (timm's "random") */
    uint8_t fill[4];         /* 0; colour of what such an operation brings in from outside */
    double area[2], aspect[2];       /* ERASE: 0.02, 0.33 of the area; 0.3, 3.3 height / width */
    uint32_t n_boxes_min, n_boxes_max; /* ERASE: 1, 1; boxes share the area */
    stk_erase_value erase_value;     /* ERASE: CONSTANT */
    float erase_constant[3];         /* ERASE: 0; in the units of the batch: normalised, or levels of uint8. Random
                                        values in uint8 batches are the levels that would be normalised to them */
    double translate[2];        /* AFFINE: 0, 0; at most this share of the width and of the height, either way */
    double scale[2];            /* AFFINE: 1, 1; above 0 */
    double shear_x[2], shear_y[2]; /* AFFINE: 0, 0; degrees, within -89 .. 89 */
    uint32_t views; /* 0 = all; else bit v: the step is taken on view v (of n_views), 0 .. 31 */
} stk_step;

/* Fills *step with the defaults of the given kind. */
STK_API void stk_step_init(stk_step *step, stk_step_kind kind);

enum { STK_STEPS_MAX = 16 };

/* What is chosen for all images of a batch alike. */
typedef enum stk_mix_mode {
    STK_MIX_BATCH = 0,   /* everything: one share, one box, partners one distance away */
    STK_MIX_ELEMENT = 1, /* the partners' distance; whether and how an image is mixed is its own (timm's "elem") */
    STK_MIX_PAIR = 2     /* nothing: two images that are mixed with each other have one share and box (timm's "pair").
                            Of an odd number of images one is left alone */
} stk_mix_mode;

/* Mixing images of a batch, after everything else: torchvision's v2.MixUp and v2.CutMix, timm's Mixup (0.9 and later,
 * timm/data/mixup.py) under ELEMENT and PAIR. Each image is mixed with that of another sample of the batch; the batch
 * then carries the partners' labels and each entry's share (stk_batch.labels2, .shares). The choices depend on (seed,
 * epoch, the batch's first position in the epoch). Entries that are missing (on_bad=skip) mix with none. */
typedef struct stk_mix {
    stk_mix_mode mode;         /* BATCH */
    double mixup_alpha;        /* 0 = never; of the Beta(alpha, alpha) that the share is drawn from */
    double cutmix_alpha;       /* 0 = never */
    double probability;        /* 1; how often a batch is mixed at all */
    double switch_probability; /* 0.5; with both: how often CutMix is taken */
    bool shares_as_drawn;      /* false: CutMix's shares are those of the box, which the image's edge may have clipped;
                                  true: those that were drawn (timm's correct_lam=False) */
} stk_mix;

typedef struct stk_transform {
    size_t struct_size; /* filled by stk_transform_init */
    stk_transform_kind kind;
    uint32_t out_width, out_height; /* 224, 224; ignored by NONE */
    uint32_t resize_short;          /* 256; RESIZE_CENTER_CROP */
    uint32_t pad;                   /* 4; PAD_CROP (0 = plain random crop) */
    double scale_min, scale_max;    /* 0.08, 1.0; RANDOM_RESIZED_CROP: area share */
    double ratio_min, ratio_max;    /* 3/4, 4/3; RANDOM_RESIZED_CROP: width / height */
    double flip_probability;        /* 0.5 for the random kinds, 0 for the others */
    stk_filter filter;              /* STK_FILTER_BILINEAR */
    stk_pixels pixels;              /* STK_PIXELS_PILLOW13 */
    stk_color color;                /* STK_COLOR_RGB */
    stk_mode mode;                  /* STK_MODE_RGB; grey records are widened, RGB ones refused under L */
    uint8_t fill[4];                /* 0; padding colour */
    const stk_box *boxes;           /* BOXES: one a record of the data set, kept by the caller; or NULL */
    stk_box_fn box_fn;              /* BOXES: asked when boxes is NULL */
    void *box_user;
    const stk_step *steps; /* NULL; [n_steps] taken in this order, copied when a loader is opened */
    uint32_t n_steps;      /* 0; at most STK_STEPS_MAX */
    stk_mix mix;           /* no mixing */
} stk_transform;

/* Fills *transform with the defaults of the given kind. */
STK_API void stk_transform_init(stk_transform *transform, stk_transform_kind kind);

STK_END_DECLS

#endif
