/* Where the accesses of a suspicion meet in a run. See meetings.h. */
#include "explore/meetings.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/search.h"
#include "facts/clocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_HELD 16u
#define MOST_OF_THREADS 2u /* meetings of the same two threads */
#define MOST_MEETINGS 12u  /* of a run */
#define MOST_LATEST 8u     /* first accesses of a thread that are remembered */
#define MOST_AHEAD 1000u   /* accesses of a location that are looked at, each way */

struct finder {
    struct hd_analysis *run;
    const struct hd_model *model;
    const struct hd_finding *suspicion;
    unsigned char *roles;         /* by event: bits of the roles that it has */
    unsigned char *section_roles; /* by section: those of its events */
    struct hd_meetings *meetings;
    struct hd_map threads; /* meetings of two threads */
    bool swapped;          /* first and second change places */
    bool only_shown;       /* look for what the run did itself */
    bool by_block;         /* all of a section comes first */
};

/* ---- which events have a role --------------------------------------------------------------- */

static bool same_file(const char *path, const char *other) {
    return path != NULL && strcmp(hd_finding_short_site(path), hd_finding_short_site(other)) == 0;
}

/* By line: the access itself, or the call in the block that leads to it. By function if the
 * compiler has put the access on another line. */
static bool is_at(struct hd_describe *describe, uint32_t event,
                  const struct hd_finding_event *place, bool by_function) {
    const struct hd_frame *frame;
    uint32_t frames = hd_describe_stack(describe, event, &frame);
    for (uint32_t i = 0; i < frames; i++) {
        if (!same_file(frame[i].file, place->file)) continue;
        if (by_function ? strcmp(frame[i].function, place->function) == 0
                        : frame[i].line == place->line)
            return true;
    }
    if (frames > 0 || by_function) return false;
    char where[512]; /* a text trace has no frames */
    snprintf(where, sizeof where, "%s:%u", hd_finding_short_site(place->file), place->line);
    return strcmp(hd_finding_short_site(hd_describe_site(describe, event)), where) == 0;
}

/* That the second block is entered matters, not what it does there first. */
static bool does(const struct hd_model *model, uint32_t event, const struct hd_finding_event *place,
                 bool by_function) {
    bool reads = strchr(place->op, 'r') != NULL, writes = strchr(place->op, 'w') != NULL;
    if (!reads && !writes) return true;
    if (by_function && place->role == HD_FINDING_ROLE_SECOND) return true;
    return (reads && hd_model_is_read(model, event)) || (writes && hd_model_is_write(model, event));
}

static unsigned roles_of(const struct finder *f, uint32_t event, bool by_function) {
    unsigned roles = 0;
    for (uint32_t i = 0; i < f->suspicion->events; i++) {
        const struct hd_finding_event *place = &f->suspicion->event[i];
        if (place->role != HD_FINDING_ROLE_NONE && does(f->model, event, place, by_function) &&
            is_at(f->run->describe, event, place, by_function))
            roles |= 1u << place->role;
    }
    return roles;
}

/* Accesses at the same place in the code with the same callers have the same roles. */
static unsigned find_roles(struct finder *f, bool by_function) {
    const struct hd_model *model = f->model;
    struct hd_map known = {0};
    unsigned all = 0;
    for (uint32_t e = 0; e < model->events; e++) {
        if (!hd_model_is_access(model, e)) continue;
        uint64_t place = (uint64_t)model->site[e] << 32 | hd_model_stack(model, e);
        uint64_t key = hd_mix64(place) ^ hd_mix64(model->kind[e] + 1u);
        uint32_t *slot = hd_map_slot(&known, key, 0);
        if (*slot == 0) *slot = 1 + roles_of(f, e, by_function);
        unsigned roles = *slot - 1;
        /* A role that lines have found is not looked for by function. */
        if (by_function) roles &= ~f->meetings->roles;
        f->roles[e] |= (unsigned char)roles;
        if (model->event_section[e] != HD_NONE)
            f->section_roles[model->event_section[e]] |= f->roles[e];
        all |= roles;
    }
    hd_map_free(&known);
    return all;
}

static bool has_role(const struct finder *f, uint32_t event, enum hd_finding_role role) {
    if (f->swapped && role != HD_FINDING_ROLE_BETWEEN)
        role = role == HD_FINDING_ROLE_FIRST ? HD_FINDING_ROLE_SECOND : HD_FINDING_ROLE_FIRST;
    return (f->roles[event] >> role & 1u) != 0;
}

/* ---- sections ------------------------------------------------------------------------------- */

static uint32_t held_at(const struct hd_model *model, uint32_t event, uint32_t held[MOST_HELD]) {
    uint32_t count = hd_model_held(model, event, held, MOST_HELD);
    return count < MOST_HELD ? count : MOST_HELD;
}

static bool is_open(const struct hd_model *model, uint32_t section, uint32_t event) {
    const struct hd_section *s = &model->section[section];
    return s->acquire <= event && (s->release == HD_NONE || event <= s->release);
}

/* The beginning of the outermost section of `second` that `first` is not in. */
static uint32_t place_to_stop(const struct hd_model *model, uint32_t first, uint32_t second) {
    uint32_t held[MOST_HELD], count = held_at(model, second, held), stop = second;
    for (uint32_t i = 0; i < count; i++)
        if (model->section[held[i]].acquire > first && model->section[held[i]].acquire < stop)
            stop = model->section[held[i]].acquire;
    return stop;
}

static void set_section(const struct hd_model *model, struct hd_meeting *meeting) {
    uint32_t held[MOST_HELD], count = held_at(model, meeting->between, held);
    meeting->from = meeting->until = meeting->between;
    for (uint32_t i = 0; i < count; i++) {
        const struct hd_section *section = &model->section[held[i]];
        if (section->acquire < meeting->from) meeting->from = section->acquire;
        if (section->release != HD_NONE && section->release > meeting->until)
            meeting->until = section->release;
    }
}

/* ---- who meets ------------------------------------------------------------------------------ */

/* Is it what comes in between, for an access of this location? The access itself, or one in the
 * same section. */
static bool comes_between(const struct finder *f, uint32_t first, uint32_t event) {
    const struct hd_model *model = f->model;
    uint32_t section = model->event_section[event];
    if (model->thread[event] == model->thread[first]) return false;
    if (!hd_model_is_write(model, event) && !hd_model_is_write(model, first)) return false;
    if (has_role(f, event, HD_FINDING_ROLE_BETWEEN)) return true;
    return section != HD_NONE && (f->section_roles[section] >> HD_FINDING_ROLE_BETWEEN & 1u) != 0;
}

static void add_meeting(struct finder *f, uint32_t first, uint32_t between, uint32_t second) {
    const struct hd_model *model = f->model;
    uint64_t threads = (uint64_t)model->thread[first] << 32 | model->thread[between];
    struct hd_meeting meeting = {.first = first,
                                 .between = between,
                                 .second = second,
                                 .by_block = f->by_block,
                                 .stop = place_to_stop(model, first, second)};
    const struct hd_clocks *clocks = hd_must_clocks(f->run);
    set_section(model, &meeting);
    if (hd_clocks_before(clocks, meeting.stop, between) ||
        hd_clocks_before(clocks, meeting.from, first))
        return;
    uint32_t *slot = hd_map_slot(&f->threads, hd_mix64(threads + 1), 0);
    if (++*slot <= MOST_OF_THREADS) hd_vector_push(&f->meetings->list, meeting);
}

/* The accesses of others to what `first` is about: the next one after the place to stop, then the
 * last one before it, and so on. */
static void look_at_location(struct finder *f, uint32_t first, uint32_t second, uint32_t location) {
    const struct hd_model *model = f->model;
    const uint32_t *event = model->location_event;
    uint32_t begin = model->location_start[location], end = model->location_start[location + 1];
    uint32_t stop = place_to_stop(model, first, second);
    uint32_t at = hd_first_not(i, begin, end, event[i] < stop);
    for (uint32_t k = 0; k < MOST_AHEAD && f->meetings->list.size < MOST_MEETINGS; k++) {
        bool after = at + k < end, before = at >= begin + k + 1;
        if (!after && !before) break;
        if (f->only_shown) {
            if (!before || event[at - k - 1] < first) break;
            if (comes_between(f, first, event[at - k - 1]))
                add_meeting(f, first, event[at - k - 1], second);
            continue;
        }
        if (after && comes_between(f, first, event[at + k]))
            add_meeting(f, first, event[at + k], second);
        if (before && comes_between(f, first, event[at - k - 1]))
            add_meeting(f, first, event[at - k - 1], second);
    }
}

static void look_at_pair(struct finder *f, uint32_t first, uint32_t second) {
    const uint32_t *location;
    uint32_t section = f->model->event_section[first];
    if (section != HD_NONE && is_open(f->model, section, second)) return; /* in one section */
    f->meetings->in_one_thread = true;
    for (uint32_t i = hd_model_locations(f->model, first, &location); i-- > 0;)
        look_at_location(f, first, second, location[i]);
}

/* The latest accesses of a thread that come first, one of each location, the newest last. */
struct latest {
    uint32_t event[MOST_LATEST], count;
};

static void add_latest(const struct hd_model *model, struct latest *latest, uint32_t event) {
    uint32_t drop = 0;
    while (drop < latest->count && model->object[latest->event[drop]] != model->object[event])
        drop++;
    if (drop == MOST_LATEST) drop = 0;
    if (drop < latest->count) {
        latest->count--;
        memmove(latest->event + drop, latest->event + drop + 1,
                (latest->count - drop) * sizeof *latest->event);
    }
    latest->event[latest->count++] = event;
}

/* What a thread does first in a section counts from the next section on. The second access of a
 * section comes when the first of it does: one of them is enough. */
static void look_at_thread(struct finder *f, uint32_t thread) {
    const struct hd_model *model = f->model;
    struct latest latest = {.count = 0}, here = {.count = 0};
    uint32_t done = HD_NONE, current = HD_NONE;
    for (uint32_t i = model->thread_start[thread]; i < model->thread_start[thread + 1]; i++) {
        uint32_t event = model->thread_event[i], section = model->event_section[event];
        if (f->roles[event] == 0 || f->meetings->list.size >= MOST_MEETINGS) continue;
        if (section == HD_NONE || section != current) {
            for (uint32_t k = 0; k < here.count; k++) add_latest(model, &latest, here.event[k]);
            here.count = 0;
            current = section;
        }
        if (has_role(f, event, HD_FINDING_ROLE_SECOND) && (section == HD_NONE || section != done)) {
            for (uint32_t k = latest.count; k-- > 0;) look_at_pair(f, latest.event[k], event);
            done = section;
        }
        if (has_role(f, event, HD_FINDING_ROLE_FIRST)) add_latest(model, &here, event);
    }
}

/* What the section does before is first too, if it is of the same sort. */
static void widen_roles(struct finder *f) {
    const struct hd_model *model = f->model;
    const struct hd_finding *suspicion = f->suspicion;
    for (uint32_t i = 0; i < suspicion->events; i++) {
        const struct hd_finding_event *place = &suspicion->event[i];
        if (place->role != HD_FINDING_ROLE_FIRST) continue;
        for (uint32_t e = 0; e < model->events; e++) {
            uint32_t section = model->event_section[e];
            if (section != HD_NONE && hd_model_is_access(model, e) &&
                (f->section_roles[section] >> HD_FINDING_ROLE_FIRST & 1u) != 0 &&
                does(model, e, place, false))
                f->roles[e] |= 1u << HD_FINDING_ROLE_FIRST;
        }
    }
    f->by_block = true;
}

static void look_at_threads(struct finder *f) {
    bool either = f->suspicion->kind == HD_FINDING_VIEW;
    for (unsigned way = 0; way < 1u + either; way++) {
        f->swapped = way == 1;
        for (uint32_t t = 0; t < f->model->threads; t++) look_at_thread(f, t);
    }
}

static void find(struct hd_analysis *run, const struct hd_finding *suspicion, bool only_shown,
                 bool by_block, struct hd_meetings *meetings) {
    const struct hd_model *model = run->model;
    const unsigned all = (1u << HD_FINDING_ROLE_COUNT) - (1u << HD_FINDING_ROLE_FIRST);
    struct finder f = {.run = run,
                       .model = model,
                       .suspicion = suspicion,
                       .meetings = meetings,
                       .only_shown = only_shown,
                       .roles = hd_zalloc(model->events + (size_t)1, 1),
                       .section_roles = hd_zalloc(model->sections + (size_t)1, 1)};
    memset(meetings, 0, sizeof *meetings);
    meetings->roles = find_roles(&f, false);
    if (meetings->roles != all) meetings->roles |= find_roles(&f, true);
    if (meetings->roles == all) look_at_threads(&f);
    if (meetings->roles == all && by_block && suspicion->kind == HD_FINDING_STALE_VALUE) {
        hd_map_free(&f.threads);
        f.threads = (struct hd_map){0};
        widen_roles(&f);
        look_at_threads(&f);
    }
    hd_map_free(&f.threads);
    free(f.roles);
    free(f.section_roles);
}

void hd_meetings_find(struct hd_analysis *run, const struct hd_finding *suspicion,
                      struct hd_meetings *meetings) {
    find(run, suspicion, false, true, meetings);
}

void hd_meetings_free(struct hd_meetings *meetings) { hd_vector_free(&meetings->list); }

bool hd_meeting_is_shown(struct hd_analysis *run, const struct hd_finding *suspicion,
                         bool by_block) {
    struct hd_meetings meetings;
    find(run, suspicion, true, by_block, &meetings);
    bool shown = meetings.list.size > 0;
    hd_meetings_free(&meetings);
    return shown;
}

/* ---- the order ------------------------------------------------------------------------------ */

struct reordering {
    const struct hd_model *model;
    const struct hd_clocks *clocks;
    const struct hd_meeting *meeting;
    HD_VECTOR(struct hd_span) span;
};

/* Does it come before the section of `between` in the new order? */
static bool is_early(const struct reordering *order, uint32_t event) {
    const struct hd_meeting *m = order->meeting;
    if (event >= m->stop) return false;
    if (m->from >= m->stop || event < m->from) return true;
    return order->model->thread[event] != order->model->thread[m->between] &&
           !hd_clocks_before(order->clocks, m->from, event);
}

static void add_event(struct reordering *order, uint32_t event) {
    struct hd_span *last = order->span.size > 0 ? &order->span.data[order->span.size - 1] : NULL;
    if (last != NULL && last->first + last->count == event)
        last->count++;
    else
        hd_vector_push(&order->span, ((struct hd_span){event, 1}));
}

bool hd_meeting_order(struct hd_analysis *run, const struct hd_meeting *meeting,
                      struct hd_arena *arena, struct hd_span **spans, uint32_t *count) {
    const struct hd_model *model = run->model;
    struct reordering order = {.model = model, .clocks = hd_must_clocks(run), .meeting = meeting};
    uint32_t thread = model->thread[meeting->second], other = model->thread[meeting->between];
    bool good = is_early(&order, meeting->first);
    for (uint32_t e = 0; e < meeting->stop; e++) {
        if (is_early(&order, e)) add_event(&order, e);
        /* what the first thread does on its way must not need the other's section */
        else if (model->thread[e] == thread)
            good = false;
    }
    /* If it comes later in the run, all others do what they did up to there. */
    bool later = meeting->from >= meeting->stop;
    for (uint32_t e = 0; e <= meeting->until && good; e++) {
        if (is_early(&order, e)) continue;
        bool needed = model->thread[e] == other ||
                      hd_clocks_before(order.clocks, e, meeting->between) ||
                      (later && model->thread[e] != thread &&
                       !hd_clocks_before(order.clocks, meeting->stop, e));
        if (needed && model->thread[e] == thread) good = false;
        if (needed) add_event(&order, e);
    }
    hd_vector_push(&order.span, ((struct hd_span){meeting->stop, 1}));
    *count = (uint32_t)order.span.size;
    *spans = hd_arena_alloc(arena, order.span.size * sizeof **spans);
    memcpy(*spans, order.span.data, order.span.size * sizeof **spans);
    hd_vector_free(&order.span);
    return good;
}
