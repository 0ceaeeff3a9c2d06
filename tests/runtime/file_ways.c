/* Order between threads by sockets, streams, polling and signals: `file_ways CASE`. One thread sets
 * `data` and then sends something; another one gets it and then reads `data`. `file_ways CASE
 * late`: it looks at what was written after that, which nothing orders. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static int data, late_data, fd[2], other[2], listener, set;
static struct sockaddr_in address, second_address;
static struct sockaddr_un name;
static FILE *in, *out;
static pthread_t reader_thread;
static int seen;
static atomic_int handled;

#define CHECK(x)           \
    do {                   \
        if (!(x)) abort(); \
    } while (0)

/* ---- what is made before the threads ----------------------------------------------------------
 */

static void make_pipe(void) { CHECK(pipe(fd) == 0); }
static void make_pipes(void) { CHECK(pipe(fd) == 0 && pipe(other) == 0); }
static void make_pair(void) {
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
    CHECK(write(fd[0], "back", 4) == 4);
}
static void make_streams(void) {
    CHECK(pipe(fd) == 0);
    in = fdopen(fd[0], "r");
    out = fdopen(fd[1], "w");
    CHECK(in != NULL && out != NULL);
}
static void bound(int number, struct sockaddr_in *at) {
    socklen_t length = sizeof *at;
    *at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    CHECK(bind(number, (struct sockaddr *)at, sizeof *at) == 0);
    CHECK(getsockname(number, (struct sockaddr *)at, &length) == 0);
}
static void make_tcp(void) {
    listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listener >= 0);
    bound(listener, &address);
    CHECK(listen(listener, 4) == 0);
}
static void make_udp(void) {
    fd[0] = socket(AF_INET, SOCK_DGRAM, 0);
    fd[1] = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(fd[0] >= 0 && fd[1] >= 0);
    bound(fd[0], &address);
    bound(fd[1], &second_address);
}
static void set_name(void) {
    name.sun_family = AF_UNIX; /* an abstract name: nothing is left behind */
    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "heddle-file-ways-%d", (int)getpid());
}
static void make_local(void) {
    set_name();
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(listener, (struct sockaddr *)&name, sizeof name) == 0 && listen(listener, 4) == 0);
}
static void make_local_datagrams(void) {
    set_name();
    fd[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
    fd[1] = socket(AF_UNIX, SOCK_DGRAM, 0);
    CHECK(bind(fd[0], (struct sockaddr *)&name, sizeof name) == 0);
}
static void make_epoll(void) {
    make_pipe();
    set = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd[0]};
    CHECK(epoll_ctl(set, EPOLL_CTL_ADD, fd[0], &event) == 0);
}
static void make_queue(void) { CHECK((fd[0] = msgget(IPC_PRIVATE, 0600)) >= 0); }
static void make_units(void) { CHECK((fd[0] = fd[1] = eventfd(0, EFD_SEMAPHORE)) >= 0); }
static void make_timer(void) { CHECK((fd[0] = timerfd_create(CLOCK_MONOTONIC, 0)) >= 0); }
static sigset_t user_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    return signals;
}
static void make_blocked(void) {
    sigset_t signals = user_signals();
    CHECK(pthread_sigmask(SIG_BLOCK, &signals, NULL) == 0);
}
static void make_signalfd(void) {
    make_blocked();
    sigset_t signals = user_signals();
    CHECK((fd[0] = signalfd(-1, &signals, 0)) >= 0);
}
static void handler(int number) {
    (void)number;
    seen = data; /* after the one that sent it */
    handled = 1;
}
static void make_handler(void) {
    struct sigaction action = {.sa_handler = handler};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGALRM, &action, NULL) == 0);
}

/* ---- who sends --------------------------------------------------------------------------------
 */

#define SENDS(name, what)             \
    static void *name(void *unused) { \
        data = 1;                     \
        what;                         \
        late_data = 1;                \
        return unused;                \
    }
SENDS(writes, CHECK(write(fd[1], "word", 4) == 4))
SENDS(writes_vector, CHECK(writev(fd[1], (struct iovec[]){{"wo", 2}, {"rd", 2}}, 2) == 4))
static void send_message(int to, void *at, socklen_t length) {
    struct iovec vector = {"word", 4};
    struct msghdr message = {
        .msg_name = at, .msg_namelen = length, .msg_iov = &vector, .msg_iovlen = 1};
    CHECK(sendmsg(to, &message, 0) == 4);
}
SENDS(sends_message, send_message(fd[1], NULL, 0))
SENDS(prints, CHECK(fprintf(out, "word\n") == 5 && fflush(out) == 0))
SENDS(prints_and_closes, CHECK(fputs("word\n", out) >= 0 && fclose(out) == 0))
static int connected(int domain, void *at, socklen_t length) {
    int number = socket(domain, SOCK_STREAM, 0);
    CHECK(connect(number, at, length) == 0);
    return number;
}
SENDS(connects, connected(AF_INET, &address, sizeof address))
SENDS(connects_and_writes,
      CHECK(write(connected(AF_INET, &address, sizeof address), "word", 4) == 4))
SENDS(connects_and_closes, close(connected(AF_INET, &address, sizeof address)))
SENDS(connects_by_name, CHECK(write(connected(AF_UNIX, &name, sizeof name), "word", 4) == 4))
SENDS(sends_to,
      CHECK(sendto(fd[1], "word", 4, 0, (struct sockaddr *)&address, sizeof address) == 4))
SENDS(sends_connected, CHECK(connect(fd[1], (struct sockaddr *)&address, sizeof address) == 0 &&
                             send(fd[1], "word", 4, 0) == 4))
SENDS(sends_message_to, send_message(fd[1], &address, sizeof address))
SENDS(sends_to_name, CHECK(sendto(fd[1], "word", 4, 0, (struct sockaddr *)&name, sizeof name) == 4))
SENDS(counts, CHECK(eventfd_write(fd[1], 1) == 0))
SENDS(sets_timer, CHECK(timerfd_settime(fd[0], 0, &(struct itimerspec){.it_value.tv_nsec = 1000000},
                                        NULL) == 0))
SENDS(kills, CHECK(kill(getpid(), SIGUSR1) == 0))
SENDS(kills_thread, CHECK(pthread_kill(reader_thread, SIGUSR1) == 0))
SENDS(queues, CHECK(sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 1}) == 0))
SENDS(sets_alarm, alarm(1))
SENDS(
    moves, do {
        CHECK(write(other[1], "word", 4) == 4);
        CHECK(splice(other[0], NULL, fd[1], NULL, 4, 0) == 4);
    } while (0))
struct letter {
    long kind;
    char text[4];
};
SENDS(posts, CHECK(msgsnd(fd[0], &(struct letter){.kind = 1}, 4, 0) == 0))
SENDS(shuts, CHECK(shutdown(fd[1], SHUT_WR) == 0))

/* ---- who gets it ------------------------------------------------------------------------------
 */

static char word[16];
static void take(int from) { CHECK(read(from, word, 4) == 4); }
static void get_vector(void) {
    CHECK(readv(fd[0], (struct iovec[]){{word, 2}, {word + 2, 2}}, 2) == 4);
}
static void get_message(void) {
    struct iovec vector = {word, 4};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    CHECK(recvmsg(fd[0], &message, 0) == 4);
}
static void get_peek(void) { CHECK(recv(fd[0], word, 4, MSG_PEEK) == 4); }
static void get_line(void) { CHECK(fgets(word, sizeof word, in) != NULL); }
static void get_scan(void) { CHECK(fscanf(in, "%15s", word) == 1); }
static void get_character(void) { CHECK(fgetc(in) == 'w'); }
static void get_raw(void) { CHECK(read(fd[0], word, 5) == 5); }
static void get_poll(void) {
    struct pollfd one = {.fd = fd[0], .events = POLLIN, .revents = 0};
    CHECK(poll(&one, 1, -1) == 1);
}
static void get_select(void) {
    fd_set files;
    FD_ZERO(&files);
    FD_SET(fd[0], &files);
    CHECK(select(fd[0] + 1, &files, NULL, NULL, NULL) == 1);
}
static void get_epoll(void) {
    struct epoll_event event;
    CHECK(epoll_wait(set, &event, 1, -1) == 1 && event.data.fd == fd[0]);
}
static int accepted(void) {
    int number = accept(listener, NULL, NULL);
    CHECK(number >= 0);
    return number;
}
static void get_accept(void) { accepted(); }
static void get_accepted(void) { take(accepted()); }
static void get_end(void) { CHECK(read(accepted(), word, 4) == 0); }
static void get_listener_poll(void) {
    struct pollfd one = {.fd = listener, .events = POLLIN, .revents = 0};
    CHECK(poll(&one, 1, -1) == 1);
}
static void get_from(void) { CHECK(recvfrom(fd[0], word, sizeof word, 0, NULL, NULL) == 4); }
static void get_unit(void) {
    eventfd_t value;
    CHECK(eventfd_read(fd[0], &value) == 0 && value == 1);
}
static void get_timer(void) {
    uint64_t times;
    CHECK(read(fd[0], &times, sizeof times) == sizeof times);
}
static void get_sigwait(void) {
    int number;
    sigset_t signals = user_signals();
    CHECK(sigwait(&signals, &number) == 0 && number == SIGUSR1);
}
static void get_info(void) {
    siginfo_t info;
    sigset_t signals = user_signals();
    CHECK(sigwaitinfo(&signals, &info) == SIGUSR1);
}
static void get_signalfd(void) {
    struct signalfd_siginfo info;
    CHECK(read(fd[0], &info, sizeof info) == sizeof info && info.ssi_signo == SIGUSR1);
}
static void get_handled(void) {
    for (int i = 0; i < 3000 && !handled; i++) usleep(1000);
    CHECK(handled);
}
static void get_file(void) {
    int file = open("/dev/null", O_RDWR);
    CHECK(read(fd[0], word, 4) == 4 && write(file, word, 4) == 4);
    close(file);
}
static void get_letter(void) {
    struct letter letter;
    CHECK(msgrcv(fd[0], &letter, 4, 1, 0) == 4 && msgctl(fd[0], IPC_RMID, NULL) == 0);
}
static void get_shut(void) { CHECK(read(fd[0], word, 4) == 0); }

static void *gets_it(void *get) {
    (*(void (**)(void))get)();
    if (data != 1) abort();
    return NULL;
}
/* What was written after it. */
static void *gets_late(void *get) {
    (*(void (**)(void))get)();
    late_data++;
    return NULL;
}

static const struct {
    const char *name;
    void (*make)(void);
    void *(*send)(void *);
    void (*get)(void);
} cases[] = {
    {"vector", make_pipe, writes_vector, get_vector},
    {"message", make_pair, sends_message, get_message},
    {"peek", make_pair, writes, get_peek},
    {"shutdown", make_pair, shuts, get_shut},
    {"poll", make_pipe, writes, get_poll},
    {"select", make_pipe, writes, get_select},
    {"epoll", make_epoll, writes, get_epoll},
    {"line", make_streams, prints, get_line},
    {"scan", make_streams, prints, get_scan},
    {"character", make_streams, prints, get_character},
    {"raw", make_streams, prints, get_raw},
    {"stream_end", make_streams, prints_and_closes, get_line},
    {"accept", make_tcp, connects, get_accept},
    {"tcp", make_tcp, connects_and_writes, get_accepted},
    {"tcp_end", make_tcp, connects_and_closes, get_end},
    {"listener", make_tcp, connects, get_listener_poll},
    {"local", make_local, connects_by_name, get_accepted},
    {"udp", make_udp, sends_to, get_from},
    {"udp_connected", make_udp, sends_connected, get_from},
    {"udp_message", make_udp, sends_message_to, get_message},
    {"udp_poll", make_udp, sends_to, get_poll},
    {"local_udp", make_local_datagrams, sends_to_name, get_from},
    {"units", make_units, counts, get_unit},
    {"timer", make_timer, sets_timer, get_timer},
    {"queue", make_queue, posts, get_letter},
    {"splice", make_pipes, moves, get_file},
    {"sigwait", make_blocked, kills, get_sigwait},
    {"sigwaitinfo", make_blocked, kills_thread, get_info},
    {"sigqueue", make_blocked, queues, get_info},
    {"signalfd", make_signalfd, kills, get_signalfd},
    {"handler", make_handler, kills_thread, get_handled},
    {"alarm", make_handler, sets_alarm, get_handled},
};

int main(int count, char **argument) {
    if (count < 2) return 2;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, argument[1]) != 0) continue;
        pthread_t sender;
        void (*get)(void) = cases[i].get;
        cases[i].make();
        CHECK(pthread_create(&reader_thread, NULL, count > 2 ? gets_late : gets_it, &get) == 0);
        CHECK(pthread_create(&sender, NULL, cases[i].send, NULL) == 0);
        pthread_join(sender, NULL);
        pthread_join(reader_thread, NULL);
        return 0;
    }
    return 2;
}
