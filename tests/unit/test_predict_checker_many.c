/* A checker that is used many times says of every witness what one that executes it whole says,
 * word for word: on the engine's witnesses of random traces, and on the same changed at random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/checker.h"
#include "oracle/random_query.h"

#include <stdlib.h>

static unsigned long good, bad, early;

static void change(struct dice *dice, struct hd_witness *w, uint32_t events) {
    if (w->count < 2) return;
    uint32_t i = roll(dice, w->count - 1), k = roll(dice, w->count);
    switch (roll(dice, 5)) {
    case 0: /* neighbours change places */
        k = w->event[i];
        w->event[i] = w->event[i + 1];
        w->event[i + 1] = k;
        break;
    case 1: /* an event is missing */
        memmove(w->event + i, w->event + i + 1, (w->count - i - 1) * sizeof *w->event);
        w->count--;
        break;
    case 2: /* an event comes at another place */
        i = w->event[i];
        for (uint32_t at = 0; at < w->count; at++)
            if (w->event[at] == i) {
                memmove(w->event + at, w->event + at + 1, (w->count - at - 1) * sizeof *w->event);
                break;
            }
        if (k >= w->count) k = w->count - 1;
        memmove(w->event + k + 1, w->event + k, (w->count - 1 - k) * sizeof *w->event);
        w->event[k] = i;
        break;
    case 3: /* another event */
        w->event[i] = roll(dice, events + 1);
        break;
    default:
        w->next = roll(dice, w->count + 2);
    }
}

static void compare(struct hd_checker *checker, const struct hd_model *m, enum hd_reading reading,
                    const struct hd_query *query, const struct hd_witness *witness) {
    struct hd_error whole = {0}, many = {0};
    bool first = hd_witness_check(m, reading, query, witness, &whole);
    bool second = hd_checker_check(checker, reading, query, witness, &many);
    assert_int_equal(first, second);
    if (!first) assert_string_equal(whole.message, many.message);
    good += first;
    bad += !first;
    early += witness->count > 4 && witness->event[0] == 0 && witness->event[1] == 1;
}

static void check_trace(uint64_t seed) {
    struct text_trace text;
    struct hd_model m;
    struct hd_error error;
    struct dice dice = {seed};
    if (seed % 2 == 0)
        random_hard_trace(seed, &text);
    else
        random_trace(seed, &text);
    if (!model_of_text(&text, &m, &error)) fail_msg("seed %llu", (unsigned long long)seed);
    struct hd_engine_base *base = hd_engine_base_build(&m);
    struct hd_checker *checker = hd_checker_new(&m);
    assert_non_null(checker);
    for (enum hd_reading reading = HD_CSR; reading <= HD_UA; reading++) {
        struct hd_engine *engine = hd_engine_new(base, reading, (struct hd_budget){0});
        for (unsigned n = 0; n < 12; n++) {
            struct question q;
            struct hd_witness witness = {0};
            if (!random_question(&m, &dice, &q)) continue;
            struct hd_query query = question_query(&q);
            if (hd_engine_decide(engine, &query, &witness) == HD_FEASIBLE) {
                compare(checker, &m, reading, &query, &witness);
                for (unsigned changes = 0; changes < 4; changes++) {
                    change(&dice, &witness, m.events);
                    compare(checker, &m, reading, &query, &witness);
                }
            }
            hd_witness_free(&witness);
        }
        hd_engine_free(engine);
    }
    hd_checker_free(checker);
    hd_engine_base_free(base);
    hd_model_free(&m);
}

/* A lock that was taken for writing too, and is still held for reading where the witness leaves the
 * trace's own beginning. */
static void still_reading(void **state) {
    (void)state;
    static const char *const line[] = {"T1|racq(l)", "T1|acq(l)", "T1|rel(l)", "T1|w(x)",
                                       "T1|rrel(l)", "T2|acq(l)", "T2|w(x)"};
    struct text_trace text = {.lines = 0};
    for (size_t i = 0; i < sizeof line / sizeof *line; i++)
        snprintf(text.line[text.lines++], TEXT_WIDTH, "%s", line[i]);
    struct hd_model m;
    struct hd_error error = {0};
    assert_true(model_of_text(&text, &m, &error));
    struct hd_stop stop[] = {{4, false}, {6, false}};
    struct hd_query query = {.stop = stop, .stops = 2, .reader = HD_NONE, .writer = HD_NONE};
    uint32_t event[] = {0, 1, 2, 3, 5, 4, 6};
    struct hd_witness witness = {.event = event, .count = 7, .next = 2};
    struct hd_checker *checker = hd_checker_new(&m);
    assert_false(hd_checker_check(checker, HD_CDSR, &query, &witness, &error));
    assert_non_null(strstr(error.message, "rule lock"));
    compare(checker, &m, HD_CDSR, &query, &witness);
    hd_checker_free(checker);
    hd_model_free(&m);
}

static void random_witnesses(void **state) {
    (void)state;
    const char *full = getenv("HEDDLE_TEST_FULL");
    uint64_t count = full != NULL && *full != '\0' ? 300000 : 6000;
    for (uint64_t seed = 1; seed <= count; seed++) check_trace(seed);
    assert_true(good > count && bad > count && early > count);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(still_reading),
                                       cmocka_unit_test(random_witnesses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
