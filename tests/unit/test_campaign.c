/* The campaign file and the messages: what was added is found, once; a merge of random files is
 * their union; a hang is believed only with enough time; keys tell programs and jobs apart;
 * messages that end anywhere are noticed. */
#define _GNU_SOURCE
#include "base/alloc.h"
#include "campaign/file.h"
#include "campaign/message.h"
#include "campaign/programs.h"
#include "store/store.h"
#include "support/dice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka needs the four above */
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct hd_error error;

static struct hd_store *new_file(const char *path) {
    unlink(path);
    struct hd_store *file = campaign_file_open(path, true, &error);
    assert_non_null(file);
    return file;
}

static struct campaign_result result_of(const char *outcome, uint64_t limit_ms, const char *trace) {
    struct campaign_result result = {.text = hd_strdup("{}"), .text_bytes = 2};
    result.trace = trace != NULL ? hd_strdup(trace) : NULL;
    result.trace_bytes = trace != NULL ? strlen(trace) : 0;
    snprintf(result.outcome, sizeof result.outcome, "%s", outcome);
    result.limit_ms = limit_ms;
    return result;
}

static int64_t add(struct hd_store *file, unsigned job, unsigned nth, const char *outcome,
                   uint64_t limit_ms, const char *trace) {
    struct campaign_key key = {.nth = nth};
    int64_t program, machine, row = 0;
    snprintf(key.job, sizeof key.job, "%032x", job);
    struct campaign_result result = result_of(outcome, limit_ms, trace);
    assert_true(campaign_file_program(file, "p", "./p", "b", &program, &error));
    assert_true(campaign_file_machine(file, "m", &machine, &error));
    assert_true(campaign_file_add(file, &key, program, 0, machine, &result, &row, &error));
    campaign_result_free(&result);
    return row;
}

static int64_t find(struct hd_store *file, unsigned job, unsigned nth, uint64_t limit_ms) {
    struct campaign_key key = {.nth = nth};
    int64_t row;
    snprintf(key.job, sizeof key.job, "%032x", job);
    assert_true(campaign_file_find(file, &key, limit_ms, &row, &error));
    return row;
}

static void results_are_written_once(void **unused) {
    (void)unused;
    struct hd_store *file = new_file("once.db");
    struct campaign_result read;
    int64_t first = add(file, 1, 0, "passed", 100, "trace");
    assert_int_equal(add(file, 1, 0, "signal", 100, "other"), first);
    assert_int_equal(find(file, 1, 0, 100000), first);
    assert_int_equal(find(file, 1, 1, 1), 0);
    assert_int_equal(find(file, 2, 0, 1), 0);
    assert_true(campaign_file_read(file, first, &read, &error));
    assert_string_equal(read.trace, "trace");
    assert_string_equal(read.outcome, "passed");
    assert_null(read.output);
    campaign_result_free(&read);
    assert_int_not_equal(add(file, 1, 1, "passed", 100, "trace"), first);
    hd_store_close(file);
}

static void a_hang_needs_its_time(void **unused) {
    (void)unused;
    struct hd_store *file = new_file("hang.db");
    struct campaign_result read;
    int64_t row = add(file, 1, 0, "hang", 1000, NULL);
    assert_int_equal(find(file, 1, 0, 1000), row);
    assert_int_equal(find(file, 1, 0, 1001), 0);
    /* Less time tells nothing, more does. */
    add(file, 1, 0, "passed", 500, NULL);
    assert_int_equal(find(file, 1, 0, 1001), 0);
    add(file, 1, 0, "passed", 2000, NULL);
    row = find(file, 1, 0, 100000);
    assert_int_not_equal(row, 0);
    assert_true(campaign_file_read(file, row, &read, &error));
    assert_string_equal(read.outcome, "passed");
    campaign_result_free(&read);
    hd_store_close(file);
}

/* Random files of few jobs: a merge has what either has, and the first file's word counts. */
static void a_merge_is_the_union(void **unused) {
    (void)unused;
    struct dice dice = {.state = 20};
    for (unsigned round = 0; round < 12; round++) {
        static const char *const outcome[] = {"passed", "signal", "exit"};
        unsigned has[2][12];
        struct hd_store *file[2] = {new_file("one.db"), new_file("two.db")};
        for (unsigned i = 0; i < 2; i++)
            for (unsigned job = 0; job < 12; job++) {
                has[i][job] = roll(&dice, 4);
                if (has[i][job] > 0) add(file[i], job, 0, outcome[has[i][job] - 1], 100, "t");
            }
        uint64_t added, known, want_added = 0, want_known = 0;
        assert_true(campaign_file_merge(file[0], file[1], &added, &known, &error));
        for (unsigned job = 0; job < 12; job++) {
            unsigned want = has[0][job] > 0 ? has[0][job] : has[1][job];
            want_added += has[0][job] == 0 && has[1][job] > 0;
            want_known += has[0][job] > 0 && has[1][job] > 0;
            int64_t row = find(file[0], job, 0, 100);
            assert_int_equal(row != 0, want > 0);
            if (row == 0) continue;
            struct campaign_result read;
            assert_true(campaign_file_read(file[0], row, &read, &error));
            assert_string_equal(read.outcome, outcome[want - 1]);
            campaign_result_free(&read);
        }
        assert_int_equal(added, want_added);
        assert_int_equal(known, want_known);
        hd_store_close(file[0]);
        hd_store_close(file[1]);
    }
}

/* ---- keys ------------------------------------------------------------------------------------ */

static void key_of(const char *build, struct hd_program *program,
                   const struct hd_steering *steering, char key[HD_KEY_TEXT]) {
    struct campaign_program made;
    struct hd_job job = {.program = *program, .steering = *steering};
    campaign_program_make(&made, program, "", build);
    char *text = campaign_job_text(&job);
    campaign_job_key(&made, text, strlen(text), key);
    free(text);
    campaign_program_free(&made);
}

static void write_file(const char *path, const char *text) {
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static void keys_have_all_that_counts(void **unused) {
    (void)unused;
    char name[] = "./data", other[] = "./other", *argv[] = {name, other, NULL};
    struct hd_program program = {.argv = argv};
    struct hd_steering steering = {
        .scheduler = HD_SCHED_SERIAL, .policy = HD_POLICY_POS, .seed = 7};
    char key[10][HD_KEY_TEXT], again[HD_KEY_TEXT];
    write_file("data", "one");
    unlink("other");
    key_of("b", &program, &steering, key[0]);
    key_of("c", &program, &steering, key[1]); /* the build */
    steering.seed = 8;
    key_of("b", &program, &steering, key[2]);
    steering.seed = 7;
    program.good_status = 3;
    key_of("b", &program, &steering, key[3]);
    program.good_status = 0;
    write_file("data", "two"); /* the program's content */
    key_of("b", &program, &steering, key[4]);
    write_file("data", "one");
    write_file("other", "argument"); /* a file on the command line */
    key_of("b", &program, &steering, key[5]);
    unlink("other");
    program.output_like = "data"; /* what the output has to be */
    key_of("b", &program, &steering, key[6]);
    program.output_like = NULL;
    for (unsigned i = 0; i < 7; i++)
        for (unsigned k = 0; k < i; k++) assert_string_not_equal(key[i], key[k]);
    /* Limits and patience do not count: they differ between machines. */
    program.limit_ms = 1234;
    steering.patience_ms = 99;
    key_of("b", &program, &steering, again);
    assert_string_equal(again, key[0]);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void messages_are_read_back(void **unused) {
    (void)unused;
    char words[] = "{\"a job\": 1}";
    struct campaign_task task = {.number = 7,
                                 .program = 2,
                                 .limit_ms = 1ull << 40,
                                 .patience_ms = 3,
                                 .text = words,
                                 .text_bytes = sizeof words - 1};
    struct campaign_result result = result_of("deadlock", 77, "bytes"), read;
    struct hd_packed message = message_new(MESSAGE_JOBS);
    message_put_task(&message, &task);
    message_put_result(&message, &result);
    for (size_t cut = 0; cut <= message.bytes.size; cut++) {
        /* A copy of its own size: who reads too far is seen by the sanitizer. */
        char *copy = hd_alloc(cut > 0 ? cut : 1, 1);
        if (cut > 0) memcpy(copy, message.bytes.data, cut);
        struct hd_unpack in = hd_unpack_begin(copy, cut);
        struct campaign_task got = {.text = NULL};
        uint64_t kind = hd_unpack_number(&in);
        bool good = message_task(&in, &got) && message_result(&in, &read);
        assert_int_equal(good, cut == message.bytes.size);
        if (good) {
            assert_int_equal(kind, MESSAGE_JOBS);
            assert_int_equal(got.limit_ms, task.limit_ms);
            assert_string_equal(got.text, words);
            assert_string_equal(read.trace, "bytes");
            assert_null(read.output);
            assert_string_equal(read.outcome, "deadlock");
            campaign_result_free(&read);
        }
        free(got.text);
        free(copy);
    }
    /* Lengths that are not true. */
    for (size_t at = 1; at + 8 <= message.bytes.size; at++) {
        struct hd_unpack in = hd_unpack_begin(message.bytes.data, message.bytes.size);
        char saved[8];
        memcpy(saved, message.bytes.data + at, 8);
        memset(message.bytes.data + at, 0x7f, 8);
        struct campaign_task got = {.text = NULL};
        hd_unpack_number(&in);
        if (message_task(&in, &got) && message_result(&in, &read)) campaign_result_free(&read);
        free(got.text);
        memcpy(message.bytes.data + at, saved, 8);
    }
    campaign_result_free(&result);
    hd_vector_free(&message.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_written_once), cmocka_unit_test(a_hang_needs_its_time),
        cmocka_unit_test(a_merge_is_the_union),     cmocka_unit_test(keys_have_all_that_counts),
        cmocka_unit_test(messages_are_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
