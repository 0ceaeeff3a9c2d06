/* heddle stats: a trace in figures, as a page to read or as JSON. */
#include "base/clock.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "model/describe.h"
#include "model/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND "stats"

enum format { FORMAT_TEXT, FORMAT_JSON };

struct stats {
    const char *path;
    struct hd_model model;
    struct hd_summary summary;
    struct hd_describe *describe;
    double read_seconds, model_seconds;
};

/* ---- words ----------------------------------------------------------------------------------- */

static const char *format_name(enum hd_trace_format format) {
    static const char *const name[] = {[HD_FORMAT_BINARY] = "binary",
                                       [HD_FORMAT_TEXT] = "text",
                                       [HD_FORMAT_RAPIDBIN] = "RapidBin"};
    return name[format];
}

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

static const char *operation(unsigned kind) {
    switch (kind) {
    case HD_EV_BARRIER_LEAVE:
        return "leave";
    case HD_EV_HANDLER_ENTER:
        return "handler";
    case HD_EV_HANDLER_LEAVE:
        return "return";
    default:
        return hd_kind_text(kind);
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

static double per_event(const struct stats *stats, uint64_t bytes) {
    return stats->model.events > 0 ? (double)bytes / stats->model.events : 0;
}

/* ---- text ------------------------------------------------------------------------------------ */

#define NAME_WIDTH 14

static void print_name(const char *name) { printf("%-*s", NAME_WIDTH, name); }

static void print_run(const struct stats *stats) {
    const struct hd_trace *trace = stats->model.trace;
    char text[128];
    print_name("trace");
    printf("%s: %s, %s", stats->path, format_name(trace->format),
           bytes_in_words(trace->file_bytes, text, sizeof text));
    if (trace->format == HD_FORMAT_BINARY || !trace->end.whole)
        printf(", %s", trace->end.whole ? "whole" : "not whole");
    if (!trace->end.whole && trace->end.missing[0] != '\0') printf(": %s", trace->end.missing);
    printf("\n");
    if (trace->command != NULL && trace->command[0] != '\0') {
        print_name("command");
        printf("%s\n", trace->command);
    }
    if (ending(&trace->end, text, sizeof text)[0] != '\0') {
        print_name("ended");
        printf("%s\n", text);
    }
    if (trace->end.lost_events > 0) {
        print_name("lost");
        printf("%llu events, because the recorder was gone\n",
               (unsigned long long)trace->end.lost_events);
    }
    if (scheduler_name(trace) != NULL) {
        print_name("scheduler");
        printf("%s", scheduler_name(trace));
        if (trace->options.scheduler == HD_SCHED_SERIAL)
            printf(", %s, seed %llu, quantum %u", policy_name(trace),
                   (unsigned long long)trace->options.seed, trace->options.quantum);
        printf("%s\n", trace->options.full != 0 ? ", every access recorded" : "");
    }
}

/* "3 fork, 2 join" of the counts that are not zero. */
static void print_parts(const uint32_t *count, unsigned types, const char *(*name)(unsigned)) {
    const char *before = " (";
    for (unsigned type = 0; type < types; type++) {
        if (count[type] == 0) continue;
        printf("%s%u %s", before, count[type], name(type));
        before = ", ";
    }
    printf("%s\n", *before == ',' ? ")" : "");
}

static const char *edge_name(unsigned type) { return hd_edge_type_name(type); }
static const char *block_name(unsigned type) { return hd_block_type_name(type); }

static void print_counts(const struct stats *stats) {
    const struct hd_model *model = &stats->model;
    const struct hd_summary *summary = &stats->summary;
    const struct hd_trace *trace = model->trace;
    char text[128];
    print_name("threads");
    printf("%u\n", model->threads);
    print_name("events");
    printf("%u", model->events);
    if (summary->elided > 0)
        printf("; %llu of %llu hook calls were repetitions and elided",
               (unsigned long long)summary->elided, (unsigned long long)trace->hook_calls);
    printf("\n");
    print_name("locations");
    printf("%u, %u of them shared\n", model->locations, summary->shared_locations);
    if (model->blocks > 0) {
        print_name("blocks");
        printf("%u", model->blocks);
        print_parts(summary->block_types, HD_BLOCK_TYPES, block_name);
    }
    print_name("locks");
    printf("%u\n", model->locks);
    if (model->sections > 0) {
        print_name("sections");
        printf("%u, at most %u deep", model->sections, summary->deepest_nesting);
        if (summary->open_sections > 0) printf(", %u open at the end", summary->open_sections);
        printf("\n");
    }
    if (model->edges > 0) {
        print_name("must-order");
        printf("%u edges between threads", model->edges);
        print_parts(summary->edge_types, HD_EDGE_TYPES, edge_name);
    }
    print_name("sites");
    printf("%u\n", summary->sites);
    if (summary->stacks > 0) {
        print_name("stacks");
        printf("%u\n", summary->stacks);
    }
    if (trace->stored_bytes > 0 && model->events > 0) {
        print_name("stored");
        printf("%.2f bytes an event\n", per_event(stats, trace->stored_bytes));
    }
    print_name("loaded");
    printf("in %.3f s into %s (%.1f bytes an event)\n", stats->read_seconds + stats->model_seconds,
           bytes_in_words(model->bytes, text, sizeof text), per_event(stats, model->bytes));
}

static int compare_kinds(const void *left, const void *right) {
    const uint64_t *a = left, *b = right;
    if (a[0] != b[0]) return a[0] > b[0] ? -1 : 1;
    return a[1] < b[1] ? -1 : a[1] > b[1];
}

static void print_kinds(const struct stats *stats) {
    uint64_t order[HD_EV_KINDS][2];
    unsigned used = 0;
    for (unsigned kind = 0; kind < HD_EV_KINDS; kind++) {
        if (stats->summary.kinds[kind] == 0) continue;
        order[used][0] = stats->summary.kinds[kind];
        order[used++][1] = kind;
    }
    if (used == 0) return;
    qsort(order, used, sizeof *order, compare_kinds);
    printf("\n    events          kind\n");
    for (unsigned i = 0; i < used; i++) {
        unsigned kind = (unsigned)order[i][1];
        printf("%10llu %5.1f %%  %-9s  %s\n", (unsigned long long)order[i][0],
               100.0 * (double)order[i][0] / stats->model.events, operation(kind),
               hd_kind_name(kind));
    }
}

static void print_lists(const struct stats *stats) {
    const struct hd_summary *summary = &stats->summary;
    if (summary->thread_uses > 0) printf("\n    events  hook calls  thread\n");
    for (uint32_t i = 0; i < summary->thread_uses; i++) {
        const struct hd_thread_use *use = &summary->thread_use[i];
        printf("%10u %11llu  %s\n", use->events, (unsigned long long)use->calls,
               hd_describe_thread(stats->describe, use->thread));
    }
    if (summary->lock_uses > 0)
        printf("\n  sections  threads  handovers  failed tries  longest  lock\n");
    for (uint32_t i = 0; i < summary->lock_uses; i++) {
        const struct hd_lock_summary *use = &summary->lock_use[i];
        printf("%10u %8u %10u %13u %8u  %s", use->sections, use->threads, use->handovers,
               use->failed, use->longest, hd_describe_lock(stats->describe, use->lock, HD_LONG));
        if (use->read_sections > 0) printf(", %u sections for reading", use->read_sections);
        printf("%s\n", use->held_at_end ? ", held at the end" : "");
    }
    if (summary->location_uses > 0)
        printf("\n  accesses    reads   writes  threads  shared location\n");
    for (uint32_t i = 0; i < summary->location_uses; i++) {
        const struct hd_location_use *use = &summary->location_use[i];
        printf("%10u %8u %8u %8u  %s\n", use->accesses, use->reads, use->writes, use->threads,
               hd_describe_location(stats->describe, use->location, HD_LONG));
    }
}

static void print_text(const struct stats *stats) {
    print_run(stats);
    print_counts(stats);
    print_kinds(stats);
    print_lists(stats);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *json_end(const struct hd_trace_end *end) {
    char text[128];
    json_t *object = json_object();
    const char *how = end->exited ? "exited" : end->signaled ? "signaled" : "unknown";
    json_object_set_new(object, "how", json_string(how));
    json_object_set_new(object, "status",
                        end->exited || end->signaled ? json_integer(end->status) : json_null());
    json_object_set_new(object, "deadlocked", json_boolean(end->deadlocked));
    json_object_set_new(object, "lost_events", hd_json_number(end->lost_events));
    json_object_set_new(object, "text", hd_json_text_or_null(ending(end, text, sizeof text)));
    return object;
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

static json_t *json_threads(const struct stats *stats) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < stats->summary.thread_uses; i++) {
        const struct hd_thread_use *use = &stats->summary.thread_use[i];
        json_t *object = json_object();
        json_object_set_new(object, "thread",
                            hd_json_text_or_null(hd_describe_thread(stats->describe, use->thread)));
        json_object_set_new(object, "events", hd_json_number(use->events));
        json_object_set_new(object, "hook_calls", hd_json_number(use->calls));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *json_locks(const struct stats *stats) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < stats->summary.lock_uses; i++) {
        const struct hd_lock_summary *use = &stats->summary.lock_use[i];
        json_t *object = json_object();
        json_object_set_new(
            object, "lock",
            hd_json_text_or_null(hd_describe_lock(stats->describe, use->lock, HD_SHORT)));
        json_object_set_new(object, "sections", hd_json_number(use->sections));
        json_object_set_new(object, "read_sections", hd_json_number(use->read_sections));
        json_object_set_new(object, "threads", hd_json_number(use->threads));
        json_object_set_new(object, "handovers", hd_json_number(use->handovers));
        json_object_set_new(object, "failed_tries", hd_json_number(use->failed));
        json_object_set_new(object, "longest", hd_json_number(use->longest));
        json_object_set_new(object, "held_at_end", json_boolean(use->held_at_end));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *json_locations(const struct stats *stats) {
    json_t *list = json_array();
    for (uint32_t i = 0; i < stats->summary.location_uses; i++) {
        const struct hd_location_use *use = &stats->summary.location_use[i];
        json_t *object = json_object();
        const char *name = hd_describe_location(stats->describe, use->location, HD_SHORT);
        json_object_set_new(object, "variable", hd_json_text_or_null(name));
        json_object_set_new(object, "accesses", hd_json_number(use->accesses));
        json_object_set_new(object, "reads", hd_json_number(use->reads));
        json_object_set_new(object, "writes", hd_json_number(use->writes));
        json_object_set_new(object, "threads", hd_json_number(use->threads));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *json_run(const struct hd_trace *trace) {
    json_t *object = json_object();
    const char *scheduler = scheduler_name(trace);
    json_object_set_new(object, "command", hd_json_text_or_null(trace->command));
    json_object_set_new(object, "scheduler", hd_json_text_or_null(scheduler));
    if (scheduler != NULL && trace->options.scheduler == HD_SCHED_SERIAL) {
        json_object_set_new(object, "policy", json_string(policy_name(trace)));
        json_object_set_new(object, "seed", hd_json_number(trace->options.seed));
        json_object_set_new(object, "quantum", hd_json_number(trace->options.quantum));
    }
    json_object_set_new(object, "full", json_boolean(trace->options.full != 0));
    return object;
}

static json_t *json_warnings(const struct stats *stats) {
    json_t *list = json_array();
    const struct hd_trace *trace = stats->model.trace;
    for (uint32_t i = 0; i < trace->warnings; i++)
        json_array_append_new(list, hd_json_text_or_null(trace->warning[i]));
    for (uint32_t i = 0; i < stats->model.warnings; i++)
        json_array_append_new(list, hd_json_text_or_null(stats->model.warning[i]));
    return list;
}

static json_t *json_stats(const struct stats *stats) {
    const struct hd_model *model = &stats->model;
    const struct hd_summary *summary = &stats->summary;
    const struct hd_trace *trace = model->trace;
    json_t *object = json_object();
    json_object_set_new(object, "schema", json_string("heddle-stats/1"));
    json_object_set_new(object, "trace", hd_json_text_or_null(stats->path));
    json_object_set_new(object, "format", json_string(format_name(trace->format)));
    json_object_set_new(object, "whole", json_boolean(trace->end.whole));
    json_object_set_new(object, "missing", hd_json_text_or_null(trace->end.missing));
    json_object_update_new(object, json_run(trace));
    json_object_set_new(object, "end", json_end(&trace->end));
    json_object_set_new(object, "events", hd_json_number(model->events));
    json_object_set_new(object, "hook_calls", hd_json_number(trace->hook_calls));
    json_object_set_new(object, "elided", hd_json_number(summary->elided));
    json_object_set_new(object, "threads", hd_json_number(model->threads));
    json_object_set_new(object, "locations", hd_json_number(model->locations));
    json_object_set_new(object, "shared_locations", hd_json_number(summary->shared_locations));
    json_object_set_new(object, "blocks", hd_json_number(model->blocks));
    json_object_set_new(object, "blocks_by_type",
                        json_counts(summary->block_types, HD_BLOCK_TYPES, block_name));
    json_object_set_new(object, "locks", hd_json_number(model->locks));
    json_object_set_new(object, "sections", hd_json_number(model->sections));
    json_object_set_new(object, "open_sections", hd_json_number(summary->open_sections));
    json_object_set_new(object, "deepest_nesting", hd_json_number(summary->deepest_nesting));
    json_object_set_new(object, "edges", hd_json_number(model->edges));
    json_object_set_new(object, "edges_by_type",
                        json_counts(summary->edge_types, HD_EDGE_TYPES, edge_name));
    json_object_set_new(object, "sites", hd_json_number(summary->sites));
    json_object_set_new(object, "stacks", hd_json_number(summary->stacks));
    json_object_set_new(object, "file_bytes", hd_json_number(trace->file_bytes));
    json_object_set_new(object, "stored_bytes", hd_json_number(trace->stored_bytes));
    json_object_set_new(object, "bytes_per_event",
                        json_real(per_event(stats, trace->stored_bytes)));
    json_object_set_new(object, "load_seconds",
                        json_real(stats->read_seconds + stats->model_seconds));
    json_object_set_new(object, "read_seconds", json_real(stats->read_seconds));
    json_object_set_new(object, "model_seconds", json_real(stats->model_seconds));
    json_object_set_new(object, "model_bytes", hd_json_number(model->bytes));
    json_object_set_new(object, "model_bytes_per_event", json_real(per_event(stats, model->bytes)));
    json_object_set_new(object, "kinds", json_kinds(summary));
    json_object_set_new(object, "top_threads", json_threads(stats));
    json_object_set_new(object, "top_locks", json_locks(stats));
    json_object_set_new(object, "top_locations", json_locations(stats));
    json_object_set_new(object, "warnings", json_warnings(stats));
    return object;
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool load(struct stats *stats, uint32_t top, struct hd_error *error) {
    struct hd_trace trace;
    struct hd_model_options options = {.lenient = true};
    double start = hd_seconds_now();
    if (!hd_trace_load(stats->path, NULL, &trace, error)) return false;
    double read = hd_seconds_now();
    if (!hd_model_build(&trace, &options, &stats->model, error)) return false;
    stats->read_seconds = read - start;
    stats->model_seconds = hd_seconds_now() - read;
    hd_summary_build(&stats->model, top, &stats->summary);
    stats->describe = hd_describe_open(&stats->model);
    return true;
}

/* What was said about the trace itself is in the JSON already. */
static void warn_about(const struct stats *stats, bool json) {
    const struct hd_trace *trace = stats->model.trace;
    for (uint32_t i = 0; !json && i < trace->warnings; i++)
        hd_warn(COMMAND, "%s", trace->warning[i]);
    for (uint32_t i = 0; !json && i < stats->model.warnings; i++)
        hd_warn(COMMAND, "%s", stats->model.warning[i]);
    const char *const *line;
    uint32_t lines = hd_describe_warnings(stats->describe, &line);
    for (uint32_t i = 0; i < lines; i++) hd_warn(COMMAND, "%s", line[i]);
}

static void unload(struct stats *stats) {
    hd_describe_close(stats->describe);
    hd_summary_free(&stats->summary);
    hd_model_free(&stats->model);
}

static void print_json(json_t *list, bool single) {
    size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(6);
    if (json_array_size(list) > 0 || !single) {
        json_dumpf(single ? json_array_get(list, 0) : list, stdout, flags);
        putchar('\n');
    }
}

int hd_cmd_stats(int argc, char **argv) {
    unsigned format = FORMAT_TEXT;
    uint64_t top = 10;
    struct hd_option options[] = {
        HD_CHOICE("format", 0, "F", &format, "text|json",
                  "a page to read, or a JSON object (an array of them for several traces)"),
        HD_NUMBER("top", 'n', "N", &top, 0, UINT32_MAX,
                  "list the N threads, locks and shared locations most in use (default 10)"),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "TRACE...",
        .about =
            "Sums traces up: how the run ended, threads, events by kind, memory locations and\n"
            "how many of them threads share, locks and how they are used, size in the file\n"
            "and in memory. TRACE is a file of any format heddle reads, or - for standard\n"
            "input.\n",
        .example = "  heddle stats app.hdt\n"
                   "  heddle stats --format json --top 3 app.hdt\n",
        .options = options,
        .least = 1,
        .most = -1};
    int first, status;
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    bool json = format == FORMAT_JSON, single = argc - first == 1;
    json_t *list = json ? json_array() : NULL;
    status = HD_EXIT_CLEAN;
    for (int i = first; i < argc; i++) {
        struct stats stats = {.path = argv[i]};
        struct hd_error error;
        if (!load(&stats, (uint32_t)top, &error)) {
            status = hd_complain_error(COMMAND, &error);
            continue;
        }
        if (json)
            json_array_append_new(list, json_stats(&stats));
        else {
            if (i > first) printf("\n");
            print_text(&stats);
        }
        fflush(stdout);
        warn_about(&stats, json);
        unload(&stats);
    }
    if (json) print_json(list, single);
    json_decref(list);
    if (!hd_finish_output(COMMAND)) status = HD_EXIT_FAILED;
    return status;
}
