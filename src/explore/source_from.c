/* The source that forces what an analysis of the source suspects (hunt --from): in each recorded
 * run, the places where the accesses of a suspicion meet become targets. A forced run that fails
 * confirms it, and so does one whose own trace has the accesses in the suspected order. */
#include "explore/explorer.h"

#include "explore/meetings.h"
#include "finding/words.h"

#include <stdio.h>
#include <string.h>

#define MOST_TARGETS 24u /* of a suspicion, over all runs */

/* What is known of a suspicion so far. */
struct suspected {
    unsigned roles;     /* accesses that recorded runs have */
    bool in_one_thread; /* first and second, in two sections */
    uint32_t targets, tried, reached;
    const struct target *failed, *shown; /* the first that did; NULL */
    struct hd_schedule schedule;         /* of the one that was shown */
};

/* ---- targets -------------------------------------------------------------------------------- */

static const char *words_for(struct explorer *x, const struct hd_finding *finding) {
    const struct hd_finding_event *e = finding->event;
    bool view = finding->kind == HD_FINDING_VIEW;
    return hd_finding_text(
        &x->own, "%s in one critical section. Then %s. Then %s in another, %s.",
        hd_words_step(&x->own, &e[0], e[0].variable), hd_words_step(&x->own, &e[1], e[1].variable),
        hd_words_step(&x->own, &e[2], e[2].variable),
        view ? "so what belongs together is half old and half new" : "with a value that is stale");
}

static struct hd_finding *finding_for(struct explorer *x, struct recorded *run,
                                      const struct hd_finding *suspicion,
                                      const struct hd_meeting *meeting) {
    struct hd_finding draft = {.kind = suspicion->kind,
                               .verdict = HD_VERDICT_POSSIBLE,
                               .engine = "lint",
                               .harm = HD_HARM_LIKELY,
                               .threads_involved = 2,
                               .accesses_involved = 3,
                               .witness_next = 1};
    if (!hd_meeting_order(&run->analysis, meeting, &x->own.arena, &draft.witness,
                          &draft.witness_spans))
        return NULL;
    for (uint32_t i = 0; i < draft.witness_spans; i++)
        draft.witness_count += draft.witness[i].count;
    uint32_t event[] = {meeting->first, meeting->between, meeting->second};
    hd_finding_set_events(&x->own, &draft, run->describe, &run->model, event, 3);
    for (uint32_t i = 0; i < 3; i++) draft.event[i].role = HD_FINDING_ROLE_FIRST + i;
    draft.variables_involved = 1 + (strcmp(draft.event[0].variable, draft.event[2].variable) != 0);
    draft.conclusion = words_for(x, &draft);
    struct hd_finding *finding = hd_finding_keep(&x->own, &draft);
    snprintf(finding->fingerprint, sizeof finding->fingerprint, "%s", suspicion->fingerprint);
    return finding;
}

/* The same meeting in every run that takes the same way to it. */
static uint64_t key_of(const struct hd_model *model, uint32_t number,
                       const struct hd_meeting *meeting) {
    uint64_t threads =
        (uint64_t)model->thread[meeting->second] << 32 | model->thread[meeting->between];
    uint64_t positions = (uint64_t)hd_model_position(model, meeting->second) << 32 |
                         hd_model_position(model, meeting->between);
    return hd_mix64(threads) ^ hd_mix64(positions + 1) ^ hd_mix64(number + (uint64_t)3);
}

static void add_targets(struct explorer *x, struct recorded *run, uint32_t number) {
    const struct hd_finding *suspicion = &x->options->suspicions->list.data[number];
    struct suspected *suspected = &x->suspected[number];
    struct hd_meetings meetings;
    hd_meetings_find(&run->analysis, suspicion, &meetings);
    suspected->roles |= meetings.roles;
    suspected->in_one_thread |= meetings.in_one_thread;
    for (size_t i = 0; i < meetings.list.size && suspected->targets < MOST_TARGETS; i++) {
        const struct hd_meeting *meeting = &meetings.list.data[i];
        uint64_t key = key_of(&run->model, number, meeting);
        struct hd_finding *finding = NULL;
        if (!explore_has_target(x, key)) finding = finding_for(x, run, suspicion, meeting);
        if (finding == NULL) continue;
        explore_put_target(x, &(struct target){.run = run,
                                               .finding = finding,
                                               .depth = DEPTH_FREE,
                                               .key = key,
                                               .rank = suspected->targets++,
                                               .by_block = meeting->by_block,
                                               .suspicion = number + 1});
    }
    hd_meetings_free(&meetings);
}

/* ---- the source ----------------------------------------------------------------------------- */

static void begin_from(struct explorer *x) {
    size_t count = x->options->suspicions->list.size;
    x->suspected = hd_zalloc(count + 1, sizeof *x->suspected);
    x->result->findings.summary.candidates = count;
}

/* Each suspicion once before any a second time; one that failed is done. */
static bool next_from(struct explorer *x, struct wanted *wanted) {
    struct target *best = NULL;
    uint32_t due = 0;
    for (size_t i = 0; i < x->target.size; i++) {
        struct target *target = x->target.data[i];
        if (target->tried > 0 || x->suspected[target->suspicion - 1].failed != NULL) continue;
        due++;
        if (best == NULL || target->rank < best->rank) best = target;
    }
    x->all = (uint32_t)x->number + due;
    if (best != NULL) x->suspected[best->suspicion - 1].tried++;
    wanted->target = best;
    return best != NULL;
}

static bool feed_from(struct explorer *x) {
    struct recorded *added;
    bool open = false;
    for (size_t i = 0; i < x->options->suspicions->list.size; i++)
        open |= x->suspected[i].failed == NULL;
    if (!open || !explore_record(x, &added)) return false;
    for (uint32_t i = 0; added != NULL && i < x->options->suspicions->list.size; i++)
        if (x->suspected[i].failed == NULL) add_targets(x, added, i);
    return true;
}

const struct source explore_from = {.begin = begin_from, .next = next_from, .feed = feed_from};

/* ---- what came of a run --------------------------------------------------------------------- */

/* The schedule that was followed, or else the run's own. */
static void keep_schedule(struct suspected *suspected, const struct hd_schedule *schedule,
                          bool followed, const struct failing *run) {
    struct hd_error ignored;
    if (followed)
        hd_schedule_copy(&suspected->schedule, schedule);
    else
        hd_schedule_from_run(&suspected->schedule, &run->model, run->describe, &ignored);
}

/* A run that took another way may have gone past the meeting, or show where else it is. */
bool explore_look_at_suspicion(struct explorer *x, struct target *target,
                               const struct hd_schedule *schedule, const struct hd_result *result) {
    uint32_t number = target->suspicion - 1;
    struct suspected *suspected = &x->suspected[number];
    struct failing run;
    bool failed = hd_outcome_failed(&result->outcome), reached = result->replay.reached;
    suspected->reached += reached;
    explore_failing_load(x, &run, result->trace_path, schedule);
    if (run.there) {
        struct hd_analysis analysis = {.model = &run.model, .describe = run.describe};
        target->shown = hd_meeting_is_shown(&analysis, &x->options->suspicions->list.data[number],
                                            target->by_block);
        hd_analysis_free(&analysis);
        if (target->shown && !failed && suspected->shown == NULL) {
            suspected->shown = target;
            keep_schedule(suspected, schedule, reached, &run);
        }
        explore_failing_free(&run);
    }
    if (failed && (reached || target->shown) && suspected->failed == NULL)
        suspected->failed = target;
    if (!failed && !reached && !target->shown && suspected->shown == NULL) {
        struct recorded *kept = explore_keep_run(x, result);
        if (kept != NULL) add_targets(x, kept, number);
    }
    return target->shown;
}

/* ---- in the end ----------------------------------------------------------------------------- */

/* The target that says most: it failed, or its run has the suspected order. */
static struct target *best_target(const struct explorer *x, uint32_t number) {
    const struct suspected *suspected = &x->suspected[number];
    struct target *best = NULL;
    for (size_t i = 0; i < x->target.size; i++) {
        struct target *target = x->target.data[i];
        if (target == suspected->failed && target->finding->forced != NULL) return target;
        if (target == suspected->shown) best = target;
    }
    return best;
}

static const char *why_not(struct explorer *x, uint32_t number) {
    const struct hd_finding *suspicion = &x->options->suspicions->list.data[number];
    const struct suspected *suspected = &x->suspected[number];
    char where[HD_FINDING_ROLE_COUNT][160];
    for (unsigned role = HD_FINDING_ROLE_FIRST; role < HD_FINDING_ROLE_COUNT; role++) {
        hd_suspicion_where(suspicion, role, where[role], sizeof where[role]);
        if ((suspected->roles >> role & 1u) == 0)
            return hd_finding_text(&x->own, "no recorded run gets to %s", where[role]);
    }
    if (!suspected->in_one_thread)
        return hd_finding_text(&x->own,
                               "in the recorded runs no thread gets from %s to %s, in two "
                               "critical sections",
                               where[HD_FINDING_ROLE_FIRST], where[HD_FINDING_ROLE_SECOND]);
    if (suspected->targets == 0)
        return hd_finding_text(&x->own,
                               "in the recorded runs no other thread gets to %s with the same "
                               "memory, or not while it could come in between",
                               where[HD_FINDING_ROLE_BETWEEN]);
    if (suspected->tried == 0) return "the time or the runs were used up (--time, --runs)";
    if (suspected->reached == 0)
        return hd_finding_text(&x->own, "forced %u time%s, the program took another way each time",
                               suspected->tried, suspected->tried == 1 ? "" : "s");
    return hd_finding_text(
        &x->own, "forced %u time%s: after %s of another thread, %s was not reached any more",
        suspected->tried, suspected->tried == 1 ? "" : "s", where[HD_FINDING_ROLE_BETWEEN],
        where[HD_FINDING_ROLE_SECOND]);
}

/* The suspicion as it was; who gave it keeps its strings. */
static void report_open(struct explorer *x, uint32_t number) {
    struct hd_finding finding = x->options->suspicions->list.data[number];
    finding.verdict = HD_VERDICT_POSSIBLE;
    finding.how = why_not(x, number);
    x->result->findings.summary.verdict[HD_VERDICT_POSSIBLE]++;
    hd_vector_push(&x->result->findings.list, finding);
}

void explore_conclude_suspicions(struct explorer *x) {
    if (x->suspected == NULL) return;
    for (uint32_t i = 0; i < x->options->suspicions->list.size; i++) {
        struct target *best = best_target(x, i);
        if (best == NULL) {
            report_open(x, i);
            continue;
        }
        if (best->finding->forced == NULL) {
            explore_no_failure(x, best);
            best->finding->verdict = HD_VERDICT_CONFIRMED;
            explore_save_shown(x, best, &x->suspected[i].schedule);
        }
        hd_vector_push(&x->result->findings.list, *best->finding);
    }
}

void explore_free_suspicions(struct explorer *x) {
    for (size_t i = 0; x->suspected != NULL && i < x->options->suspicions->list.size; i++)
        hd_schedule_free(&x->suspected[i].schedule);
    free(x->suspected);
}
