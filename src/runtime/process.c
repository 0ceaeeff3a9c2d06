/* The process: attaching to the recording parent, forked children, ends, unloaded libraries, and
 * jumps over frames. */
#define _GNU_SOURCE
#include "runtime/check.h"
#include "runtime/startup.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct rt_global rt;

bool rt_parent_alive(void) {
    int saved = errno;
    bool alive = rt.parent == 0 || syscall(SYS_kill, rt.parent, 0) == 0 || errno == EPERM;
    errno = saved;
    return alive;
}

/* ---- the session -------------------------------------------------------------------------- */

/* A copy of the plan, so that nothing can change it later. */
static void copy_plan(int fd, const struct hd_wire_channel *channel) {
    uint64_t bytes = channel->plan_bytes;
    rt.plan = NULL;
    rt.plan_bytes = 0;
    if (bytes == 0 || bytes > HD_PLAN_MOST) return;
    char *copy = rt_map((size_t)bytes);
    for (uint64_t done = 0; done < bytes;) {
        long n = syscall(SYS_pread64, fd, copy + done, bytes - done, HD_PLAN_OFFSET + done);
        if (n <= 0) { /* it is not there */
            rt_unmap(copy, (size_t)bytes);
            return;
        }
        done += (uint64_t)n;
    }
    rt.plan = copy;
    rt.plan_bytes = (size_t)bytes;
}

static struct hd_wire_channel *open_channel(const char *path) {
    if (path == NULL) return NULL;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return NULL; /* the recorder is gone: run as if it had never been */
    void *memory = (void *)syscall(SYS_mmap, NULL, sizeof(struct hd_wire_channel),
                                   PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
    struct hd_wire_channel *channel = memory != MAP_FAILED ? memory : NULL;
    bool known =
        channel != NULL && channel->magic == HD_WIRE_MAGIC && channel->version == HD_WIRE_VERSION;
    if (known) copy_plan(fd, channel);
    syscall(SYS_close, fd);
    if (channel == NULL || known) return channel;
    rt_message("the recorder has another version: re-link the program with this heddle");
    rt_unmap(memory, sizeof *channel);
    return NULL;
}

int rt_recorder(void) {
    const char *path = getenv(HD_CHANNEL_ENV);
    return path != NULL && strncmp(path, "/proc/", 6) == 0 ? atoi(path + 6) : 0;
}

/* Beyond the limit for files, the kernel would also end the program. */
static bool make_bytes(int fd, size_t bytes) {
    sigset_t limit, old;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    REAL(pthread_sigmask)(SIG_BLOCK, &limit, &old);
    bool good = syscall(SYS_ftruncate, fd, bytes) == 0;
    struct timespec now = {0, 0};
    if (!good && !sigismember(&old, SIGXFSZ)) REAL(sigtimedwait)(&limit, NULL, &now);
    REAL(pthread_sigmask)(SIG_SETMASK, &old, NULL);
    return good;
}

static struct hd_wire_session *make_session(const struct hd_wire_options *options, int *fd) {
    *fd = (int)syscall(SYS_memfd_create, "heddle", 1 /* MFD_CLOEXEC */);
    if (*fd < 0) return NULL;
    /* Serial needs one chunk at a time, free one for each thread; the rest is for the parent to be
     * behind. Pages that are not used are not there. */
    uint32_t chunks = options->scheduler == HD_SCHED_SERIAL ? 128 : HD_MAX_CHUNKS;
    size_t bytes =
        hd_wire_session_bytes(chunks) + (options->check ? sizeof(struct hd_wire_check) : 0);
    void *memory = MAP_FAILED;
    if (make_bytes(*fd, bytes))
        memory = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_NORESERVE, *fd, 0L);
    if (memory == MAP_FAILED) {
        syscall(SYS_close, *fd);
        rt_message("no shared memory (see ulimit -f, -v): the program runs unrecorded");
        return NULL;
    }
    struct hd_wire_session *session = memory;
    session->magic = HD_WIRE_MAGIC;
    session->version = HD_WIRE_VERSION;
    session->pid = getpid();
    session->bytes = bytes;
    session->options = *options;
    session->chunk_count = chunks;
    session->string_bytes = 1; /* offset 0 is the empty string */
    return session;
}

/* Asks the parent to drain a session; true if it does. *process: its number. */
static bool ask(struct hd_wire_channel *channel, int fd, int forked_from, uint32_t *process) {
    struct hd_wire_slot *slot = NULL;
    for (unsigned i = 0; i < HD_CHANNEL_SLOTS && slot == NULL; i++) {
        uint32_t expect = HD_SLOT_EMPTY;
        if (__atomic_compare_exchange_n(&channel->slot[i].state, &expect, HD_SLOT_CLAIMED, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            slot = &channel->slot[i];
    }
    if (slot == NULL) return false;
    slot->pid = getpid();
    slot->fd = fd;
    slot->forked_from = forked_from;
    __atomic_store_n(&slot->state, HD_SLOT_ASKED, __ATOMIC_RELEASE);
    __atomic_fetch_add(&channel->asked, 1, __ATOMIC_SEQ_CST);
    rt_futex_wake(&channel->asked, 1, true);
    while (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == HD_SLOT_ASKED) {
        struct timespec wait = {0, 100 * 1000 * 1000};
        rt_futex_wait(&slot->state, HD_SLOT_ASKED, &wait, true);
        if (!rt_parent_alive()) break;
    }
    bool yes = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == HD_SLOT_YES;
    *process = slot->process;
    __atomic_store_n(&slot->state, HD_SLOT_EMPTY, __ATOMIC_RELEASE);
    return yes;
}

/* True if the parent records this process, or if it has a session of which runs get copies. */
static bool open_session(int forked_from) {
    struct hd_wire_channel *channel = open_channel(getenv(HD_CHANNEL_ENV));
    if (channel == NULL) return false;
    int fd = -1;
    struct hd_wire_session *session = make_session(&channel->options, &fd);
    bool yes = false;
    uint32_t process = 0;
    if (session != NULL) {
        rt.parent = rt_recorder();
        yes = rt.startup || ask(channel, fd, forked_from, &process);
        syscall(SYS_close, fd);
        if (!yes) rt_unmap(session, session->bytes);
    }
    if (yes) {
        rt.options = channel->options;
        rt.options.process = process;
        rt.session = session;
        session->parent = rt.parent;
    }
    rt_unmap(channel, sizeof *channel);
    return yes;
}

static bool records_the_same(const struct hd_wire_options *a, const struct hd_wire_options *b) {
    return a->scheduler == b->scheduler && a->full == b->full && a->states == b->states &&
           a->children == b->children && !a->check && !b->check &&
           (a->policy == HD_POLICY_REPLAY) == (b->policy == HD_POLICY_REPLAY);
}

/* What is in use of a session: its head, the modules, the thread's chunk. */
static void copy_session(struct hd_wire_session *to, const struct hd_wire_session *from,
                         const struct rt_thread *t) {
    memcpy(to, from, offsetof(struct hd_wire_session, module));
    memcpy(to->module, from->module, from->module_count * sizeof *from->module);
    memcpy(to->strings, from->strings, from->string_bytes);
    to->pid = getpid();
    if (t->chunk == NULL) return;
    size_t at = (size_t)((const char *)t->chunk - (const char *)from);
    memcpy((char *)to + at, t->chunk, sizeof *t->chunk);
}

/* It takes the other's place: what points there stays right. */
bool rt_session_renew(struct rt_thread *t, const char *path) {
    struct hd_wire_session *old = rt.session;
    struct hd_wire_channel *channel = open_channel(path);
    if (channel == NULL || !records_the_same(&channel->options, &rt.options)) return false;
    int fd;
    struct hd_wire_session *session = make_session(&channel->options, &fd);
    if (session == NULL || session->bytes != old->bytes) return false;
    copy_session(session, old, t);
    session->options = rt.options = channel->options;
    if (!ask(channel, fd, 0, &rt.options.process)) return false;
    syscall(SYS_close, fd);
    rt_unmap(channel, sizeof *channel);
    return (void *)syscall(SYS_mremap, session, session->bytes, session->bytes,
                           MREMAP_MAYMOVE | MREMAP_FIXED, old) == old;
}

static void start(int forked_from) {
    if (!open_session(forked_from)) return;
    static struct rt_slot *slots;
    if (slots == NULL) slots = rt_map(RT_MAX_THREADS * sizeof *slots);
    rt.slot = slots;
    rt.records = rt.options.full == HD_FULL_EXPECTED;
    rt.always_slow = rt.options.states;
    rt_force_start();
    rt_noise_start();
    rt_check_start();
    rt_modules_scan();
    struct rt_thread *t = &rt_self;
    t->busy++;
    t->inside++;
    rt.mode = rt.options.scheduler;
    rt_blocks_choose();
    rt_signals_start();
    rt_threads_start(t);
    t->inside--;
    t->busy--;
}

static void before_fork(void), forked(void), forked_child(void);

/* Called where the process begins to end, before its own exit handlers: threads that could run go
 * on first. _exit and abort do not wait for anybody. */
static void last_turn(void) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return;
    rt_sched_last(t);
    rt_leave(t);
}

RT_EXPORT __attribute__((noreturn)) void exit(int status) {
    last_turn();
    REAL(exit)(status);
    __builtin_unreachable();
}
RT_EXPORT __attribute__((noreturn)) void quick_exit(int status) {
    last_turn();
    REAL(quick_exit)(status);
    __builtin_unreachable();
}

/* The return from main is a call of exit inside the C library. */
typedef int main_function(int, char **, char **);
static main_function *program_main;
static int main_and_last_turn(int count, char **arguments, char **environment) {
    rt.in_main = true;
    int status = program_main(count, arguments, environment);
    last_turn();
    return status;
}
int __libc_start_main(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void),
                      void *);
RT_EXPORT int __libc_start_main(main_function *function, int count, char **arguments,
                                void (*init)(void), void (*fini)(void), void (*loader_fini)(void),
                                void *stack_end) {
    program_main = function;
    return REAL(__libc_start_main)(main_and_last_turn, count, arguments, init, fini, loader_fini,
                                   stack_end);
}

/* exit may have been called inside the C library (err, error). */
static void at_exit(int status, void *unused) {
    (void)unused;
    last_turn();
    rt_process_ends(status);
}

/* Called where the process says itself that it ends. Events written after this are kept too. */
void rt_process_ends(int status) {
    struct hd_wire_session *session = rt.session;
    if (session == NULL || session->pid != getpid()) return;
    session->exit_status = status & 0xff;
    session->has_branches |= rt_self.branches_emitted != 0 || rt_self.passed > HD_COUNTS_CALL;
    __atomic_store_n(&session->ended, 1, __ATOMIC_SEQ_CST);
    /* The parent waits for the process from here on, not for its events. */
    __atomic_fetch_add(&session->wake, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&session->draining, __ATOMIC_SEQ_CST))
        rt_futex_wake(&session->wake, 1, true);
}

__attribute__((constructor(101))) static void initialise(void) {
    static bool done;
    if (done) return;
    done = true;
    rt_wait_for_runs();
    start(0);
    if (rt.session == NULL) {
        rt_hooks_pass();
        return;
    }
    on_exit(at_exit, NULL);
    pthread_atfork(before_fork, forked, forked_child);
    if (rt.startup) rt_startup_arm();
}

RT_EXPORT void __tsan_init(void);
RT_EXPORT void __tsan_init(void) { initialise(); }

/* A turn can end here; nobody is waited for. */
__attribute__((noreturn)) static void exit_at_once(int status) {
    struct rt_thread *t = rt_self.busy ? NULL : rt_enter();
    if (t != NULL) rt_leave(t);
    rt_process_ends(status);
    for (;;) syscall(SYS_exit_group, status);
}
RT_EXPORT __attribute__((noreturn)) void _exit(int status) { exit_at_once(status); }
RT_EXPORT __attribute__((noreturn)) void _Exit(int status) { exit_at_once(status); }

/* ---- fork --------------------------------------------------------------------------------- */

/* A child of fork has the parent's shared memory mapped: it must not write there. It runs
 * unrecorded, or with a session of its own when all processes are to be recorded. */
static void in_child(struct rt_thread *t, int parent) {
    bool again = rt.options.children;
    rt.mode = HD_SCHED_OFF;
    rt_child_begins(t);
    rt.session = NULL;
    rt_locks_reset();
    rt_sched_forked();
    rt_signals_forked(t);
    uint32_t busy = t->busy, inside = t->inside;
    struct rt_pending *pending = t->pending;
    memset(t, 0, sizeof *t);
    rt_nothing_is_open(t);
    t->pending = pending;
    t->busy = busy;
    t->inside = inside;
    if (!again) return;
    for (uint32_t i = 0; i < rt.threads; i++) memset(&rt.slot[i], 0, sizeof rt.slot[i]);
    rt.threads = 0;
    rt.stamp = 0;
    memset(rt.shared_stamp, 0, sizeof rt.shared_stamp);
    memset(rt.shared_read, 0, sizeof rt.shared_read);
    rt_chunks_reset();
    rt_modules_forget();
    rt_links_forget();
    start(parent);
}

/* Also around calls that fork inside the C library, like daemon(). The program's own handlers
 * (pthread_atfork) are its code, recorded and scheduled like the rest: ours were registered first,
 * so the last thing before the fork and the first after it is that the runtime is entered and left.
 */
static void before_fork(void) {
    struct rt_thread *t = &rt_self;
    if (rt.mode == HD_SCHED_OFF || t->state == RT_NEW || t->state == RT_DEAD) return;
    /* A handler may have slept so long that the thread lost its turn. */
    if (t->state != RT_RUNNING || t->suspect) rt_sched_preempted(t);
    t->forking = true;
    t->busy++;
    t->inside++;
    rt_child_note(t);
}

static void forked(void) {
    struct rt_thread *t = &rt_self;
    if (!t->forking) return;
    t->forking = false;
    t->fork_number = 0;
    rt_leave(t);
}

static void after_fork(void) {
    struct hd_wire_session *session = rt.session;
    if (session == NULL || session->pid == getpid()) return;
    session->forked = 1; /* for the parent: processes may be left when that one has ended */
    in_child(&rt_self, session->pid);
}

static void forked_child(void) {
    bool forking = rt_self.forking;
    after_fork();
    rt_self.forking = forking;
    forked();
}

/* Before a call that forks. */
static void announce(uintptr_t pc) {
    struct rt_thread *t = rt_enter();
    if (t == NULL) return;
    rt_choice(t, pc);
    t->fork_pc = pc;
    rt_leave(t);
}

RT_EXPORT pid_t fork(void) {
    announce(RT_CALLER);
    return REAL(fork)();
}
RT_EXPORT int daemon(int keep_directory, int keep_files) {
    announce(RT_CALLER);
    return REAL(daemon)(keep_directory, keep_files);
}

pid_t _Fork(void); /* the C library's fork without handlers */
RT_EXPORT pid_t _Fork(void) {
    pid_t pid = REAL(_Fork)();
    int saved = errno;
    if (pid == 0) after_fork();
    errno = saved;
    return pid;
}

/* A vfork child would run hooks in its parent's memory. */
RT_EXPORT pid_t vfork(void) {
    announce(RT_CALLER);
    return REAL(fork)();
}

/* ---- unloaded libraries ------------------------------------------------------------------- */

RT_EXPORT int dlclose(void *handle) {
    int result = REAL(dlclose)(handle);
    struct rt_thread *t = rt_enter();
    if (t == NULL) return result;
    rt_modules_closed();
    rt_leave(t);
    return result;
}

/* ---- longjmp: the frames it jumps over are gone ------------------------------------------------
 */

static void jump(const struct __jmp_buf_tag *buffer) {
    if (rt.mode == HD_SCHED_OFF) return;
    /* glibc keeps the stack pointer at index 6, mangled with a per-process secret. */
    uintptr_t sp = (uintptr_t)buffer->__jmpbuf[6], secret;
    __asm__("ror $17, %0; mov %%fs:0x30, %1; xor %1, %0" : "+r"(sp), "=&r"(secret));
    rt_frames_unwind(&rt_self, sp);
}

void __longjmp_chk(struct __jmp_buf_tag *buffer, int value) __attribute__((noreturn));

RT_EXPORT void longjmp(jmp_buf buffer, int value) {
    jump(buffer);
    REAL(longjmp)(buffer, value);
    __builtin_unreachable();
}
RT_EXPORT void _longjmp(jmp_buf buffer, int value) {
    jump(buffer);
    REAL(longjmp)(buffer, value);
    __builtin_unreachable();
}
RT_EXPORT void siglongjmp(sigjmp_buf buffer, int value) {
    jump(buffer);
    REAL(siglongjmp)(buffer, value);
    __builtin_unreachable();
}
RT_EXPORT void __longjmp_chk(struct __jmp_buf_tag *buffer, int value) {
    jump(buffer);
    REAL(__longjmp_chk)(buffer, value);
    __builtin_unreachable();
}
