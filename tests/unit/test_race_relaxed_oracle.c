/* Races with the branch relaxation against brute force: feasible is what is so with every read
 * keeping its write, possible what is so only if reads that no branch follows are free; for every
 * pair of events, and for groups. */
#include "oracle/kind_oracle.h"

static unsigned long feasible, possible;

static const struct sim_mix mixes[] = {{9, 0, 6, 0, 0, 0, 0, 0, 0},
                                       {6, 1, 6, 0, 0, 0, 2, 0, 0},
                                       {5, 1, 5, 1, 1, 1, 1, 1, 0},
                                       {12, 0, 4, 0, 0, 0, 0, 0, 0}};

static void make_trace(uint64_t seed, struct text_trace *out) {
    struct sim sim = {.dice = {seed * 0x2545f4914f6cdd1dull}, .out = out};
    memset(out, 0, sizeof *out);
    sim.mix = mixes[roll(&sim.dice, sizeof mixes / sizeof mixes[0])];
    sim.threads = 2 + roll(&sim.dice, 2);
    sim.locks = 1 + roll(&sim.dice, 2);
    sim.variables = 2 + roll(&sim.dice, 2);
    sim.semaphores = 1;
    sim.ranges = roll(&sim.dice, 5) == 0;
    sim.read_locks = roll(&sim.dice, 4) == 0;
    sim.discipline = 2 + roll(&sim.dice, 2);
    sim_run(&sim, 8 + roll(&sim.dice, 14));
    kind_add_branches(seed, out);
}

static enum hd_finding_verdict by_force(const struct small *small, uint32_t a, uint32_t b,
                                        const uint32_t *branches) {
    struct question race = race_question(a, b);
    struct hd_query query = question_query(&race);
    if (search_decide(small, HD_CDSR, &query, NULL, NULL)) return HD_VERDICT_FEASIBLE;
    query.branches = branches;
    return search_decide(small, HD_CDSR, &query, NULL, NULL) ? HD_VERDICT_POSSIBLE
                                                             : HD_VERDICT_INFEASIBLE;
}

static bool is_of(const struct hd_finding *finding, uint32_t a, uint32_t b) {
    return finding->event[0].event == a && finding->event[1].event == b;
}

/* Every pair: what is not listed cannot be. Groups: the best of what each has. */
static const char *compare(const struct small *small, const struct hd_findings *each,
                           const struct hd_findings *groups, const uint32_t *branches) {
    static char wrong[128];
    uint32_t count[2][HD_VERDICT_COUNT] = {{0}, {0}};
    const struct hd_model *m = small->model;
    for (uint32_t a = 0; a < m->events; a++)
        for (uint32_t b = a + 1; b < m->events; b++) {
            if (!accesses_race(m, a, b)) continue;
            enum hd_finding_verdict wanted = by_force(small, a, b, branches), got = wanted;
            size_t i = 0;
            while (i < each->list.size && !is_of(&each->list.data[i], a, b)) i++;
            if (i < each->list.size) {
                got = each->list.data[i].verdict;
                if (wanted == HD_VERDICT_POSSIBLE && each->list.data[i].witness == NULL)
                    return "without a schedule";
            } else if (wanted != HD_VERDICT_INFEASIBLE)
                got = HD_VERDICT_INFEASIBLE;
            count[0][wanted]++;
            snprintf(wrong, sizeof wrong, "%u and %u: %s, not %s", a, b,
                     hd_finding_verdict_name(got), hd_finding_verdict_name(wanted));
            if (got != wanted) return wrong;
        }
    for (size_t i = 0; i < groups->list.size; i++) count[1][groups->list.data[i].verdict]++;
    feasible += count[0][HD_VERDICT_FEASIBLE];
    possible += count[0][HD_VERDICT_POSSIBLE];
    /* A group with something feasible says so; one that is possible has something possible. */
    for (unsigned v = HD_VERDICT_FEASIBLE; v <= HD_VERDICT_POSSIBLE; v++)
        if (count[1][v] > count[0][v]) return "a group without an instance";
    return (count[0][HD_VERDICT_FEASIBLE] > 0) != (count[1][HD_VERDICT_FEASIBLE] > 0) ||
                   (count[0][HD_VERDICT_FEASIBLE] == 0 &&
                    (count[0][HD_VERDICT_POSSIBLE] > 0) != (count[1][HD_VERDICT_POSSIBLE] > 0))
               ? "groups"
               : NULL;
}

static void check_trace(uint64_t seed) {
    static struct text_trace text;
    struct hd_model model;
    struct hd_error error = {0};
    struct small small;
    struct hd_findings each, groups;
    uint32_t branches[SMALL_EVENTS];
    make_trace(seed, &text);
    if (!model_of_text(&text, &model, &error)) fail_msg("seed %lu: %s", seed, error.message);
    small_build(&small, &model);
    kind_branches(&model, branches);
    struct hd_predict_options options = {
        .reading = HD_CDSR, .all = true, .instances = true, .relax_branches = true};
    kind_find(&model, hd_predict_races, options, &each);
    options.instances = false;
    kind_find(&model, hd_predict_races, options, &groups);
    const char *wrong = compare(&small, &each, &groups, branches);
    if (wrong != NULL) {
        kind_show(&text, seed, HD_CDSR, wrong);
        fail();
    }
    hd_findings_free(&each);
    hd_findings_free(&groups);
    hd_model_free(&model);
}

static void random_traces(void **state) {
    (void)state;
    uint64_t first = 1, count = kind_seeds(&first, 12000, 1000000);
    for (uint64_t seed = first; seed < first + count; seed++) check_trace(seed);
    printf("# %lu pairs feasible, %lu only possible\n", feasible, possible);
    if (count >= 1000) assert_true(possible > count / 100 && feasible > count / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
