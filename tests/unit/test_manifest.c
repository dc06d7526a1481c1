/* SPDX-License-Identifier: Apache-2.0
 *
 * Manifests: syntax, column types, labels, and finding the files that are meant. */
#include "tests/support/check.h"
#include "tests/support/tree.h"

#include "packer/manifest.h"
#include "packer/table.h"

/* As CHECK_STATUS, with the error of `l`. */
#define CHECK_READ(expr, want)                                                                    \
    do {                                                                                             \
        stk_status got_ = (expr);                                                                    \
        if (got_ != (want)) {                                                                        \
            fprintf(stderr, "%s:%d: got %s, wanted %s: %s\n", __FILE__, __LINE__, stk_status_name(got_), \
                    stk_status_name(want), l.error.text);                                            \
            check_failures_++;                                                                       \
        }                                                                                            \
    } while (0)
#define CHECK_READ_OK(expr) CHECK_READ(expr, STK_OK)

typedef struct loaded {
    tree t;
    stk_sources s;
    stk_error error;
    stk_pack_options options;
} loaded;

static void begin(loaded *l)
{
    tree_make(&l->t);
    l->s = (stk_sources){0};
    l->options = (stk_pack_options){0};
}

static void end(loaded *l)
{
    stk_sources_free(&l->s);
    tree_remove(&l->t);
}

static stk_status read_as(loaded *l, const char *name, const char *text)
{
    stk_sources_free(&l->s);
    tree_text(&l->t, name, text);
    return stk_manifest_read(tree_path(&l->t, name), l->t.root, &l->options, 2, &l->s, &l->error);
}

static const stk_table_column *column(const loaded *l, const char *name)
{
    for (uint32_t c = 0; l->s.table != NULL && c < l->s.table->n_columns; c++)
        if (strcmp(l->s.table->columns[c].column.name, name) == 0) return &l->s.table->columns[c];
    fprintf(stderr, "no column %s\n", name);
    CHECK(0);
    static const stk_table_column none = {.column = {.name = ""}};
    return &none;
}

/* Row's value of a column as text. */
static const char *value(const loaded *l, const char *name, uint64_t row)
{
    static char text[256];
    const stk_table_column *c = column(l, name);
    stk_cell cells[64];
    stk_table_cells(l->s.table, row, cells);
    const stk_cell *cell = &cells[c - l->s.table->columns];
    if (cell->is_null) return "null";
    size_t n = 0;
    text[0] = '\0';
    if (stk_type_size(c->column.type) == 0) snprintf(text, sizeof text, "%.*s", (int)cell->n_items, (const char *)cell->data);
    for (size_t i = 0; stk_type_size(c->column.type) != 0 && i < cell->n_items; i++) {
        const char *at = (const char *)cell->data + i * stk_type_size(c->column.type);
        int64_t v = 0;
        double f = 0;
        float f32 = 0;
        if (c->column.type == STK_TYPE_F64) memcpy(&f, at, 8);
        else if (c->column.type == STK_TYPE_F32) memcpy(&f32, at, 4), f = (double)f32;
        else memcpy(&v, at, stk_type_size(c->column.type));
        if (c->column.type == STK_TYPE_F64 || c->column.type == STK_TYPE_F32)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%g", i > 0 ? " " : "", f);
        else n += (size_t)snprintf(text + n, sizeof text - n, "%s%lld", i > 0 ? " " : "", (long long)v);
    }
    return text;
}

static const char *path_of(const loaded *l, uint64_t i)
{
    static char path[512];
    stk_source source;
    stk_sources_get(&l->s, i, &source);
    stk_source_path(&l->s, &source, path, sizeof path);
    return path;
}

static stk_source_state state_of(const loaded *l, uint64_t i)
{
    stk_source source;
    stk_sources_get(&l->s, i, &source);
    return source.state;
}

#define CHECK_TEXT(got, want)                                                                          \
    do {                                                                                               \
        const char *got_ = (got);                                                                      \
        if (strcmp(got_, (want)) != 0) {                                                               \
            fprintf(stderr, "%s:%d: %s is '%s', wanted '%s'\n", __FILE__, __LINE__, #got, got_, want); \
            check_failures_++;                                                                         \
        }                                                                                              \
    } while (0)

static void test_csv_syntax(void)
{
    loaded l;
    begin(&l);
    static const char TEXT[] = "\xef\xbb\xbf" "file,\"note, long\",label\r\n"
                               "a.jpg,\"say \"\"hi\"\"\",cat\r\n"
                               "\r\n"
                               "\"b.jpg\",\"two\r\nlines\",dog\r\n"
                               "c.jpg,,";
    CHECK_READ_OK(read_as(&l, "m.csv", TEXT));
    CHECK_EQ(l.s.n, 3);
    CHECK_TEXT(value(&l, "note, long", 0), "say \"hi\"");
    CHECK_TEXT(value(&l, "note, long", 1), "two\r\nlines");
    CHECK_TEXT(value(&l, "note, long", 2), "");
    CHECK_TEXT(path_of(&l, 1), "b.jpg");
    CHECK_EQ(l.s.labels[0], 0);
    CHECK_EQ(l.s.labels[1], 1);
    CHECK_EQ(l.s.labels[2], -1);
    CHECK_READ_OK(read_as(&l, "m.csv", "path\tk\na,1\t2\n"));
    CHECK_TEXT(path_of(&l, 0), "a,1");
    CHECK_READ_OK(read_as(&l, "m.csv", "path;k\ra;2\rb;3\r"));
    CHECK_EQ(l.s.n, 2);
    CHECK_READ_OK(read_as(&l, "m.csv", ",path\n0,a\n"));
    CHECK_TEXT(value(&l, "column_1", 0), "0");

    CHECK_READ(read_as(&l, "m.csv", "path,a\nx\n"), STK_ERR_ARGUMENT);
    CHECK(strstr(l.error.text, "line 2 has 1 fields, the header has 2") != NULL);
    CHECK_READ(read_as(&l, "m.csv", "path,a\n\"x\n\n,1\n"), STK_ERR_ARGUMENT);
    CHECK(strstr(l.error.text, "line 2: a quoted field has no end") != NULL);
    CHECK_READ(read_as(&l, "m.csv", "path,a\n\"x\"y,1\n"), STK_ERR_ARGUMENT);
    CHECK_READ(read_as(&l, "m.csv", "path,a,a\nx,1,2\n"), STK_ERR_ARGUMENT);
    CHECK(strstr(l.error.text, "both called 'a'") != NULL);
    CHECK_READ(read_as(&l, "m.csv", ""), STK_ERR_ARGUMENT);
    CHECK_READ(read_as(&l, "m.csv", "path,a\n"), STK_ERR_ARGUMENT);
    CHECK_READ(read_as(&l, "m.csv", "\xff\xfep\0a\0"), STK_ERR_ARGUMENT);
    CHECK(strstr(l.error.text, "UTF-16") != NULL);
    end(&l);
}

static void test_csv_types(void)
{
    loaded l;
    begin(&l);
    CHECK_READ_OK(read_as(&l, "m.csv",
                     "path,zip,n,big,f,version,flag,mixed,gap,word\n"
                     "a,001,7,18446744073709551615,0.5,1.10,True,True,,x\n"
                     "b,002,-12,3,-3,1.9,False,true,4,x\n"
                     "c,103,0,0,1e-05,2.0,True,False,5,\n"));
    CHECK_EQ(column(&l, "zip")->column.type, STK_TYPE_STRING);
    CHECK_EQ(column(&l, "n")->column.type, STK_TYPE_I64);
    CHECK_EQ(column(&l, "big")->column.type, STK_TYPE_U64);
    CHECK_EQ(column(&l, "f")->column.type, STK_TYPE_F64);
    CHECK_EQ(column(&l, "version")->column.type, STK_TYPE_STRING);
    CHECK_EQ(column(&l, "flag")->column.type, STK_TYPE_BOOL);
    CHECK_EQ(column(&l, "mixed")->column.type, STK_TYPE_STRING);
    CHECK_EQ(column(&l, "gap")->column.type, STK_TYPE_I64);
    CHECK(column(&l, "gap")->column.nullable && !column(&l, "n")->column.nullable);
    CHECK_EQ(column(&l, "word")->column.type, STK_TYPE_STRING);
    CHECK(!column(&l, "word")->column.nullable);
    CHECK_TEXT(value(&l, "zip", 0), "001");
    CHECK_TEXT(value(&l, "n", 1), "-12");
    CHECK_TEXT(value(&l, "f", 2), "1e-05");
    CHECK_TEXT(value(&l, "flag", 1), "0");
    CHECK_TEXT(value(&l, "gap", 0), "null");
    CHECK_TEXT(value(&l, "gap", 2), "5");
    CHECK_TEXT(value(&l, "word", 2), "");
    end(&l);
}

static void test_float_round_trip(void)
{
    static const struct {
        const char *text;
        stk_type type;
    } CASES[] = {
        {"0.1", STK_TYPE_F64}, {"12.0", STK_TYPE_F64}, {"-0.0", STK_TYPE_F64}, {"1e5", STK_TYPE_F64},
        {"1E-300", STK_TYPE_F64}, {"0.30000000000000004", STK_TYPE_F64}, {"123456789012345680000", STK_TYPE_F64},
        {"0.30000000000000001", STK_TYPE_STRING}, {"0.50", STK_TYPE_STRING}, {"+1.5", STK_TYPE_STRING},
        {".5", STK_TYPE_STRING}, {"5.", STK_TYPE_STRING}, {"00.5", STK_TYPE_STRING}, {"1e", STK_TYPE_STRING},
        {"nan", STK_TYPE_STRING}, {"inf", STK_TYPE_STRING}, {"0x10", STK_TYPE_STRING}, {"1e999", STK_TYPE_STRING},
        {"1e-999", STK_TYPE_STRING}, {"1_000", STK_TYPE_STRING}, {" 1.5", STK_TYPE_STRING}, {"1,5", STK_TYPE_STRING},
        {"-0", STK_TYPE_F64}, {"007", STK_TYPE_STRING}, {"1.2.3", STK_TYPE_STRING}, {"-", STK_TYPE_STRING},
        {"9223372036854775807", STK_TYPE_I64}, {"-9223372036854775808", STK_TYPE_I64},
        {"9223372036854775808", STK_TYPE_U64}, {"18446744073709551616", STK_TYPE_STRING}, /* prints as 1.8446744073709552e+19 */
    };
    loaded l;
    begin(&l);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char text[128];
        snprintf(text, sizeof text, "path,v\na,\"%s\"\n", CASES[i].text);
        CHECK_READ_OK(read_as(&l, "m.csv", text));
        if (column(&l, "v")->column.type != CASES[i].type)
            fprintf(stderr, "'%s' became %s\n", CASES[i].text, stk_type_name(column(&l, "v")->column.type));
        CHECK_EQ(column(&l, "v")->column.type, CASES[i].type);
    }
    end(&l);
}

static void test_overrides(void)
{
    loaded l;
    begin(&l);
    static const char *const TYPES[] = {"zip:uint16", "s:float32", "box:float32[4]", "l:int32[]", "n:string"};
    l.options.column_types = TYPES;
    l.options.n_column_types = 5;
    CHECK_READ_OK(read_as(&l, "m.csv",
                     "path,zip,s,box,l,n\n"
                     "a,001,0.50,1 2 3 4.5,\"[1, 2]\",5\n"
                     "b,65535,nan,\"1,2,3,4\",,6\n"));
    CHECK_EQ(column(&l, "zip")->column.type, STK_TYPE_U16);
    CHECK_TEXT(value(&l, "zip", 0), "1");
    CHECK_TEXT(value(&l, "zip", 1), "65535");
    CHECK_TEXT(value(&l, "s", 0), "0.5");
    CHECK_TEXT(value(&l, "s", 1), "nan");
    CHECK_TEXT(value(&l, "box", 0), "1 2 3 4.5");
    CHECK_EQ(column(&l, "box")->column.n_items, 4);
    CHECK_TEXT(value(&l, "l", 0), "1 2");
    CHECK_TEXT(value(&l, "l", 1), "null");
    CHECK_EQ(column(&l, "n")->column.type, STK_TYPE_STRING);
    CHECK_READ(read_as(&l, "m.csv", "path,zip,s,box,l,n\na,65536,1,1 2 3 4,1,1\n"), STK_ERR_ARGUMENT);
    CHECK(strstr(l.error.text, "m.csv: line 2: column 'zip': '65536' is no uint16") != NULL);
    CHECK_READ(read_as(&l, "m.csv", "path,zip,s,box,l,n\na,1,1,1 2 3,1,1\n"), STK_ERR_ARGUMENT);
    static const char *const WRONG[] = {"nope:int32", "zip:int33", "zip", "s:string[3]"};
    for (int i = 0; i < 4; i++) {
        l.options.column_types = &WRONG[i];
        l.options.n_column_types = 1;
        CHECK(read_as(&l, "m.csv", "path,zip,s\na,1,1\n") != STK_OK);
    }
    end(&l);
}

static void test_jsonl(void)
{
    loaded l;
    begin(&l);
    CHECK_READ_OK(read_as(&l, "m.jsonl",
                     "{\"file\": \"a.jpg\", \"label\": 3, \"score\": 1, \"id\": \"001\", \"box\": [1, 2, 3, 4]}\n"
                     "\n"
                     "{\"label\": 5, \"file\": \"b.jpg\", \"score\": 2.5, \"boxes\": [[1,2],[3,4]], \"box\": [5,6,7,8], "
                     "\"x\": {\"k\": 1}, \"list\": [1, 2.5]}\n"
                     "{\"file\": \"c.jpg\", \"ok\": true, \"boxes\": [], \"box\": [0,0,0,0], \"list\": [1]}"));
    CHECK_EQ(l.s.n, 3);
    CHECK_EQ(l.s.labels[0], 3);
    CHECK_EQ(l.s.labels[1], 5);
    CHECK_EQ(l.s.labels[2], -1);
    CHECK_EQ(l.s.n_classes, 0);
    CHECK_EQ(column(&l, "score")->column.type, STK_TYPE_F64);
    CHECK_EQ(column(&l, "id")->column.type, STK_TYPE_STRING);
    CHECK_TEXT(value(&l, "id", 0), "001");
    CHECK_TEXT(value(&l, "id", 1), "null");
    CHECK_EQ(column(&l, "box")->column.n_items, 4);
    CHECK_TEXT(value(&l, "box", 1), "5 6 7 8");
    CHECK_EQ(column(&l, "boxes")->column.n_items, 0);
    CHECK_TEXT(value(&l, "boxes", 1), "1 2 3 4");
    CHECK_TEXT(value(&l, "boxes", 0), "null");
    CHECK_TEXT(value(&l, "boxes", 2), "");
    CHECK_EQ(column(&l, "list")->column.type, STK_TYPE_F64);
    CHECK_TEXT(value(&l, "list", 1), "1 2.5");
    CHECK_EQ(column(&l, "ok")->column.type, STK_TYPE_BOOL);
    CHECK_TEXT(value(&l, "x", 1), "{\"k\":1}");
    CHECK_READ(read_as(&l, "m.jsonl", "{\"file\": \"a\"}\n[1]\n"), STK_ERR_ARGUMENT);
    CHECK(strstr(l.error.text, "line 2") != NULL);
    CHECK_READ(read_as(&l, "m.jsonl", "{\"file\": \"a\"}\n{\"file\": \n"), STK_ERR_ARGUMENT);
    CHECK(strstr(l.error.text, "line 2") != NULL);
    end(&l);
}

static void test_labels(void)
{
    loaded l;
    begin(&l);
    CHECK_READ_OK(read_as(&l, "m.csv", "path,label\na,zebra\nb,Ape\nc,zebra\nd,bee\n"));
    CHECK_EQ(l.s.n_classes, 3);
    CHECK_TEXT(l.s.class_names[0], "Ape");
    CHECK_TEXT(l.s.class_names[2], "zebra");
    CHECK_EQ(l.s.labels[0], 2);
    CHECK_EQ(l.s.labels[1], 0);
    CHECK_EQ(l.s.labels[3], 1);
    CHECK_READ_OK(read_as(&l, "m.csv", "path,label\na,07\nb,3\n")); /* does not round-trip: names */
    CHECK_EQ(l.s.n_classes, 2);
    CHECK_READ_OK(read_as(&l, "m.csv", "path,label\na,7\nb,3\n"));
    CHECK_EQ(l.s.n_classes, 0);
    CHECK_EQ(l.s.labels[0], 7);
    CHECK_READ_OK(read_as(&l, "m.csv", "path,target\na,0.25\nb,3\n")); /* not whole: a column */
    CHECK(!l.s.has_labels);
    CHECK_TEXT(value(&l, "target", 0), "0.25");

    l.options.label_column = "target";
    CHECK_READ(read_as(&l, "m.csv", "path,target\na,0.25\nb,3\n"), STK_ERR_ARGUMENT);
    CHECK_READ(read_as(&l, "m.csv", "path,k,v\na,1,2\n"), STK_ERR_NOT_FOUND);
    CHECK(strstr(l.error.text, "no label column 'target'; the columns are 'path', 'k', 'v'") != NULL);
    l.options.label_column = "";
    CHECK_READ_OK(read_as(&l, "m.csv", "path,label\na,7\n"));
    CHECK(!l.s.has_labels);
    CHECK_TEXT(value(&l, "label", 0), "7");
    static const char *const AS_TEXT[] = {"label:string"};
    l.options.label_column = NULL;
    l.options.column_types = AS_TEXT;
    l.options.n_column_types = 1;
    CHECK_READ_OK(read_as(&l, "m.csv", "path,label\na,7\nb,10\n"));
    CHECK_EQ(l.s.n_classes, 2);
    CHECK_TEXT(l.s.class_names[0], "10");
    l.options.n_column_types = 0;
    l.options.path_column = "nope";
    CHECK_READ(read_as(&l, "m.csv", "path,label\na,7\n"), STK_ERR_NOT_FOUND);
    CHECK(strstr(l.error.text, "'path', 'label'") != NULL);
    l.options.path_column = "img";
    CHECK_READ_OK(read_as(&l, "m.csv", "path,img\nnote,a\n"));
    CHECK_TEXT(value(&l, "manifest.path", 0), "note");
    end(&l);
}

static void test_finding_files(void)
{
    loaded l;
    begin(&l);
    tree_text(&l.t, "a.jpg", "x");
    tree_text(&l.t, "b.PNG", "x");
    tree_text(&l.t, "c", "x");
    tree_text(&l.t, "d.jpg", "x");
    tree_text(&l.t, "d.png", "x");
    tree_text(&l.t, "deep/er/e.jpg", "x");
    tree_text(&l.t, "deep/er/e.txt", "x");
    tree_text(&l.t, "one/f.jpg", "x");
    tree_text(&l.t, "two/f.jpg", "x");
    tree_text(&l.t, "v1.2.jpg", "x");
    static const struct {
        const char *written, *path;
        stk_source_state state;
    } CASES[] = {
        {"a.jpg", "a.jpg", STK_SOURCE_FILE},
        {"./a.jpg", "a.jpg", STK_SOURCE_FILE},
        {"one//../a.jpg", "a.jpg", STK_SOURCE_FILE},
        {"a", "a.jpg", STK_SOURCE_FILE},
        {"b", "b.PNG", STK_SOURCE_FILE},
        {"c", "c", STK_SOURCE_FILE},
        {"d", "d.jpg", STK_SOURCE_FILE}, /* extensions have an order */
        {"e", "deep/er/e.jpg", STK_SOURCE_FILE},
        {"e.jpg", "deep/er/e.jpg", STK_SOURCE_FILE},
        {"er/e", "deep/er/e.jpg", STK_SOURCE_FILE},
        {"r/e", "r/e", STK_SOURCE_MISSING},
        {"f", "f", STK_SOURCE_AMBIGUOUS},
        {"two/f", "two/f.jpg", STK_SOURCE_FILE},
        {"one\\f.jpg", "one/f.jpg", STK_SOURCE_FILE},
        {"v1.2", "v1.2.jpg", STK_SOURCE_FILE},
        {"v1", "v1", STK_SOURCE_MISSING},
        {"a.png", "a.png", STK_SOURCE_MISSING},
        {"gone.jpg", "gone.jpg", STK_SOURCE_MISSING},
        {"", "", STK_SOURCE_MISSING},
        {"one", "one", STK_SOURCE_MISSING}, /* a folder */
        {"../a.jpg", "../a.jpg", STK_SOURCE_OUTSIDE},
        {"one/../../a.jpg", "one/../../a.jpg", STK_SOURCE_OUTSIDE},
        {"/etc/passwd", "/etc/passwd", STK_SOURCE_OUTSIDE},
    };
    enum { N = sizeof CASES / sizeof *CASES };
    char text[2048] = "path,row\n";
    for (int i = 0; i < N; i++) {
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, "%s,%d\n", CASES[i].written, i);
    }
    CHECK_READ_OK(read_as(&l, "m.csv", text));
    CHECK_EQ(l.s.n, N);
    for (int i = 0; i < N; i++) {
        if (state_of(&l, (uint64_t)i) != CASES[i].state) fprintf(stderr, "'%s':\n", CASES[i].written);
        CHECK_EQ(state_of(&l, (uint64_t)i), CASES[i].state);
        if (CASES[i].state != STK_SOURCE_OUTSIDE) CHECK_TEXT(path_of(&l, (uint64_t)i), CASES[i].path);
    }
    snprintf(text, sizeof text, "path\n%s/a.jpg\n%s/../a.jpg\n", l.t.root, l.t.root);
    CHECK_READ_OK(read_as(&l, "m.csv", text));
    CHECK_TEXT(path_of(&l, 0), "a.jpg");
    CHECK_EQ(state_of(&l, 1), STK_SOURCE_OUTSIDE);
    end(&l);
}

static void test_dictionary(void)
{
    loaded l;
    begin(&l);
    char *text = malloc(1 << 20);
    size_t n = (size_t)sprintf(text, "path,few,many\n");
    for (int i = 0; i < 1000; i++) n += (size_t)sprintf(text + n, "p%d,kind%d,row%d\n", i, i % 7, i);
    CHECK_READ_OK(read_as(&l, "m.csv", text));
    free(text);
    CHECK(column(&l, "few")->column.dictionary);
    CHECK(!column(&l, "many")->column.dictionary);
    CHECK_TEXT(value(&l, "few", 999), "kind5");
    CHECK_TEXT(value(&l, "many", 999), "row999");
    end(&l);
}

/* A manifest of real life: no extensions, no folders, files missing (Python's csv module and a search by stem
 * found 693 of 705). */
static void test_messy_corpus(void)
{
    const char *corpus = getenv("STOKER_CORPUS");
    if (corpus == NULL) {
        printf("     skipped: STOKER_CORPUS is not set\n");
        return;
    }
    char manifest[1024], root[1024];
    snprintf(manifest, sizeof manifest, "%s/clothing_messy.csv", corpus);
    snprintf(root, sizeof root, "%s/clothing", corpus);
    stk_pack_options options = {0};
    stk_sources s;
    stk_error error;
    CHECK_OK(stk_manifest_read(manifest, root, &options, 2, &s, &error));
    CHECK_EQ(s.n, 705);
    CHECK_EQ(s.n_classes, 11);
    uint64_t found = 0;
    for (uint64_t i = 0; i < s.n; i++) found += s.states[i] == STK_SOURCE_FILE;
    CHECK_EQ(found, 693);
    CHECK(s.n_classes == 11 && strcmp(s.class_names[3], "Not sure") == 0);
    CHECK(s.table != NULL && s.table->n_columns == 2);
    CHECK_EQ(s.table->columns[0].column.type, STK_TYPE_I64);
    CHECK_EQ(s.table->columns[1].column.type, STK_TYPE_BOOL);
    stk_sources_free(&s);
}

int main(void)
{
    RUN(test_csv_syntax);
    RUN(test_csv_types);
    RUN(test_float_round_trip);
    RUN(test_overrides);
    RUN(test_jsonl);
    RUN(test_labels);
    RUN(test_finding_files);
    RUN(test_dictionary);
    RUN(test_messy_corpus);
    return check_exit();
}
