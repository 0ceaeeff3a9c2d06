/* What the passes of hd_model_build share, and what a finished model keeps behind hd_model.memory.
 * Private to src/model/. */
#ifndef HEDDLE_MODEL_BUILD_H
#define HEDDLE_MODEL_BUILD_H

#include "base/vector.h"
#include "model/model.h"
#include "model/rules.h"

/* Distinct accesses (start, size, life of memory) get a number before locations are known: a cell.
 * Two cells may stand for the same bytes of the same life; that only costs room. Locks and other
 * synchronisation objects are cells without bytes. */
struct hd_cell {
    uint64_t address;
    uint64_t size : 48;
    uint64_t tag : 16; /* enum hd_cell_tag */
    uint32_t born;     /* blocks that had begun before its first event: tells its life */
};
enum hd_cell_tag {
    HD_CELL_MEMORY = 0,
    HD_CELL_LOCK,
    HD_CELL_OBJECT /* plus enum hd_object_type */
};

/* Where a cell ended up: at `count` consecutive locations, most often one. HD_SCATTERED: over
 * several lives, and `first` is an index into hd_build.scattered. Cells of locks and objects: their
 * number. */
struct hd_spot {
    uint32_t first, count;
};
#define HD_SCATTERED UINT32_MAX
#define HD_LOCATION_LIMIT (UINT32_MAX / 2)

/* An event (or cell) with a list of its own in a side table. */
struct hd_list {
    uint32_t owner, start, count;
};

struct hd_model_memory {
    struct hd_trace trace;
    uint64_t *operand; /* the trace's column; object and from live in its memory */
    uint32_t *object, *from;
    uint32_t *thread_start, *thread_event, *event_section;
    uint32_t *location_start, *location_event, *block_start, *lock_start, *lock_section;
    struct hd_location *location;
    struct hd_block *block;
    struct hd_lock *lock;
    struct hd_object *sync_object;
    struct hd_section *section;
    struct hd_edge *edge;
    uint32_t *edge_by_source;   /* edges in order of `from` */
    uint64_t *has_in, *has_out; /* bit per event: has edges */
    uint64_t *span;             /* bit per event: touches not just one location */
    uint32_t *number;           /* 0, 1, 2, ...: lists of consecutive numbers point into it */
    /* accesses over several lives, and reads over several writes, by event */
    uint32_t scattered, several;
    struct hd_list *scattered_list, *several_list;
    uint32_t *scattered_location, *several_write;
    size_t scattered_locations, several_writes;
    /* threads <= 64: events of each thread before each 1 << rank_shift events; else NULL */
    uint32_t *rank;
    unsigned rank_shift;
    /* the trace's column made half as wide, and the counts that do not fit */
    uint16_t *calls;
    uint32_t many_calls;
    struct hd_many_calls {
        uint32_t event, calls;
    } * many_calls_list;
    char *warning[HD_RULES * (HD_RULE_LINES + 1)];
};

struct hd_build {
    struct hd_trace *trace;
    struct hd_model *model;
    struct hd_model_memory *memory;
    struct hd_error *error;
    bool lenient;
    uint32_t broken[HD_RULES];
    HD_VECTOR(struct hd_cell) cell;
    HD_VECTOR(struct hd_block) block;
    HD_VECTOR(struct hd_list)
    range_free; /* FREE events that free no known block: owner, cell in start */
    struct hd_spot *cell_place;
    HD_VECTOR(struct hd_list) scattered; /* cells over several lives */
    HD_VECTOR(uint32_t) scattered_location;
    HD_VECTOR(struct hd_edge) atomic_edge; /* in order of `to` */
};

static inline bool hd_bit(const uint64_t *word, uint32_t bit) {
    return (word[bit / 64] >> bit % 64 & 1) != 0;
}
static inline void hd_bit_set(uint64_t *word, uint32_t bit) {
    word[bit / 64] |= (uint64_t)1 << bit % 64;
}
static inline size_t hd_bit_words(uint32_t bits) { return bits / 64 + 1; }

/* Bytes an access or atomic touches, given its EXT value (0 if none). */
static inline uint64_t hd_access_size(uint8_t kind, uint8_t flags, uint64_t extra) {
    if (kind == HD_EV_READ || kind == HD_EV_WRITE) return flags != 0 ? flags : extra;
    return (uint64_t)1 << (flags & 0xf);
}

/* The passes, in their order. Each fills its part of memory and model; false: the trace is not
 * well-formed or too large, and the error says so. */
bool hd_pass_threads(struct hd_build *build); /* threads.c: kinds and threads are valid; indices */
bool hd_pass_cells(struct hd_build *build);   /* cells.c: object = cell, blocks */
bool hd_pass_locations(struct hd_build *build); /* locations.c: cell_place, locations */
void hd_pass_objects(struct hd_build *build, const uint32_t *cell_life); /* objects.c */
bool hd_pass_reads(struct hd_build *build);    /* reads.c: object, from, location lists */
bool hd_pass_sections(struct hd_build *build); /* sections.c */
bool hd_pass_order(struct hd_build *build);    /* order.c: edges */

#endif
