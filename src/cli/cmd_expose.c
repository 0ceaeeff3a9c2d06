/* heddle expose: run a program under a strategy until it fails, save what makes it fail. */
#define _GNU_SOURCE
#include "base/json.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "explore/campaign.h"
#include "toolchain/compiler.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COMMAND "expose"

/* ---- progress ------------------------------------------------------------------------------- */

static void draw(void *context, const struct hd_campaign_status *status) {
    struct hd_status_line *drawn = context;
    if (!hd_status_line_due(drawn, status->doing)) return;
    char line[512];
    int used = snprintf(line, sizeof line, "%s: %llu runs", status->doing,
                        (unsigned long long)status->runs);
    if (status->most_runs != 0)
        used += snprintf(line + used, sizeof line - (size_t)used, " of at most %llu",
                         (unsigned long long)status->most_runs);
    if (status->total != 0)
        used += snprintf(line + used, sizeof line - (size_t)used, ", %u of %u interleavings",
                         status->tried, status->total);
    if (status->seconds > 0.2)
        used += snprintf(line + used, sizeof line - (size_t)used, ", %.0f/s",
                         (double)status->runs / status->seconds);
    if (status->best[0] != '\0')
        snprintf(line + used, sizeof line - (size_t)used, "  %s", status->best);
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

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

static void print_runs(const struct hd_campaign_result *r) {
    printf("%llu run%s (%llu plain", (unsigned long long)r->runs, plural(r->runs),
           (unsigned long long)r->plain);
    if (r->profiled) printf(", %llu profiled", (unsigned long long)r->profiled);
    if (r->steered) printf(", %llu steered", (unsigned long long)r->steered);
    printf(", %.1f seconds)", r->seconds);
}

static void print_access(const struct hd_campaign_result *r, const char *role, uint32_t place,
                         const char *does) {
    const struct hd_place *at = hd_place(&r->reproducer.places, place);
    printf("  %s  %-7s %s", role, does, at->where[0] ? at->where : at->module);
    if (at->function[0]) printf(" in %s", at->function);
    putchar('\n');
}

static void print_critical(const struct hd_campaign_result *r) {
    const struct hd_interleaving *it = &r->critical;
    if (!r->has_critical) return;
    printf("\n%s\n", it->variable);
    if (it->p == 0) {
        print_access(r, "R", it->r, "used");
        print_access(r, "C", it->c, "used");
        return;
    }
    const char *letters = hd_pattern_name(it->pattern);
    print_access(r, "P", it->p, letters[0] == 'R' ? "read" : "write");
    print_access(r, "R", it->r, it->frees ? "free" : letters[2] == 'R' ? "read" : "write");
    print_access(r, "C", it->c, letters[4] == 'R' ? "read" : "write");
}

static void print_stats(const struct hd_campaign_result *r, enum hd_strategy strategy) {
    if (strategy == HD_STRATEGY_CTRIGGER) {
        printf("interleavings: %u potential (%llu shared accesses), pruned: %u by order, %u by "
               "mutual exclusion, %u by poly; %u seen in the profile, %u left\n",
               r->counts.potential, (unsigned long long)r->accesses, r->counts.order,
               r->counts.exclusion, r->counts.poly, r->counts.exercised, r->counts.left);
        printf("pairs: %u that could come in the other order, %u of them did in the profile\n",
               r->counts.pairs, r->counts.pairs_exercised);
    }
    if (r->candidates > 0)
        printf("candidates: %u, tried %u, brought about %u%s", r->candidates, r->tried, r->forced,
               r->rank ? "" : "\n");
    if (r->rank) printf("; the failing one ranked %u\n", r->rank);
}

static void print_rate(const struct hd_campaign_result *r) {
    const struct hd_steering *steering = &r->reproducer.control;
    const char *how = steering->policy == HD_POLICY_FORCE   ? "the suspensions"
                      : steering->policy == HD_POLICY_NOISE ? "the noise"
                      : steering->scheduler == HD_SCHED_OFF ? "running it again"
                                                            : "the seed";
    if (r->has_schedule)
        printf("\nreproduced %u of %u, with %u change%s of thread (%u before minimising); by "
               "%s %u of %u, in plain runs %u of %u\n",
               r->schedule_reproduced, r->schedule_tries, r->switches, r->switches == 1 ? "" : "s",
               r->switches_before, how, r->reproduced, r->tries, r->plain_failed, r->plain_tries);
    else
        printf("\nreproduced %u of %u (plain runs failed %u of %u)\n", r->reproduced, r->tries,
               r->plain_failed, r->plain_tries);
}

static void print_text(const struct hd_campaign_result *r, enum hd_strategy strategy,
                       const char *path, bool stats) {
    const char *name = hd_strategy_name(strategy);
    switch (r->verdict) {
    case HD_CAMPAIGN_EXPOSED:
        printf("%sexposed%s by %s in ", hd_style_on(stdout, HD_STYLE_RED), hd_style_off(stdout),
               name);
        print_runs(r);
        printf("\n%s\n", r->what);
        print_critical(r);
        print_rate(r);
        printf("again: heddle replay %s -- %s\n", path, r->reproducer.command);
        break;
    case HD_CAMPAIGN_FLAKY:
        printf("flaky: the program %s, and in plain runs as often (%u of %u)\n", r->outcome.words,
               r->plain_failed, r->plain_tries);
        break;
    case HD_CAMPAIGN_NOTHING:
    case HD_CAMPAIGN_STOPPED:
        printf("nothing exposed by %s in ", name);
        print_runs(r);
        printf(": %s\n", r->verdict == HD_CAMPAIGN_STOPPED ? "stopped"
                         : r->end == HD_END_RUNS           ? "no more runs"
                         : r->end == HD_END_TIME           ? "no more time"
                                                           : "nothing left to try");
        if (r->verdict == HD_CAMPAIGN_NOTHING && r->end == HD_END_EXHAUSTED)
            printf("(heddle hunt also predicts, and looks for longer circles of locks and stolen "
                   "wake-ups)\n");
        break;
    }
    if (stats) print_stats(r, strategy);
}

static json_t *access_of(const struct hd_campaign_result *r, uint32_t place) {
    const struct hd_place *at = hd_place(&r->reproducer.places, place);
    json_t *object = json_object();
    json_object_set_new(object, "site", hd_json_text(at->where));
    json_object_set_new(object, "function", hd_json_text(at->function));
    return object;
}

static void print_json(const struct hd_campaign_result *r, enum hd_strategy strategy,
                       const char *path) {
    static const char *const verdict[] = {"nothing", "exposed", "flaky", "stopped"};
    static const char *const end[] = {"failure", "runs", "time", "exhausted"};
    json_t *root = json_object();
    json_object_set_new(root, "schema", json_string("heddle-expose/1"));
    json_object_set_new(root, "strategy", json_string(hd_strategy_name(strategy)));
    json_object_set_new(root, "verdict", json_string(verdict[r->verdict]));
    json_object_set_new(root, "end", json_string(end[r->end]));
    json_object_set_new(root, "runs", json_integer((json_int_t)r->runs));
    json_object_set_new(root, "plain", json_integer((json_int_t)r->plain));
    json_object_set_new(root, "profiled", json_integer((json_int_t)r->profiled));
    json_object_set_new(root, "steered", json_integer((json_int_t)r->steered));
    json_object_set_new(root, "seconds", json_real(r->seconds));
    json_object_set_new(root, "plain_failed", json_integer(r->plain_failed));
    json_object_set_new(root, "plain_tries", json_integer(r->plain_tries));
    json_t *counts = json_object();
    json_object_set_new(counts, "shared_accesses", json_integer((json_int_t)r->accesses));
    json_object_set_new(counts, "potential", json_integer(r->counts.potential));
    json_object_set_new(counts, "pruned_order", json_integer(r->counts.order));
    json_object_set_new(counts, "pruned_exclusion", json_integer(r->counts.exclusion));
    json_object_set_new(counts, "pruned_poly", json_integer(r->counts.poly));
    json_object_set_new(counts, "exercised_by_profile", json_integer(r->counts.exercised));
    json_object_set_new(counts, "pairs", json_integer(r->counts.pairs));
    json_object_set_new(counts, "pairs_exercised", json_integer(r->counts.pairs_exercised));
    json_object_set_new(counts, "candidates", json_integer(r->candidates));
    json_object_set_new(counts, "tried", json_integer(r->tried));
    json_object_set_new(counts, "forced", json_integer(r->forced));
    json_object_set_new(root, "interleavings", counts);
    if (r->verdict == HD_CAMPAIGN_EXPOSED || r->verdict == HD_CAMPAIGN_FLAKY) {
        json_object_set_new(root, "outcome", json_string(hd_outcome_name(r->outcome.kind)));
        json_object_set_new(root, "outcome_text", hd_json_text(r->outcome.words));
    }
    if (r->verdict == HD_CAMPAIGN_EXPOSED) {
        json_object_set_new(root, "what", hd_json_text(r->what));
        bool turns = r->has_schedule;
        json_object_set_new(root, "reproduced",
                            json_integer(turns ? r->schedule_reproduced : r->reproduced));
        json_object_set_new(root, "tries", json_integer(turns ? r->schedule_tries : r->tries));
        json_object_set_new(root, "control_reproduced", json_integer(r->reproduced));
        json_object_set_new(root, "control_tries", json_integer(r->tries));
        json_object_set_new(root, "switches", turns ? json_integer(r->switches) : json_null());
        json_object_set_new(root, "reproducer", hd_json_text(path));
    }
    if (r->has_critical && r->verdict == HD_CAMPAIGN_EXPOSED) {
        const struct hd_interleaving *it = &r->critical;
        json_t *critical = json_object();
        json_object_set_new(critical, "variable", hd_json_text(it->variable));
        if (it->p != 0) {
            json_object_set_new(critical, "pattern", json_string(hd_pattern_name(it->pattern)));
            json_object_set_new(critical, "p", access_of(r, it->p));
        }
        json_object_set_new(critical, "r", access_of(r, it->r));
        json_object_set_new(critical, "c", access_of(r, it->c));
        if (r->rank) json_object_set_new(critical, "rank", json_integer(r->rank));
        json_object_set_new(root, "critical", critical);
    }
    json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(4));
    putchar('\n');
    json_decref(root);
}

/* ---- the command ---------------------------------------------------------------------------- */

static int finish(struct hd_campaign_result *result, const struct hd_campaign_options *options,
                  const char *path, bool json, bool stats) {
    struct hd_error error;
    int status = HD_EXIT_CLEAN;
    if (result->verdict == HD_CAMPAIGN_EXPOSED) {
        status = HD_EXIT_FINDINGS;
        if (!hd_schedule_save(result->has_schedule ? &result->schedule : &result->reproducer, path,
                              &error))
            status = hd_complain_error(COMMAND, &error);
    } else if (result->verdict == HD_CAMPAIGN_FLAKY) {
        status = HD_EXIT_FAILED;
    }
    if (json)
        print_json(result, options->strategy, path);
    else
        print_text(result, options->strategy, path, stats);
    if (!hd_finish_output(COMMAND)) status = HD_EXIT_FAILED;
    return status;
}

int hd_cmd_expose(int argc, char **argv) {
    unsigned strategy = 0, prune = 0, context = 0, format = 0;
    uint64_t seconds = 60, runs = 0, seed = 1, tries = 20, plain = 3, profile = 6, depth = 3;
    uint64_t timeout = 25, targets = 8, limit = 0, good_status = 0;
    const char *oracle = NULL, *output = NULL, *input = NULL;
    bool same_output = false, stats = false, aslr = false, list = false, keep_control = false;
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
                "a run fails if it prints something else than the first plain run"),
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
    char fault[HD_FAULT_WORDS] = "";
    struct hd_status_line line;
    hd_status_line_begin(&line);
    struct hd_error error;
    char *directory = hd_runtime_directory(&error), *path = NULL;
    if (output == NULL) {
        const char *name = strrchr(argv[first], '/');
        if (asprintf(&path, "%s.expose.json", name != NULL ? name + 1 : argv[first]) < 0)
            return hd_complain(COMMAND, "out of memory");
        output = path;
    }
    struct hd_host host = {.library_directory = directory, .runtime_fault = fault};
    struct hd_campaign_options campaign = {.program = {.argv = argv + first,
                                                       .input = input,
                                                       .limit_ms = limit * 1000,
                                                       .good_status = (int)good_status,
                                                       .oracle = oracle,
                                                       .keep_aslr = aslr},
                                           .host = &host,
                                           .strategy = (enum hd_strategy)strategy,
                                           .seed = seed,
                                           .most_runs = runs,
                                           .most_ms = seconds * 1000,
                                           .plain_runs = (uint32_t)plain,
                                           .tries = (uint32_t)tries,
                                           .profile_runs = (uint32_t)profile,
                                           .depth = (uint32_t)depth,
                                           .pruning = prune == 0   ? HD_PRUNE_RULES
                                                      : prune == 1 ? HD_PRUNE_POLY
                                                                   : HD_PRUNE_NONE,
                                           .context = (enum hd_context)context,
                                           .timeout_ms = (uint32_t)timeout,
                                           .targets = (uint32_t)targets,
                                           .same_output = same_output,
                                           .no_schedule = keep_control,
                                           .list = list ? list_candidate : NULL,
                                           .report = draw,
                                           .report_context = &line};
    struct hd_campaign_result result;
    bool ok = hd_campaign_run(&campaign, &result, &error);
    hd_status_line_wipe(&line);
    int interrupted = 0;
    if (ok) {
        interrupted = result.interrupted;
        status = finish(&result, &campaign, output, format == 1, stats);
        hd_campaign_result_free(&result);
    } else {
        status = hd_complain_error(COMMAND, &error);
    }
    status = hd_complain_runtime(COMMAND, fault, status);
    free(directory);
    free(path);
    if (interrupted) { /* whoever waits for us sees that we were asked to stop */
        signal(interrupted, SIG_DFL);
        raise(interrupted);
    }
    return status;
}
