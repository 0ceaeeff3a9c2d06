/* The least number of any range, as AVFilter's index has it, against looking at all of them. */
#include "../../src/methods/avfilter.c"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static uint64_t state = 1;

static uint32_t roll(uint32_t limit) { return (uint32_t)hd_random_below(&state, limit); }

static void ranges(void **unused) {
    (void)unused;
    static const uint32_t sizes[] = {0, 1, 15, 16, 17, 31, 255, 256, 257, 300, 4095, 4097, 70000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct least least = {0};
        for (uint32_t n = 0; n < sizes[s]; n++) least_add(&least, n * 2, roll(1000000));
        least_finish(&least);
        for (int tries = 0; tries < 400; tries++) {
            uint32_t from = roll(sizes[s] + 1), to = from + roll(sizes[s] - from + 1);
            uint32_t wanted = UINT32_MAX;
            for (uint32_t n = from; n < to; n++)
                if (least.number.data[n] < wanted) wanted = least.number.data[n];
            assert_int_equal(least_of(&least, from, to), wanted);
            assert_int_equal(first_from(&least, from * 2, false), from);
        }
        least_free(&least);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
