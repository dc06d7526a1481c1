/* SPDX-License-Identifier: Apache-2.0 */
#include "format/loose_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"
#include "common/hash.h"
#include "common/json.h"

typedef struct loose {
    stk_storage head;
    int root; /* open folder; -1 = closed */
    char *root_path;
    stk_buffer names;  /* zero-terminated, one after the other */
    uint64_t *offsets; /* [n_rows + 1] of names */
    int64_t *labels;   /* NULL: none */
    stk_buffer class_text;
    const char **class_names; /* into class_text */
    stk_buffer metadata;
} loose;

static const stk_column PATH_COLUMN = {.name = "path", .type = STK_TYPE_BYTES, .n_items = 1};

static void loose_close(stk_storage *self)
{
    loose *l = (loose *)self;
    if (l->root >= 0) close(l->root);
    free(l->root_path);
    stk_buffer_free(&l->names);
    free(l->offsets);
    free(l->labels);
    stk_buffer_free(&l->class_text);
    free(l->class_names);
    stk_buffer_free(&l->metadata);
    free(l);
}

static const char *name_of(const loose *l, uint64_t i)
{
    return (const char *)l->names.data + l->offsets[i];
}

static stk_status loose_row(stk_storage *self, uint64_t i, stk_row *out, stk_error *error)
{
    const loose *l = (const loose *)self;
    struct stat st;
    if (fstatat(l->root, name_of(l, i), &st, 0) != 0)
        return stk_fail_errno(error, errno, "%s/%s: cannot be read", l->root_path, name_of(l, i));
    if (!S_ISREG(st.st_mode))
        return stk_fail(error, STK_ERR_IMAGE, "%s/%s: is no file", l->root_path, name_of(l, i));
    *out = (stk_row){.offset = UINT64_MAX,
                     .n_bytes = (uint64_t)st.st_size,
                     .label = l->labels != NULL ? l->labels[i] : -1,
                     .encoding = STK_ENCODING_UNKNOWN,
                     .orientation = 1,
                     .channels = 3};
    return STK_OK;
}

static stk_status loose_fetch(stk_storage *self, uint64_t i, const stk_row *row, uint8_t *dst, stk_error *error)
{
    const loose *l = (const loose *)self;
    char path[PATH_MAX * 2];
    snprintf(path, sizeof path, "%s/%s", l->root_path, name_of(l, i));
    /* A pipe that has taken the file's place must not block a worker. */
    stk_file file = {.fd = openat(l->root, name_of(l, i), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), .path = path};
    if (file.fd < 0) return stk_fail_errno(error, errno, "%s: cannot be read", path);
    stk_status status = stk_file_read_at(&file, dst, (size_t)row->n_bytes, 0, error);
    stk_file_close(&file);
    return status;
}

static stk_status loose_file(stk_storage *self, uint32_t file, stk_file *out, uint64_t *n_bytes, stk_error *error)
{
    (void)self, (void)out, (void)n_bytes;
    return stk_fail(error, STK_ERR_ARGUMENT, "no file number %u: unpacked files are read one by one", file);
}

static stk_status loose_value(stk_storage *self, uint32_t column, uint64_t i, void *buffer, size_t capacity,
                              stk_value *out, stk_error *error)
{
    const loose *l = (const loose *)self;
    if (column != 0 || i >= self->n_rows)
        return stk_fail(error, STK_ERR_ARGUMENT, "no column %u or no record %llu", column, (unsigned long long)i);
    size_t n = (size_t)(l->offsets[i + 1] - l->offsets[i]) - 1;
    *out = (stk_value){.n_items = n, .n_bytes = n, .data = buffer};
    if (n > capacity) return stk_fail(error, STK_ERR_LIMIT, "a path of %zu bytes", n);
    memcpy(buffer, name_of(l, i), n);
    return STK_OK;
}

static stk_status loose_tables(stk_storage *self, uint32_t set, const uint8_t **blob, size_t *n_bytes,
                               stk_error *error)
{
    (void)self, (void)blob, (void)n_bytes;
    return stk_fail(error, STK_ERR_ARGUMENT, "no table set number %u", set);
}

static const stk_storage_ops loose_ops = {.name = "files",
                                          .close = loose_close,
                                          .row = loose_row,
                                          .file = loose_file,
                                          .fetch = loose_fetch,
                                          .value = loose_value,
                                          .tables = loose_tables};

/* ---- Opening. */

static stk_status copy_names(loose *l, const stk_file_list *list, stk_error *error)
{
    size_t bytes;
    if (list->n > SIZE_MAX / 2 || !stk_mul_size((size_t)list->n + 1, sizeof *l->offsets, &bytes))
        return stk_fail_memory(error, "the list of files");
    l->offsets = malloc(bytes);
    if (l->offsets == NULL) return stk_fail_memory(error, "the list of files");
    for (uint64_t i = 0; i < list->n; i++) {
        l->offsets[i] = l->names.n_bytes;
        STK_TRY(stk_buffer_append(&l->names, list->paths[i], strlen(list->paths[i]) + 1, error));
    }
    l->offsets[list->n] = l->names.n_bytes;
    if (list->labels == NULL) return STK_OK;
    l->labels = malloc(bytes);
    if (l->labels == NULL) return stk_fail_memory(error, "labels");
    for (uint64_t i = 0; i < list->n; i++) {
        if (list->labels[i] < -1 || (list->n_classes > 0 && list->labels[i] >= (int64_t)list->n_classes))
            return stk_fail(error, STK_ERR_ARGUMENT, "%s: label %lld of %u classes", list->paths[i],
                            (long long)list->labels[i], list->n_classes);
        l->labels[i] = list->labels[i];
    }
    return STK_OK;
}

static stk_status copy_classes(loose *l, const stk_file_list *list, stk_error *error)
{
    for (uint32_t k = 0; k < list->n_classes; k++)
        STK_TRY(stk_buffer_append(&l->class_text, list->class_names[k], strlen(list->class_names[k]) + 1, error));
    l->class_names = calloc((size_t)list->n_classes + 1, sizeof *l->class_names);
    if (l->class_names == NULL) return stk_fail_memory(error, "class names");
    const char *at = (const char *)l->class_text.data;
    for (uint32_t k = 0; k < list->n_classes; k++, at += strlen(at) + 1)
        l->class_names[k] = at;
    return STK_OK;
}

static stk_status write_metadata(loose *l, uint32_t n_classes, stk_error *error)
{
    stk_json_writer w = stk_jw_begin(&l->metadata, error);
    stk_jw_object(&w);
    stk_jw_key(&w, "version");
    stk_jw_u64(&w, 1);
    stk_jw_key(&w, "classes");
    stk_jw_array(&w);
    for (uint32_t k = 0; k < n_classes; k++)
        stk_jw_bytes(&w, l->class_names[k], strlen(l->class_names[k]));
    stk_jw_end_array(&w);
    stk_jw_key(&w, "encoding");
    stk_jw_string(&w, "keep");
    stk_jw_end_object(&w);
    STK_TRY(stk_jw_end(&w));
    return stk_buffer_append(&l->metadata, "", 1, error);
}

static stk_status make_id(loose *l, uint64_t n, stk_error *error)
{
    stk_hasher *h = stk_hasher_open();
    if (h == NULL) return stk_fail_memory(error, "a checksum");
    stk_hasher_add(h, l->metadata.data, l->metadata.n_bytes);
    stk_hasher_add(h, l->names.data, l->names.n_bytes);
    if (l->labels != NULL) stk_hasher_add(h, l->labels, (size_t)n * sizeof *l->labels);
    stk_hash128_text(stk_hasher_result128(h), l->head.id);
    stk_hasher_close(&h);
    return STK_OK;
}

static stk_status open_root(loose *l, const char *root, stk_error *error)
{
    l->root_path = strdup(root);
    if (l->root_path == NULL) return stk_fail_memory(error, "a path");
    l->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return l->root >= 0 ? STK_OK : stk_fail_errno(error, errno, "%s: cannot open the folder", root);
}

static void fill_head(loose *l, const stk_file_list *list)
{
    stk_storage *head = &l->head;
    head->n_rows = list->n;
    head->n_columns = 1;
    head->columns = &PATH_COLUMN;
    head->n_classes = list->n_classes;
    head->class_names = l->class_names;
    head->has_labels = l->labels != NULL;
    head->metadata = (const char *)l->metadata.data;
    head->road = "one file an image, opened at each read";
}

stk_status stk_loose_files_open(const stk_file_list *list, stk_storage **out, stk_error *error)
{
    *out = NULL;
    if (list->n == 0) return stk_fail(error, STK_ERR_NOT_FOUND, "%s: no images found", list->root);
    loose *l = calloc(1, sizeof *l);
    if (l == NULL) return stk_fail_memory(error, "the list of files");
    stk_status status;
    l->head.ops = &loose_ops;
    l->root = -1;
    STK_GOTO(open_root(l, list->root, error));
    STK_GOTO(copy_names(l, list, error));
    STK_GOTO(copy_classes(l, list, error));
    STK_GOTO(write_metadata(l, list->n_classes, error));
    STK_GOTO(make_id(l, list->n, error));
    fill_head(l, list);
    *out = &l->head;
    l = NULL;
cleanup:
    if (l != NULL) loose_close(&l->head);
    return status;
}
