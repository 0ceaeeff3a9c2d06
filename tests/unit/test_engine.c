/* The decision engine where it is hardest: dense traces against brute force, and races that random
 * walks through longer traces come upon, which the engine must find too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "engine/checker.h"
#include "engine/polygraph.h"
#include "oracle/random_query.h"
#include "oracle/reorder_search.h"

#include <time.h>

#if defined(__SANITIZE_ADDRESS__)
#define SLOWER 12
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLOWER 12
#endif
#endif
#ifndef SLOWER
#define SLOWER 1
#endif

/* ---- traces ---------------------------------------------------------------------------------- */

enum { MOST_LINES = 600, LINE = 24, MOST_THREADS = 8, MOST_LOCKS = 6 };

struct dense {
    unsigned threads, locks, variables, lines;
    char line[MOST_LINES][LINE];
};

/* What the generator knows of a thread: the locks it holds, innermost last. */
struct holder {
    unsigned held, lock[MOST_LOCKS];
    bool read[MOST_LOCKS];
};

static void add_line(struct dense *dense, unsigned thread, const char *operation, char object,
                     unsigned number) {
    snprintf(dense->line[dense->lines++], LINE, "T%u|%s(%c%u)", thread, operation, object, number);
}

/* 0 free or read by others and asked for reading, 1 taken. */
static bool is_taken(const struct holder *holder, unsigned threads, unsigned lock, bool read) {
    for (unsigned t = 0; t < threads; t++)
        for (unsigned h = 0; h < holder[t].held; h++)
            if (holder[t].lock[h] == lock && !(read && holder[t].read[h])) return true;
    return false;
}

static void lock_or_release(struct dense *dense, struct dice *dice, struct holder *holder,
                            unsigned t, bool rwlocks) {
    struct holder *mine = &holder[t];
    if (mine->held > 0 && (mine->held == 3 || roll(dice, 5) < 3)) {
        unsigned h = roll(dice, 4) == 0 ? roll(dice, mine->held) : mine->held - 1;
        add_line(dense, t, mine->read[h] ? "rrel" : "rel", 'l', mine->lock[h]);
        mine->held--;
        for (; h < mine->held; h++) {
            mine->lock[h] = mine->lock[h + 1];
            mine->read[h] = mine->read[h + 1];
        }
        return;
    }
    unsigned lock = roll(dice, dense->locks);
    bool read = rwlocks && roll(dice, 3) > 0;
    for (unsigned h = 0; h < mine->held; h++)
        if (mine->lock[h] == lock) return;
    if (is_taken(holder, dense->threads, lock, read)) return;
    mine->lock[mine->held] = lock;
    mine->read[mine->held++] = read;
    add_line(dense, t, read ? "racq" : "acq", 'l', lock);
}

static void make_dense(struct dense *dense, uint64_t seed, unsigned lines, unsigned threads) {
    struct dice dice = {seed * 0x9e3779b97f4a7c15ull};
    struct holder holder[MOST_THREADS] = {{0}};
    memset(dense, 0, sizeof *dense);
    dense->threads = threads;
    dense->locks = 2 + roll(&dice, MOST_LOCKS - 1);
    dense->variables = 1 + roll(&dice, lines > 64 ? 8 : 3);
    unsigned access = 1 + roll(&dice, 3), stay = 1 + roll(&dice, 6);
    bool rwlocks = roll(&dice, 4) == 0;
    for (unsigned t = 0, tries = 0; dense->lines < lines && tries < 50 * lines; tries++) {
        if (roll(&dice, stay) == 0) t = roll(&dice, threads);
        if (roll(&dice, 4) < access)
            add_line(dense, t, roll(&dice, 2) == 0 ? "w" : "r", 'x', roll(&dice, dense->variables));
        else
            lock_or_release(dense, &dice, holder, t, rwlocks);
    }
}

static void print_dense(const struct dense *dense) {
    for (unsigned i = 0; i < dense->lines; i++) fprintf(stderr, "%s\n", dense->line[i]);
}

static void model_of(const struct dense *dense, struct hd_model *model) {
    static char text[MOST_LINES * LINE];
    size_t length = 0;
    for (unsigned i = 0; i < dense->lines; i++)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s\n", dense->line[i]);
    struct hd_trace trace;
    struct hd_trace_options options = {.format = HD_FORMAT_TEXT, .format_given = true};
    struct hd_error error;
    if (!hd_trace_read(text, length, "dense", &options, &trace, &error) ||
        !hd_model_build(&trace, NULL, model, &error))
        fail_msg("%s", error.message);
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- against brute force --------------------------------------------------------------------- */

static uint64_t backtracks;

static void compare(const struct dense *dense, uint64_t seed, const struct hd_model *model,
                    bool contrary) {
    static struct question list[400];
    struct small small;
    struct hd_error error;
    small_build(&small, model);
    uint32_t count = make_questions(model, seed, 10, list, 400), every = 1 + count / 24;
    struct hd_engine_base *base = hd_engine_base_build(model);
    for (enum hd_reading reading = HD_CSR; reading <= HD_UA; reading++) {
        struct hd_engine *engine = hd_engine_new(base, reading, (struct hd_budget){0});
        struct hd_witness witness = {0};
        engine->contrary = contrary;
        for (uint32_t i = seed % every; i < count; i += every) {
            struct hd_query query = question_query(&list[i]);
            enum hd_verdict verdict = hd_engine_decide(engine, &query, &witness);
            bool feasible = search_decide(&small, reading, &query, NULL, NULL);
            bool good = verdict == (feasible ? HD_FEASIBLE : HD_INFEASIBLE);
            if (good && feasible) good = hd_witness_check(model, reading, &query, &witness, &error);
            if (good) continue;
            fprintf(stderr, "# seed %llu, %s, engine %d, brute force %d, ",
                    (unsigned long long)seed, reading_name(reading), (int)verdict, feasible);
            question_print(stderr, &list[i]);
            fprintf(stderr, "\n");
            print_dense(dense);
            fail();
        }
        backtracks += hd_engine_stats(engine)->backtracks;
        hd_witness_free(&witness);
        hd_engine_free(engine);
    }
    hd_engine_base_free(base);
}

static void dense_traces(void **state) {
    (void)state;
    static struct dense dense;
    const char *some = getenv("HEDDLE_DENSE_TRACES");
    uint64_t first = 1, traces = (some != NULL ? strtoull(some, NULL, 0) : 3000 / SLOWER);
    const char *chosen = getenv("HEDDLE_SEED");
    if (chosen != NULL) {
        first = strtoull(chosen, NULL, 0);
        traces = 1;
    }
    backtracks = 0;
    for (uint64_t seed = first; seed < first + traces; seed++) {
        struct hd_model model;
        make_dense(&dense, seed, 20 + (unsigned)(seed % 20), 4 + (unsigned)(seed / 20 % 2));
        model_of(&dense, &model);
        compare(&dense, seed, &model, false);
        compare(&dense, seed + 1, &model, true);
        hd_model_free(&model);
    }
    printf("# %llu traces, %llu backtracks\n", (unsigned long long)traces,
           (unsigned long long)backtracks);
    /* or the search was never put to the test */
    if (chosen == NULL) assert_true(backtracks > traces);
}

/* ---- random walks ---------------------------------------------------------------------------- */

struct walk {
    const struct hd_model *model;
    bool keeps;
    uint32_t at[MOST_THREADS], last[64];
};

static uint32_t next_event(const struct walk *walk, uint32_t thread) {
    const uint32_t *start = walk->model->thread_start + thread;
    uint32_t at = start[0] + walk->at[thread];
    return at < start[1] ? walk->model->thread_event[at] : HD_NONE;
}

static bool was_run(const struct walk *walk, uint32_t event) {
    uint32_t next = next_event(walk, walk->model->thread[event]);
    return next == HD_NONE || event < next;
}

static bool is_free(const struct walk *walk, uint32_t acquire) {
    const struct hd_model *model = walk->model;
    const struct hd_section *mine = &model->section[model->event_section[acquire]];
    for (uint32_t s = 0; s < model->sections; s++) {
        const struct hd_section *other = &model->section[s];
        if (other->lock != mine->lock || other->thread == mine->thread ||
            (other->read_mode && mine->read_mode) || !was_run(walk, other->acquire))
            continue;
        if (other->release == HD_NONE || !was_run(walk, other->release)) return false;
    }
    return true;
}

static bool can_run(const struct walk *walk, uint32_t event) {
    const struct hd_model *model = walk->model;
    switch (model->kind[event]) {
    case HD_EV_ACQUIRE:
    case HD_EV_READ_ACQUIRE:
        return is_free(walk, event);
    case HD_EV_READ:
        return !walk->keeps || walk->last[model->object[event]] == model->from[event];
    default:
        return true;
    }
}

/* Would this write make a read impossible that is still to come? */
static bool is_rash(const struct walk *walk, uint32_t event) {
    const struct hd_model *model = walk->model;
    if (!walk->keeps || model->kind[event] != HD_EV_WRITE) return false;
    uint32_t place = model->object[event];
    for (uint32_t i = model->location_start[place]; i < model->location_start[place + 1]; i++) {
        uint32_t other = model->location_event[i];
        if (model->kind[other] == HD_EV_READ && !was_run(walk, other) &&
            model->from[other] == walk->last[place])
            return true;
    }
    return false;
}

static bool races(const struct hd_model *model, uint32_t a, uint32_t b) {
    return a != HD_NONE && b != HD_NONE && model->kind[a] <= HD_EV_WRITE &&
           model->kind[b] <= HD_EV_WRITE && model->object[a] == model->object[b] &&
           (model->kind[a] == HD_EV_WRITE || model->kind[b] == HD_EV_WRITE);
}

/* Asks the engine about every race at hand that was not met before. */
static unsigned meet(const struct walk *walk, struct hd_engine *engine, uint8_t *met) {
    const struct hd_model *model = walk->model;
    unsigned asked = 0;
    for (uint32_t t = 0; t < model->threads; t++)
        for (uint32_t u = t + 1; u < model->threads; u++) {
            uint32_t a = next_event(walk, t), b = next_event(walk, u);
            if (!races(model, a, b) || met[a * model->events + b]) continue;
            met[a * model->events + b] = 1;
            asked++;
            struct question q = race_question(a, b);
            struct hd_query query = question_query(&q);
            struct hd_witness witness = {0};
            struct hd_error error;
            if (hd_engine_decide(engine, &query, &witness) != HD_FEASIBLE)
                fail_msg("%u and %u race, but the engine says no", a, b);
            if (!hd_witness_check(model, walk->keeps ? HD_CDSR : HD_CSR, &query, &witness, &error))
                fail_msg("%s", error.message);
            hd_witness_free(&witness);
        }
    return asked;
}

static unsigned take_walk(const struct hd_model *model, bool keeps, struct dice *dice,
                          struct hd_engine *engine, uint8_t *met) {
    struct walk walk = {.model = model, .keeps = keeps};
    unsigned asked = 0, idle = 0, stay = 1 + roll(dice, 12);
    memset(walk.last, 0xff, sizeof walk.last);
    for (uint32_t t = 0; idle < 60;) {
        if (roll(dice, stay) == 0 || idle > 0) t = roll(dice, model->threads);
        uint32_t event = next_event(&walk, t);
        idle++;
        if (event == HD_NONE || !can_run(&walk, event) || is_rash(&walk, event)) continue;
        if (model->kind[event] == HD_EV_WRITE) walk.last[model->object[event]] = event;
        walk.at[t]++;
        idle = 0;
        asked += meet(&walk, engine, met);
    }
    return asked;
}

static void random_walks(void **state) {
    (void)state;
    static struct dense dense;
    double start = seconds();
    unsigned traces = 0, asked = 0;
    for (uint64_t seed = 1; seconds() - start < 6 && seed <= 400 / SLOWER; seed++, traces++) {
        struct hd_model model;
        struct dice dice = {seed};
        make_dense(&dense, seed, 60 + (unsigned)(seed % 5) * 100, 2 + (unsigned)(seed % 7));
        model_of(&dense, &model);
        assert_true(model.locations <= 64);
        struct hd_engine_base *base = hd_engine_base_build(&model);
        uint8_t *met = malloc((size_t)model.events * model.events);
        for (int keeps = 0; keeps < 2; keeps++) {
            struct hd_engine *engine =
                hd_engine_new(base, keeps ? HD_CDSR : HD_CSR, (struct hd_budget){0});
            memset(met, 0, (size_t)model.events * model.events);
            for (unsigned walk = 0; walk < 10; walk++)
                asked += take_walk(&model, keeps != 0, &dice, engine, met);
            hd_engine_free(engine);
        }
        free(met);
        hd_engine_base_free(base);
        hd_model_free(&model);
    }
    printf("# %u traces, %u races met\n", traces, asked);
    assert_true(asked > 20 * traces);
}

/* ---- the interface --------------------------------------------------------------------------- */

static void lines_to(struct dense *dense, const char *const *line) {
    memset(dense, 0, sizeof *dense);
    for (; *line != NULL; line++) snprintf(dense->line[dense->lines++], LINE, "%s", *line);
}

static enum hd_verdict ask_race(const struct hd_model *model, enum hd_reading reading,
                                struct hd_budget budget, uint32_t a, uint32_t b,
                                struct hd_engine_stats *stats) {
    struct hd_engine_base *base = hd_engine_base_build(model);
    struct hd_engine *engine = hd_engine_new(base, reading, budget);
    struct question q = race_question(a, b);
    struct hd_query query = question_query(&q);
    enum hd_verdict verdict = hd_engine_decide(engine, &query, NULL);
    *stats = *hd_engine_stats(engine);
    hd_engine_free(engine);
    hd_engine_base_free(base);
    return verdict;
}

/* A section that happened to come first hides the race on y; kept reads rule out the one on x. */
static const char *const hidden[] = {"T1|w(y)",   "T1|acq(l)", "T1|w(x)", "T1|rel(l)", "T2|acq(l)",
                                     "T2|rel(l)", "T2|w(y)",   "T2|r(x)", NULL};

static void rungs(void **state) {
    (void)state;
    static struct dense dense;
    struct hd_model model;
    struct hd_engine_stats stats;
    struct hd_budget free_of_charge = {0};
    lines_to(&dense, hidden);
    model_of(&dense, &model);
    assert_int_equal(ask_race(&model, HD_CDSR, free_of_charge, 0, 6, &stats), HD_FEASIBLE);
    assert_int_equal(stats.feasible[HD_RUNG_TRACE_ORDER], 1);
    assert_int_equal(stats.queries, 1);
    assert_int_equal(ask_race(&model, HD_CDSR, free_of_charge, 2, 7, &stats), HD_FEASIBLE);
    /* not a race but must both be next: the second waits for what the first has not done */
    assert_int_equal(ask_race(&model, HD_CDSR, free_of_charge, 1, 5, &stats), HD_FEASIBLE);
    assert_int_equal(ask_race(&model, HD_CDSR, free_of_charge, 2, 5, &stats), HD_INFEASIBLE);
    assert_int_equal(stats.infeasible[HD_RUNG_MUST_ORDER], 1);
    hd_model_free(&model);
}

/* Four orders that are open, none of them forced: with no budget nothing is guessed. */
static void budget_runs_out(void **state) {
    (void)state;
    static struct dense dense;
    unsigned undecided = 0, decided = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct hd_model model;
        struct hd_engine_stats stats;
        make_dense(&dense, seed, 26, 4);
        model_of(&dense, &model);
        for (uint32_t a = 0; a < model.events; a++)
            for (uint32_t b = a + 1; b < model.events; b++) {
                if (!accesses_race(&model, a, b)) continue;
                enum hd_verdict small =
                    ask_race(&model, HD_CDSR, (struct hd_budget){.choices = 1}, a, b, &stats);
                if (small == HD_UNDECIDED) {
                    undecided++;
                    assert_int_equal(stats.undecided, 1);
                    continue;
                }
                decided++;
                assert_int_equal(small,
                                 ask_race(&model, HD_CDSR, (struct hd_budget){0}, a, b, &stats));
            }
        hd_model_free(&model);
    }
    printf("# %u undecided, %u decided\n", undecided, decided);
    assert_true(undecided > 0 && decided > undecided);
}

/* No question is begun when the time is over; before that it makes no difference. */
static void time_is_over(void **state) {
    (void)state;
    static struct dense dense;
    unsigned asked = 0;
    make_dense(&dense, 7, 26, 4);
    struct hd_model model;
    struct hd_engine_stats stats;
    model_of(&dense, &model);
    struct hd_budget over = {.until = hd_now_ns()},
                     far = {.until = hd_now_ns() + 3600ull * 1000000000u};
    for (uint32_t a = 0; a < model.events; a++)
        for (uint32_t b = a + 1; b < model.events; b++) {
            if (!accesses_race(&model, a, b)) continue;
            asked++;
            assert_int_equal(ask_race(&model, HD_CDSR, over, a, b, &stats), HD_UNDECIDED);
            assert_int_equal(ask_race(&model, HD_CDSR, far, a, b, &stats),
                             ask_race(&model, HD_CDSR, (struct hd_budget){0}, a, b, &stats));
        }
    assert_true(asked > 0);
    hd_model_free(&model);
}

/* Queries that make no sense are not answered. */
static void nonsense(void **state) {
    (void)state;
    static struct dense dense;
    struct hd_model model;
    lines_to(&dense, hidden);
    model_of(&dense, &model);
    struct hd_engine_base *base = hd_engine_base_build(&model);
    struct hd_engine *engine = hd_engine_new(base, HD_CDSR, (struct hd_budget){0});
    struct hd_stop same_thread[] = {{0, false}, {2, false}}, beyond[] = {{99, false}};
    struct hd_precedes nowhere[] = {{0, 99}};
    struct hd_query queries[] = {
        {.stop = same_thread, .stops = 2, .reader = HD_NONE, .writer = HD_NONE},
        {.stop = beyond, .stops = 1, .reader = HD_NONE, .writer = HD_NONE},
        {.order = nowhere, .orders = 1, .reader = HD_NONE, .writer = HD_NONE},
        {.reader = 0, .writer = HD_NONE},
        {.reader = 7, .writer = 7},
    };
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        assert_int_equal(hd_engine_decide(engine, &queries[i], NULL), HD_UNDECIDED);
    hd_engine_free(engine);
    hd_engine_base_free(base);
    hd_model_free(&model);
}

/* Engines that share a base, and queries one after the other, do not disturb each other. */
static void nothing_is_kept(void **state) {
    (void)state;
    static struct dense dense;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct hd_model model;
        struct hd_engine_stats stats;
        make_dense(&dense, seed, 60, 4);
        model_of(&dense, &model);
        struct hd_engine_base *base = hd_engine_base_build(&model);
        struct hd_engine *engine[3];
        for (enum hd_reading r = HD_CSR; r <= HD_UA; r++)
            engine[r] = hd_engine_new(base, r, (struct hd_budget){0});
        for (uint32_t a = 0; a < model.events; a += 3)
            for (uint32_t b = a + 1; b < model.events; b++) {
                if (!accesses_race(&model, a, b)) continue;
                struct question q = race_question(a, b);
                struct hd_query query = question_query(&q);
                enum hd_verdict verdict[3];
                for (enum hd_reading r = HD_CSR; r <= HD_UA; r++)
                    verdict[r] = hd_engine_decide(engine[r], &query, NULL);
                /* what keeps its reads is a reordering without that, too */
                if (verdict[HD_CDSR] == HD_FEASIBLE) assert_int_equal(verdict[HD_CSR], HD_FEASIBLE);
                if (b % 5 == 0)
                    for (enum hd_reading r = HD_CSR; r <= HD_UA; r++)
                        assert_int_equal(verdict[r],
                                         ask_race(&model, r, (struct hd_budget){0}, a, b, &stats));
            }
        for (enum hd_reading r = HD_CSR; r <= HD_UA; r++) hd_engine_free(engine[r]);
        hd_engine_base_free(base);
        hd_model_free(&model);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_traces),    cmocka_unit_test(random_walks),
        cmocka_unit_test(rungs),           cmocka_unit_test(budget_runs_out),
        cmocka_unit_test(time_is_over),    cmocka_unit_test(nonsense),
        cmocka_unit_test(nothing_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
