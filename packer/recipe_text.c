/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/recipe_text.h"

#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/permute.h"

const char *const stk_encode_words[STK_N_ENCODE_WORDS] = {"auto", "keep", "raw", "tiles"};
const char *const stk_resize_words[STK_N_RESIZE_WORDS] = {"none", "short", "long", "exact"};
const char *const stk_filter_words[STK_N_FILTER_WORDS] = {"bilinear", "bicubic", "box",
                                                          "hamming",  "lanczos", "nearest"};

static void write_text(stk_json_writer *w, const char *key, const char *value)
{
    stk_jw_key(w, key);
    stk_jw_string(w, value);
}

static void write_number(stk_json_writer *w, const char *key, uint64_t value)
{
    stk_jw_key(w, key);
    stk_jw_u64(w, value);
}

/* "skip", "fail", "keep" or "keep=kind,kind". */
static void write_on_damaged(stk_json_writer *w, const stk_pack_options *o)
{
    char text[128] = "keep";
    size_t n = strlen(text);
    for (uint32_t bit = 0; bit < 7; bit++) {
        if ((o->keep_damage & 1u << bit) == 0) continue;
        n += (size_t)snprintf(text + n, sizeof text - n, "%c%s", strcmp(text, "keep") == 0 ? '=' : ',',
                              stk_damage_name((stk_damage)(1u << bit)));
    }
    static const char *const NAMES[] = {"skip", "keep", "fail"};
    write_text(w, "on_damaged", o->on_damaged == STK_DAMAGED_KEEP ? text : NAMES[o->on_damaged]);
}

static void write_transform(stk_json_writer *w, const stk_pack_options *o)
{
    stk_jw_key(w, "transform");
    if (o->resize == STK_RESIZE_NONE) {
        stk_jw_null(w);
        return;
    }
    stk_jw_object(w);
    write_text(w, "resize", stk_resize_words[o->resize]);
    write_number(w, "width", o->resize_width);
    if (o->resize == STK_RESIZE_EXACT) write_number(w, "height", o->resize_height);
    write_text(w, "filter", stk_filter_words[o->resample]);
    stk_jw_end_object(w);
}

/* Whether pixels may be encoded anew at all: then how. */
static void write_encoder(stk_json_writer *w, const stk_pack_options *o)
{
    bool tiles = o->encode == STK_ENCODE_AUTO || o->encode == STK_ENCODE_TILES;
    bool anew =
        o->encode == STK_ENCODE_TILES || (o->resize != STK_RESIZE_NONE && o->encode != STK_ENCODE_RAW);
    if (anew) {
        write_number(w, "quality", o->quality);
        write_text(w, "chroma", o->chroma_444 ? "4:4:4" : "4:2:0");
    }
    if (tiles) write_number(w, "tile_pixels", o->tile_pixels);
}

/* The members that both texts share. */
static void write_common(stk_json_writer *w, const stk_pack_options *o)
{
    write_text(w, "encoding", stk_encode_words[o->encode]);
    write_transform(w, o);
    write_encoder(w, o);
    write_text(w, "exif", o->exif == STK_EXIF_APPLY ? "apply" : "ignore");
    write_text(w, "mode", o->mode == STK_MODE_L ? "L" : "RGB");
    write_text(w, "check", o->check == STK_CHECK_DECODE ? "decode" : "header");
    write_on_damaged(w, o);
    write_number(w, "encoder", STK_ENCODER_VERSION);
}

static void write_part(stk_json_writer *w, const stk_pack_options *o, uint64_t whole)
{
    char id[17];
    snprintf(id, sizeof id, "%016llx", (unsigned long long)whole);
    stk_jw_key(w, "part");
    stk_jw_array(w);
    stk_jw_u64(w, o->part);
    stk_jw_u64(w, o->n_parts);
    stk_jw_end_array(w);
    write_text(w, "whole", id);
}

stk_status stk_metadata_text(const stk_sources *sources, const stk_pack_options *o, uint64_t whole,
                             stk_buffer *out, stk_error *error)
{
    stk_json_writer w = stk_jw_begin(out, error);
    stk_jw_object(&w);
    write_number(&w, "version", 1);
    stk_jw_key(&w, "classes");
    stk_jw_array(&w);
    for (uint32_t i = 0; i < sources->n_classes; i++)
        stk_jw_bytes(&w, sources->class_names[i], strlen(sources->class_names[i]));
    stk_jw_end_array(&w);
    write_common(&w, o);
    stk_jw_key(&w, "order");
    if (o->shuffle) {
        stk_jw_object(&w);
        write_number(&w, "shuffle", o->shuffle_seed);
        write_number(&w, "permute", STK_PERMUTE_VERSION);
        stk_jw_end_object(&w);
    } else {
        stk_jw_string(&w, "source");
    }
    if (o->n_parts > 0) write_part(&w, o, whole); /* last: merge cuts it off (merge_parts.c) */
    stk_jw_end_object(&w);
    STK_TRY(stk_jw_end(&w));
    return stk_buffer_append(out, "", 1, error);
}

stk_status stk_recipe_text(const stk_pack_options *o, stk_buffer *out, stk_error *error)
{
    stk_json_writer w = stk_jw_begin(out, error);
    stk_jw_object(&w);
    write_common(&w, o);
    static const char *const BAD[] = {"skip", "fail", "quarantine"};
    write_text(&w, "on_bad", BAD[o->on_bad]);
    write_number(&w, "max_pixels", o->max_pixels);
    write_number(&w, "max_file_bytes", o->max_file_bytes);
    stk_jw_end_object(&w);
    STK_TRY(stk_jw_end(&w));
    return stk_buffer_append(out, "", 1, error);
}
