/* Signal handlers: what they write is recorded between the marks of their entry and return,
 * whatever they interrupt; how they were installed is what the program sees. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int failures;
#define CHECK(c) ((c) ? (void)0 : (void)(printf("line %d: %s\n", __LINE__, #c), failures++))

static volatile int in_plain, in_info, in_reset, after_handlers, nested_outer, nested_inner;
static volatile int deepest, queued[64], queued_count;
static int ticks; /* by any thread's handler: added to in one step */
static _Thread_local volatile int
    depth; /* one thread's handler may be held up while another's runs */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long total;
static volatile int stop;

static void plain(int number) { in_plain += number; }
static void with_info(int number, siginfo_t *info, void *context) {
    CHECK(number == SIGUSR2 && info->si_signo == SIGUSR2 && context != NULL);
    CHECK(info->si_code == SI_QUEUE && info->si_value.sival_int == 77 && info->si_pid == getpid());
    in_info = 1;
}
static void reset(int number) { in_reset += number; }
static void inner(int number) {
    (void)number;
    nested_inner = 1;
}
static void outer(int number) {
    (void)number;
    nested_outer = 1;
    raise(SIGUSR2);
    nested_outer = 2;
}

static void installed(void) {
    struct sigaction action = {.sa_handler = plain, .sa_flags = SA_RESTART}, old, now;
    sigaddset(&action.sa_mask, SIGUSR2);
    CHECK(sigaction(SIGUSR1, NULL, &old) == 0 && old.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGUSR1, &action, &old) == 0 && old.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == plain);
    CHECK((now.sa_flags & (SA_RESTART | SA_SIGINFO)) == SA_RESTART);
    CHECK(sigismember(&now.sa_mask, SIGUSR2) == 1 && sigismember(&now.sa_mask, SIGHUP) == 0);
    CHECK(signal(SIGUSR1, SIG_IGN) == plain);
    CHECK(signal(SIGUSR1, plain) == SIG_IGN);
    CHECK(sigaction(SIGKILL, &action, NULL) == -1 && errno == EINVAL);
    CHECK(sigaction(1000, &action, NULL) == -1 && errno == EINVAL);
    raise(SIGUSR1);
    CHECK(in_plain == SIGUSR1);

    struct sigaction info = {.sa_sigaction = with_info, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGUSR2, &info, NULL) == 0);
    CHECK(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_sigaction == with_info &&
          now.sa_flags & SA_SIGINFO);
    sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 77});
    CHECK(in_info == 1);

    struct sigaction once = {.sa_handler = reset, .sa_flags = (int)SA_RESETHAND};
    CHECK(sigaction(SIGWINCH, &once, NULL) == 0);
    raise(SIGWINCH);
    CHECK(in_reset == SIGWINCH);
    CHECK(sigaction(SIGWINCH, NULL, &now) == 0 && now.sa_handler == SIG_DFL);
    raise(SIGWINCH); /* ignored by default */
    CHECK(in_reset == SIGWINCH);

    signal(SIGUSR1, outer);
    signal(SIGUSR2, inner);
    raise(SIGUSR1);
    CHECK(nested_outer == 2 && nested_inner == 1);
    after_handlers = 1;
}

/* ---- storms -------------------------------------------------------------------------------- */

static void tick(int number) {
    (void)number;
    if (++depth > deepest) deepest = depth;
    __atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
    depth--;
}
static void collect(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    if (++depth > deepest) deepest = depth;
    if (queued_count < 64) queued[queued_count++] = info->si_value.sival_int;
    depth--;
}

static void *work(void *unused) {
    while (!stop) {
        pthread_mutex_lock(&lock);
        total++;
        pthread_mutex_unlock(&lock);
        free(malloc(64));
    }
    return unused;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A timer every millisecond while threads are in hooks, locks and the allocator nearly all the
 * time. */
static void storm(double length) {
    pthread_t thread[2];
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {{0, 1000}, {0, 1000}};
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, work, NULL);
    while (total < 100) usleep(1000);
    setitimer(ITIMER_REAL, &timer, NULL);
    double end = seconds() + length;
    while (seconds() < end) {
        pthread_mutex_lock(&lock);
        total++;
        pthread_mutex_unlock(&lock);
    }
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, NULL);
    usleep(10000);
    stop = 1;
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    CHECK(ticks >= (int)(length * 100));
    CHECK(deepest == 1); /* a handler does not interrupt itself */
    printf("%d ticks, %ld sections\n", ticks, total);
}

/* Queued signals all arrive, in order, though the thread they go to has to wait for its turn. */
static pthread_t receiver;
static void *send(void *unused) {
    for (int i = 0; i < 40; i++) {
        while (pthread_sigqueue(receiver, SIGRTMIN + 1, (union sigval){.sival_int = i}) != 0) {
        }
        for (int k = 0; k < 10; k++) {
            pthread_mutex_lock(&lock);
            total++;
            pthread_mutex_unlock(&lock);
        }
    }
    stop = 1;
    return unused;
}
static void queue(void) {
    pthread_t thread[2];
    struct sigaction action = {.sa_sigaction = collect, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGRTMIN + 1, &action, NULL);
    receiver = pthread_self();
    depth = deepest = 0;
    stop = 0;
    pthread_create(&thread[0], NULL, send, NULL);
    pthread_create(&thread[1], NULL, work, NULL);
    while (!stop) {
        pthread_mutex_lock(&lock);
        total++;
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    CHECK(queued_count == 40);
    for (int i = 0; i < queued_count; i++) CHECK(queued[i] == i);
    CHECK(deepest == 1);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "installed";
    if (strcmp(what, "installed") == 0) installed();
    if (strcmp(what, "storm") == 0) storm(argc > 2 ? atof(argv[2]) : 1);
    if (strcmp(what, "queue") == 0) queue();
    if (failures == 0) puts("right");
    return failures;
}
