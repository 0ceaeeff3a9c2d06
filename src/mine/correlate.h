/* Variables that belong together (the dissertation, sections 5.3.3 and 5.3.4): A1(x) => A2(y) says
 * that where a function does A1 to x, it does A2 to y nearby. Candidates come from the closed
 * frequent itemsets of the access sets. */
#ifndef HEDDLE_MINE_CORRELATE_H
#define HEDDLE_MINE_CORRELATE_H

#include "mine/access_sets.h"

#include <stdbool.h>

/* name, option, the dissertation's value (section 5.6), least, most, what it is */
#define HD_MINE_NUMBERS(X)                                                                         \
    X(min_support, "min-support", 10, 1, UINT32_MAX, "functions that access both, at least")       \
    X(min_direct, "min-direct-support", 5, 0, UINT32_MAX, "of these, by their own text, at least") \
    X(max_distance, "max-distance", 10, 1, UINT32_MAX, "together: less than N lines apart")        \
    X(high_support, "high-support", 20, 1, UINT32_MAX,                                             \
      "rank by confidence from here, by support below")                                            \
    X(max_functions, "max-functions", 0, 0, UINT32_MAX,                                            \
      "variables of more functions are left out (0: a twentieth of all, at least 100)")

struct hd_mine_options {
#define X(name, option, value, least, most, about) uint32_t name;
    HD_MINE_NUMBERS(X)
#undef X
    double min_confidence; /* 0.8 */
};

static inline struct hd_mine_options hd_mine_defaults(void) {
    return (struct hd_mine_options){
#define X(name, option, value, least, most, about) .name = value,
        HD_MINE_NUMBERS(X)
#undef X
            .min_confidence = 0.8};
}

struct hd_correlation {
    uint32_t x, y;      /* variables of the access sets */
    uint8_t a1, a2;     /* HD_MINE_READ, HD_MINE_WRITE or HD_MINE_ANY */
    uint32_t support;   /* functions with A1(x) and A2(y) together */
    uint32_t direct;    /* of these, by their own text */
    uint32_t functions; /* with A1(x) */
};

static inline double hd_correlation_confidence(const struct hd_correlation *correlation) {
    return (double)correlation->support / correlation->functions;
}

/* Three variables or more, each two of which are together in `support` functions, and of which no
 * one is accessed (written, in a set of writes) in more than `functions`. */
struct hd_correlated_set {
    uint8_t mode;          /* HD_MINE_WRITE or HD_MINE_ANY */
    uint32_t first, count; /* of `member` */
    uint32_t support, functions;
};

struct hd_correlations {
    HD_VECTOR(struct hd_correlation) list;   /* best first */
    HD_VECTOR(struct hd_correlated_set) set; /* best first */
    HD_VECTOR(uint32_t) member;
    uint32_t patterns;   /* closed frequent itemsets of two variables and more */
    uint32_t candidates; /* pairs of variables */
    uint32_t popular;    /* variables left out because too many functions access them */
    bool cut_short;      /* there are more patterns than were looked at; no pair is lost */
};

void hd_correlate(const struct hd_access_sets *sets, const struct hd_mine_options *options,
                  struct hd_correlations *correlations);
void hd_correlations_free(struct hd_correlations *correlations);

/* In how many functions more the variable may be: options' max_functions, made a number. */
uint32_t hd_mine_max_functions(const struct hd_mine_options *options, uint32_t functions);

/* Which modes of x and y a function has less than `max_distance` lines apart: bit 0 read-read, 1
 * read-write, 2 write-read, 3 write-write; four bits further up the same by direct accesses. */
unsigned hd_mine_together(const struct hd_access_sets *sets, uint32_t function, uint32_t x,
                          uint32_t y, uint32_t max_distance);
/* Of the lower or of the upper four bits: those of A1(x) and A2(y). */
unsigned hd_mine_mask(uint8_t a1, uint8_t a2);

#endif
