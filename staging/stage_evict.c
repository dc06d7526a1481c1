/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists and removes copies. Only what lies in a folder of ours and bears one of our names is ever removed. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/remove_tree.h"
#include "staging/stage_base.h"
#include "staging/stage_job.h"
#include "staging/stage_outcome.h"

enum { ID_DIGITS = 32, KEY_CHARS = 49, LOCK_TRIES = 10 };

typedef struct found_copy {
    char *folder, *source;
    char base[STK_STAGE_PATH];
    char key[KEY_CHARS + 1];
    bool part, whole, in_use;
    uint64_t n_bytes, disk_bytes;
    double idle_seconds;
} found_copy;

typedef struct found_list {
    found_copy *items;
    size_t n;
} found_list;

static void list_close(found_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->items[i].folder);
        free(list->items[i].source);
    }
    free(list->items);
    *list = (found_list){0};
}

/* "KEY" or "KEY.part". */
static bool parse_name(const char *name, bool *part)
{
    static const char digits[] = "0123456789abcdef";
    if (strspn(name, digits) != ID_DIGITS || name[ID_DIGITS] != '-') return false;
    if (strspn(name + ID_DIGITS + 1, digits) != KEY_CHARS - ID_DIGITS - 1) return false;
    *part = strcmp(name + KEY_CHARS, ".part") == 0;
    return *part || name[KEY_CHARS] == '\0';
}

static double idle_seconds(const char *folder)
{
    char path[STK_STAGE_PATH];
    struct stat st;
    struct timespec now;
    if ((!stk_stage_join(path, folder, "record", "") || lstat(path, &st) != 0) && lstat(folder, &st) != 0) return 0;
    clock_gettime(CLOCK_REALTIME, &now);
    double idle = (double)(now.tv_sec - st.st_mtim.tv_sec) + (double)(now.tv_nsec - st.st_mtim.tv_nsec) * 1e-9;
    return idle > 0 ? idle : 0;
}

static stk_status add_copy(found_list *list, const char *base, const char *name, bool part, stk_error *error)
{
    found_copy *items = realloc(list->items, (list->n + 1) * sizeof *items);
    if (items == NULL) return stk_fail_memory(error, "the list of copies");
    list->items = items;
    found_copy *c = &items[list->n];
    *c = (found_copy){.part = part};
    char lock[STK_STAGE_PATH];
    snprintf(c->base, sizeof c->base, "%s", base);
    memcpy(c->key, name, KEY_CHARS);
    if (asprintf(&c->folder, "%s/%s", base, name) < 0) return stk_fail_memory(error, "the list of copies");
    list->n++;
    /* A folder without a readable record is listed too: it takes space. */
    (void)stk_stage_record_source(c->folder, &c->source, &c->n_bytes, &c->whole);
    c->disk_bytes = stk_stage_disk_bytes(c->folder);
    c->idle_seconds = idle_seconds(c->folder);
    c->in_use = stk_stage_in_use(c->folder) ||
                (stk_stage_join(lock, base, c->key, ".lock") && stk_stage_is_locked(lock));
    return STK_OK;
}

static stk_status list_base(const char *base, found_list *list, stk_error *error)
{
    DIR *stream = opendir(base);
    if (stream == NULL) return stk_fail_errno(error, errno, "%s: cannot be listed", base);
    stk_status status = STK_OK;
    for (const struct dirent *entry = readdir(stream); entry != NULL && status == STK_OK; entry = readdir(stream)) {
        bool part;
        if (parse_name(entry->d_name, &part)) status = add_copy(list, base, entry->d_name, part, error);
    }
    closedir(stream);
    return status;
}

static int by_idle(const void *a, const void *b)
{
    const found_copy *x = a, *y = b;
    return (x->idle_seconds < y->idle_seconds) - (x->idle_seconds > y->idle_seconds);
}

static stk_status list_all(const char *to, found_list *list, stk_error *error)
{
    const char *folders[STK_PLACES] = {to};
    bool named = to != NULL && strcmp(to, "auto") != 0;
    int n = named ? 1 : stk_stage_candidates(folders);
    struct stat st;
    if (named && stat(to, &st) != 0) return stk_fail_errno(error, errno, "%s: cannot look for copies there", to);
    for (int i = 0; i < n; i++) {
        char base[STK_STAGE_PATH];
        stk_error why = {0};
        stk_status status = stk_stage_base(folders[i], false, base, &why);
        /* Of the usual places some are missing, and some are not to be trusted: nothing of ours is there. */
        if (status == STK_ERR_NOT_FOUND || (status != STK_OK && !named)) continue;
        if (status != STK_OK) return stk_fail(error, status, "%s", why.text);
        STK_TRY(list_base(base, list, error));
    }
    if (list->n > 1) qsort(list->items, list->n, sizeof *list->items, by_idle);
    return STK_OK;
}

stk_status stk_stage_list(const char *to, stk_stage_copy_fn fn, void *user, stk_error *error)
{
    found_list list = {0};
    if (fn == NULL) return stk_fail(error, STK_ERR_ARGUMENT, "fn is NULL");
    stk_status status = list_all(to, &list, error);
    for (size_t i = 0; status == STK_OK && i < list.n; i++) {
        const found_copy *c = &list.items[i];
        stk_stage_state state = c->whole ? STK_STAGE_WHOLE : STK_STAGE_SUBSET;
        if (c->part) state = c->in_use ? STK_STAGE_COPYING : STK_STAGE_PART;
        stk_stage_copy copy = {.folder = c->folder,
                               .source = c->source != NULL ? c->source : "?",
                               .state = state,
                               .bytes = c->n_bytes,
                               .disk_bytes = c->disk_bytes,
                               .idle_seconds = c->idle_seconds,
                               .in_use = c->in_use};
        if (!fn(user, &copy)) break;
    }
    list_close(&list);
    return status;
}

/* Under the copy's lock; STK_ERR_BUSY when another process makes it. */
static stk_status remove_copy(const found_copy *c, stk_error *error)
{
    char lock[STK_STAGE_PATH];
    int fd;
    long holder = 0;
    if (!stk_stage_join(lock, c->base, c->key, ".lock"))
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", c->folder);
    stk_status status = stk_stage_lock(lock, &fd, &holder, error);
    /* Whoever only looks whether it is locked holds it for a moment. */
    for (int i = 0; i < LOCK_TRIES && status == STK_AGAIN; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        status = stk_stage_lock(lock, &fd, &holder, error);
    }
    if (status == STK_AGAIN)
        return stk_fail(error, STK_ERR_BUSY, "%s: is being copied by process %ld; end that first", c->folder, holder);
    STK_TRY(status);
    int why = stk_stage_discard(c->base, c->folder);
    if (why != 0) status = stk_fail_errno(error, why, "%s: cannot be removed", c->folder);
    stk_stage_outcome_remove(c->base, c->key);
    stk_stage_drop_lock(lock, &fd);
    return status;
}

static uint64_t free_bytes_of(const char *base)
{
    struct statfs fs;
    return statfs(base, &fs) == 0 ? (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize : 0;
}

stk_status stk_stage_evict(const char *path, const char *to, uint64_t keep_free, uint64_t *n_copies, uint64_t *n_bytes,
                           stk_error *error)
{
    found_list list = {0};
    uint64_t copies = 0, bytes = 0;
    char *real = path != NULL ? realpath(path, NULL) : NULL;
    const char *source = real != NULL ? real : path;
    stk_status status = list_all(to, &list, error);
    for (size_t i = 0; status == STK_OK && i < list.n; i++) {
        const found_copy *c = &list.items[i];
        bool named = source != NULL && c->source != NULL && strcmp(source, c->source) == 0;
        if (source != NULL ? !named : c->in_use) continue;
        if (source == NULL && keep_free != STK_STAGE_KEEP_DEFAULT && free_bytes_of(c->base) >= keep_free) continue;
        status = remove_copy(c, error);
        if (status == STK_ERR_BUSY && source == NULL) status = STK_OK; /* it was begun just now */
        if (status != STK_OK) break;
        copies++;
        bytes += c->disk_bytes;
    }
    list_close(&list);
    free(real);
    if (n_copies != NULL) *n_copies = copies;
    if (n_bytes != NULL) *n_bytes = bytes;
    return status;
}

/* What was to be removed when its remover died. */
static void clean_trash(const char *base)
{
    DIR *stream = opendir(base);
    if (stream == NULL) return;
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        char path[STK_STAGE_PATH];
        if (strncmp(entry->d_name, "trash.", 6) == 0 && stk_stage_join(path, base, entry->d_name, ""))
            (void)stk_remove_tree(path);
    }
    closedir(stream);
}

void stk_stage_clean(const char *base, const stk_stage_source *source)
{
    found_list list = {0};
    clean_trash(base);
    if (list_base(base, &list, NULL) == STK_OK)
        for (size_t i = 0; i < list.n; i++) {
            const found_copy *c = &list.items[i];
            if (c->source == NULL || strcmp(c->source, source->path) != 0 || strcmp(c->key, source->key) == 0 || c->in_use)
                continue;
            (void)remove_copy(c, NULL);
        }
    list_close(&list);
}
