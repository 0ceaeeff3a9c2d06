/* Two threads count to fifty each, under a lock. */
#include <pthread.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void *count(void *unused) {
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&guard);
        total++;
        pthread_mutex_unlock(&guard);
    }
    return unused;
}

int main(void) {
    pthread_t thread[2];
    for (int i = 0; i < 2; i++) pthread_create(&thread[i], NULL, count, NULL);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], NULL);
    return 0;
}
