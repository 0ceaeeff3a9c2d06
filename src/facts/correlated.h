/* Rules about variables that belong together (`heddle mine` finds them in source code), and what
 * they say about a run: which variable each access is to, and whether two accesses belong together.
 * Plain names: who reads a file of rules fills this. */
#ifndef HEDDLE_FACTS_CORRELATED_H
#define HEDDLE_FACTS_CORRELATED_H

#include "base/intern.h"
#include "base/map.h"
#include "model/describe.h"

/* A zeroed one is empty. */
struct hd_correlated_rules {
    struct hd_intern variable; /* names, numbered */
    struct hd_map rule;        /* two variables -> modes, as bits 4 * mode(x) + mode(y) */
    struct hd_map peers;       /* variables that are in a rule with another one */
};

/* A1(x) => A2(y); the modes are HD_DOES_ bits, HD_DOES_UPDATE for any. What follows `@` in a name
 * (`counter@net/stats.c`, where several variables are called so) is left out: a run knows variables
 * by their names. */
void hd_correlated_add(struct hd_correlated_rules *rules, const char *x, unsigned a1, const char *y,
                       unsigned a2);
void hd_correlated_rules_free(struct hd_correlated_rules *rules);

/* Is there a rule with both variables, in either direction? */
bool hd_correlated_peers(const struct hd_correlated_rules *rules, uint32_t x, uint32_t y);
/* Is there one whose modes fit what an access does to x and another one to y (HD_DOES_ bits)? */
bool hd_correlated_fit(const struct hd_correlated_rules *rules, uint32_t x, unsigned x_does,
                       uint32_t y, unsigned y_does);

/* The variable of the rules that each event accesses, HD_NONE for all others; of a location that
 * only one thread uses there is none. To be freed. */
uint32_t *hd_correlated_variables(const struct hd_correlated_rules *rules,
                                  const struct hd_model *model, struct hd_describe *describe);
/* May two accesses be to the same object? Fields of one struct must be in one block of memory, or
 * in one variable; other variables have no object. */
bool hd_correlated_same_object(const struct hd_correlated_rules *rules,
                               const struct hd_model *model, struct hd_describe *describe,
                               const uint32_t variable[2], const uint32_t location[2]);

#endif
