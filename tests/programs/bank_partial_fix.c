/* A bank account whose race was "fixed" only for the update: the subtraction is locked, the test
 * that allows it is not. Two withdrawals may both pass the test and overdraw the account. Repaired
 * by testing inside the section. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int balance = 100;
static pthread_mutex_t account_lock = PTHREAD_MUTEX_INITIALIZER;

static void *withdraw(void *argument) {
    int amount = 60;
    if (*(int *)argument != 0) usleep(5000);
#ifdef FIXED
    pthread_mutex_lock(&account_lock);
    if (balance >= amount) balance -= amount;
    pthread_mutex_unlock(&account_lock);
#else
    if (balance >= amount) {
        pthread_mutex_lock(&account_lock);
        balance -= amount;
        pthread_mutex_unlock(&account_lock);
    }
#endif
    return NULL;
}

int main(void) {
    static int later[2] = {0, 1};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, withdraw, &later[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("balance %d\n", balance);
    return balance == 40 ? 0 : 1;
}
