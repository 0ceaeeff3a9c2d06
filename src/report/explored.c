/* What `heddle hunt` found, for a person and as JSON; and lines that it shares with expose. See
 * explored.h. */
#include "report/explored.h"

#include "base/alloc.h"
#include "report/hunt.h"
#include "report/page.h"

#include <string.h>

void hd_report_output(FILE *out, const struct hd_exploration *exploration) {
    if (exploration->output_differs == 0) return;
    fprintf(out,
            "Output depends on the schedule: in %u of %u run%s, %s. This is no failure; with "
            "--same-output it is.\n",
            exploration->output_differs, exploration->output_runs,
            hd_page_plural(exploration->output_runs), exploration->output_words);
}

static void cut_words(const struct hd_exploration *exploration, char *text, size_t room) {
    snprintf(text, room,
             "%u run%s had not ended when the time was up and may hang (--time, --limit).",
             exploration->cut, hd_page_plural(exploration->cut));
}

void hd_report_cut(FILE *out, const struct hd_exploration *exploration) {
    char text[128];
    if (exploration->cut == 0) return;
    cut_words(exploration, text, sizeof text);
    fprintf(out, "%s\n", text);
}

/* ---- hunt ----------------------------------------------------------------------------------- */

void hd_report_coverage(FILE *out, const struct hd_exploration *exploration) {
    const struct hd_cover *cover = exploration->cover;
    if (cover == NULL || cover->run.size == 0) return;
    struct hd_cover_count def_use = hd_cover_count(cover, HD_COVER_DEF_USE);
    struct hd_cover_count lr_inv = hd_cover_count(cover, HD_COVER_LR_INV);
    fprintf(out, "Coverage: Def-Use %u of %u feasible, LR-Inv %u of %u, in %zu traced run%s\n",
            def_use.covered, def_use.properties - def_use.infeasible, lr_inv.covered,
            lr_inv.properties - lr_inv.infeasible, cover->run.size,
            hd_page_plural(cover->run.size));
}

/* What was not looked at, in sentences; returns how many there are. */
static unsigned make_notes(const struct hd_exploration *hunt, char note[HD_EXPLORED_NOTES][768]) {
    unsigned count = 0;
    const size_t room = sizeof *note;
    if (hunt->runs.forced > 0 && hunt->reached == 0 && hunt->refuted == 0)
        snprintf(note[count++], room,
                 "No forced run reached its target. The program probably depends on time, input or "
                 "uninstrumented code; `heddle replay --check` shows which.");
    if (hunt->refuted > 0)
        snprintf(note[count++], room,
                 "%u predicted order%s not reported: every time %s forced, the program diverged "
                 "before it; uninstrumented code probably prevents %s.",
                 hunt->refuted, hunt->refuted == 1 ? " is" : "s are",
                 hunt->refuted == 1 ? "it was" : "they were", hunt->refuted == 1 ? "it" : "them");
    if (hunt->left > 0)
        snprintf(note[count++], room,
                 "%u prediction%s not forced: the time or the runs were used up (--time, --runs).",
                 hunt->left, hunt->left == 1 ? " was" : "s were");
    if (hunt->flaky)
        snprintf(note[count++], room,
                 "A forced run failed (%s), but plain runs fail as often (%u of %u): not reported.",
                 hunt->flaky_outcome.words, hunt->plain_failed, hunt->plain_tries);
    if (hunt->cut > 0) cut_words(hunt, note[count++], room);
    if (hunt->interrupted)
        snprintf(note[count++], room, "Stopped by a signal: not everything was tried.");
    return count;
}

static void print_runs(FILE *out, const struct hd_exploration *hunt) {
    const struct hd_explore_runs *runs = &hunt->runs;
    fprintf(out, "%u plain run%s, %u recorded (%u thread%s, %u event%s), %u forced", runs->plain,
            hd_page_plural(runs->plain), runs->recorded, hunt->threads,
            hd_page_plural(hunt->threads), hunt->events, hd_page_plural(hunt->events),
            runs->forced);
    if (hunt->first_failure > 0) fprintf(out, " (number %u failed first)", hunt->first_failure);
    if (runs->forced > 0) fprintf(out, ": %u reached the target", hunt->reached);
    if (hunt->diverged > 0) fprintf(out, ", %u diverged", hunt->diverged);
    if (hunt->foreseen > 0) fprintf(out, " (and %u that begin alike were not run)", hunt->foreseen);
    if (runs->closing > 0) fprintf(out, "; %u to close", runs->closing);
    const struct hd_explore_runs *until = &hunt->until_failure;
    if (hunt->first_failure == 0 && hunt->failures > 0 && until->closing > 0 && until->steered == 0)
        fprintf(out, " (number %u failed first)", until->closing);
    if (runs->steered > 0) fprintf(out, "; %u under expose's strategies", runs->steered);
    fprintf(out, "; %.1f s\n", hunt->seconds);
    char note[HD_EXPLORED_NOTES][768];
    unsigned notes = make_notes(hunt, note);
    for (unsigned i = 0; i < notes; i++) fprintf(out, "%s\n", note[i]);
}

/* Which of them gets what. */
enum part {
    PART_PAGE,      /* all about it */
    PART_SAME,      /* fails in the same way as one with a page */
    PART_ELSEWHERE, /* another race on a variable that has a page, without a failure */
    PART_OPEN,      /* a suspicion that was not confirmed */
    PART_EXERCISED
};

static enum part part_of(const struct hd_exploration *hunt, size_t i) {
    const struct hd_finding *finding = &hunt->findings.list.data[i];
    if (!hd_explored_matters(finding)) return hd_is_suspicion(finding) ? PART_OPEN : PART_EXERCISED;
    if (finding->forced != NULL && finding->forced->failed)
        return *finding->forced->same_as == '\0' ? PART_PAGE : PART_SAME;
    for (size_t k = 0; k < i && finding->kind == HD_FINDING_RACE; k++) {
        const struct hd_finding *before = &hunt->findings.list.data[k];
        if (before->kind == HD_FINDING_RACE && strcmp(before->variable, finding->variable) == 0)
            return PART_ELSEWHERE;
    }
    return PART_PAGE;
}

/* Lines for findings that get no page of their own. */
static void print_list(FILE *out, const struct hd_exploration *hunt, const char *title,
                       enum part part, const struct hd_report_style *style) {
    bool any = false;
    for (size_t i = 0; i < hunt->findings.list.size; i++) {
        const struct hd_finding *finding = &hunt->findings.list.data[i];
        if (part_of(hunt, i) != part) continue;
        if (!any) fprintf(out, "%s\n", title);
        any = true;
        hd_report_hunted_line(out, finding, style);
        if (part == PART_OPEN) fprintf(out, "    %s\n", finding->how);
    }
    if (any) fputc('\n', out);
}

void hd_report_hunt(FILE *out, const struct hd_exploration *hunt, bool all, size_t most,
                    const struct hd_report_style *style) {
    unsigned exercised = 0;
    size_t pages = 0;
    for (size_t i = 0; i < hunt->findings.list.size; i++) {
        const struct hd_finding *finding = &hunt->findings.list.data[i];
        enum part part = part_of(hunt, i);
        if (part == PART_PAGE && (++pages <= most || most == 0))
            hd_report_hunted(out, finding, style);
        exercised += part == PART_EXERCISED;
    }
    if (most > 0 && pages > most) hd_page_not_shown(out, pages - most);
    print_list(out, hunt, "These fail in the same way:", PART_SAME, style);
    print_list(out, hunt, "More races on the same variables:", PART_ELSEWHERE, style);
    print_list(out, hunt, "Not confirmed:", PART_OPEN, style);
    if (all) print_list(out, hunt, "Forced without any harm:", PART_EXERCISED, style);
    if (!hd_explored_any(hunt) && hunt->plain_failed > 0)
        fprintf(
            out,
            "The program fails by itself: %u of %u plain runs failed (%s). No schedule that was "
            "tried\nmakes it fail%s.\n",
            hunt->plain_failed, hunt->plain_tries, hunt->plain_outcome.words,
            hunt->interrupted ? " so far" : " more often");
    else if (!hd_explored_any(hunt) && hunt->child_threads && hunt->threads <= 1)
        fputs("Nothing was looked at: all threads are in child processes, which were not "
              "recorded.\n--follow-fork looks at them.\n",
              out);
    else if (!hd_explored_any(hunt))
        fprintf(out, "Nothing found%s: no schedule that was tried makes the program fail.\n",
                hunt->interrupted ? " so far" : "");
    if (exercised > 0 && !all)
        fprintf(out, "%u order%s forced without any harm (--all lists them)\n", exercised,
                exercised == 1 ? " was" : "s were");
    hd_report_output(out, hunt);
    hd_report_closed(out, hunt, style);
    hd_report_coverage(out, hunt);
    print_runs(out, hunt);
}

/* ---- for other formats ---------------------------------------------------------------------- */

/* Did it stop before all that was asked for was done? */
static bool ended_early(const struct hd_exploration *hunt) {
    return hunt->end == HD_END_FAILURE || hunt->end == HD_END_TIME || hunt->end == HD_END_STOPPED ||
           hunt->interrupted != 0 || hunt->left > 0 || hunt->cut > 0;
}

void hd_explored_input(const struct hd_exploration *hunt, const struct hd_program *program,
                       struct hd_explored_input *made) {
    const struct hd_report_number effort[] = {
        {"plain", hunt->runs.plain},
        {"plain_failed", hunt->plain_failed},
        {"recorded", hunt->runs.recorded},
        {"recorded_failed", hunt->recorded_failed},
        {"forced", hunt->runs.forced},
        {"first_failure", hunt->first_failure},
        {"reached", hunt->reached},
        {"diverged", hunt->diverged},
        {"foreseen", hunt->foreseen},
        {"refuted", hunt->refuted},
        {"closing", hunt->runs.closing},
        {"exposed", hunt->runs.steered},
        {"minimised", hunt->runs.asked},
        {"repeated", hunt->runs.repeated},
        {"targets", hunt->targets},
        {"left", hunt->left},
        {"output_differs", hunt->output_differs},
        {"milliseconds", (uint64_t)(hunt->seconds * 1000)},
        {"failure_milliseconds", (uint64_t)(hunt->failure_seconds * 1000)}};
    _Static_assert(sizeof effort == sizeof made->effort, "HD_EXPLORED_EFFORTS");
    memcpy(made->effort, effort, sizeof effort);
    made->command = hd_quote_command(program->argv);
    unsigned notes = make_notes(hunt, made->note);
    for (unsigned i = 0; i < notes; i++) made->notes[i] = made->note[i];
    made->input = (struct hd_report_input){.path = program->argv[0],
                                           .format = "program",
                                           .build = hunt->build[0] != '\0' ? hunt->build : NULL,
                                           .partial = ended_early(hunt),
                                           .command = made->command,
                                           .events = hunt->events,
                                           .threads = hunt->threads,
                                           .effort = made->effort,
                                           .efforts = HD_EXPLORED_EFFORTS,
                                           .note = made->notes,
                                           .notes = notes};
}

void hd_explored_input_free(struct hd_explored_input *made) { free(made->command); }

struct hd_findings hd_explored_shown(struct hd_exploration *hunt, bool all) {
    struct hd_findings shown = hunt->findings;
    size_t kept = 0, count = hunt->findings.list.size;
    shown.list.data = hd_zalloc(count, sizeof *shown.list.data);
    for (size_t i = 0; i < count; i++)
        if (all || hd_explored_matters(&hunt->findings.list.data[i]) ||
            hd_is_suspicion(&hunt->findings.list.data[i]))
            shown.list.data[kept++] = hunt->findings.list.data[i];
    shown.list.size = kept;
    shown.summary.hidden = count - kept;
    /* what would not have been shown anyway is not counted as hidden by suppressions */
    kept = 0;
    for (size_t i = 0; i < hunt->findings.hidden.size; i++)
        if (all || hd_explored_matters(&hunt->findings.hidden.data[i]))
            hunt->findings.hidden.data[kept++] = hunt->findings.hidden.data[i];
    shown.hidden.size = hunt->findings.hidden.size = kept;
    return shown;
}
