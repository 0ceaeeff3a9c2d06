/* Sources that predict: what is feasible in another interleaving of a recorded run is wanted. Exact
 * predictions come while runs are recorded; less certain ones, in which values may change on the
 * way, only from what there is then. */
#include "explore/explorer.h"

#include "predict/predict.h"

#define QUERY_NANOSECONDS 2000000000u
#define MOST_INSTANCES 3000u /* of a kind in a run, of which each is decided for its role */
#define MANY_EVENTS 1000000u /* the facts of such a run are not kept for the next prediction */

/* What is predicted from a run. */
enum scope {
    SCOPE_ALL,
    SCOPE_ROLES, /* the same sites by other callers and on other objects */
    SCOPE_BUGS   /* races and deadlocks, which are bugs by themselves */
};

static bool is_wanted(const struct hd_predict_kind *kind, enum depth depth, enum scope scope) {
    if (scope == SCOPE_BUGS)
        return kind->kind == HD_FINDING_RACE || kind->kind == HD_FINDING_DEADLOCK;
    /* Where all reads may change, triples and orders are worth forcing; races and deadlocks that
     * need it are those of another run. Which write a read sees is asked exactly. */
    if (depth == DEPTH_RELAXED) return kind->kind != HD_FINDING_NONDETERMINISM;
    return depth == DEPTH_EXACT || kind->kind == HD_FINDING_ATOMICITY ||
           kind->kind == HD_FINDING_ORDER;
}

static void add_up(struct hd_finding_summary *to, const struct hd_finding_summary *from) {
    to->candidates += from->candidates;
    for (unsigned i = 0; i < HD_VERDICT_COUNT; i++) to->verdict[i] += from->verdict[i];
}

static void count(struct hd_findings *total, const struct hd_findings *findings) {
    add_up(&total->summary, &findings->summary);
    for (unsigned kind = 0; kind < HD_FINDING_KIND_COUNT; kind++) {
        total->looked_for[kind] |= findings->looked_for[kind];
        add_up(&total->of_kind[kind], &findings->of_kind[kind]);
    }
}

/* Variables that belong together, at every depth: most such bugs need a read to see another value.
 */
static void predict_correlated(struct explorer *x, struct hd_predict *predict,
                               struct hd_findings *findings) {
    struct hd_finding_summary before = findings->summary;
    if (predict->options.correlations == NULL || x->broken || explore_phase_is_over(x)) return;
    x->broken = !hd_predict_correlated(predict, findings, x->error);
    hd_findings_looked_for(findings, hd_correlated_kind(predict->options.method), &before);
}

/* Are there more instances than groups, and not too many, of what accesses do? */
static bool has_roles(const struct recorded *run, enum hd_finding_kind kind) {
    const struct hd_findings *exact = &run->findings[DEPTH_EXACT];
    uint64_t instances = 0, groups = 0;
    if (kind != HD_FINDING_RACE && kind != HD_FINDING_ATOMICITY && kind != HD_FINDING_ORDER)
        return false;
    for (size_t i = 0; i < exact->list.size; i++) {
        if (exact->list.data[i].kind != kind) continue;
        groups++;
        instances += exact->list.data[i].instances;
    }
    return instances > groups && instances <= MOST_INSTANCES;
}

static void predict_kinds(struct explorer *x, struct hd_predict *predict, enum depth depth,
                          enum scope scope, const struct recorded *run,
                          struct hd_findings *findings) {
    for (unsigned k = 0; k < HD_PREDICT_KIND_COUNT && !explore_phase_is_over(x); k++) {
        if (!is_wanted(&hd_predict_kinds[k], depth, scope)) continue;
        if (predict->options.instances && !has_roles(run, hd_predict_kinds[k].kind)) continue;
        struct hd_finding_summary before = findings->summary;
        if (!hd_predict_kinds[k].run(predict, findings, x->error)) {
            x->broken = true;
            return;
        }
        hd_findings_looked_for(findings, hd_predict_kinds[k].kind, &before);
    }
}

/* One question may not take most of the time that is left. */
static uint64_t query_nanoseconds(const struct explorer *x, double until) {
    uint64_t usual = x->options->query_nanoseconds;
    if (usual == 0) usual = QUERY_NANOSECONDS;
    double tenth = (until - hd_seconds_now()) * 1e8;
    return tenth < (double)usual ? (tenth > 1e6 ? (uint64_t)tenth : 1000000u) : usual;
}

static void add_targets(struct explorer *x, struct recorded *run, enum depth depth, bool roles,
                        struct hd_findings *findings) {
    for (size_t i = 0; i < findings->list.size; i++) {
        struct hd_finding *finding = &findings->list.data[i];
        bool found =
            finding->verdict == HD_VERDICT_FEASIBLE || finding->verdict == HD_VERDICT_POSSIBLE;
        if (!found || finding->witness == NULL) continue;
        struct target target = {.run = run, .finding = finding, .depth = depth};
        if (roles) {
            hd_finding_fingerprint(finding);
            explore_add_role(x, &target);
        } else
            explore_add_target(x, &target);
    }
}

/* Predicts from a run and adds the targets that are new. */
static void predict_from(struct explorer *x, struct recorded *run, enum depth depth,
                         enum scope scope) {
    bool roles = scope == SCOPE_ROLES;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers */
    struct hd_analysis **passing = hd_alloc(x->run.size, sizeof *passing);
    uint32_t passings = 0;
    for (size_t i = 0; i < x->run.size; i++)
        if (x->run.data[i] != run) passing[passings++] = &x->run.data[i]->analysis;
    double until = x->result->failures > 0 ? x->deadline : x->phase_end;
    struct hd_predict predict = {
        .analysis = &run->analysis,
        .model = &run->model,
        .describe = run->describe,
        .options = {.method = &hd_method_poly,
                    .reading = depth == DEPTH_FREE ? HD_CSR : HD_CDSR,
                    .relax_branches = depth == DEPTH_RELAXED,
                    .branches = HD_BRANCHES_RECORDED,
                    .budget = {.nanoseconds = query_nanoseconds(x, until),
                               .until = x->options->seconds > 0 ? (uint64_t)(until * 1e9) : 0},
                    .jobs = x->options->jobs,
                    .all = scope != SCOPE_BUGS, /* else nothing is described but bugs */
                    .instances = roles,
                    .found_only = true,
                    .correlations = x->options->correlations,
                    .invariants = x->options->invariants,
                    .passing = passing,
                    .passings = passings}};
    struct hd_findings *findings = roles ? &run->roles : &run->findings[depth];
    findings->want_pictures = true;
    predict_kinds(x, &predict, depth, scope, run, findings);
    if (scope == SCOPE_ALL) predict_correlated(x, &predict, findings);
    free(passing);
    if (run->model.events > MANY_EVENTS) hd_analysis_shrink(&run->analysis);
    if (x->broken) return;
    hd_findings_sort(findings);
    if (!roles) hd_findings_fingerprint(findings);
    if (depth == DEPTH_EXACT && scope == SCOPE_ALL) count(&x->result->findings, findings);
    add_targets(x, run, depth, roles, findings);
}

/* ---- from closing's runs --------------------------------------------------------------------- */

static bool is_decided(const struct hd_findings *findings, enum hd_finding_kind kind) {
    return findings->looked_for[kind] && findings->of_kind[kind].verdict[HD_VERDICT_UNDECIDED] == 0;
}

/* What is harmful by itself is a bug also where nothing fails: it is to be seen once. Everything
 * else that these runs predict is among the runs that closing wants. */
static void force_bugs(struct explorer *x, size_t first) {
    for (size_t i = first; i < x->target.size; i++) {
        struct target *target = x->target.data[i];
        target->closes = target->finding->harm != HD_HARM_ITSELF;
        if (target->closes) continue;
        while (target->tried < explore_variants(target) && !target->reached && !target->failed &&
               !explore_is_over(x)) {
            uint32_t tried = target->tried;
            explore_force(x, target);
            if (target->tried == tried) break; /* it could not be run */
        }
    }
}

bool explore_ask_run(struct explorer *x, const struct hd_result *run) {
    bool fresh;
    size_t targets = x->target.size;
    struct recorded *asked = explore_load_run(x, run, &fresh);
    if (asked == NULL) return false;
    struct hd_findings *findings = &asked->findings[DEPTH_EXACT];
    predict_from(x, asked, DEPTH_EXACT, fresh ? SCOPE_ALL : SCOPE_BUGS);
    bool decided =
        is_decided(findings, HD_FINDING_RACE) && is_decided(findings, HD_FINDING_DEADLOCK);
    if (!fresh && x->target.size == targets)
        explore_recorded_free(asked);
    else if (!fresh)
        explore_keep(x, asked);
    force_bugs(x, targets);
    return decided;
}

/* ---- while runs are recorded ---------------------------------------------------------------- */

static bool next_of_rank(struct explorer *x, struct wanted *wanted, uint32_t below) {
    uint32_t due;
    wanted->target = explore_next_target(x, below, &due);
    x->all = (uint32_t)x->number + due;
    return wanted->target != NULL;
}

/* What is probably intended waits until all runs are recorded. */
static bool next_exact(struct explorer *x, struct wanted *wanted) {
    return next_of_rank(x, wanted, x->pass == 0 ? RANK_UNLIKELY : UINT32_MAX);
}

static bool feed_exact(struct explorer *x) {
    struct recorded *added;
    if (x->pass > 0) return false;
    if (!explore_record(x, &added)) {
        x->pass = 1;
        return !explore_phase_is_over(x);
    }
    if (added == NULL || explore_phase_is_over(x)) return true;
    explore_report(x, "predicting", x->recordings, x->options->most_recorded);
    /* With it came what other processes of the same run showed. */
    size_t first = x->run.size;
    while (first > 0 && x->run.data[first - 1] != added) first--;
    for (size_t i = first > 0 ? first - 1 : 0; i < x->run.size && !x->broken; i++) {
        predict_from(x, x->run.data[i], DEPTH_EXACT, SCOPE_ALL);
        if (!x->broken) explore_early_switches(x, x->run.data[i]);
    }
    return true;
}

const struct source explore_predict_exact = {.next = next_exact, .feed = feed_exact};

/* ---- from what there is --------------------------------------------------------------------- */

static bool next_any(struct explorer *x, struct wanted *wanted) {
    return next_of_rank(x, wanted, UINT32_MAX);
}

static bool feed_depth(struct explorer *x, enum depth depth, enum scope scope) {
    if (x->fed >= x->run.size || x->result->failures > 0) return false;
    explore_report(x, "predicting further", x->fed, (uint32_t)x->run.size);
    predict_from(x, x->run.data[x->fed++], depth, scope);
    return true;
}
static bool feed_roles(struct explorer *x) { return feed_depth(x, DEPTH_EXACT, SCOPE_ROLES); }
static bool feed_relaxed(struct explorer *x) { return feed_depth(x, DEPTH_RELAXED, SCOPE_ALL); }
static bool feed_free(struct explorer *x) { return feed_depth(x, DEPTH_FREE, SCOPE_ALL); }

static bool feed_switches(struct explorer *x) {
    if (x->fed >= x->run.size || x->result->failures > 0) return false;
    explore_switches_of(x, x->run.data[x->fed++]);
    return true;
}

const struct source explore_predict_roles = {.next = next_any, .feed = feed_roles};
const struct source explore_predict_relaxed = {.next = next_any, .feed = feed_relaxed};
const struct source explore_predict_free = {.next = next_any, .feed = feed_free};
const struct source explore_switches = {.next = next_any, .feed = feed_switches};
const struct source explore_rest = {.next = next_any};
