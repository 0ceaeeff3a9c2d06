/* Nondeterminism by brute force: for every read of a small trace, and for what variables hold in
 * the end, every other write is tried by enumerating correct reorderings. What the sound model
 * finds must be exactly that. */
#ifndef HEDDLE_TESTS_ORACLE_NONDET_ORACLE_H
#define HEDDLE_TESTS_ORACLE_NONDET_ORACLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/checker.h"
#include "methods/nondet_paper.h"
#include "oracle/figure_trace.h"
#include "oracle/reorder_search.h"
#include "predict/nondet.h"

#if defined(__SANITIZE_ADDRESS__)
#define NONDET_SLOWDOWN 10
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NONDET_SLOWDOWN 10
#endif
#endif
#ifndef NONDET_SLOWDOWN
#define NONDET_SLOWDOWN 1
#endif

/* A small trace and its model; `text` for what is printed. */
struct nondet_case {
    uint64_t seed;
    struct text_trace text;
    struct hd_model model;
    uint64_t candidates;         /* hd_analysis.most_candidates */
    struct hd_analysis analysis; /* of the latest nondet_run_model; to be freed */
    struct small small;
};

static inline void nondet_print(const struct nondet_case *at) {
    fprintf(stderr, "# seed %llu\n", (unsigned long long)at->seed);
    for (unsigned i = 0; i < at->text.lines; i++) fprintf(stderr, "%s\n", at->text.line[i]);
}

/* False: no model can be made of it. */
static inline bool nondet_make(uint64_t seed, struct nondet_case *at) {
    struct hd_error error = {0};
    at->seed = seed;
    oracle_make(seed, &at->text);
    if (!model_of_text(&at->text, &at->model, &error)) {
        fprintf(stderr, "# seed %llu: %s\n", (unsigned long long)seed, error.message);
        return false;
    }
    small_build(&at->small, &at->model);
    return true;
}

static inline void nondet_run_model(struct nondet_case *at, bool paper, unsigned jobs,
                                    struct hd_predict *predict, struct hd_nondet *nondet) {
    struct hd_error error = {0};
    at->analysis = (struct hd_analysis){.model = &at->model, .most_candidates = at->candidates};
    *predict = (struct hd_predict){
        .analysis = &at->analysis,
        .model = &at->model,
        .options = {
            .method = &hd_method_poly, .reading = HD_CDSR, .jobs = jobs, .final_state = true}};
    if (hd_nondet_decide(predict, paper ? &hd_nondet_paper : NULL, nondet, &error)) return;
    nondet_print(at);
    fail_msg("%s", error.message);
}

/* What a model says of a triplet. */
static inline enum hd_verdict nondet_verdict(const struct hd_nondet *nondet, uint32_t read,
                                             uint32_t other, uint8_t *orders) {
    for (size_t i = 0; i < nondet->found.size; i++)
        if (nondet->found.data[i].read == read && nondet->found.data[i].other == other) {
            if (orders != NULL) *orders = nondet->found.data[i].orders;
            return nondet->found.data[i].verdict;
        }
    if (orders != NULL) *orders = 0;
    return HD_INFEASIBLE;
}

/* ---- the definition ----------------------------------------------------------------------------
 */

static inline uint32_t nondet_seen(const struct hd_model *model, uint32_t location,
                                   uint32_t before) {
    uint32_t seen = small_seen(model, before, location);
    return seen == 0 ? HD_NONE : seen - 1;
}

/* May the read see this write? */
static inline bool nondet_may_see(const struct small *small, uint32_t read, uint32_t write) {
    struct hd_stop stop = {read, true};
    struct hd_query query = {.stop = &stop, .stops = 1, .reader = read, .writer = write};
    return search_decide(small, HD_CDSR, &query, NULL, NULL);
}

/* May the whole trace be reordered so that this write is the last of its location? */
static inline bool nondet_may_end(const struct small *small, uint32_t location, uint32_t write) {
    struct hd_precedes order[SMALL_EVENTS];
    struct hd_query query = {.order = order, .reader = HD_NONE, .writer = HD_NONE};
    struct search search = {.small = small, .reading = HD_CDSR, .query = &query};
    if (write == HD_NONE) return false; /* another write comes after it, in any order */
    for (uint32_t e = 0; e < small->events; e++) {
        if (e != write && small->event[e].writes && (small->event[e].touches >> location & 1) != 0)
            order[query.orders++] = (struct hd_precedes){e, write};
        if (small->event[e].reads) search.watched |= small->event[e].touches;
    }
    search.allowed = ~(uint64_t)0;
    search.wanted = small->events == 64 ? ~(uint64_t)0 : SMALL_BIT(small->events) - 1;
    struct search_state start = {0};
    bool found = search_from(&search, &start);
    free(search.table);
    free(search.used);
    return found;
}

/* ---- comparing ---------------------------------------------------------------------------------
 */

struct nondet_counts {
    unsigned long traces, triplets, feasible, final_feasible, loose;
};

static inline void nondet_expect(const struct nondet_case *at, const struct hd_nondet *nondet,
                                 uint32_t read, uint32_t other, bool feasible) {
    enum hd_verdict verdict = nondet_verdict(nondet, read, other, NULL);
    if (verdict == (feasible ? HD_FEASIBLE : HD_INFEASIBLE)) return;
    const struct hd_read *which = &nondet->couples.read.data[read];
    nondet_print(at);
    fail_msg("read %d of location %u, other write %d: verdict %d, brute force says %s",
             (int)which->event, which->location, (int)other, verdict,
             feasible ? "feasible" : "infeasible");
}

static inline void nondet_check_witness(const struct nondet_case *at,
                                        const struct hd_nondet *nondet,
                                        const struct hd_triplet *triplet) {
    const struct hd_read *read = &nondet->couples.read.data[triplet->read];
    struct hd_engine *engine = hd_engine_new(nondet->base, HD_CDSR, (struct hd_budget){0});
    struct hd_question question = {0};
    struct hd_witness witness = {0};
    struct hd_error error = {0};
    hd_nondet_question(&nondet->couples, read, triplet->other, &question);
    assert_int_equal(hd_engine_decide(engine, &question.query, &witness), HD_FEASIBLE);
    if (!hd_witness_check(&at->model, HD_CDSR, &question.query, &witness, &error)) {
        nondet_print(at);
        fail_msg("witness: %s", error.message);
    }
    hd_witness_free(&witness);
    hd_question_free(&question);
    hd_engine_free(engine);
}

/* Does the read see this write wherever both touch? HD_NONE: the initial value, everywhere. */
static inline bool nondet_sees(const struct hd_model *model, uint32_t read, uint32_t write) {
    for (uint32_t l = 0; l < model->locations; l++) {
        if (!small_touches(model, read, l)) continue;
        if (write != HD_NONE && !small_touches(model, write, l)) continue;
        if (nondet_seen(model, l, read) != write) return false;
    }
    return true;
}

static inline void nondet_check_sound(const struct nondet_case *at, const struct hd_nondet *nondet,
                                      struct nondet_counts *counts) {
    const struct hd_model *model = &at->model;
    uint64_t triplets = 0, feasible = 0;
    for (uint32_t r = 0; r < nondet->couples.read.size; r++) {
        const struct hd_read *read = &nondet->couples.read.data[r];
        bool final = read->event == HD_NONE;
        for (uint32_t c = 0; c <= model->events; c++) { /* the last: the initial value */
            uint32_t write = c < model->events ? c : HD_NONE;
            if (write != HD_NONE) {
                if (!hd_model_is_write(model, write) || write == read->event) continue;
                if (final ? !small_touches(model, write, read->location)
                          : !accesses_meet(model, read->event, write))
                    continue;
            }
            if (final ? write == nondet_seen(model, read->location, model->events)
                      : nondet_sees(model, read->event, write))
                continue;
            bool can = final ? nondet_may_end(&at->small, read->location, write)
                             : nondet_may_see(&at->small, read->event, write);
            nondet_expect(at, nondet, r, write, can);
            triplets++;
            feasible += can;
            counts->final_feasible += can && final;
        }
    }
    for (size_t i = 0; i < nondet->found.size; i++)
        nondet_check_witness(at, nondet, &nondet->found.data[i]);
    if (nondet->stats.triplets != triplets || nondet->found.size != feasible ||
        nondet->stats.verdict[HD_FEASIBLE] != feasible ||
        nondet->stats.verdict[HD_INFEASIBLE] != triplets - feasible ||
        nondet->stats.by_clocks + nondet->stats.by_locks + nondet->stats.by_orders +
                nondet->stats.asked !=
            triplets) {
        nondet_print(at);
        fail_msg("counts: %llu triplets instead of %llu, %zu feasible instead of %llu",
                 (unsigned long long)nondet->stats.triplets, (unsigned long long)triplets,
                 nondet->found.size, (unsigned long long)feasible);
    }
    counts->traces++;
    counts->triplets += triplets;
    counts->feasible += feasible;
    counts->loose += nondet->stats.loose;
}

/* Every read of a shared location is there, and no other. */
static inline void nondet_check_reads(const struct nondet_case *at,
                                      const struct hd_nondet *nondet) {
    const struct hd_model *model = &at->model;
    size_t next = 0;
    for (uint32_t e = 0; e < model->events; e++) {
        bool shared = false;
        for (uint32_t l = 0; l < model->locations; l++)
            shared |= model->location[l].shared && small_touches(model, e, l);
        if (!shared || !hd_model_is_read(model, e)) continue;
        assert_true(next < nondet->couples.read.size);
        assert_int_equal(nondet->couples.read.data[next++].event, e);
    }
    while (next < nondet->couples.read.size)
        assert_int_equal(nondet->couples.read.data[next++].event, HD_NONE);
}

#endif
