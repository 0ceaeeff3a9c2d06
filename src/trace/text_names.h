/* Names for the text form of a trace: its own, those a caller gives, or made-up ones; unique, and
 * free of what the format uses itself. */
#ifndef HEDDLE_TRACE_TEXT_NAMES_H
#define HEDDLE_TRACE_TEXT_NAMES_H

#include "base/intern.h"
#include "base/map.h"
#include "trace/convert.h"
#include "trace/regions.h"

/* Kinds of things that are told apart by their names. */
enum hd_name_class {
    HD_NAMED_VARIABLE = 0,
    HD_NAMED_LOCK,
    HD_NAMED_CONDITION,
    HD_NAMED_BARRIER,
    HD_NAMED_SEMAPHORE,
    HD_NAME_CLASSES
};

/* A piece of memory under one name: a region, or 16 MB of a larger one. */
struct hd_named_piece {
    const char *name; /* NULL: not named yet */
    uint64_t offset;  /* of its start from what the name means */
    bool explicit;    /* the name alone would be read as something else */
};

struct hd_text_naming {
    const struct hd_trace *trace;
    const struct hd_text_names *given;
    struct hd_arena arena;
    struct hd_intern taken[2];     /* names of variables, of objects */
    HD_VECTOR(uint32_t) copies[2]; /* how often each of them was wanted */
    struct hd_intern claim[2];     /* wanted name and what for */
    HD_VECTOR(const char *) claimed[2];
    struct hd_regions regions;
    uint32_t *first_piece;  /* per region: index into piece of its first 16 MB, HD_NONE */
    struct hd_map piece_at; /* first byte -> index into piece, of what follows those */
    HD_VECTOR(struct hd_named_piece) piece;
    struct hd_map object[HD_NAME_CLASSES]; /* address -> index into object_name */
    HD_VECTOR(const char *) object_name;
    uint32_t made_up[HD_NAME_CLASSES];
    struct hd_map site; /* -> index into site_name */
    HD_VECTOR(const char *) site_name;
    const char **thread_name;
};

void hd_naming_start(struct hd_text_naming *naming, const struct hd_trace *trace,
                     const struct hd_text_names *given);
void hd_naming_free(struct hd_text_naming *naming);

/* Each NULL when memory is out. */
const char *hd_naming_thread(struct hd_text_naming *naming, uint32_t thread);
const char *hd_naming_site(struct hd_text_naming *naming, uint32_t site); /* "" for none */
const char *hd_naming_object(struct hd_text_naming *naming, uint32_t event,
                             enum hd_name_class class, uint64_t operand);
/* The piece that holds an address, with its first byte and how many bytes from the address on are
 * in it. */
const struct hd_named_piece *hd_naming_memory(struct hd_text_naming *naming, uint32_t event,
                                              uint64_t address, uint64_t size, uint64_t *start,
                                              uint64_t *left);

#endif
