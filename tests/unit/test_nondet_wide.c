/* Nondeterminism of reads that touch many locations: whom they might have seen against the
 * definition, what they cost, and that predictions end when their time is over. Verdicts of small
 * ones are in test_nondet_sound.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "oracle/nondet_oracle.h"
#include "support/model_make.h"

/* ---- traces made here -------------------------------------------------------------------------
 */

static struct hd_nondet_stats decide(const struct hd_model *model, bool paper, uint64_t until) {
    struct hd_error error = {0};
    struct hd_nondet nondet;
    struct hd_analysis analysis = {.model = model, .most_candidates = UINT64_MAX};
    struct hd_predict predict = {
        .analysis = &analysis,
        .model = model,
        .options = {
            .method = &hd_method_poly, .reading = HD_CDSR, .jobs = 1, .budget = {.until = until}}};
    if (!hd_nondet_decide(&predict, paper ? &hd_nondet_paper : NULL, &nondet, &error))
        fail_msg("%s", error.message);
    struct hd_nondet_stats stats = nondet.stats;
    assert_int_equal(stats.verdict[HD_FEASIBLE] + stats.verdict[HD_UNDECIDED],
                     nondet.found.size + stats.late);
    assert_int_equal(stats.verdict[HD_FEASIBLE] + stats.verdict[HD_UNDECIDED] +
                         stats.verdict[HD_INFEASIBLE] + stats.left,
                     stats.triplets);
    hd_nondet_free(&nondet);
    hd_analysis_free(&analysis);
    return stats;
}

/* ---- the definition ---------------------------------------------------------------------------
 */

/* Ranges of a variable, part of which is allocated and freed now and then: accesses over its end
 * touch locations that are no neighbours. */
static void make_ranges(struct dice *dice, struct hd_model *model) {
    static const char *const operation[] = {"r", "r", "w", "w", "ar", "aw", "arw"};
    struct text text = {0};
    bool allocated = false;
    for (unsigned i = 0; i < 120; i++) {
        unsigned thread = roll(dice, 3), from = roll(dice, 24), size = 1 + roll(dice, 24);
        if (roll(dice, 20) == 0) {
            text_add(&text, allocated ? "T%u|free(b)\n" : "T%u|alloc(b:14)\n", thread);
            allocated = !allocated;
            continue;
        }
        const char *does = operation[roll(dice, 7)];
        unsigned bytes = *does == 'a' ? 1u << roll(dice, 4) : roll(dice, 3) ? 1 + size / 8 : size;
        text_add(&text, "T%u|%s(b+%u:%u)\n", thread, does, from, bytes);
    }
    model_of_lines(&text, true, model);
}

static bool naive_touches(const struct hd_model *model, uint32_t event, uint32_t location) {
    const uint32_t *list;
    uint32_t count = hd_model_locations(model, event, &list);
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == location) return true;
    return false;
}

static uint32_t naive_seen(const struct hd_model *model, uint32_t location, uint32_t read) {
    for (uint32_t e = read; e-- > 0;)
        if (hd_model_is_write(model, e) && naive_touches(model, e, location)) return e;
    return HD_NONE;
}

/* Where the read did not see a write that it might have seen; HD_NONE: nowhere. */
static uint32_t naive_unseen(const struct hd_model *model, uint32_t read, uint32_t write) {
    for (uint32_t l = 0; l < model->locations; l++)
        if (naive_touches(model, read, l) && (write == HD_NONE || naive_touches(model, write, l)) &&
            naive_seen(model, l, read) != write)
            return l;
    return HD_NONE;
}

static void check_challengers(const struct hd_couples *couples, const struct hd_read *read,
                              struct hd_challengers *challengers) {
    const struct hd_model *model = couples->model;
    size_t next = 0;
    hd_couples_challengers(couples, read, challengers);
    assert_int_equal(read->seen, naive_seen(model, read->location, read->event));
    for (uint32_t c = 0; c <= model->events; c++) { /* the last: the initial value */
        uint32_t write = c < model->events ? c : HD_NONE;
        if (write == read->event || (write != HD_NONE && !hd_model_is_write(model, write)))
            continue;
        uint32_t location = naive_unseen(model, read->event, write);
        if (location == HD_NONE) continue;
        assert_true(next < challengers->list.size);
        const struct hd_challenger *challenger = &challengers->list.data[next++];
        assert_int_equal(challenger->write, write);
        assert_int_equal(challenger->location, location);
        assert_int_equal(challenger->seen, naive_seen(model, location, read->event));
    }
    assert_int_equal(next, challengers->list.size);
}

static void challengers_by_definition(void **state) {
    (void)state;
    struct hd_challengers challengers = {0};
    struct hd_read_filter all = {0};
    size_t reads = 0, gaps = 0;
    for (uint64_t seed = 1; seed <= 200 / NONDET_SLOWDOWN; seed++) {
        struct dice dice = {seed};
        struct hd_model model;
        struct hd_couples couples;
        make_ranges(&dice, &model);
        struct hd_engine_base *base = hd_engine_base_build(&model);
        hd_couples_build(&model, base, false, &all, &couples);
        for (size_t r = 0; r < couples.read.size; r++) {
            const struct hd_read *read = &couples.read.data[r];
            const uint32_t *list;
            uint32_t count = hd_model_locations(&model, read->event, &list);
            for (uint32_t i = 1; i < count; i++) assert_true(list[i - 1] < list[i]);
            if (!read->wide) continue;
            reads++;
            gaps += list[count - 1] - list[0] >= count;
            check_challengers(&couples, read, &challengers);
        }
        hd_couples_free(&couples);
        hd_engine_base_free(base);
        hd_model_free(&model);
    }
    printf("# %zu wide reads, %zu with gaps\n", reads, gaps);
    assert_true(gaps > 100 / NONDET_SLOWDOWN && reads > gaps);
    hd_challengers_free(&challengers);
}

/* ---- cost -------------------------------------------------------------------------------------
 */

/* What is linear takes milliseconds; what is not takes minutes, and the time limit of the test. */

static struct hd_nondet_stats decide_soon(struct text *text) {
    struct hd_model model;
    model_of_lines(text, true, &model);
    clock_t start = clock();
    struct hd_nondet_stats stats = decide(&model, false, 0);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    printf("# %u locations, %llu reads, %llu triplets: %.3f s\n", model.locations,
           (unsigned long long)stats.reads, (unsigned long long)stats.triplets, seconds);
    hd_model_free(&model);
    assert_int_equal(stats.verdict[HD_UNDECIDED], 0);
    return stats;
}

/* Bytes written one by one, before the reader begins and after it has ended. */
static void many_locations(void **state) {
    (void)state;
    enum { BYTES = 40000, READS = 5 };
    struct text text = {0};
    for (unsigned i = 0; i < BYTES; i++) text_add(&text, "T1|w(b+%u)\n", i);
    text_add(&text, "T1|fork(T2)\n");
    for (unsigned i = 0; i < READS; i++) text_add(&text, "T2|r(b:%u)\n", BYTES);
    text_add(&text, "T1|join(T2)\n");
    for (unsigned i = 0; i < BYTES; i++) text_add(&text, "T1|w(b+%u)\n", i);
    struct hd_nondet_stats stats = decide_soon(&text);
    assert_int_equal(stats.reads, READS);
    assert_int_equal(stats.triplets, READS * (BYTES + 1));
    assert_int_equal(stats.verdict[HD_INFEASIBLE], stats.triplets);
}

/* Questions about all of them: may the read come before they are written one by one, or before they
 * are written at all? */
static void questions(void **state) {
    (void)state;
    enum { BYTES = 100000 };
    struct text text = {0};
    text_add(&text, "T1|acq(m)\nT1|w(b:%u)\nT1|rel(m)\n", BYTES);
    for (unsigned i = 0; i < BYTES; i++) text_add(&text, "T1|w(b+%u)\n", i);
    text_add(&text, "T2|acq(m)\nT2|r(b:%u)\nT2|rel(m)\n", BYTES);
    struct hd_nondet_stats stats = decide_soon(&text);
    assert_int_equal(stats.triplets, 2);
    assert_int_equal(stats.asked, 2);
    assert_int_equal(stats.verdict[HD_FEASIBLE], 2);
}

/* All of them read, then written one by one, then together. */
static void read_before_written(void **state) {
    (void)state;
    enum { BYTES = 4000, READS = 20 };
    struct text text = {0};
    for (unsigned i = 0; i < READS; i++) text_add(&text, "T2|r(b:%u)\n", BYTES);
    for (unsigned i = 0; i < BYTES; i++) text_add(&text, "T1|w(b+%u)\n", i);
    for (unsigned i = 0; i < READS; i++) text_add(&text, "T1|w(b:%u)\n", BYTES);
    struct hd_nondet_stats stats = decide_soon(&text);
    assert_int_equal(stats.triplets, READS * (BYTES + READS));
    assert_int_equal(stats.verdict[HD_FEASIBLE], stats.triplets);
}

/* Written one by one, then again and again together, each time with a read after it. A read's own
 * write is not in its past, those of earlier reads are. */
static void written_again_and_again(void **state) {
    (void)state;
    enum { BYTES = 1000, ROUNDS = 400 };
    struct text text = {0};
    for (unsigned i = 0; i < BYTES; i++) text_add(&text, "T1|w(b+%u)\n", i);
    for (unsigned i = 0; i < ROUNDS; i++) text_add(&text, "T1|w(b:%u)\nT2|r(b:%u)\n", BYTES, BYTES);
    struct hd_nondet_stats stats = decide_soon(&text);
    assert_int_equal(stats.triplets, ROUNDS * (BYTES + ROUNDS));
    /* the first read: every byte and the initial value; each: what comes later, and the one before
     */
    assert_int_equal(stats.verdict[HD_FEASIBLE],
                     BYTES + 1 + ROUNDS * (ROUNDS - 1) / 2 + (ROUNDS - 1));
}

/* ---- time -------------------------------------------------------------------------------------
 */

enum { TURNS = 3000, TURN_BYTES = 20 };

/* Every read may see every later write, and none of that without a question: hours of them. */
static void make_turns(bool wide, struct hd_model *model) {
    struct text text = {0};
    unsigned bytes = wide ? TURN_BYTES : 1;
    for (unsigned i = 0; i < bytes; i++) text_add(&text, "T1|w(b+%u)|w\n", i);
    for (unsigned i = 0; i < TURNS; i++)
        text_add(&text,
                 "T1|acq(m)|a\nT1|w(b:%u)|v\nT1|rel(m)|b\nT2|acq(m)|c\nT2|r(b:%u)|r\nT2|rel(m)|d\n",
                 bytes, bytes);
    model_of_lines(&text, true, model);
}

static void time_is_over(void **state) {
    (void)state;
    for (unsigned wide = 0; wide < 2; wide++) {
        struct hd_model model;
        make_turns(wide != 0, &model);
        for (unsigned paper = 0; paper < 2; paper++) {
            struct hd_nondet_stats stats = decide(&model, paper != 0, hd_now_ns());
            assert_int_equal(stats.reads, TURNS);
            assert_int_equal(stats.late, TURNS);
            assert_int_equal(stats.doubtful, TURNS);
            assert_int_equal(stats.triplets, TURNS);
            assert_int_equal(stats.verdict[HD_UNDECIDED], TURNS);
        }
        hd_model_free(&model);
    }
}

static void time_runs_out(void **state) {
    (void)state;
    for (unsigned wide = 0; wide < 2; wide++) {
        struct hd_model model;
        make_turns(wide != 0, &model);
        double start = hd_seconds_now();
        struct hd_nondet_stats stats = decide(&model, false, hd_now_ns() + 1000000000u);
        double seconds = hd_seconds_now() - start;
        printf("# %llu of %llu reads not looked at: %.3f s\n", (unsigned long long)stats.late,
               (unsigned long long)stats.reads, seconds);
        assert_true(stats.verdict[HD_UNDECIDED] > 0 && stats.doubtful >= stats.late);
        assert_true(stats.loose + stats.doubtful <= stats.reads);
        hd_model_free(&model);
    }
}

/* What is not decided in time is counted, and not described as if it were impossible. */
static void reports_end(void **state) {
    (void)state;
    struct hd_model model;
    make_turns(true, &model);
    struct hd_describe *describe = hd_describe_open(&model);
    assert_non_null(describe);
    struct hd_error error = {0};
    struct hd_nondet_stats stats = {0};
    struct hd_findings findings = {0};
    struct hd_analysis analysis = {.model = &model, .describe = describe};
    struct hd_predict predict = {.analysis = &analysis,
                                 .model = &model,
                                 .describe = describe,
                                 .nondet = &stats,
                                 .options = {.method = &hd_method_poly,
                                             .reading = HD_CDSR,
                                             .all = true,
                                             .budget = {.until = hd_now_ns()}}};
    if (!hd_predict_nondeterminism(&predict, &findings, &error)) fail_msg("%s", error.message);
    assert_int_equal(predict.stats.groups, 0);
    assert_int_equal(findings.list.size, 0);
    assert_int_equal(findings.summary.candidates, TURNS);
    assert_int_equal(findings.summary.verdict[HD_VERDICT_UNDECIDED], TURNS);
    assert_int_equal(findings.summary.verdict[HD_VERDICT_INFEASIBLE], 0);
    hd_findings_free(&findings);
    hd_analysis_free(&analysis);
    hd_describe_close(describe);
    hd_model_free(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(challengers_by_definition),
        cmocka_unit_test(many_locations),
        cmocka_unit_test(questions),
        cmocka_unit_test(read_before_written),
        cmocka_unit_test(written_again_and_again),
        cmocka_unit_test(time_is_over),
        cmocka_unit_test(time_runs_out),
        cmocka_unit_test(reports_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
