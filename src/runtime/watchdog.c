/* The watchdog, a thread of the runtime's own under serial: a thread that blocks or computes out of
 * our sight must not stop the rest. */
#define _GNU_SOURCE
#include "runtime/sched.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Reads a small file of /proc/self; false if it is not there. */
static bool read_proc(const char *name, char *text, size_t room) {
    char path[64] = "/proc/self/";
    for (size_t i = 0; (path[11 + i] = name[i]) != '\0'; i++) {
    }
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    long length = syscall(SYS_read, fd, text, room - 1);
    syscall(SYS_close, fd);
    if (length <= 0) return false;
    text[length] = '\0';
    return true;
}

/* What follows the field's name and a colon; NULL: no such field. */
static const char *field(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, name, length) == 0 && line[length] == ':') return line + length + 1;
    }
    return NULL;
}
static uint64_t number_at(const char *text) {
    uint64_t value = 0;
    while (text != NULL && (*text == ' ' || *text == '\t')) text++;
    while (text != NULL && *text >= '0' && *text <= '9')
        value = value * 10 + (uint64_t)(*text++ - '0');
    return value;
}

static bool sleeping(int tid, uint64_t *switches) {
    char name[40] = "task/", text[2048], digits[16];
    int n = 0, at = 5;
    for (int value = tid; value > 0; value /= 10) digits[n++] = (char)('0' + value % 10);
    while (n > 0) name[at++] = digits[--n];
    memcpy(name + at, "/status", 8);
    if (!read_proc(name, text, sizeof text)) return false;
    const char *state = field(text, "State");
    *switches = number_at(field(text, "voluntary_ctxt_switches"));
    return state != NULL && state[1] == 'S';
}

static bool watchdog_started; /* or being started */
static bool watchdog_there;

/* Threads of this process that have no record: the C library's own (timers, asynchronous input and
 * output), those of a system call, and ended ones that the kernel still has for a moment. Of a
 * first thread that has ended the kernel keeps the entry. */
bool rt_strangers(void) {
    char text[2048];
    uint64_t known = __atomic_load_n(&watchdog_there, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < rt.threads; i++) {
        const struct rt_slot *slot = &rt.slot[i];
        const struct rt_thread *t = slot->thread;
        if (slot->ended ? i == 0 : t != NULL && t->state != RT_NEW) known++;
    }
    return !read_proc("status", text, sizeof text) || number_at(field(text, "Threads")) > known;
}

bool rt_is_alone(void) {
    char text[2048];
    uint64_t known = 1 + (uint64_t)__atomic_load_n(&watchdog_there, __ATOMIC_ACQUIRE);
    return read_proc("status", text, sizeof text) && number_at(field(text, "Threads")) == known;
}

/* Takes the turn from a holder that sleeps in the kernel outside the runtime. Leaving it no calls
 * makes its next hook take the slow path; the barrier makes sure that it sees this; that it slept
 * without waking from before the one to after the other shows that it is in no hook now. */
static void steal(struct rt_thread *t) {
    uint64_t before, after;
    rt_spin_lock(&sched.lock);
    if (sched.holder != t || t->busy || t->block != NULL || !sleeping(t->tid, &before)) {
        rt_spin_unlock(&sched.lock);
        return;
    }
    t->suspect = 1;
    rt_set_left(t, -1); /* its next hook looks closer, and finds its place in the slice again */
    syscall(SYS_membarrier, 8 /* MEMBARRIER_CMD_PRIVATE_EXPEDITED */, 0, 0);
    struct rt_thread *next = NULL;
    if (!t->busy && t->block == NULL && sleeping(t->tid, &after) && before == after) {
        sched_put_stream(t);
        t->state = RT_OUTSIDE;
        sched.outside_count++;
        next = sched_pass();
    }
    t->suspect = 0;
    rt_spin_unlock(&sched.lock);
    sched_wake(next);
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

/* Nobody has the stream: the watchdog writes who waits for what. */
__attribute__((noreturn)) static void deadlock_here(void) {
    struct rt_thread *t = &rt_self;
    rt_stream_is(t, sched.stream.chunk, sched.stream.cursor, sched.stream.end);
    t->number = sched.stream.thread;
    rt_store_met(t);
    sched_deadlock(t);
}

static bool may_ask(const struct rt_thread *t, unsigned milliseconds) {
    rt_spin_lock(&sched.lock);
    bool may = sched.holder == t &&
               (sched.policy->computes == NULL || sched.policy->computes(t, milliseconds));
    rt_spin_unlock(&sched.lock);
    return may;
}

static void *watchdog(void *unused) {
    (void)unused;
    rt_self.inside = 1;           /* never to be recorded itself */
    rt_nothing_is_open(&rt_self); /* its storage has only zeros */
    struct rt_thread *last = NULL;
    uint64_t last_calls = 0, since = 0;
    unsigned still = 0, idle = 0;
    uint32_t word = 0;
    unsigned period = rt.options.watchdog_ms ? rt.options.watchdog_ms : 5;
    for (;;) {
        struct timespec pause = {period / 1000, (long)(period % 1000) * 1000000};
        rt_futex_wait(&word, 0, &pause, false);
        if (rt.mode != HD_SCHED_SERIAL) return NULL;
        rt_spin_lock(&sched.lock);
        struct rt_thread *t = sched.holder;
        unsigned others = sched.ready_count + (sched.leaving != NULL);
        uint64_t calls = t != NULL ? rt_calls(t) : 0;
        int tid = t != NULL ? t->tid : 0;
        struct rt_thread *next = NULL;
        if (t == NULL && sched_is_stuck()) deadlock_here();
        idle = t == NULL && others > 0 ? idle + period : 0;
        if (idle > 0 && sched.policy->stalled != NULL && sched.policy->stalled(idle))
            next = sched_pass();
        rt_spin_unlock(&sched.lock);
        sched_wake(next);
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
        uint64_t used = cpu_ns(tid) - since;
        if (used > NUDGE_NS && may_ask(t, (unsigned)(used / 1000000))) {
            since += used;
            syscall(SYS_tgkill, getpid(), tid, RT_SIGNAL);
        }
    }
}

/* The watchdog is no thread of the C library's: a process whose main thread has left by
 * pthread_exit ends with its last thread, and must not wait for this one. It brings its own stack
 * and a block of thread-local storage, for errno and for its rt_self. */
#define WATCHDOG_BYTES (64u * 1024u)
#define THREAD_HEADER 4096u /* more than what the C library keeps above the thread pointer */

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
    if (rt.mode != HD_SCHED_SERIAL) return;
    if (__atomic_exchange_n(&watchdog_started, true, __ATOMIC_ACQ_REL)) return;
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
    if (clone(watchdog_main, memory + WATCHDOG_BYTES, flags, NULL, NULL, tls, NULL) > 0)
        __atomic_store_n(&watchdog_there, true, __ATOMIC_RELEASE);
    REAL(pthread_sigmask)(SIG_SETMASK, &old, NULL);
}

void rt_sched_forked(void) { watchdog_started = watchdog_there = false; }
