/* The order in which interleavings are forced (CTrigger, step 3). */
#include "explore/potential.h"

#include "base/alloc.h"

struct ranked {
    const struct hd_interleaving *it;
    uint32_t number;
};

static int compare(const void *left, const void *right) {
    const struct ranked *a = left, *b = right;
    if (a->it->exercised != b->it->exercised) return a->it->exercised ? 1 : -1;
    if ((a->it->p == 0) != (b->it->p == 0)) return a->it->p == 0 ? 1 : -1;
    if (a->it->gap != b->it->gap) return a->it->gap < b->it->gap ? -1 : 1;
    if (a->it->distance != b->it->distance) return a->it->distance < b->it->distance ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

uint32_t *hd_profile_rank(const struct hd_profile *profile, uint32_t *count) {
    *count = 0;
    size_t room = profile->list.size;
    struct ranked *list = hd_alloc(room, sizeof *list);
    uint32_t *order = hd_alloc(room, sizeof *order);
    for (uint32_t i = 0; i < profile->list.size; i++)
        if (profile->list.data[i].pruned == HD_PRUNED_NOT)
            list[(*count)++] = (struct ranked){&profile->list.data[i], i};
    qsort(list, *count, sizeof *list, compare);
    for (uint32_t i = 0; i < *count; i++) order[i] = list[i].number;
    free(list);
    return order;
}

struct hd_profile_counts hd_profile_counts(const struct hd_profile *profile) {
    struct hd_profile_counts counts = {0};
    for (size_t i = 0; i < profile->list.size; i++) {
        const struct hd_interleaving *it = &profile->list.data[i];
        if (it->p == 0) {
            counts.pairs++;
            counts.pairs_exercised += it->exercised;
            continue;
        }
        counts.potential++;
        counts.order += it->pruned == HD_PRUNED_ORDER;
        counts.exclusion += it->pruned == HD_PRUNED_EXCLUSION;
        counts.poly += it->pruned == HD_PRUNED_POLY;
        counts.exercised += it->pruned == HD_PRUNED_NOT && it->exercised;
        counts.left += it->pruned == HD_PRUNED_NOT && !it->exercised;
    }
    return counts;
}
