/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tile coder keeps in a codec context between images. */
#include <stdlib.h>

#include "codec/tiles_internal.h"
#include "common/fail.h"

/* What an outlier needed is given back. */
enum { KEEP_BYTES = 64 << 20 };

static void trim(stk_buffer *buffer)
{
    if (buffer->capacity > KEEP_BYTES) stk_buffer_free(buffer);
}

void stk_tile_state_trim(stk_tile_state *state)
{
    trim(&state->symbols);
    trim(&state->ends);
    trim(&state->rows);
}

static void close_state(void *pointer)
{
    stk_tile_state *state = pointer;
    free(state->own);
    stk_buffer_free(&state->symbols);
    stk_buffer_free(&state->ends);
    stk_buffer_free(&state->rows);
    free(state);
}

stk_status stk_tile_state_of(stk_codec_ctx *ctx, stk_tile_state **out, stk_error *error)
{
    void *pointer;
    STK_TRY(stk_ctx_state(ctx, STK_CTX_TILES, sizeof **out, close_state, &pointer, error));
    *out = pointer;
    if ((*out)->own != NULL) return STK_OK;
    size_t n_bytes = (sizeof *(*out)->own + 127) / 128 * 128;
    (*out)->own = aligned_alloc(128, n_bytes);
    return (*out)->own != NULL ? STK_OK : stk_fail_memory(error, "Huffman tables");
}
