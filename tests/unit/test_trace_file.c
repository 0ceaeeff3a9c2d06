/* Binary trace files: writer and reader together, whole, damaged and cut short. */
#include "support/trace_make.h"

#include "trace/format.h"

static struct bytes made_file(struct made_run *run) {
    const char *path = temporary("made.hdt");
    made_write(run, path);
    struct bytes file = read_all(path);
    unlink(path);
    return file;
}

static bool read_bytes(const uint8_t *data, size_t size, struct hd_trace *trace,
                       struct hd_error *error) {
    uint8_t *copy = malloc(size == 0 ? 1 : size); /* exact, for the sanitizers */
    assert_non_null(copy);
    memcpy(copy, data, size);
    struct hd_trace_options options = {.format = HD_FORMAT_BINARY, .format_given = true};
    bool good = hd_trace_read(copy, size, "file", &options, trace, error);
    free(copy);
    return good;
}

static void random_runs_come_back(void **unused) {
    (void)unused;
    for (unsigned round = 0; round < 60; round++) {
        struct made_run run;
        made_random(&run, round % 2 == 1, 1 + (unsigned)below(MADE_THREADS),
                    1 + (uint32_t)below(round < 6 ? 15000 : 800));
        const char *path = temporary("run.hdt");
        made_write(&run, path);
        struct hd_trace trace;
        struct hd_error error;
        if (!hd_trace_load(path, NULL, &trace, &error)) fail_msg("%s", error.message);
        assert_string_equal(trace.end.missing, "");
        assert_true(trace.end.whole);
        made_compare(&run, &trace);
        assert_int_equal(trace.format, HD_FORMAT_BINARY);
        assert_int_equal(trace.exact, !run.free);
        assert_int_equal(trace.hook_calls, run.hook_calls);
        assert_string_equal(trace.command, "./app 'an argument'");
        assert_int_equal(trace.options.seed, 0x123456789abcull);
        assert_true(trace.has_branches);
        assert_true(trace.end.exited);
        assert_false(trace.end.signaled);
        assert_int_equal(trace.end.status, 3);
        assert_int_equal(trace.end.lost_events, 5);
        assert_int_equal(trace.modules, 1);
        assert_string_equal(trace.module[0].path, "/usr/bin/app");
        assert_int_equal(trace.module[0].build_id_length, 3);
        assert_int_equal(trace.module[0].build_id[2], 3);
        assert_int_equal(trace.module[0].image_hi, 0x9000);

        /* and from memory to a file once more */
        struct hd_trace again;
        if (!hd_trace_save(&trace, path, &error)) fail_msg("%s", error.message);
        if (!hd_trace_load(path, NULL, &again, &error)) fail_msg("%s", error.message);
        assert_same_trace(&trace, &again);
        assert_string_equal(again.command, trace.command);
        assert_int_equal(again.hook_calls, trace.hook_calls);
        hd_trace_free(&again);
        hd_trace_free(&trace);
        unlink(path);
        made_free(&run);
    }
}

/* Every prefix of a file reads as a prefix of its events, never as whole. */
static void cut_at_every_byte(void **unused) {
    (void)unused;
    for (unsigned round = 0; round < 4; round++) {
        struct made_run run;
        made_random(&run, round % 2 == 1, 3, 60);
        struct bytes file = made_file(&run);
        uint32_t most = 0;
        for (size_t cut = 0; cut < file.size; cut++) {
            struct hd_trace trace;
            struct hd_error error;
            if (!read_bytes(file.data, cut, &trace, &error)) {
                assert_true(cut < 200);
                assert_true(error.message[0] != '\0');
                continue;
            }
            assert_false(trace.end.whole);
            assert_true(trace.end.missing[0] != '\0');
            assert_true(trace.events <= run.events);
            assert_true(trace.events >= most); /* more bytes never give less */
            most = trace.events;
            made_compare_part(&run, &trace);
            hd_trace_free(&trace);
        }
        assert_int_equal(most, run.events); /* all but the closing chunk */
        free(file.data);
        made_free(&run);
    }
}

static void changed_bytes_are_noticed(void **unused) {
    (void)unused;
    for (unsigned round = 0; round < 2; round++) {
        struct made_run run;
        made_random(&run, round % 2 == 1, 4, 200);
        struct bytes file = made_file(&run);
        for (size_t at = 0; at < file.size; at++) {
            uint8_t change = (uint8_t)(1u << below(8));
            struct hd_trace trace;
            struct hd_error error;
            file.data[at] ^= change;
            if (read_bytes(file.data, file.size, &trace, &error)) {
                assert_false(trace.end.whole);
                assert_true(trace.end.missing[0] != '\0');
                made_compare_part(&run, &trace);
                hd_trace_free(&trace);
            }
            file.data[at] ^= change;
        }
        free(file.data);
        made_free(&run);
    }
}

static void bytes_after_the_end_are_noticed(void **unused) {
    (void)unused;
    struct made_run run;
    made_random(&run, false, 2, 20);
    struct bytes file = made_file(&run);
    file.data = realloc(file.data, file.size + 1);
    assert_non_null(file.data);
    file.data[file.size] = 0;
    struct hd_trace trace;
    struct hd_error error;
    assert_true(read_bytes(file.data, file.size + 1, &trace, &error));
    assert_false(trace.end.whole);
    made_compare(&run, &trace);
    hd_trace_free(&trace);
    free(file.data);
    made_free(&run);
}

static void expect_header_error(struct bytes file, uint32_t version, uint32_t features,
                                const char *words) {
    struct hd_file_header header;
    memcpy(&header, file.data, sizeof header);
    header.version = version;
    header.features = features;
    header.checksum = hd_file_header_checksum(&header);
    memcpy(file.data, &header, sizeof header);
    struct hd_trace trace;
    struct hd_error error;
    assert_false(read_bytes(file.data, file.size, &trace, &error));
    assert_int_equal(error.code, HD_ERR_UNSUPPORTED);
    if (strstr(error.message, words) == NULL) fail_msg("'%s' lacks '%s'", error.message, words);
}

static void unknown_versions_and_features_are_named(void **unused) {
    (void)unused;
    struct made_run run;
    made_random(&run, false, 2, 20);
    struct bytes file = made_file(&run);
    expect_header_error(file, 1, 0x80, "features 0x80");
    expect_header_error(file, 2, 0, "version 2");
    for (uint32_t old = 2; old <= 8; old *= 2)
        expect_header_error(file, 1, old, "of an older heddle");
    free(file.data);
    made_free(&run);
}

static void other_files_are_no_traces(void **unused) {
    (void)unused;
    struct hd_trace trace;
    struct hd_error error;
    assert_false(hd_trace_load("/nonexistent/file.hdt", NULL, &trace, &error));
    assert_int_equal(error.code, HD_ERR_IO);
    assert_non_null(strstr(error.message, "No such file"));
    assert_false(hd_trace_load("/", NULL, &trace, &error));
    assert_non_null(strstr(error.message, "directory"));
    assert_false(read_bytes((const uint8_t *)"T0|r(x)|1\n", 10, &trace, &error));
    assert_int_equal(error.code, HD_ERR_FORMAT);
    struct hd_trace_about about = {0};
    assert_null(hd_writer_open("/nonexistent/file.hdt", &about, &error));
    assert_int_equal(error.code, HD_ERR_IO);
}

/* A recorder that never gets to its end: flushed events are there. */
static void flushed_events_survive(void **unused) {
    (void)unused;
    const char *path = temporary("flushed.hdt");
    struct hd_error error;
    struct hd_trace_about about = {.options = {.scheduler = HD_SCHED_SERIAL}};
    struct hd_writer *writer = hd_writer_open(path, &about, &error);
    assert_non_null(writer);
    struct hd_wire_event event[100];
    for (unsigned i = 0; i < 100; i++)
        event[i] = (struct hd_wire_event){hd_wire_head(HD_EV_WRITE, 4, 4096 + i * 4),
                                          hd_wire_tail(7, 1, 0)};
    assert_true(hd_writer_events(writer, 0, event, 60, &error));
    assert_true(hd_writer_flush(writer, &error));
    assert_true(hd_writer_events(writer, 0, event + 60, 40, &error));
    hd_writer_abandon(writer);
    struct hd_trace trace;
    if (!hd_trace_load(path, NULL, &trace, &error)) fail_msg("%s", error.message);
    assert_int_equal(trace.events, 60);
    assert_false(trace.end.whole);
    assert_non_null(strstr(trace.end.missing, "cut short"));
    hd_trace_free(&trace);
    unlink(path);
}

/* What the recorder itself could not save makes the trace less than whole. */
static void the_recorder_may_say_what_is_missing(void **unused) {
    (void)unused;
    const char *path = temporary("missing.hdt");
    struct hd_error error;
    struct hd_trace_about about = {.options = {.scheduler = HD_SCHED_SERIAL}};
    struct hd_writer *writer = hd_writer_open(path, &about, &error);
    struct hd_trace_end end = {
        .signaled = true, .status = 9, .deadlocked = true, .missing = "the last second"};
    assert_true(hd_writer_finish(writer, &end, false, &error));
    struct hd_trace trace;
    assert_true(hd_trace_load(path, NULL, &trace, &error));
    assert_int_equal(trace.events, 0);
    assert_false(trace.end.whole);
    assert_string_equal(trace.end.missing, "the last second");
    assert_true(trace.end.signaled && trace.end.deadlocked && !trace.has_branches);
    assert_int_equal(trace.end.status, 9);
    hd_trace_free(&trace);
    unlink(path);
}

/* Many streams with many events each: memory stays bounded, nothing is lost. */
static void many_streams(void **unused) {
    (void)unused;
    enum { STREAMS = 600, ROUNDS = 10, PART = 400 };
    const char *path = temporary("many.hdt");
    struct hd_error error;
    struct hd_trace_about about = {.options = {.scheduler = HD_SCHED_FREE}};
    struct hd_writer *writer = hd_writer_open(path, &about, &error);
    assert_non_null(writer);
    uint64_t stamp = 0;
    static struct hd_wire_event part[PART];
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned stream = 0; stream < STREAMS; stream++) {
            for (unsigned i = 0; i < PART; i++)
                part[i] = (struct hd_wire_event){
                    hd_wire_head(HD_EV_READ, 4, (uint64_t)stream << 20 | (round * PART + i) * 4),
                    hd_wire_tail(i % 5, 1, 0)};
            part[0] = (struct hd_wire_event){hd_wire_head(HD_EV_STAMP, 0, ++stamp), 0};
            if (!hd_writer_events(writer, stream, part, PART, &error))
                fail_msg("%s", error.message);
        }
    }
    assert_false(hd_writer_events(writer, 1 << 16, part, 1, &error));
    assert_int_equal(error.code, HD_ERR_LIMIT);
    struct hd_trace_end end = {0};
    assert_true(hd_writer_finish(writer, &end, false, &error));
    struct hd_trace trace;
    if (!hd_trace_load(path, NULL, &trace, &error)) fail_msg("%s", error.message);
    assert_true(trace.end.whole);
    assert_int_equal(trace.events, STREAMS * ROUNDS * (PART - 1));
    assert_int_equal(trace.threads, STREAMS);
    uint32_t at = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned stream = 0; stream < STREAMS; stream++) {
            for (unsigned i = 1; i < PART; i++, at++) {
                if (trace.thread[at] != stream ||
                    trace.operand[at] != ((uint64_t)stream << 20 | (round * PART + i) * 4))
                    fail_msg("event %u is out of place", at);
            }
        }
    }
    hd_trace_free(&trace);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_runs_come_back),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(changed_bytes_are_noticed),
        cmocka_unit_test(bytes_after_the_end_are_noticed),
        cmocka_unit_test(unknown_versions_and_features_are_named),
        cmocka_unit_test(other_files_are_no_traces),
        cmocka_unit_test(flushed_events_survive),
        cmocka_unit_test(the_recorder_may_say_what_is_missing),
        cmocka_unit_test(many_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
