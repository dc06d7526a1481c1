/* SPDX-License-Identifier: Apache-2.0
 *
 * Packing: many small image files into a data set. */
#ifndef STOKER_PACK_H
#define STOKER_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <stoker/columns.h>
#include <stoker/dataset.h>
#include <stoker/status.h>
#include <stoker/types.h>

STK_BEGIN_DECLS

typedef enum stk_encode {
    STK_ENCODE_AUTO = 0, /* JPEG -> tiles, raw when w*h <= 4096; others raw when w*h <= 4096, else verbatim */
    STK_ENCODE_KEEP = 1, /* the source's bytes */
    STK_ENCODE_RAW = 2,
    STK_ENCODE_TILES = 3
} stk_encode;

typedef enum stk_check { STK_CHECK_DECODE = 0, STK_CHECK_HEADER = 1 } stk_check;
typedef enum stk_exif { STK_EXIF_APPLY = 0, STK_EXIF_IGNORE = 1 } stk_exif;

typedef enum stk_resize_kind {
    STK_RESIZE_NONE = 0,
    STK_RESIZE_SHORT = 1, /* short side to resize_width, up or down, as torchvision's Resize */
    STK_RESIZE_LONG = 2,
    STK_RESIZE_EXACT = 3 /* to resize_width x resize_height, squashing */
} stk_resize_kind;

/* What to do with damaged images (pixels came out, but the decoder complained). */
typedef enum stk_on_damaged { STK_DAMAGED_SKIP = 0, STK_DAMAGED_KEEP = 1, STK_DAMAGED_FAIL = 2 } stk_on_damaged;
/* What to do with files that cannot be decoded at all. */
typedef enum stk_bad_policy { STK_BAD_SKIP = 0, STK_BAD_FAIL = 1, STK_BAD_QUARANTINE = 2 } stk_bad_policy;

/* Kinds of damage, as bits. Names (as the command line takes them) by stk_damage_name. */
typedef enum stk_damage {
    STK_DAMAGE_NONE = 0,
    STK_DAMAGE_EXTRANEOUS = 1 << 0, /* stray bytes around or between whole picture data */
    STK_DAMAGE_TRUNCATED = 1 << 1,  /* data ends early; rows are missing */
    STK_DAMAGE_ENTROPY = 1 << 2,    /* invalid Huffman/arithmetic codes, lost restart markers */
    STK_DAMAGE_CHECKSUM = 1 << 3,   /* PNG CRC, zlib Adler */
    STK_DAMAGE_HEADER = 1 << 4,     /* inconsistent headers that the decoder repaired */
    STK_DAMAGE_OVERFLOW = 1 << 5,   /* more rows or bytes than declared */
    STK_DAMAGE_OTHER = 1 << 6       /* any other warning of the library */
} stk_damage;
/* "extraneous", "truncated", ... for one bit; "none" for 0. Never NULL. */
STK_API const char *stk_damage_name(stk_damage kind);

/* Called now and then from the packing thread; return false to cancel (STK_ERR_CANCELLED; the output does
 * not appear). phase: "scan", "check", "pack", "write". */
typedef struct stk_pack_progress {
    const char *phase;
    uint64_t files_done, files_total; /* total 0 = not known yet */
    uint64_t bytes_done, bytes_total;
    uint64_t n_bad;
    double seconds;
} stk_pack_progress;
typedef bool (*stk_pack_progress_fn)(void *user, const stk_pack_progress *progress);

/* One file that was left out or kept with damage; called in the files' order, from the packing thread. */
typedef struct stk_pack_issue {
    const char *path;   /* relative to SRC, raw bytes */
    const char *action; /* "skipped", "kept", "quarantined", "missing" */
    const char *kind;   /* a damage kind's name, "unreadable", "not-an-image", "too-large", "missing" ... */
    const char *reason; /* one sentence */
} stk_pack_issue;
typedef void (*stk_pack_issue_fn)(void *user, const stk_pack_issue *issue);

typedef struct stk_pack_options {
    size_t struct_size;       /* filled by stk_pack_options_init */
    const char *format;       /* NULL = by DST's name; "stk" or "hdf5" */
    const char *manifest;     /* NULL; a .csv or .jsonl file (SRC may then be NULL) */
    const char *path_column;  /* NULL = found: path, file, filename, image, img ... */
    const char *label_column; /* NULL = found: label, class, target, y ...; "" = none */
    const char *root;         /* NULL = SRC or the manifest's folder; paths in it are relative to this */
    const char *const *column_types; /* "name:type" overrides */
    size_t n_column_types;
    stk_encode encode; /* STK_ENCODE_AUTO */
    stk_check check;   /* STK_CHECK_DECODE */
    stk_exif exif;     /* STK_EXIF_APPLY */
    stk_mode mode;     /* STK_MODE_RGB */
    stk_resize_kind resize;
    uint32_t resize_width, resize_height;
    stk_filter resample;  /* STK_FILTER_BICUBIC for --resize */
    uint32_t quality;     /* 90 */
    bool chroma_444;      /* false: 4:2:0 */
    uint32_t tile_pixels; /* 32; 16, 32 or 64 */
    bool shuffle;         /* false */
    uint64_t shuffle_seed;
    stk_on_damaged on_damaged;
    uint32_t keep_damage; /* with STK_DAMAGED_KEEP: bits of stk_damage kept; 0 = all */
    stk_bad_policy on_bad;
    const char *quarantine;  /* folder for STK_BAD_QUARANTINE; not in src, which must hold files */
    bool force;              /* false: an existing DST is STK_ERR_EXISTS */
    bool resume;             /* true: go on where a killed pack of the same job was */
    bool rehash;             /* false: unchanged (path, size, mtime) means unchanged content */
    const char *cache;       /* NULL; folder of a shared preprocessing cache; not in src */
    uint32_t part, n_parts;  /* 0, 0 = whole; part K of N (1-based) */
    uint64_t shard_bytes;    /* 4 GiB; a folder DST's shards */
    uint32_t chunk_images;   /* HDF5; 0 = about 1 MiB a chunk */
    const char *hdf5_filter; /* NULL = none; "gzip", "gzip:4", "lzf" */
    uint64_t max_pixels;     /* 178,956,970 */
    uint64_t max_file_bytes; /* 4 GiB - 1 */
    uint32_t n_threads;      /* 0 = stk_cpu_usable_threads() */
    stk_pack_progress_fn progress;
    stk_pack_issue_fn issue;
    void *user; /* for both callbacks */
    const stk_dataset_options *source; /* NULL = defaults; how an HDF5 SRC is opened (data set, labels, range) */
    bool append; /* false; true: add the images to the folder of shards at DST (see stk_pack) */
} stk_pack_options;

STK_API void stk_pack_options_init(stk_pack_options *options);

typedef struct stk_pack_report {
    uint64_t files;       /* files or manifest lines looked at */
    uint64_t records;     /* written */
    uint64_t skipped;     /* images left out (bad, damaged, too large, missing, beside the class folders) */
    uint64_t damaged;     /* images with damage, kept or not */
    uint64_t missing;     /* manifest lines whose file is not there */
    uint64_t ignored;     /* files that are no images */
    uint64_t reused;      /* records taken from the previous output or the cache */
    uint64_t resumed;     /* records taken from a killed run */
    uint64_t reencoded;   /* records that became a new JPEG or new tiles (--resize, --encode tiles) */
    uint64_t verbatim;    /* JPEGs that could not become tiles and stayed as they were */
    uint64_t source_bytes, bytes;
    double seconds;
    char dataset_id[40];
    uint64_t resampled;   /* raw records with other pixels than the source's (--resize) */
} stk_pack_report;

/* Packs src (a folder, .csv/.jsonl manifest, .tar, .h5) into dst. dst appears whole or not at all; lists of
 * left-out files are written to DST.report.jsonl. report may be NULL. Status STK_OK also when files were
 * skipped (report->skipped > 0). Not to be called twice at once for one dst (STK_ERR_BUSY). Options of another kind of
 * src are STK_ERR_ARGUMENT: path_column, label_column, root and column_types are a manifest's, `source` an HDF5 file's.
 *
 * With `append` the records of src become new shards behind those of dst, a folder, and dataset.json is replaced last:
 * readers that have dst open keep what they opened, and after any error dst is as it was. Classes are joined by name,
 * new ones come behind the old, whose labels stay. Options that decide records, and the columns, must be those that dst
 * was packed with: STK_ERR_ARGUMENT names what differs. The report counts the new records. What was appended before,
 * the same list of files with the same options, is STK_ERR_EXISTS unless `force` is set; other files are not compared
 * with those that dst holds. A killed run goes on as any; parts and shuffle do not go with it. */
STK_API STK_NODISCARD stk_status stk_pack(const char *src, const char *dst, const stk_pack_options *options,
                                          stk_pack_report *report, stk_error *error);

STK_END_DECLS

#endif
