/* Threads that are in system calls while others run: a replay of the recording must not wait for
 * them. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int x, pipe_ends[2];
static sigset_t set;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *waits_for_signal(void *argument) {
    int number;
    sigwait(&set, &number);
    return argument;
}

static void *reads(void *argument) {
    char byte;
    while (read(pipe_ends[0], &byte, 1) == 1 && byte != '.') x++;
    return argument;
}

static void *works(void *argument) {
    pthread_mutex_lock(&mutex);
    int value = x;
    pthread_mutex_unlock(&mutex);
    pthread_mutex_lock(&mutex);
    x = value + 1;
    pthread_mutex_unlock(&mutex);
    return argument;
}

int main(void) {
    pthread_t waiter, reader, a, b;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pipe(pipe_ends) != 0) return 2;
    pthread_create(&waiter, NULL, waits_for_signal, NULL);
    pthread_create(&reader, NULL, reads, NULL);
    pthread_create(&a, NULL, works, NULL);
    pthread_create(&b, NULL, works, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    if (write(pipe_ends[1], "abc.", 4) != 4) return 2;
    pthread_kill(waiter, SIGUSR1);
    pthread_join(waiter, NULL);
    pthread_join(reader, NULL);
    printf("%d\n", x);
    return 0;
}
