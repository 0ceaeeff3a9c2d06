/* Each variable is accessed by two or three threads in one order, whatever the scheduler does: the
 * unserializable cases, the serializable ones, and the traps (freed memory, a forked child, a
 * signal handler, parts of a word). The name of a variable says what should be found. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int rwr, wwr, wrw, rww;            /* found */
static volatile int rrr, wrr, rrw, www;            /* serializable */
static volatile int wrw_then_write, www_then_read; /* the first access between them counts */
static volatile int other_half[2] __attribute__((aligned(8)));
static volatile char other_byte[8] __attribute__((aligned(8)));
static volatile uint64_t whole_wwr; /* a part of it is overwritten */
static _Atomic int updates;
static volatile int in_child, in_handler;
static volatile int *reused;
static uintptr_t first_life;

static pthread_barrier_t turn;
static void next(void) { pthread_barrier_wait(&turn); }

static void handler(int number) {
    (void)number;
    in_handler++;
}

static int sink;

/* Three steps: local, other, local. */
static void *local(void *unused) {
    (void)unused;
    sink += rwr, wwr = 1, wrw = 1, sink += rww;
    sink += rrr, wrr = 1, sink += rrw, www = 1;
    wrw_then_write = 1, www_then_read = 1;
    other_half[0] = 1, other_byte[3] = 1, whole_wwr = 1;
    atomic_fetch_add(&updates, 1);
    reused = malloc(64);
    reused[0] = 1;
    next();
    next();
    sink += rwr, sink += wwr, wrw = 2, rww = 2;
    sink += rrr, sink += wrr, rrw = 2, www = 2;
    wrw_then_write = 2, www_then_read = 2;
    sink += other_half[0], sink += other_byte[3], sink += (int)whole_wwr;
    atomic_fetch_add(&updates, 1);
    /* the other thread has freed it: what was there is another variable now */
    reused = malloc(64);
    if ((uintptr_t)reused == first_life) sink += reused[0];
    return NULL;
}

static void *other(void *unused) {
    (void)unused;
    next();
    rwr = 3, wwr = 3, sink += wrw, rww = 3;
    sink += rrr, sink += wrr, sink += rrw, www = 3;
    sink += wrw_then_write, wrw_then_write = 3, www_then_read = 3, sink += www_then_read;
    other_half[1] = 3, other_byte[2] = 3;
    ((volatile char *)&whole_wwr)[5] = 3;
    atomic_fetch_add(&updates, 1);
    first_life = (uintptr_t)reused;
    reused[0] = 3;
    free((void *)reused);
    next();
    return NULL;
}

static volatile int stop;
static void *busy(void *unused) {
    (void)unused;
    while (!stop) in_handler++;
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_barrier_init(&turn, NULL, 2);
    pthread_create(&a, NULL, local, NULL);
    pthread_create(&b, NULL, other, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);

    in_child = 1;
    pid_t child = fork();
    if (child == 0) {
        in_child = 2;
        _exit(0);
    }
    waitpid(child, NULL, 0);
    in_child++;

    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&a, NULL, busy, NULL);
    pthread_create(&b, NULL, busy, NULL);
    for (int i = 0; i < 200; i++) {
        pthread_kill(a, SIGUSR1);
        pthread_kill(b, SIGUSR1);
    }
    stop = 1;
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    free((void *)reused);
    puts("done");
    return 0;
}
