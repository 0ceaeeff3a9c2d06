/* The serial scheduler: one thread has the turn and gives it up only at a hook, an intercepted call
 * or a call that may block. Here: who has it, who gets it next, and the one stream of events that
 * goes with it. Under free nothing of this runs. */
#define _GNU_SOURCE
#include "runtime/sched.h"
#include "runtime/windows.h"

#include <signal.h>
#include <time.h>

struct sched sched = {.policy = &rt_policy_robin};

static struct rt_policy *const policies[] = {[HD_POLICY_ROUND_ROBIN] = &rt_policy_robin,
                                             [HD_POLICY_RANDOM] = &rt_policy_random,
                                             [HD_POLICY_REPLAY] = &rt_policy_replay,
                                             [HD_POLICY_PCT] = &rt_policy_pct,
                                             [HD_POLICY_POS] = &rt_policy_pos};
#define POLICIES (sizeof policies / sizeof *policies)

void sched_append(struct sched_queue *q, struct rt_thread *t) {
    t->next = NULL;
    if (q->last != NULL)
        q->last->next = t;
    else
        q->first = t;
    q->last = t;
}

void sched_unlink(struct sched_queue *q, struct rt_thread *before, struct rt_thread *t) {
    if (before != NULL)
        before->next = t->next;
    else
        q->first = t->next;
    if (q->last == t) q->last = before;
    t->next = NULL;
}

void sched_make_ready(struct rt_thread *t) {
    t->state = RT_READY;
    sched.ready_count++;
    sched_append(&sched.ready, t);
    if (sched.policy->preempts == NULL || sched.holder != &rt_self || t == sched.holder) return;
    if (!sched.policy->preempts(t, sched.holder)) return;
    sched.holder->slice_end = rt_calls(sched.holder) + 1;
    sched_set_stop(sched.holder);
}

void sched_take_ready(struct rt_thread *t) {
    struct rt_thread *before = NULL;
    for (struct rt_thread *u = sched.ready.first; u != t; u = u->next) before = u;
    sched_unlink(&sched.ready, before, t);
    sched.ready_count--;
}

static struct rt_thread *pick(void) {
    do {
        if (sched.ready_count == 0 && !sched.policy->commands) continue;
        struct rt_thread *t = sched.policy->pick(sched.ready.first, sched.ready_count);
        if (t == NULL) continue;
        sched_take_ready(t);
        return t;
    } while (sched.ready_count == 0 && sched.outside_count == 0 && !sched.policy->commands &&
             sched_expire_first());
    return NULL;
}

/* ---- the last turn: the process ends, and others can still run ---------------------------------
 */

/* What they would have done is part of what can go wrong. The bounds are for threads that never
 * block: more calls than short-lived threads make, and less time than anybody minds. */
#define LAST_CALLS 100000u
#define LAST_NS 300000000u

static bool left; /* they had */
static uint64_t calls_to_go, last_until, slice_start;

uint64_t sched_now_ns(void) {
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool last_turn_over(void) {
    return sched.leaving != NULL &&
           (sched.ready_count == 0 || calls_to_go == 0 || sched_now_ns() > last_until);
}

/* The holder's turn is over: its calls count. */
static void count_last_calls(const struct rt_thread *t) {
    uint64_t made = rt_calls(t) - slice_start;
    if (sched.leaving != NULL) calls_to_go -= made < calls_to_go ? made : calls_to_go;
}

/* Chooses who runs next; the caller wakes it after unlocking. */
struct rt_thread *sched_pass(void) {
    struct rt_thread *next;
    if (unlikely(last_turn_over())) {
        next = sched.leaving;
        sched.leaving = NULL;
        left = true;
    } else {
        next = pick();
    }
    sched.holder = next;
    if (next != NULL) next->state = RT_RUNNING;
    return next;
}

void sched_wake(struct rt_thread *next) {
    if (next == NULL) return;
    __atomic_store_n(&next->go, RT_GO_RUN, __ATOMIC_RELEASE);
    rt_futex_wake(&next->go, 1, false);
}

void sched_put_stream(struct rt_thread *t) {
    count_last_calls(t);
    sched.stream.cursor = t->cursor;
    sched.stream.end = t->chunk_end;
    sched.stream.chunk = t->chunk;
    sched.stream.thread = t->number;
    rt_stream_none(t);
}

/* Leaves so many calls to the fast path that the one which ends the turn, or the marked one, is the
 * first to take the slow one: it makes `left` -1. */
void sched_set_stop(struct rt_thread *t) {
    uint64_t calls = rt_calls(t);
    uint64_t stop = t->mark > calls && t->mark < t->slice_end ? t->mark : t->slice_end;
    uint64_t rest = stop - calls;
    bool slow = rt.always_slow || t->ignores_reads || t->ignores_writes;
    int64_t most = rt.check_only && rt.mode == HD_SCHED_FREE ? RT_LEFT_CHECKS : INT64_MAX;
    rt_set_left(t, slow ? -1 : rest > INT64_MAX ? most : (int64_t)rest - 1);
}

void rt_sched_marked(struct rt_thread *t) {
    if (t->slice_end > rt_calls(t)) sched_set_stop(t);
}

void sched_new_slice(struct rt_thread *t) {
    uint64_t slice = sched.policy->slice(t);
    if (sched.leaving != NULL && slice > calls_to_go) slice = calls_to_go > 0 ? calls_to_go : 1;
    slice_start = rt_calls(t);
    /* one that went on to the end of a block counts as if it had not */
    bool late = rt.whole_blocks && t->slice_end != 0 && slice_start - t->slice_end < HD_HOOK_BLOCK;
    t->slice_end = (late ? t->slice_end : slice_start) + slice;
    sched_set_stop(t);
    t->spin_keys = 0;
}

void sched_take_stream(struct rt_thread *t) {
    rt_windows_drop(t); /* others may have marked memory */
    rt_stream_is(t, sched.stream.chunk, sched.stream.cursor, sched.stream.end);
    if (sched.stream.thread != t->number) rt_store(t, hd_wire_head(HD_EV_THREAD, 0, t->number), 0);
    sched_new_slice(t);
}

/* True once the thread has the turn; takes back what a signal handler left in the word. */
bool sched_has_turn(struct rt_thread *t) {
    uint32_t look = RT_GO_LOOK;
    __atomic_compare_exchange_n(&t->go, &look, 0, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&t->go, __ATOMIC_ACQUIRE) == RT_GO_RUN;
}

/* Waits for the turn without a deadline. Short waits are common when threads hand work to each
 * other, so look a few times before sleeping. */
void sched_wait_turn(struct rt_thread *t) {
    for (int i = 0; i < 200 && __atomic_load_n(&t->go, __ATOMIC_ACQUIRE) != RT_GO_RUN; i++)
        __builtin_ia32_pause();
    while (!sched_has_turn(t)) rt_futex_wait(&t->go, 0, NULL, false);
    t->go = 0;
    if (rt.mode == HD_SCHED_SERIAL) sched_take_stream(t);
}

void sched_choose_policy(void) {
    sched.policy = rt.startup                     ? &rt_policy_startup
                   : rt.options.policy < POLICIES ? policies[rt.options.policy]
                                                  : &rt_policy_robin;
    if (sched.policy->start != NULL) sched.policy->start();
}

void rt_sched_first(struct rt_thread *t) {
    sched.holder = NULL;
    sched.ready = (struct sched_queue){NULL, NULL};
    for (unsigned i = 0; i < SCHED_BUCKETS; i++) sched.waiting[i] = sched.ready;
    sched.ready_count = sched.outside_count = sched.timed_count = sched.blocked_count = 0;
    sched.leaving = NULL;
    left = false;
    sched_reset_time();
    sched.lock.word = 0;
    sched.stream.cursor = sched.stream.end = NULL;
    sched.stream.chunk = NULL;
    sched.stream.thread = UINT32_MAX;
    t->state = RT_RUNNING;
    if (rt.mode == HD_SCHED_SERIAL) {
        sched_choose_policy();
        sched.holder = t;
        sched_take_stream(t);
    } else {
        t->slice_end = UINT64_MAX;
        sched_set_stop(t);
    }
}

void rt_sched_add(struct rt_thread *t) {
    rt_spin_lock(&sched.lock);
    sched_make_ready(t);
    rt_spin_unlock(&sched.lock);
}

void rt_sched_begin(struct rt_thread *t) {
    if (rt.mode == HD_SCHED_SERIAL) {
        sched_wait_turn(t);
    } else {
        t->state = RT_RUNNING;
        t->slice_end = UINT64_MAX;
        sched_set_stop(t);
    }
}

/* False: there is nobody else. */
static bool give_way(struct rt_thread *t) {
    rt_spin_lock(&sched.lock);
    if (sched.ready_count == 0 && !sched.policy->commands && sched.leaving == NULL) {
        sched_new_slice(t);
        rt_spin_unlock(&sched.lock);
        return false;
    }
    sched_put_stream(t);
    sched_make_ready(t);
    struct rt_thread *next = sched_pass();
    rt_spin_unlock(&sched.lock);
    if (next == t) {
        sched_take_stream(t);
        return true;
    }
    sched_wake(next);
    sched_wait_turn(t);
    return true;
}

void rt_sched_yield(struct rt_thread *t) {
    if (rt.mode == HD_SCHED_SERIAL) give_way(t);
}

void rt_sched_expired(struct rt_thread *t) {
    if (t->expired == 1 && sched.policy->commands) {
        t->expired = 2;
        give_way(t);
    }
    t->expired = 0;
}

/* A policy that commands says itself who runs before the process ends. */
void rt_sched_last(struct rt_thread *t) {
    if (rt.mode != HD_SCHED_SERIAL) return;
    rt_spin_lock(&sched.lock);
    if (sched.leaving != NULL || left || sched.ready_count == 0 || sched.policy->commands) {
        rt_spin_unlock(&sched.lock);
        return;
    }
    sched_put_stream(t);
    t->state = RT_BLOCKED;
    t->wait_type = 0;
    sched.leaving = t;
    calls_to_go = LAST_CALLS;
    last_until = sched_now_ns() + LAST_NS;
    struct rt_thread *next = sched_pass();
    rt_spin_unlock(&sched.lock);
    sched_wake(next);
    sched_wait_turn(t);
}

bool rt_sched_sleeps(struct rt_thread *t) {
    rt_spin_lock(&sched.lock);
    bool gives_way = sched.policy->sleeps != NULL && sched.ready_count > 0;
    if (gives_way) {
        sched.policy->sleeps(t);
        t->slice_end = rt_calls(t); /* its turn is over, as if its time was up */
    }
    rt_spin_unlock(&sched.lock);
    if (gives_way) rt_sched_yield(t);
    return gives_way;
}

void sched_lend(struct rt_thread *t) {
    rt_spin_lock(&sched.lock);
    sched_put_stream(t);
    t->state = RT_OUTSIDE;
    rt_set_left(t, -1);
    sched.outside_count++;
    struct rt_thread *next = sched_pass();
    rt_spin_unlock(&sched.lock);
    sched_wake(next);
}

void rt_block_enter(struct rt_thread *t) {
    if (t == NULL) return;
    if (rt.mode == HD_SCHED_SERIAL && t->state == RT_RUNNING) sched_lend(t);
    t->blocking = 1;
    t->inside--;
    t->busy--;
    if (t->signals_pending && t->busy == 0) rt_leave_signals(t);
}

void rt_block_leave(struct rt_thread *t) {
    if (t == NULL) return;
    t->busy++;
    t->inside++;
    t->blocking = 0;
    if (rt.mode == HD_SCHED_SERIAL && t->state == RT_OUTSIDE) rt_sched_acquire(t);
}

bool rt_sched_lend(struct rt_thread *t) {
    if (rt.mode != HD_SCHED_SERIAL || t->state != RT_RUNNING || t->busy) return false;
    t->busy++;
    sched_lend(t);
    t->busy--;
    return true;
}

void rt_sched_acquire(struct rt_thread *t) {
    rt_spin_lock(&sched.lock);
    if (t->state == RT_OUTSIDE) sched.outside_count--;
    sched_make_ready(t);
    struct rt_thread *next = sched.holder == NULL ? sched_pass() : NULL;
    rt_spin_unlock(&sched.lock);
    if (next == t) {
        sched_take_stream(t);
        return;
    }
    sched_wake(next);
    sched_wait_turn(t);
}

void rt_sched_exit(struct rt_thread *t) {
    if (rt.mode != HD_SCHED_SERIAL) return;
    rt_spin_lock(&sched.lock);
    t->state = RT_DEAD;
    if (sched_is_stuck()) sched_deadlock(t);
    sched_put_stream(t);
    struct rt_thread *next = sched_pass();
    rt_spin_unlock(&sched.lock);
    sched_wake(next);
}

/* If nobody else runs, what it reads again and again in a loop is no news. */
static void end_slice(struct rt_thread *t) {
    uint32_t keys = t->spin_keys;
    if (!give_way(t)) t->spin_keys = keys;
}

RT_NOINLINE void rt_sched_preempted(struct rt_thread *t) {
    if (t->inside || rt.mode == HD_SCHED_OFF) return;
    if (t->state == RT_NEW) {
        rt_thread_attach_foreign(t);
        return;
    }
    if (t->state == RT_DEAD) return;
    t->busy++;
    t->inside++;
    if (rt.mode == HD_SCHED_SERIAL) {
        if (t->suspect) { /* wait for the watchdog's decision */
            rt_spin_lock(&sched.lock);
            rt_spin_unlock(&sched.lock);
        }
        if (t->state == RT_OUTSIDE)
            rt_sched_acquire(t);
        else if (rt_calls(t) >= t->slice_end)
            end_slice(t);
    }
    t->inside--;
    t->busy--;
    if (t->signals_pending && t->busy == 0) rt_leave_signals(t);
    sched_set_stop(t);
}
