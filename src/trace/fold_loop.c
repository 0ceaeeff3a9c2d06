/* Folds the rounds of a loop: see fold.h. With a filter, and plain accesses and calls only, rounds
 * that are left out as a whole are passed over together; the others go through the filter some at a
 * time, and what is kept of them is appended in its order. Calls are followed once: each round must
 * end where it began, and then every access has the same call stack in all of them. */
#include "trace/fold_parts.h"

#include <string.h>

enum {
    BATCH = 2048,     /* accesses at once */
    LEAST_ROUNDS = 3, /* fewer are folded one by one */
    LOOK = 64,        /* rounds that are looked at together, at first */
    PAUSE = 8,        /* rounds after which it is tried again, at first */
    STILL_TRIES = 64  /* rounds of a loop that may only wait, until it is taken for another one */
};

struct fold_loop {
    uint32_t thread;
    unsigned length; /* accesses of a round; 0 between loops */
    uint64_t number; /* of the first access of the batch, in the whole recording */
    /* the latest one, which is prepared: all its events, how many are accesses, are there others */
    struct hd_loop_event body[HD_LOOP_LENGTH];
    size_t known;
    unsigned accesses;
    bool enters; /* functions */
    struct hd_filter_range range[HD_LOOP_LENGTH];
    struct hd_wire_event event[HD_LOOP_LENGTH]; /* of any round */
    uint32_t stack[HD_LOOP_LENGTH];
    /* calls and branches of a round up to each access, and of all */
    uint64_t calls[HD_LOOP_LENGTH], branches[HD_LOOP_LENGTH];
    uint64_t all_calls, all_branches;
    bool shared[HD_LOOP_LENGTH];
    /* which sites the thread's table of places has already; the rest of this batch is not in yet */
    bool noted[HD_LOOP_LENGTH];
    unsigned not_noted;
    size_t noted_up_to; /* accesses of the batch */
    /* the batch */
    bool passed[BATCH];
    struct hd_filter_kept kept[BATCH];
    struct hd_filter_batch batch;
    size_t appended;                          /* of what was kept */
    uint64_t counted_calls, counted_branches; /* up to the latest of them */
};

/* ---- one by one ---------------------------------------------------------------------------- */

static bool fold_unrolled(struct hd_fold *fold, struct hd_loop_event *body, size_t length,
                          uint64_t rounds, uint32_t *thread, struct hd_error *error) {
    struct hd_wire_event event[512];
    size_t room = sizeof event / sizeof *event, used = 0, taken;
    for (; rounds > 0; rounds--)
        for (size_t i = 0; i < length; i++) {
            event[used++] = body[i].event;
            body[i].event.head += body[i].stride << 16;
            if (used < room && (rounds > 1 || i + 1 < length)) continue;
            if (!hd_fold_events(fold, event, used, thread, &taken, error)) return false;
            used = 0;
        }
    return true;
}

/* ---- preparing ----------------------------------------------------------------------------- */

/* May the loop be handled as one? Not if two of its sites have the same slot in the thread's table
 * of places: which of them was later would matter. */
static bool is_plain(const struct hd_loop_event *body, size_t length) {
    uint64_t used[(1 << HD_FOLD_PLACE_BITS) / 64] = {0};
    bool accesses = false;
    if (length > HD_LOOP_LENGTH) return false;
    for (size_t i = 0; i < length; i++) {
        if (hd_loop_is_call(&body[i])) continue;
        if (!hd_loop_is_access(&body[i])) return false;
        accesses = true;
        uint32_t site = hd_wire_site(body[i].event.tail), slot = fold_place_slot(site);
        if (used[slot / 64] >> slot % 64 & 1) {
            size_t k = 0;
            while (k < i && (hd_loop_is_call(&body[k]) || hd_wire_site(body[k].event.tail) != site))
                k++;
            if (k == i) return false;
        }
        used[slot / 64] |= (uint64_t)1 << slot % 64;
    }
    return accesses;
}

/* Is it the latest loop again, elsewhere? */
static bool is_known(const struct fold_loop *l, const struct hd_loop_event *body, size_t length) {
    if (length != l->known) return false;
    for (size_t i = 0; i < length; i++)
        if (((body[i].event.head ^ l->body[i].event.head) & 0xffff) != 0 ||
            body[i].event.tail != l->body[i].event.tail ||
            hd_loop_signed(body[i].stride) != hd_loop_signed(l->body[i].stride))
            return false;
    return true;
}

static void prepare(struct fold_loop *l, const struct hd_loop_event *body, size_t length) {
    uint64_t calls = 0, branches = 0;
    unsigned k = 0;
    for (size_t i = 0; i < length; i++) {
        uint64_t head = body[i].event.head, tail = body[i].event.tail;
        l->body[i] = body[i];
        if (hd_wire_kind(head) != HD_EV_PUSH) { /* which has something else there */
            calls += hd_wire_calls(tail);
            branches += hd_wire_branches(tail);
        }
        if (!hd_loop_is_access(&body[i])) continue;
        l->range[k].stride = hd_loop_signed(body[i].stride);
        l->range[k].site = hd_wire_site(tail);
        l->range[k].bytes = (uint16_t)hd_wire_flags(head);
        l->range[k].write = hd_wire_kind(head) == HD_EV_WRITE;
        l->event[k] = body[i].event;
        l->calls[k] = calls;
        l->branches[k++] = branches;
    }
    l->all_calls = calls;
    l->all_branches = branches;
    l->known = length;
    l->accesses = k;
    l->enters = k < length;
}

/* Does an access have the same call stack as the others from its site? Else which was later would
 * matter for the thread's table of places. */
static bool has_one_stack(const struct fold_loop *l, unsigned access) {
    for (unsigned i = 0; i < access; i++)
        if (l->range[i].site == l->range[access].site && l->stack[i] != l->stack[access])
            return false;
    return true;
}

/* Follows the calls of a round and finds the call stacks of its accesses. False if it does not end
 * where it began, or can't be handled as one: then nothing is changed. */
static bool find_stacks(struct hd_fold *fold, const struct hd_loop_event *body,
                        struct hd_fold_thread *thread) {
    struct fold_loop *l = fold->loop;
    size_t frames = thread->frame.size;
    unsigned k = 0;
    if (!l->enters) {
        for (; k < l->accesses; k++) l->stack[k] = thread->stack;
        return true;
    }
    struct hd_fold_frame *before = hd_alloc(frames, sizeof *before);
    if (frames != 0) memcpy(before, thread->frame.data, frames * sizeof *before);
    uint32_t stack = thread->stack;
    bool good = true;
    for (size_t i = 0; i < l->known; i++) {
        if (hd_loop_is_call(&body[i])) {
            fold_follow_call(fold, thread, body[i].event);
            continue;
        }
        l->stack[k] = thread->stack;
        good = good && has_one_stack(l, k);
        k++;
    }
    good = good && thread->stack == stack && thread->frame.size == frames;
    for (size_t i = 0; i < frames && good; i++)
        good = thread->frame.data[i].depth == before[i].depth &&
               thread->frame.data[i].node == before[i].node;
    if (!good) {
        thread->frame.size = 0;
        for (size_t i = 0; i < frames; i++) hd_vector_push(&thread->frame, before[i]);
        thread->stack = stack;
    }
    free(before);
    return good;
}

static void begin(struct fold_loop *l, const struct hd_loop_event *body, uint32_t thread) {
    l->thread = thread;
    l->length = l->not_noted = l->accesses;
    unsigned k = 0;
    for (size_t i = 0; i < l->known; i++) {
        if (l->enters && !hd_loop_is_access(&body[i])) continue;
        l->range[k].address = hd_wire_operand(body[i].event.head);
        l->noted[k++] = false;
    }
    l->noted_up_to = 0;
    l->batch = (struct hd_filter_batch){.kept = l->kept};
    l->appended = 0;
    l->counted_calls = l->counted_branches = 0;
}

/* ---- what is kept -------------------------------------------------------------------------- */

static void note(struct fold_loop *l, struct hd_fold_thread *thread, unsigned i) {
    if (l->noted[i]) return;
    l->noted[i] = true;
    l->not_noted--;
    fold_note_place_at(thread, l->range[i].site, l->stack[i]);
}

/* Where the thread was, for accesses of the batch before this number. */
static void note_up_to(struct hd_fold *fold, size_t end) {
    struct fold_loop *l = fold->loop;
    struct hd_fold_thread *thread = fold_thread(fold, l->thread);
    size_t at = l->noted_up_to;
    for (unsigned i = (unsigned)(at % l->length); at < end && l->not_noted > 0; at++) {
        if (fold->sharing == NULL || !l->passed[at]) note(l, thread, i);
        if (++i == l->length) i = 0;
    }
    l->noted_up_to = end;
}

static void append_kept(struct hd_fold *fold) {
    struct fold_loop *l = fold->loop;
    if (l->appended == l->batch.count) return;
    struct hd_trace *trace = fold->builder->trace;
    struct hd_fold_thread *thread = fold_thread(fold, l->thread);
    uint64_t counted_calls = l->counted_calls, counted_branches = l->counted_branches;
    uint64_t pending_calls = thread->calls, pending_branches = thread->branches;
    uint64_t hook_calls = 0, counted = 0, beyond = 0;
    const struct hd_filter_kept *end = l->kept + l->batch.count;
    for (const struct hd_filter_kept *kept = l->kept + l->appended; kept < end; kept++) {
        uint32_t round = kept->round, range = kept->range;
        struct hd_wire_event event = l->event[range];
        uint64_t calls = round * l->all_calls + l->calls[range];
        uint64_t branches = round * l->all_branches + l->branches[range];
        uint64_t all_calls = fold_add(pending_calls, calls - counted_calls);
        uint64_t all_branches = fold_add(pending_branches, branches - counted_branches);
        hook_calls = fold_add(hook_calls, all_calls);
        uint32_t has = fold_append_kept(
            trace, l->thread, (event.head & 0xffff) | kept->address << 16, hd_wire_site(event.tail),
            l->stack[range], l->number + (uint64_t)round * l->length + range, all_calls,
            all_branches);
        counted += has;
        beyond = fold_add(beyond, all_calls - has);
        pending_calls = pending_branches = 0;
        counted_calls = calls;
        counted_branches = branches;
    }
    l->appended = l->batch.count;
    l->counted_calls = counted_calls;
    l->counted_branches = counted_branches;
    thread->calls = thread->branches = 0;
    thread->counted += counted;
    thread->beyond = fold_add(thread->beyond, beyond);
    trace->hook_calls = fold_add(trace->hook_calls, hook_calls);
}

void fold_loop_catch_up(struct hd_fold *fold) {
    struct fold_loop *l = fold->loop;
    if (l->length == 0) return;
    size_t at = (size_t)l->batch.round * l->length + l->batch.range;
    append_kept(fold);
    note_up_to(fold, at + 1);
    fold->number = l->number + at;
    fold_thread(fold, l->thread)->stack = l->stack[l->batch.range]; /* until the rounds are over */
}

/* ---- rounds -------------------------------------------------------------------------------- */

/* What was left out counts for the next event of the thread. */
static void leave_out(struct hd_fold_thread *thread, uint64_t calls, uint64_t branches) {
    thread->calls = fold_add(thread->calls, calls);
    thread->branches = fold_add(thread->branches, branches);
    thread->pending = thread->calls != 0 || thread->branches != 0;
}

static void leave_out_rounds(const struct fold_loop *l, struct hd_fold_thread *thread,
                             uint64_t rounds) {
    uint64_t calls, branches;
    if (__builtin_mul_overflow(l->all_calls, rounds, &calls)) calls = UINT64_MAX;
    if (__builtin_mul_overflow(l->all_branches, rounds, &branches)) branches = UINT64_MAX;
    leave_out(thread, calls, branches);
}

/* Passes over rounds, at most so many, that are left out and change nothing. Returns how many. */
static uint64_t pass_over(struct hd_fold *fold, uint64_t limit) {
    struct fold_loop *l = fold->loop;
    uint64_t rounds = limit, accesses = 0;
    for (unsigned i = 0; i < l->length && rounds > 0; i++) {
        struct hd_filter_range *range = &l->range[i];
        /* what the filter knows was given to it, so it is of shared memory */
        uint64_t quiet = 0;
        if (!range->follows)
            quiet = hd_filter_quiet(fold->filter, l->thread, l->range, i, rounds);
        else if (l->shared[range->leader])
            quiet = rounds;
        l->shared[i] = quiet != 0;
        if (quiet == 0 && fold->sharing != NULL) {
            bool shared;
            quiet = hd_sharing_run(fold->sharing, range->address, range->stride, range->bytes,
                                   rounds, &shared);
            if (shared) quiet = 0;
        }
        rounds = quiet;
    }
    if (rounds == 0) return 0;
    struct hd_fold_thread *thread = fold_thread(fold, l->thread);
    for (unsigned i = 0; i < l->length; i++) {
        l->range[i].address =
            (l->range[i].address + (uint64_t)l->range[i].stride * rounds) & HD_OPERAND_MASK;
        if (!l->shared[i]) continue;
        note(l, thread, i);
        accesses += rounds;
    }
    hd_filter_pass(fold->filter, accesses);
    leave_out_rounds(l, thread, rounds);
    l->number += rounds * l->length;
    return rounds;
}

static void ask_sharing(struct hd_fold *fold, uint32_t rounds) {
    struct fold_loop *l = fold->loop;
    bool *passed = l->passed;
    for (uint32_t r = 0; r < rounds; r++)
        for (unsigned i = 0; i < l->length; i++) {
            const struct hd_filter_range *range = &l->range[i];
            uint64_t address = range->address + (uint64_t)range->stride * r;
            *passed++ = !hd_sharing_access(fold->sharing, address & HD_OPERAND_MASK, range->bytes);
        }
}

static bool fold_rounds(struct hd_fold *fold, uint32_t rounds, struct hd_error *error) {
    struct fold_loop *l = fold->loop;
    size_t accesses = (size_t)rounds * l->length;
    uint32_t stack = fold_thread(fold, l->thread)->stack;
    if (!hd_build_reserve(fold->builder, accesses, error)) return false;
    if (fold->sharing != NULL) ask_sharing(fold, rounds);
    fold->ahead = accesses;
    l->appended = l->noted_up_to = 0;
    l->counted_calls = l->counted_branches = 0;
    hd_filter_rounds(fold->filter, l->thread, l->range, l->length, rounds,
                     fold->sharing != NULL ? l->passed : NULL, &l->batch);
    append_kept(fold);
    note_up_to(fold, accesses);
    l->number += accesses;
    fold_thread(fold, l->thread)->stack = stack;
    leave_out(fold_thread(fold, l->thread), rounds * l->all_calls - l->counted_calls,
              rounds * l->all_branches - l->counted_branches);
    if (fold->error.code == HD_OK) return true;
    *error = fold->error;
    return false;
}

static bool fold_plain(struct hd_fold *fold, uint64_t rounds, struct hd_error *error) {
    struct fold_loop *l = fold->loop;
    uint64_t most = BATCH / l->length, look = LOOK, pause = PAUSE;
    while (rounds > 0) {
        uint64_t limit = rounds < look ? rounds : look, passed = pass_over(fold, limit);
        rounds -= passed;
        if (passed == limit) {
            look *= 4;
            continue;
        }
        pause = passed >= PAUSE ? PAUSE : pause * 2;
        if (pause > most) pause = most;
        look = LOOK;
        uint64_t now = rounds < pause ? rounds : pause;
        if (!fold_rounds(fold, (uint32_t)now, error)) return false;
        rounds -= now;
    }
    return true;
}

/* Rounds that were not folded event by event. */
static void count_kinds(struct hd_fold_thread *thread, const struct hd_loop_event *body,
                        size_t length, uint64_t rounds) {
    for (size_t i = 0; i < length; i++) {
        unsigned kind = hd_wire_kind(body[i].event.head);
        if (kind < HD_EV_THREAD) thread->kinds[kind] += rounds;
    }
}

/* A loop that may only wait: once a round leaves everything as it was, all further ones do. */
static bool fold_still_rounds(struct hd_fold *fold, struct hd_loop_event *body, size_t length,
                              uint64_t rounds, uint32_t *number, struct hd_error *error) {
    bool was_same = false;
    for (unsigned tries = 0; rounds > 0 && tries < STILL_TRIES; tries++) {
        struct fold_still before = fold_still_now(fold, *number);
        if (!fold_unrolled(fold, body, length, 1, number, error)) return false;
        rounds--;
        struct fold_still now = fold_still_now(fold, *number);
        bool same = fold_is_same(before, now);
        if (same && was_same) {
            count_kinds(fold_thread(fold, *number), body, length, rounds);
            return fold_count_still(fold, before, now, rounds, error);
        }
        was_same = same;
    }
    return fold_unrolled(fold, body, length, rounds, number, error);
}

static bool fold_some(struct hd_fold *fold, struct hd_loop_event *body, size_t length,
                      uint64_t rounds, uint32_t *number, struct hd_error *error) {
    struct fold_loop *l = fold->loop;
    bool again = l != NULL && is_known(l, body, length);
    if (!fold_leaves_out(fold) || rounds < LEAST_ROUNDS || *number >= HD_THREAD_LIMIT)
        return fold_unrolled(fold, body, length, rounds, number, error);
    if (!again && !is_plain(body, length))
        return fold_is_still(body, length)
                   ? fold_still_rounds(fold, body, length, rounds, number, error)
                   : fold_unrolled(fold, body, length, rounds, number, error);
    /* an extra value goes with the first event */
    if (fold_thread(fold, *number)->has_extra) {
        if (!fold_unrolled(fold, body, length, 1, number, error)) return false;
        rounds--;
    }
    if (*number >= fold->thread_limit) fold->thread_limit = *number + 1;
    if (l == NULL) l = fold->loop = hd_zalloc(1, sizeof *fold->loop);
    if (!again) prepare(l, body, length);
    if (!find_stacks(fold, body, fold_thread(fold, *number))) {
        /* it may be so from the second round on */
        if (!fold_unrolled(fold, body, length, 1, number, error)) return false;
        if (!find_stacks(fold, body, fold_thread(fold, *number)))
            return fold_unrolled(fold, body, length, rounds - 1, number, error);
        rounds--;
    }
    bool good = true;
    if (fold->nothing_shared) {
        leave_out_rounds(l, fold_thread(fold, *number), rounds);
    } else {
        begin(l, body, *number);
        l->number = fold->builder->trace->recorded;
        hd_filter_loop(fold->filter, l->range, l->length, rounds, again);
        good = fold_plain(fold, rounds, error);
        l->length = 0;
    }
    hd_loop_advance(body, length, rounds);
    count_kinds(fold_thread(fold, *number), body, length, rounds);
    return hd_build_recorded(fold->builder, rounds * l->accesses, good ? error : NULL) && good;
}

/* How many rounds have no call that is marked. */
static uint64_t before_mark(struct hd_fold *fold, const struct hd_loop_event *body, size_t length,
                            uint32_t number) {
    const struct hd_fold_thread *thread = fold_thread(fold, number);
    uint64_t calls = 0;
    if (thread->mark == NULL) return 0; /* not known yet */
    for (size_t i = 0; i < length; i++)
        if (hd_wire_kind(body[i].event.head) != HD_EV_PUSH)
            calls += hd_wire_calls(body[i].event.tail);
    return fold_before_mark(thread) / (calls > 0 ? calls : 1);
}

bool hd_fold_loop(struct hd_fold *fold, struct hd_loop_event *body, size_t length, uint64_t rounds,
                  uint32_t *number, struct hd_error *error) {
    if (length == 0) return true;
    while (fold->marks != 0 && rounds > 0) {
        uint64_t some = before_mark(fold, body, length, *number);
        if (some >= rounds) break;
        if (some != 0 && !fold_some(fold, body, length, some, number, error)) return false;
        if (!fold_unrolled(fold, body, length, 1, number, error)) return false;
        rounds -= some + 1;
    }
    return rounds == 0 || fold_some(fold, body, length, rounds, number, error);
}
