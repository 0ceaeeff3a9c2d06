/* The control flow graph of one function, made from its statement tree. */
#ifndef HEDDLE_SOURCE_CFG_H
#define HEDDLE_SOURCE_CFG_H

#include "source/source.h"

enum hd_edge_kind {
    HD_EDGE_NEXT,
    HD_EDGE_TRUE,
    HD_EDGE_FALSE,
    HD_EDGE_CASE, /* from a switch to a case or default, or past it */
    HD_EDGE_JUMP  /* goto, break, continue, return, a call that does not return */
};

struct hd_cfg_edge {
    uint32_t from, to;
    uint8_t kind; /* enum hd_edge_kind */
};

/* Steps that are executed one after the other. An expression with nested nodes is several blocks.
 */
struct hd_cfg_block {
    uint32_t node;                /* the statement or EXPRESSION; NONE for entry and exit */
    struct hd_source_range steps; /* of the program's steps; may be empty */
    struct hd_source_range out;   /* of `edge` */
    struct hd_source_range in;    /* of `incoming` */
    bool reachable;               /* from the entry */
};

#define HD_CFG_ENTRY 0
#define HD_CFG_EXIT 1

struct hd_cfg {
    uint32_t function;
    uint32_t blocks, edges;
    struct hd_cfg_block *block; /* 0 is the entry, 1 the exit */
    struct hd_cfg_edge *edge;   /* sorted by `from` */
    uint32_t *incoming;         /* edges, sorted by `to` */
    uint32_t first_step;
    uint32_t *block_of; /* by step - first_step */
};

/* Of a function with a body. */
void hd_cfg_build(const struct hd_source *source, uint32_t function, struct hd_cfg *cfg);
void hd_cfg_free(struct hd_cfg *cfg);

#endif
