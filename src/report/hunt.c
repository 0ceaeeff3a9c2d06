/* A hunt's findings as text. See hunt.h. */
#include "report/hunt.h"

#include "finding/words.h"
#include "report/page.h"

#include <string.h>

/* ---- what is wrong -------------------------------------------------------------------------- */

/* A failure is called after the accesses that explain it. */
static const char *what_it_is(const struct hd_finding *finding) {
    enum hd_finding_kind kind = finding->kind;
    if (kind == HD_FINDING_FAILURE && finding->events == 3) kind = HD_FINDING_ATOMICITY;
    if (kind == HD_FINDING_FAILURE && finding->events == 2) kind = HD_FINDING_ORDER;
    return hd_finding_title(kind);
}

/* "Atomicity violation on proc_info (R-W-R): the program crashed" */
static void print_title(const struct hd_page *page, const struct hd_finding *finding) {
    const struct hd_finding_forced *forced = finding->forced;
    bool failed = forced != NULL && forced->failed;
    fprintf(page->out, "%s%s", page->bold, what_it_is(finding));
    if (*finding->variable != '\0') fprintf(page->out, " on %s", finding->variable);
    if (finding->pattern != NULL) fprintf(page->out, " (%s)", finding->pattern);
    fprintf(page->out, "%s: ", page->off);
    if (failed)
        fprintf(page->out, "%s%s%s%s", page->red, forced->words, page->off,
                forced->runs > 0 && forced->reproduced == 0 ? " (once, not confirmed)" : "");
    else if (finding->verdict == HD_VERDICT_CONFIRMED)
        fprintf(page->out, "reached, no visible failure");
    else
        fprintf(page->out, "%s", *finding->how != '\0' ? finding->how : "predicted");
    fprintf(page->out, "  %s%s%s\n", page->dim, finding->fingerprint, page->off);
}

static void print_story(const struct hd_page *page, const struct hd_finding *finding) {
    const struct hd_finding_forced *forced = finding->forced;
    char story[3000];
    size_t used = (size_t)snprintf(story, sizeof story, "%s", finding->conclusion);
    if (used < sizeof story && forced != NULL && forced->failed && forced->runs > 0 &&
        forced->reproduced == 0)
        snprintf(story + used, sizeof story - used,
                 " One run in this order failed: %s. No other did, so the failure also depends on "
                 "something that no schedule controls (heddle replay --check shows more).",
                 forced->words);
    else if (used < sizeof story && forced != NULL && forced->failed && finding->events > 0)
        snprintf(story + used, sizeof story - used, " In this order the program fails: %s.",
                 forced->words);
    fputc('\n', page->out);
    hd_page_paragraph(page, 2, story);
}

/* ---- the orders ----------------------------------------------------------------------------- */

/* "T1  r(len)  log.c:57" */
static void line_text(const struct hd_finding_line *line, char *text, size_t room) {
    snprintf(text, room, "%s  %s  %s", line->thread, line->text, line->site);
    size_t length = strlen(text);
    while (length > 0 && text[length - 1] == ' ') text[--length] = '\0';
}

static bool same_line(const struct hd_finding_line *a, const struct hd_finding_line *b) {
    return strcmp(a->thread, b->thread) == 0 && strcmp(a->text, b->text) == 0 &&
           strcmp(a->site, b->site) == 0;
}

static void print_orders(const struct hd_page *page, const struct hd_finding_forced *forced) {
    static const char good[] = "a run that passes", bad[] = "a run that fails";
    char text[1024];
    if (forced->goods == 0 || forced->bads == 0) {
        for (uint32_t i = 0; i < forced->bads; i++) {
            line_text(&forced->bad[i], text, sizeof text);
            fprintf(page->out, "%s    %s\n", i == 0 ? "\n" : "", text);
        }
        return;
    }
    unsigned wide = hd_page_columns(good);
    for (uint32_t i = 0; i < forced->goods; i++) {
        line_text(&forced->good[i], text, sizeof text);
        if (hd_page_columns(text) > wide) wide = hd_page_columns(text);
    }
    fprintf(page->out, "\n    %s%s%s%*s%s%s%s\n", page->green, good, page->off,
            (int)(wide - hd_page_columns(good) + 4), "", page->red, bad, page->off);
    uint32_t lines = forced->goods > forced->bads ? forced->goods : forced->bads;
    for (uint32_t i = 0; i < lines; i++) {
        text[0] = '\0';
        if (i < forced->goods) line_text(&forced->good[i], text, sizeof text);
        fprintf(page->out, "    %s", text);
        if (i < forced->bads) {
            bool differs = i >= forced->goods || !same_line(&forced->good[i], &forced->bad[i]);
            fprintf(page->out, "%*s", (int)(wide - hd_page_columns(text) + 4), "");
            line_text(&forced->bad[i], text, sizeof text);
            fprintf(page->out, "%s%s%s", differs ? page->red : "", text, differs ? page->off : "");
        }
        fputc('\n', page->out);
    }
}

/* ---- the accesses --------------------------------------------------------------------------- */

static void print_event(const struct hd_page *page, const struct hd_finding_event *event) {
    fprintf(page->out, "    %s %s %s", event->thread, event->verb, event->variable);
    if (*event->site != '\0') fprintf(page->out, " at %s", event->site);
    if (*event->function != '\0') fprintf(page->out, " in %s", event->function);
    fprintf(page->out, ", holding ");
    hd_page_locks(page, event);
    fputc('\n', page->out);
    hd_page_excerpt(page, 4, event);
    for (uint32_t i = 1; i < event->frames; i++)
        fprintf(page->out, "      %s%s %s%s%s:%u%s\n", page->dim,
                event->frame[i - 1].inlined ? "inlined into" : "called from",
                event->frame[i].function, event->frame[i].file != NULL ? " at " : "",
                event->frame[i].file != NULL ? event->frame[i].file : "", event->frame[i].line,
                page->off);
}

/* ---- memory without a name ------------------------------------------------------------------ */

#define MOST_NAMES 16u

struct named {
    const char *name[MOST_NAMES], *about[MOST_NAMES];
    unsigned count;
};

/* "heap#3+8" is a name that only this run has; of a stack there is no more to say. */
static void print_about(const struct hd_page *page, struct named *told, const char *name,
                        const char *about) {
    if (strcmp(name, about) == 0 || strncmp(name, "stack of ", 9) == 0) return;
    for (unsigned i = 0; i < told->count; i++)
        if (strcmp(told->name[i], name) == 0 && strcmp(told->about[i], about) == 0) return;
    if (told->count == MOST_NAMES) return;
    told->name[told->count] = name;
    told->about[told->count++] = about;
    size_t named = strlen(name);
    if (strncmp(name, about, named) == 0 && about[named] == ' ')
        fprintf(page->out, "    %s\n", about); /* its name, and more */
    else
        fprintf(page->out, "    %s: %s\n", name, about);
}

static void print_memory(const struct hd_page *page, const struct hd_finding *finding) {
    struct named told = {.count = 0};
    for (uint32_t i = 0; i < finding->events; i++)
        if (hd_finding_in_words(i, finding->events))
            print_about(page, &told, finding->event[i].variable, finding->event[i].about);
    for (uint32_t i = 0; i < finding->events; i++)
        for (uint32_t k = 0; hd_finding_in_words(i, finding->events) && k < finding->event[i].locks;
             k++)
            print_about(page, &told, finding->event[i].lock[k].name,
                        finding->event[i].lock[k].about);
}

/* ---- the page ------------------------------------------------------------------------------- */

/* What was tried, and what came of it. */
static void print_cause(const struct hd_page *page, const struct hd_finding_forced *forced) {
    char text[2300];
    hd_words_cause(forced, text, sizeof text);
    if (*text != '\0') hd_page_paragraph(page, 2, text);
}

static void print_rate(const struct hd_page *page, const struct hd_finding_forced *forced) {
    if (forced->runs > 0) {
        fprintf(page->out, "\n  %sReproduced %u of %u%s", page->bold, forced->reproduced,
                forced->runs, page->off);
        if (forced->switches_before > 0) {
            fprintf(page->out, ", with ");
            if (forced->switches == 0)
                fprintf(page->out, "no context switch");
            else
                fprintf(page->out, "%u context switch%s", forced->switches,
                        forced->switches == 1 ? "" : "es");
            if (forced->switches < forced->switches_before)
                fprintf(page->out, " (%u before minimising)", forced->switches_before);
        }
        fprintf(page->out, ".\n");
    }
    print_cause(page, forced);
    if (*forced->command != '\0')
        fprintf(page->out, "  Again:  %s%s%s\n", page->bold, forced->command, page->off);
}

void hd_report_hunted(FILE *out, const struct hd_finding *finding,
                      const struct hd_report_style *style) {
    struct hd_page page = hd_page_for(out, style);
    print_title(&page, finding);
    print_story(&page, finding);
    if (finding->forced != NULL) print_orders(&page, finding->forced);
    fputc('\n', out);
    hd_page_events(&page, 4, finding, print_event);
    print_memory(&page, finding);
    if (*finding->support != '\0') {
        char line[1024];
        snprintf(line, sizeof line, "Support: %s.", finding->support);
        fputc('\n', out);
        hd_page_paragraph(&page, 2, line);
    }
    const char *repair = hd_finding_repair(finding);
    if (*repair != '\0') {
        char line[1024];
        snprintf(line, sizeof line, "Usual repairs: %s.", repair);
        fputc('\n', out);
        hd_page_paragraph(&page, 2, line);
    }
    if (finding->forced != NULL) print_rate(&page, finding->forced);
    fputc('\n', out);
}

void hd_report_hunted_line(FILE *out, const struct hd_finding *finding,
                           const struct hd_report_style *style) {
    struct hd_page page = hd_page_for(out, style);
    fprintf(out, "  %s on %s", hd_finding_kind_name(finding->kind), finding->variable);
    if (finding->pattern != NULL) fprintf(out, " (%s)", finding->pattern);
    /* What they do is part of it, where no pattern says so. */
    bool told = finding->pattern != NULL;
    for (uint32_t i = 0; i < finding->events; i++)
        if (hd_finding_in_words(i, finding->events))
            fprintf(out, "%s%s%s%s", i == 0 ? ": " : ", ", told ? "" : finding->event[i].op,
                    told ? "" : " ", hd_finding_short_site(finding->event[i].site));
    fprintf(out, "  %s%s%s\n", page.dim, finding->fingerprint, page.off);
}
