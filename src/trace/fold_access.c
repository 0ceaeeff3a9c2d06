/* Folds runs of plain accesses, and the locks and calls between them, which most events are: see
 * fold_parts.h. What they need of the thread and the filter is looked up once; whatever is not
 * simple goes the long way by itself. */
#include "trace/expect.h"
#include "trace/filter_access.h"
#include "trace/fold_parts.h"
#include "trace/sharing_cells.h"

/* Calls, or branches, that a run may begin with, and events of it: sums fit 32 bits. */
#define MOST_PENDING ((uint64_t)1 << 31)
#define MOST_EVENTS ((size_t)1 << 15)

/* Is the access kept? Has what must stand before it put in. */
static bool keeps(struct hd_fold *fold, struct hd_fold_thread *thread, uint32_t number,
                  uint64_t head, uint32_t site, struct hd_pages *shared) {
    uint64_t address = hd_wire_operand(head);
    unsigned bytes = hd_wire_flags(head);
    if (fold->sharing != NULL) {
        int known = shared != NULL ? hd_sharing_known(shared, address, bytes) : -1;
        if (unlikely(known < 0)) known = hd_sharing_access(fold->sharing, address, bytes);
        if (known == 0) return false;
    }
    fold_note_place(thread, site);
    return filter_access_single(fold->filter, number, hd_wire_kind(head) == HD_EV_WRITE, address,
                                (uint16_t)bytes, site);
}

/* One access, the long way; false if that failed. */
static __attribute__((noinline)) bool fold_one(struct hd_fold *fold, struct hd_fold_thread *thread,
                                               uint32_t number, struct hd_wire_event event,
                                               struct hd_pages *shared) {
    struct hd_trace *trace = fold->builder->trace;
    unsigned calls = hd_wire_calls(event.tail), branches = hd_wire_branches(event.tail);
    uint32_t site = hd_wire_site(event.tail);
    bool kept = keeps(fold, thread, number, event.head, site, shared);
    if (unlikely(fold->error.code != HD_OK)) return false;
    if (!kept) {
        fold_leave_out(thread, calls, branches);
        return true;
    }
    trace->hook_calls = fold_add(trace->hook_calls, calls);
    uint32_t at = fold_append(trace, number, event.head, site, thread->stack, fold->number);
    trace->branches[at] = (uint16_t)branches;
    trace->calls[at] = calls;
    if (thread->pending) fold_pending(fold, thread, at);
    return true;
}

static inline __attribute__((always_inline)) void
look_ahead(const struct hd_fold *fold, const struct hd_pages *shared, uint64_t head) {
    uint64_t word = hd_wire_operand(head) >> 3;
    if (shared != NULL) hd_pages_prefetch(shared, word);
    hd_pages_prefetch(&fold->filter->pages, word);
}

static inline uint64_t key_of(struct hd_wire_event event) {
    return hd_link_key(event.head, event.tail);
}

/* Calls in the lower half, branches in the upper one: two sums in one. */
static inline uint64_t counts_of(uint64_t tail) {
    return hd_wire_calls(tail) | (uint64_t)hd_wire_branches(tail) << 32;
}

/* What the long way changes, and the short one relies on. */
struct known {
    struct filter_thread *thread;
    bool simple;     /* nothing is pending but counts, which are here and not in the thread */
    uint32_t epoch;  /* 0: there is no short way through the filter */
    uint64_t counts; /* pending */
};

static inline void find_known(const struct hd_fold *fold, const struct hd_fold_thread *thread,
                              uint32_t number, struct known *known) {
    bool few = thread->calls < MOST_PENDING && thread->branches < MOST_PENDING;
    known->simple = few && !thread->has_extra;
    known->thread = filter_thread_of(fold->filter, number);
    known->epoch = known->simple && !fold->filter->tables->full ? known->thread->epoch : 0;
    known->counts = known->simple ? thread->calls | thread->branches << 32 : 0;
}

/* An access that goes the short way begins the thread's epoch. Not if the filter has to begin
 * again, which puts accesses in. */
static inline void begin_epoch(struct hd_filter *filter, struct known *known) {
    if (filter->epochs == CELL_EPOCH || filter->tables->full) return;
    if (known->thread->epoch == 0) filter_begin_epoch(filter, known->thread);
    known->epoch = known->thread->epoch;
}

static void give_back(struct hd_fold_thread *thread, const struct known *known) {
    if (!known->simple) return; /* the thread has it */
    thread->calls = (uint32_t)known->counts;
    thread->branches = known->counts >> 32;
    thread->pending = known->counts != 0;
}

/* Accesses, of whose kinds this is the sum. */
static inline void count_kinds(struct hd_fold_thread *thread, uint64_t accesses, uint64_t kinds) {
    _Static_assert(HD_EV_READ == 1 && HD_EV_WRITE == 2, "each write adds one more");
    thread->kinds[HD_EV_WRITE] += kinds - accesses;
    thread->kinds[HD_EV_READ] += 2 * accesses - kinds;
}

/* A lock, a call or a return between accesses; false if it has to go the long way, and nothing was
 * changed. */
static inline __attribute__((always_inline)) bool
fold_between(struct hd_fold *fold, struct hd_fold_thread *thread, uint32_t number,
             struct hd_wire_event event, uint64_t place, struct known *known,
             uint64_t *hook_calls) {
    unsigned kind = hd_wire_kind(event.head);
    if (!known->simple) return false;
    if (!hd_kind_is_lock(kind)) {
        if (kind != HD_EV_PUSH && kind != HD_EV_POP) return false;
        if (kind == HD_EV_POP) known->counts += counts_of(event.tail); /* a PUSH has none */
        fold_follow_call(fold, thread, event);
        return true;
    }
    struct filter_thread *t = known->thread;
    uint32_t site = hd_wire_site(event.tail);
    if (t->listed.size != 0) return false; /* something is put in */
    if (fold_begins_round(kind) && !fold_poll_begins(fold, number, event.head, site)) return false;
    filter_end_epoch(fold->filter, t);
    known->epoch = 0;
    thread->kinds[kind]++;
    known->counts += counts_of(event.tail);
    *hook_calls += (uint32_t)known->counts;
    fold_append_kept(fold->builder->trace, number, event.head, site, thread->stack, place,
                     (uint32_t)known->counts, known->counts >> 32);
    known->counts = 0;
    return true;
}

/* `after`: events that come after these. */
static inline __attribute__((always_inline)) size_t
fold_run(struct hd_fold *fold, struct hd_fold_thread *thread, uint32_t number,
         const struct hd_wire_event *event, size_t count, size_t after, struct hd_pages *shared,
         uint64_t *place) {
    struct hd_trace *trace = fold->builder->trace;
    struct hd_filter *filter = fold->filter;
    struct known known;
    uint32_t stack = thread->stack;
    uint64_t hook_calls = 0, skipped = 0, kept = 0, kinds = 0, between = 0;
    uint64_t first = *place; /* the number of the first event, if there were no calls */
    size_t i = 0;
    fold_need_places(thread);
    find_known(fold, thread, number, &known);
    for (; i < count; kinds += hd_wire_kind(event[i++].head)) {
        uint64_t head = event[i].head, tail = event[i].tail, address = hd_wire_operand(head);
        uint32_t site = hd_wire_site(tail);
        if (i + FOLD_LOOK_AHEAD < count) look_ahead(fold, shared, event[i + FOLD_LOOK_AHEAD].head);
        unsigned bytes = hd_wire_flags(head);
        int keep = -1, is_shared = 1;
        struct filter_recent *recent = filter_recent_slot(filter, site);
        bool quick = recent->quick == key_of(event[i]);
        if (!likely(quick) && !fold_is_access(head)) {
            if (!fold_between(fold, thread, number, event[i], first + i, &known, &hook_calls))
                break;
            stack = thread->stack;
            if (hd_wire_kind(head) > HD_EV_THREAD) first--;
            kinds -= hd_wire_kind(head);
            between++;
            continue;
        }
        if (shared != NULL) {
            is_shared = hd_sharing_known(shared, address, bytes);
            if (is_shared == 0 && likely(known.simple)) {
                known.counts += counts_of(tail);
                skipped++;
                continue;
            }
        }
        if (likely(quick && known.simple && is_shared > 0)) {
            if (known.epoch == 0) begin_epoch(filter, &known);
            if (likely(known.epoch != 0))
                keep = filter_access_quick(filter, known.thread, known.epoch, address, bytes,
                                           &recent->range);
        }
        if (unlikely(keep < 0)) {
            if (!fold_is_access(head)) break;
            give_back(thread, &known);
            fold->number = first + i;
            fold->ahead = count - i + after;
            if (!fold_one(fold, thread, number, event[i], shared)) break;
            find_known(fold, thread, number, &known);
            skipped++;
            continue;
        }
        *fold_place_of(thread, site) = (struct hd_fold_place){site, stack};
        known.counts += counts_of(tail);
        if (keep == 0) continue;
        kept++;
        hook_calls += (uint32_t)known.counts;
        fold_append_kept(trace, number, head, site, stack, first + i, (uint32_t)known.counts,
                         known.counts >> 32);
        known.counts = 0;
    }
    give_back(thread, &known);
    count_kinds(thread, i - between, kinds);
    trace->hook_calls = fold_add(trace->hook_calls, hook_calls);
    filter->figures.accesses += i - between - skipped;
    filter->figures.kept += kept;
    *place = first + i;
    return i;
}

size_t fold_pass_accesses(struct hd_fold_thread *thread, const struct hd_wire_event *event,
                          size_t count) {
    uint64_t counts = 0, kinds = 0;
    size_t some = count < MOST_EVENTS ? count : MOST_EVENTS, i = 0;
    for (; i < some && fold_is_access(event[i].head); i++) {
        counts += counts_of(event[i].tail);
        kinds += hd_wire_kind(event[i].head);
    }
    count_kinds(thread, i, kinds);
    fold_leave_out(thread, (uint32_t)counts, counts >> 32);
    return i;
}

size_t fold_accesses(struct hd_fold *fold, struct hd_fold_thread *thread, uint32_t number,
                     const struct hd_wire_event *event, size_t count, struct hd_pages *shared,
                     uint64_t *place) {
    size_t some = count < MOST_EVENTS ? count : MOST_EVENTS, after = count - some;
    if (shared == NULL) return fold_run(fold, thread, number, event, some, after, NULL, place);
    return fold_run(fold, thread, number, event, some, after, shared, place);
}
