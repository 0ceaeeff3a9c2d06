/* The paper's model of nondeterminism against its algorithm written down as it stands: see
 * tests/oracle/nondet_figure8.h. HEDDLE_SEED=N runs one seed, HEDDLE_ORACLE_TRACES=N that many. */
#include "methods/nondet_graph.h"
#include "oracle/nondet_figure8.h"

#include <math.h>

struct counts {
    unsigned long traces, witnesses, feasible, cyclic, chosen, refuted, skipped;
    double graphs;
};

static void check_witness(const struct nondet_case *at, const struct hd_triplet *triplet,
                          const struct hd_read *read, uint8_t orders, enum hd_paper_witness form,
                          struct counts *counts) {
    uint32_t r = read->event == HD_NONE ? (uint32_t)F8_FINAL : read->event;
    struct f8_verdict verdict = f8_witness(&at->model, triplet->seen, r, triplet->other, form);
    counts->witnesses++;
    counts->cyclic += verdict.cyclic;
    counts->skipped += verdict.skipped;
    if (verdict.choices > 0) {
        counts->chosen++;
        counts->graphs += exp2(verdict.choices);
        counts->refuted += !verdict.feasible && !verdict.skipped;
    }
    counts->feasible += verdict.feasible;
    if (verdict.skipped || verdict.feasible == (orders >> form & 1)) return;
    nondet_print(at);
    fail_msg("write %d, read %d, other %d, form %d: %s, the paper says %s (%s, %u choices)",
             (int)triplet->seen, (int)read->event, (int)triplet->other, form,
             orders >> form & 1 ? "feasible" : "infeasible",
             verdict.feasible ? "feasible" : "infeasible", verdict.cyclic ? "cyclic" : "not cyclic",
             verdict.choices);
}

/* What the read saw in the first location of both in which it did not see the other write. */
static uint32_t seen_instead(const struct hd_model *model, uint32_t read, uint32_t other) {
    for (uint32_t l = 0; l < model->locations; l++) {
        if (!small_touches(model, read, l)) continue;
        if (other != HD_NONE && !small_touches(model, other, l)) continue;
        if (nondet_seen(model, l, read) != other) return nondet_seen(model, l, read);
    }
    return HD_NONE;
}

static void check_trace(const struct nondet_case *at, const struct hd_nondet *nondet,
                        struct counts *counts) {
    const struct hd_model *model = &at->model;
    struct counts before = *counts;
    for (uint32_t r = 0; r < nondet->couples.read.size; r++) {
        const struct hd_read *read = &nondet->couples.read.data[r];
        bool final = read->event == HD_NONE;
        for (uint32_t c = 0; c <= model->events; c++) {
            uint32_t other = c < model->events ? c : HD_NONE;
            if (other != HD_NONE) {
                if (!hd_model_is_write(model, other) || other == read->event) continue;
                if (final ? !small_touches(model, other, read->location)
                          : !accesses_meet(model, read->event, other))
                    continue;
            }
            uint32_t last = nondet_seen(model, read->location, model->events);
            if (final ? other == last : nondet_sees(model, read->event, other)) continue;
            struct hd_triplet triplet = {.read = r,
                                         .seen =
                                             final ? last : seen_instead(model, read->event, other),
                                         .other = other};
            uint8_t orders;
            nondet_verdict(nondet, r, other, &orders);
            for (enum hd_paper_witness form = 0; form < HD_WITNESS_COUNT; form++)
                check_witness(at, &triplet, read, orders, form, counts);
        }
    }
    const struct hd_nondet_stats *stats = &nondet->stats;
    if (stats->cyclic != counts->cyclic - before.cyclic ||
        stats->chosen != counts->chosen - before.chosen ||
        3 * stats->triplets != counts->witnesses - before.witnesses ||
        stats->cyclic + stats->acyclic + stats->chosen != 3 * stats->triplets ||
        stats->possible_graphs != counts->graphs - before.graphs) {
        nondet_print(at);
        fail_msg("counts: cyclic %lu %lu, with choices %lu %lu, graphs %g %g, witnesses %lu %lu",
                 (unsigned long)stats->cyclic, counts->cyclic - before.cyclic,
                 (unsigned long)stats->chosen, counts->chosen - before.chosen,
                 stats->possible_graphs, counts->graphs - before.graphs,
                 (unsigned long)(3 * stats->triplets), counts->witnesses - before.witnesses);
    }
}

/* Rare: sections that stay open because a write does not occur; an event that ends two. */
static const uint64_t telling[] = {8000002039u, 8000002149u, 8000014584u};

static void check_seed(uint64_t seed, struct counts *counts) {
    static struct nondet_case at;
    struct hd_predict predict;
    struct hd_nondet nondet;
    uint32_t first, second;
    assert_true(nondet_make(seed, &at));
    if (hd_sections_overlap(&at.model, &first, &second)) { /* repaired */
        hd_model_free(&at.model);
        return;
    }
    nondet_run_model(&at, true, 1, &predict, &nondet);
    check_trace(&at, &nondet, counts);
    counts->traces++;
    hd_nondet_free(&nondet);
    hd_analysis_free(&at.analysis);
    hd_model_free(&at.model);
}

static void random_traces(void **state) {
    (void)state;
    struct counts counts = {0};
    const char *chosen = getenv("HEDDLE_SEED"), *some = getenv("HEDDLE_ORACLE_TRACES");
    unsigned long share = 1500 / NONDET_SLOWDOWN;
    if (getenv("HEDDLE_TEST_FULL") != NULL) share *= 20;
    if (some != NULL) share = strtoul(some, NULL, 0);
    uint64_t first = chosen != NULL ? strtoull(chosen, NULL, 0) : 8000000001u;
    if (chosen != NULL && some == NULL) share = 1;
    printf("# seeds %llu to %llu\n", (unsigned long long)first,
           (unsigned long long)(first + share - 1));
    for (uint64_t seed = first; seed < first + share; seed++) check_seed(seed, &counts);
    for (size_t i = 0; chosen == NULL && i < sizeof telling / sizeof *telling; i++)
        check_seed(telling[i], &counts);
    printf("# %lu traces, %lu witnesses: %lu cyclic, %lu feasible, %lu with choice edges, of these "
           "%lu refuted and %lu not tried\n",
           counts.traces, counts.witnesses, counts.cyclic, counts.feasible, counts.chosen,
           counts.refuted, counts.skipped);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
