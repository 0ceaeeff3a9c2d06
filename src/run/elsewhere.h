/* Runs that somebody else does, as base/errands.h has it for work of any kind.
 *
 *     uint32_t ticket = runs->ask(runs->context, &job, true);
 *     ...
 *     switch (runs->take(runs->context, ticket, until, &result, &error)) ...
 *
 * Every ticket is either taken or dropped, once. All calls come from one thread. */
#ifndef HEDDLE_RUN_ELSEWHERE_H
#define HEDDLE_RUN_ELSEWHERE_H

#include "base/errands.h"
#include "run/run.h"

struct hd_elsewhere {
    void *context;
    uint32_t ahead; /* so many runs it likes to know of before they are wanted */
    /* Asks for a run. What the job points to is copied, but for the strings of its program: those
     * must live as long as the context, and stay as they are. `now`: somebody waits for it. */
    uint32_t (*ask)(void *context, const struct hd_job *job, bool now);
    /* Waits for the run to end, until a time by hd_seconds_now; *result is as hd_run leaves it. */
    enum hd_taken (*take)(void *context, uint32_t ticket, double until, struct hd_result *result,
                          struct hd_error *error);
    void (*drop)(void *context, uint32_t ticket);
};

#endif
