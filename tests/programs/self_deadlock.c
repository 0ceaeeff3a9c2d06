/* Self-deadlock through a callback: listeners are notified with the list's lock held, and a
 * listener that was cancelled unregisters itself, which takes the same non-recursive lock. Only
 * when the cancellation comes before the notification. Repaired with a recursive mutex. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t listeners_lock;
static int registered = 1;
static atomic_int cancelled;

static void unregister_listener(void) {
    pthread_mutex_lock(&listeners_lock);
    registered = 0;
    pthread_mutex_unlock(&listeners_lock);
}

static void on_event(void) {
    if (atomic_load(&cancelled)) unregister_listener();
}

static void *notify(void *unused) {
    (void)unused;
    pthread_mutex_lock(&listeners_lock);
    if (registered) on_event();
    pthread_mutex_unlock(&listeners_lock);
    return NULL;
}

static void *cancel(void *unused) {
    (void)unused;
    usleep(5000); /* the usual order: the event comes first */
    atomic_store(&cancelled, 1);
    return NULL;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
#ifdef FIXED
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
#else
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_NORMAL);
#endif
    pthread_mutex_init(&listeners_lock, &attributes);
    pthread_mutexattr_destroy(&attributes);

    pthread_t notifier, canceller;
    pthread_create(&notifier, NULL, notify, NULL);
    pthread_create(&canceller, NULL, cancel, NULL);
    pthread_join(notifier, NULL);
    pthread_join(canceller, NULL);
    pthread_mutex_destroy(&listeners_lock);
    printf("cancelled %d\n", atomic_load(&cancelled));
    return 0;
}
