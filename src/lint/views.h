/* Views: which shared variables each atomic block reads and writes, with all that it calls
 * (Definition 5). And the threads ("processes" in the paper) with the blocks that each may run. */
#ifndef HEDDLE_LINT_VIEWS_H
#define HEDDLE_LINT_VIEWS_H

#include "lint/blocks.h"
#include "lint/calls.h"
#include "lint/options.h"
#include "lint/shared.h"

typedef HD_VECTOR(uint32_t) hd_number_list;

struct hd_block_view {
    hd_number_list read, write; /* shared variables, ascending */
    struct hd_bitset inside;    /* functions that the block calls, directly or not */
};

struct hd_thread {
    uint32_t entry;  /* function; NONE: any visible function */
    uint32_t create; /* step of the creation; NONE for main and for libraries */
    bool many;       /* there may be two of it at once */
    struct hd_bitset functions, blocks;
};

struct hd_views {
    HD_VECTOR(struct hd_block_view) of; /* by block */
    HD_VECTOR(struct hd_thread) thread;
    bool library; /* there are no threads to be seen: every visible function runs in any */
};

void hd_views_build(const struct hd_source *source, const struct hd_calls *calls,
                    const struct hd_shared *shared, struct hd_blocks *blocks,
                    const struct hd_lint_options *options, struct hd_views *views);
void hd_views_free(struct hd_views *views);

/* Sets, as ascending lists. */
bool hd_list_has(const hd_number_list *list, uint32_t number);
void hd_list_intersect(const hd_number_list *one, const hd_number_list *other,
                       hd_number_list *result);
bool hd_list_is_subset(const hd_number_list *one, const hd_number_list *other);

/* Whether the step may run in the block: in its own function, or in one that it calls. */
bool hd_view_has_step(const struct hd_blocks *blocks, const struct hd_views *views, uint32_t block,
                      uint32_t function, uint32_t step);
/* The first step of the block that accesses the variable in this mode (enum hd_source_mode), its
 * own function first; NONE. */
uint32_t hd_view_step(const struct hd_source *source, const struct hd_shared *shared,
                      const struct hd_blocks *blocks, const struct hd_views *views, uint32_t block,
                      uint32_t variable, uint8_t mode);

bool hd_thread_runs(const struct hd_views *views, uint32_t thread, uint32_t block);

#endif
