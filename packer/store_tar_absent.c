/* SPDX-License-Identifier: Apache-2.0 */
#include "common/fail.h"
#include "packer/source_store.h"

stk_status stk_store_tar(const char *path, const char *beside, stk_sources *out, stk_error *error)
{
    (void)beside;
    *out = (stk_sources){0};
    return stk_fail(error, STK_ERR_UNSUPPORTED, "%s: this build has no libarchive; unpack the tar and pack the folder",
                    path);
}
