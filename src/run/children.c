/* Child processes that are not recorded: what they said about locks (wire.h,
 * struct hd_wire_child_lock). It may have been overwritten by the program under test. See live.h.
 */
#define _GNU_SOURCE
#include "run/live.h"

#include <signal.h>

static uint32_t entries(const struct hd_session *s) {
    uint32_t count = __atomic_load_n(&s->memory->child_locks, __ATOMIC_ACQUIRE);
    return count < HD_CHILD_LOCKS ? count : HD_CHILD_LOCKS;
}

/* One that a signal handler might help is looked at for a while. */
bool hd_session_child_is_stuck(struct hd_session *s, uint64_t now) {
    for (uint32_t i = 0; i < entries(s); i++) {
        const struct hd_wire_child_lock *entry = &s->memory->child_lock[i];
        uint32_t state = __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
        if (state == HD_CHILD_MAY_WAIT)
            s->child_stuck |= hd_standstill_ns(&s->child_still, entry->pid, now) > HD_STILL_NS;
        s->child_stuck |= state == HD_CHILD_WAITS;
        if (s->child_stuck) break;
    }
    return s->child_stuck;
}

void hd_session_end_children(struct hd_live *live, struct hd_session *s) {
    for (uint32_t i = 0; i < entries(s); i++) {
        const struct hd_wire_child_lock *entry = &s->memory->child_lock[i];
        pid_t pid = entry->pid;
        if (entry->state != HD_CHILD_WAITS && entry->state != HD_CHILD_MAY_WAIT) continue;
        if (pid > 1 && hd_has_channel(pid, live->registered.channel)) kill(pid, SIGKILL);
    }
}

static struct hd_wire_event word(unsigned kind, unsigned flags, uint64_t operand, uint32_t site) {
    return (struct hd_wire_event){hd_wire_head(kind, flags, operand), hd_wire_tail(site, 0, 0)};
}

/* As events of the first thread, which has returned from all its functions. */
bool hd_session_note_children(struct hd_live *live, struct hd_session *s) {
    for (uint32_t i = 0; i < entries(s); i++) {
        struct hd_wire_child_lock entry = s->memory->child_lock[i];
        if (entry.state == HD_CHILD_NONE || entry.state > HD_CHILD_MAY_WAIT) continue;
        bool waits = s->child_stuck && entry.state != HD_CHILD_TAKES;
        unsigned flags =
            (waits ? HD_NOTE_CHILD_WAITS : HD_NOTE_CHILD) | (entry.reads ? HD_NOTE_READS : 0);
        struct hd_wire_event event[] = {
            word(HD_EV_THREAD, 0, 0, 0), word(HD_EV_POP, 0, 0, 0),
            word(HD_EV_EXT, 0, entry.fork, 0),
            word(HD_EV_NOTE, flags, entry.lock & ((1ull << 48) - 1), entry.site)};
        size_t count = sizeof event / sizeof *event;
        live->result->recorded.data[s - live->session.data].wire_events += count;
        if (!hd_writer_events(s->writer, 0, event, count, live->error)) return false;
    }
    return true;
}
