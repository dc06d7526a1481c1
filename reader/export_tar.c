/* SPDX-License-Identifier: Apache-2.0
 *
 * A tar as WebDataset reads it. Source of the layout: POSIX.1-1988 ustar; every field is fixed, so that the same
 * data set gives the same bytes. Class names, for which WebDataset has no place, are an extended attribute (POSIX.1-2001
 * pax, as star and libarchive write them) of the first member: a member of their own would be a sample without a picture
 * to other readers. packer/store_tar.c reads them. */
#include "reader/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/file.h"
#include "common/json.h"

enum { BLOCK = 512, GATHER = 4 << 20, PIECE = 512 << 10 }; /* libarchive reads a pax header of up to 1 MiB */
#define MAX_MEMBER UINT64_C(077777777777) /* 8 GiB - 1: eleven octal digits */

typedef struct tar {
    stk_file file;
    stk_buffer pending;
    uint64_t written;
    stk_buffer classes; /* their number and names, each with its zero */
    size_t told;        /* bytes of them */
} tar;

static stk_status flush(tar *t, stk_error *error)
{
    STK_TRY(stk_file_write_at(&t->file, t->pending.data, t->pending.n_bytes, t->written, error));
    t->written += t->pending.n_bytes;
    t->pending.n_bytes = 0;
    return STK_OK;
}

static stk_status add_entry(tar *t, char type, uint64_t number, const char *extension, const void *data, size_t n_bytes,
                            stk_error *error)
{
    static const uint8_t zeros[BLOCK];
    char head[BLOCK] = {0};
    if (n_bytes > MAX_MEMBER) return stk_fail(error, STK_ERR_LIMIT, "a record is too large for a tar");
    snprintf(head, 100, "%09" PRIu64 ".%s", number, extension);
    memcpy(head + 100, "0000644\0000000000\0000000000", 24);
    snprintf(head + 124, 13, "%011llo", (unsigned long long)n_bytes);
    snprintf(head + 136, 13, "%011o", 0u);
    memset(head + 148, ' ', 8);
    head[156] = type;
    memcpy(head + 257, "ustar\00000", 8);
    unsigned sum = 0;
    for (int i = 0; i < BLOCK; i++) sum += (unsigned char)head[i];
    snprintf(head + 148, 8, "%06o", sum);
    head[155] = ' ';
    STK_TRY(stk_buffer_append(&t->pending, head, BLOCK, error));
    if (n_bytes > 0) STK_TRY(stk_buffer_append(&t->pending, data, n_bytes, error));
    STK_TRY(stk_buffer_append(&t->pending, zeros, (BLOCK - n_bytes % BLOCK) % BLOCK, error));
    return t->pending.n_bytes >= GATHER ? flush(t, error) : STK_OK;
}

static size_t digits_of(size_t n)
{
    char text[24];
    return (size_t)snprintf(text, sizeof text, "%zu", n);
}

/* The next piece of the class names, as a pax record "LENGTH NAME=VALUE\n", whose length counts its own digits. */
static stk_status add_classes(tar *t, uint64_t number, stk_error *error)
{
    static const char NAME[] = " SCHILY.xattr.user.stoker.classes=";
    stk_buffer record = {0};
    char length[24];
    size_t left = t->classes.n_bytes - t->told, n = left < PIECE ? left : PIECE;
    size_t rest = strlen(NAME) + n + 1, total = rest + digits_of(rest);
    if (digits_of(total) > digits_of(rest)) total++;
    snprintf(length, sizeof length, "%zu", total);
    stk_status status;
    STK_GOTO(stk_buffer_append(&record, length, strlen(length), error));
    STK_GOTO(stk_buffer_append(&record, NAME, strlen(NAME), error));
    STK_GOTO(stk_buffer_append(&record, t->classes.data + t->told, n, error));
    STK_GOTO(stk_buffer_append(&record, "\n", 1, error));
    STK_GOTO(add_entry(t, 'x', number, "pax", record.data, record.n_bytes, error));
    t->told += n;
cleanup:
    stk_buffer_free(&record);
    return status;
}

static stk_status add_member(tar *t, uint64_t number, const char *extension, const void *data, size_t n_bytes,
                             stk_error *error)
{
    if (t->told < t->classes.n_bytes) STK_TRY(add_classes(t, number, error));
    return add_entry(t, '0', number, extension, data, n_bytes, error);
}

static stk_status list_classes(const stk_dataset *d, stk_buffer *out, stk_error *error)
{
    char number[24];
    uint32_t n = stk_dataset_classes(d);
    if (n == 0) return STK_OK;
    int length = snprintf(number, sizeof number, "%u", n);
    STK_TRY(stk_buffer_append(out, number, (size_t)length + 1, error));
    for (uint32_t i = 0; i < n; i++) {
        const char *name = stk_dataset_class_name(d, i);
        STK_TRY(stk_buffer_append(out, name, strlen(name) + 1, error));
    }
    return STK_OK;
}

static void write_number(stk_json_writer *w, stk_type type, const uint8_t *p)
{
    float f;
    double d;
    uint64_t u = 0;
    size_t n = stk_type_size(type);
    memcpy(&u, p, n);
    unsigned shift = (unsigned)(64 - 8 * n);
    switch (type) {
    case STK_TYPE_BOOL: stk_jw_bool(w, u != 0); return;
    case STK_TYPE_F32:
        memcpy(&f, p, sizeof f);
        stk_jw_double(w, (double)f);
        return;
    case STK_TYPE_F64:
        memcpy(&d, p, sizeof d);
        stk_jw_double(w, d);
        return;
    case STK_TYPE_I8:
    case STK_TYPE_I16:
    case STK_TYPE_I32:
    case STK_TYPE_I64: stk_jw_i64(w, (int64_t)(u << shift) >> shift); return;
    case STK_TYPE_U8:
    case STK_TYPE_U16:
    case STK_TYPE_U32:
    case STK_TYPE_U64: stk_jw_u64(w, u); return;
    case STK_TYPE_F16: {
        int exponent = (int)(u >> 10 & 31), sign = (u >> 15) != 0;
        double m = (double)(u & 1023);
        d = exponent == 0 ? m / 16777216.0 : (1024.0 + m) / 1024.0;
        for (int e = exponent; exponent != 0 && e > 15; e--) d *= 2;
        for (int e = exponent; exponent != 0 && e < 15; e++) d /= 2;
        if (exponent == 31) stk_jw_null(w); /* as other floats that JSON does not have */
        else stk_jw_double(w, sign ? -d : d);
        return;
    }
    default: stk_jw_null(w);
    }
}

static void write_value(stk_json_writer *w, const stk_column *column, const stk_value *v)
{
    size_t size = stk_type_size(column->type);
    if (v->is_null) {
        stk_jw_null(w);
    } else if (size == 0) {
        stk_jw_bytes(w, v->data, v->n_bytes);
    } else if (column->n_items == 1) {
        write_number(w, column->type, v->data);
    } else {
        stk_jw_array(w);
        for (size_t k = 0; k < v->n_items; k++) write_number(w, column->type, (const uint8_t *)v->data + k * size);
        stk_jw_end_array(w);
    }
}

static stk_status columns_text(const stk_dataset *d, uint64_t i, stk_buffer *room, stk_buffer *out, stk_error *error)
{
    out->n_bytes = 0;
    stk_json_writer w = stk_jw_begin(out, error);
    stk_jw_object(&w);
    for (uint32_t c = 0; c < stk_dataset_columns(d); c++) {
        stk_column column;
        stk_value v;
        STK_TRY(stk_dataset_column(d, c, &column, error));
        STK_TRY(stk_export_value(d, c, i, room, &v, error));
        stk_jw_key(&w, column.name);
        write_value(&w, &column, &v);
    }
    stk_jw_end_object(&w);
    return stk_jw_end(&w);
}

/* A record's members, read. */
typedef struct members {
    stk_buffer image, columns, room; /* columns empty: there are none */
    const char *extension;
    int64_t label;
} members;

static stk_status read_members(const stk_dataset *d, uint64_t i, members *m, stk_error *error)
{
    stk_record_info info;
    m->extension = "bin";
    m->columns.n_bytes = 0;
    STK_TRY(stk_dataset_record(d, i, &info, error));
    STK_TRY(stk_dataset_extract(d, i, &m->image, &m->extension, error));
    m->label = info.label;
    return stk_dataset_columns(d) == 0 ? STK_OK : columns_text(d, i, &m->room, &m->columns, error);
}

static stk_status write_members(tar *t, uint64_t i, const members *m, stk_error *error)
{
    char label[24];
    STK_TRY(add_member(t, i, m->extension, m->image.data, m->image.n_bytes, error));
    if (m->label >= 0) {
        int n = snprintf(label, sizeof label, "%" PRId64, m->label);
        STK_TRY(add_member(t, i, "cls", label, (size_t)n, error));
    }
    return m->columns.n_bytes == 0 ? STK_OK : add_member(t, i, "json", m->columns.data, m->columns.n_bytes, error);
}

static stk_status add_record(stk_export_run *run, tar *t, uint64_t i, members *m, stk_error *error)
{
    stk_error bad = {0};
    stk_status status = read_members(run->dataset, i, m, &bad);
    if (status != STK_OK) return stk_export_bad_record(run, i, status, &bad, error);
    run->records++;
    return write_members(t, i, m, error);
}

stk_status stk_export_tar(stk_export_run *run, const char *path, stk_error *error)
{
    static const uint8_t end[2 * BLOCK];
    tar t = {.file = STK_FILE_CLOSED};
    members m = {0};
    stk_status status;
    STK_GOTO(stk_file_create(path, &t.file, error));
    STK_GOTO(list_classes(run->dataset, &t.classes, error));
    for (uint64_t i = 0; i < stk_dataset_len(run->dataset); i++) {
        STK_GOTO(add_record(run, &t, i, &m, error));
        STK_GOTO(stk_export_step(run, i, error));
    }
    STK_GOTO(stk_buffer_append(&t.pending, end, sizeof end, error));
    STK_GOTO(flush(&t, error));
    STK_GOTO(stk_file_sync(&t.file, error));
    STK_GOTO(stk_file_close_checked(&t.file, error));
cleanup:
    stk_file_close(&t.file);
    stk_buffer_free(&t.pending);
    stk_buffer_free(&t.classes);
    stk_buffer_free(&m.image);
    stk_buffer_free(&m.columns);
    stk_buffer_free(&m.room);
    return status;
}
