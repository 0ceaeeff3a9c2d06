/* One question to the exact engine, and the check of its witness by the independent checker: every
 * `feasible` that leaves prediction has come through here. */
#ifndef HEDDLE_ENGINE_ASKER_H
#define HEDDLE_ENGINE_ASKER_H

#include "base/packed.h"
#include "engine/engine.h"
#include "finding/finding.h"

/* What was asked, added up over askers. */
struct hd_ask_stats {
    struct hd_engine_stats engine;
    uint64_t checks;                    /* questions */
    uint64_t witnesses, witness_events; /* checked */
    unsigned jobs;                      /* threads that asked */
};

/* One for each worker. */
struct hd_asker;
struct hd_asker *hd_asker_new(const struct hd_engine_base *base, const struct hd_model *model,
                              enum hd_reading reading, struct hd_budget budget);
void hd_asker_free(struct hd_asker *asker);

/* FEASIBLE comes with a witness that has passed the checker; false only if one did not, and *error
 * says what is wrong with it. */
bool hd_asker_ask(struct hd_asker *asker, const struct hd_query *query, enum hd_verdict *verdict,
                  struct hd_error *error);
/* The witness of the last FEASIBLE; valid until the next question. */
const struct hd_witness *hd_asker_witness(const struct hd_asker *asker);
/* Adds what this one did. */
void hd_asker_stats(const struct hd_asker *asker, struct hd_ask_stats *stats);

/* A witness as runs of consecutive events, to be kept. Zeroed: none. */
struct hd_kept_witness {
    struct hd_span *run;
    uint32_t runs;
    uint32_t next; /* how many at its end are not executed */
};
struct hd_kept_witness hd_witness_keep(const struct hd_witness *witness);
void hd_kept_witness_free(struct hd_kept_witness *kept);
/* As bytes, and back: false if it has events that the model has not. (Whether it is a correct
 * reordering was checked where it was found.) */
void hd_kept_witness_save(const struct hd_kept_witness *kept, struct hd_packed *to);
bool hd_kept_witness_restore(struct hd_kept_witness *kept, const struct hd_model *model,
                             struct hd_unpack *from);
/* A verdict that was written down. */
enum hd_verdict hd_verdict_restore(struct hd_unpack *from);

#endif
