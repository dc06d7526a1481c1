/* SPDX-License-Identifier: Apache-2.0 */
#include "staging/stage_choice.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* What is not worth the trouble: a copy of less than this part of the data set. */
enum { LEAST_PART = 50 };

static double gb(uint64_t n_bytes) { return (double)n_bytes / 1e9; }

/* "11.2 GB", "2.1 MB". */
typedef struct amount {
    char text[24];
} amount;
static amount say_bytes(uint64_t n_bytes)
{
    amount a;
    bool small = n_bytes < 95000000;
    snprintf(a.text, sizeof a.text, "%.1f %s", (double)n_bytes / (small ? 1e6 : 1e9), small ? "MB" : "GB");
    return a;
}

/* "11.2 of 38.0 GB", "2.1 MB of 38.0 GB". */
static amount say_of(uint64_t part, uint64_t whole)
{
    amount a, b = say_bytes(part), c = say_bytes(whole);
    bool same = strcmp(strchr(b.text, ' '), strchr(c.text, ' ')) == 0;
    if (same) *strchr(b.text, ' ') = '\0';
    snprintf(a.text, sizeof a.text, "%.10s of %.9s", b.text, c.text);
    return a;
}

static void say(char *reason, const char *format, ...) STK_PRINTF(2, 3);
static void say(char *reason, const char *format, ...)
{
    size_t used = strlen(reason);
    va_list args;
    va_start(args, format);
    vsnprintf(reason + used, STK_STAGE_TEXT - used, format, args);
    va_end(args);
}

/* How fast reading from there is, as a rank; memory 0. */
static int rank(stk_place_kind kind)
{
    switch (kind) {
    case STK_PLACE_MEMORY: return 0;
    case STK_PLACE_DISK: return 1;
    case STK_PLACE_OVERLAY: return 2;
    case STK_PLACE_NETWORK:
    case STK_PLACE_UNKNOWN: break;
    }
    return 3;
}

static uint64_t room_for(const stk_place *p, const stk_stage_wish *wish, int i)
{
    uint64_t room = p->room_bytes + wish->already[i];
    return room > wish->beside ? room - wish->beside : 0;
}

/* Whether reading from the place would be faster than from the source. */
static bool is_faster(const stk_place *p, const stk_stage_wish *wish)
{
    if (p->device == wish->source_device && rank(p->kind) >= rank(wish->source_kind)) return false;
    return rank(p->kind) < rank(wish->source_kind);
}

/* Better than best? Room for all first, then kind, then room. */
static bool is_better(const stk_place *places, int i, int best, const stk_stage_wish *wish)
{
    if (best < 0) return true;
    const stk_place *a = &places[i], *b = &places[best];
    bool all_a = room_for(a, wish, i) >= wish->n_bytes, all_b = room_for(b, wish, best) >= wish->n_bytes;
    if (all_a != all_b) return all_a;
    if (!all_a && room_for(a, wish, i) / 2 > room_for(b, wish, best)) return true;
    if (!all_a && room_for(b, wish, best) / 2 > room_for(a, wish, i)) return false;
    return rank(a->kind) < rank(b->kind);
}

/* What people expect of /tmp and what it is here: the one surprise worth a clause of its own. */
static void tell_of_tmp(const stk_place *places, int n, int chosen, char *reason)
{
    for (int i = 0; i < n; i++) {
        const stk_place *p = &places[i];
        if (strcmp(p->folder, "/tmp") != 0 || p->kind == STK_PLACE_MEMORY || p->size_bytes == 0) continue;
        if (i == chosen && rank(p->kind) > 2) continue;
        const char *disk = strcmp(p->mount, "/") == 0 || p->kind == STK_PLACE_OVERLAY ? "system disk" : "disk";
        say(reason, "/tmp is on the %.0f GB %s here, not in memory: ", gb(p->size_bytes), disk);
    }
}

static void tell_of_full_memory(const stk_place *places, int n, int chosen, const stk_stage_wish *wish, char *reason)
{
    for (int i = 0; i < n; i++) {
        const stk_place *p = &places[i];
        if (i == chosen || !p->usable || p->kind != STK_PLACE_MEMORY || room_for(p, wish, i) >= wish->n_bytes) continue;
        say(reason, "%s has room for %s: ", p->folder, say_of(room_for(p, wish, i), wish->n_bytes).text);
    }
}

static void tell_choice(const stk_place *places, int n, int chosen, const stk_stage_wish *wish, char *reason)
{
    const stk_place *p = &places[chosen];
    uint64_t room = room_for(p, wish, chosen);
    if (room < wish->n_bytes) {
        say(reason, "no room for all of %s: using %s (%s) for %s of it, the rest is read from the source",
            say_bytes(wish->n_bytes).text, p->folder, stk_place_kind_text(p->kind), say_bytes(room).text);
        return;
    }
    if (!wish->named) tell_of_tmp(places, n, chosen, reason);
    if (!wish->named && p->kind != STK_PLACE_MEMORY) tell_of_full_memory(places, n, chosen, wish, reason);
    if (wish->named && strcmp(p->folder, "/tmp") == 0) tell_of_tmp(places, n, chosen, reason);
    say(reason, "using %s (%s%s)", p->folder, say_of(wish->n_bytes, p->free_bytes).text,
        p->kind == STK_PLACE_MEMORY || strcmp(p->folder, "/tmp") == 0 ? "" : ", on a disk");
}

/* Why there is no place: each with its own reason. */
static void tell_refusal(const stk_place *places, int n, const stk_stage_wish *wish, bool needless, char *reason)
{
    if (needless) {
        say(reason, "%s lies %s: no place here is faster", wish->source, stk_place_kind_text(wish->source_kind));
        return;
    }
    say(reason, "no place for %s", say_bytes(wish->n_bytes).text);
    for (int i = 0; i < n; i++) {
        const stk_place *p = &places[i];
        say(reason, "%s%s ", i == 0 ? ": " : "; ", p->folder);
        if (!p->usable)
            say(reason, "%s", p->why_not);
        else if (!wish->named && !is_faster(p, wish))
            say(reason, "is no faster than the source");
        else
            say(reason, "has room for %s", say_bytes(room_for(p, wish, i)).text);
    }
}

int stk_stage_choose(const stk_place *places, int n, const stk_stage_wish *wish, bool *needless,
                     char reason[STK_STAGE_TEXT])
{
    int best = -1;
    bool faster = false;
    reason[0] = '\0';
    for (int i = 0; i < n; i++) {
        const stk_place *p = &places[i];
        if (!p->usable || (!wish->named && !is_faster(p, wish))) continue;
        faster = true;
        if (room_for(p, wish, i) < wish->n_bytes / LEAST_PART) continue;
        if (is_better(places, i, best, wish)) best = i;
    }
    *needless = false;
    if (best >= 0) {
        tell_choice(places, n, best, wish, reason);
        return best;
    }
    if (!faster && rank(wish->source_kind) <= 2)
        for (int i = 0; i < n; i++) *needless = *needless || places[i].usable;
    tell_refusal(places, n, wish, *needless, reason);
    return -1;
}
