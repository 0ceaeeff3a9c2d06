/* What suppressions and a baseline hid, for a person. */
#include "report/page.h"

static void print_unused(FILE *out, const struct hd_suppressions *suppressions) {
    bool any = false;
    for (size_t i = 0; i < suppressions->list.size; i++) {
        const struct hd_suppression *entry = &suppressions->list.data[i];
        if (entry->hits > 0) continue;
        if (!any) fprintf(out, "Suppressions that hid nothing:\n");
        any = true;
        fprintf(out, "  %s:%u: %s%s\n", entry->file, entry->line, entry->text,
                entry->type == HD_SUPPRESS_NOTHING ? " (heddle reports nothing of this kind)" : "");
    }
}

void hd_report_text_hiding(FILE *out, const struct hd_findings *findings,
                           const struct hd_hiding *hiding) {
    const struct hd_baseline *baseline = &hiding->baseline;
    if (hiding->suppressions.list.size > 0) {
        unsigned long long hidden = hd_findings_suppressed(findings);
        fprintf(out, "%llu finding%s hidden by suppressions\n", hidden,
                hidden == 1 ? " is" : "s are");
    }
    if (baseline->path != NULL)
        fprintf(out, "%u finding%s hidden: the baseline %s has %s; %u of its findings %s gone\n",
                baseline->hidden, baseline->hidden == 1 ? " is" : "s are", baseline->path,
                baseline->hidden == 1 ? "it" : "them", baseline->gones,
                baseline->gones == 1 ? "is" : "are");
    print_unused(out, &hiding->suppressions);
}
