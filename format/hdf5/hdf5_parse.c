/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs in the child process of hdf5_child.c only. */
#include "format/hdf5/hdf5_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hdf5.h>

#include "common/buffer.h"
#include "common/fail.h"

/* Without H5Dchunk_iter, asking for a chunk walks the whole index: 129 us a call at 16,000 chunks (1.10.8), so
 * longer lists are not made and chunks are read through libhdf5 one by one instead. */
enum { MAX_WALKED_CHUNKS = 8192, MAX_COMPACT = 64 << 10 };

#if H5_VERSION_GE(1, 14, 0) || (H5_VERSION_GE(1, 12, 3) && !H5_VERSION_GE(1, 13, 0)) || \
    (H5_VERSION_GE(1, 10, 10) && !H5_VERSION_GE(1, 11, 0))
#define HAVE_CHUNK_ITER 1
#else
#define HAVE_CHUNK_ITER 0
#endif

struct stk_h5_open_file {
    hid_t file;
    hid_t datasets[STK_H5_MAX_DATASETS];
};

typedef struct parser {
    stk_h5_plan head;
    stk_buffer datasets, chunks, text;
    stk_error error;
    stk_status status;
    stk_h5_open_file *open;
    bool unlisted;
    uint64_t user_block;
} parser;

static void fail(parser *p, stk_status status, const char *what)
{
    if (p->status == STK_OK) p->status = stk_fail(&p->error, status, "%s", what);
}

static herr_t look_for_version(unsigned n, const H5E_error2_t *error, void *data)
{
    (void)n;
    if (error->desc != NULL && strstr(error->desc, "version") != NULL) *(bool *)data = true;
    return 0;
}

/* Whether the last HDF5 call failed because a header is of a version that this library does not know: files
 * made with libver="latest" are for their own library and newer ones only. */
static bool is_newer_version(void)
{
    bool found = false;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look_for_version, &found);
    return found;
}

static void fail_open(parser *p, const char *name)
{
    if (p->status != STK_OK) return;
    if (is_newer_version())
        p->status = stk_fail(&p->error, STK_ERR_UNSUPPORTED,
                             "'%.200s' was written by a newer HDF5 than the %s in use here; write it again without "
                             "libver='latest', or: h5repack --high=V110 OLD NEW",
                             name, p->head.library);
    else
        p->status = stk_fail(&p->error, STK_ERR_CORRUPT, "data set '%.200s' cannot be opened", name);
}

static bool is_bool_enum(hid_t type)
{
    if (H5Tget_nmembers(type) != 2 || H5Tget_size(type) != 1) return false;
    char *a = H5Tget_member_name(type, 0), *b = H5Tget_member_name(type, 1);
    bool ok = a != NULL && b != NULL && strcmp(a, "FALSE") == 0 && strcmp(b, "TRUE") == 0;
    H5free_memory(a);
    H5free_memory(b);
    return ok;
}

static uint32_t vlen_class(hid_t type)
{
    hid_t base = H5Tget_super(type);
    if (base < 0) return STK_H5_OTHER;
    bool bytes = (H5Tget_class(base) == H5T_INTEGER || H5Tget_class(base) == H5T_OPAQUE) && H5Tget_size(base) == 1;
    H5Tclose(base);
    return bytes ? STK_H5_VLEN : STK_H5_OTHER;
}

static bool is_plain_order(hid_t type)
{
    H5T_order_t order = H5Tget_order(type);
    return order == H5T_ORDER_LE || order == H5T_ORDER_BE;
}

/* Numbers of fewer bits than their bytes have are not what a processor can use. */
static bool is_whole_integer(hid_t type)
{
    return H5Tget_precision(type) == 8 * H5Tget_size(type) && is_plain_order(type);
}

/* IEEE's binary16, 32 and 64; bfloat16 has two bytes too, and must not be taken for the first. */
static bool is_ieee_float(hid_t type)
{
    static const size_t mantissas[9] = {[2] = 10, [4] = 23, [8] = 52};
    size_t n = H5Tget_size(type), sign, exponent_at, exponent, mantissa_at, mantissa;
    if (n > 8 || mantissas[n] == 0 || !is_plain_order(type)) return false;
    if (H5Tget_fields(type, &sign, &exponent_at, &exponent, &mantissa_at, &mantissa) < 0) return false;
    return mantissa == mantissas[n] && mantissa_at == 0 && exponent_at == mantissa && sign == 8 * n - 1 &&
           exponent == sign - mantissa && H5Tget_ebias(type) == ((size_t)1 << (exponent - 1)) - 1;
}

static void describe_type(stk_h5_dataset *d, hid_t type)
{
    d->element_bytes = (uint32_t)H5Tget_size(type);
    d->class_ = STK_H5_OTHER;
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        if (is_whole_integer(type)) d->class_ = STK_H5_INTEGER;
        d->is_signed = H5Tget_sign(type) == H5T_SGN_2;
        d->big_endian = H5Tget_order(type) == H5T_ORDER_BE;
        break;
    case H5T_FLOAT:
        if (is_ieee_float(type)) d->class_ = STK_H5_FLOAT;
        d->big_endian = H5Tget_order(type) == H5T_ORDER_BE;
        break;
    case H5T_ENUM:
        if (is_bool_enum(type)) d->class_ = STK_H5_BOOL;
        break;
    case H5T_STRING:
        d->class_ = H5Tis_variable_str(type) > 0 ? STK_H5_VLEN_TEXT : STK_H5_TEXT;
        d->utf8 = H5Tget_cset(type) == H5T_CSET_UTF8;
        if (d->class_ == STK_H5_VLEN_TEXT) d->element_bytes = 16; /* length, heap address, index */
        break;
    case H5T_OPAQUE: d->class_ = STK_H5_OPAQUE; break;
    case H5T_VLEN:
        d->class_ = vlen_class(type);
        d->element_bytes = 16;
        break;
    default: break;
    }
}

static void name_filter(stk_h5_dataset *d, H5Z_filter_t id)
{
    const char *name = id == H5Z_FILTER_DEFLATE      ? "gzip"
                       : id == H5Z_FILTER_SHUFFLE    ? "shuffle"
                       : id == H5Z_FILTER_FLETCHER32 ? "fletcher32"
                       : id == 32000                 ? "lzf"
                                                     : NULL;
    char text[24];
    if (name == NULL) snprintf(text, sizeof text, "filter %d", (int)id);
    size_t used = strlen(d->filter_names);
    snprintf(d->filter_names + used, sizeof d->filter_names - used, "%s%s", used > 0 ? ", " : "",
             name != NULL ? name : text);
}

static void describe_filters(parser *p, stk_h5_dataset *d, hid_t list)
{
    int n = H5Pget_nfilters(list);
    if (n < 0 || n > STK_H5_MAX_FILTERS) {
        d->class_ = STK_H5_OTHER;
        return;
    }
    for (int i = 0; i < n; i++) {
        unsigned flags, config;
        size_t n_values = 0;
        H5Z_filter_t id = H5Pget_filter2(list, (unsigned)i, &flags, &n_values, NULL, 0, NULL, &config);
        if (id < 0) fail(p, STK_ERR_CORRUPT, "a filter pipeline cannot be read");
        d->filters[i].id = (uint32_t)id;
        name_filter(d, id);
    }
    d->n_filters = (uint32_t)n;
}

static void describe_fill(stk_h5_dataset *d, hid_t list, hid_t type)
{
    H5D_fill_value_t defined;
    if (d->element_bytes > sizeof d->fill || d->class_ >= STK_H5_VLEN) return;
    if (H5Pfill_value_defined(list, &defined) < 0 || defined == H5D_FILL_VALUE_UNDEFINED) return;
    if (H5Pget_fill_value(list, type, d->fill) < 0) memset(d->fill, 0, sizeof d->fill);
}

static uint64_t grid_cells(const stk_h5_dataset *d)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < d->rank; i++) {
        uint64_t cells = d->chunk[i] > 0 ? (d->dims[i] + d->chunk[i] - 1) / d->chunk[i] : 0;
        if (__builtin_mul_overflow(n, cells, &n)) return UINT64_MAX;
    }
    return n;
}

static uint64_t cell_of(const stk_h5_dataset *d, const hsize_t *corner)
{
    uint64_t cell = 0;
    for (uint32_t i = 0; i < d->rank; i++) {
        uint64_t cells = (d->dims[i] + d->chunk[i] - 1) / d->chunk[i];
        cell = cell * cells + corner[i] / d->chunk[i];
    }
    return cell;
}

typedef struct chunk_walk {
    const stk_h5_dataset *d;
    stk_h5_chunk *chunks;
    uint64_t n, add;
} chunk_walk;

static int note_chunk(const hsize_t *corner, unsigned mask, haddr_t address, hsize_t size, void *data)
{
    chunk_walk *w = data;
    uint64_t cell = cell_of(w->d, corner);
    if (cell >= w->n || size > UINT32_MAX) return 0; /* beyond the current extent */
    w->chunks[cell] = (stk_h5_chunk){.address = address == HADDR_UNDEF ? STK_H5_NO_ADDRESS : address + w->add,
                                     .n_bytes = (uint32_t)size,
                                     .filter_mask = mask};
    return 0;
}

static bool walk_chunks(hid_t dataset, chunk_walk *w)
{
#if HAVE_CHUNK_ITER
    return H5Dchunk_iter(dataset, H5P_DEFAULT, note_chunk, w) >= 0;
#else
    hid_t space = H5Dget_space(dataset);
    hsize_t n = 0;
    bool ok = space >= 0 && H5Dget_num_chunks(dataset, space, &n) >= 0;
    for (hsize_t i = 0; ok && i < n; i++) {
        hsize_t corner[STK_H5_MAX_RANK + 1], size = 0;
        unsigned mask = 0;
        haddr_t address = HADDR_UNDEF;
        ok = H5Dget_chunk_info(dataset, space, i, corner, &mask, &address, &size) >= 0;
        if (ok) note_chunk(corner, mask, address, size, w);
    }
    if (space >= 0) H5Sclose(space);
    return ok;
#endif
}

/* Our own unfiltered files have their chunks one after the other: three addresses tell them all, where asking for
 * each would take minutes (1.10.8). */
static bool note_sequential(hid_t dataset, chunk_walk *w)
{
    const stk_h5_dataset *d = w->d;
    uint64_t bytes = d->element_bytes, base = 0;
    for (uint32_t i = 0; i < d->rank; i++) bytes *= d->chunk[i];
    for (int k = 0; k < 3; k++) {
        uint64_t cell = k == 0 ? 0 : k == 1 ? w->n / 2 : w->n - 1;
        hsize_t corner[STK_H5_MAX_RANK] = {cell * d->chunk[0]}, size = 0;
        unsigned mask = 0;
        haddr_t address = HADDR_UNDEF;
        if (H5Dget_chunk_info_by_coord(dataset, corner, &mask, &address, &size) < 0 || size != bytes) return false;
        if (k == 0) base = address;
        if (address != base + cell * bytes) return false;
    }
    for (uint64_t i = 0; i < w->n; i++)
        w->chunks[i] = (stk_h5_chunk){.address = base + i * bytes + w->add, .n_bytes = (uint32_t)bytes};
    return true;
}

static void list_chunks(parser *p, stk_h5_dataset *d, hid_t dataset)
{
    uint64_t cells = grid_cells(d);
    if (cells == 0 || cells > STK_H5_MAX_CHUNKS) {
        if (cells != 0) d->class_ = STK_H5_OTHER;
        return;
    }
    bool sequential = p->head.own && d->n_filters == 0 && d->rank == 4 && strcmp(d->name, "images") == 0;
    if (!HAVE_CHUNK_ITER && cells > MAX_WALKED_CHUNKS && !sequential) {
        p->unlisted = true;
        return;
    }
    size_t old = p->chunks.n_bytes;
    if (stk_buffer_resize(&p->chunks, old + (size_t)cells * sizeof(stk_h5_chunk), &p->error) != STK_OK) {
        p->status = STK_ERR_MEMORY;
        return;
    }
    d->first_chunk = old / sizeof(stk_h5_chunk);
    d->n_chunks = cells;
    stk_h5_chunk *chunks = (stk_h5_chunk *)(void *)p->chunks.data + d->first_chunk;
    for (uint64_t i = 0; i < cells; i++) chunks[i] = (stk_h5_chunk){.address = STK_H5_NO_ADDRESS};
    /* Up to 1.14.3 chunk addresses leave the user block out (fixed in 1.14.4). */
    uint64_t add = H5_VERSION_GE(1, 14, 4) ? 0 : p->user_block;
    chunk_walk walk = {.d = d, .chunks = chunks, .n = cells, .add = add};
    if (sequential && note_sequential(dataset, &walk)) return;
    if (!walk_chunks(dataset, &walk)) fail(p, STK_ERR_CORRUPT, "a chunk index cannot be read");
}

static void keep_compact(parser *p, stk_h5_dataset *d, hid_t dataset, hid_t type)
{
    hsize_t n = H5Dget_storage_size(dataset);
    if (n > MAX_COMPACT || d->class_ >= STK_H5_VLEN) {
        d->class_ = STK_H5_OTHER;
        return;
    }
    d->text_offset = p->text.n_bytes;
    d->text_bytes = n;
    if (stk_buffer_resize(&p->text, p->text.n_bytes + (size_t)n, &p->error) != STK_OK) p->status = STK_ERR_MEMORY;
    else if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, p->text.data + d->text_offset) < 0)
        fail(p, STK_ERR_CORRUPT, "a compact data set cannot be read");
}

static void describe_layout(parser *p, stk_h5_dataset *d, hid_t dataset, hid_t list, hid_t type)
{
    H5D_layout_t layout = H5Pget_layout(list);
    if (layout == H5D_CONTIGUOUS && H5Pget_external_count(list) == 0) {
        d->layout = STK_H5_CONTIGUOUS;
        haddr_t address = H5Dget_offset(dataset);
        d->address = address == HADDR_UNDEF ? STK_H5_NO_ADDRESS : address;
    } else if (layout == H5D_CHUNKED) {
        d->layout = STK_H5_CHUNKED;
        hsize_t chunk[STK_H5_MAX_RANK];
        unsigned options = 0;
        if (H5Pget_chunk(list, STK_H5_MAX_RANK, chunk) != (int)d->rank) fail(p, STK_ERR_CORRUPT, "bad chunk shape");
        for (uint32_t i = 0; i < d->rank; i++) d->chunk[i] = chunk[i];
        if (H5Pget_chunk_opts(list, &options) >= 0) d->raw_edges = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) != 0;
        describe_filters(p, d, list);
        if (d->class_ != STK_H5_OTHER) list_chunks(p, d, dataset);
    } else if (layout == H5D_COMPACT) {
        d->layout = STK_H5_COMPACT;
        keep_compact(p, d, dataset, type);
    } else {
        d->layout = STK_H5_ELSEWHERE;
    }
}

static void add_dataset(parser *p, hid_t file, const char *name)
{
    if (p->head.n_datasets >= STK_H5_MAX_DATASETS || strlen(name) >= STK_H5_NAME || p->status != STK_OK) return;
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t type = dataset < 0 ? -1 : H5Dget_type(dataset);
    hid_t space = dataset < 0 ? -1 : H5Dget_space(dataset);
    hid_t list = dataset < 0 ? -1 : H5Dget_create_plist(dataset);
    stk_h5_dataset d = {.address = STK_H5_NO_ADDRESS};
    int rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    if (type < 0 || list < 0 || rank < 0) {
        fail_open(p, name);
    } else {
        hsize_t dims[H5S_MAX_RANK] = {0};
        bool deep = rank > STK_H5_MAX_RANK; /* listed, so that it can be named, but not read */
        H5Sget_simple_extent_dims(space, dims, NULL);
        snprintf(d.name, sizeof d.name, "%s", name);
        d.rank = (uint32_t)(deep ? STK_H5_MAX_RANK : rank);
        for (uint32_t i = 0; i < d.rank; i++) d.dims[i] = dims[i];
        describe_type(&d, type);
        if (deep) {
            d.class_ = STK_H5_OTHER;
            d.layout = STK_H5_CONTIGUOUS;
        } else {
            describe_layout(p, &d, dataset, list, type);
            describe_fill(&d, list, type);
        }
        p->open->datasets[p->head.n_datasets++] = dataset;
        dataset = -1;
        if (stk_buffer_append(&p->datasets, &d, sizeof d, &p->error) != STK_OK) p->status = STK_ERR_MEMORY;
    }
    if (type >= 0) H5Tclose(type);
    if (space >= 0) H5Sclose(space);
    if (list >= 0) H5Pclose(list);
    if (dataset >= 0) H5Dclose(dataset);
}

static herr_t visit(hid_t root, const char *name, const H5L_info_t *link, void *data)
{
    parser *p = data;
    if (p->status != STK_OK) return -1;
    if (link->type != H5L_TYPE_HARD) return 0; /* soft and external links: their targets are found by name */
#if H5_VERSION_GE(1, 12, 0)
    H5O_info2_t object;
    if (H5Oget_info_by_name3(root, name, &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0) return 0;
#else
    H5O_info_t object;
    if (H5Oget_info_by_name2(root, name, &object, H5O_INFO_BASIC, H5P_DEFAULT) < 0) return 0;
#endif
    if (object.type == H5O_TYPE_DATASET) add_dataset(p, root, name);
    return 0;
}

/* A text attribute of the root group into the plan's text; n_bytes 0 when there is none. */
static void read_attribute(parser *p, const char *name, uint64_t *offset, uint64_t *n_bytes, uint64_t *element)
{
    *offset = p->text.n_bytes;
    *n_bytes = 0;
    if (H5Aexists(p->open->file, name) <= 0) return;
    hid_t attribute = H5Aopen(p->open->file, name, H5P_DEFAULT);
    hid_t type = attribute < 0 ? -1 : H5Aget_type(attribute);
    if (type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0) {
        hsize_t n = H5Aget_storage_size(attribute);
        if (n < (64u << 20) && stk_buffer_resize(&p->text, p->text.n_bytes + (size_t)n + 1, &p->error) == STK_OK) {
            uint8_t *to = p->text.data + *offset;
            to[n] = 0;
            if (H5Aread(attribute, type, to) >= 0) *n_bytes = n;
            if (element != NULL) *element = H5Tget_size(type);
        }
    }
    if (type >= 0) H5Tclose(type);
    if (attribute >= 0) H5Aclose(attribute);
}

static void read_attributes(parser *p)
{
    uint64_t offset, n, width = 0;
    read_attribute(p, "stoker_layout", &offset, &n, NULL);
    p->head.own = n > 0;
    read_attribute(p, "dataset_id", &offset, &n, NULL);
    if (n > 0 && n < sizeof p->head.id) memcpy(p->head.id, p->text.data + offset, (size_t)n);
    read_attribute(p, "metadata", &p->head.metadata_offset, &p->head.metadata_bytes, NULL);
    read_attribute(p, "class_names", &p->head.class_offset, &n, &width);
    if (width > 0 && n / width <= UINT32_MAX && width <= UINT32_MAX) {
        p->head.n_classes = (uint32_t)(n / width);
        p->head.class_width = (uint32_t)width;
    }
}

static stk_h5_plan *assemble(parser *p, size_t *n_bytes)
{
    if (p->status != STK_OK) {
        p->head.n_datasets = p->head.n_classes = p->head.class_width = 0;
        p->head.metadata_bytes = p->head.metadata_offset = p->head.class_offset = 0;
        p->datasets.n_bytes = p->chunks.n_bytes = p->text.n_bytes = 0;
        snprintf(p->head.error, sizeof p->head.error, "%.500s", p->error.text);
    }
    size_t total = sizeof p->head + p->datasets.n_bytes + p->chunks.n_bytes + p->text.n_bytes;
    uint8_t *plan = malloc(total);
    if (plan == NULL) return NULL;
    p->head.magic = STK_H5_PLAN_MAGIC;
    p->head.plan_bytes = total;
    p->head.status = (uint32_t)p->status;
    p->head.n_chunks = p->chunks.n_bytes / sizeof(stk_h5_chunk);
    p->head.text_bytes = p->text.n_bytes;
    uint8_t *at = plan;
    const stk_buffer *parts[3] = {&p->datasets, &p->chunks, &p->text};
    memcpy(at, &p->head, sizeof p->head);
    at += sizeof p->head;
    for (int i = 0; i < 3; i++) {
        if (parts[i]->n_bytes > 0) memcpy(at, parts[i]->data, parts[i]->n_bytes);
        at += parts[i]->n_bytes;
    }
    *n_bytes = total;
    return (stk_h5_plan *)(void *)plan;
}

/* The environment variable that the child sets is not looked at where the process had used the library before. */
static hid_t without_locks(void)
{
#if H5_VERSION_GE(1, 14, 0) || (H5_VERSION_GE(1, 12, 1) && !H5_VERSION_GE(1, 13, 0)) || \
    (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 11, 0))
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    if (access >= 0 && H5Pset_file_locking(access, false, true) >= 0) return access;
    if (access >= 0) H5Pclose(access);
#endif
    return H5P_DEFAULT;
}

stk_h5_plan *stk_h5_parse(const char *path, size_t *n_bytes, stk_h5_open_file **keep)
{
    parser p = {.status = STK_OK, .open = calloc(1, sizeof *p.open)};
    *keep = NULL;
    if (p.open == NULL) return NULL;
    unsigned major = 0, minor = 0, release = 0;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5get_libversion(&major, &minor, &release);
    snprintf(p.head.library, sizeof p.head.library, "%u.%u.%u", major, minor, release);
    hid_t access = without_locks();
    p.open->file = H5Fopen(path, H5F_ACC_RDONLY, access);
    if (access != H5P_DEFAULT) H5Pclose(access);
    if (p.open->file < 0 && is_newer_version()) {
        fail_open(&p, "/");
    } else if (p.open->file < 0) {
        fail(&p, STK_ERR_CORRUPT,
             "HDF5 cannot open it: truncated, damaged, or left open by a writer that died (h5clear -s may help)");
    } else {
        hid_t list = H5Fget_create_plist(p.open->file);
        hsize_t block = 0;
        if (list >= 0) H5Pget_userblock(list, &block);
        if (list >= 0) H5Pclose(list);
        p.user_block = block;
        read_attributes(&p);
        if (p.status == STK_OK && H5Lvisit(p.open->file, H5_INDEX_NAME, H5_ITER_NATIVE, visit, &p) < 0)
            fail(&p, STK_ERR_CORRUPT, "its groups cannot be read");
    }
    stk_h5_plan *plan = assemble(&p, n_bytes);
    stk_buffer_free(&p.datasets);
    stk_buffer_free(&p.chunks);
    stk_buffer_free(&p.text);
    if (p.unlisted && p.status == STK_OK) *keep = p.open;
    return plan;
}

uint8_t *stk_h5_read_chunk(stk_h5_open_file *file, uint32_t dataset, uint64_t chunk, uint32_t *n_bytes,
                           uint32_t *filter_mask)
{
    hid_t d = dataset < STK_H5_MAX_DATASETS ? file->datasets[dataset] : -1;
    hid_t space = d <= 0 ? -1 : H5Dget_space(d);
    hid_t list = d <= 0 ? -1 : H5Dget_create_plist(d);
    hsize_t dims[STK_H5_MAX_RANK] = {0}, shape[STK_H5_MAX_RANK], corner[STK_H5_MAX_RANK] = {0}, size = 0;
    int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dims, NULL);
    uint8_t *data = NULL;
    *n_bytes = 0;
    *filter_mask = 0;
    if (rank > 0 && list >= 0 && H5Pget_chunk(list, STK_H5_MAX_RANK, shape) == rank) {
        for (int i = rank - 1; i >= 0; i--) {
            hsize_t cells = (dims[i] + shape[i] - 1) / shape[i];
            corner[i] = chunk % cells * shape[i];
            chunk /= cells;
        }
        if (H5Dget_chunk_storage_size(d, corner, &size) >= 0 && size <= UINT32_MAX) data = malloc((size_t)size + 1);
        if (data != NULL && size > 0 && H5Dread_chunk(d, H5P_DEFAULT, corner, filter_mask, data) < 0) {
            free(data);
            data = NULL;
        }
        *n_bytes = (uint32_t)size;
    }
    if (space >= 0) H5Sclose(space);
    if (list >= 0) H5Pclose(list);
    return data;
}
