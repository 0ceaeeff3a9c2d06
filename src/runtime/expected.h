/* Full recordings: is an access the one that is expected? What is inlined into the hooks. */
#ifndef HEDDLE_RUNTIME_EXPECTED_H
#define HEDDLE_RUNTIME_EXPECTED_H

#include "runtime/rt.h"

/* Is there nothing to be known about 8 bytes of memory before an access to them? */
RT_INLINE bool rt_owns(const struct rt_thread *t, uintptr_t address, unsigned shape) {
    uint8_t owner = *rt_word(address);
    return likely(owner == t->owner) || rt_owners_read(t, owner, shape);
}

/* The usual access of a full recording is of 8 bytes that are the thread's own (serial: where
 * nothing is marked), just as its link expects it, and there is nothing else to be told before it
 * (rt_close). True if it is; then it is counted. */
RT_INLINE bool rt_meets(struct rt_thread *t, uint32_t link, uintptr_t address) {
    struct hd_expect *e = &t->expect;
    struct hd_link *l = hd_link_at(e, link);
    if (unlikely(l->rest != t->passed)) return false; /* of no link it is 0 */
    if (unlikely(!rt_owns(t, address, l->shape))) return false;
    if (likely(l->operand == address))
        l->operand = address + l->stride;
    else if (!(l->flags & HD_LINK_RELATIVE) || e->operand + l->distance != address)
        return false;
    e->operand = address;
    e->before = link;
    e->at = likely(--l->count != 0) ? l->next : hd_link_turn(l);
    t->passed = 1;
    ++*t->met;
    return true;
}

/* The same from code that has no hook of ours: is it this access that is expected? */
RT_INLINE bool rt_as_expected(struct rt_thread *t, uintptr_t address, size_t size, bool write,
                              uintptr_t pc) {
    const struct hd_link *l = hd_link_at(&t->expect, t->expect.at);
    uintptr_t offset = pc - t->text_lo;
    return l->shape == ((write ? HD_EV_WRITE : HD_EV_READ) | (unsigned)size << 8) &&
           offset < t->text_size && l->site == t->site_base + (uint32_t)offset &&
           rt_meets(t, t->expect.at, address);
}

#endif
