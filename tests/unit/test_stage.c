/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies: whole, in part, resumed after kill -9, two makers at once, damage found and mended, sources that change, and
 * what must not be trusted. Blocks of 1 MiB stand for those of 64. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/rng.h"
#include "staging/stage_base.h"
#include "staging/stage_find.h"
#include "staging/stage_job.h"
#include "staging/staged.h"
#include "support/check.h"
#include "support/shard_maker.h"
#include "support/temporary.h"

enum { MIB = 1 << 20, SOURCE_MIB = 24, KILLS = 60 };

static stk_error error;
static const stk_stage_seams seams = {.root = "", .statfs = statfs, .block_bytes = MIB};

/* A file that passes for HDF5 (its signature) with random bytes behind. */
static void make_source(const char *path, uint64_t seed)
{
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    if (file == NULL) exit(1);
    static uint64_t words[MIB / 8];
    for (int m = 0; m < SOURCE_MIB; m++) {
        for (size_t i = 0; i < MIB / 8; i++) words[i] = stk_mix64(seed + (uint64_t)m * MIB + i);
        if (m == 0) memcpy(words, "\x89HDF\r\n\x1a\n", 8);
        fwrite(words, 1, m == SOURCE_MIB - 1 ? MIB / 2 + 77 : MIB, file);
    }
    fclose(file);
}

static const char *new_place(const char *name)
{
    const char *path = temporary(name);
    mkdir(path, 0755);
    return path;
}

static stk_stage_options to(const char *place)
{
    stk_stage_options o;
    stk_stage_options_init(&o);
    o.to = place;
    o.keep_free = 0;
    o.n_threads = 3;
    return o;
}

static stk_status stage(const char *source, const stk_stage_options *o, stk_stage_report *report)
{
    *report = (stk_stage_report){.state = STK_STAGE_NONE};
    return stk_stage_run(source, o, &seams, report, &error);
}

static bool same_bytes(const char *a, const char *b)
{
    char command[3 * STK_STAGE_PATH];
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", a, b);
    return system(command) == 0;
}

static void flip(const char *path, off_t at)
{
    int fd = open(path, O_RDWR);
    uint8_t byte = 0;
    CHECK(fd >= 0 && pread(fd, &byte, 1, at) == 1);
    byte ^= 0x10;
    CHECK(pwrite(fd, &byte, 1, at) == 1);
    close(fd);
}

static uint64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

/* ---- */

static void whole_and_again(void)
{
    const char *source = temporary("a.h5"), *place = new_place("place-a");
    stk_stage_report r;
    stk_stage_options o = to(place);
    make_source(source, 1);
    CHECK_OK(stage(source, &o, &r));
    CHECK_EQ(r.state, STK_STAGE_WHOLE);
    CHECK_EQ(r.bytes_copied, size_of(source));
    CHECK(same_bytes(source, r.path));
    struct stat st;
    char base[STK_STAGE_PATH];
    CHECK_OK(stk_stage_base(place, false, base, &error));
    CHECK(lstat(base, &st) == 0 && (st.st_mode & 0777) == 0700);

    CHECK_OK(stage(source, &o, &r));
    CHECK_EQ(r.bytes_copied, 0);
    CHECK_EQ(r.state, STK_STAGE_WHOLE);
    o.dry_run = true;
    CHECK_OK(stage(source, &o, &r));
    CHECK_EQ(r.state, STK_STAGE_WHOLE);
    uint64_t copies, bytes;
    CHECK_OK(stk_stage_evict(source, place, STK_STAGE_KEEP_DEFAULT, &copies, &bytes, &error));
    CHECK_EQ(copies, 1);
    CHECK(bytes >= size_of(source));
    CHECK_OK(stage(source, &o, &r));
    CHECK_EQ(r.state, STK_STAGE_NONE);
    CHECK(access(source, R_OK) == 0);
}

static void damage_is_mended(void)
{
    const char *source = temporary("b.h5"), *place = new_place("place-b");
    stk_stage_report r;
    stk_stage_options o = to(place);
    make_source(source, 2);
    CHECK_OK(stage(source, &o, &r));
    char copy[STK_STAGE_PATH];
    memcpy(copy, r.path, sizeof copy);
    o.verify = true;
    CHECK_OK(stage(source, &o, &r));
    CHECK_EQ(r.blocks_checked, SOURCE_MIB);
    CHECK_EQ(r.blocks_mended, 0);
    static const off_t places[] = {0, MIB - 1, MIB, 5 * MIB + 1234, (off_t)(SOURCE_MIB - 1) * MIB + MIB / 2 + 76};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        flip(copy, places[i]);
        CHECK_OK(stage(source, &o, &r));
        CHECK_EQ(r.blocks_mended, 1);
        CHECK(same_bytes(source, copy));
    }
    /* All of it wrong: found without --verify, by the samples. */
    for (off_t at = 0; at < (off_t)size_of(source); at += 4096) flip(copy, at);
    o.verify = false;
    CHECK_OK(stage(source, &o, &r));
    CHECK(r.blocks_mended == SOURCE_MIB && same_bytes(source, copy));
    /* A bad block that the source cannot mend, since it has changed behind its times: copied anew as it is now. */
    struct stat st;
    CHECK(stat(source, &st) == 0);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    flip(source, 20 * MIB + 1);
    CHECK(utimensat(AT_FDCWD, source, times, 0) == 0);
    flip(copy, 20 * MIB + 2);
    o.verify = true;
    CHECK_OK(stage(source, &o, &r));
    CHECK(same_bytes(source, r.path));
    o.verify = false;
    /* Cut short: copied anew. */
    CHECK(truncate(copy, MIB) == 0);
    CHECK_OK(stage(source, &o, &r));
    CHECK(same_bytes(source, r.path));
}

static void record_is_not_trusted(void)
{
    const char *source = temporary("c.h5"), *place = new_place("place-c");
    stk_stage_report r;
    stk_stage_options o = to(place);
    make_source(source, 3);
    CHECK_OK(stage(source, &o, &r));
    char record[STK_STAGE_PATH + 8];
    snprintf(record, sizeof record, "%s", r.path);
    snprintf(strrchr(record, '/'), 16, "/record");
    uint64_t n = size_of(record);
    /* Any byte of it: the copy is not used as it is, and the next call makes it good. */
    for (uint64_t at = 0; at < n; at += n / 40 + 1) {
        flip(record, (off_t)at);
        stk_staged *staged = NULL;
        CHECK_OK(stk_staged_open(source, place, &staged, &error));
        CHECK(staged == NULL);
        stk_staged_close(&staged);
        CHECK_OK(stage(source, &o, &r));
        CHECK_EQ(r.bytes_copied, size_of(source));
    }
    CHECK(truncate(record, 10) == 0);
    CHECK_OK(stage(source, &o, &r));
    CHECK(same_bytes(source, r.path));
}

/* A record with sound checksums and a block size that no maker uses, so large that sums over it would wrap. */
static void record_of_huge_blocks(void)
{
    const char *source = temporary("q.h5"), *place = new_place("place-q");
    stk_stage_report r;
    stk_stage_options o = to(place);
    stk_stage_source s;
    stk_stage_map map;
    char copy[STK_STAGE_PATH];
    make_source(source, 20);
    CHECK_OK(stage(source, &o, &r));
    snprintf(copy, sizeof copy, "%s", r.path);
    *strrchr(copy, '/') = '\0';
    CHECK_OK(stk_stage_source_open(source, &s, &error));
    static const uint64_t sizes[] = {((uint64_t)1 << 30) + MIB, (uint64_t)1 << 40, UINT64_MAX - MIB + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        CHECK_OK(stk_stage_map_open(&s, MIB, &map, &error));
        map.block_bytes = sizes[i];
        map.n_blocks = 1;
        map.blocks[0].state = STK_BLOCK_GOOD;
        CHECK_OK(stk_stage_record_write(copy, &s, &map, &error));
        stk_stage_map_close(&map);
        CHECK_STATUS(stk_stage_record_read(copy, &s, &map, &error), STK_ERR_CORRUPT);
        CHECK(strstr(error.text, "of something else") != NULL);
        CHECK_OK(stage(source, &o, &r));
        CHECK_EQ(r.bytes_copied, size_of(source));
        CHECK(same_bytes(source, r.path));
    }
    stk_stage_source_close(&s);
}

/* Data sets that bear the names of a copy's own files. */
static void names_of_our_own(void)
{
    static const char *const names[] = {"record", "note", "journal.1048576", "record.tmp.1", "data"};
    const char *place = new_place("place-r");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *source = temporary(names[i]);
        stk_stage_report r;
        stk_stage_options o = to(place);
        make_source(source, 30 + i);
        for (int k = 0; k < 2; k++) {
            CHECK_OK(stage(source, &o, &r));
            CHECK_EQ(r.state, STK_STAGE_WHOLE);
            CHECK_EQ(r.bytes_copied, k == 0 ? size_of(source) : 0);
            CHECK(same_bytes(source, r.path));
            CHECK(strcmp(strrchr(r.path, '/'), "/data") == 0);
        }
        CHECK_OK(stk_stage_evict(source, place, STK_STAGE_KEEP_DEFAULT, NULL, NULL, &error));
    }
}

static void changed_source(void)
{
    const char *source = temporary("d.h5"), *place = new_place("place-d");
    stk_stage_report r;
    stk_stage_options o = to(place);
    make_source(source, 4);
    CHECK_OK(stage(source, &o, &r));
    char old[STK_STAGE_PATH];
    memcpy(old, r.path, sizeof old);
    struct stat st;
    CHECK(stat(source, &st) == 0);
    make_source(source, 5); /* same size, other bytes, later time */
    stk_staged *staged = NULL;
    CHECK_OK(stk_staged_open(source, place, &staged, &error));
    CHECK(staged == NULL);
    CHECK_OK(stage(source, &o, &r));
    CHECK(strcmp(old, r.path) != 0 && same_bytes(source, r.path));
    CHECK(access(old, F_OK) != 0); /* nobody can want it any more */

    /* Other bytes behind the same size and time: the samples see it. */
    struct timespec times[2];
    CHECK(stat(source, &st) == 0);
    times[0] = st.st_atim, times[1] = st.st_mtim;
    char before[STK_STAGE_PATH];
    memcpy(before, r.path, sizeof before);
    make_source(source, 6);
    CHECK(utimensat(AT_FDCWD, source, times, 0) == 0);
    CHECK_OK(stk_staged_open(source, place, &staged, &error));
    CHECK(staged == NULL);
    CHECK_OK(stage(source, &o, &r));
    CHECK(same_bytes(source, r.path));
}

/* A change while it is copied: nothing is published. */
static void source_changes_meanwhile(void)
{
    const char *source = temporary("e.h5"), *place = new_place("place-e");
    stk_stage_report r;
    stk_stage_options o = to(place);
    make_source(source, 7);
    stk_stage_job *job = calloc(1, sizeof *job);
    CHECK_OK(stk_stage_source_open(source, &job->source, &error));
    job->o = &o, job->seams = &seams, job->report = &r, job->n_threads = 2, job->n_places = 1;
    r = (stk_stage_report){.state = STK_STAGE_NONE};
    stk_place_look(&seams, place, 0, &job->places[0]);
    CHECK_OK(stk_stage_base(place, true, job->bases[0], &error));
    CHECK(stk_stage_join(job->copy, job->bases[0], job->source.key, ""));
    CHECK(stk_stage_join(job->part, job->bases[0], job->source.key, ".part"));
    make_source(source, 8); /* after it was looked at */
    CHECK_STATUS(stk_stage_make(job, &error), STK_ERR_STATE);
    CHECK(access(job->copy, F_OK) != 0 && access(job->part, F_OK) != 0);
    stk_stage_map_close(&job->map);
    stk_stage_source_close(&job->source);
    free(job);
}

/* kill -9 at random moments; what is published in between is right, and the end is. */
static void killed_at_any_moment(void)
{
    const char *source = temporary("f.h5"), *place = new_place("place-f");
    stk_stage_options o = to(place);
    make_source(source, 9);
    uint64_t state = (uint64_t)time(NULL), published = 0, resumed = 0;
    printf("     seed %llu\n", (unsigned long long)state);
    /* How long one takes here, so that the kills fall into all of it. */
    stk_stage_report first;
    CHECK_OK(stage(source, &o, &first));
    uint64_t usual_ns = (uint64_t)(first.seconds * 1e9) + 40000000;
    if (usual_ns > 900000000) usual_ns = 900000000;
    CHECK_OK(stk_stage_evict(source, place, STK_STAGE_KEEP_DEFAULT, NULL, NULL, &error));
    for (int i = 0; i < KILLS; i++) {
        stk_stage_report r;
        pid_t child = fork();
        if (child == 0) {
            for (;;) { /* stage, evict, stage ... so that each step is under way at some kill */
                if (stage(source, &o, &r) != STK_OK) _exit(3);
                nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
                if (stk_stage_evict(source, place, STK_STAGE_KEEP_DEFAULT, NULL, NULL, &error) != STK_OK) _exit(4);
            }
        }
        state = stk_mix64(state);
        struct timespec pause = {.tv_nsec = (long)(state % usual_ns)};
        nanosleep(&pause, NULL);
        kill(child, SIGKILL);
        int how = 0;
        waitpid(child, &how, 0);
        CHECK(WIFSIGNALED(how));
        stk_staged *staged = NULL;
        CHECK_OK(stk_staged_open(source, place, &staged, &error));
        if (staged != NULL) CHECK(same_bytes(source, stk_staged_path(staged)));
        published += staged != NULL;
        stk_staged_close(&staged);
        if (i % 5 == 4) {
            CHECK_OK(stage(source, &o, &r));
            CHECK(same_bytes(source, r.path));
            resumed += r.bytes_resumed > 0;
            CHECK_OK(stk_stage_evict(source, place, STK_STAGE_KEEP_DEFAULT, NULL, NULL, &error));
        }
    }
    printf("     %d kills: %llu found a published copy, %llu of %d were gone on with\n", KILLS,
           (unsigned long long)published, (unsigned long long)resumed, KILLS / 5);
    CHECK_OK(stk_stage_evict(source, place, STK_STAGE_KEEP_DEFAULT, NULL, NULL, &error));
}

/* Cancelled after some blocks; those are not copied again; a wrong byte among them is. */
typedef struct stop {
    uint64_t after;
} stop;
static bool stop_after(void *user, const stk_stage_progress *p)
{
    return p->bytes_done < ((stop *)user)->after;
}

static void goes_on(void)
{
    const char *source = temporary("g.h5"), *place = new_place("place-g");
    stk_stage_options o = to(place);
    stk_stage_report r;
    make_source(source, 10);
    /* The journal of a run that was killed after 10 blocks, one of them wrong on disk. */
    stk_stage_source s;
    stk_stage_map map;
    char base[STK_STAGE_PATH], part[STK_STAGE_PATH], path[STK_STAGE_PATH], command[3 * STK_STAGE_PATH];
    stk_file journal;
    CHECK_OK(stage(source, &o, &r));
    CHECK_OK(stk_stage_source_open(source, &s, &error));
    CHECK_OK(stk_stage_base(place, false, base, &error));
    CHECK(stk_stage_join(part, base, s.key, ".part"));
    CHECK_OK(stk_stage_find(base, &s, 0, &map, path, &error));
    CHECK(rename(path, part) == 0);
    CHECK_OK(stk_stage_journal_open(part, MIB, &journal, path, &error));
    for (uint64_t b = 0; b < 10; b++) CHECK_OK(stk_stage_journal_put(&journal, b, map.blocks[b].hash, &error));
    stk_file_close(&journal);
    snprintf(command, sizeof command, "%s/g.h5", part);
    flip(command, 3 * MIB + 5);
    CHECK_OK(stage(source, &o, &r));
    CHECK_EQ(r.bytes_resumed, 9 * MIB);
    CHECK_EQ(r.bytes_copied, size_of(source) - 9 * MIB);
    CHECK(same_bytes(source, r.path));
    stk_stage_map_close(&map);
    stk_stage_source_close(&s);

    stop at_once = {0};
    CHECK_OK(stk_stage_evict(source, place, STK_STAGE_KEEP_DEFAULT, NULL, NULL, &error));
    o.progress = stop_after;
    o.user = &at_once;
    /* So quick a copy may end before anybody is asked. */
    stk_status status = stage(source, &o, &r);
    CHECK(status == STK_ERR_CANCELLED || status == STK_OK);
}

/* Several processes at once: one copies, all end with the copy. */
static void one_copier(void)
{
    enum { N = 6 };
    const char *source = temporary("h.h5"), *place = new_place("place-h");
    stk_stage_options o = to(place);
    make_source(source, 11);
    int pipes[2];
    CHECK(pipe(pipes) == 0);
    for (int i = 0; i < N; i++) {
        if (fork() != 0) continue;
        stk_stage_report r;
        uint64_t out[2] = {1, 0};
        out[0] = stage(source, &o, &r) == STK_OK && r.state == STK_STAGE_WHOLE ? 0 : 1;
        out[1] = r.bytes_copied;
        _exit(write(pipes[1], out, sizeof out) == sizeof out ? 0 : 1);
    }
    uint64_t copied = 0;
    for (int i = 0; i < N; i++) {
        uint64_t out[2];
        CHECK(read(pipes[0], out, sizeof out) == sizeof out);
        CHECK_EQ(out[0], 0);
        copied += out[1];
    }
    while (wait(NULL) > 0) {}
    close(pipes[0]), close(pipes[1]);
    CHECK_EQ(copied, size_of(source));
}

static void busy_without_waiting(void)
{
    const char *source = temporary("i.h5"), *place = new_place("place-i");
    stk_stage_options o = to(place);
    stk_stage_report r;
    stk_stage_source s;
    char base[STK_STAGE_PATH], lock[STK_STAGE_PATH];
    int fd;
    make_source(source, 12);
    CHECK_OK(stk_stage_source_open(source, &s, &error));
    CHECK_OK(stk_stage_base(place, true, base, &error));
    CHECK(stk_stage_join(lock, base, s.key, ".lock"));
    CHECK_OK(stk_stage_lock(lock, &fd, NULL, &error));
    o.wait = false;
    CHECK_STATUS(stage(source, &o, &r), STK_ERR_BUSY);
    CHECK_EQ(r.state, STK_STAGE_COPYING);
    stk_stage_unlock(&fd);
    CHECK_OK(stage(source, &o, &r));
    stk_stage_source_close(&s);
}

/* Some blocks only; readers know which; more room later makes it whole. */
static void in_part(void)
{
    const char *source = temporary("j.h5"), *place = new_place("place-j");
    stk_stage_options o = to(place);
    stk_stage_report r;
    make_source(source, 13);
    o.max_bytes = 10 * MIB + 5;
    CHECK_OK(stage(source, &o, &r));
    CHECK_EQ(r.state, STK_STAGE_SUBSET);
    CHECK_EQ(r.bytes_staged, 10 * MIB);
    CHECK(r.path[0] == '\0');
    CHECK(stk_stage_disk_bytes(r.folder) < 11 * MIB);
    stk_staged *staged = NULL;
    CHECK_OK(stk_staged_open(source, place, &staged, &error));
    CHECK(staged != NULL && stk_staged_path(staged) == NULL);
    if (staged != NULL) {
        CHECK(stk_staged_covers(staged, 0, 0, 10 * MIB) && stk_staged_covers(staged, 0, 10 * MIB - 1, 1));
        CHECK(!stk_staged_covers(staged, 0, 10 * MIB - 1, 2) && !stk_staged_covers(staged, 0, 10 * MIB, 1));
        CHECK(!stk_staged_covers(staged, 1, 0, 1) && !stk_staged_covers(staged, 0, UINT64_MAX - 3, 10));
        stk_file mine;
        uint8_t a[64], b[64];
        int theirs = open(source, O_RDONLY);
        CHECK_OK(stk_staged_file(staged, 0, &mine, &error));
        CHECK_OK(stk_file_read_at(&mine, a, sizeof a, 7 * MIB + 3, &error));
        CHECK(pread(theirs, b, sizeof b, 7 * MIB + 3) == sizeof b && memcmp(a, b, sizeof a) == 0);
        stk_file_close(&mine);
        close(theirs);
    }
    CHECK_OK(stage(source, &o, &r)); /* no-op */
    CHECK_EQ(r.bytes_copied, 0);
    o.max_bytes = 0;
    CHECK_OK(stage(source, &o, &r)); /* somebody reads it */
    CHECK_EQ(r.state, STK_STAGE_SUBSET);
    CHECK_EQ(r.bytes_staged, 10 * MIB);
    CHECK_EQ(r.bytes_copied, 0);
    CHECK(strstr(r.reason, "can grow when nobody reads it") != NULL);
    stk_staged_close(&staged);
    CHECK_OK(stage(source, &o, &r));
    CHECK_EQ(r.state, STK_STAGE_WHOLE);
    CHECK_EQ(r.bytes_resumed, 10 * MIB);
    CHECK(same_bytes(source, r.path));
    /* Only the last, short block is missing. */
    CHECK_OK(stk_stage_evict(source, place, STK_STAGE_KEEP_DEFAULT, NULL, NULL, &error));
    o.max_bytes = size_of(source) - 1;
    CHECK_OK(stage(source, &o, &r));
    CHECK_EQ(r.state, STK_STAGE_SUBSET);
    o.max_bytes = 0;
    CHECK_OK(stage(source, &o, &r));
    CHECK_EQ(r.state, STK_STAGE_WHOLE);
    o.keep_free = (uint64_t)1 << 60;
    CHECK_OK(stk_stage_evict(source, place, STK_STAGE_KEEP_DEFAULT, NULL, NULL, &error));
    CHECK_STATUS(stage(source, &o, &r), STK_ERR_NO_SPACE);
}

static void eviction_order(void)
{
    const char *a = temporary("k1.h5"), *b = temporary("k2.h5"), *place = new_place("place-k");
    stk_stage_options o = to(place);
    stk_stage_report r;
    make_source(a, 14), make_source(b, 15);
    CHECK_OK(stage(a, &o, &r));
    CHECK_OK(stage(b, &o, &r));
    stk_staged *staged = NULL;
    CHECK_OK(stk_staged_open(a, place, &staged, &error)); /* in use */
    uint64_t copies = 9;
    CHECK_OK(stk_stage_evict(NULL, place, 0, &copies, NULL, &error)); /* enough is free */
    CHECK_EQ(copies, 0);
    CHECK_OK(stk_stage_evict(NULL, place, STK_STAGE_KEEP_DEFAULT, &copies, NULL, &error));
    CHECK_EQ(copies, 1);
    CHECK(stk_staged_path(staged) != NULL && same_bytes(a, stk_staged_path(staged)));
    stk_staged_close(&staged);
    CHECK_OK(stk_stage_evict(NULL, place, STK_STAGE_KEEP_DEFAULT, &copies, NULL, &error));
    CHECK_EQ(copies, 1);
}

static void not_to_be_trusted(void)
{
    const char *source = temporary("l.h5"), *place = new_place("place-l"), *elsewhere = new_place("elsewhere");
    stk_stage_options o = to(place);
    stk_stage_report r;
    char base[STK_STAGE_PATH];
    make_source(source, 16);
    CHECK_STATUS(stk_stage_base(place, false, base, &error), STK_ERR_NOT_FOUND);
    /* A link where our folder would be: somebody wants us to write elsewhere. */
    CHECK(symlink(elsewhere, base) == 0);
    CHECK_STATUS(stage(source, &o, &r), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "is a link or a file") != NULL);
    CHECK(rmdir(elsewhere) == 0); /* nothing was put there */
    CHECK(unlink(base) == 0);
    /* Another user's folder. */
    CHECK(mkdir(base, 0777) == 0);
    if (geteuid() == 0) {
        CHECK(chown(base, 12345, 12345) == 0);
        CHECK_STATUS(stage(source, &o, &r), STK_ERR_ARGUMENT);
        CHECK(strstr(error.text, "another user") != NULL);
        stk_staged *staged = NULL;
        CHECK_OK(stk_staged_open(source, place, &staged, &error));
        CHECK(staged == NULL);
        CHECK(chown(base, 0, 0) == 0);
    } else {
        printf("     another user's folder: not tried, this is not root\n");
    }
    /* Our own, but open: closed first. */
    CHECK(chmod(base, 0777) == 0);
    CHECK_OK(stage(source, &o, &r));
    struct stat st;
    CHECK(stat(base, &st) == 0 && (st.st_mode & 0777) == 0700);
    /* Writable by all and not sticky. */
    CHECK(chmod(place, 0777) == 0);
    CHECK_STATUS(stage(source, &o, &r), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "sticky") != NULL);
    CHECK(chmod(place, 01777) == 0);
    CHECK_OK(stage(source, &o, &r));
}

static void disk_runs_full(void)
{
    const char *source = temporary("m.h5"), *place = new_place("place-m");
    stk_stage_options o = to(place);
    stk_stage_report r;
    make_source(source, 17);
    if (mount("tmpfs", place, "tmpfs", 0, "size=8m") != 0) {
        printf("SKIP disk_runs_full: a tmpfs cannot be mounted here (%s)\n", strerror(errno));
        return;
    }
    /* Known beforehand: a part that fits. */
    CHECK_OK(stage(source, &o, &r));
    CHECK_EQ(r.state, STK_STAGE_SUBSET);
    CHECK(r.bytes_staged >= 6 * MIB);
    CHECK_OK(stk_stage_evict(source, place, STK_STAGE_KEEP_DEFAULT, NULL, NULL, &error));
    /* Not known: the seam says that there is room. */
    stk_stage_job *job = calloc(1, sizeof *job);
    CHECK_OK(stk_stage_source_open(source, &job->source, &error));
    job->o = &o, job->seams = &seams, job->report = &r, job->n_threads = 2, job->n_places = 1;
    r = (stk_stage_report){.state = STK_STAGE_NONE};
    stk_place_look(&seams, place, 0, &job->places[0]);
    job->places[0].room_bytes = (uint64_t)1 << 40;
    CHECK_OK(stk_stage_base(place, true, job->bases[0], &error));
    CHECK(stk_stage_join(job->copy, job->bases[0], job->source.key, ""));
    CHECK(stk_stage_join(job->part, job->bases[0], job->source.key, ".part"));
    CHECK_STATUS(stk_stage_make(job, &error), STK_ERR_NO_SPACE);
    printf("     %s\n", error.text);
    CHECK(access(job->copy, F_OK) != 0 && access(job->part, F_OK) != 0);
    CHECK(access(source, R_OK) == 0);
    stk_stage_map_close(&job->map);
    stk_stage_source_close(&job->source);
    free(job);
    CHECK(umount(place) == 0);
}

/* Says that there is room without end. */
static int boundless(const char *path, struct statfs *out)
{
    int rc = statfs(path, out);
    out->f_blocks = out->f_bfree = out->f_bavail = (fsblkcnt_t)1 << 30;
    return rc;
}

static void fill_up(const char *path)
{
    static uint8_t zeros[4096];
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0);
    while (write(fd, zeros, sizeof zeros) == (ssize_t)sizeof zeros) {}
    CHECK(errno == ENOSPC);
    close(fd);
}

static bool only_entry_of(const char *base, const char *name)
{
    char command[3 * STK_STAGE_PATH];
    snprintf(command, sizeof command, "test \"$(ls '%s' | grep -v choose.lock)\" = '%s'", base, name);
    return system(command) == 0;
}

/* A part grows and the disk runs full: it is there as before. When it has lost bytes by then, nothing is. */
static void full_while_growing(void)
{
    const char *source = temporary("p.h5"), *place = new_place("place-p");
    const stk_stage_seams liar = {.root = "", .statfs = boundless, .block_bytes = MIB};
    stk_stage_options o = to(place);
    stk_stage_report r;
    stk_stage_source s;
    stk_staged *staged = NULL;
    char base[STK_STAGE_PATH], copy[STK_STAGE_PATH], part[STK_STAGE_PATH], path[STK_STAGE_PATH + 16];
    make_source(source, 18);
    if (mount("tmpfs", place, "tmpfs", 0, "size=8m") != 0) {
        printf("SKIP full_while_growing: a tmpfs cannot be mounted here (%s)\n", strerror(errno));
        return;
    }
    CHECK_OK(stk_stage_source_open(source, &s, &error));
    for (int i = 0; i < 2; i++) {
        o.max_bytes = 3 * MIB;
        CHECK_OK(stage(source, &o, &r));
        CHECK_EQ(r.bytes_staged, 3 * MIB);
        o.max_bytes = 0;
        r = (stk_stage_report){.state = STK_STAGE_NONE};
        CHECK_OK(stk_stage_run(source, &o, &liar, &r, &error));
        CHECK_EQ(r.state, STK_STAGE_SUBSET);
        CHECK_EQ(r.bytes_staged, 3 * MIB);
        CHECK(strstr(r.reason, "the part staged before is as it was") != NULL);
        CHECK_OK(stk_stage_base(place, false, base, &error));
        CHECK(only_entry_of(base, s.key));
        CHECK(stk_stage_join(copy, base, s.key, ""));
        CHECK(stk_stage_disk_bytes(copy) < 3 * MIB + MIB / 2);
        CHECK_OK(stk_staged_open(source, place, &staged, &error));
        CHECK(staged != NULL && stk_staged_bytes(staged) == 3 * MIB && stk_staged_covers(staged, 0, 0, 3 * MIB));
        stk_staged_close(&staged);
        o.verify = true;
        o.max_bytes = 3 * MIB;
        CHECK_OK(stage(source, &o, &r));
        CHECK_EQ(r.blocks_checked, 3);
        CHECK_EQ(r.blocks_mended, 0);
        o.verify = false;
    }
    /* A growth that was killed when it had given a block back, gone on with on a full disk. */
    CHECK(stk_stage_join(part, base, s.key, ".part"));
    CHECK(rename(copy, part) == 0);
    snprintf(path, sizeof path, "%s/p.h5.partial", part);
    int fd = open(path, O_RDWR);
    CHECK(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, MIB, MIB) == 0);
    close(fd);
    snprintf(path, sizeof path, "%s/filler", place);
    fill_up(path);
    CHECK_STATUS(stk_stage_run(source, &o, &liar, &r, &error), STK_ERR_NO_SPACE);
    CHECK(strstr(error.text, "removed again with the part staged before") != NULL);
    CHECK(access(copy, F_OK) != 0 && access(part, F_OK) != 0);
    CHECK_OK(stk_staged_open(source, place, &staged, &error));
    CHECK(staged == NULL);
    stk_stage_source_close(&s);
    CHECK(umount(place) == 0);
}

static void stk_files_and_folders(void)
{
    const char *source = temporary("n.stk"), *place = new_place("place-n");
    stk_stage_options o = to(place);
    stk_stage_report r;
    char id[33];
    maker_shard(source, 4, 0, 5000, id);
    CHECK_OK(stage(source, &o, &r));
    CHECK(strcmp(r.content_id, id) == 0);
    CHECK(same_bytes(source, r.path));
    CHECK_STATUS(stage(place, &o, &r), STK_ERR_NOT_FOUND); /* a folder, and no data set */
    FILE *file = fopen(temporary("o.txt"), "w");
    fputs("some text that is no data set\n", file);
    fclose(file);
    CHECK_STATUS(stage(temporary("o.txt"), &o, &r), STK_ERR_UNSUPPORTED);
    CHECK_STATUS(stage(temporary("nothing"), &o, &r), STK_ERR_NOT_FOUND);
}

int main(void)
{
    RUN(whole_and_again);
    RUN(damage_is_mended);
    RUN(record_is_not_trusted);
    RUN(record_of_huge_blocks);
    RUN(names_of_our_own);
    RUN(changed_source);
    RUN(source_changes_meanwhile);
    RUN(goes_on);
    RUN(killed_at_any_moment);
    RUN(one_copier);
    RUN(busy_without_waiting);
    RUN(in_part);
    RUN(eviction_order);
    RUN(not_to_be_trusted);
    RUN(disk_runs_full);
    RUN(full_while_growing);
    RUN(stk_files_and_folders);
    return check_exit();
}
