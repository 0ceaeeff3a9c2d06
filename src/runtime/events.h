/* The event path: what is written, and what of it came as expected. Part of rt.h, which includes it
 * between the thread record and what builds on both. */
#ifndef HEDDLE_RUNTIME_RT_H
#include "runtime/rt.h"
#elif !defined(HEDDLE_RUNTIME_EVENTS_H)
#define HEDDLE_RUNTIME_EVENTS_H

#pragma GCC visibility push(hidden)

void rt_chunk_next(struct rt_thread *t);
void rt_chunk_submit(struct rt_thread *t); /* hands the thread's chunk to the parent as it is */
void rt_chunks_reset(void);
void rt_emit_stack(struct rt_thread *t);
/* A PUSH or POP is expected: is it this one? */
bool rt_push_expected(struct rt_thread *t, struct rt_frame *f);
bool rt_pop_expected(struct rt_thread *t);
void rt_emit_counts(struct rt_thread *t, uint64_t calls, uint64_t branches);

/* Puts one event into the chunk, as it is. */
RT_INLINE void rt_store_raw(struct rt_thread *t, uint64_t head, uint64_t tail) {
    if (unlikely(t->cursor == t->chunk_end)) rt_chunk_next(t);
    struct hd_wire_event *event = t->cursor;
    event->tail = tail;
    __atomic_store_n(&event->head, head, __ATOMIC_RELEASE);
    t->cursor = event + 1;
}

/* ---- what came as expected (expect.c) ----------------------------------------------------------
 */

/* A place in the program where an access is made, as `heddle cc` has put it into the program's data
 * for every hook that it calls through __heddle_table. */
struct rt_hook {
    uint32_t link;  /* of its events, in every thread's table; 0: none yet */
    uint16_t shape; /* kind, and size << 8 */
    uint8_t index;  /* among the hooks of a block, */
    uint8_t more;   /* and how many of them come after it */
};
_Static_assert(sizeof(struct rt_hook) == 8, "as src/toolchain/assembler.c writes it");

/* Hooks of a *block* follow each other whatever the program does: their code has no branch, no
 * label and no other call in between. So only the first of them looks whether it is the one that is
 * expected, and only the last one counts. RT_LINK_BLOCK, a flag of the first one's link: the links
 * of all are known, and each leads to the next. */
#define RT_LINK_BLOCK 0x8000u
void rt_settle_slow(struct rt_thread *t);
/* Counts the hooks of a block that were passed, which is not over: a signal's handler comes in
 * between, or a hook is not as expected. */
RT_INLINE void rt_settle(struct rt_thread *t) {
    if (unlikely(t->block != NULL)) rt_settle_slow(t);
}
/* A signal's handler comes in: what is between two hooks of a block may change. */
void rt_settle_for_handler(struct rt_thread *t);

/* The table of functions that compiled code calls: by a hook's role in its block (alone, first,
 * next, last), then by kind and size (reads of 1, 2, 4, 8 bytes; writes); behind these the one for
 * hooks of more bytes, or that are not aligned. */
#define RT_TABLE_SHAPES 8u
#define RT_TABLE_WIDE (4u * RT_TABLE_SHAPES)
#define RT_TABLE (RT_TABLE_WIDE + 1)
typedef void rt_hook_function(uintptr_t address, struct rt_hook *place);
extern RT_HOOK rt_hook_function *__heddle_table[RT_TABLE];
void rt_hooks_expect(void); /* a full recording begins that keeps expectations */

/* Compiled code adds this to `passed` at every branch. */
#define RT_PASSED (1u << 16)

void rt_expect_begin(struct rt_thread *t);
void rt_expect_end(struct rt_thread *t);
uint32_t rt_link_of(uint64_t key); /* for all threads; 0: there are too many */
void rt_links_forget(void);        /* in a forked child, whose sites have other numbers */
bool rt_is_link(uint32_t link);    /* not one of before that, nor 0 */

/* What comes next can't be as expected, whatever it is: a call was counted that left no event, or
 * the call stack is not what the trace knows. The next event opens it again. So an access that is
 * expected need not look at the call stack, nor at how many calls there were before it. */
RT_INLINE void rt_close(struct rt_thread *t) {
    t->closed_left = INT64_MIN;
    if (t->closed) return;
    t->closed = true;
    t->closed_at = t->expect.at;
    t->expect.at = 0;
}
RT_INLINE void rt_open(struct rt_thread *t) {
    if (!t->closed) return;
    t->closed = false;
    t->expect.at = t->closed_at;
}

/* Accesses that came as expected are counted in the chunk only. Each was a call and an event. */
RT_INLINE void rt_catch_up(struct rt_thread *t) {
    uint64_t met = HD_MET(*t->met);
    t->calls_emitted += met - t->met_seen;
    t->met_seen = met;
}
RT_INLINE uint64_t rt_calls_emitted(const struct rt_thread *t) {
    return t->calls_emitted + HD_MET(*t->met) - t->met_seen;
}

/* An event that counts no call, or whose call is counted elsewhere, came as expected. */
RT_INLINE void rt_count_met(struct rt_thread *t) {
    ++*t->met;
    t->met_seen++;
}

void rt_store_expecting(struct rt_thread *t, uint64_t head, uint64_t tail);
void rt_store_met(struct rt_thread *t); /* what was counted so far */

RT_INLINE void rt_store(struct rt_thread *t, uint64_t head, uint64_t tail) {
    if (likely(!t->expects))
        rt_store_raw(t, head, tail);
    else
        rt_store_expecting(t, head, tail);
}

/* The thread has no chunk: before it gives one away, which others may write to from then on. */
RT_INLINE void rt_stream_none(struct rt_thread *t) {
    if (t->met != NULL) rt_catch_up(t);
    t->chunk = NULL;
    t->cursor = t->chunk_end = NULL;
    t->nowhere = t->met_seen = 0;
    t->met = &t->nowhere;
}

/* The chunk that the thread writes to from now on. What was counted in it before is of whoever
 * wrote to it. */
RT_INLINE void rt_stream_is(struct rt_thread *t, struct hd_wire_chunk *chunk,
                            struct hd_wire_event *cursor, struct hd_wire_event *end) {
    rt_stream_none(t);
    t->chunk = chunk;
    t->cursor = cursor;
    t->chunk_end = end;
    if (chunk == NULL) return; /* what nobody drains */
    t->met = &chunk->expected;
    t->met_seen = HD_MET(*t->met);
}

/* ---- events ------------------------------------------------------------------------------------
 */

/* Writes one event of this thread: its call stack if that changed, its counts, itself. */
RT_INLINE void rt_emit(struct rt_thread *t, unsigned kind, unsigned flags, uint64_t operand,
                       uint32_t site) {
    if (unlikely(t->frame != t->frame_emitted || t->frame_low != t->frame_emitted))
        rt_emit_stack(t);
    uint64_t now = rt_calls(t);
    rt_catch_up(t);
    uint64_t calls = now - t->calls_emitted, branches = t->passed >> 16;
    t->calls_emitted = now;
    t->branches_emitted += branches;
    t->passed = 1;
    if (unlikely((calls | branches) >> 16)) {
        rt_emit_counts(t, calls, branches);
        calls = branches = 0;
    }
    rt_store(t, hd_wire_head(kind, flags, operand),
             hd_wire_tail(site, (unsigned)calls, (unsigned)branches));
    rt_open(t);
}
RT_INLINE void rt_emit_extra(struct rt_thread *t, uint64_t value, uint32_t site) {
    rt_store(t, hd_wire_head(HD_EV_EXT, 0, value & ((1ull << 48) - 1)), site);
}

/* A new place in the global order for what follows (free); nothing under serial. */
RT_INLINE void rt_stamp(struct rt_thread *t) {
    if (rt.mode == HD_SCHED_FREE) {
        t->stamp = atomic_fetch_add(&rt.stamp, 1) + 1;
        if (unlikely(rt.full))
            atomic_store_explicit(&rt.slot[t->number].stamp, t->stamp, memory_order_release);
        rt_store(t, hd_wire_head(HD_EV_STAMP, 0, t->stamp), 0);
    }
}

/* Ends the thread's epoch: what it does from here on is recorded anew. An epoch has a number that
 * no other has; under free it is the low half of the stamp that it begins with. */
RT_INLINE void rt_new_epoch(struct rt_thread *t) {
    if (rt.mode == HD_SCHED_FREE) {
        while (t->epoch == (uint32_t)t->stamp || (uint32_t)t->stamp == 0) rt_stamp(t);
        t->epoch = (uint32_t)t->stamp;
        t->salt = t->epoch * 0x9e3779b1u << 3;
        struct rt_slot *slot = &rt.slot[t->number];
        atomic_store_explicit(&slot->epoch_stamp, t->stamp, memory_order_relaxed);
        atomic_store_explicit(&slot->epoch, t->epoch, memory_order_release);
    } else {
        t->epoch = atomic_fetch_add_explicit(&rt.epochs, 1, memory_order_relaxed) + 1;
        if (unlikely(t->epoch == 0)) t->epoch = atomic_fetch_add(&rt.epochs, 1) + 1;
    }
}

void rt_flush_all(struct rt_thread *t);
/* Records the accesses that were deferred in the thread's epoch, before anything that ends it. */
RT_INLINE void rt_flush(struct rt_thread *t) {
    if (t->deferred_count != 0) rt_flush_all(t);
}

/* A synchronisation event: stamped, and the thread's epoch ends. */
RT_INLINE void rt_emit_sync(struct rt_thread *t, unsigned kind, unsigned flags, uint64_t operand,
                            uintptr_t pc) {
    uint32_t site = rt_site(t, pc);
    rt_flush(t);
    rt_stamp(t);
    rt_emit(t, kind, flags, operand, site);
    rt_new_epoch(t);
}
RT_INLINE void rt_emit_sync_extra(struct rt_thread *t, unsigned kind, unsigned flags,
                                  uint64_t operand, uint64_t extra, uintptr_t pc) {
    uint32_t site = rt_site(t, pc);
    rt_flush(t);
    rt_stamp(t);
    rt_emit_extra(t, extra, site);
    rt_emit(t, kind, flags, operand, site);
    rt_new_epoch(t);
}

#pragma GCC visibility pop

#endif
