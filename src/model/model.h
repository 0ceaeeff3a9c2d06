/* An execution in memory (DESIGN section 4): what happened, in columns, with what every analysis
 * needs to know about it: locations, locks and critical sections, reads-from, must-order. Read-only
 * after hd_model_build. It does not know what a bug is. */
#ifndef HEDDLE_MODEL_MODEL_H
#define HEDDLE_MODEL_MODEL_H

#include "base/status.h"
#include "trace/trace.h"

/* A location is a maximal run of bytes that no observed access tells apart, in one life of its
 * memory: freed and re-allocated memory is another location. */
struct hd_location {
    uint64_t address;
    uint32_t bytes : 31;
    uint32_t shared : 1; /* accessed by two threads, at least one of them writing (atomics count) */
    uint32_t block; /* index into blocks, HD_NONE for static storage and memory of unknown origin */
};

/* A life of a heap block, mapping or thread stack. */
struct hd_block {
    uint64_t address, bytes;
    uint32_t alloc; /* event */
    uint32_t free;  /* event, HD_NONE if it lives to the end */
    uint8_t type;   /* enum hd_block_type */
    bool zeroed;    /* its memory was set to zero when it was allocated */
    /* realloc made a block longer in its place: what it got is a block of its own (the same bytes
     * may have been another's before), that ends with the first part and is described as one */
    uint32_t whole; /* of a part that came later: the first part; HD_NONE */
    uint32_t next;  /* the part that came next, HD_NONE */
};

struct hd_lock {
    uint64_t operand; /* address, or object index of a text trace */
    uint8_t type;     /* enum hd_lock_type */
    uint32_t block;   /* heap block it lives in, HD_NONE if none */
};

/* A condition variable, barrier, semaphore, once control, or the text of a note. */
enum hd_object_type {
    HD_OBJECT_COND,
    HD_OBJECT_BARRIER,
    HD_OBJECT_SEM,
    HD_OBJECT_ONCE,
    HD_OBJECT_NOTE
};
struct hd_object {
    uint64_t operand; /* address, or object index of a text trace */
    uint8_t type;     /* enum hd_object_type */
    uint32_t block;   /* heap block it lives in, HD_NONE if none */
};

/* Outermost acquire to its release by one thread on one lock. A thread that holds a lock in read
 * mode and takes it in write mode opens a second section. */
struct hd_section {
    uint32_t acquire; /* event */
    uint32_t release; /* event, HD_NONE if still open at the end */
    uint32_t lock;
    uint16_t thread;
    bool read_mode;
    uint8_t held; /* how many sections of this thread were open at the acquire; 255: that or more */
    uint32_t
        outer; /* innermost section of this thread that was open at the acquire, HD_NONE if none */
};

/* Must-order between threads that program order does not give (never lock order). */
enum hd_edge_type {
    HD_EDGE_FORK,
    HD_EDGE_JOIN,
    HD_EDGE_SIGNAL,
    HD_EDGE_BARRIER,
    HD_EDGE_POST,
    HD_EDGE_ONCE,
    HD_EDGE_ATOMIC
};
struct hd_edge {
    uint32_t from, to; /* events; from < to */
    uint8_t type;
};

/* What an event takes while a model is made and predicted from: at the least, and at most. */
#define HD_EVENT_BYTES_LEAST 80u
#define HD_EVENT_BYTES_MOST 100u
/* The same with what is known of locations and pairs, and with what vectors have in reserve: then a
 * prediction fits. */
#define HD_EVENT_BYTES_ROOM 256u

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
    const uint16_t *calls; /* hook calls since the thread's previous event; UINT16_MAX: see
                              hd_model_calls */
    /* what the event is about: accesses, atomics: the first location (see hd_model_locations);
     * locks and TRY_FAILED: lock; ALLOC and FREE: block; FORK, JOIN, DETACH: thread; the rest of
     * SYNC: sync_object; BLOCKED: lock, thread or sync_object as its flags say; NOTE: sync_object,
     * or the lock whose life it is about (hd_model_is_lock_life); HANDLER_*:
     * signal number. HD_NONE where there is nothing to name: fences, branches, accesses of no
     * bytes, FREE of memory that was not seen allocated (hd_model_locations still tells what it
     * touches). */
    const uint32_t *object;
    /* reads and updates: the write (a FREE is one, an ALLOC never) it read from, HD_NONE = initial
     * value; the last of them for a read over several writes (see hd_model_reads_from); HD_NONE for
     * writes */
    const uint32_t *from;

    uint32_t locations, blocks, locks, objects, sections, edges;
    const struct hd_location *location;
    const struct hd_block *block;
    const struct hd_lock *lock;
    const struct hd_object *sync_object;
    const struct hd_section *section; /* in order of their acquires */
    const struct hd_edge *edge;       /* in order of `to` */

    /* index arrays: events of thread t are thread_event[thread_start[t] .. thread_start[t+1]) */
    const uint32_t *thread_start, *thread_event;
    /* accesses (atomics, and FREE as a write, included) of location l, in trace order:
     * location_event[location_start[l] .. location_start[l+1]) */
    const uint32_t *location_start, *location_event;
    /* locations of block b are block_start[b] .. block_start[b+1), by address; those without a
     * block come before block_start[0] */
    const uint32_t *block_start;
    const uint32_t *lock_start, *lock_section; /* sections of a lock, in order of acquire */
    const uint32_t *event_section; /* per event: innermost section open when it ran, HD_NONE; an
                                      acquire is inside its own section, a release too */
    uint32_t warnings; /* what was not well-formed and how it was repaired, lines to be seen once */
    char **warning;
    uint64_t bytes; /* memory held, for stats */
    void *memory;
};

struct hd_model_options {
    bool lenient; /* repair a trace that is not well-formed and warn, instead of failing */
};

/* Builds the model and takes the trace over: *trace is empty afterwards, also on failure. Fails,
 * naming the event and the rule, on a trace that is not well-formed (a release without its acquire,
 * two holders, a join before the end, ...). Traces of `free` recordings, and those that are
 * not whole, are built leniently. */
bool hd_model_build(struct hd_trace *trace, const struct hd_model_options *options,
                    struct hd_model *model, struct hd_error *error);
/* hd_trace_load and hd_model_build in one. */
bool hd_model_load(const char *path, const struct hd_trace_options *trace_options,
                   const struct hd_model_options *options, struct hd_model *model,
                   struct hd_error *error);
void hd_model_free(struct hd_model *model);

/* Locations an access touches, ascending. Most touch one. */
uint32_t hd_model_locations(const struct hd_model *model, uint32_t event, const uint32_t **list);
/* Writes a read saw, without repetition; a part that saw the initial value adds HD_NONE. */
uint32_t hd_model_reads_from(const struct hd_model *model, uint32_t event, const uint32_t **list);
/* Outgoing and incoming must-order edges of an event, as indices into edge. */
uint32_t hd_model_edges_into(const struct hd_model *model, uint32_t event, const uint32_t **list);
uint32_t hd_model_edges_from(const struct hd_model *model, uint32_t event, const uint32_t **list);

/* How many events of its thread come before an event. */
uint32_t hd_model_position(const struct hd_model *model, uint32_t event);
/* The condition variable that a thread begins to wait for with a release: its next event is about
 * it. HD_NONE: none, or the run ended before. */
uint32_t hd_model_waited_for(const struct hd_model *model, uint32_t release);
/* Hook calls of its thread since the thread's previous event, elided ones included. */
uint32_t hd_model_calls(const struct hd_model *model, uint32_t event);
/* The call stack an event ran in, as a node of the call tree. Use this rather than the column: an
 * access without a call of its own was recorded later than it ran (see the filter in
 * docs/runtime.md), and has the stack of the earlier access that it repeats. */
uint32_t hd_model_stack(const struct hd_model *model, uint32_t event);
/* Sections of its thread that are open when an event runs, innermost first; an acquire and a
 * release are inside their own. Writes at most `room` of them; returns how many there are. */
uint32_t hd_model_held(const struct hd_model *model, uint32_t event, uint32_t *section,
                       uint32_t room);
/* The section of another thread that made a TRY_FAILED fail: one that was open on its lock. HD_NONE
 * if none was. */
uint32_t hd_model_failed_by(const struct hd_model *model, uint32_t event);

/* Is a lock, or another synchronisation object (the event's object), made or destroyed here? */
bool hd_model_is_lock_life(const struct hd_model *model, uint32_t event);
bool hd_model_is_object_life(const struct hd_model *model, uint32_t event);

bool hd_model_is_access(const struct hd_model *model,
                        uint32_t event); /* plain or atomic, or FREE */
bool hd_model_is_write(const struct hd_model *model, uint32_t event);
bool hd_model_is_read(const struct hd_model *model, uint32_t event);
bool hd_model_is_atomic(const struct hd_model *model, uint32_t event);

/* Must-order clocks: clock(e)[t] = number of thread t's events that must come before e (e itself
 * counted for its own thread). Computed once on demand for all events that have an edge; others
 * take their thread predecessor's. */
struct hd_clocks;
struct hd_clocks *hd_clocks_build(const struct hd_model *model);
void hd_clocks_free(struct hd_clocks *clocks);
bool hd_clocks_before(const struct hd_clocks *clocks, uint32_t a,
                      uint32_t b); /* a must precede b */
void hd_clocks_get(const struct hd_clocks *clocks, uint32_t event, uint32_t *clock /* threads */);
uint64_t hd_clocks_bytes(const struct hd_clocks *clocks); /* memory held */

#endif
