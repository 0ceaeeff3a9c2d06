/* Descriptors that are used while another thread closes them, or after that: `descriptors CASE`;
 * and what looks like it and is right. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int fd, fds[2], closed, data;
static FILE *stream;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static pthread_t start(void *(*f)(void *)) {
    pthread_t t;
    if (pthread_create(&t, NULL, f, NULL) != 0) abort();
    return t;
}
static void both(void *(*one)(void *), void *(*two)(void *)) {
    pthread_t a = start(one), b = start(two);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}
static int zeros(void) {
    int number = open("/dev/zero", O_RDWR);
    if (number < 0) abort();
    return number;
}
static void in_pipe(void) {
    if (pipe(fds) != 0) abort();
    fd = fds[1];
}
/* Results do not matter: in some orders the descriptor is gone. */
static void ignore(long result) { (void)result; }

/* ---- uses ---------------------------------------------------------------------------------- */

static void *reads(void *unused) {
    char c;
    ignore(read(fd, &c, 1));
    return unused;
}
static void *writes(void *unused) {
    ignore(write(fd, "a", 1));
    return unused;
}
static void *polls(void *unused) {
    struct pollfd set = {.fd = fd, .events = POLLOUT, .revents = 0};
    ignore(poll(&set, 1, 0));
    return unused;
}
static void *selects(void *unused) {
    fd_set set;
    struct timeval none = {0, 0};
    FD_ZERO(&set);
    FD_SET(fd, &set);
    ignore(select(fd + 1, NULL, &set, NULL, &none));
    return unused;
}
static void *copies(void *unused) {
    ignore(dup(fd));
    return unused;
}
static void *controls(void *unused) {
    ignore(fcntl(fd, F_SETFL, O_NONBLOCK));
    return unused;
}
static void *sends(void *unused) {
    ignore(send(fd, "a", 1, MSG_NOSIGNAL | MSG_DONTWAIT));
    return unused;
}
static void *prints(void *unused) {
    fprintf(stream, "a\n");
    return unused;
}
static void *watches(void *unused) {
    struct epoll_event event = {.events = EPOLLOUT, .data.fd = fd};
    int set = epoll_create1(0);
    ignore(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event));
    close(set);
    return unused;
}

/* ---- ends ---------------------------------------------------------------------------------- */

static void *closes(void *unused) {
    close(fd);
    return unused;
}
static void *closes_stream(void *unused) {
    fclose(stream);
    return unused;
}
static void *closes_and_opens(void *unused) {
    int old = fd;
    close(old);
    if (zeros() != old) abort();
    return unused;
}

/* ---- what is right ------------------------------------------------------------------------- */

/* The same number, one after the other, each thread its own file. */
static void *own(void *unused) {
    int mine = zeros();
    char c;
    ignore(read(mine, &c, 1));
    close(mine);
    return unused;
}
static void *first_copy(void *unused) {
    char c;
    ignore(read(fds[0], &c, 1));
    close(fds[0]);
    return unused;
}
static void *second_copy(void *unused) {
    char c;
    ignore(read(fds[1], &c, 1));
    close(fds[1]);
    return unused;
}
static void *passes_on(void *unused) {
    ignore(write(fds[1], "a", 1));
    return unused;
}
static void *gets_and_closes(void *unused) {
    char c;
    while (read(fds[0], &c, 1) != 1) {
    }
    close(fds[0]);
    close(fds[1]);
    return unused;
}
static void *uses_locked(void *unused) {
    pthread_mutex_lock(&lock);
    if (!closed) ignore(write(fd, "a", 1));
    pthread_mutex_unlock(&lock);
    return unused;
}
static void *closes_locked(void *unused) {
    pthread_mutex_lock(&lock);
    closed = 1;
    close(fd);
    pthread_mutex_unlock(&lock);
    return unused;
}
/* A queue hands the descriptor to the thread that closes it; its number comes again and again. */
#define ROUNDS 4
static void *makes(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        int made = zeros();
        pthread_mutex_lock(&lock);
        while (closed != 0) pthread_cond_wait(&changed, &lock);
        fd = made;
        closed = 1;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}
static void *takes(void *unused) {
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        while (closed == 0) pthread_cond_wait(&changed, &lock);
        int taken = fd;
        closed = 0;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
        char c;
        ignore(read(taken, &c, 1));
        close(taken);
    }
    return unused;
}
/* A number that one thread has from popen, and then another from opendir. */
static void *asks_shell(void *unused) {
    char line[16];
    pthread_mutex_lock(&lock);
    FILE *answer = popen("echo a", "r");
    if (answer == NULL || fgets(line, sizeof line, answer) == NULL) abort();
    pclose(answer);
    pthread_mutex_unlock(&lock);
    return unused;
}
static void *lists(void *unused) {
    pthread_mutex_lock(&lock);
    DIR *directory = opendir("/");
    if (directory == NULL || readdir(directory) == NULL) abort();
    closedir(directory);
    pthread_mutex_unlock(&lock);
    return unused;
}
/* A copy takes the place of a descriptor that others write to. */
static void *replaces(void *unused) {
    int other = open("/dev/null", O_WRONLY);
    if (dup2(other, fd) != fd) abort();
    close(other);
    return unused;
}
/* The reader is woken by the shutdown, and closes. */
static void *shuts(void *unused) {
    shutdown(fds[0], SHUT_RDWR);
    return unused;
}
static void *reads_to_end(void *unused) {
    char c;
    while (read(fds[0], &c, 1) > 0) {
    }
    close(fds[0]);
    return unused;
}
/* Nothing is ordered by a file that both use. */
static void *says(void *unused) {
    data = 1;
    ignore(write(fd, "a", 1));
    return unused;
}
static void *looks(void *unused) {
    char c;
    ignore(read(fd, &c, 1));
    data++;
    return unused;
}

/* One after the other, in every order: it is closed when it is used, or asked about. */
static void *uses_late(void *unused) {
    pthread_join(start(closes), NULL);
    ignore(write(fd, "a", 1));
    return unused;
}
static void *asks_late(void *unused) {
    pthread_join(start(closes), NULL);
    ignore(fcntl(fd, F_GETFD));
    return unused;
}
static void *nothing(void *unused) { return unused; }

int main(int count, char **argument) {
    static const struct {
        const char *name;
        void *(*one)(void *), *(*two)(void *);
        char on; /* zeros, pipe, socket pair, stream */
    } cases[] = {
        {"read", reads, closes, 'z'},
        {"write", writes, closes, 'z'},
        {"pipe", writes, closes, 'p'},
        {"poll", polls, closes, 'p'},
        {"select", selects, closes, 'p'},
        {"dup", copies, closes, 'z'},
        {"fcntl", controls, closes, 'p'},
        {"send", sends, closes, 's'},
        {"epoll", watches, closes, 'p'},
        {"twice", closes, closes, 'z'},
        {"stream", prints, closes_stream, 'f'},
        {"again", writes, closes_and_opens, 'z'},
        {"again_late", closes_and_opens, writes, 'z'},
        {"file", says, looks, 'z'},
        {"used_late", uses_late, nothing, 'z'},
        {"asked_late", asks_late, nothing, 'z'},
        {"own", own, own, '-'},
        {"passed", passes_on, gets_and_closes, 'p'},
        {"locked", uses_locked, closes_locked, 'z'},
        {"handed", makes, takes, '-'},
        {"replaced", writes, replaces, 'z'},
        {"shut", shuts, reads_to_end, 's'},
        {"inside", asks_shell, lists, '-'},
        {"copies", first_copy, second_copy, 'c'},
    };
    if (count != 2) return 2;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, argument[1]) != 0) continue;
        if (cases[i].on == 'z') fd = zeros();
        if (cases[i].on == 'p') in_pipe();
        if (cases[i].on == 's' && socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) return 3;
        if (cases[i].on == 's') fd = fds[0];
        if (cases[i].on == 'f' && (stream = fopen("/dev/null", "w")) == NULL) return 3;
        if (cases[i].on == 'c') fds[0] = zeros();
        if (cases[i].on == 'c') fds[1] = dup2(fds[0], 100);
        both(cases[i].one, cases[i].two);
        return 0;
    }
    return 2;
}
