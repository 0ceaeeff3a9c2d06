/* Dining philosophers (von Praun and Gross 2003): both forks are taken in one critical section and
 * put back in another, and a counter of all meals says when to stop. That is right: forks that were
 * taken are nobody else's, and the counter only grows. The twin counts the meals of each on his
 * own, and lets him eat inside the section. */
#include <pthread.h>
#include <stdio.h>

enum { PHILOSOPHERS = 3, MEALS = 6 };

struct table {
    pthread_mutex_t lock;
    pthread_cond_t put_back;
    int fork[PHILOSOPHERS]; /* 1: on the table */
    int meals;
};

static struct table table = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .put_back = PTHREAD_COND_INITIALIZER, .fork = {1, 1, 1}};

#ifdef FIXED
static void eat(struct table *t, int id) {
    pthread_mutex_lock(&t->lock);
    t->fork[id] = 0;
    t->fork[(id + 1) % PHILOSOPHERS] = 0;
    t->meals++;
    t->fork[id] = 1;
    t->fork[(id + 1) % PHILOSOPHERS] = 1;
    pthread_mutex_unlock(&t->lock);
}

static void *dine(void *argument) {
    const int *id = argument;
    for (int i = 0; i < MEALS / PHILOSOPHERS; i++) eat(&table, *id);
    return NULL;
}
#else
static int get_forks(struct table *t, int id) {
    int left = id, right = (id + 1) % PHILOSOPHERS;
    pthread_mutex_lock(&t->lock);
    while (!(t->fork[left] && t->fork[right])) pthread_cond_wait(&t->put_back, &t->lock);
    t->fork[left] = 0;
    t->fork[right] = 0;
    int meals = ++t->meals;
    pthread_mutex_unlock(&t->lock);
    return meals;
}

static void put_forks(struct table *t, int id) {
    pthread_mutex_lock(&t->lock);
    t->fork[id] = 1;
    t->fork[(id + 1) % PHILOSOPHERS] = 1;
    pthread_cond_broadcast(&t->put_back);
    pthread_mutex_unlock(&t->lock);
}

static void *dine(void *argument) {
    const int *id = argument;
    int meals = 0;
    while (meals < MEALS) {
        meals = get_forks(&table, *id);
        put_forks(&table, *id);
    }
    return NULL;
}
#endif

int main(void) {
    static int ids[PHILOSOPHERS] = {0, 1, 2};
    pthread_t threads[PHILOSOPHERS];
    int forks = 0;
    for (int i = 0; i < PHILOSOPHERS; i++) pthread_create(&threads[i], NULL, dine, &ids[i]);
    for (int i = 0; i < PHILOSOPHERS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < PHILOSOPHERS; i++) forks += table.fork[i];
    printf("%d forks\n", forks);
    return forks == PHILOSOPHERS && table.meals >= MEALS ? 0 : 1;
}
