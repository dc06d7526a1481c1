/* SPDX-License-Identifier: Apache-2.0 */
#include "record_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

stk_status record_path(const stk_dataset *dataset, uint64_t i, stk_buffer *buffer, stk_value *out,
                       stk_error *error)
{
    uint32_t column = stk_dataset_find_column(dataset, "path");
    *out = (stk_value){.is_null = true, .data = ""};
    if (column == UINT32_MAX) return STK_OK;
    stk_status status = stk_dataset_value(dataset, column, i, buffer->data, buffer->capacity, out, error);
    if (status == STK_ERR_LIMIT && out->n_bytes > buffer->capacity) {
        size_t want = out->n_bytes < 4096 ? 4096 : out->n_bytes;
        free(buffer->data);
        *buffer = (stk_buffer){.data = malloc(want)};
        if (buffer->data == NULL) {
            if (error != NULL)
                snprintf(error->text, sizeof error->text, "record %" PRIu64 ": out of memory for its path",
                         i);
            return STK_ERR_MEMORY;
        }
        buffer->capacity = want;
        status = stk_dataset_value(dataset, column, i, buffer->data, buffer->capacity, out, error);
    }
    if (status == STK_OK && out->is_null) *out = (stk_value){.is_null = true, .data = ""};
    return status;
}

void record_path_free(stk_buffer *buffer)
{
    free(buffer->data);
    *buffer = (stk_buffer){0};
}

/* Extensions that people give to files of a kind. */
static bool extension_fits(const char *name, const char *kind)
{
    static const char *const families[][5] = {{"jpg", "jpeg", "jpe", "jfif", "mpo"},
                                              {"tif", "tiff", NULL},
                                              {"pnm", "ppm", "pgm", "pbm", NULL},
                                              {"bmp", "dib", NULL}};
    const char *dot = strrchr(name, '.');
    if (dot == NULL) return false;
    if (strcasecmp(dot + 1, kind) == 0) return true;
    for (size_t f = 0; f < sizeof families / sizeof families[0]; f++) {
        bool has_name = false, has_kind = false;
        for (size_t e = 0; e < 5 && families[f][e] != NULL; e++) {
            has_name = has_name || strcasecmp(dot + 1, families[f][e]) == 0;
            has_kind = has_kind || strcasecmp(kind, families[f][e]) == 0;
        }
        if (has_name && has_kind) return true;
    }
    return false;
}

static bool is_dots(const char *part, size_t length)
{
    return (length == 1 && part[0] == '.') || (length == 2 && part[0] == '.' && part[1] == '.');
}

bool record_path_safe(const void *path, size_t n_bytes, uint64_t number, const char *kind, char *out,
                      size_t capacity)
{
    const char *at = path, *end = at + n_bytes;
    size_t n = 0;
    while (at < end) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        size_t length = (size_t)((slash != NULL ? slash : end) - at);
        if (memchr(at, '\0', length) != NULL) length = 0;
        if (length > 0 && !is_dots(at, length)) {
            if (n + length + 2 > capacity) return false;
            if (n > 0) out[n++] = '/';
            memcpy(out + n, at, length);
            n += length;
        }
        at = slash != NULL ? slash + 1 : end;
    }
    if (capacity == 0) return false;
    out[n] = '\0';
    if (n == 0) {
        int written = snprintf(out, capacity, "record-%08" PRIu64 ".%s", number, kind);
        return written > 0 && (size_t)written < capacity;
    }
    if (extension_fits(strrchr(out, '/') != NULL ? strrchr(out, '/') : out, kind)) return true;
    int written = snprintf(out + n, capacity - n, ".%s", kind);
    return written > 0 && (size_t)written < capacity - n;
}

bool record_path_second(char *name, size_t capacity, uint64_t number)
{
    char mark[24], *slash = strrchr(name, '/'), *last = slash != NULL ? slash + 1 : name, *dot = strrchr(last, '.');
    size_t n = strlen(name);
    if (dot == NULL || dot == last) dot = name + n;
    size_t m = (size_t)snprintf(mark, sizeof mark, "~%" PRIu64, number);
    if (n + m + 1 > capacity) return false;
    memmove(dot + m, dot, strlen(dot) + 1);
    memcpy(dot, mark, m);
    return true;
}
