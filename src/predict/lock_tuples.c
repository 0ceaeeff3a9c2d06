/* Walks over the instances of a cycle: see lock_tuples.h. */
#include "predict/lock_tuples.h"

#include "base/search.h"

/* So many instances of the shortest list are tried with what is nearest to them. */
#define NEAR_TUPLES 32
/* So many earlier signals of the thread that should signal are demanded to come too early. */
#define EARLIER_SIGNALS 16

static const struct hd_wait_instance *instance_of(const struct hd_tuples *tuples,
                                                  uint32_t position) {
    return hd_tuple_instance(tuples->graph, tuples->dependency[position], tuples->index[position]);
}

static const struct hd_waiter *waiter_of(const struct hd_tuples *tuples, uint32_t position) {
    return &tuples->graph->waiter
                .data[tuples->graph->dependency.data[tuples->dependency[position]].waiter];
}

/* ---- does it fit ------------------------------------------------------------------------------
 */

/* Can the one wait where it does while the other has not executed its event? */
static bool waits_for(const struct hd_lock_graph *graph, const struct hd_wait_instance *one,
                      const struct hd_wait_instance *other) {
    return hd_clocks_before(graph->clocks, other->event, one->behind);
}

static uint64_t tokens_of(const struct hd_lock_graph *graph, uint32_t semaphore, uint32_t wait,
                          bool *known) {
    const struct hd_model *model = graph->model;
    uint64_t tokens = 0;
    *known = false;
    for (uint32_t e = 0; e < wait; e++) {
        if (model->object[e] != semaphore) continue;
        if (model->kind[e] == HD_EV_SEM_INIT) {
            tokens = hd_trace_extra(model->trace, e, 0);
            *known = true;
        } else if (model->kind[e] == HD_EV_SEM_WAIT && tokens > 0 &&
                   hd_clocks_before(graph->clocks, e, wait))
            tokens--;
    }
    return tokens;
}

/* Nobody but those who need the lock wait `giver` first can end the wait. */
static bool only_way(const struct hd_lock_graph *graph, const struct hd_wait_instance *wait,
                     uint32_t giver, struct hd_question *question) {
    const struct hd_model *model = graph->model;
    uint8_t kind = model->kind[wait->event];
    if (kind != HD_EV_WAIT && kind != HD_EV_SEM_WAIT) return true;
    uint32_t object = model->object[wait->event], earlier = 0;
    if (object >= model->objects) return false;
    bool known;
    if (kind == HD_EV_SEM_WAIT && (tokens_of(graph, object, wait->event, &known) > 0 || !known))
        return false;
    for (uint32_t i = graph->giver_start[object]; i < graph->giver_start[object + 1]; i++) {
        uint32_t event = graph->giver[i];
        if (hd_clocks_before(graph->clocks, giver, event)) continue; /* comes later, or never */
        if (kind == HD_EV_SEM_WAIT) return false;
        if (hd_clocks_before(graph->clocks, event, wait->behind)) continue; /* found nobody */
        if (model->thread[event] == model->thread[wait->event]) continue;   /* not while it waits */
        if (model->thread[event] != model->thread[giver] || ++earlier > EARLIER_SIGNALS)
            return false;
        if (question != NULL) hd_question_order(question, event, wait->behind);
    }
    return true;
}

/* Does the next one of the cycle have what this one wants? */
static bool holds_it(const struct hd_tuples *tuples, uint32_t position, uint32_t next) {
    if (!waiter_of(tuples, position)->waits) return true; /* locks are the waiters' own */
    const struct hd_wait_instance *wait = instance_of(tuples, position),
                                  *giver = instance_of(tuples, next);
    return hd_clocks_before(tuples->graph->clocks, giver->event, wait->event) &&
           only_way(tuples->graph, wait, giver->event, NULL);
}

static bool fits(const struct hd_tuples *tuples) {
    for (uint32_t i = 0; i < tuples->length; i++) {
        for (uint32_t k = 0; k < i; k++)
            if (waits_for(tuples->graph, instance_of(tuples, i), instance_of(tuples, k)) ||
                waits_for(tuples->graph, instance_of(tuples, k), instance_of(tuples, i)))
                return false;
        if (!holds_it(tuples, i, (i + 1) % tuples->length)) return false;
    }
    return true;
}

/* ---- near ones --------------------------------------------------------------------------------
 */

void hd_tuples_begin(struct hd_tuples *tuples, const struct hd_lock_graph *graph,
                     const uint32_t *dependency, uint32_t length, bool near, uint32_t *index,
                     uint32_t *end) {
    *tuples = (struct hd_tuples){.graph = graph,
                                 .dependency = dependency,
                                 .length = length,
                                 .near = near,
                                 .index = index,
                                 .end = end};
    for (uint32_t i = 1; i < length; i++)
        if (waiter_of(tuples, i)->count < waiter_of(tuples, tuples->pivot)->count)
            tuples->pivot = i;
}

/* The instance of a position that is nearest to an event. */
static uint32_t nearest(const struct hd_tuples *tuples, uint32_t position, uint32_t event) {
    const struct hd_waiter *waiter = waiter_of(tuples, position);
    const struct hd_wait_instance *list = tuples->graph->instance.data + waiter->start;
    uint32_t low = hd_first_not(i, 0, waiter->count, list[i].event < event);
    if (low == waiter->count) return low - 1;
    if (low > 0 && event - list[low - 1].event < list[low].event - event) return low - 1;
    return low;
}

static enum hd_tuples_step next_near(struct hd_tuples *tuples) {
    uint32_t at = tuples->at++;
    if (at >= NEAR_TUPLES || at >= waiter_of(tuples, tuples->pivot)->count) {
        tuples->near = false;
        return HD_TUPLE_SKIPPED;
    }
    tuples->index[tuples->pivot] = at;
    uint32_t event = instance_of(tuples, tuples->pivot)->event;
    for (uint32_t i = 0; i < tuples->length; i++)
        if (i != tuples->pivot) tuples->index[i] = nearest(tuples, i, event);
    return fits(tuples) ? HD_TUPLE : HD_TUPLE_SKIPPED;
}

/* ---- all --------------------------------------------------------------------------------------
 */

/* Instances of a position that fit to those chosen before it are a run: the earlier ones must be
 * executed for one of these to be where it is, and the later ones need one of these. */
static void find_run(struct hd_tuples *tuples, uint32_t position) {
    const struct hd_lock_graph *graph = tuples->graph;
    const struct hd_waiter *waiter = waiter_of(tuples, position);
    const struct hd_wait_instance *list = graph->instance.data + waiter->start;
    uint32_t from = 0, to = waiter->count;
    for (uint32_t i = 0; i < position; i++) {
        const struct hd_wait_instance *other = instance_of(tuples, i);
        from = hd_first_not(k, from, to, waits_for(graph, other, &list[k]));
        to = hd_first_not(k, from, to, !waits_for(graph, &list[k], other));
    }
    tuples->index[position] = from;
    tuples->end[position] = to;
}

enum hd_tuples_step hd_tuples_next(struct hd_tuples *tuples) {
    if (tuples->near) return next_near(tuples);
    if (tuples->depth == 0)
        find_run(tuples, tuples->depth++);
    else
        tuples->index[tuples->depth - 1]++;
    while (tuples->depth > 0) {
        uint32_t last = tuples->depth - 1;
        if (tuples->index[last] >= tuples->end[last]) {
            if (--tuples->depth == 0) break;
            tuples->index[tuples->depth - 1]++;
        } else if (tuples->depth < tuples->length)
            find_run(tuples, tuples->depth++);
        else
            return fits(tuples) ? HD_TUPLE : HD_TUPLE_SKIPPED;
    }
    return HD_TUPLES_END;
}

/* ---- the question -----------------------------------------------------------------------------
 */

/* A thread at the end of a wait has executed all before it. As a stop, a read there might read
 * anything; so it is demanded by an order instead, and the thread cannot go beyond it anyway. The
 * same if a branch comes after it, which the engine would not see: it knows those before a stop. */
static bool stop_behind(const struct hd_lock_graph *graph, const struct hd_dependency *dependency,
                        const struct hd_wait_instance *instance, struct hd_question *question) {
    const struct hd_model *model = graph->model;
    const uint32_t *branches = question->query.branches;
    bool decided = branches != NULL && branches[instance->behind] != branches[instance->event];
    if (!hd_model_is_read(model, instance->behind) && !decided) {
        hd_question_stop(question, instance->behind, true);
        return true;
    }
    uint32_t section = hd_instance_section(model, instance, dependency->holds);
    if (section == HD_NONE) return false;
    hd_question_order(question, model->section[section].acquire, instance->behind);
    return true;
}

bool hd_tuple_ask(const struct hd_lock_graph *graph, const uint32_t *dependency,
                  const uint32_t *index, uint32_t length, const uint32_t *branches,
                  struct hd_question *question) {
    question->query.branches = branches;
    for (uint32_t i = 0; i < length; i++) {
        const struct hd_dependency *each = &graph->dependency.data[dependency[i]];
        const struct hd_wait_instance *instance = hd_tuple_instance(graph, dependency[i], index[i]);
        if (!graph->waiter.data[each->waiter].waits) {
            hd_question_stop(question, instance->event, false);
            continue;
        }
        uint32_t next = (i + 1) % length;
        uint32_t giver = hd_tuple_instance(graph, dependency[next], index[next])->event;
        if (!stop_behind(graph, each, instance, question) ||
            !only_way(graph, instance, giver, question))
            return false;
    }
    return true;
}
