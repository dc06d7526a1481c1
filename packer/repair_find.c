/* SPDX-License-Identifier: Apache-2.0 */
#include "packer/repair_find.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/hash.h"

void stk_patients_free(stk_patients *p)
{
    for (size_t i = 0; i < p->n; i++) free(p->items[i].path);
    free(p->items);
    *p = (stk_patients){0};
}

static stk_status add(stk_patients *p, const stk_patient *patient, stk_error *error)
{
    if (p->n == p->capacity) {
        size_t capacity = p->capacity == 0 ? 16 : p->capacity * 2;
        stk_patient *items = realloc(p->items, capacity * sizeof *items);
        if (items == NULL) return stk_fail_memory(error, "the list of damaged records");
        p->items = items;
        p->capacity = capacity;
    }
    p->items[p->n++] = *patient;
    return STK_OK;
}

/* The first finding of the shard's own check, all of which are outside the records. */
static void note_structure(void *user, const stk_storage_issue *issue)
{
    stk_error *first = user;
    if (first->status == STK_OK) stk_fail(first, STK_ERR_CORRUPT, "%s", issue->reason);
}

static stk_status check_structure(stk_storage *shard, stk_error *error)
{
    stk_error first = {.status = STK_OK};
    STK_TRY(shard->ops->check(shard, note_structure, &first, error));
    if (first.status == STK_OK) return STK_OK;
    return stk_fail(error, STK_ERR_CORRUPT,
                    "%s; only records can be repaired: pack the sources again (--force), or take the whole records and "
                    "their labels out of the shard: stoker export --salvage FILE OUT.tar",
                    first.text);
}

static void set_wrong(stk_patient *p, const char *text)
{
    snprintf(p->wrong, sizeof p->wrong, "%s", text);
}

/* Reads the payload and says what is wrong with it; *fine: nothing. */
static stk_status look_at_payload(stk_storage *shard, stk_patient *p, stk_buffer *payload, bool *fine,
                                  stk_error *error)
{
    stk_file file;
    uint64_t n_file;
    *fine = false;
    STK_TRY(stk_buffer_resize(payload, (size_t)p->row.n_bytes, error));
    STK_TRY(shard->ops->file(shard, 0, &file, &n_file, error));
    if (stk_file_read_at(&file, payload->data, payload->n_bytes, p->row.offset, NULL) != STK_OK)
        set_wrong(p, "its bytes cannot be read");
    else if (stk_hash64(payload->data, payload->n_bytes) != p->row.xxh3)
        set_wrong(p, "the payload does not match its checksum");
    else
        *fine = true;
    p->payload_lost = !*fine;
    if ((p->row.encoding & STK_ENCODING_DEAD) == 0) return STK_OK;
    set_wrong(p, "was marked dead");
    *fine = false;
    return STK_OK;
}

static stk_status look_at(stk_storage *shard, stk_patient *p, stk_buffer *payload, bool *fine, stk_error *error)
{
    STK_TRY(shard->ops->row(shard, p->local, &p->row, error));
    STK_TRY(look_at_payload(shard, p, payload, fine, error));
    if (!*fine) return STK_OK;
    stk_status status = shard->ops->check_record(shard, p->local, NULL);
    if (status == STK_ERR_MEMORY) return stk_fail_memory(error, "a record");
    if (status == STK_OK) return STK_OK;
    *fine = false;
    set_wrong(p, "the header before it is damaged");
    return STK_OK;
}

stk_status stk_repair_find(stk_storage *shard, uint32_t number, uint64_t first, stk_find_progress *progress,
                           stk_patients *out, stk_error *error)
{
    stk_buffer payload = {0};
    stk_status status = STK_OK;
    STK_GOTO(check_structure(shard, error));
    for (uint64_t i = 0; i < shard->n_rows; i++) {
        stk_patient p = {.local = i, .record = first + i, .shard = number, .position = UINT64_MAX};
        bool fine;
        STK_GOTO(look_at(shard, &p, &payload, &fine, error));
        if (!fine) STK_GOTO(add(out, &p, error));
        progress->records++;
        progress->bytes += p.row.n_bytes;
        if (progress->tick != NULL && !progress->tick(progress->user, progress->records, progress->bytes)) {
            status = stk_fail(error, STK_ERR_CANCELLED, "cancelled");
            goto cleanup;
        }
    }
cleanup:
    stk_buffer_free(&payload);
    return status;
}
