/* FPclose. The items of a tree are ranks: 0 is the most frequent one. A level of the recursion has
 * a head (the set that its transactions all contain), the FP-tree of those transactions and the
 * CFI-tree of the closed sets found so far that contain the head, both without the head's items.
 * Levels keep their arrays for the next time they are used. */
#include "mine/closed.h"

#include "base/alloc.h"
#include "mine/numbers.h"
#include "mine/prefix_tree.h"

#include <assert.h>
#include <stdlib.h>

struct level {
    struct hd_prefix_tree transactions, found;
    HD_VECTOR(uint32_t) up;    /* by rank: the rank of the same item a level above */
    HD_VECTOR(uint32_t) down;  /* by rank: the rank a level below, or HD_PREFIX_NONE */
    HD_VECTOR(uint32_t) count; /* by rank: transactions with it that contain the item in hand */
    HD_VECTOR(uint32_t) head;  /* what the level below has in its head and this one has not */
};

struct miner {
    uint32_t min_support, most_sets;
    HD_VECTOR(struct level *) level; /* pointers: a level grows the list while others are in use */
    HD_VECTOR(uint32_t) item_of;     /* by rank of level 0 */
    HD_VECTOR(uint32_t) list;        /* a list to insert, turned round */
    HD_VECTOR(uint32_t) set;         /* a set to store, in ranks of the level at hand */
    struct hd_closed_sets *out;
};

static struct level *level_at(struct miner *miner, uint32_t depth) {
    while (miner->level.size <= depth) {
        struct level *level = hd_zalloc(1, sizeof *level);
        hd_vector_push(&miner->level, level);
    }
    return miner->level.data[depth];
}

/* ---- the first tree ---------------------------------------------------------------------------
 */

static int compare_by_count(const void *left, const void *right) {
    const uint32_t *a = left, *b = right; /* count, item */
    if (a[0] != b[0]) return a[0] > b[0] ? -1 : 1;
    return a[1] < b[1] ? -1 : a[1] > b[1];
}

/* Fills item_of; returns the rank of each item, HD_PREFIX_NONE for those that are not frequent. */
static uint32_t *rank_items(struct miner *miner, const struct hd_transactions *from) {
    uint32_t(*order)[2] = hd_zalloc((size_t)from->items + 1, sizeof *order);
    uint32_t *rank = hd_zalloc((size_t)from->items + 1, sizeof *rank);
    for (uint32_t i = 0; i < from->items; i++) order[i][1] = i;
    for (uint32_t i = 0; i < from->start[from->count]; i++) order[from->item[i]][0]++;
    qsort(order, from->items, sizeof *order, compare_by_count);
    for (uint32_t i = 0; i < from->items; i++) {
        bool frequent = order[i][0] >= miner->min_support;
        rank[order[i][1]] = frequent ? (uint32_t)miner->item_of.size : HD_PREFIX_NONE;
        if (frequent) hd_vector_push(&miner->item_of, order[i][1]);
    }
    free(order);
    return rank;
}

static void plant(struct miner *miner, const struct hd_transactions *from) {
    uint32_t *rank = rank_items(miner, from);
    struct level *level = level_at(miner, 0);
    hd_prefix_clear(&level->transactions, (uint32_t)miner->item_of.size, false);
    hd_prefix_clear(&level->found, (uint32_t)miner->item_of.size, true);
    for (uint32_t t = 0; t < from->count; t++) {
        miner->list.size = 0;
        for (uint32_t i = from->start[t]; i < from->start[t + 1]; i++)
            if (rank[from->item[i]] != HD_PREFIX_NONE)
                hd_vector_push(&miner->list, rank[from->item[i]]);
        hd_sort_numbers(miner->list.data, miner->list.size);
        hd_prefix_insert(&level->transactions, miner->list.data, (uint32_t)miner->list.size, 1);
    }
    free(rank);
}

/* ---- conditional trees ------------------------------------------------------------------------
 */

/* How often each item above `rank` occurs together with it. */
static void count_above(struct level *level, uint32_t rank) {
    const struct hd_prefix_node *node = level->transactions.node.data;
    level->count.size = 0;
    hd_vector_reserve(&level->count, rank);
    level->count.size = rank;
    for (uint32_t i = 0; i < rank; i++) level->count.data[i] = 0;
    for (uint32_t n = level->transactions.first.data[rank]; n != HD_PREFIX_NONE; n = node[n].next)
        for (uint32_t up = node[n].parent; up != HD_PREFIX_NONE; up = node[up].parent)
            level->count.data[node[up].item] += node[n].count;
}

/* Items that are always there join the head, frequent ones get a rank in the level below. */
static void divide(const struct miner *miner, struct level *level, struct level *below,
                   uint32_t rank) {
    uint32_t support = level->transactions.count.data[rank];
    level->head.size = level->down.size = below->up.size = 0;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t count = level->count.data[i], down = HD_PREFIX_NONE;
        if (count == support) {
            hd_vector_push(&level->head, i);
        } else if (count >= miner->min_support) {
            down = (uint32_t)below->up.size;
            hd_vector_push(&below->up, i);
        }
        hd_vector_push(&level->down, down);
    }
    hd_vector_push(&level->head, rank);
}

/* The lists of a tree that contain `rank`, without it and what is not in the level below. */
static void project(struct miner *miner, const struct level *level,
                    const struct hd_prefix_tree *from, uint32_t rank, struct hd_prefix_tree *to) {
    const struct hd_prefix_node *node = from->node.data;
    for (uint32_t n = from->first.data[rank]; n != HD_PREFIX_NONE; n = node[n].next) {
        miner->list.size = 0;
        for (uint32_t up = node[n].parent; up != HD_PREFIX_NONE; up = node[up].parent)
            if (level->down.data[node[up].item] != HD_PREFIX_NONE)
                hd_vector_push(&miner->list, level->down.data[node[up].item]);
        uint32_t length = (uint32_t)miner->list.size;
        for (uint32_t i = 0; i < length / 2; i++) {
            uint32_t other = miner->list.data[i];
            miner->list.data[i] = miner->list.data[length - 1 - i];
            miner->list.data[length - 1 - i] = other;
        }
        hd_prefix_insert(to, miner->list.data, length, node[n].count);
    }
}

/* ---- sets found -------------------------------------------------------------------------------
 */

/* Stores the head of the level below `depth` as a set, in the CFI-trees of all levels too. */
static void store(struct miner *miner, uint32_t depth, uint32_t support) {
    miner->set.size = 0;
    for (uint32_t d = depth + 1; d-- > 0;) {
        struct level *level = miner->level.data[d];
        if (d < depth)
            for (size_t i = 0; i < miner->set.size; i++)
                miner->set.data[i] = miner->level.data[d + 1]->up.data[miner->set.data[i]];
        for (size_t i = 0; i < level->head.size; i++)
            hd_vector_push(&miner->set, level->head.data[i]);
        hd_sort_numbers(miner->set.data, miner->set.size);
        hd_prefix_insert(&level->found, miner->set.data, (uint32_t)miner->set.size, support);
    }
    struct hd_closed_sets *out = miner->out;
    for (size_t i = 0; i < miner->set.size; i++)
        hd_vector_push(&out->item, miner->item_of.data[miner->set.data[i]]);
    hd_sort_numbers(out->item.data + out->start.data[out->start.size - 1], miner->set.size);
    hd_vector_push(&out->start, (uint32_t)out->item.size);
    hd_vector_push(&out->support, support);
}

/* The search below a level. Items are taken from the least frequent one up, so that a set which
 * contains an item that comes later in a list was found before: if one with the head, this item
 * and the same support was, then that is the closure of the two, and nothing below is new. */
static void mine(struct miner *miner, uint32_t depth) {
    struct level *level = level_at(miner, depth), *below = level_at(miner, depth + 1);
    for (uint32_t rank = (uint32_t)level->transactions.count.size; rank-- > 0;) {
        uint32_t support = level->transactions.count.data[rank];
        assert(support >= level->found.count.data[rank]);
        if (support == level->found.count.data[rank]) continue;
        if (hd_closed_sets_count(miner->out) >= miner->most_sets) {
            miner->out->cut_short = true;
            return;
        }
        count_above(level, rank);
        divide(miner, level, below, rank);
        store(miner, depth, support);
        if (below->up.size == 0) continue;
        hd_prefix_clear(&below->transactions, (uint32_t)below->up.size, false);
        hd_prefix_clear(&below->found, (uint32_t)below->up.size, true);
        project(miner, level, &level->transactions, rank, &below->transactions);
        project(miner, level, &level->found, rank, &below->found);
        mine(miner, depth + 1);
    }
}

void hd_closed_mine(const struct hd_transactions *transactions, uint32_t min_support,
                    uint32_t most_sets, struct hd_closed_sets *sets) {
    struct miner miner = {
        .min_support = min_support > 0 ? min_support : 1, .most_sets = most_sets, .out = sets};
    *sets = (struct hd_closed_sets){.cut_short = false};
    hd_vector_push(&sets->start, 0);
    plant(&miner, transactions);
    mine(&miner, 0);
    for (size_t i = 0; i < miner.level.size; i++) {
        struct level *level = miner.level.data[i];
        hd_prefix_free(&level->transactions);
        hd_prefix_free(&level->found);
        hd_vector_free(&level->up);
        hd_vector_free(&level->down);
        hd_vector_free(&level->count);
        hd_vector_free(&level->head);
        free(level);
    }
    hd_vector_free(&miner.level);
    hd_vector_free(&miner.item_of);
    hd_vector_free(&miner.list);
    hd_vector_free(&miner.set);
}

void hd_closed_sets_free(struct hd_closed_sets *sets) {
    hd_vector_free(&sets->item);
    hd_vector_free(&sets->start);
    hd_vector_free(&sets->support);
}
