/* Blocks that go from thread to thread through free and malloc: no race, whoever gives them out. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long sum;
static void *work(void *p) {
    for (int i = 0; i < 50; i++) {
        size_t n = 16 + (i * 37) % 3000;
        char *b = malloc(n), *c = calloc(3, 20);
        memset(b, i, n);
        b = realloc(b, n * 2);
        b[n * 2 - 1] = 3;
        pthread_mutex_lock(&m);
        sum += b[0] + c[5];
        pthread_mutex_unlock(&m);
        free(b);
        free(c);
        void *q;
        if (posix_memalign(&q, 64, 100)) abort();
        *(int *)q = i;
        free(q);
    }
    return p;
}
int main(void) {
    pthread_t t[3];
    for (int i = 0; i < 3; i++) pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    printf("%ld\n", sum);
    return 0;
}
