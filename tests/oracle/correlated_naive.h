/* Two variables that belong together, read aloud: pairs of accesses of a thread, quads of two
 * threads, and whether a reordering has one, by enumeration. */
#ifndef HEDDLE_TESTS_ORACLE_CORRELATED_NAIVE_H
#define HEDDLE_TESTS_ORACLE_CORRELATED_NAIVE_H

#include "facts/correlated_groups.h"
#include "facts/patterns.h"
#include "facts/site.h"
#include "oracle/random_query.h"
#include "oracle/reorder_search.h"

#define NAIVE_PAIRS 4096
#define NAIVE_QUADS 65536

struct naive_pair {
    uint32_t event[2], location[2];
};

struct naive_quad {
    struct hd_correlated_quad quad;
    uint32_t site[3]; /* first, second, inner: what a group has in common */
};

/* Rules of the test: x and y by any access, y and z where both are written. */
static inline void naive_rules(struct hd_correlated_rules *rules) {
    hd_correlated_add(rules, "x", HD_DOES_UPDATE, "y", HD_DOES_UPDATE);
    hd_correlated_add(rules, "y", HD_DOES_WRITE, "z", HD_DOES_WRITE);
}

static inline char naive_name(struct hd_describe *describe, uint32_t location) {
    const char *name = hd_describe_location(describe, location, HD_SHORT);
    return strlen(name) == 1 ? *name : '\0';
}

static inline bool naive_related(char a, char b) {
    return (a == 'x' && b == 'y') || (a == 'y' && b == 'x') || (a == 'y' && b == 'z') ||
           (a == 'z' && b == 'y');
}

/* Does a pair follow a rule by what it does, too? */
static inline bool naive_follows(const struct hd_model *m, struct hd_describe *describe,
                                 const struct naive_pair *pair) {
    char a = naive_name(describe, pair->location[0]), b = naive_name(describe, pair->location[1]);
    if (a == 'x' || b == 'x') return true;
    return hd_model_is_write(m, pair->event[0]) && hd_model_is_write(m, pair->event[1]);
}

/* The only location of an access of interest, HD_NONE. */
static inline uint32_t naive_location(const struct hd_model *m, uint32_t event) {
    const uint32_t *list;
    if (hd_access_does(m, event) == 0 || hd_model_locations(m, event, &list) != 1) return HD_NONE;
    return m->location[list[0]].shared ? list[0] : HD_NONE;
}

/* The first access of a thread to variables of the rules at the site of another one. */
static inline uint32_t naive_first_at(const struct hd_model *m, struct hd_describe *describe,
                                      struct hd_map *map, uint32_t event) {
    uint32_t site = hd_site_number(m, map, event, m->object[event]);
    for (uint32_t e = 0; e < event; e++)
        if (m->thread[e] == m->thread[event] && naive_location(m, e) != HD_NONE &&
            strchr("xyz", naive_name(describe, naive_location(m, e))) != NULL &&
            hd_site_number(m, map, e, m->object[e]) == site)
            return e;
    return event;
}

static inline bool naive_is_pair(const struct hd_model *m, struct hd_describe *describe,
                                 struct hd_map *map, uint32_t p, uint32_t q) {
    uint32_t x = naive_location(m, p), y = naive_location(m, q);
    if (m->thread[p] != m->thread[q] || x == HD_NONE || y == HD_NONE || x == y) return false;
    if (!naive_related(naive_name(describe, x), naive_name(describe, y))) return false;
    for (uint32_t e = p + 1; e < q; e++) {
        if (m->thread[e] != m->thread[p]) continue;
        if (m->kind[e] == HD_EV_WAIT || m->kind[e] == HD_EV_WAIT_TIMEOUT ||
            m->kind[e] == HD_EV_JOIN || m->kind[e] == HD_EV_BARRIER_LEAVE ||
            m->kind[e] == HD_EV_SEM_WAIT)
            return false;
        if (naive_location(m, e) == x && hd_access_does(m, e) == hd_access_does(m, p)) return false;
        if (naive_location(m, e) == y && hd_access_does(m, e) == hd_access_does(m, q)) return false;
    }
    return naive_first_at(m, describe, map, p) <= naive_first_at(m, describe, map, q);
}

static inline uint32_t naive_pairs(const struct hd_model *m, struct hd_describe *describe,
                                   struct hd_map *map, struct naive_pair *pair) {
    uint32_t count = 0;
    for (uint32_t q = 0; q < m->events; q++)
        for (uint32_t p = 0; p < q; p++)
            if (count < NAIVE_PAIRS && naive_is_pair(m, describe, map, p, q))
                pair[count++] =
                    (struct naive_pair){{p, q}, {naive_location(m, p), naive_location(m, q)}};
    return count;
}

/* Writes of x and of y among the four accesses. */
static inline bool naive_conflicts(const struct hd_model *m, const struct hd_correlated_quad *q) {
    return (hd_model_is_write(m, q->first) || hd_model_is_write(m, q->inner)) &&
           (hd_model_is_write(m, q->second) || hd_model_is_write(m, q->other));
}

static inline uint32_t naive_quads(const struct hd_model *m, struct hd_describe *describe,
                                   struct hd_map *map, const struct naive_pair *pair,
                                   uint32_t pairs, struct naive_quad *quad) {
    uint32_t count = 0;
    for (uint32_t a = 0; a < pairs; a++)
        for (uint32_t b = 0; b < pairs && count < NAIVE_QUADS; b++) {
            const struct naive_pair *one = &pair[a], *two = &pair[b];
            if (m->thread[one->event[0]] == m->thread[two->event[0]]) continue;
            bool same =
                one->location[0] == two->location[0] && one->location[1] == two->location[1];
            bool turned =
                one->location[0] == two->location[1] && one->location[1] == two->location[0];
            if (!same && !turned) continue;
            if (!naive_follows(m, describe, one) && !naive_follows(m, describe, two)) continue;
            struct hd_correlated_quad made = {one->event[0],
                                              one->event[1],
                                              two->event[turned],
                                              two->event[!turned],
                                              {one->location[0], one->location[1]}};
            if (!naive_conflicts(m, &made)) continue;
            quad[count++] =
                (struct naive_quad){made,
                                    {hd_site_number(m, map, made.first, made.location[0]),
                                     hd_site_number(m, map, made.second, made.location[1]),
                                     hd_site_number(m, map, made.inner, made.location[0])}};
        }
    return count;
}

/* Is there a reordering with `first` done, then `inner`, `other` done too and `second` next? The
 * other thread ends at its last access, which then may read anything, or goes on. */
static inline bool naive_quad_feasible(const struct small *small, enum hd_reading reading,
                                       const struct hd_correlated_quad *quad) {
    uint32_t last = quad->inner > quad->other ? quad->inner : quad->other;
    uint32_t before = quad->inner ^ quad->other ^ last;
    struct hd_stop stop[2] = {{quad->second, false}, {last, true}};
    struct hd_precedes order[2] = {{quad->first, quad->inner}, {before, last}};
    struct hd_query query = {.stop = stop,
                             .stops = 2,
                             .order = order,
                             .orders = 2,
                             .reader = HD_NONE,
                             .writer = HD_NONE};
    if (search_decide(small, reading, &query, NULL, NULL)) return true;
    query.stops = 1;
    return search_decide(small, reading, &query, NULL, NULL);
}

#endif
