/* See files.h. A channel is what is written at one end and read at the other, first in, first out.
 * Each write is an initialiser (ONCE) of its own, which the calls that get some of its bytes find
 * done. So two writers are not ordered, nor is a reader after a write that it got nothing of.
 *
 * What nobody can count (datagrams, which may be lost; streams of the C library, which keep what
 * they read) goes by mail: who gets something comes after all that was sent so far. */
#define _GNU_SOURCE
#include "runtime/files.h"
#include "runtime/mail.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CHANNELS 8192u
#define WRITES_KEPT 64u /* that nobody has got yet; beyond that the oldest are one */
#define MAILS 8191u

struct channel {
    enum rt_channel_type type;
    bool uncounted;            /* by mail, since a stream is at one of its ends */
    bool mixed;                /* calls overtook each other: whose bytes are first can't be told */
    uint32_t readers, writers; /* calls that are under way */
    uint32_t users;            /* descriptors that lead here */
    uint32_t first, count;     /* of the writes that are kept */
    struct rt_mail mail;
    struct rt_mail end; /* from who closed a writing end to who reads the end */
    uint64_t left[WRITES_KEPT];
};
static struct channel channels[CHANNELS + 1]; /* 0: none */
static struct rt_mail mails[MAILS + 1];
static uint16_t newest;     /* channel */
static struct rt_spin lock; /* guards all of these, and the table of descriptors */

/* What the events of writes are about: nothing is kept there. */
static char order_of_writes[CHANNELS + 1][WRITES_KEPT];

static void emit(struct rt_thread *t, unsigned kind, uint16_t channel, uint32_t at, uintptr_t pc) {
    rt_emit_sync(t, kind, 0, (uintptr_t)&order_of_writes[channel][at], pc);
}

/* Around what is done inside the runtime, under the lock. */
static int enter(struct rt_thread *t) {
    int saved = errno;
    rt_touch_resume(t);
    rt_spin_lock(&lock);
    return saved;
}
static void leave(struct rt_thread *t, int saved) {
    rt_spin_unlock(&lock);
    rt_leave(t);
    errno = saved;
}

/* ---- channels ----------------------------------------------------------------------------------
 */

uint16_t rt_channel_new(enum rt_channel_type type) {
    rt_spin_lock(&lock);
    uint16_t found = 0;
    for (uint32_t i = 0; i < CHANNELS && found == 0; i++) {
        newest = (uint16_t)(newest % CHANNELS + 1);
        if (channels[newest].users == 0) found = newest;
    }
    if (found != 0) {
        struct channel *c = &channels[found];
        c->type = type;
        c->uncounted = c->mixed = false;
        c->readers = c->writers = 0;
        c->first = c->count = 0;
        c->mail = c->end = (struct rt_mail){{0}};
        c->users = 1; /* taken; whoever leads there has it */
    }
    rt_spin_unlock(&lock);
    return found;
}

static void forget(struct rt_file *file) {
    if (file->sends != 0) channels[file->sends].users--;
    if (file->gets != 0) channels[file->gets].users--;
    file->sends = file->gets = file->mail_in = file->mail_out = 0;
    file->kind = RT_FILE_PLAIN;
}

void rt_file_forget(int fd) {
    if (!rt_is_file(fd)) return;
    if (rt_files[fd].watched) rt_epoll_forget(fd);
    rt_files[fd].watched = 0;
    rt_spin_lock(&lock);
    forget(&rt_files[fd]);
    rt_spin_unlock(&lock);
}

/* The first descriptor at a channel has it from rt_channel_new. */
void rt_channel_lead(int fd, uint16_t send, uint16_t get) {
    if (!rt_is_file(fd)) return;
    rt_spin_lock(&lock);
    struct rt_file *file = &rt_files[fd];
    if (file->sends != 0) channels[file->sends].users--;
    if (file->gets != 0) channels[file->gets].users--;
    file->sends = send;
    file->gets = get;
    if (send != 0) channels[send].users++;
    if (get != 0) channels[get].users++;
    rt_spin_unlock(&lock);
}

void rt_channel_release(uint16_t channel) {
    rt_spin_lock(&lock);
    if (channel != 0) channels[channel].users--;
    rt_spin_unlock(&lock);
}

void rt_file_copied(int from, int to) {
    if (rt.mode == HD_SCHED_OFF || !rt_is_file(from) || !rt_is_file(to) || from == to) return;
    rt_spin_lock(&lock);
    struct rt_file *file = &rt_files[to];
    const struct rt_file *like = &rt_files[from];
    forget(file);
    file->kind = like->kind;
    file->mail_in = like->mail_in;
    file->mail_out = like->mail_out;
    file->sends = like->sends;
    file->gets = like->gets;
    if (file->sends != 0) channels[file->sends].users++;
    if (file->gets != 0) channels[file->gets].users++;
    rt_spin_unlock(&lock);
}

/* ---- mail --------------------------------------------------------------------------------------
 */

uint16_t rt_mail_number(enum rt_mail_kind kind, uint64_t what) {
    uint64_t hash = (what + 1) * 0x9e3779b97f4a7c15ull + (uint64_t)kind * 0xc2b2ae3d27d4eb4full;
    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9ull;
    return (uint16_t)((hash >> 32) % MAILS + 1);
}

void rt_mail_sent(struct rt_thread *t, uint16_t mail, uintptr_t pc) {
    if (mail == 0) return;
    int saved = enter(t);
    rt_mail_send(t, &mails[mail], pc);
    leave(t, saved);
}
void rt_mail_got(struct rt_thread *t, uint16_t mail, uintptr_t pc) {
    if (mail == 0) return;
    int saved = enter(t);
    rt_mail_get(t, &mails[mail], pc);
    leave(t, saved);
}
void rt_mail_take(struct rt_thread *t, uint16_t mail, uintptr_t pc) {
    rt_spin_lock(&lock);
    rt_mail_get(t, &mails[mail], pc);
    rt_spin_unlock(&lock);
}
void rt_mail_got_from(struct rt_thread *t, uint16_t mail, uint32_t sender, uintptr_t pc) {
    if (mail == 0) return;
    int saved = enter(t);
    uint16_t *slot = &mails[mail].sender[sender % RT_MAIL_SLOTS];
    if (*slot != 0) rt_emit_sync(t, HD_EV_ONCE_PASS, 0, (uintptr_t)slot, pc);
    leave(t, saved);
}

/* ---- writes and reads --------------------------------------------------------------------------
 */

static uint32_t sent(struct rt_thread *t, uint16_t number, size_t bytes, uintptr_t pc) {
    struct channel *c = &channels[number];
    if (c->uncounted) {
        rt_mail_send(t, &c->mail, pc);
        return 0;
    }
    if (c->writers > 0) c->mixed = true;
    if (bytes == RT_BYTES_UNKNOWN) c->writers++;
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
    if (c->count == 0 && c->readers == 0 && c->writers == 0) c->mixed = false;
}

/* Everything that is there, by whoever. */
static void got_all(struct rt_thread *t, uint16_t number, uintptr_t pc) {
    struct channel *c = &channels[number];
    for (uint32_t i = 0; i < c->count; i++)
        emit(t, HD_EV_ONCE_PASS, number, (c->first + i) % WRITES_KEPT, pc);
    rt_mail_get(t, &c->mail, pc);
}

static void take(struct rt_thread *t, uint16_t number, size_t bytes, bool pass, uintptr_t pc) {
    struct channel *c = &channels[number];
    if (c->type == RT_CHANNEL_COUNTER) c->count = 0;
    while (bytes > 0 && c->count > 0) {
        uint64_t *left = &c->left[c->first];
        if (pass) emit(t, HD_EV_ONCE_PASS, number, c->first, pc);
        uint64_t taken = c->type == RT_CHANNEL_MESSAGES || *left < bytes ? *left : bytes;
        *left -= taken;
        bytes = c->type == RT_CHANNEL_MESSAGES ? 0 : bytes - (size_t)taken;
        drop_empty(c);
    }
}

static void got(struct rt_thread *t, uint16_t number, size_t bytes, unsigned how, uintptr_t pc) {
    struct channel *c = &channels[number];
    if (bytes == 0) rt_mail_get(t, &c->end, pc);
    if (c->uncounted) rt_mail_get(t, &c->mail, pc);
    if (bytes == 0 || c->uncounted) return;
    if (c->type == RT_CHANNEL_UNITS) bytes = 1;
    /* It may have got what another was thought to: it comes after all that is left. */
    bool all =
        (how & (RT_GOT_AWAY | RT_GOT_PEEK)) != 0 || c->mixed || c->type == RT_CHANNEL_COUNTER;
    if (all) got_all(t, number, pc);
    if ((how & RT_GOT_PEEK) == 0) take(t, number, bytes, !all, pc);
}

static bool sends(const struct rt_file *file) { return file->sends != 0 || file->mail_out != 0; }
static bool gets(const struct rt_file *file) { return file->gets != 0 || file->mail_in != 0; }

uint32_t rt_file_sent(struct rt_thread *t, int fd, size_t bytes, uintptr_t pc) {
    if (!rt_is_file(fd) || bytes == 0 || !sends(&rt_files[fd])) return 0;
    int saved = enter(t);
    const struct rt_file *file = &rt_files[fd];
    uint32_t at = 0;
    if (file->sends != 0)
        at = sent(t, file->sends, bytes, pc);
    else if (file->mail_out != 0)
        rt_mail_send(t, &mails[file->mail_out], pc);
    leave(t, saved);
    return at;
}

void rt_file_settled(int fd, uint32_t sent, size_t bytes) {
    if (sent == 0 || !rt_is_file(fd)) return;
    rt_spin_lock(&lock);
    struct channel *c = &channels[rt_files[fd].sends];
    uint64_t *left = &c->left[sent - 1], too_many = RT_BYTES_UNKNOWN - bytes;
    if (rt_files[fd].sends != 0 && bytes <= RT_BYTES_UNKNOWN) {
        if (c->writers > 0) c->writers--;
        *left = *left > too_many ? *left - too_many : 0;
        drop_empty(c);
    }
    rt_spin_unlock(&lock);
}

void rt_file_gets(struct rt_thread *t, int fd) {
    if (!rt_is_file(fd) || rt_files[fd].gets == 0 || t->reading != 0) return;
    rt_spin_lock(&lock);
    struct channel *c = &channels[t->reading = rt_files[fd].gets];
    if (c->readers++ > 0) c->mixed = true;
    rt_spin_unlock(&lock);
}
static void reading_ends(struct rt_thread *t) {
    if (t->reading == 0) return;
    rt_spin_lock(&lock);
    struct channel *c = &channels[t->reading];
    if (c->readers > 0) c->readers--;
    t->reading = 0;
    rt_spin_unlock(&lock);
}

void rt_file_got(struct rt_thread *t, int fd, ssize_t bytes, unsigned how, uintptr_t pc) {
    reading_ends(t);
    if (!rt_is_file(fd) || bytes < 0) return;
    if (unlikely(rt_files[fd].kind == RT_FILE_DATAGRAM)) rt_socket_receives(fd);
    if (!gets(&rt_files[fd])) return;
    if (rt.mode == HD_SCHED_FREE) how |= RT_GOT_AWAY;
    int saved = enter(t);
    const struct rt_file *file = &rt_files[fd];
    if (file->gets != 0)
        got(t, file->gets, (size_t)bytes, how, pc);
    else if (file->mail_in != 0)
        rt_mail_get(t, &mails[file->mail_in], pc);
    leave(t, saved);
}

void rt_file_ready(struct rt_thread *t, int fd, uintptr_t pc) {
    if (!rt_is_file(fd)) return;
    if (unlikely(rt_files[fd].kind == RT_FILE_DATAGRAM)) rt_socket_receives(fd);
    if (!gets(&rt_files[fd])) return;
    int saved = enter(t);
    const struct rt_file *file = &rt_files[fd];
    struct channel *c = &channels[file->gets];
    if (file->gets == 0)
        rt_mail_get(t, &mails[file->mail_in], pc);
    else if (c->uncounted)
        rt_mail_get(t, &c->mail, pc);
    else if (c->count > 0)
        emit(t, HD_EV_ONCE_PASS, file->gets, c->first, pc);
    if (file->gets != 0 && c->count == 0) rt_mail_get(t, &c->end, pc);
    leave(t, saved);
}

/* ---- what is not counted -----------------------------------------------------------------------
 */

/* What was written and not got so far is for whoever is the next to get something. */
static void stop_counting(struct rt_thread *t, uint16_t number, uintptr_t pc) {
    struct channel *c = &channels[number];
    if (c->uncounted) return;
    c->uncounted = true;
    if (c->count == 0) return;
    got_all(t, number, pc);
    c->count = 0;
    rt_mail_send(t, &c->mail, pc);
}

void rt_file_sent_some(struct rt_thread *t, int fd, uintptr_t pc) {
    if (!rt_is_file(fd) || !sends(&rt_files[fd])) return;
    int saved = enter(t);
    const struct rt_file *file = &rt_files[fd];
    if (file->sends != 0) stop_counting(t, file->sends, pc);
    if (file->sends != 0)
        rt_mail_send(t, &channels[file->sends].mail, pc);
    else
        rt_mail_send(t, &mails[file->mail_out], pc);
    leave(t, saved);
}

void rt_file_got_some(struct rt_thread *t, int fd, uintptr_t pc) {
    if (!rt_is_file(fd) || !gets(&rt_files[fd])) return;
    int saved = enter(t);
    const struct rt_file *file = &rt_files[fd];
    if (file->gets != 0) {
        stop_counting(t, file->gets, pc);
        rt_mail_get(t, &channels[file->gets].mail, pc);
        rt_mail_get(t, &channels[file->gets].end, pc);
    } else {
        rt_mail_get(t, &mails[file->mail_in], pc);
    }
    leave(t, saved);
}

/* ---- the end -----------------------------------------------------------------------------------
 */

/* Who closes a writing end comes before who reads the end of the file. A counter has none. */
static void ends(struct rt_thread *t, uint16_t number, uintptr_t pc) {
    struct channel *c = &channels[number];
    if (c->type == RT_CHANNEL_COUNTER || c->type == RT_CHANNEL_UNITS) return;
    rt_mail_send(t, &c->end, pc);
}

void rt_file_ends(struct rt_thread *t, int fd, bool in, bool out, uintptr_t pc) {
    if (!rt_is_file(fd)) return;
    const struct rt_file *file = &rt_files[fd];
    if (!(out && sends(file)) && !(in && gets(file))) return;
    int saved = enter(t);
    if (out && file->sends != 0) ends(t, file->sends, pc);
    if (in && file->gets != 0) ends(t, file->gets, pc);
    if (out && file->sends == 0 && file->mail_out != 0) rt_mail_send(t, &mails[file->mail_out], pc);
    if (in && file->gets == 0 && file->mail_in != 0) rt_mail_send(t, &mails[file->mail_in], pc);
    leave(t, saved);
}

/* ---- pipes, socket pairs and event counters ----------------------------------------------------
 */

static void lead_pair(const int fd[2], enum rt_channel_type type, bool both_ways) {
    uint16_t there = rt_channel_new(type);
    uint16_t back = both_ways ? rt_channel_new(type) : 0;
    rt_channel_lead(fd[0], back, there);
    rt_channel_lead(fd[1], there, back);
    rt_channel_release(there);
    rt_channel_release(back);
}

/* A pair of descriptors was made, and written where the program wants them. */
#define MADE(call, block, type, both_ways)       \
    struct rt_thread *t = rt_touch_begin();      \
    int result = REAL call;                      \
    if (result != 0 || t == NULL) return result; \
    rt_fd_made(t, fd[0], block, RT_CALLER);      \
    rt_fd_made(t, fd[1], block, RT_CALLER);      \
    WRITES(fd, 2 * sizeof *fd);                  \
    lead_pair(fd, type, both_ways);              \
    return result

RT_EXPORT int pipe(int fd[2]) { MADE((pipe)(fd), HD_BLOCK_PIPE, RT_CHANNEL_BYTES, false); }
RT_EXPORT int pipe2(int fd[2], int flags) {
    MADE((pipe2)(fd, flags), HD_BLOCK_PIPE,
         flags & O_DIRECT ? RT_CHANNEL_MESSAGES : RT_CHANNEL_BYTES, false);
}
RT_EXPORT int socketpair(int domain, int kind, int protocol, int fd[2]) {
    MADE((socketpair)(domain, kind, protocol, fd), HD_BLOCK_SOCKET,
         (kind & 0xf) == SOCK_STREAM ? RT_CHANNEL_BYTES : RT_CHANNEL_MESSAGES, true);
}
RT_EXPORT int eventfd(unsigned value, int flags) {
    struct rt_thread *t = rt_touch_begin();
    int fd = REAL(eventfd)(value, flags);
    if (!rt_is_file(fd) || t == NULL) return fd;
    rt_fd_made(t, fd, HD_BLOCK_COUNTER, RT_CALLER);
    uint16_t channel =
        rt_channel_new(flags & EFD_SEMAPHORE ? RT_CHANNEL_UNITS : RT_CHANNEL_COUNTER);
    rt_channel_lead(fd, channel, channel);
    rt_channel_release(channel);
    if (value > 0) rt_file_sent(t, fd, value, RT_CALLER);
    return fd;
}

RT_PROGRAM size_t rt_file_units(int fd, const void *from, size_t bytes) {
    if (bytes != sizeof(uint64_t) || !rt_is_file(fd)) return bytes;
    uint16_t number = rt_files[fd].sends;
    if (number == 0 || channels[number].type != RT_CHANNEL_UNITS) return bytes;
    uint64_t units = *(const uint64_t *)from;
    return units < RT_BYTES_UNKNOWN ? (size_t)units : RT_BYTES_UNKNOWN;
}

RT_EXPORT int shutdown(int fd, int how) {
    struct rt_thread *t = rt_touch_begin();
    if (t != NULL) {
        rt_fd_used(t, fd, RT_CALLER);
        rt_file_ends(t, fd, how != SHUT_WR, how != SHUT_RD, RT_CALLER);
    }
    return REAL(shutdown)(fd, how);
}

void rt_files_unlock(void) { lock.word = 0; }
