/* A run that is checked while it goes on (AVIO, `heddle check`): the runtime watches, for every
 * access I of a thread, whether other threads' accesses since the thread's previous access P to the
 * same memory make an unserializable interleaving. What it saw is handed over as plain values.
 *
 * The definition, the same for a trace (src/learn/). For each byte (or word, or cache line) and
 * each access I of a thread, P is the same thread's latest access to it before I. Between P and I:
 *   - let W be the last access of another thread that writes. hd_pattern_of(P, W, I) is R-W-R,
 *     W-W-R or R-W-W: violated, and R is W;
 *   - otherwise, let F be the first access of another thread. hd_pattern_of(P, F, I) is W-R-W:
 *     violated, and R is F.
 * An atomic read-modify-write is one access that reads and writes (HD_DOES_UPDATE); three updates
 * make no pattern (facts/patterns.h). Objects of locks and the like are not checked. Memory that is
 * freed or allocated, and the stack of a new thread, has no history (of a cache line, if it is in
 * the block as a whole). An access of several bytes may
 * have several P; each different (P, R, I, pattern) counts once for one execution of I.
 *
 * An access is `executed` if it was an I, that is, had a P, on memory that another thread had
 * accessed before it, or accessed next. (What a thread did with it longer before that is not kept;
 * a trace has all of it.) */
#ifndef HEDDLE_RUN_OBSERVED_H
#define HEDDLE_RUN_OBSERVED_H

#include "facts/patterns.h"
#include "run/run.h"

/* An access in the code: the site of the call (a number of observed->modules) and what it does. One
 * site may do several things (a compare and exchange, memmove). */
struct hd_observed_access {
    uint32_t thread; /* number; the main thread is 0 */
    uint32_t site;
    unsigned does; /* HD_DOES_READ, ... */
};

struct hd_observed_site {
    uint32_t site;
    unsigned does;
    uint64_t violations; /* executions in which it was the I of a violation, each pattern apart */
};

/* The first one of all with the same four sites and pattern, and how many there were. */
struct hd_observed_violation {
    struct hd_observed_access first, remote, second; /* P, R and I */
    enum hd_pattern pattern;
    uint64_t address; /* that I accesses */
    uint64_t size;
    uint64_t instances;
    uint32_t number;        /* of the run's own table */
    uint32_t frame, frames; /* I's call stack in observed->frame: call sites, innermost first */
};

/* Zeroed: nothing. */
struct hd_observed {
    /* The modules of the run and nothing else, as a trace that hd_symbols_open and hd_site_code
     * take: sites are numbers of it. */
    struct hd_trace modules;
    HD_VECTOR(struct hd_observed_site) executed;
    HD_VECTOR(struct hd_observed_violation) violation; /* in the order in which they happened */
    HD_VECTOR(uint32_t) frame;
    bool truncated; /* there was more than the tables hold */
};
void hd_observed_free(struct hd_observed *observed);

/* How a run is checked. Zeroed: byte-exact, and nobody is asked. */
struct hd_checking {
    enum hd_granularity granularity;
    /* Called when a violation happens for the first time; it is the last of observed->violation.
     * False: stop the program. May be NULL. */
    bool (*violated)(void *context, const struct hd_observed *observed);
    void *context;
    bool wait;   /* the thread that did it waits for the answer */
    bool record; /* write a trace, too: under serial. It has every access that was checked */
};

/* Runs a job and checks it: under `free` (threads run in parallel) or `serial`. False if the
 * program could not be run. *observed is the caller's to free in any case. */
bool hd_run_checked(const struct hd_job *job, const struct hd_host *host,
                    const struct hd_checking *checking, struct hd_result *result,
                    struct hd_observed *observed, struct hd_error *error);

#endif
