/* The methods behind heddle predict against their definitions, on the stored traces and on random
 * ones: lockset, HB, CP and UCG say of every pair what the naive relations say, poly what brute
 * force says; a group is what its best instance is, so that no skipped instance was wrongly
 * skipped; and the streaming happens-before pass finds the same groups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "methods/hb_stream.h"
#include "methods/methods.h"
#include "oracle/engines_naive.h"
#include "oracle/reorder_search.h"
#include "predict/race_decide.h"

#include <glob.h>
#include <stdlib.h>

#ifndef HEDDLE_SOURCE_DIR
#define HEDDLE_SOURCE_DIR "."
#endif

enum { METHODS = 6 };
static const struct {
    const struct hd_method *method;
    enum hd_reading reading;
} methods[METHODS] = {{&hd_method_lockset, HD_CSR}, {&hd_method_hb, HD_CSR},
                      {&hd_method_cp, HD_CSR},      {&hd_method_ucg, HD_CSR},
                      {&hd_method_poly, HD_CSR},    {&hd_method_poly, HD_CDSR}};

static unsigned long pairs_checked;

static bool definition_says(const struct small *small, unsigned method, uint32_t a, uint32_t b) {
    const struct hd_model *m = small->model;
    struct question q = race_question(a, b);
    struct hd_query query = question_query(&q);
    const struct hd_method *by = methods[method].method;
    if (by == &hd_method_lockset) return lockset_says(m, a, b);
    if (by == &hd_method_hb) return lockset_says(m, a, b) && hb_says(m, a, b);
    if (by == &hd_method_cp) return lockset_says(m, a, b) && cp_says(m, a, b);
    if (by == &hd_method_ucg) return ucg_says(m, a, b);
    return search_decide(small, methods[method].reading, &query, NULL, NULL);
}

static bool is_race(enum hd_verdict verdict) {
    assert_int_not_equal(verdict, HD_UNDECIDED);
    return verdict == HD_FEASIBLE || verdict == HD_POSSIBLE;
}

static struct hd_race_decisions decide(const struct hd_race_decider *decider, bool instances) {
    struct hd_race_decisions decisions;
    struct hd_predict_stats stats = {0};
    struct hd_error error;
    struct hd_predict_options options = {.jobs = 1};
    if (!hd_races_decide(decider, &options, instances, &decisions, &stats, &error))
        fail_msg("%s", error.message);
    return decisions;
}

/* Every candidate pair has its verdict once; what is no candidate is no race by any method. */
static void check_pairs(const struct small *small, const struct hd_race_decisions *decisions,
                        unsigned method, const char *name) {
    const struct hd_model *m = small->model;
    size_t met = 0;
    for (uint32_t a = 0; a < m->events; a++)
        for (uint32_t b = a + 1; b < m->events; b++) {
            if (!accesses_race(m, a, b)) continue;
            const struct hd_race_decision *found = NULL;
            for (size_t i = 0; i < decisions->list.size; i++) {
                const struct hd_race_decision *each = &decisions->list.data[i];
                uint32_t x = each->pair.event[0], y = each->pair.event[1];
                if ((x != a || y != b) && (x != b || y != a)) continue;
                assert_null(found);
                found = each;
            }
            bool says = definition_says(small, method, a, b);
            if (says != (found != NULL && is_race(found->verdict)))
                fail_msg("%s: events %u and %u: %s says %s, its definition %s", name, a, b,
                         hd_method_full_name(methods[method].method, methods[method].reading),
                         found == NULL             ? "nothing"
                         : is_race(found->verdict) ? "race"
                                                   : "no race",
                         says ? "race" : "no race");
            met += found != NULL;
            pairs_checked++;
        }
    assert_int_equal(met, decisions->list.size);
}

/* The verdict of each group is that of its best instance. */
static void check_groups(const struct hd_race_decisions *instances,
                         const struct hd_race_decisions *groups, unsigned method,
                         const char *name) {
    size_t at = 0;
    for (size_t g = 0; g < groups->list.size; g++) {
        const struct hd_race_decision *group = &groups->list.data[g];
        bool any = false;
        assert_int_equal(group->group, g);
        for (; at < instances->list.size && instances->list.data[at].group == g; at++)
            any |= is_race(instances->list.data[at].verdict);
        if (any != is_race(group->verdict))
            fail_msg("%s: group of events %u and %u: %s says %s, but its instances %s", name,
                     group->pair.event[0], group->pair.event[1],
                     hd_method_full_name(methods[method].method, methods[method].reading),
                     is_race(group->verdict) ? "race" : "no race", any ? "race" : "no race");
    }
    assert_int_equal(at, instances->list.size);
}

static void check_streaming(const struct hd_conflicts *candidates,
                            const struct hd_race_decisions *groups, const char *name) {
    struct hd_streamed_races races;
    hd_hb_stream(candidates->model, NULL, &races);
    size_t expected = 0;
    for (size_t g = 0; g < groups->list.size; g++)
        expected += is_race(groups->list.data[g].verdict);
    if (races.list.size != expected)
        fail_msg("%s: streaming HB finds %zu pairs of sites, not %zu", name, races.list.size,
                 expected);
    for (size_t i = 0; i < races.list.size; i++) {
        uint32_t a = races.list.data[i].event[0], b = races.list.data[i].event[1];
        assert_true(accesses_race(candidates->model, a, b));
        assert_true(hb_says(candidates->model, a, b));
    }
    hd_vector_free(&races.list);
}

static void check_model(const struct hd_model *m, const char *name) {
    struct small small;
    struct hd_analysis analysis = {.model = m};
    small_build(&small, m);
    for (unsigned method = 0; method < METHODS; method++) {
        const struct hd_conflicts *candidates = hd_conflicts(&analysis, methods[method].reading);
        struct hd_race_task task = {.candidates = candidates,
                                    .base = hd_engine_base(&analysis),
                                    .reading = methods[method].reading};
        struct hd_race_decider decider = hd_race_decider_new(methods[method].method->race, &task);
        struct hd_race_decisions instances = decide(&decider, true);
        struct hd_race_decisions groups = decide(&decider, false);
        check_pairs(&small, &instances, method, name);
        check_groups(&instances, &groups, method, name);
        if (methods[method].method == &hd_method_hb) check_streaming(candidates, &groups, name);
        hd_race_decisions_free(&instances);
        hd_race_decisions_free(&groups);
        hd_race_decider_free(&decider);
    }
    hd_analysis_free(&analysis);
}

static void stored_traces(void **state) {
    (void)state;
    glob_t found;
    unsigned checked = 0;
    assert_int_equal(glob(HEDDLE_SOURCE_DIR "/tests/traces/*.std", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct hd_model m;
        struct hd_error error;
        struct hd_model_options strict = {.lenient = false};
        if (!hd_model_load(found.gl_pathv[i], NULL, &strict, &m, &error)) continue;
        if (m.events <= SMALL_EVENTS) {
            check_model(&m, found.gl_pathv[i]);
            checked++;
        }
        hd_model_free(&m);
    }
    globfree(&found);
    assert_true(checked >= 25);
}

/* Rule (b) of CP: the sections of m have no conflict, but events that are CP-ordered through T2.
 * Once with T1's write after what orders them, once more through a second such pair. */
static void ordered_sections(void **state) {
    (void)state;
    static const char *const line[] = {
        "T1|acq(m)", "T1|acq(l)", "T1|w(y)",   "T1|rel(l)", "T1|w(x)",   "T1|acq(k)",
        "T1|rel(k)", "T1|w(v)",   "T1|rel(m)", "T2|acq(l)", "T2|r(y)",   "T2|rel(l)",
        "T2|acq(n)", "T2|w(z)",   "T2|rel(n)", "T3|acq(m)", "T3|acq(n)", "T3|r(z)",
        "T3|rel(n)", "T3|rel(m)", "T3|w(x)",   "T3|acq(k)", "T3|rel(k)", "T3|w(v)"};
    struct text_trace text = {.lines = 0};
    for (size_t i = 0; i < sizeof line / sizeof *line; i++)
        snprintf(text.line[text.lines++], TEXT_WIDTH, "%s", line[i]);
    struct hd_model m;
    struct hd_error error;
    assert_true(model_of_text(&text, &m, &error));
    assert_false(cp_says(&m, 4, 20));
    check_model(&m, "ordered sections");
    hd_model_free(&m);
}

/* Sites are drawn from few, so that groups have many instances; some lines have none. */
static void give_sites(struct text_trace *text, uint64_t seed) {
    struct dice dice = {seed};
    unsigned sites = 1 + roll(&dice, 6);
    for (unsigned i = 0; i < text->lines; i++) {
        size_t length = strlen(text->line[i]);
        unsigned site = roll(&dice, sites + 1);
        if (site < sites) snprintf(text->line[i] + length, TEXT_WIDTH - length, "|s%u", site);
    }
}

static void random_traces(void **state) {
    (void)state;
    const char *full = getenv("HEDDLE_TEST_FULL");
    unsigned long count = full != NULL && *full != '\0' ? 200000 : 4000;
    for (uint64_t seed = 1; seed <= count; seed++) {
        struct text_trace text;
        struct hd_model m;
        char name[64];
        struct hd_error error;
        if (seed % 2 == 0)
            random_hard_trace(seed, &text);
        else
            random_trace(seed, &text);
        give_sites(&text, seed);
        snprintf(name, sizeof name, "seed %llu", (unsigned long long)seed);
        if (!model_of_text(&text, &m, &error)) fail_msg("%s: %s", name, error.message);
        check_model(&m, name);
        hd_model_free(&m);
    }
    assert_true(pairs_checked > count);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(stored_traces),
                                       cmocka_unit_test(ordered_sections),
                                       cmocka_unit_test(random_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
