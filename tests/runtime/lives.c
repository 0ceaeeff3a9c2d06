/* Synchronisation objects that are made and destroyed: `lives WHAT`, one case each. Those named
 * late_ and early_ are wrong, the others are right. */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, own;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t sem;
static int flag;
static _Atomic int ready;

static void *none(void *unused) { return unused; }

/* ---- wrong ---------------------------------------------------------------------------------- */

static void *locks_own(void *unused) {
    pthread_mutex_lock(&own);
    pthread_mutex_unlock(&own);
    return unused;
}
static void late_mutex(void) {
    pthread_t t;
    pthread_mutex_init(&own, NULL);
    pthread_create(&t, NULL, locks_own, NULL);
    pthread_mutex_destroy(&own);
    pthread_join(t, NULL);
}
static void late_static(void) {
    pthread_t t;
    pthread_create(&t, NULL, locks_own, NULL);
    pthread_create(&t, NULL, none, NULL);
    pthread_join(t, NULL);
    pthread_mutex_destroy(&own);
}
/* The flag is set before the lock is given back. */
static void *unlocks_late(void *unused) {
    pthread_mutex_lock(&own);
    ready = 1;
    pthread_mutex_unlock(&own);
    return unused;
}
static void late_unlock(void) {
    pthread_t t;
    pthread_mutex_init(&own, NULL);
    pthread_create(&t, NULL, unlocks_late, NULL);
    while (!ready) continue;
    pthread_mutex_destroy(&own);
    pthread_join(t, NULL);
}
static void *reads_rw(void *unused) {
    pthread_rwlock_rdlock(&rw);
    pthread_rwlock_unlock(&rw);
    return unused;
}
static void late_rwlock(void) {
    pthread_t t;
    pthread_rwlock_init(&rw, NULL);
    pthread_create(&t, NULL, reads_rw, NULL);
    pthread_rwlock_destroy(&rw);
    pthread_join(t, NULL);
}
static void *spins(void *unused) {
    pthread_spin_lock(&spin);
    pthread_spin_unlock(&spin);
    return unused;
}
static void late_spin(void) {
    pthread_t t;
    pthread_spin_init(&spin, 0);
    pthread_create(&t, NULL, spins, NULL);
    pthread_spin_destroy(&spin);
    pthread_join(t, NULL);
}
static void *posts(void *unused) {
    sem_post(&sem);
    return unused;
}
static void late_sem(void) {
    pthread_t t;
    sem_init(&sem, 0, 1);
    pthread_create(&t, NULL, posts, NULL);
    sem_wait(&sem);
    sem_destroy(&sem);
    pthread_join(t, NULL);
}
/* The signal comes after the lock is given back: the other may have gone on. */
static void *signals_late(void *unused) {
    pthread_mutex_lock(&m);
    flag = 1;
    pthread_mutex_unlock(&m);
    pthread_cond_signal(&c);
    return unused;
}
static void late_signal(void) {
    pthread_t t;
    pthread_create(&t, NULL, signals_late, NULL);
    pthread_mutex_lock(&m);
    while (!flag) {
        pthread_mutex_unlock(&m);
        pthread_mutex_lock(&m);
    }
    pthread_mutex_unlock(&m);
    pthread_cond_destroy(&c);
    pthread_join(t, NULL);
}
static void early_mutex(void) {
    pthread_t t;
    pthread_create(&t, NULL, locks_own, NULL);
    pthread_mutex_init(&own, NULL);
    pthread_join(t, NULL);
}
static void *arrives(void *unused) {
    pthread_barrier_wait(&barrier);
    return unused;
}
static void early_barrier(void) {
    pthread_t t;
    pthread_create(&t, NULL, arrives, NULL);
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_barrier_wait(&barrier);
    pthread_join(t, NULL);
}

/* ---- right ---------------------------------------------------------------------------------- */

static void joined(void) {
    for (int round = 0; round < 3; round++) {
        pthread_t t;
        pthread_mutex_init(&own, NULL);
        pthread_create(&t, NULL, locks_own, NULL);
        locks_own(NULL);
        pthread_join(t, NULL);
        pthread_mutex_destroy(&own);
    }
}
/* The last user destroys. */
struct counted {
    pthread_mutex_t lock;
    int users;
};
static void *drops(void *argument) {
    struct counted *o = argument;
    pthread_mutex_lock(&o->lock);
    int left = --o->users;
    pthread_mutex_unlock(&o->lock);
    if (left > 0) return NULL;
    pthread_mutex_destroy(&o->lock);
    free(o);
    return NULL;
}
static void counted(void) {
    struct counted *o = malloc(sizeof *o);
    pthread_mutex_init(&o->lock, NULL);
    o->users = 3;
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, drops, o);
    drops(o);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
}
/* A condition may be destroyed as soon as all who waited were woken. */
static void *waits(void *unused) {
    pthread_mutex_lock(&m);
    ready = 1;
    while (!flag) pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return unused;
}
static void woken(void) {
    pthread_t t;
    pthread_create(&t, NULL, waits, NULL);
    while (!ready) continue;
    pthread_mutex_lock(&m);
    flag = 1;
    pthread_cond_broadcast(&c);
    pthread_cond_destroy(&c);
    pthread_mutex_unlock(&m);
    pthread_join(t, NULL);
}
/* As soon as one's own wait is over, a barrier or a semaphore may go. */
static void barrier_over(void) {
    pthread_t t;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&t, NULL, arrives, NULL);
    pthread_barrier_wait(&barrier);
    pthread_barrier_destroy(&barrier);
    pthread_join(t, NULL);
}
static void sem_over(void) {
    pthread_t t;
    sem_init(&sem, 0, 0);
    pthread_create(&t, NULL, posts, NULL);
    sem_wait(&sem);
    sem_destroy(&sem);
    pthread_join(t, NULL);
}
/* One after the other at one place of the stack, each made by its initialiser. */
static void *locks_that(void *lock) {
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return NULL;
}
static __attribute__((noinline)) void local(void) {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_t t;
    pthread_create(&t, NULL, locks_that, &lock);
    pthread_join(t, NULL);
    pthread_mutex_destroy(&lock);
}
static void locals(void) {
    for (int i = 0; i < 3; i++) local();
}

int main(int count, char **arguments) {
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"late_mutex", late_mutex},
                 {"late_static", late_static},
                 {"late_unlock", late_unlock},
                 {"late_rwlock", late_rwlock},
                 {"late_spin", late_spin},
                 {"late_sem", late_sem},
                 {"late_signal", late_signal},
                 {"early_mutex", early_mutex},
                 {"early_barrier", early_barrier},
                 {"joined", joined},
                 {"counted", counted},
                 {"woken", woken},
                 {"barrier_over", barrier_over},
                 {"sem_over", sem_over},
                 {"locals", locals}};
    for (size_t i = 0; count > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, arguments[1]) == 0) {
            cases[i].run();
            return 0;
        }
    return 2;
}
