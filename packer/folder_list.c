/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/folder_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fail.h"
#include "packer/name_order.h"

void stk_names_free(stk_names *names)
{
    free(names->text);
    free(names->offsets);
    *names = (stk_names){0};
}

stk_status stk_names_add(stk_names *names, const char *name, size_t n_name, stk_error *error)
{
    if (names->n_bytes + n_name + 1 > UINT32_MAX || names->n == UINT32_MAX)
        return stk_fail(error, STK_ERR_LIMIT,
                        "more than 4 GiB of file names in one folder or manifest; split it");
    if (names->n_bytes + n_name + 1 > names->capacity) {
        size_t capacity = names->capacity + names->capacity / 2 + n_name + 256;
        char *text = realloc(names->text, capacity);
        if (text == NULL) return stk_fail_memory(error, "file names");
        names->text = text;
        names->capacity = capacity;
    }
    if (names->n == names->n_capacity) {
        uint32_t capacity = names->n_capacity + names->n_capacity / 2 + 16;
        uint32_t *offsets = realloc(names->offsets, capacity * sizeof *offsets);
        if (offsets == NULL) return stk_fail_memory(error, "file names");
        names->offsets = offsets;
        names->n_capacity = capacity;
    }
    memcpy(names->text + names->n_bytes, name, n_name);
    names->text[names->n_bytes + n_name] = '\0';
    names->offsets[names->n++] = (uint32_t)names->n_bytes;
    names->n_bytes += n_name + 1;
    return STK_OK;
}

void stk_folder_list_free(stk_folder_list *list)
{
    stk_names_free(&list->files);
    stk_names_free(&list->folders);
}

typedef enum entry_kind { ENTRY_FILE, ENTRY_FOLDER, ENTRY_SPECIAL } entry_kind;

static entry_kind kind_of_mode(mode_t mode)
{
    if (S_ISDIR(mode)) return ENTRY_FOLDER;
    return S_ISREG(mode) ? ENTRY_FILE : ENTRY_SPECIAL;
}

static entry_kind kind_of_entry(int fd, const struct dirent *entry)
{
    switch (entry->d_type) {
    case DT_REG: return ENTRY_FILE;
    case DT_DIR: return ENTRY_FOLDER;
    case DT_FIFO:
    case DT_SOCK:
    case DT_CHR:
    case DT_BLK: return ENTRY_SPECIAL;
    default: break;
    }
    /* A link (what it leads to counts, as for os.walk), or a file system that does not tell. A broken link
     * stays a file, so that it is named when it cannot be opened. */
    struct stat st;
    if (fstatat(fd, entry->d_name, &st, 0) != 0) return ENTRY_FILE;
    return kind_of_mode(st.st_mode);
}

static bool is_dots(const char *name)
{
    return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

static stk_status read_entries(DIR *stream, stk_folder_list *out, int *error_number, stk_error *error)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(stream);
        if (entry == NULL) {
            *error_number = errno;
            return STK_OK;
        }
        if (is_dots(entry->d_name)) continue;
        entry_kind kind = kind_of_entry(dirfd(stream), entry);
        if (kind == ENTRY_SPECIAL) {
            out->n_special++;
            continue;
        }
        stk_names *names = kind == ENTRY_FOLDER ? &out->folders : &out->files;
        STK_TRY(stk_names_add(names, entry->d_name, strlen(entry->d_name), error));
    }
}

stk_status stk_folder_read(int at_fd, const char *path, stk_folder_list *out, int *error_number,
                           stk_error *error)
{
    *out = (stk_folder_list){0};
    *error_number = 0;
    int fd = openat(at_fd, path[0] == '\0' ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) {
        *error_number = errno;
        if (fd >= 0) close(fd);
        return STK_OK;
    }
    out->device = st.st_dev;
    out->inode = st.st_ino;
    DIR *stream = fdopendir(fd);
    if (stream == NULL) {
        *error_number = errno;
        close(fd);
        return STK_OK;
    }
    stk_status status = read_entries(stream, out, error_number, error);
    closedir(stream);
    if (status == STK_OK) status = stk_names_sort(out->files.text, out->files.offsets, out->files.n, error);
    if (status == STK_OK)
        status = stk_names_sort(out->folders.text, out->folders.offsets, out->folders.n, error);
    if (status != STK_OK || *error_number != 0) stk_folder_list_free(out);
    return status;
}
