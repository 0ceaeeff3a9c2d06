/* What the engine learns from a conflict must be true: no correct reordering that ends as the query
 * says makes all choices of a clause. Brute force looks for one, with the choices of each clause as
 * so many wishes more. A reason that is forgotten on the way to a clause shows here long before it
 * makes a verdict wrong. */
#include "engine/polygraph.h"
#include "oracle/predict_oracle.h"

enum { WISHES = 64 };

struct wishes {
    struct hd_precedes order[WISHES];
    uint32_t orders;
    uint64_t wanted, forbidden;
};

static void wish_order(struct wishes *wishes, uint32_t before, uint32_t after) {
    if (wishes->orders == WISHES) fail_msg("a clause with too many choices");
    wishes->order[wishes->orders++] = (struct hd_precedes){before, after};
}

static void wish(struct wishes *wishes, const struct hd_engine *engine, const struct small *small,
                 struct hd_literal literal) {
    uint32_t start = engine->view->event[hd_block_start(engine, literal.first)], end = start;
    if (hd_is_section(engine, literal.first)) end = engine->model->section[literal.first].release;
    wishes->wanted |= SMALL_BIT(start);
    if (literal.second == HD_LEFT_OPEN) {
        if (end == HD_NONE) return;
        uint64_t thread = small->of_thread[engine->model->thread[end]];
        wishes->forbidden |= thread & ~(SMALL_BIT(end) - 1);
    } else if (end == HD_NONE) {
        wishes->forbidden |= SMALL_BIT(start);
    } else if (literal.second == HD_CLOSED) {
        wishes->wanted |= SMALL_BIT(end);
    } else { /* the reads of a write are before the next write by themselves */
        wish_order(wishes, end, engine->view->event[hd_block_start(engine, literal.second)]);
    }
}

static bool can_be(const struct small *small, const struct hd_engine *engine,
                   const struct question *q, const struct hd_clause *clause) {
    struct wishes wishes = {.orders = q->orders};
    memcpy(wishes.order, q->order, q->orders * sizeof *q->order);
    for (uint32_t i = 0; i < clause->count; i++)
        wish(&wishes, engine, small, engine->literals.data[clause->first + i]);
    struct hd_query query = question_query(q);
    query.order = wishes.order;
    query.orders = wishes.orders;
    struct search search = search_start(small, engine->reading, &query);
    search.wanted |= wishes.wanted;
    search.allowed &= ~wishes.forbidden;
    return search_run(&search);
}

static unsigned long clauses;

static void check_question(const struct small *small, struct hd_engine *engine,
                           const struct question *q) {
    struct hd_query query = question_query(q);
    hd_engine_decide(engine, &query, NULL);
    for (size_t i = 0; i < engine->clauses.size; i++, clauses++) {
        if (!can_be(small, engine, q, &engine->clauses.data[i])) continue;
        oracle_print(&oracle_text, engine->reading, q);
        fail_msg("clause %zu is not true", i);
    }
    engine->clauses.size = 0; /* the next question may be decided before it clears them */
}

static void check_trace(uint64_t seed) {
    static struct question list[ORACLE_QUESTIONS];
    static struct small small;
    struct hd_model model;
    struct hd_error error;
    oracle_seed = seed;
    oracle_make(seed, &oracle_text);
    if (!model_of_text(&oracle_text, &model, &error)) fail_msg("%s", error.message);
    small_build(&small, &model);
    uint32_t count = make_questions(&model, seed, ORACLE_OTHERS, list, ORACLE_QUESTIONS);
    struct hd_engine_base *base = hd_engine_base_build(&model);
    for (enum hd_reading reading = HD_CSR; reading <= HD_UA; reading++) {
        struct hd_engine *engine = hd_engine_new(base, reading, (struct hd_budget){0});
        for (uint32_t i = 0; i < count; i++) {
            engine->contrary = i % 2 == seed % 2;
            check_question(&small, engine, &list[i]);
        }
        hd_engine_free(engine);
    }
    hd_engine_base_free(base);
    hd_model_free(&model);
}

static void clauses_hold(void **state) {
    (void)state;
    const char *chosen = getenv("HEDDLE_SEED"), *some = getenv("HEDDLE_ORACLE_TRACES");
    uint64_t first = 20000000001, traces = 20000 / ORACLE_SLOWDOWN;
    if (getenv("HEDDLE_TEST_FULL") != NULL) traces *= 10;
    if (some != NULL) traces = strtoull(some, NULL, 0);
    if (chosen != NULL) {
        first = strtoull(chosen, NULL, 0);
        traces = 1;
    }
    for (uint64_t seed = first; seed < first + traces; seed++) check_trace(seed);
    printf("# %llu traces, %lu clauses\n", (unsigned long long)traces, clauses);
    if (chosen == NULL) assert_true(clauses > traces / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(clauses_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
