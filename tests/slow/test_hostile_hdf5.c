/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a small HDF5 file flipped one by one, and the file cut at many lengths: an error or the right pixels,
 * never a crash, a hang, or memory without bound. (Labels and columns have no checksum in HDF5: their values are not
 * compared.) */
#include "stoker_features.h"

#include "support/check.h"

#if STOKER_HAVE_HDF5
#include <sys/resource.h>

#include "tests/support/pack_helpers.h"
#include "tests/support/pictures.h"

enum { N = 4, TIMEOUT_S = 60 };
static stk_error error;
static tree t;
static stk_buffer good[N];
static uint64_t n_refused, n_same;

/* What can be read is what was written. */
static void look(const char *what, size_t at)
{
    stk_dataset *d = NULL;
    stk_buffer got = {0};
    bool noticed = false;
    alarm(TIMEOUT_S);
    stk_status status = stk_dataset_open(tree_path(&t, "bad.h5"), NULL, &d, &error);
    if (status != STK_OK) {
        CHECK(status != STK_ERR_INTERNAL && error.text[0] != '\0');
        n_refused++;
        return;
    }
    for (uint64_t i = 0; i < stk_dataset_len(d) && i < 2 * N; i++) {
        status = stk_dataset_payload(d, i, &got, &error);
        if (status != STK_OK) {
            noticed = true;
            CHECK(status != STK_ERR_INTERNAL && error.text[0] != '\0');
            continue;
        }
        bool same = i < N && got.n_bytes == good[i].n_bytes && memcmp(got.data, good[i].data, got.n_bytes) == 0;
        if (!same) fprintf(stderr, "%s byte %zu: record %llu: other pixels without an error\n", what, at,
                           (unsigned long long)i);
        CHECK(same);
    }
    if (noticed) n_refused++;
    else n_same++;
    stk_buffer_free(&got);
    stk_dataset_close(&d);
}

static void try_file(bool uniform, size_t step)
{
    size_t n;
    tree_make(&t);
    for (int i = 0; i < N; i++) {
        char name[32];
        snprintf(name, sizeof name, "s/c%d/%d.ppm", i % 2, i);
        picture_file(&t, name, uniform ? 8 : 70, uniform ? 6 : (uint32_t)(60 + i), (uint64_t)i, 1);
    }
    CHECK_OK(stk_pack(tree_path(&t, "s"), tree_path(&t, "good.h5"), NULL, NULL, &error));
    stk_dataset *d = NULL;
    CHECK_OK(stk_dataset_open(tree_path(&t, "good.h5"), NULL, &d, &error));
    for (uint64_t i = 0; i < N; i++) CHECK_OK(stk_dataset_payload(d, i, &good[i], &error));
    stk_dataset_close(&d);
    char *bytes = file_bytes(tree_path(&t, "good.h5"), &n);
    n_refused = n_same = 0;
    size_t tried = 0;
    for (size_t at = 0; at < n; at += step) {
        if (bytes[at] == 0 && at / step % 16 != 0) continue; /* HDF5 leaves much room: of zeros every 16th */
        tried++;
        bytes[at] = (char)(bytes[at] ^ (1 << (at / step % 8)));
        tree_bytes(&t, "bad.h5", bytes, n);
        look("flipped", at);
        bytes[at] = (char)(bytes[at] ^ (1 << (at / step % 8)));
    }
    for (size_t at = 0; at < n; at += 61, tried++) {
        tree_bytes(&t, "bad.h5", bytes, at);
        look("cut at", at);
    }
    printf("     %zu bytes, %zu tried: %llu refused or errors of records, %llu without effect on pixels\n", n, tried,
           (unsigned long long)n_refused, (unsigned long long)n_same);
    free(bytes);
    for (int i = 0; i < N; i++) stk_buffer_free(&good[i]);
    tree_remove(&t);
}

static void uniform_file(void) { try_file(true, 1); }
/* Photos as bytes: most of it payload, of which each flip is the same to the checksum. */
static void blobs_file(void) { try_file(false, 29); }

int main(void)
{
    struct rlimit memory = {(rlim_t)4 << 30, (rlim_t)4 << 30};
    CHECK_EQ(setrlimit(RLIMIT_AS, &memory), 0);
    RUN(uniform_file);
    RUN(blobs_file);
    return check_exit();
}
#else
int main(void)
{
    puts("skipped: this build has no HDF5");
    return 77;
}
#endif
