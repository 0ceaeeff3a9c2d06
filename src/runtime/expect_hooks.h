/* What becomes of an access that is not as expected, in hooks that are calls (expect_hooks.c) and
 * in those that are stores (expect_blocks.c). */
#ifndef HEDDLE_RUNTIME_EXPECT_HOOKS_H
#define HEDDLE_RUNTIME_EXPECT_HOOKS_H

#include "runtime/expected.h"

#pragma GCC visibility push(hidden)

/* Hooks of a block that were passed, from the one to before the other: they are told one by one,
 * with nothing in between. */
void rt_tell_hooks(struct rt_thread *t, struct hd_hook *first, unsigned from, unsigned to);
/* The last hook of a block, the others being told. */
void rt_tell_last_hook(uintptr_t address, struct hd_hook *last);
/* The functions of blocks whose hooks are stores, by hd_hook_stored. */
rt_hook_function *rt_block_function(bool free, unsigned stored);

#pragma GCC visibility pop

/* The usual access that is not as expected: nothing else is to be told before it, and there is room
 * in the chunk. True if it is one; then it is stored. */
RT_INLINE bool rt_misses(struct rt_thread *t, const struct hd_hook *place, uintptr_t address) {
    struct hd_expect *e = &t->expect;
    const struct hd_expected *l = hd_link_at(e, place->link);
    uintptr_t end = address + (place->shape >> 8) - 1;
    if (l->shape == 0 || t->closed || t->passed >> 32 != 0 || t->chunk == NULL ||
        t->put >= t->put_end || (end >> 3) - (address >> 3) > 1 ||
        !rt_owns_now(t, address, &l->shape))
        return false;
    uint64_t met = HD_MET(*t->met);
    uint8_t *at = t->put;
    if (*t->choices != 0) at = hd_token_put_choices(at, *t->choices);
    uint32_t counts = (uint32_t)t->passed;
    at = hd_token_put(at, e, place->link, address, counts, met);
    t->calls_emitted += met - t->met_seen + 1;
    t->branches_emitted += hd_counts_branches(counts);
    t->passed = HD_COUNTS_CALL;
    rt_put(t, at);
    uint32_t before = e->at != place->link ? e->before : 0;
    rt_window_open(t, place->link);
    rt_window_open(t, before);
    hd_expect_learn(e, place->link, l->shape | (uint64_t)address << 16,
                    l->site | (uint64_t)counts << 32, met);
    rt_window_close(t, place->link);
    rt_window_close(t, before);
    return true;
}

/* The access is as expected but for its address, and its link strays (expect.h), which is the usual
 * miss where memory is found through hashes. Does it go on straying? */
RT_INLINE bool rt_goes_on_straying(const struct hd_expected *l, uintptr_t address,
                                   uint64_t distance) {
    unsigned flags = l->flags & (HD_LINK_STRAYS | HD_LINK_TURNS | HD_LINK_TURNING | RT_LINK_SURE);
    return flags == HD_LINK_STRAYS && hd_link_strays_on(l, address, distance);
}

/* Its record, behind so many accesses that came as expected. */
RT_INLINE uint8_t *rt_put_stray(struct rt_thread *t, uint8_t *token, const struct hd_expected *l,
                                const struct hd_hook *place, uintptr_t address, uint64_t met) {
    struct hd_expect *e = &t->expect;
    unsigned shift = (unsigned)__builtin_ctz(place->shape >> 8), control = 0;
    uint8_t *at = token + 1;
    if (unlikely(met != e->met[0])) at = hd_token_put_met(at, &control, met, e->met[0]);
    hd_expect_counted(e, met);
    at = hd_token_put_operand(at, &control, address, l->operand, l->operand + l->other, shift);
    *token = (uint8_t)control;
    return at;
}

/* What its link expects then, if it goes on straying. */
RT_INLINE void rt_strayed(struct rt_thread *t, struct hd_expected *l, const struct hd_hook *place,
                          uintptr_t address, uint64_t distance) {
    hd_link_strayed_on(l, address, distance);
    if (l->flags & RT_LINK_WINDOW)
        --*rt_after(t, place->link);
    else
        l->count--;
}

/* The same whatever becomes of the link; the accesses before it in its block that were passed and
 * not counted go into the record. `latest`: the one before it. False if it is not so; then nothing
 * has happened. */
RT_INLINE bool rt_strays(struct rt_thread *t, struct hd_expected *l, uintptr_t address,
                         const struct hd_hook *place, unsigned passed, uintptr_t latest) {
    unsigned flags = l->flags & (HD_LINK_STRAYS | HD_LINK_TURNS | HD_LINK_TURNING);
    if (flags != HD_LINK_STRAYS || t->put >= t->put_end) return false;
    uint64_t met = HD_MET(*t->met) + passed, distance = address - latest;
    uint8_t *at = t->put;
    if (unlikely(*t->choices != 0)) at = hd_token_put_choices(at, *t->choices);
    at = rt_put_stray(t, at, l, place, address, met);
    if (likely(rt_goes_on_straying(l, address, distance))) {
        rt_strayed(t, l, place, address, distance);
    } else {
        rt_window_open(t, place->link);
        hd_link_strayed(l, address, distance);
        bool relative = (l->flags & HD_LINK_RELATIVE) != 0;
        if (relative) l->stride = address;
        l->operand = relative ? HD_LINK_NOWHERE : address + l->stride;
        l->distance = distance;
        l->count--; /* it does not turn */
        rt_window_close(t, place->link);
    }
    t->left -= passed + 1;
    t->calls_emitted += met - t->met_seen + 1;
    rt_put(t, at);
    t->expect.operand = address;
    t->block_counted = place->index + 1u;
    return true;
}

#endif
