/* May a feasible triple be intended (DESIGN section 6, Harm)? A counter under a lock and a polling
 * loop give unserializable triples all day. Signs for and against a bug, weighed and put into
 * words: hd_intent_signs is the table of them. What a passing run did already is no bug. */
#ifndef HEDDLE_PREDICT_INTENT_H
#define HEDDLE_PREDICT_INTENT_H

#include "finding/intent.h"
#include "predict/atomicity_decide.h"

/* name, weight, words. The weights were set by tests/programs (docs/atomicity.md has the table):
 * they start from HD_INTENT_START, on the scale of finding/intent.h. */
#define HD_INTENT_SIGNS(X)                                                                     \
    X(ONE_CALL, 20, "both accesses in one call of one function")                               \
    X(ONE_CALLER, 0, "both accesses below one call of a function")                             \
    X(EACH_ITS_CALL, -30, "two calls of the same function, with one access each")              \
    X(TWO_CALLS, -30, "the function of the first access returned before the second")           \
    X(REPEATED, -35, "the same access, repeated")                                              \
    X(BACKWARD, -25,                                                                           \
      "the second access comes earlier in the code: another round of a loop, or another call") \
    X(WAITS, -45, "the thread waits for others in between")                                    \
    X(WAIT_LOOP, -35, "the second access is the condition of a wait loop")                     \
    X(UPDATE, 15, "what was read is written back")                                             \
    X(CHECKED, 10, "a branch in between may depend on the first read")                         \
    X(READ_BACK, 10, "what was written is read back")                                          \
    X(INITIALISED, -30, "a plain write before all of them use it atomically: initialisation")  \
    X(UNSEEN, -15, "nobody reads what is lost")                                                \
    X(ONLY_UPDATES, -15, "both accesses are atomic updates, each whole in itself")             \
    X(LIBRARY, -45, "both accesses are atomic ones of the C++ library's own code")             \
    X(SHORT, 10, "few steps apart")                                                            \
    X(LONG, -15, "many steps apart")                                                           \
    X(NEVER, 10, "never parted in the other runs given, which passed")                         \
    X(FAILED, 15, "seen in this run, which failed")
enum hd_intent_sign {
#define X(name, weight, words) HD_SIGN_##name,
    HD_INTENT_SIGNS(X)
#undef X
        HD_SIGN_COUNT
};

enum { HD_INTENT_START = 45 };

/* What triples of a run are judged by. */
struct hd_intent {
    const struct hd_predict *predict;
    const struct hd_model *model;
    const struct hd_triples *triples;
    const struct hd_branches *branches;
    bool passed; /* the run did */
};
struct hd_intent hd_intent(const struct hd_predict *predict, const struct hd_triples *triples,
                           const struct hd_branches *branches);

/* Did a run end well? */
bool hd_run_passed(const struct hd_model *model);

/* The invariant that a triple would break, whether or not it holds; NULL: none was learned. */
const struct hd_invariant *hd_intent_invariant(const struct hd_intent *intent,
                                               const struct hd_triple *triple);

struct hd_weighing hd_intent_weigh(const struct hd_intent *intent,
                                   const struct hd_triple_decision *decision);

#endif
