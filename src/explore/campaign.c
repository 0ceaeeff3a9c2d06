/* The campaign driver. See campaign.h. */
#define _GNU_SOURCE
#include "explore/campaign.h"

#include "base/clock.h"
#include "explore/strategy.h"
#include "finding/finding.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENT_US 150000u /* of a suspension in a reproducer */
#define REPEAT_SECONDS 20.0
#define SLOW 4u               /* times what runs take at most may still be slow, not hanging */
#define FIRST_LIMIT_MS 20000u /* of the run that tells how long runs take */

/* ---- one run -------------------------------------------------------------------------------- */

void hd_campaign_tell(struct hd_campaign *c, const char *doing) {
    c->status.doing = doing;
    c->status.runs = c->result->plain + c->result->profiled + c->result->steered;
    c->status.most_runs = c->options->most_runs;
    c->status.seconds = hd_seconds_now() - c->start;
    c->status.best = c->best;
    if (c->options->report != NULL) c->options->report(c->options->report_context, &c->status);
}

static uint64_t spent_ms(const struct hd_campaign *c) {
    return (uint64_t)((hd_seconds_now() - c->start) * 1000);
}

/* What plain runs take, many times over, and what the strategy itself adds. Under serial a deadlock
 * is seen as such, so there is no hurry. A hang that is known is seen again by this time. */
uint64_t hd_campaign_hangs_again_ms(const struct hd_campaign *c, const struct hd_steering *s) {
    if (c->options->program.limit_ms != 0) return c->options->program.limit_ms;
    uint64_t plain = c->longest_plain_ms + 1;
    if (s->scheduler == HD_SCHED_SERIAL) return 3000 + 50 * plain;
    uint64_t added = 0;
    if (s->policy == HD_POLICY_FORCE)
        added = (uint64_t)s->target.size * s->timeouts * s->timeout_us / 1000;
    if (s->policy == HD_POLICY_NOISE) added = (uint64_t)s->most * s->most_us / 1000;
    return 2000 + 30 * plain + 2 * added;
}

static bool steer(struct hd_campaign *c, const struct hd_steering *steering, bool traced,
                  uint64_t limit_ms, struct hd_result *run) {
    struct hd_job job = {.program = c->program, .steering = *steering};
    job.steering.no_trace = !traced;
    job.program.limit_ms = limit_ms;
    if (!hd_run(&job, c->options->host, run, c->error)) {
        c->broken = true;
        return false;
    }
    if (run->interrupted) {
        c->result->interrupted = run->interrupted;
        hd_result_free(run);
        return false;
    }
    return true;
}

uint64_t hd_campaign_limit(const struct hd_campaign *c, const struct hd_steering *s) {
    uint64_t limit = hd_campaign_hangs_again_ms(c, s);
    if (c->options->program.limit_ms != 0) return limit;
    return c->result->plain == 0 ? FIRST_LIMIT_MS : SLOW * limit;
}

bool hd_campaign_steer(struct hd_campaign *c, const struct hd_steering *steering, bool traced,
                       struct hd_result *run) {
    return steer(c, steering, traced, hd_campaign_limit(c, steering), run);
}

static bool is_over(struct hd_campaign *c) {
    const struct hd_campaign_options *o = c->options;
    if (c->broken || c->result->interrupted) return true;
    uint64_t runs = c->result->plain + c->result->profiled + c->result->steered;
    if (o->most_runs != 0 && runs >= o->most_runs) {
        c->result->end = HD_END_RUNS;
        return true;
    }
    if (o->most_ms != 0 && spent_ms(c) >= o->most_ms) {
        c->result->end = HD_END_TIME;
        return true;
    }
    return false;
}

enum hd_step hd_campaign_step(struct hd_campaign *c, const struct hd_steering *steering,
                              bool traced,
                              bool (*look)(struct hd_campaign *, const struct hd_result *),
                              void (*learn)(struct hd_campaign *, const struct hd_steering *,
                                            const struct hd_result *)) {
    if (is_over(c)) return HD_STEP_OVER;
    struct hd_result run;
    if (!hd_campaign_steer(c, steering, traced, &run)) return HD_STEP_OVER;
    if (traced)
        c->result->profiled++;
    else
        c->result->steered++;
    enum hd_step step = HD_STEP_PASSED;
    if (hd_outcome_failed(&run.outcome)) {
        step = HD_STEP_FAILED;
        c->failed = true;
        c->result->outcome = run.outcome;
        memcpy(c->answer, run.answer, sizeof c->answer);
        hd_steering_copy(&c->steering, steering);
    }
    if (learn != NULL) learn(c, steering, &run);
    if (step == HD_STEP_PASSED && look != NULL && !look(c, &run)) step = HD_STEP_OVER;
    hd_result_free(&run);
    hd_campaign_tell(c, traced ? "profiling" : "forcing");
    return step;
}

/* ---- plain runs ----------------------------------------------------------------------------- */

static bool plain_runs(struct hd_campaign *c) {
    struct hd_steering plain = {.strategy = c->options->strategy, .scheduler = HD_SCHED_OFF};
    uint32_t wanted = c->options->plain_runs;
    if (wanted == 0) wanted = 1; /* something has to tell how long a run takes */
    for (uint32_t i = 0; i < wanted; i++) {
        struct hd_result run;
        if (!hd_campaign_steer(c, &plain, false, &run)) return false;
        c->result->plain++;
        c->result->plain_tries++;
        if (run.nanoseconds / 1000000 > c->longest_plain_ms)
            c->longest_plain_ms = run.nanoseconds / 1000000;
        bool failed = hd_outcome_failed(&run.outcome);
        if (failed) {
            c->result->plain_failed++;
            c->result->outcome = run.outcome;
        }
        if (i == 0 && c->options->same_output && !failed) {
            static char path[40];
            c->reference = run;
            c->has_reference = true;
            snprintf(path, sizeof path, "/proc/self/fd/%d", run.output);
            c->program.output_like = path;
        } else {
            hd_result_free(&run);
        }
        hd_campaign_tell(c, "plain runs");
    }
    return true;
}

/* ---- after the failure ---------------------------------------------------------------------- */

static bool fails_again(struct hd_campaign *c, const struct hd_steering *steering) {
    struct hd_result run;
    uint64_t limit = c->result->outcome.kind == HD_OUTCOME_HANG
                         ? hd_campaign_hangs_again_ms(c, steering)
                         : hd_campaign_limit(c, steering);
    if (!steer(c, steering, false, limit, &run)) return false;
    bool same = hd_outcome_same(&run.outcome, &c->result->outcome);
    hd_result_free(&run);
    return same;
}

/* Several targets were forced in the run that failed: which one was it? The last that came about
 * is tried first, alone. */
static bool fewer_targets(struct hd_campaign *c) {
    struct hd_wire_force_answer answer;
    memcpy(&answer, c->answer, sizeof answer);
    size_t count = c->steering.target.size;
    uint32_t candidate[HD_FORCE_MOST], candidates = 0;
    if (answer.last < count) candidate[candidates++] = answer.last;
    for (int state = HD_FORCE_EXERCISED; state >= HD_FORCE_MET; state--)
        for (uint32_t i = 0; i < count && i < HD_FORCE_MOST; i++)
            if (answer.state[i] == state && i != answer.last) candidate[candidates++] = i;
    for (uint32_t k = 0; k < candidates && k < 6; k++) {
        struct hd_steering alone = c->steering;
        memset(&alone.target, 0, sizeof alone.target);
        if (!hd_vector_push(&alone.target, c->steering.target.data[candidate[k]])) return false;
        bool failed = fails_again(c, &alone) || fails_again(c, &alone);
        if (c->broken || c->result->interrupted) {
            hd_vector_free(&alone.target);
            return false;
        }
        if (failed) {
            uint32_t number = c->chosen.data[candidate[k]];
            hd_vector_free(&c->steering.target);
            c->steering = alone;
            c->chosen.size = 0;
            return hd_vector_push(&c->chosen, number);
        }
        hd_vector_free(&alone.target);
    }
    return true;
}

static void reproduce(struct hd_campaign *c) {
    struct hd_campaign_result *result = c->result;
    double until = hd_seconds_now() + REPEAT_SECONDS; /* hangs take their time */
    for (uint32_t i = 0; i < c->options->tries && (i < 2 || hd_seconds_now() < until); i++) {
        bool again = fails_again(c, &c->steering);
        if (c->broken || result->interrupted) return;
        result->tries++;
        result->reproduced += again;
        hd_campaign_tell(c, "reproducing");
    }
}

/* Plain runs failed too: how often, compared with the control? */
static void compare_with_plain(struct hd_campaign *c) {
    struct hd_campaign_result *result = c->result;
    if (c->options->strategy == HD_STRATEGY_STRESS || result->plain_failed == 0) return;
    struct hd_steering plain = {.scheduler = HD_SCHED_OFF};
    while (result->plain_tries < c->options->tries) {
        bool failed = fails_again(c, &plain);
        if (c->broken || result->interrupted) return;
        result->plain_tries++;
        result->plain_failed += failed;
        hd_campaign_tell(c, "plain runs");
    }
}

static bool is_flaky(const struct hd_campaign *c) {
    const struct hd_campaign_result *result = c->result;
    if (result->plain_failed == 0) return false;
    if (c->options->strategy == HD_STRATEGY_STRESS)
        return result->plain_failed == result->plain_tries;
    /* plain_failed / plain_tries >= reproduced / tries */
    return (uint64_t)result->plain_failed * result->tries >=
           (uint64_t)result->reproduced * result->plain_tries;
}

/* ---- words ---------------------------------------------------------------------------------- */

void hd_place_words(const struct hd_places *places, uint32_t number, char *text, size_t room) {
    const struct hd_place *place = hd_place(places, number);
    const char *where = hd_finding_short_site(place->where);
    if (where[0] == '\0')
        snprintf(text, room, "%s+0x%llx", place->module, (unsigned long long)place->offset);
    else if (place->function[0] == '\0')
        snprintf(text, room, "%s", where);
    else
        snprintf(text, room, "%s (%s)", where, place->function);
}

static const char *pattern_verb(const struct hd_interleaving *it, unsigned which) {
    if (which == 1 && it->frees) return "freed";
    const char *letters = hd_pattern_name(it->pattern); /* "R-W-R" */
    return letters[2 * which] == 'R' ? "read" : "written";
}

void hd_interleaving_words(const struct hd_places *places, const struct hd_interleaving *it,
                           char *text, size_t room) {
    char p[128], c[128], r[128];
    hd_place_words(places, it->p, p, sizeof p);
    hd_place_words(places, it->c, c, sizeof c);
    hd_place_words(places, it->r, r, sizeof r);
    if (it->p == 0) {
        snprintf(text, room, "%s: %s, right before it %s by another thread", it->variable, c, r);
        return;
    }
    snprintf(text, room, "%s: %s at %s, %s at %s", it->variable, pattern_verb(it, 0), p,
             pattern_verb(it, 2), c);
    size_t used = strlen(text);
    if (used < room)
        snprintf(text + used, room - used, "; in between %s at %s by another thread",
                 pattern_verb(it, 1), r);
}

/* A traced run of the steering that failed, and what of it no passing run had: of the interleavings
 * that only it has exercised, the one with the smallest gap. Schedules of the serial scheduler
 * repeat themselves, so the run is the same; if it is not, nothing is said. */
static const struct hd_interleaving *only_here(struct hd_campaign *c,
                                               const struct hd_steering *failing) {
    struct hd_result run;
    for (uint32_t i = c->profile.runs; i < 3; i++) { /* what passing runs do */
        struct hd_steering passing = {.scheduler = HD_SCHED_SERIAL,
                                      .policy = i == 0 ? HD_POLICY_ROUND_ROBIN : HD_POLICY_RANDOM,
                                      .seed = c->options->seed + i};
        if (!hd_campaign_steer(c, &passing, true, &run)) return NULL;
        bool good = hd_outcome_failed(&run.outcome) || hd_campaign_add_profile(c, &run);
        hd_result_free(&run);
        if (!good) return NULL;
    }
    size_t before = c->profile.list.size;
    bool *had = calloc(before + 1, sizeof *had);
    if (had == NULL) return NULL;
    for (size_t i = 0; i < before; i++) had[i] = c->profile.list.data[i].exercised;
    const struct hd_interleaving *best = NULL;
    if (hd_campaign_steer(c, failing, true, &run)) {
        bool same = hd_outcome_same(&run.outcome, &c->result->outcome);
        if (same && hd_campaign_add_profile(c, &run))
            for (size_t i = 0; i < c->profile.list.size; i++) {
                const struct hd_interleaving *it = &c->profile.list.data[i];
                if (!it->exercised || (i < before && had[i])) continue;
                if (best == NULL || it->gap < best->gap) best = it;
            }
        hd_result_free(&run);
    }
    free(had);
    return best;
}

static void say_what(struct hd_campaign *c) {
    struct hd_campaign_result *result = c->result;
    const struct hd_interleaving *it = NULL;
    bool looked_for = c->serial.scheduler == HD_SCHED_SERIAL;
    const struct hd_steering *failing = looked_for ? &c->serial : &c->steering;
    if (c->steering.policy == HD_POLICY_FORCE && c->chosen.size > 0)
        it = &c->profile.list.data[c->chosen.data[0]];
    else if (failing->scheduler == HD_SCHED_SERIAL && !c->broken && !result->interrupted)
        it = only_here(c, failing);
    if (it == NULL) {
        const char *how = c->steering.scheduler == HD_SCHED_OFF    ? "plainly, by itself"
                          : c->steering.policy == HD_POLICY_NOISE  ? "with noise at synchronisation"
                          : c->steering.policy == HD_POLICY_PCT    ? "with random priorities"
                          : c->steering.policy == HD_POLICY_POS    ? "with random priorities"
                          : c->steering.policy == HD_POLICY_RANDOM ? "in random turns"
                                                                   : "one thread at a time";
        snprintf(result->what, sizeof result->what,
                 "The program was run %s. The run ended badly: %s.", how, result->outcome.words);
        return;
    }
    result->has_critical = true;
    result->critical = *it;
    memcpy(result->variable, it->variable, sizeof result->variable);
    for (uint32_t i = 0; i < c->count && c->chosen.size > 0; i++)
        if (c->order[i] == c->chosen.data[0]) result->rank = i + 1;
    char p[128], second[128], r[128];
    hd_place_words(&c->profile.places, it->p, p, sizeof p);
    hd_place_words(&c->profile.places, it->c, second, sizeof second);
    hd_place_words(&c->profile.places, it->r, r, sizeof r);
    if (it->p != 0)
        snprintf(result->what, sizeof result->what,
                 "%s is %s at %s and %s at %s, and another thread gets in between: it is %s at %s. "
                 "The run ended badly: %s.",
                 it->variable, pattern_verb(it, 0), p, pattern_verb(it, 2), second,
                 pattern_verb(it, 1), r, result->outcome.words);
    else
        snprintf(result->what, sizeof result->what,
                 "%s is used at %s and, without order, by another thread at %s, which came "
                 "first this time. The run ended badly: %s.",
                 it->variable, second, r, result->outcome.words);
}

static void name_schedule(struct hd_campaign_result *result, const struct hd_schedule *like) {
    struct hd_schedule *schedule = &result->schedule;
    schedule->kind = "failure";
    schedule->variable = hd_schedule_text(schedule, like->variable);
    schedule->about = hd_schedule_text(schedule, like->about);
    schedule->command = hd_schedule_text(schedule, like->command);
    schedule->good_output = hd_schedule_text(schedule, like->good_output);
}

/* What the output should have been, where that is what is wrong with it. */
static const char *good_output(const struct hd_campaign *c, struct hd_arena *arena) {
    char mark[HD_OUTPUT_MARK];
    if (c->result->outcome.kind != HD_OUTCOME_OUTPUT || c->program.output_like == NULL) return "";
    int fd = open(c->program.output_like, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && hd_output_mark(fd, false, mark);
    if (fd >= 0) close(fd);
    return good ? hd_arena_copy(arena, mark, strlen(mark)) : "";
}

static void make_reproducer(struct hd_campaign *c) {
    struct hd_campaign_result *result = c->result;
    struct hd_schedule *to = &result->reproducer;
    char *command = hd_quote_command(c->options->program.argv);
    to->kind = "failure";
    to->variable = hd_schedule_text(to, result->variable);
    to->fingerprint = "";
    to->about = hd_schedule_text(to, result->what);
    to->command = hd_schedule_text(to, command);
    to->outcome = hd_outcome_name(result->outcome.kind);
    to->good_output = good_output(c, &to->arena);
    free(command);
    to->has_control = true;
    to->control = c->steering;
    memset(&c->steering, 0, sizeof c->steering);
    to->places = c->profile.places; /* the profile's numbers mean the same there */
    memset(&c->profile.places, 0, sizeof c->profile.places);
    to->control.places = &to->places;
    if (result->has_schedule) name_schedule(result, to);
}

/* ---- the campaign --------------------------------------------------------------------------- */

static enum hd_step explore(struct hd_campaign *c) {
    const struct hd_strategy_ops *ops = &hd_strategy_ops[c->options->strategy];
    enum hd_step step = ops->prepare != NULL ? ops->prepare(c) : HD_STEP_PASSED;
    for (uint32_t i = 0; step == HD_STEP_PASSED && c->options->list != NULL && i < c->count; i++) {
        const struct hd_interleaving *it = &c->profile.list.data[c->order[i]];
        char words[512];
        hd_interleaving_words(&c->profile.places, it, words, sizeof words);
        c->options->list(c->options->report_context, i + 1, it, words);
    }
    if (step == HD_STEP_PASSED && c->options->list != NULL) {
        c->result->end = HD_END_EXHAUSTED;
        return HD_STEP_OVER;
    }
    while (step == HD_STEP_PASSED) {
        struct hd_steering steering = {.strategy = c->options->strategy,
                                       .seed = c->options->seed + c->number,
                                       .places = &c->profile.places};
        if (is_over(c)) {
            step = HD_STEP_OVER;
        } else if (!ops->next(c, &steering)) {
            c->result->end = HD_END_EXHAUSTED;
            step = HD_STEP_OVER;
        } else {
            step = hd_campaign_step(c, &steering, false, NULL, ops->learn);
            c->number++;
        }
        hd_steering_free(&steering);
    }
    return step;
}

static void count_up(struct hd_campaign *c) {
    struct hd_campaign_result *result = c->result;
    result->counts = hd_profile_counts(&c->profile);
    result->accesses = c->profile.accesses;
    result->candidates = c->count;
    for (uint32_t i = 0; i < c->count; i++) {
        const struct hd_interleaving *it = &c->profile.list.data[c->order[i]];
        result->tried += it->attempts > 0;
        result->forced += it->best == HD_FORCE_EXERCISED;
    }
}

bool hd_campaign_run(const struct hd_campaign_options *options, struct hd_campaign_result *result,
                     struct hd_error *error) {
    memset(result, 0, sizeof *result);
    struct hd_campaign c = {.options = options,
                            .result = result,
                            .error = error,
                            .program = options->program,
                            .start = hd_seconds_now()};
    bool good = plain_runs(&c);
    bool hopeless = good && result->plain_failed > 0 && result->plain_failed == result->plain_tries;
    enum hd_step step = HD_STEP_OVER;
    if (good && !hopeless) step = explore(&c);
    result->runs = result->plain + result->profiled + result->steered;
    result->seconds = hd_seconds_now() - c.start;
    count_up(&c);
    if (hopeless) {
        result->verdict = HD_CAMPAIGN_FLAKY;
    } else if (step == HD_STEP_FAILED) {
        result->end = HD_END_FAILURE;
        if (c.steering.target.size > 1) good = fewer_targets(&c);
        /* Patience costs nothing where the interleaving comes about, and a busy machine needs it.
         */
        if (c.steering.target.size == 1 && c.steering.timeout_us < PATIENT_US)
            c.steering.timeout_us = PATIENT_US;
        reproduce(&c);
        if (!c.broken && !result->interrupted && !options->no_schedule && options->tries > 0)
            hd_campaign_schedule(&c);
        compare_with_plain(&c);
        if (result->has_schedule) result->outcome = c.scheduled; /* a hang may be a deadlock */
        result->verdict = is_flaky(&c) ? HD_CAMPAIGN_FLAKY : HD_CAMPAIGN_EXPOSED;
        say_what(&c);
        if (!c.broken) make_reproducer(&c);
    }
    if (result->interrupted) result->verdict = HD_CAMPAIGN_STOPPED;
    if (c.has_reference) hd_result_free(&c.reference);
    hd_steering_free(&c.steering);
    hd_profile_free(&c.profile);
    hd_vector_free(&c.chosen);
    free(c.order);
    if (!good && !result->interrupted && !c.broken)
        c.broken = !hd_fail(error, HD_ERR_MEMORY, "out of memory");
    if (c.broken) hd_campaign_result_free(result);
    return !c.broken;
}

void hd_campaign_result_free(struct hd_campaign_result *result) {
    if (result->has_schedule) hd_schedule_free(&result->schedule);
    result->has_schedule = false;
    hd_schedule_free(&result->reproducer);
}
