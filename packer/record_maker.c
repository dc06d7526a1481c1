/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/record_maker.h"

#include <string.h>

#include "codec/render.h"
#include "codec/turn.h"
#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"
#include "common/hash.h"
#include "packer/cache_use.h"
#include "packer/array_record.h"
#include "packer/image_plan.h"
#include "packer/previous.h"
#include "packer/quarantine.h"
#include "packer/settle.h"
#include "packer/source_store.h"

stk_status stk_record_maker_open(const stk_recipe *recipe, const stk_sources *sources, stk_record_maker *out,
                                 stk_error *error)
{
    *out = (stk_record_maker){.recipe = recipe, .reader = {.root_fd = -1}};
    stk_status status = STK_OK;
    stk_codec_limits limits = {.max_pixels = recipe->options->max_pixels};
    STK_GOTO(stk_source_reader_open(sources, &out->reader, error));
    STK_GOTO(stk_codec_ctx_open(&limits, &out->ctx, error));
    /* A cache that cannot be read has nothing to give; that is all. */
    if (recipe->cache != NULL && recipe->cache->db != NULL)
        (void)!stk_cache_reader_open(recipe->cache->db, &out->cache, NULL);
cleanup:
    if (status != STK_OK) stk_record_maker_close(out);
    return status;
}

void stk_record_maker_close(stk_record_maker *maker)
{
    stk_codec_ctx_close(&maker->ctx);
    if (maker->recipe != NULL) stk_source_reader_close(&maker->reader);
    stk_buffer_free(&maker->encoded);
    stk_buffer_free(&maker->scratch);
    stk_cache_reader_close(&maker->cache);
    stk_buffer_free(&maker->cached);
    *maker = (stk_record_maker){0};
}

static bool is_known(const uint8_t *head, size_t n_bytes)
{
    return stk_is_array(head, n_bytes) || stk_codec_sniff(head, n_bytes) != STK_ENCODING_UNKNOWN;
}

static void set_record(const stk_image_plan *plan, const stk_source *source, stk_encoding encoding,
                       const uint8_t *payload, size_t n_bytes, stk_product *p)
{
    bool pixels =
        plan->form == STK_FORM_RAW || plan->form == STK_FORM_TILES_ANEW || plan->form == STK_FORM_JPEG_ANEW;
    p->fate = STK_FATE_RECORD;
    p->record = (stk_record){
        .payload = payload,
        .n_bytes = n_bytes,
        .label = source->label,
        .encoding = encoding,
        .width = pixels ? plan->target_width : plan->width,
        .height = pixels ? plan->target_height : plan->height,
        .orientation = pixels ? 1 : plan->orientation,
        .channels = plan->channels,
    };
}

/* Decoded and turned: not through the renderer, which would hold the picture once more. */
static stk_status make_unresized(stk_record_maker *m, const stk_image_plan *plan,
                                 const stk_source_bytes *bytes, stk_image *out, stk_damage_report *damage,
                                 stk_error *error)
{
    stk_image stored;
    size_t row = (size_t)plan->width * plan->channels;
    stk_mode mode = plan->channels == 1 ? STK_MODE_L : STK_MODE_RGB;
    STK_TRY(stk_codec_decode(m->ctx, plan->info.encoding, bytes->data, bytes->n_bytes, mode, &stored, damage,
                             error));
    *out = stored;
    if (plan->orientation == 1 && stored.stride == row) return STK_OK;
    STK_TRY(stk_buffer_resize(&m->encoded, row * plan->height, error));
    stk_turn_pixels(stk_turn_of(plan->orientation), &stored, m->encoded.data, row);
    *out = (stk_image){.pixels = m->encoded.data,
                       .stride = row,
                       .width = plan->width,
                       .height = plan->height,
                       .channels = plan->channels};
    return STK_OK;
}

/* Turned, resized pixels of the whole image, rows without gaps; in the context or in maker->encoded. */
static stk_status make_pixels(stk_record_maker *m, const stk_image_plan *plan, const stk_source_bytes *bytes,
                              stk_image *out, stk_damage_report *damage, stk_error *error)
{
    size_t row = (size_t)plan->target_width * plan->channels, n_bytes;
    if (!plan->resized) return make_unresized(m, plan, bytes, out, damage, error);
    if (!stk_mul_size(row, plan->target_height, &n_bytes)) return stk_fail_memory(error, "a picture");
    STK_TRY(stk_buffer_resize(&m->encoded, n_bytes, error));
    stk_render_job job = {
        .data = bytes->data,
        .n_bytes = bytes->n_bytes,
        .encoding = plan->info.encoding,
        .width = plan->width,
        .height = plan->height,
        .channels = plan->channels,
        .orientation = plan->orientation,
        .box = {0, 0, (int32_t)plan->width, (int32_t)plan->height},
        .full_width = plan->target_width,
        .full_height = plan->target_height,
        .filter = m->recipe->options->resample,
        .pixels = STK_PIXELS_PILLOW13,
        .out_width = plan->target_width,
        .out_height = plan->target_height,
        .out_channels = plan->channels,
        .out = m->encoded.data,
        .out_stride = row,
    };
    STK_TRY(stk_render(m->ctx, &job, damage, error));
    *out = (stk_image){.pixels = m->encoded.data,
                       .stride = row,
                       .width = plan->target_width,
                       .height = plan->target_height,
                       .channels = plan->channels};
    return STK_OK;
}

static stk_tile_options tile_options(const stk_record_maker *m, const stk_image_plan *plan)
{
    bool small = (uint64_t)plan->target_width * plan->target_height <= STK_SHARED_TABLES_PIXELS;
    return (stk_tile_options){.tile_pixels = m->recipe->options->tile_pixels,
                              .tables = small ? m->recipe->tables : NULL};
}

static stk_status set_tiles(stk_record_maker *m, const stk_image_plan *plan, const stk_source *source,
                            stk_product *p, stk_error *error)
{
    stk_tile_info info;
    STK_TRY(stk_tiles_probe(m->encoded.data, m->encoded.n_bytes, &info, error));
    set_record(plan, source, STK_ENCODING_TILES, m->encoded.data, m->encoded.n_bytes, p);
    p->record.tables = info.tables_id == UINT32_MAX ? 0 : info.tables_id + 1;
    return STK_OK;
}

/* Forms that need pixels. A picture lies in the context or in maker->encoded, so what is made of it needs a
 * buffer of its own. */
static stk_status make_from_pixels(stk_record_maker *m, const stk_image_plan *plan, const stk_source *source,
                                   const stk_source_bytes *bytes, stk_product *p, stk_damage_report *damage,
                                   stk_error *error)
{
    const stk_pack_options *o = m->recipe->options;
    stk_image image;
    STK_TRY(make_pixels(m, plan, bytes, &image, damage, error));
    if (plan->form == STK_FORM_RAW) {
        set_record(plan, source, STK_ENCODING_RAW, image.pixels, image.stride * image.height, p);
        p->resampled = plan->resized;
        return STK_OK;
    }
    stk_buffer out = {0};
    stk_status status;
    if (plan->form == STK_FORM_TILES_ANEW) {
        stk_tile_options tiles = tile_options(m, plan);
        status = stk_tiles_from_image(m->ctx, &image, o->quality, o->chroma_444, &tiles, &out, error);
    } else {
        status = stk_codec_encode_jpeg(m->ctx, &image, o->quality, o->chroma_444, 1, &out, error);
    }
    if (status == STK_OK) {
        stk_buffer_free(&m->encoded);
        m->encoded = out;
        out = (stk_buffer){0};
        p->reencoded = true;
        if (plan->form == STK_FORM_TILES_ANEW)
            status = set_tiles(m, plan, source, p, error);
        else
            set_record(plan, source, STK_ENCODING_JPEG, m->encoded.data, m->encoded.n_bytes, p);
    }
    stk_buffer_free(&out);
    return status;
}

/* Tiles where the JPEG can become some without loss; that it could also shows that it is not damaged. */
static stk_status try_tiles(stk_record_maker *m, const stk_image_plan *plan, const stk_source *source,
                            const stk_source_bytes *bytes, stk_product *p, bool *made, stk_error *error)
{
    *made = false;
    if (!plan->info.tileable) return STK_OK;
    stk_tile_options tiles = tile_options(m, plan);
    stk_error why = {0};
    stk_status status = stk_tiles_from_jpeg(m->ctx, bytes->data, bytes->n_bytes, &tiles, &m->encoded, &why);
    if (status == STK_ERR_UNSUPPORTED || status == STK_ERR_DAMAGED || status == STK_ERR_IMAGE) return STK_OK;
    if (status != STK_OK) {
        if (error != NULL) *error = why;
        return status;
    }
    *made = true;
    return set_tiles(m, plan, source, p, error);
}

static stk_status make_verbatim(stk_record_maker *m, const stk_image_plan *plan, const stk_source *source,
                                const stk_source_bytes *bytes, stk_product *p, stk_damage_report *damage,
                                stk_error *error)
{
    if (m->recipe->options->check == STK_CHECK_DECODE)
        STK_TRY(stk_codec_check(m->ctx, plan->info.encoding, bytes->data, bytes->n_bytes, damage, error));
    set_record(plan, source, plan->info.encoding, bytes->data, bytes->n_bytes, p);
    p->verbatim_jpeg = plan->form == STK_FORM_TILES;
    p->hint = plan->form == STK_FORM_VERBATIM && m->recipe->options->encode == STK_ENCODE_AUTO;
    return STK_OK;
}

/* The worst of several kinds names the damage. */
static const char *damage_name(uint32_t kinds)
{
    static const stk_damage BY_WEIGHT[] = {STK_DAMAGE_TRUNCATED, STK_DAMAGE_ENTROPY, STK_DAMAGE_CHECKSUM,
                                           STK_DAMAGE_OVERFLOW,  STK_DAMAGE_HEADER,  STK_DAMAGE_OTHER,
                                           STK_DAMAGE_EXTRANEOUS};
    for (size_t i = 0; i < sizeof BY_WEIGHT / sizeof *BY_WEIGHT; i++)
        if ((kinds & (uint32_t)BY_WEIGHT[i]) != 0) return stk_damage_name(BY_WEIGHT[i]);
    return stk_damage_name(STK_DAMAGE_OTHER);
}

static void apply_damage(const stk_pack_options *o, const stk_damage_report *damage, stk_product *p)
{
    p->damage = damage->kinds;
    if (damage->kinds == 0 || p->fate != STK_FATE_RECORD) return;
    bool kept =
        o->on_damaged == STK_DAMAGED_KEEP && (o->keep_damage == 0 || (damage->kinds & ~o->keep_damage) == 0);
    stk_product_leave_out(p, kept ? STK_OK : STK_ERR_DAMAGED, kept ? "kept" : "skipped",
                          damage_name(damage->kinds), "%s", damage->text);
    if (kept) p->fate = STK_FATE_RECORD;
}

static stk_status make_record(stk_record_maker *m, const stk_image_plan *plan, const stk_source *source,
                              const stk_source_bytes *bytes, stk_product *p, stk_error *error)
{
    stk_damage_report damage = {0};
    stk_error text = {0};
    stk_status status = STK_OK;
    bool made = false;
    if (plan->form == STK_FORM_TILES) status = try_tiles(m, plan, source, bytes, p, &made, &text);
    if (status == STK_OK && !made) {
        if (plan->form == STK_FORM_TILES || plan->form == STK_FORM_VERBATIM)
            status = make_verbatim(m, plan, source, bytes, p, &damage, &text);
        else
            status = make_from_pixels(m, plan, source, bytes, p, &damage, &text);
    }
    STK_TRY(stk_settle_failure(status, &text, p, error));
    if (status == STK_OK) apply_damage(m->recipe->options, &damage, p);
    if (p->fate != STK_FATE_RECORD) return STK_OK;
    p->payload_is_source = p->record.payload == bytes->data && p->record.n_bytes == bytes->n_bytes;
    p->record.xxh3 = p->payload_is_source ? p->source_xxh3 : stk_hash64(p->record.payload, p->record.n_bytes);
    return STK_OK;
}

/* Sizes that the target must keep to: those of any image, and of JPEG. */
static bool target_fits(const stk_pack_options *o, const stk_image_plan *plan, stk_product *p)
{
    bool jpeg = plan->form == STK_FORM_JPEG_ANEW || plan->form == STK_FORM_TILES_ANEW;
    uint64_t pixels = (uint64_t)plan->target_width * plan->target_height;
    if (pixels <= o->max_pixels && (!jpeg || (plan->target_width <= 65500 && plan->target_height <= 65500)))
        return true;
    stk_product_leave_out(p, STK_ERR_LIMIT, "skipped", "too-large", "would become %u x %u pixels",
                          plan->target_width, plan->target_height);
    p->bad = true;
    return false;
}

static stk_status make_array(stk_record_maker *m, const stk_source *source, const stk_source_bytes *bytes,
                             stk_product *p, stk_error *error)
{
    stk_error text = {0};
    p->source_read = true;
    p->source_xxh3 = stk_hash64(bytes->data, bytes->n_bytes);
    stk_status status = stk_array_from_bytes(bytes->data, bytes->n_bytes, &m->encoded, &text);
    STK_TRY(stk_settle_failure(status, &text, p, error));
    if (status != STK_OK) return STK_OK;
    p->fate = STK_FATE_RECORD;
    p->record = (stk_record){.payload = m->encoded.data,
                             .n_bytes = m->encoded.n_bytes,
                             .label = source->label,
                             .encoding = STK_ENCODING_ARRAY,
                             .orientation = 1,
                             .xxh3 = stk_hash64(m->encoded.data, m->encoded.n_bytes)};
    return STK_OK;
}

static stk_status make_image(stk_record_maker *m, const stk_source *source, const stk_source_bytes *bytes,
                             stk_product *p, stk_error *error)
{
    stk_image_info info;
    stk_error text = {0};
    stk_image_plan plan;
    p->source_read = true;
    p->source_xxh3 = stk_hash64(bytes->data, bytes->n_bytes);
    if (source->state == STK_SOURCE_NO_CLASS) {
        stk_product_leave_out(p, STK_OK, "skipped", "no-class", "lies beside the class folders, so it has no class");
        return STK_OK;
    }
    stk_status status = stk_codec_probe(m->ctx, bytes->data, bytes->n_bytes, &info, &text);
    STK_TRY(stk_settle_failure(status, &text, p, error));
    if (status != STK_OK) return STK_OK;
    stk_image_plan_make(m->recipe->options, &info, &plan);
    stk_source_store *store = m->reader.sources->store;
    bool pixels = store != NULL && store->decoded != NULL && store->decoded(store, source->position) &&
                  info.encoding == STK_ENCODING_PNM;
    if (pixels && plan.form == STK_FORM_VERBATIM) plan.form = STK_FORM_RAW;
    if (plan.form == STK_FORM_RAW && m->recipe->channels != 0) plan.channels = m->recipe->channels;
    if (plan.resized && !target_fits(m->recipe->options, &plan, p)) return STK_OK;
    stk_cache_key(m->recipe->cache, m->recipe->options, &plan, bytes->data, bytes->n_bytes, p);
    if (stk_cache_look_up(m->cache, &m->cached, bytes->data, bytes->n_bytes, p)) {
        p->record.label = source->label;
        return STK_OK;
    }
    return make_record(m, &plan, source, bytes, p, error);
}

/* What an outlier took is given back before the next file. */
static void release_outliers(stk_record_maker *m)
{
    enum { KEEP_BYTES = 16 << 20 };
    if (m->encoded.capacity > KEEP_BYTES) stk_buffer_free(&m->encoded);
    if (m->cached.capacity > KEEP_BYTES) stk_buffer_free(&m->cached);
}

stk_status stk_record_make(stk_record_maker *m, const stk_source *source, stk_product *p, stk_error *error)
{
    const stk_pack_options *o = m->recipe->options;
    const stk_sources *sources = m->reader.sources;
    stk_source_bytes bytes;
    *p = (stk_product){.failure = STK_OK};
    release_outliers(m);
    if (stk_settle_by_state(sources, source, p)) return STK_OK;
    if (m->recipe->previous != NULL) {
        bool made = false;
        STK_TRY(stk_previous_make(m->recipe->previous, &m->reader, source, &m->encoded, &m->scratch, p, &made,
                                  error));
        if (made) return STK_OK;
        *p = (stk_product){.failure = STK_OK};
    }
    STK_TRY(stk_source_read(&m->reader, source, o->max_file_bytes, is_known, &bytes, error));
    p->source_bytes = bytes.size;
    p->source_mtime_ns = bytes.mtime_ns;
    if (!stk_settle_by_reading(sources, source, &bytes, p)) {
        if (bytes.result == STK_READ_NO_IMAGE || !is_known(bytes.data, bytes.n_bytes))
            stk_settle_foreign(sources, source, &bytes, p);
        else if (stk_is_array(bytes.data, bytes.n_bytes))
            STK_TRY(make_array(m, source, &bytes, p, error));
        else
            STK_TRY(make_image(m, source, &bytes, p, error));
    }
    if (p->bad && o->on_bad == STK_BAD_QUARANTINE)
        STK_TRY(stk_quarantine(&m->reader, source, o->quarantine, p, error));
    return STK_OK;
}
