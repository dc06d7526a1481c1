/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/shared_tables.h"

#include "packer/image_plan.h"
#include "packer/record_maker.h"

#include "common/fail.h"

enum {
    GIVE_UP_AFTER = 256,  /* entries without any such image */
    TRAIN_ON = 2048,      /* images at most */
    WORTH_IT = 16         /* images; fewer have tables of their own */
};

/* Can an image of so few pixels become tiles? */
static bool may_share(const stk_pack_options *o, uint64_t pixels)
{
    if (o->encode == STK_ENCODE_AUTO && pixels <= STK_AUTO_RAW_PIXELS) return false;
    return pixels <= STK_SHARED_TABLES_PIXELS;
}

static bool is_needed(const stk_pack_options *o)
{
    if (o->encode != STK_ENCODE_AUTO && o->encode != STK_ENCODE_TILES) return false;
    uint64_t side = o->resize_width;
    if (o->resize == STK_RESIZE_EXACT) return may_share(o, side * o->resize_height);
    if (o->resize == STK_RESIZE_SHORT) return side * side <= STK_SHARED_TABLES_PIXELS;
    return true;
}

/* A JPEG of the size and content that will become tiles is what "keep" makes of the source. */
static stk_status train_on(stk_record_maker *maker, const stk_pack_options *o, const stk_source *source,
                           stk_tile_trainer *trainer, uint32_t *n, stk_error *error)
{
    stk_product product;
    STK_TRY(stk_record_make(maker, source, &product, error));
    const stk_record *r = &product.record;
    if (product.fate != STK_FATE_RECORD || r->encoding != STK_ENCODING_JPEG) return STK_OK;
    if (!may_share(o, (uint64_t)r->width * r->height)) return STK_OK;
    stk_error why;
    stk_status status =
        stk_tile_trainer_add(trainer, maker->ctx, r->payload, r->n_bytes, o->tile_pixels, &why);
    if (status == STK_OK) (*n)++;
    if (status != STK_ERR_MEMORY) return STK_OK;
    if (error != NULL) *error = why;
    return status;
}

/* Most photos are recognised by the size of their files, without opening them. */
static stk_status is_candidate(stk_record_maker *maker, const stk_source *source, bool *candidate,
                               stk_error *error)
{
    stk_source_bytes bytes;
    *candidate = source->state == STK_SOURCE_FILE;
    if (!*candidate || maker->recipe->options->resize != STK_RESIZE_NONE) return STK_OK;
    STK_TRY(stk_source_stat(&maker->reader, source, &bytes, error));
    *candidate = bytes.result == STK_READ_OK && bytes.size <= STK_TABLES_SMALL_FILE;
    return STK_OK;
}

static stk_status train(const stk_sources *sources, stk_record_maker *maker, const stk_pack_options *o,
                        stk_buffer *blob, stk_error *error)
{
    stk_tile_trainer *trainer = NULL;
    stk_status status = STK_OK;
    uint32_t n = 0;
    STK_GOTO(stk_tile_trainer_open(&trainer, error));
    for (uint64_t i = 0; i < sources->n && i < STK_TABLES_LOOK_AT && n < TRAIN_ON; i++) {
        stk_source source;
        bool candidate = false;
        if (n == 0 && i >= GIVE_UP_AFTER) break;
        stk_sources_get(sources, i, &source);
        STK_GOTO(is_candidate(maker, &source, &candidate, error));
        if (candidate) STK_GOTO(train_on(maker, o, &source, trainer, &n, error));
    }
    if (n >= WORTH_IT) STK_GOTO(stk_tile_trainer_blob(trainer, blob, error));
cleanup:
    stk_tile_trainer_close(&trainer);
    return status;
}

stk_status stk_shared_tables_train(const stk_sources *sources, const stk_pack_options *options,
                                   stk_buffer *blob, stk_error *error)
{
    blob->n_bytes = 0;
    if (!is_needed(options)) return STK_OK;
    stk_pack_options keep = *options;
    keep.encode = STK_ENCODE_KEEP;
    keep.check = STK_CHECK_HEADER;
    keep.on_bad = STK_BAD_SKIP;
    if (keep.resize == STK_RESIZE_NONE) keep.max_file_bytes = STK_TABLES_SMALL_FILE;
    stk_recipe recipe = {.options = &keep};
    stk_record_maker maker;
    STK_TRY(stk_record_maker_open(&recipe, sources, &maker, error));
    stk_status status = train(sources, &maker, options, blob, error);
    stk_record_maker_close(&maker);
    return status;
}

bool stk_shared_tables_decided(const stk_pack_options *options, uint64_t n, uint64_t small)
{
    if (!is_needed(options) || n >= STK_TABLES_LOOK_AT) return true;
    return n >= GIVE_UP_AFTER && small == 0 && options->resize == STK_RESIZE_NONE;
}
