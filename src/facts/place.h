/* Places in the code that mean the same in every run of a program: a module and an offset in it,
 * with the words for them. Numbered, over all runs of a campaign. */
#ifndef HEDDLE_FACTS_PLACE_H
#define HEDDLE_FACTS_PLACE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vector.h"
#include "model/describe.h"

struct hd_place {
    const char *module;   /* file name without directory */
    uint64_t offset;      /* of the site in the module's code */
    const char *where;    /* "log.c:57" */
    const char *function; /* "" if unknown */
};

/* Zeroed: empty. Place 0 is no place. */
struct hd_places {
    HD_VECTOR(struct hd_place) list;
    struct hd_map number;
    struct hd_arena arena;
};

/* The place with this module and offset; 0 when memory is out. */
uint32_t hd_place_make(struct hd_places *places, const char *module, uint64_t offset,
                       const char *where, const char *function);
/* The place of a wire site of a trace; 0 if it is in no module. `where` may be "". */
uint32_t hd_place_of_site(struct hd_places *places, const struct hd_trace *trace, uint32_t site,
                          const char *where, const char *function);
/* The place of an event; 0 if it has none. */
uint32_t hd_place_of_event(struct hd_places *places, const struct hd_model *model,
                           struct hd_describe *describe, uint32_t event);
const struct hd_place *hd_place(const struct hd_places *places, uint32_t number);
void hd_places_free(struct hd_places *places);

#endif
