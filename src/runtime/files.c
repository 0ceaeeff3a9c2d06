/* See files.h. A channel is what is written at one end and read at the other, first in, first out.
 * Each write is an initialiser (ONCE) of its own, which the calls that get some of its bytes find
 * done. So two writers are not ordered, nor is a reader after a write that it got nothing of. */
#define _GNU_SOURCE
#include "runtime/files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define FILES 4096u
#define CHANNELS 1024u
#define WRITES_KEPT 64u /* that nobody has got yet; beyond that the oldest are one */

enum channel_type { BYTES, MESSAGES, COUNTER };

struct channel {
    enum channel_type type;
    uint32_t users;        /* descriptors that lead here */
    uint32_t first, count; /* of the writes that are kept */
    uint64_t left[WRITES_KEPT];
    bool closed; /* a writing end was: readers get its end */
};
static struct channel channels[CHANNELS + 1]; /* 0: none */
static uint16_t sends[FILES], gets[FILES];    /* by descriptor */
static struct rt_spin lock;                   /* guards all of these */

/* What the events are about: nothing is kept there. */
static char order_of_writes[CHANNELS + 1][WRITES_KEPT + 1], order_of_epoll[FILES];
#define END_OF_FILE WRITES_KEPT

static bool is_known(int fd) { return fd >= 0 && fd < (int)FILES; }

static uint16_t new_channel(enum channel_type type) {
    for (uint16_t i = 1; i <= CHANNELS; i++) {
        if (channels[i].users != 0) continue;
        channels[i] = (struct channel){.type = type};
        return i;
    }
    return 0;
}

static void lead(int fd, uint16_t send, uint16_t get) {
    if (!is_known(fd)) return;
    sends[fd] = send;
    gets[fd] = get;
    channels[send].users++;
    channels[get].users++;
}

static void forget(int fd) {
    if (!is_known(fd)) return;
    if (sends[fd] != 0) channels[sends[fd]].users--;
    if (gets[fd] != 0) channels[gets[fd]].users--;
    sends[fd] = gets[fd] = 0;
}

static void emit(struct rt_thread *t, unsigned kind, uint16_t channel, uint32_t at, uintptr_t pc) {
    rt_emit_sync(t, kind, 0, (uintptr_t)&order_of_writes[channel][at], pc);
}

/* ---- writes and reads ------------------------------------------------------------------------ */

static uint32_t sent(struct rt_thread *t, uint16_t number, size_t bytes, uintptr_t pc) {
    struct channel *c = &channels[number];
    if (c->count == WRITES_KEPT) { /* the newest takes the one before it along */
        uint32_t last = (c->first + c->count - 1) % WRITES_KEPT;
        emit(t, HD_EV_ONCE_PASS, number, last, pc);
        emit(t, HD_EV_ONCE_DONE, number, last, pc);
        c->left[last] += bytes;
        return last + 1;
    }
    uint32_t at = (c->first + c->count++) % WRITES_KEPT;
    c->left[at] = bytes;
    emit(t, HD_EV_ONCE_DONE, number, at, pc);
    return at + 1;
}

static void drop_empty(struct channel *c) {
    while (c->count > 0 && c->left[c->first] == 0) {
        c->first = (c->first + 1) % WRITES_KEPT;
        c->count--;
    }
}

static void got(struct rt_thread *t, uint16_t number, size_t bytes, bool away, uintptr_t pc) {
    struct channel *c = &channels[number];
    if (bytes == 0 && c->closed) emit(t, HD_EV_ONCE_PASS, number, END_OF_FILE, pc);
    if (bytes == 0) return;
    /* Who was away may have got what another was thought to: it comes after all that is left. */
    bool all = away || c->type == COUNTER;
    for (uint32_t i = 0; all && i < c->count; i++)
        emit(t, HD_EV_ONCE_PASS, number, (c->first + i) % WRITES_KEPT, pc);
    if (c->type == COUNTER) c->count = 0;
    while (bytes > 0 && c->count > 0) {
        uint64_t *left = &c->left[c->first];
        if (!all) emit(t, HD_EV_ONCE_PASS, number, c->first, pc);
        uint64_t taken = c->type == MESSAGES || *left < bytes ? *left : bytes;
        *left -= taken;
        bytes = c->type == MESSAGES ? 0 : bytes - (size_t)taken;
        drop_empty(c);
    }
}

uint32_t rt_file_sent(struct rt_thread *t, int fd, size_t bytes, uintptr_t pc) {
    if (!is_known(fd) || sends[fd] == 0 || bytes == 0) return 0;
    int saved = errno;
    rt_touch_resume(t);
    rt_spin_lock(&lock);
    uint32_t at = sends[fd] != 0 ? sent(t, sends[fd], bytes, pc) : 0;
    rt_spin_unlock(&lock);
    rt_leave(t);
    errno = saved;
    return at;
}

void rt_file_settled(int fd, uint32_t sent, size_t bytes) {
    if (sent == 0 || !is_known(fd)) return;
    rt_spin_lock(&lock);
    struct channel *c = &channels[sends[fd]];
    uint64_t *left = &c->left[sent - 1], too_many = RT_FILE_UNKNOWN - bytes;
    if (sends[fd] != 0 && bytes <= RT_FILE_UNKNOWN) *left = *left > too_many ? *left - too_many : 0;
    if (sends[fd] != 0) drop_empty(c);
    rt_spin_unlock(&lock);
}

void rt_file_got(struct rt_thread *t, int fd, ssize_t bytes, bool away, uintptr_t pc) {
    if (!is_known(fd) || gets[fd] == 0 || bytes < 0) return;
    int saved = errno;
    rt_touch_resume(t);
    rt_spin_lock(&lock);
    if (gets[fd] != 0) got(t, gets[fd], (size_t)bytes, away || rt.mode == HD_SCHED_FREE, pc);
    rt_spin_unlock(&lock);
    rt_leave(t);
    errno = saved;
}

/* ---- epoll: what is told to it comes before its answers ---------------------------------------
 */

static void epoll_event(struct rt_thread *t, int fd, bool tells, uintptr_t pc) {
    if (!is_known(fd)) return;
    int saved = errno;
    rt_touch_resume(t);
    rt_emit_sync(t, HD_EV_ONCE_PASS, 0, (uintptr_t)&order_of_epoll[fd], pc);
    if (tells) rt_emit_sync(t, HD_EV_ONCE_DONE, 0, (uintptr_t)&order_of_epoll[fd], pc);
    rt_leave(t);
    errno = saved;
}
void rt_epoll_told(struct rt_thread *t, int fd, uintptr_t pc) { epoll_event(t, fd, true, pc); }
void rt_epoll_answered(struct rt_thread *t, int fd, uintptr_t pc) { epoll_event(t, fd, false, pc); }

RT_EXPORT int epoll_ctl(int set, int operation, int fd, struct epoll_event *event) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) rt_epoll_told(t, set, RT_CALLER);
    return REAL(epoll_ctl)(set, operation, fd, event);
}

/* ---- descriptors ------------------------------------------------------------------------------
 */

void rt_file_copied(int from, int to) {
    if (rt.mode == HD_SCHED_OFF || !is_known(from) || !is_known(to) || from == to) return;
    rt_spin_lock(&lock);
    forget(to);
    if (sends[from] != 0 || gets[from] != 0) lead(to, sends[from], gets[from]);
    rt_spin_unlock(&lock);
}

static void lead_pair(const int fd[2], enum channel_type type, bool both_ways) {
    rt_spin_lock(&lock);
    forget(fd[0]);
    forget(fd[1]);
    uint16_t there = new_channel(type);
    channels[there].users++; /* taken, while the other one is looked for */
    uint16_t back = both_ways ? new_channel(type) : 0;
    channels[there].users--;
    lead(fd[0], back, there);
    lead(fd[1], there, back);
    rt_spin_unlock(&lock);
}

/* A pair of descriptors was made, and written where the program wants them. */
#define MADE(call, type, both_ways)              \
    struct rt_thread *t = rt_touch_begin();      \
    int result = REAL call;                      \
    if (result != 0 || t == NULL) return result; \
    WRITES(fd, 2 * sizeof *fd);                  \
    lead_pair(fd, type, both_ways);              \
    return result

RT_EXPORT int pipe(int fd[2]) { MADE((pipe)(fd), BYTES, false); }
RT_EXPORT int pipe2(int fd[2], int flags) {
    MADE((pipe2)(fd, flags), flags & O_DIRECT ? MESSAGES : BYTES, false);
}
RT_EXPORT int socketpair(int domain, int kind, int protocol, int fd[2]) {
    MADE((socketpair)(domain, kind, protocol, fd), (kind & 0xf) == SOCK_STREAM ? BYTES : MESSAGES,
         true);
}
RT_EXPORT int eventfd(unsigned value, int flags) {
    int fd = REAL(eventfd)(value, flags);
    if (!is_known(fd) || rt.mode == HD_SCHED_OFF) return fd;
    rt_spin_lock(&lock);
    forget(fd);
    uint16_t channel = new_channel(COUNTER);
    lead(fd, channel, channel);
    rt_spin_unlock(&lock);
    return fd;
}

RT_EXPORT int dup(int fd) {
    int copy = REAL(dup)(fd);
    rt_file_copied(fd, copy);
    return copy;
}
RT_EXPORT int dup2(int fd, int to) {
    int copy = REAL(dup2)(fd, to);
    rt_file_copied(fd, copy);
    return copy;
}
RT_EXPORT int dup3(int fd, int to, int flags) {
    int copy = REAL(dup3)(fd, to, flags);
    rt_file_copied(fd, copy);
    return copy;
}

/* Who closes a writing end comes before who reads the end of the file. */
static void ends(struct rt_thread *t, int fd, uintptr_t pc) {
    uint16_t number = sends[fd];
    if (number == 0 || channels[number].type == COUNTER) return;
    rt_touch_resume(t);
    rt_spin_lock(&lock);
    if (channels[number].closed) emit(t, HD_EV_ONCE_PASS, number, END_OF_FILE, pc);
    channels[number].closed = true;
    emit(t, HD_EV_ONCE_DONE, number, END_OF_FILE, pc);
    rt_spin_unlock(&lock);
    rt_leave(t);
}

RT_EXPORT int close(int fd) {
    if (is_known(fd) && (sends[fd] != 0 || gets[fd] != 0)) {
        int saved = errno;
        struct rt_thread *t = rt_touch_begin();
        if (t != NULL) ends(t, fd, RT_CALLER);
        rt_spin_lock(&lock);
        forget(fd);
        rt_spin_unlock(&lock);
        errno = saved;
    }
    return REAL(close)(fd);
}
RT_EXPORT int shutdown(int fd, int how) {
    if (is_known(fd) && sends[fd] != 0 && how != SHUT_RD) {
        int saved = errno;
        struct rt_thread *t = rt_touch_begin();
        if (t != NULL) ends(t, fd, RT_CALLER);
        errno = saved;
    }
    return REAL(shutdown)(fd, how);
}

void rt_files_unlock(void) { lock.word = 0; }
