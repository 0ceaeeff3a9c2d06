/* A failure that was found: is it a new one, how often does it come back, what is it about; then
 * the finding for it. */
#define _GNU_SOURCE
#include "explore/critical.h"
#include "explore/explorer.h"
#include "finding/words.h"
#include "predict/deadlock.h"

#include <stdio.h>
#include <string.h>

#define COMPARED_RUNS 3u /* that passed, at least, where the failing run is compared with them */
#define MOST_CAUSES 40u  /* candidates */

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
static const struct failure *known_failure(const struct explorer *x,
                                           const struct hd_finding *finding,
                                           const struct hd_outcome *outcome) {
    for (size_t i = 0; i < x->failure.size; i++) {
        const struct failure *failure = &x->failure.data[i];
        if (!hd_outcome_same(&failure->outcome, outcome)) continue;
        if (finding == NULL || share_place(finding, failure->finding)) return failure;
    }
    return NULL;
}

/* Whatever a run was aimed at: if it ends as a known failure does, and has the accesses in the
 * order that makes that one fail, it is that one. */
static const struct failure *failure_within(struct explorer *x, const struct failing *failing,
                                            const struct hd_outcome *outcome) {
    for (size_t i = 0; i < x->failure.size; i++) {
        const struct failure *failure = &x->failure.data[i];
        if (!hd_outcome_same(&failure->outcome, outcome)) continue;
        /* Output that differs elsewhere is another failure. */
        if (outcome->kind == HD_OUTCOME_OUTPUT &&
            strcmp(failure->outcome.words, outcome->words) != 0)
            continue;
        if (explore_order_tells(x, &failure->order, failing)) return failure;
    }
    return NULL;
}

static struct hd_finding_forced *new_forced(struct explorer *x, const struct hd_outcome *outcome) {
    struct hd_finding_forced *forced = hd_arena_zalloc(&x->own.arena, 1, sizeof *forced);
    forced->outcome = hd_outcome_name(outcome->kind);
    forced->words = explore_text(x, outcome->words);
    forced->same_as = forced->reproducer = forced->command = forced->flipped = "";
    return forced;
}

static void fails_as_known(struct explorer *x, struct target *target, const struct failure *known,
                           const struct hd_outcome *outcome) {
    struct hd_finding_forced *forced = new_forced(x, outcome);
    forced->failed = true;
    forced->same_as = known->finding->fingerprint;
    target->finding->forced = forced;
    target->finding->verdict = HD_VERDICT_CONFIRMED;
    target->finding->harm = HD_HARM_ITSELF;
}

/* The same order may make the program end in more than one way. */
static void tell_other_end(struct explorer *x, const struct failure *known,
                           const struct hd_outcome *outcome) {
    struct hd_finding *finding = known->finding;
    if (strcmp(known->outcome.words, outcome->words) == 0 ||
        strstr(finding->conclusion, outcome->words) != NULL)
        return;
    finding->conclusion = hd_finding_text(&x->own, "%s It ends in another way too: %s.",
                                          finding->conclusion, outcome->words);
}

void explore_no_failure(struct explorer *x, struct target *target) {
    target->finding->forced = new_forced(x, &target->outcome);
}

/* ---- the finding ---------------------------------------------------------------------------- */

/* `only`: no run that passed has them in this order. */
static const char *found_words(struct explorer *x, const struct hd_finding *finding, bool only) {
    const char *never = only ? "In no run that passed did they come in this order."
                             : "Runs that passed had this order too: it is not enough by itself.";
    const struct hd_finding_event *e = finding->event;
    if (finding->events == 3)
        return hd_finding_text(&x->own, "%s. %s", hd_words_between(&x->own, finding), never);
    if (finding->events == 2)
        return hd_finding_text(&x->own, "%s, and then %s %s it%s. %s",
                               hd_words_step(&x->own, &e[0], e[0].variable), e[1].thread, e[1].verb,
                               hd_words_at(&x->own, e[1].site), never);
    return "The program fails under this schedule; heddle could not tell which order of accesses "
           "causes it.";
}

static const char *suspended_words(struct explorer *x, const struct hd_finding *finding) {
    const struct hd_finding_event *e = finding->event;
    if (finding->events == 3)
        return hd_finding_text(&x->own, "%s.", hd_words_between(&x->own, finding));
    return hd_finding_text(&x->own, "%s before %s; no synchronisation prevents this order.",
                           hd_words_step(&x->own, &e[0], e[0].variable),
                           hd_words_step(&x->own, &e[1], e[1].variable));
}

static void set_repair(struct hd_finding *finding) {
    if (finding->events == 3) finding->repair = HD_REPAIR_SECTION;
    if (finding->events == 2) finding->repair = HD_REPAIR_ORDER;
}

static struct hd_finding *new_finding(struct explorer *x) {
    return hd_finding_keep(&x->own, &(struct hd_finding){.kind = HD_FINDING_FAILURE,
                                                         .verdict = HD_VERDICT_POSSIBLE,
                                                         .engine = "run",
                                                         .harm = HD_HARM_ITSELF});
}

/* About accesses of the failing run; NULL: about none. */
static struct hd_finding *finding_about(struct explorer *x, const struct failing *failing,
                                        const struct hd_critical *critical,
                                        struct hd_finding_forced *forced, struct order *order) {
    struct hd_finding *finding = new_finding(x);
    if (critical != NULL) {
        hd_finding_set_events(&x->own, finding, failing->describe, &failing->model, critical->event,
                              critical->events);
        finding->variable = explore_text(
            x, critical->location != HD_NONE
                   ? hd_describe_location(failing->describe, critical->location, HD_SHORT)
                   : hd_describe_event(failing->describe, critical->event[0], HD_SHORT));
        finding->pattern = critical->pattern;
        finding->threads_involved = 2;
        finding->variables_involved = 1;
        finding->accesses_involved = critical->events;
        explore_set_found_orders(x, critical->event, critical->events, failing, forced, order);
    }
    finding->conclusion =
        found_words(x, finding, critical != NULL && explore_order_tells(x, order, failing));
    set_repair(finding);
    hd_finding_fingerprint(finding);
    return finding;
}

/* About what only the failing run does. */
static struct hd_finding *compared_finding(struct explorer *x, const struct failing *failing,
                                           struct hd_finding_forced *forced, struct order *order) {
    struct hd_critical critical;
    bool any = hd_critical_find(&x->history, &failing->model, &critical, 1) > 0;
    return finding_about(x, failing, any ? &critical : NULL, forced, order);
}

static const char *steered_how(const struct hd_steering *steering) {
    if (steering->scheduler == HD_SCHED_OFF) return "without being steered";
    switch (steering->policy) {
    case HD_POLICY_NOISE:
        return "with noise at synchronisation";
    case HD_POLICY_PCT:
    case HD_POLICY_POS:
        return "with random priorities";
    case HD_POLICY_RANDOM:
        return "with random time slices";
    case HD_POLICY_FORCE:
        return "with suspended threads";
    default:
        return "one thread at a time";
    }
}

/* Nothing can be said about its accesses. */
static struct hd_finding *bare_finding(struct explorer *x, const struct hd_steering *steering,
                                       const struct hd_outcome *outcome) {
    struct hd_finding *finding = new_finding(x);
    finding->conclusion =
        hd_finding_text(&x->own, "The program was run %s.",
                        steering != NULL ? steered_how(steering) : "under a schedule");
    const char *name = strrchr(x->program.argv[0], '/');
    finding->place = hd_finding_text(&x->own, "%s: %s",
                                     name != NULL ? name + 1 : x->program.argv[0], outcome->words);
    hd_finding_fingerprint(finding);
    return finding;
}

/* A table that shows no difference says nothing. */
static void drop_same_orders(struct hd_finding_forced *forced) {
    if (explore_same_orders(forced)) forced->goods = forced->bads = 0;
}

/* What a failure of a target is about. If the small schedule does not do what was aimed at, or the
 * run that passed does it too, the failure has another cause: a finding that is made of what only
 * the failing run does. */
static struct hd_finding *explain_target(struct explorer *x, const struct target *target,
                                         const struct failing *failing,
                                         struct hd_finding_forced *forced, struct order *order) {
    bool holds = true;
    struct hd_finding_forced aimed = *forced;
    struct order aimed_order = {0};
    explore_set_orders(x, target, failing, &aimed, &aimed_order, &holds);
    bool same = explore_same_orders(&aimed);
    /* Of a race, either order may be the one that passes; what is a bug by itself may have been
     * seen in the run that passed. */
    if (same && explore_is_listed(target->finding) && target->finding->harm != HD_HARM_ITSELF)
        holds = false;
    if (failing->there && (!holds || same)) {
        struct hd_finding *made = compared_finding(x, failing, forced, order);
        drop_same_orders(forced);
        bool elsewhere = made->events > 0 && !share_place(made, target->finding);
        return !holds || elsewhere ? made : target->finding;
    }
    *forced = aimed;
    *order = aimed_order;
    return target->finding;
}

/* The suspension itself was tried, alone: that is what it is about. */
static struct hd_finding *explain_suspension(struct explorer *x, const struct wanted *wanted,
                                             const struct failing *failing,
                                             struct hd_finding_forced *forced,
                                             struct order *order) {
    struct recorded *from;
    uint32_t candidate = wanted->chosen.data[0];
    struct hd_finding *finding = explore_suspended_finding(x, candidate, &from);
    for (uint32_t i = 0; i < x->count; i++)
        if (x->order[i] == candidate) x->result->rank = i + 1;
    if (finding == NULL) return NULL;
    finding->verdict = HD_VERDICT_POSSIBLE;
    finding->engine = hd_strategy_name(wanted->steering.strategy);
    finding->harm = HD_HARM_ITSELF;
    finding->conclusion = suspended_words(x, finding);
    set_repair(finding);
    hd_finding_fingerprint(finding);
    bool holds = true;
    struct target like = {.run = from, .finding = finding};
    explore_set_orders(x, &like, failing, forced, order, &holds);
    drop_same_orders(forced);
    return finding;
}

static struct hd_finding *explain(struct explorer *x, const struct failed *failed,
                                  const struct wanted *wanted, const struct failing *failing,
                                  const struct hd_outcome *outcome,
                                  struct hd_finding_forced *forced, struct order *order) {
    struct hd_finding *finding = NULL;
    const struct hd_steering *steering = wanted != NULL ? &wanted->steering : NULL;
    if (failed->target != NULL) return explain_target(x, failed->target, failing, forced, order);
    if (wanted != NULL && wanted->chosen.size > 0)
        finding = explain_suspension(x, wanted, failing, forced, order);
    struct hd_finding observed;
    if (finding == NULL && failing->there &&
        hd_deadlock_at_fork_observed(&failing->model, failing->describe, &x->own, &observed)) {
        observed.engine = "run";
        finding = hd_finding_keep(&x->own, &observed);
        hd_finding_fingerprint(finding);
    }
    if (finding == NULL && failing->there) {
        bool before = x->explaining;
        x->explaining = true;
        explore_record_some(x, COMPARED_RUNS);
        x->explaining = before;
        finding = compared_finding(x, failing, forced, order);
    }
    return finding != NULL ? finding : bare_finding(x, steering, outcome);
}

/* ---- the cause ------------------------------------------------------------------------------ */

/* Does what the finding says hold in an experiment? */
static bool is_cause(struct experiments *e, const struct hd_finding *finding,
                     const struct order *order, bool goes_on) {
    const struct failing *failing = e->failing;
    uint32_t *event = hd_alloc(order->accesses, sizeof *event), events = 0;
    for (uint32_t i = 0; i < order->accesses; i++) {
        event[events] = explore_find_access(&order->access[i], &failing->model, failing->describe,
                                            failing->count);
        events += event[events] != HD_NONE;
    }
    bool holds = explore_try_events(e, event, events, goes_on);
    free(event);
    return holds || (finding->kind == HD_FINDING_DEADLOCK && !goes_on && explore_try_locks(e));
}

/* Other pairs and triples: first those that no passing run had, then all; then locks that were
 * tried in vain. */
static bool find_cause(struct experiments *e, struct hd_critical *cause) {
    const struct hd_history none = {0};
    const struct hd_history *history[2] = {&e->x->history, &none};
    struct hd_critical *list = hd_alloc(MOST_CAUSES, sizeof *list);
    bool found = false;
    for (int h = 0; h < 3 && !found; h++) {
        const struct hd_model *model = &e->failing->model;
        uint32_t count = h < 2 ? hd_critical_find(history[h], model, list, MOST_CAUSES)
                               : hd_critical_tries(model, list, MOST_CAUSES);
        for (uint32_t i = 0; i < count && !found; i++) {
            found = explore_try_events(e, list[i].event, list[i].events, false);
            if (found) *cause = list[i];
        }
    }
    free(list);
    return found;
}

/* No single pair does it: the smallest set that was found. */
static bool find_set(struct experiments *e, struct hd_critical *cause) {
    const struct hd_history none = {0};
    struct hd_critical *list = hd_alloc(MOST_CAUSES, sizeof *list);
    uint32_t count = hd_critical_find(&none, &e->failing->model, list, MOST_CAUSES);
    bool found = explore_try_set(e, list, count);
    if (found) *cause = list[0];
    free(list);
    return found;
}

/* What is called the cause has been tried. If it is none, another is looked for; if there is none,
 * the page says so. */
static struct hd_finding *prove(struct experiments *e, const struct failed *failed,
                                struct hd_finding *finding, struct order *order) {
    struct explorer *x = e->x;
    const struct failing *failing = e->failing;
    struct hd_finding_forced *forced = e->forced;
    struct hd_critical cause;
    if (!failing->there || x->options->repeats == 0 || is_cause(e, finding, order, false))
        return finding;
    bool found = find_cause(e, &cause);
    if (!found && is_cause(e, finding, order, true)) return finding;
    if (!found) found = find_set(e, &cause);
    bool aimed = failed->target != NULL && finding == failed->target->finding;
    if (!found && (aimed || forced->flipped_runs == 0)) return finding;
    forced->goods = forced->bads = 0;
    *order = (struct order){0};
    struct hd_finding *made = finding_about(x, failing, found ? &cause : NULL, forced, order);
    drop_same_orders(forced);
    if (aimed && share_place(made, finding)) return finding;
    if (aimed && failed->target->sign != NULL) {
        made->conclusion =
            hd_finding_text(&x->own, "%s %s", made->conclusion, failed->target->sign);
        made->repair = finding->repair;
    }
    return made;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool is_taken(const struct explorer *x, const char *fingerprint) {
    for (size_t i = 0; i < x->failure.size; i++)
        if (strcmp(x->failure.data[i].finding->fingerprint, fingerprint) == 0) return true;
    return false;
}

/* Failures with the same accesses that end in different ways are not the same. */
static void number_fingerprint(const struct explorer *x, struct hd_finding *finding) {
    for (unsigned number = 2; is_taken(x, finding->fingerprint); number++)
        hd_finding_number(finding, number);
}

/* The failing run itself: once more, with a trace, to be looked at. */
static void look(struct explorer *x, const struct failed *failed, struct reproduction *again,
                 struct failing *failing) {
    struct hd_steering steering = hd_schedule_steering(&again->schedule);
    struct hd_result run;
    bool hangs = again->there && again->outcome.kind == HD_OUTCOME_HANG;
    steering.unchecked = true;
    memset(failing, 0, sizeof *failing);
    if (again->there && explore_run(x, &steering, hangs, &run)) {
        x->result->runs.repeated++;
        if (hd_outcome_same(&run.outcome, &again->outcome))
            explore_failing_load(x, failing, run.trace_path, &again->schedule);
        if (failing->there)
            hd_schedule_name_turns(&again->schedule, &failing->model, failing->describe);
        hd_result_free(&run);
    }
    if (!failing->there)
        explore_failing_load(x, failing, failed->run->trace_path, failed->schedule);
}

/* One page a root cause: what fails by the same order is one failure, however it ends. */
static const struct failure *same_cause(const struct explorer *x, uint64_t cause) {
    for (size_t i = 0; cause != 0 && i < x->failure.size; i++)
        if (x->failure.data[i].cause == cause) return &x->failure.data[i];
    return NULL;
}

static void add_failure(struct explorer *x, const struct hd_outcome *outcome,
                        const struct order *order, uint64_t cause, struct hd_finding *finding) {
    struct failure failure = {
        .outcome = *outcome, .order = *order, .cause = cause, .finding = finding};
    hd_vector_push(&x->failure, failure);
    x->result->failures = (uint32_t)x->failure.size;
}

/* A run that took too long, once, hangs no more than any other; one that fails as often by itself
 * says nothing about its schedule. */
static void was_nothing(struct target *target) {
    if (target == NULL) return;
    target->failed = false;
    memset(&target->outcome, 0, sizeof target->outcome);
    target->outcome.kind = HD_OUTCOME_PASSED;
}

/* The finding, once it is known how often the run fails again. If plain runs fail as often, only an
 * experiment can tell that the schedule has to do with it. */
static void conclude(struct explorer *x, const struct failed *failed, const struct wanted *wanted,
                     struct reproduction *again, bool natural, struct hd_finding_forced *forced) {
    const struct hd_outcome *outcome = again->there ? &again->outcome : &failed->run->outcome;
    struct target *target = failed->target;
    struct failing failing;
    struct order order = {0};
    look(x, failed, again, &failing);
    struct hd_finding *finding = explain(x, failed, wanted, &failing, outcome, forced, &order);
    struct experiments experiments = explore_experiments(x, &failing, forced);
    finding = prove(&experiments, failed, finding, &order);
    if (natural && !hd_finding_is_proved(forced)) {
        x->result->flaky = true;
        x->result->flaky_outcome = *outcome;
        was_nothing(target);
        explore_failing_free(&failing);
        return;
    }
    const struct failure *known = failure_within(x, &failing, outcome);
    if (known == NULL && (target == NULL || finding != target->finding))
        known = known_failure(x, finding, outcome);
    if (known == NULL && hd_finding_is_proved(forced)) known = same_cause(x, experiments.cause);
    explore_failing_free(&failing);
    if (known != NULL) {
        tell_other_end(x, known, outcome);
        if (target != NULL) fails_as_known(x, target, known, outcome);
        return;
    }
    finding->forced = forced;
    if (forced->reproduced > 0) {
        finding->verdict = HD_VERDICT_CONFIRMED;
        finding->harm = HD_HARM_ITSELF; /* it was seen, whatever was thought likely before */
    }
    number_fingerprint(x, finding);
    explore_save(x, again, wanted, finding, forced);
    if (x->failure.size == 0) x->result->has_schedule = again->there;
    add_failure(x, outcome, &order, hd_finding_is_proved(forced) ? experiments.cause : 0, finding);
    if (target != NULL && finding != target->finding)
        fails_as_known(x, target, &x->failure.data[x->failure.size - 1], outcome);
}

static const char *control_words(const struct hd_steering *steering) {
    if (steering->scheduler == HD_SCHED_OFF) return "running it again";
    return steering->policy == HD_POLICY_FORCE   ? "the suspensions"
           : steering->policy == HD_POLICY_NOISE ? "the noise"
                                                 : "the seed";
}

/* The schedule that was followed, or the failing run's own. */
static void reproduce_schedule(struct explorer *x, const struct failed *failed,
                               struct reproduction *again) {
    const struct hd_outcome *outcome = &failed->run->outcome;
    memset(again, 0, sizeof *again);
    if (failed->schedule != NULL) {
        explore_reproduce(x, failed->schedule, outcome, again);
        return;
    }
    struct failing failing;
    struct hd_schedule own;
    struct hd_error ignored;
    explore_failing_load(x, &failing, failed->run->trace_path, failed->schedule);
    if (!failing.there) return;
    if (hd_schedule_from_run(&own, &failing.model, failing.describe, &ignored)) {
        explore_reproduce(x, &own, outcome, again);
        hd_schedule_free(&own);
    }
    explore_failing_free(&failing);
}

static void copy_wanted(struct wanted *to, const struct wanted *from) {
    *to = (struct wanted){0};
    hd_steering_copy(&to->steering, &from->steering);
    for (size_t i = 0; i < from->chosen.size; i++)
        hd_vector_push(&to->chosen, from->chosen.data[i]);
}

/* Runs that are not steered fail as often: the failure has nothing to do with the schedule. */
static bool is_flaky(struct explorer *x, const struct hd_finding_forced *forced) {
    bool stress = x->options->plan == HD_PLAN_EXPOSE && x->options->strategy == HD_STRATEGY_STRESS;
    return !stress && explore_is_natural(x, forced->runs, forced->reproduced);
}

static void examine(struct explorer *x, const struct failed *failed, const struct wanted *wanted,
                    struct reproduction *again) {
    struct hd_exploration *result = x->result;
    const struct hd_outcome *outcome = again->there ? &again->outcome : &failed->run->outcome;
    struct hd_finding_forced *forced = new_forced(x, outcome);
    forced->failed = true;
    forced->switches = again->switches;
    forced->switches_before = again->switches_before;
    forced->runs = again->there ? again->runs : wanted != NULL ? result->control_tries : 0;
    forced->reproduced = again->there     ? again->reproduced
                         : wanted != NULL ? result->control_reproduced
                                          : 0;
    if (outcome->kind == HD_OUTCOME_HANG && forced->runs > 0 && forced->reproduced == 0 &&
        x->options->plan == HD_PLAN_HUNT) {
        was_nothing(failed->target);
        return;
    }
    conclude(x, failed, wanted, again, is_flaky(x, forced), forced);
}

void explore_failure(struct explorer *x, const struct failed *failed) {
    struct hd_exploration *result = x->result;
    const struct hd_outcome *outcome = &failed->run->outcome;
    struct hd_finding *aimed = failed->target != NULL ? failed->target->finding : NULL;
    double found = hd_seconds_now() - x->start;
    struct hd_explore_runs until = result->runs;
    const struct failure *known = known_failure(x, aimed, outcome);
    if (known != NULL) {
        if (failed->target != NULL) fails_as_known(x, failed->target, known, outcome);
        return;
    }
    struct reproduction again;
    struct wanted wanted = {0};
    if (failed->wanted != NULL) {
        copy_wanted(&wanted, failed->wanted);
        explore_reproduce_control(x, &wanted, failed->run, &again);
        result->control = control_words(&wanted.steering);
    } else {
        reproduce_schedule(x, failed, &again);
    }
    examine(x, failed, failed->wanted != NULL ? &wanted : NULL, &again);
    if (again.there) hd_schedule_free(&again.schedule);
    hd_steering_free(&wanted.steering);
    hd_vector_free(&wanted.chosen);
    if (result->failure_seconds == 0 && (result->failures > 0 || result->flaky)) {
        result->failure_seconds = found;
        result->until_failure = until;
    }
}
