/* A bank account (von Praun and Gross 2003): the balance is read in one critical section, the sum
 * written in another, and a deposit in between is lost. Repaired by one section. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct account {
    pthread_mutex_t lock;
    const char *name;
    int balance;
};

static struct account account = {.lock = PTHREAD_MUTEX_INITIALIZER, .name = "savings"};

#ifdef FIXED
static void update(struct account *a, int amount) {
    pthread_mutex_lock(&a->lock);
    a->balance += amount;
    pthread_mutex_unlock(&a->lock);
}
#else
static int get_balance(struct account *a) {
    pthread_mutex_lock(&a->lock);
    int balance = a->balance;
    pthread_mutex_unlock(&a->lock);
    return balance;
}

static void set_balance(struct account *a, int balance) {
    pthread_mutex_lock(&a->lock);
    a->balance = balance;
    pthread_mutex_unlock(&a->lock);
}

static void update(struct account *a, int amount) {
    int sum = get_balance(a);
    sum = sum + amount;
    set_balance(a, sum); /* violation: stale-value get_balance set_balance */
}
#endif

static void *deposit(void *argument) {
    static const int amounts[] = {100, -30};
    const int *number = argument;
    usleep((useconds_t)*number * 5000);
    update(&account, amounts[*number]);
    return NULL;
}

int main(void) {
    static int numbers[2] = {0, 1};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, deposit, &numbers[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("%s %d\n", account.name, account.balance);
    return account.balance == 70 ? 0 : 1;
}
