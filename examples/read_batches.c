/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads two epochs of shuffled, augmented batches. Usage: read_batches DST */
#include <inttypes.h>
#include <stdio.h>

#include <stoker/stoker.h>

/* One epoch, up to its STK_END. */
static stk_status read_epoch(stk_loader *loader, stk_error *error)
{
    stk_batch *batch = NULL;
    stk_status status;
    while ((status = stk_loader_next(loader, -1, &batch, error)) == STK_OK) {
        /* batch->data: n images of height x width x channels bytes, all of one size; batch->labels: n. */
        printf("epoch %" PRIu64 " batch %" PRIu64 ": %" PRIu32 " images of %" PRIu32 "x%" PRIu32
               ", first label %" PRId64 "\n",
               batch->epoch, batch->index, batch->n, batch->width, batch->height, batch->labels[0]);
        stk_batch_release(batch);
    }
    return status;
}

int main(int argc, char **argv)
{
    stk_error error = {0};
    stk_dataset *dataset = NULL;
    stk_loader *loader = NULL;
    stk_loader_options options;
    if (argc != 2) {
        fputs("Usage: read_batches DST\n", stderr);
        return 64;
    }
    /* The defaults are RandomResizedCrop(224) with flip, uint8 NHWC, exact shuffle. */
    stk_loader_options_init(&options);
    options.batch_size = 16;
    stk_status status = stk_dataset_open(argv[1], NULL, &dataset, &error);
    if (status == STK_OK) status = stk_loader_open(dataset, &options, &loader, &error);
    for (int epoch = 0; epoch < 2 && (status == STK_OK || status == STK_END); epoch++)
        status = read_epoch(loader, &error);
    if (status != STK_END) fprintf(stderr, "%s\n", error.text);
    stk_loader_close(&loader);
    stk_dataset_close(&dataset);
    return status == STK_END ? 0 : 1;
}
