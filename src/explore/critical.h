/* Which accesses a failure may depend on: pairs that follow each other in the failing run and in
 * none that passed, and, where they close one, the triple of two accesses of one thread with
 * another's between them. Against no passing run, also a read and the next write by another thread,
 * with other reads between them. A pair that must-order orders is none. */
#ifndef HEDDLE_EXPLORE_CRITICAL_H
#define HEDDLE_EXPLORE_CRITICAL_H

#include "facts/history.h"

struct hd_critical {
    uint32_t event[3];   /* of the failing run, in its order */
    uint32_t events;     /* 3: a triple; 2: a pair; 0: no memory access tells it from the others */
    uint32_t location;   /* HD_NONE: a lock, which the events are about */
    const char *pattern; /* "R-W-R"; NULL for a pair */
};

/* Those of a failing run, triples first; returns how many are in the list. */
uint32_t hd_critical_find(const struct hd_history *passing, const struct hd_model *failing,
                          struct hd_critical *list, uint32_t room);
/* Locks that were tried in vain: who took the lock, and who tried it then. */
uint32_t hd_critical_tries(const struct hd_model *failing, struct hd_critical *list, uint32_t room);

#endif
