/* Deadlock by lock order: two transfers in opposite directions lock the two accounts in opposite
 * orders. Repaired by always locking the account with the smaller number first. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct account {
    int number;
    int balance;
    pthread_mutex_t lock;
};

static struct account checking = {1, 100, PTHREAD_MUTEX_INITIALIZER};
static struct account savings = {2, 200, PTHREAD_MUTEX_INITIALIZER};

static void transfer(struct account *from, struct account *to, int amount) {
    struct account *first = from, *second = to;
#ifdef FIXED
    if (second->number < first->number) {
        first = to;
        second = from;
    }
#endif
    pthread_mutex_lock(&first->lock);
    pthread_mutex_lock(&second->lock);
    from->balance -= amount;
    to->balance += amount;
    pthread_mutex_unlock(&second->lock);
    pthread_mutex_unlock(&first->lock);
}

static void *save(void *unused) {
    (void)unused;
    transfer(&checking, &savings, 30);
    return NULL;
}

static void *spend(void *unused) {
    (void)unused;
    usleep(5000);
    transfer(&savings, &checking, 50);
    return NULL;
}

int main(void) {
    pthread_t saver, spender;
    pthread_create(&saver, NULL, save, NULL);
    pthread_create(&spender, NULL, spend, NULL);
    pthread_join(saver, NULL);
    pthread_join(spender, NULL);
    printf("checking %d savings %d\n", checking.balance, savings.balance);
    return checking.balance == 120 && savings.balance == 180 ? 0 : 1;
}
