/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/pack_source.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "common/fail.h"
#include "common/file.h"
#include "packer/manifest.h"
#include "packer/source_store.h"

static bool has_suffix(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);
    return n > m && strcasecmp(path + n - m, suffix) == 0;
}

static bool is_manifest_name(const char *path)
{
    return has_suffix(path, ".csv") || has_suffix(path, ".tsv") || has_suffix(path, ".jsonl") ||
           has_suffix(path, ".ndjson");
}

static bool is_tar_name(const char *path)
{
    static const char *const ENDS[] = {".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tar.lz4"};
    for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++)
        if (has_suffix(path, ENDS[i])) return true;
    return false;
}

/* By its first bytes, or those behind a user block. */
static bool is_hdf5(const char *path)
{
    static const uint8_t MAGIC[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    uint8_t head[8];
    stk_file file = STK_FILE_CLOSED;
    uint64_t size = 0;
    bool found = false;
    if (stk_file_open_read(path, &file, NULL) != STK_OK) return false;
    if (stk_file_size(&file, &size, NULL) != STK_OK) size = 0;
    for (uint64_t at = 0; !found && at + sizeof head <= size; at = at == 0 ? 512 : at * 2)
        found = stk_file_read_at(&file, head, sizeof head, at, NULL) == STK_OK && memcmp(head, MAGIC, 8) == 0;
    stk_file_close(&file);
    return found;
}

/* The folder part of a path, "." when it has none; malloc'd. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL) return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static bool same_place(const char *path, const struct stat *place)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_dev == place->st_dev && st.st_ino == place->st_ino;
}

/* Is the folder, or one that it lies in, the given place? Shortens the path. */
static bool lies_in(char *folder, const struct stat *place)
{
    for (;;) {
        if (same_place(folder, place)) return true;
        char *slash = strrchr(folder, '/');
        if (slash == NULL || strcmp(folder, "/") == 0) return false;
        slash[slash == folder ? 1 : 0] = '\0';
    }
}

static stk_status refuse_inside(const char *src, const char *dst, stk_error *error)
{
    struct stat source;
    char name[PATH_MAX], real[PATH_MAX];
    if (stat(src, &source) != 0) return stk_fail_errno(error, errno, "%s: cannot open the source", src);
    size_t n = strlen(dst);
    while (n > 1 && dst[n - 1] == '/')
        n--;
    if (n >= sizeof name) return stk_fail(error, STK_ERR_ARGUMENT, "%s: the path is too long", dst);
    memcpy(name, dst, n);
    name[n] = '\0';
    char *parent = folder_of(name);
    if (parent == NULL) return stk_fail_memory(error, "a path");
    stk_status status = STK_OK;
    if (realpath(parent, real) == NULL)
        status = stk_fail_errno(error, errno, "%s: cannot open the folder for the output", parent);
    else if (same_place(name, &source) || lies_in(real, &source))
        status = stk_fail(error, STK_ERR_ARGUMENT,
                          "%s: the output would lie in the source folder %s; write it beside it", dst, src);
    free(parent);
    return status;
}

static stk_status find_manifest(const char *src, const stk_pack_options *o, stk_pack_source *out,
                                stk_error *error)
{
    struct stat st;
    if (o->manifest != NULL) {
        out->manifest = o->manifest;
        return STK_OK;
    }
    if (src == NULL)
        return stk_fail(error, STK_ERR_ARGUMENT, "neither a source folder nor a manifest was given");
    if (stat(src, &st) != 0) return stk_fail_errno(error, errno, "%s: cannot open the source", src);
    if (S_ISDIR(st.st_mode)) return STK_OK;
    out->tar = is_tar_name(src);
    if (out->tar || is_hdf5(src)) {
        out->store = src;
        return STK_OK;
    }
    if (!is_manifest_name(src))
        return stk_fail(error, STK_ERR_UNSUPPORTED,
                        "%s: is no folder, no .csv or .jsonl manifest, no HDF5 file and no .tar; other sources cannot "
                        "be packed",
                        src);
    out->manifest = src;
    return STK_OK;
}

stk_status stk_pack_source_find(const char *src, const char *dst, const stk_pack_options *o,
                                stk_pack_source *out, stk_error *error)
{
    *out = (stk_pack_source){.dst = dst};
    STK_TRY(find_manifest(src, o, out, error));
    if (out->store != NULL) {
        struct stat place;
        if (stat(src, &place) == 0 && same_place(dst, &place))
            return stk_fail(error, STK_ERR_ARGUMENT, "%s: is the source itself; write to another name", dst);
        out->root = strdup(src);
        return out->root != NULL ? STK_OK : stk_fail_memory(error, "a path");
    }
    if (out->manifest == NULL) STK_TRY(refuse_inside(src, dst, error));
    if (o->root != NULL && src != NULL && out->manifest != src)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "--root and SRC both name a folder for the manifest's paths: %s and %s; give one", o->root, src);
    if (o->root != NULL)
        out->root = strdup(o->root);
    else if (src != NULL && out->manifest != src)
        out->root = strdup(src);
    else
        out->root = folder_of(out->manifest);
    return out->root != NULL ? STK_OK : stk_fail_memory(error, "a path");
}

/* What a pack writes into its source would be packed by the next one: images in quarantine as a class of their own. The
 * folder need not be there yet. */
static stk_status refuse_folder_inside(const char *folder, const char *src, const char *what, stk_error *error)
{
    struct stat source;
    char name[PATH_MAX], real[PATH_MAX];
    if (folder == NULL || stat(src, &source) != 0) return STK_OK;
    if (snprintf(name, sizeof name, "%s", folder) >= (int)sizeof name)
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: the path is too long", folder);
    while (realpath(name, real) == NULL) { /* the nearest that is there */
        char *slash = strrchr(name, '/');
        snprintf(slash == NULL || slash == name ? name : slash, 2, "%s", slash == NULL ? "." : slash == name ? "/" : "");
    }
    if (!lies_in(real, &source)) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "%s: the %s would lie in the source folder %s; give another place", folder,
                    what, src);
}

static stk_status check_folders(const stk_pack_source *source, const stk_pack_options *o, stk_error *error)
{
    if (o->on_bad == STK_BAD_QUARANTINE && source->store != NULL)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "--on-bad quarantine copies files; what SRC holds are none, and are left out with --on-bad skip");
    if (source->manifest != NULL || source->store != NULL) return STK_OK;
    if (o->on_bad == STK_BAD_QUARANTINE)
        STK_TRY(refuse_folder_inside(o->quarantine, source->root, "quarantine", error));
    return refuse_folder_inside(o->cache, source->root, "cache", error);
}

stk_status stk_pack_source_check_options(const stk_pack_source *source, const stk_pack_options *o, stk_error *error)
{
    const stk_dataset_options *h = o->source;
    bool manifest = source->manifest != NULL, hdf5 = source->store != NULL && !source->tar;
    const char *kind = source->tar ? "a tar" : hdf5 ? "an HDF5 file" : manifest ? "a manifest" : "a folder";
    const struct {
        const char *name;
        bool given;
    } of_manifest[] = {{"root", o->root != NULL},
                       {"path-column", o->path_column != NULL},
                       {"label-column", o->label_column != NULL},
                       {"column", o->n_column_types > 0}},
      of_hdf5[] = {{"dataset", h != NULL && h->hdf5_images != NULL},
                   {"labels", h != NULL && h->hdf5_labels != NULL},
                   {"arrays", h != NULL && h->hdf5_arrays},
                   {"range", h != NULL && (h->range_min != 0 || h->range_max != 0)}};
    for (size_t i = 0; !manifest && i < sizeof of_manifest / sizeof *of_manifest; i++)
        if (of_manifest[i].given)
            return stk_fail(error, STK_ERR_ARGUMENT, "--%s is for a manifest (a .csv or .jsonl file); SRC is %s",
                            of_manifest[i].name, kind);
    for (size_t i = 0; !hdf5 && i < sizeof of_hdf5 / sizeof *of_hdf5; i++)
        if (of_hdf5[i].given)
            return stk_fail(error, STK_ERR_ARGUMENT, "--%s is for an HDF5 file; SRC is %s", of_hdf5[i].name, kind);
    return check_folders(source, o, error);
}

void stk_pack_source_free(stk_pack_source *source)
{
    free(source->root);
    *source = (stk_pack_source){0};
}

stk_status stk_pack_source_list(const stk_pack_source *source, const stk_pack_options *o,
                                stk_scan_watch watch, stk_sources *out, stk_error *error)
{
    if (source->manifest != NULL)
        return stk_manifest_read(source->manifest, source->root, o, o->n_threads, out, error);
    if (source->store != NULL)
        return source->tar ? stk_store_tar(source->store, source->dst, out, error)
                           : stk_store_dataset(source->store, o, out, error);
    STK_TRY(stk_scan(source->root, o->n_threads, watch, out, error));
    if (out->n > 0) return STK_OK;
    stk_sources_free(out);
    return stk_fail(error, STK_ERR_NOT_FOUND, "%s: no images found: the folder holds no files", source->root);
}
