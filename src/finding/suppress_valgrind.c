/* See suppress.h: suppressions of Helgrind and DRD, as far as heddle reports the same. */
#include "finding/suppress.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- reading -------------------------------------------------------------------------------- */

struct block {
    struct hd_suppressions *suppressions;
    const char *name; /* of the file */
    const char *at, *end;
    uint32_t line; /* of what was read last */
    uint32_t first;
};

/* The next line that is not empty and no comment, without blanks around it; false at the end. */
static bool next_line(struct block *block, const char **from, const char **to) {
    while (block->at < block->end) {
        const char *stop = memchr(block->at, '\n', (size_t)(block->end - block->at));
        *from = block->at;
        *to = stop != NULL ? stop : block->end;
        block->at = stop != NULL ? stop + 1 : block->end;
        block->line++;
        while (*from < *to && isspace((unsigned char)**from)) ++*from;
        while (*to > *from && isspace((unsigned char)(*to)[-1])) --*to;
        if (*from < *to && **from != '#') return true;
    }
    return false;
}

static const char *copy(struct block *block, const char *from, const char *to) {
    return hd_arena_copy(&block->suppressions->arena, from, (size_t)(to - from));
}

static bool names_tool(const char *tools, size_t length, const char *tool) {
    size_t wanted = strlen(tool);
    while (length > 0) {
        const char *comma = memchr(tools, ',', length);
        size_t one = comma != NULL ? (size_t)(comma - tools) : length;
        if (one == wanted && strncasecmp(tools, tool, one) == 0) return true;
        tools += one + (comma != NULL);
        length -= one + (comma != NULL);
    }
    return false;
}

/* "Helgrind:Race": what the entry is about. False if the line has no such form. */
static bool set_kind(struct hd_suppression *entry, const char *line) {
    const char *colon = strchr(line, ':');
    if (colon == NULL || colon == line || colon[1] == '\0') return false;
    static const struct {
        const char *tool, *kind;
        enum hd_finding_kind means;
    } known[] = {{"Helgrind", "Race", HD_FINDING_RACE},
                 {"Helgrind", "LockOrder", HD_FINDING_DEADLOCK},
                 {"drd", "ConflictingAccess", HD_FINDING_RACE}};
    entry->type = HD_SUPPRESS_NOTHING;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(colon + 1, known[i].kind) == 0 &&
            names_tool(line, (size_t)(colon - line), known[i].tool)) {
            entry->type = HD_SUPPRESS_STACK;
            entry->kind = known[i].means;
        }
    return true;
}

static bool set_frame(struct hd_suppression_frame *frame, const char *line) {
    static const char *const word[] = {"fun:", "obj:", "src:"};
    if (strcmp(line, "...") == 0) {
        *frame = (struct hd_suppression_frame){HD_FRAME_ANY, ""};
        return true;
    }
    for (unsigned i = 0; i < 3; i++)
        if (strncmp(line, word[i], 4) == 0 && line[4] != '\0') {
            *frame = (struct hd_suppression_frame){(enum hd_suppression_frame_type)i, line + 4};
            return true;
        }
    return false;
}

static bool fail_at_end(const struct block *block, struct hd_error *error) {
    return hd_fail(error, HD_ERR_FORMAT, "%s:%u: this entry has no closing '}'", block->name,
                   block->first);
}

static bool read_frames(struct block *block, struct hd_suppression *entry, struct hd_error *error) {
    HD_VECTOR(struct hd_suppression_frame) frames = {0};
    const char *from, *to;
    bool good = true, closed = false;
    while (good && !closed && next_line(block, &from, &to)) {
        const char *line = copy(block, from, to);
        struct hd_suppression_frame frame;
        if (strcmp(line, "}") == 0)
            closed = true;
        else if (set_frame(&frame, line))
            hd_vector_push(&frames, frame);
        else if (entry->type != HD_SUPPRESS_NOTHING || strchr(line, ':') == NULL)
            /* entries of Memcheck may have more ("match-leak-kinds:"); they are not used */
            good = hd_fail(error, HD_ERR_FORMAT,
                           "%s:%u: '%.60s' is no frame: fun:NAME, obj:FILE, src:FILE or ...",
                           block->name, block->line, line);
    }
    if (good && !closed) good = fail_at_end(block, error);
    if (good && frames.size == 0 && entry->type == HD_SUPPRESS_STACK)
        good = hd_fail(error, HD_ERR_FORMAT, "%s:%u: this entry has no frames", block->name,
                       block->first);
    entry->frames = (uint32_t)frames.size;
    entry->frame = hd_arena_alloc(&block->suppressions->arena, frames.size * sizeof *entry->frame);
    if (frames.size > 0) memcpy(entry->frame, frames.data, frames.size * sizeof *frames.data);
    hd_vector_free(&frames);
    return good;
}

bool hd_suppression_parse_valgrind(struct hd_suppressions *suppressions, const char *name,
                                   const char **at, const char *end, uint32_t *line,
                                   struct hd_error *error) {
    struct block block = {suppressions, name, *at, end, *line, *line};
    struct hd_suppression entry = {.file = name, .line = *line, .pattern = "", .reason = ""};
    const char *from, *to;
    if (!next_line(&block, &from, &to)) return fail_at_end(&block, error);
    const char *title = copy(&block, from, to);
    if (strcmp(title, "}") == 0)
        return hd_fail(error, HD_ERR_FORMAT, "%s:%u: this entry has no name", name, block.first);
    entry.text = title;
    if (!next_line(&block, &from, &to)) return fail_at_end(&block, error);
    const char *kind = copy(&block, from, to);
    if (!set_kind(&entry, kind))
        return hd_fail(error, HD_ERR_FORMAT, "%s:%u: '%.60s' is not TOOL:KIND, as in Helgrind:Race",
                       name, block.line, kind);
    if (!read_frames(&block, &entry, error)) return false;
    hd_vector_push(&suppressions->list, entry);
    *at = block.at;
    *line = block.line;
    return true;
}

/* ---- what fits ------------------------------------------------------------------------------ */

static bool fits_frame(const struct hd_suppression_frame *pattern, const struct hd_frame *frame) {
    const char *slash;
    char place[4096];
    switch (pattern->type) {
    case HD_FRAME_FUNCTION:
        return fnmatch(pattern->pattern, frame->function, 0) == 0;
    case HD_FRAME_OBJECT: /* heddle keeps a module's name without its directories */
        slash = strrchr(pattern->pattern, '/');
        return frame->module != NULL &&
               fnmatch(slash != NULL ? slash + 1 : pattern->pattern, frame->module, 0) == 0;
    case HD_FRAME_SOURCE:
        if (frame->file == NULL) return false;
        snprintf(place, sizeof place, "%s:%u", hd_finding_short_site(frame->file), frame->line);
        return fnmatch(pattern->pattern, place, 0) == 0 ||
               fnmatch(pattern->pattern, hd_finding_short_site(frame->file), 0) == 0;
    case HD_FRAME_ANY:
        break;
    }
    return true;
}

/* Frames below a thread's function, which heddle's stacks do not have. */
static bool is_below_thread(const struct hd_suppression_frame *pattern) {
    static const char *const below[] = {"mythread_wrapper", "vgDrd_thread_wrapper",
                                        "start_thread",     "clone",
                                        "clone3",           "(below main)"};
    if (pattern->type != HD_FRAME_FUNCTION) return true;
    for (size_t i = 0; i < sizeof below / sizeof *below; i++)
        if (fnmatch(pattern->pattern, below[i], 0) == 0) return true;
    return false;
}

/* "..." is any number of frames: as in a pattern with stars, the last one takes one more when what
 * follows it does not fit. */
static bool fits_stack(const struct hd_suppression *entry, const struct hd_frame *frame,
                       uint32_t frames) {
    uint32_t p = 0, f = 0, after = HD_NONE, again = 0;
    while (p < entry->frames) {
        if (entry->frame[p].type == HD_FRAME_ANY) {
            after = ++p;
            again = f;
        } else if (f < frames && fits_frame(&entry->frame[p], &frame[f])) {
            p++;
            f++;
        } else if (f == frames && f > 0 && is_below_thread(&entry->frame[p])) {
            p++;
        } else if (after != HD_NONE && again < frames) {
            p = after;
            f = ++again;
        } else {
            return false;
        }
    }
    return true;
}

bool hd_suppression_fits_stack(const struct hd_suppression *entry,
                               const struct hd_finding *finding) {
    for (uint32_t i = 0; i < finding->events; i++)
        if (fits_stack(entry, finding->event[i].frame, finding->event[i].frames)) return true;
    return false;
}
