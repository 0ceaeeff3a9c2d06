/* The queue of predictions and context switches that are to be forced: each once, whatever run it
 * was found in, and what is most likely to fail first. */
#include "explore/explorer.h"
#include "finding/intent.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#define MOST_ROLES 4u   /* of the same sites, beside the one that is tried first */
#define RANK_EARLY 500u /* after what is harmful by itself, before what is likely to be */

/* ---- the same target ------------------------------------------------------------------------ */

static uint64_t add_event(const struct hd_finding_event *event, bool innermost, uint64_t hash) {
    uint32_t column = event->column;
    if (innermost) column = event->frames > 0 ? event->frame[0].column : 0;
    hash = XXH3_64bits_withSeed(event->site, strlen(event->site) + 1, hash);
    hash = XXH3_64bits_withSeed(event->op, strlen(event->op) + 1, hash);
    return column > 0 ? XXH3_64bits_withSeed(&column, sizeof column, hash) : hash;
}

/* The same sites in every run: as a reader knows them, or told apart as far as they can be. */
static uint64_t key_of(const struct hd_finding *finding, bool innermost) {
    const char *pattern = finding->pattern != NULL ? finding->pattern : "";
    uint64_t hash = XXH3_64bits_withSeed(pattern, strlen(pattern), (uint64_t)finding->kind);
    if (hd_finding_is_circle(finding)) {
        uint64_t *each = hd_alloc(finding->events, sizeof *each);
        for (uint32_t i = 0; i < finding->events; i++)
            each[i] = add_event(&finding->event[i], innermost, hash);
        hash = hd_hash_circle(each, finding->events, 0);
        free(each);
        return hash;
    }
    for (uint32_t i = 0; i < finding->events; i++)
        hash = add_event(&finding->event[i], innermost, hash);
    return hash;
}

/* Fingerprints are made for the findings of one run; here, with those of many, other sites have
 * another one too. */
static void number_fingerprint(struct explorer *x, struct hd_finding *finding) {
    const char *print = finding->fingerprint;
    uint64_t sites = key_of(finding, false);
    uint32_t mark = (uint32_t)(sites ^ sites >> 32) | 1;
    for (unsigned n = 1;; n++) {
        uint32_t *slot = hd_map_slot(&x->print, XXH3_64bits(print, strlen(print)), 0);
        if (*slot == 0) *slot = mark;
        if (*slot == mark) return;
        hd_finding_number(finding, n + 1);
    }
}

/* ---- rank ----------------------------------------------------------------------------------- */

/* What fails most often comes first: threads that wait for each other, memory that is gone,
 * accesses that were learned to belong together, or look as if they did; races next; at last what
 * is probably intended. */
static uint32_t rank_of(const struct hd_finding *finding, enum depth depth) {
    uint32_t score = finding->score, rank = 1000 * (uint32_t)depth;
    if (finding->harm == HD_HARM_ITSELF && finding->kind != HD_FINDING_RACE) return rank;
    bool likely = finding->harm == HD_HARM_LIKELY && finding->kind != HD_FINDING_NONDETERMINISM;
    if (likely && *finding->support != '\0') return rank; /* breaks what was learned */
    if (likely) return rank + 1000 - score;
    if (depth == DEPTH_SWITCH) {
        bool lock = strstr(finding->event[0].op, "acq") != NULL;
        return 8000 + (finding->events == 2) * 1000 + lock * 500;
    }
    if (finding->kind == HD_FINDING_RACE) return rank + 1500;
    rank += RANK_UNLIKELY + (finding->harm == HD_HARM_EXERCISED ? 2000 : 1000);
    /* A read that may see another write says less than what is wrong with that. */
    return finding->kind == HD_FINDING_NONDETERMINISM ? rank + HD_SCORE_MOST - score : rank - score;
}

bool explore_has_target(const struct explorer *x, uint64_t key) {
    return hd_map_get(&x->key, key, 0) != 0;
}

void explore_put_target(struct explorer *x, const struct target *target) {
    struct target *added = hd_alloc(1, sizeof *added);
    *added = *target;
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers, since wanted runs keep them */
    hd_vector_push(&x->target, added);
    *hd_map_slot(&x->key, target->key, 0) = (uint32_t)x->target.size;
    x->result->targets++;
}

void explore_add_target(struct explorer *x, const struct target *target) {
    bool switched = target->depth == DEPTH_SWITCH;
    uint64_t key = key_of(target->finding, true) + (switched ? 1 + target->repeat : 0);
    if (explore_has_target(x, key)) return;
    number_fingerprint(x, target->finding);
    struct target ranked = *target;
    ranked.key = key;
    ranked.rank = target->early ? RANK_EARLY : rank_of(target->finding, target->depth);
    ranked.rank += 100 * target->repeat;
    explore_put_target(x, &ranked);
}

/* Who does it, called from where, and to which object. */
static uint64_t role_of(const struct hd_finding *finding) {
    uint64_t both = 0;
    for (uint32_t i = 0; i < finding->events; i++) {
        const struct hd_finding_event *event = &finding->event[i];
        uint64_t hash = XXH3_64bits(event->variable, strlen(event->variable));
        for (uint32_t k = 1; k < event->frames; k++) {
            const struct hd_frame *frame = &event->frame[k];
            hash = XXH3_64bits_withSeed(frame->function, strlen(frame->function), hash);
            hash = XXH3_64bits_withSeed(&frame->line, sizeof frame->line, hash);
        }
        both += hash; /* which of a race comes first differs between runs */
    }
    return both;
}

void explore_add_role(struct explorer *x, const struct target *target) {
    uint64_t sites = key_of(target->finding, true), role = role_of(target->finding);
    uint32_t known = hd_map_get(&x->key, sites, 0);
    if (known == 0) {
        explore_add_target(x, target);
        return;
    }
    struct target *first = x->target.data[known - 1];
    uint64_t key = XXH3_64bits_withSeed(&role, sizeof role, sites);
    if (first->roles == MOST_ROLES || role_of(first->finding) == role || explore_has_target(x, key))
        return;
    number_fingerprint(x, target->finding);
    struct target ranked = *target;
    ranked.key = key;
    ranked.rank = rank_of(target->finding, target->depth) + 100 * ++first->roles;
    explore_put_target(x, &ranked);
}

/* ---- what comes next ------------------------------------------------------------------------ */

/* A race's accesses may come in either order, and either thread may go on after them. The order
 * that the recorded run did not have is tried first. */
#define RACE_VARIANTS 4u

uint32_t explore_variants(const struct target *target) {
    if (target->depth == DEPTH_SWITCH) return 2;
    return target->finding->kind == HD_FINDING_RACE ? RACE_VARIANTS : 1;
}

static bool is_due(const struct explorer *x, const struct target *target, uint32_t below) {
    /* Where two threads meet once, they often meet more than once. */
    if (target->depth == DEPTH_SWITCH && x->result->failures > 0) return false;
    return !target->failed && target->tried < explore_variants(target) && target->rank < below;
}

static bool is_before(const struct target *a, const struct target *b) {
    return a->tried < b->tried || (a->tried == b->tried && a->rank < b->rank);
}

/* Every target in one variant before any in the next. */
struct target *explore_next_target(struct explorer *x, uint32_t below, uint32_t *due) {
    struct target *best = NULL;
    *due = 0;
    x->below = below;
    for (size_t i = 0; i < x->target.size; i++) {
        struct target *target = x->target.data[i];
        if (!is_due(x, target, below)) continue;
        ++*due;
        if (best == NULL || is_before(target, best)) best = target;
    }
    return best;
}

/* By insertion: there are few. */
uint32_t explore_coming_targets(struct explorer *x, uint32_t variant, struct target **next,
                                uint32_t most) {
    uint32_t count = 0;
    for (size_t i = 0; i < x->target.size; i++) {
        struct target *target = x->target.data[i];
        if (target->tried != variant || !is_due(x, target, x->below)) continue;
        uint32_t at = count;
        while (at > 0 && is_before(target, next[at - 1])) at--;
        if (at == most) continue;
        if (count < most) count++;
        memmove(next + at + 1, next + at, (count - at - 1) * sizeof(struct target *));
        next[at] = target;
    }
    return count;
}

/* ---- as a schedule -------------------------------------------------------------------------- */

/* The last thread of all goes on first: a turn without a call makes it another. */
static void go_on_with(struct hd_schedule *schedule, uint32_t thread) {
    struct hd_turn turn = {.thread = thread, .to = ""};
    hd_vector_push(&schedule->then, turn);
}

bool explore_make_variant(const struct target *target, uint32_t variant,
                          struct hd_schedule *schedule, struct hd_error *error) {
    const struct hd_finding *finding = target->finding;
    if (target->depth == DEPTH_SWITCH) {
        if (!explore_switch_schedule(target, (variant == 1) != target->early, schedule, error))
            return false;
    } else if (!hd_schedule_from_witness(schedule, &target->run->model, target->run->describe,
                                         finding->witness, finding->witness_spans,
                                         finding->witness_next, error)) {
        return false;
    }
    schedule->kind = hd_finding_kind_name(finding->kind);
    schedule->variable = hd_schedule_text(schedule, finding->variable);
    schedule->fingerprint = hd_schedule_text(schedule, finding->fingerprint);
    schedule->about = hd_schedule_text(schedule, finding->conclusion);
    if (finding->kind != HD_FINDING_RACE || schedule->then.size < 2) return true;
    /* The witness has them in the order of the run as a rule. */
    size_t last = schedule->then.size - 1;
    bool as_recorded = finding->witness_spans > 0 && finding->events == 2 &&
                       finding->event[0].event < finding->event[1].event &&
                       schedule->then.data[last].thread == finding->event[1].thread_number;
    if ((variant < 2) == as_recorded) hd_schedule_swap(schedule);
    if (variant % 2 != 0) go_on_with(schedule, schedule->then.data[last - 1].thread);
    return true;
}
