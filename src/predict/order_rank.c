/* Signs of intent: how likely an order that is not harmful by itself is a bug, and why. */
#include "facts/history.h"
#include "facts/site.h"
#include "predict/order_violations.h"

/* The event that started a thread, HD_NONE. */
static uint32_t fork_of(const struct hd_model *model, uint32_t thread) {
    if (model->thread_start[thread] == model->thread_start[thread + 1]) return HD_NONE;
    uint32_t first = model->thread_event[model->thread_start[thread]];
    const uint32_t *edge;
    uint32_t edges = hd_model_edges_into(model, first, &edge);
    for (uint32_t i = 0; i < edges; i++)
        if (model->edge[edge[i]].type == HD_EDGE_FORK) return model->edge[edge[i]].from;
    return HD_NONE;
}

/* Did the thread of `event` start the thread of `other`, and before it? */
static bool creates_first(const struct hd_model *model, uint32_t event, uint32_t other) {
    uint32_t fork = fork_of(model, model->thread[other]);
    return fork != HD_NONE && model->thread[fork] == model->thread[event] && fork < event;
}

/* A lock that both hold, for writing at least one; HD_NONE. */
static uint32_t common_lock(const struct hd_model *model, uint32_t a, uint32_t b) {
    uint32_t mine[32], its[32];
    uint32_t left = hd_model_held(model, a, mine, 32), right = hd_model_held(model, b, its, 32);
    for (uint32_t i = 0; i < left && i < 32; i++)
        for (uint32_t k = 0; k < right && k < 32; k++) {
            const struct hd_section *one = &model->section[mine[i]], *two = &model->section[its[k]];
            if (one->lock == two->lock && !(one->read_mode && two->read_mode)) return one->lock;
        }
    return HD_NONE;
}

/* Is it a read by realloc, which left the block in its place? The program wants nothing of it. */
static bool is_of_realloc(const struct hd_model *model, uint32_t read) {
    uint32_t position = hd_model_position(model, read);
    if (position == 0) return false;
    uint32_t last = model->thread_event[model->thread_start[model->thread[read]] + position - 1];
    return model->kind[last] == HD_EV_ALLOC && (model->flags[last] & HD_BLOCK_GROWN) != 0 &&
           model->site[last] == model->site[read];
}

/* Did somebody read the location before its first write? */
static bool initial_value_is_read(const struct hd_model *model, uint32_t location, uint32_t write) {
    const uint32_t *event = model->location_event + model->location_start[location];
    uint32_t count = model->location_start[location + 1] - model->location_start[location];
    for (uint32_t i = 0; i < count && event[i] < write; i++)
        if (hd_model_is_read(model, event[i]) && !is_of_realloc(model, event[i])) return true;
    return hd_model_is_read(model, write);
}

/* Does the thread of a read come to the same place for the same location again? */
static bool reads_again(const struct hd_model *model, uint32_t location, uint32_t read) {
    const uint32_t *event = model->location_event + model->location_start[location];
    uint32_t count = model->location_start[location + 1] - model->location_start[location];
    uint32_t seen = 0;
    for (uint32_t i = 0; i < count && seen < 64; i++) {
        if (model->thread[event[i]] != model->thread[read] || event[i] == read) continue;
        seen++;
        if (model->site[event[i]] == model->site[read] && hd_model_is_read(model, event[i]) &&
            model->site[read] != 0)
            return true;
    }
    return false;
}

/* Is the lock one that a wait for a condition gives up? What is read under it is then most likely
 * what is waited for. */
static bool belongs_to_condition(const struct hd_model *model, uint32_t lock) {
    for (uint32_t i = model->lock_start[lock]; i < model->lock_start[lock + 1]; i++) {
        uint32_t release = model->section[model->lock_section[i]].release;
        if (release == HD_NONE) continue;
        if ((model->flags[release] & HD_LOCK_BY_WAIT) != 0) return true;
        if (model->trace->format == HD_FORMAT_BINARY) continue;
        uint32_t position = hd_model_position(model, release) + 1;
        uint32_t thread = model->thread[release];
        if (model->thread_start[thread] + position >= model->thread_start[thread + 1]) continue;
        uint8_t kind = model->kind[model->thread_event[model->thread_start[thread] + position]];
        if (kind == HD_EV_WAIT || kind == HD_EV_WAIT_TIMEOUT) return true;
    }
    return false;
}

/* Does the section of a write, on a lock, go on to signal a condition? Whoever reads under the lock
 * is then most likely one who would wait. */
static bool signals_in_section(const struct hd_model *model, uint32_t write, uint32_t lock) {
    uint32_t thread = model->thread[write], position = hd_model_position(model, write);
    const uint32_t *event = model->thread_event + model->thread_start[thread];
    uint32_t count = model->thread_start[thread + 1] - model->thread_start[thread];
    for (uint32_t i = position + 1; i < count && i < position + 256; i++) {
        uint8_t kind = model->kind[event[i]];
        if (kind == HD_EV_SIGNAL || kind == HD_EV_BROADCAST) return true;
        if (kind == HD_EV_RELEASE && model->object[event[i]] == lock) return false;
    }
    return false;
}

/* Does a branch follow at once? */
static bool is_tested(const struct hd_model *model, uint32_t read) {
    uint32_t thread = model->thread[read], position = hd_model_position(model, read) + 1;
    uint32_t at = model->thread_start[thread] + position;
    return model->trace->has_branches && at < model->thread_start[thread + 1] &&
           model->branches[model->thread_event[at]] > 0;
}

static void weigh_early_read(struct hd_weighing *w, const struct hd_model *model, uint32_t read,
                             uint32_t write, uint32_t location) {
    uint32_t lock = common_lock(model, read, write);
    w->score = 40;
    if (creates_first(model, write, read))
        hd_weigh(w, 40, "the reading thread is started before its starter writes");
    if (lock == HD_NONE)
        hd_weigh(w, 20, "no lock in common");
    else if (belongs_to_condition(model, lock) || signals_in_section(model, write, lock))
        hd_weigh(w, -40,
                 "read under the lock of a condition variable: most likely what is waited for");
    else
        hd_weigh(w, 0, "both hold a lock");
    if (initial_value_is_read(model, location, write))
        hd_weigh(w, -50, "the initial value was read in this run too, so it is expected");
    if (hd_model_is_atomic(model, read)) hd_weigh(w, -40, "an atomic read: most likely a flag");
    if (is_tested(model, read)) hd_weigh(w, -10, "tested at once");
    if (reads_again(model, location, read)) hd_weigh(w, -30, "read again and again at this place");
}

static void weigh_late_initialisation(struct hd_weighing *w, const struct hd_model *model,
                                      uint32_t later, uint32_t initial, uint32_t location) {
    w->score = 30;
    if (creates_first(model, initial, later))
        hd_weigh(w, 50, "the other thread is started before its starter initialises");
    if (common_lock(model, later, initial) == HD_NONE)
        hd_weigh(w, 20, "no lock in common");
    else
        hd_weigh(w, 0, "both hold a lock");
    if (initial_value_is_read(model, location, initial))
        hd_weigh(w, -40, "the first write builds on the value before it");
    if (model->site[later] == model->site[initial] && model->site[later] != 0)
        hd_weigh(w, -30, "both are at one place of the source");
    if (hd_model_is_atomic(model, later) && hd_model_is_atomic(model, initial))
        hd_weigh(w, -30, "both are atomic");
}

/* Did a run that passed take the order that is asked for? */
static bool was_shown(const struct hd_predict *predict, const struct hd_order_candidate *candidate,
                      const struct hd_order_group *group) {
    const struct hd_predict_options *options = &predict->options;
    if (options->passings == 0) return false;
    uint64_t first = hd_site_source(predict->describe, predict->model, candidate->first);
    if (group->type == HD_ORDER_EARLY_READ)
        return hd_read_was_early(options->passing, options->passings, first);
    return group->type == HD_ORDER_LATE_INITIALISATION &&
           hd_writes_were_shown(
               options->passing, options->passings, first,
               hd_site_source(predict->describe, predict->model, candidate->second));
}

struct hd_weighing hd_order_weigh(const struct hd_order_candidates *candidates,
                                  const struct hd_order_candidate *candidate,
                                  const struct hd_order_group *group,
                                  const struct hd_predict *predict) {
    const struct hd_model *model = candidates->model;
    struct hd_weighing w = {0};
    switch ((enum hd_order_type)group->type) {
    case HD_ORDER_EARLY_READ:
        if (group->raw) return (struct hd_weighing){.itself = true};
        weigh_early_read(&w, model, candidate->first, candidate->second, candidate->location);
        break;
    case HD_ORDER_LATE_INITIALISATION:
        weigh_late_initialisation(&w, model, candidate->first, candidate->second,
                                  candidate->location);
        break;
    case HD_ORDER_MISSED_SIGNAL:
        w.score = 90;
        hd_weigh(&w, 0, "nobody signals any more, and the wait has no end");
        break;
    default:
        return (struct hd_weighing){.itself = true};
    }
    w.exercised = was_shown(predict, candidate, group);
    if (w.exercised) hd_weigh(&w, 0, "a run that passed took this order");
    return w;
}
