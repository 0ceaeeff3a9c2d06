/* See hide.h. */
#include "finding/hide.h"

#include <string.h>

static bool is_hidden(const struct hd_finding *finding) {
    return finding->suppressed != NULL || finding->known;
}

static const struct hd_finding *find_hidden(const struct hd_findings *findings, const char *print) {
    for (size_t i = 0; i < findings->hidden.size; i++)
        if (strcmp(findings->hidden.data[i].fingerprint, print) == 0)
            return &findings->hidden.data[i];
    return NULL;
}

/* Of the findings that fail in the same way as a hidden one, the first takes its part. */
static void replace_hidden_models(struct hd_findings *findings) {
    for (size_t i = 0; i < findings->list.size; i++) {
        struct hd_finding *first = &findings->list.data[i];
        if (first->forced == NULL || *first->forced->same_as == '\0') continue;
        const struct hd_finding *hidden = find_hidden(findings, first->forced->same_as);
        if (hidden == NULL) continue;
        for (size_t k = i; k < findings->list.size; k++) {
            struct hd_finding_forced *forced = findings->list.data[k].forced;
            if (forced != NULL && strcmp(forced->same_as, hidden->fingerprint) == 0)
                forced->same_as = k == i ? "" : first->fingerprint;
        }
    }
}

void hd_findings_hide(struct hd_findings *findings, struct hd_hiding *hiding) {
    hd_suppressions_mark(&hiding->suppressions, findings);
    hd_baseline_mark(&hiding->baseline, findings);
    size_t kept = 0;
    for (size_t i = 0; i < findings->list.size; i++) {
        struct hd_finding *finding = &findings->list.data[i];
        if (is_hidden(finding))
            hd_vector_push(&findings->hidden, *finding);
        else
            findings->list.data[kept++] = *finding;
    }
    findings->list.size = kept;
    replace_hidden_models(findings);
}

uint64_t hd_findings_suppressed(const struct hd_findings *findings) {
    uint64_t count = 0;
    for (size_t i = 0; i < findings->hidden.size; i++)
        count += findings->hidden.data[i].suppressed != NULL;
    return count;
}

void hd_hiding_free(struct hd_hiding *hiding) {
    hd_suppressions_free(&hiding->suppressions);
    hd_baseline_free(&hiding->baseline);
}
