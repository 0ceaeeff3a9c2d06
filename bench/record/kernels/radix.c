/* Parallel radix sort of 32-bit keys, eight bits a pass: each thread counts its
 * share, all compute their places from everybody's counts, then scatter. */
#include "harness.h"

enum { DIGIT_BITS = 8, DIGITS = 1 << DIGIT_BITS, PASSES = 32 / DIGIT_BITS };

static unsigned long n;
static uint32_t *keys, *spare;
static unsigned long (*counts)[DIGITS]; /* per thread */

static uint32_t input(unsigned long i) { return (uint32_t)bench_mix(i); }

static const char *radix_setup(struct team *team) {
    n = team->size;
    keys = bench_alloc(n, sizeof *keys);
    spare = bench_alloc(n, sizeof *spare);
    counts = bench_alloc(team->threads, sizeof *counts);
    return 0;
}

static unsigned digit_of(uint32_t key, int pass) {
    return key >> (pass * DIGIT_BITS) & (DIGITS - 1);
}

static void find_places(const struct team *team, unsigned self, unsigned long place[DIGITS]) {
    unsigned long total = 0;
    for (int digit = 0; digit < DIGITS; digit++)
        for (unsigned t = 0; t < team->threads; t++) {
            if (t == self) place[digit] = total;
            total += counts[t][digit];
        }
}

static void radix_work(struct team *team, unsigned self) {
    struct span share = team_share(team, self, n);
    uint32_t *from = keys, *to = spare;
    unsigned long place[DIGITS];
    for (unsigned long i = share.begin; i < share.end; i++) keys[i] = input(i);
    for (int pass = 0; pass < PASSES; pass++) {
        unsigned long *mine = counts[self];
        for (int digit = 0; digit < DIGITS; digit++) mine[digit] = 0;
        for (unsigned long i = share.begin; i < share.end; i++) mine[digit_of(from[i], pass)]++;
        team_wait(team);
        find_places(team, self, place);
        for (unsigned long i = share.begin; i < share.end; i++)
            to[place[digit_of(from[i], pass)]++] = from[i];
        team_wait(team);
        uint32_t *held = from;
        from = to;
        to = held;
    }
}

static bool radix_check(struct team *team, uint64_t *checksum) {
    (void)team;
    uint64_t sum = 0, expected_sum = 0;
    bool sorted = true;
    for (unsigned long i = 0; i < n; i++) {
        sum += keys[i] * (uint64_t)keys[i];
        expected_sum += input(i) * (uint64_t)input(i);
        sorted = sorted && (i == 0 || keys[i - 1] <= keys[i]);
        *checksum = (*checksum ^ keys[i]) * 0x100000001b3u;
    }
    return sorted && sum == expected_sum;
}

const struct kernel kernel = {"radix", "keys", radix_setup, radix_work, radix_check};
