/* Publication through an atomic flag with relaxed ordering: by the C11 memory model the reader may
 * see the flag without the payload, though no interleaving of the two threads shows it and x86
 * never does. Repaired with release and acquire. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#ifdef FIXED
#define STORE_ORDER memory_order_release
#define LOAD_ORDER memory_order_acquire
#else
#define STORE_ORDER memory_order_relaxed
#define LOAD_ORDER memory_order_relaxed
#endif

static int payload;
static atomic_int published;
static int received;

static void *publish(void *unused) {
    (void)unused;
    payload = 42;
    atomic_store_explicit(&published, 1, STORE_ORDER);
    return NULL;
}

static void *receive(void *unused) {
    (void)unused;
    while (!atomic_load_explicit(&published, LOAD_ORDER)) sched_yield();
    received = payload;
    return NULL;
}

int main(void) {
    pthread_t publisher, receiver;
    pthread_create(&publisher, NULL, publish, NULL);
    pthread_create(&receiver, NULL, receive, NULL);
    pthread_join(publisher, NULL);
    pthread_join(receiver, NULL);
    printf("received %d\n", received);
    return received == 42 ? 0 : 1;
}
