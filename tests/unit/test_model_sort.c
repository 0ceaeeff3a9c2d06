/* The model's radix sort and bit tree against plain search. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "model/sort.h"
#include "oracle/model_random.h"

static void sorts_and_keeps_order_of_equals(void **state) {
    (void)state;
    struct dice random = {1};
    for (int round = 0; round < 400; round++) {
        size_t count = roll(&random, round % 4 == 0 ? 3000 : 60);
        unsigned bits = 1 + roll(&random, 64);
        struct hd_keyed *pair = calloc(count + 1, sizeof *pair);
        uint64_t *number = calloc(count + 1, sizeof *number);
        uint64_t sum = 0, sorted_sum = 0;
        for (size_t i = 0; i < count; i++) {
            uint64_t key =
                ((uint64_t)roll(&random, UINT32_MAX) << 32 | roll(&random, UINT32_MAX)) >>
                (64 - bits);
            pair[i] = (struct hd_keyed){key, (uint32_t)i};
            number[i] = key;
            sum += key * 31 + i;
        }
        hd_sort_keyed(pair, count);
        hd_sort_numbers(number, count);
        for (size_t i = 0; i < count; i++) {
            sorted_sum += pair[i].key * 31 + pair[i].value;
            assert_int_equal(pair[i].key, number[i]);
            if (i == 0) continue;
            assert_true(pair[i - 1].key <= pair[i].key);
            if (pair[i - 1].key == pair[i].key) assert_true(pair[i - 1].value < pair[i].value);
        }
        assert_int_equal(sum, sorted_sum);
        free(pair);
        free(number);
    }
}

static void finds_what_is_below(void **state) {
    (void)state;
    struct dice random = {2};
    static const uint32_t limits[] = {0, 1, 63, 64, 65, 5000, 300000};
    for (size_t l = 0; l < sizeof limits / sizeof *limits; l++) {
        uint32_t limit = limits[l];
        struct hd_ranked set;
        bool *member = calloc(limit + 1, sizeof *member);
        hd_ranked_init(&set, limit);
        assert_int_equal(hd_ranked_below(&set, limit), UINT32_MAX);
        for (int step = 0; limit > 0 && step < 2000; step++) {
            uint32_t number = roll(&random, limit);
            if (roll(&random, 3) == 0) number = number % 130;
            if (number >= limit) continue;
            if (member[number])
                hd_ranked_remove(&set, number);
            else
                hd_ranked_add(&set, number);
            member[number] = !member[number];
            uint32_t bound = roll(&random, limit + 1), expected = UINT32_MAX;
            for (uint32_t i = bound; i-- > 0 && expected == UINT32_MAX;)
                if (member[i]) expected = i;
            assert_int_equal(hd_ranked_below(&set, bound), expected);
        }
        hd_ranked_free(&set);
        free(member);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_and_keeps_order_of_equals),
        cmocka_unit_test(finds_what_is_below),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
