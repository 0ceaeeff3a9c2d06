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

/* The triples' numbers plus one, by hash; and the execution that each was counted for last. */
#define SLOTS (2 * HD_CHECK_VIOLATIONS)
static uint32_t *slot;
static uint64_t *counted;

void rt_check_report_start(void) {
    out = hd_wire_check(rt.session, rt.session->chunk_count);
    lock.word = 0;
    number_of = rt_map((size_t)HD_SITE_LIMIT * 4 * sizeof *number_of);
    slot = rt_map(SLOTS * sizeof *slot);
    counted = rt_map(HD_CHECK_VIOLATIONS * sizeof *counted);
}

uint32_t rt_check_site(uint64_t access) {
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
    uint32_t site = rt_check_site(access);
    if (unlikely(number_of[site * 4 + DOES_OF(access)] == 0)) note(site, DOES_OF(access));
}

static bool same(const struct hd_wire_violation *violation, const struct rt_check_triple *triple) {
    for (unsigned i = 0; i < 3; i++)
        if (violation->access[i].site != triple->access[i].site ||
            violation->access[i].does != triple->access[i].does)
            return false;
    return true;
}

static uint32_t first_slot(const struct rt_check_triple *triple) {
    uint64_t hash = 0;
    for (unsigned i = 0; i < 3; i++)
        hash =
            (hash ^ (triple->access[i].site * 4u + triple->access[i].does)) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)(hash >> 32) % SLOTS;
}

static void fill(struct rt_thread *t, struct hd_wire_violation *violation,
                 const struct rt_check_triple *triple) {
    for (unsigned i = 0; i < 3; i++)
        violation->access[i] = (struct hd_wire_check_access){
            triple->access[i].thread, triple->access[i].site, triple->access[i].does};
    violation->address = triple->address;
    violation->size = triple->size;
    uint32_t frames = 0;
    for (const struct rt_frame *f = t->frame;
         f != NULL && f > t->frame_base && frames < HD_CHECK_FRAMES; f--)
        violation->frame[frames++] = rt_site(t, f[-1].pc);
    violation->frames = frames;
    __atomic_store_n(&violation->ready, 1, __ATOMIC_RELEASE);
}

/* The number of the triple, made if it is new: *fresh; HD_CHECK_VIOLATIONS if there is no room. */
static uint32_t find(struct rt_thread *t, const struct rt_check_triple *triple, bool *fresh) {
    *fresh = false;
    for (uint32_t at = first_slot(triple);; at = (at + 1) % SLOTS) {
        uint32_t number = slot[at];
        if (number != 0 && same(&out->violation[number - 1], triple)) return number - 1;
        if (number != 0) continue;
        if (out->violations >= HD_CHECK_VIOLATIONS) {
            out->violations = HD_CHECK_VIOLATIONS + 1;
            return HD_CHECK_VIOLATIONS;
        }
        number = out->violations;
        fill(t, &out->violation[number], triple);
        __atomic_store_n(&out->violations, number + 1, __ATOMIC_RELEASE);
        slot[at] = number + 1;
        *fresh = true;
        return number;
    }
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

void rt_check_report(struct rt_thread *t, const struct rt_check_triple *triple) {
    int saved = errno;
    bool fresh;
    rt_spin_lock(&lock);
    uint32_t number = find(t, triple, &fresh);
    struct hd_wire_violation *violation =
        number < HD_CHECK_VIOLATIONS ? &out->violation[number] : NULL;
    if (violation != NULL && counted[number] != triple->execution) {
        counted[number] = triple->execution;
        violation->instances++;
        const struct rt_check_access *second = &triple->access[2];
        uint32_t site = number_of[second->site * 4 + second->does];
        if (site - 1 < HD_CHECK_SITES) out->site[site - 1].violations++;
    }
    rt_spin_unlock(&lock);
    if (fresh) {
        wake_parent();
        if (rt.options.check_waits) wait_for_answer(violation);
    }
    errno = saved;
}
