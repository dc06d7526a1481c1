/* SPDX-License-Identifier: Apache-2.0 */
#include <stoker/libraries.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/codec_versions.h"
#include "stoker_features.h"
#if STOKER_HAVE_HDF5
#include "format/hdf5/hdf5_meta.h"
#else
static const char *stk_hdf5_version(void) { return ""; }
#endif

static stk_version_text hdf5_version(void)
{
    stk_version_text v;
    snprintf(v.text, sizeof v.text, "%s", stk_hdf5_version());
    return v;
}

/* docs/security.md has the reasons. libjpeg-turbo's are behind the oldest version that stoker is built with; those of
 * libpng and libtiff lie in functions that stoker does not call. */
static const struct {
    const char *name, *reads, *closed_from, *hole;
    stk_version_text (*version)(void);
} known[] = {
    {"libjpeg-turbo", "jpeg", NULL, NULL, stk_jpeg_version},
    {"libpng", "png", NULL, NULL, stk_png_version},
    {"libwebp", "webp", "1.3.2", "CVE-2023-4863, a heap overflow", stk_webp_version},
    {"libtiff", "tiff", NULL, NULL, stk_tiff_version},
    {"libhdf5", "hdf5", "1.14.4", "upstream calls all of them vulnerable", hdf5_version},
};

/* Numbers parted by dots, one after the other. */
static bool is_older(const char *version, const char *than)
{
    while (*version != '\0' || *than != '\0') {
        char *version_end, *than_end;
        unsigned long a = strtoul(version, &version_end, 10), b = strtoul(than, &than_end, 10);
        if (a != b) return a < b;
        version = *version_end == '.' ? version_end + 1 : "";
        than = *than_end == '.' ? than_end + 1 : "";
    }
    return false;
}

bool stk_library_at(uint32_t i, stk_library *out)
{
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        stk_version_text v = known[k].version();
        if (v.text[0] == '\0') continue; /* not in this build */
        if (i-- > 0) continue;
        *out = (stk_library){.name = known[k].name,
                             .reads = known[k].reads,
                             .suspect = known[k].closed_from != NULL && is_older(v.text, known[k].closed_from),
                             .closed_from = known[k].closed_from,
                             .hole = known[k].hole};
        memcpy(out->version, v.text, sizeof v.text);
        return true;
    }
    return false;
}
