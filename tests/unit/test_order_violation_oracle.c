/* Order prediction against naive enumeration and brute force. With --instances: what is reported is
 * there, and what is there is reported, itself or by an earlier operation of the same thread, which
 * then has the same order. Without: the same groups. */
#include "oracle/orders_naive.h"

static unsigned long traces, found_of[HD_ORDER_TYPE_COUNT], asked;
static long more_of[HD_ORDER_TYPE_COUNT]; /* that only the branch relaxation has */

static const struct sim_mix mixes[] = {{9, 0, 4, 0, 0, 0, 0, 0, 0}, {6, 0, 6, 0, 0, 0, 2, 0, 0},
                                       {6, 1, 4, 0, 0, 0, 2, 6, 0}, {3, 0, 6, 6, 0, 0, 0, 0, 0},
                                       {1, 0, 6, 9, 0, 0, 1, 0, 0}, {5, 2, 5, 2, 1, 2, 2, 3, 0}};

static void make_trace(uint64_t seed, struct text_trace *out) {
    struct sim sim = {.dice = {seed * 0x2545f4914f6cdd1dull}, .out = out};
    memset(out, 0, sizeof *out);
    sim.mix = mixes[roll(&sim.dice, sizeof mixes / sizeof mixes[0])];
    sim.threads = 2 + roll(&sim.dice, 3);
    sim.locks = 1 + roll(&sim.dice, 3);
    sim.variables = 1 + roll(&sim.dice, 3);
    sim.semaphores = 1;
    sim.ranges = roll(&sim.dice, 5) == 0;
    sim.read_locks = roll(&sim.dice, 4) == 0;
    sim.discipline = roll(&sim.dice, 4);
    sim_run(&sim, 5 + roll(&sim.dice, 12));
    for (unsigned i = 0; i < out->lines; i++) { /* now and then zeroed */
        char *alloc = strstr(out->line[i], "|alloc(");
        if (alloc == NULL || roll(&sim.dice, 3) > 0) continue;
        char rest[TEXT_WIDTH];
        strcpy(rest, alloc + 1);
        alloc[1] = 'c';
        strcpy(alloc + 2, rest);
    }
}

static enum hd_order_type type_of(const struct hd_finding *finding) {
    static const char *const pattern[] = {
#define X(name, text) text,
        HD_ORDER_TYPES(X)
#undef X
    };
    for (unsigned i = 0; i < HD_ORDER_TYPE_COUNT; i++)
        if (strcmp(finding->pattern, pattern[i]) == 0) return (enum hd_order_type)i;
    fail_msg("no pattern: %s", finding->pattern);
    return HD_ORDER_TYPE_COUNT;
}

static bool is_feasible(const struct hd_finding *finding) {
    return finding->verdict == HD_VERDICT_FEASIBLE;
}

/* Or possible, with the branch relaxation. */
static bool is_found(const struct hd_finding *finding, bool relaxed) {
    return is_feasible(finding) || (relaxed && finding->verdict == HD_VERDICT_POSSIBLE);
}

/* Is a pair that is there reported? An earlier read or write of its thread may stand for it. */
static bool is_reported(const struct hd_model *m, const struct naive_order *order,
                        const struct hd_findings *found, bool exact, bool relaxed) {
    for (size_t k = 0; k < found->list.size; k++) {
        const struct hd_finding *finding = &found->list.data[k];
        if (!is_found(finding, relaxed) || type_of(finding) != order->type) continue;
        uint32_t first = finding->event[0].event, second = finding->event[1].event;
        if (first == order->first && second == order->second) return true;
        if (!exact && second == order->second && first < order->first &&
            m->thread[first] == m->thread[order->first])
            return true;
    }
    return false;
}

/* Only the first read of a location that sees a write is asked about. Where reads need not keep
 * theirs, a later one of fewer bytes may say more. */
static bool may_be_missing(const struct naive_orders *n, const struct naive_order *order) {
    bool wide = false;
    for (uint32_t e = 0; e < order->first; e++)
        wide |= n->model->thread[e] == n->model->thread[order->first] &&
                hd_model_is_read(n->model, e) &&
                __builtin_popcountll(n->small->event[e].touches) > 1;
    bool free = n->reading == HD_CSR || n->branches != NULL;
    return order->partly || (wide && free && order->type == HD_ORDER_EARLY_READ);
}

static const char *compare_instances(const struct naive_orders *n,
                                     const struct hd_findings *found) {
    static char wrong[128];
    const struct hd_model *m = n->model;
    bool relaxed = n->branches != NULL;
    for (uint32_t i = 0; i < n->orders; i++) {
        const struct naive_order *order = &n->order[i];
        bool stands = order->type == HD_ORDER_LATE_INITIALISATION ||
                      (order->type == HD_ORDER_EARLY_READ && (n->reading == HD_CSR || relaxed));
        snprintf(wrong, sizeof wrong, "missing: type %d, %u before %u", order->type, order->first,
                 order->second);
        if (!may_be_missing(n, order) && !is_reported(m, order, found, !stands, relaxed))
            return wrong;
    }
    for (size_t k = 0; k < found->list.size; k++) {
        const struct hd_finding *finding = &found->list.data[k];
        uint32_t i = 0;
        if (!is_found(finding, relaxed)) continue;
        while (i < n->orders && (n->order[i].type != type_of(finding) ||
                                 n->order[i].first != finding->event[0].event ||
                                 n->order[i].second != finding->event[1].event))
            i++;
        snprintf(wrong, sizeof wrong, "should not be there: %s, %u before %u", finding->pattern,
                 finding->event[0].event, finding->event[1].event);
        if (i == n->orders) return wrong;
        if (*finding->seen == '\0' || *finding->possible == '\0' || *finding->conclusion == '\0')
            return "without words";
    }
    return NULL;
}

/* As many of each type that are feasible in groups as have something feasible among instances. */
static const char *compare_groups(const struct hd_findings *each, const struct hd_findings *groups,
                                  bool relaxed) {
    static char wrong[128];
    for (unsigned type = 0; type < HD_ORDER_TYPE_COUNT; type++) {
        bool any = false, some = false;
        for (size_t i = 0; i < each->list.size; i++)
            any |= is_found(&each->list.data[i], relaxed) && type_of(&each->list.data[i]) == type;
        for (size_t i = 0; i < groups->list.size; i++)
            some |=
                is_found(&groups->list.data[i], relaxed) && type_of(&groups->list.data[i]) == type;
        snprintf(wrong, sizeof wrong, "groups of type %u", type);
        if (any != some) return wrong;
    }
    return NULL;
}

/* Relaxed, the findings are first set against what is feasible without: those must say so. */
static void check_trace(uint64_t seed, enum hd_reading reading, bool relaxed) {
    static struct naive_orders naive;
    uint32_t branches[SMALL_EVENTS];
    static struct text_trace text;
    struct hd_model model;
    struct hd_error error = {0};
    struct small small;
    struct hd_findings each, groups;
    make_trace(seed, &text);
    if (relaxed) kind_add_branches(seed, &text);
    if (!model_of_text(&text, &model, &error)) fail_msg("seed %lu: %s", seed, error.message);
    small_build(&small, &model);
    naive.asked = 0;
    naive_orders(&naive, &small, reading, NULL);
    struct hd_predict_options options = {
        .reading = reading, .all = true, .instances = true, .relax_branches = relaxed};
    kind_find(&model, hd_predict_orders, options, &each);
    options.instances = false;
    kind_find(&model, hd_predict_orders, options, &groups);
    const char *wrong = relaxed ? NULL : compare_instances(&naive, &each);
    for (uint32_t i = 0; relaxed && i < naive.orders && wrong == NULL; i++)
        if (is_reported(&model, &naive.order[i], &each, true, true) &&
            !is_reported(&model, &naive.order[i], &each, true, false))
            wrong = "possible instead of feasible";
    if (relaxed) {
        for (uint32_t i = 0; i < naive.orders; i++) more_of[naive.order[i].type]--;
        kind_branches(&model, branches);
        naive_orders(&naive, &small, reading, branches);
        for (uint32_t i = 0; i < naive.orders; i++) more_of[naive.order[i].type]++;
        if (wrong == NULL) wrong = compare_instances(&naive, &each);
    }
    if (wrong == NULL) wrong = compare_groups(&each, &groups, relaxed);
    if (wrong == NULL && each.summary.verdict[HD_VERDICT_UNDECIDED] > 0) wrong = "undecided";
    if (wrong != NULL) {
        kind_show(&text, seed, reading, wrong);
        fail();
    }
    hd_findings_free(&each);
    hd_findings_free(&groups);
    traces++;
    asked += naive.asked;
    for (uint32_t i = 0; i < naive.orders && !relaxed; i++) found_of[naive.order[i].type]++;
    hd_model_free(&model);
}

static void random_traces(void **state) {
    (void)state;
    uint64_t first = 1, count = kind_seeds(&first, 30000, 1000000);
    for (uint64_t seed = first; seed < first + count; seed++)
        check_trace(seed, seed % 4 == 0 ? HD_CSR : HD_CDSR, false);
    printf("# %lu traces, %lu questions; early reads %lu, uses after free %lu, double frees %lu, "
           "late initialisations %lu, missed signals %lu\n",
           traces, asked, found_of[0], found_of[1], found_of[2], found_of[3], found_of[4]);
    /* A third of what was seen when this was written: a generator that degenerates fails. */
    static const unsigned long one_in[] = {15, 80, 350, 11, 55};
    for (unsigned i = 0; count >= 3000 && i < sizeof one_in / sizeof *one_in; i++)
        assert_true(found_of[i] > count / one_in[i]);
}

static void relaxed_traces(void **state) {
    (void)state;
    uint64_t first = 10000001, count = kind_seeds(&first, 12000, 1000000);
    for (uint64_t seed = first; seed < first + count; seed++) check_trace(seed, HD_CDSR, true);
    printf(
        "# more early reads %ld, uses after free %ld, double frees %ld, late initialisations %ld, "
        "missed signals %ld\n",
        more_of[0], more_of[1], more_of[2], more_of[3], more_of[4]);
    for (unsigned i = 0; count >= 10000 && i < HD_ORDER_MISSED_SIGNAL + 1; i++)
        assert_true(more_of[i] > 0 || i == HD_ORDER_DOUBLE_FREE);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_traces),
                                       cmocka_unit_test(relaxed_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
