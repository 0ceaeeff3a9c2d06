/* Sets of three variables and more that are accessed, or written, together: a pattern is cut down
 * to members each two of which imply each other, then counted. */
#include "base/alloc.h"
#include "mine/correlate_work.h"

#include <string.h>

struct finder {
    struct hd_correlate_work *work;
    uint8_t mode;
    struct hd_map implies;  /* pair of variables: both directions hold if 3 */
    bool *has_peer;         /* by variable */
    struct hd_map seen;     /* hash of the members of sets that were looked at */
    HD_VECTOR(uint32_t) in; /* members in hand */
};

static uint64_t pair_key(uint32_t x, uint32_t y) {
    return x < y ? (uint64_t)x << 32 | y : (uint64_t)y << 32 | x;
}

static void learn_pairs(struct finder *finder) {
    const struct hd_correlations *out = finder->work->out;
    for (size_t i = 0; i < out->list.size; i++) {
        const struct hd_correlation *pair = &out->list.data[i];
        if (pair->a1 != finder->mode || pair->a2 != finder->mode) continue;
        *hd_map_slot(&finder->implies, pair_key(pair->x, pair->y), 0) |= pair->x < pair->y ? 1 : 2;
        finder->has_peer[pair->x] = finder->has_peer[pair->y] = true;
    }
}

static bool bound(const struct finder *finder, uint32_t x, uint32_t y) {
    return hd_map_get(&finder->implies, pair_key(x, y), 0) == 3;
}

static void drop(struct finder *finder, size_t index) {
    size_t rest = finder->in.size - index - 1;
    memmove(finder->in.data + index, finder->in.data + index + 1, rest * sizeof *finder->in.data);
    finder->in.size--;
}

/* Drops the member with the fewest peers until each is every other's peer. */
static void cut_to_peers(struct finder *finder) {
    while (finder->in.size >= 3) {
        size_t worst = 0, least = SIZE_MAX;
        for (size_t i = 0; i < finder->in.size; i++) {
            size_t peers = 0;
            for (size_t k = 0; k < finder->in.size; k++)
                peers += i != k && bound(finder, finder->in.data[i], finder->in.data[k]);
            if (peers < least) {
                least = peers;
                worst = i;
            }
        }
        if (least == finder->in.size - 1) return;
        drop(finder, worst);
    }
}

/* What one function has of all pairs: as hd_mine_together. */
static unsigned all_together(const struct finder *finder, uint32_t function) {
    unsigned bits = 255;
    for (size_t i = 0; i < finder->in.size; i++)
        for (size_t k = i + 1; k < finder->in.size && bits != 0; k++) {
            unsigned pair =
                hd_mine_together(finder->work->sets, function, finder->in.data[i],
                                 finder->in.data[k], finder->work->options->max_distance);
            unsigned mask = hd_mine_mask(finder->mode, finder->mode);
            bits &= (pair & mask ? 15u : 0) | (pair >> 4 & mask ? 240u : 0);
        }
    return bits;
}

/* Do the members hold as a set? `*most` becomes the index of the one that is accessed most often.
 */
static bool holds(struct finder *finder, struct hd_correlated_set *set, size_t *most) {
    const struct hd_correlate_work *work = finder->work;
    uint32_t direct = 0;
    *most = 0;
    *set = (struct hd_correlated_set){.mode = finder->mode, .count = (uint32_t)finder->in.size};
    for (size_t i = 0; i < finder->in.size; i++) {
        uint32_t functions = work->functions[finder->in.data[i]][finder->mode];
        if (functions > set->functions) {
            set->functions = functions;
            *most = i;
        }
    }
    uint32_t any = finder->in.data[0];
    for (uint32_t i = work->start[any]; i < work->start[any + 1]; i++) {
        unsigned bits = all_together(finder, work->function[i]);
        set->support += (bits & 15) != 0;
        direct += (bits & 240) != 0;
    }
    return set->support >= work->options->min_support && direct >= work->options->min_direct &&
           set->support >= work->options->min_confidence * set->functions;
}

static bool is_new(struct finder *finder, uint64_t stage) {
    uint64_t hash = hd_mix64(stage + 1) ^ finder->in.size;
    for (size_t i = 0; i < finder->in.size; i++) hash = hd_mix64(hash ^ finder->in.data[i]);
    return (*hd_map_slot(&finder->seen, hash, 0))++ == 0;
}

static void look_at(struct finder *finder, const uint32_t *item, uint32_t count) {
    finder->in.size = 0;
    for (uint32_t i = 0; i < count; i++)
        if (finder->has_peer[item[i]]) hd_vector_push(&finder->in, item[i]);
    if (finder->in.size < 3 || !is_new(finder, 0)) return;
    cut_to_peers(finder);
    struct hd_correlations *out = finder->work->out;
    struct hd_correlated_set set;
    for (size_t most; finder->in.size >= 3 && is_new(finder, 1); drop(finder, most)) {
        if (!holds(finder, &set, &most)) continue;
        set.first = (uint32_t)out->member.size;
        for (size_t i = 0; i < finder->in.size; i++)
            hd_vector_push(&out->member, finder->in.data[i]);
        hd_vector_push(&out->set, set);
        return;
    }
}

static bool contains(const struct hd_correlations *out, const struct hd_correlated_set *large,
                     const struct hd_correlated_set *small) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < large->count && found < small->count; i++)
        found += out->member.data[large->first + i] == out->member.data[small->first + found];
    return found == small->count;
}

/* Keeps the sets of one mode, from index `from` on, that are part of no other. */
static void keep_largest(struct hd_correlations *out, size_t from) {
    size_t kept = from;
    for (size_t i = from; i < out->set.size; i++) {
        bool inside = false;
        for (size_t k = from; k < out->set.size && !inside; k++)
            inside = out->set.data[k].count > out->set.data[i].count &&
                     contains(out, &out->set.data[k], &out->set.data[i]);
        /* a set that goes is inside a larger one, and of those one stays: marks are enough */
        if (inside) out->set.data[i].support = 0;
    }
    for (size_t i = from; i < out->set.size; i++)
        if (out->set.data[i].support > 0) out->set.data[kept++] = out->set.data[i];
    out->set.size = kept;
}

static void find_sets(struct hd_correlate_work *work, uint8_t mode) {
    struct finder finder = {.work = work, .mode = mode};
    size_t before = work->out->set.size;
    finder.has_peer = hd_zalloc((size_t)work->sets->variables + 1, sizeof *finder.has_peer);
    learn_pairs(&finder);
    for (uint32_t s = 0; s < hd_closed_sets_count(&work->patterns); s++) {
        uint32_t first = work->patterns.start.data[s];
        look_at(&finder, work->patterns.item.data + first,
                work->patterns.start.data[s + 1] - first);
    }
    keep_largest(work->out, before);
    free(finder.has_peer);
    hd_map_free(&finder.implies);
    hd_map_free(&finder.seen);
    hd_vector_free(&finder.in);
}

void hd_correlate_sets(struct hd_correlate_work *work) {
    find_sets(work, HD_MINE_WRITE);
    find_sets(work, HD_MINE_ANY);
}
