/* The engine against brute force, part 1 of 4: see tests/oracle/predict_oracle.h. */
#include "oracle/predict_oracle.h"

static void random_traces(void **state) {
    (void)state;
    oracle_run(0, 4, 80000, 1000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
