/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache's store on LMDB: one file of memory-mapped B+ trees, readers that never wait, one writer at a
 * time among all processes, and a file that is whole after any kill. Four trees:
 *
 *   data  key -> value
 *   info  key -> age (generation of the last use), bytes of the value
 *   uses  age (big-endian), key -> nothing: the order in which entries are evicted
 *   meta  name -> number
 *
 * A generation is one opening for writing: it orders uses well enough, and a second use in it costs nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/endian.h"
#include "common/fail.h"
#include "packer/cache_db.h"
#include "packer/cache_place.h"

/* Address space, not memory: the file grows as it is filled. */
#define MAP_BYTES ((size_t)1 << 40)
#define LEAST_MAP_BYTES ((size_t)1 << 30)
#define DEFAULT_MAX_BYTES ((uint64_t)32 << 30)
enum { VERSION = 1, MAX_READERS = 2048, PAGE = 4096 };

static const char FILE_NAME[] = "stoker-cache.mdb";
static const char USERS_NAME[] = "stoker-cache.users"; /* flock: shared by those who have it open */

struct stk_cache_db {
    char path[PATH_MAX];
    MDB_env *env;
    MDB_dbi data, info, uses, meta;
    int users_fd;
    uint64_t generation;
};

struct stk_cache_reader {
    stk_cache_db *db;
    MDB_txn *txn;
};

typedef struct entry_info {
    uint64_t age, bytes;
} entry_info;

static stk_status fail_mdb(stk_error *error, int rc, const char *path, const char *what)
{
    switch (rc) {
    case MDB_CORRUPTED:
    case MDB_INVALID:
    case MDB_PANIC:
    case MDB_PAGE_NOTFOUND:
    case MDB_CURSOR_FULL:
        return stk_fail(error, STK_ERR_CORRUPT,
                        "%s: the cache is damaged (%s); 'stoker cache clear' empties it", path,
                        mdb_strerror(rc));
    case MDB_VERSION_MISMATCH:
        return stk_fail(error, STK_ERR_VERSION, "%s: made by another version of LMDB", path);
    case MDB_MAP_FULL: return stk_fail(error, STK_ERR_NO_SPACE, "%s: the cache is full", path);
    case MDB_READERS_FULL:
        return stk_fail(error, STK_ERR_BUSY, "%s: too many packs use the cache at once", path);
    default: break;
    }
    if (rc > 0) return stk_fail_errno(error, rc, "%s: %s", path, what);
    return stk_fail(error, STK_ERR_IO, "%s: %s: %s", path, what, mdb_strerror(rc));
}

#define TRY_MDB(db, expr, what)                                                                              \
    do {                                                                                                     \
        int rc_ = (expr);                                                                                    \
        if (rc_ != MDB_SUCCESS) return fail_mdb(error, rc_, (db)->path, what);                               \
    } while (0)

/* ---- Opening. */

static stk_status refuse_network(const char *folder, stk_error *error)
{
    const char *kind = stk_network_disk(folder);
    if (kind == NULL) return STK_OK;
    return stk_fail(
        error, STK_ERR_UNSUPPORTED,
        "%s: a cache cannot lie on a network disk (%s), where machines would spoil each other's; use a "
        "folder on a local disk",
        folder, kind);
}

static stk_status join(char *out, const char *folder, const char *name, stk_error *error)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", folder, name);
    return n > 0 && n < PATH_MAX ? STK_OK
                                 : stk_fail(error, STK_ERR_ARGUMENT, "%s: the path is too long", folder);
}

/* Whoever has the cache open holds this lock shared, so that clear knows when it may remove the files. */
static stk_status join_users(stk_cache_db *db, const char *folder, stk_error *error)
{
    char path[PATH_MAX];
    STK_TRY(join(path, folder, USERS_NAME, error));
    db->users_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (db->users_fd < 0) return stk_fail_errno(error, errno, "%s: cannot open", path);
    if (flock(db->users_fd, LOCK_SH) != 0) return stk_fail_errno(error, errno, "%s: cannot lock", path);
    /* LMDB must not be opened twice by one process. A lock of the open file, not of the process, tells. */
    struct flock mine = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = getpid(), .l_len = 1};
    if (fcntl(db->users_fd, F_OFD_SETLK, &mine) != 0 && (errno == EAGAIN || errno == EACCES))
        return stk_fail(error, STK_ERR_BUSY, "%s: this process uses the cache already", folder);
    return STK_OK;
}

/* Is the file one that LMDB began to make: nothing but zeros in front, or less than the first two pages of it? */
static bool is_half_made(int fd)
{
    enum { MAGIC_AT = 16, HEAD = 64 };
    static const uint8_t zeros[HEAD], magic[4] = {0xde, 0xc0, 0xef, 0xbe};
    uint8_t head[HEAD] = {0};
    struct stat st;
    if (fstat(fd, &st) != 0 || pread(fd, head, sizeof head, 0) < 0) return false;
    bool begins = memcmp(head + MAGIC_AT, magic, sizeof magic) == 0;
    return memcmp(head, zeros, sizeof head) == 0 || (begins && st.st_size < 2 * sysconf(_SC_PAGESIZE));
}

/* LMDB does not make its file in one step: one whose maker was killed, or met a full disk, holds nothing, and would be
 * called damaged for ever. Removed when nobody else uses the cache. */
static stk_status remove_half_made(const stk_cache_db *db, stk_error *error)
{
    char lock[PATH_MAX + 8];
    int fd = open(db->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return STK_OK;
    bool half = is_half_made(fd);
    close(fd);
    if (!half) return STK_OK;
    /* A refusal drops the shared lock too. Its maker may have finished before the lock was ours. */
    bool alone = flock(db->users_fd, LOCK_EX | LOCK_NB) == 0;
    if (alone && (fd = open(db->path, O_RDONLY | O_CLOEXEC)) >= 0) {
        half = is_half_made(fd);
        close(fd);
        snprintf(lock, sizeof lock, "%s-lock", db->path);
        if (half) (void)unlink(db->path);
        if (half) (void)unlink(lock);
    }
    if (flock(db->users_fd, LOCK_SH) == 0) return STK_OK;
    return stk_fail_errno(error, errno, "%s: cannot lock", db->path);
}

/* A file that was cut off would kill the process that looks behind its end; lengthened with zeros it gives
 * errors. (A whole file may lack its last pages too, when they were freed before they were written.) Called
 * within a write transaction, so that nobody else changes the length. */
static stk_status check_length(const stk_cache_db *db, stk_error *error)
{
    MDB_envinfo info;
    MDB_stat stat_of;
    struct stat st;
    int fd;
    TRY_MDB(db, mdb_env_info(db->env, &info), "cannot be read");
    TRY_MDB(db, mdb_env_stat(db->env, &stat_of), "cannot be read");
    TRY_MDB(db, mdb_env_get_fd(db->env, &fd), "cannot be read");
    if (fstat(fd, &st) != 0) return stk_fail_errno(error, errno, "%s: cannot stat", db->path);
    uint64_t need = (uint64_t)(info.me_last_pgno + 1) * stat_of.ms_psize;
    if ((uint64_t)st.st_size >= need || ftruncate(fd, (off_t)need) == 0) return STK_OK;
    return stk_fail_errno(error, errno, "%s: cannot be lengthened", db->path);
}

static int get_number(const stk_cache_db *db, MDB_txn *txn, const char *name, uint64_t *out)
{
    MDB_val key = {.mv_size = strlen(name), .mv_data = (void *)(uintptr_t)name}, value;
    int rc = mdb_get(txn, db->meta, &key, &value);
    if (rc == MDB_SUCCESS && value.mv_size != sizeof *out) return MDB_CORRUPTED;
    if (rc == MDB_SUCCESS) memcpy(out, value.mv_data, sizeof *out);
    return rc;
}

static int set_number(const stk_cache_db *db, MDB_txn *txn, const char *name, uint64_t number)
{
    MDB_val key = {.mv_size = strlen(name), .mv_data = (void *)(uintptr_t)name};
    MDB_val value = {.mv_size = sizeof number, .mv_data = &number};
    return mdb_put(txn, db->meta, &key, &value, 0);
}

static int open_trees(stk_cache_db *db, MDB_txn *txn)
{
    int rc = mdb_dbi_open(txn, "data", MDB_CREATE, &db->data);
    if (rc == MDB_SUCCESS) rc = mdb_dbi_open(txn, "info", MDB_CREATE, &db->info);
    if (rc == MDB_SUCCESS) rc = mdb_dbi_open(txn, "uses", MDB_CREATE, &db->uses);
    if (rc == MDB_SUCCESS) rc = mdb_dbi_open(txn, "meta", MDB_CREATE, &db->meta);
    return rc;
}

/* A new cache gets its numbers; an old one another generation. */
static int begin_generation(stk_cache_db *db, MDB_txn *txn, uint64_t *version)
{
    int rc = get_number(db, txn, "version", version);
    if (rc == MDB_NOTFOUND) {
        *version = VERSION;
        rc = set_number(db, txn, "version", VERSION);
        if (rc == MDB_SUCCESS) rc = set_number(db, txn, "max_bytes", DEFAULT_MAX_BYTES);
        if (rc == MDB_SUCCESS) rc = set_number(db, txn, "bytes", 0);
        if (rc == MDB_SUCCESS) rc = set_number(db, txn, "generation", 0);
    }
    if (rc == MDB_SUCCESS) rc = get_number(db, txn, "generation", &db->generation);
    db->generation++;
    return rc == MDB_SUCCESS ? set_number(db, txn, "generation", db->generation) : rc;
}

static stk_status begin(stk_cache_db *db, stk_error *error)
{
    MDB_txn *txn = NULL;
    uint64_t version = 0;
    TRY_MDB(db, mdb_txn_begin(db->env, NULL, 0, &txn), "cannot be written");
    stk_status status = check_length(db, error);
    if (status != STK_OK) {
        mdb_txn_abort(txn);
        return status;
    }
    int rc = open_trees(db, txn);
    if (rc == MDB_SUCCESS) rc = begin_generation(db, txn, &version);
    if (rc != MDB_SUCCESS || version != VERSION) {
        mdb_txn_abort(txn);
        if (rc != MDB_SUCCESS) return fail_mdb(error, rc, db->path, "cannot be opened");
        return stk_fail(error, STK_ERR_VERSION, "%s: made by another version of stoker", db->path);
    }
    TRY_MDB(db, mdb_txn_commit(txn), "cannot be written");
    return STK_OK;
}

static int open_env_of(stk_cache_db *db, size_t map_bytes)
{
    int rc = mdb_env_create(&db->env);
    if (rc != MDB_SUCCESS) return rc;
    rc = mdb_env_set_mapsize(db->env, map_bytes);
    if (rc == MDB_SUCCESS) rc = mdb_env_set_maxdbs(db->env, 4);
    if (rc == MDB_SUCCESS) rc = mdb_env_set_maxreaders(db->env, MAX_READERS);
    if (rc == MDB_SUCCESS) rc = mdb_env_open(db->env, db->path, MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD, 0666);
    if (rc == MDB_SUCCESS) return rc;
    mdb_env_close(db->env); /* after a failed open nothing else may be done with it */
    db->env = NULL;
    return rc;
}

/* Less address space where a limit (ulimit -v, a checker's shadow memory) leaves no room for all of it. */
static int open_env(stk_cache_db *db)
{
    int rc = ENOMEM;
    for (size_t map = MAP_BYTES; rc == ENOMEM && map >= LEAST_MAP_BYTES; map /= 4) rc = open_env_of(db, map);
    return rc;
}

static stk_status open_environment(stk_cache_db *db, const char *folder, bool create, stk_error *error)
{
    if (create && mkdir(folder, 0777) != 0 && errno != EEXIST)
        return stk_fail_errno(error, errno, "%s: cannot make the cache's folder", folder);
    STK_TRY(refuse_network(folder, error));
    STK_TRY(join(db->path, folder, FILE_NAME, error));
    struct stat st;
    if (!create && stat(db->path, &st) != 0)
        return stk_fail(error, STK_ERR_NOT_FOUND, "%s: there is no cache in this folder", folder);
    STK_TRY(join_users(db, folder, error));
    if (create) STK_TRY(remove_half_made(db, error));
    TRY_MDB(db, open_env(db), "cannot be opened");
    int dead;
    (void)mdb_reader_check(db->env, &dead); /* slots of killed packs would keep old pages from use */
    return begin(db, error);
}

stk_status stk_cache_db_open(const char *folder, bool create, stk_cache_db **out, stk_error *error)
{
    *out = NULL;
    stk_cache_db *db = calloc(1, sizeof *db);
    if (db == NULL) return stk_fail_memory(error, "the cache");
    db->users_fd = -1;
    stk_status status = open_environment(db, folder, create, error);
    if (status != STK_OK) stk_cache_db_close(&db);
    *out = db;
    return status;
}

void stk_cache_db_close(stk_cache_db **db)
{
    if (*db == NULL) return;
    if ((*db)->env != NULL) mdb_env_close((*db)->env);
    if ((*db)->users_fd >= 0) {
        /* A child that was forked meanwhile holds the same locks; closing alone would leave them to that child. */
        struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
        (void)fcntl((*db)->users_fd, F_OFD_SETLK, &all);
        (void)flock((*db)->users_fd, LOCK_UN);
        close((*db)->users_fd);
    }
    free(*db);
    *db = NULL;
}

/* ---- Reading. */

stk_status stk_cache_reader_open(stk_cache_db *db, stk_cache_reader **out, stk_error *error)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return stk_fail_memory(error, "the cache");
    (*out)->db = db;
    int rc = mdb_txn_begin(db->env, NULL, MDB_RDONLY, &(*out)->txn);
    if (rc == MDB_SUCCESS) {
        mdb_txn_reset((*out)->txn);
        return STK_OK;
    }
    free(*out);
    *out = NULL;
    return fail_mdb(error, rc, db->path, "cannot be read");
}

void stk_cache_reader_close(stk_cache_reader **reader)
{
    if (*reader == NULL) return;
    mdb_txn_abort((*reader)->txn);
    free(*reader);
    *reader = NULL;
}

stk_status stk_cache_get(stk_cache_reader *reader, const uint8_t *key, stk_buffer *value, bool *found,
                         stk_error *error)
{
    *found = false;
    TRY_MDB(reader->db, mdb_txn_renew(reader->txn), "cannot be read");
    MDB_val k = {.mv_size = STK_CACHE_KEY_BYTES, .mv_data = (void *)(uintptr_t)key}, v;
    int rc = mdb_get(reader->txn, reader->db->data, &k, &v);
    stk_status status = STK_OK;
    if (rc == MDB_SUCCESS) {
        value->n_bytes = 0;
        status = stk_buffer_append(value, v.mv_data, v.mv_size, error);
        *found = status == STK_OK;
    }
    mdb_txn_reset(reader->txn); /* so that pages freed meanwhile can be used again */
    return rc == MDB_SUCCESS || rc == MDB_NOTFOUND ? status
                                                   : fail_mdb(error, rc, reader->db->path, "cannot be read");
}

/* ---- Writing. All within one transaction; `bytes` is the running sum. */

typedef struct change {
    stk_cache_db *db;
    MDB_txn *txn;
    uint64_t bytes, max_bytes;
} change;

static void use_key(uint8_t out[8 + STK_CACHE_KEY_BYTES], uint64_t age, const uint8_t *key)
{
    for (int i = 0; i < 8; i++)
        out[i] = (uint8_t)(age >> (56 - 8 * i));
    memcpy(out + 8, key, STK_CACHE_KEY_BYTES);
}

static int put_use(change *c, uint64_t age, const uint8_t *key, uint64_t bytes)
{
    uint8_t use[8 + STK_CACHE_KEY_BYTES];
    entry_info info = {.age = age, .bytes = bytes};
    use_key(use, age, key);
    MDB_val use_val = {.mv_size = sizeof use, .mv_data = use}, nothing = {0};
    MDB_val key_val = {.mv_size = STK_CACHE_KEY_BYTES, .mv_data = (void *)(uintptr_t)key};
    MDB_val info_val = {.mv_size = sizeof info, .mv_data = &info};
    int rc = mdb_put(c->txn, c->db->uses, &use_val, &nothing, 0);
    return rc == MDB_SUCCESS ? mdb_put(c->txn, c->db->info, &key_val, &info_val, 0) : rc;
}

static int delete_use(change *c, uint64_t age, const uint8_t *key)
{
    uint8_t use[8 + STK_CACHE_KEY_BYTES];
    use_key(use, age, key);
    MDB_val use_val = {.mv_size = sizeof use, .mv_data = use};
    int rc = mdb_del(c->txn, c->db->uses, &use_val, NULL);
    return rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
}

static int get_info(change *c, const uint8_t *key, entry_info *out)
{
    MDB_val k = {.mv_size = STK_CACHE_KEY_BYTES, .mv_data = (void *)(uintptr_t)key}, v;
    int rc = mdb_get(c->txn, c->db->info, &k, &v);
    if (rc == MDB_SUCCESS && v.mv_size != sizeof *out) return MDB_CORRUPTED;
    if (rc == MDB_SUCCESS) memcpy(out, v.mv_data, sizeof *out);
    return rc;
}

static int remove_entry(change *c, const uint8_t *key)
{
    entry_info info;
    int rc = get_info(c, key, &info);
    if (rc == MDB_NOTFOUND) return MDB_SUCCESS;
    if (rc != MDB_SUCCESS) return rc;
    MDB_val k = {.mv_size = STK_CACHE_KEY_BYTES, .mv_data = (void *)(uintptr_t)key};
    rc = delete_use(c, info.age, key);
    if (rc == MDB_SUCCESS) rc = mdb_del(c->txn, c->db->info, &k, NULL);
    if (rc == MDB_SUCCESS) rc = mdb_del(c->txn, c->db->data, &k, NULL);
    if (rc == MDB_NOTFOUND) rc = MDB_SUCCESS;
    c->bytes -= info.bytes < c->bytes ? info.bytes : c->bytes;
    return rc;
}

/* Removes the entries used longest ago until `need` more bytes fit. */
static int make_room(change *c, uint64_t need, uint64_t *removed)
{
    while (c->bytes > 0 && (c->bytes > c->max_bytes || need > c->max_bytes - c->bytes)) {
        MDB_cursor *cursor;
        MDB_val use, nothing;
        uint8_t key[STK_CACHE_KEY_BYTES];
        int rc = mdb_cursor_open(c->txn, c->db->uses, &cursor);
        if (rc != MDB_SUCCESS) return rc;
        rc = mdb_cursor_get(cursor, &use, &nothing, MDB_FIRST);
        if (rc == MDB_SUCCESS && use.mv_size == 8 + sizeof key)
            memcpy(key, (uint8_t *)use.mv_data + 8, sizeof key);
        else if (rc == MDB_SUCCESS)
            rc = MDB_CORRUPTED;
        mdb_cursor_close(cursor);
        if (rc == MDB_NOTFOUND) return MDB_SUCCESS;
        if (rc == MDB_SUCCESS) rc = remove_entry(c, key);
        if (rc != MDB_SUCCESS) return rc;
        (*removed)++;
    }
    return MDB_SUCCESS;
}

/* What an entry takes: large values lie in pages of their own. */
static uint64_t stored_bytes(size_t n_bytes)
{
    return n_bytes > PAGE / 2 ? ((uint64_t)n_bytes + 16 + PAGE - 1) / PAGE * PAGE : (uint64_t)n_bytes + 64;
}

static int put_item(change *c, const stk_cache_item *item)
{
    entry_info info;
    uint64_t removed = 0, bytes = stored_bytes(item->n_bytes);
    int rc = item->replace ? remove_entry(c, item->key) : MDB_SUCCESS;
    if (rc == MDB_SUCCESS) rc = get_info(c, item->key, &info);
    if (rc == MDB_SUCCESS) {
        if (info.age == c->db->generation) return MDB_SUCCESS;
        rc = delete_use(c, info.age, item->key);
        return rc == MDB_SUCCESS ? put_use(c, c->db->generation, item->key, info.bytes) : rc;
    }
    if (rc != MDB_NOTFOUND) return rc;
    if (item->value == NULL || bytes > c->max_bytes) return MDB_SUCCESS;
    rc = make_room(c, bytes, &removed);
    if (rc != MDB_SUCCESS) return rc;
    MDB_val k = {.mv_size = STK_CACHE_KEY_BYTES, .mv_data = (void *)(uintptr_t)item->key};
    MDB_val v = {.mv_size = item->n_bytes, .mv_data = (void *)(uintptr_t)item->value};
    rc = mdb_put(c->txn, c->db->data, &k, &v, 0);
    if (rc == MDB_SUCCESS) rc = put_use(c, c->db->generation, item->key, bytes);
    if (rc == MDB_SUCCESS) c->bytes += bytes;
    return rc;
}

static stk_status begin_change(stk_cache_db *db, change *c, stk_error *error)
{
    *c = (change){.db = db};
    TRY_MDB(db, mdb_txn_begin(db->env, NULL, 0, &c->txn), "cannot be written");
    int rc = get_number(db, c->txn, "bytes", &c->bytes);
    if (rc == MDB_SUCCESS) rc = get_number(db, c->txn, "max_bytes", &c->max_bytes);
    if (rc == MDB_SUCCESS) return STK_OK;
    mdb_txn_abort(c->txn);
    return fail_mdb(error, rc, db->path, "cannot be read");
}

/* Commits when rc says that all went well. */
static stk_status end_change(change *c, int rc, stk_error *error)
{
    if (rc == MDB_SUCCESS) rc = set_number(c->db, c->txn, "bytes", c->bytes);
    if (rc == MDB_SUCCESS) rc = set_number(c->db, c->txn, "max_bytes", c->max_bytes);
    if (rc == MDB_SUCCESS) {
        TRY_MDB(c->db, mdb_txn_commit(c->txn), "cannot be written");
        return STK_OK;
    }
    mdb_txn_abort(c->txn);
    return fail_mdb(error, rc, c->db->path, "cannot be written");
}

stk_status stk_cache_put(stk_cache_db *db, const stk_cache_item *items, size_t n, stk_error *error)
{
    change c;
    int rc = MDB_SUCCESS;
    STK_TRY(begin_change(db, &c, error));
    for (size_t i = 0; i < n && rc == MDB_SUCCESS; i++)
        rc = put_item(&c, &items[i]);
    return end_change(&c, rc, error);
}

stk_status stk_cache_db_trim(stk_cache_db *db, uint64_t max_bytes, uint64_t *removed, stk_error *error)
{
    change c;
    *removed = 0;
    STK_TRY(begin_change(db, &c, error));
    c.max_bytes = max_bytes;
    return end_change(&c, make_room(&c, 0, removed), error);
}

stk_status stk_cache_db_info(stk_cache_db *db, stk_cache_info *out, stk_error *error)
{
    MDB_txn *txn;
    MDB_stat stat_of;
    struct stat st;
    *out = (stk_cache_info){0};
    TRY_MDB(db, mdb_txn_begin(db->env, NULL, MDB_RDONLY, &txn), "cannot be read");
    int rc = get_number(db, txn, "bytes", &out->bytes);
    if (rc == MDB_SUCCESS) rc = get_number(db, txn, "max_bytes", &out->max_bytes);
    if (rc == MDB_SUCCESS) rc = mdb_stat(txn, db->data, &stat_of);
    mdb_txn_abort(txn);
    TRY_MDB(db, rc, "cannot be read");
    out->entries = stat_of.ms_entries;
    if (stat(db->path, &st) == 0) out->file_bytes = (uint64_t)st.st_size;
    return STK_OK;
}

/* ---- Checking all. */

static int collect_unsound(stk_cache_db *db, MDB_txn *txn, bool (*sound)(const uint8_t *, size_t),
                           stk_buffer *keys, uint64_t *checked)
{
    MDB_cursor *cursor;
    MDB_val key, value;
    int rc = mdb_cursor_open(txn, db->data, &cursor);
    if (rc != MDB_SUCCESS) return rc;
    for (rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST); rc == MDB_SUCCESS;
         rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
        (*checked)++;
        if (key.mv_size == STK_CACHE_KEY_BYTES && sound(value.mv_data, value.mv_size)) continue;
        if (key.mv_size != STK_CACHE_KEY_BYTES)
            rc = MDB_CORRUPTED;
        else if (stk_buffer_append(keys, key.mv_data, key.mv_size, NULL) != STK_OK)
            rc = ENOMEM;
        if (rc != MDB_SUCCESS) break;
    }
    mdb_cursor_close(cursor);
    return rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
}

stk_status stk_cache_db_sift(stk_cache_db *db, bool (*sound)(const uint8_t *value, size_t n_bytes),
                             uint64_t *checked, uint64_t *removed, stk_error *error)
{
    MDB_txn *txn;
    stk_buffer keys = {0};
    change c;
    *checked = *removed = 0;
    TRY_MDB(db, mdb_txn_begin(db->env, NULL, MDB_RDONLY, &txn), "cannot be read");
    int rc = collect_unsound(db, txn, sound, &keys, checked);
    mdb_txn_abort(txn);
    stk_status status = rc == MDB_SUCCESS ? STK_OK : fail_mdb(error, rc, db->path, "cannot be read");
    if (status == STK_OK && keys.n_bytes > 0) status = begin_change(db, &c, error);
    if (status == STK_OK && keys.n_bytes > 0) {
        for (size_t at = 0; at < keys.n_bytes && rc == MDB_SUCCESS; at += STK_CACHE_KEY_BYTES)
            rc = remove_entry(&c, keys.data + at);
        status = end_change(&c, rc, error);
        *removed = keys.n_bytes / STK_CACHE_KEY_BYTES;
    }
    stk_buffer_free(&keys);
    return status;
}

/* ---- Emptying. */

static stk_status remove_files(const char *folder, stk_error *error)
{
    static const char *const NAMES[] = {"stoker-cache.mdb", "stoker-cache.mdb-lock"};
    char path[PATH_MAX];
    for (int i = 0; i < 2; i++) {
        STK_TRY(join(path, folder, NAMES[i], error));
        if (unlink(path) != 0 && errno != ENOENT)
            return stk_fail_errno(error, errno, "%s: cannot be removed", path);
    }
    return STK_OK;
}

static stk_status drop_content(const char *folder, stk_error *error)
{
    stk_cache_db *db;
    change c;
    STK_TRY(stk_cache_db_open(folder, false, &db, error));
    stk_status status = begin_change(db, &c, error);
    if (status == STK_OK) {
        int rc = mdb_drop(c.txn, db->data, 0);
        if (rc == MDB_SUCCESS) rc = mdb_drop(c.txn, db->info, 0);
        if (rc == MDB_SUCCESS) rc = mdb_drop(c.txn, db->uses, 0);
        c.bytes = 0;
        status = end_change(&c, rc, error);
    }
    stk_cache_db_close(&db);
    return status;
}

stk_status stk_cache_db_clear(const char *folder, stk_error *error)
{
    char path[PATH_MAX];
    STK_TRY(join(path, folder, USERS_NAME, error));
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return stk_fail(error, STK_ERR_NOT_FOUND, "%s: there is no cache in this folder", folder);
    /* The lock's file stays: it is what the next users meet at. */
    bool alone = flock(fd, LOCK_EX | LOCK_NB) == 0;
    stk_status status = alone ? remove_files(folder, error) : drop_content(folder, error);
    close(fd);
    return status;
}
