/* What describe.c and describe_place.c share. */
#ifndef HEDDLE_MODEL_DESCRIBE_PLACE_H
#define HEDDLE_MODEL_DESCRIBE_PLACE_H

#include "base/map.h"
#include "base/vector.h"
#include "model/describe.h"
#include "trace/names.h"
#include "trace/symbols_pool.h"

struct hd_recent_memory {
    const char *text;
    uint64_t size;
    uint32_t location, block;
    uint8_t detail;
};
#define HD_RECENT 8192

struct hd_recent_local {
    const char *text;
    uint64_t size;
    int64_t offset;
    uint32_t site;
    bool inside, used;
};
#define HD_RECENT_LOCALS 1024

/* What was asked about a site and a size: what is allocated there, or what an access goes through
 * (`node` then says whether it writes). */
struct hd_recent_type {
    const struct hd_pointee *type;
    uint64_t bytes, offset;
    uint32_t site, node;
    bool used;
};
#define HD_RECENT_TYPES 1024

/* The frame of an event and its words, one for each pair of site and call stack that needs its own.
 */
struct hd_named_frame {
    struct hd_frame frame;
    const char *site, *function;
};

struct hd_frames {
    const struct hd_frame *frame;
    uint32_t count;
};

struct hd_describe {
    const struct hd_model *model;
    const struct hd_trace *trace;
    struct hd_pool *pool;
    struct hd_symbols *symbols; /* NULL until needed */
    const char **thread_name;
    struct hd_recent_memory recent[HD_RECENT];
    struct hd_recent_local recent_local[HD_RECENT_LOCALS];
    struct hd_recent_type recent_block[HD_RECENT_TYPES], recent_access[HD_RECENT_TYPES];
    struct hd_map stacks; /* site and call tree node -> stack */
    HD_VECTOR(struct hd_frames) stack;
    struct hd_map places; /* site, alone or with a call tree node -> place */
    HD_VECTOR(const struct hd_named_frame *) place;
    struct hd_names *names; /* beside the program; NULL: none, or not looked for yet */
    bool looked_for_names;
    uint64_t *frame_start; /* of each node of the call tree (describe_local.c); NULL: not yet */
    struct hd_map source_names; /* frame, and whether it writes -> source_name */
    HD_VECTOR(struct hd_name) source_name;
};

/* What the source calls the memory that an access of the program is about; NULL if it is not known.
 */
bool hd_describe_has_names(struct hd_describe *describe);
const struct hd_name *hd_describe_source_name(struct hd_describe *describe, uint32_t event);

/* The node of the call tree around a node. */
uint32_t hd_describe_outer(const struct hd_trace *trace, uint32_t node);
/* The local variable that an address on a thread's stack was when an event touched it, or the
 * function that it is of (hd_symbols_local); NULL if neither is known. */
const char *hd_describe_local(struct hd_describe *describe, uint32_t event, uint32_t block,
                              uint64_t address, uint64_t size);
/* The structure that memory of a block is a part of, and where it starts; NULL if that is not
 * certain. `location` may be HD_NONE. */
const struct hd_pointee *hd_describe_structure(struct hd_describe *describe, uint32_t block,
                                               uint32_t location, uint64_t *start);

struct hd_symbols *hd_describe_symbols(struct hd_describe *describe);

#endif
