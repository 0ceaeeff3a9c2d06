/* The runtime's own header: the thread record, the event path, and what the parts of the runtime
 * offer each other. Everything here runs inside the program under test. The words
 * are explained in docs/glossary.md.
 *
 * Ground rules
 *
 * 1. On the path of a memory access: no system call, no lock, no malloc, no stdio. errno is the
 *    program's: what may change it saves it. The slow paths may make system calls and map memory
 *    (rt_map); nothing of the runtime calls the program's malloc while it is inside (rule 3).
 * 2. Serial: only the thread that has the turn writes events, and changes records of other
 *    threads. What is shared beyond that (who has the turn, queues of ready and
 *    waiting threads) is guarded by the scheduler's lock. Free: each thread writes its own stream
 * and record; rt_words is shared without locks, and a lost update costs a stamp, no more.
 * 3. `inside` > 0: the thread is in an interceptor; what that calls is not recorded. `busy` > 0:
 * the runtime's state is being changed; a signal's handler waits until it is 0 again. Code of the
 *    program's (start functions, handlers, initialisers, fork handlers) runs with both at 0.
 * 4. Lock order: an object's bucket (rt_object_get), then the scheduler's lock; a stripe of
 *    atomic.c, or the lock of sync_once.c, then nothing; the lock of modules and that of signals,
 *    then nothing. None is held while a thread waits for its turn, blocks, or runs the program's
 *    code. In a forked child all are made free.
 * 5. A signal handler of ours may look at the thread's record and keep the signal. It may change
 *    other state only if `busy` is 0 and the interrupted code is not the runtime's.
 * 6. Memory that the program gave an address of is read and written only by functions in the
 * section rt_program (RT_EXPORT, RT_PROGRAM): a fault there is the program's, elsewhere it is ours.
 * 7. The watchdog never writes a record but `left` and `suspect`, under the scheduler's lock, of a
 *    thread that sleeps outside the runtime. */
#ifndef HEDDLE_RUNTIME_RT_H
#define HEDDLE_RUNTIME_RT_H

#include "runtime/base.h"
#include "trace/hook.h"
#include "trace/token.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Nothing of the runtime is visible to the program but hooks and interceptors. */
#pragma GCC visibility push(hidden)

/* ---- threads ------------------------------------------------------------------------------ */

enum rt_state {
    RT_NEW = 0, /* no record of this thread yet */
    RT_RUNNING, /* has the turn (serial), or runs (free) */
    RT_READY,   /* waits for the turn, and could run */
    RT_BLOCKED, /* waits for an object the scheduler knows */
    RT_OUTSIDE, /* in a call that may block, without the turn */
    RT_DEAD
};

struct rt_frame {
    uintptr_t pc; /* return address in the caller */
    uintptr_t sp;
    uintptr_t cfa; /* where the caller's stack pointer was; 0: not known. Set when it is emitted */
};

#define RT_SPIN_KEYS 4u
#define RT_SHARINGS 8u /* kinds of memory that several threads read: see rt_owners_read */
#define RT_READ_PLACES 8u

/* Lives in thread-local storage; other threads reach it through rt.slot[number].thread. The first
 * two cache lines are what a memory access touches. */
struct rt_thread {
    /* first, as __heddle_branched: compiled code adds one at every branch. With one call, the
     * upper half of the tail of the event that comes next */
    uint64_t passed;
    int64_t left;        /* hook calls until the slow path; below zero: every call takes it */
    uint64_t calls_mark; /* hook calls so far = calls_mark - left */
    /* where what came as expected is counted (in the chunk); the same of choices, and the bit there
     * of the next one; 0: there is no room for it */
    uint64_t *met;
    uint64_t *choices;
    uint64_t choice;
    /* the latest hook of a block that is not over, all as expected and not yet counted (rt_settle)
     */
    const struct hd_hook *block;
    uint32_t number;
    uint8_t owner; /* its byte of rt_words */
    /* what is expected of it next */
    struct hd_expect expect;
    uint8_t *put, *put_end; /* where the next record goes, and where there is no room for one */
    uintptr_t text_lo, text_size; /* the module of the last site, and its first site number */
    uint32_t site_base;
    uint32_t children; /* threads that it has made */
    struct hd_wire_event *cursor, *chunk_end;
    uint64_t met_seen;            /* how much of *met `calls_emitted` knows of */
    uint64_t nowhere, no_choices; /* what is counted while there is no chunk */
    uint64_t stamp_stored;        /* the latest stamp that has a record (free) */
    /* one above its stamp, where it has said that it reads memory which is shared so (free); else 0
     */
    uint64_t shared_reads[RT_SHARINGS];
    uint32_t mutexes; /* that it holds */
    /* stamps for memory since it was at a barrier; barriers at which it takes its other byte */
    uint32_t stamps_for_memory, other_bytes;
    uint64_t calls_at_barrier;
    uint32_t *window; /* of each link (windows.h); NULL: there are none */
    uint32_t *sure;   /* links */
    uint32_t sures, sure_next;
    uint32_t block_counted;           /* hooks of that block that were counted all the same */
    const struct hd_hook *slow_block; /* the same if it has gone the slow way, and was counted */
    /* blocks whose hooks are stores (blocks.c): how many of a block were told when a signal came;
     * those that were passed are being told */
    uint32_t told;
    const struct hd_hook *told_block; /* its first hook */
    char *open;                       /* blocks that are open (struct rt_open), */
    uint64_t open_at;                 /* and where there are some */
    struct rt_open *repeats;          /* the one of them that repeats; never NULL */
    bool telling;
    bool in_block; /* at a hook behind which others of its block come */
    bool expects;
    bool closed; /* nothing may come as expected until the next event: see rt_close */
    uint32_t closed_at, hook_link;
    int64_t closed_left;
    uintptr_t exit_pc; /* where a function was left last; if it expects */
    struct rt_frame *frame, *frame_low, *frame_emitted; /* top now, lowest since the last event,
                                                           top as the trace knows it */
    struct rt_frame *frame_base, *frame_end;
    uint64_t calls_emitted, branches_emitted; /* with the events so far; the latter only in them */
    uint32_t inside;        /* depth of interceptors: what they call is not recorded */
    volatile uint32_t busy; /* in the middle of the runtime's own state: a signal must wait */
    volatile uint32_t signals_pending;
    volatile uint32_t blocking; /* between rt_block_enter and rt_block_leave */
    volatile uint32_t suspect;  /* the watchdog is about to take the turn from this thread */
    struct hd_wire_chunk *chunk;
    uint32_t sequence; /* of the next chunk (free) */
    uint64_t stamp;    /* the last one it took (free) */
    /* checking (check.c): what its accesses and cells look like, its records, the highest version
     * that it gave to a cell */
    uint64_t check_reads, check_writes;
    uint32_t check_mine, check_version;
    void **check_words, **check_halves;
    struct rt_check_map *check_records;
    uint64_t check_executions; /* accesses that may have changed a cell */
    /* scheduler */
    enum rt_state state;
    uint32_t go; /* futex: RT_GO_RUN = you have the turn, RT_GO_LOOK = a signal came */
    uint8_t wait_type;
    bool timed_out;
    bool woken;   /* by the object it waited for */
    bool starved; /* was woken before, but another thread was quicker */
    bool registered;
    bool forking;          /* between the runtime's handlers before and after a fork */
    bool timed;            /* blocked with a deadline */
    bool time_is_ours;     /* and the deadline comes when the scheduler says so */
    bool wait_mutex;       /* wait_object is a pthread_mutex_t */
    bool wait_reads;       /* it waits for a lock for reading */
    uint8_t expired;       /* its time is up by a replay's choice: 1; it has said so: 2 */
    struct timespec until; /* the deadline, by until_clock */
    clockid_t until_clock;
    volatile bool cancelled; /* pthread_cancel was called on it */
    uint32_t handlers_run;   /* signal handlers without SA_RESTART, so far */
    struct rt_pending *pending;
    uintptr_t wait_object, wait_pc;
    struct rt_thread *next; /* in the ready queue, or in an object's wait list */
    uint64_t slice_end;     /* calls at which the quantum is over */
    uint64_t mark;          /* a call that the policy wants to know of; 0: none */
    /* sites and addresses of atomics that it reads again and again in its turn */
    uint64_t spin_key[RT_SPIN_KEYS];
    uint64_t spin_mark;
    uint32_t spin_keys, spins;
    uint32_t spin_said; /* keys, as bits, that are recorded, with nothing else recorded since */
    /* places where it read last, and its state at the present read (0: not taken), for state.c */
    uintptr_t read_pc[RT_READ_PLACES];
    uint32_t reads;
    uint64_t own_state, own_high; /* and where the stack ends that it covers */
    /* what the access is about at which it has stopped (0: no access), for POS */
    uintptr_t next_address;
    bool next_write;
    /* forcing: it is suspended; it has passed R's (C's) hook and has run that at its next one; the
     * call that was looked at last; what it waits on */
    bool held_back, ran_r, ran_c;
    uint64_t force_call;
    uint32_t force_go;
    int tid; /* kernel's */
    pthread_t handle;
    uint64_t overflow; /* frames beyond frame_end */
    uintptr_t stack_low, stack_end;
    /* Annotations: how often the program has said that its reads, or writes, are to be ignored. */
    uint32_t ignores_reads, ignores_writes;
    void *region;      /* OpenMP's parallel region that it is in (openmp.c) */
    uintptr_t fork_pc; /* where it makes a child process, and the number of that; 0: not known */
    uint32_t fork_number;
    uint16_t reading; /* the channel that it is about to get something from (files.c); 0: none */
    uintptr_t address[HD_HOOK_BLOCK]; /* of the hooks of a block that are stores */
};

#define RT_GO_RUN 1u
#define RT_GO_LOOK 2u

extern __thread struct rt_thread rt_self;

/* The program does not want its accesses recorded now; never on the fast path, which is closed. */
#define RT_IGNORES(t, write) unlikely((write) ? (t)->ignores_writes != 0 : (t)->ignores_reads != 0)

RT_INLINE uint64_t rt_calls(const struct rt_thread *t) { return t->calls_mark - (uint64_t)t->left; }

/* Changes how many calls are left without changing how many there were. */
RT_INLINE void rt_set_left(struct rt_thread *t, int64_t left) {
    t->calls_mark = rt_calls(t) + (uint64_t)left;
    t->left = left;
}

/* Counts one call; false if it has to take the slow path. One instruction, so that a signal handler
 * can't come in between. */
RT_INLINE bool rt_count(struct rt_thread *t) {
    __asm__ goto("subq $1, %0\n\tjs %l[none]" : : "m"(t->left) : "memory", "cc" : none);
    return true;
none:
    return false;
}

/* The same of so many calls; true if fewer were left. */
RT_INLINE bool rt_count_over(struct rt_thread *t, uint64_t calls) {
    bool over;
    __asm__("subq %2, %0" : "+m"(t->left), "=@ccs"(over) : "er"(calls));
    return over;
}

/* Counts calls of which it is known that so many are left; in one instruction, too. */
RT_INLINE void rt_count_all(struct rt_thread *t, uint64_t calls) {
    __asm__("subq %1, %0" : "+m"(t->left) : "r"(calls) : "cc");
}

/* `left` of a thread whose accesses are checked and not recorded: as good as -1, but nothing else
 * need be looked at. */
#define RT_LEFT_CHECKS (-(1ll << 62))
RT_INLINE bool rt_only_checks(const struct rt_thread *t) { return t->left < RT_LEFT_CHECKS / 2; }

#define RT_MAX_THREADS 65536u

/* What every thread's number leads to, for as long as the run lasts. */
/* What threads write again and again has a line of the cache for itself: others are read all the
 * time. */
#define RT_OWN_LINE _Alignas(64)

struct rt_slot {
    struct rt_thread *thread; /* NULL once its storage is gone */
    pthread_t handle;
    void *(*function)(void *);
    void *argument;
    const void *mask;         /* sigset_t that it begins with; until it has started */
    uint32_t started, permit; /* futexes: the child has its record; the child may go on */
    bool made, ended, detached, c11;
    bool outside;   /* was made by code that waits out of our sight: begins without the turn */
    uint64_t calls; /* that it made, once it has ended */
    /* free: its latest stamp. Here, not in the thread's own storage, because others look when that
     * may be gone */
    RT_OWN_LINE _Atomic uint64_t stamp;
    /* and which of its two bytes in rt_words it uses, and the latest stamp when it used the other
     */
    _Atomic uint64_t other_stamp;
    _Atomic uint32_t byte;
};

struct rt_global {
    struct hd_wire_session *session; /* NULL: not recording */
    enum hd_scheduler mode;
    bool records; /* are stored in place of events (token.h) */
    /* round robin with long slices, and no other reason to stop in the middle of a block: a slice
     * goes on to the last hook of a block. And hooks may be stores (blocks.c) */
    bool whole_blocks, stores;
    bool always_slow; /* each access is looked at: states, forcing, or checking */
    bool forcing;     /* threads are suspended at targets (force.c) */
    bool noisy;       /* threads are held up at synchronisation (noise.c) */
    bool checking;    /* accesses are checked (check.c)... */
    bool check_only;  /* ...and not recorded */
    bool in_main;     /* the program's main was called */
    bool startup;     /* of all runs: they are forked later (startup.h) */
    /* code of a library that takes malloc's place and is compiled for us; 0: there is none */
    uintptr_t allocator_lo, allocator_bytes;
    struct hd_wire_options options;
    _Atomic uint32_t threads; /* numbers given out */
    struct rt_slot *slot;
    _Atomic uint32_t signals; /* condition signals, numbered from 1 */
    _Atomic uint32_t rounds;
    int parent;
    _Atomic uint32_t forks; /* child processes that were made */
    /* of a child process: the beginning of its parent's; NULL */
    struct hd_wire_session *parent_session;
    const void *plan; /* what the policy is to follow: a copy of our own, not to be believed */
    size_t plan_bytes;
    RT_OWN_LINE _Atomic uint64_t stamp; /* free: the global order */
    /* The stamp with which memory last became shared by readers: whoever reads such memory and has
     * an older one takes a new one, so that it comes after the write that they read. And the latest
     * stamp of who read some: whoever writes there and has an older one takes a new one, too. */
    RT_OWN_LINE _Atomic uint64_t shared_stamp[RT_SHARINGS];
    RT_OWN_LINE _Atomic uint64_t shared_read[RT_SHARINGS];
    _Atomic uint32_t phases; /* memory that becomes shared now is so in this way, modulo these */
};
extern struct rt_global rt;

/* ---- sites (sites.c) ---------------------------------------------------------------------- */

uint32_t rt_site_slow(struct rt_thread *t, uintptr_t pc);
uint32_t rt_site_known(uintptr_t pc); /* in the modules that were entered, 0 if it is in none */
void rt_modules_scan(void);
void rt_modules_closed(void);
void rt_modules_forget(void); /* a forked child numbers its modules anew */
bool rt_is_runtime_code(uintptr_t pc);
bool rt_is_c_library(uintptr_t pc); /* or the dynamic loader */
bool rt_is_loader(uintptr_t pc);
bool rt_is_hooked(uintptr_t pc); /* compiled for us */
/* libgomp: what it does to its own memory is ordered out of our sight, and of no interest. */
bool rt_is_openmp(uintptr_t pc);

RT_INLINE uint32_t rt_site(struct rt_thread *t, uintptr_t pc) {
    uintptr_t offset = pc - t->text_lo;
    if (likely(offset < t->text_size)) return t->site_base + (uint32_t)offset;
    return rt_site_slow(t, pc);
}

/* An allocator that is compiled for us works in the blocks that are free and takes its locks, also
 * at a thread's end, where none of its functions was called. What it does is of no interest, and it
 * keeps the turn: who waits for its lock inside of malloc could not give it away. */
RT_INLINE bool rt_is_allocators(uintptr_t pc) {
    return unlikely(pc - rt.allocator_lo < rt.allocator_bytes);
}

#include "runtime/events.h"
#include "runtime/owners.h"

/* ---- accesses (access.c) ------------------------------------------------------------------ */

/* Any plain access from a hook, which was counted. */
void rt_access_slow(uintptr_t address, size_t size, bool write, uintptr_t pc);
/* A plain access of any size and alignment, on behalf of an interceptor. */
void rt_access(struct rt_thread *t, uintptr_t address, size_t size, bool write, uintptr_t pc);

/* A plain access, of 1 to 8 bytes within a word of 8, to a word that synchronises (marks.h):
 * atomic.c.
 */
void rt_plain_order(struct rt_thread *t, uintptr_t address, size_t size, bool write, uintptr_t pc);
/* Inline assembly is about to do this (HD_ASSEMBLY_CODE) at pc: by way of assembly.c, to atomic.c.
 * The registers stand in the order of the machine's numbers. */
void rt_assembly(const volatile void *address, unsigned code, uintptr_t pc,
                 const uint64_t *registers);

void rt_frames_unwind(struct rt_thread *t, uintptr_t sp); /* what a longjmp to sp left behind */

/* ---- entering and leaving the runtime (thread.c) ------------------------------------------ */

/* Every interceptor is
 *     struct rt_thread *t = rt_enter();       NULL: not recording, or called from the runtime
 *     if (t == NULL) return REAL(f)(...);
 *     ... rt_leave(t);
 * Between the two the thread has the turn (serial), counts as one hook call, and signals wait.
 */
struct rt_thread *rt_enter_slow(void);
void rt_startup_kept(const struct rt_thread *t); /* sched_startup.c: the turn goes on, see below */
void rt_leave_signals(struct rt_thread *t);

RT_INLINE struct rt_thread *rt_enter_at(uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    if (rt.mode == HD_SCHED_OFF || t->inside || rt_is_allocators(pc)) return NULL;
    bool run = rt_count(t);
    rt_close(t);
    if (unlikely(!run || t->state != RT_RUNNING)) return rt_enter_slow();
    t->busy++;
    t->inside++;
    return t;
}
#define rt_enter() rt_enter_at(RT_CALLER)
/* The same for a call that may come from inside the C library, which may hold a lock of its own:
 * the thread keeps the turn even if its time slice is over. */
RT_INLINE struct rt_thread *rt_enter_from(uintptr_t pc) {
    struct rt_thread *t = &rt_self;
    if (rt.mode == HD_SCHED_OFF || t->inside) return NULL;
    if (unlikely(rt_is_openmp(pc))) return NULL;
    if (t->state != RT_RUNNING || t->suspect || !rt_is_c_library(pc)) return rt_enter();
    rt_count(t);
    rt_close(t);
    if (unlikely(rt.startup)) rt_startup_kept(t);
    t->busy++;
    t->inside++;
    return t;
}
RT_INLINE void rt_leave(struct rt_thread *t) {
    t->inside--;
    t->busy--;
    if (unlikely(t->signals_pending && t->busy == 0)) rt_leave_signals(t);
}

/* Body of an interceptor that returns an int: RT_INTERCEPT((f)(x), what_to_do(t, x)). */
#define RT_INTERCEPT(call, body)      \
    struct rt_thread *t = rt_enter(); \
    if (t == NULL) return REAL call;  \
    int result = body;                \
    rt_leave(t);                      \
    return result

/* ---- scheduler (sched.c) ------------------------------------------------------------------ */

void rt_sched_start(void);
void rt_sched_forked(void); /* a child has no watchdog yet */
bool rt_is_alone(void);     /* is the present thread the only one of its process? */
bool rt_strangers(void);    /* does the process have threads that are not recorded? */
/* Serial: give the turn to another ready thread, if there is one. */
void rt_sched_yield(struct rt_thread *t);
/* Serial: the process is about to end; others that can run go on first, for a while. */
void rt_sched_last(struct rt_thread *t);
/* Serial: the thread would sleep; true if the policy has let others run instead. */
bool rt_sched_sleeps(struct rt_thread *t);
/* Serial: wait until rt_sched_wake on the object, the deadline (NULL: none), or a signal. The
 * caller re-checks its condition. False if the deadline passed. Only with the turn; returns
 * with it. */
bool rt_sched_block(struct rt_thread *t, unsigned wait_type, uintptr_t object,
                    const struct timespec *deadline, clockid_t clock, uintptr_t pc);
/* A wait for others to stop waiting for the object; a deadlock calls it a wait of the type. */
#define RT_WAIT_UNUSED 0x80u
/* Serial: does anybody wait for the object? */
bool rt_sched_awaited(unsigned wait_type, uintptr_t object);
/* Serial: make threads that wait for the object ready: all of them, or the first. */
unsigned rt_sched_wake(unsigned wait_type, uintptr_t object, bool all);
/* The same, with the turn: a thread that was woken in vain before has it now, so that one that
 * takes and gives back the object again and again can't keep the others out for ever. */
void rt_sched_hand_over(struct rt_thread *t, unsigned wait_type, uintptr_t object, bool all);
/* Serial: takes the thread of that number (UINT32_MAX: any), or else the longest-waiting one, off
 * the object and makes it ready; NULL if none waits. */
struct rt_thread *rt_sched_wake_one(unsigned wait_type, uintptr_t object, uint32_t preferred);
/* Around a call that may block outside our view. Both work in both modes and outside recording. */
void rt_block_enter(struct rt_thread *t);
void rt_block_leave(struct rt_thread *t);
void rt_sched_acquire(struct rt_thread *t); /* wait for the turn */
void rt_sched_first(struct rt_thread *t);   /* the thread that starts recording has it */
void rt_sched_begin(struct rt_thread *t);   /* a thread added before runs: wait for its turn */
bool rt_sched_lend(struct rt_thread *t);    /* give its turn away from inside a signal handler */
void rt_sched_add(struct rt_thread *t);     /* a new thread, ready */
/* The number that a replay has for the thread that is made next (by nobody: NULL), UINT32_MAX: any
 * that is not below *free. */
uint32_t rt_replay_number(const struct rt_thread *creator, uint32_t *free);
/* The thread that its signal is to wake; UINT32_MAX: any. */
uint32_t rt_replay_woken(const struct rt_thread *t);
bool rt_replay_expires(void); /* it has waits whose time is up when it says so */
/* Its wait is over because a replay said that its time is up; others may have their turn before it
 * goes on. */
void rt_sched_expired(struct rt_thread *t);
/* The clocks that the program reads are ahead by so much: waits that a replay let expire. */
uint64_t rt_clock_ahead(void);
void rt_sched_exit(struct rt_thread *t); /* gives its turn away for good */
void rt_sched_preempted(
    struct rt_thread *t); /* slow path of a hook: time slice over, or turn taken */
/* The present call is one that the policy wants to see in the trace. */
RT_INLINE bool rt_is_marked(const struct rt_thread *t) { return rt_calls(t) == t->mark; }
void rt_sched_marked(struct rt_thread *t); /* it took the slow path: the next ones need not */
void rt_sched_wake_cancelled(struct rt_thread *t);
/* Events that one thread writes on behalf of another (serial: they share the stream). */
void rt_emit_as(struct rt_thread *holder, struct rt_thread *other);
void rt_emit_back(struct rt_thread *holder, struct rt_thread *other);

/* ---- forcing and noise (force.c, noise.c): free ------------------------------------------- */

void rt_force_start(void);                                  /* reads the plan */
void rt_force_module(const char *path, uint32_t site_base); /* a module is there */
void rt_force_access(struct rt_thread *t, uint32_t site, uintptr_t address, size_t size);
/* About to synchronise by an object: to enter a critical section, to signal, to wait. */
void rt_force_sync(struct rt_thread *t, uint32_t site, uintptr_t object);
void rt_force_call(struct rt_thread *t); /* any other call: what was before has run */
void rt_noise_start(void);
void rt_noise(struct rt_thread *t);

/* Before an access is carried out. */
RT_INLINE void rt_before_access(struct rt_thread *t, uint32_t site, uintptr_t address,
                                size_t size) {
    if (unlikely(rt.forcing)) rt_force_access(t, site, address, size);
}
/* Before, or after, a synchronisation operation. */
RT_INLINE void rt_before_sync(struct rt_thread *t, uintptr_t object, uintptr_t pc) {
    if (unlikely(rt.forcing)) rt_force_sync(t, rt_site(t, pc), object);
    if (unlikely(rt.noisy)) rt_noise(t);
}
RT_INLINE void rt_after_sync(struct rt_thread *t) {
    if (unlikely(rt.noisy)) rt_noise(t);
}

/* ---- threads, process (thread.c, process.c) ----------------------------------------------- */

void rt_threads_start(struct rt_thread *t);         /* recording begins with this thread */
void rt_thread_attach_foreign(struct rt_thread *t); /* one that pthread_create did not make */
/* At a cancellation point, with the runtime left behind if the thread is to end here. */
void rt_cancel_point(struct rt_thread *t);
bool rt_cancel_pending(const struct rt_thread *t); /* the next such point ends the thread */
bool rt_parent_alive(void);
int rt_recorder(void);       /* the recording parent's number, as the channel's name has it */
void rt_wait_for_runs(void); /* server.c: returns in every run, if this process is to wait */
void rt_process_ends(int status);
void rt_signals_start(void);
void rt_signals_end(struct rt_thread *t);
/* Blocks all signals of the present thread, and lets them come again; both take a sigset_t. */
void rt_signals_hold(void *mask);
void rt_signals_let(const void *mask);
/* Takes from a mask (sigset_t) what the runtime blocks itself in this thread. */
void rt_signals_inherited(const struct rt_thread *from, void *mask);
void rt_signals_forked(struct rt_thread *t);
/* Faults (faults.c): siginfo_t and ucontext_t of a signal that rt_is_fault; notes one of our own.
 */
bool rt_is_fault(int number);
void rt_fault(int number, const void *signal_info, const void *context);
void rt_locks_reset(void);                 /* in a forked child: nobody holds the runtime's locks */
extern volatile int rt_handlers_installed; /* the program may be woken by a signal */
/* The signal that asks a thread to let go of the turn: one the kernel never sends by itself. */
#define RT_SIGNAL SIGSTKFLT

/* ---- child processes (children.c) ---------------------------------------------------------- */

void rt_child_note(struct rt_thread *t);         /* the thread is about to fork */
void rt_child_begins(const struct rt_thread *t); /* in the child: lets go of the session */
/* With rt.parent_session: the child makes a thread; initialises a lock anew; is about to take one
 * (NULL: that need not be known); finds it taken, and waits; has it after all. */
void rt_child_has_threads(void);
void rt_child_renews(const volatile void *lock);
struct hd_wire_child_lock *rt_child_takes(const volatile void *lock, bool reads, uintptr_t pc);
void rt_child_waits(struct hd_wire_child_lock *entry, uintptr_t pc);
void rt_child_goes_on(struct hd_wire_child_lock *entry);
/* The first two in one, of a child that is recorded too. */
void rt_child_taking(const volatile void *lock, bool reads, bool busy, uintptr_t pc);

/* ---- threads that others make (async.c) ---------------------------------------------------- */

/* A thread that nobody was seen to make comes after the calls that may have made it. */
void rt_async_begun(struct rt_thread *t);

/* ---- order without an object of the program's (sync_once.c) --------------------------------- */

/* An initialiser (ONCE) that is done again: after all who did it before, before all who find it
 * done from now on. */
void rt_emit_done_too(struct rt_thread *t, const char *object, uintptr_t pc);

/* ---- lives of objects (sync_life.c) -------------------------------------------------------- */

/* A synchronisation object is made or destroyed: HD_NOTE_INIT or HD_NOTE_DESTROY, and what it is.
 */
void rt_note_life(struct rt_thread *t, enum hd_note_type note, enum hd_note_object what,
                  const volatile void *object, uintptr_t pc);

/* ---- loops that only wait (state.c) --------------------------------------------------------- */

void rt_state_take(struct rt_thread *t, uintptr_t pc);
void rt_state_note(struct rt_thread *t, uintptr_t pc);
void rt_state_blocked(struct rt_thread *t, unsigned wait_type, uintptr_t object, bool timed,
                      uintptr_t pc);

/* ---- what no schedule controls (sources.c) ------------------------------------------------- */

void rt_source_slow(struct rt_thread *t, unsigned note, uintptr_t pc);
/* The thread asks for it (enum hd_note_type); outside of interceptors. */
RT_INLINE void rt_source(struct rt_thread *t, unsigned note, uintptr_t pc) {
    if (unlikely(rt.options.policy == HD_POLICY_REPLAY)) rt_source_slow(t, note, pc);
}

void rt_choice_slow(struct rt_thread *t, uintptr_t pc);
/* The result of the call that the thread is in depends on more than what it sees, and no event
 * tells it. */
RT_INLINE void rt_choice(struct rt_thread *t, uintptr_t pc) {
    if (unlikely(rt.options.policy == HD_POLICY_REPLAY)) rt_choice_slow(t, pc);
}
/* Its call has a time limit. */
void rt_limit(struct rt_thread *t, const struct timespec *deadline, clockid_t clock, uintptr_t pc);
/* A call that could have come out otherwise, and has no event of its own: MISSED or ONCE. */
void rt_tell(struct rt_thread *t, unsigned note, const volatile void *object, uintptr_t pc);

/* ---- locks, for condition variables (sync_lock.c) ----------------------------------------- */

/* A mutex was taken, or is about to be released: an event, in its place in the global order. */
void rt_emit_mutex(struct rt_thread *t, unsigned kind, unsigned flags, const pthread_mutex_t *m,
                   uintptr_t pc);
bool rt_mutex_is_foreign(const struct rt_thread *t, const pthread_mutex_t *m);
void rt_robust_end(struct rt_thread *t); /* the thread ends: robust mutexes that it holds pass on */
int rt_mutex_release(struct rt_thread *t, pthread_mutex_t *m, uintptr_t pc);
int rt_mutex_acquire(struct rt_thread *t, pthread_mutex_t *m, uintptr_t pc);
int rt_c11_error(int error); /* an errno value as thrd_success, thrd_busy, ... */

#pragma GCC visibility pop

#endif
