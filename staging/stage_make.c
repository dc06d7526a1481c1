/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of steps is what makes a kill harmless: bytes, then the journal's slot; when all blocks are there, sync,
 * then the record, then the rename, which is the moment from which the copy counts. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/file.h"
#include "staging/stage_base.h"
#include "staging/stage_job.h"
#include "staging/stage_pass.h"

uint64_t stk_stage_part_bytes(const char *base, const char *key)
{
    char part[STK_STAGE_PATH];
    return base[0] != '\0' && stk_stage_join(part, base, key, ".part") ? stk_stage_disk_bytes(part) : 0;
}

uint64_t stk_stage_beside(uint64_t n_bytes) { return ((uint64_t)1 << 20) + (n_bytes >> 20) * 8; }

stk_status stk_stage_job_pass(stk_stage_job *job, int kind, const char *phase, const char *folder,
                              const stk_file *journal, uint64_t *n_bytes, stk_error *error)
{
    uint64_t total = kind == STK_PASS_CHECK
                         ? stk_stage_map_bytes(&job->map, STK_BLOCK_CLAIMED) + stk_stage_map_bytes(&job->map, STK_BLOCK_GOOD)
                         : stk_stage_map_bytes(&job->map, STK_BLOCK_ABSENT);
    stk_stage_pass pass = {.kind = (stk_pass_kind)kind,
                           .phase = phase,
                           .source = &job->source,
                           .folder = folder,
                           .subset = job->subset,
                           .journal = journal,
                           .n_threads = job->n_threads,
                           .progress = stk_stage_job_progress,
                           .user = job,
                           .started_ns = job->started_ns,
                           .bytes_before = kind == STK_PASS_CHECK ? 0 : stk_stage_map_bytes(&job->map, STK_BLOCK_GOOD),
                           .bytes_total = total};
    return stk_stage_pass_run(&pass, &job->map, n_bytes, error);
}

/* ---- What goes in. */

/* Whole shards of a folder, else the first blocks. The same room gives the same choice. */
static uint64_t plan_subset(stk_stage_job *job, uint64_t room)
{
    stk_stage_map *map = &job->map;
    uint64_t taken = 0;
    for (uint32_t i = 0; i < map->n_files; i++) {
        bool data = i < job->source.n_data, whole_only = job->source.is_folder;
        bool fits = data && taken + job->source.files[i].n_bytes <= room;
        for (uint64_t b = map->first[i]; b < map->first[i + 1]; b++) {
            stk_stage_block *block = &map->blocks[b];
            bool take = data && (whole_only ? fits : taken + block->n_bytes <= room);
            if (take)
                taken += block->n_bytes;
            else
                block->state = STK_BLOCK_ABSENT;
        }
    }
    return taken;
}

static stk_status plan(stk_stage_job *job, stk_error *error)
{
    const stk_place *place = &job->places[job->place];
    uint64_t room = place->room_bytes + stk_stage_disk_bytes(job->part), beside = stk_stage_beside(job->source.n_bytes);
    room = room > beside ? room - beside : 0;
    if (job->o->max_bytes != 0 && room > job->o->max_bytes) room = job->o->max_bytes;
    job->subset = job->source.n_bytes > room;
    if (!job->subset || plan_subset(job, room) > 0) return STK_OK;
    return stk_fail(error, STK_ERR_NO_SPACE, "%s: has no room for any part of %s (%.2f GB); give --to or --keep-free",
                    place->folder, job->source.path, (double)job->source.n_bytes / 1e9);
}

/* ---- The files. */

/* Whether file i has a place in the copy. */
static bool has_blocks(const stk_stage_job *job, uint32_t i)
{
    if (!job->subset) return true;
    for (uint64_t b = job->map.first[i]; b < job->map.first[i + 1]; b++)
        if (job->map.blocks[b].state != STK_BLOCK_ABSENT) return true;
    return false;
}

/* Blocks from an earlier, roomier plan are given back to the disk. */
static void drop_absent(stk_stage_job *job, uint32_t i, int fd)
{
    for (uint64_t b = job->map.first[i]; b < job->map.first[i + 1]; b++) {
        const stk_stage_block *block = &job->map.blocks[b];
        if (block->state == STK_BLOCK_ABSENT)
            (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)block->offset, (off_t)block->n_bytes);
    }
}

static stk_status make_file(stk_stage_job *job, uint32_t i, stk_error *error)
{
    char path[STK_STAGE_PATH];
    if (!stk_stage_target(job->part, &job->source, job->subset, i, path))
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", job->part);
    if (!has_blocks(job, i)) {
        unlink(path);
        return STK_OK;
    }
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return stk_fail_errno(error, errno, "%s: cannot be made", path);
    stk_status status = STK_OK;
    if (ftruncate(fd, (off_t)job->source.files[i].n_bytes) != 0)
        status = stk_fail_errno(error, errno, "%s: cannot have %llu bytes", path,
                                (unsigned long long)job->source.files[i].n_bytes);
    else if (job->subset)
        drop_absent(job, i, fd);
    close(fd);
    return status;
}

static stk_status make_files(stk_stage_job *job, stk_error *error)
{
    char right[STK_STAGE_PATH], other[STK_STAGE_PATH];
    if (!stk_stage_join(right, job->part, job->source.top, job->subset ? ".partial" : "") ||
        !stk_stage_join(other, job->part, job->source.top, job->subset ? "" : ".partial"))
        return stk_fail(error, STK_ERR_ARGUMENT, "%s: path too long", job->part);
    (void)rename(other, right); /* of an earlier plan with other room */
    if (job->source.is_folder && mkdir(right, 0700) != 0 && errno != EEXIST)
        return stk_fail_errno(error, errno, "%s: cannot be made", right);
    for (uint32_t i = 0; i < job->source.n_files; i++) STK_TRY(make_file(job, i, error));
    return STK_OK;
}

static stk_status sync_files(stk_stage_job *job, stk_error *error)
{
    if (job->places[job->place].kind == STK_PLACE_MEMORY) return STK_OK;
    for (uint32_t i = 0; i < job->source.n_files; i++) {
        char path[STK_STAGE_PATH];
        stk_file file;
        if (!has_blocks(job, i) || !stk_stage_target(job->part, &job->source, job->subset, i, path)) continue;
        STK_TRY(stk_file_open_update(path, &file, error));
        stk_status status = stk_file_sync(&file, error);
        stk_file_close(&file);
        STK_TRY(status);
    }
    return STK_OK;
}

/* Every block of a finished copy against its checksum, as the disk has it and not the page cache. */
static stk_status verify_all(stk_stage_job *job, stk_error *error)
{
    for (uint32_t i = 0; i < job->source.n_files; i++) {
        char path[STK_STAGE_PATH];
        stk_file file;
        if (!has_blocks(job, i) || !stk_stage_target(job->part, &job->source, job->subset, i, path)) continue;
        STK_TRY(stk_file_open_read(path, &file, error));
        (void)posix_fadvise(file.fd, 0, 0, POSIX_FADV_DONTNEED);
        stk_file_close(&file);
    }
    uint64_t before = stk_stage_map_bytes(&job->map, STK_BLOCK_GOOD);
    STK_TRY(stk_stage_job_pass(job, STK_PASS_CHECK, "verify", job->part, NULL, NULL, error));
    for (uint64_t b = 0; b < job->map.n_blocks; b++) job->report->blocks_checked += job->map.blocks[b].state == STK_BLOCK_GOOD;
    if (stk_stage_map_bytes(&job->map, STK_BLOCK_GOOD) == before) return STK_OK;
    return stk_fail(error, STK_ERR_CHECKSUM,
                    "%s: what was written there reads back otherwise: the disk or the memory of this machine is failing",
                    job->places[job->place].folder);
}

/* ---- The making. */

/* The rename, and what only the making needed is removed. */
static stk_status put_in_place(stk_stage_job *job, const char *journal_path, stk_error *error)
{
    int why = stk_stage_discard(job->bases[job->place], job->copy);
    if (why != 0) return stk_fail_errno(error, why, "%s: an unusable copy cannot be removed", job->copy);
    STK_TRY(stk_publish(job->part, job->copy, false, error));
    /* Until here a killed process would have gone on by the journal. */
    const char *name = strrchr(journal_path, '/') + 1;
    char path[STK_STAGE_PATH];
    if (stk_stage_join(path, job->copy, name, "")) unlink(path);
    if (stk_stage_join(path, job->copy, "note", "")) unlink(path);
    return STK_OK;
}

static stk_status publish(stk_stage_job *job, const char *journal_path, stk_error *error)
{
    if (!stk_stage_source_unchanged(&job->source))
        return stk_fail(error, STK_ERR_STATE, "%s: changed while it was copied; stage it again when it is finished",
                        job->source.path);
    STK_TRY(sync_files(job, error));
    if (job->o->verify) STK_TRY(verify_all(job, error));
    STK_TRY(stk_stage_record_write(job->part, &job->source, &job->map, error));
    return put_in_place(job, journal_path, error);
}

/* After a growth that found no room: the part that was published before, whose record lies in .part still, without what
 * was added. Nothing is believed of that record, which may also be that of a publishing that failed: each of its blocks
 * is compared with its checksum. Otherwise a failure, and .part is worth nothing. */
static stk_status put_back(stk_stage_job *job, const char *journal_path, stk_error *error)
{
    stk_stage_map_close(&job->map);
    STK_TRY(stk_stage_record_read(job->part, &job->source, &job->map, error));
    job->subset = !stk_stage_map_is_whole(&job->map);
    if (!stk_stage_source_unchanged(&job->source))
        return stk_fail(error, STK_ERR_STATE, "%s: changed while it was copied", job->source.path);
    STK_TRY(make_files(job, error));
    uint64_t before = stk_stage_map_bytes(&job->map, STK_BLOCK_GOOD);
    STK_TRY(stk_stage_job_pass(job, STK_PASS_CHECK, "check", job->part, NULL, NULL, error));
    if (before == 0 || stk_stage_map_bytes(&job->map, STK_BLOCK_GOOD) != before)
        return stk_fail(error, STK_ERR_CHECKSUM, "%s: does not hold what it did", job->part);
    STK_TRY(put_in_place(job, journal_path, error));
    snprintf(job->report->reason, sizeof job->report->reason,
             "no room in %.200s for more of it: %.2f GB were copied and are removed again, the part staged before is as it was",
             job->places[job->place].folder, (double)job->report->bytes_copied / 1e9);
    return STK_OK;
}

static stk_status fill(stk_stage_job *job, const stk_file *journal, stk_error *error)
{
    STK_TRY(stk_stage_map_open(&job->source, job->seams->block_bytes, &job->map, error));
    STK_TRY(stk_stage_journal_read(journal, &job->map, error));
    STK_TRY(plan(job, error));
    STK_TRY(stk_stage_note_write(job->part, &job->source, error));
    STK_TRY(make_files(job, error));
    STK_TRY(stk_stage_job_pass(job, STK_PASS_CHECK, "check", job->part, NULL, NULL, error));
    job->report->bytes_resumed = stk_stage_map_bytes(&job->map, STK_BLOCK_GOOD);
    STK_TRY(stk_stage_job_pass(job, STK_PASS_COPY, "copy", job->part, journal, &job->report->bytes_copied, error));
    job->report->bytes_staged = stk_stage_map_bytes(&job->map, STK_BLOCK_GOOD);
    return STK_OK;
}

stk_status stk_stage_make(stk_stage_job *job, stk_error *error)
{
    char journal_path[STK_STAGE_PATH];
    stk_file journal = STK_FILE_CLOSED;
    stk_status status;
    bool lost = false;
    stk_stage_map_close(&job->map);
    if (mkdir(job->part, 0700) != 0 && errno != EEXIST)
        return stk_fail_errno(error, errno, "%s: cannot be made", job->part);
    STK_GOTO(stk_stage_journal_open(job->part, job->seams->block_bytes, &journal, journal_path, error));
    STK_GOTO(fill(job, &journal, error));
    STK_GOTO(publish(job, journal_path, error));
cleanup:
    stk_file_close(&journal);
    if (status == STK_ERR_NO_SPACE) {
        stk_error why = {0};
        stk_status back = put_back(job, journal_path, &why);
        if (back == STK_OK) return STK_OK;
        /* The next call goes on with it. */
        if (back == STK_ERR_CANCELLED) return stk_fail(error, back, "%s", why.text);
        lost = back != STK_ERR_NOT_FOUND;
    }
    /* A full disk is given back what was taken: others need it. A source that changed, or bytes that do not read back,
     * leave nothing worth going on with. */
    if (status == STK_ERR_NO_SPACE || status == STK_ERR_STATE || status == STK_ERR_CHECKSUM)
        (void)stk_stage_discard(job->bases[job->place], job->part);
    if (status == STK_ERR_NO_SPACE)
        stk_fail_prefix(error, "%.2f GB were copied and are removed again%s, the source is as it was: ",
                        (double)job->report->bytes_copied / 1e9, lost ? " with the part staged before" : "");
    return status;
}
