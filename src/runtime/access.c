/* Memory hooks: what gcc and clang call before every plain access under -fsanitize=thread, and the
 * filter that keeps repeated accesses out of the trace. The common path is a few instructions,
 * calls nothing and takes no lock. */
#include "runtime/rt.h"

#include <emmintrin.h>

/* Four short tails with constant shifts are faster than one with variable ones. */
#ifndef __clang__
#pragma GCC optimize("no-tree-tail-merge", "no-crossjumping")
#endif

/* Bit i of *hit: slot i is this one; of *same: slot i is of the same offset (or empty). */
RT_INLINE void match(const struct rt_cell *cell, uint32_t slot, unsigned *hit, unsigned *same) {
    __m128i slots = _mm_loadu_si128((const __m128i *)cell->slot);
    __m128i difference = _mm_xor_si128(slots, _mm_set1_epi32((int)slot));
    __m128i zero = _mm_setzero_si128();
    *hit = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(difference, zero)));
    /* The salt is a multiple of eight: slots of one offset agree in their low bits. */
    __m128i offset = _mm_and_si128(difference, _mm_set1_epi32(7));
    *same = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(offset, zero)));
}

RT_INLINE uint32_t slot_of(const struct rt_thread *t, uintptr_t address, uintptr_t pc) {
    return (uint32_t)(address + pc * 8) - t->salt;
}
/* Outside the fast path sites may be told apart exactly, should their addresses' low bits not do.
 */
static uint32_t slot_exactly(const struct rt_thread *t, uintptr_t address, uintptr_t pc,
                             uint32_t site) {
    return slot_of(t, address, rt.always_slow ? site : pc);
}

/* ---- accesses that were left out ---------------------------------------------------------- */

/* What the hook at a site does: its size, and bit 7 if it writes; 0 for what has no fixed size. */
static uint8_t *shape;

static void note_shape(uint32_t site, size_t size, bool write) {
    if (unlikely(shape == NULL)) {
        uint8_t *mine = rt_map(HD_SITE_LIMIT), *none = NULL;
        if (!__atomic_compare_exchange_n(&shape, &none, mine, false, __ATOMIC_ACQ_REL,
                                         __ATOMIC_ACQUIRE))
            rt_unmap(mine, HD_SITE_LIMIT);
    }
    shape[site] = (uint8_t)(size | (write ? 0x80 : 0));
}

/* Records an access of a slot that was left out. It counts no call: its place among them is not
 * known, only that nobody else touched the location between it and where it stands now. */
static void emit_slot(struct rt_thread *t, const struct rt_cell *cell, uintptr_t base, unsigned i) {
    uintptr_t address = base | (cell->slot[i] & 7);
    uint32_t pc = (cell->slot[i] + t->salt - (uint32_t)address) >> 3;
    uint32_t site = rt.always_slow ? pc : rt_site_of_low(pc);
    uint8_t what = site != 0 && shape != NULL ? shape[site] : 0;
    if (what == 0) return;
    rt_store(t, hd_wire_head(what & 0x80 ? HD_EV_WRITE : HD_EV_READ, what & 0x7f, address), site);
}

/* Slot i is the latest of its offset; the latest recorded one is another. Records the shortest way
 * of recorded steps from that one to this: every step of it is one that the thread took. */
static void pay(struct rt_thread *t, struct rt_cell *cell, uintptr_t base, unsigned i) {
    uint32_t low = cell->low;
    unsigned hit, same;
    match(cell, cell->slot[i], &hit, &same);
    unsigned recorded = same & low >> 20 & 15, into = low >> 4 * i & 15 & same;
    cell->low = (low & ~(same << 20)) | 1u << (20 + i);
    if (recorded != 0 && !(into & recorded)) {
        unsigned from = 0; /* slots a recorded step away from the recorded one */
        for (unsigned k = 0; k < 4; k++)
            if (same >> k & 1 && low >> 4 * k & recorded) from |= 1u << k;
        for (unsigned k = 0; k < 4 && !(from & into); k++) {
            if (!(into >> k & 1) || !(low >> 4 * k & from)) continue;
            emit_slot(t, cell, base, (unsigned)__builtin_ctz(low >> 4 * k & from));
            from = 1u << k;
        }
        if (from & into) emit_slot(t, cell, base, (unsigned)__builtin_ctz(from & into));
    }
    emit_slot(t, cell, base, i);
}

static void pay_own(struct rt_thread *t, struct rt_cell *cell, uintptr_t base) {
    for (unsigned owed = RT_OWED(cell->low); owed != 0; owed &= owed - 1)
        pay(t, cell, base, (unsigned)__builtin_ctz(owed));
    cell->low &= ~RT_OWNER_LISTED;
}

RT_NOINLINE void rt_pay_all(struct rt_thread *t) {
    t->busy++;
    for (uint32_t i = 0; i < t->owed_count; i++) {
        struct rt_cell *cell = rt_cell(t->owed[i]);
        if (cell->epoch == t->epoch) pay_own(t, cell, t->owed[i]);
    }
    t->owed_count = 0;
    t->busy--;
}

/* The cell's epoch is some thread's present one, or its debts are paid. Only under serial can they
 * be paid by another thread. */
RT_NOINLINE void rt_pay_cell(struct rt_thread *t, struct rt_cell *cell, uintptr_t address) {
    uintptr_t base = address & ~(uintptr_t)7;
    if (cell->epoch == t->epoch) {
        pay_own(t, cell, base);
        return;
    }
    if (rt.mode != HD_SCHED_SERIAL) return;
    unsigned tag = RT_TAG(cell->low);
    uint32_t from = tag != RT_TAG_ALIEN ? tag - 1 : 0, to = tag != RT_TAG_ALIEN ? tag : rt.threads;
    for (uint32_t i = from; i < to; i++) {
        struct rt_thread *other = rt.slot[i].thread;
        if (other == NULL || other->epoch != cell->epoch) continue;
        rt_emit_as(t, other);
        pay_own(other, cell, base);
        rt_emit_back(t, other);
        break;
    }
}

void rt_owed_forget(struct rt_thread *t) {
    if (t->owed != NULL) rt_unmap(t->owed, t->owed_room * sizeof *t->owed);
    t->owed = NULL;
    t->owed_room = t->owed_count = 0;
}

/* An access is left out that is not of the latest slot. The cell goes on the list of those that may
 * owe something when the epoch ends. */
RT_NOINLINE static void leave_out(struct rt_thread *t, struct rt_cell *cell, uintptr_t address,
                                  unsigned i) {
    uint32_t low = cell->low;
    unsigned hit, same;
    match(cell, cell->slot[i], &hit, &same);
    cell->low = (low & ~(same << 16)) | 1u << (16 + i) | RT_OWNER_LISTED;
    if (low & RT_OWNER_LISTED) return;
    if (t->owed_count == t->owed_room) {
        uint32_t room = t->owed_room ? 2 * t->owed_room : 1024;
        uintptr_t *larger = rt_map(room * sizeof *larger);
        uint32_t count = t->owed_count;
        for (uint32_t k = 0; k < count; k++) larger[k] = t->owed[k];
        rt_owed_forget(t);
        t->owed = larger;
        t->owed_room = room;
        t->owed_count = count;
    }
    t->owed[t->owed_count++] = address & ~(uintptr_t)7;
}

enum { UNKNOWN = -1, KNOWN = 4 };

/* Slot i of the cell was found. UNKNOWN if the step to it is not recorded; otherwise the access is
 * noted as the latest: KNOWN, or i if leave_out has to do that. */
RT_INLINE int step_known(struct rt_cell *cell, unsigned i) {
    uint32_t low = cell->low;
    if (unlikely((low >> 16) & ~(low >> 4 * i) & 15)) return UNKNOWN;
    if (low >> (16 + i) & 1) return KNOWN;
    if (unlikely((low & (RT_OWNER_MIXED | RT_OWNER_LISTED)) != RT_OWNER_LISTED)) return (int)i;
    cell->low = (low & ~(15u << 16)) | 1u << (16 + i);
    return KNOWN;
}

RT_INLINE int look_up(const struct rt_thread *t, struct rt_cell *cell, uint32_t slot) {
    if (cell->epoch != t->epoch) return UNKNOWN;
    if (likely(cell->slot[0] == slot)) return step_known(cell, 0);
    if (cell->slot[1] == slot) return step_known(cell, 1);
    if (cell->slot[2] == slot) return step_known(cell, 2);
    if (cell->slot[3] == slot) return step_known(cell, 3);
    return UNKNOWN;
}

/* True if the access adds nothing to what this epoch recorded; notes it as the latest. */
static bool known(struct rt_thread *t, struct rt_cell *cell, uintptr_t address, uint32_t slot) {
    int found = look_up(t, cell, slot);
    if (found >= 0 && found != KNOWN) leave_out(t, cell, address, (unsigned)found);
    return found != UNKNOWN;
}

/* ---- accesses that are recorded ----------------------------------------------------------- */

RT_INLINE void take_cell(struct rt_thread *t, struct rt_cell *cell, uint32_t slot) {
    cell->owner = (uint64_t)t->epoch << 32 | (uint64_t)t->owner_tag << RT_TAG_SHIFT | 0x11u << 16;
    _mm_storeu_si128((__m128i *)cell->slot, _mm_cvtsi32_si128((int)slot));
}

/* Which of four slots makes room. Not a latest one, from which the next step will be; unless all
 * are, each then the only one of its offset. */
static unsigned victim(const struct rt_thread *t, uint32_t low) {
    unsigned index = (unsigned)t->left & 3, latest = low >> 16 & 15;
    while (latest != 15 && latest >> index & 1) index = (index + 1) & 3;
    return index;
}

/* Enters an access that is going to be recorded into a cell that this epoch has touched before. */
RT_NOINLINE static void remember_more(struct rt_thread *t, struct rt_cell *cell, uintptr_t address,
                                      uint32_t slot) {
    static const uint16_t spread[16] = {0x0000, 0x0001, 0x0010, 0x0011, 0x0100, 0x0101,
                                        0x0110, 0x0111, 0x1000, 0x1001, 0x1010, 0x1011,
                                        0x1100, 0x1101, 0x1110, 0x1111};
    uintptr_t base = address & ~(uintptr_t)7;
    uint32_t low = cell->low;
    unsigned hit, same, index;
    match(cell, slot, &hit, &same);
    __m128i slots = _mm_loadu_si128((const __m128i *)cell->slot);
    __m128i empty = _mm_cmpeq_epi32(slots, _mm_setzero_si128());
    unsigned used = ~(unsigned)_mm_movemask_ps(_mm_castsi128_ps(empty)) & 15;
    same &= used;
    if (hit & used) {
        index = (unsigned)__builtin_ctz(hit & used);
    } else {
        index = used == 15 ? victim(t, low) : (unsigned)__builtin_ctz(~used);
        if (used >> index & 1 && RT_OWED(low)) { /* it may be needed for the way */
            pay_own(t, cell, base);
            low = cell->low;
        }
        used &= ~(1u << index);
        same &= used;
        unsigned others = used & ~same; /* of other offsets: never the step before */
        low &= ~(0xfu << 4 * index | 0x1111u << index | 0x11u << (16 + index));
        low |= others << 4 * index | (uint32_t)spread[others] << index;
        if (others != 0) low |= RT_OWNER_MIXED;
        cell->slot[index] = slot;
    }
    unsigned owed = RT_OWED(low) & same;
    if (owed) {
        cell->low = low;
        pay(t, cell, base, (unsigned)__builtin_ctz(owed));
        low = cell->low;
    }
    low |= (same & low >> 16) << 4 * index; /* the step from the latest of this offset */
    low &= ~(same * 0x11u << 16);
    cell->low = low | 0x11u << (16 + index);
}

RT_INLINE void remember(struct rt_thread *t, struct rt_cell *cell, uintptr_t address,
                        uint32_t slot) {
    if (cell->epoch == t->epoch) {
        uint32_t low = cell->low;
        if (cell->slot[1] != 0 || cell->slot[0] == slot || cell->slot[0] == 0) {
            remember_more(t, cell, address, slot);
            return;
        }
        /* The second slot: of the same offset, and then a step from the first; or of another. */
        cell->slot[1] = slot;
        if (((slot ^ cell->slot[0]) & 7) == 0)
            cell->low = (low & ~(0x11u << 16)) | 1u << 4 | 0x11u << 17;
        else
            cell->low = low | RT_OWNER_MIXED | 0x12u | 0x11u << 17;
        return;
    }
    rt_settle_cell(t, cell, address);
    take_cell(t, cell, slot);
}

/* Free: a read by one of several threads that read this cell, recorded since the last write to it.
 * The salt tells the threads' slots apart. */
RT_INLINE bool shared_known(const struct rt_cell *cell, uint32_t slot) {
    if (RT_TAG(cell->low) != RT_TAG_SHARED) return false;
    return cell->slot[0] == slot || cell->slot[1] == slot || cell->slot[2] == slot ||
           cell->slot[3] == slot;
}

/* Free: do the accesses of the epoch that owns the cell stand before this thread's last stamp? They
 * do if the epoch is over, and its thread's present one began before that stamp. */
static bool is_past(const struct rt_thread *t, uint64_t owner) {
    unsigned tag = RT_TAG(owner);
    if (tag >= RT_TAG_SHARED || tag == 0) return false;
    struct rt_slot *slot = &rt.slot[tag - 1];
    uint32_t present = atomic_load_explicit(&slot->epoch, memory_order_acquire);
    return present != (uint32_t)(owner >> 32) &&
           atomic_load_explicit(&slot->epoch_stamp, memory_order_relaxed) < t->stamp;
}

/* Free: enters an access into its cell, and takes a place in the global order where it needs one,
 * which is when the location changes hands and nothing else has ordered that. */
static void remember_free(struct rt_thread *t, struct rt_cell *cell, uintptr_t address,
                          uint32_t slot, bool write) {
    uint64_t owner = cell->owner;
    unsigned tag = RT_TAG(owner);
    bool own = tag == t->owner_tag && tag != RT_TAG_ALIEN;
    if (owner == 0 || own || (uint32_t)(owner >> 32) == t->epoch) {
        remember(t, cell, address, slot);
    } else if (is_past(t, owner)) {
        take_cell(t, cell, slot);
    } else if (write) {
        rt_stamp(t);
        take_cell(t, cell, slot);
    } else if (tag == RT_TAG_SHARED) {
        if ((int32_t)((uint32_t)t->stamp - (uint32_t)(owner >> 32)) < 0) rt_stamp(t);
        cell->slot[t->left & 3] = slot;
    } else {
        rt_stamp(t);
        _mm_storeu_si128((__m128i *)cell->slot, _mm_cvtsi32_si128((int)slot));
        cell->owner = (uint64_t)(uint32_t)t->stamp << 32 | (uint64_t)RT_TAG_SHARED << RT_TAG_SHIFT;
    }
}

RT_INLINE void emit_access(struct rt_thread *t, uintptr_t address, size_t size, bool write,
                           uint32_t site) {
    unsigned kind = write ? HD_EV_WRITE : HD_EV_READ;
    if (unlikely(size > 255)) rt_emit_extra(t, size);
    rt_emit(t, kind, size > 255 ? 0 : (unsigned)size, address, site);
}

RT_INLINE void leave(struct rt_thread *t) {
    t->busy--;
    if (unlikely(t->signals_pending && t->busy == 0)) rt_leave_signals(t);
}

/* An access within one cell that the filter did not know. */
RT_INLINE void record(struct rt_thread *t, struct rt_cell *cell, uint32_t slot, uintptr_t address,
                      size_t size, bool write, uint32_t site) {
    t->busy++;
    note_shape(site, size, write);
    if (rt.mode != HD_SCHED_FREE)
        remember(t, cell, address, slot);
    else
        remember_free(t, cell, address, slot, write);
    emit_access(t, address, size, write, site);
    leave(t);
}

/* The usual way out of the fast path: the thread may run, the cell exists. */
RT_NOINLINE static void record_read(uintptr_t address, size_t size, struct rt_cell *cell,
                                    uint32_t slot, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    record(t, cell, slot, address, size, false, rt_site(t, pc));
}
RT_NOINLINE static void record_write(uintptr_t address, size_t size, struct rt_cell *cell,
                                     uint32_t slot, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    record(t, cell, slot, address, size, true, rt_site(t, pc));
}

static bool may_run(struct rt_thread *t) {
    if (rt.mode == HD_SCHED_OFF || t->inside) return false;
    if (t->state != RT_RUNNING || t->suspect || t->signals_pending || rt_calls(t) >= t->slice_end)
        rt_sched_preempted(t);
    else if (rt_is_marked(t))
        rt_sched_marked(t);
    return rt.mode != HD_SCHED_OFF && !t->inside;
}

/* Accesses that the filter must let through. */
static bool unfiltered(const struct rt_thread *t) { return rt.full || rt_is_marked(t); }

static bool knows(const struct rt_thread *t, const struct rt_cell *cell, uint32_t slot) {
    uint64_t owner = cell->owner;
    if ((uint32_t)(owner >> 32) != t->epoch) return false;
    for (unsigned i = 0; i < 4; i++)
        if (cell->slot[i] == slot) return !((owner >> 16 & 15) & ~(owner >> 4 * i));
    return false;
}

/* Any access: over several cells, before the thread is known, when the quantum is over, in a full
 * recording. The call has been counted. */
RT_NOINLINE static void access_slow(uintptr_t address, size_t size, bool write, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    t->next_address = address;
    t->next_write = write;
    if (!may_run(t)) return;
    uint32_t site = rt_site(t, pc);
    rt_before_access(t, site, address, size);
    struct rt_cell *cell = rt_cell(address);
    size_t in_cell = 8 - (address & 7);
    if (cell == NULL || site == 0) {
        rt_access_range(t, address, size, write, pc);
        return;
    }
    uint32_t slot = slot_exactly(t, address, pc, site);
    if (size <= in_cell) {
        if (!unfiltered(t) &&
            (known(t, cell, address, slot) || (!write && shared_known(cell, slot))))
            return;
        record(t, cell, slot, address, size, write, site);
        return;
    }
    struct rt_cell *second = size - in_cell <= 8 ? rt_cell(address + in_cell) : NULL;
    if (second == NULL) {
        rt_access_range(t, address, size, write, pc);
        return;
    }
    /* The second cell's slot is one that emit_slot does not know: the first speaks for both. */
    uint32_t next = slot_exactly(t, address + in_cell, pc + 1, site + 1);
    if (!unfiltered(t) && knows(t, cell, slot) && knows(t, second, next)) {
        known(t, cell, address, slot);
        known(t, second, address + in_cell, next);
        return;
    }
    t->busy++;
    note_shape(site, size, write);
    if (rt.mode == HD_SCHED_FREE) {
        remember_free(t, cell, address, slot, write);
        remember_free(t, second, address + in_cell, next, write);
    } else {
        remember(t, cell, address, slot);
        remember(t, second, address + in_cell, next);
    }
    emit_access(t, address, size, write, site);
    leave(t);
}

/* A range is always recorded; its cells pass to this thread with nothing known about them. */
void rt_access_range(struct rt_thread *t, uintptr_t address, size_t size, bool write,
                     uintptr_t pc) {
    if (size == 0) return;
    uint32_t site = rt_site(t, pc);
    rt_before_access(t, site, address, size);
    t->busy++;
    bool stamp = false;
    uint64_t mine = (uint64_t)t->epoch << 32 | (uint64_t)t->owner_tag << RT_TAG_SHIFT;
    uintptr_t at = address & ~(uintptr_t)7, end = address + size;
    while (at < end) {
        struct rt_cell *cell = rt_cell(at);
        uintptr_t stop = (at >> RT_SHADOW_SHIFT) + 1;
        stop = stop << RT_SHADOW_SHIFT;
        if (stop > end || stop == 0) stop = end;
        if (cell == NULL) {
            at = stop;
            stamp = true;
            continue;
        }
        for (; at < stop; at += 8, cell++) {
            uint64_t owner = cell->owner;
            unsigned tag = RT_TAG(owner);
            if (owner != 0 && (tag != t->owner_tag || tag == RT_TAG_ALIEN))
                stamp = stamp || !is_past(t, owner);
            rt_settle_cell(t, cell, at);
            *cell = (struct rt_cell){.owner = mine};
        }
    }
    if (stamp) rt_stamp(t);
    emit_access(t, address, size, write, site);
    leave(t);
}

/* Interceptors differ from hooks in that one site may touch a different number of bytes each time:
 * the slot of a cell that is covered in part also says how many of its bytes are. That takes three
 * bits of the address, so that calls 64 MB of code apart may be taken for each other. */
#define FILTERED_CELLS 16u

static uint32_t part_slot(const struct rt_thread *t, uintptr_t pc, uintptr_t from, uintptr_t to) {
    uint32_t bytes = (uint32_t)(to - from) & 7;
    return slot_of(t, from, pc) ^ bytes << 29;
}

void rt_access(struct rt_thread *t, uintptr_t address, size_t size, bool write, uintptr_t pc) {
    if (size == 0) return;
    uint32_t site = rt_site(t, pc);
    rt_before_access(t, site, address, size);
    uintptr_t end = address + size, first = address & ~(uintptr_t)7;
    struct rt_cell *cell = rt_cell(address);
    bool one_region = ((address ^ (end - 1)) >> RT_SHADOW_SHIFT) == 0;
    if (site == 0 || cell == NULL || !one_region || end - first > FILTERED_CELLS * 8) {
        rt_access_range(t, address, size, write, pc);
        return;
    }
    uint32_t slot[FILTERED_CELLS];
    unsigned count = 0;
    for (uintptr_t from = address; from < end; count++) {
        uintptr_t to = (from & ~(uintptr_t)7) + 8;
        slot[count] = part_slot(t, rt.always_slow ? site : pc, from, to < end ? to : end);
        from = to;
    }
    bool all = !unfiltered(t);
    for (unsigned i = 0; i < count && all; i++) all = knows(t, &cell[i], slot[i]);
    if (all) {
        for (unsigned i = 0; i < count; i++) known(t, &cell[i], first + 8 * i, slot[i]);
        return;
    }
    t->busy++;
    for (unsigned i = 0; i < count; i++) {
        if (rt.mode == HD_SCHED_FREE)
            remember_free(t, &cell[i], first + 8 * i, slot[i], write);
        else
            remember(t, &cell[i], first + 8 * i, slot[i]);
    }
    emit_access(t, address, size, write, site);
    leave(t);
}

/* What runs before every access of an instrumented program. An aligned access lies in one cell. */
RT_INLINE void hook(uintptr_t address, size_t size, bool write, bool aligned, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    if (unlikely(!rt_count(t)) || (!aligned && unlikely((address & 7) + size > 8)) || size > 8) {
        access_slow(address, size, write, pc);
        return;
    }
    struct rt_cell *cell = rt_shadow[(uint16_t)(address >> RT_SHADOW_SHIFT)];
    if (unlikely(cell == NULL)) {
        access_slow(address, size, write, pc);
        return;
    }
    cell += RT_SHADOW_OFFSET(address);
    uint32_t slot = slot_of(t, address, pc);
    int found = look_up(t, cell, slot);
    if (likely(found == KNOWN)) return;
    if (unlikely(found != UNKNOWN)) {
        leave_out(t, cell, address, (unsigned)found);
        return;
    }
    if (!write && shared_known(cell, slot)) return;
    if (write)
        record_write(address, size, cell, slot, pc);
    else
        record_read(address, size, cell, slot, pc);
}

#define READ_WRITE(prefix, size, aligned)                    \
    RT_HOOK void __tsan_##prefix##read##size(void *a);       \
    RT_HOOK void __tsan_##prefix##read##size(void *a) {      \
        hook((uintptr_t)a, size, false, aligned, RT_CALLER); \
    }                                                        \
    RT_HOOK void __tsan_##prefix##write##size(void *a);      \
    RT_HOOK void __tsan_##prefix##write##size(void *a) {     \
        hook((uintptr_t)a, size, true, aligned, RT_CALLER);  \
    }
#define PLAIN_ONLY(prefix, size, aligned)                               \
    RT_HOOK void __tsan_##prefix##read##size##_pc(void *a, void *pc);   \
    RT_HOOK void __tsan_##prefix##read##size##_pc(void *a, void *pc) {  \
        hook((uintptr_t)a, size, false, aligned, (uintptr_t)pc);        \
    }                                                                   \
    RT_HOOK void __tsan_##prefix##write##size##_pc(void *a, void *pc);  \
    RT_HOOK void __tsan_##prefix##write##size##_pc(void *a, void *pc) { \
        hook((uintptr_t)a, size, true, aligned, (uintptr_t)pc);         \
    }                                                                   \
    RT_HOOK void __tsan_##prefix##read_write##size(void *a);            \
    RT_HOOK void __tsan_##prefix##read_write##size(void *a) {           \
        hook((uintptr_t)a, size, false, aligned, RT_CALLER);            \
        hook((uintptr_t)a, size, true, aligned, RT_CALLER);             \
    }

#define SIZES(X, prefix, aligned) \
    X(prefix, 2, aligned) X(prefix, 4, aligned) X(prefix, 8, aligned) X(prefix, 16, aligned)
READ_WRITE(, 1, true)
PLAIN_ONLY(, 1, true)
SIZES(READ_WRITE, , true)
SIZES(PLAIN_ONLY, , true)
SIZES(READ_WRITE, unaligned_, false)
SIZES(PLAIN_ONLY, unaligned_, false)
READ_WRITE(volatile_, 1, true)
SIZES(READ_WRITE, volatile_, true)
SIZES(READ_WRITE, unaligned_volatile_, false)

static void range(void *address, size_t size, bool write, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    bool run = rt_count(t);
    if (size - 1 < 16) { /* a small struct, the same size each time: filtered like a scalar */
        access_slow((uintptr_t)address, size, write, pc);
        return;
    }
    if (!run && !may_run(t)) return;
    rt_access_range(t, (uintptr_t)address, size, write, pc);
}

RT_HOOK void __tsan_read_range(void *a, uintptr_t size);
RT_HOOK void __tsan_read_range(void *a, uintptr_t size) { range(a, size, false, RT_CALLER); }
RT_HOOK void __tsan_write_range(void *a, uintptr_t size);
RT_HOOK void __tsan_write_range(void *a, uintptr_t size) { range(a, size, true, RT_CALLER); }
RT_HOOK void __tsan_read_range_pc(void *a, uintptr_t size, void *pc);
RT_HOOK void __tsan_read_range_pc(void *a, uintptr_t size, void *pc) {
    range(a, size, false, (uintptr_t)pc);
}
RT_HOOK void __tsan_write_range_pc(void *a, uintptr_t size, void *pc);
RT_HOOK void __tsan_write_range_pc(void *a, uintptr_t size, void *pc) {
    range(a, size, true, (uintptr_t)pc);
}

/* A constructor or destructor that stores the vptr which is there already changes nothing. */
RT_EXPORT void __tsan_vptr_update(void **vptr, void *value);
RT_EXPORT void __tsan_vptr_update(void **vptr, void *value) {
    if (*vptr == value) return;
    hook((uintptr_t)vptr, sizeof *vptr, true, true, RT_CALLER);
}
RT_HOOK void __tsan_vptr_read(void **vptr);
RT_HOOK void __tsan_vptr_read(void **vptr) {
    hook((uintptr_t)vptr, sizeof *vptr, false, true, RT_CALLER);
}

/* ---- call stacks and branches ------------------------------------------------------------- */

RT_NOINLINE static void frame_overflow(struct rt_thread *t) {
    if (t->frame_base != NULL) t->overflow++;
}

RT_HOOK void __tsan_func_entry(void *pc);
RT_HOOK void __tsan_func_entry(void *pc) {
    struct rt_thread *t = &rt_self;
    struct rt_frame *frame = t->frame;
    if (unlikely(frame == t->frame_end)) {
        frame_overflow(t);
        return;
    }
    frame->pc = (uintptr_t)pc;
    frame->sp = (uintptr_t)__builtin_frame_address(0);
    t->frame = frame + 1;
}

RT_HOOK void __tsan_func_exit(void);
RT_HOOK void __tsan_func_exit(void) {
    struct rt_thread *t = &rt_self;
    if (unlikely(t->overflow != 0)) {
        t->overflow--;
        return;
    }
    struct rt_frame *frame = t->frame;
    if (unlikely(frame == t->frame_base)) return;
    t->frame = --frame;
    if (frame < t->frame_low) t->frame_low = frame;
}

/* Frames that a longjmp left behind. */
void rt_frames_unwind(struct rt_thread *t, uintptr_t sp) {
    t->overflow = 0;
    while (t->frame > t->frame_base && t->frame[-1].sp < sp) t->frame--;
    if (t->frame < t->frame_low) t->frame_low = t->frame;
}

RT_HOOK void __sanitizer_cov_trace_pc(void);
RT_HOOK void __sanitizer_cov_trace_pc(void) { rt_self.branches++; }
RT_HOOK void __sanitizer_cov_trace_pc_guard(uint32_t *guard);
RT_HOOK void __sanitizer_cov_trace_pc_guard(uint32_t *guard) {
    (void)guard;
    rt_self.branches++;
}
RT_HOOK void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
RT_HOOK void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop) {
    (void)start;
    (void)stop;
}
