/* A kind of prediction on random small traces, set against naive enumeration and brute force: what
 * the tests of deadlocks and order violations have in common. */
#ifndef HEDDLE_TESTS_ORACLE_KIND_ORACLE_H
#define HEDDLE_TESTS_ORACLE_KIND_ORACLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "oracle/random_query.h"
#include "oracle/reorder_search.h"
#include "predict/predict.h"

#if defined(__SANITIZE_ADDRESS__)
#define KIND_SLOWDOWN 10
#else
#define KIND_SLOWDOWN 1
#endif

typedef bool (*kind_run)(struct hd_predict *predict, struct hd_findings *findings,
                         struct hd_error *error);

static inline void kind_find(const struct hd_model *model, kind_run run,
                             struct hd_predict_options options, struct hd_findings *findings) {
    struct hd_error error = {0};
    struct hd_analysis analysis = {.model = model, .describe = hd_describe_open(model)};
    struct hd_predict predict = {
        .analysis = &analysis, .model = model, .describe = analysis.describe, .options = options};
    predict.options.method = &hd_method_poly;
    predict.options.jobs = 1;
    memset(findings, 0, sizeof *findings);
    if (!run(&predict, findings, &error)) fail_msg("%s", error.message);
    hd_analysis_free(&analysis);
    hd_describe_close(predict.describe);
}

static inline void kind_show(const struct text_trace *text, uint64_t seed, enum hd_reading reading,
                             const char *wrong) {
    fprintf(stderr, "# seed %llu, %s: %s\n", (unsigned long long)seed, reading_name(reading),
            wrong);
    for (unsigned i = 0; i < text->lines; i++) fprintf(stderr, "%s\n", text->line[i]);
}

/* must[e]: events that must come before e, by definition. */
static inline void kind_must(const struct hd_model *m, uint64_t *must) {
    memset(must, 0, SMALL_EVENTS * sizeof *must);
    for (uint32_t e = 0; e < m->events; e++) {
        for (uint32_t a = 0; a < e; a++)
            if (m->thread[a] == m->thread[e]) must[e] |= SMALL_BIT(a);
        for (uint32_t i = 0; i < m->edges; i++)
            if (m->edge[i].to == e) must[e] |= SMALL_BIT(m->edge[i].from);
        for (uint64_t left = must[e]; left != 0; left &= left - 1)
            must[e] |= must[__builtin_ctzll(left)];
    }
}

/* The event of its thread before an event, HD_NONE. */
static inline uint32_t kind_behind(const struct hd_model *m, uint32_t event) {
    for (uint32_t e = event; e-- > 0;)
        if (m->thread[e] == m->thread[event]) return e;
    return HD_NONE;
}

/* ---- the branch relaxation ------------------------------------------------------------------ */

/* Branches before some of the lines, as lines of their own. */
static inline void kind_add_branches(uint64_t seed, struct text_trace *text) {
    struct dice dice = {seed ^ 0x9d39247e33776d41ull};
    struct text_trace from = *text;
    unsigned one_in = 2 + roll(&dice, 6);
    text->lines = 0;
    for (unsigned i = 0; i < from.lines && text->lines + 2 < TEXT_LINES; i++) {
        bool first = strstr(from.line[i], "|begin") != NULL; /* nothing comes before that */
        if (!first && roll(&dice, one_in) == 0 && text->lines + 2 + from.lines - i < TEXT_LINES)
            snprintf(text->line[text->lines++], TEXT_WIDTH, "%.2s|branch()", from.line[i]);
        strcpy(text->line[text->lines++], from.line[i]);
    }
}

/* What hd_query.branches wants, counted from the model's events. A trace without branches has them
 * everywhere. */
static inline void kind_branches(const struct hd_model *m, uint32_t *number) {
    bool any = false;
    for (uint32_t e = 0; e < m->events; e++) any |= m->kind[e] == HD_EV_BRANCH;
    for (uint32_t e = 0; e < m->events; e++) {
        number[e] = any ? 0 : e;
        for (uint32_t k = 0; k <= e; k++)
            number[e] += m->thread[k] == m->thread[e] && m->kind[k] == HD_EV_BRANCH;
    }
}

/* HEDDLE_SEED=N runs one seed, HEDDLE_ORACLE_TRACES=N that many. */
static inline uint64_t kind_seeds(uint64_t *first, uint64_t usual, uint64_t full) {
    const char *chosen = getenv("HEDDLE_SEED"), *some = getenv("HEDDLE_ORACLE_TRACES");
    uint64_t count = (getenv("HEDDLE_TEST_FULL") != NULL ? full : usual) / KIND_SLOWDOWN;
    if (some != NULL) count = strtoull(some, NULL, 0);
    if (chosen != NULL) {
        *first = strtoull(chosen, NULL, 0);
        count = 1;
    }
    printf("# seeds %llu to %llu\n", (unsigned long long)*first,
           (unsigned long long)(*first + count - 1));
    return count;
}

#endif
