/* Many small uses of threads, processes, signals and the C library, each a program of its own by
 * its number. Those below 100 are right; what the others do wrong stands in uses.test. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, m2 = PTHREAD_MUTEX_INITIALIZER,
                       gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cv = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static sem_t sem;
static atomic_int flag;
static int x, y, ready, ends[2];
static char bytes[8], area[64];
struct {
    unsigned a : 4, b : 4;
} bits;
static int *heap;
static __thread int own;
static mtx_t c11;
static cnd_t c11cv;

static pthread_t start(void *(*f)(void *)) {
    pthread_t t;
    if (pthread_create(&t, NULL, f, NULL)) abort();
    return t;
}
static void both(void *(*f)(void *), void *(*g)(void *)) {
    pthread_t a = start(f), b = start(g);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}
static void nap(void) { usleep(1000); }

#define T(name)                       \
    static void *name(void *unused) { \
        (void)unused;
#define E        \
    return NULL; \
    }

T(locked) pthread_mutex_lock(&m);
x++;
pthread_mutex_unlock(&m);
E T(unlocked) x++;
E T(rdlocked) pthread_rwlock_rdlock(&rw);
y += x;
pthread_rwlock_unlock(&rw);
E T(rd) pthread_rwlock_rdlock(&rw);
int v = x;
(void)v;
pthread_rwlock_unlock(&rw);
E T(wr) pthread_rwlock_wrlock(&rw);
x++;
pthread_rwlock_unlock(&rw);
E T(phase_a) x = 1;
pthread_barrier_wait(&barrier);
y = x;
pthread_barrier_wait(&barrier);
E T(phase_b) pthread_barrier_wait(&barrier);
if (x != 1) abort();
pthread_barrier_wait(&barrier);
x = 2;
E T(no_phase) if (x == 7) y = 1;
pthread_barrier_wait(&barrier);
pthread_barrier_wait(&barrier);
E T(posts) x = 5;
sem_post(&sem);
E T(waits) sem_wait(&sem);
x++;
E T(sem_locked) sem_wait(&sem);
x++;
sem_post(&sem);
E T(signals) pthread_mutex_lock(&m);
ready = 1;
x = 3;
pthread_cond_signal(&cv);
pthread_mutex_unlock(&m);
E T(awaits) pthread_mutex_lock(&m);
while (!ready) pthread_cond_wait(&cv, &m);
x++;
pthread_mutex_unlock(&m);
E T(times_out)
struct timespec t;
clock_gettime(CLOCK_REALTIME, &t);
t.tv_nsec += 1000000;
if (t.tv_nsec > 999999999) t.tv_sec++, t.tv_nsec -= 1000000000;
pthread_mutex_lock(&m);
while (!ready)
    if (pthread_cond_timedwait(&cv, &m, &t) == ETIMEDOUT) break;
x++;
pthread_mutex_unlock(&m);
E static int c11_a(void *p) {
    (void)p;
    mtx_lock(&c11);
    x = 1;
    ready = 1;
    cnd_signal(&c11cv);
    mtx_unlock(&c11);
    return 0;
}
static int c11_b(void *p) {
    (void)p;
    mtx_lock(&c11);
    while (!ready) cnd_wait(&c11cv, &c11);
    x++;
    mtx_unlock(&c11);
    return 0;
}
T(releases) x = 9;
atomic_store_explicit(&flag, 1, memory_order_release);
E T(acquires) if (atomic_load_explicit(&flag, memory_order_acquire)) x++;
E T(fenced_w) x = 9;
atomic_thread_fence(memory_order_release);
atomic_store_explicit(&flag, 1, memory_order_relaxed);
E T(fenced_r) if (atomic_load_explicit(&flag, memory_order_relaxed)) {
    atomic_thread_fence(memory_order_acquire);
    x++;
}
E T(local) own++;
own++;
if (own != 2) abort();
E static void init(void) { x = 4; }
T(oncer) pthread_once(&once, init);
if (x != 4) abort();
E T(double_checked) if (!ready) {
    pthread_mutex_lock(&m);
    if (!ready) {
        x = 1;
        ready = 1;
    }
    pthread_mutex_unlock(&m);
}
if (x != 1) y++;
E static void destroy(void *p) { ++*(int *)p; }
T(keyed) pthread_setspecific(key, &bytes[0]);
E static void destroy_x(void *p) {
    (void)p;
    x++;
}
T(keyed_x) pthread_setspecific(key, &x);
E T(detached_posts) x = 1;
sem_post(&sem);
E static void at_end(void) { y = x; }
static void handler(int s) {
    (void)s;
    x++;
}
static volatile sig_atomic_t caught;
static void catches(int s) {
    (void)s;
    caught = 1;
}
static void counts(int s) {
    (void)s;
    atomic_fetch_add(&flag, 1);
}
T(raises) raise(SIGUSR1);
E T(child)
pid_t p = fork();
if (p == 0) {
    x = 77;
    _exit(0);
}
waitpid(p, NULL, 0);
E static pid_t spawned(void) {
    pid_t p = vfork();
    if (p == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    return p;
}
T(vforks) int s;
pid_t p = spawned();
waitpid(p, &s, 0);
E T(spawns)
pid_t p;
char *v[] = {"true", NULL};
int s;
if (posix_spawn(&p, "/bin/true", NULL, NULL, v, NULL) == 0) waitpid(p, &s, 0);
E T(jumps)
jmp_buf b;
if (setjmp(b) == 0) {
    pthread_mutex_lock(&m);
    x++;
    pthread_mutex_unlock(&m);
    longjmp(b, 1);
}
E static void gives_back(void *p) {
    x++;
    pthread_mutex_unlock(p);
}
T(cancelled) pthread_mutex_lock(&m);
pthread_cleanup_push(gives_back, &m);
while (1) pthread_cond_wait(&cv, &m);
pthread_cleanup_pop(1);
E T(cancelled_late) while (1) {
    x++;
    pthread_testcancel();
    sched_yield();
}
E T(spins) pthread_spin_lock(&spin);
x++;
pthread_spin_unlock(&spin);
E T(tries) while (pthread_mutex_trylock(&m)) sched_yield();
x++;
pthread_mutex_unlock(&m);
E T(timed)
struct timespec t;
clock_gettime(CLOCK_REALTIME, &t);
t.tv_sec += 100;
if (pthread_mutex_timedlock(&m, &t)) abort();
x++;
pthread_mutex_unlock(&m);
E T(recursive) pthread_mutex_lock(&m2);
pthread_mutex_lock(&m2);
x++;
pthread_mutex_unlock(&m2);
x++;
pthread_mutex_unlock(&m2);
E T(not_mine) if (pthread_mutex_unlock(&m2) != EPERM) abort();
E T(dies) pthread_mutex_lock(&m2);
x++;
E T(mends) if (pthread_mutex_lock(&m2) == EOWNERDEAD) pthread_mutex_consistent(&m2);
x++;
pthread_mutex_unlock(&m2);
E T(writes_pipe) x = 1;
if (write(ends[1], "a", 1) != 1) abort();
E T(reads_pipe)
char c;
if (read(ends[0], &c, 1) != 1) abort();
x++;
E T(writes_event)
uint64_t n = 1;
x = 1;
if (write(ends[0], &n, 8) != 8) abort();
E T(reads_event)
uint64_t n;
if (read(ends[0], &n, 8) != 8) abort();
x++;
E T(ab) pthread_mutex_lock(&m);
pthread_mutex_lock(&m2);
x++;
pthread_mutex_unlock(&m2);
pthread_mutex_unlock(&m);
E T(ba) pthread_mutex_lock(&m2);
pthread_mutex_lock(&m);
x++;
pthread_mutex_unlock(&m);
pthread_mutex_unlock(&m2);
E T(gated_ab) pthread_mutex_lock(&gate);
ab(NULL);
pthread_mutex_unlock(&gate);
E T(gated_ba) pthread_mutex_lock(&gate);
ba(NULL);
pthread_mutex_unlock(&gate);
E T(uses_heap) heap[1]++;
E T(takes_heap) pthread_mutex_lock(&m);
int *mine = heap;
heap = NULL;
pthread_mutex_unlock(&m);
if (mine) {
    mine[0]++;
    free(mine);
}
E T(gives_heap)
int *mine = calloc(4, sizeof *mine);
mine[0] = 1;
pthread_mutex_lock(&m);
if (!heap) heap = mine, mine = NULL;
pthread_mutex_unlock(&m);
free(mine);
E T(copies) memcpy(area, "0123456789", 10);
E T(copies_locked) pthread_mutex_lock(&m);
memcpy(area, "0123456789", 10);
pthread_mutex_unlock(&m);
E T(compares) pthread_mutex_lock(&m);
if (memcmp(area, "0123", 4) == 0) y++;
pthread_mutex_unlock(&m);
E T(length) y += (int)strlen(area);
E T(bit_a) pthread_mutex_lock(&m);
bits.a = 1;
pthread_mutex_unlock(&m);
E T(bit_b) pthread_mutex_lock(&m2);
bits.b = 1;
pthread_mutex_unlock(&m2);
E T(byte_a) bytes[0] = 1;
E T(byte_b) bytes[1] = 1;
E T(prints)
char *save, text[] = "a b c";
for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
    fprintf(stderr, "%s", w);
struct tm tm;
time_t now = 0;
localtime_r(&now, &tm);
(void)getenv("PATH");
E T(waits_signal)
sigset_t s;
int n;
sigemptyset(&s);
sigaddset(&s, SIGUSR2);
sigwait(&s, &n);
x++;
E T(last) nap();
pthread_mutex_lock(&m);
x++;
pthread_mutex_unlock(&m);
E T(unlocks_late) pthread_mutex_lock(&m);
x++;
ready = 1;
pthread_mutex_unlock(&m);
E T(map_a) heap[3] = 1;
E

    static void
    type(pthread_mutex_t *mutex, int t, int robust) {
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, t);
    if (robust) pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &a);
    pthread_mutexattr_destroy(&a);
}

int main(int argc, char **argv) {
    pthread_t t;
    int which = argc > 1 ? atoi(argv[1]) : 0;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_spin_init(&spin, 0);
    sem_init(&sem, 0, which == 107 ? 2 : which == 8 ? 1 : 0);
    mtx_init(&c11, mtx_plain), cnd_init(&c11cv);
    switch (which) {
    /* right */
    case 1:
        both(locked, locked);
        break;
    case 2:
        both(rd, wr);
        break;
    case 3:
        both(phase_a, phase_b);
        break;
    case 4:
        both(posts, waits);
        break;
    case 5:
        both(signals, awaits);
        break;
    case 6: {
        thrd_t a, b;
        thrd_create(&a, c11_a, NULL);
        thrd_create(&b, c11_b, NULL);
        thrd_join(a, NULL);
        thrd_join(b, NULL);
    } break;
    case 7:
        both(releases, acquires);
        break;
    case 8:
        both(sem_locked, sem_locked);
        break;
    case 9:
        both(fenced_w, fenced_r);
        break;
    case 10:
        both(local, local);
        break;
    case 11:
        both(oncer, oncer);
        break;
    case 12: {
        pthread_key_create(&key, destroy);
        t = start(keyed);
        pthread_join(t, NULL);
        if (bytes[0] != 1) abort();
    } break;
    case 13:
        t = start(detached_posts);
        pthread_detach(t);
        sem_wait(&sem);
        x++;
        break;
    case 14:
        atexit(at_end);
        t = start(locked);
        pthread_join(t, NULL);
        break;
    case 15:
        signal(SIGUSR1, catches);
        raise(SIGUSR1);
        if (!caught) abort();
        break;
    case 16:
        signal(SIGUSR1, handler);
        t = start(raises);
        pthread_join(t, NULL);
        x++;
        break;
    case 17:
        both(child, child);
        break;
    case 18:
        both(vforks, vforks);
        break;
    case 19:
        both(spawns, spawns);
        break;
    case 20:
        both(jumps, jumps);
        break;
    case 21:
        t = start(cancelled);
        nap();
        pthread_cancel(t);
        pthread_join(t, NULL);
        locked(NULL);
        break;
    case 22:
        both(spins, spins);
        break;
    case 23:
        both(tries, tries);
        break;
    case 24:
        type(&m2, PTHREAD_MUTEX_RECURSIVE, 0);
        both(recursive, recursive);
        break;
    case 25:
        type(&m2, PTHREAD_MUTEX_ERRORCHECK, 0);
        both(not_mine, not_mine);
        break;
    case 26:
        type(&m2, PTHREAD_MUTEX_NORMAL, 1);
        both(dies, mends);
        break;
    case 27:
        both(times_out, times_out);
        break;
    case 28:
        if (pipe(ends)) abort();
        both(writes_pipe, reads_pipe);
        break;
    case 29:
        ends[0] = eventfd(0, 0);
        both(writes_event, reads_event);
        break;
    case 30:
        both(gated_ab, gated_ba);
        break;
    case 31:
        both(gives_heap, takes_heap);
        break;
    case 32:
        both(copies_locked, compares);
        break;
    case 33:
        both(byte_a, byte_b);
        break;
    case 34:
        both(prints, prints);
        break;
    case 35: {
        sigset_t s;
        sigemptyset(&s);
        sigaddset(&s, SIGUSR2);
        pthread_sigmask(SIG_BLOCK, &s, NULL);
        t = start(waits_signal);
        pthread_kill(t, SIGUSR2);
        pthread_join(t, NULL);
        x++;
    } break;
    case 36:
        both(timed, timed);
        break;
    case 37:
        for (int i = 0; i < 60; i++) {
            t = start(locked);
            pthread_join(t, NULL);
        }
        x++;
        break;
    case 38:
        start(last);
        pthread_exit(NULL);
    case 39:
        t = start(unlocks_late);
        for (int done = 0; !done;) {
            pthread_mutex_lock(&m);
            done = ready;
            pthread_mutex_unlock(&m);
            sched_yield();
        }
        x++;
        pthread_join(t, NULL);
        break;
    case 40: {
        struct itimerval i = {{0, 2000}, {0, 2000}};
        signal(SIGALRM, counts);
        setitimer(ITIMER_REAL, &i, NULL);
        both(locked, locked);
        struct itimerval no = {{0, 0}, {0, 0}};
        setitimer(ITIMER_REAL, &no, NULL);
    } break;
    case 41:
        pthread_barrier_init(&barrier, NULL, 2);
        both(phase_a, phase_b);
        pthread_barrier_destroy(&barrier);
        break;
    case 42:
        t = start(vforks);
        x++;
        if (execl("/bin/true", "true", (char *)NULL)) abort();
        break;
    /* wrong */
    case 101:
        both(locked, unlocked);
        break;
    case 102:
        both(rdlocked, rdlocked);
        break;
    case 103:
        both(phase_a, no_phase);
        break;
    case 107:
        both(sem_locked, sem_locked);
        break;
    case 105:
        both(double_checked, double_checked);
        break;
    case 106:
        pthread_key_create(&key, destroy_x);
        both(keyed_x, keyed_x);
        break;
    case 108:
        t = start(detached_posts);
        pthread_detach(t);
        y = x;
        sem_wait(&sem);
        break;
    case 109:
        atexit(at_end);
        t = start(unlocked);
        pthread_detach(t);
        break;
    case 110:
        t = start(cancelled_late);
        nap();
        pthread_cancel(t);
        y = x;
        pthread_join(t, NULL);
        break;
    case 111:
        both(ab, ba);
        break;
    case 112:
        heap = calloc(4, sizeof *heap);
        t = start(uses_heap);
        nap();
        free(heap);
        pthread_join(t, NULL);
        break;
    case 113:
        both(copies, length);
        break;
    case 114:
        both(bit_a, bit_b);
        break;
    case 115:
        heap = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        both(map_a, map_a);
        break;
    case 116:
        both(unlocked, unlocked);
        break;
    default:
        return 2;
    }
    return 0;
}
