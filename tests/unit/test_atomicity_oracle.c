/* Candidate triples, their verdicts and those of their groups against brute force: see
 * tests/oracle/atomicity_oracle.h. */
#include "oracle/atomicity_oracle.h"

static void random_traces(void **state) {
    (void)state;
    atomicity_oracle(4000, 1, false);
}

static void dense_traces(void **state) {
    (void)state;
    atomicity_oracle(8000, 1000001, true);
}

/* Traces that once were decided wrong: accesses that end a section, in repaired ones. */
static void known_traces(void **state) {
    (void)state;
    struct counts counts = {0};
    check_trace(944, false, &counts);
    check_trace(11792, false, &counts);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_traces),
                                       cmocka_unit_test(dense_traces),
                                       cmocka_unit_test(known_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
