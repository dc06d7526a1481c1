/* SPDX-License-Identifier: Apache-2.0
 *
 * Golden containers by verdict. tests/golden/accept: must open and hold what NAME.txt says, for ever.
 * tests/golden/reject: must be refused with the very text in NAME.txt. Files are never changed, only added.
 *
 *   test_format_golden                checks
 *   test_format_golden --write DIR    writes the files and texts anew, to DIR/accept and DIR/reject (to add
 * new ones; look at what changed before committing) */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include <stoker/version.h>

#include "common/buffer.h"
#include "common/file.h"
#include "format/folder.h"
#include "format/storage.h"
#include "support/check.h"
#include "support/shard_fixup.h"
#include "support/shard_maker.h"
#include "support/storage_walk.h"
#include "support/temporary.h"

static stk_error error;
static char golden[1024]; /* tests/golden, or what --write names */

static const char *in_golden(const char *verdict, const char *name, const char *extension)
{
    static char paths[4][2048];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s/%s%s", golden, verdict, name, extension);
    return path;
}

/* ---- What a container holds, as text. */

static void dump_bytes(stk_buffer *out, const void *data, size_t n)
{
    const uint8_t *p = data;
    CHECK_OK(stk_buffer_printf(out, &error, "%zu:", n));
    for (size_t i = 0; i < n; i++)
        CHECK_OK(stk_buffer_printf(out, &error, "%02x", p[i]));
}

static void dump_row(stk_buffer *out, stk_storage *s, uint64_t i)
{
    stk_row row;
    CHECK_OK(s->ops->row(s, i, &row, &error));
    CHECK_OK(stk_buffer_printf(out, &error,
                               "row %llu file %u offset %llu bytes %llu xxh3 %016llx label %lld size %ux%u "
                               "channels %u encoding %s orientation %u tables %u\n",
                               (unsigned long long)i, row.file, (unsigned long long)row.offset,
                               (unsigned long long)row.n_bytes, (unsigned long long)row.xxh3,
                               (long long)row.label, row.width, row.height, row.channels,
                               stk_encoding_name((stk_encoding)row.encoding), row.orientation, row.tables));
    for (uint32_t c = 0; c < s->n_columns; c++) {
        uint8_t buffer[512];
        stk_value value;
        CHECK_OK(s->ops->value(s, c, i, buffer, sizeof buffer, &value, &error));
        CHECK_OK(stk_buffer_printf(out, &error, "  %s = ", s->columns[c].name));
        if (value.is_null)
            CHECK_OK(stk_buffer_printf(out, &error, "null"));
        else
            dump_bytes(out, value.data, value.n_bytes);
        CHECK_OK(stk_buffer_printf(out, &error, "\n"));
    }
}

static void dump(stk_buffer *out, stk_storage *s)
{
    CHECK_OK(stk_buffer_printf(out, &error, "%s rows %llu bytes %llu labels %d id %s\nmetadata %s\n",
                               s->ops->name, (unsigned long long)s->n_rows,
                               (unsigned long long)s->total_bytes, s->has_labels, s->id, s->metadata));
    for (uint32_t c = 0; c < s->n_columns; c++) {
        const stk_column *column = &s->columns[c];
        CHECK_OK(stk_buffer_printf(
            out, &error, "column %s %s items %u%s%s\n", column->name, stk_type_name(column->type),
            column->n_items, column->nullable ? " nullable" : "", column->dictionary ? " dictionary" : ""));
    }
    for (uint32_t t = 0; t < s->n_table_sets; t++) {
        const uint8_t *blob = NULL;
        size_t n = 0;
        CHECK_OK(s->ops->tables(s, t, &blob, &n, &error));
        CHECK_OK(stk_buffer_printf(out, &error, "table set %u ", t));
        dump_bytes(out, blob, n);
        CHECK_OK(stk_buffer_printf(out, &error, "\n"));
    }
    for (uint64_t i = 0; i < s->n_rows; i++)
        dump_row(out, s, i);
}

/* ---- Verdicts. */

static void accept_text(const char *name, stk_buffer *out)
{
    stk_storage *s = NULL;
    CHECK_OK(stk_storage_open(in_golden("accept", name, ""), NULL, &s, &error));
    if (s == NULL) return;
    dump(out, s);
    walk_result r = storage_walk(s, UINT64_MAX);
    CHECK_EQ(r.n_errors, 0);
    CHECK_EQ(r.n_findings, 0);
    stk_storage_close(&s);
}

/* Replaces the running version in a text, so that a release does not change the verdicts. */
static void hide_version(char *text)
{
    char *place = strstr(text, "stoker " STK_VERSION);
    if (place == NULL) return;
    size_t n = strlen(STK_VERSION);
    memmove(place + 7 + 1, place + 7 + n, strlen(place + 7 + n) + 1);
    place[7] = 'V';
}

/* The status and text of the first error, the path replaced by NAME and the version by V. */
static void reject_text(const char *name, stk_buffer *out)
{
    const char *path = in_golden("reject", name, "");
    stk_storage *s = NULL;
    stk_status status = stk_storage_open(path, NULL, &s, &error);
    if (status == STK_OK) {
        walk_result r = storage_walk(s, UINT64_MAX);
        CHECK(r.n_errors > 0);
        error = r.first;
        stk_storage_close(&s);
    }
    stk_error found = error;
    hide_version(found.text);
    bool names_path = strncmp(found.text, path, strlen(path)) == 0;
    CHECK(names_path);
    CHECK_OK(stk_buffer_printf(out, &error, "%s: NAME%s\n", stk_status_name(found.status),
                               names_path ? found.text + strlen(path) : found.text));
}

static void check_against_text(const char *verdict, const char *name, const stk_buffer *got)
{
    stk_buffer want = {0};
    CHECK_OK(stk_file_read_all(in_golden(verdict, name, ".txt"), 1 << 22, &want, &error));
    bool same = got->n_bytes == want.n_bytes && memcmp(got->data, want.data, want.n_bytes) == 0;
    if (!same) fprintf(stderr, "%s/%s:\n%.*s", verdict, name, (int)got->n_bytes, (const char *)got->data);
    CHECK(same);
    stk_buffer_free(&want);
}

static void check_all(const char *verdict, void (*text_of)(const char *, stk_buffer *), int at_least)
{
    int n = 0;
    DIR *folder = opendir(in_golden(verdict, "", ""));
    CHECK(folder != NULL);
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || (length > 4 && strcmp(entry->d_name + length - 4, ".txt") == 0))
            continue;
        stk_buffer got = {0};
        text_of(entry->d_name, &got);
        check_against_text(verdict, entry->d_name, &got);
        stk_buffer_free(&got);
        n++;
    }
    if (folder != NULL) closedir(folder);
    printf("     %d files\n", n);
    CHECK(n >= at_least);
}

static void accepted(void)
{
    check_all("accept", accept_text, 5);
}

static void rejected(void)
{
    check_all("reject", reject_text, 20);
}

/* ---- Making them. */

/* Two records, three columns, one table set: what most of the rejected ones are damaged copies of. */
static void small_shard(const char *path, stk_buffer *out)
{
    static const stk_column columns[3] = {
        {.name = "path", .type = STK_TYPE_BYTES, .n_items = 1},
        {.name = "score", .type = STK_TYPE_F32, .n_items = 1, .nullable = true},
        {.name = "brand", .type = STK_TYPE_STRING, .n_items = 1, .dictionary = true}};
    static const uint8_t set[] = "tables", pixels[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    static const float score = 0.5f;
    const uint8_t *const sets[] = {set};
    const size_t set_bytes[] = {sizeof set};
    stk_shard_writer_options options = {.columns = columns,
                                        .n_columns = 3,
                                        .table_sets = sets,
                                        .table_set_bytes = set_bytes,
                                        .n_table_sets = 1};
    stk_shard_writer *w = NULL;
    char id[33];
    unlink(path);
    CHECK_OK(stk_shard_writer_open(path, &options, &w, &error));
    for (int i = 0; i < 2; i++) {
        stk_cell cells[3] = {{.data = i == 0 ? "a/1.png" : "b/2.png", .n_items = 7},
                             {.is_null = i == 1, .data = &score, .n_items = 1},
                             {.data = "acme", .n_items = 4}};
        stk_record r = {.payload = pixels,
                        .n_bytes = sizeof pixels,
                        .xxh3 = stk_hash64(pixels, sizeof pixels),
                        .label = i,
                        .width = 2,
                        .height = 2,
                        .tables = 0,
                        .encoding = STK_ENCODING_RAW,
                        .orientation = 1,
                        .channels = 3,
                        .cells = cells};
        CHECK_OK(stk_shard_writer_add(w, &r, NULL, &error));
    }
    CHECK_OK(stk_shard_writer_finish(w, "{\"classes\":[\"a\",\"b\"]}", id, &error));
    stk_shard_writer_close(&w);
    CHECK_OK(stk_file_read_all(path, 1 << 20, out, &error));
}

static void plain_shard(const char *path, uint64_t n_records)
{
    stk_shard_writer_options options = {0};
    stk_shard_writer *w = NULL;
    char id[33];
    unlink(path);
    CHECK_OK(stk_shard_writer_open(path, &options, &w, &error));
    stk_record r = {.payload = (const uint8_t *)"payload",
                    .n_bytes = 7,
                    .xxh3 = stk_hash64("payload", 7),
                    .label = -1,
                    .width = 640,
                    .height = 480,
                    .encoding = STK_ENCODING_JPEG,
                    .orientation = 6,
                    .channels = 3};
    for (uint64_t i = 0; i < n_records; i++)
        CHECK_OK(stk_shard_writer_add(w, &r, NULL, &error));
    CHECK_OK(stk_shard_writer_finish(w, "{}", id, &error));
    stk_shard_writer_close(&w);
}

static void two_shard_folder(const char *path)
{
    char ids[2][33], id[33], file[1300];
    static const char *const names[2] = {"00000.stk", "00001.stk"};
    stk_folder_shard shards[2];
    mkdir(path, 0755);
    for (uint32_t i = 0; i < 2; i++) {
        struct stat st;
        snprintf(file, sizeof file, "%s/%s", path, names[i]);
        maker_shard(file, 2, 2 * i, 2, ids[i]);
        CHECK_EQ(stat(file, &st), 0);
        shards[i] = (stk_folder_shard){.file = names[i],
                                       .n_records = 2,
                                       .n_bytes = (uint64_t)st.st_size,
                                       .id = ids[i],
                                       .n_table_sets = 2};
    }
    stk_folder_info info = {.shards = shards,
                            .n_shards = 2,
                            .columns = maker_columns,
                            .n_columns = 2,
                            .has_labels = true,
                            .metadata = maker_metadata};
    stk_buffer text = {0};
    CHECK_OK(stk_folder_manifest(&info, &text, id, &error));
    snprintf(file, sizeof file, "%s/%s", path, STK_FOLDER_MANIFEST);
    CHECK_OK(stk_write_file_atomic(file, text.data, text.n_bytes, &error));
    stk_buffer_free(&text);
}

static void put_file(const char *verdict, const char *name, const void *data, size_t n)
{
    CHECK_OK(stk_write_file_atomic(in_golden(verdict, name, ""), data, n, &error));
}

/* A newer writer of the same major version: more minor, compatible bits set. */
static void write_later_minor(const stk_buffer *small)
{
    stk_shard_header h;
    memcpy(&h, small->data, sizeof h);
    h.minor = 7;
    h.compatible = 1u << 9;
    memcpy(small->data, &h, sizeof h);
    shard_fixup(small->data, small->n_bytes);
    put_file("accept", "later_minor.stk", small->data, small->n_bytes);
}

static void write_accepted(void)
{
    char id[33];
    stk_buffer small = {0};
    plain_shard(in_golden("accept", "minimal.stk", ""), 1);
    plain_shard(in_golden("accept", "no_records.stk", ""), 0);
    maker_shard(in_golden("accept", "columns.stk", ""), MAKER_COLUMNS, 0, 5, id);
    two_shard_folder(in_golden("accept", "folder", ""));
    small_shard(temporary("small.stk"), &small);
    write_later_minor(&small);
    stk_buffer_free(&small);
}

/* The small shard with n bytes at `at` replaced; with fix the checksums are made to fit. */
static void put_damaged(const char *name, size_t at, const void *bytes, size_t n, bool fix)
{
    stk_buffer b = {0};
    small_shard(temporary("small.stk"), &b);
    memcpy(b.data + at, bytes, n);
    if (fix) shard_fixup(b.data, b.n_bytes);
    put_file("reject", name, b.data, b.n_bytes);
    stk_buffer_free(&b);
}

/* What FTP in text mode and careless editors do. */
static void put_text_damage(const char *name, const stk_buffer *small, int kind)
{
    stk_buffer b = {0};
    for (size_t i = 0; i < small->n_bytes; i++) {
        uint8_t c = small->data[i];
        if (kind == 0 && c == '\r' && small->data[i + 1] == '\n') continue;
        if (kind == 1 && c == '\n') CHECK_OK(stk_buffer_append(&b, "\r", 1, &error));
        if (kind == 2) c &= 0x7f;
        if (kind == 3 && c >= 0x80) {
            uint8_t lead = (uint8_t)(0xc0 | c >> 6);
            CHECK_OK(stk_buffer_append(&b, &lead, 1, &error));
            c = (uint8_t)(0x80 | (c & 0x3f));
        }
        CHECK_OK(stk_buffer_append(&b, &c, 1, &error));
    }
    put_file("reject", name, b.data, b.n_bytes);
    stk_buffer_free(&b);
}

static void put_header(const char *name, const stk_buffer *small, uint16_t major, uint64_t bits,
                       const char *names)
{
    stk_shard_header h;
    memcpy(&h, small->data, sizeof h);
    h.major = major;
    h.incompatible = bits;
    memcpy(h.incompatible_names, names, strlen(names));
    put_damaged(name, 0, &h, sizeof h, true);
}

static void write_rejected(void)
{
    stk_buffer small = {0}, longer = {0};
    stk_shard_trailer t;
    small_shard(temporary("small.stk"), &small);
    size_t n = small.n_bytes, trailer = n - sizeof t;
    memcpy(&t, small.data + trailer, sizeof t);
    put_text_damage("cr_lf_became_lf.stk", &small, 0);
    put_text_damage("lf_became_cr_lf.stk", &small, 1);
    put_text_damage("seven_bits.stk", &small, 2);
    put_text_damage("latin1_as_utf8.stk", &small, 3);
    put_file("reject", "nothing.stk", "", 0);
    put_file("reject", "jpeg.stk", "\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0", 20);
    put_file("reject", "cut_in_half.stk", small.data, n / 2);
    put_file("reject", "cut_in_header.stk", small.data, 100);
    put_file("reject", "without_trailer.stk", small.data, trailer);
    CHECK_OK(stk_buffer_append(&longer, small.data, n, &error));
    CHECK_OK(stk_buffer_append(&longer, "appended", 8, &error));
    put_file("reject", "appended.stk", longer.data, longer.n_bytes);
    put_header("major_2.stk", &small, 2, 0, "");
    put_header("unknown_feature.stk", &small, 1, 1u << 3, "sparse:0 encryption:3");
    put_header("unnamed_feature.stk", &small, 1, 1ull << 63, "encryption:3");
    put_damaged("header.stk", 40, "\1", 1, false);
    put_damaged("trailer.stk", trailer + 64, "\3", 1, false);
    put_damaged("column_table.stk", t.columns_offset + 49, "A", 1, false);
    put_damaged("metadata.stk", t.metadata_offset + 13, "x", 1, false);
    put_damaged("index.stk", t.index_offset + 20, "\1", 1, false);
    put_damaged("column_index.stk", t.index_offset + 16 + 2 * 48 + 8 + 20, "\1", 1, false);
    put_damaged("string.stk", t.strings_offset + 2, "x", 1, false);
    put_damaged("dictionary.stk", t.strings_offset + 14 + 5, "x", 1, false);
    put_damaged("table_set.stk", 256, "x", 1, false);
    put_damaged("record_header.stk", 320 + 16, "\5", 1, false);
    /* Checksums that fit around things that cannot be. */
    put_damaged("metadata_no_object.stk", t.metadata_offset, "\"a string, no object\"", 21, true);
    put_damaged("too_many_records.stk", trailer + 64, "\3", 1, true);
    put_damaged("row_outside.stk", t.index_offset + 16 + 4, "\1", 1, true);
    put_damaged("raw_size.stk", t.index_offset + 16 + 32, "\3", 1, true);
    put_damaged("sections_overlap.stk", trailer + 16, "\0\0\0\0\0\0\0", 8, true);
    put_damaged("column_type.stk", t.columns_offset + 8, "\x2a", 1, true);
    put_damaged("string_outside.stk", t.index_offset + 16 + 2 * 48 + 8 + 16 + 4, "\1", 1, true);
    two_shard_folder(in_golden("reject", "edited_folder", ""));
    FILE *f = fopen(in_golden("reject", "edited_folder", "/dataset.json"), "r+");
    CHECK(f != NULL && fseek(f, 90, SEEK_SET) == 0 && fputc(' ', f) == ' ' && fclose(f) == 0);
    mkdir(in_golden("reject", "unfinished_folder", ""), 0755);
    plain_shard(in_golden("reject", "unfinished_folder", "/00000.stk"), 1);
    stk_buffer_free(&small);
    stk_buffer_free(&longer);
}

static void write_texts(const char *verdict, void (*text_of)(const char *, stk_buffer *))
{
    DIR *folder = opendir(in_golden(verdict, "", ""));
    struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.' || strstr(entry->d_name, ".txt") != NULL) continue;
        stk_buffer text = {0};
        text_of(entry->d_name, &text);
        CHECK_OK(stk_write_file_atomic(in_golden(verdict, entry->d_name, ".txt"), text.data, text.n_bytes,
                                       &error));
        stk_buffer_free(&text);
    }
    if (folder != NULL) closedir(folder);
}

static void make_folders(void)
{
    if ((mkdir(in_golden("accept", "", ""), 0755) != 0 && errno != EEXIST) ||
        (mkdir(in_golden("reject", "", ""), 0755) != 0 && errno != EEXIST)) {
        perror(golden);
        exit(1);
    }
}

/* Same input, same bytes: today's writer still writes the files of format 1.0. */
static void writer_is_unchanged(void)
{
    char kept[1024];
    memcpy(kept, golden, sizeof kept);
    snprintf(golden, sizeof golden, "%s", temporary(""));
    make_folders();
    write_accepted();
    static const char *const names[] = {"minimal.stk",     "no_records.stk",      "columns.stk",
                                        "later_minor.stk", "folder/dataset.json", "folder/00000.stk",
                                        "folder/00001.stk"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        stk_buffer now = {0}, then = {0};
        char path[2048];
        snprintf(path, sizeof path, "%.1000s/accept/%s", kept, names[i]);
        CHECK_OK(stk_file_read_all(path, 1 << 20, &then, &error));
        CHECK_OK(stk_file_read_all(in_golden("accept", names[i], ""), 1 << 20, &now, &error));
        bool same = now.n_bytes == then.n_bytes && memcmp(now.data, then.data, now.n_bytes) == 0;
        if (!same) fprintf(stderr, "%s: other bytes than in tests/golden\n", names[i]);
        CHECK(same);
        stk_buffer_free(&now);
        stk_buffer_free(&then);
    }
    memcpy(golden, kept, sizeof golden);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--write") == 0) {
        snprintf(golden, sizeof golden, "%s", argv[2]);
        make_folders();
        write_accepted();
        write_rejected();
        write_texts("accept", accept_text);
        write_texts("reject", reject_text);
        return check_exit();
    }
    snprintf(golden, sizeof golden, "%s/tests/golden", STOKER_SOURCE_DIR);
    RUN(accepted);
    RUN(rejected);
    RUN(writer_is_unchanged);
    return check_exit();
}
