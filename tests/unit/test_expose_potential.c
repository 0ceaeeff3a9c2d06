/* Potential interleavings, pruning and ranking, on traces small enough to see what is right. */
#include "explore/potential.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void add_run(struct hd_profile *profile, const char *text, enum hd_pruning pruning,
                    uint32_t *news, bool pairs) {
    struct hd_trace trace;
    struct hd_model model;
    struct hd_error error;
    struct hd_trace_options options = {.format = HD_FORMAT_TEXT, .format_given = true};
    if (!hd_trace_read(text, strlen(text), "test", &options, &trace, &error) ||
        !hd_model_build(&trace, &(struct hd_model_options){0}, &model, &error))
        fail_msg("%s", error.message);
    struct hd_analysis analysis = {.model = &model, .describe = hd_describe_open(&model)};
    *news = hd_profile_add(profile, &analysis, pruning);
    if (pairs) hd_profile_add_pairs(profile, &analysis);
    hd_analysis_free(&analysis);
    hd_describe_close(analysis.describe);
    hd_model_free(&model);
}

static void add(struct hd_profile *profile, const char *text, enum hd_pruning pruning,
                uint32_t *news) {
    add_run(profile, text, pruning, news, false);
}

static struct hd_profile profile_of(const char *text, enum hd_pruning pruning) {
    struct hd_profile profile = {0};
    uint32_t news;
    add(&profile, text, pruning, &news);
    assert_int_equal(news, profile.list.size);
    return profile;
}

/* The interleaving with these sites, or NULL. */
static const struct hd_interleaving *find(const struct hd_profile *profile, const char *p,
                                          const char *c, const char *r) {
    for (size_t i = 0; i < profile->list.size; i++) {
        const struct hd_interleaving *it = &profile->list.data[i];
        if (strcmp(hd_site(&profile->places, it->p)->where, p) == 0 &&
            strcmp(hd_site(&profile->places, it->c)->where, c) == 0 &&
            strcmp(hd_site(&profile->places, it->r)->where, r) == 0)
            return it;
    }
    return NULL;
}

static void expect(const char *text, const char *p, const char *c, const char *r,
                   enum hd_pruned pruned) {
    struct hd_profile profile = profile_of(text, HD_PRUNE_RULES);
    const struct hd_interleaving *it = find(&profile, p, c, r);
    if (it == NULL) fail_msg("%s %s %s is not there in\n%s", p, c, r, text);
    if (it->pruned != pruned) fail_msg("pruned %d instead of %d in\n%s", it->pruned, pruned, text);
    hd_profile_free(&profile);
}

static uint32_t count(const char *text) {
    struct hd_profile profile = profile_of(text, HD_PRUNE_RULES);
    uint32_t size = (uint32_t)profile.list.size;
    hd_profile_free(&profile);
    return size;
}

static void patterns(void **state) {
    (void)state;
    static const struct {
        char p, c, r;
        const char *pattern;
    } cases[] = {{'r', 'r', 'w', "R-W-R"}, {'w', 'r', 'w', "W-W-R"}, {'w', 'w', 'r', "W-R-W"},
                 {'r', 'w', 'w', "R-W-W"}, {'r', 'r', 'r', NULL},    {'w', 'r', 'r', NULL},
                 {'r', 'w', 'r', NULL},    {'w', 'w', 'w', NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        snprintf(text, sizeof text, "A|%c(x)|p\nA|%c(x)|c\nB|%c(x)|r\n", cases[i].p, cases[i].c,
                 cases[i].r);
        struct hd_profile profile = profile_of(text, HD_PRUNE_RULES);
        const struct hd_interleaving *it = find(&profile, "p", "c", "r");
        if (cases[i].pattern == NULL) {
            assert_null(it);
        } else {
            assert_non_null(it);
            assert_string_equal(hd_pattern_name(it->pattern), cases[i].pattern);
            assert_int_equal(it->pruned, HD_PRUNED_NOT);
            assert_string_equal(it->variable, "x");
        }
        hd_profile_free(&profile);
    }
    /* P and C are consecutive accesses: another in between makes other pairs */
    struct hd_profile profile =
        profile_of("A|r(x)|p\nA|r(x)|m\nA|r(x)|c\nB|w(x)|r\n", HD_PRUNE_RULES);
    assert_null(find(&profile, "p", "c", "r"));
    assert_non_null(find(&profile, "p", "m", "r"));
    assert_non_null(find(&profile, "m", "c", "r"));
    hd_profile_free(&profile);
}

static void order(void **state) {
    (void)state;
    /* before the fork, after the join */
    expect("A|w(x)|r\nA|fork(B)\nB|begin()\nB|r(x)|p\nB|r(x)|c\nB|end()\n", "p", "c", "r",
           HD_PRUNED_ORDER);
    expect("A|fork(B)\nB|begin()\nB|r(x)|p\nB|r(x)|c\nB|end()\nA|join(B)\nA|w(x)|r\n", "p", "c",
           "r", HD_PRUNED_ORDER);
    /* beside them */
    expect("A|fork(B)\nB|begin()\nB|r(x)|p\nB|r(x)|c\nA|w(x)|r\nB|end()\nA|join(B)\n", "p", "c",
           "r", HD_PRUNED_NOT);
    /* locks do not order */
    expect("A|acq(m)\nA|r(x)|p\nA|rel(m)\nA|r(x)|c\nB|acq(m)\nB|w(x)|r\nB|rel(m)\n", "p", "c", "r",
           HD_PRUNED_NOT);
}

static void exclusion(void **state) {
    (void)state;
    const char *one = "A|acq(m)|a\nA|r(x)|p\nA|r(x)|c\nA|rel(m)\nB|acq(m)\nB|w(x)|r\nB|rel(m)\n";
    const char *two = "A|acq(m)|a1\nA|r(x)|p\nA|rel(m)\nA|acq(m)|a2\nA|r(x)|c\nA|rel(m)\n"
                      "B|acq(m)|b\nB|w(x)|r\nB|rel(m)\n";
    expect(one, "p", "c", "r", HD_PRUNED_EXCLUSION);
    expect(two, "p", "c", "r", HD_PRUNED_NOT);
    expect("A|acq(m)\nA|r(x)|p\nA|r(x)|c\nA|rel(m)\nB|acq(n)\nB|w(x)|r\nB|rel(n)\n", "p", "c", "r",
           HD_PRUNED_NOT);
    /* two readers of a lock do not exclude each other */
    expect("A|racq(m)\nA|r(x)|p\nA|r(x)|c\nA|rrel(m)\nB|racq(m)\nB|w(x)|r\nB|rrel(m)\n", "p", "c",
           "r", HD_PRUNED_NOT);
    expect("A|racq(m)\nA|r(x)|p\nA|r(x)|c\nA|rrel(m)\nB|acq(m)\nB|w(x)|r\nB|rel(m)\n", "p", "c",
           "r", HD_PRUNED_EXCLUSION);
    /* threads are suspended before the outermost section that does not have both */
    struct hd_profile profile = profile_of(two, HD_PRUNE_RULES);
    const struct hd_interleaving *it = find(&profile, "p", "c", "r");
    assert_string_equal(hd_site(&profile.places, it->c_stop)->where, "a2");
    assert_string_equal(hd_site(&profile.places, it->r_stop)->where, "b");
    hd_profile_free(&profile);
    profile = profile_of("A|acq(o)|o\nA|r(x)|p\nA|acq(m)|m\nA|acq(n)|n\nA|r(x)|c\nA|rel(n)\n"
                         "A|rel(m)\nA|rel(o)\nB|w(x)|r\n",
                         HD_PRUNE_RULES);
    it = find(&profile, "p", "c", "r");
    assert_string_equal(hd_site(&profile.places, it->c_stop)->where, "m");
    assert_string_equal(hd_site(&profile.places, it->r_stop)->where, "r");
    hd_profile_free(&profile);
}

static void recycled(void **state) {
    (void)state;
    /* the same address in two lives */
    assert_int_equal(count("A|alloc(x:8)\nA|r(x)|p\nA|r(x)|c\nA|free(x)|f\nB|alloc(x:8)\n"
                           "B|w(x)|r\nB|free(x)|g\n"),
                     0);
    /* in one */
    struct hd_profile profile =
        profile_of("A|alloc(x:8)\nA|r(x)|p\nA|r(x)|c\nB|free(x)|r\n", HD_PRUNE_RULES);
    const struct hd_interleaving *it = find(&profile, "p", "c", "r");
    assert_non_null(it);
    assert_true(it->frees);
    assert_int_equal(it->pruned, HD_PRUNED_NOT);
    hd_profile_free(&profile);
}

/* R can't come before A has set the flag, which the rules do not see. */
static void poly(void **state) {
    (void)state;
    const char *text = "A|r(x)|p\nA|r(x)|c\nA|w(f)|s\nB|r(f)|t\nB|w(x)|r\n";
    expect(text, "p", "c", "r", HD_PRUNED_NOT);
    struct hd_profile profile = profile_of(text, HD_PRUNE_POLY);
    const struct hd_interleaving *it = find(&profile, "p", "c", "r");
    assert_int_equal(it->pruned, HD_PRUNED_POLY);
    struct hd_profile_counts counts = hd_profile_counts(&profile);
    assert_int_equal(counts.poly, 1);
    hd_profile_free(&profile);
    profile = profile_of("A|r(x)|p\nA|r(x)|c\nB|w(x)|r\n", HD_PRUNE_POLY);
    assert_int_equal(find(&profile, "p", "c", "r")->pruned, HD_PRUNED_NOT);
    hd_profile_free(&profile);
}

/* Another run may free what one has pruned, and adds to what is known. */
static void several_runs(void **state) {
    (void)state;
    struct hd_profile profile = {0};
    uint32_t news;
    const char *ordered =
        "A|fork(B)\nB|begin()\nB|r(x)|p\nB|r(x)|c\nB|end()\nA|join(B)\nA|w(x)|r\n";
    const char *open = "A|fork(B)\nB|begin()\nB|r(x)|p\nB|r(x)|c\nA|w(x)|r\nB|end()\nA|join(B)\n";
    const char *seen = "A|fork(B)\nB|begin()\nB|r(x)|p\nA|w(x)|r\nB|r(x)|c\nB|end()\nA|join(B)\n";
    add(&profile, ordered, HD_PRUNE_RULES, &news);
    assert_int_equal(news, 1);
    add(&profile, ordered, HD_PRUNE_RULES, &news);
    assert_int_equal(news, 0);
    assert_int_equal(hd_profile_counts(&profile).order, 1);
    add(&profile, open, HD_PRUNE_RULES, &news);
    assert_int_equal(news, 1);
    assert_int_equal(hd_profile_counts(&profile).left, 1);
    add(&profile, seen, HD_PRUNE_RULES, &news);
    assert_int_equal(news, 1);
    add(&profile, seen, HD_PRUNE_RULES, &news);
    assert_int_equal(news, 0);
    assert_int_equal(hd_profile_counts(&profile).exercised, 1);
    assert_int_equal(profile.runs, 5);
    hd_profile_free(&profile);
}

/* Threads that run the same code: what A did after its test, B might have done too. */
static void twins(void **state) {
    (void)state;
    const char *text = "A|r(x)|test\nA|acq(m)|a\nA|r(x)|get\nA|w(x)|put\nA|rel(m)\nB|r(x)|test\n";
    struct hd_profile profile = profile_of(text, HD_PRUNE_RULES);
    const struct hd_interleaving *it = find(&profile, "test", "get", "put");
    assert_non_null(it);
    assert_int_equal(it->pruned, HD_PRUNED_NOT);
    assert_null(find(&profile, "get", "put", "put")); /* B is not seen to come to `get` */
    hd_profile_free(&profile);
    assert_int_equal(count("A|r(x)|test\nA|r(x)|get\nA|w(x)|put\nB|r(x)|other\n"), 0);
}

static void ranks(void **state) {
    (void)state;
    /* x: small gap, y: large gap, z: smallest, but seen; w: as x, its R is farther away */
    struct hd_profile profile =
        profile_of("A|r(w)|wp\nA|r(w)|wc\nA|r(x)|xp\nA|r(x)|xc\nA|r(y)|yp\nA|r(q)|1\nA|r(q)|2\n"
                   "A|r(y)|yc\nA|r(z)|zp\nB|w(z)|zr\nA|r(z)|zc\nB|w(x)|xr\nB|w(y)|yr\nB|w(w)|wr\n",
                   HD_PRUNE_RULES);
    uint32_t ranked;
    uint32_t *rank = hd_profile_rank(&profile, &ranked);
    assert_non_null(rank);
    assert_int_equal(ranked, 4);
    static const char *const wanted[] = {"xp", "wp", "yp", "zp"};
    for (uint32_t i = 0; i < ranked; i++)
        assert_string_equal(hd_site(&profile.places, profile.list.data[rank[i]].p)->where,
                            wanted[i]);
    free(rank);
    hd_profile_free(&profile);
    /* the time inside P's and C's own sections does not count */
    profile = profile_of("A|acq(m)\nA|r(x)|p\nA|r(q)\nA|r(q)\nA|rel(m)\nA|acq(m)\nA|r(q)\nA|r(q)\n"
                         "A|r(x)|c\nA|rel(m)\nB|acq(m)\nB|w(x)|r\nB|rel(m)\n",
                         HD_PRUNE_RULES);
    assert_int_equal(find(&profile, "p", "c", "r")->gap, 1);
    hd_profile_free(&profile);
}

/* ---- pairs ---------------------------------------------------------------------------------- */

/* A pair: its C, its R, where their threads are suspended, its variable; and "seen" or "". */
static void expect_pairs(const char *const *run, const char *const (*wanted)[6]) {
    struct hd_profile profile = {0};
    uint32_t news, pairs = 0;
    for (; *run != NULL; run++) add_run(&profile, *run, HD_PRUNE_RULES, &news, true);
    for (size_t i = 0; i < profile.list.size; i++) {
        const struct hd_interleaving *it = &profile.list.data[i];
        if (it->p != 0) continue;
        const char *got[6] = {hd_site(&profile.places, it->c)->where,
                              hd_site(&profile.places, it->r)->where,
                              hd_site(&profile.places, it->c_stop)->where,
                              hd_site(&profile.places, it->r_stop)->where,
                              it->variable,
                              it->exercised ? "seen" : ""};
        for (int k = 0; k < 6; k++)
            if (wanted[pairs][0] == NULL || strcmp(got[k], wanted[pairs][k]) != 0)
                fail_msg("pair %u: %s %s (%s %s) on %s %s", pairs, got[0], got[1], got[2], got[3],
                         got[4], got[5]);
        pairs++;
    }
    if (wanted[pairs][0] != NULL) fail_msg("%s %s is missing", wanted[pairs][0], wanted[pairs][1]);
    assert_int_equal(hd_profile_counts(&profile).pairs, pairs);
    hd_profile_free(&profile);
}
#define PAIRS(...) ((const char *const[][6]){__VA_ARGS__{NULL}})
#define PAIR(...) {__VA_ARGS__},

static void pairs_of_accesses(void **state) {
    (void)state;
    expect_pairs((const char *const[]){"A|w(x)|c\nB|r(x)|r\n", NULL},
                 PAIRS(PAIR("c", "r", "c", "r", "x", "")));
    /* reads do not mind; a thread's own order stands; what must be ordered stays so */
    expect_pairs((const char *const[]){"A|r(x)|c\nB|r(x)|r\n", NULL}, PAIRS());
    expect_pairs(
        (const char *const[]){"A|w(x)|1\nA|fork(B)\nB|begin()\nB|r(x)|2\nB|end()\nA|join(B)\n",
                              NULL},
        PAIRS());
    /* seen the other way round in another run; one place in two threads is never settled */
    expect_pairs(
        (const char *const[]){"A|w(x)|a\nB|w(x)|b\n", "B|w(x)|b\nA|w(x)|a\n", NULL},
        PAIRS(PAIR("a", "b", "a", "b", "x", "seen") PAIR("b", "a", "b", "a", "x", "seen")));
    expect_pairs((const char *const[]){"A|w(x)|a\nB|w(x)|a\n", "B|w(x)|a\nA|w(x)|a\n", NULL},
                 PAIRS(PAIR("a", "a", "a", "a", "x", "")));
    /* suspended outside of critical sections, which are no pair of their own then */
    expect_pairs((const char *const[]){"A|acq(m)|m1\nA|w(x)|c\nA|rel(m)\nB|acq(m)|m2\nB|r(x)|r\n"
                                       "B|rel(m)\n",
                                       NULL},
                 PAIRS(PAIR("c", "r", "m1", "m2", "x", "")));
    /* but not where the other could not come first any more */
    expect_pairs((const char *const[]){"A|acq(m)|m1\nA|fork(B)\nB|begin()\nA|w(x)|c\nA|rel(m)\n"
                                       "B|r(x)|r\nB|end()\n",
                                       NULL},
                 PAIRS(PAIR("c", "r", "c", "r", "x", "")));
    /* a use and the end of the memory's life */
    expect_pairs(
        (const char *const[]){"A|alloc(x:8)\nA|fork(B)\nB|begin()\nA|r(x)|c\nB|free(x)|r\n", NULL},
        PAIRS(PAIR("c", "r", "c", "r", "x", "")));
}

static void pairs_of_synchronisation(void **state) {
    (void)state;
    /* a wait, and the signal that may come before it: with the lock, and without */
    expect_pairs((const char *const[]){"A|acq(m)|a\nA|rel(m)|w\nB|acq(m)|b\nB|signal(c)|s\n"
                                       "A|wait(c)|w\nB|rel(m)\nA|acq(m)|w\nA|rel(m)\n",
                                       NULL},
                 PAIRS(PAIR("w", "s", "a", "b", "c", "")));
    expect_pairs((const char *const[]){"A|acq(m)|a\nA|rel(m)|w\nB|signal(c)|s\nA|wait(c)|w\n"
                                       "A|acq(m)|w\nA|rel(m)\n",
                                       NULL},
                 PAIRS(PAIR("w", "s", "w", "s", "c", "")));
    /* two locks in opposite orders; and in one */
    expect_pairs((const char *const[]){"A|acq(m)|a1\nA|acq(n)|a2\nA|rel(n)\nA|rel(m)\n"
                                       "B|acq(n)|b1\nB|acq(m)|b2\nB|rel(m)\nB|rel(n)\n",
                                       NULL},
                 PAIRS(PAIR("a2", "b1", "a2", "b1", "n", "") PAIR("b2", "a1", "b2", "a1", "m", "")
                           PAIR("a1", "b2", "a1", "b1", "m", "")));
    expect_pairs((const char *const[]){"A|acq(m)|a1\nA|rel(m)\nB|acq(m)|b1\nB|rel(m)\n", NULL},
                 PAIRS(PAIR("a1", "b1", "a1", "b1", "m", "")));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(patterns),
                                       cmocka_unit_test(order),
                                       cmocka_unit_test(exclusion),
                                       cmocka_unit_test(recycled),
                                       cmocka_unit_test(poly),
                                       cmocka_unit_test(several_runs),
                                       cmocka_unit_test(twins),
                                       cmocka_unit_test(ranks),
                                       cmocka_unit_test(pairs_of_accesses),
                                       cmocka_unit_test(pairs_of_synchronisation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
