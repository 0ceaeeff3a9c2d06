/* What each method says about the same pairs, as a table and as JSON. */
#include "base/json.h"
#include "report/page.h"
#include "report/tables.h"

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

/* ---- the comparison ---------------------------------------------------------------------------
 */

static const char *mark(uint8_t verdict) {
    static const char *const word[] = {[HD_INFEASIBLE] = "-",
                                       [HD_FEASIBLE] = "race",
                                       [HD_UNDECIDED] = "?",
                                       [HD_POSSIBLE] = "race?"};
    return word[verdict];
}

static void print_pairs(FILE *out, const struct hd_comparison *comparison,
                        const struct hd_predict *predict) {
    struct hd_describe *describe = predict->describe;
    int width[3] = {8, 5, 6};
    char text[64];
    for (size_t i = 0; i < comparison->group.size; i++) {
        const struct hd_conflict *pair = &comparison->group.data[i].pair;
        int wide = (int)strlen(hd_describe_location(describe, pair->location, HD_SHORT));
        if (wide > width[0]) width[0] = wide < 30 ? wide : 30;
        for (unsigned k = 0; k < 2; k++) {
            hd_page_place(describe, pair->event[k], false, text, sizeof text);
            wide = (int)strlen(text);
            if (wide > width[1 + k]) width[1 + k] = wide;
        }
    }
    fprintf(out, "\n%-*s  %-*s  %-*s", width[0], "variable", width[1], "first", width[2], "second");
    for (unsigned m = 0; m < HD_COMPARED; m++) fprintf(out, "  %-9s", comparison->method[m].engine);
    fprintf(out, "\n");
    for (size_t i = 0; i < comparison->group.size; i++) {
        const struct hd_compared_group *group = &comparison->group.data[i];
        unsigned first = group->pair.event[0] < group->pair.event[1] ? 0 : 1;
        fprintf(out, "%-*s", width[0],
                hd_describe_location(describe, group->pair.location, HD_SHORT));
        hd_page_place(describe, group->pair.event[first], false, text, sizeof text);
        fprintf(out, "  %-*s", width[1], text);
        hd_page_place(describe, group->pair.event[1 - first], false, text, sizeof text);
        fprintf(out, "  %-*s", width[2], text);
        for (unsigned m = 0; m < HD_COMPARED; m++)
            fprintf(out, m + 1 < HD_COMPARED ? "  %-9s" : "  %s", mark(group->verdict[m]));
        fprintf(out, "\n");
    }
}

void hd_table_races(FILE *out, const struct hd_comparison *comparison,
                    const struct hd_predict *predict, const char *path) {
    struct figures f = count(predict->model);
    char each[32], total[32];
    fprintf(out, "%s: %u thread%s, %u lock%s, %u condition variable%s, %u shared variable%s\n",
            path, f.threads, hd_page_plural(f.threads), f.locks, hd_page_plural(f.locks),
            f.conditions, hd_page_plural(f.conditions), f.variables, hd_page_plural(f.variables));
    fprintf(out,
            "%u event%s: %u of locks, %u of condition variables, %u access%s (%u reads, %u "
            "writes)\n\n",
            f.events, hd_page_plural(f.events), f.lock_events, f.condition_events,
            f.reads + f.writes, f.reads + f.writes == 1 ? "" : "es", f.reads, f.writes);
    fprintf(out, "engine     races  undecided     checks   time/check  total time\n");
    for (unsigned m = 0; m < HD_COMPARED; m++) {
        const struct hd_compared *method = &comparison->method[m];
        fprintf(out, "%-9s %6llu %10llu %10llu %12s %11s\n", method->engine,
                (unsigned long long)method->races, (unsigned long long)method->undecided,
                (unsigned long long)method->checks, hd_page_duration(method->check_seconds, each),
                hd_page_duration(method->seconds, total));
    }
    if (comparison->group.size > LISTED_PAIRS && !predict->options.all)
        fprintf(out, "\n%zu pairs of sites; --all lists them\n", comparison->group.size);
    else if (comparison->group.size > 0)
        print_pairs(out, comparison, predict);
}

static json_t *json_pair(const struct hd_comparison *comparison,
                         const struct hd_compared_group *group, const struct hd_predict *predict) {
    unsigned first = group->pair.event[0] < group->pair.event[1] ? 0 : 1;
    json_t *object = json_pack(
        "{s:o, s:[I, I]}", "variable",
        hd_json_text(hd_describe_location(predict->describe, group->pair.location, HD_SHORT)),
        "events", HD_INT(hd_trace_number(predict->model->trace, group->pair.event[first])),
        HD_INT(hd_trace_number(predict->model->trace, group->pair.event[1 - first])));
    for (unsigned m = 0; m < HD_COMPARED; m++)
        json_object_set_new(object, comparison->method[m].engine,
                            json_string(hd_finding_verdict_name(group->verdict[m])));
    return object;
}

void hd_table_races_json(FILE *out, const struct hd_comparison *comparison,
                         const struct hd_predict *predict, const char *path) {
    struct figures f = count(predict->model);
    json_t *engines = json_array(), *pairs = json_array();
    for (unsigned m = 0; m < HD_COMPARED; m++) {
        const struct hd_compared *method = &comparison->method[m];
        json_array_append_new(engines, json_pack("{s:s, s:I, s:I, s:I, s:f, s:f}", "engine",
                                                 method->engine, "races", HD_INT(method->races),
                                                 "undecided", HD_INT(method->undecided), "checks",
                                                 HD_INT(method->checks), "seconds", method->seconds,
                                                 "seconds_per_check", method->check_seconds));
    }
    for (size_t i = 0; i < comparison->group.size; i++)
        json_array_append_new(pairs, json_pair(comparison, &comparison->group.data[i], predict));
    json_t *root =
        json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "schema",
                  "heddle-compare/1", "trace", hd_json_text(path), "threads", HD_INT(f.threads),
                  "locks", HD_INT(f.locks), "conditions", HD_INT(f.conditions), "variables",
                  HD_INT(f.variables), "events", HD_INT(f.events), "lock_events",
                  HD_INT(f.lock_events), "condition_events", HD_INT(f.condition_events), "reads",
                  HD_INT(f.reads), "writes", HD_INT(f.writes), "engines", engines, "pairs", pairs);
    hd_report_json_value(out, root);
}
