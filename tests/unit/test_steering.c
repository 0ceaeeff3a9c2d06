/* How runs are steered, as a plan for the runtime and as a file: written and read back the same,
 * refused when it is not what it should be. */
#include "run/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hd_schedule sample(void) {
    struct hd_schedule r = {.good_output = "bytes:0123456789abcdef",
                            .variable = "x",
                            .about = "it fails",
                            .command = "./app 'a b'",
                            .kind = "failure",
                            .fingerprint = "",
                            .outcome = "signal"};
    uint32_t p = hd_site_make(&r.places, "app", 16, "a.c:1", "f");
    uint32_t c = hd_site_make(&r.places, "app", 32, "a.c:2", "f");
    uint32_t x = hd_site_make(&r.places, "lib.so", 16, "b.c:3", "g");
    assert_int_equal(p, hd_site_make(&r.places, "app", 16, "", ""));
    assert_true(p != x && p != c);
    struct hd_force_target target = {.p = p,
                                     .c = c,
                                     .r = x,
                                     .c_stop = p,
                                     .r_stop = x,
                                     .c_thread = HD_NONE,
                                     .r_thread = 7,
                                     .skip = 2};
    r.has_control = true;
    r.control = (struct hd_steering){.strategy = HD_STRATEGY_CTRIGGER,
                                     .scheduler = HD_SCHED_FREE,
                                     .policy = HD_POLICY_FORCE,
                                     .seed = UINT64_MAX,
                                     .timeout_us = 25000,
                                     .timeouts = 3,
                                     .hits = 4,
                                     .strict = HD_FORCE_C_FIRST};
    hd_vector_push(&r.control.target, target);
    return r;
}

static void plans(void **state) {
    (void)state;
    struct hd_schedule r = sample();
    struct hd_steering steering = hd_schedule_steering(&r);
    struct hd_wire_options options = hd_steering_options(&steering);
    size_t bytes;
    void *plan = hd_steering_plan(&steering, &bytes);
    assert_int_equal(options.scheduler, HD_SCHED_FREE);
    assert_int_equal(options.policy, HD_POLICY_FORCE);
    const struct hd_wire_force *force = plan;
    assert_int_equal(bytes, sizeof *force + sizeof force->target[0]);
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
    plan = hd_steering_plan(&pct, &bytes);
    assert_int_equal(bytes, sizeof(struct hd_wire_pct));
    assert_int_equal(((struct hd_wire_pct *)plan)->length, 99);
    assert_int_equal(((struct hd_wire_pct *)plan)->depth, 3);
    free(plan);
    hd_schedule_free(&r);
}

static void files(void **state) {
    (void)state;
    struct hd_schedule r = sample(), again;
    struct hd_error error;
    char *text = hd_schedule_write(&r);
    assert_non_null(text);
    if (!hd_schedule_read(text, strlen(text), "f", &again, &error)) fail_msg("%s", error.message);
    assert_string_equal(again.command, "./app 'a b'");
    assert_string_equal(again.outcome, "signal");
    assert_true(again.control.seed == UINT64_MAX);
    assert_int_equal(again.control.strict, HD_FORCE_C_FIRST);
    assert_int_equal(again.control.target.size, 1);
    const struct hd_force_target *target = &again.control.target.data[0];
    assert_int_equal(target->c_thread, HD_NONE);
    assert_int_equal(target->r_thread, 7);
    assert_string_equal(hd_site(&again.places, target->r)->module, "lib.so");
    assert_string_equal(hd_site(&again.places, target->r)->where, "b.c:3");
    char *second = hd_schedule_write(&again);
    assert_string_equal(second, text);
    free(second);
    free(text);
    hd_schedule_free(&again);
    hd_schedule_free(&r);
}

static void refused(void **state) {
    (void)state;
#define HEAD "{\"schema\":\"heddle-schedule/1\","
#define CONTROL "\"control\":{\"strategy\":\"ctrigger\",\"scheduler\":\"free\",\"policy\":\"force\""
    static const struct {
        const char *text, *complaint;
    } cases[] = {
        {HEAD "\"about\":7," CONTROL "}}", "f: about must be a text"},
        {HEAD "\"about\":\"a\\u001bb\"," CONTROL "}}", "f: about must have no control characters"},
        {HEAD "\"control\":{\"strategy\":\"luck\",\"scheduler\":\"plain\"}}",
         "f: control.strategy must be one of"},
        {HEAD "\"control\":{\"strategy\":\"pct\"}}", "f: control has no \"scheduler\""},
        {HEAD "\"control\":{\"strategy\":\"pct\",\"scheduler\":\"serial\"}}",
         "f: control has no \"policy\""},
        {HEAD "\"control\":{\"strategy\":\"pct\",\"scheduler\":\"serial\",\"policy\":\"replay\"}}",
         "f: control must not have the policy of a file with turns"},
        {HEAD CONTROL "},\"schedule\":[]}", "f: control and turns can't be in one file"},
        {HEAD CONTROL "},\"then\":[{\"thread\":\"T1\"}]}",
         "f: control and turns can't be in one file"},
        {HEAD CONTROL ",\"luck\":1}}", "f: control has an unknown field \"luck\""},
        {HEAD CONTROL "},\"luck\":1}", "f: unknown field \"luck\""},
        {HEAD CONTROL ",\"timeout_us\":-1}}", "f: control.timeout_us must be from 0 to 60000000"},
        {HEAD CONTROL ",\"depth\":1.5}}", "f: control.depth must be a whole number"},
        {HEAD CONTROL ",\"targets\":{}}}", "f: control.targets must be a list of at most 200"},
        {HEAD CONTROL ",\"targets\":[{}]}}", "f: control.targets[0] has no \"c\""},
        {HEAD CONTROL ",\"targets\":[{\"c\":{\"module\":\"a\",\"offset\":1}}]}}",
         "f: control.targets[0] has no \"r\""},
        {HEAD CONTROL ",\"targets\":[{\"r\":7,\"c\":{\"module\":\"a\"}}]}}",
         "f: control.targets[0].r must be an object"},
        {HEAD CONTROL ",\"targets\":[{\"c\":{\"module\":\"a\"},\"r\":{}}]}}",
         "f: control.targets[0].c has no \"offset\""},
        {HEAD CONTROL ",\"targets\":[{\"c\":{\"module\":\"a\",\"offset\":99999999999},\"r\":{}}]}}",
         "f: control.targets[0].c.offset must be from 0 to"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hd_schedule r;
        struct hd_error error;
        if (hd_schedule_read(cases[i].text, strlen(cases[i].text), "f", &r, &error))
            fail_msg("taken: %s", cases[i].text);
        if (strncmp(error.message, cases[i].complaint, strlen(cases[i].complaint)) != 0)
            fail_msg("%s: '%s' does not say '%s'", cases[i].text, error.message,
                     cases[i].complaint);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans), cmocka_unit_test(files),
                                       cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
