/* Findings from a checked run: see checked.h. */
#include "explore/checked.h"

#include "learn/broken.h"
#include "trace/names.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Calls that the stack of a finding shows at most, inlined ones included. */
#define MOST_FRAMES 64u

void hd_checked_free(struct hd_checked *checked) {
    hd_symbols_close(checked->symbols);
    hd_names_close(checked->names);
    hd_arena_free(&checked->arena);
    checked->symbols = NULL;
    checked->names = NULL;
}

/* A library may have been loaded since. Names that were given out before stay. */
static void open_symbols(struct hd_checked *checked, const struct hd_observed *observed) {
    const struct hd_trace *trace = &observed->modules;
    if (checked->symbols != NULL && checked->modules == trace->modules) return;
    if (checked->symbols == NULL && trace->modules > 0) {
        struct hd_error error;
        char *path = hd_names_beside(trace->module[0].path);
        if (path != NULL) checked->names = hd_names_open(path, &error);
        free(path);
    }
    hd_symbols_close(checked->symbols);
    checked->symbols = hd_symbols_open(trace);
    checked->modules = trace->modules;
}

/* The frame that a programmer looks for: the innermost one that is not the system's. */
static const struct hd_frame *frame_of(struct hd_checked *checked, uint32_t site) {
    const struct hd_frame *frame;
    uint32_t count = hd_symbols_site(checked->symbols, site, &frame);
    for (uint32_t i = 0; i < count; i++)
        if (!hd_frame_is_system(&frame[i])) return &frame[i];
    return frame;
}

struct hd_place hd_checked_place(struct hd_checked *checked, const struct hd_observed *observed,
                                 uint32_t site, unsigned does) {
    open_symbols(checked, observed);
    return hd_place_of_site(checked->symbols, site, does, hd_place_program(&observed->modules),
                            &checked->arena);
}

/* ---- the events of a finding ----------------------------------------------------------------- */

static const char *copy(struct hd_findings *findings, const char *text) {
    return hd_arena_copy(&findings->arena, text, strlen(text));
}

static void add_frames(struct hd_checked *checked, struct hd_findings *findings,
                       struct hd_finding_event *event, uint32_t site) {
    const struct hd_frame *from;
    uint32_t count = hd_symbols_site(checked->symbols, site, &from);
    for (uint32_t i = 0; i < count && event->frames < MOST_FRAMES; i++) {
        struct hd_frame *frame = &event->frame[event->frames++];
        *frame = from[i];
        frame->function = copy(findings, from[i].function);
        if (from[i].file != NULL) frame->file = copy(findings, from[i].file);
        if (from[i].module != NULL) frame->module = copy(findings, from[i].module);
    }
}

/* A global by its symbol; other memory by the expression in the source, if names are known. */
static const char *variable_of(struct hd_checked *checked, struct hd_findings *findings,
                               const struct hd_frame *frame, bool write,
                               const struct hd_observed_violation *violation) {
    const char *name =
        hd_symbols_variable(checked->symbols, violation->address, violation->size, NULL, NULL);
    if (name != NULL) return copy(findings, name);
    struct hd_name found;
    char absolute[PATH_MAX];
    if (checked->names != NULL && frame->file != NULL && frame->line != 0 &&
        hd_names_find(checked->names,
                      realpath(frame->file, absolute) != NULL ? absolute : frame->file, frame->line,
                      frame->column, write, &found))
        return copy(findings, found.expression);
    return "memory";
}

static void set_event(struct hd_checked *checked, struct hd_findings *findings,
                      struct hd_finding_event *event, const struct hd_observed_access *access,
                      const struct hd_observed_violation *violation) {
    static const char *const op[] = {"", "r", "w", "u"};
    static const char *const verb[] = {"does", "reads", "writes", "atomically updates"};
    const struct hd_frame *frame = frame_of(checked, access->site);
    bool by_source = frame->file != NULL && frame->line != 0;
    *event = (struct hd_finding_event){
        .event = HD_NONE,
        .thread_number = access->thread,
        .thread = hd_finding_text(findings, "T%u", access->thread),
        .op = op[access->does],
        .verb = verb[access->does],
        .variable = variable_of(checked, findings, frame, access->does & HD_DOES_WRITE, violation),
        .site = by_source ? hd_finding_text(findings, "%s:%u", frame->file, frame->line)
                          : copy(findings, frame->function),
        .function = by_source ? copy(findings, frame->function) : ""};
    if (strcmp(event->variable, "memory") == 0)
        event->about = hd_finding_text(
            findings, "%llu byte%s at 0x%llx", (unsigned long long)violation->size,
            violation->size == 1 ? "" : "s", (unsigned long long)violation->address);
    if (by_source) {
        event->file = copy(findings, frame->file);
        event->line = frame->line;
        event->column = frame->column;
        event->function_line = frame->function_line;
    }
    event->frame = hd_arena_zalloc(&findings->arena, MOST_FRAMES, sizeof *event->frame);
    add_frames(checked, findings, event, access->site);
}

bool hd_checked_add(struct hd_checked *checked, const struct hd_observed *observed,
                    const struct hd_observed_violation *violation, struct hd_findings *findings) {
    struct hd_place place =
        hd_checked_place(checked, observed, violation->second.site, violation->second.does);
    const struct hd_invariant *invariant =
        checked->invariants != NULL ? hd_invariants_find(checked->invariants, &place, "") : NULL;
    if (invariant != NULL && !hd_invariant_holds(checked->invariants, invariant)) invariant = NULL;
    findings->summary.candidates++;
    if (invariant == NULL && !checked->all) {
        findings->summary.hidden++;
        return false;
    }
    findings->summary.verdict[HD_VERDICT_CONFIRMED]++;
    struct hd_finding_event *event = hd_arena_zalloc(&findings->arena, 3, sizeof *event);
    set_event(checked, findings, &event[0], &violation->first, violation);
    set_event(checked, findings, &event[1], &violation->remote, violation);
    set_event(checked, findings, &event[2], &violation->second, violation);
    for (uint32_t i = 0; i < violation->frames; i++)
        add_frames(checked, findings, &event[2], observed->frame.data[violation->frame + i]);
    while (event[2].frames > 1 && hd_frame_is_system(&event[2].frame[event[2].frames - 1]))
        event[2].frames--; /* what the C library does below main and around a thread's function */
    struct hd_finding draft = {.event = event,
                               .events = 3,
                               .variable = event[0].variable,
                               .instances = violation->instances};
    hd_broken_finding(findings, &draft, violation->pattern, invariant);
    hd_finding_add(findings, &draft);
    return true;
}
