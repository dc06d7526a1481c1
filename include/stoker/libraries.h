/* SPDX-License-Identifier: Apache-2.0
 *
 * The libraries that decode what stoker does not decode itself, and which of them may have known holes. */
#ifndef STOKER_LIBRARIES_H
#define STOKER_LIBRARIES_H

#include <stdbool.h>
#include <stdint.h>

#include <stoker/status.h>

STK_BEGIN_DECLS

typedef struct stk_library {
    const char *name;    /* "libjpeg-turbo", "libpng", "libwebp", "libtiff", "libhdf5"; static text */
    const char *reads;   /* whose records or files: "jpeg", "png", "webp", "tiff" (stk_encoding_name), "hdf5" */
    char version[32];    /* of the library that is loaded; of libjpeg-turbo and libhdf5 that stoker was built with */
    bool suspect;        /* the version is older than closed_from */
    const char *closed_from; /* the first release without the hole below; NULL: none is known that a picture reaches */
    const char *hole;    /* "CVE-2023-4863, a heap overflow"; NULL with closed_from */
} stk_library;

/* Library number i (from 0) of this build into *out; false when there are no more. A suspect library may be safe all
 * the same: distributions close holes without a new version number. Thread-safe. */
STK_API bool stk_library_at(uint32_t i, stk_library *out);

STK_END_DECLS

#endif
