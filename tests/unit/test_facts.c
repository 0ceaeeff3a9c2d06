/* Facts: found once and kept; where waits begin; patterns; sites and what runs did, over runs. */
#include "support/model_make.h"

#include "facts/clocks.h"
#include "facts/history.h"
#include "facts/reversible.h"
#include "facts/site.h"
#include "facts/waits.h"

static struct hd_model model_of(const char *text) {
    struct hd_model model;
    model_read(text, strlen(text), false, &model);
    return model;
}

/* ---- the analysis ---------------------------------------------------------------------------- */

static unsigned built, freed;
static void *build_number(struct hd_analysis *analysis, unsigned variant) {
    (void)analysis;
    unsigned *number = hd_alloc(1, sizeof *number);
    *number = 10 * ++built + variant;
    return number;
}
static void free_number(void *fact) {
    freed++;
    free(fact);
}
static const struct hd_fact_kind large = {build_number, free_number, false};
static const struct hd_fact_kind small = {build_number, free_number, true};

static void found_once(void **state) {
    (void)state;
    struct hd_analysis analysis = {0};
    unsigned *one = hd_analysis_fact(&analysis, &large, 1);
    assert_int_equal(*one, 11);
    assert_ptr_equal(one, hd_analysis_fact(&analysis, &large, 1));
    assert_int_equal(*(unsigned *)hd_analysis_fact(&analysis, &large, 2), 22);
    unsigned *kept = hd_analysis_fact(&analysis, &small, 1);
    assert_int_equal(*kept, 31);
    hd_analysis_shrink(&analysis);
    assert_int_equal(freed, 2);
    assert_ptr_equal(kept, hd_analysis_fact(&analysis, &small, 1));
    assert_int_equal(*(unsigned *)hd_analysis_fact(&analysis, &large, 1), 41); /* found again */
    analysis.lean = true;
    hd_analysis_fact(&analysis, &small, 3);
    assert_int_equal(freed, 3);
    hd_analysis_free(&analysis);
    assert_int_equal(freed, built);
}

/* ---- waits ------------------------------------------------------------------------------------
 */

static void waits_of_text(void **state) {
    (void)state;
    struct hd_model model =
        model_of("T1|acq(m)\nT1|rel(m)\nT2|signal(c)\nT1|wait(c)\nT1|r(x)\nT2|signal(c)\n"
                 "T1|wait(c)\nT1|racq(l)\nT1|rrel(l)\nT2|signal(c)\nT1|wait(c)\n");
    assert_int_equal(hd_wait_begins(&model, 3), 1);
    assert_int_equal(hd_wait_begins(&model, 6), HD_NONE); /* not with the release long before */
    assert_int_equal(hd_wait_begins(&model, 10), 8);
    assert_int_equal(hd_wait_begun_by(&model, 1), 3);
    assert_int_equal(hd_wait_begun_by(&model, 8), 10);
    assert_int_equal(hd_wait_begun_by(&model, 0), HD_NONE);
    hd_model_free(&model);
}

/* A recording marks the release; a signal handler may run, and take a lock, before the wait is
 * over. */
static void waits_of_recordings(void **state) {
    (void)state;
    struct hd_model model = model_of("T1|acq(m)\nT1|rel(m)\nT1|acq(h)\nT1|w(x)\nT1|rel(h)\n"
                                     "T2|signal(c)\nT1|wait(c)\nT1|acq(h)\nT1|rel(h)\n"
                                     "T2|signal(c)\nT1|wait(c)\n");
    struct hd_trace trace = *model.trace;
    uint8_t flags[16] = {0};
    flags[1] = HD_LOCK_BY_WAIT;
    trace.format = HD_FORMAT_BINARY;
    struct hd_model recorded = model;
    recorded.trace = &trace;
    recorded.flags = flags;
    assert_int_equal(hd_wait_begins(&recorded, 6), 1);
    assert_int_equal(hd_wait_begins(&recorded, 10), HD_NONE); /* that release began another */
    assert_int_equal(hd_wait_begun_by(&recorded, 4), HD_NONE);
    hd_model_free(&model);
}

/* ---- patterns ---------------------------------------------------------------------------------
 */

static void patterns_of_events(void **state) {
    (void)state;
    struct hd_model model = model_of("T1|r(x)\nT1|w(x)\nT1|arw(x)\n");
    enum { READ, WRITE, UPDATE };
    assert_int_equal(hd_pattern_of_events(&model, READ, WRITE, READ), HD_PATTERN_RWR);
    assert_int_equal(hd_pattern_of_events(&model, UPDATE, WRITE, WRITE), HD_PATTERN_RWW);
    assert_int_equal(hd_pattern_of_events(&model, WRITE, UPDATE, WRITE), HD_PATTERN_WRW);
    assert_int_equal(hd_pattern_of_events(&model, UPDATE, UPDATE, UPDATE), HD_PATTERN_NONE);
    assert_int_equal(hd_pattern_of_events(&model, READ, READ, WRITE), HD_PATTERN_NONE);
    hd_model_free(&model);
}

static void frees_are_remote_writes(void **state) {
    (void)state;
    struct hd_model model = model_of("T1|alloc(x)\nT1|r(x)\nT2|free(x)\n");
    assert_int_equal(hd_access_does(&model, 2), 0);
    assert_int_equal(hd_pattern_of_events(&model, 1, 2, 1), HD_PATTERN_RWR);
    assert_int_equal(hd_pattern_of_events(&model, 2, 1, 1), HD_PATTERN_NONE);
    hd_model_free(&model);
}

/* ---- sites ------------------------------------------------------------------------------------
 */

/* Modules at other addresses, in another order, in another directory. */
static void sites_over_runs(void **state) {
    (void)state;
    struct hd_trace_module first[] = {
        {.path = "/a/app", .site_base = 100, .text_lo = 0, .text_hi = 50},
        {.path = "/a/lib.so", .site_base = 200, .text_lo = 0, .text_hi = 50}};
    struct hd_trace_module second[] = {
        {.path = "/b/lib.so", .site_base = 10, .text_lo = 0, .text_hi = 50},
        {.path = "/b/app", .site_base = 500, .text_lo = 0, .text_hi = 50}};
    struct hd_trace one = {.format = HD_FORMAT_BINARY, .module = first, .modules = 2};
    struct hd_trace two = {.format = HD_FORMAT_BINARY, .module = second, .modules = 2};
    assert_true(hd_site_code(&one, 107) == hd_site_code(&two, 507));
    assert_true(hd_site_code(&one, 207) == hd_site_code(&two, 17));
    assert_true(hd_site_code(&one, 107) != hd_site_code(&one, 207));
    struct hd_sites sites = {0};
    uint32_t number = hd_site_of_trace(&sites, &one, 107);
    assert_int_equal(number, 1);
    assert_int_equal(hd_site_of_trace(&sites, &two, 507), number);
    assert_int_equal(hd_site_make(&sites, "app", 7, "a.c:3", "f"), number);
    assert_string_equal(hd_site(&sites, number)->where, "a.c:3");
    assert_int_equal(hd_site_of_trace(&sites, &one, 99), 0);
    assert_string_equal(hd_site(&sites, 0)->module, "");
    hd_sites_free(&sites);
}

/* ---- what runs did ----------------------------------------------------------------------------
 */

static void history(void **state) {
    (void)state;
    struct hd_model with = model_of("T1|r(x)|1\nT2|w(x)|3\nT1|r(x)|2\n");
    struct hd_model without = model_of("T1|r(x)|1\nT1|r(x)|2\nT2|w(x)|3\nT3|w(x)|4\n");
    struct hd_model other = model_of("T1|r(y)|8\nT2|w(y)|9\n");
    struct hd_analysis run[3] = {
        {.model = &with, .describe = hd_describe_open(&with)},
        {.model = &without, .describe = hd_describe_open(&without), .lean = true},
        {.model = &other, .describe = hd_describe_open(&other)}};
    struct hd_analysis *all[3] = {&run[0], &run[1], &run[2]};
    uint64_t site[3], first = hd_site_source(run[1].describe, &without, 2);
    uint64_t second = hd_site_source(run[1].describe, &without, 3);
    static const uint32_t event[3] = {0, 1, 2};
    for (int i = 0; i < 3; i++) site[i] = hd_site_source(run[0].describe, &with, event[i]);
    for (int again = 0; again < 2; again++) {
        struct hd_run_counts counts = hd_count_runs(all, 3, false, site);
        assert_int_equal(counts.exercised, 1);
        assert_int_equal(counts.had, 2);
        assert_true(hd_read_was_early(all, 3, site[0]));
        assert_true(hd_read_was_early(all + 1, 1, site[2]));
        assert_false(hd_read_was_early(all, 1, site[2]));
        assert_true(hd_writes_were_shown(all, 3, first, second));
        assert_false(hd_writes_were_shown(all, 3, second, first));
    }
    assert_int_equal(run[1].fact.size, 2); /* what the run did, and nothing else */
    for (int i = 0; i < 3; i++) {
        hd_analysis_free(&run[i]);
        hd_describe_close(run[i].describe);
    }
    hd_model_free(&with);
    hd_model_free(&without);
    hd_model_free(&other);
}

/* ---- pairs that might come the other way ------------------------------------------------------
 */

struct list {
    uint32_t pair[16][4], pairs, most;
};

static bool add(void *context, const struct hd_reversible *pair) {
    struct list *list = context;
    uint32_t *to = list->pair[list->pairs++];
    to[0] = pair->first, to[1] = pair->second, to[2] = pair->before, to[3] = pair->wait;
    return list->pairs < list->most;
}

static void expect(const struct list *list, uint32_t n, uint32_t first, uint32_t second,
                   uint32_t before, uint32_t wait) {
    assert_true(n < list->pairs);
    assert_int_equal(list->pair[n][0], first);
    assert_int_equal(list->pair[n][1], second);
    assert_int_equal(list->pair[n][2], before);
    assert_int_equal(list->pair[n][3], wait);
}

static void reversible_pairs(void **state) {
    (void)state;
    struct hd_model model =
        model_of("T1|r(x)\nT1|w(x)\nT2|r(x)\nT2|r(y)\nT1|w(y)\nT3|r(y)\n"
                 "T1|acq(m)\nT1|rel(m)\nT2|signal(c)\nT1|wait(c)\nT3|signal(c)\n"
                 "T2|acq(m)\nT2|rel(m)\nT3|acq(m)\nT3|rel(m)\n");
    struct list list = {.most = 16};
    hd_reversible_accesses(&model, 8, add, &list);
    assert_int_equal(list.pairs, 3);
    expect(&list, 0, 1, 2, 0, HD_NONE);
    expect(&list, 1, 3, 4, HD_NONE, HD_NONE);
    expect(&list, 2, 4, 5, HD_NONE, HD_NONE);
    list.pairs = 0;
    hd_reversible_waits(&model, 8, add, &list);
    assert_int_equal(list.pairs, 2);
    expect(&list, 0, 7, 8, HD_NONE, 9);
    expect(&list, 1, 7, 10, HD_NONE, 9);
    list.pairs = 0;
    hd_reversible_waits(&model, 1, add, &list);
    assert_int_equal(list.pairs, 1);
    list = (struct list){.most = 2};
    hd_reversible_sections(&model, 8, add, &list);
    assert_int_equal(list.pairs, 2); /* and then it was enough */
    expect(&list, 0, 6, 11, HD_NONE, HD_NONE);
    expect(&list, 1, 6, 13, HD_NONE, HD_NONE);
    hd_model_free(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_once),          cmocka_unit_test(waits_of_text),
        cmocka_unit_test(waits_of_recordings), cmocka_unit_test(patterns_of_events),
        cmocka_unit_test(sites_over_runs),     cmocka_unit_test(history),
        cmocka_unit_test(reversible_pairs),    cmocka_unit_test(frees_are_remote_writes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
