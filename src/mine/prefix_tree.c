/* Prefix trees of sorted lists. Children of a node are a list, except for the root's: those can be
 * as many as there are items, and have a table. */
#include "mine/prefix_tree.h"

static void fill_none(uint32_t *column, uint32_t size) {
    for (uint32_t i = 0; i < size; i++) column[i] = HD_PREFIX_NONE;
}

void hd_prefix_clear(struct hd_prefix_tree *tree, uint32_t items, bool maximum) {
    tree->node.size = tree->first.size = tree->beginning.size = tree->count.size = 0;
    hd_vector_reserve(&tree->first, items);
    hd_vector_reserve(&tree->beginning, items);
    hd_vector_reserve(&tree->count, items);
    tree->first.size = tree->beginning.size = tree->count.size = items;
    fill_none(tree->first.data, items);
    fill_none(tree->beginning.data, items);
    for (uint32_t i = 0; i < items; i++) tree->count.data[i] = 0;
    tree->maximum = maximum;
}

/* A child that was found comes to the front: a few are asked for most of the time. */
static uint32_t find_child(struct hd_prefix_tree *tree, uint32_t parent, uint32_t item) {
    if (parent == HD_PREFIX_NONE) return tree->beginning.data[item];
    struct hd_prefix_node *node = tree->node.data;
    uint32_t first = node[parent].child, child = first, before = HD_PREFIX_NONE;
    while (child != HD_PREFIX_NONE && node[child].item != item) {
        before = child;
        child = node[child].sibling;
    }
    if (child == HD_PREFIX_NONE || before == HD_PREFIX_NONE) return child;
    node[before].sibling = node[child].sibling;
    node[child].sibling = first;
    node[parent].child = child;
    return child;
}

static uint32_t add_child(struct hd_prefix_tree *tree, uint32_t parent, uint32_t item) {
    uint32_t index = (uint32_t)tree->node.size;
    struct hd_prefix_node node = {item,          0, parent, tree->first.data[item], HD_PREFIX_NONE,
                                  HD_PREFIX_NONE};
    tree->first.data[item] = index;
    if (parent == HD_PREFIX_NONE) {
        tree->beginning.data[item] = index;
    } else {
        node.sibling = tree->node.data[parent].child;
        tree->node.data[parent].child = index;
    }
    hd_vector_push(&tree->node, node);
    return index;
}

static void count_in(const struct hd_prefix_tree *tree, uint32_t *total, uint32_t count) {
    if (!tree->maximum)
        *total += count;
    else if (count > *total)
        *total = count;
}

void hd_prefix_insert(struct hd_prefix_tree *tree, const uint32_t *list, uint32_t length,
                      uint32_t count) {
    uint32_t at = HD_PREFIX_NONE;
    for (uint32_t i = 0; i < length; i++) {
        uint32_t child = find_child(tree, at, list[i]);
        if (child == HD_PREFIX_NONE) child = add_child(tree, at, list[i]);
        count_in(tree, &tree->node.data[child].count, count);
        count_in(tree, &tree->count.data[list[i]], count);
        at = child;
    }
}

void hd_prefix_free(struct hd_prefix_tree *tree) {
    hd_vector_free(&tree->node);
    hd_vector_free(&tree->first);
    hd_vector_free(&tree->beginning);
    hd_vector_free(&tree->count);
}
