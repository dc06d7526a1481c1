/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading one folder: names of files and of subfolders, symbolic links followed. */
#ifndef STK_PACKER_FOLDER_LIST_H
#define STK_PACKER_FOLDER_LIST_H

#include <stdint.h>
#include <sys/types.h>

#include <stoker/dataset.h>
#include <stoker/status.h>

/* Zero-terminated names in one block of memory. */
typedef struct stk_names {
    char *text;
    size_t n_bytes, capacity;
    uint32_t *offsets;
    uint32_t n, n_capacity;
} stk_names;
void stk_names_free(stk_names *names);
/* n_name bytes without the zero. STK_ERR_LIMIT beyond 4 GiB of names. */
stk_status stk_names_add(stk_names *names, const char *name, size_t n_name, stk_error *error);

typedef struct stk_folder_list {
    stk_names files;    /* all that is no folder, also broken links; sorted */
    stk_names folders;  /* sorted */
    uint64_t n_special; /* sockets, pipes and devices, left out of files */
    dev_t device;
    ino_t inode;
} stk_folder_list;
void stk_folder_list_free(stk_folder_list *list);

/* Lists the folder `path` relative to the open folder at_fd ("" = at_fd itself). STK_ERR_MEMORY and
 * STK_ERR_LIMIT fail; when the folder cannot be read, *error_number is its errno, the list is empty and the
 * status is STK_OK. */
stk_status stk_folder_read(int at_fd, const char *path, stk_folder_list *out, int *error_number,
                           stk_error *error);

#endif
