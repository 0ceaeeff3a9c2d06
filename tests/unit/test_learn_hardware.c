/* AVIO-H: each bit's rule (the dissertation, 4.4.1), the cases through the caches, what loses
 * history, and whole traces beside AVIO-S. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "facts/patterns.h"
#include "learn/hardware.h"
#include "support/model_make.h"

enum { R = HD_DOES_READ, W = HD_DOES_WRITE, U = HD_DOES_UPDATE, LINE = 7 };

static struct hd_caches *make(void) {
    struct hd_hardware usual = hd_hardware_usual();
    return hd_caches_make(&usual);
}

static struct hd_cache_bits bits(const struct hd_caches *caches, uint32_t core) {
    struct hd_cache_bits bits;
    assert_true(hd_caches_bits(caches, core, LINE, &bits));
    return bits;
}

/* Set to 1 at each local read, unset at each local write. */
static void the_pi_bit(void **state) {
    (void)state;
    struct hd_caches *caches = make();
    hd_caches_access(caches, 0, LINE, R);
    assert_true(bits(caches, 0).pi);
    hd_caches_access(caches, 0, LINE, W);
    assert_false(bits(caches, 0).pi);
    hd_caches_access(caches, 0, LINE, R);
    assert_true(bits(caches, 0).pi);
    hd_caches_access(caches, 0, LINE, U);
    assert_false(bits(caches, 0).pi);
    hd_caches_access(caches, 1, LINE, R); /* another core's */
    assert_false(bits(caches, 0).pi);
    assert_true(bits(caches, 1).pi);
    hd_caches_free(caches);
}

/* Set upon a downgrade request, unset after each local access. */
static void the_dg_bit(void **state) {
    (void)state;
    struct hd_caches *caches = make();
    hd_caches_access(caches, 0, LINE, W);
    assert_false(bits(caches, 0).dg);
    hd_caches_access(caches, 1, LINE, R);
    assert_true(bits(caches, 0).dg);
    assert_false(bits(caches, 1).dg);
    hd_caches_access(caches, 2, LINE, R); /* the line is shared: nobody asks for it again */
    assert_false(bits(caches, 1).dg);
    hd_caches_access(caches, 0, LINE, R);
    assert_false(bits(caches, 0).dg);
    hd_caches_access(caches, 0, LINE, W);
    hd_caches_access(caches, 1, LINE, R);
    hd_caches_access(caches, 0, LINE, W);
    assert_false(bits(caches, 0).dg);
    hd_caches_free(caches);
}

/* Set by a remote write; other bits stay. */
static void the_inv_bit(void **state) {
    (void)state;
    struct hd_caches *caches = make();
    hd_caches_access(caches, 0, LINE, R);
    assert_false(bits(caches, 0).inv);
    hd_caches_access(caches, 1, LINE, R);
    assert_false(bits(caches, 0).inv);
    hd_caches_access(caches, 1, LINE, W);
    assert_true(bits(caches, 0).inv);
    assert_true(bits(caches, 0).pi);
    hd_caches_access(caches, 1, LINE, R); /* the line is not ours: no downgrade reaches us */
    assert_false(bits(caches, 0).dg);
    hd_caches_access(caches, 0, LINE, R);
    assert_false(bits(caches, 0).inv);
    hd_caches_free(caches);
}

/* Table 4.1 and its extension, through the caches: 'r' and 'w' of core 0, 'R' and 'W' of core 1. */
static bool violates(const char *accesses) {
    struct hd_caches *caches = make();
    struct hd_cache_access last = {0};
    for (; *accesses != '\0'; accesses++) {
        bool remote = *accesses < 'a';
        unsigned does = *accesses == 'r' || *accesses == 'R' ? R : W;
        last = hd_caches_access(caches, remote, LINE, does);
    }
    hd_caches_free(caches);
    return last.violated;
}

static void the_cases(void **state) {
    (void)state;
    assert_false(violates("rRr"));
    assert_false(violates("wRr"));
    assert_true(violates("rWr"));
    assert_true(violates("wWr"));
    assert_false(violates("rRw"));
    assert_true(violates("wRw"));
    assert_true(violates("rWw"));
    assert_false(violates("wWw"));
    assert_true(violates("rWRr"));
    assert_true(violates("wRWw")); /* the first remote access is a read */
    assert_false(violates("wWRw"));
    assert_false(violates("rr"));
    assert_false(violates("ww"));
    assert_false(violates("Wr")); /* no local access before */
}

/* Checks are made only where the L1 has to ask others. */
static void what_is_a_miss(void **state) {
    (void)state;
    struct hd_caches *caches = make();
    struct hd_cache_access access = hd_caches_access(caches, 0, LINE, R);
    assert_false(access.hit);
    assert_int_equal(access.cycles, 2 + 10 + 200);
    access = hd_caches_access(caches, 0, LINE, W); /* nobody else has it */
    assert_true(access.hit);
    assert_int_equal(access.cycles, 2);
    access = hd_caches_access(caches, 1, LINE, R);
    assert_false(access.hit);
    assert_int_equal(access.cycles, 2 + 10);
    access = hd_caches_access(caches, 0, LINE, R);
    assert_true(access.hit);
    access = hd_caches_access(caches, 0, LINE, W);
    assert_true(access.upgrade);
    assert_false(access.hit);
    hd_caches_free(caches);
}

/* Four ways: the fifth line of a set takes the place of the least recently used. */
static void displacement(void **state) {
    (void)state;
    struct hd_hardware usual = hd_hardware_usual();
    uint64_t sets = usual.l1_bytes / usual.line / usual.l1_ways;
    struct hd_caches *caches = make();
    struct hd_cache_bits ignored;
    hd_caches_access(caches, 0, LINE, R);
    for (uint64_t i = 1; i <= 3; i++) hd_caches_access(caches, 0, LINE + i * sets, R);
    assert_true(hd_caches_bits(caches, 0, LINE, &ignored));
    assert_int_equal(hd_caches_displaced(caches), 0);
    hd_caches_access(caches, 0, LINE + 4 * sets, R);
    assert_false(hd_caches_bits(caches, 0, LINE, &ignored));
    assert_int_equal(hd_caches_displaced(caches), 1);
    hd_caches_access(caches, 1, LINE, W);
    struct hd_cache_access access = hd_caches_access(caches, 0, LINE, R);
    assert_false(access.known);
    assert_false(access.violated); /* missed */
    hd_caches_free(caches);
}

static void context_switch(void **state) {
    (void)state;
    struct hd_caches *caches = make();
    hd_caches_access(caches, 0, LINE, R);
    hd_caches_switch(caches, 0);
    hd_caches_access(caches, 1, LINE, W);
    struct hd_cache_access access = hd_caches_access(caches, 0, LINE, R);
    assert_true(access.switched);
    assert_false(access.violated);
    hd_caches_free(caches);
}

/* ---- whole traces ---- */

static struct hd_hardware_result run(const char *lines, uint32_t cores) {
    struct hd_hardware hardware = hd_hardware_usual();
    struct hd_hardware_result result;
    struct hd_model model;
    hardware.cores = cores;
    model_read(lines, strlen(lines), false, &model);
    struct hd_describe *describe = hd_describe_open(&model);
    hd_hardware_run(&hardware, &model, describe, NULL, &result);
    hd_describe_close(describe);
    hd_model_free(&model);
    return result;
}

static void beside_software(void **state) {
    (void)state;
    struct hd_hardware_result result = run("A|r(x)|1\nB|w(x)|2\nA|r(x)|3\n", 4);
    assert_int_equal(result.executions.caught, 1);
    assert_int_equal(result.executions.missed, 0);
    assert_int_equal(result.executions.raised, 0);
    /* neighbours in a line: false sharing */
    result = run("A|r(x:4)|1\nB|w(x+4:4)|2\nA|r(x:4)|3\n", 4);
    assert_int_equal(result.executions.caught, 0);
    assert_int_equal(result.executions.raised, 1);
    assert_int_equal(result.code.raised, 1);
    /* one core for both threads: no coherence to see it by */
    result = run("A|r(x)|1\nB|w(x)|2\nA|r(x)|3\n", 1);
    assert_int_equal(result.executions.missed, 1);
    assert_int_equal(result.missed_switched, 1);
    assert_int_equal(result.switches, 2);
    assert_int_equal(result.executions.raised, 0);
}

/* 0.4 % of the clock, and 500 cycles a report. */
static void overhead(void **state) {
    (void)state;
    struct hd_hardware_result result = run("A|r(x)|1\nA|r(x)|2\n", 4);
    assert_int_equal(result.cycles, 212 + 2);
    assert_true(result.overhead > 0.0040 && result.overhead < 0.0041);
    result = run("A|r(x)|1\nB|w(x)|2\nA|r(x)|3\n", 4);
    assert_int_equal(result.cycles, 212 + 12);
    assert_true(result.overhead > 500.0 / 224 && result.overhead < 500.0 / 224 + 0.02);
}

static void what_does_not_fit(void **state) {
    (void)state;
    struct hd_error error;
    struct hd_hardware hardware = hd_hardware_usual();
    assert_true(hd_hardware_fits(&hardware, &error));
    hardware.line = 48;
    assert_false(hd_hardware_fits(&hardware, &error));
    assert_string_equal(error.message, "a cache line has a power of two bytes, not 48");
    hardware.line = 64;
    hardware.l1_bytes = 128;
    assert_false(hd_hardware_fits(&hardware, &error));
    assert_string_equal(error.message, "the L1 has fewer lines than ways");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pi_bit),     cmocka_unit_test(the_dg_bit),
        cmocka_unit_test(the_inv_bit),    cmocka_unit_test(the_cases),
        cmocka_unit_test(what_is_a_miss), cmocka_unit_test(displacement),
        cmocka_unit_test(context_switch), cmocka_unit_test(beside_software),
        cmocka_unit_test(overhead),       cmocka_unit_test(what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
