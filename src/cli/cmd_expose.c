/* heddle expose: run a program under a strategy until it fails, save what makes it fail. */
#include "base/clock.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/explored.h"
#include "cli/names_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "explore/explore.h"
#include "toolchain/compiler.h"

#include <stdlib.h>
#include <string.h>

#define COMMAND "expose"

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

/* ---- progress ------------------------------------------------------------------------------- */

static void draw(void *context, const struct hd_explore_progress *progress) {
    struct hd_status_line *drawn = context;
    if (!hd_status_line_due(drawn, progress->what)) return;
    char line[512];
    double seconds = (double)(hd_now_ns() - drawn->start_ns) * 1e-9;
    int used = snprintf(line, sizeof line, "%s: %llu run%s", progress->what,
                        (unsigned long long)progress->runs, plural(progress->runs));
    if (progress->all != 0)
        used += snprintf(line + used, sizeof line - (size_t)used, ", %u of %u", progress->done,
                         progress->all);
    if (seconds > 0.2)
        used += snprintf(line + used, sizeof line - (size_t)used, ", %.0f/s",
                         (double)progress->runs / seconds);
    if (progress->best[0] != '\0')
        snprintf(line + used, sizeof line - (size_t)used, "  %s", progress->best);
    hd_status_line_draw(drawn, line);
}

static void list_candidate(void *context, uint32_t rank, const struct hd_interleaving *it,
                           const char *words) {
    hd_status_line_wipe(context);
    printf("%4u  %-5s  gap %llu in %llu%s  %s\n", rank, it->p ? hd_pattern_name(it->pattern) : "",
           (unsigned long long)it->gap, (unsigned long long)it->pairs,
           it->exercised ? ", seen in the profile" : "", words);
}

/* ---- the report ----------------------------------------------------------------------------- */

enum verdict { NOTHING, EXPOSED, FLAKY, STOPPED };

static enum verdict verdict_of(const struct hd_exploration *r) {
    if (r->failures > 0) return EXPOSED;
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

static void print_runs(const struct hd_exploration *r) {
    const struct hd_explore_runs *runs = runs_of(r);
    uint64_t all = count_runs(r);
    printf("%llu run%s (%u plain", (unsigned long long)all, plural(all), runs->plain);
    if (runs->recorded) printf(", %u profiled", runs->recorded);
    if (runs->steered) printf(", %u steered", runs->steered);
    printf(", %.1f seconds)", seconds_of(r));
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

static void print_critical(const struct hd_finding *finding) {
    static const char role[] = {'P', 'R', 'C'};
    if (finding->events < 2) return;
    printf("\n%s\n", finding->variable);
    for (uint32_t i = 0; i < finding->events && i < 3; i++) {
        const struct hd_finding_event *event = &finding->event[i];
        printf("  %c  %-7s %s", role[finding->events == 3 ? i : i + 1],
               done_by(finding, i, "read", "write", "free"), event->site);
        if (*event->function != '\0') printf(" in %s", event->function);
        putchar('\n');
    }
}

static void print_stats(const struct hd_exploration *r, enum hd_strategy strategy) {
    if (strategy == HD_STRATEGY_CTRIGGER) {
        printf("interleavings: %u potential (%llu shared access%s), pruned: %u by order, %u by "
               "mutual exclusion, %u by poly; %u seen in the profile, %u left\n",
               r->counts.potential, (unsigned long long)r->accesses, r->accesses == 1 ? "" : "es",
               r->counts.order, r->counts.exclusion, r->counts.poly, r->counts.exercised,
               r->counts.left);
        printf("pairs: %u that could come in the other order, %u of them did in the profile\n",
               r->counts.pairs, r->counts.pairs_exercised);
    }
    if (r->candidates > 0)
        printf("candidates: %u, tried %u, brought about %u%s", r->candidates, r->tried,
               r->brought_about, r->rank ? "" : "\n");
    if (r->rank) printf("; the failing one ranked %u\n", r->rank);
}

static void print_rate(const struct hd_exploration *r) {
    const struct hd_finding_forced *forced = found(r)->forced;
    if (r->has_schedule)
        printf("\nreproduced %u of %u, with %u context switch%s (%u before minimising); by %s %u "
               "of %u, in plain runs %u of %u\n",
               forced->reproduced, forced->runs, forced->switches,
               forced->switches == 1 ? "" : "es", forced->switches_before, r->control,
               r->control_reproduced, r->control_tries, r->plain_failed, r->plain_tries);
    else
        printf("\nreproduced %u of %u (plain runs failed %u of %u)\n", forced->reproduced,
               forced->runs, r->plain_failed, r->plain_tries);
}

static void print_exposed(const struct hd_exploration *r, const char *strategy) {
    const struct hd_finding *finding = found(r);
    char what[2048];
    printf("%sexposed%s by %s in ", hd_style_on(stdout, HD_STYLE_RED), hd_style_off(stdout),
           strategy);
    print_runs(r);
    what_text(finding, what, sizeof what);
    printf("\n%s\n", what);
    print_critical(finding);
    print_rate(r);
    if (*finding->forced->command != '\0') printf("again: %s\n", finding->forced->command);
    printf("fingerprint: %s\n", finding->fingerprint);
}

static void print_nothing(const struct hd_exploration *r, const char *strategy) {
    static const char *const why[] = {[HD_END_FAILURE] = "",
                                      [HD_END_RUNS] = "no more runs",
                                      [HD_END_TIME] = "no more time",
                                      [HD_END_EXHAUSTED] = "nothing left to try",
                                      [HD_END_STOPPED] = "stopped"};
    printf("nothing exposed by %s in ", strategy);
    print_runs(r);
    printf(": %s\n", r->interrupted ? "stopped" : why[r->end]);
    if (!r->interrupted && r->end == HD_END_EXHAUSTED)
        printf("(heddle hunt also predicts, and looks for longer cycles of locks and stolen "
               "wake-ups)\n");
}

static void print_text(const struct hd_exploration *r, enum hd_strategy strategy, bool stats) {
    const char *name = hd_strategy_name(strategy);
    switch (verdict_of(r)) {
    case EXPOSED:
        print_exposed(r, name);
        break;
    case FLAKY:
        printf("flaky: the program %s, and in plain runs as often (%u of %u)\n",
               r->flaky_outcome.words, r->plain_failed, r->plain_tries);
        break;
    case NOTHING:
    case STOPPED:
        print_nothing(r, name);
        break;
    }
    hd_print_output(r);
    hd_print_cut(r);
    if (stats) print_stats(r, strategy);
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

static void print_json(const struct hd_exploration *r, enum hd_strategy strategy) {
    static const char *const word[] = {"nothing", "exposed", "flaky", "stopped"};
    static const char *const end[] = {"failure", "runs", "time", "exhausted", "stopped"};
    enum verdict verdict = verdict_of(r);
    const struct hd_explore_runs *runs = runs_of(r);
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:s, s:I, s:i, s:i, s:i, s:f, s:i, s:i, s:i, s:o}", "schema",
                  "heddle-expose/1", "strategy", hd_strategy_name(strategy), "verdict",
                  word[verdict], "end", end[r->end], "runs", (json_int_t)count_runs(r), "plain",
                  runs->plain, "profiled", runs->recorded, "steered", runs->steered, "seconds",
                  seconds_of(r), "plain_failed", r->plain_failed, "plain_tries", r->plain_tries,
                  "output_differs", r->output_differs, "interleavings", counts_of(r));
    if (verdict == EXPOSED) {
        json_object_set_new(root, "outcome", json_string(found(r)->forced->outcome));
        json_object_set_new(root, "outcome_text", hd_json_text(found(r)->forced->words));
        add_failure(root, r);
    } else if (verdict == FLAKY) {
        json_object_set_new(root, "outcome", json_string(hd_outcome_name(r->flaky_outcome.kind)));
        json_object_set_new(root, "outcome_text", hd_json_text(r->flaky_outcome.words));
    }
    json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(4));
    putchar('\n');
    json_decref(root);
}

/* ---- the command ---------------------------------------------------------------------------- */

static int finish(const struct hd_exploration *r, enum hd_strategy strategy, bool json,
                  bool stats) {
    if (json)
        print_json(r, strategy);
    else
        print_text(r, strategy, stats);
    if (r->unsaved.code != HD_OK) hd_warn(COMMAND, "%s", r->unsaved.message);
    if (!hd_finish_output(COMMAND)) return HD_EXIT_FAILED;
    switch (verdict_of(r)) {
    case EXPOSED:
        return HD_EXIT_FINDINGS;
    case FLAKY:
        return HD_EXIT_FAILED;
    default:
        return HD_EXIT_CLEAN;
    }
}

int hd_cmd_expose(int argc, char **argv) {
    unsigned strategy = 0, prune = 0, context = 0, format = 0;
    uint64_t seconds = 60, runs = 0, seed = 1, tries = 20, plain = 3, profile = 6, depth = 3;
    uint64_t timeout = 25, targets = 8, limit = 0, good_status = 0;
    const char *oracle = NULL, *output = NULL, *input = NULL;
    bool same_output = false, stats = false, aslr = false, list = false, keep_control = false;
    const char *names = NULL;
    struct hd_option options[] = {
        HD_CHOICE("strategy", 0, "S", &strategy, "ctrigger|stress|sync|race|pct|pos",
                  "how threads are steered (default ctrigger)"),
        HD_NUMBER("time", 't', "SECONDS", &seconds, 0, 1000000,
                  "stop after so long (default 60; 0: no limit)"),
        HD_NUMBER("runs", 0, "N", &runs, 0, UINT64_MAX, "stop after N runs (default: no limit)"),
        HD_TEXT("oracle", 0, "CMD", &oracle,
                "shell command that judges a run: its input is the program's output"),
        HD_NUMBER("good-status", 0, "N", &good_status, 0, 255,
                  "exit status of a run that did not fail (default 0)"),
        HD_FLAG("same-output", 0, &same_output,
                "a run fails if it prints other lines than the first plain run"),
        HD_TEXT("input", 0, "FILE", &input, "standard input of each run (default /dev/null)"),
        HD_NUMBER("limit", 'l', "SECONDS", &limit, 1, 1000000,
                  "a run that takes longer hangs (default: from the plain runs)"),
        HD_NUMBER("seed", 's', "N", &seed, 0, UINT64_MAX, "seed of the first run (default 1)"),
        HD_TEXT("output", 'o', "FILE", &output,
                "where the reproducer goes (default NAME.expose.json)"),
        HD_NUMBER("repeat", 0, "N", &tries, 0, 100000,
                  "how often to try to reproduce a failure (default 20)"),
        HD_FLAG("control", 0, &keep_control,
                "keep how the failing run was steered, not its schedule"),
        HD_NUMBER("plain", 0, "N", &plain, 1, 100000, "plain runs before all others (default 3)"),
        HD_NUMBER("profile", 0, "N", &profile, 1, 1000,
                  "ctrigger, race: profile at most N runs (default 6)"),
        HD_CHOICE("prune", 0, "P", &prune, "rules|poly|none",
                  "ctrigger: what is left out as impossible (default rules)"),
        HD_CHOICE("context", 0, "C", &context, "none|caller|thread",
                  "ctrigger, race: suspend only in the profiled caller, or thread too"),
        HD_NUMBER("timeout", 0, "MS", &timeout, 1, 60000,
                  "ctrigger, race: longest suspension at first (default 25)"),
        HD_NUMBER("targets", 0, "N", &targets, 1, HD_FORCE_MOST,
                  "ctrigger: interleavings of the first runs (default 8)"),
        HD_FLAG("list", 0, &list, "ctrigger, race: list what would be forced, ranked, and stop"),
        HD_NUMBER("depth", 0, "D", &depth, 1, 64, "pct: depth of the bug looked for (default 3)"),
        HD_FLAG("aslr", 0, &aslr, "leave address space randomisation on"),
        HD_CHOICE("format", 0, "F", &format, "text|json", "how to report (default text)"),
        HD_FLAG("stats", 0, &stats, "say how many interleavings were left at each step"),
        HD_NAMES_OPTION(&names),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "[--] CMD [ARG]...",
        .about = "Runs CMD, which `heddle cc` or `heddle c++` has linked, again and again, and\n"
                 "makes its threads take rare interleavings, until a run fails. Saves what made\n"
                 "it fail, for `heddle replay`, and says how often that fails again. Exit status\n"
                 "0: no run failed, 1: exposed, 2: could not do the job, or CMD fails anyway.\n",
        .example = "  heddle expose -- ./app 4 input.txt\n"
                   "  heddle expose --strategy pct --depth 2 --runs 500 -- ./app\n"
                   "  heddle expose --time 600 --oracle 'grep -q \"^total 100$\"' -- ./app\n",
        .options = options,
        .least = 1,
        .most = -1,
        .operands_last = true};
    int first, status;
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    if (!hd_names_option_use(COMMAND, names)) return HD_EXIT_FAILED;
    struct hd_error error;
    char *library = hd_runtime_directory(&error);
    if (library == NULL) return hd_complain_error(COMMAND, &error);
    char *path = hd_explored_path(argv[first], "expose");
    struct hd_status_line line;
    hd_status_line_begin(&line);
    static const enum hd_pruning pruning[] = {HD_PRUNE_RULES, HD_PRUNE_POLY, HD_PRUNE_NONE};
    char fault[HD_FAULT_WORDS] = "";
    struct hd_host host = {.library_directory = library,
                           .stop = hd_stop_on_signals(HD_STOP_ALL),
                           .runtime_fault = fault};
    struct hd_explore_options wanted = {.program = {.argv = argv + first,
                                                    .input = input,
                                                    .limit_ms = limit * 1000,
                                                    .good_status = (int)good_status,
                                                    .oracle = oracle,
                                                    .keep_aslr = aslr},
                                        .host = &host,
                                        .plan = HD_PLAN_EXPOSE,
                                        .strategy = (enum hd_strategy)strategy,
                                        .seconds = (double)seconds,
                                        .plain_runs = (uint32_t)plain,
                                        .most_recorded = (uint32_t)profile,
                                        .most_runs = runs,
                                        .repeats = (uint32_t)tries,
                                        .seed = seed,
                                        .output = same_output ? HD_OUTPUT_SAME : HD_OUTPUT_NOTED,
                                        .first = true,
                                        .keep_control = keep_control,
                                        .depth = (uint32_t)depth,
                                        .pruning = pruning[prune],
                                        .context = (enum hd_context)context,
                                        .timeout_ms = (uint32_t)timeout,
                                        .targets = (uint32_t)targets,
                                        .reproducer = output != NULL ? output : path,
                                        .list = list ? list_candidate : NULL,
                                        .report = draw,
                                        .report_context = &line};
    struct hd_exploration exploration;
    bool done = hd_explore(&wanted, &exploration, &error);
    hd_status_line_wipe(&line);
    int interrupted = 0;
    if (done) {
        interrupted = exploration.interrupted;
        status = finish(&exploration, wanted.strategy, format == 1, stats);
        hd_exploration_free(&exploration);
    } else {
        status = hd_complain_error(COMMAND, &error);
    }
    free(path);
    free(library);
    return hd_end_by_signal(interrupted, hd_complain_runtime(COMMAND, fault, status));
}
