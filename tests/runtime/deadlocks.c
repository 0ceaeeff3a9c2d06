/* Programs that can go no further, each by another kind of wait, shaped so that every schedule
 * leads there; and waits that look like that but are not. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t fork_lock[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
                                       PTHREAD_MUTEX_INITIALIZER};
static pthread_cond_t signalled = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t all_have_one, too_many;
static sem_t tickets;
static pthread_once_t control = PTHREAD_ONCE_INIT;
static mtx_t c11_lock;
static pthread_t other[3];

static void *lock_second_first(void *unused) {
    pthread_mutex_lock(&second);
    pthread_barrier_wait(&all_have_one);
    pthread_mutex_lock(&first); /* LINE second-first */
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return unused;
}

static void abba(void) {
    pthread_barrier_init(&all_have_one, NULL, 2);
    pthread_create(&other[0], NULL, lock_second_first, NULL);
    pthread_mutex_lock(&first);
    pthread_barrier_wait(&all_have_one);
    pthread_mutex_lock(&second); /* LINE first-second */
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    pthread_join(other[0], NULL);
}

static void self(void) {
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&first); /* LINE self */
}

static void *dine(void *index) {
    long i = (long)index;
    pthread_mutex_lock(&fork_lock[i]);
    pthread_barrier_wait(&all_have_one);
    pthread_mutex_lock(&fork_lock[(i + 1) % 3]); /* LINE dine */
    return NULL;
}

static void philosophers(void) {
    pthread_barrier_init(&all_have_one, NULL, 3);
    for (long i = 0; i < 3; i++) pthread_create(&other[i], NULL, dine, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(other[i], NULL);
}

static void *join_other(void *index) {
    pthread_barrier_wait(&all_have_one);
    pthread_join(other[((long)index + 1) % 3], NULL); /* LINE join */
    return NULL;
}

static void join_cycle(void) {
    pthread_barrier_init(&all_have_one, NULL, 4);
    for (long i = 0; i < 3; i++) pthread_create(&other[i], NULL, join_other, (void *)i);
    pthread_barrier_wait(&all_have_one);
    pthread_exit(NULL);
}

static void *wait_for_signal(void *unused) {
    pthread_mutex_lock(&first);
    pthread_cond_wait(&signalled, &first); /* LINE cond */
    pthread_mutex_unlock(&first);
    return unused;
}

static void lost_signal(void) {
    pthread_cond_signal(&signalled);
    for (int i = 0; i < 2; i++) pthread_create(&other[i], NULL, wait_for_signal, NULL);
    for (int i = 0; i < 2; i++) pthread_join(other[i], NULL);
}

static void *upgrade(void *unused) {
    pthread_rwlock_rdlock(&table_lock);
    pthread_barrier_wait(&all_have_one);
    pthread_rwlock_wrlock(&table_lock); /* LINE upgrade */
    return unused;
}

static void rwlock_upgrade(void) {
    pthread_barrier_init(&all_have_one, NULL, 2);
    for (int i = 0; i < 2; i++) pthread_create(&other[i], NULL, upgrade, NULL);
    for (int i = 0; i < 2; i++) pthread_join(other[i], NULL);
}

static void semaphore(void) {
    sem_init(&tickets, 0, 1);
    sem_wait(&tickets);
    sem_wait(&tickets); /* LINE sem */
}

static void barrier(void) {
    pthread_barrier_init(&too_many, NULL, 2);
    pthread_barrier_wait(&too_many); /* LINE barrier */
}

static void spin_self(void) {
    pthread_spin_init(&spin, 0);
    pthread_spin_lock(&spin);
    pthread_spin_lock(&spin); /* LINE spin */
}

static void *run_once(void *unused);
static void initialise(void) {
    pthread_create(&other[0], NULL, run_once, NULL);
    pthread_join(other[0], NULL); /* LINE initialiser */
}
static void *run_once(void *unused) {
    pthread_once(&control, initialise); /* LINE once */
    return unused;
}

static void once(void) { pthread_once(&control, initialise); }

static void c11(void) {
    mtx_init(&c11_lock, mtx_plain);
    mtx_lock(&c11_lock);
    mtx_lock(&c11_lock); /* LINE c11 */
}

/* The cycle is complete though another thread is busy elsewhere, and will be for long. */
static void *sleep_long(void *unused) {
    sleep(60);
    return unused;
}
static void abba_beside_sleeper(void) {
    pthread_create(&other[1], NULL, sleep_long, NULL);
    usleep(20000);
    abba();
}
static void *read_for_ever(void *end) {
    char byte;
    return read(*(int *)end, &byte, 1) == 1 ? NULL : end;
}
static void join_beside_reader(void) {
    static int ends[2];
    pthread_t reader;
    if (pipe(ends) != 0) exit(9);
    pthread_create(&reader, NULL, read_for_ever, ends);
    usleep(20000);
    join_cycle();
}

/* ---- not deadlocks ------------------------------------------------------------------------- */

static volatile sig_atomic_t handled;
static void post(int number) {
    (void)number;
    handled = 1;
    sem_post(&tickets);
}
static void install(void) {
    struct sigaction action = {.sa_handler = post, .sa_flags = SA_RESTART};
    sem_init(&tickets, 0, 0);
    sigaction(SIGALRM, &action, NULL);
    struct itimerval soon_once = {.it_value = {.tv_usec = 100000}};
    setitimer(ITIMER_REAL, &soon_once, NULL);
}
static void sem_and_handler(void) {
    install();
    while (sem_wait(&tickets) != 0 && errno == EINTR) {
    }
    puts(handled ? "handled" : "not handled");
}
static void pause_and_handler(void) {
    install();
    while (!handled) pause();
    puts("handled");
}
static void *join_main_later(void *unused) {
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    return unused;
}
static void lock_and_handler(void) { /* main holds the lock and waits for the handler */
    install();
    pthread_mutex_lock(&first);
    pthread_create(&other[0], NULL, join_main_later, NULL);
    while (!handled) pause();
    pthread_mutex_unlock(&first);
    pthread_join(other[0], NULL);
    puts("handled");
}
static void error_checked(void) {
    pthread_mutexattr_t checked;
    pthread_mutex_t lock;
    pthread_mutexattr_init(&checked);
    pthread_mutexattr_settype(&checked, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&lock, &checked);
    pthread_mutex_lock(&lock);
    puts(pthread_mutex_lock(&lock) == EDEADLK ? "EDEADLK" : "no error");
    puts(pthread_join(pthread_self(), NULL) == EDEADLK ? "EDEADLK" : "no error");
}
static struct timespec soon(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += 50 * 1000000;
    if (time.tv_nsec >= 1000000000) time.tv_sec++, time.tv_nsec -= 1000000000;
    return time;
}
static void timed(void) {
    struct timespec deadline = soon();
    pthread_mutex_lock(&first);
    puts(pthread_mutex_timedlock(&first, &deadline) == ETIMEDOUT ? "ETIMEDOUT" : "no timeout");
    deadline = soon();
    puts(pthread_cond_timedwait(&signalled, &first, &deadline) == ETIMEDOUT ? "ETIMEDOUT"
                                                                            : "no timeout");
    sem_init(&tickets, 0, 0);
    deadline = soon();
    puts(sem_timedwait(&tickets, &deadline) == -1 && errno == ETIMEDOUT ? "ETIMEDOUT"
                                                                        : "no timeout");
    pthread_rwlock_rdlock(&table_lock);
    deadline = soon();
    puts(pthread_rwlock_timedwrlock(&table_lock, &deadline) == ETIMEDOUT ? "ETIMEDOUT"
                                                                         : "no timeout");
}
/* One of two threads in a circle gives up: the other goes on. */
static void *lock_timed(void *unused) {
    struct timespec deadline = soon();
    pthread_mutex_lock(&second);
    pthread_barrier_wait(&all_have_one);
    puts(pthread_mutex_timedlock(&first, &deadline) == ETIMEDOUT ? "ETIMEDOUT" : "no timeout");
    pthread_mutex_unlock(&second);
    return unused;
}
static void abba_timed(void) {
    pthread_barrier_init(&all_have_one, NULL, 2);
    pthread_create(&other[0], NULL, lock_timed, NULL);
    pthread_mutex_lock(&first);
    pthread_barrier_wait(&all_have_one);
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    pthread_join(other[0], NULL);
    puts("done");
}

static const struct {
    const char *name;
    void (*run)(void);
} kind[] = {{"abba", abba},
            {"self", self},
            {"philosophers", philosophers},
            {"join", join_cycle},
            {"cond", lost_signal},
            {"upgrade", rwlock_upgrade},
            {"sem", semaphore},
            {"barrier", barrier},
            {"spin", spin_self},
            {"once", once},
            {"c11", c11},
            {"abba-sleeper", abba_beside_sleeper},
            {"join-reader", join_beside_reader},
            {"sem-handler", sem_and_handler},
            {"pause-handler", pause_and_handler},
            {"lock-handler", lock_and_handler},
            {"checked", error_checked},
            {"timed", timed},
            {"abba-timed", abba_timed}};

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof kind / sizeof *kind; i++)
        if (strcmp(argv[1], kind[i].name) == 0) {
            kind[i].run();
            return 0;
        }
    return 3;
}
