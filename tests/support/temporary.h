/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder of a test's own under TMPDIR, removed at exit with everything in it. */
#ifndef STK_TESTS_TEMPORARY_H
#define STK_TESTS_TEMPORARY_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char temporary_folder_[256];
static pid_t temporary_owner_;

static inline void temporary_remove_(const char *path)
{
    DIR *folder = opendir(path);
    if (folder != NULL) {
        struct dirent *entry;
        while ((entry = readdir(folder)) != NULL) {
            char child[4096];
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
            if (snprintf(child, sizeof child, "%s/%s", path, entry->d_name) >= (int)sizeof child) continue;
            struct stat st;
            if (lstat(child, &st) == 0 && S_ISDIR(st.st_mode))
                temporary_remove_(child);
            else
                unlink(child);
        }
        closedir(folder);
    }
    rmdir(path);
}

static inline void temporary_cleanup_(void)
{
    if (getpid() == temporary_owner_) temporary_remove_(temporary_folder_);
}

/* "FOLDER/name"; the text lies in one of eight static buffers, used in turn. */
static inline const char *temporary(const char *name)
{
    static char paths[8][512];
    static int turn;
    if (temporary_folder_[0] == '\0') {
        const char *tmp = getenv("TMPDIR");
        snprintf(temporary_folder_, sizeof temporary_folder_, "%s/stoker-test-XXXXXX",
                 tmp != NULL ? tmp : "/tmp");
        if (mkdtemp(temporary_folder_) == NULL) {
            perror(temporary_folder_);
            exit(1);
        }
        temporary_owner_ = getpid();
        atexit(temporary_cleanup_);
    }
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", temporary_folder_, name);
    return path;
}

#endif
