/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/file_index.h"

#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/hash.h"
#include "packer/manifest.h"

/* A file under the hash of its name, and once more under the hash of its name without extension. */
typedef struct index_key {
    uint64_t hash;
    uint32_t dir, name;
} index_key;

struct stk_file_index {
    stk_sources files;
    index_key *keys; /* by hash */
    size_t n_keys;
};

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Length of the name without its extension (".hidden" has none). */
static size_t stem_length(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot == NULL || dot == name ? strlen(name) : (size_t)(dot - name);
}

static int compare_index_keys(const void *a, const void *b)
{
    const index_key *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    if (x->dir != y->dir) return x->dir < y->dir ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static void add_keys(stk_file_index *index, uint32_t dir, uint32_t offset)
{
    const char *name = index->files.dirs[dir].names + offset;
    size_t n = strlen(name), stem = stem_length(name);
    index->keys[index->n_keys++] = (index_key){.hash = stk_hash64(name, n), .dir = dir, .name = offset};
    if (stem < n && stk_has_image_extension(name))
        index->keys[index->n_keys++] =
            (index_key){.hash = stk_hash64(name, stem), .dir = dir, .name = offset};
}

stk_status stk_file_index_open(const char *root, stk_file_index **out, stk_error *error)
{
    *out = NULL;
    stk_file_index *index = calloc(1, sizeof *index);
    if (index == NULL) return stk_fail_memory(error, "the index of files");
    stk_status status = STK_OK;
    STK_GOTO(stk_scan_all(root, &index->files, error));
    index->keys = malloc((size_t)index->files.n * 2 * sizeof *index->keys + 1);
    if (index->keys == NULL) {
        status = stk_fail_memory(error, "the index of files");
        goto cleanup;
    }
    for (size_t d = 0; d < index->files.n_dirs && d < UINT32_MAX; d++)
        for (uint32_t i = 0; i < index->files.dirs[d].n; i++)
            if (index->files.dirs[d].state == STK_SOURCE_FILE)
                add_keys(index, (uint32_t)d, index->files.dirs[d].offsets[i]);
    if (index->n_keys > 1) qsort(index->keys, index->n_keys, sizeof *index->keys, compare_index_keys);
    *out = index;
    return STK_OK;
cleanup:
    stk_file_index_close(&index);
    return status;
}

void stk_file_index_close(stk_file_index **index)
{
    if (*index == NULL) return;
    stk_sources_free(&(*index)->files);
    free((*index)->keys);
    free(*index);
    *index = NULL;
}

/* Does the file's path end with the wanted one, at a folder's border, extension aside when there is none? */
static bool fits(const char *file, const char *wanted, bool any_extension)
{
    size_t n = strlen(file), m = strlen(wanted);
    if (any_extension) n -= strlen(file_name(file)) - stem_length(file_name(file));
    if (n < m || memcmp(file + n - m, wanted, m) != 0) return false;
    return n == m || file[n - m - 1] == '/';
}

stk_status stk_file_index_find(const stk_file_index *index, const char *path, stk_buffer *name,
                               stk_source_state *state, stk_error *error)
{
    const char *last = file_name(path);
    uint64_t hash = stk_hash64(last, strlen(last));
    size_t low = 0, high = index->n_keys;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->keys[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    stk_buffer candidate = {0};
    stk_status status = STK_OK;
    *state = STK_SOURCE_MISSING;
    for (; low < index->n_keys && index->keys[low].hash == hash; low++) {
        const stk_source_dir *dir = &index->files.dirs[index->keys[low].dir];
        candidate.n_bytes = 0;
        STK_GOTO(stk_buffer_printf(&candidate, error, "%s%s%s", dir->path, dir->path[0] != '\0' ? "/" : "",
                                   dir->names + index->keys[low].name));
        const char *file = (const char *)candidate.data;
        if (!fits(file, path, false) && !(fits(file, path, true) && stk_has_image_extension(file))) continue;
        if (*state == STK_SOURCE_FILE) {
            *state = STK_SOURCE_AMBIGUOUS;
            break;
        }
        *state = STK_SOURCE_FILE;
        name->n_bytes = 0;
        STK_GOTO(stk_buffer_printf(name, error, "%s", file));
    }
    if (*state == STK_SOURCE_AMBIGUOUS) {
        name->n_bytes = 0;
        STK_GOTO(stk_buffer_printf(name, error, "%s", path));
    }
cleanup:
    stk_buffer_free(&candidate);
    return status;
}
