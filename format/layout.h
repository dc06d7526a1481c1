/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a .stk shard, as docs/format.md specifies them. Plain structs, copied with memcpy: the format
 * is little-endian with natural alignment, and so is every machine that compiles common/endian.h.
 *
 *   header | table sets | records | index | strings | column table | metadata | trailer */
#ifndef STK_FORMAT_LAYOUT_H
#define STK_FORMAT_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/columns.h>
#include <stoker/status.h>

#include "common/endian.h"
#include "common/hash.h"

enum {
    STK_SHARD_MAJOR = 1,
    STK_SHARD_MINOR = 0,
    STK_MAGIC_BYTES = 8,
    STK_RECORD_ALIGN = 64, /* of record headers and payloads */
    STK_BLOCK_SHIFT = 12,
    STK_BLOCK_ROWS = 1 << STK_BLOCK_SHIFT,
    STK_INLINE_BYTES = 64, /* wider values lie in the strings section */
    STK_FEATURE_NAMES = 120
};

/* Limits a reader enforces before it allocates: far above what a writer makes. */
enum {
    STK_MAX_COLUMNS = 4096,
    STK_MAX_COLUMN_TABLE = 16 << 20,
    STK_MAX_METADATA = 64 << 20,
    STK_MAX_TABLE_SETS = 65536,
    STK_MAX_TABLE_SET_BYTES = 16 << 20
};

/* High bit, letters, CR LF, Ctrl-Z, LF (as PNG's): treating the file as text breaks it visibly. */
extern const uint8_t stk_shard_magic[STK_MAGIC_BYTES];
extern const uint8_t stk_shard_end_magic[STK_MAGIC_BYTES];

typedef struct stk_shard_header {
    uint8_t magic[8];
    uint16_t major, minor;
    uint32_t header_bytes;
    uint64_t incompatible; /* a reader must know every bit that is set */
    uint64_t compatible;   /* a reader may ignore these */
    uint64_t first_record; /* number of the first record within its data set */
    uint64_t records_offset;
    uint32_t n_table_sets; /* the directory follows the header at once */
    uint32_t reserved;
    uint64_t tables_xxh3;                       /* of the directory */
    char incompatible_names[STK_FEATURE_NAMES]; /* "name:bit name:bit", zero padded: for the refusal's text */
    uint64_t xxh3;                              /* of all bytes before it; here in every version */
} stk_shard_header;

/* One entry of the directory of shared table sets. */
typedef struct stk_table_entry {
    uint64_t offset, n_bytes, xxh3;
} stk_table_entry;

/* Before each payload: enough to decode it when the index is lost. */
typedef struct stk_record_header {
    uint8_t magic[4];
    uint8_t encoding, orientation, channels, flags;
    uint64_t number; /* within the data set */
    int64_t label;
    uint64_t n_bytes; /* of the payload */
    uint64_t payload_xxh3;
    uint32_t width, height;
    uint32_t tables; /* shared table set + 1; 0 = none */
    uint32_t reserved;
    uint64_t xxh3; /* of all bytes before it */
} stk_record_header;
extern const uint8_t stk_record_magic[4];

/* The index: for each block of 4,096 rows one unit of core rows, then one unit a column. A unit is this
 * header, the rows' values (padded to 8), the null mask (nullable columns; padded to 8), and the XXH3-64 of
 * all that. */
typedef struct stk_unit_header {
    uint8_t magic[4];
    uint32_t unit; /* 0 = core rows, c + 1 = column c */
    uint64_t first_row;
} stk_unit_header;
extern const uint8_t stk_unit_magic[4];

typedef struct stk_core_row {
    uint64_t offset; /* of the payload in the file */
    uint64_t n_bytes;
    uint64_t xxh3;
    int64_t label;
    uint32_t width, height;
    uint32_t tables;
    uint8_t encoding, orientation, channels, flags;
} stk_core_row;

typedef enum stk_column_storage {
    STK_STORE_INLINE = 1,    /* the value itself */
    STK_STORE_EXTERNAL = 2,  /* an stk_external_ref */
    STK_STORE_DICTIONARY = 3 /* a uint32 code */
} stk_column_storage;

typedef struct stk_external_ref {
    uint64_t offset; /* within the strings section */
    uint32_t n_bytes;
    uint32_t check; /* low half of the value's XXH3-64 */
} stk_external_ref;

/* One entry of the column table; the name, a zero, and padding to 8 follow. */
typedef struct stk_column_entry {
    uint32_t entry_bytes; /* with name and padding */
    uint32_t name_bytes;
    uint8_t type, flags, storage, reserved;
    uint32_t n_items;
    uint64_t dictionary_offset; /* within the strings section */
    uint64_t dictionary_bytes;  /* uint32 ends[n], then the strings one after the other */
    uint32_t dictionary_entries;
    uint32_t reserved2;
    uint64_t dictionary_xxh3;
} stk_column_entry;
enum { STK_COLUMN_NULLABLE = 1, STK_COLUMN_DICTIONARY = 2 };

typedef struct stk_shard_trailer {
    uint64_t index_offset, index_bytes;
    uint64_t strings_offset, strings_bytes;
    uint64_t columns_offset, columns_bytes;
    uint64_t metadata_offset, metadata_bytes;
    uint64_t n_records;
    uint64_t payload_bytes; /* sum over all records */
    uint32_t block_rows, core_row_bytes;
    uint32_t n_columns, flags;
    uint64_t columns_xxh3, metadata_xxh3;
    uint8_t id[16];
    uint64_t header_xxh3; /* the header's: a head and an end that belong together */
    uint64_t file_bytes;
    uint64_t reserved[4];
    uint64_t xxh3; /* of all bytes before it */
    uint8_t magic[8];
} stk_shard_trailer;
enum { STK_TRAILER_LABELS = 1 };

_Static_assert(sizeof(stk_shard_header) == 192, "header");
_Static_assert(sizeof(stk_table_entry) == 24, "table entry");
_Static_assert(sizeof(stk_record_header) == 64, "record header");
_Static_assert(sizeof(stk_unit_header) == 16, "unit header");
_Static_assert(sizeof(stk_core_row) == 48, "core row");
_Static_assert(sizeof(stk_external_ref) == 16, "external reference");
_Static_assert(sizeof(stk_column_entry) == 48, "column entry");
_Static_assert(sizeof(stk_shard_trailer) == 192, "trailer");

/* Sets the last checksum of a header-like struct, or compares it. */
void stk_header_seal(stk_shard_header *header);
void stk_record_header_seal(stk_record_header *header);
bool stk_record_header_ok(const stk_record_header *header);
/* The index row that a record header repeats, its payload being at the file offset `payload`. */
stk_core_row stk_record_header_row(const stk_record_header *header, uint64_t payload);
void stk_trailer_seal(stk_shard_trailer *trailer);

/* Checks magic, checksum, version and feature bits; for anything wrong the text says what happened to the
 * file (text-mode transfer, newer version, unknown feature by name). path is for the text. */
stk_status stk_header_check(const stk_shard_header *header, const char *path, stk_error *error);
/* Checks magic, checksum and that the sections tile [header.records_offset, file_bytes - trailer). */
stk_status stk_trailer_check(const stk_shard_trailer *trailer, const stk_shard_header *header,
                             uint64_t file_bytes, const char *path, stk_error *error);

/* What is impossible about a row whose payload must lie in [records_offset + 64, end), as a clause, or NULL.
 * A checksum that fits says only that the bytes are those that somebody wrote, so this runs at each touch. */
const char *stk_core_row_fault(const stk_core_row *row, const stk_shard_header *header, uint64_t end);

/* A data set id: 16 bytes in the order of its hex digits, and those digits with a zero. */
void stk_id_from_hash(stk_hash128 hash, uint8_t id[16]);
void stk_id_text(const uint8_t id[16], char text[33]);
/* False when text is not 32 lower-case hex digits. */
bool stk_id_parse(const char *text, uint8_t id[16]);

/* How a column's values are stored, and bytes a row in the index. Type and n_items must be valid. */
stk_column_storage stk_column_storage_of(const stk_column *column);
uint32_t stk_column_row_bytes(const stk_column *column);
/* Checks type, n_items and dictionary of a column description. Status STK_ERR_ARGUMENT. */
stk_status stk_column_check(const stk_column *column, stk_error *error);

static inline uint64_t stk_align8(uint64_t n)
{
    return (n + 7) & ~(uint64_t)7;
}
static inline uint64_t stk_align_record(uint64_t n)
{
    return (n + STK_RECORD_ALIGN - 1) & ~(uint64_t)(STK_RECORD_ALIGN - 1);
}

/* Bytes of one unit with n_rows <= 4,096 rows. */
static inline uint64_t stk_unit_bytes(uint64_t n_rows, uint32_t row_bytes, bool nullable)
{
    return sizeof(stk_unit_header) + stk_align8(n_rows * row_bytes) +
           (nullable ? stk_align8((n_rows + 7) / 8) : 0) + sizeof(uint64_t);
}

#endif
