/* Compares two runs of one schedule: where they part, the program depends on something that the
 * schedule does not control. */
#include "model/describe.h"
#include "run/replay.h"
#include "run/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The steps of a run that must be the same again. */
static bool same_step(const struct hd_trace *a, const struct hd_trace *b, uint32_t i) {
    return a->thread[i] == b->thread[i] && a->kind[i] == b->kind[i] && a->site[i] == b->site[i] &&
           a->calls[i] == b->calls[i];
}

/* Objects that threads share by address; a number (a thread, a signal) is no address. */
static bool has_address(const struct hd_trace *trace, uint32_t i) {
    enum hd_event_class class = hd_kind_class(trace->kind[i]);
    return class == HD_CLASS_ACCESS || class == HD_CLASS_ATOMIC || class == HD_CLASS_LOCK ||
           class == HD_CLASS_SYNC || class == HD_CLASS_MEMORY;
}

static uint32_t first_difference(const struct hd_trace *a, const struct hd_trace *b,
                                 uint32_t *address) {
    uint32_t most = a->events < b->events ? a->events : b->events;
    *address = HD_NONE;
    for (uint32_t i = 0; i < most; i++) {
        if (!same_step(a, b, i)) return i;
        if (*address == HD_NONE && has_address(a, i) && a->operand[i] != b->operand[i])
            *address = i;
    }
    return a->events == b->events ? HD_NONE : most;
}

static enum hd_cause cause_of(unsigned note) {
    switch (note) {
    case HD_NOTE_TIME:
        return HD_CAUSE_TIME;
    case HD_NOTE_RANDOM:
        return HD_CAUSE_RANDOM;
    case HD_NOTE_INPUT:
        return HD_CAUSE_INPUT;
    default:
        return HD_CAUSE_UNKNOWN;
    }
}

static const char *word_of(enum hd_cause cause) {
    static const char *const word[] = {[HD_CAUSE_UNKNOWN] = "something unknown",
                                       [HD_CAUSE_TIME] = "the time",
                                       [HD_CAUSE_RANDOM] = "random bytes",
                                       [HD_CAUSE_INPUT] = "input",
                                       [HD_CAUSE_ADDRESS] = "addresses"};
    return word[cause];
}

/* The latest thing before an event that the thread asked the world for; of any thread if it asked
 * for nothing itself. HD_NONE if nobody did. */
static uint32_t find_source(const struct hd_model *model, uint32_t event, uint32_t thread) {
    uint32_t any = HD_NONE;
    for (uint32_t i = event; i-- > 0;) {
        if (model->kind[i] != HD_EV_NOTE || cause_of(model->flags[i]) == HD_CAUSE_UNKNOWN) continue;
        if (model->thread[i] == thread) return i;
        if (any == HD_NONE) any = i;
    }
    return any;
}

static void describe_event(struct hd_describe *describe, const struct hd_model *model,
                           uint32_t event, char *text, size_t room) {
    if (event >= model->events) {
        snprintf(text, room, "the run is over");
        return;
    }
    char what[440];
    hd_schedule_event_text(describe, model, event, what, sizeof what);
    snprintf(text, room, "%s %s", hd_describe_thread(describe, model->thread[event]), what);
}

/* Words need the models, which take the traces over. */
static bool put_into_words(struct hd_trace *first, struct hd_trace *second,
                           struct hd_difference *difference, uint64_t address,
                           struct hd_error *error) {
    struct hd_trace *trace[2] = {first, second};
    char *text[2] = {difference->first, difference->second};
    for (int k = 0; k < 2; k++) {
        struct hd_model model;
        struct hd_model_options options = {.lenient = true};
        if (!hd_model_build(trace[k], &options, &model, error)) return false;
        struct hd_describe *describe = hd_describe_open(&model);
        describe_event(describe, &model, difference->event, text[k], sizeof difference->first);
        uint32_t thread =
            difference->event < model.events ? model.thread[difference->event] : HD_NONE;
        uint32_t source = k == 0 && difference->event <= model.events
                              ? find_source(&model, difference->event, thread)
                              : HD_NONE;
        if (source != HD_NONE) {
            difference->cause = cause_of(model.flags[source]);
            snprintf(difference->source, sizeof difference->source, "%s, asked for by %s at %s",
                     word_of(difference->cause), hd_describe_thread(describe, model.thread[source]),
                     hd_describe_site(describe, source));
        }
        hd_describe_close(describe);
        hd_model_free(&model);
    }
    if (difference->cause == HD_CAUSE_UNKNOWN && address != UINT64_MAX) {
        difference->cause = HD_CAUSE_ADDRESS;
        snprintf(difference->source, sizeof difference->source,
                 "addresses, which differ from event %llu on", (unsigned long long)address);
    }
    return true;
}

bool hd_runs_differ(const char *first, const char *second, struct hd_difference *difference,
                    struct hd_error *error) {
    memset(difference, 0, sizeof *difference);
    struct hd_trace a, b;
    if (!hd_trace_load(first, NULL, &a, error)) return false;
    if (!hd_trace_load(second, NULL, &b, error)) {
        hd_trace_free(&a);
        return false;
    }
    uint32_t address;
    uint64_t address_number = UINT64_MAX;
    difference->event = first_difference(&a, &b, &address);
    difference->there = difference->event != HD_NONE;
    unsigned long long number =
        difference->event < a.events ? hd_trace_number(&a, difference->event) : a.recorded;
    if (address != HD_NONE) address_number = hd_trace_number(&a, address);
    bool good = !difference->there || put_into_words(&a, &b, difference, address_number, error);
    if (difference->there && good)
        snprintf(
            difference->words, sizeof difference->words,
            "the same schedule gives different runs from event %llu on: %.400s in one, %.400s in "
            "the other%s%.400s",
            number, difference->first, difference->second,
            difference->source[0] != '\0' ? "; before that the program depends on " : "",
            difference->source);
    hd_trace_free(&a);
    hd_trace_free(&b);
    return good;
}
