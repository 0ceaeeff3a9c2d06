/* Polls through a lock for what only an unlucky order leaves unset. */
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int done, closed;
static void *finish(void *p) {
    pthread_mutex_lock(&lock);
    if (!closed) done = 1;
    pthread_mutex_unlock(&lock);
    return p;
}
static void *wait_for_it(void *p) {
    int seen = 0;
    while (!seen) {
        pthread_mutex_lock(&lock);
        seen = done;
        closed |= !done;
        pthread_mutex_unlock(&lock);
    }
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, finish, NULL);
    pthread_create(&b, NULL, wait_for_it, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
