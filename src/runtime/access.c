/* Memory hooks: what gcc and clang call before every plain access under -fsanitize=thread. The
 * common path, through the filter, is a few instructions, calls nothing and takes no lock. */
#include "runtime/check.h"
#include "runtime/expected.h"
#include "runtime/filter.h"
#include "runtime/marks.h"

/* Four short tails with constant shifts are faster than one with variable ones. */
#ifndef __clang__
#pragma GCC optimize("no-tree-tail-merge", "no-crossjumping")
#endif

/* Outside the fast path sites may be told apart exactly, should their addresses' low bits not do.
 */
static uint32_t slot_exactly(const struct rt_thread *t, uintptr_t address, uintptr_t pc,
                             uint32_t site) {
    return rt_slot_of(t, address, rt.always_slow ? site : pc);
}

/* True if the access adds nothing to what this epoch recorded; notes it as the latest. */
static bool known(struct rt_thread *t, struct rt_cell *cell, uintptr_t address, uint32_t slot) {
    int found = rt_look_up(t, cell, slot);
    if (found >= 0 && found != RT_KNOWN) rt_leave_out(t, cell, address, (unsigned)found);
    return found != RT_UNKNOWN;
}

RT_INLINE void emit_access(struct rt_thread *t, uintptr_t address, size_t size, bool write,
                           uint32_t site) {
    unsigned kind = write ? HD_EV_WRITE : HD_EV_READ;
    if (unlikely(rt.checking))
        rt_check_access(t, address, size, write ? RT_WRITES : RT_READS, site);
    if (unlikely(size > 255)) rt_emit_extra(t, size, site);
    rt_emit(t, kind, size > 255 ? 0 : (unsigned)size, address, site);
}

RT_INLINE void leave(struct rt_thread *t) {
    t->busy--;
    if (unlikely(t->signals_pending && t->busy == 0)) rt_leave_signals(t);
}

/* An access within one cell that the filter did not know. */
RT_INLINE void record(struct rt_thread *t, struct rt_cell *cell, uint32_t slot, uintptr_t address,
                      size_t size, bool write, uintptr_t pc) {
    uint32_t site = rt_site(t, pc);
    if (rt_is_allocators(pc)) return;
    if (rt_look_at_marks(t, address, size, write, site, true)) {
        rt_plain_order(t, address, size, write, pc);
        return;
    }
    t->busy++;
    rt_note_shape(site, size, write);
    if (rt.mode != HD_SCHED_FREE)
        rt_remember(t, cell, address, slot);
    else
        rt_remember_free(t, cell, address, slot, write);
    emit_access(t, address, size, write, site);
    leave(t);
}

/* The usual way out of the fast path: the thread may run, the cell exists. */
RT_NOINLINE static void record_read(uintptr_t address, size_t size, struct rt_cell *cell,
                                    uint32_t slot, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    record(t, cell, slot, address, size, false, pc);
}
RT_NOINLINE static void record_write(uintptr_t address, size_t size, struct rt_cell *cell,
                                     uint32_t slot, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    record(t, cell, slot, address, size, true, pc);
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
        if (cell->slot[i] == slot)
            return !(owner >> RT_LATEST_SHIFT & 15 & ~rt_steps_to((uint32_t)owner, i));
    return false;
}

static void check(struct rt_thread *t, uintptr_t address, size_t size, bool write, uintptr_t pc) {
    rt_check_access(t, address, size, write ? RT_WRITES : RT_READS, pc);
}

/* ---- full recordings --------------------------------------------------------------------------
 */

/* Everything is an event; those that came as expected are only counted. */
static void record_full(struct rt_thread *t, uintptr_t address, size_t size, bool write,
                        uintptr_t pc) {
    uint32_t site = rt_site(t, pc);
    bool one_word = (address & 7) + size <= 8;
    if (rt_look_at_marks(t, address, size, write, site, one_word) && one_word) {
        rt_plain_order(t, address, size, write, pc);
        return;
    }
    t->busy++;
    rt_owners_pass(t, address, size, write);
    emit_access(t, address, size, write, site);
    leave(t);
}

/* Any access: over several cells, before the thread is known, when the quantum is over, in a full
 * recording. The call has been counted. */
RT_NOINLINE void rt_access_slow(uintptr_t address, size_t size, bool write, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    rt_close(t);
    if (rt_is_allocators(pc)) return;
    t->next_address = address;
    t->next_write = write;
    if (!may_run(t) || RT_IGNORES(t, write)) return;
    if (rt.check_only) {
        check(t, address, size, write, pc);
        return;
    }
    uint32_t site = rt_site(t, pc);
    rt_before_access(t, site, address, size);
    if (unlikely(rt.options.states) && !write) {
        rt_state_take(t, pc);
        rt_state_note(t, pc);
    }
    if (rt.full) {
        record_full(t, address, size, write, pc);
        return;
    }
    struct rt_cell *cell = rt_cell(address);
    size_t in_cell = 8 - (address & 7);
    if (cell == NULL || site == 0) {
        rt_access_range(t, address, size, write, pc);
        return;
    }
    uint32_t slot = slot_exactly(t, address, pc, site);
    if (size <= in_cell) {
        if (!unfiltered(t) &&
            (known(t, cell, address, slot) || (!write && rt_shared_known(cell, slot))))
            return;
        record(t, cell, slot, address, size, write, pc);
        return;
    }
    struct rt_cell *second = size - in_cell <= 8 ? rt_cell(address + in_cell) : NULL;
    if (second == NULL) {
        rt_access_range(t, address, size, write, pc);
        return;
    }
    /* The second cell's slot is one that emit_slot does not know: the first stands for both. */
    uint32_t next = slot_exactly(t, address + in_cell, pc + 1, site + 1);
    if (!unfiltered(t) && knows(t, cell, slot) && knows(t, second, next)) {
        known(t, cell, address, slot);
        known(t, second, address + in_cell, next);
        return;
    }
    t->busy++;
    rt_look_at_marks(t, address, size, write, site, false);
    rt_note_shape(site, size, write);
    if (rt.mode == HD_SCHED_FREE) {
        rt_remember_free(t, cell, address, slot, write);
        rt_remember_free(t, second, address + in_cell, next, write);
    } else {
        rt_remember(t, cell, address, slot);
        rt_remember(t, second, address + in_cell, next);
    }
    emit_access(t, address, size, write, site);
    leave(t);
}

/* A range is always recorded; its cells pass to this thread with nothing known about them. */
void rt_access_range(struct rt_thread *t, uintptr_t address, size_t size, bool write,
                     uintptr_t pc) {
    if (size == 0) return;
    if (rt.check_only) {
        check(t, address, size, write, pc);
        return;
    }
    uint32_t site = rt_site(t, pc);
    if (rt_is_allocators(pc)) return;
    rt_before_access(t, site, address, size);
    if (rt.full) {
        record_full(t, address, size, write, pc);
        return;
    }
    t->busy++;
    rt_look_at_marks(t, address, size, write, site, false);
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
                stamp = stamp || !rt_is_past(t, owner);
            rt_flush_cell(t, cell, at);
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
    return rt_slot_of(t, from, pc) ^ bytes << 29;
}

void rt_access(struct rt_thread *t, uintptr_t address, size_t size, bool write, uintptr_t pc) {
    if (size == 0) return;
    if (rt.check_only) {
        check(t, address, size, write, pc);
        return;
    }
    uint32_t site = rt_site(t, pc);
    if (rt_is_allocators(pc)) return;
    rt_before_access(t, site, address, size);
    if (rt.full) {
        record_full(t, address, size, write, pc);
        return;
    }
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
    rt_look_at_marks(t, address, size, write, site, false);
    for (unsigned i = 0; i < count; i++) {
        if (rt.mode == HD_SCHED_FREE)
            rt_remember_free(t, &cell[i], first + 8 * i, slot[i], write);
        else
            rt_remember(t, &cell[i], first + 8 * i, slot[i]);
    }
    emit_access(t, address, size, write, site);
    leave(t);
}

/* The usual way if accesses are checked and not recorded: there are no cells of the filter then. */
RT_INLINE void check_hook(uintptr_t address, size_t size, bool write, uintptr_t pc) {
    switch (size) {
    case 1:
        (write ? rt_check_write1 : rt_check_read1)(address, pc);
        break;
    case 2:
        (write ? rt_check_write2 : rt_check_read2)(address, pc);
        break;
    case 4:
        (write ? rt_check_write4 : rt_check_read4)(address, pc);
        break;
    case 8:
        (write ? rt_check_write8 : rt_check_read8)(address, pc);
        break;
    default:
        (write ? rt_check_write16 : rt_check_read16)(address, pc);
        break;
    }
}

/* What runs before every access of an instrumented program. An aligned access lies in one cell. */
RT_INLINE void hook(uintptr_t address, size_t size, bool write, bool aligned, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    bool run = rt_count(t);
    if (unlikely(!run) || (!aligned && unlikely((address & 7) + size > 8)) || size > 8) {
        if (rt_only_checks(t) && (aligned || ((address & 7) + size <= 8)))
            check_hook(address, size, write, pc);
        else
            rt_access_slow(address, size, write, pc);
        return;
    }
    struct rt_cell *cell = rt_shadow[(uint16_t)(address >> RT_SHADOW_SHIFT)];
    if (unlikely(cell == NULL)) {
        if (rt.full && likely(rt_as_expected(t, address, size, write, pc))) return;
        if (rt.check_only)
            check_hook(address, size, write, pc);
        else
            rt_access_slow(address, size, write, pc);
        return;
    }
    cell += RT_SHADOW_OFFSET(address);
    uint32_t slot = rt_slot_of(t, address, pc);
    int found = rt_look_up(t, cell, slot);
    if (likely(found == RT_KNOWN)) return;
    if (unlikely(found != RT_UNKNOWN)) {
        rt_leave_out(t, cell, address, (unsigned)found);
        return;
    }
    if (!write && rt_shared_known(cell, slot)) return;
    if (write)
        record_write(address, size, cell, slot, pc);
    else
        record_read(address, size, cell, slot, pc);
}

/* ---- hooks of code that `heddle cc` has assembled ----------------------------------------------
 */

/* It calls through this table, with what rt_hook has for the place: so each kind of recording has
 * functions of its own. Until one begins, those of the filter do. */
#define FILTERED(size)                                                         \
    static void filter_read##size(uintptr_t address, struct rt_hook *place) {  \
        (void)place;                                                           \
        hook(address, size, false, true, RT_CALLER);                           \
    }                                                                          \
    static void filter_write##size(uintptr_t address, struct rt_hook *place) { \
        (void)place;                                                           \
        hook(address, size, true, true, RT_CALLER);                            \
    }
FILTERED(1)
FILTERED(2)
FILTERED(4)
FILTERED(8)
static void filter_wide(uintptr_t address, struct rt_hook *place) {
    hook(address, place->shape >> 8, (place->shape & 0xff) == HD_EV_WRITE, false, RT_CALLER);
}

#define FILTERED_ROLE                                                                     \
    filter_read1, filter_read2, filter_read4, filter_read8, filter_write1, filter_write2, \
        filter_write4, filter_write8
RT_HOOK rt_hook_function *__heddle_table[RT_TABLE] = {FILTERED_ROLE, FILTERED_ROLE, FILTERED_ROLE,
                                                      FILTERED_ROLE, filter_wide};

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

/* Volatile accesses of units that synchronise by inline assembly (`heddle cc`). */
RT_INLINE void volatile_hook(uintptr_t address, size_t size, bool write, uintptr_t pc) {
    if (rt.mode == HD_SCHED_SERIAL && !rt.check_only) rt_mark_order(address);
    hook(address, size, write, false, pc);
}
#define VOLATILE_HOOK(prefix, size)                          \
    RT_HOOK void __heddle_##prefix##read##size(void *a);     \
    RT_HOOK void __heddle_##prefix##read##size(void *a) {    \
        volatile_hook((uintptr_t)a, size, false, RT_CALLER); \
    }                                                        \
    RT_HOOK void __heddle_##prefix##write##size(void *a);    \
    RT_HOOK void __heddle_##prefix##write##size(void *a) {   \
        volatile_hook((uintptr_t)a, size, true, RT_CALLER);  \
    }
VOLATILE_HOOK(volatile_, 1)
VOLATILE_HOOK(volatile_, 2)
VOLATILE_HOOK(volatile_, 4)
VOLATILE_HOOK(volatile_, 8)
VOLATILE_HOOK(volatile_, 16)

static void range(void *address, size_t size, bool write, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    bool run = rt_count(t);
    rt_close(t);
    if (size - 1 < 16) { /* a small struct, the same size each time: filtered like a scalar */
        rt_access_slow((uintptr_t)address, size, write, pc);
        return;
    }
    if (!run && (rt_is_allocators(pc) || !may_run(t) || RT_IGNORES(t, write))) return;
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
