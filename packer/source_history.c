/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/source_history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/file.h"
#include "common/hash.h"
#include "packer/source_log.h"

#define MAX_BYTES ((uint64_t)16 << 30)
enum { OFFSET_BITS = 40 };

const char *stk_history_word(const char *word)
{
    static const char *const WORDS[] = {
        "skipped",     "kept",      "missing", "ignored",      "quarantined", "unreadable",
        "unsupported", "too-large", "empty",   "not-an-image", "io",          "ambiguous",
        "outside",     "folder",    "loop",    "no-class",     "extraneous",  "truncated",
        "entropy",     "checksum",  "header",  "overflow",     "other",
    };
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (strcmp(WORDS[i], word) == 0) return WORDS[i];
    return NULL;
}

/* Copies a field into the scratch, unescaped and zero-terminated; the scratch has room. */
static char *put_field(char *to, const char *field, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (field[i] != '\\' || i + 1 == n) {
            *to++ = field[i];
            continue;
        }
        char c = field[++i];
        *to++ = c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    }
    *to++ = '\0';
    return to;
}

static bool read_decimal(const char *text, uint64_t *out)
{
    uint64_t v = 0;
    if (*text == '\0') return false;
    for (; *text != '\0'; text++) {
        if (*text < '0' || *text > '9' || __builtin_mul_overflow(v, (uint64_t)10, &v) ||
            __builtin_add_overflow(v, (uint64_t)(*text - '0'), &v))
            return false;
    }
    *out = v;
    return true;
}

static bool read_hex(const char *text, uint64_t *out)
{
    uint64_t v = 0;
    size_t n = strlen(text);
    if (n == 0 || n > 16) return false;
    for (; *text != '\0'; text++) {
        int digit = *text >= '0' && *text <= '9'   ? *text - '0'
                    : *text >= 'a' && *text <= 'f' ? *text - 'a' + 10
                                                   : -1;
        if (digit < 0) return false;
        v = v << 4 | (uint64_t)digit;
    }
    *out = v;
    return true;
}

static bool read_mtime(const char *text, int64_t *out)
{
    uint64_t v = 0;
    bool negative = *text == '-';
    if (!read_decimal(text + negative, &v) || v > INT64_MAX) return false;
    *out = negative ? -(int64_t)v : (int64_t)v;
    return true;
}

static bool read_outcome(const char *text, stk_history_entry *out)
{
    out->fate = strcmp(text, "-") == 0   ? STK_FATE_LEFT_OUT
                : strcmp(text, ".") == 0 ? STK_FATE_IGNORED
                                         : STK_FATE_RECORD;
    return out->fate != STK_FATE_RECORD || read_decimal(text, &out->record);
}

bool stk_history_parse(const char *line, size_t n_bytes, stk_buffer *scratch, stk_history_entry *out)
{
    enum { LEAST = 6, MOST = 9 };
    const char *fields[MOST];
    int n = 0;
    if (stk_buffer_reserve(scratch, n_bytes + MOST + 1, NULL) != STK_OK) return false;
    char *to = (char *)scratch->data;
    const char *end = line + n_bytes;
    for (const char *at = line; n < MOST;) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        const char *stop = tab != NULL ? tab : end;
        fields[n++] = to;
        to = put_field(to, at, (size_t)(stop - at));
        if (tab == NULL) break;
        if (n == MOST) return false;
        at = tab + 1;
    }
    if (n != LEAST && n != MOST) return false;
    *out = (stk_history_entry){.path = fields[5]};
    uint64_t flags = 0;
    if (!read_decimal(fields[0], &out->size) || !read_mtime(fields[1], &out->mtime_ns)) return false;
    out->has_xxh3 = strcmp(fields[2], "-") != 0;
    if (out->has_xxh3 && !read_hex(fields[2], &out->xxh3)) return false;
    if (!read_outcome(fields[3], out) || !read_hex(fields[4], &flags)) return false;
    out->flags = (uint32_t)flags;
    if (n == LEAST) return true;
    out->action = stk_history_word(fields[6]);
    out->kind = stk_history_word(fields[7]);
    out->reason = fields[8];
    return out->action != NULL && out->kind != NULL;
}

void stk_history_product(const stk_history_entry *entry, stk_product *out)
{
    *out = (stk_product){
        .fate = entry->fate,
        .action = entry->action,
        .kind = entry->kind,
        .bad = (entry->flags & STK_LOG_BAD) != 0,
        .missing = (entry->flags & STK_LOG_MISSING) != 0,
        .failure = entry->fate != STK_FATE_LEFT_OUT       ? STK_OK
                   : (entry->flags & STK_LOG_DAMAGE) != 0 ? STK_ERR_DAMAGED
                                                          : STK_ERR_IMAGE,
        .damage = entry->flags & STK_LOG_DAMAGE,
        .reencoded = (entry->flags & STK_LOG_REENCODED) != 0,
        .resampled = (entry->flags & STK_LOG_RESAMPLED) != 0,
        .verbatim_jpeg = (entry->flags & STK_LOG_VERBATIM) != 0,
        .hint = (entry->flags & STK_LOG_HINT) != 0,
        .source_bytes = entry->size,
        .source_mtime_ns = entry->mtime_ns,
        .source_xxh3 = entry->xxh3,
        .source_read = entry->has_xxh3,
    };
    if (entry->action != NULL) snprintf(out->reason, sizeof out->reason, "%s", entry->reason);
}

/* ---- A whole file. */

static bool next_line(const stk_history *h, size_t *at, const char **line, size_t *n)
{
    const char *text = (const char *)h->text.data;
    const char *end = *at < h->text.n_bytes ? memchr(text + *at, '\n', h->text.n_bytes - *at) : NULL;
    if (end == NULL) return false;
    *line = text + *at;
    *n = (size_t)(end - *line);
    *at += *n + 1;
    return true;
}

/* Path part of a file line, still escaped. */
static const char *line_path(const char *line, size_t n, size_t *n_path)
{
    const char *end = line + n, *at = line;
    for (int i = 0; i < 5; i++) {
        at = memchr(at, '\t', (size_t)(end - at));
        if (at == NULL) return NULL;
        at++;
    }
    const char *tab = memchr(at, '\t', (size_t)(end - at));
    *n_path = (size_t)((tab != NULL ? tab : end) - at);
    return at;
}

/* Escaped paths are compared: the same path has one escaped form. */
static stk_status index_lines(stk_history *h, stk_error *error)
{
    h->n_slots = 64;
    while (h->n_slots < 2 * h->n_lines)
        h->n_slots *= 2;
    h->slots = calloc(h->n_slots, sizeof *h->slots);
    if (h->slots == NULL) return stk_fail_memory(error, "the index of earlier sources");
    size_t at = h->first_line, n, n_path;
    const char *line;
    for (uint64_t i = 0; i < h->n_lines; i++) {
        size_t begin = at;
        if (!next_line(h, &at, &line, &n)) break;
        if (n > h->longest) h->longest = n;
        const char *path = line_path(line, n, &n_path);
        if (path == NULL) continue;
        uint64_t hash = stk_hash64(path, n_path);
        size_t slot = (size_t)hash & (h->n_slots - 1);
        while (h->slots[slot] != 0)
            slot = (slot + 1) & (h->n_slots - 1);
        h->slots[slot] = hash >> OFFSET_BITS << OFFSET_BITS | begin;
    }
    return STK_OK;
}

static stk_status broken(const char *path, const char *what, stk_error *error)
{
    return stk_fail(error, STK_ERR_CORRUPT, "%s: %s", path, what);
}

/* The last line: "end <lines> <xxh3>". */
static stk_status check_end(stk_history *h, const char *path, stk_error *error)
{
    const char *text = (const char *)h->text.data;
    size_t n = h->text.n_bytes;
    if (n < 2 || text[n - 1] != '\n') return broken(path, "has no end", error);
    const char *last = memrchr(text, '\n', n - 1);
    unsigned long long lines, xxh3;
    int used = 0;
    if (last == NULL || sscanf(last + 1, "end %llu %16llx%n", &lines, &xxh3, &used) != 2)
        return broken(path, "has no end", error);
    size_t covered = (size_t)(last + 1 - text);
    if (stk_hash64(text, covered) != xxh3) return broken(path, "does not match its checksum", error);
    h->n_lines = lines;
    h->text.n_bytes = covered;
    return STK_OK;
}

/* Ends the line in place and returns what stands behind its first word. */
static char *named_line(stk_history *h, size_t *at, const char *word)
{
    const char *line;
    size_t n, m = strlen(word);
    if (!next_line(h, at, &line, &n) || n < m || memcmp(line, word, m) != 0) return NULL;
    char *text = (char *)h->text.data + (line - (const char *)h->text.data);
    text[n] = '\0';
    return text + m;
}

static stk_status read_frame(stk_history *h, const char *path, stk_error *error)
{
    STK_TRY(check_end(h, path, error));
    size_t at = 0;
    char *version = named_line(h, &at, "stoker-sources ");
    if (version == NULL || strcmp(version, "1") != 0) return broken(path, "is of another version", error);
    h->recipe = named_line(h, &at, "recipe ");
    if (h->recipe == NULL) return broken(path, "names no parameters", error);
    h->first_line = at;
    char *text = (char *)h->text.data;
    char *last = h->text.n_bytes > at ? memrchr(text + at - 1, '\n', h->text.n_bytes - at) : NULL;
    size_t id_at = last != NULL ? (size_t)(last + 1 - text) : at;
    size_t n_files_end = id_at;
    h->dataset_id = named_line(h, &id_at, "dataset ");
    if (h->dataset_id == NULL) return broken(path, "names no data set", error);
    h->text.n_bytes = n_files_end;
    return STK_OK;
}

stk_status stk_history_open(const char *path, stk_history *out, stk_error *error)
{
    *out = (stk_history){0};
    stk_status status = STK_OK;
    STK_GOTO(stk_file_read_all(path, MAX_BYTES, &out->text, error));
    STK_GOTO(read_frame(out, path, error));
    STK_GOTO(index_lines(out, error));
cleanup:
    if (status != STK_OK) stk_history_close(out);
    return status;
}

void stk_history_close(stk_history *history)
{
    stk_buffer_free(&history->text);
    free(history->slots);
    *history = (stk_history){0};
}

/* What a parsed line takes: its bytes, and zeros behind its fields. */
enum { FIELDS_ROOM = 16 };

stk_status stk_history_room(const stk_history *h, stk_buffer *scratch, stk_error *error)
{
    return stk_buffer_reserve(scratch, h->longest + FIELDS_ROOM, error);
}

bool stk_history_next(const stk_history *h, size_t *at, stk_buffer *scratch, stk_history_entry *out)
{
    const char *line;
    size_t n;
    return next_line(h, at, &line, &n) && stk_history_parse(line, n, scratch, out);
}

bool stk_history_find(const stk_history *h, const char *path, stk_buffer *scratch, stk_history_entry *out)
{
    if (h->n_slots == 0) return false;
    if (stk_buffer_reserve(scratch, 2 * strlen(path) + 1, NULL) != STK_OK) return false;
    char *escaped = (char *)scratch->data;
    size_t n_escaped = (size_t)(stk_source_log_escape(escaped, path) - escaped);
    uint64_t hash = stk_hash64(escaped, n_escaped);
    for (size_t slot = (size_t)hash & (h->n_slots - 1); h->slots[slot] != 0;
         slot = (slot + 1) & (h->n_slots - 1)) {
        if (h->slots[slot] >> OFFSET_BITS != hash >> OFFSET_BITS) continue;
        size_t at = (size_t)(h->slots[slot] & (((uint64_t)1 << OFFSET_BITS) - 1)), n, n_path;
        const char *line;
        if (!next_line(h, &at, &line, &n)) return false;
        const char *found = line_path(line, n, &n_path);
        if (found == NULL || n_path != n_escaped || memcmp(found, escaped, n_path) != 0) continue;
        return stk_history_parse(line, n, scratch, out);
    }
    return false;
}
