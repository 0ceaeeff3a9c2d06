/* Inconsistent updates (the dissertation, section 5.5): functions that write x and do nothing to y,
 * where almost all others that write x access y as well. */
#ifndef HEDDLE_MINE_UPDATES_H
#define HEDDLE_MINE_UPDATES_H

#include "mine/correlate.h"

/* One violated pair. `correlation` is write(x) => write(y) if that holds, else write(x) => any(y).
 */
struct hd_update_pair {
    uint32_t correlation; /* in hd_correlations.list */
    uint32_t violations;  /* functions that violate it, this one included */
    uint32_t line;        /* where x is written */
};

/* Functions that keep a rule by their own text, and how many of them do so in which way. */
struct hd_evidence {
    uint32_t supporters;
    uint32_t same_object; /* both variables are of one object */
    uint32_t written;     /* the second variable is written */
    uint32_t same_way;    /* the first is written as by the function that breaks the rule: with a
                             constant, with another value, or from its old value */
    uint32_t local;       /* the first is of a struct that is a local variable */
    bool is_local;        /* so it is in the function that breaks the rule, always */
    bool unknown_callers; /* of the function that breaks it: it is called through pointers */
};

/* Pairs of one function that hang together by a variable are one update. */
struct hd_update {
    uint32_t function;           /* of the access sets */
    uint32_t first, count;       /* of `pair`; the best one is the first */
    bool both_written;           /* the best pair is write => write */
    bool special;                /* an initialiser, destructor or copy function: ranked down */
    struct hd_evidence evidence; /* of the best pair: hd_updates_rank */
};

struct hd_updates {
    HD_VECTOR(struct hd_update) list; /* best first: by the rules alone, or by hd_updates_rank */
    HD_VECTOR(struct hd_update_pair) pair;
    uint32_t candidates; /* violated pairs of a function and a correlation */
    uint32_t pruned;     /* of these: y is accessed in a caller or callee, two levels up or down */
};

/* `special` tells by number of the access sets whether a function is ranked down. */
void hd_updates_find(const struct hd_access_sets *sets, const struct hd_correlations *correlations,
                     const bool *special, struct hd_updates *updates);
void hd_updates_free(struct hd_updates *updates);

/* Does the name say that the function makes, ends or copies an object? */
bool hd_mine_special_name(const char *name);

/* Up to `most` functions that support a correlation, by direct accesses first, with the line of x
 * in each. */
struct hd_supporter {
    uint32_t function, line;
};
uint32_t hd_mine_supporters(const struct hd_access_sets *sets,
                            const struct hd_correlation *correlation, uint32_t max_distance,
                            struct hd_supporter *supporter, uint32_t most);

#endif
