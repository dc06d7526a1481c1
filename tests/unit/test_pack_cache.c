/* SPDX-License-Identifier: Apache-2.0
 *
 * The preprocessing cache: what one pack made, another takes; outputs equal those without it; nothing damaged is
 * trusted; the limit holds; several packs at once. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include <stoker/cache.h>

#include "packer/cache_place.h"
#include "stoker_features.h"
#include "tests/support/pack_helpers.h"
#include "tests/support/pictures.h"

static stk_error error;

static void make_source(tree *t)
{
    tree_make(t);
    for (int i = 0; i < 30; i++) {
        char name[64];
        snprintf(name, sizeof name, "s/%02d.jpg", i);
        picture_file(t, name, i % 2 == 0 ? 100 : 300, 200, (uint64_t)i, i % 8 == 1 ? 6 : 1);
        snprintf(name, sizeof name, "s/%02d.png", i);
        picture_file(t, name, 100, 80, (uint64_t)i, 1);
    }
    picture_file(t, "s/tiny.ppm", 10, 10, 1, 1);
    /* A damaged one: its verdict is remembered too. */
    size_t n;
    char *bytes = file_bytes(tree_path(t, "s/01.jpg"), &n);
    tree_bytes(t, "s/cut.jpg", bytes, n / 2);
    free(bytes);
    char command[600];
    snprintf(command, sizeof command, "touch -d 2020-01-01 '%s'/s/*", t->root);
    CHECK(system(command) == 0);
}

static stk_pack_report pack_as(const tree *t, const char *source, const char *dst, const char *cache,
                               stk_encode encode)
{
    stk_pack_options options;
    stk_pack_report report;
    char folder[600];
    stk_pack_options_init(&options);
    options.encode = encode;
    options.resume = false; /* nothing from an earlier output: only the cache */
    options.force = true;
    if (cache != NULL) {
        snprintf(folder, sizeof folder, "%s/%s", t->root, cache);
        options.cache = folder;
    }
    CHECK_OK(stk_pack(tree_path(t, source), tree_path(t, dst), &options, &report, &error));
    return report;
}

static void test_shared(void)
{
    tree t;
    make_source(&t);
    static const stk_encode ENCODES[] = {STK_ENCODE_AUTO, STK_ENCODE_KEEP, STK_ENCODE_RAW, STK_ENCODE_TILES};
    for (int e = 0; e < 4; e++) {
        pack_as(&t, "s", "want.stk", NULL, ENCODES[e]);
        for (int again = 0; again < 3; again++) {
            stk_pack_report report = pack_as(&t, "s", "o.stk", "cache", ENCODES[e]);
            CHECK_EQ(report.records, 61);
            CHECK_EQ(report.damaged, 1);
            CHECK_EQ(report.reused, again == 0 ? 0 : 60); /* all but the tiny one, which is not worth it */
            CHECK(same_files(tree_path(&t, "o.stk"), tree_path(&t, "want.stk")));
            CHECK(same_files(tree_path(&t, "o.stk.report.jsonl"), tree_path(&t, "want.stk.report.jsonl")));
            CHECK(same_files(tree_path(&t, "o.stk.sources"), tree_path(&t, "want.stk.sources")));
        }
    }
    /* The content is what counts, not where it lies. */
    tree_folder(&t, "other");
    char command[1200];
    snprintf(command, sizeof command, "cp '%s'/s/1*.png '%s/other/'", t.root, t.root);
    CHECK(system(command) == 0);
    CHECK_EQ(pack_as(&t, "other", "o.stk", "cache", STK_ENCODE_RAW).reused, 10);
    CHECK_EQ(count_names(&t, ".tmp."), 0);
    tree_remove(&t);
}

static void test_looking_after(void)
{
    tree t;
    make_source(&t);
    char folder[600];
    snprintf(folder, sizeof folder, "%s/cache", t.root);
    stk_cache_info info;
    uint64_t n = 0, bad = 0;
    CHECK_STATUS(stk_cache_stat(folder, &info, &error), STK_ERR_NOT_FOUND);
    CHECK_STATUS(stk_cache_clear(folder, &error), STK_ERR_NOT_FOUND);
    pack_as(&t, "s", "o.stk", "cache", STK_ENCODE_RAW);
    CHECK_OK(stk_cache_stat(folder, &info, &error));
    CHECK_EQ(info.entries, 61);
    CHECK(info.bytes > 30 * 100 * 200 * 3 && info.bytes < info.file_bytes);
    CHECK_EQ(info.max_bytes, (uint64_t)32 << 30);
    CHECK_OK(stk_cache_verify(folder, &n, &bad, &error));
    CHECK(n == 61 && bad == 0);

    /* The oldest go first: those of a second pack stay. */
    picture_file(&t, "s2/new.png", 300, 300, 4711, 1);
    pack_as(&t, "s2", "o2.stk", "cache", STK_ENCODE_RAW);
    CHECK_OK(stk_cache_trim(folder, 300000, &n, &error));
    CHECK(n > 50);
    CHECK_OK(stk_cache_stat(folder, &info, &error));
    CHECK(info.bytes <= 300000 && info.max_bytes == 300000);
    CHECK_EQ(pack_as(&t, "s2", "o2.stk", "cache", STK_ENCODE_RAW).reused, 1);
    /* The limit holds from now on. */
    pack_as(&t, "s", "o.stk", "cache", STK_ENCODE_RAW);
    CHECK_OK(stk_cache_stat(folder, &info, &error));
    CHECK(info.entries > 0 && info.bytes <= 300000);

    CHECK_OK(stk_cache_clear(folder, &error));
    CHECK_STATUS(stk_cache_stat(folder, &info, &error), STK_ERR_NOT_FOUND);
    CHECK_EQ(pack_as(&t, "s", "o.stk", "cache", STK_ENCODE_RAW).reused, 0);
    CHECK_EQ(pack_as(&t, "s", "o.stk", "cache", STK_ENCODE_RAW).reused, 60);
    tree_remove(&t);
}

/* Overwrites a few bytes of each value in the cache's file, found by the mark that they begin with. */
static int spoil_values(const tree *t)
{
    size_t n;
    int spoilt = 0;
    char *bytes = file_bytes(tree_path(t, "cache/stoker-cache.mdb"), &n);
    int fd = open(tree_path(t, "cache/stoker-cache.mdb"), O_RDWR);
    CHECK(fd >= 0);
    for (size_t at = 0; at + 100 < n; at++) {
        if (memcmp(bytes + at, "STKC\1\0\0\0", 8) != 0) continue;
        CHECK(pwrite(fd, "\xff\xff\xff\xff", 4, (off_t)at + 20) == 4);
        spoilt++;
        at += 8;
    }
    close(fd);
    free(bytes);
    return spoilt;
}

static void test_distrust(void)
{
    tree t;
    make_source(&t);
    char folder[600];
    snprintf(folder, sizeof folder, "%s/cache", t.root);
    pack_as(&t, "s", "want.stk", NULL, STK_ENCODE_AUTO);
    pack_as(&t, "s", "o.stk", "cache", STK_ENCODE_AUTO);
    CHECK(spoil_values(&t) >= 61);
    CHECK_EQ(pack_as(&t, "s", "o.stk", "cache", STK_ENCODE_AUTO).reused, 0);
    CHECK(same_files(tree_path(&t, "o.stk"), tree_path(&t, "want.stk")));
    /* What was damaged has been replaced. */
    CHECK_EQ(pack_as(&t, "s", "o.stk", "cache", STK_ENCODE_AUTO).reused, 60);
    CHECK(same_files(tree_path(&t, "o.stk"), tree_path(&t, "want.stk")));
    spoil_values(&t);
    uint64_t n = 0, bad = 0;
    CHECK_OK(stk_cache_verify(folder, &n, &bad, &error));
    CHECK(n == 61 && bad == 61);
    CHECK_OK(stk_cache_verify(folder, &n, &bad, &error));
    CHECK(n == 0 && bad == 0);

    /* No cache at all, or the front of one: an error that says what to do, and clear does it. */
    tree_text(&t, "cache/stoker-cache.mdb", "this is not LMDB, whatever it is; but long enough to look at it closely. "
                                            "this is not LMDB, whatever it is; but long enough to look at it closely.");
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.cache = folder;
    options.force = true;
    CHECK_STATUS(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, NULL, &error), STK_ERR_CORRUPT);
    CHECK(strstr(error.text, "stoker cache clear") != NULL);
    CHECK_OK(stk_cache_clear(folder, &error));
    CHECK_EQ(pack_as(&t, "s", "o.stk", "cache", STK_ENCODE_AUTO).reused, 0);

    /* One whose making was interrupted holds nothing and is made anew. */
    static const off_t halves[] = {0, 100, 4096, 8191};
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        CHECK(truncate(tree_path(&t, "cache/stoker-cache.mdb"), halves[i]) == 0);
        CHECK_EQ(pack_as(&t, "s", "o.stk", "cache", STK_ENCODE_AUTO).reused, 0);
        CHECK_EQ(pack_as(&t, "s", "o.stk", "cache", STK_ENCODE_AUTO).reused, 60);
    }
    CHECK(truncate(tree_path(&t, "cache/stoker-cache.mdb"), 40000) == 0);
    stk_status status = stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, NULL, &error);
    CHECK(status == STK_OK || status == STK_ERR_CORRUPT);
    if (status == STK_OK) CHECK(same_files(tree_path(&t, "o.stk"), tree_path(&t, "want.stk")));
    tree_remove(&t);
}

/* Four processes, one cache, two of them killed on the way. */
static void kill_myself(void *user, const stk_pack_issue *issue)
{
    (void)user, (void)issue;
    kill(getpid(), SIGKILL);
}

static void test_many_at_once(void)
{
    tree t;
    make_source(&t);
    pack_as(&t, "s", "want.stk", NULL, STK_ENCODE_AUTO);
    char folder[600];
    snprintf(folder, sizeof folder, "%s/cache", t.root);
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < 4; k++) {
            if (fork() != 0) continue;
            char name[32];
            snprintf(name, sizeof name, "o%d.stk", k);
            stk_pack_options options;
            stk_pack_options_init(&options);
            options.n_threads = 1; /* the parent's OpenMP threads do not live here */
            options.cache = folder;
            options.force = true;
            options.resume = false;
            if (k >= 2) options.issue = kill_myself;
            _exit(stk_pack(tree_path(&t, "s"), tree_path(&t, name), &options, NULL, NULL) == STK_OK ? 0 : 1);
        }
        int status, fine = 0, killed = 0;
        while (wait(&status) > 0) {
            fine += WIFEXITED(status) && WEXITSTATUS(status) == 0;
            killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        }
        CHECK_EQ(fine, 2);
        CHECK_EQ(killed, 2);
        for (int k = 0; k < 2; k++) {
            char name[32];
            snprintf(name, sizeof name, "o%d.stk", k);
            CHECK(same_files(tree_path(&t, name), tree_path(&t, "want.stk")));
        }
    }
    uint64_t n = 0, bad = 0;
    CHECK_OK(stk_cache_verify(folder, &n, &bad, &error));
    CHECK(n == 61 && bad == 0);
    tree_remove(&t);
}

static void test_places(void)
{
    CHECK(stk_network_disk("/proc") == NULL);
    CHECK(stk_network_disk("/tmp") == NULL || strlen(stk_network_disk("/tmp")) > 0);
    CHECK(stk_network_disk("/no/such/place") == NULL);
    tree t;
    make_source(&t);
    stk_pack_options options;
    stk_pack_options_init(&options);
    char folder[600];
    snprintf(folder, sizeof folder, "%s/no/such/cache", t.root);
    options.cache = folder;
    CHECK_STATUS(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, NULL, &error), STK_ERR_NOT_FOUND);
    CHECK(!tree_has(&t, "o.stk"));
    tree_remove(&t);
}

/* A build without LMDB says so. */
static void test_absent(void)
{
    stk_cache_info info;
    CHECK_STATUS(stk_cache_stat("/tmp", &info, &error), STK_ERR_UNSUPPORTED);
    CHECK(strstr(error.text, "LMDB") != NULL);
}

int main(void)
{
    if (!STOKER_HAVE_LMDB) {
        RUN(test_absent);
        return check_exit();
    }
    RUN(test_shared);
    RUN(test_looking_after);
    RUN(test_distrust);
    RUN(test_many_at_once);
    RUN(test_places);
    return check_exit();
}
