/* The same as test_atomicity_oracle.c without near triples asked first: what is infeasible
 * or feasible must come out of those that speak for others. */
#define NEAR 0
#include "../../src/predict/atomicity_ask.c"

#include "oracle/atomicity_oracle.h"

static void random_traces(void **state) {
    (void)state;
    atomicity_oracle(2500, 2000001, false);
}

static void dense_traces(void **state) {
    (void)state;
    atomicity_oracle(8000, 3000001, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_traces),
                                       cmocka_unit_test(dense_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
