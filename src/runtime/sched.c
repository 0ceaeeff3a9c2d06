/* The serial scheduler: one thread holds the baton and gives it up only at a hook, an intercepted
 * call or a call that may block. Threads that wait for an object the runtime knows are blocked
 * here, not in the kernel, so that a deadlock is seen the moment it closes. Under free nothing of
 * this runs. */
#define _GNU_SOURCE
#include "runtime/policy.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUCKETS 256u

struct queue {
    struct rt_thread *first, *last;
};

/* Everything below is guarded by lock. */
static struct rt_spin lock;
static struct rt_thread *holder;
static struct queue ready;
static unsigned ready_count, outside_count, timed_count, blocked_count;
static struct queue waiting[BUCKETS];
static uint64_t random_state;

/* The one stream that all threads write, while nobody holds the baton. */
static struct {
    struct hd_wire_event *cursor, *end;
    struct hd_wire_chunk *chunk;
    uint32_t thread;
} stream;

static uint64_t next_random(void) {
    random_state += 0x9e3779b97f4a7c15ull;
    uint64_t z = random_state;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static void append(struct queue *q, struct rt_thread *t) {
    t->next = NULL;
    if (q->last != NULL)
        q->last->next = t;
    else
        q->first = t;
    q->last = t;
}

static void unlink_after(struct queue *q, struct rt_thread *before, struct rt_thread *t) {
    if (before != NULL)
        before->next = t->next;
    else
        q->first = t->next;
    if (q->last == t) q->last = before;
    t->next = NULL;
}

static struct queue *bucket(unsigned type, uintptr_t object) {
    return &waiting[((object ^ type) * 0x9e3779b97f4a7c15ull >> 56) % BUCKETS];
}

static struct rt_policy *policy;
static void set_stop(struct rt_thread *t);

static void make_ready(struct rt_thread *t) {
    t->state = RT_READY;
    ready_count++;
    append(&ready, t);
    if (policy->preempts == NULL || holder != &rt_self || t == holder) return;
    if (!policy->preempts(t, holder)) return;
    holder->slice_end = rt_calls(holder) + 1;
    set_stop(holder);
}

/* ---- the two simple policies, and the table of all ------------------------------------------- */

static struct rt_thread *robin_pick(struct rt_thread *first, unsigned count) {
    (void)count;
    return first;
}
static uint64_t robin_slice(struct rt_thread *t) {
    (void)t;
    return rt.options.quantum;
}

static struct rt_thread *random_pick(struct rt_thread *first, unsigned count) {
    for (uint64_t skip = next_random() % count; skip > 0; skip--) first = first->next;
    return first;
}
static uint64_t random_slice(struct rt_thread *t) {
    (void)t;
    return 1 + next_random() % (2 * (uint64_t)rt.options.quantum);
}

static struct rt_policy round_robin = {.pick = robin_pick, .slice = robin_slice};
static struct rt_policy random_walk = {.pick = random_pick, .slice = random_slice};

static struct rt_policy *const policies[] = {[HD_POLICY_ROUND_ROBIN] = &round_robin,
                                             [HD_POLICY_RANDOM] = &random_walk,
                                             [HD_POLICY_REPLAY] = &rt_policy_replay,
                                             [HD_POLICY_PCT] = &rt_policy_pct,
                                             [HD_POLICY_POS] = &rt_policy_pos};
#define POLICIES (sizeof policies / sizeof *policies)

static struct rt_policy *policy = &round_robin;

static void take_ready(struct rt_thread *t) {
    struct rt_thread *before = NULL;
    for (struct rt_thread *u = ready.first; u != t; u = u->next) before = u;
    unlink_after(&ready, before, t);
    ready_count--;
}

static struct rt_thread *pick(void) {
    if (ready_count == 0 && !policy->commands) return NULL;
    struct rt_thread *t = policy->pick(ready.first, ready_count);
    if (t != NULL) take_ready(t);
    return t;
}

/* ---- the last turn: the process ends, and others can still run ---------------------------------
 */

/* What they would have done is part of what can go wrong. The bounds are for threads that never
 * block: more calls than short-lived threads make, and less time than anybody minds. */
#define LAST_CALLS 100000u
#define LAST_NS 300000000u

static struct rt_thread *leaving; /* ends the process when the others have had their turn */
static bool left;                 /* they had */
static uint64_t calls_to_go, last_until, slice_start;

static uint64_t now_ns(void) {
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool last_turn_over(void) {
    return leaving != NULL && (ready_count == 0 || calls_to_go == 0 || now_ns() > last_until);
}

/* The holder's turn is over: its calls count. */
static void count_last_calls(const struct rt_thread *t) {
    uint64_t made = rt_calls(t) - slice_start;
    if (leaving != NULL) calls_to_go -= made < calls_to_go ? made : calls_to_go;
}

/* Chooses who runs next; the caller wakes it after unlocking. */
static struct rt_thread *pass(void) {
    struct rt_thread *next;
    if (unlikely(last_turn_over())) {
        next = leaving;
        leaving = NULL;
        left = true;
    } else {
        next = pick();
    }
    holder = next;
    if (next != NULL) next->state = RT_RUNNING;
    return next;
}

static void wake(struct rt_thread *next) {
    if (next == NULL) return;
    __atomic_store_n(&next->go, RT_GO_RUN, __ATOMIC_RELEASE);
    rt_futex_wake(&next->go, 1, false);
}

static void put_stream(struct rt_thread *t) {
    count_last_calls(t);
    stream.cursor = t->cursor;
    stream.end = t->chunk_end;
    stream.chunk = t->chunk;
    stream.thread = t->number;
    t->cursor = t->chunk_end = NULL;
    t->chunk = NULL;
}

/* Leaves so many calls to the fast path that the one which ends the turn, or the marked one, is the
 * first to take the slow one: it makes `left` -1. */
static void set_stop(struct rt_thread *t) {
    uint64_t calls = rt_calls(t);
    uint64_t stop = t->mark > calls && t->mark < t->slice_end ? t->mark : t->slice_end;
    uint64_t rest = stop - calls;
    rt_set_left(t, rt.always_slow ? -1 : rest > INT64_MAX ? INT64_MAX : (int64_t)rest - 1);
}

void rt_sched_marked(struct rt_thread *t) {
    if (t->slice_end > rt_calls(t)) set_stop(t);
}

static void new_slice(struct rt_thread *t) {
    uint64_t slice = policy->slice(t);
    if (leaving != NULL && slice > calls_to_go) slice = calls_to_go > 0 ? calls_to_go : 1;
    slice_start = rt_calls(t);
    t->slice_end = slice_start + slice;
    set_stop(t);
    t->spin_keys = 0;
}

static void take_stream(struct rt_thread *t) {
    t->cursor = stream.cursor;
    t->chunk_end = stream.end;
    t->chunk = stream.chunk;
    if (stream.thread != t->number) rt_store(t, hd_wire_head(HD_EV_THREAD, 0, t->number), 0);
    new_slice(t);
}

/* True once the baton is there; takes back what a signal handler left in the word. */
static bool has_baton(struct rt_thread *t) {
    uint32_t look = RT_GO_LOOK;
    __atomic_compare_exchange_n(&t->go, &look, 0, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&t->go, __ATOMIC_ACQUIRE) == RT_GO_RUN;
}

/* Waits for the baton without a deadline. Short waits are common when threads hand work to each
 * other, so look a few times before sleeping. */
static void wait_go(struct rt_thread *t) {
    for (int i = 0; i < 200 && __atomic_load_n(&t->go, __ATOMIC_ACQUIRE) != RT_GO_RUN; i++)
        __builtin_ia32_pause();
    while (!has_baton(t)) rt_futex_wait(&t->go, 0, NULL, false);
    t->go = 0;
    if (rt.mode == HD_SCHED_SERIAL) take_stream(t);
}

void rt_sched_first(struct rt_thread *t) {
    random_state = rt.options.seed * 0x2545f4914f6cdd1dull + 1;
    holder = NULL;
    ready = (struct queue){NULL, NULL};
    for (unsigned i = 0; i < BUCKETS; i++) waiting[i] = ready;
    ready_count = outside_count = timed_count = blocked_count = 0;
    leaving = NULL;
    left = false;
    lock.word = 0;
    stream.cursor = stream.end = NULL;
    stream.chunk = NULL;
    stream.thread = UINT32_MAX;
    t->state = RT_RUNNING;
    if (rt.mode == HD_SCHED_SERIAL) {
        policy = rt.options.policy < POLICIES ? policies[rt.options.policy] : &round_robin;
        if (policy->start != NULL) policy->start();
        holder = t;
        take_stream(t);
    } else {
        rt_set_left(t, rt.always_slow ? -1 : INT64_MAX);
        t->slice_end = UINT64_MAX;
    }
}

void rt_sched_add(struct rt_thread *t) {
    rt_spin_lock(&lock);
    make_ready(t);
    rt_spin_unlock(&lock);
}

void rt_sched_begin(struct rt_thread *t) {
    if (rt.mode == HD_SCHED_SERIAL) {
        wait_go(t);
    } else {
        t->state = RT_RUNNING;
        rt_set_left(t, rt.always_slow ? -1 : INT64_MAX);
        t->slice_end = UINT64_MAX;
    }
}

void rt_sched_yield(struct rt_thread *t) {
    if (rt.mode != HD_SCHED_SERIAL) return;
    rt_spin_lock(&lock);
    if (ready_count == 0 && !policy->commands && leaving == NULL) {
        new_slice(t);
        rt_spin_unlock(&lock);
        return;
    }
    put_stream(t);
    make_ready(t);
    struct rt_thread *next = pass();
    rt_spin_unlock(&lock);
    if (next == t) {
        take_stream(t);
        return;
    }
    wake(next);
    wait_go(t);
}

/* A policy that commands says itself who runs before the process ends. */
void rt_sched_last(struct rt_thread *t) {
    if (rt.mode != HD_SCHED_SERIAL) return;
    rt_spin_lock(&lock);
    if (leaving != NULL || left || ready_count == 0 || policy->commands) {
        rt_spin_unlock(&lock);
        return;
    }
    put_stream(t);
    t->state = RT_BLOCKED;
    t->wait_type = 0;
    leaving = t;
    calls_to_go = LAST_CALLS;
    last_until = now_ns() + LAST_NS;
    struct rt_thread *next = pass();
    rt_spin_unlock(&lock);
    wake(next);
    wait_go(t);
}

bool rt_sched_sleeps(struct rt_thread *t) {
    rt_spin_lock(&lock);
    bool gives_way = policy->sleeps != NULL && ready_count > 0;
    if (gives_way) {
        policy->sleeps(t);
        t->slice_end = rt_calls(t); /* its turn is over, as if its time was up */
    }
    rt_spin_unlock(&lock);
    if (gives_way) rt_sched_yield(t);
    return gives_way;
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
 * may still come, only locks and joins count, which no handler can give. */
static bool stuck(void) {
    if (leaving != NULL) return false;
    if (ready_count || outside_count || timed_count || blocked_count == 0) return false;
    if (!rt_handlers_installed) return true;
    for (uint32_t i = 0; i < rt.threads; i++) {
        struct rt_thread *t = rt.slot[i].thread;
        if (t != NULL && t->state == RT_BLOCKED && t->wait_type != HD_WAIT_LOCK &&
            t->wait_type != HD_WAIT_JOIN)
            return false;
    }
    return true;
}

__attribute__((noreturn)) static void deadlock(struct rt_thread *t) {
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
    struct queue *q = bucket(t->wait_type, t->wait_object);
    struct rt_thread *before = NULL;
    for (struct rt_thread *u = q->first; u != NULL; before = u, u = u->next) {
        if (u != t) continue;
        unlink_after(q, before, t);
        break;
    }
    blocked_count--;
    if (t->timed) timed_count--;
    t->timed = false;
}

static void run_signals(struct rt_thread *t) {
    uint32_t busy = t->busy, inside = t->inside;
    t->busy = 0;
    t->inside = 0;
    rt_leave_signals(t);
    t->inside = inside;
    t->busy = busy;
}

bool rt_sched_block(struct rt_thread *t, unsigned wait_type, uintptr_t object,
                    const struct timespec *deadline, clockid_t clock, uintptr_t pc) {
    rt_spin_lock(&lock);
    t->state = RT_BLOCKED;
    t->wait_type = (uint8_t)wait_type;
    t->wait_object = object;
    t->wait_pc = pc;
    t->timed = deadline != NULL;
    if (deadline != NULL) t->until = *deadline;
    t->until_clock = clock;
    t->timed_out = false;
    append(bucket(wait_type, object), t);
    blocked_count++;
    if (t->timed) timed_count++;
    if (deadline == NULL && leaving == NULL && (stuck() || in_cycle(t))) deadlock(t);
    put_stream(t);
    struct rt_thread *next = pass();
    rt_spin_unlock(&lock);
    wake(next);
    for (int i = 0; i < 200 && __atomic_load_n(&t->go, __ATOMIC_ACQUIRE) != RT_GO_RUN; i++)
        __builtin_ia32_pause();
    while (!has_baton(t)) {
        long result = t->signals_pending && t->state == RT_BLOCKED
                          ? 0
                          : rt_futex_wait_until(&t->go, 0, deadline, clock);
        bool late = result == -ETIMEDOUT;
        if (!late && !t->signals_pending) continue;
        rt_spin_lock(&lock);
        if (t->state == RT_BLOCKED) {
            remove_waiter(t);
            t->timed_out = late;
            make_ready(t);
            if (holder == NULL) {
                next = pass();
                if (next == t) t->go = RT_GO_RUN;
                rt_spin_unlock(&lock);
                if (next != t) wake(next);
                continue;
            }
        }
        rt_spin_unlock(&lock);
        if (late) deadline = NULL;
    }
    t->go = 0;
    if (rt.mode == HD_SCHED_SERIAL) take_stream(t);
    if (t->signals_pending) run_signals(t);
    return !t->timed_out;
}

/* Makes threads that wait for the object ready; the first starved one of them in *starved. */
static unsigned wake_waiters(unsigned wait_type, uintptr_t object, bool all,
                             struct rt_thread **starved) {
    unsigned woken = 0;
    struct queue *q = bucket(wait_type, object);
    struct rt_thread *before = NULL, *t = q->first;
    while (t != NULL) {
        struct rt_thread *next = t->next;
        if (t->wait_type != wait_type || t->wait_object != object) {
            before = t;
            t = next;
            continue;
        }
        unlink_after(q, before, t);
        blocked_count--;
        if (t->timed) timed_count--;
        t->timed = false;
        make_ready(t);
        if (t->starved && *starved == NULL) *starved = t;
        woken++;
        if (!all) break;
        t = next;
    }
    return woken;
}

bool rt_sched_awaited(unsigned wait_type, uintptr_t object) {
    if (__atomic_load_n(&blocked_count, __ATOMIC_RELAXED) == 0) return false;
    rt_spin_lock(&lock);
    const struct rt_thread *t = bucket(wait_type, object)->first;
    while (t != NULL && (t->wait_type != wait_type || t->wait_object != object)) t = t->next;
    rt_spin_unlock(&lock);
    return t != NULL;
}

unsigned rt_sched_wake(unsigned wait_type, uintptr_t object, bool all) {
    if (__atomic_load_n(&blocked_count, __ATOMIC_RELAXED) == 0) return 0;
    struct rt_thread *starved = NULL;
    rt_spin_lock(&lock);
    unsigned woken = wake_waiters(wait_type, object, all, &starved);
    rt_spin_unlock(&lock);
    return woken;
}

void rt_sched_hand_over(struct rt_thread *t, unsigned wait_type, uintptr_t object, bool all) {
    if (rt.mode != HD_SCHED_SERIAL) return;
    if (__atomic_load_n(&blocked_count, __ATOMIC_RELAXED) == 0) return;
    struct rt_thread *starved = NULL;
    rt_spin_lock(&lock);
    wake_waiters(wait_type, object, all, &starved);
    if (starved == NULL || policy->commands) {
        rt_spin_unlock(&lock);
        return;
    }
    take_ready(starved);
    put_stream(t);
    make_ready(t);
    holder = starved;
    starved->state = RT_RUNNING;
    rt_spin_unlock(&lock);
    wake(starved);
    wait_go(t);
}

struct rt_thread *rt_sched_wake_one(unsigned wait_type, uintptr_t object) {
    if (__atomic_load_n(&blocked_count, __ATOMIC_RELAXED) == 0) return NULL;
    rt_spin_lock(&lock);
    struct rt_thread *t = bucket(wait_type, object)->first;
    while (t != NULL && (t->wait_type != wait_type || t->wait_object != object)) t = t->next;
    if (t != NULL) {
        remove_waiter(t);
        t->woken = true;
        make_ready(t);
    }
    rt_spin_unlock(&lock);
    return t;
}

static void lend(struct rt_thread *t) {
    rt_spin_lock(&lock);
    put_stream(t);
    t->state = RT_OUTSIDE;
    rt_set_left(t, -1);
    outside_count++;
    struct rt_thread *next = pass();
    rt_spin_unlock(&lock);
    wake(next);
}

void rt_block_enter(struct rt_thread *t) {
    if (t == NULL) return;
    if (rt.mode == HD_SCHED_SERIAL && t->state == RT_RUNNING) lend(t);
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
    lend(t);
    t->busy--;
    return true;
}

void rt_sched_acquire(struct rt_thread *t) {
    rt_spin_lock(&lock);
    if (t->state == RT_OUTSIDE) outside_count--;
    make_ready(t);
    struct rt_thread *next = holder == NULL ? pass() : NULL;
    rt_spin_unlock(&lock);
    if (next == t) {
        take_stream(t);
        return;
    }
    wake(next);
    wait_go(t);
}

void rt_sched_exit(struct rt_thread *t) {
    if (rt.mode != HD_SCHED_SERIAL) return;
    rt_spin_lock(&lock);
    t->state = RT_DEAD;
    if (stuck()) deadlock(t);
    put_stream(t);
    struct rt_thread *next = pass();
    rt_spin_unlock(&lock);
    wake(next);
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
            rt_spin_lock(&lock);
            rt_spin_unlock(&lock);
        }
        if (t->state == RT_OUTSIDE)
            rt_sched_acquire(t);
        else if (rt_calls(t) >= t->slice_end)
            rt_sched_yield(t);
    }
    t->inside--;
    t->busy--;
    if (t->signals_pending && t->busy == 0) rt_leave_signals(t);
    set_stop(t);
}

/* A thread that is to be cancelled returns from where it is blocked. */
void rt_sched_wake_cancelled(struct rt_thread *t) {
    if (rt.mode != HD_SCHED_SERIAL) return;
    rt_spin_lock(&lock);
    if (t->state == RT_BLOCKED) {
        remove_waiter(t);
        make_ready(t);
    }
    rt_spin_unlock(&lock);
}

/* ---- the watchdog: a thread that blocks or computes outside our view must not stop the rest
 * ------ */

static bool sleeping(int tid, uint64_t *switches) {
    char path[64] = "/proc/self/task/", text[2048];
    char digits[16];
    int n = 0, at = 16;
    for (int value = tid; value > 0; value /= 10) digits[n++] = (char)('0' + value % 10);
    while (n > 0) path[at++] = digits[--n];
    for (const char *tail = "/status"; *tail; tail++) path[at++] = *tail;
    path[at] = '\0';
    int fd = (int)syscall(SYS_openat, -100, path, 0);
    if (fd < 0) return false;
    long length = syscall(SYS_read, fd, text, sizeof text - 1);
    syscall(SYS_close, fd);
    if (length <= 0) return false;
    text[length] = '\0';
    bool asleep = false;
    *switches = 0;
    for (const char *line = text; *line != '\0';) {
        if (line[0] == 'S' && line[1] == 't' && line[2] == 'a' && line[3] == 't')
            asleep = line[7] == 'S';
        if (line[0] == 'v' && line[1] == 'o') {
            const char *p = line;
            while (*p != '\0' && (*p < '0' || *p > '9')) p++;
            while (*p >= '0' && *p <= '9') *switches = *switches * 10 + (uint64_t)(*p++ - '0');
        }
        while (*line != '\0' && *line != '\n') line++;
        if (*line == '\n') line++;
    }
    return asleep;
}

/* Takes the baton from a holder that sleeps in the kernel outside the runtime. Leaving it no calls
 * makes its next hook take the slow path; the barrier makes sure that it sees this; that it slept
 * without waking from before the one to after the other shows that it is in no hook now. */
static void steal(struct rt_thread *t) {
    uint64_t before, after;
    rt_spin_lock(&lock);
    if (holder != t || t->busy || !sleeping(t->tid, &before)) {
        rt_spin_unlock(&lock);
        return;
    }
    t->suspect = 1;
    rt_set_left(t, -1); /* its next hook looks closer, and finds its place in the slice again */
    syscall(SYS_membarrier, 8 /* MEMBARRIER_CMD_PRIVATE_EXPEDITED */, 0, 0);
    struct rt_thread *next = NULL;
    if (!t->busy && sleeping(t->tid, &after) && before == after) {
        put_stream(t);
        t->state = RT_OUTSIDE;
        outside_count++;
        next = pass();
    }
    t->suspect = 0;
    rt_spin_unlock(&lock);
    wake(next);
}

/* Processor time a thread of this process has used. */
static uint64_t cpu_ns(int tid) {
    struct timespec used = {0, 0};
    clockid_t clock =
        ~(clockid_t)tid << 3 | 6; /* its scheduling clock, as the kernel numbers them */
    syscall(SYS_clock_gettime, clock, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

#define NUDGE_NS 30000000u /* computes this long without a hook, while others wait */

static void *watchdog(void *unused) {
    (void)unused;
    rt_self.inside = 1; /* never to be recorded itself */
    struct rt_thread *last = NULL;
    uint64_t last_calls = 0, since = 0;
    unsigned still = 0, idle = 0;
    uint32_t word = 0;
    unsigned period = rt.options.watchdog_ms ? rt.options.watchdog_ms : 5;
    for (;;) {
        struct timespec pause = {period / 1000, (long)(period % 1000) * 1000000};
        rt_futex_wait(&word, 0, &pause, false);
        if (rt.mode != HD_SCHED_SERIAL) return NULL;
        rt_spin_lock(&lock);
        struct rt_thread *t = holder;
        unsigned others = ready_count + (leaving != NULL);
        uint64_t calls = t != NULL ? rt_calls(t) : 0;
        int tid = t != NULL ? t->tid : 0;
        struct rt_thread *next = NULL;
        idle = t == NULL && others > 0 ? idle + period : 0;
        if (idle > 0 && policy->stalled != NULL && policy->stalled(idle)) next = pass();
        bool commands = policy->commands;
        rt_spin_unlock(&lock);
        wake(next);
        if (t == NULL || others == 0 || t != last || calls != last_calls) {
            last = t;
            last_calls = calls;
            still = 0;
            since = tid != 0 ? cpu_ns(tid) : 0;
            continue;
        }
        still++;
        if (still >= 2) steal(t);
        /* Running, but through code without hooks: ask it to let go. */
        if (!commands && cpu_ns(tid) - since > NUDGE_NS) {
            since = cpu_ns(tid);
            syscall(SYS_tgkill, getpid(), tid, RT_SIGNAL);
        }
    }
}

/* The watchdog is no thread of the C library's: a process whose main thread has left by
 * pthread_exit ends with its last thread, and must not wait for this one. It brings its own stack
 * and a block of thread-local storage, for errno and for its rt_self. */
#define WATCHDOG_BYTES (64u * 1024u)
#define THREAD_HEADER 4096u /* more than what the C library keeps above the thread pointer */
static bool watchdog_started;

/* Thread-local variables lie below the thread pointer, as far as the program and its libraries have
 * any: so far down that those which the watchdog uses have room. */
static size_t thread_local_bytes(void) {
    uintptr_t top;
    __asm__("mov %%fs:0, %0" : "=r"(top));
    size_t own = top - (uintptr_t)&rt_self, library = top - (uintptr_t)&errno;
    size_t most = own > library ? own : library;
    return (most + 2 * 4096) & ~(size_t)4095;
}

static int watchdog_main(void *unused) {
    watchdog(unused);
    return 0;
}

void rt_sched_start(void) {
    if (watchdog_started || rt.mode != HD_SCHED_SERIAL) return;
    watchdog_started = true;
    syscall(SYS_membarrier, 16 /* MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED */, 0, 0);
    size_t local = thread_local_bytes();
    char *memory = rt_map(WATCHDOG_BYTES + local + THREAD_HEADER);
    void **tls = (void **)(memory + WATCHDOG_BYTES + local);
    tls[0] = tls[2] = tls; /* x86-64: the block knows its own address */
    sigset_t all, old;
    sigfillset(&all);
    REAL(pthread_sigmask)(SIG_SETMASK, &all, &old);
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                CLONE_SETTLS;
    clone(watchdog_main, memory + WATCHDOG_BYTES, flags, NULL, NULL, tls, NULL);
    REAL(pthread_sigmask)(SIG_SETMASK, &old, NULL);
}

void rt_sched_forked(void) { watchdog_started = false; }
