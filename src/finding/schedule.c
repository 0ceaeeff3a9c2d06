/* A witness as a schedule that a person can read: of thousands of steps the few that matter, the
 * others folded into a count. */
#include "finding/from_model.h"

#include "base/alloc.h"
#include "base/map.h"
#include "finding/picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_STEPS 20    /* at most, beside those that are next */
#define SHORT_WITNESS 14  /* shown whole */
#define LONGEST_LOOK 2000 /* steps at the end among which the choice is made */

/* How much a step matters; more is more. */
enum weight { ROUTINE, CONTEXT, USEFUL, ESSENTIAL };

struct schedule {
    struct hd_findings *findings;
    struct hd_finding *finding;
    struct hd_describe *describe;
    const struct hd_model *model;
    const uint32_t *witness;
    uint32_t done, count; /* executed, all */
    uint32_t earlier;     /* steps before these */
    uint8_t *weight;
    struct hd_map place; /* event -> index in the witness */
    bool *involved;      /* threads of the finding's events */
    uint32_t *lane_of;   /* thread -> lane */
};

static void raise_weight(struct schedule *s, uint32_t index, enum weight weight) {
    if (index < s->done && s->weight[index] < weight) s->weight[index] = weight;
}

static void raise_event(struct schedule *s, uint32_t event, enum weight weight) {
    raise_weight(s, hd_map_get(&s->place, event, HD_NONE), weight);
}

/* ---- what matters --------------------------------------------------------------------------- */

/* Sections: those still open at the end are why something is protected; those that come in another
 * order than in the trace are why the trace did not show it. */
static void weigh_sections(struct schedule *s) {
    const struct hd_model *model = s->model;
    struct hd_map latest = {0}; /* lock -> section whose acquire was last in the trace, so far */
    for (uint32_t i = 0; i < s->done; i++) {
        uint32_t event = s->witness[i], index = model->event_section[event];
        enum hd_event_kind kind = model->kind[event];
        if (hd_kind_class(kind) != HD_CLASS_LOCK || index == HD_NONE) continue;
        const struct hd_section *section = &model->section[index];
        bool mine = s->involved[model->thread[event]];
        if (mine) raise_weight(s, i, CONTEXT);
        if (section->acquire != event) continue;
        bool open = section->release == HD_NONE ||
                    hd_map_get(&s->place, section->release, HD_NONE) >= s->done;
        if (open && mine) raise_weight(s, i, ESSENTIAL);
        uint32_t *other = hd_map_slot(&latest, section->lock, index);
        if (model->section[*other].acquire > event) { /* turned round */
            raise_weight(s, i, USEFUL);
            raise_event(s, model->section[*other].acquire, USEFUL);
            if (model->section[*other].release != HD_NONE)
                raise_event(s, model->section[*other].release, USEFUL);
        } else
            *other = index;
    }
    hd_map_free(&latest);
}

static void weigh_order(struct schedule *s) {
    const struct hd_model *model = s->model;
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t event = s->witness[i];
        if (!s->involved[model->thread[event]]) continue;
        const uint32_t *list;
        uint32_t edges = hd_model_edges_into(model, event, &list);
        for (uint32_t k = 0; k < edges; k++) {
            enum weight weight = model->edge[list[k]].type == HD_EDGE_FORK ? ESSENTIAL : USEFUL;
            raise_event(s, model->edge[list[k]].from, weight);
            if (weight == USEFUL) raise_weight(s, i, weight);
        }
    }
}

/* Reads that saw another thread's write, and accesses of what the finding is about. */
static void weigh_accesses(struct schedule *s) {
    const struct hd_model *model = s->model;
    struct hd_map about = {0};
    for (uint32_t i = 0; i < s->finding->events; i++) {
        uint32_t event = s->finding->event[i].event;
        if (!hd_model_is_access(model, event)) continue;
        const uint32_t *location;
        uint32_t locations = hd_model_locations(model, event, &location);
        for (uint32_t k = 0; k < locations && k < 64; k++) hd_map_slot(&about, location[k], 1);
    }
    for (uint32_t i = 0; i < s->done; i++) {
        uint32_t event = s->witness[i];
        if (!hd_model_is_access(model, event)) continue;
        const uint32_t *list;
        uint32_t locations = hd_model_locations(model, event, &list);
        for (uint32_t k = 0; k < locations && k < 64; k++)
            if (hd_map_get(&about, list[k], 0) != 0) {
                raise_weight(s, i, s->involved[model->thread[event]] ? USEFUL : CONTEXT);
                break;
            }
        uint32_t writes = hd_model_reads_from(model, event, &list);
        for (uint32_t k = 0; k < writes; k++) {
            if (list[k] == HD_NONE || model->thread[list[k]] == model->thread[event]) continue;
            if (!s->involved[model->thread[event]]) continue;
            raise_weight(s, i, CONTEXT);
            raise_event(s, list[k], CONTEXT);
        }
    }
    hd_map_free(&about);
}

/* The finding's own events, wherever they are. */
static void weigh_events(struct schedule *s) {
    for (uint32_t i = 0; i < s->finding->events; i++)
        raise_event(s, s->finding->event[i].event, ESSENTIAL);
}

/* Steps that every thread has and that order nothing by themselves. */
static bool is_noise(const struct hd_model *model, uint32_t event) {
    switch (model->kind[event]) {
    case HD_EV_BEGIN:
    case HD_EV_END:
    case HD_EV_BRANCH:
        return true;
    case HD_EV_ALLOC:
        return model->object[event] < model->blocks &&
               model->block[model->object[event]].type == HD_BLOCK_STACK;
    default:
        return false;
    }
}

/* Of the steps that matter, as many as a page takes: the weightiest, and of these the last. */
static void choose(struct schedule *s) {
    if (s->done <= SHORT_WITNESS && s->earlier == 0) {
        for (uint32_t i = 0; i < s->done; i++)
            if (!is_noise(s->model, s->witness[i])) s->weight[i] = ESSENTIAL;
        return;
    }
    uint32_t left = SHOWN_STEPS;
    for (enum weight weight = ESSENTIAL; weight > ROUTINE; weight--)
        for (uint32_t i = s->done; i-- > 0;) {
            if (s->weight[i] != weight) continue;
            if (left > 0)
                left--;
            else
                s->weight[i] = ROUTINE;
        }
}

/* ---- lines ---------------------------------------------------------------------------------- */

static struct hd_finding_step *new_step(struct schedule *s) {
    return &s->finding->step[s->finding->steps++];
}

static uint32_t lane(struct schedule *s, uint32_t thread) {
    if (s->lane_of[thread] == HD_NONE) s->lane_of[thread] = 0; /* numbered later */
    return thread;
}

struct hd_finding_step hd_finding_step(struct hd_findings *findings, struct hd_describe *describe,
                                       const struct hd_model *model, uint32_t event) {
    const char *object = hd_describe_event(describe, event, HD_SHORT);
    const char *op = hd_event_text(model->kind[event], model->flags[event]);
    if (*op == '\0') op = hd_kind_name(model->kind[event]);
    struct hd_finding_step step = {.event = event,
                                   .number = hd_trace_number(model->trace, event),
                                   .put_in = hd_trace_is_put_in(model->trace, event),
                                   .lane = model->thread[event],
                                   .op = op};
    step.text = *object != '\0' ? hd_finding_text(findings, "%s(%s)", op, object)
                                : hd_finding_text(findings, "%s", op);
    step.site =
        hd_finding_text(findings, "%s", hd_finding_short_site(hd_describe_site(describe, event)));
    const struct hd_frame *frame = hd_describe_frame(describe, event);
    if (frame == NULL || frame->file == NULL) return step;
    step.file = hd_finding_text(findings, "%s", frame->file);
    step.line = frame->line;
    step.column = frame->column;
    return step;
}

static void add_step(struct schedule *s, uint32_t index) {
    struct hd_finding_step *step = new_step(s);
    *step = hd_finding_step(s->findings, s->describe, s->model, s->witness[index]);
    step->lane = lane(s, step->lane);
    step->next = index >= s->done;
}

static void add_fold(struct schedule *s, uint32_t from, uint32_t to) {
    if (from == to) return;
    if (to - from == 1) {
        add_step(s, from);
        return;
    }
    struct hd_finding_step *step = new_step(s);
    uint32_t threads = 0, seen[4] = {0};
    for (uint32_t i = from; i < to && threads <= 3; i++) {
        uint32_t thread = s->model->thread[s->witness[i]], known = 0;
        while (known < threads && seen[known] != thread) known++;
        if (known == threads) seen[threads++] = thread;
    }
    step->event = s->witness[from];
    step->number = hd_trace_number(s->model->trace, step->event);
    step->folded = to - from;
    step->op = step->site = "";
    step->lane = threads == 1 ? lane(s, seen[0]) : HD_NONE;
    if (threads == 1)
        step->text = hd_finding_text(s->findings, "... %u steps of %s ...", to - from,
                                     hd_describe_thread(s->describe, seen[0]));
    else if (threads <= 3) {
        char names[256] = "";
        for (uint32_t i = 0; i < threads; i++)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                     i == 0             ? ""
                     : i + 1 == threads ? " and "
                                        : ", ",
                     hd_describe_thread(s->describe, seen[i]));
        step->text = hd_finding_text(s->findings, "... %u steps of %s ...", to - from, names);
    } else
        step->text = hd_finding_text(s->findings, "... %u steps of several threads ...", to - from);
}

static void add_earlier(struct schedule *s) {
    if (s->earlier == 0) return;
    struct hd_finding_step *step = new_step(s);
    step->event = HD_NONE;
    step->folded = s->earlier;
    step->lane = HD_NONE;
    step->op = step->site = "";
    step->text = hd_finding_text(s->findings, "... %u earlier steps ...", s->earlier);
}

static void name_lanes(struct schedule *s) {
    struct hd_finding *finding = s->finding;
    uint32_t lanes = 0;
    for (uint32_t t = 0; t < s->model->threads; t++)
        if (s->lane_of[t] != HD_NONE) s->lane_of[t] = lanes++;
    finding->lane = hd_arena_zalloc(&s->findings->arena, lanes + (size_t)1, sizeof *finding->lane);
    finding->lanes = lanes;
    for (uint32_t t = 0; t < s->model->threads; t++)
        if (s->lane_of[t] != HD_NONE)
            finding->lane[s->lane_of[t]] =
                hd_finding_text(s->findings, "%s", hd_describe_thread(s->describe, t));
    for (uint32_t i = 0; i < finding->steps; i++)
        if (finding->step[i].lane != HD_NONE)
            finding->step[i].lane = s->lane_of[finding->step[i].lane];
}

static void prepare(struct schedule *s) {
    uint32_t threads = s->model->threads;
    s->weight = hd_zalloc(s->count, 1);
    s->involved = hd_zalloc(threads, sizeof *s->involved);
    s->lane_of = hd_alloc(threads, sizeof *s->lane_of);
    memset(s->lane_of, 0xff, threads * sizeof *s->lane_of);
    for (uint32_t i = 0; i < s->count; i++) hd_map_slot(&s->place, s->witness[i], i);
    for (uint32_t i = 0; i < s->finding->events; i++)
        s->involved[s->finding->event[i].thread_number] = true;
}

static int compare_lanes(const void *left, const void *right) {
    uint32_t a = ((const struct hd_finding_step *)left)->lane;
    uint32_t b = ((const struct hd_finding_step *)right)->lane;
    return a < b ? -1 : a > b;
}

static void make_steps(struct schedule *s) {
    /* each step that is shown may have a fold before it */
    uint32_t room = 2 * (SHOWN_STEPS + SHORT_WITNESS) + (s->count - s->done) + 2;
    s->finding->step = hd_arena_zalloc(&s->findings->arena, room, sizeof *s->finding->step);
    add_earlier(s);
    uint32_t folded_from = 0;
    for (uint32_t i = 0; i < s->done; i++) {
        if (s->weight[i] == ROUTINE) continue;
        add_fold(s, folded_from, i);
        add_step(s, i);
        folded_from = i + 1;
    }
    add_fold(s, folded_from, s->done);
    uint32_t next = s->finding->steps;
    for (uint32_t i = s->done; i < s->count; i++) add_step(s, i);
    /* they are next at the same time: from left to right */
    if (s->finding->steps > next + 1)
        qsort(s->finding->step + next, s->finding->steps - next, sizeof *s->finding->step,
              compare_lanes);
    name_lanes(s);
}

/* The end of the witness; what comes long before it is only counted. */
static uint32_t take_end(const struct hd_finding *finding, uint32_t *event, uint32_t room) {
    uint32_t at = room;
    for (uint32_t r = finding->witness_spans; r-- > 0 && at > 0;)
        for (uint32_t i = finding->witness[r].count; i-- > 0 && at > 0;)
            event[--at] = finding->witness[r].first + i;
    memmove(event, event + at, (room - at) * sizeof *event);
    return room - at;
}

/* Consecutive events of one thread, counted in a first pass and written in a second. */
static void set_turns(struct hd_findings *findings, struct hd_finding *finding,
                      struct hd_describe *describe, const struct hd_model *model) {
    for (int write = 0; write < 2; write++) {
        uint32_t last = HD_NONE, turns = 0;
        for (uint32_t s = 0; s < finding->witness_spans; s++)
            for (uint32_t i = 0; i < finding->witness[s].count; i++) {
                uint32_t thread = model->thread[finding->witness[s].first + i];
                if (thread != last && write)
                    finding->turn[turns].thread =
                        hd_finding_text(findings, "%s", hd_describe_thread(describe, thread));
                if (thread != last) turns++;
                if (write) finding->turn[turns - 1].events++;
                last = thread;
            }
        if (!write) finding->turn = hd_arena_zalloc(&findings->arena, turns, sizeof *finding->turn);
        finding->turns = turns;
    }
}

static void set_numbers(struct hd_findings *findings, struct hd_finding *finding,
                        const struct hd_trace *trace) {
    uint64_t *to = hd_arena_alloc(&findings->arena, finding->witness_count * sizeof *to);
    finding->witness_number = to;
    for (uint32_t s = 0; s < finding->witness_spans; s++)
        for (uint32_t i = 0; i < finding->witness[s].count; i++)
            *to++ = hd_trace_number(trace, finding->witness[s].first + i);
}

void hd_finding_set_witness(struct hd_findings *findings, struct hd_finding *finding,
                            struct hd_describe *describe, const struct hd_model *model,
                            const struct hd_span *span, uint32_t spans, uint32_t next) {
    finding->witness = hd_arena_alloc(&findings->arena, spans * sizeof *span);
    if (spans > 0) memcpy(finding->witness, span, spans * sizeof *span);
    finding->witness_spans = spans;
    finding->witness_next = next;
    finding->witness_count = 0;
    for (uint32_t i = 0; i < spans; i++) finding->witness_count += span[i].count;
    if (findings->want_turns && finding->witness_count > HD_LONG_WITNESS)
        set_turns(findings, finding, describe, model);
    else if (findings->want_witnesses && model->trace->number != NULL)
        set_numbers(findings, finding, model->trace);
    uint32_t *end = hd_alloc(LONGEST_LOOK, sizeof *end);
    struct schedule s = {.findings = findings,
                         .finding = finding,
                         .describe = describe,
                         .model = model,
                         .witness = end,
                         .count = take_end(finding, end, LONGEST_LOOK)};
    s.done = s.count - next;
    s.earlier = finding->witness_count - s.count;
    prepare(&s);
    weigh_sections(&s);
    weigh_order(&s);
    weigh_accesses(&s);
    weigh_events(&s);
    choose(&s);
    make_steps(&s);
    if (findings->want_pictures)
        hd_finding_set_picture(&(struct hd_shown_schedule){.findings = findings,
                                                           .finding = finding,
                                                           .describe = describe,
                                                           .model = model,
                                                           .witness = end,
                                                           .place = &s.place,
                                                           .done = s.done,
                                                           .count = s.count,
                                                           .lane_of = s.lane_of});
    hd_map_free(&s.place);
    free(s.weight);
    free(s.involved);
    free(s.lane_of);
    free(end);
}
