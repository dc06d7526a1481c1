/* SPDX-License-Identifier: Apache-2.0
 *
 * stk_repair: what can be rebuilt is again what was written, byte for byte; what cannot is dead, by name, and comes
 * back when its source does; who reads meanwhile goes on. */
#include <stoker/repair.h>

#include "support/damage.h"
#include "support/loader_run.h"
#include "tests/support/pack_helpers.h"
#include "tests/support/pictures.h"

enum { N = 40 };
static stk_error error;

/* Photos (tiles), small ones with shared tables, raw and verbatim records. */
static void make_source(tree *t)
{
    static const char *const ENDS[] = {"jpg", "png", "ppm", "jpg"};
    tree_make(t);
    for (int i = 0; i < N; i++) {
        char name[64];
        uint32_t side = i % 4 == 3 ? 90 : 40 + 60 * (uint32_t)(i % 2);
        snprintf(name, sizeof name, "s/c%d/%03d.%s", i * 3 / N, i, ENDS[i % 4]);
        picture_file(t, name, side, side + 7, (uint64_t)i, 1);
    }
}

static void spoil(const char *path, const uint64_t *records, int n)
{
    stk_dataset *d = NULL;
    CHECK_OK(stk_dataset_open(path, NULL, &d, &error));
    for (int i = 0; i < n; i++) damage_record(path, d, records[i]);
    stk_dataset_close(&d);
}

typedef struct told {
    uint64_t rebuilt[N], dead[N];
    int n_rebuilt, n_dead;
    char why_dead[300]; /* of the last one */
} told;

static void note(void *user, const stk_repair_issue *issue)
{
    told *t = user;
    if (strcmp(issue->action, "rebuilt") == 0) t->rebuilt[t->n_rebuilt++] = issue->record;
    else t->dead[t->n_dead++] = issue->record;
    CHECK(strstr(issue->file, ".stk") != NULL);
    if (t->n_dead > 0 && t->dead[t->n_dead - 1] == issue->record)
        snprintf(t->why_dead, sizeof t->why_dead, "%s", issue->reason);
}

static stk_repair_report repair(const tree *t, const char *dst, const char *from, told *out)
{
    stk_repair_options o;
    stk_repair_report report;
    stk_repair_options_init(&o);
    *out = (told){0};
    o.from = from != NULL ? tree_path(t, from) : NULL;
    o.issue = note;
    o.user = out;
    CHECK_OK(stk_repair(tree_path(t, dst), &o, &report, &error));
    CHECK_EQ(report.rebuilt, out->n_rebuilt);
    CHECK_EQ(report.dead, out->n_dead);
    CHECK_EQ(count_names(t, ".tmp."), 0);
    return report;
}

static stk_verify_report verified(const tree *t, const char *dst, stk_status want)
{
    stk_verify_report report;
    stk_verify_options o;
    stk_verify_options_init(&o);
    o.deep = true;
    CHECK_STATUS(stk_verify(tree_path(t, dst), &o, &report, &error), want);
    return report;
}

static void copy(const tree *t, const char *from, const char *to)
{
    size_t n;
    char *bytes = file_bytes(tree_path(t, from), &n);
    tree_bytes(t, to, bytes, n);
    free(bytes);
}

/* Every kind of record, payload and record header, comes back to the very bytes. */
static void test_rebuilds_all(void)
{
    tree t;
    told said;
    make_source(&t);
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), NULL, NULL, &error));
    copy(&t, "o.stk", "want.stk");
    copy(&t, "o.stk.sources", "want.sources");
    uint64_t all[N];
    for (int i = 0; i < N; i++) all[i] = (uint64_t)i;
    spoil(tree_path(&t, "o.stk"), all, N);
    CHECK_EQ(verified(&t, "o.stk", STK_ERR_CHECKSUM).bad, N);
    stk_repair_report report = repair(&t, "o.stk", "s", &said);
    CHECK_EQ(report.rebuilt, N);
    CHECK(same_files(tree_path(&t, "o.stk"), tree_path(&t, "want.stk")));
    CHECK(same_files(tree_path(&t, "o.stk.sources"), tree_path(&t, "want.sources")));

    /* Damage to the copies of the rows needs no source. */
    stk_dataset *d = NULL;
    stk_record_info info;
    CHECK_OK(stk_dataset_open(tree_path(&t, "o.stk"), NULL, &d, &error));
    for (uint64_t i = 0; i < N; i += 7) {
        CHECK_OK(stk_dataset_record(d, i, &info, &error));
        int fd = open(tree_path(&t, "o.stk"), O_RDWR);
        CHECK_EQ(pwrite(fd, "xx", 2, (off_t)info.offset - 64 + (off_t)i), 2);
        close(fd);
    }
    stk_dataset_close(&d);
    CHECK_EQ(verified(&t, "o.stk", STK_ERR_CHECKSUM).bad, 6);
    CHECK_EQ(repair(&t, "o.stk", NULL, &said).rebuilt, 6);
    CHECK(same_files(tree_path(&t, "o.stk"), tree_path(&t, "want.stk")));
    CHECK_EQ(repair(&t, "o.stk", "s", &said).bad, 0);
    tree_remove(&t);
}

/* A source that is gone, has changed, or was never named: dead, and alive again once it is back. */
static void test_dead_and_back(void)
{
    static const uint64_t bad[] = {2, 5, 8, 31};
    tree t;
    told said;
    make_source(&t);
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), NULL, NULL, &error));
    copy(&t, "o.stk", "want.stk");
    copy(&t, "o.stk.sources", "want.sources");
    spoil(tree_path(&t, "o.stk"), bad, 4);
    copy(&t, "s/c0/002.ppm", "kept.ppm");
    copy(&t, "s/c0/005.png", "kept.png");
    CHECK(unlink(tree_path(&t, "s/c0/002.ppm")) == 0);
    picture_file(&t, "s/c0/005.png", 33, 33, 1234, 1);
    stk_repair_report report = repair(&t, "o.stk", "s", &said);
    CHECK_EQ(report.bad, 4);
    CHECK_EQ(said.n_dead, 2);
    CHECK_EQ(said.dead[0], 2);
    CHECK_EQ(said.dead[1], 5);
    CHECK(strstr(said.why_dead, "changed") != NULL);
    CHECK_EQ(said.rebuilt[0], 8);
    CHECK_EQ(said.rebuilt[1], 31);

    stk_verify_report seen = verified(&t, "o.stk", STK_OK);
    CHECK_EQ(seen.dead, 2);
    CHECK_EQ(seen.bad, 0);
    stk_dataset *d = NULL;
    stk_buffer bytes = {0};
    CHECK_OK(stk_dataset_open(tree_path(&t, "o.stk"), NULL, &d, &error));
    CHECK(strcmp(stk_dataset_id(d), report.dataset_id) == 0);
    CHECK_STATUS(stk_dataset_payload(d, 5, &bytes, &error), STK_ERR_CHECKSUM);
    CHECK(strstr(error.text, "005.png") != NULL && strstr(error.text, "dead") != NULL);
    CHECK_STATUS(stk_dataset_extract(d, 5, &bytes, NULL, &error), STK_ERR_CHECKSUM);
    CHECK_OK(stk_dataset_payload(d, 8, &bytes, &error));
    stk_record_info info;
    CHECK_OK(stk_dataset_record(d, 5, &info, &error));
    CHECK(strcmp(stk_encoding_name(info.encoding), "dead") == 0);
    CHECK_EQ(info.label, 0);
    CHECK_EQ(info.width, 100);

    /* The loader treats it as any bad record. */
    stk_loader_options o;
    stk_loader_options_init(&o);
    stk_transform_init(&o.transform, STK_TRANSFORM_RESIZE);
    o.transform.out_width = o.transform.out_height = 32;
    o.batch_size = 8;
    o.on_bad = STK_ON_BAD_SKIP;
    o.order = STK_ORDER_SEQUENTIAL;
    stk_loader *l = run_loader(d, &o);
    run_log log = {0};
    CHECK(run_batches(l, &log, 100));
    int n_good = 0, n_dead = 0;
    for (size_t i = 0; i < log.n; i++) {
        if (!log.entries[i].valid) continue;
        if (log.entries[i].status == STK_OK) n_good++;
        else n_dead++;
        CHECK(log.entries[i].status == STK_OK || log.entries[i].id == 2 || log.entries[i].id == 5);
    }
    CHECK_EQ(n_good + n_dead, N);
    CHECK_EQ(n_dead, 2);
    free(log.entries);
    stk_loader_close(&l);
    stk_dataset_close(&d);
    stk_buffer_free(&bytes);

    /* A pack of the same sources makes dead records anew and takes over the others. */
    copy(&t, "kept.ppm", "s/c0/002.ppm");
    copy(&t, "kept.png", "s/c0/005.png");
    copy(&t, "o.stk", "again.stk");
    copy(&t, "o.stk.sources", "again.stk.sources");
    stk_pack_options force;
    stk_pack_report packed;
    stk_pack_options_init(&force);
    force.force = true;
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "again.stk"), &force, &packed, &error));
    CHECK_EQ(packed.reused, N - 2);
    CHECK(same_files(tree_path(&t, "again.stk"), tree_path(&t, "want.stk")));

    CHECK_EQ(repair(&t, "o.stk", "s", &said).rebuilt, 2);
    CHECK(same_files(tree_path(&t, "o.stk"), tree_path(&t, "want.stk")));
    CHECK(same_files(tree_path(&t, "o.stk.sources"), tree_path(&t, "want.sources")));
    tree_remove(&t);
}

static void read_every(const stk_dataset *d)
{
    stk_buffer bytes = {0};
    for (uint64_t i = 0; i < stk_dataset_len(d); i++) CHECK_OK(stk_dataset_payload(d, i, &bytes, &error));
    stk_buffer_free(&bytes);
}

/* A folder: shards without dead records keep their names; others get new ones, and whoever opened the folder before
 * still finds his. */
static void test_folder(void)
{
    tree t;
    told said;
    make_source(&t);
    stk_pack_options po;
    stk_pack_options_init(&po);
    po.shard_bytes = 1 << 16;
    po.encode = STK_ENCODE_RAW;
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o/"), &po, NULL, &error));
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "want/"), &po, NULL, &error));
    CHECK(tree_has(&t, "o/00003.stk"));
    uint64_t first = 0;
    spoil(tree_path(&t, "o/00001.stk"), &first, 1);
    stk_repair_report report = repair(&t, "o", "s", &said);
    CHECK_EQ(report.rebuilt, 1);
    CHECK(same_files(tree_path(&t, "o/00001.stk"), tree_path(&t, "want/00001.stk")));
    CHECK(same_files(tree_path(&t, "o/dataset.json"), tree_path(&t, "want/dataset.json")));

    stk_dataset *before = NULL; /* opens its shards only when they are read */
    CHECK_OK(stk_dataset_open(tree_path(&t, "want"), NULL, &before, &error));
    spoil(tree_path(&t, "want/00002.stk"), &first, 1);
    CHECK_EQ(repair(&t, "want/", NULL, &said).dead, 1);
    uint64_t dead = said.dead[0];
    stk_buffer bytes = {0};
    for (uint64_t i = 0; i < N; i++) {
        stk_status status = stk_dataset_payload(before, i, &bytes, &error);
        CHECK(i == dead ? status == STK_ERR_CHECKSUM : status == STK_OK);
    }
    stk_dataset_close(&before);
    stk_buffer_free(&bytes);
    CHECK_EQ(verified(&t, "want", STK_OK).dead, 1);
    CHECK(tree_has(&t, "want/00002.stk"));
    CHECK_EQ(repair(&t, "want", "s", &said).rebuilt, 1);
    stk_dataset *d = NULL;
    CHECK_OK(stk_dataset_open(tree_path(&t, "want"), NULL, &d, &error));
    read_every(d);
    stk_dataset_close(&d);

    stk_repair_options o;
    stk_repair_options_init(&o);
    o.prune = true;
    CHECK_OK(stk_repair(tree_path(&t, "want"), &o, NULL, &error));
    CHECK(!tree_has(&t, "want/00002.stk"));
    CHECK_EQ(verified(&t, "want", STK_OK).dead, 0);
    tree_remove(&t);
}

static void test_dry_run(void)
{
    static const uint64_t bad[] = {1, 4};
    tree t;
    make_source(&t);
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), NULL, NULL, &error));
    spoil(tree_path(&t, "o.stk"), bad, 2);
    CHECK(unlink(tree_path(&t, "s/c0/004.jpg")) == 0);
    copy(&t, "o.stk", "before.stk");
    stk_repair_options o;
    stk_repair_report report;
    stk_repair_options_init(&o);
    o.dry_run = true;
    tree_folder(&t, "o.stk.tmp.lock"); /* nothing can be written beside it: a dry run does not want to */
    o.from = tree_path(&t, "s");
    CHECK_OK(stk_repair(tree_path(&t, "o.stk"), &o, &report, &error));
    CHECK_EQ(report.rebuilt, 1);
    CHECK_EQ(report.dead, 1);
    CHECK(same_files(tree_path(&t, "o.stk"), tree_path(&t, "before.stk")));
    tree_remove(&t);
}

static bool stop(void *user, uint64_t done, uint64_t total, uint64_t bytes)
{
    (void)user, (void)done, (void)total, (void)bytes;
    return false;
}

/* Nothing but records is repaired, and whatever goes wrong leaves all as it was. */
static void test_refusals(void)
{
    static const uint64_t bad[] = {3};
    tree t;
    make_source(&t);
    stk_repair_options o;
    stk_repair_options_init(&o);
    CHECK_STATUS(stk_repair(tree_path(&t, "absent.stk"), &o, NULL, &error), STK_ERR_NOT_FOUND);
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o.stk"), NULL, NULL, &error));
    spoil(tree_path(&t, "o.stk"), bad, 1);
    copy(&t, "o.stk", "before.stk");
    o.from = tree_path(&t, "nowhere");
    CHECK_STATUS(stk_repair(tree_path(&t, "o.stk"), &o, NULL, &error), STK_ERR_NOT_FOUND);
    CHECK(strstr(error.text, "nowhere") != NULL);
    o.from = tree_path(&t, "s");
    o.progress = stop;
    CHECK_STATUS(stk_repair(tree_path(&t, "o.stk"), &o, NULL, &error), STK_ERR_CANCELLED);
    CHECK(same_files(tree_path(&t, "o.stk"), tree_path(&t, "before.stk")));

    size_t n;
    char *bytes = file_bytes(tree_path(&t, "o.stk"), &n);
    uint64_t index;
    memcpy(&index, bytes + n - 192, sizeof index);
    bytes[index + 100] ^= 1;
    tree_bytes(&t, "index.stk", bytes, n);
    tree_bytes(&t, "short.stk", bytes, n - 100);
    bytes[index + 100] ^= 1;
    free(bytes);
    o.progress = NULL;
    CHECK_STATUS(stk_repair(tree_path(&t, "index.stk"), &o, NULL, &error), STK_ERR_CORRUPT);
    CHECK(strstr(error.text, "--salvage") != NULL && strstr(error.text, "--force") != NULL);
    CHECK_STATUS(stk_repair(tree_path(&t, "short.stk"), &o, NULL, &error), STK_ERR_CORRUPT);
    CHECK(strstr(error.text, "--salvage") != NULL);
    CHECK_EQ(count_names(&t, ".tmp."), 0);

    /* A path in DST.sources that would lead elsewhere is not followed. */
    told said;
    char *sources = file_bytes(tree_path(&t, "o.stk.sources"), &n);
    char *at = strstr(sources, "c0/003.jpg"), *end = strstr(sources, "\nend ") + 1;
    CHECK(at != NULL);
    copy(&t, "s/c0/003.jpg", "003.jpg");
    memcpy(at, "../003.jpg", 10);
    char line[64];
    snprintf(line, sizeof line, "end %d %016llx\n", N,
             (unsigned long long)stk_hash64(sources, (size_t)(end - sources)));
    memcpy(end, line, strlen(line));
    tree_bytes(&t, "o.stk.sources", sources, n);
    free(sources);
    CHECK_EQ(repair(&t, "o.stk", "s", &said).dead, 1);
    tree_remove(&t);
}

int main(void)
{
    RUN(test_rebuilds_all);
    RUN(test_dead_and_back);
    RUN(test_folder);
    RUN(test_dry_run);
    RUN(test_refusals);
    return check_exit();
}
