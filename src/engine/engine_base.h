/* What the decision engine knows of a model before any query: the events whose order can matter
 * (steps), accesses by location, sections by lock and thread, and the clocks of everything that an
 * event cannot do without. Read-only once built. Internal to the engine. */
#ifndef HEDDLE_ENGINE_ENGINE_BASE_H
#define HEDDLE_ENGINE_ENGINE_BASE_H

#include "base/search.h"
#include "engine/engine.h"

/* What a step does. */
enum {
    HD_STEP_READ = 1,
    HD_STEP_WRITE = 2,
    HD_STEP_ACQUIRE = 4,
    HD_STEP_NEEDS = 8, /* has events of other threads to wait for: see need */
    HD_STEP_SPAN = 16  /* accesses several locations */
};

/* A step that another waits for; with this bit only if it is executed at all. */
#define HD_NEED_IF_IN 0x80000000u
#define HD_NEED_STEP 0x7fffffffu

/* The sections of one lock in one thread: use_section[first .. first + count), by acquire. */
struct hd_lock_sections {
    uint32_t thread, first, count;
};

/* The steps are events that can wait for others or let others wait: must-order edges, sections of
 * locks that two threads use, failed tries and, in the full view, accesses of shared locations. All
 * other events can run whenever their thread comes to them, so no reordering fails because of them.
 * A step's number is by thread, then by position. */
struct hd_view {
    uint32_t steps;
    uint32_t *first;    /* threads + 1: steps of a thread */
    uint32_t *event;    /* per step */
    uint32_t *position; /* per step: events of its thread before it */
    uint16_t *thread;   /* per step */
    uint8_t *role;      /* per step */
    uint32_t *about;    /* per step: ACQUIRE its section; access: its entry in access_*, or with
                           HD_STEP_SPAN where in span[] their number and then they themselves are */
    uint32_t *need;     /* per step with NEEDS: where in need_list their number and then they are */
    uint32_t *need_list;
    uint32_t *span;

    /* Accesses by shared location ("place"), in trace order: entries place_first[p] ..
     * place_first[p + 1). The reads of a write's value are the entries that follow it up to the
     * next write, that one included if it is an atomic update. */
    uint32_t places, accesses;
    uint32_t *place_first;
    uint32_t *access_step, *access_place;
    uint32_t *access_from; /* entry of the last write before, HD_NONE if there is none */

    /* per section of the model: steps of its acquire and release, HD_NONE if its lock is of no
     * interest, or if it is never released */
    uint32_t *section_acquire, *section_release;
};

/* Clocks of what must be executed before an event: clock(t, p)[u] = how many events of thread u
 * come before the event at position p of thread t in every reordering that has it; t's own
 * component is p + 1 and not stored. Clocks change only at steps that wait for other threads. */
struct hd_reach {
    uint32_t threads;
    uint32_t *change_first; /* threads + 1 */
    uint32_t *change_position;
    uint32_t *version; /* per change: its clock, in units of `threads` numbers */
    uint32_t *clock;
    uint32_t versions;
};

struct hd_engine_base {
    const struct hd_model *model;
    struct hd_view sync; /* without accesses */
    struct hd_view full;
    struct hd_reach must; /* must-order and failed tries */
    struct hd_reach kept; /* those and reads-from */
    uint8_t *contended;   /* per lock: two threads use it, and not all for reading */
    uint32_t *use_first;  /* locks + 1 */
    struct hd_lock_sections *use;
    uint32_t *use_section; /* sections by lock, thread, acquire */
    uint32_t *use_writer;  /* entry of the last write-mode section up to this one, HD_NONE */
};

void hd_view_build(struct hd_view *view, const struct hd_engine_base *base, bool accesses);
void hd_view_free(struct hd_view *view);
void hd_reach_build(struct hd_reach *reach, const struct hd_model *model,
                    const struct hd_view *view);
void hd_reach_free(struct hd_reach *reach);

static inline bool hd_conflicting_modes(const struct hd_section *a, const struct hd_section *b) {
    return !(a->read_mode && b->read_mode);
}

/* The first step of a thread at or after a position. */
static inline uint32_t hd_step_at(const struct hd_view *view, uint32_t thread, uint32_t position) {
    return hd_first_not(i, view->first[thread], view->first[thread + 1],
                        view->position[i] < position);
}

/* The entries of a step that is an access. */
static inline const uint32_t *hd_entries_of(const struct hd_view *view, uint32_t step,
                                            uint32_t *count) {
    if ((view->role[step] & HD_STEP_SPAN) == 0) {
        *count = 1;
        return &view->about[step];
    }
    *count = view->span[view->about[step]];
    return view->span + view->about[step] + 1;
}

/* The clock of the event at a position; NULL if it knows of no other thread. */
static inline const uint32_t *hd_reach_clock(const struct hd_reach *reach, uint32_t thread,
                                             uint32_t position) {
    uint32_t start = reach->change_first[thread], end = reach->change_first[thread + 1];
    uint32_t after = hd_first_not(i, start, end, reach->change_position[i] <= position);
    if (after == start) return NULL;
    return reach->clock + (size_t)reach->version[after - 1] * reach->threads;
}

/* Must x be executed before y can be next? What y itself waits for does not count, since it is not
 * executed. */
static inline bool hd_needed_for_next(const struct hd_engine_base *base,
                                      const struct hd_reach *reach, uint32_t x, uint32_t y) {
    const struct hd_model *model = base->model;
    uint32_t position = hd_model_position(model, y);
    if (position == 0) return false;
    const uint32_t *clock = hd_reach_clock(reach, model->thread[y], position - 1);
    return clock != NULL && clock[model->thread[x]] > hd_model_position(model, x);
}

#endif
