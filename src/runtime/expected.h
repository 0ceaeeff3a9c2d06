/* Is an access the one that is expected? What is inlined into the hooks. */
#ifndef HEDDLE_RUNTIME_EXPECTED_H
#define HEDDLE_RUNTIME_EXPECTED_H

#include "runtime/windows.h"

/* Is there nothing to be known about 8 bytes of memory before an access to them? Its shape is
 * mostly not asked for. */
RT_INLINE bool rt_owns(const struct rt_thread *t, uintptr_t address, const uint16_t *shape) {
    uint8_t owner = *rt_word(address);
    return likely(owner == t->owner) || rt_owners_read(t, owner, *shape);
}

/* The same; memory that becomes the thread's own without a stamp is. */
RT_INLINE bool rt_owns_word(struct rt_thread *t, uintptr_t address, const uint16_t *shape) {
    return rt_owns(t, address, shape) || rt_owners_take(t, address, (*shape & 0xff) == HD_EV_WRITE);
}

/* The same of an access, to one word or two. */
RT_INLINE bool rt_owns_now(struct rt_thread *t, uintptr_t address, const uint16_t *shape) {
    uintptr_t end = address + (*shape >> 8) - 1;
    return rt_owns_word(t, address, shape) &&
           (likely((end ^ address) >> 3 == 0) || rt_owns_word(t, end, shape));
}

/* Its link has a choice: does the access take one of the two steps, and is there room to say which?
 */
RT_INLINE bool rt_chooses(struct rt_thread *t, struct hd_expected *l, uintptr_t address) {
    bool second = address == l->distance + l->other, first = address == l->distance + l->stride;
    if (unlikely(!(second | first) || t->choice == 0)) return false;
    *t->choices |= t->choice & (0 - (uint64_t)second);
    t->choice <<= 1;
    hd_link_choose(l, address, second);
    return true;
}

/* Is it the access that its link expects? Then the link expects the next one. To be asked when all
 * else is as expected. */
RT_INLINE bool rt_fits(struct rt_thread *t, struct hd_expected *l, uintptr_t address) {
    struct hd_expect *e = &t->expect;
    if (likely(l->operand == address))
        l->operand = address + l->stride;
    else if (l->flags & HD_LINK_EITHER
                 ? !rt_chooses(t, l, address)
                 : !(l->flags & HD_LINK_RELATIVE) || e->operand + l->distance != address)
        return false;
    e->operand = address;
    return true;
}

/* So many accesses have come as expected, the last one with this link. */
RT_INLINE void rt_met(struct rt_thread *t, uint32_t link, unsigned accesses) {
    struct hd_expected *l = hd_link_at(&t->expect, link);
    *t->met += accesses;
    t->passed = HD_COUNTS_CALL;
    t->expect.before = link;
    t->expect.at = likely(--l->count != 0) ? l->next : hd_link_turn(l);
}

/* An access with the link that is expected, whose call was counted. There is nothing else to be
 * told before it (rt_close). */
RT_INLINE bool rt_meets(struct rt_thread *t, uint32_t link, uintptr_t address) {
    struct hd_expected *l = hd_link_at(&t->expect, link);
    if (unlikely(l->rest != t->passed)) return false; /* of no link it is 0 */
    if (unlikely(!rt_owns(t, address, &l->shape))) return false;
    rt_window_open(t, link);
    bool fits = rt_fits(t, l, address);
    if (likely(fits)) rt_met(t, link, 1);
    rt_window_close(t, link);
    return fits;
}

/* The same from code that has no hook of ours: is it this access that is expected? */
RT_INLINE bool rt_as_expected(struct rt_thread *t, uintptr_t address, size_t size, bool write,
                              uintptr_t pc) {
    const struct hd_expected *l = hd_link_at(&t->expect, t->expect.at);
    uintptr_t offset = pc - t->text_lo;
    return l->shape == ((write ? HD_EV_WRITE : HD_EV_READ) | (unsigned)size << 8) &&
           offset < t->text_size && l->site == t->site_base + (uint32_t)offset &&
           rt_meets(t, t->expect.at, address);
}

#endif
