/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the corpus of real files (environment variable STOKER_CORPUS) and walking it in a fixed order. */
#ifndef STK_TESTS_CORPUS_H
#define STK_TESTS_CORPUS_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct corpus_list {
    char **paths;
    size_t n;
} corpus_list;

static corpus_list corpus_walked_; /* nftw has no user pointer */

static int corpus_visit_(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    if (type != FTW_F) return 0;
    char **grown = realloc(corpus_walked_.paths, (corpus_walked_.n + 1) * sizeof *grown);
    if (grown == NULL) return -1;
    corpus_walked_.paths = grown;
    corpus_walked_.paths[corpus_walked_.n] = strdup(path);
    if (corpus_walked_.paths[corpus_walked_.n++] == NULL) return -1;
    return 0;
}

static int corpus_compare_(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All files below $STOKER_CORPUS/folder, sorted. Ends the program with 77 (skipped) without a corpus. */
static inline corpus_list corpus_files(const char *folder)
{
    const char *root = getenv("STOKER_CORPUS");
    if (root == NULL || root[0] == '\0') {
        printf("skipped: STOKER_CORPUS is not set\n");
        exit(77);
    }
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", root, folder);
    corpus_walked_ = (corpus_list){0};
    if (nftw(path, corpus_visit_, 16, FTW_PHYS) != 0 || corpus_walked_.n == 0) {
        fprintf(stderr, "no files under %s\n", path);
        exit(1);
    }
    qsort(corpus_walked_.paths, corpus_walked_.n, sizeof *corpus_walked_.paths, corpus_compare_);
    return corpus_walked_;
}

static inline void corpus_free(corpus_list *list)
{
    for (size_t i = 0; i < list->n; i++) free(list->paths[i]);
    free(list->paths);
    *list = (corpus_list){0};
}

#endif
