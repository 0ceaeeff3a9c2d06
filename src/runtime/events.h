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

/* Counts the event if it was expected, else stores a record of it. */
void rt_store_record(struct rt_thread *t, uint64_t head, uint64_t tail);
/* Stores a record of what was counted so far, with its choices; the same of so much, for which
 * there is room. */
void rt_store_met(struct rt_thread *t);
void rt_put_met(struct rt_thread *t, uint64_t met, uint64_t choices);

/* Has the event go where events go: through rt_store_record, or into the chunk as it is. */
RT_INLINE void rt_store(struct rt_thread *t, uint64_t head, uint64_t tail) {
    if (likely(rt.records)) {
        rt_store_record(t, head, tail);
        return;
    }
    if (unlikely(t->cursor == t->chunk_end)) rt_chunk_next(t);
    struct hd_wire_event *event = t->cursor;
    event->tail = tail;
    __atomic_store_n(&event->head, head, __ATOMIC_RELEASE);
    t->cursor = event + 1;
}

/* ---- what came as expected (expect.c) ----------------------------------------------------------
 */

/* Hooks of a *block* follow each other whatever the program does: their code has no branch, no
 * label and no other call in between. So only the first of them looks whether it is the one that is
 * expected, and only the last one counts. RT_LINK_BLOCK, a flag of the first one's link: the links
 * of all are known, and each leads to the next. */
#define RT_LINK_BLOCK 0x8000u
void rt_settle_slow(struct rt_thread *t);
/* A signal's handler comes in: what is between two hooks of a block may change. */
void rt_settle_for_handler(struct rt_thread *t);
/* A signal came here (ucontext_t): if that is in a block whose hooks are stores, what was passed of
 * it is told now, and the last one of them has the rest (t->told). */
void rt_tell_passed(struct rt_thread *t, const void *context);

/* Where the address of a hook is stored: the last one's at the end, whatever the length of the
 * block. */
#define RT_BLOCK_LAST (HD_HOOK_BLOCK - 1)
RT_INLINE const uintptr_t *rt_stored(const struct rt_thread *t, const struct hd_hook *hook) {
    return &t->address[RT_BLOCK_LAST - hook->more];
}

/* A block is *open*: what its links expect next stands here, close together, for so many rounds in
 * which none of them comes to its end or is looked at for anything else. The links have it again
 * when it is closed: whoever uses one that may be the last of a block asks first (RT_LINK_OPEN). */
struct rt_open {
    const struct hd_hook *last; /* NULL: nothing is open here */
    uint64_t passed;
    uint64_t came; /* its first link, and its last one, as struct hd_expect has them before it, */
    uint64_t came_bits; /* in these bits: if its first is relative, in all of them */
    uint64_t both;      /* the link after it, and its last one, after it */
    uint32_t hooks;
    uint32_t rounds;      /* to come; if the first one has other counts (passed), it alone, */
    uint32_t more;        /* and those after it, */
    uint32_t passed_then; /* which have these */
    uint32_t begun;       /* rounds from the beginning */
    uint16_t shy;         /* it is not opened so often, because that was in vain */
    bool turns;   /* links that turn do so after the first round: all is looked at for that */
    bool follows; /* itself */
    _Alignas(HD_LINK_BYTES) uint64_t operand[HD_HOOK_BLOCK]; /* as t->address */
    uint64_t stride[HD_HOOK_BLOCK];
};
_Static_assert(sizeof(struct rt_open) == 17 * HD_LINK_BYTES, "as rt_open_of has it");
#define RT_OPEN_BLOCKS 64u /* at a time */
#define RT_LINK_OPEN 0x0400u
extern struct rt_open rt_nothing_open[RT_OPEN_BLOCKS]; /* of a thread that expects nothing */
RT_INLINE struct rt_open *rt_open_of(const struct rt_thread *t, uint32_t last) {
    uint32_t place = last & (RT_OPEN_BLOCKS - 1) * HD_LINK_BYTES;
    return (struct rt_open *)(t->open + place * 17);
}
/* So it is in a record that is all zeros, once this is said. */
RT_INLINE void rt_nothing_is_open(struct rt_thread *t) {
    t->open = (char *)rt_nothing_open;
    t->open_at = 0;
    t->repeats = rt_nothing_open;
}
/* A block that follows itself *repeats*: nothing is expected but itself, and what came last is
 * known to it alone. Whatever else comes ends that first. */
RT_INLINE bool rt_repeats(const struct rt_thread *t) { return t->repeats != rt_nothing_open; }
RT_INLINE void rt_end_repeats(struct rt_thread *t) {
    const struct rt_open *o = t->repeats;
    if (likely(!rt_repeats(t))) return;
    t->expect.operand = o->operand[RT_BLOCK_LAST] - o->stride[RT_BLOCK_LAST];
    t->expect.both = o->both;
    t->repeats = rt_nothing_open;
}
/* The hooks of a block up to this one were passed, so many of them not counted yet. */
RT_INLINE void rt_count_passed(struct rt_thread *t, const struct hd_hook *place, unsigned passed) {
    t->left -= passed;
    *t->met += passed;
    t->passed = HD_COUNTS_CALL;
    t->expect.before = place->link;
    t->expect.at = hd_link_at(&t->expect, place->link)->next;
}
/* The same of a block that is not over: a signal's handler comes in between, or a hook is not as
 * expected. */
RT_INLINE void rt_settle(struct rt_thread *t) {
    rt_end_repeats(t);
    if (unlikely(t->block != NULL)) rt_settle_slow(t);
}
/* If that is worth it: at least so many rounds. */
void rt_open_block(struct rt_thread *t, const struct hd_hook *last, uint32_t least);
void rt_close_block(struct rt_thread *t, struct rt_open *open);
/* All its rounds have come: it is closed, links whose count is at 0 go on, and it is opened again
 * if that is worth it. */
void rt_turn_block(struct rt_thread *t, struct rt_open *open, uint32_t least);
/* The count of a link is at 0, for the end of its window or of its round. Returns the link that is
 * expected after it. */
uint32_t rt_link_ends(struct rt_thread *t, uint32_t link);
void rt_close_blocks(struct rt_thread *t); /* all of them */

/* Blocks whose hooks are stores (blocks.c). Where the hook's code ends, if it is of one, else 0;
 * the hook of such a block, not the last, behind which a signal came; NULL. */
uintptr_t rt_hook_end(const struct hd_hook *hook);
const struct hd_hook *rt_hook_passed(const void *context);
void rt_blocks_closed(void); /* modules were */
void rt_blocks_choose(void); /* by the options: rt.whole_blocks, rt.stores */

/* The functions that compiled code calls (trace/hook.h). */
typedef void rt_hook_function(uintptr_t address, struct hd_hook *place);
extern RT_HOOK rt_hook_function *__heddle_table[HD_HOOK_FUNCTIONS];
void rt_hooks_expect(void); /* a recording begins that keeps expectations */
void rt_hooks_pass(void);   /* the process is not recorded, and never will be */

/* Branches since the latest event: compiled code adds one to `passed` at each. */
RT_INLINE uint64_t rt_branches(const struct rt_thread *t) { return t->passed - HD_COUNTS_CALL; }

#define RT_LINKS (1u << 18) /* places in the program that may have one */
void rt_expect_begin(struct rt_thread *t);
void rt_expect_end(struct rt_thread *t);
uint32_t rt_link_of(uint64_t key); /* for all threads; 0: there are too many */
void rt_links_forget(void);        /* in a forked child, whose sites have other numbers */
bool rt_is_link(uint32_t link);    /* not one of before that, nor 0 */

/* What comes next can't be as expected, whatever it is: a call was counted that left no event, or
 * the call stack is not what the trace knows. The next event opens it again. So an access that is
 * expected need not look at the call stack, nor at how many calls there were before it. */
RT_INLINE void rt_close(struct rt_thread *t) {
    rt_end_repeats(t);
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

/* Is the call stack all that keeps an access, whose call is not counted yet, from being expected?
 */
RT_INLINE bool rt_only_frames(const struct rt_thread *t) {
    return t->closed && t->closed_left == t->left;
}
/* Then the trace is told of the stack, and the access may be the one that is expected. A signal
 * that came meanwhile waits for the next slow path. */
void rt_tell_frames(struct rt_thread *t);

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

/* Records up to here are in the chunk, which tell of so many events more; nothing was counted after
 * them, and no choice made. */
RT_INLINE void rt_put_all(struct rt_thread *t, uint8_t *end, uint64_t events) {
    t->put = end;
    t->met_seen = 0;
    t->choice = 1;
    if (unlikely(t->chunk == NULL)) {
        t->nowhere = t->no_choices = 0;
        return;
    }
    uint64_t bytes = (uint64_t)(end - t->chunk->record);
    t->chunk->events += events;
    __atomic_store_n(t->met, bytes << HD_MET_BITS, __ATOMIC_RELEASE);
    *t->choices = 0; /* whoever finds nothing counted does not look there */
}
/* One record, of an event that was not counted. */
RT_INLINE void rt_put(struct rt_thread *t, uint8_t *end) {
    rt_put_all(t, end, HD_MET(*t->met) + 1);
}

/* The thread has no chunk: before it gives one away, which others may write to from then on. */
RT_INLINE void rt_stream_none(struct rt_thread *t) {
    if (t->met != NULL) rt_catch_up(t);
    t->chunk = NULL;
    t->cursor = t->chunk_end = NULL;
    t->put = t->put_end = NULL;
    t->nowhere = t->no_choices = t->met_seen = 0;
    t->met = &t->nowhere;
    t->choices = &t->no_choices;
}

/* The chunk that the thread writes to from now on. What was counted in it before is of whoever
 * wrote to it. */
RT_INLINE void rt_stream_is(struct rt_thread *t, struct hd_wire_chunk *chunk,
                            struct hd_wire_event *cursor, struct hd_wire_event *end) {
    rt_stream_none(t);
    t->chunk = chunk;
    t->cursor = cursor;
    t->chunk_end = end;
    if (rt.records && cursor != NULL) { /* which is of no use then */
        t->put =
            chunk != NULL ? chunk->record + (chunk->expected >> HD_MET_BITS) : (uint8_t *)cursor;
        uint8_t *limit = chunk != NULL ? chunk->record + HD_CHUNK_RECORDS : (uint8_t *)end;
        t->put_end = limit - 2 * HD_TOKEN_BYTES;
    }
    if (chunk == NULL) return; /* what nobody drains */
    t->met = &chunk->expected;
    t->choices = &chunk->choices;
    t->met_seen = HD_MET(*t->met);
    if (t->met_seen == 0) t->choice = 1; /* else it goes on, or its first record tells them */
}

/* ---- events ------------------------------------------------------------------------------------
 */

/* Writes one event of this thread: its call stack if that changed, its counts, itself. */
RT_INLINE void rt_emit(struct rt_thread *t, unsigned kind, unsigned flags, uint64_t operand,
                       uint32_t site) {
    rt_open(t);
    if (unlikely(t->frame != t->frame_emitted || t->frame_low != t->frame_emitted))
        rt_emit_stack(t);
    uint64_t now = rt_calls(t);
    rt_catch_up(t);
    uint64_t calls = now - t->calls_emitted, branches = rt_branches(t);
    t->calls_emitted = now;
    t->branches_emitted += branches;
    t->passed = HD_COUNTS_CALL;
    if (unlikely((calls | branches) >> 16)) {
        rt_emit_counts(t, calls, branches);
        calls = branches = 0;
    }
    rt_store(t, hd_wire_head(kind, flags, operand),
             hd_wire_tail(site, (unsigned)calls, (unsigned)branches));
}
RT_INLINE void rt_emit_extra(struct rt_thread *t, uint64_t value, uint32_t site) {
    rt_store(t, hd_wire_head(HD_EV_EXT, 0, value & ((1ull << 48) - 1)), site);
}

/* A new place in the global order for what follows (free); nothing under serial. */
RT_INLINE void rt_stamp(struct rt_thread *t) {
    if (rt.mode == HD_SCHED_FREE) {
        t->stamp = atomic_fetch_add(&rt.stamp, 1) + 1;
        for (unsigned i = 0; i < RT_SHARINGS; i++) t->shared_reads[i] = 0;
        atomic_store_explicit(&rt.slot[t->number].stamp, t->stamp, memory_order_release);
        rt_store(t, hd_wire_head(HD_EV_STAMP, 0, t->stamp), 0);
    }
}

/* A synchronisation event: stamped. */
RT_INLINE void rt_emit_sync(struct rt_thread *t, unsigned kind, unsigned flags, uint64_t operand,
                            uintptr_t pc) {
    uint32_t site = rt_site(t, pc);
    rt_stamp(t);
    rt_emit(t, kind, flags, operand, site);
}
RT_INLINE void rt_emit_sync_extra(struct rt_thread *t, unsigned kind, unsigned flags,
                                  uint64_t operand, uint64_t extra, uintptr_t pc) {
    uint32_t site = rt_site(t, pc);
    rt_stamp(t);
    rt_emit_extra(t, extra, site);
    rt_emit(t, kind, flags, operand, site);
}

#pragma GCC visibility pop

#endif
