/* Two variables that belong together, put to the exact engine: see correlated.h. */
#include "base/alloc.h"
#include "predict/atomicity_ask.h"
#include "predict/correlated.h"
#include "predict/poly.h"

#include <stdlib.h>

/* With the branch relaxation, so many quads of a group are asked about again. */
enum { RELAXED = 64 };

/* ---- one question -----------------------------------------------------------------------------
 */

static void ask_about(const struct hd_correlated_quad *quad, struct hd_question *question) {
    hd_question_stop(question, quad->second, false);
    hd_question_order(question, quad->first, quad->inner);
    /* both are executed */
    uint32_t last = hd_quad_last(quad);
    hd_question_order(question, quad->inner ^ quad->other ^ last, last);
}

/* The other thread ends at its last access, or goes on. */
static enum hd_asked ask_strictly(const struct hd_correlated_task *task,
                                  const struct hd_correlated_quad *quad, bool ends,
                                  struct hd_question *question) {
    uint32_t last = hd_quad_last(quad);
    bool free = task->options->reading == HD_CDSR && hd_model_is_read(task->groups->model, last);
    if (ends && !free) return HD_SKIP; /* the same question */
    ask_about(quad, question);
    if (ends) hd_question_stop(question, last, true);
    return HD_ASK;
}

/* Reads that no branch follows need not keep their writes: at the end of the other thread, which is
 * its last access, or the release that lets this thread get to `second`. */
static enum hd_asked ask_relaxed(const struct hd_correlated_task *task,
                                 const struct hd_correlated_quad *quad, bool ends,
                                 struct hd_question *question) {
    uint32_t last = hd_quad_last(quad);
    uint32_t end = ends ? last : hd_leaving(task->groups->model, quad->second, last);
    if (end == HD_NONE) return HD_SKIP;
    ask_about(quad, question);
    hd_question_stop(question, end, true);
    question->query.branches = task->branches->before;
    return HD_ASK;
}

/* ---- a group ----------------------------------------------------------------------------------
 */

static bool is_relaxed(const struct hd_correlated_group *group, uint64_t number) {
    return number >= (uint64_t)group->count * 2;
}

static const struct hd_correlated_quad *quad_at(const struct hd_correlated_groups *groups,
                                                const struct hd_correlated_group *group,
                                                uint64_t number) {
    if (is_relaxed(group, number)) number -= (uint64_t)group->count * 2;
    return &groups->quad.data[group->start + number / 2];
}

static enum hd_asked make_question(const void *context, uint32_t index, uint64_t number,
                                   struct hd_question *question) {
    const struct hd_correlated_task *task = context;
    const struct hd_correlated_group *group = &task->groups->group.data[index];
    if (group->observed) return HD_NO_MORE;
    bool ends = number % 2 == 0;
    if (!is_relaxed(group, number))
        return ask_strictly(task, quad_at(task->groups, group, number), ends, question);
    uint64_t again = group->count < RELAXED ? group->count : RELAXED;
    bool wanted = task->options->relax_branches && task->options->reading == HD_CDSR;
    if (!wanted || number >= (group->count + again) * 2) return HD_NO_MORE;
    return ask_relaxed(task, quad_at(task->groups, group, number), ends, question);
}

static void set_events(struct hd_correlated_decision *decision,
                       const struct hd_correlated_quad *quad) {
    uint32_t last = hd_quad_last(quad);
    decision->event[0] = quad->first;
    decision->event[1] = quad->inner ^ quad->other ^ last;
    decision->event[2] = last;
    decision->event[3] = quad->second;
    decision->events = 4;
    decision->location[0] = quad->location[0];
    decision->location[1] = quad->location[1];
}

/* The witness is the trace up to the second access, which is next. */
static void take_observed(struct hd_correlated_decision *decision,
                          const struct hd_correlated_quad *quad) {
    decision->verdict = HD_FEASIBLE;
    decision->observed = true;
    decision->witness = (struct hd_kept_witness){.next = 1, .runs = 1};
    decision->witness.run = hd_alloc(1, sizeof *decision->witness.run);
    decision->witness.run[0] = (struct hd_span){0, quad->second + 1};
}

static void take_answer(const struct hd_correlated_group *group, struct hd_answer *answer,
                        struct hd_correlated_decision *decision) {
    decision->verdict = answer->verdict;
    if (answer->verdict == HD_INFEASIBLE && group->cut) decision->verdict = HD_UNDECIDED;
    if (answer->verdict == HD_FEASIBLE && is_relaxed(group, answer->number))
        decision->verdict = HD_POSSIBLE;
    decision->witness = answer->witness;
    answer->witness = (struct hd_kept_witness){0};
}

static bool ask_poly(const struct hd_correlated_task *task, struct hd_error *error) {
    const struct hd_correlated_groups *groups = task->groups;
    struct hd_question_source source = {(uint32_t)groups->group.size, task, make_question};
    struct hd_ask_options options = {task->options->reading, task->options->budget,
                                     task->options->jobs, task->options->progress,
                                     task->options->sharing};
    struct hd_answer *answer =
        hd_ask_all(&source, task->base, groups->model, &options, &task->stats->asked, error);
    if (answer == NULL) return false;
    for (uint32_t g = 0; g < groups->group.size; g++) {
        const struct hd_correlated_group *group = &groups->group.data[g];
        struct hd_correlated_decision *decision = &task->decision[g];
        if (group->count == 0) continue; /* nothing that is not serializable */
        const struct hd_correlated_quad *quad = quad_at(groups, group, answer[g].number);
        set_events(decision, quad);
        if (group->observed)
            take_observed(decision, quad);
        else
            take_answer(group, &answer[g], decision);
    }
    hd_answers_free(answer, (uint32_t)groups->group.size);
    return true;
}

const struct hd_correlated_method hd_correlated_poly = {.decide = ask_poly, .needs_engine = true};
