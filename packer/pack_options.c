/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/pack_options.h"

#include <string.h>

#include <stoker/cpu.h>

#include "common/fail.h"

void stk_pack_options_init(stk_pack_options *options)
{
    *options = (stk_pack_options){
        .struct_size = sizeof *options,
        .resample = STK_FILTER_BICUBIC,
        .quality = 90,
        .tile_pixels = 32,
        .resume = true,
        .shard_bytes = (uint64_t)4 << 30,
        .max_pixels = 178956970,
        .max_file_bytes = UINT32_MAX,
    };
}

/* A caller built against an older header has a shorter struct: what it lacks keeps its default. */
static stk_status copy_options(const stk_pack_options *options, stk_pack_options *out, stk_error *error)
{
    stk_pack_options_init(out);
    if (options == NULL) return STK_OK;
    if (options->struct_size < sizeof options->struct_size || options->struct_size > sizeof *out)
        return stk_fail(
            error, STK_ERR_ARGUMENT,
            "pack options: struct_size is %zu; call stk_pack_options_init, and use a header of this "
            "library's version or older",
            options->struct_size);
    memcpy(out, options, options->struct_size);
    out->struct_size = sizeof *out;
    return STK_OK;
}

static stk_status check_enums(const stk_pack_options *o, stk_error *error)
{
    if ((unsigned)o->encode > STK_ENCODE_TILES || (unsigned)o->check > STK_CHECK_HEADER ||
        (unsigned)o->exif > STK_EXIF_IGNORE || (unsigned)o->mode > STK_MODE_L ||
        (unsigned)o->resize > STK_RESIZE_EXACT || (unsigned)o->resample > STK_FILTER_NEAREST ||
        (unsigned)o->on_damaged > STK_DAMAGED_FAIL || (unsigned)o->on_bad > STK_BAD_QUARANTINE)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "pack options: an enumeration has a value outside its range");
    return STK_OK;
}

static stk_status check_numbers(const stk_pack_options *o, stk_error *error)
{
    if (o->resize != STK_RESIZE_NONE && (o->resize_width == 0 || o->resize_width > 65500))
        return stk_fail(error, STK_ERR_ARGUMENT, "resize: %u is not 1 to 65500 pixels", o->resize_width);
    if (o->resize == STK_RESIZE_EXACT && (o->resize_height == 0 || o->resize_height > 65500))
        return stk_fail(error, STK_ERR_ARGUMENT, "resize: %u is not 1 to 65500 pixels", o->resize_height);
    if (o->quality < 1 || o->quality > 100)
        return stk_fail(error, STK_ERR_ARGUMENT, "quality: %u is not 1 to 100", o->quality);
    if (o->tile_pixels != 16 && o->tile_pixels != 32 && o->tile_pixels != 64)
        return stk_fail(error, STK_ERR_ARGUMENT, "tile_pixels: %u is not 16, 32 or 64", o->tile_pixels);
    if (o->max_pixels == 0 || o->max_file_bytes == 0 || o->max_file_bytes > UINT32_MAX)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "max_pixels and max_file_bytes must be 1 or more, the latter below "
                        "4 GiB");
    if (o->shard_bytes < 1 << 16)
        return stk_fail(error, STK_ERR_ARGUMENT, "shard size: %llu bytes; at least 65536 are needed",
                        (unsigned long long)o->shard_bytes);
    if (o->n_parts > 1000000 || (o->n_parts == 0) != (o->part == 0) || o->part > o->n_parts)
        return stk_fail(error, STK_ERR_ARGUMENT, "part %u of %u: K/N with 1 <= K <= N is needed", o->part,
                        o->n_parts);
    if (o->n_threads > 4096)
        return stk_fail(error, STK_ERR_ARGUMENT, "threads: %u; at most 4096", o->n_threads);
    if (o->on_bad == STK_BAD_QUARANTINE && (o->quarantine == NULL || o->quarantine[0] == '\0'))
        return stk_fail(error, STK_ERR_ARGUMENT, "on_bad quarantine: name a folder");
    return STK_OK;
}

stk_status stk_pack_options_read(const stk_pack_options *options, stk_pack_options *out, stk_error *error)
{
    STK_TRY(copy_options(options, out, error));
    STK_TRY(check_enums(out, error));
    STK_TRY(check_numbers(out, error));
    if (out->n_threads == 0) out->n_threads = (uint32_t)stk_cpu_usable_threads();
    return STK_OK;
}
