/* SPDX-License-Identifier: Apache-2.0
 *
 * dataset.json, byte for byte: every bit flipped, every length cut, and values that lie with a checksum made to fit. */
#include "common/hash.h"
#include "format/folder_manifest.h"
#include "tests/support/pack_helpers.h"
#include "tests/support/pictures.h"

enum { N = 6 };
static stk_error error;
static tree t;
static char *good;
static size_t n_good;
static uint64_t want;

/* Everything that the folder gives, or 0 with an error. */
static uint64_t digest(void)
{
    stk_dataset *d = NULL;
    stk_buffer got = {0};
    uint64_t sum = 0;
    stk_status status = stk_dataset_open(tree_path(&t, "o"), NULL, &d, &error);
    for (uint64_t i = 0; status == STK_OK && i < stk_dataset_len(d) && i < 100; i++) {
        stk_record_info info;
        status = stk_dataset_record(d, i, &info, &error);
        if (status == STK_OK) status = stk_dataset_payload(d, i, &got, &error);
        sum = sum * 31 + stk_hash64(got.data, got.n_bytes) + (uint64_t)info.label;
    }
    for (uint32_t c = 0; status == STK_OK && c < stk_dataset_classes(d); c++)
        sum = sum * 31 + stk_hash64(stk_dataset_class_name(d, c), strlen(stk_dataset_class_name(d, c)));
    if (status == STK_OK) sum = sum * 31 + stk_dataset_len(d);
    CHECK(status == STK_OK || (status != STK_ERR_INTERNAL && error.text[0] != '\0'));
    stk_buffer_free(&got);
    stk_dataset_close(&d);
    return status == STK_OK ? sum : 0;
}

static void write_json(const char *bytes, size_t n) { tree_bytes(&t, "o/dataset.json", bytes, n); }

static void seal(char *bytes, size_t n)
{
    size_t covered = n - STK_FOLDER_CHECK_BYTES;
    char end[64];
    snprintf(end, sizeof end, STK_FOLDER_CHECK, (unsigned long long)stk_hash64(bytes, covered));
    memcpy(bytes + covered, end, STK_FOLDER_CHECK_BYTES);
}

static void every_bit(void)
{
    char *bad = malloc(n_good);
    for (size_t i = 0; i < n_good * 8; i++) {
        memcpy(bad, good, n_good);
        bad[i / 8] = (char)(bad[i / 8] ^ (1 << (i % 8)));
        write_json(bad, n_good);
        CHECK_EQ(digest(), 0);
    }
    for (size_t n = 0; n < n_good; n++) {
        write_json(good, n);
        CHECK_EQ(digest(), 0);
    }
    printf("     %zu flips, %zu cuts: all refused\n", n_good * 8, n_good);
    free(bad);
}

/* With a checksum that fits: other digits, signs and quotes. An error, or the very data. (A class's name may be any;
 * so may what no reader looks at.) */
static void lies(void)
{
    static const char with[] = "0123456789-.eE\"{}[],:/\\\x01\xff";
    char *bad = malloc(n_good);
    size_t n_tried = 0, n_same = 0;
    size_t covered = n_good - STK_FOLDER_CHECK_BYTES;
    const char *metadata = strstr(good, "\"metadata\":");
    for (size_t i = 0; i < covered; i++) {
        for (size_t k = 0; k < sizeof with - 1; k++) {
            memcpy(bad, good, n_good);
            bad[i] = with[k];
            if (bad[i] == good[i]) continue;
            seal(bad, n_good);
            write_json(bad, n_good);
            uint64_t got = digest();
            n_tried++;
            n_same += got == want;
            if (good + i < metadata) CHECK(got == 0 || got == want);
        }
    }
    printf("     %zu lies: %zu without effect\n", n_tried, n_same);
    free(bad);
}

int main(void)
{
    tree_make(&t);
    for (int i = 0; i < N; i++) {
        char name[32];
        snprintf(name, sizeof name, "s/c%d/%d.ppm", i % 2, i);
        picture_file(&t, name, 12, 10, (uint64_t)i, 1);
    }
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "o/"), NULL, NULL, &error));
    good = file_bytes(tree_path(&t, "o/dataset.json"), &n_good);
    want = digest();
    CHECK(want != 0);
    RUN(every_bit);
    RUN(lies);
    free(good);
    tree_remove(&t);
    return check_exit();
}
