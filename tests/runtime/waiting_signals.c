/* Signals to a thread that waits in the scheduler: their handlers run, with
 * SA_RESTART and without, and a condition variable's signal that comes
 * meanwhile is not lost. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turn;

static void post(int number) {
    (void)number;
    sem_post(&semaphore);
}
static void nothing(int number) { (void)number; }

static void handle(void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    assert(sigaction(SIGUSR1, &action, NULL) == 0);
}

static void *wait_for_post(void *unused) {
    while (sem_wait(&semaphore) != 0) {
    }
    return unused;
}

/* Only the handler, on the waiting thread, can end the wait. */
static void handler_posts(int flags) {
    handle(post, flags);
    pthread_t thread;
    assert(pthread_create(&thread, NULL, wait_for_post, NULL) == 0);
    usleep(50000);
    pthread_kill(thread, SIGUSR1);
    assert(pthread_join(thread, NULL) == 0);
}

#define ROUNDS 50
static void pass(int mine) {
    pthread_mutex_lock(&mutex);
    while (turn != mine) pthread_cond_wait(&condition, &mutex);
    turn = !mine;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
}
static void *other_side(void *unused) {
    for (int i = 0; i < ROUNDS; i++) pass(1);
    return unused;
}
/* Time for the other thread to notice its signal, without a hook that would let
 * it run. */
__attribute__((noinline, no_sanitize("thread"))) static void keep_the_baton(void) {
    for (volatile int i = 0; i < 200000; i++) {
    }
}
static void signals_and_conditions(int flags) {
    handle(nothing, flags);
    pthread_t thread;
    assert(pthread_create(&thread, NULL, other_side, NULL) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        usleep(1000);
        pthread_kill(thread, SIGUSR1);
        keep_the_baton();
        pass(0);
    }
    assert(pthread_join(thread, NULL) == 0);
}

int main(void) {
    assert(sem_init(&semaphore, 0, 0) == 0);
    handler_posts(0);
    handler_posts(SA_RESTART);
    signals_and_conditions(0);
    signals_and_conditions(SA_RESTART);
    puts("done");
    return 0;
}
