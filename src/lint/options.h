/* What an analysis of atomic blocks looks for, and which refinements of the paper's algorithm it
 * uses. Each refinement can be switched off; without all of them it is the algorithm of the paper.
 */
#ifndef HEDDLE_LINT_OPTIONS_H
#define HEDDLE_LINT_OPTIONS_H

#include <stdbool.h>

/* name, word on the command line, what it does */
#define HD_LINT_REFINEMENTS(X)                                                                 \
    X(RECHECK, "recheck", "a value that is checked again under the lock before its use")       \
    X(VERSIONS, "versions", "a value whose version is compared under the lock before its use") \
    X(TAKEN, "taken", "a value that its block takes out: it is the thread's own")              \
    X(CLAIMS, "claims", "conditions on the way to a block that gives back a claim")            \
    X(REREAD, "reread", "what was written before a lock was given back and taken again")       \
    X(LOCKS, "locks", "blocks without a lock in common: they access different objects")        \
    X(ALONE, "alone", "what main does before its threads start and after they are joined")     \
    X(LOGGING, "logging", "what is only printed, logged or counted is ranked down")            \
    X(RELATED, "related", "conditions on a variable that the block has no use for, too")       \
    X(WHOLE, "whole", "updates that are whole by themselves, too")
enum hd_lint_refinement {
#define X(name, word, about) HD_REFINE_##name,
    HD_LINT_REFINEMENTS(X)
#undef X
        HD_REFINEMENTS
};

enum hd_lint_method { HD_LINT_MOTH, HD_LINT_ARTHO };

/* Which threads there are. */
enum hd_lint_threads {
    HD_THREADS_AUTO,  /* found, unless there is neither main nor a creation */
    HD_THREADS_FOUND, /* main and the entries of created threads */
    HD_THREADS_ANY    /* a library: every visible function may run in any thread */
};

struct hd_lint_options {
    bool views, stale;
    unsigned method;  /* enum hd_lint_method */
    unsigned threads; /* enum hd_lint_threads */
    bool refine[HD_REFINEMENTS];
};

/* All of it, with every refinement. */
struct hd_lint_options hd_lint_defaults(void);

#endif
