/* Prints without end. */
#include <pthread.h>
#include <stdio.h>
static int x;
static void *print(void *p) {
    for (;;) printf("%d\n", x++);
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, print, NULL);
    pthread_create(&b, NULL, print, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
