/* One thread blocks in the call that the first argument names; the main thread must be able to work
 * meanwhile, and then lets the other go. Prints the call's name and "ok". With the watchdog as good
 * as off, the run hangs unless the call itself gave the baton away. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static int pipe_end[2], pair[2], listener, client, queue = -1, semaphore = -1;
static pthread_t blocked;
static _Atomic int entered, done;
static uint32_t futex_word;
static char buffer[256], message_buffer[sizeof(long) + 64];
static char path[64];
static long work[1000];

static const struct timespec tenth = {0, 150000000}, minute = {60, 0};

/* ---- what the thread blocks in ------------------------------------------------------------- */

static void sleep_() { assert(sleep(1) == 0); }
static void usleep_() { assert(usleep(150000) == 0); }
static void nanosleep_() { assert(nanosleep(&tenth, NULL) == 0); }
static void clock_nanosleep_() { assert(clock_nanosleep(CLOCK_MONOTONIC, 0, &tenth, NULL) == 0); }
static void thrd_sleep_() { assert(thrd_sleep(&tenth, NULL) == 0); }
static void sched_yield_() {
    while (!__atomic_load_n(&futex_word, __ATOMIC_SEQ_CST)) sched_yield();
}
static void thrd_yield_() {
    while (!__atomic_load_n(&futex_word, __ATOMIC_SEQ_CST)) thrd_yield();
}

static void handler(int number) { (void)number; }
static void pause_() { assert(pause() == -1 && errno == EINTR); }
static void sigsuspend_() {
    sigset_t none;
    sigemptyset(&none);
    assert(sigsuspend(&none) == -1 && errno == EINTR);
}
static sigset_t user_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    return set;
}
static void sigwait_() {
    sigset_t set = user_signal();
    int number = 0;
    assert(sigwait(&set, &number) == 0 && number == SIGUSR1);
}
static void sigwaitinfo_() {
    sigset_t set = user_signal();
    assert(sigwaitinfo(&set, NULL) == SIGUSR1);
}
static void sigtimedwait_() {
    sigset_t set = user_signal();
    assert(sigtimedwait(&set, NULL, &minute) == SIGUSR1);
}

/* A child that ends when the pipe has a byte for it. */
static pid_t child(void) {
    pid_t pid = fork();
    assert(pid >= 0);
    if (pid == 0) _exit(read(pipe_end[0], buffer, 1) == 1 ? 7 : 8);
    return pid;
}
static void check_status(int status) { assert(WIFEXITED(status) && WEXITSTATUS(status) == 7); }
static void wait_() {
    int status;
    pid_t pid = child();
    assert(wait(&status) == pid);
    check_status(status);
}
static void waitpid_() {
    int status;
    pid_t pid = child();
    assert(waitpid(pid, &status, 0) == pid);
    check_status(status);
}
static void wait3_() {
    int status;
    pid_t pid = child();
    assert(wait3(&status, 0, NULL) == pid);
    check_status(status);
}
static void wait4_() {
    int status;
    pid_t pid = child();
    assert(wait4(pid, &status, 0, NULL) == pid);
    check_status(status);
}
static void waitid_() {
    siginfo_t info;
    pid_t pid = child();
    assert(waitid(P_PID, (id_t)pid, &info, WEXITED) == 0 && info.si_pid == pid);
    assert(info.si_status == 7);
}
static void system_() {
    char command[64];
    snprintf(command, sizeof command, "head -c 1 <&%d >/dev/null; exit 9", pipe_end[0]);
    assert(WEXITSTATUS(system(command)) == 9);
}

static void read_() { assert(read(pipe_end[0], buffer, sizeof buffer) == 1); }
static void readv_() {
    struct iovec vector = {buffer, sizeof buffer};
    assert(readv(pipe_end[0], &vector, 1) == 1);
}
static void recv_() { assert(recv(pair[0], buffer, sizeof buffer, 0) == 1); }
static void recvfrom_() { assert(recvfrom(pair[0], buffer, sizeof buffer, 0, NULL, NULL) == 1); }
static void recvmsg_() {
    struct iovec vector = {buffer, sizeof buffer};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    assert(recvmsg(pair[0], &message, 0) == 1);
}
static void recvmmsg_() {
    struct iovec vector = {buffer, sizeof buffer};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &vector, .msg_iovlen = 1}};
    assert(recvmmsg(pair[0], &message, 1, 0, NULL) == 1);
}
static void accept_() { assert(accept(listener, NULL, NULL) >= 0); }
static void accept4_() { assert(accept4(listener, NULL, NULL, SOCK_CLOEXEC) >= 0); }

static struct sockaddr_un address(void) {
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    memcpy(a.sun_path, path, sizeof path);
    return a;
}
static int new_client(void) { return socket(AF_UNIX, SOCK_STREAM, 0); }
static int connect_client(int fd) {
    struct sockaddr_un a = address();
    return connect(fd, (struct sockaddr *)&a, sizeof a);
}
static void connect_() { assert(connect_client(new_client()) == 0); }

static void poll_() {
    struct pollfd set = {.fd = pipe_end[0], .events = POLLIN};
    assert(poll(&set, 1, -1) == 1 && set.revents == POLLIN);
}
static void ppoll_() {
    struct pollfd set = {.fd = pipe_end[0], .events = POLLIN};
    assert(ppoll(&set, 1, NULL, NULL) == 1 && set.revents == POLLIN);
}
static void select_() {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipe_end[0], &set);
    struct timeval long_time = {60, 0};
    assert(select(pipe_end[0] + 1, &set, NULL, NULL, &long_time) == 1);
    assert(FD_ISSET(pipe_end[0], &set));
}
static void pselect_() {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipe_end[0], &set);
    assert(pselect(pipe_end[0] + 1, &set, NULL, NULL, NULL, NULL) == 1);
    assert(FD_ISSET(pipe_end[0], &set));
}
static int poller(void) {
    int fd = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = pipe_end[0]};
    assert(epoll_ctl(fd, EPOLL_CTL_ADD, pipe_end[0], &event) == 0);
    return fd;
}
static void epoll_wait_() {
    struct epoll_event event;
    assert(epoll_wait(poller(), &event, 1, -1) == 1 && event.data.fd == pipe_end[0]);
}
static void epoll_pwait_() {
    struct epoll_event event;
    assert(epoll_pwait(poller(), &event, 1, 60000, NULL) == 1 && event.data.fd == pipe_end[0]);
}

#define MUCH (1 << 20)
static char much[MUCH];
static void write_() { assert(write(pipe_end[1], much, MUCH) == MUCH); }
static void writev_() {
    struct iovec vector[2] = {{much, MUCH / 2}, {much + MUCH / 2, MUCH / 2}};
    assert(writev(pipe_end[1], vector, 2) == MUCH);
}
static void send_() { assert(send(pair[0], much, MUCH, 0) == MUCH); }
static void sendto_() { assert(sendto(pair[0], much, MUCH, 0, NULL, 0) == MUCH); }
static void sendmsg_() {
    struct iovec vector = {much, MUCH};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    assert(sendmsg(pair[0], &message, 0) == MUCH);
}

static int lock_file(void) {
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert(fd >= 0);
    return fd;
}
static struct flock whole_file(void) { return (struct flock){.l_type = F_WRLCK}; }
static void flock_() { assert(flock(lock_file(), LOCK_EX) == 0); }
static void fcntl_() { /* of the open file, so that it counts between threads */
    struct flock lock = whole_file();
    assert(fcntl(lock_file(), F_OFD_SETLKW, &lock) == 0);
}
static void msgrcv_() { assert(msgrcv(queue, message_buffer, 64, 0, 0) == 5); }
static void semop_() {
    struct sembuf down = {0, -1, 0};
    assert(semop(semaphore, &down, 1) == 0);
}
static void futex_() {
    while (__atomic_load_n(&futex_word, __ATOMIC_SEQ_CST) == 0)
        syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, NULL, NULL, 0);
}

/* ---- what makes it possible, and what ends it
 * ---------------------------------------------------- */

static int held;
static void no_preparation() {}
static void block_signal() {
    sigset_t set = user_signal();
    assert(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
}
static void install_handler() { assert(signal(SIGUSR1, handler) != SIG_ERR); }
static void suspend_signal() {
    install_handler();
    block_signal();
}
static void listen_here() {
    listener = new_client();
    struct sockaddr_un a = address();
    assert(bind(listener, (struct sockaddr *)&a, sizeof a) == 0 && listen(listener, 0) == 0);
}
static void fill_backlog() {
    listen_here();
    client = new_client();
    assert(connect_client(client) == 0);
}
static void take_flock() {
    held = lock_file();
    assert(flock(held, LOCK_EX) == 0);
}
static void take_lock() {
    held = lock_file();
    struct flock lock = whole_file();
    assert(fcntl(held, F_OFD_SETLK, &lock) == 0);
}
static void make_queue() { assert((queue = msgget(IPC_PRIVATE, 0600)) >= 0); }
static void make_semaphore() { assert((semaphore = semget(IPC_PRIVATE, 1, 0600)) >= 0); }

static void nothing() {}
static void set_word() { __atomic_store_n(&futex_word, 1, __ATOMIC_SEQ_CST); }
static void wake_futex() {
    set_word();
    syscall(SYS_futex, &futex_word, FUTEX_WAKE, 1, NULL, NULL, 0);
}
/* Again and again: the first may come before the thread is asleep. */
static void send_signal() {
    while (!done) {
        pthread_kill(blocked, SIGUSR1);
        usleep(20000);
    }
}
static void send_one_signal() { pthread_kill(blocked, SIGUSR1); }
static void write_pipe() { assert(write(pipe_end[1], "x", 1) == 1); }
static void write_pair() { assert(send(pair[1], "x", 1, 0) == 1); }
static void connect_here() { assert(connect_client(new_client()) == 0); }
static void take_connection() { assert(accept(listener, NULL, NULL) >= 0); }
static void drain(int fd) {
    for (size_t left = MUCH; left > 0;) {
        ssize_t n = read(fd, much, left);
        assert(n > 0);
        left -= (size_t)n;
    }
}
static void drain_pipe() { drain(pipe_end[0]); }
static void drain_pair() { drain(pair[1]); }
static void drop_flock() { assert(flock(held, LOCK_UN) == 0); }
static void drop_lock() {
    struct flock lock = whole_file();
    lock.l_type = F_UNLCK;
    assert(fcntl(held, F_OFD_SETLK, &lock) == 0);
}
static void send_message() {
    struct {
        long type;
        char text[5];
    } message = {1, "mess"};
    assert(msgsnd(queue, &message, 5, 0) == 0);
}
static void raise_semaphore() {
    struct sembuf up = {0, 1, 0};
    assert(semop(semaphore, &up, 1) == 0);
}

/* clang-format off */
#define IN_TIME(X) X(sleep) X(usleep) X(nanosleep) X(clock_nanosleep) X(thrd_sleep)
#define BY_PIPE(X)                                                                                 \
    X(read)                                                                                        \
    X(readv) X(poll) X(ppoll) X(select) X(pselect) X(epoll_wait) X(epoll_pwait) X(wait) X(waitpid) \
        X(wait3) X(wait4) X(waitid) X(system)
#define BY_PAIR(X) X(recv) X(recvfrom) X(recvmsg) X(recvmmsg)
static const struct {
    const char *name;
    void (*prepare)(), (*block)(), (*release)();
} table[] = {
#define X(call) {#call, no_preparation, call##_, nothing},
    IN_TIME(X)
#undef X
#define X(call) {#call, no_preparation, call##_, write_pipe},
        BY_PIPE(X)
#undef X
#define X(call) {#call, no_preparation, call##_, write_pair},
            BY_PAIR(X)
#undef X
                {"sched_yield", no_preparation, sched_yield_, set_word},
    {"thrd_yield", no_preparation, thrd_yield_, set_word},
    {"pause", install_handler, pause_, send_signal},
    {"sigsuspend", suspend_signal, sigsuspend_, send_one_signal},
    {"sigwait", block_signal, sigwait_, send_one_signal},
    {"sigwaitinfo", block_signal, sigwaitinfo_, send_one_signal},
    {"sigtimedwait", block_signal, sigtimedwait_, send_one_signal},
    {"accept", listen_here, accept_, connect_here},
    {"accept4", listen_here, accept4_, connect_here},
    {"connect", fill_backlog, connect_, take_connection},
    {"write", no_preparation, write_, drain_pipe},
    {"writev", no_preparation, writev_, drain_pipe},
    {"send", no_preparation, send_, drain_pair},
    {"sendto", no_preparation, sendto_, drain_pair},
    {"sendmsg", no_preparation, sendmsg_, drain_pair},
    {"flock", take_flock, flock_, drop_flock},
    {"fcntl", take_lock, fcntl_, drop_lock},
    {"msgrcv", make_queue, msgrcv_, send_message},
    {"semop", make_semaphore, semop_, raise_semaphore},
    {"futex", no_preparation, futex_, wake_futex},
};
/* clang-format on */

static void (*block)();
static void *run(void *unused) {
    entered = 1;
    errno = 0;
    block();
    done = 1;
    return unused;
}

int main(int argc, char **argv) {
    snprintf(path, sizeof path, "blocked.%d", (int)getpid());
    assert(pipe(pipe_end) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (argc < 2) puts(table[i].name);
        if (argc < 2 || strcmp(argv[1], table[i].name) != 0) continue;
        table[i].prepare();
        block = table[i].block;
        assert(pthread_create(&blocked, NULL, run, NULL) == 0);
        while (!entered) sched_yield();
        for (int round = 0; round < 200; round++)
            for (int j = 0; j < 1000; j++) work[j] += j ^ round;
        assert(!done);
        table[i].release();
        assert(pthread_join(blocked, NULL) == 0 && done);
        unlink(path);
        if (queue >= 0) msgctl(queue, IPC_RMID, NULL);
        if (semaphore >= 0) semctl(semaphore, 0, IPC_RMID);
        printf("%s ok\n", argv[1]);
        return 0;
    }
    return argc > 1;
}
