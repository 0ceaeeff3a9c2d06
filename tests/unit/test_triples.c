/* Candidate triples: the patterns, hot locations without listing their triples, locks that part
 * them, few questions for many triples, and the methods side by side. Random traces are in
 * test_atomicity_oracle.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "methods/atomicity_compare.h"
#include "predict/atomicity_decide.h"
#include "support/model_make.h"

#ifndef HEDDLE_SOURCE_DIR
#define HEDDLE_SOURCE_DIR "."
#endif
#define TRACES HEDDLE_SOURCE_DIR "/tests/traces/atomicity/"

/* ---- patterns ---------------------------------------------------------------------------------
 */

static const char *pattern(const char *does, bool all) {
    static const char letters[] = "-rwu";
    unsigned bits[3];
    for (int i = 0; i < 3; i++) bits[i] = (unsigned)(strchr(letters, does[i]) - letters);
    return hd_pattern_name(hd_pattern_of(bits[0], bits[1], bits[2], all));
}

static void patterns(void **state) {
    (void)state;
    static const struct {
        const char *does, *pattern;
    } cases[] = {
        {"rwr", "R-W-R"}, {"wwr", "W-W-R"}, {"wrw", "W-R-W"}, {"rww", "R-W-W"}, {"rrr", ""},
        {"rrw", ""},      {"wrr", ""},      {"www", ""},      {"r-r", ""},      {"uuu", ""},
        {"uur", "W-W-R"}, {"rur", "R-W-R"}, {"ruu", "R-W-W"}, {"uru", "W-R-W"}, {"uwu", "R-W-W"},
        {"wuw", "W-R-W"}, {"urr", ""},      {"rru", ""},      {"wwu", "W-W-R"}, {"uww", "R-W-W"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(pattern(cases[i].does, false), cases[i].pattern);
    assert_string_equal(pattern("www", true), "W-W-W");
    assert_string_equal(pattern("wrw", true), "W-R-W");
}

/* ---- traces made here -------------------------------------------------------------------------
 */

static const struct hd_triples *decide(struct hd_analysis *analysis,
                                       struct hd_triple_decisions *decisions,
                                       struct hd_predict_stats *stats) {
    struct hd_error error;
    struct hd_predict_options options = {.method = &hd_method_poly, .reading = HD_CDSR, .jobs = 1};
    const struct hd_triples *triples = hd_triples(analysis, false);
    assert_ptr_equal(triples, hd_triples(analysis, false)); /* found once */
    *stats = (struct hd_predict_stats){0};
    struct hd_triple_task task = {.triples = triples,
                                  .base = hd_engine_base(analysis),
                                  .branches = hd_branches(analysis, HD_BRANCHES_RECORDED),
                                  .options = &options,
                                  .stats = stats};
    if (!hd_triples_decide(&task, hd_method_poly.atomicity, decisions, &error))
        fail_msg("%s", error.message);
    return triples;
}

enum { ROUNDS = 20000 };

/* Reads in pairs, each in a section of its own, before as many writes. */
static void hot_location(void **state) {
    (void)state;
    struct text text = {0};
    for (unsigned n = 0; n < ROUNDS; n++)
        text_add(&text,
                 "T1|acq(m)|a\nT1|r(x)|i\nT1|rel(m)|b\nT1|acq(m)|c\nT1|r(x)|k\nT1|rel(m)|d\n");
    for (unsigned n = 0; n < ROUNDS; n++) text_add(&text, "T2|acq(m)|e\nT2|w(x)|j\nT2|rel(m)|f\n");
    struct hd_model model;
    struct hd_analysis analysis = {.model = &model};
    struct hd_triple_decisions decisions;
    struct hd_predict_stats stats;
    model_of_lines(&text, false, &model);
    const struct hd_triples *triples = decide(&analysis, &decisions, &stats);
    /* R-W-R within a round and from one to the next; the writes parted by a read of either site */
    assert_int_equal(decisions.list.size, 4);
    uint64_t instances = 0, feasible = 0;
    for (uint32_t g = 0; g < 4; g++) {
        instances += hd_triples_instances(triples, g);
        feasible += decisions.list.data[g].verdict == HD_FEASIBLE;
        assert_true(decisions.list.data[g].verdict != HD_UNDECIDED);
    }
    uint64_t rounds = ROUNDS;
    assert_true(instances == rounds * rounds + 3 * (rounds - 1) * rounds);
    assert_int_equal(feasible, 2);
    assert_true(stats.asked.checks < 500);
    hd_triple_decisions_free(&decisions);
    hd_analysis_free(&analysis);
    hd_model_free(&model);
}

/* Inside one section each, with other locks around them: no candidates, whatever the sets are. */
static void guarded_location(void **state) {
    (void)state;
    struct text text = {0};
    for (unsigned n = 0; n < 3000; n++) {
        unsigned t = 1 + n % 3, outer = n * 7 % 50;
        text_add(
            &text,
            "T%u|acq(o%u)|a\nT%u|acq(m)|b\nT%u|r(x)|i\nT%u|w(x)|k\nT%u|rel(m)|c\nT%u|rel(o%u)|d\n",
            t, outer, t, t, t, t, t, outer);
    }
    struct hd_model model;
    struct hd_analysis analysis = {.model = &model};
    struct hd_triple_decisions decisions;
    struct hd_predict_stats stats;
    model_of_lines(&text, false, &model);
    const struct hd_triples *triples = decide(&analysis, &decisions, &stats);
    /* only from one round of a thread to its next, and that is seen all the time */
    assert_int_equal(decisions.list.size, 1);
    assert_true(decisions.list.data[0].observed);
    assert_int_equal(triples->group.data[0].pattern, HD_PATTERN_WWR);
    assert_int_equal(stats.asked.checks, 0);
    hd_triple_decisions_free(&decisions);
    hd_analysis_free(&analysis);
    hd_model_free(&model);
}

/* Two writes under one read-mode section, each with the lock taken for writing as well: a reader
 * may come between, a writer may not. */
static void upgraded(void **state) {
    (void)state;
    struct text text = {0};
    text_add(&text, "T1|racq(l)|a\nT1|acq(l)|b\nT1|w(x)|i\nT1|rel(l)|c\nT1|acq(l)|d\nT1|w(x)|k\n"
                    "T1|rel(l)|e\nT1|rrel(l)|f\nT2|racq(l)|g\nT2|r(x)|j\nT2|rrel(l)|h\n");
    struct hd_model model;
    struct hd_analysis analysis = {.model = &model};
    struct hd_triple_decisions decisions;
    struct hd_predict_stats stats;
    model_of_lines(&text, false, &model);
    const struct hd_triples *triples = decide(&analysis, &decisions, &stats);
    assert_int_equal(decisions.list.size, 1);
    assert_int_equal(triples->group.data[0].pattern, HD_PATTERN_WRW);
    hd_triple_decisions_free(&decisions);
    hd_analysis_free(&analysis);
    hd_model_free(&model);
}

/* Accesses of one segment: one question speaks for all of them. */
static void one_segment(void **state) {
    (void)state;
    struct text text = {0};
    /* whoever is at its accesses to x has been through the other's lock, inside its own */
    text_add(&text, "T1|acq(a)|a\nT1|acq(b)|b\nT1|rel(b)|c\n");
    for (unsigned n = 0; n < 500; n++) text_add(&text, "T1|r(x)|i\nT1|r(x)|k\n");
    text_add(&text, "T1|rel(a)|d\nT2|acq(b)|e\nT2|acq(a)|f\nT2|rel(a)|g\n");
    for (unsigned n = 0; n < 500; n++) text_add(&text, "T2|w(x)|j\n");
    text_add(&text, "T2|rel(b)|h\n");
    struct hd_model model;
    struct hd_analysis analysis = {.model = &model};
    struct hd_triple_decisions decisions;
    struct hd_predict_stats stats;
    model_of_lines(&text, false, &model);
    decide(&analysis, &decisions, &stats);
    assert_int_equal(decisions.list.size, 4);
    for (uint32_t g = 0; g < 4; g++)
        assert_int_equal(decisions.list.data[g].verdict, HD_INFEASIBLE);
    assert_true(stats.asked.checks > 0 && stats.asked.checks < 20);
    hd_triple_decisions_free(&decisions);
    hd_analysis_free(&analysis);
    hd_model_free(&model);
}

/* ---- side by side -----------------------------------------------------------------------------
 */

static void compare(const char *name, const unsigned kept[4], const unsigned wrong[4],
                    const unsigned lost[4]) {
    char path[512];
    struct hd_model model;
    struct hd_error error;
    struct hd_atomicity_comparison comparison;
    snprintf(path, sizeof path, TRACES "%s.std", name);
    if (!hd_model_load(path, NULL, NULL, &model, &error)) fail_msg("%s", error.message);
    struct hd_analysis analysis = {.model = &model};
    struct hd_predict predict = {.analysis = &analysis,
                                 .model = &model,
                                 .options = {.method = &hd_method_poly, .reading = HD_CDSR}};
    if (!hd_compare_atomicity(&predict, &comparison, &error)) fail_msg("%s", error.message);
    for (unsigned m = 0; m < HD_ATOMICITY_COMPARED; m++) {
        assert_int_equal(comparison.method[m].kept, kept[m]);
        assert_int_equal(comparison.method[m].wrong, wrong[m]);
        assert_int_equal(comparison.method[m].lost, lost[m]);
        assert_int_equal(comparison.method[m].undecided, 0);
    }
    assert_string_equal(comparison.method[0].engine, "oa");
    assert_string_equal(comparison.method[3].engine, "poly/cdsr");
    hd_atomicity_comparison_free(&comparison);
    hd_analysis_free(&analysis);
    hd_model_free(&model);
}

static void side_by_side(void **state) {
    (void)state;
    static const unsigned none[4] = {0}, all[4] = {1, 1, 1, 1};
    /* OA, UA, AVFilter, poly */
    compare("observed", all, none, none);
    compare("three_threads", (unsigned[]){1, 0, 1, 0}, (unsigned[]){1, 0, 1, 0}, none);
    compare("filter_loses", (unsigned[]){1, 1, 0, 1}, none, (unsigned[]){0, 0, 1, 0});
    compare("table1_row06", (unsigned[]){1, 0, 1, 1}, none, (unsigned[]){0, 1, 0, 0});
    compare("fig2", (unsigned[]){1, 0, 0, 0}, (unsigned[]){1, 0, 0, 0}, none);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),         cmocka_unit_test(hot_location),
        cmocka_unit_test(guarded_location), cmocka_unit_test(one_segment),
        cmocka_unit_test(upgraded),         cmocka_unit_test(side_by_side)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
