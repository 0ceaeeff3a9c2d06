/* Threads and synchronisation that are made out of the runtime's sight, in a correct program.
 * argv[1]: timer, aio, names, queue (threads of the C library's), spin (a lock in inline assembly),
 * futex (one made of the bare system call). */
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <netdb.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static sem_t told;
static int given, taken;

static void come(union sigval value) {
    (void)value;
    taken = given + 1;
    sem_post(&told);
}

static struct sigevent by_thread(void) {
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = come;
    return event;
}

static int timer(void) {
    struct sigevent event = by_thread();
    timer_t made;
    struct itimerspec soon = {.it_value = {0, 20000000}};
    if (timer_create(CLOCK_MONOTONIC, &event, &made) != 0) return 1;
    given = 1;
    timer_settime(made, 0, &soon, NULL);
    sem_wait(&told);
    return taken == 2 ? 0 : 1;
}

static int asynchronous(void) {
    char text[16];
    struct aiocb request;
    memset(&request, 0, sizeof request);
    request.aio_fildes = open("/dev/zero", O_RDONLY);
    request.aio_buf = text;
    request.aio_nbytes = sizeof text;
    request.aio_sigevent = by_thread();
    given = 1;
    if (aio_read(&request) != 0) return 1;
    sem_wait(&told);
    return taken == 2 ? 0 : 1;
}

static int names(void) {
    struct gaicb request = {.ar_name = "127.0.0.1"}, *list[] = {&request};
    struct sigevent event = by_thread();
    given = 1;
    if (getaddrinfo_a(GAI_NOWAIT, list, 1, &event) != 0) return 1;
    sem_wait(&told);
    return taken == 2 ? 0 : 1;
}

static int word;

static int exchange(int *at, int value) {
    __asm__ volatile("xchgl %0, %1" : "+r"(value), "+m"(*at)::"memory");
    return value;
}
static void *spins(void *argument) {
    for (int i = 0; i < 50; i++) {
        while (exchange(&word, 1)) __asm__ volatile("pause");
        given++;
        exchange(&word, 0);
    }
    return argument;
}

/* A lock of three states, as in "Futexes Are Tricky". */
static long futex(int operation, int value) {
    register long fourth __asm__("r10") = 0;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_futex), "D"(&word), "S"((long)operation), "d"((long)value),
                       "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}
static void *waits(void *argument) {
    for (int i = 0; i < 50; i++) {
        while (__atomic_exchange_n(&word, 2, __ATOMIC_ACQUIRE) != 0) futex(FUTEX_WAIT_PRIVATE, 2);
        given++;
        __atomic_store_n(&word, 0, __ATOMIC_RELEASE);
        futex(FUTEX_WAKE_PRIVATE, 1);
    }
    return argument;
}

static int two(void *(*function)(void *)) {
    pthread_t a, b;
    pthread_create(&a, NULL, function, NULL);
    pthread_create(&b, NULL, function, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return given == 100 ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    sem_init(&told, 0, 0);
    if (strcmp(argv[1], "timer") == 0) return timer();
    if (strcmp(argv[1], "aio") == 0) return asynchronous();
    if (strcmp(argv[1], "names") == 0) return names();
    return two(strcmp(argv[1], "spin") == 0 ? spins : waits);
}
