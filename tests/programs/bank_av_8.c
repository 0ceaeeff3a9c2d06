/* Eight accounts, a thread each, without any lock around a transaction: rebook() empties its
 * account and books the money back with interest; the neighbour's thread, who vouches for the
 * account, may look at it in between and find it empty. Repaired by a transaction lock. See
 * bank_sav_8.c for a repair that does not help. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ACCOUNTS = 8, DEPOSIT = 100, INTEREST = 10 };

static int balance[ACCOUNTS];
static int empty_seen[ACCOUNTS];
static int interest_paid;
static pthread_mutex_t transaction_lock = PTHREAD_MUTEX_INITIALIZER;

static void begin_transaction(void) {
#ifdef FIXED
    pthread_mutex_lock(&transaction_lock);
#endif
}

static void end_transaction(void) {
#ifdef FIXED
    pthread_mutex_unlock(&transaction_lock);
#endif
}

static void rebook(int account) {
    begin_transaction();
    int amount = balance[account];
    balance[account] = 0;
    usleep(10); /* the money is on its way */
    balance[account] = amount + INTEREST;
    end_transaction();
}

static void vouch_for(int account, int *found_empty) {
    begin_transaction();
    *found_empty = balance[account] == 0;
    end_transaction();
}

static void *keep_account(void *argument) {
    int self = *(int *)argument;
    rebook(self);
    usleep(8000);
    vouch_for((self + 1) % ACCOUNTS, &empty_seen[self]);
    pthread_mutex_lock(&transaction_lock);
    interest_paid += INTEREST;
    pthread_mutex_unlock(&transaction_lock);
    return NULL;
}

int main(void) {
    static int numbers[ACCOUNTS];
    pthread_t threads[ACCOUNTS];
    int empty = 0;
    for (int i = 0; i < ACCOUNTS; i++) {
        numbers[i] = i;
        balance[i] = DEPOSIT;
    }
    for (int i = 0; i < ACCOUNTS; i++) pthread_create(&threads[i], NULL, keep_account, &numbers[i]);
    for (int i = 0; i < ACCOUNTS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < ACCOUNTS; i++) empty += empty_seen[i];
    printf("interest %d, found empty %d\n", interest_paid, empty);
    return empty == 0 ? 0 : 1;
}
