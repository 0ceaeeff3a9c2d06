/* What checking finds, for the parent: accesses that were executed as the second of a pair, and
 * unserializable triples, each written down once with the call stack and counted after that. The
 * tables are in the session's memory (struct hd_wire_check). */
#include "runtime/check_cell.h"

#include <errno.h>

#define PATIENCE_S 60 /* for the parent's answer; it may have to read much debug information */

/* By site and what is done there: entry in the session's table of executed accesses, plus one. */
static uint32_t *number_of;

static struct rt_spin lock;
static struct hd_wire_check *out;

/* The triples' numbers plus one, by hash. Of each, what it is, without threads; and the execution
 * that it was counted for last. Entries are added under the lock and then stay. */
#define SLOTS (2 * HD_CHECK_VIOLATIONS)
static uint32_t *slot;
static struct known {
    uint64_t access[3];
    uint64_t counted;
    uint32_t second; /* number_of its I */
} * known;

void rt_check_report_start(void) {
    out = hd_wire_check(rt.session, rt.session->chunk_count);
    lock.word = 0;
    number_of = rt_map((size_t)HD_SITE_LIMIT * 4 * sizeof *number_of);
    slot = rt_map(SLOTS * sizeof *slot);
    known = rt_map(HD_CHECK_VIOLATIONS * sizeof *known);
}

static uint32_t site_of(uint64_t access) {
    return rt.check_only ? rt_site(&rt_self, WHERE_OF(access)) : (uint32_t)WHERE_OF(access);
}

static void note(uint32_t site, unsigned does) {
    struct rt_thread *t = &rt_self;
    t->busy++;
    rt_spin_lock(&lock);
    uint32_t *number = &number_of[site * 4 + does];
    if (*number == 0) {
        uint32_t i = out->sites;
        if (i < HD_CHECK_SITES)
            out->site[i] = (struct hd_wire_check_site){.site = site, .does = does};
        __atomic_store_n(&out->sites, i < UINT32_MAX ? i + 1 : i, __ATOMIC_RELEASE);
        __atomic_store_n(number, i + 1, __ATOMIC_RELAXED);
    }
    rt_spin_unlock(&lock);
    t->busy--;
}

RT_NOINLINE void rt_check_executed(uint64_t access) {
    uint32_t site = site_of(access);
    if (unlikely(number_of[site * 4 + DOES_OF(access)] == 0)) note(site, DOES_OF(access));
}

/* An access without its thread. */
#define IN_CODE(access) ((access) & (FIRST - 1))

static bool same(const struct known *it, const struct rt_check_triple *triple) {
    for (unsigned i = 0; i < 3; i++)
        if (it->access[i] != IN_CODE(triple->access[i])) return false;
    return true;
}

static uint32_t first_slot(const struct rt_check_triple *triple) {
    uint64_t hash = 0;
    for (unsigned i = 0; i < 3; i++)
        hash = (hash ^ IN_CODE(triple->access[i])) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)(hash >> 40) % SLOTS;
}

/* The number of a triple plus one; 0 if it is new: *at is where it belongs. */
static uint32_t find(const struct rt_check_triple *triple, uint32_t *at) {
    for (*at = first_slot(triple);; *at = (*at + 1) % SLOTS) {
        uint32_t number = __atomic_load_n(&slot[*at], __ATOMIC_ACQUIRE);
        if (number == 0 || same(&known[number - 1], triple)) return number;
    }
}

static void fill(struct rt_thread *t, struct hd_wire_violation *violation,
                 const struct rt_check_triple *triple) {
    for (unsigned i = 0; i < 3; i++)
        violation->access[i] = (struct hd_wire_check_access){
            THREAD_OF(triple->access[i]), site_of(triple->access[i]), DOES_OF(triple->access[i])};
    violation->address = triple->address;
    violation->size = triple->size;
    uint32_t frames = 0;
    for (const struct rt_frame *f = t->frame;
         f != NULL && f > t->frame_base && frames < HD_CHECK_FRAMES; f--)
        violation->frame[frames++] = rt_site(t, f[-1].pc);
    violation->frames = frames;
    __atomic_store_n(&violation->ready, 1, __ATOMIC_RELEASE);
}

/* Writes a triple down; 0 if there is no room. */
static uint32_t add(struct rt_thread *t, const struct rt_check_triple *triple) {
    uint32_t at;
    rt_spin_lock(&lock);
    uint32_t number = find(triple, &at);
    if (number == 0 && out->violations >= HD_CHECK_VIOLATIONS) {
        out->violations = HD_CHECK_VIOLATIONS + 1;
    } else if (number == 0) {
        number = out->violations + 1;
        for (unsigned i = 0; i < 3; i++) known[number - 1].access[i] = IN_CODE(triple->access[i]);
        known[number - 1].second =
            number_of[site_of(triple->access[2]) * 4 + DOES_OF(triple->access[2])];
        fill(t, &out->violation[number - 1], triple);
        __atomic_store_n(&out->violations, number, __ATOMIC_RELEASE);
        __atomic_store_n(&slot[at], number, __ATOMIC_RELEASE);
    }
    rt_spin_unlock(&lock);
    return number;
}

static void wake_parent(void) {
    struct hd_wire_session *session = rt.session;
    __atomic_fetch_add(&session->wake, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&session->draining, __ATOMIC_SEQ_CST))
        rt_futex_wake(&session->wake, 1, true);
}

/* The parent answers, or ends the program. */
static void wait_for_answer(struct hd_wire_violation *violation) {
    for (unsigned i = 0; i < PATIENCE_S * 10; i++) {
        if (__atomic_load_n(&violation->answered, __ATOMIC_ACQUIRE)) return;
        struct timespec moment = {0, 100 * 1000 * 1000};
        rt_futex_wait(&violation->answered, 0, &moment, true);
        if (__atomic_load_n(&rt.session->parent_gone, __ATOMIC_ACQUIRE) || !rt_parent_alive())
            return;
    }
}

static void count(uint64_t *counter) { __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED); }

void rt_check_report(struct rt_thread *t, const struct rt_check_triple *triple) {
    uint32_t at, number;
    struct reported *last =
        &t->check_records->reported[(triple->access[2] ^ triple->access[2] >> 8) % REPORTED];
    bool again = true;
    for (unsigned i = 0; i < 3; i++) again &= last->access[i] == IN_CODE(triple->access[i]);
    number = again ? last->number : find(triple, &at);
    bool fresh = number == 0;
    int saved = errno;
    if (fresh) number = add(t, triple);
    if (number == 0) return;
    for (unsigned i = 0; i < 3; i++) last->access[i] = IN_CODE(triple->access[i]);
    last->number = number;
    struct hd_wire_violation *violation = &out->violation[number - 1];
    if (known[number - 1].counted != triple->execution) {
        known[number - 1].counted = triple->execution;
        count(&violation->instances);
        uint32_t site = known[number - 1].second;
        if (site - 1 < HD_CHECK_SITES) count(&out->site[site - 1].violations);
    }
    if (fresh) {
        wake_parent();
        if (rt.options.check_waits) wait_for_answer(violation);
    }
    errno = saved;
}
