/* Closing: runs of the program until every way in which its reads can see its writes was run, or
 * the reason why that can't be said. It knows no explorer: it says which runs it wants, is told
 * what came of them, and several may be under way at once. The argument is in docs/explore.md.
 *
 *   struct closing *closing = closing_new(INFINITY);
 *   while ((work = closing_next(closing)) != NULL) {
 *       ... run the program under work->schedule, with a full trace, and load that ...
 *       closing_done(closing, work, &trace);
 *   }
 *   closing_left(closing) == 0 && closing_reasons(closing)->size == 0: nothing is left
 */
#ifndef HEDDLE_EXPLORE_CLOSING_H
#define HEDDLE_EXPLORE_CLOSING_H

#include "base/vector.h"
#include "explore/closing_view.h"
#include "run/schedule.h"

/* So many first steps of a thread, which saw what the hash says. Pins are a set of them, one for
 * each thread that has any, sorted by thread. */
struct closing_pin {
    uint64_t thread, hash;
    uint32_t steps;
};
typedef HD_VECTOR(struct closing_pin) closing_pins;

enum closing_aim {
    CLOSING_FIRST,  /* any run */
    CLOSING_FORCED, /* one that has the pins */
    CLOSING_FURTHER /* and in which a thread goes on that another's crash had stopped */
};

/* A run that is wanted. */
struct closing_work {
    enum closing_aim aim;
    closing_pins pins;
    struct hd_schedule schedule;
    /* The last step of this thread's pins is to see what they say. It was taken for one that does
     * not write; `before` are the pins that it needs itself. */
    uint64_t reader;
    bool not_writing;
    closing_pins before;
    uint64_t pair; /* of places: who is to see what (closing_queue.h) */
};

/* Why it can't be said that nothing is left. */
struct closing_reason {
    char *text; /* "signal to several threads that wait, queue.c:40" */
    uint64_t times;
};
typedef HD_VECTOR(struct closing_reason) closing_reason_list;

struct closing;
struct closing *closing_new(double until);
/* By hd_seconds_now: no question is asked later. */
void closing_set_until(struct closing *closing, double until);
void closing_free(struct closing *closing);

/* The next run that is wanted; NULL: none now. The caller's until closing_done. */
struct closing_work *closing_next(struct closing *closing);
/* Takes the trace of the run (NULL: it could not be run, or has none) and frees the work. True:
 * no run like it is known. */
bool closing_done(struct closing *closing, struct closing_work *work, struct hd_trace *trace);
/* Gives back what was not run. */
void closing_give_back(struct closing *closing, struct closing_work *work);
/* A run that nobody asked for. False: it is of a kind that was not known, and work now. */
bool closing_check(struct closing *closing, struct hd_trace *trace);

/* One more time for this reason; `model` and `event` (HD_NONE: none) say where. */
void closing_add_reason(struct closing *closing, const char *text, const struct hd_model *model,
                        uint32_t event);
const closing_reason_list *closing_reasons(const struct closing *closing);
uint64_t closing_runs(const struct closing *closing);    /* different ones that are known */
uint64_t closing_classes(const struct closing *closing); /* of them, by what reads saw */
uint64_t closing_left(const struct closing *closing);    /* runs that are known to be wanted */
uint64_t closing_bytes(const struct closing *closing);

/* closing_limits.c: what in a run's trace forbids to say that nothing is left. */
void closing_find_limits(struct closing *closing, const struct closing_view *view);

#endif
