/* What the parts of closing share; not for others. */
#ifndef HEDDLE_EXPLORE_CLOSING_PARTS_H
#define HEDDLE_EXPLORE_CLOSING_PARTS_H

#include "base/map.h"
#include "explore/closing.h"
#include "explore/closing_order.h"
#include "explore/closing_queue.h"

/* What is to be asked of a run that has these pins: what else could each read after them see? */
struct closing_item {
    uint32_t view;
    closing_pins pins;
};

enum { CLOSING_STACK_DROPPED = 1, CLOSING_STACK_LENT = 2 };

struct closing {
    HD_VECTOR(struct closing_view *) view; /* runs, one of each kind */
    HD_VECTOR(struct closing_item) item;
    size_t item_at;
    struct closing_queue work;
    uint64_t under_way;
    struct hd_map asked;  /* keys of pins */
    struct hd_map known;  /* whole runs: their number */
    struct hd_map placed; /* reasons by text and site */
    struct hd_map stack;  /* threads: what became of accesses to their stacks */
    closing_reason_list reason;
    uint64_t bytes;
    double until; /* by hd_seconds_now: nothing more is asked later */
    bool begun;
};

/* closing.c: pins */
void closing_make_pins(const struct closing_view *view, const uint32_t *steps, closing_pins *pins);
uint64_t closing_key(const closing_pins *pins);
void closing_copy_pins(closing_pins *to, const closing_pins *from);
/* The thread with that name, HD_NONE if a run has none. */
uint32_t closing_thread(const struct closing_view *view, uint64_t id);
/* Adds what comes before an event, and itself, to steps by thread. */
void closing_take_past(const struct closing_view *view, uint32_t *past, uint32_t event);

/* closing.c: runs and what is wanted */
void closing_add_item(struct closing *c, uint32_t view, const closing_pins *pins);
/* A run that has the pins; HD_NONE: none is known. */
uint32_t closing_find_view(const struct closing *c, const closing_pins *pins);
/* The schedule of an order of steps: every event of a thread up to its last step in it. */
bool closing_make_schedule(struct closing *c, const struct closing_view *view,
                           const closing_events *order, struct hd_otherwise otherwise,
                           struct hd_schedule *schedule);
void closing_add_work(struct closing *c, struct closing_work *work);
void closing_free_work(struct closing_work *work);

/* closing_ask.c: asks all that is to be asked of an item. False: the time was up before. */
bool closing_process(struct closing *c, const struct closing_item *item);

#endif
