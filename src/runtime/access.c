/* Memory hooks: what gcc and clang call before every plain access under -fsanitize=thread. Hooks of
 * code that `heddle cc` has assembled have a shorter way if the access is expected
 * (expect_hooks.c). */
#include "runtime/check.h"
#include "runtime/expected.h"
#include "runtime/marks.h"

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

static bool may_run(struct rt_thread *t) {
    if (rt.mode == HD_SCHED_OFF || t->inside) return false;
    if (unlikely(t->telling)) return true; /* of what was done */
    bool over = rt_calls(t) >= t->slice_end && !(rt.whole_blocks && t->in_block);
    if (t->state != RT_RUNNING || t->suspect || t->signals_pending || over)
        rt_sched_preempted(t);
    else if (rt_is_marked(t))
        rt_sched_marked(t);
    return rt.mode != HD_SCHED_OFF && !t->inside;
}

static void check(struct rt_thread *t, uintptr_t address, size_t size, bool write, uintptr_t pc) {
    rt_check_access(t, address, size, write ? RT_WRITES : RT_READS, pc);
}

/* Everything is an event; those that came as expected are only counted. */
static void record(struct rt_thread *t, uintptr_t address, size_t size, bool write, uintptr_t pc) {
    uint32_t site = rt_site(t, pc);
    bool one_word = (address & 7) + size <= 8;
    if (rt_look_at_marks(t, address, size, write, site, one_word) && one_word) {
        rt_plain_order(t, address, size, write, pc);
        return;
    }
    t->busy++;
    if (rt.mode == HD_SCHED_FREE) rt_owners_pass(t, address, size, write);
    emit_access(t, address, size, write, site);
    leave(t);
}

/* Any access: not expected, before the thread is known, when the quantum is over. The call has been
 * counted. */
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
    record(t, address, size, write, pc);
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
    record(t, address, size, write, pc);
}

/* The usual way if accesses are checked and not recorded. */
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

/* What runs before every access of an instrumented program. An aligned access lies in one word. */
RT_INLINE void hook_of_block(uintptr_t address, size_t size, bool write, bool aligned,
                             bool in_block, uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    rt_end_repeats(t);
    bool run = rt_count(t), in_word = size <= 8 && (aligned || (address & 7) + size <= 8);
    if (likely(run) && in_word && likely(rt_as_expected(t, address, size, write, pc))) return;
    if (run ? rt.check_only && in_word
            : rt_only_checks(t) && (aligned || (address & 7) + size <= 8)) {
        check_hook(address, size, write, pc);
        return;
    }
    t->in_block = in_block;
    rt_access_slow(address, size, write, pc);
    t->in_block = false;
}
RT_INLINE void hook(uintptr_t address, size_t size, bool write, bool aligned, uintptr_t pc) {
    hook_of_block(address, size, write, aligned, false, pc);
}

/* ---- hooks of code that `heddle cc` has assembled ----------------------------------------------
 */

/* It calls through this table, with what struct hd_hook has for the place. Once something is
 * expected, expect_hooks.c has other functions for it. */
#define UNEXPECTED(size)                                                        \
    static void plain_read##size(uintptr_t address, struct hd_hook *place) {    \
        hook_of_block(address, size, false, true, place->more != 0, RT_CALLER); \
    }                                                                           \
    static void plain_write##size(uintptr_t address, struct hd_hook *place) {   \
        hook_of_block(address, size, true, true, place->more != 0, RT_CALLER);  \
    }
UNEXPECTED(1)
UNEXPECTED(2)
UNEXPECTED(4)
UNEXPECTED(8)
static void plain_wide(uintptr_t address, struct hd_hook *place) {
    hook(address, place->shape >> 8, (place->shape & 0xff) == HD_EV_WRITE, false, RT_CALLER);
}

#define UNEXPECTED_ROLE                                                                           \
    plain_read1, plain_read2, plain_read4, plain_read8, plain_write1, plain_write2, plain_write4, \
        plain_write8
/* (those of stores are called where there are some) */
RT_HOOK rt_hook_function *__heddle_table[HD_HOOK_FUNCTIONS] = {
    UNEXPECTED_ROLE, UNEXPECTED_ROLE, UNEXPECTED_ROLE, UNEXPECTED_ROLE, plain_wide};

static void passes(uintptr_t address, struct hd_hook *place) {
    (void)address;
    (void)place;
}
void rt_hooks_pass(void) {
    for (unsigned i = 0; i < HD_HOOK_FUNCTIONS; i++) __heddle_table[i] = passes;
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
    if (size - 1 < 16) { /* a small struct */
        rt_access_slow((uintptr_t)address, size, write, pc);
        return;
    }
    if (!run && (rt_is_allocators(pc) || !may_run(t) || RT_IGNORES(t, write))) return;
    rt_access(t, (uintptr_t)address, size, write, pc);
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
