/* Asking groups of questions in parallel; every group's answer has a place of its own, so that
 * results do not depend on the number of workers. */
#include "engine/questions.h"

#include "base/alloc.h"

#include <stdlib.h>

void hd_question_clear(struct hd_question *question) {
    question->stops.size = question->orders.size = 0;
    question->query = (struct hd_query){.reader = HD_NONE, .writer = HD_NONE};
}

void hd_question_stop(struct hd_question *question, uint32_t event, bool executed) {
    hd_vector_push(&question->stops, ((struct hd_stop){event, executed}));
    question->query.stop = question->stops.data;
    question->query.stops = (uint32_t)question->stops.size;
}

void hd_question_order(struct hd_question *question, uint32_t before, uint32_t after) {
    hd_vector_push(&question->orders, ((struct hd_precedes){before, after}));
    question->query.order = question->orders.data;
    question->query.orders = (uint32_t)question->orders.size;
}

void hd_question_free(struct hd_question *question) {
    hd_vector_free(&question->stops);
    hd_vector_free(&question->orders);
}

struct work {
    const struct hd_question_source *source;
    const struct hd_engine_base *base;
    const struct hd_model *model;
    const struct hd_ask_options *options;
    struct hd_answer *answer;
    struct hd_ask_stats *stats;
};

struct own {
    struct hd_asker *asker;
    struct hd_question question;
};

static void *begin(void *context) {
    const struct work *work = context;
    struct own *own = hd_zalloc(1, sizeof *own);
    own->asker =
        hd_asker_new(work->base, work->model, work->options->reading, work->options->budget);
    return own;
}

static void end(void *context, void *state) {
    struct work *work = context;
    struct own *own = state;
    hd_asker_stats(own->asker, work->stats);
    hd_asker_free(own->asker);
    hd_question_free(&own->question);
    free(own);
}

static bool ask_group(void *context, void *state, uint32_t group, struct hd_error *error) {
    struct work *work = context;
    struct own *own = state;
    struct hd_answer *answer = &work->answer[group];
    for (uint64_t number = 0;; number++) {
        hd_question_clear(&own->question);
        enum hd_asked asked =
            work->source->question(work->source->context, group, number, &own->question);
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
        answer->witness = hd_witness_keep(hd_asker_witness(own->asker));
        return true;
    }
}

static void save(void *context, void *own, uint32_t group, struct hd_packed *to) {
    const struct work *work = context;
    const struct hd_answer *answer = &work->answer[group];
    (void)own;
    hd_pack_number(to, answer->verdict);
    hd_pack_number(to, answer->number);
    hd_pack_number(to, answer->asked);
    hd_kept_witness_save(&answer->witness, to);
}

/* Puts the group's questions together as if they were asked: the kind is then where it was when the
 * answer was found, and the answer is one to a question that it has. */
static bool ask_again(const struct work *work, uint32_t group, const struct hd_answer *answer) {
    struct hd_question question = {.query = {0}};
    bool settled = answer->asked == 0;
    for (uint64_t number = 0;; number++) {
        hd_question_clear(&question);
        enum hd_asked asked =
            work->source->question(work->source->context, group, number, &question);
        if (asked == HD_NO_MORE) break;
        if (asked == HD_SKIP || number != answer->number) continue;
        settled = true;
        if (answer->verdict == HD_FEASIBLE) break;
    }
    hd_question_free(&question);
    return settled;
}

static bool restore(void *context, uint32_t group, struct hd_unpack *from) {
    const struct work *work = context;
    struct hd_answer *answer = &work->answer[group];
    hd_kept_witness_free(&answer->witness);
    answer->verdict = hd_verdict_restore(from);
    answer->number = hd_unpack_number(from);
    answer->asked = hd_unpack_number(from);
    return hd_kept_witness_restore(&answer->witness, work->model, from) &&
           (answer->verdict != HD_FEASIBLE || answer->witness.run != NULL) &&
           ask_again(work, group, answer);
}

struct hd_answer *hd_ask_all(const struct hd_question_source *source,
                             const struct hd_engine_base *base, const struct hd_model *model,
                             const struct hd_ask_options *options, struct hd_ask_stats *stats,
                             struct hd_error *error) {
    struct hd_answer *answers = hd_zalloc(source->groups, sizeof *answers);
    struct work work = {source, base, model, options, answers, stats};
    struct hd_workers workers = {.items = source->groups,
                                 .jobs = options->jobs,
                                 .what = "deciding",
                                 .progress = options->progress,
                                 .context = &work,
                                 .begin = begin,
                                 .work = ask_group,
                                 .end = end,
                                 .sharing = options->sharing,
                                 .save = save,
                                 .restore = restore};
    unsigned jobs = 0;
    bool done = hd_workers_run(&workers, &jobs, error);
    if (jobs > stats->jobs) stats->jobs = jobs;
    if (done) return answers;
    hd_answers_free(answers, source->groups);
    return NULL;
}

void hd_answers_free(struct hd_answer *answers, uint32_t groups) {
    for (uint32_t i = 0; answers != NULL && i < groups; i++)
        hd_kept_witness_free(&answers[i].witness);
    free(answers);
}
