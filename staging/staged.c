/* SPDX-License-Identifier: Apache-2.0 */
#include "staging/staged.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/checked.h"
#include "common/fail.h"
#include "staging/stage_base.h"
#include "staging/stage_find.h"
#include "staging/stage_pass.h"
#include "staging/stage_place.h"

struct stk_staged {
    stk_stage_map map;
    uint32_t n_data;
    uint64_t n_bytes;
    char **paths;   /* [n_data]: of the copy's files */
    char *whole;    /* path of the whole copy; NULL = a part */
    char folder[STK_STAGE_PATH];
    int record_fd;  /* holds the shared lock */
};

static stk_status name_files(stk_staged *s, const stk_stage_source *source, stk_error *error)
{
    bool subset = !stk_stage_map_is_whole(&s->map);
    char path[STK_STAGE_PATH];
    s->n_data = source->n_data;
    s->paths = calloc((size_t)s->n_data + 1, sizeof *s->paths);
    if (s->paths == NULL) return stk_fail_memory(error, "a staged copy");
    for (uint32_t i = 0; i < s->n_data; i++) {
        if (!stk_stage_target(s->folder, source, subset, i, path))
            return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", s->folder);
        s->paths[i] = strdup(path);
        if (s->paths[i] == NULL) return stk_fail_memory(error, "a staged copy");
    }
    if (subset) return STK_OK;
    if (asprintf(&s->whole, "%s/%s", s->folder, source->top) < 0) s->whole = NULL;
    return s->whole != NULL ? STK_OK : stk_fail_memory(error, "a staged copy");
}

static stk_status open_in(const char *base, const stk_stage_source *source, stk_staged **out, stk_error *error)
{
    stk_staged *s = calloc(1, sizeof *s);
    if (s == NULL) return stk_fail_memory(error, "a staged copy");
    /* Before the record is read, so that the copy does not change any more. It is waited for: whoever looks for use
     * holds the other kind for a moment. Where nothing can be locked the copy can be read as well, and might be evicted
     * meanwhile. */
    bool named = stk_stage_join(s->folder, base, source->key, "");
    s->record_fd = named ? stk_stage_hold(s->folder, LOCK_SH) : -1;
    stk_status status = STK_OK;
    if (!named || (s->record_fd < 0 && errno == ENOENT))
        status = stk_fail(error, STK_ERR_NOT_FOUND, "%s: no copy of %s", base, source->path);
    if (status == STK_OK) status = stk_stage_find(base, source, 0, &s->map, s->folder, error);
    if (status == STK_OK) status = name_files(s, source, error);
    if (status == STK_OK) {
        s->n_bytes = stk_stage_map_bytes(&s->map, STK_BLOCK_GOOD);
        stk_stage_touch(s->folder);
        *out = s;
        return STK_OK;
    }
    stk_staged_close(&s);
    return status;
}

stk_status stk_staged_open(const char *path, const char *to, stk_staged **out, stk_error *error)
{
    const char *folders[STK_PLACES] = {to};
    int n = strcmp(to, "auto") == 0 ? stk_stage_candidates(folders) : 1;
    stk_stage_source source;
    *out = NULL;
    STK_TRY(stk_stage_source_open(path, &source, error));
    stk_status status = STK_OK;
    for (int i = 0; i < n && *out == NULL && status == STK_OK; i++) {
        char base[STK_STAGE_PATH];
        if (stk_stage_base(folders[i], false, base, NULL) != STK_OK) continue;
        status = open_in(base, &source, out, error);
        /* Whatever is wrong with a copy, the source is there. */
        if (status != STK_ERR_MEMORY) status = STK_OK;
    }
    stk_stage_source_close(&source);
    return status;
}

void stk_staged_close(stk_staged **staged)
{
    stk_staged *s = *staged;
    if (s == NULL) return;
    /* Closing ends the lock only when no forked child has the descriptor too, which then still uses the copy. */
    if (s->record_fd >= 0) close(s->record_fd);
    for (uint32_t i = 0; s->paths != NULL && i < s->n_data; i++) free(s->paths[i]);
    free(s->paths);
    free(s->whole);
    stk_stage_map_close(&s->map);
    free(s);
    *staged = NULL;
}

const char *stk_staged_path(const stk_staged *s) { return s->whole; }
const char *stk_staged_folder(const stk_staged *s) { return s->folder; }
uint64_t stk_staged_bytes(const stk_staged *s) { return s->n_bytes; }

bool stk_staged_covers(const stk_staged *s, uint32_t file, uint64_t offset, uint64_t n_bytes)
{
    uint64_t end;
    if (file >= s->n_data || !stk_add_u64(offset, n_bytes, &end)) return false;
    uint64_t first = s->map.first[file], n_blocks = s->map.first[file + 1] - first;
    uint64_t last = end > offset ? (end - 1) / s->map.block_bytes : offset / s->map.block_bytes;
    if (last >= n_blocks) return false;
    for (uint64_t b = offset / s->map.block_bytes; b <= last; b++)
        if (s->map.blocks[first + b].state != STK_BLOCK_GOOD) return false;
    return true;
}

stk_status stk_staged_file(const stk_staged *s, uint32_t file, stk_file *out, stk_error *error)
{
    *out = STK_FILE_CLOSED;
    if (file >= s->n_data) return stk_fail(error, STK_ERR_ARGUMENT, "%s: no file %u", s->folder, file);
    out->path = s->paths[file];
    do out->fd = open(s->paths[file], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    while (out->fd < 0 && errno == EINTR);
    return out->fd >= 0 ? STK_OK : stk_fail_errno(error, errno, "%s: cannot open", s->paths[file]);
}
