/* A failure that was found: had again, made as small as it gets, put into words and into a file. */
#define _GNU_SOURCE
#include "explore/hunt_orders.h"

#include "explore/reduce.h"
#include "finding/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static const char *text_of(struct hunt_work *work, const char *words) {
    return hd_finding_text(&work->own, "%s", words);
}

/* ---- the same failure ----------------------------------------------------------------------- */

static bool share_place(const struct hd_finding *a, const struct hd_finding *b) {
    if (strcmp(a->variable, b->variable) == 0) return true;
    for (uint32_t i = 0; i < a->events; i++)
        for (uint32_t k = 0; k < b->events; k++)
            if (strcmp(a->event[i].site, b->event[k].site) == 0) return true;
    return false;
}

/* The failure that this is too. A run that was not aimed at anything shows nothing new if it fails
 * as another did. */
static const struct hunt_failure *known_failure(const struct hunt_work *work,
                                                const struct hd_finding *finding,
                                                const struct hd_outcome *outcome) {
    for (size_t i = 0; i < work->failure.size; i++) {
        const struct hunt_failure *failure = &work->failure.data[i];
        if (!hd_outcome_same(&failure->outcome, outcome)) continue;
        if (finding == NULL || share_place(finding, failure->finding)) return failure;
    }
    return NULL;
}

/* Whatever a run was aimed at: if it ends as a known failure does, and has the accesses in the
 * order that makes that one fail, it is that one. */
static const struct hunt_failure *failure_within(struct hunt_work *work,
                                                 const struct hunt_failing *failing,
                                                 const struct hd_outcome *outcome) {
    for (size_t i = 0; i < work->failure.size; i++) {
        const struct hunt_failure *failure = &work->failure.data[i];
        if (!hd_outcome_same(&failure->outcome, outcome)) continue;
        /* Output that differs elsewhere is another failure. */
        if (outcome->kind == HD_OUTCOME_OUTPUT &&
            strcmp(failure->outcome.words, outcome->words) != 0)
            continue;
        if (hunt_order_tells(work, &failure->order, failing)) return failure;
    }
    return NULL;
}

/* ---- a finding for a run that failed by itself ----------------------------------------------- */

static const char *found_words(struct hunt_work *work, const struct hd_finding *finding) {
    const struct hd_finding_event *e = finding->event;
    static const char never[] = "In no run that passed did they come in this order.";
    if (finding->events == 3)
        return hd_finding_text(&work->own, "%s. %s", hd_words_between(&work->own, finding), never);
    if (finding->events == 2)
        return hd_finding_text(&work->own, "%s, and then %s %s it%s. %s",
                               hd_words_step(&work->own, &e[0], e[0].variable), e[1].thread,
                               e[1].verb, hd_words_at(&work->own, e[1].site), never);
    return "The program fails under this schedule, but does no pair of accesses that it does not "
           "do in runs that pass.";
}

static struct hd_finding *new_finding(struct hunt_work *work) {
    return hd_finding_keep(&work->own, &(struct hd_finding){.kind = HD_FINDING_FAILURE,
                                                            .verdict = HD_VERDICT_CONFIRMED,
                                                            .engine = "run",
                                                            .harm = HD_HARM_ITSELF});
}

static struct hd_finding *make_finding(struct hunt_work *work, const struct hunt_failing *failing,
                                       struct hd_finding_forced *forced, struct hunt_order *order) {
    struct hd_finding *finding = new_finding(work);
    struct hd_critical critical = {0};
    if (failing->there && !hd_critical_find(&work->seen, &failing->model, &critical)) return NULL;
    if (critical.events > 0) {
        hd_finding_set_events(&work->own, finding, failing->describe, &failing->model,
                              critical.event, critical.events);
        finding->variable =
            text_of(work, hd_describe_location(failing->describe, critical.location, HD_SHORT));
        finding->pattern = critical.pattern;
        finding->threads_involved = 2;
        finding->variables_involved = 1;
        finding->accesses_involved = critical.events;
        hunt_set_found_orders(work, &critical, failing, forced, order);
    }
    finding->conclusion = found_words(work, finding);
    if (critical.events == 3) finding->repair = HD_REPAIR_SECTION;
    if (critical.events == 2) finding->repair = HD_REPAIR_ORDER;
    hd_finding_fingerprint(finding);
    return finding;
}

static bool is_taken(const struct hunt_work *work, const char *fingerprint) {
    for (size_t i = 0; i < work->failure.size; i++)
        if (strcmp(work->failure.data[i].finding->fingerprint, fingerprint) == 0) return true;
    return false;
}

/* Failures that are told by the same accesses, but end in different ways, are not the same. */
static void number_fingerprint(const struct hunt_work *work, struct hd_finding *finding) {
    for (unsigned number = 2; is_taken(work, finding->fingerprint); number++)
        hd_finding_number(finding, number);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static const char *path_of(struct hunt_work *work) {
    const char *path = work->options->reproducer;
    if (path == NULL) return "";
    if (work->failure.size == 0) return path;
    const char *end = strstr(path, ".heddle.json");
    if (end == NULL || strcmp(end, ".heddle.json") != 0) end = path + strlen(path);
    return hd_finding_text(&work->own, "%.*s-%zu%s", (int)(end - path), path,
                           work->failure.size + 1, end);
}

static struct hd_finding_forced *new_forced(struct hunt_work *work,
                                            const struct hd_outcome *outcome) {
    struct hd_finding_forced *forced = hd_arena_zalloc(&work->own.arena, 1, sizeof *forced);
    if (forced == NULL) return NULL;
    forced->outcome = hd_outcome_name(outcome->kind);
    forced->words = text_of(work, outcome->words);
    forced->same_as = forced->reproducer = forced->command = "";
    return forced;
}

/* What a user types to have the failure again. */
static const char *replay_command(struct hunt_work *work, const char *path) {
    const char *replay =
        work->options->replay_command != NULL ? work->options->replay_command : "heddle replay";
    const struct hd_program *program = &work->options->program;
    char *command = hd_quote_command(work->program.argv), status[16];
    char *word[6] = {0}; /* what a run is judged by, and the file */
    unsigned words = 0;
    if (program->good_status != 0) {
        snprintf(status, sizeof status, "%d", program->good_status);
        word[words++] = "--good-status";
        word[words++] = status;
    }
    if (program->oracle != NULL) {
        word[words++] = "--oracle";
        word[words++] = (char *)program->oracle;
    }
    word[words] = (char *)path;
    char *judged = hd_quote_command(word);
    char *input = program->input != NULL
                      ? hd_quote_command((char *const[]){(char *)program->input, NULL})
                      : NULL;
    const char *text = "";
    if (command != NULL && judged != NULL)
        text = hd_finding_text(&work->own, "%s %s -- %s%s%s", replay, judged, command,
                               input != NULL ? " <" : "", input != NULL ? input : "");
    free(input);
    free(judged);
    free(command);
    return text;
}

static bool keep(struct hunt_work *work, struct hd_schedule *schedule,
                 const struct hd_finding *finding, struct hd_finding_forced *forced,
                 struct hd_error *error) {
    const char *path = path_of(work);
    if (*path == '\0') return true;
    char *command = hd_quote_command(work->program.argv);
    schedule->kind = hd_finding_kind_name(finding->kind);
    schedule->variable = hd_schedule_text(schedule, finding->variable);
    schedule->fingerprint = hd_schedule_text(schedule, finding->fingerprint);
    schedule->about = hd_schedule_text(
        schedule, hd_finding_text(&work->own, "%s Then: %s.", finding->conclusion, forced->words));
    if (command != NULL) schedule->command = hd_schedule_text(schedule, command);
    char mark[HD_OUTPUT_MARK];
    if (strcmp(forced->outcome, hd_outcome_name(HD_OUTCOME_OUTPUT)) == 0 && work->reference >= 0 &&
        hd_output_mark(work->reference, true, mark))
        schedule->good_output = hd_schedule_text(schedule, mark);
    bool good = hd_schedule_save(schedule, path, error);
    forced->reproducer = path;
    forced->command = replay_command(work, path);
    free(command);
    return good;
}

static void pass_on(void *context, const struct hd_reduce *how, const char *doing, uint32_t done,
                    uint32_t all) {
    struct hunt_work *work = context;
    work->reducing = how->asked + how->repeated;
    hunt_tell(work, doing, done, all);
    work->reducing = 0;
}

/* Smaller, and how often it fails. */
static bool reduce(struct hunt_work *work, struct hd_schedule *schedule,
                   const struct hd_result *run, struct hd_finding_forced *forced,
                   struct hd_error *error) {
    struct hd_reduce how = {.program = &work->program,
                            .host = work->options->host,
                            .outcome = &run->outcome,
                            .hangs_again_ms = work->hangs_again_ms,
                            .patience_ms = work->patience_ms,
                            .times = work->options->repeats ? work->options->repeats : 20,
                            .most_questions = work->options->most_questions,
                            .told = pass_on,
                            .context = work};
    if (!hd_reduce(schedule, &how, error)) return false;
    work->hunt->asked += how.asked;
    work->hunt->repeated += how.repeated;
    work->hunt->interrupted = how.interrupted;
    forced->switches = how.switches;
    forced->switches_before = how.switches_before;
    forced->runs = how.rate.runs;
    forced->reproduced = how.rate.reproduced;
    return true;
}

/* A table that shows no difference says nothing. */
static void drop_same_orders(struct hd_finding_forced *forced) {
    if (hunt_same_orders(forced)) forced->goods = forced->bads = 0;
}

/* What a failure of a target is about. If the small schedule does not do what was aimed at, or the
 * run that passed does it too, the failure has another cause: a finding that is made of what only
 * the failing run does. NULL when memory is out. */
static struct hd_finding *explain(struct hunt_work *work, const struct hunt_target *target,
                                  const struct hunt_failing *failing,
                                  struct hd_finding_forced *forced, struct hunt_order *order) {
    bool holds = true;
    struct hd_finding_forced aimed = *forced;
    struct hunt_order aimed_order = {0};
    hunt_set_orders(work, target, failing, &aimed, &aimed_order, &holds);
    bool same = hunt_same_orders(&aimed);
    /* Of a race, either order may be the one that passes; what is a bug by itself may have been
     * seen in the run that passed. */
    if (same && hunt_is_listed(target->finding) && target->finding->harm != HD_HARM_ITSELF)
        holds = false;
    if (failing->there && (!holds || same)) {
        struct hd_finding *made = make_finding(work, failing, forced, order);
        if (made == NULL) return NULL;
        drop_same_orders(forced);
        bool elsewhere = made->events > 0 && !share_place(made, target->finding);
        return !holds || elsewhere ? made : target->finding;
    }
    *forced = aimed;
    *order = aimed_order;
    return target->finding;
}

static bool fails_as_known(struct hunt_work *work, struct hunt_target *target,
                           const struct hunt_failure *known, const struct hd_outcome *outcome,
                           struct hd_error *error) {
    struct hd_finding_forced *forced = new_forced(work, outcome);
    if (forced == NULL) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    forced->failed = true;
    forced->same_as = known->finding->fingerprint;
    target->finding->forced = forced;
    target->finding->verdict = HD_VERDICT_CONFIRMED;
    return true;
}

/* A run that took too long, once, hangs no more than any other. */
static void was_slow(struct hunt_target *target) {
    target->failed = false;
    memset(&target->outcome, 0, sizeof target->outcome);
    target->outcome.kind = HD_OUTCOME_PASSED;
}

static bool examine(struct hunt_work *work, struct hunt_target *target,
                    struct hd_schedule *schedule, const struct hd_result *run,
                    struct hd_finding_forced *forced, struct hd_error *error) {
    if (!reduce(work, schedule, run, forced, error)) return false;
    if (work->hunt->interrupted) return true;
    if (forced->reproduced == 0 && run->outcome.kind == HD_OUTCOME_HANG) {
        if (target != NULL) was_slow(target);
        return true;
    }
    forced->failed = true;
    /* The failing run itself, once more, to be looked at. */
    struct hd_result small;
    struct hd_job job = {.program = work->program, .steering = hd_schedule_steering(schedule)};
    job.steering.unchecked = true;
    if (!hd_run(&job, work->options->host, &small, error)) return false;
    work->hunt->interrupted = small.interrupted;
    bool again = !small.interrupted && hd_outcome_same(&small.outcome, &run->outcome);
    struct hunt_failing failing;
    hunt_failing_load(&failing, again ? small.trace_path : run->trace_path);
    if (again && failing.there) hd_schedule_name_turns(schedule, &failing.model, failing.describe);
    struct hd_finding *finding = NULL;
    struct hunt_order order = {0};
    const struct hunt_failure *known = NULL;
    if (target != NULL) {
        finding = explain(work, target, &failing, forced, &order);
        known = failure_within(work, &failing, &run->outcome);
        if (known == NULL && finding != NULL && finding != target->finding)
            known = known_failure(work, finding, &run->outcome);
    } else if (failing.there) {
        finding = make_finding(work, &failing, forced, &order);
    }
    if (known != NULL) {
        hunt_failing_free(&failing);
        hd_result_free(&small);
        return fails_as_known(work, target, known, &run->outcome, error);
    }
    bool good = finding != NULL;
    if (!good) {
        if (failing.there)
            hd_fail(error, HD_ERR_MEMORY, "out of memory");
        else
            hd_fail(error, HD_ERR_FORMAT, "the trace of the failing run can't be read");
    } else {
        finding->forced = forced;
        if (forced->reproduced > 0) finding->verdict = HD_VERDICT_CONFIRMED;
        number_fingerprint(work, finding);
        good = keep(work, schedule, finding, forced, error);
        struct hunt_failure failure = {.outcome = run->outcome, .order = order, .finding = finding};
        if (good && !hd_vector_push(&work->failure, failure))
            good = hd_fail(error, HD_ERR_MEMORY, "out of memory");
        work->hunt->failures = (uint32_t)work->failure.size;
        if (good && target != NULL && finding != target->finding)
            good = fails_as_known(work, target, &failure, &run->outcome, error);
    }
    hunt_failing_free(&failing);
    hd_result_free(&small);
    return good;
}

bool hunt_failure(struct hunt_work *work, struct hunt_target *target,
                  const struct hd_schedule *schedule, const struct hd_result *run,
                  struct hd_error *error) {
    struct hd_finding *finding = target != NULL ? target->finding : NULL;
    double found = hd_seconds_now() - work->start;
    const struct hunt_failure *known = known_failure(work, finding, &run->outcome);
    if (known != NULL && target == NULL) return true;
    if (known != NULL) return fails_as_known(work, target, known, &run->outcome, error);
    struct hd_finding_forced *forced = new_forced(work, &run->outcome);
    if (forced == NULL) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    struct hd_schedule own;
    if (schedule != NULL) {
        hd_schedule_copy(&own, schedule);
    } else { /* it went its own way: the run tells which */
        struct hunt_failing failing;
        hunt_failing_load(&failing, run->trace_path);
        bool good =
            failing.there && hd_schedule_from_run(&own, &failing.model, failing.describe, error);
        if (!failing.there) hd_fail(error, HD_ERR_FORMAT, "the failing run's trace can't be read");
        hunt_failing_free(&failing);
        if (!good) return false;
    }
    bool good = examine(work, target, &own, run, forced, error);
    hd_schedule_free(&own);
    if (work->hunt->failure_seconds == 0 && work->hunt->failures > 0)
        work->hunt->failure_seconds = found;
    return good;
}

bool hunt_control_failure(struct hunt_work *work, const struct hd_outcome *outcome,
                          const char *engine, const char *what, const char *variable, uint32_t runs,
                          uint32_t reproduced, struct hd_finding **made) {
    struct hd_finding *finding = new_finding(work);
    struct hd_finding_forced *forced = new_forced(work, outcome);
    if (forced == NULL) return false;
    if (work->hunt->failure_seconds == 0)
        work->hunt->failure_seconds = hd_seconds_now() - work->start;
    finding->engine = engine;
    finding->variable = text_of(work, variable);
    finding->conclusion = text_of(work, what);
    finding->forced = forced;
    snprintf(finding->fingerprint, sizeof finding->fingerprint, "%016llx",
             (unsigned long long)XXH3_64bits(what, strlen(what)));
    forced->failed = true;
    forced->runs = runs;
    forced->reproduced = reproduced;
    forced->reproducer = path_of(work);
    if (*forced->reproducer != '\0') forced->command = replay_command(work, forced->reproducer);
    struct hunt_failure failure = {.outcome = *outcome, .finding = finding};
    if (!hd_vector_push(&work->failure, failure)) return false;
    work->hunt->failures = (uint32_t)work->failure.size;
    *made = finding;
    return true;
}

bool hunt_no_failure(struct hunt_work *work, struct hunt_target *target) {
    struct hd_finding_forced *forced = new_forced(work, &target->outcome);
    if (forced == NULL) return false;
    target->finding->forced = forced;
    return true;
}
