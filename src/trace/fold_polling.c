/* Polling: a thread that takes a lock, looks, and gives it back, or reads atomics, again and again.
 * Rounds that are the same and change nothing are one fact: if nobody else's events stand in
 * between, the first and the last of them are loaded, and those between are taken out again. Their
 * calls count for the next event. */
#include "trace/fold_parts.h"

static bool changes_nothing(unsigned kind) {
    switch (kind) {
    case HD_EV_READ:
    case HD_EV_ATOMIC_READ:
    case HD_EV_ACQUIRE:
    case HD_EV_RELEASE:
    case HD_EV_READ_ACQUIRE:
    case HD_EV_READ_RELEASE:
    case HD_EV_TRY_FAILED:
        return true;
    default:
        return false;
    }
}

/* Calls and branches before the first event of a round are those of what lies between rounds. */
static bool same_event(const struct hd_trace *trace, uint32_t a, uint32_t b, bool first) {
    return trace->thread[a] == trace->thread[b] && trace->kind[a] == trace->kind[b] &&
           trace->flags[a] == trace->flags[b] && trace->operand[a] == trace->operand[b] &&
           trace->site[a] == trace->site[b] && trace->stack[a] == trace->stack[b] &&
           (first ||
            (trace->calls[a] == trace->calls[b] && trace->branches[a] == trace->branches[b]));
}

/* Is what was folded since the second round began the round before it, once more? */
static bool came_again(const struct hd_trace *trace, const struct hd_fold_poll *poll) {
    uint32_t length = poll->second - poll->first;
    if (length == 0 || trace->events - poll->second != length) return false;
    if (trace->extras > 0 && trace->extra_event[trace->extras - 1] >= poll->first) return false;
    for (uint32_t i = 0; i < length; i++) {
        uint32_t a = poll->first + i, b = poll->second + i;
        if (!same_event(trace, a, b, i == 0) || trace->thread[a] != poll->thread ||
            !changes_nothing(trace->kind[a]))
            return false;
    }
    return true;
}

static uint64_t take_out(struct hd_trace *trace, struct hd_fold_thread *thread, uint32_t from) {
    uint64_t calls = 0, branches = 0;
    for (uint32_t e = from; e < trace->events; e++) {
        calls += trace->calls[e];
        branches += trace->branches[e];
    }
    trace->events = from;
    thread->counted -= calls;
    thread->calls = fold_add(thread->calls, calls);
    thread->branches = fold_add(thread->branches, branches);
    thread->pending = thread->calls != 0 || thread->branches != 0;
    return calls;
}

uint64_t fold_poll(struct hd_fold *fold, struct hd_fold_thread *thread, uint32_t number,
                   uint64_t head, uint32_t site) {
    struct hd_trace *trace = fold->builder->trace;
    struct hd_fold_poll *poll = &fold->poll;
    if (fold_poll_begins(fold, number, head, site)) return 0;
    if (came_again(trace, poll)) {
        fold->polled++;
        return take_out(trace, thread, poll->second);
    }
    poll->first = poll->second;
    poll->second = trace->events;
    return 0;
}

/* ---- rounds of a loop ---------------------------------------------------------------------- */

bool fold_is_still(const struct hd_loop_event *body, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (hd_loop_signed(body[i].stride) != 0 || hd_wire_kind(body[i].event.head) == HD_EV_THREAD)
            return false;
    return true;
}

struct fold_still fold_still_now(struct hd_fold *fold, uint32_t number) {
    const struct hd_trace *trace = fold->builder->trace;
    const struct hd_fold_poll *poll = &fold->poll;
    const struct hd_fold_thread *thread = fold_thread(fold, number);
    bool polls = poll->goes_on && poll->thread == number && poll->second < trace->events;
    return (struct fold_still){.polled = fold->polled,
                               .recorded = trace->recorded,
                               .polls = polls,
                               .first = poll->first,
                               .second = poll->second,
                               .events = trace->events,
                               .extras = trace->extras,
                               .pending_calls = thread->calls,
                               .pending_branches = thread->branches,
                               .calls =
                                   polls ? fold_add(trace->calls[poll->second], thread->beyond) : 0,
                               .branches = polls ? trace->branches[poll->second] : 0};
}

bool fold_is_same(struct fold_still before, struct fold_still now) {
    return before.polls && now.polls && now.polled != before.polled && before.first == now.first &&
           before.second == now.second && before.events == now.events &&
           before.extras == now.extras && before.pending_calls == now.pending_calls &&
           before.pending_branches == now.pending_branches;
}

bool fold_count_still(struct hd_fold *fold, struct fold_still before, struct fold_still now,
                      uint64_t rounds, struct hd_error *error) {
    /* The round that stays is the last one. Its first event has the calls of those before it. */
    struct hd_trace *trace = fold->builder->trace;
    uint64_t further = rounds * (now.recorded - before.recorded);
    for (uint32_t e = now.second; e < now.events; e++) trace->number[e] += further;
    uint64_t calls, branches;
    if (__builtin_mul_overflow(rounds, now.calls - before.calls, &calls)) calls = UINT64_MAX;
    if (__builtin_mul_overflow(rounds, now.branches - before.branches, &branches))
        branches = UINT64_MAX;
    uint64_t all_calls = fold_add(trace->calls[now.second], calls);
    uint64_t all_branches = fold_add(now.branches, branches);
    trace->calls[now.second] = all_calls > UINT32_MAX ? UINT32_MAX : (uint32_t)all_calls;
    trace->branches[now.second] = all_branches > UINT16_MAX ? UINT16_MAX : (uint16_t)all_branches;
    trace->hook_calls = fold_add(trace->hook_calls, calls);
    struct hd_fold_thread *thread = fold_thread(fold, fold->poll.thread);
    thread->counted += calls;
    thread->beyond = fold_add(thread->beyond, all_calls - trace->calls[now.second]);
    return hd_build_recorded(fold->builder, further, error);
}
