/* Child processes. A fork leaves a note. A child keeps the beginning of its parent's session and
 * tells there which locks it takes: one that another thread held at the fork is held in the child
 * for ever, since the child does not have that thread. */
#define _GNU_SOURCE
#include "runtime/rt.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#define KEPT_BYTES ((offsetof(struct hd_wire_session, module) + 4095u) / 4096u * 4096u)

static uint32_t own_number; /* of the child that this process is */

void rt_child_note(struct rt_thread *t) {
    t->fork_number = atomic_fetch_add(&rt.forks, 1) + 1;
    uint32_t site = t->fork_pc != 0 ? rt_site(t, t->fork_pc) : 0;
    rt_stamp(t);
    rt_emit_extra(t, t->fork_number, site);
    rt_emit(t, HD_EV_NOTE, HD_NOTE_FORK, 0, site);
}

void rt_child_begins(const struct rt_thread *t) {
    own_number = t->fork_number;
    struct hd_wire_session *session = rt.session;
    size_t bytes = session->bytes;
    bool tells = own_number != 0 && bytes > KEPT_BYTES;
    size_t kept = tells ? KEPT_BYTES : 0;
    rt_unmap((char *)session + kept, bytes - kept);
    rt.parent_session = tells ? session : NULL;
}

static struct hd_wire_child_lock *entry_of(uintptr_t lock) {
    struct hd_wire_session *session = rt.parent_session;
    uint32_t count = __atomic_load_n(&session->child_locks, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count && i < HD_CHILD_LOCKS; i++) {
        struct hd_wire_child_lock *entry = &session->child_lock[i];
        if (entry->pid == getpid() && entry->lock == lock) return entry;
    }
    uint32_t at = count < HD_CHILD_LOCKS
                      ? __atomic_fetch_add(&session->child_locks, 1, __ATOMIC_ACQ_REL)
                      : HD_CHILD_LOCKS;
    if (at >= HD_CHILD_LOCKS) return NULL;
    struct hd_wire_child_lock *entry = &session->child_lock[at];
    entry->fork = own_number;
    entry->lock = lock;
    entry->pid = getpid();
    return entry;
}

void rt_child_has_threads(void) { rt.parent_session->child_threads = 1; }

void rt_child_renews(const volatile void *lock) { entry_of((uintptr_t)lock); }

struct hd_wire_child_lock *rt_child_takes(const volatile void *lock, bool reads, uintptr_t pc) {
    struct hd_wire_session *session = rt.parent_session;
    uint32_t before = session->child_locks;
    struct hd_wire_child_lock *entry = entry_of((uintptr_t)lock);
    if (entry == NULL || (entry->site == 0 && entry < session->child_lock + before)) return NULL;
    if (entry->site != 0) return entry;
    entry->site = rt_site_known(pc);
    entry->reads = reads;
    __atomic_store_n(&entry->state, HD_CHILD_TAKES, __ATOMIC_RELEASE);
    return entry;
}

void rt_child_taking(const volatile void *lock, bool reads, bool busy, uintptr_t pc) {
    struct hd_wire_child_lock *entry = rt_child_takes(lock, reads, pc);
    if (busy) rt_child_waits(entry, pc);
}

/* The runtime does not see handlers that a process installs which is not recorded. */
static bool has_handlers(void) {
    for (int number = 1; number < 65; number++) {
        struct sigaction now;
        if (number == RT_SIGNAL || number == SIGABRT || rt_is_fault(number)) continue;
        if (REAL(sigaction)(number, NULL, &now) == 0 && now.sa_handler != SIG_DFL &&
            now.sa_handler != SIG_IGN)
            return true;
    }
    return false;
}

void rt_child_waits(struct hd_wire_child_lock *entry, uintptr_t pc) {
    if (entry == NULL || !rt_is_alone()) return;
    entry->site = rt_site_known(pc);
    __atomic_store_n(&entry->state, has_handlers() ? HD_CHILD_MAY_WAIT : HD_CHILD_WAITS,
                     __ATOMIC_RELEASE);
}

void rt_child_goes_on(struct hd_wire_child_lock *entry) {
    if (entry != NULL) __atomic_store_n(&entry->state, HD_CHILD_TAKES, __ATOMIC_RELEASE);
}
