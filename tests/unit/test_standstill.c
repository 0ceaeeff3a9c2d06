/* Processes of which nobody can go on are told from those where somebody can, or may be woken. */
#define _GNU_SOURCE
#include "base/clock.h"
#include "run/standstill.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *wait_for_lock(void *unused) {
    pthread_mutex_lock(&lock);
    return unused;
}
static void *wait_for_change(void *unused) {
    pthread_mutex_lock(&other);
    for (;;) pthread_cond_wait(&changed, &other);
    return unused;
}
static void *wait_a_while(void *unused) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&other);
    pthread_cond_timedwait(&changed, &other, &until);
    return unused;
}
static void *take_turns(void *which) {
    pthread_mutex_lock(&other);
    for (;;) {
        while (turn != (which != NULL)) pthread_cond_wait(&changed, &other);
        pthread_mutex_unlock(&other);
        usleep(20000);
        pthread_mutex_lock(&other);
        turn = which == NULL;
        pthread_cond_broadcast(&changed);
    }
    return which;
}
static void *pause_for_ever(void *unused) {
    pause();
    return unused;
}
static void *compute(void *unused) {
    for (volatile unsigned i = 0;; i++) {
    }
    return unused;
}

static pthread_t start(void *(*work)(void *), void *argument) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, argument) != 0) _exit(1);
    return thread;
}
static void join(pthread_t thread) { pthread_join(thread, NULL); }

static void wake(int number) { (void)number; }

/* What the process under test does. */
static void deadlock(void) {
    pthread_mutex_lock(&lock);
    start(wait_for_change, NULL);
    join(start(wait_for_lock, NULL));
}
static void alone(void) {
    pthread_mutex_lock(&lock);
    wait_for_lock(NULL);
}
static void limited(void) {
    pthread_mutex_lock(&lock);
    start(wait_a_while, NULL);
    wait_for_lock(NULL);
}
static void busy(void) {
    start(take_turns, NULL);
    join(start(take_turns, &turn));
}
static void paused(void) {
    start(pause_for_ever, NULL);
    deadlock();
}
static void computing(void) {
    start(compute, NULL);
    deadlock();
}
static void with_child(void) {
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
    }
    deadlock();
}
static void with_alarm(void) {
    signal(SIGALRM, wake);
    alarm(60);
    deadlock();
}
static void with_timer(void) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec when = {.it_value.tv_sec = 60};
    signal(SIGUSR1, wake);
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) _exit(1);
    timer_settime(timer, 0, &when, NULL);
    deadlock();
}

/* The longest standstill that is seen within a second. */
static uint64_t longest(void (*work)(void)) {
    pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        work();
        _exit(0);
    }
    struct hd_standstill still = {0};
    uint64_t most = 0, end = hd_now_ns() + 1000000000u;
    while (hd_now_ns() < end) {
        uint64_t ns = hd_standstill_ns(&still, process, hd_now_ns());
        if (ns > most) most = ns;
        usleep(50000);
    }
    assert_int_equal(waitpid(process, NULL, WNOHANG), 0); /* it did not end by itself */
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
    return most;
}

static void deadlocks_are_seen(void **state) {
    (void)state;
    assert_in_range(longest(deadlock), 300000000u, 1200000000u);
    assert_in_range(longest(alone), 300000000u, 1200000000u);
}

static void others_are_not(void **state) {
    (void)state;
    void (*work[])(void) = {limited, paused, computing, with_child, with_alarm, with_timer};
    for (size_t i = 0; i < sizeof work / sizeof *work; i++)
        if (longest(work[i]) != 0) fail_msg("number %zu is taken for a deadlock", i);
    assert_in_range(longest(busy), 0, 300000000u);
}

static void no_process_is_no_standstill(void **state) {
    (void)state;
    struct hd_standstill still = {0};
    pid_t process = fork();
    if (process == 0) _exit(0);
    waitpid(process, NULL, 0);
    assert_int_equal(hd_standstill_ns(&still, process, 1), 0);
    assert_int_equal(hd_standstill_ns(&still, process, 2), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(deadlocks_are_seen),
                                       cmocka_unit_test(others_are_not),
                                       cmocka_unit_test(no_process_is_no_standstill)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
