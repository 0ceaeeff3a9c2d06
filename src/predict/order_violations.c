/* Order violations: from candidates to findings. */
#include "predict/order_violations.h"

#include <stdlib.h>
#include <string.h>

/* Of one group; what is more is undecided, not infeasible. */
#define MOST_QUESTIONS 40000

struct search {
    struct hd_predict *predict;
    struct hd_findings *findings;
    struct hd_order_candidates candidates;
    struct hd_shown_orders *shown;
    struct hd_answer *answer;
    uint32_t groups; /* of questions: the candidates' own, or with --instances each candidate */
};

/* Each candidate has two numbers, for the ways to ask about it. */
static uint32_t candidate_at(const struct search *s, uint32_t group, uint64_t number) {
    if (s->predict->options.instances) return number < 2 ? group : HD_NONE;
    const struct hd_order_group *each = &s->candidates.group.data[group];
    return number / 2 < each->count && number < MOST_QUESTIONS
               ? each->start + (uint32_t)(number / 2)
               : HD_NONE;
}

static const struct hd_order_group *group_of(const struct search *s, uint32_t candidate) {
    return &s->candidates.group.data[s->candidates.list.data[candidate].group];
}

static enum hd_asked make_question(const void *context, uint32_t group, uint64_t number,
                                   struct hd_question *question) {
    const struct search *s = context;
    uint32_t at = candidate_at(s, group, number);
    if (at == HD_NONE) return HD_NO_MORE;
    enum hd_asked asked =
        hd_order_ask(&s->candidates, &s->candidates.list.data[at],
                     (enum hd_order_type)group_of(s, at)->type, (uint32_t)(number % 2), question);
    return asked == HD_NO_MORE ? HD_SKIP : asked;
}

/* ---- words -------------------------------------------------------------------------------------
 */

static const char *pattern_of(unsigned type) {
    static const char *const pattern[] = {
#define X(name, text) text,
        HD_ORDER_TYPES(X)
#undef X
    };
    return pattern[type];
}

static const char *repair_of(unsigned type) {
    switch (type) {
    case HD_ORDER_USE_AFTER_FREE:
    case HD_ORDER_DOUBLE_FREE:
        return "design change (count the users, the last one frees), code switch (join or wait for "
               "them before the free)";
    case HD_ORDER_MISSED_SIGNAL:
        return "condition check (test in a loop, in the section that waits, what the signal says)";
    default:
        return "code switch (initialise before the other thread is started), condition check (wait "
               "until it is initialised), lock strategy (hold a lock from the start to the "
               "initialisation)";
    }
}

static const char *at(struct hd_findings *findings, const struct hd_finding_event *event) {
    if (*event->site == '\0') return "";
    return hd_finding_text(findings, " at %s", hd_finding_short_site(event->site));
}

/* "T1 reads x at a.c:3" */
static const char *step_words(struct hd_findings *findings, const struct hd_finding_event *event,
                              const char *variable) {
    return hd_finding_text(findings, "%s %s %s%s", event->thread, event->verb, variable,
                           at(findings, event));
}

static void tell(struct search *s, struct hd_finding *finding, const struct hd_order_group *group) {
    struct hd_findings *findings = s->findings;
    const struct hd_finding_event *one = &finding->event[0], *two = &finding->event[1];
    const char *first = step_words(findings, one, finding->variable);
    const char *second = step_words(findings, two, finding->variable);
    if (group->type == HD_ORDER_USE_AFTER_FREE) second = step_words(findings, two, two->variable);
    const char *then = hd_finding_text(findings, "%s, then %s", second, first);
    const char *turned = hd_finding_text(findings, "%s, then %s", first, second);
    finding->seen = finding->observed ? turned : then;
    finding->possible = turned;
    switch ((enum hd_order_type)group->type) {
    case HD_ORDER_EARLY_READ:
        finding->conclusion =
            hd_finding_text(findings, "%s before %s has written it%s: it finds %s.", first,
                            two->thread, at(findings, two),
                            group->raw ? "whatever was in the freshly allocated memory"
                                       : "the value from before the initialisation");
        break;
    case HD_ORDER_USE_AFTER_FREE:
        finding->conclusion = hd_finding_text(
            findings, "%s, and next %s, which is no longer there: a use after free.", first,
            second);
        break;
    case HD_ORDER_DOUBLE_FREE:
        finding->conclusion =
            hd_finding_text(findings, "%s, and next %s once more: a double free.", first, second);
        break;
    case HD_ORDER_LATE_INITIALISATION:
        finding->conclusion =
            hd_finding_text(findings,
                            "%s before %s initialises it%s: the initialisation comes last, and "
                            "what %s wrote is lost.",
                            first, two->thread, at(findings, two), one->thread);
        break;
    default:
        finding->conclusion = hd_finding_text(
            findings,
            "%s before %s begins to wait%s. The signal finds nobody waiting, no other comes, and "
            "%s waits for ever.",
            first, two->thread, at(findings, two), two->thread);
        break;
    }
}

/* ---- findings ----------------------------------------------------------------------------------
 */

static const char *variable_of(struct search *s, const struct hd_order_candidate *candidate,
                               unsigned type) {
    struct hd_describe *describe = s->predict->describe;
    const char *text;
    switch (type) {
    case HD_ORDER_USE_AFTER_FREE:
    case HD_ORDER_DOUBLE_FREE:
        text = hd_describe_event(describe, candidate->first, HD_SHORT);
        break;
    case HD_ORDER_MISSED_SIGNAL:
        text = hd_describe_object(describe, candidate->location, HD_SHORT);
        break;
    default:
        text = hd_describe_location(describe, candidate->location, HD_SHORT);
        break;
    }
    return hd_finding_text(s->findings, "%s", text);
}

static bool is_shown(const struct hd_predict_options *options, enum hd_verdict verdict,
                     enum hd_finding_harm harm) {
    return options->all ||
           (verdict == HD_FEASIBLE && (harm == HD_HARM_ITSELF || harm == HD_HARM_LIKELY));
}

static void add_finding(struct search *s, uint32_t at_candidate, const struct hd_answer *answer,
                        enum hd_verdict verdict, struct hd_order_rank rank) {
    struct hd_predict *predict = s->predict;
    const struct hd_model *model = predict->model;
    const struct hd_order_candidate *candidate = &s->candidates.list.data[at_candidate];
    const struct hd_order_group *group = group_of(s, at_candidate);
    uint32_t event[2] = {candidate->first, candidate->second};
    struct hd_finding draft = {
        .kind = HD_FINDING_ORDER,
        .verdict = (enum hd_finding_verdict)verdict,
        .engine = hd_engine_name(predict->options.method, predict->options.reading),
        .instances = predict->options.instances ? 1 : group->count,
        .pattern = pattern_of(group->type),
        .repair = repair_of(group->type),
        .harm = rank.harm,
        .score = rank.score,
        .ranking = rank.words,
        .threads_involved = 2,
        .accesses_involved = 2,
        .variables_involved = 1,
        .observed = verdict == HD_FEASIBLE && group->type != HD_ORDER_MISSED_SIGNAL &&
                    candidate->first < candidate->second};
    hd_finding_set_events(s->findings, &draft, predict->describe, model, event, 2);
    draft.variable = variable_of(s, candidate, group->type);
    if (verdict == HD_FEASIBLE) {
        tell(s, &draft, group);
        hd_finding_set_witness(s->findings, &draft, predict->describe, model, answer->witness.run,
                               answer->witness.runs, answer->witness.next);
    } else
        draft.conclusion = verdict == HD_UNDECIDED
                               ? "The budget ran out before this was decided."
                               : "No correct reordering of this trace has this order.";
    hd_finding_add(s->findings, &draft);
}

static void report(struct search *s) {
    const struct hd_predict_options *options = &s->predict->options;
    struct hd_finding_summary *summary = &s->findings->summary;
    for (uint32_t g = 0; g < s->groups; g++) {
        const struct hd_answer *answer = &s->answer[g];
        enum hd_verdict verdict = answer->verdict;
        if (verdict == HD_INFEASIBLE && !options->instances &&
            s->candidates.group.data[g].count > MOST_QUESTIONS / 2)
            verdict = HD_UNDECIDED;
        summary->candidates++;
        summary->verdict[verdict]++;
        if (!options->all && verdict != HD_FEASIBLE) continue;
        uint32_t candidate = candidate_at(s, g, answer->number);
        struct hd_order_rank rank =
            hd_order_rank(&s->candidates, &s->candidates.list.data[candidate],
                          group_of(s, candidate), s->predict->describe, s->shown, s->findings);
        if (!is_shown(options, verdict, rank.harm))
            summary->hidden++;
        else
            add_finding(s, candidate, answer, verdict, rank);
    }
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

static bool decide(struct search *s, struct hd_error *error) {
    struct hd_predict *predict = s->predict;
    struct hd_predict_stats *stats = &predict->stats;
    double start = hd_seconds_now();
    struct hd_ground *ground = hd_ground_build(predict->model);
    if (ground == NULL) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    struct hd_question_source source = {
        .groups = s->groups, .context = s, .question = make_question};
    double prepared = hd_seconds_now();
    bool done = hd_ask_all(&source, ground, predict->model, &predict->options,
                           predict->options.reading, &s->answer, stats, error);
    double decided = hd_seconds_now();
    hd_ground_free(ground);
    if (done && predict->options.passings > 0) {
        s->shown = hd_shown_orders_build(&predict->options);
        done = s->shown != NULL || hd_fail(error, HD_ERR_MEMORY, "out of memory");
    }
    if (done) report(s);
    stats->groups += s->groups;
    stats->prepare_seconds += prepared - start;
    stats->decide_seconds += decided - prepared;
    stats->report_seconds += hd_seconds_now() - decided;
    return done;
}

bool hd_predict_orders(struct hd_predict *predict, struct hd_findings *findings,
                       struct hd_error *error) {
    struct search s = {.predict = predict, .findings = findings};
    double start = hd_seconds_now();
    if (!hd_order_candidates_build(predict->model, predict->options.reading, &s.candidates, error))
        return false;
    s.groups =
        (uint32_t)(predict->options.instances ? s.candidates.list.size : s.candidates.group.size);
    predict->stats.candidate_seconds += hd_seconds_now() - start;
    bool done = s.groups == 0 || decide(&s, error);
    hd_answers_free(s.answer, s.groups);
    hd_shown_orders_free(s.shown);
    hd_order_candidates_free(&s.candidates);
    return done;
}
