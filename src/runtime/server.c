/* A program that waits before main, and forks itself for every run that is asked for (wire.h says
 * how): a run costs neither exec nor dynamic linking then. This is the first thing that the runtime
 * does. Nothing is mapped, allocated or left open here, so that a run finds the process exactly as
 * a plain start leaves it. */
#define _GNU_SOURCE
#include "runtime/rt.h"

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

static int descriptor_of_server(const char *path) {
    struct {
        uint64_t magic;
        uint32_t version;
    } head;
    uint32_t server = 0;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    if (syscall(SYS_pread64, fd, &head, sizeof head, 0L) == (long)sizeof head &&
        head.magic == HD_WIRE_MAGIC && head.version == HD_WIRE_VERSION)
        syscall(SYS_pread64, fd, &server, sizeof server, offsetof(struct hd_wire_channel, server));
    syscall(SYS_close, fd);
    return (int)server;
}

static bool is_alone(void) {
    struct stat threads;
    return stat("/proc/self/task", &threads) == 0 && threads.st_nlink == 3;
}

/* Can a copy of this process be made that can't be told from it? */
static bool can_serve(struct own *own) {
    if (!is_alone() || getppid() != own->parent) return false;
    if (syscall(SYS_prctl, PR_GET_TID_ADDRESS, &own->tid, 0L, 0L, 0L) != 0 || own->tid == NULL ||
        *own->tid != rt_gettid())
        return false;
    return syscall(SYS_get_robust_list, 0, &own->robust, &own->robust_bytes) == 0;
}

static bool reply(int server, enum hd_reply_state state, int pid) {
    struct hd_wire_reply answer = {state, pid};
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
static void serve(const struct own *own, int server, char *path) {
    struct hd_wire_request request;
    int descriptor[3];
    bool go_on = reply(server, HD_REPLY_READY, 0);
    while (go_on && receive(server, &request, descriptor)) {
        long pid = fork_run(own);
        if (pid == 0) {
            become_run(own, server, path, &request, descriptor);
            return;
        }
        for (int i = 0; i < 3; i++) syscall(SYS_close, descriptor[i]);
        go_on = reply(server, pid > 0 ? HD_REPLY_FORKED : HD_REPLY_FAILED, (int)pid);
    }
    syscall(SYS_exit_group, 0);
}

void rt_wait_for_runs(void) {
    char *path = getenv(HD_CHANNEL_ENV);
    int server = path != NULL ? descriptor_of_server(path) : 0;
    if (server <= 0) return;
    int saved = errno;
    struct own own = {.parent = rt_recorder()};
    if (can_serve(&own)) {
        serve(&own, server, path);
    } else {
        reply(server, HD_REPLY_CANNOT, 0);
        syscall(SYS_exit_group, 0);
    }
    errno = saved;
}
