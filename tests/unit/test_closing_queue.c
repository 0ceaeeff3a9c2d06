/* The order in which closing does its work: the pair of places that was seen least comes first. */
#include "explore/closing_queue.h"

#include "support/model_make.h"

static void add(struct closing_queue *queue, uint64_t pair, uint64_t number) {
    struct closing_work *work = hd_zalloc(1, sizeof *work);
    work->pair = pair;
    work->reader = number;
    closing_queue_add(queue, work);
}

static uint64_t take(struct closing_queue *queue, uint64_t *number) {
    struct closing_work *work = closing_queue_take(queue);
    assert_non_null(work);
    uint64_t pair = work->pair;
    if (number != NULL) *number = work->reader;
    free(work);
    return pair;
}

/* Little is left: the oldest comes first, whatever it is about. */
static void test_few(void **state) {
    (void)state;
    struct closing_queue queue = {0};
    for (unsigned i = 0; i < CLOSING_FEW; i++) add(&queue, i * 7 % 5, i);
    for (unsigned i = 0; i < CLOSING_FEW; i++) {
        uint64_t number;
        take(&queue, &number);
        assert_int_equal(number, i);
    }
    assert_null(closing_queue_take(&queue));
    closing_queue_free(&queue);
}

/* Of a pair with many runs and one with few, neither waits for all of the other's. */
static void test_turns(void **state) {
    (void)state;
    struct closing_queue queue = {0};
    enum { MANY = 200, FEW = 10 };
    for (unsigned i = 0; i < MANY; i++) add(&queue, 1, i);
    for (unsigned i = 0; i < FEW; i++) add(&queue, 2, i);
    unsigned few = 0;
    for (unsigned i = 0; i < 2 * FEW; i++) few += take(&queue, NULL) == 2;
    assert_int_equal(few, FEW);
    /* A new one comes at once, though the others came before it. */
    add(&queue, 3, 0);
    assert_int_equal(take(&queue, NULL), 3);
    for (unsigned i = 0; i < MANY - FEW; i++) assert_int_equal(take(&queue, NULL), 1);
    assert_null(closing_queue_take(&queue));
    assert_int_equal(queue.bytes, 0);
    closing_queue_free(&queue);
}

/* Each is taken once, also if some are given back on the way, and in the same order each time. */
static void test_all(void **state) {
    (void)state;
    enum { ALL = 500 };
    uint64_t order[2][ALL];
    for (int round = 0; round < 2; round++) {
        struct closing_queue queue = {0};
        bool taken[ALL] = {false};
        for (unsigned i = 0; i < ALL; i++) add(&queue, i * i % 7, i);
        for (unsigned i = 0; i < ALL / 3; i++) {
            struct closing_work *work = closing_queue_take(&queue);
            closing_queue_add(&queue, work);
        }
        for (unsigned i = 0; i < ALL; i++) {
            uint64_t number;
            take(&queue, &number);
            assert_false(taken[number]);
            taken[number] = true;
            order[round][i] = number;
        }
        assert_null(closing_queue_take(&queue));
        closing_queue_free(&queue);
    }
    assert_memory_equal(order[0], order[1], sizeof order[0]);
}

/* What a run has shown is not new any more: T2 sees T1's write in it, and T1 the initial value. */
static void test_saw(void **state) {
    (void)state;
    static const char text[] = "T0|fork(T1)|a:1\nT0|fork(T2)|a:2\nT1|r(x)|a:3\nT1|w(x)|a:4\n"
                               "T2|r(x)|a:3\nT2|w(x)|a:4\n";
    struct hd_model model;
    struct closing_view view = {0};
    struct closing_queue queue = {0};
    model_read(text, strlen(text), true, &model);
    uint64_t *id = hd_alloc(model.threads, sizeof *id);
    for (uint32_t t = 0; t < model.threads; t++) id[t] = t + 1;
    closing_view_build(&view, &model, id);
    uint32_t first = 2, second = 4; /* the reads */
    const struct closing_use *use = &view.use[view.use_start[second]];
    uint64_t known = closing_pair(&view, second, use->from);
    assert_int_not_equal(use->from, HD_NONE);
    assert_int_equal(known, closing_pair(&view, first, use->from)); /* by place, not by thread */
    assert_int_not_equal(known, closing_pair(&view, second, HD_NONE));
    closing_queue_saw(&queue, &view);
    for (unsigned i = 0; i < CLOSING_FEW; i++) add(&queue, known, 0);
    add(&queue, 12345, 0);
    assert_int_equal(take(&queue, NULL), 12345);
    for (unsigned i = 0; i < CLOSING_FEW; i++) assert_int_equal(take(&queue, NULL), known);
    closing_queue_free(&queue);
    closing_view_free(&view);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_few), cmocka_unit_test(test_turns),
                                       cmocka_unit_test(test_all), cmocka_unit_test(test_saw)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
