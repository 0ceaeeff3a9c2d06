/* A recording that is read with a thread beside is the same as one that is read by one thread:
 * events, counts, and what is said where it is damaged. So is one that is read once because nothing
 * in it is shared. Whatever is loaded, what was recorded of each thread is counted. */
#include "support/counts_help.h"
#include "support/trace_help.h"

#include "trace/format.h"
#include "trace/token.h"

enum { STREAMS = 3, MOST = 30000, CUTS = 4096, PIECE = 2000 };

/* Records of each stream, and where a chunk of them may end. */
static uint8_t *stream[STREAMS], *end[STREAMS];
static size_t size[STREAMS], cut[STREAMS][CUTS], cuts[STREAMS];
static uint64_t last_stamp[STREAMS];
static bool apart;   /* each thread has memory of its own */
static uint64_t own; /* where it is */

static void put_record(unsigned s, uint8_t *to) {
    end[s] = to;
    size[s]++;
    size_t at = (size_t)(to - stream[s]), before = cuts[s] > 0 ? cut[s][cuts[s] - 1] : 0;
    if (at - before >= PIECE && cuts[s] < CUTS) cut[s][cuts[s]++] = at;
}

/* Places have a link each, unless told otherwise. */
static void put_linked(unsigned s, unsigned kind, unsigned flags, uint64_t operand, uint64_t tail,
                       uint32_t link) {
    put_record(s, hd_token_put_event(end[s], link, hd_wire_head(kind, flags, operand), tail, 0));
}
static void put(unsigned s, unsigned kind, unsigned flags, uint64_t operand, uint64_t tail) {
    put_linked(s, kind, flags, operand, tail, (hd_wire_site(tail) + 1) * HD_LINK_BYTES);
}
static void put_met(unsigned s, uint64_t met) {
    put_record(s, hd_token_put_other(end[s], HD_TOKEN_MET, met, 0, 0));
}
static void put_thread(unsigned s, uint64_t thread) {
    put_record(s, hd_token_put_other(end[s], HD_TOKEN_THREAD, 0, thread, 4));
}
static void put_stamp(unsigned s, uint64_t stamp) {
    put_record(s, hd_token_put_other(end[s], HD_TOKEN_STAMP, 0, stamp - last_stamp[s], 8));
    last_stamp[s] = stamp;
}

/* Rounds of a loop: the first ones are stored, so that the others are expected. */
static void put_loop(unsigned s) {
    unsigned length = 1 + (unsigned)below(4), number = (unsigned)below(3);
    uint64_t base = own + 0x10000 + below(64) * 8;
    bool calls = below(4) == 0;
    for (unsigned round = 0; round < 3; round++) {
        if (calls) put(s, HD_EV_PUSH, 0, 1, 1000 + number);
        for (unsigned i = 0; i < length; i++)
            put(s, i & 1 ? HD_EV_WRITE : HD_EV_READ, 8, base + 256 * i + 8 * round,
                hd_wire_tail(100 * number + i, 1, 1));
        if (calls) put(s, HD_EV_POP, 0, 0, 1100 + number);
    }
    length += calls ? 2 : 0;
    /* sometimes enough that a thread beside comes in between */
    if (below(4)) put_met(s, length * (1 + (below(200) == 0 ? 100000 : below(60))));
}

/* What no recorder writes. */
static void put_wrong(unsigned s, uint64_t stamp) {
    switch (below(6)) {
    case 0:
        put(s, HD_EV_KINDS + 1, 0, 1, 0);
        break;
    case 1:
        put_thread(s, 70000);
        break;
    case 2:
        put(s, HD_EV_FORK, 0, 70000, 0);
        break;
    case 3: /* nothing leads there */
        put_linked(s, HD_EV_READ, 8, 64, hd_wire_tail(1, 1, 0), 0);
        put_met(s, 100);
        break;
    case 4:
        put_stamp(s, stamp / 2);
        break;
    default:
        put_met(s, (uint64_t)1 << 40); /* more than is allowed */
    }
}

static void make(unsigned streams, unsigned segments, bool wrong) {
    uint64_t stamp = 0;
    memset(size, 0, sizeof size);
    memset(cuts, 0, sizeof cuts);
    memset(last_stamp, 0, sizeof last_stamp);
    memcpy(end, stream, sizeof end);
    unsigned at = wrong ? (unsigned)below(segments) : segments;
    for (unsigned i = 0; i < segments; i++) {
        unsigned s = (unsigned)below(streams);
        if (size[s] + 300 > MOST) break;
        uint64_t thread = streams > 1 ? s : below(4);
        if (streams > 1)
            put_stamp(s, ++stamp);
        else
            put_thread(s, thread);
        own = apart ? thread << 32 : 0;
        for (uint64_t n = below(12); n > 0; n--) {
            if (below(3)) {
                put_loop(s);
                continue;
            }
            put(s, HD_EV_ACQUIRE, 0, 0x500 + 8 * below(3), hd_wire_tail(300, 1, 0));
            put(s, HD_EV_WRITE, 4, own + 0x20000 + 4 * below(4000), hd_wire_tail(301, 2, 1));
            put(s, HD_EV_RELEASE, 0, 0x500, hd_wire_tail(302, 1, 0));
        }
        if (i == at) put_wrong(s, stamp);
    }
}

static struct bytes written(unsigned streams) {
    const char *path = temporary("beside.hdt");
    struct hd_error error;
    struct hd_trace_about about = {.command = "./app", .options = {.full = HD_FULL_EXPECTED}};
    about.options.scheduler = streams > 1 ? HD_SCHED_FREE : HD_SCHED_SERIAL;
    struct hd_writer *writer = hd_writer_open(path, &about, &error);
    assert_non_null(writer);
    for (unsigned s = 0; s < streams; s++) {
        size_t from = 0, all = (size_t)(end[s] - stream[s]);
        for (size_t i = 0; i <= cuts[s]; i++) {
            size_t to = i < cuts[s] ? cut[s][i] : all;
            if (to > from)
                assert_true(
                    hd_writer_records(writer, s, stream[s] + from, to - from, below(2), &error));
            from = to;
        }
    }
    assert_true(hd_writer_finish(writer, &(struct hd_trace_end){.exited = true}, true, &error));
    struct bytes file = read_all(path);
    unlink(path);
    return file;
}

static unsigned stops, refusals, unshared;

static bool has_access(const struct hd_trace *trace) {
    for (uint32_t e = 0; e < trace->events; e++)
        if (trace->kind[e] <= HD_EV_WRITE) return true;
    return false;
}

/* With a call that is marked, and does not come, everything is read twice. */
static const struct hd_trace_mark never = {65535, UINT64_MAX};

static void check_counts(const struct hd_trace *part, const struct hd_trace *all) {
    assert_int_equal(part->recorded, all->events);
    assert_true(has_kinds_of(part, all));
    for (uint32_t t = 0; t < all->threads; t++)
        assert_int_equal(calls_of(part, t), calls_of(all, t));
}

/* More than so many events of a whole recording: refused, or less of it is loaded. */
static void read_limited(const uint8_t *data, size_t length, const struct hd_trace *all) {
    struct hd_trace trace;
    struct hd_error error;
    struct hd_trace_options options = {.most_recorded = 1 + below(2 * (uint64_t)all->events),
                                       .most_expected = 1 << 20,
                                       .threads = (unsigned)below(3)};
    bool many = all->events > options.most_recorded;
    assert_int_equal(hd_trace_read(data, length, "file", &options, &trace, &error), !many);
    if (many)
        assert_int_equal(error.code, HD_ERR_LIMIT);
    else
        hd_trace_free(&trace);
    options.or_concurrent = true;
    assert_true(hd_trace_read(data, length, "file", &options, &trace, &error));
    assert_int_equal(trace.kept, many ? HD_KEEP_CONCURRENT : HD_KEEP_STEPS);
    check_counts(&trace, all);
    hd_trace_free(&trace);
}

static bool is_event_of(const struct hd_trace *first, uint32_t e, const struct hd_trace *whole,
                        uint32_t at) {
    return first->kind[e] == whole->kind[at] && first->thread[e] == whole->thread[at] &&
           first->operand[e] == whole->operand[at] && first->site[e] == whole->site[at] &&
           hd_trace_name(first, e) == hd_trace_name(whole, at);
}

static unsigned fulls, lates;

/* Of a recording, only as much as there is room for: the beginning of the whole. */
static void read_first(const uint8_t *data, size_t length, enum hd_trace_keep keep) {
    struct hd_trace whole, first;
    struct hd_error error;
    struct hd_trace_options options = {.keep = keep, .most_expected = 1 << 20};
    if (!hd_trace_read(data, length, "file", &options, &whole, &error)) return;
    bool hurries = below(3) == 0;
    if (hurries)
        options.seconds = 1e-6 * (double)(1 + below(100)); /* wherever that is */
    else
        options.most_events = 1 + (uint32_t)below(whole.events + 10);
    options.or_first = true;
    options.threads = (unsigned)below(3);
    assert_true(hd_trace_read(data, length, "file", &options, &first, &error));
    bool ends_early = first.warnings > whole.warnings;
    fulls += ends_early && !hurries;
    lates += ends_early && hurries;
    assert_int_equal(first.end.whole, whole.end.whole && !ends_early);
    if (!hurries && options.most_events > whole.events) assert_false(ends_early);
    if (!ends_early) assert_int_equal(first.events, whole.events);
    uint32_t e = 0, at = 0;
    for (; e < first.events; e++, at++) {
        /* what is not shared by then is left out, and the end puts in what was left out before */
        if (hurries && hd_trace_is_put_in(&first, e)) {
            at--;
            continue;
        }
        while (hurries && at < whole.events && !is_event_of(&first, e, &whole, at)) at++;
        assert_true(at < whole.events && is_event_of(&first, e, &whole, at));
    }
    if (ends_early && !hurries && keep == HD_KEEP_ALL) assert_true(e > options.most_events / 2);
    hd_trace_free(&first);
    hd_trace_free(&whole);
}

enum { WAYS = 4 };
static void compare(const uint8_t *data, size_t length) {
    struct hd_trace all;
    struct hd_trace_options everything = {.keep = HD_KEEP_ALL, .most_expected = 1 << 20};
    bool readable = hd_trace_read(data, length, "file", &everything, &all, NULL);
    if (readable && all.end.whole && all.events > 0) read_limited(data, length, &all);
    for (int keep = HD_KEEP_STEPS; keep <= HD_KEEP_ALL; keep++) {
        struct hd_trace trace[WAYS];
        struct hd_error error[WAYS];
        bool good[WAYS];
        for (unsigned i = 0; i < WAYS; i++) {
            struct hd_trace_options options = {
                .keep = (enum hd_trace_keep)keep, .threads = i % 3, .most_expected = 1 << 20};
            if (i == 3) {
                options.mark = &never;
                options.marks = 1;
            }
            good[i] = hd_trace_read(data, length, "file", &options, &trace[i], &error[i]);
        }
        for (unsigned i = 1; i < WAYS; i++) {
            assert_int_equal(good[0], good[i]);
            if (!good[0]) {
                refusals++;
                assert_int_equal(error[0].code, error[i].code);
                assert_string_equal(error[0].message, error[i].message);
                continue;
            }
            assert_same_trace(&trace[0], &trace[i]);
            assert_string_equal(trace[0].end.missing, trace[i].end.missing);
            assert_int_equal(trace[0].recorded, trace[i].recorded);
            assert_int_equal(trace[0].raw_events, trace[i].raw_events);
            assert_int_equal(trace[0].hook_calls, trace[i].hook_calls);
            assert_int_equal(trace[0].threads, trace[i].threads);
            stops += !trace[0].end.whole;
        }
        if (!good[0]) continue;
        read_first(data, length, (enum hd_trace_keep)keep);
        if (keep != HD_KEEP_ALL) check_counts(&trace[0], &all);
        unshared += keep != HD_KEEP_ALL && trace[0].recorded > 100 && !has_access(&trace[0]);
        for (unsigned i = 0; i < WAYS; i++) hd_trace_free(&trace[i]);
    }
    if (readable) hd_trace_free(&all);
}

static void both_ways_are_the_same(void **unused) {
    (void)unused;
    for (unsigned s = 0; s < STREAMS; s++) {
        stream[s] = malloc((MOST + 1) * HD_TOKEN_BYTES);
        assert_non_null(stream[s]);
    }
    for (unsigned round = 0; round < 120; round++) {
        unsigned streams = round % 2 ? STREAMS : 1;
        apart = below(2);
        make(streams, 1 + (unsigned)below(round % 10 == 0 ? 600 : 60), round % 3 == 0);
        struct bytes file = written(streams);
        compare(file.data, file.size);
        if (round % 4 == 0) compare(file.data, below(file.size));
        free(file.data);
    }
    assert_true(stops > 50 && refusals > 4 && unshared > 20 && fulls > 50 && lates > 0);
    for (unsigned s = 0; s < STREAMS; s++) free(stream[s]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_ways_are_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
