/* A prefix tree of sorted lists of small numbers, as FPclose uses two of: one adds the counts of
 * the lists that share a prefix (the FP-tree), one keeps their maximum (the CFI-tree). Nodes are
 * one array; a cleared tree keeps it. */
#ifndef HEDDLE_MINE_PREFIX_TREE_H
#define HEDDLE_MINE_PREFIX_TREE_H

#include "base/vector.h"

#include <stdbool.h>
#include <stdint.h>

#define HD_PREFIX_NONE UINT32_MAX

struct hd_prefix_node {
    uint32_t item, count;
    uint32_t parent;         /* HD_PREFIX_NONE: the list begins here */
    uint32_t next;           /* of the same item */
    uint32_t child, sibling; /* HD_PREFIX_NONE: none */
};

/* A zeroed tree is an empty one, once hd_prefix_clear gave it items. */
struct hd_prefix_tree {
    HD_VECTOR(struct hd_prefix_node) node;
    HD_VECTOR(uint32_t) first;     /* by item: its first node */
    HD_VECTOR(uint32_t) beginning; /* by item: the node of a list that begins with it */
    HD_VECTOR(uint32_t) count;     /* by item: the sum, or the maximum, over its nodes */
    bool maximum;
};

/* Empties the tree; its lists will be of numbers below `items`. */
void hd_prefix_clear(struct hd_prefix_tree *tree, uint32_t items, bool maximum);
void hd_prefix_insert(struct hd_prefix_tree *tree, const uint32_t *list, uint32_t length,
                      uint32_t count);
void hd_prefix_free(struct hd_prefix_tree *tree);

#endif
