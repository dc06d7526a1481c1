/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/tiles_source.h"

#include <pthread.h>
#include <stdlib.h>

#include "codec/codec.h"
#include "codec/tiles.h"
#include "common/fail.h"

/* A codec's state is dear to make and is kept for the next record; there are as many as threads ask at once. */
typedef struct spare {
    struct spare *next;
    stk_codec_ctx *ctx;
} spare;

struct stk_tiles_source {
    pthread_mutex_t lock;
    spare *spares;
    stk_codec_limits limits;
    stk_tile_tables **tables;
    uint32_t n_tables;
};

stk_status stk_tiles_source_open(stk_storage *storage, uint64_t max_pixels, stk_tiles_source **out, stk_error *error)
{
    stk_tiles_source *s = calloc(1, sizeof *s);
    stk_status status = STK_OK;
    *out = NULL;
    if (s == NULL) return stk_fail_memory(error, "the source");
    pthread_mutex_init(&s->lock, NULL);
    s->limits.max_pixels = max_pixels;
    s->tables = calloc((size_t)storage->n_table_sets + 1, sizeof *s->tables);
    if (s->tables == NULL) status = stk_fail_memory(error, "shared tables");
    for (; status == STK_OK && s->n_tables < storage->n_table_sets; s->n_tables++) {
        const uint8_t *blob;
        size_t n_bytes;
        STK_GOTO(storage->ops->tables(storage, s->n_tables, &blob, &n_bytes, error));
        STK_GOTO(stk_tile_tables_open(blob, n_bytes, &s->tables[s->n_tables], error));
    }
cleanup:
    if (status != STK_OK) stk_tiles_source_close(&s);
    *out = s;
    return status;
}

void stk_tiles_source_close(stk_tiles_source **source)
{
    stk_tiles_source *s = *source;
    if (s == NULL) return;
    *source = NULL;
    while (s->spares != NULL) {
        spare *next = s->spares->next;
        stk_codec_ctx_close(&s->spares->ctx);
        free(s->spares);
        s->spares = next;
    }
    for (uint32_t t = 0; s->tables != NULL && t < s->n_tables; t++) stk_tile_tables_close(&s->tables[t]);
    free(s->tables);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static stk_status take_spare(stk_tiles_source *s, spare **out, stk_error *error)
{
    pthread_mutex_lock(&s->lock);
    *out = s->spares;
    if (*out != NULL) s->spares = (*out)->next;
    pthread_mutex_unlock(&s->lock);
    if (*out != NULL) return STK_OK;
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return stk_fail_memory(error, "a codec");
    stk_status status = stk_codec_ctx_open(&s->limits, &(*out)->ctx, error);
    if (status != STK_OK) free(*out);
    return status;
}

stk_status stk_tiles_source_jpeg(stk_tiles_source *s, const stk_row *row, const uint8_t *payload, stk_buffer *out,
                                 stk_error *error)
{
    spare *mine;
    if (row->tables > s->n_tables) return stk_fail(error, STK_ERR_CORRUPT, "a record names tables that are not there");
    STK_TRY(take_spare(s, &mine, error));
    const stk_tile_tables *tables = row->tables > 0 ? s->tables[row->tables - 1] : NULL;
    out->n_bytes = 0;
    stk_status status =
        stk_tiles_to_jpeg(mine->ctx, payload, (size_t)row->n_bytes, tables, row->orientation, out, error);
    pthread_mutex_lock(&s->lock);
    mine->next = s->spares;
    s->spares = mine;
    pthread_mutex_unlock(&s->lock);
    return status;
}
