/* Threads that meet in locks of the C library, which heddle does not see: it
 * must not let another thread run while one of them is held. */
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define LINES 3000
static FILE *file;
static long total;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *run(void *unused) {
    for (;;) {
        char *line = NULL;
        size_t room = 0;
        ssize_t length = getline(&line, &room, file); /* allocates with the file locked */
        free(line);
        if (length < 0) return unused;
        pthread_mutex_lock(&mutex);
        total += length;
        pthread_mutex_unlock(&mutex);
    }
}

int main(void) {
    file = tmpfile();
    assert(file != NULL);
    for (int i = 0; i < LINES; i++) fprintf(file, "line %d\n", i);
    rewind(file);
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) assert(pthread_create(&thread[i], NULL, run, NULL) == 0);
    for (int i = 0; i < 4; i++) assert(pthread_join(thread[i], NULL) == 0);
    printf("%ld\n", total);
    return 0;
}
