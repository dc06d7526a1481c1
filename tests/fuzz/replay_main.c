/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands in for libFuzzer's main where there is none: runs the target on every file below the folders given, and
 * on each of them cut short at several places, so that a finding stays a test for ever. */
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

static size_t n_files;

/* On an exact-size copy, so that a sanitizer sees the first byte beyond it. */
static int run(const uint8_t *data, size_t n_bytes)
{
    uint8_t *copy = malloc(n_bytes > 0 ? n_bytes : 1);
    if (copy == NULL) return 1;
    memcpy(copy, data, n_bytes);
    (void)LLVMFuzzerTestOneInput(copy, n_bytes);
    free(copy);
    return 0;
}

static int replay(const char *path, const struct stat *status, int kind, struct FTW *info)
{
    (void)info;
    if (kind != FTW_F || status->st_size > 1 << 20) return 0;
    FILE *file = fopen(path, "rb");
    if (file == NULL) return 1;
    size_t capacity = (size_t)status->st_size;
    uint8_t *data = malloc(capacity > 0 ? capacity : 1);
    size_t n = data != NULL ? fread(data, 1, capacity, file) : 0;
    fclose(file);
    int failed = data == NULL;
    for (size_t part = 1; part <= 8 && !failed; part++) failed = run(data, n * part / 8);
    free(data);
    n_files++;
    return failed;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (nftw(argv[i], replay, 16, FTW_PHYS) > 0) {
            fprintf(stderr, "%s: could not be replayed\n", argv[i]);
            return 1;
        }
    printf("%zu files\n", n_files);
    return n_files > 0 ? 0 : 1;
}
