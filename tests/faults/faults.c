/* SPDX-License-Identifier: Apache-2.0
 *
 * Every system call that fails, one after the other: each scenario is run with the first call of a kind failing, then
 * the second, and so on until a run meets no fault. Whatever failed, the outcome is the right bytes or an error with
 * a text; what was there before is there still; nothing half-made stays; a second run without faults comes out right;
 * no memory, no descriptor is lost; nothing hangs.
 *
 * usage: faults all|quick [SCENARIO...]    quick: the first ten calls of a kind, then ever fewer
 * FAULT_KIND in the environment: this kind only */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stoker/stoker.h>

#include "common/hash.h"
#include "faults/fault_layer.h"
#include "support/damage.h"
#include "support/loader_run.h"
#include "tests/support/pack_helpers.h"
#include "tests/support/pictures.h"

enum { TIMEOUT_S = 120, N_PICTURES = 12, MAX_COPY = 8 };

static stk_error error;
static tree scratch;

/* What a scenario's run says. */
typedef struct outcome {
    stk_status status;
    stk_error error;
    char issue[300];
    bool lossy; /* OK, but something was left out or given up, by name: never for want of memory */
} outcome;

typedef struct scenario {
    const char *name;
    void (*prepare)(void);  /* the state before; called before each run */
    void (*run)(outcome *); /* the call that is tried */
    bool (*right)(void);    /* its result is the one without faults */
    bool (*intact)(void);   /* after an error: what was there before is there still, and nothing else */
} scenario;

/* ---- Files. */

static bool exists(const char *name) { return tree_has(&scratch, name); }

static uint64_t file_hash(const char *name)
{
    size_t n;
    if (!exists(name)) return 0;
    char *bytes = file_bytes(tree_path(&scratch, name), &n);
    uint64_t hash = stk_hash64(bytes, n);
    free(bytes);
    return hash;
}

static void copy_file(const char *from, const char *to)
{
    size_t n;
    char *bytes = file_bytes(tree_path(&scratch, from), &n);
    unlink(tree_path(&scratch, to));
    tree_bytes(&scratch, to, bytes, n);
    free(bytes);
}

static void remove_all(const char *name)
{
    nftw(tree_path(&scratch, name), tree_remove_entry_, 16, FTW_DEPTH | FTW_PHYS);
}

/* Removes all in the scratch folder but for what the scenarios begin with. */
static void clear(void)
{
    DIR *stream = opendir(scratch.root);
    for (const struct dirent *e = readdir(stream); e != NULL; e = readdir(stream))
        if (e->d_name[0] != '.' && strncmp(e->d_name, "base", 4) != 0) remove_all(e->d_name);
    closedir(stream);
}

static bool same(const char *a, const char *b) { return exists(a) && exists(b) && file_hash(a) == file_hash(b); }

/* A pack that lost a disk keeps its folder on purpose, to go on from. */
static bool no_litter(bool kept_is_fine)
{
    DIR *stream = opendir(scratch.root);
    bool clean = true;
    for (const struct dirent *e = readdir(stream); e != NULL; e = readdir(stream))
        if (strstr(e->d_name, ".tmp.") != NULL && !(kept_is_fine && strlen(e->d_name) > 20)) clean = false;
    closedir(stream);
    return clean;
}

static stk_pack_options pack_options(void)
{
    stk_pack_options o;
    stk_pack_options_init(&o);
    o.n_threads = 2;
    return o;
}

static void note_issue(void *user, const stk_pack_issue *issue)
{
    outcome *out = user;
    snprintf(out->issue, sizeof out->issue, "%s: %s: %s", issue->path, issue->kind, issue->reason);
}

static void pack_to(const char *source, const char *dst, const stk_pack_options *o, outcome *out)
{
    stk_pack_report report;
    stk_pack_options with_note = *o;
    with_note.issue = note_issue;
    with_note.user = out;
    out->status = stk_pack(tree_path(&scratch, source), tree_path(&scratch, dst), &with_note, &report, &out->error);
    out->lossy = out->status == STK_OK && report.skipped + report.missing > 0;
}

/* ---- pack: a new file; a folder in the place of an older one; with a cache; a tar; HDF5. */

static void nothing(void) { clear(); }

static void pack_run(outcome *out)
{
    stk_pack_options o = pack_options();
    pack_to("base", "o.stk", &o, out);
}
/* The list of sources appears after the output: what fails there is told, and the output is whole. */
static bool list_may_lack;
static bool pack_right(void)
{
    if (!same("o.stk", "base.stk")) return false;
    return exists("o.stk.sources") ? same("o.stk.sources", "base.stk.sources") : list_may_lack;
}
static bool pack_intact(void) { return !exists("o.stk") || same("o.stk", "base.stk"); }

static void pack_cut_run(outcome *out)
{
    stk_pack_options o = pack_options();
    o.resume = false;
    pack_to("base", "o.stk", &o, out);
}

static void old_folder(void)
{
    clear();
    tree_folder(&scratch, "o");
    copy_file("base-old/00000.stk", "o/00000.stk");
    copy_file("base-old/dataset.json", "o/dataset.json");
}

static void folder_run(outcome *out)
{
    stk_pack_options o = pack_options();
    o.force = true;
    o.shard_bytes = 1 << 16;
    pack_to("base", "o/", &o, out);
}
static bool folder_right(void)
{
    return same("o/dataset.json", "base-folder/dataset.json") && same("o/00000.stk", "base-folder/00000.stk") &&
           same("o/00001.stk", "base-folder/00001.stk");
}
static bool folder_intact(void)
{
    return same("o/dataset.json", "base-old/dataset.json") && same("o/00000.stk", "base-old/00000.stk") &&
           !exists("o/00001.stk");
}

/* A run that fails behind the last step refuses to add all once more. */
static void append_run(outcome *out)
{
    stk_pack_options o = pack_options();
    o.append = true;
    o.shard_bytes = 1 << 16;
    pack_to("base", "o/", &o, out);
}
static bool append_right(void)
{
    return same("o/dataset.json", "base-appended/dataset.json") && same("o/00000.stk", "base-old/00000.stk") &&
           same("o/00001.stk", "base-appended/00001.stk") && same("o/00002.stk", "base-appended/00002.stk");
}

static void cache_run(outcome *out)
{
    char cache[2048];
    snprintf(cache, sizeof cache, "%s", tree_path(&scratch, "cache"));
    stk_pack_options o = pack_options();
    o.cache = cache;
    pack_to("base", "o.stk", &o, out);
}

static void tar_run(outcome *out)
{
    stk_pack_options o = pack_options();
    pack_to("base.tar", "o.stk", &o, out);
}
static bool tar_right(void) { return same("o.stk", "base-tar.stk"); }

static void hdf5_run(outcome *out)
{
    stk_pack_options o = pack_options();
    pack_to("base", "o.h5", &o, out);
}
static bool hdf5_right(void)
{
    stk_dataset *d = NULL;
    stk_buffer bytes = {0};
    uint64_t n = 0;
    if (stk_dataset_open(tree_path(&scratch, "o.h5"), NULL, &d, &error) != STK_OK) return false;
    for (; n < stk_dataset_len(d) && stk_dataset_payload(d, n, &bytes, &error) == STK_OK; n++) {}
    stk_dataset_close(&d);
    stk_buffer_free(&bytes);
    return n == N_PICTURES;
}
static bool hdf5_intact(void) { return !exists("o.h5"); }

/* ---- merge, export. */

static void merge_run(outcome *out)
{
    char a[2048], b[2048];
    snprintf(a, sizeof a, "%s", tree_path(&scratch, "base-1.stk"));
    snprintf(b, sizeof b, "%s", tree_path(&scratch, "base-2.stk"));
    const char *parts[] = {b, a};
    out->status = stk_merge(parts, 2, tree_path(&scratch, "o.stk"), NULL, NULL, &out->error);
}
static bool merge_right(void)
{
    if (!same("o.stk", "base.stk")) return false;
    return exists("o.stk.sources") ? same("o.stk.sources", "base.stk.sources") : list_may_lack;
}
static bool repair_right(void) { return same("o.stk", "base.stk") && same("o.stk.sources", "base.stk.sources"); }

static void export_run(outcome *out)
{
    stk_dataset *d = NULL;
    stk_export_options o;
    stk_export_options_init(&o);
    o.to = STK_EXPORT_TAR;
    out->status = stk_dataset_open(tree_path(&scratch, "base.stk"), NULL, &d, &out->error);
    if (out->status == STK_OK) out->status = stk_export(d, tree_path(&scratch, "o.tar"), &o, &out->error);
    stk_dataset_close(&d);
}
static bool export_right(void) { return same("o.tar", "base-export.tar"); }
static bool export_intact(void) { return !exists("o.tar"); }

/* ---- verify, repair. */

static void verify_run(outcome *out)
{
    stk_verify_options o;
    stk_verify_options_init(&o);
    o.n_threads = 2;
    o.deep = true;
    out->status = stk_verify(tree_path(&scratch, "base-folder"), &o, NULL, &out->error);
}
static bool always(void) { return true; }

static void spoilt(void)
{
    clear();
    copy_file("base-spoilt.stk", "o.stk");
    copy_file("base.stk.sources", "o.stk.sources");
}

static void repair_run(outcome *out)
{
    char from[2048];
    snprintf(from, sizeof from, "%s", tree_path(&scratch, "base"));
    stk_repair_options o;
    stk_repair_report report;
    stk_repair_options_init(&o);
    o.from = from;
    out->status = stk_repair(tree_path(&scratch, "o.stk"), &o, &report, &out->error);
    out->lossy = out->status == STK_OK && report.dead > 0;
}
/* The data is published before its list of sources. */
static bool repair_intact(void) { return same("o.stk", "base-spoilt.stk") || same("o.stk", "base.stk"); }

/* ---- Staging. The source is always there to be read, so nothing but a whole or no copy is right. */

static char staged_path[STK_STAGE_PATH];

static void stage_run(outcome *out)
{
    char place[2048];
    snprintf(place, sizeof place, "%s", tree_path(&scratch, "place"));
    stk_stage_options o;
    stk_stage_report report;
    stk_stage_options_init(&o);
    mkdir(place, 0755);
    o.to = place;
    o.keep_free = 0;
    o.n_threads = 2;
    staged_path[0] = '\0';
    out->status = stk_stage(tree_path(&scratch, "base.stk"), &o, &report, &out->error);
    if (out->status == STK_OK) snprintf(staged_path, sizeof staged_path, "%s", report.path);
    out->lossy = out->status == STK_OK && report.state != STK_STAGE_WHOLE;
}
static bool stage_right(void)
{
    return staged_path[0] != '\0' && same_files(staged_path, tree_path(&scratch, "base.stk"));
}

/* ---- The loader. */

static uint64_t epoch_pixels;

static void load(stk_io io, outcome *out)
{
    stk_dataset *d = NULL;
    stk_loader *l = NULL;
    stk_dataset_options od;
    stk_loader_options o;
    stk_dataset_options_init(&od);
    stk_loader_options_init(&o);
    od.io = io;
    stk_transform_init(&o.transform, STK_TRANSFORM_RANDOM_RESIZED_CROP);
    o.transform.out_width = o.transform.out_height = 24;
    o.batch_size = 4;
    o.n_threads = 2;
    epoch_pixels = 0;
    out->status = stk_dataset_open(tree_path(&scratch, "base-folder"), &od, &d, &out->error);
    if (out->status == STK_OK) out->status = stk_loader_open(d, &o, &l, &out->error);
    while (out->status == STK_OK) {
        stk_batch *b = NULL;
        out->status = stk_loader_next(l, TIMEOUT_S * 1000 / 2, &b, &out->error);
        if (out->status != STK_OK) break;
        epoch_pixels = epoch_pixels * 31 + stk_hash64(b->data, b->data_bytes);
        stk_batch_release(b);
    }
    if (out->status == STK_END) out->status = STK_OK;
    stk_loader_close(&l);
    stk_dataset_close(&d);
}

static uint64_t want_pixels;
static void load_pread(outcome *out) { load(STK_IO_PREAD, out); }
static void load_mmap(outcome *out) { load(STK_IO_MMAP, out); }
static bool load_right(void)
{
    if (want_pixels == 0) want_pixels = epoch_pixels;
    return epoch_pixels == want_pixels;
}

static const scenario scenarios[] = {
    {"pack", nothing, pack_run, pack_right, pack_intact},
    {"pack-no-resume", nothing, pack_cut_run, pack_right, pack_intact},
    {"pack-append", old_folder, append_run, append_right, folder_intact},
    {"pack-folder-force", old_folder, folder_run, folder_right, folder_intact},
    {"pack-cache", nothing, cache_run, pack_right, pack_intact},
    {"pack-tar", nothing, tar_run, tar_right, pack_intact},
    {"pack-hdf5", nothing, hdf5_run, hdf5_right, hdf5_intact},
    {"merge", nothing, merge_run, merge_right, pack_intact},
    {"export-tar", nothing, export_run, export_right, export_intact},
    {"verify", nothing, verify_run, always, always},
    {"repair", spoilt, repair_run, repair_right, repair_intact},
    {"stage", nothing, stage_run, stage_right, always},
    {"load-pread", nothing, load_pread, load_right, always},
    {"load-mmap", nothing, load_mmap, load_right, always},
};
enum { N_SCENARIOS = sizeof scenarios / sizeof *scenarios };

/* ---- What fails, and how. */

typedef struct trial {
    fault_kind kind;
    int how;
    bool on; /* and all later ones */
} trial;

static const trial trials[] = {
    {FAULT_READ, EIO, false},      {FAULT_READ, FAULT_SHORT, false},   {FAULT_PREAD, EIO, false},
    {FAULT_PREAD, EIO, true},      {FAULT_PREAD, FAULT_SHORT, false},  {FAULT_WRITE, ENOSPC, true},
    {FAULT_PWRITE, ENOSPC, true},  {FAULT_PWRITE, EIO, false},         {FAULT_PWRITE, FAULT_SHORT, false},
    {FAULT_FSYNC, EIO, false},     {FAULT_OPEN, EMFILE, false},        {FAULT_OPEN, EIO, false},
    {FAULT_RENAME, EIO, false},    {FAULT_UNLINK, EIO, false},         {FAULT_MKDIR, ENOSPC, false},
    {FAULT_TRUNCATE, EIO, false},  {FAULT_STAT, EIO, false},           {FAULT_MMAP, ENOMEM, false},
    {FAULT_MALLOC, ENOMEM, false}, {FAULT_THREAD, EAGAIN, false},      {FAULT_CLOSE, EIO, false},
};
enum { N_TRIALS = sizeof trials / sizeof *trials };

static const char *current = "";
static long n_tried, n_failed_runs, n_right_runs;

static void on_alarm(int number)
{
    (void)number;
    fault_disarm();
    fprintf(stderr, "HANGS: %s\n", current);
    _exit(1);
}

static int count_descriptors(void)
{
    int n = 0;
    DIR *stream = opendir("/proc/self/fd");
    while (stream != NULL && readdir(stream) != NULL) n++;
    if (stream != NULL) closedir(stream);
    return n;
}

static void complain(const char *what, const outcome *out)
{
    fprintf(stderr, "%s: %s (%s: %s)\n", current, what, stk_status_name(out->status),
            out->status == STK_OK ? out->issue : out->error.text);
    check_failures_++;
}

/* An error must be one of those that a fault may lead to, and say something. */
static void check_error(const outcome *out)
{
    if (out->status == STK_ERR_INTERNAL || out->status == STK_AGAIN || out->status < STK_ERR_ARGUMENT)
        complain("an impossible status", out);
    else if (strlen(out->error.text) < 8 || out->error.status != out->status)
        complain("no clear text", out);
}

static outcome run_once(const scenario *s, const trial *t, long n, long *hits)
{
    outcome out = {.status = STK_OK};
    s->prepare();
    alarm(TIMEOUT_S);
    if (t != NULL) fault_arm(t->kind, n, t->how, t->on);
    s->run(&out);
    *hits = fault_disarm();
    alarm(0);
    return out;
}

/* The run without faults, on what the one with a fault has left. */
static void check_recovery(const scenario *s, const outcome *before)
{
    outcome out = {.status = STK_OK};
    alarm(TIMEOUT_S);
    s->run(&out);
    alarm(0);
    bool there = out.status == STK_ERR_EXISTS; /* what failed came after the output was in place */
    list_may_lack = there;
    if (out.status != STK_OK && !there) complain("the next run, without faults, fails", &out);
    else if (!s->right()) complain("the next run, without faults, gives something else", before);
    list_may_lack = false;
    if (!there && !no_litter(false)) complain("temporary files stay", before);
}

/* True when the fault was met. */
static bool try_fault(const scenario *s, const trial *t, long n)
{
    long hits = 0, blocks = 0;
    int descriptors = 0;
    outcome out = {.status = STK_OK};
    /* What is allocated once and kept (by a library, or by a thread) is no leak: only a second time is. */
    for (int round = 0; round < 3; round++) {
        blocks = fault_live_blocks();
        descriptors = count_descriptors();
        out = run_once(s, t, n, &hits);
        blocks = fault_live_blocks() - blocks;
        descriptors = count_descriptors() - descriptors;
        if (hits == 0 || (blocks <= 0 && descriptors <= 0)) break;
    }
    /* libhdf5 keeps what it could not write. */
    if (blocks > 0 && hits > 0 && strcmp(s->name, "pack-hdf5") != 0) {
        fprintf(stderr, "%ld blocks: ", blocks);
        complain("memory is lost", &out);
    }
    if (descriptors > 0 && hits > 0) complain("descriptors are lost", &out);
    n_tried++;
    if (out.status != STK_OK) {
        n_failed_runs++;
        check_error(&out);
        if (hits == 0) complain("fails without a fault", &out);
        if (!s->intact() && !s->right()) complain("what was there before is not there any more", &out);
        if (!no_litter(out.status == STK_ERR_IO)) complain("temporary files stay", &out);
    } else if (out.lossy) {
        if (t->kind == FAULT_MALLOC || t->kind == FAULT_MMAP) complain("something is left out for want of memory", &out);
        n_right_runs++;
        return hits > 0;
    } else {
        n_right_runs++;
        if (!s->right()) complain("ends well with something else", &out);
    }
    if (hits > 0) check_recovery(s, &out);
    return hits > 0;
}

static void try_all(const scenario *s, const trial *t, bool quick)
{
    char name[200];
    const char *words = t->how == FAULT_SHORT ? "short" : strerrorname_np(t->how);
    int before = check_failures_;
    long n = 1, tried = 0;
    for (;; n += quick && n >= 10 ? 1 + n / 3 : 1) {
        snprintf(name, sizeof name, "%s, %s number %ld %s%s", s->name, fault_name(t->kind), n, words,
                 t->on ? " from then on" : "");
        current = name;
        if (!try_fault(s, t, n)) break;
        tried++;
        if (check_failures_ > before + 5) break; /* more of the same */
    }
    printf("%s %s %s%s: %ld faults\n", check_failures_ == before ? "ok  " : "FAIL", s->name, fault_name(t->kind),
           t->how == FAULT_SHORT ? " short" : t->on ? " from then on" : "", tried);
    fflush(stdout);
}

/* ---- */

static void make_base(void)
{
    static const char *const ENDS[] = {"jpg", "png", "ppm", "jpg"};
    outcome out;
    for (int i = 0; i < N_PICTURES; i++) {
        char name[64];
        uint32_t side = i % 4 == 3 ? 90 : 40 + 60 * (uint32_t)(i % 2);
        snprintf(name, sizeof name, "base/c%d/%03d.%s", i * 3 / N_PICTURES, i, ENDS[i % 4]);
        picture_file(&scratch, name, side, side + 7, (uint64_t)i, 1);
        /* Times of just now are not trusted, so the lists of sources would differ. */
        struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000 + i}};
        CHECK_EQ(utimensat(AT_FDCWD, tree_path(&scratch, name), old, 0), 0);
    }
    stk_pack_options o = pack_options();
    pack_to("base", "base.stk", &o, &out);
    CHECK_EQ(out.status, STK_OK);
    o.n_parts = 2;
    for (o.part = 1; o.part <= 2; o.part++) pack_to("base", o.part == 1 ? "base-1.stk" : "base-2.stk", &o, &out);
    o = pack_options();
    o.shard_bytes = 1 << 16;
    pack_to("base", "base-folder/", &o, &out);
    picture_file(&scratch, "base-few/c0/one.jpg", 50, 50, 5, 1);
    pack_to("base-few", "base-old/", &o, &out);
    pack_to("base-few", "base-appended/", &o, &out);
    o.append = true;
    pack_to("base", "base-appended/", &o, &out);
    CHECK_EQ(out.status, STK_OK);
    o.append = false;
    char command[4096];
    snprintf(command, sizeof command, "tar -C '%s' -cf '%s/base.tar' base", scratch.root, scratch.root);
    CHECK_EQ(system(command), 0);
    pack_to("base.tar", "base-tar.stk", &o, &out);
    CHECK_EQ(out.status, STK_OK);
    copy_file("base.stk", "base-spoilt.stk");
    stk_dataset *d = NULL;
    CHECK_OK(stk_dataset_open(tree_path(&scratch, "base.stk"), NULL, &d, &error));
    for (uint64_t i = 0; i < N_PICTURES; i += 3) damage_record(tree_path(&scratch, "base-spoilt.stk"), d, i);
    stk_export_options e;
    stk_export_options_init(&e);
    e.to = STK_EXPORT_TAR;
    CHECK_OK(stk_export(d, tree_path(&scratch, "base-export.tar"), &e, &error));
    stk_dataset_close(&d);
}

static bool is_wanted(const char *name, char **names, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return n == 0;
}

int main(int argc, char **argv)
{
    bool quick = argc < 2 || strcmp(argv[1], "all") != 0;
    long hits;
    struct stat st;
    signal(SIGALRM, on_alarm);
    /* Thousands of fsyncs: in memory, where there is room. */
    if (getenv("TMPDIR") == NULL && stat("/dev/shm", &st) == 0 && access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1);
    tree_make(&scratch);
    make_base();
    for (int i = 0; i < N_SCENARIOS; i++) {
        const scenario *s = &scenarios[i];
        if (!is_wanted(s->name, argv + 2, argc > 2 ? argc - 2 : 0)) continue;
        for (int warm = 0; warm < 2; warm++) {
            current = s->name;
            outcome out = run_once(s, NULL, 0, &hits);
            if (out.status != STK_OK || !s->right()) complain("does not work without a fault", &out);
        }
        const char *kind = getenv("FAULT_KIND");
        fault_spare_libc(strcmp(s->name, "pack-hdf5") == 0);
        for (int t = 0; t < N_TRIALS; t++)
            if (kind == NULL || strcmp(kind, fault_name(trials[t].kind)) == 0) try_all(s, &trials[t], quick);
    }
    printf("%ld runs with a fault or the last without: %ld ended well, %ld with an error\n", n_tried, n_right_runs,
           n_failed_runs);
    tree_remove(&scratch);
    return check_exit();
}
