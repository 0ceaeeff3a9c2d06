/* A failing schedule made as small as it gets, and how often it gives its failure. */
#ifndef HEDDLE_EXPLORE_REDUCE_H
#define HEDDLE_EXPLORE_REDUCE_H

#include "run/run.h"
#include "run/schedule.h"

struct hd_reduce {
    const struct hd_program *program;
    const struct hd_host *host;
    const struct hd_outcome *outcome; /* the failure */
    /* It hangs, and nothing else can be found out by waiting for long: what a run may take while
     * that is seen again; 0: the program's own limit. */
    uint64_t hangs_again_ms;
    uint32_t patience_ms;    /* while asking; 0: the usual */
    uint32_t times;          /* to repeat */
    uint32_t most_questions; /* 0: the usual */
    /* At every run; `all` 0: nobody knows; `asked` and `repeated` below are up to date. May be
     * NULL. */
    void (*told)(void *context, const struct hd_reduce *how, const char *doing, uint32_t done,
                 uint32_t all);
    void *context;
    /* what came of it */
    struct hd_rate rate;
    uint32_t asked, repeated; /* runs */
    uint32_t switches, switches_before;
    int interrupted;
};

/* Leaves the smaller schedule in *schedule, if that is as reliable as the one it was. */
bool hd_reduce(struct hd_schedule *schedule, struct hd_reduce *how, struct hd_error *error);

#endif
