/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/loader_options.h"

#include "common/fail.h"

void stk_loader_options_init(stk_loader_options *options)
{
    *options = (stk_loader_options){
        .struct_size = sizeof *options,
        .batch_size = 256,
        .dtype = STK_DTYPE_U8,
        .layout = STK_LAYOUT_NHWC,
        .mean = {0.485f, 0.456f, 0.406f},
        .std = {0.229f, 0.224f, 0.225f},
        .order = STK_ORDER_SHUFFLE,
        .world = 1,
        .last = STK_LAST_KEEP,
        .on_bad = STK_ON_BAD_ERROR,
        .repeats = 1,
        .n_views = 1,
        .page_window = 64,
    };
    stk_transform_init(&options->transform, STK_TRANSFORM_RANDOM_RESIZED_CROP);
}

static stk_status check_enums(const stk_loader_options *o, stk_error *error)
{
    const char *bad = NULL;
    if ((unsigned)o->dtype > STK_DTYPE_F32) bad = "dtype";
    if ((unsigned)o->layout > STK_LAYOUT_NCHW) bad = "layout";
    if ((unsigned)o->order > STK_ORDER_WEIGHTED) bad = "order";
    if ((unsigned)o->last > STK_LAST_PAD) bad = "last";
    if ((unsigned)o->on_bad > STK_ON_BAD_SUBSTITUTE) bad = "on_bad";
    if (bad == NULL) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "options.%s is out of range", bad);
}

static stk_status check_columns(const stk_dataset *dataset, const stk_loader_options *o, stk_error *error)
{
    if (o->n_columns > 0 && o->columns == NULL)
        return stk_fail(error, STK_ERR_ARGUMENT, "n_columns is %u, but columns is NULL", o->n_columns);
    for (uint32_t c = 0; c < o->n_columns; c++) {
        stk_column column;
        STK_TRY(stk_dataset_column(dataset, o->columns[c], &column, error));
        if (stk_type_size(column.type) == 0 || column.n_items == 0)
            return stk_fail(
                error, STK_ERR_ARGUMENT,
                "column '%s' (%s) cannot be delivered with batches: only numbers with a fixed count can; "
                "read it with stk_dataset_value",
                column.name, stk_type_name(column.type));
    }
    return STK_OK;
}

stk_status stk_loader_options_check(const stk_dataset *dataset, const stk_loader_options *o, stk_error *error)
{
    if (o->struct_size != sizeof *o)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "options were not filled by stk_loader_options_init of this version");
    STK_TRY(check_enums(o, error));
    if (o->batch_size == 0) return stk_fail(error, STK_ERR_ARGUMENT, "batch_size must be at least 1");
    if (o->world == 0 || o->rank >= o->world)
        return stk_fail(error, STK_ERR_ARGUMENT, "rank %u of world %u: rank must be 0 .. world - 1", o->rank,
                        o->world);
    if (o->n_views == 0) return stk_fail(error, STK_ERR_ARGUMENT, "n_views must be at least 1");
    if ((uint64_t)o->first_view + o->n_views > UINT32_MAX / 2)
        return stk_fail(error, STK_ERR_ARGUMENT, "first_view %u is too large", o->first_view);
    if ((uint64_t)o->batch_size * o->n_views > UINT32_MAX / 2)
        return stk_fail(error, STK_ERR_ARGUMENT, "batch_size %u times n_views %u is too large", o->batch_size,
                        o->n_views);
    if (o->n_threads > 4096) return stk_fail(error, STK_ERR_ARGUMENT, "n_threads %u is too large", o->n_threads);
    if (o->n_ahead > 65536) return stk_fail(error, STK_ERR_ARGUMENT, "n_ahead %u is too large", o->n_ahead);
    if ((o->allocator.acquire == NULL) != (o->allocator.release == NULL))
        return stk_fail(error, STK_ERR_ARGUMENT, "allocator needs both acquire and release, or neither");
    if (o->indices == NULL && o->n_indices != 0)
        return stk_fail(error, STK_ERR_ARGUMENT, "n_indices is %llu, but indices is NULL",
                        (unsigned long long)o->n_indices);
    for (int c = 0; o->dtype != STK_DTYPE_U8 && c < 3; c++)
        if (!(o->std[c] > 0)) return stk_fail(error, STK_ERR_ARGUMENT, "std[%d] must be positive", c);
    return check_columns(dataset, o, error);
}

stk_status stk_loader_options_check_arrays(const stk_loader_options *o, const stk_array *array, stk_error *error)
{
    char what[200];
    stk_array_text(array, what, sizeof what);
    const stk_transform *t = &o->transform;
    if (t->kind != STK_TRANSFORM_NONE || t->flip_probability > 0 || t->color != STK_COLOR_RGB || t->n_steps > 0 ||
        t->mix.mixup_alpha > 0 || t->mix.cutmix_alpha > 0)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "the records are arrays (%s), which are delivered as they are: no transform can be applied to "
                        "them; leave the transform out (in C: STK_TRANSFORM_NONE)",
                        what);
    if (o->dtype != STK_DTYPE_U8 || o->layout != STK_LAYOUT_NHWC)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "the records are arrays (%s) and keep their type and shape: leave dtype and layout out", what);
    if (o->gather)
        return stk_fail(error, STK_ERR_ARGUMENT, "the records are arrays (%s): there is nothing to gather for a GPU to "
                        "decode", what);
    return STK_OK;
}
