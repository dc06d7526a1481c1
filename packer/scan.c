/* SPDX-License-Identifier: Apache-2.0
 *
 * Folder -> list of files, in the order of torchvision's ImageFolder (make_dataset): classes sorted by name;
 * within a class all folders below it sorted by their whole path (so a-b comes between a and a/b); within a
 * folder the files sorted by name. Links are followed, as os.walk(followlinks=True) does, except into a
 * folder that is being walked already.
 *
 * A folder without class folders gives its own files without labels. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fail.h"
#include "packer/folder_list.h"
#include "packer/manifest.h"
#include "packer/name_order.h"
#include "packer/source_file.h"
#include "packer/sources.h"
#include "packer/team.h"

/* A folder met on a walk; parents form the chain in which loops are looked for. */
typedef struct walk_node {
    char *path;
    size_t parent; /* SIZE_MAX: the class folder, whose parent is the root */
    dev_t device;
    ino_t inode;
} walk_node;

typedef struct walk {
    int root_fd;
    dev_t root_device;
    ino_t root_inode;
    walk_node *nodes;
    size_t n_nodes, capacity;
    stk_sources found;    /* only dirs and n_special */
    struct scan_job *job; /* NULL: nobody looks */
    uint32_t thread;
} walk;

static stk_status report_found(walk *w, uint64_t n_files, stk_error *error);

static void walk_free(walk *w)
{
    for (size_t i = 0; i < w->n_nodes; i++)
        free(w->nodes[i].path);
    free(w->nodes);
    stk_sources_free(&w->found);
}

static stk_status walk_push(walk *w, const char *folder, const char *name, size_t parent, stk_error *error)
{
    if (w->n_nodes == w->capacity) {
        size_t capacity = w->capacity * 2 + 16;
        walk_node *nodes = realloc(w->nodes, capacity * sizeof *nodes);
        if (nodes == NULL) return stk_fail_memory(error, "the list of folders");
        w->nodes = nodes;
        w->capacity = capacity;
    }
    size_t n_folder = strlen(folder), n_name = strlen(name);
    char *path = malloc(n_folder + n_name + 2);
    if (path == NULL) return stk_fail_memory(error, "the list of folders");
    memcpy(path, folder, n_folder);
    if (n_folder > 0) path[n_folder++] = '/';
    memcpy(path + n_folder, name, n_name + 1);
    w->nodes[w->n_nodes++] = (walk_node){.path = path, .parent = parent};
    return STK_OK;
}

static bool holds_itself(const walk *w, size_t i)
{
    const walk_node *node = &w->nodes[i];
    if (node->device == w->root_device && node->inode == w->root_inode) return true;
    for (size_t up = node->parent; up != SIZE_MAX; up = w->nodes[up].parent)
        if (w->nodes[up].device == node->device && w->nodes[up].inode == node->inode) return true;
    return false;
}

/* Appends a folder's entry that names the folder itself: something is wrong with it. */
static stk_status add_bad_dir(stk_sources *found, const char *path, stk_source_state state, int error_number,
                              stk_error *error)
{
    stk_source_dir *dir = stk_sources_add_dir(found);
    if (dir == NULL) return stk_fail_memory(error, "the list of folders");
    dir->state = state;
    dir->error_number = error_number;
    dir->path = strdup(path);
    dir->names = calloc(1, 1);
    dir->offsets = calloc(1, sizeof *dir->offsets);
    if (dir->path == NULL || dir->names == NULL || dir->offsets == NULL)
        return stk_fail_memory(error, "the list of folders");
    dir->n = 1;
    return STK_OK;
}

/* Moves the files of a folder into the list. */
static stk_status add_dir(stk_sources *found, const char *path, stk_names *files, stk_error *error)
{
    if (files->n == 0) return STK_OK;
    stk_source_dir *dir = stk_sources_add_dir(found);
    if (dir == NULL) return stk_fail_memory(error, "the list of folders");
    dir->path = strdup(path);
    if (dir->path == NULL) return stk_fail_memory(error, "the list of folders");
    dir->names = realloc(files->text, files->n_bytes);
    dir->offsets = realloc(files->offsets, files->n * sizeof *files->offsets);
    if (dir->names == NULL) dir->names = files->text; /* shrinking failed: the larger block serves as well */
    if (dir->offsets == NULL) dir->offsets = files->offsets;
    dir->n = files->n;
    *files = (stk_names){0};
    return STK_OK;
}

static stk_status walk_node_read(walk *w, size_t i, stk_error *error)
{
    stk_folder_list list;
    int error_number = 0;
    stk_status status = STK_OK;
    STK_TRY(stk_folder_read(w->root_fd, w->nodes[i].path, &list, &error_number, error));
    if (error_number != 0) {
        if (stk_stops_everything(error_number)) {
            status = stk_fail_errno(error, error_number, "%s: cannot list the folder", w->nodes[i].path);
            goto cleanup;
        }
        STK_GOTO(add_bad_dir(&w->found, w->nodes[i].path, STK_SOURCE_UNREADABLE, error_number, error));
        goto cleanup;
    }
    w->nodes[i].device = list.device;
    w->nodes[i].inode = list.inode;
    if (holds_itself(w, i)) {
        STK_GOTO(add_bad_dir(&w->found, w->nodes[i].path, STK_SOURCE_LOOP, 0, error));
        goto cleanup;
    }
    w->found.n_special += list.n_special;
    STK_GOTO(report_found(w, list.files.n, error));
    STK_GOTO(add_dir(&w->found, w->nodes[i].path, &list.files, error));
    for (uint32_t k = 0; k < list.folders.n; k++)
        STK_GOTO(walk_push(w, w->nodes[i].path, list.folders.text + list.folders.offsets[k], i, error));
cleanup:
    stk_folder_list_free(&list);
    return status;
}

static int compare_dirs(const void *a, const void *b)
{
    return stk_name_compare(((const stk_source_dir *)a)->path, ((const stk_source_dir *)b)->path);
}

/* Everything below one class folder. */
static stk_status walk_class(walk *w, const char *name, stk_error *error)
{
    STK_TRY(walk_push(w, "", name, SIZE_MAX, error));
    for (size_t i = 0; i < w->n_nodes; i++)
        STK_TRY(walk_node_read(w, i, error));
    if (w->found.n_dirs > 1) qsort(w->found.dirs, w->found.n_dirs, sizeof *w->found.dirs, compare_dirs);
    return STK_OK;
}

/* The walks of all class folders, dealt out to the team. */
typedef struct scan_job {
    const stk_names *classes;
    walk *walks;
    pthread_mutex_t lock;
    uint32_t next;     /* class to walk next */
    stk_status status; /* of the failed class with the lowest number */
    uint32_t failed;
    stk_error *error;
    stk_scan_watch watch;
    _Atomic uint64_t n_found;
    atomic_bool cancelled;
} scan_job;

/* Counts files found; on the caller's thread also tells the watch. */
static stk_status report_found(walk *w, uint64_t n_files, stk_error *error)
{
    scan_job *job = w->job;
    if (job == NULL || job->watch.seen == NULL) return STK_OK;
    uint64_t n = atomic_fetch_add(&job->n_found, n_files) + n_files;
    if (w->thread == 0 && !job->watch.seen(job->watch.user, n)) atomic_store(&job->cancelled, true);
    return atomic_load(&job->cancelled) ? stk_fail(error, STK_ERR_CANCELLED, "cancelled") : STK_OK;
}

static uint32_t take_class(scan_job *job)
{
    pthread_mutex_lock(&job->lock);
    uint32_t c = job->status == STK_OK ? job->next : job->classes->n;
    if (c < job->classes->n) job->next++;
    pthread_mutex_unlock(&job->lock);
    return c;
}

static void scan_thread(void *user, uint32_t thread)
{
    scan_job *job = user;
    for (uint32_t c = take_class(job); c < job->classes->n; c = take_class(job)) {
        stk_error error;
        job->walks[c].thread = thread;
        stk_status status = walk_class(&job->walks[c], job->classes->text + job->classes->offsets[c], &error);
        if (status == STK_OK) continue;
        pthread_mutex_lock(&job->lock);
        if (job->status == STK_OK || c < job->failed) {
            job->status = status;
            job->failed = c;
            if (job->error != NULL) *job->error = error;
        }
        pthread_mutex_unlock(&job->lock);
    }
}

/* A hidden folder (.ipynb_checkpoints, .git) is a class only when it holds what looks like an image: no class
 * number is to depend on an editor's droppings. */
static bool is_class(const char *name, const walk *w)
{
    if (name[0] != '.') return true;
    for (size_t d = 0; d < w->found.n_dirs; d++)
        for (uint32_t k = 0; k < w->found.dirs[d].n; k++)
            if (stk_has_image_extension(w->found.dirs[d].names + w->found.dirs[d].offsets[k])) return true;
    return false;
}

static uint64_t count_files(const walk *w)
{
    uint64_t n = 0;
    for (size_t d = 0; d < w->found.n_dirs; d++)
        n += w->found.dirs[d].n;
    return n;
}

static stk_status take_class_dirs(stk_sources *out, walk *w, const char *name, stk_error *error)
{
    out->n_special += w->found.n_special;
    if (!is_class(name, w)) {
        out->n_special += count_files(w);
        return STK_OK;
    }
    char *copy = strdup(name);
    if (copy == NULL) return stk_fail_memory(error, "class names");
    int64_t label = (int64_t)out->n_classes;
    out->class_names[out->n_classes++] = copy;
    for (size_t d = 0; d < w->found.n_dirs; d++) {
        stk_source_dir *dir = stk_sources_add_dir(out);
        if (dir == NULL) return stk_fail_memory(error, "the list of folders");
        *dir = w->found.dirs[d];
        w->found.dirs[d] = (stk_source_dir){0};
        dir->label = label;
    }
    return STK_OK;
}

/* Joins the walks; the root's own files come last, so that they take no number from ImageFolder's samples. */
static stk_status join_walks(stk_sources *out, scan_job *job, stk_names *root_files, stk_error *error)
{
    uint64_t n_files = 0;
    for (uint32_t c = 0; c < job->classes->n; c++) {
        n_files += count_files(&job->walks[c]);
    }
    if (n_files > 0) {
        out->class_names = calloc(job->classes->n, sizeof *out->class_names);
        if (out->class_names == NULL) return stk_fail_memory(error, "class names");
        for (uint32_t c = 0; c < job->classes->n; c++)
            STK_TRY(
                take_class_dirs(out, &job->walks[c], job->classes->text + job->classes->offsets[c], error));
    }
    out->has_labels = out->n_classes > 0;
    size_t before = out->n_dirs;
    STK_TRY(add_dir(out, "", root_files, error));
    if (out->has_labels && out->n_dirs > before) out->dirs[before].state = STK_SOURCE_NO_CLASS;
    stk_sources_number(out);
    return STK_OK;
}

static stk_status scan_classes(int root_fd, stk_folder_list *top, uint32_t n_threads, stk_scan_watch watch,
                               stk_sources *out, stk_error *error)
{
    stk_status status = STK_OK;
    scan_job job = {
        .classes = &top->folders, .lock = PTHREAD_MUTEX_INITIALIZER, .error = error, .watch = watch};
    uint32_t n = top->folders.n;
    if (n > 0) {
        job.walks = calloc(n, sizeof *job.walks);
        if (job.walks == NULL) return stk_fail_memory(error, "the list of folders");
        for (uint32_t c = 0; c < n; c++) {
            job.walks[c].root_fd = root_fd;
            job.walks[c].root_device = top->device;
            job.walks[c].root_inode = top->inode;
            job.walks[c].job = &job;
        }
        stk_team_run(n_threads < n ? n_threads : n, scan_thread, &job);
        STK_GOTO(job.status);
    }
    STK_GOTO(join_walks(out, &job, &top->files, error));
    out->n_special += top->n_special;
cleanup:
    for (uint32_t c = 0; job.walks != NULL && c < n; c++)
        walk_free(&job.walks[c]);
    free(job.walks);
    return status;
}

stk_status stk_scan(const char *root, uint32_t n_threads, stk_scan_watch watch, stk_sources *out,
                    stk_error *error)
{
    *out = (stk_sources){0};
    stk_folder_list top = {0};
    stk_status status = STK_OK;
    int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root_fd < 0) return stk_fail_errno(error, errno, "%s: cannot open the folder", root);
    int error_number = 0;
    STK_GOTO(stk_folder_read(root_fd, "", &top, &error_number, error));
    if (error_number != 0) {
        status = stk_fail_errno(error, error_number, "%s: cannot list the folder", root);
        goto cleanup;
    }
    out->root = strdup(root);
    if (out->root == NULL) {
        status = stk_fail_memory(error, "the source's name");
        goto cleanup;
    }
    STK_GOTO(scan_classes(root_fd, &top, n_threads, watch, out, error));
cleanup:
    stk_folder_list_free(&top);
    close(root_fd);
    if (status != STK_OK) stk_sources_free(out);
    return status;
}

stk_status stk_scan_all(const char *root, stk_sources *out, stk_error *error)
{
    *out = (stk_sources){0};
    walk w = {.root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (w.root_fd < 0) return stk_fail_errno(error, errno, "%s: cannot open the folder", root);
    stk_status status = walk_class(&w, "", error);
    close(w.root_fd);
    if (status == STK_OK) {
        *out = w.found;
        w.found = (stk_sources){0};
        stk_sources_number(out);
    }
    walk_free(&w);
    return status;
}
