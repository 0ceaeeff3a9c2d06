/* Parallel merge sort of 32-bit keys: each thread sorts its share by recursion; then runs are
 * merged two by two, and in every round each thread makes its share of the result, from where a
 * binary search says that its part of the two runs begins. */
#include "harness.h"

enum { SMALL = 12 };

static unsigned long n;
static uint32_t *keys, *spare, *sorted;

static uint32_t input(unsigned long i) { return (uint32_t)bench_mix(i); }

static const char *msort_setup(struct team *team) {
    (void)team;
    n = team->size;
    keys = bench_alloc(n, sizeof *keys);
    spare = bench_alloc(n, sizeof *spare);
    return 0;
}

static void insertion_sort(uint32_t *key, unsigned long count) {
    for (unsigned long i = 1; i < count; i++) {
        uint32_t held = key[i];
        unsigned long at = i;
        for (; at > 0 && key[at - 1] > held; at--) key[at] = key[at - 1];
        key[at] = held;
    }
}

static void merge(const uint32_t *a, const uint32_t *a_end, const uint32_t *b,
                  const uint32_t *b_end, uint32_t *to) {
    while (a < a_end && b < b_end) *to++ = *b < *a ? *b++ : *a++;
    while (a < a_end) *to++ = *a++;
    while (b < b_end) *to++ = *b++;
}

/* Sorts `key`; `other` holds the same keys, and is used up. */
static void sort(uint32_t *key, uint32_t *other, unsigned long count) {
    if (count <= SMALL) {
        insertion_sort(key, count);
        return;
    }
    unsigned long half = count / 2;
    sort(other, key, half);
    sort(other + half, key + half, count - half);
    merge(other, other + half, other + half, other + count, key);
}

/* How many of the first `place` keys of the merged result come from run a. */
static unsigned long from_a(const uint32_t *a, unsigned long a_count, const uint32_t *b,
                            unsigned long b_count, unsigned long place) {
    unsigned long low = place > b_count ? place - b_count : 0;
    unsigned long high = place < a_count ? place : a_count;
    while (low < high) {
        unsigned long middle = low + (high - low) / 2;
        if (b[place - middle - 1] < a[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Places [begin, end) of the result of merging two runs that stand one behind the other. */
static void merge_part(const uint32_t *from, struct span a, struct span b, unsigned long begin,
                       unsigned long end, uint32_t *to) {
    unsigned long a_count = a.end - a.begin, b_count = b.end - b.begin;
    unsigned long first = from_a(from + a.begin, a_count, from + b.begin, b_count, begin - a.begin);
    unsigned long last = from_a(from + a.begin, a_count, from + b.begin, b_count, end - a.begin);
    merge(from + a.begin + first, from + a.begin + last, from + b.begin + (begin - a.begin - first),
          from + b.begin + (end - a.begin - last), to + begin);
}

static void msort_work(struct team *team, unsigned self) {
    struct span share = team_share(team, self, n);
    for (unsigned long i = share.begin; i < share.end; i++) keys[i] = spare[i] = input(i);
    sort(keys + share.begin, spare + share.begin, share.end - share.begin);
    uint32_t *from = keys, *to = spare;
    for (unsigned width = 1; width < team->threads; width *= 2) {
        team_wait(team);
        for (unsigned t = 0; t < team->threads; t += 2 * width) {
            unsigned middle = t + width < team->threads ? t + width : team->threads;
            unsigned last = middle + width < team->threads ? middle + width : team->threads;
            struct span a = {team_share(team, t, n).begin, team_share(team, middle, n).begin};
            struct span b = {a.end, team_share(team, last, n).begin};
            unsigned long begin = share.begin > a.begin ? share.begin : a.begin;
            unsigned long end = share.end < b.end ? share.end : b.end;
            if (begin < end) merge_part(from, a, b, begin, end, to);
        }
        uint32_t *held = from;
        from = to;
        to = held;
    }
    if (self == 0) sorted = from;
}

static bool msort_check(struct team *team, uint64_t *checksum) {
    (void)team;
    uint64_t sum = 0, expected_sum = 0;
    bool right = true;
    for (unsigned long i = 0; i < n; i++) {
        sum += sorted[i] * (uint64_t)sorted[i];
        expected_sum += input(i) * (uint64_t)input(i);
        right = right && (i == 0 || sorted[i - 1] <= sorted[i]);
        *checksum = (*checksum ^ sorted[i]) * 0x100000001b3u;
    }
    return right && sum == expected_sum;
}

const struct kernel kernel = {"msort", "keys", msort_setup, msort_work, msort_check};
