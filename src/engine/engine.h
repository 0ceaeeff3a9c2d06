/* Is there a correct reordering of a part of this trace that ends in the bad state? One question,
 * one interface, for every kind of error condition (DESIGN section 5). A kind of bug is a way to
 * make queries; the engine knows none of them. */
#ifndef HEDDLE_ENGINE_ENGINE_H
#define HEDDLE_ENGINE_ENGINE_H

#include "facts/analysis.h"
#include "facts/reading.h"

enum hd_verdict { HD_INFEASIBLE = 0, HD_FEASIBLE, HD_UNDECIDED, HD_POSSIBLE };

/* Where a thread is at the end: it has executed everything before `event`, and `event` itself if
 * `executed`, and nothing after. Threads that are not listed are wherever it suits. */
struct hd_stop {
    uint32_t event;
    bool executed;
};

/* An order that must hold between two executed events. */
struct hd_precedes {
    uint32_t before, after;
};

struct hd_query {
    const struct hd_stop *stop; /* at most one a thread */
    uint32_t stops;
    const struct hd_precedes *order;
    uint32_t orders;
    /* An executed stop that is a read may read anything (nothing after it has to happen), unless it
     * has a demanded write: then `reader` must see `writer` (HD_NONE: the initial value). */
    uint32_t reader, writer; /* reader HD_NONE: no such demand */
    /* CDSR, relaxed (NULL: not): a number for each event that grows with the branches its thread
     * has taken (hd_branches.before). In the threads of the stops a read with the number of the
     * stop's event need not keep its write: no branch comes after it that it could have decided. */
    const uint32_t *branches;
};
/* race(a,b): stops a, b, neither executed. atomicity(a,c,b): stops c executed, b not; a before c.
 * deadlock: stops at the acquires, not executed. nondeterminism(w,r,c): stop r executed, reader r,
 * writer c. order(e1..ek): stops and orders as listed. An event that is not executed is only next:
 * it needs no lock, and locks it holds stay held. */

/* A witness: events in the order of the reordering; the stops that are next come last, in the order
 * of the query, then they are the events `next` from the end. */
struct hd_witness {
    uint32_t *event;
    uint32_t count;
    uint32_t next;  /* how many at the end are not executed */
    uint32_t start; /* at least so many at the beginning are the trace's first events, in order */
    uint32_t room;
};
void hd_witness_free(struct hd_witness *witness);

/* Which rung of the ladder decided, counted. */
#define HD_RUNGS(X)                                        \
    X(MUST_ORDER, "must-order and locksets")               \
    X(CLOSURE, "closed prefix impossible")                 \
    X(TRACE_ORDER, "trace order restricted to the prefix") \
    X(SATURATION, "polygraph saturation")                  \
    X(RECONSTRUCTION, "schedule reconstruction")           \
    X(LOOKAHEAD, "bounded lookahead")                      \
    X(SEARCH, "backtracking search")
enum hd_rung {
#define X(name, text) HD_RUNG_##name,
    HD_RUNGS(X)
#undef X
        HD_RUNG_COUNT
};

struct hd_engine_stats {
    uint64_t queries, feasible[HD_RUNG_COUNT], infeasible[HD_RUNG_COUNT], undecided;
    uint64_t choices, backtracks, nanoseconds;
};

/* Adds what one engine counted to a total. */
void hd_engine_stats_add(struct hd_engine_stats *total, const struct hd_engine_stats *part);

struct hd_budget {
    uint64_t choices;     /* of one query's search; 0: unlimited */
    uint64_t nanoseconds; /* of one query; 0: unlimited */
    uint64_t until;       /* by hd_now_ns: no question is begun later; 0: at any time */
};

/* Has the time come after which no question is begun? */
bool hd_budget_is_over(const struct hd_budget *budget);

/* What is computed once for a model and shared, read-only, by the engines of all threads. */
struct hd_engine_base;
struct hd_engine_base *hd_engine_base_build(const struct hd_model *model);
/* That of an analysis: built once, freed with it. */
const struct hd_engine_base *hd_engine_base(struct hd_analysis *analysis);
void hd_engine_base_free(struct hd_engine_base *base);

/* One engine for each worker thread. */
struct hd_engine;
struct hd_engine *hd_engine_new(const struct hd_engine_base *base, enum hd_reading reading,
                                struct hd_budget budget);
void hd_engine_free(struct hd_engine *engine);
enum hd_verdict hd_engine_decide(struct hd_engine *engine, const struct hd_query *query,
                                 struct hd_witness *witness);
const struct hd_engine_stats *hd_engine_stats(const struct hd_engine *engine);

#endif
