/* The engine's self-checks (engine/sane.h): they pass what the engine builds, and each of them
 * notices when something is changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "engine/sane.h"
#include "oracle/random_query.h"
#include "oracle/random_trace.h"

/* Two threads with two sections each of one lock; what T2 reads, T1 wrote. */
static const char *const lines[] = {"T0|fork(T1)", "T0|fork(T2)", "T1|acq(l)", "T1|w(x)",
                                    "T1|rel(l)",   "T1|w(y)",     "T2|acq(l)", "T2|r(x)",
                                    "T2|rel(l)",   "T2|w(y)",     "T2|w(x)"};

struct fixture {
    struct hd_model model;
    struct hd_engine_base *base;
};

static void build(struct fixture *fixture) {
    struct text_trace text = {.lines = 0};
    struct hd_error error;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        snprintf(text.line[text.lines++], TEXT_WIDTH, "%s", lines[i]);
    if (!model_of_text(&text, &fixture->model, &error)) fail_msg("%s", error.message);
    fixture->base = hd_engine_base_build(&fixture->model);
}

static void forget(struct fixture *fixture) {
    hd_engine_base_free(fixture->base);
    hd_model_free(&fixture->model);
}

/* Changes a number, expects that it is noticed, and changes it back. */
static void notices(const struct hd_engine_base *base, uint32_t *number, uint32_t other) {
    uint32_t was = *number;
    assert_int_not_equal(was, other);
    *number = other;
    assert_false(hd_engine_base_is_sane(base));
    *number = was;
    assert_true(hd_engine_base_is_sane(base));
}

static void base(void **state) {
    (void)state;
    struct fixture fixture;
    build(&fixture);
    struct hd_engine_base *b = fixture.base;
    assert_true(hd_engine_base_is_sane(b));
    notices(b, &b->full.position[1], 77);
    notices(b, &b->full.first[1], 0);
    uint32_t read = b->full.access_from[1] != HD_NONE ? 1 : 2; /* one that has a write before it */
    notices(b, &b->full.access_from[read], HD_NONE);
    notices(b, &b->sync.section_acquire[0], b->sync.section_release[0]);
    notices(b, &b->use_section[0], b->use_section[1]);
    uint32_t changed = 0, threads = b->kept.threads; /* each thread's own component is not used */
    for (uint32_t t = 0; t < threads; t++)
        for (uint32_t c = b->kept.change_first[t]; c < b->kept.change_first[t + 1]; c++)
            for (uint32_t u = 0; u < threads; u++) {
                uint32_t *clock = &b->kept.clock[b->kept.version[c] * threads + u];
                if (u == t) continue;
                notices(b, clock, *clock + 1);
                changed++;
            }
    assert_true(changed >= 4);
    forget(&fixture);
}

static void polygraph(void **state) {
    (void)state;
    struct fixture fixture;
    build(&fixture);
    struct hd_engine *engine = hd_engine_new(fixture.base, HD_CDSR, (struct hd_budget){0});
    struct hd_stop stop[2] = {{5, false}, {9, false}};
    struct hd_query query = {.stop = stop, .stops = 2, .reader = HD_NONE, .writer = HD_NONE};
    struct hd_witness witness = {0};
    assert_int_equal(hd_engine_decide(engine, &query, &witness), HD_FEASIBLE);
    assert_true(hd_polygraph_is_sane(engine));
    engine->cut[1] = 1; /* without a growth that says why */
    assert_false(hd_polygraph_is_sane(engine));
    engine->cut[1] = 0;
    /* The witness has T1's section before T2's, so a clause may not forbid that. */
    assert_true(hd_clauses_allow(engine, &witness));
    struct hd_literal order = {0, 1}, against = {1, 0};
    hd_vector_push(&engine->literals, order);
    hd_vector_push(&engine->literals, against);
    hd_vector_push(&engine->clauses, ((struct hd_clause){1, 1}));
    assert_true(hd_clauses_allow(engine, &witness));
    hd_vector_push(&engine->clauses, ((struct hd_clause){0, 1}));
    assert_false(hd_clauses_allow(engine, &witness));
    hd_witness_free(&witness);
    hd_engine_free(engine);
    forget(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(base), cmocka_unit_test(polygraph)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
