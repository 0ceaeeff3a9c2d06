/* AVFilter on its indexes against the linear Algorithm 1: every candidate triple of random traces,
 * with branches, without, and where none are recorded; and what the filter keeps of every group. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "methods/methods.h"
#include "oracle/avfilter_naive.h"
#include "oracle/predict_oracle.h"
#include "oracle/triples_naive.h"
#include "predict/atomicity_decide.h"

static struct naive_triple naive[NAIVE_TRIPLES];

struct counts {
    unsigned long triples, groups, kept, by_case[6];
};

static void print_trace(const char *what, const struct hd_triple *t, int got, int wanted) {
    fprintf(stderr, "# seed %llu: %s, triple %u %u %u: %d instead of %d\n",
            (unsigned long long)oracle_seed, what, t->first, t->remote, t->second, got, wanted);
    for (unsigned i = 0; i < oracle_text.lines; i++) fprintf(stderr, "%s\n", oracle_text.line[i]);
    fail();
}

static void check_groups(const struct hd_model *model, const struct hd_triples *triples,
                         const struct hd_branches *branches, enum hd_branch_source source,
                         struct hd_map *map, uint32_t count, struct counts *counts) {
    struct hd_predict_options options = {.method = &hd_method_avfilter, .branches = source};
    struct hd_triple_decisions decisions;
    struct hd_predict_stats stats = {0};
    struct hd_error error;
    struct hd_triple_task task = {
        .triples = triples, .branches = branches, .options = &options, .stats = &stats};
    assert_true(hd_triples_decide(&task, hd_method_avfilter.atomicity, &decisions, &error));
    for (size_t i = 0; i < decisions.list.size; i++) {
        const struct hd_triple_decision *d = &decisions.list.data[i];
        struct hd_triple t = hd_bundle_first(triples, triples->group.data[d->group].start);
        uint32_t site[3] = {hd_site_number(model, map, t.first, t.location),
                            hd_site_number(model, map, t.remote, t.location),
                            hd_site_number(model, map, t.second, t.location)};
        bool wanted = false;
        for (uint32_t n = 0; n < count; n++)
            if (memcmp(naive[n].site, site, sizeof site) == 0 &&
                strcmp(naive[n].pattern, hd_pattern_name(triples->group.data[d->group].pattern)) ==
                    0)
                wanted |= avfilter_naive(model, source, &naive[n].triple) == HD_AVFILTER_KEEPS;
        if ((d->verdict != HD_INFEASIBLE) != wanted)
            print_trace("group", &d->triple, d->verdict, wanted);
        counts->groups++;
        counts->kept += wanted;
    }
    hd_triple_decisions_free(&decisions);
}

static void check_trace(uint64_t seed, struct counts *counts) {
    struct hd_model model;
    struct hd_error error = {0};
    struct small small;
    struct hd_map map = {0};
    struct hd_analysis analysis = {.model = &model};
    enum hd_branch_source source = seed % 5 == 0 ? HD_BRANCHES_NONE : HD_BRANCHES_RECORDED;
    oracle_seed = seed;
    (seed % 2 ? triples_make_dense : triples_make)(seed, &oracle_text);
    if (!model_of_text(&oracle_text, &model, &error)) fail_msg("%s", error.message);
    small_build(&small, &model);
    uint32_t count = naive_triples(&small, true, &map, naive);
    const struct hd_triples *triples = hd_triples(&analysis, true);
    const struct hd_branches *branches = hd_branches(&analysis, source);
    struct hd_avfilter *filter = hd_avfilter_new(&model, branches);
    for (uint32_t n = 0; n < count; n++) {
        const struct hd_triple *t = &naive[n].triple;
        hd_avfilter_begin(filter, model.thread[t->first]);
        enum hd_avfilter_case got = hd_avfilter_rejects(filter, t);
        enum hd_avfilter_case wanted = avfilter_naive(&model, source, t);
        if (got != wanted) print_trace("case", t, got, wanted);
        counts->triples++;
        counts->by_case[got]++;
    }
    check_groups(&model, triples, branches, source, &map, count, counts);
    hd_avfilter_free(filter);
    hd_analysis_free(&analysis);
    hd_map_free(&map);
    hd_model_free(&model);
}

static void random_traces(void **state) {
    (void)state;
    struct counts counts = {0};
    const char *chosen = getenv("HEDDLE_SEED"), *some = getenv("HEDDLE_ORACLE_TRACES");
    unsigned long share = 20000 / ORACLE_SLOWDOWN;
    if (getenv("HEDDLE_TEST_FULL") != NULL) share *= 20;
    uint64_t first = 1;
    if (some != NULL) share = strtoul(some, NULL, 0);
    if (chosen != NULL) {
        first = strtoull(chosen, NULL, 0);
        share = 1;
    }
    for (uint64_t seed = first; seed < first + share; seed++) check_trace(seed, &counts);
    printf(
        "# %lu traces, %lu triples: kept %lu, A1 %lu, A2 %lu, A3 %lu, B1 %lu, B2 %lu; %lu of %lu "
        "groups kept\n",
        share, counts.triples, counts.by_case[0], counts.by_case[1], counts.by_case[2],
        counts.by_case[3], counts.by_case[4], counts.by_case[5], counts.kept, counts.groups);
    if (chosen == NULL && share >= 1000)
        for (int i = 0; i < 6; i++) assert_true(counts.by_case[i] > 0);
}

/* Longer than the nodes of the index: reads of one thread among writes of another, many times. */
static void long_trace(void **state) {
    (void)state;
    enum { EVENTS = 3000 };
    struct dice dice = {42};
    static char text[EVENTS * 32];
    size_t used = 0;
    for (unsigned n = 0; n < EVENTS; n++) {
        unsigned kind = roll(&dice, 20), t = roll(&dice, 2);
        if (kind == 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "T%u|branch\n", t);
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "T%u|%c(v%u)|s%u\n", t,
                                     "rrw"[roll(&dice, 3)], roll(&dice, 300), roll(&dice, 5));
    }
    struct hd_trace trace;
    struct hd_trace_options options = {.format = HD_FORMAT_TEXT, .format_given = true};
    struct hd_model_options strict = {.lenient = false};
    struct hd_model model;
    struct hd_error error;
    struct hd_analysis analysis = {.model = &model};
    assert_true(hd_trace_read(text, used, "long", &options, &trace, &error) &&
                hd_model_build(&trace, &strict, &model, &error));
    struct hd_avfilter *filter =
        hd_avfilter_new(&model, hd_branches(&analysis, HD_BRANCHES_RECORDED));
    unsigned long by_case[6] = {0};
    for (unsigned tries = 0; tries < 6000; tries++) {
        uint32_t l = roll(&dice, model.locations);
        const uint32_t *event = model.location_event + model.location_start[l];
        uint32_t events = model.location_start[l + 1] - model.location_start[l];
        if (events < 3) continue;
        uint32_t a = roll(&dice, events), k = a + 1, j = a + 10 - roll(&dice, 20);
        while (k < events && model.thread[event[k]] != model.thread[event[a]]) k++;
        if (k == events || j >= events || model.thread[event[j]] == model.thread[event[a]])
            continue;
        struct hd_triple t = {event[a], event[j], event[k], l};
        hd_avfilter_begin(filter, model.thread[t.first]);
        enum hd_avfilter_case got = hd_avfilter_rejects(filter, &t);
        if (got != avfilter_naive(&model, HD_BRANCHES_RECORDED, &t))
            fail_msg("triple %u %u %u: %d", t.first, t.remote, t.second, got);
        by_case[got]++;
    }
    for (int i = 0; i < 6; i++) printf("# case %d: %lu\n", i, by_case[i]);
    for (int i = 0; i < 6; i++) assert_true(by_case[i] > 0);
    hd_avfilter_free(filter);
    hd_analysis_free(&analysis);
    hd_model_free(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_traces),
                                       cmocka_unit_test(long_trace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
