/* SPDX-License-Identifier: Apache-2.0
 *
 * What SRC, the manifest and the root mean together. */
#ifndef STK_PACKER_PACK_SOURCE_H
#define STK_PACKER_PACK_SOURCE_H

#include <stoker/pack.h>

#include "packer/sources.h"

typedef struct stk_pack_source {
    char *root;           /* folder that paths are relative to; owned */
    const char *manifest; /* NULL: the folder's own files */
    const char *store;    /* an HDF5 file or a tar: its records; else NULL */
    const char *dst;      /* temporary files may lie beside it */
    bool tar;
} stk_pack_source;

/* Errors: STK_ERR_NOT_FOUND, STK_ERR_ARGUMENT (dst lies in the source folder), STK_ERR_UNSUPPORTED. */
stk_status stk_pack_source_find(const char *src, const char *dst, const stk_pack_options *options,
                                stk_pack_source *out, stk_error *error);
void stk_pack_source_free(stk_pack_source *source);

/* Refuses options that mean nothing for a source of this kind: whoever gives them expects something else to be packed. */
stk_status stk_pack_source_check_options(const stk_pack_source *source, const stk_pack_options *options, stk_error *error);

/* The list of files. STK_ERR_NOT_FOUND when it is empty. */
stk_status stk_pack_source_list(const stk_pack_source *source, const stk_pack_options *options,
                                stk_scan_watch watch, stk_sources *out, stk_error *error);

#endif
