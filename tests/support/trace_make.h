/* Made-up runs: events in a known total order, written as a recorder would write them, serial or
 * free, together with what a reader must make of them. */
#ifndef HEDDLE_TESTS_TRACE_MAKE_H
#define HEDDLE_TESTS_TRACE_MAKE_H

#include "support/trace_help.h"

enum { MADE_THREADS = 12, MADE_DEPTH = 6, MADE_STREAM_EVENTS = 60000 };

struct made_event {
    unsigned thread, kind, flags;
    uint64_t operand, extra;
    bool has_extra;
    uint32_t site, calls;
    unsigned branches;
    unsigned depth;
    uint32_t frame[MADE_DEPTH];
};

struct made_stream {
    struct hd_wire_event *event;
    size_t size, sent;
};

struct made_run {
    bool free;
    unsigned threads;
    struct made_event *event;
    uint32_t events;
    struct made_stream stream[MADE_THREADS];
    uint64_t stamp;
    uint64_t hook_calls;
};

static inline void made_put(struct made_run *run, unsigned stream, unsigned kind, unsigned flags,
                            uint64_t operand, uint64_t tail) {
    struct made_stream *to = &run->stream[stream];
    assert_true(to->size < MADE_STREAM_EVENTS);
    to->event[to->size++] = (struct hd_wire_event){hd_wire_head(kind, flags, operand), tail};
}

static inline void made_start(struct made_run *run, bool is_free, unsigned threads,
                              uint32_t most_events) {
    memset(run, 0, sizeof *run);
    run->free = is_free;
    run->threads = threads;
    run->event = calloc(most_events, sizeof *run->event);
    assert_non_null(run->event);
    for (unsigned i = 0; i < threads; i++) {
        run->stream[i].event = calloc(MADE_STREAM_EVENTS, sizeof(struct hd_wire_event));
        assert_non_null(run->stream[i].event);
    }
}

static inline void made_free(struct made_run *run) {
    for (unsigned i = 0; i < run->threads; i++) free(run->stream[i].event);
    free(run->event);
}

/* Random events of random threads with random call stacks, and all the bookkeeping. */
static inline void made_random(struct made_run *run, bool is_free, unsigned threads,
                               uint32_t events) {
    made_start(run, is_free, threads, events);
    unsigned depth[MADE_THREADS] = {0};
    uint32_t frame[MADE_THREADS][MADE_DEPTH];
    unsigned thread = 0;
    for (; run->events < events; run->events++) {
        struct made_event *e = &run->event[run->events];
        unsigned before = thread;
        if (below(6) == 0) thread = (unsigned)below(threads);
        unsigned stream = is_free ? thread : 0;
        if (thread != before) {
            if (is_free)
                made_put(run, stream, HD_EV_STAMP, 0, ++run->stamp, 0);
            else
                made_put(run, stream, HD_EV_THREAD, 0, thread, 0);
        }
        while (depth[thread] > 0 && below(8) == 0) {
            depth[thread] = (unsigned)below(depth[thread]);
            made_put(run, stream, HD_EV_POP, 0, depth[thread], 0);
        }
        while (depth[thread] < MADE_DEPTH && below(8) == 0) {
            uint32_t site = 1 + (uint32_t)below(20);
            frame[thread][depth[thread]++] = site;
            made_put(run, stream, HD_EV_PUSH, 0, depth[thread], hd_wire_tail(site, 0, 0));
        }
        e->thread = thread;
        e->kind = 1 + (unsigned)below(HD_EV_THREAD - 1);
        if (e->kind == HD_EV_WAIT) e->kind = HD_EV_READ; /* has tests of its own */
        e->flags = (unsigned)below(256);
        e->operand = below(4) == 0 ? below(1ull << 48) : 0x7f0000000000ull + below(1000) * 8;
        bool names_thread = (e->kind >= HD_EV_FORK && e->kind <= HD_EV_END) ||
                            (e->kind == HD_EV_BLOCKED && e->flags == HD_WAIT_JOIN);
        if (names_thread) e->operand = below(threads);
        e->site = (uint32_t)below(1000);
        e->calls = below(50) == 0 ? (uint32_t)random_word() : (uint32_t)below(4);
        e->branches = (unsigned)below(3);
        e->depth = depth[thread];
        memcpy(e->frame, frame[thread], sizeof e->frame);
        /* FREE always says its size here: what it says otherwise has tests of its own */
        e->has_extra = e->kind == HD_EV_FREE || below(5) == 0;
        e->extra = below(20) == 0 ? below(1ull << 48) : below(5000);
        if (e->has_extra) made_put(run, stream, HD_EV_EXT, 0, e->extra, 0);
        uint32_t calls = e->calls;
        unsigned branches = e->branches;
        if (calls > 3 || below(30) == 0) {
            uint32_t counted = calls > 3 ? calls - 2 : 0;
            made_put(run, stream, HD_EV_COUNT, 0, counted, hd_wire_tail(branches, 0, 0));
            calls -= counted;
            branches = 0;
        }
        made_put(run, stream, e->kind, e->flags, e->operand,
                 hd_wire_tail(e->site, calls, branches));
        run->hook_calls += e->calls;
    }
}

/* Hands the streams to a writer, a bit of this, a bit of that. */
static inline void made_write(struct made_run *run, const char *path) {
    struct hd_error error;
    struct hd_trace_about about = {.command = "./app 'an argument'", .pid = 4711};
    about.options.scheduler = run->free ? HD_SCHED_FREE : HD_SCHED_SERIAL;
    about.options.seed = 0x123456789abcull;
    struct hd_writer *writer = hd_writer_open(path, &about, &error);
    assert_non_null(writer);
    struct hd_trace_module module = {.path = "/usr/bin/app",
                                     .text_lo = 0x1000,
                                     .text_hi = 0x2000,
                                     .bias = 0x500,
                                     .image_lo = 0x800,
                                     .image_hi = 0x9000,
                                     .site_base = 1,
                                     .build_id_length = 3,
                                     .build_id = {1, 2, 3}};
    assert_true(hd_writer_module(writer, &module, &error));
    for (;;) {
        size_t left = 0;
        for (unsigned i = 0; i < run->threads; i++) {
            struct made_stream *s = &run->stream[i];
            size_t part = below(s->size - s->sent + 1);
            if (part > 5000 && below(2) == 0) part = below(40);
            if (!hd_writer_events(writer, i, s->event + s->sent, part, &error))
                fail_msg("%s", error.message);
            s->sent += part;
            left += s->size - s->sent;
        }
        if (below(5) == 0) assert_true(hd_writer_flush(writer, &error));
        if (left == 0) break;
    }
    struct hd_trace_end end = {.exited = true, .status = 3, .lost_events = 5};
    if (!hd_writer_finish(writer, &end, true, &error)) fail_msg("%s", error.message);
}

static inline void made_compare_event(const struct made_event *e, const struct hd_trace *trace,
                                      uint32_t i) {
    assert_int_equal(trace->thread[i], e->thread);
    assert_int_equal(trace->kind[i], e->kind);
    assert_int_equal(trace->flags[i], e->flags);
    assert_int_equal(trace->operand[i], e->operand);
    assert_int_equal(trace->site[i], e->site);
    assert_int_equal(trace->calls[i], e->calls);
    assert_int_equal(trace->branches[i], e->branches);
    uint32_t node = trace->stack[i];
    for (unsigned d = e->depth; d > 0; d--) {
        assert_int_not_equal(node, 0);
        assert_int_equal(trace->stack_site[node], e->frame[d - 1]);
        node = trace->stack_parent[node];
    }
    assert_int_equal(node, 0);
    assert_int_equal(hd_trace_extra(trace, i, UINT64_MAX), e->has_extra ? e->extra : UINT64_MAX);
}

/* All events of the run are what the trace holds. */
static inline void made_compare(const struct made_run *run, const struct hd_trace *trace) {
    assert_int_equal(trace->events, run->events);
    uint32_t extra = 0;
    for (uint32_t i = 0; i < trace->events; i++) {
        made_compare_event(&run->event[i], trace, i);
        if (run->event[i].has_extra) assert_int_equal(trace->extra_event[extra++], i);
    }
    assert_int_equal(trace->extras, extra);
}

/* The trace holds a first part of the run: of a serial one exactly its first events; of a free one
 * the first events of each thread, in the run's order. */
static inline void made_compare_part(const struct made_run *run, const struct hd_trace *trace) {
    uint32_t at = 0;
    bool left_out[MADE_THREADS] = {0};
    for (uint32_t i = 0; i < trace->events; i++, at++) {
        for (; run->free && at < run->events && run->event[at].thread != trace->thread[i]; at++)
            left_out[run->event[at].thread] = true;
        assert_true(at < run->events);
        assert_false(left_out[trace->thread[i]]);
        made_compare_event(&run->event[at], trace, i);
    }
}

#endif
