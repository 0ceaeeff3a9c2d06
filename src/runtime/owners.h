/* A byte for every 8 bytes of memory (shadow.c): under serial what nobody may access there
 * (marks.c), under free whose they are (owners.c). Part of rt.h, which includes it behind the
 * thread record. */
#ifndef HEDDLE_RUNTIME_RT_H
#include "runtime/rt.h"
#elif !defined(HEDDLE_RUNTIME_OWNERS_H)
#define HEDDLE_RUNTIME_OWNERS_H

#pragma GCC visibility push(hidden)

/* It is all that an access has to know of memory if it comes as expected and the byte is the
 * thread's `owner`. One piece of address space, wherever the system puts it; NULL if it gives none.
 * Its pages are there when they are touched. */
extern uint8_t *rt_words;
bool rt_words_map(void);
#define RT_ADDRESS_BITS 47
RT_INLINE uint8_t *rt_word(uintptr_t address) {
    return rt_words + (address << (64 - RT_ADDRESS_BITS) >> (64 - RT_ADDRESS_BITS + 3));
}

/* A thread has two bytes, 1 + 2 * number and the next one (rt_owners_at_barrier). */
#define RT_OWNER_THREADS 0x78u
/* Threads have only read it since its last write. Programs work in phases, and what was read in one
 * is written in the next: so it is kept apart when memory became shared (rt_owners_phase). */
#define RT_OWNER_SHARED 0xf1u /* and RT_SHARINGS - 1 more */
#define RT_OWNER_OTHER 0xfeu  /* nobody in particular: whoever comes takes a stamp */
#define RT_OWNER_NONE 0xfdu   /* of a thread that there is no byte for: nothing is its own */
/* An access to 8 bytes that are not the thread's: they are now, if that takes no stamp. */
bool rt_owners_take(struct rt_thread *t, uintptr_t address, bool write);
void rt_owners_pass(struct rt_thread *t, uintptr_t address, size_t size, bool write);
bool rt_owners_atomic(uintptr_t address, unsigned log_size);
void rt_owners_mutex(struct rt_thread *t, uintptr_t address);
/* Many threads are at one point of the program: what they do after it is another phase. And each of
 * them is at a barrier, behind its stamp there. */
void rt_owners_phase(void);
void rt_owners_at_barrier(struct rt_thread *t);
/* Free: is it a read of memory that several threads read, and does it need no stamp, nor have to be
 * told to writers? */
RT_INLINE bool rt_owners_read(const struct rt_thread *t, uint8_t owner, unsigned shape) {
    unsigned sharing = owner - RT_OWNER_SHARED;
    return sharing < RT_SHARINGS && (shape & 0xff) == HD_EV_READ &&
           atomic_load_explicit(&rt.shared_stamp[sharing], memory_order_relaxed) <
               t->shared_reads[sharing];
}
void rt_owners_block(struct rt_thread *t, uintptr_t address, size_t bytes);

#pragma GCC visibility pop

#endif
