/* The bank of bank_av_8.c with a repair that does not help: every single access to an account is
 * locked, and a condition variable keeps all threads waiting until the bank is open. No race is
 * left, but book() still enters the amount in one critical section and prints the receipt in
 * another, and the neighbour may cancel in between. Repaired by holding the lock for the whole
 * transaction. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ACCOUNTS = 8, AMOUNT = 100 };

static int balance[ACCOUNTS], receipt[ACCOUNTS];
static int bank_open;
static pthread_mutex_t bank_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bank_opened = PTHREAD_COND_INITIALIZER;

static void wait_for_opening(void) {
    pthread_mutex_lock(&bank_lock);
    while (!bank_open) pthread_cond_wait(&bank_opened, &bank_lock);
    pthread_mutex_unlock(&bank_lock);
}

static void book(int account) {
    pthread_mutex_lock(&bank_lock);
    balance[account] = AMOUNT;
#ifdef FIXED
    usleep(10); /* the printer warms up */
#else
    pthread_mutex_unlock(&bank_lock);
    pthread_mutex_lock(&bank_lock);
#endif
    receipt[account] = balance[account];
    pthread_mutex_unlock(&bank_lock);
}

static void cancel(int account) {
    pthread_mutex_lock(&bank_lock);
    balance[account] = 0;
    pthread_mutex_unlock(&bank_lock);
}

static void *keep_account(void *argument) {
    int self = *(int *)argument;
    wait_for_opening();
    book(self);
    usleep(12000);
    cancel((self + ACCOUNTS - 1) % ACCOUNTS);
    return NULL;
}

int main(void) {
    static int numbers[ACCOUNTS];
    pthread_t threads[ACCOUNTS];
    int paid = 0;
    for (int i = 0; i < ACCOUNTS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, keep_account, &numbers[i]);
    }
    pthread_mutex_lock(&bank_lock);
    bank_open = 1;
    for (int i = 0; i < ACCOUNTS; i++) pthread_cond_signal(&bank_opened); /* one for each thread */
    pthread_mutex_unlock(&bank_lock);
    for (int i = 0; i < ACCOUNTS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < ACCOUNTS; i++) paid += receipt[i];
    printf("receipts %d\n", paid);
    return paid == ACCOUNTS * AMOUNT ? 0 : 1;
}
