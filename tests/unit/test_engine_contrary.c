/* The engine against brute force, with an engine that skips the easy ways and decides against all
 * likelihood: what it learns from the many conflicts that this gives must still be true. */
#include "engine/polygraph.h"

static struct hd_engine *contrary_engine(const struct hd_engine_base *base, enum hd_reading reading,
                                         struct hd_budget budget) {
    struct hd_engine *engine = hd_engine_new(base, reading, budget);
    if (engine != NULL) engine->contrary = true;
    return engine;
}
#define hd_engine_new contrary_engine
#include "oracle/predict_oracle.h"

static void random_traces(void **state) {
    (void)state;
    oracle_run(9, 16, 160000, 1000000);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
