/* Where the values go that a block reads from one variable: direct correlation (Definition 1),
 * followed from the block outwards, to its callers, and down into other functions. */
#ifndef HEDDLE_LINT_FLOW_H
#define HEDDLE_LINT_FLOW_H

#include "lint/lint.h"

enum hd_flow_where {
    HD_FLOW_INSIDE, /* in a function that the block calls */
    HD_FLOW_HOME,   /* in the block's own function, still in the block */
    HD_FLOW_LEFT,   /* has left it */
    HD_FLOW_DOWN    /* the same, and went down into a function that was called since */
};

/* A node that a value reaches. */
struct hd_flow_point {
    uint32_t node;
    uint32_t previous; /* point; NONE at a read of the variable */
    uint32_t entered;  /* DOWN: the block that the function was called in; NONE */
    uint32_t top;      /* the function that called all the others on the way */
    uint64_t around;   /* blocks of that function that were held all the way; LEFT: not entered */
    uint8_t where;     /* enum hd_flow_where */
    uint8_t how;       /* enum hd_causal_kind of the last edge */
    bool control;      /* a condition is on the way */
};

struct hd_flow {
    HD_VECTOR(struct hd_flow_point) point; /* data before control, near before far */
    bool cut_short;
};

/* `taken`: reads that a block takes out for itself (hd_taken) are left out and counted there; NULL:
 * all reads count. */
void hd_flow_follow(const struct hd_lint *lint, uint32_t block, uint32_t variable, uint32_t *taken,
                    struct hd_flow *flow);
void hd_flow_free(struct hd_flow *flow);

/* The blocks that a point is in after it left: as bits of its function, and `entered`. */
uint64_t hd_flow_blocks(const struct hd_lint *lint, const struct hd_flow_point *point);

#endif
