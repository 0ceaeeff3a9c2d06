/* Who gets what a checked run finds, while it goes on. Private to src/run/. */
#ifndef HEDDLE_RUN_OBSERVER_H
#define HEDDLE_RUN_OBSERVER_H

#include "run/observed.h"

struct hd_observer {
    const struct hd_checking *checking;
    struct hd_observed *observed;
    bool stopped; /* checking->violated said so */
};

#endif
