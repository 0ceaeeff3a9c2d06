/* Atomic operations: the compilers call these instead of the machine's. Each is carried out here,
 * sequentially consistent, and recorded with the order the program asked for. Under free a striped
 * lock makes the operation and its place in the order one step, so that the recorded order is
 * memory's. */
#include "runtime/check.h"
#include "runtime/marks.h"

#define STRIPES 256u
#define PLACES 16u /* of a stripe, that something is known of */
struct place {
    uintptr_t address; /* over 16 */
    uint64_t written;  /* the stamp that the thread of the last change had then, or a later one */
    uint32_t only;     /* the thread, from 1, of all operations since the last that took a stamp; 0:
                          there are several, which only read */
};
static struct stripe {
    _Alignas(64) struct rt_spin lock;
    struct place place[PLACES];
} stripe[STRIPES];

static uint64_t hash_of(uintptr_t address) { return (address >> 4) * 0x9e3779b97f4a7c15ull; }
static struct stripe *stripe_of(const volatile void *address) {
    return &stripe[hash_of((uintptr_t)address) >> 56];
}

/* Free, with the stripe's lock: an operation takes a place in the global order. It needs none of
 * its own if all that it comes after is its own thread's, or has a lower stamp than that has: what
 * others do after it will see to that. Where accesses that are not atomic came in between, the
 * memory is somebody's (owners.c). */
static void take_place(struct rt_thread *t, struct stripe *of, uintptr_t address, unsigned log_size,
                       bool change) {
    struct place *p = &of->place[hash_of(address) >> 52 & (PLACES - 1)];
    uint32_t me = t->number + 1;
    bool untouched = rt_owners_atomic(address, log_size);
    bool known = untouched && p->address == address >> 4;
    bool stamp = !known || (p->only != me && (change || t->stamp <= p->written));
    if (stamp) rt_stamp(t);
    if (stamp || p->only != me) p->only = stamp ? me : 0;
    if (change || !known) p->written = t->stamp;
    p->address = address >> 4;
}

/* Serial: a thread in a loop that only re-reads atomics soon lets the others run. If it does other
 * things as well, it lets them run later. */
#define SPIN_YIELD 64u
#define BUSY_YIELD 1024u
/* Locks in assembly wait longer each time that they fail, and are not seen to. */
#define ASSEMBLY_YIELD 4u
static void spinning_long(struct rt_thread *t, const volatile void *address, uintptr_t pc,
                          uint32_t patience) {
    if (rt.mode != HD_SCHED_SERIAL) return;
    uint64_t key = (uint64_t)(uintptr_t)address * 31 ^ pc;
    uint32_t at = 0;
    while (at < t->spin_keys && t->spin_key[at] != key) at++;
    if (rt_calls_emitted(t) != t->spin_mark) t->spin_said = 0;
    if (at == t->spin_keys) {
        if (at == RT_SPIN_KEYS) at = 0;
        if (at == 0) t->spins = t->spin_said = 0;
        t->spin_key[at] = key;
        t->spin_keys = at + 1;
        t->spin_said |= 1u << at;
        return;
    }
    bool said = t->spin_said >> at & 1;
    t->spin_said |= 1u << at;
    if (++t->spins % (said ? patience : BUSY_YIELD) == 0) {
        rt_sched_yield(t);
        t->spin_keys = 0; /* others ran */
    }
}
static void spinning(struct rt_thread *t, const volatile void *address, uintptr_t pc) {
    spinning_long(t, address, pc, SPIN_YIELD);
}

static struct rt_thread *begin(const volatile void *address, size_t size, uintptr_t pc,
                               struct stripe **locked) {
    struct rt_thread *t = rt_enter_at(pc);
    *locked = NULL;
    if (t != NULL && unlikely(rt.options.states)) rt_state_take(t, pc);
    if (t != NULL && unlikely(rt.forcing))
        rt_force_access(t, rt_site(t, pc), (uintptr_t)address, size);
    if (t != NULL && rt.mode == HD_SCHED_FREE) {
        *locked = stripe_of(address);
        rt_spin_lock(&(*locked)->lock);
    }
    return t;
}

static unsigned does_of(unsigned kind) {
    return kind == HD_EV_ATOMIC_READ    ? RT_READS
           : kind == HD_EV_ATOMIC_WRITE ? RT_WRITES
                                        : RT_UPDATES;
}

#define COMPARES (HD_ATOMIC_COMPARES >> 4) /* beside the memory order */

/* A compare-and-exchange that succeeds may end rounds in which it failed. */
static bool may_wait(unsigned kind, int order) {
    return kind == HD_EV_ATOMIC_READ || ((unsigned)order & COMPARES) != 0;
}

/* `exact`: the stripe whose lock is held while it is carried out, or NULL. */
static void note(struct rt_thread *t, struct stripe *exact, unsigned kind, unsigned log_size,
                 const volatile void *address, int order, uintptr_t pc) {
    if (unlikely(rt.checking))
        rt_check_access(t, (uintptr_t)address, (size_t)1 << log_size, does_of(kind),
                        rt.check_only ? pc : rt_site(t, pc));
    if (rt.check_only) return;
    uint32_t site = rt_site(t, pc);
    bool change = kind != HD_EV_ATOMIC_READ;
    rt_look_at_marks(t, (uintptr_t)address, (size_t)1 << log_size, change, site, true);
    if (unlikely(rt.options.states) && may_wait(kind, order)) rt_state_note(t, pc);
    if (exact != NULL) {
        take_place(t, exact, (uintptr_t)address, log_size, change);
    } else {
        rt_owners_atomic((uintptr_t)address, log_size);
        rt_stamp(t);
    }
    rt_emit(t, kind, log_size | ((unsigned)order & 15) << 4, (uintptr_t)address, site);
    t->spin_mark = t->calls_emitted;
}

static void finish(struct rt_thread *t, struct stripe *locked, unsigned kind, unsigned log_size,
                   const volatile void *address, int order, uintptr_t pc) {
    if (t == NULL) return;
    if (kind == HD_EV_ATOMIC_READ) spinning(t, address, pc);
    note(t, locked, kind, log_size, address, order, pc);
    if (locked != NULL) rt_spin_unlock(&locked->lock);
    rt_leave(t);
}

typedef unsigned __int128 u128;

/* cmpxchg16b by hand: the compilers' own 128-bit atomics would call libatomic. */
static bool cas128(volatile u128 *a, u128 *expected, u128 desired) {
    bool same;
    uint64_t lo = (uint64_t)*expected, hi = (uint64_t)(*expected >> 64);
    __asm__ volatile("lock cmpxchg16b %1"
                     : "=@ccz"(same), "+m"(*a), "+a"(lo), "+d"(hi)
                     : "b"((uint64_t)desired), "c"((uint64_t)(desired >> 64))
                     : "memory");
    if (!same) *expected = (u128)hi << 64 | lo;
    return same;
}

#define NATIVE(type, log)                                                            \
    static type load_##log(const volatile type *a) { return __atomic_load_n(a, 5); } \
    static void store_##log(volatile type *a, type v) { __atomic_store_n(a, v, 5); } \
    static bool cas_##log(volatile type *a, type *e, type v) {                       \
        return __atomic_compare_exchange_n(a, e, v, false, 5, 5);                    \
    }                                                                                \
    static type exchange_##log(volatile type *a, type v) { return __atomic_exchange_n(a, v, 5); }
NATIVE(uint8_t, 0)
NATIVE(uint16_t, 1)
NATIVE(uint32_t, 2)
NATIVE(uint64_t, 3)

static u128 load_4(const volatile u128 *a) {
    u128 value = 0;
    cas128((volatile u128 *)(uintptr_t)a, &value, 0);
    return value;
}
static bool cas_4(volatile u128 *a, u128 *e, u128 v) { return cas128(a, e, v); }
static u128 exchange_4(volatile u128 *a, u128 v) {
    u128 old = load_4(a);
    while (!cas128(a, &old, v)) {
    }
    return old;
}
static void store_4(volatile u128 *a, u128 v) { exchange_4(a, v); }

#define UPDATE(bits, type, log, name, expression)                                            \
    RT_EXPORT type __tsan_atomic##bits##_fetch_##name(volatile type *a, type v, int order);  \
    RT_EXPORT type __tsan_atomic##bits##_fetch_##name(volatile type *a, type v, int order) { \
        struct stripe *locked;                                                               \
        struct rt_thread *t = begin(a, sizeof *a, RT_CALLER, &locked);                       \
        type old = load_##log(a);                                                            \
        while (!cas_##log(a, &old, (type)(expression))) {                                    \
        }                                                                                    \
        finish(t, locked, HD_EV_ATOMIC_UPDATE, log, a, order, RT_CALLER);                    \
        return old;                                                                          \
    }

#define COMPARE_EXCHANGE(bits, type, log, how)                                                    \
    RT_EXPORT int __tsan_atomic##bits##_compare_exchange_##how(volatile type *a, type *e, type v, \
                                                               int order, int fail);              \
    RT_EXPORT int __tsan_atomic##bits##_compare_exchange_##how(volatile type *a, type *e, type v, \
                                                               int order, int fail) {             \
        struct stripe *locked;                                                                    \
        struct rt_thread *t = begin(a, sizeof *a, RT_CALLER, &locked);                            \
        bool done = cas_##log(a, e, v);                                                           \
        finish(t, locked, done ? HD_EV_ATOMIC_UPDATE : HD_EV_ATOMIC_READ, log, a,                 \
               (done ? order : fail) | COMPARES, RT_CALLER);                                      \
        return done;                                                                              \
    }

#define ATOMICS(bits, type, log)                                                                \
    RT_EXPORT type __tsan_atomic##bits##_load(const volatile type *a, int order);               \
    RT_EXPORT type __tsan_atomic##bits##_load(const volatile type *a, int order) {              \
        struct stripe *locked;                                                                  \
        struct rt_thread *t = begin(a, sizeof *a, RT_CALLER, &locked);                          \
        type value = load_##log(a);                                                             \
        finish(t, locked, HD_EV_ATOMIC_READ, log, a, order, RT_CALLER);                         \
        return value;                                                                           \
    }                                                                                           \
    RT_EXPORT void __tsan_atomic##bits##_store(volatile type *a, type v, int order);            \
    RT_EXPORT void __tsan_atomic##bits##_store(volatile type *a, type v, int order) {           \
        struct stripe *locked;                                                                  \
        struct rt_thread *t = begin(a, sizeof *a, RT_CALLER, &locked);                          \
        store_##log(a, v);                                                                      \
        finish(t, locked, HD_EV_ATOMIC_WRITE, log, a, order, RT_CALLER);                        \
    }                                                                                           \
    RT_EXPORT type __tsan_atomic##bits##_exchange(volatile type *a, type v, int order);         \
    RT_EXPORT type __tsan_atomic##bits##_exchange(volatile type *a, type v, int order) {        \
        struct stripe *locked;                                                                  \
        struct rt_thread *t = begin(a, sizeof *a, RT_CALLER, &locked);                          \
        type old = exchange_##log(a, v);                                                        \
        finish(t, locked, HD_EV_ATOMIC_UPDATE, log, a, order, RT_CALLER);                       \
        return old;                                                                             \
    }                                                                                           \
    UPDATE(bits, type, log, add, old + v)                                                       \
    UPDATE(bits, type, log, sub, old - v)                                                       \
    UPDATE(bits, type, log, and, old &v)                                                        \
    UPDATE(bits, type, log, or, old | v)                                                        \
    UPDATE(bits, type, log, xor, old ^ v)                                                       \
    UPDATE(bits, type, log, nand, ~(old & v))                                                   \
    COMPARE_EXCHANGE(bits, type, log, strong)                                                   \
    COMPARE_EXCHANGE(bits, type, log, weak)                                                     \
    RT_EXPORT type __tsan_atomic##bits##_compare_exchange_val(volatile type *a, type e, type v, \
                                                              int order, int fail);             \
    RT_EXPORT type __tsan_atomic##bits##_compare_exchange_val(volatile type *a, type e, type v, \
                                                              int order, int fail) {            \
        struct stripe *locked;                                                                  \
        struct rt_thread *t = begin(a, sizeof *a, RT_CALLER, &locked);                          \
        bool done = cas_##log(a, &e, v);                                                        \
        finish(t, locked, done ? HD_EV_ATOMIC_UPDATE : HD_EV_ATOMIC_READ, log, a,               \
               (done ? order : fail) | COMPARES, RT_CALLER);                                    \
        return e;                                                                               \
    }

ATOMICS(8, uint8_t, 0)
ATOMICS(16, uint16_t, 1)
ATOMICS(32, uint32_t, 2)
ATOMICS(64, uint64_t, 3)
ATOMICS(128, u128, 4)

RT_EXPORT void __tsan_atomic_thread_fence(int order);
RT_EXPORT void __tsan_atomic_thread_fence(int order) {
    struct rt_thread *t = rt_enter();
    __atomic_thread_fence(5);
    if (t == NULL) return;
    rt_emit_sync(t, HD_EV_FENCE, ((unsigned)order & 7) << 4, 0, RT_CALLER);
    rt_leave(t);
}

RT_EXPORT void __tsan_atomic_signal_fence(int order);
RT_EXPORT void __tsan_atomic_signal_fence(int order) {
    (void)order;
    __atomic_signal_fence(5);
}

/* ---- without atomic operations of the compiler's ------------------------------------------------
 */

/* These are noted before they are carried out; under serial nobody else runs in between. */

void rt_plain_order(struct rt_thread *t, uintptr_t address, size_t size, bool write, uintptr_t pc) {
    const volatile void *at = (const volatile void *)address;
    t->inside++;
    t->busy++;
    if (!write && !(rt.whole_blocks && t->in_block)) spinning(t, at, pc);
    note(t, NULL, write ? HD_EV_ATOMIC_WRITE : HD_EV_ATOMIC_READ, (unsigned)__builtin_ctzl(size),
         at, write ? __ATOMIC_RELEASE : __ATOMIC_ACQUIRE, pc);
    rt_leave(t);
}

RT_PROGRAM RT_NOINLINE static uint64_t value_at(const volatile void *address, unsigned log_size) {
    return log_size == 0   ? load_0(address)
           : log_size == 1 ? load_1(address)
           : log_size == 2 ? load_2(address)
                           : load_3(address);
}

/* Will it leave memory as it is? An exchange that finds what it stores, as that of a spin lock that
 * is taken, is a read like a comparison that fails. */
static bool changes_nothing(const volatile void *address, unsigned code,
                            const uint64_t *registers) {
    unsigned log_size = HD_ASSEMBLY_LOG(code);
    enum hd_assembly_does does = HD_ASSEMBLY_DOES(code);
    if (does == HD_ASSEMBLY_READS) return true;
    if ((does != HD_ASSEMBLY_COMPARES && does != HD_ASSEMBLY_EXCHANGES) || log_size > 3)
        return false;
    uint64_t mask = log_size == 3 ? ~0ull : (1ull << (8u << log_size)) - 1;
    uint64_t mine = registers[does == HD_ASSEMBLY_COMPARES ? 0 : HD_ASSEMBLY_REGISTER(code)];
    return ((value_at(address, log_size) ^ mine) & mask) == 0 ? does == HD_ASSEMBLY_EXCHANGES
                                                              : does == HD_ASSEMBLY_COMPARES;
}

void rt_assembly(const volatile void *address, unsigned code, uintptr_t pc,
                 const uint64_t *registers) {
    enum hd_assembly_does does = HD_ASSEMBLY_DOES(code);
    if (does >= HD_ASSEMBLY_FENCE) {
        struct rt_thread *t = rt_enter_at(pc);
        if (t == NULL) return;
        int order = does == HD_ASSEMBLY_FENCE ? __ATOMIC_SEQ_CST : __ATOMIC_ACQ_REL;
        rt_emit_sync(t, HD_EV_FENCE, ((unsigned)order & 7) << 4, 0, pc);
        rt_leave(t);
        return;
    }
    struct stripe *locked;
    struct rt_thread *t = begin(address, (size_t)1 << HD_ASSEMBLY_LOG(code), pc, &locked);
    if (t == NULL) return;
    rt_mark_order((uintptr_t)address);
    /* others may run meanwhile */
    if (does != HD_ASSEMBLY_WRITES && locked == NULL) spinning_long(t, address, pc, ASSEMBLY_YIELD);
    bool reads = changes_nothing(address, code, registers);
    unsigned kind = reads                        ? HD_EV_ATOMIC_READ
                    : does == HD_ASSEMBLY_WRITES ? HD_EV_ATOMIC_WRITE
                                                 : HD_EV_ATOMIC_UPDATE;
    int order = does == HD_ASSEMBLY_READS    ? __ATOMIC_ACQUIRE
                : does == HD_ASSEMBLY_WRITES ? __ATOMIC_RELEASE
                                             : __ATOMIC_SEQ_CST;
    if (does == HD_ASSEMBLY_COMPARES || does == HD_ASSEMBLY_EXCHANGES) order |= COMPARES;
    note(t, NULL, kind, HD_ASSEMBLY_LOG(code), address, order, pc);
    if (locked != NULL) rt_spin_unlock(&locked->lock);
    rt_leave(t);
}

void rt_atomics_unlock(void) {
    for (unsigned i = 0; i < STRIPES; i++) stripe[i].lock.word = 0;
}
