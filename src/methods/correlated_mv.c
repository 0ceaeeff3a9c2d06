/* The race detectors of the dissertation's section 5.4.1, extended to variables that belong
 * together: for accesses of two threads to x that conflict, what the one thread does to y, together
 * with its access to x, must be protected by the same lock (lockset_mv), or be ordered with the
 * other thread's access too (hb_mv). */
#include "methods/hb_cp.h"
#include "methods/methods.h"
#include "predict/correlated.h"

/* Pairs of one thread, and accesses of another one to the variable of the first or the second. */
struct lists {
    const struct hd_correlated_list *local;
    const struct hd_correlated_remotes *remote;
    const struct hd_correlated_pair *pair;
    const uint32_t *event;
    uint32_t at;
};

static struct lists lists_of(const struct hd_correlated_groups *groups, uint32_t bundle) {
    const struct hd_correlated_bundle *each = &groups->bundle.data[bundle];
    const struct hd_correlated_list *local = &groups->pairs.list.data[each->pairs];
    const struct hd_correlated_remotes *remote = &groups->remotes.data[each->remotes];
    return (struct lists){local, remote, groups->pairs.pair.data + local->start,
                          groups->remote.data + remote->start, each->at};
}

static void report(struct hd_correlated_decision *decision, const struct lists *lists,
                   const struct hd_correlated_pair *pair, uint32_t remote) {
    *decision = (struct hd_correlated_decision){
        .verdict = HD_POSSIBLE,
        .event = {pair->first, remote, pair->second},
        .events = 3,
        .location = {lists->local->location[0], lists->local->location[1]}};
}

/* Finds the first bundle of each group that a method has something to say about. */
typedef bool (*look_at)(const struct hd_correlated_groups *groups, const void *context,
                        const struct lists *lists, struct hd_correlated_decision *decision);

static void look_at_all(const struct hd_correlated_task *task, look_at look, const void *context) {
    const struct hd_correlated_groups *groups = task->groups;
    for (uint32_t g = 0; g < groups->group.size; g++) {
        const struct hd_correlated_group *group = &groups->group.data[g];
        for (uint32_t b = 0; b < group->bundles; b++) {
            struct lists lists = lists_of(groups, group->bundle_start + b);
            task->stats->asked.checks++;
            if (look(groups, context, &lists, &task->decision[g])) break;
        }
    }
}

/* ---- lockset ----------------------------------------------------------------------------------
 */

/* lock * 2 + reading, or HD_NONE. */
static uint32_t held(const struct hd_locksets *sets, uint32_t set, uint32_t lock) {
    const struct hd_lockset *each = &sets->set.data[set];
    for (uint32_t i = 0; i < each->count; i++)
        if (sets->held.data[each->start + i] / 2 == lock) return sets->held.data[each->start + i];
    return HD_NONE;
}

/* Is there a lock that all three hold, for writing by one of the two that conflict? */
static bool is_protected(const struct hd_locksets *sets, const struct lists *lists) {
    const struct hd_lockset *each = &sets->set.data[lists->remote->lockset];
    for (uint32_t i = 0; i < each->count; i++) {
        uint32_t its = sets->held.data[each->start + i];
        uint32_t own = held(sets, lists->local->lockset[lists->at], its / 2);
        uint32_t beside = held(sets, lists->local->lockset[!lists->at], its / 2);
        if (own != HD_NONE && beside != HD_NONE && (own % 2 == 0 || its % 2 == 0)) return true;
    }
    return false;
}

/* Forks and joins order what is protected by nothing else. */
static bool look_at_locks(const struct hd_correlated_groups *groups, const void *context,
                          const struct lists *lists, struct hd_correlated_decision *decision) {
    (void)context;
    if (is_protected(&groups->pairs.segments->locksets, lists)) return false;
    for (uint32_t n = 0, from = 0; n < lists->local->count; n++) {
        while (from < lists->remote->count &&
               hd_clocks_before(groups->forks, lists->event[from], lists->pair[n].first))
            from++;
        if (from == lists->remote->count) return false;
        if (hd_clocks_before(groups->forks, lists->pair[n].second, lists->event[from])) continue;
        report(decision, lists, &lists->pair[n], lists->event[from]);
        return true;
    }
    return false;
}

static bool decide_lockset(const struct hd_correlated_task *task, struct hd_error *error) {
    (void)error;
    look_at_all(task, look_at_locks, NULL);
    return true;
}

/* ---- happens-before ---------------------------------------------------------------------------
 */

/* Of the accesses before the first of a pair the latest, and of those after the second the
 * earliest, speak for the others; so do the outer ones of those between. */
static bool look_at_order(const struct hd_correlated_groups *groups, const void *context,
                          const struct lists *lists, struct hd_correlated_decision *decision) {
    const struct hd_hb_cp *clocks = context;
    const uint32_t *event = lists->event;
    uint32_t count = lists->remote->count;
    (void)groups;
    for (uint32_t n = 0, first = 0, second = 0; n < lists->local->count; n++) {
        const struct hd_correlated_pair *pair = &lists->pair[n];
        while (first < count && event[first] < pair->first) first++;
        while (second < count && event[second] < pair->second) second++;
        uint32_t wrong = HD_NONE;
        if (first > 0 && !hd_hb_cp_before(clocks, event[first - 1], pair->first))
            wrong = event[first - 1];
        else if (first < second && !hd_hb_cp_before(clocks, pair->first, event[first]))
            wrong = event[first];
        else if (first < second && !hd_hb_cp_before(clocks, event[second - 1], pair->second))
            wrong = event[second - 1];
        else if (second < count && !hd_hb_cp_before(clocks, pair->second, event[second]))
            wrong = event[second];
        if (wrong == HD_NONE) continue;
        report(decision, lists, pair, wrong);
        return true;
    }
    return false;
}

static bool decide_hb(const struct hd_correlated_task *task, struct hd_error *error) {
    const struct hd_correlated_groups *groups = task->groups;
    struct hd_bitset asked = {0};
    (void)error;
    hd_bitset_reserve(&asked, groups->model->events);
    for (size_t i = 0; i < groups->remote.size; i++) hd_bitset_add(&asked, groups->remote.data[i]);
    for (size_t i = 0; i < groups->pairs.pair.size; i++) {
        hd_bitset_add(&asked, groups->pairs.pair.data[i].first);
        hd_bitset_add(&asked, groups->pairs.pair.data[i].second);
    }
    struct hd_hb_cp *clocks = hd_hb_cp_build(groups->model, HD_CLOCKS_HB, &asked);
    look_at_all(task, look_at_order, clocks);
    hd_hb_cp_free(clocks);
    hd_bitset_free(&asked);
    return true;
}

static const struct hd_correlated_method lockset = {.decide = decide_lockset,
                                                    .needs_remotes = true};
static const struct hd_correlated_method hb = {.decide = decide_hb, .needs_remotes = true};
const struct hd_method hd_method_lockset_mv = {.name = "lockset_mv", .correlated = &lockset};
const struct hd_method hd_method_hb_mv = {.name = "hb_mv", .correlated = &hb};
