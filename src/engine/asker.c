/* Questions to the engine, with every witness checked. */
#include "engine/asker.h"

#include "base/alloc.h"
#include "engine/checker.h"

#include <stdlib.h>

struct hd_asker {
    struct hd_engine *engine;
    struct hd_checker *checker;
    struct hd_witness witness;
    enum hd_reading reading;
    uint64_t checks, witnesses, witness_events;
};

struct hd_asker *hd_asker_new(const struct hd_engine_base *base, const struct hd_model *model,
                              enum hd_reading reading, struct hd_budget budget) {
    struct hd_asker *asker = hd_zalloc(1, sizeof *asker);
    asker->reading = reading;
    asker->engine = hd_engine_new(base, reading, budget);
    asker->checker = hd_checker_new(model);
    return asker;
}

void hd_asker_free(struct hd_asker *asker) {
    if (asker == NULL) return;
    hd_engine_free(asker->engine);
    hd_checker_free(asker->checker);
    hd_witness_free(&asker->witness);
    free(asker);
}

bool hd_asker_ask(struct hd_asker *asker, const struct hd_query *query, enum hd_verdict *verdict,
                  struct hd_error *error) {
    asker->checks++;
    *verdict = hd_engine_decide(asker->engine, query, &asker->witness);
    if (*verdict != HD_FEASIBLE) return true;
    asker->witnesses++;
    asker->witness_events += asker->witness.count;
    struct hd_error wrong;
    if (hd_checker_check(asker->checker, asker->reading, query, &asker->witness, &wrong))
        return true;
    return hd_fail(error, HD_ERR_UNSUPPORTED,
                   "internal error: the witness for events %u and %u is wrong (%s); please report "
                   "this with the trace",
                   query->stop[0].event, query->stop[query->stops - 1].event, wrong.message);
}

const struct hd_witness *hd_asker_witness(const struct hd_asker *asker) { return &asker->witness; }

void hd_asker_stats(const struct hd_asker *asker, struct hd_ask_stats *stats) {
    stats->checks += asker->checks;
    stats->witnesses += asker->witnesses;
    stats->witness_events += asker->witness_events;
    hd_engine_stats_add(&stats->engine, hd_engine_stats(asker->engine));
}

struct hd_kept_witness hd_witness_keep(const struct hd_witness *witness) {
    struct hd_kept_witness kept = {.next = witness->next};
    const uint32_t *event = witness->event;
    uint32_t count = witness->count, runs = count > 0, start = 0;
    uint32_t known = witness->start > 1 ? witness->start : 1; /* one run */
    for (uint32_t i = known; i < count; i++) runs += event[i] != event[i - 1] + 1;
    kept.run = hd_alloc(runs + (size_t)1, sizeof *kept.run);
    for (uint32_t i = known; i <= count; i++) {
        if (i < count && event[i] == event[i - 1] + 1) continue;
        kept.run[kept.runs++] = (struct hd_span){event[start], i - start};
        start = i;
    }
    return kept;
}

void hd_kept_witness_free(struct hd_kept_witness *kept) {
    free(kept->run);
    *kept = (struct hd_kept_witness){0};
}

void hd_kept_witness_save(const struct hd_kept_witness *kept, struct hd_packed *to) {
    hd_pack_number(to, kept->runs);
    hd_pack_number(to, kept->next);
    for (uint32_t i = 0; i < kept->runs; i++) {
        hd_pack_number(to, kept->run[i].first);
        hd_pack_number(to, kept->run[i].count);
    }
}

/* Are they events of the model, and not more than it has? */
static bool are_events(const struct hd_kept_witness *kept, const struct hd_model *model) {
    uint64_t events = 0;
    for (uint32_t i = 0; i < kept->runs; i++) {
        const struct hd_span *run = &kept->run[i];
        if (run->first >= model->events || run->count > model->events - run->first) return false;
        events += run->count;
        if (events > model->events) return false;
    }
    return kept->next <= events;
}

bool hd_kept_witness_restore(struct hd_kept_witness *kept, const struct hd_model *model,
                             struct hd_unpack *from) {
    *kept = (struct hd_kept_witness){0};
    /* Each run takes two bytes: no number in the file makes more room than the file has. */
    uint32_t runs = (uint32_t)hd_unpack_most(from, (uint64_t)(from->end - from->at) / 2);
    uint32_t next = (uint32_t)hd_unpack_most(from, UINT32_MAX);
    if (!from->good || runs == 0) return from->good && next == 0;
    kept->run = hd_alloc(runs, sizeof *kept->run);
    kept->runs = runs;
    kept->next = next;
    for (uint32_t i = 0; i < runs; i++) {
        uint32_t start = (uint32_t)hd_unpack_most(from, UINT32_MAX);
        kept->run[i] = (struct hd_span){start, (uint32_t)hd_unpack_most(from, UINT32_MAX)};
    }
    if (from->good && are_events(kept, model)) return true;
    hd_kept_witness_free(kept);
    return from->good = false;
}

enum hd_verdict hd_verdict_restore(struct hd_unpack *from) {
    return (enum hd_verdict)hd_unpack_most(from, HD_POSSIBLE);
}
