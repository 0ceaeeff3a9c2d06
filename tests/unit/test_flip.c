/* Two events of a run the other way round (explore/flip.h), against what must hold of any order:
 * every thread's own, locks, forks and joins; and only what has to wait does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "explore/flip.h"
#include "oracle/kind_oracle.h"

static unsigned long flipped, refused;

static void expect(const char *text, uint32_t first, uint32_t second, const char *wanted) {
    struct text_trace trace = {0};
    struct hd_model model;
    struct hd_error error;
    char got[256] = "", line[1024];
    uint32_t order[SMALL_EVENTS];
    snprintf(line, sizeof line, "%s", text);
    for (char *rest, *each = strtok_r(line, "\n", &rest); each != NULL;
         each = strtok_r(NULL, "\n", &rest))
        snprintf(trace.line[trace.lines++], TEXT_WIDTH, "%s", each);
    assert_true(model_of_text(&trace, &model, &error));
    struct hd_flip flip = {first, second, first};
    uint32_t count = hd_flip(&model, &flip, 1, order);
    for (uint32_t i = 0; i < count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%u ", order[i]);
    assert_string_equal(got, wanted);
    hd_model_free(&model);
}

static void small_cases(void **state) {
    (void)state;
    /* a check, a write between, a use: the write waits for the use, the rest of its thread too */
    expect("T1|r(x)|1\nT2|w(x)|2\nT2|w(y)|3\nT1|r(x)|4\nT1|w(z)|5\n", 1, 3, "0 3 1 2 4 ");
    /* or the check for the write */
    expect("T1|r(x)|1\nT2|w(x)|2\nT1|r(x)|3\n", 0, 1, "1 0 2 ");
    /* a third thread goes on meanwhile, where it was */
    expect("T2|w(x)|1\nT3|w(y)|2\nT1|r(x)|3\nT3|w(y)|4\n", 0, 2, "1 2 0 3 ");
    /* in sections of one lock: only if the whole section waits */
    expect("T1|acq(m)|1\nT1|w(x)|2\nT1|rel(m)|3\nT2|acq(m)|4\nT2|r(x)|5\nT2|rel(m)|6\n", 1, 4, "");
    expect("T1|acq(m)|1\nT1|w(x)|2\nT1|rel(m)|3\nT2|acq(m)|4\nT2|r(x)|5\nT2|rel(m)|6\n", 0, 4,
           "3 4 5 0 1 2 ");
    /* what a fork orders can't be flipped */
    expect("T1|w(x)|1\nT1|fork(T2)|2\nT2|r(x)|3\n", 0, 2, "");
}

static const struct sim_mix mix = {5, 1, 5, 1, 1, 1, 2, 1, 0};

/* Any two events of random traces: the order is correct where reads may see anything, or none is
 * given and there is none that keeps the sections as they are. */
static void check_trace(uint64_t seed) {
    static struct text_trace text;
    struct sim sim = {.dice = {seed * 0x2545f4914f6cdd1dull}, .out = &text};
    struct hd_model model;
    struct hd_error error = {0};
    memset(&text, 0, sizeof text);
    sim.mix = mix;
    sim.threads = 2 + roll(&sim.dice, 3);
    sim.locks = sim.variables = sim.semaphores = 2;
    sim.read_locks = roll(&sim.dice, 3) == 0;
    sim_run(&sim, 8 + roll(&sim.dice, 16));
    if (!model_of_text(&text, &model, &error)) fail_msg("seed %lu: %s", seed, error.message);
    for (unsigned tries = 0; tries < 12 && model.events > 1; tries++) {
        uint32_t order[SMALL_EVENTS], at[SMALL_EVENTS], done[16] = {0};
        uint32_t a = roll(&sim.dice, model.events), b = roll(&sim.dice, model.events);
        if (a >= b || model.thread[a] == model.thread[b]) continue;
        struct hd_flip flip = {a, b, a};
        uint32_t count = hd_flip(&model, &flip, 1, order);
        memset(at, 0xff, sizeof at);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t e = order[i];
            at[e] = i;
            assert_int_equal(hd_model_position(&model, e), done[model.thread[e]]++);
        }
        flipped += count > 0;
        refused += count == 0;
        if (count == 0) continue;
        assert_true(at[b] != HD_NONE && at[b] < at[a]);
        for (uint32_t i = 0; i < model.edges; i++) {
            uint32_t from = at[model.edge[i].from], to = at[model.edge[i].to];
            if (model.edge[i].type != HD_EDGE_ATOMIC && to != HD_NONE) assert_true(from < to);
        }
        for (uint32_t s = 0; s < model.sections; s++)
            for (uint32_t k = 0; k < model.sections; k++) {
                const struct hd_section *one = &model.section[s], *other = &model.section[k];
                if (!small_exclude(one, other) || at[one->acquire] == HD_NONE ||
                    at[other->acquire] == HD_NONE || at[one->acquire] > at[other->acquire])
                    continue;
                assert_true(one->release != HD_NONE && at[one->release] < at[other->acquire]);
            }
        /* what comes before the first stays where it was */
        for (uint32_t i = 0; i < a; i++) {
            if (order[i] == i) continue;
            kind_show(&text, seed, HD_CSR, "something before the flip moved");
            fail_msg("%u before %u: %u at %u", b, a, order[i], i);
        }
    }
    hd_model_free(&model);
}

static void random_traces(void **state) {
    (void)state;
    uint64_t first = 1, count = kind_seeds(&first, 20000, 1000000);
    for (uint64_t seed = first; seed < first + count; seed++) check_trace(seed);
    printf("# %lu flipped, %lu refused\n", flipped, refused);
    if (count >= 1000) assert_true(flipped > count && refused > count / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_cases),
                                       cmocka_unit_test(random_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
