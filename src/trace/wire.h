/* What the runtime inside the program under test and the recording parent share: the raw event
 * word, the kinds of events, and the layout of the session's shared memory. This and expect.h are
 * the only headers of the analyser that the runtime includes; they depend on the C library's
 * headers alone. */
#ifndef HEDDLE_TRACE_WIRE_H
#define HEDDLE_TRACE_WIRE_H

#include <stddef.h>
#include <stdint.h>

/* ---- events ------------------------------------------------------------------------------- */

/* One raw event is two 64-bit words. `head` is stored last and is never zero, so that whoever maps
 * the memory after a crash finds the end of a chunk by its first zero head.
 *   head:  bits 0-7 kind, 8-15 flags, 16-63 operand (an address or a small number)
 *   tail:  bits 0-31 site, 32-47 hook calls of this thread since its previous event,
 *          48-63 branches since its previous event (both counts include the present one, and
 *          counts that do not fit travel in a preceding HD_EV_COUNT). */
struct hd_wire_event {
    uint64_t head;
    uint64_t tail;
};

/* name, text-format operation ("" = has no line of its own), class */
#define HD_EVENT_KINDS(X)                                                                          \
    /* memory: operand address; flags = size in bytes, or 0 and the size in a preceding EXT */     \
    X(READ, "r", ACCESS)                                                                           \
    X(WRITE, "w", ACCESS)                                                                          \
    /* atomics: flags = log2(size) | memory order << 4 (+ HD_ATOMIC_COMPARES) */                   \
    X(ATOMIC_READ, "ar", ATOMIC)                                                                   \
    X(ATOMIC_WRITE, "aw", ATOMIC)                                                                  \
    X(ATOMIC_UPDATE, "arw", ATOMIC)                                                                \
    X(FENCE, "fence", ATOMIC)                                                                      \
    /* locks: operand = lock's address; flags = enum hd_lock_type (+ HD_LOCK_BY_WAIT) */           \
    X(ACQUIRE, "acq", LOCK)                                                                        \
    X(RELEASE, "rel", LOCK)                                                                        \
    X(READ_ACQUIRE, "racq", LOCK)                                                                  \
    X(READ_RELEASE, "rrel", LOCK)                                                                  \
    X(TRY_FAILED, "tryfail", LOCK)                                                                 \
    /* condition variables: operand = its address. WAIT stands where the thread was woken, after   \
     * the release and before the acquire of its mutex; a preceding EXT holds the number of the    \
     * signal that woke it (signals count from 1 over the run), none if no signal did. SIGNAL      \
     * and BROADCAST carry their own number in a preceding EXT. */                                 \
    X(SIGNAL, "signal", SYNC)                                                                      \
    X(BROADCAST, "broadcast", SYNC)                                                                \
    X(WAIT, "wait", SYNC)                                                                          \
    X(WAIT_TIMEOUT, "timeout", SYNC)                                                               \
    /* barriers: operand = its address; a preceding EXT holds the round, unique over the run */    \
    X(BARRIER_ARRIVE, "barrier", SYNC)                                                             \
    X(BARRIER_LEAVE, "", SYNC)                                                                     \
    /* semaphores: operand = its address; SEM_INIT has the value in a preceding EXT */             \
    X(SEM_INIT, "seminit", SYNC)                                                                   \
    X(POST, "post", SYNC)                                                                          \
    X(SEM_WAIT, "wait", SYNC)                                                                      \
    /* once and static-initialisation guards: DONE by the thread that ran the initialiser, PASS    \
     * by every other that found it done; operand = the control word's address */                  \
    X(ONCE_DONE, "aw", SYNC)                                                                       \
    X(ONCE_PASS, "ar", SYNC)                                                                       \
    /* threads: operand = the other thread's number */                                             \
    X(FORK, "fork", THREAD)                                                                        \
    X(JOIN, "join", THREAD)                                                                        \
    X(DETACH, "detach", THREAD)                                                                    \
    X(BEGIN, "begin", THREAD)                                                                      \
    X(END, "end", THREAD)                                                                          \
    /* memory blocks: operand = start, size in a preceding EXT, flags = enum hd_block_type         \
     * (+ HD_BLOCK_ZEROED) */                                                                      \
    X(ALLOC, "alloc", MEMORY)                                                                      \
    X(FREE, "free", MEMORY)                                                                        \
    /* a thread that can never go on, written when the run deadlocks: operand = what it waits      \
     * for, flags = enum hd_wait_type */                                                           \
    X(BLOCKED, "blocked", THREAD)                                                                  \
    /* signal handlers: operand = signal number */                                                 \
    X(HANDLER_ENTER, "", MARK)                                                                     \
    X(HANDLER_LEAVE, "", MARK)                                                                     \
    /* operand = address of a NUL-terminated text in a module's read-only data or 0 (a user's      \
     * annotation), or of a synchronisation object that is made or destroyed; flags = enum         \
     * hd_note_type (+ enum hd_note_object, shifted) */                                            \
    X(NOTE, "note", MARK)                                                                          \
    /* an explicit branch of a text trace */                                                       \
    X(BRANCH, "branch", MARK)                                                                      \
    /* ---- bookkeeping: consumed by the reader, never seen by the model ---- */                   \
    /* operand: the events that follow in this stream are this thread's, or have this place in the \
     * global order (free) */                                                                      \
    X(THREAD, "", BOOK)                                                                            \
    X(STAMP, "", BOOK)                                                                             \
    X(EXT, "", BOOK)   /* operand: 48-bit value that belongs to the next event */                  \
    X(COUNT, "", BOOK) /* operand: hook calls, site: branches; added to the next event's */        \
    X(PUSH, "", BOOK)  /* function entry: operand = call depth after it, site = return address     \
                          in the caller, counts = hd_wire_step */                                  \
    X(POP, "", BOOK)   /* operand: call depth to return to */

enum hd_event_kind {
    HD_EV_NONE = 0,
#define X(name, text, class) HD_EV_##name,
    HD_EVENT_KINDS(X)
#undef X
        HD_EV_KINDS
};

/* A compare-and-exchange: an update if it found what it expected, else a read. */
#define HD_ATOMIC_COMPARES 0x80
/* What inline assembly is about to do to memory, as `heddle cc` tells the runtime: one number. */
enum hd_assembly_does {
    HD_ASSEMBLY_READS = 0,
    HD_ASSEMBLY_WRITES,
    HD_ASSEMBLY_UPDATES,
    HD_ASSEMBLY_COMPARES,  /* and updates if it finds what is in the register a */
    HD_ASSEMBLY_EXCHANGES, /* with a register */
    HD_ASSEMBLY_FENCE,
    HD_ASSEMBLY_HALF_FENCE
};
#define HD_ASSEMBLY_CODE(does, log_size, number) \
    ((unsigned)(does) | (unsigned)(log_size) << 3 | (unsigned)(number) << 6)
#define HD_ASSEMBLY_DOES(code) ((enum hd_assembly_does)((code)&7))
#define HD_ASSEMBLY_LOG(code) ((code) >> 3 & 7)
#define HD_ASSEMBLY_REGISTER(code) ((code) >> 6 & 15) /* in the order of the machine's numbers */

#define HD_ATOMIC_ORDER(flags) ((unsigned)(flags) >> 4 & 7)

enum hd_lock_type { HD_LOCK_MUTEX = 0, HD_LOCK_RWLOCK, HD_LOCK_SPIN, HD_LOCK_USER };
#define HD_LOCK_TYPE_MASK 0x0f
#define HD_LOCK_BY_WAIT 0x10 /* released or re-acquired by a condition wait */
#define HD_LOCK_BY_TRY 0x20  /* acquired by a try or timed call; of a SEM_WAIT too */
#define HD_LOCK_READS 0x40   /* TRY_FAILED: for reading */
#define HD_LOCK_TIMED 0x80   /* TRY_FAILED: its time was up */

enum hd_block_type {
    HD_BLOCK_HEAP = 0,
    HD_BLOCK_MMAP,
    HD_BLOCK_STACK, /* a new thread's stack and thread-local storage */
    /* a descriptor (see HD_DESCRIPTORS): what it leads to */
    HD_BLOCK_FILE,
    HD_BLOCK_PIPE,
    HD_BLOCK_SOCKET,
    HD_BLOCK_COUNTER, /* eventfd */
    HD_BLOCK_EPOLL,
    HD_BLOCK_KERNEL, /* a timer, signals, file events */
    HD_BLOCK_TYPES
};
#define HD_BLOCK_TYPE_MASK 0x0f
#define HD_BLOCK_ZEROED 0x10 /* ALLOC: its memory was set to zero (calloc) */
#define HD_BLOCK_GROWN 0x20  /* ALLOC: the block that is there has this size now, in its place */

/* A descriptor is an object at an address where no program has memory: it begins with an ALLOC and
 * a WRITE where it is given out, is read by every call that uses it, and ends with a FREE where it
 * is closed. */
#define HD_DESCRIPTORS (1ull << 47)
#define HD_DESCRIPTOR_BYTES 8u
static inline uint64_t hd_descriptor_address(uint32_t number) {
    return HD_DESCRIPTORS + (uint64_t)number * HD_DESCRIPTOR_BYTES;
}
static inline int hd_is_descriptor(uint64_t address) {
    return address >> 32 == HD_DESCRIPTORS >> 32;
}
static inline uint32_t hd_descriptor_number(uint64_t address) {
    return (uint32_t)((address - HD_DESCRIPTORS) / HD_DESCRIPTOR_BYTES);
}

enum hd_wait_type {
    HD_WAIT_LOCK = 1,
    HD_WAIT_COND,
    HD_WAIT_JOIN,
    HD_WAIT_BARRIER,
    HD_WAIT_SEM,
    HD_WAIT_ONCE
};

/* TIME, RANDOM, INPUT and CHOICE are the runtime's own, under the replay policy. The thread asks
 * for something that no schedule controls; or does something whose result depends on more than what
 * it sees, and no event tells it (a cancellation, a fork, a thread that is joined if it has ended).
 * STATE: before a read at a place where it read shortly before; operand = hash of its registers and
 * stack, a preceding EXT = where that part of the stack ends. BLOCKED, with STATE: the thread
 * begins to wait; operand = what for, as in a BLOCKED event, a preceding EXT = hd_wire_wait. LIMIT:
 * the call that it is in has a time limit, so many milliseconds from now (EXT). They are no hook
 * calls. MISSED is one that found a semaphore empty; ONCE one that begins a one-time initialisation
 * (FIRST), or the end of a static initialiser of C++ (DONE) and a call that found it done (PASS):
 * both tell apart what may come out otherwise under another schedule, and only such runs have them.
 * INIT and DESTROY are calls of pthread_mutex_init and its like. FORK: the thread makes a child
 * process, whose number (from 1) is in a preceding EXT. CHILD and CHILD_WAITS are written by the
 * recorder after the end, as if by the first thread (struct hd_wire_child_lock): the child of that
 * number takes a lock, or waits for it for ever. */
enum hd_note_type {
    HD_NOTE_TEXT = 0,
    HD_NOTE_TIME,
    HD_NOTE_RANDOM,
    HD_NOTE_INPUT,
    HD_NOTE_CHOICE,
    HD_NOTE_INIT,
    HD_NOTE_DESTROY,
    HD_NOTE_STATE,
    HD_NOTE_FORK,
    HD_NOTE_CHILD,
    HD_NOTE_CHILD_WAITS,
    HD_NOTE_BLOCKED,
    HD_NOTE_LIMIT,
    HD_NOTE_MISSED,
    HD_NOTE_ONCE
};
#define HD_NOTE_TYPE_MASK 0x0f
#define HD_NOTE_OBJECT_SHIFT 4
enum hd_note_object { HD_NOTE_LOCK = 0, HD_NOTE_COND, HD_NOTE_BARRIER, HD_NOTE_SEM };
enum hd_note_once { HD_NOTE_FIRST = 0, HD_NOTE_DONE, HD_NOTE_PASS }; /* of ONCE, as shifted */
#define HD_NOTE_READS 0x80 /* CHILD, CHILD_WAITS: it takes the lock for reading */
#define HD_NOTE_TIMED 0x80 /* MISSED: its time was up */
static inline int hd_note_is_child(unsigned flags) {
    return (flags & HD_NOTE_TYPE_MASK) == HD_NOTE_CHILD ||
           (flags & HD_NOTE_TYPE_MASK) == HD_NOTE_CHILD_WAITS;
}
/* A wait that begins: enum hd_wait_type, whether it is for reading and has a time limit, and the
 * hook calls of the thread that no event has counted yet, its own among them. */
static inline uint64_t hd_wire_wait(unsigned type, unsigned flags, uint64_t calls) {
    return (type & 0xff) | (flags & 0xff) << 8 | (calls & 0xffffffff) << 16;
}
enum { HD_WIRE_WAIT_READS = 1, HD_WIRE_WAIT_TIMED = 2 };
static inline unsigned hd_wire_wait_flags(uint64_t wait) { return wait >> 8 & 0xff; }
static inline unsigned hd_wire_wait_type(uint64_t wait) { return wait & 0xff; }
static inline uint64_t hd_wire_wait_calls(uint64_t wait) { return wait >> 16; }
static inline int hd_note_is_life(unsigned flags) {
    return (flags & HD_NOTE_TYPE_MASK) == HD_NOTE_INIT ||
           (flags & HD_NOTE_TYPE_MASK) == HD_NOTE_DESTROY;
}

static inline uint64_t hd_wire_head(unsigned kind, unsigned flags, uint64_t operand) {
    return (uint64_t)(kind & 0xff) | (uint64_t)(flags & 0xff) << 8 | operand << 16;
}
static inline unsigned hd_wire_kind(uint64_t head) { return head & 0xff; }
static inline unsigned hd_wire_flags(uint64_t head) { return head >> 8 & 0xff; }
static inline uint64_t hd_wire_operand(uint64_t head) { return head >> 16; }
/* Counts: branches in the lower half, and calls in the upper one, as 2^16 less so many. So the
 * counts of one call (HD_COUNTS_CALL) become those with a branch more by adding one, and what does
 * not fit is larger than any. */
#define HD_COUNTS_CALL 0xffff0000u
static inline uint32_t hd_counts(unsigned calls, unsigned branches) {
    return (0 - (uint32_t)calls) << 16 | (branches & 0xffff);
}
static inline unsigned hd_counts_calls(uint32_t counts) { return (0 - (counts >> 16)) & 0xffff; }
static inline unsigned hd_counts_branches(uint32_t counts) { return counts & 0xffff; }

static inline uint64_t hd_wire_tail(uint32_t site, unsigned calls, unsigned branches) {
    return site | (uint64_t)hd_counts(calls, branches) << 32;
}
static inline uint32_t hd_wire_site(uint64_t tail) { return (uint32_t)tail; }
static inline unsigned hd_wire_calls(uint64_t tail) {
    return hd_counts_calls((uint32_t)(tail >> 32));
}
static inline unsigned hd_wire_branches(uint64_t tail) { return tail >> 32 & 0xffff; }
/* Of a PUSH: bytes from the frame of the next outer function that has one (else from the end of the
 * thread's stack) down to this function's; a frame begins where its caller's stack pointer was
 * (DWARF's canonical frame address). 0 if that is not known. */
static inline uint64_t hd_wire_push_tail(uint32_t site, uint32_t step) {
    return site | (uint64_t)step << 32;
}
static inline uint32_t hd_wire_step(uint64_t tail) { return (uint32_t)(tail >> 32); }

/* A site is a code address made small: `module.site_base + (pc - module.text_lo)`, where pc is the
 * return address of the hook or interceptor call. Site 0 is "unknown". Site numbers stay below
 * HD_SITE_LIMIT so that site and byte offset together fit one shadow slot. */
#define HD_SITE_LIMIT (1u << 29)

/* ---- session memory ----------------------------------------------------------------------- */

/* The parent makes one small memory file, the channel, and names it to its child in the environment
 * (HEDDLE_CHANNEL=/proc/PID/fd/N). A process that wants to be recorded makes a memory file of its
 * own, the session, and asks for it in a slot of the channel. The parent maps the session, answers,
 * and from then on drains it; the process may die at any moment. */
#define HD_WIRE_MAGIC 0x31656c6464656848ull /* "Heddle1" */
#define HD_WIRE_VERSION 10u
#define HD_CHANNEL_ENV "HEDDLE_CHANNEL"

#define HD_CHANNEL_SLOTS 256
enum hd_slot_state { HD_SLOT_EMPTY = 0, HD_SLOT_CLAIMED, HD_SLOT_ASKED, HD_SLOT_YES, HD_SLOT_NO };

struct hd_wire_slot {
    uint32_t state; /* enum hd_slot_state; a futex the asking process waits on */
    int32_t pid;
    int32_t fd;          /* the session's descriptor in that process while it waits */
    int32_t forked_from; /* pid of the recorded process it was forked from, 0 if exec'ed */
    uint32_t process;    /* the answer YES: its number among those that are recorded, from 0 */
};

/* How a run is to be recorded; filled in by the parent, read-only for the target. */
struct hd_wire_options {
    uint32_t scheduler; /* enum hd_scheduler */
    uint32_t policy;    /* enum hd_policy (serial) */
    uint64_t seed;
    uint32_t quantum;  /* hook calls between preemptions (serial) */
    uint32_t full;     /* enum hd_full */
    uint32_t children; /* record forked and exec'ed processes too */
    uint32_t process;  /* of a session or trace: its number among those */
    uint32_t watchdog_ms;
    uint32_t check;       /* watch for unserializable interleavings (struct hd_wire_check) */
    uint32_t granularity; /* enum hd_granularity */
    uint32_t check_waits; /* at each new violation, for the parent's answer */
    uint32_t states;      /* notes of what a thread that reads again has of its own (serial) */
};
/* Accesses: they are only checked, and not recorded; those that came as expected are counted
 * (expect.h); every one is stored. */
enum hd_full { HD_FULL_NOT = 0, HD_FULL_EXPECTED, HD_FULL_DIRECT };
/* What counts as the same memory for such a check: bytes, words of eight, cache lines of 64. */
enum hd_granularity { HD_GRANULARITY_BYTE = 0, HD_GRANULARITY_WORD, HD_GRANULARITY_LINE };
enum hd_scheduler { HD_SCHED_OFF = 0, HD_SCHED_SERIAL, HD_SCHED_FREE };
/* The last two are for free: threads run in parallel, and are held back here and there. */
enum hd_policy {
    HD_POLICY_ROUND_ROBIN = 0,
    HD_POLICY_RANDOM,
    HD_POLICY_REPLAY,
    HD_POLICY_PCT,
    HD_POLICY_POS,
    HD_POLICY_FORCE,
    HD_POLICY_NOISE
};

struct hd_wire_channel {
    uint64_t magic;
    uint32_t version;
    uint32_t asked; /* futex: incremented with every request, waited on by the parent */
    struct hd_wire_options options;
    struct hd_wire_slot slot[HD_CHANNEL_SLOTS];
    uint64_t plan_bytes; /* what the policy is to follow, from HD_PLAN_OFFSET of the file on */
    uint32_t server;     /* the process is to wait for requests at this descriptor; 0: it is not */
    uint32_t startup;    /* descriptor of a file for the events before `wait_module` is reached */
    /* where it is to wait: at the first entry of the function at this address of that module's file
     * (hd_wire_name_hash of its path); 0: before main */
    uint64_t wait_module, wait_address;
};

/* A program that waits before main. A process whose channel has a `server` asks for no session. It
 * says in a hd_wire_reply whether it can wait, and then forks itself for every hd_wire_request that
 * comes, with the standard input, output and error of that run as ancillary data. The child is the
 * parent's (CLONE_PARENT), finds the run's channel in its environment, and goes on as a process
 * that was just executed; the process that waits answers with its number. The value of
 * HD_CHANNEL_ENV has the same length in every run, so that it can be replaced where it stands.
 *
 * One that waits where a function begins has executed the program up to there, and recorded it:
 * full chunks of events are in the file `startup`, one after the other, as struct hd_wire_event. A
 * run's trace begins with them; the rest is in the run's session. Its policy, seed and plan may be
 * any, what is recorded (options: full, states, children; replay or not) is that of the channel. */
#define HD_CHANNEL_PATH 64u
struct hd_wire_request {
    uint64_t magic;
    char channel[HD_CHANNEL_PATH]; /* NUL-terminated */
};
struct hd_wire_reply {
    uint32_t state;  /* enum hd_reply_state */
    int32_t pid;     /* HD_REPLY_FORKED */
    uint64_t number; /* HD_REPLY_READY: hook calls so far; HD_REPLY_OPEN: the descriptor */
};
enum hd_reply_state {
    HD_REPLY_READY = 1, /* it waits */
    HD_REPLY_CANNOT,    /* it has several threads, or is not what was started: it ends */
    HD_REPLY_FORKED,
    HD_REPLY_FAILED, /* no process could be made */
    /* it can't wait at the function, and ends */
    HD_REPLY_NO_FUNCTION, /* it is not there */
    HD_REPLY_THREADS,     /* there are or were other threads */
    HD_REPLY_INSIDE,      /* it is called from inside of a call that the runtime has replaced */
    HD_REPLY_OPEN,        /* a descriptor that is no plain file would be shared by the runs */
    HD_REPLY_SHARED,      /* memory that it may write would be */
    HD_REPLY_LONG         /* too much happens before */
};

/* A policy may come with a plan of any length (replay: struct hd_wire_replay). The runtime copies
 * it and believes nothing in it. */
#define HD_PLAN_OFFSET ((sizeof(struct hd_wire_channel) + 4095u) / 4096u * 4096u)
#define HD_PLAN_MOST (1ull << 30)

/* The plan of HD_POLICY_REPLAY: turns, one after the other. In each, one thread runs until it has
 * made `end` hook calls in its life; the call numbered `mark` is recorded even if the filter would
 * leave it out (0: none). A thread that has made `mark` calls and can't go on has done its turn.
 * The turns from `then` on are the error condition's: when the first of them begins, the bad state
 * is reached. After the last turn threads run on by round robin.
 *
 * Threads are numbered as they are made, so a thread that is made earlier or later than it was may
 * get another's number. After the turns there is, for each of `threads` numbers, who makes that
 * thread, and which of those that this one makes it is (from 0); that is its number then. Behind
 * those come choices. */
struct hd_wire_turn {
    uint32_t thread;
    uint32_t finish; /* has no call of its own: the thread must come back from a system call */
    uint64_t mark, end;
};
struct hd_wire_replay {
    uint32_t turns, then;
    uint32_t patience_ms; /* for a thread that is in a system call when its turn comes */
    uint32_t threads;     /* 0: numbered as they are made */
    uint32_t process;     /* that the turns are for; others run by round robin */
    uint32_t choices;
    struct hd_wire_turn turn[];
};
struct hd_wire_made {
    uint32_t by; /* UINT32_MAX: by nobody that is known */
    uint32_t as;
};
/* How a call comes out that its thread does not decide: the thread that its signal wakes, if that
 * waits then; UINT32_MAX: the time of its wait is up when its turn comes. */
struct hd_wire_choice {
    uint64_t call; /* of the thread, from 1 */
    uint32_t thread;
    uint32_t wakes;
};

/* Its answer, in struct hd_wire_session.answer. */
struct hd_wire_replay_answer {
    uint32_t state;           /* enum hd_replay_state */
    uint32_t reason;          /* enum hd_replay_reason, when diverged */
    uint32_t turn;            /* the present one, or the one that diverged */
    uint32_t thread;          /* whose turn it was */
    uint64_t calls;           /* that thread had made */
    uint32_t wait_type, site; /* where it is blocked: enum hd_wait_type */
    uint64_t wait_object;
    uint64_t expected_bytes; /* of a plan that is not understood */
};
enum hd_replay_state {
    HD_REPLAY_NONE = 0,  /* never began */
    HD_REPLAY_FOLLOWING, /* the program ended on the way */
    HD_REPLAY_REACHED,   /* in the error condition's turns */
    HD_REPLAY_OVER,      /* all turns done */
    HD_REPLAY_DIVERGED
};
enum hd_replay_reason {
    HD_REPLAY_BAD_PLAN = 1,
    HD_REPLAY_NO_THREAD, /* there is no such thread yet */
    HD_REPLAY_ENDED,     /* it has ended before its turn was over */
    HD_REPLAY_BLOCKED,   /* it waits for something that only another thread can give */
    HD_REPLAY_AWAY       /* it did not come back from a system call in time */
};

/* The plan of HD_POLICY_PCT: a run of about so many hook calls, priorities changed depth - 1 times
 * at random places in it. HD_POLICY_POS needs none. */
struct hd_wire_pct {
    uint64_t length;
    uint32_t depth;
    uint32_t reserved;
};

/* The plan of HD_POLICY_NOISE: at every synchronisation operation a thread is held up with this
 * probability, for up to so long; not more than `most` times in a run. */
struct hd_wire_noise {
    uint32_t per_mille, most_us, most, reserved;
};

/* The plan of HD_POLICY_FORCE: interleavings to bring about by suspending threads. A place in the
 * code is a module, by the hash of its file name, and the offset of a site in it. */
struct hd_wire_place {
    uint64_t module; /* hd_wire_name_hash; 0: no place */
    uint64_t offset; /* site - module.site_base */
};
/* R is to run between P and C, which another thread executes one after the other, all on the same
 * bytes. Without a P, R is to run right before C. A thread is suspended before it comes to C (or
 * R): at the access itself, or where it enters the outermost critical section around it. */
struct hd_wire_target {
    struct hd_wire_place p, c, r, c_stop, r_stop;
    struct hd_wire_place c_caller, r_caller; /* call site of the function; no place: any */
    uint32_t c_thread, r_thread;             /* UINT32_MAX: any */
    uint32_t skip;                           /* opportunities to let go by first */
    uint32_t reserved;
};
#define HD_FORCE_MOST 200u /* targets of a run */
/* What R's thread does when R has run: goes on; lets C run first; the same, and is the first to go
 * on after that. */
enum hd_force_strict { HD_FORCE_LOOSE = 0, HD_FORCE_C_FIRST, HD_FORCE_R_FIRST };
struct hd_wire_force {
    uint32_t targets;
    uint32_t timeout_us; /* of one suspension */
    uint32_t timeouts;   /* after so many in vain a target is given up for this run */
    uint32_t hits;       /* and after so many that were not */
    uint32_t strict;     /* enum hd_force_strict */
    uint32_t reserved;
    struct hd_wire_target target[];
};

/* Its answer. */
enum hd_force_state {
    HD_FORCE_UNSEEN = 0, /* nobody came to where a thread would be suspended */
    HD_FORCE_SUSPENDED,  /* in vain */
    HD_FORCE_MET,        /* R came while C's thread was between P and C */
    HD_FORCE_EXERCISED   /* and C came after that */
};
struct hd_wire_force_answer {
    uint32_t suspensions, timeouts, hits;
    uint32_t last; /* target that was exercised last, UINT32_MAX: none */
    uint8_t state[HD_FORCE_MOST];
};

static inline uint64_t hd_wire_name_hash(const char *path) {
    uint64_t hash = 0xcbf29ce484222325ull;
    for (const char *c = path; *c != '\0'; c++)
        hash = *c == '/' ? 0xcbf29ce484222325ull : (hash ^ (uint8_t)*c) * 0x100000001b3ull;
    return hash ? hash : 1;
}

/* What a policy reports back: words whose meaning is the policy's own, in the session; the parent
 * hands them to whoever asked for the run. */
#define HD_ANSWER_WORDS 64u

#define HD_CHUNK_BYTES (64u * 1024u)
#define HD_CHUNK_EVENTS ((HD_CHUNK_BYTES - 64u) / sizeof(struct hd_wire_event))
#define HD_CHUNK_RECORDS (HD_CHUNK_BYTES - 64u) /* bytes of them */
#define HD_MAX_CHUNKS 4096u
#define HD_MAX_MODULES 1024u
#define HD_STRINGS_BYTES (512u * 1024u)

enum hd_chunk_state {
    HD_CHUNK_FREE = 0, /* all zero; the target may take it */
    HD_CHUNK_OPEN,     /* a thread writes into it */
    HD_CHUNK_FULL      /* the parent may drain it; it zeroes it and makes it FREE */
};

/* Streams: under the serial scheduler all threads write one stream (0), in order, with THREAD
 * events; under the free scheduler each thread has its own stream (its thread number), and STAMP
 * events tell how streams interleave. */
#define HD_MET_BITS 48
#define HD_MET(expected) ((expected) & ((1ull << HD_MET_BITS) - 1))
struct hd_wire_chunk {
    uint32_t state; /* enum hd_chunk_state */
    uint32_t stream;
    uint32_t sequence; /* chunks of one stream count from 0 */
    uint32_t unused;
    /* Unless every event is stored (record --direct), there are records in place of events
     * (token.h): bytes that are in the chunk << HD_MET_BITS | events that came as expected after
     * them, and the choices of these. */
    uint64_t expected;
    uint64_t choices;
    uint64_t events; /* about so many that its records tell of */
    uint32_t reserved[6];
    union {
        struct hd_wire_event event[HD_CHUNK_EVENTS];
        uint8_t record[HD_CHUNK_RECORDS];
    };
};

struct hd_wire_module {
    uint64_t text_lo, text_hi;   /* executable addresses */
    uint64_t bias;               /* address in memory = bias + address in the file */
    uint64_t image_lo, image_hi; /* all loaded segments */
    uint32_t site_base;
    uint32_t path;       /* offset into strings */
    uint32_t generation; /* 0; counts up if the same path is loaded again elsewhere */
    uint32_t build_id_length;
    uint8_t build_id[32];
};

/* Locks that a child process takes which is not recorded itself. It keeps the beginning of its
 * parent's session for that. */
#define HD_CHILD_LOCKS 64u
enum hd_child_state {
    HD_CHILD_NONE = 0,
    HD_CHILD_TAKES,
    HD_CHILD_WAITS,   /* nobody in its process holds it, or will ever release it */
    HD_CHILD_MAY_WAIT /* the same, but for a signal handler */
};
struct hd_wire_child_lock {
    uint32_t state; /* enum hd_child_state, stored last */
    uint32_t fork;  /* the number of the one that made the child */
    uint32_t site, reads;
    int32_t pid; /* of the child */
    uint32_t reserved;
    uint64_t lock;
};

/* BETWEEN: the word that an allocator has between two blocks. CLOSED: of a descriptor, by another
 * thread than the one that closed it; misuse_size is its number then. */
enum hd_misuse {
    HD_MISUSE_NONE = 0,
    HD_MISUSE_FREED,
    HD_MISUSE_BEYOND,
    HD_MISUSE_BETWEEN,
    HD_MISUSE_CLOSED
};

struct hd_wire_session {
    uint64_t magic;
    uint32_t version;
    int32_t pid;
    uint64_t bytes; /* of the whole mapping */
    struct hd_wire_options options;
    uint32_t wake;         /* futex: incremented when chunks become FULL */
    uint32_t freed;        /* futex: incremented by the parent when chunks become FREE */
    uint32_t chunk_count;  /* chunks the target may use; the parent does not change it */
    uint32_t module_count; /* entries below this are complete */
    uint32_t string_bytes;
    uint32_t threads_started;
    uint32_t ended;        /* 1 when the target said goodbye itself (exit, _exit, exec) */
    uint32_t parent_gone;  /* set by the parent when it stops draining: do not wait for it */
    uint32_t deadlocked;   /* the serial scheduler found that no thread can go on */
    uint32_t has_branches; /* a coverage hook was called: branch counts mean something */
    uint32_t lost_events;  /* events dropped because the parent was gone */
    uint32_t full_chunks;  /* FULL at this moment */
    uint32_t draining;     /* 1 while the parent sleeps on `wake` */
    int32_t exit_status;   /* as the target gave it, valid when ended */
    int32_t parent;        /* pid of the recording parent */
    uint32_t chunks_used;  /* chunks at and beyond this were never touched */
    /* the runtime itself crashed: signal, offset in libheddle_rt.so, address; 0: it did not */
    uint32_t fault_signal;
    uint32_t forked;              /* set by a child process that it made */
    uint32_t killed_by, reserved; /* a fault that it dies of; 0: none so far */
    uint64_t fault_pc, fault_address;
    /* the first access to memory that was freed, or that is beyond its block; or to a descriptor
     * that was closed: enum hd_misuse */
    uint32_t misuse, misuse_thread, misuse_size, misuse_write, misuse_site;
    uint64_t answer[HD_ANSWER_WORDS];
    uint32_t child_threads; /* a child that is not recorded makes threads */
    uint32_t child_locks;   /* entries that were begun; may count beyond the table */
    struct hd_wire_child_lock child_lock[HD_CHILD_LOCKS];
    struct hd_wire_module module[HD_MAX_MODULES];
    char strings[HD_STRINGS_BYTES];
    /* chunks follow, at the next multiple of HD_CHUNK_BYTES */
};

static inline size_t hd_wire_chunks_offset(void) {
    return (sizeof(struct hd_wire_session) + HD_CHUNK_BYTES - 1) / HD_CHUNK_BYTES * HD_CHUNK_BYTES;
}
static inline size_t hd_wire_session_bytes(uint32_t chunks) {
    return hd_wire_chunks_offset() + (size_t)chunks * HD_CHUNK_BYTES;
}
/* What a checked run found (run/observed.h says what that means), behind the chunks of a session
 * whose options ask for it. Entries below a count are there, but a violation is complete only when
 * it is `ready`. */
#define HD_CHECK_SITES (1u << 18)
#define HD_CHECK_VIOLATIONS (1u << 14)
#define HD_CHECK_FRAMES 48u
struct hd_wire_check_access {
    uint32_t thread, site;
    uint32_t does; /* 1 reads, 2 writes, 3 both at once */
};
struct hd_wire_check_site {
    uint32_t site, does;
    uint64_t violations;
};
struct hd_wire_violation {
    struct hd_wire_check_access access[3]; /* P, R, I */
    uint32_t ready;
    uint32_t answered; /* futex: the parent has seen it; looked at only if options.check_waits */
    uint32_t frames;
    uint64_t address, size, instances;
    uint32_t frame[HD_CHECK_FRAMES]; /* of I: call sites, innermost first */
};
struct hd_wire_check {
    uint32_t sites, violations; /* may count beyond what the tables hold */
    struct hd_wire_check_site site[HD_CHECK_SITES];
    struct hd_wire_violation violation[HD_CHECK_VIOLATIONS];
};
static inline struct hd_wire_check *hd_wire_check(struct hd_wire_session *s, uint32_t chunks) {
    return (struct hd_wire_check *)(void *)((char *)s + hd_wire_session_bytes(chunks));
}

static inline struct hd_wire_chunk *hd_wire_chunk(struct hd_wire_session *s, uint32_t i) {
    return (struct hd_wire_chunk *)((char *)s + hd_wire_chunks_offset() +
                                    (size_t)i * HD_CHUNK_BYTES);
}

_Static_assert(sizeof(struct hd_wire_event) == 16, "an event is two words");
_Static_assert(sizeof(struct hd_wire_chunk) <= HD_CHUNK_BYTES, "a chunk fits its slot");

#endif
