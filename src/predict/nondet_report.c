/* Findings of nondeterminism: one for each triple of sites (write seen, read, other write), ranked
 * by signs of intent, with a schedule that the checker has passed. */
#include "base/map.h"
#include "facts/conflicts.h"
#include "finding/intent.h"
#include "finding/words.h"
#include "predict/nondet.h"
#include "predict/questions.h"

#include <stdio.h>
#include <string.h>

/* Triplets of the same sites. */
struct group {
    struct hd_triplet best; /* the first feasible one, else the first undecided, else any */
    uint64_t instances;     /* of the best verdict */
};

struct desk {
    struct hd_predict *predict;
    const struct hd_nondet *nondet;
    const struct hd_model *model;
    struct hd_findings *findings;
    struct hd_map site_number, pair_number, group_number;
    HD_VECTOR(struct group) group;
    HD_VECTOR(uint32_t) shown; /* groups that become findings */
    uint32_t section[64], sections;
};

/* ---- groups ------------------------------------------------------------------------------------
 */

#define NO_EVENT_SITE 0xfffffffeu /* of the initial value and of a final read */

static uint32_t site_of(struct desk *desk, uint32_t event, uint32_t location, bool *failed) {
    if (event == HD_NONE) return NO_EVENT_SITE;
    uint32_t site = hd_site_number(desk->model, &desk->site_number, event, location);
    *failed |= site == UINT32_MAX;
    return site;
}

/* The number of a triplet's group; HD_NONE when memory is out. Variables of final reads are told
 * apart by location: they have no site. */
static uint32_t group_of(struct desk *desk, const struct hd_triplet *triplet) {
    const struct hd_read *read = &desk->nondet->couples.read.data[triplet->read];
    bool failed = false;
    if (desk->predict->options.instances) return (uint32_t)desk->group.size;
    uint32_t of_read = read->event == HD_NONE ? 0x80000000u | read->location
                                              : site_of(desk, read->event, read->location, &failed);
    uint32_t of_seen = site_of(desk, triplet->seen, read->location, &failed);
    uint32_t of_other = site_of(desk, triplet->other, read->location, &failed);
    if (failed) return HD_NONE;
    uint32_t *pair =
        hd_map_slot(&desk->pair_number, (uint64_t)of_read << 32 | of_seen, desk->pair_number.count);
    if (pair == NULL) return HD_NONE;
    uint32_t *group = hd_map_slot(&desk->group_number, (uint64_t)*pair << 32 | of_other,
                                  (uint32_t)desk->group.size);
    return group == NULL ? HD_NONE : *group;
}

/* feasible, then undecided, then infeasible */
static int worth(uint8_t verdict) {
    return verdict == HD_FEASIBLE ? 2 : verdict == HD_UNDECIDED ? 1 : 0;
}

static bool put(struct desk *desk, const struct hd_triplet *triplet) {
    uint32_t number = group_of(desk, triplet);
    if (number == HD_NONE) return false;
    if (number == desk->group.size)
        return hd_vector_push(&desk->group, ((struct group){*triplet, 1}));
    struct group *group = &desk->group.data[number];
    int more = worth(triplet->verdict) - worth(group->best.verdict);
    if (more > 0) *group = (struct group){*triplet, 0};
    group->instances += more >= 0;
    return true;
}

/* The triplets of a read, ascending by the other write, the initial value last. */
static bool list_triplets(const struct hd_couples *couples, const struct hd_read *read,
                          struct hd_challengers *challengers) {
    const struct hd_model *model = couples->model;
    if (read->wide) return hd_couples_challengers(couples, read, challengers);
    struct hd_challenger challenger = {HD_NONE, read->location, read->seen};
    challengers->list.size = 0;
    for (uint32_t i = model->location_start[read->location];
         i < model->location_start[read->location + 1]; i++) {
        uint32_t event = model->location_event[i];
        if (!hd_model_is_write(model, event) || event == read->seen || event == read->event)
            continue;
        challenger.write = event;
        if (!hd_vector_push(&challengers->list, challenger)) return false;
    }
    challenger.write = HD_NONE;
    return read->seen == HD_NONE || hd_vector_push(&challengers->list, challenger);
}

static bool is_late(const struct desk *desk) {
    return hd_budget_is_over(&desk->predict->options.budget);
}

/* Every triplet that was not found, for --all, as far as there is time: they are counted anyway. */
static bool put_rest(struct desk *desk) {
    const struct hd_nondet *nondet = desk->nondet;
    const struct hd_couples *couples = &nondet->couples;
    struct hd_challengers challengers = {0};
    bool done = true;
    size_t at = 0;
    for (uint32_t r = 0; done && r < couples->read.size && !is_late(desk); r++) {
        const struct hd_read *read = &couples->read.data[r];
        done = list_triplets(couples, read, &challengers);
        for (size_t i = 0; done && i < challengers.list.size; i++) { /* both ascend */
            const struct hd_challenger *challenger = &challengers.list.data[i];
            if (at < nondet->found.size && nondet->found.data[at].read == r &&
                nondet->found.data[at].other == challenger->write) {
                at++;
                continue;
            }
            struct hd_triplet triplet = {
                .read = r, .seen = challenger->seen, .other = challenger->write};
            done = put(desk, &triplet);
        }
    }
    hd_challengers_free(&challengers);
    return done;
}

/* ---- harm --------------------------------------------------------------------------------------
 */

static uint32_t common_lock(struct desk *desk, uint32_t a, uint32_t b) {
    const struct hd_model *model = desk->model;
    uint32_t theirs[64];
    uint32_t mine = hd_model_held(model, a, desk->section, 64);
    uint32_t other = hd_model_held(model, b, theirs, 64);
    for (uint32_t i = 0; i < mine && i < 64; i++)
        for (uint32_t k = 0; k < other && k < 64; k++) {
            const struct hd_section *x = &model->section[desk->section[i]];
            const struct hd_section *y = &model->section[theirs[k]];
            if (x->lock == y->lock && !(x->read_mode && y->read_mode)) return x->lock;
        }
    return HD_NONE;
}

/* Does must-order have one event before the other? */
static bool must_precede(const struct desk *desk, uint32_t a, uint32_t b) {
    const struct hd_model *model = desk->model;
    uint32_t position = hd_model_position(model, a), thread = model->thread[a];
    if (thread == model->thread[b]) return a < b;
    const uint32_t *clock =
        hd_reach_clock(&desk->nondet->ground->must, model->thread[b], hd_model_position(model, b));
    return clock != NULL && clock[thread] > position;
}

/* What the reader's thread does with the location besides this read. */
struct habits {
    bool again;  /* reads it at the same site more than once: a loop */
    bool writes; /* writes it next: an update */
};

static struct habits habits_of(const struct hd_model *model, const struct hd_read *read) {
    struct habits habits = {false, hd_model_is_write(model, read->event)};
    bool next = true;
    for (uint32_t i = model->location_start[read->location];
         i < model->location_start[read->location + 1]; i++) {
        uint32_t event = model->location_event[i];
        if (event == read->event || model->thread[event] != model->thread[read->event]) continue;
        if (hd_model_is_read(model, event) && model->site[event] == model->site[read->event] &&
            model->site[event] != HD_NONE)
            habits.again = true;
        if (event < read->event || !next) continue;
        habits.writes |= hd_model_is_write(model, event);
        next = false;
    }
    return habits;
}

/* The scale starts so that one strong sign (no lock), or all three weak ones, are reported. */
enum { START = 9, STRONG = 51, WEAK = 17 };

/* Nondeterminism may be intended. Against that speak: no lock that both take, a value that is not
 * there yet, a read that is made once. For it: atomics, a lock around both, polling, updates. */
static struct hd_weighing weigh(struct desk *desk, const struct hd_read *read, uint32_t other) {
    const struct hd_model *model = desk->model;
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
    if (!final && (other == HD_NONE || must_precede(desk, other, place))) against = read->seen;
    uint32_t lock =
        place != HD_NONE && against != HD_NONE ? common_lock(desk, place, against) : HD_NONE;
    if (atomic)
        hd_weigh(&w, -WEAK, "atomic, so other threads are expected");
    else if (lock != HD_NONE)
        hd_weigh(&w, 0,
                 hd_finding_text(desk->findings,
                                 "both hold %s: the order is left open, the accesses are not",
                                 hd_describe_lock(desk->predict->describe, lock, HD_SHORT)));
    else
        hd_weigh(&w, STRONG, "no lock is held around both");
    if (other == HD_NONE) hd_weigh(&w, WEAK, "the read may come before the first write");
    if (final) return w;
    struct habits habits = habits_of(model, read);
    if (habits.again) hd_weigh(&w, 0, "read again and again: perhaps polling");
    if (habits.writes) hd_weigh(&w, 0, "written next by the same thread: perhaps a count or a sum");
    if (!habits.again && !habits.writes)
        hd_weigh(&w, 2 * WEAK, "read once, for its value");
    else if (!habits.again || !habits.writes)
        w.score += WEAK;
    return w;
}

/* ---- words -------------------------------------------------------------------------------------
 */

/* "what T1 wrote at f.c:3"; "the initial value" */
static const char *value_of(struct desk *desk, uint32_t write) {
    if (write == HD_NONE) return "the initial value";
    struct hd_describe *describe = desk->predict->describe;
    const char *thread = hd_describe_thread(describe, desk->model->thread[write]);
    const char *place = hd_words_at(desk->findings, hd_describe_site(describe, write));
    if (desk->model->kind[write] == HD_EV_FREE)
        return hd_finding_text(desk->findings, "memory that %s freed%s", thread, place);
    return hd_finding_text(desk->findings, "what %s wrote%s", thread, place);
}

static void put_in_words(struct desk *desk, struct hd_finding *finding, const struct hd_read *read,
                         const struct hd_triplet *triplet) {
    struct hd_describe *describe = desk->predict->describe;
    struct hd_read_words words = {.seen = value_of(desk, triplet->seen),
                                  .other = value_of(desk, triplet->other)};
    if (read->event != HD_NONE) {
        words.reader = hd_describe_thread(describe, desk->model->thread[read->event]);
        words.site = hd_describe_site(describe, read->event);
    }
    hd_words_nondeterminism(desk->findings, finding, &words);
}

/* ---- findings ----------------------------------------------------------------------------------
 */

static void describe_group(struct desk *desk, const struct group *group,
                           const struct hd_answer *answer) {
    struct hd_predict *predict = desk->predict;
    const struct hd_triplet *triplet = &group->best;
    const struct hd_read *read = &desk->nondet->couples.read.data[triplet->read];
    struct hd_findings *findings = desk->findings;
    uint32_t event[3], events = 0, threads = 0;
    bool paper = predict->options.paper;
    enum hd_verdict verdict = answer != NULL ? answer->verdict : triplet->verdict;
    if (triplet->seen != HD_NONE) event[events++] = triplet->seen;
    if (read->event != HD_NONE) event[events++] = read->event;
    if (triplet->other != HD_NONE) event[events++] = triplet->other;
    for (uint32_t i = 0; i < events; i++) {
        bool fresh = true;
        for (uint32_t k = 0; k < i; k++)
            fresh &= desk->model->thread[event[i]] != desk->model->thread[event[k]];
        threads += fresh;
    }
    struct hd_finding draft = {.kind = HD_FINDING_NONDETERMINISM,
                               .verdict = paper && verdict == HD_FEASIBLE
                                              ? HD_VERDICT_POSSIBLE
                                              : (enum hd_finding_verdict)verdict,
                               .engine = paper ? "paper" : hd_engine_name(HD_METHOD_POLY, HD_CDSR),
                               .instances = group->instances,
                               .threads_involved = threads,
                               .accesses_involved = events,
                               .variables_involved = 1};
    hd_finding_set_events(findings, &draft, predict->describe, desk->model, event, events);
    draft.variable = hd_finding_text(
        findings, "%s", hd_describe_location(predict->describe, read->location, HD_SHORT));
    struct hd_weighing weighing = {0};
    if (verdict != HD_INFEASIBLE) weighing = weigh(desk, read, triplet->other);
    hd_finding_set_intent(findings, &draft, &weighing);
    put_in_words(desk, &draft, read, triplet);
    if (answer != NULL && answer->witness.run != NULL)
        hd_finding_set_witness(findings, &draft, predict->describe, desk->model,
                               answer->witness.run, answer->witness.runs, answer->witness.next);
    hd_finding_add(findings, &draft);
}

static enum hd_asked question_of(const void *context, uint32_t group, uint64_t number,
                                 struct hd_question *question) {
    const struct desk *desk = context;
    if (number > 0) return HD_NO_MORE;
    const struct hd_triplet *triplet = &desk->group.data[desk->shown.data[group]].best;
    const struct hd_couples *couples = &desk->nondet->couples;
    if (triplet->verdict != HD_FEASIBLE) return HD_NO_MORE;
    return hd_nondet_question(couples, &couples->read.data[triplet->read], triplet->other, question)
               ? HD_ASK
               : HD_ASK_FAILED;
}

/* Is this group to be shown, by its verdict and its harm? */
static bool is_shown(struct desk *desk, const struct group *group) {
    if (desk->predict->options.all) return true;
    if (group->best.verdict != HD_FEASIBLE) return false;
    const struct hd_read *read = &desk->nondet->couples.read.data[group->best.read];
    struct hd_weighing weighing = weigh(desk, read, group->best.other);
    return hd_weighing_harm(&weighing) != HD_HARM_UNLIKELY;
}

static bool add_findings(struct desk *desk, struct hd_error *error) {
    struct hd_predict *predict = desk->predict;
    for (uint32_t g = 0; g < desk->group.size; g++) {
        if (is_shown(desk, &desk->group.data[g])) {
            if (!hd_vector_push(&desk->shown, g))
                return hd_fail(error, HD_ERR_MEMORY, "out of memory");
        } else if (desk->group.data[g].best.verdict == HD_FEASIBLE) {
            desk->findings->summary.hidden++;
        }
    }
    struct hd_question_source source = {
        .groups = (uint32_t)desk->shown.size, .context = desk, .question = question_of};
    struct hd_answer *answers = NULL;
    if (!predict->options.paper &&
        !hd_ask_all(&source, desk->nondet->ground, desk->model, &predict->options, HD_CDSR,
                    &answers, &predict->stats, error))
        return false;
    for (uint32_t i = 0; i < desk->shown.size; i++) {
        const struct group *group = &desk->group.data[desk->shown.data[i]];
        bool asked = answers != NULL && group->best.verdict == HD_FEASIBLE;
        /* what has no schedule can do without words if it is late: it is counted */
        if (is_late(desk) && !(asked && answers[i].verdict == HD_FEASIBLE)) continue;
        describe_group(desk, group, asked ? &answers[i] : NULL);
    }
    if (answers != NULL) hd_answers_free(answers, source.groups);
    return true;
}

bool hd_nondet_report(struct hd_predict *predict, const struct hd_nondet *nondet,
                      struct hd_findings *findings, struct hd_error *error) {
    struct desk desk = {
        .predict = predict, .nondet = nondet, .model = predict->model, .findings = findings};
    const struct hd_nondet_stats *stats = &nondet->stats;
    bool done = true;
    for (size_t i = 0; done && i < nondet->found.size; i++)
        done = put(&desk, &nondet->found.data[i]);
    if (done && predict->options.all && !predict->options.found_only) done = put_rest(&desk);
    findings->summary.candidates += stats->triplets;
    findings->summary.verdict[HD_VERDICT_INFEASIBLE] += stats->verdict[HD_INFEASIBLE];
    findings->summary.verdict[predict->options.paper ? HD_VERDICT_POSSIBLE : HD_VERDICT_FEASIBLE] +=
        stats->verdict[HD_FEASIBLE];
    findings->summary.verdict[HD_VERDICT_UNDECIDED] += stats->verdict[HD_UNDECIDED];
    predict->stats.groups += desk.group.size;
    done = done ? add_findings(&desk, error) : hd_fail(error, HD_ERR_MEMORY, "out of memory");
    hd_map_free(&desk.site_number);
    hd_map_free(&desk.pair_number);
    hd_map_free(&desk.group_number);
    hd_vector_free(&desk.group);
    hd_vector_free(&desk.shown);
    return done;
}
