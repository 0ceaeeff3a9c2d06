/* heddle campaign: where a campaign stands, two files in one, and a job that is started again until
 * it is done. */
#include "base/json.h"
#include "campaign/campaign.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/supervise.h"
#include "report/page.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define COMMAND "campaign"

/* ---- where it stands ------------------------------------------------------------------------- */

static const char *standing_of(const struct hd_campaign_state *state) {
    if (state->starts == 0) return "not started";
    return state->running ? "running" : state->ended ? "ended" : "killed or lost";
}

/* Results a second of the last start. */
static double rate_of(const struct hd_campaign_state *state) {
    double seconds = (double)(state->beat - state->began);
    return (double)state->last_runs / (seconds > 1 ? seconds : 1);
}

static uint64_t failed_runs(const struct hd_campaign_state *state) {
    uint64_t runs = 0;
    for (uint32_t i = 0; i < state->outcomes; i++)
        if (strcmp(state->outcome[i].word, "passed") != 0) runs += state->outcome[i].runs;
    return runs;
}

static void print_text(const char *path, const struct hd_campaign_state *state) {
    printf("%s: %s\n", path, *state->command != '\0' ? state->command : "no program yet");
    const char *what = state->what;
    printf("  state     %s%s%s, %u start%s\n", state->ended ? what : standing_of(state),
           state->running && *what ? ": " : "", state->running ? what : "", state->starts,
           hd_page_plural(state->starts));
    printf("  runs      %llu kept; %llu of the last start, %.0f a second\n",
           (unsigned long long)state->runs, (unsigned long long)state->last_runs, rate_of(state));
    printf("  left      %llu known\n", (unsigned long long)state->left);
    uint64_t failed = failed_runs(state);
    printf("  found     %u failure%s; %llu run%s failed", state->failures,
           hd_page_plural(state->failures), (unsigned long long)failed, hd_page_plural(failed));
    const char *before = ": ";
    for (uint32_t i = 0; i < state->outcomes; i++) {
        if (strcmp(state->outcome[i].word, "passed") == 0) continue;
        printf("%s%llu %s", before, (unsigned long long)state->outcome[i].runs,
               state->outcome[i].word);
        before = ", ";
    }
    printf("\n  machines ");
    for (uint32_t i = 0; i < state->machines; i++)
        printf("%s %s (%llu run%s)", i > 0 ? "," : "", state->machine[i].name,
               (unsigned long long)state->machine[i].runs, hd_page_plural(state->machine[i].runs));
    printf("\n");
}

static void print_json(const char *path, const struct hd_campaign_state *state) {
    json_t *outcomes = json_object(), *machines = json_object();
    for (uint32_t i = 0; i < state->outcomes; i++)
        json_object_set_new(outcomes, state->outcome[i].word,
                            json_integer((json_int_t)state->outcome[i].runs));
    for (uint32_t i = 0; i < state->machines; i++)
        json_object_set_new(machines, state->machine[i].name,
                            json_integer((json_int_t)state->machine[i].runs));
    json_t *root = json_pack(
        "{s:s, s:o, s:o, s:o, s:s, s:o, s:i, s:I, s:I, s:I, s:I, s:f, s:I, s:I, s:i, s:o, s:o}",
        "schema", "heddle-campaign/1", "file", hd_json_text(path), "command",
        hd_json_text(state->command), "build", hd_json_text(state->build), "state",
        standing_of(state), "what", hd_json_text(state->what), "starts", (int)state->starts,
        "began", (json_int_t)state->began, "last_sign", (json_int_t)state->beat, "runs",
        (json_int_t)state->runs, "runs_of_last_start", (json_int_t)state->last_runs, "rate",
        rate_of(state), "used", (json_int_t)state->taken, "left", (json_int_t)state->left,
        "failures", (int)state->failures, "outcomes", outcomes, "machines", machines);
    hd_report_json_value(stdout, root);
}

static int show(const char *path, bool json) {
    struct hd_campaign_state state;
    struct hd_error error;
    if (!hd_campaign_look(path, &state, &error)) return hd_complain_error(COMMAND, &error);
    if (json)
        print_json(path, &state);
    else
        print_text(path, &state);
    hd_campaign_state_free(&state);
    return hd_finish_output(COMMAND) ? HD_EXIT_CLEAN : HD_EXIT_FAILED;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int merge(int count, char **files) {
    struct hd_error error;
    if (count < 2) return hd_complain(COMMAND, "--merge needs a file to add to, and files to add");
    for (int i = 1; i < count; i++) {
        uint64_t added, known;
        if (!hd_campaign_merge(files[0], files[i], &added, &known, &error))
            return hd_complain_error(COMMAND, &error);
        printf("%s: %llu result%s added to %s, %llu known\n", files[i], (unsigned long long)added,
               hd_page_plural(added), files[0], (unsigned long long)known);
    }
    return hd_finish_output(COMMAND) ? HD_EXIT_CLEAN : HD_EXIT_FAILED;
}

int hd_cmd_campaign(int argc, char **argv) {
    bool merges = false, supervises = false;
    uint64_t silence = 60, fruitless = 3;
    unsigned json = false;
    struct hd_option options[] = {
        HD_FLAG("merge", 'm', &merges, "add the results of the other FILEs to the first"),
        HD_FLAG("supervise", 0, &supervises,
                "run CMD, which works on FILE, and start it again until it is done"),
        HD_NUMBER("give-up", 0, "SECONDS", &silence, 2, 1000000,
                  "supervise: end a CMD that gives no sign for so long (default 60)"),
        HD_NUMBER("fruitless", 0, "N", &fruitless, 1, 1000000,
                  "supervise: stop after N starts in a row without a new result (default 3)"),
        HD_CHOICE("format", 0, "F", &json, "text|json", "a few lines to read, or a JSON object"),
        HD_OPTIONS_END};
    struct hd_usage usage = {
        .command = COMMAND,
        .operands = "FILE | --merge FILE FILE... | --supervise FILE -- CMD [ARG]...",
        .about = "Says where the campaign in FILE stands, which `heddle hunt --campaign FILE`\n"
                 "works on, or has worked on: runs, their rate, what is left, what was found, and\n"
                 "on which machines. May be asked while it runs. Exit status 0; with --supervise\n"
                 "that of CMD.\n",
        .example = "  heddle campaign q.db\n"
                   "  heddle campaign --merge all.db runner1.db runner2.db\n"
                   "  heddle campaign --supervise q.db -- \\\n"
                   "      mpirun -n 64 heddle hunt --campaign q.db -- ./test\n",
        .options = options,
        .least = 1,
        .most = -1,
        .operands_last = true};
    int first, status;
    if (!hd_options_parse(&usage, argc, argv, &first, &status)) return status;
    char **words = argv + first;
    int count = argc - first;
    if (merges && supervises) return hd_complain(COMMAND, "--merge or --supervise, not both");
    if (merges) return merge(count, words);
    if (!supervises && count == 1) return show(words[0], json);
    if (!supervises) return hd_complain(COMMAND, "one FILE only; --merge makes one of several");
    if (count > 1 && strcmp(words[1], "--") == 0) words[1] = words[0], words++, count--;
    if (count < 2) return hd_complain(COMMAND, "--supervise FILE -- CMD: there is no CMD");
    return hd_supervise(words[0], words + 1, (unsigned)silence, (unsigned)fruitless);
}
