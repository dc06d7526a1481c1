/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>

#include "common/buffer.h"
#include "support/check.h"

static stk_error error;

static stk_json *parse(const char *text)
{
    stk_json *root = NULL;
    CHECK_OK(stk_json_parse(text, strlen(text), &root, &error));
    return root;
}

static void integers_keep_their_value(void)
{
    stk_json *root = parse("[0,-1,9223372036854775807,-9223372036854775808,9223372036854775808,"
                           "18446744073709551615,18446744073709551616,-9223372036854775809,"
                           "12345678901234567890123,1.0,1e3,0.5,1234567890123456789012.5]");
    static const stk_json_kind kinds[] = {
        STK_JSON_INTEGER,  STK_JSON_INTEGER, STK_JSON_INTEGER, STK_JSON_INTEGER, STK_JSON_UNSIGNED,
        STK_JSON_UNSIGNED, STK_JSON_BIG,     STK_JSON_BIG,     STK_JSON_BIG,     STK_JSON_REAL,
        STK_JSON_REAL,     STK_JSON_REAL,    STK_JSON_REAL};
    CHECK_EQ(stk_json_len(root), 13);
    for (size_t i = 0; i < 13; i++)
        CHECK_EQ(stk_json_kind_of(stk_json_at(root, i)), kinds[i]);
    int64_t i64 = 0;
    uint64_t u64 = 0;
    double real = 0;
    CHECK(stk_json_i64(stk_json_at(root, 3), &i64) && i64 == INT64_MIN);
    CHECK(!stk_json_u64(stk_json_at(root, 1), &u64));
    CHECK(stk_json_u64(stk_json_at(root, 5), &u64) && u64 == UINT64_MAX);
    CHECK(!stk_json_i64(stk_json_at(root, 5), &i64));
    CHECK(!stk_json_u64(stk_json_at(root, 6), &u64));
    CHECK(strcmp(stk_json_digits(stk_json_at(root, 7)), "-9223372036854775809") == 0);
    CHECK(stk_json_double(stk_json_at(root, 6), &real) && real == 18446744073709551616.0);
    CHECK(stk_json_double(stk_json_at(root, 12), &real) && real == 1234567890123456789012.5);
    CHECK(stk_json_string(stk_json_at(root, 5), NULL) == NULL);
    stk_buffer out = {0};
    CHECK_OK(stk_json_print(root, &out, &error));
    CHECK_OK(stk_buffer_append(&out, "", 1, &error));
    CHECK(strcmp((char *)out.data, "[0,-1,9223372036854775807,-9223372036854775808,9223372036854775808,"
                                   "18446744073709551615,18446744073709551616,-9223372036854775809,"
                                   "12345678901234567890123,1.0,1000.0,0.5,1.2345678901234568e+21]") == 0);
    stk_buffer_free(&out);
    stk_json_close(&root);
}

static void members_in_order(void)
{
    stk_json *root = parse("{\"z\":1,\"a\":{\"b\":[true,null]},\"m\":\"x\",\"a2\":false}");
    static const char *const names[] = {"z", "a", "m", "a2"};
    void *position = NULL;
    const char *key;
    const stk_json *value;
    size_t n = 0;
    while (stk_json_next(root, &position, &key, &value)) {
        CHECK(n < 4 && strcmp(key, names[n]) == 0);
        n++;
    }
    CHECK_EQ(n, 4);
    bool truth = false;
    CHECK(stk_json_bool(stk_json_at(stk_json_get(stk_json_get(root, "a"), "b"), 0), &truth) && truth);
    CHECK_EQ(stk_json_kind_of(stk_json_get(stk_json_get(root, "no"), "no")), STK_JSON_MISSING);
    CHECK(stk_json_at(root, 0) == NULL);
    stk_json_close(&root);
    CHECK(root == NULL);
}

/* All 256 bytes, a zero among them, in one string: out as plain ASCII-safe JSON and back. */
static void any_bytes_round_trip(void)
{
    char bytes[260];
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    memcpy(bytes + 256, "\xe4\xb8\xad", 4);
    stk_buffer out = {0};
    stk_json_writer w = stk_jw_begin(&out, &error);
    stk_jw_array(&w);
    stk_jw_bytes(&w, bytes, 259);
    stk_jw_string(&w, "\xf0\x9f\x98\x80");
    stk_jw_end_array(&w);
    CHECK_OK(stk_jw_end(&w));
    for (size_t i = 0; i < out.n_bytes; i++)
        CHECK(out.data[i] >= 0x20 && out.data[i] != 0x7f);
    stk_json *root = NULL;
    CHECK_OK(stk_json_parse((char *)out.data, out.n_bytes, &root, &error));
    size_t n = 0;
    const char *back = stk_json_string(stk_json_at(root, 0), &n);
    CHECK_EQ(n, 259);
    CHECK(back != NULL && memcmp(back, bytes, 259) == 0);
    back = stk_json_string(stk_json_at(root, 1), &n);
    CHECK(back != NULL && strcmp(back, "\xf0\x9f\x98\x80") == 0);
    stk_json_close(&root);
    stk_buffer_free(&out);
}

/* What Python's json.dumps(os.fsdecode(b'\xc9\xd0\xce\xf7/\xff')) writes. */
static void surrogate_escapes(void)
{
    stk_json *root =
        parse("[\"\\udcc9\\udcd0\\udcce\\udcf7/\\uDCFF\", \"\\ud83d\\ude00\", \"\\ud83d\\udc80\"]");
    CHECK(strcmp(stk_json_string(stk_json_at(root, 0), NULL), "\xc9\xd0\xce\xf7/\xff") == 0);
    CHECK(strcmp(stk_json_string(stk_json_at(root, 1), NULL), "\xf0\x9f\x98\x80") == 0);
    CHECK(strcmp(stk_json_string(stk_json_at(root, 2), NULL), "\xf0\x9f\x92\x80") == 0); /* a real pair */
    stk_json_close(&root);
}

static void refuses(const char *text, const char *part)
{
    stk_json *root = NULL;
    CHECK_STATUS(stk_json_parse(text, strlen(text), &root, &error), STK_ERR_ARGUMENT);
    CHECK(root == NULL);
    if (strstr(error.text, part) == NULL) fprintf(stderr, "text: %s\n", error.text);
    CHECK(strstr(error.text, part) != NULL);
}

static void broken_texts(void)
{
    refuses("", "line 1");
    refuses("{\"a\":1,\n \"b\" 2}", "line 2");
    refuses("[1,2", "line 1");
    refuses("[1] x", "end of file");
    refuses("[0123456789012345678901]", "line 1");
    refuses("[1e999]", "overflow");
    refuses("[\"\\ud800\"]", "Unicode");
    refuses("[\"\\udc\"]", "escape");
    refuses("[\"\\", "line 1");
    refuses("\"\xff\"", "0xff");
    char deep[8192];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    refuses(deep, "depth");
}

static void doubles_shortest_in_any_locale(void)
{
    static const double values[] = {0.1, 1.0, -0.0, 1e300, 5e-324, 1.0 / 3, 123456789.125};
    static const char want[] =
        "[0.1,1.0,-0.0,1e+300,4.94065645841247e-324,0.3333333333333333,123456789.125,null]";
    bool has = setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL;
    stk_buffer out = {0};
    stk_json_writer w = stk_jw_begin(&out, &error);
    stk_jw_array(&w);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        stk_jw_double(&w, values[i]);
    stk_jw_double(&w, (double)NAN);
    stk_jw_end_array(&w);
    CHECK_OK(stk_jw_end(&w));
    CHECK(out.n_bytes == strlen(want) && memcmp(out.data, want, out.n_bytes) == 0);
    if (has) setlocale(LC_NUMERIC, "C");
    stk_buffer_free(&out);
}

static void writes_structure(void)
{
    stk_buffer out = {0};
    stk_json_writer w = stk_jw_begin(&out, &error);
    stk_jw_object(&w);
    stk_jw_key(&w, "a\"b");
    stk_jw_array(&w);
    stk_jw_newline(&w);
    stk_jw_u64(&w, UINT64_MAX);
    stk_jw_newline(&w);
    stk_jw_object(&w);
    stk_jw_end_object(&w);
    stk_jw_end_array(&w);
    stk_jw_key(&w, "n");
    stk_jw_string(&w, NULL);
    stk_jw_key(&w, "r");
    stk_jw_raw(&w, "{\"x\":[1]}");
    stk_jw_key(&w, "t");
    stk_jw_bool(&w, true);
    stk_jw_end_object(&w);
    CHECK_OK(stk_jw_end(&w));
    static const char want[] =
        "{\"a\\\"b\":[\n18446744073709551615,\n{}],\"n\":null,\"r\":{\"x\":[1]},\"t\":true}";
    CHECK(out.n_bytes == strlen(want) && memcmp(out.data, want, out.n_bytes) == 0);
    stk_buffer_free(&out);
}

int main(void)
{
    RUN(integers_keep_their_value);
    RUN(members_in_order);
    RUN(any_bytes_round_trip);
    RUN(surrogate_escapes);
    RUN(broken_texts);
    RUN(doubles_shortest_in_any_locale);
    RUN(writes_structure);
    return check_exit();
}
