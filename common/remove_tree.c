/* SPDX-License-Identifier: Apache-2.0 */
#include "common/remove_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DEPTH = 64 };

static int remove_at(int at, const char *name, int depth)
{
    if (unlinkat(at, name, 0) == 0 || errno == ENOENT) return 0;
    if (errno != EISDIR && errno != EPERM) return errno;
    if (depth == MAX_DEPTH) return ELOOP;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return errno;
    DIR *stream = fdopendir(fd);
    if (stream == NULL) {
        int why = errno;
        close(fd);
        return why;
    }
    int first = 0;
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        int why = remove_at(dirfd(stream), entry->d_name, depth + 1);
        if (first == 0) first = why;
    }
    closedir(stream);
    if (unlinkat(at, name, AT_REMOVEDIR) != 0 && first == 0) first = errno;
    return first;
}

int stk_remove_tree(const char *path)
{
    return remove_at(AT_FDCWD, path, 0);
}
