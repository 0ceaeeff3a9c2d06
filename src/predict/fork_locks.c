/* Locks held at a fork. The child process has only the thread that forked: a lock that another one
 * holds at that moment is held in the child for ever. The trace has the forks, and which locks each
 * child takes (HD_NOTE_FORK, HD_NOTE_CHILD); a section of another thread that may be open at the
 * fork is the rest of it. */
#include "base/map.h"
#include "engine/asker.h"
#include "predict/deadlock.h"

#include "finding/words.h"

#define MOST_INSTANCES 64u /* sections that are asked about, for one set of places */

struct pass {
    struct hd_predict *predict;
    const struct hd_model *model;
    struct hd_findings *findings;
    struct hd_asker *asker;
    struct hd_map fork;  /* its number -> event */
    struct hd_map group; /* places -> how often they were asked about; UINT32_MAX: found */
};

static bool is_note(const struct hd_model *model, uint32_t event, unsigned type) {
    return model->kind[event] == HD_EV_NOTE && (model->flags[event] & HD_NOTE_TYPE_MASK) == type;
}

static uint32_t number_of(const struct hd_model *model, uint32_t note) {
    return (uint32_t)hd_trace_extra(model->trace, note, 0);
}

/* Was the lock there when the child was made? Memory of another life may have its address. */
static bool is_inherited(const struct hd_model *model, uint32_t lock, uint32_t fork) {
    uint32_t block = model->lock[lock].block;
    return block >= model->blocks || model->block[block].alloc < fork;
}

static bool excludes(const struct hd_model *model, const struct hd_section *section,
                     uint32_t child) {
    return !section->read_mode || !(model->flags[child] & HD_NOTE_READS);
}

static struct hd_finding draft_of(const struct hd_model *model, struct hd_describe *describe,
                                  struct hd_findings *findings, const struct hd_section *section,
                                  uint32_t fork, uint32_t child, bool observed) {
    uint32_t event[] = {section->acquire, fork, child};
    struct hd_finding draft = {.kind = HD_FINDING_DEADLOCK,
                               .verdict = HD_VERDICT_FEASIBLE,
                               .instances = 1,
                               .harm = HD_HARM_ITSELF,
                               .observed = observed,
                               .pattern = "lock held at fork",
                               .repair = HD_REPAIR_FORK,
                               .threads_involved = 2,
                               .variables_involved = 1,
                               .accesses_involved = 2};
    hd_finding_set_events(findings, &draft, describe, model, event, 3);
    draft.event[1].variable = draft.event[1].about = "a child process";
    draft.event[2].thread = "the child";
    draft.conclusion =
        hd_words_lock_at_fork(findings, &draft, section->thread == model->thread[fork], observed);
    return draft;
}

/* ---- what happened ---------------------------------------------------------------------------
 */

static const struct hd_section *open_at(const struct hd_model *model, uint32_t lock, uint32_t fork,
                                        uint32_t child) {
    for (uint32_t i = model->lock_start[lock]; i < model->lock_start[lock + 1]; i++) {
        const struct hd_section *section = &model->section[model->lock_section[i]];
        if (section->acquire < fork && section->release > fork && excludes(model, section, child))
            return section;
    }
    return NULL;
}

static uint32_t fork_of(const struct hd_model *model, uint32_t child) {
    uint32_t number = number_of(model, child);
    for (uint32_t e = 0; e < model->events; e++)
        if (is_note(model, e, HD_NOTE_FORK) && number_of(model, e) == number) return e;
    return HD_NONE;
}

bool hd_deadlock_at_fork_observed(const struct hd_model *model, struct hd_describe *describe,
                                  struct hd_findings *findings, struct hd_finding *draft) {
    for (uint32_t e = model->events; e-- > 0;) {
        if (!is_note(model, e, HD_NOTE_CHILD_WAITS) || model->object[e] >= model->locks) continue;
        uint32_t fork = fork_of(model, e);
        const struct hd_section *section =
            fork != HD_NONE ? open_at(model, model->object[e], fork, e) : NULL;
        if (section == NULL) continue;
        *draft = draft_of(model, describe, findings, section, fork, e, true);
        /* The run up to what the recorder added. */
        uint32_t end = e;
        while (end > 0 && model->kind[end - 1] == HD_EV_NOTE &&
               hd_note_is_child(model->flags[end - 1]))
            end--;
        struct hd_span span[] = {{0, end}, {e, 1}};
        hd_finding_set_witness(findings, draft, describe, model, span, 2, 1);
        return true;
    }
    return false;
}

/* ---- what may happen --------------------------------------------------------------------------
 */

/* The fork is next, and the other thread has just acquired the lock, or is about to release it. */
static bool ask(struct pass *pass, const struct hd_section *section, uint32_t fork, bool late,
                enum hd_verdict *verdict, struct hd_error *error) {
    struct hd_stop stop[2] = {{fork, false}, {late ? section->release : section->acquire, !late}};
    struct hd_query query = {.stop = stop, .stops = 2, .reader = HD_NONE, .writer = HD_NONE};
    return hd_asker_ask(pass->asker, &query, verdict, error);
}

static void add(struct pass *pass, const struct hd_section *section, uint32_t fork,
                uint32_t child) {
    struct hd_predict *predict = pass->predict;
    struct hd_finding draft =
        draft_of(pass->model, predict->describe, pass->findings, section, fork, child, false);
    draft.engine = hd_method_full_name(predict->options.method, predict->options.reading);
    struct hd_kept_witness kept = hd_witness_keep(hd_asker_witness(pass->asker));
    hd_finding_set_witness(pass->findings, &draft, predict->describe, pass->model, kept.run,
                           kept.runs, kept.next);
    hd_kept_witness_free(&kept);
    hd_finding_add(pass->findings, &draft);
}

static bool decide(struct pass *pass, const struct hd_section *section, uint32_t fork,
                   uint32_t child, struct hd_error *error) {
    const struct hd_model *model = pass->model;
    uint64_t places = (uint64_t)model->site[section->acquire] << 32 | model->site[fork];
    uint32_t *asked = hd_map_slot(&pass->group, hd_mix64(places) ^ model->site[child], 0);
    if (*asked >= MOST_INSTANCES) return true;
    *asked += 1;
    enum hd_verdict verdict = HD_INFEASIBLE;
    if (!ask(pass, section, fork, false, &verdict, error)) return false;
    if (verdict != HD_FEASIBLE && section->release != HD_NONE &&
        !ask(pass, section, fork, true, &verdict, error))
        return false;
    if (*asked == 1 || verdict == HD_FEASIBLE) { /* counted once, as what it is */
        struct hd_finding_summary *summary = &pass->findings->summary;
        if (*asked == 1)
            summary->candidates++;
        else
            summary->verdict[HD_VERDICT_INFEASIBLE]--;
        summary->verdict[verdict == HD_FEASIBLE ? HD_VERDICT_FEASIBLE : HD_VERDICT_INFEASIBLE]++;
    }
    if (verdict != HD_FEASIBLE) return true;
    *asked = MOST_INSTANCES;
    add(pass, section, fork, child);
    return true;
}

static bool follow(struct pass *pass, uint32_t child, struct hd_error *error) {
    const struct hd_model *model = pass->model;
    uint32_t lock = model->object[child];
    uint32_t fork = hd_map_get(&pass->fork, number_of(model, child), HD_NONE);
    if (lock >= model->locks || fork == HD_NONE || !is_inherited(model, lock, fork)) return true;
    for (uint32_t i = model->lock_start[lock]; i < model->lock_start[lock + 1]; i++) {
        const struct hd_section *section = &model->section[model->lock_section[i]];
        if (section->thread == model->thread[fork] || !excludes(model, section, child)) continue;
        if (!decide(pass, section, fork, child, error)) return false;
    }
    return true;
}

bool hd_deadlock_at_fork(struct hd_predict *predict, struct hd_findings *findings,
                         struct hd_error *error) {
    const struct hd_model *model = predict->model;
    struct pass pass = {.predict = predict, .model = model, .findings = findings};
    bool any = false, good = true;
    for (uint32_t e = 0; e < model->events; e++) {
        if (is_note(model, e, HD_NOTE_FORK))
            *hd_map_slot(&pass.fork, number_of(model, e), HD_NONE) = e;
        any |= is_note(model, e, HD_NOTE_CHILD);
    }
    struct hd_finding observed;
    if (hd_deadlock_at_fork_observed(model, predict->describe, findings, &observed)) {
        observed.engine = hd_method_full_name(predict->options.method, predict->options.reading);
        findings->summary.candidates++;
        findings->summary.verdict[HD_VERDICT_FEASIBLE]++;
        hd_finding_add(findings, &observed);
    }
    if (any) {
        pass.asker = hd_asker_new(hd_engine_base(predict->analysis), model,
                                  predict->options.reading, predict->options.budget);
        for (uint32_t e = 0; good && e < model->events; e++)
            if (is_note(model, e, HD_NOTE_CHILD)) good = follow(&pass, e, error);
        hd_asker_stats(pass.asker, &predict->stats.asked);
        hd_asker_free(pass.asker);
    }
    hd_map_free(&pass.fork);
    hd_map_free(&pass.group);
    return good;
}
