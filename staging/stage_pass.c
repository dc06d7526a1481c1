/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes go through a buffer because their checksum is wanted: copy_file_range() and splice() save a copy and give
 * nothing to hash, and between two file systems the kernel copies anyway. Reading back all that was written would cost a
 * third copy (CPU time of 2 GB into tmpfs: cp 0.83 s, with a checksum 0.93 s, with all read back too 1.17 s), and would
 * ask the page cache, not the disk; so one piece in 16 is, which finds a file system that errs as a habit. A new copy
 * under `verify` is checked as a whole, from the disk. */
#include "staging/stage_pass.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/fail.h"
#include "common/hash.h"

enum { MAX_THREADS = 64, NOTHING_OPEN = -1, READ_BACK_EACH = 16, STEP = 128 << 10 };

/* A block in work. */
typedef struct live_block {
    uint64_t number;
    _Atomic uint32_t left; /* pieces */
    atomic_bool bad;       /* a piece could not be read back */
} live_block;

typedef struct pass_state {
    const stk_stage_pass *pass;
    stk_stage_map *map;
    live_block *live;
    uint64_t n_live;
    uint64_t per_block; /* pieces of a whole block */
    uint64_t *hashes;   /* [n_live * per_block] */
    _Atomic uint64_t next, bytes_done;
    atomic_bool stop;
    pthread_mutex_t lock;
    pthread_cond_t finished;
    /* Under lock: */
    uint32_t running;
    stk_status status;
    stk_error error;
} pass_state;

/* A thread's own open files: of the file that it worked on last. */
typedef struct worker {
    pass_state *state;
    uint8_t *piece;
    stk_hasher *hasher;
    int64_t open_file;
    stk_file source, target;
    char target_path[STK_STAGE_PATH];
} worker;

bool stk_stage_target(const char *folder, const stk_stage_source *source, bool subset, uint32_t i,
                      char out[STK_STAGE_PATH])
{
    int n = snprintf(out, STK_STAGE_PATH, "%s/%s%s%s", folder, source->top, subset ? ".partial" : "",
                     source->files[i].name + strlen(source->top));
    return n >= 0 && n < STK_STAGE_PATH;
}

static bool is_for(stk_pass_kind kind, uint32_t state)
{
    if (kind == STK_PASS_CHECK) return state == STK_BLOCK_CLAIMED || state == STK_BLOCK_GOOD;
    return state == STK_BLOCK_WANTED;
}

static stk_status open_files(worker *w, uint32_t file, stk_error *error)
{
    const stk_stage_pass *pass = w->state->pass;
    if (w->open_file == (int64_t)file) return STK_OK;
    stk_file_close(&w->source);
    stk_file_close(&w->target);
    w->open_file = NOTHING_OPEN;
    if (!stk_stage_target(pass->folder, pass->source, pass->subset, file, w->target_path))
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", pass->folder);
    if (pass->kind == STK_PASS_CHECK) {
        STK_TRY(stk_file_open_read(w->target_path, &w->target, error));
    } else {
        STK_TRY(stk_file_open_read(pass->source->files[file].path, &w->source, error));
        STK_TRY(stk_file_open_update(w->target_path, &w->target, error));
    }
    w->open_file = (int64_t)file;
    return STK_OK;
}

/* In steps that stay in a core's second-level cache between reading, hashing and writing. */
static stk_status copy_piece(worker *w, uint64_t offset, size_t n, uint64_t *hash, stk_error *error)
{
    stk_hasher_reset(w->hasher);
    for (size_t at = 0, step; at < n; at += step) {
        step = n - at < STEP ? n - at : STEP;
        STK_TRY(stk_file_read_at(&w->source, w->piece, step, offset + at, error));
        stk_hasher_add(w->hasher, w->piece, step);
        STK_TRY(stk_file_write_at(&w->target, w->piece, step, offset + at, error));
    }
    *hash = stk_hasher_result64(w->hasher);
    if (offset / STK_STAGE_PIECE % READ_BACK_EACH != 0) return STK_OK;
    STK_TRY(stk_file_read_at(&w->target, w->piece, n, offset, error));
    if (stk_hash64(w->piece, n) == *hash) return STK_OK;
    return stk_fail(error, STK_ERR_CHECKSUM,
                    "%s: what was written at byte %llu reads back otherwise: the disk or the memory of this machine "
                    "is failing",
                    w->target_path, (unsigned long long)offset);
}

/* All pieces are there: what is the block worth? */
static stk_status finish_block(worker *w, live_block *live, const uint64_t *hashes, stk_error *error)
{
    const stk_stage_pass *pass = w->state->pass;
    stk_stage_block *block = &w->state->map->blocks[live->number];
    size_t n = (size_t)((block->n_bytes + STK_STAGE_PIECE - 1) / STK_STAGE_PIECE);
    uint64_t hash = stk_hash64(hashes, n * sizeof *hashes);
    if (pass->kind == STK_PASS_CHECK) {
        block->state = !atomic_load(&live->bad) && hash == block->hash ? STK_BLOCK_GOOD : STK_BLOCK_WANTED;
        return STK_OK;
    }
    if (pass->kind == STK_PASS_MEND && hash != block->hash)
        return stk_fail(error, STK_ERR_STATE,
                        "%s: gives other bytes at %llu than when it was staged, with the same size and time; check it "
                        "with 'stoker verify'",
                        pass->source->files[block->file].path, (unsigned long long)block->offset);
    block->hash = hash;
    block->state = STK_BLOCK_GOOD;
    return pass->journal != NULL ? stk_stage_journal_put(pass->journal, live->number, hash, error) : STK_OK;
}

static stk_status do_piece(worker *w, uint64_t number, stk_error *error)
{
    pass_state *s = w->state;
    live_block *live = &s->live[number / s->per_block];
    const stk_stage_block *block = &s->map->blocks[live->number];
    uint64_t at = number % s->per_block * STK_STAGE_PIECE;
    if (at >= block->n_bytes) return STK_OK;
    uint64_t rest = block->n_bytes - at, offset = block->offset + at;
    size_t n = rest < STK_STAGE_PIECE ? (size_t)rest : STK_STAGE_PIECE;
    uint64_t *hash = &s->hashes[number];
    if (s->pass->kind == STK_PASS_CHECK) {
        /* What cannot be read is bad, and copied again. */
        if (open_files(w, block->file, NULL) == STK_OK && stk_file_read_at(&w->target, w->piece, n, offset, NULL) == STK_OK)
            *hash = stk_hash64(w->piece, n);
        else
            atomic_store(&live->bad, true);
    } else {
        STK_TRY(open_files(w, block->file, error));
        STK_TRY(copy_piece(w, offset, n, hash, error));
    }
    atomic_fetch_add(&s->bytes_done, n);
    if (atomic_fetch_sub(&live->left, 1) != 1) return STK_OK;
    return finish_block(w, live, &s->hashes[number / s->per_block * s->per_block], error);
}

static void report_end(pass_state *s, stk_status status, const stk_error *error)
{
    pthread_mutex_lock(&s->lock);
    if (status != STK_OK && s->status == STK_OK) {
        s->status = status;
        s->error = *error;
        atomic_store(&s->stop, true);
    }
    s->running--;
    pthread_cond_signal(&s->finished);
    pthread_mutex_unlock(&s->lock);
}

static void *work(void *argument)
{
    pass_state *s = argument;
    stk_error error = {0};
    worker w = {.state = s, .open_file = NOTHING_OPEN, .source = STK_FILE_CLOSED, .target = STK_FILE_CLOSED};
    stk_status status = STK_OK;
    w.piece = aligned_alloc(4096, STK_STAGE_PIECE);
    w.hasher = stk_hasher_open();
    if (w.piece == NULL || w.hasher == NULL) status = stk_fail_memory(&error, "a piece");
    while (status == STK_OK && !atomic_load_explicit(&s->stop, memory_order_relaxed)) {
        uint64_t number = atomic_fetch_add(&s->next, 1);
        if (number >= s->n_live * s->per_block) break;
        status = do_piece(&w, number, &error);
    }
    stk_file_close(&w.source);
    if (s->pass->kind == STK_PASS_CHECK || status != STK_OK)
        stk_file_close(&w.target);
    else
        status = stk_file_close_checked(&w.target, &error);
    free(w.piece);
    stk_hasher_close(&w.hasher);
    report_end(s, status, &error);
    return NULL;
}

static bool tell(pass_state *s)
{
    const stk_stage_pass *pass = s->pass;
    if (pass->progress == NULL) return true;
    stk_stage_progress progress = {.phase = pass->phase,
                                   .bytes_done = pass->bytes_before + atomic_load(&s->bytes_done),
                                   .bytes_total = pass->bytes_total,
                                   .seconds = (double)(stk_now_ns() - pass->started_ns) * 1e-9};
    return pass->progress(pass->user, &progress);
}

/* Ten times a second until all threads have ended. */
static void supervise(pass_state *s)
{
    pthread_mutex_lock(&s->lock);
    while (s->running > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&s->finished, &s->lock, &until) == 0) continue;
        pthread_mutex_unlock(&s->lock);
        bool go_on = tell(s);
        pthread_mutex_lock(&s->lock);
        if (go_on || s->status != STK_OK) continue;
        s->status = stk_fail(&s->error, STK_ERR_CANCELLED, "cancelled");
        atomic_store(&s->stop, true);
    }
    pthread_mutex_unlock(&s->lock);
}

static stk_status run_threads(pass_state *s)
{
    pthread_t threads[MAX_THREADS];
    uint32_t n = s->pass->n_threads < 1 ? 1 : s->pass->n_threads > MAX_THREADS ? MAX_THREADS : s->pass->n_threads;
    uint32_t started = 0;
    int rc = 0;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&s->lock);
    for (; started < n && rc == 0; started += rc == 0) {
        rc = pthread_create(&threads[started], NULL, work, s);
        s->running += rc == 0;
    }
    pthread_mutex_unlock(&s->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    /* Fewer threads than wanted do the work as well. */
    if (started == 0) {
        (void)stk_fail_errno(&s->error, rc, "cannot start a thread");
        s->error.status = STK_ERR_THREAD;
        return STK_ERR_THREAD;
    }
    supervise(s);
    for (uint32_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
    return s->status;
}

static stk_status list_blocks(pass_state *s, stk_error *error)
{
    const stk_stage_map *map = s->map;
    for (uint64_t b = 0; b < map->n_blocks; b++) s->n_live += is_for(s->pass->kind, map->blocks[b].state);
    s->per_block = map->block_bytes / STK_STAGE_PIECE;
    s->live = calloc((size_t)s->n_live + 1, sizeof *s->live);
    s->hashes = calloc((size_t)(s->n_live * s->per_block) + 1, sizeof *s->hashes);
    if (s->live == NULL || s->hashes == NULL) return stk_fail_memory(error, "the list of blocks");
    uint64_t n = 0;
    for (uint64_t b = 0; b < map->n_blocks; b++) {
        const stk_stage_block *block = &map->blocks[b];
        if (!is_for(s->pass->kind, block->state)) continue;
        s->live[n].number = b;
        atomic_init(&s->live[n].left, (uint32_t)((block->n_bytes + STK_STAGE_PIECE - 1) / STK_STAGE_PIECE));
        n++;
    }
    return STK_OK;
}

stk_status stk_stage_pass_run(const stk_stage_pass *pass, stk_stage_map *map, uint64_t *n_bytes, stk_error *error)
{
    pass_state s = {.pass = pass, .map = map};
    stk_status status = list_blocks(&s, error);
    if (status == STK_OK && s.n_live > 0) {
        pthread_mutex_init(&s.lock, NULL);
        pthread_cond_init(&s.finished, NULL);
        status = run_threads(&s);
        if (status != STK_OK && error != NULL) *error = s.error;
        pthread_cond_destroy(&s.finished);
        pthread_mutex_destroy(&s.lock);
    }
    if (n_bytes != NULL) *n_bytes = atomic_load(&s.bytes_done);
    free(s.live);
    free(s.hashes);
    return status;
}
