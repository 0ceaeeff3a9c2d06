/* The monotonic clock. */
#ifndef HEDDLE_BASE_CLOCK_H
#define HEDDLE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t hd_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
static inline double hd_seconds_now(void) { return (double)hd_now_ns() * 1e-9; }

#endif
