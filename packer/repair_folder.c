/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/repair_folder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/file.h"
#include "format/folder.h"
#include "format/shard_reader.h"

static stk_status join(const char *folder, const char *name, char out[PATH_MAX], stk_error *error)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", folder, name);
    if (n >= 0 && n < PATH_MAX) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "%s: the path is too long", folder);
}

static stk_status list_shards(stk_repair_folder *f, stk_error *error)
{
    STK_TRY(stk_manifest_open_folder(&f->manifest, f->dst, error));
    f->shards = calloc(f->manifest.n_shards + (size_t)1, sizeof *f->shards);
    if (f->shards == NULL) return stk_fail_memory(error, "the list of shards");
    for (; f->n < f->manifest.n_shards; f->n++) {
        char path[PATH_MAX];
        STK_TRY(join(f->dst, f->manifest.shards[f->n].file, path, error));
        f->shards[f->n].first_row = f->manifest.shards[f->n].first_row;
        f->shards[f->n].path = strdup(path);
        if (f->shards[f->n].path == NULL) return stk_fail_memory(error, "a path");
    }
    f->n_rows = f->manifest.n_rows;
    memcpy(f->old_id, f->manifest.id, sizeof f->old_id);
    return STK_OK;
}

static stk_status cannot_open(stk_status status, const stk_error *why, stk_error *error)
{
    if (status != STK_ERR_CORRUPT) return stk_fail(error, status, "%s", why->text);
    return stk_fail(error, status,
                    "%.600s; only records can be repaired: pack the sources again (--force), or take the whole records "
                    "and their labels out of the shard: stoker export --salvage FILE OUT.tar",
                    why->text);
}

/* A file as a folder of one. Whatever opens as another container is not ours to mend. */
static stk_status open_single(stk_repair_folder *f, stk_error *error)
{
    stk_storage *shard = NULL;
    stk_error why;
    stk_status status = stk_storage_open(f->dst, NULL, &shard, &why);
    if (status != STK_OK) return cannot_open(status, &why, error);
    bool ours = strcmp(shard->ops->name, "stk") == 0;
    f->n_rows = shard->n_rows;
    memcpy(f->old_id, shard->id, sizeof f->old_id);
    stk_storage_close(&shard);
    if (!ours)
        return stk_fail(error, STK_ERR_UNSUPPORTED,
                        "%s: is no .stk data set; HDF5 files are made anew from the sources: stoker pack --force",
                        f->dst);
    f->shards = calloc(1, sizeof *f->shards);
    if (f->shards == NULL) return stk_fail_memory(error, "the list of shards");
    f->n = 1;
    f->shards[0].path = strdup(f->dst);
    return f->shards[0].path != NULL ? STK_OK : stk_fail_memory(error, "a path");
}

stk_status stk_repair_folder_open(const char *dst, bool is_folder, stk_repair_folder *out, stk_error *error)
{
    *out = (stk_repair_folder){.dst = dst, .is_folder = is_folder};
    STK_TRY(is_folder ? list_shards(out, error) : open_single(out, error));
    memcpy(out->new_id, out->old_id, sizeof out->new_id);
    return STK_OK;
}

void stk_repair_folder_close(stk_repair_folder *f)
{
    for (uint32_t i = 0; i < f->n; i++) {
        char path[PATH_MAX];
        const char *name = f->shards[i].new_name;
        if (!f->published && name[0] != '\0' && join(f->dst, name, path, NULL) == STK_OK) (void)unlink(path);
        free(f->shards[i].path);
    }
    free(f->shards);
    if (f->is_folder) stk_manifest_close(&f->manifest);
    *f = (stk_repair_folder){0};
}

stk_status stk_repair_folder_shard(const stk_repair_folder *f, uint32_t k, stk_storage **out, stk_error *error)
{
    stk_error why;
    stk_status status = stk_shard_open(f->shards[k].path, NULL, out, &why);
    if (status == STK_ERR_NOT_FOUND && f->is_folder)
        return stk_fail(error, status,
                        "%.600s; only records can be repaired, not a shard that is gone: put it back from a copy, pack the "
                        "sources again (--force), or take the other records out: stoker export --on-bad skip %.600s OUT",
                        why.text, f->dst);
    if (status != STK_OK) return cannot_open(status, &why, error);
    if (!f->is_folder) return STK_OK;
    const stk_manifest_shard *want = &f->manifest.shards[k];
    if (strcmp((*out)->id, want->id) == 0 && (*out)->n_rows == want->n_rows &&
        stk_shard_first_record(*out) == want->first_row)
        return STK_OK;
    stk_storage_close(out);
    return stk_fail(error, STK_ERR_CORRUPT, "%s: is not the shard that %s tells of; pack the sources again (--force)",
                    f->shards[k].path, STK_FOLDER_MANIFEST);
}

/* ---- Putting mended shards in place. */

static bool is_named(const stk_repair_folder *f, const char *name)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (strcmp(f->manifest.shards[i].file, name) == 0 || strcmp(f->shards[i].new_name, name) == 0) return true;
    return false;
}

/* A number above all that are in use: what it replaces, and whoever reads that, has a lower one. */
static stk_status choose_name(const stk_repair_folder *f, char name[32], char path[PATH_MAX], stk_error *error)
{
    for (uint32_t k = stk_manifest_next_number(&f->manifest);; k++) {
        stk_folder_shard_name(k, name);
        STK_TRY(join(f->dst, name, path, error));
        if (!is_named(f, name) && access(path, F_OK) != 0) return STK_OK;
    }
}

stk_status stk_repair_folder_take(stk_repair_folder *f, uint32_t k, const char *path, stk_error *error)
{
    stk_repair_shard *shard = &f->shards[k];
    const char *old_id = f->is_folder ? f->manifest.shards[k].id : f->old_id;
    if (!f->is_folder) memcpy(f->new_id, shard->new_id, sizeof f->new_id);
    if (!f->is_folder || strcmp(old_id, shard->new_id) == 0) return stk_publish(path, shard->path, true, error);
    char to[PATH_MAX], name[32];
    STK_TRY(choose_name(f, name, to, error));
    STK_TRY(stk_publish(path, to, false, error));
    memcpy(shard->new_name, name, sizeof name);
    return STK_OK;
}

static stk_status write_manifest(stk_repair_folder *f, const stk_folder_shard *shards, const char *temporary,
                                 stk_error *error)
{
    char path[PATH_MAX];
    stk_buffer text = {0};
    stk_status status;
    const stk_manifest *m = &f->manifest;
    stk_folder_info info = {.shards = shards,
                            .n_shards = f->n,
                            .columns = m->columns,
                            .n_columns = m->n_columns,
                            .has_labels = m->has_labels,
                            .metadata = m->metadata.text};
    STK_GOTO(stk_folder_manifest(&info, &text, f->new_id, error));
    STK_GOTO(join(f->dst, STK_FOLDER_MANIFEST, path, error));
    STK_GOTO(stk_write_file_synced(temporary, text.data, text.n_bytes, error));
    STK_GOTO(stk_publish(temporary, path, true, error));
cleanup:
    stk_buffer_free(&text);
    return status;
}

stk_status stk_repair_folder_publish(stk_repair_folder *f, const char *temporary, stk_error *error)
{
    bool renamed = false;
    for (uint32_t i = 0; i < f->n; i++) renamed = renamed || f->shards[i].new_name[0] != '\0';
    if (!renamed) return STK_OK;
    stk_folder_shard *shards = calloc(f->n, sizeof *shards);
    if (shards == NULL) return stk_fail_memory(error, "the list of shards");
    for (uint32_t i = 0; i < f->n; i++) {
        shards[i] = stk_folder_shard_of(&f->manifest.shards[i]);
        if (f->shards[i].new_name[0] == '\0') continue;
        shards[i].file = f->shards[i].new_name;
        shards[i].id = f->shards[i].new_id;
    }
    stk_status status = write_manifest(f, shards, temporary, error);
    f->published = status == STK_OK;
    free(shards);
    return status;
}

static bool in_use(const stk_repair_folder *f, const char *name)
{
    for (uint32_t i = 0; i < f->n; i++) {
        const char *now = f->shards[i].new_name[0] != '\0' ? f->shards[i].new_name : f->manifest.shards[i].file;
        if (strcmp(now, name) == 0) return true;
    }
    return false;
}

stk_status stk_repair_folder_prune(const stk_repair_folder *f, stk_error *error)
{
    if (!f->is_folder) return STK_OK;
    DIR *stream = opendir(f->dst);
    if (stream == NULL) return stk_fail_errno(error, errno, "%s: cannot be listed", f->dst);
    stk_status status = STK_OK;
    for (const struct dirent *e = readdir(stream); e != NULL && status == STK_OK; e = readdir(stream)) {
        char path[PATH_MAX];
        if (!stk_folder_is_shard_name(e->d_name) || in_use(f, e->d_name)) continue;
        status = join(f->dst, e->d_name, path, error);
        if (status == STK_OK && unlink(path) != 0)
            status = stk_fail_errno(error, errno, "%s: cannot be removed", path);
    }
    closedir(stream);
    return status;
}
