/* See predict_request.h. */
#include "cli/predict_request.h"

#include "base/clock.h"
#include "base/nearest_word.h"
#include "cli/output.h"
#include "methods/methods.h"
#include "methods/nondet_paper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND HD_PREDICT_COMMAND

static unsigned find_kind(const char *word, size_t length) {
    unsigned k = 0;
    while (k < HD_PREDICT_KIND_COUNT && (strlen(hd_predict_kinds[k].word) != length ||
                                         strncmp(hd_predict_kinds[k].word, word, length) != 0))
        k++;
    return k;
}

static void complain_of_kind(const char *words, size_t length) {
    const char *names[HD_PREDICT_KIND_COUNT];
    for (unsigned i = 0; i < HD_PREDICT_KIND_COUNT; i++) names[i] = hd_predict_kinds[i].word;
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)length, words);
    const char *nearest = hd_nearest_word(word, names, HD_PREDICT_KIND_COUNT);
    if (nearest != NULL)
        hd_complain(COMMAND, "'%s' is not a kind of finding; did you mean '%s'?", word, nearest);
    else
        hd_complain(COMMAND, "'%s' is not a kind of finding; 'heddle predict --help' has them",
                    word);
}

/* Takes "race,order" as kinds. If it is no such list, that is an error only if `must`. */
static bool choose_kinds(struct hd_predict_request *request, const char *words, bool must,
                         bool *failed) {
    bool kind[HD_PREDICT_KIND_COUNT] = {false};
    for (const char *word = words;; word++) {
        size_t length = strcspn(word, ",");
        unsigned k = find_kind(word, length);
        if (k == HD_PREDICT_KIND_COUNT) {
            if (must) complain_of_kind(word, length);
            *failed = must;
            return false;
        }
        kind[k] = true;
        word += length;
        if (*word == '\0') break;
    }
    memcpy(request->kind, kind, sizeof kind);
    return request->chosen = true;
}

enum hd_finding_kind hd_predict_compared_kind(const struct hd_predict_request *request) {
    enum hd_finding_kind kind = HD_FINDING_KIND_COUNT;
    for (unsigned k = 0; k < HD_PREDICT_KIND_COUNT; k++) {
        if (!request->kind[k]) continue;
        if (kind != HD_FINDING_KIND_COUNT) return HD_FINDING_KIND_COUNT;
        kind = hd_predict_kinds[k].kind;
    }
    bool can = kind == HD_FINDING_RACE || kind == HD_FINDING_ATOMICITY ||
               kind == HD_FINDING_NONDETERMINISM;
    return can ? kind : HD_FINDING_KIND_COUNT;
}

/* Nondeterminism has models and options of its own. */
static bool fit_model(struct hd_predict_request *request, bool compares) {
    unsigned others = 0, model = request->model;
    bool nondet = false;
    for (unsigned k = 0; k < HD_PREDICT_KIND_COUNT; k++) {
        if (!request->kind[k]) continue;
        if (hd_predict_kinds[k].kind == HD_FINDING_NONDETERMINISM)
            nondet = true;
        else
            others++;
    }
    const char *wrong = NULL;
    if (model == MODEL_SOUND || model == MODEL_PAPER) {
        if (others > 0 || !nondet) wrong = "the models sound and paper are for 'nondet' only";
    } else if (model != MODEL_NOT_GIVEN && nondet) {
        wrong = "the models of 'nondet' are sound and paper";
    }
    if (!nondet && (request->options.final_state || request->options.read_site != NULL))
        wrong = "--read and --final-state are options of 'nondet'";
    if (request->compare && !compares)
        wrong = "--compare takes one kind: race, atomicity or nondet";
    if (request->compare && request->output.format > HD_FINDINGS_JSON)
        wrong = "--compare prints text or JSON";
    if (wrong != NULL) {
        hd_complain(COMMAND, "%s", wrong);
        return false;
    }
    request->nondet = nondet;
    request->options.reading = model == MODEL_CSR ? HD_CSR : HD_CDSR;
    request->options.nondet_model = model == MODEL_PAPER ? &hd_nondet_paper : NULL;
    return true;
}

static bool has_kind(const struct hd_predict_request *request, enum hd_finding_kind kind) {
    for (unsigned k = 0; k < HD_PREDICT_KIND_COUNT; k++)
        if (request->kind[k] && hd_predict_kinds[k].kind == kind) return true;
    return false;
}

/* Rules about variables go with races and atomicity violations; a method that knows nothing else
 * looks for nothing else. */
static bool fit_correlations(struct hd_predict_request *request) {
    const struct hd_method *method = request->options.method;
    bool fits = has_kind(request, HD_FINDING_RACE) || has_kind(request, HD_FINDING_ATOMICITY);
    bool only = method->correlated != NULL && !method->exact;
    const char *wrong = NULL;
    if (request->correlations == NULL) {
        if (only) wrong = "engines lockset_mv and hb_mv need --correlations";
    } else if (method->correlated == NULL)
        wrong = "--correlations goes with the engines lockset_mv, hb_mv and poly";
    else if (request->chosen && !fits)
        wrong = "--correlations goes with the kinds race and atomicity";
    if (wrong != NULL) {
        hd_complain(COMMAND, "%s", wrong);
        return false;
    }
    if (only) memset(request->kind, 0, sizeof request->kind);
    if (request->correlations == NULL) return true;
    request->options.correlations = &request->rules;
    return hd_correlations_option_use(COMMAND, request->correlations, request->output.store.project,
                                      &request->rules);
}

bool hd_predict_understand_operands(struct hd_predict_request *request, int count, char **operand) {
    const struct hd_method *method = request->options.method;
    bool failed = false;
    if (count > 1 &&
        choose_kinds(request, operand[0], access(operand[0], F_OK) != 0 && strcmp(operand[0], "-"),
                     &failed)) {
        count--;
        operand++;
    }
    if (failed) return false;
    if (!request->chosen && request->compare)
        request->kind[0] = true; /* races */
    else if (!request->chosen)
        for (unsigned k = 0; k < HD_PREDICT_KIND_COUNT; k++)
            request->kind[k] = hd_method_decides(method, hd_predict_kinds[k].kind) &&
                               hd_predict_kinds[k].kind != HD_FINDING_NONDETERMINISM;
    bool compares = request->compare && hd_predict_compared_kind(request) != HD_FINDING_KIND_COUNT;
    if (!fit_correlations(request)) return false;
    if (request->invariants != NULL && !has_kind(request, HD_FINDING_ATOMICITY)) {
        hd_complain(COMMAND, "--invariants goes with the kind atomicity");
        return false;
    }
    for (unsigned k = 0; k < HD_PREDICT_KIND_COUNT; k++) {
        if (!request->kind[k] || hd_method_decides(method, hd_predict_kinds[k].kind)) continue;
        hd_complain(COMMAND,
                    "engine '%s' cannot decide '%s'; 'heddle predict --help' says which can",
                    method->name, hd_predict_kinds[k].word);
        return false;
    }
    if (!fit_model(request, compares)) return false;
    request->path = operand[0];
    request->passing = operand + 1;
    request->passings = (uint32_t)(count - 1);
    return true;
}

bool hd_predict_parse_budget(const char *text, struct hd_budget *budget) {
    char *end;
    double amount = strtod(text, &end);
    if (end == text || !(amount >= 0) || amount > 1e18) return false;
    *budget = (struct hd_budget){0};
    if (strcmp(end, "s") == 0 || (*end == '\0' && strchr(text, '.') != NULL)) {
        if (amount > 1e9) return false;
        budget->nanoseconds = (uint64_t)(amount * 1e9);
        if (amount > 0 && budget->nanoseconds == 0) budget->nanoseconds = 1;
        return true;
    }
    budget->choices = (uint64_t)amount;
    return *end == '\0' && (double)budget->choices == amount;
}

void hd_predict_limit_time(struct hd_budget *budget, uint64_t seconds) {
    uint64_t tenth = seconds * 100000000u;
    budget->until = hd_now_ns() + seconds * 1000000000u;
    if (budget->choices == 0 && (budget->nanoseconds == 0 || budget->nanoseconds > tenth))
        budget->nanoseconds = tenth;
}
