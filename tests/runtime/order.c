/* Threads take turns in a section that is guarded in one of many ways; in the section each writes
 * the next element of `turn`. The order of these writes in a trace is then the order in which they
 * happened. With "stripes" there are many mutexes, each with turns of its own, with "phases"
 * barriers, and with "versions" atomic counters that are read more often than changed, beside plain
 * data: there each thread says what it saw. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3, TURNS = 200 };

int turn[THREADS * TURNS + 1];
int next;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t semaphore, baton[THREADS];
static atomic_int flag;
static int whose;
static const char *how;
enum { PLACES = 5, MANY = 10000 };
static int got[THREADS][MANY], place[THREADS][MANY];
int striped[PLACES][THREADS * MANY];
static struct {
    pthread_mutex_t mutex;
    int next;
} stripe[PLACES];
static struct {
    atomic_int count;
    volatile int plain;
} version[PLACES]; /* two of them side by side in 16 bytes */

static unsigned draw(unsigned *state) {
    return *state = *state * 1103515245u + 12345u, *state >> 16;
}

static void section(long me) {
    int v = next;
    turn[v] = (int)me;
    next = v + 1;
}

static void one_of_stripes(long me, unsigned *state) {
    unsigned n = draw(state) % PLACES;
    if (draw(state) % 4 == 0) {
        while (pthread_mutex_trylock(&stripe[n].mutex) != 0) {
        }
    } else {
        pthread_mutex_lock(&stripe[n].mutex);
    }
    striped[n][stripe[n].next++] = (int)me;
    pthread_mutex_unlock(&stripe[n].mutex);
}

static void one_of_versions(int *where, int *saw, unsigned *state) {
    unsigned n = draw(state) % PLACES, what = draw(state) % 16;
    *where = (int)n;
    if (what == 0)
        *saw = atomic_fetch_add(&version[n].count, 1);
    else if (what < 3)
        atomic_compare_exchange_strong(&version[n].count, saw, *saw + 1);
    else
        *saw = atomic_load(&version[n].count);
    if (what > 12) version[n].plain = (int)what;
}

enum { CELLS = 200, PHASES = 20 };
long cell[THREADS][CELLS];

/* In each phase a thread reads what the others have written in the one before. */
static void *work_in_phases(void *argument) {
    long me = (long)argument, sum = 0;
    for (int phase = 1; phase <= PHASES; phase++) {
        for (int i = 0; i < CELLS; i++) cell[me][i] = phase;
        pthread_barrier_wait(&barrier);
        for (int t = 0; t < THREADS; t++)
            for (int i = 0; t != me && i < CELLS; i++) sum += cell[t][i];
        pthread_barrier_wait(&barrier);
    }
    return (void *)sum;
}

static void *work_on_many(void *argument) {
    long me = (long)argument;
    unsigned state = (unsigned)me;
    bool stripes = strcmp(how, "stripes") == 0;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < MANY; i++) {
        if (stripes)
            one_of_stripes(me, &state);
        else
            one_of_versions(&place[me][i], &got[me][i], &state);
    }
    return NULL;
}

static void *work(void *argument) {
    long me = (long)argument;
    for (int i = 0; i < TURNS; i++) {
        if (strcmp(how, "mutex") == 0) {
            pthread_mutex_lock(&mutex);
            section(me);
            pthread_mutex_unlock(&mutex);
        } else if (strcmp(how, "rwlock") == 0) {
            pthread_rwlock_rdlock(&rwlock);
            volatile int seen = next;
            (void)seen;
            pthread_rwlock_unlock(&rwlock);
            pthread_rwlock_wrlock(&rwlock);
            section(me);
            pthread_rwlock_unlock(&rwlock);
        } else if (strcmp(how, "spin") == 0) {
            pthread_spin_lock(&spin);
            section(me);
            pthread_spin_unlock(&spin);
        } else if (strcmp(how, "sem") == 0) {
            sem_wait(&semaphore);
            section(me);
            sem_post(&semaphore);
        } else if (strcmp(how, "atomic") == 0) {
            while (atomic_exchange_explicit(&flag, 1, memory_order_acquire) == 1) {
            }
            section(me);
            atomic_store_explicit(&flag, 0, memory_order_release);
        } else if (strcmp(how, "cond") == 0) {
            pthread_mutex_lock(&mutex);
            while (whose != me) pthread_cond_wait(&changed, &mutex);
            section(me);
            whose = (whose + 1) % THREADS;
            pthread_cond_broadcast(&changed);
            pthread_mutex_unlock(&mutex);
        } else if (strcmp(how, "batons") == 0) { /* ordered by nothing but posts and waits */
            sem_wait(&baton[me]);
            section(me);
            sem_post(&baton[(me + 1) % THREADS]);
        } else if (strcmp(how, "barrier") == 0) {
            for (int phase = 0; phase < THREADS; phase++) {
                if (phase == me) section(me);
                pthread_barrier_wait(&barrier);
            }
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread[THREADS];
    how = argc > 1 ? argv[1] : "mutex";
    bool many = strcmp(how, "stripes") == 0 || strcmp(how, "versions") == 0;
    bool phases = strcmp(how, "phases") == 0;
    pthread_spin_init(&spin, 0);
    pthread_barrier_init(&barrier, NULL, THREADS);
    sem_init(&semaphore, 0, 1);
    for (int i = 0; i < THREADS; i++) sem_init(&baton[i], 0, i == 0);
    for (int i = 0; i < PLACES; i++) pthread_mutex_init(&stripe[i].mutex, NULL);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL,
                       phases ? work_in_phases
                       : many ? work_on_many
                              : work,
                       (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    if (strcmp(how, "stripes") == 0 || phases) return 0;
    if (!many) return next != THREADS * TURNS;
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < MANY; k++) printf("T%d %d %d\n", i + 1, place[i][k], got[i][k]);
    return 0;
}
