/* See training.h. */
#include "cli/training.h"

#include "learn/detect_two.h"

#include <stdlib.h>
#include <string.h>

/* ---- jobs and results as bytes --------------------------------------------------------------- */

void hd_training_job(struct hd_packed *to, const struct hd_training_run *run) {
    hd_pack_number(to, run->serial);
    hd_pack_number(to, run->seed);
    hd_pack_number(to, run->quantum);
    hd_pack_number(to, run->granularity);
}

static bool read_job(const struct hd_errand *errand, struct hd_training_run *run,
                     struct hd_error *error) {
    struct hd_unpack in = hd_unpack_begin(errand->job, errand->bytes);
    run->serial = hd_unpack_most(&in, 1) != 0;
    run->seed = hd_unpack_number(&in);
    run->quantum = (uint32_t)hd_unpack_most(&in, UINT32_MAX);
    run->granularity = (enum hd_granularity)hd_unpack_most(&in, HD_GRANULARITY_LINE);
    return hd_unpack_whole(&in) || hd_fail(error, HD_ERR_FORMAT, "a job makes no sense");
}

static void write_result(struct hd_packed *to, const struct hd_result *result,
                         const struct hd_learner *learner) {
    hd_pack_number(to, result->outcome.kind);
    hd_pack_number(to, result->wire_events);
    hd_pack_text(to, learner->invariants->program);
    hd_pack_number(to, learner->note.size);
    for (size_t i = 0; i < learner->note.size; i++) {
        const struct hd_learner_note *note = &learner->note.data[i];
        hd_pack_number(to, note->place.does);
        hd_pack_text(to, note->place.where);
        hd_pack_text(to, note->place.function);
        hd_pack_text(to, note->place.within);
        hd_pack_text(to, note->place.module);
        hd_pack_text(to, note->with);
        hd_pack_number(to, note->violated);
    }
}

bool hd_training_take(struct hd_learner *learner, const char *path, const char *result,
                      size_t bytes, struct hd_trained *trained, struct hd_error *error) {
    struct hd_unpack in = hd_unpack_begin(result, bytes);
    struct hd_invariants *set = learner->invariants;
    trained->outcome = (enum hd_outcome_kind)hd_unpack_most(&in, HD_OUTCOME_COUNT - 1);
    trained->events = hd_unpack_number(&in);
    const char *program = hd_unpack_text(&in);
    if (in.good && set->program == NULL && *program != '\0')
        set->program = hd_arena_copy(&set->arena, program, strlen(program));
    if (*program != '\0' && !hd_invariants_fit(set, path, program, error)) return false;
    uint64_t notes = hd_unpack_number(&in);
    for (uint64_t i = 0; in.good && i < notes; i++) {
        struct hd_place place = {.does = (unsigned)hd_unpack_most(&in, HD_DOES_UPDATE)};
        place.where = hd_unpack_text(&in);
        place.function = hd_unpack_text(&in);
        place.within = hd_unpack_text(&in);
        place.module = hd_unpack_text(&in);
        const char *with = hd_unpack_text(&in);
        bool violated = hd_unpack_most(&in, 1) != 0;
        if (place.does == 0) in.good = false;
        if (in.good) hd_learner_note(learner, &place, with, violated);
    }
    return hd_unpack_whole(&in) || hd_fail(error, HD_ERR_DAMAGED,
                                           "what a run taught can't be read: the campaign file was "
                                           "changed, or a rank has another version of heddle");
}

/* ---- one run --------------------------------------------------------------------------------- */

static void set_program(struct hd_learner *learner, const struct hd_trace *trace) {
    struct hd_invariants *set = learner->invariants;
    const char *program = hd_place_program(trace);
    set->program = hd_arena_copy(&set->arena, program, strlen(program));
}

static void note_pairs(struct hd_learner *learner, const struct hd_correlated_rules *rules,
                       const struct hd_model *model, struct hd_describe *describe) {
    struct hd_analysis analysis = {.model = model, .describe = describe};
    struct hd_detected_pairs pairs;
    hd_detect_two(&analysis, rules, &pairs);
    hd_learner_note_pairs(learner, &analysis, rules, &pairs);
    hd_detected_pairs_free(&pairs);
    hd_analysis_free(&analysis);
}

static bool note_trace(struct hd_learner *learner, const struct hd_training_run *run,
                       const struct hd_correlated_rules *rules, const char *path,
                       struct hd_error *error) {
    struct hd_model model;
    struct hd_model_options lenient = {.lenient = true};
    /* Steps are of bytes, and each of one location: not of a line, nor of two variables. */
    bool steps = run->granularity == HD_GRANULARITY_BYTE && rules == NULL;
    struct hd_trace_options read = {.keep = steps ? HD_KEEP_STEPS : HD_KEEP_ALL};
    if (!hd_model_load(path, &read, &lenient, &model, error)) return false;
    set_program(learner, model.trace);
    struct hd_describe *describe = hd_describe_open(&model);
    struct hd_detected detected;
    hd_detect(&model, run->granularity, &detected, NULL, NULL);
    hd_learner_note_trace(learner, &model, describe, &detected);
    hd_detected_free(&detected);
    if (rules != NULL) note_pairs(learner, rules, &model, describe);
    hd_describe_close(describe);
    hd_model_free(&model);
    return true;
}

static void note_observed(struct hd_learner *learner, struct hd_observed *observed) {
    struct hd_symbols *symbols = hd_symbols_open(&observed->modules);
    const char *program = hd_place_program(&observed->modules);
    set_program(learner, &observed->modules);
    for (size_t i = 0; i < observed->executed.size; i++) {
        const struct hd_observed_site *site = &observed->executed.data[i];
        struct hd_place place =
            hd_place_of_site(symbols, site->site, site->does, program, &learner->arena);
        hd_learner_note(learner, &place, "", site->violations > 0);
    }
    hd_symbols_close(symbols);
}

static bool teaches(const struct hd_result *result) {
    return result->interrupted == 0 && !hd_outcome_failed(&result->outcome);
}

/* Runs once under random schedules, one thread at a time, and looks at the trace. */
static bool run_serial(const struct hd_errand *errand, const struct hd_training_run *run,
                       const struct hd_correlated_rules *rules, struct hd_learner *learner,
                       struct hd_result *result, struct hd_error *error) {
    struct hd_job job = {.program = *errand->subject,
                         .steering = {.scheduler = HD_SCHED_SERIAL,
                                      .policy = HD_POLICY_RANDOM,
                                      .seed = run->seed,
                                      .quantum = run->quantum}};
    if (!hd_run(&job, errand->host, result, error)) return false;
    if (!teaches(result)) return true;
    if (result->recorded && note_trace(learner, run, rules, result->trace_path, error)) return true;
    if (!result->recorded)
        hd_fail(error, HD_ERR_USAGE, "%s was not linked by `heddle cc`: there is no trace of it",
                job.program.argv[0]);
    hd_result_free(result);
    return false;
}

static bool run_free(const struct hd_errand *errand, const struct hd_training_run *run,
                     struct hd_learner *learner, struct hd_result *result, struct hd_error *error) {
    struct hd_job job = {.program = *errand->subject, .steering = {.scheduler = HD_SCHED_FREE}};
    struct hd_observed observed = {.truncated = false};
    struct hd_checking checking = {.granularity = run->granularity};
    bool good = hd_run_checked(&job, errand->host, &checking, result, &observed, error);
    if (good && teaches(result)) note_observed(learner, &observed);
    hd_observed_free(&observed);
    return good;
}

bool hd_training_perform(void *context, const struct hd_errand *errand, struct hd_errand_done *done,
                         struct hd_error *error) {
    struct hd_training_run run;
    struct hd_result result;
    struct hd_invariants set = {.runs = 0};
    struct hd_learner learner = {.invariants = &set};
    bool good = read_job(errand, &run, error) &&
                (run.serial ? run_serial(errand, &run, context, &learner, &result, error)
                            : run_free(errand, &run, &learner, &result, error));
    if (good) {
        done->stopped = result.interrupted != 0;
        done->outcome = hd_outcome_name(result.outcome.kind);
        write_result(&done->result, &result, &learner);
        hd_result_free(&result);
    }
    hd_learner_free(&learner);
    hd_invariants_free(&set);
    return good;
}
