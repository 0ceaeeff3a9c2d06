/* Two locks in two orders, many times: most schedules that switch deadlock. */
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int x;
static void *forwards(void *p) {
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&a);
        pthread_mutex_lock(&b);
        x++;
        pthread_mutex_unlock(&b);
        pthread_mutex_unlock(&a);
    }
    return p;
}
static void *backwards(void *p) {
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&b);
        pthread_mutex_lock(&a);
        x++;
        pthread_mutex_unlock(&a);
        pthread_mutex_unlock(&b);
    }
    return p;
}
int main(void) {
    pthread_t s, t;
    pthread_create(&s, NULL, forwards, NULL);
    pthread_create(&t, NULL, backwards, NULL);
    pthread_join(s, NULL);
    pthread_join(t, NULL);
    return 0;
}
