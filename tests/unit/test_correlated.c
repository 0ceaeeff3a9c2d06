/* Variables that belong together, in a run: the test of Fig. 5.4 against its definition, rules, and
 * which accesses they are about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "facts/correlated.h"
#include "facts/patterns.h"
#include "facts/two_variables.h"

#include <string.h>

/* ---- Fig. 5.4 by its definition ---------------------------------------------------------------
 */

/* Four accesses by their order: what each reads (the access that wrote it last, 4 at the start) and
 * who wrote x and y last. */
struct effect {
    unsigned seen[4], last[2];
};

static struct effect run(const unsigned does[4], const unsigned order[4]) {
    struct effect effect = {.last = {4, 4}};
    for (unsigned i = 0; i < 4; i++) {
        unsigned access = order[i], variable = access % 2; /* A1, A3 are to x; A2, A4 to y */
        effect.seen[access] = does[access] & HD_DOES_READ ? effect.last[variable] : 5;
        if (does[access] & HD_DOES_WRITE) effect.last[variable] = access;
    }
    return effect;
}

/* Is there an order of whole threads with the same effect? */
static bool is_serializable(const unsigned does[4], const unsigned order[4], bool x_first) {
    const unsigned second[2] = {x_first ? 2 : 3, x_first ? 3 : 2};
    const unsigned serial[2][4] = {{0, 1, second[0], second[1]}, {second[0], second[1], 0, 1}};
    struct effect wanted = run(does, order);
    for (int i = 0; i < 2; i++) {
        struct effect effect = run(does, serial[i]);
        if (memcmp(&wanted, &effect, sizeof wanted) == 0) return true;
    }
    return false;
}

/* The figure is about conflicts: two writes conflict also if nobody sees which was the last but the
 * end. So its answer and that by effects are the same here, where the end counts. */
static void figure(void **state) {
    (void)state;
    unsigned cases[4] = {0};
    for (unsigned kinds = 0; kinds < 16; kinds++) {
        unsigned does[4];
        for (unsigned a = 0; a < 4; a++) does[a] = kinds >> a & 1 ? HD_DOES_WRITE : HD_DOES_READ;
        for (unsigned code = 0; code < 256; code++) {
            unsigned order[4], at[4] = {9, 9, 9, 9};
            for (unsigned i = 0; i < 4; i++) at[order[i] = code >> 2 * i & 3] = i;
            if (at[0] == 9 || at[1] == 9 || at[2] == 9 || at[3] == 9 || at[0] > at[1]) continue;
            struct hd_two_accesses accesses = {.at = {at[0], at[1], at[2], at[3]}};
            /* the same with the threads exchanged: thread 2's accesses in its own order come first
             */
            bool x_first = at[2] < at[3];
            const unsigned as[4] = {x_first ? 2 : 3, x_first ? 3 : 2, x_first ? 0 : 1,
                                    x_first ? 1 : 0};
            struct hd_two_accesses exchanged;
            for (unsigned a = 0; a < 4; a++) {
                accesses.does[a] = does[a];
                exchanged.does[a] = does[as[a]];
                exchanged.at[a] = at[as[a]];
            }
            enum hd_two_case found = hd_two_variable_case(&accesses);
            bool other = hd_two_variable_case(&exchanged) != HD_TWO_SERIALIZABLE;
            assert_int_equal(found == HD_TWO_SERIALIZABLE && !other,
                             is_serializable(does, order, x_first));
            cases[found]++;
        }
    }
    /* three orders, each with 3 of 4 ways to write x, and of y */
    assert_int_equal(cases[HD_TWO_CASE_1], 9);
    assert_int_equal(cases[HD_TWO_CASE_2], 9);
    assert_int_equal(cases[HD_TWO_CASE_3], 9);
}

/* ---- rules ------------------------------------------------------------------------------------
 */

static void rules_fit(void **state) {
    (void)state;
    struct hd_correlated_rules rules = {.rule = {0}};
    hd_correlated_add(&rules, "cache::table@a/b.c", HD_DOES_WRITE, "cache::empty", HD_DOES_UPDATE);
    hd_correlated_add(&rules, "cache::table", HD_DOES_READ, "cache::table@c.c", HD_DOES_READ);
    uint32_t x = hd_intern_find(&rules.variable, "cache::table", 12);
    uint32_t y = hd_intern_find(&rules.variable, "cache::empty", 12);
    assert_true(x != HD_INTERN_NONE && y != HD_INTERN_NONE && rules.variable.name.size == 2);
    assert_true(hd_correlated_peers(&rules, x, y) && hd_correlated_peers(&rules, y, x));
    assert_false(hd_correlated_peers(&rules, x, x)); /* a variable belongs to itself anyway */
    for (unsigned does = HD_DOES_READ; does <= HD_DOES_UPDATE; does++) {
        /* the same whichever comes first */
        assert_true(hd_correlated_fit(&rules, x, HD_DOES_WRITE, y, does));
        assert_true(hd_correlated_fit(&rules, y, does, x, HD_DOES_UPDATE));
        assert_false(hd_correlated_fit(&rules, x, HD_DOES_READ, y, does));
        assert_false(hd_correlated_fit(&rules, y, does, x, HD_DOES_READ));
    }
    hd_correlated_rules_free(&rules);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(figure), cmocka_unit_test(rules_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
