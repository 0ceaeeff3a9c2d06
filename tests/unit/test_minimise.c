/* Minimisation of schedules, against programs that are made up: what must come before what. */
#include "explore/minimise.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka needs those before it */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

/* A made-up program: it fails if a list of calls happens in this order, and a schedule is followed
 * if others do. */
struct call {
    uint32_t thread;
    uint64_t number; /* from 1 */
};

struct program {
    struct call bad[8];
    uint32_t bads;
    struct call must[8][2]; /* the first before the second, else it is not followed */
    uint32_t musts;
    uint32_t asked;
};

/* When a call comes in a schedule, from 0; UINT64_MAX if it is in none of its turns. */
static uint64_t when(const struct hd_schedule *schedule, struct call call) {
    uint64_t made = 0, at = 0;
    for (size_t i = 0; i < schedule->turn.size + schedule->then.size; i++) {
        const struct hd_turn *turn = i < schedule->turn.size
                                         ? &schedule->turn.data[i]
                                         : &schedule->then.data[i - schedule->turn.size];
        uint64_t calls = turn->calls + turn->beyond;
        if (turn->thread == call.thread) {
            if (call.number > made && call.number <= made + calls) return at + call.number - made;
            made += calls;
        }
        at += calls;
    }
    return UINT64_MAX;
}

static bool fails(void *context, const struct hd_schedule *schedule) {
    struct program *program = context;
    program->asked++;
    uint64_t last = 0;
    for (uint32_t i = 0; i < program->bads; i++) {
        uint64_t at = when(schedule, program->bad[i]);
        if (at == UINT64_MAX || at < last) return false;
        last = at;
    }
    for (uint32_t i = 0; i < program->musts; i++) {
        uint64_t first = when(schedule, program->must[i][0]);
        uint64_t second = when(schedule, program->must[i][1]);
        if (second != UINT64_MAX && (first == UINT64_MAX || first > second)) return false;
    }
    return true;
}

static void add(struct hd_schedule *schedule, bool then, uint32_t thread, uint64_t calls) {
    struct hd_turn turn = {.thread = thread, .calls = calls, .to = ""};
    if (then)
        hd_vector_push(&schedule->then, turn);
    else
        hd_vector_push(&schedule->turn, turn);
}

/* Threads take turns, `each` calls at a time, `rounds` times. */
static struct hd_schedule round_robin(uint32_t threads, uint32_t rounds, uint64_t each) {
    struct hd_schedule schedule = {
        .kind = "run", .variable = "", .fingerprint = "", .about = "", .command = ""};
    for (uint32_t r = 0; r < rounds; r++)
        for (uint32_t t = 0; t < threads; t++) add(&schedule, false, t, each);
    return schedule;
}

static uint32_t minimise(struct hd_schedule *schedule, struct program *program, uint32_t most) {
    struct hd_minimise how = {.fails = fails, .context = program, .most = most};
    assert_true(fails(program, schedule));
    program->asked = 0;
    uint32_t before = hd_schedule_switches(schedule);
    hd_minimise(schedule, &how);
    assert_true(fails(program, schedule)); /* what is left fails */
    assert_int_equal(how.asked + 1, program->asked);
    assert_int_equal(how.switches_before, before);
    assert_int_equal(how.switches_after, hd_schedule_switches(schedule));
    assert_true(how.switches_after <= before);
    return how.switches_after;
}

/* An access of T1 between two of T0: two changes of thread, and a third nowhere. */
static void test_triple(void **state) {
    (void)state;
    struct hd_schedule schedule = round_robin(4, 25, 3);
    struct program program = {.bad = {{0, 10}, {1, 14}, {0, 16}}, .bads = 3};
    assert_int_equal(minimise(&schedule, &program, 0), 2);
    assert_int_equal(schedule.turn.size, 3);
    assert_int_equal(schedule.turn.data[0].thread, 0);
    assert_int_equal(schedule.turn.data[1].thread, 1);
    assert_int_equal(schedule.turn.data[2].thread, 0);
    hd_schedule_free(&schedule);
}

/* Nothing at all has to be changed: every switch goes. */
static void test_everything_goes(void **state) {
    (void)state;
    struct hd_schedule schedule = round_robin(3, 40, 2);
    struct program program = {0};
    assert_int_equal(minimise(&schedule, &program, 0), 0);
    assert_true(schedule.turn.size <= 1);
    hd_schedule_free(&schedule);
}

/* Every thread has to run between two others: nothing can go. */
static void test_nothing_goes(void **state) {
    (void)state;
    struct hd_schedule schedule = round_robin(3, 2, 1);
    struct program program = {.bad = {{0, 1}, {1, 1}, {2, 1}, {0, 2}, {1, 2}, {2, 2}}, .bads = 6};
    assert_int_equal(minimise(&schedule, &program, 0), 5);
    assert_int_equal(schedule.turn.size, 6);
    hd_schedule_free(&schedule);
}

/* A thread that has to exist, or a lock that has to be free, keeps turns that the failure itself
 * does not need. */
static void test_what_must_come_before(void **state) {
    (void)state;
    struct hd_schedule schedule = round_robin(3, 12, 2);
    struct program program = {.bad = {{1, 8}, {2, 9}, {1, 12}},
                              .bads = 3,
                              .must = {{{0, 1}, {1, 1}}, {{0, 2}, {2, 1}}},
                              .musts = 2};
    assert_int_equal(minimise(&schedule, &program, 0), 3); /* T0 T1 T2 T1 */
    assert_int_equal(schedule.turn.data[0].thread, 0);
    hd_schedule_free(&schedule);
}

/* What comes next at the end stays, and finds its threads where they were. */
static void test_then_stays(void **state) {
    (void)state;
    struct hd_schedule schedule = round_robin(3, 10, 2);
    add(&schedule, true, 1, 1);
    add(&schedule, true, 0, 1);
    struct program program = {.bad = {{1, 21}, {0, 21}}, .bads = 2};
    minimise(&schedule, &program, 0);
    assert_int_equal(schedule.then.size, 2);
    uint64_t calls[2] = {0};
    for (size_t i = 0; i < schedule.turn.size; i++)
        if (schedule.turn.data[i].thread < 2)
            calls[schedule.turn.data[i].thread] +=
                schedule.turn.data[i].calls + schedule.turn.data[i].beyond;
    assert_int_equal(calls[0], 20);
    assert_int_equal(calls[1], 20);
    assert_true(hd_schedule_switches(&schedule) <= 2);
    hd_schedule_free(&schedule);
}

/* Calls that are in no trace, and waits that are over without one, go with their turns. */
static void test_beyond(void **state) {
    (void)state;
    struct hd_schedule schedule = round_robin(2, 6, 2);
    for (size_t i = 0; i < schedule.turn.size; i++) {
        if (i % 3 == 0) {
            schedule.turn.data[i].calls = 0;
            schedule.turn.data[i].beyond = 2;
        } else if (i % 3 == 1) {
            schedule.turn.data[i].calls = 1;
            schedule.turn.data[i].beyond = 1;
        }
    }
    struct program program = {.bad = {{0, 12}, {1, 12}}, .bads = 2}; /* all of them */
    assert_int_equal(minimise(&schedule, &program, 0), 1);
    hd_schedule_free(&schedule);
}

/* Whatever is tried, threads that come next have made all their calls by then. */
static bool always(void *context, const struct hd_schedule *schedule) {
    uint64_t calls[3] = {0};
    ++*(uint32_t *)context;
    for (size_t i = 0; i < schedule->turn.size; i++)
        calls[schedule->turn.data[i].thread] +=
            schedule->turn.data[i].calls + schedule->turn.data[i].beyond;
    for (int t = 0; t < 3; t++) assert_int_equal(calls[t], 24);
    return true;
}

static void test_counts_stay(void **state) {
    (void)state;
    struct hd_schedule schedule = round_robin(3, 12, 2);
    for (size_t i = 0; i < schedule.turn.size; i += 2) {
        schedule.turn.data[i].beyond = schedule.turn.data[i].calls;
        schedule.turn.data[i].calls = 0;
    }
    for (uint32_t t = 0; t < 3; t++) add(&schedule, true, t, 1);
    uint32_t asked = 0;
    struct hd_minimise how = {.fails = always, .context = &asked};
    hd_minimise(&schedule, &how);
    assert_true(asked > 0 && how.asked == asked);
    assert_true(how.switches_after <= 4);
    hd_schedule_free(&schedule);
}

/* A thread that comes next late: its calls can only be put off, to the very end. */
static void test_put_off(void **state) {
    (void)state;
    struct hd_schedule schedule = {
        .kind = "run", .variable = "", .fingerprint = "", .about = "", .command = ""};
    for (uint32_t i = 0; i < 3; i++) {
        add(&schedule, false, 0, 1);
        add(&schedule, false, 2, 1);
        add(&schedule, false, 1, 1);
    }
    add(&schedule, true, 1, 1);
    struct program program = {.bad = {{0, 3}, {2, 3}, {1, 4}},
                              .bads = 3,
                              .must = {{{0, 1}, {1, 1}}, {{2, 2}, {1, 2}}},
                              .musts = 2};
    assert_int_equal(minimise(&schedule, &program, 0), 2); /* T0 T2 T1 */
    assert_int_equal(schedule.turn.size, 3);
    assert_int_equal(schedule.turn.data[2].thread, 1);
    hd_schedule_free(&schedule);
}

static uint64_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return *state >> 33;
}

/* Against the best that there is: for a bad list of calls, one turn for each change of thread. */
static void test_random(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t random = seed;
        uint32_t threads = 2 + (uint32_t)(next_random(&random) % 4);
        struct hd_schedule schedule = {
            .kind = "run", .variable = "", .fingerprint = "", .about = "", .command = ""};
        uint64_t made[6] = {0};
        struct program program = {.bads = 2 + (uint32_t)(next_random(&random) % 4)};
        uint32_t turns = 20 + (uint32_t)(next_random(&random) % 100), found = 0, last = UINT32_MAX;
        for (uint32_t i = 0; i < turns; i++) {
            uint32_t thread = (uint32_t)(next_random(&random) % threads);
            uint64_t calls = 1 + next_random(&random) % 5;
            add(&schedule, false, thread, calls);
            made[thread] += calls;
            if (found < program.bads && thread != last && next_random(&random) % 8 == 0) {
                program.bad[found++] = (struct call){thread, made[thread]};
                last = thread;
            }
        }
        program.bads = found;
        uint32_t best = found > 0 ? found - 1 : 0;
        uint32_t switches = minimise(&schedule, &program, 100000);
        if (switches != best) {
            printf("seed %llu\n", (unsigned long long)seed);
            assert_int_equal(switches, best);
        }
        hd_schedule_free(&schedule);
    }
}

/* Long schedules take few questions, and a limit is kept. */
static void test_questions(void **state) {
    (void)state;
    struct hd_schedule schedule = round_robin(8, 500, 5);
    struct program program = {.bad = {{3, 1200}, {5, 1300}, {3, 1400}}, .bads = 3};
    assert_int_equal(minimise(&schedule, &program, 0), 2);
    assert_true(program.asked < 250);
    hd_schedule_free(&schedule);
    schedule = round_robin(8, 50, 5);
    program = (struct program){.bad = {{3, 120}, {5, 130}, {3, 140}}, .bads = 3};
    minimise(&schedule, &program, 5);
    assert_true(program.asked <= 6);
    hd_schedule_free(&schedule);
}

static bool at_once(void *context) {
    (void)context;
    return true;
}

static void test_enough(void **state) {
    (void)state;
    struct hd_schedule schedule = round_robin(3, 10, 2);
    struct program program = {0};
    struct hd_minimise how = {.fails = fails, .enough = at_once, .context = &program};
    hd_minimise(&schedule, &how);
    assert_int_equal(how.asked, 0);
    assert_int_equal(schedule.turn.size, 30);
    hd_schedule_free(&schedule);
    struct hd_schedule empty = {0};
    hd_minimise(&empty, &how);
    hd_schedule_free(&empty);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_triple),       cmocka_unit_test(test_everything_goes),
        cmocka_unit_test(test_nothing_goes), cmocka_unit_test(test_what_must_come_before),
        cmocka_unit_test(test_then_stays),   cmocka_unit_test(test_beyond),
        cmocka_unit_test(test_counts_stay),  cmocka_unit_test(test_put_off),
        cmocka_unit_test(test_random),       cmocka_unit_test(test_questions),
        cmocka_unit_test(test_enough)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
