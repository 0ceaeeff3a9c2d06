/* What each method says about variables that belong together, as a table and as JSON. */
#include "base/json.h"
#include "report/page.h"
#include "report/tables.h"

#include <string.h>

#define LISTED_GROUPS 60 /* for traces that a person can oversee */

static const char *mark(enum hd_verdict verdict) {
    static const char *const word[] = {[HD_INFEASIBLE] = "-",
                                       [HD_FEASIBLE] = "feasible",
                                       [HD_UNDECIDED] = "?",
                                       [HD_POSSIBLE] = "possible"};
    return word[verdict];
}

/* The accesses of a group, by the last method that has some. */
static const struct hd_correlated_decision *shown(const struct hd_correlated_comparison *comparison,
                                                  size_t group) {
    for (unsigned m = HD_CORRELATED_COMPARED; m-- > 0;)
        if (comparison->decision[m][group].events > 0) return &comparison->decision[m][group];
    return NULL;
}

static const char *variable(const struct hd_correlated_comparison *comparison,
                            const struct hd_predict *predict, size_t group, int which) {
    return predict->options.correlations->variable.name
        .data[comparison->groups.group.data[group].variable[which]];
}

static void print_groups(FILE *out, const struct hd_correlated_comparison *comparison,
                         const struct hd_predict *predict) {
    for (size_t g = 0; g < comparison->groups.group.size; g++) {
        const struct hd_correlated_decision *decision = shown(comparison, g);
        if (decision == NULL) continue;
        fprintf(out, "\n%s, %s\n", variable(comparison, predict, g, 0),
                variable(comparison, predict, g, 1));
        for (uint32_t i = 0; i < decision->events; i++) {
            char place[64];
            uint32_t event = decision->event[i];
            hd_page_place(predict->describe, event, false, place, sizeof place);
            fprintf(out, "  %-4s %s %s\n",
                    hd_describe_thread(predict->describe, predict->model->thread[event]), place,
                    hd_describe_event(predict->describe, event, HD_SHORT));
        }
        for (unsigned m = 0; m < HD_CORRELATED_COMPARED; m++)
            fprintf(out, "  %s %s%s", comparison->method[m].engine,
                    mark(comparison->decision[m][g].verdict),
                    m + 1 < HD_CORRELATED_COMPARED ? "," : "\n");
    }
}

void hd_table_correlated(FILE *out, const struct hd_correlated_comparison *comparison,
                         const struct hd_predict *predict, const char *path) {
    size_t groups = comparison->groups.group.size;
    char total[32];
    fprintf(out, "%s: %u event%s, %zu group%s of functions and two variables\n\n", path,
            predict->model->events, hd_page_plural(predict->model->events), groups,
            groups == 1 ? "" : "s");
    fprintf(out, "engine      found  undecided  false   lost  total time\n");
    for (unsigned m = 0; m < HD_CORRELATED_COMPARED; m++) {
        const struct hd_correlated_compared *method = &comparison->method[m];
        fprintf(out, "%-10s %6llu %10llu %6llu %6llu %11s\n", method->engine,
                (unsigned long long)method->found, (unsigned long long)method->undecided,
                (unsigned long long)method->wrong, (unsigned long long)method->lost,
                hd_page_duration(method->seconds, total));
    }
    if (groups > LISTED_GROUPS && !predict->options.all)
        fprintf(out, "\n%zu groups; --all lists them\n", groups);
    else
        print_groups(out, comparison, predict);
}

static json_t *json_group(const struct hd_correlated_comparison *comparison,
                          const struct hd_predict *predict, size_t group) {
    const struct hd_correlated_decision *decision = shown(comparison, group);
    json_t *events = json_array();
    for (uint32_t i = 0; decision != NULL && i < decision->events; i++)
        json_array_append_new(events, json_integer(HD_INT(hd_trace_number(predict->model->trace,
                                                                          decision->event[i]))));
    json_t *object = json_pack(
        "{s:[o, o], s:o}", "variables", hd_json_text(variable(comparison, predict, group, 0)),
        hd_json_text(variable(comparison, predict, group, 1)), "events", events);
    for (unsigned m = 0; m < HD_CORRELATED_COMPARED; m++)
        json_object_set_new(object, comparison->method[m].engine,
                            json_string(hd_finding_verdict_name(
                                (enum hd_finding_verdict)comparison->decision[m][group].verdict)));
    return object;
}

void hd_table_correlated_json(FILE *out, const struct hd_correlated_comparison *comparison,
                              const struct hd_predict *predict, const char *path) {
    json_t *engines = json_array(), *groups = json_array();
    for (unsigned m = 0; m < HD_CORRELATED_COMPARED; m++) {
        const struct hd_correlated_compared *method = &comparison->method[m];
        json_array_append_new(engines,
                              json_pack("{s:s, s:I, s:I, s:I, s:I, s:f}", "engine", method->engine,
                                        "found", HD_INT(method->found), "undecided",
                                        HD_INT(method->undecided), "false", HD_INT(method->wrong),
                                        "lost", HD_INT(method->lost), "seconds", method->seconds));
    }
    for (size_t g = 0; g < comparison->groups.group.size; g++)
        json_array_append_new(groups, json_group(comparison, predict, g));
    hd_report_json_value(out, json_pack("{s:s, s:o, s:I, s:o, s:o}", "schema", "heddle-compare/1",
                                        "trace", hd_json_text(path), "events",
                                        HD_INT(predict->model->events), "engines", engines,
                                        "groups", groups));
}
