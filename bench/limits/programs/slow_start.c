/* Takes two seconds before anything happens, and sometimes waits for a value that never comes. */
#include <pthread.h>
#include <unistd.h>
static volatile int ready, taken;
static void *give(void *p) {
    if (!taken) ready = 1;
    return p;
}
static void *take(void *p) {
    taken = 1;
    while (!ready) usleep(100);
    return p;
}
int main(void) {
    sleep(2);
    pthread_t a, b;
    pthread_create(&a, NULL, give, NULL);
    pthread_create(&b, NULL, take, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
