/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/squeeze.h"

#include <limits.h>
#include <string.h>

#include <zlib.h>

bool stk_unsqueeze_zlib_plain(const uint8_t *in, size_t n_in, uint8_t *out, size_t n_out)
{
    z_stream z;
    if (n_in > UINT_MAX || n_out > UINT_MAX) return false;
    memset(&z, 0, sizeof z);
    if (inflateInit(&z) != Z_OK) return false;
    z.next_in = (z_const Bytef *)in;
    z.avail_in = (uInt)n_in;
    z.next_out = out;
    z.avail_out = (uInt)n_out;
    int rc = inflate(&z, Z_FINISH);
    bool whole = rc == Z_STREAM_END && z.total_out == n_out;
    (void)inflateEnd(&z);
    return whole;
}

size_t stk_squeeze_zlib_plain(int level, const uint8_t *in, size_t n_in, uint8_t *out, size_t capacity)
{
    uLongf n_out = capacity;
    return compress2(out, &n_out, in, n_in, level) == Z_OK ? n_out : 0;
}
