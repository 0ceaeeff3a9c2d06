/* Inside the folding of events (fold.h): what fold.c and fold_loop.c share. */
#ifndef HEDDLE_TRACE_FOLD_PARTS_H
#define HEDDLE_TRACE_FOLD_PARTS_H

#include "base/alloc.h"
#include "trace/fold.h"
#include "trace/pages.h"

static inline uint64_t fold_add(uint64_t a, uint64_t b) {
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline bool fold_leaves_out(const struct hd_fold *fold) {
    return fold->filter != NULL || fold->nothing_shared;
}

static inline struct hd_fold_thread *fold_thread(struct hd_fold *fold, uint32_t number) {
    while (fold->thread.size <= number) hd_vector_push(&fold->thread, ((struct hd_fold_thread){0}));
    return &fold->thread.data[number];
}

/* Appends an event whose counts and extra value are still to come. */
static inline uint32_t fold_append(struct hd_trace *trace, uint32_t thread, uint64_t head,
                                   uint32_t site, uint32_t stack, uint64_t number) {
    uint32_t at = trace->events++;
    if (trace->number != NULL) trace->number[at] = number;
    trace->thread[at] = (uint16_t)thread;
    trace->kind[at] = (uint8_t)hd_wire_kind(head);
    trace->flags[at] = (uint8_t)hd_wire_flags(head);
    trace->operand[at] = hd_wire_operand(head);
    trace->site[at] = site;
    trace->stack[at] = stack;
    return at;
}

/* The same with a filter, of an event whose calls and branches are known and which has no extra
 * value. Columns of bytes come last: a byte might be anything, and the others be read again. */
static inline uint32_t fold_append_kept(struct hd_trace *trace, uint32_t thread, uint64_t head,
                                        uint32_t site, uint32_t stack, uint64_t number,
                                        uint64_t calls, uint64_t branches) {
    uint32_t at = trace->events++, most = calls > UINT32_MAX ? UINT32_MAX : (uint32_t)calls;
    uint8_t *kind = trace->kind, *flags = trace->flags;
    trace->number[at] = number;
    trace->operand[at] = hd_wire_operand(head);
    trace->site[at] = site;
    trace->stack[at] = stack;
    trace->calls[at] = most;
    trace->branches[at] = branches > UINT16_MAX ? UINT16_MAX : (uint16_t)branches;
    trace->thread[at] = (uint16_t)thread;
    kind[at] = (uint8_t)hd_wire_kind(head);
    flags[at] = (uint8_t)hd_wire_flags(head);
    return most;
}

/* Where the thread was when it last made an access from the site. Sites that share a slot take it
 * from each other; then where it is now is the best guess. */
static inline uint32_t fold_place_slot(uint32_t site) {
    return (site * 0x9e3779b1u) >> (32 - HD_FOLD_PLACE_BITS);
}
static inline struct hd_fold_place *fold_place_of(struct hd_fold_thread *thread, uint32_t site) {
    return &thread->place[fold_place_slot(site)];
}

static inline void fold_need_places(struct hd_fold_thread *thread) {
    if (__builtin_expect(thread->place == NULL, 0))
        thread->place = hd_zalloc((size_t)1 << HD_FOLD_PLACE_BITS, sizeof *thread->place);
}
static inline void fold_note_place_at(struct hd_fold_thread *thread, uint32_t site,
                                      uint32_t stack) {
    fold_need_places(thread);
    *fold_place_of(thread, site) = (struct hd_fold_place){site, stack};
}
static inline void fold_note_place(struct hd_fold_thread *thread, uint32_t site) {
    fold_note_place_at(thread, site, thread->stack);
}

/* A function is entered (PUSH) or left (POP). */
void fold_follow_call(struct hd_fold *fold, struct hd_fold_thread *thread,
                      struct hd_wire_event event);

/* Gives an event, which is appended, what is pending of its thread. */
void fold_pending(struct hd_fold *fold, struct hd_fold_thread *thread, uint32_t event);

/* Its calls and branches are the next event's. */
static inline void fold_leave_out(struct hd_fold_thread *thread, uint64_t calls,
                                  uint64_t branches) {
    thread->calls = fold_add(thread->calls, calls);
    thread->branches = fold_add(thread->branches, branches);
    thread->has_extra = false;
    thread->pending = thread->calls != 0 || thread->branches != 0;
}

enum { FOLD_LOOK_AHEAD = 16 }; /* events; the memory of later ones is not fetched yet */

/* An access that says its size itself: most events are. */
static inline bool fold_is_access(uint64_t head) {
    return hd_wire_kind(head) - 1u < HD_EV_WRITE && hd_wire_flags(head) != 0;
}
/* What may stand in a run of accesses, if nothing is particular about it. */
static inline bool fold_is_of_run(uint64_t head) {
    unsigned kind = hd_wire_kind(head);
    return fold_is_access(head) || hd_kind_is_lock(kind) || kind == HD_EV_PUSH || kind == HD_EV_POP;
}
/* Folds such events of one thread, with a filter and without marks (fold_access.c), up to one that
 * has to go another way, or is of another kind. `shared`: the cells of what is shared
 * (sharing_cells.h), or NULL; *place: the number of the first, and of what comes after them.
 * Returns how many were folded; accesses all are, unless fold->error is set.
 */
size_t fold_accesses(struct hd_fold *fold, struct hd_fold_thread *thread, uint32_t number,
                     const struct hd_wire_event *event, size_t count, struct hd_pages *shared,
                     uint64_t *place);

/* Leaves out accesses, of which the first event is one, up to another event. Returns how many. */
size_t fold_pass_accesses(struct hd_fold_thread *thread, const struct hd_wire_event *event,
                          size_t count);

/* How many calls of the thread come before the next one that is marked, from the latest one that
 * was folded on. */
static inline uint64_t fold_before_mark(const struct hd_fold_thread *thread) {
    if (thread->mark == thread->mark_end) return UINT64_MAX;
    uint64_t made = fold_add(thread->counted, thread->calls);
    return thread->mark->call > made ? thread->mark->call - made - 1 : 0;
}

/* Of a loop whose rounds are on their way (fold_loop.c), what comes before an access that is put in
 * now; and the number of the present event. */
void fold_loop_catch_up(struct hd_fold *fold);

/* ---- polling (fold_polling.c) -------------------------------------------------------------- */

/* May a round of a loop that only waits begin with it? */
static inline bool fold_begins_round(unsigned kind) {
    return kind == HD_EV_ATOMIC_READ || kind == HD_EV_ACQUIRE || kind == HD_EV_READ_ACQUIRE ||
           kind == HD_EV_TRY_FAILED;
}
/* Before such an event is appended. A round that came again is taken out; returns its calls, which
 * are pending again. */
uint64_t fold_poll(struct hd_fold *fold, struct hd_fold_thread *thread, uint32_t number,
                   uint64_t head, uint32_t site);
enum { FOLD_POLL_EVENTS = 48 }; /* of a round */
/* The same, for what comes first or in the middle of a round; false if it may begin another one. */
static inline bool fold_poll_begins(struct hd_fold *fold, uint32_t number, uint64_t head,
                                    uint32_t site) {
    uint32_t events = fold->builder->trace->events;
    struct hd_fold_poll *poll = &fold->poll;
    if (poll->goes_on && poll->thread == number && events - poll->second <= FOLD_POLL_EVENTS)
        return poll->head != head || poll->site != site;
    *poll = (struct hd_fold_poll){true, number, head, site, events, events};
    return true;
}

/* Do all rounds of a loop have the same operands, and are of one thread? */
bool fold_is_still(const struct hd_loop_event *body, size_t length);
/* What has been folded, before and after a round of such a loop. If a round was taken out in it,
 * and all is the same but for the counts of that, and so it was with the round before, it will be
 * so with all further ones: they are counted. */
struct fold_still {
    uint64_t polled, recorded;
    bool polls;
    uint32_t first, second, events, extras;
    uint64_t pending_calls, pending_branches;
    /* of the event that the latest round begins with; calls also those that had no room */
    uint64_t calls;
    uint32_t branches;
};
struct fold_still fold_still_now(struct hd_fold *fold, uint32_t thread);
bool fold_is_same(struct fold_still before, struct fold_still now);
bool fold_count_still(struct hd_fold *fold, struct fold_still before, struct fold_still now,
                      uint64_t rounds, struct hd_error *error);

#endif
