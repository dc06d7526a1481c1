/* SPDX-License-Identifier: Apache-2.0
 *
 * A manifest (CSV or JSON lines) -> list of files with labels and columns. */
#ifndef STK_PACKER_MANIFEST_H
#define STK_PACKER_MANIFEST_H

#include <stdint.h>

#include <stoker/pack.h>

#include "packer/folder_list.h"
#include "packer/manifest_rows.h"
#include "packer/sources.h"

/* Reads the manifest at `path`; its paths are relative to `root`. Uses path_column, label_column and
 * column_types of the options. Errors name the manifest and, where one is missing, the columns there are. */
stk_status stk_manifest_read(const char *path, const char *root, const stk_pack_options *options,
                             uint32_t n_threads, stk_sources *out, stk_error *error);

/* Which column is which (manifest_columns.c); UINT32_MAX: none. */
typedef struct stk_manifest_roles {
    uint32_t path, label;
    bool label_wanted; /* named by the caller: must be usable as a label */
} stk_manifest_roles;
stk_status stk_manifest_find_roles(const stk_rows *rows, const stk_pack_options *options,
                                   stk_manifest_roles *out, stk_error *error);

/* Finds the files that the manifest's paths mean (manifest_resolve.c): as written, else with an image
 * extension behind, else anywhere below the root by name. `written` are the paths as they stand in the
 * manifest; the sources get one folder with the resolved names and the states. */
stk_status stk_manifest_resolve(stk_names *written, uint32_t n_threads, stk_sources *sources,
                                stk_error *error);

/* Everything below root, in no promised order (scan.c). */
stk_status stk_scan_all(const char *root, stk_sources *out, stk_error *error);

#endif
