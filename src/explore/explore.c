/* The course of an exploration: plain runs, the stages of the plan, and what is concluded. See
 * explore.h. */
#include "explore/explorer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool hd_explored_matters(const struct hd_finding *finding) {
    if (finding->forced != NULL && finding->forced->failed) return true;
    if (hd_is_suspicion(finding)) return finding->verdict == HD_VERDICT_CONFIRMED;
    return (finding->verdict == HD_VERDICT_CONFIRMED || finding->verdict == HD_VERDICT_FEASIBLE) &&
           finding->harm == HD_HARM_ITSELF;
}

bool hd_explored_any(const struct hd_exploration *exploration) {
    for (size_t i = 0; i < exploration->findings.list.size; i++)
        if (hd_explored_matters(&exploration->findings.list.data[i])) return true;
    return false;
}

char *hd_explore_path(const char *program, const char *kind) {
    const char *name = strrchr(program, '/');
    return hd_format("%s.%s.json", name != NULL ? name + 1 : program, kind);
}

/* ---- one wanted run ------------------------------------------------------------------------- */

/* A run that followed a target's schedule, or was to. */
static void judge_forced(struct explorer *x, struct target *target,
                         const struct hd_schedule *schedule, const struct hd_result *run) {
    struct hd_exploration *result = x->result;
    bool failed = hd_outcome_failed(&run->outcome), did = run->replay.reached;
    hd_dead_ends_add(&x->dead_ends, schedule, run);
    result->runs.forced++;
    result->reached += run->replay.reached;
    result->diverged += !run->replay.reached;
    if (run->replay.reached) target->reached = true;
    if (target->suspicion > 0 && explore_look_at_suspicion(x, target, schedule, run)) did = true;
    if (failed) {
        target->outcome = run->outcome;
        target->failed = did;
        struct failed what = {.run = run};
        if (did) what.target = target;
        if (run->replay.reached) what.schedule = schedule;
        explore_failure(x, &what);
        if (result->failures > 0 && result->first_failure == 0)
            result->first_failure = result->until_failure.forced;
    } else if (!target->failed) {
        target->outcome = run->outcome;
        if (run->replay.reached && target->depth != DEPTH_EXACT && !target->shown &&
            target->finding->harm == HD_HARM_ITSELF)
            target->shown = explore_is_shown(target, run->trace_path);
    }
}

/* How a target's variant is run; the steering needs the schedule. */
static uint64_t coming_key(const struct target *target, uint32_t variant) {
    return hd_mix64((uint64_t)(uintptr_t)target) + variant;
}

static struct coming coming_of(const struct explorer *x, const struct target *target,
                               uint32_t variant, const struct hd_schedule *schedule) {
    struct coming coming = {.key = coming_key(target, variant),
                            .steering = hd_schedule_steering(schedule)};
    coming.steering.patience_ms = x->patience_ms * x->crowd;
    return coming;
}

/* Runs a target's variant, and those that come after it if it shows nothing new: as many as can go
 * on at once. */
static bool run_target(struct explorer *x, const struct target *target, uint32_t variant,
                       const struct hd_schedule *schedule, struct hd_result *run) {
    uint32_t count = 1, others = 0, most = explore_at_once(x);
    struct coming *coming = hd_alloc(most, sizeof *coming);
    struct hd_schedule *other = hd_alloc(most, sizeof *other);
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): a list of pointers */
    struct target **next = hd_alloc(most, sizeof *next);
    coming[0] = coming_of(x, target, variant, schedule);
    if (most > 1 && explore_wants_coming(x, coming[0].key))
        others = explore_coming_targets(x, variant, next, most - 1);
    for (uint32_t i = 0; i < others; i++) {
        struct hd_error ignored;
        if (explore_has_early(x, coming_key(next[i], variant)) ||
            !explore_make_variant(next[i], variant, &other[count], &ignored))
            continue;
        coming[count] = coming_of(x, next[i], variant, &other[count]);
        bool wanted = !hd_dead_ends_has(&x->dead_ends, &other[count]);
        if (!wanted) hd_schedule_free(&other[count]);
        count += wanted;
    }
    bool ran = explore_run_early(x, coming, count, run);
    for (uint32_t i = 1; i < count; i++) hd_schedule_free(&other[i]);
    free(coming);
    free(other);
    free(next);
    return ran;
}

void explore_force(struct explorer *x, struct target *target) {
    struct hd_schedule schedule;
    struct hd_result run;
    uint32_t variant = target->tried++;
    if (!explore_make_variant(target, variant, &schedule, x->error)) {
        x->broken = true;
        return;
    }
    snprintf(x->best, sizeof x->best, "%s on %.120s", hd_finding_kind_name(target->finding->kind),
             target->finding->variable);
    explore_report(x, "forcing", (uint32_t)x->number, x->all);
    if (hd_dead_ends_has(&x->dead_ends, &schedule)) {
        x->result->foreseen++;
    } else {
        if (run_target(x, target, variant, &schedule, &run)) {
            judge_forced(x, target, &schedule, &run);
            hd_result_free(&run);
        } else {
            target->tried = variant;
        }
    }
    hd_schedule_free(&schedule);
}

/* The next run of a stage, as far as its source has no wishes. */
static struct wanted wanted_of(const struct explorer *x, const struct stage *stage) {
    const struct hd_explore_options *options = x->options;
    bool hunts = options->plan == HD_PLAN_HUNT;
    return (struct wanted){.steering = {.strategy = hunts ? stage->strategy : options->strategy,
                                        .seed = options->seed + x->number + hunts,
                                        .no_trace = !options->trace_all,
                                        .places = &x->profile.places}};
}

/* The runs of a strategy that learns nothing on the way are known in advance. */
static bool run_steered(struct explorer *x, const struct stage *stage, const struct wanted *wanted,
                        struct hd_result *run) {
    uint32_t most = stage->source->independent ? explore_at_once(x) : 1, count = 0;
    struct coming *coming = hd_alloc(most, sizeof *coming);
    uint64_t number = x->number, all = (uint64_t)stage->runs * x->options->strategy_runs;
    if (stage->runs > 0 && most > all - number) most = (uint32_t)(all - number);
    do {
        struct wanted next = wanted_of(x, stage);
        if (count > 0 && !stage->source->next(x, &next)) break;
        coming[count].key = hd_mix64((uint64_t)(uintptr_t)stage) + x->number;
        coming[count].steering = count > 0 ? next.steering : wanted->steering;
        x->number++;
    } while (++count < most && (count > 1 || explore_wants_coming(x, coming[0].key)));
    x->number = number;
    bool ran = explore_run_early(x, coming, count, run);
    free(coming);
    return ran;
}

static void steer(struct explorer *x, const struct stage *stage, const struct wanted *wanted) {
    const struct source *source = stage->source;
    struct hd_result run;
    explore_report(x, wanted->own_schedule ? "closing" : "forcing", (uint32_t)x->number, x->all);
    if (!run_steered(x, stage, wanted, &run)) return;
    if (wanted->own_schedule)
        x->result->runs.closing++;
    else
        x->result->runs.steered++;
    if (source->learn != NULL) source->learn(x, wanted, &run);
    if (hd_outcome_failed(&run.outcome))
        explore_failure(
            x, &(struct failed){.run = &run, .wanted = wanted->own_schedule ? NULL : wanted});
    hd_result_free(&run);
}

/* ---- stages --------------------------------------------------------------------------------- */

static bool stop_here(struct explorer *x) {
    const struct hd_exploration *result = x->result;
    bool expose = x->options->plan == HD_PLAN_EXPOSE;
    if (result->failures > 0 && x->options->first) return true;
    if (result->flaky && expose) return true;
    if (explore_is_covered(x)) return true;
    return explore_phase_is_over(x);
}

static void list_candidates(struct explorer *x) {
    for (uint32_t i = 0; i < x->count; i++) {
        const struct hd_interleaving *it = &x->profile.list.data[x->order[i]];
        char words[512];
        explore_interleaving_words(x, it, words, sizeof words);
        x->options->list(x->options->report_context, i + 1, it, words);
    }
}

static bool next_run(struct explorer *x, const struct stage *stage) {
    struct wanted wanted = wanted_of(x, stage);
    bool any = stage->source->next(x, &wanted);
    if (any && wanted.target != NULL)
        explore_force(x, wanted.target);
    else if (any)
        steer(x, stage, &wanted);
    x->number += any;
    hd_steering_free(&wanted.steering);
    hd_vector_free(&wanted.chosen);
    return any || (stage->source->feed != NULL && stage->source->feed(x));
}

static void run_stage(struct explorer *x, const struct stage *stage) {
    uint64_t most = (uint64_t)stage->runs * x->options->strategy_runs;
    x->fed = x->at = x->pass = x->all = 0;
    x->number = 0;
    explore_begin_phase(x, stage->share);
    if (stage->source->begin != NULL) stage->source->begin(x);
    if (x->options->list != NULL) {
        if (!x->broken) list_candidates(x);
        return;
    }
    while (!stop_here(x)) {
        if (stage->runs > 0 && x->number >= most) break;
        if (!next_run(x, stage)) break;
    }
}

static void run_plan(struct explorer *x) {
    uint32_t stages;
    const struct stage *plan = explore_plan(x->options, &stages);
    struct hd_exploration *result = x->result;
    for (uint32_t i = 0; i < stages && !explore_is_over(x); i++) {
        if (plan[i].runs > 0 && x->options->strategy_runs == 0) continue;
        if (result->failures > 0 && !plan[i].despite_failure) continue;
        if (explore_is_closed(x) && !plan[i].in_parallel) continue;
        run_stage(x, &plan[i]);
    }
    if (!explore_is_over(x))
        result->end = explore_is_covered(x) ? HD_END_COVERED : HD_END_EXHAUSTED;
    if (result->failures > 0 && x->options->first) result->end = HD_END_FAILURE;
    if (result->interrupted) result->end = HD_END_STOPPED;
}

/* ---- the result ----------------------------------------------------------------------------- */

/* Failures first, what is harmful by itself next, then what was exercised. */
static int place_of(const struct hd_finding *finding) {
    if (finding->forced != NULL && finding->forced->failed)
        return *finding->forced->same_as == '\0' ? 0 : 1;
    if (finding->verdict == HD_VERDICT_CONFIRMED) return 2;
    return hd_explored_matters(finding) ? 3 : finding->forced != NULL ? 4 : 5;
}

/* A run reached it, and did not fail. */
static void conclude_reached(struct explorer *x, struct target *target) {
    struct hd_finding *finding = target->finding;
    explore_no_failure(x, target);
    /* Memory that is gone is an order's or a race's to report. */
    if (finding->harm == HD_HARM_ITSELF && finding->kind != HD_FINDING_NONDETERMINISM &&
        (target->depth == DEPTH_EXACT || target->shown))
        finding->verdict = HD_VERDICT_CONFIRMED;
    else
        finding->harm = HD_HARM_EXERCISED;
}

/* What is proved holds, also if the program could not be brought there. But a proof holds as far as
 * the trace goes. If the program, which repeats itself otherwise, takes another path or gets stuck
 * wherever the prediction is forced, something that is in no trace prevents it: code that is not
 * instrumented, or a pipe that threads wait at. */
static bool is_proved(struct explorer *x, const struct target *target) {
    struct hd_finding *finding = target->finding;
    if (finding->harm != HD_HARM_ITSELF || target->depth != DEPTH_EXACT ||
        finding->kind == HD_FINDING_NONDETERMINISM)
        return false;
    if (target->tried > 0 && !target->reached && explore_repeats(x, target->run)) {
        x->result->refuted++;
        return false;
    }
    finding->how =
        target->tried > 0 ? "predicted, but the program diverged" : "predicted, not tried";
    return true;
}

static void conclude_targets(struct explorer *x) {
    struct hd_findings *findings = &x->result->findings;
    bool closed = explore_is_closed(x);
    for (size_t i = 0; i < x->target.size; i++) {
        struct target *target = x->target.data[i];
        struct hd_finding *finding = target->finding;
        if (target->suspicion > 0) continue;
        if (target->tried == 0 && target->depth != DEPTH_SWITCH && !target->closes && !closed)
            x->result->left++;
        if (target->tried > 0 && finding->forced == NULL && target->reached)
            conclude_reached(x, target);
        if (finding->forced != NULL || is_proved(x, target))
            hd_vector_push(&findings->list, *finding);
    }
    explore_conclude_suspicions(x);
    for (size_t i = 0; i < x->failure.size; i++) {
        const struct hd_finding *finding = x->failure.data[i].finding;
        bool of_target = false;
        for (size_t k = 0; k < x->target.size; k++)
            of_target |= x->target.data[k]->finding == finding;
        if (!of_target) hd_vector_push(&findings->list, *finding);
    }
}

static void sort(struct hd_findings *findings) {
    /* few, and in an order that has to stay: insertion */
    for (size_t i = 1; i < findings->list.size; i++) {
        struct hd_finding finding = findings->list.data[i];
        size_t k = i;
        for (; k > 0 && place_of(&findings->list.data[k - 1]) > place_of(&finding); k--)
            findings->list.data[k] = findings->list.data[k - 1];
        findings->list.data[k] = finding;
    }
}

/* The same sites by other threads are one finding: of those with one fingerprint the first one
 * stays. */
static void keep_one_of_each(struct hd_findings *findings) {
    size_t kept = 0;
    findings->summary.verdict[HD_VERDICT_CONFIRMED] = 0;
    for (size_t i = 0; i < findings->list.size; i++) {
        const struct hd_finding finding = findings->list.data[i];
        size_t k = 0;
        while (k < kept && strcmp(findings->list.data[k].fingerprint, finding.fingerprint) != 0)
            k++;
        if (k < kept) continue;
        findings->list.data[kept++] = finding;
        if (finding.verdict == HD_VERDICT_CONFIRMED)
            findings->summary.verdict[HD_VERDICT_CONFIRMED]++;
    }
    findings->list.size = kept;
}

static void count_candidates(struct explorer *x) {
    struct hd_exploration *result = x->result;
    result->counts = hd_profile_counts(&x->profile);
    result->accesses = x->profile.accesses;
    result->candidates = x->count;
    for (uint32_t i = 0; i < x->count; i++) {
        const struct hd_interleaving *it = &x->profile.list.data[x->order[i]];
        result->tried += it->attempts > 0;
        result->brought_about += it->best == HD_FORCE_EXERCISED;
    }
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* A program that fails in every plain run. A hunt begins with its serial runs then: one of them may
 * pass. What hangs would take its time again and again. */
static bool is_hopeless(struct explorer *x) {
    struct hd_exploration *result = x->result;
    if (result->plain_failed == 0 || result->plain_failed < result->plain_tries) return false;
    result->flaky = true;
    result->flaky_outcome = result->plain_outcome;
    return x->options->plan != HD_PLAN_HUNT || result->interrupted ||
           result->plain_outcome.kind == HD_OUTCOME_HANG;
}

/* Every plain run failed, and no recorded one passed: there is nothing to begin with. */
static void check_beginning(struct explorer *x) {
    struct hd_exploration *result = x->result;
    bool failed = result->plain_tries > 0 && result->plain_failed == result->plain_tries;
    if (!failed || x->options->plan != HD_PLAN_HUNT || result->interrupted || x->run.size > 0 ||
        result->failures > 0 || x->broken)
        return;
    bool hung = result->plain_outcome.kind == HD_OUTCOME_HANG;
    x->broken = !hd_fail(x->error, HD_ERR_USAGE,
                         "%s fails without any schedule being forced on it (%s); a hunt begins "
                         "with a run that passes%s",
                         x->program.argv[0], result->plain_outcome.words,
                         hung ? " (--limit gives it more time)" : "");
}

static void free_work(struct explorer *x) {
    for (size_t i = 0; i < x->run.size; i++) explore_recorded_free(x->run.data[i]);
    for (size_t i = 0; i < x->target.size; i++) free(x->target.data[i]);
    hd_vector_free(&x->run);
    hd_vector_free(&x->target);
    hd_vector_free(&x->failure);
    hd_findings_free(&x->own);
    hd_map_free(&x->key);
    hd_map_free(&x->print);
    hd_history_free(&x->history);
    hd_profile_free(&x->profile);
    free(x->order);
    explore_free_suspicions(x);
    explore_free_closing(x);
    hd_dead_ends_free(&x->dead_ends);
    if (x->reference >= 0) close(x->reference);
    free(x);
}

bool hd_explore(const struct hd_explore_options *options, struct hd_exploration *result,
                struct hd_error *error) {
    memset(result, 0, sizeof *result);
    struct explorer *x = hd_zalloc(1, sizeof *x);
    x->options = options;
    result->cover = options->cover;
    x->result = result;
    x->error = error;
    x->program = options->program;
    x->reference = -1;
    result->work = x;
    if (options->host != NULL) x->host = *options->host;
    if (!options->no_server) x->host.server = hd_server_new(options->snapshot_at);
    explore_begin_budget(x);
    explore_plain_runs(x);
    if (!is_hopeless(x) && !x->broken) run_plan(x);
    check_beginning(x);
    if (!x->broken) conclude_targets(x);
    if (!x->broken) explore_conclude_closing(x);
    explore_drop_early(x);
    hd_server_free(x->host.server);
    x->host.server = NULL;
    sort(&result->findings);
    keep_one_of_each(&result->findings);
    result->findings.looked_for[HD_FINDING_FAILURE] = options->suspicions == NULL;
    count_candidates(x);
    result->seconds = hd_seconds_now() - x->start;
    bool good = !x->broken;
    if (!good) hd_exploration_free(result);
    return good;
}

void hd_exploration_free(struct hd_exploration *result) {
    hd_findings_free(&result->findings);
    hd_vector_free(&result->closed.reason);
    if (result->work != NULL) free_work(result->work);
    result->work = NULL;
}
