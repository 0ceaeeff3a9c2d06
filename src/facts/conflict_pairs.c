/* Walks over the pairs of a group: see pairs.h. */
#include "facts/conflict_pairs.h"

#include <stdlib.h>
#include <string.h>

struct lists {
    const uint32_t *left, *right;
    uint32_t lefts, rights, location;
};

static struct lists lists_of(const struct hd_conflict_pairs *pairs, uint32_t bundle) {
    const struct hd_conflicts *conflicts = pairs->conflicts;
    const struct hd_conflict_bundle *each = &pairs->bundles.list.data[bundle];
    const struct hd_access_list *a = &conflicts->list.data[each->list[0]];
    const struct hd_access_list *b = &conflicts->list.data[each->list[1]];
    return (struct lists){conflicts->event.data + a->start, conflicts->event.data + b->start,
                          a->count, b->count, each->location};
}

/* Is an earlier event of the list in the same segment? */
static bool repeats(const struct hd_conflict_pairs *pairs, const uint32_t *list, uint32_t at) {
    const uint32_t *segment = pairs->conflicts->segments->of;
    return !pairs->whole && at > 0 && segment[list[at]] == segment[list[at - 1]];
}

/* The run of events of the right list that are not ordered with left[i]; `from` and `to` are those
 * of the event before it, and only move forward. */
static void advance(const struct hd_conflict_pairs *pairs, const struct lists *lists, uint32_t i,
                    uint32_t *from, uint32_t *to) {
    uint32_t event = lists->left[i];
    while (*from < lists->rights && pairs->before(pairs->context, lists->right[*from], event))
        (*from)++;
    if (*to < *from) *to = *from;
    while (*to < lists->rights && !pairs->before(pairs->context, event, lists->right[*to])) (*to)++;
}

/* ---- near pairs -------------------------------------------------------------------------------
 */

static uint32_t later_of(const struct hd_conflict *pair) {
    return pair->event[0] > pair->event[1] ? pair->event[0] : pair->event[1];
}

static int compare_pairs(const void *left, const void *right) {
    uint32_t a = later_of(left), b = later_of(right);
    return a < b ? -1 : a > b;
}

static void add_near(struct hd_conflict_pairs *pairs, const struct lists *lists, uint32_t i,
                     uint32_t k, uint32_t from) {
    while (repeats(pairs, lists->right, k)) k--;
    if (k < from) return; /* the first of its segment is ordered: see hd_conflict_pairs_next */
    if (pairs->near_count > 0) {
        const struct hd_conflict *last = &pairs->near[pairs->near_count - 1];
        if (last->event[0] == lists->left[i] && last->event[1] == lists->right[k]) return;
    }
    if (pairs->near_count < HD_NEAR_CONFLICTS)
        pairs->near[pairs->near_count++] =
            (struct hd_conflict){{lists->left[i], lists->right[k]}, lists->location};
}

static void find_near(struct hd_conflict_pairs *pairs) {
    for (uint32_t n = pairs->bundle; n < pairs->end && pairs->near_count < HD_NEAR_CONFLICTS; n++) {
        struct lists lists = lists_of(pairs, n);
        uint32_t from = 0, to = 0, after = 0;
        for (uint32_t i = 0; i < lists.lefts && pairs->near_count < HD_NEAR_CONFLICTS; i++) {
            if (repeats(pairs, lists.left, i)) continue;
            advance(pairs, &lists, i, &from, &to);
            if (from == lists.rights) break;
            if (from == to) continue;
            while (after < lists.rights && lists.right[after] < lists.left[i]) after++;
            if (after > from && after - 1 < to) add_near(pairs, &lists, i, after - 1, from);
            if (after >= from && after < to) add_near(pairs, &lists, i, after, from);
        }
    }
    if (pairs->near_count > 1)
        qsort(pairs->near, pairs->near_count, sizeof *pairs->near, compare_pairs);
}

/* ---- all pairs --------------------------------------------------------------------------------
 */

void hd_conflict_pairs_begin(struct hd_conflict_pairs *pairs, const struct hd_conflicts *conflicts,
                             uint32_t group, hd_before before, const void *context, bool whole) {
    hd_conflicts_bundles(conflicts, group, &pairs->bundles);
    pairs->conflicts = conflicts;
    pairs->before = before;
    pairs->context = context;
    pairs->bundle = 0;
    pairs->end = (uint32_t)pairs->bundles.list.size;
    pairs->i = pairs->k = pairs->from = pairs->to = 0;
    pairs->whole = whole;
    pairs->near_count = pairs->near_at = 0;
    if (!whole) find_near(pairs);
    if (pairs->bundle < pairs->end) {
        struct lists lists = lists_of(pairs, pairs->bundle);
        advance(pairs, &lists, 0, &pairs->from, &pairs->to);
        pairs->k = pairs->from;
    }
}

static bool was_near(const struct hd_conflict_pairs *pairs, uint32_t a, uint32_t b) {
    for (uint32_t i = 0; i < pairs->near_count; i++)
        if (pairs->near[i].event[0] == a && pairs->near[i].event[1] == b) return true;
    return false;
}

/* On to the next event of the left list, or the next bundle; false at the end. */
static bool next_row(struct hd_conflict_pairs *pairs, struct lists *lists) {
    for (pairs->i++;; pairs->i++) {
        if (pairs->i >= lists->lefts || pairs->from == lists->rights) {
            if (++pairs->bundle >= pairs->end) return false;
            *lists = lists_of(pairs, pairs->bundle);
            pairs->i = pairs->from = pairs->to = 0;
        } else if (repeats(pairs, lists->left, pairs->i))
            continue;
        advance(pairs, lists, pairs->i, &pairs->from, &pairs->to);
        pairs->k = pairs->from;
        if (pairs->k < pairs->to) return true;
    }
}

bool hd_conflict_pairs_next(struct hd_conflict_pairs *pairs, struct hd_conflict *pair) {
    if (pairs->near_at < pairs->near_count) {
        *pair = pairs->near[pairs->near_at++];
        return true;
    }
    if (pairs->bundle >= pairs->end) return false;
    struct lists lists = lists_of(pairs, pairs->bundle);
    for (;;) {
        for (; pairs->k < pairs->to; pairs->k++) {
            /* The first of its segment speaks for it, also if that one is before the run: then the
             * pair with it is ordered, hence infeasible, and so is this one. */
            if (repeats(pairs, lists.right, pairs->k)) continue;
            uint32_t a = lists.left[pairs->i], b = lists.right[pairs->k];
            if (was_near(pairs, a, b)) continue;
            *pair = (struct hd_conflict){{a, b}, lists.location};
            pairs->k++;
            return true;
        }
        if (!next_row(pairs, &lists)) return false;
    }
}

bool hd_conflict_pairs_find(struct hd_conflict_pairs *pairs, struct hd_conflict *pair) {
    for (uint32_t n = 0; n < pairs->end; n++) {
        struct lists lists = lists_of(pairs, n);
        for (uint32_t i = 0, from = 0, to = 0; i < lists.lefts && from < lists.rights; i++) {
            advance(pairs, &lists, i, &from, &to);
            if (from == to) continue;
            *pair = (struct hd_conflict){{lists.left[i], lists.right[from]}, lists.location};
            return true;
        }
    }
    return false;
}

void hd_conflict_pairs_free(struct hd_conflict_pairs *pairs) {
    hd_vector_free(&pairs->bundles.list);
}
