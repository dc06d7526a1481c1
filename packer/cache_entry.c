/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/cache_entry.h"

#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/hash.h"
#include "packer/source_history.h"
#include "packer/source_log.h"

enum { MAGIC = 0x434b5453, VERSION = 1 }; /* "STKC" */

/* In front of the texts (action, kind, reason; zero-terminated) and the payload; an XXH3-64 of all ends it.
 */
typedef struct entry_head {
    uint32_t magic, version;
    uint64_t n_payload; /* 0 with payload_is_source */
    uint64_t payload_xxh3;
    uint32_t width, height, tables, flags;
    uint32_t n_text;
    uint8_t fate, encoding, orientation, channels;
    uint8_t has_action, payload_is_source;
    uint8_t zeros[6];
} entry_head;

stk_status stk_cache_entry_write(const stk_product *p, bool payload_is_source, stk_buffer *out,
                                 stk_error *error)
{
    const char *texts[3] = {p->action != NULL ? p->action : "", p->action != NULL ? p->kind : "",
                            p->action != NULL ? p->reason : ""};
    const stk_record *r = &p->record;
    entry_head head = {
        .magic = MAGIC,
        .version = VERSION,
        .n_payload = payload_is_source ? 0 : r->n_bytes,
        .payload_xxh3 = r->xxh3,
        .width = r->width,
        .height = r->height,
        .tables = r->tables,
        .flags = stk_source_log_flags(p),
        .fate = (uint8_t)p->fate,
        .encoding = (uint8_t)r->encoding,
        .orientation = r->orientation,
        .channels = r->channels,
        .has_action = p->action != NULL,
        .payload_is_source = payload_is_source,
    };
    for (int i = 0; i < 3; i++)
        head.n_text += (uint32_t)strlen(texts[i]) + 1;
    size_t begin = out->n_bytes;
    STK_TRY(stk_buffer_append(out, &head, sizeof head, error));
    for (int i = 0; i < 3; i++)
        STK_TRY(stk_buffer_append(out, texts[i], strlen(texts[i]) + 1, error));
    STK_TRY(stk_buffer_append(out, r->payload, (size_t)head.n_payload, error));
    uint64_t check = stk_hash64(out->data + begin, out->n_bytes - begin);
    return stk_buffer_append(out, &check, sizeof check, error);
}

bool stk_cache_entry_sound(const uint8_t *value, size_t n_bytes)
{
    entry_head head;
    uint64_t check;
    if (n_bytes < sizeof head + sizeof check) return false;
    memcpy(&head, value, sizeof head);
    memcpy(&check, value + n_bytes - sizeof check, sizeof check);
    if (head.magic != MAGIC || head.version != VERSION) return false;
    size_t rest = n_bytes - sizeof head - sizeof check;
    if (head.n_text > rest || head.n_payload != rest - head.n_text) return false;
    return stk_hash64(value, n_bytes - sizeof check) == check;
}

/* The three texts; false when they are not three. */
static bool read_texts(const char *text, size_t n, const char *out[3])
{
    for (int i = 0; i < 3; i++) {
        const char *end = memchr(text, 0, n);
        if (end == NULL) return false;
        out[i] = text;
        n -= (size_t)(end + 1 - text);
        text = end + 1;
    }
    return n == 0;
}

bool stk_cache_entry_read(const uint8_t *value, size_t n_bytes, const uint8_t *source, size_t n_source,
                          stk_product *out)
{
    entry_head head;
    const char *texts[3];
    if (!stk_cache_entry_sound(value, n_bytes)) return false;
    memcpy(&head, value, sizeof head);
    if (head.fate > STK_FATE_LEFT_OUT || !read_texts((const char *)value + sizeof head, head.n_text, texts))
        return false;
    stk_history_entry entry = {.fate = (stk_fate)head.fate, .flags = head.flags};
    if (head.has_action) {
        entry.action = stk_history_word(texts[0]);
        entry.kind = stk_history_word(texts[1]);
        entry.reason = texts[2];
        if (entry.action == NULL || entry.kind == NULL) return false;
    }
    stk_history_product(&entry, out);
    out->record = (stk_record){
        .payload = head.payload_is_source ? source : value + sizeof head + head.n_text,
        .n_bytes = head.payload_is_source ? n_source : (size_t)head.n_payload,
        .xxh3 = head.payload_xxh3,
        .label = -1,
        .width = head.width,
        .height = head.height,
        .tables = head.tables,
        .encoding = (stk_encoding)head.encoding,
        .orientation = head.orientation,
        .channels = head.channels,
    };
    return true;
}
