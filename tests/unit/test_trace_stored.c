/* Files that were written once and are kept in tests/traces/: whatever becomes of the code, they
 * must read the same. A change that breaks this needs a new format version. */
#include "support/trace_help.h"

#ifndef HEDDLE_SOURCE_DIR
#define HEDDLE_SOURCE_DIR "."
#endif
#define STORED HEDDLE_SOURCE_DIR "/tests/traces/"

static struct hd_trace loaded(const char *path) {
    struct hd_trace trace;
    struct hd_error error;
    if (!hd_trace_load(path, NULL, &trace, &error)) fail_msg("%s", error.message);
    assert_true(trace.end.whole);
    return trace;
}

static void expect_text(const struct hd_trace *trace, const char *path) {
    struct bytes expected = read_all(path);
    expected.data[expected.size] = '\0';
    char *text = text_of(trace, NULL);
    assert_string_equal(text, (char *)expected.data);
    free(text);
    free(expected.data);
}

static void converted_text(void **unused) {
    (void)unused;
    struct hd_trace binary = loaded(STORED "canonical.hdt"), text = loaded(STORED "canonical.std");
    assert_same_trace(&binary, &text);
    expect_text(&binary, STORED "canonical.std");
    hd_trace_free(&binary);
    hd_trace_free(&text);
}

static void free_recording(void **unused) {
    (void)unused;
    struct hd_trace trace = loaded(STORED "free.hdt");
    expect_text(&trace, STORED "free.std");
    assert_string_equal(trace.command, "./app");
    assert_int_equal(trace.options.scheduler, HD_SCHED_FREE);
    assert_int_equal(trace.options.seed, 9);
    assert_int_equal(trace.options.quantum, 1000);
    assert_false(trace.exact);
    assert_true(trace.end.exited);
    assert_int_equal(trace.end.status, 7);
    assert_int_equal(trace.modules, 1);
    assert_string_equal(trace.module[0].path, "/usr/bin/app");
    assert_int_equal(trace.module[0].build_id[1], 0xcd);
    assert_int_equal(trace.events, 37);
    assert_int_equal(trace.hook_calls, 37 + 70000);
    assert_int_equal(trace.stack_site[trace.stack[0]], 20);
    assert_int_equal(trace.stack[trace.events - 1], 0);
    assert_int_equal(hd_trace_size(&trace, trace.events - 1), 64);
    hd_trace_free(&trace);
}

static void rapidbin(void **unused) {
    (void)unused;
    struct hd_trace trace = loaded(STORED "rapid.rapidbin");
    assert_int_equal(trace.format, HD_FORMAT_RAPIDBIN);
    expect_text(&trace, STORED "rapid.std");
    hd_trace_free(&trace);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(converted_text),
        cmocka_unit_test(free_recording),
        cmocka_unit_test(rapidbin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
