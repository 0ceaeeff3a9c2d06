/* A thread ends while it holds a lock (`ends_holding left`), or gives it back (`returned`). */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int value;

static void *leaves(void *left) {
    pthread_mutex_lock(&m);
    value = 1;
    if (left == NULL) pthread_mutex_unlock(&m);
    return NULL;
}
static void *takes(void *unused) {
    pthread_mutex_lock(&m);
    value = 2;
    pthread_mutex_unlock(&m);
    return unused;
}
int main(int count, char **argument) {
    pthread_t a, b;
    pthread_create(&b, NULL, takes, NULL);
    pthread_create(&a, NULL, leaves, count > 1 && strcmp(argument[1], "left") == 0 ? &m : NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    puts("ok");
    return 0;
}
