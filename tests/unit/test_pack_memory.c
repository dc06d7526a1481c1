/* SPDX-License-Identifier: Apache-2.0
 *
 * Packing takes at most 64 MiB and the largest image once a thread, whatever the number of files. Measured as the
 * peak of another process's memory. */
#include <sys/resource.h>

#include "tests/support/pack_helpers.h"
#include "tests/support/pictures.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

enum { THREADS = 2 };
static const char *program;

/* Packs and prints its own peak in KiB: what this program does when it is called with a folder. */
static int pack_and_tell(const char *folder, stk_encode encode, stk_resize_kind resize)
{
    char src[600], dst[600];
    stk_pack_options options;
    stk_error error;
    struct rusage usage;
    snprintf(src, sizeof src, "%s/s", folder);
    snprintf(dst, sizeof dst, "%s/o.stk", folder);
    stk_pack_options_init(&options);
    options.n_threads = THREADS;
    options.force = true;
    options.resume = false;
    options.encode = encode;
    options.resize = resize;
    options.resize_width = 100;
    if (stk_pack(src, dst, &options, NULL, &error) != STK_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("%ld\n", usage.ru_maxrss);
    return 0;
}

/* In a process of its own, without what this one's heap has kept. */
static long peak_of_pack(const tree *t, stk_encode encode, stk_resize_kind resize)
{
    char command[700], line[64] = "";
    snprintf(command, sizeof command, "'%s' '%s' %d %d", program, t->root, (int)encode, (int)resize);
    FILE *f = popen(command, "r");
    CHECK(f != NULL && fgets(line, sizeof line, f) != NULL);
    CHECK(f != NULL && pclose(f) == 0);
    return atol(line);
}

static void check_peak(const tree *t, long largest_kib)
{
    static const struct {
        stk_encode encode;
        stk_resize_kind resize;
    } CASES[] = {{STK_ENCODE_KEEP, STK_RESIZE_NONE},
                 {STK_ENCODE_RAW, STK_RESIZE_NONE},
                 {STK_ENCODE_KEEP, STK_RESIZE_SHORT},
                 {STK_ENCODE_AUTO, STK_RESIZE_SHORT}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        stk_encode encode = CASES[i].encode;
        long peak = peak_of_pack(t, encode, CASES[i].resize);
        long limit = 64 * 1024 + THREADS * largest_kib;
        if (peak > limit) fprintf(stderr, "encode %d: peak %ld KiB, limit %ld KiB\n", encode, peak, limit);
        CHECK(peak <= limit);
    }
}

static void test_many_small(void)
{
    tree t;
    tree_make(&t);
    for (int i = 0; i < 1500; i++) {
        char name[64];
        snprintf(name, sizeof name, "s/%d/%04d.ppm", i % 10, i);
        picture_file(&t, name, 150, 150, (uint64_t)i, 1);
    }
    check_peak(&t, 150 * 150 * 3 / 1024);
    tree_remove(&t);
}

static void test_outlier(void)
{
    tree t;
    tree_make(&t);
    for (int i = 0; i < 100; i++) {
        char name[64];
        snprintf(name, sizeof name, "s/%02d.ppm", i);
        picture_file(&t, name, 150, 150, (uint64_t)i, 1);
    }
    picture_file(&t, "s/50.jpg", 5000, 4000, 1, 1);
    picture_file(&t, "s/51.jpg", 5000, 4000, 2, 1);
    check_peak(&t, 5000 * 4000 / 1024 * 3);
    tree_remove(&t);
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc == 4) return pack_and_tell(argv[1], (stk_encode)atoi(argv[2]), (stk_resize_kind)atoi(argv[3]));
#ifdef SANITIZED
    printf("skipped: a sanitizer's own memory is counted too\n");
    return 77;
#endif
    RUN(test_many_small);
    RUN(test_outlier);
    return check_exit();
}
