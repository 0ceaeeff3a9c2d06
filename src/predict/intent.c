/* Signs of intent: see intent.h. */
#include "predict/intent.h"

#include "base/search.h"
#include "facts/calls.h"
#include "facts/history.h"
#include "facts/site.h"
#include "facts/waits.h"

#include <stdio.h>
#include <string.h>

/* Steps between the two accesses that are few, many; and how many are looked at. */
enum { FEW_STEPS = 24, MANY_STEPS = 2000, LOOK_AT = 4096, UPDATE_STEPS = 8 };
/* Weight of an invariant that passing runs broke. */
#define NOT_ATOMIC (-40)

static const struct {
    int weight;
    const char *words;
} sign[] = {
#define X(name, weight, words) {weight, words},
    HD_INTENT_SIGNS(X)
#undef X
};

bool hd_run_passed(const struct hd_model *model) {
    const struct hd_trace_end *end = &model->trace->end;
    return !end->signaled && !end->deadlocked && !(end->exited && end->status != 0);
}

struct hd_intent hd_intent(const struct hd_predict *predict, const struct hd_triples *triples,
                           const struct hd_branches *branches) {
    return (struct hd_intent){.predict = predict,
                              .model = predict->model,
                              .triples = triples,
                              .branches = branches,
                              .passed = hd_run_passed(predict->model)};
}

/* ---- what lies between ------------------------------------------------------------------------
 */

struct between {
    bool waits;     /* for other threads, other than for a lock */
    bool returned;  /* from the call that both accesses are in: there was an event outside it */
    uint64_t steps; /* hook calls */
    bool far;       /* more than were looked at */
};

static struct between look_between(const struct hd_model *model, const struct hd_triple *triple,
                                   bool stacks) {
    struct between result = {0};
    const uint32_t *list = model->thread_event + model->thread_start[model->thread[triple->first]];
    uint32_t from = hd_model_position(model, triple->first);
    uint32_t to = hd_model_position(model, triple->second);
    uint32_t call = 0, depth = 0;
    if (stacks) {
        call = hd_common_call(model, triple->first, triple->second);
        depth = hd_call_depth(model->trace, call);
    }
    if (to - from > LOOK_AT) {
        result.far = true;
        to = from + LOOK_AT;
    }
    for (uint32_t n = from + 1; n < to; n++) {
        result.waits = result.waits || hd_waits_for_others(model, list[n]);
        result.steps += hd_model_calls(model, list[n]);
        if (stacks && !result.returned)
            result.returned = !hd_is_in_call(model, list[n], call, depth);
    }
    if (model->trace->format != HD_FORMAT_BINARY) result.steps = to - from;
    return result;
}

/* The thread's next access to the location; HD_NONE if there is none near. */
static uint32_t next_access(const struct hd_model *model, uint32_t event, uint32_t location) {
    const uint32_t *list = model->location_event + model->location_start[location];
    uint32_t count = model->location_start[location + 1] - model->location_start[location];
    uint32_t i = hd_upper_bound(list, count, event);
    if (count - i > LOOK_AT) count = i + LOOK_AT;
    for (; i < count; i++)
        if (model->thread[list[i]] == model->thread[event]) return list[i];
    return HD_NONE;
}

/* An attempt is a read if it fails, and otherwise an update. */
static bool is_attempt(const struct hd_model *model, uint32_t event) {
    return hd_model_is_atomic(model, event) && (model->flags[event] & HD_ATOMIC_COMPARES) != 0;
}

/* The same place in the source: a compiler may have made two of it, to turn a loop round. */
static bool is_same_access(const struct hd_intent *intent, uint32_t a, uint32_t b) {
    const struct hd_model *model = intent->model;
    if (model->kind[a] != model->kind[b] && !(is_attempt(model, a) && is_attempt(model, b)))
        return false;
    struct hd_describe *describe = intent->predict->describe;
    return model->site[a] == model->site[b] ||
           hd_site_source(describe, model, a) == hd_site_source(describe, model, b);
}

/* Is a write the end of an update, whose read comes shortly before it? What an update leaves
 * behind nobody expects to find again. */
static bool ends_update(const struct hd_model *model, uint32_t event, uint32_t location) {
    if (hd_access_does(model, event) == HD_DOES_UPDATE) return true;
    uint32_t thread = model->thread[event], position = hd_model_position(model, event);
    const uint32_t *list = model->thread_event + model->thread_start[thread];
    for (uint32_t n = position; n-- > 0 && position - n <= UPDATE_STEPS;) {
        const uint32_t *touched;
        uint32_t count = hd_model_locations(model, list[n], &touched);
        for (uint32_t i = 0; i < count; i++)
            if (touched[i] == location) return hd_model_is_read(model, list[n]);
    }
    return false;
}

/* Does the thread wait for others after an access and then come back to it? */
static bool is_wait_condition(const struct hd_intent *intent, const struct hd_triple *triple) {
    const struct hd_model *model = intent->model;
    uint32_t next = next_access(model, triple->second, triple->location);
    if (next == HD_NONE || !is_same_access(intent, triple->second, next)) return false;
    struct hd_triple again = {triple->second, HD_NONE, next, triple->location};
    return look_between(model, &again, false).waits;
}

/* ---- the signs --------------------------------------------------------------------------------
 */

static uint32_t bit(enum hd_intent_sign which) { return 1u << which; }

/* Do both happen in the same function, in two calls of it? Inlined calls count. */
static bool in_two_calls(const struct hd_intent *intent, const struct hd_triple *triple) {
    struct hd_describe *describe = intent->predict->describe;
    const struct hd_frame *a, *b;
    uint32_t frames = hd_describe_stack(describe, triple->first, &a);
    uint32_t others = hd_describe_stack(describe, triple->second, &b);
    if (frames < 2 || others < 2 || strcmp(a[0].function, b[0].function) != 0) return false;
    return frames != others || strcmp(a[1].function, b[1].function) != 0 ||
           a[1].line != b[1].line || a[1].column != b[1].column;
}

/* Are both atomics that the C++ library does on its own account: below one call of the program (a
 * semaphore's acquire), or where no code of the program is known? Two calls of std::atomic are the
 * program's own. */
static bool is_of_library(const struct hd_intent *intent, const struct hd_triple *triple) {
    struct hd_describe *describe = intent->predict->describe;
    const struct hd_frame *a, *b;
    if (!hd_model_is_atomic(intent->model, triple->first) ||
        !hd_model_is_atomic(intent->model, triple->second) ||
        hd_describe_stack(describe, triple->first, &a) == 0 || !hd_frame_is_system(a) ||
        hd_describe_stack(describe, triple->second, &b) == 0 || !hd_frame_is_system(b))
        return false;
    a = hd_describe_frame(describe, triple->first);
    b = hd_describe_frame(describe, triple->second);
    if (hd_frame_is_system(a) && hd_frame_is_system(b)) return a->file != NULL && b->file != NULL;
    return a->file != NULL && b->file != NULL && strcmp(a->file, b->file) == 0 &&
           a->line == b->line && a->column == b->column;
}

/* Where the two accesses stand to each other in the code. */
static uint32_t place_signs(const struct hd_intent *intent, const struct hd_triple *triple,
                            const struct between *between) {
    const struct hd_model *model = intent->model;
    if (is_same_access(intent, triple->first, triple->second)) return bit(HD_SIGN_REPEATED);
    if (!hd_has_calls(model)) return 0;
    if (between->returned) return bit(HD_SIGN_TWO_CALLS);
    if (hd_is_backward(model, triple->first, triple->second)) return bit(HD_SIGN_BACKWARD);
    if (in_two_calls(intent, triple)) return bit(HD_SIGN_EACH_ITS_CALL);
    /* a call that was inlined has no stack of its own, but a name */
    struct hd_describe *describe = intent->predict->describe;
    bool same = hd_model_stack(model, triple->first) == hd_model_stack(model, triple->second) &&
                strcmp(hd_describe_function(describe, triple->first),
                       hd_describe_function(describe, triple->second)) == 0;
    return bit(same ? HD_SIGN_ONE_CALL : HD_SIGN_ONE_CALLER);
}

static bool is_initialised(const struct hd_model *model, const struct hd_triple *triple) {
    return !hd_model_is_atomic(model, triple->first) && hd_model_is_atomic(model, triple->remote) &&
           hd_model_is_atomic(model, triple->second);
}

/* How the second access may depend on the first. */
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
        if (is_initialised(model, triple)) return bit(HD_SIGN_INITIALISED);
        return ends_update(model, triple->first, triple->location) ? 0 : bit(HD_SIGN_READ_BACK);
    case HD_PATTERN_WWW:
        return bit(HD_SIGN_UNSEEN);
    default:
        return 0;
    }
}

static struct hd_run_counts count_runs(const struct hd_intent *intent,
                                       const struct hd_triple *triple) {
    const struct hd_predict_options *options = &intent->predict->options;
    struct hd_describe *describe = intent->predict->describe;
    if (options->passings == 0) return (struct hd_run_counts){0, 0};
    uint64_t site[3] = {hd_site_source(describe, intent->model, triple->first),
                        hd_site_source(describe, intent->model, triple->remote),
                        hd_site_source(describe, intent->model, triple->second)};
    return hd_count_runs(options->passing, options->passings, options->all_patterns, site);
}

/* ---- the verdict ------------------------------------------------------------------------------
 */

/* What speaks for a bug first. */
static void weigh(struct hd_weighing *weighing, uint32_t signs) {
    for (int against = 0; against < 2; against++)
        for (unsigned s = 0; s < HD_SIGN_COUNT; s++)
            if ((signs >> s & 1) != 0 && (sign[s].weight < 0) == against)
                hd_weigh(weighing, sign[s].weight, sign[s].words);
}

static bool forced_between(const struct hd_intent *intent, const struct hd_triple *triple) {
    return hd_clocks_before(intent->triples->clocks, triple->first, triple->remote) &&
           hd_clocks_before(intent->triples->clocks, triple->remote, triple->second);
}

const struct hd_invariant *hd_intent_invariant(const struct hd_intent *intent,
                                               const struct hd_triple *triple) {
    const struct hd_predict *predict = intent->predict;
    if (predict->options.invariants == NULL) return NULL;
    struct hd_arena scratch = {0};
    struct hd_place place =
        hd_place_of_event(predict->describe, predict->model, triple->second, &scratch);
    const struct hd_invariant *found = hd_invariants_find(predict->options.invariants, &place, "");
    hd_arena_free(&scratch);
    return found;
}

/* What many runs taught counts more than how the code looks. */
static void weigh_learned(const struct hd_intent *intent, const struct hd_triple *triple,
                          struct hd_weighing *weighing) {
    const struct hd_invariant *invariant = hd_intent_invariant(intent, triple);
    if (invariant == NULL) return;
    char words[256];
    if (hd_invariant_holds(intent->predict->options.invariants, invariant)) {
        hd_invariant_support(invariant, words, sizeof words);
        int missing = HD_SCORE_MOST - weighing->score;
        hd_weigh(weighing, missing > 0 ? missing : 0, words);
    } else if (invariant->atomic == HD_ATOMIC_NO) {
        hd_weigh(weighing, NOT_ATOMIC, "the file of invariants says that it is not atomic");
    } else {
        snprintf(words, sizeof words,
                 "the second access was parted from the one before it in %u "
                 "of %u passing runs",
                 invariant->violated, invariant->executed);
        hd_weigh(weighing, NOT_ATOMIC, words);
    }
}

struct hd_weighing hd_intent_weigh(const struct hd_intent *intent,
                                   const struct hd_triple_decision *decision) {
    const struct hd_triple *triple = &decision->triple;
    enum hd_pattern pattern = intent->triples->group.data[decision->group].pattern;
    struct between between = look_between(intent->model, triple, hd_has_calls(intent->model));
    struct hd_run_counts counts = count_runs(intent, triple);
    uint32_t signs = place_signs(intent, triple, &between) | pattern_signs(intent, triple, pattern);
    if (between.waits)
        signs |= bit(HD_SIGN_WAITS);
    else if (is_wait_condition(intent, triple))
        signs |= bit(HD_SIGN_WAIT_LOOP);
    if (between.far || between.steps > MANY_STEPS)
        signs |= bit(HD_SIGN_LONG);
    else if (between.steps <= FEW_STEPS)
        signs |= bit(HD_SIGN_SHORT);
    if (is_of_library(intent, triple)) signs |= bit(HD_SIGN_LIBRARY);
    if (decision->observed && !intent->passed) signs |= bit(HD_SIGN_FAILED);
    if (counts.had > 0 && counts.exercised == 0) signs |= bit(HD_SIGN_NEVER);
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
    struct hd_weighing weighing = {.score = HD_INTENT_START, .exercised = exercised != NULL};
    if (exercised != NULL) hd_weigh(&weighing, 0, exercised);
    weigh(&weighing, signs);
    weigh_learned(intent, triple, &weighing);
    return weighing;
}
