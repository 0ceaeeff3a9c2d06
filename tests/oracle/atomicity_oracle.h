/* All candidate triples of random traces against brute force: the candidates themselves, the
 * verdict of every triple and of every group, in every model. HEDDLE_SEED=N runs one seed,
 * HEDDLE_ORACLE_TRACES=N that many. */
#ifndef HEDDLE_TESTS_ORACLE_ATOMICITY_ORACLE_H
#define HEDDLE_TESTS_ORACLE_ATOMICITY_ORACLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "methods/methods.h"
#include "oracle/predict_oracle.h"
#include "oracle/triples_naive.h"
#include "predict/atomicity_decide.h"

static struct naive_triple naive[NAIVE_TRIPLES];

struct counts {
    unsigned long traces, triples, groups, feasible[ORACLE_READINGS], observed;
};

static inline void print_trace(const char *what, enum hd_reading reading,
                               const struct hd_triple *t) {
    fprintf(stderr, "# seed %llu: %s, %s", (unsigned long long)oracle_seed, what,
            reading_name(reading));
    if (t != NULL) fprintf(stderr, ", triple %u %u %u", t->first, t->remote, t->second);
    fprintf(stderr, "\n");
    for (unsigned i = 0; i < oracle_text.lines; i++) fprintf(stderr, "%s\n", oracle_text.line[i]);
    fail();
}

static inline bool same_group(const struct naive_triple *a, const uint32_t site[3],
                              const char *pattern) {
    return memcmp(a->site, site, sizeof a->site) == 0 && strcmp(a->pattern, pattern) == 0;
}

/* The sites of a group by the numbers of the caller's map. */
static inline void sites_of(const struct hd_triples *triples, uint32_t group, struct hd_map *map,
                            uint32_t site[3]) {
    struct hd_triple t = hd_bundle_first(triples, triples->group.data[group].start);
    site[0] = hd_site_number(triples->model, map, t.first, t.location);
    site[1] = hd_site_number(triples->model, map, t.remote, t.location);
    site[2] = hd_site_number(triples->model, map, t.second, t.location);
}

/* The same groups with the same number of triples. */
static inline void check_candidates(const struct hd_triples *triples, struct hd_map *map,
                                    uint32_t count) {
    uint64_t in_groups = 0;
    for (uint32_t g = 0; g < triples->group.size; g++) {
        uint32_t site[3];
        uint64_t wanted = 0;
        sites_of(triples, g, map, site);
        for (uint32_t n = 0; n < count; n++)
            wanted += same_group(&naive[n], site, hd_pattern_name(triples->group.data[g].pattern));
        if (wanted != hd_triples_instances(triples, g) || wanted == 0)
            print_trace("instances", HD_CDSR, NULL);
        in_groups += wanted;
    }
    if (in_groups != count) print_trace("candidates", HD_CDSR, NULL);
}

/* Group verdicts, or with options->instances those of the triples. */
static inline void check_verdicts(const struct small *small, const struct hd_triples *triples,
                                  const struct hd_engine_base *base,
                                  const struct hd_branches *branches, enum hd_reading reading,
                                  bool instances, struct hd_map *map, uint32_t count,
                                  struct counts *counts) {
    struct hd_predict_options options = {
        .reading = reading, .jobs = 1, .instances = instances, .method = &hd_method_poly};
    if (reading == HD_UA) options.method = &hd_method_ua;
    struct hd_triple_decisions decisions;
    struct hd_predict_stats stats = {0};
    struct hd_error error = {0};
    struct hd_triple_task task = {.triples = triples,
                                  .base = base,
                                  .branches = branches,
                                  .options = &options,
                                  .stats = &stats};
    if (!hd_triples_decide(&task, options.method->atomicity, &decisions, &error)) {
        fprintf(stderr, "# %s\n", error.message);
        print_trace("no decision", reading, NULL);
    }
    for (size_t i = 0; i < decisions.list.size; i++) {
        const struct hd_triple_decision *d = &decisions.list.data[i];
        uint32_t site[3];
        bool wanted = false, observed = false;
        sites_of(triples, d->group, map, site);
        for (uint32_t n = 0; n < count; n++) {
            const struct hd_triple *t = &naive[n].triple;
            bool same = instances
                            ? t->first == d->triple.first && t->remote == d->triple.remote &&
                                  t->second == d->triple.second
                            : same_group(&naive[n], site,
                                         hd_pattern_name(triples->group.data[d->group].pattern));
            if (!same) continue;
            observed |= t->first < t->remote && t->remote < t->second;
            wanted = wanted || naive_atomicity(small, reading, t);
        }
        if (d->verdict != (wanted ? HD_FEASIBLE : HD_INFEASIBLE))
            print_trace(wanted ? "should be feasible" : "should be infeasible", reading,
                        &d->triple);
        if (d->observed != observed) print_trace("observed", reading, &d->triple);
        if (wanted && d->witness.runs == 0) print_trace("no witness", reading, &d->triple);
        counts->feasible[reading] += wanted;
        counts->observed += observed;
    }
    hd_triple_decisions_free(&decisions);
}

static inline void check_trace(uint64_t seed, bool dense, struct counts *counts) {
    struct hd_model model;
    struct hd_error error = {0};
    struct small small;
    struct hd_map map = {0};
    struct hd_analysis analysis = {.model = &model};
    oracle_seed = seed;
    (dense ? triples_make_dense : triples_make)(seed, &oracle_text);
    if (!model_of_text(&oracle_text, &model, &error)) {
        fprintf(stderr, "# seed %llu: %s\n", (unsigned long long)seed, error.message);
        fail();
    }
    small_build(&small, &model);
    bool all = seed % 3 == 0;
    uint32_t count = naive_triples(&small, all, &map, naive);
    const struct hd_triples *triples = hd_triples(&analysis, all);
    const struct hd_branches *branches = hd_branches(&analysis, HD_BRANCHES_RECORDED);
    const struct hd_engine_base *base = hd_engine_base(&analysis);
    check_candidates(triples, &map, count);
    counts->traces++;
    counts->triples += count;
    counts->groups += triples->group.size;
    for (enum hd_reading reading = HD_CSR; reading <= HD_UA; reading++)
        for (int instances = 0; instances < 2; instances++)
            check_verdicts(&small, triples, base, branches, reading, instances != 0, &map, count,
                           counts);
    hd_analysis_free(&analysis);
    hd_map_free(&map);
    hd_model_free(&model);
}

static inline void atomicity_oracle(unsigned long share, uint64_t first, bool dense) {
    struct counts counts = {0};
    const char *chosen = getenv("HEDDLE_SEED"), *some = getenv("HEDDLE_ORACLE_TRACES");
    if (getenv("HEDDLE_TEST_FULL") != NULL) share *= 20;
    share /= ORACLE_SLOWDOWN;
    if (some != NULL) share = strtoul(some, NULL, 0);
    if (chosen != NULL) {
        first = strtoull(chosen, NULL, 0);
        share = 1;
    }
    for (uint64_t seed = first; seed < first + share; seed++) check_trace(seed, dense, &counts);
    printf("# seeds %llu to %llu: %lu triples in %lu groups; feasible csr %lu, cdsr %lu, ua %lu; "
           "observed %lu\n",
           (unsigned long long)first, (unsigned long long)(first + share - 1), counts.triples,
           counts.groups, counts.feasible[0], counts.feasible[1], counts.feasible[2],
           counts.observed);
    if (chosen == NULL && share >= 100)
        assert_true(counts.groups > share / 10 && counts.feasible[1] > share / 10);
}

#endif
