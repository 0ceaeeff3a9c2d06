/* Loops that poll (trace/fold_polling.c): of rounds that are the same and change nothing, with
 * nobody else's events between them, the first and the last are loaded. What is left out is nothing
 * else, calls stay where they were, and it is the same whether rounds come as loops or not. */
#include "support/counts_help.h"
#include "support/dice.h"
#include "trace/fold_parts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LENGTH = 6, ITEMS = 40, MOST = ITEMS * LENGTH * 40, THREADS = 2, LONGEST_ROUND = 48 };

struct item {
    uint32_t thread;
    size_t length;
    uint64_t rounds;
    struct hd_loop_event body[LENGTH];
};
struct program {
    struct item item[ITEMS];
    unsigned items;
};

static struct hd_loop_event some_event(unsigned kind, uint64_t operand, uint32_t site,
                                       unsigned calls, unsigned branches) {
    unsigned flags = kind == HD_EV_ATOMIC_READ || kind == HD_EV_ATOMIC_WRITE ? 2 : 0;
    return (struct hd_loop_event){
        {hd_wire_head(kind, flags, operand), hd_wire_tail(site, calls, branches)}, 0};
}

static void fold(const struct program *program, bool loops, struct hd_trace *trace) {
    struct hd_builder builder;
    struct hd_fold fold;
    struct hd_error error;
    size_t taken;
    hd_build_start(&builder, trace, HD_FORMAT_BINARY);
    hd_fold_start(&fold, &builder);
    hd_fold_filter(&fold, NULL, NULL, 0);
    for (unsigned i = 0; i < program->items; i++) {
        struct item item = program->item[i];
        if (loops) {
            assert_true(
                hd_fold_loop(&fold, item.body, item.length, item.rounds, &item.thread, &error));
            continue;
        }
        for (uint64_t r = 0; r < item.rounds; r++)
            for (size_t k = 0; k < item.length; k++)
                assert_true(
                    hd_fold_events(&fold, &item.body[k].event, 1, &item.thread, &taken, &error));
    }
    assert_true(hd_fold_finish(&fold, &error));
    hd_fold_free(&fold);
}

/* ---- what is there --------------------------------------------------------------------------- */

struct whole {
    uint32_t thread[MOST];
    struct hd_wire_event event[MOST];
    uint64_t calls[MOST]; /* of its thread, with it */
    size_t events;
};

static void write_out(const struct program *program, struct whole *whole) {
    uint64_t made[THREADS] = {0};
    whole->events = 0;
    for (unsigned i = 0; i < program->items; i++) {
        const struct item *item = &program->item[i];
        for (uint64_t r = 0; r < item->rounds; r++)
            for (size_t k = 0; k < item->length; k++) {
                size_t at = whole->events++;
                whole->thread[at] = item->thread;
                whole->event[at] = item->body[k].event;
                whole->calls[at] = made[item->thread] += hd_wire_calls(item->body[k].event.tail);
            }
    }
}

static bool changes_nothing(unsigned kind) {
    return kind == HD_EV_ATOMIC_READ || kind == HD_EV_ACQUIRE || kind == HD_EV_RELEASE ||
           kind == HD_EV_TRY_FAILED;
}

/* Do all events from here on, up to `to`, say what was said so many events before? */
static bool repeats(const struct whole *whole, size_t from, size_t to, size_t length) {
    for (size_t n = from; n < to; n++)
        if (whole->event[n].head != whole->event[n - length].head ||
            hd_wire_site(whole->event[n].tail) != hd_wire_site(whole->event[n - length].tail) ||
            whole->thread[n] != whole->thread[n - length] ||
            !changes_nothing(hd_wire_kind(whole->event[n].head)))
            return false;
    return true;
}

/* What is left out between two events is rounds of one length, the same as the one before them. */
static bool may_be_left_out(const struct whole *whole, size_t from, size_t to) {
    for (size_t length = 1; length <= LONGEST_ROUND && length <= from; length++)
        if ((to - from) % length == 0 && repeats(whole, from, to, length)) return true;
    return false;
}

static void check(const struct whole *whole, const struct hd_trace *trace) {
    uint64_t made[THREADS] = {0}, next = 0;
    assert_int_equal(trace->recorded, whole->events);
    for (uint32_t e = 0; e < trace->events; e++) {
        uint64_t n = hd_trace_number(trace, e);
        assert_true(n < whole->events && n >= next);
        assert_int_equal(trace->thread[e], whole->thread[n]);
        assert_int_equal(trace->kind[e], hd_wire_kind(whole->event[n].head));
        assert_int_equal(trace->operand[e], hd_wire_operand(whole->event[n].head));
        assert_int_equal(trace->site[e], hd_wire_site(whole->event[n].tail));
        made[trace->thread[e]] += trace->calls[e];
        assert_int_equal(made[trace->thread[e]], whole->calls[n]);
        if (n > next) assert_true(may_be_left_out(whole, next, n));
        next = n + 1;
    }
    assert_int_equal(next, whole->events);
    assert_int_equal(trace->hook_calls, made[0] + made[1]);
    uint64_t count[THREADS][HD_EV_KINDS] = {{0}};
    for (size_t n = 0; n < whole->events; n++)
        count[whole->thread[n]][hd_wire_kind(whole->event[n].head)]++;
    for (uint32_t t = 0; t < trace->threads; t++) {
        assert_memory_equal(trace->recorded_by[t].kinds, count[t], sizeof count[t]);
        assert_int_equal(calls_of(trace, t), made[t]);
    }
}

static void expect_same(const struct hd_trace *a, const struct hd_trace *b) {
    assert_int_equal(a->events, b->events);
    for (uint32_t e = 0; e < a->events; e++) {
        assert_int_equal(a->number[e], b->number[e]);
        assert_int_equal(a->calls[e], b->calls[e]);
        assert_int_equal(a->branches[e], b->branches[e]);
    }
    assert_int_equal(a->recorded, b->recorded);
    assert_int_equal(a->hook_calls, b->hook_calls);
}

static uint32_t compare(const struct program *program) {
    static struct whole whole;
    struct hd_trace trace[2];
    write_out(program, &whole);
    fold(program, false, &trace[0]);
    fold(program, true, &trace[1]);
    check(&whole, &trace[0]);
    check(&whole, &trace[1]);
    expect_same(&trace[0], &trace[1]);
    uint32_t events = trace[0].events;
    hd_trace_free(&trace[0]);
    hd_trace_free(&trace[1]);
    return events;
}

/* ---- programs -------------------------------------------------------------------------------- */

static uint64_t seed;
static int say_seed(void **unused) {
    (void)unused;
    printf("the latest seed was %llu\n", (unsigned long long)seed);
    return 0;
}

static struct item some_item(struct dice *dice) {
    static const unsigned kind[] = {HD_EV_ATOMIC_READ, HD_EV_ATOMIC_READ, HD_EV_ACQUIRE,
                                    HD_EV_RELEASE,     HD_EV_TRY_FAILED,  HD_EV_ATOMIC_WRITE};
    struct item item = {.thread = roll(dice, THREADS),
                        .length = 1 + roll(dice, LENGTH),
                        .rounds = roll(dice, 3) ? 1 + roll(dice, 39) : 1};
    for (size_t k = 0; k < item.length; k++) {
        unsigned which = kind[roll(dice, roll(dice, 3) ? 5 : 6)];
        item.body[k] =
            some_event(which, 0x1000 + 8 * roll(dice, 2), 1 + roll(dice, 3), 1, roll(dice, 2));
    }
    return item;
}

static void random_loops(void **unused) {
    (void)unused;
    uint64_t all = 0, kept = 0;
    for (seed = 1; seed <= 2000; seed++) {
        struct dice dice = {seed};
        static struct program program;
        program.items = 1 + roll(&dice, ITEMS);
        for (unsigned i = 0; i < program.items; i++) {
            bool again = i > 0 && roll(&dice, 3) == 0;
            program.item[i] = again ? program.item[roll(&dice, i)] : some_item(&dice);
            for (size_t k = 0; k < program.item[i].length; k++) all += program.item[i].rounds;
        }
        kept += compare(&program);
    }
    assert_true(kept < all * 3 / 4); /* otherwise little was tried */
}

/* Millions of rounds are a few events. */
static void long_loops(void **unused) {
    (void)unused;
    static struct program program = {.items = 3};
    struct hd_trace trace;
    program.item[0] = (struct item){.thread = 0, .length = 3, .rounds = 100000000};
    program.item[0].body[0] = some_event(HD_EV_ACQUIRE, 0x1000, 1, 1, 0);
    program.item[0].body[1] = some_event(HD_EV_READ, 0x2000, 2, 1, 1);
    program.item[0].body[1].event.head = hd_wire_head(HD_EV_READ, 4, 0x2000);
    program.item[0].body[2] = some_event(HD_EV_RELEASE, 0x1000, 3, 1, 0);
    program.item[1] = (struct item){.thread = 1, .length = 1, .rounds = 100000000};
    program.item[1].body[0] = some_event(HD_EV_ATOMIC_READ, 0x3000, 4, 1, 0);
    program.item[2] = (struct item){.thread = 0, .length = 1, .rounds = 1};
    program.item[2].body[0] = some_event(HD_EV_ATOMIC_WRITE, 0x3000, 5, 1, 0);
    fold(&program, true, &trace);
    assert_int_equal(trace.events, 2 * 3 + 2 + 1);
    assert_int_equal(trace.hook_calls, 400000001);
    assert_int_equal(hd_trace_number(&trace, 8), 400000000);
    assert_int_equal(trace.calls[3], 1 + 3 * (100000000 - 2));
    assert_int_equal(trace.recorded_by[0].kinds[HD_EV_READ], 100000000);
    assert_int_equal(trace.recorded_by[1].kinds[HD_EV_ATOMIC_READ], 100000000);
    hd_trace_free(&trace);
}

/* More calls than the column of an event has room for are counted all the same. */
static void more_calls_than_fit(void **unused) {
    (void)unused;
    static struct program program = {.items = 4};
    struct hd_trace trace;
    const uint64_t many = 5000000000;
    program.item[0] = (struct item){.thread = 0, .length = 1, .rounds = many};
    program.item[0].body[0] = some_event(HD_EV_ATOMIC_READ, 0x1000, 1, 1, 0);
    program.item[1] = program.item[0]; /* the same loop goes on */
    program.item[2] = (struct item){.thread = 0, .length = 1, .rounds = many};
    program.item[2].body[0] = some_event(HD_EV_READ, 0x2000, 2, 1, 0);
    program.item[2].body[0].event.head = hd_wire_head(HD_EV_READ, 4, 0x2000);
    program.item[3] = (struct item){.thread = 0, .length = 1, .rounds = 1};
    program.item[3].body[0] = some_event(HD_EV_ATOMIC_WRITE, 0x3000, 3, 1, 0);
    fold(&program, true, &trace);
    assert_int_equal(trace.calls[1], UINT32_MAX);
    assert_int_equal(trace.calls[trace.events - 1], UINT32_MAX);
    assert_int_equal(trace.recorded, 3 * many + 1);
    assert_int_equal(trace.hook_calls, 3 * many + 1);
    assert_int_equal(calls_of(&trace, 0), 3 * many + 1);
    assert_int_equal(trace.recorded_by[0].kinds[HD_EV_READ], many);
    hd_trace_free(&trace);
}

/* A loop in which something is changed is there as it is. */
static void loops_that_work(void **unused) {
    (void)unused;
    static struct program program = {.items = 1};
    program.item[0] = (struct item){.thread = 0, .length = 3, .rounds = 30};
    program.item[0].body[0] = some_event(HD_EV_ACQUIRE, 0x1000, 1, 1, 0);
    program.item[0].body[1] = some_event(HD_EV_ATOMIC_WRITE, 0x2000, 2, 1, 0);
    program.item[0].body[2] = some_event(HD_EV_RELEASE, 0x1000, 3, 1, 0);
    assert_int_equal(compare(&program), 90);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_loops),
        cmocka_unit_test(more_calls_than_fit),
        cmocka_unit_test(loops_that_work),
        cmocka_unit_test_teardown(random_loops, say_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
