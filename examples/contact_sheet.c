/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes one shuffled, augmented batch as a picture, to look at. Usage: contact_sheet DST OUT.png [COLUMNS] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include <stoker/stoker.h>

enum { CELL = 128, GAP = 4 };

/* Copies the batch's images into one RGB picture, `columns` a row, on white. */
static unsigned char *arrange(const stk_batch *batch, uint32_t columns, uint32_t *width, uint32_t *height)
{
    uint32_t rows = (batch->n + columns - 1) / columns;
    *width = columns * (CELL + GAP) + GAP;
    *height = rows * (CELL + GAP) + GAP;
    unsigned char *sheet = malloc((size_t)*width * *height * 3);
    if (sheet == NULL) return NULL;
    memset(sheet, 255, (size_t)*width * *height * 3);
    for (uint32_t i = 0; i < batch->n; i++) {
        const unsigned char *image = (const unsigned char *)batch->data + i * batch->sample_bytes;
        size_t left = GAP + (size_t)(i % columns) * (CELL + GAP), top = GAP + (size_t)(i / columns) * (CELL + GAP);
        for (size_t y = 0; y < CELL; y++)
            memcpy(sheet + ((top + y) * *width + left) * 3, image + y * CELL * 3, CELL * 3);
    }
    return sheet;
}

static stk_status write_sheet(const stk_batch *batch, uint32_t columns, const char *path, stk_error *error)
{
    png_image png = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB};
    unsigned char *sheet = arrange(batch, columns, &png.width, &png.height);
    if (sheet == NULL) {
        snprintf(error->text, sizeof error->text, "out of memory");
        return STK_ERR_MEMORY;
    }
    int written = png_image_write_to_file(&png, path, 0, sheet, 0, NULL);
    if (!written) snprintf(error->text, sizeof error->text, "%s: %s", path, png.message);
    free(sheet);
    return written ? STK_OK : STK_ERR_IO;
}

int main(int argc, char **argv)
{
    stk_error error = {0};
    stk_dataset *dataset = NULL;
    stk_loader *loader = NULL;
    stk_batch *batch = NULL;
    stk_loader_options options;
    uint32_t columns = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 8;
    if (argc < 3 || argc > 4 || columns < 1 || columns > 64) {
        fputs("Usage: contact_sheet DST OUT.png [COLUMNS]\n", stderr);
        return 64;
    }
    stk_loader_options_init(&options);
    stk_transform_init(&options.transform, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    options.transform.out_width = options.transform.out_height = CELL;
    stk_status status = stk_dataset_open(argv[1], NULL, &dataset, &error);
    if (status == STK_OK) {
        uint64_t n = stk_dataset_len(dataset);
        options.batch_size = n < 64 && n > 0 ? (uint32_t)n : 64;
        status = stk_loader_open(dataset, &options, &loader, &error);
    }
    if (status == STK_OK) status = stk_loader_next(loader, -1, &batch, &error);
    if (status == STK_OK) status = write_sheet(batch, columns, argv[2], &error);
    if (status != STK_OK) fprintf(stderr, "%s\n", error.text);
    stk_batch_release(batch);
    stk_loader_close(&loader);
    stk_dataset_close(&dataset);
    return status == STK_OK ? 0 : 1;
}
