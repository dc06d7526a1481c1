/* SPDX-License-Identifier: Apache-2.0 */
#include "class_mix.h"

#include <math.h>
#include <stdlib.h>

bool class_mix_init(class_mix *mix, uint32_t n_labels)
{
    *mix = (class_mix){.n_labels = n_labels};
    if (n_labels > 0) mix->seen = calloc(n_labels, sizeof *mix->seen);
    return n_labels == 0 || mix->seen != NULL;
}

void class_mix_free(class_mix *mix)
{
    free(mix->seen);
    mix->seen = NULL;
}

void class_mix_add(class_mix *mix, const int64_t *labels, uint32_t n)
{
    mix->batches++;
    for (uint32_t i = 0; i < n; i++) {
        int64_t label = labels[i];
        if (label < 0 || label >= (int64_t)mix->n_labels || mix->seen[label] == mix->batches) continue;
        mix->seen[label] = mix->batches;
        mix->sum++;
    }
}

double class_mix_mean(const class_mix *mix)
{
    return mix->batches > 0 ? (double)mix->sum / (double)mix->batches : 0;
}

static double log_choose(double n, double k)
{
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

double class_mix_exact(const uint64_t *counts, uint32_t n_labels, uint64_t batch)
{
    double total = 0, sum = 0;
    for (uint32_t c = 0; c < n_labels; c++)
        total += (double)counts[c];
    if ((double)batch > total) return 0;
    for (uint32_t c = 0; c < n_labels; c++) {
        double others = total - (double)counts[c];
        double none = others < (double)batch
                          ? 0
                          : exp(log_choose(others, (double)batch) - log_choose(total, (double)batch));
        sum += counts[c] > 0 ? 1 - none : 0;
    }
    return sum;
}
