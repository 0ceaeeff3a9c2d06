/* Names for the text form of a trace: see text_names.h. */
#include "trace/text_names.h"

#include "base/alloc.h"
#include "trace/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_names(const struct hd_trace *trace) { return trace->format != HD_FORMAT_BINARY; }

/* ---- unique names ------------------------------------------------------------------------- */

/* Copies a name without the characters that end a field, and without spaces at its ends. */
static char *cleaned(struct hd_arena *arena, const char *name) {
    size_t length = strlen(name);
    if (length > 4000) length = 4000;
    char *copy = hd_arena_copy(arena, name, length);
    for (char *c = copy; *c != '\0'; c++) {
        if ((unsigned char)*c <= ' ' || *c == '|' || *c == 0x7f) *c = '_';
    }
    return copy;
}

static const char *take_unused(struct hd_text_naming *n, unsigned space, const char *base) {
    const char *name = base;
    for (uint32_t first = HD_NONE;;) {
        uint32_t id = hd_intern(&n->taken[space], name, strlen(name));
        if (id == n->copies[space].size) {
            hd_vector_push(&n->copies[space], 1);
            return n->taken[space].name.data[id];
        }
        if (first == HD_NONE) first = id;
        size_t size = strlen(base) + 16;
        char *next = hd_arena_alloc(&n->arena, size);
        snprintf(next, size, "%s@%u", base, ++n->copies[space].data[first]);
        name = next;
    }
}

/* The name if nothing else has it, otherwise with "@2", "@3", ... `space` 0 is variables, 1
 * objects; `meaning` is what the name is given to: asked again for the same, it is the same name.
 */
static const char *claim(struct hd_text_naming *n, unsigned space, const char *wanted,
                         uint64_t meaning) {
    char *base = cleaned(&n->arena, wanted[0] != '\0' ? wanted : "_");
    size_t length = strlen(base) + 1;
    char *key = hd_arena_alloc(&n->arena, length + sizeof meaning);
    memcpy(key, base, length);
    memcpy(key + length, &meaning, sizeof meaning);
    uint32_t id = hd_intern(&n->claim[space], key, length + sizeof meaning);
    if (id < n->claimed[space].size) return n->claimed[space].data[id];
    const char *name = take_unused(n, space, base);
    hd_vector_push(&n->claimed[space], name);
    return name;
}

/* ---- threads and sites -------------------------------------------------------------------- */

const char *hd_naming_thread(struct hd_text_naming *n, uint32_t thread) {
    if (n->trace->thread_names != NULL) return n->trace->thread_names[thread];
    return n->thread_name[thread];
}

/* A name that no thread has yet and that does not look like a comment; NULL if it is no such. */
static const char *unique_thread(struct hd_text_naming *n, struct hd_intern *unique,
                                 const char *name) {
    char *copy = cleaned(&n->arena, name);
    if (copy[0] == '\0' || copy[0] == '#') return NULL;
    size_t known = unique->name.size;
    hd_intern(unique, copy, strlen(copy));
    return unique->name.size > known ? copy : NULL;
}

static void name_threads(struct hd_text_naming *n) {
    if (n->trace->thread_names != NULL) return;
    struct hd_intern unique = {0};
    n->thread_name = hd_arena_zalloc(&n->arena, n->trace->threads, sizeof *n->thread_name);
    for (uint32_t i = 0; i < n->trace->threads; i++) {
        const char *given =
            n->given->thread != NULL ? n->given->thread(n->given->context, i) : NULL;
        const char *name = given != NULL ? unique_thread(n, &unique, given) : NULL;
        char made_up[32];
        snprintf(made_up, sizeof made_up, "T%u", i);
        if (name == NULL) name = unique_thread(n, &unique, made_up);
        snprintf(made_up, sizeof made_up, "T%u@%u", i, i); /* someone else is called T1 */
        if (name == NULL) name = unique_thread(n, &unique, made_up);
        n->thread_name[i] = name;
    }
    hd_intern_free(&unique);
}

const char *hd_naming_site(struct hd_text_naming *n, uint32_t site) {
    if (has_names(n->trace)) {
        const char *name = site < n->trace->sites ? n->trace->site_names[site] : NULL;
        return name != NULL ? name : "";
    }
    if (site == 0) return "";
    uint32_t *known = hd_map_slot(&n->site, site, HD_NONE);
    if (*known != HD_NONE) return n->site_name.data[*known];
    const char *name = n->given->site != NULL ? n->given->site(n->given->context, site) : NULL;
    char made_up[16];
    snprintf(made_up, sizeof made_up, "%u", site);
    name = cleaned(&n->arena, name != NULL ? name : made_up);
    hd_vector_push(&n->site_name, name);
    *known = (uint32_t)n->site_name.size - 1;
    return name;
}

/* ---- objects ------------------------------------------------------------------------------ */

const char *hd_naming_object(struct hd_text_naming *n, uint32_t event, enum hd_name_class class,
                             uint64_t operand) {
    static const char letter[HD_NAME_CLASSES] = {'m', 'l', 'c', 'b', 's'};
    if (has_names(n->trace)) return n->trace->object_names[operand];
    uint32_t *known = hd_map_slot(&n->object[class], operand, HD_NONE);
    if (*known != HD_NONE) return n->object_name.data[*known];
    uint64_t offset = 0;
    const char *given = n->given->variable != NULL
                            ? n->given->variable(n->given->context, event, operand, &offset)
                            : NULL;
    char text[4200];
    if (given == NULL)
        snprintf(text, sizeof text, "%c%u", letter[class], ++n->made_up[class]);
    else if (offset == 0)
        snprintf(text, sizeof text, "%.4000s", given);
    else
        snprintf(text, sizeof text, "%.4000s+0x%llx", given, (unsigned long long)offset);
    const char *name = claim(n, 1, text, operand << 3 | class);
    hd_vector_push(&n->object_name, name);
    *known = (uint32_t)n->object_name.size - 1;
    return name;
}

/* ---- memory ------------------------------------------------------------------------------- */

static bool needs_explicit(const char *name) {
    uint64_t offset, size;
    bool sized;
    size_t length = strlen(name);
    return hd_text_operand(name, length, &offset, &size, &sized) != length;
}

static void make_pieces(struct hd_text_naming *n) {
    if (has_names(n->trace)) {
        for (uint32_t i = 0; i < n->trace->variables; i++) {
            const char *name = n->trace->variable_names[i];
            struct hd_named_piece piece = {.name = name, .explicit = needs_explicit(name)};
            hd_vector_push(&n->piece, piece);
        }
        return;
    }
    hd_regions_build(&n->regions, n->trace, true);
    size_t regions = n->regions.region.size;
    n->first_piece = hd_alloc(regions, sizeof *n->first_piece);
    for (size_t i = 0; i < regions; i++) n->first_piece[i] = HD_NONE;
}

static const struct hd_named_piece *new_piece(struct hd_text_naming *n, uint32_t event,
                                              uint64_t start, uint64_t bytes) {
    struct hd_named_piece piece = {0};
    const char *given = n->given->variable != NULL
                            ? n->given->variable(n->given->context, event, start, &piece.offset)
                            : NULL;
    char text[4200];
    /* a piece must end within the 16 MB of its name */
    if (given != NULL && piece.offset <= HD_TEXT_SPAN - bytes) {
        snprintf(text, sizeof text, "%.4000s", given);
    } else {
        piece.offset = 0;
        snprintf(text, sizeof text, "m%u", ++n->made_up[HD_NAMED_VARIABLE]);
    }
    piece.name = claim(n, 0, text, start - piece.offset);
    piece.explicit = needs_explicit(piece.name);
    hd_vector_push(&n->piece, piece);
    return &n->piece.data[n->piece.size - 1];
}

const struct hd_named_piece *hd_naming_memory(struct hd_text_naming *n, uint32_t event,
                                              uint64_t address, uint64_t size, uint64_t *start,
                                              uint64_t *left) {
    if (has_names(n->trace)) {
        *start = address & ~(HD_TEXT_SPAN - 1);
        *left = *start + HD_TEXT_SPAN - address;
        return &n->piece.data[address >> HD_TEXT_SHIFT];
    }
    uint32_t number = hd_regions_find(&n->regions, address, size);
    const struct hd_region *region = &n->regions.region.data[number];
    *start = region->start + ((address - region->start) & ~(HD_TEXT_SPAN - 1));
    uint64_t bytes = region->end - *start;
    if (bytes > HD_TEXT_SPAN) bytes = HD_TEXT_SPAN;
    *left = *start + bytes - address;
    uint32_t *known = *start == region->start ? &n->first_piece[number]
                                              : hd_map_slot(&n->piece_at, *start, HD_NONE);
    if (*known != HD_NONE) return &n->piece.data[*known];
    *known = (uint32_t)n->piece.size;
    return new_piece(n, event, *start, bytes);
}

/* ---- life --------------------------------------------------------------------------------- */

void hd_naming_start(struct hd_text_naming *n, const struct hd_trace *trace,
                     const struct hd_text_names *given) {
    memset(n, 0, sizeof *n);
    n->trace = trace;
    n->given = given;
    name_threads(n);
    make_pieces(n);
}

void hd_naming_free(struct hd_text_naming *n) {
    hd_arena_free(&n->arena);
    for (unsigned i = 0; i < 2; i++) {
        hd_intern_free(&n->taken[i]);
        hd_vector_free(&n->copies[i]);
        hd_intern_free(&n->claim[i]);
        hd_vector_free(&n->claimed[i]);
    }
    hd_regions_free(&n->regions);
    hd_map_free(&n->piece_at);
    free(n->first_piece);
    hd_vector_free(&n->piece);
    for (unsigned i = 0; i < HD_NAME_CLASSES; i++) hd_map_free(&n->object[i]);
    hd_vector_free(&n->object_name);
    hd_map_free(&n->site);
    hd_vector_free(&n->site_name);
}
