/* SPDX-License-Identifier: Apache-2.0 */
#include "format/index_reader.h"

#include <stdlib.h>
#include <string.h>

#include "common/checked.h"
#include "common/fail.h"
#include "common/utf8.h"

static uint32_t unit_row_bytes(const stk_index_reader *r, uint32_t unit)
{
    return unit == 0 ? (uint32_t)sizeof(stk_core_row) : r->details[unit - 1].row_bytes;
}

static bool unit_nullable(const stk_index_reader *r, uint32_t unit)
{
    return unit > 0 && r->columns[unit - 1].nullable;
}

static uint64_t unit_bytes(const stk_index_reader *r, uint32_t unit, uint64_t n_rows)
{
    return stk_unit_bytes(n_rows, unit_row_bytes(r, unit), unit_nullable(r, unit));
}

static uint64_t bytes_of_block(const stk_index_reader *r, uint64_t n_rows)
{
    uint64_t sum = 0;
    for (uint32_t unit = 0; unit <= r->trailer.n_columns; unit++)
        sum += unit_bytes(r, unit, n_rows);
    return sum;
}

uint64_t stk_index_block_rows(const stk_index_reader *r, uint64_t block)
{
    uint64_t left = r->trailer.n_records - block * STK_BLOCK_ROWS;
    return left < STK_BLOCK_ROWS ? left : STK_BLOCK_ROWS;
}

uint64_t stk_index_unit_place(const stk_index_reader *r, uint32_t unit, uint64_t block, uint64_t *n_bytes)
{
    uint64_t rows = stk_index_block_rows(r, block);
    uint64_t at = r->trailer.index_offset + block * r->block_bytes;
    for (uint32_t u = 0; u < unit; u++)
        at += unit_bytes(r, u, rows);
    *n_bytes = unit_bytes(r, unit, rows);
    return at;
}

static stk_status bad_entry(const stk_index_reader *r, uint32_t i, const char *what, stk_error *error)
{
    return stk_fail(error, STK_ERR_CORRUPT, "%s: column %u in the column table: %s", r->file->path, i, what);
}

/* What a newer writer may have used is told apart from what is simply wrong. */
static stk_status check_entry(const stk_index_reader *r, uint32_t i, const char *name,
                              const stk_column_entry *e, stk_error *error)
{
    const stk_column column = {.name = name,
                               .type = (stk_type)e->type,
                               .n_items = e->n_items,
                               .nullable = (e->flags & STK_COLUMN_NULLABLE) != 0,
                               .dictionary = (e->flags & STK_COLUMN_DICTIONARY) != 0};
    if (strlen(name) != e->name_bytes || e->name_bytes == 0 || !stk_utf8_valid(name, e->name_bytes))
        return bad_entry(r, i, "its name is no UTF-8 text", error);
    bool known = (e->flags & ~(STK_COLUMN_NULLABLE | STK_COLUMN_DICTIONARY)) == 0 &&
                 e->storage >= STK_STORE_INLINE && e->storage <= STK_STORE_DICTIONARY &&
                 strcmp(stk_type_name(column.type), "unknown") != 0;
    if (!known)
        return stk_fail(error, STK_ERR_VERSION,
                        "%s: column '%s' has a type or storage (%u, %u, flags %u) that this "
                        "stoker does not know: update stoker",
                        r->file->path, name, e->type, e->storage, e->flags);
    if (stk_column_check(&column, NULL) != STK_OK || e->storage != stk_column_storage_of(&column))
        return bad_entry(r, i, "type and storage contradict each other", error);
    for (uint32_t j = 0; j < i; j++) {
        if (strcmp(r->columns[j].name, name) == 0) return bad_entry(r, i, "its name occurs twice", error);
    }
    if (e->storage == STK_STORE_DICTIONARY &&
        (!stk_range_inside(e->dictionary_offset, e->dictionary_bytes, r->trailer.strings_bytes) ||
         e->dictionary_bytes / sizeof(uint32_t) < e->dictionary_entries || e->dictionary_bytes > UINT32_MAX))
        return bad_entry(r, i, "its dictionary lies outside the file", error);
    r->columns[i] = column;
    r->details[i].storage = (stk_column_storage)e->storage;
    r->details[i].row_bytes = stk_column_row_bytes(&column);
    r->details[i].entry = *e;
    return STK_OK;
}

static stk_status parse_table(stk_index_reader *r, stk_error *error)
{
    uint64_t at = 0, end = r->trailer.columns_bytes;
    for (uint32_t i = 0; i < r->trailer.n_columns; i++) {
        stk_column_entry e;
        if (end - at < sizeof e) return bad_entry(r, i, "is cut off", error);
        memcpy(&e, r->table + at, sizeof e);
        /* The zero after the name is part of the entry: names are used as C strings. */
        if (e.entry_bytes < sizeof e || e.entry_bytes > end - at ||
            e.name_bytes >= e.entry_bytes - sizeof e || r->table[at + sizeof e + e.name_bytes] != 0)
            return bad_entry(r, i, "is cut off", error);
        STK_TRY(check_entry(r, i, (const char *)r->table + at + sizeof e, &e, error));
        at += e.entry_bytes;
    }
    return at == end ? STK_OK : bad_entry(r, r->trailer.n_columns, "bytes are left over", error);
}

/* The index must have exactly the size that rows and columns make; then no unit can lie outside it. */
static stk_status check_size(stk_index_reader *r, stk_error *error)
{
    uint64_t n = r->trailer.n_records, full = n / STK_BLOCK_ROWS, rest = n % STK_BLOCK_ROWS, total;
    r->block_bytes = bytes_of_block(r, STK_BLOCK_ROWS);
    r->n_blocks = full + (rest > 0);
    bool fits = stk_mul_u64(full, r->block_bytes, &total) &&
                stk_add_u64(total, rest > 0 ? bytes_of_block(r, rest) : 0, &total);
    if (!fits || total != r->trailer.index_bytes)
        return stk_fail(error, STK_ERR_CORRUPT, "%s: the index does not have the size of %llu records",
                        r->file->path, (unsigned long long)n);
    return STK_OK;
}

stk_status stk_index_reader_open(stk_index_reader *r, const stk_file *file, const stk_shard_trailer *trailer,
                                 stk_error *error)
{
    *r = (stk_index_reader){.file = file, .trailer = *trailer};
    size_t n = trailer->n_columns, table_bytes = (size_t)trailer->columns_bytes;
    r->table = malloc(table_bytes + 1);
    r->columns = calloc(n + 1, sizeof *r->columns);
    r->details = calloc(n + 1, sizeof *r->details);
    stk_status status = STK_OK;
    if (r->table == NULL || r->columns == NULL || r->details == NULL) {
        status = stk_fail_memory(error, "a column table");
        goto cleanup;
    }
    STK_GOTO(stk_file_read_at(file, r->table, table_bytes, trailer->columns_offset, error));
    if (stk_hash64(r->table, table_bytes) != trailer->columns_xxh3) {
        status = stk_fail(error, STK_ERR_CORRUPT, "%s: the column table at byte %llu is damaged (checksum)",
                          file->path, (unsigned long long)trailer->columns_offset);
        goto cleanup;
    }
    STK_GOTO(parse_table(r, error));
    STK_GOTO(check_size(r, error));
    size_t slots;
    stk_slab_init(&r->memory, trailer->index_bytes);
    r->units = stk_mul_size(r->n_blocks, n + 1, &slots) ? calloc(slots + 1, sizeof *r->units) : NULL;
    if (r->units == NULL) status = stk_fail_memory(error, "an index");
cleanup:
    if (status != STK_OK) stk_index_reader_close(r);
    return status;
}

void stk_index_reader_close(stk_index_reader *r)
{
    stk_slab_close(&r->memory);
    for (uint32_t i = 0; r->details != NULL && i < r->trailer.n_columns; i++)
        free(atomic_load_explicit(&r->details[i].dictionary, memory_order_relaxed));
    free(r->units);
    free(r->details);
    free(r->columns);
    free(r->table);
    *r = (stk_index_reader){0};
}

stk_status stk_index_check_unit(const stk_index_reader *r, uint32_t unit, uint64_t block,
                                const uint8_t *bytes, uint64_t n_bytes, stk_error *error)
{
    stk_unit_header header;
    memcpy(&header, bytes, sizeof header);
    size_t covered = (size_t)n_bytes - sizeof(uint64_t);
    if (memcmp(header.magic, stk_unit_magic, sizeof header.magic) == 0 && header.unit == unit &&
        header.first_row == block * STK_BLOCK_ROWS &&
        stk_load64(bytes + covered) == stk_hash64(bytes, covered))
        return STK_OK;
    uint64_t unused;
    return stk_fail(error, STK_ERR_CORRUPT,
                    "%s: the index at byte %llu (records %llu and following, %s%s) is damaged "
                    "(checksum); copy the file again",
                    r->file->path, (unsigned long long)stk_index_unit_place(r, unit, block, &unused),
                    (unsigned long long)(block * STK_BLOCK_ROWS), unit == 0 ? "places" : "column ",
                    unit == 0 ? "" : r->columns[unit - 1].name);
}

/* Puts bytes into an empty slot; NULL, or what another thread has put there just before. */
static uint8_t *publish(_Atomic(uint8_t *) *slot, uint8_t *bytes)
{
    uint8_t *before = NULL;
    atomic_compare_exchange_strong_explicit(slot, &before, bytes, memory_order_acq_rel, memory_order_acquire);
    return before;
}

/* Read and checked in passing memory, so that a unit that is damaged, touched again and again, takes none. */
stk_status stk_index_load(stk_index_reader *r, uint32_t unit, uint64_t block, const uint8_t **out,
                          stk_error *error)
{
    uint64_t n_bytes, at = stk_index_unit_place(r, unit, block, &n_bytes);
    uint8_t *bytes = malloc((size_t)n_bytes), *kept = NULL, *before;
    if (bytes == NULL) return stk_fail_memory(error, "an index block");
    stk_status status;
    STK_GOTO(stk_file_read_at(r->file, bytes, (size_t)n_bytes, at, error));
    STK_GOTO(stk_index_check_unit(r, unit, block, bytes, n_bytes, error));
    kept = stk_slab_take(&r->memory, (size_t)n_bytes);
    if (kept == NULL) {
        status = stk_fail_memory(error, "an index block");
        goto cleanup;
    }
    memcpy(kept, bytes, (size_t)n_bytes);
    before = publish(&r->units[unit * r->n_blocks + block], kept);
    *out = before != NULL ? before : kept;
cleanup:
    free(bytes);
    return status;
}

/* The null mask follows the values of a unit. */
static bool is_null(const uint8_t *values, uint64_t n_rows, uint32_t row_bytes, uint64_t i)
{
    const uint8_t *nulls = values + stk_align8(n_rows * row_bytes);
    return (nulls[i / 8] >> i % 8 & 1) != 0;
}

static stk_status bad_value(const stk_index_reader *r, uint32_t column, uint64_t row, stk_error *error)
{
    return stk_fail(error, STK_ERR_CORRUPT, "%s: column '%s' of record %llu is damaged", r->file->path,
                    r->columns[column].name, (unsigned long long)row);
}

static stk_status room_for(size_t n_bytes, size_t capacity, stk_value *out, stk_error *error)
{
    out->n_bytes = n_bytes;
    if (n_bytes <= capacity) return STK_OK;
    return stk_fail(error, STK_ERR_LIMIT, "the value has %zu bytes, the buffer %zu", n_bytes, capacity);
}

static stk_status inline_value(stk_index_reader *r, uint32_t column, uint64_t row, const uint8_t *slot,
                               void *buffer, size_t capacity, stk_value *out, stk_error *error)
{
    size_t n = r->details[column].row_bytes;
    STK_TRY(room_for(n, capacity, out, error));
    /* A bool other than 0 and 1 would be undefined behaviour in the caller's hands. */
    for (size_t i = 0; r->columns[column].type == STK_TYPE_BOOL && i < n; i++) {
        if (slot[i] > 1) return bad_value(r, column, row, error);
    }
    memcpy(buffer, slot, n);
    return STK_OK;
}

/* Inside the strings section, and of a size that the type can have. */
static bool reference_ok(const stk_index_reader *r, uint32_t column, const stk_external_ref *ref)
{
    const stk_column *c = &r->columns[column];
    size_t size = stk_type_size(c->type);
    bool shape =
        size == 0 || (c->n_items == 0 ? ref->n_bytes % size == 0 : ref->n_bytes == size * c->n_items);
    return shape && stk_range_inside(ref->offset, ref->n_bytes, r->trailer.strings_bytes);
}

bool stk_index_slot_ok(const stk_index_reader *r, uint32_t column, const uint8_t *unit, uint64_t i)
{
    const stk_reader_column *d = &r->details[column];
    stk_unit_header header;
    memcpy(&header, unit, sizeof header);
    const uint8_t *values = unit + sizeof header;
    uint64_t rows = stk_index_block_rows(r, header.first_row / STK_BLOCK_ROWS);
    if (r->columns[column].nullable && is_null(values, rows, d->row_bytes, i)) return true;
    const uint8_t *slot = values + i * d->row_bytes;
    stk_external_ref ref;
    switch (d->storage) {
    case STK_STORE_INLINE: break;
    case STK_STORE_DICTIONARY: return stk_load32(slot) < d->entry.dictionary_entries;
    case STK_STORE_EXTERNAL: memcpy(&ref, slot, sizeof ref); return reference_ok(r, column, &ref);
    }
    return true;
}

static stk_status external_value(stk_index_reader *r, uint32_t column, uint64_t row, const uint8_t *slot,
                                 void *buffer, size_t capacity, stk_value *out, stk_error *error)
{
    const stk_column *c = &r->columns[column];
    stk_external_ref ref;
    memcpy(&ref, slot, sizeof ref);
    if (!reference_ok(r, column, &ref)) return bad_value(r, column, row, error);
    STK_TRY(room_for(ref.n_bytes, capacity, out, error));
    if (ref.n_bytes > 0)
        STK_TRY(
            stk_file_read_at(r->file, buffer, ref.n_bytes, r->trailer.strings_offset + ref.offset, error));
    if ((uint32_t)stk_hash64(buffer, ref.n_bytes) != ref.check) return bad_value(r, column, row, error);
    for (size_t i = 0; c->type == STK_TYPE_BOOL && i < ref.n_bytes; i++) {
        if (((const uint8_t *)buffer)[i] > 1) return bad_value(r, column, row, error);
    }
    return STK_OK;
}

/* The ends must rise and the last one be the end: then every string lies inside. */
static bool dictionary_sound(const stk_column_entry *e, const uint8_t *bytes)
{
    uint32_t before = 0, n = e->dictionary_entries;
    if (stk_hash64(bytes, e->dictionary_bytes) != e->dictionary_xxh3) return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t end = stk_load32(bytes + 4 * (size_t)i);
        if (end < before) return false;
        before = end;
    }
    return before == e->dictionary_bytes - 4 * (uint64_t)n;
}

static stk_status load_dictionary(stk_index_reader *r, uint32_t column, const uint8_t **out, stk_error *error)
{
    stk_reader_column *d = &r->details[column];
    *out = atomic_load_explicit(&d->dictionary, memory_order_acquire);
    if (*out != NULL) return STK_OK;
    size_t n = (size_t)d->entry.dictionary_bytes;
    uint8_t *bytes = malloc(n + 1);
    if (bytes == NULL) return stk_fail_memory(error, "a dictionary");
    uint64_t at = r->trailer.strings_offset + d->entry.dictionary_offset;
    stk_status status = stk_file_read_at(r->file, bytes, n, at, error);
    if (status == STK_OK && !dictionary_sound(&d->entry, bytes))
        status = stk_fail(error, STK_ERR_CORRUPT,
                          "%s: the dictionary of column '%s' at byte %llu is damaged "
                          "(checksum)",
                          r->file->path, r->columns[column].name, (unsigned long long)at);
    if (status != STK_OK) {
        free(bytes);
        return status;
    }
    uint8_t *before = publish(&d->dictionary, bytes);
    if (before != NULL) free(bytes);
    *out = before != NULL ? before : bytes;
    return STK_OK;
}

static stk_status dictionary_value(stk_index_reader *r, uint32_t column, uint64_t row, const uint8_t *slot,
                                   void *buffer, size_t capacity, stk_value *out, stk_error *error)
{
    const uint8_t *bytes;
    uint32_t code = stk_load32(slot), n = r->details[column].entry.dictionary_entries;
    STK_TRY(load_dictionary(r, column, &bytes, error));
    if (code >= n) return bad_value(r, column, row, error);
    uint32_t start = code == 0 ? 0 : stk_load32(bytes + 4 * (size_t)(code - 1));
    uint32_t end = stk_load32(bytes + 4 * (size_t)code);
    STK_TRY(room_for(end - start, capacity, out, error));
    if (end > start) memcpy(buffer, bytes + 4 * (size_t)n + start, end - start);
    return STK_OK;
}

stk_status stk_index_value(stk_index_reader *r, uint32_t column, uint64_t row, void *buffer, size_t capacity,
                           stk_value *out, stk_error *error)
{
    const uint8_t *unit;
    uint64_t block = row >> STK_BLOCK_SHIFT, in_block = row & (STK_BLOCK_ROWS - 1);
    *out = (stk_value){.data = buffer};
    STK_TRY(stk_index_unit(r, column + 1, block, &unit, error));
    const stk_reader_column *d = &r->details[column];
    const uint8_t *values = unit + sizeof(stk_unit_header);
    if (r->columns[column].nullable &&
        is_null(values, stk_index_block_rows(r, block), d->row_bytes, in_block)) {
        *out = (stk_value){.is_null = true};
        return STK_OK;
    }
    const uint8_t *slot = values + in_block * d->row_bytes;
    stk_status status = STK_ERR_INTERNAL;
    switch (d->storage) {
    case STK_STORE_INLINE: status = inline_value(r, column, row, slot, buffer, capacity, out, error); break;
    case STK_STORE_EXTERNAL:
        status = external_value(r, column, row, slot, buffer, capacity, out, error);
        break;
    case STK_STORE_DICTIONARY:
        status = dictionary_value(r, column, row, slot, buffer, capacity, out, error);
        break;
    }
    size_t size = stk_type_size(r->columns[column].type);
    out->n_items = size > 0 ? out->n_bytes / size : out->n_bytes;
    return status;
}
