/* SPDX-License-Identifier: Apache-2.0
 *
 * The command's own parts: values, JSON, safe paths, progress text, class mix. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "class_mix.h"
#include "cli_value.h"
#include "json_out.h"
#include "progress.h"
#include "record_path.h"
#include "safe_write.h"
#include "support/check.h"

static void test_numbers(void)
{
    static const char *const wrong[] = {"", " 1", "+1", "-1", "1 ", "0x10", "1.0", "18446744073709551616", "1e3"};
    uint64_t u64 = 0;
    uint32_t u32 = 0;
    double real = 0;
    CHECK(cli_to_u64("18446744073709551615", &u64) && u64 == UINT64_MAX);
    CHECK(cli_to_u64("0", &u64) && u64 == 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) CHECK(!cli_to_u64(wrong[i], &u64));
    CHECK(cli_to_u32("4294967295", &u32) && u32 == UINT32_MAX);
    CHECK(!cli_to_u32("4294967296", &u32));
    CHECK(cli_to_real("0.25", &real) && real == 0.25);
    CHECK(!cli_to_real("inf", &real) && !cli_to_real("nan", &real) && !cli_to_real("1x", &real));
}

static void test_bytes(void)
{
    static const char *const wrong[] = {"", "K", "1KB", "1 K", "1Ki", "-1", "1.5G", "1k", "16777216T", "99999999999999999999"};
    uint64_t n = 0;
    char text[CLI_BYTES_TEXT];
    CHECK(cli_to_bytes("12", &n) && n == 12);
    CHECK(cli_to_bytes("3K", &n) && n == 3072);
    CHECK(cli_to_bytes("4MiB", &n) && n == 4194304);
    CHECK(cli_to_bytes("4GiB", &n) && n == 4294967296);
    CHECK(cli_to_bytes("16777215T", &n) && n == 16777215ULL << 40);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) CHECK(!cli_to_bytes(wrong[i], &n));
    CHECK(strcmp(cli_bytes_text(1023, text), "1023 B") == 0);
    CHECK(strcmp(cli_bytes_text(1048575, text), "1.0 MiB") == 0);
    CHECK(strcmp(cli_bytes_text(UINT64_MAX, text), "16.0 EiB") == 0);
}

static void test_size(void)
{
    uint32_t w = 0, h = 0;
    CHECK(cli_to_size("640x480", &w, &h) && w == 640 && h == 480);
    CHECK(!cli_to_size("640", &w, &h) && !cli_to_size("0x4", &w, &h) && !cli_to_size("4x", &w, &h));
    CHECK(!cli_to_size("x4", &w, &h) && !cli_to_size("4x4x4", &w, &h) && !cli_to_size("99999999999999x4", &w, &h));
}

/* What the writer makes of some bytes, without the quotes. */
static const char *quoted(const char *bytes, size_t n, char *out, size_t capacity)
{
    memset(out, 0, capacity);
    FILE *file = fmemopen(out, capacity, "w");
    json_out json = {.file = file};
    json_bytes(&json, NULL, bytes, n);
    fclose(file);
    size_t length = strlen(out);
    if (length < 2) return "";
    out[length - 1] = '\0';
    return out + 1;
}

static void test_json_text(void)
{
    static const struct {
        const char *bytes, *want;
    } cases[] = {
        {"plain", "plain"},
        {"a\"b\\c\n\t\x01\x7f", "a\\\"b\\\\c\\n\\t\\u0001\\u007f"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"caf\xe9", "caf\\udce9"},
        {"\xc0\x80", "\\udcc0\\udc80"},                         /* overlong */
        {"\xe0\x80\x80", "\\udce0\\udc80\\udc80"},              /* overlong */
        {"\xed\xa0\x80", "\\udced\\udca0\\udc80"},              /* a surrogate */
        {"\xf4\x90\x80\x80", "\\udcf4\\udc90\\udc80\\udc80"},   /* beyond Unicode */
        {"\xe2\x82", "\\udce2\\udc82"},                         /* cut short */
    };
    char out[256];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK(strcmp(quoted(cases[i].bytes, strlen(cases[i].bytes), out, sizeof out), cases[i].want) == 0);
    CHECK(strcmp(quoted("a\0b", 3, out, sizeof out), "a\\u0000b") == 0);
}

static void test_json_nesting(void)
{
    char out[256] = {0};
    FILE *file = fmemopen(out, sizeof out, "w");
    json_out json = {.file = file};
    json_begin(&json, NULL, '{');
    json_u64(&json, "a", UINT64_MAX);
    json_begin(&json, "b", '[');
    json_i64(&json, NULL, -1);
    json_begin(&json, NULL, '{');
    json_end(&json, '}');
    json_null(&json, NULL);
    json_end(&json, ']');
    json_real(&json, "c", 1.0 / 3, 3);
    json_real(&json, "d", NAN, 3);
    json_bool(&json, "e", true);
    json_end(&json, '}');
    fclose(file);
    CHECK(strcmp(out, "{\"a\": 18446744073709551615, \"b\": [-1, {}, null], \"c\": 0.333, \"d\": null, \"e\": true}") ==
          0);
}

static void check_path(const char *path, size_t n, const char *kind, const char *want)
{
    char out[64];
    bool fits = record_path_safe(path, n, 7, kind, out, sizeof out);
    CHECK(fits && strcmp(out, want) == 0);
    if (fits && strcmp(out, want) != 0) fprintf(stderr, "got %s, wanted %s\n", out, want);
}

static void test_safe_paths(void)
{
    check_path("a/b.jpg", 7, "jpg", "a/b.jpg");
    check_path("a/b.JPEG", 8, "jpg", "a/b.JPEG");
    check_path("a/b.bmp", 7, "png", "a/b.bmp.png");
    check_path("a.b/c", 5, "jpg", "a.b/c.jpg");
    check_path("a.jpg/c", 7, "jpg", "a.jpg/c.jpg");
    check_path("../../etc/passwd.jpg", 20, "jpg", "etc/passwd.jpg");
    check_path("/abs//./x.jpg", 13, "jpg", "abs/x.jpg");
    check_path("a/../b.jpg", 10, "jpg", "a/b.jpg");
    check_path("..", 2, "png", "record-00000007.png");
    check_path("", 0, "png", "record-00000007.png");
    check_path("x\0y.jpg", 7, "jpg", "record-00000007.jpg");
    check_path("...", 3, "tiff", "....tiff");
    check_path("x.TIF", 5, "tiff", "x.TIF");
    char out[8];
    CHECK(!record_path_safe("abcdefgh.jpg", 12, 0, "jpg", out, sizeof out));
    CHECK(!record_path_safe("abcdef", 6, 0, "jpg", out, sizeof out));
    CHECK(!record_path_safe("", 0, 0, "jpg", out, sizeof out));
}

static void test_safe_write(void)
{
    char folder[] = "/tmp/stoker-test-XXXXXX", block[16] = {0};
    CHECK(mkdtemp(folder) != NULL);
    int root = open(folder, O_RDONLY | O_DIRECTORY);
    CHECK(root >= 0);
    CHECK_EQ(safe_write(root, "a/b/c", "one", 3, false), SAFE_WRITTEN);
    CHECK_EQ(safe_write(root, "a/b/c", "one", 3, false), SAFE_SAME);
    CHECK_EQ(safe_write(root, "a/b/c", "two", 3, false), SAFE_EXISTS);
    CHECK_EQ(safe_write(root, "a/b/c", "ones", 4, false), SAFE_EXISTS);
    CHECK_EQ(safe_write(root, "a/b/c", "two", 3, true), SAFE_WRITTEN);
    int fd = openat(root, "a/b/c", O_RDONLY);
    CHECK(read(fd, block, sizeof block) == 3 && memcmp(block, "two", 3) == 0);
    close(fd);
    /* A link on the way is not followed, one at the end is replaced, not written through. */
    CHECK(symlinkat("a", root, "link") == 0 && symlinkat("a/b/c", root, "last") == 0);
    CHECK_EQ(safe_write(root, "link/x", "1", 1, true), SAFE_FAILED);
    CHECK_EQ(safe_write(root, "last", "1", 1, false), SAFE_EXISTS);
    CHECK_EQ(safe_write(root, "last", "1", 1, true), SAFE_WRITTEN);
    struct stat status;
    CHECK(fstatat(root, "last", &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode));
    CHECK(fstatat(root, "a/b/c", &status, 0) == 0 && status.st_size == 3);
    CHECK_EQ(safe_write(root, "last/x", "1", 1, true), SAFE_FAILED); /* a file where a folder should be */
    CHECK_EQ(safe_write(root, "a/b", "1", 1, true), SAFE_FAILED);    /* and the other way round */
    static const char *const files[] = {"a/b/c", "link", "last"};
    for (size_t i = 0; i < 3; i++) CHECK(unlinkat(root, files[i], 0) == 0);
    CHECK(unlinkat(root, "a/b", AT_REMOVEDIR) == 0 && unlinkat(root, "a", AT_REMOVEDIR) == 0);
    close(root);
    CHECK(rmdir(folder) == 0); /* so nothing else was left */
}

static void test_progress(void)
{
    char text[256];
    progress_state state = {.phase = "pack", .done = 50, .total = 200, .bytes_done = 25000000,
                            .bytes_total = 100000000, .bad = 3, .unit = "files"};
    progress_format(&state, 10, 120, text);
    CHECK(strcmp(text, "pack   [###.........] 50/200 files  2.5 MB/s  3 bad  0:30 left") == 0);
    progress_format(&state, 10, 20, text);
    CHECK_EQ(strlen(text), 20);
    state.total = state.bytes_total = 0;
    progress_format(&state, 0, 120, text);
    CHECK(strcmp(text, "pack   [............] 50 files  0.0 MB/s  3 bad") == 0);
    state.bytes_total = 1;
    progress_format(&state, 10, 120, text);
    CHECK(strcmp(text, "pack   [############] 50 files  2.5 MB/s  3 bad  0:00 left") == 0);
}

static void test_class_mix(void)
{
    static const int64_t first[] = {0, 0, 1, -1, 9}, second[] = {2, 2, 2};
    class_mix mix;
    CHECK(class_mix_init(&mix, 3));
    class_mix_add(&mix, first, 5);
    class_mix_add(&mix, second, 3);
    CHECK(fabs(class_mix_mean(&mix) - 1.5) < 1e-12);
    class_mix_free(&mix);
    CHECK(class_mix_init(&mix, 0));
    class_mix_add(&mix, first, 5);
    CHECK(class_mix_mean(&mix) == 0);
    class_mix_free(&mix);
    /* Two classes of two, two drawn: both with probability 2/3. */
    static const uint64_t two[] = {2, 2}, uneven[] = {1, 0, 3};
    CHECK(fabs(class_mix_exact(two, 2, 2) - 5.0 / 3) < 1e-9);
    CHECK(fabs(class_mix_exact(uneven, 3, 4) - 2) < 1e-9);
    CHECK(fabs(class_mix_exact(uneven, 3, 1) - 1) < 1e-9);
    CHECK(class_mix_exact(uneven, 3, 5) == 0);
}

int main(void)
{
    RUN(test_numbers);
    RUN(test_bytes);
    RUN(test_size);
    RUN(test_json_text);
    RUN(test_json_nesting);
    RUN(test_safe_paths);
    RUN(test_safe_write);
    RUN(test_progress);
    RUN(test_class_mix);
    return check_exit();
}
