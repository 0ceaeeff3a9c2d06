/* Order between threads through descriptors: `file_order HOW`. All of it is right but the cases
 * that are named for what is wrong. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static int fd[2], first_data, second_data, wrong_data, wrong_first, wrong_second;
static char large[1 << 17];

static void *writes(void *unused) {
    first_data = 1;
    if (write(fd[1], "a", 1) != 1) abort();
    wrong_data = 1; /* after the word: no order */
    return unused;
}
static void *writes_much(void *unused) {
    first_data = 1;
    if (write(fd[1], large, sizeof large) != sizeof large) abort();
    return unused;
}
static void *writes_also(void *unused) {
    second_data = 1;
    if (write(fd[1], "b", 1) != 1) abort();
    return unused;
}
static void *counts(void *unused) {
    first_data = 1;
    if (eventfd_write(fd[1], 1) != 0) abort();
    return unused;
}
static void *closes(void *unused) {
    first_data = 1;
    close(fd[1]);
    return unused;
}
static void *answers(void *set) {
    struct epoll_event event;
    if (epoll_wait(*(int *)set, &event, 1, -1) != 1) abort();
    *(int *)event.data.ptr += 1;
    return NULL;
}

static pthread_t start(void *(*f)(void *), void *argument) {
    pthread_t t;
    if (pthread_create(&t, NULL, f, argument) != 0) abort();
    return t;
}
static void take(size_t bytes) {
    char buffer[4096];
    while (bytes > 0) {
        ssize_t n = read(fd[0], buffer, bytes < sizeof buffer ? bytes : sizeof buffer);
        if (n <= 0) abort();
        bytes -= (size_t)n;
    }
}

static void connect_by_tcp(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    fd[1] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&at, &length) != 0 ||
        connect(fd[1], (struct sockaddr *)&at, sizeof at) != 0)
        abort();
    fd[0] = accept(listener, NULL, NULL);
}

int main(int count, char **argument) {
    if (count != 2) return 2;
    const char *how = argument[1];
    pthread_t t;
    if (strcmp(how, "pair") == 0 || strcmp(how, "packets") == 0) {
        int type = strcmp(how, "pair") == 0 ? SOCK_STREAM : SOCK_SEQPACKET;
        if (socketpair(AF_UNIX, type, 0, fd) != 0) return 3;
    } else if (strcmp(how, "event") == 0) {
        fd[0] = fd[1] = eventfd(0, 0);
    } else if (pipe(fd) != 0) {
        return 3;
    }
    if (strcmp(how, "event") == 0) {
        t = start(counts, NULL);
        eventfd_t value;
        if (eventfd_read(fd[0], &value) != 0) return 3;
    } else if (strcmp(how, "end") == 0) {
        t = start(closes, NULL);
        char c;
        if (read(fd[0], &c, 1) != 0) return 3;
    } else if (strcmp(how, "much") == 0) {
        t = start(writes_much, NULL);
        take(sizeof large);
    } else if (strcmp(how, "epoll") == 0) {
        int set = epoll_create1(0);
        t = start(answers, &set);
        int *data = malloc(sizeof *data);
        *data = 1;
        struct epoll_event event = {.events = EPOLLOUT, .data.ptr = data};
        if (epoll_ctl(set, EPOLL_CTL_ADD, fd[1], &event) != 0) return 3;
    } else if (strcmp(how, "copied") == 0) {
        fd[1] = dup(fd[1]);
        t = start(writes, NULL);
        take(1);
    } else if (strncmp(how, "one", 3) ==
               0) { /* only one of two words is read: nothing of the other */
        if (strcmp(how, "one_tcp") == 0) connect_by_tcp();
        t = start(writes, NULL);
        pthread_t other = start(writes_also, NULL);
        char c;
        if (read(fd[0], &c, 1) != 1) return 3;
        if (c == 'a')
            first_data++, wrong_second += second_data;
        else
            second_data++, wrong_first += first_data;
        pthread_join(t, NULL);
        pthread_join(other, NULL);
        return 0;
    } else { /* pipe, pair, packets; and "late", which looks at what was written after the word */
        t = start(writes, NULL);
        pthread_t other = start(writes_also, NULL);
        take(2);
        first_data += second_data;
        pthread_join(other, NULL);
    }
    if (strcmp(how, "epoll") != 0) first_data++;
    if (strcmp(how, "late") == 0) wrong_data++;
    pthread_join(t, NULL);
    printf("%d\n", first_data);
    return 0;
}
