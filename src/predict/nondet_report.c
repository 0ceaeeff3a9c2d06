/* Findings of nondeterminism: one for each triple of sites (write seen, read, other write), ranked
 * by signs of intent, with a schedule that the checker has passed. */
#include "finding/intent.h"
#include "finding/words.h"
#include "predict/nondet.h"

#include <stdio.h>
#include <string.h>

/* Triplets of the same sites. */
struct group {
    struct hd_triplet best; /* the first feasible one, else the first undecided, else any */
    uint64_t instances;     /* of the best verdict */
};

struct reporter {
    struct hd_predict *predict;
    const struct hd_nondet *nondet;
    const struct hd_model *model;
    struct hd_findings *findings;
    struct hd_triplet_sites sites;
    uint64_t most; /* groups: each takes a question and keeps a schedule */
    uint64_t left; /* feasible triplets of others */
    HD_VECTOR(struct group) group;
    HD_VECTOR(uint32_t) shown; /* groups that become findings */
    struct hd_map habits;      /* of reads, by location and event */
    uint32_t section[64], sections;
};

/* ---- groups ------------------------------------------------------------------------------------
 */

/* The number of a triplet's group; HD_NONE if it would be one too many. */
static uint32_t group_of(struct reporter *reporter, const struct hd_triplet *triplet) {
    if (reporter->predict->options.instances) return (uint32_t)reporter->group.size;
    if (reporter->group.size < reporter->most) return hd_triplet_number(&reporter->sites, triplet);
    return hd_triplet_find(&reporter->sites, triplet);
}

/* feasible, then undecided, then infeasible */
static int worth(uint8_t verdict) {
    return verdict == HD_FEASIBLE ? 2 : verdict == HD_UNDECIDED ? 1 : 0;
}

static void put(struct reporter *reporter, const struct hd_triplet *triplet) {
    uint32_t number = group_of(reporter, triplet);
    if (number == HD_NONE) {
        reporter->left += triplet->verdict == HD_FEASIBLE;
        return;
    }
    if (number == reporter->group.size) {
        hd_vector_push(&reporter->group, ((struct group){*triplet, 1}));
        return;
    }
    struct group *group = &reporter->group.data[number];
    int more = worth(triplet->verdict) - worth(group->best.verdict);
    if (more > 0) *group = (struct group){*triplet, 0};
    group->instances += more >= 0;
}

/* How far the other write is from the read in the trace. */
static uint32_t distance_of(const struct reporter *reporter, const struct hd_triplet *triplet) {
    const struct hd_read *read = &reporter->nondet->couples.read.data[triplet->read];
    uint32_t other = triplet->other == HD_NONE ? 0 : triplet->other;
    uint32_t place = read->event == HD_NONE ? reporter->model->events : read->event;
    return place > other ? place - other : other - place;
}

/* A distance that not more triplets have, or less, than there may be groups. */
static uint32_t near_enough(const struct reporter *reporter) {
    const struct hd_nondet *nondet = reporter->nondet;
    uint64_t count[33] = {0}, sum = 0;
    for (size_t i = 0; i < nondet->found.size; i++) {
        uint32_t distance = distance_of(reporter, &nondet->found.data[i]);
        count[distance == 0 ? 0 : 32 - __builtin_clz(distance)]++;
    }
    for (unsigned i = 0; i < 33; i++) {
        sum += count[i];
        if (sum > reporter->most) return i == 0 ? 0 : (1u << (i - 1)) - 1;
    }
    return HD_NONE;
}

/* If there are too many sites, the nearest make the groups. */
static void put_found(struct reporter *reporter) {
    const struct hd_nondet *nondet = reporter->nondet;
    uint32_t near = near_enough(reporter);
    for (unsigned pass = 0; pass < (near == HD_NONE ? 1 : 2); pass++)
        for (size_t i = 0; i < nondet->found.size; i++) {
            const struct hd_triplet *triplet = &nondet->found.data[i];
            if ((distance_of(reporter, triplet) <= near) == (pass == 0)) put(reporter, triplet);
        }
}

/* The triplets of a read, ascending by the other write, the initial value last. */
static void list_triplets(const struct hd_couples *couples, const struct hd_read *read,
                          struct hd_challengers *challengers) {
    const struct hd_model *model = couples->model;
    if (read->wide) {
        hd_couples_challengers(couples, read, challengers);
        return;
    }
    struct hd_challenger challenger = {HD_NONE, read->location, read->seen};
    challengers->list.size = 0;
    for (uint32_t i = model->location_start[read->location];
         i < model->location_start[read->location + 1]; i++) {
        uint32_t event = model->location_event[i];
        if (!hd_model_is_write(model, event) || event == read->seen || event == read->event)
            continue;
        challenger.write = event;
        hd_vector_push(&challengers->list, challenger);
    }
    challenger.write = HD_NONE;
    if (read->seen != HD_NONE) hd_vector_push(&challengers->list, challenger);
}

static bool is_late(const struct reporter *reporter) {
    return hd_budget_is_over(&reporter->predict->options.budget);
}

/* Every triplet that was not found, for --all, as far as there is time: they are counted anyway. */
static void put_rest(struct reporter *reporter) {
    const struct hd_nondet *nondet = reporter->nondet;
    const struct hd_couples *couples = &nondet->couples;
    struct hd_challengers challengers = {0};
    size_t at = 0;
    for (uint32_t r = 0; r < couples->read.size && !is_late(reporter); r++) {
        const struct hd_read *read = &couples->read.data[r];
        list_triplets(couples, read, &challengers);
        for (size_t i = 0; i < challengers.list.size; i++) { /* both ascend */
            const struct hd_challenger *challenger = &challengers.list.data[i];
            if (at < nondet->found.size && nondet->found.data[at].read == r &&
                nondet->found.data[at].other == challenger->write) {
                at++;
                continue;
            }
            struct hd_triplet triplet = {
                .read = r, .seen = challenger->seen, .other = challenger->write};
            put(reporter, &triplet);
        }
    }
    hd_challengers_free(&challengers);
}

/* ---- harm --------------------------------------------------------------------------------------
 */

static uint32_t common_lock(struct reporter *reporter, uint32_t a, uint32_t b) {
    const struct hd_model *model = reporter->model;
    uint32_t theirs[64];
    uint32_t mine = hd_model_held(model, a, reporter->section, 64);
    uint32_t other = hd_model_held(model, b, theirs, 64);
    for (uint32_t i = 0; i < mine && i < 64; i++)
        for (uint32_t k = 0; k < other && k < 64; k++) {
            const struct hd_section *x = &model->section[reporter->section[i]];
            const struct hd_section *y = &model->section[theirs[k]];
            if (x->lock == y->lock && !(x->read_mode && y->read_mode)) return x->lock;
        }
    return HD_NONE;
}

/* Does must-order have one event before the other? */
static bool must_precede(const struct reporter *reporter, uint32_t a, uint32_t b) {
    const struct hd_model *model = reporter->model;
    uint32_t position = hd_model_position(model, a), thread = model->thread[a];
    if (thread == model->thread[b]) return a < b;
    const uint32_t *clock = hd_reach_clock(&reporter->nondet->base->must, model->thread[b],
                                           hd_model_position(model, b));
    return clock != NULL && clock[thread] > position;
}

/* What a reader's thread does with the location besides this read. */
enum {
    KNOWN = 1,  /* looked up */
    AGAIN = 2,  /* reads it at the same site more than once: a loop */
    WRITES = 4, /* writes it next: an update */
};

/* Looks at all accesses of a location at once, since each of many findings may ask. */
static void find_habits(struct reporter *reporter, uint32_t location) {
    const struct hd_model *model = reporter->model;
    const uint32_t *event = model->location_event + model->location_start[location];
    uint32_t count = model->location_start[location + 1] - model->location_start[location];
    struct hd_map reads = {0}, next = {0}; /* by thread and site; by thread: what comes next */
    for (uint32_t i = 0; i < count; i++)
        if (hd_model_is_read(model, event[i]) && model->site[event[i]] != HD_NONE)
            ++*hd_map_slot(&reads, (uint64_t)model->thread[event[i]] << 32 | model->site[event[i]],
                           0);
    for (uint32_t i = count; i-- > 0;) {
        uint64_t thread = model->thread[event[i]];
        uint32_t *later = hd_map_slot(&next, thread, HD_NONE);
        bool updates = *later != HD_NONE && hd_model_is_write(model, *later);
        *later = event[i];
        if (!hd_model_is_read(model, event[i])) continue;
        bool again = model->site[event[i]] != HD_NONE &&
                     hd_map_get(&reads, thread << 32 | model->site[event[i]], 0) > 1;
        bool writes = updates || hd_model_is_write(model, event[i]);
        *hd_map_slot(&reporter->habits, (uint64_t)location << 32 | event[i], 0) =
            KNOWN | (again ? AGAIN : 0) | (writes ? WRITES : 0);
    }
    hd_map_free(&reads);
    hd_map_free(&next);
}

static uint32_t habits_of(struct reporter *reporter, const struct hd_read *read) {
    uint64_t key = (uint64_t)read->location << 32 | read->event;
    if (hd_map_get(&reporter->habits, key, 0) == 0) find_habits(reporter, read->location);
    return hd_map_get(&reporter->habits, key, 0);
}

/* The scale starts so that one strong sign (no lock), or all three weak ones, are reported. */
enum { START = 9, STRONG = 51, WEAK = 17 };

/* Nondeterminism may be intended. Against that speak: no lock that both take, a value that is not
 * there yet, a read that is made once. For it: atomics, a lock around both, polling, updates. */
static struct hd_weighing weigh(struct reporter *reporter, const struct hd_read *read,
                                uint32_t other) {
    const struct hd_model *model = reporter->model;
    bool final = read->event == HD_NONE;
    uint32_t place = final ? read->seen : read->event;
    if (other != HD_NONE && model->kind[other] == HD_EV_FREE)
        return (struct hd_weighing){.itself = true,
                                    .words = "the memory may be freed before it is read"};
    struct hd_weighing w = {.score = START};
    bool atomic =
        hd_model_is_atomic(model, place) && (other == HD_NONE || hd_model_is_atomic(model, other));
    /* What comes before the read in any case is seen only if the write that was seen comes later:
     * then those two are what has no order. */
    uint32_t against = other;
    if (!final && (other == HD_NONE || must_precede(reporter, other, place))) against = read->seen;
    uint32_t lock =
        place != HD_NONE && against != HD_NONE ? common_lock(reporter, place, against) : HD_NONE;
    if (atomic)
        hd_weigh(&w, -WEAK, "atomic, so other threads are expected");
    else if (lock != HD_NONE)
        hd_weigh(&w, 0,
                 hd_finding_text(reporter->findings,
                                 "both hold %s: the order is left open, the accesses are not",
                                 hd_describe_lock(reporter->predict->describe, lock, HD_SHORT)));
    else
        hd_weigh(&w, STRONG, "no lock is held around both");
    if (other == HD_NONE) hd_weigh(&w, WEAK, "the read may come before the first write");
    if (final) return w;
    uint32_t habits = habits_of(reporter, read);
    bool again = (habits & AGAIN) != 0, writes = (habits & WRITES) != 0;
    if (again) hd_weigh(&w, 0, "read again and again: perhaps polling");
    if (writes) hd_weigh(&w, 0, "written next by the same thread: perhaps a count or a sum");
    if (!again && !writes)
        hd_weigh(&w, 2 * WEAK, "read once, for its value");
    else if (!again || !writes)
        w.score += WEAK;
    return w;
}

/* ---- words -------------------------------------------------------------------------------------
 */

/* "what T1 wrote at f.c:3"; "the initial value" */
static const char *value_of(struct reporter *reporter, uint32_t write) {
    if (write == HD_NONE) return "the initial value";
    struct hd_describe *describe = reporter->predict->describe;
    const char *thread = hd_describe_thread(describe, reporter->model->thread[write]);
    const char *place = hd_words_at(reporter->findings, hd_describe_site(describe, write));
    if (reporter->model->kind[write] == HD_EV_FREE)
        return hd_finding_text(reporter->findings, "memory that %s freed%s", thread, place);
    return hd_finding_text(reporter->findings, "what %s wrote%s", thread, place);
}

static void put_in_words(struct reporter *reporter, struct hd_finding *finding,
                         const struct hd_read *read, const struct hd_triplet *triplet) {
    struct hd_describe *describe = reporter->predict->describe;
    struct hd_read_words words = {.seen = value_of(reporter, triplet->seen),
                                  .other = value_of(reporter, triplet->other)};
    if (read->event != HD_NONE) {
        words.reader = hd_describe_thread(describe, reporter->model->thread[read->event]);
        words.site = hd_describe_site(describe, read->event);
    }
    hd_words_nondeterminism(reporter->findings, finding, &words);
}

/* ---- findings ----------------------------------------------------------------------------------
 */

static void describe_group(struct reporter *reporter, const struct group *group,
                           const struct hd_answer *answer) {
    struct hd_predict *predict = reporter->predict;
    const struct hd_triplet *triplet = &group->best;
    const struct hd_read *read = &reporter->nondet->couples.read.data[triplet->read];
    struct hd_findings *findings = reporter->findings;
    uint32_t event[3], events = 0, threads = 0;
    const struct hd_nondet_model *other_model = predict->options.nondet_model;
    enum hd_verdict verdict = answer != NULL ? answer->verdict : triplet->verdict;
    if (triplet->seen != HD_NONE) event[events++] = triplet->seen;
    if (read->event != HD_NONE) event[events++] = read->event;
    if (triplet->other != HD_NONE) event[events++] = triplet->other;
    for (uint32_t i = 0; i < events; i++) {
        bool fresh = true;
        for (uint32_t k = 0; k < i; k++)
            fresh &= reporter->model->thread[event[i]] != reporter->model->thread[event[k]];
        threads += fresh;
    }
    struct hd_finding draft = {
        .kind = HD_FINDING_NONDETERMINISM,
        .verdict = other_model != NULL && verdict == HD_FEASIBLE ? HD_VERDICT_POSSIBLE
                                                                 : (enum hd_finding_verdict)verdict,
        .engine =
            other_model != NULL ? other_model->name : hd_method_full_name(&hd_method_poly, HD_CDSR),
        .instances = group->instances,
        .threads_involved = threads,
        .accesses_involved = events,
        .variables_involved = 1};
    hd_finding_set_events(findings, &draft, predict->describe, reporter->model, event, events);
    draft.variable = hd_finding_text(
        findings, "%s", hd_describe_location(predict->describe, read->location, HD_SHORT));
    struct hd_weighing weighing = {0};
    if (verdict != HD_INFEASIBLE) weighing = weigh(reporter, read, triplet->other);
    hd_finding_set_intent(findings, &draft, &weighing);
    put_in_words(reporter, &draft, read, triplet);
    if (answer != NULL && answer->witness.run != NULL)
        hd_finding_set_witness(findings, &draft, predict->describe, reporter->model,
                               answer->witness.run, answer->witness.runs, answer->witness.next);
    hd_finding_add(findings, &draft);
}

static enum hd_asked question_of(const void *context, uint32_t group, uint64_t number,
                                 struct hd_question *question) {
    const struct reporter *reporter = context;
    if (number > 0) return HD_NO_MORE;
    const struct hd_triplet *triplet = &reporter->group.data[reporter->shown.data[group]].best;
    const struct hd_couples *couples = &reporter->nondet->couples;
    if (triplet->verdict != HD_FEASIBLE) return HD_NO_MORE;
    hd_nondet_question(couples, &couples->read.data[triplet->read], triplet->other, question);
    return HD_ASK;
}

/* Is this group to be shown, by its verdict and its harm? */
static bool is_shown(struct reporter *reporter, const struct group *group) {
    if (reporter->predict->options.all) return true;
    if (group->best.verdict != HD_FEASIBLE) return false;
    const struct hd_read *read = &reporter->nondet->couples.read.data[group->best.read];
    struct hd_weighing weighing = weigh(reporter, read, group->best.other);
    return hd_weighing_harm(&weighing) != HD_HARM_UNLIKELY;
}

static bool add_findings(struct reporter *reporter, struct hd_error *error) {
    struct hd_predict *predict = reporter->predict;
    for (uint32_t g = 0; g < reporter->group.size; g++) {
        if (is_shown(reporter, &reporter->group.data[g])) {
            hd_vector_push(&reporter->shown, g);
        } else if (reporter->group.data[g].best.verdict == HD_FEASIBLE) {
            reporter->findings->summary.hidden++;
        }
    }
    struct hd_question_source source = {
        .groups = (uint32_t)reporter->shown.size, .context = reporter, .question = question_of};
    struct hd_answer *answers = NULL;
    if (predict->options.nondet_model == NULL) {
        struct hd_ask_options options = hd_predict_ask_options(predict);
        options.reading = HD_CDSR;
        answers = hd_ask_all(&source, reporter->nondet->base, reporter->model, &options,
                             &predict->stats.asked, error);
        if (answers == NULL) return false;
    }
    for (uint32_t i = 0; i < reporter->shown.size; i++) {
        const struct group *group = &reporter->group.data[reporter->shown.data[i]];
        bool asked = answers != NULL && group->best.verdict == HD_FEASIBLE;
        /* what has no schedule can do without words if it is late: it is counted */
        if (is_late(reporter) && !(asked && answers[i].verdict == HD_FEASIBLE)) continue;
        describe_group(reporter, group, asked ? &answers[i] : NULL);
    }
    hd_answers_free(answers, source.groups);
    return true;
}

bool hd_nondet_report(struct hd_predict *predict, const struct hd_nondet *nondet,
                      struct hd_findings *findings, struct hd_error *error) {
    struct reporter reporter = {.predict = predict,
                                .nondet = nondet,
                                .model = predict->model,
                                .findings = findings,
                                .sites = {.couples = &nondet->couples},
                                .most = hd_most_candidates(predict->analysis) / 2};
    const struct hd_nondet_stats *stats = &nondet->stats;
    bool exact = predict->options.nondet_model == NULL;
    put_found(&reporter);
    if (predict->options.all && !predict->options.found_only) put_rest(&reporter);
    findings->summary.candidates += stats->triplets;
    findings->summary.verdict[HD_VERDICT_INFEASIBLE] += stats->verdict[HD_INFEASIBLE];
    findings->summary.verdict[exact ? HD_VERDICT_FEASIBLE : HD_VERDICT_POSSIBLE] +=
        stats->verdict[HD_FEASIBLE] - reporter.left;
    findings->summary.verdict[HD_VERDICT_UNDECIDED] += stats->verdict[HD_UNDECIDED];
    findings->summary.left += stats->left + reporter.left;
    predict->stats.groups += reporter.group.size;
    bool done = add_findings(&reporter, error);
    hd_triplet_sites_free(&reporter.sites);
    hd_map_free(&reporter.habits);
    hd_vector_free(&reporter.group);
    hd_vector_free(&reporter.shown);
    return done;
}
