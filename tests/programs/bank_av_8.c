/* Eight accounts, a thread each, without any lock around a transaction: book() enters an amount and
 * prints the receipt from what is then in the account; the neighbour's thread cancels the booking
 * and may do so in between, so that the receipt says nothing was paid. Repaired by a transaction
 * lock. See bank_sav_8.c for a repair that does not help. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ACCOUNTS = 8, AMOUNT = 100 };

static int balance[ACCOUNTS], receipt[ACCOUNTS];
static int bookings;
static pthread_mutex_t bank_lock = PTHREAD_MUTEX_INITIALIZER;

static void begin_transaction(void) {
#ifdef FIXED
    pthread_mutex_lock(&bank_lock);
#endif
}

static void end_transaction(void) {
#ifdef FIXED
    pthread_mutex_unlock(&bank_lock);
#endif
}

static void book(int account) {
    begin_transaction();
    balance[account] = AMOUNT;
    usleep(10); /* the printer warms up */
    receipt[account] = balance[account];
    end_transaction();
}

static void cancel(int account) {
    begin_transaction();
    balance[account] = 0;
    end_transaction();
}

static void *keep_account(void *argument) {
    int self = *(int *)argument;
    book(self);
    usleep(20000);
    cancel((self + ACCOUNTS - 1) % ACCOUNTS);
    pthread_mutex_lock(&bank_lock);
    bookings++;
    pthread_mutex_unlock(&bank_lock);
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
    for (int i = 0; i < ACCOUNTS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < ACCOUNTS; i++) paid += receipt[i];
    printf("%d bookings, receipts %d\n", bookings, paid);
    return paid == ACCOUNTS * AMOUNT ? 0 : 1;
}
