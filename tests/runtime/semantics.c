/* What every call of the thread library returns: printed, to be compared with the same program
 * without heddle. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SAY(call) printf("%-60s %s\n", #call, name(call))
#define SAY_ERRNO(call)                                                       \
    do {                                                                      \
        errno = 0;                                                            \
        int result_ = call;                                                   \
        printf("%-60s %d %s\n", #call, result_, result_ ? name(errno) : "0"); \
    } while (0)

static const char *name(int error) {
    static char text[32];
    const char *known = error ? strerrorname_np(error) : "0";
    if (known != NULL) return known;
    snprintf(text, sizeof text, "%d", error);
    return text;
}

static struct timespec in(clockid_t clock, long milliseconds) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += milliseconds / 1000;
    time.tv_nsec += milliseconds % 1000 * 1000000;
    if (time.tv_nsec >= 1000000000) time.tv_sec++, time.tv_nsec -= 1000000000;
    return time;
}

/* Runs a function in another thread and waits for it. */
static void elsewhere(void *(*function)(void *), void *argument) {
    pthread_t thread;
    pthread_create(&thread, NULL, function, argument);
    pthread_join(thread, NULL);
}

/* ---- mutexes ------------------------------------------------------------------------------- */

static void *use_mutex(void *mutex) {
    struct timespec soon = in(CLOCK_REALTIME, 20), bad = {0, -1}, past = {0, 0};
    SAY(pthread_mutex_trylock(mutex));
    SAY(pthread_mutex_timedlock(mutex, &soon));
    SAY(pthread_mutex_timedlock(mutex, &past));
    SAY(pthread_mutex_timedlock(mutex, &bad));
    soon = in(CLOCK_MONOTONIC, 20);
    SAY(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &soon));
    SAY(pthread_mutex_clocklock(mutex, CLOCK_PROCESS_CPUTIME_ID, &soon));
    return NULL;
}
static void *unlock_foreign(void *mutex) {
    SAY(pthread_mutex_unlock(mutex));
    return NULL;
}
static void *lock_and_end(void *mutex) {
    SAY(pthread_mutex_lock(mutex));
    return NULL;
}

static void mutexes(void) {
    static const int type[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
                               PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
    for (size_t i = 0; i < sizeof type / sizeof *type; i++) {
        pthread_mutexattr_t attributes;
        pthread_mutex_t mutex;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, type[i]);
        pthread_mutex_init(&mutex, &attributes);
        printf("mutex of type %d\n", type[i]);
        SAY(pthread_mutex_lock(&mutex));
        SAY(pthread_mutex_trylock(&mutex));
        if (type[i] == PTHREAD_MUTEX_RECURSIVE) SAY(pthread_mutex_lock(&mutex));
        if (type[i] == PTHREAD_MUTEX_ERRORCHECK) SAY(pthread_mutex_lock(&mutex));
        elsewhere(use_mutex, &mutex);
        if (type[i] != PTHREAD_MUTEX_NORMAL && type[i] != PTHREAD_MUTEX_ADAPTIVE_NP)
            elsewhere(unlock_foreign, &mutex);
        SAY(pthread_mutex_destroy(&mutex));
        SAY(pthread_mutex_unlock(&mutex));
        if (type[i] == PTHREAD_MUTEX_RECURSIVE) {
            elsewhere(use_mutex, &mutex);
            SAY(pthread_mutex_unlock(&mutex));
            SAY(pthread_mutex_unlock(&mutex));
        }
        if (type[i] == PTHREAD_MUTEX_RECURSIVE || type[i] == PTHREAD_MUTEX_ERRORCHECK)
            SAY(pthread_mutex_unlock(&mutex));
        SAY(pthread_mutex_destroy(&mutex));
    }
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&mutex, &attributes);
    puts("mutex with priority inheritance");
    SAY(pthread_mutex_lock(&mutex));
    elsewhere(use_mutex, &mutex);
    SAY(pthread_mutex_unlock(&mutex));
}

/* A thread that ends with the mutex locked. */
static void robust(void) {
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    puts("robust mutex");
    elsewhere(lock_and_end, &mutex);
    SAY(pthread_mutex_lock(&mutex));
    SAY(pthread_mutex_consistent(&mutex));
    SAY(pthread_mutex_unlock(&mutex));
    elsewhere(lock_and_end, &mutex);
    SAY(pthread_mutex_trylock(&mutex));
    SAY(pthread_mutex_unlock(&mutex));
    SAY(pthread_mutex_lock(&mutex));
}

/* ---- reader-writer locks, spin locks ------------------------------------------------------- */

static void *use_rwlock(void *lock) {
    struct timespec soon = in(CLOCK_REALTIME, 20), bad = {0, 1000000000};
    SAY(pthread_rwlock_tryrdlock(lock));
    SAY(pthread_rwlock_unlock(lock));
    SAY(pthread_rwlock_trywrlock(lock));
    SAY(pthread_rwlock_timedwrlock(lock, &soon));
    SAY(pthread_rwlock_timedwrlock(lock, &bad));
    soon = in(CLOCK_MONOTONIC, 20);
    SAY(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &soon));
    return NULL;
}
static void *use_write_locked(void *lock) {
    struct timespec soon = in(CLOCK_REALTIME, 20);
    SAY(pthread_rwlock_tryrdlock(lock));
    SAY(pthread_rwlock_timedrdlock(lock, &soon));
    return NULL;
}
static void rwlocks(void) {
    pthread_rwlock_t lock;
    pthread_rwlock_init(&lock, NULL);
    SAY(pthread_rwlock_rdlock(&lock));
    SAY(pthread_rwlock_rdlock(&lock));
    elsewhere(use_rwlock, &lock);
    SAY(pthread_rwlock_unlock(&lock));
    SAY(pthread_rwlock_unlock(&lock));
    SAY(pthread_rwlock_wrlock(&lock));
    SAY(pthread_rwlock_rdlock(&lock));
    SAY(pthread_rwlock_wrlock(&lock));
    SAY(pthread_rwlock_trywrlock(&lock));
    elsewhere(use_write_locked, &lock);
    SAY(pthread_rwlock_unlock(&lock));
    SAY(pthread_rwlock_destroy(&lock));

    pthread_spinlock_t spin;
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    SAY(pthread_spin_lock(&spin));
    SAY(pthread_spin_trylock(&spin));
    SAY(pthread_spin_unlock(&spin));
    SAY(pthread_spin_trylock(&spin));
    SAY(pthread_spin_unlock(&spin));
}

/* ---- barriers, once ------------------------------------------------------------------------ */

enum { PARTIES = 4, ROUNDS = 25 };
static pthread_barrier_t barrier;
static int serial[ROUNDS], others[ROUNDS], once_ran;
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t control = PTHREAD_ONCE_INIT;

static void run_once(void) { once_ran++; }

static void *take_part(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        int result = pthread_barrier_wait(&barrier);
        pthread_mutex_lock(&count_lock);
        if (result == PTHREAD_BARRIER_SERIAL_THREAD) serial[round]++;
        if (result == 0) others[round]++;
        pthread_mutex_unlock(&count_lock);
        pthread_once(&control, run_once);
    }
    return unused;
}

static void barriers(void) {
    pthread_t thread[PARTIES];
    SAY(pthread_barrier_init(&barrier, NULL, 0));
    SAY(pthread_barrier_init(&barrier, NULL, PARTIES));
    for (int i = 0; i < PARTIES; i++) pthread_create(&thread[i], NULL, take_part, NULL);
    for (int i = 0; i < PARTIES; i++) pthread_join(thread[i], NULL);
    for (int round = 0; round < ROUNDS; round++)
        if (serial[round] != 1 || others[round] != PARTIES - 1)
            printf("round %d: %d and %d\n", round, serial[round], others[round]);
    SAY(pthread_barrier_destroy(&barrier));
    SAY(pthread_once(&control, run_once));
    printf("ran %d times\n", once_ran);
    SAY(pthread_barrier_init(&barrier, NULL, 1));
    printf("alone: %d\n", pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
}

/* ---- semaphores ---------------------------------------------------------------------------- */

static void note(int number) { (void)number; }
static void *interrupt(void *thread) {
    usleep(30000);
    pthread_kill(*(pthread_t *)thread, SIGUSR1);
    return NULL;
}

static void semaphores(void) {
    sem_t semaphore;
    int value = -1;
    struct timespec soon = in(CLOCK_REALTIME, 20), bad = {0, -1};
    SAY_ERRNO(sem_init(&semaphore, 0, (unsigned)-1));
    SAY_ERRNO(sem_init(&semaphore, 0, 2));
    SAY_ERRNO(sem_wait(&semaphore));
    SAY_ERRNO(sem_trywait(&semaphore));
    SAY_ERRNO(sem_trywait(&semaphore));
    SAY_ERRNO(sem_timedwait(&semaphore, &soon));
    SAY_ERRNO(sem_timedwait(&semaphore, &bad));
    soon = in(CLOCK_MONOTONIC, 20);
    SAY_ERRNO(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &soon));
    SAY_ERRNO(sem_getvalue(&semaphore, &value));
    printf("value %d\n", value);
    struct sigaction action = {.sa_handler = note};
    sigaction(SIGUSR1, &action, NULL);
    pthread_t self = pthread_self(), thread;
    pthread_create(&thread, NULL, interrupt, &self);
    SAY_ERRNO(sem_wait(&semaphore));
    pthread_join(thread, NULL);
    SAY_ERRNO(sem_post(&semaphore));
    SAY_ERRNO(sem_post(&semaphore));
    SAY_ERRNO(sem_getvalue(&semaphore, &value));
    printf("value %d\n", value);
    SAY_ERRNO(sem_destroy(&semaphore));

    char path[64];
    snprintf(path, sizeof path, "/heddle-%d", (int)getpid());
    sem_t *named = sem_open(path, O_CREAT | O_EXCL, 0600, 1);
    printf("sem_open %d\n", named != SEM_FAILED);
    SAY_ERRNO(sem_wait(named));
    SAY_ERRNO(sem_trywait(named));
    soon = in(CLOCK_REALTIME, 20);
    SAY_ERRNO(sem_timedwait(named, &soon));
    SAY_ERRNO(sem_close(named));
    SAY_ERRNO(sem_unlink(path));
    errno = 0;
    printf("sem_open %d %s\n", sem_open(path, 0) == SEM_FAILED, name(errno));
}

/* ---- condition variables ------------------------------------------------------------------- */

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int turn;
static void *answer(void *unused) {
    pthread_mutex_lock(&count_lock);
    while (turn != 1) pthread_cond_wait(&cond, &count_lock);
    turn = 2;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&count_lock);
    return unused;
}
static void conditions(void) {
    pthread_mutexattr_t checked;
    pthread_mutex_t mutex;
    pthread_mutexattr_init(&checked);
    pthread_mutexattr_settype(&checked, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&mutex, &checked);
    struct timespec soon = in(CLOCK_REALTIME, 20), bad = {0, -1};
    SAY(pthread_cond_wait(&cond, &mutex)); /* not locked */
    SAY(pthread_mutex_lock(&mutex));
    SAY(pthread_cond_timedwait(&cond, &mutex, &soon));
    SAY(pthread_cond_timedwait(&cond, &mutex, &bad));
    soon = in(CLOCK_MONOTONIC, 20);
    SAY(pthread_cond_clockwait(&cond, &mutex, CLOCK_MONOTONIC, &soon));
    SAY(pthread_mutex_unlock(&mutex)); /* it was had back each time */
    pthread_condattr_t monotonic;
    pthread_cond_t other;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    SAY(pthread_cond_init(&other, &monotonic));
    pthread_mutex_lock(&mutex);
    soon = in(CLOCK_MONOTONIC, 20);
    SAY(pthread_cond_timedwait(&other, &mutex, &soon));
    pthread_mutex_unlock(&mutex);
    SAY(pthread_cond_signal(&other));
    SAY(pthread_cond_broadcast(&other));
    SAY(pthread_cond_destroy(&other));
    pthread_t thread;
    pthread_create(&thread, NULL, answer, NULL);
    pthread_mutex_lock(&count_lock);
    turn = 1;
    pthread_cond_signal(&cond);
    while (turn != 2) pthread_cond_wait(&cond, &count_lock);
    pthread_mutex_unlock(&count_lock);
    pthread_join(thread, NULL);
    printf("turn %d\n", turn);
}

/* ---- threads ------------------------------------------------------------------------------- */

static void *wait_for_flag(void *flag) {
    while (__atomic_load_n((int *)flag, __ATOMIC_ACQUIRE) == 0) usleep(500);
    return flag;
}
static void thread_calls(void) {
    static int flag;
    pthread_t thread;
    void *result = NULL;
    pthread_attr_t attributes;
    SAY(pthread_create(&thread, NULL, wait_for_flag, &flag));
    SAY(pthread_tryjoin_np(thread, &result));
    struct timespec soon = in(CLOCK_REALTIME, 20);
    SAY(pthread_timedjoin_np(thread, &result, &soon));
    soon = in(CLOCK_MONOTONIC, 20);
    SAY(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &soon));
    SAY(pthread_setname_np(thread, "waits"));
    char called[16] = "";
    SAY(pthread_getname_np(thread, called, sizeof called));
    puts(called);
    SAY(pthread_join(pthread_self(), NULL));
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    SAY(pthread_join(thread, &result));
    printf("its result %d\n", result == &flag);
    flag = 0;
    SAY(pthread_create(&thread, NULL, wait_for_flag, &flag));
    SAY(pthread_detach(thread));
    SAY(pthread_detach(thread));
    SAY(pthread_join(thread, NULL));
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)1 << 46);
    SAY(pthread_create(&thread, &attributes, wait_for_flag, &flag));
    pthread_attr_setstacksize(&attributes, 128 * 1024);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    SAY(pthread_create(&thread, &attributes, wait_for_flag, &flag));
    usleep(20000);
}

/* ---- C11 ----------------------------------------------------------------------------------- */

static tss_t local;
static int destroyed;
static void destroy(void *value) { destroyed += *(int *)value; }
static int c11_thread(void *mutex) {
    static int seven = 7;
    struct timespec soon = in(CLOCK_REALTIME, 20);
    tss_set(local, &seven);
    SAY(mtx_trylock(mutex));
    SAY(mtx_timedlock(mutex, &soon));
    thrd_exit(1234567);
}
static once_flag c11_flag = ONCE_FLAG_INIT;
static void c11(void) {
    mtx_t mutex;
    cnd_t condition;
    thrd_t thread;
    int result = 0;
    struct timespec soon = in(CLOCK_REALTIME, 20), little = {0, 1000000};
    SAY(tss_create(&local, destroy));
    SAY(mtx_init(&mutex, mtx_timed | mtx_recursive));
    SAY(cnd_init(&condition));
    SAY(mtx_lock(&mutex));
    SAY(mtx_trylock(&mutex));
    SAY(mtx_unlock(&mutex));
    int created = thrd_create(&thread, c11_thread, &mutex); /* which says things of its own */
    SAY(thrd_join(thread, &result));
    SAY(created);
    printf("result %d, destroyed %d\n", result, destroyed);
    SAY(cnd_timedwait(&condition, &mutex, &soon));
    SAY(cnd_signal(&condition));
    SAY(cnd_broadcast(&condition));
    SAY(mtx_unlock(&mutex));
    call_once(&c11_flag, run_once);
    call_once(&c11_flag, run_once);
    printf("ran %d times\n", once_ran);
    SAY(thrd_sleep(&little, NULL));
    thrd_yield();
    SAY(thrd_equal(thrd_current(), thrd_current()) != 0);
    mtx_destroy(&mutex);
    cnd_destroy(&condition);
    tss_delete(local);
}

/* ---- shared between processes -------------------------------------------------------------- */

static void shared(void) {
    struct {
        pthread_mutex_t mutex;
        pthread_cond_t cond;
        pthread_barrier_t barrier;
        sem_t semaphore;
        int stage;
    } *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t mutex;
    pthread_condattr_t condition;
    pthread_barrierattr_t attributes;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_condattr_init(&condition);
    pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    SAY(pthread_mutex_init(&s->mutex, &mutex));
    SAY(pthread_cond_init(&s->cond, &condition));
    SAY(pthread_barrier_init(&s->barrier, &attributes, 2));
    SAY_ERRNO(sem_init(&s->semaphore, 1, 0));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        pthread_barrier_wait(&s->barrier);
        pthread_mutex_lock(&s->mutex);
        s->stage = 1;
        pthread_cond_signal(&s->cond);
        while (s->stage != 2) pthread_cond_wait(&s->cond, &s->mutex);
        pthread_mutex_unlock(&s->mutex);
        sem_post(&s->semaphore);
        _exit(17);
    }
    pthread_barrier_wait(&s->barrier);
    pthread_mutex_lock(&s->mutex);
    while (s->stage != 1) pthread_cond_wait(&s->cond, &s->mutex);
    s->stage = 2;
    pthread_cond_signal(&s->cond);
    pthread_mutex_unlock(&s->mutex);
    SAY_ERRNO(sem_wait(&s->semaphore));
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
}

int main(int argc, char **argv) {
    (void)argv;
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    if (argc >
        1) { /* traces of these are not well-formed: one process, and a lock never released */
        robust();
        shared();
        return 0;
    }
    mutexes();
    rwlocks();
    barriers();
    semaphores();
    conditions();
    thread_calls();
    c11();
    errno = EXDEV;
    static volatile long touched[512];
    for (int i = 0; i < 512; i++) touched[i]++;
    printf("errno %s\n", name(errno));
    return 0;
}
