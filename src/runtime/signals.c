/* Signal handlers of the program: wrapped, so that what they do is recorded, never in the middle of
 * the runtime's own work, and with the turn. A signal that comes at a bad moment is kept
 * until the runtime is left. */
#define _GNU_SOURCE
#include "runtime/files.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* A signal that is kept is blocked in its thread until its handler has run, so that the kernel
 * queues what comes meanwhile, as it would during the handler itself. */
struct rt_pending {
    uint64_t mask; /* kept signals */
    uint64_t held; /* blocked by us, not by the program */
    siginfo_t info[65];
    ucontext_t context[65]; /* where they came: in the runtime's code */
};

volatile int rt_handlers_installed;

/* What the program asked for. A handler comes after the call that installed it: in the trace that
 * is an initialiser (ONCE_DONE) of the signal's entry here, which the handler finds done. */
static struct sigaction user[65];
static bool wrapped[65];
static struct rt_spin lock;

static bool synchronous(int number) {
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
           number == SIGTRAP || number == SIGABRT || number == SIGSYS;
}

static void call(int number, siginfo_t *info, void *context) {
    rt_spin_lock(&lock);
    struct sigaction action = user[number];
    if (action.sa_flags & SA_RESETHAND) user[number].sa_handler = SIG_DFL;
    rt_spin_unlock(&lock);
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) return;
    if (action.sa_flags & SA_SIGINFO)
        action.sa_sigaction(number, info, context);
    else
        action.sa_handler(number);
}

/* Runs a handler as part of the recorded thread. `kept`: the signal was. */
static void run(struct rt_thread *t, int number, siginfo_t *info, void *context, bool kept) {
    int saved = errno;
    bool outside = rt.mode == HD_SCHED_SERIAL && t->state == RT_OUTSIDE;
    uint32_t blocking = t->blocking;
    if (!kept) rt_tell_passed(t, context);
    rt_settle_for_handler(t);
    uint32_t told = t->told;
    const struct hd_hook *told_block = t->told_block;
    t->told = 0;
    t->blocking = 0;
    t->busy++;
    t->inside++;
    if (outside) rt_sched_acquire(t);
    rt_emit(t, HD_EV_HANDLER_ENTER, 0, (uint64_t)number, 0);
    rt_stamp(t);
    rt_emit(t, HD_EV_ONCE_PASS, 0, (uintptr_t)&user[number], 0);
    rt_signal_taken(t, number, info, 0);
    t->inside--;
    t->busy--;
    if (!(user[number].sa_flags & SA_RESTART)) t->handlers_run++;
    errno = saved;
    call(number, info, context);
    saved = errno;
    t->busy++;
    t->inside++;
    if (rt.mode == HD_SCHED_SERIAL && t->state == RT_OUTSIDE) rt_sched_acquire(t);
    rt_emit(t, HD_EV_HANDLER_LEAVE, 0, (uint64_t)number, 0);
    t->inside--;
    if (outside) {
        t->busy--;
        rt_sched_lend(t);
        t->busy++;
    }
    t->blocking = blocking;
    t->told = told;
    t->told_block = told_block;
    t->busy--;
    errno = saved;
}

#define FP_XSTATE 1ul /* of uc_flags: more of the processor's state follows the usual one */

/* Of what the kernel gives, which is less than the C library's type has; without the state of
 * registers that there is no room for. */
static void keep_context(ucontext_t *to, const ucontext_t *from) {
    to->uc_flags = from->uc_flags & ~FP_XSTATE;
    to->uc_link = from->uc_link;
    to->uc_stack = from->uc_stack;
    to->uc_mcontext = from->uc_mcontext;
    memcpy(&to->uc_sigmask, &from->uc_sigmask, sizeof(uint64_t));
    if (from->uc_mcontext.fpregs != NULL)
        memcpy(&to->__fpregs_mem, from->uc_mcontext.fpregs, sizeof to->__fpregs_mem);
    memset(to->__fpregs_mem.__glibc_reserved1, 0, sizeof to->__fpregs_mem.__glibc_reserved1);
    to->uc_mcontext.fpregs = &to->__fpregs_mem;
}

static void wrapper(int number, siginfo_t *info, void *context) {
    struct rt_thread *t = &rt_self;
    if (rt.mode == HD_SCHED_OFF || (t->state == RT_NEW && !t->busy) || t->state == RT_DEAD ||
        (t->busy && synchronous(number))) {
        call(number, info, context);
        return;
    }
    /* Without the turn, or around a call that may block, it is in no hook. */
    if (!t->busy &&
        (t->state == RT_OUTSIDE || t->blocking ||
         !rt_is_runtime_code((uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]))) {
        run(t, number, info, context, false);
        return;
    }
    if (!t->busy && synchronous(number)) {
        run(t, number, info, context, false);
        return;
    }
    if (t->pending == NULL) t->pending = rt_map(sizeof *t->pending);
    t->pending->info[number] = *info;
    keep_context(&t->pending->context[number], context);
    sigaddset(&((ucontext_t *)context)->uc_sigmask, number);
    __atomic_fetch_or(&t->pending->held, 1ull << (number - 1), __ATOMIC_SEQ_CST);
    __atomic_fetch_or(&t->pending->mask, 1ull << (number - 1), __ATOMIC_SEQ_CST);
    t->signals_pending = 1;
    /* A thread that waits in the scheduler must see it, though the kernel restarts its wait. */
    uint32_t waits = 0;
    __atomic_compare_exchange_n(&t->go, &waits, RT_GO_LOOK, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    /* In the few instructions of a hook that calls nothing nobody would look: make the next one
     * look. */
    if (!t->busy) rt_set_left(t, -1);
}

/* A fault: of the program's, or of the runtime itself. Without a handler of the program's it comes
 * again, and kills. */
static void fault(int number, siginfo_t *info, void *context) {
    rt_fault(number, info, context);
    rt_tell_passed(&rt_self, context);
    rt_settle(&rt_self);
    if (user[number].sa_handler != SIG_DFL) {
        wrapper(number, info, context);
        return;
    }
    if (rt.session != NULL && rt.session->pid == getpid()) rt.session->killed_by = (uint32_t)number;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    REAL(sigaction)(number, &action, NULL);
    if (info->si_code <= 0) syscall(SYS_tgkill, getpid(), rt_gettid(), number);
}

/* Lets a kept signal come again, with the thread's signals blocked as before. */
static void let_go(struct rt_pending *pending, int number, sigset_t *mask) {
    sigdelset(mask, number);
    __atomic_fetch_and(&pending->held, ~(1ull << (number - 1)), __ATOMIC_SEQ_CST);
    REAL(pthread_sigmask)(SIG_SETMASK, mask, NULL);
}

/* A kept signal whose handler is to run. */
struct kept {
    struct rt_thread *t; /* NULL: the trace does not know of it */
    int number;
    siginfo_t info;
    ucontext_t context;
    sigset_t mask; /* of the thread */
};

/* Takes the next one, and blocks what its handler is not to be interrupted by. */
static bool take_kept(struct rt_pending *pending, struct kept *kept) {
    if (pending == NULL || pending->mask == 0) return false;
    int number = kept->number = __builtin_ctzll(pending->mask) + 1;
    kept->info = pending->info[number];
    keep_context(&kept->context, &pending->context[number]);
    __atomic_fetch_and(&pending->mask, ~(1ull << (number - 1)), __ATOMIC_SEQ_CST);
    sigset_t during = user[number].sa_mask;
    sigdelset(&during, RT_SIGNAL);
    REAL(pthread_sigmask)(SIG_BLOCK, &during, &kept->mask);
    if (user[number].sa_flags & SA_NODEFER) let_go(pending, number, &kept->mask);
    return true;
}

static void run_one(struct kept *kept) {
    if (kept->t != NULL)
        run(kept->t, kept->number, &kept->info, &kept->context, true);
    else
        call(kept->number, &kept->info, &kept->context);
}

/* Signals that its handler blocked or let through for when it returns, by the mask in its context.
 */
static void take_mask(struct kept *kept, uint64_t before) {
    uint64_t after, mask;
    memcpy(&after, &kept->context.uc_sigmask, sizeof after);
    memcpy(&mask, &kept->mask, sizeof mask);
    mask = (mask & ~(before ^ after)) | (after & (before ^ after));
    memcpy(&kept->mask, &mask, sizeof mask);
}

/* On the stack on which the kernel would have run its handler. The frame pointer leads back. */
static RT_NOINLINE void run_on_its_stack(struct kept *kept) {
    stack_t its;
    if (!(user[kept->number].sa_flags & SA_ONSTACK) || syscall(SYS_sigaltstack, NULL, &its) != 0 ||
        its.ss_flags & (SS_DISABLE | SS_ONSTACK)) {
        run_one(kept);
        return;
    }
    uintptr_t top = ((uintptr_t)its.ss_sp + its.ss_size) & ~15ul;
    void *frame = __builtin_frame_address(0);
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %[top], %%rsp\n\t"
                     "call *%[run]\n\t"
                     "movq %%rbx, %%rsp"
                     : "+D"(kept), [top] "+r"(top), "+r"(frame)
                     : [run] "r"(run_one)
                     : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1",
                       "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
}

/* Handlers whose signals came at a bad moment. */
void rt_leave_signals(struct rt_thread *t) {
    int saved = errno;
    struct kept kept = {.t = t};
    t->signals_pending = 0;
    while (take_kept(t->pending, &kept)) {
        uint64_t before;
        memcpy(&before, &kept.context.uc_sigmask, sizeof before);
        errno = saved;
        run_on_its_stack(&kept);
        saved = errno;
        take_mask(&kept, before);
        let_go(t->pending, kept.number, &kept.mask);
    }
    errno = saved;
}

/* The thread has ended as far as the trace goes. */
void rt_signals_end(struct rt_thread *t) {
    struct kept kept = {.t = NULL};
    while (take_kept(t->pending, &kept)) {
        run_on_its_stack(&kept);
        let_go(t->pending, kept.number, &kept.mask);
    }
    if (t->pending != NULL) rt_unmap(t->pending, sizeof *t->pending);
    t->pending = NULL;
}

/* What the creator's thread, or the parent process, keeps is not kept here: neither is it blocked.
 */
void rt_signals_inherited(const struct rt_thread *from, void *mask) {
    if (from->pending == NULL) return;
    for (int number = 1; number <= 64; number++)
        if (from->pending->held >> (number - 1) & 1) sigdelset(mask, number);
}
void rt_signals_forked(struct rt_thread *t) {
    if (t->pending == NULL) return;
    sigset_t mask;
    REAL(pthread_sigmask)(SIG_SETMASK, NULL, &mask);
    rt_signals_inherited(t, &mask);
    REAL(pthread_sigmask)(SIG_SETMASK, &mask, NULL);
    t->pending->mask = t->pending->held = 0;
    t->signals_pending = 0;
}

void rt_signals_hold(void *mask) {
    sigset_t all;
    sigfillset(&all);
    REAL(pthread_sigmask)(SIG_SETMASK, &all, mask);
}
void rt_signals_let(const void *mask) { REAL(pthread_sigmask)(SIG_SETMASK, mask, NULL); }

/* The watchdog's request to a thread that computes in code without hooks. */
static void nudge(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    int saved = errno;
    struct rt_thread *t = &rt_self;
    uintptr_t pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    if (t->state == RT_RUNNING && !t->busy && !rt_is_runtime_code(pc)) {
        rt_tell_passed(t, context);
        rt_settle(t);
        rt_sched_lend(t);
    }
    errno = saved;
}

static void watch_faults(void) {
    struct sigaction action, now;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int number = 1; number <= 64; number++) {
        if (!rt_is_fault(number) || REAL(sigaction)(number, NULL, &now) != 0) continue;
        if (now.sa_handler != SIG_DFL) continue;
        wrapped[number] = true;
        REAL(sigaction)(number, &action, NULL);
    }
}

void rt_signals_start(void) {
    lock.word = 0;
    watch_faults();
    if (rt.mode != HD_SCHED_SERIAL) return;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = nudge;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    REAL(sigaction)(RT_SIGNAL, &action, NULL);
}

RT_PROGRAM static int set_action(int number, const struct sigaction *action,
                                 struct sigaction *old) {
    if (rt.mode == HD_SCHED_OFF || number < 1 || number > 64)
        return REAL(sigaction)(number, action, old);
    if (number == RT_SIGNAL && rt.mode == HD_SCHED_SERIAL) { /* ours: pretend */
        if (old != NULL) *old = user[number];
        if (action != NULL) user[number] = *action;
        return 0;
    }
    struct sigaction mine;
    bool wrap = false;
    if (action != NULL) {
        mine = *action;
        wrap = action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
        if (wrap && !synchronous(number)) rt_handlers_installed = 1;
        if (rt_is_fault(number) && action->sa_handler == SIG_DFL) {
            wrap = true;
            mine.sa_flags = SA_ONSTACK;
        }
        if (wrap) {
            mine.sa_sigaction = rt_is_fault(number) ? fault : wrapper;
            mine.sa_flags |= SA_SIGINFO;
        }
    }
    rt_spin_lock(&lock);
    struct sigaction before = user[number];
    bool was_wrapped = wrapped[number];
    if (action != NULL) {
        user[number] = *action;
        wrapped[number] = wrap;
    }
    rt_spin_unlock(&lock);
    struct sigaction kernel;
    int result = REAL(sigaction)(number, action != NULL ? &mine : NULL, &kernel);
    if (result != 0 && action != NULL) {
        rt_spin_lock(&lock);
        user[number] = before;
        wrapped[number] = was_wrapped;
        rt_spin_unlock(&lock);
    }
    if (result == 0 && old != NULL) *old = was_wrapped ? before : kernel;
    return result;
}

static int install(int number, const struct sigaction *action, struct sigaction *old,
                   uintptr_t pc) {
    struct rt_thread *t = action != NULL && number >= 1 && number <= 64 ? rt_enter() : NULL;
    if (t == NULL) return set_action(number, action, old);
    rt_emit_sync(t, HD_EV_ONCE_DONE, 0, (uintptr_t)&user[number], pc);
    int result = set_action(number, action, old);
    rt_leave(t);
    return result;
}

RT_EXPORT int sigaction(int number, const struct sigaction *restrict action,
                        struct sigaction *restrict old) {
    return install(number, action, old, RT_CALLER);
}

static sighandler_t set_handler(int number, sighandler_t handler, int flags, uintptr_t pc) {
    struct sigaction action, old;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    if (install(number, &action, &old, pc) != 0) return SIG_ERR;
    return old.sa_handler;
}

RT_EXPORT sighandler_t signal(int number, sighandler_t handler) {
    return set_handler(number, handler, SA_RESTART, RT_CALLER);
}
RT_EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler) {
    return set_handler(number, handler, SA_RESETHAND | SA_NODEFER, RT_CALLER);
}

/* The program sees and changes its own mask, without what is blocked by us. */
static void run_kept(void) {
    struct rt_thread *t = &rt_self;
    if (rt.mode != HD_SCHED_OFF && t->signals_pending && t->busy == 0) rt_leave_signals(t);
}

/* The watchdog's signal stays deliverable. */
RT_PROGRAM static const sigset_t *without_ours(int how, const sigset_t *set, sigset_t *copy) {
    if (set == NULL || how == SIG_UNBLOCK || rt.mode != HD_SCHED_SERIAL) return set;
    *copy = *set;
    sigdelset(copy, RT_SIGNAL);
    return copy;
}
RT_EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old) {
    sigset_t copy;
    run_kept();
    return REAL(pthread_sigmask)(how, without_ours(how, set, &copy), old);
}
RT_EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old) {
    sigset_t copy;
    run_kept();
    return REAL(sigprocmask)(how, without_ours(how, set, &copy), old);
}
