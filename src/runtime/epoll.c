/* Order through epoll: what an instance is told about a descriptor comes before its answers about
 * it, and what was written comes before the answer that there is something to read. Answers name no
 * descriptor but what the program gave along with it, so that is kept, for descriptors by which
 * order may come from another thread (files.h); for others, an answer comes after all that the
 * instance was told so far. */
#define _GNU_SOURCE
#include "runtime/files.h"

#include <errno.h>
#include <sys/epoll.h>

#define WATCHES 1024u
static struct watch {
    int set, fd; /* an instance, and what it watches */
    uint32_t teller;
    uint64_t data;
} watches[WATCHES];
static uint32_t count;
static struct rt_spin lock; /* guards these */

static void remove_at(uint32_t i) { watches[i] = watches[--count]; }

void rt_epoll_forget(int fd) {
    rt_spin_lock(&lock);
    for (uint32_t i = count; i-- > 0;)
        if (watches[i].fd == fd || watches[i].set == fd) remove_at(i);
    rt_spin_unlock(&lock);
}

static void watch(const struct rt_thread *t, int set, int fd, const uint64_t *data) {
    rt_spin_lock(&lock);
    for (uint32_t i = count; i-- > 0;)
        if (watches[i].set == set && watches[i].fd == fd) remove_at(i);
    if (data != NULL && count < WATCHES) {
        watches[count++] = (struct watch){set, fd, t->number, *data};
        rt_files[fd].watched = rt_files[set].watched = 1;
    }
    rt_spin_unlock(&lock);
}

RT_EXPORT int epoll_ctl(int set, int operation, int fd, struct epoll_event *event) {
    struct rt_thread *t = rt_touch_begin();
    if (t == NULL) return REAL(epoll_ctl)(set, operation, fd, event);
    rt_fd_used(t, set, RT_CALLER);
    rt_fd_used(t, fd, RT_CALLER);
    rt_file_sent_some(t, set, RT_CALLER);
    if (rt_is_file(set) && rt_is_file(fd)) {
        const struct rt_file *file = &rt_files[fd];
        bool ours = file->gets != 0 || file->mail_in != 0 || file->kind == RT_FILE_DATAGRAM;
        bool ends = operation == EPOLL_CTL_DEL || event == NULL || !ours;
        uint64_t data = ends ? 0 : event->data.u64;
        watch(t, set, fd, ends ? NULL : &data);
    }
    return REAL(epoll_ctl)(set, operation, fd, event);
}

/* What is watched with that, from the first of `*at` on; -1: no more. */
static int watched(int set, uint64_t data, uint32_t *at, uint32_t *teller) {
    int fd = -1;
    rt_spin_lock(&lock);
    for (; *at < count && fd < 0; ++*at) {
        if (watches[*at].set != set || watches[*at].data != data) continue;
        fd = watches[*at].fd;
        *teller = watches[*at].teller;
    }
    rt_spin_unlock(&lock);
    return fd;
}

RT_PROGRAM void rt_epoll_answered(struct rt_thread *t, int set, const struct epoll_event *event,
                                  int events, uintptr_t pc) {
    if (!rt_is_file(set)) return;
    bool unknown = false;
    for (int i = 0; i < events; i++) {
        uint32_t at = 0, teller;
        int fd = watched(set, event[i].data.u64, &at, &teller);
        unknown |= fd < 0;
        for (; fd >= 0; fd = watched(set, event[i].data.u64, &at, &teller)) {
            rt_mail_got_from(t, rt_files[set].mail_in, teller, pc);
            if (event[i].events & (EPOLLIN | EPOLLPRI | EPOLLHUP | EPOLLRDHUP | EPOLLERR))
                rt_file_ready(t, fd, pc);
        }
    }
    if (unknown) rt_file_got_some(t, set, pc);
}

void rt_epoll_unlock(void) { lock.word = 0; }
