/* A schedule: which thread runs for how long, one turn after the other. Made from a witness or from
 * a recorded run, followed by the runtime's replay policy, kept in a small JSON file that a person
 * can read and edit (docs/replay.md has its format). In place of turns a file may have a control:
 * how a run was steered that no schedule repeats, since its threads really ran in parallel.
 *
 * Positions are counted in hook calls: the memory accesses and intercepted calls that a thread
 * makes, those that the trace leaves out included. The hook runs before its access, so a thread
 * that has made n calls has done all of its first n-1 accesses, and does the n-th before its next
 * call. */
#ifndef HEDDLE_RUN_SCHEDULE_H
#define HEDDLE_RUN_SCHEDULE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/vector.h"
#include "run/steering.h"

#include <stddef.h>
#include <stdint.h>

struct hd_model;
struct hd_describe;
struct hd_span;
struct hd_finding;

/* One thread runs: `calls` calls, the last of which is the one that `to` names, and then `beyond`
 * more that are in no trace. 0 calls: it finishes the call that it is in (a wait that is over). */
struct hd_turn {
    uint32_t thread;
    uint64_t calls, beyond;
    const char *to; /* "log.c:57 r(len)"; "": not known, not checked */
};

/* Threads are numbered as a run made them. Under a schedule they may be made in another order; what
 * tells them apart is who makes them, and which of those that this thread makes they are. */
struct hd_made {
    uint32_t by; /* HD_NONE: T0, and those that uninstrumented code makes */
    uint32_t as; /* from 0 */
};

/* How a call comes out that the thread which makes it does not decide. Turns say nothing about it,
 * and may be joined and moved. */
struct hd_run_choice {
    uint32_t thread;
    uint32_t wakes; /* the thread that its signal wakes, of those that wait; HD_NONE: the time of
                       its wait is up when its turn comes */
    uint64_t call;  /* which of its calls, from 1 */
};

/* A zeroed schedule is an empty one. Strings are never NULL once it is made or read. */
struct hd_schedule {
    const char *kind;        /* of the finding; "run" for a recorded run; "" */
    const char *variable;    /* "" */
    const char *fingerprint; /* of the finding; "" */
    const char *about;       /* one sentence; "" */
    const char *command;     /* as a shell reads it; "" */
    const char *outcome;     /* how the program fails: hd_outcome_name; "" */
    const char *good_output; /* of runs that pass, where that is what fails: hd_output_mark; "" */
    uint32_t process;        /* that the turns are for: its number among the recorded ones */
    HD_VECTOR(struct hd_turn) turn;
    /* What comes next when these turns are over: the error condition. Run in this order, one call
     * each (0: the call that it is in), before all threads run on freely. */
    HD_VECTOR(struct hd_turn) then;
    /* By number, who makes the threads; empty if T0 makes them all. */
    HD_VECTOR(struct hd_made) made;
    HD_VECTOR(struct hd_run_choice) choice;
    /* There are no turns, but this. */
    bool has_control;
    struct hd_steering control;
    struct hd_sites places; /* of the control's targets */
    struct hd_arena arena;  /* owner of the strings */
};

void hd_schedule_free(struct hd_schedule *schedule);
/* An independent copy of one with turns. */
void hd_schedule_copy(struct hd_schedule *to, const struct hd_schedule *from);
/* A string that lives as long as the schedule. */
const char *hd_schedule_text(struct hd_schedule *schedule, const char *text);
/* Threads change how often over the schedule: turns, without those that continue the one before. */
uint32_t hd_schedule_switches(const struct hd_schedule *schedule);
/* All turns, `then` included: how many there are, and one of them. */
uint32_t hd_schedule_turns(const struct hd_schedule *schedule);
const struct hd_turn *hd_schedule_turn(const struct hd_schedule *schedule, uint32_t number);
/* A race's accesses in the other order: turns the last `then` and the one before it round. False if
 * there are no two. */
bool hd_schedule_swap(struct hd_schedule *schedule);
/* How a run is steered to take it: by its turns or by its control. Valid while it lives. */
struct hd_steering hd_schedule_steering(const struct hd_schedule *schedule);

/* ---- making one -------------------------------------------------------------------------------
 */

/* From a reordering of a model's events, of whose end `next` events are not executed: those become
 * `then`. A thread goes on from its last event in a turn through the calls that the trace leaves
 * out, up to the next event that it must not reach yet. Without `describe` turns have no names, and
 * are not checked. Fills in turns only; what the schedule is
 * about is the caller's to say. False if the model is not of a recorded run (a text trace counts no
 * calls). */
bool hd_schedule_from_witness(struct hd_schedule *schedule, const struct hd_model *model,
                              struct hd_describe *describe, const struct hd_span *run,
                              uint32_t runs, uint32_t next, struct hd_error *error);
/* The same, but one of the events comes out otherwise than it did. */
struct hd_otherwise {
    uint32_t event; /* HD_NONE: none */
    uint32_t wakes; /* a signal: this thread; HD_NONE: none */
    bool expires;   /* a wait or a lock with a time limit: that is up */
};
bool hd_schedule_from_order(struct hd_schedule *schedule, const struct hd_model *model,
                            struct hd_describe *describe, const struct hd_span *run, uint32_t runs,
                            uint32_t next, struct hd_otherwise otherwise, struct hd_error *error);
/* The same from a finding that has a witness, with what it is about. */
bool hd_schedule_from_finding(struct hd_schedule *schedule, const struct hd_model *model,
                              struct hd_describe *describe, const struct hd_finding *finding,
                              struct hd_error *error);
/* The order in which a recorded run itself went. */
bool hd_schedule_from_run(struct hd_schedule *schedule, const struct hd_model *model,
                          struct hd_describe *describe, struct hd_error *error);
/* The words of a turn's `to` for an event: "log.c:57 r(len)". In *text. */
void hd_schedule_event_text(struct hd_describe *describe, const struct hd_model *model,
                            uint32_t event, char *text, size_t room);
/* The calls that turns end with, `then` included, for loading a run that followed the schedule
 * (trace/trace.h); malloc'ed. */
struct hd_trace_mark *hd_schedule_marks(const struct hd_schedule *schedule, size_t *count);
/* Hook calls that each event's thread had made when it was done, by event; malloc'ed. */
uint64_t *hd_schedule_call_counts(const struct hd_model *model);
/* The event of a thread that is its call with that number, HD_NONE if the trace has none. */
uint32_t hd_schedule_event_at(const struct hd_model *model, const uint64_t *count, uint32_t thread,
                              uint64_t calls);
/* Turns that were joined end elsewhere than they did: names each after what its last call really
 * was, in a run that followed the schedule. */
void hd_schedule_name_turns(struct hd_schedule *schedule, const struct hd_model *model,
                            struct hd_describe *describe);
/* The event is a hook call of its own: the one that its count ends with. */
bool hd_schedule_is_call(const struct hd_model *model, uint32_t event);

/* ---- as a file --------------------------------------------------------------------------------
 */

/* The file's text, one line a turn; malloc'ed. */
char *hd_schedule_write(const struct hd_schedule *schedule);
/* Untrusted input; the error names the file, and the line or the field. */
bool hd_schedule_read(const char *text, size_t bytes, const char *name,
                      struct hd_schedule *schedule, struct hd_error *error);
bool hd_schedule_load(const char *path, struct hd_schedule *schedule, struct hd_error *error);
/* Appears under its name only when it is whole. */
bool hd_schedule_save(const struct hd_schedule *schedule, const char *path, struct hd_error *error);

/* For the runtime (struct hd_wire_replay), malloc'ed. */
void *hd_schedule_plan(const struct hd_schedule *schedule, uint32_t patience_ms, size_t *bytes);

#endif
