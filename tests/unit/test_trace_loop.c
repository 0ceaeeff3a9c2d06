/* Loops are folded, filtered and looked at for sharing as if their events came one by one: random
 * programs of loops and single events give the same trace both ways. */
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

enum { ITEMS = 60, LENGTH = 6, THREADS = 3 };

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

/* ---- random programs ------------------------------------------------------------------------ */

struct habits {
    uint64_t base;
    unsigned bytes;   /* of memory in use */
    unsigned sites;   /* few: loops come again */
    unsigned rounds;  /* at most */
    unsigned regular; /* of 10 loops, those of words with a stride of words */
    unsigned others;  /* one of so many events is none of the simple accesses */
    bool calls;       /* they are calls and returns */
};

/* Every other site shares its slot in the table of places (fold.h) with the one before. */
static uint32_t some_site(struct dice *dice, unsigned sites) {
    static uint32_t twin[20];
    unsigned number = roll(dice, sites);
    if (number % 2 == 0) return number + 1;
    if (twin[number] == 0) {
        uint32_t slot = fold_place_slot(number);
        for (twin[number] = 1000; fold_place_slot(twin[number]) != slot;) twin[number]++;
    }
    return twin[number];
}

static struct hd_wire_event some_access(struct dice *dice, const struct habits *habits,
                                        unsigned bytes) {
    uint64_t at = roll(dice, habits->bytes);
    if (roll(dice, 8)) at &= ~(uint64_t)7;
    return (struct hd_wire_event){
        hd_wire_head(roll(dice, 3) ? HD_EV_READ : HD_EV_WRITE, bytes, habits->base + at),
        hd_wire_tail(some_site(dice, habits->sites), roll(dice, 3), roll(dice, 3))};
}

static struct hd_wire_event some_other(struct dice *dice, const struct habits *habits) {
    static const unsigned kind[] = {HD_EV_ACQUIRE, HD_EV_RELEASE,      HD_EV_PUSH,  HD_EV_POP,
                                    HD_EV_EXT,     HD_EV_ATOMIC_WRITE, HD_EV_ALLOC, HD_EV_COUNT,
                                    HD_EV_ACQUIRE, HD_EV_FREE,         HD_EV_PUSH,  HD_EV_RELEASE};
    unsigned k = kind[roll(dice, sizeof kind / sizeof *kind)];
    if (habits->calls && (k != HD_EV_ACQUIRE || roll(dice, 20)))
        k = roll(dice, 2) ? HD_EV_PUSH : HD_EV_POP;
    uint64_t operand = habits->base + roll(dice, habits->bytes) / 8 * 8, tail = 0;
    if (k == HD_EV_PUSH || k == HD_EV_POP) operand = 1 + roll(dice, 3);
    if (k == HD_EV_EXT || k == HD_EV_COUNT) operand = 1 + roll(dice, 40);
    if (k != HD_EV_POP && k != HD_EV_EXT) tail = 200 + roll(dice, 5);
    if (k == HD_EV_PUSH || k == HD_EV_POP) tail |= hd_wire_tail(0, roll(dice, 3), roll(dice, 2));
    return (struct hd_wire_event){
        hd_wire_head(k, k == HD_EV_ATOMIC_WRITE ? roll(dice, 4) : 0, operand), tail};
}

static struct item some_item(struct dice *dice, const struct habits *habits) {
    static const unsigned size[] = {8, 8, 8, 4, 4, 1, 2, 16, 24, 3};
    static const int64_t stride[] = {8, 8, 0, 4, -8, 24, 1, 2, -4, 1280, 5, 40};
    struct item item = {.thread = roll(dice, THREADS), .rounds = 1 + roll(dice, habits->rounds)};
    if (roll(dice, 3) == 0) item.rounds = 1;
    item.length = 1 + roll(dice, LENGTH);
    bool regular = roll(dice, 10) < habits->regular;
    int64_t common = stride[roll(dice, regular ? 5 : 12)];
    unsigned bytes = size[roll(dice, regular ? 5 : 10)];
    for (size_t i = 0; i < item.length; i++) {
        struct hd_loop_event *e = &item.body[i];
        bool other = habits->others != 0 && roll(dice, habits->others) == 0;
        unsigned now = roll(dice, 4) ? bytes : size[roll(dice, regular ? 5 : 10)];
        e->event =
            other ? some_other(dice, habits) : some_access(dice, habits, roll(dice, 40) ? now : 0);
        e->stride = (uint64_t)(roll(dice, 3) ? common : stride[roll(dice, 12)]);
        if (other) e->stride = 0;
        /* near another one: what is read is written, or was read by the next round */
        if (!other && i > 0 && roll(dice, 2)) {
            const struct hd_loop_event *before = &item.body[roll(dice, (unsigned)i)];
            int64_t off = roll(dice, 2) ? 0 : ((int64_t)roll(dice, 5) - 2) * common;
            e->event.head = (e->event.head & 0xffff) |
                            (hd_wire_operand(before->event.head) + (uint64_t)off) << 16;
            e->stride = before->stride;
        }
    }
    return item;
}

/* All threads meet at a barrier. */
static void make_barrier(struct item *item, uint64_t number) {
    for (uint32_t i = 0; i < 2 * THREADS; i++) {
        bool arrives = i < THREADS;
        item[i] = (struct item){.thread = i % THREADS, .rounds = 1, .length = arrives ? 2 : 1};
        item[i].body[0].event.head = hd_wire_head(HD_EV_EXT, 0, number);
        item[i].body[arrives].event.head =
            hd_wire_head(arrives ? HD_EV_BARRIER_ARRIVE : HD_EV_BARRIER_LEAVE, 0, 8);
    }
}

/* Some begin and end with one thread, which makes and joins the others. */
static void make_threads(struct dice *dice, struct program *program) {
    unsigned from = roll(dice, program->items), to = from + roll(dice, program->items - from);
    for (unsigned i = 0; i < program->items; i++) {
        struct item *item = &program->item[i];
        if (i < from || i > to) item->thread = 0;
        if (i < from || i > to || (i - from >= THREADS - 1 && to - i >= THREADS - 1)) continue;
        bool makes = i - from < THREADS - 1;
        uint32_t other = 1 + (makes ? i - from : to - i);
        *item = (struct item){.thread = 0, .rounds = 1, .length = 1};
        item->body[0].event.head = hd_wire_head(makes ? HD_EV_FORK : HD_EV_JOIN, 0, other);
    }
    unsigned first = from + THREADS - 1, end = to - (THREADS - 1);
    for (unsigned number = 1; to >= THREADS && first + 2 * THREADS < end; number++) {
        first += roll(dice, end - first - 2 * THREADS);
        make_barrier(&program->item[first], number);
        first += 2 * THREADS;
    }
}

static void make(struct dice *dice, const struct habits *habits, struct program *program) {
    program->items = 2 + roll(dice, ITEMS - 2);
    for (unsigned i = 0; i < program->items; i++) {
        /* often a loop that was there already, elsewhere perhaps */
        if (i > 0 && roll(dice, 3)) {
            program->item[i] = program->item[roll(dice, i)];
            if (roll(dice, 4) == 0) program->item[i].thread = roll(dice, THREADS);
            if (roll(dice, 3) == 0) program->item[i].rounds = 1 + roll(dice, habits->rounds);
        } else {
            program->item[i] = some_item(dice, habits);
        }
    }
    if (roll(dice, 2)) make_threads(dice, program);
}

/* ---- both ways ------------------------------------------------------------------------------ */

enum way { ONE_BY_ONE, AS_LOOPS };

static void look(const struct program *program, enum way way, struct hd_sharing *sharing) {
    for (unsigned i = 0; i < program->items; i++) {
        struct item item = program->item[i];
        size_t taken;
        if (way == AS_LOOPS)
            hd_sharing_loop(sharing, item.body, item.length, item.rounds, &item.thread);
        else
            for (uint64_t r = 0; r < item.rounds; r++)
                for (size_t k = 0; k < item.length; k++) {
                    hd_sharing_events(sharing, &item.body[k].event, 1, &item.thread, &taken);
                    item.body[k].event.head += item.body[k].stride << 16;
                }
    }
    hd_sharing_again(sharing);
}

static void fold(const struct program *program, enum way way, bool filter, uint32_t sharing_pages,
                 struct hd_trace *trace) {
    struct hd_builder builder;
    struct hd_fold fold;
    struct hd_error error;
    struct hd_sharing *sharing = NULL;
    hd_build_start(&builder, trace, HD_FORMAT_BINARY);
    hd_fold_start(&fold, &builder);
    if (sharing_pages != 0) {
        sharing = hd_sharing_new(sharing_pages, 0, program->items % 2 == 0);
        look(program, way, sharing);
    }
    if (filter) hd_fold_filter(&fold, sharing, NULL, 0);
    for (unsigned i = 0; i < program->items; i++) {
        struct item item = program->item[i];
        if (way == AS_LOOPS) {
            assert_true(
                hd_fold_loop(&fold, item.body, item.length, item.rounds, &item.thread, &error));
            for (size_t k = 0; k < item.length; k++)
                assert_int_equal(hd_wire_operand(item.body[k].event.head),
                                 hd_wire_operand(program->item[i].body[k].event.head +
                                                 ((item.body[k].stride * item.rounds) << 16)));
            continue;
        }
        for (uint64_t r = 0; r < item.rounds; r++) {
            struct hd_wire_event event[LENGTH];
            size_t taken;
            hd_loop_unroll(item.body, item.length, 1, event);
            assert_true(hd_fold_events(&fold, event, item.length, &item.thread, &taken, &error));
            assert_int_equal(taken, item.length);
        }
    }
    assert_true(hd_fold_finish(&fold, &error));
    hd_fold_free(&fold);
    hd_sharing_free(sharing);
}

#define SAME(column, count) assert_memory_equal(a->column, b->column, (count) * sizeof *a->column)

static void expect_same(const struct hd_trace *a, const struct hd_trace *b) {
    size_t events = a->events < b->events ? a->events : b->events;
    SAME(operand, events);
    SAME(site, events);
    SAME(thread, events);
    SAME(kind, events);
    SAME(flags, events);
    assert_int_equal(a->events, b->events);
    SAME(stack, events);
    SAME(calls, events);
    SAME(branches, events);
    assert_int_equal(a->number != NULL, b->number != NULL);
    if (a->number != NULL) SAME(number, events);
    assert_int_equal(a->extras, b->extras);
    SAME(extra_event, a->extras);
    SAME(extra_value, a->extras);
    assert_int_equal(a->stacks, b->stacks);
    SAME(stack_parent, a->stacks);
    SAME(stack_site, a->stacks);
    SAME(stack_step, a->stacks);
    assert_int_equal(a->threads, b->threads);
    assert_int_equal(a->recorded, b->recorded);
    assert_int_equal(a->hook_calls, b->hook_calls);
}

static uint64_t seed;
static unsigned way;
static int say_seed(void **unused) {
    (void)unused;
    printf("the latest seed was %llu, way %u\n", (unsigned long long)seed, way);
    return 0;
}

/* Calls after a thread's last event are no event's where all are loaded. */
static void check_counts(const struct hd_trace *part, const struct hd_trace *whole) {
    uint64_t calls = 0;
    assert_true(has_kinds_of(part, whole));
    for (uint32_t t = 0; t < part->threads; t++) {
        assert_true(calls_of(part, t) >= calls_of(whole, t));
        calls += calls_of(part, t);
    }
    assert_int_equal(calls, part->hook_calls);
}

static void compare(const struct program *program, uint64_t *all, uint64_t *kept) {
    struct hd_trace whole;
    fold(program, ONE_BY_ONE, false, 0, &whole);
    for (way = 0; way < 4; way++) {
        struct hd_trace trace[2];
        uint32_t pages = way < 2 ? 0 : way == 2 ? 100 : 2;
        fold(program, ONE_BY_ONE, way > 0, pages, &trace[0]);
        fold(program, AS_LOOPS, way > 0, pages, &trace[1]);
        expect_same(&trace[0], &trace[1]);
        if (way == 0) *all += trace[0].events;
        if (way == 1) *kept += trace[0].events;
        for (unsigned i = 0; i < 2; i++) {
            if (way > 0) check_counts(&trace[i], &whole);
            hd_trace_free(&trace[i]);
        }
    }
    hd_trace_free(&whole);
}

static void try_programs(const struct habits *habits, uint64_t first, unsigned count) {
    uint64_t all = 0, kept = 0;
    for (seed = first; seed < first + count; seed++) {
        struct dice dice = {seed};
        struct program program;
        make(&dice, habits, &program);
        compare(&program, &all, &kept);
    }
    /* otherwise little was tried */
    assert_true(kept < all * 9 / 10);
}

static void plain_loops(void **unused) {
    (void)unused;
    try_programs(
        &(struct habits){
            .base = 0x10000 - 512, .bytes = 1024, .sites = 6, .rounds = 60, .regular = 10},
        1, 300);
    try_programs(
        &(struct habits){.base = 0x10000, .bytes = 64, .sites = 3, .rounds = 300, .regular = 8},
        10000, 100);
}

static void loops_of_all_sorts(void **unused) {
    (void)unused;
    try_programs(&(struct habits){.base = 0x20000 - 256,
                                  .bytes = 512,
                                  .sites = 8,
                                  .rounds = 40,
                                  .regular = 4,
                                  .others = 20},
                 20000, 400);
}

/* Calls that end where they began, and others; the same sites below different ones. */
static void loops_with_calls(void **unused) {
    (void)unused;
    struct habits habits = {.base = 0x10000 - 512,
                            .bytes = 512,
                            .sites = 9,
                            .rounds = 40,
                            .regular = 9,
                            .others = 3,
                            .calls = true};
    try_programs(&habits, 40000, 400);
    habits.bytes = 32;
    habits.sites = 1; /* below several calls */
    try_programs(&habits, 50000, 300);
}

/* Operands have 48 bits, and go on from 0 after the last. */
static void loops_around_the_end(void **unused) {
    (void)unused;
    try_programs(&(struct habits){.base = HD_OPERAND_MASK - 300,
                                  .bytes = 299,
                                  .sites = 4,
                                  .rounds = 60,
                                  .regular = 8,
                                  .others = 60},
                 30000, 150);
}

/* ---- what chance seldom finds ---------------------------------------------------------------- */

static void add(struct program *program, uint32_t thread, uint64_t rounds, size_t length,
                const struct hd_loop_event *body) {
    struct item *item = &program->item[program->items++];
    *item = (struct item){.thread = thread, .rounds = rounds, .length = length};
    memcpy(item->body, body, length * sizeof *body);
}
#define LOOP(program, thread, rounds, ...)                                                  \
    add(program, thread, rounds,                                                            \
        sizeof((const struct hd_loop_event[]){__VA_ARGS__}) / sizeof(struct hd_loop_event), \
        (const struct hd_loop_event[]){__VA_ARGS__})
#define X 0x10400
#define READ(site, address, stride_)                                               \
    {                                                                              \
        .event = {hd_wire_head(HD_EV_READ, 8, address), hd_wire_tail(site, 1, 0)}, \
        .stride = (stride_)                                                        \
    }
#define SYNC                                                                      \
    {                                                                             \
        .event = { hd_wire_head(HD_EV_RELEASE, 0, 0x77), hd_wire_tail(99, 1, 0) } \
    }

/* A range comes by a word while accesses of others to it are in the middle of their round. */
static void ranges_that_cross(void **unused) {
    (void)unused;
    static struct program program;
    uint64_t all = 0, kept = 0;
    LOOP(&program, 0, 3, READ(2, X, 0));
    LOOP(&program, 0, 3, READ(1, X, 0), READ(3, X, 0), READ(2, X, 0));
    LOOP(&program, 0, 40, READ(2, X - 0x100, 8));
    LOOP(&program, 0, 40, READ(2, X - 0x100, 8));
    LOOP(&program, 0, 40, READ(1, X, 0), READ(2, X - 0x100, 8), READ(3, X, 0), READ(2, X, 0));
    LOOP(&program, 0, 1, SYNC);
    compare(&program, &all, &kept);
}

/* What is deferred in the middle of a round is put in in the order in which it was first. */
static void order_of_what_is_deferred(void **unused) {
    (void)unused;
    static struct program program;
    uint64_t all = 0, kept = 0;
    LOOP(&program, 0, 1, READ(1, X, 0), READ(2, X, 0), READ(1, X, 0), READ(3, X, 0), READ(2, X, 0));
    LOOP(&program, 0, 40, READ(1, X, 0), READ(2, X, 0));
    LOOP(&program, 0, 2, READ(1, X + 8, 0), READ(2, X + 8, 0));
    LOOP(&program, 0, 1, READ(1, X, 0));
    LOOP(&program, 0, 1, SYNC);
    compare(&program, &all, &kept);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_that_cross),
        cmocka_unit_test(order_of_what_is_deferred),
        cmocka_unit_test_teardown(plain_loops, say_seed),
        cmocka_unit_test_teardown(loops_of_all_sorts, say_seed),
        cmocka_unit_test_teardown(loops_with_calls, say_seed),
        cmocka_unit_test_teardown(loops_around_the_end, say_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
