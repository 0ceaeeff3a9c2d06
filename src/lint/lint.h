/* MoTH as a whole (Pessanha, Dias and Lourenço): a program's source in, high-level data races
 * (inconsistent views) and stale values out. docs/moth.md has the paper's definitions beside the
 * functions that are them. */
#ifndef HEDDLE_LINT_LINT_H
#define HEDDLE_LINT_LINT_H

#include "finding/finding.h"
#include "lint/graph.h"
#include "lint/options.h"
#include "lint/views.h"

/* Signs that a report may be intended: it is ranked down, and says why. */
enum hd_lint_sign {
    HD_SIGN_LOGGING = 1,   /* used only to print, log or count */
    HD_SIGN_UNRELATED = 2, /* a condition on a variable that the second block has no use for */
    HD_SIGN_WHOLE = 4      /* each of two updates is whole by itself */
};

/* A step on the way of a value. */
struct hd_lint_way {
    uint32_t step;
    uint8_t how; /* enum hd_causal_kind: how it got there */
};

/* A value of `variable` that leaves block `first` and has a part in a write of block `second`,
 * while a thread may write the variable in `between` (Definitions 10 and 11). */
struct hd_stale {
    uint32_t first, second, between; /* blocks */
    uint32_t thread, other;          /* who runs the first two, and the one between */
    uint32_t variable;               /* the best of `variables`, which the steps are about */
    uint32_t read, use, write;       /* steps: in the first, in the second, in between */
    bool control;                    /* only as a condition */
    unsigned signs;
    struct hd_source_range way;       /* of hd_lint.way: between read and use */
    struct hd_source_range variables; /* of hd_lint.number: all that leave so */
};

/* Two partial views of a thread and a maximal view of another that they break (Definition 8). */
struct hd_view_pair {
    uint32_t first, second, maximal; /* blocks */
    uint32_t thread, other;
    uint8_t mode; /* of the two: HD_ACCESS_READ, _WRITE, or _READ_WRITE if it does not matter */
    uint32_t one, two; /* a variable of each that the other lacks */
    uint32_t first_step, second_step, one_step, two_step;
    uint32_t common; /* reads: node where both values have a part; NONE */
    unsigned signs, instances;
    struct hd_source_range overlap, overlap_two; /* of hd_lint.number: the partial views */
    struct hd_source_range whole;                /* the maximal view */
};

struct hd_lint {
    const struct hd_source *source;
    struct hd_lint_options options;
    struct hd_calls calls;
    struct hd_shared shared;
    struct hd_blocks blocks;
    struct hd_causal_graph graph;
    struct hd_views views;
    HD_VECTOR(struct hd_stale) stale;
    HD_VECTOR(struct hd_view_pair) pair;
    HD_VECTOR(struct hd_lint_way) way;
    HD_VECTOR(uint32_t) number;
    uint32_t cut_short;                     /* values that were not followed to the end */
    uint32_t by_refinement[HD_REFINEMENTS]; /* candidates that each took away */
};

/* The source must live as long as the result. */
void hd_lint_run(const struct hd_source *source, const struct hd_lint_options *options,
                 struct hd_lint *lint);
void hd_lint_free(struct hd_lint *lint);

/* What was found, best first: the likely ones before those that are ranked down. Places are shown
 * relative to `base` (NULL: as they are). */
void hd_lint_findings(const struct hd_lint *lint, const char *base, struct hd_findings *findings);

/* The view dependency graph, with the blocks by thread, for graphviz. malloc'ed. */
char *hd_lint_dot(const struct hd_lint *lint, const char *base);

/* "q->lock in take (q.c:12)": a block in words, in a buffer of the caller. */
const char *hd_lint_block_name(const struct hd_lint *lint, uint32_t block, char *buffer,
                               size_t size);

#endif
