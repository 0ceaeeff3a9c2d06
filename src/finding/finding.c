/* The list of findings: names of kinds and verdicts, growth, order. */
#include "finding/finding.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *word, *title, *candidate, *repair;
} kinds[] = {
#define X(name, word, title, candidate, repair) {word, title, candidate, repair},
    HD_FINDING_KINDS(X)
#undef X
};

const char *hd_finding_kind_name(enum hd_finding_kind kind) { return kinds[kind].word; }

bool hd_finding_kind_of(const char *word, enum hd_finding_kind *kind) {
    for (unsigned i = 0; i < HD_FINDING_KIND_COUNT; i++)
        if (strcmp(kinds[i].word, word) == 0) {
            *kind = (enum hd_finding_kind)i;
            return true;
        }
    return false;
}

const char *hd_finding_title(enum hd_finding_kind kind) { return kinds[kind].title; }

const char *hd_finding_candidate_name(enum hd_finding_kind kind) { return kinds[kind].candidate; }

const char *hd_finding_repair(const struct hd_finding *finding) {
    return *finding->repair != '\0' ? finding->repair : kinds[finding->kind].repair;
}

void hd_findings_looked_for(struct hd_findings *findings, enum hd_finding_kind kind,
                            const struct hd_finding_summary *before) {
    const struct hd_finding_summary *now = &findings->summary;
    struct hd_finding_summary *of_kind = &findings->of_kind[kind];
    findings->looked_for[kind] = true;
    of_kind->candidates += now->candidates - before->candidates;
    of_kind->hidden += now->hidden - before->hidden;
    of_kind->left += now->left - before->left;
    of_kind->left_at_least |= now->left_at_least && !before->left_at_least;
    for (unsigned verdict = 0; verdict < HD_VERDICT_COUNT; verdict++)
        of_kind->verdict[verdict] += now->verdict[verdict] - before->verdict[verdict];
}

const char *hd_finding_verdict_name(enum hd_finding_verdict verdict) {
    static const char *const name[] = {
#define X(name, word) word,
        HD_FINDING_VERDICTS(X)
#undef X
    };
    return name[verdict];
}

const char *hd_finding_harm_name(enum hd_finding_harm harm) {
    static const char *const name[] = {
#define X(name, word) word,
        HD_FINDING_HARMS(X)
#undef X
    };
    return name[harm];
}

const char *hd_finding_role_name(enum hd_finding_role role) {
    static const char *const name[] = {
#define X(name, word) word,
        HD_FINDING_ROLES(X)
#undef X
    };
    return name[role];
}

bool hd_finding_matters(const struct hd_finding *finding) {
    return (finding->verdict == HD_VERDICT_FEASIBLE || finding->verdict == HD_VERDICT_POSSIBLE ||
            finding->verdict == HD_VERDICT_CONFIRMED) &&
           (finding->harm == HD_HARM_ITSELF || finding->harm == HD_HARM_LIKELY);
}

bool hd_finding_fails(const struct hd_finding *finding, enum hd_fail_on what) {
    bool found = finding->verdict == HD_VERDICT_FEASIBLE ||
                 finding->verdict == HD_VERDICT_POSSIBLE ||
                 finding->verdict == HD_VERDICT_CONFIRMED;
    switch (what) {
    case HD_FAIL_ON_CONFIRMED:
        return hd_finding_matters(finding) &&
               (finding->verdict == HD_VERDICT_CONFIRMED || finding->observed);
    case HD_FAIL_ON_PREDICTED:
        return hd_finding_matters(finding);
    default:
        return found;
    }
}

/* ---- making one ----------------------------------------------------------------------------- */

static void fill(const char **text) {
    if (*text == NULL) *text = "";
}

static void complete_event(struct hd_finding_event *event) {
    if (event->about == NULL) event->about = event->variable;
    const char **text[] = {&event->thread,   &event->op,    &event->verb, &event->variable,
                           &event->function, &event->about, &event->site};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) fill(text[i]);
}

static void complete(struct hd_finding *finding) {
    for (uint32_t i = 0; i < finding->events; i++) complete_event(&finding->event[i]);
    if (finding->variable == NULL && finding->events > 0)
        finding->variable = finding->event[0].variable;
    if (finding->instances == 0) finding->instances = 1;
    const char **text[] = {&finding->engine,  &finding->variable, &finding->place,
                           &finding->how,     &finding->support,  &finding->conclusion,
                           &finding->ranking, &finding->seen,     &finding->possible,
                           &finding->repair};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) fill(text[i]);
}

struct hd_finding *hd_finding_add(struct hd_findings *findings, const struct hd_finding *draft) {
    hd_vector_push(&findings->list, *draft);
    struct hd_finding *finding = &findings->list.data[findings->list.size - 1];
    complete(finding);
    return finding;
}

struct hd_finding *hd_finding_keep(struct hd_findings *findings, const struct hd_finding *draft) {
    struct hd_finding *finding = hd_arena_alloc(&findings->arena, sizeof *finding);
    *finding = *draft;
    complete(finding);
    return finding;
}

void hd_findings_free(struct hd_findings *findings) {
    hd_vector_free(&findings->list);
    hd_vector_free(&findings->hidden);
    hd_arena_free(&findings->arena);
}

const char *hd_finding_text(struct hd_findings *findings, const char *format, ...) {
    char buffer[2048];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(buffer, sizeof buffer, format, arguments);
    va_end(arguments);
    size_t used = length < 0 ? 0 : (size_t)length;
    if (used >= sizeof buffer) used = sizeof buffer - 1;
    return hd_arena_copy(&findings->arena, buffer, used);
}

const char *hd_finding_short_site(const char *site) {
    const char *slash = strrchr(site, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : site;
}

/* ---- order -------------------------------------------------------------------------------- */

static int verdict_rank(enum hd_finding_verdict verdict) {
    static const int rank[] = {[HD_VERDICT_CONFIRMED] = 0,
                               [HD_VERDICT_FEASIBLE] = 1,
                               [HD_VERDICT_POSSIBLE] = 2,
                               [HD_VERDICT_UNDECIDED] = 3,
                               [HD_VERDICT_INFEASIBLE] = 4};
    return rank[verdict];
}

static int compare_numbers(uint64_t left, uint64_t right) {
    return left < right ? -1 : left > right;
}

static int compare_findings(const void *left, const void *right) {
    const struct hd_finding *a = left, *b = right;
    int order = verdict_rank(a->verdict) - verdict_rank(b->verdict);
    if (order == 0) order = (int)a->harm - (int)b->harm;
    if (order == 0) order = compare_numbers(b->score, a->score);
    if (order == 0) order = (int)a->kind - (int)b->kind;
    for (uint32_t i = 0; order == 0 && i < a->events && i < b->events; i++) {
        const char *first = a->event[i].file, *second = b->event[i].file;
        if (first != NULL && second != NULL) order = strcmp(first, second);
        if (order == 0 && first != NULL && second != NULL)
            order = compare_numbers(a->event[i].line, b->event[i].line);
    }
    for (uint32_t i = 0; order == 0 && i < a->events && i < b->events; i++)
        order = compare_numbers(a->event[i].number, b->event[i].number);
    return order;
}

void hd_findings_sort(struct hd_findings *findings) {
    if (findings->list.size > 1)
        qsort(findings->list.data, findings->list.size, sizeof *findings->list.data,
              compare_findings);
}

bool hd_finding_is_proved(const struct hd_finding_forced *forced) {
    return forced->flipped_runs > 0 && forced->flipped_passed == forced->flipped_runs &&
           forced->runs > 0 && forced->reproduced == forced->runs;
}
