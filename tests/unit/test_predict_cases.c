/* Questions that an engine once got wrong or did not get done with, as the oracle shrank them. */
#include "engine/polygraph.h"
#include "oracle/predict_oracle.h"

static struct text_trace text_of(const char *lines) {
    struct text_trace text = {.lines = 0};
    for (const char *end; (end = strchr(lines, '\n')) != NULL; lines = end + 1) {
        memcpy(text.line[text.lines], lines, (size_t)(end - lines));
        text.line[text.lines++][end - lines] = '\0';
    }
    return text;
}

static void ask_one(const struct text_trace *text, const struct small *small,
                    struct hd_engine *engine, const struct question *q) {
    struct oracle_answer answer = oracle_ask(small, engine, engine->reading, q);
    if (*answer.wrong != '\0') {
        oracle_print(text, engine->reading, q);
        fail_msg("%s%s", answer.wrong, engine->contrary ? ", contrary" : "");
    }
    hd_engine_free(engine);
}

/* In all three models, deciding well and badly, with little time: these are a few events. */
static void ask(const char *lines, struct question q) {
    struct text_trace text = text_of(lines);
    struct hd_model model;
    struct hd_error error;
    struct small small;
    assert_true(model_of_text(&text, &model, &error));
    small_build(&small, &model);
    struct hd_engine_base *base = hd_engine_base_build(&model);
    for (enum hd_reading reading = HD_CSR; reading <= HD_UA; reading++) {
        struct hd_budget budget = {.nanoseconds = 5000000000};
        ask_one(&text, &small, hd_engine_new(base, reading, budget), &q);
        struct hd_engine *contrary = hd_engine_new(base, reading, budget);
        contrary->contrary = true;
        ask_one(&text, &small, contrary, &q);
    }
    hd_engine_base_free(base);
    hd_model_free(&model);
}

/* A read outside the cut whose write is before an update of another thread. */
static void read_before_update(void **state) {
    (void)state;
    struct question q = question_start("race");
    q.stop[q.stops++] = (struct hd_stop){3, false};
    ask("T0|w(x)\nT0|r(x)\nT2|arw(x)\nT2|w(x)\n", q);
    ask("T0|aw(x)\nT0|r(x)\nT1|arw(x)\nT1|w(x)\n", q);
}

/* The update need not keep its write, so that nothing that comes after it needs that write. */
static void exempt_update_is_read(void **state) {
    (void)state;
    struct question q = question_start("order");
    q.stop[q.stops++] = (struct hd_stop){0, true};
    q.stop[q.stops++] = (struct hd_stop){2, true};
    q.order[q.orders++] = (struct hd_precedes){4, 3};
    ask("T3|w(y)\nT3|w(y)\nT0|arw(y)\nT1|ar(y)\nT2|w(x)\n", q);
    q = question_start("update");
    q.stop[q.stops++] = (struct hd_stop){2, true};
    q.stop[q.stops++] = (struct hd_stop){1, false};
    q.order[q.orders++] = (struct hd_precedes){0, 3};
    ask("T2|arw(y)\nT3|w(x)\nT0|arw(x)\nT1|r(x)\n", q);
}

/* Two updates that both are to see the same write. */
static void two_updates_of_one_write(void **state) {
    (void)state;
    struct question q = question_start("reader");
    q.stop[q.stops++] = (struct hd_stop){3, true};
    q.stop[q.stops++] = (struct hd_stop){4, true};
    q.reader = 3;
    q.writer = 0;
    ask("T1|w(x)\nT2|arw(x)\nT2|w(x)\nT0|arw(x)\nT2|acq(l0)\n", q);
}

/* A decision between blocks that came into the cut by an earlier one: it must not be taken for a
 * consequence of that. */
static void decision_about_what_came_in(void **state) {
    (void)state;
    ask("T0|w(y)\nT2|aw(a)\nT0|w(x)\nT2|r(y)\nT3|w(x)\nT2|w(y)\nT2|arw(a)\nT0|r(x)\nT0|r(y)\n"
        "T3|aw(a)\nT3|w(y)\nT3|w(y)\n",
        race_question(8, 11));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_before_update), cmocka_unit_test(exempt_update_is_read),
        cmocka_unit_test(two_updates_of_one_write), cmocka_unit_test(decision_about_what_came_in)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
