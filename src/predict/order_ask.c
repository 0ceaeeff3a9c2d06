/* The error conditions of order violations, as queries. */
#include "base/search.h"
#include "predict/order_violations.h"

/* Executed, whatever its thread does next: as a stop it would keep the locks that it holds there.
 */
static void demand(const struct hd_model *model, uint32_t event, struct hd_question *question) {
    uint32_t before = hd_event_before(model, event);
    if (before == HD_NONE)
        hd_question_stop(question, event, true);
    else
        hd_question_order(question, before, event);
}

/* A block is used after it was allocated, also where the trace does not say how its address got
 * from one thread to the other. */
static void after_alloc(const struct hd_model *model, uint32_t block, uint32_t event,
                        struct hd_question *question) {
    if (block >= model->blocks) return;
    uint32_t alloc = model->block[block].alloc;
    if (alloc >= model->events || model->thread[alloc] == model->thread[event]) return;
    hd_question_order(question, alloc, event);
}

/* Does only the thread that initialises a location write it? Then whoever reads it before the
 * initialisation sees the initial value. */
static bool has_one_writer(const struct hd_model *model, uint32_t location, uint32_t write) {
    const uint32_t *event = model->location_event + model->location_start[location];
    uint32_t count = model->location_start[location + 1] - model->location_start[location];
    for (uint32_t i = 0; i < count; i++)
        if (hd_model_is_write(model, event[i]) && model->thread[event[i]] != model->thread[write])
            return false;
    return true;
}

/* Where the read touches more than the initialisation wrote, the initial value everywhere is too
 * much to ask; then the initialisation is next. */
static void ask_early_read(const struct hd_model *model, const struct hd_order_candidate *candidate,
                           uint32_t form, struct hd_question *question) {
    hd_question_stop(question, candidate->first, true);
    if (form == 0)
        question->query.reader = candidate->first; /* and writer HD_NONE */
    else
        hd_question_stop(question, candidate->second, false);
    after_alloc(model, model->location[candidate->location].block, candidate->first, question);
}

/* The initialisation ends its thread's part. The other write does not, so that its thread can leave
 * the section that it writes in; only if it is an update, it may have to be the last, to read
 * anything. */
static void ask_late_initialisation(const struct hd_model *model,
                                    const struct hd_order_candidate *candidate, uint32_t form,
                                    struct hd_question *question) {
    if (form > 0) hd_question_stop(question, candidate->first, true);
    hd_question_stop(question, candidate->second, true);
    hd_question_order(question, candidate->first, candidate->second);
    after_alloc(model, model->location[candidate->location].block, candidate->first, question);
}

/* The free is done and the use is next. */
static void ask_after_free(const struct hd_model *model, const struct hd_order_candidate *candidate,
                           struct hd_question *question) {
    demand(model, candidate->first, question);
    hd_question_stop(question, candidate->second, false);
}

/* The use is done and the initialisation is next. */
static void ask_before_init(const struct hd_order_candidate *candidate,
                            struct hd_question *question) {
    hd_question_stop(question, candidate->first, true);
    hd_question_stop(question, candidate->second, false);
}

/* The waiting thread is about to release its lock and wait, and all signals that might still come
 * have come: of each thread the last one that does not itself need the end of the wait. */
static void ask_missed_signal(const struct hd_order_candidates *candidates,
                              const struct hd_order_candidate *candidate,
                              struct hd_question *question) {
    const struct hd_model *model = candidates->model;
    uint32_t wait = candidate->second, object = candidate->location;
    hd_question_stop(question, hd_event_before(model, wait), false);
    const struct hd_order_signal *list = candidates->signal.data;
    uint32_t i = candidates->signal_start[object], end = candidates->signal_start[object + 1];
    while (i < end) {
        uint32_t thread = list[i].thread, first = i;
        uint32_t stop = hd_first_not(k, first, end, list[k].thread == thread);
        i = stop;
        if (thread == model->thread[wait]) continue;
        /* those that need the end of the wait are the last ones */
        uint32_t last = hd_first_not(k, first, stop,
                                     !hd_clocks_before(candidates->clocks, wait, list[k].event));
        if (last > first) demand(model, list[last - 1].event, question);
    }
}

enum hd_asked hd_order_ask(const struct hd_order_candidates *candidates,
                           const struct hd_order_candidate *candidate, enum hd_order_type type,
                           uint32_t form, struct hd_question *question) {
    const struct hd_model *model = candidates->model;
    const uint32_t *location;
    bool another = false;
    if (type == HD_ORDER_EARLY_READ)
        another = hd_model_locations(model, candidate->first, &location) > 1 &&
                  has_one_writer(model, candidate->location, candidate->second);
    if (type == HD_ORDER_LATE_INITIALISATION) another = hd_model_is_read(model, candidate->first);
    if (form > another) return HD_NO_MORE;
    switch (type) {
    case HD_ORDER_EARLY_READ:
        ask_early_read(model, candidate, form, question);
        break;
    case HD_ORDER_LATE_INITIALISATION:
        ask_late_initialisation(model, candidate, form, question);
        break;
    case HD_ORDER_USE_BEFORE_INIT:
        ask_before_init(candidate, question);
        break;
    case HD_ORDER_MISSED_SIGNAL:
        ask_missed_signal(candidates, candidate, question);
        break;
    default:
        ask_after_free(model, candidate, question);
        break;
    }
    return HD_ASK;
}

/* ---- the branch relaxation --------------------------------------------------------------------
 */

/* Where the thread of an event may end, if reads before the event are to be free: there, or at a
 * later event that others may need (a release, a write, a signal) while no branch follows. HD_NONE:
 * there is no n-th. */
static uint32_t end_of(const struct hd_order_candidates *candidates, uint32_t event, uint32_t n) {
    const struct hd_model *model = candidates->model;
    uint32_t thread = model->thread[event], at = hd_model_position(model, event);
    const uint32_t *list = model->thread_event + model->thread_start[thread];
    uint32_t count = model->thread_start[thread + 1] - model->thread_start[thread];
    for (; n > 0 && ++at < count; event = list[at]) {
        if (candidates->branches[list[at]] != candidates->branches[event]) return HD_NONE;
        n -= !hd_model_is_read(model, list[at]) || hd_model_is_write(model, list[at]);
    }
    return n == 0 ? event : HD_NONE;
}

/* The thread of the first event ends at its n-th end, so that its reads are free too. */
static enum hd_asked ask_ending(const struct hd_order_candidates *candidates,
                                const struct hd_order_candidate *candidate, enum hd_order_type type,
                                uint32_t n, struct hd_question *question) {
    uint32_t end = end_of(candidates, candidate->first, n);
    if (end == HD_NONE) return HD_SKIP;
    hd_question_stop(question, end, true);
    switch (type) {
    case HD_ORDER_LATE_INITIALISATION:
        ask_late_initialisation(candidates->model, candidate, 0, question);
        return HD_ASK;
    case HD_ORDER_USE_AFTER_FREE:
    case HD_ORDER_DOUBLE_FREE:
        hd_question_stop(question, candidate->second, false);
        return HD_ASK;
    default:
        return HD_SKIP;
    }
}

enum hd_asked hd_order_ask_relaxed(const struct hd_order_candidates *candidates,
                                   const struct hd_order_candidate *candidate,
                                   enum hd_order_type type, uint32_t form,
                                   struct hd_question *question) {
    if (form >= HD_ORDER_RELAXED_FORMS) return HD_NO_MORE;
    enum hd_asked asked = form < 2 ? hd_order_ask(candidates, candidate, type, form, question)
                                   : ask_ending(candidates, candidate, type, form - 2, question);
    if (asked != HD_ASK) return HD_SKIP;
    /* A block that is freed has been allocated, whatever the reads that told its address see. */
    if (type == HD_ORDER_USE_AFTER_FREE || type == HD_ORDER_DOUBLE_FREE)
        after_alloc(candidates->model, candidate->location, candidate->first, question);
    question->query.branches = candidates->branches;
    return HD_ASK;
}
