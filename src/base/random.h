/* Random numbers that a seed repeats: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom
 * number generators). The state is any number. */
#ifndef HEDDLE_BASE_RANDOM_H
#define HEDDLE_BASE_RANDOM_H

#include <stdint.h>

static inline uint64_t hd_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}
/* Below `limit`, which is not 0. */
static inline uint64_t hd_random_below(uint64_t *state, uint64_t limit) {
    return hd_random(state) % limit;
}

#endif
