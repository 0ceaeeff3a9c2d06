/* Jobs and results as text: what is written reads back the same, field by field; what is not a job
 * is refused with the place; a job that went through text runs as the one it was. */
#define _GNU_SOURCE
#include "run/job.h"
#include "run/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hd_error problem;

static struct hd_job read_good(const char *text) {
    struct hd_job job;
    if (!hd_job_read(text, strlen(text), "f", &job, &problem))
        fail_msg("%s: %s", text, problem.message);
    return job;
}

/* Written, read, written: the same text. Returns what was read. */
static struct hd_job again(const struct hd_job *job) {
    char *text = hd_job_write(job);
    struct hd_job read = read_good(text);
    char *second = hd_job_write(&read);
    assert_string_equal(text, second);
    free(text);
    free(second);
    return read;
}

static void programs(void **state) {
    (void)state;
    char a[] = "./app", b[] = "two words\n\"quoted\"", c[] = "\xff\xfe no text", d[] = "";
    char e[] = "NAME=VALUE=\x01", f[] = "EMPTY=";
    char *argv[] = {a, b, c, d, NULL}, *environment[] = {e, f, NULL};
    struct hd_job job = {.program = {.argv = argv,
                                     .environment = environment,
                                     .directory = "/tmp/\xc3\xbc\x80",
                                     .input = "in",
                                     .limit_ms = 12345678901,
                                     .most_output = 7,
                                     .good_status = -3,
                                     .oracle = "grep -q 'x'\n",
                                     .output_like = "like",
                                     .good_output = "lines:0123456789abcdef",
                                     .keep_aslr = true}};
    struct hd_job read = again(&job);
    for (int i = 0; i < 4; i++) assert_string_equal(read.program.argv[i], argv[i]);
    assert_null(read.program.argv[4]);
    assert_string_equal(read.program.environment[0], e);
    assert_string_equal(read.program.environment[1], f);
    assert_null(read.program.environment[2]);
    assert_string_equal(read.program.directory, job.program.directory);
    assert_string_equal(read.program.input, "in");
    assert_true(read.program.limit_ms == 12345678901);
    assert_int_equal(read.program.most_output, 7);
    assert_int_equal(read.program.good_status, -3);
    assert_string_equal(read.program.oracle, job.program.oracle);
    assert_string_equal(read.program.output_like, "like");
    assert_string_equal(read.program.good_output, job.program.good_output);
    assert_true(read.program.keep_aslr);
    hd_job_free(&read);
}

static void steerings(void **state) {
    (void)state;
    char a[] = "a";
    char *argv[] = {a, NULL};
    struct hd_sites places = {0};
    struct hd_force_target target = {.c = hd_site_make(&places, "app", 0, "a.c:1", "f"),
                                     .r = hd_site_make(&places, "lib.so", 16, "", ""),
                                     .c_thread = 0,
                                     .r_thread = HD_NONE,
                                     .skip = 2};
    target.c_stop = target.c;
    target.r_stop = target.r;
    struct hd_job job = {.program = {.argv = argv},
                         .steering = {.strategy = HD_STRATEGY_RACE,
                                      .scheduler = HD_SCHED_FREE,
                                      .policy = HD_POLICY_FORCE,
                                      .seed = UINT64_MAX - 1,
                                      .quantum = UINT32_MAX,
                                      .watchdog_ms = 1,
                                      .no_trace = true,
                                      .direct = true,
                                      .children = true,
                                      .check = true,
                                      .check_waits = true,
                                      .granularity = HD_GRANULARITY_LINE,
                                      .patience_ms = 2,
                                      .unchecked = true,
                                      .length = INT64_MAX,
                                      .depth = 64,
                                      .per_mille = 1000,
                                      .most_us = 4,
                                      .most = 5,
                                      .timeout_us = 6,
                                      .timeouts = 7,
                                      .hits = 8,
                                      .strict = HD_FORCE_R_FIRST,
                                      .places = &places}};
    hd_vector_push(&job.steering.target, target);
    struct hd_job read = again(&job);
    struct hd_steering *s = &read.steering, given = job.steering;
    assert_int_equal(s->target.size, 1);
    assert_memory_equal(&s->target.data[0], &target, sizeof target);
    assert_string_equal(hd_site(s->places, target.c)->function, "f");
    assert_int_equal(hd_site(s->places, target.r)->offset, 16);
    /* all the rest, at once */
    memcpy(&given.target, &s->target, sizeof s->target);
    given.places = s->places;
    assert_memory_equal(s, &given, sizeof given);
    hd_job_free(&read);
    hd_vector_free(&job.steering.target);
    hd_sites_free(&places);
}

static void schedules(void **state) {
    (void)state;
    char a[] = "a";
    char *argv[] = {a, NULL};
    static const char text[] =
        "{\"schema\": \"heddle-schedule/1\", \"kind\": \"race\", \"made_by\": {\"T0\": [\"T1\"]}, "
        "\"schedule\": [{\"thread\": \"T0\", \"calls\": 12, \"to\": \"a.c:4 fork(T1)\"},"
        "{\"thread\": \"T1\", \"calls\": 3, \"beyond\": 2}], \"then\": [{\"thread\": \"T0\"}]}";
    struct hd_schedule schedule;
    assert_true(hd_schedule_read(text, strlen(text), "s", &schedule, &problem));
    struct hd_job job = {.program = {.argv = argv}, .steering = hd_schedule_steering(&schedule)};
    struct hd_job read = again(&job);
    char *first = hd_schedule_write(&schedule), *second = hd_schedule_write(read.steering.schedule);
    assert_string_equal(first, second);
    free(first);
    free(second);
    hd_job_free(&read);
    hd_schedule_free(&schedule);
}

static void results(void **state) {
    (void)state;
    struct hd_result result;
    memset(&result, 0, sizeof result);
    result.outcome = (struct hd_outcome){.kind = HD_OUTCOME_ASSERTION,
                                         .status = 6,
                                         .words = "assertion failed: \xff\n",
                                         .detail = "a.c:7"};
    result.replay = (struct hd_replay){.verdict = HD_REPLAYED_DIVERGED,
                                       .reached = true,
                                       .turns = 9,
                                       .unchecked = true,
                                       .words = "diverged",
                                       .divergence = {.there = true,
                                                      .turn = 1,
                                                      .thread = 2,
                                                      .call = UINT64_MAX,
                                                      .event = UINT32_MAX,
                                                      .expected = "r(x)",
                                                      .came = "w(x)"}};
    result.interrupted = 2;
    result.recorded = true;
    result.wire_events = 1ull << 40;
    result.threads = 3;
    result.end = (struct hd_trace_end){
        .whole = true, .signaled = true, .status = 11, .deadlocked = true, .lost_events = 5};
    result.wait_status = -1;
    result.nanoseconds = 77;
    for (unsigned i = 0; i < HD_ANSWER_WORDS; i++) result.answer[i] = i * 0x9e3779b97f4a7c15ull;
    result.output_bytes = 1;
    result.error_bytes = 2;
    result.output_hash = UINT64_MAX;
    strcpy(result.trace_path, "kept.hdt");
    result.output = result.error = result.trace = -1;
    char *text = hd_result_write(&result);
    struct hd_result read;
    memset(&read, 0, sizeof read);
    if (!hd_result_read(text, strlen(text), "f", &read, &problem)) fail_msg("%s", problem.message);
    char *second = hd_result_write(&read);
    assert_string_equal(text, second);
    assert_memory_equal(&read, &result, sizeof read);
    free(text);
    free(second);
    /* the path of a descriptor stays here */
    strcpy(result.trace_path, "/proc/self/fd/5");
    result.trace = 5;
    text = hd_result_write(&result);
    assert_null(strstr(text, "trace_path"));
    free(text);
}

/* A job that is written down, read and run, and its result the same way. */
static void through_text(void **state) {
    (void)state;
    char shell[] = "/bin/sh", c[] = "-c", script[] = "echo \"$GIVEN in $(pwd)\"; exit 3";
    char *argv[] = {shell, c, script, NULL}, given[] = "GIVEN=a value", *environment[] = {given, 0};
    struct hd_job job = {.program = {.argv = argv, .environment = environment, .directory = "/"}};
    struct hd_job there = again(&job);
    struct hd_result result, here;
    if (!hd_run(&there, NULL, &result, &problem)) fail_msg("%s", problem.message);
    char *text = hd_result_write(&result);
    assert_true(hd_result_read(text, strlen(text), "f", &here, &problem));
    assert_int_equal(here.outcome.kind, HD_OUTCOME_EXIT);
    assert_string_equal(here.outcome.words, "exited with status 3");
    assert_true(here.output_hash == result.output_hash && here.output_hash != 0);
    assert_int_equal(here.trace, -1);
    free(text);
    size_t bytes;
    text = hd_result_text(&result, 1, 100, &bytes);
    assert_string_equal(text, "a value in /\n");
    free(text);
    hd_result_free(&result);
    hd_job_free(&there);
}

#define JOB "{\"schema\":\"heddle-job/1\","
#define PROGRAM JOB "\"program\":{\"argv\":[\"a\"]},"
#define PLAIN "\"steering\":{\"strategy\":\"stress\",\"scheduler\":\"plain\"}}"
#define SERIAL "\"steering\":{\"strategy\":\"pct\",\"scheduler\":\"serial\",\"policy\":\"replay\"}"

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"", "f: line 1: "},
        {"[]", "f: a job must be an object"},
        {"{}", "f: this is no job: it has no \"schema\""},
        {"{\"schema\":\"heddle-job/2\"}", "f: schema \"heddle-job/2\" is not \"heddle-job/1\""},
        {JOB PLAIN, "f: this has no \"program\""},
        {PROGRAM "\"x\":1}", "f: this has no \"steering\""},
        {PROGRAM "\"x\":1," PLAIN, "f: unknown field \"x\""},
        {JOB "\"program\":{}," PLAIN, "f: program has no \"argv\""},
        {JOB "\"program\":{\"argv\":[]}," PLAIN, "f: program.argv must name a program"},
        {JOB "\"program\":{\"argv\":[1]}," PLAIN, "f: program.argv[0] must be a text"},
        {JOB "\"program\":{\"argv\":[{\"hex\":\"6\"}]}," PLAIN,
         "f: program.argv[0] must have pairs"},
        {JOB "\"program\":{\"argv\":[{\"hex\":\"0061\"}]}," PLAIN, "f: program.argv[0] must have"},
        {JOB "\"program\":{\"argv\":[\"a\"],\"environment\":[\"x\"]}," PLAIN,
         "f: program.environment must have words like \"NAME=VALUE\""},
        {JOB "\"program\":{\"argv\":[\"a\"],\"good_output\":\"x\"}," PLAIN,
         "f: program.good_output must be"},
        {JOB "\"program\":{\"argv\":[\"a\"],\"keep_aslr\":1}," PLAIN,
         "f: program.keep_aslr must be true or false"},
        {JOB "\"program\":{\"argv\":[\"a\"],\"good_status\":99999999999}," PLAIN,
         "f: program.good_status must be a whole number of 32 bits"},
        {PROGRAM SERIAL "}", "f: schedule must be there, with turns"},
        {PROGRAM "\"schedule\":{\"schema\":\"heddle-schedule/1\",\"schedule\":[]}," PLAIN,
         "f: schedule must be there, with turns"},
        {PROGRAM "\"schedule\":{\"schema\":\"heddle-schedule/1\"}," SERIAL "}",
         "f: this is no schedule"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hd_job job;
        if (hd_job_read(cases[i].text, strlen(cases[i].text), "f", &job, &problem))
            fail_msg("taken: %s", cases[i].text);
        if (strncmp(problem.message, cases[i].complaint, strlen(cases[i].complaint)) != 0)
            fail_msg("%s: '%s' does not say '%s'", cases[i].text, problem.message,
                     cases[i].complaint);
    }
    struct hd_result result;
    static const char long_words[] = "{\"schema\":\"heddle-result/1\",\"outcome\":{\"kind\":"
                                     "\"exit\",\"words\":\"%0600d\"}}";
    char text[800];
    snprintf(text, sizeof text, long_words, 1);
    assert_false(hd_result_read(text, strlen(text), "f", &result, &problem));
    assert_string_equal(problem.message, "f: outcome.words is too long");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs), cmocka_unit_test(steerings),    cmocka_unit_test(schedules),
        cmocka_unit_test(results),  cmocka_unit_test(through_text), cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
