/* Folds the rounds of a loop: see fold.h. With a filter, and plain accesses only, rounds that are
 * left out as a whole are passed over together; the others go through the filter some at a time,
 * and what is kept of them is appended in its order. */
#include "trace/fold_parts.h"

#include <string.h>

enum {
    BATCH = 2048,     /* accesses at once */
    LEAST_ROUNDS = 3, /* fewer are folded one by one */
    LOOK = 64,        /* rounds that are looked at together, at first */
    PAUSE = 8         /* rounds after which it is tried again, at first */
};

struct fold_loop {
    uint32_t thread;
    unsigned length; /* 0 between loops */
    size_t known;    /* length of the latest one, which is prepared */
    struct hd_filter_range range[HD_LOOP_LENGTH];
    struct hd_wire_event event[HD_LOOP_LENGTH]; /* of any round */
    /* calls and branches of a round before each event, and of all */
    uint64_t calls[HD_LOOP_LENGTH + 1], branches[HD_LOOP_LENGTH + 1];
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
    if (length > HD_LOOP_LENGTH) return false;
    for (size_t i = 0; i < length; i++) {
        if (!hd_loop_is_access(&body[i])) return false;
        uint32_t site = hd_wire_site(body[i].event.tail), slot = fold_place_slot(site);
        if (used[slot / 64] >> slot % 64 & 1) {
            size_t k = 0;
            while (k < i && hd_wire_site(body[k].event.tail) != site) k++;
            if (k == i) return false;
        }
        used[slot / 64] |= (uint64_t)1 << slot % 64;
    }
    return true;
}

/* Is it the latest loop again, elsewhere? */
static bool is_known(const struct fold_loop *l, const struct hd_loop_event *body, size_t length) {
    if (length != l->known) return false;
    for (size_t i = 0; i < length; i++)
        if (((body[i].event.head ^ l->event[i].head) & 0xffff) != 0 ||
            body[i].event.tail != l->event[i].tail ||
            hd_loop_signed(body[i].stride) != l->range[i].stride)
            return false;
    return true;
}

static void prepare(struct fold_loop *l, const struct hd_loop_event *body, size_t length) {
    uint64_t calls = 0, branches = 0;
    for (size_t i = 0; i < length; i++) {
        uint64_t head = body[i].event.head, tail = body[i].event.tail;
        l->range[i].stride = hd_loop_signed(body[i].stride);
        l->range[i].site = hd_wire_site(tail);
        l->range[i].bytes = (uint16_t)hd_wire_flags(head);
        l->range[i].write = hd_wire_kind(head) == HD_EV_WRITE;
        l->event[i] = body[i].event;
        l->calls[i] = calls;
        l->branches[i] = branches;
        calls += hd_wire_calls(tail);
        branches += hd_wire_branches(tail);
    }
    l->calls[length] = calls;
    l->branches[length] = branches;
    l->known = length;
}

static void begin(struct fold_loop *l, const struct hd_loop_event *body, uint32_t thread) {
    l->thread = thread;
    l->length = l->not_noted = (unsigned)l->known;
    for (size_t i = 0; i < l->known; i++) {
        l->range[i].address = hd_wire_operand(body[i].event.head);
        l->noted[i] = false;
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
    fold_note_place(thread, l->range[i].site);
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
    struct hd_trace *trace = fold->builder->trace;
    struct hd_fold_thread *thread = fold_thread(fold, l->thread);
    uint64_t hook_calls = 0;
    for (; l->appended < l->batch.count; l->appended++) {
        struct hd_filter_kept kept = l->kept[l->appended];
        struct hd_wire_event event = l->event[kept.range];
        uint32_t at = fold_append(trace, l->thread, (event.head & 0xffff) | kept.address << 16,
                                  hd_wire_site(event.tail), thread->stack);
        uint64_t calls = kept.round * l->calls[l->length] + l->calls[kept.range + 1];
        uint64_t branches = kept.round * l->branches[l->length] + l->branches[kept.range + 1];
        uint64_t all_calls = fold_add(thread->calls, calls - l->counted_calls);
        uint64_t all_branches = fold_add(thread->branches, branches - l->counted_branches);
        hook_calls = fold_add(hook_calls, all_calls);
        trace->calls[at] = all_calls > UINT32_MAX ? UINT32_MAX : (uint32_t)all_calls;
        trace->branches[at] = all_branches > UINT16_MAX ? UINT16_MAX : (uint16_t)all_branches;
        thread->calls = thread->branches = 0;
        l->counted_calls = calls;
        l->counted_branches = branches;
    }
    trace->hook_calls = fold_add(trace->hook_calls, hook_calls);
}

void fold_loop_catch_up(struct hd_fold *fold) {
    struct fold_loop *l = fold->loop;
    if (l->length == 0) return;
    append_kept(fold);
    note_up_to(fold, (size_t)l->batch.round * l->length + l->batch.range + 1);
}

/* ---- rounds -------------------------------------------------------------------------------- */

/* What was left out counts for the next event of the thread. */
static void leave_out(struct hd_fold_thread *thread, uint64_t calls, uint64_t branches) {
    thread->calls = fold_add(thread->calls, calls);
    thread->branches = fold_add(thread->branches, branches);
    thread->pending = thread->calls != 0 || thread->branches != 0;
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
    uint64_t calls, branches;
    if (__builtin_mul_overflow(l->calls[l->length], rounds, &calls)) calls = UINT64_MAX;
    if (__builtin_mul_overflow(l->branches[l->length], rounds, &branches)) branches = UINT64_MAX;
    leave_out(thread, calls, branches);
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
    if (!hd_build_reserve(fold->builder, accesses, error)) return false;
    if (fold->sharing != NULL) ask_sharing(fold, rounds);
    fold->ahead = accesses;
    l->appended = l->noted_up_to = 0;
    l->counted_calls = l->counted_branches = 0;
    hd_filter_rounds(fold->filter, l->thread, l->range, l->length, rounds,
                     fold->sharing != NULL ? l->passed : NULL, &l->batch);
    append_kept(fold);
    note_up_to(fold, accesses);
    leave_out(fold_thread(fold, l->thread), rounds * l->calls[l->length] - l->counted_calls,
              rounds * l->branches[l->length] - l->counted_branches);
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

bool hd_fold_loop(struct hd_fold *fold, struct hd_loop_event *body, size_t length, uint64_t rounds,
                  uint32_t *number, struct hd_error *error) {
    if (length == 0 || rounds == 0) return true;
    struct fold_loop *l = fold->loop;
    bool again = l != NULL && is_known(l, body, length);
    if (fold->filter == NULL || rounds < LEAST_ROUNDS || *number >= HD_THREAD_LIMIT ||
        (!again && !is_plain(body, length)))
        return fold_unrolled(fold, body, length, rounds, number, error);
    /* an extra value goes with the first event */
    if (fold_thread(fold, *number)->has_extra) {
        if (!fold_unrolled(fold, body, length, 1, number, error)) return false;
        rounds--;
    }
    if (*number >= fold->thread_limit) fold->thread_limit = *number + 1;
    if (l == NULL) l = fold->loop = hd_zalloc(1, sizeof *fold->loop);
    if (!again) prepare(l, body, length);
    begin(l, body, *number);
    hd_filter_loop(fold->filter, l->range, l->length, rounds, again);
    bool good = fold_plain(fold, rounds, error);
    l->length = 0;
    hd_loop_advance(body, length, rounds);
    fold->builder->trace->recorded += rounds * length;
    return good;
}
