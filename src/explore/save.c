/* The file that makes a failure come back, and the command for it. */
#include "explore/explorer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *path_of(struct explorer *x) {
    const char *path = x->options->reproducer;
    if (path == NULL) return "";
    size_t before = x->failure.size + x->shown_saved;
    if (before == 0) return path;
    const char *end = strstr(path, ".heddle.json");
    if (end == NULL || strcmp(end, ".heddle.json") != 0) end = path + strlen(path);
    return hd_finding_text(&x->own, "%.*s-%zu%s", (int)(end - path), path, before + 1, end);
}

/* What a user types to have the failure again. */
static const char *replay_command(struct explorer *x, const char *path) {
    const char *replay =
        x->options->replay_command != NULL ? x->options->replay_command : "heddle replay";
    const struct hd_program *program = &x->options->program;
    char *command = hd_quote_command(x->program.argv), status[16];
    char *word[6] = {0}; /* what a run is judged by, and the file */
    unsigned words = 0;
    if (program->good_status != 0) {
        snprintf(status, sizeof status, "%d", program->good_status);
        word[words++] = "--good-status";
        word[words++] = status;
    }
    if (program->oracle != NULL) {
        word[words++] = "--oracle";
        word[words++] = (char *)program->oracle;
    }
    word[words] = (char *)path;
    char *judged = hd_quote_command(word);
    char *input = program->input != NULL
                      ? hd_quote_command((char *const[]){(char *)program->input, NULL})
                      : NULL;
    const char *text = hd_finding_text(&x->own, "%s %s -- %s%s%s", replay, judged, command,
                                       input != NULL ? " <" : "", input != NULL ? input : "");
    free(input);
    free(judged);
    free(command);
    return text;
}

/* What the output should have been, where that is what is wrong with it. */
static const char *good_output(struct explorer *x, const struct hd_finding_forced *forced) {
    char mark[HD_OUTPUT_MARK];
    bool output = strcmp(forced->outcome, hd_outcome_name(HD_OUTCOME_OUTPUT)) == 0;
    if (!output || x->reference < 0 || !hd_output_mark(x->reference, true, mark)) return "";
    return explore_text(x, mark);
}

/* A file that can't be written does not cost the report. */
void explore_save(struct explorer *x, struct reproduction *again, const struct wanted *wanted,
                  const struct hd_finding *finding, struct hd_finding_forced *forced) {
    const char *path = path_of(x);
    if (*path == '\0' || (!again->there && wanted == NULL)) return;
    struct hd_schedule control = {.has_control = true};
    struct hd_schedule *schedule = again->there ? &again->schedule : &control;
    if (!again->there) {
        control.control = wanted->steering;
        control.control.children = x->options->follow_fork;
        control.places = x->profile.places;
        control.control.places = &control.places;
    }
    char *command = hd_quote_command(x->program.argv);
    schedule->kind = hd_finding_kind_name(finding->kind);
    schedule->variable = finding->variable;
    schedule->fingerprint = finding->fingerprint;
    schedule->about = finding->conclusion;
    schedule->command = command;
    if (forced->failed) {
        schedule->about =
            hd_finding_text(&x->own, "%s Then: %s.", finding->conclusion, forced->words);
        schedule->outcome = forced->outcome;
        schedule->good_output = good_output(x, forced);
    }
    struct hd_error error;
    bool saved = hd_schedule_save(schedule, path, &error);
    free(command);
    if (!saved) {
        x->result->unsaved = error;
        return;
    }
    forced->reproducer = path;
    forced->command = replay_command(x, path);
}

void explore_save_shown(struct explorer *x, struct target *target, struct hd_schedule *schedule) {
    struct reproduction again = {.there = true, .schedule = *schedule};
    explore_save(x, &again, NULL, target->finding, target->finding->forced);
    x->shown_saved += *target->finding->forced->reproducer != '\0';
}
