/* Plain runs and what is normal: how long a run takes, what it prints, how often it fails by
 * itself; and the judgement over every other run. */
#include "explore/explorer.h"

#include "run/process.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LEAST_COMPARED 20u /* plain runs that say how often the program fails by itself */

/* ---- output --------------------------------------------------------------------------------- */

/* Threads that print may do so in any order: the order of lines does not count. */
static bool same_lines(int a, int b) {
    char first[HD_OUTPUT_MARK], second[HD_OUTPUT_MARK];
    return hd_output_mark(a, true, first) && hd_output_mark(b, true, second) &&
           strcmp(first, second) == 0;
}

void explore_judge(struct explorer *x, struct hd_result *run) {
    struct hd_exploration *result = x->result;
    if (x->reference < 0) return;
    bool noted = x->options->output == HD_OUTPUT_NOTED;
    bool passed = !hd_outcome_failed(&run->outcome);
    result->output_runs += noted && (passed || run->outcome.kind == HD_OUTCOME_OUTPUT);
    if (run->outcome.kind != HD_OUTCOME_OUTPUT) return;
    bool same = same_lines(run->output, x->reference);
    if (!same && !noted) return;
    if (!same && result->output_differs++ == 0)
        snprintf(result->output_words, sizeof result->output_words, "%s", run->outcome.words);
    run->outcome.kind = HD_OUTCOME_PASSED;
}

static bool copy_output(int from, int to) {
    char bytes[65536];
    off_t at = 0;
    ssize_t n;
    while ((n = pread(from, bytes, sizeof bytes, at)) > 0) {
        if (write(to, bytes, (size_t)n) != n) return false;
        at += n;
    }
    return n == 0;
}

static void forget_output(struct explorer *x) {
    if (x->reference >= 0) close(x->reference);
    x->reference = -1;
    x->program.output_like = NULL;
}

static void keep_output(struct explorer *x, const struct hd_result *run) {
    x->reference = hd_temporary_file();
    if (x->reference < 0 || !copy_output(run->output, x->reference)) {
        forget_output(x);
        return;
    }
    snprintf(x->reference_path, sizeof x->reference_path, "/proc/self/fd/%d", x->reference);
    x->program.output_like = x->reference_path;
}

/* ---- plain runs ----------------------------------------------------------------------------- */

/* One more. False: no more are to be had. */
static bool plain_run(struct explorer *x, struct hd_outcome *outcome, bool *first) {
    struct hd_exploration *result = x->result;
    struct hd_steering plain = {.scheduler = HD_SCHED_OFF};
    struct hd_result run;
    if (!explore_run(x, &plain, false, &run)) return false;
    result->plain_tries++;
    *outcome = run.outcome;
    uint64_t took = run.nanoseconds / 1000000;
    if (took > x->plain_ms) x->plain_ms = took;
    bool failed = hd_outcome_failed(&run.outcome);
    result->plain_failed += failed;
    if (failed) result->plain_outcome = run.outcome;
    bool compared = x->options->output != HD_OUTPUT_ANY && x->options->program.oracle == NULL;
    if (!failed && *first && compared) keep_output(x, &run);
    if (!failed) *first = false;
    hd_result_free(&run);
    return true;
}

void explore_plain_runs(struct explorer *x) {
    struct hd_exploration *result = x->result;
    struct hd_outcome outcome;
    uint32_t wanted = x->options->plain_runs > 0 ? x->options->plain_runs : 1;
    bool first = true;
    /* One that fails may be the bug itself: there are always two. */
    for (uint32_t i = 0; i < wanted && (i < 2 || !explore_is_over(x)); i++) {
        explore_report(x, "plain runs", i, wanted);
        if (!plain_run(x, &outcome, &first)) return;
        result->runs.plain++;
    }
    /* Runs that are alike print different things: that is no sign of anything. */
    if (result->output_differs > 0) forget_output(x);
    result->output_runs = result->output_differs = 0;
}

/* Is one rate higher than another by more than chance: by three standard deviations of the
 * difference that two samples of one rate would have? */
static bool is_more(uint32_t count, uint32_t of, uint32_t than, uint32_t of_that) {
    if (of == 0 || of_that == 0) return false;
    double rate = (double)(count + than) / (of + of_that);
    double deviation = sqrt(rate * (1 - rate) * (1.0 / of + 1.0 / of_that));
    return (double)count / of - (double)than / of_that > 3 * deviation;
}

bool explore_is_natural(struct explorer *x, uint32_t runs, uint32_t reproduced) {
    struct hd_exploration *result = x->result;
    bool first = false;
    if (result->plain_failed == 0) return false;
    double until = explore_until(x, 20);
    uint32_t wanted = runs > LEAST_COMPARED ? runs : LEAST_COMPARED;
    while (result->plain_tries < wanted && hd_seconds_now() < until) {
        struct hd_outcome outcome;
        explore_report(x, "plain runs", result->plain_tries, wanted);
        if (!plain_run(x, &outcome, &first)) break;
        result->runs.repeated++;
    }
    return !is_more(reproduced, runs, result->plain_failed, result->plain_tries);
}
