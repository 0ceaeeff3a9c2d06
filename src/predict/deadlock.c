/* Deadlocks that other interleavings reach (DESIGN section 5): every thread of a cycle is next at
 * an acquire of a lock that the next one holds. The cycles come from the graph of locks, shortest
 * first, grouped by the code that takes the locks; the exact engine decides each group. */
#include "predict/deadlock.h"

#include "base/alloc.h"
#include "finding/words.h"
#include "predict/lock_cycles.h"
#include "predict/lock_tuples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct hd_deadlock_limits hd_deadlock_limits = {
    .steps = 20000000, .groups = 2000, .cycles = 4096, .questions = 20000, .skipped = 4000000};

/* Relaxed, so many tuples of a group are asked about. */
#define RELAXED_TUPLES 64u

/* Cycles with the same types of dependencies. */
struct group {
    uint32_t length;
    HD_VECTOR(uint32_t) dependency; /* of each cycle */
    uint64_t instances;
    bool cut;                      /* there is more than was looked at */
    uint32_t *index, *end, *fixed; /* room; `fixed`: the one tuple of --instances */
    struct hd_tuples tuples;       /* where the questions have got to */
    uint32_t cycle;
    bool begun, near;
    uint64_t asked, skipped;
    bool relaxing;   /* all were asked about strictly; now reads that no branch follows are free */
    uint64_t strict; /* then: so many numbers of questions before */
};

struct search {
    struct hd_predict *predict;
    const struct hd_deadlock_limits *limits;
    struct hd_findings *findings;
    struct hd_lock_graph graph;
    struct hd_known_cycles known;
    HD_VECTOR(struct group) group;
    struct hd_intern keys; /* sequences of types -> group */
    HD_VECTOR(uint32_t) key;
    struct hd_arena room;
    struct hd_cycle_search cycles;
    uint64_t left;            /* cycles of groups beyond the limit */
    const uint32_t *branches; /* with the branch relaxation: its numbers; NULL */
};

/* ---- groups ------------------------------------------------------------------------------------
 */

static uint32_t type_at(const struct search *s, const uint32_t *dependency, uint32_t length,
                        uint32_t start, uint32_t i) {
    return s->graph.dependency.data[dependency[(start + i) % length]].type;
}

/* Where a cycle begins when it is told apart from others: the least sequence of types, and among
 * equal ones the first waiter. */
static uint32_t canonical_start(const struct search *s, const uint32_t *dependency,
                                uint32_t length) {
    uint32_t best = 0;
    for (uint32_t start = 1; start < length; start++)
        for (uint32_t i = 0; i < length; i++) {
            uint32_t here = type_at(s, dependency, length, start, i);
            uint32_t there = type_at(s, dependency, length, best, i);
            if (here == there) continue;
            if (here < there) best = start;
            break;
        }
    return best;
}

static struct group *new_group(struct search *s, uint32_t length) {
    struct group fresh = {.length = length};
    fresh.index = hd_arena_alloc(&s->room, length * sizeof *fresh.index);
    fresh.end = hd_arena_alloc(&s->room, length * sizeof *fresh.end);
    hd_vector_push(&s->group, fresh);
    return &s->group.data[s->group.size - 1];
}

static void count_instances(const struct search *s, struct group *group,
                            const uint32_t *dependency) {
    uint64_t count = 1;
    for (uint32_t i = 0; i < group->length; i++) {
        uint64_t all = s->graph.waiter.data[s->graph.dependency.data[dependency[i]].waiter].all;
        count = count > UINT64_MAX / all ? UINT64_MAX : count * all;
    }
    group->instances =
        group->instances > UINT64_MAX - count ? UINT64_MAX : group->instances + count;
}

static void add_to_group(struct search *s, struct group *group, const uint32_t *dependency) {
    hd_vector_reserve(&group->dependency, group->length);
    memcpy(group->dependency.data + group->dependency.size, dependency,
           group->length * sizeof *dependency);
    group->dependency.size += group->length;
    count_instances(s, group, dependency);
}

/* --instances: every tuple of events is a group. */
static void add_each(struct search *s, const uint32_t *dependency, uint32_t length) {
    uint32_t *room = hd_arena_alloc(&s->room, 2 * length * sizeof *room);
    struct hd_tuples tuples;
    enum hd_tuples_step step;
    hd_tuples_begin(&tuples, &s->graph, dependency, length, false, room, room + length);
    while ((step = hd_tuples_next(&tuples)) != HD_TUPLES_END) {
        if (step != HD_TUPLE) continue;
        struct group *group = new_group(s, length);
        add_to_group(s, group, dependency);
        group->instances = 1;
        group->fixed = group->end;
        memcpy(group->index, tuples.index, length * sizeof *room);
    }
}

static void add_cycle(void *context, const uint32_t *dependency, uint32_t length) {
    struct search *s = context;
    uint32_t start = canonical_start(s, dependency, length);
    s->key.size = 0;
    hd_vector_reserve(&s->key, 2 * (size_t)length);
    for (uint32_t i = 0; i < length; i++) {
        s->key.data[i] = dependency[(start + i) % length];
        s->key.data[length + i] = type_at(s, dependency, length, start, i);
    }
    if (s->predict->options.instances) {
        add_each(s, s->key.data, length);
        return;
    }
    uint32_t number =
        hd_intern(&s->keys, (const char *)(s->key.data + length), length * sizeof *s->key.data);
    if (number >= s->limits->groups) { /* enough is enough */
        s->left++;
        return;
    }
    struct group *group = number < s->group.size ? &s->group.data[number] : new_group(s, length);
    if (group->dependency.size / length < s->limits->cycles)
        add_to_group(s, group, s->key.data);
    else {
        group->cut = true;
        count_instances(s, group, dependency);
    }
}

static void forget_groups(struct search *s) {
    for (size_t i = 0; i < s->group.size; i++) hd_vector_free(&s->group.data[i].dependency);
    s->group.size = 0;
    hd_intern_free(&s->keys);
    hd_arena_free(&s->room);
    memset(&s->keys, 0, sizeof s->keys);
    memset(&s->room, 0, sizeof s->room);
}

/* ---- questions ---------------------------------------------------------------------------------
 */

static const uint32_t *cycle_of(const struct group *group) {
    return group->dependency.data + (size_t)group->cycle * group->length;
}

/* On to the next cycle; first near tuples of all cycles, then all tuples of all cycles. */
static bool next_cycle(const struct search *s, struct group *group) {
    if (!group->begun) {
        group->begun = group->near = true;
        group->cycle = 0;
    } else if (++group->cycle * (size_t)group->length >= group->dependency.size) {
        if (!group->near) return false;
        group->near = false;
        group->cycle = 0;
    }
    hd_tuples_begin(&group->tuples, &s->graph, cycle_of(group), group->length, group->near,
                    group->index, group->end);
    return true;
}

/* The next tuple to ask about, in group->index; false if there is none, or a bound was hit. */
static bool next_tuple(const struct search *s, struct group *group) {
    if (!group->begun && !next_cycle(s, group)) return false;
    for (;;) {
        if (group->relaxing && group->asked >= RELAXED_TUPLES)
            return false; /* takes nothing away */
        if (group->asked >= s->limits->questions || group->skipped >= s->limits->skipped) {
            group->cut = true;
            return false;
        }
        enum hd_tuples_step step = hd_tuples_next(&group->tuples);
        if (step == HD_TUPLE) {
            group->asked++;
            return true;
        }
        group->skipped++;
        bool over = step == HD_TUPLES_END || (group->near && !group->tuples.near);
        if (over && !next_cycle(s, group)) return false;
    }
}

/* The same for all of a group's questions, by number: strictly, then relaxed if that is wanted. */
static bool next_question(const struct search *s, struct group *group, uint64_t number) {
    bool fixed = group->fixed != NULL;
    if (fixed ? number == group->strict : next_tuple(s, group)) return true;
    if (group->relaxing || s->branches == NULL) return false;
    group->relaxing = true;
    group->strict = number;
    group->begun = false;
    group->asked = group->skipped = 0;
    return fixed || next_tuple(s, group);
}

static void start_over(struct group *group) {
    group->begun = group->relaxing = false;
    group->asked = group->skipped = group->strict = 0;
}

static enum hd_asked make_question(const void *context, uint32_t number, uint64_t question_number,
                                   struct hd_question *question) {
    const struct search *s = context;
    struct group *group = &s->group.data[number]; /* one worker at a time, in order */
    if (question_number == 0) start_over(group);
    if (!next_question(s, group, question_number)) return HD_NO_MORE;
    return hd_tuple_ask(&s->graph, cycle_of(group), group->index, group->length,
                        group->relaxing ? s->branches : NULL, question)
               ? HD_ASK
               : HD_SKIP;
}

/* Back to the tuple that a question was about. */
static void return_to(const struct search *s, struct group *group, uint64_t question) {
    if (group->fixed != NULL) return;
    start_over(group);
    for (uint64_t i = 0; i <= question; i++)
        if (!next_question(s, group, i)) break;
}

/* ---- words -------------------------------------------------------------------------------------
 */

struct part {
    const struct hd_dependency *dependency;
    const struct hd_wait_instance *instance;
    const struct hd_finding_event *event;
};

static struct part part_of(const struct search *s, const struct group *group,
                           const struct hd_finding *finding, uint32_t i) {
    uint32_t dependency = cycle_of(group)[i];
    return (struct part){&s->graph.dependency.data[dependency],
                         hd_tuple_instance(&s->graph, dependency, group->index[i]),
                         &finding->event[i]};
}

static const char *resource_name(const struct search *s, uint32_t resource) {
    struct hd_describe *describe = s->predict->describe;
    if (hd_resource_is_lock(&s->graph, resource))
        return hd_finding_text(s->findings, "%s", hd_describe_lock(describe, resource, HD_SHORT));
    const struct hd_wait_place *place = &s->graph.place.data[resource - s->graph.model->locks];
    return hd_finding_text(s->findings, "%s",
                           place->kind == HD_EV_JOIN
                               ? hd_describe_thread(describe, place->object)
                               : hd_describe_object(describe, place->object, HD_SHORT));
}

static unsigned wait_type(uint8_t kind) {
    switch (kind) {
    case HD_EV_WAIT:
        return HD_WAIT_COND;
    case HD_EV_SEM_WAIT:
        return HD_WAIT_SEM;
    case HD_EV_JOIN:
        return HD_WAIT_JOIN;
    default:
        return HD_WAIT_BARRIER;
    }
}

static const struct hd_wait_place *wait_place(const struct search *s, uint32_t resource) {
    return &s->graph.place.data[resource - s->graph.model->locks];
}

static struct hd_stuck stuck_thread(const struct search *s, struct part part) {
    const struct hd_lock_graph *graph = &s->graph;
    const struct hd_dependency *dependency = part.dependency;
    struct hd_stuck stuck = {.thread = part.event->thread, .acquired = ""};
    unsigned type = hd_resource_is_lock(graph, dependency->wants)
                        ? HD_WAIT_LOCK
                        : wait_type(wait_place(s, dependency->wants)->kind);
    stuck.wait = hd_words_wait(s->findings, type, part.event->variable, dependency->wants_reading,
                               part.event->site);
    if (!hd_resource_is_lock(graph, dependency->holds)) {
        stuck.needed_by =
            hd_describe_thread(s->predict->describe, wait_place(s, dependency->holds)->thread);
        return stuck;
    }
    stuck.holds = resource_name(s, dependency->holds);
    stuck.holds_reading = dependency->holds_reading;
    uint32_t section = hd_instance_section(graph->model, part.instance, dependency->holds);
    if (section != HD_NONE)
        stuck.acquired =
            hd_describe_site(s->predict->describe, graph->model->section[section].acquire);
    return stuck;
}

static const char *conclusion(const struct search *s, const struct group *group,
                              const struct hd_finding *finding) {
    if (finding->verdict == HD_VERDICT_UNDECIDED && group->cut)
        return "There were more ways to bring these threads together than were looked at; none of "
               "those works.";
    if (finding->verdict != HD_VERDICT_FEASIBLE && finding->verdict != HD_VERDICT_POSSIBLE)
        return hd_words_no_schedule(s->findings, finding,
                                    "brings all these threads to their waits at the same time, "
                                    "though they take the locks in a cycle");
    struct hd_stuck *stuck = hd_alloc(group->length, sizeof *stuck);
    for (uint32_t i = 0; i < group->length; i++)
        stuck[i] = stuck_thread(s, part_of(s, group, finding, i));
    const char *words = hd_words_deadlock(s->findings, stuck, group->length, false);
    free(stuck);
    return hd_words_relaxed(s->findings, finding, words);
}

static const char *pattern(const struct search *s, const struct group *group) {
    if (group->length == 1) return "self-deadlock";
    for (uint32_t i = 0; i < group->length; i++) {
        uint32_t wants = s->graph.dependency.data[cycle_of(group)[i]].wants;
        if (hd_resource_is_lock(&s->graph, wants)) continue;
        switch (wait_type(wait_place(s, wants)->kind)) {
        case HD_WAIT_COND:
            return "lock and signal";
        case HD_WAIT_SEM:
            return "lock and semaphore";
        case HD_WAIT_JOIN:
            return "lock and join";
        default:
            return "lock and barrier";
        }
    }
    return "lock order";
}

static const char *repair(const struct search *s, const struct group *group) {
    if (group->length == 1) return HD_REPAIR_SELF_DEADLOCK;
    bool locks = strcmp(pattern(s, group), "lock order") == 0;
    return locks ? HD_REPAIR_LOCK_ORDER : HD_REPAIR_LOCK_AND_WAIT;
}

/* "a, b"; "a, b, c and 97 more" */
static const char *variables(const struct search *s, const struct group *group, uint32_t *count) {
    const char *text = "";
    *count = 0;
    for (uint32_t i = 0; i < group->length; i++) {
        const struct hd_dependency *each = &s->graph.dependency.data[cycle_of(group)[i]];
        if (i > 0 && each->holds == s->graph.dependency.data[cycle_of(group)[0]].holds) continue;
        if (i < HD_FINDING_WORDS || group->length <= HD_FINDING_WORDS + 2)
            text = hd_finding_text(s->findings, "%s%s%s", text, *count > 0 ? ", " : "",
                                   resource_name(s, each->holds));
        ++*count;
    }
    if (group->length > HD_FINDING_WORDS + 2)
        text = hd_finding_text(s->findings, "%s and %u more", text, *count - HD_FINDING_WORDS);
    return text;
}

/* ---- findings ----------------------------------------------------------------------------------
 */

/* The schedule ends with what every thread cannot do, in the order of the cycle. */
static void set_witness(struct search *s, const struct group *group, struct hd_finding *finding,
                        const struct hd_kept_witness *witness) {
    struct hd_span *run = hd_arena_alloc(&s->findings->arena,
                                         (witness->runs + (size_t)group->length + 1) * sizeof *run);
    uint32_t runs = 0, executed = 0;
    for (uint32_t i = 0; i < witness->runs; i++) executed += witness->run[i].count;
    executed -= witness->next;
    for (uint32_t i = 0; i < witness->runs && executed > 0; i++) {
        run[runs] = witness->run[i];
        if (run[runs].count > executed) run[runs].count = executed;
        executed -= run[runs++].count;
    }
    for (uint32_t i = 0; i < group->length; i++)
        run[runs++] = (struct hd_span){finding->event[i].event, 1};
    hd_finding_set_witness(s->findings, finding, s->predict->describe, s->predict->model, run, runs,
                           group->length);
}

static void set_verbs(const struct search *s, const struct group *group,
                      struct hd_finding *finding) {
    for (uint32_t i = 0; i < group->length; i++) {
        uint32_t wants = part_of(s, group, finding, i).dependency->wants;
        bool lock = hd_resource_is_lock(&s->graph, wants);
        finding->event[i].verb = lock ? "wants" : "waits for";
        if (!lock) finding->event[i].variable = finding->event[i].about = resource_name(s, wants);
    }
}

static void add_finding(struct search *s, struct group *group, const struct hd_answer *answer,
                        enum hd_finding_verdict verdict) {
    struct hd_predict *predict = s->predict;
    uint32_t *event = hd_alloc(group->length, sizeof *event);
    bool found = answer->verdict == HD_FEASIBLE;
    if (!found && answer->asked > 0) return_to(s, group, answer->number);
    bool observed = true;
    for (uint32_t i = 0; i < group->length; i++) {
        if (answer->asked == 0) group->index[i] = 0;
        event[i] = hd_tuple_instance(&s->graph, cycle_of(group)[i], group->index[i])->event;
        observed &= predict->model->kind[event[i]] == HD_EV_BLOCKED;
    }
    struct hd_finding draft = {
        .kind = HD_FINDING_DEADLOCK,
        .verdict = verdict,
        .engine = hd_method_full_name(predict->options.method, predict->options.reading),
        .instances = group->instances,
        .harm = HD_HARM_ITSELF,
        .observed = observed && verdict == HD_VERDICT_FEASIBLE,
        .pattern = pattern(s, group),
        .repair = repair(s, group),
        .threads_involved = group->length,
        .accesses_involved = 2 * group->length};
    hd_finding_set_events(s->findings, &draft, predict->describe, predict->model, event,
                          group->length);
    free(event);
    set_verbs(s, group, &draft);
    draft.variable = variables(s, group, &draft.variables_involved);
    draft.conclusion = conclusion(s, group, &draft);
    if (found) set_witness(s, group, &draft, &answer->witness);
    hd_finding_add(s->findings, &draft);
}

/* The types of a group that deadlocks. */
static void remember(struct search *s, const struct group *group) {
    s->key.size = 0;
    hd_vector_reserve(&s->key, group->length);
    for (uint32_t i = 0; i < group->length; i++)
        s->key.data[i] = s->graph.dependency.data[group->dependency.data[i]].type;
    hd_known_cycles_add(&s->known, s->key.data, group->length);
}

static void report(struct search *s, const struct hd_answer *answers) {
    for (size_t i = 0; i < s->group.size; i++) {
        struct group *group = &s->group.data[i];
        enum hd_finding_verdict verdict = (enum hd_finding_verdict)answers[i].verdict;
        if (verdict == HD_VERDICT_INFEASIBLE && group->cut) verdict = HD_VERDICT_UNDECIDED;
        if (verdict == HD_VERDICT_FEASIBLE && group->relaxing) verdict = HD_VERDICT_POSSIBLE;
        s->findings->summary.candidates++;
        s->findings->summary.verdict[verdict]++;
        if (verdict == HD_VERDICT_FEASIBLE && !s->predict->options.instances) remember(s, group);
        if (answers[i].asked == 0) {
            s->predict->stats.ordered++;
            group->begun = false;
            group->cycle = 0;
        }
        if (s->predict->options.all || answers[i].verdict == HD_FEASIBLE)
            add_finding(s, group, &answers[i], verdict);
    }
}

/* ---- the whole ---------------------------------------------------------------------------------
 */

static bool decide_groups(struct search *s, struct hd_error *error) {
    struct hd_predict *predict = s->predict;
    struct hd_predict_stats *stats = &predict->stats;
    struct hd_question_source source = {
        .groups = (uint32_t)s->group.size, .context = s, .question = make_question};
    struct hd_ask_options options = hd_predict_ask_options(predict);
    double start = hd_seconds_now();
    const struct hd_engine_base *base = hd_engine_base(predict->analysis);
    double prepared = hd_seconds_now();
    struct hd_answer *answers =
        hd_ask_all(&source, base, predict->model, &options, &stats->asked, error);
    if (answers == NULL) return false;
    double decided = hd_seconds_now();
    report(s, answers);
    stats->groups += s->group.size;
    stats->prepare_seconds += prepared - start;
    stats->decide_seconds += decided - prepared;
    stats->report_seconds += hd_seconds_now() - decided;
    hd_answers_free(answers, (uint32_t)s->group.size);
    return true;
}

/* A thread that is blocked at a lock that it, and only it, holds. */
static void add_self_deadlocks(struct search *s) {
    const struct hd_lock_graph *graph = &s->graph;
    for (uint32_t i = 0; i < graph->dependency.size; i++) {
        const struct hd_dependency *each = &graph->dependency.data[i];
        const struct hd_waiter *waiter = &graph->waiter.data[each->waiter];
        if (each->holds != each->wants || !hd_dependency_blocks(each, each) || waiter->count == 0)
            continue;
        const struct hd_wait_instance *instance = &graph->instance.data[waiter->start];
        const struct hd_model *model = graph->model;
        if (model->kind[instance->event] != HD_EV_BLOCKED) continue;
        bool others = false;
        for (uint32_t k = model->lock_start[each->wants]; k < model->lock_start[each->wants + 1];
             k++) {
            const struct hd_section *section = &model->section[model->lock_section[k]];
            others |= section->release == HD_NONE && section->thread != waiter->thread;
        }
        if (!others) add_cycle(s, &i, 1);
    }
}

/* Cycles that were not looked at are one more candidate, and undecided. */
static void say_cut(struct search *s, uint32_t length) {
    s->findings->summary.candidates++;
    s->findings->summary.verdict[HD_VERDICT_UNDECIDED]++;
    if (!s->predict->options.all) return;
    struct hd_finding draft = {
        .kind = HD_FINDING_DEADLOCK,
        .verdict = HD_VERDICT_UNDECIDED,
        .engine = hd_method_full_name(s->predict->options.method, s->predict->options.reading),
        .variable = "cycles of locks",
        .conclusion = hd_finding_text(s->findings,
                                      "There are too many cycles of locks to look at each. All "
                                      "cycles shorter than %u were looked at, and some of this "
                                      "length.",
                                      length)};
    hd_finding_add(s->findings, &draft);
}

static bool search_all(struct search *s, struct hd_error *error) {
    struct hd_cycle_search *cycles = &s->cycles;
    *cycles = (struct hd_cycle_search){.graph = &s->graph,
                                       .known = &s->known,
                                       .steps_left = s->limits->steps,
                                       .context = s,
                                       .found = add_cycle};
    uint32_t longest = hd_cycles_longest(&s->graph);
    for (uint32_t length = 1; length <= longest && cycles->steps_left > 0; length++) {
        double start = hd_seconds_now();
        if (length == 1)
            add_self_deadlocks(s);
        else
            hd_cycles_of_length(cycles, length);
        s->predict->stats.candidate_seconds += hd_seconds_now() - start;
        if (s->group.size > 0 && !decide_groups(s, error)) return false;
        forget_groups(s);
        bool searched = cycles->steps_left > 0;
        if (s->left > 0) cycles->steps_left = 0; /* longer ones are many more */
        if (cycles->steps_left > 0) continue;
        say_cut(s, length);
        s->findings->summary.left += s->left > 0 ? s->left : 1;
        s->findings->summary.left_at_least |= !searched || length < longest;
    }
    return true;
}

bool hd_predict_deadlocks_within(struct hd_predict *predict,
                                 const struct hd_deadlock_limits *limits,
                                 struct hd_findings *findings, struct hd_error *error) {
    struct search s = {.predict = predict, .limits = limits, .findings = findings};
    double start = hd_seconds_now();
    if (predict->options.relax_branches && predict->options.reading == HD_CDSR)
        s.branches = hd_branches(predict->analysis, predict->options.branches)->before;
    hd_lock_graph_build(predict->analysis, predict->options.instances, &s.graph);
    predict->stats.candidate_seconds += hd_seconds_now() - start;
    bool done = search_all(&s, error);
    if (done) hd_deadlock_observed(predict, findings);
    if (done) done = hd_deadlock_at_fork(predict, findings, error);
    forget_groups(&s);
    hd_vector_free(&s.group);
    hd_vector_free(&s.key);
    hd_known_cycles_free(&s.known);
    hd_lock_graph_free(&s.graph);
    return done;
}

bool hd_predict_deadlocks(struct hd_predict *predict, struct hd_findings *findings,
                          struct hd_error *error) {
    struct hd_deadlock_limits limits = hd_deadlock_limits;
    uint64_t most = hd_most_candidates(predict->analysis);
    if (most > HD_MOST_CANDIDATES) { /* more than usual was asked for */
        limits.groups = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
        if (most == UINT64_MAX) limits.steps = UINT64_MAX;
    }
    return hd_predict_deadlocks_within(predict, &limits, findings, error);
}
