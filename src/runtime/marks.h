/* Marks: bytes that nobody may access, because their block is freed or ends before them. They are
 * kept only under serial. */
#ifndef HEDDLE_RUNTIME_MARKS_H
#define HEDDLE_RUNTIME_MARKS_H

#include "runtime/rt.h"

#include <string.h>

#pragma GCC visibility push(hidden)

/* All bytes of the range are marked so (enum hd_misuse). */
void rt_mark(uintptr_t address, size_t bytes, unsigned misuse);
/* This word is used to synchronise, by code that knows nothing of atomic variables. */
void rt_mark_order(uintptr_t address);
/* Memory that is given out: nothing in the range is marked any more. */
void rt_unmark(uintptr_t address, size_t bytes);
/* The same of a block, of which all but the first `bytes` of `usable` ones is marked. */
void rt_mark_rest(uintptr_t block, size_t bytes, size_t usable);

/* Which pages may have marks; two pages 256 MB apart share a bit. It is all that an access that
 * is recorded looks at where nothing is marked, and small enough to stay in the cache. */
#define RT_MARK_PAGES 65536u
extern uint64_t rt_marked_pages[RT_MARK_PAGES / 64];

RT_INLINE bool rt_may_be_marked(uintptr_t address) {
    return rt_marked_pages[address >> 18 & (RT_MARK_PAGES / 64 - 1)] >> (address >> 12 & 63) & 1;
}

bool rt_marks_look(struct rt_thread *t, uintptr_t address, size_t size, bool write, uint32_t site);

/* Is it known at once that none of up to eight words has a mark? Their page may have some, so there
 * are rt_words. */
RT_INLINE bool rt_has_no_marks(uintptr_t address, size_t size) {
    uint64_t marks;
    uintptr_t more = ((address + size - 1) >> 3) - (address >> 3); /* words after the first */
    if (unlikely(more > 7)) return false;
    memcpy(&marks, rt_word(address), sizeof marks);
    return marks << (56 - 8 * more) == 0;
}

/* An access is about to be recorded: is it one to marked bytes? The first such access of a run is
 * noted in the session. True if its first byte is of a word that rt_mark_order has marked.
 * `one_page`: it does not cross a page's end. */
RT_INLINE bool rt_look_at_marks(struct rt_thread *t, uintptr_t address, size_t size, bool write,
                                uint32_t site, bool one_page) {
    if (unlikely(rt_may_be_marked(address)) ||
        (!one_page && unlikely(size > 4096 || rt_may_be_marked(address + size - 1))))
        return !rt_has_no_marks(address, size) && rt_marks_look(t, address, size, write, site);
    return false;
}

#pragma GCC visibility pop

#endif
