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

static const struct hd_triplet *find(const struct hd_nondet *nondet,
                                     const struct hd_triplet *wanted) {
    for (size_t i = 0; i < nondet->found.size; i++)
        if (hd_triplet_compare(&nondet->found.data[i], wanted) == 0) return &nondet->found.data[i];
    return NULL;
}

/* With few candidates allowed, what is found is part of what is found without a limit, every
 * triplet is counted once, and sites are missed only if something is said to be left. Deciding does
 * not depend on the number of workers. */
static void summed_up_by_sites(void **state) {
    (void)state;
    static struct nondet_case at;
    unsigned long left = 0, missed = 0, groups = 0;
    for (uint64_t seed = 8000000001u; seed < 8000000001u + 2000 / NONDET_SLOWDOWN; seed++) {
        struct hd_predict predict;
        struct hd_nondet all, few, again;
        assert_true(nondet_make(seed, &at));
        at.candidates = UINT64_MAX;
        nondet_run_model(&at, false, 1, &predict, &all);
        hd_analysis_free(&at.analysis);
        at.candidates = 1 + seed % 20;
        nondet_run_model(&at, false, 1, &predict, &few);
        hd_analysis_free(&at.analysis);
        nondet_run_model(&at, false, 2, &predict, &again);
        assert_int_equal(all.stats.left, 0);
        assert_int_equal(few.stats.triplets, all.stats.triplets);
        assert_int_equal(few.stats.verdict[HD_FEASIBLE] + few.stats.verdict[HD_INFEASIBLE] +
                             few.stats.left,
                         few.stats.triplets);
        assert_int_equal(few.found.size, again.found.size);
        assert_int_equal(few.stats.left, again.stats.left);
        struct hd_triplet_sites sites = {.couples = &few.couples};
        for (size_t i = 0; i < few.found.size; i++) {
            assert_int_equal(hd_triplet_compare(&few.found.data[i], &again.found.data[i]), 0);
            assert_non_null(find(&all, &few.found.data[i]));
            hd_triplet_number(&sites, &few.found.data[i]);
        }
        groups += sites.triple.count;
        for (size_t i = 0; i < all.found.size; i++) {
            if (hd_triplet_find(&sites, &all.found.data[i]) != HD_NONE) continue;
            assert_true(few.stats.left > 0);
            missed++;
        }
        left += few.stats.left > 0;
        hd_triplet_sites_free(&sites);
        hd_nondet_free(&all);
        hd_nondet_free(&few);
        hd_nondet_free(&again);
        hd_analysis_free(&at.analysis);
        hd_model_free(&at.model);
    }
    printf("# %lu groups found, %lu triplets of others missed, something left in %lu traces\n",
           groups, missed, left);
    assert_true(left > 0 && groups > 20 * missed);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_traces),
                                       cmocka_unit_test(summed_up_by_sites)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
