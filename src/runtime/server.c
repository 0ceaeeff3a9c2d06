/* A program that waits before main, and forks itself for every run that is asked for (wire.h says
 * how): a run costs neither exec nor dynamic linking then. This is the first thing that the runtime
 * does. Nothing is mapped, allocated or left open here, so that a run finds the process exactly as
 * a plain start leaves it. */
#define _GNU_SOURCE
#include "runtime/startup.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of the thread, as the C library has told the kernel; a forked child has them anew. */
struct own {
    int *tid; /* where the C library keeps its number */
    void *robust;
    size_t robust_bytes;
    int parent;
};

/* What the process is to wait for: `server` is 0 if for nothing. */
static void read_wanted(const char *path, struct hd_wire_channel *wanted) {
    wanted->server = 0;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (syscall(SYS_pread64, fd, wanted, sizeof *wanted, 0L) != (long)sizeof *wanted ||
        wanted->magic != HD_WIRE_MAGIC || wanted->version != HD_WIRE_VERSION)
        wanted->server = 0;
    syscall(SYS_close, fd);
}

bool rt_has_one_task(void) {
    struct stat threads;
    return stat("/proc/self/task", &threads) == 0 && threads.st_nlink == 3;
}

/* Can a copy of this process be made that can't be told from it? */
static bool can_serve(struct own *own) {
    if (!rt_has_one_task() || getppid() != own->parent) return false;
    if (syscall(SYS_prctl, PR_GET_TID_ADDRESS, &own->tid, 0L, 0L, 0L) != 0 || own->tid == NULL ||
        *own->tid != rt_gettid())
        return false;
    return syscall(SYS_get_robust_list, 0, &own->robust, &own->robust_bytes) == 0;
}

static bool reply(int server, enum hd_reply_state state, int pid, uint64_t number) {
    struct hd_wire_reply answer = {state, pid, number};
    return syscall(SYS_sendto, server, &answer, sizeof answer, MSG_NOSIGNAL, NULL, 0) ==
           (long)sizeof answer;
}

/* False: nobody will ask any more. */
static bool receive(int server, struct hd_wire_request *request, int descriptor[3]) {
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec text = {request, sizeof *request};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    long got;
    do {
        message.msg_controllen = sizeof control;
        got = syscall(SYS_recvmsg, server, &message, MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    const struct cmsghdr *with = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (got != (long)sizeof *request || request->magic != HD_WIRE_MAGIC || with == NULL ||
        with->cmsg_type != SCM_RIGHTS || with->cmsg_len != CMSG_LEN(3 * sizeof(int)))
        return false;
    memcpy(descriptor, CMSG_DATA(with), 3 * sizeof(int));
    return true;
}

/* The child of a run. The parent may have ended meanwhile. */
static void become_run(const struct own *own, int server, char *path,
                       const struct hd_wire_request *request, const int descriptor[3]) {
    syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0L, 0L, 0L);
    if (getppid() != own->parent) syscall(SYS_exit_group, 0);
    syscall(SYS_setpgid, 0, 0);
    syscall(SYS_set_robust_list, own->robust, own->robust_bytes);
    syscall(SYS_close, server);
    for (int i = 0; i < 3; i++) syscall(SYS_dup2, descriptor[i], i);
    for (int i = 0; i < 3; i++) syscall(SYS_close, descriptor[i]);
    size_t length = strlen(path);
    if (strnlen(request->channel, sizeof request->channel) == length)
        memcpy(path, request->channel, length);
}

static long fork_run(const struct own *own) {
    return syscall(SYS_clone, CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD,
                   NULL, NULL, own->tid, 0L);
}

/* Returns in the children. */
static void serve(const struct own *own, int server, char *path, uint64_t calls) {
    struct hd_wire_request request;
    int descriptor[3];
    bool go_on = reply(server, HD_REPLY_READY, 0, calls);
    while (go_on && receive(server, &request, descriptor)) {
        long pid = fork_run(own);
        if (pid == 0) {
            become_run(own, server, path, &request, descriptor);
            return;
        }
        for (int i = 0; i < 3; i++) syscall(SYS_close, descriptor[i]);
        go_on = reply(server, pid > 0 ? HD_REPLY_FORKED : HD_REPLY_FAILED, (int)pid, 0);
    }
    syscall(SYS_exit_group, 0);
}

void rt_cannot_serve(int server, enum hd_reply_state why, uint64_t number) {
    reply(server, why, 0, number);
    for (;;) syscall(SYS_exit_group, 0);
}

void rt_serve(int server, char *path, uint64_t calls) {
    struct own own = {.parent = atoi(path + sizeof "/proc/" - 1)};
    if (!can_serve(&own)) rt_cannot_serve(server, HD_REPLY_CANNOT, 0);
    serve(&own, server, path, calls);
}

void rt_wait_for_runs(void) {
    char *path = getenv(HD_CHANNEL_ENV);
    struct hd_wire_channel wanted;
    if (path == NULL) return;
    int saved = errno;
    read_wanted(path, &wanted);
    if (wanted.server != 0 && wanted.wait_module != 0)
        rt_startup_begin((int)wanted.server, &wanted, path);
    else if (wanted.server != 0)
        rt_serve((int)wanted.server, path, 0);
    errno = saved;
}
