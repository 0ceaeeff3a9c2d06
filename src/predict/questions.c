/* Asking groups of questions in parallel; every group's answer has a place of its own, so that
 * results do not depend on the number of workers. */
#include "predict/questions.h"

#include "engine/crew.h"

#include <stdlib.h>

bool hd_question_stop(struct hd_question *question, uint32_t event, bool executed) {
    if (!hd_vector_push(&question->stops, ((struct hd_stop){event, executed}))) return false;
    question->query.stop = question->stops.data;
    question->query.stops = (uint32_t)question->stops.size;
    return true;
}

bool hd_question_order(struct hd_question *question, uint32_t before, uint32_t after) {
    if (!hd_vector_push(&question->orders, ((struct hd_precedes){before, after}))) return false;
    question->query.order = question->orders.data;
    question->query.orders = (uint32_t)question->orders.size;
    return true;
}

struct work {
    const struct hd_question_source *source;
    const struct hd_ground *ground;
    const struct hd_model *model;
    struct hd_budget budget;
    enum hd_reading reading;
    struct hd_answer *answer;
    struct hd_predict_stats *stats;
};

struct own {
    struct hd_asker *asker;
    struct hd_question question;
};

static void *begin(void *context) {
    const struct work *work = context;
    struct own *own = calloc(1, sizeof *own);
    if (own == NULL) return NULL;
    own->asker = hd_asker_new(work->ground, work->model, work->reading, work->budget);
    if (own->asker != NULL) return own;
    free(own);
    return NULL;
}

static void end(void *context, void *state) {
    struct work *work = context;
    struct own *own = state;
    hd_asker_stats(own->asker, work->stats);
    hd_asker_free(own->asker);
    hd_vector_free(&own->question.stops);
    hd_vector_free(&own->question.orders);
    free(own);
}

static enum hd_asked next_question(const struct work *work, struct hd_question *question,
                                   uint32_t group, uint64_t number) {
    question->stops.size = question->orders.size = 0;
    question->query = (struct hd_query){.reader = HD_NONE, .writer = HD_NONE};
    return work->source->question(work->source->context, group, number, question);
}

static bool ask_group(void *context, void *state, uint32_t group, struct hd_error *error) {
    struct work *work = context;
    struct own *own = state;
    struct hd_answer *answer = &work->answer[group];
    for (uint64_t number = 0;; number++) {
        enum hd_asked asked = next_question(work, &own->question, group, number);
        if (asked == HD_ASK_FAILED) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
        if (asked == HD_NO_MORE) return true;
        if (asked == HD_SKIP) continue;
        enum hd_verdict verdict;
        if (!hd_asker_ask(own->asker, &own->question.query, &verdict, error)) return false;
        answer->asked++;
        if (answer->verdict == HD_INFEASIBLE) answer->number = number;
        if (verdict == HD_INFEASIBLE) continue;
        answer->verdict = verdict;
        answer->number = number;
        if (verdict != HD_FEASIBLE) continue;
        return hd_witness_keep(hd_asker_witness(own->asker), &answer->witness) ||
               hd_fail(error, HD_ERR_MEMORY, "out of memory");
    }
}

bool hd_ask_all(const struct hd_question_source *source, const struct hd_ground *ground,
                const struct hd_model *model, const struct hd_predict_options *options,
                enum hd_reading reading, struct hd_answer **answers, struct hd_predict_stats *stats,
                struct hd_error *error) {
    *answers = calloc(source->groups + (size_t)1, sizeof **answers);
    if (*answers == NULL) return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    struct work work = {.source = source,
                        .ground = ground,
                        .model = model,
                        .budget = options->budget,
                        .reading = reading,
                        .answer = *answers,
                        .stats = stats};
    struct hd_crew crew = {.items = source->groups,
                           .jobs = options->jobs,
                           .what = "deciding",
                           .progress = options->progress,
                           .context = &work,
                           .begin = begin,
                           .work = ask_group,
                           .end = end};
    unsigned jobs = 0;
    bool done = hd_crew_run(&crew, &jobs, error);
    if (jobs > stats->jobs) stats->jobs = jobs;
    if (done) return true;
    hd_answers_free(*answers, source->groups);
    *answers = NULL;
    return false;
}

void hd_answers_free(struct hd_answer *answers, uint32_t groups) {
    for (uint32_t i = 0; answers != NULL && i < groups; i++)
        hd_kept_witness_free(&answers[i].witness);
    free(answers);
}
