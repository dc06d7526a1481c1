/* SPDX-License-Identifier: Apache-2.0 */
#include "reader/loader_state.h"

#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "common/fail.h"
#include "common/json.h"

enum { STATE_VERSION = 1 };

stk_status stk_state_write(const stk_state_identity *id, stk_place place, char *text, stk_error *error)
{
    stk_buffer out = {0};
    char selection[17];
    snprintf(selection, sizeof selection, "%016llx", (unsigned long long)id->selection);
    stk_json_writer w = stk_jw_begin(&out, error);
    stk_jw_object(&w);
    stk_jw_key(&w, "version");
    stk_jw_u64(&w, STATE_VERSION);
    stk_jw_key(&w, "dataset");
    stk_jw_string(&w, id->dataset_id);
    stk_jw_key(&w, "order");
    stk_jw_string(&w, id->order);
    stk_jw_key(&w, "order_version");
    stk_jw_u64(&w, id->order_version);
    stk_jw_key(&w, "selection");
    stk_jw_string(&w, selection);
    stk_jw_key(&w, "length");
    stk_jw_u64(&w, id->length);
    stk_jw_key(&w, "seed");
    stk_jw_u64(&w, id->seed);
    stk_jw_key(&w, "epoch");
    stk_jw_u64(&w, place.epoch);
    stk_jw_key(&w, "cursor");
    stk_jw_u64(&w, place.cursor);
    stk_jw_end_object(&w);
    stk_status status = stk_jw_end(&w);
    if (status == STK_OK && out.n_bytes >= STK_STATE_BYTES)
        status = stk_fail(error, STK_ERR_INTERNAL, "the state takes %zu bytes", out.n_bytes);
    if (status == STK_OK) {
        memcpy(text, out.data, out.n_bytes);
        text[out.n_bytes] = '\0';
    }
    stk_buffer_free(&out);
    return status;
}

static stk_status not_a_state(const char *key, stk_error *error)
{
    return stk_fail(error, STK_ERR_ARGUMENT, "this is not a loader's state: \"%s\" is missing or not as expected",
                    key);
}

static stk_status get_u64(const stk_json *state, const char *key, uint64_t *out, stk_error *error)
{
    return stk_json_u64(stk_json_get(state, key), out) ? STK_OK : not_a_state(key, error);
}

static stk_status expect_text(const stk_json *state, const char *key, const char *want, const char *what,
                              stk_error *error)
{
    const char *got = stk_json_string(stk_json_get(state, key), NULL);
    if (got == NULL) return not_a_state(key, error);
    if (strcmp(got, want) == 0) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "the state belongs to another %s (%.64s, here %.64s)", what, got,
                    want);
}

static stk_status expect_u64(const stk_json *state, const char *key, uint64_t want, const char *what,
                             stk_error *error)
{
    uint64_t got;
    STK_TRY(get_u64(state, key, &got, error));
    if (got == want) return STK_OK;
    return stk_fail(error, STK_ERR_ARGUMENT, "the state belongs to another %s (%llu, here %llu)", what,
                    (unsigned long long)got, (unsigned long long)want);
}

static stk_status check_and_take(const stk_state_identity *id, const stk_json *state, stk_place *place,
                                 stk_error *error)
{
    char selection[17];
    uint64_t version;
    snprintf(selection, sizeof selection, "%016llx", (unsigned long long)id->selection);
    STK_TRY(get_u64(state, "version", &version, error));
    if (version != STATE_VERSION)
        return stk_fail(error, STK_ERR_VERSION, "the state has version %llu, this stoker reads %d",
                        (unsigned long long)version, STATE_VERSION);
    STK_TRY(expect_text(state, "dataset", id->dataset_id, "data set", error));
    STK_TRY(expect_text(state, "order", id->order, "order", error));
    STK_TRY(expect_u64(state, "order_version", id->order_version, "version of this order", error));
    STK_TRY(expect_u64(state, "seed", id->seed, "seed", error));
    STK_TRY(expect_u64(state, "length", id->length, "number of samples an epoch", error));
    STK_TRY(expect_text(state, "selection", selection, "subset, weights, repeats or page window", error));
    STK_TRY(get_u64(state, "epoch", &place->epoch, error));
    STK_TRY(get_u64(state, "cursor", &place->cursor, error));
    return place->cursor <= id->length ? STK_OK : not_a_state("cursor", error);
}

stk_status stk_state_read(const stk_state_identity *id, const char *text, stk_place *place, stk_error *error)
{
    stk_json *state = NULL;
    stk_status status = stk_json_parse(text, strnlen(text, STK_STATE_BYTES * 4), &state, error);
    if (status != STK_OK) {
        stk_fail_prefix(error, "this is not a loader's state: ");
        return status;
    }
    status = check_and_take(id, state, place, error);
    stk_json_close(&state);
    return status;
}
