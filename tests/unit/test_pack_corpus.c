/* SPDX-License-Identifier: Apache-2.0
 *
 * Packing real files: what shared/corpus/odd/MANIFEST.tsv expects of each odd file, the order that ImageFolder
 * would give, the same bytes for any number of threads. */
#include <stdbool.h>

#include "tests/support/corpus.h"
#include "tests/support/pack_helpers.h"

static stk_error error;

typedef struct odd_result {
    char issues[64 << 10]; /* "path\tkind\taction\n" lines */
} odd_result;

static void note_issue(void *user, const stk_pack_issue *issue)
{
    odd_result *r = user;
    size_t n = strlen(r->issues);
    snprintf(r->issues + n, sizeof r->issues - n, "%s\t%s\t%s\n", issue->path, issue->kind, issue->action);
}

static bool has_issue(const odd_result *r, const char *file)
{
    char line[512];
    int n = snprintf(line, sizeof line, "%s\t", file);
    const char *at = strstr(r->issues, line);
    return n > 0 && at != NULL && (at == r->issues || at[-1] == '\n');
}

static bool has_record(const char *listing, const char *file)
{
    char part[512];
    snprintf(part, sizeof part, "-1 %s ", file);
    return strstr(listing, part) != NULL;
}

/* Each line's file must be a record (decode), be named (reject, damaged) or one of both (rare-valid). */
static void check_odd(const char *source, const char *dst, const odd_result *r)
{
    char manifest[1100];
    snprintf(manifest, sizeof manifest, "%s/MANIFEST.tsv", source);
    size_t n;
    char *text = file_bytes(manifest, &n);
    const char *listing = dataset_listing(dst);
    int seen = 0;
    char *rows = NULL;
    for (char *row = strtok_r(text, "\n", &rows); row != NULL; row = strtok_r(NULL, "\n", &rows)) {
        char *fields[9] = {0}, *at = row;
        for (int i = 0; i < 9 && at != NULL; i++) fields[i] = strsep(&at, "\t");
        if (fields[8] == NULL || strcmp(fields[0], "file") == 0) continue;
        bool record = has_record(listing, fields[0]), named = has_issue(r, fields[0]);
        bool fine = strcmp(fields[8], "decode") == 0    ? record && !named
                    : strcmp(fields[8], "reject") == 0  ? !record && named
                    : strcmp(fields[8], "damaged") == 0 ? !record && named
                                                        : record != named;
        if (!fine) fprintf(stderr, "%s (%s): record %d, named %d\n", fields[0], fields[8], record, named);
        CHECK(fine);
        seen++;
    }
    CHECK(seen == 194);
    free(text);
}

static void pack_corpus(const char *folder, const char *dst, stk_encode encode, uint32_t threads, odd_result *r,
                        stk_pack_report *report)
{
    char source[1024];
    snprintf(source, sizeof source, "%s/%s", getenv("STOKER_CORPUS"), folder);
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.encode = encode;
    options.n_threads = threads;
    options.force = true;
    if (r != NULL) {
        r->issues[0] = '\0';
        options.issue = note_issue;
        options.user = r;
    }
    CHECK_OK(stk_pack(source, dst, &options, report, &error));
}

static void test_odd_files(void)
{
    static const stk_encode ENCODES[] = {STK_ENCODE_AUTO, STK_ENCODE_KEEP, STK_ENCODE_RAW, STK_ENCODE_TILES};
    static odd_result results[4];
    tree t;
    tree_make(&t);
    char source[1024];
    snprintf(source, sizeof source, "%s/odd", getenv("STOKER_CORPUS"));
    for (int i = 0; i < 4; i++) {
        stk_pack_report report;
        pack_corpus("odd", tree_path(&t, "odd.stk"), ENCODES[i], 3, &results[i], &report);
        check_odd(source, tree_path(&t, "odd.stk"), &results[i]);
        CHECK_EQ(report.files, 195);
        CHECK_EQ(report.records + report.skipped + report.ignored, 195);
        stk_verify_options deep;
        stk_verify_options_init(&deep);
        deep.deep = true;
        CHECK_OK(stk_verify(tree_path(&t, "odd.stk"), &deep, NULL, &error));
        /* Damage is called the same whatever the encoding. */
        CHECK(strcmp(results[i].issues, results[0].issues) == 0);
    }
    tree_remove(&t);
}

/* Kept damaged files are records, and are still named. */
static void test_keep_damaged(void)
{
    static odd_result r;
    tree t;
    tree_make(&t);
    char source[1024];
    snprintf(source, sizeof source, "%s/odd", getenv("STOKER_CORPUS"));
    stk_pack_options options;
    stk_pack_report none, some, all;
    stk_pack_options_init(&options);
    options.force = true;
    options.issue = note_issue;
    options.user = &r;
    CHECK_OK(stk_pack(source, tree_path(&t, "o.stk"), &options, &none, &error));
    options.on_damaged = STK_DAMAGED_KEEP;
    options.keep_damage = STK_DAMAGE_EXTRANEOUS;
    r.issues[0] = '\0';
    CHECK_OK(stk_pack(source, tree_path(&t, "o.stk"), &options, &some, &error));
    CHECK(strstr(r.issues, "jpegdecoder__jpeg-mjpeg-no-dht__mjpeg.jpg\textraneous\tkept\n") != NULL);
    CHECK(has_record(dataset_listing(tree_path(&t, "o.stk")), "jpegdecoder__jpeg-mjpeg-no-dht__mjpeg.jpg"));
    options.keep_damage = 0;
    CHECK_OK(stk_pack(source, tree_path(&t, "o.stk"), &options, &all, &error));
    CHECK(none.damaged == all.damaged && none.records < some.records && some.records < all.records);
    CHECK_EQ(all.records, none.records + none.damaged);
    options.on_damaged = STK_DAMAGED_FAIL;
    CHECK_STATUS(stk_pack(source, tree_path(&t, "x.stk"), &options, NULL, &error), STK_ERR_DAMAGED);
    CHECK(strstr(error.text, "exifsamples__jpeg-camera-corrupted") != NULL); /* the first in the list's order */
    options.on_damaged = STK_DAMAGED_SKIP;
    options.on_bad = STK_BAD_FAIL;
    CHECK(stk_pack(source, tree_path(&t, "x.stk"), &options, NULL, &error) == STK_ERR_UNSUPPORTED);
    CHECK(strstr(error.text, "dali__jpeg-lossless__cat-1245673_640_grayscale_16bit.jpg") != NULL);
    CHECK(!tree_has(&t, "x.stk"));
    tree_remove(&t);
}

static void test_quarantine(void)
{
    tree t;
    tree_make(&t);
    char source[1024], folder[600];
    snprintf(source, sizeof source, "%s/odd", getenv("STOKER_CORPUS"));
    snprintf(folder, sizeof folder, "%s/q/deep", t.root);
    stk_pack_options options;
    stk_pack_report report;
    stk_pack_options_init(&options);
    options.force = true;
    options.on_bad = STK_BAD_QUARANTINE;
    options.quarantine = folder;
    tree_text(&t, "q/deep/gofuzz__jpeg-fuzz__087319ae74f5.jpg", "somebody else's");
    for (int i = 0; i < 2; i++) CHECK_OK(stk_pack(source, tree_path(&t, "o.stk"), &options, &report, &error));
    char original[2048];
    snprintf(original, sizeof original, "%s/gofuzz__jpeg-fuzz__087319ae74f5.jpg", source);
    CHECK(same_files(original, tree_path(&t, "q/deep/gofuzz__jpeg-fuzz__087319ae74f5.jpg.1")));
    CHECK(!tree_has(&t, "q/deep/gofuzz__jpeg-fuzz__087319ae74f5.jpg.2"));
    size_t n;
    char *mine = file_bytes(tree_path(&t, "q/deep/gofuzz__jpeg-fuzz__087319ae74f5.jpg"), &n);
    CHECK(strcmp(mine, "somebody else's") == 0);
    free(mine);
    tree inner = t;
    strcat(inner.root, "/q/deep"); /* the root is a short name under TMPDIR */
    CHECK_EQ((uint64_t)count_names(&inner, "__"), report.skipped - report.damaged + 1);
    tree_remove(&t);
}

/* Shards differ in nothing but what was packed: not in threads, not in runs. */
static void test_threads_do_not_matter(void)
{
    static const char *const FOLDERS[] = {"clothing", "odd"};
    tree t;
    tree_make(&t);
    for (int f = 0; f < 2; f++) {
        pack_corpus(FOLDERS[f], tree_path(&t, "one.stk"), STK_ENCODE_AUTO, 1, NULL, NULL);
        for (uint32_t threads = 2; threads <= 7; threads += 5) {
            pack_corpus(FOLDERS[f], tree_path(&t, "many.stk"), STK_ENCODE_AUTO, threads, NULL, NULL);
            CHECK(same_files(tree_path(&t, "one.stk"), tree_path(&t, "many.stk")));
            CHECK(same_files(tree_path(&t, "one.stk.report.jsonl"), tree_path(&t, "many.stk.report.jsonl")));
            CHECK(same_files(tree_path(&t, "one.stk.sources"), tree_path(&t, "many.stk.sources")));
        }
    }
    tree_remove(&t);
}

static void test_nested_and_messy(void)
{
    tree t;
    tree_make(&t);
    stk_pack_report report;
    pack_corpus("tiny_nested", tree_path(&t, "n.stk"), STK_ENCODE_AUTO, 2, NULL, &report);
    CHECK_EQ(report.records, 5000);
    CHECK_EQ(report.skipped, 0);
    char source[1024], manifest[1024];
    snprintf(source, sizeof source, "%s/clothing", getenv("STOKER_CORPUS"));
    snprintf(manifest, sizeof manifest, "%s/clothing_messy.csv", getenv("STOKER_CORPUS"));
    stk_pack_options options;
    stk_pack_options_init(&options);
    options.manifest = manifest;
    CHECK_OK(stk_pack(source, tree_path(&t, "m.stk"), &options, &report, &error));
    CHECK_EQ(report.records, 693);
    CHECK_EQ(report.missing, 12);
    stk_dataset *d;
    CHECK_OK(stk_dataset_open(tree_path(&t, "m.stk"), NULL, &d, &error));
    CHECK_EQ(stk_dataset_classes(d), 11);
    CHECK_EQ(stk_dataset_columns(d), 3);
    CHECK(strcmp(record_path(d, 0), "pants/97074b7f-706a-4c17-b875-bd9baa5bed0e.jpg") == 0);
    stk_dataset_close(&d);
    tree_remove(&t);
}

int main(void)
{
    corpus_list list = corpus_files("odd"); /* ends the program where there is no corpus */
    corpus_free(&list);
    RUN(test_odd_files);
    RUN(test_keep_damaged);
    RUN(test_quarantine);
    RUN(test_threads_do_not_matter);
    RUN(test_nested_and_messy);
    return check_exit();
}
