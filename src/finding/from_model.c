/* See from_model.h: the events. */
#include "finding/from_model.h"

#include <stdlib.h>
#include <string.h>

/* Of findings with more events (a cycle of many threads) the lines are told. */
#define MOST_TOLD_APART 16u

static const char *copy(struct hd_findings *findings, const char *text) {
    return hd_arena_copy(&findings->arena, text, strlen(text));
}

/* A descriptor is used, given out again, and closed. */
static bool is_of_descriptor(const struct hd_model *model, uint32_t event) {
    const uint32_t *list;
    return hd_model_locations(model, event, &list) > 0 &&
           hd_trace_is_descriptor(model->trace, model->location[list[0]].address);
}

static const char *verb_of(enum hd_event_kind kind, unsigned flags, bool descriptor) {
    if (descriptor) return kind == HD_EV_READ ? "uses" : kind == HD_EV_WRITE ? "opens" : "closes";
    switch (kind) {
    case HD_EV_READ:
        return "reads";
    case HD_EV_WRITE:
        return "writes";
    case HD_EV_ATOMIC_READ:
        return "atomically reads";
    case HD_EV_ATOMIC_WRITE:
        return "atomically writes";
    case HD_EV_ATOMIC_UPDATE:
        return "atomically updates";
    case HD_EV_FREE:
        return (flags & HD_BLOCK_TYPE_MASK) == HD_BLOCK_STACK ? "ends, and gives back" : "frees";
    case HD_EV_ACQUIRE:
    case HD_EV_READ_ACQUIRE:
        return "acquires";
    case HD_EV_RELEASE:
    case HD_EV_READ_RELEASE:
        return "releases";
    case HD_EV_TRY_FAILED:
        return "fails to get";
    case HD_EV_NOTE:
        if ((flags & HD_NOTE_TYPE_MASK) == HD_NOTE_FORK) return "forks";
        if (hd_note_is_child(flags)) return "waits for";
        if (!hd_note_is_life(flags)) return "does";
        return (flags & HD_NOTE_TYPE_MASK) == HD_NOTE_INIT ? "initialises" : "destroys";
    case HD_EV_SIGNAL:
        return "signals";
    case HD_EV_BROADCAST:
        return "broadcasts to";
    case HD_EV_WAIT:
    case HD_EV_WAIT_TIMEOUT:
    case HD_EV_SEM_WAIT:
        return "waits for";
    case HD_EV_SEM_INIT:
        return "initialises";
    case HD_EV_POST:
        return "posts";
    case HD_EV_BARRIER_ARRIVE:
        return "arrives at";
    case HD_EV_BARRIER_LEAVE:
        return "leaves";
    case HD_EV_END:
        return "ends, holding";
    default:
        return "does";
    }
}

static void set_locks(struct hd_findings *findings, struct hd_finding_event *to,
                      struct hd_describe *describe, const struct hd_model *model, uint32_t event) {
    uint32_t few[16], *section = few, count = hd_model_held(model, event, few, 16);
    /* An acquire stands inside its own section, but what it holds is what it held before. */
    enum hd_event_kind kind = model->kind[event];
    bool acquires = kind == HD_EV_ACQUIRE || kind == HD_EV_READ_ACQUIRE;
    if (count > 16) {
        section = hd_arena_alloc(&findings->arena, count * sizeof *section);
        hd_model_held(model, event, section, count);
    }
    to->lock = hd_arena_alloc(&findings->arena, (count + (size_t)1) * sizeof *to->lock);
    for (uint32_t i = count; i-- > 0;) { /* outermost first */
        const struct hd_section *held = &model->section[section[i]];
        if (acquires && held->acquire == event) continue;
        const char *name = copy(findings, hd_describe_lock(describe, held->lock, HD_SHORT));
        const char *about = copy(findings, hd_describe_lock(describe, held->lock, HD_LONG));
        to->lock[to->locks++] = (struct hd_finding_lock){name, about, held->read_mode};
    }
}

static void set_stack(struct hd_findings *findings, struct hd_finding_event *to,
                      struct hd_describe *describe, uint32_t event) {
    const struct hd_frame *frame;
    uint32_t count = hd_describe_stack(describe, event, &frame);
    if (count == 0) return;
    to->frame = hd_arena_alloc(&findings->arena, count * sizeof *to->frame);
    for (uint32_t i = 0; i < count; i++) {
        to->frame[i] = frame[i];
        to->frame[i].function = copy(findings, frame[i].function);
        if (frame[i].file != NULL) to->frame[i].file = copy(findings, frame[i].file);
        if (frame[i].module != NULL) to->frame[i].module = copy(findings, frame[i].module);
    }
    to->frames = count;
}

/* "file.c:12", as many recorders write the site of a text trace. */
static void set_place_of_word(struct hd_findings *findings, struct hd_finding_event *to) {
    const char *colon = strrchr(to->site, ':');
    if (colon == NULL || colon == to->site || colon[1] < '1' || colon[1] > '9') return;
    char *end;
    unsigned long line = strtoul(colon + 1, &end, 10);
    if (*end != '\0' || line > UINT32_MAX) return;
    char *file = hd_arena_copy(&findings->arena, to->site, (size_t)(colon - to->site));
    to->file = file;
    to->line = (uint32_t)line;
}

static void set_event(struct hd_findings *findings, struct hd_finding_event *to,
                      struct hd_describe *describe, const struct hd_model *model, uint32_t event) {
    *to = (struct hd_finding_event){.event = event,
                                    .number = hd_trace_number(model->trace, event),
                                    .put_in = hd_trace_is_put_in(model->trace, event),
                                    .thread_number = model->thread[event]};
    to->thread = copy(findings, hd_describe_thread(describe, model->thread[event]));
    to->op = hd_event_text(model->kind[event], model->flags[event]);
    to->verb = verb_of(model->kind[event], model->flags[event], is_of_descriptor(model, event));
    to->variable = copy(findings, hd_describe_event(describe, event, HD_SHORT));
    to->plain = copy(findings, hd_describe_plain(describe, event));
    to->about = copy(findings, hd_describe_event(describe, event, HD_LONG));
    to->site = copy(findings, hd_describe_site(describe, event));
    /* A text trace has no functions: its own words for the sites are all there is. */
    to->site_is_name = model->trace->format != HD_FORMAT_BINARY || model->trace->site_names != NULL;
    to->function = copy(findings, hd_describe_function(describe, event));
    const struct hd_frame *frame = hd_describe_frame(describe, event);
    if (frame != NULL && frame->file != NULL) {
        to->file = copy(findings, frame->file);
        to->line = frame->line;
        to->column = frame->column;
        to->function_line = frame->function_line;
    } else
        set_place_of_word(findings, to);
    set_locks(findings, to, describe, model, event);
    set_stack(findings, to, describe, event);
}

/* Two places on one line are told apart by their columns. */
static void tell_apart(struct hd_findings *findings, struct hd_finding *finding) {
    struct hd_finding_event *event = finding->event;
    for (uint32_t i = 0; i < finding->events; i++) {
        bool alike = false;
        for (uint32_t j = 0; j < finding->events && !alike; j++)
            alike = event[i].line != 0 && event[i].line == event[j].line && event[i].column != 0 &&
                    event[j].column != 0 && event[i].column != event[j].column &&
                    strcmp(event[i].file, event[j].file) == 0;
        if (alike && !event[i].site_is_name)
            event[i].site = hd_finding_text(findings, "%s:%u:%u", event[i].file, event[i].line,
                                            event[i].column);
    }
}

void hd_finding_set_events(struct hd_findings *findings, struct hd_finding *finding,
                           struct hd_describe *describe, const struct hd_model *model,
                           const uint32_t *event, uint32_t events) {
    finding->event = hd_arena_zalloc(&findings->arena, events, sizeof *finding->event);
    finding->events = events;
    for (uint32_t i = 0; i < events; i++)
        set_event(findings, &finding->event[i], describe, model, event[i]);
    if (events <= MOST_TOLD_APART) tell_apart(findings, finding);
    if (events > 0) finding->variable = finding->event[0].variable;
}

uint32_t hd_spans_before_blocked(const struct hd_model *model, struct hd_span *span) {
    uint32_t spans = 0, start = 0;
    for (uint32_t e = 0; e <= model->events; e++) {
        if (e < model->events && model->kind[e] != HD_EV_BLOCKED &&
            !(model->kind[e] == HD_EV_NOTE && hd_note_is_child(model->flags[e])))
            continue;
        if (e > start) span[spans++] = (struct hd_span){start, e - start};
        start = e + 1;
    }
    return spans;
}
