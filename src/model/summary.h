/* A model in figures: how many of what, and the locks, shared locations and threads most in use.
 * Kinds and threads count what was recorded, whatever of it was loaded; all else counts what is in
 * the model. */
#ifndef HEDDLE_MODEL_SUMMARY_H
#define HEDDLE_MODEL_SUMMARY_H

#include "model/model.h"

#define HD_EDGE_TYPES (HD_EDGE_ATOMIC + 1)

struct hd_lock_summary {
    uint32_t lock;
    uint32_t sections, read_sections; /* all, and those in read mode */
    uint32_t threads;                 /* that had it */
    uint32_t handovers;               /* sections whose predecessor was another thread's */
    uint32_t failed;                  /* tries that found it taken */
    uint32_t longest; /* section, in events of its thread, acquire and release too */
    bool held_at_end;
};

struct hd_location_use {
    uint32_t location;
    uint32_t accesses, reads, writes; /* updates are both */
    uint32_t threads;
};

struct hd_thread_use {
    uint32_t thread;
    uint64_t events;
    uint64_t calls; /* hook calls, elided ones included */
};

struct hd_summary {
    uint64_t kinds[HD_EV_KINDS];
    uint64_t elided; /* hook calls that are no event of the model */
    uint32_t shared_locations;
    uint32_t sites, stacks; /* that events have */
    uint32_t block_types[HD_BLOCK_TYPES], freed_blocks;
    uint32_t edge_types[HD_EDGE_TYPES];
    uint32_t deepest_nesting; /* sections of one thread open at once */
    uint32_t open_sections;   /* at the end */
    /* the most used, most used first */
    uint32_t lock_uses, location_uses, thread_uses;
    struct hd_lock_summary *lock_use;
    struct hd_location_use *location_use; /* shared ones only */
    struct hd_thread_use *thread_use;
};

/* `top`: the length of the lists. */
void hd_summary_build(const struct hd_model *model, uint32_t top, struct hd_summary *summary);
void hd_summary_free(struct hd_summary *summary);

const char *hd_edge_type_name(enum hd_edge_type type);   /* "fork" */
const char *hd_block_type_name(enum hd_block_type type); /* "heap" */

#endif
