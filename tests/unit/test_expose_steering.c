/* How runs are steered, as a plan for the runtime and as a file: written and read back the same,
 * refused when it is not what it should be. */
#include "run/steering.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hd_reproducer sample(void) {
    struct hd_reproducer r = {.good_output = "bytes:0123456789abcdef",
                              .variable = "x",
                              .about = "it fails",
                              .command = "./app 'a b'",
                              .outcome = "signal"};
    uint32_t p = hd_place_make(&r.places, "app", 16, "a.c:1", "f");
    uint32_t c = hd_place_make(&r.places, "app", 32, "a.c:2", "f");
    uint32_t x = hd_place_make(&r.places, "lib.so", 16, "b.c:3", "g");
    assert_int_equal(p, hd_place_make(&r.places, "app", 16, "", ""));
    assert_true(p != x && p != c);
    struct hd_force_target target = {.p = p,
                                     .c = c,
                                     .r = x,
                                     .c_stop = p,
                                     .r_stop = x,
                                     .c_thread = HD_NONE,
                                     .r_thread = 7,
                                     .skip = 2};
    r.steering = (struct hd_steering){.strategy = HD_STRATEGY_CTRIGGER,
                                      .scheduler = HD_SCHED_FREE,
                                      .policy = HD_POLICY_FORCE,
                                      .seed = UINT64_MAX,
                                      .timeout_us = 25000,
                                      .timeouts = 3,
                                      .hits = 4,
                                      .strict = HD_FORCE_C_FIRST};
    assert_true(hd_vector_push(&r.steering.target, target));
    return r;
}

static void plans(void **state) {
    (void)state;
    struct hd_reproducer r = sample();
    r.steering.places = &r.places;
    struct hd_control control;
    void *plan;
    assert_true(hd_steering_control(&r.steering, &control, &plan));
    assert_int_equal(control.scheduler, HD_SCHED_FREE);
    assert_int_equal(control.policy, HD_POLICY_FORCE);
    const struct hd_wire_force *force = plan;
    assert_int_equal(control.plan_bytes, sizeof *force + sizeof force->target[0]);
    assert_int_equal(force->targets, 1);
    assert_int_equal(force->timeout_us, 25000);
    assert_int_equal(force->timeouts, 3);
    assert_int_equal(force->hits, 4);
    assert_int_equal(force->strict, HD_FORCE_C_FIRST);
    const struct hd_wire_target *target = &force->target[0];
    assert_true(target->p.module == hd_wire_name_hash("/usr/bin/app"));
    assert_true(target->r.module == hd_wire_name_hash("lib.so"));
    assert_int_equal(target->c.offset, 32);
    assert_int_equal(target->c_stop.offset, 16);
    assert_true(target->c_caller.module == 0);
    assert_int_equal(target->r_thread, 7);
    assert_int_equal(target->skip, 2);
    free(plan);
    struct hd_steering pct = {
        .scheduler = HD_SCHED_SERIAL, .policy = HD_POLICY_PCT, .length = 99, .depth = 3};
    assert_true(hd_steering_control(&pct, &control, &plan));
    assert_int_equal(((struct hd_wire_pct *)plan)->length, 99);
    assert_int_equal(((struct hd_wire_pct *)plan)->depth, 3);
    free(plan);
    hd_reproducer_free(&r);
}

static void files(void **state) {
    (void)state;
    struct hd_reproducer r = sample(), again;
    r.steering.places = &r.places;
    struct hd_error error;
    char *text = hd_reproducer_write(&r);
    assert_non_null(text);
    assert_true(hd_reproducer_is(text, strlen(text)));
    if (!hd_reproducer_read(text, strlen(text), "f", &again, &error)) fail_msg("%s", error.message);
    assert_string_equal(again.command, "./app 'a b'");
    assert_string_equal(again.outcome, "signal");
    assert_true(again.steering.seed == UINT64_MAX);
    assert_int_equal(again.steering.strict, HD_FORCE_C_FIRST);
    assert_int_equal(again.steering.target.size, 1);
    const struct hd_force_target *target = &again.steering.target.data[0];
    assert_int_equal(target->c_thread, HD_NONE);
    assert_int_equal(target->r_thread, 7);
    assert_string_equal(hd_place(&again.places, target->r)->module, "lib.so");
    assert_string_equal(hd_place(&again.places, target->r)->where, "b.c:3");
    char *second = hd_reproducer_write(&again);
    assert_string_equal(second, text);
    free(second);
    free(text);
    hd_reproducer_free(&again);
    hd_reproducer_free(&r);
}

static void refused(void **state) {
    (void)state;
#define HEAD "{\"schema\":\"heddle-schedule/1\","
#define CONTROL "\"control\":{\"strategy\":\"ctrigger\",\"scheduler\":\"free\",\"policy\":\"force\""
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {"", "f:1: "},
        {"[]", "\"schema\""},
        {"{\"schema\":\"heddle-schedule/2\"}", "\"schema\" is not heddle-schedule/1"},
        {HEAD "\"schedule\":[]}", "\"control\" is missing"},
        {HEAD "\"about\":7," CONTROL "}}", "\"about\" is not a text"},
        {HEAD "\"about\":\"a\\u001bb\"," CONTROL "}}", "\"about\" has control characters"},
        {HEAD "\"control\":{\"strategy\":\"luck\"}}", "\"strategy\" is missing, or none"},
        {HEAD "\"control\":{\"strategy\":\"pct\",\"scheduler\":\"serial\",\"policy\":\"replay\"}}",
         "\"policy\" belongs to a file with turns"},
        {HEAD CONTROL ",\"timeout_us\":-1}}", "\"timeout_us\" is too large or negative"},
        {HEAD CONTROL ",\"depth\":1.5}}", "\"depth\" is not a whole number"},
        {HEAD CONTROL ",\"targets\":{}}}", "\"targets\" is no list"},
        {HEAD CONTROL ",\"targets\":[{}]}}", "\"targets\" holds one without c or r"},
        {HEAD CONTROL ",\"targets\":[{\"c\":{\"module\":\"a\"}}]}}",
         "\"c\" is a place without a module or an offset"},
        {HEAD CONTROL ",\"targets\":[{\"c\":{\"module\":\"a\",\"offset\":99999999999}}]}}",
         "\"offset\" is too large"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hd_reproducer r;
        struct hd_error error;
        if (hd_reproducer_read(cases[i].text, strlen(cases[i].text), "f", &r, &error))
            fail_msg("taken: %s", cases[i].text);
        if (strstr(error.message, cases[i].complaint) == NULL)
            fail_msg("%s: '%s' does not say '%s'", cases[i].text, error.message,
                     cases[i].complaint);
    }
    assert_false(hd_reproducer_is("{\"schedule\":[]}", 15));
    assert_false(hd_reproducer_is("x", 1));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans), cmocka_unit_test(files),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
