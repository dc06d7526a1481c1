/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/source_log.h"

#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/hash.h"
#include "packer/source_history.h"

stk_status stk_source_log_begin(stk_text_file *log, const char *recipe, stk_error *error)
{
    return stk_buffer_printf(&log->pending, error, "stoker-sources 1\nrecipe %s\n", recipe);
}

/* This runs for every file, 100,000 a second and more: numbers are written by hand, not by printf. */
static char *put_decimal(char *to, uint64_t value)
{
    char digits[20];
    int n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    while (n > 0)
        *to++ = digits[--n];
    return to;
}

static char *put_hex(char *to, uint64_t value, int width)
{
    for (int shift = 4 * (width - 1); shift >= 0; shift -= 4)
        *to++ = "0123456789abcdef"[value >> shift & 15];
    return to;
}

char *stk_source_log_escape(char *to, const char *text)
{
    for (; *text != '\0'; text++) {
        const char *special = strchr("\\\t\n\r", *text);
        if (special == NULL) {
            *to++ = *text;
            continue;
        }
        *to++ = '\\';
        *to++ = "\\tnr"[special - "\\\t\n\r"];
    }
    return to;
}

uint32_t stk_source_log_flags(const stk_product *p)
{
    return (p->damage & STK_LOG_DAMAGE) | (p->reencoded ? STK_LOG_REENCODED : 0u) |
           (p->verbatim_jpeg ? STK_LOG_VERBATIM : 0u) | (p->hint ? STK_LOG_HINT : 0u) |
           (p->bad ? STK_LOG_BAD : 0u) | (p->missing ? STK_LOG_MISSING : 0u) |
           (p->resampled ? STK_LOG_RESAMPLED : 0u);
}

stk_status stk_source_log_add(stk_text_file *log, const char *path, const stk_product *p, uint64_t record,
                              int64_t trusted_ns, stk_error *error)
{
    stk_buffer *pending = &log->pending;
    size_t n_reason = p->action != NULL ? strlen(p->reason) : 0;
    STK_TRY(stk_buffer_reserve(pending, pending->n_bytes + 200 + 2 * (strlen(path) + n_reason), error));
    char *begin = (char *)pending->data + pending->n_bytes, *to = begin;
    to = put_decimal(to, p->source_bytes);
    *to++ = '\t';
    int64_t mtime = p->source_mtime_ns < trusted_ns ? p->source_mtime_ns : 0;
    if (mtime < 0) *to++ = '-';
    to = put_decimal(to, mtime < 0 ? 0 - (uint64_t)mtime : (uint64_t)mtime);
    *to++ = '\t';
    if (p->source_read)
        to = put_hex(to, p->source_xxh3, 16);
    else
        *to++ = '-';
    *to++ = '\t';
    if (p->fate == STK_FATE_RECORD)
        to = put_decimal(to, record);
    else
        *to++ = p->fate == STK_FATE_LEFT_OUT ? '-' : '.';
    *to++ = '\t';
    to = put_hex(to, stk_source_log_flags(p), 6);
    *to++ = '\t';
    to = stk_source_log_escape(to, path);
    if (p->action != NULL) {
        *to++ = '\t';
        to = stpcpy(to, p->action);
        *to++ = '\t';
        to = stpcpy(to, p->kind);
        *to++ = '\t';
        to = stk_source_log_escape(to, p->reason);
    }
    *to++ = '\n';
    pending->n_bytes += (size_t)(to - begin);
    return stk_text_file_flow(log, error);
}

static stk_status add_lines(const stk_history *h, stk_buffer *out, stk_error *error)
{
    return stk_buffer_append(out, h->text.data + h->first_line, h->text.n_bytes - h->first_line, error);
}

stk_status stk_source_log_frame(const stk_history *h, const stk_history *behind, const char *dataset_id,
                                stk_buffer *out, stk_error *error)
{
    uint64_t n_lines = h->n_lines + (behind != NULL ? behind->n_lines : 0);
    out->n_bytes = 0;
    STK_TRY(stk_buffer_printf(out, error, "stoker-sources 1\nrecipe %s\n", h->recipe));
    STK_TRY(add_lines(h, out, error));
    if (behind != NULL) STK_TRY(add_lines(behind, out, error));
    STK_TRY(stk_buffer_printf(out, error, "dataset %s\n", dataset_id));
    uint64_t xxh3 = stk_hash64(out->data, out->n_bytes);
    return stk_buffer_printf(out, error, "end %llu %016llx\n", (unsigned long long)n_lines,
                             (unsigned long long)xxh3);
}

stk_status stk_source_log_end(stk_text_file *log, const char *dataset_id, uint64_t n_files, stk_error *error)
{
    uint64_t xxh3 = 0;
    STK_TRY(stk_buffer_printf(&log->pending, error, "dataset %s\n", dataset_id));
    STK_TRY(stk_text_file_checksum(log, &xxh3, error));
    STK_TRY(stk_buffer_printf(&log->pending, error, "end %llu %016llx\n", (unsigned long long)n_files,
                              (unsigned long long)xxh3));
    return stk_text_file_finish(log, error);
}
