/* heddle check --trace: broken invariants of a recorded run. */
#include "cli/check_trace.h"

#include "base/alloc.h"
#include "cli/commands.h"
#include "cli/correlations_option.h"
#include "cli/invariants_option.h"
#include "cli/output.h"
#include "learn/broken.h"
#include "learn/detect_two.h"
#include "report/hardware.h"
#include "report/page.h"

#define COMMAND "check"

struct said {
    const struct hd_findings *findings;
    size_t most;
    const struct hd_hardware *hardware; /* NULL: was not asked for */
    const struct hd_hardware_result *result;
};

static void print_text(FILE *out, const struct hd_report_style *style, const void *context) {
    const struct said *said = context;
    hd_report_text(out, said->findings, said->most, style);
    hd_report_text_summary(out, said->findings, false, style);
    if (said->hardware == NULL) return;
    fputc('\n', out);
    hd_report_hardware(out, said->hardware, said->result);
}

static int report(const struct hd_check_trace *wanted, struct hd_findings_options *output,
                  const struct hd_model *model, struct hd_findings *findings,
                  const struct hd_hardware *hardware, const struct hd_hardware_result *result) {
    hd_findings_sort(findings);
    hd_findings_fingerprint(findings);
    hd_findings_hide(findings, &output->hiding);
    const struct hd_trace *trace = model->trace;
    char build[33];
    struct hd_report_input input = {.path = wanted->trace,
                                    .trace = true,
                                    .build = hd_trace_build(trace, build) ? build : NULL,
                                    .partial = true, /* only what this run did */
                                    .format = hd_report_format_name(trace->format),
                                    .command = trace->command,
                                    .events = model->events,
                                    .threads = model->threads};
    struct hd_report_number number[HD_HARDWARE_NUMBERS];
    if (hardware != NULL) {
        input.effort = number;
        input.efforts = hd_report_hardware_numbers(result, number);
    }
    struct said said = {findings, (size_t)output->most, hardware, result};
    return hd_findings_report(output, findings, &input, hd_findings_status(output, findings),
                              print_text, &said);
}

/* Two variables at once, if there are rules that say which. False: they could not be read. */
static bool check_pairs(const struct hd_check_trace *wanted, const char *project,
                        struct hd_findings *findings, const struct hd_model *model,
                        struct hd_describe *describe, const struct hd_invariants *invariants) {
    struct hd_correlated_rules rules = {.rule = {0}};
    struct hd_detected_pairs pairs;
    if (wanted->correlations == NULL) return true;
    bool good = hd_correlations_option_use(COMMAND, wanted->correlations, project, &rules);
    if (good) {
        struct hd_analysis analysis = {.model = model, .describe = describe};
        hd_detect_two(&analysis, &rules, &pairs);
        hd_broken_pairs_in_trace(findings, &analysis, &rules, invariants, &pairs, wanted->all);
        hd_detected_pairs_free(&pairs);
        hd_analysis_free(&analysis);
    }
    hd_correlated_rules_free(&rules);
    return good;
}

static struct hd_hardware hardware_of(const struct hd_check_trace *wanted) {
    struct hd_hardware hardware = hd_hardware_usual();
    hardware.cores = (uint32_t)wanted->cores;
    hardware.line = (uint32_t)wanted->line;
    hardware.l1_bytes = wanted->l1 << 10;
    hardware.l1_ways = (uint32_t)wanted->l1_ways;
    hardware.l2_bytes = wanted->l2 << 10;
    hardware.l2_ways = (uint32_t)wanted->l2_ways;
    hardware.l1_cycles = (uint32_t)wanted->l1_cycles;
    hardware.l2_cycles = (uint32_t)wanted->l2_cycles;
    hardware.memory_cycles = (uint32_t)wanted->memory_cycles;
    return hardware;
}

static int check(const struct hd_check_trace *wanted, struct hd_findings_options *output,
                 const struct hd_model *model, const struct hd_invariants *invariants) {
    struct hd_findings findings = hd_findings_begin(output);
    struct hd_describe *describe = hd_describe_open(model);
    struct hd_finding_summary before = findings.summary;
    struct hd_detected detected;
    hd_detect(model, wanted->granularity, &detected, NULL, NULL);
    hd_broken_in_trace(&findings, model, describe, invariants, &detected, wanted->all);
    hd_detected_free(&detected);
    bool good = check_pairs(wanted, output->store.project, &findings, model, describe, invariants);
    hd_findings_looked_for(&findings, HD_FINDING_INVARIANT, &before);
    struct hd_hardware hardware = hardware_of(wanted);
    struct hd_hardware_result result;
    if (wanted->hardware) hd_hardware_run(&hardware, model, describe, invariants, &result);
    int status = good ? report(wanted, output, model, &findings,
                               wanted->hardware ? &hardware : NULL, &result)
                      : HD_EXIT_FAILED;
    hd_warn_about(COMMAND, model, describe);
    hd_findings_free(&findings);
    hd_describe_close(describe);
    return hd_finish_output(COMMAND) ? status : HD_EXIT_FAILED;
}

bool hd_check_trace_wanted(const struct hd_check_trace *wanted) {
    return wanted->trace != NULL || wanted->correlations != NULL || wanted->hardware;
}

int hd_check_trace(const struct hd_check_trace *wanted, struct hd_findings_options *output) {
    struct hd_error error;
    struct hd_invariants invariants = {.runs = 0};
    struct hd_model model;
    if (wanted->trace == NULL)
        return hd_complain(COMMAND, "give a program to check, or --trace FILE");
    struct hd_hardware hardware = hardware_of(wanted);
    if (wanted->hardware && !hd_hardware_fits(&hardware, &error))
        return hd_complain_error(COMMAND, &error);
    if (wanted->invariants == NULL && wanted->correlations == NULL && !wanted->all)
        return hd_complain(COMMAND, "say what is meant to be atomic: --invariants FILE, which "
                                    "`heddle learn` writes; or --all for every interleaving");
    struct hd_progress_bar bar;
    hd_progress_bar_begin(&bar);
    /* Steps are of bytes, and each of one location: not of a line, nor of two variables. */
    bool all = wanted->full || wanted->hardware || wanted->correlations != NULL ||
               wanted->granularity != HD_GRANULARITY_BYTE;
    struct hd_trace_options trace_options = {.keep = hd_full_option_keep(all),
                                             .progress = &bar.progress};
    struct hd_model_options model_options = {.lenient = true};
    bool loaded = hd_model_load(wanted->trace, &trace_options, &model_options, &model, &error);
    hd_progress_bar_end(&bar);
    int status = HD_EXIT_FAILED;
    if (!loaded)
        hd_complain_error(COMMAND, &error);
    else if (hd_invariants_option_use(COMMAND, wanted->invariants, output->store.project,
                                      hd_place_program(model.trace), &invariants))
        status = check(wanted, output, &model, wanted->invariants != NULL ? &invariants : NULL);
    if (loaded) hd_model_free(&model);
    hd_invariants_free(&invariants);
    return status;
}
