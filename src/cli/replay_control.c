/* heddle replay on a control. See replay_control.h. */
#define _GNU_SOURCE
#include "cli/replay_control.h"

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/stop.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define COMMAND "replay"

static bool step(void *context, const struct hd_rate *rate) {
    hd_progress_step(context, rate->runs);
    return true;
}

static int report(const struct hd_schedule *schedule, const struct hd_rate *rate, bool many,
                  bool json, bool quiet) {
    if (json) {
        json_t *root = json_pack(
            "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:{s:s, s:i, s:s*}}", "schema", "heddle-replay/1",
            "kind", "failure", "variable", schedule->variable, "strategy",
            hd_strategy_name(schedule->control.strategy), "runs", (json_int_t)rate->runs,
            "reproduced", (json_int_t)rate->reproduced, "failed", (json_int_t)rate->failed,
            "outcome", "kind", hd_outcome_name(rate->outcome.kind), "status", rate->outcome.status,
            "words", rate->outcome.words);
        if (!many)
            json_object_set_new(root, "verdict",
                                json_string(rate->reproduced > 0 ? "confirmed" : "not failed"));
        json_dumpf(root, stdout, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        putchar('\n');
        json_decref(root);
    } else if (many) {
        printf("reproduced %llu of %llu: %s\n", (unsigned long long)rate->reproduced,
               (unsigned long long)rate->runs, rate->outcome.words);
        if (rate->failed > rate->reproduced)
            printf("failed in another way: %llu\n",
                   (unsigned long long)(rate->failed - rate->reproduced));
    } else if (!quiet) {
        fprintf(stderr, "heddle: replay: %s: %s\n",
                rate->reproduced > 0 ? "confirmed"
                : rate->failed > 0   ? "failed in another way"
                                     : "did not fail",
                rate->outcome.words);
    }
    if (!hd_finish_output(COMMAND)) return HD_EXIT_FAILED;
    if (many) return rate->reproduced > 0 ? HD_EXIT_FINDINGS : HD_EXIT_CLEAN;
    if (rate->outcome.kind == HD_OUTCOME_DEADLOCK) return HD_EXIT_FINDINGS;
    int status = rate->wait_status;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && rate->failed > 0) return HD_EXIT_FINDINGS;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int hd_replay_control(const struct hd_schedule *schedule, const struct hd_job *job,
                      const struct hd_host *host, uint32_t times, bool json, bool quiet) {
    struct hd_progress_bar bar;
    struct hd_rate rate;
    struct hd_error error;
    struct hd_outcome like = {.status = HD_OUTCOME_ANY_STATUS};
    bool known = hd_outcome_by_name(schedule->outcome, &like.kind);
    hd_progress_bar_begin(&bar);
    hd_progress_start(&bar.progress, "replaying", times ? times : 1);
    bool good = hd_run_times(job, host, times ? times : 1, known ? &like : NULL, step,
                             &bar.progress, &rate, &error);
    hd_progress_bar_end(&bar);
    if (!good) return hd_complain_error(COMMAND, &error);
    if (rate.interrupted) return hd_end_by_signal(rate.interrupted, 0);
    return report(schedule, &rate, times > 0, json, quiet);
}
