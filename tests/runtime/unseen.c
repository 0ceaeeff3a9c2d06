/* A thread blocks, or computes, in a library that heddle does not see into, until the main thread
 * has made progress. */
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

long unseen_read(int fd, char *to, unsigned long size);
void unseen_lock(uint32_t *lock);
void unseen_unlock(uint32_t *lock);
void unseen_compute(const volatile int *stop);

static int pipe_end[2];
static uint32_t lock;
static volatile int stop;
static _Atomic int entered;
int progress;

static void *run(void *how) {
    char byte;
    entered = 1;
    if (strcmp(how, "read") == 0) {
        assert(unseen_read(pipe_end[0], &byte, 1) == 1);
    } else if (strcmp(how, "lock") == 0) {
        unseen_lock(&lock);
        unseen_unlock(&lock);
    } else {
        unseen_compute(&stop);
    }
    assert(progress == 100);
    return NULL;
}

int main(int argc, char **argv) {
    assert(argc == 2 && pipe(pipe_end) == 0);
    unseen_lock(&lock);
    pthread_t thread;
    assert(pthread_create(&thread, NULL, run, argv[1]) == 0);
    while (!entered) {
    }
    for (int i = 0; i < 100; i++) progress++;
    stop = 1;
    unseen_unlock(&lock);
    assert(write(pipe_end[1], "x", 1) == 1);
    assert(pthread_join(thread, NULL) == 0);
    printf("%s ok\n", argv[1]);
    return 0;
}
