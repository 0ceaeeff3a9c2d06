/* Executes a witness step by step on a state of its own: how far each thread is, who holds each
 * lock, the last write of each location. It decides nothing and knows no graph; what it does not
 * see happen by the rules of DESIGN section 5, it rejects. */
#include "engine/checker.h"

#include "base/alloc.h"
#include "base/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lock_state {
    uint32_t writer;  /* write section taken last, HD_NONE */
    uint32_t readers; /* read sections taken since, a list through next_reader, HD_NONE */
    uint32_t age;     /* check that it belongs to; of another one it is void */
};

/* The last write of a location: event + 1, 0 if it has its initial value. */
struct write_state {
    uint32_t last;
    uint32_t age;
};

struct run {
    const struct hd_model *model;
    enum hd_reading reading;
    const struct hd_query *query;
    struct hd_error *error;
    uint32_t *position; /* per thread: events executed */
    uint32_t *beyond;   /* per thread: one more than the last event executed, 0 if none was */
    struct write_state *write; /* per location: use last_write */
    uint32_t
        *expected; /* the last write in the trace, for the read at hand, where it saw several */
    struct lock_state *lock; /* per lock: use lock_of */
    uint32_t *next_reader;   /* per section */
    uint32_t start;          /* this many events of the trace count as executed at the beginning */
    uint32_t age;            /* number of the check */
};

struct hd_checker {
    struct run run;
    /* per model of reading: is the trace a correct reordering of itself? */
    enum { UNKNOWN, YES, NO } itself[HD_UA + 1];
};

/* ---- complaints ---------------------------------------------------------------------------- */

struct event_name {
    char text[128];
};

static struct event_name name(const struct run *run, uint32_t event) {
    struct event_name out;
    const struct hd_model *model = run->model;
    if (event >= model->events) {
        snprintf(out.text, sizeof out.text, "event %u", event);
        return out;
    }
    const char *operation = hd_kind_text(model->kind[event]);
    uint32_t thread = model->thread[event];
    unsigned long long number = hd_trace_number(model->trace, event);
    if (*operation == '\0') operation = hd_kind_name(model->kind[event]);
    if (model->trace->thread_names != NULL)
        snprintf(out.text, sizeof out.text, "event %llu (%s by %.60s)", number, operation,
                 model->trace->thread_names[thread]);
    else
        snprintf(out.text, sizeof out.text, "event %llu (%s by T%u)", number, operation, thread);
    return out;
}

#define reject(run, event, rule, format, ...)                                \
    hd_fail((run)->error, HD_ERR_FORMAT, "%s breaks rule " rule ": " format, \
            name(run, event).text, __VA_ARGS__)

/* ---- state ---------------------------------------------------------------------------------- */

static bool executed(const struct run *run, uint32_t event) {
    return event < run->beyond[run->model->thread[event]];
}

/* What a location held where the witness leaves the trace's own beginning. */
static void look_up_write(const struct run *run, uint32_t location) {
    struct write_state *state = &run->write[location];
    *state = (struct write_state){.last = 0, .age = run->age};
    if (run->start == 0) return;
    const struct hd_model *model = run->model;
    const uint32_t *list = model->location_event + model->location_start[location];
    uint32_t at = hd_lower_bound(
        list, model->location_start[location + 1] - model->location_start[location], run->start);
    while (at-- > 0) {
        const uint32_t *touched;
        if (hd_model_is_write(model, list[at])) {
            state->last = list[at] + 1;
            return;
        }
        /* a read of this location alone knows whose value was there */
        if (hd_model_locations(model, list[at], &touched) > 1) continue;
        if (model->from[list[at]] != HD_NONE) state->last = model->from[list[at]] + 1;
        return;
    }
}

/* What a location holds; looked up when it is first asked for. */
static inline uint32_t *last_write(const struct run *run, uint32_t location) {
    if (run->write[location].age != run->age) look_up_write(run, location);
    return &run->write[location].last;
}

/* Who has a lock, likewise. */
static struct lock_state *lock_of(const struct run *run, uint32_t lock) {
    struct lock_state *state = &run->lock[lock];
    if (state->age == run->age) return state;
    *state = (struct lock_state){.writer = HD_NONE, .readers = HD_NONE, .age = run->age};
    if (run->start == 0) return state;
    const struct hd_model *model = run->model;
    const uint32_t *list = model->lock_section + model->lock_start[lock];
    uint32_t sections = model->lock_start[lock + 1] - model->lock_start[lock];
    /* sections whose acquire counts as executed */
    uint32_t low = hd_first_not(i, 0, sections, model->section[list[i]].acquire < run->start);
    while (low-- > 0) {
        const struct hd_section *section = &model->section[list[low]];
        if (!section->read_mode) {
            state->writer = list[low];
            /* its thread may have held the lock for reading before, and still does */
            for (uint32_t o = section->outer; o != HD_NONE; o = model->section[o].outer)
                if (model->section[o].lock == lock && model->section[o].read_mode) {
                    run->next_reader[o] = state->readers;
                    state->readers = o;
                }
            break;
        }
        run->next_reader[list[low]] = state->readers;
        state->readers = list[low];
    }
    return state;
}

/* The event that a thread would execute next, HD_NONE at its end. */
static uint32_t next_of(const struct run *run, uint32_t thread) {
    const uint32_t *start = run->model->thread_start + thread;
    uint32_t at = start[0] + run->position[thread];
    return at < start[1] ? run->model->thread_event[at] : HD_NONE;
}

static bool is_open(const struct run *run, uint32_t section) {
    const struct hd_section *each = &run->model->section[section];
    return executed(run, each->acquire) &&
           (each->release == HD_NONE || !executed(run, each->release));
}

/* ---- rules of a step ------------------------------------------------------------------------ */

static bool check_must_order(const struct run *run, uint32_t event) {
    const uint32_t *edges;
    uint32_t count = hd_model_edges_into(run->model, event, &edges);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = run->model->edge[edges[i]].from;
        if (!executed(run, from))
            return reject(run, event, "must-order", "%s has to come before it",
                          name(run, from).text);
    }
    return true;
}

/* Takes the lock, if the event is the acquire of a section and not a re-entrant one. */
static bool check_lock(struct run *run, uint32_t event) {
    const struct hd_model *model = run->model;
    uint32_t section = model->event_section[event];
    if (section == HD_NONE || model->section[section].acquire != event) return true;
    bool read_mode = model->section[section].read_mode;
    uint16_t thread = model->section[section].thread;
    struct lock_state *lock = lock_of(run, model->section[section].lock);
    uint32_t holder = lock->writer;
    if (holder != HD_NONE && model->section[holder].thread != thread && is_open(run, holder))
        return reject(run, event, "lock", "the section of %s is open",
                      name(run, model->section[holder].acquire).text);
    if (read_mode) {
        run->next_reader[section] = lock->readers;
        lock->readers = section;
        return true;
    }
    uint32_t own = HD_NONE;
    for (uint32_t each = lock->readers; each != HD_NONE; each = run->next_reader[each]) {
        if (!is_open(run, each)) continue;
        if (model->section[each].thread != thread)
            return reject(run, event, "lock", "the read section of %s is open",
                          name(run, model->section[each].acquire).text);
        own = each;
    }
    /* Closed ones are forgotten, so that each is looked at once. */
    if (own != HD_NONE) run->next_reader[own] = HD_NONE;
    lock->readers = own;
    lock->writer = section;
    return true;
}

static bool check_failed_try(const struct run *run, uint32_t event) {
    uint32_t section = hd_model_failed_by(run->model, event);
    if (section == HD_NONE || is_open(run, section)) return true;
    return reject(run, event, "failed-try", "the section of %s that made it fail is not open",
                  name(run, run->model->section[section].acquire).text);
}

static bool same_write(const struct run *run, uint32_t event, uint32_t wanted, uint32_t got) {
    if (wanted == got) return true;
    if (run->reading == HD_UA && wanted == 0) return true; /* no write to keep */
    struct event_name seen = {"the initial value"}, kept = {"the initial value"};
    if (got != 0) seen = name(run, got - 1);
    if (wanted != 0) kept = name(run, wanted - 1);
    return reject(run, event, "reads-from", "it would read from %s, not %s", seen.text, kept.text);
}

/* Fills `expected` for the locations of a read that saw several writes: the latest of them that
 * touches a location is the one it saw there. */
static void expect_writes(struct run *run, const uint32_t *location, uint32_t locations,
                          const uint32_t *write, uint32_t writes) {
    for (uint32_t i = 0; i < locations; i++) run->expected[location[i]] = 0;
    for (uint32_t w = 0; w < writes; w++) {
        if (write[w] == HD_NONE) continue;
        const uint32_t *touched;
        uint32_t count = hd_model_locations(run->model, write[w], &touched);
        for (uint32_t i = 0; i < count; i++)
            if (run->expected[touched[i]] < write[w] + 1) run->expected[touched[i]] = write[w] + 1;
    }
}

static bool check_read(struct run *run, uint32_t event, const uint32_t *location,
                       uint32_t locations) {
    const uint32_t *write;
    uint32_t writes = hd_model_reads_from(run->model, event, &write);
    if (writes > 1) expect_writes(run, location, locations, write, writes);
    for (uint32_t i = 0; i < locations; i++) {
        uint32_t wanted = writes > 1            ? run->expected[location[i]]
                          : write[0] == HD_NONE ? 0
                                                : write[0] + 1;
        if (!same_write(run, event, wanted, *last_write(run, location[i]))) return false;
    }
    return true;
}

/* The query says which write this read sees: where both touch, and they touch somewhere. */
static bool check_reader(const struct run *run, uint32_t event, const uint32_t *location,
                         uint32_t locations) {
    uint32_t writer = run->query->writer;
    if (writer == HD_NONE) {
        for (uint32_t i = 0; i < locations; i++)
            if (*last_write(run, location[i]) != 0)
                return reject(run, event, "reader", "it sees %s, not the initial value",
                              name(run, *last_write(run, location[i]) - 1).text);
        return true;
    }
    const uint32_t *written;
    uint32_t count = hd_model_locations(run->model, writer, &written), common = 0;
    for (uint32_t i = 0; i < locations; i++)
        for (uint32_t j = 0; j < count; j++) {
            if (location[i] != written[j]) continue;
            common++;
            if (*last_write(run, location[i]) != writer + 1)
                return reject(run, event, "reader", "it does not see %s", name(run, writer).text);
        }
    return common > 0 ||
           reject(run, event, "reader", "%s writes nothing that it reads", name(run, writer).text);
}

/* Relaxed: is there no branch between an event and where its thread stops? */
static bool no_branch_follows(const struct run *run, uint32_t event) {
    const struct hd_query *query = run->query;
    for (uint32_t i = 0; query->branches != NULL && i < query->stops; i++) {
        uint32_t stop = query->stop[i].event;
        if (run->model->thread[stop] == run->model->thread[event])
            return query->branches[stop] == query->branches[event];
    }
    return false;
}

/* Does the reading model let this event read whatever is there? */
static bool is_exempt(const struct run *run, uint32_t event) {
    if (run->reading == HD_CSR) return true;
    if (run->reading == HD_UA) return false;
    for (uint32_t i = 0; i < run->query->stops; i++)
        if (run->query->stop[i].executed && run->query->stop[i].event == event) return true;
    return no_branch_follows(run, event);
}

static bool check_access(struct run *run, uint32_t event) {
    const uint32_t *location;
    uint32_t locations = hd_model_locations(run->model, event, &location);
    if (event == run->query->reader && !check_reader(run, event, location, locations)) return false;
    if (hd_model_is_read(run->model, event) && !is_exempt(run, event) &&
        !check_read(run, event, location, locations))
        return false;
    if (hd_model_is_write(run->model, event))
        for (uint32_t i = 0; i < locations; i++) *last_write(run, location[i]) = event + 1;
    return true;
}

static bool execute(struct run *run, uint32_t event) {
    const struct hd_model *model = run->model;
    if (event >= model->events)
        return reject(run, event, "form", "the trace has %u events", model->events);
    uint32_t thread = model->thread[event];
    if (next_of(run, thread) != event) {
        uint32_t wanted = next_of(run, thread);
        if (wanted == HD_NONE || executed(run, event))
            return reject(run, event, "program-order", "it was executed %s", "before");
        return reject(run, event, "program-order", "%s comes first", name(run, wanted).text);
    }
    if (!check_must_order(run, event) || !check_lock(run, event)) return false;
    if (model->kind[event] == HD_EV_TRY_FAILED && !check_failed_try(run, event)) return false;
    if (hd_model_is_access(model, event) && !check_access(run, event)) return false;
    for (uint32_t i = 0; i < run->query->orders; i++) {
        const struct hd_precedes *order = &run->query->order[i];
        if (order->after == event && !executed(run, order->before))
            return reject(run, event, "order", "the query wants %s before it",
                          name(run, order->before).text);
    }
    run->position[thread]++;
    run->beyond[thread] = event + 1;
    return true;
}

/* ---- the end -------------------------------------------------------------------------------- */

/* In UA reads outside the witness keep their writes too: none that one of them is still to read
 * has been written over. */
static bool check_unread(struct run *run) {
    const struct hd_model *model = run->model;
    for (uint32_t event = 0; event < model->events; event++) {
        const uint32_t *location, *write;
        if (executed(run, event) || !hd_model_is_read(model, event)) continue;
        uint32_t locations = hd_model_locations(model, event, &location);
        uint32_t writes = hd_model_reads_from(model, event, &write);
        if (writes == 0) continue;
        expect_writes(run, location, locations, write, writes);
        for (uint32_t i = 0; i < locations; i++) {
            uint32_t wanted = run->expected[location[i]];
            if (wanted != 0 && executed(run, wanted - 1) &&
                !same_write(run, event, wanted, *last_write(run, location[i])))
                return false;
        }
    }
    return true;
}

static bool check_stop(const struct run *run, const struct hd_stop *stop) {
    uint32_t thread = run->model->thread[stop->event];
    if (stop->executed) {
        if (run->beyond[thread] == stop->event + 1) return true;
        if (run->beyond[thread] <= stop->event)
            return reject(run, stop->event, "stop", "its thread %s", "has not executed it");
        return reject(run, stop->event, "stop", "its thread goes on to %s",
                      name(run, run->beyond[thread] - 1).text);
    }
    uint32_t next = next_of(run, thread);
    if (next == stop->event) return check_must_order(run, stop->event);
    if (executed(run, stop->event))
        return reject(run, stop->event, "stop", "it has to be next but is %s", "executed");
    return reject(run, stop->event, "stop", "it has to be next but its thread is at %s",
                  name(run, next).text);
}

static bool check_end(struct run *run, const struct hd_witness *witness) {
    const struct hd_query *query = run->query;
    uint32_t at = witness->count - witness->next;
    for (uint32_t i = 0; i < query->stops; i++) {
        if (!check_stop(run, &query->stop[i])) return false;
        if (query->stop[i].executed) continue;
        if (at >= witness->count || witness->event[at] != query->stop[i].event)
            return reject(run, query->stop[i].event, "form",
                          "it has to be entry %u of the witness, with those that are next", at);
        at++;
    }
    if (at != witness->count)
        return reject(run, witness->event[at], "form", "the query does not have it as %s", "next");
    for (uint32_t i = 0; i < query->orders; i++) {
        const struct hd_precedes *order = &query->order[i];
        if (!executed(run, order->before) || !executed(run, order->after))
            return reject(run, executed(run, order->before) ? order->after : order->before, "order",
                          "it is not %s", "executed");
    }
    if (query->reader != HD_NONE && !executed(run, query->reader))
        return reject(run, query->reader, "reader", "it is not %s", "executed");
    return run->reading != HD_UA || check_unread(run);
}

/* ---- the check ------------------------------------------------------------------------------ */

/* Events that the query names, and what it says of them, have to make sense. */
static bool check_query(struct run *run) {
    const struct hd_query *query = run->query;
    uint32_t events = run->model->events;
    for (uint32_t i = 0; i < query->stops; i++) {
        if (query->stop[i].event >= events)
            return reject(run, query->stop[i].event, "form", "the trace has %u events", events);
        for (uint32_t j = 0; j < i; j++)
            if (run->model->thread[query->stop[i].event] ==
                run->model->thread[query->stop[j].event])
                return reject(run, query->stop[i].event, "form", "its thread also stops at %s",
                              name(run, query->stop[j].event).text);
    }
    for (uint32_t i = 0; i < query->orders; i++) {
        uint32_t before = query->order[i].before, after = query->order[i].after;
        if (before >= events || after >= events)
            return reject(run, before >= events ? before : after, "form", "the trace has %u events",
                          events);
    }
    if (query->reader == HD_NONE) return true;
    if (query->reader >= events || !hd_model_is_read(run->model, query->reader))
        return reject(run, query->reader, "form", "it is no %s", "read");
    if (query->writer != HD_NONE &&
        (query->writer >= events || !hd_model_is_write(run->model, query->writer)))
        return reject(run, query->writer, "form", "it is no %s", "write");
    return true;
}

static bool run_witness(struct run *run, const struct hd_witness *witness) {
    if (!check_query(run)) return false;
    if (witness->next > witness->count)
        return hd_fail(run->error, HD_ERR_FORMAT,
                       "a witness of %u events, %u of them next, breaks rule form", witness->count,
                       witness->next);
    for (uint32_t i = run->start; i < witness->count - witness->next; i++)
        if (!execute(run, witness->event[i])) return false;
    return check_end(run, witness);
}

/* ---- checkers -------------------------------------------------------------------------------- */

static void free_run(struct run *run) {
    free(run->position);
    free(run->beyond);
    free(run->write);
    free(run->expected);
    free(run->lock);
    free(run->next_reader);
}

static void make_run(struct run *run, const struct hd_model *model) {
    size_t threads = model->threads + (size_t)1, locations = model->locations + (size_t)1;
    *run = (struct run){.model = model};
    run->position = hd_zalloc(threads, sizeof *run->position);
    run->beyond = hd_zalloc(threads, sizeof *run->beyond);
    run->write = hd_zalloc(locations, sizeof *run->write);
    run->expected = hd_zalloc(locations, sizeof *run->expected);
    run->lock = hd_zalloc(model->locks + (size_t)1, sizeof *run->lock);
    run->next_reader = hd_alloc(model->sections + (size_t)1, sizeof *run->next_reader);
}

/* The state after the first `start` events of the trace. */
static void start_run(struct run *run, uint32_t start) {
    const struct hd_model *model = run->model;
    if (++run->age == 0) { /* all ages are used up */
        memset(run->write, 0, (model->locations + (size_t)1) * sizeof *run->write);
        memset(run->lock, 0, (model->locks + (size_t)1) * sizeof *run->lock);
        run->age = 1;
    }
    run->start = start;
    for (uint32_t t = 0; t < model->threads; t++) {
        const uint32_t *list = model->thread_event + model->thread_start[t];
        uint32_t count =
            start == 0
                ? 0
                : hd_lower_bound(list, model->thread_start[t + 1] - model->thread_start[t], start);
        run->position[t] = count;
        run->beyond[t] = count == 0 ? 0 : list[count - 1] + 1;
    }
}

static bool check_from(struct run *run, uint32_t start, enum hd_reading reading,
                       const struct hd_query *query, const struct hd_witness *witness,
                       struct hd_error *error) {
    run->reading = reading;
    run->query = query;
    run->error = error;
    start_run(run, start);
    return run_witness(run, witness);
}

/* Beginnings that are too short are not worth looking things up: shorter than this, or than a part
 * of the rest. */
#define SHORT_BEGINNING 4
#define SHORT_PART 8

static uint32_t own_beginning(const struct hd_witness *witness) {
    if (witness->next > witness->count) return 0;
    uint32_t count = 0, done = witness->count - witness->next;
    while (count < done && witness->event[count] == count) count++;
    return count < SHORT_BEGINNING || count < (done - count) / SHORT_PART ? 0 : count;
}

static bool trace_is_correct(struct hd_checker *checker, enum hd_reading reading) {
    if (checker->itself[reading] == UNKNOWN) {
        struct hd_query nothing = {.reader = HD_NONE, .writer = HD_NONE};
        struct hd_error error;
        struct run *run = &checker->run;
        run->reading = reading;
        run->query = &nothing;
        run->error = &error;
        start_run(run, 0);
        bool good = true;
        for (uint32_t e = 0; good && e < run->model->events; e++) good = execute(run, e);
        checker->itself[reading] = good ? YES : NO;
    }
    return checker->itself[reading] == YES;
}

struct hd_checker *hd_checker_new(const struct hd_model *model) {
    struct hd_checker *checker = hd_zalloc(1, sizeof *checker);
    make_run(&checker->run, model);
    return checker;
}

void hd_checker_free(struct hd_checker *checker) {
    if (checker == NULL) return;
    free_run(&checker->run);
    free(checker);
}

bool hd_checker_check(struct hd_checker *checker, enum hd_reading reading,
                      const struct hd_query *query, const struct hd_witness *witness,
                      struct hd_error *error) {
    uint32_t start = own_beginning(witness);
    if (start > 0 && (start > checker->run.model->events || !trace_is_correct(checker, reading)))
        start = 0;
    /* Orders and the reader are looked at as they are executed: not among those left out. */
    for (uint32_t i = 0; i < query->orders; i++)
        if (query->order[i].after < start) start = query->order[i].after;
    if (query->reader < start) start = query->reader;
    return check_from(&checker->run, start, reading, query, witness, error);
}

bool hd_witness_check(const struct hd_model *model, enum hd_reading reading,
                      const struct hd_query *query, const struct hd_witness *witness,
                      struct hd_error *error) {
    struct run run;
    make_run(&run, model);
    bool good = check_from(&run, 0, reading, query, witness, error);
    free_run(&run);
    return good;
}
