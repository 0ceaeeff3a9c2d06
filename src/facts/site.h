/* Sites: places in the code at which events happen, and what makes two of them the same.
 *
 * Within a run, by the trace: the number it gives to a site (hd_site_number).
 * Over runs, by the code: the module's file name and the offset in it, wherever the module was
 * loaded and in whichever order (hd_site_code); a text trace's own word. Such sites can be numbered
 * over all runs of a program, with words for them (struct hd_sites).
 * Over runs and builds, by the source: function, file, line and column (hd_site_source). A compiler
 * may have made several places in the code of one in the source. */
#ifndef HEDDLE_FACTS_SITE_H
#define HEDDLE_FACTS_SITE_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vector.h"
#include "model/describe.h"

/* ---- within a run ----------------------------------------------------------------------------
 */

/* The number of an event's site; numbers count from 0 as sites come up. An event without a site is
 * told by its location and whether it writes (a text trace need not name sites). */
uint32_t hd_site_number(const struct hd_model *model, struct hd_map *number, uint32_t event,
                        uint32_t location);

/* ---- over runs -------------------------------------------------------------------------------
 */

/* A site by the code; 0 if it has no name. */
uint64_t hd_site_code(const struct hd_trace *trace, uint32_t site);
/* An event's site by the source, and what the event does there, in words on one line: "log.c:57:9
 * append w"; "libfoo.so+0x1234 r" without debug information; a text trace's own word, or the
 * variable if it has none. */
#define HD_SITE_WORDS 1024
void hd_site_words(struct hd_describe *describe, const struct hd_model *model, uint32_t event,
                   char words[HD_SITE_WORDS]);
/* The same as a number. */
uint64_t hd_site_source(struct hd_describe *describe, const struct hd_model *model, uint32_t event);

struct hd_site {
    const char *module;   /* file name without directory */
    uint64_t offset;      /* of the site in the module's code */
    const char *where;    /* "log.c:57"; "" if not known yet */
    const char *function; /* "" if unknown */
};

/* Sites by the code, numbered from 1 over all runs; 0 is no site. Zeroed: empty. */
struct hd_sites {
    HD_VECTOR(struct hd_site) list;
    struct hd_map number;
    struct hd_arena arena;
};

/* The site with this module and offset. */
uint32_t hd_site_make(struct hd_sites *sites, const char *module, uint64_t offset,
                      const char *where, const char *function);
/* A site of a trace, without words; 0 if it is in no module. */
uint32_t hd_site_of_trace(struct hd_sites *sites, const struct hd_trace *trace, uint32_t site);
/* The site of an event, with words; 0 if it has none. */
uint32_t hd_site_of_event(struct hd_sites *sites, const struct hd_model *model,
                          struct hd_describe *describe, uint32_t event);
const struct hd_site *hd_site(const struct hd_sites *sites, uint32_t number);
void hd_sites_free(struct hd_sites *sites);

#endif
