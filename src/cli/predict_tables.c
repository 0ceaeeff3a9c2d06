/* heddle predict --compare and --stats. */
#include "cli/predict_tables.h"

#include "base/json.h"

#include <string.h>

#define LISTED_PAIRS 60 /* the table of pairs is for traces that a person can oversee */

/* ---- the trace in the paper's columns ---------------------------------------------------------
 */

struct figures {
    uint32_t threads, locks, conditions, variables, events;
    uint32_t lock_events, condition_events, reads, writes;
};

static struct figures count(const struct hd_model *model) {
    struct figures f = {.threads = model->threads, .locks = model->locks, .events = model->events};
    for (uint32_t i = 0; i < model->objects; i++)
        f.conditions += model->sync_object[i].type == HD_OBJECT_COND;
    for (uint32_t i = 0; i < model->locations; i++) f.variables += model->location[i].shared;
    for (uint32_t e = 0; e < model->events; e++) {
        enum hd_event_kind kind = model->kind[e];
        f.lock_events += hd_kind_class(kind) == HD_CLASS_LOCK;
        f.condition_events += kind == HD_EV_SIGNAL || kind == HD_EV_BROADCAST || kind == HD_EV_WAIT;
        f.reads += hd_model_is_read(model, e);
        f.writes += hd_model_is_write(model, e);
    }
    return f;
}

/* A time with as many digits as it deserves. */
static const char *duration(double seconds, char text[32]) {
    if (seconds < 1e-3)
        snprintf(text, 32, "%.1f us", seconds * 1e6);
    else if (seconds < 1)
        snprintf(text, 32, "%.1f ms", seconds * 1e3);
    else
        snprintf(text, 32, "%.2f s", seconds);
    return text;
}

static const char *plural(uint32_t number) { return number == 1 ? "" : "s"; }

/* ---- the comparison ---------------------------------------------------------------------------
 */

static const char *mark(uint8_t verdict) {
    static const char *const word[] = {[HD_INFEASIBLE] = "-",
                                       [HD_FEASIBLE] = "race",
                                       [HD_UNDECIDED] = "?",
                                       [HD_POSSIBLE] = "race?"};
    return word[verdict];
}

static void place(struct hd_describe *describe, uint32_t event, char text[64]) {
    const char *site = hd_describe_site(describe, event);
    if (*site != '\0')
        snprintf(text, 64, "%s", site);
    else
        snprintf(text, 64, "event %u", event);
}

static void print_pairs(const struct hd_comparison *comparison, const struct hd_predict *predict) {
    struct hd_describe *describe = predict->describe;
    int width[3] = {8, 5, 6};
    char text[64];
    for (size_t i = 0; i < comparison->group.size; i++) {
        const struct hd_conflict *pair = &comparison->group.data[i].pair;
        int wide = (int)strlen(hd_describe_location(describe, pair->location, HD_SHORT));
        if (wide > width[0]) width[0] = wide < 30 ? wide : 30;
        for (unsigned k = 0; k < 2; k++) {
            place(describe, pair->event[k], text);
            wide = (int)strlen(text);
            if (wide > width[1 + k]) width[1 + k] = wide;
        }
    }
    printf("\n%-*s  %-*s  %-*s", width[0], "variable", width[1], "first", width[2], "second");
    for (unsigned m = 0; m < HD_COMPARED; m++) printf("  %-9s", comparison->method[m].engine);
    printf("\n");
    for (size_t i = 0; i < comparison->group.size; i++) {
        const struct hd_compared_group *group = &comparison->group.data[i];
        unsigned first = group->pair.event[0] < group->pair.event[1] ? 0 : 1;
        printf("%-*s", width[0], hd_describe_location(describe, group->pair.location, HD_SHORT));
        place(describe, group->pair.event[first], text);
        printf("  %-*s", width[1], text);
        place(describe, group->pair.event[1 - first], text);
        printf("  %-*s", width[2], text);
        for (unsigned m = 0; m < HD_COMPARED; m++)
            printf(m + 1 < HD_COMPARED ? "  %-9s" : "  %s", mark(group->verdict[m]));
        printf("\n");
    }
}

void hd_print_comparison(const struct hd_comparison *comparison, const struct hd_predict *predict,
                         const char *path) {
    struct figures f = count(predict->model);
    char each[32], total[32];
    printf("%s: %u thread%s, %u lock%s, %u condition variable%s, %u shared variable%s\n", path,
           f.threads, plural(f.threads), f.locks, plural(f.locks), f.conditions,
           plural(f.conditions), f.variables, plural(f.variables));
    printf("%u event%s: %u of locks, %u of condition variables, %u access%s (%u reads, %u "
           "writes)\n\n",
           f.events, plural(f.events), f.lock_events, f.condition_events, f.reads + f.writes,
           f.reads + f.writes == 1 ? "" : "es", f.reads, f.writes);
    printf("engine     races  undecided     checks   time/check  total time\n");
    for (unsigned m = 0; m < HD_COMPARED; m++) {
        const struct hd_compared *method = &comparison->method[m];
        printf("%-9s %6llu %10llu %10llu %12s %11s\n", method->engine,
               (unsigned long long)method->races, (unsigned long long)method->undecided,
               (unsigned long long)method->checks, duration(method->check_seconds, each),
               duration(method->seconds, total));
    }
    if (comparison->group.size > LISTED_PAIRS && !predict->options.all)
        printf("\n%zu pairs of sites; --all lists them\n", comparison->group.size);
    else if (comparison->group.size > 0)
        print_pairs(comparison, predict);
}

void hd_print_comparison_json(const struct hd_comparison *comparison,
                              const struct hd_predict *predict, const char *path) {
    static const char *const verdict[] = {"infeasible", "feasible", "undecided", "possible"};
    struct figures f = count(predict->model);
    json_t *root = json_object(), *engines = json_array(), *pairs = json_array();
    json_object_set_new(root, "schema", json_string("heddle-compare/1"));
    json_object_set_new(root, "trace", hd_json_text(path));
    json_object_set_new(root, "threads", hd_json_number(f.threads));
    json_object_set_new(root, "locks", hd_json_number(f.locks));
    json_object_set_new(root, "conditions", hd_json_number(f.conditions));
    json_object_set_new(root, "variables", hd_json_number(f.variables));
    json_object_set_new(root, "events", hd_json_number(f.events));
    json_object_set_new(root, "lock_events", hd_json_number(f.lock_events));
    json_object_set_new(root, "condition_events", hd_json_number(f.condition_events));
    json_object_set_new(root, "reads", hd_json_number(f.reads));
    json_object_set_new(root, "writes", hd_json_number(f.writes));
    for (unsigned m = 0; m < HD_COMPARED; m++) {
        const struct hd_compared *method = &comparison->method[m];
        json_t *object = json_object();
        json_object_set_new(object, "engine", hd_json_text(method->engine));
        json_object_set_new(object, "races", hd_json_number(method->races));
        json_object_set_new(object, "undecided", hd_json_number(method->undecided));
        json_object_set_new(object, "checks", hd_json_number(method->checks));
        json_object_set_new(object, "seconds", json_real(method->seconds));
        json_object_set_new(object, "seconds_per_check", json_real(method->check_seconds));
        json_array_append_new(engines, object);
    }
    for (size_t i = 0; i < comparison->group.size; i++) {
        const struct hd_compared_group *group = &comparison->group.data[i];
        json_t *object = json_object(), *events = json_array();
        json_object_set_new(
            object, "variable",
            hd_json_text(hd_describe_location(predict->describe, group->pair.location, HD_SHORT)));
        unsigned first = group->pair.event[0] < group->pair.event[1] ? 0 : 1;
        json_array_append_new(events, hd_json_number(group->pair.event[first]));
        json_array_append_new(events, hd_json_number(group->pair.event[1 - first]));
        json_object_set_new(object, "events", events);
        for (unsigned m = 0; m < HD_COMPARED; m++)
            json_object_set_new(object, comparison->method[m].engine,
                                json_string(verdict[group->verdict[m]]));
        json_array_append_new(pairs, object);
    }
    json_object_set_new(root, "engines", engines);
    json_object_set_new(root, "pairs", pairs);
    json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(root);
}

/* ---- statistics -------------------------------------------------------------------------------
 */

void hd_print_predict_stats(FILE *out, enum hd_finding_kind kind,
                            const struct hd_predict_stats *stats) {
    static const char *const rung[] = {
#define X(name, text) text,
        HD_RUNGS(X)
#undef X
    };
    char text[32];
    fprintf(out, "\n%s: %llu candidate %ss of sites, %llu of them ordered in every instance\n",
            hd_finding_kind_name(kind), (unsigned long long)stats->groups,
            hd_finding_candidate_name(kind), (unsigned long long)stats->ordered);
    fprintf(out, "questions asked %llu; %llu more settled by another's answer\n",
            (unsigned long long)stats->checks, (unsigned long long)stats->dominated);
    if (stats->engine.queries > 0) {
        fprintf(out, "\n  feasible  infeasible  decided by\n");
        for (unsigned i = 0; i < HD_RUNG_COUNT; i++)
            fprintf(out, "%10llu %11llu  %s\n", (unsigned long long)stats->engine.feasible[i],
                    (unsigned long long)stats->engine.infeasible[i], rung[i]);
        fprintf(out, "%10s %11llu  undecided\n", "", (unsigned long long)stats->engine.undecided);
        fprintf(out, "\nchoices %llu, backtracks %llu, %s a query\n",
                (unsigned long long)stats->engine.choices,
                (unsigned long long)stats->engine.backtracks,
                duration((double)stats->engine.nanoseconds * 1e-9 / (double)stats->engine.queries,
                         text));
        fprintf(out, "witnesses checked %llu, %llu events in all\n",
                (unsigned long long)stats->witnesses, (unsigned long long)stats->witness_events);
    }
    fprintf(out, "time: candidates %.3f s, preparation %.3f s, decisions %.3f s",
            stats->candidate_seconds, stats->prepare_seconds, stats->decide_seconds);
    fprintf(out, " (%u thread%s), findings %.3f s\n", stats->jobs, stats->jobs == 1 ? "" : "s",
            stats->report_seconds);
}
