/* What OA, UA, AVFilter and the exact engine make of the same triples, as a table and as JSON. */
#include "cli/atomicity_tables.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

#define LISTED_TRIPLES 60 /* the table of triples is for traces that a person can oversee */

static const char *mark(uint8_t verdict) {
    static const char *const word[] = {
        [HD_INFEASIBLE] = "-", [HD_FEASIBLE] = "yes", [HD_UNDECIDED] = "?", [HD_POSSIBLE] = "yes?"};
    return word[verdict];
}

static void place(struct hd_describe *describe, uint32_t event, char text[64]) {
    const char *site = hd_describe_site(describe, event);
    const char *slash = strrchr(site, '/');
    if (*site != '\0')
        snprintf(text, 64, "%s", slash != NULL ? slash + 1 : site);
    else
        snprintf(text, 64, "event %u", event);
}

static void print_triples(const struct hd_atomicity_comparison *comparison,
                          struct hd_describe *describe) {
    int width[4] = {8, 5, 6, 6};
    char text[64];
    for (unsigned pass = 0; pass < 2; pass++) { /* first for the widths */
        if (pass == 1) {
            printf("\n%-*s  %-7s  %-*s  %-*s  %-*s", width[0], "variable", "pattern", width[1],
                   "first", width[2], "remote", width[3], "second");
            for (unsigned m = 0; m < HD_ATOMICITY_COMPARED; m++)
                printf("  %-9s", comparison->method[m].engine);
            putchar('\n');
        }
        for (size_t i = 0; i < comparison->group.size; i++) {
            const struct hd_atomicity_compared_group *group = &comparison->group.data[i];
            const struct hd_triple *triple = &group->triple;
            uint32_t event[3] = {triple->first, triple->remote, triple->second};
            const char *name = hd_describe_location(describe, triple->location, HD_SHORT);
            if (pass == 0 && (int)strlen(name) > width[0]) width[0] = (int)strlen(name);
            if (pass == 1) printf("%-*s  %-7s", width[0], name, hd_pattern_name(group->pattern));
            for (unsigned k = 0; k < 3; k++) {
                place(describe, event[k], text);
                if (pass == 0 && (int)strlen(text) > width[1 + k]) width[1 + k] = (int)strlen(text);
                if (pass == 1) printf("  %-*s", width[1 + k], text);
            }
            if (pass == 0) continue;
            for (unsigned m = 0; m < HD_ATOMICITY_COMPARED; m++)
                printf("  %-9s", mark(group->verdict[m]));
            printf("%s\n", group->observed ? "  seen in this run" : "");
        }
    }
}

void hd_print_atomicity_comparison(const struct hd_atomicity_comparison *comparison,
                                   const struct hd_predict *predict, const char *path) {
    printf("%s: %u events, %u threads; %zu candidate triples of sites, %llu of them seen in this "
           "run\n\n",
           path, predict->model->events, predict->model->threads, comparison->group.size,
           (unsigned long long)comparison->observed);
    printf("engine      kept  false   lost  undecided     checks   seconds\n");
    for (unsigned m = 0; m < HD_ATOMICITY_COMPARED; m++) {
        const struct hd_atomicity_compared *method = &comparison->method[m];
        printf("%-9s %6llu %6llu %6llu %10llu %10llu %9.4f\n", method->engine,
               (unsigned long long)method->kept, (unsigned long long)method->wrong,
               (unsigned long long)method->lost, (unsigned long long)method->undecided,
               (unsigned long long)method->checks, method->seconds);
    }
    printf("kept: reported; false: reported, but infeasible; lost: feasible, but not reported (by "
           "%s)\n",
           comparison->method[HD_ATOMICITY_COMPARED - 1].engine);
    if (comparison->group.size > LISTED_TRIPLES && !predict->options.all)
        printf("\n--all lists the triples\n");
    else if (comparison->group.size > 0)
        print_triples(comparison, predict->describe);
}

static json_t *json_triple(const struct hd_atomicity_comparison *comparison,
                           const struct hd_atomicity_compared_group *group,
                           struct hd_describe *describe) {
    static const char *const verdict[] = {"infeasible", "feasible", "undecided", "possible"};
    json_t *object = json_object(), *events = json_array();
    json_object_set_new(
        object, "variable",
        hd_json_text(hd_describe_location(describe, group->triple.location, HD_SHORT)));
    json_object_set_new(object, "pattern", hd_json_text(hd_pattern_name(group->pattern)));
    json_array_append_new(events, hd_json_number(group->triple.first));
    json_array_append_new(events, hd_json_number(group->triple.remote));
    json_array_append_new(events, hd_json_number(group->triple.second));
    json_object_set_new(object, "events", events);
    json_object_set_new(object, "observed", json_boolean(group->observed));
    for (unsigned m = 0; m < HD_ATOMICITY_COMPARED; m++)
        json_object_set_new(object, comparison->method[m].engine,
                            json_string(verdict[group->verdict[m]]));
    return object;
}

void hd_print_atomicity_comparison_json(const struct hd_atomicity_comparison *comparison,
                                        const struct hd_predict *predict, const char *path) {
    json_t *root = json_object(), *engines = json_array(), *triples = json_array();
    json_object_set_new(root, "schema", json_string("heddle-compare/1"));
    json_object_set_new(root, "kind", json_string("atomicity"));
    json_object_set_new(root, "trace", hd_json_text(path));
    json_object_set_new(root, "threads", hd_json_number(predict->model->threads));
    json_object_set_new(root, "events", hd_json_number(predict->model->events));
    json_object_set_new(root, "observed", hd_json_number(comparison->observed));
    for (unsigned m = 0; m < HD_ATOMICITY_COMPARED; m++) {
        const struct hd_atomicity_compared *method = &comparison->method[m];
        json_t *object = json_object();
        json_object_set_new(object, "engine", hd_json_text(method->engine));
        json_object_set_new(object, "kept", hd_json_number(method->kept));
        json_object_set_new(object, "false", hd_json_number(method->wrong));
        json_object_set_new(object, "lost", hd_json_number(method->lost));
        json_object_set_new(object, "undecided", hd_json_number(method->undecided));
        json_object_set_new(object, "checks", hd_json_number(method->checks));
        json_object_set_new(object, "seconds", json_real(method->seconds));
        json_array_append_new(engines, object);
    }
    for (size_t i = 0; i < comparison->group.size; i++)
        json_array_append_new(
            triples, json_triple(comparison, &comparison->group.data[i], predict->describe));
    json_object_set_new(root, "engines", engines);
    json_object_set_new(root, "triples", triples);
    json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(root);
}
