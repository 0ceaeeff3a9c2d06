/* From a recorded run over its predicted races to replays: every schedule of a witness is followed
 * to its end, in both orders, and those that must fail do. Programs are those of tests/programs,
 * compiled by the heddle under test. */
#define _GNU_SOURCE
#include "predict/predict.h"
#include "run/record.h"
#include "run/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct hd_error problem;

static void compile(const char *name) {
    const char *heddle = getenv("HEDDLE");
    if (heddle == NULL) skip(); /* run by hand */
    char *command;
    assert_true(asprintf(&command, "%s cc -g -O1 -o ./%s %s/tests/programs/%s.c -pthread", heddle,
                         name, HEDDLE_SOURCE_DIR, name) > 0);
    assert_int_equal(system(command), 0);
    free(command);
}

static struct hd_program program_of(char **argv, char *path, size_t room, const char *name) {
    snprintf(path, room, "./%s", name);
    argv[0] = path;
    argv[1] = NULL;
    return (struct hd_program){.argv = argv, .limit_ms = 20000};
}

struct found {
    struct hd_model model;
    struct hd_describe *describe;
    struct hd_findings findings;
};

/* Records under a control and predicts everything. */
static void predict(const struct hd_program *program, const struct hd_steering *steering,
                    struct found *found) {
    struct hd_job job = {.program = *program, .steering = *steering};
    struct hd_result run;
    if (!hd_run(&job, NULL, &run, &problem)) fail_msg("%s", problem.message);
    assert_true(run.recorded);
    assert_false(hd_outcome_failed(&run.outcome));
    memset(found, 0, sizeof *found);
    if (!hd_model_load(run.trace_path, NULL, NULL, &found->model, &problem))
        fail_msg("%s", problem.message);
    found->describe = hd_describe_open(&found->model);
    struct hd_analysis analysis = {.model = &found->model, .describe = found->describe};
    struct hd_predict predict = {
        .analysis = &analysis,
        .model = &found->model,
        .describe = found->describe,
        .options = {.method = &hd_method_poly, .reading = HD_CDSR, .jobs = 1}};
    predict.options.all = true;
    for (unsigned i = 0; i < HD_PREDICT_KIND_COUNT; i++)
        if (!hd_predict_kinds[i].run(&predict, &found->findings, &problem))
            fail_msg("%s", problem.message);
    hd_analysis_free(&analysis);
    hd_result_free(&run);
}

static void forget(struct found *found) {
    hd_findings_free(&found->findings);
    hd_describe_close(found->describe);
    hd_model_free(&found->model);
}

/* Through its file, as a user would: what is written reads back as the same. */
static void through_a_file(struct hd_schedule *schedule) {
    char *text = hd_schedule_write(schedule);
    assert_non_null(text);
    struct hd_schedule read;
    if (!hd_schedule_read(text, strlen(text), "written", &read, &problem))
        fail_msg("%s\n%s", problem.message, text);
    char *again = hd_schedule_write(&read);
    assert_string_equal(text, again);
    free(text);
    free(again);
    hd_schedule_free(schedule);
    *schedule = read;
}

/* Replays every finding of a program, races in both orders; returns how many replays failed. */
static unsigned replay_findings(const char *name, const struct hd_steering *steering,
                                unsigned *races) {
    char path[100], *argv[2];
    struct hd_program program = program_of(argv, path, sizeof path, name);
    struct found found;
    predict(&program, steering, &found);
    unsigned failed = 0;
    for (size_t i = 0; i < found.findings.list.size; i++) {
        const struct hd_finding *finding = &found.findings.list.data[i];
        if (finding->verdict != HD_VERDICT_FEASIBLE || finding->witness == NULL) continue;
        *races += finding->kind == HD_FINDING_RACE;
        struct hd_schedule schedule;
        if (!hd_schedule_from_finding(&schedule, &found.model, found.describe, finding, &problem))
            fail_msg("%s", problem.message);
        if (finding->kind == HD_FINDING_RACE) assert_int_equal(schedule.then.size, 2);
        assert_string_equal(schedule.kind, hd_finding_kind_name(finding->kind));
        through_a_file(&schedule);
        for (int order = 0; order < (finding->kind == HD_FINDING_RACE ? 2 : 1); order++) {
            struct hd_result run;
            struct hd_job job = {.program = program, .steering = hd_schedule_steering(&schedule)};
            if (!hd_run(&job, NULL, &run, &problem)) fail_msg("%s", problem.message);
            if (!run.replay.reached || run.replay.unchecked) {
                char *text = hd_schedule_write(&schedule);
                fail_msg("%s, %s: %s\n%s", name, hd_finding_kind_name(finding->kind),
                         run.replay.words, text);
            }
            failed += run.replay.verdict == HD_REPLAYED_CONFIRMED;
            if (finding->kind == HD_FINDING_DEADLOCK)
                assert_int_equal(run.outcome.kind, HD_OUTCOME_DEADLOCK);
            hd_result_free(&run);
            hd_schedule_swap(&schedule);
        }
        hd_schedule_free(&schedule);
    }
    forget(&found);
    return failed;
}

static void expect_races(const char *name, unsigned least_races, unsigned least_failures) {
    compile(name);
    static const struct hd_steering steering[] = {
        {.scheduler = HD_SCHED_SERIAL},
        {.scheduler = HD_SCHED_SERIAL, .direct = true},
    };
    for (size_t i = 0; i < sizeof steering / sizeof *steering; i++) {
        unsigned races = 0, failed = replay_findings(name, &steering[i], &races);
        if (races < least_races || failed < least_failures)
            fail_msg("%s: %u races, %u replays that failed", name, races, failed);
    }
}

static void counter_race(void **state) {
    (void)state;
    expect_races("counter_race", 1, 1);
}
static void hidden_race(void **state) {
    (void)state;
    expect_races("hidden_race", 1, 0);
}
static void null_check(void **state) {
    (void)state;
    expect_races("null_check", 1, 1);
}
static void log_buffer(void **state) {
    (void)state;
    expect_races("log_buffer", 1, 1);
}
static void bank_partial_fix(void **state) {
    (void)state;
    expect_races("bank_partial_fix", 1, 1);
}
static void double_checked(void **state) {
    (void)state;
    expect_races("double_checked", 1, 0);
}
static void use_before_assign(void **state) {
    (void)state;
    expect_races("use_before_assign", 1, 1);
}
static void wrong_lock(void **state) {
    (void)state;
    expect_races("wrong_lock", 1, 0);
}
static void barrier_phase(void **state) {
    (void)state;
    expect_races("barrier_phase", 1, 0);
}
static void c11_threads(void **state) {
    (void)state;
    expect_races("c11_threads", 1, 0);
}

/* What is predicted of the others, of every kind, is reached too. */
static void other_programs(void **state) {
    (void)state;
    static const char *const name[] = {"abba_deadlock",  "check_then_act",
                                       "last_writer",    "lost_update",
                                       "mailbox",        "missed_wakeup",
                                       "multi_variable", "philosophers",
                                       "queue_if",       "refcount",
                                       "self_deadlock",  "semaphore_count",
                                       "rwlock_upgrade", "relaxed_publication",
                                       "pipeline",       "shutdown_use_after_free"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        compile(name[i]);
        struct hd_steering steering = {.scheduler = HD_SCHED_SERIAL};
        unsigned races = 0;
        replay_findings(name[i], &steering, &races);
    }
}

/* The order of a recorded run is a schedule: its replay gives the same events. */
static void recorded_runs(void **state) {
    (void)state;
    static const char *const name[] = {"counter_race", "queue_if", "philosophers", "mailbox",
                                       "semaphore_count"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        compile(name[i]);
        char path[100], *argv[2];
        struct hd_program program = program_of(argv, path, sizeof path, name[i]);
        for (uint64_t seed = 1; seed <= 6; seed++) {
            struct hd_job job = {.program = program,
                                 .steering = {.scheduler = HD_SCHED_SERIAL,
                                              .policy = HD_POLICY_RANDOM,
                                              .seed = seed,
                                              .quantum = 5}};
            struct hd_result run, again;
            if (!hd_run(&job, NULL, &run, &problem)) fail_msg("%s", problem.message);
            struct hd_model model;
            struct hd_model_options lenient = {.lenient = true};
            if (!hd_model_load(run.trace_path, NULL, &lenient, &model, &problem))
                fail_msg("%s", problem.message);
            struct hd_describe *describe = hd_describe_open(&model);
            struct hd_schedule schedule;
            assert_true(hd_schedule_from_run(&schedule, &model, describe, &problem));
            job.steering = hd_schedule_steering(&schedule);
            if (!hd_run(&job, NULL, &again, &problem)) fail_msg("%s", problem.message);
            if (!again.replay.reached || !hd_outcome_same(&again.outcome, &run.outcome)) {
                char *text = hd_schedule_write(&schedule);
                fail_msg("%s, seed %u: %s (recorded: %s)\n%s", name[i], (unsigned)seed,
                         again.replay.words, run.outcome.words, text);
            }
            hd_result_free(&again);
            hd_schedule_free(&schedule);
            hd_describe_close(describe);
            hd_model_free(&model);
            hd_result_free(&run);
        }
    }
}

/* The runtime believes nothing in a plan: it says that it did not understand it, and the program
 * runs on without. */
static void bad_plans(void **state) {
    (void)state;
    compile("counter_race");
    char path[100], *argv[2];
    struct hd_program program = program_of(argv, path, sizeof path, "counter_race");
    struct {
        struct hd_wire_replay head;
        struct hd_wire_turn turn[2];
    } plan;
    for (int i = 0; i < 8; i++) {
        memset(&plan, 0, sizeof plan);
        plan.head = (struct hd_wire_replay){.turns = 2, .then = 1, .patience_ms = 100};
        plan.turn[0] = (struct hd_wire_turn){.thread = 0, .mark = 1, .end = 1};
        plan.turn[1] = (struct hd_wire_turn){.thread = 0, .mark = 2, .end = 2};
        size_t bytes = sizeof plan;
        if (i == 1) bytes = 0;
        if (i == 2) bytes = 7;
        if (i == 3) bytes -= 1;
        if (i == 4) plan.head.turns = UINT32_MAX;
        if (i == 5) plan.head.then = 3;
        if (i == 6) plan.turn[1].thread = 70000;
        if (i == 7) plan.turn[1].end = UINT64_MAX;
        struct hd_job job = {
            .program = program,
            .steering = {.scheduler = HD_SCHED_SERIAL, .policy = HD_POLICY_REPLAY}};
        struct hd_record_options record = {
            .job = &job, .output = "/dev/null", .plan = &plan, .plan_bytes = bytes};
        struct hd_record_result run;
        if (!hd_record(&record, &run, &problem)) fail_msg("%s", problem.message);
        struct hd_wire_replay_answer answer;
        memcpy(&answer, run.answer, sizeof answer);
        assert_int_equal(run.wait_status, 0);
        if (i == 0) {
            assert_int_equal(answer.state, HD_REPLAY_OVER);
        } else {
            assert_int_equal(answer.state, HD_REPLAY_DIVERGED);
            assert_int_equal(answer.reason, HD_REPLAY_BAD_PLAN);
        }
        hd_record_result_free(&run);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counter_race),      cmocka_unit_test(hidden_race),
        cmocka_unit_test(null_check),        cmocka_unit_test(log_buffer),
        cmocka_unit_test(bank_partial_fix),  cmocka_unit_test(double_checked),
        cmocka_unit_test(use_before_assign), cmocka_unit_test(wrong_lock),
        cmocka_unit_test(barrier_phase),     cmocka_unit_test(c11_threads),
        cmocka_unit_test(other_programs),    cmocka_unit_test(recorded_runs),
        cmocka_unit_test(bad_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
