/* SPDX-License-Identifier: Apache-2.0
 *
 * stk_pack with append: whoever has the folder open keeps what he opened, whoever opens it later has all; columns keep
 * their kinds; a killed run goes on to the same bytes; small images find the tables of their own shards. */
#include <signal.h>
#include <sys/wait.h>

#include "tests/support/pack_helpers.h"
#include "tests/support/pictures.h"

static stk_error error;

static void pictures(const tree *t, const char *folder, const char *class_name, int n, uint32_t side)
{
    for (int i = 0; i < n; i++) {
        char name[128];
        snprintf(name, sizeof name, "%s/%s/%03d.jpg", folder, class_name, i);
        picture_file(t, name, side, side, (uint64_t)i * 7 + side, 1);
    }
}

static stk_pack_options append_options(void)
{
    stk_pack_options o;
    stk_pack_options_init(&o);
    o.append = true;
    return o;
}

static int64_t label_of(const stk_dataset *d, uint64_t i)
{
    stk_record_info info;
    CHECK_OK(stk_dataset_record(d, i, &info, &error));
    return info.label;
}

/* Small JPEGs have shared tables, one set a pack: records of both shards must decode with theirs. */
static void test_views_and_tables(void)
{
    tree t;
    tree_make(&t);
    pictures(&t, "a", "cat", 40, 90);
    pictures(&t, "a", "dog", 40, 90);
    pictures(&t, "b", "bee", 30, 100);
    pictures(&t, "b", "dog", 30, 100);
    CHECK_OK(stk_pack(tree_path(&t, "a"), tree_path(&t, "o/"), NULL, NULL, &error));
    stk_dataset *before = NULL, *after = NULL;
    CHECK_OK(stk_dataset_open(tree_path(&t, "o"), NULL, &before, &error));
    stk_pack_options o = append_options();
    stk_pack_report report;
    CHECK_OK(stk_pack(tree_path(&t, "b"), tree_path(&t, "o/"), &o, &report, &error));
    CHECK_EQ(report.records, 60);
    CHECK_OK(stk_dataset_open(tree_path(&t, "o"), NULL, &after, &error));
    CHECK_EQ(stk_dataset_len(before), 80);
    CHECK_EQ(stk_dataset_classes(before), 2);
    CHECK_EQ(stk_dataset_len(after), 140);
    CHECK_EQ(stk_dataset_classes(after), 3);
    CHECK(strcmp(stk_dataset_class_name(after, 2), "bee") == 0);
    CHECK(strcmp(stk_dataset_id(after), report.dataset_id) == 0);
    CHECK_EQ(label_of(after, 0), 0);
    CHECK_EQ(label_of(after, 79), 1);
    CHECK_EQ(label_of(after, 80), 2);
    CHECK_EQ(label_of(after, 139), 1);

    /* The pixels of each are those of a pack of its own. */
    stk_dataset *alone = NULL;
    CHECK_OK(stk_pack(tree_path(&t, "b"), tree_path(&t, "b.stk"), NULL, NULL, &error));
    CHECK_OK(stk_dataset_open(tree_path(&t, "b.stk"), NULL, &alone, &error));
    stk_buffer x = {0}, y = {0};
    uint32_t w, h, c;
    for (uint64_t i = 0; i < 60; i++) {
        CHECK_OK(stk_dataset_image(after, 80 + i, NULL, &x, &w, &h, &c, &error));
        CHECK_OK(stk_dataset_image(alone, i, NULL, &y, &w, &h, &c, &error));
        CHECK(x.n_bytes == y.n_bytes && memcmp(x.data, y.data, x.n_bytes) == 0);
    }
    for (uint64_t i = 0; i < 80; i++) CHECK_OK(stk_dataset_image(before, i, NULL, &x, &w, &h, &c, &error));
    stk_buffer_free(&x);
    stk_buffer_free(&y);
    stk_dataset_close(&alone);
    stk_dataset_close(&before);
    stk_dataset_close(&after);
    tree_remove(&t);
}

static void table(const tree *t, const char *name, const char *rows)
{
    char text[4096];
    snprintf(text, sizeof text, "path,label,score,where\n%s", rows);
    tree_text(t, name, text);
}

static void test_columns(void)
{
    tree t;
    tree_make(&t);
    for (int i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d.jpg", i);
        picture_file(&t, name, 40, 40, (uint64_t)i, 1);
    }
    table(&t, "a.csv", "0.jpg,cat,1.5,here\n1.jpg,dog,,here\n");
    table(&t, "b.csv", "2.jpg,dog,2.5,there\n3.jpg,emu,0.25,nowhere\n");
    table(&t, "text.csv", "2.jpg,dog,many,there\n");
    table(&t, "full.csv", "0.jpg,cat,1.5,here\n1.jpg,dog,2.5,here\n");
    tree_text(&t, "other.csv", "path,label,score,place\n2.jpg,dog,2.5,there\n");
    tree_text(&t, "fewer.csv", "path,label,score\n2.jpg,dog,2.5\n");
    CHECK_OK(stk_pack(tree_path(&t, "a.csv"), tree_path(&t, "o/"), NULL, NULL, &error));
    stk_pack_options o = append_options();
    CHECK_STATUS(stk_pack(tree_path(&t, "text.csv"), tree_path(&t, "o/"), &o, NULL, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "'score'") != NULL && strstr(error.text, "--column") != NULL);
    CHECK_OK(stk_pack(tree_path(&t, "full.csv"), tree_path(&t, "full/"), NULL, NULL, &error));
    CHECK_STATUS(stk_pack(tree_path(&t, "a.csv"), tree_path(&t, "full/"), &o, NULL, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "'score'") != NULL && strstr(error.text, "empty") != NULL);
    CHECK_STATUS(stk_pack(tree_path(&t, "other.csv"), tree_path(&t, "o/"), &o, NULL, &error), STK_ERR_ARGUMENT);
    CHECK(strstr(error.text, "'where'") != NULL && strstr(error.text, "'place'") != NULL);
    CHECK_STATUS(stk_pack(tree_path(&t, "fewer.csv"), tree_path(&t, "o/"), &o, NULL, &error), STK_ERR_ARGUMENT);
    CHECK(!tree_has(&t, "o/00001.stk"));
    CHECK_EQ(count_names(&t, ".tmp."), 0);
    CHECK_OK(stk_pack(tree_path(&t, "b.csv"), tree_path(&t, "o/"), &o, NULL, &error));

    stk_dataset *d = NULL;
    CHECK_OK(stk_dataset_open(tree_path(&t, "o"), NULL, &d, &error));
    static const char *const PLACES[] = {"here", "here", "there", "nowhere"};
    static const double SCORES[] = {1.5, 0, 2.5, 0.25};
    uint32_t score = stk_dataset_find_column(d, "score"), where = stk_dataset_find_column(d, "where");
    for (uint64_t i = 0; i < 4; i++) {
        char text[64] = "";
        double number = 0;
        stk_value v;
        CHECK_OK(stk_dataset_value(d, where, i, text, sizeof text, &v, &error));
        CHECK(v.n_bytes == strlen(PLACES[i]) && memcmp(text, PLACES[i], v.n_bytes) == 0);
        CHECK_OK(stk_dataset_value(d, score, i, &number, sizeof number, &v, &error));
        CHECK(v.is_null == (i == 1) && (i == 1 || number == SCORES[i]));
    }
    stk_dataset_close(&d);
    CHECK_OK(stk_verify(tree_path(&t, "o"), NULL, NULL, &error));
    tree_remove(&t);
}

static int countdown;

/* What is done is written down every half second. */
static void pause_then_kill(void *user, const stk_pack_issue *issue)
{
    (void)user, (void)issue;
    usleep(30000);
    if (--countdown == 0) kill(getpid(), SIGKILL);
}

/* What a killed run has made is taken over, and nothing of it is seen meanwhile. */
static void test_kill_and_resume(void)
{
    tree t;
    tree_make(&t);
    pictures(&t, "a", "cat", 6, 60);
    pictures(&t, "b", "cat", 200, 50);
    pictures(&t, "b", "dog", 10, 50);
    enum { N_BAD = 50 };
    for (int i = 0; i < N_BAD; i++) {
        char name[32];
        snprintf(name, sizeof name, "b/cat/%03d-bad.jpg", i * 4);
        tree_text(&t, name, "no image");
    }
    stk_pack_options base;
    stk_pack_options_init(&base);
    base.encode = STK_ENCODE_RAW;
    base.shard_bytes = 1 << 18;
    CHECK_OK(stk_pack(tree_path(&t, "a"), tree_path(&t, "o/"), &base, NULL, &error));
    CHECK_OK(stk_pack(tree_path(&t, "a"), tree_path(&t, "want/"), &base, NULL, &error));
    base.append = true;
    base.n_threads = 1;
    CHECK_OK(stk_pack(tree_path(&t, "b"), tree_path(&t, "want/"), &base, NULL, &error));
    pid_t child = fork();
    if (child == 0) {
        countdown = N_BAD;
        base.issue = pause_then_kill;
        (void)!stk_pack(tree_path(&t, "b"), tree_path(&t, "o/"), &base, NULL, NULL);
        _exit(3);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    CHECK(!tree_has(&t, "o/00001.stk"));
    CHECK_OK(stk_verify(tree_path(&t, "o"), NULL, NULL, &error));
    stk_pack_report report;
    CHECK_OK(stk_pack(tree_path(&t, "b"), tree_path(&t, "o/"), &base, &report, &error));
    CHECK(report.resumed > 0);
    CHECK_EQ(report.records, 210);
    CHECK(same_files(tree_path(&t, "o/dataset.json"), tree_path(&t, "want/dataset.json")));
    for (int i = 0; i < 5; i++) {
        char a[32], b[32];
        snprintf(a, sizeof a, "o/%05d.stk", i);
        snprintf(b, sizeof b, "want/%05d.stk", i);
        CHECK(tree_has(&t, a) == tree_has(&t, b));
        if (tree_has(&t, a) && tree_has(&t, b)) CHECK(same_files(tree_path(&t, a), tree_path(&t, b)));
    }
    CHECK(tree_has(&t, "o/00003.stk"));
    CHECK_STATUS(stk_pack(tree_path(&t, "b"), tree_path(&t, "o/"), &base, NULL, &error), STK_ERR_EXISTS);
    CHECK_EQ(count_names(&t, ".tmp."), 0);
    tree_remove(&t);
}

int main(void)
{
    RUN(test_views_and_tables);
    RUN(test_columns);
    RUN(test_kill_and_resume);
    return check_exit();
}
