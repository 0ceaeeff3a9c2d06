/* See baseline.h. */
#include "finding/baseline.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

bool hd_baseline_read(struct hd_baseline *baseline, const char *path, struct hd_error *error) {
    *baseline = (struct hd_baseline){.path = NULL};
    if (!hd_findings_read(path, &baseline->file, error)) return false;
    baseline->path = path;
    return true;
}

static int compare_prints(const void *left, const void *right) {
    const struct hd_finding *const *a = left, *const *b = right;
    return strcmp((*a)->fingerprint, (*b)->fingerprint);
}

/* The findings of a list by fingerprint; malloc'ed. */
static const struct hd_finding **by_print(const struct hd_findings *findings) {
    size_t count = findings->list.size;
    const struct hd_finding **order = hd_alloc(count, sizeof *order);
    for (size_t i = 0; i < count; i++) order[i] = &findings->list.data[i];
    if (count > 1) qsort(order, count, sizeof *order, compare_prints);
    return order;
}

static bool has(const struct hd_finding **order, size_t count, const struct hd_finding *finding) {
    return count > 0 && bsearch(&finding, order, count, sizeof *order, compare_prints) != NULL;
}

/* What was not looked for can't be gone. */
static bool looked_for(const struct hd_findings *findings, enum hd_finding_kind kind) {
    bool any = false;
    for (unsigned i = 0; i < HD_FINDING_KIND_COUNT; i++) any |= findings->looked_for[i];
    return !any || findings->looked_for[kind];
}

void hd_baseline_mark(struct hd_baseline *baseline, struct hd_findings *findings) {
    if (baseline->path == NULL) return;
    size_t olds = baseline->file.findings.list.size, news = findings->list.size;
    const struct hd_finding **old = by_print(&baseline->file.findings);
    const struct hd_finding **now = by_print(findings);
    baseline->hidden = 0;
    for (size_t i = 0; i < news; i++) {
        struct hd_finding *finding = &findings->list.data[i];
        finding->known = has(old, olds, finding);
        baseline->hidden += finding->known && finding->suppressed == NULL;
    }
    free(baseline->gone);
    baseline->gones = 0;
    baseline->gone = hd_alloc(olds, sizeof *baseline->gone);
    for (size_t i = 0; i < olds; i++) {
        const struct hd_finding *finding = &baseline->file.findings.list.data[i];
        if (looked_for(findings, finding->kind) && !has(now, news, finding))
            baseline->gone[baseline->gones++] = finding;
    }
    free(old);
    free(now);
}

void hd_baseline_free(struct hd_baseline *baseline) {
    free(baseline->gone);
    hd_findings_file_free(&baseline->file);
    *baseline = (struct hd_baseline){.path = NULL};
}
