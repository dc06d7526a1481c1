/* SPDX-License-Identifier: Apache-2.0
 *
 * What must never happen to an output: half of it, none of it where there was one, two writers, litter. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "tests/support/pack_helpers.h"
#include "tests/support/pictures.h"

static stk_error error;

static void make_source(tree *t, int n)
{
    tree_make(t);
    for (int i = 0; i < n; i++) {
        char name[64];
        snprintf(name, sizeof name, "s/c%d/%03d.ppm", i % 3, i);
        picture_file(t, name, 100, 100, (uint64_t)i, 1);
    }
}

static void test_refusals(void)
{
    tree t;
    make_source(&t, 3);
    stk_pack_options options;
    stk_pack_options_init(&options);
    char s[600];
    snprintf(s, sizeof s, "%s/s", t.root);
    CHECK_STATUS(stk_pack(s, tree_path(&t, "s/o.stk"), &options, NULL, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "in the source folder") != NULL);
    CHECK_STATUS(stk_pack(s, tree_path(&t, "s/c1/deep.stk"), &options, NULL, &error), STK_ERR_ARGUMENT);
    CHECK_STATUS(stk_pack(s, tree_path(&t, "s/"), &options, NULL, &error), STK_ERR_ARGUMENT);
    CHECK_STATUS(stk_pack(s, tree_path(&t, "no/such/o.stk"), &options, NULL, &error), STK_ERR_NOT_FOUND);
    CHECK_STATUS(stk_pack(tree_path(&t, "absent"), tree_path(&t, "o.stk"), &options, NULL, &error),
                 STK_ERR_NOT_FOUND);
    tree_folder(&t, "empty");
    CHECK_STATUS(stk_pack(tree_path(&t, "empty"), tree_path(&t, "o.stk"), &options, NULL, &error),
                 STK_ERR_NOT_FOUND);
    CHECK(strstr(error.text, "no images found") != NULL);
    tree_text(&t, "texts/a.txt", "x");
    tree_text(&t, "texts/b.jpg", "x");
    CHECK_STATUS(stk_pack(tree_path(&t, "texts"), tree_path(&t, "o.stk"), &options, NULL, &error),
                 STK_ERR_NOT_FOUND);
    tree_text(&t, "o.stk", "something of mine");
    CHECK_STATUS(stk_pack(s, tree_path(&t, "o.stk"), &options, NULL, &error), STK_ERR_EXISTS);
    CHECK(strstr(error.text, "--force") != NULL);
    options.force = true;
    tree_text(&t, "mine/photo.txt", "precious");
    CHECK_STATUS(stk_pack(s, tree_path(&t, "mine/"), &options, NULL, &error), STK_ERR_EXISTS);
    CHECK_STATUS(stk_pack(s, tree_path(&t, "mine"), &options, NULL, &error), STK_ERR_EXISTS);
    CHECK(tree_has(&t, "mine/photo.txt"));
    CHECK_STATUS(stk_pack(s, tree_path(&t, "x.h5.gz"), NULL, NULL, &error), STK_OK);
    CHECK_STATUS(stk_pack(tree_path(&t, "o.stk"), tree_path(&t, "y.stk"), NULL, NULL, &error), STK_ERR_UNSUPPORTED);
    CHECK_STATUS(stk_pack(NULL, tree_path(&t, "y.stk"), NULL, NULL, &error), STK_ERR_ARGUMENT);
    options.quality = 0;
    CHECK_STATUS(stk_pack(s, tree_path(&t, "y.stk"), &options, NULL, &error), STK_ERR_ARGUMENT);
    CHECK_EQ(count_names(&t, ".tmp."), 0);
    tree_remove(&t);
}

static void test_force_replaces(void)
{
    tree t;
    make_source(&t, 6);
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.force = true;
    options.shard_bytes = 1 << 16;
    static const char *const NAMES[] = {"o.stk", "o/"};
    for (int i = 0; i < 2; i++) {
        const char *dst = tree_path(&t, NAMES[i]);
        CHECK_OK(stk_pack(tree_path(&t, "s"), dst, &options, NULL, &error));
        tree_text(&t, "s/c0/more.txt", "x");
        picture_file(&t, "s/c0/new.ppm", 70, 70, 9, 1);
        CHECK_OK(stk_pack(tree_path(&t, "s"), dst, &options, NULL, &error));
        stk_dataset *d = NULL;
        CHECK_OK(stk_dataset_open(dst, NULL, &d, &error));
        CHECK_EQ(stk_dataset_len(d), 7);
        stk_dataset_close(&d);
        unlink(tree_path(&t, "s/c0/new.ppm"));
    }
    CHECK(tree_has(&t, "o/dataset.json") && tree_has(&t, "o/00001.stk"));
    CHECK(tree_has(&t, "o.sources") && tree_has(&t, "o.report.jsonl") && tree_has(&t, "o.stk.sources"));
    CHECK_EQ(count_names(&t, ".tmp."), 0);
    tree_remove(&t);
}

static bool cancel(void *user, const stk_pack_progress *progress)
{
    (void)user;
    return strcmp(progress->phase, "scan") == 0;
}

static void test_cancel(void)
{
    tree t;
    make_source(&t, 20);
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.progress = cancel;
    options.resume = false;
    CHECK_STATUS(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, NULL, &error), STK_ERR_CANCELLED);
    CHECK_EQ(count_names(&t, "o.stk"), 0);
    tree_remove(&t);
}

static void kill_myself(void *user, const stk_pack_issue *issue)
{
    (void)user, (void)issue;
    kill(getpid(), SIGKILL);
}

/* Packs in a child that kills itself when it meets the file that is no image. One thread: the parent's OpenMP
 * threads do not live in a forked child. */
static void pack_and_die(const tree *t, const char *dst, bool force)
{
    pid_t child = fork();
    if (child == 0) {
        stk_pack_options options;
        stk_pack_options_init(&options);
        options.n_threads = 1;
        options.issue = kill_myself;
        options.force = force;
        (void)!stk_pack(tree_path(t, "s"), tree_path(t, dst), &options, NULL, NULL);
        _exit(3);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void test_kill_9(void)
{
    tree t;
    make_source(&t, 40);
    tree_text(&t, "s/c1/020.jpg", "no image");
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "want.stk"), NULL, NULL, &error));
    pack_and_die(&t, "o.stk", false);
    CHECK(!tree_has(&t, "o.stk"));
    CHECK_EQ(count_names(&t, "o.stk.tmp."), 2); /* the dead job's folder, the lock's file */
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), NULL, NULL, &error));
    CHECK(same_files(tree_path(&t, "o.stk"), tree_path(&t, "want.stk")));
    CHECK_EQ(count_names(&t, ".tmp."), 0);

    /* An old output survives, whatever happens to its successor. */
    picture_file(&t, "s/c1/zzz.ppm", 30, 30, 77, 1);
    pack_and_die(&t, "o.stk", true);
    CHECK(same_files(tree_path(&t, "o.stk"), tree_path(&t, "want.stk")));
    /* Another job for the same output clears away what the dead one left. */
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.force = true;
    options.encode = STK_ENCODE_RAW;
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), &options, NULL, &error));
    CHECK_EQ(count_names(&t, ".tmp."), 0);
    tree_remove(&t);
}

static void test_busy(void)
{
    tree t;
    make_source(&t, 3);
    char lock[600];
    snprintf(lock, sizeof lock, "%s/o.stk.tmp.lock", t.root);
    tree_text(&t, "o.stk.tmp.0123456789abcdef/data", "of a living pack");
    int ready[2];
    CHECK(pipe(ready) == 0);
    pid_t child = fork();
    if (child == 0) {
        int fd = open(lock, O_RDWR | O_CREAT, 0666);
        if (fd < 0 || flock(fd, LOCK_EX) != 0 || write(fd, "pid 42", 6) != 6) _exit(1);
        if (write(ready[1], "x", 1) != 1) _exit(1);
        for (;;) pause();
    }
    char byte;
    CHECK(read(ready[0], &byte, 1) == 1);
    CHECK_STATUS(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), NULL, NULL, &error), STK_ERR_BUSY);
    CHECK(strstr(error.text, "pid 42") != NULL);
    CHECK(tree_has(&t, "o.stk.tmp.0123456789abcdef/data")); /* a living owner's files are not touched */
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), NULL, NULL, &error));
    CHECK_EQ(count_names(&t, ".tmp."), 0);
    close(ready[0]);
    close(ready[1]);
    tree_remove(&t);
}

static void test_read_only_place(void)
{
    tree t;
    make_source(&t, 3);
    tree_folder(&t, "ro");
    CHECK(chmod(tree_path(&t, "ro"), 0555) == 0);
    CHECK(chmod(t.root, 0755) == 0);
    uid_t me = geteuid();
    if (me == 0) CHECK(seteuid(65534) == 0); /* root may write everywhere */
    CHECK_STATUS(stk_pack(tree_path(&t, "s"), tree_path(&t, "ro/o.stk"), NULL, NULL, &error), STK_ERR_IO);
    CHECK(strstr(error.text, "ro/o.stk") != NULL && strstr(error.text, "Permission denied") != NULL);
    if (me == 0) CHECK(seteuid(0) == 0);
    CHECK(chmod(tree_path(&t, "ro"), 0755) == 0);
    tree_remove(&t);
}

/* In a mount namespace of its own: a tmpfs of one MiB that holds an old output. Exit code 0 fine, 77 no
 * namespaces here. */
static int full_disk_child(const tree *t)
{
    uid_t me = geteuid();
    if (unshare(me == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) return 77;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return 77;
    if (mount("tmpfs", tree_path(t, "full"), "tmpfs", 0, "size=1m") != 0) return 77;
    tree_text(t, "full/o.stk", "\x89STK\r\n\x1a\nthe old one");
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.force = true;
    options.n_threads = 1;
    CHECK_STATUS(stk_pack(tree_path(t, "s"), tree_path(t, "full/o.stk"), &options, NULL, &error),
                 STK_ERR_NO_SPACE);
    CHECK(strstr(error.text, "full/o.stk") != NULL && strstr(error.text, "No space left") != NULL);
    size_t n;
    char *old = file_bytes(tree_path(t, "full/o.stk"), &n);
    CHECK(strcmp(old, "\x89STK\r\n\x1a\nthe old one") == 0);
    free(old);
    CHECK(!tree_has(t, "full/o.stk.sources"));
    DIR *stream = opendir(tree_path(t, "full"));
    int entries = 0;
    while (stream != NULL && readdir(stream) != NULL) entries++;
    CHECK_EQ(entries, 3); /* ".", ".." and the old output: nothing of the new one takes up space */
    if (stream != NULL) closedir(stream);
    return check_exit();
}

static void test_full_disk(void)
{
    tree t;
    make_source(&t, 60);
    tree_folder(&t, "full");
    pid_t child = fork();
    if (child == 0) _exit(full_disk_child(&t));
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) printf("     skipped: mount namespaces are not allowed here\n");
    else CHECK_EQ(status, 0);
    tree_remove(&t);
}

int main(void)
{
    RUN(test_refusals);
    RUN(test_force_replaces);
    RUN(test_cancel);
    RUN(test_kill_9);
    RUN(test_busy);
    RUN(test_read_only_place);
    RUN(test_full_disk);
    return check_exit();
}
