/* heddle replay on a control. See replay_control.h. */
#define _GNU_SOURCE
#include "cli/replay_control.h"

#include "cli/commands.h"
#include "cli/output.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define COMMAND "replay"
#define LOOKED_AT (16u << 20)

bool hd_is_control_file(const char *path) {
    FILE *file = strcmp(path, "-") != 0 ? fopen(path, "re") : NULL;
    if (file == NULL) return false;
    char *text = malloc(LOOKED_AT);
    size_t bytes = text != NULL ? fread(text, 1, LOOKED_AT, file) : 0;
    bool is = bytes > 0 && hd_reproducer_is(text, bytes);
    free(text);
    fclose(file);
    return is;
}

int hd_print_control(const char *path) {
    struct hd_reproducer reproducer;
    struct hd_error error;
    if (!hd_reproducer_load(path, &reproducer, &error)) return hd_complain_error(COMMAND, &error);
    char *text = hd_reproducer_write(&reproducer);
    hd_reproducer_free(&reproducer);
    if (text == NULL) return hd_complain(COMMAND, "out of memory");
    fputs(text, stdout);
    free(text);
    return hd_finish_output(COMMAND) ? HD_EXIT_CLEAN : HD_EXIT_FAILED;
}

struct outcome_count {
    uint64_t runs, failed, reproduced;
    struct hd_outcome outcome; /* of the first failure, or of the last run */
    int wait_status, interrupted;
};

static bool run_all(struct hd_program *program, const struct hd_reproducer *reproducer,
                    uint64_t times, struct outcome_count *count, struct hd_error *error) {
    struct hd_control control;
    void *plan;
    if (!hd_steering_control(&reproducer->steering, &control, &plan))
        return hd_fail(error, HD_ERR_MEMORY, "out of memory");
    struct hd_progress_bar bar;
    hd_progress_bar_begin(&bar);
    hd_progress_start(&bar.progress, "replaying", times);
    bool good = true;
    for (uint64_t i = 0; good && i < times && !count->interrupted; i++) {
        struct hd_program_run run;
        good = hd_run_program(program, &control, &run, error);
        if (!good) break;
        count->interrupted = run.interrupted;
        count->wait_status = run.wait_status;
        if (!run.interrupted) {
            bool failed = hd_outcome_failed(&run.outcome);
            bool same = strcmp(hd_outcome_name(run.outcome.kind), reproducer->outcome) == 0;
            if (count->failed == 0) count->outcome = run.outcome;
            count->runs++;
            count->failed += failed;
            count->reproduced += failed && (same || reproducer->outcome[0] == '\0');
        }
        hd_program_run_free(&run);
        hd_progress_step(&bar.progress, i + 1);
    }
    hd_progress_bar_end(&bar);
    free(plan);
    return good;
}

static int report(const struct hd_reproducer *reproducer, const struct outcome_count *count,
                  bool many, bool json, bool quiet) {
    if (json) {
        json_t *root = json_pack(
            "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:{s:s, s:i, s:s*}}", "schema", "heddle-replay/1",
            "kind", "failure", "variable", reproducer->variable, "strategy",
            hd_strategy_name(reproducer->steering.strategy), "runs", (json_int_t)count->runs,
            "reproduced", (json_int_t)count->reproduced, "failed", (json_int_t)count->failed,
            "outcome", "kind", hd_outcome_name(count->outcome.kind), "status",
            count->outcome.status, "words", count->outcome.words);
        if (!many)
            json_object_set_new(root, "verdict",
                                json_string(count->reproduced > 0 ? "confirmed" : "not failed"));
        json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        putchar('\n');
        json_decref(root);
    } else if (many) {
        printf("reproduced %llu of %llu: %s\n", (unsigned long long)count->reproduced,
               (unsigned long long)count->runs, count->outcome.words);
        if (count->failed > count->reproduced)
            printf("failed in another way: %llu\n",
                   (unsigned long long)(count->failed - count->reproduced));
    } else if (!quiet) {
        fprintf(stderr, "heddle: replay: %s: %s\n",
                count->reproduced > 0 ? "confirmed"
                : count->failed > 0   ? "failed in another way"
                                      : "did not fail",
                count->outcome.words);
    }
    if (!hd_finish_output(COMMAND)) return HD_EXIT_FAILED;
    if (many) return count->reproduced > 0 ? HD_EXIT_FINDINGS : HD_EXIT_CLEAN;
    if (count->outcome.kind == HD_OUTCOME_DEADLOCK) return HD_EXIT_FINDINGS;
    int status = count->wait_status;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && count->failed > 0) return HD_EXIT_FINDINGS;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int hd_replay_control(const char *path, struct hd_program *program, uint64_t times, bool json,
                      bool quiet) {
    struct hd_reproducer reproducer;
    struct hd_error error;
    if (!hd_reproducer_load(path, &reproducer, &error)) return hd_complain_error(COMMAND, &error);
    struct outcome_count count = {0};
    int status;
    if (*reproducer.good_output != '\0') program->good_output = reproducer.good_output;
    if (!run_all(program, &reproducer, times ? times : 1, &count, &error)) {
        status = hd_complain_error(COMMAND, &error);
    } else if (count.interrupted) {
        signal(count.interrupted, SIG_DFL);
        raise(count.interrupted);
        status = 128 + count.interrupted;
    } else {
        status = report(&reproducer, &count, times > 0, json, quiet);
    }
    hd_reproducer_free(&reproducer);
    return status;
}
