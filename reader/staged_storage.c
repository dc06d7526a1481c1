/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/staged_storage.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/fail.h"

enum { NOT_OPEN = -1 };

typedef struct staged_storage {
    stk_storage base;
    stk_staged *staged;
    stk_storage *whole; /* borrowed */
    _Atomic int *files; /* descriptors; opened when first asked for, without a lock as all storages do it */
} staged_storage;

static void close_it(stk_storage *self)
{
    staged_storage *s = (staged_storage *)self;
    for (uint32_t i = 0; s->files != NULL && i < s->base.n_files; i++) {
        int fd = atomic_load(&s->files[i]);
        if (fd != NOT_OPEN) close(fd);
    }
    free((void *)s->files);
    stk_staged_close(&s->staged);
    free(s);
}

static stk_status get_file(stk_storage *self, uint32_t number, stk_file *out, uint64_t *n_bytes, stk_error *error)
{
    staged_storage *s = (staged_storage *)self;
    if (number >= s->base.n_files) return stk_fail(error, STK_ERR_ARGUMENT, "there is no file %u", number);
    STK_TRY(stk_staged_file(s->staged, number, out, error));
    int none = NOT_OPEN;
    if (!atomic_compare_exchange_strong(&s->files[number], &none, out->fd)) {
        stk_file_close(out);
        out->fd = none;
    }
    return stk_file_size(out, n_bytes, error);
}

static stk_status fetch(stk_storage *self, uint64_t i, const stk_row *row, uint8_t *dst, stk_error *error)
{
    stk_storage *whole = ((staged_storage *)self)->whole;
    if (whole == NULL || whole->ops->fetch == NULL)
        return stk_fail(error, STK_ERR_STATE, "record %llu is not in the staged copy", (unsigned long long)i);
    return whole->ops->fetch(whole, i, row, dst, error);
}

static const stk_storage_ops staged_ops = {.name = "staged copy", .close = close_it, .file = get_file, .fetch = fetch};

stk_status stk_staged_storage_open(stk_staged *staged, const stk_storage *like, stk_storage *whole, stk_storage **out,
                                   stk_error *error)
{
    *out = NULL;
    staged_storage *s = calloc(1, sizeof *s);
    _Atomic int *files = calloc((size_t)like->n_files + 1, sizeof *files);
    if (s == NULL || files == NULL) {
        free(s);
        free((void *)files);
        return stk_fail_memory(error, "a staged copy");
    }
    for (uint32_t i = 0; i < like->n_files; i++) atomic_init(&files[i], NOT_OPEN);
    s->base = (stk_storage){.ops = &staged_ops,
                            .n_rows = like->n_rows,
                            .n_files = like->n_files,
                            .total_bytes = stk_staged_bytes(staged),
                            .road = like->road};
    s->files = files;
    s->staged = staged;
    s->whole = whole;
    *out = &s->base;
    return STK_OK;
}

bool stk_staged_storage_has(const stk_storage *storage, const stk_row *row)
{
    const staged_storage *s = (const staged_storage *)storage;
    if (row->offset == UINT64_MAX) return s->whole != NULL;
    return stk_staged_covers(s->staged, row->file, row->offset, row->n_bytes);
}
