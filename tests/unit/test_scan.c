/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of files is that of torchvision's ImageFolder. The expected lists below were made by running
 * torchvision's own find_classes and make_dataset rules (os.scandir, os.walk with followlinks, sorted) in
 * Python over the same trees. */
#include "tests/support/check.h"
#include "tests/support/tree.h"

#include "packer/name_order.h"
#include "packer/sources.h"

/* The list as text: "label path" lines, with the state behind where there is one. */
static char *listing(const stk_sources *s)
{
    static const char *const STATES[] = {"", " no-class", " missing", " ambiguous", " outside", " unreadable", " loop"};
    static char text[16384];
    size_t n = 0;
    text[0] = '\0';
    for (uint64_t i = 0; i < s->n; i++) {
        stk_source source;
        char path[1024];
        stk_sources_get(s, i, &source);
        CHECK(stk_source_path(s, &source, path, sizeof path) == strlen(path));
        n += (size_t)snprintf(text + n, sizeof text - n, "%lld %s%s\n", (long long)source.label, path,
                              STATES[source.state]);
    }
    return text;
}

static void check_listing(const tree *t, const char *folder, const char *want)
{
    stk_error error;
    for (uint32_t threads = 1; threads <= 4; threads++) {
        stk_sources s;
        CHECK_OK(stk_scan(tree_path(t, folder), threads, (stk_scan_watch){NULL, NULL}, &s, &error));
        char *got = listing(&s);
        if (strcmp(got, want) != 0) {
            CHECK(strcmp(got, want) == 0);
            fprintf(stderr, "--- got\n%s--- wanted\n%s", got, want);
        }
        stk_sources_free(&s);
    }
}

static void test_class_folders(void)
{
    tree t;
    tree_make(&t);
    /* Upper case sorts before lower, digits as text, folder a-b between a and a/sub: '-' is less than '/'. */
    tree_text(&t, "s/cat/2.jpg", "x");
    tree_text(&t, "s/cat/10.jpg", "x");
    tree_text(&t, "s/cat/a/z.jpg", "x");
    tree_text(&t, "s/cat/a/sub/1.jpg", "x");
    tree_text(&t, "s/cat/a-b/1.jpg", "x");
    tree_text(&t, "s/cat/B.JPG", "x");
    tree_text(&t, "s/Dog/1.png", "x");
    tree_text(&t, "s/b 1/1.jpg", "x");
    tree_folder(&t, "s/empty");
    tree_text(&t, "s/readme.txt", "x");
    check_listing(&t, "s",
                  "0 Dog/1.png\n"
                  "1 b 1/1.jpg\n"
                  "2 cat/10.jpg\n2 cat/2.jpg\n2 cat/B.JPG\n"
                  "2 cat/a/z.jpg\n"
                  "2 cat/a-b/1.jpg\n"
                  "2 cat/a/sub/1.jpg\n"
                  "-1 readme.txt no-class\n");
    stk_error error;
    stk_sources s;
    CHECK_OK(stk_scan(tree_path(&t, "s"), 1, (stk_scan_watch){NULL, NULL}, &s, &error));
    CHECK_EQ(s.n_classes, 4); /* an empty folder keeps its number */
    CHECK(s.has_labels);
    CHECK(s.n_classes == 4 && strcmp(s.class_names[3], "empty") == 0);
    stk_sources_free(&s);
    tree_remove(&t);
}

static void test_flat_folder(void)
{
    tree t;
    tree_make(&t);
    tree_text(&t, "s/b.jpg", "x");
    tree_text(&t, "s/a.jpg", "x");
    tree_folder(&t, "s/.ipynb_checkpoints");
    tree_folder(&t, "s/nothing/at/all");
    check_listing(&t, "s", "-1 a.jpg\n-1 b.jpg\n");
    tree_folder(&t, "e");
    check_listing(&t, "e", "");
    tree_remove(&t);
}

static void test_hidden_folders(void)
{
    tree t;
    tree_make(&t);
    tree_text(&t, "s/.git/config", "x");
    tree_text(&t, "s/.ipynb_checkpoints/n.ipynb", "x");
    tree_text(&t, "s/.hidden/a.jpg", "x"); /* ImageFolder makes it a class */
    tree_text(&t, "s/a/1.jpg", "x");
    check_listing(&t, "s", "0 .hidden/a.jpg\n1 a/1.jpg\n");
    tree_remove(&t);
}

static void test_links(void)
{
    tree t;
    tree_make(&t);
    tree_text(&t, "far/x/1.jpg", "x");
    tree_text(&t, "s/a/1.jpg", "x");
    tree_link(&t, "../far", "s/linked");
    tree_link(&t, "../a/1.jpg", "s/b/copy.jpg");
    tree_link(&t, "nowhere", "s/b/broken.jpg");
    tree_link(&t, "..", "s/b/up");
    tree_link(&t, ".", "s/a/self");
    check_listing(&t, "s",
                  "0 a/1.jpg\n0 a/self loop\n"
                  "1 b/broken.jpg\n1 b/copy.jpg\n1 b/up loop\n"
                  "2 linked/x/1.jpg\n");
    CHECK(mkfifo(tree_path(&t, "s/a/pipe.jpg"), 0666) == 0);
    stk_error error;
    stk_sources s;
    CHECK_OK(stk_scan(tree_path(&t, "s"), 2, (stk_scan_watch){NULL, NULL}, &s, &error));
    CHECK_EQ(s.n_special, 1);
    stk_sources_free(&s);
    tree_remove(&t);
}

static void test_unreadable_folder(void)
{
    tree t;
    tree_make(&t);
    /* Root may read every folder: become somebody else for a while. */
    uid_t me = geteuid();
    if (me == 0) {
        CHECK(chmod(t.root, 0777) == 0);
        CHECK(seteuid(65534) == 0);
    }
    tree_text(&t, "s/a/1.jpg", "x");
    tree_text(&t, "s/b/1.jpg", "x");
    chmod(tree_path(&t, "s/b"), 0);
    check_listing(&t, "s", "0 a/1.jpg\n1 b unreadable\n");
    chmod(tree_path(&t, "s/b"), 0777);
    if (me == 0) CHECK(seteuid(0) == 0);
    tree_remove(&t);
}

static void test_no_folder(void)
{
    tree t;
    tree_make(&t);
    tree_text(&t, "file", "x");
    stk_error error;
    stk_sources s;
    CHECK_STATUS(stk_scan(tree_path(&t, "absent"), 1, (stk_scan_watch){NULL, NULL}, &s, &error), STK_ERR_NOT_FOUND);
    CHECK(strstr(error.text, "absent") != NULL);
    CHECK_STATUS(stk_scan(tree_path(&t, "file"), 1, (stk_scan_watch){NULL, NULL}, &s, &error), STK_ERR_NOT_FOUND);
    tree_remove(&t);
}

/* Python: sorted(os.fsdecode(n) for n in names). */
static void test_names_that_are_not_utf8(void)
{
    static const char *const SORTED[] = {
        "A", "a", "aa", "a\xc3\xa9" /* a, U+E9 */, ("a\xc3" "a") /* a, U+DCC3, a */,
        "a\xe9" /* a, U+DCE9 */, "a\xef\xbc\xa1" /* a, U+FF21 */, "a\xf0\x9f\x98\x80" /* a, U+1F600 */, "b",
    };
    enum { N = sizeof SORTED / sizeof *SORTED };
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            int c = stk_name_compare(SORTED[i], SORTED[k]);
            CHECK((c < 0) == (i < k) && (c > 0) == (i > k));
        }
    tree t;
    tree_make(&t);
    for (int i = N - 1; i >= 0; i--) {
        char name[64];
        snprintf(name, sizeof name, "s/%s.jpg", SORTED[i]);
        tree_text(&t, name, "x");
    }
    check_listing(&t, "s",
                  "-1 A.jpg\n-1 a.jpg\n-1 aa.jpg\n-1 a\xc3\xa9.jpg\n-1 a\xc3" "a.jpg\n-1 a\xe9.jpg\n"
                  "-1 a\xef\xbc\xa1.jpg\n-1 a\xf0\x9f\x98\x80.jpg\n-1 b.jpg\n");
    tree_remove(&t);
}

static void test_many_folders(void)
{
    tree t;
    tree_make(&t);
    for (int i = 0; i < 300; i++) {
        char name[64];
        snprintf(name, sizeof name, "s/class%03d/deep/f%d.jpg", i, i);
        if (i % 3 != 0) tree_text(&t, name, "x");
        else tree_folder(&t, name);
    }
    stk_error error;
    stk_sources s;
    CHECK_OK(stk_scan(tree_path(&t, "s"), 3, (stk_scan_watch){NULL, NULL}, &s, &error));
    CHECK_EQ(s.n, 200);
    CHECK_EQ(s.n_classes, 300);
    for (uint64_t i = 0; i < s.n; i++) {
        stk_source source;
        char path[128], want[128];
        stk_sources_get(&s, i, &source);
        stk_source_path(&s, &source, path, sizeof path);
        int k = (int)(i / 2 * 3 + i % 2 + 1);
        snprintf(want, sizeof want, "class%03d/deep/f%d.jpg", k, k);
        CHECK(strcmp(path, want) == 0);
        CHECK_EQ(source.label, k);
    }
    stk_sources_free(&s);
    tree_remove(&t);
}

static bool stop_after_ten(void *user, uint64_t n_files)
{
    *(uint64_t *)user = n_files;
    return n_files < 10;
}

static void test_watched(void)
{
    tree t;
    tree_make(&t);
    for (int i = 0; i < 50; i++) {
        char name[64];
        snprintf(name, sizeof name, "s/class%02d/f.jpg", i);
        tree_text(&t, name, "x");
    }
    stk_error error;
    stk_sources s;
    uint64_t seen = 0;
    CHECK_STATUS(stk_scan(tree_path(&t, "s"), 1, (stk_scan_watch){stop_after_ten, &seen}, &s, &error),
                 STK_ERR_CANCELLED);
    CHECK_EQ(seen, 10);
    CHECK_EQ(s.n, 0);
    tree_remove(&t);
}

int main(void)
{
    RUN(test_class_folders);
    RUN(test_flat_folder);
    RUN(test_hidden_folders);
    RUN(test_links);
    RUN(test_unreadable_folder);
    RUN(test_no_folder);
    RUN(test_names_that_are_not_utf8);
    RUN(test_many_folders);
    RUN(test_watched);
    return check_exit();
}
