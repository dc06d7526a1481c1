/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/squeeze.h"

#include <limits.h>
#include <stdlib.h>

#include <libdeflate.h>

#include "common/fail.h"
#include "stoker_features.h"

#if STOKER_HAVE_LZF
#include <lzf.h>
#endif

struct stk_squeezer {
    struct libdeflate_compressor *deflate; /* NULL = LZF */
};

bool stk_squeeze_has_lzf(void)
{
    return STOKER_HAVE_LZF;
}

stk_status stk_squeezer_open(int level, stk_squeezer **out, stk_error *error)
{
    *out = NULL;
    if (level < 0 && !stk_squeeze_has_lzf())
        return stk_fail(error, STK_ERR_UNSUPPORTED, "this build has no LZF: install liblzf-dev and build again");
    stk_squeezer *s = calloc(1, sizeof *s);
    if (s == NULL) return stk_fail_memory(error, "a compressor");
    if (level >= 0) {
        s->deflate = libdeflate_alloc_compressor(level);
        if (s->deflate == NULL) {
            free(s);
            return stk_fail_memory(error, "a compressor");
        }
    }
    *out = s;
    return STK_OK;
}

void stk_squeezer_close(stk_squeezer **s)
{
    if (*s == NULL) return;
    libdeflate_free_compressor((*s)->deflate);
    free(*s);
    *s = NULL;
}

static size_t run_lzf(const uint8_t *in, size_t n_in, uint8_t *out, size_t capacity)
{
#if STOKER_HAVE_LZF
    if (n_in > UINT_MAX || capacity > UINT_MAX) return 0;
    return lzf_compress(in, (unsigned)n_in, out, (unsigned)capacity);
#else
    (void)in, (void)n_in, (void)out, (void)capacity;
    return 0;
#endif
}

size_t stk_squeezer_run(stk_squeezer *s, const uint8_t *in, size_t n_in, uint8_t *out, size_t capacity)
{
    if (s->deflate == NULL) return run_lzf(in, n_in, out, capacity);
    return libdeflate_zlib_compress(s->deflate, in, n_in, out, capacity);
}

bool stk_unsqueeze_zlib(const uint8_t *in, size_t n_in, uint8_t *out, size_t n_out)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (d == NULL) return false;
    size_t got = 0;
    enum libdeflate_result rc = libdeflate_zlib_decompress(d, in, n_in, out, n_out, &got);
    libdeflate_free_decompressor(d);
    return rc == LIBDEFLATE_SUCCESS && got == n_out;
}

bool stk_unsqueeze_lzf(const uint8_t *in, size_t n_in, uint8_t *out, size_t n_out)
{
#if STOKER_HAVE_LZF
    if (n_in > UINT_MAX || n_out > UINT_MAX) return false;
    return lzf_decompress(in, (unsigned)n_in, out, (unsigned)n_out) == n_out;
#else
    (void)in, (void)n_in, (void)out, (void)n_out;
    return false;
#endif
}
