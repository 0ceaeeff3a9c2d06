/* What every recording benchmark shares: the main program in harness.c starts
 * a team of threads, times nothing itself, checks the result and prints a
 * checksum that must not depend on the number of threads or on the tool. */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct team {
    unsigned threads;
    unsigned long size;
    pthread_barrier_t barrier; /* for all of the team's threads */
};

/* Each kernel's source file defines exactly one of these, named `kernel`. */
struct kernel {
    const char *name;
    const char *size_means; /* for the usage message */
    /* Says what is wrong with the size or the number of threads, or null. */
    const char *(*setup)(struct team *team);
    void (*work)(struct team *team, unsigned self);
    /* Called after all threads were joined. */
    bool (*check)(struct team *team, uint64_t *checksum);
};

extern const struct kernel kernel;

/* Thread `self`'s half-open part of `total` equal items. */
struct span {
    unsigned long begin, end;
};
struct span team_share(const struct team *team, unsigned self, unsigned long total);

void team_wait(struct team *team);

/* Zeroed, aligned to a cache line; ends the program when there is none. */
void *bench_alloc(unsigned long count, unsigned long item_size);

/* A good 64-bit mix of an index: the kernels' inputs are functions of the
 * position alone, so that any thread can fill any part of them. */
static inline uint64_t bench_mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* In [-1, 1). */
static inline double bench_unit(uint64_t index) {
    return (double)(bench_mix(index) >> 11) * 0x1p-52 - 1.0;
}

/* Adds the bits of an array of doubles to a checksum. */
uint64_t bench_sum_doubles(const double *values, unsigned long count);

#endif
