/* SPDX-License-Identifier: Apache-2.0 */
#include "format/storage.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "common/fail.h"
#include "format/folder.h"
#include "format/shard_reader.h"
#include "stoker_features.h"

#if STOKER_HAVE_HDF5
#include "format/hdf5/hdf5_storage.h"
#endif

enum { PROBE_BYTES = 16 };

/* What a container is recognised by. */
typedef struct probe {
    bool is_folder, hdf5;
    size_t n_bytes; /* of head */
    uint8_t head[PROBE_BYTES];
} probe;

typedef struct container {
    const char *name;
    bool (*matches)(const probe *p);
    stk_status (*open)(const char *path, const stk_dataset_options *options, stk_storage **out,
                       stk_error *error);
} container;

static bool is_folder(const probe *p)
{
    return p->is_folder;
}

/* Also heads that a transfer as text has damaged: shard_reader says what happened. */
static bool is_shard(const probe *p)
{
    for (size_t i = 0; i < 4 && i + 3 <= p->n_bytes; i++) {
        if (memcmp(p->head + i, "STK", 3) == 0) return true;
    }
    return false;
}

static const uint8_t hdf5_magic[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};

static bool is_hdf5(const probe *p)
{
    return p->hdf5;
}

#if !STOKER_HAVE_HDF5
static stk_status stk_hdf5_storage_open(const char *path, const stk_dataset_options *options,
                                        stk_storage **out, stk_error *error)
{
    (void)options;
    *out = NULL;
    return stk_fail(error, STK_ERR_UNSUPPORTED,
                    "%s: an HDF5 file, and this build has no HDF5: install libhdf5-dev "
                    "and libdeflate-dev and build again",
                    path);
}
#endif

static const container containers[] = {
    {"stk-folder", is_folder, stk_folder_open},
    {"stk", is_shard, stk_shard_open},
    {"hdf5", is_hdf5, stk_hdf5_storage_open},
};

/* HDF5's signature stands at 0, or behind a user block of 512, 1024, 2048 ... bytes. */
static stk_status look_for_hdf5(const stk_file *file, uint64_t size, probe *p, stk_error *error)
{
    for (uint64_t at = 0; at + sizeof hdf5_magic <= size && !p->hdf5 && at <= (64 << 20);
         at = at == 0 ? 512 : at * 2) {
        uint8_t head[sizeof hdf5_magic];
        STK_TRY(stk_file_read_at(file, head, sizeof head, at, error));
        p->hdf5 = memcmp(head, hdf5_magic, sizeof head) == 0;
    }
    return STK_OK;
}

static stk_status take_probe(const char *path, probe *p, stk_error *error)
{
    struct stat st;
    *p = (probe){0};
    if (stat(path, &st) != 0) return stk_fail_errno(error, errno, "%s: cannot open", path);
    p->is_folder = S_ISDIR(st.st_mode);
    if (p->is_folder) return STK_OK;
    if (!S_ISREG(st.st_mode))
        return stk_fail(error, STK_ERR_UNSUPPORTED, "%s: neither a file nor a folder", path);
    stk_file file;
    uint64_t size = 0;
    STK_TRY(stk_file_open_read(path, &file, error));
    stk_status status = stk_file_size(&file, &size, error);
    p->n_bytes = size < PROBE_BYTES ? (size_t)size : PROBE_BYTES;
    if (status == STK_OK) status = stk_file_read_at(&file, p->head, p->n_bytes, 0, error);
    if (status == STK_OK && !is_shard(p)) status = look_for_hdf5(&file, size, p, error);
    stk_file_close(&file);
    return status;
}

static stk_status no_container(const char *path, const probe *p, stk_error *error)
{
    if (!p->is_folder && p->n_bytes == 0) return stk_fail(error, STK_ERR_CORRUPT, "%s: is empty", path);
    return stk_fail(error, STK_ERR_UNSUPPORTED,
                    "%s: not a packed data set (a .stk file, an HDF5 file or a folder with %s); pack "
                    "images with 'stoker pack'",
                    path, STK_FOLDER_MANIFEST);
}

stk_status stk_storage_open(const char *path, const stk_dataset_options *options, stk_storage **out,
                            stk_error *error)
{
    *out = NULL;
    probe p;
    STK_TRY(take_probe(path, &p, error));
    for (size_t i = 0; i < sizeof containers / sizeof containers[0]; i++) {
        if (containers[i].matches(&p)) return containers[i].open(path, options, out, error);
    }
    /* A shard whose very beginning is lost may still hold whole records. */
    if (options != NULL && options->salvage) return stk_shard_salvage(path, out, error);
    return no_container(path, &p, error);
}

stk_status stk_storage_sniff(const char *path, const char **name, stk_error *error)
{
    *name = NULL;
    probe p;
    STK_TRY(take_probe(path, &p, error));
    for (size_t i = 0; i < sizeof containers / sizeof containers[0] && *name == NULL; i++)
        if (containers[i].matches(&p)) *name = containers[i].name;
    return *name != NULL ? STK_OK : no_container(path, &p, error);
}

void stk_storage_close(stk_storage **storage)
{
    if (*storage != NULL) (*storage)->ops->close(*storage);
    *storage = NULL;
}
