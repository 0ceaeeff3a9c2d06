/* Order violations: two operations of different threads that this run did in one order, which
 * nothing enforces. Kinds of candidates, each an error condition for the exact engine; what
 * finds them is in initialisation.c, lifetime.c, object_lives.c and wakeups.c. */
#ifndef HEDDLE_PREDICT_ORDER_VIOLATIONS_H
#define HEDDLE_PREDICT_ORDER_VIOLATIONS_H

#include "base/map.h"
#include "finding/intent.h"
#include "predict/predict.h"

/* name, pattern in reports, where first and second are in the query */
#define HD_ORDER_TYPES(X)                                                                  \
    X(EARLY_READ, "read before initialisation") /* read executed: the initial value */     \
    X(USE_AFTER_FREE, "use after free")         /* free executed, use next */              \
    X(DOUBLE_FREE, "double free")               /* free executed, other free next */       \
    X(LATE_INITIALISATION, "write-write order") /* later write, then the first */          \
    X(MISSED_SIGNAL, "missed signal")           /* signal executed, wait about to begin */ \
    X(USE_AFTER_DESTROY, "use after destroy")   /* destruction executed, use next */       \
    X(USE_BEFORE_INIT, "use before init")       /* use executed, initialisation next */    \
    X(NEVER_RELEASED, "lock never released")    /* its holder has ended, acquire next */
enum hd_order_type {
#define X(name, pattern) HD_ORDER_##name,
    HD_ORDER_TYPES(X)
#undef X
        HD_ORDER_TYPE_COUNT
};

/* Two events in the order that is asked for. */
struct hd_order_candidate {
    uint32_t first, second;
    uint32_t location; /* or block, condition variable, note of a life, as the type has it */
    uint32_t group;
};

struct hd_order_group {
    uint8_t type;          /* enum hd_order_type */
    bool raw;              /* early reads: of memory that nobody has set to anything */
    uint32_t start, count; /* of hd_order_candidates.list */
};

struct hd_order_signal {
    uint32_t event;
    uint16_t thread;
};

struct hd_order_candidates {
    const struct hd_model *model;
    enum hd_reading reading;
    const struct hd_clocks *clocks; /* of must-order */
    const struct hd_clocks *kept;   /* of what an event cannot do without */
    const uint32_t *branches; /* NULL, or: reads that no branch follows may see other writes */
    HD_VECTOR(struct hd_order_candidate) list; /* by group */
    HD_VECTOR(struct hd_order_group) group;
    /* signals and broadcasts of each object, by thread, then in trace order */
    uint32_t *signal_start; /* objects + 1 */
    HD_VECTOR(struct hd_order_signal) signal;
    struct hd_map site_number;
    struct hd_map group_number[2 * HD_ORDER_TYPE_COUNT]; /* two sites -> group */
    struct hd_map known[HD_ORDER_TYPE_COUNT];            /* two events: listed */
};

/* `branches`: those too that are possible only if reads that no branch follows see other writes
 * (hd_query.branches); NULL: not. */
void hd_order_candidates_build(struct hd_analysis *analysis, enum hd_reading reading,
                               const uint32_t *branches, struct hd_order_candidates *candidates);
void hd_order_candidates_free(struct hd_order_candidates *candidates);

/* Adds a candidate once. */
void hd_order_add(struct hd_order_candidates *candidates, enum hd_order_type type, bool raw,
                  uint32_t first, uint32_t second, uint32_t about);

/* Is it certain that `other` is executed before a thread comes to an event? */
bool hd_order_follows(const struct hd_order_candidates *candidates, uint32_t event, uint32_t other);

void hd_order_find_initialisations(struct hd_order_candidates *candidates);
void hd_order_find_lifetimes(struct hd_order_candidates *candidates);
void hd_order_find_object_lives(struct hd_order_candidates *candidates);
void hd_order_find_unreleased(struct hd_order_candidates *candidates);
void hd_order_find_wakeups(struct hd_order_candidates *candidates);

/* The query of a candidate; `form` counts ways to ask, HD_NO_MORE when there is no other. */
enum hd_asked hd_order_ask(const struct hd_order_candidates *candidates,
                           const struct hd_order_candidate *candidate, enum hd_order_type type,
                           uint32_t form, struct hd_question *question);

/* The same with the branch relaxation: HD_SKIP where a form says nothing, HD_NO_MORE from
 * HD_ORDER_RELAXED_FORMS on. */
#define HD_ORDER_RELAXED_FORMS 10u
enum hd_asked hd_order_ask_relaxed(const struct hd_order_candidates *candidates,
                                   const struct hd_order_candidate *candidate,
                                   enum hd_order_type type, uint32_t form,
                                   struct hd_question *question);

/* The event of its thread before another one, HD_NONE. */
uint32_t hd_event_before(const struct hd_model *model, uint32_t event);
/* Is a block's memory, before the first write to it, what it happens to be? */
bool hd_block_is_raw(const struct hd_model *model, uint32_t block);

/* ---- rank -------------------------------------------------------------------------------------
 */

/* What passing runs have shown is taken from the options. */
struct hd_weighing hd_order_weigh(const struct hd_order_candidates *candidates,
                                  const struct hd_order_candidate *candidate,
                                  const struct hd_order_group *group,
                                  const struct hd_predict *predict);

#endif
