/* The filter that keeps repeated accesses out of the trace: what is not inlined into the hooks. An
 * access that was left out may have to be recorded later (it is deferred); see struct rt_cell. */
#include "runtime/filter.h"

uint8_t *rt_shape;

RT_NOINLINE void rt_shape_map(void) {
    uint8_t *mine = rt_map(HD_SITE_LIMIT), *none = NULL;
    if (!__atomic_compare_exchange_n(&rt_shape, &none, mine, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        rt_unmap(mine, HD_SITE_LIMIT);
}

/* ---- deferred accesses --------------------------------------------------------------------------
 */

/* Records an access of a slot that was left out. It counts no call: its place among them is not
 * known, only that nobody else touched the location between it and where it stands now. */
static void emit_slot(struct rt_thread *t, const struct rt_cell *cell, uintptr_t base, unsigned i) {
    uintptr_t address = base | (cell->slot[i] & 7);
    uint32_t pc = (cell->slot[i] + t->salt - (uint32_t)address) >> 3;
    uint32_t site = rt.always_slow ? pc : rt_site_of_low(pc);
    uint8_t what = site != 0 && rt_shape != NULL ? rt_shape[site] : 0;
    if (what == 0) return;
    rt_store(t, hd_wire_head(what & 0x80 ? HD_EV_WRITE : HD_EV_READ, what & 0x7f, address), site);
}

/* Slot i is the latest of its offset; the latest recorded one is another. Records the shortest way
 * of recorded steps from that one to this: every step of it is one that the thread took. */
static void record_deferred(struct rt_thread *t, struct rt_cell *cell, uintptr_t base, unsigned i) {
    uint32_t low = cell->low;
    unsigned hit, same;
    rt_match(cell, cell->slot[i], &hit, &same);
    unsigned recorded = same & low >> RT_RECORDED_SHIFT & 15,
             into = rt_steps_to(low, i) & 15 & same;
    cell->low = (low & ~(same << RT_RECORDED_SHIFT)) | 1u << (RT_RECORDED_SHIFT + i);
    if (recorded != 0 && !(into & recorded)) {
        unsigned from = 0; /* slots a recorded step away from the recorded one */
        for (unsigned k = 0; k < 4; k++)
            if (same >> k & 1 && rt_steps_to(low, k) & recorded) from |= 1u << k;
        for (unsigned k = 0; k < 4 && !(from & into); k++) {
            if (!(into >> k & 1) || !(rt_steps_to(low, k) & from)) continue;
            emit_slot(t, cell, base, (unsigned)__builtin_ctz(rt_steps_to(low, k) & from));
            from = 1u << k;
        }
        if (from & into) emit_slot(t, cell, base, (unsigned)__builtin_ctz(from & into));
    }
    emit_slot(t, cell, base, i);
}

static void flush_own(struct rt_thread *t, struct rt_cell *cell, uintptr_t base) {
    for (unsigned deferred = rt_deferred(cell->low); deferred != 0; deferred &= deferred - 1)
        record_deferred(t, cell, base, (unsigned)__builtin_ctz(deferred));
    cell->low &= ~RT_CELL_LISTED;
}

RT_NOINLINE void rt_flush_all(struct rt_thread *t) {
    t->busy++;
    for (uint32_t i = 0; i < t->deferred_count; i++) {
        struct rt_cell *cell = rt_cell(t->deferred[i]);
        if (cell->epoch == t->epoch) flush_own(t, cell, t->deferred[i]);
    }
    t->deferred_count = 0;
    t->busy--;
}

/* The cell's epoch is some thread's present one, or nothing is deferred there. Only under serial
 * can another thread record it. */
RT_NOINLINE void rt_flush_cell_slow(struct rt_thread *t, struct rt_cell *cell, uintptr_t address) {
    uintptr_t base = address & ~(uintptr_t)7;
    if (cell->epoch == t->epoch) {
        flush_own(t, cell, base);
        return;
    }
    if (rt.mode != HD_SCHED_SERIAL) return;
    unsigned tag = RT_TAG(cell->low);
    uint32_t from = tag != RT_TAG_ALIEN ? tag - 1 : 0, to = tag != RT_TAG_ALIEN ? tag : rt.threads;
    for (uint32_t i = from; i < to; i++) {
        struct rt_thread *other = rt.slot[i].thread;
        if (other == NULL || other->epoch != cell->epoch) continue;
        rt_emit_as(t, other);
        flush_own(other, cell, base);
        rt_emit_back(t, other);
        break;
    }
}

void rt_deferred_free(struct rt_thread *t) {
    if (t->deferred != NULL) rt_unmap(t->deferred, t->deferred_room * sizeof *t->deferred);
    t->deferred = NULL;
    t->deferred_room = t->deferred_count = 0;
}

/* The cell goes on the list of those that may have deferred accesses when the epoch ends. */
RT_NOINLINE void rt_leave_out(struct rt_thread *t, struct rt_cell *cell, uintptr_t address,
                              unsigned i) {
    uint32_t low = cell->low;
    unsigned hit, same;
    rt_match(cell, cell->slot[i], &hit, &same);
    cell->low = (low & ~(same << RT_LATEST_SHIFT)) | 1u << (RT_LATEST_SHIFT + i) | RT_CELL_LISTED;
    if (low & RT_CELL_LISTED) return;
    if (t->deferred_count == t->deferred_room) {
        uint32_t room = t->deferred_room ? 2 * t->deferred_room : 1024;
        uintptr_t *larger = rt_map(room * sizeof *larger);
        uint32_t count = t->deferred_count;
        for (uint32_t k = 0; k < count; k++) larger[k] = t->deferred[k];
        rt_deferred_free(t);
        t->deferred = larger;
        t->deferred_room = room;
        t->deferred_count = count;
    }
    t->deferred[t->deferred_count++] = address & ~(uintptr_t)7;
}

/* ---- recorded accesses --------------------------------------------------------------------------
 */

/* Which of four slots makes room. Not a latest one, from which the next step will be; unless all
 * are, each then the only one of its offset. */
static unsigned victim(const struct rt_thread *t, uint32_t low) {
    unsigned index = (unsigned)t->left & 3, latest = low >> RT_LATEST_SHIFT & 15;
    while (latest != 15 && latest >> index & 1) index = (index + 1) & 3;
    return index;
}

RT_NOINLINE void rt_remember_more(struct rt_thread *t, struct rt_cell *cell, uintptr_t address,
                                  uint32_t slot) {
    static const uint16_t spread[16] = {0x0000, 0x0001, 0x0010, 0x0011, 0x0100, 0x0101,
                                        0x0110, 0x0111, 0x1000, 0x1001, 0x1010, 0x1011,
                                        0x1100, 0x1101, 0x1110, 0x1111};
    uintptr_t base = address & ~(uintptr_t)7;
    uint32_t low = cell->low;
    unsigned hit, same, index;
    rt_match(cell, slot, &hit, &same);
    __m128i slots = _mm_loadu_si128((const __m128i *)cell->slot);
    __m128i empty = _mm_cmpeq_epi32(slots, _mm_setzero_si128());
    unsigned used = ~(unsigned)_mm_movemask_ps(_mm_castsi128_ps(empty)) & 15;
    same &= used;
    if (hit & used) {
        index = (unsigned)__builtin_ctz(hit & used);
    } else {
        index = used == 15 ? victim(t, low) : (unsigned)__builtin_ctz(~used);
        if (used >> index & 1 && rt_deferred(low)) { /* it may be needed for the way */
            flush_own(t, cell, base);
            low = cell->low;
        }
        used &= ~(1u << index);
        same &= used;
        unsigned others = used & ~same; /* of other offsets: never the step before */
        low &= ~(0xfu << 4 * index | 0x1111u << index | RT_LATEST_RECORDED(index));
        low |= others << 4 * index | (uint32_t)spread[others] << index;
        if (others != 0) low |= RT_CELL_MIXED;
        cell->slot[index] = slot;
    }
    unsigned deferred = rt_deferred(low) & same;
    if (deferred) {
        cell->low = low;
        record_deferred(t, cell, base, (unsigned)__builtin_ctz(deferred));
        low = cell->low;
    }
    low |= (same & low >> RT_LATEST_SHIFT)
           << 4 * index; /* the step from the latest of this offset */
    low &= ~(same * RT_LATEST_RECORDED(0));
    cell->low = low | RT_LATEST_RECORDED(index);
}

/* They do if the epoch is over, and its thread's present one began before that stamp. */
bool rt_is_past(const struct rt_thread *t, uint64_t owner) {
    unsigned tag = RT_TAG(owner);
    if (tag >= RT_TAG_SHARED || tag == 0) return false;
    struct rt_slot *slot = &rt.slot[tag - 1];
    uint32_t present = atomic_load_explicit(&slot->epoch, memory_order_acquire);
    return present != (uint32_t)(owner >> 32) &&
           atomic_load_explicit(&slot->epoch_stamp, memory_order_relaxed) < t->stamp;
}

/* A place in the global order is needed when the location changes hands and nothing else has
 * ordered that. */
void rt_remember_free(struct rt_thread *t, struct rt_cell *cell, uintptr_t address, uint32_t slot,
                      bool write) {
    uint64_t owner = cell->owner;
    unsigned tag = RT_TAG(owner);
    bool own = tag == t->owner_tag && tag != RT_TAG_ALIEN;
    if (owner == 0 || own || (uint32_t)(owner >> 32) == t->epoch) {
        rt_remember(t, cell, address, slot);
    } else if (rt_is_past(t, owner)) {
        rt_take_cell(t, cell, slot);
    } else if (write) {
        rt_stamp(t);
        rt_take_cell(t, cell, slot);
    } else if (tag == RT_TAG_SHARED) {
        if ((int32_t)((uint32_t)t->stamp - (uint32_t)(owner >> 32)) < 0) rt_stamp(t);
        cell->slot[t->left & 3] = slot;
    } else {
        rt_stamp(t);
        _mm_storeu_si128((__m128i *)cell->slot, _mm_cvtsi32_si128((int)slot));
        cell->owner = (uint64_t)(uint32_t)t->stamp << 32 | (uint64_t)RT_TAG_SHARED << RT_TAG_SHIFT;
    }
}
