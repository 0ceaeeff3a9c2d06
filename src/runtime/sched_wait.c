/* The serial scheduler's waits: threads that wait for an object which the runtime knows are blocked
 * here, not in the kernel, so that a deadlock is seen the moment it closes. */
#define _GNU_SOURCE
#include "runtime/sched.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct sched_queue *bucket(unsigned type, uintptr_t object) {
    return &sched.waiting[((object ^ type) * 0x9e3779b97f4a7c15ull >> 56) % SCHED_BUCKETS];
}

/* Whether a thread holds what it waits for is known for mutexes, by the C library's own word. */
static struct rt_thread *by_tid(int tid) {
    for (uint32_t i = 0; i < rt.threads; i++) {
        struct rt_thread *t = rt.slot[i].thread;
        if (t != NULL && !rt.slot[i].ended && t->tid == tid) return t;
    }
    return NULL;
}

static struct rt_thread *waits_for(const struct rt_thread *t) {
    if (t->state != RT_BLOCKED || t->timed) return NULL;
    if (t->wait_type == HD_WAIT_LOCK && t->wait_mutex)
        return by_tid(((const pthread_mutex_t *)t->wait_object)->__data.__owner);
    if (t->wait_type == HD_WAIT_JOIN) return rt.slot[t->wait_object].thread;
    return NULL;
}

static bool in_cycle(struct rt_thread *t) {
    struct rt_thread *u = waits_for(t);
    for (uint32_t steps = 0; u != NULL && steps < rt.threads; steps++) {
        if (u == t) return true;
        u = waits_for(u);
    }
    return false;
}

/* No thread can go on: nobody ready, outside, or waiting for a deadline; and if a signal handler
 * may still come, only locks and joins count, which no handler can give. A thread that we do not
 * know may come and help; the watchdog looks again whether there is one. */
bool sched_is_stuck(void) {
    if (sched.leaving != NULL) return false;
    if (sched.ready_count || sched.outside_count || sched.timed_count || sched.blocked_count == 0)
        return false;
    for (uint32_t i = 0; rt_handlers_installed && i < rt.threads; i++) {
        struct rt_thread *t = rt.slot[i].thread;
        if (t != NULL && t->state == RT_BLOCKED && t->wait_type != HD_WAIT_LOCK &&
            t->wait_type != HD_WAIT_JOIN)
            return false;
    }
    return !rt_strangers();
}

__attribute__((noreturn)) void sched_deadlock(struct rt_thread *t) {
    for (uint32_t i = 0; i < rt.threads; i++) {
        struct rt_thread *u = rt.slot[i].thread;
        if (u == NULL || u->state != RT_BLOCKED) continue;
        if (u != t) rt_emit_as(t, u);
        rt_emit(u, HD_EV_BLOCKED, u->wait_type & ~RT_WAIT_UNUSED, u->wait_object,
                rt_site(u, u->wait_pc));
        if (u != t) rt_emit_back(t, u);
    }
    rt.session->deadlocked = 1;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) syscall(SYS_pause);
}

static void remove_waiter(struct rt_thread *t) {
    struct sched_queue *q = bucket(t->wait_type, t->wait_object);
    struct rt_thread *before = NULL;
    for (struct rt_thread *u = q->first; u != NULL; before = u, u = u->next) {
        if (u != t) continue;
        sched_unlink(q, before, t);
        break;
    }
    sched.blocked_count--;
    if (t->timed) sched.timed_count--;
    t->timed = false;
}

/* ---- time ----------------------------------------------------------------------------------- */

/* A run that is explored, or that repeats one, does not wait for a short time to pass: it is up
 * when the schedule says so, or when nobody else can run, and then the clocks that the program
 * reads are ahead by what was left. Longer ones are waited for: that threads are so slow is
 * unlikely. */
#define OURS_NS 1000000000

static uint64_t ahead;

uint64_t rt_clock_ahead(void) { return __atomic_load_n(&ahead, __ATOMIC_RELAXED); }

static int64_t time_left(const struct timespec *deadline, clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) return INT64_MAX;
    int64_t seconds = (int64_t)deadline->tv_sec - (int64_t)now.tv_sec;
    if (seconds > 1000000) return INT64_MAX;
    if (seconds < -1000000) return 0;
    int64_t left = seconds * 1000000000 + (deadline->tv_nsec - now.tv_nsec) - (int64_t)ahead;
    return left > 0 ? left : 0;
}

static bool is_ours(const struct timespec *deadline, clockid_t clock) {
    bool steered =
        rt.options.states || (rt.options.policy == HD_POLICY_REPLAY && rt_replay_expires());
    return deadline != NULL && steered && time_left(deadline, clock) <= OURS_NS;
}

void sched_expire(struct rt_thread *t) {
    ahead += (uint64_t)time_left(&t->until, t->until_clock);
    remove_waiter(t);
    t->timed_out = true;
    sched_make_ready(t);
}

bool sched_expire_first(void) {
    struct rt_thread *first = NULL;
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < rt.threads && sched.timed_count > 0; i++) {
        struct rt_thread *t = rt.slot[i].thread;
        if (t == NULL || t->state != RT_BLOCKED || !t->timed || !t->time_is_ours) continue;
        int64_t left = time_left(&t->until, t->until_clock);
        if (left >= least) continue;
        least = left;
        first = t;
    }
    if (first != NULL) sched_expire(first);
    return first != NULL;
}

void sched_reset_time(void) { ahead = 0; }

/* A deadline by clocks that are ahead, by the real ones. */
static const struct timespec *earlier(const struct timespec *deadline, struct timespec *real) {
    uint64_t seconds = ahead / 1000000000u, rest = ahead % 1000000000u;
    *real = *deadline;
    real->tv_sec -= (time_t)seconds;
    real->tv_nsec -= (long)rest;
    if (real->tv_nsec < 0) {
        real->tv_nsec += 1000000000;
        real->tv_sec--;
    }
    if (real->tv_sec < 0) *real = (struct timespec){0, 0};
    return real;
}

static void run_signals(struct rt_thread *t) {
    uint32_t busy = t->busy, inside = t->inside;
    t->busy = 0;
    t->inside = 0;
    rt_leave_signals(t);
    t->inside = inside;
    t->busy = busy;
}

RT_PROGRAM bool rt_sched_block(struct rt_thread *t, unsigned wait_type, uintptr_t object,
                               const struct timespec *deadline, clockid_t clock, uintptr_t pc) {
    struct timespec real;
    bool ours = is_ours(deadline, clock);
    if (unlikely(rt.options.states)) rt_state_blocked(t, wait_type, object, ours, pc);
    rt_spin_lock(&sched.lock);
    t->state = RT_BLOCKED;
    t->wait_type = (uint8_t)wait_type;
    t->wait_object = object;
    t->wait_pc = pc;
    t->timed = deadline != NULL;
    if (deadline != NULL) t->until = *deadline;
    t->until_clock = clock;
    t->timed_out = false;
    t->time_is_ours = ours;
    if (ours) deadline = NULL;
    if (unlikely(ahead > 0) && deadline != NULL) deadline = earlier(deadline, &real);
    sched_append(bucket(wait_type, object), t);
    sched.blocked_count++;
    if (t->timed) sched.timed_count++;
    if (!t->timed && sched.leaving == NULL && (sched_is_stuck() || in_cycle(t))) sched_deadlock(t);
    sched_put_stream(t);
    struct rt_thread *next = sched_pass();
    rt_spin_unlock(&sched.lock);
    sched_wake(next);
    for (int i = 0; i < 200 && __atomic_load_n(&t->go, __ATOMIC_ACQUIRE) != RT_GO_RUN; i++)
        __builtin_ia32_pause();
    while (!sched_has_turn(t)) {
        long result = t->signals_pending && t->state == RT_BLOCKED
                          ? 0
                          : rt_futex_wait_until(&t->go, 0, deadline, clock);
        bool late = result == -ETIMEDOUT;
        if (!late && !t->signals_pending) continue;
        rt_spin_lock(&sched.lock);
        if (t->state == RT_BLOCKED) {
            remove_waiter(t);
            t->timed_out = late;
            sched_make_ready(t);
            if (sched.holder == NULL) {
                next = sched_pass();
                if (next == t) t->go = RT_GO_RUN;
                rt_spin_unlock(&sched.lock);
                if (next != t) sched_wake(next);
                continue;
            }
        }
        rt_spin_unlock(&sched.lock);
        if (late) deadline = NULL;
    }
    t->go = 0;
    if (rt.mode == HD_SCHED_SERIAL) sched_take_stream(t);
    if (t->signals_pending) run_signals(t);
    return !t->timed_out;
}

/* Makes threads that wait for the object ready; the first starved one of them in *starved. */
static unsigned wake_waiters(unsigned wait_type, uintptr_t object, bool all,
                             struct rt_thread **starved) {
    unsigned woken = 0;
    struct sched_queue *q = bucket(wait_type, object);
    struct rt_thread *before = NULL, *t = q->first;
    while (t != NULL) {
        struct rt_thread *next = t->next;
        if (t->wait_type != wait_type || t->wait_object != object) {
            before = t;
            t = next;
            continue;
        }
        sched_unlink(q, before, t);
        sched.blocked_count--;
        if (t->timed) sched.timed_count--;
        t->timed = false;
        sched_make_ready(t);
        if (t->starved && *starved == NULL) *starved = t;
        woken++;
        if (!all) break;
        t = next;
    }
    return woken;
}

bool rt_sched_awaited(unsigned wait_type, uintptr_t object) {
    if (__atomic_load_n(&sched.blocked_count, __ATOMIC_RELAXED) == 0) return false;
    rt_spin_lock(&sched.lock);
    const struct rt_thread *t = bucket(wait_type, object)->first;
    while (t != NULL && (t->wait_type != wait_type || t->wait_object != object)) t = t->next;
    rt_spin_unlock(&sched.lock);
    return t != NULL;
}

unsigned rt_sched_wake(unsigned wait_type, uintptr_t object, bool all) {
    if (__atomic_load_n(&sched.blocked_count, __ATOMIC_RELAXED) == 0) return 0;
    struct rt_thread *starved = NULL;
    rt_spin_lock(&sched.lock);
    unsigned woken = wake_waiters(wait_type, object, all, &starved);
    rt_spin_unlock(&sched.lock);
    return woken;
}

void rt_sched_hand_over(struct rt_thread *t, unsigned wait_type, uintptr_t object, bool all) {
    if (rt.mode != HD_SCHED_SERIAL) return;
    if (__atomic_load_n(&sched.blocked_count, __ATOMIC_RELAXED) == 0) return;
    struct rt_thread *starved = NULL;
    rt_spin_lock(&sched.lock);
    wake_waiters(wait_type, object, all, &starved);
    if (starved == NULL || sched.policy->commands) {
        rt_spin_unlock(&sched.lock);
        return;
    }
    sched_take_ready(starved);
    sched_put_stream(t);
    sched_make_ready(t);
    sched.holder = starved;
    starved->state = RT_RUNNING;
    rt_spin_unlock(&sched.lock);
    sched_wake(starved);
    sched_wait_turn(t);
}

struct rt_thread *rt_sched_wake_one(unsigned wait_type, uintptr_t object, uint32_t preferred) {
    if (__atomic_load_n(&sched.blocked_count, __ATOMIC_RELAXED) == 0) return NULL;
    rt_spin_lock(&sched.lock);
    struct rt_thread *t = NULL;
    for (struct rt_thread *u = bucket(wait_type, object)->first; u != NULL; u = u->next) {
        if (u->wait_type != wait_type || u->wait_object != object) continue;
        if (t == NULL) t = u;
        if (u->number != preferred) continue;
        t = u;
        break;
    }
    if (t != NULL) {
        remove_waiter(t);
        t->woken = true;
        sched_make_ready(t);
    }
    rt_spin_unlock(&sched.lock);
    return t;
}

/* A thread that is to be cancelled returns from where it is blocked. */
void rt_sched_wake_cancelled(struct rt_thread *t) {
    if (rt.mode != HD_SCHED_SERIAL) return;
    rt_spin_lock(&sched.lock);
    if (t->state == RT_BLOCKED) {
        remove_waiter(t);
        sched_make_ready(t);
    }
    rt_spin_unlock(&sched.lock);
}
