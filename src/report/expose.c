/* What `heddle expose` did, for a person and as JSON. See explored.h. */
#include "report/explored.h"
#include "report/page.h"

#include <string.h>

enum verdict { NOTHING, EXPOSED, FLAKY, STOPPED, HIDDEN };

bool hd_exposed_shown(const struct hd_exploration *r) {
    const struct hd_findings *findings = &r->findings;
    return r->failures > 0 && findings->list.size > 0 && findings->list.data[0].forced != NULL &&
           findings->list.data[0].forced->failed;
}

static enum verdict verdict_of(const struct hd_exploration *r) {
    if (r->failures > 0) return hd_exposed_shown(r) ? EXPOSED : HIDDEN;
    return r->interrupted ? STOPPED : r->flaky ? FLAKY : NOTHING;
}

static const struct hd_finding *found(const struct hd_exploration *r) {
    return &r->findings.list.data[0];
}

/* Until the failure, if there is one. */
static const struct hd_explore_runs *runs_of(const struct hd_exploration *r) {
    return r->failures > 0 ? &r->until_failure : &r->runs;
}
static uint64_t count_runs(const struct hd_exploration *r) {
    const struct hd_explore_runs *runs = runs_of(r);
    return (uint64_t)runs->plain + runs->recorded + runs->steered;
}
static double seconds_of(const struct hd_exploration *r) {
    return r->failures > 0 ? r->failure_seconds : r->seconds;
}

static void print_runs(FILE *out, const struct hd_exploration *r) {
    const struct hd_explore_runs *runs = runs_of(r);
    uint64_t all = count_runs(r);
    fprintf(out, "%llu run%s (%u plain", (unsigned long long)all, hd_page_plural(all), runs->plain);
    if (runs->recorded) fprintf(out, ", %u profiled", runs->recorded);
    if (runs->steered) fprintf(out, ", %u steered", runs->steered);
    fprintf(out, ", %.1f seconds)", seconds_of(r));
}

/* "read", "written"; "freed"; "used" where no pattern says what matters. */
static const char *done_by(const struct hd_finding *finding, uint32_t i, const char *reads,
                           const char *writes, const char *frees) {
    const struct hd_finding_event *event = &finding->event[i];
    if (strcmp(event->op, "free") == 0) return frees;
    if (finding->pattern == NULL) return "used";
    return finding->pattern[2 * i] == 'R' ? reads : writes;
}

/* "log.c:57 (append)" */
static void place_text(const struct hd_finding_event *event, char *text, size_t room) {
    bool known = *event->function != '\0';
    snprintf(text, room, "%s%s%s%s", hd_finding_short_site(event->site), known ? " (" : "",
             event->function, known ? ")" : "");
}

/* Two sentences: what ran between what, and what came of it. */
static void what_text(const struct hd_finding *finding, char *text, size_t room) {
    char place[3][200];
    for (uint32_t i = 0; i < finding->events && i < 3; i++)
        place_text(&finding->event[i], place[i], sizeof place[i]);
    int used = 0;
    if (finding->events == 3)
        used = snprintf(text, room,
                        "%s is %s at %s and %s at %s, and another thread gets in between: it is %s "
                        "at %s.",
                        finding->variable, done_by(finding, 0, "read", "written", "freed"),
                        place[0], done_by(finding, 2, "read", "written", "freed"), place[2],
                        done_by(finding, 1, "read", "written", "freed"), place[1]);
    else if (finding->events == 2)
        used = snprintf(text, room,
                        "%s is used at %s and, without order, by another thread at %s, which came "
                        "first this time.",
                        finding->variable, place[1], place[0]);
    else
        used = snprintf(text, room, "%s", finding->conclusion);
    if (used > 0 && (size_t)used < room)
        snprintf(text + used, room - (size_t)used, " The run ended badly: %s.",
                 finding->forced->words);
}

static void print_critical(FILE *out, const struct hd_finding *finding) {
    static const char role[] = {'P', 'R', 'C'};
    if (finding->events < 2) return;
    fprintf(out, "\n%s\n", finding->variable);
    for (uint32_t i = 0; i < finding->events && i < 3; i++) {
        const struct hd_finding_event *event = &finding->event[i];
        fprintf(out, "  %c  %-7s %s", role[finding->events == 3 ? i : i + 1],
                done_by(finding, i, "read", "write", "free"), event->site);
        if (*event->function != '\0') fprintf(out, " in %s", event->function);
        fputc('\n', out);
    }
}

static void print_stats(FILE *out, const struct hd_exploration *r, enum hd_strategy strategy) {
    if (strategy == HD_STRATEGY_CTRIGGER) {
        fprintf(out,
                "interleavings: %u potential (%llu shared access%s), pruned: %u by order, %u by "
                "mutual exclusion, %u by poly; %u seen in the profile, %u left\n",
                r->counts.potential, (unsigned long long)r->accesses, r->accesses == 1 ? "" : "es",
                r->counts.order, r->counts.exclusion, r->counts.poly, r->counts.exercised,
                r->counts.left);
        fprintf(out,
                "pairs: %u that could come in the other order, %u of them did in the profile\n",
                r->counts.pairs, r->counts.pairs_exercised);
    }
    if (r->candidates > 0)
        fprintf(out, "candidates: %u, tried %u, brought about %u%s", r->candidates, r->tried,
                r->brought_about, r->rank ? "" : "\n");
    if (r->rank) fprintf(out, "; the failing one ranked %u\n", r->rank);
}

static void print_rate(FILE *out, const struct hd_exploration *r) {
    const struct hd_finding_forced *forced = found(r)->forced;
    if (r->has_schedule)
        fprintf(out,
                "\nreproduced %u of %u, with %u context switch%s (%u before minimising); by %s %u "
                "of %u, in plain runs %u of %u\n",
                forced->reproduced, forced->runs, forced->switches,
                forced->switches == 1 ? "" : "es", forced->switches_before, r->control,
                r->control_reproduced, r->control_tries, r->plain_failed, r->plain_tries);
    else
        fprintf(out, "\nreproduced %u of %u (plain runs failed %u of %u)\n", forced->reproduced,
                forced->runs, r->plain_failed, r->plain_tries);
}

static void print_exposed(FILE *out, const struct hd_exploration *r, const char *strategy,
                          const struct hd_report_style *style) {
    struct hd_page page = hd_page_for(out, style);
    const struct hd_finding *finding = found(r);
    char what[2048];
    fprintf(out, "%sexposed%s by %s in ", page.red, page.off, strategy);
    print_runs(out, r);
    what_text(finding, what, sizeof what);
    fprintf(out, "\n%s\n", what);
    print_critical(out, finding);
    print_rate(out, r);
    if (*finding->forced->command != '\0') fprintf(out, "again: %s\n", finding->forced->command);
    fprintf(out, "fingerprint: %s\n", finding->fingerprint);
}

static void print_nothing(FILE *out, const struct hd_exploration *r, const char *strategy) {
    static const char *const why[] = {[HD_END_FAILURE] = "",
                                      [HD_END_RUNS] = "no more runs",
                                      [HD_END_TIME] = "no more time",
                                      [HD_END_EXHAUSTED] = "nothing left to try",
                                      [HD_END_COVERED] = "nothing feasible is left to cover",
                                      [HD_END_STOPPED] = "stopped"};
    fprintf(out, "nothing exposed by %s in ", strategy);
    print_runs(out, r);
    fprintf(out, ": %s\n", r->interrupted ? "stopped" : why[r->end]);
    if (!r->interrupted && r->end == HD_END_EXHAUSTED)
        fprintf(out, "(heddle hunt also predicts, and looks for longer cycles of locks and stolen "
                     "wake-ups)\n");
}

void hd_report_exposed(FILE *out, const struct hd_exploration *r, enum hd_strategy strategy,
                       bool stats, const struct hd_report_style *style) {
    const char *name = hd_strategy_name(strategy);
    switch (verdict_of(r)) {
    case EXPOSED:
        print_exposed(out, r, name, style);
        break;
    case FLAKY:
        fprintf(out, "flaky: the program %s, and in plain runs as often (%u of %u)\n",
                r->flaky_outcome.words, r->plain_failed, r->plain_tries);
        break;
    case HIDDEN:
        fprintf(out, "exposed by %s, and hidden: ", name);
        print_runs(out, r);
        fputc('\n', out);
        break;
    case NOTHING:
    case STOPPED:
        print_nothing(out, r, name);
        break;
    }
    hd_report_output(out, r);
    hd_report_cut(out, r);
    hd_report_coverage(out, r);
    if (stats) print_stats(out, r, strategy);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_t *access_of(const struct hd_finding_event *event) {
    return json_pack("{s:o, s:o}", "site", hd_json_text(event->site), "function",
                     hd_json_text(event->function));
}

static json_t *critical_of(const struct hd_exploration *r, const struct hd_finding *finding) {
    const struct hd_finding_event *event = finding->event;
    bool three = finding->events == 3;
    json_t *critical = json_object();
    json_object_set_new(critical, "variable", hd_json_text(finding->variable));
    if (three) {
        json_object_set_new(critical, "pattern", hd_json_text(finding->pattern));
        json_object_set_new(critical, "p", access_of(&event[0]));
    }
    json_object_set_new(critical, "r", access_of(&event[three ? 1 : 0]));
    json_object_set_new(critical, "c", access_of(&event[three ? 2 : 1]));
    if (r->rank) json_object_set_new(critical, "rank", json_integer(r->rank));
    return critical;
}

static json_t *counts_of(const struct hd_exploration *r) {
    return json_pack("{s:I, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "shared_accesses",
                     (json_int_t)r->accesses, "potential", r->counts.potential, "pruned_order",
                     r->counts.order, "pruned_exclusion", r->counts.exclusion, "pruned_poly",
                     r->counts.poly, "exercised_by_profile", r->counts.exercised, "pairs",
                     r->counts.pairs, "pairs_exercised", r->counts.pairs_exercised, "candidates",
                     r->candidates, "tried", r->tried, "forced", r->brought_about);
}

static void add_failure(json_t *root, const struct hd_exploration *r) {
    const struct hd_finding *finding = found(r);
    const struct hd_finding_forced *forced = finding->forced;
    char what[2048];
    what_text(finding, what, sizeof what);
    json_object_set_new(root, "kind", json_string(hd_finding_kind_name(finding->kind)));
    json_object_set_new(root, "fingerprint", json_string(finding->fingerprint));
    json_object_set_new(root, "what", hd_json_text(what));
    json_object_set_new(root, "reproduced", json_integer(forced->reproduced));
    json_object_set_new(root, "tries", json_integer(forced->runs));
    json_object_set_new(root, "control_reproduced", json_integer(r->control_reproduced));
    json_object_set_new(root, "control_tries", json_integer(r->control_tries));
    json_object_set_new(root, "switches",
                        r->has_schedule ? json_integer(forced->switches) : json_null());
    json_object_set_new(root, "reproducer", hd_json_text(forced->reproducer));
    if (finding->events >= 2) json_object_set_new(root, "critical", critical_of(r, finding));
}

json_t *hd_report_exposed_json(const struct hd_exploration *r, enum hd_strategy strategy) {
    static const char *const word[] = {"nothing", "exposed", "flaky", "stopped", "hidden"};
    static const char *const end[] = {"failure", "runs", "time", "exhausted", "covered", "stopped"};
    enum verdict verdict = verdict_of(r);
    const struct hd_explore_runs *runs = runs_of(r);
    json_t *root = json_pack(
        "{s:s, s:s, s:s, s:I, s:i, s:i, s:i, s:f, s:i, s:i, s:i, s:o}", "strategy",
        hd_strategy_name(strategy), "verdict", word[verdict], "end", end[r->end], "runs",
        (json_int_t)count_runs(r), "plain", runs->plain, "profiled", runs->recorded, "steered",
        runs->steered, "seconds", seconds_of(r), "plain_failed", r->plain_failed, "plain_tries",
        r->plain_tries, "output_differs", r->output_differs, "interleavings", counts_of(r));
    if (verdict == EXPOSED) {
        json_object_set_new(root, "outcome", json_string(found(r)->forced->outcome));
        json_object_set_new(root, "outcome_text", hd_json_text(found(r)->forced->words));
        add_failure(root, r);
    } else if (verdict == FLAKY) {
        json_object_set_new(root, "outcome", json_string(hd_outcome_name(r->flaky_outcome.kind)));
        json_object_set_new(root, "outcome_text", hd_json_text(r->flaky_outcome.words));
    }
    return root;
}
