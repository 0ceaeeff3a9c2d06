/* See picture.h. What was observed is told by the events that the schedule shows, by where the
 * sections around them began and ended, and by what the finding's reads read. */
#include "finding/picture.h"

#include <stdlib.h>
#include <string.h>

#define OBSERVED 48u /* events of the observed order, at most */
#define SECTIONS 64u
#define ARROWS 96u
#define NESTED 16u /* sections around an event that are looked at */

/* Events that are shown, in one of the two orders. */
struct shown {
    uint32_t event[OBSERVED];
    uint32_t count;
};

static bool has(const struct shown *shown, uint32_t event) {
    for (uint32_t i = 0; i < shown->count; i++)
        if (shown->event[i] == event) return true;
    return false;
}

static bool has_lane(const struct hd_shown_schedule *s, uint32_t event) {
    return s->lane_of[s->model->thread[event]] != HD_NONE;
}

static void show(const struct hd_shown_schedule *s, struct shown *shown, uint32_t event) {
    if (event == HD_NONE || shown->count == OBSERVED || has(shown, event) || !has_lane(s, event))
        return;
    shown->event[shown->count++] = event;
}

static int compare_events(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* ---- the observed order --------------------------------------------------------------------- */

static struct shown choose_observed(const struct hd_shown_schedule *s) {
    const struct hd_finding *finding = s->finding;
    struct shown shown = {.count = 0};
    const uint32_t *list;
    for (uint32_t i = 0; i < finding->events; i++) show(s, &shown, finding->event[i].event);
    for (uint32_t i = finding->steps; i-- > 0;) /* the last ones matter most */
        if (finding->step[i].folded == 0) show(s, &shown, finding->step[i].event);
    for (uint32_t i = 0; i < finding->events; i++) {
        uint32_t event = finding->event[i].event;
        if (!hd_model_is_read(s->model, event)) continue;
        uint32_t writes = hd_model_reads_from(s->model, event, &list);
        for (uint32_t k = 0; k < writes && k < NESTED; k++) show(s, &shown, list[k]);
    }
    uint32_t chosen = shown.count;
    for (uint32_t i = 0; i < chosen; i++) {
        uint32_t section[NESTED], held = hd_model_held(s->model, shown.event[i], section, NESTED);
        for (uint32_t k = 0; k < held && k < NESTED; k++) {
            show(s, &shown, s->model->section[section[k]].acquire);
            show(s, &shown, s->model->section[section[k]].release);
        }
    }
    qsort(shown.event, shown.count, sizeof *shown.event, compare_events);
    return shown;
}

static void set_observed(const struct hd_shown_schedule *s, const struct shown *shown,
                         struct hd_finding_picture *picture) {
    picture->observed =
        hd_arena_zalloc(&s->findings->arena, 2 * (size_t)shown->count, sizeof *picture->observed);
    uint32_t after = 0;
    for (uint32_t i = 0; i < shown->count; i++) {
        uint32_t event = shown->event[i];
        if (event > after)
            picture->observed[picture->observed_steps++] = (struct hd_finding_step){
                .lane = HD_NONE,
                .event = HD_NONE,
                .folded = event - after,
                .op = "",
                .site = "",
                .text = hd_finding_text(s->findings, "... %u step%s ...", event - after,
                                        event - after == 1 ? "" : "s")};
        struct hd_finding_step *step = &picture->observed[picture->observed_steps++];
        *step = hd_finding_step(s->findings, s->describe, s->model, event);
        step->lane = s->lane_of[step->lane];
        after = event + 1;
    }
}

/* ---- sections ------------------------------------------------------------------------------- */

static void add_section(const struct hd_shown_schedule *s, struct hd_finding_picture *picture,
                        uint32_t index) {
    const struct hd_section *section = &s->model->section[index];
    for (uint32_t i = 0; i < picture->sections; i++)
        if (picture->section[i].acquire == hd_trace_number(s->model->trace, section->acquire))
            return;
    if (picture->sections == SECTIONS) return;
    bool released =
        section->release != HD_NONE && hd_map_get(s->place, section->release, HD_NONE) < s->done;
    picture->section[picture->sections++] = (struct hd_finding_section){
        .lane = s->lane_of[section->thread],
        .lock = hd_finding_text(s->findings, "%s",
                                hd_describe_lock(s->describe, section->lock, HD_SHORT)),
        .reading = section->read_mode,
        .acquire = hd_trace_number(s->model->trace, section->acquire),
        .release = section->release != HD_NONE ? hd_trace_number(s->model->trace, section->release)
                                               : HD_NO_NUMBER,
        .open = !released};
}

static void set_sections(const struct hd_shown_schedule *s, const struct shown *shown,
                         struct hd_finding_picture *picture) {
    picture->section = hd_arena_zalloc(&s->findings->arena, SECTIONS, sizeof *picture->section);
    for (uint32_t i = 0; i < shown->count; i++) {
        uint32_t section[NESTED], held = hd_model_held(s->model, shown->event[i], section, NESTED);
        for (uint32_t k = held < NESTED ? held : NESTED; k-- > 0;)
            add_section(s, picture, section[k]);
    }
}

/* ---- arrows --------------------------------------------------------------------------------- */

/* Arrows of one order, whose events stand in `shown` in that order. */
struct arrows {
    const struct hd_shown_schedule *schedule;
    const struct shown *shown;
    struct hd_finding_arrow *arrow;
    uint32_t count;
};

static void add_arrow(struct arrows *arrows, uint32_t from, uint32_t to, const char *what) {
    if (arrows->count == ARROWS || from == HD_NONE || to == HD_NONE || from == to) return;
    for (uint32_t i = 0; i < arrows->count; i++)
        if (arrows->arrow[i].from == from && arrows->arrow[i].to == to) return;
    const struct hd_trace *trace = arrows->schedule->model->trace;
    arrows->arrow[arrows->count++] = (struct hd_finding_arrow){from, to, hd_trace_name(trace, from),
                                                               hd_trace_name(trace, to), what};
}

static const char *edge_word(unsigned type) {
    static const char *const word[] = {
        [HD_EDGE_FORK] = "fork",       [HD_EDGE_JOIN] = "join", [HD_EDGE_SIGNAL] = "signal",
        [HD_EDGE_BARRIER] = "barrier", [HD_EDGE_POST] = "post", [HD_EDGE_ONCE] = "once",
        [HD_EDGE_ATOMIC] = "atomic"};
    return word[type];
}

/* The first or the last event of a thread that is shown: where it begins and ends is not. */
static uint32_t end_of_thread(const struct arrows *arrows, uint32_t thread, bool last) {
    uint32_t found = HD_NONE;
    for (uint32_t i = 0; i < arrows->shown->count; i++)
        if (arrows->schedule->model->thread[arrows->shown->event[i]] == thread) {
            found = arrows->shown->event[i];
            if (!last) break;
        }
    return found;
}

static void add_order(struct arrows *arrows) {
    const struct hd_model *model = arrows->schedule->model;
    for (uint32_t i = 0; i < arrows->shown->count; i++) {
        const uint32_t *list;
        uint32_t event = arrows->shown->event[i];
        uint32_t edges = hd_model_edges_from(model, event, &list);
        for (uint32_t k = 0; k < edges && k < ARROWS; k++) {
            const struct hd_edge *edge = &model->edge[list[k]];
            uint32_t to = edge->type == HD_EDGE_FORK
                              ? end_of_thread(arrows, model->thread[edge->to], false)
                              : edge->to;
            if (to != HD_NONE && has(arrows->shown, to))
                add_arrow(arrows, event, to, edge_word(edge->type));
        }
        edges = hd_model_edges_into(model, event, &list);
        for (uint32_t k = 0; k < edges && k < ARROWS; k++) {
            const struct hd_edge *edge = &model->edge[list[k]];
            if (edge->type != HD_EDGE_JOIN) continue;
            add_arrow(arrows, end_of_thread(arrows, model->thread[edge->from], true), event,
                      edge_word(edge->type));
        }
    }
}

static bool overlap(const struct hd_model *model, uint32_t a, uint32_t b) {
    const uint32_t *left, *right;
    uint32_t lefts = hd_model_locations(model, a, &left),
             rights = hd_model_locations(model, b, &right);
    for (uint32_t i = 0, k = 0; i < lefts && k < rights;) {
        if (left[i] == right[k]) return true;
        if (left[i] < right[k])
            i++;
        else
            k++;
    }
    return false;
}

/* The last write before a read in the schedule, whatever it was in the trace. */
static uint32_t written_before(const struct hd_shown_schedule *s, uint32_t index) {
    for (uint32_t i = index; i-- > 0;)
        if (hd_model_is_access(s->model, s->witness[i]) &&
            hd_model_is_write(s->model, s->witness[i]) &&
            overlap(s->model, s->witness[i], s->witness[index]))
            return s->witness[i];
    return HD_NONE;
}

/* A thread's own values are no news, but for what the finding is about. */
static void add_read(struct arrows *arrows, uint32_t write, uint32_t read) {
    const struct hd_shown_schedule *s = arrows->schedule;
    bool tells = s->model->thread[write] != s->model->thread[read];
    for (uint32_t i = 0; i < s->finding->events; i++) tells |= s->finding->event[i].event == read;
    if (tells && has(arrows->shown, write)) add_arrow(arrows, write, read, "reads-from");
}

static void add_reads(struct arrows *arrows, bool observed) {
    const struct hd_shown_schedule *s = arrows->schedule;
    for (uint32_t i = 0; i < arrows->shown->count; i++) {
        uint32_t event = arrows->shown->event[i];
        if (!hd_model_is_access(s->model, event) || !hd_model_is_read(s->model, event)) continue;
        if (observed) {
            const uint32_t *list;
            uint32_t writes = hd_model_reads_from(s->model, event, &list);
            for (uint32_t k = 0; k < writes; k++)
                if (list[k] != HD_NONE) add_read(arrows, list[k], event);
            continue;
        }
        uint32_t index = hd_map_get(s->place, event, HD_NONE);
        /* two accesses that are next at the same time: which comes first is open */
        if (index == HD_NONE || (index >= s->done && s->finding->kind == HD_FINDING_RACE)) continue;
        uint32_t from = written_before(s, index);
        if (from != HD_NONE) add_read(arrows, from, event);
    }
}

static uint32_t set_arrows(const struct hd_shown_schedule *s, const struct shown *shown,
                           bool observed, struct hd_finding_arrow **list) {
    struct hd_finding_arrow room[ARROWS];
    struct arrows arrows = {.schedule = s, .shown = shown, .arrow = room};
    add_reads(&arrows, observed);
    add_order(&arrows);
    *list = hd_arena_zalloc(&s->findings->arena, arrows.count, sizeof **list);
    if (arrows.count > 0) memcpy(*list, room, arrows.count * sizeof *room);
    return arrows.count;
}

void hd_finding_set_picture(const struct hd_shown_schedule *s) {
    struct hd_finding_picture *picture = hd_arena_zalloc(&s->findings->arena, 1, sizeof *picture);
    struct shown observed = choose_observed(s), steps = {.count = 0};
    for (uint32_t i = 0; i < s->finding->steps && steps.count < OBSERVED; i++)
        if (s->finding->step[i].folded == 0 && s->finding->step[i].event != HD_NONE)
            steps.event[steps.count++] = s->finding->step[i].event;
    set_observed(s, &observed, picture);
    set_sections(s, &observed, picture);
    picture->arrows = set_arrows(s, &steps, false, &picture->arrow);
    picture->observed_arrows = set_arrows(s, &observed, true, &picture->observed_arrow);
    s->finding->picture = picture;
}
