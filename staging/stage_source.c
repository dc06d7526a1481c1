/* SPDX-License-Identifier: Apache-2.0 */
#include "staging/stage_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"
#include "common/file.h"
#include "common/hash.h"
#include "format/folder.h"
#include "format/folder_manifest.h"
#include "format/storage.h"

enum { SAMPLES = 16, SAMPLE_BYTES = 64 << 10, LONGEST_NAME = 200 };

static int64_t mtime_of(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

static stk_status add_file(stk_stage_source *s, const char *folder, const char *name, stk_error *error)
{
    stk_stage_file *files = realloc(s->files, (s->n_files + (size_t)1) * sizeof *files);
    if (files == NULL) return stk_fail_memory(error, "the list of files");
    s->files = files;
    stk_stage_file *f = &files[s->n_files];
    *f = (stk_stage_file){0};
    s->n_files++;
    if (asprintf(&f->path, name != NULL ? "%s/%s" : "%s", folder, name) < 0) f->path = NULL;
    if (asprintf(&f->name, name != NULL ? "%s/%s" : "%s", s->top, name) < 0) f->name = NULL;
    if (f->path == NULL || f->name == NULL) return stk_fail_memory(error, "the list of files");
    struct stat st;
    if (stat(f->path, &st) != 0) return stk_fail_errno(error, errno, "%s: cannot be looked at", f->path);
    if (!S_ISREG(st.st_mode)) return stk_fail(error, STK_ERR_UNSUPPORTED, "%s: is not a file", f->path);
    f->n_bytes = (uint64_t)st.st_size;
    f->mtime_ns = mtime_of(&st);
    if (s->n_files == 1) s->device = (uint64_t)st.st_dev;
    if (!stk_add_u64(s->n_bytes, f->n_bytes, &s->n_bytes))
        return stk_fail(error, STK_ERR_CORRUPT, "%s: the files' sizes are impossible", s->path);
    return STK_OK;
}

static stk_status look_at_folder(stk_stage_source *s, stk_error *error)
{
    stk_manifest manifest = {0};
    stk_status status;
    STK_GOTO(stk_manifest_open_folder(&manifest, s->path, error));
    for (uint32_t i = 0; i < manifest.n_shards; i++) {
        STK_GOTO(add_file(s, s->path, manifest.shards[i].file, error));
        if (s->files[i].n_bytes == manifest.shards[i].n_bytes) continue;
        status = stk_fail(error, STK_ERR_CORRUPT, "%s: has %llu bytes, and %s says %llu", s->files[i].path,
                          (unsigned long long)s->files[i].n_bytes, STK_FOLDER_MANIFEST,
                          (unsigned long long)manifest.shards[i].n_bytes);
        goto cleanup;
    }
    s->n_data = s->n_files;
    STK_GOTO(add_file(s, s->path, STK_FOLDER_MANIFEST, error));
    memcpy(s->content, manifest.id, sizeof s->content);
cleanup:
    stk_manifest_close(&manifest);
    return status;
}

/* Sixteen pieces at places that depend on the size only, and both ends. */
static stk_status hash_samples(stk_stage_source *s, stk_error *error)
{
    const stk_stage_file *f = &s->files[0];
    stk_file file = STK_FILE_CLOSED;
    stk_hasher *hasher = stk_hasher_open();
    uint8_t *piece = malloc(SAMPLE_BYTES);
    stk_status status = hasher == NULL || piece == NULL ? stk_fail_memory(error, "a sample") : STK_OK;
    if (status != STK_OK) goto cleanup;
    STK_GOTO(stk_file_open_read(f->path, &file, error));
    stk_hasher_add(hasher, &f->n_bytes, sizeof f->n_bytes);
    size_t n = f->n_bytes < SAMPLE_BYTES ? (size_t)f->n_bytes : SAMPLE_BYTES;
    for (uint64_t i = 0; i <= SAMPLES; i++) {
        STK_GOTO(stk_file_read_at(&file, piece, n, (f->n_bytes - n) / (SAMPLES + 1) * i, error));
        stk_hasher_add(hasher, piece, n);
    }
    STK_GOTO(stk_file_read_at(&file, piece, n, f->n_bytes - n, error));
    stk_hasher_add(hasher, piece, n);
    stk_hash128_text(stk_hasher_result128(hasher), s->content);
cleanup:
    stk_file_close(&file);
    stk_hasher_close(&hasher);
    free(piece);
    return status;
}

static stk_status look_at_file(stk_stage_source *s, const char *container, stk_error *error)
{
    STK_TRY(add_file(s, s->path, NULL, error));
    s->n_data = 1;
    if (strcmp(container, "stk") != 0) return hash_samples(s, error);
    stk_storage *storage = NULL;
    STK_TRY(stk_storage_open(s->path, NULL, &storage, error));
    memcpy(s->content, storage->id, sizeof s->content);
    stk_storage_close(&storage);
    return STK_OK;
}

static void make_key(stk_stage_source *s)
{
    uint64_t stamp = 0;
    for (uint32_t i = 0; i < s->n_files; i++) {
        uint64_t words[3] = {stamp, s->files[i].n_bytes, (uint64_t)s->files[i].mtime_ns};
        stamp = stk_hash64(words, sizeof words);
    }
    snprintf(s->key, sizeof s->key, "%s-%016llx", s->content, (unsigned long long)stamp);
}

/* Names that a copy's own files bear, also while they are written. */
static bool is_taken(const char *name)
{
    static const char *const names[] = {"record", "note"}, *const beginnings[] = {"record.tmp.", "note.tmp.", "journal."};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) return true;
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0) return true;
    return false;
}

stk_status stk_stage_source_open(const char *path, stk_stage_source *s, stk_error *error)
{
    *s = (stk_stage_source){0};
    const char *container;
    STK_TRY(stk_storage_sniff(path, &container, error));
    stk_status status = STK_OK;
    s->is_folder = strcmp(container, "stk-folder") == 0;
    s->path = realpath(path, NULL);
    if (s->path == NULL) {
        status = stk_fail_errno(error, errno, "%s: cannot be found", path);
        goto cleanup;
    }
    const char *base = strrchr(s->path, '/') + 1;
    /* ".partial" must still fit behind it; and a data set at the root of a disk has no name. */
    s->top = strdup(*base == '\0' || strlen(base) > LONGEST_NAME || is_taken(base) ? "data" : base);
    if (s->top == NULL) {
        status = stk_fail_memory(error, "a name");
        goto cleanup;
    }
    STK_GOTO(s->is_folder ? look_at_folder(s, error) : look_at_file(s, container, error));
    make_key(s);
cleanup:
    if (status != STK_OK) stk_stage_source_close(s);
    return status;
}

void stk_stage_source_close(stk_stage_source *s)
{
    for (uint32_t i = 0; i < s->n_files; i++) {
        free(s->files[i].path);
        free(s->files[i].name);
    }
    free(s->files);
    free(s->top);
    free(s->path);
    *s = (stk_stage_source){0};
}

bool stk_stage_source_unchanged(const stk_stage_source *s)
{
    for (uint32_t i = 0; i < s->n_files; i++) {
        struct stat st;
        if (stat(s->files[i].path, &st) != 0 || (uint64_t)st.st_size != s->files[i].n_bytes ||
            mtime_of(&st) != s->files[i].mtime_ns)
            return false;
    }
    return true;
}
