/* See timeline.h. Time is the order of events: an event takes ten units, of which its slice has
 * eight, so that what follows in the same thread never touches it. Slices of one track must nest;
 * critical sections that do not (hand over hand) become tracks of their own. */
#include "report/timeline.h"

#include "base/alloc.h"
#include "report/lines.h"
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

enum { UNITS = 10, SLICE = 8, MIDDLE = 4 };
enum { THREADS = 1, LOCKS = 2 }; /* the two groups of tracks: processes of the format */

/* Accesses of a thread, one after the other, that become one slice. */
struct run {
    uint32_t first, last, count, reads, writes;
};

struct timeline {
    struct hd_lines lines;
    const struct hd_model *model;
    struct hd_describe *describe;
    struct run *run;        /* of each thread */
    uint32_t *previous;     /* event of each thread, HD_NONE */
    bool *apart;            /* of each section: it does not nest */
    uint32_t section, edge; /* the next ones */
    uint64_t flow;          /* number of the last arrow */
    bool fold_all, any;
};

/* ---- records -------------------------------------------------------------------------------- */

static uint64_t time_of(uint32_t event) { return (uint64_t)event * UNITS; }

/* Begins a record; more members, arguments and end_record follow. */
static void begin_record(struct timeline *t, const char *phase, const char *name, unsigned group,
                         uint64_t track, uint64_t time) {
    hd_line_string(&t->lines, t->any ? ",\n{" : "\n{");
    t->any = true;
    hd_line_json_text(&t->lines, "ph", phase);
    hd_line_json_text(&t->lines, "name", name);
    hd_line_json_number(&t->lines, "pid", group);
    hd_line_json_number(&t->lines, "tid", track);
    hd_line_json_number(&t->lines, "ts", time);
}

static void end_record(struct timeline *t) {
    hd_line_string(&t->lines, "}");
    /* whole records go out */
    if (t->lines.used > sizeof t->lines.text / 2) hd_line_flush(&t->lines);
}

static void begin_arguments(struct timeline *t) { hd_line_string(&t->lines, ", \"args\": {"); }

static void end_arguments(struct timeline *t) {
    hd_line_string(&t->lines, "}");
    end_record(t);
}

/* Where an event is. */
static void put_place(struct timeline *t, uint32_t event) {
    const char *site = hd_describe_site(t->describe, event);
    const char *function = hd_describe_function(t->describe, event);
    hd_line_json_number(&t->lines, "event", hd_trace_number(t->model->trace, event));
    if (*site != '\0') hd_line_json_text(&t->lines, "site", site);
    if (*function != '\0') hd_line_json_text(&t->lines, "function", function);
}

static void begin_slice(struct timeline *t, const char *name, const char *category, unsigned group,
                        uint64_t track, uint64_t from, uint64_t to) {
    begin_record(t, "X", name, group, track, from);
    hd_line_json_number(&t->lines, "dur", to - from);
    hd_line_json_text(&t->lines, "cat", category);
}

/* "w(counter)" */
static void event_name(struct timeline *t, uint32_t event, char *text, size_t room) {
    const char *object = hd_describe_event(t->describe, event, HD_APART);
    const char *operation = hd_report_event(t->model, event);
    if (*operation == '\0') operation = hd_kind_name(t->model->kind[event]);
    snprintf(text, room, *object != '\0' ? "%s(%s)" : "%s", operation, object);
}

/* ---- arrows --------------------------------------------------------------------------------- */

static void put_flow(struct timeline *t, const char *name, uint32_t from, uint32_t to) {
    const uint32_t end[] = {from, to};
    t->flow++;
    for (unsigned i = 0; i < 2; i++) {
        begin_record(t, i == 0 ? "s" : "f", name, THREADS, t->model->thread[end[i]],
                     time_of(end[i]) + MIDDLE);
        hd_line_json_text(&t->lines, "cat", name);
        hd_line_json_number(&t->lines, "id", t->flow);
        if (i == 1) hd_line_json_text(&t->lines, "bp", "e");
        end_record(t);
    }
}

/* Synchronisation that an event waited for. Reads-from of atomics is drawn as reads-from. */
static void put_edges(struct timeline *t, uint32_t event) {
    static const char *const name[] = {
        [HD_EDGE_FORK] = "fork",       [HD_EDGE_JOIN] = "join", [HD_EDGE_SIGNAL] = "signal",
        [HD_EDGE_BARRIER] = "barrier", [HD_EDGE_POST] = "post", [HD_EDGE_ONCE] = "once",
        [HD_EDGE_ATOMIC] = "atomic"};
    for (; t->edge < t->model->edges && t->model->edge[t->edge].to <= event; t->edge++) {
        const struct hd_edge *edge = &t->model->edge[t->edge];
        if (edge->type != HD_EDGE_ATOMIC && edge->to == event)
            put_flow(t, name[edge->type], edge->from, edge->to);
    }
}

static void put_reads_from(struct timeline *t, uint32_t event) {
    const struct hd_model *model = t->model;
    uint32_t write = hd_model_is_read(model, event) ? model->from[event] : HD_NONE;
    if (write != HD_NONE && model->thread[write] != model->thread[event])
        put_flow(t, "reads-from", write, event);
}

/* ---- accesses ------------------------------------------------------------------------------- */

static bool is_shared(const struct hd_model *model, uint32_t event) {
    const uint32_t *location;
    for (uint32_t i = hd_model_locations(model, event, &location); i-- > 0;)
        if (model->location[location[i]].shared) return true;
    return false;
}

static void put_event(struct timeline *t, uint32_t event, const char *category) {
    char name[512];
    event_name(t, event, name, sizeof name);
    begin_slice(t, name, category, THREADS, t->model->thread[event], time_of(event),
                time_of(event) + SLICE);
    begin_arguments(t);
    put_place(t, event);
    end_arguments(t);
}

/* What was folded of a thread. */
static void end_run(struct timeline *t, uint32_t thread) {
    struct run *run = &t->run[thread];
    char name[64];
    if (run->count == 1) put_event(t, run->first, "access");
    if (run->count > 1) {
        snprintf(name, sizeof name, "%u accesses", run->count);
        begin_slice(t, name, "access", THREADS, thread, time_of(run->first),
                    time_of(run->last) + SLICE);
        begin_arguments(t);
        hd_line_json_number(&t->lines, "reads", run->reads);
        hd_line_json_number(&t->lines, "writes", run->writes);
        put_place(t, run->first);
        end_arguments(t);
    }
    *run = (struct run){0};
}

static void fold(struct timeline *t, uint32_t event) {
    struct run *run = &t->run[t->model->thread[event]];
    if (run->count == 0) run->first = event;
    run->last = event;
    run->count++;
    run->reads += hd_model_is_read(t->model, event);
    run->writes += hd_model_is_write(t->model, event);
}

static void put_access(struct timeline *t, uint32_t event) {
    if (t->fold_all || !is_shared(t->model, event)) {
        fold(t, event);
        return;
    }
    end_run(t, t->model->thread[event]);
    put_event(t, event, "access");
    put_reads_from(t, event);
}

/* ---- sections ------------------------------------------------------------------------------- */

static uint64_t end_of(const struct timeline *t, uint32_t release) {
    return release != HD_NONE ? time_of(release) + SLICE : time_of(t->model->events);
}

/* Is it still open when a section around it, which is drawn on the same track, ends? */
static bool crosses(const struct timeline *t, uint32_t index) {
    const struct hd_section *section = &t->model->section[index];
    uint32_t outer = section->outer;
    while (outer != HD_NONE && t->apart[outer]) outer = t->model->section[outer].outer;
    if (outer == HD_NONE) return false;
    return end_of(t, section->release) > end_of(t, t->model->section[outer].release);
}

static void put_section_arguments(struct timeline *t, const struct hd_section *section) {
    begin_arguments(t);
    hd_line_json_text(&t->lines, "lock", hd_describe_lock(t->describe, section->lock, HD_LONG));
    hd_line_json_text(&t->lines, "mode", section->read_mode ? "read" : "write");
    put_place(t, section->acquire);
    end_arguments(t);
}

static void put_section(struct timeline *t, uint32_t index) {
    const struct hd_section *section = &t->model->section[index];
    const char *lock = hd_describe_lock(t->describe, section->lock, HD_SHORT);
    uint64_t from = time_of(section->acquire), to = end_of(t, section->release);
    t->apart[index] = crosses(t, index);
    if (t->apart[index]) {
        for (unsigned i = 0; i < 2; i++) {
            begin_record(t, i == 0 ? "b" : "e", lock, THREADS, section->thread, i == 0 ? from : to);
            hd_line_json_text(&t->lines, "cat", "section");
            hd_line_json_number(&t->lines, "id", index);
            if (i == 0)
                put_section_arguments(t, section);
            else
                end_record(t);
        }
    } else {
        begin_slice(t, lock, "section", THREADS, section->thread, from, to);
        put_section_arguments(t, section);
    }
    /* The lock's own track says who holds it. Readers may hold it at the same time: no slices. */
    if (section->read_mode) return;
    begin_slice(t, hd_describe_thread(t->describe, section->thread), "section", LOCKS,
                section->lock, from, to);
    put_section_arguments(t, section);
}

/* ---- other events --------------------------------------------------------------------------- */

/* From the thread's previous event on: it has done nothing else. */
static void put_wait(struct timeline *t, uint32_t event) {
    uint32_t thread = t->model->thread[event], before = t->previous[thread];
    bool to_the_end = t->model->kind[event] == HD_EV_BLOCKED;
    char name[512];
    const char *object = hd_describe_event(t->describe, event, HD_APART);
    snprintf(name, sizeof name, *object != '\0' ? "waits for %s" : "waits", object);
    uint64_t from = before != HD_NONE ? time_of(before) + UNITS - 1 : time_of(event);
    begin_slice(t, name, "wait", THREADS, thread, from,
                to_the_end ? time_of(t->model->events) : time_of(event) + SLICE);
    begin_arguments(t);
    hd_line_json_text(&t->lines, "operation", hd_kind_name(t->model->kind[event]));
    put_place(t, event);
    end_arguments(t);
}

static void put_instant(struct timeline *t, uint32_t event) {
    char name[512];
    event_name(t, event, name, sizeof name);
    begin_record(t, "i", name, THREADS, t->model->thread[event], time_of(event));
    hd_line_json_text(&t->lines, "cat", "event");
    hd_line_json_text(&t->lines, "s", "t");
    begin_arguments(t);
    put_place(t, event);
    end_arguments(t);
}

static void put_other(struct timeline *t, uint32_t event) {
    switch (t->model->kind[event]) {
    case HD_EV_ACQUIRE:
    case HD_EV_READ_ACQUIRE:
    case HD_EV_RELEASE:
    case HD_EV_READ_RELEASE:
        break; /* the ends of a section */
    case HD_EV_WAIT:
    case HD_EV_WAIT_TIMEOUT:
    case HD_EV_SEM_WAIT:
    case HD_EV_BARRIER_LEAVE:
    case HD_EV_JOIN:
    case HD_EV_BLOCKED:
        put_wait(t, event);
        break;
    default: /* where arrows may begin or end there must be a slice */
        if (hd_kind_class(t->model->kind[event]) == HD_CLASS_SYNC ||
            hd_kind_class(t->model->kind[event]) == HD_CLASS_THREAD)
            put_event(t, event, "synchronisation");
        else
            put_instant(t, event);
    }
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void name_track(struct timeline *t, const char *what, unsigned group, uint64_t track,
                       const char *name) {
    begin_record(t, "M", what, group, track, 0);
    begin_arguments(t);
    hd_line_json_text(&t->lines, "name", name);
    end_arguments(t);
}

static void put_names(struct timeline *t) {
    const struct hd_model *model = t->model;
    name_track(t, "process_name", THREADS, 0,
               model->trace->command != NULL ? model->trace->command : "threads");
    for (uint32_t i = 0; i < model->threads; i++)
        name_track(t, "thread_name", THREADS, i, hd_describe_thread(t->describe, i));
    if (model->locks == 0) return;
    name_track(t, "process_name", LOCKS, 0, "locks, by the thread that holds them");
    for (uint32_t i = 0; i < model->locks; i++)
        name_track(t, "thread_name", LOCKS, i, hd_describe_lock(t->describe, i, HD_SHORT));
}

static void put_events(struct timeline *t) {
    const struct hd_model *model = t->model;
    for (uint32_t e = 0; e < model->events; e++) {
        uint32_t thread = model->thread[e];
        while (t->section < model->sections && model->section[t->section].acquire <= e) {
            end_run(t, thread);
            put_section(t, t->section++);
        }
        if (hd_model_is_access(model, e)) {
            put_access(t, e);
        } else {
            end_run(t, thread);
            put_other(t, e);
        }
        put_edges(t, e);
        t->previous[thread] = e;
    }
    for (uint32_t i = 0; i < model->threads; i++) end_run(t, i);
}

static bool too_many(const struct hd_model *model, uint32_t most) {
    uint32_t count = 0;
    for (uint32_t e = 0; e < model->events && count <= most; e++)
        count += hd_model_is_access(model, e) && is_shared(model, e);
    return count > most;
}

bool hd_timeline_write(FILE *out, const struct hd_model *model, struct hd_describe *describe,
                       const struct hd_timeline_options *options) {
    struct timeline *t = hd_zalloc(1, sizeof *t);
    t->lines.stream = out;
    t->model = model;
    t->describe = describe;
    t->run = hd_zalloc(model->threads, sizeof *t->run);
    t->previous = hd_alloc(model->threads, sizeof *t->previous);
    memset(t->previous, 0xff, model->threads * sizeof *t->previous);
    t->apart = hd_zalloc(model->sections, sizeof *t->apart);
    t->fold_all = too_many(model, options->most);
    hd_line_string(&t->lines, "{\"displayTimeUnit\": \"ns\", \"otherData\": {");
    hd_line_json_text(&t->lines, "tool", "heddle");
    hd_line_json_text(&t->lines, "time", "the order of events, ten units each; no clock was read");
    hd_line_json_number(&t->lines, "events", model->events);
    hd_line_string(&t->lines, "}, \"traceEvents\": [");
    put_names(t);
    put_events(t);
    hd_line_string(&t->lines, "\n]}\n");
    hd_line_flush(&t->lines);
    bool good = !t->lines.failed && !ferror(out);
    free(t->run);
    free(t->previous);
    free(t->apart);
    free(t);
    return good;
}
