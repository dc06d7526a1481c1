/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/hdf5_select.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/json.h"

/* Names that people give; the last part of the path is compared, case-blind, in this order. */
static const char *const IMAGE_NAMES[] = {"images", "image", "imgs", "img", "data", "x", "train_images", "x_train",
                                          "pixels", "jpeg", "jpegs"};
static const char *const LABEL_NAMES[] = {"labels", "label", "targets", "target", "y", "classes", "class",
                                          "train_labels", "y_train"};

uint32_t stk_h5_find(const stk_h5_plan *plan, const char *name)
{
    while (*name == '/') name++;
    for (uint32_t i = 0; i < plan->n_datasets; i++)
        if (strcmp(stk_h5_datasets(plan)[i].name, name) == 0) return i;
    return STK_H5_NONE;
}

static bool is_number(const stk_h5_dataset *d)
{
    return d->class_ == STK_H5_INTEGER || d->class_ == STK_H5_FLOAT || d->class_ == STK_H5_BOOL;
}

static bool is_u8(const stk_h5_dataset *d)
{
    return d->class_ == STK_H5_INTEGER && d->element_bytes == 1 && !d->is_signed;
}

static bool sides_ok(uint64_t h, uint64_t w)
{
    return h >= 1 && w >= 1 && h <= UINT32_MAX && w <= UINT32_MAX && h * w <= UINT32_MAX;
}

/* The pixel layout of a shape; 0 when it is none. [N, H, W] is grey, but only from 8 x 8 on: [N, 2, 3] is not. */
static stk_h5_kind pixel_layout(const stk_h5_dataset *d)
{
    const uint64_t *n = d->dims;
    if (d->rank == 3 && n[1] >= 8 && n[2] >= 8 && sides_ok(n[1], n[2])) return STK_H5_PIXELS_NHWC;
    if (d->rank != 4) return 0;
    if ((n[3] == 1 || n[3] == 3) && sides_ok(n[1], n[2])) return STK_H5_PIXELS_NHWC;
    if ((n[1] == 1 || n[1] == 3) && sides_ok(n[2], n[3])) return STK_H5_PIXELS_NCHW;
    return 0;
}

static bool is_blobs(const stk_h5_dataset *d)
{
    return d->rank == 1 && (d->class_ == STK_H5_VLEN || d->class_ == STK_H5_OPAQUE);
}

const char *stk_h5_looks_like(const stk_h5_dataset *d)
{
    if (d->class_ == STK_H5_OTHER || d->layout == STK_H5_ELSEWHERE || d->rank == 0) return NULL;
    if (is_blobs(d)) return "encoded images";
    stk_h5_kind kind = is_number(d) ? pixel_layout(d) : 0;
    if (kind != 0 && is_u8(d)) return kind == STK_H5_PIXELS_NHWC ? "images [N, H, W, C]" : "images [N, C, H, W]";
    if (kind != 0 && !d->is_signed) return "images with --range MIN:MAX, else arrays";
    if (is_number(d) && d->rank >= 2) return "arrays";
    if (d->rank == 1 && d->class_ == STK_H5_INTEGER) return "labels";
    return NULL;
}

static stk_h5_kind kind_of(const stk_h5_dataset *d, const stk_dataset_options *o, bool *convert)
{
    *convert = false;
    if (is_blobs(d)) return STK_H5_BLOBS;
    if (!is_number(d)) return 0;
    if (o->hdf5_arrays) return d->rank >= 1 ? STK_H5_ARRAYS : 0;
    stk_h5_kind layout = pixel_layout(d);
    if (layout != 0 && is_u8(d)) return layout;
    if (layout != 0 && o->range_max > o->range_min) {
        *convert = true;
        return layout;
    }
    return d->rank >= 1 ? STK_H5_ARRAYS : 0;
}

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash != NULL ? slash + 1 : name;
}

static bool is_candidate(const stk_h5_dataset *d, const stk_dataset_options *o, bool pixels_only)
{
    bool convert;
    stk_h5_kind kind = kind_of(d, o, &convert);
    if (d->layout == STK_H5_ELSEWHERE || d->rank == 0 || d->dims[0] == 0 || kind == 0) return false;
    if (kind != STK_H5_ARRAYS) return true;
    return !pixels_only && d->rank >= 2;
}

static uint32_t guess_images(const stk_h5_plan *plan, const stk_dataset_options *o)
{
    const stk_h5_dataset *d = stk_h5_datasets(plan);
    for (int pass = 0; pass < 2; pass++) {
        bool pixels_only = pass == 0;
        for (size_t k = 0; k < sizeof IMAGE_NAMES / sizeof IMAGE_NAMES[0]; k++)
            for (uint32_t i = 0; i < plan->n_datasets; i++)
                if (strcasecmp(last_part(d[i].name), IMAGE_NAMES[k]) == 0 && is_candidate(&d[i], o, pixels_only)) return i;
        /* None by name: the only one, or the first, by shape. */
        for (uint32_t i = 0; i < plan->n_datasets; i++)
            if (is_candidate(&d[i], o, pixels_only)) return i;
    }
    return STK_H5_NONE;
}

static bool is_label_of(const stk_h5_dataset *d, uint64_t n_rows)
{
    bool flat = d->rank == 1 || (d->rank == 2 && d->dims[1] == 1);
    return flat && d->class_ == STK_H5_INTEGER && d->layout != STK_H5_ELSEWHERE && d->dims[0] == n_rows;
}

static uint32_t guess_labels(const stk_h5_plan *plan, uint64_t n_rows)
{
    const stk_h5_dataset *d = stk_h5_datasets(plan);
    for (size_t k = 0; k < sizeof LABEL_NAMES / sizeof LABEL_NAMES[0]; k++)
        for (uint32_t i = 0; i < plan->n_datasets; i++)
            if (strcasecmp(last_part(d[i].name), LABEL_NAMES[k]) == 0 && is_label_of(&d[i], n_rows)) return i;
    return STK_H5_NONE;
}

static stk_status not_found(const stk_h5_plan *plan, const char *path, const char *what, stk_error *error)
{
    char list[400] = "";
    for (uint32_t i = 0; i < plan->n_datasets && strlen(list) < 300; i++) {
        const stk_h5_dataset *d = stk_h5_datasets(plan) + i;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%.60s", i > 0 ? ", " : "", d->name);
    }
    return stk_fail(error, STK_ERR_NOT_FOUND, "%s: %s; its data sets: %s", path, what, list[0] != '\0' ? list : "none");
}

enum { TYPE_TEXT = 48, SHAPE_TEXT = STK_H5_MAX_RANK * 22 + 3 };

static const char *type_text(const stk_h5_dataset *d, char *text)
{
    static const char *const classes[] = {"?",      "int",    "float", "bool", "text", "opaque", "vlen bytes",
                                          "vlen text", "other"};
    bool sized = d->class_ == STK_H5_INTEGER || d->class_ == STK_H5_FLOAT;
    const char *name = classes[d->class_ <= STK_H5_OTHER ? d->class_ : 0];
    const char *sign = d->class_ == STK_H5_INTEGER && !d->is_signed ? "u" : "";
    if (sized) snprintf(text, TYPE_TEXT, "%s%s%u", sign, name, d->element_bytes * 8);
    else snprintf(text, TYPE_TEXT, "%s", name);
    return text;
}

static const char *layout_text(const stk_h5_dataset *d)
{
    static const char *const layouts[] = {"?", "contiguous", "chunked", "compact", "external or virtual"};
    return layouts[d->layout <= STK_H5_ELSEWHERE ? d->layout : 0];
}

static const char *shape_text(const uint64_t *dims, uint32_t rank, char *text)
{
    size_t n = (size_t)snprintf(text, SHAPE_TEXT, "[");
    for (uint32_t i = 0; i < rank; i++)
        n += (size_t)snprintf(text + n, SHAPE_TEXT - n, "%s%llu", i > 0 ? ", " : "", (unsigned long long)dims[i]);
    snprintf(text + n, SHAPE_TEXT - n, "]");
    return text;
}

/* ---- What the file's owner should know of a choice that was made by name and shape. */

static bool is_text_label_of(const stk_h5_dataset *d, uint64_t n_rows)
{
    bool text = d->class_ == STK_H5_TEXT || d->class_ == STK_H5_VLEN_TEXT;
    return text && d->rank == 1 && d->layout != STK_H5_ELSEWHERE && d->dims[0] == n_rows;
}

/* The first data set, other than the images, with a label's name; STK_H5_NONE. */
static uint32_t named_as_label(const stk_h5_plan *plan, uint32_t images)
{
    for (size_t k = 0; k < sizeof LABEL_NAMES / sizeof LABEL_NAMES[0]; k++)
        for (uint32_t i = 0; i < plan->n_datasets; i++)
            if (i != images && strcasecmp(last_part(stk_h5_datasets(plan)[i].name), LABEL_NAMES[k]) == 0) return i;
    return STK_H5_NONE;
}

static void say_why_no_label(const stk_h5_dataset *d, uint64_t n_rows, char *text, size_t capacity)
{
    char type[TYPE_TEXT], shape[SHAPE_TEXT];
    if (d->layout == STK_H5_ELSEWHERE)
        snprintf(text, capacity, "keeps its data in other files, which is not read");
    else if (d->rank == 0)
        snprintf(text, capacity, "is a single value");
    else if (d->dims[0] != n_rows)
        snprintf(text, capacity, "has %llu rows for %llu images", (unsigned long long)d->dims[0], (unsigned long long)n_rows);
    else if (d->rank > 1)
        snprintf(text, capacity, "has the shape %.100s, labels are one integer an image (of one-hot rows: their argmax)",
                 shape_text(d->dims, d->rank, shape));
    else
        snprintf(text, capacity, "holds %s, labels are integers or text", type_text(d, type));
}

/* Only for files that others wrote, where nothing was asked for. */
static void note_labels(const stk_h5_plan *plan, stk_h5_selection *s)
{
    const stk_h5_dataset *d = stk_h5_datasets(plan);
    uint32_t named = named_as_label(plan, s->images), other = 0;
    char why[240] = "", advice[200] = "--labels PATH names a data set of one integer an image";
    if (s->labels != STK_H5_NONE || s->text_labels != STK_H5_NONE) return;
    while (other < plan->n_datasets && (other == s->images || !is_label_of(&d[other], s->n_rows))) other++;
    if (other < plan->n_datasets)
        snprintf(advice, sizeof advice, "'%.60s' has one integer an image: --labels %.40s reads it as labels", d[other].name,
                 d[other].name);
    if (named == STK_H5_NONE && other == plan->n_datasets) return;
    if (named == STK_H5_NONE) {
        snprintf(s->label_note, sizeof s->label_note, "no data set has a label's name, so no record has a label; %s", advice);
        return;
    }
    say_why_no_label(&d[named], s->n_rows, why, sizeof why);
    snprintf(s->label_note, sizeof s->label_note, "'%.80s' %s: it is not read as labels, and no record has a label; %s",
             d[named].name, why, advice);
}

static void note_images(const stk_h5_plan *plan, const stk_dataset_options *o, stk_h5_selection *s)
{
    const stk_h5_dataset *d = stk_h5_datasets(plan);
    char others[160] = "";
    uint32_t n = 0, first = 0, label = named_as_label(plan, s->images);
    for (uint32_t i = 0; i < plan->n_datasets; i++) {
        if (i == s->images || i == label || i == s->labels) continue;
        if (!is_candidate(&d[i], o, s->kind != STK_H5_ARRAYS)) continue;
        if (n++ == 0) first = i;
        if (strlen(others) < 90)
            snprintf(others + strlen(others), sizeof others - strlen(others), "%s'%.60s'", n > 1 ? ", " : "", d[i].name);
    }
    if (n == 0) return;
    snprintf(s->image_note, sizeof s->image_note,
             "'%.80s' is what was read; %s would do as well, and --dataset %.60s takes it", d[s->images].name, others,
             d[first].name);
}

static stk_status choose_labels(const stk_h5_plan *plan, const stk_dataset_options *o, const char *path,
                                stk_h5_selection *s, stk_error *error)
{
    if (o->hdf5_labels == NULL) {
        s->labels = guess_labels(plan, s->n_rows);
        uint32_t named = named_as_label(plan, s->images);
        if (s->labels == STK_H5_NONE && named != STK_H5_NONE && is_text_label_of(stk_h5_datasets(plan) + named, s->n_rows))
            s->text_labels = named;
        note_labels(plan, s);
        return STK_OK;
    }
    s->labels = STK_H5_NONE;
    if (o->hdf5_labels[0] == '\0') return STK_OK;
    char what[128];
    s->labels = stk_h5_find(plan, o->hdf5_labels);
    snprintf(what, sizeof what, "no data set '%.80s' for --labels", o->hdf5_labels);
    if (s->labels == STK_H5_NONE) return not_found(plan, path, what, error);
    if (is_label_of(stk_h5_datasets(plan) + s->labels, s->n_rows)) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "%s: --labels %s: must be integers, one for each of the %llu images", path,
                    o->hdf5_labels, (unsigned long long)s->n_rows);
}

static stk_status select_own(const stk_h5_plan *plan, const char *path, stk_h5_selection *s, stk_error *error)
{
    uint32_t images = stk_h5_find(plan, "images"), data = stk_h5_find(plan, "data");
    s->labels = stk_h5_find(plan, "labels");
    uint32_t hashes = stk_h5_find(plan, "xxh3");
    if (s->labels == STK_H5_NONE || hashes == STK_H5_NONE || (images == STK_H5_NONE && data == STK_H5_NONE))
        return not_found(plan, path, "written by stoker, but data sets are missing", error);
    const stk_h5_dataset *d = stk_h5_datasets(plan);
    s->n_rows = d[s->labels].dims[0];
    s->kind = images != STK_H5_NONE ? STK_H5_OWN_UNIFORM : STK_H5_OWN_BLOB;
    s->images = images != STK_H5_NONE ? images : data;
    if (s->kind == STK_H5_OWN_BLOB && stk_h5_find(plan, "offset") == STK_H5_NONE) {
        s->kind = STK_H5_ARRAYS;
        s->own_arrays = true;
        if (is_number(d + data) && d[data].rank >= 1 && d[data].dims[0] == s->n_rows) return STK_OK;
        return stk_fail(error, STK_ERR_CORRUPT, "%s: 'data' does not have the shape that stoker writes", path);
    }
    if (s->kind == STK_H5_OWN_BLOB) return STK_OK;
    const stk_h5_dataset *im = d + images;
    if (!is_u8(im) || im->rank != 4 || im->dims[0] != s->n_rows || (im->dims[3] != 1 && im->dims[3] != 3) ||
        !sides_ok(im->dims[1], im->dims[2]))
        return stk_fail(error, STK_ERR_CORRUPT, "%s: 'images' does not have the shape that stoker writes", path);
    s->height = (uint32_t)im->dims[1];
    s->width = (uint32_t)im->dims[2];
    s->channels = (uint32_t)im->dims[3];
    return STK_OK;
}

/* A range that maps nothing is a slip: of the data set, or of what the file is. */
static stk_status check_range(const stk_h5_plan *plan, const stk_dataset_options *o, const char *path,
                              const stk_h5_selection *s, stk_error *error)
{
    if (s->convert || (o->range_min == 0 && o->range_max == 0)) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "%s: --range is for pixels that are not uint8; '%s' has none", path,
                    stk_h5_datasets(plan)[s->images].name);
}

/* A data set whose bytes are not in this file; STK_H5_NONE. */
static uint32_t first_elsewhere(const stk_h5_plan *plan)
{
    for (uint32_t i = 0; i < plan->n_datasets; i++)
        if (stk_h5_datasets(plan)[i].layout == STK_H5_ELSEWHERE) return i;
    return STK_H5_NONE;
}

stk_status stk_h5_select(const stk_h5_plan *plan, const stk_dataset_options *o, const char *path,
                         stk_h5_selection *s, stk_error *error)
{
    *s = (stk_h5_selection){.labels = STK_H5_NONE, .text_labels = STK_H5_NONE};
    bool as_stored = !o->hdf5_arrays || stk_h5_find(plan, "images") == STK_H5_NONE;
    if (plan->own && o->hdf5_images == NULL && as_stored) {
        STK_TRY(select_own(plan, path, s, error));
        STK_TRY(check_range(plan, o, path, s, error));
        return o->hdf5_labels != NULL ? choose_labels(plan, o, path, s, error) : STK_OK;
    }
    char what[STK_H5_NAME + 100] = "no data set in it looks like images or arrays; name one with --dataset PATH";
    s->images = o->hdf5_images != NULL ? stk_h5_find(plan, o->hdf5_images) : guess_images(plan, o);
    if (o->hdf5_images != NULL) snprintf(what, sizeof what, "no data set '%.80s' for --dataset", o->hdf5_images);
    uint32_t elsewhere = first_elsewhere(plan);
    if (o->hdf5_images == NULL && elsewhere != STK_H5_NONE)
        snprintf(what, sizeof what, "'%.200s' keeps its data in other files (external or virtual), which is not read",
                 stk_h5_datasets(plan)[elsewhere].name);
    if (s->images == STK_H5_NONE) return not_found(plan, path, what, error);
    const stk_h5_dataset *d = stk_h5_datasets(plan) + s->images;
    s->kind = kind_of(d, o, &s->convert);
    if (s->kind == 0 || d->rank == 0 || d->dims[0] == 0)
        return stk_fail(error, STK_ERR_UNSUPPORTED, "%s: data set '%s' holds neither images nor arrays of numbers with at most %d dimensions",
                        path, d->name, STK_H5_MAX_RANK);
    STK_TRY(check_range(plan, o, path, s, error));
    s->n_rows = d->dims[0];
    if (s->kind == STK_H5_PIXELS_NHWC || s->kind == STK_H5_PIXELS_NCHW) {
        bool first = s->kind == STK_H5_PIXELS_NCHW;
        s->height = (uint32_t)d->dims[first ? 2 : 1];
        s->width = (uint32_t)d->dims[first ? 3 : 2];
        s->channels = d->rank == 3 ? 1 : (uint32_t)d->dims[first ? 1 : 3];
    }
    if (o->hdf5_images == NULL) note_images(plan, o, s);
    return choose_labels(plan, o, path, s, error);
}

static void describe_dataset(stk_json_writer *w, const stk_h5_dataset *d)
{
    char type[TYPE_TEXT];
    stk_jw_object(w);
    stk_jw_key(w, "path");
    stk_jw_string(w, d->name);
    stk_jw_key(w, "type");
    stk_jw_string(w, type_text(d, type));
    stk_jw_key(w, "shape");
    stk_jw_array(w);
    for (uint32_t i = 0; i < d->rank; i++) stk_jw_u64(w, d->dims[i]);
    stk_jw_end_array(w);
    stk_jw_key(w, "layout");
    stk_jw_string(w, layout_text(d));
    if (d->layout == STK_H5_CHUNKED) {
        stk_jw_key(w, "chunk");
        stk_jw_array(w);
        for (uint32_t i = 0; i < d->rank; i++) stk_jw_u64(w, d->chunk[i]);
        stk_jw_end_array(w);
        stk_jw_key(w, "filters");
        stk_jw_string(w, d->filter_names);
    }
    stk_jw_key(w, "looks_like");
    stk_jw_string(w, stk_h5_looks_like(d));
    stk_jw_end_object(w);
}

stk_status stk_h5_describe(const stk_h5_plan *plan, const stk_h5_selection *s, stk_buffer *out, stk_error *error)
{
    stk_json_writer w = stk_jw_begin(out, error);
    const stk_h5_dataset *d = stk_h5_datasets(plan);
    stk_jw_object(&w);
    stk_jw_key(&w, "hdf5_library");
    stk_jw_string(&w, plan->library);
    stk_jw_key(&w, "dataset");
    stk_jw_string(&w, d[s->images].name);
    stk_jw_key(&w, "labels");
    stk_jw_string(&w, s->labels != STK_H5_NONE ? d[s->labels].name : NULL);
    stk_jw_key(&w, "datasets");
    stk_jw_array(&w);
    for (uint32_t i = 0; i < plan->n_datasets; i++) describe_dataset(&w, &d[i]);
    stk_jw_end_array(&w);
    stk_jw_end_object(&w);
    STK_TRY(stk_jw_end(&w));
    return stk_buffer_append(out, "", 1, error);
}

static stk_status append_line(const stk_h5_dataset *d, const char *use, stk_buffer *out, stk_error *error)
{
    char type[TYPE_TEXT], shape[SHAPE_TEXT], chunk[SHAPE_TEXT] = "", line[STK_H5_NAME + 2 * SHAPE_TEXT + 300];
    const char *looks = stk_h5_looks_like(d);
    bool chunked = d->layout == STK_H5_CHUNKED;
    if (chunked) shape_text(d->chunk, d->rank, chunk);
    int n = snprintf(line, sizeof line, "%s  %s %s, %s%s%s%s%s%s%s%s\n", d->name, type_text(d, type),
                     shape_text(d->dims, d->rank, shape), layout_text(d), chunked ? " " : "", chunk,
                     d->n_filters > 0 ? " " : "", d->filter_names, looks != NULL ? ": " : "", looks != NULL ? looks : "",
                     use);
    if (n < 0) return stk_fail_memory(error, "an HDF5 file's description");
    return stk_buffer_append(out, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1, error);
}

stk_status stk_h5_describe_lines(const stk_h5_plan *plan, const stk_h5_selection *s, stk_buffer *out, stk_error *error)
{
    for (uint32_t i = 0; i < plan->n_datasets; i++) {
        const char *as = s->kind == STK_H5_ARRAYS ? " (read as arrays)" : " (read as images)";
        const char *use = i == s->images ? as : i == s->labels ? " (read as labels)" : "";
        STK_TRY(append_line(stk_h5_datasets(plan) + i, use, out, error));
    }
    return stk_buffer_append(out, "", 1, error);
}
