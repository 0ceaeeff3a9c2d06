/* The course of a hunt. See hunt.h. */
#include "explore/hunt_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUIET_RUNS 3u /* recorded runs without news after which there will be none */

bool hunt_is_over(const struct hunt_work *work) {
    uint32_t most = work->options->most_forced;
    return work->hunt->interrupted || (most > 0 && work->hunt->forced >= most) ||
           hd_seconds_now() > work->deadline;
}

bool hunt_phase_is_over(const struct hunt_work *work) {
    return hunt_is_over(work) || (work->hunt->failures == 0 && hd_seconds_now() > work->phase_end);
}

void hunt_tell(struct hunt_work *work, const char *what, uint32_t done, uint32_t all) {
    if (work->options->told == NULL) return;
    const struct hd_hunt *hunt = work->hunt;
    struct hd_hunt_progress progress = {.what = what,
                                        .runs = hunt->plain + hunt->recorded + hunt->forced +
                                                hunt->repeated + hunt->asked + hunt->exposed +
                                                work->reducing,
                                        .done = done,
                                        .all = all,
                                        .failures = hunt->failures,
                                        .best = work->best};
    work->options->told(work->options->context, &progress);
}

bool hd_hunt_matters(const struct hd_finding *finding) {
    if (finding->forced != NULL && finding->forced->failed) return true;
    return (finding->verdict == HD_VERDICT_CONFIRMED || finding->verdict == HD_VERDICT_FEASIBLE) &&
           finding->harm == HD_HARM_ITSELF;
}

/* ---- phases --------------------------------------------------------------------------------- */

/* A phase takes at most this part of the time that is left: what is likely to fail comes first, but
 * there is always something left for what needs no prediction. */
static void begin_phase(struct hunt_work *work, double part) {
    double now = hd_seconds_now();
    work->phase_end = now + (work->deadline - now) * part;
}

static bool stop_here(const struct hunt_work *work) {
    return hunt_phase_is_over(work) || (work->options->first && work->hunt->failures > 0);
}

/* Records until nothing new comes; each run that shows something new is predicted from, and what
 * is predicted is forced before the next one is recorded, if it is not likely to be intended. */
static bool record_and_force(struct hunt_work *work, struct hd_error *error) {
    uint32_t most = work->options->most_recorded ? work->options->most_recorded : 12, quiet = 0;
    begin_phase(work, 0.6);
    for (uint32_t n = 0; n < most && quiet < QUIET_RUNS && !stop_here(work); n++) {
        struct hunt_run *run;
        uint32_t news;
        hunt_tell(work, "recording", n, most);
        if (!hunt_record(work, n, &run, &news, error)) return false;
        if (n == 0 && run == NULL && !work->hunt->interrupted && work->hunt->failures == 0)
            return hd_fail(error, HD_ERR_FORMAT, "the recorded run shows no event");
        quiet = news > 0 ? 0 : quiet + 1;
        if (run == NULL || stop_here(work)) continue;
        hunt_tell(work, "predicting", n, most);
        if (!hunt_predict(work, run, HUNT_EXACT, error)) return false;
        if (!hunt_switch_early(work, run, error)) return false;
        if (!hunt_force(work, HUNT_UNLIKELY, error)) return false;
    }
    work->hunt->saturated = quiet >= QUIET_RUNS;
    return stop_here(work) || hunt_force(work, UINT32_MAX, error);
}

/* Values may change on the way: less certain, so only while nothing failed. */
static bool reach_further(struct hunt_work *work, struct hd_error *error) {
    for (int depth = HUNT_RELAXED; depth <= HUNT_FREE; depth++) {
        begin_phase(work, 0.3);
        for (size_t i = 0; i < work->run.size && work->hunt->failures == 0; i++) {
            if (stop_here(work)) break;
            hunt_tell(work, "predicting further", (uint32_t)i, (uint32_t)work->run.size);
            if (!hunt_predict(work, work->run.data[i], (enum hunt_depth)depth, error)) return false;
            if (!hunt_force(work, UINT32_MAX, error)) return false;
        }
    }
    return true;
}

/* One change of thread at every place where two threads meet. */
static bool switch_everywhere(struct hunt_work *work, struct hd_error *error) {
    begin_phase(work, 0.4);
    for (size_t i = 0; i < work->run.size && work->hunt->failures == 0; i++) {
        if (stop_here(work)) return true;
        if (!hunt_switch(work, work->run.data[i], error)) return false;
        if (!hunt_force(work, UINT32_MAX, error)) return false;
    }
    return true;
}

/* ---- the result ----------------------------------------------------------------------------- */

static bool add(struct hunt_work *work, const struct hd_finding *finding) {
    return hd_vector_push(&work->hunt->findings.list, *finding);
}

/* Failures first, what is harmful by itself next, then what was exercised. */
static int place_of(const struct hd_finding *finding) {
    if (finding->forced != NULL && finding->forced->failed)
        return *finding->forced->same_as == '\0' ? 0 : 1;
    if (finding->verdict == HD_VERDICT_CONFIRMED) return 2;
    return hd_hunt_matters(finding) ? 3 : finding->forced != NULL ? 4 : 5;
}

/* A proof holds as far as the trace goes. If the program, which repeats itself otherwise, takes
 * another path or gets stuck wherever the prediction is forced, something that is in no trace sees
 * to it: code that is not instrumented, or a pipe that threads wait at. */
static bool is_refuted(struct hunt_work *work, const struct hunt_target *target, bool *refuted,
                       struct hd_error *error) {
    *refuted = false;
    if (target->tried == 0 || target->reached) return true;
    return hunt_repeats(work, target->run, refuted, error);
}

static bool conclude_targets(struct hunt_work *work, struct hd_error *error) {
    for (size_t i = 0; i < work->target.size; i++) {
        struct hunt_target *target = &work->target.data[i];
        struct hd_finding *finding = target->finding;
        if (target->tried == 0 && !target->switched) work->hunt->left++;
        if (target->tried > 0 && finding->forced == NULL && target->reached) {
            if (!hunt_no_failure(work, target))
                return hd_fail(error, HD_ERR_MEMORY, "out of memory");
            /* Memory that is gone is an order's or a race's to report. */
            if (finding->harm == HD_HARM_ITSELF && finding->kind != HD_FINDING_NONDETERMINISM &&
                (target->depth == HUNT_EXACT || target->shown))
                finding->verdict = HD_VERDICT_CONFIRMED;
            else
                finding->harm = HD_HARM_EXERCISED;
        }
        /* What is proved stands, also if the program could not be brought there. */
        bool proved = finding->harm == HD_HARM_ITSELF && target->depth == HUNT_EXACT &&
                      finding->kind != HD_FINDING_NONDETERMINISM;
        if (proved && finding->forced == NULL) {
            bool refuted;
            if (!is_refuted(work, target, &refuted, error)) return false;
            work->hunt->refuted += refuted;
            proved = !refuted;
        }
        if (proved && finding->forced == NULL)
            finding->how = target->tried > 0 ? "predicted, but the program went another way"
                                             : "predicted, not tried";
        bool of_interest = finding->forced != NULL || proved;
        if (of_interest && !add(work, finding))
            return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < work->failure.size; i++) {
        const struct hd_finding *finding = work->failure.data[i].finding;
        if (finding->kind != HD_FINDING_FAILURE) continue;
        if (!add(work, finding)) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    }
    return true;
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

static void free_work(struct hunt_work *work) {
    for (size_t i = 0; i < work->run.size; i++) hunt_run_free(work->run.data[i]);
    hd_vector_free(&work->run);
    hd_vector_free(&work->target);
    hd_vector_free(&work->failure);
    hd_findings_free(&work->own);
    hd_map_free(&work->key);
    hd_map_free(&work->print);
    hd_seen_free(&work->seen);
    hd_dead_ends_free(&work->dead_ends);
    if (work->reference >= 0) close(work->reference);
    free(work);
}

bool hd_hunt(const struct hd_hunt_options *options, struct hd_hunt *hunt, struct hd_error *error) {
    memset(hunt, 0, sizeof *hunt);
    struct hunt_work *work = calloc(1, sizeof *work);
    if (work == NULL) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    work->options = options;
    work->hunt = hunt;
    work->program = options->program;
    work->reference = -1;
    work->start = hd_seconds_now();
    work->deadline = work->start + (options->seconds > 0 ? options->seconds : 60);
    hunt->work = work;
    bool good = hunt_plain_runs(work, error);
    if (good) good = record_and_force(work, error);
    if (good && hunt->failures == 0) good = reach_further(work, error);
    if (good && hunt->failures == 0) good = switch_everywhere(work, error);
    if (good && hunt->failures == 0 && !options->no_expose) good = hunt_expose(work, error);
    begin_phase(work, 1);
    if (good && hunt->failures == 0) good = hunt_force(work, UINT32_MAX, error); /* what is left */
    if (good) good = conclude_targets(work, error);
    sort(&hunt->findings);
    keep_one_of_each(&hunt->findings);
    hunt->seconds = hd_seconds_now() - work->start;
    if (!good) hd_hunt_free(hunt);
    return good;
}

void hd_hunt_free(struct hd_hunt *hunt) {
    hd_findings_free(&hunt->findings);
    if (hunt->work != NULL) free_work(hunt->work);
    hunt->work = NULL;
}
