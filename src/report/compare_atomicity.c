/* What OA, UA, AVFilter and the exact engine make of the same triples, as a table and as JSON. */
#include "base/json.h"
#include "report/page.h"
#include "report/tables.h"

#include <string.h>

#define LISTED_TRIPLES 60 /* the table of triples is for traces that a person can oversee */

static const char *mark(uint8_t verdict) {
    static const char *const word[] = {
        [HD_INFEASIBLE] = "-", [HD_FEASIBLE] = "yes", [HD_UNDECIDED] = "?", [HD_POSSIBLE] = "yes?"};
    return word[verdict];
}

static void print_triples(FILE *out, const struct hd_atomicity_comparison *comparison,
                          struct hd_describe *describe) {
    int width[4] = {8, 5, 6, 6};
    char text[64];
    for (unsigned pass = 0; pass < 2; pass++) { /* first for the widths */
        if (pass == 1) {
            fprintf(out, "\n%-*s  %-7s  %-*s  %-*s  %-*s", width[0], "variable", "pattern",
                    width[1], "first", width[2], "remote", width[3], "second");
            for (unsigned m = 0; m < HD_ATOMICITY_COMPARED; m++)
                fprintf(out, "  %-9s", comparison->method[m].engine);
            fputc('\n', out);
        }
        for (size_t i = 0; i < comparison->group.size; i++) {
            const struct hd_atomicity_compared_group *group = &comparison->group.data[i];
            const struct hd_triple *triple = &group->triple;
            uint32_t event[3] = {triple->first, triple->remote, triple->second};
            const char *name = hd_describe_location(describe, triple->location, HD_SHORT);
            if (pass == 0 && (int)strlen(name) > width[0]) width[0] = (int)strlen(name);
            if (pass == 1)
                fprintf(out, "%-*s  %-7s", width[0], name, hd_pattern_name(group->pattern));
            for (unsigned k = 0; k < 3; k++) {
                hd_page_place(describe, event[k], true, text, sizeof text);
                if (pass == 0 && (int)strlen(text) > width[1 + k]) width[1 + k] = (int)strlen(text);
                if (pass == 1) fprintf(out, "  %-*s", width[1 + k], text);
            }
            if (pass == 0) continue;
            for (unsigned m = 0; m < HD_ATOMICITY_COMPARED; m++)
                fprintf(out, "  %-9s", mark(group->verdict[m]));
            fprintf(out, "%s\n", group->observed ? "  seen in this run" : "");
        }
    }
}

void hd_table_atomicity(FILE *out, const struct hd_atomicity_comparison *comparison,
                        const struct hd_predict *predict, const char *path) {
    const struct hd_model *model = predict->model;
    fprintf(
        out,
        "%s: %u event%s, %u thread%s; %zu candidate triple%s of sites, %llu of them seen in this "
        "run\n\n",
        path, model->events, hd_page_plural(model->events), model->threads,
        hd_page_plural(model->threads), comparison->group.size,
        hd_page_plural(comparison->group.size), (unsigned long long)comparison->observed);
    fprintf(out, "engine      kept  false   lost  undecided     checks   seconds\n");
    for (unsigned m = 0; m < HD_ATOMICITY_COMPARED; m++) {
        const struct hd_atomicity_compared *method = &comparison->method[m];
        fprintf(out, "%-9s %6llu %6llu %6llu %10llu %10llu %9.4f\n", method->engine,
                (unsigned long long)method->kept, (unsigned long long)method->wrong,
                (unsigned long long)method->lost, (unsigned long long)method->undecided,
                (unsigned long long)method->checks, method->seconds);
    }
    fprintf(out,
            "kept: reported; false: reported, but infeasible; lost: feasible, but not reported (by "
            "%s)\n",
            comparison->method[HD_ATOMICITY_COMPARED - 1].engine);
    if (comparison->group.size > LISTED_TRIPLES && !predict->options.all)
        fprintf(out, "\n--all lists the triples\n");
    else if (comparison->group.size > 0)
        print_triples(out, comparison, predict->describe);
}

static json_t *json_triple(const struct hd_atomicity_comparison *comparison,
                           const struct hd_atomicity_compared_group *group,
                           struct hd_describe *describe) {
    const struct hd_triple *triple = &group->triple;
    json_t *object =
        json_pack("{s:o, s:s, s:[I, I, I], s:b}", "variable",
                  hd_json_text(hd_describe_location(describe, triple->location, HD_SHORT)),
                  "pattern", hd_pattern_name(group->pattern), "events", HD_INT(triple->first),
                  HD_INT(triple->remote), HD_INT(triple->second), "observed", group->observed);
    for (unsigned m = 0; m < HD_ATOMICITY_COMPARED; m++)
        json_object_set_new(object, comparison->method[m].engine,
                            json_string(hd_finding_verdict_name(group->verdict[m])));
    return object;
}

void hd_table_atomicity_json(FILE *out, const struct hd_atomicity_comparison *comparison,
                             const struct hd_predict *predict, const char *path) {
    json_t *engines = json_array(), *triples = json_array();
    for (unsigned m = 0; m < HD_ATOMICITY_COMPARED; m++) {
        const struct hd_atomicity_compared *method = &comparison->method[m];
        json_array_append_new(
            engines, json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:f}", "engine", method->engine,
                               "kept", HD_INT(method->kept), "false", HD_INT(method->wrong), "lost",
                               HD_INT(method->lost), "undecided", HD_INT(method->undecided),
                               "checks", HD_INT(method->checks), "seconds", method->seconds));
    }
    for (size_t i = 0; i < comparison->group.size; i++)
        json_array_append_new(
            triples, json_triple(comparison, &comparison->group.data[i], predict->describe));
    hd_report_json_value(
        out, json_pack("{s:s, s:s, s:o, s:I, s:I, s:I, s:o, s:o}", "schema", "heddle-compare/1",
                       "kind", "atomicity", "trace", hd_json_text(path), "threads",
                       HD_INT(predict->model->threads), "events", HD_INT(predict->model->events),
                       "observed", HD_INT(comparison->observed), "engines", engines, "triples",
                       triples));
}
