/* Random numbers for tests that make up their input: the same seed, the same numbers. */
#ifndef HEDDLE_TESTS_SUPPORT_DICE_H
#define HEDDLE_TESTS_SUPPORT_DICE_H

#include "base/random.h"

struct dice {
    uint64_t state;
};

/* Below `limit`. */
static inline unsigned roll(struct dice *dice, unsigned limit) {
    return (unsigned)hd_random_below(&dice->state, limit);
}

#endif
