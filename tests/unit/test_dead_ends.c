/* Dead ends: which schedules need not be run after one got stuck. */
#include "explore/dead_ends.h"
#include "trace/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct turn {
    uint32_t thread;
    uint64_t calls, beyond;
};

static struct hd_schedule schedule_of(const struct turn *turn, uint32_t turns, uint32_t thens) {
    struct hd_schedule schedule = {0};
    for (uint32_t i = 0; i < turns + thens; i++) {
        struct hd_turn added = {turn[i].thread, turn[i].calls, turn[i].beyond, ""};
        if (i < turns)
            hd_vector_push(&schedule.turn, added);
        else
            hd_vector_push(&schedule.then, added);
    }
    return schedule;
}

static void got_stuck(struct hd_dead_ends *ends, const struct turn *turn, uint32_t turns,
                      uint32_t at, enum hd_replay_reason reason, uint64_t calls) {
    struct hd_schedule schedule = schedule_of(turn, turns, 0);
    struct hd_result run = {0};
    struct hd_wire_replay_answer answer = {.state = HD_REPLAY_DIVERGED,
                                           .reason = reason,
                                           .turn = at,
                                           .thread = turn[at].thread,
                                           .calls = calls};
    memcpy(run.answer, &answer, sizeof answer);
    hd_dead_ends_add(ends, &schedule, &run);
    hd_schedule_free(&schedule);
}

static bool is_dead(const struct hd_dead_ends *ends, const struct turn *turn, uint32_t turns,
                    uint32_t thens) {
    struct hd_schedule schedule = schedule_of(turn, turns, thens);
    bool dead = hd_dead_ends_has(ends, &schedule);
    hd_schedule_free(&schedule);
    return dead;
}
#define DEAD(...)                                \
    is_dead(&ends, (struct turn[]){__VA_ARGS__}, \
            sizeof(struct turn[]){__VA_ARGS__} / sizeof(struct turn), 0)

static void blocked(void **state) {
    (void)state;
    struct hd_dead_ends ends = {0};
    assert_false(DEAD({0, 10, 0}, {1, 7, 0}));
    /* T1 is blocked in its call 5, of 7 that it should make after 10 calls of T0. */
    got_stuck(&ends, (struct turn[]){{0, 10, 0}, {1, 7, 0}, {0, 3, 0}}, 3, 1, HD_REPLAY_BLOCKED, 5);
    assert_true(DEAD({0, 10, 0}, {1, 7, 0}, {0, 3, 0}));
    assert_true(DEAD({0, 10, 0}, {1, 7, 0}, {2, 1, 0}));
    assert_true(DEAD({0, 10, 0}, {1, 9, 0}));
    assert_true(DEAD({0, 10, 0}, {1, 5, 0}));
    assert_false(DEAD({0, 10, 0}, {1, 4, 0}));            /* does not get there */
    assert_false(DEAD({0, 10, 0}, {1, 4, 3}, {2, 1, 0})); /* what is beyond need not come */
    assert_false(DEAD({0, 11, 0}, {1, 7, 0}));            /* may have been woken by then */
    assert_false(DEAD({0, 10, 1}, {1, 7, 0}));
    assert_false(DEAD({0, 10, 0}, {2, 7, 0}));
    assert_false(DEAD({0, 10, 0}));
    /* An acquire that closes a deadlock is to block. */
    assert_false(is_dead(&ends, (struct turn[]){{0, 10, 0}, {1, 7, 0}}, 1, 1));
    hd_dead_ends_free(&ends);
}

static void in_two_turns(void **state) {
    (void)state;
    struct hd_dead_ends ends = {0};
    /* Calls are counted over a thread's life: 2 in its first turn, 3 more make 5. */
    struct turn stuck[] = {{1, 2, 0}, {0, 4, 0}, {1, 6, 0}};
    got_stuck(&ends, stuck, 3, 2, HD_REPLAY_BLOCKED, 5);
    assert_true(DEAD({1, 2, 0}, {0, 4, 0}, {1, 3, 0}));
    assert_false(DEAD({1, 2, 0}, {0, 4, 0}, {1, 2, 0}));
    hd_dead_ends_free(&ends);
}

static void other_reasons(void **state) {
    (void)state;
    struct hd_dead_ends ends = {0};
    got_stuck(&ends, (struct turn[]){{0, 1, 0}, {1, 7, 0}}, 2, 1, HD_REPLAY_ENDED, 5);
    assert_false(DEAD({0, 1, 0}, {1, 5, 0})); /* it made them all */
    assert_true(DEAD({0, 1, 0}, {1, 6, 0}));
    got_stuck(&ends, (struct turn[]){{0, 2, 0}, {3, 1, 0}}, 2, 1, HD_REPLAY_NO_THREAD, 0);
    assert_true(DEAD({0, 2, 0}, {3, 1, 0}));
    assert_true(DEAD({0, 2, 0}, {3, 0, 0}));
    got_stuck(&ends, (struct turn[]){{0, 3, 0}, {1, 7, 0}}, 2, 1, HD_REPLAY_BAD_PLAN, 0);
    assert_false(DEAD({0, 3, 0}, {1, 7, 0}));
    hd_dead_ends_free(&ends);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(blocked), cmocka_unit_test(in_two_turns),
                                       cmocka_unit_test(other_reasons)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
