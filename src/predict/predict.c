/* The tables of kinds and methods. */
#include "predict/predict.h"

/* A finding's verdict is cast from the engine's. */
_Static_assert((int)HD_VERDICT_INFEASIBLE == (int)HD_INFEASIBLE, "verdicts differ");
_Static_assert((int)HD_VERDICT_FEASIBLE == (int)HD_FEASIBLE, "verdicts differ");
_Static_assert((int)HD_VERDICT_UNDECIDED == (int)HD_UNDECIDED, "verdicts differ");
_Static_assert((int)HD_VERDICT_POSSIBLE == (int)HD_POSSIBLE, "verdicts differ");

static const struct {
    const char *word;
    bool model_matters;
} methods[] = {
#define X(name, word, about, model) {word, model},
    HD_METHODS(X)
#undef X
};

const struct hd_predict_kind hd_predict_kinds[] = {
#define X(word, function, kind, methods, about) \
    {word, about, HD_FINDING_##kind, methods, hd_predict_##function},
    HD_PREDICT_KINDS(X)
#undef X
};
const unsigned hd_predict_kind_count = sizeof hd_predict_kinds / sizeof *hd_predict_kinds;

const char *hd_method_name(enum hd_method method) { return methods[method].word; }

const char *hd_engine_name(enum hd_method method, enum hd_reading reading) {
    if (!methods[method].model_matters) return methods[method].word;
    return reading == HD_CSR ? "poly/csr" : reading == HD_CDSR ? "poly/cdsr" : "poly/ua";
}

void hd_engine_stats_add(struct hd_engine_stats *total, const struct hd_engine_stats *part) {
    total->queries += part->queries;
    total->undecided += part->undecided;
    total->choices += part->choices;
    total->backtracks += part->backtracks;
    total->nanoseconds += part->nanoseconds;
    for (unsigned rung = 0; rung < HD_RUNG_COUNT; rung++) {
        total->feasible[rung] += part->feasible[rung];
        total->infeasible[rung] += part->infeasible[rung];
    }
}
