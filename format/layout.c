/* SPDX-License-Identifier: Apache-2.0 */
#include "format/layout.h"

#include <string.h>

#include <stoker/types.h>
#include <stoker/version.h>

#include "common/checked.h"
#include "common/fail.h"

const uint8_t stk_shard_magic[STK_MAGIC_BYTES] = {0x89, 'S', 'T', 'K', '\r', '\n', 0x1a, '\n'};
const uint8_t stk_shard_end_magic[STK_MAGIC_BYTES] = {'S', 'T', 'K', 'e', 'n', 'd', '\r', '\n'};
const uint8_t stk_record_magic[4] = {0xf5, 'R', 'E', 'C'};
const uint8_t stk_unit_magic[4] = {0xf5, 'I', 'D', 'X'};

void stk_header_seal(stk_shard_header *header)
{
    header->xxh3 = stk_hash64(header, offsetof(stk_shard_header, xxh3));
}

void stk_record_header_seal(stk_record_header *header)
{
    header->xxh3 = stk_hash64(header, offsetof(stk_record_header, xxh3));
}

bool stk_record_header_ok(const stk_record_header *header)
{
    return memcmp(header->magic, stk_record_magic, sizeof header->magic) == 0 &&
           header->xxh3 == stk_hash64(header, offsetof(stk_record_header, xxh3));
}

stk_core_row stk_record_header_row(const stk_record_header *header, uint64_t payload)
{
    return (stk_core_row){.offset = payload,
                          .n_bytes = header->n_bytes,
                          .xxh3 = header->payload_xxh3,
                          .label = header->label,
                          .width = header->width,
                          .height = header->height,
                          .tables = header->tables,
                          .encoding = header->encoding,
                          .orientation = header->orientation,
                          .channels = header->channels};
}

void stk_trailer_seal(stk_shard_trailer *trailer)
{
    trailer->xxh3 = stk_hash64(trailer, offsetof(stk_shard_trailer, xxh3));
}

static stk_status bad_magic(const uint8_t *magic, const char *path, stk_error *error)
{
    static const uint8_t no_cr[] = {0x89, 'S', 'T', 'K', '\n', 0x1a, '\n'};
    static const uint8_t more_cr[] = {0x89, 'S', 'T', 'K', '\r', '\r', '\n', 0x1a};
    static const uint8_t seven_bits[] = {0x09, 'S', 'T', 'K', '\r', '\n', 0x1a, '\n'};
    static const uint8_t as_utf8[] = {0xc2, 0x89, 'S', 'T', 'K'};
    static const uint8_t replaced[] = {0xef, 0xbf, 0xbd, 'S', 'T', 'K'};
    const char *how = NULL;
    if (memcmp(magic, no_cr, sizeof no_cr) == 0) how = "its CR LF became LF";
    if (memcmp(magic, more_cr, sizeof more_cr) == 0) how = "its LF became CR LF";
    if (memcmp(magic, seven_bits, sizeof seven_bits) == 0) how = "the high bits are gone";
    if (memcmp(magic, as_utf8, sizeof as_utf8) == 0 || memcmp(magic, replaced, sizeof replaced) == 0)
        how = "it was re-encoded as UTF-8";
    if (how == NULL)
        return stk_fail(error, STK_ERR_CORRUPT, "%s: not a .stk file (its first bytes are others)", path);
    return stk_fail(error, STK_ERR_CORRUPT,
                    "%s: was transferred as text (%s) and cannot be repaired; copy it again "
                    "in binary mode",
                    path, how);
}

/* The header's own name for an unknown feature bit, "name:bit", or "". */
static void feature_name(const stk_shard_header *header, int bit, char *out, size_t capacity)
{
    char names[STK_FEATURE_NAMES + 1];
    memcpy(names, header->incompatible_names, STK_FEATURE_NAMES);
    names[STK_FEATURE_NAMES] = '\0';
    out[0] = '\0';
    char *rest = names;
    for (char *token = strtok_r(names, " ", &rest); token != NULL; token = strtok_r(NULL, " ", &rest)) {
        char *colon = strchr(token, ':');
        if (colon == NULL || colon[1] < '0' || colon[1] > '9') continue;
        int n = colon[1] - '0';
        if (colon[2] >= '0' && colon[2] <= '9') n = n * 10 + (colon[2] - '0');
        if (n != bit) continue;
        *colon = '\0';
        /* What an unknown writer wrote goes to a terminal: only plain characters. */
        for (char *p = token; *p != '\0'; p++) {
            if (*p <= ' ' || *p >= 0x7f) *p = '?';
        }
        size_t length = strlen(token) < capacity ? strlen(token) : capacity - 1;
        memcpy(out, token, length);
        out[length] = '\0';
    }
}

stk_status stk_header_check(const stk_shard_header *header, const char *path, stk_error *error)
{
    if (memcmp(header->magic, stk_shard_magic, STK_MAGIC_BYTES) != 0)
        return bad_magic(header->magic, path, error);
    /* The place of this checksum is fixed for all versions to come, so that damage and novelty are told
     * apart. */
    if (header->xxh3 != stk_hash64(header, offsetof(stk_shard_header, xxh3)))
        return stk_fail(error, STK_ERR_CORRUPT, "%s: the header is damaged (checksum of bytes 0-191)", path);
    if (header->major != STK_SHARD_MAJOR)
        return stk_fail(error, STK_ERR_VERSION,
                        "%s: format version %u.%u; stoker %s reads %d.x: update stoker", path, header->major,
                        header->minor, STK_VERSION, STK_SHARD_MAJOR);
    if (header->incompatible != 0) {
        int bit = __builtin_ctzll(header->incompatible);
        char name[STK_FEATURE_NAMES];
        feature_name(header, bit, name, sizeof name);
        return stk_fail(error, STK_ERR_VERSION,
                        "%s: uses the feature '%s' (bit %d), which stoker %s does not know: "
                        "update stoker",
                        path, name[0] != '\0' ? name : "unnamed", bit, STK_VERSION);
    }
    uint64_t directory = sizeof *header + (uint64_t)header->n_table_sets * sizeof(stk_table_entry);
    if (header->header_bytes != sizeof *header || header->n_table_sets > STK_MAX_TABLE_SETS ||
        header->records_offset < directory || header->records_offset % STK_RECORD_ALIGN != 0)
        return stk_fail(error, STK_ERR_CORRUPT, "%s: the header contradicts itself", path);
    return STK_OK;
}

/* Sections lie one after the other, the first starting at or after `start`, the last ending at `end`. */
static bool sections_tile(const stk_shard_trailer *t, uint64_t start, uint64_t end)
{
    return t->index_offset >= start && t->index_offset % STK_RECORD_ALIGN == 0 &&
           stk_range_inside(t->index_offset, t->index_bytes, end) &&
           t->strings_offset == t->index_offset + t->index_bytes &&
           stk_range_inside(t->strings_offset, t->strings_bytes, end) &&
           t->columns_offset == t->strings_offset + t->strings_bytes &&
           stk_range_inside(t->columns_offset, t->columns_bytes, end) &&
           t->metadata_offset == t->columns_offset + t->columns_bytes &&
           stk_range_inside(t->metadata_offset, t->metadata_bytes, end) &&
           t->metadata_offset + t->metadata_bytes == end;
}

stk_status stk_trailer_check(const stk_shard_trailer *t, const stk_shard_header *header, uint64_t file_bytes,
                             const char *path, stk_error *error)
{
    unsigned long long at = (unsigned long long)(file_bytes - sizeof *t);
    if (memcmp(t->magic, stk_shard_end_magic, STK_MAGIC_BYTES) != 0)
        return stk_fail(error, STK_ERR_CORRUPT,
                        "%s: has no end (%llu bytes): it was cut off or its writing was "
                        "interrupted; copy it again, or open it with salvage to get the whole records",
                        path, (unsigned long long)file_bytes);
    if (t->xxh3 != stk_hash64(t, offsetof(stk_shard_trailer, xxh3)))
        return stk_fail(error, STK_ERR_CORRUPT, "%s: the trailer at byte %llu is damaged (checksum)", path,
                        at);
    if (t->header_xxh3 != header->xxh3)
        return stk_fail(error, STK_ERR_CORRUPT, "%s: header and trailer belong to different files", path);
    if (t->file_bytes != file_bytes)
        return stk_fail(error, STK_ERR_CORRUPT, "%s: has %llu bytes, was written with %llu", path,
                        (unsigned long long)file_bytes, (unsigned long long)t->file_bytes);
    if (!sections_tile(t, header->records_offset, file_bytes - sizeof *t) ||
        t->block_rows != STK_BLOCK_ROWS || t->core_row_bytes != sizeof(stk_core_row) ||
        t->n_columns > STK_MAX_COLUMNS || t->columns_bytes > STK_MAX_COLUMN_TABLE ||
        t->metadata_bytes > STK_MAX_METADATA)
        return stk_fail(error, STK_ERR_CORRUPT, "%s: the trailer at byte %llu contradicts itself", path, at);
    return STK_OK;
}

const char *stk_core_row_fault(const stk_core_row *row, const stk_shard_header *header, uint64_t end)
{
    if (row->offset < header->records_offset + sizeof(stk_record_header) ||
        row->offset % STK_RECORD_ALIGN != 0 || !stk_range_inside(row->offset, row->n_bytes, end))
        return "a place outside the records";
    if (row->encoding == STK_ENCODING_UNKNOWN || row->orientation - 1u > 7 ||
        row->tables > header->n_table_sets)
        return "an impossible encoding, orientation or table set";
    /* Divided, not multiplied: width * height fits 64 bits, times channels may not. */
    if (row->encoding == STK_ENCODING_RAW &&
        (row->channels == 0 || row->n_bytes % row->channels != 0 ||
         row->n_bytes / row->channels != (uint64_t)row->width * row->height))
        return "another size than width x height x channels";
    return NULL;
}

void stk_id_from_hash(stk_hash128 hash, uint8_t id[16])
{
    for (int i = 0; i < 8; i++) {
        id[i] = (uint8_t)(hash.high >> (56 - 8 * i));
        id[8 + i] = (uint8_t)(hash.low >> (56 - 8 * i));
    }
}

void stk_id_text(const uint8_t id[16], char text[33])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 16; i++) {
        text[2 * i] = digits[id[i] >> 4];
        text[2 * i + 1] = digits[id[i] & 15];
    }
    text[32] = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool stk_id_parse(const char *text, uint8_t id[16])
{
    for (int i = 0; i < 16; i++) {
        int high = hex_digit(text[2 * i]);
        int low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);
        if (low < 0) return false;
        id[i] = (uint8_t)(high << 4 | low);
    }
    return text[32] == '\0';
}

static bool is_text(stk_type type)
{
    return type == STK_TYPE_STRING || type == STK_TYPE_BYTES;
}

stk_column_storage stk_column_storage_of(const stk_column *column)
{
    if (is_text(column->type)) return column->dictionary ? STK_STORE_DICTIONARY : STK_STORE_EXTERNAL;
    uint64_t width = (uint64_t)column->n_items * stk_type_size(column->type);
    return width > 0 && width <= STK_INLINE_BYTES ? STK_STORE_INLINE : STK_STORE_EXTERNAL;
}

uint32_t stk_column_row_bytes(const stk_column *column)
{
    switch (stk_column_storage_of(column)) {
    case STK_STORE_INLINE: return column->n_items * (uint32_t)stk_type_size(column->type);
    case STK_STORE_DICTIONARY: return sizeof(uint32_t);
    case STK_STORE_EXTERNAL: break;
    }
    return sizeof(stk_external_ref);
}

stk_status stk_column_check(const stk_column *column, stk_error *error)
{
    size_t size = stk_type_size(column->type);
    if (size == 0 && !is_text(column->type))
        return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': unknown type %d", column->name,
                        (int)column->type);
    if (is_text(column->type) && column->n_items > 1)
        return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': arrays of %s are not supported", column->name,
                        stk_type_name(column->type));
    if (!is_text(column->type) && column->dictionary)
        return stk_fail(error, STK_ERR_ARGUMENT,
                        "column '%s': only string and bytes columns have dictionaries", column->name);
    if ((uint64_t)column->n_items * size > UINT32_MAX)
        return stk_fail(error, STK_ERR_ARGUMENT, "column '%s': a value may have at most 4 GiB - 1",
                        column->name);
    return STK_OK;
}
