/* Transfers round a ring of accounts, one thread each, with both accounts locked in one order: no
 * race, no deadlock, every transfer atomic. But a transfer that comes before the one that brings
 * its money is refused, so the balances depend on the schedule. Repaired by handing the transfers
 * in and booking them in order after the threads have been joined. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { ACCOUNTS = 3, AMOUNT = 150 };

struct account {
    pthread_mutex_t lock;
    int balance;
};

static struct account accounts[ACCOUNTS] = {{PTHREAD_MUTEX_INITIALIZER, 200},
                                            {PTHREAD_MUTEX_INITIALIZER, 0},
                                            {PTHREAD_MUTEX_INITIALIZER, 0}};
#ifdef FIXED
static int handed_in[ACCOUNTS];
#endif

static void transfer(int from, int to, int amount) {
    struct account *first = &accounts[from < to ? from : to];
    struct account *second = &accounts[from < to ? to : from];
    pthread_mutex_lock(&first->lock);
    pthread_mutex_lock(&second->lock);
    if (accounts[from].balance >= amount) {
        accounts[from].balance -= amount;
        accounts[to].balance += amount;
    }
    pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
}

static void *pay_neighbour(void *argument) {
    int self = *(int *)argument;
    usleep((useconds_t)self * 4000);
#ifdef FIXED
    handed_in[self] = AMOUNT;
#else
    transfer(self, (self + 1) % ACCOUNTS, AMOUNT);
#endif
    return NULL;
}

int main(void) {
    static int numbers[ACCOUNTS] = {0, 1, 2};
    pthread_t threads[ACCOUNTS];
    for (int i = 0; i < ACCOUNTS; i++)
        pthread_create(&threads[i], NULL, pay_neighbour, &numbers[i]);
    for (int i = 0; i < ACCOUNTS; i++) pthread_join(threads[i], NULL);
#ifdef FIXED
    for (int i = 0; i < ACCOUNTS; i++) transfer(i, (i + 1) % ACCOUNTS, handed_in[i]);
#endif
    printf("balances %d %d %d\n", accounts[0].balance, accounts[1].balance, accounts[2].balance);
    return accounts[0].balance == 200 ? 0 : 1;
}
