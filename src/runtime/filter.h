/* The filter that keeps repeated accesses out of the trace: what is inlined into the hooks. The
 * cell's layout and what it means stand in rt.h. */
#ifndef HEDDLE_RUNTIME_FILTER_H
#define HEDDLE_RUNTIME_FILTER_H

#include "runtime/rt.h"

#include <emmintrin.h>

#pragma GCC visibility push(hidden)

RT_INLINE uint32_t rt_slot_of(const struct rt_thread *t, uintptr_t address, uintptr_t pc) {
    return (uint32_t)(address + pc * 8) - t->salt;
}

/* Bit i of *hit: slot i is this one; of *same: slot i is of the same offset (or empty). */
RT_INLINE void rt_match(const struct rt_cell *cell, uint32_t slot, unsigned *hit, unsigned *same) {
    __m128i slots = _mm_loadu_si128((const __m128i *)cell->slot);
    __m128i difference = _mm_xor_si128(slots, _mm_set1_epi32((int)slot));
    __m128i zero = _mm_setzero_si128();
    *hit = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(difference, zero)));
    /* The salt is a multiple of eight: slots of one offset agree in their low bits. */
    __m128i offset = _mm_and_si128(difference, _mm_set1_epi32(7));
    *same = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(offset, zero)));
}

/* What the hook at a site does: its size, and bit 7 if it writes; 0 for what has no fixed size. */
extern uint8_t *rt_shape;
void rt_shape_map(void);
RT_INLINE void rt_note_shape(uint32_t site, size_t size, bool write) {
    if (unlikely(rt_shape == NULL)) rt_shape_map();
    rt_shape[site] = (uint8_t)(size | (write ? 0x80 : 0));
}

/* ---- an access that may be left out -----------------------------------------------------------
 */

/* An access is left out that is not of the latest slot. */
void rt_leave_out(struct rt_thread *t, struct rt_cell *cell, uintptr_t address, unsigned i);

enum { RT_UNKNOWN = -1, RT_KNOWN = 4 };

/* Slot i of the cell was found. RT_UNKNOWN if the step to it is not recorded; otherwise the access
 * is noted as the latest: RT_KNOWN, or i if rt_leave_out has to do that. */
RT_INLINE int rt_step_known(struct rt_cell *cell, unsigned i) {
    uint32_t low = cell->low;
    if (unlikely(low >> RT_LATEST_SHIFT & ~rt_steps_to(low, i) & 15)) return RT_UNKNOWN;
    if (low >> (RT_LATEST_SHIFT + i) & 1) return RT_KNOWN;
    if (unlikely((low & (RT_CELL_MIXED | RT_CELL_LISTED)) != RT_CELL_LISTED)) return (int)i;
    cell->low = (low & ~(15u << RT_LATEST_SHIFT)) | 1u << (RT_LATEST_SHIFT + i);
    return RT_KNOWN;
}

RT_INLINE int rt_look_up(const struct rt_thread *t, struct rt_cell *cell, uint32_t slot) {
    if (cell->epoch != t->epoch) return RT_UNKNOWN;
    if (likely(cell->slot[0] == slot)) return rt_step_known(cell, 0);
    if (cell->slot[1] == slot) return rt_step_known(cell, 1);
    if (cell->slot[2] == slot) return rt_step_known(cell, 2);
    if (cell->slot[3] == slot) return rt_step_known(cell, 3);
    return RT_UNKNOWN;
}

/* ---- an access that is recorded ---------------------------------------------------------------
 */

RT_INLINE void rt_take_cell(struct rt_thread *t, struct rt_cell *cell, uint32_t slot) {
    cell->owner = (uint64_t)t->epoch << 32 | (uint64_t)t->owner_tag << RT_TAG_SHIFT |
                  (1u << RT_LATEST_SHIFT | 1u << RT_RECORDED_SHIFT);
    _mm_storeu_si128((__m128i *)cell->slot, _mm_cvtsi32_si128((int)slot));
}

/* Enters it into a cell that this epoch has touched before. */
void rt_remember_more(struct rt_thread *t, struct rt_cell *cell, uintptr_t address, uint32_t slot);

RT_INLINE void rt_remember(struct rt_thread *t, struct rt_cell *cell, uintptr_t address,
                           uint32_t slot) {
    if (cell->epoch == t->epoch) {
        uint32_t low = cell->low;
        if (cell->slot[1] != 0 || cell->slot[0] == slot || cell->slot[0] == 0) {
            rt_remember_more(t, cell, address, slot);
            return;
        }
        /* The second slot: of the same offset, and then a step from the first; or of another. */
        cell->slot[1] = slot;
        if (((slot ^ cell->slot[0]) & 7) == 0)
            cell->low = (low & ~RT_LATEST_RECORDED(0)) | 1u << 4 | RT_LATEST_RECORDED(1);
        else
            cell->low = low | RT_CELL_MIXED | 0x12u | RT_LATEST_RECORDED(1);
        return;
    }
    rt_flush_cell(t, cell, address);
    rt_take_cell(t, cell, slot);
}

/* Free: enters it, and takes a place in the global order where it needs one. */
void rt_remember_free(struct rt_thread *t, struct rt_cell *cell, uintptr_t address, uint32_t slot,
                      bool write);
/* Free: do the accesses of the epoch that owns the cell stand before this thread's last stamp? */
bool rt_is_past(const struct rt_thread *t, uint64_t owner);

/* Free: a read by one of several threads that read this cell, recorded since the last write to it.
 * The salt tells the threads' slots apart. */
RT_INLINE bool rt_shared_known(const struct rt_cell *cell, uint32_t slot) {
    if (RT_TAG(cell->low) != RT_TAG_SHARED) return false;
    return cell->slot[0] == slot || cell->slot[1] == slot || cell->slot[2] == slot ||
           cell->slot[3] == slot;
}

#pragma GCC visibility pop

#endif
