/* The bank of bank_av_8.c with a repair that does not help: every single access to an account is
 * locked, and a condition variable keeps all threads waiting until the accounts have their first
 * deposits. No race is left, but rebook() still empties its account in one critical section and
 * fills it in another, and the neighbour may look in between. Repaired by holding the lock for the
 * whole transaction. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ACCOUNTS = 8, DEPOSIT = 100, INTEREST = 10 };

static int balance[ACCOUNTS];
static int empty_seen[ACCOUNTS];
static int bank_open;
static pthread_mutex_t bank_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bank_opened = PTHREAD_COND_INITIALIZER;

static void rebook(int account) {
    pthread_mutex_lock(&bank_lock);
    int amount = balance[account];
    balance[account] = 0;
#ifndef FIXED
    pthread_mutex_unlock(&bank_lock);
#endif
    usleep(10); /* the money is on its way */
#ifndef FIXED
    pthread_mutex_lock(&bank_lock);
#endif
    balance[account] = amount + INTEREST;
    pthread_mutex_unlock(&bank_lock);
}

static void *keep_account(void *argument) {
    int self = *(int *)argument;
    pthread_mutex_lock(&bank_lock);
    while (!bank_open) pthread_cond_wait(&bank_opened, &bank_lock);
    pthread_mutex_unlock(&bank_lock);

    rebook(self);
    usleep(8000);
    pthread_mutex_lock(&bank_lock);
    empty_seen[self] = balance[(self + 1) % ACCOUNTS] == 0;
    pthread_mutex_unlock(&bank_lock);
    return NULL;
}

int main(void) {
    static int numbers[ACCOUNTS];
    pthread_t threads[ACCOUNTS];
    int total = 0, empty = 0;
    for (int i = 0; i < ACCOUNTS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, keep_account, &numbers[i]);
    }
    pthread_mutex_lock(&bank_lock);
    for (int i = 0; i < ACCOUNTS; i++) balance[i] = DEPOSIT;
    bank_open = 1;
    for (int i = 0; i < ACCOUNTS; i++) pthread_cond_signal(&bank_opened); /* one for each thread */
    pthread_mutex_unlock(&bank_lock);
    for (int i = 0; i < ACCOUNTS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < ACCOUNTS; i++) {
        total += balance[i];
        empty += empty_seen[i];
    }
    printf("total %d, found empty %d\n", total, empty);
    return empty == 0 ? 0 : 1;
}
