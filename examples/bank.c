/* Two accounts, each with a lock of its own. Two transfers that go opposite ways can deadlock. */
#include <pthread.h>
#include <stdio.h>

static struct account {
    pthread_mutex_t lock;
    int balance;
} checking = {PTHREAD_MUTEX_INITIALIZER, 100}, savings = {PTHREAD_MUTEX_INITIALIZER, 200};

static void transfer(struct account *from, struct account *to, int amount) {
    pthread_mutex_lock(&from->lock);
    pthread_mutex_lock(&to->lock);
    from->balance -= amount;
    to->balance += amount;
    pthread_mutex_unlock(&to->lock);
    pthread_mutex_unlock(&from->lock);
}

static void *save(void *unused) {
    transfer(&checking, &savings, 30);
    return unused;
}

static void *spend(void *unused) {
    transfer(&savings, &checking, 50);
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, save, NULL);
    pthread_create(&second, NULL, spend, NULL);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    printf("%d %d\n", checking.balance, savings.balance);
    return 0;
}
