/* The engine against brute force on random small traces: the verdict of every question must be the
 * same, every witness must pass the checker, nothing may stay undecided. A disagreement is shrunk
 * and printed as a text trace. HEDDLE_SEED=N runs one seed, HEDDLE_ORACLE_TRACES=N that many. */
#ifndef HEDDLE_TESTS_ORACLE_PREDICT_ORACLE_H
#define HEDDLE_TESTS_ORACLE_PREDICT_ORACLE_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/checker.h"
#include "oracle/figure_trace.h"
#include "oracle/reorder_search.h"

#if defined(__SANITIZE_ADDRESS__)
#define ORACLE_SLOWDOWN 10
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ORACLE_SLOWDOWN 10
#endif
#endif
#ifndef ORACLE_SLOWDOWN
#define ORACLE_SLOWDOWN 1
#endif

enum { ORACLE_QUESTIONS = 200, ORACLE_OTHERS = 24, ORACLE_READINGS = 3 };

struct oracle_counts {
    unsigned long traces, questions, feasible[ORACLE_READINGS], infeasible[ORACLE_READINGS];
    struct hd_engine_stats engine;
};

/* ---- one question --------------------------------------------------------------------------- */

/* What is wrong with the engine's answer: "" if nothing is. */
struct oracle_answer {
    char wrong[1024];
    bool feasible;
};

static inline struct oracle_answer oracle_ask(const struct small *small, struct hd_engine *engine,
                                              enum hd_reading reading, const struct question *q) {
    static const char *const verdicts[] = {"infeasible", "feasible", "undecided", "possible"};
    struct oracle_answer answer = {.wrong = ""};
    struct hd_query query = question_query(q);
    struct hd_witness witness = {0};
    struct hd_error error = {0};
    enum hd_verdict verdict = hd_engine_decide(engine, &query, &witness);
    answer.feasible = search_decide(small, reading, &query, NULL, NULL);
    if (verdict != (answer.feasible ? HD_FEASIBLE : HD_INFEASIBLE))
        snprintf(answer.wrong, sizeof answer.wrong, "engine %s, brute force %s", verdicts[verdict],
                 answer.feasible ? "feasible" : "infeasible");
    else if (verdict == HD_FEASIBLE &&
             !hd_witness_check(small->model, reading, &query, &witness, &error)) {
        int used = snprintf(answer.wrong, sizeof answer.wrong, "%s; witness", error.message);
        for (uint32_t i = 0; i < witness.count && used < 900; i++)
            used += snprintf(answer.wrong + used, sizeof answer.wrong - (size_t)used, "%s%u",
                             i + witness.next == witness.count ? " next " : " ", witness.event[i]);
    }
    hd_witness_free(&witness);
    return answer;
}

/* The same with nothing kept from other questions. */
static inline struct oracle_answer oracle_ask_afresh(const struct text_trace *text,
                                                     enum hd_reading reading,
                                                     const struct question *q) {
    struct oracle_answer answer = {.wrong = ""};
    struct hd_model model;
    struct hd_error error;
    struct small small;
    if (!model_of_text(text, &model, &error)) return answer;
    small_build(&small, &model);
    struct hd_engine_base *base = hd_engine_base_build(&model);
    struct hd_engine *engine = hd_engine_new(base, reading, (struct hd_budget){0});
    answer = oracle_ask(&small, engine, reading, q);
    hd_engine_free(engine);
    hd_engine_base_free(base);
    hd_model_free(&model);
    return answer;
}

/* ---- shrinking ------------------------------------------------------------------------------ */

static inline bool shrink_event(uint32_t *event, uint64_t dropped) {
    if (*event == HD_NONE) return true;
    if ((dropped >> *event & 1) != 0) return false;
    *event -= (uint32_t)__builtin_popcountll(dropped & (SMALL_BIT(*event) - 1));
    return true;
}

/* The trace without some lines, and the question with its events renumbered. */
static inline bool shrink_lines(const struct text_trace *from, const struct question *asked,
                                uint64_t dropped, struct text_trace *text, struct question *q) {
    *q = *asked;
    bool kept = shrink_event(&q->reader, dropped) && shrink_event(&q->writer, dropped);
    for (uint32_t i = 0; kept && i < q->stops; i++) kept = shrink_event(&q->stop[i].event, dropped);
    for (uint32_t i = 0; kept && i < q->orders; i++)
        kept =
            shrink_event(&q->order[i].before, dropped) && shrink_event(&q->order[i].after, dropped);
    if (!kept) return false;
    if (q->relaxed) {
        uint64_t branch = 0;
        unsigned kept_lines = 0;
        for (unsigned i = 0; i < from->lines; i++)
            if ((dropped >> i & 1) == 0) branch |= (q->branch >> i & 1) << kept_lines++;
        question_relax(q, branch);
    }
    text->lenient = from->lenient;
    text->lines = 0;
    for (unsigned i = 0; i < from->lines; i++)
        if ((dropped >> i & 1) == 0) strcpy(text->line[text->lines++], from->line[i]);
    return true;
}

static inline bool shrink_try(struct text_trace *text, enum hd_reading reading, struct question *q,
                              uint64_t dropped) {
    struct text_trace smaller;
    struct question same;
    if (!shrink_lines(text, q, dropped, &smaller, &same)) return false;
    if (*oracle_ask_afresh(&smaller, reading, &same).wrong == '\0') return false;
    *text = smaller;
    *q = same;
    return true;
}

static inline bool shrink_question(const struct text_trace *text, enum hd_reading reading,
                                   struct question *q) {
    for (uint32_t i = 0; i < q->orders; i++) {
        struct question less = *q;
        less.order[i] = less.order[--less.orders];
        if (*oracle_ask_afresh(text, reading, &less).wrong != '\0') return *q = less, true;
    }
    for (uint32_t i = 0; i < q->stops; i++) {
        struct question less = *q;
        if (q->stop[i].event == q->reader) continue;
        memmove(less.stop + i, less.stop + i + 1, (--less.stops - i) * sizeof *less.stop);
        if (*oracle_ask_afresh(text, reading, &less).wrong != '\0') return *q = less, true;
    }
    return false;
}

/* One line, two (an acquire and its release) or a whole thread less, while the answer stays wrong.
 */
static inline void shrink(struct text_trace *text, enum hd_reading reading, struct question *q) {
    bool smaller = true;
    while (smaller) {
        smaller = shrink_question(text, reading, q);
        for (char thread = '0'; !smaller && thread < '0' + SIM_THREADS; thread++) {
            uint64_t lines = 0;
            for (unsigned i = 0; i < text->lines; i++)
                if (text->line[i][1] == thread) lines |= SMALL_BIT(i);
            smaller = lines != 0 && shrink_try(text, reading, q, lines);
        }
        for (unsigned i = 0; !smaller && i < text->lines; i++)
            for (unsigned j = i; !smaller && j < text->lines; j++)
                smaller = shrink_try(text, reading, q, SMALL_BIT(i) | SMALL_BIT(j));
    }
}

/* ---- traces --------------------------------------------------------------------------------- */

static struct text_trace oracle_text; /* at hand, for what is printed when the test is killed */
static uint64_t oracle_seed;

static inline void oracle_print(const struct text_trace *text, enum hd_reading reading,
                                const struct question *q) {
    fprintf(stderr, "# seed %llu, %s, ", (unsigned long long)oracle_seed, reading_name(reading));
    question_print(stderr, q);
    fprintf(stderr, "%s\n", text->lenient ? ", repaired" : "");
    for (unsigned i = 0; i < text->lines; i++) fprintf(stderr, "%s\n", text->line[i]);
}

static inline void oracle_disagreement(enum hd_reading reading, const struct question *q,
                                       const char *wrong) {
    fprintf(stderr, "# %s\n", wrong);
    oracle_print(&oracle_text, reading, q);
    struct text_trace text = oracle_text;
    struct question smaller = *q;
    if (*oracle_ask_afresh(&text, reading, &smaller).wrong == '\0') {
        fprintf(stderr, "# asked alone, the answer is right: it depends on earlier questions\n");
        fail();
    }
    shrink(&text, reading, &smaller);
    fprintf(stderr, "# shrunk: %s\n", oracle_ask_afresh(&text, reading, &smaller).wrong);
    oracle_print(&text, reading, &smaller);
    fail();
}

static inline void oracle_add_stats(struct hd_engine_stats *sum,
                                    const struct hd_engine_stats *add) {
    sum->queries += add->queries;
    sum->undecided += add->undecided;
    sum->choices += add->choices;
    sum->backtracks += add->backtracks;
    sum->nanoseconds += add->nanoseconds;
    for (int i = 0; i < HD_RUNG_COUNT; i++) {
        sum->feasible[i] += add->feasible[i];
        sum->infeasible[i] += add->infeasible[i];
    }
}

static inline void oracle_trace(uint64_t seed, struct oracle_counts *counts) {
    static struct question list[ORACLE_QUESTIONS];
    struct hd_model model;
    struct hd_error error = {0};
    struct small small;
    oracle_seed = seed;
    oracle_make(seed, &oracle_text);
    if (!model_of_text(&oracle_text, &model, &error)) {
        fprintf(stderr, "# seed %llu: %s\n", (unsigned long long)seed, error.message);
        fail();
    }
    small_build(&small, &model);
    uint32_t count = make_questions(&model, seed, ORACLE_OTHERS, list, ORACLE_QUESTIONS);
    struct hd_engine_base *base = hd_engine_base_build(&model);
    assert_non_null(base);
    for (enum hd_reading reading = HD_CSR; reading <= HD_UA; reading++) {
        struct hd_engine *engine = hd_engine_new(base, reading, (struct hd_budget){0});
        assert_non_null(engine);
        for (uint32_t i = 0; i < count; i++) {
            struct oracle_answer answer = oracle_ask(&small, engine, reading, &list[i]);
            if (*answer.wrong != '\0') oracle_disagreement(reading, &list[i], answer.wrong);
            (answer.feasible ? counts->feasible : counts->infeasible)[reading]++;
        }
        oracle_add_stats(&counts->engine, hd_engine_stats(engine));
        hd_engine_free(engine);
    }
    hd_engine_base_free(base);
    hd_model_free(&model);
    counts->traces++;
    counts->questions += count;
}

/* Which trace it was, if the engine crashes or runs for ever. */
static inline void oracle_killed(int number) {
    char line[64];
    int used = snprintf(line, sizeof line, "# signal %d at seed %llu\n", number,
                        (unsigned long long)oracle_seed);
    if (write(2, line, (size_t)used) < 0) _exit(3);
    for (unsigned i = 0; i < oracle_text.lines; i++)
        if (write(2, oracle_text.line[i], strlen(oracle_text.line[i])) < 0 || write(2, "\n", 1) < 0)
            _exit(3);
    signal(number, SIG_DFL);
    raise(number);
}

static inline void oracle_run(unsigned part, unsigned parts, unsigned long in_all,
                              unsigned long in_all_full) {
    struct oracle_counts counts = {0};
    const char *chosen = getenv("HEDDLE_SEED"), *some = getenv("HEDDLE_ORACLE_TRACES");
    unsigned long share = in_all / parts / ORACLE_SLOWDOWN;
    if (getenv("HEDDLE_TEST_FULL") != NULL) share = in_all_full / parts / ORACLE_SLOWDOWN;
    if (some != NULL) share = strtoul(some, NULL, 0);
    uint64_t first = 1 + (uint64_t)part * 1000000000u;
    if (chosen != NULL) {
        first = strtoull(chosen, NULL, 0);
        share = 1;
    }
    printf("# seeds %llu to %llu\n", (unsigned long long)first,
           (unsigned long long)(first + share - 1));
    signal(SIGTERM, oracle_killed);
    signal(SIGABRT, oracle_killed);
    if (ORACLE_SLOWDOWN == 1) signal(SIGSEGV, oracle_killed); /* sanitizers say more themselves */
    for (uint64_t seed = first; seed < first + share; seed++) oracle_trace(seed, &counts);
    printf("# %lu traces, %lu questions; feasible csr %lu, cdsr %lu, ua %lu; infeasible csr %lu, "
           "cdsr %lu, ua %lu\n",
           counts.traces, counts.questions, counts.feasible[0], counts.feasible[1],
           counts.feasible[2], counts.infeasible[0], counts.infeasible[1], counts.infeasible[2]);
    static const char *const rung[] = {
#define X(name, text) text,
        HD_RUNGS(X)
#undef X
    };
    for (int i = 0; i < HD_RUNG_COUNT; i++)
        printf("# %-40s %9llu feasible %9llu infeasible\n", rung[i],
               (unsigned long long)counts.engine.feasible[i],
               (unsigned long long)counts.engine.infeasible[i]);
    printf("# %llu choices, %llu backtracks, %.3f us a query\n",
           (unsigned long long)counts.engine.choices, (unsigned long long)counts.engine.backtracks,
           counts.engine.queries == 0
               ? 0.0
               : (double)counts.engine.nanoseconds / 1000.0 / (double)counts.engine.queries);
    assert_true(counts.engine.undecided == 0);
    /* A third of what was seen when this was written: a generator that degenerates fails. */
    if (share >= 1000)
        for (int i = 0; i < 3; i++)
            assert_true(counts.feasible[i] > 3 * share && counts.infeasible[i] > share / 2);
}

#endif
