/* SPDX-License-Identifier: Apache-2.0
 *
 * A record's source path, and how it becomes a file name below a folder. */
#ifndef STK_TOOLS_RECORD_PATH_H
#define STK_TOOLS_RECORD_PATH_H

#include <stddef.h>

#include <stoker/dataset.h>

/* The "path" column's value of record i: raw bytes in *buffer (start with {0}, reused between calls), empty
 * when the data set has no such column or the row is null. */
stk_status record_path(const stk_dataset *dataset, uint64_t i, stk_buffer *buffer, stk_value *out,
                       stk_error *error);
void record_path_free(stk_buffer *buffer);

/* Turns a source path into one that stays below a folder: no leading '/', no empty, "." or ".." parts, no
 * NUL. When the name's extension is not one of a file of the given kind ("jpg", "png" ...), ".kind" is
 * appended. An empty result becomes "record-NUMBER.kind". False when it does not fit into capacity. */
bool record_path_safe(const void *path, size_t n_bytes, uint64_t number, const char *kind, char *out,
                      size_t capacity);

/* The name that a record gets when another one has its: "~NUMBER" before the extension. False when that does not fit. */
bool record_path_second(char *name, size_t capacity, uint64_t number);

#endif
