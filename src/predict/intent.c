/* Signs of intent: see intent.h. */
#include "predict/intent.h"

#include "predict/intent_runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Steps between the two accesses that are few, many; and how many are looked at. */
enum { FEW_STEPS = 24, MANY_STEPS = 2000, LOOK_AT = 4096 };

struct hd_intent {
    const struct hd_predict *predict;
    const struct hd_model *model;
    const struct hd_triples *triples;
    const struct hd_branches *branches;
    struct hd_other_runs *others; /* NULL: none were given */
    bool passed;                  /* the run did */
};

static const struct {
    int weight;
    const char *words;
} sign[] = {
#define X(name, weight, words) {weight, words},
    HD_INTENT_SIGNS(X)
#undef X
};

/* ---- life -------------------------------------------------------------------------------------
 */

static bool run_passed(const struct hd_trace_end *end) {
    return !end->signaled && !end->deadlocked && !(end->exited && end->status != 0);
}

struct hd_intent *hd_intent_new(const struct hd_predict *predict, const struct hd_triples *triples,
                                const struct hd_branches *branches, struct hd_error *error) {
    const struct hd_predict_options *options = &predict->options;
    struct hd_intent *intent = calloc(1, sizeof *intent);
    if (intent == NULL) {
        hd_fail(error, HD_ERR_MEMORY, "out of memory");
        return NULL;
    }
    intent->predict = predict;
    intent->model = predict->model;
    intent->triples = triples;
    intent->branches = branches;
    intent->passed = run_passed(&predict->model->trace->end);
    if (options->passings == 0) return intent;
    intent->others = hd_other_runs_new(options->passing, options->passing_describe,
                                       options->passings, options->all_patterns, error);
    if (intent->others != NULL) return intent;
    free(intent);
    return NULL;
}

void hd_intent_free(struct hd_intent *intent) {
    if (intent == NULL) return;
    hd_other_runs_free(intent->others);
    free(intent);
}

/* ---- calls ------------------------------------------------------------------------------------
 */

static uint32_t depth_of(const struct hd_trace *trace, uint32_t node) {
    uint32_t depth = 0;
    for (; node != 0; node = trace->stack_parent[node]) depth++;
    return depth;
}

static uint32_t climb(const struct hd_trace *trace, uint32_t node, uint32_t steps) {
    while (steps-- > 0) node = trace->stack_parent[node];
    return node;
}

/* The innermost call that both stacks are in. */
static uint32_t common_call(const struct hd_trace *trace, uint32_t a, uint32_t b) {
    uint32_t depth_a = depth_of(trace, a), depth_b = depth_of(trace, b);
    if (depth_a > depth_b) a = climb(trace, a, depth_a - depth_b);
    if (depth_b > depth_a) b = climb(trace, b, depth_b - depth_a);
    while (a != b) {
        a = trace->stack_parent[a];
        b = trace->stack_parent[b];
    }
    return a;
}

static bool is_within(const struct hd_trace *trace, uint32_t node, uint32_t call, uint32_t depth) {
    uint32_t own = depth_of(trace, node);
    return own >= depth && climb(trace, node, own - depth) == call;
}

/* ---- what lies between ------------------------------------------------------------------------
 */

struct between {
    bool waits;     /* for other threads, other than for a lock */
    bool returned;  /* from the call that both accesses are in: there was an event outside it */
    uint64_t steps; /* hook calls */
    bool far;       /* more than were looked at */
};

static bool is_wait(const struct hd_model *model, uint32_t event) {
    switch (model->kind[event]) {
    case HD_EV_WAIT:
    case HD_EV_WAIT_TIMEOUT:
    case HD_EV_BARRIER_LEAVE:
    case HD_EV_SEM_WAIT:
    case HD_EV_JOIN:
        return true;
    default:
        return false;
    }
}

static struct between look_between(const struct hd_model *model, const struct hd_triple *triple,
                                   bool stacks) {
    struct between result = {0};
    const uint32_t *list = model->thread_event + model->thread_start[model->thread[triple->first]];
    uint32_t from = hd_model_position(model, triple->first);
    uint32_t to = hd_model_position(model, triple->second);
    uint32_t call = 0, depth = 0;
    if (stacks) {
        call = common_call(model->trace, hd_model_stack(model, triple->first),
                           hd_model_stack(model, triple->second));
        depth = depth_of(model->trace, call);
    }
    if (to - from > LOOK_AT) {
        result.far = true;
        to = from + LOOK_AT;
    }
    for (uint32_t n = from + 1; n < to; n++) {
        result.waits = result.waits || is_wait(model, list[n]);
        result.steps += hd_model_calls(model, list[n]);
        if (stacks && !result.returned)
            result.returned = !is_within(model->trace, hd_model_stack(model, list[n]), call, depth);
    }
    if (model->trace->format != HD_FORMAT_BINARY) result.steps = to - from;
    return result;
}

/* ---- the signs --------------------------------------------------------------------------------
 */

static uint32_t bit(enum hd_intent_sign which) { return 1u << which; }

static bool has_stacks(const struct hd_model *model) {
    return model->trace->format == HD_FORMAT_BINARY && model->trace->stack_parent != NULL &&
           model->stack != NULL;
}

/* Where the two accesses stand to each other in the code. */
static uint32_t place_signs(const struct hd_intent *intent, const struct hd_triple *triple,
                            const struct between *between) {
    const struct hd_model *model = intent->model;
    uint32_t site_i = model->site[triple->first], site_k = model->site[triple->second];
    if (site_i == site_k && model->kind[triple->first] == model->kind[triple->second])
        return bit(HD_SIGN_REPEATED);
    if (!has_stacks(model)) return 0;
    uint32_t a = hd_model_stack(model, triple->first), b = hd_model_stack(model, triple->second);
    if (between->returned) return bit(HD_SIGN_TWO_CALLS);
    if (a != b) return bit(HD_SIGN_ONE_CALLER);
    return bit(HD_SIGN_ONE_CALL) | (site_k < site_i ? bit(HD_SIGN_BACKWARD) : 0);
}

static uint32_t pattern_signs(const struct hd_intent *intent, const struct hd_triple *triple,
                              enum hd_pattern pattern) {
    const struct hd_model *model = intent->model;
    bool branch = !intent->branches->known ||
                  hd_branch_between(intent->branches, triple->first, triple->second);
    if (hd_access_does(model, triple->first) == HD_DOES_UPDATE &&
        hd_access_does(model, triple->second) == HD_DOES_UPDATE)
        return bit(HD_SIGN_ONLY_UPDATES);
    switch (pattern) {
    case HD_PATTERN_RWW:
        return bit(HD_SIGN_UPDATE);
    case HD_PATTERN_RWR:
        return branch ? bit(HD_SIGN_CHECKED) : 0;
    case HD_PATTERN_WWR:
        return bit(HD_SIGN_READ_BACK);
    case HD_PATTERN_WWW:
        return bit(HD_SIGN_UNSEEN);
    default:
        return 0;
    }
}

static struct hd_run_counts count_runs(const struct hd_intent *intent,
                                       const struct hd_triple *triple) {
    if (intent->others == NULL) return (struct hd_run_counts){0, 0};
    struct hd_describe *describe = intent->predict->describe;
    uint64_t site[3] = {hd_site_identity(describe, intent->model, triple->first),
                        hd_site_identity(describe, intent->model, triple->remote),
                        hd_site_identity(describe, intent->model, triple->second)};
    return hd_other_runs_count(intent->others, site);
}

/* ---- the verdict ------------------------------------------------------------------------------
 */

static void add_words(struct hd_intent_verdict *verdict, const char *words) {
    size_t used = strlen(verdict->words);
    snprintf(verdict->words + used, sizeof verdict->words - used, "%s%s", used > 0 ? "; " : "",
             words);
}

static void weigh(struct hd_intent_verdict *verdict) {
    int score = HD_INTENT_START;
    for (unsigned s = 0; s < HD_SIGN_COUNT; s++)
        if ((verdict->signs >> s & 1) != 0) score += sign[s].weight;
    verdict->score = score < 0 ? 0 : score > 100 ? 100 : (uint32_t)score;
    verdict->harm = verdict->score >= HD_INTENT_LIKELY ? HD_HARM_LIKELY : HD_HARM_UNLIKELY;
    /* what speaks for a bug first */
    for (int against = 0; against < 2; against++)
        for (unsigned s = 0; s < HD_SIGN_COUNT; s++)
            if ((verdict->signs >> s & 1) != 0 && (sign[s].weight < 0) == against)
                add_words(verdict, sign[s].words);
}

static bool forced_between(const struct hd_intent *intent, const struct hd_triple *triple) {
    return hd_clocks_before(intent->triples->clocks, triple->first, triple->remote) &&
           hd_clocks_before(intent->triples->clocks, triple->remote, triple->second);
}

bool hd_intent_judge(struct hd_intent *intent, const struct hd_triple_decision *decision,
                     struct hd_intent_verdict *verdict) {
    const struct hd_triple *triple = &decision->triple;
    enum hd_pattern pattern = intent->triples->group.data[decision->group].pattern;
    struct between between = look_between(intent->model, triple, has_stacks(intent->model));
    struct hd_run_counts counts = count_runs(intent, triple);
    *verdict = (struct hd_intent_verdict){0};
    verdict->signs = place_signs(intent, triple, &between) | pattern_signs(intent, triple, pattern);
    if (between.waits) verdict->signs |= bit(HD_SIGN_WAITS);
    if (between.far || between.steps > MANY_STEPS)
        verdict->signs |= bit(HD_SIGN_LONG);
    else if (between.steps <= FEW_STEPS)
        verdict->signs |= bit(HD_SIGN_SHORT);
    if (decision->observed && !intent->passed) verdict->signs |= bit(HD_SIGN_FAILED);
    if (counts.had > 0 && counts.exercised == 0) verdict->signs |= bit(HD_SIGN_NEVER);
    char words[96];
    const char *exercised = NULL;
    if (decision->observed && forced_between(intent, triple))
        exercised = "forks, joins and signals put it there in every run";
    else if (decision->observed && intent->passed)
        exercised = "this run did it and passed";
    else if (counts.exercised > 0) {
        snprintf(words, sizeof words, "%u of the other runs given did it and passed",
                 counts.exercised);
        exercised = words;
    }
    if (exercised != NULL) add_words(verdict, exercised);
    weigh(verdict);
    if (exercised != NULL) verdict->harm = HD_HARM_EXERCISED;
    return true;
}
