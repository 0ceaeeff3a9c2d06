/* Writes RapidBin traces: see convert.h, and rapidbin_read.c for the layout. Numbers that the names
 * of a trace give (V12, L3, T0, site 17) are kept, so that a trace that came from RapidBin goes
 * back as it was; other names are numbered as they come. */
#include "base/map.h"
#include "trace/convert.h"
#include "trace/output.h"
#include "trace/rapidbin_word.h"
#include "trace/regions.h"

#include <stdlib.h>
#include <string.h>

/* Numbers for one kind of thing. */
struct numbering {
    const char *what;
    uint64_t limit;
    bool by_name;      /* every name is prefix + number */
    struct hd_map map; /* key -> number, if not */
    uint32_t count;    /* numbers in use: one above the highest */
};

struct writer {
    const struct hd_trace *trace;
    struct hd_output out;
    struct hd_error *error;
    struct hd_regions regions;
    struct numbering threads, locks, variables, sites;
};

/* ---- numbers ------------------------------------------------------------------------------ */

/* The number in `prefix` + decimal number without leading zeros; UINT64_MAX if it is none. No name,
 * as of an unknown site, is number 0. */
static uint64_t number_in(const char *name, const char *prefix) {
    size_t skip = strlen(prefix);
    if (name == NULL) return 0;
    if (strncmp(name, prefix, skip) != 0) return UINT64_MAX;
    name += skip;
    if (name[0] == '\0' || (name[0] == '0' && name[1] != '\0')) return UINT64_MAX;
    uint64_t number = 0;
    for (; *name != '\0'; name++) {
        if (*name < '0' || *name > '9' || number > UINT32_MAX) return UINT64_MAX;
        number = number * 10 + (uint64_t)(*name - '0');
    }
    return number;
}

static bool all_numbered(char *const *names, uint32_t count, const char *prefix, uint64_t limit) {
    if (names == NULL) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (number_in(names[i], prefix) >= limit) return false;
    }
    return true;
}

/* The number of a thing by its name, or by its key if things of its kind are not numbered by name.
 */
static bool number_of(struct writer *w, struct numbering *numbering, const char *name,
                      const char *prefix, uint64_t key, uint64_t *number) {
    if (numbering->by_name) {
        *number = number_in(name, prefix);
    } else {
        *number = *hd_map_slot(&numbering->map, key, numbering->map.count);
    }
    if (*number >= numbering->limit)
        return hd_fail(w->error, HD_ERR_LIMIT,
                       "%s: RapidBin has room for %llu %s, the trace has more", w->out.path,
                       (unsigned long long)numbering->limit, numbering->what);
    if (*number >= numbering->count) numbering->count = (uint32_t)*number + 1;
    return true;
}

static bool thread_number(struct writer *w, uint64_t thread, uint64_t *number) {
    const char *name = w->trace->thread_names != NULL ? w->trace->thread_names[thread] : NULL;
    return number_of(w, &w->threads, name, "T", thread, number);
}

/* ---- events ------------------------------------------------------------------------------- */

static bool decor_of(struct writer *w, uint32_t event, uint64_t *decor) {
    const struct hd_trace *trace = w->trace;
    uint64_t operand = trace->operand[event];
    const char *name = NULL;
    *decor = 0;
    switch (hd_kind_class(trace->kind[event])) {
    case HD_CLASS_ACCESS:
        if (w->variables.by_name)
            name = trace->variable_names[operand >> HD_TEXT_SHIFT];
        else
            operand = hd_regions_find(&w->regions, operand, hd_trace_size(trace, event));
        return number_of(w, &w->variables, name, "V", operand, decor);
    case HD_CLASS_LOCK:
        if (w->locks.by_name) name = trace->object_names[operand];
        return number_of(w, &w->locks, name, "L", operand, decor);
    case HD_CLASS_THREAD:
        if (trace->kind[event] == HD_EV_BEGIN || trace->kind[event] == HD_EV_END) return true;
        return thread_number(w, operand, decor);
    default:
        return true;
    }
}

static int operation_of(unsigned kind) {
    for (int op = 0; op < RAPIDBIN_OPS; op++) {
        if (hd_rapidbin_kind[op] == kind) return op;
    }
    return -1;
}

static bool event_word(struct writer *w, uint32_t event, int op, uint64_t *word) {
    uint64_t thread = 0, decor = 0, site = 0;
    uint32_t number = w->trace->site[event];
    const char *site_name = w->sites.by_name ? w->trace->site_names[number] : NULL;
    if (!thread_number(w, w->trace->thread[event], &thread) || !decor_of(w, event, &decor) ||
        !number_of(w, &w->sites, site_name, "", number, &site))
        return false;
    *word = thread | (uint64_t)op << RAPIDBIN_OP_SHIFT | decor << RAPIDBIN_DECOR_SHIFT |
            site << RAPIDBIN_SITE_SHIFT;
    return true;
}

static void put_big_endian(struct writer *w, uint64_t value, unsigned bytes) {
    while (bytes-- > 0) hd_output_char(&w->out, (char)(value >> 8 * bytes));
}

/* The words are made twice: the header, which comes first, wants counts. */
static bool write_words(struct writer *w, bool for_real, uint64_t *written, uint64_t *left_out) {
    *written = *left_out = 0;
    for (uint32_t e = 0; e < w->trace->events; e++) {
        uint64_t word;
        int op = operation_of(w->trace->kind[e]);
        if (op < 0) {
            ++*left_out;
            continue;
        }
        if (!event_word(w, e, op, &word)) return false;
        if (for_real) put_big_endian(w, word, 8);
        ++*written;
    }
    return true;
}

/* A region is a variable of its own only if no variable has two regions. */
static bool one_region_each(const struct hd_regions *regions) {
    for (size_t i = 1; i < regions->region.size; i++) {
        if (regions->region.data[i].start >> HD_TEXT_SHIFT ==
            regions->region.data[i - 1].start >> HD_TEXT_SHIFT)
            return false;
    }
    return true;
}

bool hd_rapidbin_write(const struct hd_trace *trace, int fd, const char *path, uint64_t *left_out,
                       struct hd_error *error) {
    struct writer w = {.trace = trace,
                       .error = error,
                       .threads = {.what = "threads", .limit = RAPIDBIN_THREAD_MASK + 1},
                       .locks = {.what = "locks", .limit = INT32_MAX},
                       .variables = {.what = "variables", .limit = INT32_MAX},
                       .sites = {.what = "sites", .limit = RAPIDBIN_SITE_MASK + 1}};
    hd_regions_build(&w.regions, trace, false);
    bool named = trace->format != HD_FORMAT_BINARY;
    w.threads.by_name =
        named && all_numbered(trace->thread_names, trace->threads, "T", w.threads.limit);
    w.locks.by_name =
        named && all_numbered(trace->object_names, trace->objects, "L", w.locks.limit);
    w.variables.by_name =
        named && one_region_each(&w.regions) &&
        all_numbered(trace->variable_names, trace->variables, "V", w.variables.limit);
    w.sites.by_name = named && all_numbered(trace->site_names, trace->sites, "", w.sites.limit);
    uint64_t written;
    hd_output_open(&w.out, fd, path, error);
    bool good = write_words(&w, false, &written, left_out);
    if (good) {
        put_big_endian(&w, w.threads.count, 2);
        put_big_endian(&w, w.locks.count, 4);
        put_big_endian(&w, w.variables.count, 4);
        put_big_endian(&w, written, 8);
        good = write_words(&w, true, &written, left_out);
    }
    if (!hd_output_close(&w.out)) good = false;
    hd_regions_free(&w.regions);
    hd_map_free(&w.threads.map);
    hd_map_free(&w.locks.map);
    hd_map_free(&w.variables.map);
    hd_map_free(&w.sites.map);
    return good;
}
