/* Rounds of loops that only wait. */
#ifndef HEDDLE_EXPLORE_CLOSING_IDLE_H
#define HEDDLE_EXPLORE_CLOSING_IDLE_H

#include "trace/trace.h"

/* Names for the threads of a trace that are the same in every run: who makes a thread, and which of
 * those that this one makes it is. malloc'ed. */
uint64_t *closing_name_threads(const struct hd_trace *trace);

/* Takes from a trace the rounds after which a thread is as it was before: it only read, at the same
 * place, or wrote to its stack, and its registers and stack are the same. What is left is a run as
 * well, in which it came later to where it waits. Notes of states go too,
 * and of waits that ended; one that did not becomes a BLOCKED event. The first `kept` steps of
 * each thread stay. */
enum closing_idle {
    CLOSING_NORMAL,
    CLOSING_IDLE_STAYS, /* such a round is in what stays */
    CLOSING_IDLE_LAST   /* what stays of `reader` (HD_NONE: nobody) ends with such a round */
};
/* wrote[t] becomes 1 if that took writes of the thread to its stack. */
enum closing_idle closing_drop_idle(struct hd_trace *trace, const uint32_t *kept, uint32_t reader,
                                    uint8_t *wrote);

#endif
