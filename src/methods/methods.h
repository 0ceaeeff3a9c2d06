/* The table of methods that a command picks from: the exact engine and, for comparison, those of
 * the papers. */
#ifndef HEDDLE_METHODS_METHODS_H
#define HEDDLE_METHODS_METHODS_H

#include "predict/method.h"

/* name, what it does */
#define HD_METHODS(X)                                                               \
    X(lockset, "conflicting, no common lock, not must-ordered")                     \
    X(hb, "unordered by happens-before in this trace")                              \
    X(cp, "unordered by causally-precedes")                                         \
    X(ucg, "no cycle by Rule 1 alone; reads may read anything")                     \
    X(oa, "over-approximate: must-order and common sections only")                  \
    X(ua, "under-approximate: every read of the whole trace keeps its write")       \
    X(avfilter, "OA less what broken reads-from makes doubtful")                    \
    X(lockset_mv, "lockset, for variables that belong together: one lock for both") \
    X(hb_mv, "hb, for variables that belong together: both are ordered")            \
    X(poly, "exact: a checked witness, or a proof that there is none")

#define X(name, about) extern const struct hd_method hd_method_##name;
HD_METHODS(X)
#undef X

enum {
#define X(name, about) HD_METHOD_INDEX_##name,
    HD_METHODS(X)
#undef X
        HD_METHOD_COUNT
};
extern const struct hd_method *const hd_methods[HD_METHOD_COUNT];

#endif
