/* Order violations: from candidates to findings. */
#include "predict/order_violations.h"

#include "finding/words.h"

#include <stdlib.h>
#include <string.h>

/* Of one group; what is more is undecided, not infeasible. */
#define MOST_QUESTIONS 40000
/* With the branch relaxation, so many candidates of a group are asked about again. */
#define RELAXED_CANDIDATES 64u

struct search {
    struct hd_predict *predict;
    struct hd_findings *findings;
    struct hd_order_candidates candidates;
    struct hd_answer *answer;
    uint32_t groups; /* of questions: the candidates' own, or with --instances each candidate */
};

/* What a question is about. */
struct asking {
    uint32_t candidate; /* HD_NONE: there is none */
    uint32_t form;
    bool relaxed;
};

/* Each candidate has two numbers, for the ways to ask about it; then come the relaxed ones. */
static struct asking asking_of(const struct search *s, uint32_t group, uint64_t number) {
    uint32_t start = group, count = 1, forms = 2;
    if (!s->predict->options.instances) {
        start = s->candidates.group.data[group].start;
        count = s->candidates.group.data[group].count;
    }
    struct asking asking = {.candidate = HD_NONE};
    if (count > MOST_QUESTIONS / forms) count = MOST_QUESTIONS / forms;
    if (number >= (uint64_t)count * forms) {
        number -= (uint64_t)count * forms;
        forms = HD_ORDER_RELAXED_FORMS;
        if (count > RELAXED_CANDIDATES) count = RELAXED_CANDIDATES;
        if (s->candidates.branches == NULL) count = 0;
        asking.relaxed = true;
    }
    if (number / forms >= count) return asking;
    asking.candidate = start + (uint32_t)(number / forms);
    asking.form = (uint32_t)(number % forms);
    return asking;
}

static const struct hd_order_group *group_of(const struct search *s, uint32_t candidate) {
    return &s->candidates.group.data[s->candidates.list.data[candidate].group];
}

static enum hd_asked make_question(const void *context, uint32_t group, uint64_t number,
                                   struct hd_question *question) {
    const struct search *s = context;
    struct asking asking = asking_of(s, group, number);
    if (asking.candidate == HD_NONE) return HD_NO_MORE;
    const struct hd_order_candidate *candidate = &s->candidates.list.data[asking.candidate];
    enum hd_order_type type = (enum hd_order_type)group_of(s, asking.candidate)->type;
    enum hd_asked asked =
        asking.relaxed
            ? hd_order_ask_relaxed(&s->candidates, candidate, type, asking.form, question)
            : hd_order_ask(&s->candidates, candidate, type, asking.form, question);
    return asked == HD_NO_MORE ? HD_SKIP : asked;
}

/* ---- words -------------------------------------------------------------------------------------
 */

/* `closed`: of a descriptor, not of memory. */
static const char *pattern_of(unsigned type, bool closed) {
    if (closed && type == HD_ORDER_USE_AFTER_FREE) return "use after close";
    if (closed && type == HD_ORDER_DOUBLE_FREE) return "double close";
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
    case HD_ORDER_USE_AFTER_DESTROY:
        return HD_REPAIR_FREE;
    case HD_ORDER_MISSED_SIGNAL:
        return HD_REPAIR_SIGNAL;
    case HD_ORDER_NEVER_RELEASED:
        return HD_REPAIR_RELEASE;
    default:
        return HD_REPAIR_INITIALISATION;
    }
}

static const char *conclusion(struct hd_findings *findings, const struct hd_finding *finding,
                              const struct hd_order_group *group) {
    switch ((enum hd_order_type)group->type) {
    case HD_ORDER_EARLY_READ:
        return hd_words_early_read(findings, finding, group->raw);
    case HD_ORDER_USE_AFTER_FREE:
        return hd_words_use_after_free(findings, finding);
    case HD_ORDER_DOUBLE_FREE:
        return hd_words_double_free(findings, finding);
    case HD_ORDER_USE_AFTER_DESTROY:
        return hd_words_use_after_destroy(findings, finding);
    case HD_ORDER_USE_BEFORE_INIT:
        return hd_words_use_before_init(findings, finding);
    case HD_ORDER_NEVER_RELEASED:
        return hd_words_never_released(findings, finding);
    case HD_ORDER_LATE_INITIALISATION:
        return hd_words_late_initialisation(findings, finding);
    default:
        return hd_words_missed_signal(findings, finding);
    }
}

static void set_words(struct search *s, struct hd_finding *finding,
                      const struct hd_order_group *group) {
    const struct hd_finding_event *one = &finding->event[0], *two = &finding->event[1];
    bool use = group->type == HD_ORDER_USE_AFTER_FREE;
    const char *first = hd_words_step(s->findings, one, finding->variable);
    const char *second = hd_words_step(s->findings, two, use ? two->variable : finding->variable);
    finding->possible = hd_finding_text(s->findings, "%s, then %s", first, second);
    finding->seen = finding->observed ? finding->possible
                                      : hd_finding_text(s->findings, "%s, then %s", second, first);
    finding->conclusion =
        hd_words_relaxed(s->findings, finding, conclusion(s->findings, finding, group));
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
    case HD_ORDER_USE_AFTER_DESTROY:
    case HD_ORDER_USE_BEFORE_INIT:
    case HD_ORDER_NEVER_RELEASED:
        text = hd_describe_event(describe, candidate->location, HD_SHORT);
        break;
    default:
        text = hd_describe_location(describe, candidate->location, HD_SHORT);
        break;
    }
    return hd_finding_text(s->findings, "%s", text);
}

static bool is_shown(const struct hd_predict_options *options, bool found,
                     enum hd_finding_harm harm) {
    return options->all || (found && (harm == HD_HARM_ITSELF || harm == HD_HARM_LIKELY));
}

static bool is_descriptor(const struct hd_model *model, const struct hd_order_candidate *candidate,
                          unsigned type) {
    return (type == HD_ORDER_USE_AFTER_FREE || type == HD_ORDER_DOUBLE_FREE) &&
           candidate->location < model->blocks &&
           hd_trace_is_descriptor(model->trace, model->block[candidate->location].address);
}

static void add_finding(struct search *s, uint32_t at_candidate, const struct hd_answer *answer,
                        enum hd_verdict verdict, const struct hd_weighing *weighing) {
    struct hd_predict *predict = s->predict;
    const struct hd_model *model = predict->model;
    const struct hd_order_candidate *candidate = &s->candidates.list.data[at_candidate];
    const struct hd_order_group *group = group_of(s, at_candidate);
    uint32_t event[2] = {candidate->first, candidate->second};
    struct hd_finding draft = {
        .kind = HD_FINDING_ORDER,
        .verdict = (enum hd_finding_verdict)verdict,
        .engine = hd_method_full_name(predict->options.method, predict->options.reading),
        .instances = predict->options.instances ? 1 : group->count,
        .pattern = pattern_of(group->type, is_descriptor(model, candidate, group->type)),
        .repair = repair_of(group->type),
        .threads_involved = 2,
        .accesses_involved = 2,
        .variables_involved = 1,
        .observed = verdict == HD_FEASIBLE && group->type != HD_ORDER_MISSED_SIGNAL &&
                    candidate->first < candidate->second};
    hd_finding_set_intent(s->findings, &draft, weighing);
    hd_finding_set_events(s->findings, &draft, predict->describe, model, event, 2);
    draft.variable = variable_of(s, candidate, group->type);
    if (group->type == HD_ORDER_NEVER_RELEASED) draft.event[0].variable = draft.variable;
    if (answer->verdict == HD_FEASIBLE) {
        set_words(s, &draft, group);
        hd_finding_set_witness(s->findings, &draft, predict->describe, model, answer->witness.run,
                               answer->witness.runs, answer->witness.next);
    } else
        draft.conclusion = hd_words_no_schedule(s->findings, &draft, "has this order");
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
        struct asking asking = asking_of(s, g, answer->number);
        uint32_t candidate = asking.candidate;
        bool found = verdict == HD_FEASIBLE;
        if (found && asking.relaxed) verdict = HD_POSSIBLE;
        summary->candidates++;
        summary->verdict[verdict]++;
        if (!options->all && !found) continue;
        struct hd_weighing weighing =
            hd_order_weigh(&s->candidates, &s->candidates.list.data[candidate],
                           group_of(s, candidate), s->predict);
        if (!is_shown(options, found, hd_weighing_harm(&weighing)))
            summary->hidden++;
        else
            add_finding(s, candidate, answer, verdict, &weighing);
    }
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

static bool decide(struct search *s, struct hd_error *error) {
    struct hd_predict *predict = s->predict;
    struct hd_predict_stats *stats = &predict->stats;
    double start = hd_seconds_now();
    const struct hd_engine_base *base = hd_engine_base(predict->analysis);
    struct hd_question_source source = {
        .groups = s->groups, .context = s, .question = make_question};
    struct hd_ask_options options = hd_predict_ask_options(predict);
    double prepared = hd_seconds_now();
    s->answer = hd_ask_all(&source, base, predict->model, &options, &stats->asked, error);
    double decided = hd_seconds_now();
    if (s->answer == NULL) return false;
    report(s);
    stats->groups += s->groups;
    stats->prepare_seconds += prepared - start;
    stats->decide_seconds += decided - prepared;
    stats->report_seconds += hd_seconds_now() - decided;
    return true;
}

bool hd_predict_orders(struct hd_predict *predict, struct hd_findings *findings,
                       struct hd_error *error) {
    struct search s = {.predict = predict, .findings = findings};
    double start = hd_seconds_now();
    const struct hd_predict_options *options = &predict->options;
    const uint32_t *branches = options->relax_branches && options->reading == HD_CDSR
                                   ? hd_branches(predict->analysis, options->branches)->before
                                   : NULL;
    hd_order_candidates_build(predict->analysis, options->reading, branches, &s.candidates);
    s.groups =
        (uint32_t)(predict->options.instances ? s.candidates.list.size : s.candidates.group.size);
    predict->stats.candidate_seconds += hd_seconds_now() - start;
    bool done = s.groups == 0 || decide(&s, error);
    hd_answers_free(s.answer, s.groups);
    hd_order_candidates_free(&s.candidates);
    return done;
}
