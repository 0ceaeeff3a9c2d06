/* What a method is to the kinds of findings: something that decides races, triples of accesses, or
 * everything. The exact engine is the one that predict/ has itself; the papers' own are in
 * methods/, which has the table that a command picks from. */
#ifndef HEDDLE_PREDICT_METHOD_H
#define HEDDLE_PREDICT_METHOD_H

#include "base/vector.h"
#include "engine/asker.h"
#include "facts/conflicts.h"

/* The candidates of one model and how to decide them: what a method is given to prepare itself. */
struct hd_race_task {
    const struct hd_conflicts *candidates;
    const struct hd_engine_base *base; /* if the method needs the engine */
    enum hd_reading reading;
    struct hd_budget budget;
    /* Relaxed (NULL: not): reads that no branch follows may see other writes (hd_query.branches).
     */
    const uint32_t *branches;
};

/* A pair of sites that races, found without candidates. */
struct hd_streamed_race {
    uint32_t event[2]; /* the first such events, in trace order */
    uint32_t location;
    uint64_t instances; /* accesses that raced with the latest of the other site in some thread */
};
struct hd_streamed_races {
    HD_VECTOR(struct hd_streamed_race) list;
};

/* How a method decides pairs of accesses. */
struct hd_race_method {
    bool needs_engine; /* the task has to have the engine's base structure */
    /* What it computes once; shared by all workers, read-only. Both may be NULL. */
    void *(*prepare)(const struct hd_race_task *task);
    void (*forget)(void *prepared);
    /* Does the method order x before y, for sure and whatever else happens? Then no pair of an
     * event up to x and one from y on can race. */
    bool (*before)(const struct hd_race_task *task, const void *prepared, uint32_t x, uint32_t y);
    /* A worker's own part, which decides single pairs: can both events be next at the same time?
     * NULL if `before` is all the method knows; then a pair that it leaves unordered is `possible`.
     * False only if a witness turned out wrong. */
    void *(*begin)(const struct hd_race_task *task, const void *prepared);
    void (*end)(void *own, struct hd_ask_stats *stats); /* adds what it did */
    bool (*decide)(void *own, uint32_t a, uint32_t b, enum hd_verdict *verdict,
                   struct hd_error *error);
    /* The witness of the last FEASIBLE, valid until the next question. NULL: it has none. */
    const struct hd_witness *(*witness)(const void *own);
    /* All its races in one pass, without candidates. NULL: it can't. */
    void (*stream)(const struct hd_model *model, struct hd_progress *progress,
                   struct hd_streamed_races *races);
};

/* How a method decides triples of accesses: sets the verdict of every decision of the task that the
 * trace itself does not have. False only if a witness turned out wrong. */
struct hd_triple_task;
struct hd_atomicity_method {
    bool (*decide)(const struct hd_triple_task *task, struct hd_error *error);
    bool needs_engine; /* the task has to have the engine's base structure */
};

/* How a method decides what happens to two variables that belong together: sets the verdict of
 * every decision of the task. False only if a witness turned out wrong. */
struct hd_correlated_task;
struct hd_correlated_method {
    bool (*decide)(const struct hd_correlated_task *task, struct hd_error *error);
    bool needs_engine;  /* the task has to have the engine's base structure */
    bool needs_remotes; /* and the groups single accesses of other threads */
};

struct hd_method {
    const char *name; /* on the command line and in findings */
    /* In findings of these models of reads; NULL: `name` whatever the model. */
    const char *const *name_of_reading;
    const struct hd_race_method *race;             /* NULL: it can't decide races */
    const struct hd_atomicity_method *atomicity;   /* NULL: it can't decide triples */
    const struct hd_correlated_method *correlated; /* NULL: it knows no rules about variables */
    bool exact; /* what it finds has a witness; decides every kind */
};

/* The exact engine. */
extern const struct hd_method hd_method_poly;

/* "poly/cdsr", "lockset" */
const char *hd_method_full_name(const struct hd_method *method, enum hd_reading reading);

#endif
