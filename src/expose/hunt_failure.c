/* A failure that was found: had again, made as small as it gets, put into words and into a file. */
#define _GNU_SOURCE
#include "expose/hunt_work.h"

#include "expose/critical.h"
#include "expose/minimise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define MINIMISE_SECONDS 10.0
#define REPEAT_SECONDS 20.0
#define MOST_LINES 12u

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

/* ---- again ---------------------------------------------------------------------------------- */

struct asking {
    struct hunt_work *work;
    const struct hd_outcome *outcome;
    double until;
    struct hd_error error;
    bool broken;
};

static bool fails(void *context, const struct hd_schedule *schedule) {
    struct asking *asking = context;
    struct hunt_work *work = asking->work;
    struct hd_replay_options quick = {.unchecked = true, .no_trace = true};
    struct hd_replay replay;
    hunt_tell(work, "minimising", 0, 0);
    if (!hd_replay(&work->program, schedule, &quick, &replay, &asking->error)) {
        asking->broken = true;
        return false;
    }
    work->hunt->interrupted = replay.run.interrupted;
    work->hunt->asked++;
    bool same = !replay.run.interrupted && replay.verdict == HD_REPLAYED_CONFIRMED &&
                hd_outcome_same(&replay.run.outcome, asking->outcome);
    hd_replay_free(&replay);
    return same;
}

static bool enough(void *context) {
    const struct asking *asking = context;
    return asking->broken || asking->work->hunt->interrupted || hd_seconds_now() > asking->until;
}

static void tell_rate(void *context, const struct hd_replay_rate *rate) {
    struct hunt_work *work = context;
    hunt_tell(work, "reproducing", rate->runs,
              work->options->repeats ? work->options->repeats : 20);
}

static bool repeat(struct hunt_work *work, const struct hd_schedule *schedule,
                   const struct hd_outcome *outcome, uint64_t nanoseconds,
                   struct hd_replay_rate *rate, struct hd_error *error) {
    struct hd_replay_options quick = {.unchecked = true, .no_trace = true};
    uint32_t times = work->options->repeats ? work->options->repeats : 20;
    double each = (double)nanoseconds * 1e-9; /* a hang takes its time */
    if (each * times > REPEAT_SECONDS) times = (uint32_t)(REPEAT_SECONDS / each) + 1;
    if (!hd_replay_times(&work->program, schedule, &quick, times, outcome, tell_rate, work, rate,
                         error))
        return false;
    work->hunt->repeated += rate->runs;
    work->hunt->interrupted = rate->interrupted;
    return true;
}

/* ---- the failing run ------------------------------------------------------------------------ */

struct failing {
    struct hd_model model;
    struct hd_describe *describe;
    uint64_t *count; /* hook calls, by event */
    bool there;
};

static void load_failing(struct failing *failing, const char *path) {
    struct hd_model_options lenient = {.lenient = true};
    struct hd_error ignored;
    memset(failing, 0, sizeof *failing);
    if (path[0] == '\0' || !hd_model_load(path, NULL, &lenient, &failing->model, &ignored)) return;
    failing->describe = hd_describe_open(&failing->model);
    failing->count = hd_schedule_call_counts(&failing->model);
    failing->there = true;
}

static void free_failing(struct failing *failing) {
    if (!failing->there) return;
    free(failing->count);
    hd_describe_close(failing->describe);
    hd_model_free(&failing->model);
    failing->there = false;
}

static uint32_t event_at(const struct hd_model *model, const uint64_t *count, uint32_t thread,
                         uint64_t calls) {
    if (thread >= model->threads || count == NULL) return HD_NONE;
    for (uint32_t i = model->thread_start[thread]; i < model->thread_start[thread + 1]; i++) {
        uint32_t event = model->thread_event[i];
        if (count[event] > calls) break;
        if (count[event] == calls && hd_schedule_is_call(model, event)) return event;
    }
    return HD_NONE;
}

/* Turns that were joined end elsewhere now: each is named after what its last call really was. */
static void name_turns(struct hd_schedule *schedule, const struct failing *failing) {
    uint64_t *made = calloc(failing->model.threads + (size_t)1, sizeof *made);
    for (size_t i = 0; made != NULL && i < schedule->turn.size; i++) {
        struct hd_turn *turn = &schedule->turn.data[i];
        if (turn->thread >= failing->model.threads) continue;
        uint64_t mark = made[turn->thread] + turn->calls;
        made[turn->thread] = mark + turn->beyond;
        uint32_t event = turn->calls > 0
                             ? event_at(&failing->model, failing->count, turn->thread, mark)
                             : HD_NONE;
        char text[1024] = "";
        if (event != HD_NONE)
            hd_schedule_event_text(failing->describe, &failing->model, event, text, sizeof text);
        turn->to = hd_schedule_text(schedule, text);
    }
    free(made);
}

/* ---- the orders ----------------------------------------------------------------------------- */

static struct hd_finding_line line_of(struct hunt_work *work, struct hd_describe *describe,
                                      const struct hd_model *model, uint32_t event,
                                      const char *after) {
    const char *word = hd_kind_text(model->kind[event]);
    if (*word == '\0') word = hd_kind_name(model->kind[event]);
    return (struct hd_finding_line){
        .thread = text_of(work, hd_describe_thread(describe, model->thread[event])),
        .text = hd_finding_text(&work->own, "%s(%s)%s", word,
                                hd_describe_event(describe, event, HD_SHORT), after),
        .site = text_of(work, hd_finding_short_site(hd_describe_site(describe, event)))};
}

struct place {
    uint32_t event; /* of the run that passed */
    uint32_t other; /* of the failing one, HD_NONE if it did not get there */
    uint32_t wait;  /* the wait that `event` begins, HD_NONE if it is none */
};

static int by_event(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    return a->event < b->event ? -1 : a->event > b->event;
}
static int by_other(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    return a->other < b->other ? -1 : a->other > b->other;
}

/* A wait is an event when it is over; what matters is when it began, with the release of its
 * lock. */
static uint32_t begin_of_wait(const struct hd_model *model, uint32_t event, uint32_t *wait) {
    const uint32_t *own = model->thread_event + model->thread_start[model->thread[event]];
    uint32_t position = hd_model_position(model, event);
    uint32_t count =
        model->thread_start[model->thread[event] + 1u] - model->thread_start[model->thread[event]];
    *wait = HD_NONE;
    if (model->kind[event] == HD_EV_WAIT && position > 0 &&
        model->kind[own[position - 1]] == HD_EV_RELEASE) {
        *wait = event;
        return own[position - 1];
    }
    if (model->kind[event] == HD_EV_RELEASE && position + 1 < count &&
        model->kind[own[position + 1]] == HD_EV_WAIT)
        *wait = own[position + 1];
    return event;
}

static void add_place(struct place *place, uint32_t *places, const struct hd_model *model,
                      uint32_t event) {
    if (event == HD_NONE || *places == MOST_LINES) return;
    struct place added = {.other = HD_NONE};
    added.event = begin_of_wait(model, event, &added.wait);
    for (uint32_t i = 0; i < *places; i++)
        if (place[i].event == added.event) return;
    place[(*places)++] = added;
}

static uint32_t shown(const struct place *place) {
    return place->wait != HD_NONE ? place->wait : place->event;
}

/* The events of a prediction; of a deadlock also how the locks came to be held. */
static uint32_t places_of(const struct hunt_target *target, struct place *place) {
    const struct hd_finding *finding = target->finding;
    const struct hd_model *model = &target->run->model;
    uint32_t places = 0;
    for (uint32_t i = 0; i < finding->events; i++)
        add_place(place, &places, model, finding->event[i].event);
    for (uint32_t i = 0; finding->kind == HD_FINDING_DEADLOCK && i < finding->steps; i++) {
        const struct hd_finding_step *step = &finding->step[i];
        if (step->folded == 0 && step->event < model->events &&
            (model->kind[step->event] == HD_EV_ACQUIRE ||
             model->kind[step->event] == HD_EV_READ_ACQUIRE))
            add_place(place, &places, model, step->event);
    }
    return places;
}

/* Good and bad order of a prediction's events. What the failing run did not get to (a lock that
 * never came) is last. */
static void set_orders(struct hunt_work *work, const struct hunt_target *target,
                       const struct failing *failing, struct hd_finding_forced *forced,
                       bool *holds) {
    struct place place[MOST_LINES];
    const struct hunt_run *run = target->run;
    uint32_t places = places_of(target, place);
    uint64_t *count = hd_schedule_call_counts(&run->model);
    forced->good = hd_arena_zalloc(&work->own.arena, places + (size_t)1, sizeof *forced->good);
    forced->bad = hd_arena_zalloc(&work->own.arena, places + (size_t)1, sizeof *forced->bad);
    if (count == NULL || forced->good == NULL || forced->bad == NULL) {
        work->own.out_of_memory = true;
        free(count);
        return;
    }
    for (uint32_t i = 0; failing->there && i < places; i++) {
        uint32_t other = event_at(&failing->model, failing->count,
                                  run->model.thread[place[i].event], count[place[i].event]);
        if (other != HD_NONE && failing->model.kind[other] == run->model.kind[place[i].event])
            place[i].other = other;
    }
    free(count);
    /* The accesses of a triple and of an order are listed as they go wrong. */
    bool listed =
        target->finding->kind == HD_FINDING_ATOMICITY || target->finding->kind == HD_FINDING_ORDER;
    for (uint32_t i = 1; listed && i < places; i++)
        if (place[i].other != HD_NONE &&
            (place[i - 1].other == HD_NONE || place[i - 1].other > place[i].other))
            *holds = false;
    qsort(place, places, sizeof *place, by_event);
    for (uint32_t i = 0; i < places; i++)
        forced->good[forced->goods++] =
            line_of(work, run->describe, &run->model, shown(&place[i]), "");
    qsort(place, places, sizeof *place, by_other);
    bool stuck = target->finding->kind == HD_FINDING_DEADLOCK;
    for (uint32_t i = 0; failing->there && i < places; i++) {
        bool came = place[i].other != HD_NONE;
        if (came && place[i].wait != HD_NONE)
            forced->bad[forced->bads++] =
                line_of(work, run->describe, &run->model, place[i].wait, "");
        else if (came)
            forced->bad[forced->bads++] =
                line_of(work, failing->describe, &failing->model, place[i].other, "");
        else if (stuck)
            forced->bad[forced->bads++] =
                line_of(work, run->describe, &run->model, place[i].event, " waits");
    }
}

/* The same access in a run that passed: thread, kind and place. */
static uint32_t like_in(struct hunt_run *run, const struct failing *failing, uint32_t event) {
    const char *site = hd_describe_site(failing->describe, event);
    uint32_t thread = failing->model.thread[event];
    if (thread >= run->model.threads || *site == '\0') return HD_NONE;
    for (uint32_t i = run->model.thread_start[thread]; i < run->model.thread_start[thread + 1];
         i++) {
        uint32_t other = run->model.thread_event[i];
        if (run->model.kind[other] == failing->model.kind[event] &&
            strcmp(hd_describe_site(run->describe, other), site) == 0)
            return other;
    }
    return HD_NONE;
}

static void set_found_orders(struct hunt_work *work, const struct hd_critical *critical,
                             const struct failing *failing, struct hd_finding_forced *forced) {
    struct place place[3];
    uint32_t places = 0;
    struct hunt_run *run = work->run.size > 0 ? work->run.data[0] : NULL;
    forced->good = hd_arena_zalloc(&work->own.arena, 4, sizeof *forced->good);
    forced->bad = hd_arena_zalloc(&work->own.arena, 4, sizeof *forced->bad);
    if (forced->good == NULL || forced->bad == NULL) {
        work->own.out_of_memory = true;
        return;
    }
    for (uint32_t i = 0; i < critical->events; i++) {
        forced->bad[forced->bads++] =
            line_of(work, failing->describe, &failing->model, critical->event[i], "");
        uint32_t like = run != NULL ? like_in(run, failing, critical->event[i]) : HD_NONE;
        if (like != HD_NONE) add_place(place, &places, &run->model, like);
    }
    qsort(place, places, sizeof *place, by_event);
    for (uint32_t i = 0; i < places; i++)
        forced->good[forced->goods++] =
            line_of(work, run->describe, &run->model, place[i].event, "");
}

static bool same_orders(const struct hd_finding_forced *forced) {
    if (forced->goods != forced->bads) return false;
    for (uint32_t i = 0; i < forced->goods; i++)
        if (strcmp(forced->good[i].thread, forced->bad[i].thread) != 0 ||
            strcmp(forced->good[i].text, forced->bad[i].text) != 0 ||
            strcmp(forced->good[i].site, forced->bad[i].site) != 0)
            return false;
    return true;
}

/* What was aimed at came as it always does; it is something else that makes the difference. */
static void look_for_orders(struct hunt_work *work, const struct failing *failing,
                            struct hd_finding_forced *forced) {
    struct hd_critical critical = {0};
    if (!failing->there || !hd_critical_find(&work->seen, &failing->model, &critical)) return;
    if (critical.events == 0) return;
    forced->goods = forced->bads = 0;
    set_found_orders(work, &critical, failing, forced);
}

/* ---- a finding for a run that failed by itself ----------------------------------------------- */

static const char *found_words(struct hunt_work *work, const struct hd_finding *finding) {
    const struct hd_finding_event *e = finding->event;
    if (finding->events == 3)
        return hd_finding_text(&work->own,
                               "%s %s %s at %s between two accesses of %s, which %s it at %s and "
                               "then %s it at %s. In no run that passed did they come in this "
                               "order.",
                               e[1].thread, e[1].verb, e[1].variable,
                               hd_finding_short_site(e[1].site), e[0].thread, e[0].verb,
                               hd_finding_short_site(e[0].site), e[2].verb,
                               hd_finding_short_site(e[2].site));
    if (finding->events == 2)
        return hd_finding_text(&work->own,
                               "%s %s %s at %s, and then %s %s it at %s. In no run that passed "
                               "did they come in this order.",
                               e[0].thread, e[0].verb, e[0].variable,
                               hd_finding_short_site(e[0].site), e[1].thread, e[1].verb,
                               hd_finding_short_site(e[1].site));
    return "The program fails under this schedule, but does no pair of accesses that it does not "
           "do in runs that pass.";
}

static struct hd_finding *new_finding(struct hunt_work *work) {
    struct hd_findings list = {0};
    struct hd_finding *made = hd_finding_add(&list);
    struct hd_finding *finding = hd_arena_alloc(&work->own.arena, sizeof *finding);
    if (made != NULL && finding != NULL) {
        *finding = *made;
        finding->kind = HD_FINDING_FAILURE;
        finding->verdict = HD_VERDICT_CONFIRMED;
        finding->engine = "run";
        finding->harm = HD_HARM_ITSELF;
    }
    hd_findings_free(&list);
    return made != NULL ? finding : NULL;
}

static struct hd_finding *make_finding(struct hunt_work *work, const struct failing *failing,
                                       struct hd_finding_forced *forced) {
    struct hd_finding *finding = new_finding(work);
    if (finding == NULL) return NULL;
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
        set_found_orders(work, &critical, failing, forced);
    }
    finding->conclusion = found_words(work, finding);
    if (critical.events == 3)
        finding->repair = "lock strategy: one critical section around the "
                          "accesses that belong together";
    if (critical.events == 2) finding->repair = "make the later operation wait for the earlier one";
    struct hd_findings alone = {.list = {.data = finding, .size = 1, .capacity = 1}};
    hd_findings_fingerprint(&alone, &failing->model);
    return finding;
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
    char *command = hd_quote_command(work->program.argv);
    char *quoted = hd_quote_command((char *const[]){(char *)path, NULL});
    const char *text = "";
    if (command != NULL && quoted != NULL)
        text = hd_finding_text(&work->own, "%s %s -- %s", replay, quoted, command);
    free(quoted);
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
    bool good = hd_schedule_save(schedule, path, error);
    forced->reproducer = path;
    forced->command = replay_command(work, path);
    free(command);
    return good;
}

/* Smaller, if that is as reliable. */
static bool reduce(struct hunt_work *work, struct hd_schedule *schedule,
                   const struct hd_outcome *outcome, uint64_t nanoseconds,
                   struct hd_finding_forced *forced, struct hd_replay_rate *rate,
                   struct hd_error *error) {
    struct hd_schedule small;
    forced->switches = forced->switches_before = hd_schedule_switches(schedule);
    if (!hd_schedule_copy(&small, schedule)) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    struct asking asking = {
        .work = work, .outcome = outcome, .until = hd_seconds_now() + MINIMISE_SECONDS};
    struct hd_minimise how = {.fails = fails,
                              .enough = enough,
                              .context = &asking,
                              .most = work->options->most_questions};
    bool good = true;
    if (!hd_minimise(&small, &how)) good = hd_fail(error, HD_ERR_MEMORY, "out of memory");
    if (asking.broken) {
        *error = asking.error;
        good = false;
    }
    if (good && !work->hunt->interrupted)
        good = repeat(work, &small, outcome, nanoseconds, rate, error);
    if (good && !work->hunt->interrupted && rate->reproduced * 20 < rate->runs * 19) {
        struct hd_replay_rate before;
        good = repeat(work, schedule, outcome, nanoseconds, &before, error);
        if (good && before.reproduced * rate->runs > rate->reproduced * before.runs) {
            *rate = before;
            how.switches_after = forced->switches_before;
            hd_schedule_free(&small);
            return true;
        }
    }
    forced->switches = how.switches_after;
    hd_schedule_free(schedule);
    *schedule = small;
    return good;
}

/* Does the small schedule still do what was aimed at? If not, the failure has another cause, and
 * *finding becomes one that is made of what only the failing run does. */
static bool still_holds(struct hunt_work *work, const struct hunt_target *target,
                        const struct failing *failing, struct hd_finding_forced *forced,
                        struct hd_finding **finding) {
    bool holds = true;
    struct hd_finding_forced aimed = *forced;
    set_orders(work, target, failing, &aimed, &holds);
    if (!holds && failing->there) {
        struct hd_finding_forced other = *forced;
        struct hd_finding *made = make_finding(work, failing, &other);
        if (made != NULL && made->events > 0) {
            *forced = other;
            *finding = made;
            return false;
        }
    }
    *forced = aimed;
    if (same_orders(forced)) look_for_orders(work, failing, forced);
    return true;
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

static bool examine(struct hunt_work *work, struct hunt_target *target,
                    struct hd_schedule *schedule, const struct hd_program_run *run,
                    struct hd_finding_forced *forced, struct hd_error *error) {
    struct hd_replay_rate rate = {0};
    if (!reduce(work, schedule, &run->outcome, run->nanoseconds, forced, &rate, error))
        return false;
    if (work->hunt->interrupted) return true;
    forced->failed = true;
    forced->runs = rate.runs;
    forced->reproduced = rate.reproduced;
    /* The failing run itself, once more, to be looked at. */
    struct hd_replay replay;
    struct hd_replay_options unchecked = {.unchecked = true};
    if (!hd_replay(&work->program, schedule, &unchecked, &replay, error)) return false;
    work->hunt->interrupted = replay.run.interrupted;
    bool again = !replay.run.interrupted && hd_outcome_same(&replay.run.outcome, &run->outcome);
    struct failing failing;
    load_failing(&failing, again ? replay.run.trace_path : run->trace_path);
    if (again && failing.there) name_turns(schedule, &failing);
    struct hd_finding *finding = NULL;
    const struct hunt_failure *known = NULL;
    if (target != NULL) {
        finding = target->finding;
        if (!still_holds(work, target, &failing, forced, &finding)) {
            known = known_failure(work, finding, &run->outcome);
        }
    } else if (failing.there) {
        finding = make_finding(work, &failing, forced);
    }
    if (known != NULL) {
        free_failing(&failing);
        hd_replay_free(&replay);
        return fails_as_known(work, target, known, &run->outcome, error);
    }
    bool good = finding != NULL || hd_fail(error, HD_ERR_MEMORY, "out of memory");
    if (good) {
        finding->forced = forced;
        finding->verdict = HD_VERDICT_CONFIRMED;
        good = keep(work, schedule, finding, forced, error);
        struct hunt_failure failure = {.outcome = run->outcome, .finding = finding};
        if (good && !hd_vector_push(&work->failure, failure))
            good = hd_fail(error, HD_ERR_MEMORY, "out of memory");
        work->hunt->failures = (uint32_t)work->failure.size;
        if (good && target != NULL && finding != target->finding)
            good = fails_as_known(work, target, &failure, &run->outcome, error);
    }
    free_failing(&failing);
    hd_replay_free(&replay);
    return good;
}

bool hunt_failure(struct hunt_work *work, struct hunt_target *target,
                  const struct hd_schedule *schedule, const struct hd_program_run *run,
                  struct hd_error *error) {
    struct hd_finding *finding = target != NULL ? target->finding : NULL;
    if (work->hunt->failure_seconds == 0)
        work->hunt->failure_seconds = hd_seconds_now() - work->start;
    const struct hunt_failure *known = known_failure(work, finding, &run->outcome);
    if (known != NULL && target == NULL) return true;
    if (known != NULL) return fails_as_known(work, target, known, &run->outcome, error);
    struct hd_finding_forced *forced = new_forced(work, &run->outcome);
    if (forced == NULL) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    struct hd_schedule own;
    if (schedule != NULL) {
        if (!hd_schedule_copy(&own, schedule))
            return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    } else { /* it went its own way: the run tells which */
        struct failing failing;
        load_failing(&failing, run->trace_path);
        bool good =
            failing.there && hd_schedule_from_run(&own, &failing.model, failing.describe, error);
        if (!failing.there) hd_fail(error, HD_ERR_FORMAT, "the failing run's trace can't be read");
        free_failing(&failing);
        if (!good) return false;
    }
    bool good = examine(work, target, &own, run, forced, error);
    hd_schedule_free(&own);
    return good;
}

bool hunt_control_failure(struct hunt_work *work, const struct hd_outcome *outcome,
                          const char *engine, const char *what, const char *variable, uint32_t runs,
                          uint32_t reproduced, struct hd_finding **made) {
    struct hd_finding *finding = new_finding(work);
    struct hd_finding_forced *forced = new_forced(work, outcome);
    if (finding == NULL || forced == NULL) return false;
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
