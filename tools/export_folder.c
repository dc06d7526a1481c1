/* SPDX-License-Identifier: Apache-2.0
 *
 * stoker export to a folder: below a temporary name, which an flock on the folder itself shows to be alive. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st, (void)kind, (void)where;
    (void)remove(path); /* what stays harms nobody */
    return 0;
}

static void remove_tree(const char *path)
{
    (void)nftw(path, remove_entry, 1, FTW_DEPTH | FTW_PHYS); /* one descriptor: there may be no more */
}

/* Is it <base>.tmp.<pid>? */
static bool is_temporary(const char *name, const char *base)
{
    size_t n = strlen(base);
    if (strncmp(name, base, n) != 0 || strncmp(name + n, ".tmp.", 5) != 0) return false;
    size_t digits = strspn(name + n + 5, "0123456789");
    return digits > 0 && digits <= 10 && name[n + 5 + digits] == '\0';
}

/* Removes a folder that nobody holds. False: an export that lives does. */
static bool remove_left_over(const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return true;
    bool free_of_owner = flock(fd, LOCK_EX | LOCK_NB) == 0, living = !free_of_owner && errno == EWOULDBLOCK;
    if (free_of_owner) remove_tree(path);
    close(fd);
    return !living;
}

/* Removes what killed exports to out left. False when one lives. */
static bool remove_left_overs(const char *out)
{
    const char *slash = strrchr(out, '/');
    size_t n = slash == NULL ? 0 : (size_t)(slash - out) + 1;
    char path[PATH_MAX];
    bool alone = true;
    snprintf(path, sizeof path, "%.*s", n == 0 ? 1 : (int)n, n == 0 ? "." : out);
    DIR *stream = opendir(path);
    if (stream == NULL) return true;
    for (const struct dirent *entry = readdir(stream); entry != NULL; entry = readdir(stream)) {
        if (!is_temporary(entry->d_name, out + n)) continue;
        int length = snprintf(path, sizeof path, "%.*s%s", (int)n, out, entry->d_name);
        if (length > 0 && (size_t)length < sizeof path) alone &= remove_left_over(path);
    }
    closedir(stream);
    return alone;
}

static int tell_interrupt(const extract_request *q, int code, const extract_counts *counts)
{
    if (counts->interrupted) return cli_error(q->command, "interrupted; %s is as it was before", q->folder);
    return code;
}

/* Makes the temporary folder, held. It gets the name that remove_left_overs looks for when it is, so that no other export
 * takes it for one whose owner died. -1 and errno on failure. */
static int make_held(const char *temporary)
{
    char name[PATH_MAX];
    int n = snprintf(name, sizeof name, "%s.new", temporary);
    if (n < 0 || (size_t)n >= sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (mkdir(name, 0777) != 0 && errno != EEXIST) return -1; /* one of an earlier process of our number is empty */
    int fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0) (void)flock(fd, LOCK_EX | LOCK_NB); /* without locks nobody clears up either */
    if (fd >= 0 && rename(name, temporary) == 0) return fd;
    int saved = errno;
    if (fd >= 0) close(fd);
    (void)rmdir(name);
    errno = saved;
    return -1;
}

/* The folder is not there: it gets its name when all is in it. */
static int export_new(extract_request *q, const char *out, extract_counts *counts)
{
    char temporary[PATH_MAX];
    int n = snprintf(temporary, sizeof temporary, "%s.tmp.%ld", out, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof temporary) return cli_error(q->command, "%s: the path is too long", out);
    if (!remove_left_overs(out)) return cli_error(q->command, "%s: another process is exporting to it", out);
    q->folder_fd = make_held(temporary);
    if (q->folder_fd < 0) return cli_error(q->command, "%s: cannot make the folder: %s", out, strerror(errno));
    int code = extract_records(q, NULL, 0, counts);
    bool good = code == CLI_OK || code == CLI_SKIPPED;
    if (good && counts->written == 0) {
        code = cli_error(q->command, "no record could be exported");
        good = false;
    }
    if (good && (syncfs(q->folder_fd) != 0 || rename(temporary, out) != 0)) {
        code = cli_error(q->command, "%s: cannot finish the folder: %s", out, strerror(errno));
        good = false;
    }
    close(q->folder_fd);
    if (!good) remove_tree(temporary);
    return tell_interrupt(q, code, counts);
}

static int export_into(extract_request *q, const char *out, extract_counts *counts)
{
    q->folder_fd = open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (q->folder_fd < 0) return cli_error(q->command, "%s: %s", out, strerror(errno));
    int code = extract_records(q, NULL, 0, counts);
    close(q->folder_fd);
    if (code == CLI_OK || code == CLI_SKIPPED) return code;
    cli_note(q->command, "%s%s, which was there before, has got %" PRIu64 " files, each of them whole",
             counts->interrupted ? "interrupted; " : "", out, counts->written);
    return code;
}

int export_to_folder(extract_request *request, const char *out, extract_counts *counts)
{
    char name[PATH_MAX];
    struct stat st;
    size_t n = strlen(out);
    while (n > 1 && out[n - 1] == '/')
        n--;
    if (n >= sizeof name) return cli_error(request->command, "%s: the path is too long", out);
    memcpy(name, out, n);
    name[n] = '\0';
    request->folder = name;
    int code = lstat(name, &st) == 0 ? export_into(request, name, counts) : export_new(request, name, counts);
    request->folder = out;
    return code;
}
