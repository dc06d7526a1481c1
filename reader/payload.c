/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/payload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "common/buffer.h"
#include "common/cgroup.h"
#include "common/checked.h"
#include "common/clock.h"
#include "common/fail.h"
#include "common/file_system.h"
#include "common/hash.h"
#include "reader/bitmap.h"
#include "reader/mirror.h"
#include "reader/staged_storage.h"

enum {
    SCRATCH_KEPT = 64 << 20,    /* scratch above this is given back after the outlier that needed it */
    PREFETCH_BYTES = 8192,      /* larger records: the hardware's own prefetch does as well */
    CACHE_LINE = 64,
    MIRROR_RECORD = 16 << 10,   /* mean size up to which a copy in memory pays */
    MIRROR_LEAST = 4 << 20,     /* smaller sets are in the CPU's caches anyway */
    MIRROR_MOST = 1 << 30,
    COPY_BYTES = 16 << 20,
    RESIDENT_NS = 150000,       /* a byte that takes longer was not in memory */
    /* One call brings in no more than the device's read_ahead_kb, whatever it is asked for (mm/readahead.c,
     * force_page_cache_ra), and 128 KiB is the smallest in common use. */
    ASK_BYTES = 128 << 10
};

/* An open file; immutable once published in source->files, but for what is atomic. */
typedef struct payload_file {
    stk_file file;
    uint64_t n_bytes;
    const uint8_t *map; /* NULL: pread only */
    stk_fs_kind kind;
    atomic_flag taken_over;        /* the kernel's own read-ahead is off */
    _Atomic(stk_mirror *) mirror; /* its bytes in memory, once a loader wants that */
} payload_file;

/* A staged copy: a source of its own over the same rows. */
typedef struct payload_copy {
    stk_storage *storage;
    stk_payload_source *payload;
} payload_copy;

/* One of joined sources. */
typedef struct payload_part {
    const stk_payload_source *payload;
    uint64_t first_row;
    uint32_t first_file, first_tables;
} payload_part;

struct stk_payload_source {
    stk_storage *storage;
    _Atomic(payload_copy *) copy; /* NULL = none (yet) */
    payload_part *parts;          /* of joined storages, whose copies are theirs */
    uint32_t n_parts;
    stk_io io;
    stk_verify_mode verify;
    uint64_t max_record_bytes;
    bool fits_memory;
    bool pretend_remote;
    stk_bitmap touched; /* record was read once, and its checksum was right */
    _Atomic(payload_file *) *files;
};

static void file_free(payload_file *f)
{
    if (f == NULL) return;
    stk_mirror *mirror = atomic_load(&f->mirror);
    stk_mirror_close(&mirror);
    if (f->map != NULL) munmap((void *)(uintptr_t)f->map, (size_t)f->n_bytes);
    free(f);
}

static bool wants_map(const stk_payload_source *s, stk_fs_kind kind)
{
    if (s->io != STK_IO_AUTO) return s->io == STK_IO_MMAP;
    return kind == STK_FS_MEMORY || (kind == STK_FS_LOCAL && s->fits_memory);
}

static stk_status file_open(const stk_payload_source *s, uint32_t number, payload_file **out, stk_error *error)
{
    payload_file *f = calloc(1, sizeof *f);
    if (f == NULL) return stk_fail_memory(error, "an open file");
    stk_status status = s->storage->ops->file(s->storage, number, &f->file, &f->n_bytes, error);
    if (status != STK_OK) {
        free(f);
        return status;
    }
    f->kind = s->pretend_remote ? STK_FS_OTHER : stk_fs_kind_of(f->file.fd);
    atomic_flag_clear(&f->taken_over);
    if (f->n_bytes > 0 && f->n_bytes <= SIZE_MAX && wants_map(s, f->kind)) {
        void *map = mmap(NULL, (size_t)f->n_bytes, PROT_READ, MAP_SHARED, f->file.fd, 0);
        /* A file that cannot be mapped (address space limit, odd file system) can still be read. */
        if (map != MAP_FAILED) f->map = map;
    }
    *out = f;
    return STK_OK;
}

/* Threads that meet here at once each open the file; the first to publish wins. No lock, so that a fork in
 * between leaves nothing locked in the child. */
static stk_status file_get(const stk_payload_source *s, uint32_t number, payload_file **out, stk_error *error)
{
    *out = NULL;
    if (number >= s->storage->n_files)
        return stk_fail(error, STK_ERR_CORRUPT, "a record claims to lie in file %u of %u", number,
                        s->storage->n_files);
    payload_file *f = atomic_load_explicit(&s->files[number], memory_order_acquire);
    if (f == NULL) {
        STK_TRY(file_open(s, number, &f, error));
        payload_file *other = NULL;
        if (!atomic_compare_exchange_strong(&s->files[number], &other, f)) {
            file_free(f);
            f = other;
        }
    }
    *out = f;
    return STK_OK;
}

stk_status stk_payload_open(stk_storage *storage, const stk_dataset_options *options, stk_payload_source **out,
                            stk_error *error)
{
    *out = NULL;
    stk_payload_source *s = calloc(1, sizeof *s);
    if (s == NULL) return stk_fail_memory(error, "the data set");
    s->storage = storage;
    s->io = options->io;
    s->verify = options->verify;
    s->max_record_bytes = options->max_record_bytes;
    s->fits_memory = storage->total_bytes <= stk_memory_allowed() / 2;
    s->files = calloc((size_t)storage->n_files + 1, sizeof *s->files);
    stk_status status = STK_OK;
    if (s->files == NULL) status = stk_fail_memory(error, "the data set's files");
    if (status == STK_OK) status = stk_bitmap_open(&s->touched, storage->n_rows, error);
    if (status == STK_OK)
        *out = s;
    else
        stk_payload_close(&s);
    return status;
}

static void copy_close(payload_copy *copy)
{
    if (copy == NULL) return;
    stk_payload_close(&copy->payload);
    stk_storage_close(&copy->storage);
    free(copy);
}

stk_status stk_payload_adopt(stk_payload_source *s, stk_storage *storage, const stk_dataset_options *options,
                             stk_error *error)
{
    payload_copy *copy = calloc(1, sizeof *copy), *none = NULL;
    if (copy == NULL) {
        stk_storage_close(&storage);
        return stk_fail_memory(error, "a staged copy");
    }
    copy->storage = storage;
    stk_status status = stk_payload_open(storage, options, &copy->payload, error);
    if (status == STK_OK) {
        if (!atomic_compare_exchange_strong(&s->copy, &none, copy))
            status = stk_fail(error, STK_ERR_STATE, "a staged copy is in use already");
    }
    if (status != STK_OK) copy_close(copy);
    return status;
}

stk_status stk_payload_join(stk_payload_source *s, const stk_payload_source *const *parts, uint32_t n_parts,
                            stk_error *error)
{
    payload_part at = {0};
    s->parts = calloc(n_parts, sizeof *s->parts);
    if (s->parts == NULL) return stk_fail_memory(error, "the joined data set");
    for (uint32_t p = 0; p < n_parts; p++) {
        at.payload = parts[p];
        s->parts[p] = at;
        at.first_row += parts[p]->storage->n_rows; /* no overflow: the joined storage has their sums */
        at.first_file += parts[p]->storage->n_files;
        at.first_tables += parts[p]->storage->n_table_sets;
    }
    s->n_parts = n_parts;
    return STK_OK;
}

/* Where a record lies in a staged copy: as which record of which source, and where its files' checks begin. */
typedef struct copied {
    const stk_payload_source *payload;
    stk_row row;
    uint64_t i;
    uint32_t first_check;
} copied;

#define ANY_RECORD UINT64_MAX

/* The part of record i; of ANY_RECORD the one that has the file. */
static const payload_part *part_of(const stk_payload_source *s, uint64_t i, uint32_t file)
{
    uint32_t p = s->n_parts - 1;
    if (i != ANY_RECORD)
        while (p > 0 && s->parts[p].first_row > i) p--;
    else
        while (p > 0 && (s->parts[p].first_file > file || s->parts[p].payload->storage->n_files == 0)) p--;
    return &s->parts[p];
}

/* Whether a staged copy holds the row's payload, and where. */
static bool in_copy(const stk_payload_source *s, uint64_t i, const stk_row *row, copied *out)
{
    if (__builtin_expect(s->n_parts > 0, 0)) {
        const payload_part *part = part_of(s, i, row->file);
        stk_row own = *row;
        own.file -= part->first_file;
        if (own.tables != 0) own.tables -= part->first_tables;
        if (!in_copy(part->payload, i == ANY_RECORD ? i : i - part->first_row, &own, out)) return false;
        out->first_check += s->storage->n_files + part->first_file - part->payload->storage->n_files;
        return true;
    }
    const payload_copy *copy = atomic_load_explicit(&s->copy, memory_order_acquire);
    if (__builtin_expect(copy == NULL, 1) || !stk_staged_storage_has(copy->storage, row)) return false;
    *out = (copied){copy->payload, *row, i, s->storage->n_files};
    return true;
}

void stk_payload_close(stk_payload_source **source)
{
    stk_payload_source *s = *source;
    if (s == NULL) return;
    copy_close(atomic_load(&s->copy));
    for (uint32_t i = 0; s->files != NULL && i < s->storage->n_files; i++) file_free(atomic_load(&s->files[i]));
    free((void *)s->files);
    free(s->parts);
    stk_bitmap_close(&s->touched);
    free(s);
    *source = NULL;
}

void stk_payload_mirror(stk_payload_source *s)
{
    uint64_t mean = s->storage->n_rows > 0 ? s->storage->total_bytes / s->storage->n_rows : 0;
    uint64_t most = stk_memory_allowed() / 8;
    if (most > MIRROR_MOST) most = MIRROR_MOST;
    if (s->io != STK_IO_AUTO || s->pretend_remote || mean > MIRROR_RECORD || s->storage->total_bytes > most ||
        s->storage->total_bytes < MIRROR_LEAST || s->storage->road != NULL)
        return;
    for (uint32_t i = 0; i < s->storage->n_files; i++) {
        payload_file *f;
        stk_mirror *mirror = NULL, *other = NULL;
        if (file_get(s, i, &f, NULL) != STK_OK || atomic_load(&f->mirror) != NULL) continue;
        if (stk_mirror_open(&f->file, f->n_bytes, &mirror, NULL) != STK_OK) continue;
        if (!atomic_compare_exchange_strong(&f->mirror, &other, mirror)) stk_mirror_close(&mirror);
    }
}

bool stk_payload_copy_some(const stk_payload_source *s, stk_payload_copying *progress)
{
    for (uint64_t left = COPY_BYTES; progress->file < s->storage->n_files;) {
        payload_file *f = atomic_load_explicit(&s->files[progress->file], memory_order_acquire);
        stk_mirror *mirror = f != NULL ? atomic_load(&f->mirror) : NULL;
        if (mirror == NULL || progress->offset >= f->n_bytes) {
            progress->file++;
            progress->offset = 0;
            continue;
        }
        if (left == 0) return true;
        uint64_t next = stk_mirror_fill(mirror, progress->offset), n = next - progress->offset;
        progress->offset = next;
        left -= n < left ? n : left;
    }
    return false;
}

void stk_payload_pretend_remote(stk_payload_source *s) { s->pretend_remote = true; }

const char *stk_payload_road(const stk_payload_source *s)
{
    if (s->storage->road != NULL) return s->storage->road;
    const payload_copy *copy = atomic_load_explicit(&s->copy, memory_order_acquire);
    if (copy != NULL) return stk_payload_road(copy->payload);
    if (s->n_parts > 0) return stk_payload_road(s->parts[0].payload);
    payload_file *f;
    if (s->storage->n_files == 0 || file_get(s, 0, &f, NULL) != STK_OK) return "pread";
    return f->map != NULL ? "mmap" : "pread";
}

stk_status stk_payload_ctx_init(stk_payload_ctx *ctx, const stk_payload_source *source, stk_error *error)
{
    *ctx = (stk_payload_ctx){0};
    ctx->checks = calloc((size_t)source->storage->n_files * 2 + 1, sizeof *ctx->checks);
    if (ctx->checks == NULL) return stk_fail_memory(error, "a reading thread");
    ctx->round = 1;
    return STK_OK;
}

void stk_payload_ctx_free(stk_payload_ctx *ctx)
{
    stk_buffer_free(&ctx->scratch);
    free(ctx->checks);
    *ctx = (stk_payload_ctx){0};
}

/* Round 0 means "never": it is left out when the counter wraps. */
void stk_payload_begin_round(stk_payload_ctx *ctx)
{
    if (++ctx->round == 0) ctx->round = 1;
}

/* Does the record still lie inside the file? Its size is asked for once a round. */
static stk_status check_size(stk_payload_ctx *ctx, uint32_t number, const stk_row *row, const payload_file *f,
                             stk_error *error)
{
    stk_file_check *check = &ctx->checks[number];
    if (check->round != ctx->round) {
        STK_TRY(stk_file_size(&f->file, &check->n_bytes, error));
        check->round = ctx->round;
    }
    if (row->offset + row->n_bytes <= check->n_bytes) return STK_OK;
    return stk_fail(error, STK_ERR_CORRUPT, "%s: was cut short while in use, from %llu to %llu bytes",
                    f->file.path, (unsigned long long)f->n_bytes, (unsigned long long)check->n_bytes);
}

static stk_status scratch_for(stk_payload_ctx *ctx, uint64_t n_bytes, stk_error *error)
{
    if (n_bytes > SIZE_MAX / 2) return stk_fail_memory(error, "a record");
    if (ctx->scratch.capacity > SCRATCH_KEPT && n_bytes <= SCRATCH_KEPT) stk_buffer_free(&ctx->scratch);
    ctx->scratch.n_bytes = 0; /* nothing in it is worth copying when it grows */
    return stk_buffer_resize(&ctx->scratch, (size_t)n_bytes, error);
}

static stk_status check_hash(const uint8_t *data, const stk_row *row, const char *path, stk_error *error)
{
    uint64_t found = stk_hash64(data, (size_t)row->n_bytes);
    if (found == row->xxh3) return STK_OK;
    return stk_fail(error, STK_ERR_CHECKSUM,
                    "%s: the record's bytes are damaged (checksum %016llx, stored %016llx); run stoker verify",
                    path, (unsigned long long)found, (unsigned long long)row->xxh3);
}

static stk_status read_record(const stk_payload_source *s, stk_payload_ctx *ctx, uint64_t i, const stk_row *row,
                              const payload_file *f, stk_error *error)
{
    STK_TRY(scratch_for(ctx, row->n_bytes, error));
    if (f != NULL) return stk_file_read_at(&f->file, ctx->scratch.data, (size_t)row->n_bytes, row->offset, error);
    if (s->storage->ops->fetch == NULL)
        return stk_fail(error, STK_ERR_CORRUPT, "record %llu has no place", (unsigned long long)i);
    return s->storage->ops->fetch(s->storage, i, row, ctx->scratch.data, error);
}

/* Compares the checksum where that is due, and remembers it. */
static stk_status accept(const stk_payload_source *s, uint64_t i, const stk_row *row, const payload_file *f,
                         const uint8_t *data, stk_error *error)
{
    if (__builtin_expect((row->encoding & STK_ENCODING_DEAD) != 0, 0))
        return stk_fail(error, STK_ERR_CHECKSUM,
                        "the record is dead: its bytes were lost and could not be rebuilt; stoker repair --from SRC "
                        "brings it back where its source is found again");
    bool touched = stk_bitmap_get(&s->touched, i);
    if (row->has_xxh3 && (s->verify == STK_VERIFY_ALWAYS || (s->verify == STK_VERIFY_FIRST && !touched)))
        STK_TRY(check_hash(data, row, f != NULL ? f->file.path : s->storage->ops->name, error));
    if (!touched) stk_bitmap_set(&s->touched, i);
    return STK_OK;
}

stk_status stk_payload_get(const stk_payload_source *s, stk_payload_ctx *ctx, uint64_t i, const stk_row *row,
                           const uint8_t **data, stk_error *error)
{
    copied place;
    if (__builtin_expect(in_copy(s, i, row, &place), 0)) {
        ctx->first_check = place.first_check;
        stk_status status = stk_payload_get(place.payload, ctx, place.i, &place.row, data, NULL);
        ctx->first_check = 0;
        if (status == STK_OK) return STK_OK;
    }
    *data = NULL;
    if (row->n_bytes > s->max_record_bytes)
        return stk_fail(error, STK_ERR_LIMIT, "a record of %llu bytes is above the limit max_record_bytes of %llu",
                        (unsigned long long)row->n_bytes, (unsigned long long)s->max_record_bytes);
    payload_file *f = NULL;
    if (row->offset != UINT64_MAX) {
        STK_TRY(file_get(s, row->file, &f, error));
        if (!stk_range_inside(row->offset, row->n_bytes, f->n_bytes))
            return stk_fail(error, STK_ERR_CORRUPT, "%s: a record reaches beyond the file's end", f->file.path);
    }
    const stk_mirror *mirror = f != NULL ? atomic_load_explicit(&f->mirror, memory_order_acquire) : NULL;
    if (mirror != NULL && (*data = stk_mirror_get(mirror, row->offset, row->n_bytes)) != NULL)
        return accept(s, i, row, f, *data, error);
    if (stk_bitmap_get(&s->touched, i) && f != NULL && f->map != NULL) {
        STK_TRY(check_size(ctx, ctx->first_check + row->file, row, f, error));
        *data = f->map + row->offset;
    } else {
        STK_TRY(read_record(s, ctx, i, row, f, error));
        *data = ctx->scratch.data;
    }
    return accept(s, i, row, f, *data, error);
}

stk_status stk_payload_accept(const stk_payload_source *s, uint64_t i, const stk_row *row, const uint8_t *data,
                              stk_error *error)
{
    payload_file *f;
    STK_TRY(file_get(s, row->file, &f, error));
    return accept(s, i, row, f, data, error);
}

void stk_payload_prefetch(const stk_payload_source *s, uint64_t i, const stk_row *row)
{
    copied place;
    if (__builtin_expect(in_copy(s, i, row, &place), 0)) {
        s = place.payload;
        i = place.i;
        row = &place.row;
    }
    if (row->offset == UINT64_MAX || row->n_bytes > PREFETCH_BYTES || row->file >= s->storage->n_files) return;
    const payload_file *f = atomic_load_explicit(&s->files[row->file], memory_order_acquire);
    if (f == NULL || !stk_bitmap_get(&s->touched, i)) return;
    if (!stk_range_inside(row->offset, row->n_bytes, f->n_bytes)) return;
    const stk_mirror *mirror = atomic_load_explicit(&f->mirror, memory_order_acquire);
    if (mirror == NULL && f->map == NULL) return;
    const uint8_t *p = mirror != NULL ? stk_mirror_place(mirror, row->offset) : f->map + row->offset;
    for (uint64_t k = 0; k < row->n_bytes; k += CACHE_LINE) __builtin_prefetch(p + k);
}

bool stk_payload_resident(const stk_payload_source *s, const stk_row *row)
{
    payload_file *f;
    copied place;
    if (row->offset != UINT64_MAX && in_copy(s, ANY_RECORD, row, &place)) {
        s = place.payload;
        row = &place.row;
    }
    if (row->offset == UINT64_MAX || row->n_bytes == 0 || file_get(s, row->file, &f, NULL) != STK_OK)
        return true; /* nothing that could be asked for */
    if (s->pretend_remote) return false;
    if (f->kind == STK_FS_MEMORY) return true;
    const stk_mirror *mirror = atomic_load_explicit(&f->mirror, memory_order_acquire);
    if (mirror != NULL && stk_mirror_get(mirror, row->offset, row->n_bytes) != NULL) return true;
    uint8_t byte;
    struct iovec piece = {.iov_base = &byte, .iov_len = 1};
    off_t last = (off_t)(row->offset + row->n_bytes - 1);
    ssize_t got = preadv2(f->file.fd, &piece, 1, last, RWF_NOWAIT);
    if (got >= 0) return true;
    if (errno == EAGAIN) return false;
    uint64_t start = stk_now_ns();
    (void)stk_file_read_at(&f->file, &byte, 1, (uint64_t)last, NULL);
    return stk_now_ns() - start < RESIDENT_NS;
}

/* Once a file's records are asked for by us, the kernel's guesses only read what nobody wants: after a record that
 * it was asked for in two parts it takes the file for a stream and reads on (measured: a third more than
 * needed). */
static void take_over(payload_file *f)
{
    if (!atomic_flag_test_and_set(&f->taken_over)) (void)posix_fadvise(f->file.fd, 0, 0, POSIX_FADV_RANDOM);
}

bool stk_payload_ask(const stk_payload_source *s, uint32_t file, uint64_t offset, uint64_t n_bytes)
{
    payload_file *f;
    copied place;
    bool copy = in_copy(s, ANY_RECORD, &(stk_row){.file = file, .offset = offset, .n_bytes = n_bytes}, &place);
    if (copy) {
        s = place.payload;
        file = place.row.file;
    }
    if (file_get(s, file, &f, NULL) != STK_OK || f->kind == STK_FS_MEMORY) return true;
    /* A copy lies on a disk of this machine, also where its kind is not known (a container's overlay). */
    if (f->kind == STK_FS_OTHER && !copy) return false;
    take_over(f);
    uint64_t end = offset + n_bytes;
    for (uint64_t at = offset; at < end;) {
        uint64_t next = (at / ASK_BYTES + 1) * ASK_BYTES, stop = next < end ? next : end;
        /* A refusal leaves the reading to the decoders. */
        if (posix_fadvise(f->file.fd, (off_t)at, (off_t)(stop - at), POSIX_FADV_WILLNEED) != 0) break;
        at = stop;
    }
    return true;
}

bool stk_payload_read_range(const stk_payload_source *s, uint32_t file, uint64_t offset, uint64_t n_bytes,
                            uint8_t *data)
{
    payload_file *f;
    if (file_get(s, file, &f, NULL) != STK_OK) return false;
    take_over(f);
    return stk_file_read_at(&f->file, data, (size_t)n_bytes, offset, NULL) == STK_OK;
}
