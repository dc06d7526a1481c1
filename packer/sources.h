/* SPDX-License-Identifier: Apache-2.0
 *
 * What a pack reads: an ordered list of files below one root folder, made by scan.c (class folders) or by
 * manifest.c (a table). Position i of the list is ImageFolder's samples[i] for the files that are images.
 * A file costs its name, a zero and four bytes of memory (manifests: and their columns). */
#ifndef STK_PACKER_SOURCES_H
#define STK_PACKER_SOURCES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/columns.h>
#include <stoker/status.h>

#include "format/shard_writer.h"

/* What is known of an entry before it is opened. All but FILE are reported and never opened, except NO_CLASS.
 */
typedef enum stk_source_state {
    STK_SOURCE_FILE = 0,
    STK_SOURCE_NO_CLASS, /* lies beside the class folders: no image of the data set, but named if it is one */
    STK_SOURCE_MISSING,  /* a manifest's line without a file */
    STK_SOURCE_AMBIGUOUS,  /* a manifest's name that fits several files */
    STK_SOURCE_OUTSIDE,    /* a manifest's path that leaves the root folder */
    STK_SOURCE_UNREADABLE, /* a folder that cannot be listed */
    STK_SOURCE_LOOP        /* a link to a folder that holds it */
} stk_source_state;

/* Files of one folder in their order. */
typedef struct stk_source_dir {
    char *path;        /* relative to the root, "" for the root itself; owned */
    char *names;       /* zero-terminated names, one after the other; owned. Manifests: paths */
    uint32_t *offsets; /* of the n names; owned */
    uint32_t n;
    uint64_t first; /* list position of names[0] */
    int64_t label;  /* -1: none */
    stk_source_state state;
    int error_number; /* UNREADABLE: errno */
} stk_source_dir;

struct stk_source_store; /* source_store.h: bytes that are not files */
struct stk_table; /* table.h: a manifest's columns */

typedef struct stk_sources {
    char *root; /* owned */
    stk_source_dir *dirs;
    size_t n_dirs, dirs_capacity;
    uint64_t n; /* entries in all folders */
    bool has_labels;
    char **class_names; /* raw bytes, in label order; owned */
    uint32_t n_classes;
    uint64_t n_special; /* sockets, pipes, devices; of a tar: members of no use. Never opened, counted as ignored */
    char *label_note;   /* one sentence about the labels that the source's user should know; owned; NULL: nothing */
    char *image_note;   /* one about images of an HDF5 file that were not read; the same */
    char *member_note;  /* one about what was left out of a tar; the same */
    bool confined;      /* symbolic links must not lead out of the root (manifests) */
    struct stk_source_store *store; /* owned; NULL: entries are files below the root */
    /* Manifests and stores only: per entry, else NULL. */
    uint8_t *states;
    int64_t *labels;
    struct stk_table *table; /* owned; row i belongs to entry i */
} stk_sources;

void stk_sources_free(stk_sources *sources);

/* Appends an empty folder and returns it (valid until the next append), or NULL when out of memory. */
stk_source_dir *stk_sources_add_dir(stk_sources *sources);
void stk_source_dir_free(stk_source_dir *dir);
/* Sets every folder's `first` and the list's n. */
void stk_sources_number(stk_sources *sources);

/* One entry, by position in the list. */
typedef struct stk_source {
    size_t dir;       /* number of the folder */
    const char *name; /* relative to the folder */
    uint64_t position;
    int64_t label;
    stk_source_state state;
} stk_source;
void stk_sources_get(const stk_sources *sources, uint64_t position, stk_source *out);

/* The entry's path relative to the root, into text[capacity]; longer ones are cut. Returns its full length.
 */
size_t stk_source_path(const stk_sources *sources, const stk_source *source, char *text, size_t capacity);

/* Told on the caller's thread, now and then, how many files a scan has found; false stops it. */
typedef struct stk_scan_watch {
    bool (*seen)(void *user, uint64_t n_files); /* NULL: nobody looks */
    void *user;
} stk_scan_watch;

/* Scans the folder `root` (scan.c). On failure the list is empty; STK_ERR_CANCELLED when the watch said so.
 * n_threads: class folders are read at once. */
stk_status stk_scan(const char *root, uint32_t n_threads, stk_scan_watch watch, stk_sources *out,
                    stk_error *error);

/* True when the name ends like an image file's (any case): decides only what is worth a complaint. */
bool stk_has_image_extension(const char *name);

#endif
