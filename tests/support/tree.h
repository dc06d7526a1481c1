/* SPDX-License-Identifier: Apache-2.0
 *
 * A scratch folder for one test program, and small files in it. Names are relative to it. */
#ifndef STK_TESTS_TREE_H
#define STK_TESTS_TREE_H

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct tree {
    char root[512];
} tree;

static inline void tree_make(tree *t)
{
    const char *base = getenv("TMPDIR");
    snprintf(t->root, sizeof t->root, "%s/stoker-test-XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(t->root) == NULL) {
        perror(t->root);
        exit(1);
    }
}

static inline int tree_remove_entry_(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

static inline void tree_remove(tree *t)
{
    nftw(t->root, tree_remove_entry_, 16, FTW_DEPTH | FTW_PHYS);
}

/* The full path of a name, in one of a few static buffers in turn. */
static inline const char *tree_path(const tree *t, const char *name)
{
    static char paths[8][2048];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", t->root, name);
    return path;
}

static inline void tree_folders_(const tree *t, const char *name)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", t->root, name);
    for (char *p = path + strlen(t->root) + 1; *p != '\0'; p++) {
        if (*p != '/') continue;
        *p = '\0';
        mkdir(path, 0777);
        *p = '/';
    }
}

static inline void tree_bytes(const tree *t, const char *name, const void *data, size_t n)
{
    tree_folders_(t, name);
    FILE *f = fopen(tree_path(t, name), "wb");
    if (f == NULL || fwrite(data, 1, n, f) != n || fclose(f) != 0) {
        perror(name);
        exit(1);
    }
}

static inline void tree_text(const tree *t, const char *name, const char *text)
{
    tree_bytes(t, name, text, strlen(text));
}

static inline void tree_folder(const tree *t, const char *name)
{
    tree_folders_(t, name);
    mkdir(tree_path(t, name), 0777);
}

static inline void tree_link(const tree *t, const char *target, const char *name)
{
    tree_folders_(t, name);
    if (symlink(target, tree_path(t, name)) != 0) {
        perror(name);
        exit(1);
    }
}

static inline bool tree_has(const tree *t, const char *name)
{
    struct stat st;
    return lstat(tree_path(t, name), &st) == 0;
}

#endif
