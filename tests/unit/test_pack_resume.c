/* SPDX-License-Identifier: Apache-2.0
 *
 * A pack that is killed goes on when it is started again, and ends with the bytes of an undisturbed run: killed at
 * any file, killed again while going on, after sources changed, after a power cut that lost part of what it had
 * written. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/pack_helpers.h"
#include "tests/support/pictures.h"

static stk_error error;
enum { N_FILES = 120 };

static void make_old(const tree *t, const char *name)
{
    struct timespec times[2] = {{.tv_sec = 1600000000}, {.tv_sec = 1600000000}};
    CHECK(utimensat(AT_FDCWD, tree_path(t, name), times, 0) == 0);
}

static void file_name(char *name, size_t capacity, int i)
{
    snprintf(name, capacity, "s/c%d/%03d.%s", i / 40, i % 40, i % 3 == 0 ? "ppm" : "jpg");
}

/* 120 files; at every fifth place a broken one, so that the callback below runs there. */
static void make_source(tree *t)
{
    tree_make(t);
    for (int i = 0; i < N_FILES; i++) {
        char name[64];
        file_name(name, sizeof name, i);
        if (i % 5 == 4) tree_text(t, name, "no image at all");
        else picture_file(t, name, i % 2 == 0 ? 90 : 200, 120, (uint64_t)i, 1);
        make_old(t, name);
    }
}

static int countdown;

static void kill_myself(void *user, const stk_pack_issue *issue)
{
    (void)user, (void)issue;
    if (countdown-- <= 0) kill(getpid(), SIGKILL);
}

/* Packs in a child that kills itself at the issue number `after` (in the order of the list; a resumed run meets
 * those of the killed one again). True when it was killed, false when it got through. */
static bool pack_until(const tree *t, const char *dst, const stk_pack_options *options, int after)
{
    pid_t child = fork();
    if (child == 0) {
        stk_pack_options o = *options;
        o.n_threads = 1; /* the parent's OpenMP threads do not live here */
        o.issue = kill_myself;
        countdown = after;
        _exit(stk_pack(tree_path(t, "s"), tree_path(t, dst), &o, NULL, NULL) == STK_OK ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return WIFSIGNALED(status);
}

/* The one file of that name in the killed job's folder. */
static const char *left_over(const tree *t, const char *dst, const char *name)
{
    static char path[1200];
    char command[1200];
    snprintf(command, sizeof command, "ls -d '%s'/'%s'.tmp.[0-9a-f]*/'%s'", t->root, dst, name);
    FILE *f = popen(command, "r");
    path[0] = '\0';
    if (f == NULL || fgets(path, sizeof path, f) == NULL) CHECK(0);
    if (f != NULL) pclose(f);
    path[strcspn(path, "\n")] = '\0';
    return path;
}

static void check_equal(const tree *t, bool folder)
{
    if (!folder) {
        CHECK(same_files(tree_path(t, "o.stk"), tree_path(t, "want.stk")));
        CHECK(same_files(tree_path(t, "o.stk.sources"), tree_path(t, "want.stk.sources")));
        CHECK(same_files(tree_path(t, "o.stk.report.jsonl"), tree_path(t, "want.stk.report.jsonl")));
    } else {
        char command[1200];
        snprintf(command, sizeof command, "diff -r '%s/o' '%s/want' >&2", t->root, t->root);
        CHECK(system(command) == 0);
    }
    CHECK_EQ(count_names(t, ".tmp."), 0);
}

static void run_kills(bool folder, bool shuffle)
{
    tree t;
    make_source(&t);
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.force = true;
    options.shard_bytes = 150000;
    options.shuffle = shuffle;
    const char *dst = folder ? "o/" : "o.stk";
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, folder ? "want/" : "want.stk"), &options, NULL, &error));
    for (int after = 0; after < 24; after += 3) {
        CHECK(pack_until(&t, dst, &options, after));
        stk_pack_report report;
        CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, dst), &options, &report, &error));
        /* The log is written twice a second only: what it had not noted is made again. */
        CHECK(report.resumed <= (uint64_t)(after + 1) * 4);
        CHECK_EQ(report.records, N_FILES / 5 * 4);
        check_equal(&t, folder);
    }
    tree_remove(&t);
}

static void test_killed_single(void)
{
    run_kills(false, false);
    run_kills(false, true);
}

static void test_killed_folder(void)
{
    run_kills(true, false);
}

/* Slow enough for the log to be written: a pause in the callback, as a long image would make one. */
static void pause_then_kill(void *user, const stk_pack_issue *issue)
{
    (void)user, (void)issue;
    usleep(30000);
    if (countdown-- <= 0) kill(getpid(), SIGKILL);
}

static bool pack_slowly_until(const tree *t, const char *dst, const stk_pack_options *options, int after)
{
    pid_t child = fork();
    if (child == 0) {
        stk_pack_options o = *options;
        o.n_threads = 1;
        o.issue = pause_then_kill;
        countdown = after;
        _exit(stk_pack(tree_path(t, "s"), tree_path(t, dst), &o, NULL, NULL) == STK_OK ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status);
}

static void want_undisturbed(const tree *t, stk_pack_options *options, bool folder)
{
    stk_pack_options_init(options);
    options->force = true;
    options->shard_bytes = 150000;
    CHECK_OK(stk_pack(tree_path(t, "s"), tree_path(t, folder ? "want/" : "want.stk"), options, NULL, &error));
}

static void test_goes_on(void)
{
    for (int folder = 0; folder < 2; folder++) {
        tree t;
        make_source(&t);
        stk_pack_options options;
        stk_pack_report report;
        want_undisturbed(&t, &options, folder);
        const char *dst = folder ? "o/" : "o.stk";
        CHECK(pack_slowly_until(&t, dst, &options, 22));
        /* Killed again while it takes over, and once more later. */
        CHECK(pack_until(&t, dst, &options, 3));
        CHECK(pack_until(&t, dst, &options, 23));
        CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, dst), &options, &report, &error));
        if (report.resumed < 40) fprintf(stderr, "resumed only %llu\n", (unsigned long long)report.resumed);
        CHECK(report.resumed >= 40);
        check_equal(&t, folder);
        tree_remove(&t);
    }
}

static void test_no_resume(void)
{
    tree t;
    make_source(&t);
    stk_pack_options options;
    stk_pack_report report;
    want_undisturbed(&t, &options, false);
    CHECK(pack_slowly_until(&t, "o.stk", &options, 22));
    options.resume = false;
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, &report, &error));
    CHECK_EQ(report.resumed, 0);
    check_equal(&t, false);
    tree_remove(&t);
}

/* A source that changed meanwhile: what comes before it is taken over, it and the rest are made anew. */
static void test_changed_source(void)
{
    tree t;
    make_source(&t);
    stk_pack_options options;
    stk_pack_report report;
    stk_pack_options_init(&options);
    CHECK(pack_slowly_until(&t, "o.stk", &options, 22));
    picture_file(&t, "s/c0/010.jpg", 222, 111, 4711, 1);
    make_old(&t, "s/c0/010.jpg");
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, &report, &error));
    CHECK_EQ(report.resumed, 8);
    want_undisturbed(&t, &options, false);
    check_equal(&t, false);
    tree_remove(&t);
}

/* What was broken and is mended is not left out because of an old note. */
static void test_mended_source(void)
{
    tree t;
    make_source(&t);
    stk_pack_options options;
    stk_pack_report report;
    stk_pack_options_init(&options);
    CHECK(pack_slowly_until(&t, "o.stk", &options, 22));
    picture_file(&t, "s/c0/014.jpg", 50, 50, 4711, 1);
    make_old(&t, "s/c0/014.jpg");
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, &report, &error));
    CHECK_EQ(report.records, N_FILES / 5 * 4 + 1);
    want_undisturbed(&t, &options, false);
    check_equal(&t, false);
    tree_remove(&t);
}

/* After a power cut the file's length may be there and its bytes not: zeros, a torn end, a flipped bit, no log. */
static void test_power_cut(void)
{
    for (int damage = 0; damage < 6; damage++) {
        tree t;
        make_source(&t);
        stk_pack_options options;
        stk_pack_report report;
        want_undisturbed(&t, &options, false);
        CHECK(pack_slowly_until(&t, "o.stk", &options, 22));
        char data[1200], log[1200];
        snprintf(data, sizeof data, "%s", left_over(&t, "o.stk", "data"));
        snprintf(log, sizeof log, "%s", left_over(&t, "o.stk", "sources"));
        struct stat st, log_st;
        CHECK(stat(data, &st) == 0 && stat(log, &log_st) == 0);
        static const char zeros[100000];
        int fd = open(data, O_RDWR);
        CHECK(fd >= 0);
        switch (damage) {
        case 0: CHECK(pwrite(fd, zeros, sizeof zeros, st.st_size / 2) == sizeof zeros); break;
        case 1: CHECK(ftruncate(fd, st.st_size / 3 + 17) == 0); break;
        case 2: CHECK(pwrite(fd, "?", 1, st.st_size * 3 / 4) == 1); break;
        case 3: CHECK(truncate(log, log_st.st_size / 2) == 0); break;
        case 4: CHECK(ftruncate(fd, 0) == 0); break;
        case 5: CHECK(pwrite(fd, "?", 1, 20) == 1); break; /* the header */
        }
        close(fd);
        CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, &report, &error));
        if (damage < 4) CHECK(report.resumed > 5);
        if (damage >= 4) CHECK_EQ(report.resumed, 0);
        check_equal(&t, false);
        tree_remove(&t);
    }
}

static bool cancel_at_pack(void *user, const stk_pack_progress *progress)
{
    (void)user;
    return strcmp(progress->phase, "write") != 0;
}

/* Cancelling keeps what was made. */
static void test_cancelled(void)
{
    tree t;
    make_source(&t);
    stk_pack_options options;
    stk_pack_report report;
    want_undisturbed(&t, &options, false);
    options.progress = cancel_at_pack;
    CHECK_STATUS(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, NULL, &error), STK_ERR_CANCELLED);
    CHECK(!tree_has(&t, "o.stk"));
    options.progress = NULL;
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, &report, &error));
    CHECK_EQ(report.resumed, N_FILES / 5 * 4);
    check_equal(&t, false);
    tree_remove(&t);
}

int main(void)
{
    RUN(test_killed_single);
    RUN(test_killed_folder);
    RUN(test_goes_on);
    RUN(test_no_resume);
    RUN(test_changed_source);
    RUN(test_mended_source);
    RUN(test_power_cut);
    RUN(test_cancelled);
    return check_exit();
}
