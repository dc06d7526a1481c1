/* SPDX-License-Identifier: Apache-2.0
 *
 * From a manifest's paths to files. Many manifests leave out extensions or folders; a name that fits exactly
 * one file is taken, one that fits several is reported, never guessed. */
#include "packer/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "packer/file_index.h"
#include "packer/team.h"

/* Tried in this order when nothing lies at the path itself. */
static const char *const EXTENSIONS[] = {
    ".jpg", ".jpeg", ".png",  ".JPG", ".JPEG", ".PNG", ".webp",
    ".bmp", ".tif",  ".tiff", ".gif", ".ppm",  ".pgm",
};
enum { N_EXTENSIONS = sizeof EXTENSIONS / sizeof *EXTENSIONS };

/* What the look-up of a row found: a file at the path, or with extension k at FOUND + 1 + k. */
enum { NOTHING = 0, LEAVES_ROOT = 1, FOUND = 2 };

typedef struct resolve_job {
    const char *root;
    const char *real_root; /* absolute, links resolved */
    int root_fd;
    stk_names *paths; /* normalised in place */
    uint8_t *found;
    pthread_mutex_t lock;
    uint32_t next;
} resolve_job;

/* Bytes of an absolute path that name the root; 0: it does not begin with it. */
static size_t root_prefix(const char *root, const char *path)
{
    size_t n = strlen(root);
    while (n > 1 && root[n - 1] == '/')
        n--;
    return strncmp(path, root, n) == 0 && path[n] == '/' ? n : 0;
}

/* Removes "." and "..", doubled slashes and the root's own name in front, in place. False when the path leads
 * out of the root or stands elsewhere. */
static bool normalise(const resolve_job *job, char *path)
{
    char *from = path, *to = path;
    if (path[0] == '/') {
        size_t n = root_prefix(job->real_root, path);
        if (n == 0) n = root_prefix(job->root, path);
        if (n == 0) return false;
        from += n;
    }
    while (*from != '\0') {
        while (*from == '/')
            from++;
        size_t n = strcspn(from, "/");
        if (n == 2 && from[0] == '.' && from[1] == '.') {
            if (to == path) return false;
            while (to > path && to[-1] != '/')
                to--;
            if (to > path) to--;
        } else if (n > 0 && !(n == 1 && from[0] == '.')) {
            if (to > path) *to++ = '/';
            memmove(to, from, n);
            to += n;
        }
        from += n;
    }
    *to = '\0';
    return true;
}

static bool is_there(int root_fd, const char *path)
{
    struct stat st;
    return fstatat(root_fd, path, &st, 0) == 0 && !S_ISDIR(st.st_mode);
}

static uint8_t look_up(const resolve_job *job, char *path)
{
    char longer[PATH_MAX];
    if (!normalise(job, path)) return LEAVES_ROOT;
    if (path[0] == '\0') return NOTHING;
    if (is_there(job->root_fd, path)) return FOUND;
    if (strchr(path, '\\') != NULL) {
        /* Written on Windows. Such a name would have been found above if it were a real one here. */
        for (char *p = path; *p != '\0'; p++)
            if (*p == '\\') *p = '/';
        if (!normalise(job, path)) return LEAVES_ROOT;
        if (is_there(job->root_fd, path)) return FOUND;
    }
    if (stk_has_image_extension(path)) return NOTHING;
    for (int k = 0; k < N_EXTENSIONS; k++) {
        int n = snprintf(longer, sizeof longer, "%s%s", path, EXTENSIONS[k]);
        if (n < 0 || (size_t)n >= sizeof longer) return NOTHING;
        if (is_there(job->root_fd, longer)) return (uint8_t)(FOUND + 1 + k);
    }
    return NOTHING;
}

static void resolve_thread(void *user, uint32_t thread)
{
    enum { BLOCK = 256 };
    (void)thread;
    resolve_job *job = user;
    for (;;) {
        pthread_mutex_lock(&job->lock);
        uint32_t first = job->next;
        uint32_t n = job->paths->n - first < BLOCK ? job->paths->n - first : BLOCK;
        job->next += n;
        pthread_mutex_unlock(&job->lock);
        if (n == 0) return;
        for (uint32_t i = first; i < first + n; i++)
            job->found[i] = look_up(job, job->paths->text + job->paths->offsets[i]);
    }
}

/* Looks a name up that was not found where it says. Fills `name` with the resolved one. */
static stk_status search(stk_file_index **index, const char *root, const char *path, stk_buffer *name,
                         stk_source_state *state, stk_error *error)
{
    *state = STK_SOURCE_MISSING;
    if (path[0] == '\0') return STK_OK;
    if (*index == NULL) STK_TRY(stk_file_index_open(root, index, error));
    return stk_file_index_find(*index, path, name, state, error);
}

/* Builds the final list in the rows' order. */
static stk_status collect(resolve_job *job, stk_sources *sources, stk_error *error)
{
    stk_file_index *index = NULL;
    stk_names names = {0};
    stk_buffer name = {0};
    stk_status status = STK_OK;
    for (uint32_t i = 0; i < job->paths->n; i++) {
        const char *path = job->paths->text + job->paths->offsets[i];
        stk_source_state state = STK_SOURCE_FILE;
        name.n_bytes = 0;
        STK_GOTO(stk_buffer_printf(&name, error, "%s", path));
        if (job->found[i] == LEAVES_ROOT)
            state = STK_SOURCE_OUTSIDE;
        else if (job->found[i] == NOTHING)
            STK_GOTO(search(&index, job->root, path, &name, &state, error));
        else if (job->found[i] > FOUND)
            STK_GOTO(stk_buffer_printf(&name, error, "%s", EXTENSIONS[job->found[i] - FOUND - 1]));
        sources->states[i] = (uint8_t)state;
        STK_GOTO(stk_names_add(&names, (const char *)name.data, name.n_bytes, error));
    }
    stk_source_dir *dir = stk_sources_add_dir(sources);
    if (dir != NULL) dir->path = strdup("");
    if (dir == NULL || dir->path == NULL) {
        status = stk_fail_memory(error, "the list of files");
        goto cleanup;
    }
    dir->names = names.text;
    dir->offsets = names.offsets;
    dir->n = names.n;
    names = (stk_names){0};
    stk_sources_number(sources);
cleanup:
    stk_file_index_close(&index);
    stk_names_free(&names);
    stk_buffer_free(&name);
    return status;
}

stk_status stk_manifest_resolve(stk_names *written, uint32_t n_threads, stk_sources *sources,
                                stk_error *error)
{
    stk_status status = STK_OK;
    resolve_job job = {.root = sources->root, .paths = written, .lock = PTHREAD_MUTEX_INITIALIZER};
    char *real_root = realpath(sources->root, NULL);
    job.real_root = real_root != NULL ? real_root : sources->root;
    job.root_fd = open(sources->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (job.root_fd < 0) {
        status = stk_fail_errno(
            error, errno, "%s: cannot open the folder that the manifest's paths start from", sources->root);
        goto cleanup;
    }
    job.found = calloc(written->n, 1);
    sources->states = calloc(written->n, 1);
    if (job.found == NULL || sources->states == NULL) {
        status = stk_fail_memory(error, "the list of files");
        goto cleanup;
    }
    stk_team_run(n_threads, resolve_thread, &job);
    status = collect(&job, sources, error);
cleanup:
    if (job.root_fd >= 0) close(job.root_fd);
    free(job.found);
    free(real_root);
    return status;
}
