/* Groups of questions to the exact engine, decided with all cores: what kinds of findings that know
 * nothing more about their candidates have in common. A kind says how many groups there are and
 * what the questions of each are; a group is what its best question is, and infeasible only if
 * every one of them is. */
#ifndef HEDDLE_ENGINE_QUESTIONS_H
#define HEDDLE_ENGINE_QUESTIONS_H

#include "base/progress.h"
#include "base/vector.h"
#include "base/workers.h"
#include "engine/asker.h"

/* Room for a question's parts, each worker's own. */
struct hd_question {
    struct hd_query query;
    HD_VECTOR(struct hd_stop) stops;
    HD_VECTOR(struct hd_precedes) orders;
};
/* Makes it empty, adds to it, gives its memory back. */
void hd_question_clear(struct hd_question *question);
void hd_question_stop(struct hd_question *question, uint32_t event, bool executed);
void hd_question_order(struct hd_question *question, uint32_t before, uint32_t after);
void hd_question_free(struct hd_question *question);

enum hd_asked {
    HD_ASK,    /* the question is there */
    HD_SKIP,   /* this one is known to be infeasible without asking: go on */
    HD_NO_MORE /* there is none with this number or a higher one */
};
struct hd_question_source {
    uint32_t groups;
    const void *context;
    /* Puts the question with a number of a group together. `question` is empty before. May run in
     * several threads at once. A group's questions are asked for one after the other from 0 on, and
     * perhaps once more from 0 on. */
    enum hd_asked (*question)(const void *context, uint32_t group, uint64_t number,
                              struct hd_question *question);
};

struct hd_answer {
    enum hd_verdict verdict;
    uint64_t number; /* of the question that settled it; of an infeasible group, the last asked */
    uint64_t asked;
    struct hd_kept_witness witness;
};

struct hd_ask_options {
    enum hd_reading reading;
    struct hd_budget budget;
    unsigned jobs;                    /* threads; 0: one for each core */
    struct hd_progress *progress;     /* may be NULL */
    const struct hd_sharing *sharing; /* who may do it elsewhere (base/workers.h); NULL */
};

/* Answers of all groups, to be freed by hd_answers_free; NULL if a witness turned out wrong. Adds
 * to stats. */
struct hd_answer *hd_ask_all(const struct hd_question_source *source,
                             const struct hd_engine_base *base, const struct hd_model *model,
                             const struct hd_ask_options *options, struct hd_ask_stats *stats,
                             struct hd_error *error);
void hd_answers_free(struct hd_answer *answers, uint32_t groups);

#endif
