/* What a hunt knows of runs: coverage that grows no more, and the accesses that only a failing run
 * has. */
#include "explore/critical.h"
#include "explore/explorer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka needs those before it */
#include <cmocka.h>

static struct hd_model model_of(const char *text) {
    struct hd_trace trace;
    struct hd_model model;
    struct hd_error error = {0};
    struct hd_trace_options options = {.format = HD_FORMAT_TEXT, .format_given = true};
    if (!hd_trace_read(text, strlen(text), "test", &options, &trace, &error) ||
        !hd_model_build(&trace, NULL, &model, &error))
        fail_msg("%s", error.message);
    return model;
}

static uint32_t news_of(struct hd_history *seen, const char *text) {
    struct hd_model model = model_of(text);
    uint32_t news = hd_history_add(seen, &model);
    hd_model_free(&model);
    return news;
}

static const char passing[] = "T1|r(x)|1\nT1|r(x)|2\nT2|w(x)|3\n";

static void test_coverage(void **state) {
    (void)state;
    struct hd_history seen = {0};
    assert_true(news_of(&seen, passing) > 0);
    assert_int_equal(news_of(&seen, passing), 0);
    /* the same sites: another write is read, and another pair follows each other */
    assert_true(news_of(&seen, "T1|r(x)|1\nT2|w(x)|3\nT1|r(x)|2\n") > 0);
    assert_int_equal(news_of(&seen, "T1|r(x)|1\nT2|w(x)|3\nT1|r(x)|2\n"), 0);
    hd_history_free(&seen);
}

static void test_recordings(void **state) {
    (void)state;
    struct hd_steering first = explore_recording(0, 5, 0);
    assert_int_equal(first.scheduler, HD_SCHED_SERIAL);
    assert_int_equal(first.policy, HD_POLICY_ROUND_ROBIN);
    for (uint32_t n = 2; n < 40; n++) {
        struct hd_steering a = explore_recording(n, 5, 1000), b = explore_recording(n + 1, 5, 1000);
        assert_int_equal(a.policy, HD_POLICY_RANDOM);
        assert_true(a.seed != b.seed && a.quantum > 0);
        assert_true(explore_recording(n, 6, 1000).seed != a.seed);
        /* not a million time slices */
        assert_true(explore_recording(n, 5, 100000000).quantum >= 5000);
    }
}

static struct hd_critical critical_of(const char *good, const char *bad) {
    struct hd_history seen = {0};
    news_of(&seen, good);
    struct hd_model model = model_of(bad);
    struct hd_critical critical = {0};
    hd_critical_find(&seen, &model, &critical, 1);
    hd_model_free(&model);
    hd_history_free(&seen);
    return critical;
}

static void expect_events(const struct hd_critical *critical, uint32_t a, uint32_t b, uint32_t c) {
    assert_int_equal(critical->event[0], a);
    assert_int_equal(critical->event[1], b);
    if (critical->events == 3) assert_int_equal(critical->event[2], c);
}

static void test_triple(void **state) {
    (void)state;
    struct hd_critical c = critical_of(passing, "T1|r(x)|1\nT2|w(x)|3\nT1|r(x)|2\n");
    assert_int_equal(c.events, 3);
    assert_string_equal(c.pattern, "R-W-R");
    expect_events(&c, 0, 1, 2);
    /* the pair closes the triple from behind */
    c = critical_of("T1|w(x)|1\nT2|w(x)|3\nT1|r(x)|2\nT2|r(x)|4\n",
                    "T2|w(x)|3\nT1|w(x)|1\nT2|r(x)|4\nT1|r(x)|2\n");
    assert_int_equal(c.events, 3);
    assert_string_equal(c.pattern, "W-W-R");
    expect_events(&c, 0, 1, 2);
}

static void test_pair(void **state) {
    (void)state;
    struct hd_critical c =
        critical_of("T1|w(x)|1\nT1|w(y)|9\nT2|r(x)|2\n", "T2|r(x)|2\nT1|w(x)|1\nT1|w(y)|9\n");
    assert_int_equal(c.events, 2);
    assert_null(c.pattern);
    expect_events(&c, 0, 1, 0);
}

static void test_nothing_new(void **state) {
    (void)state;
    struct hd_critical c = critical_of(passing, passing);
    assert_int_equal(c.events, 0);
    /* nor is what a fork orders */
    c = critical_of("T0|w(x)|1\nT0|w(x)|4\nT0|fork(T1)|5\nT1|r(x)|3\n",
                    "T0|w(x)|1\nT0|fork(T1)|5\nT1|r(x)|3\n");
    assert_int_equal(c.events, 0);
    /* two reads that follow each other are no cause */
    c = critical_of("T1|r(x)|1\nT1|w(x)|4\nT2|r(x)|2\n", "T1|r(x)|1\nT2|r(x)|2\n");
    assert_int_equal(c.events, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_coverage),
                                       cmocka_unit_test(test_recordings),
                                       cmocka_unit_test(test_triple), cmocka_unit_test(test_pair),
                                       cmocka_unit_test(test_nothing_new)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
