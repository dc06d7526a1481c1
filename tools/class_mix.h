/* SPDX-License-Identifier: Apache-2.0
 *
 * How well mixed are batches? The mean number of different labels in a batch, measured, and the number that
 * an exact shuffle has on average. Matters for class-sorted data sets read in page-local order. */
#ifndef STK_TOOLS_CLASS_MIX_H
#define STK_TOOLS_CLASS_MIX_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/dataset.h>

typedef struct class_mix {
    uint64_t *seen; /* [n_labels] the number of the batch that last held this label */
    uint32_t n_labels;
    uint64_t batches, sum;
} class_mix;

/* For labels 0 .. n_labels-1; others are not counted. n_labels 0 is fine: nothing is measured. */
bool class_mix_init(class_mix *mix, uint32_t n_labels);
void class_mix_free(class_mix *mix);
void class_mix_add(class_mix *mix, const int64_t *labels, uint32_t n);
double class_mix_mean(const class_mix *mix);

/* The mean number of different labels among `batch` samples drawn without replacement: the sum over labels of
 * 1 - C(N - n_c, batch) / C(N, batch). counts: samples of each label. */
double class_mix_exact(const uint64_t *counts, uint32_t n_labels, uint64_t batch);

#endif
