/* An execution in memory (DESIGN section 4): what happened, in columns, with what every analysis
 * needs to know about it: locations, locks and critical sections, reads-from, must-order. Read-only
 * after hd_model_build. It does not know what a bug is. */
#ifndef HEDDLE_MODEL_MODEL_H
#define HEDDLE_MODEL_MODEL_H

#include "base/status.h"
#include "trace/trace.h"

/* A location is a maximal run of bytes that no observed access tells apart, in one life of its memory:
 * freed and re-allocated memory is another location. */
struct hd_location {
    uint64_t address;
    uint32_t bytes;
    uint32_t block; /* index into blocks, HD_NONE for static storage and memory of unknown origin */
    bool shared;    /* accessed by two threads, at least one of them writing (atomics count) */
};

/* A life of a heap block, mapping or thread stack. */
struct hd_block {
    uint64_t address, bytes;
    uint32_t alloc; /* event */
    uint32_t free;  /* event, HD_NONE if it lives to the end */
    uint8_t type;   /* enum hd_block_type */
};

struct hd_lock {
    uint64_t operand; /* address, or object index of a text trace */
    uint8_t type;     /* enum hd_lock_type */
    uint32_t block;   /* heap block it lives in, HD_NONE if none */
};

/* Outermost acquire to its release by one thread on one lock. A thread that holds a lock in read mode
 * and takes it in write mode opens a second section. */
struct hd_section {
    uint32_t acquire; /* event */
    uint32_t release; /* event, HD_NONE if still open at the end */
    uint32_t lock;
    uint16_t thread;
    bool read_mode;
    uint32_t outer; /* innermost section of this thread that was open at the acquire, HD_NONE if none */
};

/* Must-order between threads that program order does not give (never lock order). */
enum hd_edge_type { HD_EDGE_FORK, HD_EDGE_JOIN, HD_EDGE_SIGNAL, HD_EDGE_BARRIER, HD_EDGE_POST,
                    HD_EDGE_ONCE, HD_EDGE_ATOMIC };
struct hd_edge {
    uint32_t from, to; /* events; from < to */
    uint8_t type;
};

struct hd_model {
    const struct hd_trace *trace; /* names, sites, stacks, modules; its event columns that the model
                                     replaces (operand) are released */
    uint32_t events, threads;
    const uint16_t *thread;
    const uint8_t *kind;
    const uint8_t *flags;
    const uint32_t *site;
    const uint32_t *stack;
    const uint16_t *branches;
    const uint32_t *calls;
    /* what the event is about: accesses, atomics: location (see hd_model_locations); locks and
     * TRY_FAILED: lock; ALLOC and FREE: block; FORK, JOIN, DETACH: thread; the rest of SYNC: object */
    const uint32_t *object;
    /* reads and updates: the write (or ALLOC of zeroed memory never counts; HD_NONE = initial value)
     * it read from; several for a read over several writes (see hd_model_reads_from); for writes
     * HD_NONE */
    const uint32_t *from;

    uint32_t locations, blocks, locks, sections, edges;
    const struct hd_location *location;
    const struct hd_block *block;
    const struct hd_lock *lock;
    const struct hd_section *section;  /* in order of their acquires */
    const struct hd_edge *edge;        /* in order of `to` */

    /* index arrays: events of thread t are thread_event[thread_start[t] .. thread_start[t+1]) */
    const uint32_t *thread_start, *thread_event;
    const uint32_t *position; /* of an event in its thread */
    /* accesses (atomics, and FREE as a write, included) of location l, in trace order:
     * location_event[location_start[l] .. location_start[l+1]) */
    const uint32_t *location_start, *location_event;
    const uint32_t *lock_start, *lock_section; /* sections of a lock, in order of acquire */
    const uint32_t *event_section; /* per event: innermost section open when it ran, HD_NONE; an
                                      acquire is inside its own section, a release too */
    uint64_t bytes; /* memory held, for stats */
    void *memory;
};

struct hd_model_options {
    bool lenient; /* repair a trace that is not well-formed and warn, instead of failing */
};

/* Builds the model and takes the trace over (the model frees it). Fails, naming the event and the
 * rule, on a trace that is not well-formed (a release without its acquire, two holders, a join before
 * the end, ...). Binary traces of `free` recordings are built leniently. */
bool hd_model_build(struct hd_trace *trace, const struct hd_model_options *options,
                    struct hd_model *model, struct hd_error *error);
/* hd_trace_load and hd_model_build in one. */
bool hd_model_load(const char *path, const struct hd_trace_options *trace_options,
                   const struct hd_model_options *options, struct hd_model *model,
                   struct hd_error *error);
void hd_model_free(struct hd_model *model);

/* Locations an access touches. Most touch one. */
uint32_t hd_model_locations(const struct hd_model *model, uint32_t event, const uint32_t **list);
/* Writes a read saw, without repetition; a part that saw the initial value adds HD_NONE. */
uint32_t hd_model_reads_from(const struct hd_model *model, uint32_t event, const uint32_t **list);
/* Outgoing and incoming must-order edges of an event, as indices into edge. */
uint32_t hd_model_edges_into(const struct hd_model *model, uint32_t event, const uint32_t **list);
uint32_t hd_model_edges_from(const struct hd_model *model, uint32_t event, const uint32_t **list);

bool hd_model_is_access(const struct hd_model *model, uint32_t event); /* plain or atomic, or FREE */
bool hd_model_is_write(const struct hd_model *model, uint32_t event);
bool hd_model_is_read(const struct hd_model *model, uint32_t event);
bool hd_model_is_atomic(const struct hd_model *model, uint32_t event);

/* Must-order clocks: clock(e)[t] = number of thread t's events that must come before e (e itself
 * counted for its own thread). Computed once on demand for all events that have an edge; others take
 * their thread predecessor's. */
struct hd_clocks;
struct hd_clocks *hd_clocks_build(const struct hd_model *model);
void hd_clocks_free(struct hd_clocks *clocks);
bool hd_clocks_before(const struct hd_clocks *clocks, uint32_t a, uint32_t b); /* a must precede b */
void hd_clocks_get(const struct hd_clocks *clocks, uint32_t event, uint32_t *clock /* threads */);

#endif
