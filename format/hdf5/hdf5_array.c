/* SPDX-License-Identifier: Apache-2.0 */
#include "format/hdf5/hdf5_array.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/checked.h"
#include "common/fail.h"
#include "format/hdf5/hdf5_filters.h"

/* A decoded chunk in the cache. Held ones are never evicted. Entries are found by a hash table of chains and stand in
 * a ring by the time of their use: with the thousands of chunks that h5py's guessed shapes make, looking through all
 * of them took a twentieth of the time, under the lock. */
typedef struct entry {
    struct entry *chain;         /* the next one in the same slot of the table */
    struct entry *older, *newer; /* the ring; the newest one's newer is the oldest */
    uint64_t cell;
    uint8_t *data; /* NULL = free */
    uint32_t holders;
    bool loading, failed;
} entry;

/* Buffers of a chunk's size come fresh from the system each time, page by page, unless they are kept. */
typedef struct spare {
    stk_buffer raw, scratch;
} spare;
enum { SPARES = 16 };

/* Decoded chunks. They belong to the process that decodes them: after fork() the child would wait for a lock, or for a
 * chunk, that a thread has which it has not. */
typedef struct cache cache;
struct cache {
    pid_t owner;
    cache *older; /* of the process that this one was forked from */
    pthread_mutex_t lock;
    pthread_cond_t loaded;
    entry *entries, *newest;
    entry **table; /* n_table slots, a power of two */
    uint64_t n_table;
    spare spares[SPARES]; /* under lock: buffers that decoding has used and will use again */
    uint32_t n_waiting;   /* for an entry that nobody holds */
    uint32_t n_entries;
};

struct stk_h5_array {
    const stk_h5_plan *plan;
    const stk_h5_dataset *d;
    uint32_t number;
    const stk_file *file;
    stk_h5_child *child;
    size_t row_bytes, chunk_bytes;
    uint64_t chunk_elements;
    uint64_t rows_per_chunk;
    bool whole_rows;    /* chunks hold whole rows: one column of chunks */
    uint32_t run_axis;  /* the last axis that chunks cut; 0: none but the rows' own */
    size_t run_bytes;   /* of the axes behind run_axis, which chunks hold whole */
    uint64_t n_cells;   /* chunks in the grid; 0: too many to count */
    uint32_t n_entries; /* of a cache */
    _Atomic(cache *) cache; /* of the process that was last here; NULL = nothing is cached */
};

enum { AHEAD = 16, MIN_ENTRIES = 2, MAX_ENTRIES = 4096 };
#define WINDOW_BYTES ((uint64_t)4 << 30) /* most that a window of the page-local order may hold */

size_t stk_h5_array_row_bytes(const stk_h5_array *a)
{
    return a->row_bytes;
}

static void cache_free(cache *c)
{
    for (uint32_t i = 0; c->entries != NULL && i < c->n_entries; i++) free(c->entries[i].data);
    for (int i = 0; i < SPARES; i++) {
        stk_buffer_free(&c->spares[i].raw);
        stk_buffer_free(&c->spares[i].scratch);
    }
    free(c->entries);
    free(c->table);
    if (c->owner == getpid()) {
        pthread_cond_destroy(&c->loaded);
        pthread_mutex_destroy(&c->lock);
    }
    free(c);
}

void stk_h5_array_close(stk_h5_array **array)
{
    stk_h5_array *a = *array;
    if (a == NULL) return;
    for (cache *c = atomic_load(&a->cache), *older; c != NULL; c = older) {
        older = c->older;
        cache_free(c);
    }
    free(a);
    *array = NULL;
}

static stk_status check_readable(const stk_h5_dataset *d, stk_error *error)
{
    uint32_t filter = stk_h5_unknown_filter(d);
    if (d->layout == STK_H5_ELSEWHERE)
        return stk_fail(error, STK_ERR_UNSUPPORTED,
                        "data set '%s' keeps its data in other files (external or virtual layout); repack it with h5py: "
                        "f['%s'][...] into a new data set",
                        d->name, d->name);
    if (d->class_ == STK_H5_OTHER)
        return stk_fail(error, STK_ERR_UNSUPPORTED, "data set '%s' has a type or shape that stoker cannot read", d->name);
    if (d->rank == 0) return stk_fail(error, STK_ERR_UNSUPPORTED, "data set '%s' is a single value", d->name);
    if (d->layout == STK_H5_CHUNKED && filter != 0)
        return stk_fail(error, STK_ERR_UNSUPPORTED,
                        "data set '%s' is compressed by HDF5 filter %u; stoker reads gzip, shuffle, fletcher32 and lzf",
                        d->name, filter);
    return STK_OK;
}

static cache *cache_new(uint32_t n)
{
    cache *c = calloc(1, sizeof *c);
    if (c == NULL) return NULL;
    for (c->n_table = 16; c->n_table < 2 * (uint64_t)n;) c->n_table *= 2;
    c->owner = getpid();
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->loaded, NULL);
    c->entries = calloc(n, sizeof *c->entries);
    c->table = calloc(c->n_table, sizeof(entry *));
    if (c->entries == NULL || c->table == NULL) {
        cache_free(c);
        return NULL;
    }
    c->n_entries = n;
    for (uint32_t i = 0; i < n; i++) {
        c->entries[i].older = &c->entries[(i + 1) % n];
        c->entries[i].newer = &c->entries[(i + n - 1) % n];
    }
    c->newest = c->entries;
    return c;
}

/* This process's own; made when it is first needed here, without a lock, as fork() may leave one held. */
static stk_status own_cache(stk_h5_array *a, cache **out, stk_error *error)
{
    cache *old = atomic_load(&a->cache);
    *out = old;
    if (old != NULL && old->owner == getpid()) return STK_OK;
    cache *mine = cache_new(a->n_entries);
    if (mine == NULL) return stk_fail_memory(error, "a chunk cache");
    mine->older = old;
    *out = mine;
    if (atomic_compare_exchange_strong(&a->cache, &old, mine)) return STK_OK;
    cache_free(mine);
    *out = old; /* of another thread that was faster */
    return STK_OK;
}

static stk_status measure(stk_h5_array *a, uint64_t cache_bytes, stk_error *error)
{
    const stk_h5_dataset *d = a->d;
    uint64_t row = d->element_bytes;
    a->chunk_elements = 1;
    a->whole_rows = true;
    for (uint32_t i = 0; i < d->rank; i++) {
        if (i > 0 && !stk_mul_u64(row, d->dims[i], &row)) return stk_fail_memory(error, "a row");
        if (d->layout != STK_H5_CHUNKED) continue;
        a->chunk_elements *= d->chunk[i]; /* stk_h5_plan_check: under 4 GiB */
        if (i > 0 && d->chunk[i] != d->dims[i]) {
            a->whole_rows = false;
            a->run_axis = i;
        }
    }
    if (row > SIZE_MAX / 2) return stk_fail_memory(error, "a row");
    a->row_bytes = (size_t)row;
    if (d->layout != STK_H5_CHUNKED) return STK_OK;
    a->chunk_bytes = (size_t)(a->chunk_elements * d->element_bytes);
    a->run_bytes = d->element_bytes;
    for (uint32_t i = a->run_axis + 1; i < d->rank; i++) a->run_bytes *= (size_t)d->dims[i];
    a->rows_per_chunk = d->chunk[0];
    a->n_cells = 1;
    for (uint32_t i = 0; i < d->rank; i++)
        if (!stk_mul_u64(a->n_cells, (d->dims[i] + d->chunk[i] - 1) / d->chunk[i], &a->n_cells)) a->n_cells = 0;
    uint64_t each = a->chunk_bytes > 0 ? a->chunk_bytes : 1, n = cache_bytes / each, window = WINDOW_BYTES / each;
    if (window > STK_H5_WINDOW_CHUNKS) window = STK_H5_WINDOW_CHUNKS;
    if (n < window) n = window;
    a->n_entries = n < MIN_ENTRIES ? MIN_ENTRIES : n > MAX_ENTRIES ? MAX_ENTRIES : (uint32_t)n;
    cache *c;
    return own_cache(a, &c, error);
}

stk_status stk_h5_array_open(const stk_h5_plan *plan, uint32_t dataset, const stk_file *file, stk_h5_child *child,
                             uint64_t cache_bytes, stk_h5_array **out, stk_error *error)
{
    *out = NULL;
    const stk_h5_dataset *d = stk_h5_datasets(plan) + dataset;
    STK_TRY(check_readable(d, error));
    stk_h5_array *a = calloc(1, sizeof *a);
    if (a == NULL) return stk_fail_memory(error, "an HDF5 reader");
    stk_status status;
    a->plan = plan;
    a->d = d;
    a->number = dataset;
    a->file = file;
    a->child = child;
    STK_GOTO(measure(a, cache_bytes, error));
cleanup:
    if (status != STK_OK) stk_h5_array_close(&a);
    *out = a;
    return status;
}

uint64_t stk_h5_array_chunk_rows(const stk_h5_array *a)
{
    if (a->d->layout != STK_H5_CHUNKED || stk_h5_array_row_address(a, 0) != STK_H5_NO_ADDRESS) return 0;
    return a->rows_per_chunk;
}

bool stk_h5_array_fits_cache(const stk_h5_array *a)
{
    return a->n_cells > 0 && a->n_cells <= a->n_entries;
}

uint64_t stk_h5_array_row_address(const stk_h5_array *a, uint64_t row)
{
    const stk_h5_dataset *d = a->d;
    if (d->layout == STK_H5_CONTIGUOUS)
        return d->address == STK_H5_NO_ADDRESS ? STK_H5_NO_ADDRESS : d->address + row * a->row_bytes;
    if (d->layout != STK_H5_CHUNKED || !a->whole_rows || d->n_filters > 0 || d->n_chunks == 0) return STK_H5_NO_ADDRESS;
    const stk_h5_chunk *c = stk_h5_chunks(a->plan) + d->first_chunk + row / a->rows_per_chunk;
    if (c->address == STK_H5_NO_ADDRESS || c->n_bytes != a->chunk_bytes) return STK_H5_NO_ADDRESS;
    return c->address + row % a->rows_per_chunk * a->row_bytes;
}

static void fill(const stk_h5_dataset *d, uint8_t *out, size_t n_bytes)
{
    memset(out, 0, n_bytes);
    bool zero = true;
    for (size_t i = 0; i < sizeof d->fill; i++) zero = zero && d->fill[i] == 0;
    if (zero || d->element_bytes > sizeof d->fill) return;
    for (size_t i = 0; i + d->element_bytes <= n_bytes; i += d->element_bytes) memcpy(out + i, d->fill, d->element_bytes);
}

/* True when the chunk sticks out of the extent on some axis. */
static bool is_edge(const stk_h5_dataset *d, uint64_t cell)
{
    for (uint32_t i = d->rank; i-- > 0;) {
        uint64_t cells = (d->dims[i] + d->chunk[i] - 1) / d->chunk[i];
        uint64_t at = cell % cells;
        cell /= cells;
        if ((at + 1) * d->chunk[i] > d->dims[i]) return true;
    }
    return false;
}

static stk_status fetch_raw(stk_h5_array *a, uint64_t cell, stk_buffer *raw, uint32_t *mask, stk_error *error)
{
    const stk_h5_dataset *d = a->d;
    if (d->n_chunks == 0) {
        if (a->child == NULL) return stk_fail(error, STK_ERR_INTERNAL, "chunks of '%s' are not listed", d->name);
        return stk_h5_child_chunk(a->child, a->number, cell, raw, mask, error);
    }
    const stk_h5_chunk *c = stk_h5_chunks(a->plan) + d->first_chunk + cell;
    raw->n_bytes = 0;
    *mask = c->filter_mask;
    if (c->address == STK_H5_NO_ADDRESS) return STK_OK;
    STK_TRY(stk_buffer_resize(raw, c->n_bytes, error));
    return stk_file_read_at(a->file, raw->data, c->n_bytes, c->address, error);
}

static spare take_spare(cache *c)
{
    spare out = {0};
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < SPARES && out.raw.data == NULL; i++) {
        out = c->spares[i];
        c->spares[i] = (spare){0};
    }
    pthread_mutex_unlock(&c->lock);
    return out;
}

static void give_spare(cache *c, spare *used)
{
    pthread_mutex_lock(&c->lock);
    for (int i = 0; i < SPARES && used->raw.data != NULL; i++) {
        if (c->spares[i].raw.data != NULL) continue;
        c->spares[i] = *used;
        *used = (spare){0};
    }
    pthread_mutex_unlock(&c->lock);
    stk_buffer_free(&used->raw);
    stk_buffer_free(&used->scratch);
}

static stk_status decode_cell(stk_h5_array *a, cache *c, uint64_t cell, uint8_t *out, stk_error *error)
{
    spare use = take_spare(c);
    uint32_t mask = 0;
    stk_status status;
    STK_GOTO(fetch_raw(a, cell, &use.raw, &mask, error));
    if (use.raw.n_bytes == 0) {
        fill(a->d, out, a->chunk_bytes);
        goto cleanup;
    }
    if (a->d->raw_edges && is_edge(a->d, cell)) mask = UINT32_MAX;
    STK_GOTO(stk_h5_unfilter(a->d, mask, &use.raw, &use.scratch, out, a->chunk_bytes, error));
cleanup:
    if (status != STK_OK) stk_fail_prefix(error, "%s: '%s', chunk %llu: ", a->file->path, a->d->name,
                                          (unsigned long long)cell);
    give_spare(c, &use);
    return status;
}

static entry **slot_of(cache *c, uint64_t cell)
{
    return &c->table[(cell * 0x9e3779b97f4a7c15u >> 32) & (c->n_table - 1)];
}

static entry *find(cache *c, uint64_t cell)
{
    for (entry *e = *slot_of(c, cell); e != NULL; e = e->chain)
        if (e->cell == cell && !e->failed) return e;
    return NULL;
}

/* Takes an entry out of the table, if it was in there, and puts it back as another cell's. */
static void rename_entry(cache *c, entry *e, uint64_t cell)
{
    for (entry **at = slot_of(c, e->cell); *at != NULL; at = &(*at)->chain) {
        if (*at != e) continue;
        *at = e->chain;
        break;
    }
    entry **slot = slot_of(c, cell);
    e->cell = cell;
    e->chain = *slot;
    *slot = e;
}

static void make_newest(cache *c, entry *e)
{
    if (c->newest == e) return;
    e->older->newer = e->newer;
    e->newer->older = e->older;
    entry *oldest = c->newest->newer;
    e->older = c->newest;
    e->newer = oldest;
    c->newest->newer = e;
    oldest->older = e;
    c->newest = e;
}

/* Finds the entry of a cell, or takes the oldest free one for it (marked loading); NULL when all are held. */
static entry *claim(stk_h5_array *a, cache *c, uint64_t cell, bool *no_memory)
{
    entry *e = find(c, cell);
    if (e != NULL) return e;
    e = c->newest->newer;
    while (e->holders > 0 || e->loading) {
        if (e == c->newest) return NULL;
        e = e->newer;
    }
    if (e->data == NULL) e->data = malloc(a->chunk_bytes > 0 ? a->chunk_bytes : 1);
    *no_memory = e->data == NULL;
    if (*no_memory) return NULL;
    rename_entry(c, e, cell);
    e->loading = true;
    e->failed = false;
    return e;
}

static void decode_entry(stk_h5_array *a, cache *c, entry *e, stk_status *status, stk_error *error)
{
    pthread_mutex_unlock(&c->lock);
    *status = decode_cell(a, c, e->cell, e->data, error);
    pthread_mutex_lock(&c->lock);
    e->loading = false;
    e->failed = *status != STK_OK;
    pthread_cond_broadcast(&c->loaded);
}

/* Lock held. Threads that read in order meet in one chunk: while one decodes it the others would wait. Where the
 * chunk before is at hand, which is how reading in order shows, each takes one of the next chunks instead. */
static void decode_ahead(stk_h5_array *a, cache *c, uint64_t cell)
{
    if (cell == 0 || find(c, cell - 1) == NULL) return;
    for (uint64_t next = cell + 1; next < a->n_cells && next <= cell + AHEAD; next++) {
        if (find(c, next) != NULL) continue;
        bool no_memory = false;
        entry *e = claim(a, c, next, &no_memory);
        if (e == NULL) return;
        stk_status status;
        e->holders++;
        make_newest(c, e);
        decode_entry(a, c, e, &status, NULL); /* whoever wants the chunk meets the failure himself */
        if (--e->holders == 0 && c->n_waiting > 0) pthread_cond_broadcast(&c->loaded);
        return;
    }
}

/* The decoded chunk, held until drop(). */
static stk_status hold(stk_h5_array *a, cache *c, uint64_t cell, entry **out, stk_error *error)
{
    stk_status status = STK_OK;
    pthread_mutex_lock(&c->lock);
    bool no_memory = false;
    entry *e;
    /* A thread holds one entry at most, so somebody always gets on and gives his back. */
    while ((e = claim(a, c, cell, &no_memory)) == NULL && !no_memory) {
        c->n_waiting++;
        pthread_cond_wait(&c->loaded, &c->lock);
        c->n_waiting--;
    }
    if (e == NULL) {
        pthread_mutex_unlock(&c->lock);
        return stk_fail_memory(error, "a decoded HDF5 chunk");
    }
    e->holders++;
    make_newest(c, e);
    if (e->loading && e->holders == 1) {
        decode_entry(a, c, e, &status, error);
    } else {
        if (e->loading) decode_ahead(a, c, cell);
        while (e->loading) pthread_cond_wait(&c->loaded, &c->lock);
        if (e->failed) status = stk_fail(error, STK_ERR_CORRUPT, "%s: '%s', chunk %llu cannot be read", a->file->path,
                                         a->d->name, (unsigned long long)cell);
    }
    if (status != STK_OK && --e->holders == 0) pthread_cond_broadcast(&c->loaded);
    pthread_mutex_unlock(&c->lock);
    *out = e;
    return status;
}

static void drop(cache *c, entry *e)
{
    pthread_mutex_lock(&c->lock);
    if (--e->holders == 0 && c->n_waiting > 0) pthread_cond_broadcast(&c->loaded);
    pthread_mutex_unlock(&c->lock);
}

/* n runs of `run` bytes, a step apart on either side. Chunks that cut the channels leave runs of a byte or a few,
 * where a call of memcpy for each costs more than the bytes (a quarter of the time of inflating them). */
static void copy_runs(uint8_t *to, size_t to_step, const uint8_t *from, size_t from_step, uint64_t n, size_t run)
{
    if (run == 1) {
        for (uint64_t i = 0; i < n; i++) to[i * to_step] = from[i * from_step];
        return;
    }
    for (uint64_t i = 0; i < n; i++) memcpy(to + i * to_step, from + i * from_step, run);
}

/* Copies what one chunk holds of a row into out (the row's bytes). corner: the chunk's first element on axes
 * 1 .. rank-1. The axes behind a->run_axis are a->run_bytes together in both. */
static void copy_part(const stk_h5_array *a, const uint8_t *chunk, uint64_t row_in_chunk, const uint64_t *corner,
                      uint8_t *out)
{
    const stk_h5_dataset *d = a->d;
    uint32_t inner = a->run_axis; /* not 0: read_whole_rows has those */
    uint64_t index[STK_H5_MAX_RANK] = {0}, extent[STK_H5_MAX_RANK];
    for (uint32_t i = 1; i <= inner; i++) {
        uint64_t left = d->dims[i] - corner[i];
        extent[i] = left < d->chunk[i] ? left : d->chunk[i];
    }
    size_t run = (size_t)extent[inner] * a->run_bytes; /* along the innermost cut axis, elements lie side by side */
    uint32_t outer = inner - 1;                        /* the axis that copy_runs walks; 0: there is none */
    size_t to_step = (size_t)d->dims[inner] * a->run_bytes, from_step = (size_t)d->chunk[inner] * a->run_bytes;
    for (;;) {
        uint64_t from = row_in_chunk, to = 0;
        for (uint32_t i = 1; i <= inner; i++) {
            from = from * d->chunk[i] + index[i];
            to = to * d->dims[i] + corner[i] + index[i];
        }
        copy_runs(out + to * a->run_bytes, to_step, chunk + from * a->run_bytes, from_step,
                  outer > 0 ? extent[outer] : 1, run);
        uint32_t axis = outer > 0 ? outer - 1 : 0;
        while (axis >= 1 && ++index[axis] == extent[axis]) index[axis--] = 0;
        if (axis == 0) return;
    }
}

/* Rows that no chunk cuts: one copy for all that a chunk holds of them. */
static stk_status read_whole_rows(stk_h5_array *a, cache *c, uint64_t first, uint64_t n, uint8_t *out, stk_error *error)
{
    while (n > 0) {
        uint64_t at = first % a->rows_per_chunk, some = a->rows_per_chunk - at;
        if (some > n) some = n;
        size_t n_bytes = (size_t)some * a->row_bytes;
        entry *e = NULL;
        STK_TRY(hold(a, c, first / a->rows_per_chunk, &e, error));
        memcpy(out, e->data + at * a->row_bytes, n_bytes);
        drop(c, e);
        first += some;
        n -= some;
        out += n_bytes;
    }
    return STK_OK;
}

static stk_status read_row(stk_h5_array *a, cache *c, uint64_t row, uint8_t *out, stk_error *error)
{
    const stk_h5_dataset *d = a->d;
    uint64_t per_row = 1, cells[STK_H5_MAX_RANK];
    for (uint32_t i = 1; i < d->rank; i++) {
        cells[i] = (d->dims[i] + d->chunk[i] - 1) / d->chunk[i];
        per_row *= cells[i];
    }
    for (uint64_t part = 0; part < per_row; part++) {
        uint64_t corner[STK_H5_MAX_RANK] = {0}, left = part;
        for (uint32_t i = d->rank; i-- > 1;) {
            corner[i] = left % cells[i] * d->chunk[i];
            left /= cells[i];
        }
        entry *e = NULL;
        STK_TRY(hold(a, c, row / d->chunk[0] * per_row + part, &e, error));
        copy_part(a, e->data, row % d->chunk[0], corner, out);
        drop(c, e);
    }
    return STK_OK;
}

stk_status stk_h5_array_read(stk_h5_array *a, uint64_t first, uint64_t n, uint8_t *out, stk_error *error)
{
    const stk_h5_dataset *d = a->d;
    if (!stk_range_inside(first, n, d->dims[0])) return stk_fail(error, STK_ERR_ARGUMENT, "'%s': no such row", d->name);
    size_t n_bytes = (size_t)n * a->row_bytes;
    if (n_bytes == 0) return STK_OK;
    if (d->layout == STK_H5_COMPACT) {
        memcpy(out, stk_h5_text(a->plan) + d->text_offset + first * a->row_bytes, n_bytes);
        return STK_OK;
    }
    if (d->layout == STK_H5_CONTIGUOUS) {
        if (d->address != STK_H5_NO_ADDRESS)
            return stk_file_read_at(a->file, out, n_bytes, d->address + first * a->row_bytes, error);
        fill(d, out, n_bytes);
        return STK_OK;
    }
    cache *c;
    STK_TRY(own_cache(a, &c, error));
    if (a->whole_rows) return read_whole_rows(a, c, first, n, out, error);
    for (uint64_t i = 0; i < n; i++) STK_TRY(read_row(a, c, first + i, out + i * a->row_bytes, error));
    return STK_OK;
}
