/* Forcing interleavings under free: threads are suspended before the accesses of a plan's targets
 * (struct hd_wire_force), so that R runs between another thread's P and C. One thread is suspended
 * at a time, for a limited time, a limited number of times; where an access is in a critical
 * section, before the outermost one.
 *
 * A hook runs before its access. So "P has been executed" is known at its thread's next hook, which
 * C's is or comes before; and "R has run" is known at the next hook of R's thread, or a moment
 * later should that thread never come to one. */
#include "runtime/rt.h"

#include <errno.h>
#include <string.h>

#define BETWEEN 16u       /* threads that are between P and C of one target, as far as is noted */
#define GRACE_NS 5000000u /* for R to run when its thread comes to no other hook */
#define HEAD_START_NS 1000000u

enum place { P, C, R, C_STOP, R_STOP, C_CALLER, R_CALLER, PLACES };

/* A thread has executed P and not C. */
struct between {
    uint32_t thread; /* number + 1; 0: nobody */
    bool seen;       /* R has come since */
    uintptr_t low, high;
};

struct target {
    uint32_t site[PLACES]; /* 0: none, or its module is not there */
    bool needs_p;
    uint32_t c_thread, r_thread, skip, timeouts, hits;
    struct between between[BETWEEN];
    uint32_t oldest;
};

/* Which target a site is of. */
struct entry {
    uint32_t site;
    uint16_t target;
    uint16_t place;
};

enum go { WAIT = 0, GO, MET };

/* All guarded by lock, but for marks, which only gains members. */
static struct rt_spin lock;
static const struct hd_wire_force *plan;
static struct target *target;
static struct entry *entry;
static uint32_t entries;
static uint8_t *marks; /* by site: it is a target's */

/* The one thread that is suspended. */
static struct {
    struct target *at; /* NULL: nobody is */
    struct rt_thread *t;
    bool is_c;
    bool met; /* C's: R's hook was passed by... */
    uint32_t partner;
    uintptr_t low, high; /* 0, 0: not known yet, before a section (R's, or C's without a P) */
} held;

/* strict: R's thread, while C is to run. */
static struct rt_thread *r_waits;

static struct hd_wire_force_answer *answer(void) {
    _Static_assert(sizeof(struct hd_wire_force_answer) <= sizeof rt.session->answer, "fits");
    return (struct hd_wire_force_answer *)(void *)rt.session->answer;
}

static void note(const struct target *it, enum hd_force_state state) {
    struct hd_wire_force_answer *a = answer();
    uint32_t number = (uint32_t)(it - target);
    if (a->state[number] < state) a->state[number] = (uint8_t)state;
    if (state == HD_FORCE_EXERCISED) a->last = number;
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- the plan ------------------------------------------------------------------------------- */

static const struct hd_wire_place *place_of(const struct hd_wire_target *from, enum place place) {
    switch (place) {
    case P:
        return &from->p;
    case C:
        return &from->c;
    case R:
        return &from->r;
    case C_STOP:
        return &from->c_stop;
    case R_STOP:
        return &from->r_stop;
    case C_CALLER:
        return &from->c_caller;
    default:
        return &from->r_caller;
    }
}

void rt_force_start(void) {
    rt.forcing = false;
    lock.word = 0;
    held.at = NULL;
    r_waits = NULL;
    if (rt.options.scheduler != HD_SCHED_FREE || rt.options.policy != HD_POLICY_FORCE) return;
    plan = rt.plan;
    if (plan == NULL || rt.plan_bytes < sizeof *plan || plan->targets > HD_FORCE_MOST ||
        plan->targets > (rt.plan_bytes - sizeof *plan) / sizeof plan->target[0])
        return;
    target = rt_map(HD_FORCE_MOST * sizeof *target);
    entry = rt_map(HD_FORCE_MOST * PLACES * sizeof *entry);
    marks = rt_map(HD_SITE_LIMIT);
    entries = 0;
    for (uint32_t i = 0; i < plan->targets; i++) {
        const struct hd_wire_target *from = &plan->target[i];
        target[i].needs_p = from->p.module != 0;
        target[i].c_thread = from->c_thread;
        target[i].r_thread = from->r_thread;
        target[i].skip = from->skip;
    }
    *answer() = (struct hd_wire_force_answer){.last = UINT32_MAX};
    rt.forcing = true;
    rt.always_slow = true;
}

static void enter(uint32_t site, uint32_t number, enum place place) {
    uint32_t at = entries++;
    for (; at > 0 && entry[at - 1].site > site; at--) entry[at] = entry[at - 1];
    entry[at] = (struct entry){site, (uint16_t)number, (uint16_t)place};
}

void rt_force_module(const char *path, uint32_t site_base) {
    if (!rt.forcing) return;
    uint64_t module = hd_wire_name_hash(path);
    rt_spin_lock(&lock);
    for (uint32_t i = 0; i < plan->targets; i++) {
        for (enum place place = 0; place < PLACES; place++) {
            const struct hd_wire_place *where = place_of(&plan->target[i], place);
            if (where->module != module || target[i].site[place] != 0 ||
                where->offset >= HD_SITE_LIMIT - site_base)
                continue;
            uint32_t site = site_base + (uint32_t)where->offset;
            target[i].site[place] = site;
            if (place >= C_CALLER) continue;
            enter(site, i, place);
            __atomic_store_n(&marks[site], 1, __ATOMIC_RELEASE);
        }
    }
    rt_spin_unlock(&lock);
}

/* ---- who is where --------------------------------------------------------------------------- */

static bool overlap(uintptr_t low, uintptr_t high, uintptr_t other_low, uintptr_t other_high) {
    return low < other_high && other_low < high;
}

static struct between *find_between(struct target *it, uint32_t number) {
    for (uint32_t i = 0; i < BETWEEN; i++)
        if (it->between[i].thread == number + 1) return &it->between[i];
    return NULL;
}

static void p_comes(struct target *it, uint32_t number, uintptr_t low, uintptr_t high) {
    struct between *b = find_between(it, number);
    for (uint32_t i = 0; b == NULL && i < BETWEEN; i++)
        if (it->between[i].thread == 0) b = &it->between[i];
    if (b == NULL) b = &it->between[it->oldest++ % BETWEEN];
    *b = (struct between){.thread = number + 1, .low = low, .high = high};
}

static void c_comes(struct target *it, uint32_t number, uintptr_t low, uintptr_t high) {
    struct between *b = find_between(it, number);
    if (b == NULL || !overlap(low, high, b->low, b->high)) return;
    if (b->seen) note(it, HD_FORCE_EXERCISED);
    b->thread = 0;
}

static void r_comes(struct target *it, struct rt_thread *t, uintptr_t low, uintptr_t high) {
    for (uint32_t i = 0; i < BETWEEN; i++) {
        struct between *b = &it->between[i];
        if (b->thread == 0 || b->thread == t->number + 1 || !overlap(low, high, b->low, b->high))
            continue;
        b->seen = true;
        note(it, HD_FORCE_MET);
    }
    if (held.at != it || !held.is_c || held.met || held.t == t ||
        (held.high != 0 && !overlap(low, high, held.low, held.high)))
        return;
    held.met = true;
    held.partner = t->number;
    t->ran_r = true;
    note(it, HD_FORCE_MET);
    __atomic_store_n(&held.t->force_go, MET, __ATOMIC_RELEASE);
    rt_futex_wake(&held.t->force_go, 1, false);
}

/* ---- suspension ----------------------------------------------------------------------------- */

static void release(struct rt_thread *t) {
    held.at = NULL;
    __atomic_store_n(&t->force_go, GO, __ATOMIC_RELEASE);
    rt_futex_wake(&t->force_go, 1, false);
}

/* With the lock held, which is released meanwhile. */
static void suspend(struct rt_thread *t, struct target *it, bool is_c, uintptr_t low,
                    uintptr_t high) {
    held.at = it;
    held.t = t;
    held.is_c = is_c;
    held.met = false;
    held.low = low;
    held.high = high;
    t->held_back = true;
    t->force_go = WAIT;
    answer()->suspensions++;
    note(it, HD_FORCE_SUSPENDED);
    rt_spin_unlock(&lock);
    uint64_t deadline = now_ns() + plan->timeout_us * 1000ull;
    enum go seen = WAIT;
    for (;;) {
        uint64_t now = now_ns(), rest = now < deadline ? deadline - now : 0;
        struct timespec pause = {(time_t)(rest / 1000000000u), (long)(rest % 1000000000u)};
        if (rest > 0) rt_futex_wait(&t->force_go, seen, &pause, false);
        enum go go = __atomic_load_n(&t->force_go, __ATOMIC_ACQUIRE);
        if (go == GO) break;
        if (go == MET && seen == WAIT) {
            seen = MET;
            deadline = now_ns() + GRACE_NS;
        }
        if (now_ns() < deadline) continue;
        rt_spin_lock(&lock);
        bool still = held.at == it && held.t == t && t->force_go == go;
        if (still) {
            held.at = NULL;
            if (!held.met) {
                it->timeouts++;
                answer()->timeouts++;
            }
        }
        rt_spin_unlock(&lock);
        if (still) break;
        deadline = now_ns() + GRACE_NS; /* somebody changed it at this very moment */
    }
    rt_spin_lock(&lock);
    t->held_back = false;
    if (is_c && t->force_go != WAIT) {
        t->ran_c = plan->strict;
        it->hits++;
        answer()->hits++;
        if (!it->needs_p) note(it, HD_FORCE_EXERCISED);
    }
}

static bool over(struct target *it) {
    if (it->timeouts >= plan->timeouts || it->hits >= plan->hits) return true;
    if (it->skip == 0) return false;
    it->skip--;
    return true;
}

/* A thread comes to where it would be suspended before C (R). The range is that of the access, or
 * nothing if it is still ahead. */
static void at_c(struct rt_thread *t, struct target *it, uintptr_t low, uintptr_t high) {
    if (it->needs_p) {
        const struct between *b = find_between(it, t->number);
        if (b == NULL || b->seen || (high != 0 && !overlap(low, high, b->low, b->high))) return;
        low = b->low;
        high = b->high;
    }
    bool r_is_held = held.at == it && !held.is_c && held.t != t &&
                     (held.high == 0 || high == 0 || overlap(low, high, held.low, held.high));
    if ((held.at != NULL && !r_is_held) || over(it)) return;
    if (r_is_held) release(held.t);
    suspend(t, it, true, low, high);
}

static void at_r(struct rt_thread *t, struct target *it, uintptr_t low, uintptr_t high) {
    if (held.at != NULL) return;
    /* somebody is in the gap already: now is the time */
    for (uint32_t i = 0; i < BETWEEN; i++)
        if (it->between[i].thread != 0 && it->between[i].thread != t->number + 1 && high != 0 &&
            overlap(low, high, it->between[i].low, it->between[i].high))
            return;
    if (over(it)) return;
    suspend(t, it, false, low, high);
}

/* ---- hooks ---------------------------------------------------------------------------------- */

/* R's thread, with the lock held: C is next. A moment is enough, since C's thread waits for
 * nothing; and it may be that it needs what this one holds. */
static void let_c_go(struct rt_thread *t) {
    r_waits = t;
    t->force_go = WAIT;
    t->held_back = true;
    rt_spin_unlock(&lock);
    struct timespec moment = {0, GRACE_NS};
    rt_futex_wait(&t->force_go, WAIT, &moment, false);
    rt_spin_lock(&lock);
    if (r_waits == t) r_waits = NULL;
    t->held_back = false;
}

static void r_has_run(struct rt_thread *t) {
    int saved = errno;
    rt_spin_lock(&lock);
    t->ran_r = false;
    if (held.at != NULL && held.met && held.partner == t->number) {
        release(held.t);
        if (plan->strict) let_c_go(t);
    }
    rt_spin_unlock(&lock);
    errno = saved;
}

static void c_has_run(struct rt_thread *t) {
    rt_spin_lock(&lock);
    t->ran_c = false;
    bool r_goes_on = r_waits != NULL;
    if (r_goes_on) {
        __atomic_store_n(&r_waits->force_go, GO, __ATOMIC_RELEASE);
        rt_futex_wake(&r_waits->force_go, 1, false);
        r_waits = NULL;
    }
    rt_spin_unlock(&lock);
    if (!r_goes_on || plan->strict != HD_FORCE_R_FIRST) return;
    int saved = errno;
    uint32_t nobody = 0;
    struct timespec moment = {0, HEAD_START_NS};
    rt_futex_wait(&nobody, 0, &moment, false);
    errno = saved;
}

static void look_back(struct rt_thread *t) {
    if (t->ran_r) r_has_run(t);
    if (t->ran_c) c_has_run(t);
}

/* A handler that ran while the thread has the lock would wait for it for ever: signals wait. */
static void enter_force(struct rt_thread *t) { t->busy++; }
static void leave_force(struct rt_thread *t) {
    t->busy--;
    if (t->signals_pending && t->busy == 0) rt_leave_signals(t);
}

void rt_force_call(struct rt_thread *t) {
    if (t->held_back || !(t->ran_r || t->ran_c)) return;
    enter_force(t);
    look_back(t);
    leave_force(t);
}

static bool in_context(const struct target *it, enum place place, const struct rt_thread *t,
                       uint32_t caller) {
    if (place == P) return it->c_thread == UINT32_MAX || it->c_thread == t->number;
    bool is_c = place == C || place == C_STOP;
    uint32_t thread = is_c ? it->c_thread : it->r_thread;
    if (thread != UINT32_MAX && thread != t->number) return false;
    /* a section may be entered in another function than the access */
    if (place >= C_STOP && it->site[place] != it->site[is_c ? C : R]) return true;
    uint32_t wanted = it->site[is_c ? C_CALLER : R_CALLER];
    return wanted == 0 || wanted == caller;
}

static uint32_t first_entry(uint32_t site) {
    uint32_t low = 0, high = entries;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (entry[middle].site < site)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What is accessed where a thread is suspended is only known if that is the access itself. */
static bool is_access(const struct target *it, enum place stop) {
    return it->site[stop] == it->site[stop == C_STOP ? C : R];
}

static void come(struct rt_thread *t, uint32_t site, uintptr_t low, uintptr_t high) {
    static const enum place order[] = {C_STOP, R_STOP, R, C, P};
    uint32_t caller =
        t->frame != NULL && t->frame > t->frame_base ? rt_site(t, t->frame[-1].pc) : 0;
    int saved = errno;
    rt_spin_lock(&lock);
    for (unsigned k = 0; k < sizeof order / sizeof *order; k++) {
        /* entries may move while a thread is suspended: the numbers are looked up again */
        for (uint32_t n = 0;; n++) {
            uint32_t i = first_entry(site) + n;
            if (i >= entries || entry[i].site != site) break;
            if (entry[i].place != order[k]) continue;
            struct target *it = &target[entry[i].target];
            if (!in_context(it, order[k], t, caller)) continue;
            switch (order[k]) {
            case C_STOP:
                at_c(t, it, is_access(it, C_STOP) ? low : 0, is_access(it, C_STOP) ? high : 0);
                break;
            case R_STOP:
                at_r(t, it, is_access(it, R_STOP) ? low : 0, is_access(it, R_STOP) ? high : 0);
                break;
            case R:
                r_comes(it, t, low, high);
                break;
            case C:
                c_comes(it, t->number, low, high);
                break;
            default:
                if (it->needs_p) p_comes(it, t->number, low, high);
                break;
            }
        }
    }
    rt_spin_unlock(&lock);
    errno = saved;
}

void rt_force_access(struct rt_thread *t, uint32_t site, uintptr_t address, size_t size) {
    if (t->force_call != rt_calls(t)) rt_force_call(t);
    if (site >= HD_SITE_LIMIT || !__atomic_load_n(&marks[site], __ATOMIC_ACQUIRE)) return;
    if (t->held_back || t->force_call == rt_calls(t)) return;
    t->force_call = rt_calls(t);
    enter_force(t);
    come(t, site, address, address + (size ? size : 1));
    leave_force(t);
}

void rt_force_sync(struct rt_thread *t, uint32_t site, uintptr_t object) {
    if (site >= HD_SITE_LIMIT || !__atomic_load_n(&marks[site], __ATOMIC_ACQUIRE)) return;
    if (t->held_back) return;
    enter_force(t);
    come(t, site, object, object + 1);
    leave_force(t);
}
