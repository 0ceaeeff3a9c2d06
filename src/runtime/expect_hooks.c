/* Full recordings: the hooks of code that `heddle cc` has assembled. An access that comes as
 * expected is counted, a few instructions in all; one that does not is stored. Hooks of straight
 * code form blocks, which are counted by their last hook (events.h). */
#include "runtime/expected.h"

/* The usual access that is not as expected: nothing else is to be told before it, and there is room
 * in the chunk. True if it is one; then it is stored. */
RT_INLINE bool misses(struct rt_thread *t, const struct rt_hook *place, uintptr_t address) {
    struct hd_expect *e = &t->expect;
    const struct hd_expected *l = hd_link_at(e, place->link);
    uint64_t met = HD_MET(*t->met);
    uintptr_t end = address + (place->shape >> 8) - 1;
    if (l->shape == 0 || t->closed || t->passed >> 32 != 0 || t->chunk == NULL ||
        t->cursor == t->chunk_end || met > 0xffff || (end >> 3) - (address >> 3) > 1 ||
        !rt_owns(t, address, l->shape) ||
        (unlikely((end ^ address) >> 3 != 0) && !rt_owns(t, end, l->shape)))
        return false;
    uint64_t head = l->shape | (uint64_t)address << 16, tail = l->site | t->passed << 32;
    struct hd_wire_event *event = t->cursor;
    event->tail = met != 0 ? hd_tail_with_calls(tail, met) : tail;
    __atomic_store_n(&event->head, met != 0 ? head | HD_WIRE_AFTER : head, __ATOMIC_RELEASE);
    t->cursor = event + 1;
    *t->met = (uint64_t)(t->cursor - t->chunk->event) << HD_MET_BITS;
    t->calls_emitted += met - t->met_seen + 1;
    t->met_seen = 0;
    t->branches_emitted += t->passed >> 16;
    t->passed = 1;
    hd_expect_learn(e, place->link, head, tail, met);
    return true;
}

/* Does the hook before it in the block lead to this one, and with the counts of straight code; at
 * turns, too? */
static bool is_chained(const struct rt_thread *t, const struct rt_hook *place) {
    const struct hd_expected *before = hd_link_at(&t->expect, place[-1].link);
    const struct hd_expected *l = hd_link_at(&t->expect, place->link);
    return place[-1].link != 0 && before->next == place->link && l->rest == 1 &&
           l->other_rest == 1 && (before->exit == 0 || before->exit == place->link);
}

/* A hook of a block, not the first, has gone the slow way: what became of the block? */
static void look_at_block(const struct rt_thread *t, const struct rt_hook *place) {
    struct hd_expected *first = hd_link_at(&t->expect, place[-place->index].link);
    if (!is_chained(t, place)) {
        first->flags &= (uint16_t)~RT_LINK_BLOCK;
        return;
    }
    if (place->more != 0 || first->flags & RT_LINK_BLOCK) return;
    for (const struct rt_hook *p = place - 1; p->index != 0; p--)
        if (!is_chained(t, p)) return;
    first->flags |= RT_LINK_BLOCK;
}

RT_INLINE void slow_hook(struct rt_thread *t, uintptr_t address, struct rt_hook *place,
                         uintptr_t pc) {
    bool run = rt_count(t), write = (place->shape & 0xff) == HD_EV_WRITE;
    size_t size = place->shape >> 8;
    if (likely(run)) {
        const struct hd_expected *l = hd_link_at(&t->expect, place->link);
        bool may = t->expect.at == place->link && (address & 7) + size <= 8 &&
                   (l->operand == address || l->flags & HD_LINK_RELATIVE);
        if ((may && rt_meets(t, place->link, address)) || misses(t, place, address)) return;
    }
    t->hook_link = place->link;
    rt_access_slow(address, size, write, pc);
    t->hook_link = 0;
    if (unlikely(!rt_is_link(place->link)) && t->expects) {
        uint32_t site = rt_site(t, pc);
        if (site != 0) place->link = rt_link_of((uint64_t)place->shape << 32 | site);
    }
}

RT_NOINLINE static void hook_slow(uintptr_t address, struct rt_hook *place, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    rt_settle(t);
    slow_hook(t, address, place, pc);
    if (unlikely(!t->expects)) return; /* it ends, or is not known yet */
    if (place->index != 0) look_at_block(t, place);
    t->slow_block = place->more != 0 ? place : NULL;
}

/* ---- an aligned access of 1 to 8 bytes: alone, or the first, the next and the last of a block ---
 */

/* One within a block: what is expected next is the next hook's link (look_at_block), also at a
 * turn. */
RT_INLINE void goes_on(struct hd_expected *l) {
    if (unlikely(--l->count == 0)) hd_link_turn(l);
}

static void expect_access(uintptr_t address, struct rt_hook *place) {
    struct rt_thread *t = &rt_self;
    struct hd_expect *e = &t->expect;
    uint32_t link = place->link;
    struct hd_expected *l = hd_link_at(e, link);
    if (unlikely(t->left <= 0 || e->at != link || l->rest != t->passed ||
                 !rt_fits(t, l, address))) {
        hook_slow(address, place, RT_CALLER);
        return;
    }
    t->left--;
    rt_met(t, link, 1);
}

static void expect_first(uintptr_t address, struct rt_hook *place) {
    struct rt_thread *t = &rt_self;
    uint32_t link = place->link;
    struct hd_expected *l = hd_link_at(&t->expect, link);
    if (unlikely(t->left <= place->more || t->expect.at != link || l->rest != t->passed ||
                 !(l->flags & RT_LINK_BLOCK) || !rt_fits(t, l, address))) {
        hook_slow(address, place, RT_CALLER);
        return;
    }
    goes_on(l);
    t->block = place;
}

static void expect_next(uintptr_t address, struct rt_hook *place) {
    struct rt_thread *t = &rt_self;
    struct hd_expected *l = hd_link_at(&t->expect, place->link);
    if (unlikely(t->block != place - 1 || !rt_fits(t, l, address))) {
        hook_slow(address, place, RT_CALLER);
        return;
    }
    goes_on(l);
    t->block = place;
}

static void expect_last(uintptr_t address, struct rt_hook *place) {
    struct rt_thread *t = &rt_self;
    struct hd_expect *e = &t->expect;
    uint32_t link = place->link;
    struct hd_expected *l = hd_link_at(e, link);
    unsigned hooks = place->index + 1u;
    if (unlikely(t->block != place - 1 || !rt_fits(t, l, address))) {
        hook_slow(address, place, RT_CALLER);
        return;
    }
    t->block = NULL;
    t->left -= hooks;
    rt_met(t, link, hooks);
}

/* One that may be of more than 8 bytes, or lie anywhere. */
static void expect_wide(uintptr_t address, struct rt_hook *place) {
    struct rt_thread *t = &rt_self;
    struct hd_expect *e = &t->expect;
    uint32_t link = place->link;
    struct hd_expected *l = hd_link_at(e, link);
    uintptr_t end = address + (place->shape >> 8) - 1;
    if (unlikely(t->left <= 0 || e->at != link || l->rest != t->passed ||
                 (end >> 3) - (address >> 3) > 1 || !rt_owns(t, end, l->shape) ||
                 !rt_fits(t, l, address))) {
        hook_slow(address, place, RT_CALLER);
        return;
    }
    t->left--;
    rt_met(t, link, 1);
}

void rt_hooks_expect(void) {
    static rt_hook_function *const role[] = {expect_access, expect_first, expect_next, expect_last};
    for (unsigned i = 0; i < RT_TABLE; i++)
        __heddle_table[i] = i < RT_TABLE_WIDE ? role[i / RT_TABLE_SHAPES] : expect_wide;
}
