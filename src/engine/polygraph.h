/* The state of one query: how far each thread must go (the cut), which orders are decided, and the
 * schedule that is being tried. Internal to the engine.
 *
 * A block is what must not be broken into: a critical section, from its acquire to its release, or
 * a write of a location together with the reads of its value. Two sections of a lock in conflicting
 * modes, or two writes of a location one of which is read, are in one order or the other: that is
 * the polyedge of the paper. Nothing is enumerated: a polyedge comes into being when a schedule in
 * trace order gets stuck on it, or when it is forced.
 *
 * Every choice and every growth of the cut knows the choices it follows from; what follows from the
 * query alone (level 0) follows from none. */
#ifndef HEDDLE_ENGINE_POLYGRAPH_H
#define HEDDLE_ENGINE_POLYGRAPH_H

#include "base/arena.h"
#include "base/search.h"
#include "base/vector.h"
#include "engine/engine_base.h"

/* A choice is one of three things. An order: block `first` is over before block `second` begins;
 * both are in the cut. Or a section that is in the cut is closed in it (second HD_CLOSED), or left
 * open (HD_LEFT_OPEN). Blocks are numbered: sections as in the model, then writes by their entry
 * among the accesses. */
#define HD_CLOSED (HD_NONE - 1)
#define HD_LEFT_OPEN HD_NONE
struct hd_literal {
    uint32_t first, second;
};
struct hd_choice {
    struct hd_literal literal;
    uint32_t level;
    uint32_t reason, reasons;             /* of `reasons`: choices it follows from */
    uint32_t next_of_pair, next_of_start; /* chains of the two tables below */
    uint32_t old_limit, old_limiter;      /* LEFT_OPEN: of its thread */
    uint32_t marked;                      /* stamp of the last set it was put in */
    uint32_t passed;                      /* stamp of the last past it was used in */
};

struct hd_growth {
    uint32_t thread, before; /* the cut it had */
    uint32_t previous;       /* growth of the same thread, HD_NONE */
    uint32_t cause;          /* choice, HD_NONE */
};

/* What a thread waits for. */
enum hd_wait_cause {
    HD_WAIT_HARD,     /* must-order, its write, an order of the query: no way round */
    HD_WAIT_IF_IN,    /* the same, but only because both events are in the cut */
    HD_WAIT_DECIDED,  /* a decided order */
    HD_WAIT_UNDECIDED /* the schedule let `first` begin before `second` */
};
struct hd_wait {
    uint32_t thread, position; /* the event that has to be executed */
    enum hd_wait_cause cause;
    uint32_t choice;        /* DECIDED */
    uint32_t first, second; /* UNDECIDED: blocks */
};

struct hd_place_state {
    uint32_t stamp;
    uint32_t last;    /* entry of the last write, HD_NONE */
    uint32_t pending; /* reads of its value that have yet to come */
};
struct hd_lock_state {
    uint32_t stamp, open; /* first of the sections that were open when last looked at */
};
struct hd_open_section {
    uint32_t section, next;
};
/* A part of a schedule: a thread runs until it has executed so many events; or (thread HD_NONE) all
 * events of the cut before event `upto` that are not executed yet, in trace order. */
struct hd_slice {
    uint32_t thread, upto;
};

/* A cycle of waits, or a wait for the end of a block beyond the cut. */
struct hd_obstacle {
    uint32_t reason, reasons; /* of `obstacle_reasons`: choices in it */
    uint32_t first, pairs;    /* of `undecided`: the orders in it that are not decided */
    bool cyclic;
};

struct hd_mark {
    size_t choices, growths;
};

/* Choices that cannot all be made: `count` literals from `first` on. */
struct hd_clause {
    uint32_t first, count;
};

/* A read whose write is demanded. */
struct hd_demand {
    uint32_t place, entry; /* of the write, HD_NONE: initial value */
};

struct hd_engine {
    const struct hd_engine_base *base;
    struct hd_arena arena; /* what is one for each thread, place or lock */
    const struct hd_model *model;
    enum hd_reading reading;
    struct hd_budget budget;
    struct hd_engine_stats stats;
    uint32_t threads;
    bool contrary; /* look at nothing twice and decide against all likelihood: tests want conflicts
                      to learn from */

    /* the query */
    const struct hd_query *query;
    const struct hd_view *view;
    const struct hd_reach *reach;
    bool keeps;       /* reads keep their writes */
    uint32_t *bound;  /* per thread: where it stops, HD_NONE if anywhere */
    uint32_t *exempt; /* per thread: from this position on reads may read anything, HD_NONE */
    bool tainted; /* other threads may depend on such a read or what comes after it: it is a write
                     as well, or the end of a thread that is joined, or not the last event */
    uint32_t reader;                     /* step of the read whose write is demanded, HD_NONE */
    HD_VECTOR(struct hd_demand) demands; /* by place, one for each */
    HD_VECTOR(uint64_t) gates; /* events of the query's orders: thread << 32 | position, sorted */
    HD_VECTOR(uint32_t) held;  /* sections that stay open: the stops' first, then by choice */
    HD_VECTOR(uint32_t) stack; /* sections open at a point, scratch */

    /* cut and choices, with their trail */
    uint32_t *cut;
    uint32_t *limit;         /* per thread: its bound, or less where a section is left open */
    uint32_t *limiter;       /* per thread: the choice that set it, HD_NONE */
    uint32_t *newest_growth; /* per thread, HD_NONE */
    HD_VECTOR(struct hd_growth) growths;
    HD_VECTOR(struct hd_choice) choices;
    HD_VECTOR(uint32_t) reasons;
    uint32_t *of_pair, *of_start;    /* hash tables of chains, HD_CHOICE_SLOTS each */
    HD_VECTOR(struct hd_mark) marks; /* where each level begins */
    HD_VECTOR(uint32_t)
    because; /* a set of choices: reasons of what is asserted next; after a
                failed assertion those that cannot be together */
    uint32_t because_stamp;
    HD_VECTOR(struct hd_clause) clauses;
    HD_VECTOR(struct hd_literal) literals;
    HD_VECTOR(uint32_t)
    passed;                   /* choices and orders of the query (above HD_PASSED_ORDER) that led
                                 into `past`, in sequence */
    uint32_t *past;           /* per thread, scratch */
    uint32_t *spread;         /* per thread, scratch of hd_cut_pull */
    HD_VECTOR(uint64_t) todo; /* scratch of hd_closure_add: thread << 32 | position */
    uint32_t past_stamp;

    /* the schedule */
    uint32_t *at;                  /* per thread: events executed */
    uint32_t *cursor, *gate_at;    /* per thread: next step, next gate */
    uint32_t *heap, heaped;        /* threads that can go on, by their next event */
    uint32_t *key;                 /* per thread: that event */
    struct hd_wait *wait;          /* per thread */
    uint8_t *blocked;              /* per thread */
    uint32_t *waiters, *next_wait; /* per thread: who waits for it */
    uint32_t *soonest;             /* per thread: the least position that one of them waits for */
    struct hd_place_state *place;
    struct hd_lock_state *lock;
    HD_VECTOR(struct hd_open_section) open;
    HD_VECTOR(struct hd_slice) slices;
    HD_VECTOR(uint32_t) triggers; /* events that decided orders want later than the trace, sorted */
    HD_VECTOR(uint32_t) left_open; /* sections */
    uint32_t stamp;
    uint32_t window; /* the present stretch began with all events of the cut before this one done */
    uint32_t latest; /* the latest event executed */
    uint32_t waiting; /* threads that are blocked */
    bool deviates;    /* some thread had to wait: the schedule is not the trace's order */
    HD_VECTOR(struct hd_obstacle) obstacles;
    HD_VECTOR(uint32_t) obstacle_reasons;
    HD_VECTOR(uint32_t) undecided; /* blocks of the obstacles, in pairs: as the schedule had them */
};

#define HD_CHOICE_SLOTS 1024u
#define HD_PASSED_ORDER 0x80000000u

/* ---- the cut and the choices (polygraph.c) ---- */

void hd_polygraph_reset(struct hd_engine *engine);
struct hd_mark hd_polygraph_mark(const struct hd_engine *engine);
void hd_polygraph_undo(struct hd_engine *engine, struct hd_mark mark);
/* An event of a thread must be executed, with all it needs, because of a choice (HD_NONE: of the
 * query). False: that is beyond a stop, and `because` says why. */
bool hd_cut_pull(struct hd_engine *engine, uint32_t thread, uint32_t position, uint32_t cause);
bool hd_cut_raise(struct hd_engine *engine, uint32_t thread, uint32_t count, uint32_t cause);

/* `because`: nothing, a choice more, what a step's being in the cut follows from. */
void hd_because_nothing(struct hd_engine *engine);
void hd_because_choice(struct hd_engine *engine, uint32_t choice);
void hd_because_in(struct hd_engine *engine, uint32_t thread, uint32_t position);

/* Makes a choice, which follows from `because`. False: it cannot be, and `because` says which
 * choices are at odds; the state is then to be undone. */
bool hd_choice_assert(struct hd_engine *engine, struct hd_literal literal);
/* The choice between two blocks (or about a section: second HD_CLOSED or HD_LEFT_OPEN) that was
 * made, HD_NONE. */
uint32_t hd_choice_find(const struct hd_engine *engine, struct hd_literal literal);
/* First of the chain (next_of_start) that holds the orders whose second block starts at a step;
 * others may be in it. */
uint32_t hd_choices_into(const struct hd_engine *engine, uint32_t step);
/* Orders that follow from the sections that stay open. */
bool hd_choices_around_held(struct hd_engine *engine);

static inline bool hd_is_order(struct hd_literal literal) { return literal.second < HD_CLOSED; }
static inline struct hd_literal hd_literal_not(struct hd_literal literal) {
    if (hd_is_order(literal)) return (struct hd_literal){literal.second, literal.first};
    literal.second = literal.second == HD_CLOSED ? HD_LEFT_OPEN : HD_CLOSED;
    return literal;
}

/* ---- closures (polygraph_closure.c) ---- */

/* Can the clock of an event be taken as it is? Not if it is, or rests on, a read that may read
 * anything: what that needed in the trace is not needed now. */
bool hd_closure_clean(const struct hd_engine *engine, uint32_t thread, uint32_t position,
                      const uint32_t *clock);
/* Adds an event and all it needs to a closed set of events (a count for each thread). */
void hd_closure_add(struct hd_engine *engine, uint32_t *set, uint32_t thread, uint32_t position);

/* ---- sections that the cut leaves open (polygraph_open.c) ---- */

/* The sections of contended locks that are open after an event of their thread, into `stack`. */
void hd_open_after(struct hd_engine *engine, uint32_t event);
/* The sections that the cut leaves open, into `left_open`. */
void hd_open_list(struct hd_engine *engine);
/* The first acquire from an event of the trace on that meets one of them that the trace has before
 * it: its event, HD_NONE. */
uint32_t hd_open_trigger(const struct hd_engine *engine, uint32_t from);
/* Closes the sections that others follow in the trace, where the stops allow it. */
void hd_open_close(struct hd_engine *engine);

/* ---- schedules (polygraph_schedule.c) ---- */

enum hd_scheduled { HD_SCHEDULED, HD_STUCK };
/* Runs the cut in trace order as far as the decided orders allow. */
enum hd_scheduled hd_schedule(struct hd_engine *engine);
/* Why a schedule is stuck, into `obstacles`. */
void hd_schedule_obstacles(struct hd_engine *engine);

/* ---- search (search.c) ---- */

enum hd_verdict hd_search(struct hd_engine *engine, enum hd_rung *rung);

/* ---- learning (search_learn.c) ---- */

/* Choices in `because` cannot be together: learns a clause, goes back to where it decides something
 * and lets it. False: they follow from the query. */
bool hd_learn(struct hd_engine *engine);
/* Choices that follow from what was learned. False: a conflict, in `because`. */
bool hd_learned_choices(struct hd_engine *engine);

/* ---- blocks ---- */

static inline bool hd_is_section(const struct hd_engine *engine, uint32_t block) {
    return block < engine->model->sections;
}
static inline uint32_t hd_block_of_write(const struct hd_engine *engine, uint32_t entry) {
    return engine->model->sections + entry;
}
static inline uint32_t hd_entry_of_block(const struct hd_engine *engine, uint32_t block) {
    return block - engine->model->sections;
}
static inline uint32_t hd_block_start(const struct hd_engine *engine, uint32_t block) {
    return hd_is_section(engine, block)
               ? engine->view->section_acquire[block]
               : engine->view->access_step[hd_entry_of_block(engine, block)];
}

static inline bool hd_in_cut(const struct hd_engine *engine, uint32_t step) {
    return engine->view->position[step] < engine->cut[engine->view->thread[step]];
}
static inline bool hd_is_done(const struct hd_engine *engine, uint32_t step) {
    return engine->view->position[step] < engine->at[engine->view->thread[step]];
}

/* Does this step, at this entry, keep its write? */
static inline bool hd_keeps_write(const struct hd_engine *engine, uint32_t step, uint32_t entry) {
    const struct hd_view *view = engine->view;
    return engine->keeps && (view->role[step] & HD_STEP_READ) != 0 &&
           view->position[step] < engine->exempt[view->thread[step]] &&
           !(engine->reading == HD_UA && view->access_from[entry] == HD_NONE);
}

/* What is demanded of a place, NULL: nothing. */
static inline const struct hd_demand *hd_demand_at(const struct hd_engine *engine, uint32_t place) {
    const struct hd_demand *list = engine->demands.data;
    size_t low = hd_first_not(i, 0, engine->demands.size, list[i].place < place);
    return low < engine->demands.size && list[low].place == place ? &list[low] : NULL;
}

/* The reads of a write (of the initial value of a place if entry is HD_NONE) that keep it and that
 * matter: those in the cut, in UA all. hd_readers_next gives their steps, HD_NONE at the end. */
struct hd_readers {
    uint32_t next, end; /* entries */
    bool demanded;      /* the demanded read comes last */
};
static inline struct hd_readers hd_readers_of(const struct hd_engine *engine, uint32_t place,
                                              uint32_t entry) {
    const struct hd_view *view = engine->view;
    struct hd_readers readers = {entry == HD_NONE ? view->place_first[place] : entry + 1,
                                 view->place_first[place + 1], false};
    if (engine->demands.size > 0) {
        const struct hd_demand *demand = hd_demand_at(engine, place);
        readers.demanded = demand != NULL && demand->entry == entry;
    }
    if (!engine->keeps) readers.next = readers.end;
    return readers;
}
static inline uint32_t hd_readers_next(const struct hd_engine *engine, struct hd_readers *readers) {
    const struct hd_view *view = engine->view;
    while (readers->next < readers->end) {
        uint32_t entry = readers->next++, step = view->access_step[entry];
        if ((view->role[step] & HD_STEP_WRITE) != 0) readers->next = readers->end;
        if (hd_keeps_write(engine, step, entry) &&
            (engine->reading == HD_UA || hd_in_cut(engine, step)))
            return step;
    }
    if (!readers->demanded) return HD_NONE;
    readers->demanded = false;
    return engine->reader;
}

#endif
