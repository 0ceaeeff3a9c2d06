/* Free: a byte of shadow for every 8 bytes of memory says whose they are. An
 * access to what another thread has touched takes a place in the global order, a stamp. */
#define _GNU_SOURCE
#include "runtime/rt.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool has_words(uintptr_t address, size_t size) {
    return rt_words != NULL && size <= 1ul << RT_ADDRESS_BITS &&
           (address & ((1ul << RT_ADDRESS_BITS) - 1)) <= (1ul << RT_ADDRESS_BITS) - size;
}
static size_t words_of(uintptr_t address, size_t size) {
    return ((address + size + 7) >> 3) - (address >> 3);
}

/* A thread has two bytes, of which it uses one at a time. What it touched while it used the other
 * one has no later stamp than the thread had then. So one that begins a phase with its other byte
 * lets the others know what it has not touched in this phase. */
static bool is_own(const struct rt_thread *t, uint8_t owner) {
    return owner != 0 && (owner - 1u) / 2 == t->number && t->owner != RT_OWNER_NONE;
}

/* An access by thread t to memory of `owner`, which is not shared: does it need a stamp? */
static bool changes_hands(const struct rt_thread *t, uint8_t owner) {
    if (owner == 0 || is_own(t, owner)) return false;
    if (owner == RT_OWNER_OTHER) return true;
    const struct rt_slot *slot = &rt.slot[(owner - 1u) / 2];
    /* what it did is before its present stamp, or begins with it */
    uint64_t other = atomic_load(&slot->byte) == ((owner - 1u) & 1)
                         ? atomic_load_explicit(&slot->stamp, memory_order_acquire)
                         : atomic_load(&slot->other_stamp);
    return t->stamp <= other;
}

/* Shared memory: who writes comes after all who read, also after those who will not tell again. */
static bool share_changes_hands(const struct rt_thread *t, unsigned sharing, bool write) {
    return t->stamp < atomic_load(&rt.shared_stamp[sharing]) ||
           (write && t->stamp < atomic_load(&rt.shared_read[sharing]));
}

static bool is_shared(uint8_t owner) { return (unsigned)owner - RT_OWNER_SHARED < RT_SHARINGS; }

static void raise_to(_Atomic uint64_t *latest, uint64_t stamp) {
    uint64_t was = atomic_load(latest);
    while (was < stamp && !atomic_compare_exchange_weak(latest, &was, stamp)) {
    }
}

static void reads_shared(struct rt_thread *t, unsigned sharing) {
    raise_to(&rt.shared_read[sharing], t->stamp);
    t->shared_reads[sharing] = t->stamp + 1;
}

static unsigned sharing_now(void) {
    return atomic_load_explicit(&rt.phases, memory_order_relaxed) % RT_SHARINGS;
}

void rt_owners_phase(void) { atomic_fetch_add(&rt.phases, 1); }

#define CALLS_A_STAMP 16u
#define BARRIERS 64u

/* Another byte costs a thread a look at each word of its own, once a phase, which is about as much
 * as a stamp for each sixteen accesses. So it takes it where the last phase had more of them, and
 * then at some more barriers, before it tries without. */
void rt_owners_at_barrier(struct rt_thread *t) {
    uint64_t calls = rt_calls(t) - t->calls_at_barrier;
    if (t->stamps_for_memory >= calls / CALLS_A_STAMP + 1) t->other_bytes = BARRIERS;
    t->stamps_for_memory = 0;
    t->calls_at_barrier += calls;
    if (t->other_bytes == 0 || t->owner == RT_OWNER_NONE || t->owner == 0) return;
    t->other_bytes--;
    struct rt_slot *slot = &rt.slot[t->number];
    uint32_t byte = ((t->owner - 1u) & 1) ^ 1;
    atomic_store(&slot->other_stamp, t->stamp);
    atomic_store(&slot->byte, byte);
    t->owner = (uint8_t)(2 * t->number + 1 + byte);
}

/* Memory that is read where it was another thread's alone is shared from now on; under a mutex it
 * is taken for its own, since it is likely that this thread writes there next, and then the next
 * one.
 */
static bool takes_alone(const struct rt_thread *t) { return t->mutexes != 0; }

bool rt_owners_take(struct rt_thread *t, uintptr_t address, bool write) {
    uint8_t *owner = rt_word(address), now = *owner;
    if (rt.mode != HD_SCHED_FREE || t->owner == RT_OWNER_NONE) return false;
    unsigned sharing = is_shared(now) ? now - RT_OWNER_SHARED : sharing_now();
    if (is_shared(now) ? share_changes_hands(t, sharing, write) : changes_hands(t, now))
        return false;
    if (write || now == 0 || is_own(t, now) || (!is_shared(now) && takes_alone(t))) {
        *owner = t->owner;
        return true;
    }
    if (!is_shared(now)) {
        *owner = (uint8_t)(RT_OWNER_SHARED + sharing);
        raise_to(&rt.shared_stamp[sharing], t->stamp);
    }
    reads_shared(t, sharing);
    return true;
}

/* What an access does to the words that it touches. */
struct passing {
    const struct rt_thread *t;
    bool write, stamp, shares;
    uint8_t mine, shared;
    unsigned reads; /* a bit for each way of sharing */
};

/* One that was this owner's: whose is it now? */
static uint8_t pass_one(struct passing *p, uint8_t now) {
    if (now == p->t->owner) return now;
    bool was_shared = is_shared(now);
    unsigned sharing = (unsigned)now - RT_OWNER_SHARED;
    if (!p->stamp)
        p->stamp =
            was_shared ? share_changes_hands(p->t, sharing, p->write) : changes_hands(p->t, now);
    if (p->write || now == 0 || is_own(p->t, now) || (!was_shared && takes_alone(p->t)))
        return p->mine;
    uint8_t then = was_shared ? now : p->shared;
    p->shares = p->shares || !was_shared;
    p->reads |= 1u << (then - RT_OWNER_SHARED);
    return then;
}

#define EIGHT(owner) ((owner)*0x0101010101010101ull)

static void pass(struct rt_thread *t, uint8_t *owner, size_t count, bool write) {
    struct passing p = {.t = t,
                        .write = write,
                        .mine = t->owner != RT_OWNER_NONE ? t->owner : RT_OWNER_OTHER,
                        .shared = (uint8_t)(RT_OWNER_SHARED + sharing_now())};
    uint8_t *end = owner + count;
    while (owner < end) {
        uint64_t eight;
        uint8_t now = *owner, then;
        if (end - owner >= 8) {
            memcpy(&eight, owner, sizeof eight);
            if (eight == EIGHT(now)) { /* the usual range */
                then = pass_one(&p, now);
                eight = EIGHT(then);
                if (then != now) memcpy(owner, &eight, sizeof eight);
                owner += sizeof eight;
                continue;
            }
        }
        then = pass_one(&p, now);
        if (then != now) *owner = then;
        owner++;
    }
    if (p.stamp) {
        t->stamps_for_memory++;
        rt_stamp(t);
    }
    if (p.shares) raise_to(&rt.shared_stamp[p.shared - RT_OWNER_SHARED], t->stamp);
    for (; p.reads != 0; p.reads &= p.reads - 1) reads_shared(t, (unsigned)__builtin_ctz(p.reads));
}

void rt_owners_pass(struct rt_thread *t, uintptr_t address, size_t size, bool write) {
    if (has_words(address, size))
        pass(t, rt_word(address), words_of(address, size), write);
    else
        rt_stamp(t);
}

/* Atomic operations see to their order themselves; plain accesses there take stamps. True if it was
 * so already. */
bool rt_owners_atomic(uintptr_t address, unsigned log_size) {
    size_t size = (size_t)1 << log_size;
    if (rt.mode != HD_SCHED_FREE || !has_words(address, size)) return false;
    bool nobodys = true;
    for (size_t i = 0; i < words_of(address, size); i++) {
        uint8_t *owner = rt_word(address) + i;
        nobodys = nobodys && *owner == RT_OWNER_OTHER;
        *owner = RT_OWNER_OTHER;
    }
    return nobodys;
}

/* A mutex that was just taken, or is about to be released. It is as with an access that writes to
 * it, but exact, since nobody else changes the byte meanwhile: a release comes after what others
 * did to the mutex if its own thread had it last, and so does the next acquire of the same thread.
 */
void rt_owners_mutex(struct rt_thread *t, uintptr_t address) {
    if (!has_words(address, 1) || (address & 7) != 0) {
        rt_stamp(t);
        return;
    }
    uint8_t *owner = rt_word(address), now = *owner;
    if (now == t->owner && now != RT_OWNER_NONE) return;
    *owner = t->owner != RT_OWNER_NONE ? t->owner : RT_OWNER_OTHER;
    if (is_shared(now) || changes_hands(t, now)) rt_stamp(t);
}

#define LARGE                                                                           \
    (64u * 1024u) /* whole pages of what stands for a large block go back to the system \
                   */

/* A block is given out, or about to be freed, which is as if all of it was written. Of what is too
 * large for that, whoever touches it next takes a stamp. */
void rt_owners_block(struct rt_thread *t, uintptr_t address, size_t bytes) {
    if (rt.mode != HD_SCHED_FREE) return;
    size_t count = words_of(address, bytes);
    if (bytes != 0 && count < LARGE && has_words(address, bytes)) {
        pass(t, rt_word(address), count, true);
        return;
    }
    if (bytes != 0 && has_words(address, bytes)) {
        uint8_t *at = rt_word(address);
        uint8_t *a = (uint8_t *)(((uintptr_t)at + 4095) & ~4095ul);
        uint8_t *b = (uint8_t *)((uintptr_t)(at + count) & ~4095ul);
        syscall(SYS_madvise, a, (size_t)(b - a), MADV_DONTNEED);
        memset(at, RT_OWNER_OTHER, (size_t)(a - at));
        memset(b, RT_OWNER_OTHER, (size_t)(at + count - b));
    }
    rt_stamp(t);
}
