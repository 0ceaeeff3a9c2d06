/* States of words: see sharing_states.h. */
#include "trace/sharing_states.h"

#include "base/alloc.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

enum { READERS_LIMIT = 64 };

void hd_word_states_init(struct hd_word_states *s, uint32_t room) {
    memset(s, 0, sizeof *s);
    s->room = room;
    s->renew_at = room / 2;
    s->slot = hd_zalloc((size_t)room * 2, sizeof *s->slot);
    for (unsigned i = 0; i < HD_WORD_FIRST; i++) {
        struct hd_word_state named = {.past = i == HD_WORD_PAST};
        hd_vector_push(&s->state, named);
    }
    s->order.changes = 1; /* no key is 0 */
}

void hd_word_states_free(struct hd_word_states *s) {
    hd_order_free(&s->order);
    hd_vector_free(&s->state);
    hd_vector_free(&s->reader);
    free(s->slot);
    s->slot = NULL;
}

/* ---- numbers ------------------------------------------------------------------------------- */

static uint64_t hash_of(const struct hd_word_state *state, const struct hd_word_epoch *reader) {
    uint64_t hash = hd_mix64((uint64_t)state->writer.thread << 32 | state->writer.epoch) +
                    state->many * 2u + state->past;
    for (uint32_t i = 0; i < state->readers; i++)
        hash = hd_mix64(hash ^ ((uint64_t)reader[i].thread << 32 | reader[i].epoch));
    return hash;
}

static bool is_same(const struct hd_word_states *s, const struct hd_word_state *a,
                    const struct hd_word_state *b, const struct hd_word_epoch *reader) {
    if (a->writer.thread != b->writer.thread || a->writer.epoch != b->writer.epoch ||
        a->readers != b->readers || a->many != b->many || a->past != b->past)
        return false;
    for (uint32_t i = 0; i < a->readers; i++) {
        const struct hd_word_epoch *other = &s->reader.data[a->reader + i];
        if (other->thread != reader[i].thread || other->epoch != reader[i].epoch) return false;
    }
    return true;
}

/* The number of a state; HD_WORD_CONCURRENT if there is no room for another one. */
static uint32_t number_of(struct hd_word_states *s, struct hd_word_state state,
                          const struct hd_word_epoch *reader) {
    uint32_t slots = s->room * 2, at = (uint32_t)(hash_of(&state, reader) % slots);
    for (; s->slot[at] != 0; at = (at + 1) % slots)
        if (is_same(s, &s->state.data[s->slot[at]], &state, reader)) return s->slot[at];
    if (s->state.size >= s->room) return HD_WORD_CONCURRENT;
    state.reader = (uint32_t)s->reader.size;
    for (uint32_t i = 0; i < state.readers; i++) hd_vector_push(&s->reader, reader[i]);
    s->slot[at] = (uint32_t)s->state.size;
    hd_vector_push(&s->state, state);
    return s->slot[at];
}

/* ---- steps --------------------------------------------------------------------------------- */

/* Is all of the state before what the thread does now; of a read, the writes? */
static bool is_before(const struct hd_word_states *s, const struct hd_word_state *state,
                      uint32_t thread, bool write) {
    if (state->past && hd_order_is_from_elsewhere(&s->order, thread)) return false;
    if (state->writer.epoch != 0 &&
        !hd_order_before(&s->order, state->writer.thread, state->writer.epoch, thread))
        return false;
    if (!write) return true;
    if (state->many) return false;
    for (uint32_t i = 0; i < state->readers; i++) {
        struct hd_word_epoch reader = s->reader.data[state->reader + i];
        if (!hd_order_before(&s->order, reader.thread, reader.epoch, thread)) return false;
    }
    return true;
}

struct readers {
    struct hd_word_epoch reader[READERS_LIMIT];
    uint32_t count; /* may be more than there is room for */
};
static void add_reader(struct readers *readers, struct hd_word_epoch e) {
    if (readers->count < READERS_LIMIT) readers->reader[readers->count] = e;
    readers->count++;
}

/* The state after a read that all writes are before. */
static uint32_t after_read(struct hd_word_states *s, struct hd_word_state state,
                           struct hd_word_epoch now) {
    struct readers readers = {.count = 0};
    /* whatever comes after a write comes after the reads of its epoch, too */
    bool adding = state.writer.thread != now.thread || state.writer.epoch != now.epoch;
    for (uint32_t i = 0; i < state.readers; i++) {
        struct hd_word_epoch other = s->reader.data[state.reader + i];
        /* whatever comes after this read comes after that one */
        if (hd_order_before(&s->order, other.thread, other.epoch, now.thread)) continue;
        if (other.thread > now.thread && adding) {
            add_reader(&readers, now);
            adding = false;
        }
        add_reader(&readers, other);
    }
    if (adding) add_reader(&readers, now);
    state.many = state.many || readers.count > READERS_LIMIT;
    state.readers = state.many ? 0 : readers.count;
    return number_of(s, state, readers.reader);
}

uint32_t hd_word_step_slow(struct hd_word_states *s, uint64_t key) {
    uint32_t number = key & 0xffff, thread = key >> 16 & 0xffff, next;
    bool write = (key >> 32 & 1) != 0;
    struct hd_word_state state = s->state.data[number];
    struct hd_word_epoch now = {thread, hd_order_epoch(&s->order, thread)};
    if (number == HD_WORD_CONCURRENT || !is_before(s, &state, thread, write))
        next = HD_WORD_CONCURRENT;
    else if (write)
        next = number_of(s, (struct hd_word_state){.writer = now}, NULL);
    else
        next = after_read(s, state, now);
    s->step[(number * 2 + write) % HD_WORD_STEPS] = (struct hd_word_step){key, next};
    return next;
}

/* ---- the past ------------------------------------------------------------------------------ */

static bool is_past(struct hd_word_epoch e, const uint32_t *past, uint32_t count) {
    return e.thread < count && e.epoch <= past[e.thread];
}

/* What is past is forgotten. */
static struct hd_word_state without_past(struct hd_word_state state, const struct hd_word_epoch *of,
                                         struct readers *readers, const uint32_t *past,
                                         uint32_t threads) {
    readers->count = 0;
    for (uint32_t i = 0; i < state.readers; i++)
        if (is_past(of[i], past, threads))
            state.past = true;
        else
            add_reader(readers, of[i]);
    state.readers = readers->count;
    if (state.writer.epoch != 0 && is_past(state.writer, past, threads)) {
        state.writer = (struct hd_word_epoch){0};
        state.past = true;
    }
    return state;
}

uint32_t *hd_word_states_renew(struct hd_word_states *s, const uint64_t *used) {
    struct hd_word_states was = *s;
    uint32_t threads, *past = hd_order_past(&s->order, &threads);
    uint32_t *now = hd_zalloc(was.state.size, sizeof *now);
    s->slot = hd_zalloc((size_t)s->room * 2, sizeof *s->slot);
    memset(&s->state, 0, sizeof s->state);
    memset(&s->reader, 0, sizeof s->reader);
    for (unsigned i = 0; i < HD_WORD_FIRST; i++) {
        hd_vector_push(&s->state, was.state.data[i]);
        now[i] = i;
    }
    for (uint32_t i = HD_WORD_FIRST; i < was.state.size; i++) {
        if (!(used[i / 64] >> i % 64 & 1)) continue;
        struct readers readers;
        struct hd_word_state state = was.state.data[i];
        state = without_past(state, was.reader.data + state.reader, &readers, past, threads);
        bool empty = state.writer.epoch == 0 && state.readers == 0 && !state.many;
        now[i] = empty ? (uint32_t)HD_WORD_PAST : number_of(s, state, readers.reader);
    }
    /* if hardly any is gone, that is not tried again */
    uint32_t left = s->room - (uint32_t)s->state.size;
    s->renew_at = left < s->room / 64 ? UINT32_MAX : s->room - left / 2;
    s->order.changes++; /* steps that are known are of other numbers */
    free(was.slot);
    hd_vector_free(&was.state);
    hd_vector_free(&was.reader);
    free(past);
    return now;
}
