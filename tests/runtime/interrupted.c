/* A call of the C library may end early: by a fault in memory it was given, by a signal, or by the
 * end of its thread. Recording must go on as if nothing had happened. */
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf back;
static char *forbidden;
static char copy[64];
static int pipe_end[2];
static _Atomic int blocked;
int after_fault, in_handler, after_signal, in_cleanup, after_cancel;

static void fault(int number) {
    (void)number;
    siglongjmp(back, 1);
}

/* Through pointers the compiler does not see through, or it would do the work itself. */
#define CALL(f) (*(__typeof__(&f) volatile[]){f})
static void faulting_memcpy(void) { CALL(memcpy)(copy, forbidden, sizeof copy); }
static void faulting_strlen(void) { assert(CALL(strlen)(forbidden) == 0); }
static void faulting_strcpy(void) { CALL(strcpy)(forbidden, "text"); }
static void faulting_sprintf(void) { CALL(sprintf)(forbidden, "%d", 12345); }
static void (*volatile const copies[])(void) = {faulting_memcpy, faulting_strlen, faulting_strcpy,
                                                faulting_sprintf};

static void faults(void) {
    struct sigaction action = {.sa_handler = fault, .sa_flags = SA_NODEFER};
    assert(sigaction(SIGSEGV, &action, NULL) == 0);
    volatile int caught = 0;
    for (volatile unsigned i = 0; i < sizeof copies / sizeof *copies; i++) {
        if (sigsetjmp(back, 1) != 0) {
            caught++;
            after_fault++;
            continue;
        }
        copies[i]();
    }
    assert(caught == sizeof copies / sizeof *copies);
}

static void interrupt(int number) {
    (void)number;
    in_handler++;
}

static void *interrupted_read(void *unused) {
    char byte;
    blocked = 1;
    assert(read(pipe_end[0], &byte, 1) == -1 && errno == EINTR);
    after_signal++;
    blocked = 2;
    return unused;
}

static void signals(void) {
    struct sigaction action = {.sa_handler = interrupt};
    assert(sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_t thread;
    blocked = 0;
    assert(pthread_create(&thread, NULL, interrupted_read, NULL) == 0);
    while (!blocked) sched_yield();
    while (blocked != 2) { /* the first may come before it is asleep */
        pthread_kill(thread, SIGUSR1);
        usleep(10000);
    }
    assert(pthread_join(thread, NULL) == 0 && in_handler >= 1);
}

static void cleanup(void *unused) {
    (void)unused;
    in_cleanup++;
}

static void *cancelled_read(void *unused) {
    char byte;
    pthread_cleanup_push(cleanup, NULL);
    blocked = 1;
    assert(read(pipe_end[0], &byte, 1) == 1);
    abort();
    pthread_cleanup_pop(1);
    return unused;
}

static void cancels(void) {
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        void *result;
        blocked = 0;
        assert(pthread_create(&thread, NULL, cancelled_read, NULL) == 0);
        while (!blocked) sched_yield();
        if (i > 0) usleep(20000);
        assert(pthread_cancel(thread) == 0);
        assert(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
        assert(in_cleanup == i + 1);
        after_cancel++;
    }
}

int main(void) {
    forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert(forbidden != MAP_FAILED && pipe(pipe_end) == 0);
    faults();
    signals();
    cancels();
    puts("done");
    return 0;
}
