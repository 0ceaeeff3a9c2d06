/* What `heddle predict` is asked for: kinds, models and limits, from options and operands that must
 * fit together. */
#ifndef HEDDLE_CLI_PREDICT_REQUEST_H
#define HEDDLE_CLI_PREDICT_REQUEST_H

#include "cli/correlations_option.h"
#include "cli/findings_output.h"
#include "cli/invariants_option.h"
#include "predict/predict.h"

#define HD_PREDICT_COMMAND "predict"

/* in the order of --model's choices; the first two are hd_reading's */
enum hd_predict_model { MODEL_CSR, MODEL_CDSR, MODEL_SOUND, MODEL_PAPER, MODEL_NOT_GIVEN };

struct hd_predict_request {
    const char *path;     /* the trace that is predicted from */
    char *const *passing; /* others */
    uint32_t passings;
    bool kind[HD_PREDICT_KIND_COUNT], chosen; /* chosen by name */
    struct hd_predict_options options;
    struct hd_findings_options output;
    bool compare, stats, strict, full;
    bool silent;              /* nothing is said: another process does */
    const char *witness;      /* directory for schedules, NULL */
    unsigned model;           /* enum hd_predict_model */
    bool nondet;              /* among the kinds */
    const char *correlations; /* file, NULL */
    const char *invariants;   /* file, NULL */
    const char *names;        /* file, NULL */
    struct hd_invariants learned;
    struct hd_correlated_rules rules;
    uint64_t candidates; /* of a kind, at most */
    uint64_t seconds;    /* for everything; 0: as long as it takes */
};

/* The first operand may say the kinds; a file that is there is a trace. Without it: every kind that
 * the engine can decide. Complains and returns false if something does not fit. */
bool hd_predict_understand_operands(struct hd_predict_request *request, int count, char **operand);

/* The one kind that is to be compared; HD_FINDING_KIND_COUNT if there is no such one. */
enum hd_finding_kind hd_predict_compared_kind(const struct hd_predict_request *request);

/* "100000" counts choices, "2s" and "0.5s" are seconds. */
bool hd_predict_parse_budget(const char *text, struct hd_budget *budget);
/* No question is begun later, and none that was begun takes more than a tenth of the time. */
void hd_predict_limit_time(struct hd_budget *budget, uint64_t seconds);

#endif
