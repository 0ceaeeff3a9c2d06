/* What these programs share: THREADS threads, numbered from 0, that run `body` and are joined. Each
 * program is broken as it is and right with -DFIXED; bench/explore/run compiles all four. */
#ifndef HEDDLE_BENCH_EXPLORE_THREADS_H
#define HEDDLE_BENCH_EXPLORE_THREADS_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef THREADS
#define THREADS 2
#endif

static inline void run_threads(void *(*body)(void *)) {
    pthread_t thread[THREADS];
    for (intptr_t i = 0; i < THREADS; i++) pthread_create(&thread[i], NULL, body, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
}

#endif
