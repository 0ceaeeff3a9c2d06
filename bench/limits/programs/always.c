/* Never ends, whatever the schedule: one thread sleeps, another spins without looking at anything.
 */
#include <pthread.h>
#include <unistd.h>
static int x;
static void *spin(void *p) {
    x++;
    for (volatile unsigned long i = 0;; i++) {
    }
    return p;
}
static void *sleeper(void *p) {
    x++;
    for (;;) sleep(1000);
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, spin, NULL);
    pthread_create(&b, NULL, sleeper, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return x;
}
