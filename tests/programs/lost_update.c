/* Lost update without a race: every access to `balance` is locked, but it is read in one critical
 * section and written in another. Goes wrong when two deposits read the same balance. Repaired by
 * one section around both. */
#include <pthread.h>
#include <stdio.h>

static int balance = 100;
static pthread_mutex_t account_lock = PTHREAD_MUTEX_INITIALIZER;

static void *deposit(void *argument) {
    int amount = *(int *)argument;
    pthread_mutex_lock(&account_lock);
    int seen = balance;
#ifndef FIXED
    pthread_mutex_unlock(&account_lock);
    pthread_mutex_lock(&account_lock);
#endif
    balance = seen + amount;
    pthread_mutex_unlock(&account_lock);
    return NULL;
}

int main(void) {
    static int amounts[2] = {20, 30};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, deposit, &amounts[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("balance %d\n", balance);
    return balance == 150 ? 0 : 1;
}
