/* Threads that share text and pipes, and use no time: under the serial scheduler a seed decides
 * everything, so that the same seed gives the same trace. */
#define _GNU_SOURCE
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define THREADS 4
#define ROUNDS 200
static char board[256] = "start";
static int total, pipe_end[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *run(void *name) {
    char mine[64];
    for (int i = 0; i < ROUNDS; i++) {
        snprintf(mine, sizeof mine, "%s-%d", (char *)name, i);
        pthread_mutex_lock(&lock);
        strcpy(board, mine);
        total += (int)strlen(board);
        pthread_mutex_unlock(&lock);
        if (i % 16 == 0) sched_yield();
        /* Never empty: every thread writes before it reads. */
        assert(write(pipe_end[1], mine, 8) == 8);
        struct pollfd set = {.fd = pipe_end[0], .events = POLLIN};
        assert(poll(&set, 1, -1) == 1);
        assert(read(pipe_end[0], mine, 8) == 8);
    }
    return NULL;
}

int main(void) {
    static char name[THREADS][8] = {"anna", "bert", "carl", "dora"};
    pthread_t thread[THREADS];
    assert(pipe(pipe_end) == 0);
    for (int i = 0; i < THREADS; i++) assert(pthread_create(&thread[i], NULL, run, name[i]) == 0);
    for (int i = 0; i < THREADS; i++) assert(pthread_join(thread[i], NULL) == 0);
    return total == 0;
}
