/* Schedules: the file's reader (strict, with places in its errors), the writer, and the plan that
 * the runtime gets. */
#include "run/schedule.h"
#include "trace/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hd_error problem;

#define HEAD "{\"schema\": \"heddle-schedule/1\", "

static struct hd_schedule read_good(const char *text) {
    struct hd_schedule schedule;
    if (!hd_schedule_read(text, strlen(text), "file", &schedule, &problem))
        fail_msg("%s: %s", text, problem.message);
    return schedule;
}

static void expect_refused(const char *text, const char *message) {
    struct hd_schedule schedule;
    if (hd_schedule_read(text, strlen(text), "file", &schedule, &problem))
        fail_msg("accepted: %s", text);
    if (strcmp(problem.message, message) != 0)
        fail_msg("%s\nsays: %s\nnot:  %s", text, problem.message, message);
}

static const char example[] =
    HEAD "\"kind\": \"race\", \"variable\": \"len\", \"about\": \"two writes\",\n"
         "\"command\": \"./app 4\", \"fingerprint\": \"f00\",\n"
         "\"choices\": [{\"thread\": \"T3\", \"call\": 7, \"wakes\": \"T1\"},\n"
         "{\"thread\": \"T1\", \"call\": 2, \"timeout\": true}],\n"
         "\"made_by\": {\"T0\": [\"T1\", \"T4\"], \"T1\": [\"T3\"]},\n"
         "\"schedule\": [{\"thread\": \"T0\", \"calls\": 12, \"to\": \"a.c:4 fork(T1)\"},\n"
         "{\"thread\": \"T1\", \"calls\": 3, \"beyond\": 2},\n"
         "{\"thread\": \"T0\", \"calls\": 0},\n"
         "{\"thread\": \"T1\", \"calls\": 1, \"to\": \"a.c:9 r(\\u00fc)\"}],\n"
         "\"then\": [{\"thread\": \"T1\", \"at\": \"a.c:9 w(len)\"},\n"
         "{\"thread\": \"T0\", \"calls\": 2}]}";

static void good_files(void **state) {
    (void)state;
    struct hd_schedule s = read_good(example);
    assert_string_equal(s.kind, "race");
    assert_string_equal(s.variable, "len");
    assert_string_equal(s.fingerprint, "f00");
    assert_string_equal(s.about, "two writes");
    assert_string_equal(s.command, "./app 4");
    assert_int_equal(s.turn.size, 4);
    assert_int_equal(s.turn.data[1].thread, 1);
    assert_int_equal(s.turn.data[1].calls, 3);
    assert_int_equal(s.turn.data[1].beyond, 2);
    assert_string_equal(s.turn.data[1].to, "");
    assert_string_equal(s.turn.data[3].to, "a.c:9 r(\xc3\xbc)");
    assert_int_equal(s.choice.size, 2);
    assert_int_equal(s.choice.data[0].thread, 3);
    assert_int_equal(s.choice.data[0].call, 7);
    assert_int_equal(s.choice.data[0].wakes, 1);
    assert_int_equal(s.choice.data[1].wakes, UINT32_MAX);
    assert_int_equal(s.then.size, 2);
    assert_int_equal(s.then.data[0].calls, 1);
    assert_int_equal(s.then.data[1].calls, 2);
    assert_int_equal(hd_schedule_switches(&s), 4);
    assert_int_equal(s.made.size, 5);
    assert_int_equal(s.made.data[4].by, 0);
    assert_int_equal(s.made.data[4].as, 1);
    assert_int_equal(s.made.data[3].by, 1);
    assert_int_equal(s.made.data[3].as, 0);
    assert_int_equal(s.made.data[2].by, UINT32_MAX);
    /* written, read and written again */
    char *text = hd_schedule_write(&s);
    struct hd_schedule again = read_good(text);
    char *second = hd_schedule_write(&again);
    assert_string_equal(text, second);
    struct hd_schedule copy;
    hd_schedule_copy(&copy, &again);
    hd_schedule_free(&again);
    char *third = hd_schedule_write(&copy);
    assert_string_equal(text, third);
    free(text);
    free(second);
    free(third);
    hd_schedule_free(&copy);
    hd_schedule_free(&s);
    struct hd_schedule least = read_good(HEAD "\"schedule\": []}");
    assert_int_equal(least.turn.size + least.then.size, 0);
    hd_schedule_free(&least);
}

static void bad_files(void **state) {
    (void)state;
    expect_refused("", "file: line 1: '[' or '{' expected near end of file");
    expect_refused("{\n\"schema\": 1,,\n}", "file: line 2: string or '}' expected near ','");
    expect_refused("[]", "file: a schedule must be an object");
    expect_refused("{}", "file: this is no schedule: it has no \"schema\"");
    expect_refused("{\"schema\": \"heddle-findings/1\"}",
                   "file: schema \"heddle-findings/1\" is not \"heddle-schedule/1\"");
    expect_refused(HEAD "\"schedule\": {}}", "file: schedule must be a list");
    expect_refused(HEAD "\"kind\": \"x\"}",
                   "file: this is no schedule: it has no \"schedule\" and no \"control\"");
    expect_refused(HEAD "\"kind\": 4, \"schedule\": []}", "file: kind must be a text");
    expect_refused(HEAD "\"about\": \"a\\u001b[31m\", \"schedule\": []}",
                   "file: about must have no control characters");
    expect_refused(HEAD "\"schedule\": [], \"turns\": []}", "file: unknown field \"turns\"");
    expect_refused(HEAD "\"schedule\": [], \"choices\": {}}", "file: choices must be a list");
    expect_refused(HEAD "\"schedule\": [], \"choices\": [{\"thread\": \"T1\", \"call\": 0, "
                        "\"wakes\": \"T2\"}]}",
                   "file: choices[0].call must be a whole number, 1 or more");
    expect_refused(HEAD "\"schedule\": [], \"choices\": [{\"thread\": \"T1\", \"call\": 1}]}",
                   "file: choices[0] must have either \"wakes\" or \"timeout\"");
    expect_refused(HEAD "\"schedule\": [], \"choices\": [{\"thread\": \"T1\", \"call\": 1, "
                        "\"timeout\": false}]}",
                   "file: choices[0].timeout must be true");
    expect_refused(HEAD "\"schedule\": [], \"made_by\": []}", "file: made_by must be an object");
    expect_refused(HEAD "\"schedule\": [], \"made_by\": {\"T0\": 1}}",
                   "file: made_by must have lists of threads");
    expect_refused(HEAD "\"schedule\": [], \"made_by\": {\"main\": [\"T1\"]}}",
                   "file: made_by must be a thread, \"T0\" to \"T65534\"");
    expect_refused(HEAD "\"schedule\": [], \"made_by\": {\"T0\": [\"T1\"], \"T2\": [\"T1\"]}}",
                   "file: made_by must not have a thread made twice");
    expect_refused(HEAD "\"schedule\": [], \"made_by\": {\"T1\": [\"T0\"]}}",
                   "file: made_by must not have \"T0\" made by another thread");
    expect_refused(HEAD "\"schedule\": [], \"schedule\": []}",
                   "file: line 1: duplicate object key near '\"schedule\"'");
    expect_refused(HEAD "\"schedule\": [4]}", "file: schedule[0] must be an object");
    expect_refused(HEAD "\"schedule\": [{\"calls\": 4}]}", "file: schedule[0] has no \"thread\"");
    expect_refused(HEAD "\"schedule\": [{\"thread\": \"T1\"}]}",
                   "file: schedule[0] has no \"calls\"");
    expect_refused(HEAD "\"schedule\": [{\"thread\": \"T1\", \"calls\": 1, \"at\": \"x\"}]}",
                   "file: schedule[0] has an unknown field \"at\"");
    expect_refused(HEAD "\"schedule\": [], \"then\": [{\"thread\": \"T1\", \"beyond\": 1}]}",
                   "file: then[0] has an unknown field \"beyond\"");
    static const char *const thread[] = {"1",       "\"1\"",          "\"T\"",      "\"T-1\"",
                                         "\"T01\"", "\"T65535\"",     "\"T99999\"", "\"T1x\"",
                                         "null",    "\"T4294967297\""};
    for (size_t i = 0; i < sizeof thread / sizeof *thread; i++) {
        char text[200];
        snprintf(text, sizeof text, HEAD "\"schedule\": [{\"thread\": %s, \"calls\": 1}]}",
                 thread[i]);
        expect_refused(text, "file: schedule[0].thread must be a thread, \"T0\" to \"T65534\"");
    }
    static const char *const calls[] = {"-1", "1.5", "\"1\"", "9007199254740993", "null"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char text[200];
        snprintf(text, sizeof text, HEAD "\"schedule\": [{\"thread\": \"T0\", \"calls\": %s}]}",
                 calls[i]);
        expect_refused(text, "file: schedule[0].calls must be a whole number, 0 or more");
    }
    expect_refused(HEAD "\"schedule\": [{\"thread\": \"T0\", \"calls\": 9007199254740992},"
                        "{\"thread\": \"T0\", \"calls\": 1}]}",
                   "file: schedule[1].calls makes the schedule too long");
}

static void plans(void **state) {
    (void)state;
    struct hd_schedule s = read_good(example);
    size_t bytes;
    struct hd_wire_replay *plan = hd_schedule_plan(&s, 77, &bytes);
    assert_int_equal(bytes, sizeof *plan + 6 * sizeof plan->turn[0] +
                                5 * sizeof(struct hd_wire_made) +
                                2 * sizeof(struct hd_wire_choice));
    assert_int_equal(plan->threads, 5);
    assert_int_equal(plan->turns, 6);
    assert_int_equal(plan->then, 4);
    assert_int_equal(plan->patience_ms, 77);
    static const struct hd_wire_turn wanted[] = {{0, 0, 12, 12}, {1, 0, 3, 5}, {0, 1, 12, 12},
                                                 {1, 0, 6, 6},   {1, 0, 7, 7}, {0, 0, 14, 14}};
    assert_memory_equal(plan->turn, wanted, sizeof wanted);
    static const struct hd_wire_made makers[] = {
        {UINT32_MAX, 0}, {0, 0}, {UINT32_MAX, 0}, {1, 0}, {0, 1}};
    assert_memory_equal(&plan->turn[6], makers, sizeof makers);
    static const struct hd_wire_choice choices[] = {{7, 3, 1}, {2, 1, UINT32_MAX}};
    assert_int_equal(plan->choices, 2);
    assert_memory_equal((const char *)&plan->turn[6] + sizeof makers, choices, sizeof choices);
    free(plan);
    hd_schedule_free(&s);
}

static void files(void **state) {
    (void)state;
    struct hd_schedule s = read_good(example), back;
    assert_true(hd_schedule_save(&s, "w.json", &problem));
    assert_true(hd_schedule_load("w.json", &back, &problem));
    assert_int_equal(back.turn.size, s.turn.size);
    hd_schedule_free(&back);
    assert_false(hd_schedule_load("none.json", &back, &problem));
    assert_string_equal(problem.message, "cannot open none.json: No such file or directory");
    assert_false(hd_schedule_save(&s, "no/such/directory/w.json", &problem));
    assert_non_null(strstr(problem.message, "cannot write no/such/directory/w.json: "));
    hd_schedule_free(&s);
    remove("w.json");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(plans),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
