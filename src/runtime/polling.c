/* Polling through locks, under serial: a thread that takes a lock, looks, and gives it back, again
 * and again. Rounds that read the same and change nothing are one fact: if nobody else ran in
 * between, the second of two equal rounds stays in the trace and those after it are taken out
 * again; their calls count, so that positions stay exact. Who runs when does not depend on it: a
 * run that is not recorded takes the same schedule. */
#include "runtime/sched.h"

static bool is_position(unsigned kind) {
    return kind == HD_EV_COUNT || kind == HD_EV_PUSH || kind == HD_EV_POP;
}

static bool changes_nothing(const struct hd_wire_event *e, const struct hd_wire_event *end) {
    for (; e < end; e++) {
        switch (hd_wire_kind(e->head)) {
        case HD_EV_READ:
        case HD_EV_ATOMIC_READ:
        case HD_EV_ACQUIRE:
        case HD_EV_RELEASE:
        case HD_EV_READ_ACQUIRE:
        case HD_EV_READ_RELEASE:
        case HD_EV_TRY_FAILED:
        case HD_EV_EXT:
        case HD_EV_COUNT:
        case HD_EV_PUSH:
        case HD_EV_POP:
            break;
        default:
            return false;
        }
    }
    return true;
}

/* The first event's counts are those of what lies between the rounds, with calls that were left
 * out. */
static bool same_round(const struct hd_wire_event *a, const struct hd_wire_event *a_end,
                       const struct hd_wire_event *b, const struct hd_wire_event *b_end) {
    bool first = true;
    for (;; a++, b++) {
        while (a < a_end && hd_wire_kind(a->head) == HD_EV_COUNT && first) a++;
        while (b < b_end && hd_wire_kind(b->head) == HD_EV_COUNT && first) b++;
        if (a == a_end || b == b_end) return a == a_end && b == b_end;
        if (a->head != b->head || hd_wire_site(a->tail) != hd_wire_site(b->tail)) return false;
        if (!first && a->tail != b->tail) return false;
        if (!is_position(hd_wire_kind(a->head))) first = false;
    }
}

/* From the last event to the first: what a crash leaves behind is whole. */
static void take_out(struct rt_thread *t) {
    struct hd_wire_event *e = t->cursor;
    while (e > t->poll.second) {
        e--;
        __atomic_store_n(&e->head, 0, __ATOMIC_RELEASE);
        e->tail = 0;
    }
    t->cursor = t->poll.second;
    t->calls_emitted = t->poll.calls;
    t->passed += (t->branches_emitted - t->poll.branches) * RT_PASSED;
    t->branches_emitted = t->poll.branches;
    rt_new_epoch(t); /* what it has touched may not be in the trace */
}

static void begin_round(struct rt_thread *t, bool goes_on) {
    t->poll.first = goes_on ? t->poll.second : t->cursor;
    t->poll.second = t->cursor;
    uint32_t index = (uint32_t)(t->cursor - t->chunk->event);
    __atomic_store_n(&t->chunk->unsettled, index + 1, __ATOMIC_RELEASE);
    t->poll.calls = t->calls_emitted;
    t->poll.branches = t->branches_emitted;
}

/* Is what was written since the second round began still there, and nobody else's? */
static bool goes_on(const struct rt_thread *t) {
    const struct rt_poll *poll = &t->poll;
    return poll->chunk != NULL && poll->chunk == t->chunk &&
           poll->chunk->sequence == poll->sequence && t->cursor > poll->second;
}

static bool came_again(const struct rt_thread *t) {
    const struct rt_poll *poll = &t->poll;
    return t->cursor - poll->second <= RT_POLL_EVENTS &&
           same_round(poll->first, poll->second, poll->second, t->cursor) &&
           changes_nothing(poll->second, t->cursor);
}

void rt_poll_slow(struct rt_thread *t) {
    struct rt_poll *poll = &t->poll;
    if (rt.mode != HD_SCHED_SERIAL || rt.full || sched.policy->commands || t->chunk == NULL) {
        poll->chunk = NULL;
        return;
    }
    rt_flush(t);
    if (!goes_on(t)) {
        poll->chunk = t->chunk;
        poll->sequence = t->chunk->sequence;
        begin_round(t, false);
        return;
    }
    if (poll->second == poll->first || !came_again(t))
        begin_round(t, true);
    else
        take_out(t);
}
