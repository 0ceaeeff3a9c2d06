/* AVIO over two variables: the cases of Figure 5.4, what learning takes out, and random traces
 * against all pairs of pairs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "facts/patterns.h"
#include "learn/detect_two.h"
#include "support/dice.h"
#include "support/model_make.h"

struct looked {
    struct hd_model model;
    struct hd_analysis analysis;
    struct hd_correlated_rules rules;
    struct hd_detected_pairs pairs;
};

/* The rule: `mode` of x, any access of y. */
static void look_by(struct looked *looked, const char *lines, unsigned mode) {
    memset(looked, 0, sizeof *looked);
    model_read(lines, strlen(lines), false, &looked->model);
    looked->analysis =
        (struct hd_analysis){.model = &looked->model, .describe = hd_describe_open(&looked->model)};
    hd_correlated_add(&looked->rules, "x", mode, "y", HD_DOES_UPDATE);
    hd_detect_two(&looked->analysis, &looked->rules, &looked->pairs);
}

static void look(struct looked *looked, const char *lines) {
    look_by(looked, lines, HD_DOES_UPDATE);
}

static void look_away(struct looked *looked) {
    hd_detected_pairs_free(&looked->pairs);
    hd_correlated_rules_free(&looked->rules);
    hd_analysis_free(&looked->analysis);
    hd_describe_close(looked->analysis.describe);
    hd_model_free(&looked->model);
}

/* "2 0-3-1-2": the case, and A1, A2, A3, A4. */
static const char *found(const char *lines) {
    static char words[512];
    struct looked looked;
    look(&looked, lines);
    words[0] = '\0';
    for (size_t i = 0; i < looked.pairs.violation.size; i++) {
        const struct hd_detected_two *v = &looked.pairs.violation.data[i];
        size_t used = strlen(words);
        snprintf(words + used, sizeof words - used, "%scase %u: %u-%u-%u-%u", i > 0 ? ", " : "",
                 v->which, v->event[0], v->event[1], v->event[2], v->event[3]);
    }
    look_away(&looked);
    return words;
}

static void figure_5_4(void **state) {
    (void)state;
    static const struct {
        const char *lines, *found;
    } cases[] = {
        {"A|w(x)|1\nB|r(x)|3\nB|r(y)|4\nA|w(y)|2\n", "case 1: 0-3-1-2"},
        {"A|w(x)|1\nB|r(y)|4\nB|r(x)|3\nA|w(y)|2\n", "case 2: 0-3-2-1"},
        {"B|r(y)|4\nA|w(x)|1\nB|r(x)|3\nA|w(y)|2\n", "case 3: 1-3-2-0"},
        {"B|r(x)|3\nA|w(x)|1\nB|r(y)|4\nA|w(y)|2\n", ""}, /* case 4 */
        /* y is only read; x is */
        {"A|w(x)|1\nB|r(x)|3\nB|r(y)|4\nA|r(y)|2\n", ""},
        {"A|r(x)|1\nB|r(x)|3\nB|w(y)|4\nA|r(y)|2\n", ""},
        /* one after the other */
        {"A|w(x)|1\nA|w(y)|2\nB|r(x)|3\nB|r(y)|4\n", ""},
        /* the other thread does one of them only */
        {"A|w(x)|1\nB|r(x)|3\nA|w(y)|2\nB|r(x)|5\n", ""},
        /* reads that see old and new */
        {"A|r(x)|1\nB|w(x)|3\nB|w(y)|4\nA|r(y)|2\n", "case 1: 0-3-1-2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(found(cases[i].lines), cases[i].found);
}

/* What passing runs do is taken out; the rest breaks the invariant. */
static void learned(void **state) {
    (void)state;
    static const char good[] = "A|w(x)|1\nA|w(y)|2\nB|r(x)|3\nB|r(y)|4\n";
    static const char bad[] = "A|w(x)|1\nB|r(x)|3\nB|r(y)|4\nA|w(y)|2\n";
    struct hd_invariants set = {.runs = 0};
    struct hd_learner learner = {.invariants = &set};
    struct looked looked;
    look(&looked, good);
    hd_learner_note_pairs(&learner, &looked.analysis, &looked.rules, &looked.pairs);
    hd_learner_end_run(&learner, true);
    look_away(&looked);
    assert_int_equal(set.list.size, 2); /* 2 after x, 4 after x */
    assert_int_equal(hd_learner_holding(&learner), 2);

    struct hd_findings findings = {.list = {0}};
    look(&looked, bad);
    hd_broken_pairs_in_trace(&findings, &looked.analysis, &looked.rules, &set, &looked.pairs,
                             false);
    assert_int_equal(findings.list.size, 1);
    const struct hd_finding *finding = &findings.list.data[0];
    assert_int_equal(finding->kind, HD_FINDING_INVARIANT);
    assert_int_equal(finding->events, 4);
    assert_string_equal(finding->variables[0], "x");
    assert_string_equal(finding->variables[1], "y");
    assert_non_null(strstr(finding->support, "in 1 of 1 passing runs"));
    hd_findings_free(&findings);

    /* the run passed, so it is no bug */
    hd_learner_note_pairs(&learner, &looked.analysis, &looked.rules, &looked.pairs);
    hd_learner_end_run(&learner, true);
    assert_int_equal(hd_learner_holding(&learner), 1);
    assert_int_equal(learner.last.removed, 1);
    memset(&findings, 0, sizeof findings);
    hd_broken_pairs_in_trace(&findings, &looked.analysis, &looked.rules, &set, &looked.pairs,
                             false);
    assert_int_equal(findings.list.size, 0);
    hd_findings_free(&findings);
    look_away(&looked);
    hd_learner_free(&learner);
    hd_invariants_free(&set);
}

/* Every pair of every thread against every other. */
static size_t count_all(struct looked *looked) {
    struct hd_correlated_pairs pairs;
    const struct hd_model *model = &looked->model;
    struct hd_map ends = {0};
    hd_correlated_pairs_find(&looked->analysis, &looked->rules, HD_CDSR, &pairs);
    for (size_t a = 0; a < pairs.list.size; a++)
        for (size_t b = 0; b < pairs.list.size; b++) {
            const struct hd_correlated_list *one = &pairs.list.data[a],
                                            *other = &pairs.list.data[b];
            bool same = one->location[0] == other->location[0];
            if (one->thread == other->thread || !one->fits) continue;
            if (hd_correlated_locations(one) != hd_correlated_locations(other)) continue;
            for (uint32_t i = 0; i < one->count; i++)
                for (uint32_t k = 0; k < other->count; k++) {
                    const struct hd_correlated_pair *p = &pairs.pair.data[one->start + i];
                    const struct hd_correlated_pair *q = &pairs.pair.data[other->start + k];
                    struct hd_two_accesses four = {.at = {p->first, p->second,
                                                          same ? q->first : q->second,
                                                          same ? q->second : q->first}};
                    for (unsigned n = 0; n < 4; n++)
                        four.does[n] = hd_access_does(model, (uint32_t)four.at[n]);
                    enum hd_two_case which = hd_two_variable_case(&four);
                    if (which != HD_TWO_SERIALIZABLE)
                        hd_map_slot(&ends, (uint64_t)p->second << 32 | one->variable[0], 1);
                }
        }
    size_t count = ends.count;
    hd_map_free(&ends);
    hd_correlated_pairs_free(&pairs);
    return count;
}

static void random_traces(void **state) {
    (void)state;
    size_t all = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct dice dice = {seed};
        char lines[4096];
        size_t used = 0;
        unsigned steps = 4 + roll(&dice, 40);
        for (unsigned i = 0; i < steps; i++)
            used += (size_t)snprintf(lines + used, sizeof lines - used, "%c|%c(%c)|%u\n",
                                     "ABC"[roll(&dice, 3)], "rw"[roll(&dice, 2)],
                                     "xxyyz"[roll(&dice, 5)], i);
        struct looked looked;
        look_by(&looked, lines, 1 + (unsigned)seed % 3);
        size_t found_here = 0;
        for (size_t i = 0; i < looked.pairs.executed.size; i++)
            found_here += looked.pairs.executed.data[i].violations;
        size_t wanted = count_all(&looked);
        if (found_here != wanted)
            fail_msg("seed %llu: %zu instead of %zu\n%s", (unsigned long long)seed, found_here,
                     wanted, lines);
        all += wanted;
        look_away(&looked);
    }
    assert_true(all > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figure_5_4),
        cmocka_unit_test(learned),
        cmocka_unit_test(random_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
