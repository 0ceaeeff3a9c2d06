/* A connection is closed while somebody writes to it: the writer looks whether it is open and then
 * uses its buffer, which the closer has freed. Repaired by holding the lock over both. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct connection {
    char *buffer;
    int open;
};
static struct connection connection;
static pthread_mutex_t connection_lock = PTHREAD_MUTEX_INITIALIZER;

static void *writer(void *unused) {
    (void)unused;
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&connection_lock);
        int open = connection.open;
#ifndef FIXED
        pthread_mutex_unlock(&connection_lock);
#endif
        if (open) connection.buffer[0] = 'x';
#ifdef FIXED
        pthread_mutex_unlock(&connection_lock);
#endif
    }
    return 0;
}

static void *closer(void *unused) {
    (void)unused;
    pthread_mutex_lock(&connection_lock);
    connection.open = 0;
    free(connection.buffer);
    connection.buffer = NULL;
    pthread_mutex_unlock(&connection_lock);
    return 0;
}

int main(void) {
    pthread_t thread[2];
    connection.buffer = malloc(100);
    connection.open = 1;
    pthread_create(&thread[0], 0, writer, 0);
    pthread_create(&thread[1], 0, closer, 0);
    for (int i = 0; i < 2; i++) pthread_join(thread[i], 0);
    return 0;
}
