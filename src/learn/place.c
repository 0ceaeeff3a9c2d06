/* Keys of invariants: see place.h. */
#include "learn/place.h"

#include "base/map.h"
#include "facts/patterns.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

static const char *without_directory(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static const char *text(struct hd_arena *arena, const char *words) {
    return hd_arena_copy(arena, words, strlen(words));
}

const char *hd_place_program(const struct hd_trace *trace) {
    return trace->modules > 0 ? without_directory(trace->module[0].path) : "";
}

/* The place in its function by lines and column; absolute where the function's begin is not known,
 * or the line is of a macro elsewhere. */
static const char *within_function(const struct hd_frame *frame, struct hd_arena *arena) {
    char words[48];
    bool relative = frame->function_line != 0 && frame->line >= frame->function_line;
    snprintf(words, sizeof words, "%s%u:%u", relative ? "+" : "",
             relative ? frame->line - frame->function_line : frame->line, frame->column);
    return text(arena, words);
}

static struct hd_place of_frame(const struct hd_frame *frame, unsigned does, const char *program,
                                struct hd_arena *arena) {
    struct hd_place place = {
        .does = does, .where = "-", .function = "", .within = "", .module = ""};
    const char *module = frame->module != NULL ? without_directory(frame->module) : "";
    if (strcmp(module, program) != 0 && strcmp(module, "??") != 0)
        place.module = text(arena, module);
    bool by_source = frame->file != NULL && frame->line != 0;
    if (by_source) {
        char words[1024];
        snprintf(words, sizeof words, "%s:%u:%u", frame->file, frame->line, frame->column);
        place.where = text(arena, words);
    } else if (strstr(frame->function, "+0x") != NULL) { /* module+0xoffset */
        place.where = text(arena, frame->function);
        return place;
    }
    if (strcmp(frame->function, "??") == 0) return place;
    place.function = text(arena, frame->function);
    if (by_source) {
        place.within = within_function(frame, arena);
    } else {
        char words[32];
        snprintf(words, sizeof words, "+0x%x", frame->function_offset);
        place.within = text(arena, words);
    }
    return place;
}

struct hd_place hd_place_of_frames(const struct hd_frame *frame, uint32_t frames, unsigned does,
                                   const char *program, struct hd_arena *arena) {
    uint32_t own = 0;
    while (own + 1 < frames && hd_frame_is_system(&frame[own])) own++;
    if (hd_frame_is_system(&frame[own])) own = 0;
    return of_frame(&frame[own], does, program, arena);
}

struct hd_place hd_place_of_site(struct hd_symbols *symbols, uint32_t site, unsigned does,
                                 const char *program, struct hd_arena *arena) {
    const struct hd_frame *frame;
    uint32_t frames = hd_symbols_site(symbols, site, &frame);
    return hd_place_of_frames(frame, frames, does, program, arena);
}

struct hd_place hd_place_of_event(struct hd_describe *describe, const struct hd_model *model,
                                  uint32_t event, struct hd_arena *arena) {
    unsigned does = hd_remote_does(model, event);
    const struct hd_frame *frame;
    uint32_t frames = hd_describe_stack(describe, event, &frame), at_site = 1;
    while (at_site < frames && frame[at_site - 1].inlined) at_site++;
    if (frames > 0)
        return hd_place_of_frames(frame, at_site, does, hd_place_program(model->trace), arena);
    const char *word = hd_describe_site(describe, event);
    if (*word == '\0') word = hd_describe_event(describe, event, HD_SHORT);
    return (struct hd_place){
        .does = does, .where = text(arena, word), .function = "", .within = "", .module = ""};
}

static uint64_t add_to_key(uint64_t key, const char *words, size_t length) {
    return hd_mix64(key ^ XXH3_64bits(words, length));
}

uint64_t hd_place_key(const struct hd_place *place) {
    uint64_t key = hd_mix64(place->does + 1);
    key = add_to_key(key, place->module, strlen(place->module));
    if (*place->function == '\0') return add_to_key(key, place->where, strlen(place->where));
    const char *file = without_directory(place->where);
    key = add_to_key(key, place->function, strlen(place->function));
    key = add_to_key(key, place->within, strlen(place->within));
    return add_to_key(key, file, strcspn(file, ":"));
}
