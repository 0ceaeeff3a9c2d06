/* The key of an AI invariant: an access in the code, identified by its function and its place in
 * it. It is the same after a rebuild in which the function did not change, wherever in its file the
 * function has moved to. Without debug information the place is the offset in the function; of a
 * text trace it is the trace's own word. */
#ifndef HEDDLE_LEARN_PLACE_H
#define HEDDLE_LEARN_PLACE_H

#include "base/arena.h"
#include "model/describe.h"

/* Strings are never NULL. */
struct hd_place {
    unsigned does;        /* HD_DOES_READ, HD_DOES_WRITE or HD_DOES_UPDATE (facts/patterns.h) */
    const char *where;    /* "src/log.c:57:9", "app+0x1234", a word; "-" if no more is known */
    const char *function; /* "" if unknown */
    const char *within;   /* place in the function: "+4:9" (lines, column), "+0x34"; "" */
    const char *module;   /* library that it is in, without directory; "": the program itself */
};

/* The place of an access that is in no model: from the frames at its site, innermost first, as
 * hd_symbols_site gives them. The innermost one counts that is not the system's. `program` is the
 * file name of the program without directory. Strings are put into the arena. */
struct hd_place hd_place_of_frames(const struct hd_frame *frame, uint32_t frames, unsigned does,
                                   const char *program, struct hd_arena *arena);
struct hd_place hd_place_of_site(struct hd_symbols *symbols, uint32_t site, unsigned does,
                                 const char *program, struct hd_arena *arena);
/* The same of an event of a model. Callers are no part of it, so that it is the same whether or not
 * they are known. */
struct hd_place hd_place_of_event(struct hd_describe *describe, const struct hd_model *model,
                                  uint32_t event, struct hd_arena *arena);
/* The file name of the program that a trace is of, without directory; "" of a text trace. */
const char *hd_place_program(const struct hd_trace *trace);

/* What a key is made of, as a number. Directories and line numbers are no part of it where the
 * function is known. */
uint64_t hd_place_key(const struct hd_place *place);

#endif
