/* SPDX-License-Identifier: Apache-2.0
 *
 * The recipe of a DST.sources back into options. */
#include <string.h>

#include "common/fail.h"
#include "common/json.h"
#include "packer/recipe_text.h"

static bool read_word(const stk_json *root, const char *key, const char *const *words, unsigned n, unsigned *out)
{
    const char *text = stk_json_string(stk_json_get(root, key), NULL);
    for (*out = 0; text != NULL && *out < n; ++*out)
        if (strcmp(text, words[*out]) == 0) return true;
    return false;
}

static bool read_u32(const stk_json *node, uint32_t *out)
{
    uint64_t value;
    if (!stk_json_u64(node, &value) || value > UINT32_MAX) return false;
    *out = (uint32_t)value;
    return true;
}

static bool read_transform(const stk_json *transform, stk_pack_options *o)
{
    unsigned word;
    if (stk_json_kind_of(transform) == STK_JSON_NULL) return true;
    if (!read_word(transform, "resize", stk_resize_words, STK_N_RESIZE_WORDS, &word)) return false;
    o->resize = (stk_resize_kind)word;
    if (!read_word(transform, "filter", stk_filter_words, STK_N_FILTER_WORDS, &word)) return false;
    o->resample = (stk_filter)word;
    return read_u32(stk_json_get(transform, "width"), &o->resize_width) &&
           (o->resize != STK_RESIZE_EXACT || read_u32(stk_json_get(transform, "height"), &o->resize_height));
}

static bool read_all(const stk_json *root, stk_pack_options *o)
{
    static const char *const EXIF[] = {"apply", "ignore"}, *const MODE[] = {"RGB", "L"};
    static const char *const CHECK[] = {"decode", "header"};
    unsigned encode, exif, mode, check;
    if (!read_word(root, "encoding", stk_encode_words, STK_N_ENCODE_WORDS, &encode) ||
        !read_word(root, "exif", EXIF, 2, &exif) || !read_word(root, "mode", MODE, 2, &mode) ||
        !read_word(root, "check", CHECK, 2, &check))
        return false;
    o->encode = (stk_encode)encode;
    o->exif = (stk_exif)exif;
    o->mode = (stk_mode)mode;
    o->check = (stk_check)check;
    const char *chroma = stk_json_string(stk_json_get(root, "chroma"), NULL);
    o->chroma_444 = chroma != NULL && strcmp(chroma, "4:4:4") == 0;
    (void)read_u32(stk_json_get(root, "quality"), &o->quality);
    (void)read_u32(stk_json_get(root, "tile_pixels"), &o->tile_pixels);
    return read_transform(stk_json_get(root, "transform"), o) &&
           stk_json_u64(stk_json_get(root, "max_pixels"), &o->max_pixels) &&
           stk_json_u64(stk_json_get(root, "max_file_bytes"), &o->max_file_bytes);
}

stk_status stk_recipe_read(const char *text, stk_pack_options *out, stk_error *error)
{
    stk_json *root = NULL;
    stk_pack_options_init(out);
    STK_TRY(stk_json_parse(text, strlen(text), &root, error));
    bool fine = read_all(root, out);
    stk_json_close(&root);
    return fine ? STK_OK : stk_fail(error, STK_ERR_CORRUPT, "the parameters in it are not whole");
}
