/* SPDX-License-Identifier: Apache-2.0
 *
 * Packing in a scratch folder and looking at what came out. */
#ifndef STK_TESTS_PACK_HELPERS_H
#define STK_TESTS_PACK_HELPERS_H

#include <stoker/dataset.h>
#include <stoker/pack.h>
#include <stoker/verify.h>

#include "tests/support/check.h"
#include "tests/support/tree.h"

/* A file's bytes; malloc'd, with a zero behind. Ends the program when it is not there. */
static inline char *file_bytes(const char *path, size_t *n_bytes)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        perror(path);
        exit(1);
    }
    fseek(f, 0, SEEK_END);
    *n_bytes = (size_t)ftell(f);
    rewind(f);
    char *bytes = malloc(*n_bytes + 1);
    if (fread(bytes, 1, *n_bytes, f) != *n_bytes) exit(1);
    bytes[*n_bytes] = '\0';
    fclose(f);
    return bytes;
}

static inline bool same_files(const char *a, const char *b)
{
    size_t n, m;
    char *x = file_bytes(a, &n), *y = file_bytes(b, &m);
    bool same = n == m && memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return same;
}

/* Record i's stored path, in a static buffer. */
static inline const char *record_path(const stk_dataset *d, uint64_t i)
{
    static char path[4096];
    stk_value value;
    uint32_t column = stk_dataset_find_column(d, "path");
    if (column == UINT32_MAX) return "(no path column)";
    if (stk_dataset_value(d, column, i, path, sizeof path - 1, &value, NULL) != STK_OK) return "(unreadable)";
    path[value.n_bytes] = '\0';
    return path;
}

/* "label path encoding WxH/orientation*channels" a line; static buffer. */
static inline const char *dataset_listing(const char *path)
{
    static char text[65536];
    stk_dataset *d = NULL;
    stk_error error;
    size_t n = 0;
    text[0] = '\0';
    if (stk_dataset_open(path, NULL, &d, &error) != STK_OK) {
        snprintf(text, sizeof text, "%s\n", error.text);
        return text;
    }
    for (uint64_t i = 0; i < stk_dataset_len(d) && n < sizeof text - 200; i++) {
        stk_record_info info;
        if (stk_dataset_record(d, i, &info, &error) != STK_OK) {
            snprintf(text, sizeof text, "%s\n", error.text);
            break;
        }
        n += (size_t)snprintf(text + n, sizeof text - n, "%lld %s %s %ux%u/%u*%u\n", (long long)info.label,
                              record_path(d, i), stk_encoding_name(info.encoding), info.width, info.height,
                              info.orientation, info.channels);
    }
    stk_dataset_close(&d);
    return text;
}

#define CHECK_LISTING(path, want)                                                                        \
    do {                                                                                                 \
        const char *got_ = dataset_listing(path);                                                        \
        if (strcmp(got_, want) != 0) {                                                                   \
            fprintf(stderr, "%s:%d: got\n%swanted\n%s", __FILE__, __LINE__, got_, want);                 \
            check_failures_++;                                                                           \
        }                                                                                                \
    } while (0)

/* Entries of the scratch folder whose name holds the text. */
static inline int count_names(const tree *t, const char *part)
{
    char command[1024], line[16] = "";
    snprintf(command, sizeof command, "ls -a '%s' | grep -c -- '%s'", t->root, part);
    FILE *f = popen(command, "r");
    if (f == NULL || fgets(line, sizeof line, f) == NULL) exit(1);
    pclose(f);
    return atoi(line);
}

#endif
