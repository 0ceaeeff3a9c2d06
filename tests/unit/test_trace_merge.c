/* From streams of wire events to one order: stamps, gaps, waits and their signals, and what is
 * folded on the way. Streams are written as small programs: one line an event. */
#include "support/trace_help.h"

struct script {
    struct hd_writer *writer;
    char path[64];
};

static void open_script(struct script *s, uint32_t scheduler) {
    struct hd_error error;
    struct hd_trace_about about = {.options = {.scheduler = scheduler}};
    snprintf(s->path, sizeof s->path, "%s", temporary("merge.hdt"));
    s->writer = hd_writer_open(s->path, &about, &error);
    assert_non_null(s->writer);
}

static void event(struct script *s, uint32_t stream, unsigned kind, uint64_t operand,
                  uint32_t site) {
    struct hd_error error;
    struct hd_wire_event e = {hd_wire_head(kind, 1, operand), hd_wire_tail(site, 1, 0)};
    if (kind >= HD_EV_THREAD) e.tail = hd_wire_tail(site, 0, 0);
    assert_true(hd_writer_events(s->writer, stream, &e, 1, &error));
}

static struct hd_trace load_script(struct script *s, bool finish) {
    struct hd_error error;
    struct hd_trace trace;
    struct hd_trace_end end = {.exited = true};
    if (finish) {
        assert_true(hd_writer_finish(s->writer, &end, false, &error));
    } else {
        assert_true(hd_writer_flush(s->writer, &error));
        hd_writer_abandon(s->writer);
    }
    if (!hd_trace_load(s->path, NULL, &trace, &error)) fail_msg("%s", error.message);
    unlink(s->path);
    return trace;
}

/* The sites of the events in the trace's order, as a list of numbers that ends with 0. */
static void expect_sites(const struct hd_trace *trace, const uint32_t *site) {
    uint32_t i = 0;
    for (; site[i] != 0; i++) {
        assert_true(i < trace->events);
        assert_int_equal(trace->site[i], site[i]);
    }
    assert_int_equal(trace->events, i);
}
#define EXPECT_SITES(trace, ...) expect_sites(trace, (const uint32_t[]){__VA_ARGS__, 0})

static void stamps_order_segments(void **unused) {
    (void)unused;
    struct script s;
    open_script(&s, HD_SCHED_FREE);
    event(&s, 2, HD_EV_STAMP, 4, 0);
    event(&s, 2, HD_EV_BEGIN, 0, 7);
    event(&s, 0, HD_EV_WRITE, 100, 1); /* before any stamp */
    event(&s, 0, HD_EV_STAMP, 1, 0);
    event(&s, 0, HD_EV_FORK, 1, 2);
    event(&s, 1, HD_EV_PUSH, 1, 50); /* bookkeeping before the first stamp */
    event(&s, 1, HD_EV_STAMP, 2, 0);
    event(&s, 1, HD_EV_BEGIN, 0, 3);
    event(&s, 1, HD_EV_WRITE, 100, 4);
    event(&s, 1, HD_EV_STAMP, 5, 0);
    event(&s, 1, HD_EV_END, 0, 8);
    event(&s, 0, HD_EV_STAMP, 3, 0);
    event(&s, 0, HD_EV_FORK, 2, 5);
    event(&s, 0, HD_EV_READ, 100, 6);
    event(&s, 0, HD_EV_STAMP, 6, 0);
    event(&s, 0, HD_EV_JOIN, 1, 9);
    struct hd_trace trace = load_script(&s, true);
    EXPECT_SITES(&trace, 1, 2, 3, 4, 5, 6, 7, 8, 9);
    assert_true(trace.end.whole);
    assert_false(trace.exact);
    assert_int_equal(trace.threads, 3);
    assert_int_equal(trace.thread[2], 1);
    assert_int_equal(trace.thread[6], 2);
    assert_int_equal(trace.stack_site[trace.stack[3]], 50);
    assert_int_equal(trace.stack[5], 0);
    hd_trace_free(&trace);
}

/* Stamp 3 is nowhere. In a whole file a thread died with it; in one cut short its event is lost,
 * and what follows may depend on it. */
static struct hd_trace with_a_gap(bool finish) {
    struct script s;
    open_script(&s, HD_SCHED_FREE);
    event(&s, 0, HD_EV_STAMP, 1, 0);
    event(&s, 0, HD_EV_WRITE, 100, 1);
    event(&s, 1, HD_EV_STAMP, 2, 0);
    event(&s, 1, HD_EV_WRITE, 200, 2);
    event(&s, 1, HD_EV_READ, 200, 3);
    event(&s, 1, HD_EV_STAMP, 4, 0);
    event(&s, 1, HD_EV_READ, 100, 4);
    event(&s, 0, HD_EV_STAMP, 5, 0);
    event(&s, 0, HD_EV_READ, 200, 5);
    return load_script(&s, finish);
}

static void a_gap_cuts_a_damaged_trace_only(void **unused) {
    (void)unused;
    struct hd_trace trace = with_a_gap(true);
    EXPECT_SITES(&trace, 1, 2, 3, 4, 5);
    assert_true(trace.end.whole);
    hd_trace_free(&trace);
    trace = with_a_gap(false);
    EXPECT_SITES(&trace, 1, 2, 3);
    assert_false(trace.end.whole);
    assert_true(trace.end.missing[0] != '\0');
    hd_trace_free(&trace);
}

/* Events that no recorder writes: what comes before them is kept, and the trace is not whole. */
static void expect_stop(struct script *s, uint32_t kept, const char *words) {
    struct hd_trace trace = load_script(s, true);
    assert_int_equal(trace.events, kept);
    assert_false(trace.end.whole);
    if (strstr(trace.end.missing, words) == NULL)
        fail_msg("'%s' lacks '%s'", trace.end.missing, words);
    hd_trace_free(&trace);
}

static void impossible_events_stop_the_reader(void **unused) {
    (void)unused;
    struct script s;
    open_script(&s, HD_SCHED_FREE); /* a stamp twice */
    event(&s, 0, HD_EV_STAMP, 1, 0);
    event(&s, 0, HD_EV_WRITE, 100, 1);
    event(&s, 1, HD_EV_STAMP, 1, 0);
    event(&s, 1, HD_EV_WRITE, 100, 2);
    expect_stop(&s, 1, "not new");

    open_script(&s, HD_SCHED_FREE); /* stamps that fall */
    event(&s, 0, HD_EV_STAMP, 2, 0);
    event(&s, 0, HD_EV_WRITE, 100, 1);
    event(&s, 0, HD_EV_STAMP, 1, 0);
    event(&s, 0, HD_EV_WRITE, 100, 2);
    expect_stop(&s, 1, "not new");

    open_script(&s, HD_SCHED_SERIAL); /* a thread beyond all numbers */
    event(&s, 0, HD_EV_WRITE, 100, 1);
    event(&s, 0, HD_EV_THREAD, 65536, 0);
    event(&s, 0, HD_EV_WRITE, 100, 2);
    expect_stop(&s, 1, "thread number 65536");

    open_script(&s, HD_SCHED_SERIAL);
    event(&s, 0, HD_EV_WRITE, 100, 1);
    event(&s, 0, HD_EV_FORK, 1ull << 40, 2);
    expect_stop(&s, 1, "thread number");

    open_script(&s, HD_SCHED_SERIAL);
    event(&s, 0, HD_EV_WRITE, 100, 1);
    event(&s, 0, HD_EV_KINDS, 100, 2);
    expect_stop(&s, 1, "unknown kind");

    open_script(&s, HD_SCHED_SERIAL); /* the highest thread there can be */
    event(&s, 0, HD_EV_THREAD, 65535, 0);
    event(&s, 0, HD_EV_WRITE, 100, 1);
    struct hd_trace trace = load_script(&s, true);
    assert_true(trace.end.whole);
    assert_int_equal(trace.threads, 65536);
    assert_int_equal(trace.thread[0], 65535);
    hd_trace_free(&trace);
}

/* ---- waits -------------------------------------------------------------------------------- */

static void extra_event(struct script *s, uint32_t stream, unsigned kind, uint64_t operand,
                        uint32_t site, uint64_t extra) {
    event(s, stream, HD_EV_EXT, extra, 0);
    event(s, stream, kind, operand, site);
}

enum { MUTEX = 1000, CONDITION = 2000 };

static void waits_follow_their_signals(void **unused) {
    (void)unused;
    struct script s;
    open_script(&s, HD_SCHED_FREE);
    event(&s, 0, HD_EV_STAMP, 1, 0);
    event(&s, 0, HD_EV_RELEASE, MUTEX, 1);
    extra_event(&s, 0, HD_EV_WAIT, CONDITION, 5, 2); /* logged at once: stands too early */
    event(&s, 0, HD_EV_STAMP, 6, 0);
    event(&s, 0, HD_EV_ACQUIRE, MUTEX, 9);
    event(&s, 1, HD_EV_STAMP, 2, 0);
    event(&s, 1, HD_EV_RELEASE, MUTEX, 2);
    event(&s, 1, HD_EV_STAMP, 7, 0);
    extra_event(&s, 1, HD_EV_WAIT, CONDITION, 6, 2); /* logged when it woke: too late */
    event(&s, 1, HD_EV_STAMP, 8, 0);
    event(&s, 1, HD_EV_ACQUIRE, MUTEX, 10);
    event(&s, 2, HD_EV_STAMP, 3, 0);
    extra_event(&s, 2, HD_EV_SIGNAL, CONDITION, 3, 1); /* wakes nobody */
    event(&s, 2, HD_EV_STAMP, 4, 0);
    extra_event(&s, 2, HD_EV_BROADCAST, CONDITION, 4, 2);
    event(&s, 2, HD_EV_WRITE, 100, 7);
    event(&s, 2, HD_EV_STAMP, 5, 0);
    extra_event(&s, 2, HD_EV_ALLOC, 4096, 8, 64);
    struct hd_trace trace = load_script(&s, true);
    EXPECT_SITES(&trace, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    assert_int_equal(trace.extras, 5);
    assert_int_equal(hd_trace_extra(&trace, 2, 0), 1);
    assert_int_equal(hd_trace_extra(&trace, 3, 0), 2);
    assert_int_equal(hd_trace_extra(&trace, 4, 0), 2);
    assert_int_equal(hd_trace_extra(&trace, 5, 0), 2);
    assert_int_equal(hd_trace_extra(&trace, 7, 0), 64);
    assert_int_equal(trace.kind[4], HD_EV_WAIT);
    assert_int_equal(trace.thread[4], 0);
    assert_int_equal(trace.thread[5], 1);
    assert_int_equal(trace.operand[7], 4096);
    hd_trace_free(&trace);
}

/* A wait never passes an event of its own thread, whatever number it carries. */
static void waits_keep_program_order(void **unused) {
    (void)unused;
    struct script s;
    open_script(&s, HD_SCHED_FREE);
    event(&s, 0, HD_EV_STAMP, 1, 0);
    extra_event(&s, 0, HD_EV_SIGNAL, CONDITION, 1, 1);
    event(&s, 1, HD_EV_STAMP, 2, 0);
    event(&s, 1, HD_EV_RELEASE, MUTEX, 2);
    extra_event(&s, 1, HD_EV_WAIT, CONDITION, 3, 1); /* its release came after the signal */
    event(&s, 1, HD_EV_ACQUIRE, MUTEX, 4);
    extra_event(&s, 1, HD_EV_WAIT, CONDITION, 5, 77); /* no such signal */
    event(&s, 1, HD_EV_WAIT, CONDITION, 6);           /* no signal at all */
    struct hd_trace trace = load_script(&s, true);
    EXPECT_SITES(&trace, 1, 2, 3, 4, 5, 6);
    hd_trace_free(&trace);
}

/* ---- folding ------------------------------------------------------------------------------ */

static void frees_have_the_size_of_their_block(void **unused) {
    (void)unused;
    struct script s;
    open_script(&s, HD_SCHED_SERIAL);
    extra_event(&s, 0, HD_EV_ALLOC, 4096, 1, 64);
    extra_event(&s, 0, HD_EV_ALLOC, 8192, 2, 32);
    event(&s, 0, HD_EV_FREE, 4096, 3);
    extra_event(&s, 0, HD_EV_ALLOC, 4096, 4, 16); /* born again, smaller */
    event(&s, 0, HD_EV_FREE, 4096, 5);
    event(&s, 0, HD_EV_FREE, 12288, 6); /* nobody allocated it */
    extra_event(&s, 0, HD_EV_FREE, 8192, 7, 48);
    extra_event(&s, 0, HD_EV_READ, 4096, 8, 5000);
    struct hd_trace trace = load_script(&s, true);
    static const uint64_t size[] = {64, 32, 64, 16, 16, 0, 48};
    for (uint32_t i = 0; i < 7; i++) assert_int_equal(hd_trace_size(&trace, i), size[i]);
    assert_int_equal(hd_trace_size(&trace, 7), 1); /* its flags say one byte */
    hd_trace_free(&trace);
}

/* A stream's own thread counts, even if it writes for others later. */
static void threads_of_streams(void **unused) {
    (void)unused;
    struct script s;
    open_script(&s, HD_SCHED_FREE);
    event(&s, 7, HD_EV_WRITE, 1, 1);
    event(&s, 7, HD_EV_THREAD, 2, 0);
    event(&s, 7, HD_EV_WRITE, 1, 2);
    struct hd_trace trace = load_script(&s, true);
    assert_int_equal(trace.threads, 8);
    assert_int_equal(trace.thread[0], 7);
    assert_int_equal(trace.thread[1], 2);
    hd_trace_free(&trace);
}

static void stacks_without_their_outer_frames(void **unused) {
    (void)unused;
    struct script s;
    open_script(&s, HD_SCHED_SERIAL);
    event(&s, 0, HD_EV_PUSH, 5, 10); /* recording began five frames deep */
    event(&s, 0, HD_EV_WRITE, 1, 1);
    event(&s, 0, HD_EV_PUSH, 6, 20);
    event(&s, 0, HD_EV_WRITE, 1, 2);
    event(&s, 0, HD_EV_PUSH, 6, 30); /* its neighbour left without a word */
    event(&s, 0, HD_EV_WRITE, 1, 3);
    event(&s, 0, HD_EV_POP, 5, 0);
    event(&s, 0, HD_EV_WRITE, 1, 4);
    event(&s, 0, HD_EV_POP, 2, 0);
    event(&s, 0, HD_EV_WRITE, 1, 5);
    event(&s, 0, HD_EV_PUSH, 0, 40); /* depth 0 is no frame, but must not hurt */
    event(&s, 0, HD_EV_POP, 0xffffffffffffull, 0);
    event(&s, 0, HD_EV_PUSH, 0xffffffffffffull, 50);
    event(&s, 0, HD_EV_WRITE, 1, 6);
    struct hd_trace trace = load_script(&s, true);
    assert_true(trace.end.whole);
    assert_int_equal(trace.stack_site[trace.stack[0]], 10);
    assert_int_equal(trace.stack_site[trace.stack[1]], 20);
    assert_int_equal(trace.stack_parent[trace.stack[1]], trace.stack[0]);
    assert_int_equal(trace.stack_site[trace.stack[2]], 30);
    assert_int_equal(trace.stack_parent[trace.stack[2]], trace.stack[0]);
    assert_int_equal(trace.stack[3], trace.stack[0]);
    assert_int_equal(trace.stack[4], 0);
    assert_int_equal(trace.stack_site[trace.stack[5]], 50);
    hd_trace_free(&trace);
}

static void counts_add_up_and_saturate(void **unused) {
    (void)unused;
    struct script s;
    open_script(&s, HD_SCHED_SERIAL);
    event(&s, 0, HD_EV_COUNT, 100000, 70000);
    event(&s, 0, HD_EV_COUNT, 5, 1);
    event(&s, 0, HD_EV_WRITE, 1, 1);
    event(&s, 0, HD_EV_COUNT, 1ull << 40, 3);
    event(&s, 0, HD_EV_THREAD, 1, 0);
    event(&s, 0, HD_EV_WRITE, 1, 2); /* another thread's: the counts are not its own */
    event(&s, 0, HD_EV_THREAD, 0, 0);
    event(&s, 0, HD_EV_WRITE, 1, 3);
    struct hd_trace trace = load_script(&s, true);
    assert_int_equal(trace.calls[0], 100006);
    assert_int_equal(trace.branches[0], 65535);
    assert_int_equal(trace.calls[1], 1);
    assert_int_equal(trace.branches[1], 0);
    assert_int_equal(trace.calls[2], UINT32_MAX);
    assert_int_equal(trace.branches[2], 3);
    assert_int_equal(trace.hook_calls, 100006 + 1 + (1ull << 40) + 1);
    hd_trace_free(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stamps_order_segments),
        cmocka_unit_test(a_gap_cuts_a_damaged_trace_only),
        cmocka_unit_test(impossible_events_stop_the_reader),
        cmocka_unit_test(waits_follow_their_signals),
        cmocka_unit_test(waits_keep_program_order),
        cmocka_unit_test(frees_have_the_size_of_their_block),
        cmocka_unit_test(threads_of_streams),
        cmocka_unit_test(stacks_without_their_outer_frames),
        cmocka_unit_test(counts_add_up_and_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
