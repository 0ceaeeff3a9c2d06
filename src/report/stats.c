/* See stats.h. */
#include "report/stats.h"

#include "report/page.h"

#include <stdlib.h>
#include <string.h>

/* ---- words ----------------------------------------------------------------------------------- */

static const char *scheduler_name(const struct hd_trace *trace) {
    switch (trace->options.scheduler) {
    case HD_SCHED_SERIAL:
        return "serial";
    case HD_SCHED_FREE:
        return "free";
    default:
        return NULL;
    }
}

static const char *policy_name(const struct hd_trace *trace) {
    switch (trace->options.policy) {
    case HD_POLICY_RANDOM:
        return "random";
    case HD_POLICY_REPLAY:
        return "replay";
    case HD_POLICY_PCT:
        return "pct";
    case HD_POLICY_POS:
        return "pos";
    default:
        return "round-robin";
    }
}

/* How the program ended, in words; "" if the trace does not say. */
static const char *ending(const struct hd_trace_end *end, char *text, size_t room) {
    if (end->deadlocked)
        snprintf(text, room, "deadlocked");
    else if (end->exited)
        snprintf(text, room, "exited with status %d", end->status);
    else if (end->signaled)
        snprintf(text, room, "killed by signal %d (%s)", end->status, strsignal(end->status));
    else
        *text = '\0';
    return text;
}

static const char *bytes_in_words(uint64_t bytes, char *text, size_t room) {
    static const char *const unit[] = {"bytes", "kB", "MB", "GB", "TB"};
    double amount = (double)bytes;
    unsigned at = 0;
    while (amount >= 1000 && at < 4) {
        amount /= 1000;
        at++;
    }
    snprintf(text, room, at == 0 ? "%.0f %s" : "%.1f %s", amount, unit[at]);
    return text;
}

static double per_event(uint64_t bytes, uint64_t events) {
    return events > 0 ? (double)bytes / (double)events : 0;
}

/* Is it a recording of which not all was loaded? */
static bool is_part(const struct hd_trace *trace) { return trace->recorded != trace->events; }

static const char *kept_name(const struct hd_trace *trace) {
    switch (trace->kept) {
    case HD_KEEP_STEPS:
        return "steps";
    case HD_KEEP_SHARED:
        return "shared";
    case HD_KEEP_CONCURRENT:
        return "concurrent";
    default:
        return "all";
    }
}

/* ---- text ------------------------------------------------------------------------------------ */

#define NAME_WIDTH 14

static void print_name(FILE *out, const char *name) { fprintf(out, "%-*s", NAME_WIDTH, name); }

static void print_run(FILE *out, const struct hd_stats *stats) {
    const struct hd_trace *trace = stats->model->trace;
    char text[128];
    print_name(out, "trace");
    fprintf(out, "%s: %s, %s", stats->path, hd_report_format_name(trace->format),
            bytes_in_words(trace->file_bytes, text, sizeof text));
    if (trace->format == HD_FORMAT_BINARY || !trace->end.whole)
        fprintf(out, ", %s", trace->end.whole ? "whole" : "not whole");
    if (!trace->end.whole && trace->end.missing[0] != '\0')
        fprintf(out, ": %s", trace->end.missing);
    fprintf(out, "\n");
    if (trace->command != NULL && trace->command[0] != '\0') {
        print_name(out, "command");
        fprintf(out, "%s\n", trace->command);
    }
    if (ending(&trace->end, text, sizeof text)[0] != '\0') {
        print_name(out, "ended");
        fprintf(out, "%s\n", text);
    }
    if (trace->end.lost_events > 0) {
        print_name(out, "lost");
        fprintf(out, "%llu events, because the recorder was gone\n",
                (unsigned long long)trace->end.lost_events);
    }
    if (scheduler_name(trace) != NULL) {
        print_name(out, "scheduler");
        fprintf(out, "%s", scheduler_name(trace));
        if (trace->options.scheduler == HD_SCHED_SERIAL)
            fprintf(out, ", %s, seed %llu, quantum %u", policy_name(trace),
                    (unsigned long long)trace->options.seed, trace->options.quantum);
        fprintf(out, "\n");
    }
}

/* "3 fork, 2 join" of the counts that are not zero. */
static void print_parts(FILE *out, const uint32_t *count, unsigned types,
                        const char *(*name)(unsigned)) {
    const char *before = " (";
    for (unsigned type = 0; type < types; type++) {
        if (count[type] == 0) continue;
        fprintf(out, "%s%u %s", before, count[type], name(type));
        before = ", ";
    }
    fprintf(out, "%s\n", *before == ',' ? ")" : "");
}

static const char *edge_name(unsigned type) { return hd_edge_type_name(type); }
static const char *block_name(unsigned type) { return hd_block_type_name(type); }

/* Is it a recording of which only what was not expected is in the file? */
static bool came_as_expected(const struct hd_trace *trace) {
    return trace->format == HD_FORMAT_BINARY && trace->options.full == HD_FULL_EXPECTED &&
           trace->recorded > 0;
}

static void print_events(FILE *out, const struct hd_stats *stats) {
    const struct hd_trace *trace = stats->model->trace;
    print_name(out, "events");
    fprintf(out, "%llu", (unsigned long long)trace->recorded);
    if (is_part(trace))
        fprintf(out, " recorded, %u loaded", trace->events);
    else if (stats->summary->elided > 0 && trace->kept == HD_KEEP_ALL)
        fprintf(out, "; %llu of %llu hook calls were repetitions and elided",
                (unsigned long long)stats->summary->elided, (unsigned long long)trace->hook_calls);
    fprintf(out, "\n");
    if (!is_part(trace)) return;
    print_name(out, "left out");
    fprintf(out, "repetitions%s\n",
            trace->kept == HD_KEEP_STEPS
                ? ""
                : "; memory that threads do not share, or that forks, joins and barriers order");
    print_name(out, "counted");
    fprintf(out, "kinds and threads: all events; everything else: what is loaded\n");
}

static void print_counts(FILE *out, const struct hd_stats *stats) {
    const struct hd_model *model = stats->model;
    const struct hd_summary *summary = stats->summary;
    const struct hd_trace *trace = model->trace;
    char text[128];
    print_name(out, "threads");
    fprintf(out, "%u\n", model->threads);
    print_events(out, stats);
    print_name(out, "locations");
    fprintf(out, "%u, %u of them shared\n", model->locations, summary->shared_locations);
    if (model->blocks > 0) {
        print_name(out, "blocks");
        fprintf(out, "%u", model->blocks);
        print_parts(out, summary->block_types, HD_BLOCK_TYPES, block_name);
    }
    print_name(out, "locks");
    fprintf(out, "%u\n", model->locks);
    if (model->sections > 0) {
        print_name(out, "sections");
        fprintf(out, "%u, at most %u deep", model->sections, summary->deepest_nesting);
        if (summary->open_sections > 0)
            fprintf(out, ", %u open at the end", summary->open_sections);
        fprintf(out, "\n");
    }
    if (model->edges > 0) {
        print_name(out, "must-order");
        fprintf(out, "%u edges between threads", model->edges);
        print_parts(out, summary->edge_types, HD_EDGE_TYPES, edge_name);
    }
    print_name(out, "sites");
    fprintf(out, "%u\n", summary->sites);
    if (summary->stacks > 0) {
        print_name(out, "stacks");
        fprintf(out, "%u\n", summary->stacks);
    }
    if (trace->stored_bytes > 0 && trace->recorded > 0) {
        print_name(out, "stored");
        if (came_as_expected(trace))
            fprintf(out, "%.2f bytes an event; %llu of them, the others came as expected\n",
                    per_event(trace->stored_bytes, trace->recorded),
                    (unsigned long long)trace->raw_events);
        else
            fprintf(out, "%.2f bytes an event\n", per_event(trace->stored_bytes, trace->recorded));
    }
    print_name(out, "loaded");
    fprintf(out, "in %.3f s into %s (%.1f bytes an event)\n",
            stats->read_seconds + stats->model_seconds,
            bytes_in_words(model->bytes, text, sizeof text),
            per_event(model->bytes, model->events));
}

static int compare_kinds(const void *left, const void *right) {
    const uint64_t *a = left, *b = right;
    if (a[0] != b[0]) return a[0] > b[0] ? -1 : 1;
    return a[1] < b[1] ? -1 : a[1] > b[1];
}

static void print_kinds(FILE *out, const struct hd_stats *stats) {
    uint64_t order[HD_EV_KINDS][2];
    unsigned used = 0;
    for (unsigned kind = 0; kind < HD_EV_KINDS; kind++) {
        if (stats->summary->kinds[kind] == 0) continue;
        order[used][0] = stats->summary->kinds[kind];
        order[used++][1] = kind;
    }
    if (used == 0) return;
    qsort(order, used, sizeof *order, compare_kinds);
    fprintf(out, "\n    events          kind\n");
    for (unsigned i = 0; i < used; i++) {
        unsigned kind = (unsigned)order[i][1];
        fprintf(out, "%10llu %5.1f %%  %-9s  %s\n", (unsigned long long)order[i][0],
                100.0 * (double)order[i][0] / (double)stats->model->trace->recorded,
                hd_report_operation(kind), hd_kind_name(kind));
    }
}

static void print_lists(FILE *out, const struct hd_stats *stats) {
    const struct hd_summary *summary = stats->summary;
    if (summary->thread_uses > 0) fprintf(out, "\n    events  hook calls  thread\n");
    for (uint32_t i = 0; i < summary->thread_uses; i++) {
        const struct hd_thread_use *use = &summary->thread_use[i];
        fprintf(out, "%10llu %11llu  %s\n", (unsigned long long)use->events,
                (unsigned long long)use->calls, hd_describe_thread(stats->describe, use->thread));
    }
    const char *where = is_part(stats->model->trace) ? ", in what is loaded" : "";
    if (summary->lock_uses > 0)
        fprintf(out, "\n  sections  threads  handovers  failed tries  longest  lock%s\n", where);
    for (uint32_t i = 0; i < summary->lock_uses; i++) {
        const struct hd_lock_summary *use = &summary->lock_use[i];
        fprintf(out, "%10u %8u %10u %13u %8u  %s", use->sections, use->threads, use->handovers,
                use->failed, use->longest, hd_describe_lock(stats->describe, use->lock, HD_LONG));
        if (use->read_sections > 0) fprintf(out, ", %u sections for reading", use->read_sections);
        fprintf(out, "%s\n", use->held_at_end ? ", held at the end" : "");
    }
    if (summary->location_uses > 0)
        fprintf(out, "\n  accesses    reads   writes  threads  shared location%s\n", where);
    for (uint32_t i = 0; i < summary->location_uses; i++) {
        const struct hd_location_use *use = &summary->location_use[i];
        fprintf(out, "%10u %8u %8u %8u  %s\n", use->accesses, use->reads, use->writes, use->threads,
                hd_describe_location(stats->describe, use->location, HD_LONG));
    }
}

void hd_stats_text(FILE *out, const struct hd_stats *stats) {
    print_run(out, stats);
    print_counts(out, stats);
    print_kinds(out, stats);
    print_lists(out, stats);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *json_end(const struct hd_trace_end *end) {
    char text[128];
    bool known = end->exited || end->signaled;
    return json_pack("{s:s, s:o, s:b, s:I, s:o}", "how",
                     end->exited     ? "exited"
                     : end->signaled ? "signaled"
                                     : "unknown",
                     "status", known ? json_integer(end->status) : json_null(), "deadlocked",
                     end->deadlocked, "lost_events", HD_INT(end->lost_events), "text",
                     hd_json_text_or_null(ending(end, text, sizeof text)));
}

static json_t *json_counts(const uint32_t *count, unsigned types, const char *(*name)(unsigned)) {
    json_t *object = json_object();
    for (unsigned type = 0; type < types; type++)
        if (count[type] > 0) json_object_set_new(object, name(type), hd_json_number(count[type]));
    return object;
}

static json_t *json_kinds(const struct hd_summary *summary) {
    json_t *object = json_object();
    for (unsigned kind = 0; kind < HD_EV_KINDS; kind++)
        if (summary->kinds[kind] > 0)
            json_object_set_new(object, hd_kind_name(kind), hd_json_number(summary->kinds[kind]));
    return object;
}

static json_t *json_threads(const struct hd_stats *stats) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < stats->summary->thread_uses; i++) {
        const struct hd_thread_use *use = &stats->summary->thread_use[i];
        const char *name = hd_describe_thread(stats->describe, use->thread);
        json_array_append_new(
            list, json_pack("{s:o, s:I, s:I}", "thread", hd_json_text_or_null(name), "events",
                            HD_INT(use->events), "hook_calls", HD_INT(use->calls)));
    }
    return list;
}

static json_t *json_locks(const struct hd_stats *stats) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < stats->summary->lock_uses; i++) {
        const struct hd_lock_summary *use = &stats->summary->lock_use[i];
        const char *name = hd_describe_lock(stats->describe, use->lock, HD_SHORT);
        json_array_append_new(
            list,
            json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:b}", "lock",
                      hd_json_text_or_null(name), "sections", HD_INT(use->sections),
                      "read_sections", HD_INT(use->read_sections), "threads", HD_INT(use->threads),
                      "handovers", HD_INT(use->handovers), "failed_tries", HD_INT(use->failed),
                      "longest", HD_INT(use->longest), "held_at_end", use->held_at_end));
    }
    return list;
}

static json_t *json_locations(const struct hd_stats *stats) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < stats->summary->location_uses; i++) {
        const struct hd_location_use *use = &stats->summary->location_use[i];
        const char *name = hd_describe_location(stats->describe, use->location, HD_SHORT);
        json_array_append_new(
            list, json_pack("{s:o, s:I, s:I, s:I, s:I}", "variable", hd_json_text_or_null(name),
                            "accesses", HD_INT(use->accesses), "reads", HD_INT(use->reads),
                            "writes", HD_INT(use->writes), "threads", HD_INT(use->threads)));
    }
    return list;
}

static void add_run(json_t *object, const struct hd_trace *trace) {
    const char *scheduler = scheduler_name(trace);
    json_object_set_new(object, "command", hd_json_text_or_null(trace->command));
    json_object_set_new(object, "scheduler", hd_json_text_or_null(scheduler));
    if (scheduler != NULL && trace->options.scheduler == HD_SCHED_SERIAL)
        json_object_update_new(object, json_pack("{s:s, s:I, s:I}", "policy", policy_name(trace),
                                                 "seed", HD_INT(trace->options.seed), "quantum",
                                                 HD_INT(trace->options.quantum)));
    json_object_set_new(object, "full", json_boolean(trace->options.full != 0));
    json_object_set_new(object, "loaded", json_string(kept_name(trace)));
    if (is_part(trace))
        json_object_set_new(object, "recorded", json_integer((json_int_t)trace->recorded));
}

static json_t *json_warnings(const struct hd_stats *stats) {
    json_t *list = json_array();
    const struct hd_trace *trace = stats->model->trace;
    for (uint32_t i = 0; i < trace->warnings; i++)
        json_array_append_new(list, hd_json_text_or_null(trace->warning[i]));
    for (uint32_t i = 0; i < stats->model->warnings; i++)
        json_array_append_new(list, hd_json_text_or_null(stats->model->warning[i]));
    return list;
}

static void add_full(json_t *object, const struct hd_trace *trace) {
    if (!came_as_expected(trace)) return;
    json_object_update_new(object,
                           json_pack("{s:I, s:I}", "recorded_events", HD_INT(trace->recorded),
                                     "stored_events", HD_INT(trace->raw_events)));
}

json_t *hd_stats_json(const struct hd_stats *stats) {
    const struct hd_model *model = stats->model;
    const struct hd_summary *summary = stats->summary;
    const struct hd_trace *trace = model->trace;
    json_t *object =
        json_pack("{s:s, s:o, s:s, s:b, s:o}", "schema", "heddle-stats/1", "trace",
                  hd_json_text_or_null(stats->path), "format", hd_report_format_name(trace->format),
                  "whole", trace->end.whole, "missing", hd_json_text_or_null(trace->end.missing));
    add_run(object, trace);
    add_full(object, trace);
    json_object_update_new(
        object,
        json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "end", json_end(&trace->end),
                  "events", HD_INT(model->events), "hook_calls", HD_INT(trace->hook_calls),
                  "elided", HD_INT(summary->elided), "threads", HD_INT(model->threads), "locations",
                  HD_INT(model->locations), "shared_locations", HD_INT(summary->shared_locations),
                  "blocks", HD_INT(model->blocks), "blocks_by_type",
                  json_counts(summary->block_types, HD_BLOCK_TYPES, block_name)));
    json_object_update_new(
        object,
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I}", "locks",
                  HD_INT(model->locks), "sections", HD_INT(model->sections), "open_sections",
                  HD_INT(summary->open_sections), "deepest_nesting",
                  HD_INT(summary->deepest_nesting), "edges", HD_INT(model->edges), "edges_by_type",
                  json_counts(summary->edge_types, HD_EDGE_TYPES, edge_name), "sites",
                  HD_INT(summary->sites), "stacks", HD_INT(summary->stacks), "file_bytes",
                  HD_INT(trace->file_bytes), "stored_bytes", HD_INT(trace->stored_bytes)));
    json_object_update_new(
        object,
        json_pack("{s:f, s:f, s:f, s:f, s:I, s:f, s:o, s:o, s:o, s:o, s:o}", "bytes_per_event",
                  per_event(trace->stored_bytes, trace->recorded), "load_seconds",
                  stats->read_seconds + stats->model_seconds, "read_seconds", stats->read_seconds,
                  "model_seconds", stats->model_seconds, "model_bytes", HD_INT(model->bytes),
                  "model_bytes_per_event", per_event(model->bytes, model->events), "kinds",
                  json_kinds(summary), "top_threads", json_threads(stats), "top_locks",
                  json_locks(stats), "top_locations", json_locations(stats), "warnings",
                  json_warnings(stats)));
    return object;
}
