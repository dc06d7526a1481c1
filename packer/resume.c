/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/resume.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/file.h"
#include "packer/previous.h"
#include "packer/team.h"

#define MAX_BYTES ((uint64_t)16 << 30)

/* The line that begins at *at, which moves behind it; false when none ends there. */
static bool next_line(const stk_buffer *text, size_t *at, const char **line, size_t *n)
{
    const char *begin = (const char *)text->data + *at;
    const char *end = *at < text->n_bytes ? memchr(begin, '\n', text->n_bytes - *at) : NULL;
    if (end == NULL) return false;
    *line = begin;
    *n = (size_t)(end - begin);
    *at += *n + 1;
    return true;
}

static bool is_line(const char *line, size_t n, const char *word, const char *rest)
{
    size_t m = strlen(word), k = strlen(rest);
    return n == m + k && memcmp(line, word, m) == 0 && memcmp(line + m, rest, k) == 0;
}

static stk_status find_lines(stk_resume *r, size_t at, stk_error *error)
{
    uint64_t capacity = 0;
    const char *line;
    size_t n;
    for (size_t begin = at; next_line(&r->text, &at, &line, &n); begin = at) {
        if (n > 8 && memcmp(line, "dataset ", 8) == 0) break; /* all was noted */
        if (r->n_lines == capacity) {
            capacity = capacity + capacity / 2 + 1024;
            uint64_t *lines = realloc(r->lines, (size_t)capacity * sizeof *lines);
            if (lines == NULL) return stk_fail_memory(error, "the killed run's list");
            r->lines = lines;
        }
        r->lines[r->n_lines++] = begin;
    }
    return STK_OK;
}

stk_status stk_resume_read(const char *path, const char *recipe, stk_resume *out, stk_error *error)
{
    *out = (stk_resume){0};
    stk_status status = stk_file_read_all(path, MAX_BYTES, &out->text, NULL);
    if (status == STK_ERR_MEMORY) return stk_fail_memory(error, "the killed run's list");
    size_t at = 0, n;
    const char *line;
    if (status != STK_OK || !next_line(&out->text, &at, &line, &n) ||
        !is_line(line, n, "stoker-sources ", "1") || !next_line(&out->text, &at, &line, &n) ||
        !is_line(line, n, "recipe ", recipe))
        return STK_OK;
    return find_lines(out, at, error);
}

void stk_resume_free(stk_resume *resume)
{
    stk_buffer_free(&resume->text);
    free(resume->lines);
    *resume = (stk_resume){0};
}

static bool parse_line(const stk_resume *r, uint64_t i, stk_buffer *scratch, stk_history_entry *out)
{
    size_t at = (size_t)r->lines[i], n;
    const char *line;
    return next_line(&r->text, &at, &line, &n) && stk_history_parse(line, n, scratch, out);
}

bool stk_resume_product(const stk_resume *resume, uint64_t i, stk_buffer *scratch, stk_product *out)
{
    stk_history_entry entry;
    if (!parse_line(resume, i, scratch, &entry)) return false;
    stk_history_product(&entry, out);
    return true;
}

/* ---- Looking at the sources again. */

typedef struct check_job {
    stk_resume *resume;
    const stk_pipeline *pipeline;
    stk_recipe recipe; /* the pipeline's, without a previous output or a cache: what is made must come from
                          the source */
    pthread_mutex_t lock;
    uint64_t next; /* line */
    uint64_t first_changed;
    stk_status status;
    stk_error *error;
} check_job;

/* Does making the entry's product lead to the same end? Asked only of entries that gave no record. */
static stk_status comes_out_alike(stk_record_maker *maker, const stk_source *source,
                                  const stk_history_entry *entry, bool *alike, stk_error *error)
{
    stk_product product;
    STK_TRY(stk_record_make(maker, source, &product, error));
    const char *a = product.kind, *b = entry->kind;
    *alike = product.fate == entry->fate && product.fate != STK_FATE_RECORD &&
             (product.action == NULL) == (entry->action == NULL) &&
             (a == NULL || b == NULL ? a == b : strcmp(a, b) == 0);
    return STK_OK;
}

static stk_status still_holds(check_job *job, stk_record_maker *maker, uint64_t i, bool *holds,
                              stk_error *error)
{
    const stk_pipeline *p = job->pipeline;
    stk_source source;
    stk_history_entry entry;
    char path[PATH_MAX];
    int64_t mtime_ns;
    *holds = false;
    if (p->first + i >= p->end) return STK_OK;
    stk_source_at(p->sources, p->shuffle, p->first + i, &source);
    if (stk_source_path(p->sources, &source, path, sizeof path) >= sizeof path) return STK_OK;
    if (!parse_line(job->resume, i, &maker->scratch, &entry) || strcmp(entry.path, path) != 0) return STK_OK;
    if (source.state == STK_SOURCE_FILE)
        STK_TRY(stk_source_unchanged(&maker->reader, &source, &entry, p->recipe->options, holds, &mtime_ns,
                                     error));
    if (entry.fate == STK_FATE_RECORD) return STK_OK;
    /* Why there was no record may have gone away without a trace in the file (a permission, say). */
    if (*holds && (entry.fate == STK_FATE_IGNORED ? entry.action == NULL : entry.has_xxh3)) return STK_OK;
    return comes_out_alike(maker, &source, &entry, holds, error);
}

static bool take_lines(check_job *job, uint64_t *first, uint64_t *n)
{
    enum { BLOCK = 256 };
    pthread_mutex_lock(&job->lock);
    uint64_t end = job->status == STK_OK ? job->first_changed : 0;
    *first = job->next;
    *n = *first >= end ? 0 : end - *first < BLOCK ? end - *first : BLOCK;
    job->next += *n;
    pthread_mutex_unlock(&job->lock);
    return *n > 0;
}

static void note_result(check_job *job, uint64_t i, stk_status status, const stk_error *error)
{
    pthread_mutex_lock(&job->lock);
    if (status != STK_OK && job->status == STK_OK) {
        job->status = status;
        if (job->error != NULL) *job->error = *error;
    }
    if (i < job->first_changed) job->first_changed = i;
    pthread_mutex_unlock(&job->lock);
}

static void check_thread(void *user, uint32_t thread)
{
    (void)thread;
    check_job *job = user;
    stk_record_maker maker;
    stk_error error;
    stk_status status = stk_record_maker_open(&job->recipe, job->pipeline->sources, &maker, &error);
    if (status != STK_OK) {
        note_result(job, 0, status, &error);
        return;
    }
    uint64_t first, n;
    while (take_lines(job, &first, &n)) {
        bool holds = true;
        for (uint64_t i = first; i < first + n && holds; i++) {
            status = still_holds(job, &maker, i, &holds, &error);
            if (status != STK_OK || !holds) note_result(job, i, status, &error);
            if (status != STK_OK) break;
        }
    }
    stk_record_maker_close(&maker);
}

stk_status stk_resume_check(stk_resume *resume, const stk_pipeline *pipeline, stk_error *error)
{
    check_job job = {.resume = resume,
                     .pipeline = pipeline,
                     .recipe = *pipeline->recipe,
                     .lock = PTHREAD_MUTEX_INITIALIZER,
                     .first_changed = resume->n_lines,
                     .error = error};
    job.recipe.previous = NULL;
    job.recipe.cache = NULL;
    stk_team_run(pipeline->n_threads, check_thread, &job);
    if (job.status != STK_OK) return job.status;
    resume->n_lines = job.first_changed;
    resume->n_records = 0;
    stk_buffer scratch = {0};
    stk_product product;
    for (uint64_t i = 0; i < resume->n_lines; i++)
        if (stk_resume_product(resume, i, &scratch, &product))
            resume->n_records += product.fate == STK_FATE_RECORD;
    stk_buffer_free(&scratch);
    return STK_OK;
}
