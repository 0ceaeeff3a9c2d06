/* The table of kinds, and the exact engine as a method. */
#include "predict/predict.h"

#include "predict/poly.h"

/* A finding's verdict is cast from the engine's. */
_Static_assert((int)HD_VERDICT_INFEASIBLE == (int)HD_INFEASIBLE, "verdicts differ");
_Static_assert((int)HD_VERDICT_FEASIBLE == (int)HD_FEASIBLE, "verdicts differ");
_Static_assert((int)HD_VERDICT_UNDECIDED == (int)HD_UNDECIDED, "verdicts differ");
_Static_assert((int)HD_VERDICT_POSSIBLE == (int)HD_POSSIBLE, "verdicts differ");

const struct hd_predict_kind hd_predict_kinds[HD_PREDICT_KIND_COUNT] = {
#define X(word, function, kind, about) {word, about, HD_FINDING_##kind, hd_predict_##function},
    HD_PREDICT_KINDS(X)
#undef X
};

bool hd_method_decides(const struct hd_method *method, enum hd_finding_kind kind) {
    if (kind == HD_FINDING_RACE) return method->race != NULL;
    if (kind == HD_FINDING_ATOMICITY) return method->atomicity != NULL;
    return method->exact;
}

struct hd_ask_options hd_predict_ask_options(const struct hd_predict *predict) {
    const struct hd_predict_options *options = &predict->options;
    return (struct hd_ask_options){options->reading, options->budget, options->jobs,
                                   options->progress, options->sharing};
}

static const char *const name_of_reading[] = {
    [HD_CSR] = "poly/csr", [HD_CDSR] = "poly/cdsr", [HD_UA] = "poly/ua"};

const struct hd_method hd_method_poly = {.name = "poly",
                                         .name_of_reading = name_of_reading,
                                         .race = &hd_race_poly,
                                         .atomicity = &hd_atomicity_poly,
                                         .correlated = &hd_correlated_poly,
                                         .exact = true};

const char *hd_method_full_name(const struct hd_method *method, enum hd_reading reading) {
    return method->name_of_reading != NULL ? method->name_of_reading[reading] : method->name;
}
