/* Threads that access a few words in all sizes, places and ways, again and again, with blocks that
 * come and go: check_mixed THREADS STEPS SEED. What is written does not matter. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 16

static union {
    unsigned char byte[64];
    uint16_t two[32];
    uint32_t four[16];
    uint64_t eight[8];
    _Atomic uint32_t atomic_four[16];
    _Atomic uint64_t atomic_eight[8];
} shared;

struct pair {
    uint32_t a, b;
};
static struct pair *block;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned steps = 200, seed = 1;
static volatile uint64_t sink;

static unsigned draw(uint32_t *state, unsigned below) {
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % below;
}

static void once(uint32_t *state) {
    unsigned i = draw(state, 8), k = draw(state, 2), n = draw(state, 24);
    unsigned char own[24] = {0};
    switch (draw(state, 20)) {
    case 0:
        sink = shared.byte[8 * i + draw(state, 8)];
        break;
    case 1:
        shared.byte[8 * i + draw(state, 8)] = 1;
        break;
    case 2:
        sink = shared.two[4 * i + draw(state, 4)];
        break;
    case 3:
        shared.two[4 * i + draw(state, 4)] = 2;
        break;
    case 4:
        sink = shared.four[2 * i + k];
        break;
    case 5:
        shared.four[2 * i + k] = 3;
        break;
    case 6:
        sink = shared.four[2 * i + k] + 1;
        break;
    case 7:
        shared.four[2 * i + k]++;
        break;
    case 8:
        sink = shared.eight[i];
        break;
    case 9:
        shared.eight[i] = 4;
        break;
    case 10:
        shared.eight[i]++;
        break;
    case 11:
        memcpy(own, shared.byte + i, n);
        break;
    case 12:
        memcpy(shared.byte + 2 * i, own, n);
        break;
    case 13:
        memmove(shared.byte + 3 * i, shared.byte + 2 * i, n);
        break;
    case 14:
        atomic_fetch_add(&shared.atomic_four[2 * i + k], 1);
        break;
    case 15:
        sink = atomic_load(&shared.atomic_eight[i]);
        break;
    case 16:
        atomic_store(&shared.atomic_four[2 * i + k], 5);
        break;
    case 17: {
        uint32_t expected = 5;
        atomic_compare_exchange_strong(&shared.atomic_four[2 * i + k], &expected, 6);
        break;
    }
    case 18:
        pthread_mutex_lock(&lock);
        block->a++;
        if (n > 12) block->b = block->a;
        pthread_mutex_unlock(&lock);
        break;
    default:
        pthread_mutex_lock(&lock);
        if (n < 8) { /* the next one may be at the same place; large ones are forgotten otherwise */
            free(block);
            block = calloc(1, n < 4 ? sizeof *block : 80000);
        }
        sink = block->b;
        pthread_mutex_unlock(&lock);
    }
    sink = own[0];
}

static void *work(void *argument) {
    uint32_t state = seed * 7919u + (uint32_t)(uintptr_t)argument * 104729u;
    for (unsigned i = 0; i < steps; i++) once(&state);
    return NULL;
}

int main(int argc, char **argv) {
    unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
    if (argc > 2) steps = (unsigned)atoi(argv[2]);
    if (argc > 3) seed = (unsigned)atoi(argv[3]);
    if (threads > THREADS) threads = THREADS;
    block = calloc(1, sizeof *block);
    pthread_t thread[THREADS];
    /* in two lots, so that the second may get the stacks of the first */
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < threads; i++)
            pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)(i + round * threads));
        for (unsigned i = 0; i < threads; i++) pthread_join(thread[i], NULL);
    }
    free(block);
    puts("done");
    return 0;
}
