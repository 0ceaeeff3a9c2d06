/* The report for a person: what happens, where, under which locks, and the schedule that leads
 * there. */
#include "finding/intent.h"
#include "report/page.h"

#include <string.h>

static void spaces(const struct hd_page *page, unsigned count) {
    fprintf(page->out, "%*s", (int)count, "");
}

/* ---- the events ------------------------------------------------------------------------------ */

static void print_locks(const struct hd_page *page, const struct hd_finding_event *event) {
    if (event->lock == NULL) return; /* source code does not always tell */
    fprintf(page->out, "      holding ");
    hd_page_locks(page, event);
    fputc('\n', page->out);
}

static void print_stack(const struct hd_page *page, const struct hd_finding_event *event) {
    unsigned widest = 0;
    for (uint32_t i = 0; i < event->frames; i++) {
        unsigned wide = hd_page_columns(event->frame[i].function);
        if (wide > widest && wide <= 40) widest = wide;
    }
    for (uint32_t i = 0; i < event->frames; i++) {
        const struct hd_frame *frame = &event->frame[i];
        fprintf(page->out, "      #%-2u %s", i, frame->function);
        unsigned wide = hd_page_columns(frame->function);
        if (frame->file != NULL) {
            if (wide < widest) spaces(page, widest - wide);
            fprintf(page->out, "  %s%s", page->dim, frame->file);
            if (frame->line > 0) fprintf(page->out, ":%u", frame->line);
            if (frame->inlined) fprintf(page->out, " (inlined)");
            fprintf(page->out, "%s", page->off);
        }
        fputc('\n', page->out);
    }
}

static void print_event(const struct hd_page *page, const struct hd_finding_event *event) {
    bool ran = *event->thread != '\0';
    fprintf(page->out, "\n  %s%s%s%s %s%s", page->bold, event->thread, ran ? " " : "", event->verb,
            event->variable, page->off);
    if (*event->site != '\0') fprintf(page->out, " at %s", event->site);
    if (*event->function != '\0') fprintf(page->out, " in %s", event->function);
    if (ran && event->event != HD_NONE)
        fprintf(page->out, " %s(%sevent %llu)%s", page->dim, event->put_in ? "before " : "",
                (unsigned long long)event->number, page->off);
    fputc('\n', page->out);
    hd_page_excerpt(page, 4, event);
    size_t named = strlen(event->variable);
    if (strncmp(event->about, event->variable, named) == 0 && event->about[named] == ' ')
        fprintf(page->out, "      %s\n", event->about); /* its name, and more */
    else if (strcmp(event->about, event->variable) != 0)
        fprintf(page->out, "      %s: %s\n", event->variable, event->about);
    print_locks(page, event);
    print_stack(page, event);
}

/* ---- the schedule ---------------------------------------------------------------------------- */

#define MARGIN 8u
#define NARROW 16u /* columns a lane must have; with less, threads are named line by line */
#define WIDE 36u

static void print_step_text(const struct hd_page *page, const struct hd_finding_step *step,
                            unsigned room) {
    bool plain = step->folded > 0;
    unsigned used = hd_page_columns(step->text);
    fprintf(page->out, "%s%s%s",
            plain        ? page->dim
            : step->next ? page->red
                         : "",
            step->text, page->off);
    if (*step->site != '\0' && used + 2 + hd_page_columns(step->site) <= room)
        fprintf(page->out, "  %s%s%s", page->dim, step->site, page->off);
}

static unsigned lane_width(const struct hd_page *page, const struct hd_finding *finding) {
    unsigned widest = NARROW;
    for (uint32_t i = 0; i < finding->steps; i++) {
        const struct hd_finding_step *step = &finding->step[i];
        unsigned wide = hd_page_columns(step->text) + 2;
        if (*step->site != '\0') wide += 2 + hd_page_columns(step->site);
        if (step->lane != HD_NONE && wide > widest) widest = wide;
    }
    if (widest > WIDE) widest = WIDE;
    unsigned room = (page->width - MARGIN) / (finding->lanes > 0 ? finding->lanes : 1);
    return room < widest ? room : widest;
}

/* Columns of a step's text, with its site if there is room for it. */
static unsigned step_columns(const struct hd_finding_step *step, unsigned room) {
    unsigned used = hd_page_columns(step->text), site = hd_page_columns(step->site);
    return site > 0 && used + 2 + site <= room ? used + 2 + site : used;
}

static void print_lane_step(const struct hd_page *page, const struct hd_finding *finding,
                            const struct hd_finding_step *step, unsigned width) {
    uint32_t lane = step->lane == HD_NONE ? 0 : step->lane;
    bool last = lane + 1 == finding->lanes;
    print_step_text(page, step, last ? page->width - MARGIN - lane * width : width - 1);
}

static void print_lanes(const struct hd_page *page, const struct hd_finding *finding,
                        unsigned width) {
    spaces(page, MARGIN);
    for (uint32_t i = 0; i < finding->lanes; i++) {
        fprintf(page->out, "%s%s%s", page->bold, finding->lane[i], page->off);
        unsigned wide = hd_page_columns(finding->lane[i]);
        if (i + 1 < finding->lanes) spaces(page, wide < width ? width - wide : 1);
    }
    fputc('\n', page->out);
    for (uint32_t i = 0; i < finding->steps; i++) {
        const struct hd_finding_step *step = &finding->step[i];
        uint32_t lane = step->lane == HD_NONE ? 0 : step->lane;
        fprintf(page->out, "%s%-*s%s", step->next ? page->red : "", (int)MARGIN,
                step->next ? "  next" : "", step->next ? page->off : "");
        spaces(page, lane * width);
        print_lane_step(page, finding, step, width);
        /* what is next is next at the same time: on one line, as far as the lanes go right */
        while (step->next && i + 1 < finding->steps && step[1].lane != HD_NONE &&
               step[1].lane > lane) {
            unsigned used = step_columns(step, width - 1);
            unsigned gap = (step[1].lane - lane) * width;
            spaces(page, gap > used ? gap - used : 1);
            step = &finding->step[++i];
            lane = step->lane;
            print_lane_step(page, finding, step, width);
        }
        fputc('\n', page->out);
    }
}

static void print_list(const struct hd_page *page, const struct hd_finding *finding) {
    unsigned widest = 0;
    for (uint32_t i = 0; i < finding->lanes; i++)
        if (hd_page_columns(finding->lane[i]) > widest) widest = hd_page_columns(finding->lane[i]);
    for (uint32_t i = 0; i < finding->steps; i++) {
        const struct hd_finding_step *step = &finding->step[i];
        const char *thread = step->lane == HD_NONE ? "" : finding->lane[step->lane];
        fprintf(page->out, "%s%-*s%s%s", step->next ? page->red : "", (int)MARGIN,
                step->next ? "  next" : "", page->off, thread);
        spaces(page, widest - hd_page_columns(thread) + 2);
        print_step_text(page, step, page->width);
        fputc('\n', page->out);
    }
}

static void print_schedule(const struct hd_page *page, const struct hd_finding *finding) {
    if (finding->steps == 0) return;
    unsigned width = lane_width(page, finding);
    fprintf(page->out, "\n  %sSchedule%s %s(%u steps)%s\n", page->bold, page->off, page->dim,
            finding->witness_count - finding->witness_next, page->off);
    if (width >= NARROW)
        print_lanes(page, finding, width);
    else
        print_list(page, finding);
}

/* ---- the page -------------------------------------------------------------------------------- */

static void labelled(const struct hd_page *page, const char *label, const char *text) {
    if (*text == '\0') return;
    char line[2300];
    snprintf(line, sizeof line, "%s: %s", label, text);
    hd_page_paragraph(page, 2, line);
}

/* How the bug shows, in the words of the study of such bugs, and what it usually gets. */
static void print_nature(const struct hd_page *page, const struct hd_finding *finding) {
    static const char *const number[] = {"no", "one", "two", "three", "four", "five"};
    char text[160], each[3][16];
    uint32_t count[3] = {finding->threads_involved, finding->variables_involved,
                         finding->accesses_involved};
    if (count[0] == 0) return;
    for (unsigned i = 0; i < 3; i++) {
        if (count[i] < 6)
            snprintf(each[i], sizeof each[i], "%s", number[count[i]]);
        else
            snprintf(each[i], sizeof each[i], "%u", count[i]);
    }
    const char *what = finding->kind == HD_FINDING_DEADLOCK ? "lock" : "variable";
    snprintf(text, sizeof text, "%s thread%s, %s %s%s, %s %s%s", each[0], count[0] == 1 ? "" : "s",
             each[1], what, count[1] == 1 ? "" : "s", each[2],
             finding->kind == HD_FINDING_DEADLOCK ? "acquisition" : "access",
             count[2] == 1                          ? ""
             : finding->kind == HD_FINDING_DEADLOCK ? "s"
                                                    : "es");
    labelled(page, "Involved", text);
    labelled(page, "Usual repairs", hd_finding_repair(finding));
}

static void print_finding(const struct hd_page *page, const struct hd_finding *finding) {
    fprintf(page->out, "%s%s on %s%s: %s by %s", page->bold, hd_finding_kind_name(finding->kind),
            finding->variable, page->off, hd_finding_verdict_name(finding->verdict),
            finding->engine);
    if (finding->pattern != NULL) fprintf(page->out, ", %s", finding->pattern);
    if (finding->observed) fprintf(page->out, ", seen in this run");
    if (finding->instances > 1)
        fprintf(page->out, ", %llu instances", (unsigned long long)finding->instances);
    fprintf(page->out, "  %s%s%s\n", page->dim, finding->fingerprint, page->off);
    hd_page_events(page, 2, finding, print_event);
    print_schedule(page, finding);
    fputc('\n', page->out);
    if (*finding->conclusion != '\0') {
        hd_page_paragraph(page, 2, finding->conclusion);
        labelled(page, "Support", finding->support);
        labelled(page, "Seen", finding->seen);
        labelled(page, "Possible", finding->possible);
        if (finding->harm != HD_HARM_ITSELF) {
            static const char *const words[HD_HARM_COUNT] = {
                [HD_HARM_LIKELY] = "Likely a bug",
                [HD_HARM_UNLIKELY] = "Probably intended",
                [HD_HARM_EXERCISED] = "Did no harm in a passing run"};
            char label[80];
            snprintf(label, sizeof label, "%s (score %u; reported from %u)", words[finding->harm],
                     finding->score, HD_SCORE_REPORTED);
            labelled(page, label, finding->ranking);
        }
        print_nature(page, finding);
        fputc('\n', page->out);
    }
}

void hd_report_text_finding(FILE *out, const struct hd_finding *finding,
                            const struct hd_report_style *style) {
    struct hd_page page = hd_page_for(out, style);
    print_finding(&page, finding);
}

void hd_report_text(FILE *out, const struct hd_findings *findings, size_t most,
                    const struct hd_report_style *style) {
    struct hd_page page = hd_page_for(out, style);
    size_t count = findings->list.size;
    if (most > 0 && count > most) count = most;
    for (size_t i = 0; i < count; i++) print_finding(&page, &findings->list.data[i]);
    if (findings->list.size > count) hd_page_not_shown(out, findings->list.size - count);
}

static void print_summary(const struct hd_page *page, const struct hd_finding_summary *summary) {
    const char *separator = ": ";
    static const enum hd_finding_verdict order[] = {HD_VERDICT_CONFIRMED, HD_VERDICT_FEASIBLE,
                                                    HD_VERDICT_POSSIBLE, HD_VERDICT_INFEASIBLE,
                                                    HD_VERDICT_UNDECIDED};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        uint64_t count = summary->verdict[order[i]];
        if (count == 0) continue;
        bool grave = order[i] == HD_VERDICT_CONFIRMED || order[i] == HD_VERDICT_FEASIBLE;
        fprintf(page->out, "%s%s%llu %s%s", separator, grave ? page->bold : "",
                (unsigned long long)count, hd_finding_verdict_name(order[i]),
                grave ? page->off : "");
        separator = ", ";
    }
    if (summary->hidden > 0)
        fprintf(page->out, "; %llu hidden because %s may be intended (--all shows %s)",
                (unsigned long long)summary->hidden, summary->hidden == 1 ? "it" : "they",
                summary->hidden == 1 ? "it" : "them");
    if (summary->left == 1)
        fputs("; others were not looked at (--candidates 0 looks at all)", page->out);
    else if (summary->left > 1)
        fprintf(page->out, "; %s %llu others were not looked at (--candidates 0 looks at all)",
                summary->left_at_least ? "at least" : "up to", (unsigned long long)summary->left);
    fputc('\n', page->out);
}

void hd_report_text_summary(FILE *out, const struct hd_findings *findings, bool instances,
                            const struct hd_report_style *style) {
    struct hd_page page = hd_page_for(out, style);
    unsigned kinds = 0;
    for (unsigned kind = 0; kind < HD_FINDING_KIND_COUNT; kind++)
        kinds += findings->looked_for[kind];
    for (unsigned kind = 0; kind < HD_FINDING_KIND_COUNT; kind++) {
        if (!findings->looked_for[kind]) continue;
        uint64_t count = findings->of_kind[kind].candidates;
        if (kinds > 1) fprintf(page.out, "%-10s ", hd_finding_kind_name(kind));
        fprintf(page.out, "%llu candidate %s%s of %s", (unsigned long long)count,
                hd_finding_candidate_name(kind), count == 1 ? "" : "s",
                kind == HD_FINDING_NONDETERMINISM ? "a read and another write"
                : instances                       ? "events"
                                                  : "sites");
        print_summary(&page, &findings->of_kind[kind]);
    }
}
