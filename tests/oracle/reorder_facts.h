/* What the oracles of prediction need to know of a small execution, looked up by definition and
 * kept as bit sets of events. */
#ifndef HEDDLE_TESTS_ORACLE_REORDER_FACTS_H
#define HEDDLE_TESTS_ORACLE_REORDER_FACTS_H

#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_EVENTS = 64, SMALL_LOCATIONS = 48 };

struct small_event {
    uint64_t before;  /* events that must-order wants executed first, of its own thread included */
    uint64_t touches; /* locations */
    /* acquire: the sections that its own may not meet */
    uint32_t rivals, acquire_of[SMALL_EVENTS / 2], release_of[SMALL_EVENTS / 2];
    uint32_t inside; /* failed try: section that made it fail, HD_NONE */
    bool reads, writes;
    uint8_t seen[SMALL_LOCATIONS]; /* reads, per location: event + 1 it read from, 0 initial */
};

struct small {
    const struct hd_model *model;
    uint32_t events, threads, locations;
    uint64_t of_thread[16];
    struct small_event event[SMALL_EVENTS];
};

#define SMALL_BIT(event) ((uint64_t)1 << (event))

static inline bool small_touches(const struct hd_model *model, uint32_t event, uint32_t location) {
    const uint32_t *list;
    uint32_t count = hd_model_locations(model, event, &list);
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == location) return true;
    return false;
}

/* The last write of a location before an event of the trace: event + 1, 0 if there is none. */
static inline uint32_t small_seen(const struct hd_model *model, uint32_t event, uint32_t location) {
    for (uint32_t w = event; w-- > 0;)
        if (hd_model_is_write(model, w) && small_touches(model, w, location)) return w + 1;
    return 0;
}

/* Two sections that must not overlap. */
static inline bool small_exclude(const struct hd_section *a, const struct hd_section *b) {
    return a->lock == b->lock && a->thread != b->thread && !(a->read_mode && b->read_mode);
}

static inline void small_build(struct small *small, const struct hd_model *model) {
    if (model->events > SMALL_EVENTS || model->locations > SMALL_LOCATIONS || model->threads > 16) {
        fprintf(stderr, "# too large for the oracle: %u events, %u locations, %u threads\n",
                model->events, model->locations, model->threads);
        abort();
    }
    memset(small, 0, sizeof *small);
    small->model = model;
    small->events = model->events;
    small->threads = model->threads;
    small->locations = model->locations;
    for (uint32_t e = 0; e < model->events; e++) {
        struct small_event *event = &small->event[e];
        event->before = small->of_thread[model->thread[e]];
        small->of_thread[model->thread[e]] |= SMALL_BIT(e);
        for (uint32_t i = 0; i < model->edges; i++)
            if (model->edge[i].to == e) event->before |= SMALL_BIT(model->edge[i].from);
        event->inside = hd_model_failed_by(model, e);
        event->reads = hd_model_is_read(model, e);
        event->writes = hd_model_is_write(model, e);
        for (uint32_t l = 0; l < model->locations; l++) {
            if (!small_touches(model, e, l)) continue;
            event->touches |= (uint64_t)1 << l;
            event->seen[l] = event->reads ? (uint8_t)small_seen(model, e, l) : 0;
        }
    }
    for (uint32_t s = 0; s < model->sections; s++)
        for (uint32_t r = 0; r < model->sections; r++) {
            if (!small_exclude(&model->section[s], &model->section[r])) continue;
            struct small_event *event = &small->event[model->section[s].acquire];
            if (event->rivals == SMALL_EVENTS / 2) abort();
            event->acquire_of[event->rivals] = model->section[r].acquire;
            event->release_of[event->rivals++] = model->section[r].release;
        }
}

#endif
