/* Threads that wait for others without a call that waits. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static volatile int plain;
static atomic_int flag;
static atomic_flag taken = ATOMIC_FLAG_INIT;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static sem_t tickets;
static const char *how;
static long before_found;

static int seen(void) {
    if (strcmp(how, "plain") == 0) return plain;
    if (strcmp(how, "atomic") == 0) return atomic_load_explicit(&flag, memory_order_relaxed);
    if (strcmp(how, "exchange") == 0) return atomic_exchange(&flag, 0);
    if (strcmp(how, "compare") == 0) {
        int wanted = 1;
        return atomic_compare_exchange_weak(&flag, &wanted, 2);
    }
    if (strcmp(how, "flag") == 0) return !atomic_flag_test_and_set(&taken);
    if (strcmp(how, "trylock") == 0) return pthread_mutex_trylock(&held) == 0;
    if (strcmp(how, "trywait") == 0) return sem_trywait(&tickets) == 0;
    if (strcmp(how, "yield") == 0) sched_yield();
    if (strcmp(how, "thrd_yield") == 0) thrd_yield();
    if (strcmp(how, "sleep") == 0) usleep(100);
    if (strcmp(how, "pause") == 0) __builtin_ia32_pause();
    if (strcmp(how, "clock") == 0) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
    }
    return plain;
}

static void *wait_for_it(void *unused) {
    while (!seen()) before_found++;
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread[3];
    how = argc > 1 ? argv[1] : "plain";
    int count = strcmp(how, "plain") == 0 || strcmp(how, "atomic") == 0 ? 3 : 1;
    sem_init(&tickets, 0, 0);
    pthread_mutex_lock(&held);
    atomic_flag_test_and_set(&taken);
    for (int i = 0; i < count; i++) pthread_create(&thread[i], NULL, wait_for_it, NULL);
    sched_yield();
    plain = 1;
    atomic_store(&flag, 1);
    atomic_flag_clear(&taken);
    pthread_mutex_unlock(&held);
    sem_post(&tickets);
    for (int i = 0; i < count; i++) pthread_join(thread[i], NULL);
    puts("done");
    return 0;
}
