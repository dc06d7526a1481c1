/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/squeeze.h"

#include <limits.h>
#include <stdlib.h>

#include "common/fail.h"
#include "stoker_features.h"

#if STOKER_HAVE_DEFLATE
#include <libdeflate.h>
#endif
#if STOKER_HAVE_LZF
#include <lzf.h>
#endif

struct stk_squeezer {
    int level; /* negative: LZF */
#if STOKER_HAVE_DEFLATE
    struct libdeflate_compressor *deflate;
#endif
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
    s->level = level;
#if STOKER_HAVE_DEFLATE
    if (level >= 0 && (s->deflate = libdeflate_alloc_compressor(level)) == NULL) {
        free(s);
        return stk_fail_memory(error, "a compressor");
    }
#endif
    *out = s;
    return STK_OK;
}

void stk_squeezer_close(stk_squeezer **s)
{
    if (*s == NULL) return;
#if STOKER_HAVE_DEFLATE
    libdeflate_free_compressor((*s)->deflate);
#endif
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
    if (s->level < 0) return run_lzf(in, n_in, out, capacity);
#if STOKER_HAVE_DEFLATE
    return libdeflate_zlib_compress(s->deflate, in, n_in, out, capacity);
#else
    return stk_squeeze_zlib_plain(s->level, in, n_in, out, capacity);
#endif
}

bool stk_unsqueeze_zlib(const uint8_t *in, size_t n_in, uint8_t *out, size_t n_out)
{
#if STOKER_HAVE_DEFLATE
    /* libdeflate takes distances that reach behind a window smaller than 32 KiB; zlib, and so HDF5, refuses them. All
     * writers in use announce 32 KiB, so nothing is lost by leaving the rest to zlib. */
    if (n_in > 0 && in[0] >> 4 == 7) {
        struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
        if (d == NULL) return false;
        size_t got = 0;
        enum libdeflate_result rc = libdeflate_zlib_decompress(d, in, n_in, out, n_out, &got);
        libdeflate_free_decompressor(d);
        return rc == LIBDEFLATE_SUCCESS && got == n_out;
    }
#endif
    return stk_unsqueeze_zlib_plain(in, n_in, out, n_out);
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
