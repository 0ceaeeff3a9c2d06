/* Two variables that belong together: groups and their verdicts on random small traces against
 * enumeration, and what the extended race detectors say against their definitions. HEDDLE_SEED=N
 * runs one seed, HEDDLE_ORACLE_TRACES=N that many. */
#include "oracle/kind_oracle.h"

#include "methods/methods.h"
#include "oracle/correlated_mv_naive.h"
#include "oracle/figure_trace.h"
#include "predict/correlated.h"

static struct naive_pair pair[NAIVE_PAIRS];
static struct naive_quad quad[NAIVE_QUADS];
static struct text_trace text;

struct counts {
    unsigned long quads, groups, feasible, observed;
};

/* What groups are told apart by: the sites of first, second and inner, and the two variables. */
struct group_key {
    uint32_t site[3];
    char variable[2];
};

static struct group_key key_of(const struct hd_model *m, struct hd_describe *describe,
                               struct hd_map *map, const struct hd_correlated_quad *q) {
    struct group_key key;
    memset(&key, 0, sizeof key);
    key.site[0] = hd_site_number(m, map, q->first, q->location[0]);
    key.site[1] = hd_site_number(m, map, q->second, q->location[1]);
    key.site[2] = hd_site_number(m, map, q->inner, q->location[0]);
    key.variable[0] = naive_name(describe, q->location[0]);
    key.variable[1] = naive_name(describe, q->location[1]);
    return key;
}

static bool was_observed(const struct hd_correlated_quad *q) {
    return q->first < q->inner && q->inner < q->second && q->other < q->second;
}

static void check_reading(const struct small *small, struct hd_analysis *analysis,
                          const struct hd_correlated_rules *rules, enum hd_reading reading,
                          struct hd_map *map, uint32_t quads, uint64_t seed,
                          struct counts *counts) {
    const struct hd_model *m = analysis->model;
    struct hd_error error = {0};
    struct hd_predict predict = {
        .analysis = analysis,
        .model = m,
        .describe = analysis->describe,
        .options = {
            .method = &hd_method_poly, .reading = reading, .jobs = 1, .correlations = rules}};
    struct hd_correlated_wanted wanted = hd_correlated_wanted(&predict, false);
    struct hd_correlated_groups groups;
    hd_correlated_groups_find(analysis, &wanted, &groups);
    struct hd_correlated_decision *decision =
        hd_correlated_decide(&predict, &hd_method_poly, &groups, &error);
    if (decision == NULL) fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    static bool known[NAIVE_QUADS];
    memset(known, 0, sizeof known);
    for (size_t g = 0; g < groups.group.size; g++) {
        struct group_key key =
            key_of(m, analysis->describe, map, &groups.quad.data[groups.group.data[g].start]);
        bool feasible = false, observed = false;
        for (uint32_t n = 0; n < quads; n++) {
            struct group_key other = key_of(m, analysis->describe, map, &quad[n].quad);
            if (memcmp(&key, &other, sizeof key) != 0) continue;
            known[n] = true;
            observed |= was_observed(&quad[n].quad);
            feasible = feasible || naive_quad_feasible(small, reading, &quad[n].quad);
        }
        counts->groups++;
        counts->feasible += feasible;
        counts->observed += observed;
        const char *wrong = NULL;
        if (decision[g].verdict != (feasible ? HD_FEASIBLE : HD_INFEASIBLE))
            wrong = feasible ? "should be feasible" : "should be infeasible";
        else if (decision[g].observed != observed)
            wrong = "observed";
        else if (feasible && decision[g].witness.runs == 0)
            wrong = "no witness";
        if (wrong == NULL) continue;
        kind_show(&text, seed, reading, wrong);
        fail_msg("quad %u %u %u %u", decision[g].event[0], decision[g].event[1],
                 decision[g].event[2], decision[g].event[3]);
    }
    for (uint32_t n = 0; n < quads; n++)
        if (!known[n] && naive_quad_feasible(small, reading, &quad[n].quad)) {
            kind_show(&text, seed, reading, "a feasible quad is in no group");
            fail_msg("quad %u %u %u %u", quad[n].quad.first, quad[n].quad.inner, quad[n].quad.other,
                     quad[n].quad.second);
        }
    hd_correlated_decisions_free(decision, groups.group.size);
    hd_correlated_groups_free(&groups);
}

typedef bool (*naive_method)(const struct hd_model *m, const struct naive_pair *pair, unsigned at,
                             uint32_t remote);

/* What a group has in common, by a pair and an access of another thread to the location of the
 * first (0) or the second (1) of it. */
static struct group_key mv_key(const struct hd_model *m, struct hd_describe *describe,
                               struct hd_map *map, const struct naive_pair *p, unsigned at,
                               uint32_t remote) {
    struct group_key key;
    memset(&key, 0, sizeof key);
    for (int i = 0; i < 2; i++) {
        key.site[i] = hd_site_number(m, map, p->event[i], p->location[i]);
        key.variable[i] = naive_name(describe, p->location[i]);
    }
    key.site[2] = hd_site_number(m, map, remote, p->location[at]);
    return key;
}

static bool naive_reports(const struct hd_analysis *analysis, struct hd_map *map, uint32_t pairs,
                          const struct group_key *key, naive_method says) {
    const struct hd_model *m = analysis->model;
    for (uint32_t n = 0; n < pairs; n++) {
        if (!naive_follows(m, analysis->describe, &pair[n])) continue;
        for (uint32_t e = 0; e < m->events; e++)
            for (unsigned at = 0; at < 2; at++) {
                if (!naive_mv_meets(m, &pair[n], at, e)) continue;
                struct group_key own = mv_key(m, analysis->describe, map, &pair[n], at, e);
                if (memcmp(&own, key, sizeof own) == 0 && says(m, &pair[n], at, e)) return true;
            }
    }
    return false;
}

static void check_method(struct hd_analysis *analysis, const struct hd_correlated_rules *rules,
                         const struct hd_method *method, naive_method says, struct hd_map *map,
                         uint32_t pairs, uint64_t seed) {
    struct hd_error error = {0};
    const struct hd_model *m = analysis->model;
    struct hd_predict predict = {
        .analysis = analysis,
        .model = m,
        .describe = analysis->describe,
        .options = {.method = method, .reading = HD_CDSR, .jobs = 1, .correlations = rules}};
    struct hd_correlated_wanted wanted = hd_correlated_wanted(&predict, true);
    struct hd_correlated_groups groups;
    hd_correlated_groups_find(analysis, &wanted, &groups);
    struct hd_correlated_decision *decision =
        hd_correlated_decide(&predict, method, &groups, &error);
    for (size_t g = 0; g < groups.group.size; g++) {
        const struct hd_correlated_group *group = &groups.group.data[g];
        if (group->bundles == 0) continue;
        const struct hd_correlated_bundle *bundle = &groups.bundle.data[group->bundle_start];
        const struct hd_correlated_list *list = &groups.pairs.list.data[bundle->pairs];
        const struct hd_correlated_pair *own = &groups.pairs.pair.data[list->start];
        struct naive_pair any = {{own->first, own->second}, {list->location[0], list->location[1]}};
        uint32_t remote = groups.remote.data[groups.remotes.data[bundle->remotes].start];
        struct group_key key = mv_key(m, analysis->describe, map, &any, bundle->at, remote);
        bool wants = naive_reports(analysis, map, pairs, &key, says);
        if ((decision[g].verdict == HD_POSSIBLE) == wants) continue;
        kind_show(&text, seed, HD_CDSR, wants ? "should be reported" : "should not be reported");
        fail_msg("%s, pair %u %u", method->name, own->first, own->second);
    }
    hd_correlated_decisions_free(decision, groups.group.size);
    hd_correlated_groups_free(&groups);
}

static void check_trace(uint64_t seed, struct counts *counts) {
    struct hd_model model;
    struct hd_error error = {0};
    struct hd_map map = {0};
    struct hd_correlated_rules rules = {.rule = {0}};
    if (!model_of_text(&text, &model, &error))
        fail_msg("seed %llu: %s", (unsigned long long)seed, error.message);
    struct small small;
    small_build(&small, &model);
    struct hd_analysis analysis = {.model = &model, .describe = hd_describe_open(&model)};
    naive_rules(&rules);
    uint32_t pairs = naive_pairs(&model, analysis.describe, &map, pair);
    uint32_t quads = naive_quads(&model, analysis.describe, &map, pair, pairs, quad);
    counts->quads += quads;
    for (enum hd_reading reading = HD_CSR; reading <= HD_CDSR; reading++)
        check_reading(&small, &analysis, &rules, reading, &map, quads, seed, counts);
    check_method(&analysis, &rules, &hd_method_lockset_mv, naive_lockset_mv, &map, pairs, seed);
    check_method(&analysis, &rules, &hd_method_hb_mv, naive_hb_mv, &map, pairs, seed);
    hd_analysis_free(&analysis);
    hd_describe_close(analysis.describe);
    hd_correlated_rules_free(&rules);
    hd_map_free(&map);
    hd_model_free(&model);
}

/* Two or three threads, two or three variables, mostly accesses, with locks now and then. */
static void make_dense(uint64_t seed) {
    struct dice dice = {seed * 0x9e3779b97f4a7c15ull + 11};
    struct sim sim = {.dice = {seed * 0x2545f4914f6cdd1dull + 5}, .out = &text};
    memset(&text, 0, sizeof text);
    sim.mix = (struct sim_mix){9, roll(&dice, 3) == 0, roll(&dice, 8), 0, 0, 0, 0, 0, 0};
    sim.mix.mark = roll(&dice, 4);
    sim.threads = 2 + roll(&dice, 2);
    sim.locks = 1 + roll(&dice, 2);
    sim.variables = 2 + roll(&dice, 2);
    sim.semaphores = 1;
    sim.read_locks = roll(&dice, 4) == 0;
    sim_run(&sim, 8 + roll(&dice, 9));
    if (roll(&dice, 2) == 0) return;
    for (unsigned n = 0; n < text.lines; n++) {
        size_t used = strlen(text.line[n]);
        if (strchr(text.line[n], ')') != NULL)
            snprintf(text.line[n] + used, TEXT_WIDTH - used, "|s%u", roll(&dice, 3));
    }
}

/* Accesses that overlap in part have no name of one letter, which the rules here know. */
static bool has_ranges(void) {
    for (unsigned n = 0; n < text.lines; n++)
        if (strchr(text.line[n], ':') != NULL) return true;
    return false;
}

static void run_seeds(uint64_t first, uint64_t usual, bool dense) {
    struct counts counts = {0};
    uint64_t count = kind_seeds(&first, usual, usual * 20);
    for (uint64_t seed = first; seed < first + count; seed++) {
        if (dense)
            make_dense(seed);
        else
            oracle_make(seed, &text);
        if (!has_ranges()) check_trace(seed, &counts);
    }
    printf("# %lu quads, %lu groups, %lu feasible, %lu observed\n", counts.quads, counts.groups,
           counts.feasible, counts.observed);
    if (count >= 1000) assert_true(counts.groups > count / 10 && counts.feasible > count / 20);
}

static void random_traces(void **state) {
    (void)state;
    run_seeds(1, 4000, false);
}

static void dense_traces(void **state) {
    (void)state;
    run_seeds(1000001, 8000, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_traces),
                                       cmocka_unit_test(dense_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
