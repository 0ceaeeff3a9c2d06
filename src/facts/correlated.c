/* Rules about variables that belong together, applied to a run: see correlated.h. */
#include "facts/correlated.h"

#include "base/alloc.h"
#include "facts/patterns.h"

#include <stdlib.h>
#include <string.h>

/* ---- rules ------------------------------------------------------------------------------------
 */

static uint64_t two(uint32_t a, uint32_t b) { return (uint64_t)a << 32 | b; }

static uint32_t number_of(struct hd_correlated_rules *rules, const char *name) {
    return hd_intern(&rules->variable, name, strcspn(name, "@"));
}

void hd_correlated_add(struct hd_correlated_rules *rules, const char *x, unsigned a1, const char *y,
                       unsigned a2) {
    uint32_t first = number_of(rules, x), second = number_of(rules, y);
    if (first == second) return;
    uint32_t *bits = hd_map_slot(&rules->rule, two(first, second), 0);
    for (unsigned i = HD_DOES_READ; i <= HD_DOES_UPDATE; i++)
        for (unsigned k = HD_DOES_READ; k <= HD_DOES_UPDATE; k++)
            if ((i & a1) && (k & a2)) *bits |= 1u << (4 * i + k);
    hd_map_slot(&rules->peers, two(first, second), 1);
    hd_map_slot(&rules->peers, two(second, first), 1);
}

void hd_correlated_rules_free(struct hd_correlated_rules *rules) {
    hd_intern_free(&rules->variable);
    hd_map_free(&rules->rule);
    hd_map_free(&rules->peers);
}

bool hd_correlated_peers(const struct hd_correlated_rules *rules, uint32_t x, uint32_t y) {
    return hd_map_get(&rules->peers, two(x, y), 0) != 0;
}

static bool has_rule(const struct hd_correlated_rules *rules, uint32_t x, unsigned x_does,
                     uint32_t y, unsigned y_does) {
    return hd_map_get(&rules->rule, two(x, y), 0) >> (4 * x_does + y_does) & 1;
}

bool hd_correlated_fit(const struct hd_correlated_rules *rules, uint32_t x, unsigned x_does,
                       uint32_t y, unsigned y_does) {
    return has_rule(rules, x, x_does, y, y_does) || has_rule(rules, y, y_does, x, x_does);
}

/* ---- a run ------------------------------------------------------------------------------------
 */

static bool is_shared(const struct hd_model *model, uint32_t event) {
    const uint32_t *location;
    uint32_t count = hd_model_locations(model, event, &location);
    for (uint32_t i = 0; i < count; i++)
        if (model->location[location[i]].shared) return true;
    return false;
}

uint32_t *hd_correlated_variables(const struct hd_correlated_rules *rules,
                                  const struct hd_model *model, struct hd_describe *describe) {
    uint32_t *variable = hd_alloc(model->events, sizeof *variable);
    for (uint32_t e = 0; e < model->events; e++) {
        variable[e] = HD_NONE;
        if (hd_access_does(model, e) == 0 || !is_shared(model, e)) continue;
        const char *name = hd_describe_variable(describe, e);
        if (name != NULL) variable[e] = hd_intern_find(&rules->variable, name, strlen(name));
    }
    return variable;
}

/* The length of the struct's name in `struct::field`; 0: it is no field. */
static size_t struct_length(const char *name) {
    size_t length = 0;
    for (const char *at = name; (at = strstr(at, "::")) != NULL; at += 2)
        length = (size_t)(at - name);
    return length;
}

/* The length of what a member is a part of: "table[3]" of "table[3].empty". */
static size_t whole_length(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot != NULL ? (size_t)(dot - name) : strlen(name);
}

bool hd_correlated_same_object(const struct hd_correlated_rules *rules,
                               const struct hd_model *model, struct hd_describe *describe,
                               const uint32_t variable[2], const uint32_t location[2]) {
    const char *x = rules->variable.name.data[variable[0]];
    const char *y = rules->variable.name.data[variable[1]];
    size_t length = struct_length(x);
    if (length == 0 || length != struct_length(y) || memcmp(x, y, length) != 0) return true;
    const struct hd_location *a = &model->location[location[0]], *b = &model->location[location[1]];
    if (a->block != HD_NONE || b->block != HD_NONE) return a->block == b->block;
    const char *first = hd_describe_location(describe, location[0], HD_SHORT);
    const char *second = hd_describe_location(describe, location[1], HD_SHORT);
    size_t whole = whole_length(first);
    return whole == whole_length(second) && memcmp(first, second, whole) == 0;
}
