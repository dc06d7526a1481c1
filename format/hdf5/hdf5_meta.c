/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/hdf5_meta.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hdf5.h>

#include <stoker/version.h>

#include "common/fail.h"

enum { LZF_FILTER = 32000, CHUNK_INDEX_BYTES = 16, MIN_HEAD = 64 << 10 };

uint64_t stk_hdf5_head_bytes(const stk_hdf5_shape *shape, uint64_t max_records)
{
    uint64_t chunks = shape->uniform ? max_records / shape->chunk_images + 1 : 1;
    uint64_t need = MIN_HEAD + chunks * CHUNK_INDEX_BYTES;
    return (need + 4095) & ~(uint64_t)4095;
}

/* Handles of HDF5 are closed through this list, last opened first, whatever happened. */
typedef struct handles {
    hid_t ids[64];
    int n;
} handles;

static hid_t keep(handles *h, hid_t id)
{
    if (id >= 0 && h->n < (int)(sizeof h->ids / sizeof h->ids[0])) h->ids[h->n++] = id;
    return id;
}

static void close_handles(handles *h, int down_to)
{
    while (h->n > down_to) {
        hid_t id = h->ids[--h->n];
        H5Idec_ref(id);
    }
}

static stk_status fail_hdf5(stk_error *error, const char *path, const char *what)
{
    return stk_fail(error, STK_ERR_IO, "%s: HDF5 could not %s", path, what);
}

static hid_t native_float16(void)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);
    if (type < 0) return type;
    if (H5Tset_fields(type, 15, 10, 5, 0, 10) < 0 || H5Tset_size(type, 2) < 0 || H5Tset_ebias(type, 15) < 0) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

/* h5py's own representation of numpy.bool_. */
static hid_t boolean_type(void)
{
    hid_t type = H5Tenum_create(H5T_STD_I8LE);
    if (type < 0) return type;
    int8_t value = 0;
    herr_t rc = H5Tenum_insert(type, "FALSE", &value);
    value = 1;
    if (rc < 0 || H5Tenum_insert(type, "TRUE", &value) < 0) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

static hid_t text_type(uint32_t width, bool utf8)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type < 0) return type;
    if (H5Tset_size(type, width > 0 ? width : 1) < 0 || H5Tset_strpad(type, H5T_STR_NULLPAD) < 0 ||
        H5Tset_cset(type, utf8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII) < 0) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

static hid_t type_of(stk_type type, uint32_t width)
{
    switch (type) {
    case STK_TYPE_BOOL: return boolean_type();
    case STK_TYPE_I8: return H5Tcopy(H5T_STD_I8LE);
    case STK_TYPE_U8: return H5Tcopy(H5T_STD_U8LE);
    case STK_TYPE_I16: return H5Tcopy(H5T_STD_I16LE);
    case STK_TYPE_U16: return H5Tcopy(H5T_STD_U16LE);
    case STK_TYPE_I32: return H5Tcopy(H5T_STD_I32LE);
    case STK_TYPE_U32: return H5Tcopy(H5T_STD_U32LE);
    case STK_TYPE_I64: return H5Tcopy(H5T_STD_I64LE);
    case STK_TYPE_U64: return H5Tcopy(H5T_STD_U64LE);
    case STK_TYPE_F16: return native_float16();
    case STK_TYPE_F32: return H5Tcopy(H5T_IEEE_F32LE);
    case STK_TYPE_F64: return H5Tcopy(H5T_IEEE_F64LE);
    case STK_TYPE_STRING: return text_type(width, true);
    case STK_TYPE_BYTES: return text_type(width, false);
    }
    return -1;
}

/* Early allocation without fill: space is reserved, never written, and its address known at once. */
static hid_t early_layout(handles *h)
{
    hid_t list = keep(h, H5Pcreate(H5P_DATASET_CREATE));
    if (list < 0) return list;
    if (H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) < 0 || H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) < 0) return -1;
    /* No times in the file: same input, same bytes. */
    if (H5Pset_obj_track_times(list, false) < 0) return -1;
    return list;
}

static hid_t create_file(handles *h, const char *path, uint64_t head_bytes)
{
    hid_t access = keep(h, H5Pcreate(H5P_FILE_ACCESS));
    hid_t creation = keep(h, H5Pcreate(H5P_FILE_CREATE));
    if (access < 0 || creation < 0) return -1;
    /* Pinned to 1.10's format: every library from 1.10.0 on opens it; "latest" would not be readable by older
     * ones. */
    if (H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110) < 0 ||
        H5Pset_meta_block_size(access, (hsize_t)head_bytes) < 0 ||
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) < 0 || H5Pset_obj_track_times(creation, false) < 0)
        return -1;
    return keep(h, H5Fcreate(path, H5F_ACC_EXCL, creation, access));
}

static stk_status set_text_attribute(handles *h, hid_t at, const char *name, const char *text, const char *path,
                                     stk_error *error)
{
    int mark = h->n;
    stk_status status = STK_OK;
    /* Long attributes (over 64 KB) go to dense storage by themselves from 1.8 on. */
    hid_t type = keep(h, text_type((uint32_t)strlen(text) + 1, true));
    hid_t space = keep(h, H5Screate(H5S_SCALAR));
    hid_t attribute = type < 0 || space < 0 ? -1
                                            : keep(h, H5Acreate2(at, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
    if (attribute < 0 || H5Awrite(attribute, type, text) < 0) status = fail_hdf5(error, path, "write an attribute");
    close_handles(h, mark);
    return status;
}

static stk_status set_class_names(handles *h, hid_t at, const stk_hdf5_shape *shape, const char *path,
                                  stk_error *error)
{
    if (shape->n_classes == 0) return STK_OK;
    size_t width = 1;
    for (uint32_t i = 0; i < shape->n_classes; i++)
        if (strlen(shape->class_names[i]) > width) width = strlen(shape->class_names[i]);
    char *names = calloc(shape->n_classes, width);
    if (names == NULL) return stk_fail_memory(error, "class names");
    for (uint32_t i = 0; i < shape->n_classes; i++)
        memcpy(names + (size_t)i * width, shape->class_names[i], strlen(shape->class_names[i]));
    int mark = h->n;
    stk_status status = STK_OK;
    hsize_t n = shape->n_classes;
    hid_t type = keep(h, text_type((uint32_t)width, true));
    hid_t space = keep(h, H5Screate_simple(1, &n, NULL));
    hid_t attribute =
        type < 0 || space < 0 ? -1 : keep(h, H5Acreate2(at, "class_names", type, space, H5P_DEFAULT, H5P_DEFAULT));
    if (attribute < 0 || H5Awrite(attribute, type, names) < 0) status = fail_hdf5(error, path, "write class names");
    close_handles(h, mark);
    free(names);
    return status;
}

static hid_t create_images(handles *h, hid_t file, const stk_hdf5_shape *shape, hid_t list, uint64_t n, uint64_t max)
{
    hsize_t dims[4] = {n, shape->height, shape->width, shape->channels};
    hsize_t limits[4] = {max, shape->height, shape->width, shape->channels};
    hsize_t chunk[4] = {shape->chunk_images, shape->height, shape->width, shape->channels};
    if (H5Pset_chunk(list, 4, chunk) < 0) return -1;
    hid_t space = keep(h, H5Screate_simple(4, dims, limits));
    if (space < 0) return -1;
    return keep(h, H5Dcreate2(file, "images", H5T_STD_U8LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
}

/* Chunks must lie one after the other from head_bytes on, since our own writes assume it. */
static stk_status check_chunks(handles *h, hid_t images, const stk_hdf5_shape *shape, const char *path,
                               stk_error *error)
{
    hid_t space = keep(h, H5Dget_space(images));
    uint64_t chunk_bytes = (uint64_t)shape->chunk_images * shape->height * shape->width * shape->channels;
    uint64_t n_chunks = (shape->n_records + shape->chunk_images - 1) / shape->chunk_images;
    uint64_t asked[3] = {0, n_chunks / 2, n_chunks - 1};
    for (int i = 0; i < 3; i++) {
        hsize_t corner[4] = {0}, size = 0;
        unsigned mask = 0;
        haddr_t address = HADDR_UNDEF;
        if (space < 0 || H5Dget_chunk_info(images, space, asked[i], corner, &mask, &address, &size) < 0)
            return fail_hdf5(error, path, "say where a chunk lies");
        if (address != shape->head_bytes + asked[i] * chunk_bytes || corner[0] != asked[i] * shape->chunk_images)
            return stk_fail(error, STK_ERR_INTERNAL,
                            "%s: this HDF5 library places chunk %llu elsewhere than expected; use --hdf5-filter "
                            "gzip:1, or report the library's version",
                            path, (unsigned long long)asked[i]);
    }
    return STK_OK;
}

static stk_status create_payload(handles *h, hid_t file, const stk_hdf5_shape *shape, const char *path,
                                 stk_error *error)
{
    hid_t list = early_layout(h);
    if (list < 0) return fail_hdf5(error, path, "make a creation list");
    if (shape->uniform) {
        hid_t images = create_images(h, file, shape, list, shape->n_records, shape->n_records);
        if (images < 0) return fail_hdf5(error, path, "create 'images'");
        return check_chunks(h, images, shape, path, error);
    }
    const stk_array *array = shape->array;
    hsize_t n[1 + STK_ARRAY_MAX_DIMS] = {array != NULL ? shape->n_records : shape->payload_bytes};
    for (uint32_t d = 0; array != NULL && d < array->n_dims; d++) n[1 + d] = array->shape[d];
    hid_t space = keep(h, H5Screate_simple(1 + (array != NULL ? (int)array->n_dims : 0), n, NULL));
    hid_t type = keep(h, type_of(array != NULL ? array->type : STK_TYPE_U8, 0));
    hid_t data = space < 0 || type < 0 ? -1 : keep(h, H5Dcreate2(file, "data", type, space, H5P_DEFAULT, list, H5P_DEFAULT));
    if (data < 0) return fail_hdf5(error, path, "create 'data'");
    if (H5Dget_offset(data) != shape->head_bytes)
        return stk_fail(error, STK_ERR_INTERNAL, "%s: this HDF5 library places 'data' elsewhere than expected", path);
    return STK_OK;
}

static stk_status create_array(handles *h, hid_t file, stk_hdf5_array *array, const char *path, stk_error *error)
{
    int mark = h->n;
    stk_status status = STK_OK;
    hsize_t dims[2] = {array->n, array->n_items};
    hid_t type = keep(h, type_of(array->type, array->width));
    hid_t space = keep(h, H5Screate_simple(array->n_items > 1 ? 2 : 1, dims, NULL));
    hid_t list = early_layout(h);
    hid_t links = keep(h, H5Pcreate(H5P_LINK_CREATE));
    if (links >= 0) H5Pset_create_intermediate_group(links, 1);
    if (links >= 0) H5Pset_char_encoding(links, H5T_CSET_UTF8);
    hid_t data = type < 0 || space < 0 || list < 0
                     ? -1
                     : keep(h, H5Dcreate2(file, array->name, type, space, links, list, H5P_DEFAULT));
    if (data < 0) {
        status = stk_fail(error, STK_ERR_IO, "%s: HDF5 could not create '%s'", path, array->name);
    } else {
        array->n_bytes = array->n * array->n_items * H5Tget_size(type);
        array->address = H5Dget_offset(data);
        if (array->n_bytes > 0 && array->address == HADDR_UNDEF)
            status = stk_fail(error, STK_ERR_INTERNAL, "%s: '%s' got no address", path, array->name);
    }
    close_handles(h, mark);
    return status;
}

static stk_status write_structure(handles *h, hid_t file, const stk_hdf5_shape *shape, stk_hdf5_array *arrays,
                                  size_t n_arrays, const char *path, stk_error *error)
{
    for (size_t i = 0; i < n_arrays; i++) STK_TRY(create_array(h, file, &arrays[i], path, error));
    STK_TRY(set_text_attribute(h, file, "stoker_version", STK_VERSION, path, error));
    STK_TRY(set_text_attribute(h, file, "stoker_layout",
                               shape->uniform ? "images" : shape->array != NULL ? "arrays" : "data", path, error));
    STK_TRY(set_text_attribute(h, file, "dataset_id", shape->id, path, error));
    STK_TRY(set_text_attribute(h, file, "metadata", shape->metadata, path, error));
    return set_class_names(h, file, shape, path, error);
}

/* libhdf5 prints its error stack to stderr unless told not to; a library must not print. The setting is per
 * thread in thread-safe builds and is put back. */
typedef struct quiet {
    H5E_auto2_t function;
    void *data;
} quiet;

static quiet be_quiet(void)
{
    quiet q = {0};
    H5Eget_auto2(H5E_DEFAULT, &q.function, &q.data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return q;
}

static void be_loud(quiet q)
{
    H5Eset_auto2(H5E_DEFAULT, q.function, q.data);
}

stk_status stk_hdf5_meta_write(const char *path, const stk_hdf5_shape *shape, stk_hdf5_array *arrays, size_t n_arrays,
                               stk_error *error)
{
    handles h = {.n = 0};
    quiet q = be_quiet();
    stk_status status;
    hid_t file = create_file(&h, path, shape->head_bytes);
    if (file < 0) {
        status = fail_hdf5(error, path, "create the file");
        goto cleanup;
    }
    STK_GOTO(create_payload(&h, file, shape, path, error));
    STK_GOTO(write_structure(&h, file, shape, arrays, n_arrays, path, error));
    if (H5Fflush(file, H5F_SCOPE_GLOBAL) < 0) status = fail_hdf5(error, path, "write the file's structure");
cleanup:
    close_handles(&h, 0);
    be_loud(q);
    return status;
}

struct stk_hdf5_chunked {
    handles handles;
    hid_t file, images;
    hsize_t dims[4];
    uint32_t chunk_images;
    char *path;
};

void stk_hdf5_chunked_close(stk_hdf5_chunked **file)
{
    if (*file == NULL) return;
    quiet q = be_quiet();
    close_handles(&(*file)->handles, 0);
    be_loud(q);
    free((*file)->path);
    free(*file);
    *file = NULL;
}

static int set_filter(hid_t list, const stk_hdf5_shape *shape)
{
    if (shape->deflate_level >= 0) return H5Pset_deflate(list, (unsigned)shape->deflate_level);
    /* h5py registers LZF itself (id 32000); its three parameters are revision, LZF version, chunk bytes. */
    unsigned parameters[3] = {4, 0x0105,
                              (unsigned)(shape->chunk_images * shape->height * shape->width * shape->channels)};
    return H5Pset_filter(list, LZF_FILTER, H5Z_FLAG_OPTIONAL, 3, parameters);
}

stk_status stk_hdf5_chunked_open(const char *path, const stk_hdf5_shape *shape, uint64_t max_records,
                                 stk_hdf5_chunked **out, stk_error *error)
{
    stk_hdf5_chunked *file = calloc(1, sizeof *file);
    *out = file;
    if (file == NULL) return stk_fail_memory(error, "an HDF5 writer");
    stk_status status = STK_OK;
    quiet q = be_quiet();
    file->chunk_images = shape->chunk_images;
    file->path = strdup(path);
    file->file = file->path == NULL ? -1 : create_file(&file->handles, path, MIN_HEAD);
    hid_t list = file->file < 0 ? -1 : keep(&file->handles, H5Pcreate(H5P_DATASET_CREATE));
    file->images = -1;
    if (list >= 0 && H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) >= 0 && H5Pset_obj_track_times(list, false) >= 0 &&
        set_filter(list, shape) >= 0)
        file->images = create_images(&file->handles, file->file, shape, list, 0, max_records);
    file->dims[1] = shape->height;
    file->dims[2] = shape->width;
    file->dims[3] = shape->channels;
    if (file->images < 0) status = fail_hdf5(error, path, "create 'images'");
    be_loud(q);
    if (status != STK_OK) stk_hdf5_chunked_close(out);
    return status;
}

stk_status stk_hdf5_chunked_add(stk_hdf5_chunked *file, uint64_t chunk, uint64_t n_rows, uint32_t filter_mask,
                                const void *data, size_t n_bytes, stk_error *error)
{
    hsize_t dims[4] = {n_rows, file->dims[1], file->dims[2], file->dims[3]};
    hsize_t corner[4] = {chunk * file->chunk_images, 0, 0, 0};
    quiet q = be_quiet();
    herr_t rc = H5Dset_extent(file->images, dims);
    if (rc >= 0) rc = H5Dwrite_chunk(file->images, H5P_DEFAULT, filter_mask, corner, n_bytes, data);
    be_loud(q);
    return rc < 0 ? fail_hdf5(error, file->path, "write a chunk (disk full?)") : STK_OK;
}

stk_status stk_hdf5_chunked_finish(stk_hdf5_chunked *file, const stk_hdf5_shape *shape, stk_hdf5_array *arrays,
                                   size_t n_arrays, stk_error *error)
{
    quiet q = be_quiet();
    stk_status status = write_structure(&file->handles, file->file, shape, arrays, n_arrays, file->path, error);
    if (status == STK_OK && H5Fflush(file->file, H5F_SCOPE_GLOBAL) < 0)
        status = fail_hdf5(error, file->path, "write the file's structure");
    close_handles(&file->handles, 0);
    be_loud(q);
    return status;
}

#define AS_TEXT(x) #x
#define TEXT_OF(x) AS_TEXT(x)

const char *stk_hdf5_version(void)
{
    return TEXT_OF(H5_VERS_MAJOR) "." TEXT_OF(H5_VERS_MINOR) "." TEXT_OF(H5_VERS_RELEASE);
}
