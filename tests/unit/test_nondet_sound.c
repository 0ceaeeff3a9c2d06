/* The sound model of nondeterminism against brute force over reorderings: see
 * tests/oracle/nondet_oracle.h. HEDDLE_SEED=N runs one seed, HEDDLE_ORACLE_TRACES=N that many. */
#include "oracle/nondet_oracle.h"

static void random_traces(void **state) {
    (void)state;
    static struct nondet_case at;
    struct nondet_counts counts = {0};
    const char *chosen = getenv("HEDDLE_SEED"), *some = getenv("HEDDLE_ORACLE_TRACES");
    unsigned long share = 8000 / NONDET_SLOWDOWN;
    if (getenv("HEDDLE_TEST_FULL") != NULL) share *= 20;
    if (some != NULL) share = strtoul(some, NULL, 0);
    uint64_t first = chosen != NULL ? strtoull(chosen, NULL, 0) : 7000000001u;
    if (chosen != NULL && some == NULL) share = 1;
    printf("# seeds %llu to %llu\n", (unsigned long long)first,
           (unsigned long long)(first + share - 1));
    for (uint64_t seed = first; seed < first + share; seed++) {
        struct hd_predict predict;
        struct hd_nondet nondet;
        assert_true(nondet_make(seed, &at));
        nondet_run_model(&at, false, 1, &predict, &nondet);
        nondet_check_reads(&at, &nondet);
        nondet_check_sound(&at, &nondet, &counts);
        hd_nondet_free(&nondet);
        hd_analysis_free(&at.analysis);
        hd_model_free(&at.model);
    }
    printf("# %lu traces, %lu triplets, %lu feasible (%lu of final reads), %lu reads that may see "
           "another write\n",
           counts.traces, counts.triplets, counts.feasible, counts.final_feasible, counts.loose);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
