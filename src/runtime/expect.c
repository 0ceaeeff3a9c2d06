/* Full recordings: events that came as expected (trace/expect.h) are only counted. The count is in
 * the chunk, where the parent finds it whatever becomes of the program. */
#include "runtime/rt.h"

void rt_expect_begin(struct rt_thread *t) {
    rt_expect_end(t);
    t->owner = 0;
    if (!rt.full) return;
    if (rt.mode == HD_SCHED_FREE)
        t->owner = t->number < RT_OWNER_MOST ? (uint8_t)(t->number + 1) : RT_OWNER_NONE;
    if (rt.check_only || rt.options.full == HD_FULL_DIRECT) return;
    t->expect = rt_map(sizeof *t->expect);
    hd_expect_nothing(t->expect);
}

void rt_expect_end(struct rt_thread *t) {
    if (t->expect != NULL) rt_unmap(t->expect, sizeof *t->expect);
    t->expect = NULL;
}

/* The events that are in the chunk are so many, and nothing was counted after them. */
static void count_anew(struct rt_thread *t) {
    if (t->chunk != NULL) *t->met = (uint64_t)(t->cursor - t->chunk->event) << 32;
}

void rt_store_met(struct rt_thread *t) {
    uint32_t met = t->expect != NULL ? (uint32_t)*t->met : 0;
    if (met == 0) return;
    if (unlikely(t->cursor == t->chunk_end)) { /* there it is stored first of all */
        rt_chunk_next(t);
        return;
    }
    rt_store_raw(t, hd_wire_head(HD_EV_EXPECTED, 0, met), 0);
    count_anew(t);
}

RT_NOINLINE void rt_store_unexpected(struct rt_thread *t, uint64_t head, uint64_t tail) {
    if (unlikely(t->cursor == NULL)) rt_chunk_next(t);
    uint32_t met = (uint32_t)*t->met;
    bool of_stream = hd_is_of_stream(head);
    uint64_t stored = head, stored_tail = tail;
    if (met != 0 && t->cursor != t->chunk_end && hd_carries_met(head, tail, met)) {
        stored |= HD_WIRE_AFTER;
        stored_tail = hd_tail_with_calls(tail, met);
    } else {
        rt_store_met(t);
        met = 0;
    }
    rt_store_raw(t, stored, stored_tail);
    count_anew(t);
    if (!of_stream) hd_expect_learn(t->expect, head, tail, met);
}
