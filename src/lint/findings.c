/* Stale values and inconsistent views as findings, in words. */
#include "finding/intent.h"
#include "lint/detect.h"
#include "lint/lint.h"

#include <stdio.h>
#include <string.h>

#define VARIABLES_SHOWN 4u
#define WAY_SHOWN 6u

struct writer {
    const struct hd_lint *lint;
    struct hd_findings *out;
    const char *base;
};

/* ---- words ----------------------------------------------------------------------------------- */

static const char *function_of(const struct writer *writer, uint32_t step) {
    const struct hd_source *source = writer->lint->source;
    return hd_source_text(source, source->function.data[writer->lint->calls.function[step]].name);
}

static const char *block_function(const struct writer *writer, uint32_t block) {
    const struct hd_source *source = writer->lint->source;
    return hd_source_text(
        source, source->function.data[writer->lint->blocks.list.data[block].function].name);
}

static const char *variable_name(const struct writer *writer, uint32_t variable) {
    return hd_shared_name(&writer->lint->shared, variable);
}

/* "a", "a and b", "a, b, c and 4 more". */
static const char *listed(struct writer *writer, struct hd_source_range range) {
    const uint32_t *list = writer->lint->number.data + range.first;
    uint32_t shown = range.count > VARIABLES_SHOWN ? VARIABLES_SHOWN - 1 : range.count;
    const char *text = "";
    for (uint32_t i = 0; i < shown; i++)
        text = hd_finding_text(writer->out, "%s%s%s", text,
                               i == 0                 ? ""
                               : i + 1 == range.count ? " and "
                                                      : ", ",
                               variable_name(writer, list[i]));
    if (shown < range.count)
        text = hd_finding_text(writer->out, "%s and %u more", text, range.count - shown);
    return text;
}

/* "another thread of work", "the thread of use", "any thread". */
static const char *thread_name(struct writer *writer, uint32_t thread, bool another) {
    const struct hd_thread *at = &writer->lint->views.thread.data[thread];
    if (at->entry == HD_SOURCE_NONE) return another ? "another thread" : "a thread";
    return hd_finding_text(
        writer->out, "%s thread of %s", another ? "another" : "the",
        hd_source_text(writer->lint->source, writer->lint->source->function.data[at->entry].name));
}

/* ---- events ---------------------------------------------------------------------------------- */

/* An access in a function that the block calls: the function that holds the block is below it. */
static void add_frames(struct writer *writer, uint32_t block, uint32_t step,
                       struct hd_finding_event *event) {
    const struct hd_source *source = writer->lint->source;
    const struct hd_atomic_block *at = &writer->lint->blocks.list.data[block];
    if (at->function == writer->lint->calls.function[step]) return;
    struct hd_frame *frame = hd_arena_zalloc(&writer->out->arena, 2, sizeof *frame);
    frame[0] =
        (struct hd_frame){.function = event->function, .file = event->file, .line = event->line};
    frame[1] = (struct hd_frame){
        .function = block_function(writer, block),
        .file = hd_source_relative(source, source->function.data[at->function].file, writer->base),
        .line = at->line};
    event->frame = frame;
    event->frames = 2;
}

static struct hd_finding_event event_at(struct writer *writer, uint32_t step,
                                        enum hd_finding_role role, uint32_t block) {
    const struct hd_source *source = writer->lint->source;
    const struct hd_source_step *at = &source->step.data[step];
    const char *file = hd_source_relative(source, source->node.data[at->node].file, writer->base);
    struct hd_finding_event event = {
        .event = HD_NONE,
        .thread = "",
        .op = "",
        .verb = "",
        .role = role,
        .variable = "",
        .site = hd_finding_text(writer->out, "%s:%u", file, at->line),
        .file = file,
        .line = at->line,
        .column = at->column,
        .function = function_of(writer, step),
        .function_line = source->function.data[writer->lint->calls.function[step]].line};
    if (block == HD_SOURCE_NONE) return event;
    add_frames(writer, block, step, &event);
    uint32_t path = writer->lint->blocks.list.data[block].path;
    if (path != HD_SOURCE_NONE) {
        char name[256];
        event.lock = hd_arena_zalloc(&writer->out->arena, 1, sizeof *event.lock);
        event.lock->name = event.lock->about = hd_finding_text(
            writer->out, "%s", hd_source_path_name(source, path, name, sizeof name));
        event.lock->reading = writer->lint->blocks.list.data[block].shared;
        event.locks = 1;
    }
    return event;
}

static struct hd_finding_event access_event(struct writer *writer, uint32_t step,
                                            enum hd_finding_role role, uint32_t block,
                                            uint32_t variable, uint8_t mode) {
    struct hd_finding_event event = event_at(writer, step, role, block);
    if (mode == HD_ACCESS_READ_WRITE) mode = writer->lint->source->step.data[step].mode;
    bool writes = (mode & HD_ACCESS_WRITE) != 0;
    event.op = writes ? "w" : "r";
    event.verb = writes ? "writes" : "reads";
    event.variable = variable_name(writer, variable);
    return event;
}

/* A step on the way; false if it says nothing that the others don't. */
static bool way_event(struct writer *writer, const struct hd_lint_way *way,
                      struct hd_finding_event *event) {
    const struct hd_source *source = writer->lint->source;
    const struct hd_source_step *step = &source->step.data[way->step];
    char name[256];
    bool decides = way->how == HD_CAUSAL_CONTROL;
    if (step->kind == HD_STEP_ACCESS && (decides || hd_step_writes(step)))
        hd_source_path_name(source, step->path, name, sizeof name);
    else if (step->kind == HD_STEP_CALL && step->function != HD_SOURCE_NONE)
        snprintf(name, sizeof name, "%s",
                 hd_source_text(source, source->function.data[step->function].name));
    else
        return false;
    *event = event_at(writer, way->step, HD_FINDING_ROLE_NONE, HD_SOURCE_NONE);
    event->op = step->kind == HD_STEP_CALL ? "call" : decides ? "r" : "w";
    event->verb = decides                      ? "decides by"
                  : step->kind != HD_STEP_CALL ? "assigns it to"
                  : way->how == HD_CAUSAL_DOWN ? "passes it to"
                                               : "gets it from";
    event->variable = hd_finding_text(writer->out, "%s", name);
    return true;
}

/* The steps on the way, one a line of the program, the middle of a long way left out. */
static uint32_t add_way(struct writer *writer, struct hd_source_range range, uint32_t read,
                        struct hd_finding_event *event) {
    HD_VECTOR(struct hd_finding_event) all = {0};
    for (uint32_t i = 0; i < range.count; i++) {
        struct hd_finding_event one;
        if (!way_event(writer, &writer->lint->way.data[range.first + i], &one) ||
            (one.line == writer->lint->source->step.data[read].line &&
             one.function == function_of(writer, read)))
            continue; /* the line of the read is shown */
        struct hd_finding_event *last = all.size > 0 ? &all.data[all.size - 1] : NULL;
        if (last != NULL && last->line == one.line && last->function == one.function) {
            if (strcmp(one.verb, "gets it from") != 0) *last = one;
        } else
            hd_vector_push(&all, one);
    }
    uint32_t count = 0;
    for (size_t i = 0; i < all.size; i++)
        if (i < WAY_SHOWN / 2 || i + WAY_SHOWN / 2 >= all.size) event[count++] = all.data[i];
    hd_vector_free(&all);
    return count;
}

/* ---- ranking --------------------------------------------------------------------------------- */

static void set_intent(struct writer *writer, unsigned signs, bool control,
                       struct hd_finding *finding) {
    struct hd_weighing weighing = {.score = HD_SCORE_REPORTED + 20};
    if (control) hd_weigh(&weighing, -10, "the value only decides what is done");
    if ((signs & HD_SIGN_LOGGING) != 0)
        hd_weigh(&weighing, -50, "it is only printed, logged or counted");
    if ((signs & HD_SIGN_UNRELATED) != 0)
        hd_weigh(&weighing, -50, "the second block has no use for the variable");
    if ((signs & HD_SIGN_WHOLE) != 0)
        hd_weigh(&weighing, -50, "each of the two updates may be whole by itself");
    hd_finding_set_intent(writer->out, finding, &weighing);
}

static void set_variables(struct writer *writer, struct hd_source_range range,
                          struct hd_finding *finding) {
    const char **name = hd_arena_zalloc(&writer->out->arena, range.count, sizeof *name);
    for (uint32_t i = 0; i < range.count; i++)
        name[i] = variable_name(writer, writer->lint->number.data[range.first + i]);
    finding->variables = name;
    finding->variable_count = finding->variables_involved = range.count;
}

/* ---- the two kinds --------------------------------------------------------------------------- */

static uint32_t written_variable(const struct hd_lint *lint, const struct hd_stale *stale) {
    return hd_shared_has(&lint->shared, stale->use, stale->variable)
               ? stale->variable
               : lint->shared.of.data[lint->shared.first[stale->use]];
}

static const char *stale_words(struct writer *writer, const struct hd_stale *stale) {
    const char *first = block_function(writer, stale->first),
               *second = block_function(writer, stale->second);
    uint32_t written = written_variable(writer->lint, stale);
    const char *what = stale->control
                           ? hd_finding_text(writer->out, "it decides there whether %s is written",
                                             variable_name(writer, written))
                           : hd_finding_text(writer->out, "%s is written from it there",
                                             variable_name(writer, written));
    const char *back =
        stale->first == stale->second
            ? "leaves the block and comes back into it"
            : hd_finding_text(writer->out, "leaves the block and enters that of %s", second);
    return hd_finding_text(
        writer->out, "%s reads %s; the value %s, and %s. In between, %s in %s may have written %s.",
        first, variable_name(writer, stale->variable), back, what,
        block_function(writer, stale->between),
        thread_name(writer, stale->other, stale->other == stale->thread),
        variable_name(writer, stale->variable));
}

static void add_stale(struct writer *writer, const struct hd_stale *stale) {
    struct hd_finding_event *event =
        hd_arena_zalloc(&writer->out->arena, WAY_SHOWN + 3, sizeof *event);
    uint32_t events = 0;
    event[events++] = access_event(writer, stale->read, HD_FINDING_ROLE_FIRST, stale->first,
                                   stale->variable, HD_ACCESS_READ);
    events += add_way(writer, stale->way, stale->read, event + events);
    event[events++] = access_event(writer, stale->write, HD_FINDING_ROLE_BETWEEN, stale->between,
                                   stale->variable, HD_ACCESS_WRITE);
    event[events++] = access_event(writer, stale->use, HD_FINDING_ROLE_SECOND, stale->second,
                                   written_variable(writer->lint, stale), HD_ACCESS_WRITE);
    struct hd_finding draft = {.kind = HD_FINDING_STALE_VALUE,
                               .verdict = HD_VERDICT_POSSIBLE,
                               .engine = "moth",
                               .variable = variable_name(writer, stale->variable),
                               .pattern = stale->control ? "condition" : "value",
                               .event = event,
                               .events = events,
                               .conclusion = stale_words(writer, stale),
                               .threads_involved = 2,
                               .accesses_involved = 3};
    set_variables(writer, stale->variables, &draft);
    set_intent(writer, stale->signs, stale->control, &draft);
    hd_finding_add(writer->out, &draft);
}

static const char *common_words(struct writer *writer, const struct hd_view_pair *pair) {
    const struct hd_lint *lint = writer->lint;
    const struct hd_source *source = lint->source;
    if (pair->common == HD_SOURCE_NONE) return "";
    if (pair->common >= source->step.size)
        return hd_finding_text(
            writer->out, ", and both have a part in what %s returns",
            hd_source_text(source, source->function.data[lint->graph.function[pair->common]].name));
    const struct hd_source_step *step = &source->step.data[pair->common];
    const char *file = hd_source_relative(source, source->node.data[step->node].file, writer->base);
    return hd_finding_text(writer->out, ", and both are used together in %s (%s:%u)",
                           function_of(writer, pair->common), file, step->line);
}

static const char *mode_verb(uint8_t mode) {
    return mode == HD_ACCESS_READ ? "reads" : mode == HD_ACCESS_WRITE ? "writes" : "accesses";
}

static const char *view_words(struct writer *writer, const struct hd_view_pair *pair) {
    return hd_finding_text(
        writer->out,
        "%s in %s %s %s in one block; %s %s %s in the block of %s and %s in that of %s%s: %s "
        "the one before and the other after.",
        block_function(writer, pair->maximal), thread_name(writer, pair->other, false),
        mode_verb(hd_view_against(pair->mode)), listed(writer, pair->whole),
        pair->thread == pair->other
            ? "another thread of the same function"
            : hd_finding_text(writer->out, "%s", thread_name(writer, pair->thread, false)),
        mode_verb(pair->mode), listed(writer, pair->overlap), block_function(writer, pair->first),
        listed(writer, pair->overlap_two), block_function(writer, pair->second),
        common_words(writer, pair),
        pair->mode == HD_ACCESS_READ ? "it may see" : "that block may see");
}

static void add_pair(struct writer *writer, const struct hd_view_pair *pair) {
    uint8_t against = hd_view_against(pair->mode);
    struct hd_finding_event *event = hd_arena_zalloc(&writer->out->arena, 4, sizeof *event);
    event[0] = access_event(writer, pair->first_step, HD_FINDING_ROLE_FIRST, pair->first, pair->one,
                            pair->mode);
    event[1] = access_event(writer, pair->one_step, HD_FINDING_ROLE_BETWEEN, pair->maximal,
                            pair->one, against);
    event[2] = access_event(writer, pair->two_step, HD_FINDING_ROLE_BETWEEN, pair->maximal,
                            pair->two, against);
    event[3] = access_event(writer, pair->second_step, HD_FINDING_ROLE_SECOND, pair->second,
                            pair->two, pair->mode);
    struct hd_finding draft = {
        .kind = HD_FINDING_VIEW,
        .verdict = HD_VERDICT_POSSIBLE,
        .engine = writer->lint->options.method == HD_LINT_ARTHO ? "artho" : "moth",
        .instances = pair->instances,
        .variable = variable_name(writer, pair->one),
        .pattern = hd_finding_text(writer->out, "%s in two", mode_verb(pair->mode)),
        .event = event,
        .events = 4,
        .conclusion = view_words(writer, pair),
        .threads_involved = 2,
        .accesses_involved = 4};
    set_variables(writer, pair->whole, &draft);
    set_intent(writer, pair->signs, false, &draft);
    hd_finding_add(writer->out, &draft);
}

void hd_lint_findings(const struct hd_lint *lint, const char *base, struct hd_findings *findings) {
    struct writer writer = {lint, findings, base};
    struct hd_finding_summary before = findings->summary;
    for (size_t i = 0; i < lint->pair.size; i++) add_pair(&writer, &lint->pair.data[i]);
    findings->summary.candidates += lint->pair.size;
    findings->summary.verdict[HD_VERDICT_POSSIBLE] += lint->pair.size;
    if (lint->options.views) hd_findings_looked_for(findings, HD_FINDING_VIEW, &before);
    before = findings->summary;
    for (size_t i = 0; i < lint->stale.size; i++) add_stale(&writer, &lint->stale.data[i]);
    findings->summary.candidates += lint->stale.size;
    findings->summary.verdict[HD_VERDICT_POSSIBLE] += lint->stale.size;
    if (lint->options.stale) hd_findings_looked_for(findings, HD_FINDING_STALE_VALUE, &before);
    hd_findings_fingerprint(findings);
    hd_findings_sort(findings);
}
