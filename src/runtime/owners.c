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

/* An access by thread t to memory of `owner`: does it need a stamp? */
static bool changes_hands(const struct rt_thread *t, uint8_t owner) {
    if (owner == 0) return false;
    if (owner == RT_OWNER_OTHER) return true;
    if (owner == RT_OWNER_SHARED) return t->stamp < atomic_load(&rt.shared_stamp);
    /* what it did is before its present stamp, or begins with it */
    uint64_t other = atomic_load_explicit(&rt.slot[owner - 1].stamp, memory_order_acquire);
    return t->stamp <= other;
}

static void now_shared(const struct rt_thread *t) {
    uint64_t latest = atomic_load(&rt.shared_stamp);
    while (latest < t->stamp &&
           !atomic_compare_exchange_weak(&rt.shared_stamp, &latest, t->stamp)) {
    }
}

bool rt_owners_take(struct rt_thread *t, uintptr_t address, bool write) {
    uint8_t *owner = rt_word(address), now = *owner;
    if (rt.mode != HD_SCHED_FREE || t->owner == RT_OWNER_NONE || now == RT_OWNER_SHARED ||
        changes_hands(t, now))
        return false;
    *owner = write || now == 0 ? t->owner : RT_OWNER_SHARED;
    if (!write && now != 0) now_shared(t);
    return true;
}

/* What an access does to the words that it touches. */
struct passing {
    const struct rt_thread *t;
    bool write, stamp, shares;
    uint8_t mine;
};

/* One that was this owner's: whose is it now? */
static uint8_t pass_one(struct passing *p, uint8_t now) {
    if (now == p->t->owner) return now;
    if (now == RT_OWNER_SHARED && p->write)
        p->stamp = true;
    else
        p->stamp = p->stamp || changes_hands(p->t, now);
    if (p->write || now == 0) return p->mine;
    if (now != RT_OWNER_SHARED) p->shares = true;
    return RT_OWNER_SHARED;
}

#define EIGHT(owner) ((owner)*0x0101010101010101ull)

static void pass(struct rt_thread *t, uint8_t *owner, size_t count, bool write) {
    struct passing p = {
        .t = t, .write = write, .mine = t->owner != RT_OWNER_NONE ? t->owner : RT_OWNER_OTHER};
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
    if (p.stamp) rt_stamp(t);
    if (p.shares) now_shared(t);
}

void rt_owners_pass(struct rt_thread *t, uintptr_t address, size_t size, bool write) {
    if (has_words(address, size))
        pass(t, rt_word(address), words_of(address, size), write);
    else
        rt_stamp(t);
}

/* Atomic operations have stamps of their own. */
void rt_owners_atomic(uintptr_t address, unsigned log_size) {
    size_t size = (size_t)1 << log_size;
    if (rt.mode != HD_SCHED_FREE || !has_words(address, size)) return;
    memset(rt_word(address), RT_OWNER_OTHER, words_of(address, size));
}

#define LARGE                                                                           \
    (64u * 1024u) /* whole pages of what stands for a large block go back to the system \
                   */

/* Memory that is given out or freed: whoever touches it next takes a stamp. */
void rt_owners_clear(uintptr_t address, size_t bytes) {
    if (rt.mode != HD_SCHED_FREE || bytes == 0 || !has_words(address, bytes)) return;
    uint8_t *at = rt_word(address);
    size_t count = words_of(address, bytes);
    if (count >= LARGE) {
        uint8_t *a = (uint8_t *)(((uintptr_t)at + 4095) & ~4095ul);
        uint8_t *b = (uint8_t *)((uintptr_t)(at + count) & ~4095ul);
        syscall(SYS_madvise, a, (size_t)(b - a), MADV_DONTNEED);
        memset(at, RT_OWNER_OTHER, (size_t)(a - at));
        memset(b, RT_OWNER_OTHER, (size_t)(at + count - b));
    } else {
        memset(at, RT_OWNER_OTHER, count);
    }
}
