/* From predictions to runs: what is worth forcing, in which order, and what came of it. */
#include "explore/hunt_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define QUERY_NANOSECONDS 2000000000u
#define EARLY_RANK 500u /* after what is harmful by itself, before what is likely to be */

/* ---- predicting ----------------------------------------------------------------------------- */

static bool is_wanted(const struct hd_predict_kind *kind, enum hunt_depth depth) {
    if ((kind->methods >> HD_METHOD_POLY & 1) == 0) return false;
    /* Reads that may change matter to triples and orders; races and deadlocks that need it are
     * those of another run. */
    return depth == HUNT_EXACT || kind->kind == HD_FINDING_ATOMICITY ||
           kind->kind == HD_FINDING_ORDER;
}

static uint64_t add_event(const struct hd_finding_event *event, bool innermost, uint64_t hash) {
    uint32_t column = event->column;
    if (innermost) column = event->frames > 0 ? event->frame[0].column : 0;
    hash = XXH3_64bits_withSeed(event->site, strlen(event->site) + 1, hash);
    hash = XXH3_64bits_withSeed(event->op, strlen(event->op) + 1, hash);
    return column > 0 ? XXH3_64bits_withSeed(&column, sizeof column, hash) : hash;
}

/* The same sites in every run: as a reader knows them, or told apart as far as they can be. */
static uint64_t key_of(const struct hd_finding *finding, bool innermost) {
    const char *pattern = finding->pattern != NULL ? finding->pattern : "";
    uint64_t hash = XXH3_64bits_withSeed(pattern, strlen(pattern), (uint64_t)finding->kind);
    if (finding->kind == HD_FINDING_RACE && finding->events == 2) {
        /* Neither comes first: which one does differs between recorded runs. */
        uint64_t a = add_event(&finding->event[0], innermost, hash);
        uint64_t b = add_event(&finding->event[1], innermost, hash);
        uint64_t both[2] = {a < b ? a : b, a < b ? b : a};
        return XXH3_64bits(both, sizeof both);
    }
    for (uint32_t i = 0; i < finding->events; i++)
        hash = add_event(&finding->event[i], innermost, hash);
    return hash;
}

/* Fingerprints are made for the findings of one run; in a hunt, which has those of many, other
 * sites have another one too. */
static bool number_fingerprint(struct hunt_work *work, struct hd_finding *finding) {
    const char *print = finding->fingerprint;
    uint64_t sites = key_of(finding, false);
    uint32_t mark = (uint32_t)(sites ^ sites >> 32) | 1;
    for (unsigned n = 1;; n++) {
        uint64_t key = XXH3_64bits(print, strlen(print));
        uint32_t *slot = hd_map_slot(&work->print, key, 0);
        if (slot == NULL) return false;
        if (*slot == 0) *slot = mark;
        if (*slot == mark) return true;
        hd_finding_number(finding, n + 1);
    }
}

/* What fails most often comes first: threads that wait for each other, memory that is gone,
 * accesses that look as if they belong together; races next; at last what is probably intended. */
static uint32_t rank_of(const struct hd_finding *finding, enum hunt_depth depth) {
    uint32_t score = finding->score < 1000 ? finding->score : 999, rank = 1000 * (uint32_t)depth;
    if (finding->harm == HD_HARM_ITSELF && finding->kind != HD_FINDING_RACE) return rank;
    bool likely = finding->harm == HD_HARM_LIKELY && finding->kind != HD_FINDING_NONDETERMINISM;
    if (likely) return rank + 1000 - score;
    if (depth == HUNT_SWITCHED) {
        bool lock = strstr(finding->event[0].op, "acq") != NULL;
        return 8000 + (finding->events == 2) * 1000 + lock * 500;
    }
    if (finding->kind == HD_FINDING_RACE) return rank + 1500;
    return rank + HUNT_UNLIKELY + 1000 + (finding->harm == HD_HARM_EXERCISED) * 1000 - score;
}

bool hunt_add_target(struct hunt_work *work, const struct hunt_target *target,
                     enum hunt_depth depth) {
    uint64_t key = key_of(target->finding, true);
    if (target->switched) key += 1 + target->repeat;
    uint32_t *slot = hd_map_slot(&work->key, key, 0);
    if (slot == NULL) return false;
    if (*slot != 0) return true;
    if (!number_fingerprint(work, target->finding)) return false;
    struct hunt_target added = *target;
    added.key = key;
    added.depth = depth;
    added.rank = target->early ? EARLY_RANK : rank_of(target->finding, depth);
    added.rank += 100 * target->repeat;
    if (!hd_vector_push(&work->target, added)) return false;
    *slot = (uint32_t)work->target.size;
    work->hunt->targets++;
    return true;
}

static void count(struct hd_hunt *hunt, const struct hd_findings *findings) {
    struct hd_finding_summary *total = &hunt->findings.summary;
    total->candidates += findings->summary.candidates;
    for (unsigned i = 0; i < HD_VERDICT_COUNT; i++)
        total->verdict[i] += findings->summary.verdict[i];
    for (unsigned kind = 0; kind < HD_FINDING_KIND_COUNT; kind++) {
        struct hd_finding_summary *to = &hunt->findings.of_kind[kind];
        const struct hd_finding_summary *from = &findings->of_kind[kind];
        hunt->findings.looked_for[kind] |= findings->looked_for[kind];
        to->candidates += from->candidates;
        for (unsigned i = 0; i < HD_VERDICT_COUNT; i++) to->verdict[i] += from->verdict[i];
    }
}

bool hunt_predict(struct hunt_work *work, struct hunt_run *run, enum hunt_depth depth,
                  struct hd_error *error) {
    /* NOLINTBEGIN(bugprone-sizeof-expression): lists of pointers */
    struct hd_model **passing = calloc(work->run.size + 1, sizeof *passing);
    struct hd_describe **describe = calloc(work->run.size + 1, sizeof *describe);
    /* NOLINTEND(bugprone-sizeof-expression) */
    struct hd_findings *findings = &run->findings[depth];
    bool good = passing != NULL && describe != NULL;
    uint32_t passings = 0;
    for (size_t i = 0; good && i < work->run.size; i++)
        if (work->run.data[i] != run) {
            passing[passings] = &work->run.data[i]->model;
            describe[passings++] = work->run.data[i]->describe;
        }
    if (!good) hd_fail(error, HD_ERR_MEMORY, "out of memory");
    double until = work->hunt->failures > 0 ? work->deadline : work->phase_end;
    struct hd_predict predict = {
        .model = &run->model,
        .describe = run->describe,
        .options = {.method = HD_METHOD_POLY,
                    .reading = depth == HUNT_FREE ? HD_CSR : HD_CDSR,
                    .relax_branches = depth == HUNT_RELAXED,
                    .branches = HD_BRANCHES_RECORDED,
                    .budget = {.nanoseconds = work->options->query_nanoseconds
                                                  ? work->options->query_nanoseconds
                                                  : QUERY_NANOSECONDS,
                               .until = (uint64_t)(until * 1e9)},
                    .jobs = work->options->jobs,
                    .all = true,
                    .found_only = true,
                    .passing = passing,
                    .passing_describe = describe,
                    .passings = passings}};
    for (unsigned k = 0; good && k < hd_predict_kind_count && !hunt_phase_is_over(work); k++) {
        if (!is_wanted(&hd_predict_kinds[k], depth)) continue;
        struct hd_finding_summary before = findings->summary;
        good = hd_predict_kinds[k].run(&predict, findings, error);
        hd_findings_looked_for(findings, hd_predict_kinds[k].kind, &before);
    }
    if (good) {
        hd_findings_sort(findings);
        hd_findings_fingerprint(findings);
        if (depth == HUNT_EXACT) count(work->hunt, findings);
        for (size_t i = 0; good && i < findings->list.size; i++) {
            struct hd_finding *finding = &findings->list.data[i];
            if (finding->verdict != HD_VERDICT_FEASIBLE || finding->witness == NULL) continue;
            struct hunt_target target = {.run = run, .finding = finding};
            good = hunt_add_target(work, &target, depth);
        }
        if (!good) hd_fail(error, HD_ERR_MEMORY, "out of memory");
    }
    free(passing);
    free(describe);
    return good;
}

/* ---- forcing -------------------------------------------------------------------------------- */

/* A race's accesses may come in either order, and either thread may go on after them. The order
 * that the recorded run did not have is tried first. */
#define RACE_VARIANTS 4u

static uint32_t variants(const struct hunt_target *target) {
    if (target->switched) return 2;
    return target->finding->kind == HD_FINDING_RACE ? RACE_VARIANTS : 1;
}

/* The last thread of all goes on first: a turn without a call makes it another. */
static bool go_on_with(struct hd_schedule *schedule, uint32_t thread) {
    struct hd_turn turn = {.thread = thread, .to = ""};
    return hd_vector_push(&schedule->then, turn);
}

static bool make_variant(const struct hunt_target *target, uint32_t variant,
                         struct hd_schedule *schedule, struct hd_error *error) {
    const struct hd_finding *finding = target->finding;
    if (target->switched) {
        if (!hunt_switch_schedule(target, (variant == 1) != target->early, schedule, error))
            return false;
    } else if (!hd_schedule_from_witness(schedule, &target->run->model, target->run->describe,
                                         finding->witness, finding->witness_spans,
                                         finding->witness_next, error))
        return false;
    schedule->kind = hd_finding_kind_name(finding->kind);
    schedule->variable = hd_schedule_text(schedule, finding->variable);
    schedule->fingerprint = hd_schedule_text(schedule, finding->fingerprint);
    schedule->about = hd_schedule_text(schedule, finding->conclusion);
    if (finding->kind != HD_FINDING_RACE || schedule->then.size < 2) return true;
    /* The witness has them in the order of the run as a rule. */
    size_t last = schedule->then.size - 1;
    bool as_recorded = finding->witness_spans > 0 && finding->events == 2 &&
                       finding->event[0].event < finding->event[1].event &&
                       schedule->then.data[last].thread == finding->event[1].thread_number;
    if ((variant < 2) == as_recorded) hd_schedule_swap(schedule);
    bool good = variant % 2 == 0 || go_on_with(schedule, schedule->then.data[last - 1].thread);
    if (!good) {
        hd_schedule_free(schedule);
        hd_fail(error, HD_ERR_MEMORY, "out of memory");
    }
    return good;
}

static bool force_variant(struct hunt_work *work, struct hunt_target *target, uint32_t variant,
                          struct hd_error *error) {
    struct hd_schedule schedule;
    struct hd_result run;
    if (!make_variant(target, variant, &schedule, error)) return false;
    target->tried = variant + 1;
    if (hd_dead_ends_has(&work->dead_ends, &schedule)) {
        work->hunt->foreseen++;
        hd_schedule_free(&schedule);
        return true;
    }
    struct hd_job job = {.program = work->program, .steering = hd_schedule_steering(&schedule)};
    job.steering.patience_ms = work->patience_ms;
    if (!hd_run(&job, work->options->host, &run, error)) {
        hd_schedule_free(&schedule);
        return false;
    }
    struct hd_hunt *hunt = work->hunt;
    bool good = true;
    hunt->interrupted = run.interrupted;
    if (!hunt->interrupted && !hd_dead_ends_add(&work->dead_ends, &schedule, &run))
        good = hd_fail(error, HD_ERR_MEMORY, "out of memory");
    if (good && !hunt->interrupted) {
        hunt->forced++;
        hunt->reached += run.replay.reached;
        hunt->diverged += !run.replay.reached;
        bool failed = hunt_failed(work, &run);
        if (run.replay.reached) target->reached = true;
        if (failed) {
            target->outcome = run.outcome;
            target->failed = run.replay.reached;
            good = run.replay.reached ? hunt_failure(work, target, &schedule, &run, error)
                                      : hunt_failure(work, NULL, NULL, &run, error);
            if (hunt->failures > 0 && hunt->first_failure == 0) hunt->first_failure = hunt->forced;
        } else if (!target->failed) {
            target->outcome = run.outcome;
            if (run.replay.reached && target->depth != HUNT_EXACT && !target->shown &&
                target->finding->harm == HD_HARM_ITSELF)
                target->shown = hunt_is_shown(target, run.trace_path);
        }
    }
    hd_result_free(&run);
    hd_schedule_free(&schedule);
    return good;
}

static bool is_due(const struct hunt_work *work, const struct hunt_target *target, uint32_t variant,
                   uint32_t below) {
    /* Where two threads meet once, they often meet more than once. */
    if (target->switched && work->hunt->failures > 0) return false;
    return !target->failed && target->tried == variant && variant < variants(target) &&
           target->rank < below;
}

static uint32_t due(const struct hunt_work *work, uint32_t variant, uint32_t below) {
    uint32_t many = 0;
    for (size_t i = 0; i < work->target.size; i++)
        many += is_due(work, &work->target.data[i], variant, below);
    return many;
}

static struct hunt_target *next_target(struct hunt_work *work, uint32_t variant, uint32_t below) {
    struct hunt_target *best = NULL;
    for (size_t i = 0; i < work->target.size; i++) {
        struct hunt_target *target = &work->target.data[i];
        if (is_due(work, target, variant, below) && (best == NULL || target->rank < best->rank))
            best = target;
    }
    return best;
}

bool hunt_force(struct hunt_work *work, uint32_t below, struct hd_error *error) {
    for (uint32_t variant = 0; variant < RACE_VARIANTS; variant++) {
        uint32_t all = due(work, variant, below), done = 0;
        while (!hunt_phase_is_over(work)) {
            struct hunt_target *target = next_target(work, variant, below);
            if (target == NULL) break;
            snprintf(work->best, sizeof work->best, "%s on %.120s",
                     hd_finding_kind_name(target->finding->kind), target->finding->variable);
            hunt_tell(work, "forcing", done++, all);
            if (!force_variant(work, target, variant, error)) return false;
            if (work->options->first && work->hunt->failures > 0) return true;
        }
    }
    return true;
}
