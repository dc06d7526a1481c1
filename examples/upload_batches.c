/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches as tensors in GPU memory. Usage: upload_batches DST [cuda|dummy]. Without a GPU, "dummy" shows the same calls. */
#include <inttypes.h>
#include <stdio.h>

#include <stoker/stoker.h>

static stk_status one_epoch(stk_uploader *uploader, stk_error *error)
{
    stk_device_batch *batch = NULL;
    stk_status status;
    void *stream = NULL; /* a cudaStream_t; NULL is the default stream. It waits for the batch, this thread does not. */
    while ((status = stk_uploader_next(uploader, stream, -1, &batch, error)) == STK_OK) {
        /* Here a program queues its kernels on `stream`: batch->data is n x height x width x channels of bfloat16. */
        printf("batch %" PRIu64 ": %" PRIu32 " images of %" PRIu32 "x%" PRIu32 ", first label %" PRId64 "\n", batch->index,
               batch->n, batch->width, batch->height, batch->host_labels[0]);
        stk_device_batch_release(batch, stream); /* its memory is reused after what `stream` has been given */
    }
    return status;
}

int main(int argc, char **argv)
{
    stk_error error = {0};
    stk_dataset *dataset = NULL;
    stk_uploader *uploader = NULL;
    stk_loader_options options;
    stk_uploader_options upload;
    if (argc < 2 || argc > 3) {
        fputs("Usage: upload_batches DST [cuda|dummy]\n", stderr);
        return 64;
    }
    stk_loader_options_init(&options);
    options.batch_size = 16;
    options.dtype = STK_DTYPE_BF16;
    stk_uploader_options_init(&upload);
    upload.backend = argc == 3 ? argv[2] : "cuda";
    stk_status status = stk_dataset_open(argv[1], NULL, &dataset, &error);
    if (status == STK_OK) status = stk_uploader_open(dataset, &options, &upload, &uploader, &error);
    if (status == STK_OK) status = one_epoch(uploader, &error);
    if (status != STK_END) fprintf(stderr, "%s\n", error.text);
    stk_uploader_close(&uploader);
    stk_dataset_close(&dataset);
    return status == STK_END ? 0 : 1;
}
