/* What a run that deadlocked says by itself: who waits for what at its end. Cycles of locks alone
 * are deadlock.c's; here are cycles that go through joins, and waits for something that nobody is
 * left to give. The trace is the witness. */
#include "predict/deadlock.h"

#include "base/alloc.h"
#include "base/map.h"
#include "finding/words.h"

#include <stdlib.h>
#include <string.h>

struct ending {
    struct hd_predict *predict;
    struct hd_findings *findings;
    const struct hd_model *model;
    uint32_t *blocked;     /* per thread: its BLOCKED event, HD_NONE */
    struct hd_map grouped; /* kind of wait and site -> finding */
    bool *done;            /* per thread: part of a finding */
};

/* The thread whose end or release another waits for, if that one is blocked too; HD_NONE if it is
 * not known. */
static uint32_t waits_for(const struct ending *ending, uint32_t thread) {
    const struct hd_model *model = ending->model;
    uint32_t event = ending->blocked[thread], object = model->object[event], other = HD_NONE;
    if (object == HD_NONE) return HD_NONE;
    if (model->flags[event] == HD_WAIT_JOIN) other = object;
    if (model->flags[event] == HD_WAIT_LOCK)
        for (uint32_t i = model->lock_start[object]; i < model->lock_start[object + 1]; i++) {
            const struct hd_section *section = &model->section[model->lock_section[i]];
            if (section->release == HD_NONE && section->thread != thread) other = section->thread;
        }
    return other != HD_NONE && other < model->threads && ending->blocked[other] != HD_NONE
               ? other
               : HD_NONE;
}

static struct hd_stuck stuck_thread(const struct ending *ending, uint32_t thread) {
    struct hd_describe *describe = ending->predict->describe;
    uint32_t event = ending->blocked[thread];
    return (struct hd_stuck){.thread = hd_describe_thread(describe, thread),
                             .wait = hd_words_wait(ending->findings, ending->model->flags[event],
                                                   hd_describe_event(describe, event, HD_SHORT),
                                                   false, hd_describe_site(describe, event))};
}

/* The whole trace up to what the threads cannot do. */
static void set_witness(struct ending *ending, struct hd_finding *finding, const uint32_t *event,
                        uint32_t count) {
    const struct hd_model *model = ending->model;
    struct hd_span *run = hd_alloc(model->threads + (size_t)count + 2, sizeof *run);
    uint32_t runs = hd_spans_before_blocked(model, run);
    for (uint32_t i = 0; i < count; i++) run[runs++] = (struct hd_span){event[i], 1};
    hd_finding_set_witness(ending->findings, finding, ending->predict->describe, model, run, runs,
                           count);
    free(run);
}

static struct hd_finding *add_finding(struct ending *ending, const uint32_t *event,
                                      uint32_t count) {
    ending->findings->summary.candidates++;
    ending->findings->summary.verdict[HD_VERDICT_FEASIBLE]++;
    struct hd_finding draft = {.kind = HD_FINDING_DEADLOCK,
                               .verdict = HD_VERDICT_FEASIBLE,
                               .engine = hd_method_full_name(ending->predict->options.method,
                                                             ending->predict->options.reading),
                               .harm = HD_HARM_ITSELF,
                               .observed = true,
                               .threads_involved = count,
                               .variables_involved = count,
                               .accesses_involved = count};
    hd_finding_set_events(ending->findings, &draft, ending->predict->describe, ending->model, event,
                          count);
    for (uint32_t i = 0; i < count; i++)
        draft.event[i].verb =
            ending->model->flags[event[i]] == HD_WAIT_LOCK ? "wants" : "waits for";
    set_witness(ending, &draft, event, count);
    return hd_finding_add(ending->findings, &draft);
}

/* ---- cycles through joins ---------------------------------------------------------------------
 */

static void add_cycle(struct ending *ending, const uint32_t *thread, uint32_t count) {
    uint32_t *event = hd_alloc(count, sizeof *event);
    struct hd_stuck *stuck = hd_alloc(count, sizeof *stuck);
    const char *names = "";
    for (uint32_t i = 0; i < count; i++) {
        event[i] = ending->blocked[thread[i]];
        stuck[i] = stuck_thread(ending, thread[i]);
        ending->done[thread[i]] = true;
        if (!hd_finding_in_words(i, count)) continue;
        bool gap = i > 0 && !hd_finding_in_words(i - 1, count);
        names = hd_finding_text(ending->findings, "%s%s%s", names,
                                i == 0 ? ""
                                : gap  ? ", ..., "
                                       : ", ",
                                hd_describe_event(ending->predict->describe, event[i], HD_SHORT));
    }
    struct hd_finding *finding = add_finding(ending, event, count);
    finding->pattern = "join";
    finding->variable = names;
    finding->conclusion = hd_words_deadlock(ending->findings, stuck, count, true);
    finding->repair = HD_REPAIR_JOIN;
    free(stuck);
    free(event);
}

/* A cycle of threads of which one at least waits for an end; of locks alone it is reported
 * elsewhere. */
static void find_cycle(struct ending *ending, uint32_t start, uint32_t *path) {
    uint32_t count = 0, thread = start;
    bool joins = false;
    do {
        path[count++] = thread;
        joins |= ending->model->flags[ending->blocked[thread]] == HD_WAIT_JOIN;
        thread = waits_for(ending, thread);
    } while (thread != HD_NONE && thread != start && count < ending->model->threads);
    if (thread != start) return;
    for (uint32_t i = 0; i < count; i++)
        if (path[i] < start || ending->done[path[i]]) return; /* found from its first */
    if (joins) add_cycle(ending, path, count);
}

/* ---- waits without end -------------------------------------------------------------------------
 */

/* Is everyone who could end the wait blocked or gone? At the end of a deadlocked run they are. */
static void add_endless(struct ending *ending, uint32_t thread) {
    const struct hd_model *model = ending->model;
    uint32_t event = ending->blocked[thread], fresh = (uint32_t)ending->findings->list.size;
    uint64_t key = (uint64_t)model->flags[event] << 32 | model->site[event];
    uint32_t *slot = hd_map_slot(&ending->grouped, key, fresh);
    if (*slot != fresh) { /* another thread at the same place */
        ending->findings->list.data[*slot].instances++;
        return;
    }
    struct hd_finding *finding = add_finding(ending, &event, 1);
    struct hd_stuck stuck = stuck_thread(ending, thread);
    finding->pattern = "endless wait";
    finding->conclusion = hd_words_endless_wait(ending->findings, &stuck);
    finding->repair = HD_REPAIR_ENDLESS_WAIT;
}

static void find_all(struct ending *ending, uint32_t *path) {
    const struct hd_model *model = ending->model;
    for (uint32_t t = 0; t < model->threads; t++)
        if (ending->blocked[t] != HD_NONE) find_cycle(ending, t, path);
    for (uint32_t t = 0; t < model->threads; t++) {
        if (ending->blocked[t] == HD_NONE || ending->done[t]) continue;
        unsigned type = model->flags[ending->blocked[t]];
        if (type == HD_WAIT_COND || type == HD_WAIT_SEM || type == HD_WAIT_BARRIER ||
            type == HD_WAIT_ONCE)
            add_endless(ending, t);
    }
}

void hd_deadlock_observed(struct hd_predict *predict, struct hd_findings *findings) {
    const struct hd_model *model = predict->model;
    struct ending ending = {.predict = predict, .findings = findings, .model = model};
    size_t room = model->threads + (size_t)1;
    uint32_t *path = hd_alloc(room, sizeof *path);
    ending.blocked = hd_alloc(room, sizeof *ending.blocked);
    ending.done = hd_zalloc(room, sizeof *ending.done);
    for (uint32_t t = 0; t < model->threads; t++) {
        uint32_t end = model->thread_start[t + 1];
        uint32_t last = end > model->thread_start[t] ? model->thread_event[end - 1] : HD_NONE;
        ending.blocked[t] = last != HD_NONE && model->kind[last] == HD_EV_BLOCKED ? last : HD_NONE;
    }
    find_all(&ending, path);
    free(path);
    free(ending.blocked);
    free(ending.done);
    hd_map_free(&ending.grouped);
}
