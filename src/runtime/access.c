/* Memory hooks: what gcc and clang call before every plain access under -fsanitize=thread, and the
 * filter that keeps repeated accesses out of the trace. The common path is a few instructions, calls
 * nothing and takes no lock. */
#include "runtime/rt.h"

#include <emmintrin.h>

/* Recent reads of cells that several threads read (free): what the cell itself cannot remember for
 * each of them. */
#define READ_ENTRIES 4096u
struct rt_reads {
    struct {
        uint64_t address;
        uint32_t site, epoch, version, unused;
    } entry[READ_ENTRIES];
};

RT_INLINE void match(const struct rt_cell *cell, uint32_t slot, unsigned *hit, unsigned *same) {
    __m128i slots = _mm_loadu_si128((const __m128i *)cell->slot);
    __m128i difference = _mm_xor_si128(slots, _mm_set1_epi32((int)slot));
    __m128i zero = _mm_setzero_si128();
    *hit = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(difference, zero)));
    __m128i offset = _mm_and_si128(difference, _mm_set1_epi32(7));
    *same = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(offset, zero)));
}

/* True if the access adds nothing to what this epoch recorded; notes it as the latest. */
RT_INLINE bool known(struct rt_thread *t, struct rt_cell *cell, uint32_t slot) {
    uint64_t owner = cell->owner;
    if ((uint32_t)(owner >> 32) != t->epoch) return false;
    unsigned hit, same;
    match(cell, slot, &hit, &same);
    unsigned previous = same & (unsigned)(owner >> 16);
    if (hit == 0 || previous == 0) return false;
    unsigned step = (unsigned)__builtin_ctz(previous) * 4 + (unsigned)__builtin_ctz(hit);
    if (!(owner >> step & 1)) return false;
    uint64_t latest = (owner & ~((uint64_t)same << 16)) | (uint64_t)hit << 16;
    if (latest != owner) cell->owner = latest;
    return true;
}

/* Enters an access that is going to be recorded into its cell. */
static void remember(struct rt_thread *t, struct rt_cell *cell, uint32_t slot, bool write) {
    uint64_t owner = cell->owner;
    uint64_t written = write ? RT_OWNER_WRITTEN : 0;
    if ((uint32_t)(owner >> 32) != t->epoch) {
        if (rt.mode == HD_SCHED_FREE && (owner >> 20 & 0x7ff) == t->owner_tag)
            written |= owner & RT_OWNER_WRITTEN;
        cell->slot[0] = slot;
        cell->slot[1] = cell->slot[2] = cell->slot[3] = 0;
        cell->owner = (uint64_t)t->epoch << 32 | (uint64_t)t->owner_tag << 20 | written | 1u << 16;
        return;
    }
    unsigned hit, same;
    match(cell, slot, &hit, &same);
    unsigned previous = same & (unsigned)(owner >> 16) & 15;
    unsigned index;
    if (hit != 0) {
        index = (unsigned)__builtin_ctz(hit);
    } else {
        for (index = 0; index < 4 && cell->slot[index] != 0; index++) {}
        if (index == 4) {
            index = (unsigned)t->calls & 3;
            owner &= ~(0xfull << index * 4 | 0x1111ull << index | 1ull << (16 + index));
            previous &= ~(1u << index);
        }
        cell->slot[index] = slot;
    }
    if (previous != 0) owner |= 1ull << ((unsigned)__builtin_ctz(previous) * 4 + index);
    owner &= ~((uint64_t)same << 16);
    cell->owner = owner | 1ull << (16 + index) | written;
}

/* Free: does this access need a place in the global order? It does when the location changes hands.
 * A read of a cell that several threads read is looked up among the thread's recent reads: *skip. */
static bool changes_hands(struct rt_thread *t, struct rt_cell *cell, uintptr_t address, bool write,
                          uint32_t site, bool *skip) {
    uint64_t owner = cell->owner;
    unsigned tag = owner >> 20 & 0x7ff;
    if (owner == 0 || (uint32_t)(owner >> 32) == t->epoch) return false;
    if (tag == t->owner_tag && tag != RT_TAG_ALIEN) return false;
    if (write) return true;
    if (tag != RT_TAG_SHARED) {
        uint32_t version = atomic_fetch_add_explicit(&rt.epochs, 1, memory_order_relaxed) + 1;
        cell->slot[0] = cell->slot[1] = cell->slot[2] = cell->slot[3] = 0;
        cell->owner = owner = (uint64_t)version << 32 | (uint64_t)RT_TAG_SHARED << 20;
    }
    uint32_t version = (uint32_t)(owner >> 32);
    unsigned index = (unsigned)((address ^ address >> 12) + site * 7u) % READ_ENTRIES;
    if (t->reads == NULL) t->reads = rt_map(sizeof *t->reads);
    __typeof__(&t->reads->entry[0]) entry = &t->reads->entry[index];
    if (entry->address == address && entry->site == site && entry->epoch == t->epoch &&
        entry->version == version) {
        *skip = true;
        return false;
    }
    entry->address = address;
    entry->site = site;
    entry->epoch = t->epoch;
    entry->version = version;
    return true;
}

void rt_access_forget(struct rt_thread *t) {
    rt_unmap(t->reads, sizeof *t->reads);
    t->reads = NULL;
}

static void emit_access(struct rt_thread *t, uintptr_t address, size_t size, bool write,
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
RT_NOINLINE static void record(struct rt_thread *t, struct rt_cell *cell, uintptr_t address,
                               size_t size, bool write, uint32_t site, bool keep) {
    t->busy++;
    if (rt.mode == HD_SCHED_FREE && cell != NULL) {
        bool skip = false;
        if (changes_hands(t, cell, address, write, site, &skip)) rt_stamp(t);
        if (skip && !keep) {
            leave(t);
            return;
        }
        if ((cell->owner >> 20 & 0x7ff) == RT_TAG_SHARED && !write) cell = NULL;
    }
    if (cell != NULL) remember(t, cell, (site << 3 | (address & 7)) ^ t->salt, write);
    emit_access(t, address, size, write, site);
    leave(t);
}

/* Any access: over several cells, before the thread is known, when the quantum is over, in a full
 * recording. */
RT_NOINLINE static void access_slow(uintptr_t address, size_t size, bool write, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    if (rt.mode == HD_SCHED_OFF || t->inside) return;
    if (t->state != RT_RUNNING || t->suspect || t->signals_pending || t->calls >= t->slice_end)
        rt_sched_preempted(t);
    if (rt.mode == HD_SCHED_OFF) return;
    uint32_t site = rt_site(t, pc);
    struct rt_cell *cell = rt_cell(address);
    size_t in_cell = 8 - (address & 7);
    if (size <= in_cell) {
        uint32_t slot = (site << 3 | (address & 7)) ^ t->salt;
        if (!rt.full && cell != NULL && site != 0 && known(t, cell, slot)) return;
        record(t, cell, address, size, write, site, rt.full);
        return;
    }
    if (size <= 16 && size - in_cell <= 8) {
        struct rt_cell *second = rt_cell(address + in_cell);
        uint32_t slot = (site << 3 | (address & 7)) ^ t->salt, next = site << 3 ^ t->salt;
        if (cell != NULL && second != NULL && site != 0) {
            bool first_known = known(t, cell, slot), second_known = known(t, second, next);
            if (first_known && second_known && !rt.full) return;
            t->busy++;
            bool skip = false;
            if (rt.mode == HD_SCHED_FREE) {
                bool stamp = changes_hands(t, cell, address, true, site, &skip);
                stamp |= changes_hands(t, second, address + in_cell, true, site, &skip);
                if (stamp) rt_stamp(t);
            }
            remember(t, cell, slot, write);
            remember(t, second, next, write);
            emit_access(t, address, size, write, site);
            leave(t);
            return;
        }
    }
    rt_access_range(t, address, size, write, pc);
}

/* A range is always recorded; its cells pass to this thread with nothing known about them. */
void rt_access_range(struct rt_thread *t, uintptr_t address, size_t size, bool write,
                     uintptr_t pc) {
    if (size == 0) return;
    uint32_t site = rt_site(t, pc);
    t->busy++;
    bool stamp = false;
    uint64_t mine = (uint64_t)t->epoch << 32 | (uint64_t)t->owner_tag << 20 |
                    (write ? RT_OWNER_WRITTEN : 0);
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
            unsigned tag = owner >> 20 & 0x7ff;
            if (owner != 0 && (tag != t->owner_tag || tag == RT_TAG_ALIEN)) stamp = true;
            uint64_t written = tag == t->owner_tag ? owner & RT_OWNER_WRITTEN : 0;
            *cell = (struct rt_cell){.owner = mine | written};
        }
    }
    if (stamp) rt_stamp(t);
    emit_access(t, address, size, write, site);
    leave(t);
}

/* Interceptors differ from hooks in that one site may touch a different number of bytes each time: the
 * slot of a cell that is covered in part also says how many of its bytes are. That takes the three
 * highest bits of the site, which differ between real sites only in programs of more than 64 MB. */
#define FILTERED_CELLS 16u

static uint32_t part_slot(const struct rt_thread *t, uint32_t site, uintptr_t from, uintptr_t to) {
    uint32_t bytes = (uint32_t)(to - from) & 7;
    return ((site << 3 ^ bytes << 29) | (from & 7)) ^ t->salt;
}

static bool knows(const struct rt_thread *t, const struct rt_cell *cell, uint32_t slot) {
    uint64_t owner = cell->owner;
    if ((uint32_t)(owner >> 32) != t->epoch) return false;
    unsigned hit, same;
    match(cell, slot, &hit, &same);
    unsigned previous = same & (unsigned)(owner >> 16);
    if (hit == 0 || previous == 0) return false;
    return owner >> (__builtin_ctz(previous) * 4 + __builtin_ctz(hit)) & 1;
}

void rt_access(struct rt_thread *t, uintptr_t address, size_t size, bool write, uintptr_t pc) {
    if (size == 0) return;
    uint32_t site = rt_site(t, pc);
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
        slot[count] = part_slot(t, site, from, to < end ? to : end);
        from = to;
    }
    bool all = !rt.full;
    for (unsigned i = 0; i < count && all; i++) all = knows(t, &cell[i], slot[i]);
    if (all) {
        for (unsigned i = 0; i < count; i++) known(t, &cell[i], slot[i]);
        return;
    }
    t->busy++;
    if (rt.mode == HD_SCHED_FREE) {
        bool stamp = false, skip = false;
        for (unsigned i = 0; i < count; i++)
            stamp |= changes_hands(t, &cell[i], first + i * 8, true, site, &skip);
        if (stamp) rt_stamp(t);
    }
    for (unsigned i = 0; i < count; i++) remember(t, &cell[i], slot[i], write);
    emit_access(t, address, size, write, site);
    leave(t);
}

RT_INLINE void hook(uintptr_t address, size_t size, bool write, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    if (unlikely(++t->calls >= t->limit || (address & 7) + size > 8)) {
        access_slow(address, size, write, pc);
        return;
    }
    uintptr_t offset = pc - t->text_lo;
    if (unlikely(offset >= t->text_size)) {
        access_slow(address, size, write, pc);
        return;
    }
    uint32_t site = t->site_base + (uint32_t)offset;
    struct rt_cell *cell = rt_cell(address);
    if (likely(cell != NULL) && likely(known(t, cell, (site << 3 | (address & 7)) ^ t->salt)))
        return;
    record(t, cell, address, size, write, site, false);
}

#define READ_WRITE(prefix, size)                                                                 \
    RT_EXPORT void __tsan_##prefix##read##size(void *a);                                         \
    RT_EXPORT void __tsan_##prefix##read##size(void *a) {                                        \
        hook((uintptr_t)a, size, false, RT_CALLER);                                              \
    }                                                                                            \
    RT_EXPORT void __tsan_##prefix##write##size(void *a);                                        \
    RT_EXPORT void __tsan_##prefix##write##size(void *a) {                                       \
        hook((uintptr_t)a, size, true, RT_CALLER);                                               \
    }
#define PLAIN_ONLY(prefix, size)                                                                 \
    RT_EXPORT void __tsan_##prefix##read##size##_pc(void *a, void *pc);                          \
    RT_EXPORT void __tsan_##prefix##read##size##_pc(void *a, void *pc) {                         \
        hook((uintptr_t)a, size, false, (uintptr_t)pc);                                          \
    }                                                                                            \
    RT_EXPORT void __tsan_##prefix##write##size##_pc(void *a, void *pc);                         \
    RT_EXPORT void __tsan_##prefix##write##size##_pc(void *a, void *pc) {                        \
        hook((uintptr_t)a, size, true, (uintptr_t)pc);                                           \
    }                                                                                            \
    RT_EXPORT void __tsan_##prefix##read_write##size(void *a);                                   \
    RT_EXPORT void __tsan_##prefix##read_write##size(void *a) {                                  \
        hook((uintptr_t)a, size, false, RT_CALLER);                                              \
        hook((uintptr_t)a, size, true, RT_CALLER);                                               \
    }

#define SIZES(X, prefix) X(prefix, 2) X(prefix, 4) X(prefix, 8) X(prefix, 16)
READ_WRITE(, 1)
PLAIN_ONLY(, 1)
SIZES(READ_WRITE, )
SIZES(PLAIN_ONLY, )
SIZES(READ_WRITE, unaligned_)
SIZES(PLAIN_ONLY, unaligned_)
READ_WRITE(volatile_, 1)
SIZES(READ_WRITE, volatile_)
SIZES(READ_WRITE, unaligned_volatile_)

static void range(void *address, size_t size, bool write, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    t->calls++;
    if (t->calls >= t->limit) {
        if (rt.mode == HD_SCHED_OFF || t->inside) return;
        if (t->state != RT_RUNNING || t->suspect || t->signals_pending || t->calls >= t->slice_end)
        rt_sched_preempted(t);
        if (rt.mode == HD_SCHED_OFF) return;
    }
    rt_access_range(t, (uintptr_t)address, size, write, pc);
}

RT_EXPORT void __tsan_read_range(void *a, uintptr_t size);
RT_EXPORT void __tsan_read_range(void *a, uintptr_t size) { range(a, size, false, RT_CALLER); }
RT_EXPORT void __tsan_write_range(void *a, uintptr_t size);
RT_EXPORT void __tsan_write_range(void *a, uintptr_t size) { range(a, size, true, RT_CALLER); }
RT_EXPORT void __tsan_read_range_pc(void *a, uintptr_t size, void *pc);
RT_EXPORT void __tsan_read_range_pc(void *a, uintptr_t size, void *pc) {
    range(a, size, false, (uintptr_t)pc);
}
RT_EXPORT void __tsan_write_range_pc(void *a, uintptr_t size, void *pc);
RT_EXPORT void __tsan_write_range_pc(void *a, uintptr_t size, void *pc) {
    range(a, size, true, (uintptr_t)pc);
}

/* A constructor or destructor that stores the vptr which is there already changes nothing. */
RT_EXPORT void __tsan_vptr_update(void **vptr, void *value);
RT_EXPORT void __tsan_vptr_update(void **vptr, void *value) {
    if (*vptr == value) return;
    hook((uintptr_t)vptr, sizeof *vptr, true, RT_CALLER);
}
RT_EXPORT void __tsan_vptr_read(void **vptr);
RT_EXPORT void __tsan_vptr_read(void **vptr) {
    hook((uintptr_t)vptr, sizeof *vptr, false, RT_CALLER);
}

/* ---- call stacks and branches ------------------------------------------------------------- */

RT_NOINLINE static void frame_overflow(struct rt_thread *t) {
    if (t->frame_base != NULL) t->overflow++;
}

RT_EXPORT void __tsan_func_entry(void *pc);
RT_EXPORT void __tsan_func_entry(void *pc) {
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

RT_EXPORT void __tsan_func_exit(void);
RT_EXPORT void __tsan_func_exit(void) {
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

RT_EXPORT void __sanitizer_cov_trace_pc(void);
RT_EXPORT void __sanitizer_cov_trace_pc(void) { rt_self.branches++; }
RT_EXPORT void __sanitizer_cov_trace_pc_guard(uint32_t *guard);
RT_EXPORT void __sanitizer_cov_trace_pc_guard(uint32_t *guard) {
    (void)guard;
    rt_self.branches++;
}
RT_EXPORT void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
RT_EXPORT void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop) {
    (void)start;
    (void)stop;
}
