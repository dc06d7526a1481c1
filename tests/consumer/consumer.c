/* SPDX-License-Identifier: Apache-2.0
 *
 * Uses the installed library: packs a folder, reads one batch, prints "<records> <labels of the batch>". */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <stoker/stoker.h>

int main(int argc, char **argv)
{
    stk_error error = {0};
    stk_pack_report report;
    stk_dataset *dataset = NULL;
    stk_loader *loader = NULL;
    stk_batch *batch = NULL;
    stk_loader_options options;
    int code = 1;
    if (argc != 3 || strcmp(stk_version(), STK_VERSION) != 0) return 64;
    stk_loader_options_init(&options);
    if (stk_pack(argv[1], argv[2], NULL, &report, &error) != STK_OK) goto cleanup;
    if (stk_dataset_open(argv[2], NULL, &dataset, &error) != STK_OK) goto cleanup;
    options.batch_size = (uint32_t)report.records;
    options.order = STK_ORDER_SEQUENTIAL;
    if (stk_loader_open(dataset, &options, &loader, &error) != STK_OK) goto cleanup;
    if (stk_loader_next(loader, -1, &batch, &error) != STK_OK) goto cleanup;
    printf("%" PRIu64, report.records);
    for (uint32_t i = 0; i < batch->n; i++) printf(" %" PRId64, batch->labels[i]);
    printf("\n");
    code = 0;
cleanup:
    if (code != 0) fprintf(stderr, "%s\n", error.text);
    stk_batch_release(batch);
    stk_loader_close(&loader);
    stk_dataset_close(&dataset);
    return code;
}
